"""A Run in a Python program: its trials as data frames, and the figure of its report."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from perpend.errors import SpecError
from perpend.measure.run import Run
from perpend.measure.samplings import PARAMETERS, TEMPERATURE
from perpend.measure.study import Numbers, Report
from perpend.report.derive import stated_metrics, study_of, whole_metrics, whole_report
from perpend.report.figures import draw_intervals

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl
    from matplotlib.figure import Figure


class InteractiveRun(Run):
    """`pp.Run`: a run directory with its scores as columns, its trials as data frames, and its report's figure."""

    def to_pandas(self, *, where: Mapping[str, str] | None = None, only: Sequence[str] = ()) -> pd.DataFrame:
        """One row per planned trial: plan, item, answer, every score; what is absent is missing, never 0.

        `where` keeps the trials with these values, `only` these columns.
        """
        from perpend.report.export import to_pandas

        return to_pandas(self, where=where, only=only)

    def to_polars(self, *, where: Mapping[str, str] | None = None, only: Sequence[str] = ()) -> pl.DataFrame:
        """The same as a polars DataFrame; what is absent is null."""
        from perpend.report.export import to_polars

        return to_polars(self, where=where, only=only)

    def report(self) -> Report:
        """What the run's study says of it now, from the stored scores; the same that 'perpend analyze' writes."""
        study = study_of([self])
        return whole_report(study, Numbers(tuple(whole_metrics([self], study)), (self.manifest,)))

    def plot(self) -> Figure:
        """The main figure of the run's report or, of a study without figures, its rates with their intervals.

        A matplotlib Figure, which belongs to no window: show it in a notebook, or `savefig` it. An error where no
        scorer has a value yet.
        """
        report = self.report()
        return report.figures[0].draw() if report.figures else self._draw_rates()

    def _draw_rates(self) -> Figure:
        """The rates of the run's first scorer of 0 and 1, for every model, setting and condition."""
        metrics = [metric for metric in stated_metrics(self.table) if metric.name == "rate"]
        known = {metric.scorer for metric in metrics if metric.estimate.value is not None}
        declared = [name for name in self.manifest.scorers if name in known]
        if not declared:
            raise SpecError(f"{self.name}: no scorer has given a trial 0 or 1, so there is no rate to draw")
        own = [metric for metric in metrics if metric.scorer == declared[0]]
        keys = ("model", *PARAMETERS, "condition")
        varied = [key for key in keys if len({m.where.get(key) for m in own}) > 1] or ["condition"]
        rows = [(", ".join(_named(m.where, key) for key in varied), m.estimate) for m in own]
        return draw_intervals(self.name, f"{declared[0]}: share of trials, 95% interval", rows)


def _named(where: Mapping[str, str], key: str) -> str:
    """A value of a slice; of a parameter other than the temperature, with its name."""
    return f"{key} {where[key]}" if key in PARAMETERS and key != TEMPERATURE else where[key]

"""conformity: runs in; tables, figures, report.md and numbers.tex out. Nothing here asks a model."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from perpend.canon import write_atomic
from perpend.measure import Run
from perpend.reports import conformity_figures as figures
from perpend.reports import conformity_latex
from perpend.reports.conformity_companions import companion_tables
from perpend.reports.conformity_findings import Findings, findings
from perpend.reports.conformity_report import report
from perpend.reports.conformity_tables import reference_tables
from perpend.reports.conformity_trials import Rule, Trials, load, short_name
from perpend.types import Estimate

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def analyze(runs: Sequence[Run], out: Path, *, with_figures: bool = True) -> Path:
    """Analyse one or several scored runs as one study and return the path of its report.

    The reference's tables and figures by rule 1 stand under their own names, those by rule 2 in the folder `rule2`; our
    companions are in `tables/companions`.
    """
    trials = load(runs)
    found = [findings(trials, rule) for rule in trials.rules]
    write_tables(trials, found, out / "tables")
    drawn = [path for one in found for path in draw(trials, one, out)] if with_figures else []
    write_atomic(out / "numbers.tex", conformity_latex.macros(trials, found))
    page = report(trials, found, [run.directory.name for run in runs], drawn)
    write_atomic(out / "report.md", page)
    return out / "report.md"


def _folder(rule: Rule) -> str:
    return "" if rule == "1" else f"rule{rule}"


def write_tables(trials: Trials, found: Sequence[Findings], folder: Path) -> None:
    """The reference's seven tables by each rule, our companions, and two LaTeX tables of the newest rule."""
    for one in found:
        for table in reference_tables(trials, one.rule):
            write_atomic(folder / _folder(one.rule) / f"{table.name}.csv", table.as_csv())
    for table in companion_tables(trials, found):
        write_atomic(folder / "companions" / f"{table.name}.csv", table.as_csv())
    write_atomic(folder / "pressure_effects.tex", conformity_latex.pressure_table(trials, found[-1]))
    write_atomic(folder / "opinion_effects.tex", conformity_latex.opinion_table(trials, found[-1]))


def draw(trials: Trials, found: Findings, out: Path) -> Iterator[str]:
    """Draw every figure of one rule and yield where each PNG is, relative to `out`; the forest plot first."""
    folder = Path("figures") / _folder(found.rule)
    for name, figure in _drawings(trials, found):
        figures.save(figure, out / folder / name)
        yield (folder / f"{name}.png").as_posix()


def _drawings(trials: Trials, found: Findings) -> Iterator[tuple[str, Figure]]:
    yield "pressure_effects_forest", figures.draw_forest(forest(trials, found))
    if not trials.opinion.all():
        for name, panels in figures.heatmaps(trials, found.rule):
            yield name, figures.draw_heatmaps(panels)
    if trials.opinion.any():
        yield "opinion_wrong_answer_agreement", figures.draw_lines(figures.opinion_lines(trials, found.rule))


def forest(trials: Trials, found: Findings) -> figures.Forest:
    """The values of the forest plot: each effect with its interval, and the override beyond the retest."""
    rows = []
    for one in found.pressure.effects:
        override = found.conditional_of("override", one.variant, one.pressure)
        beyond = None if override is None or override.excess is None else _interval(override.excess)
        name = short_name(one.pressure, trials.pressures)
        label = f"{one.variant}, {name}"
        rows.append(
            figures.ForestRow(label, trials.pressures.index(one.pressure), _interval(one.difference), beyond)
        )  # fmt: skip
    series = tuple(short_name(name, trials.pressures) for name in trials.pressures)
    title = f"What pressure does to factual error, by rule {found.rule} (95% intervals, clustered by item)"
    return figures.Forest(title, tuple(rows), series)


def _interval(one: Estimate) -> figures.Interval:
    return figures.Interval(one.value, one.lo, one.hi)

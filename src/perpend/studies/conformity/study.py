"""STUDY: the conformity study's face for deriving, proving and reading what people have. Imports nothing heavy."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from perpend.canon import JSON
    from perpend.measure.run import Run
    from perpend.measure.study import Format, Metric, Numbers, Report
    from perpend.measure.table import Table
    from perpend.studies.conformity.trials import Rule


class ConformityStudy:
    """What pressure does to answers: by the reference's rules (1) and by ours (2)."""

    stored_labels: Mapping[str, str] = {
        f"stored_{name}@import": f"{name}@1" for name in ("correct", "refused", "mentioned", "endorsed")
    }
    """What the study's own files store of an answer, and the scorer that must say the same of its raw text."""

    reported_in_format_1 = True
    """Runs that perpend 0.1 published have this study's report and tables beside plain metrics."""

    def metrics(self, table: Table) -> Iterator[Metric]:
        """Every number of the study, by each rule version that all trials were judged by."""
        from perpend.studies.conformity.metrics import study_metrics

        return study_metrics(table)

    def report(self, numbers: Numbers, *, figures: bool = True) -> Report:
        """Headline, sections, tables, LaTeX and figures."""
        from perpend.studies.conformity.report import study_report

        return study_report(numbers, with_figures=figures)

    def seed_audit(self, runs: Sequence[Run], rules: Sequence[Rule] = ("1", "2")) -> dict[str, JSON]:
        """The JSON of the reference's audit script, recomputed from the raw text by each rule version."""
        from perpend.studies.conformity.audit import audit_numbers

        return audit_numbers(runs, rules)

    def extra_checks(self, run: Run) -> Iterator[tuple[str, int, int, str]]:
        """(name, checked, differing, first difference) of what an audit checks in this study beside the labels."""
        from perpend.studies.conformity.audit import extra_checks

        return extra_checks(run)

    @property
    def formats(self) -> tuple[Format, ...]:
        """The study's own files: simulation.db, folders of them, runs_metadata.json, JSONL of outputs."""
        from perpend.studies.conformity.formats import FORMATS

        return FORMATS


STUDY = ConformityStudy()

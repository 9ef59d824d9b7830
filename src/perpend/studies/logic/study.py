"""logic: what its numbers are, what is told of them, and which files of the benchmark can be read."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from perpend.canon import JSON
from perpend.measure.study import Format
from perpend.opening import refuse_links

if TYPE_CHECKING:
    from perpend.measure.run import Run
    from perpend.measure.study import Metric, Numbers, Report
    from perpend.measure.table import Table
    from perpend.proof.audit.checks import Check


def is_run_folder(source: Path) -> bool:
    """Whether a folder is one of chaosbench without a ledger: it has a run manifest and predictions."""
    from perpend.studies.logic.chaosbench.runs import predictions_path

    is_ours = (source / "manifest.json").is_file()
    return not is_ours and (source / "run_manifest.json").is_file() and predictions_path(source) is not None


def read_run_folder(source: Path, destination: Path) -> Path:
    """Import a run folder of chaosbench as a run directory, and return it."""
    from perpend.studies.logic.chaosbench.runs import read_run_folder as read

    refuse_links(source)
    return read(source, destination)


class LogicStudy:
    """Balanced accuracy, MCC, coverage and bias of TRUE-or-FALSE replies, and the benchmark's own files."""

    formats = (Format("a run folder of chaosbench", is_run_folder, read_run_folder),)

    def metrics(self, table: Table) -> Iterator[Metric]:
        """Every number: of each model and temperature, under each rule of reading a reply, by family and split."""
        from perpend.studies.logic.metrics import study_metrics

        return study_metrics(table)

    def seed_names(self, numbers: Numbers) -> Mapping[str, JSON]:
        """The same numbers by the names of the benchmark's protocol."""
        from perpend.studies.logic.metrics import seed_names

        return seed_names(numbers)

    def report(self, numbers: Numbers, *, figures: bool = True) -> Report:  # noqa: ARG002  it draws none
        """The headline of each model, then tables by family, split and rule of reading."""
        from perpend.studies.logic.report import report

        return report(numbers)

    def extra_checks(self, run: Run) -> Iterator[Check]:
        """The benchmark's own files beside a ledger, against it."""
        from perpend.studies.logic.chaosbench.check import extra_checks

        return extra_checks(run)


STUDY = LogicStudy()

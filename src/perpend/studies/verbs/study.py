"""The verbs study: which form of a verb does a model find likeliest in the blank of a sentence?

Light to import: what deriving needs is loaded in use.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from perpend.ask.conditions import bare
from perpend.ask.task import Task

if TYPE_CHECKING:
    from perpend.measure.keys import BoolArray
    from perpend.measure.study import Metric, Numbers, Report
    from perpend.measure.table import Table
    from perpend.types import Item

FOLDER = Path(__file__).parent / "items"
SCORED_BY = {"choice": False, "choice_raw": True}
"""The column of choices, and whether a candidate's likelihood is its sum and not its mean per token."""


def task(*, declare: str | None = None) -> Task:
    """The bare sentence with its blank, no system message; each candidate's likelihood is asked for, no text.

    The items are the core and the adversarial probes; never state one number over both (tag `category`). `declare`
    names values that own probes have and these have not: 'reason_code=negation,verb=run'.
    """

    def check(item: Item, where: str) -> None:
        from perpend.studies.verbs.domains import check_probe, declared

        check_probe(item, where, declared(declare or ""))

    return Task(
        name="verbs",
        conditions=(bare("blank"),),
        scorers=("choice", "choice_raw", "confidence", "confidence_raw"),
        items=(FOLDER / "verbs_core.jsonl", FOLDER / "verbs_adversarial.jsonl"),
        choices_scored=True,
        check=check,
        options={} if declare is None else {"declare": declare},
    )


class VerbsStudy:
    """Each model of a run is a checkpoint; the second and later ones are compared with the first."""

    def metrics(self, table: Table) -> Iterator[Metric]:
        """Every number of each checkpoint, by both ways of scoring candidates, and of each comparison."""
        from perpend.measure.study import Numbers
        from perpend.report.derive import coverage
        from perpend.stats.resample import generator
        from perpend.studies.verbs.compare import comparison_numbers
        from perpend.studies.verbs.folder import CheckpointFolder
        from perpend.studies.verbs.metrics import as_metrics, checkpoint_numbers
        from perpend.studies.verbs.predictions import from_table, judgements_of

        yield from coverage(table)
        judgements = judgements_of(table)
        for name, raw in SCORED_BY.items():
            if not table.has(name):
                continue
            scorer = table.full_name(name)
            firsts: dict[tuple[str, ...], CheckpointFolder] = {}
            for where, rows in _cells(table):
                choices = from_table(table, rows, judgements, raw=raw)
                yield from as_metrics(checkpoint_numbers(choices), choices, scorer, where)
                rest = {key: value for key, value in where.items() if key != "model"}
                checkpoint = CheckpointFolder(where["model"], choices, Numbers(()))
                first = firsts.setdefault(tuple(rest.values()), checkpoint)
                if first is not checkpoint:
                    pair = {"first": first.name, "second": checkpoint.name, **rest}
                    stated = comparison_numbers(first, checkpoint, generator(None))
                    yield from as_metrics(stated, (*first.choices, *choices), scorer, pair)

    def report(self, numbers: Numbers, *, figures: bool = True) -> Report:
        """The report on each checkpoint, by log-likelihood per token, and the comparisons."""
        from perpend.studies.verbs.run_report import run_report

        return run_report(numbers, figures=figures)


STUDY = VerbsStudy()


def _cells(table: Table) -> Iterator[tuple[dict[str, str], BoolArray]]:
    """The rows of each checkpoint, one for each item, with what tells them apart."""
    several = [key for key in ("condition", "repeat") if len(table.values(key)) > 1]
    for where in table.cells([*table.cell_keys(), *several]):
        yield where, table.mask(where)

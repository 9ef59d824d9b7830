"""judge: a model is asked about stored answers, blind; a run of its own. What is asked, and STUDY."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from perpend.ask.rubric import ORDERS, Rubric, find_rubric, rubric_of
from perpend.ask.task import Task
from perpend.canon import JSON, dumps, portable_name, write_atomic
from perpend.disk import temporary_folder
from perpend.errors import SpecError

if TYPE_CHECKING:
    from perpend.measure.judging import Selection
    from perpend.measure.run import Run
    from perpend.measure.study import Metric, Numbers, Report
    from perpend.measure.table import Table


def task(
    *,
    rubric: str | Mapping[str, JSON] = "endorsed",
    both_orders: bool = False,
    likelihoods: bool = False,
    judged: Mapping[str, JSON] | None = None,
) -> Task:
    """The rubric's question about each item, which quotes a stored answer; `perpend judge` makes the items.

    `rubric` is the name of a packaged one, or the whole text of one. `both_orders` asks a second time with the options
    reversed. `likelihoods` asks for the likelihood of each option instead of a word. `judged` says which answers of
    which run the items quote.
    """
    if isinstance(rubric, str) and rubric.endswith(".toml"):  # a manifest is data: its names lead to no file
        raise SpecError(
            f"task judge: give the rubric {rubric!r} to 'perpend judge --rubric', which keeps its whole text"
        )
    chosen = find_rubric(rubric) if isinstance(rubric, str) else rubric_of(rubric, "rubric")
    return Task(
        name="judge",
        conditions=tuple(chosen.condition(order) for order in (ORDERS if both_orders else ORDERS[:1])),
        scorers=("verdict",) if likelihoods else ("verdict", "unfinished"),
        choices_scored=likelihoods,
        options={
            "rubric": chosen.as_json(),
            "both_orders": both_orders,
            "likelihoods": likelihoods,
            "judged": None if judged is None else dict(judged),
        },
    )


@contextmanager
def prepared(
    run: Run, rubric: Rubric, selection: Selection, *, both_orders: bool = False, likelihoods: bool = False
) -> Iterator[tuple[dict[str, JSON], Path]]:
    """The options of the task `judge`, and for the time of the block its item file; the ledger keeps the items.

    The same run, rubric and selection give the same bytes, so a judge run that was interrupted is resumed.
    """
    from perpend.measure.judging import judge_items

    items, available = judge_items(run, rubric, selection)
    options: dict[str, JSON] = {
        "rubric": rubric.as_json(),
        "both_orders": both_orders,
        "likelihoods": likelihoods,
        "judged": {"run": run.manifest.run, "of": available, **selection.as_json()},
    }
    with temporary_folder("judge") as folder:
        path = folder / f"{portable_name(run.manifest.run)}.jsonl"
        write_atomic(path, "".join(dumps(item.as_json()) + "\n" for item in items))
        yield options, path


class JudgeStudy:
    """What the judges said: how often each verdict, how often none, and whether the order of the options matters."""

    def metrics(self, table: Table) -> Iterator[Metric]:
        """Shares of each verdict, agreement of the two orders, and rates by the judged model and condition."""
        from perpend.studies.judge.results import study_metrics

        return study_metrics(table)

    def report(self, numbers: Numbers, *, figures: bool = True) -> Report:  # noqa: ARG002  it draws none
        """The rate of each judge first; then verdicts, orders, and rates by the judged model and condition."""
        from perpend.studies.judge.results import study_report

        return study_report(numbers)


STUDY = JudgeStudy()

"""judge: a model is asked about stored answers, blind; a run of its own. What is asked, and STUDY."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from perpend.ask.rubric import ORDERS, find_rubric, rubric_of
from perpend.ask.task import Task
from perpend.canon import JSON
from perpend.errors import SpecError

if TYPE_CHECKING:
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


class JudgeStudy:
    """What the judges said: how often each verdict, how often none, and whether the order of the options matters."""

    def metrics(self, table: Table) -> Iterator[Metric]:
        """Shares of each verdict, agreement of the two orders, and rates by the judged model and condition."""
        from perpend.studies.judge.metrics import study_metrics

        return study_metrics(table)

    def report(self, numbers: Numbers, *, figures: bool = True) -> Report:  # noqa: ARG002  it draws none
        """The rate of each judge first; then verdicts, orders, and rates by the judged model and condition."""
        from perpend.studies.judge.report import study_report

        return study_report(numbers)


STUDY = JudgeStudy()

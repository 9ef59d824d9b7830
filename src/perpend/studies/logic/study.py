"""logic: yes-or-no questions about dynamical systems and what follows from stated facts, answered TRUE or FALSE.

The task asks; STUDY says what the numbers are, what is told of them, and which files of the benchmark can be read.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from perpend.ask.conditions import from_params
from perpend.ask.task import Reprompt, Task
from perpend.canon import JSON
from perpend.errors import SpecError, did_you_mean
from perpend.measure.study import Format
from perpend.opening import refuse_links
from perpend.spec.resolve import find_scorer
from perpend.text.reasoning import CUT_WORDS, visible
from perpend.types import Condition, Item, Message, Response

if TYPE_CHECKING:
    from perpend.measure.run import Run
    from perpend.measure.study import Metric, Numbers, Report
    from perpend.measure.table import Table
    from perpend.proof.audit.checks import Check

INSTRUCTION = (
    "You are asked a yes-or-no question about a dynamical system, or about what follows from stated premises. "
    "Answer with exactly one word and nothing else: TRUE if the answer is yes, FALSE if it is no."
)
USER = INSTRUCTION + "\n\nQuestion: {question}"
AGAIN = "That was not one of the two words. Answer the question now with exactly one word: TRUE or FALSE."
NO_REPLY = "(no answer)"
"""What stands for an empty first reply in the second turn: some servers refuse an empty message."""
PARSERS = ("label@4", "label@1", "label_lenient@1")
"""The rules that may decide what a reply says; the other ones are scored too, for comparison."""

_ANY = Item("any", "any", "TRUE")


def task(*, parser: str = PARSERS[0], reprompt: bool = True) -> Task:
    """The question after one instruction; `reprompt` asks once more where `parser` finds no label in a whole reply."""
    if parser not in PARSERS:
        raise SpecError(f"logic: unknown parser {parser!r}; {did_you_mean(parser, PARSERS)}")
    return Task(
        name="logic",
        conditions=(condition(),),
        scorers=(*PARSERS, "unfinished"),
        reprompt=second_turn(parser) if reprompt else None,
        options={"parser": parser, "reprompt": reprompt},
    )


def condition() -> Condition:
    """The only condition. One user message: not every model has a place for a system message."""
    question = from_params("question", {"type": "logic", "system": None, "user": USER})
    if question is None:
        raise SpecError("logic: the template is not a string")
    return question


def second_turn(parser: str) -> Reprompt:
    """The reply as the model's own turn, then a request for one word."""
    judge = find_scorer(parser).judge

    @lru_cache(maxsize=4096)  # most replies are one word, and whether it is a label does not depend on the item
    def without_label(text: str, finish: str | None) -> bool:
        response = Response(text=text, finish=finish)
        if judge(_ANY, response).answer != "INVALID":
            return False
        was_cut = finish is not None and finish.lower() in CUT_WORDS
        return (not text.strip() and not was_cut) or visible(text, finish).unfinished is None

    def wanted(_item: Item, response: Response) -> bool:
        """A whole or an empty reply without a label; not one that was cut off, which would be cut off again."""
        return response.text is not None and without_label(response.text, response.finish)

    def render(messages: tuple[Message, ...], response: Response) -> tuple[Message, ...]:
        text = response.text or ""
        seen = visible(text, response.finish)
        answer = text[seen.start : seen.end] or NO_REPLY
        return (*messages, Message("assistant", answer), Message("user", AGAIN))

    return Reprompt(wanted, render, {"assistant": "the reply after its reasoning", "empty": NO_REPLY, "user": AGAIN})


def is_run_folder(source: Path) -> bool:
    """Whether a folder is one of chaosbench without a ledger: it has a run manifest and predictions."""
    from perpend.studies.logic.chaosbench.folders import predictions_path

    is_ours = (source / "manifest.json").is_file()
    return not is_ours and (source / "run_manifest.json").is_file() and predictions_path(source) is not None


def read_run_folder(source: Path, destination: Path) -> Path:
    """Import a run folder of chaosbench as a run directory, and return it."""
    from perpend.studies.logic.chaosbench.folders import read_run_folder as read

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

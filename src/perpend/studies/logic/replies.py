"""What each trial got: its reply, read by one rule, as one of five outcomes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal, TypeAlias

from perpend.errors import SpecError, did_you_mean
from perpend.measure.table import Reply, Table
from perpend.spec.resolve import packaged_scorer
from perpend.studies.logic.chaosbench.sets import NO_FAMILY, Label, normalised
from perpend.studies.logic.study import PARSERS
from perpend.text.reasoning import CUT_WORDS, visible
from perpend.text.segments import NONE
from perpend.types import Item, Response, Scorer

Outcome: TypeAlias = Literal["VALID_TRUE", "VALID_FALSE", "INVALID", "UNFINISHED", "ERROR"]
OUTCOMES: tuple[Outcome, ...] = ("VALID_TRUE", "VALID_FALSE", "INVALID", "UNFINISHED", "ERROR")
NO_SPLIT = "unknown"
GROUP_TAGS = ("group", "group_id", "base_fact")
"""Tags that say which items rest on one fact."""
Reader: TypeAlias = Callable[[Item, Response], tuple[Outcome, str]]
"""A response → its outcome and the reason for it."""


@dataclass(frozen=True, slots=True)
class Prediction:
    """What one item got.

    INVALID is a whole reply without a label, UNFINISHED one that was cut off, ERROR no reply at all. `first` is the
    outcome of the first reply, which `retry_outcome` differs from where a second one was asked for. `tokens` are those
    of the reply that counts.
    """

    id: str
    question: str
    truth: Label
    outcome: Outcome
    family: str
    split: str = NO_SPLIT
    text: str | None = None
    reason: str = ""
    latency_s: float | None = None
    retry_text: str | None = None
    retry_outcome: Outcome | None = None
    first: Outcome | None = None
    first_text: str | None = None
    error: str | None = None
    finish: str | None = None
    tokens: int | None = None
    tags: Mapping[str, str] = field(default_factory=dict)

    @property
    def label(self) -> Label | None:
        """The label that was read; None unless the outcome is valid."""
        return "TRUE" if self.outcome == "VALID_TRUE" else "FALSE" if self.outcome == "VALID_FALSE" else None

    @property
    def correct(self) -> bool | None:
        """Whether the label is the true one; None without a label."""
        return None if self.label is None else self.label == self.truth

    @property
    def cluster(self) -> str | None:
        """What items with a common fact share: the group tag, else the system. None where neither is known."""
        return next((self.tags[tag] for tag in (*GROUP_TAGS, "system_id") if self.tags.get(tag)), None)

    @property
    def stratum(self) -> str:
        """What the item asks for; 'unknown' where it does not say."""
        return self.tags.get("stratum") or "unknown"

    @property
    def answer(self) -> float:
        """1 for TRUE, 0 for FALSE, NaN without a label."""
        return float("nan") if self.label is None else float(self.label == "TRUE")


def reader(parser: str) -> Reader:
    """The rule of that name, one of PARSERS: what a response is, and why.

    A label does not depend on the item, and most replies are one word: each text is read once.
    """
    if parser not in PARSERS:
        raise SpecError(f"logic: unknown parser {parser!r}; {did_you_mean(parser, PARSERS)}")
    scorer = packaged_scorer(parser)
    known: dict[tuple[str, str | None], tuple[Outcome, str]] = {}

    def read(item: Item, response: Response) -> tuple[Outcome, str]:
        if response.text is None:
            return "ERROR", response.error or "no reply"
        key = (response.text, response.finish)
        if key not in known:
            known[key] = _read(scorer, item, response, response.text)
        return known[key]

    return read


def _read(scorer: Scorer, item: Item, response: Response, text: str) -> tuple[Outcome, str]:
    score = scorer.judge(item, response)
    if score.answer in ("TRUE", "FALSE"):
        return "VALID_TRUE" if score.answer == "TRUE" else "VALID_FALSE", score.reason
    unfinished = visible(text, response.finish).unfinished
    was_cut = response.finish is not None and response.finish.lower() in CUT_WORDS
    if unfinished is not None and (was_cut or text.strip()):
        return "UNFINISHED", unfinished
    if score.reason.startswith(NONE):
        return "UNFINISHED", score.reason
    return "INVALID", score.reason


def prediction(item: Item, first: Response | None, second: Response | None, read: Reader) -> Prediction | None:
    """What an item got, by its replies to the first question and to a second; None where its target is no label.

    A first reply that was not kept was invalid: otherwise there would be no second.
    """
    truth, last = normalised(item.target), second or first
    if truth is None or last is None:
        return None
    outcome, reason = read(item, last)
    row = Prediction(
        id=item.id,
        question=item.prompt,
        truth=truth,
        outcome=outcome,
        family=item.tags.get("type") or item.tags.get("family") or NO_FAMILY,
        split=item.tags.get("split") or NO_SPLIT,
        text=last.text,
        reason=reason,
        latency_s=None if last.ms is None else last.ms / 1000.0,
        first=outcome,
        error=last.error,
        finish=last.finish,
        tokens=None if last.usage is None else last.usage.output,
        tags=item.tags,
    )
    if second is None:
        return row
    before = "INVALID" if first is None else read(item, first)[0]
    text = None if first is None else first.text
    return replace(row, retry_text=last.text, retry_outcome=outcome, first=before, first_text=text)


def predictions_of(table: Table, replies: Sequence[Reply], parser: str) -> list[tuple[int, Prediction]]:
    """(row, prediction) of every trial that was asked and whose item has a label, each reply read by that rule."""
    read, items = reader(parser), table.codes["item"]
    pairs = ((row, prediction(table.items[items[row]], first, second, read)) for row, first, second in replies)
    return [(row, one) for row, one in pairs if one is not None]

"""The trials of a run as the page holds them: its rows in their order, and what each was asked and answered."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from perpend.ask.quoting import text_sha256
from perpend.canon import JSON
from perpend.judging.segment import MILD_TRACE, NONE, TRACE, answered
from perpend.judging.words import fold
from perpend.ledger.asked import StoredAttempt, attempts_of, turns
from perpend.ledger.items import question
from perpend.ledger.plan import Trial
from perpend.ledger.store import Store
from perpend.measure.keys import IntArray
from perpend.measure.run import Run
from perpend.measure.table import IMPORTED
from perpend.report.case_text import choice_names
from perpend.report.sent import Renderer, SentTurn, renderer, sent_of
from perpend.types import Item, Response, Sampling, Score, Scorer
from perpend.view.outcomes import NOT_DUE, PENDING, Outcomes

CHUNK = 250
"""Trials that are read, packed and opened at once."""
_MARKS = ("<", "[", "◁", ":", "：", "\n\n\n", "\r", "\u2028", "\u2029", "\x85")
_FIRST = ("ok", "al", "hm", "wait", "first", "so", "now", "well", "right", "the u", "the h", "the q", "the p", "the t",
          "the s", "the i", "let", "i ", "we ")  # fmt: skip
_OPENING = 200
"""Characters in which thinking aloud is known by its first words."""
_HIDDEN = (f"stored_messages@{IMPORTED}", f"stored_prompt@{IMPORTED}")
"""Columns that hold what was sent: shown as messages, not as scores."""


@dataclass(frozen=True, slots=True)
class ViewedTrial:
    """One trial with all that was stored of it. `response` None: it was not asked yet.

    `turns` are (turn, digest of the request, the response that counts), as in `ledger.turns`.
    """

    trial: Trial
    turns: tuple[tuple[int, str, Response], ...]
    attempts: tuple[StoredAttempt, ...]
    scores: Mapping[str, Score]
    response: Response | None
    outcome: str


class ViewedTrials:
    """A run's trials, read by their rows: sorted by item, condition, model, sampling and repeat, as the plan has them.

    In a run that `is_stopped` by a rule, what was not asked is not due. What the run declares and has not scored is
    scored here, in memory: a run that is still asked has no scores yet.
    """

    def __init__(self, run: Run, name: str | None = None, *, is_stopped: bool = False) -> None:
        self.run, self.name, self._unasked = run, name or run.name, NOT_DUE if is_stopped else PENDING
        """`name` is the run's on the page, where two may not share one."""
        codes = run.table.codes
        keys = [codes[key] for key in ("repeat", "sampling", "model", "condition", "item")]
        self.order: IntArray = np.lexsort(keys)
        """For each row, the position of its trial in the plan, from 0."""
        self._last_item: tuple[Item, JSON] | None = None
        self._show = f"perpend show {shlex.quote(run.name)} --messages --where trial="

    def __len__(self) -> int:
        return len(self.order)

    @cached_property
    def row_of(self) -> IntArray:
        """For each position in the plan, from 0, its row."""
        rows = np.empty(len(self.order), dtype=np.int64)
        rows[self.order] = np.arange(len(self.order))
        return rows

    @cached_property
    def samplings(self) -> tuple[Sampling, ...]:
        """How tokens were drawn, by the number of the plan."""
        with self.run.open() as store:
            return tuple(store.plan_names()[2])

    @cached_property
    def renderer(self) -> Renderer:
        """What renders the messages again."""
        return renderer(self.run)

    @cached_property
    def fresh(self) -> tuple[Scorer, ...]:
        """The declared scorers that have no scores in the ledger and whose code is at hand."""
        run = self.run
        declared = [name for name in run.manifest.scorers if name not in run.table.scorers]
        return tuple(run.code.scorer(name) for name in declared if f"scorer {name}" not in run.code.missing)

    @cached_property
    def outcomes(self) -> Outcomes:
        """How verdicts become the words of the matrix."""
        fresh = [f"{scorer.name}@{scorer.version}" for scorer in self.fresh]
        return Outcomes([*self.run.table.scorers, *fresh], self.run.manifest.scorers, self._unasked)

    @cached_property
    def scorers(self) -> tuple[str, ...]:
        """Every 'name@version' that the page shows."""
        return tuple(name for name in self.outcomes.known if name not in _HIDDEN)

    def read(self, store: Store, first: int, last: int) -> list[ViewedTrial]:
        """The trials of rows `first` to `last`, without the last."""
        return self.numbered(store, [int(place) + 1 for place in self.order[first:last]])

    def numbered(self, store: Store, numbers: Sequence[int]) -> list[ViewedTrial]:
        """The trials of these numbers, in this order."""
        attempts, scores = attempts_of(store, numbers), store.scores(numbers)
        return [self._viewed(self._trial(n), attempts.get(n, []), scores.get(n, {})) for n in numbers]

    def _trial(self, number: int) -> Trial:
        table, place = self.run.table, number - 1
        item, sampling = (
            table.items[int(table.codes["item"][place])],
            self.samplings[int(table.codes["sampling"][place])],
        )
        condition, model = table.name("condition", place), table.name("model", place)
        return Trial(number, item, condition, model, sampling, int(table.codes["repeat"][place]))

    def _viewed(self, trial: Trial, attempts: Sequence[StoredAttempt], stored: Mapping[str, Score]) -> ViewedTrial:
        asked = tuple(turns(attempts))
        answered = [response for _, _, response in asked if response.text is not None]
        response = answered[-1] if answered else asked[-1][2] if asked else None
        scores = dict(stored)
        if response is not None:
            for scorer in self.fresh:
                scores[f"{scorer.name}@{scorer.version}"] = scorer.judge(trial.item, response)
        outcome = self.outcomes.of(response, scores)
        return ViewedTrial(trial, asked, tuple(attempts), scores, response, outcome)

    def body(self, viewed: ViewedTrial) -> dict[str, JSON]:
        """The trial as a chunk of the page holds it."""
        trial, response = viewed.trial, viewed.response
        sent = {turn.turn: turn for turn in sent_of(trial, viewed.turns, viewed.scores, self.renderer)}
        text = None if response is None else response.text
        shown = [turn for turn, _, one in viewed.turns if one is response]
        return {
            "trial": trial.trial,
            "number": trial.trial,
            "show": f"{self._show}{trial.trial}",
            "item": self._item_body(trial.item),
            "text_sha256": None if text is None else text_sha256(text),
            "text_turn": shown[0] if shown else None,
            "turns": [_turn(turn, one, sent.get(turn), viewed.attempts) for turn, _, one in viewed.turns]
            or [_unasked(one) for one in sent.values()],
            "scores": list(_scores(viewed, text or "", shown[0] if shown else 0)),
            "candidates": list(_candidates(trial.item, response)),
        }

    def _item_body(self, item: Item) -> JSON:
        """What is shown of an item; its trials follow each other, so it is made once."""
        if self._last_item is None or self._last_item[0] is not item:
            self._last_item = item, _item(item)
        return self._last_item[1]


def _item(item: Item) -> JSON:
    return {
        "prompt": question(item),
        "choices": list(item.choices),
        "target": item.target,
        "decoy": item.decoy,
        "aliases": list(item.aliases),
    }


def _turn(turn: int, response: Response, sent: SentTurn | None, attempts: Sequence[StoredAttempt]) -> dict[str, JSON]:
    usage, text = response.usage, response.text
    own = [one for one in attempts if one.turn == turn]
    return {
        **_messages(sent),
        "answer": text,
        "segments": [] if text is None else list(_segments(text, response.finish)),
        "finish": response.finish,
        "error": response.error,
        "tokens_in": None if usage is None else usage.input,
        "tokens_out": None if usage is None else usage.output,
        "seconds": _seconds(response),
        "attempts": [
            {
                "attempt": one.attempt + 1,
                "status": "failed" if one.response.text is None else "answered",
                "error": one.response.error,
                "seconds": _seconds(one.response),
            }
            for one in (own if len(own) > 1 else ())
        ],
    }


def _unasked(sent: SentTurn) -> dict[str, JSON]:
    return {**_messages(sent), "answer": None, "segments": [], "finish": None, "error": None, "attempts": []}


def _messages(sent: SentTurn | None) -> dict[str, JSON]:
    if sent is None:
        return {"messages": [], "proof": "", "note": "the source kept no messages of this turn"}
    messages: list[JSON] = [{"role": role, "content": text} for role, text in sent.messages]
    return {"messages": messages, "proof": sent.proof, "note": sent.note}


def _seconds(response: Response) -> float | None:
    return None if response.ms is None else response.ms / 1000.0


def _segments(text: str, finish: str | None) -> Iterator[JSON]:
    """The parts of a completion: before the answer, the answer, after it. None where the answer is all of it."""
    if _is_plain(text):
        return
    part = answered(text, finish)
    if part.missing is not None:
        if part.missing == NONE:
            yield _segment(text, 0, len(text), "unfinished")
        return
    end = part.start + len(part.own)
    if part.start == 0 and end == len(text):
        return
    if text[: part.start].strip():
        yield _segment(text, 0, part.start, "reasoning")
    yield _segment(text, part.start, end, "answer")
    if text[end:].strip():
        yield _segment(text, end, len(text), "after")


def _is_plain(text: str) -> bool:
    """Whether nothing in a text can open or close a turn, a thought or a document; then most of the work is saved."""
    if any(mark in text for mark in _MARKS) or not text[:1].isupper():
        return False
    if not text[:5].lower().startswith(_FIRST):
        return True
    opening = fold(text[:_OPENING]).text
    return not TRACE.match(opening) and not MILD_TRACE.match(opening)


def _segment(text: str, start: int, end: int, kind: str) -> JSON:
    first, last = units(text, start, end)
    return {"start": first, "end": last, "kind": kind}


def units(text: str, start: int, end: int) -> tuple[int, int]:
    """A place in a text as JavaScript counts it: characters beyond U+FFFF are two."""
    if text.isascii():
        return start, end
    before = len(text[:start].encode("utf-16-le")) // 2
    return before, before + len(text[start:end].encode("utf-16-le")) // 2


def _scores(viewed: ViewedTrial, text: str, turn: int) -> Iterator[JSON]:
    for name, score in viewed.scores.items():
        if name in _HIDDEN:
            continue
        span = score.span
        if span is None or not 0 <= span[0] <= span[1] <= len(text):
            yield {"scorer": name, "value": score.value, "answer": score.answer, "reason": score.reason}
            continue
        start, end = units(text, *span)
        yield {
            "scorer": name,
            "value": score.value,
            "answer": score.answer,
            "reason": score.reason,
            "turn": turn,
            "start": start,
            "end": end,
        }


def _candidates(item: Item, response: Response | None) -> Iterator[JSON]:
    likelihoods = None if response is None else response.choice_logprobs
    if likelihoods is None:
        return
    totals = [one.total for one in likelihoods if one.total is not None]
    best = max(totals, default=None)
    for name, one in zip(choice_names(item, len(likelihoods)), likelihoods, strict=True):
        is_best = one.total is not None and one.total == best and totals.count(one.total) == 1
        yield {"text": name, "logprob": one.total, "tokens": one.tokens, "chosen": is_best}

"""The plan: what a run will ask, row by row, as values and as rows of run.db. A trial's identity is its position."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from perpend.canon import JSON, dumps
from perpend.errors import StoreError
from perpend.ledger.items import stored_item
from perpend.types import ChoiceLogprob, Item, Response, Sampling, Score, Usage

CHUNK = 2000
"""Trials that are read at once."""


@dataclass(frozen=True, slots=True)
class Trial:
    """One row of the plan. `attempt` says how often turn `turn` of it has failed already."""

    trial: int
    item: Item
    condition: str
    model: str
    sampling: Sampling
    repeat: int
    attempt: int = 0


@dataclass(frozen=True, slots=True)
class Dataset:
    """One item file of a plan: its name, its path as the user wrote it, its SHA-256."""

    name: str
    version: str
    path: str
    sha256: str

    def as_json(self) -> dict[str, JSON]:
        """The entry in a manifest."""
        return {"name": self.name, "version": self.version, "path": self.path, "sha256": self.sha256}


@dataclass(frozen=True, slots=True)
class Plan:
    """What a run will ask: every item under every condition, by every model, with every sampling, `repeats` times."""

    datasets: Sequence[Dataset]
    conditions: Mapping[str, Mapping[str, JSON]]
    models: Sequence[tuple[str, str, Mapping[str, JSON]]]
    """(label, name, options)"""
    samplings: Mapping[str, Sequence[Sampling]]
    """For each model's label, the samplings that it is asked with."""
    repeats: int


def whole(value: object) -> int:
    """An INTEGER column; anything else in it is a damaged ledger."""
    if not isinstance(value, int):
        raise StoreError(f"damaged ledger: an integer was expected, not {value!r}")
    return value


def read_trials(rows: Iterable[Sequence[object]]) -> Iterator[tuple[Trial, Sequence[object]]]:
    """Rows of trial, item, body, condition, model, sampling, repeat, … as trials and the columns that follow.

    Each item and each sampling is read once.
    """
    samplings: dict[object, Sampling] = {}
    number: object = None
    item = Item("", "")
    for row in rows:
        if row[1] != number:
            number, item = row[1], stored_item(str(row[2]))
        params = row[5]
        if params not in samplings:
            samplings[params] = read_sampling(str(params))
        yield Trial(whole(row[0]), item, str(row[3]), str(row[4]), samplings[params], whole(row[6])), row[7:]


def read_sampling(params: str) -> Sampling:
    """The Sampling whose canonical JSON this is."""
    body = json.loads(params)
    return Sampling(body["temperature"], body["max_tokens"], body["seed"], body["top_p"], tuple(body["stop"]))


def response_row(response: Response) -> tuple[str | float | None, ...]:
    """text, error, logprobs, finish, usage, ms, as the response table holds them."""
    logprobs, usage = response.choice_logprobs, response.usage
    return (
        response.text,
        response.error,
        None if logprobs is None else dumps([[choice.total, choice.tokens] for choice in logprobs]),
        response.finish,
        None if usage is None else _usage(usage),
        response.ms,
    )


def _usage(usage: Usage) -> str:
    """By hand: a trial in a million costs what the encoder would. The digest is left out where there is none."""
    prompt = "" if usage.prompt_sha256 is None else f',"prompt_sha256":"{usage.prompt_sha256}"'
    return f'{{"input":{_null(usage.input)},"output":{_null(usage.output)}{prompt}}}'


def _null(count: int | None) -> str:
    return "null" if count is None else str(count)


def read_response(row: Sequence[object]) -> Response:
    """The Response of which `response_row` gave this."""
    text, error, logprobs, finish, usage, ms = row
    return Response(
        text=text_or_none(text),
        error=text_or_none(error),
        choice_logprobs=None
        if logprobs is None
        else tuple(ChoiceLogprob(total, count) for total, count in json.loads(str(logprobs))),
        finish=text_or_none(finish),
        usage=None if usage is None else _read_usage(str(usage)),
        ms=ms if isinstance(ms, float) else None,
    )


def _read_usage(text: str) -> Usage:
    body = json.loads(text)
    counts, prompt = (body["input"], body["output"]), body.get("prompt_sha256")
    if len(body) > 2 + ("prompt_sha256" in body) or not isinstance(prompt, str | None):
        raise StoreError(f"damaged ledger: no usage of tokens: {text[:80]!r}")
    if not all(count is None or (isinstance(count, int) and not isinstance(count, bool)) for count in counts):
        raise StoreError(f"damaged ledger: no counts of tokens: {text[:80]!r}")
    return Usage(*counts, prompt)


def read_score(value: object, answer: object, reason: object, span: object) -> Score:
    """A row of the score table as a Score."""
    start, _, end = ("", "", "") if span is None else str(span)[1:-1].partition(",")
    return Score(
        value=value if isinstance(value, float) else None,
        answer=text_or_none(answer),
        reason=str(reason),
        span=None if span is None else (int(start), int(end)),
    )


def text_or_none(value: object) -> str | None:
    """A TEXT column."""
    return None if value is None else str(value)


@dataclass(frozen=True, slots=True)
class Appended:
    """One response on its way into the ledger."""

    trial: int
    turn: int
    attempt: int
    request_sha256: str
    response: Response


@dataclass(frozen=True, slots=True)
class Cell:
    """One model × condition × sampling: how many trials are planned, answered, and only ever failed."""

    model: str
    condition: str
    sampling: str
    planned: int
    answered: int
    failed: int


@dataclass(frozen=True, slots=True)
class OpenTrials:
    """The trials of one model without an answer, read in chunks, so that memory does not grow with the plan."""

    read: Callable[[int, int], Iterable[Trial]]
    """The trials numbered first to last, both included."""
    first: int
    answered: bytearray
    attempts: Mapping[int, int]

    @property
    def total(self) -> int:
        """How many trials the model has in all."""
        return len(self.answered)

    def __len__(self) -> int:
        return self.answered.count(0)

    def __iter__(self) -> Iterator[Trial]:
        start = self.answered.find(0)
        while start >= 0:
            end = min(start + CHUNK, len(self.answered))
            # Read the chunk whole: no statement may stay open while the runner appends.
            for trial in list(self.read(self.first + start, self.first + end - 1)):
                if not self.answered[trial.trial - self.first]:
                    attempt = self.attempts.get(trial.trial, 0)
                    yield trial if not attempt else replace(trial, attempt=attempt)
            start = self.answered.find(0, end)


def ranges(trials: Sequence[int]) -> Iterator[tuple[int, int]]:
    """The first and last number of every run of consecutive numbers."""
    ordered = sorted(trials)
    start = 0
    for n in range(1, len(ordered) + 1):
        if n == len(ordered) or ordered[n] != ordered[n - 1] + 1:
            yield ordered[start], ordered[n - 1]
            start = n

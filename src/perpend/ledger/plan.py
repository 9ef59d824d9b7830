"""The plan: what a run will ask, row by row, as values and as rows of run.db. A trial's identity is its position."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from perpend.canon import JSON, dumps, json_object, list_of, text_of, whole_of
from perpend.errors import DataError, StoreError
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
    try:
        return sampling_of(json_object(params, "damaged ledger: a sampling"), "damaged ledger")
    except DataError as error:
        raise StoreError(str(error)) from None


def sampling_of(body: Mapping[str, JSON], where: str) -> Sampling:
    """The Sampling whose JSON this is; DataError where it is none."""
    temperature, top_p, seed = body.get("temperature"), body.get("top_p"), body.get("seed")
    numbers = [value for value in (temperature, top_p) if value is not None]
    if temperature is None or any(isinstance(value, bool) or not isinstance(value, int | float) for value in numbers):
        raise DataError(f"{where}: temperature and top_p of a sampling must be numbers, not {temperature!r}, {top_p!r}")
    return Sampling(
        temperature=temperature,  # type: ignore[arg-type]  # a number: checked just above
        max_tokens=whole_of(body, "max_tokens", where),
        seed=None if seed is None else whole_of(body, "seed", where),
        top_p=top_p,  # type: ignore[arg-type]  # a number or None: checked just above
        stop=tuple(text_of({"stop": entry}, "stop", where) for entry in list_of(body, "stop", where)),
    )


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def _is_count(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


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
    try:
        return Response(
            text=text_or_none(text),
            error=text_or_none(error),
            choice_logprobs=None if logprobs is None else _read_logprobs(str(logprobs)),
            finish=text_or_none(finish),
            usage=None if usage is None else _read_usage(str(usage)),
            ms=None if ms is None else _finite(ms),
        )
    except (ValueError, KeyError, TypeError, RecursionError) as reason:  # no `with`: there may be a million of them
        raise StoreError(f"damaged ledger: a response cannot be read: {reason}; 'perpend audit' says which") from None


@lru_cache(maxsize=4096)  # counts of tokens repeat
def _read_usage(text: str) -> Usage:
    body = json.loads(text)
    usage = Usage(body["input"], body["output"], body.get("prompt_sha256"))
    if len(body) > 2 + ("prompt_sha256" in body):
        raise ValueError(f"usage has a key that nothing reads: {text:.80}")
    if not all(count is None or _is_count(count) for count in (usage.input, usage.output)):
        raise ValueError(f"usage counts tokens, not {text:.80}")
    if not isinstance(usage.prompt_sha256, str | None):
        raise TypeError(f"a digest is a string, not {usage.prompt_sha256!r:.80}")
    return usage


def _read_logprobs(text: str) -> tuple[ChoiceLogprob, ...]:
    body = json.loads(text)
    choices = tuple(ChoiceLogprob(total, tokens) for total, tokens in body)
    is_read = all((one.total is None or _is_number(one.total)) and _is_count(one.tokens) for one in choices)
    if not is_read or not isinstance(body, list):
        raise ValueError(f"likelihoods are pairs of a number or null and the number of its tokens, not {text:.80}")
    return choices


def _finite(value: object) -> float:
    if not isinstance(value, float | int) or not math.isfinite(value):
        raise ValueError(f"{value!r:.80} is no number")
    return float(value)


def read_score(value: object, answer: object, reason: object, span: object) -> Score:
    """A row of the score table as a Score."""
    try:
        start, _, end = ("", "", "") if span is None else str(span)[1:-1].partition(",")
        return Score(
            value=None if value is None else _finite(value),
            answer=text_or_none(answer),
            reason=str(reason),
            span=None if span is None else (int(start), int(end)),
        )
    except ValueError as error:
        raise StoreError(f"damaged ledger: a score cannot be read: {error}; score the run again") from None


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
    """For each number from `first` on: 0 open, 1 answered, 2 no trial of this ledger."""
    attempts: Mapping[int, int]

    @property
    def total(self) -> int:
        """How many trials the model has in all."""
        return len(self.answered) - self.answered.count(2)

    def __len__(self) -> int:
        return self.answered.count(0)

    def within(self, first: int, last: int) -> OpenTrials:
        """The same, of the trials from first to last."""
        before, after = first - self.first, len(self.answered) - (last - self.first + 1)
        own = self.answered[before : len(self.answered) - after]
        return replace(self, answered=bytearray(b"\1" * before) + own + bytearray(b"\1" * after))

    def never_asked(self) -> bool:
        """Whether a trial has not even failed yet."""
        start = self.answered.find(0)
        while start >= 0:
            if start + self.first not in self.attempts:
                return True
            start = self.answered.find(0, start + 1)
        return False

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

"""The columns of the page: one value per trial and key, packed as numbers, so that filters need no text of a trial."""

from __future__ import annotations

import base64
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from perpend.canon import JSON
from perpend.measure.keys import FloatArray, IntArray
from perpend.measure.labels import HumanLabel
from perpend.types import Sampling
from perpend.view.outcomes import OUTCOMES
from perpend.view.overview import TrialCounts
from perpend.view.trials import ViewedTrial, ViewedTrials

_PLAN = ("item", "condition", "model", "sampling", "repeat", "temperature", "run")
_NUMBERS = ("tokens_in", "tokens_out", "seconds", "attempts")
_LONGEST = 200
"""Characters of an error message in its column; the trial has all of it."""


@dataclass(frozen=True, slots=True)
class Coded:
    """A column of texts: for each row the number of its value; None is a value too."""

    values: tuple[str | None, ...]
    codes: IntArray

    def as_json(self) -> dict[str, JSON]:
        """The column as the page reads it: codes in as few bytes as they need, little-endian."""
        width = 1 if len(self.values) <= 1 << 8 else 2 if len(self.values) <= 1 << 16 else 4
        codes = self.codes.astype(f"<u{width}")
        return {"kind": "coded", "values": list(self.values), "codes": _packed(codes), "width": width}


def _packed(values: npt.NDArray[np.generic]) -> str:
    return base64.b64encode(values.tobytes()).decode("ascii")


@dataclass(slots=True)
class _Texts:
    """A column of texts that is filled row by row."""

    codes: IntArray
    numbers: dict[str | None, int] = field(default_factory=lambda: {None: 0})

    def put(self, row: int, value: str | None) -> None:
        self.codes[row] = self.numbers.setdefault(value, len(self.numbers))

    def coded(self) -> Coded:
        return Coded(tuple(self.numbers), self.codes)


class RunColumns:
    """The columns of one run: those of the plan from the start, those of the answers as trials are put in."""

    def __init__(self, trials: ViewedTrials) -> None:
        n = len(trials)
        self.trials = trials
        self._texts = {key: _Texts(np.zeros(n, dtype=np.int64)) for key in ("finish", "error")}
        self._outcomes = np.full(n, OUTCOMES.index(trials.outcomes.unasked), dtype=np.int64)
        self._numbers = {key: np.full(n, np.nan) for key in _NUMBERS}
        self._scores: dict[str, FloatArray] = {name: np.full(n, np.nan) for name in trials.scorers}
        self._labels: dict[str, _Texts] = {}

    def put(self, row: int, viewed: ViewedTrial) -> None:
        """Take in what became of the trial of a row."""
        response = viewed.response
        self._outcomes[row] = OUTCOMES.index(viewed.outcome)
        if response is None:
            return
        error = response.error
        self._texts["finish"].put(row, response.finish)
        self._texts["error"].put(row, error if error is None or len(error) <= _LONGEST else f"{error[:_LONGEST]}…")
        numbers = self._numbers
        every = [one.response for one in viewed.attempts]
        numbers["tokens_in"][row] = _sum([None if one.usage is None else one.usage.input for one in every])
        numbers["tokens_out"][row] = _sum([None if one.usage is None else one.usage.output for one in every])
        numbers["seconds"][row] = _sum([None if one.ms is None else one.ms / 1000.0 for one in every])
        numbers["attempts"][row] = len(every)
        for name, score in viewed.scores.items():
            if score.value is not None and name in self._scores:
                self._scores[name][row] = score.value

    def counts(self) -> TrialCounts:
        """How many trials came to what, and what they took."""
        outcomes = np.bincount(self._outcomes, minlength=len(OUTCOMES)).tolist()
        totals = {key: None if np.isnan(own).all() else float(np.nansum(own)) for key, own in self._numbers.items()}
        named = dict(zip(OUTCOMES, outcomes, strict=True))
        return TrialCounts(named, int(totals["attempts"] or 0), totals["tokens_in"], totals["tokens_out"])

    def label(self, labels: Sequence[HumanLabel], rubric: str) -> None:
        """Take in the labels of every reader: those by a rubric, or by none where they name what it measures."""
        self._labels = {}
        for one in labels:
            if one.rubric == rubric or not rubric:
                codes = np.zeros(len(self.trials), dtype=np.int64)
                column = self._labels.setdefault(one.by or "reader", _Texts(codes))
                column.put(int(self.trials.row_of[one.trial - 1]), one.label or f"{one.value}")

    def labelled(self) -> Iterator[tuple[str, Coded]]:
        """(reader, the option that was chosen for each row)."""
        for reader, column in self._labels.items():
            yield reader, column.coded()

    def coded(self) -> Iterator[tuple[str, Coded]]:
        """Every column of texts."""
        trials, table = self.trials, self.trials.run.table
        for key in ("model", "item", "condition", "sampling", "repeat"):
            names = table.names[key]
            values = [_sampling(one, trials.samplings) for one in trials.samplings] if key == "sampling" else names
            yield key, Coded(tuple(values), table.codes[key][trials.order].astype(np.int64))
        yield "outcome", Coded(OUTCOMES, self._outcomes)
        for key, texts in self._texts.items():
            yield key, texts.coded()
        for key, names in table.names.items():
            if key not in (*_PLAN, *table.settings):
                tags: tuple[str | None, ...] = tuple(name or None for name in names)  # None: an item without the tag
                yield f"tag:{key}", Coded(tags, table.codes[key][trials.order].astype(np.int64))
        for reader, column in self.labelled():
            yield f"label:{reader}", column

    def numbers(self) -> Iterator[tuple[str, FloatArray]]:
        """Every column of numbers that has any."""
        for name, values in self._scores.items():
            yield f"score:{name}", values
        for key, values in self._numbers.items():
            if not np.isnan(values).all():
                yield key, values


def _sum(values: Sequence[float | None]) -> float:
    """What several responses took together; NaN where none of them says."""
    if len(values) == 1:
        return np.nan if values[0] is None else values[0]
    known = [value for value in values if value is not None]
    return sum(known) if known else np.nan


def _sampling(one: Sampling, all_of_them: Sequence[Sampling]) -> str:
    parts = [f"T = {one.temperature:g}"]
    others = [other for other in all_of_them if other.temperature == one.temperature and other != one]
    if any(other.max_tokens != one.max_tokens for other in others):
        parts.append(f"{one.max_tokens} tokens")
    if any(other.seed != one.seed for other in others):
        parts.append(f"seed {one.seed}")
    if any((other.top_p, other.stop) != (one.top_p, one.stop) for other in others):
        parts.append(f"top_p {one.top_p}, stop {list(one.stop)}")
    return ", ".join(parts)


def columns_json(runs: Sequence[RunColumns]) -> dict[str, JSON]:
    """The columns of all runs, one below the other. A key that a run has not is None, or NaN, in its rows."""
    lengths = [len(run.trials) for run in runs]
    names: tuple[str | None, ...] = tuple(run.trials.name for run in runs)
    columns: dict[str, JSON] = {"run": Coded(names, np.repeat(np.arange(len(runs)), lengths)).as_json()}
    texts = [dict(run.coded()) for run in runs]
    for key in dict.fromkeys(key for own in texts for key in own):
        columns[key] = _pooled([own.get(key) for own in texts], lengths).as_json()
    values = [dict(run.numbers()) for run in runs]
    for key in dict.fromkeys(key for own in values for key in own):
        parts = [_part(own, key, n) for own, n in zip(values, lengths, strict=True)]
        columns[key] = {"kind": "number", "data": _packed(np.concatenate(parts).astype("<f8"))}
    return columns


def _part(own: Mapping[str, FloatArray], key: str, n: int) -> FloatArray:
    return own[key] if key in own else np.full(n, np.nan)


def _pooled(parts: Sequence[Coded | None], lengths: Sequence[int]) -> Coded:
    numbers: dict[str | None, int] = {}
    codes: list[IntArray] = []
    for part, length in zip(parts, lengths, strict=True):
        if part is None:
            codes.append(np.full(length, numbers.setdefault(None, len(numbers)), dtype=np.int64))
            continue
        places = [numbers.setdefault(value, len(numbers)) for value in part.values]
        codes.append(np.array(places, dtype=np.int64)[part.codes] if places else part.codes)
    return Coded(tuple(numbers), np.concatenate(codes))

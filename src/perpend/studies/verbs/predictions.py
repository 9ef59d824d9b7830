"""Predictions: what a checkpoint chose on each probe and how sure it was, from any JSONL or from a table of trials.

A line needs `id`, `confidence` and `correct`; everything else is optional, and unknown text becomes a tag to slice by.
Every error names the file and the line.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, TypeAlias

from perpend.canon import JSON, clean_text, digest, json_lines, text_or_none
from perpend.errors import DataError, SpecError, did_you_mean
from perpend.measure.table import BoolArray, Judgement, Table
from perpend.types import Item, Response, Score

Category: TypeAlias = Literal["core", "adversarial"]
CATEGORIES: tuple[Category, ...] = ("core", "adversarial")
SCORERS = ("choice", "confidence", "choice_raw", "confidence_raw")
_TEXTS = ("predicted", "expected", "reason_code", "label", "prompt", "unscored")
# One probability per candidate; a file may hold them rounded to six places.
_SUM_WIDTH = 1e-5
# A softmax in double precision can end this far above 1.
_ROUNDING = 1e-12


@dataclass(frozen=True, slots=True)
class Choice:
    """What one checkpoint chose on one probe. `confidence` and `correct` are None exactly where `unscored` says why.

    `probabilities` go with `candidates`, in order. `label` 'ambiguous' marks a probe with two readings: no choice on it
    is right or wrong. `tags` hold the probe's language, verb, regularity, tense, person and whatever else it carries.
    """

    id: str
    confidence: float | None
    correct: bool | None
    predicted: str | None = None
    expected: str | None = None
    candidates: tuple[str, ...] = ()
    probabilities: tuple[float, ...] | None = None
    category: Category = "core"
    reason_code: str = ""
    label: str = ""
    prompt: str = ""
    unscored: str = ""
    """'model_oov' where the tokenizer cannot represent a candidate; else a reason in words; '' where it was scored."""
    tags: Mapping[str, str] = field(default_factory=dict)

    @property
    def is_ambiguous(self) -> bool:
        """Two readings of the probe are right, so neither choice counts against the checkpoint."""
        return self.label == "ambiguous"

    def as_json(self) -> dict[str, JSON]:
        """The line that `load_predictions` reads; absent parts are left out."""
        body: dict[str, JSON] = {"id": self.id, "category": self.category, **self.tags}
        if self.confidence is not None and self.correct is not None:
            body |= {"confidence": self.confidence, "correct": int(self.correct)}
        body |= {key: text for key in _TEXTS if (text := getattr(self, key))}
        if self.candidates:
            body["candidates"] = list(self.candidates)
        if self.probabilities is not None:
            body["probabilities"] = list(self.probabilities)
        return body


def scored(choices: Sequence[Choice], category: str) -> list[Choice]:
    """The choices of one category that are right or wrong: scored, and not ambiguous."""
    return [one for one in choices if one.category == category and not one.unscored and not one.is_ambiguous]


def predictions_digest(choices: Sequence[Choice]) -> str:
    """SHA-256 over all choices in order: what the numbers came from."""
    return digest([one.as_json() for one in choices])


def load_predictions(
    path: Path, *, tricks: Collection[str] | None = None, category: Category | None = None
) -> tuple[Choice, ...]:
    """The predictions of one JSONL file.

    With `tricks`, the known reason codes, an adversarial row with another one is an error, and so is a core row with
    one of them. With `category`, a row that says otherwise is an error, and a row that says nothing is of it.
    """
    choices: dict[str, Choice] = {}
    lines: dict[str, str] = {}
    for where, body in json_lines(path, constants=True):
        one = _choice(body, where, category)
        _check_category(one, where, tricks, category)
        if one.id in choices:
            raise DataError(f"{where}: id {one.id!r} was used on line {lines[one.id]} already; ids are unique")
        choices[one.id], lines[one.id] = one, where.rpartition(":")[2]
    if not choices:
        raise DataError(f"{path}: holds no prediction; write one JSON object per line")
    return tuple(choices.values())


def _choice(body: Mapping[str, JSON], where: str, category: Category | None) -> Choice:
    rest = dict(body)
    name = rest.pop("id", None)
    if isinstance(name, bool) or not isinstance(name, str | int) or not str(name).strip():
        raise DataError(f"{where}: 'id' is {name!r}; give each prediction its own id")
    where = f"{where}: prediction {str(name)!r}"
    texts = {key: None if (text := text_or_none(rest, key, where)) is None else clean_text(text) for key in _TEXTS}
    if rest.pop("model_oov", False) is True:
        texts["unscored"] = "model_oov"
    confidence, correct = rest.pop("confidence", None), rest.pop("correct", None)
    unscored = texts["unscored"] or ""
    if unscored and (confidence is not None or correct is not None):
        raise DataError(
            f"{where}: is not scored ({unscored}) but has a confidence or is correct; give one or the other"
        )
    candidates = _candidates(rest.pop("candidates", None), where)
    probabilities = _probabilities(rest.pop("probabilities", None), candidates, where)
    kind = rest.pop("category", None)
    tags = {key: value for key, value in rest.items() if key not in _TEXTS and isinstance(value, str | int | float)}
    one = Choice(
        id=clean_text(str(name)),
        confidence=None if unscored else _confidence(confidence, where),
        correct=None if unscored else _correct(correct, where),
        predicted=texts["predicted"],
        expected=texts["expected"],
        candidates=candidates,
        probabilities=probabilities,
        category=_category(kind, where) if kind is not None else category or "core",
        reason_code=texts["reason_code"] or "",
        label=texts["label"] or "",
        prompt=texts["prompt"] or "",
        unscored=unscored,
        tags={key: f"{value:g}" if isinstance(value, float) else clean_text(str(value)) for key, value in tags.items()},
    )
    _check_choice(one, where)
    return one


def _confidence(value: JSON, where: str) -> float:
    rule = "a confidence is a number from 0 to 1"
    if value is None:
        raise DataError(f'{where}: has no confidence; {rule}, or say why there is none: "unscored": "…"')
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise DataError(f"{where}: confidence is {value!r}; {rule}")
    if not -_ROUNDING <= value <= 1.0 + _ROUNDING:
        remedy = "divide percentages by 100; apply softmax to raw scores"
        raise DataError(f"{where}: confidence is {value!r}; {rule}: {remedy}")
    return min(max(float(value), 0.0), 1.0)


def _correct(value: JSON, where: str) -> bool:
    if value not in (0, 1) or not isinstance(value, bool | int | float):
        raise DataError(f"{where}: correct is {value!r}; it is 0 or 1 (or false, true)")
    return bool(value)


def _candidates(value: JSON, where: str) -> tuple[str, ...]:
    if value is None:
        return ()
    if not isinstance(value, list) or not all(isinstance(one, str) for one in value):
        raise DataError(f"{where}: candidates are {value!r}; give a list of strings")
    forms = tuple(clean_text(one) for one in value)
    if len(forms) < 2 or len(set(forms)) < len(forms):
        raise DataError(f"{where}: candidates are {list(forms)}; give two or more, each once")
    return forms


def _probabilities(value: JSON, candidates: Sequence[str], where: str) -> tuple[float, ...] | None:
    if value is None:
        return None
    numbers = value if isinstance(value, list) else []
    shares = tuple(float(p) for p in numbers if isinstance(p, int | float) and not isinstance(p, bool))
    if len(shares) != len(candidates) or not shares or len(shares) != len(numbers):
        raise DataError(f"{where}: probabilities are {value!r}; give a list with one number for each candidate")
    if not all(0.0 <= p <= 1.0 + _ROUNDING for p in shares) or abs(math.fsum(shares) - 1.0) > _SUM_WIDTH:
        raise DataError(f"{where}: probabilities are {value!r}; each is from 0 to 1, and together they are 1")
    total = math.fsum(shares)
    return shares if abs(total - 1.0) < _ROUNDING else tuple(p / total for p in shares)


def _category(value: JSON, where: str) -> Category:
    for known in CATEGORIES:
        if value == known:
            return known
    raise DataError(f"{where}: category is {value!r}; it is 'core' or 'adversarial'")


def _check_choice(one: Choice, where: str) -> None:
    for role, text in (("predicted", one.predicted), ("expected", one.expected)):
        if text is not None and one.candidates and text not in one.candidates:
            raise DataError(f"{where}: {role} {text!r} is not among its candidates {list(one.candidates)}")
    if one.correct is False and one.predicted is not None and one.predicted == one.expected and not one.is_ambiguous:
        raise DataError(f"{where}: chose what was expected ({one.expected!r}) but correct is 0; fix one of them")


def _check_category(one: Choice, where: str, tricks: Collection[str] | None, category: Category | None) -> None:
    where = f"{where}: prediction {one.id!r}"
    if category is not None and one.category != category:
        raise DataError(f"{where}: is {one.category}, in a file of {category} probes; keep the two sets apart")
    if one.category == "adversarial":
        if not one.reason_code:
            raise DataError(f"{where}: is adversarial but has no reason_code; name the trick that it plays")
        if tricks is not None and one.reason_code not in tricks:
            raise DataError(
                f"{where}: unknown reason_code {one.reason_code!r}; {did_you_mean(one.reason_code, tricks)}"
            )
    elif tricks is not None and one.reason_code in tricks:
        raise DataError(
            f"{where}: is core but its reason_code {one.reason_code!r} is a trick (STAT018); mark it adversarial"
        )


def judgements_of(table: Table) -> dict[int, Judgement]:
    """What `from_table` needs of every row that was asked, read in one pass."""
    return {row[0]: row for row in table.judgements([name for name in SCORERS if table.has(name)])}


def from_table(
    table: Table, rows: BoolArray, judgements: Mapping[int, Judgement], *, raw: bool = False
) -> tuple[Choice, ...]:
    """The predictions of some rows whose task scores choices, one for each item; two rows of an item are an error.

    `raw` takes the choice by summed log-likelihood (`choice_raw`) in place of the mean over tokens. Items' tags carry
    category, reason_code and label; an item that was not asked yet, or has no choice, is unscored and says why.
    """
    suffix = "_raw" if raw else ""
    choice, confidence = table.full_name(f"choice{suffix}"), table.full_name(f"confidence{suffix}")
    choices: dict[str, Choice] = {}
    for row in rows.nonzero()[0].tolist():
        item, where = table.items[table.codes["item"][row]], f"{', '.join(table.runs)}: {table.place(row)}"
        if item.id in choices:
            raise SpecError(f"{where}: the item has several trials; pick a model, condition, temperature and repeat")
        _, response, scores = judgements.get(row, (row, None, {}))
        body: dict[str, JSON] = {**item.tags, **_scored(scores.get(choice), scores.get(confidence)), **_probe(item)}
        likelihoods = _likelihoods(response, per_token=not raw)
        if likelihoods is not None and "unscored" not in body:
            body["probabilities"] = likelihoods
        choices[item.id] = _choice(body, where, None)
        _check_category(choices[item.id], where, None, None)
    return tuple(choices.values())


def _probe(item: Item) -> dict[str, JSON]:
    """The part of a line that the item states, but for its tags."""
    body: dict[str, JSON] = {"id": item.id, "prompt": item.prompt, "expected": item.target}
    return body | ({"candidates": list(item.choices)} if item.choices else {})


def _scored(choice: Score | None, confidence: Score | None) -> dict[str, JSON]:
    """The part of a line that the scorers state."""
    if choice is None or confidence is None:
        return {"unscored": "not asked or not scored yet"}
    if choice.value is None or confidence.value is None:
        reason = choice.reason if choice.value is None else confidence.reason
        return {"unscored": "model_oov" if reason.startswith("model_oov") else reason.partition(":")[0]}
    return {"confidence": confidence.value, "correct": int(choice.value), "predicted": choice.answer}


def _likelihoods(response: Response | None, *, per_token: bool) -> list[JSON] | None:
    """The softmax over the candidates, by mean or summed log-likelihood. None where a candidate has none."""
    logprobs = () if response is None else response.choice_logprobs or ()
    scores = [one.total / (one.tokens if per_token else 1) for one in logprobs if one.total is not None and one.tokens]
    if not scores or len(scores) < len(logprobs) or not math.isfinite(max(scores)):
        return None
    weights = [math.exp(score - max(scores)) for score in scores]
    return [weight / math.fsum(weights) for weight in weights]

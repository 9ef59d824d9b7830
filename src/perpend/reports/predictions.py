"""Predictions: what a checkpoint said on each probe and how sure it was, from any JSONL or from a run.

A line needs `id`, `confidence` and `correct`; everything else is optional, and unknown text becomes a tag to slice by.
Every error names the file and the line.
"""

from __future__ import annotations

import json
import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, TypeAlias

from perpend.canon import JSON, clean_text
from perpend.errors import DataError, SpecError, did_you_mean
from perpend.measure import Run
from perpend.reports.cases import keys
from perpend.store import Store
from perpend.types import ChoiceLogprob, Item, Response, Score

Category: TypeAlias = Literal["core", "adversarial"]
_CATEGORIES: tuple[Category, ...] = ("core", "adversarial")
_TEXTS = ("predicted", "expected", "reason_code", "label", "prompt", "unscored")
# One probability a candidate; a file may hold them rounded to six places.
_SUM_WIDTH = 1e-5
# A softmax in double precision can end this far above 1.
_ROUNDING = 1e-12


@dataclass(frozen=True, slots=True)
class Prediction:
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
        """Two readings of the probe are right, so neither choice may be held against the checkpoint."""
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


def load_predictions(
    path: Path, *, tricks: Collection[str] | None = None, category: Category | None = None
) -> tuple[Prediction, ...]:
    """The predictions of one JSONL file.

    With `tricks`, the known reason codes, an adversarial row with another one is an error, and so is a core row with
    one of them. With `category`, a row that says otherwise is an error, and a row that says nothing is of it.
    """
    found: dict[str, Prediction] = {}
    lines: dict[str, int] = {}
    for number, body in read_objects(path):
        one = _prediction(body, f"{path}:{number}", category)
        _check_category(one, f"{path}:{number}", tricks, category)
        if one.id in found:
            raise DataError(f"{path}:{number}: id {one.id!r} was used on line {lines[one.id]} already; ids are unique")
        found[one.id], lines[one.id] = one, number
    if not found:
        raise DataError(f"{path}: holds no prediction; write one JSON object a line")
    return tuple(found.values())


def read_objects(path: Path) -> Iterator[tuple[int, dict[str, JSON]]]:
    """The JSON objects of a JSONL file with their line numbers; blank lines are passed over."""
    try:
        with path.open(encoding="utf-8") as file:
            for number, line in enumerate(file, 1):
                if not line.strip():
                    continue
                try:
                    body = json.loads(line)
                except json.JSONDecodeError as error:
                    raise DataError(f"{path}:{number}: not JSON: {error.msg} at column {error.colno}") from None
                if not isinstance(body, dict):
                    raise DataError(f"{path}:{number}: a line is a JSON object, this one is a {type(body).__name__}")
                yield number, body
    except FileNotFoundError:
        raise DataError(f"{path}: no such file; give the path of a JSONL file") from None
    except UnicodeDecodeError as error:
        raise DataError(f"{path}: not UTF-8 at byte {error.start}; save the file as UTF-8") from None


def _prediction(body: dict[str, JSON], where: str, category: Category | None) -> Prediction:
    rest = dict(body)
    name = rest.pop("id", None)
    if isinstance(name, bool) or not isinstance(name, str | int) or not str(name).strip():
        raise DataError(f"{where}: 'id' is {name!r}; give each prediction its own id")
    where = f"{where}: prediction {str(name)!r}"
    texts = {key: _text(key, rest.pop(key, None), where) for key in _TEXTS}
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
    one = Prediction(
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
        tags={key: _tag(value) for key, value in rest.items() if isinstance(value, str | int | float)},
    )
    _check_choice(one, where)
    return one


def _text(key: str, value: JSON, where: str) -> str | None:
    if value is None:
        return None
    if not isinstance(value, str):
        raise DataError(f"{where}: {key} is {value!r}; give a text")
    return clean_text(value)


def _tag(value: str | float) -> str:
    return clean_text(value) if isinstance(value, str) else f"{value:g}" if isinstance(value, float) else str(value)


def _confidence(value: JSON, where: str) -> float:
    rule = "a confidence is a number from 0 to 1"
    if value is None:
        raise DataError(f'{where}: has no confidence; {rule}, or say why there is none: "unscored": "…"')
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise DataError(f"{where}: confidence is {value!r}; {rule}")
    if not -_ROUNDING <= value <= 1.0 + _ROUNDING:
        raise DataError(f"{where}: confidence is {value!r}; {rule}, so divide percentages by 100 and softmax scores")
    return min(max(float(value), 0.0), 1.0)


def _correct(value: JSON, where: str) -> bool:
    if value not in (0, 1) or not isinstance(value, bool | int | float):
        raise DataError(f"{where}: correct is {value!r}; it is 0 or 1 (or false, true)")
    return bool(value)


def _candidates(value: JSON, where: str) -> tuple[str, ...]:
    if value is None:
        return ()
    if not isinstance(value, list) or not all(isinstance(one, str) for one in value):
        raise DataError(f"{where}: candidates are {value!r}; give a list of texts")
    found = tuple(clean_text(one) for one in value)
    if len(found) < 2 or len(set(found)) < len(found):
        raise DataError(f"{where}: candidates are {list(found)}; give two or more, each once")
    return found


def _probabilities(value: JSON, candidates: Sequence[str], where: str) -> tuple[float, ...] | None:
    if value is None:
        return None
    numbers = value if isinstance(value, list) else []
    found = tuple(float(p) for p in numbers if isinstance(p, int | float) and not isinstance(p, bool))
    if len(found) != len(candidates) or not found or len(found) != len(numbers):
        raise DataError(f"{where}: probabilities are {value!r}; give a list with one number for each candidate")
    if not all(0.0 <= p <= 1.0 + _ROUNDING for p in found) or abs(math.fsum(found) - 1.0) > _SUM_WIDTH:
        raise DataError(f"{where}: probabilities are {value!r}; each is from 0 to 1, and together they are 1")
    total = math.fsum(found)
    return found if abs(total - 1.0) < _ROUNDING else tuple(p / total for p in found)


def _category(value: JSON, where: str) -> Category:
    for known in _CATEGORIES:
        if value == known:
            return known
    raise DataError(f"{where}: category is {value!r}; it is 'core' or 'adversarial'")


def _check_choice(one: Prediction, where: str) -> None:
    for role, text in (("predicted", one.predicted), ("expected", one.expected)):
        if text is not None and one.candidates and text not in one.candidates:
            raise DataError(f"{where}: {role} {text!r} is not among its candidates {list(one.candidates)}")
    if one.correct is False and one.predicted is not None and one.predicted == one.expected and not one.is_ambiguous:
        raise DataError(f"{where}: chose what was expected ({one.expected!r}) but correct is 0; mend one of them")


def _check_category(one: Prediction, where: str, tricks: Collection[str] | None, category: Category | None) -> None:
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


def from_run(run: Run, where: Mapping[str, str] | None = None, *, raw: bool = False) -> tuple[Prediction, ...]:
    """The predictions of a scored run whose task scores choices: one for each item, by `choice` and `confidence`.

    `where` picks a model, a condition or a temperature when the run has several; two trials of one item are an error.
    `raw` takes the choice by summed log-likelihood (`choice_raw`) in place of the mean over tokens. Items' tags carry
    category, reason_code and label; an item that was not asked yet, or has no choice, is unscored and says why.
    """
    suffix = "_raw" if raw else ""
    choice, sure = run[f"choice{suffix}"].name, run[f"confidence{suffix}"].name
    known: set[str] = set()
    found: dict[str, Prediction] = {}
    with Store.open(run.directory / "run.db") as store:
        answers = {trial.trial: response for trial, response in store.answers()}
        scores = store.scores(list(answers))
        for trial in store.trials(1, len(run.frame)):
            values = keys(trial)
            known.update(values)
            if any(values.get(key) != wanted for key, wanted in (where or {}).items()):
                continue
            if trial.item.id in found:
                raise SpecError(
                    f"{run.directory}: item {trial.item.id!r} has several trials; pick one kind, as in "
                    "where={'model': …, 'condition': …, 'temperature': …, 'repeat': …}"
                )
            own = scores.get(trial.trial, {})
            body: dict[str, JSON] = {**trial.item.tags, **_row(own.get(choice), own.get(sure))}
            body |= _probe(trial.item)
            likelihoods = _likelihoods(answers.get(trial.trial), per_token=not raw)
            if likelihoods is not None and "unscored" not in body:
                body["probabilities"] = likelihoods
            at = f"{run.directory}: trial {trial.trial}"
            found[trial.item.id] = _prediction(body, at, None)
            _check_category(found[trial.item.id], at, None, None)
    if not found:
        raise SpecError(f"{run.directory}: no trial has {dict(where or {})}; trials have {', '.join(sorted(known))}")
    return tuple(found.values())


def _probe(item: Item) -> dict[str, JSON]:
    """The part of a line that the item says, but for its tags."""
    body: dict[str, JSON] = {"id": item.id, "prompt": item.prompt, "expected": item.target}
    return body | ({"candidates": list(item.choices)} if item.choices else {})


def _row(choice: Score | None, sure: Score | None) -> dict[str, JSON]:
    """The part of a line that the scorers say."""
    if choice is None or sure is None:
        return {"unscored": "not asked or not scored yet"}
    if choice.value is None or sure.value is None:
        reason = choice.reason if choice.value is None else sure.reason
        return {"unscored": "model_oov" if reason.startswith("model_oov") else reason.partition(":")[0]}
    return {"confidence": sure.value, "correct": int(choice.value), "predicted": choice.answer}


def _likelihoods(response: Response | None, *, per_token: bool) -> list[JSON] | None:
    """The softmax over the candidates, by mean or summed log-likelihood. None where a candidate has none."""
    logprobs: Sequence[ChoiceLogprob] = () if response is None else response.choice_logprobs or ()
    scores = [one.total / (one.tokens if per_token else 1) for one in logprobs if one.total is not None and one.tokens]
    if not scores or len(scores) < len(logprobs) or not math.isfinite(max(scores)):
        return None
    weights = [math.exp(score - max(scores)) for score in scores]
    return [weight / math.fsum(weights) for weight in weights]

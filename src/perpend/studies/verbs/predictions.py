"""Predictions: what a checkpoint chose on each probe and how sure it was, from rows of any file or a table of trials.

A row needs `id`, `confidence` and `correct` (or `predicted` and `expected`, of which it follows); everything else is
optional, and unknown text becomes a tag to slice by. Every error names its place.
"""

from __future__ import annotations

import difflib
import math
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, TypeAlias

from perpend.canon import JSON, as_object, clean_text, digest
from perpend.errors import DataError, SpecError, did_you_mean
from perpend.measure.keys import BoolArray
from perpend.measure.table import Judgement, Table
from perpend.rows.json_stream import first_object
from perpend.rows.mapping import NO_MAP, MappedRow, check_map, list_cell, mapped, text_cell
from perpend.rows.reader import FORMATS, Row, read_rows
from perpend.types import Item, Response, Score

Category: TypeAlias = Literal["core", "adversarial"]
CATEGORIES: tuple[Category, ...] = ("core", "adversarial")
SCORERS = ("choice", "confidence", "choice_raw", "confidence_raw")
_TEXTS = ("predicted", "expected", "reason_code", "label", "prompt", "unscored")
NAMES = ("id", "confidence", "correct", *_TEXTS, "category", "candidates", "probabilities", "model_oov")
_YES, _NO = ("1", "1.0", "true"), ("0", "0.0", "false")
_DECIMAL = re.compile(r"\d*[.,]?\d+(?:[eE][-+]?\d{1,3})?")  # a semicolon between cells often means a comma in numbers
# One probability per candidate; a file may hold them rounded to six places.
_LARGEST = 1 << 26
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
    path: Path,
    *,
    fields: Mapping[str, str] = NO_MAP,
    probes: Mapping[str, Item] | None = None,
    tricks: Collection[str] | None = None,
    category: Category | None = None,
) -> tuple[Choice, ...]:
    """The predictions of one file of rows, or of the results.json of a lab that lists them.

    `fields` maps names of NAMES and 'tag.NAME' to columns. With `probes` by their ids, what a row does not say of its
    probe is taken from there, and a probe without a row is unscored. With `tricks`, the known reason codes, a row with
    another one is an error, and so is a core row with one of a trick. With `category`, a row that says otherwise is an
    error, and a row that says nothing is of it.
    """
    check_map(fields, NAMES, ("tag",))
    choices: dict[str, Choice] = {}
    places: dict[str, str] = {}
    for row in mapped(_rows(path, fields), path, fields, NAMES):
        body = {**row.rest, **{key.removeprefix("tag."): value for key, value in row.values.items()}}
        _check_columns(row)
        if probes is not None:
            body = _with_probe(body, probes, row.where)
        one = _choice(body, row.where, category)
        _check_category(one, row.where, tricks, category)
        if one.id in choices:
            raise DataError(f"{row.where}: id {one.id!r} was used {places[one.id]} already; ids are unique")
        choices[one.id], places[one.id] = one, _place(row.where, path)
    if not choices:
        raise DataError(f"{path}: holds no prediction; give {FORMATS} with one prediction per row")
    for name in probes or ():
        if name not in choices:
            body = _with_probe({"id": name, "unscored": "no prediction"}, probes or {}, str(path))
            choices[name] = _choice(body, f"{path}: probe {name!r}", None)
    return tuple(choices.values())


def _check_columns(row: MappedRow) -> None:
    """DataError for a row without a column that it needs, with those that it has."""
    needed = ["id"] if {"unscored", "model_oov"} & row.values.keys() else ["id", "confidence"]
    for name in needed:
        if name not in row.values:
            near = difflib.get_close_matches(name, row.rest, n=1, cutoff=0.5) or ["COLUMN"]
            known = ", ".join(f"{key!r:.40}" for key in list(row.rest)[:12])
            raise DataError(
                f"{row.where}: no {name!r}; write --map {name}={near[0]:.80}. Other columns: {known or 'none'}"
            )


def _place(where: str, path: Path) -> str:
    """'on line 3' or 'in row 3'."""
    rest = where.removeprefix(str(path))
    return f"on line {rest[1:]}" if rest[1:].isdecimal() else f"in {rest.removeprefix(': ')}"


def _rows(path: Path, fields: Mapping[str, str]) -> Iterator[Row]:
    """The rows of a file; of a results.json with several lists, those of the lists whose first entry has a confidence.

    A list is at a key or one below it, and may be an object of entries by their ids. What is below 'adversarial' is
    adversarial where it does not say.
    """
    body = (first_object(path, whole=_LARGEST) or {}) if path.suffix.lower() == ".json" else {}
    if {"format", "checkpoint", "predictions_sha256"} <= {*body, *as_object(body.get("provenance"))}:
        raise DataError(f"{path}: the numbers of a report; its predictions are in predictions.jsonl beside it")
    column = fields.get("confidence", "confidence")
    named = {name: rows for name, rows in _lists(body) if rows and column in rows[0]}
    if all(isinstance(body.get(name), list) for name in named) and len(named) < 2:
        yield from read_rows(path, constants=True)
        return
    for name, rows in named.items():
        stated = {"category": "adversarial"} if "adversarial" in name.split(".") and "category" not in fields else {}
        for number, row in enumerate(rows, 1):
            yield f"{path}: {name}, row {number}", {**stated, **row}


def _lists(body: Mapping[str, JSON]) -> Iterator[tuple[str, list[dict[str, JSON]]]]:
    """The lists of objects of an object, at its keys and those of the objects there."""
    for key, value in body.items():
        inner = value.items() if isinstance(value, Mapping) else ()
        for name, rows in ((key, value), *((f"{key}.{name}", rows) for name, rows in inner)):
            if isinstance(rows, list) and all(isinstance(row, Mapping) for row in rows):
                yield name, [dict(as_object(row)) for row in rows]
            elif isinstance(rows, Mapping) and all(isinstance(row, Mapping) for row in rows.values()):
                yield name, [{"id": own, **as_object(row)} for own, row in rows.items()]


def _with_probe(body: Mapping[str, JSON], probes: Mapping[str, Item], where: str) -> dict[str, JSON]:
    """A row with what its probe states and it does not. Another right answer, or no such probe, is an error."""
    name = text_cell(body.get("id"), "id", where) or ""
    probe = probes.get(name)
    if probe is None:
        raise DataError(f"{where}: no probe is called {name!r:.80}; {did_you_mean(name, probes)}")
    expected = body.get("expected")
    if expected is not None and probe.target is not None and text_cell(expected, "expected", where) != probe.target:
        raise DataError(f"{where}: expected {expected!r:.80}, but its probe says {probe.target!r:.80}; fix one of them")
    return {**probe.tags, **_probe(probe), **{key: value for key, value in body.items() if value is not None}}


def _choice(body: Mapping[str, JSON], where: str, category: Category | None) -> Choice:
    rest = dict(body)
    given = rest.pop("id", None)
    name = None if isinstance(given, bool) else text_cell(given, "id", where)
    if name is None or not name.strip():
        raise DataError(f"{where}: 'id' is {given!r}; give each prediction its own id")
    where = f"{where}: prediction {name!r}"
    texts = {
        key: None if (text := text_cell(rest.get(key), key, where)) is None else clean_text(text) for key in _TEXTS
    }
    if text_cell(rest.pop("model_oov", False), "model_oov", where) in _YES:
        texts["unscored"] = "model_oov"
    confidence, correct = rest.pop("confidence", None), rest.pop("correct", None)
    if correct is None and confidence is not None and texts["predicted"] is not None and texts["expected"] is not None:
        correct = int(texts["predicted"] == texts["expected"])
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
        id=clean_text(name),
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
        tags={key: text for key, value in tags.items() if (text := _tag(value)) is not None},
    )
    _check_choice(one, where)
    return one


def _tag(value: str | float) -> str | None:
    if isinstance(value, float):
        return None if math.isnan(value) else f"{value:g}"
    return clean_text(text_cell(value, "", "") or "") or None


def _confidence(value: JSON, where: str) -> float:
    rule = "a confidence is a number from 0 to 1"
    if isinstance(value, str) and _DECIMAL.fullmatch(value.strip()):
        value = float(value.replace(",", "."))
    if value is None:
        raise DataError(f'{where}: has no confidence; {rule}, or say why there is none: "unscored": "…"')
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise DataError(f"{where}: confidence is {value!r}; {rule}")
    if not -_ROUNDING <= value <= 1.0 + _ROUNDING:
        remedy = "divide percentages by 100; apply softmax to raw scores"
        raise DataError(f"{where}: confidence is {value!r}; {rule}: {remedy}")
    return min(max(float(value), 0.0), 1.0)


def _correct(value: JSON, where: str) -> bool:
    word = value.strip().lower() if isinstance(value, str) else ""
    if word in _YES or word in _NO:
        return word in _YES
    if value not in (0, 1) or not isinstance(value, bool | int | float):
        raise DataError(
            f"{where}: correct is {value!r}; it is 0 or 1 (or false, true); else give predicted and expected"
        )
    return bool(value)


def _candidates(value: JSON, where: str) -> tuple[str, ...]:
    if value is None:
        return ()
    forms = tuple(
        clean_text(text_cell(one, "candidates", where) or "") for one in list_cell(value, "candidates", where)
    )
    if len(forms) < 2 or len(set(forms)) < len(forms):
        raise DataError(f"{where}: candidates are {list(forms)}; give two or more, each once")
    return forms


def _probabilities(value: JSON, candidates: Sequence[str], where: str) -> tuple[float, ...] | None:
    if value is None:
        return None
    entries = list_cell(value, "probabilities", where)
    numbers = [float(p) if isinstance(p, str) and _DECIMAL.fullmatch(p) else p for p in entries]
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
                f"{where}: unknown reason_code {one.reason_code!r:.80}; {did_you_mean(one.reason_code, tricks)} "
                f"(one of your own: --declare reason_code={one.reason_code:.80})"
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

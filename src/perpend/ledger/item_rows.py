"""Rows of any file as items: which column is which field, what becomes a tag, and what is not guessed at."""

from __future__ import annotations

import difflib
import string
from collections.abc import Mapping, Sequence
from functools import lru_cache

from perpend.canon import JSON, as_list, as_object, digest, parse
from perpend.errors import DataError, did_you_mean
from perpend.rows.mapping import MappedRow, list_cell, numbered, text_cell

FIELDS = ("id", "prompt", "target", "choices", "decoy", "aliases", "tags")
_TEXTS, LISTS = ("id", "prompt", "target", "decoy"), ("choices", "aliases")
OF_PROBES = {"expected": "target", "candidates": "choices"}
_OTHER_NAMES = {
    "id": ("qid", "uid", "idx", "item_id", "question_id"),
    "prompt": ("question", "input", "query", "instruction", "problem"),
    "target": ("answer", "gold", "label", "ground_truth", "correct_answer", "reference", "solution", "output"),
    "decoy": ("wrong", "wrong_answer", "incorrect_answer", "distractor"),
    "choices": ("options",),
}
"""What a field is often called. Such a column is never taken by itself: an error says how to map it."""
PLAN_COLUMNS = frozenset(("item", "condition", "model", "sampling", "temperature", "repeat"))
"""Columns of a plan; a tag of that name would be taken for them."""


def item_body(row: MappedRow, *, is_loose: bool) -> dict[str, JSON]:
    """The fields of an item that a row states, as strings; `is_loose` for a row of a table or with a map."""
    if OF_PROBES.keys() <= row.values.keys() and "target" not in row.values:
        return _probe(row)
    return _loose(row) if is_loose else _strict(row)


def _probe(row: MappedRow) -> dict[str, JSON]:
    """A probe as an item: its candidates are the choices, their number and every other field are tags."""
    values = {OF_PROBES.get(key, key): value for key, value in row.values.items()}
    body = _loose(MappedRow(row.where, values, row.rest))
    return {**body, "tags": {**as_object(body["tags"]), "candidates": str(len(as_list(body["choices"])))}}


def _strict(row: MappedRow) -> dict[str, JSON]:
    """A row of JSON without a map: an unknown key is an error, because it may be a field that was misspelt."""
    for key in (*(key for key in row.values if key in OF_PROBES), *row.rest):
        field = _meant(key, tuple(row.values))
        remedy = f"if it is the {field}, write --map {field}={key:.80}" if field else did_you_mean(key, FIELDS)
        raise DataError(f"{row.where}: unknown key {key!r:.80}; {remedy.rstrip('?')}. Other facts go into 'tags'.")
    for key in LISTS:
        if isinstance(row.values.get(key), str):
            raise DataError(f"{row.where}: {key!r} must be a list of strings, not {row.values[key]!r:.80}")
    return _cells(row)


def _loose(row: MappedRow) -> dict[str, JSON]:
    """A row of a table or with a map: what is under no field is a tag, unless it looks like a field that is missing."""
    body, where = _cells(row), row.where
    if "prompt" not in row.values and not any(_meant(key, tuple(row.values)) for key in row.rest):
        raise DataError(f"{where}: no column 'prompt'; write --map prompt=COLUMN. The columns are {_listed(row)}")
    tags = dict(as_object(body.get("tags")))
    for key, value in row.values.items():
        if key.startswith("tag."):
            tags[key[4:]] = text_cell(value, key, where)
    for key, value in row.rest.items():
        field = _meant(key, tuple(row.values))
        if field is not None:
            raise DataError(
                f"{where}: is the column {key!r:.80} the {field}? Write --map {field}={key:.80}; "
                f"to keep it as a tag, --map tag.{key:.80}={key:.80}"
            )
        name = key.removeprefix("tag.")
        if not isinstance(value, list | Mapping):
            tags.setdefault(f"metadata_{name}" if name in PLAN_COLUMNS else name, text_cell(value, key, where))
    choices = [str(choice) for choice in as_list(body["choices"])]
    for role in ("target", "decoy"):
        body[role] = chosen(row.values.get(role), body.get(role), choices)
    if "id" not in row.values:
        body["id"] = f"item-{digest([body.get('prompt'), body.get('target')])[:12]}"
    return {**body, "tags": {key: text for key, text in tags.items() if text is not None}}


def _listed(row: MappedRow) -> str:
    names = list(dict.fromkeys((*row.values, *row.rest)))
    return ", ".join(f"{name!r:.40}" for name in names[:12]) + (" …" if len(names) > 12 else "")


@lru_cache(maxsize=1024)
def _meant(column: str, given: tuple[str, ...]) -> str | None:
    """The field that is not given and that a column of this name may hold."""
    absent = [field for field in FIELDS[:-1] if field not in given]
    name = column.casefold().strip().replace(" ", "_")
    for field in absent:
        if name in _OTHER_NAMES.get(field, ()):
            return field
    return next(iter(difflib.get_close_matches(name, absent, n=1, cutoff=0.8)), None)


def chosen(value: JSON, text: JSON, choices: Sequence[str]) -> str | None:
    """The choice that an answer means: itself, or the one of that letter (A, B, …) or, as a number, of that place.

    Places count from 0. What means no choice stays as it is.
    """
    if not isinstance(text, str) or text in choices:
        return text if isinstance(text, str) else None
    place = string.ascii_uppercase.find(text) if len(text) == 1 else -1
    if isinstance(value, int) and not isinstance(value, bool):
        place = value
    return choices[place] if 0 <= place < len(choices) else text


def _cells(row: MappedRow) -> dict[str, JSON]:
    """The fields of an item in a row, numbers and Booleans as strings; what is blank is left out."""
    body: dict[str, JSON] = {}
    for key in _TEXTS:
        text = text_cell(row.values.get(key), key, row.where)
        if text is not None:
            body[key] = text
    for key in LISTS:
        cells = numbered(row.values, key)
        value = list_cell(row.values.get(key), key, row.where) if cells is None else cells
        texts = [text_cell(entry, key, row.where) for entry in value]
        if any(text is None for text in texts):
            raise DataError(f"{row.where}: {key!r} has an entry without a value: {value!r:.80}")
        body[key] = [text for text in texts if text is not None]
    body["tags"] = _tag_cells(row.values.get("tags"), row.where)
    return body


def _tag_cells(value: JSON, where: str) -> dict[str, JSON]:
    """Any scalar is a tag; null is none."""
    if isinstance(value, str) and value.strip().startswith("{"):
        try:
            value = parse(value)
        except ValueError as error:
            raise DataError(f"{where}: 'tags' begin with '{{' but are no object of JSON: {error}") from None
    if value is not None and not isinstance(value, Mapping):
        raise DataError(f"{where}: 'tags' must be an object of strings, numbers or Booleans, not {value!r:.80}")
    texts = {key: text_cell(entry, f"tag {key}", where) for key, entry in (value or {}).items()}
    return {key: text for key, text in texts.items() if text is not None}

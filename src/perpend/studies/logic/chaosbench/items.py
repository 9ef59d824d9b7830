"""Items as the benchmark's files hold them, one JSON object a line, and as perpend holds them.

A line has `id`, `question`, `ground_truth`, `type` (the family), `system_id` and `template`, in this order; further
keys follow and become tags. What is written is byte for byte what `json.dumps` with its defaults writes, and a line
feed.
"""

from __future__ import annotations

import hashlib
import json
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from importlib.resources import files
from pathlib import Path
from typing import Literal, TypeAlias

from perpend.canon import JSON, dumps, json_lines, write_atomic
from perpend.errors import DataError
from perpend.ledger.items import check_item
from perpend.types import Item

Record: TypeAlias = dict[str, JSON]
"""One line of an item file."""
Label: TypeAlias = Literal["TRUE", "FALSE"]

PROTOCOL = tomllib.loads((files(__package__) / "protocol.toml").read_text(encoding="utf-8"))
"""Names of the run plan and of the files that its commands write."""
FAMILIES = tuple(PROTOCOL["families"])
KEYS = ("id", "question", "ground_truth", "type", "system_id", "template")
LABEL_KEYS = ("ground_truth", "answer", "gold", "label")
"""Where a label is looked for, in this order."""
_LABELS: dict[str, Label] = {
    **dict.fromkeys(("yes", "y", "true", "t"), "TRUE"),
    **dict.fromkeys(("no", "n", "false", "f"), "FALSE"),
}
NO_FAMILY = "unknown"
SHORT = 16
"""Hex digits of the digests of ids and prompts."""


def read_records(path: Path) -> Iterator[tuple[str, Record]]:
    """('file:line', record) of every line of an item file; blank lines are passed over."""
    if path.is_dir():
        raise DataError(f"{path}: is a folder; give the path of a JSONL file of items")
    return json_lines(path)


def load_records(paths: Iterable[Path]) -> list[Record]:
    """The records of some files in order. An id that is missing or occurs twice is an error."""
    records: list[Record] = []
    seen: dict[str, str] = {}
    for path in paths:
        for where, record in read_records(path):
            name = text_of(record, "id")
            if not name:
                raise DataError(f"{where}: 'id' is missing or blank; give each item its own id")
            if name in seen:
                raise DataError(f"{where}: id {name!r} was used at {seen[name]} already; ids must be unique")
            seen[name] = where
            records.append(record)
    return records


def line_of(record: Mapping[str, JSON]) -> str:
    """The line of a record, without its line feed; keys that start with '_' are left out."""
    return json.dumps({key: value for key, value in record.items() if not key.startswith("_")})


def write_records(path: Path, records: Iterable[Mapping[str, JSON]]) -> None:
    """Write an item file: ASCII, one line each, every line ended by a line feed."""
    write_atomic(path, "".join(f"{line_of(record)}\n" for record in records))


def text_of(record: Mapping[str, JSON], key: str) -> str:
    """A value as text; '' where the key is absent or null."""
    value = record.get(key)
    return "" if value is None else value if isinstance(value, str) else dumps(value)


def ids_hash(ids: Iterable[str]) -> str:
    """16 hex digits over the sorted ids joined by '|': blind to order, text and labels."""
    return hashlib.sha256("|".join(sorted(ids)).encode()).hexdigest()[:SHORT]


def normalised(label: JSON) -> Label | None:
    """TRUE for yes, y, true, t; FALSE for no, n, false, f; in any case. None for everything else."""
    if isinstance(label, bool):
        return "TRUE" if label else "FALSE"
    return _LABELS.get(label.strip().lower()) if isinstance(label, str) else None


def label_of(record: Mapping[str, JSON]) -> Label | None:
    """The label under the first of `ground_truth`, `answer`, `gold` and `label` that is there."""
    return next((normalised(record[key]) for key in LABEL_KEYS if record.get(key) is not None), None)


def family_of(record: Mapping[str, JSON]) -> str:
    """The family by which results are told apart: the key `type`, not the file's name."""
    return text_of(record, "type") or NO_FAMILY


def to_item(record: Mapping[str, JSON], where: str) -> Item:
    """A record as an Item. Every key but id, question and the label becomes a tag; what is no text as its JSON."""
    label = label_of(record)
    if label is None:
        labels = [f"{key} = {record[key]!r}" for key in LABEL_KEYS if key in record]
        raise DataError(f"{where}: the label is neither TRUE nor FALSE ({', '.join(labels) or 'there is none'})")
    label_key = next(key for key in LABEL_KEYS if record.get(key) is not None)
    tags = {key: text_of(record, key) for key in record if key not in ("id", "question", label_key)}
    item = Item(text_of(record, "id"), text_of(record, "question"), label, tags=tags)
    check_item(item, where)
    return item

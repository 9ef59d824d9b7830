"""Damaged, mixed and lying files of others: each is refused with its place, or the audit names what differs.

tables/import_damage.jsonl has one a line: the source (see GIVEN), the steps that damage it, and what is said of it,
with '…' for what is left out. A step is [file, or '' for the source itself, operation below, …]. `finds` is the place
of a lie that the audit finds; what has none is refused.
"""

from __future__ import annotations

import csv
import gzip
import io
import json
import re
import sqlite3
import time
import zipfile
from collections.abc import Callable, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyarrow import parquet

import perpend as pp
from perpend.errors import AuditFailure, PerpendError
from tests.attack.crafted import at_path
from tests.source_files import SOURCES
from tests.test_compat_field_map import MAP, jsonl
from tests.test_import_sources import EVERY

TABLE = Path(__file__).parent / "tables" / "import_damage.jsonl"
CASES = [json.loads(line) for line in TABLE.read_text(encoding="utf-8").splitlines()]
REFUSED, FOUND = ([case for case in CASES if ("finds" in case) == lies] for lies in (False, True))
GIVEN = {**EVERY, "map": lambda folder: jsonl(folder, {"r": 0})}
FIELDS = {"map": f"{MAP},repeat=r"}


def spoil(source: Path, name: str, operation: str, *arguments: Any) -> None:
    """One step on a file of a source."""
    path = source if not name else (source if source.is_dir() else source.parent) / name
    if operation in BYTES:
        path.write_bytes(BYTES[operation](path.read_bytes(), *arguments))
    elif operation in TEXT:
        text = path.read_text(encoding="utf-8")
        path.write_text(TEXT[operation](text, *arguments), encoding="utf-8")
    else:
        FILE[operation](path, *arguments)


def replaced(name: str, old: str, new: str) -> Callable[[Path], None]:
    """Some text of a file is another one."""
    return lambda source: spoil(source, name, "replace", old, new)


def _garbled(data: bytes) -> bytes:
    """Nothing but the first and the last page of a database is left."""
    page = int.from_bytes(data[16:18], "big")
    return data[:page] + b"\xaa" * (len(data) - 2 * page) + data[-page:]


def _encoded(data: bytes, encoding: str) -> bytes:
    """In another encoding, with a letter that is not the same there."""
    text = data.decode()
    for word in ("Santiago", "reply", "Far", "Say", "judge_a"):
        text = text.replace(word, re.sub("[ae]", lambda letter: {"a": "á", "e": "é"}[letter[0]], word, count=1))
    return text.encode(encoding)


def _replaced(text: str, old: str, new: str) -> str:
    assert old in text
    return text.replace(old, new, 1)


def _delimited(text: str, delimiter: str) -> str:
    """A CSV file with other separators, beneath a first line that has commas."""
    first, *others = csv.reader(io.StringIO(text))
    out = io.StringIO()
    csv.writer(out).writerow(first)
    csv.writer(out, delimiter=delimiter).writerows(others)
    return out.getvalue()


def _row(text: str, change: Mapping[str, object]) -> str:
    """The first row, and one like it but for some keys."""
    first = text.splitlines()[0]
    return f"{first}\n{json.dumps({**json.loads(first), **change})}\n"


def _numbered_from_0(text: str) -> str:
    head, *rows = text.splitlines()
    return "\n".join([head, *(f"{int(row.partition(',')[0]) - 1},{row.partition(',')[2]}" for row in rows)]) + "\n"


def _json(text: str, operation: str, path: str, *values: Any) -> str:
    """The JSON of a file changed at a path."""
    body = json.loads(text)
    at_path(body, operation, path, values)
    return json.dumps(body)


def _parquet(path: Path, change: Callable[[list[dict[str, Any]]], object]) -> None:
    rows = parquet.read_table(path).to_pylist()
    change(rows)
    parquet.write_table(pa.Table.from_pylist(rows), path)


def _sql(path: Path, script: str) -> None:
    with closing(sqlite3.connect(path)) as db:
        db.executescript(script)


BYTES: Mapping[str, Callable[..., bytes]] = {
    "cut": lambda data, part=0.6: data[: int(len(data) * part)],
    "zeros": lambda data: data[:-9] + bytes(9),
    "pack": gzip.compress,
    "garble": _garbled,
    "encode": _encoded,
}
TEXT: Mapping[str, Callable[..., str]] = {
    "write": lambda _, text: text,
    "replace": _replaced,
    "long number": lambda text, old, rest: _replaced(text, old, "2" * 6000 + rest),
    "twice": lambda text, line: text + text.splitlines(keepends=True)[line],
    "twice over": lambda text: text + text,
    "gone": lambda text, line: "".join(row for n, row in enumerate(text.splitlines(keepends=True)) if n != line),
    "delimit": _delimited,
    "numbered from 0": _numbered_from_0,
    "as a list": lambda text: json.dumps([json.loads(line) for line in text.splitlines()]),
    "row": _row,
    "json": _json,
}
FILE: Mapping[str, Callable[..., None]] = {
    "remove": Path.unlink,
    "parquet": lambda path, what, at, *values: _parquet(path, lambda rows: at_path(rows, what, at, values)),
    "parquet words": lambda path, key: _parquet(
        path, lambda rows: [row.update({key: json.dumps(row[key])}) for row in rows]
    ),
    "sql": _sql,
}


@pytest.mark.parametrize("case", REFUSED, ids=lambda case: case["name"])
def test_a_damaged_source_is_refused_with_its_place_and_leaves_nothing(tmp_path: Path, case: Mapping[str, Any]) -> None:
    path = GIVEN[case["source"]](tmp_path)
    for step in case["steps"]:
        spoil(path, *step)
    before, begun = sorted(tmp_path.rglob("*")), time.process_time()
    with pytest.raises(PerpendError) as error:
        pp.convert(path, tmp_path / "run", fields=FIELDS.get(case["source"]))
    assert time.process_time() - begun < 5
    assert case.get("without_place") or any(str(tmp_path) in str(words) for words in error.value.args)
    assert re.search(".*".join(map(re.escape, case.get("says", "").split("…"))), str(error.value)), error.value
    assert sorted(tmp_path.rglob("*")) == before


@pytest.mark.parametrize("case", FOUND, ids=lambda case: case["name"])
def test_a_lying_source_is_found_out_with_the_place_of_the_lie(tmp_path: Path, case: Mapping[str, Any]) -> None:
    path = SOURCES[case["source"]](tmp_path / "given")
    pp.audit(path).raise_for_failures()
    for step in case["steps"]:
        spoil(path, *step)
    audited = pp.audit(path)
    assert not audited.ok
    [outcome] = audited.sources
    places = [f"{one.stated.file}, {one.stated.place}" for one in outcome.differing]
    places += [example for rule in outcome.rules for example in rule.examples]
    assert any(case["finds"] in one for one in places), places
    assert "notes" not in case or outcome.notes[case["notes"]] == 1
    with pytest.raises(AuditFailure, match="state what does not follow"):
        audited.raise_for_failures()


def test_numbers_of_events_may_be_far_apart_and_out_of_order(tmp_path: Path) -> None:
    path = SOURCES["evals"](tmp_path / "given")
    text = path.read_text()
    path.write_text(text.replace('"event_id": 3', '"event_id": 1000000000000000'))
    [outcome] = pp.audit(path).sources
    [missing] = [count for note, count in outcome.notes.items() if note.startswith("events whose numbers")]
    assert missing > 10**14


def test_members_of_an_archive_that_are_not_read_are_named(tmp_path: Path) -> None:
    """They may state other numbers than the samples give, and a reader of the log sees them."""
    header = {
        "version": 2,
        "status": "success",
        "eval": {"task": "t", "model": "m/x", "created": "2026-01-01T00:00:00+00:00"},
    }
    sample = {
        "id": 1,
        "epoch": 1,
        "input": "q",
        "target": "a",
        "output": {"choices": [{"message": {"role": "assistant", "content": "a"}, "stop_reason": "stop"}]},
        "scores": {"match": {"value": "C", "answer": "a"}},
    }
    members = {"header.json": header, "samples/1_epoch_1.json": sample, "summaries.json": [], "\x1b[2Jx": [], "a/b": {}}
    with zipfile.ZipFile(tmp_path / "log.eval", "w") as archive:
        for name, body in members.items():
            archive.writestr(name, json.dumps(body))
    (outcome,) = pp.audit(tmp_path / "log.eval").sources
    (unread,) = [(words, count) for words, count in outcome.notes.items() if "not read" in words]
    assert unread == (r"members of the archive that are not read: 'summaries.json', '\x1b[2Jx', 'a/b'", 3)

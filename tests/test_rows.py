"""The files that people have, row by row: encodings, separators, shapes, and what is wrong with them."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest
from pyarrow import parquet

from perpend.errors import DataError, PerpendError, SpecError
from perpend.ledger.items import freeze, item_digest, load_items, read_items
from perpend.measure.labels import KEYS
from perpend.rows import reader
from perpend.rows.mapping import mapped, parse_map
from perpend.rows.reader import csv_rows, read_rows
from perpend.types import Item
from tests.tables import table

FACTS = [
    {"nr": 7, "question": 'What is "2 + 2"?\nSay it.', "answer": 4, "wrong": "5; or 6", "easy": True, "topic": "sums"},
    {"nr": 8, "question": "Größe, in Zürich?", "answer": "ja", "wrong": "nein", "easy": False, "topic": None},
]
MAP = parse_map("id=nr,prompt=question,target=answer,decoy=wrong")
ITEMS = (
    Item("7", 'What is "2 + 2"?\nSay it.', "4", (), "5; or 6", (), {"easy": "true", "topic": "sums"}),
    Item("8", "Größe, in Zürich?", "ja", (), "nein", (), {"easy": "false"}),
)


def delimited(path: Path, delimiter: str, encoding: str = "utf-8", newline: str = "\n") -> Path:
    with path.open("w", encoding=encoding, newline="") as file:
        writer = csv.DictWriter(file, list(FACTS[0]), delimiter=delimiter, lineterminator=newline)
        writer.writeheader()
        for row in FACTS:
            writer.writerow({**row, "easy": str(row["easy"]).lower()})
    return path


def as_json(path: Path, body: object, encoding: str = "utf-8") -> Path:
    path.write_text(json.dumps(body, ensure_ascii=False, indent=1), encoding=encoding)
    return path


def as_lines(path: Path, encoding: str = "utf-8", newline: str = "\n") -> Path:
    path.write_bytes(newline.join([*(json.dumps(row, ensure_ascii=False) for row in FACTS), ""]).encode(encoding))
    return path


def as_parquet(path: Path) -> Path:
    parquet.write_table(pa.Table.from_pylist([{**row, "answer": str(row["answer"])} for row in FACTS]), path)
    return path


WAYS: dict[str, Callable[[Path], Path]] = {
    "csv": lambda to: delimited(to / "a.csv", ","),
    "csv of a spreadsheet": lambda to: delimited(to / "a.csv", ";", "utf-8-sig", "\r\n"),
    "csv in UTF-16": lambda to: delimited(to / "a.csv", ",", "utf-16", "\r\n"),
    "csv in UTF-32": lambda to: delimited(to / "a.csv", ";", "utf-32"),
    "csv of an old machine": lambda to: delimited(to / "a.csv", ",", newline="\r"),
    "csv under another name": lambda to: delimited(to / "a.txt", ";"),
    "tsv": lambda to: delimited(to / "a.tsv", "\t"),
    "tsv in UTF-16": lambda to: delimited(to / "a.tsv", "\t", "utf-16"),
    "tabs in a csv": lambda to: delimited(to / "a.csv", "\t"),
    "json": lambda to: as_json(to / "a.json", FACTS),
    "json with a mark": lambda to: as_json(to / "a.json", FACTS, "utf-8-sig"),
    "json in UTF-16": lambda to: as_json(to / "a.json", FACTS, "utf-16"),
    "json with one list": lambda to: as_json(to / "a.json", {"version": 1, "names": ["x"], "data": FACTS}),
    "json on one line": lambda to: (to / "a.json").write_text(json.dumps({"data": FACTS})) and to / "a.json",
    "jsonl": lambda to: as_lines(to / "a.jsonl"),
    "jsonl of a spreadsheet": lambda to: as_lines(to / "a.jsonl", "utf-8-sig", "\r\n"),
    "jsonl in UTF-16": lambda to: as_lines(to / "a.jsonl", "utf-16"),
    "jsonl called json": lambda to: as_lines(to / "a.json"),
    "json called jsonl": lambda to: as_json(to / "a.jsonl", FACTS),
    "parquet": lambda to: as_parquet(to / "a.parquet"),
    "parquet under another name": lambda to: as_parquet(to / "a.data"),
}


@pytest.mark.parametrize("way", WAYS)
def test_the_same_items_come_out_of_every_kind_of_file(tmp_path: Path, way: str) -> None:
    assert load_items([WAYS[way](tmp_path)], MAP) == ITEMS


def test_items_of_perpends_own_lines_have_the_digests_that_they_always_had(tmp_path: Path) -> None:
    path = tmp_path / "items.jsonl"
    path.write_text(
        '{"id": "a", "prompt": "What?", "target": "x", "choices": ["x", "y"], "decoy": "y", "tags": {"topic": "t"}}\n'
    )
    assert freeze([path])["items"] == {"a": "ebf9432b677b6963fff54e8545209c9a3a25389808127cdc0a46cd67b6256917"}


def test_a_table_needs_no_map_where_its_columns_have_the_names_of_fields(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text(",id,prompt,target,choices,aliases,model,topic\n0,007,Q?,B,x|y|z,,m,\n,,,,,,,\n")
    ((where, item),) = read_items(path)
    assert (where, item) == (f"{path}:2", Item("007", "Q?", "y", ("x", "y", "z"), tags={"metadata_model": "m"}))


def test_choices_come_as_a_list_as_text_or_as_columns_and_the_target_as_letter_or_place(tmp_path: Path) -> None:
    cells = (
        ("a.csv", "q,c,t\nQ?,\"[1, 2.5, \"\"x\"\"]\",C\n", "prompt=q,choices=c,target=t", ("1", "2.5", "x"), "x"),
        ("a.csv", "q,A,B,t\nQ?,no,yes,B\n", "prompt=q,choices.0=A,choices.1=B,target=t", ("no", "yes"), "yes"),
        ("a.json", '[{"q": "Q?", "c": ["no", "yes"], "t": 1}]', "prompt=q,choices=c,target=t", ("no", "yes"), "yes"),
        ("a.json", '[{"q": "Q?", "c": [1, 0], "t": 1}]', "prompt=q,choices=c,target=t", ("1", "0"), "1"),
    )  # fmt: skip
    for name, text, fields, choices, target in cells:
        (tmp_path / name).write_text(text)
        ((_, item),) = read_items(tmp_path / name, parse_map(fields))
        assert (item.choices, item.target) == (choices, target), text


def test_an_item_without_an_id_is_named_by_its_question_and_the_same_one_twice_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("question,answer\nA?,1\nB?,2\n")
    fields = parse_map("prompt=question,target=answer")
    first = load_items([path], fields)
    path.write_text("answer,question\n2,B?\n1,A?\n")
    assert {item_digest(item) for item in load_items([path], fields)} == {item_digest(item) for item in first}
    path.write_text("question,answer\nA?,1\nA?,1\n")
    with pytest.raises(DataError, match=r"a.csv:3: id 'item-\w{12}' was used at .*a.csv:2 already"):
        load_items([path], fields)


def test_any_scalar_is_a_tag_and_null_is_none(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text('{"id": 3, "prompt": "Q?", "tags": {"a": 1, "b": 2.0, "c": 0.5, "d": true, "e": null, "f": "x"}}\n')
    ((_, item),) = read_items(path)
    assert (item.id, item.tags) == ("3", {"a": "1", "b": "2", "c": "0.5", "d": "true", "f": "x"})


def test_a_map_takes_paths_values_and_tags(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text('{"doc": {"q": "Q?", "answers": ["yes"]}, "meta": {"level": 3}, "kept": 1, "id": "a"}\n')
    fields = parse_map("prompt=doc.q,target=doc.answers.0,tag.level=meta.level,tag.split==dev")
    ((_, item),) = read_items(path, fields)
    assert item == Item("a", "Q?", "yes", tags={"level": "3", "split": "dev", "kept": "1"})


@pytest.mark.parametrize(*table("rows_refused"))
def test_what_is_wrong_with_a_file_is_said_with_its_place(
    tmp_path: Path, name: str, data: str, fields: str, message: str
) -> None:
    """The bytes of a file are written in the table as the characters of their numbers."""
    (tmp_path / name).write_bytes(data.encode("latin-1"))
    with pytest.raises(PerpendError, match=message) as error:
        load_items([tmp_path / name], parse_map(fields) if fields else {})
    assert isinstance(error.value, DataError | SpecError)


def test_what_is_no_file_is_an_error(tmp_path: Path) -> None:
    for path, message in (
        (tmp_path, "a folder, where a file is expected"),
        (tmp_path / "gone.csv", "no such file; give the path"),
    ):
        with pytest.raises(DataError, match=message):
            load_items([path])


def test_a_quote_that_is_never_closed_does_not_fill_the_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reader, "_LONGEST", 1 << 12)
    path = tmp_path / "a.csv"
    path.write_text('id,prompt\n1,"' + "x\n" * 5000)
    with pytest.raises(DataError, match="a quote is not closed"):
        list(read_rows(path))
    path.write_text("id,prompt\n1," + "x" * 5000)
    with pytest.raises(DataError, match="a.csv:2: longer than"):
        list(read_rows(path))


def test_rows_are_read_one_at_a_time(tmp_path: Path) -> None:
    """The first row is there although a later one is wrong."""
    for name, text in (("a.csv", "id\n1\n2,3\n"), ("a.jsonl", '{"id": 1}\n{"id\n'), ("a.json", '[{"id": 1}, {"id"]')):
        (tmp_path / name).write_text(text)
        rows = read_rows(tmp_path / name)
        assert str(next(rows)[1]["id"]) == "1"
        with pytest.raises(DataError):
            list(rows)


def test_a_spreadsheet_may_say_what_is_between_its_cells(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("sep=|\nid|a,b\n1|x\n")
    assert list(csv_rows(tmp_path / "a.csv")) == [(f"{tmp_path / 'a.csv'}:3", {"id": "1", "a,b": "x"})]


def test_parquet_without_its_package_names_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = as_parquet(tmp_path / "a.parquet")
    monkeypatch.setitem(__import__("sys").modules, "pyarrow", None)
    with pytest.raises(SpecError, match=r"pip install 'perpend\[parquet\]'"):
        list(read_rows(path))


def test_cells_of_parquet_are_plain_values_and_nan_is_none(tmp_path: Path) -> None:
    import datetime
    import decimal

    row = {
        "n": 1.5,
        "none": float("nan"),
        "day": datetime.date(2026, 1, 2),
        "d": decimal.Decimal("2.50"),
        "l": [1, None],
        "s": {"a": "x"},
    }
    parquet.write_table(pa.Table.from_pylist([row]), tmp_path / "a.parquet")
    ((_, cells),) = read_rows(tmp_path / "a.parquet")
    assert cells == {"n": 1.5, "none": None, "day": "2026-01-02", "d": 2.5, "l": [1, None], "s": {"a": "x"}}
    parquet.write_table(pa.table({"b": [b"\x00"]}), tmp_path / "b.parquet")
    with pytest.raises(DataError, match="row 1: 'b': a bytes"):
        list(read_rows(tmp_path / "b.parquet"))


def test_a_map_takes_a_column_once_and_leaves_own_names_to_the_rest(tmp_path: Path) -> None:
    rows = iter([("a:1", {"trial": 3, "label": "x", "verdict": "no", "extra": 1})])
    (row,) = mapped(rows, tmp_path, {"label": "verdict"}, KEYS)
    assert (row.values, row.rest) == ({"label": "no", "trial": 3}, {"label": "x", "extra": 1})

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from perpend.canon import dumps
from perpend.errors import DataError
from perpend.ledger import items as data
from perpend.types import Item
from tests.tables import table


def write(path: Path, *lines: str) -> Path:
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def line(**changes: object) -> str:
    return json.dumps({"id": "a", "prompt": "What?", **changes})


@pytest.mark.parametrize(*table("items_refused"))
def test_a_bad_item_is_an_error_that_names_file_and_line(tmp_path: Path, bad: str, said: str) -> None:
    path = write(tmp_path / "items.jsonl", line(id="fine"), "", bad)
    with pytest.raises(DataError, match="items.jsonl:3: ") as error:
        list(data.read_items(path))
    assert said in str(error.value)


def test_answers_that_are_one_to_the_rules_are_refused(tmp_path: Path) -> None:
    path = write(tmp_path / "items.jsonl", line(target="4", decoy="four"))
    with pytest.raises(DataError, match=r"items.jsonl:1: item 'a': decoy equals target: 'four' and '4'"):
        list(data.read_items(path))


def test_an_id_used_in_two_files_is_an_error_that_names_both_places(tmp_path: Path) -> None:
    one, two = write(tmp_path / "one.jsonl", line()), write(tmp_path / "two.jsonl", line())
    with pytest.raises(DataError, match=r"two.jsonl:1: id 'a' was used at .*one.jsonl:1"):
        data.load_items([one, two])


def test_a_missing_or_binary_file_is_a_clear_error(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no such file"):
        list(data.read_items(tmp_path / "none.jsonl"))
    (tmp_path / "binary.jsonl").write_bytes(b"\xff\xfa{}")
    with pytest.raises(DataError, match="not UTF-8 at byte 0"):
        list(data.read_items(tmp_path / "binary.jsonl"))


def test_a_stored_item_is_the_item_that_was_stored() -> None:
    item = Item("a", "What?", "x", ("x", "y"), "y", ("X!",), {"topic": "t"})
    assert data.stored_item(dumps(item.as_json())) == item


def test_a_freeze_holds_for_the_same_items_in_another_layout(tmp_path: Path) -> None:
    one = write(tmp_path / "one.jsonl", line(id="a"), line(id="b"))
    frozen = tmp_path / "freeze.json"
    frozen.write_text(json.dumps(data.freeze([one])))
    turned = write(tmp_path / "two.jsonl", '{"prompt":   "What?", "id":"b"}', line(id="a"))
    assert data.check_freeze(frozen, [turned]) == data.freeze([one])["sha256"]


def test_a_freeze_names_the_item_that_changed(tmp_path: Path, items_file: Callable[..., Path]) -> None:
    path = items_file(10)
    frozen = tmp_path / "freeze.json"
    frozen.write_text(json.dumps(data.freeze([path])))
    path.write_text(path.read_text().replace("3 is even", "3 is odd"))
    with pytest.raises(DataError, match=r"1 item\(s\) changed: item-3"):
        data.check_freeze(frozen, [path])
    write(path, line(id="new"))
    with pytest.raises(DataError, match=r"missing: item-0.*not in the freeze: new"):
        data.check_freeze(frozen, [path])

"""Small rules of the ledger's files: what binds a run, how a difference is said, what a look says on a terminal."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from perpend.canon import JSON
from perpend.errors import DataError, StoreError
from perpend.ledger.database import connect
from perpend.ledger.looks import Look, summary
from perpend.ledger.manifest import ItemsFacts, Manifest, differences, sampling_of
from perpend.ledger.staging import must_be_free
from perpend.types import Sampling
from tests.tables import table


def test_a_manifest_that_says_nothing_more_asks_for_text_once_per_item() -> None:
    plain = Manifest("r", "t", {}, ItemsFacts(0, ""), (), (), (), 0, (), ())
    body = plain.as_json()
    assert body["task"] == {"name": "t", "options": {}, "choices_scored": False}
    assert (body["repeats"], body["reprompt"], body["created"], body["code"]) == (1, None, "", {})
    assert (body["sources"], body["stop"], body["import"]) == ([], None, None)
    assert not plain.is_imported


SAMPLING: dict[str, JSON] = {"temperature": 0.5, "max_tokens": 8, "seed": None, "top_p": None, "stop": []}


def test_a_sampling_is_read_as_it_was_written() -> None:
    assert sampling_of(SAMPLING, "x") == Sampling(0.5, 8, None)
    whole = {**SAMPLING, "temperature": 1, "seed": 3, "top_p": 0.9, "stop": ["\n"]}
    assert sampling_of(whole, "x") == Sampling(1, 8, 3, 0.9, ("\n",))


@pytest.mark.parametrize(*table("samplings_refused"))
def test_a_sampling_of_anything_but_numbers_is_refused(wrong: dict[str, JSON]) -> None:
    with pytest.raises(DataError, match="^file: "):
        sampling_of({**SAMPLING, **wrong}, "file")


def test_a_difference_is_said_with_its_place_and_long_values_are_cut() -> None:
    before: JSON = {"a": {"b": [1, {"c": "x" * 78}]}, "same": [1], "gone": 1, "long": "y" * 79}
    after: JSON = {"a": {"b": [1, {"c": "z"}]}, "same": [1], "new": [], "long": [1, 2]}
    assert differences(before, after) == [
        f'a.b[1].c: "{"x" * 78}" → "z"',
        "gone: 1 → null",
        f'long: "{"y" * 76}… → [1,2]',
        "new: null → []",
    ]
    assert differences([1, 2], [1]) == [": [1,2] → [1]"]


def look(estimates: dict[str, JSON], notes: JSON = None) -> Look:
    opened = Look(Path("runs/r/inside/m"), {"model": "m", "notes": notes})
    opened.__dict__["estimates"] = estimates
    return opened


def test_a_look_is_summed_up_by_its_shifts_its_best_probe_and_what_is_missing() -> None:
    told = summary(
        look(
            {
                "log_odds": {
                    "asch": {"value": -0.5, "lo": -1.0, "hi": 0.25, "n": 8},
                    "none": {"value": None, "note": "no row"},
                },
                "steering": {"2": {"value": 1, "lo": None, "hi": None, "note": "one item", "n": 1}},
                "accuracy": {
                    "0": {"value": None, "note": "no label"},
                    "3": {"value": 0.5, "n": 4},
                    "4": {"value": 0.5, "n": 4},
                },
            },
            {"lens": "left out"},
        )
    )
    assert told == {
        "look": "runs/r/inside/m",
        "shift in log-odds asch": "-0.500 [-1.000, 0.250] n=8",
        "shift in log-odds none": "NA (no row)",
        "change in log-odds by steering with alpha 2": "1.000 (one item) n=1",
        "held-out accuracy of the best of 3 probes, layer 3": "0.500 (None) n=4",
        "note on lens": "left out",
    }


def test_a_look_with_nothing_in_it_is_summed_up_by_its_place() -> None:
    assert summary(look({"log_odds": [], "accuracy": {}})) == {"look": "runs/r/inside/m"}
    assert summary(look({"log_odds": {"asch": 3}})) == {
        "look": "runs/r/inside/m",
        "shift in log-odds asch": "NA (missing)",
    }


def test_a_long_file_may_be_worked_on_for_longer_than_a_short_one(tmp_path: Path) -> None:
    path = tmp_path / "run.db"
    with closing(sqlite3.connect(path)) as db:
        db.execute("CREATE TABLE filler(body BLOB)")
        db.execute("INSERT INTO filler VALUES(zeroblob(1000000))")
        db.commit()
    with closing(connect(path, "ro")) as db:
        count = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 400000) SELECT max(i) FROM n"
        assert db.execute(count).fetchone() == (400000,)


def test_what_is_imported_goes_to_a_new_place_or_an_empty_folder(tmp_path: Path) -> None:
    must_be_free(tmp_path / "new")
    (tmp_path / "folder").mkdir()
    must_be_free(tmp_path / "folder")
    (tmp_path / "folder" / "file").touch()
    for taken in (tmp_path / "folder", tmp_path / "folder" / "file"):
        with pytest.raises(StoreError, match="exists already; give another name or remove it"):
            must_be_free(taken)

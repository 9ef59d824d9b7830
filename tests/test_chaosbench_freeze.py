"""Freezing the canonical files, and drawing subsets from them."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest

from perpend.errors import SpecError
from perpend.studies.logic.chaosbench.items import load_records, write_records
from perpend.studies.logic.chaosbench.subsets import Sampler, draw, weights_from
from tests.test_chaosbench_items import chaosbench, data_set, record, without


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A small data set, with the current directory in it."""
    monkeypatch.chdir(data_set(tmp_path))
    return tmp_path


def test_a_freeze_writes_manifest_sums_and_report(root: Path) -> None:
    code, said = chaosbench("freeze")
    assert code == 0, said
    body = json.loads((root / "artifacts/freeze/v2_freeze_manifest.json").read_text())
    assert body["canonical_total_questions"] == 120
    assert body["canonical_selector"] == "data/canonical_v2_files.json"
    assert body["duplicate_ids"] == 0
    assert [entry["count"] for entry in body["canonical_files"]] == [60, 60]
    sums = (root / "artifacts/freeze/v2_freeze_sha256.txt").read_text().splitlines()
    assert sums[0] == f"{body['global_sha256']}  GLOBAL"
    assert sums[1].endswith("  data/v22_atomic.jsonl  (count=60)")
    assert body["global_sha256"] in (root / "artifacts/freeze/v2_freeze_report.md").read_text()
    assert str(root) not in json.dumps(body)


def test_a_second_freeze_of_the_same_files_changes_nothing(root: Path) -> None:
    chaosbench("freeze")
    before = (root / "artifacts/freeze/v2_freeze_manifest.json").read_bytes()
    code, said = chaosbench("freeze")
    assert (code, "same as the freeze before" in said) == (0, True)
    assert (root / "artifacts/freeze/v2_freeze_manifest.json").read_bytes() == before


def test_a_second_freeze_says_what_differs_and_keeps_the_first(root: Path) -> None:
    chaosbench("freeze")
    before = (root / "artifacts/freeze/v2_freeze_manifest.json").read_bytes()
    path = root / "data" / "v22_atomic.jsonl"
    path.write_bytes(path.read_bytes() + b'{"id": "new", "ground_truth": "TRUE"}\n')
    code, said = chaosbench("freeze")
    assert code == 1
    assert "data/v22_atomic.jsonl: its bytes have changed" in said
    assert "it had 60 items and has 61" in said
    assert (root / "artifacts/freeze/v2_freeze_manifest.json").read_bytes() == before
    code, said = chaosbench("freeze", "--force")
    assert (code, "replaced" in said) == (0, True)


def test_a_bad_label_is_exit_1_and_names_its_line(root: Path) -> None:
    write_records(root / "data" / "v22_atomic.jsonl", [record(0), record(1, ground_truth="MAYBE")])
    code, said = chaosbench("freeze")
    assert code == 1
    assert "v22_atomic.jsonl:2" in said


@pytest.mark.parametrize("damage", ["selector", "file", "empty list", "no JSON"])
def test_what_is_missing_is_exit_2(root: Path, damage: str) -> None:
    selector = root / "data" / "canonical_v2_files.json"
    if damage == "selector":
        assert chaosbench("freeze", "--selector", "gone.json")[0] == 2
        return
    if damage == "file":
        (root / "data" / "v22_atomic.jsonl").unlink()
    else:
        selector.write_text("{" if damage == "no JSON" else '{"files": []}')
    code, said = chaosbench("freeze")
    assert code == 2, said


def test_repeated_ids_are_counted_and_only_warned_of(root: Path) -> None:
    write_records(root / "data" / "v22_atomic.jsonl", [record(0), record(0)])
    code, said = chaosbench("freeze")
    assert code == 0
    assert "1 ids occur twice" in said


def test_a_selector_can_be_made_from_the_folder(root: Path) -> None:
    (root / "data" / "canonical_v2_files.json").unlink()
    assert chaosbench("freeze", "--make-selector")[0] == 0
    listed = json.loads((root / "data" / "canonical_v2_files.json").read_text())["files"]
    assert listed == ["data/v22_atomic.jsonl", "data/v22_multi_hop.jsonl"]


def test_the_armored_sampler_gives_the_size_the_labels_and_every_family() -> None:
    pool = [record(n, "atomic") for n in range(300)] + [record(n, "regime") for n in range(7)]
    chosen, log = draw(pool, Sampler(40))
    assert len(chosen) == 40
    assert len({entry["id"] for entry in chosen}) == 40
    assert Counter(str(entry["type"]) for entry in chosen) == {"atomic": 39, "regime": 1}
    assert log["atomic"].taken == (19, 20)
    assert (log["atomic"].quota, log["atomic"].padding) == (39, 0)
    assert [e["id"] for e in draw(pool, Sampler(40))[0]] == [e["id"] for e in chosen]
    assert [e["id"] for e in draw(pool, Sampler(40, seed=1))[0]] != [e["id"] for e in chosen]


def test_what_rounding_loses_is_filled_up_from_the_largest_family() -> None:
    pool = [record(n, family) for family, count in (("a", 50), ("b", 31), ("c", 29)) for n in range(count)]
    chosen, log = draw(pool, Sampler(10))
    assert {name: (one.quota, one.padding) for name, one in log.items()} == {"a": (4, 2), "b": (2, 0), "c": (2, 0)}
    assert len(chosen) == 10
    assert len(draw(pool, Sampler(10, balance_families=False))[0]) == 8


def test_a_label_that_runs_out_is_made_up_for_by_the_other() -> None:
    pool = [record(n, ground_truth="TRUE" if n < 3 else "FALSE") for n in range(30)]
    assert draw(pool, Sampler(20))[1]["atomic"].taken == (3, 17)


def test_a_size_beyond_the_set_gives_the_whole_set() -> None:
    chosen, _ = draw([record(n) for n in range(9)], Sampler(100))
    assert sorted(str(entry["id"]) for entry in chosen) == [f"atomic_{n:04}" for n in range(9)]


def test_the_subset_command_writes_items_and_manifest(root: Path) -> None:
    out = root / "data" / "subsets" / "small.jsonl"
    code, said = chaosbench("subset", "--size", "20", "--balance-labels", "--balance-families", "--out", out)
    assert code == 0, said
    body = json.loads(out.with_suffix(".manifest.json").read_text())
    assert (body["size"], body["source"], body["selection_method"]) == (20, "canonical", "balanced_by_family")
    assert body["label_balance"] == {"true_count": 10, "false_count": 10, "true_ratio": 0.5}
    assert len(load_records([out])) == 20
    again = root / "again.jsonl"
    chaosbench("subset", "--size", "20", "--balance-labels", "--balance-families", "--out", again)
    assert again.read_bytes() == out.read_bytes()
    assert without(
        json.loads(again.with_suffix(".manifest.json").read_text()), "created_utc", "subset_name"
    ) == without(body, "created_utc", "subset_name")


def test_weights_shift_the_families(root: Path) -> None:
    out = root / "w.jsonl"
    weights = '{"multi_hop": 3}'
    assert chaosbench("subset", "--size", "40", "--balance-families", "--family-weights", weights, "--out", out)[0] == 0
    assert Counter(str(entry["type"]) for entry in load_records([out])) == {"multi_hop": 30, "atomic": 10}
    with pytest.raises(SpecError, match="object of numbers"):
        weights_from('{"multi_hop": "x"}')
    code, said = chaosbench("subset", "--size", "4", "--family-weights", '{"hop": 1}', "--out", out)
    assert (code, "no item is of family 'hop'" in said) == (2, True)

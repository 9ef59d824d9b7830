"""Freezing the canonical files, drawing subsets from them, and the set that comes with the package."""

from __future__ import annotations

import hashlib
import json
import lzma
import shutil
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from perpend.canon import JSON, as_object, digest_file
from perpend.disk import CACHE
from perpend.errors import DataError
from perpend.studies.logic.chaosbench import sets
from perpend.studies.logic.chaosbench.sets import (
    FAMILIES,
    STRATA,
    Record,
    Sampler,
    draw,
    family_of,
    label_of,
    load_records,
    write_records,
)
from tests.test_chaosbench_items import chaosbench, data_set, record, without

FREEZE = Path("artifacts/freeze/v2_freeze_manifest.json")


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A small data set, with the current directory in it."""
    monkeypatch.chdir(data_set(tmp_path))
    return tmp_path


def drawn(records: Sequence[Record], sampler: Sampler) -> tuple[list[Record], dict[str, JSON]]:
    chosen, body = draw(records, sampler, {"source": "canonical", "dataset_global_sha256": None})
    return chosen, dict(as_object(body["per_family_sampling_log"]))


def of(log: dict[str, JSON], key: str) -> dict[str, JSON]:
    return {family: as_object(entry)[key] for family, entry in log.items()}


def test_a_freeze_writes_manifest_sums_and_report_and_a_second_one_changes_nothing(root: Path) -> None:
    code, said = chaosbench("freeze")
    assert code == 0, said
    body = json.loads(FREEZE.read_text())
    assert (body["canonical_total_questions"], body["duplicate_ids"]) == (120, 0)
    assert body["canonical_selector"] == "data/canonical_v2_files.json"
    assert [entry["count"] for entry in body["canonical_files"]] == [60, 60]
    sums = FREEZE.with_name("v2_freeze_sha256.txt").read_text().splitlines()
    assert sums[0] == f"{body['global_sha256']}  GLOBAL"
    assert sums[1].endswith("  data/v22_atomic.jsonl  (count=60)")
    assert body["global_sha256"] in FREEZE.with_name("v2_freeze_report.md").read_text()
    assert str(root) not in json.dumps(body)
    before = FREEZE.read_bytes()
    code, said = chaosbench("freeze")
    assert (code, "same as the freeze before" in said, FREEZE.read_bytes() == before) == (0, True, True)


def test_a_second_freeze_says_what_differs_and_keeps_the_first(root: Path) -> None:
    chaosbench("freeze")
    before = FREEZE.read_bytes()
    path = root / "data" / "v22_atomic.jsonl"
    path.write_bytes(path.read_bytes() + b'{"id": "new", "ground_truth": "TRUE"}\n')
    code, said = chaosbench("freeze")
    assert code == 1
    assert "data/v22_atomic.jsonl: its bytes have changed" in said
    assert "it had 60 items and has 61" in said
    assert FREEZE.read_bytes() == before
    code, said = chaosbench("freeze", "--force")
    assert (code, "replaced" in said) == (0, True)


@pytest.mark.parametrize(
    ("damage", "code", "told"),
    [
        ("label", 1, "v22_atomic.jsonl:2"),
        ("selector", 2, "gone.json"),
        ("file", 2, "1 of 2 canonical files are missing"),
        ("empty list", 2, "'files' must be a list"),
        ("no JSON", 2, "canonical_v2_files.json"),
        ("twice", 0, "1 ids occur twice"),
    ],
)
def test_what_is_missing_is_exit_2_a_bad_label_exit_1_and_a_repeated_id_a_warning(
    root: Path, damage: str, code: int, told: str
) -> None:
    selector, path = root / "data" / "canonical_v2_files.json", root / "data" / "v22_atomic.jsonl"
    if damage in ("label", "twice"):
        write_records(path, [record(0), record(1, ground_truth="MAYBE") if damage == "label" else record(0)])
    elif damage == "file":
        path.unlink()
    else:
        selector.write_text("{" if damage == "no JSON" else '{"files": []}')
    found, said = chaosbench("freeze", "--selector", "gone.json" if damage == "selector" else selector)
    assert (found, told in said) == (code, True), said


def test_a_selector_can_be_made_from_the_folder(root: Path) -> None:
    (root / "data" / "canonical_v2_files.json").unlink()
    assert chaosbench("freeze", "--make-selector")[0] == 0
    listed = json.loads((root / "data" / "canonical_v2_files.json").read_text())["files"]
    assert listed == ["data/v22_atomic.jsonl", "data/v22_multi_hop.jsonl"]


def test_the_armored_sampler_gives_the_size_the_labels_and_every_family() -> None:
    pool = [record(n, "atomic") for n in range(300)] + [record(n, "regime") for n in range(7)]
    chosen, log = drawn(pool, Sampler(40))
    assert len({entry["id"] for entry in chosen}) == len(chosen) == 40
    assert Counter(map(family_of, chosen)) == {"atomic": 39, "regime": 1}
    assert as_object(log["atomic"])["label_balance"] == "49% TRUE (19T/20F)"
    assert as_object(log["atomic"])["quota_note"] == "quota=39 of available=300"
    assert drawn(pool, Sampler(40))[0] == chosen
    assert drawn(pool, Sampler(40, seed=1))[0] != chosen


def test_what_rounding_loses_is_filled_up_from_the_largest_family() -> None:
    pool = [record(n, family) for family, count in (("a", 50), ("b", 31), ("c", 29)) for n in range(count)]
    chosen, log = drawn(pool, Sampler(10))
    assert of(log, "requested") == {"a": 6, "b": 2, "c": 2}
    assert str(of(log, "quota_note")["a"]).endswith(" (+2 padding)")
    assert (len(chosen), len(drawn(pool, Sampler(10, balance_families=False))[0])) == (10, 8)


def test_a_label_that_runs_out_is_made_up_for_by_the_other_and_a_size_beyond_the_set_gives_all() -> None:
    pool = [record(n, ground_truth="TRUE" if n < 3 else "FALSE") for n in range(30)]
    assert of(drawn(pool, Sampler(20))[1], "label_balance") == {"atomic": "15% TRUE (3T/17F)"}
    chosen, _ = drawn([record(n) for n in range(9)], Sampler(100))
    assert sorted(str(entry["id"]) for entry in chosen) == [f"atomic_{n:04}" for n in range(9)]


def stratified(family: str, strata: Sequence[str], each: int) -> list[Record]:
    """Items of a family, as many of each stratum, half of them in the test split, half of these TRUE."""
    return [
        {
            **record(n, family, id=f"{family}_{stratum}_{n}", stratum=stratum),
            "split": "test" if n % 2 else "train",
            "ground_truth": "TRUE" if n // 2 % 2 else "FALSE",
        }
        for stratum in strata
        for n in range(2 * each)
    ]


def test_items_with_strata_are_drawn_from_the_test_split_even_over_strata() -> None:
    pool = stratified("atomic", ("reason", "data", "compute"), 90) + stratified("multi_hop", ("logic",), 40)
    chosen, body = draw(pool, Sampler(201), {"source": "canonical", "dataset_global_sha256": None, "dataset": "mine 1"})
    assert {entry["split"] for entry in chosen} == {"test"}
    # The quota of multi_hop is its share; of the other family every stratum has as many as fit.
    assert body["per_stratum_counts"] == {"compute": 59, "data": 59, "logic": 25, "reason": 58}
    assert (body["split"], body["balance_strata"], body["dataset"]) == ("test", True, "mine 1")
    assert as_object(body["label_balance"])["true_count"] == 100
    alone, body = draw(pool, Sampler(100, balance_families=False), {"source": "x", "dataset_global_sha256": None})
    assert as_object(body["label_balance"])["true_count"] == len(alone) // 2
    _, body = draw([record(n) for n in range(9)], Sampler(4), {"source": "x", "dataset_global_sha256": ""})
    assert "split" not in body


def test_the_subset_command_writes_items_and_manifest(root: Path) -> None:
    out, again = root / "data" / "subsets" / "small.jsonl", root / "again.jsonl"
    for path in (out, again):
        code, said = chaosbench("subset", "--size", "20", "--balance-labels", "--balance-families", "--out", path)
        assert code == 0, said
    body, other = (json.loads(path.with_suffix(".manifest.json").read_text()) for path in (out, again))
    assert (body["size"], body["source"], body["selection_method"]) == (20, "canonical", "balanced_by_family")
    assert body["label_balance"] == {"true_count": 10, "false_count": 10, "true_ratio": 0.5}
    assert len(load_records([out])) == 20
    assert again.read_bytes() == out.read_bytes()
    assert without(other, "created_utc", "subset_name") == without(body, "created_utc", "subset_name")


def test_weights_shift_the_families(root: Path) -> None:
    out = root / "w.jsonl"
    weights = '{"multi_hop": 3}'
    assert chaosbench("subset", "--size", "40", "--balance-families", "--family-weights", weights, "--out", out)[0] == 0
    assert Counter(map(family_of, load_records([out]))) == {"multi_hop": 30, "atomic": 10}
    for bad in ('{"multi_hop": "x"}', "[1]", '{"a": true}'):
        code, said = chaosbench("subset", "--size", "4", "--family-weights", bad, "--out", out)
        assert (code, "must be an object of numbers" in said) == (2, True)
    code, said = chaosbench("subset", "--size", "4", "--family-weights", '{"hop": 1}', "--out", out)
    assert (code, "no item is of family 'hop'" in said) == (2, True)


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """An empty cache, which nothing was unpacked into."""
    monkeypatch.setenv(CACHE, str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)
    sets.packaged_root.cache_clear()
    yield tmp_path / "cache"
    sets.packaged_root.cache_clear()


def test_the_packaged_set_is_unpacked_once_to_the_bytes_of_its_digests(cache: Path) -> None:
    begun = time.process_time()
    root = sets.packaged_root()
    assert time.process_time() - begun < 2.0
    wanted = json.loads((sets.committed() / sets.FILES).read_text())
    assert {path: hashlib.sha256((root / path).read_bytes()).hexdigest() for path in wanted} == wanted
    assert {path.relative_to(root).as_posix() for path in root.rglob("*") if path.is_file()} == set(wanted)
    assert len(list(cache.iterdir())) == 1
    # What was changed since is written anew.
    (root / "data" / "atomic.jsonl").write_text("{}\n")
    sets.packaged_root.cache_clear()
    assert hashlib.sha256((sets.packaged_root() / "data/atomic.jsonl").read_bytes()).hexdigest() in wanted.values()


def test_the_packaged_set_is_what_the_run_plan_asks_for(cache: Path) -> None:
    del cache
    source = sets.open_source(None, "canonical")
    card = (sets.packaged_root() / "data" / "DATA_CARD.md").read_text()
    assert source.of == f"{sets.NAME} {sets.VERSION} ({len(source.records):,} items)"
    assert card.startswith(f"# perpend-logic 3.0\n\nperpend-logic 3.0 has {len(source.records):,} yes-or-no questions")
    assert f"Global SHA-256: `{source.global_sha256}`" in card
    assert set(map(family_of, source.records)) == set(FAMILIES)
    assert {str(record["stratum"]) for record in source.records} == set(STRATA)
    assert all(f"{sets.NAME} {sets.VERSION}" in str(record["canary"]) for record in source.records)
    for name, size in sets.ARMORED_SIZES.items():
        subset = sets.open_source(Path(f"data/subsets/{name}.jsonl"), "canonical")
        assert (len(subset.records), subset.note, subset.of) == (size, "", source.of)
        assert {record["split"] for record in subset.records} == {"test"}
        assert abs(sum(label_of(record) == "TRUE" for record in subset.records) - size / 2) <= len(FAMILIES)
    for family in FAMILIES:
        suite = sets.load_records([sets.locate(Path(f"data/subsets/subset_family_suites/{family}.jsonl"))])
        assert len(suite) == sets.SUITE_SIZE
        assert sum(label_of(record) == "TRUE" for record in suite) == sets.SUITE_SIZE / 2
    croissant = json.loads((sets.packaged_root() / "data" / "croissant.json").read_text())
    files = {entry["@id"]: entry["sha256"] for entry in croissant["distribution"]}
    assert files == {path: digest_file(sets.packaged_root() / path) for path in (f"data/{f}.jsonl" for f in FAMILIES)}


def test_a_run_with_the_packaged_set_names_it(cache: Path, tmp_path: Path) -> None:
    del cache
    flags = ("--provider", "mock", "--tier", "P0", "--quiet")
    assert chaosbench("eval", *flags)[0] == 0
    (run,) = (tmp_path / "runs").iterdir()
    manifest = json.loads((run / "run_manifest.json").read_text())
    name = manifest["dataset"]["set"]
    assert name.startswith("perpend-logic 3.0 (2")
    assert f"Items: {name}, data/subsets/" in (run / "summary.md").read_text().replace("\\", "")
    code, said = chaosbench("publish-run", "--run", run)
    assert code == 0, said
    assert "items are the canonical ones        50 items, drawn again" in said
    manifest["dataset"]["set"] = "perpend-logic 9.0"
    (run / "run_manifest.json").write_text(json.dumps(manifest))
    code, said = chaosbench("publish-run", "--run", run, "--out", "elsewhere")
    assert (code, f"the set is called {name!r}" in said) == (6, True)


def test_packed_items_that_are_damaged_are_refused_and_what_lies_beside_them_follows_from_them(
    cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    packed, folder, beside = sets.committed(), tmp_path / "package", (sets.FILES, *sets.BESIDE)
    folder.mkdir()
    shutil.copyfile(packed / sets.PACKED, folder / sets.PACKED)
    sets.seal(folder)
    assert [(folder / name).read_bytes() for name in beside] == [(packed / name).read_bytes() for name in beside]
    monkeypatch.setattr(sets, "committed", lambda: folder)
    (folder / sets.PACKED).write_bytes(b"nothing")
    with pytest.raises(DataError, match="cannot be read"):
        sets.packaged_root()
    lines = lzma.decompress((packed / sets.PACKED).read_bytes())
    (folder / sets.PACKED).write_bytes(lzma.compress(lines.replace(b"question", b"Question", 1)))
    with pytest.raises(DataError, match="come out different from the freeze"):
        sets.packaged_root()
    assert not list(cache.rglob("*.jsonl"))

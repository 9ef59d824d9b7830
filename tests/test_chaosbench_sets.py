"""Set 1 by its digest: its files, runs with it that are asked, resumed, published and analysed as before."""

from __future__ import annotations

import hashlib
import json
import lzma
import shutil
from pathlib import Path

import pytest

from perpend.errors import DataError, SpecError
from perpend.studies.logic.chaosbench import packaged
from perpend.studies.logic.chaosbench.freeze import read_freeze
from perpend.studies.logic.chaosbench.sources import SELECTOR, locate, older_selector, open_source
from tests.test_chaosbench_items import chaosbench

SET_1 = "f4fbbf53c3e33e0194f600a75472c7ee04fc6a29396664d0fd8f42d1a803008d"


@pytest.fixture(scope="module", autouse=True)
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One cache folder for all of these tests, in which set 1 is unpacked once."""
    folder = tmp_path_factory.mktemp("cache")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(packaged.CACHE_ENV, str(folder))
        packaged.set_root.cache_clear()
        packaged.set_root("1")
    return folder


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_set_1_is_unpacked_to_the_bytes_of_its_freeze() -> None:
    frozen = json.loads((packaged.committed("1") / packaged.FILES).read_text())
    root = packaged.set_root("1")
    assert len(frozen) == 35
    assert {path: hashlib.sha256((root / path).read_bytes()).hexdigest() for path in frozen} == frozen
    assert (packaged.committed("1") / packaged.PACKED).stat().st_size < 2_500_000


def test_a_set_is_named_by_number_or_digest() -> None:
    freeze = read_freeze(packaged.committed("1"))
    assert freeze is not None
    assert freeze["global_sha256"] == SET_1
    assert [packaged.edition_of(name) for name in ("1", "2", SET_1, SET_1[:8], SET_1[:7], "ffff" * 8)] == [
        *("1", "2", "1", "1"),
        *(None, None),
    ]
    with pytest.raises(SpecError, match="no set '3'; there are 1"):
        packaged.must_be_set("3")
    assert older_selector(SET_1) == packaged.set_root("1") / SELECTOR
    assert older_selector("0" * 64) is None
    assert older_selector("2") is None


def test_the_files_of_set_1_are_found_by_their_old_paths() -> None:
    subset = Path("data/subsets/subset_1k_armored.jsonl")
    assert locate(subset, "1") == packaged.set_root("1") / subset
    source = open_source(subset, "canonical", "1")
    assert (source.global_sha256, len(source.records), source.path) == (SET_1, 1000, subset.as_posix())
    assert open_source(None, "canonical", "1").global_sha256 == SET_1


def test_a_run_with_set_1_is_asked_resumed_published_and_analysed(tmp_path: Path) -> None:
    subset = "data/subsets/subset_1k_armored.jsonl"
    flags = ("--provider", "mock", "--subset", subset, "--max-items", "30", "--quiet")
    code, said = chaosbench("eval", *flags, "--set", SET_1[:12])
    assert code == 0, said
    run = next((tmp_path / "runs").iterdir())
    manifest = json.loads((run / "run_manifest.json").read_text())
    assert manifest["dataset_global_sha256"] == SET_1
    assert chaosbench("eval", "--resume", run)[0] == 0
    code, said = chaosbench("publish-run", "--run", run)
    assert code == 0, said
    lines = {" ".join(line.split()) for line in said.splitlines()}
    assert f"pass dataset SHA equals the freeze {SET_1}" in lines
    assert "pass items are the canonical ones 30 items, drawn again" in lines
    code, said = chaosbench("analyze-runs", "--runs-dir", "published_results/runs", "--out-dir", "out")
    assert code == 0, said
    assert "1 run, 0 not accepted, 0 errors" in said
    assert json.loads((tmp_path / "out" / "summary.json").read_text())["sha_match"] is True


def test_a_forged_question_of_set_1_is_still_found(tmp_path: Path) -> None:
    flags = ("--provider", "mock", "--subset", "data/subsets/subset_1k_armored.jsonl", "--max-items", "30", "--quiet")
    assert chaosbench("eval", *flags, "--set", "1")[0] == 0
    run = next((tmp_path / "runs").iterdir())
    for name in ("run.db", "manifest.json"):
        (run / name).unlink()
    path = run / "predictions.jsonl"
    path.write_text(path.read_text().replace('"question": "', '"question": "Well, ', 1))
    code, said = chaosbench("publish-run", "--run", run)
    assert code == 6
    assert "FAIL  items are the canonical ones" in said


def test_another_selector_is_not_set_aside_for_set_1(tmp_path: Path) -> None:
    from tests.test_chaosbench_items import data_set

    own = data_set(tmp_path / "own")
    flags = ("--provider", "mock", "--subset", "data/subsets/subset_1k_armored.jsonl", "--max-items", "30", "--quiet")
    assert chaosbench("eval", *flags, "--set", "1")[0] == 0
    run = next((tmp_path / "runs").iterdir())
    code, said = chaosbench("publish-run", "--run", run, "--selector", own / SELECTOR)
    assert code == 6
    assert "FAIL  dataset SHA equals the freeze" in said


def test_packed_items_that_are_damaged_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = packaged.committed("1")
    for name in (packaged.FILES, packaged.FREEZE):
        shutil.copy(folder / name, tmp_path / name)
    monkeypatch.setattr(packaged, "committed", lambda _edition="2": tmp_path)
    with pytest.raises(DataError, match="cannot be read"):
        packaged.set_texts("1")
    (tmp_path / packaged.PACKED).write_bytes(b"nothing")
    with pytest.raises(DataError, match="cannot be read"):
        packaged.set_texts("1")
    lines = lzma.decompress((folder / packaged.PACKED).read_bytes()).replace(b"chaotic", b"Chaotic", 1)
    (tmp_path / packaged.PACKED).write_bytes(lzma.compress(lines))
    with pytest.raises(DataError, match="come out different from the freeze"):
        packaged.write_set(tmp_path / "made", "1")
    assert not (tmp_path / "made").exists()

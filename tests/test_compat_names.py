"""Names in a stranger's file lead nowhere but below its own folder, and what is no file is never opened."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import pytest

from perpend._convert import convert
from perpend.canon import inside, opened
from perpend.errors import DataError, PerpendError
from perpend.studies.conformity import formats
from perpend.studies.conformity.formats import read_sweep
from perpend.studies.conformity.suite import items_folder
from perpend.studies.logic.chaosbench.sets import open_source, read_selector
from tests.test_compat_simulation import simulation
from tests.test_compat_suite import ITEM, suite_files

# fmt: off
ELSEWHERE = (
    "../secret.jsonl", "a/../../secret.jsonl", "..", "/etc/hostname", "//host/share/x", "\\\\host\\share\\x",
    "C:\\x.jsonl", "c:x", "~/secret.jsonl", "~", "file:///etc/hostname", "https://example.org/x.jsonl", "x\0y", "",
)
# fmt: on


@pytest.mark.parametrize("name", ELSEWHERE)
def test_a_name_that_leads_out_of_its_folder_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(DataError, match="no path below its folder"):
        inside(tmp_path, name, "list.json")


def test_a_link_is_followed_only_within_the_folder(tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / "real.jsonl").touch()
    (tmp_path / "secret.jsonl").touch()
    (folder / "near").symlink_to("real.jsonl")
    (folder / "far").symlink_to(tmp_path / "secret.jsonl")
    (folder / "above").symlink_to("..")
    assert inside(folder, "near", "x").is_file()
    assert inside(folder, "gone.jsonl", "x") == folder / "gone.jsonl"
    for name in ("far", "above", "above/secret.jsonl"):
        with pytest.raises(DataError, match="a link to another folder"):
            inside(folder, name, "x")


def test_a_pipe_is_never_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.jsonl")
    with pytest.raises(DataError, match="a pipe or a device"):
        inside(tmp_path, "pipe.jsonl", "x")
    for path in (tmp_path / "pipe.jsonl", Path("/dev/zero")):
        with pytest.raises(OSError, match="not a file"):
            opened(path)
        with pytest.raises(PerpendError, match="a pipe or a device, not a file"):
            convert(path, tmp_path / "run")


@pytest.mark.parametrize("name", [name for name in ELSEWHERE if name])
def test_a_suite_names_no_data_set_outside_of_its_folder(tmp_path: Path, name: str) -> None:
    secret = tmp_path / "secret.jsonl"
    secret.write_text(json.dumps({**ITEM, "question": "What is the password?"}) + "\n", encoding="utf-8")
    suite, _ = suite_files(tmp_path, datasets=[{"name": "facts", "path": name.replace("/etc/hostname", str(secret))}])
    with pytest.raises(DataError, match="no path below its folder"):
        convert(suite, tmp_path / "out")
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("above", [1, 2, 3])
def test_a_suite_does_not_find_files_in_the_folders_above_its_study(tmp_path: Path, above: int) -> None:
    suite, folder = suite_files(tmp_path / "a" / "b")
    place = (folder / "x").parents[above]
    shutil.move(folder / "data", place / "data")
    with pytest.raises(DataError, match="are not in its folder"):
        convert(suite, tmp_path / "out")


def test_the_paths_of_a_suite_may_start_above_its_study_and_lead_into_it(tmp_path: Path) -> None:
    names = [{"name": "facts", "path": "experiments/study/data/facts.jsonl"}]
    suite, folder = suite_files(tmp_path / "experiments", datasets=names)
    (folder / "configs").mkdir()
    moved = suite.rename(folder / "configs" / "suite.json")
    assert items_folder(moved) == tmp_path
    assert (convert(moved, tmp_path / "out") / "run.toml").is_file()


@pytest.mark.parametrize("key", ["run_dir", "db_path"])
@pytest.mark.parametrize("name", ["../other", "/etc", "C:\\runs", "~/runs", "file:///runs"])
def test_a_sweep_names_no_run_outside_of_its_folder(tmp_path: Path, key: str, name: str) -> None:
    simulation(tmp_path / "other" / "simulation.db")
    file = tmp_path / "sweep" / "runs_metadata.json"
    file.parent.mkdir()
    ending = "" if key == "run_dir" else "/simulation.db"
    named = name.replace("/etc", str(tmp_path / "other")) + ending
    file.write_text(json.dumps({"experiments": {"0.0": {key: named}}}), encoding="utf-8")
    with pytest.raises(DataError, match="no path below its folder"):
        read_sweep(file, tmp_path / "run")


def test_a_run_of_a_sweep_is_no_link_to_another_folder(tmp_path: Path) -> None:
    simulation(tmp_path / "other" / "simulation.db")
    (tmp_path / "sweep").mkdir()
    (tmp_path / "sweep" / "run").symlink_to(tmp_path / "other")
    with pytest.raises(DataError, match="a link to another folder"):
        formats.stated_databases([formats.Experiment(0.0, run_dir="run")], tmp_path / "sweep")


@pytest.mark.parametrize("name", [name for name in ELSEWHERE if name])
def test_a_selector_lists_no_file_outside_of_its_folder(tmp_path: Path, name: str) -> None:
    selector = tmp_path / "set" / "data" / "files.json"
    selector.parent.mkdir(parents=True)
    selector.write_text(json.dumps({"files": [name]}), encoding="utf-8")
    with pytest.raises(DataError, match="no path below its folder"):
        read_selector(selector)


def test_a_selector_is_relative_to_a_folder_that_holds_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    line = json.dumps({"id": "a", "question": "?", "ground_truth": "TRUE"}) + "\n"
    for folder in ("here", "there"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "items.jsonl").write_text(line, encoding="utf-8")
    selector = tmp_path / "there" / "list.json"
    selector.write_text(json.dumps({"files": ["there/items.jsonl"]}), encoding="utf-8")
    monkeypatch.chdir(tmp_path / "here")
    with pytest.raises(DataError, match="which is not in"):
        open_source(None, str(selector))
    monkeypatch.chdir(tmp_path)
    assert len(open_source(None, str(selector)).records) == 1


READ = ("log.eval", "samples_x_2026-01-01T00.jsonl", "simulation.db", "a/simulation.db")


@pytest.mark.parametrize("name", [*READ, "run_manifest.json", "runs_metadata.json"])
def test_a_folder_with_a_pipe_for_a_file_is_refused_and_not_waited_for(tmp_path: Path, name: str) -> None:
    (tmp_path / name).parent.mkdir(exist_ok=True)
    os.mkfifo(tmp_path / name)
    with pytest.raises(PerpendError):
        convert(tmp_path, tmp_path / "out")

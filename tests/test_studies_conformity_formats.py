"""The conformity study's own files are found as people have them: one database, a folder of runs, the seed's layout."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from perpend._convert import convert
from perpend.errors import DataError
from perpend.measure.run import Run
from perpend.studies.conformity import STUDY
from perpend.studies.conformity.formats import METADATA, is_database, is_rows, is_sweep, read_sweep
from perpend.studies.conformity.runs_metadata import Experiment, databases, read
from tests.conftest import ROOT
from tests.tables import table
from tests.test_compat_rows import rows_file
from tests.test_compat_simulation import simulation

TEMPERATURES = (0.0, 1.0)


def sweep(runs: Path, *, metadata: Path | None = None) -> Path:
    """Two runs in a folder, and what their runs_metadata.json says of them."""
    experiments = {}
    for temperature in TEMPERATURES:
        name = f"20260203_{temperature:g}"
        (runs / name).mkdir(parents=True)
        simulation(runs / name / "simulation.db", run=f"run-{temperature:g}", temperatures=(temperature,))
        experiments[str(temperature)] = {"temperature": temperature, "run_dir": name, "status": "completed"}
    if metadata is not None:
        metadata.parent.mkdir(parents=True, exist_ok=True)
        metadata.write_text(json.dumps({"experiments": experiments}))
    return runs


def temperatures(directory: Path) -> tuple[str, ...]:
    return Run(directory).table.values("temperature")


@pytest.mark.parametrize(
    "given", ["", "runs-hpc-full", "runs-hpc-full/runs", "Comparing_Experiments/runs_metadata.json"]
)
def test_the_layout_of_the_seed_is_read_from_any_of_its_places(tmp_path: Path, given: str) -> None:
    sweep(tmp_path / "study/runs-hpc-full/runs", metadata=tmp_path / "study/Comparing_Experiments" / METADATA)
    source = tmp_path / "study" / given
    (kind,) = [kind for kind in STUDY.formats if kind.is_one(source)]
    directory = kind.read(source, tmp_path / "run")
    assert temperatures(directory) == ("0", "1")
    assert Run(directory).manifest.task == "conformity"


def test_only_completed_runs_of_the_metadata_count(tmp_path: Path) -> None:
    file = tmp_path / "runs" / METADATA
    sweep(tmp_path / "runs", metadata=file)
    body = json.loads(file.read_text())
    body["experiments"]["1.0"]["status"] = "failed"
    file.write_text(json.dumps(body))
    assert temperatures(read_sweep(tmp_path / "runs", tmp_path / "run")) == ("0",)


def test_metadata_and_runs_may_be_named_apart(tmp_path: Path) -> None:
    runs = sweep(tmp_path / "here", metadata=tmp_path / "there" / METADATA)
    file = tmp_path / "there" / METADATA
    assert temperatures(convert(file, tmp_path / "one", runs_dir=runs)) == ("0", "1")
    assert temperatures(convert(runs, tmp_path / "two", metadata=file)) == ("0", "1")
    with pytest.raises(DataError, match="temperature 0 is not there"):
        read_sweep(file, tmp_path / "three", runs_dir=tmp_path / "there")


def test_a_folder_of_runs_needs_no_metadata(tmp_path: Path) -> None:
    runs = sweep(tmp_path / "runs")
    assert is_sweep(runs)
    assert not is_database(runs)
    assert temperatures(read_sweep(runs, tmp_path / "run")) == ("0", "1")


def test_metadata_above_that_names_other_runs_is_not_taken(tmp_path: Path) -> None:
    (tmp_path / METADATA).write_text('{"experiments": {"0.5": {"run_dir": "another"}}}')
    assert temperatures(read_sweep(sweep(tmp_path / "runs"), tmp_path / "run")) == ("0", "1")


def test_one_database_is_one_run_and_a_folder_of_our_own_runs_is_no_sweep(tmp_path: Path) -> None:
    database = simulation(tmp_path / "runs/a/simulation.db")
    assert is_database(database)
    assert is_database(database.parent)
    assert not is_sweep(database.parent)
    (tmp_path / "runs/ours").mkdir()
    (tmp_path / "runs/ours/run.db").touch()
    assert not is_sweep(tmp_path / "runs")
    assert not is_sweep(tmp_path)


def test_rows_are_known_by_their_keys(tmp_path: Path) -> None:
    assert is_rows(rows_file(tmp_path, {}))
    other = tmp_path / "other.jsonl"
    other.write_text('{"question": "?"}\n')
    assert not is_rows(other)
    assert not is_rows(tmp_path)


def test_a_folder_without_any_run_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no run with a simulation.db"):
        read_sweep(tmp_path, tmp_path / "run")


REAL = ROOT / ".." / "shared" / "data" / "conformity" / "runs_metadata.json"
ONE = Experiment(0.2, "20260101_r", "runs/20260101_r/simulation.db")


def test_only_completed_runs_count_by_temperature_and_a_missing_one_is_named(tmp_path: Path) -> None:
    for name in ("hot", "runs/cold"):
        (tmp_path / name).mkdir(parents=True)
        (tmp_path / name / "simulation.db").touch()
    done = [Experiment(1.0, "hot"), Experiment(0.0, "cold"), Experiment(0.5, "gone", status="failed")]
    assert databases(done, tmp_path) == [tmp_path / "runs/cold/simulation.db", tmp_path / "hot/simulation.db"]
    with pytest.raises(DataError, match=r"temperature 0.2 is not there; tried 20260101_r/simulation.db"):
        databases([ONE], tmp_path)


@pytest.mark.parametrize(*table("runs_metadata_refused"))
def test_a_file_that_is_wrong_is_refused_with_what_is_wrong(tmp_path: Path, body: str, said: str) -> None:
    path = tmp_path / "runs_metadata.json"
    path.write_text(body)
    with pytest.raises(DataError) as error:
        read(path)
    assert said in str(error.value)


@pytest.mark.skipif(not REAL.exists(), reason="the study's files are not beside this checkout (shared/data/conformity)")
def test_the_studys_own_file_has_a_run_for_each_temperature() -> None:
    experiments = read(REAL)
    assert [one.temperature for one in experiments] == [0.0, 0.2, 0.4, 0.6, 0.8, 1.0]
    assert all(one.run_dir and one.run_dir in (one.db_path or "") for one in experiments)

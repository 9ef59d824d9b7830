"""runs_metadata.json comes back as it was, is written whole, and holds no absolute path."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from perpend.errors import DataError
from perpend.studies.conformity.runs_metadata import Experiment, RunsMetadata, read, write
from tests.conftest import ROOT

REAL = ROOT / ".." / "shared" / "data" / "conformity" / "runs_metadata.json"
ONE = Experiment(0.2, "r", "20260101_r", "runs/20260101_r/simulation.db", "suite.json", other={"host_class": "gpu"})


def test_what_is_written_reads_back_unknown_keys_included(tmp_path: Path) -> None:
    metadata = RunsMetadata("2026-01-01T00:00:00", None, {"0.2": ONE, "1.0": Experiment(1.0, status="failed")})
    write(tmp_path / "runs_metadata.json", metadata)
    assert read(tmp_path / "runs_metadata.json") == metadata
    assert [entry.name for entry in tmp_path.iterdir()] == ["runs_metadata.json"]


@pytest.mark.parametrize("place", ["/data/runs/x", "C:\\runs", "~/runs", "\\\\host\\runs"])
def test_an_absolute_path_is_not_written(tmp_path: Path, place: str) -> None:
    metadata = RunsMetadata(None, None, {"0.2": replace(ONE, run_dir=place)})
    with pytest.raises(DataError, match="must be relative"):
        write(tmp_path / "runs_metadata.json", metadata)
    assert not any(tmp_path.iterdir())


def test_only_completed_runs_count_by_temperature_and_a_missing_one_is_named(tmp_path: Path) -> None:
    for name in ("hot", "runs/cold"):
        (tmp_path / name).mkdir(parents=True)
        (tmp_path / name / "simulation.db").touch()
    done = {
        "1.0": Experiment(1.0, run_dir="hot"),
        "0.0": Experiment(0.0, run_dir="cold"),
        "0.5": Experiment(0.5, run_dir="gone", status="failed"),
    }
    metadata = RunsMetadata(None, None, done)
    assert metadata.databases(tmp_path) == [tmp_path / "runs/cold/simulation.db", tmp_path / "hot/simulation.db"]
    with pytest.raises(DataError, match=r"temperature 0.2 is not there; tried 20260101_r/simulation.db"):
        RunsMetadata(None, None, {"0.2": ONE}).databases(tmp_path)


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("{", "damaged: Expecting property name"),
        ("{}", "has no 'experiments'"),
        ('{"experiments": {"hot": {}}}', "must be a number, not 'hot'"),
        ('{"experiments": {"0.0": {"status": "complete"}}}', "unknown status 'complete'; did you mean 'completed'"),
        ('{"experiments": {"0.0": {"run_dir": 3}}}', "'run_dir' must be a string"),
        ('{"experiments": [1]}', "'experiments' must be an object"),
    ],
)
def test_a_file_that_is_wrong_is_refused_with_what_is_wrong(tmp_path: Path, body: str, said: str) -> None:
    path = tmp_path / "runs_metadata.json"
    path.write_text(body)
    with pytest.raises(DataError) as error:
        read(path)
    assert said in str(error.value)


@pytest.mark.skipif(not REAL.exists(), reason="the study's files are not beside this checkout (shared/data/conformity)")
def test_the_studys_own_file_survives_the_way_in_and_out(tmp_path: Path) -> None:
    metadata = read(REAL)
    assert [one.temperature for one in metadata.experiments.values()] == [0.0, 0.2, 0.4, 0.6, 0.8, 1.0]
    write(tmp_path / "out.json", metadata)
    assert json.loads((tmp_path / "out.json").read_text()) == json.loads(REAL.read_text())

"""runs_metadata.json says which runs of a sweep count, and where they are."""

from __future__ import annotations

from pathlib import Path

import pytest

from perpend.errors import DataError
from perpend.studies.conformity.runs_metadata import Experiment, databases, read
from tests.conftest import ROOT
from tests.tables import table

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

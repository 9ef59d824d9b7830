"""perpend import: several files, folders of logs, what was taken in."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

import perpend as pp
from perpend.cli import cli
from perpend.errors import DataError, PerpendError, SpecError, StoreError
from tests.test_compat_inspect import HEADER, SAMPLE
from tests.test_show import PICK

EARLY, LATE = "2026-01-01T12-00-00.0", "2026-02-02T12-00-00.0"


def call(*arguments: object) -> Result:
    return CliRunner().invoke(cli, list(map(str, arguments)))


def log(path: Path, **sample: object) -> Path:
    """A log of inspect_ai with one good sample and one that failed."""
    path.parent.mkdir(parents=True, exist_ok=True)
    failed = {**SAMPLE, "id": "b", "output": {}, "scores": {}, "error": {"message": "overloaded"}}
    path.write_text(json.dumps({**HEADER, "samples": [{**SAMPLE, **sample}, failed]}))
    return path


def samples(folder: Path, task: str, time: str, *, results: bool = True) -> Path:
    """Samples of lm-evaluation-harness, with the results that belong to them."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"samples_{task}_{time}.jsonl"
    path.write_text(json.dumps(PICK) + "\n")
    if results:
        body: Mapping[str, object] = {"results": {}, "configs": {}, "n-shot": {}, "model_name": folder.name}
        (folder / f"results_{time}.json").write_text(json.dumps(body))
    return path


def runs(folder: Path) -> list[str]:
    return sorted(path.parent.relative_to(folder).as_posix() for path in folder.rglob("run.db"))


def test_it_says_how_many_samples_errors_and_scores_it_took(tmp_path: Path) -> None:
    done = call("import", log(tmp_path / "log.json"), tmp_path / "run")
    assert done.exit_code == 0, done.exception
    assert done.output == f"{tmp_path / 'run'}: 2 samples, 1 error, scores: match (1).\n"


def test_a_folder_of_logs_becomes_a_folder_of_runs(tmp_path: Path) -> None:
    logs = tmp_path / "logs"
    for name in ("first", "second", "deep/third"):
        log(logs / f"{name}.json")
    (logs / "logs.json").write_text('{"first.json": {"eval": {}}}')
    (logs / "notes.txt").write_text("not a log")
    done = call("import", logs, tmp_path / "runs")
    assert done.exit_code == 0, done.exception
    assert runs(tmp_path / "runs") == ["first", "second", "third"]
    assert done.output.count(": 2 samples, 1 error, scores: match (1).") == 3


def test_a_folder_with_one_log_becomes_one_run(tmp_path: Path) -> None:
    log(tmp_path / "logs" / "only.json")
    assert pp.convert(tmp_path / "logs", tmp_path / "run") == tmp_path / "run"
    assert runs(tmp_path) == ["run"]


def test_several_files_become_runs_of_their_names(tmp_path: Path) -> None:
    first, second = log(tmp_path / "a" / "log.json"), log(tmp_path / "b" / "log.json")
    written = pp.convert([first, second], tmp_path / "runs")
    assert [path.name for path in written] == ["a_log", "b_log"], "two of one name get that of their folder"
    assert [pp.Run(path).status()["planned"] for path in written] == [2, 2]
    with pytest.raises(SpecError, match="two sources would become"):
        pp.convert([first, first], tmp_path / "again")


def test_samples_of_one_time_are_one_run_and_those_of_two_are_two(tmp_path: Path) -> None:
    out = tmp_path / "out"
    for task in ("sums", "capitals"):
        samples(out / "lab__small", task, EARLY)
    assert call("import", out, tmp_path / "one").exit_code == 0
    assert len(pp.Run(tmp_path / "one").table.items) == 2
    samples(out / "lab__small", "sums", LATE)
    samples(out / "lab__large", "sums", LATE)
    assert call("import", out, tmp_path / "three").exit_code == 0
    assert runs(tmp_path / "three") == ["lab__large", f"lab__small_{EARLY}", f"lab__small_{LATE}"]


def test_samples_without_their_results_are_taken_file_by_file(tmp_path: Path) -> None:
    for time in (EARLY, LATE):
        samples(tmp_path / "out", "sums", time, results=False)
    pp.convert(tmp_path / "out", tmp_path / "runs")
    assert len(runs(tmp_path / "runs")) == 2


def test_a_log_that_cannot_be_read_does_not_keep_the_others_out(tmp_path: Path) -> None:
    log(tmp_path / "logs" / "good.json")
    log(tmp_path / "logs" / "bad.json", epoch=-1)
    (tmp_path / "logs" / "broken.eval").write_bytes(b"PK\x03\x04 no archive")
    done = call("import", tmp_path / "logs", tmp_path / "runs")
    assert isinstance(done.exception, PerpendError)
    message = str(done.exception)
    assert message.startswith("2 of 3 sources could not be imported")
    assert "bad.json" in message
    assert "broken.eval" in message
    assert runs(tmp_path / "runs") == ["good"]
    assert done.output.count("\n") == 1
    assert [path.name for path in (tmp_path / "runs").iterdir()] == ["good"], "nothing is left of the others"


def test_nothing_is_overwritten_and_what_holds_nothing_is_an_error(tmp_path: Path) -> None:
    log(tmp_path / "logs" / "a.json")
    log(tmp_path / "logs" / "b.json")
    pp.convert(tmp_path / "logs", tmp_path / "runs")
    with pytest.raises(PerpendError, match="2 of 2 sources could not be imported"):
        pp.convert(tmp_path / "logs", tmp_path / "runs")
    with pytest.raises(PerpendError, match="is a run itself"):
        pp.convert(tmp_path / "logs", tmp_path / "runs" / "a")
    with pytest.raises(PerpendError, match="in its place"):
        pp.convert(tmp_path / "logs", tmp_path / "logs" / "a.json")
    (tmp_path / "nothing" / "inner").mkdir(parents=True)
    with pytest.raises(DataError, match="a folder without a run"):
        pp.convert(tmp_path / "nothing", tmp_path / "x")
    with pytest.raises(SpecError, match="one sweep"):
        pp.convert([tmp_path / "logs", tmp_path / "nothing"], tmp_path / "x", runs_dir=tmp_path)


def test_links_and_runs_of_ours_in_a_folder_of_logs_are_left_alone(tmp_path: Path) -> None:
    logs = tmp_path / "logs"
    pp.convert(log(tmp_path / "elsewhere" / "a.json"), logs / "imported")
    log(logs / "one.json")
    log(logs / "two.json")
    (logs / "loop").symlink_to(logs)
    pp.convert(logs, tmp_path / "runs")
    assert runs(tmp_path / "runs") == ["one", "two"]


def test_a_run_is_not_imported_but_exported(tmp_path: Path) -> None:
    run = pp.convert(log(tmp_path / "log.json"), tmp_path / "run")
    for source in (run, run / "run.db"):
        done = call("import", source, tmp_path / "out")
        assert isinstance(done.exception, StoreError)
        assert f"'perpend export {source} --as simulation.db --out FILE' writes it" in str(done.exception)
    assert not (tmp_path / "out").exists()

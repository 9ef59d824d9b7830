"""Runs and publications of perpend 0.1 still open, resume, score and audit; what was pinned then is the same now."""

from __future__ import annotations

import hashlib
import json
import shutil
from pathlib import Path

import pytest
from click.testing import CliRunner

from perpend.cli import chaosbench, cli
from perpend.measure.run import Run

OLD = Path(__file__).parent.parent / "fixtures" / "v0_1"
STUDIES = ("conformity", "logic", "verbs")
DIGESTS = json.loads((OLD / "digests.json").read_text(encoding="utf-8"))


@pytest.fixture
def old(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy: resuming and scoring write into a run."""
    shutil.copytree(OLD, tmp_path / "old")
    monkeypatch.chdir(tmp_path / "old")
    return tmp_path / "old"


def run(command: object, *arguments: str) -> str:
    done = CliRunner().invoke(command, arguments, catch_exceptions=True)  # type: ignore[arg-type]  # both are groups
    assert done.exit_code == 0, f"{arguments}\n{done.output}\n{done.exception!r}"
    return done.output


@pytest.mark.parametrize("study", STUDIES)
def test_an_older_run_opens_and_audits_clean(old: Path, study: str) -> None:
    assert len(Run(old / "run_folders" / study).table) > 0
    output = run(cli, "audit", f"run_folders/{study}")
    assert "nothing differs" in output


@pytest.mark.parametrize("study", STUDIES)
def test_an_older_publication_audits_clean(old: Path, study: str) -> None:
    output = run(cli, "audit", f"published/{study}")
    assert "nothing differs" in output
    receipt = json.loads((old / "published" / study / "receipt.json").read_text(encoding="utf-8"))
    assert receipt["root_sha256"] in json.dumps(DIGESTS)


@pytest.mark.parametrize("study", STUDIES)
def test_an_older_run_is_scored_and_published_anew(old: Path, study: str) -> None:
    run(cli, "score", f"run_folders/{study}")
    accepted = ("--accept", "unfinished", "--because", "a fixture") if study == "logic" else ()
    run(cli, "publish", f"run_folders/{study}", "--to", "again", "--no-figures", *accepted)
    assert "nothing differs" in run(cli, "audit", f"again/{study}")


def test_an_older_run_is_resumed_and_nothing_is_asked_again(old: Path) -> None:
    command = ("eval", "--task", "verbs", "--model", "ngram/final", "--max-items", "40", "--name", "verbs", "--out",
               "run_folders", "--quiet", "--json")  # fmt: skip
    assert json.loads(run(cli, *command))["requests"] == 0


def test_older_chaosbench_folders_analyze_and_audit_clean(old: Path) -> None:
    for folder in ("run_folders", "published_results"):
        output = run(chaosbench.cli, "analyze-runs", "--runs-dir", f"chaosbench/{folder}", "--out-dir", f"out-{folder}")
        assert "0 errors" in output
        run(cli, "audit", f"chaosbench/{folder}", "--quiet")


def test_the_known_digests_are_unchanged() -> None:
    from perpend.studies.logic.chaosbench.packaged import committed
    from perpend.studies.verbs.probes import FOLDER as VERBS

    text = json.dumps(DIGESTS)
    for path in (
        committed("1") / "files.json",
        committed().parents[2] / "conformity" / "items" / "freeze.json",
        VERBS / "freeze.json",
    ):
        assert hashlib.sha256(path.read_bytes()).hexdigest() in text, path.name

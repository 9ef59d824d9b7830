"""Code out of a folder: never run by an audit that is not told to, listed before it is run, and missed by name."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import perpend as pp
from perpend.errors import SpecError
from perpend.measure.run import Run
from perpend.proof.audit import Options, audit, check_claims
from perpend.proof.gates import gates
from tests.attack.conftest import Copied
from tests.attack.forge import failed, of, seal
from tests.attack.ledger import run_sql

TRUSTED = Options(workers=1, trust_code=True)


def test_what_needs_the_code_is_said_per_check_and_in_the_verdict(source: Path) -> None:
    outcome = of(source / "published" / "code")
    assert outcome.ok
    assert outcome.verdict.startswith(
        "nothing differs in what was recomputed; not recomputed: what the task asks for, scores of "
    )
    checks = {check.name: check for check in outcome.checks}
    assert (
        "code/brevity.py or code/terse.py, which is not run without --trust-code" in checks["scores of brief@1"].missing
    )
    assert checks["scores of brief@1"].checked == 0
    assert checks["scores of correct@2"].checked == 12
    assert checks["metrics.json"].checked > 1, "the rates that every run states need no code of the run"
    assert outcome.as_json()["ok"] is True


def test_with_trust_everything_is_recomputed_after_the_code_was_listed(source: Path) -> None:
    lines: list[str] = []
    folder = source / "published" / "code"
    (outcome,) = audit([folder], Options(trust_code=True, say=lines.append))
    assert outcome.verdict == "nothing differs"
    files = json.loads((folder / "manifest.json").read_text())["sources"]
    assert lines == [f"{folder}: runs code/{one['file']}, sha256 {one['sha256']}" for one in files]
    assert next(check for check in outcome.checks if check.name == "tables").checked


def test_the_gates_say_the_same_with_and_without_the_code(source: Path) -> None:
    run = source / "runs" / "code"
    assert gates(Run(run)) == gates(Run(run, trust_code=True))


def test_a_ledger_cannot_name_a_file_as_its_scorer(tmp_path: Path, copied: Copied) -> None:
    """A name with a version comes out of a folder; whatever it looks like, no file of that name is run."""
    canary, evil, run = tmp_path / "canary", tmp_path / "evil.py", copied("runs/code")
    evil.write_text(f"from pathlib import Path\nPath({str(canary)!r}).touch()\nVERSIONS = ()\n")
    run_sql(run, f"UPDATE scorer SET name = '{evil}', version = '1.py' WHERE name = 'brief'")
    assert not of(run).ok
    with pytest.raises(SpecError):
        Run(run).code.scorer(f"{evil}@1.py")
    assert not canary.exists()


def test_claims_about_a_column_that_is_not_recomputed_need_trust(tmp_path: Path, source: Path) -> None:
    claims, folder = tmp_path / "claims.toml", source / "published" / "code"
    claims.write_text('[[claim]]\nsays = "all are brief"\nnumber = "rate(brief)"\nexpect = 1.0\n')
    with pytest.raises(SpecError, match="--trust-code"):
        check_claims(claims, [of(folder)])
    assert [verdict.status for verdict in check_claims(claims, [of(folder, TRUSTED)])] == ["pass"]


SCORER = """\
import perpend as pp


def judge(item, response):
    return pp.Score(float(len(response.text or "") < {most}), None, "short")


VERSIONS = (pp.Scorer("terse", "1", judge),)
"""
TASK = """\
import perpend as pp


def task():
    return pp.Task("brevity", (pp.condition("control", "{question}"),), ("terse.py", "correct"))
"""


@pytest.mark.parametrize("name", ["terse.py", "terse.py@1"])
def test_a_scorer_that_a_task_names_is_the_copy_in_the_folder_and_no_other_file(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file of the same name where the reader stands has no digest that anybody checked."""
    monkeypatch.chdir(tmp_path)
    Path("terse.py").write_text(SCORER.format(most=1000))
    Path("brevity.py").write_text(TASK.replace("terse.py", name))
    task = pp.task("brevity.py", items=[{"id": "a", "prompt": "What is 1 plus 1?", "target": "2"}])
    pp.evaluate(task, [pp.model("mock/subject")], name="brief", out="runs", quiet=True)
    assert Path("runs/brief/code/terse.py").read_text() == SCORER.format(most=1000)
    canary = tmp_path / "canary"
    Path("terse.py").write_text(f"from pathlib import Path\nPath({str(canary)!r}).touch()\n" + SCORER.format(most=0))
    assert of(tmp_path / "runs" / "brief", TRUSTED).ok
    Run("runs/brief", trust_code=True).score()
    assert Run("runs/brief")["terse"].rate().value == 1.0
    assert not canary.exists()


def test_a_file_that_no_study_gives_is_a_difference_also_where_the_code_is_not_run(copied: Copied) -> None:
    folder = copied("published/code")
    (folder / "tables" / "setup.sh").write_text("echo hello\n")
    seal(folder)
    found = failed(folder)["report.md, tables, figures"]
    assert found.first == "tables/setup.sh: no study gives such a file"
    assert not of(folder, TRUSTED).ok


def test_code_of_another_digest_is_not_run(copied: Copied, tmp_path: Path) -> None:
    folder, canary = copied("published/code"), tmp_path / "canary"
    path = folder / "code" / "brevity.py"
    path.write_text(f"Path({str(canary)!r}).touch()\n{path.read_text()}")
    seal(folder)
    assert [of(folder, options).ok for options in (None, TRUSTED)] == [False, False]
    assert not canary.exists()

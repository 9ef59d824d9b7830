"""Code out of a folder: never run by an audit that is not told to, listed before it is run, and missed by name."""

from __future__ import annotations

import json
import shutil
import sqlite3
from pathlib import Path

import pytest

import perpend as pp
from perpend.errors import SpecError, StoreError
from perpend.ledger.manifest import read_manifest
from perpend.measure.run import Run
from perpend.proof import receipt as receipts
from perpend.proof.audit import Audit, Check, Options, audit, check_claims
from perpend.proof.gates import gates
from perpend.proof.publish import publish

TASK = """\
import perpend as pp
from pathlib import Path


def judge(item, response):
    return pp.Score(float(len(response.text or "") < 40), None, "short")


def task():
    return pp.Task("brevity", (pp.condition("control", "{question}"),), (pp.Scorer("brief", "1", judge), "correct"))


class Brevity:
    def metrics(self, table):
        yield pp.Metric("share", "brief@1", {}, table["brief"].rate(), table["brief"].digest())

    def report(self, numbers, *, figures=True):
        share = numbers.cite("share")
        return pp.Report("Brevity", f"Brief in {share.value:.3f} of {share.n} trials.",
                         tables=(pp.TableOf("brevity", ("share",), ((share.value,),)),))


STUDY = Brevity()
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A published run whose task, scorer and study are in one Python file of its own."""
    (tmp_path / "brevity.py").write_text(TASK)
    items = [{"id": f"i{n}", "prompt": f"What is {n} plus 1?", "target": str(n + 1)} for n in range(6)]
    (tmp_path / "items.jsonl").write_text("".join(json.dumps(item) + "\n" for item in items))
    task = pp.task(str(tmp_path / "brevity.py"), items=tmp_path / "items.jsonl")
    run = pp.evaluate(task, [pp.model("mock/subject")], name="brief", out=tmp_path / "runs", quiet=True)
    publish([run], tmp_path / "published", {}, trust_code=True)
    return tmp_path / "published" / "brief"


def of(folder: Path, *, trust_code: bool = False) -> Audit:
    (outcome,) = audit([folder], Options(trust_code=trust_code))
    return outcome


def by_name(outcome: Audit) -> dict[str, Check]:
    return {check.name: check for check in outcome.checks}


def test_the_code_is_published_and_restored_with_the_run(folder: Path) -> None:
    assert (folder / "code" / "brevity.py").read_text() == TASK
    assert json.loads((folder / "receipt.json").read_text())["files"]["code/brevity.py"]


def test_what_needs_the_code_is_said_per_check_and_in_the_verdict(folder: Path) -> None:
    outcome = of(folder)
    assert outcome.ok
    assert outcome.verdict.startswith(
        "nothing differs in what was recomputed; not recomputed: what the task asks for, scores of "
    )
    checks = by_name(outcome)
    assert "code/brevity.py, which is not run without --trust-code" in checks["scores of brief@1"].missing
    assert checks["scores of brief@1"].checked == 0
    assert checks["scores of correct@4"].checked == 6
    assert checks["metrics.json"].checked > 1, "the rates that every run states need no code of the run"
    assert outcome.as_json()["ok"] is True


def test_with_trust_everything_is_recomputed_after_the_code_was_listed(folder: Path) -> None:
    lines: list[str] = []
    (outcome,) = audit([folder], Options(trust_code=True, say=lines.append))
    assert outcome.verdict == "nothing differs"
    digest = json.loads((folder / "manifest.json").read_text())["sources"][0]["sha256"]
    assert lines == [f"{folder}: runs code/brevity.py, sha256 {digest}"]
    assert by_name(outcome)["tables"].checked


@pytest.mark.parametrize("trust_code", [False, True])
def test_code_with_another_digest_is_a_difference_and_is_not_run(folder: Path, trust_code: bool) -> None:
    canary = folder.parent / "canary"
    (folder / "code" / "brevity.py").write_text(f"Path({str(canary)!r}).touch()\n" + TASK)
    outcome = of(folder, trust_code=trust_code)
    assert not outcome.ok
    assert not canary.exists()


def test_a_file_beside_the_code_is_a_difference(folder: Path) -> None:
    (folder / "code" / "more.py").write_text("")
    assert "code/more.py: not in the manifest" in by_name(of(folder))["code is that of the manifest"].first


def test_the_gates_say_the_same_with_and_without_the_code(folder: Path) -> None:
    run = folder.parent.parent / "runs" / "brief"
    assert gates(Run(run)) == gates(Run(run, trust_code=True))


def test_a_ledger_cannot_name_a_file_as_its_scorer(tmp_path: Path, folder: Path) -> None:
    """A name with a version comes out of a folder; whatever it looks like, no file of that name is run."""
    canary, evil = tmp_path / "canary", tmp_path / "evil.py"
    evil.write_text(f"from pathlib import Path\nPath({str(canary)!r}).touch()\nVERSIONS = ()\n")
    run = tmp_path / "runs" / "brief"
    with sqlite3.connect(run / "run.db") as db:
        db.execute("UPDATE scorer SET name = ?, version = '1.py' WHERE name = 'brief'", (str(evil),))
    db.close()
    assert not of(run).ok
    with pytest.raises(SpecError):
        Run(run).code.scorer(f"{evil}@1.py")
    assert not canary.exists()


def test_claims_about_a_column_that_is_not_recomputed_need_trust(tmp_path: Path, folder: Path) -> None:
    claims = tmp_path / "claims.toml"
    claims.write_text('[[claim]]\nsays = "all are brief"\nnumber = "rate(brief)"\nexpect = 1.0\n')
    with pytest.raises(SpecError, match="--trust-code"):
        check_claims(claims, [of(folder)])
    assert [verdict.status for verdict in check_claims(claims, [of(folder, trust_code=True)])] == ["pass"]


def test_a_run_that_declares_a_scorer_nobody_has_is_a_difference(tmp_path: Path, folder: Path) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(tmp_path / "runs" / "brief", copy)
    body = json.loads((copy / "manifest.json").read_text())
    body["sources"] = []
    (copy / "manifest.json").write_text(json.dumps(body))
    assert "scores of brief@1" in [check.name for check in of(copy).checks if check.differ]


SCORER = """\
import perpend as pp


def judge(item, response):
    return pp.Score(float(len(response.text or "") < {most}), None, "short")


VERSIONS = (pp.Scorer("terse", "1", judge),)
"""
TASK_WITH_A_FILE = """\
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
    Path("brevity.py").write_text(TASK_WITH_A_FILE.replace("terse.py", name))
    Path("items.jsonl").write_text('{"id": "a", "prompt": "What is 1 plus 1?", "target": "2"}\n')
    pp.evaluate(
        pp.task("brevity.py", items="items.jsonl"), [pp.model("mock/subject")], name="brief", out="runs", quiet=True
    )
    assert Path("runs/brief/code/terse.py").read_text() == SCORER.format(most=1000)
    canary = tmp_path / "canary"
    Path("terse.py").write_text(f"from pathlib import Path\nPath({str(canary)!r}).touch()\n" + SCORER.format(most=0))
    assert of(tmp_path / "runs" / "brief", trust_code=True).ok
    Run("runs/brief", trust_code=True).score()
    assert Run("runs/brief")["terse"].rate().value == 1.0
    assert not canary.exists()


def test_a_file_that_no_study_gives_is_a_difference_also_where_the_code_is_not_run(folder: Path) -> None:
    (folder / "tables" / "setup.sh").write_text("echo hello\n")
    receipts.write(folder, "brief", {key: receipts.read(folder).body[key] for key in ("gates", "attempts", "code")})
    outcome = of(folder)
    assert not outcome.ok
    assert by_name(outcome)["report.md, tables, figures"].first == "tables/setup.sh: no study gives such a file"
    assert not of(folder, trust_code=True).ok


@pytest.mark.parametrize(
    ("key", "value"),
    [("file", "x" * 256), ("file", "../evil.py"), ("file", ""), ("file", ".."), ("file", "a\u202eb"), ("kind", "x")],
)
def test_a_source_that_is_no_plain_file_name_is_a_difference(key: str, value: str, folder: Path) -> None:
    body = json.loads((folder / "manifest.json").read_text())
    body["sources"][0][key] = value
    (folder / "manifest.json").write_text(json.dumps(body))
    with pytest.raises(StoreError, match="source"):
        read_manifest(folder)
    assert not of(folder, trust_code=True).ok

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from perpend._convert import convert
from perpend.errors import AuditFailure, SpecError, StoreError
from perpend.ledger.items import freeze
from perpend.measure.run import Run
from perpend.proof import receipt
from perpend.proof.gates import Gate, as_table, gates
from perpend.proof.publish import publish
from perpend.proof.receipt import check
from perpend.spec.runspec import Limits
from perpend.types import Sampling
from tests.attack.forge import new_key
from tests.attack.ledger import run_sql
from tests.runs import asked
from tests.tables import table
from tests.test_compat_rows import rows_file

HOSTILE = '<img src=x onerror=alert(1)> | [a](javascript:x) `b` \x1b[31m \u202e ../../etc "'


@pytest.fixture
def evaluated(tmp_path: Path, items_file: Callable[..., Path]) -> Callable[..., Path]:
    def make(name: str = "study", temperature: float = 0.0, *, changes: Mapping[str, str] = {}, **spec: object) -> Path:
        items = items_file(8, **changes)
        return asked(items, tmp_path / "runs", name=name, samplings=(Sampling(temperature),), **spec).directory

    return make


@pytest.fixture
def run(evaluated: Callable[..., Path]) -> Path:
    return evaluated()


def files(folder: Path) -> dict[str, bytes]:
    return {p.relative_to(folder).as_posix(): p.read_bytes() for p in folder.rglob("*") if p.is_file()}


def verify(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run the release's verify.py as a stranger would, with nothing of ours on the path."""
    script = Path(__file__).parents[1] / "src" / "perpend" / "proof" / "verify.py"
    command = [sys.executable, "-I", "-S", str(script), *(arguments or (str(folder),))]
    return subprocess.run(command, capture_output=True, text=True, check=False, cwd=folder.parent)


def test_a_renamed_copy_of_a_run_is_published_as_the_same_bytes(run: Path, tmp_path: Path) -> None:
    publish([run], tmp_path / "a", {})
    shutil.copytree(run, tmp_path / "elsewhere" / "copy of it")
    (made,) = publish([tmp_path / "elsewhere" / "copy of it"], tmp_path / "b", {})
    assert made.folder == tmp_path / "b" / "study"
    assert files(tmp_path / "b") == files(tmp_path / "a")


def test_another_user_folder_time_zone_and_language_give_the_same_bytes(run: Path, tmp_path: Path) -> None:
    publish([run], tmp_path / "a", {})
    (tmp_path / "away").mkdir()
    code = (
        "import sys, pathlib, perpend.proof.publish as p; p.publish([pathlib.Path(sys.argv[1])], pathlib.Path('b'), {})"
    )
    changed = {"HOME": "/home/zoe", "USER": "zoe", "TZ": "Asia/Tokyo", "LC_ALL": "C", "PYTHONHASHSEED": "7"}
    subprocess.run(
        [sys.executable, "-c", code, str(run)], check=True, cwd=tmp_path / "away", env={**os.environ, **changed}
    )
    assert files(tmp_path / "away" / "b") == files(tmp_path / "a")


def test_a_conformity_study_brings_its_tables_and_figures_the_same_every_time(
    tmp_path: Path, items_file: Callable[..., Path]
) -> None:
    from perpend._make import model as model_spec
    from perpend._make import task as make_task
    from perpend.api import evaluate

    what = make_task("conformity", items=items_file(4), conditions=["control", "asch_history_5"])
    subject = model_spec("mock/subject", accuracy=0.7, sway=0.3)
    run = evaluate(what, [subject], name="c", out=tmp_path / "runs", quiet=True)
    publish([run.directory], tmp_path / "a", {})
    publish([run.directory], tmp_path / "b", {})
    found = files(tmp_path / "a")
    assert found == files(tmp_path / "b")
    assert any(name.startswith("c/figures/") and name.endswith(".png") for name in found)
    assert any(name.startswith("c/tables/") and name.endswith(".csv") for name in found)


def test_the_receipt_lists_every_file_and_its_digests_hold(run: Path, tmp_path: Path) -> None:
    (made,) = publish([run], tmp_path / "out", {})
    found = receipt.read(made.folder)
    assert {*found.files} | {"receipt.json"} == {*files(made.folder)}
    assert found.root_sha256 == made.root_sha256
    assert receipt.differences(made.folder) == []
    assert found.body["code"]


def test_a_bundle_checks_itself_with_the_standard_library_alone(run: Path, tmp_path: Path) -> None:
    (made,) = publish([run], tmp_path / "out", {})
    for done in (verify(made.folder), verify(made.folder, str(made.folder))):
        assert done.returncode == 0, done.stdout + done.stderr
        assert made.root_sha256 in done.stdout
        assert "16 lines  trials.jsonl.gz" in done.stdout


@pytest.mark.parametrize(*table("gates_failed"))
def test_each_gate_fails_for_its_own_reason_and_refuses(run: Path, tmp_path: Path, statement: str, gate: str) -> None:
    assert all(found.passed for found in gates(run))
    run_sql(run, statement)
    assert gate in [found.gate for found in gates(run) if not found.passed]
    with pytest.raises(AuditFailure, match=f"--accept {gate} --because") as refused:
        publish([run], tmp_path / "out", {})
    assert refused.value.exit_code == 6
    assert not (tmp_path / "out").exists()


def test_an_accepted_gate_is_recorded_in_the_receipt_shown_in_the_report_and_in_the_index(
    run: Path, tmp_path: Path
) -> None:
    run_sql(run, "UPDATE response SET text = NULL, error = 'timeout' WHERE trial < 3")
    Run(run).score()
    (made,) = publish([run], tmp_path / "out", {"coverage": f"the server died {HOSTILE}"})
    recorded = {gate["gate"]: gate for gate in json.loads((made.folder / "receipt.json").read_text())["gates"]}
    assert recorded["coverage"]["passed"] is False
    assert recorded["coverage"]["accepted"] == f"the server died {HOSTILE}"
    assert "accepted" not in recorded["plan"]
    page = (made.folder / "report.md").read_text()
    section = page.partition("## Accepted gates")[2]
    assert "14 of 16 planned trials" in section
    assert "the server died" in section
    for text in (page, (tmp_path / "out" / "README.md").read_text(), as_table(made.gates)):
        assert "\x1b" not in text
        assert "\u202e" not in text
    assert "<img" not in page.replace("\\<img", "")
    assert "the server died" in (tmp_path / "out" / "README.md").read_text()


def test_a_gap_in_the_plan_is_stated(evaluated: Callable[..., Path], tmp_path: Path) -> None:
    run = evaluated(limits=Limits(max_requests=10))
    found = {gate.gate: gate for gate in gates(run)}
    assert found["plan"] == Gate("plan", False, "10 of 16 trials were asked; 6 never were")
    reason = "a pilot"
    (made,) = publish([run], tmp_path / "out", {"plan": reason, "coverage": reason})
    assert "6 never were" in (made.folder / "report.md").read_text()


def test_a_gate_is_accepted_with_a_reason(run: Path, tmp_path: Path) -> None:
    with pytest.raises(SpecError, match="say why"):
        publish([run], tmp_path / "out", {"coverage": " "})


@pytest.mark.parametrize("gate", ["coverage", "private"])
def test_accepting_a_gate_that_passes_is_an_error(run: Path, tmp_path: Path, gate: str) -> None:
    with pytest.raises(SpecError, match="that gate passes"):
        publish([run], tmp_path / "out", {gate: "just in case"})
    assert not list((tmp_path / "out").glob("*/receipt.json"))


def test_a_frozen_set_is_compared_with_its_freeze(evaluated: Callable[..., Path], tmp_path: Path) -> None:
    evaluated()
    (tmp_path / "freeze.json").write_text(json.dumps(freeze([tmp_path / "items.jsonl"])))
    run = evaluated("frozen", freeze=tmp_path / "freeze.json")
    assert gates(run)[0].passed
    assert "; freeze " in gates(run)[0].detail
    manifest = json.loads((run / "manifest.json").read_text())
    manifest["items"]["freeze_sha256"] = "0" * 64
    (run / "manifest.json").write_text(json.dumps(manifest))
    assert not gates(run)[0].passed


def test_a_reader_sees_how_many_attempts_there_were_and_what_differed(
    evaluated: Callable[..., Path], tmp_path: Path
) -> None:
    first = evaluated("first")
    evaluated("second", temperature=0.5)
    evaluated("other-model", label="other")  # another label of the same model counts
    shutil.copytree(first, first.parent / "copy")  # a copy does not
    evaluated("other-items", changes={"target": "TRUE", "decoy": "FALSE"})
    (first.parent / "no-run").mkdir()
    (made,) = publish([first], tmp_path / "out", {})
    told = json.loads((made.folder / "receipt.json").read_text())["attempts"]
    assert told["of"] == 4
    # Every second item of 'other-items' is one of these: a run that overlaps is an attempt, too.
    shared = {run["run"]: run["shared"] for run in told["others"]}
    assert shared == {"other-items": 4, "other-model": 8, "second": 8}
    second = next(run for run in told["others"] if run["run"] == "second")
    assert any("temperature" in difference for difference in second["differs"])
    assert second["headline"]["value"] == told["headline"]["value"] == 0.5
    assert "3 other runs that share items and a model" in (made.folder / "report.md").read_text()
    assert "of 4" in (tmp_path / "out" / "README.md").read_text()


def test_a_lone_run_says_so(run: Path, tmp_path: Path) -> None:
    (made,) = publish([run], tmp_path / "out", {})
    assert "no other run" in (made.folder / "report.md").read_text()


def test_several_runs_are_listed_in_one_index_also_those_from_before(
    evaluated: Callable[..., Path], tmp_path: Path
) -> None:
    publish([evaluated("a")], tmp_path / "out", {})
    publish([evaluated("b", 0.5), evaluated("c", 1.0)], tmp_path / "out", {})
    index = json.loads((tmp_path / "out" / "index.json").read_text())
    assert [entry["run"] for entry in index["runs"]] == ["a", "b", "c"]
    for entry in index["runs"]:
        assert entry["root_sha256"] == receipt.read(tmp_path / "out" / entry["run"]).root_sha256
    assert (tmp_path / "out" / "README.md").read_text().count("/report.md)") == 3


@pytest.mark.parametrize("name", ["../../evil", "NUL", "x" * 300, HOSTILE, ".hidden"])
def test_a_run_cannot_be_published_outside_its_folder_whatever_its_name(run: Path, tmp_path: Path, name: str) -> None:
    manifest = json.loads((run / "manifest.json").read_text())
    (run / "manifest.json").write_text(json.dumps({**manifest, "run": name, "models": manifest["models"]}))
    (made,) = publish([run], tmp_path / "site" / "out", {})
    assert made.folder.parent == tmp_path / "site" / "out"
    assert made.folder.is_dir()
    assert [path.name for path in (tmp_path / "site").iterdir()] == ["out"]
    page = (tmp_path / "site" / "out" / "README.md").read_text()
    assert "<img" not in page
    assert "\x1b" not in page


def test_what_stands_in_the_place_of_a_run_is_not_overwritten(
    evaluated: Callable[..., Path], tmp_path: Path, run: Path
) -> None:
    (tmp_path / "out" / "study").mkdir(parents=True)
    (tmp_path / "out" / "study" / "thesis.tex").write_text("mine")
    with pytest.raises(StoreError, match="holds another run or something else"):
        publish([run], tmp_path / "out", {})
    assert (tmp_path / "out" / "study" / "thesis.tex").read_text() == "mine"
    (tmp_path / "two").mkdir()
    (tmp_path / "two" / "study").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(StoreError, match="holds another run"):
        publish([run], tmp_path / "two", {})
    (made,) = publish([run], tmp_path / "three", {})
    (made.folder / "notes.md").write_text("mine")
    with pytest.raises(StoreError, match="something else"):
        publish([run], tmp_path / "three", {})
    with pytest.raises(StoreError, match="holds another run or something else"):
        publish([run], run.parent, {})
    assert (run / "run.db").is_file()


def test_two_runs_of_one_name_and_a_published_folder_are_refused(run: Path, tmp_path: Path) -> None:
    shutil.copytree(run, tmp_path / "copy")
    with pytest.raises(StoreError, match="both called 'study'"):
        publish([run, tmp_path / "copy"], tmp_path / "out", {})
    (made,) = publish([run], tmp_path / "out", {})
    with pytest.raises(StoreError, match="not published again"):
        publish([made.folder], tmp_path / "more", {})


def test_a_publish_that_fails_late_leaves_nothing_and_keeps_what_was_there(
    evaluated: Callable[..., Path], tmp_path: Path
) -> None:
    publish([evaluated("a")], tmp_path / "out", {})
    before = files(tmp_path / "out")
    with pytest.raises(SpecError, match="no such key"):
        publish([evaluated("a"), evaluated("b", 0.5)], tmp_path / "out", {}, sign=tmp_path / "absent")
    assert files(tmp_path / "out") == before
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == ["README.md", "a", "index.json"]


def test_an_imported_run_is_published_and_says_which_gates_do_not_apply(tmp_path: Path) -> None:
    rows = rows_file(tmp_path, {}, {"trial_id": "t-2", "condition": "asch_history_5", "raw_text": "It is Cusco."})
    run = convert(rows, tmp_path / "runs" / "imported")
    assert "scores" in [gate.gate for gate in gates(run) if not gate.passed]
    Run(run).score()
    (made,) = publish([run], tmp_path / "out", {}, figures=False)
    found = {gate.gate: gate for gate in made.gates}
    assert found["prompts"].passed
    assert "not applicable: imported" in found["prompts"].detail
    assert "import" in json.loads((made.folder / "manifest.json").read_text())


@pytest.mark.skipif(shutil.which("ssh-keygen") is None, reason="no ssh-keygen on this machine")
def test_a_signature_is_good_until_the_receipt_changes_and_names_no_user(run: Path, tmp_path: Path) -> None:
    key = new_key(tmp_path / "key", "alice@laptop")
    (made,) = publish([run], tmp_path / "out", {}, sign=key)
    assert check(made.folder).good
    assert check(made.folder).signer.startswith("SHA256:")
    assert "alice" not in (made.folder / "signer.pub").read_text()
    assert verify(made.folder).returncode == 0
    before = files(tmp_path / "out")
    publish([run], tmp_path / "out", {}, sign=key)
    assert files(tmp_path / "out") == before
    (made.folder / "receipt.json").write_text((made.folder / "receipt.json").read_text().replace("true", "false", 1))
    assert check(made.folder).good is False
    (made.folder / "receipt.json.sig").unlink()
    assert check(made.folder).signed is False


@pytest.mark.skipif(shutil.which("ssh-keygen") is None, reason="no ssh-keygen on this machine")
def test_a_file_that_is_no_key_is_told_and_nothing_is_published(run: Path, tmp_path: Path) -> None:
    (tmp_path / "key").write_text("not a key")
    (tmp_path / "key").chmod(0o600)
    with pytest.raises(SpecError, match="cannot sign with it"):
        publish([run], tmp_path / "out", {}, sign=tmp_path / "key")
    assert not (tmp_path / "out").exists()

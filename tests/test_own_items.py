"""Own questions, from files as people have them, through eval, freeze, publish and audit."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

import perpend as pp
from perpend.cli import chaosbench, cli
from perpend.errors import DataError, SpecError, StoreError
from perpend.ledger.items import load_items
from perpend.spec.runspec import read_spec
from perpend.studies.verbs.probes import ADVERSARIAL, CORE
from perpend.studies.verbs.study import FOLDER

MAP = "prompt=question,target=answer,decoy=wrong"
FIELDS = {"prompt": "question", "target": "answer", "decoy": "wrong"}


def verb(*arguments: str) -> Result:
    return CliRunner().invoke(cli, list(arguments))


@pytest.fixture
def facts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "facts.csv"
    rows = [f"{n};Is {n} a number?;yes;no;{'ab'[n % 2]}" for n in range(12)]
    path.write_bytes("\ufeffid;question;answer;wrong;part\r\n".encode() + "\r\n".join(rows).encode())
    return path


def test_a_table_is_asked_with_a_map_and_the_run_is_published_and_audited(facts: Path) -> None:
    flags = ["--task", "questions", "--items", "facts.csv", "--model", "mock/subject", "--name", "own", "--quiet"]
    done = verb("eval", *flags, "--map", MAP, "--limit", "8")
    assert done.exit_code == 0, done.output
    manifest = json.loads(Path("runs/own/manifest.json").read_text())
    assert (manifest["items"]["n"], manifest["items"]["map"]) == (8, FIELDS)
    assert pp.Run("runs/own")["correct"].where(part="a").rate().n == 4
    assert verb("eval", *flags, "--map", MAP, "--limit", "8").exit_code == 0
    assert verb("audit", "runs/own", "--quiet").exit_code == 0
    assert verb("publish", "runs/own", "--no-figures").exit_code == 0
    facts.unlink()
    assert verb("audit", "published", "--quiet").exit_code == 0
    assert json.loads(Path("published/own/manifest.json").read_text())["items"]["map"] == FIELDS


def test_a_run_with_another_map_is_another_run(facts: Path) -> None:
    flags = ["--task", "questions", "--items", "facts.csv", "--model", "mock/true", "--quiet"]
    assert verb("eval", *flags, "--map", MAP).exit_code == 0
    assert verb("eval", *flags, "--map", "prompt=question,target=wrong,decoy=answer").exit_code == 0
    assert len(list(Path("runs").iterdir())) == 2
    assert verb("eval", *flags, "--name", "own", "--map", MAP).exit_code == 0
    with pytest.raises(StoreError, match="12 item"):
        pp.evaluate(
            pp.task("questions", items=facts, map={**FIELDS, "target": "wrong", "decoy": "answer"}),
            [pp.model("mock/true")], name="own", quiet=True,
        )  # fmt: skip
    done = verb("eval", *flags, "--name", "own", "--map", f"{MAP},tag.part=part")
    assert isinstance(done.exception, StoreError)
    assert 'items.map.tag.part: null → "part"' in str(done.exception)


def test_python_run_toml_and_the_flag_ask_the_same_question(facts: Path) -> None:
    flags = ["--task", "questions", "--items", "facts.csv", "--model", "mock/subject", "--quiet"]
    assert verb("eval", *flags, "--map", MAP).exit_code == 0
    for text in (f"{FIELDS!r}".replace(": ", " = ").replace("'", '"'), f'"{MAP}"', '"map.toml"'):
        Path("map.toml").write_text("".join(f'{key} = "{value}"\n' for key, value in FIELDS.items()))
        Path("run.toml").write_text(
            f'task = "questions"\nitems = "facts.csv"\nmap = {text}\n[[model]]\nname = "mock/subject"\n'
        )
        assert verb("eval", "run.toml", "--quiet").exit_code == 0
    run = pp.evaluate(pp.task("questions", items="facts.csv", map=FIELDS), [pp.model("mock/subject")], quiet=True)
    assert [path.name for path in Path("runs").iterdir()] == [run.directory.name]


def test_a_run_without_a_map_has_an_empty_one_in_its_manifest(facts: Path) -> None:
    Path("items.jsonl").write_text('{"id": "a", "prompt": "?"}\n')
    assert verb("eval", "--task", "questions", "--items", "items.jsonl", "--model", "mock/true").exit_code == 0
    (run,) = Path("runs").iterdir()
    assert json.loads((run / "manifest.json").read_text())["items"]["map"] == {}


def test_a_freeze_of_a_table_holds_for_the_same_items_in_another_form(facts: Path) -> None:
    assert verb("freeze", "facts.csv", "--map", MAP, "--out", "freeze.json").exit_code == 0
    rows = [item.as_json() for item in load_items([facts], FIELDS)]
    Path("facts.json").write_text(json.dumps(rows))
    assert verb("freeze", "facts.json", "--check", "freeze.json").exit_code == 0
    flags = ["--task", "questions", "--items", "facts.csv", "--model", "mock/true", "--freeze", "freeze.json"]
    assert verb("eval", *flags, "--map", MAP).exit_code == 0
    done = verb("eval", *flags, "--map", "prompt=question,decoy=wrong,tag.answer=answer")
    assert isinstance(done.exception, DataError)
    assert "12 item(s) changed" in str(done.exception)


def test_a_mapped_column_that_is_not_there_leaves_no_run(facts: Path) -> None:
    flags = ["--task", "questions", "--items", "facts.csv", "--model", "mock/true"]
    done = verb("eval", *flags, "--map", "prompt=question,target=anser")
    assert isinstance(done.exception, SpecError)
    assert "no row has the column 'anser'; did you mean 'answer'?" in str(done.exception)
    for wrong, message in (("prompt", "write each name once"), ("prompt=", "names no column"), ("x=y", "unknown name")):
        assert message in str(verb("eval", *flags, "--map", wrong).exception)
    Path("run.toml").write_text('task = "questions"\nmap = 7\n[[model]]\nname = "mock/true"\n')
    with pytest.raises(SpecError, match="map must be a table"):
        read_spec(Path("run.toml"))


def test_what_is_no_file_of_items_is_an_error_about_that_path(facts: Path) -> None:
    Path("loop.csv").symlink_to("loop.csv")
    for path, message in (
        (".", "a folder, where a file is expected"),
        ("gone.csv", "no such file"),
        ("loop.csv", "a link that leads back to itself"),
    ):
        done = verb("eval", "--task", "questions", "--items", path, "--model", "mock/true")
        assert isinstance(done.exception, DataError)
        assert re.search(f"{re.escape(path)}: .*{message}.*; give the path", str(done.exception))


def test_chaosbench_takes_limit_for_max_items(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    done = CliRunner().invoke(chaosbench.cli, ["eval", "--provider", "mock", "--limit", "3", "--quiet"])
    assert done.exit_code == 0, done.output
    (run,) = Path("runs").iterdir()
    assert json.loads((run / "run_manifest.json").read_text())["max_items"] == 3


def test_the_packaged_probes_are_the_packaged_items() -> None:
    for probes, items in ((CORE, "verbs_core.jsonl"), (ADVERSARIAL, "verbs_adversarial.jsonl")):
        assert load_items([probes]) == load_items([FOLDER / items])

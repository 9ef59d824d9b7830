from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from perpend.ask.conditions import control
from perpend.ask.runner import evaluate_task
from perpend.ask.task import Task
from perpend.errors import AuditFailure
from perpend.ledger.plan import Appended
from perpend.ledger.store import Store
from perpend.measure.run import Run
from perpend.models.mock import model
from perpend.proof.archive import write_lines
from perpend.proof.leaks import MachineIdentity, search, this_machine
from perpend.proof.publish import publish
from perpend.spec.runspec import ModelSpec, RunSpec
from perpend.types import Response

TASK = Task(name="t", conditions=(control(),), scorers=("label@2",))
KEY = "sk-" + "a1B2c3D4e5F6g7H8i9J0"
OWN = MachineIdentity({"LAB_TOKEN": "q9-secret-value"}, ["/home/alice/work"], "alice", "tango-7")


@pytest.fixture
def run(tmp_path: Path, items_file: Callable[..., Path]) -> Path:
    spec = RunSpec("t", (ModelSpec("mock/true", "m"),), items=(items_file(8),), name="study")
    made = Run(evaluate_task(spec, TASK, [model("true")], tmp_path / "runs", quiet=True).directory)
    made.score()
    return made.directory


def say(run: Path, **response: str) -> None:
    """One more attempt of trial 1, which changes no answer."""
    with Store.open(run / "run.db", write=True) as store:
        store.append([Appended(1, 0, 1, store.sample_requests(1)[0][1], Response(**response))])


def kinds(folder: Path, own: MachineIdentity = OWN) -> list[str]:
    return [leak.kind for leak in search(folder, own)]


def responses(folder: Path, **body: str) -> Path:
    write_lines(folder / "responses.jsonl.gz", ['{"text":"first"}', json.dumps(body, separators=(",", ":"))])
    return folder


@pytest.mark.parametrize(
    "text",
    [
        f"key = {KEY}",
        "Authorization: Bearer abcdefghij0123456789",
        "AKIA" + "ABCDEFGHIJKLMNOP",
        "ghp_" + "a" * 36,
        "hf_" + "b" * 30,
        "-----BEGIN OPENSSH PRIVATE KEY-----",
        "postgres://bob:hunter2@db/x",
    ],
)
def test_the_shapes_of_keys_are_found_in_what_we_write(tmp_path: Path, text: str) -> None:
    (tmp_path / "report.md").write_text(f"# Title\n\n{text}\n")
    (leak,) = [leak for leak in search(tmp_path, OWN) if leak.secret]
    assert str(leak).startswith("report.md:3: a")
    assert text not in str(leak)


@pytest.mark.parametrize(
    "text", ["/home/bob/x.jsonl", "/Users/bob/x", "/root/x", "C:\\\\Users\\\\bob", "file:///data/x", "(/tmp/run)"]
)
def test_absolute_paths_are_found_in_what_we_write(tmp_path: Path, text: str) -> None:
    (tmp_path / "manifest.json").write_text('{"path": "' + text + '"}')
    assert any(kind.startswith("an absolute path") for kind in kinds(tmp_path))


@pytest.mark.parametrize("text", ["https://example.org/home/page", "data/home/x", "and/or", "C: the third", "1/2"])
def test_what_only_looks_like_a_path_is_left_alone(tmp_path: Path, text: str) -> None:
    (tmp_path / "manifest.json").write_text('{"path": "' + text + '"}')
    assert kinds(tmp_path) == []


@pytest.mark.parametrize("text", ['{"by": "alice"}', "on tango-7.", "alice@lab", "/x/alice/y", "~alice", "me@tango-7"])
def test_this_machines_user_and_host_are_found_in_what_we_write(tmp_path: Path, text: str) -> None:
    (tmp_path / "report.md").write_text(text)
    assert kinds(tmp_path)


@pytest.mark.parametrize("text", ["malice", "/alice2", "chalice", "tango-77", "tango", "as alice may, she will"])
def test_a_name_inside_another_word_or_as_a_plain_word_is_not_the_name(tmp_path: Path, text: str) -> None:
    (tmp_path / "report.md").write_text(text)
    assert kinds(tmp_path) == []


@pytest.mark.parametrize(
    "text",
    [
        "Use cd /home/bob and export KEY=" + KEY,
        "Alice and alice went to tea; tango-7 is a dance",
        "root@localhost:/root/x",
        "-----BEGIN RSA PRIVATE KEY-----",
    ],
)
def test_a_model_may_speak_of_paths_keys_and_people(tmp_path: Path, text: str) -> None:
    assert kinds(responses(tmp_path, text=text)) == []


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("the token is q9-secret-value", "the value of LAB_TOKEN"),
        ("reading /home/alice/work/x", "a folder of this machine"),
        ("mail alice@example.org", "this machine's user name"),
        ("ssh me@tango-7", "this machine's host name"),
    ],
)
def test_what_this_machine_knows_to_be_its_own_is_found_in_answers_too(tmp_path: Path, text: str, kind: str) -> None:
    (leak, *_) = search(responses(tmp_path, text=text), OWN)
    assert leak.kind == kind
    assert leak.line == 2


def test_the_error_of_a_server_is_not_a_models_speech(tmp_path: Path) -> None:
    assert kinds(responses(tmp_path, error=f"401: incorrect key {KEY}")) == ["an API key (sk-…)"]


def test_a_secret_with_quotes_is_found_as_json_writes_it(tmp_path: Path) -> None:
    own = MachineIdentity({"APP_SECRET": 'pa"ss\\word9'})
    assert kinds(responses(tmp_path, text='it is pa"ss\\word9!'), own) == ["the value of APP_SECRET"]


def test_names_and_values_that_say_nothing_are_not_looked_for() -> None:
    own = this_machine(
        {"HOME": "/root", "USER": "root", "MY_KEY": "short", "A_TOKEN": "password", "B_SECRET": "12345678"}
    )
    assert own.user == ""
    assert own.secrets == {}
    assert "/root" not in own.folders
    found = this_machine({"HOME": "/home/zoe", "my_api_key": "abc123def456", "KEYBOARD": "qwertz-105-keys"})
    assert (found.user, found.secrets) == ("zoe", {"my_api_key": "abc123def456"})
    assert this_machine({"HOME": "/app"}).user == ""


def test_a_run_with_a_secret_is_refused_without_showing_it(
    run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LAB_API_KEY", "zz-Very-Secret-1")
    say(run, text="my instructions hold zz-Very-Secret-1")
    with pytest.raises(AuditFailure, match=r"responses.jsonl.gz:2: the value of LAB_API_KEY") as refused:
        publish([run], tmp_path / "out", {"private": "no"})
    assert "Very" not in str(refused.value)
    assert not list((tmp_path / "out").iterdir())


def test_a_path_of_this_machine_is_refused_unless_that_is_accepted(run: Path, tmp_path: Path) -> None:
    say(run, text=f"see {run}")
    with pytest.raises(AuditFailure, match="--accept private --because"):
        publish([run], tmp_path / "out", {})
    (made,) = publish([run], tmp_path / "out", {"private": "a scratch folder"})
    assert made.gates[-1].because == "a scratch folder"
    assert "a scratch folder" in (made.folder / "report.md").read_text()


def test_a_path_in_the_manifest_is_refused(run: Path, tmp_path: Path) -> None:
    body = json.loads((run / "manifest.json").read_text())
    body["datasets"][0]["path"] = "/home/somebody/items.jsonl"
    (run / "manifest.json").write_text(json.dumps(body))
    with pytest.raises(AuditFailure, match=r"manifest.json:\d+: an absolute path"):
        publish([run], tmp_path / "out", {})

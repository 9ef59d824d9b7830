"""A start that fails leaves no folder; a run without an answer is no attempt."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from perpend.cli import cli
from perpend.errors import ModelError, PerpendError
from tests.servers import Received, Reply, Script, openai_chat, openai_error, serve
from tests.tables import table


def refusing(received: Received) -> Reply:
    return Reply(status=404) if received.method == "GET" else openai_error(401, "no such key")


def failing(received: Received) -> Reply:
    return Reply(status=404) if received.method == "GET" else openai_error(500, "overloaded")


def answering(received: Received) -> Reply:
    return Reply(status=404) if received.method == "GET" else openai_chat("TRUE")


def call(*arguments: str) -> Result:
    return CliRunner().invoke(cli, list(arguments))


def ask(items: Path, url: str, *more: str) -> Result:
    options = [word for option in (f"base_url={url}", "retries=0") for word in ("--model-option", option)]
    start = ("eval", "--task", "questions", "--items", str(items), "--model", "openai/stub", *options)
    return call(*start, "--out", str(items.parent / "runs"), *more)


@pytest.mark.parametrize("dry", [False, True])
@pytest.mark.parametrize(*table("starts_refused"))
def test_a_start_that_fails_leaves_nothing(
    tmp_path: Path, items_file: Callable[..., Path], monkeypatch: pytest.MonkeyPatch, flags: str, dry: bool
) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    start = ("eval", "--task", "questions", "--items", str(items_file(3)), "--out", str(tmp_path / "deep" / "runs"))
    done = call(*start, *flags.split(), *(["--dry-run"] if dry else []))
    assert isinstance(done.exception, PerpendError), done.output
    assert sorted(path.name for path in tmp_path.iterdir()) == ["items.jsonl"]


@pytest.mark.parametrize("dry", [False, True])
@pytest.mark.parametrize("more", ["{no item}\n", '{"id": "item-1", "prompt": "Twice?"}\n'])
def test_bad_items_leave_nothing(tmp_path: Path, items_file: Callable[..., Path], more: str, dry: bool) -> None:
    items = items_file(3)
    items.write_text(items.read_text() + more)
    flags = ("--task", "questions", "--items", str(items), "--model", "mock/true", "--out", str(tmp_path / "r"))
    done = call("eval", *flags, *(["--dry-run"] if dry else []))
    assert isinstance(done.exception, PerpendError)
    assert "items.jsonl:4" in str(done.exception)
    assert not (tmp_path / "r").exists()


def test_a_server_that_cannot_be_reached_leaves_nothing(tmp_path: Path, items_file: Callable[..., Path]) -> None:
    assert isinstance(ask(items_file(3), "http://127.0.0.1:1").exception, ModelError)
    assert not (tmp_path / "runs").exists()


def test_a_server_that_refuses_the_first_question_leaves_nothing(
    tmp_path: Path, items_file: Callable[..., Path]
) -> None:
    with serve(refusing) as server:
        done = ask(items_file(5), server.url)
    assert isinstance(done.exception, ModelError)
    assert not (tmp_path / "runs").exists()


def test_what_was_there_before_stays(tmp_path: Path, items_file: Callable[..., Path]) -> None:
    mine = tmp_path / "runs" / "run" / "notes.txt"
    mine.parent.mkdir(parents=True)
    mine.write_text("mine")
    with serve(refusing) as server:
        assert isinstance(ask(items_file(5), server.url, "--name", "run").exception, ModelError)
    assert [path.name for path in mine.parent.iterdir()] == ["notes.txt"]


def test_a_failure_that_was_kept_is_never_removed(tmp_path: Path, items_file: Callable[..., Path]) -> None:
    with serve(failing) as server:
        assert isinstance(ask(items_file(3), server.url, "--name", "run").exception, ModelError)
    assert (tmp_path / "runs" / "run" / "run.db").exists()


def test_a_resumed_run_that_fails_stays(tmp_path: Path, items_file: Callable[..., Path]) -> None:
    items = items_file(3)
    with serve(answering) as server:
        ask(items, server.url, "--name", "run", "--max-requests", "1")
    before = sorted(path.name for path in (tmp_path / "runs" / "run").iterdir())
    with serve(refusing) as server:
        assert isinstance(ask(items, server.url, "--name", "run").exception, ModelError)
    assert sorted(path.name for path in (tmp_path / "runs" / "run").iterdir()) == before


@pytest.fixture
def published(tmp_path: Path, items_file: Callable[..., Path]) -> Callable[..., dict[str, object]]:
    """Run the named scripts one after another, publish the last, and return what its receipt says of attempts."""

    def publish(*scripts: Script) -> dict[str, object]:
        items = items_file(4)
        for number, script in enumerate(scripts):
            with serve(script) as server:
                ask(items, server.url, "--name", f"run-{number}", "--temperature", str(number / 10))
        done = call(
            "publish", str(tmp_path / "runs" / f"run-{len(scripts) - 1}"), "--to", str(tmp_path / "out"), "--no-figures"
        )
        assert done.exit_code == 0, (done.output, done.exception)
        body = json.loads((tmp_path / "out" / f"run-{len(scripts) - 1}" / "receipt.json").read_text())
        attempts: dict[str, object] = body["attempts"]
        return attempts

    return publish


def test_a_run_without_an_answer_is_listed_apart_and_does_not_count(
    tmp_path: Path, published: Callable[..., dict[str, object]]
) -> None:
    stated = published(failing, answering, failing, answering)
    assert (stated["of"], stated["position"]) == (2, 2)
    others, apart = stated["others"], stated["unanswered"]
    assert isinstance(others, list)
    assert isinstance(apart, list)
    assert [run["run"] for run in others] == ["run-1"]
    assert [run["run"] for run in apart] == ["run-0", "run-2"]
    assert str(stated["told"]).endswith("this one is the last of 2. 2 more hold no answer at all and do not count.")
    page = (tmp_path / "out" / "run-3" / "report.md").read_text()
    assert "Without an answer: run-0 (" in page.replace("\\", "")
    assert call("audit", str(tmp_path / "out"), "--quiet").exit_code == 0


def test_a_receipt_without_such_runs_lists_none(published: Callable[..., dict[str, object]]) -> None:
    stated = published(answering, answering)
    assert stated["unanswered"] == []
    assert str(stated["told"]).endswith("this one is the last of 2.")


@pytest.mark.parametrize(
    "forge",
    [
        lambda body: body["unanswered"].pop(),
        lambda body: body["unanswered"].append({"run": "x", "created": "", "shared": 99}),
        lambda body: body["unanswered"][0].update(why="a typo"),
        lambda body: body.update(unanswered=[]),
        lambda body: body.update(told="No other run."),
    ],
)
def test_the_audit_checks_what_is_said_of_runs_without_an_answer(
    tmp_path: Path, published: Callable[..., dict[str, object]], forge: Callable[[dict[str, object]], object]
) -> None:
    from perpend.ledger.manifest import read_manifest
    from perpend.proof.audit.bundle import stated_attempts

    stated = published(failing, answering)
    folder = tmp_path / "out" / "run-1"
    metrics = json.loads((folder / "metrics.json").read_text())["metrics"]
    body = json.loads((folder / "receipt.json").read_text())
    assert stated_attempts(read_manifest(folder), body, metrics).differ == 0
    forge(body["attempts"])
    assert body["attempts"] != stated
    assert stated_attempts(read_manifest(folder), body, metrics).differ > 0


def test_the_package_runs_as_a_module() -> None:
    command = [sys.executable, "-m", "perpend", "--version"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout[:8]) == (0, "perpend,"), done.stderr

"""chaosbench eval: the command that it prints resumes the run; money counts over all invocations; failed starts."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest

from tests.servers import Received, Reply, openai_chat, openai_error, serve
from tests.test_chaosbench_eval import MODEL, manifest, metrics, the_run
from tests.test_chaosbench_items import chaosbench, data_set

SUBSET = ("--subset", "data/subsets/few.jsonl")
PRICES = ("--usd-per-million-input", "100000", "--usd-per-million-output", "100000")


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    place = tmp_path / "a set with 'quotes' & blanks"
    place.mkdir()
    monkeypatch.chdir(data_set(place))
    return place


def printed(said: str, before: str) -> list[str]:
    """The command that a line of the output ends in, as a shell reads it, without the program's name."""
    (line,) = [line for line in said.splitlines() if before in line]
    program, *words = shlex.split(line.partition(before)[2])
    assert program == "chaosbench"
    return words


class Replying:
    """A server that refuses every second question while it `fails`."""

    def __init__(self, fails: bool = False) -> None:
        self.fails = fails

    def __call__(self, received: Received) -> Reply:
        if received.method == "GET":
            return Reply(status=404)
        return openai_error(400, "not now") if self.fails and received.number % 2 else openai_chat("TRUE")


def test_the_printed_command_resumes_the_run(root: Path) -> None:
    script = Replying(fails=True)
    with serve(script) as server:
        out = ("--output-dir", "my runs")
        flags = ("--provider", "openai", "--model", "stub", "--base-url", server.url, "--workers", "2")
        code, said = chaosbench("eval", *flags, *SUBSET, *out)
        assert code == 0, said
        words = printed(said, "To ask again: ")
        assert words[words.index("--base-url") + 1] == server.url
        script.fails = False
        code, said = chaosbench(*words)
        assert code == 0, said
        assert "got no reply" not in said
    run = the_run(root, "my runs")
    assert metrics(run)["errors"] == 0
    assert server.url not in (run / "run_manifest.json").read_text()


def test_a_model_that_is_a_file_is_named_in_the_command(root: Path) -> None:
    (root / "model.py").write_text(MODEL)
    code, said = chaosbench("eval", "--provider", "callable", "--model", f"{root}/model.py:answer", *SUBSET)
    assert code == 0, said
    words = printed(said, "To ask again: ")
    (root / "reachable").touch()
    code, said = chaosbench(*words)
    assert code == 0, said
    assert metrics(the_run(root))["errors"] == 0


def test_money_counts_over_all_invocations_and_stands_in_the_manifest(root: Path) -> None:
    with serve(Replying()) as server:
        flags = ("--provider", "openai", "--model", "stub", "--base-url", server.url)
        code, said = chaosbench("eval", *flags, *SUBSET, *PRICES, "--max-usd", "3", "--retries", "0")
        assert code == 1, said
        run = the_run(root)
        assert manifest(run)["usd"] == 3.0
        words = printed(said, "add a higher --max-usd to: ")
        for _ in range(2):
            code, said = chaosbench(*words)
            assert (code, manifest(run)["usd"]) == (1, 3.0)
        code, said = chaosbench(*words, "--max-usd", "5")
        assert (code, manifest(run)["usd"], metrics(run)["total"]) == (1, 5.0, 5)
        assert sum(received.method == "POST" for received in server.received) == 5


def test_a_model_that_asks_nobody_costs_nothing(root: Path) -> None:
    code, said = chaosbench("eval", "--provider", "mock", *SUBSET)
    assert code == 0, said
    body = manifest(the_run(root))
    assert (body["usd"], body["usd_note"]) == (0.0, "")
    assert "no cost." in said


@pytest.mark.parametrize(
    ("flags", "reason"),
    [
        (("--provider", "groq", "--model", "m"), "GROQ_API_KEY"),
        (("--provider", "callable", "--model", "nowhere.py:answer"), "nowhere.py"),
    ],
)
def test_a_start_that_fails_leaves_no_folder(
    root: Path, monkeypatch: pytest.MonkeyPatch, flags: tuple[str, ...], reason: str
) -> None:
    monkeypatch.delenv("GROQ_API_KEY", raising=False)
    code, said = chaosbench("eval", *flags, *SUBSET)
    assert code != 0
    assert reason in said
    assert "To resume" not in said
    assert not (root / "runs").exists()


def test_a_server_that_refuses_the_first_question_leaves_no_folder(root: Path) -> None:
    with serve(lambda r: Reply(status=404) if r.method == "GET" else openai_error(401, "no such key")) as server:
        code, said = chaosbench("eval", "--provider", "openai", "--model", "m", "--base-url", server.url, *SUBSET)
    assert code == 4, said
    assert not (root / "runs").exists()


def test_quiet_prints_nothing(root: Path) -> None:
    assert chaosbench("eval", "--provider", "mock", *SUBSET, "--quiet") == (0, "")

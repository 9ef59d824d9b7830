"""What asking refuses, what it says meanwhile, and which keys it looks for where."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from perpend.ask.conditions import control
from perpend.ask.guarded import Guarded
from perpend.ask.progress import Progress
from perpend.ask.task import Task, source_files
from perpend.errors import SpecError
from perpend.spec.model import Answers, Budget
from perpend.spec.runspec import ModelSpec, RunSpec
from perpend.types import Request, Response


class Talkative:
    """Says two keys, in an answer and in an error."""

    name = "talkative"

    def fingerprint(self) -> Mapping[str, str]:
        return {}

    def answer(self, requests: Iterator[tuple[int, Request]], budget: Budget) -> Iterator[Answers]:
        words = "sk-sent-0123456789abcdef and sk-other-fedcba9876543210"
        yield [(1, Response(words)), (2, Response(error=words))]


def test_answers_are_searched_for_the_keys_that_were_sent_and_errors_for_all(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("SENT_API_KEY", "sk-sent-0123456789abcdef")
    monkeypatch.setenv("OTHER_API_KEY", "sk-other-fedcba9876543210")
    (_, answer), (_, failure) = next(Guarded(Talkative(), ("SENT_API_KEY",)).answer(iter(()), Budget()))
    assert answer.text == "<key> and sk-other-fedcba9876543210", "an answer is a fact: only what was sent is taken out"
    assert failure.error == "<key> and <key>"


@pytest.mark.parametrize("name", ["callable/gone.py:answer", "gone.py"])
def test_a_file_that_a_run_names_and_that_is_not_there_is_said_before_anything_is_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.chdir(tmp_path)
    spec = RunSpec("questions", (ModelSpec(name, "gone"),))
    with pytest.raises(SpecError, match=r"gone\.py: no such file"):
        source_files(spec, Task("t", (control(),), ()))


def test_two_files_of_one_name_are_refused_and_one_file_named_twice_is_kept_once(tmp_path: Path) -> None:
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "own.py").write_text("", encoding="utf-8")
    task = Task("t", (control(),), (), source=tmp_path / "a" / "own.py")
    same = RunSpec("t", (ModelSpec(f"callable/{tmp_path}/a/own.py:f", "one"), ModelSpec(f"{tmp_path}/a/own.py", "two")))
    assert source_files(same, task) == [("tasks", task.source), ("models", task.source)]
    with pytest.raises(SpecError, match="have one name; a run keeps a copy of each"):
        source_files(RunSpec("t", (ModelSpec(f"{tmp_path}/b/own.py", "one"),)), task)


def test_progress_says_how_far_and_how_fast_now_and_then(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = iter([0.0, *[20.0] * 9, *[25.0] * 9, *[40.0] * 9])
    monkeypatch.setattr(time, "monotonic", lambda: next(clock))
    progress = Progress("asking", 100, 20)
    progress.advance(40)
    lines = capsys.readouterr().err.splitlines()
    assert lines == ["asking: 60/100; 2/s; 20 s left"], "what was there before counts as done, not as fast"
    clock = iter([25.0] * 9)
    progress.advance(5, "1 failed")
    assert capsys.readouterr().err == "", "not more often than every ten seconds"
    clock = iter([40.0] * 9)
    progress.advance(15, "2 failed")
    assert capsys.readouterr().err == "asking: 80/100; 2/s; 13 s left; 2 failed\n"


def test_quiet_progress_says_nothing(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    progress = Progress("asking", 100, quiet=True)
    monkeypatch.setattr(time, "monotonic", lambda: 1e9)
    progress.advance(50)
    assert capsys.readouterr().err == ""
    assert progress.done == 50

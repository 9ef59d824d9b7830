"""A bug in a user's own file is one clear error that names the file, and what was answered is kept."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

import perpend as pp
from perpend.cli import cli
from perpend.errors import ModelError, PerpendError, SpecError, StoreError
from perpend.spec.function import judged_by

SCORER = "import perpend as pp\ndef judge(item, response):\n    {body}\nVERSIONS = (pp.Scorer('boom', '1', judge),)\n"
TASK = (
    "import perpend as pp\n"
    "def task(tone='plain', *, scorer='sc.py'):\n"
    "    return pp.task('questions', items='items.jsonl', scorers=[scorer, 'correct'])\n"
)


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    rows = [{"id": f"i{k}", "prompt": f"Item {k}?", "target": "yes"} for k in range(6)]
    Path("items.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    Path("task.py").write_text(TASK)
    return tmp_path


def call(*arguments: str) -> Result:
    done = CliRunner().invoke(cli, list(arguments))
    assert done.exception is None or isinstance(done.exception, SystemExit | PerpendError), repr(done.exception)
    return done


def failed(*arguments: str) -> PerpendError:
    done = CliRunner().invoke(cli, list(arguments), standalone_mode=False)
    assert isinstance(done.exception, PerpendError), repr(done.exception)
    return done.exception


def asked(*more: str) -> tuple[str, ...]:
    return ("eval", "--task", "questions", "--items", "items.jsonl", "--name", "r", "--quiet", *more)


def test_a_function_that_raises_is_named_with_the_item_and_the_line(folder: Path) -> None:
    Path("m.py").write_text("def f(prompt):\n    if '3?' in prompt:\n        return [][0]\n    return 'yes'\n")
    error = failed(*asked("--model", "callable/m.py:f"))
    assert isinstance(error, ModelError)
    assert "callable/m.py:f raised IndexError: list index out of range (m.py:3: return [][0])" in str(error)
    assert "asked about item 'i3' (trial 4). What was answered is kept." in str(error)
    assert pp.Run("runs/r").status()["answered"] == 3


def test_a_function_in_python_is_told_the_same(folder: Path) -> None:
    def answer(prompt: str) -> str:
        raise RuntimeError("kaputt\x1b[2J")

    with pytest.raises(ModelError, match=r"answer raised RuntimeError: kaputt\\u001b"):
        pp.evaluate(pp.task("questions", items="items.jsonl"), answer, quiet=True)


@pytest.mark.parametrize(
    "model", ["m.py", "callable/m.py:f", "callable/broken_module:f"], ids=["provider", "function", "module"]
)
def test_a_file_that_cannot_be_imported_is_named_with_its_line(model: str, monkeypatch: pytest.MonkeyPatch) -> None:
    Path("m.py").write_text("x = 1\nimport nosuchmodule\n")
    Path("broken_module.py").write_text("raise ValueError('too early')\n")
    monkeypatch.syspath_prepend(".")
    error = failed(*asked("--model", model))
    assert isinstance(error, SpecError)
    assert ("(m.py:2: import nosuchmodule)" in str(error)) or ("raised ValueError: too early" in str(error))


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (
            "return 1 / 0",
            "scorer boom@1 raised ZeroDivisionError: division by zero (sc.py:3: return 1 / 0), on item 'i0'",
        ),
        ("return 1.0", "scorer boom@1 returned a float, on item 'i0'; return a pp.Score"),
    ],
)
def test_a_scorer_that_fails_is_named_with_the_item_and_the_trial(body: str, said: str) -> None:
    Path("sc.py").write_text(SCORER.format(body=body))
    error = failed("eval", "--task", "task.py", "--model", "mock/subject", "--name", "r", "--quiet")
    assert isinstance(error, SpecError)
    assert said in str(error)
    assert "'perpend show runs/r --where trial=1' shows the answer" in str(error)
    assert pp.Run("runs/r").status()["answered"] == 6


def test_a_bug_in_a_packaged_rule_is_no_mistake_of_the_user_s(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> None:
        raise KeyError("ours")

    monkeypatch.setattr("perpend.judging.scorers.visible", broken)
    with pytest.raises(KeyError, match="ours"):
        judged_by(pp.scorer("unfinished"), pp.Item("x", "?"), pp.Response(text="y"))


def test_a_repaired_scorer_scores_the_stored_answers_as_the_message_says() -> None:
    Path("sc.py").write_text(SCORER.format(body="return 1 / 0"))
    command = ("eval", "--task", "task.py", "--model", "mock/subject", "--name", "r", "--quiet")
    failed(*command)
    Path("sc.py").write_text(SCORER.format(body="return pp.Score(1.0, None, 'fine')"))
    message = str(failed(*command))
    assert "nobody is asked again" in message
    assert "the same command with --model replay/runs/r --name r-2" in message
    done = call("eval", "--task", "task.py", "--model", "replay/runs/r", "--name", "r-2", "--quiet")
    assert done.exit_code == 0, done.output
    assert pp.Run("runs/r-2")["boom"].rate().value == 1.0


def test_a_changed_question_is_not_said_to_be_the_same() -> None:
    command = asked("--model", "mock/subject")
    assert call(*command).exit_code == 0
    assert "replay/" not in str(failed(*command, "--max-tokens", "7"))


def test_an_ordinary_parameter_of_a_task_is_an_option() -> None:
    Path("sc.py").write_text(SCORER.format(body="return pp.Score(1.0, None, 'fine')"))
    command = ("eval", "--task", "task.py", "--model", "mock/subject", "--name", "r", "--quiet")
    assert call(*command, "--option", "tone=dry").exit_code == 0
    assert "unknown option 'ton'; did you mean 'tone'?" in str(failed(*command, "--option", "ton=dry"))
    Path("task.py").write_text(TASK.replace("tone='plain'", "tone"))
    assert "needs the option 'tone'" in str(failed(*command))


def test_a_run_reads_as_a_dictionary_of_columns() -> None:
    run = pp.evaluate(pp.task("questions", items="items.jsonl"), "mock/subject", quiet=True)
    assert list(run) == sorted(run.manifest.scorers) == list(run.table)
    assert "correct" in run
    assert "correct@2" in run.table
    assert "corect" not in run
    assert 0 not in run
    with pytest.raises(SpecError, match="named by a string, such as 'correct', not by 0"):
        run[0]  # type: ignore[index]


def test_the_short_names_of_conditions_are_those_of_the_conformity_study(folder: Path) -> None:
    full = pp.task("conformity", conditions=["control", "asch_history_5", "authoritative_bias"])
    assert pp.task("conformity", conditions=["control", "asch", "authority"]).options == full.options
    done = call(
        *("eval", "--task", "conformity", "--option", "conditions=control, asch", "--option", "confederates=3"),
        *("--model", "mock/subject", "--max-items", "4", "--name", "r", "--quiet"),
    )
    assert done.exit_code == 0, done.output
    assert [one.name for one in pp.Run("runs/r").manifest.conditions] == ["control", "asch_history_3"]


def test_two_functions_without_a_text_are_not_mixed_in_one_run() -> None:
    def typed(text: str) -> Callable[[str], str]:
        names: dict[str, Callable[[str], str]] = {}
        exec(f"def answer(prompt):\n    return {text!r} if prompt in {{'x', 'y', 'z'}} else {text!r}", names)
        return names["answer"]

    task = pp.task("questions", items="items.jsonl")
    pp.evaluate(task, typed("yes"), name="r", quiet=True)
    pp.evaluate(task, typed("yes"), name="r", quiet=True)  # the same resumes
    with pytest.raises(StoreError, match=r"holds another run(.|\n)*code_sha256"):
        pp.evaluate(task, typed("no"), name="r", quiet=True)

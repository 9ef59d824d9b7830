"""What a newcomer mistypes: the message says what is near, where it belongs, and what to write.

Verbs and options are walked, so a new one is tried by itself. verbs.toml says of an option whose value is looked up
what is mistyped, and of a verb what it needs besides.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

import perpend as pp
from perpend.ask.runner import _planning
from perpend.cli import cli
from perpend.errors import DiskError, SpecError, near_file
from perpend.spec.resolve import names
from tests.system.test_paths import COMMANDS, GROUPS, VERBS

GIVEN, LOOKED_UP = VERBS["given"], VERBS["looked_up"]
OTHERWISE = {("perpend label", "--map")}
"""Options of a verb whose values are other names than elsewhere: a test of the verb tries them."""
FREE = set(VERBS["free"]["options"].split())
MODEL = '[[model]]\nname = "mock/subject"\n'


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("answers.csv").write_text(
        "id,prompt,target,topic\na,Capital of Peru?,Lima,x\nb,Capital of Chile?,Santiago,y\n"
    )
    Path("claims.toml").write_text('[[claim]]\nsays = "x"\nnumber = "rate(correct)"\nexpect = 1\n')
    Path("task.py").write_text("import perpend as pp\ndef task():\n    return pp.task('questions')\n")
    Path("run.toml").write_text(f'task = "questions"\nitems = "answers.csv"\nname = "first"\n{MODEL}')
    return tmp_path


def said(*arguments: str, program: str = "perpend") -> str:
    done = CliRunner().invoke(GROUPS[program], list(arguments), standalone_mode=False)
    if done.exception is None:
        return f"accepted: {done.output[:200]}"
    shown = getattr(done.exception, "format_message", None)
    return str(shown() if shown is not None else done.exception)


def options() -> Iterator[tuple[str, click.Option]]:
    for name, command in COMMANDS.items():
        yield from ((name, one) for one in command.params if isinstance(one, click.Option))


def test_every_option_that_is_mistyped_is_answered_with_its_name() -> None:
    wrong = []
    for name, option in options():
        program, *words = name.split()
        for flag in (flag for flag in option.opts if len(flag) > 4):
            message = said(*words, f"{flag[:-2]}{flag[-1]}{flag[-2]}x", program=program)
            wrong += [f"{name} {flag}: {message}"] if flag not in message else []
    assert not wrong, "\n".join(wrong)


def test_every_value_that_is_looked_up_is_answered_with_the_near_one() -> None:
    for name in ("first", "second"):
        assert CliRunner().invoke(cli, ["eval", "run.toml", "--name", name, "--quiet"]).exit_code == 0
    wrong = []
    for name, option in options():
        program, *words = name.split()
        given = GIVEN.get(name, "").split()
        at = given.index(option.opts[0]) if option.opts[0] in given else len(given)
        known = {} if (name, option.opts[0]) in OTHERWISE else LOOKED_UP.get(option.opts[0], {})
        for typed, meant in known.items():
            message = said(*words, *given[:at], *given[at + 2 :], option.opts[0], typed, program=program)
            wrong += [f"{name} {option.opts[0]} {typed}: {message}"] if f"'{meant}" not in message else []
    assert not wrong, "\n".join(wrong)


def test_of_every_option_it_is_known_whether_its_value_is_looked_up() -> None:
    texts = {
        option.opts[0]
        for _, option in options()
        if not option.is_flag and isinstance(option.type, click.Choice | click.types.StringParamType)
    }
    assert texts == LOOKED_UP.keys() | FREE


ASK = ("eval", "--items", "answers.csv", "--model", "mock/subject", "--task")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("eval", "--task", "questions", "--items", "anwers.csv", "--model", "mock/subject"), "mean 'answers.csv'?"),
        (("eval", "runn.toml"), "runn.toml: no such file; did you mean 'run.toml'?"),
        ((*ASK, "tsk.py"), "tsk.py: no such file; did you mean 'task.py'?"),
        (("eval",), "perpend eval --task questions --items questions.csv --model openai/gpt-4o"),
        (
            ("eval", "--task", "questions", "--model", "gpt-4o"),
            "write provider/name, such as openai/gpt-4o; providers, known: anthropic",
        ),
        (("eval", "--task", "questions", "--model", "gpt-4.1-mini"), "write provider/name, such as openai/gpt-4.1"),
        (("list", "modles"), "did you mean 'models'?"),
    ],
)
def test_a_mistyped_name_is_answered_with_the_near_one(arguments: tuple[str, ...], message: str) -> None:
    assert message in said(*arguments)


def test_a_mistyped_run_is_answered_with_the_near_one() -> None:
    assert CliRunner().invoke(cli, ["eval", "run.toml", "--quiet"]).exit_code == 0
    for verb in ("show", "audit"):
        assert "did you mean 'runs/first'?" in said(verb, "runs/frist")
    wanted = ("compare", "runs/first", "runs/first", "--first", "rule=7", "--second", "rule=3")
    assert "no scorer has version '7'; there are 1, 2" in said(*wanted)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (f"temperature = 0.5\n{MODEL}", "'temperature' belongs in [sampling]"),
        (f"max_usd = 1\n{MODEL}", "'max_usd' belongs in [budget]"),
        (f"[options]\ntemperature = 1\n{MODEL}", "unknown option 'temperature'; it belongs in [sampling]"),
        (f"hint = 'x'\n{MODEL}", "options of the task go into [options]"),
        (f"[map]\ntraget = 'answer'\n{MODEL}", "the map of columns: unknown name 'traget'; did you mean 'target'"),
    ],
)
def test_a_key_of_run_toml_at_the_wrong_level_is_said_where_it_belongs(text: str, message: str) -> None:
    Path("wrong.toml").write_text(f'task = "questions"\nitems = "answers.csv"\n{text}')
    assert message in said("eval", "wrong.toml")


def test_python_takes_numbers_for_answers_and_names_the_near_argument() -> None:
    task = pp.task("questions", items=[{"id": "a", "prompt": "2+2?", "target": 4, "decoy": 5.5}])
    assert (task.in_memory[0].target, task.in_memory[0].decoy) == ("4", "5.5")
    with pytest.raises(SpecError, match="unknown option 'itms'; did you mean 'items'?"):
        pp.task("questions", itms="answers.csv")


def test_a_helper_of_the_providers_is_none_of_them() -> None:
    assert "template" not in names("models")


def test_a_name_that_nothing_is_near_to_adds_nothing(tmp_path: Path) -> None:
    assert near_file(tmp_path / "zzzzzz") == ""
    assert near_file(tmp_path / "no" / "answers.csv") == ""


def test_analyze_has_json_like_every_reading_verb() -> None:
    assert CliRunner().invoke(cli, ["eval", "run.toml", "--quiet"]).exit_code == 0
    done = CliRunner().invoke(cli, ["analyze", "runs/first", "--out", "an", "--no-figures", "--json"])
    body = json.loads(done.output)
    assert body["report"] == "an/report.md"
    assert body["answer"][0].startswith("mock/subject: correct ")


def test_a_disk_that_is_full_before_the_plan_says_that_nothing_was_asked() -> None:
    def refused() -> None:
        with _planning(Path("runs/r")):
            raise DiskError("runs/r/.plan/run.db: the disk is full (no space); what was written is kept: free space")

    with pytest.raises(
        DiskError, match=r"^runs/r: the plan of the run cannot be written, so nothing was asked: "
    ) as error:
        refused()
    assert str(error.value).startswith("runs/r: the plan")
    assert str(error.value).endswith("nothing was asked: the disk is full (no space); free space")


@pytest.mark.skipif(sys.platform == "win32", reason="no SIGTERM there")
def test_sigterm_ends_a_run_with_a_sentence_and_keeps_what_was_answered() -> None:
    Path("slow.py").write_text("import time\ndef f(prompt):\n    time.sleep(0.3)\n    return 'Lima'\n")
    rows = "".join(f"i{k},Q{k}?,Lima\n" for k in range(200))
    Path("many.csv").write_text(f"id,prompt,target\n{rows}")
    command = "import sys; from perpend.cli import main; sys.exit(main())"
    arguments = ["eval", "--task", "questions", "--items", "many.csv", "--model", "callable/slow.py:f", "--name", "r"]
    asking = subprocess.Popen(
        [sys.executable, "-c", command, *arguments], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    while not Path("runs/r/manifest.json").exists() and asking.poll() is None:
        time.sleep(0.05)
    time.sleep(1.0)
    os.kill(asking.pid, signal.SIGTERM)
    output, _ = asking.communicate(timeout=30)
    assert "interrupted" in output
    assert "Traceback" not in output
    assert int(str(pp.Run("runs/r").status()["answered"])) >= 1

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from perpend.ask.task import make_task
from perpend.cli import cli, main
from perpend.errors import PerpendError
from perpend.ledger.items import load_items
from tests.tables import table

TRIALS = 4 * len(load_items(make_task("conformity", {}).items))


def call(*arguments: str) -> Result:
    return CliRunner().invoke(cli, list(arguments))


def run_name(out: Path) -> str:
    (directory,) = out.iterdir()
    return str(directory)


def conform(out: Path, *more: str) -> Result:
    options = ("--task", "conformity", "--model", "mock/subject", "--model-option", "sway=0.5")
    return call("eval", *options, "--out", str(out), *more)


def test_eval_asks_scores_and_reports(tmp_path: Path) -> None:
    done = conform(tmp_path)
    assert done.exit_code == 0, done.output
    assert f"{TRIALS:,} of {TRIALS:,} answered" in done.output
    assert "Report: " in done.output
    assert "\\" not in done.output, "the terminal is not Markdown"
    assert {"manifest.json", "run.db", "metrics.json", "report.md"} <= {
        path.name for path in Path(run_name(tmp_path)).iterdir()
    }


def test_json_is_one_object_on_standard_output(tmp_path: Path) -> None:
    done = json.loads(conform(tmp_path, "--json").stdout)
    assert done["answered"] == done["planned"] == TRIALS
    shown = json.loads(call("show", run_name(tmp_path), "--json").stdout)
    assert shown["answered"] == TRIALS
    scored = json.loads(call("score", run_name(tmp_path), "--json").stdout)
    assert "endorsed@2" in next(iter(scored.values()))


def test_show_draws_cases_from_every_group(tmp_path: Path) -> None:
    conform(tmp_path / "runs")
    page = tmp_path / "cases.md"
    done = call("show", run_name(tmp_path / "runs"), "--n-per-group", "1", "--out-md", str(page))
    assert done.exit_code == 0, done.output
    assert page.read_text().count("## Case") == 4 * 7
    cases = json.loads(call("show", run_name(tmp_path / "runs"), "--where", "item=capital_canada", "--json").stdout)
    assert {case["condition"] for case in cases} == {
        "control",
        "control_retest",
        "asch_history_5",
        "authoritative_bias",
    }
    assert all(case["scores"]["correct@2"]["reason"] for case in cases)


def test_freeze_and_check(tmp_path: Path, items_file: Callable[..., Path]) -> None:
    items, frozen = items_file(4), tmp_path / "freeze.json"
    assert json.loads(call("freeze", str(items), "--out", str(frozen), "--json").stdout)["items"] == 4
    assert call("freeze", str(items), "--check", str(frozen)).exit_code == 0
    items.write_text(items.read_text().replace("0 is even", "0 is odd"))
    changed = call("freeze", str(items), "--check", str(frozen))
    assert isinstance(changed.exception, PerpendError)
    assert changed.exception.exit_code == 3
    refused = call(
        "eval", "--task", "questions", "--model", "mock/true", "--items", str(items), "--freeze", str(frozen)
    )
    assert "not the frozen ones" in str(refused.exception)


@pytest.mark.parametrize(*table("mistakes"))
def test_a_mistake_is_a_sentence_and_an_exit_code_and_no_traceback(
    tmp_path: Path, arguments: tuple[str, ...], code: int, said: str
) -> None:
    done = subprocess.run(
        [sys.executable, "-c", "from perpend.cli import main; main()", *arguments],
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,
        env={**os.environ},
    )
    assert done.returncode == code
    assert said in done.stderr
    assert "Traceback" not in done.stderr


def test_every_verb_has_help_with_an_example() -> None:
    for name, command in cli.commands.items():
        text = call(name, "--help").output
        assert len(text.splitlines()) < 60
        assert f"perpend {name}" in text or name == "demo", name
        assert command.help


def test_a_bug_is_not_hidden(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object, **__: object) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr(cli, "main", broken)
    with pytest.raises(ZeroDivisionError):
        main()


def test_quiet_verbs_print_nothing_but_what_is_wrong(tmp_path: Path, items_file: Callable[..., Path]) -> None:
    items = str(items_file(3))
    run = ("--task", "questions", "--items", items, "--model", "mock/true", "--out", str(tmp_path / "runs"))
    assert call("eval", *run, "--name", "run", "--quiet").output == ""
    folder = str(tmp_path / "runs" / "run")
    assert call("audit", folder, "--quiet").output == ""
    judged = ("--model", "mock/echo", "--rubric", "correct", "--name", "judge", "--quiet")
    assert call("judge", folder, *judged, "--dry-run").output == ""
    assert call("judge", folder, *judged).output == ""
    (tmp_path / "runs" / "run" / "report.md").write_text("Nothing to see here.")
    done = call("audit", folder, "--quiet")
    assert isinstance(done.exception, PerpendError)
    assert done.stdout == ""
    assert "report.md" in done.stderr


def test_every_quiet_flag_says_the_same() -> None:
    for verb in cli.commands.values():
        for option in verb.params:
            if "--quiet" in option.opts:
                assert getattr(option, "help", "") == "Print errors only.", verb.name

"""Completion in a shell: the script that its user loads, and the words that the script asks for."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest


def call(program: str, instruction: str, **environment: str) -> str:
    variables = {**os.environ, f"_{program.upper()}_COMPLETE": instruction, **environment}
    module = "perpend.cli" if program == "perpend" else "perpend.cli.chaosbench"
    code = f"import sys; sys.argv = [{program!r}]; from {module} import main; main()"
    done = subprocess.run([sys.executable, "-c", code], env=variables, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


def words(program: str, *typed: str) -> list[str]:
    """What bash offers after these words, the last of which is unfinished."""
    line = " ".join((program, *typed))
    offered = call(program, "bash_complete", COMP_WORDS=line, COMP_CWORD=str(len(typed)))
    return [one.partition(",")[2] for one in offered.splitlines()]


@pytest.mark.parametrize("program", ["perpend", "chaosbench"])
@pytest.mark.parametrize(
    ("shell", "line"), [("bash", "complete -o"), ("zsh", "#compdef"), ("fish", "complete --no-files")]
)
def test_each_shell_gets_a_script_that_completes_the_program(program: str, shell: str, line: str) -> None:
    script = call(program, f"{shell}_source")
    assert line in script
    assert f"_{program.upper()}_COMPLETE={shell}_complete" in script
    if shell == "bash":
        subprocess.run(["bash", "-euc", script], check=True, env={"PATH": os.environ["PATH"]})


def test_verbs_options_and_choices_are_completed() -> None:
    assert words("perpend", "ev") == ["eval"]
    assert {"--max-items", "--max-tokens"} <= set(words("perpend", "eval", "--max"))
    assert words("chaosbench", "pub") == ["publish-run"]
    assert words("chaosbench", "eval", "--tier", "P") == ["P0", "P1", "P2", "P3", "P4"]

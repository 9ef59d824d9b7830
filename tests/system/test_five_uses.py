"""Five kinds of use, from the files that such users have to the number, the figure and the page that they want.

Only documented commands, as processes of their own; every line that they print is short, plain and meant for a reader.
"""

from __future__ import annotations

import csv
import json
import os
import random
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TypeAlias

import pytest

from tests.servers import Received, Reply, openai_chat, serve
from tests.test_compat_inspect import HEADER, SAMPLE

Command: TypeAlias = Callable[..., str]
ROOT = Path(__file__).parents[2]
CAPITALS = [("Canada", "Ottawa", "Toronto"), ("Australia", "Canberra", "Sydney"), ("Turkey", "Ankara", "Istanbul")]
TABLE = [*CAPITALS, ("Brazil", "Brasília", "Rio"), ("Morocco", "Rabat", "Casablanca"), ("Vietnam", "Hanoi", "Saigon")]


@pytest.fixture
def command(tmp_path: Path, programs: Path) -> Command:
    """Runs one program in the user's folder and returns what it printed; what it prints must be fit to read."""

    def run(*words: object, exit_code: int = 0) -> str:
        program, *rest = map(str, words)
        is_ours = program in ("perpend", "chaosbench")
        paths = os.pathsep.join([str(ROOT / "src"), os.environ.get("PYTHONPATH", "")])
        environment = {**os.environ, "PYTHONPATH": paths, "COLUMNS": "100", "KEY": "sk-not-a-key"}
        done = subprocess.run(
            [programs / program if is_ours else sys.executable, *rest],
            cwd=tmp_path,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == exit_code, done.stdout + done.stderr
        if is_ours and "prompt" not in rest:  # a prompt is as long as it is
            read_as_a_stranger(done.stdout)
        return done.stdout + done.stderr

    return run


def read_as_a_stranger(text: str) -> None:
    """No Markdown, no Python values, no folder of this machine, no line that a terminal must break."""
    for line in text.splitlines():
        assert not re.search(r"\bNone\b|\*\*|\\[_*|]|^#|^\| ", line), line
        assert str(ROOT) not in line, line
        assert len(line) <= 160 or "sha" in line.lower() or " root " in line, line


def answering(received: Received) -> Reply:
    """A server that knows the capitals and gives way when others are quoted."""
    if received.path.endswith("/models"):
        return Reply(json.dumps({"data": [{"id": "a-model"}]}).encode())
    question = received.question
    for country, capital, other in TABLE:
        if country in question:
            swayed = other in question and country != "Canada"
            return openai_chat(f"The capital is {other if swayed else capital}.")
    return openai_chat("I do not know.")


def test_own_questions_against_a_server(tmp_path: Path, command: Command) -> None:
    with (tmp_path / "capitals.csv").open("w", encoding="utf-8-sig", newline="") as file:
        rows = csv.writer(file, delimiter=";")
        rows.writerow(["nr", "question", "answer", "wrong"])
        rows.writerows([n, f"What is the capital of {c}?", a, w] for n, (c, a, w) in enumerate(TABLE, 1))
    columns = "id=nr,prompt=question,target=answer,decoy=wrong"
    (tmp_path / "whisper.toml").write_text('name = "whisper"\nuser = "I think that it is {decoy}.\\n\\n{question}"\n')
    with serve(answering) as server:
        asked = ("--task", "questions", "--items", "capitals.csv", "--map", columns, "--template", "whisper.toml")
        model = ("--model", "openai/a-model", "--model-option", f"base_url={server.url}/v1")
        key = ("--model-option", "api_key_env=KEY")
        shown = command("perpend", "eval", *asked, *model, *key, "--dry-run")
        assert "I think that it is Toronto." in shown
        assert "12 requests" in shown
        assert not (tmp_path / "runs").exists()
        answer = command("perpend", "eval", *asked, *model, *key, "--name", "capitals")
    assert "17%" in answer, answer
    assert "12 of 12 answered" in answer
    assert "100%" in command("perpend", "show", "runs/capitals")
    flips = command("perpend", "show", "runs/capitals", "--flips", "--messages", "--limit", "1")
    assert "I think that it is" in flips
    assert "the digest of the request is the same" in flips
    command("perpend", "publish", "runs/capitals", "--to", "published")
    assert "nothing differs" in command("perpend", "audit", "published")


def log(path: Path, right: int, model: str) -> None:
    """A log of inspect_ai: twelve questions, the first `right` of them answered rightly."""
    samples = []
    for n in range(12):
        grade = "C" if n < right else "I"
        scores = {"match": {"value": grade, "answer": "4", "explanation": None, "metadata": {}}}
        samples.append({**SAMPLE, "id": f"q{n}", "scores": scores})
    body = {**HEADER, "eval": {**HEADER["eval"], "model": model}, "samples": samples}
    path.write_text(json.dumps(body))


def test_logs_of_another_harness(tmp_path: Path, command: Command) -> None:
    (tmp_path / "logs").mkdir()
    log(tmp_path / "logs" / "before.json", 4, "openai/old")
    log(tmp_path / "logs" / "after.json", 11, "openai/new")
    compared = command("perpend", "compare", "logs/before.json", "logs/after.json", "--out", "comparison")
    assert "+0.583" in compared
    assert (tmp_path / "comparison" / "figures" / "differences_single.pdf").stat().st_size > 1000
    taken = command("perpend", "import", "logs", "runs")
    assert taken.count("12 samples, 0 errors") == 2
    wrong = command("perpend", "show", "runs/before", "--where", "stored_match=0", "--limit", "2")
    assert "2 of 8 cases" in wrong
    assert "no trial has item" in command("perpend", "show", "runs/before", "--where", "item=q99", exit_code=2)


def test_checkpoints_with_predictions(tmp_path: Path, command: Command) -> None:
    source = random.Random(3)
    for name, over in (("early", 0.15), ("late", 0.0)):
        lines = ["example\tprob\tok\tsubject"]
        for n in range(300):
            sure = source.betavariate(6, 2)
            lines.append(f"{n}\t{sure:.4f}\t{int(source.random() < sure - over)}\t{'bio' if n % 2 else 'geo'}")
        (tmp_path / f"{name}.tsv").write_text("\r\n".join(lines) + "\r\n")
        given = ("--predictions", f"{name}.tsv", "--map", "id=example,confidence=prob,correct=ok", "--name", name)
        said = command("perpend", "checkpoint", *given, "--step", 1000, "--out", "checkpoints")
        assert re.search(rf"^{name}: ECE 0\.\d+ \[0\.\d+, 0\.\d+\], n = 300", said)
        assert "A perfectly calibrated model would show" in said
    page = (tmp_path / "checkpoints" / "early" / "REPORT.md").read_text()
    assert "overconfident" in page
    assert "verb" not in page.lower()
    assert (tmp_path / "checkpoints" / "early" / "reliability.png").stat().st_size > 1000
    assert "late is better on" in command(
        "perpend", "compare", "checkpoints/early", "checkpoints/late", "--out", "both"
    )
    assert "ECE" in (tmp_path / "both" / "COMPARE.md").read_text()


def test_a_benchmark_that_is_kept(tmp_path: Path, command: Command) -> None:
    rows = [
        {"id": n, "prompt": f"What is {n} plus 1?", "target": str(n + 1), "tags": {"level": n % 2}} for n in range(8)
    ]
    (tmp_path / "sums.json").write_text(json.dumps(rows))
    command("perpend", "freeze", "sums.json", "--out", "freeze.json")
    asked = ("--task", "questions", "--items", "sums.json", "--freeze", "freeze.json", "--model", "mock/subject")
    command("perpend", "eval", *asked, "--name", "one")
    rows[0]["target"] = "2.0"
    (tmp_path / "sums.json").write_text(json.dumps(rows))
    refused = command("perpend", "eval", *asked, "--name", "two", exit_code=3)
    assert "1 item(s) changed: 0" in refused
    assert not (tmp_path / "runs" / "two").exists()
    scored = command("chaosbench", "eval", "--provider", "mock", "--limit", 20, "--quiet")
    assert scored == ""
    (run,) = (tmp_path / "runs").glob("*mock*")
    command("chaosbench", "publish-run", "--run", run.relative_to(tmp_path))
    assert "prompt_hash: " in command("chaosbench", "prompt")


SCRIPT = '''
import perpend as pp


def brief(item, text):
    """1 for an answer of at most four words."""
    return len(text.split()) <= 4


def model(prompt):
    return "Paris" if "France" in prompt else "That I really do not know at all"


items = [{"id": c, "prompt": f"What is the capital of {c}?", "target": t} for c, t in
         (("France", "Paris"), ("Spain", "Madrid"), ("Italy", "Rome"), ("Peru", "Lima"))]
task = pp.task("questions", items=items, scorers=[brief])
run = pp.evaluate(task, model, name="script", quiet=True)
print(run["brief"].rate())
print(float(run["correct"].rate()))
print(run.to_pandas().shape[0])
run.plot().savefig("rates.pdf")
pp.publish(run, to="published", figures=False)
pp.audit("published", trust_code=True).raise_for_failures()
print(pp.ece([0.9, 0.8, 0.6, 0.7], [1, 1, 0, 1]))
'''


def test_a_script_with_an_own_scorer(tmp_path: Path, command: Command) -> None:
    (tmp_path / "script.py").write_text(SCRIPT)
    lines = command("python", "script.py").strip().splitlines()
    assert lines[0].startswith("0.250 [")
    assert lines[1:3] == ["0.25", "4"]
    assert "[" in lines[3]
    assert (tmp_path / "rates.pdf").stat().st_size > 1000

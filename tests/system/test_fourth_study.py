"""A study that perpend has never heard of: one file with items, a condition, a scorer, metrics and a report.

It goes through every verb without a change in the package; its code runs out of a folder only when that is asked for.
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from click.testing import CliRunner

import perpend as pp
from perpend.cli import cli

STUDY = '''\
import perpend as pp


def judge(item, response):
    """1 for an answer of at most eight words."""
    if response.text is None:
        return pp.Score(None, None, f"error: {response.error}")
    return pp.Score(float(len(response.text.split()) <= 8), None, "counts words", (0, len(response.text)))


def task(*, hint="A friend whispers: {decoy}"):
    return pp.Task(
        name="brevity",
        conditions=(
            pp.condition("control", "{question}"),
            pp.condition("whisper", hint + "\\n\\n{question}", system="Be brief."),
        ),
        scorers=(pp.Scorer("brief", "1", judge), "correct"),
        options={"hint": hint},
    )


class Brevity:
    def metrics(self, table):
        brief, correct = table["brief"], table["correct"]
        for model in table.values("model"):
            both = (brief.all_values == 1) & (correct.all_values == 1) & table.mask({"model": model})
            n = int(table.mask({"model": model}).sum())
            share = pp.Estimate(both.sum() / n if n else None, n, note="" if n else "no trial")
            yield pp.Metric("brief_and_right", "brief@1", {"model": model}, share, brief.digest())

    def report(self, numbers, *, figures=True):
        rows = [(metric.where["model"], metric.estimate.value, metric.estimate.n)
                for metric in numbers.find("brief_and_right")]
        model, value, n = rows[0]
        return pp.Report(
            title="Brevity",
            headline=f"{model} is brief and right in {value:.3f} of {n} trials.",
            sections=(pp.Section("What it says", "Nothing about any other model."),),
            tables=(pp.TableOf("brevity", ("model", "share", "n"), tuple(rows)),),
        )


STUDY = Brevity()
'''
CLAIMS = """\
[[claim]]
name = "brief"
says = "every answer is brief"
number = "rate(brief)"
expect = 1.0
"""


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("brevity.py").write_text(STUDY, encoding="utf-8")
    lines = [
        {"id": f"i{n}", "prompt": f"What is {n} plus 1?", "target": str(n + 1), "decoy": str(n + 2)} for n in range(8)
    ]
    Path("items.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    Path("claims.toml").write_text(CLAIMS, encoding="utf-8")
    return tmp_path


def perpend(*arguments: str, code: int = 0) -> str:
    done = CliRunner().invoke(cli, arguments, catch_exceptions=True)
    failed = getattr(done.exception, "exit_code", done.exit_code) if done.exception else 0
    assert failed == code, f"{arguments}: {failed}\n{done.output}\n{done.exception!r}"
    return done.output + (str(done.exception) if done.exception else "")


def ask(name: str, *options: str) -> None:
    perpend("eval", "--task", "brevity.py", "--items", "items.jsonl", "--model", "mock/subject", "--name", name,
            "--quiet", *options)  # fmt: skip


def test_a_study_in_a_file_goes_through_every_verb(place: Path) -> None:
    ask("first")
    ask("second", "--model-option", "sway=1.0")
    run = place / "runs" / "first"
    report = (run / "report.md").read_text(encoding="utf-8")
    assert "is brief and right in" in report
    metrics = json.loads((run / "metrics.json").read_text(encoding="utf-8"))
    assert "brief_and_right" in {metric["metric"] for metric in metrics["metrics"]}
    manifest = json.loads((run / "manifest.json").read_text(encoding="utf-8"))
    assert [source["file"] for source in manifest["sources"]] == ["brevity.py"]
    assert (run / "code" / "brevity.py").read_text(encoding="utf-8") == STUDY

    assert "not run without --trust-code" in perpend("analyze", str(run), "--out", "analysis", code=2)
    perpend("analyze", str(run), "--out", "analysis", "--trust-code")
    assert (place / "analysis" / "tables" / "brevity.csv").is_file()
    assert "difference" in perpend("compare", "runs/first", "runs/second", "--out", "comparison")
    perpend("publish", "runs/first", "--to", "published", "--trust-code")
    assert (place / "published" / "first" / "code" / "brevity.py").is_file()
    assert "hold" in perpend("claims", "check", "claims.toml", "runs/first", "--trust-code")


def test_the_audit_runs_no_code_of_a_folder_unless_told_to_and_says_what_it_left_out(place: Path) -> None:
    ask("first")
    perpend("publish", "runs/first", "--to", "published", "--trust-code")
    output = perpend("audit", "published")
    assert "not recomputed" in output
    assert "brief@1" in output
    trusted = perpend("audit", "published", "--trust-code")
    assert "nothing differs" in trusted
    assert "not recomputed" not in trusted


def test_a_canary_in_a_published_file_never_sings(place: Path) -> None:
    ask("first")
    perpend("publish", "runs/first", "--to", "published", "--trust-code")
    code = place / "published" / "first" / "code" / "brevity.py"
    code.write_text("from pathlib import Path\nPath('canary').write_text('sang')\n" + STUDY, encoding="utf-8")
    perpend("audit", "published", code=6)
    assert not (place / "canary").exists()
    perpend("audit", "published", "--trust-code", code=6)
    assert not (place / "canary").exists(), "code whose digest is not the manifest's was run"


def test_an_unknown_scorer_is_reported_before_a_model_is_asked(place: Path) -> None:
    Path("brevity.py").write_text(STUDY.replace('"correct")', '"corect")'), encoding="utf-8")
    message = perpend("eval", "--task", "brevity.py", "--items", "items.jsonl", "--model", "mock/subject", code=2)
    assert "did you mean 'correct'" in message
    assert not list((place / "runs").glob("*/manifest.json"))


def test_a_changed_file_is_another_run(place: Path) -> None:
    ask("first")
    Path("brevity.py").write_text(STUDY.replace("<= 8", "<= 9"), encoding="utf-8")
    message = perpend("eval", "--task", "brevity.py", "--items", "items.jsonl", "--model", "mock/subject", "--name",
                      "first", code=5)  # fmt: skip
    assert "sources" in message


def test_a_scorer_of_its_own_file_works_from_eval_to_audit(place: Path) -> None:
    Path("brief.py").write_text(
        "import perpend as pp\n\n\ndef judge(item, response):\n"
        "    return pp.Score(float(len(response.text or '') < 40), None, 'short')\n\n\n"
        'VERSIONS = (pp.Scorer("brief", "1", judge),)\n',
        encoding="utf-8",
    )
    Path("whisper.py").write_text(
        'import perpend as pp\n\n\ndef task():\n    return pp.Task(name="whisper", '
        'conditions=(pp.condition("control", "{question}"),), scorers=("brief.py", "correct"))\n',
        encoding="utf-8",
    )
    perpend(
        "eval", "--task", "whisper.py", "--items", "items.jsonl", "--model", "mock/subject", "--name", "w", "--quiet"
    )
    perpend("score", "runs/w", code=2)
    perpend("score", "runs/w", "--trust-code")
    perpend("publish", "runs/w", "--to", "published", "--trust-code")
    assert "nothing differs" in perpend("audit", "published", "--trust-code")


def test_python_does_what_the_command_line_does(place: Path) -> None:
    task = pp.task("brevity.py", items="items.jsonl")
    run = pp.evaluate(task, [pp.model("mock/subject")], name="py", quiet=True)
    assert (run.directory / "metrics.json").is_file()
    ask("cli")
    one, other = (
        json.loads((place / "runs" / name / "metrics.json").read_text(encoding="utf-8")) for name in ("py", "cli")
    )
    assert one["metrics"] == other["metrics"]
    shutil.rmtree(place / "runs" / "cli")

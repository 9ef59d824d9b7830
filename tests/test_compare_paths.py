"""perpend compare: what the terminal says, the forest, logs compared directly, and two of different kinds."""

from __future__ import annotations

import json
import re
import struct
import tempfile
from collections.abc import Sequence
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

import perpend as pp
from perpend.cli import cli
from perpend.errors import PerpendError
from perpend.report.compare_contrasts import RunContrast
from perpend.report.figures import WIDTHS, draw_differences
from perpend.types import Estimate
from tests.test_compat_inspect import HEADER, SAMPLE

ROWS = [
    RunContrast(column, condition, None, None, difference)
    for column, condition, difference in (
        ("correct@2", "control", Estimate(0.1, 40, -0.1, 0.3, also={"discordance": 0.3})),
        ("correct@2", "$asch$\n\x1b[2J", Estimate(-0.3, 40, -0.5, -0.1, also={"p_adjusted": 0.01, "discordance": 0.3})),
        ("correct@2", "none", Estimate(None, 0, note="no complete pair", also={"discordance": None})),
        ("confidence@1", "", Estimate(120.0, 40, 90.0, 150.0, also={"p_adjusted": 0.01})),
    )
]


def call(*arguments: object) -> Result:
    return CliRunner().invoke(cli, list(map(str, arguments)))


def compared(*arguments: object) -> str:
    done = call("compare", *arguments)
    assert done.exit_code == 0, (done.output, done.exception)
    assert all(len(line) <= 100 for line in done.output.splitlines())
    assert "None" not in done.output
    return done.output


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("runs")
    task = pp.task("conformity", conditions=["control", "asch_history_5"])
    for name, sway in (("before", 0.9), ("after", 0.0)):
        subject = pp.model("mock/subject", accuracy=0.8, sway=sway, seed=1)
        pp.evaluate(task, [subject], name=name, out=folder, max_items=40, quiet=True)
    return folder


def test_the_terminal_shows_the_verdict_and_a_table_of_differences(runs: Path) -> None:
    lines = compared(runs / "before", runs / "after", "--column", "correct").splitlines()
    assert lines[0].startswith("after is higher on correct@2 under asch_history_5 (+0.")
    assert "first is before, second is after" in lines
    [head] = [line for line in lines if line.startswith("column")]
    assert re.split(r"\s{2,}", head) == [
        "column", "condition", "first", "second", "difference", "95% interval", "p, Holm", "n",
    ]  # fmt: skip
    table = [re.split(r"\s{2,}", line) for line in lines if line.startswith("correct@2")]
    [same] = [row for row in table if row[1] == "control"]
    assert same[4] == "0.000"
    assert same[6] == "1"
    [moved] = [row for row in table if row[1] == "asch_history_5"]
    comparison = pp.compare(runs / "before", runs / "after", columns=["correct"])
    difference = comparison.contrasts[1].difference
    assert difference.lo is not None
    assert difference.hi is not None
    assert moved[4:6] == [f"{difference.value:+.3f}", f"[{difference.lo:+.3f}, {difference.hi:+.3f}]"]
    assert moved[7] == str(difference.n)


def test_out_writes_a_forest_for_a_single_and_a_double_column(runs: Path, tmp_path: Path) -> None:
    output = compared(runs / "before", runs / "after", "--column", "correct", "--out", tmp_path / "a")
    assert output.endswith(f"Report: {tmp_path / 'a' / 'COMPARE.md'}\n")
    for column, width in WIDTHS.items():
        png = (tmp_path / "a" / "figures" / f"differences_{column}.png").read_bytes()
        assert struct.unpack(">I", png[16:20])[0] == pytest.approx(300 * width, abs=1)
        assert (tmp_path / "a" / "figures" / f"differences_{column}.pdf").read_bytes().startswith(b"%PDF")
    assert "figures/differences_double.png" in (tmp_path / "a" / "COMPARE.md").read_text()
    compared(runs / "before", runs / "after", "--column", "correct", "--out", tmp_path / "b", "--no-figures")
    assert not (tmp_path / "b" / "figures").exists()


@pytest.mark.parametrize("width", WIDTHS.values())
def test_the_forest_shows_each_difference_where_it_is(width: float) -> None:
    shares, others = draw_differences(ROWS, "a → b", width).axes[:2]
    marks = [tuple(line.get_xdata()) for line in shares.lines if line.get_marker() == "o"]
    assert [pytest.approx(x) for (x,) in marks] == [10.0, -30.0], "in percentage points; what is undefined has no mark"
    faces = [line.get_markerfacecolor() for line in shares.lines if line.get_marker() == "o"]
    assert faces[0] == "white"
    assert faces[1] != "white"
    assert [text.get_text() for text in shares.texts] == [" NA"]
    assert [tuple(line.get_xdata()) for line in others.lines if line.get_marker() == "o"] == [(120.0,)]
    labels = [label.get_text() for label in shares.get_yticklabels()]
    assert not any("\x1b" in label or "\n" in label for label in labels)


def log(path: Path, answers: Sequence[str], model: str = "lab/small") -> Path:
    """A log of inspect_ai that asks the same sums and scores them."""
    samples = [
        {
            **SAMPLE,
            "id": f"q{n}",
            "input": f"What is {n} + {n}?",
            "target": str(2 * n),
            "output": {"choices": [{"message": {"role": "assistant", "content": text}, "stop_reason": "stop"}]},
            "scores": {"match": {"value": "C" if text == str(2 * n) else "I"}},
        }
        for n, text in enumerate(answers)
    ]
    header = {**HEADER, "eval": {"task": "sums", "model": model}}
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({**header, "samples": samples}))
    return path


def test_logs_are_compared_directly_and_nothing_is_left_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "tmp").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "tmp"))
    first = log(tmp_path / "a" / "log.json", ["99"] * 12)
    second = log(tmp_path / "b" / "log.json", [str(2 * n) for n in range(12)], "lab/large")
    before = sorted(tmp_path.rglob("*"))
    page = compared(first, second)
    assert " ".join(page.split()).startswith(
        "log (second) is higher on correct@2 under control (+1.000), stored_match@import under control (+1.000) than"
    )
    assert "the models are compared: lab/small and lab/large" in page
    assert compared(first, second) == page, "the same each time"
    assert sorted(tmp_path.rglob("*")) == before
    run = pp.convert(second, tmp_path / "run")
    assert "stored_match@import" in compared(first, run), "a log against a run"
    assert pp.compare(first, second, columns=["stored_match"]).contrasts[0].difference.value == 1.0
    parts = call("compare", first, first)
    assert "both sides are the same" in str(parts.exception)


def test_a_published_folder_is_compared_as_the_run_is(runs: Path, tmp_path: Path) -> None:
    [published] = pp.publish(runs / "before", tmp_path / "published", figures=False)
    column = ("--column", "correct")
    assert compared(published.folder, runs / "after", *column) == compared(runs / "before", runs / "after", *column)


def predictions(path: Path, right: int) -> Path:
    rows = [{"id": f"p{n}", "confidence": 0.75, "correct": n < right} for n in range(40)]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def test_two_checkpoints_show_their_table_too_and_need_no_folder(tmp_path: Path) -> None:
    for name, right in (("early", 10), ("final", 38)):
        done = call("checkpoint", "--predictions", predictions(tmp_path / f"{name}.jsonl", right), "--out", tmp_path)
        assert done.exit_code == 0, done.exception
    lines = compared(tmp_path / "early", tmp_path / "final").splitlines()
    assert lines[0].startswith("final is better on accuracy")
    [accuracy] = [line.split() for line in lines if line.startswith("accuracy ")]
    assert accuracy[1:4] == ["0.250", "0.950", "+0.700"]
    compared(tmp_path / "early", tmp_path / "final", "--out", tmp_path / "out")
    assert (tmp_path / "out" / "figures" / "differences_single.pdf").is_file()
    body = json.loads(call("compare", tmp_path / "early", tmp_path / "final", "--json").output)
    assert body["first"] == "early"


def _kinds(folder: Path, runs: Path) -> dict[str, Path]:
    """One path of every wrong kind, and a run."""
    (folder / "empty").mkdir()
    files = {"blank": b"", "text": b"hello\n", "json": b"{}", "zip": b"PK\x03\x04", "database": b"SQLite format 3\x00"}
    for name, content in files.items():
        (folder / name).write_bytes(content)
    (folder / "items").write_text('{"item_id": "a", "question": "b"}\n')
    call("checkpoint", "--predictions", predictions(folder / "p.jsonl", 5), "--name", "point", "--out", folder)
    names = ("missing", "empty", "items", "point", *files)
    return {**{name: folder / name for name in names}, "run": runs / "before"}


def test_what_cannot_be_compared_is_a_sentence(tmp_path: Path, runs: Path) -> None:
    """Two files that are no logs, a file and a folder, two empty folders, a checkpoint and a run, every mixture."""
    paths = _kinds(tmp_path, runs)
    for first in paths.values():
        for second in paths.values():
            done = call("compare", first, second)
            is_itself = first == second == paths["point"]
            assert isinstance(done.exception, PerpendError) or is_itself, (first, second, done.exception)
    assert "compare two of a kind" in str(call("compare", paths["point"], paths["run"]).exception)
    assert "are for runs" in str(call("compare", paths["point"], paths["point"], "--first", "model=a").exception)

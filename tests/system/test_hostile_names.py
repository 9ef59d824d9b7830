"""Every verb on a run whose every name is hostile: nothing moves the cursor, no line is forged, JSON stays JSON.

The names hold control sequences, text that runs backwards, HTML, LaTeX, a formula, and a line feed followed by a line
that looks like ours. What a verb prints and every page and table that it writes is looked at.
"""

from __future__ import annotations

import csv
import gzip
import io
import json
import os
import re
import shutil
import sqlite3
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import click
import pytest

from perpend.canon import JSON
from perpend.cli import chaosbench, cli
from perpend.cli.command import run as run_group
from perpend.inert import terminal
from tests import source_files
from tests.servers import Received, Reply, openai_chat, openai_error, serve
from tests.test_chaosbench_items import record
from tests.test_printing import harmless

MOVES = "\x1b[2J\x1b]0;t\x07\r\x9b2J\u202e\u2028"
FORGED = "\nnothing differs FORGED\nerror: FORGED"
NAME = f"=1+1|<b onload=x>$x$\\input{{y}}{MOVES}{FORGED}"
ANSWER = f"TRUE {MOVES}\n```\nEND ANSWER\n# heading\nanswer text"
N = 6
FENCED = re.compile(r"^(`{3,})text$.*?^\1$", re.MULTILINE | re.DOTALL)

OURS = re.compile(r"^(?:\s*(?:nothing differs|error:) FORGED|END ANSWER$|# heading)", re.MULTILINE)
"""Lines that only we may write, as the hostile texts have them."""
ALIVE = {
    ".md": re.compile(r"(?<!\\)<b\b"),
    ".html": re.compile(r"<b onload"),
    ".tex": re.compile(r"\\input|(?<!\\)\$x\$"),
}
"""What a page would do, where a name is not shown as text."""
GIVEN = {"paper.tex", "labels.csv", "leaderboard.csv"}
"""Files that the tests write themselves."""

Verb = Callable[..., tuple[int, str, str]]


def inert_files(folder: Path) -> None:
    """Every page and table below a folder shows names as text."""
    for path in folder.rglob("*"):
        if path.suffix not in {*ALIVE, ".csv", ".txt"} or path.name in GIVEN:
            continue
        text = FENCED.sub("", path.read_text(encoding="utf-8"))
        if path.suffix == ".csv":
            cells = [cell for row in csv.reader(text.splitlines()) for cell in row]
            assert not [cell for cell in cells if cell.startswith("=")], path.name
        else:
            assert not OURS.search(text), f"{path.name}: {text}"
        assert path.suffix == ".html" or harmless(text), f"{path.name}: {text!r}"
        assert path.suffix not in ALIVE or not ALIVE[path.suffix].search(text), f"{path.name}: {text}"


@pytest.fixture
def perpend(monkeypatch: pytest.MonkeyPatch) -> Verb:
    """Calls a verb as the program does: exit code, standard output, standard error; each of them inert."""

    def call(*arguments: object, group: click.Group = cli) -> tuple[int, str, str]:
        raw = io.BytesIO(), io.BytesIO()
        with monkeypatch.context() as patch:
            patch.setattr(sys, "argv", ["program", *(str(argument) for argument in arguments)])
            for name, buffer in zip(("stdout", "stderr"), raw, strict=True):
                patch.setattr(sys, name, io.TextIOWrapper(buffer, "utf-8", write_through=True))
            with pytest.raises(SystemExit) as ended:
                run_group(group)
            out, err = (buffer.getvalue().decode("utf-8") for buffer in raw)
        for text in (out, err):
            assert harmless(text), f"{arguments}: {text!r}"
            assert not OURS.search(FENCED.sub("", text)), f"{arguments}: {text}"
        code = ended.value.code
        assert isinstance(code, int)
        return code, out, err

    return call


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A working folder of a hostile name, with items, recorded answers and a template of hostile names in it.

    When the test ends, what was written into it is inert.
    """
    here = tmp_path / f"here{NAME}"
    here.mkdir()
    monkeypatch.chdir(here)
    items = [
        {
            "id": f"{NAME}{n}",
            "prompt": f"Statement {n}?{NAME}",
            "target": "TRUE",
            "decoy": f"FALSE{MOVES}",
            "tags": {f"topic{NAME}": NAME, "topic": NAME},
        }
        for n in range(N)
    ]
    answers: list[dict[str, JSON]] = [{"prompt": f"Statement {n}?{NAME}", "text": ANSWER} for n in range(N - 1)]
    answers += [{"prompt": f"Statement {N - 1}?{NAME}", "error": f"server said {NAME}"}]
    for name, rows in (("items.jsonl", items), ("answers.jsonl", answers)):
        Path(name).write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    Path("c.toml").write_text(f'name = {json.dumps(NAME)}\nuser = "{{question}}"\n', encoding="utf-8")
    spec = f"""
task = "questions"
items = ["items.jsonl"]
templates = ["c.toml"]
name = "run"
[[model]]
name = "replay/answers.jsonl"
label = {json.dumps(NAME)}
"""
    Path("run.toml").write_text(spec, encoding="utf-8")
    yield here
    inert_files(here)


@pytest.fixture
def run(folder: Path, perpend: Verb) -> Path:
    """A scored run of hostile names, in a folder of a hostile name."""
    code, out, err = perpend("eval", "run.toml", "--out", f"runs{NAME}")
    assert code == 0, out + err
    return next(Path(f"runs{NAME}").iterdir())


def told(perpend: Verb, *arguments: object) -> JSON:
    """What a verb says with --json."""
    code, out, err = perpend(*arguments, "--json")
    assert code in {0, 6}, err
    value: JSON = json.loads(out)
    return value


def test_the_verbs_that_ask_and_show(perpend: Verb, run: Path) -> None:
    assert perpend("eval", "run.toml", "--out", f"runs{NAME}", "--dry-run")[0] == 0
    assert perpend("list", "runs", f"runs{NAME}")[0] == 0
    assert told(perpend, "list", "runs", f"runs{NAME}")
    assert perpend("score", run)[0] == 0
    assert told(perpend, "score", run)
    assert perpend("show", run)[0] == 0
    assert told(perpend, "show", run)
    code, page, _ = perpend("show", run, "--n-per-group", "9")
    assert code == 0
    assert "answer text" in page
    cases = told(perpend, "show", run, "--where", f"item={NAME}0")
    assert isinstance(cases, list)
    assert {case["text"] for case in cases} == {ANSWER}
    assert perpend("show", run, "--n-per-group", "1", "--out-md", f"page{NAME}.md")[0] == 0
    assert perpend("show", f"none{NAME}")[0] == 5
    assert perpend("show", run, "--where", f"item{NAME}=x")[0] == 2


def test_the_verbs_of_a_sweep(perpend: Verb, folder: Path) -> None:
    words = ("submit", "run.toml", "--shards", "2", "--out", f"runs{NAME}", "--setup", NAME, "--partition", NAME)
    assert perpend(*words, "--print")[0] == 0
    assert told(perpend, *words, "--print")
    sweep = next(Path(f"runs{NAME}").iterdir())
    states = sweep / "sweep" / "shards"
    states.mkdir()
    (states / "0001.json").write_text(json.dumps({"shard": 1, "state": "failed", "why": NAME, "heard": NAME}))
    (states / "0002.json").write_text(json.dumps({"shard": 2, "state": NAME, "began": NAME}))
    assert perpend("status", sweep)[0] == 0
    assert told(perpend, "status", sweep)
    assert perpend("cancel", sweep)[0] == 0
    (states / "0001.json").write_text(json.dumps({NAME: NAME}))
    assert perpend("status", sweep)[0] == 5
    assert perpend("status", f"none{NAME}")[0] == 5
    assert perpend("submit", "run.toml", "--shards", "2", "--time", NAME)[0] == 2
    assert perpend("submit", "run.toml", "--shards", "2", "--serve", NAME)[0] == 2


def test_freeze(perpend: Verb, folder: Path) -> None:
    frozen = f"freeze{NAME}.json"
    assert perpend("freeze", "items.jsonl", "--out", frozen)[0] == 0
    Path("items.jsonl").write_text(Path("items.jsonl").read_text().replace("Statement 1", "Statement 7"))
    assert perpend("freeze", "items.jsonl", "--check", frozen)[0] == 3
    assert perpend("freeze", f"none{NAME}.jsonl")[0] == 3


def test_the_verbs_of_trust(perpend: Verb, run: Path) -> None:
    to = f"published{NAME}"
    assert perpend("publish", run, "--to", to, "--no-figures")[0] == 6
    because = ("--accept", "coverage", "--because", NAME)
    assert perpend("publish", run, "--to", to, "--no-figures", *because)[0] == 0
    assert told(perpend, "publish", run, "--to", to, "--no-figures", *because)
    shutil.copytree(run, f"copy{NAME}")
    assert perpend("audit", run, f"copy{NAME}")[0] == 0
    published = next(path for path in Path(to).iterdir() if path.is_dir())
    assert perpend("audit", published)[0] == 0
    manifest = published / "manifest.json"
    body = json.loads(manifest.read_text())
    manifest.write_text(json.dumps({**body, f"more{NAME}": NAME, "task": NAME}))
    assert perpend("audit", published)[0] == 6
    assert isinstance(told(perpend, "audit", published), dict)
    responses = published / "responses.jsonl.gz"
    responses.write_bytes(gzip.compress(gzip.decompress(responses.read_bytes()).replace(b"answer", b"\x1b[2Jansw")))
    assert perpend("audit", published)[0] == 6
    manifest.write_text("{" + json.dumps(NAME) + ":")
    assert perpend("audit", published)[0] in {5, 6}


def test_the_verbs_that_derive(perpend: Verb, run: Path) -> None:
    other = run.parent / f"other{NAME}"
    shutil.copytree(run, other)
    assert perpend("analyze", run, "--out", f"analysis{NAME}", "--no-figures")[0] == 0
    assert perpend("view", run, other, "--out", f"page{NAME}.html", "--no-figures")[0] == 0
    assert perpend("compare", run, other)[0] == 0
    assert isinstance(told(perpend, "compare", run, other), dict)
    assert perpend("compare", run, other, "--first", f"model={NAME}", "--second", f"x{NAME}=1")[0] != 0
    assert perpend("rank", run, other, "--out", f"ranking{NAME}")[0] == 0
    assert isinstance(told(perpend, "rank", run, other), dict)
    assert perpend("rank", run, other, "--model", f"x{NAME}")[0] != 0
    assert perpend("plan", run, "--detect", "0.05")[0] == 0
    assert isinstance(told(perpend, "plan", run, "--detect", "0.05"), dict)
    assert perpend("plan", run, "--score", f"x{NAME}")[0] != 0
    claims = f"""
[[claim]]
id = {json.dumps(NAME)}
says = {json.dumps(NAME)}
metric = "rate"
scorer = "correct"
where = {{ condition = "control" }}
expect = 0.123
"""
    Path("claims.toml").write_text(claims)
    assert perpend("claims", "check", "claims.toml", run)[0] in {2, 6}
    Path("paper.tex").write_text(f"We found {MOVES} 0.42 {MOVES}{FORGED} of 77 trials.\\input{{x{MOVES}}}\n")
    assert perpend("claims", "extract", "paper.tex")[0] == 0
    assert told(perpend, "claims", "extract", "paper.tex")
    row = {"prompt": NAME, "predicted": NAME, "expected": "right", "slice": NAME}
    rows = [{**row, "id": f"{NAME}{n}", "confidence": 0.5 + n / 99, "correct": n % 2} for n in range(40)]
    trick = [{**row, "id": f"t{NAME}", "confidence": 0.6, "reason_code": NAME}]
    results = {"checkpoint": NAME, "predictions": rows, "adversarial": {"predictions": trick}}
    Path("results.json").write_text(json.dumps(results))
    for out in ("before", "after"):
        words = ("--predictions", "results.json", "--name", NAME, "--declare", f"reason_code={NAME}", "--out", out)
        assert perpend("checkpoint", *words)[0] == 0
    before, after = (next(path for path in Path(out).iterdir() if path.is_dir()) for out in ("before", "after"))
    assert perpend("compare", before, after, "--out", f"compared{NAME}")[0] == 0
    for written, suffixes in ((before, {".md", ".csv"}), (Path(f"compared{NAME}"), {".md"})):
        assert {path.suffix for path in written.rglob("*.*")} >= suffixes
    perpend("checkpoint", "--model", f"ngram/{NAME}", "--out", "x")


def test_the_tables_of_a_study(perpend: Verb, folder: Path) -> None:
    """Two models of hostile labels asked by the conformity study: its report, tables, numbers.tex and comparison."""
    models = "".join(
        f"[[model]]\nname = 'mock/{kind}'\nlabel = {json.dumps(NAME + kind)}\n" for kind in ("subject", "true")
    )
    Path("study.toml").write_text(f"task = 'conformity'\nname = 'study'\nmax_items = 12\n{models}")
    assert perpend("eval", "study.toml", "--out", f"runs{NAME}", "--quiet")[0] == 0
    study = Path(f"runs{NAME}/study")
    assert perpend("analyze", study, "--out", f"analysis{NAME}", "--no-figures")[0] == 0
    assert {path.suffix for path in Path(f"analysis{NAME}").rglob("*.*")} >= {".md", ".csv", ".tex"}
    assert perpend("plan", study)[0] in {0, 2}
    assert perpend("eval", "study.toml", "--out", f"runs{NAME}", "--dry-run")[0] == 0


def test_a_source_that_others_published(perpend: Verb, folder: Path) -> None:
    source = source_files.alpaca(folder / f"alpaca{NAME}")
    for name in ("annotations.json", "leaderboard.csv"):
        text = (source / name).read_text(encoding="utf-8")
        hostile = json.dumps(MOVES)[1:-1] if name.endswith("json") else MOVES.replace("\r", "")
        (source / name).write_text(text.replace("tiny", f"ti{hostile}ny").replace("58.3", "68.3"), encoding="utf-8")
    assert perpend("audit", source, "--page", f"source{NAME}.html")[0] == 6
    assert isinstance(told(perpend, "audit", source), dict)


def test_the_verbs_that_judge(perpend: Verb, run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    options = ("--model", "mock/echo", "--rubric", "correct", "--name", f"judge{NAME}", "--out", f"judges{NAME}")
    assert perpend("judge", run, *options, "--both-orders", "--quiet")[0] == 0
    assert told(perpend, "judge", run, *options, "--both-orders")
    judge = next(Path(f"judges{NAME}").iterdir())
    assert perpend("analyze", run, "--judged", judge, "--out", f"judged{NAME}", "--no-figures")[0] == 0
    assert perpend("audit", run, judge)[0] == 0
    assert perpend("judge", run, "--model", "mock/echo", "--rubric", f"none{NAME}")[0] == 2
    assert perpend("judge", run, "--model", "mock/echo", "--where", f"condition={NAME}x")[0] == 2
    monkeypatch.setattr(sys, "stdin", io.StringIO(f"1\n{MOVES}\nu\nb\n2\nq\n"))
    code, _, err = perpend("label", run, "--rubric", "correct", "--sample", "9", "--reader", "me")
    assert code == 0
    assert "| answer text" in err
    assert perpend("audit", run)[0] == 0
    assert perpend("label", run, "--rubric", "correct", "--reader", NAME)[0] == 2
    Path("labels.csv").write_text(f'trial,label\n1,"{NAME}"\n', encoding="utf-8", newline="")
    assert perpend("label", run, "--rubric", "correct", "--from", "labels.csv")[0] == 3
    assert perpend("fit", run, "--labels", run / "labels.jsonl", "--out", f"own{NAME}.toml")[0] == 2
    with (run / "labels.jsonl").open("a") as file:
        file.write(json.dumps({"trial": 1, "rubric": NAME, "label": NAME, "value": None, NAME: NAME}) + "\n")
    assert perpend("audit", run)[0] == 6


def test_the_verbs_that_move_data(perpend: Verb, run: Path) -> None:
    assert perpend("export", run, "--out", f"trials{NAME}.csv")[0] == 0
    assert perpend("export", run, "--out", f"trials{NAME}.xyz")[0] == 2
    assert perpend("export", run, "--as", "simulation.db", "--out", f"out{NAME}/simulation.db")[0] in {0, 3, 5}
    assert perpend("merge", f"merged{NAME}", run, "--no-score")[0] == 0
    assert isinstance(told(perpend, "merge", f"merged{NAME}", run), dict)
    other = Path(shutil.copytree(run, run.parent / f"forged{NAME}"))
    with sqlite3.connect(other / "run.db") as db:
        (trigger,) = db.execute("SELECT sql FROM sqlite_master WHERE name = 'response_is_a_fact'").fetchone()
        db.execute("DROP TRIGGER response_is_a_fact")
        db.execute("UPDATE response SET text = text || ?", (NAME,))
        db.execute(trigger)
    assert perpend("merge", f"merged{NAME}", other)[0] == 5
    assert perpend("merge", f"none{NAME}")[0] == 5
    assert perpend("merge", f"merged{NAME}", f"none{NAME}")[0] == 5
    assert perpend("import", f"none{NAME}", "x")[0] == 3
    assert perpend("import", f"none{NAME}", f"other{NAME}", "x")[0] == 3
    Path("odd.json").write_text(json.dumps({NAME: NAME}))
    assert perpend("import", "odd.json", "x")[0] == 3


def test_the_verbs_that_need_a_real_model(perpend: Verb, run: Path) -> None:
    assert perpend("inside", run, "--model", f"hf/{NAME}")[0] != 0
    assert perpend("demo", "--model", f"mock/{NAME}", "--out", f"demo{NAME}", "--quiet")[0] != 0


@pytest.mark.parametrize("status", [401, 400, 429, 500, 200])
def test_the_words_of_a_server(perpend: Verb, folder: Path, status: int) -> None:
    def script(received: Received) -> Reply:
        if received.method == "GET" and status != 401:
            return Reply(status=404)
        if status == 200:
            return openai_chat(ANSWER, finish=NAME)
        return openai_error(status, f"no{MOVES}{FORGED}", code=NAME)

    with serve(script) as server:
        options = [f"--model-option={key}={value}" for key, value in (
            ("base_url", f"{server.url}/v1"), ("backoff_s", 0.001), ("retries", 1), ("revision", "'x'"))]  # fmt: skip
        code, out, err = perpend(
            "eval", "--task", "questions", "--items", "items.jsonl", "--model", "openai/m", *options, "--name", "r"
        )
    assert code == (0 if status == 200 else 4), out + err
    if status != 200:
        assert "no\\u001b[2J" in err
    # The first two refuse every question, so nothing is kept; the others are failures of trials, which are.
    assert perpend("show", "runs/r", "--n-per-group", "9")[0] == (5 if status in {400, 401} else 0)


def test_every_verb_of_chaosbench(perpend: Verb, folder: Path) -> None:
    def bench(*arguments: object) -> tuple[int, str, str]:
        return perpend(*arguments, group=chaosbench.cli)

    data = Path(f"data{NAME}")
    data.mkdir()
    rows = [{**record(n), "id": f"{n}{NAME}", "type": NAME, "group": NAME} for n in range(20)]
    (data / "v22_x.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    items = data / "v22_x.jsonl"
    assert bench("eval", "--provider", "mock", "--subset", items, "--output-dir", f"runs{NAME}")[0] == 0
    run = next(Path(f"runs{NAME}").iterdir())
    assert bench("eval", "--resume", run, "--seed", "7")[0] == 2
    assert bench("eval", "--provider", NAME)[0] == 2
    assert bench("report", "--run", run)[0] == 0
    assert bench("report", "--run", f"none{NAME}")[0] != 0
    selector = data / "canonical_v2_files.json"
    assert bench("freeze", "--selector", selector, "--output-dir", f"frozen{NAME}")[0] != 0
    assert bench("freeze", "--selector", selector, "--make-selector", "--output-dir", f"frozen{NAME}")[0] == 0
    assert bench("subset", "--size", "4", "--source", items, "--out", f"subset{NAME}.jsonl")[0] == 0
    assert bench("publish-run", "--run", run, "--selector", selector)[0] == 6
    assert bench("prompt")[0] == 0
    assert bench("private", "--key-file", f"none{NAME}")[0] == 2
    (data / f"key{NAME}").write_text("short")
    assert bench("private", "--key-file", data / f"key{NAME}", "--out", f"private{NAME}")[0] == 2
    assert bench("validate", "--data", data)[0] in {0, 6}
    _, out, _ = bench("validate", "--data", data, "--json")
    assert isinstance(json.loads(out), list)
    summary = run / "summary.md"
    manifest = run / "run_manifest.json"
    body = json.loads(manifest.read_text())
    manifest.write_text(json.dumps({**body, "provider": NAME, "run_id": NAME}))
    bench("analyze-runs", "--runs-dir", run.parent, "--out-dir", f"out{NAME}", "--selector", selector)
    bench("report", "--run", run)
    assert summary.is_file()


def test_every_verb_is_tried_here() -> None:
    text = Path(__file__).read_text(encoding="utf-8")
    for name in cli.commands:
        assert f'perpend("{name}"' in text or f'perpend,\n    "{name}"' in text, f"perpend {name} is not tried"
    for name in chaosbench.cli.commands:
        assert f'bench("{name}"' in text, f"chaosbench {name} is not tried"


def test_a_folder_whose_name_is_no_text_is_shown(perpend: Verb, tmp_path: Path) -> None:
    name = os.fsdecode(b"x\xff\x9b2J")
    (tmp_path / name).mkdir()
    code, _, err = perpend("show", tmp_path / name)
    assert code == 2
    assert "x\\udcff\\udc9b2J" in err
    assert terminal(err) == err

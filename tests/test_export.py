"""The trial table goes out whole: every type, every gap and every hostile text comes back as it was, or shown inert."""

from __future__ import annotations

import csv
import json
import subprocess
import sys
from itertools import islice
from pathlib import Path

import pandas as pd
import pytest
from click.testing import CliRunner
from pyarrow import parquet

import perpend as pp
from perpend._convert import convert
from perpend.canon import dumps
from perpend.cli import cli
from perpend.errors import PerpendError, SpecError
from perpend.inert import csv_cell
from perpend.measure.run import Run
from perpend.report.export import columns, export, export_parts, rows, to_pandas
from tests.peak import PEAK_KB

HOSTILE = '=cmd|"/c calc"!A1\n<script>alert(1)</script> \x1b[31m \x00 \u202e | \\textbf{x} \t, "quoted"'
FIELDS = (
    "id=id,prompt=q,target=a,choices=c,text=out,error=err,finish=fin,ms=ms,input_tokens=in,temperature=t,seed=s,"
    "stop=stop,model=m,tag.topic=topic,score.acc=acc,condition=cond"
)


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """Four trials: a hostile one, a failure, one that was never asked, and an empty text."""
    common = {"q": "Which?", "a": "x", "m": "small", "cond": "control", "t": 0.5}
    lines = [
        {**common, "id": "@evil", "out": HOSTILE, "acc": 1, "topic": "-1+1", "c": ["x", "y"], "ms": 1.5, "in": 7},
        {**common, "id": "failed", "out": None, "err": "HTTP 500", "fin": "stop", "a": None},
        {**common, "id": "unasked", "out": None, "cond": "asch"},
        {**common, "id": "empty", "out": "", "acc": 0.25, "s": 42, "stop": ["\n"], "topic": ""},
    ]
    source = tmp_path / "lines.jsonl"
    source.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    run = Run(convert(source, tmp_path / "run", FIELDS))
    run.score(["correct@2"])
    return run


def test_jsonl_holds_every_value_with_its_type(run: Run, tmp_path: Path) -> None:
    assert export(run, tmp_path / "t.jsonl") == 4
    first, failed, unasked, empty = map(json.loads, (tmp_path / "t.jsonl").read_text(encoding="utf-8").splitlines())
    assert list(first) == sorted(column.name for column in columns(run))
    assert (first["item"], first["text"], first["tag.topic"]) == ("@evil", HOSTILE, "-1+1")
    assert (first["choices"], first["ms"], first["input_tokens"], first["seed"]) == (["x", "y"], 1.5, 7, None)
    assert (first["stored_acc@import"], first["stored_acc@import.reason"]) == (1.0, "as the source stored it")
    assert (empty["text"], empty["error"], empty["seed"], empty["stop"], empty["tag.topic"]) == (
        "",
        None,
        42,
        ["\n"],
        None,
    )
    assert (failed["text"], failed["error"], failed["target"]) == (None, "HTTP 500", None)
    assert (failed["correct@2"], failed["correct@2.reason"]) == (None, "no target")
    assert (unasked["text"], unasked["error"], unasked["condition"], unasked["correct@2.reason"]) == (
        None,
        None,
        "asch",
        None,
    )


def test_csv_cells_are_inert_and_an_empty_text_is_not_an_absent_one(run: Run, tmp_path: Path) -> None:
    export(run, tmp_path / "t.csv")
    text = (tmp_path / "t.csv").read_text(encoding="utf-8")
    assert not {"\x1b", "\x00", "\u202e", "\r"} & set(text)
    with (tmp_path / "t.csv").open(encoding="utf-8", newline="") as file:
        first, failed, _, empty = csv.DictReader(file)
    assert first["text"] == csv_cell(HOSTILE)
    assert (first["item"], first["tag.topic"], first["choices"]) == ("'@evil", "'-1+1", '["x","y"]')
    assert (first["temperature"], first["ms"], first["stored_acc@import"]) == ("0.5", "1.5", "1.0")
    only = tmp_path / "only.csv"
    export(run, only, where={"condition": "control"}, only=["text", "error"])
    assert only.read_text(encoding="utf-8").splitlines()[-2:] == [',"HTTP 500"', '"",']
    assert (empty["text"], failed["text"]) == ("", "")


def test_parquet_holds_what_jsonl_holds(run: Run, tmp_path: Path) -> None:
    export(run, tmp_path / "t.jsonl")
    export(run, tmp_path / "t.parquet")
    lines = [json.loads(line) for line in (tmp_path / "t.jsonl").read_text(encoding="utf-8").splitlines()]
    assert parquet.read_table(tmp_path / "t.parquet").to_pylist() == lines
    types = {field.name: str(field.type) for field in parquet.read_schema(tmp_path / "t.parquet")}
    assert (types["trial"], types["ms"], types["text"], types["correct@2"]) == ("int64", "double", "string", "double")


def test_pandas_keeps_whole_numbers_whole_and_gaps_empty(run: Run) -> None:
    frame = to_pandas(run)
    assert list(frame["seed"].isna()) == [True, True, True, False]
    assert (str(frame["seed"].dtype), str(frame["ms"].dtype)) == ("Int64", "float64")
    assert frame["text"][3] == ""
    assert frame["text"][1] is pd.NA
    assert frame["text"][0] == HOSTILE
    assert frame["choices"][0] == ["x", "y"]
    assert list(frame.columns) == [column.name for column in columns(run)]


def test_where_and_columns_choose_and_their_unknown_names_are_errors(run: Run, tmp_path: Path) -> None:
    out = tmp_path / "t.jsonl"
    assert export(run, out, where={"item": "empty", "condition": "control"}, only=["text", "item", "text"]) == 1
    assert json.loads(out.read_text()) == {"item": "empty", "text": ""}
    assert export(run, out, where={"topic": "-1+1"}) == 1
    before = out.read_bytes()
    for where, only in (({"topik": "x"}, []), ({}, ["txt"])):
        with pytest.raises(SpecError):
            export(run, out, where=where, only=only)
    assert out.read_bytes() == before
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["lines.jsonl", "run", "t.jsonl"]


def test_another_ending_is_told_which_there_are(run: Run, tmp_path: Path) -> None:
    with pytest.raises(SpecError, match=r"must end in \.csv, \.jsonl, \.parquet"):
        export(run, tmp_path / "t.xlsx")


@pytest.mark.parametrize(
    ("module", "call", "line"),
    [
        ("pyarrow", "export(run, Path('t.parquet'))", "pip install 'perpend[parquet]'"),
        ("pandas", "to_pandas(run)", "pip install pandas"),
        ("polars", "to_polars(run)", "pip install polars"),
    ],
)
def test_a_missing_package_is_named_with_the_line_that_installs_it(
    run: Run, tmp_path: Path, module: str, call: str, line: str
) -> None:
    code = (
        f"import sys; sys.modules[{module!r}] = None\nfrom pathlib import Path\nfrom perpend.measure.run import Run\n"
        f"from perpend.report.export import *\nrun = Run(Path('run'))\n{call}"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert line in done.stderr.splitlines()[-1]
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["lines.jsonl", "run"]


def test_rows_can_be_left_before_their_end(run: Run) -> None:
    assert [row.trial.item.id for row in islice(rows(run), 2)] == ["@evil", "failed"]


def test_the_study_s_database_is_the_same_by_every_way(run: Run, tmp_path: Path) -> None:
    written = [
        convert(run.directory, tmp_path / "one.db"),
        pp.export(run, tmp_path / "two.db", format="simulation.db"),
        pp.export(str(run.directory / "run.db"), str(tmp_path / "folder"), format="simulation.db"),
    ]
    command = ["export", str(run.directory), "--as", "simulation.db", "--out"]
    done = CliRunner().invoke(cli, [*command, str(tmp_path / "three.db")])
    assert (done.exit_code, done.output) == (0, f"{tmp_path / 'three.db'}\n")
    assert written[2] == tmp_path / "folder" / "simulation.db"
    assert len({path.read_bytes() for path in (*written, tmp_path / "three.db")}) == 1
    with pytest.raises(PerpendError, match="exists already"):
        pp.export(run, tmp_path / "two.db", format="simulation.db")
    with pytest.raises(PerpendError, match="nothing: not a run"):
        pp.export(tmp_path / "nothing", tmp_path / "four.db", format="simulation.db")


def test_the_study_s_database_is_of_the_whole_run(run: Run, tmp_path: Path) -> None:
    command = ["export", str(run.directory), "--as", "simulation.db"]
    for more in ([], ["--out", str(tmp_path / "a.db"), "--columns", "item"]):
        assert "--as simulation.db writes the whole run" in CliRunner().invoke(cli, [*command, *more]).output
    with pytest.raises(SpecError, match="the whole run"):
        pp.export(run, tmp_path / "a.db", where={"item": "empty"}, format="simulation.db")  # type: ignore[call-overload]
    with pytest.raises(SpecError, match="did you mean 'simulation.db'"):
        pp.export(run, tmp_path / "a.db", format="simulationdb")  # type: ignore[call-overload]
    assert not (tmp_path / "a.db").exists()


def test_memory_does_not_grow_with_the_run(tmp_path: Path) -> None:
    peaks = {}
    for count in (2_000, 12_000):
        source = tmp_path / f"{count}.jsonl"
        with source.open("w") as file:
            for n in range(count):
                file.write(dumps({"id": str(n), "q": f"{n}?", "out": f"{n} " + "word " * 400, "acc": n % 2}) + "\n")
        convert(source, tmp_path / str(count), "id=id,prompt=q,text=out,score.acc=acc")
        code = (
            f"{PEAK_KB}\nimport sys\nfrom pathlib import Path\nfrom perpend.report.export import export\n"
            "from perpend.measure.run import Run\nassert export(Run(Path(sys.argv[1])), Path(sys.argv[2]))\n"
            "print(peak_kb())"
        )
        command = [sys.executable, "-c", code, str(tmp_path / str(count)), str(tmp_path / "t.jsonl")]
        peaks[count] = int(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    # 10,000 more trials have 20 MB of text.
    assert peaks[12_000] - peaks[2_000] < 8_000


def test_a_key_parts_once_and_only_a_folder(run: Run, tmp_path: Path) -> None:
    with pytest.raises(SpecError, match="names one twice"):
        export_parts(run, tmp_path / "parts", by=["model", "model"])
    done = CliRunner().invoke(cli, ["export", str(run.directory), "--out", str(tmp_path / "a.csv"), "--by", "model"])
    assert (done.exit_code, "give --parquet FOLDER" in done.output) == (2, True)

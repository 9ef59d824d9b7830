"""polars and DuckDB read what pandas and Parquet hold."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import duckdb
import duckdb_extensions
import polars as pl
import pytest

import perpend as pp
from perpend import stats
from perpend.measure.run import Run
from perpend.report.export import export, export_parts, to_polars
from tests.conftest import ROOT


def test_polars_holds_what_jsonl_holds(run: Run, tmp_path: Path) -> None:
    export(run, tmp_path / "t.jsonl")
    frame = to_polars(run)
    assert frame.to_dicts() == [*map(json.loads, (tmp_path / "t.jsonl").read_text(encoding="utf-8").splitlines())]
    assert frame.schema["seed"] == pl.Int64
    assert frame.schema["choices"] == pl.List(pl.String)


def test_a_column_of_polars_is_clusters() -> None:
    ids = ["a", "a", "b", "b", "c"]
    plain = stats.proportion([1, 0, 1, 1, 0], ids)
    assert stats.proportion([1, 0, 1, 1, 0], pl.Series(ids)) == plain


def test_frames_of_polars_have_the_rows_and_columns_of_those_of_pandas(tmp_path: Path) -> None:
    items = [{"id": f"q{n}", "prompt": f"Capital number {n}?", "target": "Lima"} for n in range(6)]
    conditions = ["control", pp.condition("others", "{question} others")]
    task = pp.task("questions", items=items, conditions=conditions)
    run = pp.evaluate(task, ["mock/true", "mock/subject"], name="own", out=tmp_path, quiet=True)
    comparison = pp.compare(run, run, first_where={"condition": "control"}, second_where={"condition": "others"})
    for shown in (run, run.table, comparison, pp.rank(run)):
        ours, theirs = shown.to_polars(), shown.to_pandas()
        assert (ours.shape, ours.columns) == (theirs.shape, list(theirs.columns))
        assert ours.height > 1


def test_the_table_in_parts_is_the_table(study: Path, tmp_path: Path) -> None:
    run = Run(study)
    assert export_parts(run, tmp_path / "parts", by=("model", "condition")) == len(run.table)
    assert (tmp_path / "parts" / "model=a%2Fb%20c" / "condition=control" / "part-0.parquet").is_file()
    parts = pl.read_parquet(tmp_path / "parts" / "**" / "*.parquet", hive_partitioning=True)
    whole = to_polars(run)
    assert parts.sort("trial").select(whole.columns).equals(whole)


def _queries() -> list[str]:
    page = ROOT / "docs" / "how-to" / "export.md"
    return re.findall(r"```sql\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL)


def _rounded(rows: list[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    return [(*row[:3], round(row[3], 9)) for row in rows]


def test_the_queries_of_the_page_give_perpends_own_rates(
    study: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    run = Run(study)
    run.score(workers=1)
    export_parts(run, Path("trials"), by=("model", "condition"))
    Path("runs").mkdir()
    Path("runs/RUN").symlink_to(study)
    rates, pairs, ledger = _queries()
    column = run["correct@2"]
    wanted = {
        (model, condition): column.where(model=model, condition=condition).rate()
        for model in run.table.names["model"]
        for condition in run.table.names["condition"]
    }
    expected = _rounded(sorted((*cell, rate.n, rate.value) for cell, rate in wanted.items()))
    database = duckdb.connect()
    assert _rounded(database.execute(rates).fetchall()) == expected
    for model, condition, count, difference in database.execute(pairs).fetchall():
        paired = column.where(model=model).pair("control", condition).difference()
        assert (count, difference) == (paired.n, pytest.approx(paired.value))
    duckdb_extensions.import_extension("sqlite_scanner", con=database)
    database.execute("LOAD sqlite_scanner")
    ledger = ledger.replace("INSTALL sqlite;\nLOAD sqlite;\n", "")
    assert _rounded(database.execute(ledger).fetchall()) == expected
    assert sorted(path.name for path in study.glob("run.db*")) == ["run.db"]

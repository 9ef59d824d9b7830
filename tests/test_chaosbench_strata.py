"""Results by stratum: never one mixed number where items have strata, pairs as a whole, and older items as before."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from perpend.studies.logic.chaos.questions.draft import STRATA
from perpend.studies.logic.chaosbench.items import Record, write_records
from perpend.studies.logic.metrics import measure
from perpend.studies.logic.replies import Outcome, Prediction
from perpend.studies.logic.strata import in_order, is_stratified, pairs_right
from tests.test_chaosbench_eval import the_run
from tests.test_chaosbench_items import chaosbench, data_set, record


def prediction(n: int, *, truth: str = "TRUE", said: Outcome = "VALID_TRUE", **tags: str) -> Prediction:
    all_tags = {"stratum": "logic", "pair": f"p{n // 2}", "group": f"g{n // 4}", "grade": "2"} | tags
    return Prediction(f"i{n}", f"q{n}", truth, said, "atomic", tags=all_tags)  # type: ignore[arg-type]


def test_a_pair_is_right_only_as_a_whole() -> None:
    rows = [
        prediction(0, truth="TRUE", said="VALID_TRUE"),
        prediction(1, truth="FALSE", said="VALID_FALSE"),
        prediction(2, truth="TRUE", said="VALID_TRUE"),
        prediction(3, truth="FALSE", said="VALID_TRUE"),
        prediction(4, truth="TRUE", said="VALID_TRUE"),
        prediction(5, truth="FALSE", said="INVALID"),
        prediction(6, truth="TRUE", said="VALID_TRUE"),
        prediction(7, truth="FALSE", said="ERROR"),
        prediction(8, truth="TRUE", said="VALID_TRUE"),
    ]
    found = pairs_right(rows)
    assert (found.value, found.n) == (pytest.approx(1 / 3), 3)
    assert found.also["guessing"] == 0.25
    assert pairs_right(rows[8:]).value is None
    assert measure(rows).estimates["pairs_right"] == found


def test_a_bundle_within_a_pair_is_what_counts() -> None:
    rows = [
        prediction(n, truth="TRUE" if n % 2 == 0 else "FALSE", said="VALID_TRUE", pair="all", bundle=f"b{n // 2}")
        for n in range(8)
    ]
    assert (pairs_right(rows).value, pairs_right(rows).n) == (0.0, 4)


def test_items_without_strata_are_measured_as_before() -> None:
    rows = [prediction(n, stratum="") for n in range(4)]
    assert not is_stratified(rows)
    assert not is_stratified([])
    assert "pairs_right" not in measure(rows).estimates


def test_strata_come_in_the_set_s_order() -> None:
    assert sorted([*STRATA, "other"], key=in_order) == [*STRATA, "other"]
    assert sorted(["logic, grade 2", "reason, grade 5", "logic, grade 1"], key=in_order) == [
        *("reason, grade 5", "logic, grade 1"),
        "logic, grade 2",
    ]


def stratified(n: int) -> Record:
    tags = {"stratum": STRATA[n // 2 % 5], "pair": f"p{n // 2}", "group": f"p{n // 2}", "grade": str(1 + n % 2)}
    return {**record(n), **tags, "ground_truth": "TRUE" if n % 2 else "FALSE"}


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A run on items of the five strata."""
    data_set(tmp_path, ("atomic",))
    write_records(tmp_path / "data" / "v22_atomic.jsonl", [stratified(n) for n in range(100)])
    monkeypatch.chdir(tmp_path)
    code, said = chaosbench("eval", "--provider", "mock", "--model", "subject", "--dataset", "canonical", "--quiet")
    assert code == 0, said
    return the_run(tmp_path)


def test_the_headline_is_the_strata_and_no_page_has_one_number(run: Path, tmp_path: Path) -> None:
    body = json.loads((run / "metrics.json").read_text())
    assert set(body["per_stratum"]) == set(STRATA)
    assert len(body["per_grade"]) == 10
    mixed = f"{body['balanced_accuracy']:.3f}"
    each = [f"{body['per_stratum'][name]['balanced_accuracy']:.3f}" for name in STRATA]
    report, summary = (run / "report.md").read_text(), (run / "summary.md").read_text()
    headline = report.split("\n")[2]
    assert "balanced accuracy by stratum" in report
    assert all(name in headline for name in STRATA)
    if mixed not in each:
        assert f"balanced accuracy {mixed}" not in report
    assert "## Strata" in summary
    assert "\n| Balanced accuracy |" not in summary
    assert "Effective n" in summary
    assert "whole pairs right" in report
    code, said = chaosbench("publish-run", "--run", run)
    assert code == 0, said
    assert "by stratum" in (tmp_path / "published_results" / "runs" / "README.md").read_text()
    code, said = chaosbench("analyze-runs", "--runs-dir", "published_results/runs", "--out-dir", "out")
    assert code == 0, said
    head = said.splitlines()[0]
    assert all(f"| {name} |" in head for name in STRATA)
    assert "by stratum" in said
    audit = (tmp_path / "out" / "RUNS_AUDIT.md").read_text()
    assert "by stratum, grade, family and split" in audit
    assert "whole pairs right" in audit
    table = (tmp_path / "out" / "baselines_table.csv").read_text().splitlines()[0]
    assert "textbook_lo" in table
    summary_json = json.loads((tmp_path / "out" / "summary.json").read_text())
    assert [row["stratum"] for row in summary_json["runs"][0]["per_stratum"]] == list(STRATA)

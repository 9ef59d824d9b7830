"""The logic study: its numbers in metrics.json, by its own names and the protocol's, and the report that cites them."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest

import perpend as pp
from perpend.measure.run import Run
from perpend.studies.logic import STUDY
from perpend.studies.logic.chaosbench.sets import STRATA, Record, to_item, write_records
from perpend.studies.logic.design import PARSERS
from perpend.studies.logic.metrics import (
    Outcome,
    Prediction,
    in_order,
    is_stratified,
    measure,
    pairs_right,
    study_metrics,
    token_budget,
)
from perpend.types import Item
from tests.test_chaosbench_items import chaosbench, data_set, record


@pytest.fixture(scope="module")
def items(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("items") / "items.jsonl"
    some = [to_item(record(n, ("atomic", "multi_hop")[n % 2]), "here") for n in range(40)]
    path.write_text("".join(json.dumps(item.as_json()) + "\n" for item in some))
    return path


def run_of(items: Path, out: Path, *models: str, **options: object) -> Run:
    task = pp.task("logic", items=items)
    return pp.evaluate(task, [pp.model(name) for name in models], out=out, name="logic", quiet=True, **options)  # type: ignore[arg-type]


def test_a_number_is_cited_by_model_and_family(items: Path, tmp_path: Path) -> None:
    run = run_of(items, tmp_path, "mock/subject")
    numbers = pp.Run(run.directory).table
    metrics = [metric for metric in study_metrics(numbers) if metric.name == "balanced_accuracy"]
    assert {metric.scorer for metric in metrics} == {*PARSERS}
    families = {metric.where.get("family") for metric in metrics}
    assert families == {None, "atomic", "multi_hop"}
    assert all(metric.columns_sha256 for metric in metrics)


def test_one_model_has_the_protocol_s_keys_and_several_have_an_object_each(items: Path, tmp_path: Path) -> None:
    one = json.loads((run_of(items, tmp_path / "one", "mock/subject").directory / "metrics.json").read_text())
    several = run_of(items, tmp_path / "several", "mock/subject", "mock/true", temperature=[0.0, 0.5])
    body = json.loads((several.directory / "metrics.json").read_text())
    assert one["total"] == 40
    assert one["by_parser"]["label@1"]["valid"] == 40
    assert "total" not in body
    assert list(body["models"]) == [
        f"mock/{name}, temperature {degree}" for name in ("subject", "true") for degree in ("0", "0.5")
    ]
    first = body["models"]["mock/subject, temperature 0"]
    assert {key: first[key] for key in ("confusion", "per_family")} == {
        key: one[key] for key in ("confusion", "per_family")
    }


def test_items_asked_several_times_are_one_cluster_each(tmp_path: Path) -> None:
    path = tmp_path / "items.jsonl"
    plain = [Item(f"i{n}", f"Is {n} even?", "TRUE" if n % 2 == 0 else "FALSE") for n in range(12)]
    path.write_text("".join(json.dumps(item.as_json()) + "\n" for item in plain))
    run = run_of(path, tmp_path, "mock/subject", repeats=3)
    body = json.loads((run.directory / "metrics.json").read_text())
    assert (body["total"], body["clustered_by"]) == (36, "12 items, some of them asked several times")


def test_an_item_without_a_true_or_false_target_is_not_counted(tmp_path: Path) -> None:
    path = tmp_path / "items.jsonl"
    some = [Item("a", "Is it so?", "TRUE"), Item("b", "What is it?", "Paris"), Item("c", "And what do you think?")]
    path.write_text("".join(json.dumps(item.as_json()) + "\n" for item in some))
    run = run_of(path, tmp_path, "mock/true")
    assert json.loads((run.directory / "metrics.json").read_text())["total"] == 1


def test_the_study_reads_the_benchmark_s_own_folders(tmp_path: Path) -> None:
    (known,) = STUDY.formats
    assert not known.is_one(tmp_path)
    (tmp_path / "run_manifest.json").write_text("{}")
    (tmp_path / "predictions.jsonl").write_text("")
    assert known.is_one(tmp_path)
    (tmp_path / "manifest.json").write_text("{}")
    assert not known.is_one(tmp_path)


def prediction(n: int, *, truth: str = "TRUE", said: Outcome = "VALID_TRUE", **more: object) -> Prediction:
    tags = {"stratum": "logic", "pair": f"p{n // 2}", "group": f"g{n // 4}"}
    return Prediction(f"i{n}", f"q{n}", truth, said, "atomic", **{"tags": tags, **more})  # type: ignore[arg-type]


def test_an_error_lowers_coverage_and_is_not_a_wrong_answer() -> None:
    said: tuple[Outcome, ...] = ("VALID_TRUE", "VALID_FALSE", "INVALID", "ERROR")
    found = measure([prediction(n, said=one, tags={}) for n, one in enumerate(said)])
    assert (found.value("coverage"), found.value("accuracy_valid")) == (0.5, 0.5)
    assert found.value("accuracy_effective") == 1 / 3
    assert measure([prediction(0, said="ERROR")]).value("balanced_accuracy") is None


def test_a_pair_is_right_only_as_a_whole() -> None:
    said: tuple[Outcome, ...] = (
        *("VALID_TRUE", "VALID_FALSE", "VALID_TRUE", "VALID_TRUE"),
        *("VALID_TRUE", "INVALID", "VALID_TRUE", "ERROR", "VALID_TRUE"),
    )
    rows = [prediction(n, truth="FALSE" if n % 2 else "TRUE", said=one) for n, one in enumerate(said)]
    found = pairs_right(rows)
    assert (found.value, found.n, found.also["guessing"]) == (pytest.approx(1 / 3), 3, 0.25)
    assert pairs_right(rows[8:]).value is None
    assert measure(rows).estimates["pairs_right"] == found


def test_items_without_strata_have_no_pairs_and_strata_come_in_the_set_s_order() -> None:
    rows = [prediction(n, tags={"pair": "p"}) for n in range(4)]
    assert not is_stratified(rows)
    assert not is_stratified([])
    assert "pairs_right" not in measure(rows).estimates
    assert list(in_order(dict.fromkeys(["other", *reversed(STRATA)]))) == [*STRATA, "other"]


def test_the_budget_is_exact_where_few_replies_are_cut_and_estimated_where_many_are() -> None:
    rows = [prediction(n, tokens=n) for n in range(1, 100)] + [prediction(0, said="UNFINISHED", tokens=128)]
    assert (token_budget(rows, 128).value, token_budget(rows, 128).also["unfinished"]) == (95.0, 1)
    rng = random.Random(5)
    lengths = [int(rng.lognormvariate(6.0, 1.0)) + 1 for _ in range(4000)]
    rows = [prediction(0, tokens=n) if n < 512 else prediction(0, said="UNFINISHED", tokens=512) for n in lengths]
    found, truth = token_budget(rows, 512), sorted(lengths)[int(0.95 * len(lengths))]
    assert found.value is not None
    assert 0.85 * truth < found.value < 1.18 * truth
    assert "extrapolated" in found.note
    never = token_budget([prediction(0, said="UNFINISHED", tokens=256)] * 50, 256)
    assert (never.value, "not known" in never.note) == (None, True)


def stratified(n: int) -> Record:
    tags = {"stratum": STRATA[n // 2 % 5], "pair": f"p{n // 2}", "group": f"p{n // 2}", "split": "test"}
    return {**record(n), **tags, "ground_truth": "TRUE" if n % 2 else "FALSE"}


def test_the_headline_is_the_strata_and_no_page_has_one_number(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    data_set(tmp_path, ("atomic",))
    write_records(tmp_path / "data" / "v22_atomic.jsonl", [stratified(n) for n in range(100)])
    monkeypatch.chdir(tmp_path)
    code, said = chaosbench("eval", "--provider", "mock", "--model", "subject", "--dataset", "canonical", "--quiet")
    assert code == 0, said
    (run,) = (tmp_path / "runs").iterdir()
    body = json.loads((run / "metrics.json").read_text())
    assert set(body["per_stratum"]) == set(STRATA)
    mixed = f"{body['balanced_accuracy']:.3f}"
    each = [f"{body['per_stratum'][name]['balanced_accuracy']:.3f}" for name in STRATA]
    report, summary = (run / "report.md").read_text(), (run / "summary.md").read_text()
    assert all(name in report.split("\n")[2] for name in ("balanced accuracy by stratum", *STRATA))
    assert mixed in each or f"balanced accuracy {mixed}" not in report
    assert "## Strata" in summary
    assert "\n| Balanced accuracy |" not in summary
    assert all(words in report for words in ("effective n", "whole pairs right"))
    code, said = chaosbench("publish-run", "--run", run)
    assert code == 0, said
    assert "by stratum" in (tmp_path / "published_results" / "runs" / "README.md").read_text()
    code, said = chaosbench("analyze-runs", "--runs-dir", "published_results/runs", "--out-dir", "out")
    assert code == 0, said
    assert all(f"| {name} |" in said.splitlines()[0] for name in STRATA)
    assert "by stratum" in said
    audit = (tmp_path / "out" / "RUNS_AUDIT.md").read_text()
    assert all(words in audit for words in (" by stratum", "whole pairs right", "by family and split"))
    assert "textbook_lo" in (tmp_path / "out" / "baselines_table.csv").read_text().splitlines()[0]
    summary_json = json.loads((tmp_path / "out" / "summary.json").read_text())
    assert [row["stratum"] for row in summary_json["runs"][0]["per_stratum"]] == list(STRATA)

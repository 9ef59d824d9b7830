"""The logic study: its numbers in metrics.json, by its own names and the protocol's, and the report that cites them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import perpend as pp
from perpend.measure.run import Run
from perpend.studies.logic import STUDY
from perpend.studies.logic.chaosbench.items import to_item
from perpend.studies.logic.design import PARSERS
from perpend.studies.logic.metrics import study_metrics
from perpend.types import Item
from tests.test_chaosbench_items import record


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

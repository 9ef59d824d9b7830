"""What a run with repeats states unasked: pass@k, pass^k, repeats that differ, variances, what more would buy."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

import perpend as pp
from perpend import stats
from perpend.ask.conditions import asch, control
from perpend.ask.runner import evaluate_task
from perpend.ask.task import Task
from perpend.measure.repeated import VARIANCES, ks_of, repeat_metrics
from perpend.measure.run import Run
from perpend.measure.study import numbers_of, read_metrics
from perpend.models.callable import Callable as CallableModel
from perpend.report.derive import derive
from perpend.report.repeated import TITLE
from perpend.spec.runspec import ModelSpec, RunSpec
from perpend.studies.logic.chaosbench.sets import to_item
from perpend.types import Request, Response, Sampling
from tests.test_chaosbench_items import record

NEW = {"pass_at_k", "pass_hat_k", "repeats_differ", "expected_se", *VARIANCES}
TASK = Task(name="t", conditions=(control(), asch(2)), scorers=("label@1", "label", "unfinished"))
SPEC = RunSpec("t", (ModelSpec("callable/m", "m"),), name="run", samplings=(Sampling(1.0),), repeats=3)


def subject(request: Request) -> Response:
    """Right alone; under pressure by the trial's seed; statement 4 is cut off once in a while."""
    asked = request.messages[-1].content
    number, seed = int(asked.partition("Statement ")[2].partition(":")[0]), (request.sampling.seed or 0) % 101
    if number == 4 and seed % 2:
        return Response(text="TR", finish="length")
    right = number % 5 != 0 and ("participants" not in asked or (seed + number) % 3 > 0)
    return Response(text="TRUE" if right == (number % 2 == 0) else "FALSE", finish="stop")


@pytest.fixture
def asked(tmp_path: Path, items_file: Callable[..., Path]) -> Callable[..., Run]:
    def make(**changes: object) -> Run:
        spec = replace(SPEC, items=(items_file(12),), **changes)  # type: ignore[arg-type]
        run = Run(evaluate_task(spec, TASK, [CallableModel("m", subject)], tmp_path, quiet=True).directory)
        run.score()
        derive([run], run.directory, figures=False)
        return run

    return make


def stated(directory: Path) -> set[str]:
    body = json.loads((directory / "metrics.json").read_text(encoding="utf-8"))
    return {metric["metric"] for metric in body["metrics"]}


def study_of(name: str, folder: Path) -> tuple[pp.Task, str, float]:
    """A task of each study, a model for it, and its temperature."""
    if name == "logic":
        path = folder / "items.jsonl"
        some = [to_item(record(n, ("atomic", "multi_hop")[n % 2]), "here") for n in range(20)]
        path.write_text("".join(json.dumps(item.as_json()) + "\n" for item in some), encoding="utf-8")
        return pp.task("logic", items=path), "mock/subject", 1.0
    return pp.task(name), "mock/subject" if name == "conformity" else "ngram/early", float(name == "conformity")


@pytest.mark.parametrize("name", ["conformity", "logic", "verbs"])
def test_every_study_states_them_and_an_audit_derives_them_again(name: str, tmp_path: Path) -> None:
    task, model, heat = study_of(name, tmp_path)
    run = pp.evaluate(task, model, repeats=2, temperature=heat, max_items=16, name="run", out=tmp_path, quiet=True)
    assert stated(run.directory) >= NEW
    page = (run.directory / "report.md").read_text(encoding="utf-8")
    assert page.count(f"\n## {TITLE}\n") == 1
    section = page.partition(f"\n## {TITLE}\n")[2].partition("\n## ")[0]
    for words in (
        "| pass@k | pass^k |",
        "| repeats differ |",
        "| variance |",
        "| twice the items | twice the repeats |",
    ):
        assert words in section
    assert "None" not in section
    assert pp.audit(run.directory).ok


def test_what_is_stated_is_what_the_statistics_say_of_the_scores(asked: Callable[..., Run]) -> None:
    run = asked()
    numbers = numbers_of(read_metrics(run.directory), [run.manifest])
    column = run["label"].where(condition="asch_history_2")
    rows = column.defined
    items = run.table.codes["item"][rows]
    whole = items != run.table.names["item"].index("item-4")
    one = numbers.cite("pass_at_k", "label@2", condition="asch_history_2", k="3")
    ours = stats.pass_at_k(column.all_values[rows][whole], items[whole], 3)
    # Statement 4 was cut off, so it has fewer than three scored answers: it is left out, and counted.
    assert (one.value, one.lo, one.n, one.also["short"]) == (ours.value, ours.lo, 11, 1)
    hat = numbers.cite("pass_hat_k", "label@2", condition="asch_history_2", k="3")
    assert hat.value == stats.pass_hat_k(column.all_values[rows][whole], items[whole], 3).value
    parts = stats.variance_components(*_columns(run))
    for metric, name in VARIANCES.items():
        one = numbers.cite(metric, "label@2")
        assert (one.value, one.lo, one.hi) == tuple(getattr(getattr(parts, name), key) for key in ("value", "lo", "hi"))
    shares = [numbers.cite(metric, "label@2").also["share"] for metric in VARIANCES]
    assert sum(shares) == pytest.approx(1.0)
    differ = numbers.cite("repeats_differ", "label@2", condition="control")
    assert differ.value == 0.0
    errors = [
        numbers.cite("expected_se", "label@2", condition="control → asch_history_2", design=design).value
        for design in ("as it is", "twice the items", "twice the repeats")
    ]
    assert errors[1] == pytest.approx(errors[0] / 2**0.5)
    assert errors[1] <= errors[2] <= errors[0]
    assert not numbers.find("pass_at_k", "label@1"), "of a score, the latest version"


def _columns(run: Run) -> tuple[object, ...]:
    rows = run["label"].defined
    return run["label"].all_values[rows], run.table.codes["item"][rows], run.table.codes["condition"][rows]


def test_the_table_has_every_number_of_every_score(asked: Callable[..., Run]) -> None:
    run = asked()
    with (run.directory / "tables" / "repeats.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert {row["score"] for row in rows} == {"label@2", "unfinished@1"}
    assert {row["number"] for row in rows} == NEW
    assert len(rows) == len(list(repeat_metrics(run.table)))


def test_without_repeats_nothing_is_new(asked: Callable[..., Run]) -> None:
    run = asked(repeats=1, samplings=(Sampling(0.0), Sampling(1.0)))
    assert not stated(run.directory) & NEW
    assert TITLE not in (run.directory / "report.md").read_text(encoding="utf-8")
    assert not (run.directory / "tables" / "repeats.csv").exists()
    assert pp.audit(run.directory).ok


def test_the_answer_says_what_more_would_buy_and_that_equal_repeats_buy_nothing(asked: Callable[..., Run]) -> None:
    report = pp.Run(asked().directory).report()
    spoken = next(line for line in report.answer if "pass@3" in line)
    assert spoken.startswith("control: label in at least one of 3 answers for ")
    assert "with twice the items" in spoken
    assert spoken.endswith("and more repeats buy nothing: all answers to an item score the same.")


def test_a_sweep_keeps_the_repeats_of_each_run_apart(asked: Callable[..., Run], tmp_path: Path) -> None:
    first, second = asked(name="a"), asked(name="b")
    derive([first, second], tmp_path / "both", figures=False)
    numbers = numbers_of(read_metrics(tmp_path / "both"), [first.manifest, second.manifest])
    ks = {(metric.where["run"], metric.where["k"]) for metric in numbers.find("pass_at_k")}
    assert ks == {(run, k) for run in ("a", "b") for k in ("1", "2", "3")}
    page = (tmp_path / "both" / "report.md").read_text(encoding="utf-8")
    assert "| run | condition | k |" in page


def test_of_an_import_without_right_answers_the_score_is_what_it_brought_along(tmp_path: Path) -> None:
    rows = [
        {"id": str(n), "q": f"task {n}", "a": "a transcript", "reward": float((n + r) % 3 == 0), "trial": r}
        for n in range(12)
        for r in range(4)
    ]
    (tmp_path / "rewards.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    fields = "id=id,prompt=q,text=a,score.reward=reward,repeat=trial"
    run = pp.Run(pp.convert(tmp_path / "rewards.jsonl", tmp_path / "run", fields=fields))
    pp.score(run)
    page = (run.directory / "report.md").read_text(encoding="utf-8")
    assert r"The score here is **stored\_reward\@import**" in page
    assert pp.plan(run).score == "stored_reward@import"
    flat = numbers_of(read_metrics(run.directory), [run.manifest]).cite("expected_se", "refused@2", design="as it is")
    assert (flat.value, flat.note) == (None, "nothing varies, so the error is unknown")


def test_the_ks_are_powers_of_two_and_the_number_of_repeats() -> None:
    assert [ks_of(repeats) for repeats in (1, 2, 3, 5, 8, 10)] == [
        [1],
        [1, 2],
        [1, 2, 3],
        [1, 2, 4, 5],
        [1, 2, 4, 8],
        [1, 2, 4, 8, 10],
    ]

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from perpend.ask.conditions import asch, control
from perpend.ask.runner import evaluate_task
from perpend.ask.task import Task
from perpend.errors import SpecError, StoreError
from perpend.measure.run import Run, table_of
from perpend.measure.table import Table
from perpend.models import mock
from perpend.models.callable import Callable as CallableModel
from perpend.report.derive import derive
from perpend.spec.runspec import ModelSpec, RunSpec
from perpend.types import Request, Response, Sampling

TASK = Task(name="t", conditions=(control(), asch(2)), scorers=("label@2", "unfinished"))
SPEC = RunSpec("t", (ModelSpec("callable/m", "m"),), name="run", samplings=(Sampling(0.0), Sampling(1.0)), repeats=2)


def swayed(request: Request) -> Response:
    """Right under control; under pressure it says what it hears for every third statement, and once fails."""
    asked = request.messages[-1].content
    number = int(asked.split(":")[0].removeprefix("Statement "))
    right = "TRUE" if number % 2 == 0 else "FALSE"
    if "participants" in asked and number % 3 == 0:
        return Response(text="FALSE" if right == "TRUE" else "TRUE", finish="stop")
    if number == 7:
        return Response(text="TR", finish="length")
    return Response(text=right, finish="stop")


@pytest.fixture
def run(tmp_path: Path, items_file: Callable[..., Path]) -> Run:
    spec = replace(SPEC, items=(items_file(12),))
    outcome = evaluate_task(spec, TASK, [CallableModel("m", swayed)], tmp_path, quiet=True)
    run = Run(outcome.directory)
    run.score()
    return run


def test_a_rate_counts_what_has_a_value_and_says_what_has_none(run: Run) -> None:
    control_rate = run["label"].where(condition="control").rate()
    assert (control_rate.value, control_rate.n) == (1.0, 11 * 4)
    assert control_rate.also["unscored"] == 4
    assert control_rate.also["n_clusters"] == 11
    pressured = run["label"].where(condition="asch_history_2", temperature=0.0).rate()
    assert pressured.value == pytest.approx(7 / 11)


def test_repeats_at_temperature_0_that_all_agree_are_told(run: Run) -> None:
    def repeats(**where: str | float) -> list[tuple[str, float | None]]:
        cautions = run["label"].where(condition="control", **where).rate().cautions
        return [(one.id, one.number) for one in cautions if one.id == "STAT015"]

    assert repeats(temperature=0.0) == [("STAT015", 11)]
    assert repeats() == [("STAT015", 11)], "those at temperature 1 are no copies"
    assert repeats(temperature=1.0) == []
    assert repeats(temperature=0.0, repeat="0") == [], "asked once"


def test_slices_by_tag_add_up(run: Run) -> None:
    parts = run["label"].by("topic")
    assert list(parts) == ["parity", "numbers"]
    assert sum(part.rate().n for part in parts.values()) == run["label"].rate().n


def test_pairs_match_by_everything_else_and_leave_out_the_incomplete(run: Run) -> None:
    pair = run["label"].pair("control", "asch_history_2")
    assert (len(pair.rows), pair.incomplete) == (44, 4)
    table = run.table
    for key in ("item", "model", "sampling", "repeat"):
        assert np.array_equal(table.codes[key][pair.rows], table.codes[key][pair.partners])
    found = pair.difference()
    assert found.value == pytest.approx(-4 / 11)
    assert found.also["b"] == 16
    assert pair.override().value == pytest.approx(4 / 11)
    assert pair.rescue().value is None
    assert pair.rescue().note


def test_a_pair_turned_round_has_the_other_sign(run: Run) -> None:
    there = run["label"].pair("control", "asch_history_2").difference()
    back = run["label"].pair("asch_history_2", "control").difference()
    assert there.value == -back.value  # type: ignore[operator]  # both are defined here
    assert there.also["p"] == back.also["p"]


def test_two_temperatures_are_a_pair_too(run: Run) -> None:
    assert run["label"].pair("0", "1", key="temperature").difference().value == 0.0


def test_pairs_can_be_sliced(run: Run) -> None:
    parts = run["label"].pair("control", "asch_history_2").by("topic")
    assert sum(len(part.rows) for part in parts.values()) == 44


def test_disagreement_is_a_share_with_its_denominator(run: Run) -> None:
    other = run["label"].with_values(1 - run["label"].all_values)
    assert run["label"].disagreement(other).value == 1.0
    assert run["label"].disagreement(run["label"]).value == 0.0


def test_nothing_to_measure_is_undefined_with_a_reason_and_never_zero(run: Run) -> None:
    empty = run["label"].with_values(np.full(len(run.table), np.nan))
    for estimate in (
        empty.rate(),
        empty.mean(),
        empty.pair("control", "asch_history_2").difference(),
        empty.disagreement(run["label"]),
    ):
        assert estimate.value is None
        assert estimate.n == 0
        assert estimate.note


def test_with_rescore_a_stored_score_is_not_looked_at(run: Run) -> None:
    with sqlite3.connect(run.directory / "run.db") as db:
        assert db.execute("UPDATE score SET value = 1 - value, reason = 'forged'").rowcount > 0
    db.close()

    def reasons(table: Table) -> set[str]:
        return {score.reason for _, _, scores in table.judgements(["label@2"]) for score in scores.values()}

    assert reasons(table_of([run])) == {"forged"}
    assert "forged" not in reasons(table_of([run], rescore=True))
    assert table_of([run], rescore=True)["label@2"].where(condition="control").rate().value == 1.0


def test_tags_are_keys_in_the_order_of_their_names(tmp_path: Path, items_file: Callable[..., Path]) -> None:
    """In the order of a set they would differ from one process to the next, and files made of them too."""
    tags = dict.fromkeys(("delta", "alpha", "golf", "echo", "bravo", "foxtrot", "charlie"), "x")
    spec = replace(SPEC, items=(items_file(2, tags=tags),))
    made = evaluate_task(spec, TASK, [CallableModel("m", swayed)], tmp_path, quiet=True).directory
    names = [name for name in Run(made).table.names if name in tags]
    assert names == sorted(tags)


def test_unknown_names_are_errors_with_the_near_ones(run: Run) -> None:
    with pytest.raises(SpecError, match="did you mean 'label@2'"):
        run["lable"]
    with pytest.raises(SpecError, match="did you mean 'control'"):
        run["label"].where(condition="contrl")
    with pytest.raises(SpecError, match="did you mean 'topic'"):
        run["label"].by("topc")


def test_metrics_and_report_are_written_with_everything_in_them(run: Run) -> None:
    page = derive([run], run.directory).report.page()
    body = json.loads((run.directory / "metrics.json").read_text())
    rates = [m for m in body["metrics"] if m["metric"] == "rate" and m["scorer"] == "label@2"]
    assert len(rates) == 4
    assert all(len(m["columns_sha256"]) == 64 and m["n"] == 22 for m in rates)
    assert "96 trials planned, 96 answered, 0 without an answer" in page
    assert (run.directory / "report.md").read_text() == page
    assert derive([run], run.directory).report.page() == page


def test_a_slice_of_pairs_counts_its_own_incomplete_pairs(run: Run) -> None:
    pair = run["label"].pair("control", "asch_history_2")
    parts = pair.by("topic")
    assert sum(part.incomplete for part in parts.values()) == pair.incomplete == 4
    assert sorted(part.incomplete for part in parts.values()) == [0, 4]


def test_a_report_cites_only_what_metrics_json_holds(run: Run) -> None:
    numbers = derive([run], run.directory).numbers
    where = {"model": "m", "temperature": "0", "condition": "control"}
    assert numbers.cite("rate", "label@2", **where).n == 22
    with pytest.raises(SpecError, match="metrics.json has no 'rat' .* did you mean 'rate'"):
        numbers.cite("rat")
    with pytest.raises(SpecError, match="is 4 numbers"):
        numbers.cite("rate", "label@2")
    assert numbers.get("rate", "label@9") is None


def test_the_digest_of_a_column_moves_with_any_value(run: Run) -> None:
    column = run["label"]
    changed = column.all_values.copy()
    changed[5] = 1 - changed[5]
    assert column.with_values(changed).digest() != column.digest()
    assert column.where(condition="control").digest() != column.digest()


def test_a_folder_that_is_no_run_is_said_so(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="not a run"):
        Run(tmp_path)


def test_two_models_pair_by_item(tmp_path: Path, items_file: Callable[..., Path]) -> None:
    spec = replace(
        SPEC, items=(items_file(10),), models=(ModelSpec("mock/true", "t"), ModelSpec("mock/false", "f")), repeats=1
    )
    outcome = evaluate_task(spec, TASK, [mock.model("true"), mock.model("false")], tmp_path, quiet=True)
    made = Run(outcome.directory)
    made.score()
    found = made["label"].where(condition="control").pair("t", "f", key="model").difference()
    assert (found.value, found.n) == (0.0, 20)
    assert (found.also["b"], found.also["c"]) == (10, 10)

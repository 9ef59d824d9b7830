"""Trials without a verdict: apart from items that cannot be judged, bounded, and compared between conditions."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import perpend as pp
from perpend.measure.missing import NO_ANSWER, NO_ANSWER_DIFFERENCE, no_answer_metrics
from perpend.measure.run import Run, table_of
from perpend.measure.study import Metric
from perpend.models.callable import Callable
from perpend.types import Request

FACTS, OPINIONS = 24, 6


def say(request: Request) -> pp.Response:
    """Right, wrong in every fourth fact, cut off in two of three where pressure is put on it; one call fails."""
    text = request.messages[-1].content
    number = int("".join(letter for letter in text.rpartition("What is ")[2] if letter.isdigit()) or 0)
    if "everybody" in text and number % 3:
        return pp.Response(text="I think that it", finish="length")
    if number == 3:
        return pp.Response(error="the server is gone")
    return pp.Response(text=f"The answer is x{number if number % 4 else number + 1}.", finish="stop")


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    folder = tmp_path_factory.mktemp("missing")
    items = [{"id": f"f{n}", "prompt": f"What is {n}?", "target": f"x{n}"} for n in range(FACTS)]
    items += [{"id": f"o{n}", "prompt": f"Which is nicer, {n}?"} for n in range(OPINIONS)]
    (folder / "items.jsonl").write_text("".join(json.dumps(item) + "\n" for item in items))
    conditions = (pp.condition("control", "{question}"), pp.condition("pressed", "Like everybody: {question}"))
    task = pp.Task("missing", conditions, ("correct@2",), items=(folder / "items.jsonl",))
    return pp.evaluate(task, [Callable("say", say)], name="missing", out=folder, quiet=True)


def of(run: Run, name: str) -> dict[str, Metric]:
    return {metric.where["condition"]: metric for metric in no_answer_metrics(run.table) if metric.name == name}


def test_the_share_is_over_items_that_can_be_judged_and_bounds_the_rate(run: Run) -> None:
    control = of(run, NO_ANSWER)["control"].estimate
    assert (control.n, control.also["k"]) == (FACTS, 1), (
        "opinions cannot be right; only the failed call lacks a verdict"
    )
    right = run["correct"].where(condition="control").rate()
    ones = right.n * (right.value or 0.0)
    assert control.also["least"] == pytest.approx(ones / FACTS)
    assert control.also["most"] == pytest.approx((ones + 1) / FACTS)
    assert right.value is not None
    assert float(control.also["least"] or 0) < right.value < float(control.also["most"] or 0)


def test_a_share_above_5_percent_carries_its_caution(run: Run) -> None:
    shares = of(run, NO_ANSWER)
    assert [caution.id for caution in shares["pressed"].estimate.cautions if caution.id == "STAT009"]
    assert "STAT009" not in {caution.id for caution in shares["control"].estimate.cautions}


def test_a_difference_in_the_share_is_tested(run: Run) -> None:
    difference = of(run, NO_ANSWER_DIFFERENCE)["control → pressed"].estimate
    lacking = sum(number % 3 != 0 or number == 3 for number in range(FACTS))
    assert difference.value == pytest.approx((lacking - 1) / FACTS)
    assert float(difference.also["p_adjusted"] or 1.0) < 0.001


def test_judging_again_knows_the_same_items_as_the_stored_scores(run: Run) -> None:
    again = table_of([run], rescore=True)
    assert [metric.as_json() for metric in no_answer_metrics(again)] == [
        metric.as_json() for metric in no_answer_metrics(run.table)
    ]


def test_the_report_says_it_beside_the_rates_and_a_complete_run_says_nothing(run: Run, tmp_path: Path) -> None:
    page = (run.directory / "report.md").read_text()
    assert "## Without an answer" in page
    assert "the rates rest on other trials" in page
    (tmp_path / "items.jsonl").write_text('{"id": "a", "prompt": "What is 5?", "target": "x5"}\n')
    task = pp.Task("whole", (pp.condition("control", "{question}"),), ("correct@2",), items=(tmp_path / "items.jsonl",))
    whole = pp.evaluate(task, [Callable("say", say)], name="whole", out=tmp_path, quiet=True)
    assert not [*no_answer_metrics(whole.table)]
    assert "Without an answer" not in (whole.directory / "report.md").read_text()

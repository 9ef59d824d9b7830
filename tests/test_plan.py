"""plan: how many items, repeats and requests a study needs, from a pilot run."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

import perpend as pp
from perpend import stats
from perpend.ask.conditions import asch, control
from perpend.ask.runner import evaluate_task
from perpend.ask.task import Task
from perpend.cli import cli
from perpend.errors import DataError, SpecError
from perpend.measure.pilot import RunPlan, prices_of
from perpend.measure.run import Run
from perpend.models.callable import Callable as CallableModel
from perpend.report.plan_text import plan_text
from perpend.spec.runspec import ModelSpec, RunSpec
from perpend.types import Request, Response, Sampling, Usage

TASK = Task(name="t", conditions=(control(), asch(2)), scorers=("label", "unfinished"))
SPEC = RunSpec("t", (ModelSpec("callable/m", "m"),), name="pilot", samplings=(Sampling(1.0),), repeats=3)
SHIFT = 0.9


def chances(skill: float) -> tuple[float, float]:
    """How likely an item of this skill is answered right, alone and under pressure."""
    return 1 / (1 + math.exp(-1 - 1.5 * skill)), 1 / (1 + math.exp(-1 - 1.5 * skill + SHIFT))


def subject(request: Request) -> Response:
    """Right with a chance that belongs to the statement, lower under pressure; its coin is the trial's seed."""
    asked = request.messages[-1].content
    number = int(asked.partition("Statement ")[2].partition(":")[0])
    skill = float(np.random.default_rng(number).standard_normal())
    coin = np.random.default_rng([number, request.sampling.seed or 0]).random()
    right = coin < chances(skill)["participants" in asked]
    text = "TRUE" if right == (number % 2 == 0) else "FALSE"
    return Response(text=text, finish="stop", usage=Usage(100, 10))


def firm(request: Request) -> Response:
    return replace(subject(request), text=["TRUE", "FALSE"][int(request.messages[-1].content.split()[1][:-1]) % 2])


@pytest.fixture
def pilot(tmp_path: Path, items_file: Callable[..., Path]) -> Callable[..., Run]:
    def make(items: int = 30, task: Task = TASK, models: dict[str, object] | None = None, **changes: object) -> Run:
        given = models or {"m": subject}
        specs = tuple(ModelSpec(f"callable/{name}", name) for name in given)
        spec = replace(SPEC, items=(items_file(items),), models=specs, **changes)  # type: ignore[arg-type]
        asked = [CallableModel(name, function) for name, function in given.items()]  # type: ignore[arg-type]
        run = Run(evaluate_task(spec, task, asked, tmp_path, quiet=True).directory)
        run.score()
        return run

    return make


def printed(*arguments: object) -> str:
    outcome = CliRunner().invoke(cli, ["plan", *map(str, arguments)], catch_exceptions=True)
    assert outcome.exception is None or isinstance(outcome.exception, SystemExit), outcome.exception
    return outcome.output


def test_with_the_items_that_it_says_the_power_is_about_what_was_asked(pilot: Callable[..., Run]) -> None:
    rng = np.random.default_rng(0)
    skills = rng.standard_normal(100_000)
    true = np.array([chances(skill) for skill in skills])
    difference = float(np.mean(true[:, 0] - true[:, 1]))
    plan = pp.plan(pilot(150), detect=difference, power=0.8, repeats=2)
    assert plan.items is not None
    assert plan.first.where["condition"] == "control → asch_history_2"
    shown, studies = 0, 150
    for _ in range(studies):
        own = true[rng.integers(0, len(true), plan.items)]
        first, second = (np.repeat(side, 2) > rng.random(2 * plan.items) for side in own.T)
        p = stats.paired_test(first, second, np.repeat(np.arange(plan.items), 2)).value
        shown += p is not None and p <= 0.05
    assert 0.70 <= shown / studies <= 0.90


def test_it_says_items_repeats_requests_cost_and_what_more_would_buy(pilot: Callable[..., Run]) -> None:
    run = pilot()
    text = printed(run.directory, "--detect", "0.1", "--power", "0.8")
    plan = pp.plan(run.directory, detect=0.1, power=0.8)
    assert text == plan_text(plan)
    assert "Plan for label@2 by the pilot pilot: 30 items with a value, 2 conditions, 1 model, 3 repeats." in text
    assert "difference of 10 points (power 80%, two-sided level 5%, paired by item)" in text
    assert plan.requests == plan.items * 2 * 3
    assert f"{plan.items:,} items × 2 conditions × 3 repeats, {plan.requests:,} requests" in " ".join(text.split())
    assert "cost unknown (no price for m; give --price)" in " ".join(text.split())
    assert f"it may take {plan.first.needed.lo:,} to {plan.first.needed.hi:,} items" in text
    for design in ("as the pilot", "twice the items", "twice the repeats", "twice both", "as planned"):
        assert f"\n{design} " in text
    now, more_items = plan.bought[0], plan.bought[1]
    assert more_items.se.value == pytest.approx(now.se.value / math.sqrt(2))
    assert now.requests == 30 * 2 * 3
    assert plan.bought[-1].detects.value == pytest.approx(0.1, rel=0.02)
    assert "Caution: a pilot of 30 items" in text
    assert all(len(line) <= 100 for line in text.splitlines())


def test_the_standard_error_is_the_one_that_the_run_itself_has(pilot: Callable[..., Run]) -> None:
    run = pilot(40)
    plan = pp.plan(run)
    column = run["label"]
    first, second, items = column.pair("control", "asch_history_2").values()
    assert plan.bought[0].se.value == pytest.approx(stats.mean(second - first, items).also["se"], rel=1e-6)


def test_tokens_and_a_price_give_the_cost(pilot: Callable[..., Run]) -> None:
    run = pilot()
    plan = pp.plan(run, detect=0.1, prices={"": (1.0, 10.0)})
    assert plan.usd == pytest.approx(plan.requests * (100 * 1.0 + 10 * 10.0) / 1e6)
    text = " ".join(printed(run.directory, "--detect", 0.1, "--price", "m=1,10").split())
    assert f"about {plan.usd:.2f} USD, at what the pilot spent per request" in text
    assert prices_of(["1,2", "small=0.15,0.6"]) == {"": (1.0, 2.0), "small": (0.15, 0.6)}
    for wrong in ("1", "1,x", "-1,2", "1,2,3", "nan,1", "a="):
        with pytest.raises(SpecError, match="write two numbers"):
            prices_of([wrong])
    with pytest.raises(SpecError, match="known: m"):
        pp.plan(run, prices={"zzz": (1.0, 1.0)})


def test_one_condition_plans_against_another_model_and_says_that_it_is_an_upper_bound(
    pilot: Callable[..., Run],
) -> None:
    run = pilot(task=replace(TASK, conditions=(control(),)))
    plan = pp.plan(run, detect=0.1)
    assert plan.first.kind == "another model"
    assert plan.requests == plan.items * 3 * 2  # both models
    text = plan_text(plan)
    assert "another model, control" in text
    assert "at most" in text
    assert "another is taken to share nothing with it" in text


def test_two_models_are_compared_with_each_other(pilot: Callable[..., Run]) -> None:
    plan = pp.plan(pilot(models={"m": subject, "firm": firm}), detect=0.1)
    kinds = {aim.kind for aim in plan.aims}
    assert kinds == {"conditions", "models", "mean"}
    assert [aim.where["model"] for aim in plan.aims if aim.kind == "models"] == ["m → firm"]
    only = pp.plan(pilot(models={"m": subject, "firm": firm}), detect=0.1, where={"model": "m"})
    assert only.pilot["models"] == 1
    assert only.requests == only.items * 2 * 3


def test_a_pilot_without_repeats_plans_for_one_and_says_what_it_cannot_know(pilot: Callable[..., Run]) -> None:
    run = pilot(repeats=1)
    plan = pp.plan(run, detect=0.1)
    assert plan.repeats == 1
    assert plan.items is not None
    assert all(aim.needed.value is not None for aim in plan.aims)
    text = plan_text(plan)
    assert "what repeats would buy is unknown" in text
    assert "None" not in text
    lacking = plan_text(pp.plan(run, detect=0.1, repeats=3))
    assert "No plan: what repeats buy is unknown" in lacking


def test_given_items_give_repeats_or_how_many_items_it_takes(pilot: Callable[..., Run]) -> None:
    run = pilot(60)
    plan = pp.plan(run, detect=0.1)
    again = pp.plan(run, detect=0.1, items=plan.items)
    assert again.repeats == plan.repeats
    few = pp.plan(run, detect=0.02, items=10)
    assert few.items is None
    text = " ".join(plan_text(few).split())
    assert "No plan: for control → asch_history_2: no number of repeats is enough with 10 items" in text
    assert "none; needs" in text
    both = CliRunner().invoke(cli, ["plan", str(run.directory), "--items", "5", "--repeats", "2"])
    assert both.exit_code == 2
    assert "either --items or --repeats" in both.output


def test_a_score_is_chosen_by_name(pilot: Callable[..., Run]) -> None:
    run = pilot()
    assert pp.plan(run).score == "label@2"
    assert pp.plan(run, score="label@2").score == "label@2"
    flat = pp.plan(run, score="unfinished")
    assert flat.items is None
    assert plan_text(flat).splitlines()[-1] == "No plan: the pilot shows no spread, so what a study needs is unknown."
    with pytest.raises(DataError, match="detect: is 0"):
        pp.plan(run, detect=0.0)


def test_json_has_every_number(pilot: Callable[..., Run]) -> None:
    run = pilot()
    body = json.loads(printed(run.directory, "--detect", "0.1", "--json"))
    plan = pp.plan(run, detect=0.1)
    assert body == json.loads(json.dumps(plan.as_json()))
    assert (body["items"], body["repeats"], body["requests"]) == (plan.items, plan.repeats, plan.requests)
    assert {aim["kind"] for aim in body["aims"]} == {"conditions", "another model", "mean"}
    assert repr(plan) == f"RunPlan(pilot, label@2: {plan.items} items × 3 repeats, {plan.requests} requests)"


def test_few_items_leave_the_plan_undefined_and_not_a_crash(pilot: Callable[..., Run]) -> None:
    for items, repeats in ((1, 2), (2, 1), (3, 2)):
        plan = pp.plan(pilot(items, repeats=repeats, name=f"p{items}{repeats}"), detect=0.1)
        assert isinstance(plan, RunPlan)
        assert "None" not in plan_text(plan)
        json.dumps(plan.as_json())


def test_a_pilot_that_has_enough_items_hears_it(pilot: Callable[..., Run]) -> None:
    run = pilot(40)
    assert "The items of the pilot are enough." in plan_text(pp.plan(run, detect=0.4))
    assert "are enough." not in plan_text(pp.plan(run, detect=0.05))

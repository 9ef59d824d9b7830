"""Runs with a stopping rule: what was due, their looks recomputed from the scores, and the numbers valid at a look."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

import numpy as np

from perpend.ask.looking import LookPlan, ScoredItems, look_plan, place_name, scored_items
from perpend.ledger.manifest import Manifest
from perpend.ledger.stopping import StopLook, item_count, read_looks, stopped_after
from perpend.ledger.store import Store
from perpend.measure.run import Run
from perpend.measure.study import Metric
from perpend.spec.stopping import Place
from perpend.types import Caution, Estimate

LOOKS, RATE, DIFFERENCE = "looks", "sequential_rate", "sequential_difference"


def plan_of(manifest: Manifest, store: Store) -> LookPlan | None:
    """The plan of a run's looks; None where it has no stopping rule."""
    if manifest.stop is None:
        return None
    conditions = [one.name for one in manifest.conditions]
    return look_plan(manifest.stop, manifest.scorers, conditions, item_count(store))


def block_of(run: Run, plan: LookPlan, score: str, items: int) -> ScoredItems:
    """The scores of the first items."""
    shape, table = (len(plan.conditions), run.manifest.repeats), run.table
    values = table.column(score).all_values[: items * shape[0] * shape[1]]
    unfit = () if table.read_unfit is None else table.read_unfit(table.full_name(score)).tolist()
    return scored_items(values, shape, unfit)


def look_again(run: Run, plan: LookPlan, number: int) -> StopLook:
    """What a look shows by the stored scores."""
    items = plan.points[number - 1]
    return plan.look(number, {score: block_of(run, plan, score, items) for score in plan.rule.scores})


def stop_metrics(run: Run) -> Iterator[Metric]:
    """Of a run with a stopping rule, at its last look; nothing of another run, or before scores are stored.

    `looks`: items looked at / items planned. For each score of the rule: `sequential_rate`, the mean over the items of
    that look under a condition, and `sequential_difference` from the first condition, each with the interval that is
    valid although the run could stop at any look; what the rule looks at comes first. None before the first look.
    """
    if run.manifest.stop is None:
        return
    with run.open() as store:
        looks, plan = read_looks(store), plan_of(run.manifest, store)
    if plan is None or not all(run.table.has(score) for score in plan.rule.scores):
        return
    yield Metric(LOOKS, "", {"model": run.manifest.models[0].label}, _progress(looks, plan))
    if not looks:
        return
    last = looks[-1]
    first, *others = plan.conditions
    pairs: list[Place] = [(one, first) for one in others]
    named = [place for _, place in plan.rule.targets(plan.conditions)]
    places: dict[Place, None] = dict.fromkeys([*named, *((one, None) for one in plan.conditions), *pairs])
    where = {"model": run.manifest.models[0].label, "temperature": run.table.names["temperature"][0]}
    for score in plan.rule.scores:
        block = block_of(run, plan, score, last.items)
        rows = np.zeros(len(run.table), dtype=np.bool_)
        rows[: block.values.size] = True
        digest = run.table.digest([score], rows)
        for place in places:
            estimate = plan.estimate(last.look, place, block)
            name = RATE if place[1] is None else DIFFERENCE
            yield Metric(name, score, {**where, "condition": place_name(place)}, estimate, digest)


def _progress(looks: Sequence[StopLook], plan: LookPlan) -> Estimate:
    items = looks[-1].items if looks else 0
    is_early = (stopped_after(list(looks)) or plan.items) < plan.items
    also = {"k": items, "look": len(looks), "looks": len(plan.points), "holds": bool(looks and looks[-1].stop)}
    method = "items looked at / items planned"
    value = items / plan.items if plan.items else None
    return Estimate(value, plan.items, method=method, also={**also, "stopped": is_early})


def cautioned(runs: Sequence[Run], metrics: Iterable[Metric]) -> Iterator[Metric]:
    """The metrics of runs; where one has a stopping rule, those with an interval for a fixed n carry STAT040."""
    stop = next((run.manifest.stop for run in runs if run.manifest.stop is not None), None)
    for metric in metrics:
        if stop is None or metric.estimate.lo is None:
            yield metric
        else:
            cautions = (*metric.estimate.cautions, could_stop())
            yield replace(metric, estimate=replace(metric.estimate, cautions=cautions))


def could_stop() -> Caution:
    """STAT040."""
    text = (
        "the run could stop at a look, and this interval is for a fixed number of items: it covers less than it says; "
        f"cite {RATE} or {DIFFERENCE}"
    )
    return Caution("STAT040", text, None)

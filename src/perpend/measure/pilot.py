"""What a study needs, from a pilot run: items, repeats, requests and cost, for a difference to be detected.

plan_of(run, PlanRequest(detect=0.05, power=0.8))
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from perpend.ask.spending import cost
from perpend.canon import JSON
from perpend.errors import SpecError, did_you_mean
from perpend.inert import one_line
from perpend.ledger.spent import spent_before
from perpend.measure.column import Column
from perpend.measure.grid import PlanGrid
from perpend.measure.keys import BoolArray
from perpend.measure.repeated import ARROW, both, latest, main_score, parts_of, planned_repeats
from perpend.measure.run import Run
from perpend.measure.table import IMPORTED
from perpend.spec.runspec import ModelSpec
from perpend.stats.components import Components, expected_se
from perpend.stats.sample_size import detectable, needed
from perpend.types import Estimate, Spent

NOW, PLANNED, ASKED_ONCE = "as the pilot", "as planned", "planned with 1 repeat"
DESIGNS = {NOW: (1, 1), "twice the items": (2, 1), "twice the repeats": (1, 2), "twice both": (2, 2)}
RATE, CONDITIONS, MODELS, ANOTHER = "mean", "conditions", "models", "another model"
PARTS = ("item", "condition", "item_condition", "sampling")


@dataclass(frozen=True, slots=True)
class PlanRequest:
    """What is to be planned. `score` None: the first that the run declares; `repeats` None: those of the pilot.

    With `items` the repeats are asked for. `prices` are US dollars for a million tokens in and out, by model label; ''
    is every model. `where` keeps to a part of the pilot.
    """

    detect: float = 0.05
    power: float = 0.8
    alpha: float = 0.05
    score: str | None = None
    repeats: int | None = None
    items: int | None = None
    prices: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    where: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Aim:
    """A number that is to be known: a mean score, or a paired difference; what it needs, and where its variance is.

    `kind` is 'mean', 'conditions', 'models' or 'another model'. `needed` counts items, or repeats where the items are
    given.
    """

    kind: str
    where: Mapping[str, str]
    needed: Estimate
    parts: Components = field(repr=False)

    @property
    def is_paired(self) -> bool:
        """Whether it is a difference."""
        return self.kind != RATE

    def shares(self) -> dict[str, float]:
        """Each variance as a part of their sum; nothing where one that the design has is unknown, or nothing varies."""
        values = {name: getattr(self.parts, name).value for name in PARTS}
        known = {name: value for name, value in values.items() if value is not None}
        total = sum(known.values())
        is_whole = len(known) == (len(PARTS) if self.parts.n_conditions > 1 else 2) and total > 0.0
        return {name: value / total for name, value in known.items()} if is_whole else {}

    def as_json(self) -> dict[str, JSON]:
        """Its record in the JSON of a plan."""
        variances: dict[str, JSON] = {name: getattr(self.parts, name).as_json() for name in PARTS}
        return {"kind": self.kind, "where": dict(self.where), "needed": self.needed.as_json(), "variances": variances}


@dataclass(frozen=True, slots=True)
class Bought:
    """A design and what it would show of the plan's first aim: its standard error and the smallest difference."""

    name: str
    items: int
    repeats: int
    requests: int
    usd: float | None
    se: Estimate
    detects: Estimate

    def as_json(self) -> dict[str, JSON]:
        """Its record in the JSON of a plan."""
        return {
            "design": self.name,
            "items": self.items,
            "repeats": self.repeats,
            "requests": self.requests,
            "usd": self.usd,
            "standard_error": self.se.as_json(),
            "detects": self.detects.as_json(),
        }


@dataclass(frozen=True, slots=True)
class RunPlan:
    """What a study needs by a pilot. `aims` are the differences, the most demanding first, then the means.

    `bought` are designs for the first aim, none where nothing varies. `requests` and `usd` are those of a whole study
    like the pilot, with its conditions and models (two where another model is the aim), at what the first aim needs;
    None where that, or a price, is unknown.
    """

    run: str
    score: str
    is_share: bool
    request: PlanRequest
    pilot: Mapping[str, int]
    aims: tuple[Aim, ...]
    bought: tuple[Bought, ...]
    requests: int | None
    usd: float | None
    usd_note: str

    def __repr__(self) -> str:
        need = f"{self.items} items × {self.repeats} repeats, {self.requests} requests"
        return one_line(f"RunPlan({self.run}, {self.score}: {need if self.items else self.first.needed})")

    @property
    def first(self) -> Aim:
        """What the study is planned for: the most demanding difference, or the mean where there is none."""
        return self.aims[0]

    @property
    def models(self) -> int:
        """How many models the study asks."""
        return 2 if self.first.kind == ANOTHER else self.pilot["models"]

    @property
    def items(self) -> int | None:
        """How many items; None where the pilot cannot say."""
        return _whole(self.first.needed.also.get("items")) if self.first.needed.value is not None else None

    @property
    def repeats(self) -> int | None:
        """How many repeats of each; None where the pilot cannot say."""
        return _whole(self.first.needed.also.get("repeats")) if self.first.needed.value is not None else None

    def as_json(self) -> dict[str, JSON]:
        """The plan as one object."""
        return {
            "format": 1,
            "run": self.run,
            "score": self.score,
            "detect": self.request.detect,
            "power": self.request.power,
            "alpha": self.request.alpha,
            "pilot": dict(self.pilot),
            "items": self.items,
            "repeats": self.repeats,
            "requests": self.requests,
            "usd": self.usd,
            "usd_note": self.usd_note,
            "aims": [aim.as_json() for aim in self.aims],
            "designs": [design.as_json() for design in self.bought],
        }


def plan_of(run: Run, request: PlanRequest) -> RunPlan:
    """What a study like this run needs to detect a difference: between its conditions, its models, from another model.

    The variances are the run's own: of the two conditions, or models, that are compared. A run with one model gives an
    upper bound for another one. A run that is too small, or in which nothing varies, leaves the plan undefined with the
    reason. An unknown score, and a part of the run that is not there, are errors.
    """
    table = run.table
    column = _score(run, request.score)
    column = column.at(table.mask(request.where))
    if not column.defined.any():
        raise SpecError(f"{run.name}: no trial{' there' * bool(request.where)} has a value of {column.name!r}")
    is_share = column.is_binary
    with np.errstate(over="ignore", invalid="ignore"):
        aims = sorted(_aims(column, request), key=_demand)
    counts = _pilot(column)
    per_trial, usd, note = _prices(run, request, column)
    plan = RunPlan(run.name, column.name, is_share, request, counts, tuple(aims), (), None, None, note)

    def bought(name: str, items: int, repeats: int) -> Bought:
        trials = items * repeats * counts["trials_per_item_and_repeat"] * plan.models // counts["models"]
        requests = math.ceil(trials * per_trial)
        price = None if usd is None else usd * requests
        first = aims[0]
        se = expected_se(first.parts, items, repeats, paired=first.is_paired)
        power = {"power": request.power, "alpha": request.alpha}
        detects = detectable(first.parts, items, repeats, **power) if first.is_paired else Estimate(None, items)
        return Bought(name, items, repeats, requests, price, se, detects)

    designs = [bought(name, a * counts["items"], b * counts["repeats"]) for name, (a, b) in DESIGNS.items()]
    if plan.items is None or plan.repeats is None:
        return replace(plan, bought=tuple(design for design in designs if design.se.value))
    planned = bought(PLANNED, plan.items, plan.repeats)
    once = _aim_of(plan.first, replace(request, repeats=1)).needed.value if request.items is None else None
    if once is not None and plan.repeats > 1:
        designs.append(bought(ASKED_ONCE, int(once), 1))
    return replace(plan, bought=(*designs, planned), requests=planned.requests, usd=planned.usd)


def _score(run: Run, name: str | None) -> Column:
    """The column of a score; by default the one that a reader cares for most, in its latest version."""
    table = run.table
    if name is not None:
        if not table.has(name):
            known = {*table.scorers, *(full.partition("@")[0] for full in table.scorers)}
            raise SpecError(f"{run.name}: there is no score {name!r}; {did_you_mean(name, known)}")
        return table.column(name)
    chosen = main_score(
        run.manifest.scorers, [full for full in latest(table.scorers) if table.column(full).defined.any()]
    )
    if chosen is None:
        raise SpecError(f"{run.name}: nothing is scored yet; run 'perpend score' first")
    first = next((name.partition("@")[0] for name in run.manifest.scorers), "")
    if chosen.partition("@")[0] != first and table.has(first) and not chosen.endswith(f"@{IMPORTED}"):
        others = [full for full in latest(table.scorers) if table.column(full).defined.any()]
        raise SpecError(f"{run.name}: {first} has no values; say which score to plan by: --score {' or '.join(others)}")
    return table.column(chosen)


def _pilot(column: Column) -> dict[str, int]:
    table, rows = column.table, column.mask
    judged = np.unique(table.codes["item"][column.defined])
    conditions, models = (len(np.unique(table.codes[key][rows])) for key in ("condition", "model"))
    asked = len(np.unique(table.keys(["model", "sampling"])[0][rows]))
    return {
        "items": len(judged),
        "conditions": conditions,
        "models": models,
        "settings": asked // models if asked % models == 0 else 1,
        "repeats": max(planned_repeats(table, part) for part in _cells(table, rows)),
        "trials": int(rows.sum()),
        "trials_per_item_and_repeat": conditions * asked,
    }


def _cells(table: PlanGrid, rows: BoolArray) -> Iterator[BoolArray]:
    codes, _ = table.keys(["model", "sampling"])
    for code in np.unique(codes[rows]):
        yield rows & (codes == code)


def _aims(column: Column, request: PlanRequest) -> Iterator[Aim]:
    """Conditions against the first, models against the first, another model, and every mean."""
    table = column.table
    there = {
        key: [name for name in table.values(key) if column.where(**{key: name}).defined.any()]
        for key in ("model", "condition")
    }
    for place in table.grid_of(table.cell_keys()):
        cell = column.where(**place)
        if not cell.defined.any():
            continue
        conditions = [name for name in there["condition"] if cell.where(condition=name).defined.any()]
        for condition in conditions[1:]:
            own = cell.at(both(cell, "condition", (conditions[0], condition)))
            yield _aim(own, CONDITIONS, {**place, "condition": f"{conditions[0]}{ARROW}{condition}"}, request)
        if len(there["model"]) == 1:
            own = cell.where(condition=conditions[0])
            yield _aim(own, ANOTHER, {**place, "condition": conditions[0]}, request)
        for condition in conditions:
            yield _aim(cell.where(condition=condition), RATE, {**place, "condition": condition}, request)
    first, condition = there["model"][0], there["condition"][0]
    for model in there["model"][1:]:
        for setting in table.grid_of(table.settings):
            place = {**setting, "condition": condition}
            own = column.at(both(column.where(**place), "model", (first, model)))
            if len(np.unique(table.codes["model"][own.defined])) > 1:
                yield _aim(own, MODELS, {"model": f"{first}{ARROW}{model}", **place}, request)


def _aim(column: Column, kind: str, where: Mapping[str, str], request: PlanRequest) -> Aim:
    parts = parts_of(column, "model" if kind == MODELS else "condition")
    if request.repeats is None and request.items is None:
        cells = _cells(column.table, column.mask)
        request = replace(request, repeats=max(planned_repeats(column.table, cell) for cell in cells))
    return _aim_of(Aim(kind, where, Estimate(None, 0), parts), request)


def _aim_of(aim: Aim, request: PlanRequest) -> Aim:
    """The aim with what it needs."""
    one = needed(
        aim.parts,
        detect=request.detect if aim.is_paired else None,
        width=None if aim.is_paired else 2.0 * request.detect,
        power=request.power,
        alpha=request.alpha,
        repeats=request.repeats,
        items=request.items,
    )
    return replace(aim, needed=one)


def _demand(aim: Aim) -> tuple[bool, int, float]:
    """Differences of the pilot first, then another model, then means; of each what needs most; the unknown last."""
    order, one = {CONDITIONS: 0, MODELS: 0, ANOTHER: 1, RATE: 2}[aim.kind], aim.needed
    beyond = items_beyond(one)
    return one.value is None and beyond is None, order, -(one.value or 0.0) if beyond is None else -beyond * 1e9


def items_beyond(one: Estimate) -> int | None:
    """How many items are needed where those that there are do not suffice, however often they are asked."""
    return _whole(one.also.get("items_needed"))


def _prices(run: Run, request: PlanRequest, column: Column) -> tuple[float, float | None, str]:
    """Requests per trial and US dollars per request, as the pilot spent them; and why the latter is unknown."""
    labels = [name for name in column.table.values("model") if len(column.where(model=name).rows)]
    for label in request.prices:
        if label and label not in labels:
            raise SpecError(f"a price is given for {label!r}; {did_you_mean(label, labels)}")
    with run.open() as store:
        spent = {label: own for label, own in spent_before(store).items() if label in labels}
        answered = sum(cell.answered for cell in store.cells() if cell.model in labels)
    total = sum(spent.values(), Spent())
    per_trial = max(total.requests / answered, 1.0) if answered else 1.0
    models = []
    for label in labels:
        price = request.prices.get(label, request.prices.get("", (None, None)))
        models.append(ModelSpec(label, label, usd_per_million_input=price[0], usd_per_million_output=price[1]))
    usd, note = cost(models, spent)
    if usd is None or not total.requests:
        return per_trial, None, note or "the pilot counted no request"
    return per_trial, usd / total.requests, ""


def prices_of(written: Sequence[str]) -> dict[str, tuple[float, float]]:
    """'0.15,0.60', or 'small=0.15,0.60' for one model, as US dollars per million tokens in and out by label."""
    prices: dict[str, tuple[float, float]] = {}
    for text in written:
        label, _, pair = text.rpartition("=")
        try:
            ends = [float(end) for end in pair.split(",")]
        except ValueError:
            ends = []
        if len(ends) != 2 or not all(0.0 <= end < math.inf for end in ends):
            raise SpecError(f"a price is {text!r}; write two numbers, as in 0.15,0.60 or small=0.15,0.60")
        prices[label] = ends[0], ends[1]
    return prices


def _whole(value: object) -> int | None:
    return int(value) if isinstance(value, int | float) else None

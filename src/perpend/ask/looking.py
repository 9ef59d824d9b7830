"""Looks at a run's numbers while it is asked, and the decision to stop.

Items come in the order of the seed. A look comes after whole items, with all conditions and repeats, and counts each
item once: the mean of its trials that have a score. What failed, also when it was asked again, or cannot be scored is
missing: an item without any score does not count, and how far that could move the interval is stated. What a look has
seen is closed: nothing in it is asked again, so the same answers always give the same looks.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from perpend.canon import JSON
from perpend.errors import DataError, StoreError
from perpend.ledger.stopping import (
    StopFacts,
    StopLook,
    read_looks,
    record_look,
    stopped_after,
)
from perpend.ledger.store import Store
from perpend.spec.function import judged_by
from perpend.spec.stopping import Place, StopRule, parse_rule
from perpend.stats.betting import paired_sequence, sequence
from perpend.types import UNFIT, Estimate, Number, Scorer

FloatArray: TypeAlias = npt.NDArray[np.float64]
BoolArray: TypeAlias = npt.NDArray[np.bool_]
_SAME = 1e-9
"""What another machine's arithmetic may move a number by."""


def place_name(place: Place) -> str:
    """A condition, or a pair as metrics name it: 'control → asch'."""
    return place[0] if place[1] is None else f"{place[1]} → {place[0]}"


@dataclass(frozen=True, slots=True)
class ScoredItems:
    """The values of one scorer by item, condition and repeat, NaN where there is none; and which items it can judge."""

    values: FloatArray
    fit: BoolArray


@dataclass(frozen=True, slots=True)
class LookPlan:
    """A rule and its schedule over the items of a run."""

    rule: StopRule
    facts: StopFacts
    conditions: tuple[str, ...]
    items: int

    @property
    def points(self) -> list[int]:
        """After how many items each look comes."""
        return self.facts.points(self.items)

    def estimate(self, look: int, place: Place, scored: ScoredItems) -> Estimate:
        """The mean over the items of one look, or the mean paired difference, with the interval of that look.

        n counts items with a score; `also.missing` those without any that the scorer could judge. Where some are
        missing, the interval would lie between `also.least` and `also.most` whatever their scores were. Undefined where
        no item has a score.
        """
        block = scored.values
        first, second = place[1], place[0]
        bounds = (0.0, 1.0) if first is None else (-1.0, 1.0)
        after = block[:, self.conditions.index(second), :]
        before = np.zeros_like(after) if first is None else block[:, self.conditions.index(first), :]
        has: BoolArray = ~np.isnan(after) & ~np.isnan(before)
        counted: BoolArray = np.asarray(has.any(axis=1))
        missing = int((scored.fit & ~counted).sum())
        also: dict[str, Number] = {"look": look, "looks": len(self.points), "missing": missing}
        if not counted.any():
            return Estimate(None, 0, note="no item has a score", also=also)
        with np.errstate(invalid="ignore", divide="ignore"):
            means = np.where(has, after - before, 0.0).sum(axis=1) / has.sum(axis=1)
        if first is None:
            one = _interval(means[counted], bounds)
        else:
            one = paired_sequence(before[has], after[has], np.nonzero(has)[0], looks=[int(counted.sum())])[-1]
        if missing:
            least, most = (np.where(counted, means, end)[scored.fit] for end in bounds)
            also |= {"least": _interval(least, bounds).lo, "most": _interval(most, bounds).hi}
        kept = {key: value for key, value in one.also.items() if key == "p"}
        return replace(one, also={**also, "rows": int(has.sum()), **kept})

    def look(self, number: int, blocks: Mapping[str, ScoredItems]) -> StopLook:
        """What a look shows of the rule's numbers, and whether the rule holds."""
        estimates = {
            (score, place): self.estimate(number, place, blocks[score])
            for score, place in self.rule.targets(self.conditions)
        }
        numbers = tuple(_entry(score, place, one) for (score, place), one in estimates.items())
        stop = self.rule.holds(self.conditions, lambda score, place: estimates[score, place])
        return StopLook(number, self.points[number - 1], stop, numbers)


def _interval(means: FloatArray, bounds: tuple[float, float]) -> Estimate:
    """The interval of as many items, valid at any look."""
    return sequence(means, looks=[len(means)], bounds=bounds)[-1]


def _entry(score: str, place: Place, one: Estimate) -> dict[str, JSON]:
    return {
        "score": score,
        "condition": place_name(place),
        "n": one.n,
        "missing": one.also["missing"],
        "value": one.value,
        "lo": one.lo,
        "hi": one.hi,
    }


def look_plan(facts: StopFacts, scorers: Sequence[str], conditions: Sequence[str], items: int) -> LookPlan:
    """The plan of a run's looks; a rule that names what the run does not have is a SpecError."""
    return LookPlan(parse_rule(facts.when).resolved(scorers, conditions), facts, tuple(conditions), items)


class Looking:
    """The looks of a run that is being asked. What the ledger has of them is recomputed from the raw answers first."""

    def __init__(self, store: Store, plan: LookPlan, scorers: Mapping[str, Scorer], repeats: int) -> None:
        self.store, self.plan = store, plan
        self._scorers = {name: scorers[name] for name in plan.rule.scores}
        self._shape = (len(plan.conditions), repeats)
        self._values: dict[str, list[float]] = {name: [] for name in self._scorers}
        self._unfit: dict[str, set[int]] = {name: set() for name in self._scorers}
        self.looks: list[StopLook] = []
        for stored in read_looks(store):
            if not self._is_same(stored, self._next_look()):
                raise StoreError(
                    f"{store.path.parent}: look {stored.look} does not follow from the answers: the ledger or a scorer "
                    "was changed. 'perpend audit' says more; give a new run another name (--name)."
                )
            self.looks.append(stored)

    @staticmethod
    def _is_same(stored: StopLook, now: StopLook | None) -> bool:
        if now is None or (stored.look, stored.items, stored.stop) != (now.look, now.items, now.stop):
            return False
        pairs = [
            (a.get(key), b.get(key)) for a, b in zip(stored.numbers, now.numbers, strict=False) for key in {*a, *b}
        ]
        return len(stored.numbers) == len(now.numbers) and all(
            abs(a - b) <= _SAME if isinstance(a, float) and isinstance(b, float) else a == b for a, b in pairs
        )

    @property
    def stopped(self) -> int | None:
        """After how many items the run stopped; None where it has not."""
        return stopped_after(self.looks)

    @property
    def per_item(self) -> int:
        """Trials of one item."""
        return self._shape[0] * self._shape[1]

    def batch(self) -> tuple[int, int] | None:
        """The first and last trial of the next look; None where there is none any more."""
        points = self.plan.points
        if self.stopped is not None or len(self.looks) == len(points):
            return None
        before = points[len(self.looks) - 1] if self.looks else 0
        return before * self.per_item + 1, points[len(self.looks)] * self.per_item

    def _next_look(self) -> StopLook | None:
        span = self.batch()
        if span is None:
            return None
        scores = {name: np.full(span[1] - span[0] + 1, np.nan) for name in self._scorers}
        for trial, response in self.store.answers(first=span[0], last=span[1]):
            for name, scorer in self._scorers.items():
                score = judged_by(scorer, trial.item, response, trial.trial)
                value = score.value
                if value is None and score.reason.startswith(UNFIT):
                    self._unfit[name].add((trial.trial - 1) // self.per_item)
                if value is not None and not 0.0 <= value <= 1.0:
                    raise DataError(
                        f"trial {trial.trial} ({trial.item.id}): {name} gives {value!r}, outside [0, 1]; stop_when "
                        "needs a score between 0 and 1. Give the run another --name and no stop_when"
                    )
                scores[name][trial.trial - span[0]] = np.nan if value is None else value
        for name, values in scores.items():
            self._values[name] += values.tolist()
        blocks = {name: scored_items(self._values[name], self._shape, self._unfit[name]) for name in self._scorers}
        return self.plan.look(len(self.looks) + 1, blocks)

    def look(self) -> None:
        """Look at all batches so far, of which the last was just asked whole, and record it."""
        one = self._next_look()
        if one is not None:
            record_look(self.store, one)
            self.looks.append(one)

    def sentence(self) -> str:
        """How the looking ended; empty while it has not."""
        if self.batch() is not None:
            return ""
        return ended(self.looks, self.plan)


def scored_items(values: Sequence[float] | FloatArray, shape: tuple[int, int], unfit: Iterable[int]) -> ScoredItems:
    """The values of whole items in plan order, as a block; `shape` is the number of conditions and of repeats."""
    block = np.asarray(values, dtype=np.float64).reshape(-1, *shape)
    return ScoredItems(block, ~np.isin(np.arange(len(block)), list(unfit)))


def ended(looks: Sequence[StopLook], plan: LookPlan) -> str:
    """How a run's looks ended, in a sentence."""
    last, total = looks[-1], len(plan.points)
    if last.stop and last.items < plan.items:
        return f"Stopped at look {last.look} of {total}, after {last.items:,} of {plan.items:,} items: {plan.rule}"
    how = "holds at the last look" if last.stop else f"did not hold at any of {total} look{'s' * (total != 1)}"
    return f"All {plan.items:,} items were asked; {plan.rule} {how}"

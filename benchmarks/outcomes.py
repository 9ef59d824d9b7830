"""What a run of a simulation says of an interval or a test."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np

from perpend.types import Caution, Estimate

Rng: TypeAlias = np.random.Generator


@dataclass(slots=True)
class Judged:
    """What one quantity did in one run: `right` says that it covered (or rejected), None that it was undefined."""

    method: str
    right: bool | None
    cautions: tuple[Caution, ...] = ()
    beside: dict[str, bool] = field(default_factory=dict)
    nominal: float = 0.95


Once: TypeAlias = Callable[[np.random.Generator], dict[str, Judged]]


@dataclass(frozen=True, slots=True)
class Design:
    """One way to make data. `cost` divides the number of runs."""

    kind: str
    name: str
    once: Once
    cost: int = 1


def covers(estimate: Estimate, truth: float) -> bool | None:
    if estimate.value is None or estimate.lo is None or estimate.hi is None:
        return None
    return estimate.lo <= truth <= estimate.hi


def interval(estimate: Estimate, truth: float, method: str, **beside: Estimate) -> Judged:
    also = {name.replace("_", " "): bool(covers(other, truth)) for name, other in beside.items()}
    return Judged(method, covers(estimate, truth), estimate.cautions, also)


def test(estimate: Estimate, p: object, method: str, **beside: object) -> Judged:
    also = {name.replace("_", " "): isinstance(other, float) and other <= 0.05 for name, other in beside.items()}
    return Judged(method, p <= 0.05 if isinstance(p, float) else None, estimate.cautions, also, 0.05)


def open_interval(estimate: Estimate, truth: float) -> Judged:
    """Of an odds ratio: an end that does not exist is 0 or infinity."""
    if estimate.value is None or (estimate.lo is None and estimate.hi is None):
        return Judged("item-clustered t, or Firth", None, estimate.cautions)
    lo, hi = 0.0 if estimate.lo is None else estimate.lo, np.inf if estimate.hi is None else estimate.hi
    return Judged("item-clustered t, or Firth", bool(lo <= truth <= hi), estimate.cautions)

"""A planned number of looks: the group-sequential alternative to a confidence sequence.

The looks are fixed before the first item: after which items, and how much of the 5% each may spend (Lan and DeMets
1983). Then intervals are narrower than a confidence sequence's, and valid only at these looks.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from typing import Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from perpend.errors import DataError
from perpend.stats import gate
from perpend.stats.betting import item_means, look_counts
from perpend.stats.clusters import normal_quantile
from perpend.stats.gate import FloatArray, Ids
from perpend.stats.proportions import wilson_bounds
from perpend.types import Caution, Estimate, Number

Spending: TypeAlias = Literal["obrien-fleming", "pocock"]
# Nodes of the integral over all ways not to have stopped; 400 agree with 200 to 1e-9 at 20 looks.
_NODES = 200


def spent(fractions: npt.ArrayLike, alpha: float, spending: Spending) -> FloatArray:
    """How much of a two-sided alpha may be spent up to each fraction of the items, half on each side.

    'obrien-fleming' spends hardly anything early: 4 - 4 Φ(z / √t), z the quantile of alpha / 4. 'pocock' spends nearly
    evenly: alpha · log(1 + (e - 1) t).
    """
    from scipy.special import ndtr, ndtri

    t = gate.probabilities("fractions", fractions)
    if t[0] <= 0.0 or (np.diff(t) <= 0.0).any():
        raise DataError(f"fractions: are {t.tolist()}; give shares above 0, each larger than the one before, up to 1")
    if spending == "obrien-fleming":
        return np.asarray(4.0 * ndtr(ndtri(alpha / 4.0) / np.sqrt(t)), dtype=np.float64)
    if spending == "pocock":
        return np.asarray(alpha * np.log1p((math.e - 1.0) * t), dtype=np.float64)
    raise DataError(f"spending: is {spending!r}; use 'obrien-fleming' or 'pocock'")


def critical_values(
    fractions: npt.ArrayLike, *, level: float = 0.95, spending: Spending = "obrien-fleming"
) -> tuple[float, ...]:
    """The z beyond which each look at a fraction of the items is significant, two-sided.

    Over all looks a true null is rejected with probability 1 - level, if the last is at fraction 1.
    """
    normal_quantile(level)
    t = gate.probabilities("fractions", fractions)
    spent(t, 1.0 - level, spending)  # refuses what is no plan
    return _critical(tuple(t.tolist()), level, spending)


@lru_cache(maxsize=64)  # a plan is looked at many times
def _critical(fractions: tuple[float, ...], level: float, spending: Spending) -> tuple[float, ...]:
    from scipy.special import roots_legendre

    t = np.array(fractions)
    budget = spent(t, 1.0 - level, spending)
    node, weight = roots_legendre(_NODES)
    # Density of the sum of the data so far, on the scale where its variance is t, over those who have not stopped.
    at, mass = np.zeros(1), np.ones(1)
    values: list[float] = []
    before = 0.0
    for k, time in enumerate(t.tolist()):
        sd = math.sqrt(time - (float(t[k - 1]) if k else 0.0))
        root, more = math.sqrt(time), max(float(budget[k]) - before, 0.0)

        z = _boundary((at, mass), sd, root, more)
        values.append(z)
        before = float(budget[k])
        here = node * z * root
        density = np.exp(-(((here[:, None] - at[None, :]) / sd) ** 2) / 2.0) @ mass / (sd * math.sqrt(2.0 * math.pi))
        at, mass = here, density * weight * z * root
    return tuple(values)


def _boundary(going: tuple[FloatArray, FloatArray], sd: float, root: float, more: float) -> float:
    """The z that those who have not stopped cross with probability `more`; 9 where that is less than it can be."""
    from scipy.optimize import brentq
    from scipy.special import ndtr

    at, mass = going

    def gap(z: float) -> float:
        return float(mass @ (ndtr((at - z * root) / sd) + ndtr((-z * root - at) / sd))) - more

    return 9.0 if gap(9.0) > 0.0 else float(brentq(gap, 0.0, 9.0, xtol=1e-10))


def planned_looks(  # noqa: PLR0913  the data, the plan, and what an interval is
    values: npt.ArrayLike,
    items: Ids | None = None,
    *,
    plan: Sequence[int],
    spending: Spending = "obrien-fleming",
    fractions: Sequence[float] | None = None,
    bounds: tuple[float, float] = (0.0, 1.0),
    level: float = 0.95,
) -> tuple[Estimate, ...]:
    """The mean over items at the planned looks, with intervals that all hold together (Jennison and Turnbull 1989).

    `plan` has the item counts of all looks, the last the full study; looks not reached yet are left out. Where items
    are missing, so that these counts are no shares of the study, `fractions` has the share of each look. Rows of an
    item are averaged, items come in an order that does not depend on outcomes, and n counts them. The quantile of each
    look is that of Student's t with items - 1 degrees of freedom whose tail is that of the normal critical value
    (`also["critical"]`). In bounds of 0 and 1 the interval is Wilson's at the effective number of items, else
    Student's. No interval for one item, nor, outside 0 and 1, where items are all equal.
    """
    from scipy.special import ndtr, stdtrit

    planned = look_counts(plan, max(plan, default=0))
    means, rows = item_means(values, items, *bounds)
    shares = np.array(planned) / planned[-1] if fractions is None else gate.probabilities("fractions", fractions)
    gate.same_length(plan=np.array(planned), fractions=shares)
    critical = critical_values(shares, level=level, spending=spending)
    used = spent(shares, 1.0 - level, spending)
    estimates = []
    for look, (count, z) in enumerate(zip(planned, critical, strict=True), 1):
        if count > len(means):
            break
        part = means[:count]
        value, df = float(part.mean()), count - 1
        se = float(part.std(ddof=1)) / math.sqrt(count) if df else 0.0
        # Beyond |z| = 8 the tail is below the smallest that a double has beside 1: no data are enough for such a look.
        quantile = abs(float(stdtrit(df, ndtr(-z)))) if df else math.inf
        also: dict[str, Number] = {
            "look": look,
            "looks": len(planned),
            "rows": int(rows[count - 1]),
            "critical": z,
            "spent": float(used[look - 1]),
        }
        lo, hi, note = _ends(value, se, count, quantile, bounds)
        method = f"group sequential, {spending} spending, look {look} of {len(planned)}"
        few: tuple[Caution, ...] = (gate.few_clusters(count),) if count < 30 else ()
        estimates.append(Estimate(value, count, lo, hi, method, note, level, also, few))
    return tuple(estimates)


def _ends(
    value: float, se: float, count: int, quantile: float, bounds: tuple[float, float]
) -> tuple[float | None, float | None, str]:
    if not math.isfinite(quantile):
        return None, None, "no interval: one item"
    if bounds == (0.0, 1.0):
        effective = value * (1.0 - value) / se**2 if se > 0.0 else float(count)
        return (*wilson_bounds(value, max(effective, float(count)), quantile), "")
    if se <= 0.0:
        return None, None, f"no interval: all {count} items are equal"
    return max(value - quantile * se, bounds[0]), min(value + quantile * se, bounds[1]), ""

"""Families of tests with their adjustment, and what a design can show: power and detectable effects."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from statistics import NormalDist
from typing import Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from perpend.errors import DataError, did_you_mean
from perpend.stats import gate
from perpend.stats.cautions import caution
from perpend.stats.gate import FloatArray
from perpend.types import Caution, Estimate, Number

Adjustment: TypeAlias = Literal["holm", "bh"]


def holm(p: npt.ArrayLike, *, at_most: int | None = None) -> FloatArray:
    """Holm's (1979) step-down adjusted p: controls the chance of any false claim in the family.

    `at_most` is how many of the hypotheses can be true at once, where logic excludes others (Shaffer 1986).
    """
    raw = gate.probabilities("p", p)
    order = np.argsort(raw, kind="stable")
    left = np.arange(len(raw), 0, -1)
    stepped = np.maximum.accumulate(raw[order] * (left if at_most is None else np.minimum(left, at_most)))
    return _restored(stepped, order)


def benjamini_hochberg(p: npt.ArrayLike) -> FloatArray:
    """Benjamini and Hochberg's (1995) step-up adjusted p: controls the expected share of false claims."""
    raw = gate.probabilities("p", p)
    order = np.argsort(raw, kind="stable")
    scaled = raw[order] * len(raw) / np.arange(1, len(raw) + 1)
    return _restored(np.minimum.accumulate(scaled[::-1])[::-1], order)


def _restored(stepped: FloatArray, order: npt.NDArray[np.intp]) -> FloatArray:
    out = np.empty(len(stepped))
    out[order] = np.minimum(stepped, 1.0)
    return out


SIGNIFICANT = 0.05
"""The largest adjusted p of an effect that differs from 0."""


@dataclass(frozen=True, slots=True)
class AdjustedTest:
    """One test of a family. `raw` and `adjusted` are None where it is undefined; it still counts in the family."""

    name: str
    raw: float | None
    adjusted: float | None
    significant: bool


@dataclass(frozen=True, slots=True)
class Family:
    """The tests in the order given, how they were adjusted, and STAT012 where only raw p would be significant."""

    tests: tuple[AdjustedTest, ...]
    method: Adjustment
    alpha: float
    cautions: tuple[Caution, ...]


def family(p: Mapping[str, float | None], *, method: Adjustment = "holm", alpha: float = 0.05) -> Family:
    """Adjust the p of every declared test together: Holm for a confirmatory family, 'bh' for exploratory slices.

    An undefined test (None) counts as p = 1, so that a family is not made smaller by what did not work out.
    """
    rules = {"holm": holm, "bh": benjamini_hochberg}
    if method not in rules:
        raise DataError(f"method: is {method!r}; {did_you_mean(method, rules)}")
    if not 0.0 < alpha < 1.0:
        raise DataError(f"alpha: is {alpha!r}; a significance level lies between 0 and 1, as in 0.05")
    if not p:
        return Family((), method, alpha, ())
    adjusted = rules[method]([1.0 if value is None else value for value in p.values()]).tolist()
    tests = tuple(
        AdjustedTest(name, value, None, False) if value is None else AdjustedTest(name, float(value), new, new <= alpha)
        for (name, value), new in zip(p.items(), adjusted, strict=True)
    )
    lost = sum(1 for test in tests if test.raw is not None and test.raw <= alpha and not test.significant)
    warned = (caution("STAT012", lost, tests=len(tests), method=method),) if lost else ()
    return Family(tests, method, alpha, warned)


_NORMAL = NormalDist()


def _share(name: str, value: float) -> float:
    """A probability strictly between 0 and 1."""
    if not 0.0 < value < 1.0:
        raise DataError(f"{name}: is {value!r}; it lies strictly between 0 and 1")
    return float(value)


def mde_paired(n: int, discordance: float, *, alpha: float = 0.05, power: float = 0.8) -> Estimate:
    """The smallest paired difference that n items show with this power, when a share `discordance` of pairs differ.

    δ = z √(ψ / (n + z²)), the solution of δ = z √((ψ - δ²) / n). n counts independent items, not rows. Undefined when
    n = 0, and when no pair differs: a discordance of 0 says nothing of how often pairs would differ under an effect. A
    δ above ψ cannot occur: the note then says that n is too small for any effect.
    """
    (n,) = gate.counts(n=n)
    (psi,) = gate.probabilities("discordance", [discordance]).tolist()
    z = _NORMAL.inv_cdf(1.0 - _share("alpha", alpha) / 2.0) + _NORMAL.inv_cdf(_share("power", power))
    also: dict[str, Number] = {"discordance": psi, "alpha": alpha, "power": power}
    if n == 0:
        return Estimate(None, 0, note="no items", also=also)
    if psi == 0.0:
        return Estimate(None, n, note="no pair differs, so nothing says how often pairs would", also=also)
    delta = z * math.sqrt(psi / (n + z * z))
    note = "more than the discordance allows: no effect of these items reaches this power" if delta > psi else ""
    return Estimate(delta, n, method="normal approximation, paired", note=note, also=also)


def mde_clustered(change: Estimate, *, alpha: float = 0.05, power: float = 0.8) -> Estimate:
    """The smallest difference that these items would show with this power, from the estimate of a paired difference.

    u and v are the t quantiles of 1 - alpha / 2 and of the power, with items - 1 degrees of freedom. Of a `mean` of
    differences δ is (u + v) times the standard error. Of a `paired_difference`, of columns of 0 and 1, it solves
    δ √n = u √ψ + v √(ψ - δ²) (Connor 1987) with the discordance ψ and n the effective number of pairs; quantiles are
    normal where no item repeats, and where too few pairs differed, ψ is the share that would just do, as no effect
    exceeds it. With weights or strata, ψ and the degrees of freedom are those of the weighted difference. For a family
    of tests give alpha / their number. Undefined with one item, where nothing varies, and where n is too small for any
    effect.
    """
    from scipy.special import stdtrit

    also: dict[str, Number] = {"alpha": _share("alpha", alpha), "power": _share("power", power)}
    b, c, se = (change.also.get(key) for key in ("b", "c", "se"))
    groups, n = change.also.get("n_clusters"), change.also.get("n_effective", float(change.n))
    paired = isinstance(b, int) and isinstance(c, int)
    df = groups - 1.0 if isinstance(groups, int) else math.inf if paired else change.n - 1.0
    df = weighted_df if isinstance(weighted_df := change.also.get("df"), float) else df
    if change.value is None or df < 1 or not isinstance(n, float):
        return Estimate(None, change.n, note=change.note or "one item shows no spread", also=also)
    ends = (1.0 - alpha / 2.0, power)
    u, v = (_NORMAL.inv_cdf(end) if df == math.inf else float(stdtrit(df, end)) for end in ends)
    name = f"t({df:.6g}) approximation" if df < math.inf else "normal approximation"
    if isinstance(b, int) and isinstance(c, int):
        # δ is this factor times √ψ.
        factor = (u * math.sqrt(n) + v * math.sqrt(max(n + v * v - u * u, 0.0))) / (n + v * v)
        differ = change.also.get("discordance")
        psi = max(differ if isinstance(differ, float) else (b + c) / change.n, factor**2)
        also |= {"discordance": psi, "n_effective": n}
        if psi > 1.0 or n + v * v < u * u:
            return Estimate(None, change.n, note="too few items for any effect to be shown with this power", also=also)
        return Estimate(factor * math.sqrt(psi), change.n, method=f"{name}, paired", also=also)
    if isinstance(se, float) and se > 0.0:
        return Estimate((u + v) * se, change.n, method=name, also=also)
    return Estimate(None, change.n, note="no spread", also=also)


def mcnemar_power(n: int, p10: float, p01: float, *, alpha: float = 0.05) -> Estimate:
    """The chance that McNemar's exact test rejects at level alpha with n pairs of which p10 and p01 are discordant.

    Exact: the rejection probability of each number of discordant pairs, weighted by how likely that number is.
    """
    from scipy.special import bdtr, bdtrc, gammaln, xlog1py, xlogy

    (n,) = gate.counts(n=n)
    ten, one = gate.probabilities("p10, p01", [p10, p01]).tolist()
    psi = ten + one
    if psi > 1.0 + 1e-12:
        raise DataError(f"p10, p01: add up to {psi!r}; shares of the same pairs are at most 1 together")
    _share("alpha", alpha)
    also: dict[str, Number] = {"p10": ten, "p01": one, "alpha": alpha}
    if n == 0 or psi == 0.0:
        return Estimate(0.0 if n else None, n, method="exact McNemar", note="" if n else "no pairs", also=also)
    m = np.arange(n + 1)
    log_weight = gammaln(n + 1.0) - gammaln(m + 1.0) - gammaln(n - m + 1.0)
    log_weight += xlogy(m, min(psi, 1.0)) + xlog1py(n - m, -min(psi, 1.0))
    # The largest k with 2 P(K <= k) <= alpha at a fair coin, -1 where there is none.
    critical = _critical_values(n, alpha)
    able = critical >= 0
    share = ten / psi
    k = critical[able].astype(np.float64)
    rejects = np.zeros(n + 1)
    rejects[able] = bdtr(k, m[able], share) + bdtrc(m[able] - k - 1.0, m[able], share)
    value = float(np.exp(log_weight) @ rejects)
    return Estimate(min(value, 1.0), n, method="exact McNemar", also=also)


def _critical_values(n: int, alpha: float) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """For each number of discordant pairs 0 … n, the largest smaller count that the exact test rejects, or -1."""
    from scipy.special import bdtr

    out = np.full(n + 1, -1, dtype=np.int64)
    k = -1
    for m in range(1, n + 1):
        # It never falls, and rises by at most one from one m to the next.
        if 2 * (k + 1) < m and 2.0 * float(bdtr(k + 1, m, 0.5)) <= alpha:
            k += 1
        out[m] = k
    return out


def is_shown(one: Estimate) -> bool:
    """Whether a difference survives the correction for the number of tests: its `p_adjusted` is at most 5%."""
    p = one.also.get("p_adjusted")
    return isinstance(p, float) and p <= SIGNIFICANT


def against_mde(estimate: Estimate, mde: Estimate) -> Estimate:
    """The estimate with STAT013 when its interval holds 0 and its size is below the minimum detectable effect."""
    if estimate.value is None or mde.value is None or abs(estimate.value) >= mde.value:
        return estimate
    if estimate.lo is not None and estimate.hi is not None and not estimate.lo <= 0.0 <= estimate.hi:
        return estimate
    return replace(estimate, cautions=(*estimate.cautions, caution("STAT013", mde.value, effect=abs(estimate.value))))

"""Cautions that state what simulations measured where an estimate rests on few answers of one kind.

The figures are those of benchmarks/coverage.py (docs/reference/coverage.md), which checks that they hold.
"""

from __future__ import annotations

from dataclasses import dataclass

from perpend.stats.gate import FloatArray
from perpend.types import Caution


@dataclass(frozen=True, slots=True)
class Figure:
    """Below `limit` of `what`, nominal 95% intervals were seen to cover so many percent, and tests at 5% to reject."""

    what: str
    limit: int
    covers: tuple[int, int]
    rejects: int | None = None
    remedy: str = "add items"

    def caution(self, count: float) -> tuple[Caution, ...]:
        """STAT028 where the count is below the limit. The number is the count."""
        if count >= self.limit:
            return ()
        lo, hi = self.covers
        tests = "" if self.rejects is None else f", and tests at 5% reject up to {self.rejects}%"
        text = (
            f"few {self.what} ({round(count, 1):g}, limit {self.limit}): in simulations such 95% intervals cover "
            f"{lo}% to {hi}%{tests}; {self.remedy}"
        )
        return (Caution("STAT028", text, count),)


RATE = Figure("rows of the rarer answer", 5, (83, 100), remedy="use 'clopper-pearson', or add items")
CLUSTERED_RATE = Figure("rows of the rarer answer at the effective n", 10, (91, 100))
DIFFERENCE = Figure("pairs that differ at the effective n", 20, (93, 100))
MCC = Figure("rows in the smallest cell of the table", 10, (92, 100))
AREA = Figure("wrong rows at the effective n", 40, (83, 100))
ECE = Figure("rows, which the bins share", 2000, (90, 99))
CLUSTERED_ECE = Figure("items of equal weight, which the bins share", 300, (80, 100), 10)
ODDS = Figure("items with the rarer answer, one with both counting in part", 20, (93, 100), 10)
AGREEMENT = Figure("items of equal weight", 60, (83, 100))
SQUARED_GAP = Figure(
    "half-widths of its interval in the squared gap", 3, (94, 100), remedy="read it as 'not told from 0'"
)
SKEWED = 0.12
"""Skewness of item means over the root of their number, from where a Student interval is said to be off."""


def skewed(means: FloatArray) -> tuple[Caution, ...]:
    """STAT029 where a few items carry much of the mean. The number is the skewness of the items."""
    centred = means - means.mean()
    variance = float((centred**2).mean())
    if len(means) < 3 or variance <= 0.0:
        return ()
    skewness = float((centred**3).mean()) / variance**1.5
    if abs(skewness) < SKEWED * len(means) ** 0.5:
        return ()
    text = (
        f"{len(means)} items of skewness {skewness:.1f}: in simulations such 95% intervals cover 83% to 96%; "
        "add items, or quote a rate"
    )
    return (Caution("STAT029", text, skewness),)

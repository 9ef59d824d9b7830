"""One column under one condition on both sides: the paired difference, its test, and whether it is within a margin."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from perpend.canon import JSON
from perpend.errors import SpecError
from perpend.inert import one_line
from perpend.measure.keys import FloatArray, IntArray
from perpend.measure.population import Standing
from perpend.stats.clusters import student_quantile
from perpend.stats.equivalence import decided, equivalence
from perpend.stats.families import against_mde, family, is_shown, mde_clustered
from perpend.stats.pairs import paired_difference, paired_test
from perpend.stats.proportions import mean
from perpend.types import Estimate, Number

ALPHA, POWER = 0.05, 0.8
_COMPANIONS = ("b", "c", "p", "p_adjusted", "mde", "incomplete", "n_clusters")
DIFFERENCE_COLUMNS = (
    "column", "condition", "first", "second", "difference", "lo", "hi", "n", *_COMPANIONS, "method", "p_method", "note",
)  # fmt: skip
_WITHIN = ("p_lower_adjusted", "p_upper_adjusted", "p_non_inferior", "p_adjusted", "verdict")
MARGIN_COLUMNS = (
    "margin", "margin_lo", "margin_hi", "p_not_lower", "p_not_higher", "p_non_inferior", "p_equivalent", "shown",
)  # fmt: skip
_BETTER = ("correct", "label", "label_lenient", "choice", "choice_raw")
_WORSE = ("endorsed", "mentioned", "unfinished")


def checked_margin(margin: object) -> float:
    """A margin, which is a difference above 0 and below 1; also as text. What is none is an error that says what is."""
    text = str(margin).strip()
    value = math.nan if isinstance(margin, bool) else _number(text)
    if 0.0 < value < 1.0:
        return value
    points = _number(text.removesuffix("%"))
    meant = points if 0.0 < points < 100.0 else 2.0
    raise SpecError(
        f"margin: is {text!r}; it is the largest difference that does not matter, a number above 0 and below 1. Write "
        f"{meant / 100.0:g} for {meant:g} points of a hundred"
    )


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return math.nan


@dataclass(frozen=True, slots=True)
class RunContrast:
    """One column under one condition on both sides, and its paired difference.

    `difference.also` holds `p`, `p_adjusted` (Holm over all contrasts of the comparison), `mde` (the smallest
    difference that these pairs show with 80% power at the level of Holm's first step) and `incomplete` (pairs without
    a value). `within` is the same difference against a margin, where one was given: a 90% interval, and in `also` the p
    of both sides, adjusted over all contrasts, and the `verdict` ('equivalent', 'non-inferior', 'not shown').
    """

    column: str
    condition: str
    first: float | None
    second: float | None
    difference: Estimate
    within: Estimate | None = None

    @property
    def is_detected(self) -> bool:
        """The difference survives the correction for the number of tests."""
        return is_shown(self.difference)

    @property
    def is_share(self) -> bool:
        """The column has values of 0 and 1 only, so differences are points of a hundred."""
        return "discordance" in self.difference.also

    @property
    def place(self) -> str:
        """What a sentence calls it."""
        return f"{self.column} under {self.condition}" if self.condition else self.column

    @property
    def label(self) -> str:
        """What a row of a figure calls it."""
        return f"{self.column}, {self.condition}" if self.condition else self.column

    @property
    def direction(self) -> int:
        """1 where more is better, -1 where less is, 0 where the name of the column does not say."""
        stem = self.column.partition("@")[0].removeprefix("stored_").removeprefix("judged:")
        return (stem in _BETTER) - (stem in _WORSE)

    @property
    def shown(self) -> str:
        """What is shown of the margin, in a few words."""
        if self.within is None or self.within.also["verdict"] == "not shown":
            return "not shown"
        if self.within.also["verdict"] == "equivalent":
            return "equivalent"
        return "not worse" if self.direction else "not lower"

    def __repr__(self) -> str:
        return one_line(f"RunContrast({self.column} under {self.condition or 'both'}: {self.difference})")

    def row(self) -> tuple[str | int | float | bool | None, ...]:
        """Its numbers at full precision, in the order of DIFFERENCE_COLUMNS; None where undefined.

        With a margin, then those of MARGIN_COLUMNS.
        """
        d, within = self.difference, self.within
        ends = (self.column, self.condition, self.first, self.second, d.value, d.lo, d.hi, d.n)
        texts = (d.method, str(d.also.get("p_method", "")), d.note)
        numbers = (*ends, *(d.also.get(key) for key in _COMPANIONS), *texts)
        if within is None:
            return numbers
        return (*numbers, within.also["margin"], within.lo, within.hi, *(within.also.get(key) for key in _WITHIN))

    def as_json(self) -> dict[str, JSON]:
        """The entry in COMPARE.json."""
        body: dict[str, JSON] = {
            "column": self.column,
            "condition": self.condition,
            "first": self.first,
            "second": self.second,
            "difference": self.difference.as_json(),
            "detected": self.is_detected,
        }
        return body if self.within is None else {**body, "within": self.within.as_json(), "shown": self.shown}


@dataclass(frozen=True, slots=True)
class PairedColumn:
    """The complete pairs of a column under a condition: values of both sides, items, and whom the rows stand for."""

    before: FloatArray
    after: FloatArray
    items: IntArray
    standing: Standing
    binary: bool
    lacks: str = ""
    """Why nothing can be said: a stratum of the population has no pair."""

    def contrast(self, column: str, condition: str, margin: float | None, incomplete: int) -> RunContrast:
        """The contrast of these pairs, before any correction."""
        n = len(self.before)
        if self.lacks:
            also: dict[str, Number] = {"p": None, **({"discordance": None} if self.binary else {})}
            none = Estimate(None, n, note=self.lacks, also={**also, "incomplete": incomplete})
            within = None if margin is None else Estimate(None, n, note=self.lacks, level=0.9, also={"margin": margin})
            return RunContrast(column, condition, None, None, none, within)
        with np.errstate(over="ignore", invalid="ignore"):  # what overflows is undefined
            difference = self.difference()
            within = None if margin is None else self.within(margin)
        difference = replace(difference, also={**difference.also, "incomplete": incomplete})
        return RunContrast(column, condition, *self.ends(), difference, within)

    def ends(self) -> tuple[float, float]:
        """The mean of each side."""
        if self.standing["weights"] is None and self.standing["strata"] is None:
            return float(self.before.mean()), float(self.after.mean())
        first, second = (mean(side, self.items, **self.standing).value for side in (self.before, self.after))
        return float(first or 0.0), float(second or 0.0)

    def difference(self) -> Estimate:
        """mean(after) - mean(before) with the p that it is 0."""
        if not self.binary:
            return _with_student_p(mean(self.after - self.before, self.items, **self.standing))
        sides = self.before, self.after, self.items
        difference, test = paired_difference(*sides, **self.standing), paired_test(*sides, **self.standing)
        discordant = difference.also.get("discordance", float(np.mean(self.before != self.after)))
        also = {**difference.also, "p": test.value, "p_method": test.method, "discordance": discordant}
        return replace(difference, also=also)

    def within(self, margin: float) -> Estimate:
        """The difference against a margin."""
        return equivalence(self.before, self.after, self.items, margin=margin, alpha=ALPHA, **self.standing)


def _with_student_p(change: Estimate) -> Estimate:
    """A mean difference with the two-sided p that it is 0; without any spread 1 where nothing differs, else undefined.

    The standard error is that of the interval.
    """
    from scipy.special import stdtr

    groups = change.also.get("n_clusters", change.n)
    df = change.also.get("df", groups - 1 if isinstance(groups, int) else None)
    p: float | None = 1.0 if change.value == 0.0 else None
    se = None
    if change.value is not None and change.lo is not None and change.hi is not None and isinstance(df, float | int):
        se = (change.hi - change.lo) / 2.0 / student_quantile(change.level, df)
        p = float(2.0 * stdtr(df, -abs(change.value) / se)) if se > 0.0 else p
    return replace(change, also={**change.also, "se": se, "p": p, "p_method": "Student's t, by item"})


def adjusted(contrasts: Sequence[RunContrast]) -> tuple[RunContrast, ...]:
    """The contrasts with p adjusted by Holm over all of them, and what each could have shown."""
    p = {str(place): p if isinstance(p := one.difference.also.get("p"), float) else None
         for place, one in enumerate(contrasts)}  # fmt: skip
    tests = family(p, method="holm", alpha=ALPHA).tests
    alpha = ALPHA / len(contrasts)
    whole = []
    for one, test in zip(contrasts, tests, strict=True):
        mde = mde_clustered(one.difference, alpha=alpha, power=POWER)
        also = {**one.difference.also, "p_adjusted": test.adjusted, "mde": mde.value}
        whole.append(replace(one, difference=against_mde(replace(one.difference, also=also), mde)))
    margins = [one.within for one in whole if one.within is not None]
    if not margins:
        return tuple(whole)
    decisions = decided(margins, alpha=ALPHA, more_is_better=[one.direction >= 0 for one in whole])
    return tuple(_shown(replace(one, within=within)) for one, within in zip(whole, decisions, strict=True))


def _shown(one: RunContrast) -> RunContrast:
    """Without STAT013, 'absence of evidence', where there is evidence that the difference is within the margin."""
    if one.shown != "equivalent":
        return one
    kept = tuple(caution for caution in one.difference.cautions if caution.id != "STAT013")
    return replace(one, difference=replace(one.difference, cautions=kept))

"""How often decisions are right: coverage, type-I error and power of pass@k, variances, equivalence, plans, weights.

    python benchmarks/decisions.py            minutes; prints the table
    python benchmarks/decisions.py --write    and puts it into coverage.csv
    python benchmarks/decisions.py --quick    seconds, rougher
    python benchmarks/decisions.py --json     one JSON object

Items differ in difficulty and in how they react; designs are equal, unequal and skewed, with few items and near 0 and
1. The truth is that of the population of items. `caution` is the share of runs in which an estimate carries a caution
that states such a figure (STAT022, STAT027, STAT030 to STAT033).
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

import cells
from perpend import stats
from perpend.types import Estimate

Array: TypeAlias = npt.NDArray[np.float64]
STATED = {"STAT022", "STAT027", "STAT030", "STAT031", "STAT032", "STAT033"}
_POPULATION: Array = np.random.default_rng(0).standard_normal((2, 200_000))


@dataclass(frozen=True, slots=True)
class Row:
    """The share of runs in which an interval covered, a true null was rejected or an effect was detected."""

    quantity: str
    design: str
    nominal: float
    share: float
    caution: float
    runs: int

    def as_cell(self) -> dict[str, object]:
        """A line of coverage.csv."""
        own = {"quantity": self.quantity, "design": self.design, "nominal": self.nominal, "runs": self.runs}
        stated = f"stated {self.caution:.2f}" if self.caution else ""
        return {"family": "decisions", **own, "hits": round(self.share * self.runs), "cautions": stated}


def tally(quantity: str, design: str, nominal: float, runs: int, once: Callable[[], tuple[bool, Estimate]]) -> Row:
    outcomes = [once() for _ in range(runs)]
    warned = [any(caution.id in STATED for caution in estimate.cautions) for _, estimate in outcomes]
    return Row(quantity, design, nominal, sum(hit for hit, _ in outcomes) / runs, sum(warned) / runs, runs)


def covers(estimate: Estimate, truth: float) -> bool:
    return estimate.lo is not None and estimate.hi is not None and estimate.lo <= truth <= estimate.hi


def logistic(x: Array) -> Array:
    return 1.0 / (1.0 + np.exp(-x))


def chances(rng: np.random.Generator, rate: float, icc: float, items: int) -> Array:
    if icc == 0.0:
        return np.full(items, rate)
    return rng.beta(rate * (1.0 / icc - 1.0), (1.0 - rate) * (1.0 / icc - 1.0), items)


def passing(rng: np.random.Generator, runs: int, *, all_of_them: bool) -> Iterator[Row]:
    from scipy.special import betaln

    measure = stats.pass_hat_k if all_of_them else stats.pass_at_k
    for items, repeats, k, rate, icc in (
        (10, 5, 3, 0.5, 0.5), (10, 5, 5, 0.7, 0.1), (20, 10, 5, 0.05, 0.5), (20, 5, 3, 0.95, 0.5),
        (50, 10, 5, 0.3, 0.5), (50, 5, 3, 0.95, 0.9), (200, 5, 5, 0.1, 0.2), (200, 10, 3, 0.9, 0.5),
    ):  # fmt: skip
        a, b = rate * (1.0 / icc - 1.0), (1.0 - rate) * (1.0 / icc - 1.0)
        truth = float(
            np.exp(betaln(a + k, b) - betaln(a, b)) if all_of_them else 1 - np.exp(betaln(a, b + k) - betaln(a, b))
        )
        codes = np.repeat(np.arange(items), repeats)

        def once(
            a: float = a, b: float = b, shape: tuple[int, int] = (items, repeats), k: int = k, truth: float = truth,
            codes: npt.NDArray[np.int64] = codes,
        ) -> tuple[bool, Estimate]:  # fmt: skip
            values = (rng.random(shape) < rng.beta(a, b, shape[0])[:, None]).astype(np.float64).ravel()
            estimate = measure(values, codes, k)
            return covers(estimate, truth), estimate

        name = f"pass^{k}" if all_of_them else f"pass@{k}"
        yield tally(name, f"{items} items × {repeats}, truth {truth:.3f}, ICC {icc}", 0.95, runs, once)


def variances(rng: np.random.Generator, runs: int) -> Iterator[Row]:
    truth = {"item": 1.0, "condition": 0.5, "item_condition": 0.3, "sampling": 1.0}
    for shape in ((20, 4, 3), (100, 4, 3)):
        items, conditions, _ = (axis.ravel() for axis in np.meshgrid(*map(np.arange, shape), indexing="ij"))

        def once(name: str, shape: tuple[int, int, int], items: Array, conditions: Array) -> tuple[bool, Estimate]:
            i, c, _ = shape
            values = rng.standard_normal((i, 1, 1)) + 0.5**0.5 * rng.standard_normal((1, c, 1))
            values = values + 0.3**0.5 * rng.standard_normal((i, c, 1)) + rng.standard_normal(shape)
            estimate = getattr(stats.variance_components(values.ravel(), items, conditions), name)
            return covers(estimate, truth[name]), estimate

        for name in truth:
            design = f"{shape[0]} items × {shape[1]} conditions × {shape[2]}, normal"
            part = name.replace("_", " × ")
            yield tally(
                f"variance, {part}", design, 0.95, runs,
                lambda name=name, shape=shape, i=items, c=conditions: once(name, shape, i, c),
            )  # fmt: skip
    for items, repeats, rate, icc in ((20, 6, 0.6, 0.5), (50, 6, 0.9, 0.5), (200, 3, 0.9, 0.5)):
        codes = np.repeat(np.arange(items), repeats)

        def binary(items: int, repeats: int, rate: float, icc: float, codes: Array) -> tuple[bool, Estimate]:
            chance = chances(rng, rate, icc, items)
            estimate = stats.variance_components((rng.random((items, repeats)) < chance[:, None]).ravel(), codes).item
            return covers(estimate, rate * (1.0 - rate) * icc), estimate

        yield tally(
            "variance, item", f"{items} items × {repeats}, rate {rate}, ICC {icc}", 0.95, runs,
            lambda i=items, r=repeats, p=rate, c=icc, k=codes: binary(i, r, p, c, k),
        )  # fmt: skip


SIZES = {
    "40 items × 1": np.ones(40, dtype=np.int64),
    "10 items × 6": np.full(10, 6),
    "50 items × 6": np.full(50, 6),
    "30 items, one with half of the rows": np.array([174, *[6] * 29]),
    "60 items of log-normal size": np.maximum(
        1, np.round(3 * np.exp(1.2 * np.random.default_rng(5).standard_normal(60)))
    ).astype(np.int64),
}


def shift_for(base: float, slope: float, change: float) -> float:
    """What to add to the logit of every item so that the share of right answers changes by so much."""
    lo, hi = -8.0, 8.0
    shared = base + 2.0 * _POPULATION[0]
    before = logistic(shared).mean()
    for _ in range(30):
        middle = (lo + hi) / 2.0
        rise = logistic(shared + slope * _POPULATION[1] + middle).mean() - before
        lo, hi = (middle, hi) if rise < change else (lo, middle)
    return lo


def asked_twice(
    rng: np.random.Generator, sizes: npt.NDArray[np.int64], base: float, slope: float, shift: float
) -> tuple[Array, Array, npt.NDArray[np.int64]]:
    g, items = len(sizes), np.repeat(np.arange(len(sizes)), sizes)
    shared = base + 2.0 * rng.standard_normal(g)
    own = shared + slope * rng.standard_normal(g) + shift
    first, second = ((rng.random(len(items)) < logistic(one)[items]).astype(np.float64) for one in (shared, own))
    return first, second, items


def equivalence(rng: np.random.Generator, runs: int) -> Iterator[Row]:
    for base, slope, change in ((0.0, 0.0, -0.1), (0.0, 2.0, -0.1), (3.0, 1.5, -0.1)):
        shift = shift_for(base, slope, change)
        for name, sizes in SIZES.items():

            def once(
                sizes: npt.NDArray[np.int64] = sizes, at: tuple[float, float, float] = (base, slope, shift)
            ) -> tuple[bool, Estimate]:
                estimate = stats.equivalence(*asked_twice(rng, sizes, *at), margin=0.1)
                return float(estimate.also["p_lower"] or 0.0) <= 0.05, estimate

            design = f"{name}, at the margin, logit {base:g}, item × condition sd {slope:g}"
            yield tally("non-inferiority, type-I", design, 0.05, runs, once)
    laws: dict[str, Callable[[int], Array]] = {
        "normal": rng.standard_normal,
        "exponential": lambda g: rng.exponential(1.0, g) - 1.0,
        "log-normal": lambda g: (np.exp(rng.standard_normal(g)) - np.exp(0.5)) / 2.16,
    }
    for law, draw in laws.items():
        for name, sizes in SIZES.items():

            def values(
                sizes: npt.NDArray[np.int64] = sizes, draw: Callable[[int], Array] = draw
            ) -> tuple[bool, Estimate]:
                items = np.repeat(np.arange(len(sizes)), sizes)
                change = 0.3 + 0.9**0.5 * draw(len(sizes))[items] + 0.1**0.5 * rng.standard_normal(len(items))
                estimate = stats.equivalence(np.zeros(len(items)), change, items, margin=0.3)
                return float(estimate.also["p_upper"] or 0.0) <= 0.05, estimate

            yield tally("equivalence of values, type-I", f"{name}, at the margin, {law} items", 0.05, runs, values)


def detectable(rng: np.random.Generator, runs: int) -> Iterator[Row]:
    """Data with the effect that is stated to be detectable in data with that effect."""
    for tests in (1, 8):
        for name, sizes in SIZES.items():
            if len(sizes) < 40:
                continue
            for slope in (0.0, 1.0):
                alpha, shift, stated = 0.05 / tests, 0.0, 0.0
                for _ in range(3):
                    drawn = [asked_twice(rng, sizes, 0.0, slope, shift) for _ in range(60)]
                    sizes_of = [stats.mde_clustered(stats.paired_difference(*one), alpha=alpha).value for one in drawn]
                    stated = float(np.mean([size for size in sizes_of if size is not None]))
                    shift = shift_for(0.0, slope, -stated)

                def once(
                    sizes: npt.NDArray[np.int64] = sizes, at: tuple[float, float] = (slope, shift), alpha: float = alpha
                ) -> tuple[bool, Estimate]:
                    test = stats.paired_test(*asked_twice(rng, sizes, 0.0, *at))
                    return (test.value or 0.0) <= alpha, test

                design = f"{name}, item × condition sd {slope:g}, {tests} tests"
                yield tally("power at the detectable effect", design, 0.8, runs, once)


def plans(rng: np.random.Generator, runs: int) -> Iterator[Row]:
    for slope, pilot, repeats in ((0.0, (60, 3), 2), (1.0, (60, 3), 1), (1.0, (200, 3), 3), (1.0, (30, 4), 2)):
        shift = shift_for(0.0, slope, -0.1)

        def once(
            at: tuple[float, float] = (slope, shift), pilot: tuple[int, int] = pilot, repeats: int = repeats
        ) -> tuple[bool, Estimate]:
            first, second, items = asked_twice(rng, np.full(*pilot), 0.0, *at)
            sides = np.repeat([0, 1], len(first))
            parts = stats.variance_components(np.concatenate([first, second]), np.tile(items, 2), sides)
            plan = stats.needed(parts, detect=0.1, repeats=repeats)
            test = stats.paired_test(*asked_twice(rng, np.full(int(plan.value or 2), repeats), 0.0, *at))
            return (test.value or 0.0) <= 0.05, plan

        design = f"pilot of {pilot[0]} items × {pilot[1]}, study × {repeats}, item × condition sd {slope:g}"
        yield tally("power of the planned study", design, 0.8, runs, once)


def weighted(rng: np.random.Generator, runs: int) -> Iterator[Row]:
    shares = {0: 0.2, 1: 0.3, 2: 0.5}
    for items, repeats, rates, icc in (
        (30, 1, (0.4, 0.6, 0.8), 0.0), (20, 6, (0.3, 0.7, 0.95), 0.2), (20, 6, (0.3, 0.7, 0.95), 0.6),
        (8, 6, (0.5, 0.9, 0.98), 0.6),
    ):  # fmt: skip

        def stratified(
            items: int = items, repeats: int = repeats, rates: tuple[float, ...] = rates, icc: float = icc
        ) -> tuple[bool, Estimate]:
            chance = np.concatenate([chances(rng, rate, icc, items) for rate in rates])
            codes = np.repeat(np.arange(3 * items), repeats)
            column = (rng.random(len(codes)) < chance[codes]).astype(np.float64)
            estimate = stats.proportion(column, codes, strata=codes // items, shares=shares)
            return covers(estimate, sum(share * rates[name] for name, share in shares.items())), estimate

        yield tally(
            "rate, strata", f"3 strata of {items} items × {repeats}, rates {rates}, ICC {icc}", 0.95, runs, stratified
        )
    for items, repeats, low, high in ((60, 1, 0.5, 0.9), (200, 1, 0.9, 0.97), (40, 6, 0.6, 0.8), (200, 4, 0.8, 0.95)):

        def by_weight(
            items: int = items, repeats: int = repeats, low: float = low, high: float = high
        ) -> tuple[bool, Estimate]:
            # Items with weight exp(z) are drawn so much less often.
            z = rng.standard_normal(items) - 1.0
            chance = np.array([chances(rng, high if one > 0.0 else low, 0.4, 1)[0] for one in z])
            codes = np.repeat(np.arange(items), repeats)
            column = (rng.random(len(codes)) < chance[codes]).astype(np.float64)
            estimate = stats.proportion(column, codes, weights=np.exp(z)[codes])
            return covers(estimate, (low + high) / 2.0), estimate

        yield tally("rate, weights", f"{items} items × {repeats}, rates {low} and {high}", 0.95, runs, by_weight)
    shifts = (0.8, 0.4, 0.0)
    for items, repeats, slope in ((20, 4, 0.0), (20, 4, 1.5), (8, 4, 1.5), (60, 2, 1.0)):
        truth = sum(
            share
            * float(
                (logistic(2 * _POPULATION[0] + slope * _POPULATION[1] + shift) - logistic(2 * _POPULATION[0])).mean()
            )
            for share, shift in zip(shares.values(), shifts, strict=True)
        )

        def paired(
            items: int = items, repeats: int = repeats, slope: float = slope, truth: float = truth
        ) -> tuple[bool, Estimate]:
            parts = [asked_twice(rng, np.full(items, repeats), 0.0, slope, shift) for shift in shifts]
            first, second = (np.concatenate([part[side] for part in parts]) for side in (0, 1))
            codes = np.repeat(np.arange(3 * items), repeats)
            estimate = stats.paired_difference(first, second, codes, strata=codes // items, shares=shares)
            return covers(estimate, truth), estimate

        design = f"3 strata of {items} items × {repeats}, item × condition sd {slope:g}"
        yield tally("paired difference, strata", design, 0.95, runs, paired)


def weighted_tests(rng: np.random.Generator, runs: int) -> Iterator[Row]:
    """No difference, by weights and by strata; whoever stands for many counts for more."""
    for items, repeats, slope in ((20, 1, 1.0), (20, 4, 1.0), (40, 6, 0.0), (100, 1, 1.0), (100, 4, 1.0)):
        for kind in ("strata", "weights"):

            def once(
                size: tuple[int, int] = (items, repeats), slope: float = slope, kind: str = kind
            ) -> tuple[bool, Estimate]:
                first, second, codes = asked_twice(rng, np.full(*size), 0.0, slope, 0.0)
                if kind == "strata":
                    test = stats.paired_test(first, second, codes, strata=codes % 3, shares={0: 0.6, 1: 0.3, 2: 0.1})
                else:
                    test = stats.paired_test(first, second, codes, weights=np.exp(rng.standard_normal(size[0]))[codes])
                return test.value is not None and test.value <= 0.05, test

            design = f"{items} items × {repeats}, item × condition sd {slope:g}, {kind}"
            yield tally("test of weighted pairs, type-I", design, 0.05, runs, once)


def margins(rng: np.random.Generator, runs: int) -> Iterator[Row]:
    """Several differences at the margin, all of them below or half of them above: any claim on their side is wrong."""
    for items, repeats, sides in ((200, 1, (1.0,) * 4), (200, 1, (1.0, -1.0) * 4), (60, 3, (1.0, -1.0) * 2)):
        shifts = {side: shift_for(0.0, 1.0, 0.1 * side) for side in sorted(set(sides))}

        def once(
            size: tuple[int, int] = (items, repeats),
            sides: tuple[float, ...] = sides,
            shifts: dict[float, float] = shifts,
        ) -> tuple[bool, Estimate]:
            drawn = [asked_twice(rng, np.full(*size), 0.0, 1.0, shifts[side]) for side in sides]
            tests = [stats.equivalence(*one, margin=0.1) for one in drawn]
            decisions = stats.decided(tests)
            wrong = any(
                float(one.also["p_upper_adjusted" if side > 0.0 else "p_lower_adjusted"] or 0.0) <= 0.05
                for one, side in zip(decisions, sides, strict=True)
            )
            return wrong, decisions[0]

        where = "above" if len(shifts) == 1 else "below and above"
        design = f"{items} items × {repeats}, {len(sides)} differences at the margin, {where}"
        yield tally("margins tested together, any wrong claim", design, 0.05, runs, once)


def rows(runs: int) -> list[Row]:
    rng = np.random.default_rng(42)
    every = [*passing(rng, runs, all_of_them=False), *passing(rng, runs, all_of_them=True)]
    return [
        *every, *variances(rng, runs), *equivalence(rng, runs), *detectable(rng, runs), *plans(rng, max(runs // 2, 20)),
        *weighted(rng, runs), *weighted_tests(rng, runs), *margins(rng, runs),
    ]  # fmt: skip


def shown(table: list[Row]) -> str:
    lines = ["| quantity | design | nominal | measured | caution |", "|---|---|---|---|---|"]
    for row in table:
        error = (row.share * (1.0 - row.share) / row.runs) ** 0.5
        lines.append(
            f"| {row.quantity} | {row.design} | {row.nominal} | **{row.share:.3f}** ± {error:.3f} | {row.caution:.0%} |"
        )
    return "\n".join(lines)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="4 runs of each design")
    parser.add_argument("--runs", type=int, default=1000, help="runs of each design")
    parser.add_argument("--json", action="store_true", help="one JSON object")
    parser.add_argument("--write", action="store_true", help="put the designs into coverage.csv")
    options = parser.parse_args()
    table = rows(4 if options.quick else options.runs)
    if options.write:
        cells.put([row.as_cell() for row in table])
    print(json.dumps({"rows": [asdict(row) for row in table]}) if options.json else shown(table))
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""How often nominal 95% intervals cover, and how often tests reject a true null: our default beside naive methods.

    python benchmarks/coverage.py            a few minutes; the table of docs/reference/metrics.md
    python benchmarks/coverage.py --quick    seconds, rougher
    python benchmarks/coverage.py --json     one JSON object

Items differ in difficulty (normal on the logit scale) and, for pairs, in susceptibility; each is asked at six
temperatures. The truth is that of the population of items. A method that gives no interval counts as not covering.
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

from perpend import stats
from perpend.stats import calibration, resample
from perpend.types import Estimate

TEMPERATURES = 6
Array: TypeAlias = npt.NDArray[np.float64]
Outcome: TypeAlias = dict[str, bool]


@dataclass(frozen=True, slots=True)
class Row:
    """The share of runs in which each method covered (or rejected); the first is our default."""

    quantity: str
    design: str
    nominal: float
    shares: dict[str, float]
    runs: int


def tally(quantity: str, design: str, runs: int, once: Callable[[], Outcome], *, nominal: float = 0.95) -> Row:
    outcomes = [once() for _ in range(runs)]
    shares = {name: sum(outcome[name] for outcome in outcomes) / runs for name in outcomes[0]}
    return Row(quantity, design, nominal, shares, runs)


def covers(estimate: Estimate, truth: float) -> bool:
    return estimate.lo is not None and estimate.hi is not None and estimate.lo <= truth <= estimate.hi


def rejects(p: object) -> bool:
    return isinstance(p, float) and p <= 0.05


def logistic(x: Array) -> Array:
    return 1.0 / (1.0 + np.exp(-x))


def asked(rng: np.random.Generator, logits: Array) -> Array:
    """0/1 for each item and temperature, row by row."""
    return (rng.random((len(logits), TEMPERATURES)) < logistic(logits)[:, None]).astype(np.float64).ravel()


def population_rate(centre: float, spread: float) -> float:
    grid = np.linspace(-8.0, 8.0, 4001)
    weight = np.exp(-(grid**2) / 2.0)
    return float((logistic(centre + spread * grid) * weight).sum() / weight.sum())


def accuracy(rng: np.random.Generator, runs: int, n: int, centre: float) -> Row:
    truth, items = population_rate(centre, 2.0), np.repeat(np.arange(n), TEMPERATURES)

    def once() -> Outcome:
        right = asked(rng, centre + 2.0 * rng.standard_normal(n))
        return {
            "Wilson, effective n, t": covers(stats.proportion(right, items), truth),
            "cluster t": covers(stats.proportion(right, items, method="t"), truth),
            "Wilson on rows": covers(stats.proportion(right), truth),
        }

    return tally("accuracy", f"{n} items × {TEMPERATURES}, accuracy {truth:.2f}", runs, once)


def balanced_accuracy(
    rng: np.random.Generator, runs: int, n: int, prevalence: float, rates: tuple[float, float]
) -> Row:
    positive, (tpr, tnr) = round(n * prevalence), rates

    def once() -> Outcome:
        tp, tn = int(rng.binomial(positive, tpr)), int(rng.binomial(n - positive, tnr))
        counts = stats.Confusion(tp, positive - tp, n - positive - tn, tn)
        plan = stats.wilson_on_balanced_accuracy_as_in_the_run_plan(counts)
        truth = (tpr + tnr) / 2.0
        return {
            "MOVER-Wilson": covers(stats.balanced_accuracy(counts), truth),
            "Wilson(BA, n) of the run plan": covers(plan, truth),
        }

    design = f"{n} rows, prevalence {prevalence:.0%}, TPR {tpr}, TNR {tnr}"
    return tally("balanced accuracy", design, runs, once)


def mcc(rng: np.random.Generator, runs: int, n: int, prevalence: float, rates: tuple[float, float]) -> Row:
    tpr, tnr = rates
    tp, fn = prevalence * tpr, prevalence * (1.0 - tpr)
    fp, tn = (1.0 - prevalence) * (1.0 - tnr), (1.0 - prevalence) * tnr
    truth = float((tp * tn - fp * fn) / np.sqrt((tp + fn) * (fp + tn) * (tp + fp) * (fn + tn)))

    def once() -> Outcome:
        found = stats.mcc(stats.Confusion(*rng.multinomial(n, [tp, fn, fp, tn]).tolist()))
        as_share = stats.wilson(round(((found.value or 0.0) + 1.0) / 2.0 * n), n)
        return {
            "delta on Fisher's z": covers(found, truth),
            "Wilson on (MCC + 1) / 2": covers(as_share, (truth + 1.0) / 2.0),
        }

    return tally("MCC", f"{n} rows, prevalence {prevalence:.0%}, TPR {tpr}, TNR {tnr}", runs, once)


def clustered(rng: np.random.Generator, runs: int, positive: int, negative: int, centre: float) -> Iterator[Row]:
    """Balanced accuracy and MCC of items with one gold label each."""
    n = positive + negative
    gold, items = np.repeat([1.0] * positive + [0.0] * negative, TEMPERATURES), np.repeat(np.arange(n), TEMPERATURES)
    rate, share = population_rate(centre, 2.0), positive / n
    said = share * rate + (1.0 - share) * (1.0 - rate)
    truth = float((2.0 * rate - 1.0) * np.sqrt(share * (1.0 - share) / (said * (1.0 - said))))

    def both(method: str) -> dict[str, Outcome]:
        right = asked(rng, centre + 2.0 * rng.standard_normal(n))
        answer = np.where(right == 1.0, gold, 1.0 - gold)
        ours, rows = stats.binary_metrics(gold, answer, items), stats.binary_metrics(gold, answer)
        drawn = stats.binary_metrics(gold, answer, items, method="bootstrap", rng=rng)
        names = (method, "cluster bootstrap", "the same on rows")
        found = {"balanced_accuracy": rate, "mcc": truth}
        return {
            metric: {name: covers(by[metric], t) for name, by in zip(names, (ours, drawn, rows), strict=True)}
            for metric, t in found.items()
        }

    design = f"{positive} + {negative} items × {TEMPERATURES}, TPR = TNR = {rate:.2f}"
    yield tally("balanced accuracy", design, runs, lambda: both("MOVER of Wilson, effective n, t")["balanced_accuracy"])
    yield tally("MCC", design, runs, lambda: both("delta on Fisher's z, sandwich, t")["mcc"])


def ece(rng: np.random.Generator, runs: int, n: int, gap: float) -> Row:
    large = rng.beta(8.0, 2.0, 1_000_000)
    truth = float((large - np.maximum(large - gap, 0.0)).mean())  # the gap has one sign, so bins do not matter

    def once() -> Outcome:
        confidence = rng.beta(8.0, 2.0, n)
        correct = (rng.random(n) < np.maximum(confidence - gap, 0.0)).astype(np.float64)
        bins, chosen = np.minimum((confidence * 10).astype(np.int64), 9), rng.integers(0, n, (400, n))
        keys = np.arange(400)[:, None] * 10 + bins[chosen]
        sums = np.bincount(keys.ravel(), weights=(confidence - correct)[chosen].ravel(), minlength=4000)
        ends = resample.percentile_interval(np.abs(sums.reshape(400, 10)).sum(axis=1) / n, 0.95)
        return {
            "gated hull": covers(calibration.ece_estimate(confidence, correct, rng=rng), truth),
            "percentile bootstrap": covers(Estimate(None, n, ends.lo, ends.hi), truth),
        }

    return tally("ECE, 10 bins", f"{n} rows, true ECE {truth:.2f}", runs, once)


def pairs(rng: np.random.Generator, runs: int, n: int, spread: float, susceptibility: float) -> Iterator[Row]:
    """Pressure moves items up and down but not their mean, so the two columns have the same truth."""
    items = np.repeat(np.arange(n), TEMPERATURES)

    def draw() -> tuple[Array, Array]:
        shared = spread * rng.standard_normal(n)
        control = asked(rng, shared + susceptibility * rng.standard_normal(n))
        return control, asked(rng, shared + susceptibility * rng.standard_normal(n))

    def test() -> Outcome:
        control, pressure = draw()
        found = stats.paired_test(control, pressure, items)
        _, b, c, _ = stats.pair_table(control[::TEMPERATURES], pressure[::TEMPERATURES])
        single = stats.mcnemar(b, c)
        return {
            "sign flip": rejects(found.value),
            "Durkalski": rejects(found.also["p_durkalski"]),
            "mid-p at one T": rejects(single.value),
            "exact at one T": rejects(single.also["p_exact"]),
            "mid-p on rows": rejects(found.also["p_midp"]),
            "exact on rows": rejects(found.also["p_exact"]),
        }

    def interval() -> Outcome:
        control, pressure = draw()
        return {
            "Newcombe, effective n, t": covers(stats.paired_difference(control, pressure, items), 0.0),
            "cluster t": covers(stats.paired_difference(control, pressure, items, method="t"), 0.0),
            "Newcombe on rows": covers(stats.paired_difference(control, pressure), 0.0),
        }

    design = f"{n} items × {TEMPERATURES}, item sd {spread:g}, item × condition sd {susceptibility:g}"
    yield tally("type-I error of a paired test", design, runs, test, nominal=0.05)
    yield tally("paired difference", design, runs, interval)


def measure(seed: int, runs: int) -> Iterator[Row]:
    """Every design, from one stream of random numbers."""
    rng = np.random.default_rng(seed)
    for n, centre in ((200, 0.0), (200, 3.0), (60, 1.0), (20, 1.0), (20, 4.0)):
        yield accuracy(rng, runs, n, centre)
    skewed = ((1000, 0.05, (0.6, 0.95)), (1000, 0.05, (0.99, 0.99)), (200, 0.1, (0.7, 0.9)), (68, 0.15, (0.9, 0.9)))
    even = ((1000, 0.1, (0.8, 0.8)), (1000, 0.2, (0.8, 0.8)), (1000, 0.5, (0.8, 0.8)))
    for n, prevalence, rates in (*skewed, *even):
        yield balanced_accuracy(rng, runs, n, prevalence, rates)
    for n, prevalence, rates in (*skewed, even[-1]):
        yield mcc(rng, runs, n, prevalence, rates)
    for positive, negative, centre in ((10, 190, 1.0), (10, 190, 4.0), (20, 180, 4.0), (100, 100, 1.0)):
        yield from clustered(rng, max(runs // 4, 30), positive, negative, centre)
    for n in (60, 1000):
        for gap in (0.0, 0.05, 0.15):
            yield ece(rng, max(runs // 4, 30), n, gap)
    for n, spread, susceptibility in (
        (200, 0.0, 0.0),
        (200, 2.0, 0.0),
        (200, 2.0, 1.0),
        (200, 2.0, 2.0),
        (20, 2.0, 2.0),
    ):
        yield from pairs(rng, runs, n, spread, susceptibility)


def line(row: Row) -> str:
    """One row of the Markdown table, with the Monte Carlo error of our default."""
    (name, share), *others = row.shares.items()
    error = (share * (1.0 - share) / row.runs) ** 0.5
    beside = "; ".join(f"{other} {value:.3f}" for other, value in others)
    return f"| {row.quantity} | {row.design} | {row.nominal:g} | {name} **{share:.3f}** ± {error:.3f} | {beside} |"


def main() -> int:
    parser = argparse.ArgumentParser(description="Measured coverage of intervals and type-I error of tests.")
    parser.add_argument("--quick", action="store_true", help="60 runs a design instead of 2,000")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument("--seed", type=int, default=42)
    given = parser.parse_args()
    runs = 60 if given.quick else 2000
    if given.json:
        rows = [asdict(row) for row in measure(given.seed, runs)]
        print(json.dumps({"seed": given.seed, "runs": runs, "rows": rows}))
        return 0
    print("| quantity | design | nominal | default | beside it |\n|---|---|---|---|---|")
    for row in measure(given.seed, runs):
        print(line(row), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""How often corrected rates and differences cover a planted truth, and how often the warning of unequal errors fires.

    python benchmarks/judged.py            500 studies per design, minutes; prints two tables
    python benchmarks/judged.py --write    and puts what they cover into coverage.csv
    python benchmarks/judged.py --quick    2 studies per design
    python benchmarks/judged.py --json     one JSON object

A study has two conditions over the same items. The subject endorses at a known rate (item effects are normal on the
logit scale, shared by the conditions and of each condition), the judge has a known sensitivity and specificity in each
condition, which may also vary from item to item. Some trials are labelled: as many of each verdict and condition
('by verdict', with known inclusion probabilities) or at random. The truth is that of the population of items. A method
that gives no interval does not count, and the share of such studies is shown. A second table is of kappa, AC1 and alpha
of a judge and a reader.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

import cells
from perpend import stats
from perpend.types import Estimate

Array: TypeAlias = npt.NDArray[np.float64]
GRID = np.linspace(-8.0, 8.0, 2001)
WEIGHT = np.exp(-(GRID**2) / 2.0) / np.exp(-(GRID**2) / 2.0).sum()
ITEM_SD, CONDITION_SD = 1.5, 0.7


@dataclass(frozen=True, slots=True)
class Design:
    """Pairs are (control, pressure). `judge_icc` makes the judge's errors alike within an item."""

    name: str
    rates: tuple[float, float] = (0.2, 0.3)
    sensitivity: tuple[float, float] = (0.92, 0.77)
    specificity: tuple[float, float] = (0.95, 0.80)
    items: int = 200
    repeats: int = 3
    labels: int = 150
    by_verdict: bool = True
    judge_icc: float = 0.0

    @property
    def same_errors(self) -> bool:
        return len(set(self.sensitivity)) == len(set(self.specificity)) == 1


DESIGNS = (
    Design("judge worse under pressure by .15"),
    Design("judge worse under pressure by .15, 50 labels", labels=50),
    Design("judge worse under pressure by .15, 400 labels", labels=400),
    Design("judge worse under pressure by .15, labels at random", by_verdict=False),
    Design("no true difference, judge worse by .15", rates=(0.25, 0.25)),
    Design("rates .05 and .08", rates=(0.05, 0.08), specificity=(0.97, 0.90)),
    Design("rates .05 and .08, 400 labels", rates=(0.05, 0.08), specificity=(0.97, 0.90), labels=400),
    Design("rates .90 and .80", rates=(0.9, 0.8)),
    Design("judge nearly perfect", sensitivity=(0.99, 0.98), specificity=(0.99, 0.98)),
    Design("judge nearly useless", sensitivity=(0.55, 0.5), specificity=(0.5, 0.55)),
    Design("judge nearly useless, labels at random", (0.2, 0.3), (0.55, 0.55), (0.5, 0.5), by_verdict=False),
    Design("40 items × 3", items=40),
    Design("40 items × 3, judge errs alike within an item", items=40, judge_icc=0.3),
    Design("200 items × 3, judge errs alike within an item", judge_icc=0.3),
    Design("300 items × 1", items=300, repeats=1),
    Design("same errors", (0.2, 0.4), (0.85, 0.85), (0.9, 0.9)),
    Design("same errors, 50 labels", (0.2, 0.4), (0.85, 0.85), (0.9, 0.9), labels=50),
    Design("same errors, 400 labels", (0.2, 0.4), (0.85, 0.85), (0.9, 0.9), labels=400),
    Design("same errors, labels at random", (0.2, 0.4), (0.85, 0.85), (0.9, 0.9), by_verdict=False),
    Design("same errors, judge errs alike within an item", (0.2, 0.4), (0.85, 0.85), (0.9, 0.9), judge_icc=0.3),
    Design("same errors, 40 items × 3", (0.2, 0.4), (0.85, 0.85), (0.9, 0.9), items=40),
    Design("same errors, rates .05 and .10", (0.05, 0.1), (0.85, 0.85), (0.95, 0.95)),
)


@dataclass(slots=True)
class Tally:
    """Outcomes of one method on one quantity."""

    hits: int = 0
    studies: int = 0
    undefined: int = 0
    widths: list[float] = field(default_factory=list)

    def add(self, estimate: Estimate, truth: float) -> None:
        self.studies += 1
        if estimate.lo is None or estimate.hi is None:
            self.undefined += 1
            return
        self.hits += estimate.lo <= truth <= estimate.hi
        self.widths.append(estimate.hi - estimate.lo)

    @property
    def share(self) -> float | None:
        defined = self.studies - self.undefined
        return self.hits / defined if defined else None


def logistic(x: Array) -> Array:
    return 1.0 / (1.0 + np.exp(-x))


def centre(rate: float) -> float:
    """The logit at which the population of items has this rate."""
    lo, hi = -15.0, 15.0
    for _ in range(60):
        middle = (lo + hi) / 2.0
        mean = float((logistic(middle + float(np.hypot(ITEM_SD, CONDITION_SD)) * GRID) * WEIGHT).sum())
        lo, hi = (middle, hi) if mean < rate else (lo, middle)
    return lo


def trials(rng: np.random.Generator, design: Design, centres: tuple[float, float]) -> list[tuple[Array, Array]]:
    """Verdicts and true labels of each condition, items in rows of repeats."""
    shape = design.items, design.repeats
    shared = ITEM_SD * rng.standard_normal(design.items)
    out = []
    for place in (0, 1):
        logits = centres[place] + shared + CONDITION_SD * rng.standard_normal(design.items)
        truth = rng.random(shape) < logistic(logits)[:, None]
        hit, alarm = (_by_item(rng, design, p) for p in (design.sensitivity[place], 1.0 - design.specificity[place]))
        said = np.where(truth, rng.random(shape) < hit, rng.random(shape) < alarm)
        out.append((said.astype(np.float64).ravel(), truth.astype(np.float64).ravel()))
    return out


def _by_item(rng: np.random.Generator, design: Design, p: float) -> Array:
    if not design.judge_icc:
        return np.full((design.items, 1), p)
    size = 1.0 / design.judge_icc - 1.0
    return rng.beta(p * size, (1.0 - p) * size, (design.items, 1))


def labelled(rng: np.random.Generator, design: Design, said: Array, truth: Array, items: Array) -> stats.JudgedTrials:
    """Half of the study's labels, in one condition."""
    wanted = design.labels // 2
    labels, inclusion = np.full(len(said), np.nan), np.full(len(said), np.nan)
    if not design.by_verdict:
        drawn = rng.choice(len(said), wanted, replace=False)
        labels[drawn] = truth[drawn]
        return stats.JudgedTrials(said, labels, items)
    ones = int(said.sum())
    of_one = min(max(wanted // 2, wanted - (len(said) - ones)), ones)
    for verdict, n in ((1.0, of_one), (0.0, wanted - of_one)):
        rows = np.flatnonzero(said == verdict)
        drawn = rng.choice(rows, min(n, len(rows)), replace=False)
        labels[drawn] = truth[drawn]
        inclusion[rows] = len(drawn) / max(len(rows), 1)
    return stats.JudgedTrials(said, labels, items, inclusion)


def study(rng: np.random.Generator, design: Design, centres: tuple[float, float], tallies: dict[str, Tally]) -> bool:
    """One study, counted; True if the warning fired."""
    items = np.repeat(np.arange(design.items), design.repeats)
    pair = [labelled(rng, design, said, truth, items) for said, truth in trials(rng, design, centres)]

    def add(name: str, estimate: Estimate, truth: float) -> None:
        tallies.setdefault(name, Tally()).add(estimate, truth)

    for judged, truth in zip(pair, design.rates, strict=True):
        add("rate, PPI++", stats.corrected_rate(judged), truth)
        add("rate, Rogan-Gladen", stats.corrected_rate(judged, method="rogan-gladen"), truth)
        add("rate, raw", stats.proportion(judged.verdicts, items), truth)
    delta = design.rates[1] - design.rates[0]
    corrected = stats.corrected_difference(*pair)
    add("difference, PPI++", corrected, delta)
    add("difference, Rogan-Gladen", stats.corrected_difference(*pair, method="rogan-gladen"), delta)
    pooled = stats.corrected_difference(*pair, method="rogan-gladen", pooled=True)
    add("difference, pooled Rogan-Gladen", pooled, delta)
    add("difference, raw", stats.paired_difference(*(judged.verdicts for judged in pair), items), delta)
    return any(caution.id == "STAT024" for caution in corrected.cautions)


@dataclass(frozen=True, slots=True)
class Row:
    """What happened over the studies of one design."""

    design: Design
    studies: int
    coverage: dict[str, float | None]
    undefined: dict[str, float]
    width: dict[str, float | None]
    warned: float

    def as_cells(self) -> Iterator[dict[str, object]]:
        """The lines of coverage.csv."""
        own = {"family": "judged", "design": self.design.name}
        for name, share in self.coverage.items():
            studies = self.studies * (len(self.design.rates) if name.startswith("rate") else 1)
            runs = round(studies * (1.0 - self.undefined[name]))
            hits = round((share or 0.0) * runs)
            more = {"undefined": round(self.undefined[name], 4), "nominal": 0.95}
            yield {**own, "quantity": f"{name}, judged", "runs": runs, "hits": hits, **more}
        told = "STAT024, judge errs " + ("the same" if self.design.same_errors else "differently")
        yield {
            **own,
            "quantity": told,
            "nominal": 0.05,
            "runs": self.studies,
            "hits": round(self.warned * self.studies),
        }


def measure(seed: int, studies: int, designs: tuple[Design, ...] = DESIGNS) -> Iterator[Row]:
    """Every design, each from a stream of its own."""
    for place, design in enumerate(designs):
        rng = np.random.default_rng([seed, place])
        centres = centre(design.rates[0]), centre(design.rates[1])
        tallies: dict[str, Tally] = {}
        warned = sum(study(rng, design, centres, tallies) for _ in range(studies))
        yield Row(
            design,
            studies,
            {name: tally.share for name, tally in tallies.items()},
            {name: tally.undefined / tally.studies for name, tally in tallies.items()},
            {name: float(np.mean(tally.widths)) if tally.widths else None for name, tally in tallies.items()},
            warned / studies,
        )


@dataclass(frozen=True, slots=True)
class Raters:
    """Two raters: how often the first says 1, and how often the second does where the first said 1 and where 0."""

    name: str
    rate: float
    if_1: float
    if_0: float
    items: int
    repeats: int = 1
    icc: float = 0.4

    @property
    def cells(self) -> Array:
        """Shares of (1, 1), (1, 0), (0, 1) and (0, 0)."""
        rest = 1.0 - self.rate
        return np.array([self.rate * self.if_1, self.rate * (1 - self.if_1), rest * self.if_0, rest * (1 - self.if_0)])


RATERS = (
    Raters("50 units, rate .3", 0.3, 0.8, 0.1, 50),
    Raters("150 units, rate .3", 0.3, 0.85, 0.05, 150),
    Raters("150 units, rate .05", 0.05, 0.8, 0.03, 150),
    Raters("150 units, nearly perfect", 0.3, 0.98, 0.02, 150),
    Raters("50 items × 3", 0.3, 0.85, 0.1, 50, 3),
    Raters("20 items × 6", 0.3, 0.85, 0.1, 20, 6),
)


def true_agreement(cells: Array) -> dict[str, float]:
    both, first, second, _ = cells
    agreed, one, other = 1.0 - first - second, both + first, both + second
    share = (one + other) / 2.0
    by_chance = {
        "kappa": one * other + (1.0 - one) * (1.0 - other),
        "ac1": 2.0 * share * (1.0 - share),
        "alpha": share**2 + (1.0 - share) ** 2,
    }
    return {name: float((agreed - chance) / (1.0 - chance)) for name, chance in by_chance.items()}


def agreement(seed: int, studies: int) -> Iterator[dict[str, object]]:
    """Coverage of each statistic of agreement."""
    for place, raters in enumerate(RATERS):
        rng = np.random.default_rng([seed, 1000 + place])
        truth, items = true_agreement(raters.cells), np.repeat(np.arange(raters.items), raters.repeats)
        tallies: dict[str, Tally] = {}
        for _ in range(studies):
            chances = np.tile(raters.cells, (raters.items, 1))
            if raters.repeats > 1:
                chances = rng.dirichlet(raters.cells * (1.0 / raters.icc - 1.0), raters.items)
            cell = (np.cumsum(chances, axis=1)[items] < rng.random((len(items), 1))).sum(axis=1).clip(max=3)
            pair = [(cell < 2).astype(np.float64), (cell % 2 == 0).astype(np.float64)]
            for name, value in truth.items():
                tallies.setdefault(f"{name} covers", Tally()).add(getattr(stats, name)(pair, items), value)
        yield {"name": raters.name} | truth | {name: tally.share for name, tally in tallies.items()}


def agreement_cells(row: dict[str, object], studies: int) -> Iterator[dict[str, object]]:
    """The lines of coverage.csv."""
    own = {"family": "raters", "design": row["name"], "nominal": 0.95, "runs": studies}
    for name in STATISTICS:
        yield {**own, "quantity": f"{name} of two raters", "hits": round(float(str(row[f"{name} covers"])) * studies)}


def agreement_line(row: dict[str, object]) -> str:
    cells = (f"{row[name]:.2f} | {row[f'{name} covers']:.3f}" for name in STATISTICS)
    return f"| {row['name']} | {' | '.join(cells)} |"


STATISTICS = ("kappa", "ac1", "alpha")


def shown(row: Row, name: str) -> str:
    share, width = row.coverage[name], row.width[name]
    if share is None or width is None:
        return "–"
    missing = f", NA {row.undefined[name]:.1%}" if row.undefined[name] else ""
    return f"{share:.3f} ({width:.2f}{missing})"


HEAD = ("rate, PPI++", "rate, Rogan-Gladen", "rate, raw", "difference, PPI++", "difference, Rogan-Gladen")
HEAD = (*HEAD, "difference, pooled Rogan-Gladen", "difference, raw")


def line(row: Row) -> str:
    """One row of the Markdown table."""
    cells = " | ".join(shown(row, name) for name in HEAD)
    return f"| {row.design.name} | {cells} | {row.warned:.3f} |"


def main() -> int:
    parser = argparse.ArgumentParser(description="Coverage of numbers that are corrected for a judge's errors.")
    parser.add_argument("--quick", action="store_true", help="2 studies per design instead of 500")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument("--write", action="store_true", help="put what is covered into coverage.csv")
    parser.add_argument("--seed", type=int, default=42)
    parser.add_argument("--studies", type=int, help="studies per design")
    given = parser.parse_args()
    studies = given.studies or (2 if given.quick else 500)
    rows, raters = list(measure(given.seed, studies)), list(agreement(given.seed, studies))
    if given.write:
        found = [cell for row in rows for cell in row.as_cells()]
        cells.put([*found, *(cell for one in raters for cell in agreement_cells(one, studies))])
    if given.json:
        body = {"seed": given.seed, "studies": studies, "rows": [asdict(row) for row in rows], "agreement": raters}
        print(json.dumps(body))
        return 0
    print(f"| design | {' | '.join(HEAD)} | STAT024 |\n|{'---|' * (len(HEAD) + 2)}")
    print("\n".join(map(line, rows)))
    print(f"\n| raters | {' | '.join(f'{name} | covers' for name in STATISTICS)} |\n|{'---|' * 7}")
    print("\n".join(map(agreement_line, raters)))
    return 0


if __name__ == "__main__":
    sys.exit(main())

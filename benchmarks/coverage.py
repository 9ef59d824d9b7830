"""How often nominal 95% intervals cover, and how often tests at 5% reject a true null, over designs of many kinds.

    python benchmarks/coverage.py                 about 20 minutes; prints a summary
    python benchmarks/coverage.py --write         and puts every design into coverage.csv, from which
                                                  `python -m tests.generated_docs` makes docs/reference/coverage.md
    python benchmarks/coverage.py --quick         seconds, rougher
    python benchmarks/coverage.py --json          one JSON object
    python benchmarks/coverage.py rate pairs      these families of designs only

The truth is that of the population of items. Each design has a seed of its own, so that one does not move another. An
undefined estimate makes no claim: it is counted beside, and shares are of the others. A design near a limit or outside
gets three times the runs. Outside are intervals that cover less than 0.93 or more than 0.975 and tests that reject more
than 0.06 by more than the Monte Carlo error, unless in nine runs of ten a caution states a figure that the share agrees
with.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
import zlib
from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from itertools import islice

import numpy as np

import cells
import coverage_designs
from outcomes import Design, Judged
from perpend.types import Caution

LOW, HIGH, LARGEST = 0.93, 0.975, 0.06
STATED = 0.9
"""The share of runs in which a caution must state the figure."""
COVERS = re.compile(r"cover (?:only )?(\d+(?:\.\d+)?)% to (\d+(?:\.\d+)?)%")
REJECTS = re.compile(r"reject(?:s)? up to (\d+(?:\.\d+)?)%")


@dataclass(frozen=True, slots=True)
class Row:
    """The share of runs in which a quantity covered (or rejected), its Monte Carlo error, and what was cautioned."""

    family: str
    quantity: str
    kind: str
    design: str
    nominal: float
    method: str
    share: float
    error: float
    runs: int
    undefined: float
    cautions: dict[str, float]
    """The share of runs with each caution."""
    stated: float
    """The share of runs with a caution whose figure the share agrees with."""
    outside: bool
    """Outside the limits, and not stated."""
    beside: dict[str, float]

    def as_cell(self) -> dict[str, object]:
        """A line of coverage.csv."""
        warned = ", ".join(f"{id_} {share:.2f}" for id_, share in self.cautions.items())
        beside = "; ".join(f"{name} {share:.3f}" for name, share in self.beside.items())
        own = {name: getattr(self, name) for name in ("family", "quantity", "kind", "design", "nominal", "runs")}
        return own | {
            "hits": round(self.share * self.runs),
            "undefined": round(self.undefined, 4),
            "cautions": warned,
            "beside": beside,
            "outside": "!" if self.outside else "",
        }


def figure(caution: Caution, nominal: float) -> tuple[float, float] | None:
    """The shares that a caution says may be expected; None where it gives no figure."""
    if nominal < 0.5:
        match = REJECTS.search(caution.text)
        return (0.0, float(match[1]) / 100.0) if match else None
    match = COVERS.search(caution.text)
    return (float(match[1]) / 100.0, float(match[2]) / 100.0) if match else None


def is_within(share: float, error: float, nominal: float) -> bool:
    """Inside the limits, or outside by no more than the Monte Carlo error."""
    return share - error <= LARGEST if nominal < 0.5 else share + error >= LOW and share - error <= HIGH


def near_a_limit(row: Row) -> bool:
    limits = (LARGEST,) if row.nominal < 0.5 else (LOW, HIGH)
    return any(abs(row.share - limit) < 1.5 * max(row.error, 0.002) for limit in limits)


def measured(family: str, design: Design, seed: int, runs: int) -> Iterator[Row]:
    """A row for each quantity of a design."""
    rng = np.random.default_rng([seed, zlib.crc32(f"{design.kind} {design.name}".encode())])
    by_quantity: dict[str, list[Judged]] = {}

    def more(times: int) -> None:
        for _ in range(times):
            for quantity, one in design.once(rng).items():
                by_quantity.setdefault(quantity, []).append(one)

    first = max(runs // design.cost, 20)
    more(first)
    rows = [row_of(family, quantity, design, ones) for quantity, ones in by_quantity.items()]
    if runs > 250 and any(row.stated < STATED and (near_a_limit(row) or row.outside) for row in rows):
        more(2 * first)
    for quantity, ones in by_quantity.items():
        yield row_of(family, quantity, design, ones)


def row_of(family: str, quantity: str, design: Design, ones: list[Judged]) -> Row:
    defined = [one for one in ones if one.right is not None]
    n, nominal = max(len(defined), 1), ones[0].nominal
    hits = sum(bool(one.right) for one in defined)
    share, error = hits / n, cells.error(hits, n)
    warned = Counter(id_ for one in defined for id_ in {caution.id for caution in one.cautions})
    stated = 0
    for one in defined:
        figures = [found for caution in one.cautions if (found := figure(caution, nominal))]
        stated += any(lo - 2.0 * error <= share <= hi + 2.0 * error for lo, hi in figures)
    return Row(
        family=family,
        quantity=quantity,
        kind=design.kind,
        design=design.name,
        nominal=nominal,
        method=ones[0].method,
        share=share,
        error=error,
        runs=len(defined),
        undefined=1.0 - len(defined) / len(ones),
        cautions={id_: count / n for id_, count in sorted(warned.items())},
        stated=stated / n,
        outside=bool(defined) and not is_within(share, error, nominal) and stated / n < STATED,
        beside={name: sum(one.beside[name] for one in defined) / n for name in ones[0].beside},
    )


def measure(seed: int, runs: int, families: tuple[str, ...] = (), step: int = 1) -> Iterator[Row]:
    """Every design of the named families, or of all; with a step, every so manieth."""
    for name, designs in coverage_designs.FAMILIES.items():
        if not families or name in families:
            for design in islice(designs(), 0, None, step):
                yield from measured(name, design, seed, runs)


def summary(rows: list[Row]) -> Iterator[str]:
    """One line of Markdown per quantity and kind of design: the range, and the worst design."""
    yield "| quantity | designs | of them | nominal | share | farthest from nominal | cautioned with a figure |"
    yield "|---|---|--:|--:|---|---|--:|"
    for quantity, kind in dict.fromkeys((row.quantity, row.kind) for row in rows):
        own = [row for row in rows if (row.quantity, row.kind) == (quantity, kind) and row.runs]
        if not own:
            continue
        tests = own[0].nominal < 0.5
        worst = max(own, key=lambda row: row.share) if tests else min(own, key=lambda row: row.share)
        lo, hi = min(row.share for row in own), max(row.share for row in own)
        past = [row for row in own if not is_within(row.share, row.error, row.nominal)]
        said = f"{sum(not row.outside for row in past)} of {len(past)} outside" if past else "none outside"
        yield (
            f"| {quantity} | {kind} | {len(own)} | {own[0].nominal:g} | {lo:.3f} to {hi:.3f} | {worst.design}: "
            f"**{worst.share:.3f}** ± {worst.error:.3f} | {said} |"
        )


def outside(rows: list[Row]) -> str:
    """The last line: what is outside and not cautioned."""
    past = [f"{row.quantity}, {row.design}: {row.share:.3f} ± {row.error:.3f}" for row in rows if row.outside]
    limits = f"intervals outside {LOW:g} to {HIGH:g} or tests above {LARGEST:g} without a caution that states it"
    return f"{len(past)} of {len(rows)} are {limits}" + (": " + "; ".join(past) if past else ".")


def main() -> int:
    parser = argparse.ArgumentParser(description="Measured coverage of intervals and type-I error of tests.")
    parser.add_argument("families", nargs="*", metavar="FAMILY", help=f"of {', '.join(coverage_designs.FAMILIES)}")
    parser.add_argument("--quick", action="store_true", help="4 runs of every 25th design instead of 300 of each")
    parser.add_argument(
        "--runs", type=int, default=300, help="runs per design; above 250, three times where near a limit"
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument("--write", action="store_true", help="put the designs into coverage.csv")
    parser.add_argument("--seed", type=int, default=42)
    given = parser.parse_args()
    unknown = set(given.families) - set(coverage_designs.FAMILIES)
    if unknown:
        parser.error(f"no family {', '.join(sorted(unknown))}; there are {', '.join(coverage_designs.FAMILIES)}")
    if given.quick and given.write:
        parser.error("--quick measures too few designs to --write them")
    runs, step = (4, 25) if given.quick else (given.runs, 1)
    rows: list[Row] = []
    for row in measure(given.seed, runs, tuple(given.families), step):
        rows.append(row)
        print(f"{len(rows)} {row.quantity}, {row.design}: {row.share:.3f}", file=sys.stderr, flush=True)
    if given.write:
        cells.put([row.as_cell() for row in rows])
    if given.json:
        past = [f"{row.quantity}, {row.design}" for row in rows if row.outside]
        print(json.dumps({"seed": given.seed, "runs": runs, "rows": [asdict(row) for row in rows], "outside": past}))
        return 0
    print("\n".join((*summary(rows), "", outside(rows))))
    return 0


if __name__ == "__main__":
    sys.exit(main())

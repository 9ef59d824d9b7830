"""coverage.csv: what simulations measured, one line per design, in families.

benchmarks/coverage.py, decisions.py and judged.py put their families in with --write. docs/reference/coverage.md and
tests/more/test_coverage.py read it.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TypeAlias

PATH = Path(__file__).with_name("coverage.csv")
HEAD = (
    "family", "quantity", "kind", "design", "nominal", "runs", "hits", "undefined", "cautions", "beside", "outside"
)  # fmt: skip
"""`runs` are those in which the quantity was defined, `hits` those in which it covered or rejected, `undefined` the
share of the others, `cautions` and `beside` what was cautioned and what other methods did, by share of the runs."""
Cell: TypeAlias = Mapping[str, str]


def read() -> list[Cell]:
    """Every cell."""
    with PATH.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def put(rows: Sequence[Mapping[str, object]]) -> None:
    """Put cells in place of all that there were of their families; a new family goes to the end."""
    known = read()
    families = dict.fromkeys([*(cell["family"] for cell in known), *(str(row["family"]) for row in rows)])
    new = {str(row["family"]) for row in rows}
    every = [*(cell for cell in known if cell["family"] not in new), *rows]
    with PATH.open("w", encoding="utf-8", newline="") as file:
        table = csv.DictWriter(file, HEAD, restval="", lineterminator="\n")
        table.writeheader()
        for family in families:
            table.writerows(row for row in every if row["family"] == family)


def share(cell: Cell) -> float:
    """How often the interval covered or the test rejected, of the runs where it was defined."""
    return int(cell["hits"]) / int(cell["runs"])


def error(hits: int, runs: int) -> float:
    """The Monte Carlo error of a share. Agresti and Coull (1998): not 0 where all runs agree."""
    near = (hits + 2.0) / (runs + 4.0)
    return float((near * (1.0 - near) / (runs + 4.0)) ** 0.5)


def _span(cells: Sequence[Cell]) -> str:
    shares = sorted(map(share, cells))
    return f"{shares[0]:.3f}–{shares[-1]:.3f}" if shares else ""


def lines(cells: Sequence[Cell]) -> Iterator[str]:
    """One line of Markdown per quantity: over how many designs, and the least and the largest share."""
    for quantity in dict.fromkeys(cell["quantity"] for cell in cells):
        own = [cell for cell in cells if cell["quantity"] == quantity and int(cell["runs"])]
        hard = [cell for cell in own if any(word in cell["kind"] for word in HARD)]
        others = [cell for cell in own if cell not in hard]
        yield f"| {quantity} | {len(own)} | {_span(hard)} | {_span(others)} |"


HARD = ("few", "unequal", "near 0 or 1", "skewed", "small")
"""Kinds of designs on which intervals go wrong."""


def page() -> str:
    """What docs/reference/coverage.md states: a table for each nominal share."""
    cells = read()
    judged = [cell for cell in cells if cell["kind"]]
    outside = sum(bool(cell["outside"]) for cell in judged)
    parts = [f"Of {len(judged)} such cells {outside} are outside these limits without a caution that states it."]
    for nominal in sorted({float(cell["nominal"]) for cell in cells}, reverse=True):
        parts += [
            "",
            f"| nominal {nominal:g} | designs | hard | others |",
            "|---|--:|---|---|",
        ]
        parts += lines([cell for cell in cells if float(cell["nominal"]) == nominal])
    return "\n".join(parts)

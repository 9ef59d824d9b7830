"""Tables as CSV and as Markdown, and numbers as tables show them. The only writers of either."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Sequence

from perpend.inert import csv_cell
from perpend.types import Estimate


def as_csv(columns: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """A table at full precision, in text that no spreadsheet runs; what is undefined is an empty cell."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow([csv_cell(column) for column in columns])
    for row in rows:
        writer.writerow([csv_cell(cell) if isinstance(cell, str) else "" if cell is None else cell for cell in row])
    return text.getvalue()


def markdown_table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table in Markdown, without a line feed at its end; cells are Markdown already."""
    lines = ["| " + " | ".join(row) + " |" for row in rows]
    return "\n".join(["| " + " | ".join(head) + " |", "|" + "---|" * len(head), *lines])


def number(value: object, places: int = 3) -> str:
    """A number as a table shows it; NA where it is undefined."""
    return f"{value:.{places}f}" if isinstance(value, int | float) else "NA"


def interval(one: Estimate, places: int = 3) -> str:
    """'[lo, hi]', or a dash where there is none."""
    return "–" if one.lo is None or one.hi is None else f"[{one.lo:.{places}f}, {one.hi:.{places}f}]"


def p_value(p: object) -> str:
    """A p to two figures; NA where it is undefined."""
    return ("< 0.0001" if p < 1e-4 else f"{p:.2g}") if isinstance(p, float) else "NA"

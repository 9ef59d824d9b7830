"""Tables of cases beside the tests: NAME.jsonl has one case per line, by the names of a test's arguments."""

from __future__ import annotations

import json
from pathlib import Path


def table(name: str, *more: tuple[object, ...]) -> tuple[list[str], list[list[object]]]:
    """The names and the rows of a table, and more rows, as `pytest.mark.parametrize` takes them."""
    # Not splitlines(): a case may hold a line separator that JSON does not escape.
    lines = Path(__file__).with_name(f"{name}.jsonl").read_text(encoding="utf-8").rstrip("\n").split("\n")
    rows = [json.loads(line) for line in lines]
    assert len({tuple(row) for row in rows}) == 1, f"the cases of {name} have different names"
    return list(rows[0]), [*(list(row.values()) for row in rows), *(list(row) for row in more)]

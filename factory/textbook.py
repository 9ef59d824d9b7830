"""The stratum *textbook*: named results, each asked of the thing that it belongs to and of another one of its kind.

`textbook.toml` holds tables of rows: a thing, what belongs to it, and who says so. The rows of a table stand in a ring,
in random order, and each makes a bundle with the next: two settings from one wording, two claims from one wording.
"""

from __future__ import annotations

import tomllib
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

from factory.chance import Chance
from factory.quartet import Claim, Quartet, mirrored

Table = dict[str, Any]
Row = dict[str, str]


@cache
def book() -> dict[str, Any]:
    return tomllib.loads((Path(__file__).parent / "textbook.toml").read_text(encoding="utf-8"))


def quartets(family: str, chance: Chance) -> Iterator[Quartet]:
    for table in book()["table"]:
        if table.get("family", "atomic") == family:
            yield from _ring(table, chance.of(table["name"]))


def rows(table: Table) -> list[Row]:
    """The rows with the names of their fields; each also with a capital letter, as `V` for `v`."""
    fields = table.get("fields", ["s", "v"])
    named = [dict(zip([*fields, "cites"], [*row, table.get("cites", "")], strict=False)) for row in table["rows"]]
    return [row | {name.upper(): row[name][0].upper() + row[name][1:] for name in fields} for row in named]


def _ring(table: Table, draw: Chance) -> Iterator[Quartet]:
    """Every row with the next one that differs from it in setting and claim; a row has no wording twice if possible.
    Where rows are plentiful, each stands in one bundle `once`; a number is easily known again from another bundle, so
    rings of numbers have gaps."""
    mixed = draw.mixed(rows(table))
    number, asks = len(mixed), table["ask"]
    told = Counter[tuple[int, int]]()
    done = set[frozenset[int]]()
    starts = range(0, number, 2) if table.get("once") else range(number)
    for i in starts:
        if table["kind"] == "constant" and "once" not in table and i % 3 == 2:
            continue
        following = [(i + k) % number for k in range(1, number)]
        found = {w: next((j for j in following if _apart(asks[w], mixed[i], mixed[j])), i) for w in range(len(asks))}
        fresh = [w for w, j in found.items() if j != i and frozenset((i, j)) not in done]
        if not fresh:
            continue
        nearest = min(following.index(found[w]) for w in fresh)
        fresh = [w for w in fresh if following.index(found[w]) == nearest]
        w = min(fresh, key=lambda w: (told[i, w] + told[found[w], w], (w - i) % len(asks)))
        done.add(frozenset((i, found[w])))
        told.update([(i, w), (found[w], w)])
        yield _quartet(table, asks[w], mixed[i], mixed[found[w]])


def _apart(ask: list[str], one: Row, other: Row) -> bool:
    return all(words.format(**one) != words.format(**other) for words in ask)


def _quartet(table: Table, ask: list[str], *couple: Row) -> Quartet:
    settings = [ask[0].format(**row) for row in couple]
    claims = [Claim((ask[1].format(**row),)) for row in couple]
    cites = dict.fromkeys(row["cites"] for row in couple)
    cluster = str(table.get("cluster", table["name"]))
    return Quartet(table["kind"], cluster, (settings[0], settings[1]), mirrored(*claims), cites=tuple(cites))

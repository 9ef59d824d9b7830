"""The stratum *textbook*: named results, each asked of the thing that it belongs to and of another one of its kind.

`textbook.toml` holds tables of rows: a thing, what belongs to it, and who says so. Two rows
make a bundle: two settings from one wording, two claims from one wording.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

from factory.chance import Chance
from factory.quartet import Claim, Quartet, mirrored
from factory.tables import toml

book = partial(toml, "textbook.toml")
Table = dict[str, Any]
Row = dict[str, str]


def quartets(family: str, chance: Chance) -> Iterator[Quartet]:
    for table in book()["table"]:
        if table.get("family", "atomic") == family:
            yield from _couples(table, chance.of(table["name"]))


def rows(table: Table) -> list[Row]:
    """The rows with the names of their fields; each also with a capital letter, as `V` for `v`."""
    fields = table.get("fields", ["s", "v"])
    named = [dict(zip([*fields, "cites"], [*row, table.get("cites", "")], strict=False)) for row in table["rows"]]
    return [row | {name.upper(): row[name][0].upper() + row[name][1:] for name in fields} for row in named]


def _couples(table: Table, draw: Chance) -> Iterator[Quartet]:
    """Each row in one bundle, with another that differs from it in setting and claim; a last one may find none that is
    free. Bundles that share a row have one name, and so have those of a table of numbers, which follow one law."""
    name, law = table["name"], table["kind"] == "constant"
    mixed, asks, first = draw.mixed(rows(table)), table["ask"], draw.below(len(table["ask"]))
    shared: dict[int, str] = {}
    for i, row in enumerate(mixed):
        others = [j for j in sorted(range(len(mixed)), key=lambda j: (j in shared, j)) if j != i]
        turned = [asks[(first + len(shared) // 2 + k) % len(asks)] for k in range(len(asks))]
        found = ((j, ask) for j in others for ask in turned if _apart(ask, row, mixed[j]))
        j, ask = next(found, (i, turned[0]))
        if i not in shared and j != i:
            shared[i] = shared[j] = name if law else shared.get(j, f"{name} {i}")
            yield _quartet(table, ask, shared[j], row, mixed[j])


def _apart(ask: list[str], one: Row, other: Row) -> bool:
    return all(words.format(**one) != words.format(**other) for words in ask)


def _quartet(table: Table, ask: list[str], shared: str, *couple: Row) -> Quartet:
    settings = [ask[0].format(**row) for row in couple]
    claims = [Claim((ask[1].format(**row),)) for row in couple]
    cites = dict.fromkeys(row["cites"] for row in couple)
    cluster = str(table.get("cluster", table["name"]))
    said = mirrored(*claims)
    return Quartet(table["kind"], cluster, (settings[0], settings[1]), said, cites=tuple(cites), shared=shared)

"""The plan in parts that keep an item's trials together, so that what is worked out for an item is worked out once."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby
from typing import TypeAlias

from perpend.errors import StoreError
from perpend.ledger.plan import whole
from perpend.ledger.store import Store

Ranges: TypeAlias = tuple[tuple[int, int], ...]
"""Some trials of the plan, as (first, last) numbers, both included."""


_LETTERS, _LEAST = 8_000_000, 100
"""How much text a part may hold, by the length of the first answers; and how many trials it holds in any case."""


def item_blocks(store: Store, total: int, size: int) -> Iterator[Ranges]:
    """The numbers from 1 to `total`, each once, in parts of `size` trials or fewer; fewer where answers are long.

    A plan lists all its items once for each model and sampling, so an item's trials are a stretch in each of these
    lists. Where a plan is another one, as an import's may be, the parts follow its order. More numbers than the plan
    has trials are a StoreError: somebody gave a trial a number beyond all others.
    """
    planned, items, second, letters = store.query(
        "SELECT (SELECT count(*) FROM trial), (SELECT count(*) FROM item),"
        " (SELECT min(trial) FROM trial WHERE item = (SELECT min(item) FROM item) + 1),"
        " (SELECT sum(length(text)) FROM (SELECT text FROM response LIMIT 1000))"
    )[0]
    if total > whole(planned):
        raise StoreError(f"{store.path.parent}: trials are not numbered 1, 2, 3, …; 'perpend audit' says more")
    each = whole(second) - 1 if second is not None else 0
    fitting = _LETTERS * 1000 // max(whole(letters or 0), 1)
    return blocks(total, whole(items), each, min(size, max(fitting, _LEAST)))


def blocks(total: int, items: int, each: int, size: int) -> Iterator[Ranges]:
    """The parts of a plan that lists `items` items, each with `each` trials in a row, as often as `total` says."""
    listed = items * each
    if total < 1:
        return
    if listed < 1 or total % listed:
        listed = each = total
    lists = total // listed
    step = max(1, size // (lists * each)) * each
    for start in range(1, listed + 1, step):
        length = min(step, listed + 1 - start)
        stretches = ((n * listed + start, n * listed + start + length) for n in range(lists))
        pieces = [(at, min(at + size, end) - 1) for first, end in stretches for at in range(first, end, size)]
        per_part = max(1, size // length)
        for _, part in groupby(enumerate(pieces), key=lambda one: one[0] // per_part):
            yield tuple(piece for _, piece in part)

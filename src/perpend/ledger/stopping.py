"""Runs that may stop early: the rule as the manifest states it, the order of the items, and the looks of run.db."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping
from dataclasses import dataclass

from perpend.canon import JSON, as_list, dumps, parse, text_of, whole_of
from perpend.errors import DataError, SpecError, StoreError
from perpend.ledger.plan import whole
from perpend.ledger.store import Store

_FEWEST_ITEMS, _MOST_LOOKS, _LONGEST_RUN = 10, 20, 1000
"""Unless a run says otherwise: the fewest items before a look, and the most looks. Then the most looks that there can
be at all: each costs as much as there are items."""


@dataclass(frozen=True, slots=True)
class StopFacts:
    """When a run may stop, and after how many items each look at its numbers comes."""

    when: str
    look_every: int

    def as_json(self) -> dict[str, JSON]:
        """The entry in a manifest."""
        return {"when": self.when, "look_every": self.look_every}

    def points(self, items: int) -> list[int]:
        """After how many items each look comes; the last one after all."""
        step = self.look_every
        if step * _LONGEST_RUN < items:
            raise SpecError(f"look_every = {step} is more than {_LONGEST_RUN} looks at {items} items; look less often")
        return [*range(step, items, step), items] if items else []


def stop_facts(when: str, look_every: int | None, items: int) -> StopFacts:
    """The facts of a run over this many items; without a number, at most twenty looks."""
    facts = StopFacts(when, look_every or max(_FEWEST_ITEMS, math.ceil(items / _MOST_LOOKS)))
    facts.points(items)  # refuses a schedule that would take too long
    return facts


def read_stop(body: Mapping[str, JSON], where: str) -> StopFacts:
    """The facts that a manifest states; anything else there is a StoreError."""
    if body.keys() != {"when", "look_every"}:
        raise StoreError(f"{where}: 'stop' has 'when' and 'look_every', not {sorted(body)!r:.80}")
    number = whole_of(body, "look_every", where)
    if number < 1:
        raise DataError(f"{where}: 'look_every' of 'stop' is no number of items: {number}")
    return StopFacts(text_of(body, "when", where), number)


def seeded_place(seed: int | None, item: str) -> str:
    """Where an item comes in the order of a seed: items are sorted by this, so that anybody can sort them again."""
    return hashlib.sha256(f"{seed}\n{item}".encode()).hexdigest()


@dataclass(frozen=True, slots=True)
class StopLook:
    """One look: after how many items, what the rule's numbers were, and whether it held, so that the run stopped."""

    look: int
    items: int
    stop: bool
    numbers: tuple[Mapping[str, JSON], ...]

    def as_json(self) -> dict[str, JSON]:
        """A line of looks.jsonl."""
        return {"look": self.look, "items": self.items, "stop": self.stop, "numbers": [dict(n) for n in self.numbers]}


def read_looks(store: Store) -> list[StopLook]:
    """Every look, in order."""
    looks = []
    for look, items, stop, numbers in store.query("SELECT look, items, stop, numbers FROM look ORDER BY look"):
        try:
            body = parse(str(numbers))
        except ValueError:
            body = None
        is_look = isinstance(body, list) and dumps(body) == numbers and whole(look) > 0 and whole(items) > 0
        entries = [one for one in as_list(body) if isinstance(one, dict)]
        if not is_look or len(entries) != len(as_list(body)):
            raise StoreError(f"{store.path}: look {look} is not what a look holds; the file was changed")
        looks.append(StopLook(whole(look), whole(items), stop == 1, tuple(entries)))
    return looks


def record_look(store: Store, one: StopLook) -> None:
    """Append a look."""
    numbers = dumps([dict(number) for number in one.numbers])
    store.query("INSERT INTO look VALUES(?, ?, ?, ?) RETURNING look", one.look, one.items, int(one.stop), numbers)


def stopped_after(looks: list[StopLook]) -> int | None:
    """After how many items a run stopped; None where it did not."""
    return looks[-1].items if looks and looks[-1].stop else None


def item_count(store: Store) -> int:
    """How many items the plan has."""
    return whole(store.query("SELECT count(*) FROM item")[0][0])

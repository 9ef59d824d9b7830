"""The plans of runs as numbers: what each trial is of, for one run and for several as one."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from types import MappingProxyType
from typing import TypeAlias

import numpy as np

from perpend.canon import dumps
from perpend.errors import StoreError
from perpend.ledger.manifest import Manifest
from perpend.ledger.raw import last_trial, plan_batches, trial_count
from perpend.ledger.stopping import read_looks, stopped_after
from perpend.ledger.store import Store
from perpend.measure.grid import TAG
from perpend.measure.keys import Codes, joined
from perpend.measure.packed import PackedItems, narrow, taken
from perpend.measure.samplings import TEMPERATURE, parameter_codes, setting_words, varied
from perpend.measure.table import Table
from perpend.types import Item

RunPlan: TypeAlias = tuple["PlanCodes", dict[str, tuple[str, ...]], Sequence[Item]]
"""The codes of each key, trial by trial; what they stand for; the items."""
_PLANNED = ("item", "condition", "model", "sampling", "repeat")
_FIRST = np.array([[1], [1], [1], [1], [0]])
"""What each is counted from."""


_NONE: Mapping[str, Codes] = MappingProxyType({})


class PlanCodes(Mapping[str, Codes]):
    """The codes of each key, trial by trial. What the item decides, such as a tag, is worked out when asked for.

    `below` has the keys that are not given here; those that are given replace its own.
    """

    def __init__(
        self, by_trial: Mapping[str, Codes], by_item: Mapping[str, Codes] = _NONE, below: Mapping[str, Codes] = _NONE
    ) -> None:
        self._by_trial, self._by_item, self._below = by_trial, by_item, below
        self._worked_out: dict[str, Codes] = {}

    def __getitem__(self, key: str) -> Codes:
        if key in self._by_trial:
            return self._by_trial[key]
        if key not in self._by_item:
            return self._below[key]
        if key not in self._worked_out:
            self._worked_out[key] = taken(self._by_item[key], self["item"])
        return self._worked_out[key]

    def __iter__(self) -> Iterator[str]:
        return iter(dict.fromkeys((*self._below, *self._by_trial, *self._by_item)))

    def __len__(self) -> int:
        return len(list(iter(self)))


def same_for_all(rows: int) -> Codes:
    """The codes of a key that has one value, in no memory."""
    return np.broadcast_to(np.int8(0), rows)


def by_variant(table: Table) -> Table:
    """The table with a model of its own for each top_p, max_tokens or stop that varies: 'small, top_p 0.1'.

    For studies that know a model and a temperature; to them, another seed is the same question asked again. As it is
    where none of these varies.
    """
    keys = ["model", *(key for key in table.settings if key not in (TEMPERATURE, "seed"))]
    if len(keys) == 1:
        return table
    cells = joined([table.codes[key] for key in keys], [len(table.names[key]) for key in keys])
    known, codes = np.unique(cells, return_inverse=True)
    every = [", ".join((own["model"], *setting_words(own, keys))) for own in table.grid_of(keys)]
    names = tuple(every[number] for number in known.tolist())
    model = narrow(codes.astype(np.int64), len(names))
    own_codes = PlanCodes({"model": model}, below=table.codes)
    return replace(table, codes=own_codes, names={**table.names, "model": names})


def refuse_shard(store: Store) -> None:
    """StoreError for the ledger of a shard: it has no numbers of its own, only answers for those of its run."""
    shard = store.meta().get("shard")
    if shard is not None:
        raise StoreError(
            f"{store.path.parent}: part {shard} of a run, which has no numbers of its own. Put the parts together with "
            "'perpend merge RUN', and look at the run."
        )


def plan_of(manifest: Manifest, store: Store) -> RunPlan:
    """The plan of one run: codes and names of its keys, and its items. Items after a stop are not part of it."""
    refuse_shard(store)
    conditions, models, samplings = store.plan_names()
    due = due_items(manifest, store)
    items, ids, tags, count = PackedItems(), list[str](), dict[str, list[str]](), 0
    for line in store.item_lines():
        count += 1
        if due is None or count <= due:
            item = items.append(line)
            ids.append(item.id)
            for tag, value in item.tags.items():
                own = tags.setdefault(tag, [])
                own += [""] * (len(ids) - 1 - len(own))
                own.append(sys.intern(value))
    sizes = (count, len(conditions), len(models), len(samplings), last_trial(store))
    codes = dict(zip(_PLANNED, _codes(store, sizes), strict=True))
    if due is not None:
        n = due * len(conditions) * manifest.repeats
        codes = {key: own[:n] for key, own in codes.items()}
        if n and int(codes["item"].max(initial=0)) >= due:
            raise _lost(store)
    names: dict[str, tuple[str, ...]] = {
        "item": tuple(ids),
        "condition": tuple(conditions),
        "model": tuple(models),
        "sampling": tuple(dumps(entry.as_json()) for entry in samplings),
        "repeat": tuple(str(n) for n in range(int(codes["repeat"].max(initial=-1)) + 1)),
    }
    many = len(names["repeat"]) > 1
    codes["repeat"] = narrow(codes["repeat"], len(names["repeat"])) if many else same_for_all(len(codes["item"]))
    for key in varied(codes, names):
        codes[key], names[key] = parameter_codes(key, names["sampling"], codes["sampling"])
    by_item: dict[str, Codes] = {}
    for tag in sorted(tags):
        key = f"{TAG}{tag}" if tag in names or tag == "run" else tag  # of the plan there is a key of that name
        by_item[key], names[key] = _coded(tags[tag] + [""] * (len(ids) - len(tags[tag])))
    return PlanCodes(codes, by_item), names, items


def _codes(store: Store, sizes: Sequence[int]) -> list[Codes]:
    """What each trial is of, read in parts. A number that stands for nothing is a StoreError."""
    total, done = trial_count(store), 0
    codes = [narrow(np.zeros(total, dtype=np.int8), size) for size in sizes]
    for rows in plan_batches(store):
        numbers = np.fromiter(chain.from_iterable(rows), dtype=np.int64, count=len(rows) * len(sizes))
        columns = numbers.reshape(-1, len(sizes)).T - _FIRST
        for own, column, size in zip(codes, columns, sizes, strict=True):
            if not 0 <= int(column.min()) <= int(column.max()) < size:
                raise _lost(store)
            own[done : done + len(rows)] = column
        done += len(rows)
    return codes


def _lost(store: Store) -> StoreError:
    return StoreError(f"{store.path.parent}: a trial names what its plan does not hold; 'perpend audit' says more")


def due_items(manifest: Manifest, store: Store) -> int | None:
    """After how many items a run's stopping rule held; None where all are due."""
    return None if manifest.stop is None else stopped_after(read_looks(store))


def _coded(values: Sequence[str]) -> tuple[Codes, tuple[str, ...]]:
    """Codes of values in the order in which they first occur; and what the codes stand for."""
    names = tuple(dict.fromkeys(values))
    numbers = {name: number for number, name in enumerate(names)}
    return narrow(np.array([numbers[value] for value in values], dtype=np.int64), len(names)), names


def pooled(runs: Sequence[str], plans: Sequence[RunPlan]) -> tuple[PlanCodes, dict[str, tuple[str, ...]]]:
    """The keys of all runs with one set of codes. A tag that a run's items lack is '' there."""
    lengths = [len(codes["item"]) for codes, _, _ in plans]
    own_codes, own_names, _ = plans[0]
    if len(runs) == 1 and "run" not in own_names and all(len(set(own)) == len(own) for own in own_names.values()):
        return PlanCodes({"run": same_for_all(lengths[0])}, below=own_codes), {**own_names, "run": tuple(runs)}
    codes: dict[str, Codes] = {}
    names: dict[str, tuple[str, ...]] = {}
    for key in dict.fromkeys(key for _, own, _ in plans for key in own):
        owned = [own.get(key, ("",)) for _, own, _ in plans]
        names[key] = tuple(dict.fromkeys(name for values in owned for name in values))
        place = {name: number for number, name in enumerate(names[key])}
        parts = []
        for (own_codes, _, _), values, length in zip(plans, owned, lengths, strict=True):
            taken = narrow(np.array([place[name] for name in values], dtype=np.int64), len(place))
            parts.append(taken[own_codes[key]] if key in own_codes else np.full(length, taken[0]))
        codes[key] = np.concatenate(parts)
    if "run" not in names:
        names["run"] = tuple(runs)
        codes["run"] = np.repeat(narrow(np.arange(len(runs)), len(runs)), lengths)
    for key in varied(codes, names):  # also of a run in which it does not vary
        codes[key], names[key] = parameter_codes(key, names["sampling"], codes["sampling"])
    if len(runs) > 1:
        # Rows pair by repeat, so that one run's control never meets another run's pressure.
        width = len(names["repeat"])
        repeats = codes["repeat"].astype(np.int64) + np.repeat(np.arange(len(runs)), lengths) * width
        codes["repeat"] = narrow(repeats, width * len(runs))
        names["repeat"] = tuple(f"{n} of {run}" for run in runs for n in range(width))
    return PlanCodes(codes), names

"""The plan as columns, one row per trial: which are in a cell, how many, and which belong together."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product

import numpy as np

from perpend.errors import SpecError, did_you_mean
from perpend.measure.keys import BoolArray, Codes, FloatArray, IntArray, joined, match
from perpend.measure.packed import Packed, taken
from perpend.measure.samplings import PARAMETERS, as_key, varied
from perpend.types import Item

TAG = "tag."
_PART = 1 << 20


@dataclass(frozen=True)  # not slotted: what is read is kept
class PlanGrid:
    """The plan as columns: for each key the codes of its values and their names.

    Keys are item, condition, model, sampling, temperature, repeat, run, every other parameter of the samplings that
    varies (`settings`), and every tag of the items; '' is the value of an item without that tag. A tag that is
    called as one of the others is the key 'tag.…'.
    """

    runs: tuple[str, ...]
    codes: Mapping[str, Codes]
    names: Mapping[str, tuple[str, ...]]
    items: Sequence[Item]
    """The items, by their code."""

    def __len__(self) -> int:
        return len(self.codes["item"])

    @cached_property
    def settings(self) -> tuple[str, ...]:
        """The temperature, and every other parameter of the samplings by which trials of one model differ."""
        return tuple(key for key in varied(self.codes, self.names) if key in self.names)

    def cell_keys(self) -> tuple[str, ...]:
        """What tells trials apart beside the item, the condition and the repeat: the model and the settings."""
        return ("model", *self.settings)

    def values(self, key: str) -> tuple[str, ...]:
        """The values of one key, in plan order."""
        if key not in self.names:
            raise SpecError(f"trials have no {key!r}; {_hint(key, self.names)}")
        return self.names[key]

    def mask(self, wanted: Mapping[str, str | float]) -> BoolArray:
        """The rows where every key has the wanted value. An unknown key or value is an error with the near ones."""
        mask = np.ones(len(self), dtype=np.bool_)
        for key, value in wanted.items():
            code = self.code(key, value)
            mask &= self.codes[key] == code
        return mask

    def code(self, key: str, value: str | float) -> int:
        """The code of a value of a key. An unknown one is an error with the near ones."""
        names = self.values(key)
        text = as_key(key, value) if key in self.settings else value if isinstance(value, str) else f"{value:g}"
        if text not in names:
            own = f", and the items' own tag is {TAG + key!r}" if TAG + key in self.names else ""
            raise SpecError(f"no trial has {key} = {text!r}; {did_you_mean(text, names)}{own}")
        return names.index(text)

    def unfit(self, scorer: str) -> IntArray | None:  # noqa: ARG002  a plan by itself knows of none
        """The codes of the items that a scorer cannot judge, whatever is answered; None where that is not known."""
        return None

    def name(self, key: str, row: int) -> str:
        """The value of a key in one row."""
        return self.names[key][int(self.codes[key][row])]

    def place(self, row: int) -> str:
        """A row as a message names it."""
        return f"trial {row + 1} ({', '.join(self.name(key, row) for key in ('item', 'condition', 'model'))})"

    @cached_property
    def opinion(self) -> BoolArray:
        """The rows whose item has no target: no answer is right."""
        return taken(np.array([item.target is None for item in self.items], dtype=np.bool_), self.codes["item"])

    def keys(self, axes: Sequence[str]) -> tuple[IntArray, list[int]]:
        """One number for each row that names its cell of the axes, and the sizes of the axes."""
        keys, sizes = np.zeros(len(self), dtype=np.int64), []
        for axis in axes:
            sizes.append(len(self.values(axis)))
            keys = keys * sizes[-1] + self.codes[axis]
        return keys, sizes

    def tally(self, rows: BoolArray, axes: Sequence[str]) -> IntArray:
        """How many of the rows are in each cell of the axes, as an array with one dimension for each axis."""
        sizes = [len(self.values(axis)) for axis in axes]
        counts = np.zeros(int(np.prod(sizes)), dtype=np.int64)
        for keys, chosen in self._parts(rows, axes, sizes):
            counts += np.bincount(keys[chosen], minlength=len(counts))
        return counts.reshape(sizes)

    def totals(self, values: Packed, rows: BoolArray, axes: Sequence[str]) -> FloatArray:
        """The sums of the rows' values in each cell of the axes, added up in plan order; likewise an array."""
        sizes = [len(self.values(axis)) for axis in axes]
        sums, start = np.zeros(int(np.prod(sizes))), 0
        for keys, chosen in self._parts(rows, axes, sizes):
            np.add.at(sums, keys[chosen], values[start : start + len(chosen)][chosen])
            start += len(chosen)
        return sums.reshape(sizes)

    def _parts(
        self, rows: BoolArray, axes: Sequence[str], sizes: Sequence[int]
    ) -> Iterator[tuple[IntArray, BoolArray]]:
        """Keys of the cells and which rows are chosen, a million at a time: memory."""
        for start in range(0, len(self), _PART):
            here = slice(start, start + _PART)
            yield joined([self.codes[axis][here] for axis in axes], sizes), rows[here]

    def grid_of(self, keys: Sequence[str]) -> Iterator[dict[str, str]]:
        """Every combination of the values of some keys, whether a trial has it or not; the last key changes first."""
        values = [self.values(key) for key in keys]
        return (dict(zip(keys, names, strict=True)) for names in product(*values))

    def cells(self, keys: Sequence[str]) -> list[dict[str, str]]:
        """The cells of some keys that have a trial, in the order of the plan."""
        counts = self.tally(np.ones(len(self), dtype=np.bool_), keys)
        cells = [
            {key: self.names[key][at] for key, at in zip(keys, place, strict=True)}
            for place in zip(*map(np.ndarray.tolist, np.nonzero(counts)), strict=True)
        ]
        return sorted(cells, key=lambda where: int(self.mask(where).argmax()))

    def partners(self, first: BoolArray, second: BoolArray, axes: Sequence[str]) -> tuple[IntArray, IntArray]:
        """Row numbers of the first and of the second selection that share the values of all axes, in plan order."""
        return self.matched(np.flatnonzero(first), np.flatnonzero(second), axes)

    def matched(self, left: IntArray, right: IntArray, axes: Sequence[str]) -> tuple[IntArray, IntArray]:
        """The same of two selections by their row numbers."""
        own = [[self.codes[axis][rows] for axis in axes] for rows in (left, right)]
        sizes = [max(int(codes.max(initial=0)) for codes in both) + 1 for both in zip(*own, strict=True)]
        at_left, at_right = match(*(joined(codes, sizes) for codes in own))
        return left[at_left], right[at_right]


def _hint(key: str, names: Mapping[str, tuple[str, ...]]) -> str:
    """What to do about a key that trials have not: a parameter of the sampling that does not vary is none."""
    if key in PARAMETERS:
        return "it is the same in all of them, so there is nothing to choose"
    return did_you_mean(key, names)

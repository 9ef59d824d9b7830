"""Items as columns for attacks, and which of them an attack may learn from: never an item's own system or pair."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from perpend.canon import JSON
from perpend.stats.gate import BoolArray, FloatArray, IntArray
from perpend.studies.logic.chaosbench.items import family_of, label_of, text_of
from perpend.studies.logic.chaosbench.masking import Mask, systems_of
from perpend.studies.logic.replies import GROUP_TAGS

FOLDS = 5


@dataclass(frozen=True)  # not slotted: columns are made once and kept
class Attacked:
    """The items of a set as columns that attacks share."""

    records: Sequence[Mapping[str, JSON]]
    systems: Mapping[str, Mapping[str, float]]
    """The usual parameters of each system."""

    @cached_property
    def truth(self) -> FloatArray:
        """1 for TRUE, 0 for FALSE."""
        return np.array([label_of(record) == "TRUE" for record in self.records], dtype=np.float64)

    @cached_property
    def questions(self) -> list[str]:
        """The texts."""
        return [text_of(record, "question") for record in self.records]

    @cached_property
    def masked(self) -> list[str]:
        """The texts without system names and numbers."""
        mask = Mask(self.records)
        return [mask.masked(record) for record in self.records]

    @cached_property
    def kinds(self) -> list[str]:
        """How the label was computed, the unit that attacks are fitted on; the family where items have no such tag."""
        return [text_of(record, "kind") or family_of(record) for record in self.records]

    def tag(self, name: str) -> list[str]:
        """A tag of every item, '' where it has none."""
        return [text_of(record, name) for record in self.records]

    @cached_property
    def clusters(self) -> list[str]:
        """What items with a common fact share: the group, else the pair, else the system, else the item."""
        tags = (*GROUP_TAGS, "pair", "system_id")
        return [next((text_of(r, tag) for tag in tags if r.get(tag)), text_of(r, "id")) for r in self.records]

    @cached_property
    def owners(self) -> list[tuple[str, ...]]:
        """What must not be on both sides of a fold: the systems of an item, else its pair, else its group."""
        return [
            systems_of(record) or (text_of(record, "pair") or cluster,)
            for record, cluster in zip(self.records, self.clusters, strict=True)
        ]

    def groups(self, keys: Sequence[str]) -> dict[str, IntArray]:
        """The rows of each key, keys in alphabetical order."""
        rows: dict[str, list[int]] = {}
        for row, key in enumerate(keys):
            rows.setdefault(key, []).append(row)
        return {key: np.array(rows[key], dtype=np.int64) for key in sorted(rows)}

    def folds(self, rows: IntArray) -> list[tuple[BoolArray, BoolArray]]:
        """(train, test) of some rows: each is tested once, and nothing of its systems or pair is trained on.

        Owners are dealt out by size, the largest first, so that folds are of nearly one size.
        """
        owners = [self.owners[row] for row in rows.tolist()]
        sizes: dict[str, int] = {}
        for own in owners:
            sizes[own[0]] = sizes.get(own[0], 0) + 1
        loads, fold_of = [0] * FOLDS, dict[str, int]()
        for owner in sorted(sizes, key=lambda name: (-sizes[name], _digest(name))):
            fold = loads.index(min(loads))
            fold_of[owner] = fold
            loads[fold] += sizes[owner]
        place = np.array([fold_of[own[0]] for own in owners])
        split = []
        for fold in range(FOLDS):
            touched = np.array([any(fold_of.get(name) == fold for name in own) for own in owners], dtype=np.bool_)
            split.append((~touched, place == fold))
        return split


def _digest(name: str) -> str:
    return hashlib.blake2b(name.encode(), digest_size=8).hexdigest()

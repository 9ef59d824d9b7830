"""Whom trials stand for: weights and strata out of the tags of their items."""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypedDict

import numpy as np
import numpy.typing as npt

from perpend.errors import SpecError, did_you_mean
from perpend.types import Item

_PART = "it is a part of 1, as in 0.25"


class Standing(TypedDict):
    """What `stats` takes of some rows: a weight and a stratum for each, and the shares of the strata."""

    weights: npt.NDArray[np.float64] | None
    strata: list[str] | None
    shares: Mapping[Hashable, float] | None


@dataclass(frozen=True, slots=True)
class Population:
    """The tag that holds the weight of an item, the tag that names its stratum, and how large each stratum is.

    '' is none. A weight is 1 / the probability with which the item was drawn. Without `shares` a stratum is as large as
    its rows, or their weights, are.
    """

    weights: str = ""
    strata: str = ""
    shares: Mapping[str, float] = field(default_factory=dict)

    def __bool__(self) -> bool:
        return bool(self.weights or self.strata or self.shares)

    def note(self) -> str:
        """What a reader must know of it."""
        parts = [f"weights: the tag {self.weights}"] if self.weights else []
        if self.strata:
            sizes = ", ".join(f"{name} {100 * share:.4g}%" for name, share in self.shares.items())
            parts.append(f"strata: the tag {self.strata} ({sizes or 'as large as their trials'})")
        return "; ".join(parts)

    def check(self, every: Sequence[Item], codes: npt.NDArray[np.int64]) -> None:
        """Raise SpecError where an item lacks a tag, a weight is no number, or a share no stratum's.

        `codes` are the places of the items in `every`, one for each row.
        """
        if not self:
            return
        items = [every[code] for code in np.unique(codes).tolist()]
        if self.shares and not self.strata:
            raise SpecError("shares are those of strata; name the tag that holds the strata")
        for tag in filter(None, (self.weights, self.strata)):
            tags = sorted({name for item in items for name in item.tags})
            if tag not in tags:
                hint = did_you_mean(tag, tags) if tags else "the items have none"
                raise SpecError(f"items have no tag {tag!r}; {hint}")
            lacking = [item.id for item in items if not item.tags.get(tag)]
            if lacking:
                more = f" and {len(lacking) - 1} more" if len(lacking) > 1 else ""
                raise SpecError(f"item {lacking[0]!r}{more}: no tag {tag!r}; give one to every item")
        if self.weights:
            for item in items:
                _weight(item.tags[self.weights], f"item {item.id!r}: the tag {self.weights!r}")
        names = [*dict.fromkeys(item.tags[self.strata] for item in items)] if self.shares else []
        for name, size in self.shares.items():
            if name not in names:
                raise SpecError(f"no item has {self.strata} = {name!r}; {did_you_mean(name, names)}")
            if not 0.0 <= size <= 1.0:
                raise SpecError(f"the share of {name!r} is {size!r}; {_PART}")
        lacking = [name for name in names if name not in self.shares]
        if lacking:
            raise SpecError(f"the stratum {lacking[0]!r} has no share; give one to each, 0 to leave it out")
        if self.shares and not math.isclose(sum(self.shares.values()), 1.0, abs_tol=1e-6):
            raise SpecError(f"the shares add up to {sum(self.shares.values()):g}; the strata are the whole: give 1")

    def of(self, every: Sequence[Item], codes: npt.NDArray[np.int64]) -> Standing:
        """Weights, strata and shares of some rows, which `check` has passed."""
        weights, strata = None, None
        shares: dict[Hashable, float] | None = None
        if self.weights:
            weights = np.array([float(every[code].tags[self.weights]) for code in codes.tolist()])
        if self.strata:
            strata = [every[code].tags[self.strata] for code in codes.tolist()]
        if self.shares:
            shares = {name: share for name, share in self.shares.items() if share > 0.0 or name in (strata or ())}
        return Standing(weights=weights, strata=strata, shares=shares)

    def empty(self, standing: Standing) -> str:
        """Why rows do not stand for the population: a stratum of it has none of them. '' where each has some."""
        strata = set(standing["strata"] or ())
        lacking = [name for name, share in self.shares.items() if share > 0.0 and name not in strata]
        return f"no trial of the stratum {lacking[0]!r} has a value, so its part is unknown" if lacking else ""


def share(name: str, text: str) -> float:
    """The size of a stratum as a command line gives it."""
    try:
        return float(text)
    except ValueError:
        raise SpecError(f"the share of {name!r} is {text!r}; {_PART}") from None


def _weight(text: str, where: str) -> float:
    try:
        weight = float(text)
    except ValueError:
        weight = math.nan
    if not 0.0 < weight < math.inf:
        raise SpecError(f"{where} is {text!r}; a weight is a number above 0: 1 / the probability of being drawn")
    return weight

"""Cautions of decisions and of repeats; those that every estimate may carry are in gate.py."""

from __future__ import annotations

import numpy as np

from perpend.stats.gate import BoolArray, FloatArray, IntArray
from perpend.types import Caution


def same_again(values: FloatArray, trials: IntArray, cold: BoolArray) -> tuple[Caution, ...]:
    """STAT015 where every trial that was repeated at temperature 0 gave the same value each time; else nothing.

    `trials` tells for each row which trial it repeats, `cold` whether its temperature is 0.
    """
    if not cold.any():
        return ()
    _, inverse = np.unique(trials[cold], return_inverse=True)
    own = values[cold]
    sizes = np.bincount(inverse)
    first = np.empty(len(sizes))
    first[inverse[::-1]] = own[::-1]
    copies = int(len(own) - len(sizes))
    return (identical_repeats(copies, len(values)),) if copies and bool((own == first[inverse]).all()) else ()


def identical_repeats(copies: int, trials: int) -> Caution:
    """STAT015. The number is how many rows at temperature 0 only say again what another row said."""
    text = (
        f"{copies} of {trials} rows are repeats at temperature 0 that all agree: the interval counts each item once; "
        "ask once at temperature 0, or repeat above it"
    )
    return Caution("STAT015", text, copies)


def singleton_groups(singletons: int, groups: int, among_two: float | None, among_all: float) -> Caution:
    """STAT020. The number is how many groups have one member, which cannot disagree with itself."""
    shown = "undefined" if among_two is None else f"{among_two:.4f}"
    text = (
        f"{singletons} of {groups} groups have one member: the flip rate is {shown} among groups of two or more and "
        f"{among_all:.4f} among all; name the denominator"
    )
    return Caution("STAT020", text, singletons)


def skewed_items(skew: float, n_items: float) -> Caution:
    """STAT027. The number is the skewness of the items' differences over the root of their number."""
    text = (
        f"{n_items:.4g} items whose differences have skewness {skew * n_items**0.5:.2f}: in simulations a one-sided "
        "test at 5% rejects up to 9% with skewed (exponential) and 14% with very skewed (log-normal) items; add items"
    )
    return Caution("STAT027", text, skew)


def small_pilot(n_items: int) -> Caution:
    """STAT030. The number is how many items the pilot has."""
    text = (
        f"a pilot of {n_items} items (limit 100): in simulations studies planned by 30 to 60 items had a power of "
        "0.75 to 0.85 instead of 0.80; plan for more items than stated"
    )
    return Caution("STAT030", text, n_items)


def variance_of_few(n_items: int) -> Caution:
    """STAT031. The number is how many items there are."""
    text = (
        f"a variance between {n_items} items (limit 200): in simulations such 95% intervals cover 90% to 99%, and 74% "
        "where 20 items are nearly all right; add items"
    )
    return Caution("STAT031", text, n_items)


def unequal_weights(n_clusters: int, n_items: float) -> Caution:
    """STAT032. The number is how many items of one weight these are worth."""
    text = (
        f"{n_clusters} items with weights so unequal that they are as good as {n_items:.1f}: in simulations such 95% "
        "intervals cover 95% to 99%; draw with less unequal probabilities"
    )
    return Caution("STAT032", text, n_items)


def near_an_end(count: float) -> Caution:
    """STAT033. The number is how many items' worth of the rarer outcome there are."""
    text = (
        f"only {count:.1f} items' worth of the rarer outcome (limit 5): in simulations such 95% intervals cover 93% to "
        "100%; add items"
    )
    return Caution("STAT033", text, count)

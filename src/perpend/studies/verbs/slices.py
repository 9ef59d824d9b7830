"""Slices of the core probes: accuracy by language, regularity, tense, person, verb and other tags, against the rest."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace

from perpend.canon import digest
from perpend.stats.families import family
from perpend.stats.proportions import risk_difference, wilson
from perpend.studies.verbs.predictions import Choice
from perpend.types import Estimate

ALPHA = 0.05
SLICES = ("language", "regularity", "tense", "person", "verb")
# Any other tag is a slice when its values repeat; more values than this would be a list of rows, not of slices.
_MOST_VALUES = 30


def slice_keys(rows: Sequence[Choice]) -> tuple[str, ...]:
    """The tags to slice by: the five of the probe grid, then any other whose values repeat (2 to 30 of them)."""
    values: dict[str, Counter[str]] = {}
    for one in rows:
        for key, value in one.tags.items():
            values.setdefault(key, Counter())[value] += 1
    others = [
        key for key, counts in values.items()
        if key not in SLICES and 2 <= len(counts) <= min(_MOST_VALUES, counts.total() // 2)
    ]  # fmt: skip
    return tuple(key for key in SLICES if key in values) + tuple(sorted(others))


def slices(rows: Sequence[Choice]) -> Iterator[tuple[str, str, Estimate, Estimate | None]]:
    """(tag, value, accuracy, difference from the other rows with that tag) of every slice of some scored rows.

    The difference is None where all rows are in the slice; its `also` holds `p` (Fisher's exact test) and `p_adjusted`
    (Benjamini and Hochberg over all slices). The two values of a two-valued tag are one test, and counted once.
    """
    cells: dict[tuple[str, str], tuple[Estimate, Estimate | None]] = {}
    tests: dict[str, float | None] = {}
    names: dict[tuple[str, str], str] = {}
    for key in slice_keys(rows):
        hits: dict[str, list[bool]] = {}
        for one in rows:
            if key in one.tags:
                hits.setdefault(one.tags[key], []).append(bool(one.correct))
        total, right = sum(map(len, hits.values())), sum(map(sum, hits.values()))
        for value, own in sorted(hits.items()):
            k, n = sum(own), len(own)
            cells[key, value] = wilson(k, n), None if n == total else risk_difference(k, n, right - k, total - n)
            if n < total:
                names[key, value] = digest([key] if len(hits) == 2 else [key, value])
                tests[names[key, value]] = _fisher(k, n, right - k, total - n)
    adjusted = {test.name: test for test in family(tests, method="bh", alpha=ALPHA).tests}
    for (key, value), (accuracy, rest) in cells.items():
        if rest is not None:
            test = adjusted[names[key, value]]
            also = {"p": test.raw, "p_adjusted": test.adjusted, "n_tests": len(tests)}
            rest = replace(rest, also={**rest.also, **also})  # noqa: PLW2901  the same difference, with its test
        yield key, value, accuracy, rest


def _fisher(k: int, n: int, k_rest: int, n_rest: int) -> float:
    import numpy as np
    from scipy.stats import fisher_exact

    return float(fisher_exact(np.array([[k, n - k], [k_rest, n_rest - k_rest]])).pvalue)

"""Slices of the core probes: accuracy by language, regularity, tense, person, verb and other tags, against the rest."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

from perpend.canon import JSON, digest
from perpend.reports.predictions import Prediction
from perpend.stats.adversarial import LOW_SAMPLE
from perpend.stats.families import family
from perpend.stats.proportions import risk_difference, wilson
from perpend.types import Estimate, Number

ALPHA = 0.05
SLICES = ("language", "regularity", "tense", "person", "verb")
# Any other tag is a slice when its values repeat; more values than this would be a list of rows, not of slices.
_MOST_VALUES = 30


@dataclass(frozen=True, slots=True)
class Cell:
    """Accuracy of one slice of the core probes, and its difference from the other probes that carry the same tag.

    `difference` is None where all probes are in the slice; its `also` holds `p` (Fisher's exact test) and `p_adjusted`
    (Benjamini and Hochberg over all slices).
    """

    key: str
    value: str
    accuracy: Estimate
    difference: Estimate | None

    @property
    def low_sample(self) -> bool:
        """Fewer than 3 probes: shown, and nothing follows from it alone."""
        return self.accuracy.n < LOW_SAMPLE

    @property
    def differs(self) -> bool:
        """The slice differs from the rest after correction for the number of slices."""
        p = None if self.difference is None else self.difference.also.get("p_adjusted")
        return isinstance(p, float) and p <= ALPHA

    def as_json(self) -> dict[str, JSON]:
        """The entry in results.json."""
        return {
            "slice": self.key,
            "value": self.value,
            "accuracy": self.accuracy.as_json(),
            "difference_from_the_rest": None if self.difference is None else self.difference.as_json(),
            "low_sample": self.low_sample,
        }


def slice_keys(rows: Sequence[Prediction]) -> tuple[str, ...]:
    """The tags to slice by: the five of the probe grid, then any other whose values repeat (2 to 30 of them)."""
    values: dict[str, Counter[str]] = {}
    for one in rows:
        for key, value in one.tags.items():
            values.setdefault(key, Counter())[value] += 1
    others = [
        key for key, found in values.items()
        if key not in SLICES and 2 <= len(found) <= min(_MOST_VALUES, found.total() // 2)
    ]  # fmt: skip
    return tuple(key for key in SLICES if key in values) + tuple(sorted(others))


def cells(rows: Sequence[Prediction]) -> tuple[Cell, ...]:
    """Every slice of some scored rows, tested against the rest and adjusted for the number of slices."""
    found: list[Cell] = []
    for key in slice_keys(rows):
        hits: dict[str, list[bool]] = {}
        for one in rows:
            if key in one.tags:
                hits.setdefault(one.tags[key], []).append(bool(one.correct))
        total, right = sum(map(len, hits.values())), sum(map(sum, hits.values()))
        for value, own in sorted(hits.items()):
            k, n = sum(own), len(own)
            rest = None if n == total else risk_difference(k, n, right - k, total - n)
            found.append(Cell(key, value, wilson(k, n), rest))
    return _adjusted(found)


def _adjusted(found: Sequence[Cell]) -> tuple[Cell, ...]:
    """The cells with p and adjusted p. The two values of a two-valued tag are one test, and counted once."""
    import numpy as np
    from scipy.stats import fisher_exact

    values = Counter(cell.key for cell in found)
    tests: dict[str, float | None] = {}
    names: list[str] = []
    for cell in found:
        names.append(digest([cell.key] if values[cell.key] == 2 else [cell.key, cell.value]))
        if cell.difference is not None:
            a = cell.difference.also
            k1, n1, k2, n2 = (int(a[name] or 0) for name in ("k1", "n1", "k2", "n2"))
            tests[names[-1]] = float(fisher_exact(np.array([[k1, n1 - k1], [k2, n2 - k2]])).pvalue)
    adjusted = {test.name: test for test in family(tests, method="bh", alpha=ALPHA).tests}
    out = []
    for cell, name in zip(found, names, strict=True):
        difference = cell.difference
        if difference is not None:
            more: dict[str, Number] = {
                "p": adjusted[name].raw, "p_adjusted": adjusted[name].adjusted, "n_tests": len(tests)
            }  # fmt: skip
            difference = replace(difference, also={**difference.also, **more})
        out.append(replace(cell, difference=difference))
    return tuple(out)

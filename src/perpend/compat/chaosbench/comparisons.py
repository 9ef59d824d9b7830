"""Two runs on the same items: which one is right more often, and whether that could be chance."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from perpend.canon import JSON
from perpend.compat.chaosbench.predictions import Prediction
from perpend.stats.binary import paired_bootstrap
from perpend.stats.families import family
from perpend.stats.paired_tests import paired_test
from perpend.types import Estimate

LEAST = 30
"""Items that two runs must share to be compared."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """second - first on the items that both answered. `p` is of the paired test, `adjusted` Holm's over all pairs.

    What is not valid counts as wrong in the test, and as not valid in balanced accuracy and MCC; errors are left out.
    """

    first: str
    second: str
    items: int
    balanced_accuracy: Estimate
    mcc: Estimate
    p: float | None
    adjusted: float | None = None

    def as_json(self) -> dict[str, JSON]:
        """The row for programs."""
        return {
            "first": self.first,
            "second": self.second,
            "items": self.items,
            "balanced_accuracy_difference": self.balanced_accuracy.as_json(),
            "mcc_difference": self.mcc.as_json(),
            "p": self.p,
            "p_holm": self.adjusted,
        }


def compare_runs(runs: Mapping[str, Sequence[Prediction]]) -> list[Comparison]:
    """Every pair of runs that share at least 30 items, with Holm's adjustment over all of these pairs."""
    found = [made for one, other in combinations(runs, 2) if (made := _compare(one, other, runs)) is not None]
    tests = family({f"{c.first} | {c.second}": c.p for c in found}, method="holm").tests
    return [
        Comparison(c.first, c.second, c.items, c.balanced_accuracy, c.mcc, c.p, test.adjusted)
        for c, test in zip(found, tests, strict=True)
    ]


def _compare(first: str, second: str, runs: Mapping[str, Sequence[Prediction]]) -> Comparison | None:
    others = {(p.id, p.question): p for p in runs[second] if p.outcome != "ERROR"}
    pairs = [
        (p, others[p.id, p.question]) for p in runs[first] if p.outcome != "ERROR" and (p.id, p.question) in others
    ]
    if len(pairs) < LEAST:
        return None
    gold = [float(p.truth == "TRUE") for p, _ in pairs]
    said = [np.array([_said(pair[side]) for pair in pairs]) for side in (0, 1)]
    right = [np.array([float(pair[side].correct is True) for pair in pairs]) for side in (0, 1)]
    known = [c for c in (p.cluster or q.cluster for p, q in pairs) if c is not None]
    clusters = known if len(known) == len(pairs) else None
    differences = paired_bootstrap(gold, said[0], said[1], clusters)
    test = paired_test(right[0], right[1], clusters)
    return Comparison(first, second, len(pairs), differences["balanced_accuracy"], differences["mcc"], test.value)


def _said(prediction: Prediction) -> float:
    return np.nan if prediction.label is None else float(prediction.label == "TRUE")

"""Two runs on the same items: which one is right more often, and whether that could be chance."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np

from perpend.canon import JSON
from perpend.measure.keys import match
from perpend.stats.binary import paired_bootstrap
from perpend.stats.families import family
from perpend.stats.pairs import paired_test
from perpend.studies.logic.replies import Prediction
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
        """The entry in summary.json."""
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
    codes: dict[tuple[str, str], int] = {}
    answered = {name: _once(rows) for name, rows in runs.items()}
    keys = {
        name: np.array([codes.setdefault((p.id, p.question), len(codes)) for p in rows], dtype=np.int64)
        for name, rows in answered.items()
    }
    pairs = []
    for first, second in combinations(runs, 2):
        at_first, at_second = match(keys[first], keys[second])
        if len(at_first) >= LEAST:
            sides = [answered[first][row] for row in at_first], [answered[second][row] for row in at_second]
            pairs.append(_compare(first, second, *sides))
    tests = family({f"{c.first} | {c.second}": c.p for c in pairs}, method="holm").tests
    return [replace(pair, adjusted=test.adjusted) for pair, test in zip(pairs, tests, strict=True)]


def _once(rows: Sequence[Prediction]) -> list[Prediction]:
    """The predictions that are no errors, one for each item."""
    return list({(p.id, p.question): p for p in rows if p.outcome != "ERROR"}.values())


def _compare(first: str, second: str, one: Sequence[Prediction], other: Sequence[Prediction]) -> Comparison:
    gold = [float(p.truth == "TRUE") for p in one]
    answers = [np.array([p.answer for p in side]) for side in (one, other)]
    right = [np.array([float(p.correct is True) for p in side]) for side in (one, other)]
    known = [c for c in (p.cluster or q.cluster for p, q in zip(one, other, strict=True)) if c is not None]
    clusters = known if len(known) == len(one) else None
    differences = paired_bootstrap(gold, answers[0], answers[1], clusters)
    test = paired_test(right[0], right[1], clusters)
    return Comparison(first, second, len(one), differences["balanced_accuracy"], differences["mcc"], test.value)

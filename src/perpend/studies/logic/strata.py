"""Strata: items that ask for different things are never one number; and pairs that are answered right as a whole."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from perpend.stats.proportions import proportion
from perpend.studies.logic.chaos.questions.draft import STRATA
from perpend.studies.logic.replies import Prediction
from perpend.types import Estimate, Number

PAIRS = "pairs_right"
PARTS = ("stratum", "grade")


def is_stratified(predictions: Sequence[Prediction]) -> bool:
    """Whether every item names its stratum and its pair; items of older sets and of others do not."""
    return bool(predictions) and all(one.tags.get("stratum") and one.tags.get("pair") for one in predictions)


def part_of(prediction: Prediction, part: str) -> str:
    """The name of a prediction's part: its stratum, or stratum and grade; 'unknown' where it has none."""
    stratum = prediction.tags.get("stratum") or "unknown"
    return stratum if part == "stratum" else f"{stratum}, grade {prediction.tags.get('grade') or 'unknown'}"


def in_order(name: str) -> tuple[int, str]:
    """Sorts parts: strata as the set lists them, then grades; unknown ones last."""
    stratum = name.partition(",")[0]
    return (STRATA.index(stratum) if stratum in STRATA else len(STRATA)), name


def pairs_right(predictions: Sequence[Prediction]) -> Estimate:
    """Of the pairs with a TRUE and a FALSE item that were asked: the share whose items are all answered right.

    A pair is what shares the tag `bundle`, where items have one within their pair, else `pair`. What is not valid
    counts as wrong; a pair with an item that got no reply is left out. `also` has what guessing gives. Undefined
    without such a pair. Clustered by the group of the pair's first item.
    """
    pairs: dict[str, list[Prediction]] = {}
    for prediction in predictions:
        pairs.setdefault(prediction.tags.get("bundle") or prediction.tags.get("pair", ""), []).append(prediction)
    whole = [
        rows
        for rows in pairs.values()
        if {row.truth for row in rows} == {"TRUE", "FALSE"} and all(row.outcome != "ERROR" for row in rows)
    ]
    if not whole:
        return Estimate(None, 0, note="no pair was asked as a whole")
    right = np.array([all(row.correct for row in rows) for rows in whole], dtype=np.float64)
    groups = [rows[0].cluster or rows[0].id for rows in whole]
    share = proportion(right, groups)
    guessing: Number = float(np.mean([0.5 ** len(rows) for rows in whole]))
    return replace(share, also={**share.also, "guessing": guessing})

"""An expression on a table of trials → an Estimate. Every statistic is the one of perpend.stats."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TypeAlias

import numpy as np

from perpend.errors import DataError, SpecError, did_you_mean
from perpend.measure.column import Column, Pair
from perpend.measure.grid import PlanGrid
from perpend.measure.keys import BoolArray, IntArray
from perpend.measure.table import Table
from perpend.proof.claims.fits import RANKED_BY, place, preference, regression
from perpend.proof.claims.language import (
    PAIRED,
    RANKED,
    Call,
    Constant,
    Expression,
    Negative,
    Operation,
    Operator,
    Part,
)
from perpend.proof.claims.turns import TURN, of_dialogues, pair_of_turns
from perpend.types import Estimate, Number

Value: TypeAlias = str | float
Where: TypeAlias = Mapping[str, Value | tuple[Value, ...]]
_BINS = 10
_TEST = ("p", "p_method")


class UnpairedError(DataError):
    """A claim compares two sides of which the data pair no trials: nobody can check it on these data."""


@dataclass(frozen=True, slots=True)
class Scope:
    """What a claim says once for all of its expression: the slice, the two sides, the key that they are values of."""

    where: Where = field(default_factory=dict)
    sides: tuple[Value, Value] | None = None
    over: str = "condition"


def evaluate(expression: Expression, table: Table, scope: Scope) -> Estimate:  # noqa: PLR0911  one per form
    """The Estimate of an expression. A sum, product or quotient of two estimates has no interval.

    Undefined where a part of it is, and for a division by zero.
    """
    match expression:
        case Constant(value=value):
            return Estimate(value, 0, method="constant")
        case Negative(of=inner):
            return scaled(evaluate(inner, table, scope), -1.0)
        case Operation(sign=sign, left=left, right=right):
            return joined(sign, evaluate(left, table, scope), evaluate(right, table, scope))
        case Part(name=name, of=str() as column):
            rows = _column(table, column, scope.where).defined
            return Estimate(float(rows.sum()), int(rows.sum()), method=f"{name} of {column}")
        case Part(name="se", of=Call(function="rate") as inner):
            return _part("se", evaluate(replace(inner, function="mean"), table, scope))
        case Part(name=name, of=inner) if not isinstance(inner, str):
            return _part(name, evaluate(inner, table, scope))
        case Call():
            return _call(expression, table, scope)
    raise TypeError(f"{expression!r} is no expression")


def mask(table: Table, where: Where) -> BoolArray:
    """The trials of a slice; several values of one key are any of them.

    A key is one of the plan, a tag, or a column ('refused' = 0): then the trials that it says this of.
    """
    rows = np.ones(len(table), dtype=np.bool_)
    for key, value in where.items():
        values = value if isinstance(value, tuple) else (value,)
        if key in table.names:
            rows &= np.logical_or.reduce([table.mask({key: one}) for one in values])
            continue
        if not table.has(key):
            known = [*table.names, *table.scorers]
            raise SpecError(f"trials have no {key!r}; {did_you_mean(key, known)}")
        if not all(isinstance(one, float | int) for one in values):
            raise SpecError(f"{key} is a column of numbers; write for example {key} = 0")
        rows &= np.isin(table.column(key).all_values, values)
    return rows


def _column(table: Table, name: str, where: Where) -> Column:
    return table.column(name).at(mask(table, where))


def _call(call: Call, table: Table, scope: Scope) -> Estimate:  # noqa: PLR0911  one per function
    where = {**scope.where, **call.where}
    if call.function in ("trials", "items"):
        return _counted(call.function, table, where)
    if call.function in PAIRED:
        return _paired(call, table, scope, where)
    if call.function in RANKED:
        return _ranked(call, table, where)
    first, *others = (_column(table, name, where) for name in call.columns)
    match call.function:
        case "rate":
            return first.rate()
        case "mean":
            return first.mean()
        case "disagreement":
            return first.disagreement(others[0])
        case "ece" | "brier":
            bins = call.options.get("bins", _BINS)
            if not isinstance(bins, float | int) or bins != int(bins):
                raise SpecError(f"bins is an integer, not {bins!r}")
            return _calibration(call.function, first, others[0], int(bins))
        case "regression":
            return regression(first, call.options)
        case "turn_of_flip" | "number_of_flips":
            return of_dialogues(call.function, first)
        case "win_rate" | "discrete_win_rate" | "wins" | "losses" | "draws":
            return preference(call.function, first)
        case _:
            return _classification(call.function, first)


def _ranked(call: Call, table: Table, where: Where) -> Estimate:
    key = call.over or RANKED_BY
    rest = dict(where)
    value = rest.pop(key, None)
    if value is None or isinstance(value, tuple):
        raise SpecError(f"{call.function}() is of one {key}: write {key}='…' in it, or by = \"{key}\" in the claim")
    name = f"{value:g}" if isinstance(value, float | int) else value
    best = call.options.get("best", "highest")
    return place(call.function, _column(table, call.columns[0], rest), name, key, best)


def _counted(function: str, table: Table, where: Where) -> Estimate:
    items = table.codes["item"][mask(table, where)]
    if function == "trials":
        return Estimate(float(len(items)), len(items), method="trials planned")
    return Estimate(float(len(np.unique(items))), len(items), method="distinct items")


def _calibration(function: str, confidence: Column, correct: Column, bins: int) -> Estimate:
    from perpend.stats.calibration import brier_estimate, ece_estimate

    rows = confidence.defined & correct.defined
    if not rows.any():
        return Estimate(None, 0, note="no trial has a value in both")
    sides = confidence.all_values[rows], correct.all_values[rows]
    items = confidence.table.codes["item"][rows]
    if function == "brier":
        return brier_estimate(*sides, clusters=items)
    ece = ece_estimate(*sides, bins, clusters=items)
    also = {**ece.also, "p": ece.also.get("p_calibrated"), "p_method": "ECE against a calibrated model"}
    return replace(ece, also=also)


def _classification(function: str, column: Column) -> Estimate:
    """Balanced accuracy or MCC of a column of right and wrong labels; trials without a label are left out.

    Which of the two targets counts as positive changes neither.
    """
    from perpend.stats.binary import binary_metrics

    targets = _targets(column.table)
    rows = column.defined & (targets >= 0)
    if not rows.any():
        return Estimate(None, 0, note="no trial of an item with a target has a value")
    classes = np.unique(targets[rows])
    if len(classes) > 2:
        raise SpecError(
            f"{function}() is of two classes, such as TRUE and FALSE; these items have {len(classes)} targets"
        )
    gold, right = (targets[rows] == classes[0]).astype(np.float64), column.all_values[rows]
    predicted = np.where(right == 1.0, gold, 1.0 - gold)
    return binary_metrics(gold, predicted, column.table.codes["item"][rows])[function]


def _targets(table: PlanGrid) -> IntArray:
    """A code for the target of each trial's item, spelled in small letters; -1 where it has none."""
    words = [None if item.target is None else item.target.strip().lower() for item in table.items]
    codes = {word: code for code, word in enumerate(dict.fromkeys(word for word in words if word is not None))}
    return np.array([-1 if word is None else codes[word] for word in words], dtype=np.int64)[table.codes["item"]]


def _paired(call: Call, table: Table, scope: Scope, where: Where) -> Estimate:
    sides, over = call.sides or scope.sides, call.over or scope.over
    if sides is None:
        raise SpecError(
            f"{call.function}({call.columns[0]}) compares two sides: give them after the column, or in the claim as "
            'pair = ["control", "asch_history_5"]'
        )
    if over in where:
        raise SpecError(f"{over} is what {call.function}() compares, so it cannot be in 'where' too")
    first, second = (f"{side:g}" if isinstance(side, float | int) else side for side in sides)
    for side, name in zip(sides, (first, second), strict=True):
        if not isinstance(side, str) and name not in table.values(over):
            raise UnpairedError(
                f"no trial has {over} {name}, so the pairs of {first} and {second} are not in these data"
            )
    column = _column(table, call.columns[0], where)
    pair = pair_of_turns(column, first, second) if over == TURN else column.pair(first, second, over)
    if not len(pair.all_rows):
        raise UnpairedError(f"no trial at {over} {first} has a partner at {second} in these data")
    match call.function:
        case "difference":
            return pair.difference()
        case "override":
            return pair.override()
        case "rescue" | "flip":  # one number: P(1 | 0), of 'correct' or of 'endorsed'
            return pair.rescue()
        case _:
            return _odds_ratio(pair)


def _odds_ratio(pair: Pair) -> Estimate:
    from perpend.stats.pairs import paired_odds_ratio

    tested = pair.difference()
    b, c = tested.also.get("b"), tested.also.get("c")
    if not isinstance(b, int) or not isinstance(c, int):
        return tested
    ratio = paired_odds_ratio(b, c)
    ratio = replace(ratio, also={**ratio.also, **{key: tested.also.get(key) for key in _TEST}})
    if "n_clusters" in tested.also and ratio.value is not None:
        # The exact interval takes the pairs for independent, and they are not.
        return replace(ratio, lo=None, hi=None, note="no interval: items repeat", cautions=tested.cautions)
    return ratio


def _part(name: str, of: Estimate) -> Estimate:
    if name == "n":
        return Estimate(float(of.n), of.n, method=f"denominator of: {of.method}")
    if name == "p_exact":
        return _exact(of)
    values: dict[str, Number] = {"lo": of.lo, "hi": of.hi, **{key: of.also.get(key) for key in ("k", "p", "se")}}
    value = values[name]
    if not isinstance(value, float | int):
        return Estimate(None, of.n, note=of.note or f"there is no {name}")
    method = of.also.get("p_method") if name == "p" else f"{name} of: {of.method}"
    also = {key: of.also[key] for key in _TEST if name == "p" and key in of.also}
    return Estimate(float(value), of.n, method=str(method), also=also)


def _exact(of: Estimate) -> Estimate:
    """McNemar's exact p, which takes the pairs for independent: what most papers print."""
    from perpend.stats.pairs import mcnemar

    b, c = of.also.get("b"), of.also.get("c")
    if not isinstance(b, int) or not isinstance(c, int):
        return Estimate(None, of.n, note=of.note or "there are no discordant pairs to count")
    value = mcnemar(b, c).also["p_exact"]
    method = "McNemar, exact, pairs taken for independent"
    return Estimate(value if isinstance(value, float) else None, b + c, method=method, cautions=of.cautions)


def scaled(of: Estimate, factor: float, shift: float = 0.0) -> Estimate:
    """factor · estimate + shift, its interval with it. The test stays where zero stays zero."""
    if of.value is None:
        return of
    ends = [None if end is None else factor * end + shift for end in (of.lo, of.hi)]
    lo, hi = ends if factor >= 0.0 else ends[::-1]
    kept = _TEST if factor != 0.0 and shift == 0.0 else ()
    also = {key: of.also[key] for key in kept if key in of.also}
    return replace(of, value=factor * of.value + shift, lo=lo, hi=hi, also=also)


def joined(sign: Operator, left: Estimate, right: Estimate) -> Estimate:
    """left + - * / right. With a constant on one side the interval is carried along; else there is none."""
    for side in (left, right):
        if side.value is None:
            return side
    a, b = left.value or 0.0, right.value or 0.0
    if sign == "/" and b == 0.0:
        return Estimate(None, right.n, note="division by zero")
    if _is_constant(right):
        factor, shift = {"+": (1.0, b), "-": (1.0, -b), "*": (b, 0.0), "/": (1.0 / b if b else 0.0, 0.0)}[sign]
        return replace(scaled(left, factor, shift), value=_value(sign, a, b))
    if _is_constant(left) and sign != "/":
        factor, shift = {"+": (1.0, a), "-": (-1.0, a), "*": (a, 0.0)}[sign]
        return scaled(right, factor, shift)
    counts = [side.n for side in (left, right) if not _is_constant(side)]
    return Estimate(_value(sign, a, b), min(counts), note="no interval: of several estimates")


def _is_constant(of: Estimate) -> bool:
    return of.method == "constant"


def _value(sign: Operator, a: float, b: float) -> float:
    return a + b if sign == "+" else a - b if sign == "-" else a * b if sign == "*" else a / b

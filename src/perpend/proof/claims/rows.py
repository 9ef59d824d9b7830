"""The trials under a claim: those that its numbers are computed from."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from perpend.measure.keys import BoolArray
from perpend.measure.table import Table
from perpend.proof.claims.evaluate import Scope, mask
from perpend.proof.claims.file import WHOLE, Claim
from perpend.proof.claims.fits import RANKED_BY
from perpend.proof.claims.language import PAIRED, RANKED, Call, Expression, Negative, Operation, Order, Part
from perpend.proof.claims.turns import with_turns


def rows_of(claim: Claim, name: str, table: Table) -> BoolArray:
    """The rows of a table that a claim, or one slice of it, rests on: in its slice, and with a value where it counts.

    Of a pair those of both sides. None where the claim is about no trial, as 1 < 2.
    """
    scope, table = claim.scope, with_turns(table)
    if claim.by is not None and name != WHOLE:
        known = table.values(claim.by)
        value = name if name in known else f"{float(name):g}"
        scope = replace(scope, where={**scope.where, claim.by: value})
    rows = np.zeros(len(table), dtype=np.bool_)
    for term in claim.formula.terms if isinstance(claim.formula, Order) else (claim.formula,):
        for call in _calls(term):
            rows |= _under(call, table, scope)
    return rows


def _calls(expression: Expression | str) -> Iterator[Call]:
    match expression:
        case str():
            yield Call("rate", (expression,))
        case Call():
            yield expression
        case Negative(of=inner) | Part(of=inner):
            yield from _calls(inner)
        case Operation(left=left, right=right):
            yield from (*_calls(left), *_calls(right))


def _under(call: Call, table: Table, scope: Scope) -> BoolArray:
    where = {**scope.where, **call.where}
    if call.function in RANKED:  # a rank rests on all that are ranked
        where.pop(call.over or RANKED_BY, None)
    rows = mask(table, where)
    for column in call.columns:
        rows &= table.column(column).defined
    sides = call.sides or scope.sides
    if call.function in PAIRED and sides is not None:
        rows &= mask(table, {call.over or scope.over: tuple(sides)})
    return rows

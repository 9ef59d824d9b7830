"""Whether the value of an expression can depend on data at all: '0.99' cannot, nor can 'rate(correct) * 0 + 0.99'."""

from __future__ import annotations

import random
from collections.abc import Callable
from fractions import Fraction

from perpend.proof.claims.language import Call, Constant, Expression, Negative, Operation, Part

_DRAWS = 3
_LARGEST = 1 << 40


def is_constant(expression: Expression) -> bool:
    """Whether an expression has one value, or none, whatever its functions of the data come to.

    They are drawn at random, the same function the same number, and the rest is computed exactly: two expressions that
    are not the same agree at one such draw with a probability below 1e-9. Functions that are written in two ways count
    as different, even where they come to the same.
    """
    return len({_value(expression, _drawn(seed)) for seed in range(_DRAWS)}) == 1


def is_same(left: Expression, right: Expression) -> bool:
    """Whether two expressions differ by a constant whatever the data are, so that to compare them claims nothing."""
    return is_constant(Operation("-", left, right))


def _drawn(seed: int) -> Callable[[Expression], Fraction]:
    return lambda leaf: Fraction(random.Random(f"{seed} {leaf!r}").randrange(1, _LARGEST), _LARGEST)


def _value(expression: Expression, drawn: Callable[[Expression], Fraction]) -> Fraction | None:
    """The value where each function of the data is what `drawn` says; None where it is divided by zero."""
    match expression:
        case Constant(value=value):
            return Fraction(value)
        case Negative(of=inner):
            value_of = _value(inner, drawn)
            return None if value_of is None else -value_of
        case Operation(sign=sign, left=left, right=right):
            a, b = _value(left, drawn), _value(right, drawn)
            if a is None or b is None or (sign == "/" and b == 0):
                return None
            return a + b if sign == "+" else a - b if sign == "-" else a * b if sign == "*" else a / b
        case Part(name=name, of=inner) if not isinstance(inner, str):
            # The ends of the interval of a constant are its own; its denominator is that of the data in it.
            depends = _has_data(inner) if name == "n" else not is_constant(inner)
            return drawn(expression) if depends else Fraction(0)
    return drawn(expression)


def _has_data(expression: Expression) -> bool:
    match expression:
        case Negative(of=inner):
            return _has_data(inner)
        case Operation(left=left, right=right):
            return _has_data(left) or _has_data(right)
        case Part(of=inner):
            return isinstance(inner, str) or _has_data(inner)
    return isinstance(expression, Call)

"""A system read back from the text of a question, as functions of numbers. Shares no code with what wrote the text."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from perpend.errors import DataError

Complex = NDArray[np.complex128]
Values = Mapping[str, complex]
Expression = Callable[[Values], complex]

_HEAD = re.compile(r"\bd(\w+)/dt = |\b(\w+)' = |\b(\w+)\[n\+1\] = |(?<![\w)]\) )(?<!\) )\b(\w+) -> ")
_TOKEN = re.compile(r"\s*(?:(\d+(?:\.\d+)?)|([A-Za-z]\w*)(?:\[n\])?|([-+*/^()]))")
_SETTING = re.compile(r"(?<![\w/'\])])([A-Za-z]\w*) = (-?\d+(?:\.\d+)?)(?![\w^(])")
_FUNCTIONS: Mapping[str, Callable[[complex], complex]] = {"sin": np.sin, "cos": np.cos}
_STEP = 1e-20
"""The imaginary step of a derivative: nothing cancels, so it is exact to rounding."""


@dataclass(frozen=True, slots=True)
class ReadSystem:
    """What the text states: the variables in the order of their equations, and the text without the equations."""

    names: tuple[str, ...]
    discrete: bool
    sides: tuple[Expression, ...]
    rest: str
    constants: Mapping[str, float]

    def values(self, point: Sequence[complex] | Complex | NDArray[np.float64], time: float = 0.0) -> Complex:
        """The right-hand sides at a point."""
        where = {**self.constants, "t": time, **dict(zip(self.names, point, strict=True))}
        return np.array([side(where) for side in self.sides], dtype=np.complex128)

    def jacobian(self, point: Sequence[float] | NDArray[np.float64]) -> NDArray[np.float64]:
        """The partial derivatives at a point."""
        return derivatives(self.values, point)


def derivatives(
    function: Callable[[Complex], Complex], point: Sequence[float] | NDArray[np.float64]
) -> NDArray[np.float64]:
    """The partial derivatives of a function of several variables, by steps along the imaginary axis."""
    columns = []
    for i in range(len(point)):
        moved = np.array(point, dtype=np.complex128)
        moved[i] += _STEP * 1j
        columns.append(function(moved).imag / _STEP)
    return np.array(columns).T


def read_system(text: str) -> ReadSystem:
    """The system that a text states. Raises DataError where it states none, or one that cannot be read."""
    heads = [(match.start(), match.end(), next(filter(None, match.groups())), match) for match in _HEAD.finditer(text)]
    if not heads:
        raise DataError(f"no equation in the text: {text!r}")
    names = tuple(name for _, _, name, _ in heads)
    if len(set(names)) != len(names):
        raise DataError(f"a variable has two equations: {text!r}")
    kinds = {match.lastindex in (3, 4) for *_, match in heads}
    if len(kinds) > 1:
        raise DataError(f"a flow and a map are mixed: {text!r}")
    constants = {n: float(v) for n, v in _SETTING.findall(text) if n not in names and n not in ("V", "H")}
    known = {*names, *constants, "t"}
    sides, rest, last = [], "", 0
    for start, end, _, _ in heads:
        side, stop = parse(text, end, known)
        sides.append(side)
        rest += text[last:start]
        last = stop
    return ReadSystem(names, kinds.pop(), tuple(sides), rest + text[last:], constants)


def parse(text: str, start: int, known: set[str]) -> tuple[Expression, int]:
    """The longest expression from a place on, and where it ends. Raises DataError where there is none."""
    reader = _Terms(text, start, known)
    return reader.sum(), reader.place


class _Terms:
    """A reader by descent: sums of products of powers, products by juxtaposition."""

    def __init__(self, text: str, start: int, known: set[str]) -> None:
        self._text, self.place, self._known = text, start, known

    def _peek(self) -> tuple[str, str, int]:
        match = _TOKEN.match(self._text, self.place)
        if match is None:
            return "end", "", self.place
        number, name, mark = match.groups()
        if number is not None:
            return "number", number, match.end()
        if name is not None:
            sort = "name" if name in self._known else "function" if name in _FUNCTIONS else "end"
            return sort, name, match.end()
        return "mark", mark, match.end()

    def _take(self, mark: str) -> bool:
        sort, value, end = self._peek()
        if sort == "mark" and value == mark:
            self.place = end
            return True
        return False

    def sum(self) -> Expression:
        negative = self._take("-")
        first = self._product()
        parts = [(first, -1 if negative else 1)]
        while True:
            if self._take("+"):
                parts.append((self._product(), 1))
            elif self._take("-"):
                parts.append((self._product(), -1))
            else:
                return lambda at: sum(sign * part(at) for part, sign in parts)

    def _product(self) -> Expression:
        factors = [(self._power(), 1)]
        while True:
            sort, value, _ = self._peek()
            if self._take("*"):
                factors.append((self._power(), 1))
            elif self._take("/"):
                factors.append((self._power(), -1))
            elif sort in ("number", "name", "function") or (sort == "mark" and value == "("):
                factors.append((self._power(), 1))
            else:
                return lambda at: _multiplied(at, factors)

    def _power(self) -> Expression:
        base = self._atom()
        if not self._take("^"):
            return base
        sort, value, end = self._peek()
        if sort != "number":
            raise DataError(f"a power that is no number in {self._text!r}")
        self.place = end
        exponent = int(value)
        return lambda at: base(at) ** exponent

    def _atom(self) -> Expression:
        sort, value, end = self._peek()
        if sort == "number":
            self.place = end
            number = float(value)
            return lambda _: number
        if sort == "name":
            self.place = end
            return lambda at: at[value]
        if sort == "function":
            self.place = end
            function = _FUNCTIONS[value]
            inner = self._bracket()
            return lambda at: function(inner(at))
        return self._bracket()

    def _bracket(self) -> Expression:
        if not self._take("("):
            raise DataError(f"an expression is expected at {self._text[self.place : self.place + 20]!r}")
        inner = self.sum()
        if not self._take(")"):
            raise DataError(f"a bracket is not closed in {self._text!r}")
        return inner


def _multiplied(at: Values, factors: Sequence[tuple[Expression, int]]) -> complex:
    result: complex = 1.0
    for factor, exponent in factors:
        result = result * factor(at) if exponent > 0 else result / factor(at)
    return result


def scattered(number: int, size: int, width: float) -> NDArray[np.float64]:
    """Points spread over a box of half this width about the origin, the same on every machine."""
    roots = np.sqrt(np.array([2, 3, 5, 7, 11, 13, 17][:size], dtype=float))
    shares = np.modf(np.outer(np.arange(1, number + 1), roots))[0]
    return (2 * shares - 1) * width

"""Printed equations, 'dx/dt = 3.4 x + 2 x y^2' or 'x[n+1] = 1.3 x[n]' → functions that can be evaluated."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from factory.quartet import Unreadable

_LEFT = re.compile(r"(?:d(?P<flow>\w+)/dt =|(?P<prime>\w+)' =|(?P<map>\w+)\[n\+1\] =|(?P<arrow>\w+) ->) ")
_PIECE = re.compile(r"\s*(\d+\.\d+|\d+|[A-Za-z]\w*(?:\[n\])?|\^|[-+*/(),|])")
_FUNCTIONS = {name: getattr(np, name) for name in ("sin", "cos", "tan", "exp", "tanh", "sqrt", "abs", "log")}
_KNOWN = {**_FUNCTIONS, "pi": np.pi}


def expression(text: str) -> str:
    """A formula with implied products → Python."""
    pieces, position = [], 0
    while position < len(text.rstrip()):
        found = _PIECE.match(text, position)
        if found is None:
            raise Unreadable(f"not a formula: {text!r} at {text[position : position + 20]!r}")
        pieces.append(found[1].replace("[n]", ""))
        position = found.end()
    written: list[str] = []
    for piece in pieces:
        before = written[-1] if written else ""
        ends_value = before.endswith(")") or (before and (before[-1].isalnum() or before[-1] == "_"))
        starts_value = piece == "(" or piece[0].isalnum()
        if ends_value and starts_value and before not in _FUNCTIONS:
            written.append("*")
        written.append("**" if piece == "^" else piece)
    return " ".join(written)


def function(text: str, names: Sequence[str]) -> Callable[..., float]:
    """A formula over named variables as a function of these, in this order; an unknown name is Unreadable."""
    tree = ast.parse(expression(text), mode="eval")
    used = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    unknown = used - set(names) - set(_KNOWN)
    if unknown:
        raise Unreadable(f"names that nothing gives a value: {sorted(unknown)} in {text!r}")
    code = compile(ast.parse(f"lambda {', '.join(names)}: {expression(text)}", mode="eval"), "formula", "eval")
    made: Callable[..., float] = eval(code, {"__builtins__": {}, **_KNOWN})  # noqa: S307 - names are checked above
    return made


@dataclass(frozen=True)
class Equations:
    names: tuple[str, ...]
    sides: tuple[str, ...]
    discrete: bool

    @cached_property
    def _functions(self) -> list[Callable[..., float]]:
        return [function(side, [*self.names, "t"]) for side in self.sides]

    def __call__(self, state: Sequence[float] | np.ndarray, t: float = 0.0) -> np.ndarray:
        return np.array([f(*state, t) for f in self._functions])

    def jacobian(self, state: Sequence[float] | np.ndarray) -> np.ndarray:
        """By complex steps: exact to rounding for formulas that are analytic."""
        point = np.array(state, dtype=complex)
        columns = []
        for i in range(len(point)):
            moved = point.copy()
            moved[i] += 1e-30j
            columns.append(self(moved).imag / 1e-30)
        return np.array(columns).T


def equations(text: str) -> Equations:
    """The first group of equations in a text, up to the end of its sentence."""
    found = list(_LEFT.finditer(text))
    if not found:
        raise Unreadable(f"no equations: {text[:80]!r}")
    end = re.search(
        r"\.(?:\s|$)|, with | with the start | from the start |, beginning with | and the start ",
        text[found[-1].end() :],
    )
    stops = [match.start() for match in found[1:]] + [found[-1].end() + end.start() if end else len(text)]
    sides = [
        re.sub(r"(?:,| and|;)*\s*$", "", text[match.end() : stop].strip())
        for match, stop in zip(found, stops, strict=True)
    ]
    names = tuple(next(name for name in match.groups() if name) for match in found)
    return Equations(names, tuple(sides), bool(found[0]["map"] or found[0]["arrow"]))


def point(text: str, names: Sequence[str]) -> np.ndarray:
    """'(x, y) = (1, -2)' or 'x = 3' → the numbers in the order of the names."""
    vector = re.fullmatch(r"\(([\w, ]+)\) = \(([-\d., ]+)\)", text)
    single = re.fullmatch(r"(\w+) = (-?[\d.]+)", text)
    if vector:
        given = dict(zip(vector[1].split(", "), map(float, vector[2].split(", ")), strict=True))
    elif single:
        given = {single[1]: float(single[2])}
    else:
        raise Unreadable(f"not a point: {text!r}")
    if set(given) != set(names):
        raise Unreadable(f"a point in {sorted(given)} of a system in {sorted(names)}")
    return np.array([given[name] for name in names])

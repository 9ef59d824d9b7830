"""Quartets about the named systems: one system at two settings of its parameters."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator, Mapping
from fractions import Fraction
from itertools import product

from perpend.errors import DataError
from perpend.studies.logic.chaos.questions.chance import Chance
from perpend.studies.logic.chaos.questions.reason.equations import Equations, Lots, Stem
from perpend.studies.logic.chaos.questions.reason.poly import Monomial, Poly, plain
from perpend.studies.logic.chaos.questions.reason.quartet import Quartet, crossed, located
from perpend.studies.logic.chaos.questions.reason.remarks_points import fixed
from perpend.studies.logic.chaos.questions.reason.remarks_volumes import volume_rate
from perpend.studies.logic.chaos.records import SystemWords

_EACH = 2
"""Quartets for one system about its divergence; twice as many, where they can be found, about fixed points."""
_TRIES = 25
_HEAD = re.compile(r"(?:^|, )(?:d(\w+)/dt|(\w+)\[n\+1\]) = ")
_TOKEN = re.compile(r"\d+(?:\.\d+)?|[A-Za-z]\w*|\*\*|[-+*/()]")


def named_quartets(chance: Chance, systems: Mapping[str, SystemWords]) -> Iterator[tuple[str, Quartet]]:
    """The quartets of all systems whose equations are polynomials, with the names they grew from."""
    for system_id in sorted(systems):
        words = systems[system_id]
        sides = read_polynomials(words)
        if sides is None:
            continue
        for kind, make in (("divergence", _rates), ("fixed_point", _points)):
            seen: set[str] = set()
            for turn in range(_EACH if kind == "divergence" else 2 * _EACH):
                stem = Stem(chance, f"named {kind} {system_id} {turn}")
                quartet = make(Lots(stem, kind), words, sides)
                if quartet is None or not quartet.sound:
                    continue
                settings = {system.parameters for system in quartet.systems}
                if not settings & seen:
                    seen |= settings
                    yield stem.name, quartet


def read_polynomials(words: SystemWords) -> list[Poly] | None:
    """The right-hand sides as polynomials in variables and parameters; None where they are not stated as such."""
    heads = list(_HEAD.finditer(words.equations))
    plural = words.name.endswith(("equations", "systems"))
    if (
        len(words.variables) > 4
        or words.kind not in ("flow", "map")
        or not words.name.startswith("the ")
        or "," in words.name
        or plural
    ):
        return None
    if tuple(h[1] or h[2] for h in heads) != words.variables or not heads or heads[0].start():
        return None
    ends = [h.start() for h in heads[1:]] + [len(words.equations)]
    known = {*words.variables, *words.parameters}
    try:
        return [_polynomial(words.equations[h.end() : end], known) for h, end in zip(heads, ends, strict=True)]
    except DataError:
        return None


def _polynomial(text: str, known: set[str]) -> Poly:
    """Raises DataError where the text is no polynomial in the known names."""
    plain_text = text.replace("[n]", "").replace("^", "**")
    tokens = _TOKEN.findall(plain_text)
    if "".join(tokens) != plain_text.replace(" ", ""):
        raise DataError(f"not a polynomial: {text!r}")
    code = ""
    for before, token in zip(["+", *tokens], tokens, strict=False):
        beside = re.match(r"[\w)]", before[-1]) and re.match(r"[\w(]", token[0])
        code += f"*{token}" if beside else token
    try:
        return _walked(ast.parse(code, mode="eval").body, known)
    except SyntaxError as e:
        raise DataError(f"not a polynomial: {text!r}") from e


_OPERATIONS: Mapping[type[ast.operator], Callable[[Poly, Poly], Poly]] = {
    ast.Add: Poly.__add__,
    ast.Sub: Poly.__sub__,
    ast.Mult: Poly.__mul__,
}


def _walked(node: ast.expr, known: set[str]) -> Poly:
    match node:
        case ast.Constant(value=int() | float() as value):
            return Poly.constant(Fraction(str(value)))
        case ast.Name(id=name) if name in known:
            return Poly.variable(name)
        case ast.UnaryOp(op=ast.USub(), operand=inner):
            return _walked(inner, known).times(-1)
        case ast.BinOp(left=left, op=ast.Pow(), right=ast.Constant(value=int() as exponent)):
            return _walked(left, known).power(exponent)
        case ast.BinOp(left=left, op=op, right=right) if type(op) in _OPERATIONS:
            return _OPERATIONS[type(op)](_walked(left, known), _walked(right, known))
    raise DataError(f"not a polynomial: {ast.dump(node)}")


def _set(sides: list[Poly], values: Mapping[str, Fraction]) -> list[Poly]:
    """The right-hand sides with numbers for the given names."""
    return [Poly.of(_reduced(term, value, values) for term, value in side.terms.items()) for side in sides]


def _reduced(term: Monomial, coefficient: Fraction, values: Mapping[str, Fraction]) -> tuple[Monomial, Fraction]:
    for factor, exponent in term:
        coefficient *= values.get(factor, Fraction(1)) ** exponent
    return tuple(part for part in term if part[0] not in values), coefficient


def _at(words: SystemWords, sides: list[Poly], values: Mapping[str, Fraction]) -> Equations:
    return Equations(
        words.variables,
        tuple(_set(sides, values)),
        words.kind == "map",
        words.equations.replace(" * ", " "),
        words.name.removeprefix("the "),
        words.system_id,
        ", ".join(f"{name}={plain(values[name])}" for name in words.parameters),
        words.citation,
    )


def _usual(words: SystemWords) -> dict[str, Fraction]:
    """The parameters of the source to three decimals at most, none of them 0."""
    return {name: Fraction(f"{value:.3f}") or Fraction(1, 2) for name, value in words.parameters.items()}


def _near(lots: Lots, value: Fraction) -> Fraction:
    """A number with one decimal within half of a value."""
    tenths = max(1, abs(round(value * 10)))
    return Fraction(lots.whole((tenths + 1) // 2, tenths + (tenths + 1) // 2), 10) * (1 if value > 0 else -1)


def _rates(lots: Lots, words: SystemWords, sides: list[Poly]) -> Quartet | None:
    if words.kind == "map" or len(words.variables) < 2:
        return None
    for _ in range(_TRIES):
        systems, rates = [], []
        for _ in range(2):
            values = {name: _near(lots, value) for name, value in _usual(words).items()}
            system = _at(words, sides, values)
            divergence = system.divergence()
            if set(divergence.terms) != {()}:
                return None
            systems.append(system)
            rates.append(divergence.terms[()])
        if rates[0] != rates[1] and all((rate * 100).denominator == 1 for rate in rates):
            one, other = (volume_rate(len(words.variables), False, rate) for rate in rates)
            return Quartet("divergence", "named rate", (systems[0], systems[1]), (one, other))
    return None


def _points(lots: Lots, words: SystemWords, sides: list[Poly]) -> Quartet | None:
    choice = _candidates(words, sides)
    if len(choice) < 2:
        return None
    for _ in range(_TRIES):
        points = [lots.pick(choice) for _ in range(2)]
        systems = []
        for point in points:
            values = _fitted(lots, words, sides, point)
            if values is None:
                break
            systems.append(_at(words, sides, values))
        if len(systems) < 2:
            continue
        aims = [tuple(p) if words.kind == "map" else (Fraction(0),) * len(p) for p in points]
        table = [[s.values(p) == aim for p, aim in zip(points, aims, strict=True)] for s in systems]
        if crossed(table):
            size = len(words.variables)
            one, other = (fixed(located(words.variables, p), size, words.kind == "map") for p in points)
            return Quartet("fixed_point", "named point", (systems[0], systems[1]), (one, other))
    return None


def _candidates(words: SystemWords, sides: list[Poly]) -> list[list[Fraction]]:
    """Points of small whole numbers at which the equations without parameters leave the state alone."""
    bound = [i for i, side in enumerate(sides) if not side.names() & set(words.parameters)]
    quartets = []
    for numbers in product((-2, -1, 0, 1, 2), repeat=len(words.variables)):
        where = {n: Fraction(v) for n, v in zip(words.variables, numbers, strict=True)}
        aim = numbers if words.kind == "map" else (0,) * len(numbers)
        if any(numbers) and all(sides[i].at(where) == aim[i] for i in bound):
            quartets.append(list(where.values()))
    return quartets


def _fitted(lots: Lots, words: SystemWords, sides: list[Poly], point: list[Fraction]) -> dict[str, Fraction] | None:
    """Parameters for which a point rests: in each equation that holds any, one of them is solved for."""
    where = dict(zip(words.variables, point, strict=True))
    usual = _usual(words)
    values = {name: _near(lots, value) for name, value in usual.items()}
    solved: set[str] = set()
    for i, side in enumerate(sides):
        left = _set([side - Poly.constant(point[i] if words.kind == "map" else 0)], where)[0]
        free = [name for name in lots.shuffled(sorted(left.names())) if name not in solved]
        rest = left.at(values)
        if rest == 0:
            solved |= left.names()
            continue
        name = next((n for n in free if set(left.slope(n).terms) == {()} or left.slope(n).at(values)), None)
        if name is None:
            return None
        slope = left.slope(name)
        if slope.slope(name).terms:
            return None
        new = values[name] - rest / slope.at(values)
        if (new * 100).denominator != 1 or new * usual[name] <= 0 or abs(new) > 5 * abs(usual[name]) + 5:
            return None
        values[name] = new
        solved |= left.names()
    return values

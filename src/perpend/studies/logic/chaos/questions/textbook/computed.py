"""The value of a named result from its definition, for as many tables as a short computation can reach.

Nothing here reads the curated values: a wrong one is found by comparing.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from functools import cache
from typing import TypeAlias

from perpend.studies.logic.chaos.questions.textbook import formulas

Value: TypeAlias = float | str
Rule: TypeAlias = Callable[[str], Value]
GOLDEN = (1 + math.sqrt(5)) / 2
_AT_REST = "a fixed point"
COUNT_WORDS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven")


@cache
def computed(table: str, subject: str) -> Value | None:
    """The value that belongs to a subject of a table; None where it is not computed here."""
    if table in _READ:
        return _READ[table](subject)
    for fragment, source in _NAMED.get(table, {}).items():
        if fragment in subject:
            return source() if callable(source) else source
    return None


def _numbers(text: str) -> list[float]:
    return [float(number) for number in re.findall(r"-?\d+(?:\.\d+)?", text)]


def _count_word(text: str) -> int:
    return next(n for n, word in enumerate(COUNT_WORDS) if text.endswith(word))


def _lorenz_hopf(subject: str) -> float:
    sigma, *rest = _numbers(subject)
    beta = rest[0] / rest[1] if len(rest) > 1 else rest[0]
    return sigma * (sigma + beta + 3) / (sigma - beta - 1)


def _similarity(subject: str) -> float:
    copies = COUNT_WORDS.index(subject.split(maxsplit=1)[0])
    return math.log(copies) / math.log(_numbers(subject)[-1])


def _noble(subject: str) -> float:
    n = COUNT_WORDS.index(subject)
    return (math.sqrt(n * n + 4) - n) / 2


def _mediant(subject: str) -> float:
    a, b, c, d = _numbers(subject)
    return (a + c) / (b + d)


def _logistic_regime(subject: str) -> str:
    (r,) = _numbers(subject)
    words = _settled(lambda z: r * z * (1 - z))
    if words != _AT_REST:
        return words
    return "the fixed point zero" if r < 1 else f"{words} different from zero"


def _settled(step: Callable[[complex], complex], start: complex = 0.4) -> str:
    period = formulas.settled_period(step, start)
    return _AT_REST if period == 1 else f"a cycle of period {COUNT_WORDS[period]}"


def _henon_regime(subject: str) -> str:
    (a,) = _numbers(subject)
    return _settled(lambda z: complex(1 - a * z.real**2 + z.imag, 0.3 * z.real), 0.1 + 0.1j)


def _ricker_regime(subject: str) -> str:
    (r,) = _numbers(subject)
    return _settled(lambda z: z * math.exp(r * (1 - z.real)))


def _bands(subject: str) -> str:
    count = COUNT_WORDS[formulas.tent_bands(_numbers(subject)[0])]
    return f"{count} chaotic band{'' if count == 'one' else 's'}"


def _area_type(subject: str) -> str:
    (trace,) = _numbers(subject)
    if abs(trace) < 2:
        return "elliptic"
    return "hyperbolic without reflection" if trace > 0 else "hyperbolic with reflection"


def _henon() -> list[float]:
    return formulas.map_exponents(1.4, 0.3, lambda x: x * x, lambda x: 2 * x)


def _lozi() -> list[float]:
    return formulas.map_exponents(1.7, 0.5, abs, lambda x: math.copysign(1.0, x))


def _from_r(r: float) -> float:
    """The parameter c of x^2 + c that belongs to a parameter of the logistic map."""
    return r / 2 - r * r / 4


_READ: Mapping[str, Rule] = {
    "logistic-multipliers": lambda s: 2 - _numbers(s)[0],
    "lorenz-hopf": _lorenz_hopf,
    "tent-exponents": lambda s: math.log(_numbers(s)[0]),
    "self-similar-sets": _similarity,
    "noble-numbers": _noble,
    "brusselator-hopf": lambda s: 1 + _numbers(s)[0] ** 2,
    "cycle-counts": lambda s: formulas.cycles_of_the_shift(_count_word(s)),
    "window-counts": lambda s: formulas.superstable_count(_count_word(s)),
    "farey": _mediant,
    "kaplan-yorke": lambda s: formulas.kaplan_yorke(_numbers(s)),
    "takens-numbers": lambda s: COUNT_WORDS[2 * _count_word(s) + 1],
    "counts-of-fixed-points": lambda s: COUNT_WORDS[len(formulas.real_roots(s))],
    "stable-states": formulas.stable_root,
    "planar-types": lambda s: formulas.planar_type(*_numbers(s)),
    "area-preserving-types": _area_type,
    "logistic-regimes": _logistic_regime,
    "henon-regimes": _henon_regime,
    "ricker-regimes": _ricker_regime,
    "tent-bands": _bands,
}
"""Tables whose values are computed from the numbers in the subject."""

_NAMED: Mapping[str, Mapping[str, Value | Callable[[], Value]]] = {
    "period-doubling-numbers": {
        "lengths of successive": formulas.feigenbaum_delta,
        "rescaled in space": formulas.feigenbaum_alpha,
        "cascade of the logistic map": formulas.accumulation,
        "period-three window": 1 + math.sqrt(8),
        "period two to period four": lambda: formulas.doubling_onset(1),
    },
    "logistic-onsets": {
        "period two": lambda: formulas.doubling_onset(0),
        "period four": lambda: formulas.doubling_onset(1),
        "period eight": lambda: formulas.doubling_onset(2),
        "period three": 1 + math.sqrt(8),
        "different from zero": 1.0,
    },
    "superstable-parameters": {
        "different from zero": lambda: formulas.superstable(1)[0],
        "period two": lambda: formulas.superstable(2)[1],
        "period four": lambda: formulas.superstable(3)[2],
        "period eight": lambda: formulas.superstable(4)[3],
        "period three": lambda: formulas.critical_root(3, 3.83),
    },
    "quadratic-family": {
        "pair of fixed points": _from_r(1),
        "fixed point gives way": _from_r(3),
        "period two gives way": lambda: _from_r(formulas.doubling_onset(1)),
        "accumulates": lambda: _from_r(formulas.accumulation()),
        "window of period three": _from_r(1 + math.sqrt(8)),
        "destroyed": _from_r(4),
    },
    "lorenz-thresholds": {"the origin loses": 1.0, "lose their stability": _lorenz_hopf("10, 8/3")},
    "lorenz-numbers": {
        "modulus of x": math.sqrt(8 / 3 * 27),
        "value of z": 27.0,
        "rate at which": 10 + 1 + 8 / 3,
    },
    "henon-numbers": {
        "sum of the two": -math.log(0.3),
        "largest Lyapunov": lambda: _henon()[0],
        "negative Lyapunov": lambda: -_henon()[1],
        "Kaplan": lambda: formulas.kaplan_yorke(_henon()),
        "x-coordinate": (-0.7 + math.sqrt(0.49 + 5.6)) / 2.8,
    },
    "henon-onsets": {
        "two fixed points": -(0.7**2) / 4,
        "fixed point doubles": 3 * 0.7**2 / 4,
        "period two doubles": 0.7**2 + 1.3**2 / 4,
    },
    "map-exponents": {
        "doubling map": math.log(2),
        "tripling map": math.log(3),
        "tent map": math.log(1.5),
        "cat map": 2 * math.log(GOLDEN),
        "continued-fraction": math.pi**2 / (6 * math.log(2)),
    },
    "entropies": {
        "two symbols": math.log(2),
        "three symbols": math.log(3),
        "five symbols": math.log(5),
        "golden-mean": math.log(GOLDEN),
        "cat map": 2 * math.log(GOLDEN),
    },
    "fractals": {
        "middle-third": math.log(2, 3),
        "Koch": math.log(4, 3),
        "triangle": math.log(3, 2),
        "carpet": math.log(8, 3),
        "Menger": math.log(20, 3),
        "outer quarters": math.log(2, 4),
    },
    "standard-map-thresholds": {"overlap criterion": math.pi**2 / 4, "elliptic fixed point": 4.0},
    "ulam-map": {
        "mean of x": 1 / 2,
        "variance": 1 / 8,
        "below x = 1/4": 2 / math.pi * math.asin(math.sqrt(1 / 4)),
        "fixed point": 1 - 1 / 4,
        "Lyapunov": math.log(2),
    },
    "exponents-of-systems": {"Hénon": lambda: _henon()[0], "logistic": math.log(2)},
    "dimensions-of-systems": {
        "Hénon": lambda: formulas.kaplan_yorke(_henon()),
        "Lozi": lambda: formulas.kaplan_yorke(_lozi()),
    },
    "henon-heiles-energies": {"saddle points": 1 / 6},
    "van-der-pol-limits": {"amplitude": 2.0, "limit cycle in": 2 * math.pi, "divided by mu": 3 - 2 * math.log(2)},
    "kuramoto-onset": {
        "half-width 0.5": 1.0,
        "half-width 1": 2.0,
        "normal": 2 * math.sqrt(2 * math.pi) / math.pi,
        "uniform": 4 / math.pi,
    },
    "delay-thresholds": {"monotonic": math.exp(-1), "unstable": math.pi / 2},
    "poincare-index": {
        "monkey": lambda: formulas.winding(lambda z: z.conjugate() ** 2),
        "z^2": lambda: formulas.winding(lambda z: z**2),
        "a saddle point": lambda: formulas.winding(lambda z: z.conjugate()),
        "node": lambda: formulas.winding(lambda z: -z),
        "without fixed points": lambda: formulas.winding(lambda z: 1 + 0 * z),
    },
    "determinants": {"Hénon": 0.3, "Lozi": 0.5, "standard": 1.0, "Ikeda": 0.9**2},
    "divergences": {
        "Lorenz": -10 - 1 - 8 / 3, "Chen": -35 + 28 - 3, "Lü": -36 + 20 - 3, "Halvorsen": -3 * 1.4,
    },
}  # fmt: skip
"""Tables whose values are computed by name: a fragment of the subject, and its value or how to get it."""

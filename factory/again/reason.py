"""Labels of *reason* from the printed text, by numbers: derivatives by complex steps, laws tried at random states."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np

from factory.again.asked import asked
from factory.again.notation import Equations, equations, function, point
from factory.quartet import Unreadable

_POINT = r"(\(?[\w, ]+\)? = \(?[-\d., ]+\)?)"
_NUMBER = r"(-?[\d.]+)"
_NEAR = 1e-7
_COUNT = {"no": 0, "one": 1, "two": 2, "three": 3}
Judge = Callable[..., Any]


def label(text: str) -> bool:
    question = asked(text)
    system = equations(question.setting)
    for pattern, judge in _JUDGES:
        found = re.fullmatch(pattern, question.claim)
        if found:
            return bool(judge(system, *found.groups())) != question.denied
    raise Unreadable(f"no claim that is known: {question.claim}")


def _states(system: Equations, count: int = 12) -> np.ndarray:
    return np.random.default_rng(7).uniform(-2, 2, (count, len(system.names)))


def _same(a: Any, b: Any) -> bool:
    return bool(np.allclose(a, b, rtol=_NEAR, atol=_NEAR))


def _trace(system: Equations, state: np.ndarray) -> float:
    return float(np.trace(system.jacobian(state)))


def _everywhere(system: Equations, value: str) -> bool:
    return all(_same(_trace(system, state), float(value)) for state in _states(system))


def _sign_everywhere(system: Equations, sign: int) -> bool:
    return all(_trace(system, state) * sign > _NEAR for state in _states(system))


def _trace_at(system: Equations, where: str, value: str) -> bool:
    return _same(_trace(system, point(where, system.names)), float(value))


def _det_at(system: Equations, where: str, value: str) -> bool:
    return _same(np.linalg.det(system.jacobian(point(where, system.names))), float(value))


def _size_at(system: Equations, where: str) -> float:
    return abs(float(np.linalg.det(system.jacobian(point(where, system.names)))))


def _rests(system: Equations, where: str) -> bool:
    state = point(where, system.names)
    return _same(system(state), state if system.discrete else 0)


def _cycle(system: Equations, first: str, second: str) -> bool:
    a, b = point(first, system.names), point(second, system.names)
    return _same(system(a), b) and _same(system(b), a)


def _roots(system: Equations, count: str) -> bool:
    """Changes of sign along a fine grid, whose points avoid the whole numbers."""
    line = np.linspace(-60, 60, 400_002)
    signs = np.sign(system([line])[0])  # type: ignore[list-item]
    return int(np.sum(signs[1:] != signs[:-1])) == _COUNT[count]


def _excess(system: Equations, where: str) -> float:
    """The largest growth near a fixed point, from powers of the Jacobian matrix rather than from its eigenvalues."""
    state = point(where, system.names)
    if not _rests(system, where):
        raise Unreadable(f"{where} is said to be a fixed point, and is none")
    slopes = system.jacobian(state)
    if not system.discrete:
        slopes = np.linalg.matrix_power(np.eye(len(state)) + slopes / 4096, 4096)  # exp(J), nearly
    growth = 0.0
    for _ in range(11):
        size = float(np.linalg.norm(slopes))
        growth = 2 * growth + np.log(size)
        slopes = (slopes / size) @ (slopes / size)
    return float(growth)


def _eigenvalues_2(system: Equations, where: str) -> tuple[float, float]:
    slopes = system.jacobian(point(where, system.names))
    if not _rests(system, where):
        raise Unreadable(f"{where} is said to be a fixed point, and is none")
    (a, b), (c, d) = slopes
    return a * d - b * c, (a - d) ** 2 + 4 * b * c


def _tends(system: Equations, start: str, end: str) -> bool:
    """Small steps, until nothing moves."""
    x, goal = float(point(start, system.names)[0]), float(point(end, system.names)[0])
    for _ in range(200_000):
        rate = float(system([x])[0])
        if abs(rate) < 1e-12 or abs(x) > 100:
            break
        x += np.sign(rate) * min(abs(rate) * 1e-3, 1e-3)
    return abs(x - goal) < 1e-2


def _linear(system: Equations, name: str) -> bool:
    i = system.names.index(name)
    states = _states(system)
    f = [system(state)[i] for state in states]
    doubled = [system(2 * state)[i] for state in states]
    summed = [system(a + b)[i] for a, b in zip(states, states[::-1], strict=True)]
    return _same(doubled, np.multiply(2, f)) and _same(summed, np.add(f, f[::-1]))


def _autonomous(system: Equations) -> bool:
    return all(_same(system(state, 0.3), system(state, 1.1)) for state in _states(system))


def _closed(system: Equations, v: str, w: str) -> bool:
    inside = [system.names.index(v), system.names.index(w)]
    outside = [i for i in range(len(system.names)) if i not in inside]
    return all(_same(system.jacobian(state)[np.ix_(inside, outside)], 0) for state in _states(system))


def _kept(system: Equations, quantity: str) -> bool:
    value = function(quantity, system.names)
    for state in _states(system):
        along = state + 1e-30j * system(state)
        if abs(np.imag(value(*along)) / 1e-30) > 1e-6:
            return False
    return True


def _invariant(system: Equations, name: str, again: str) -> bool:
    if name != again:
        raise Unreadable("two variables where one is meant")
    states = _states(system)
    i = system.names.index(name)
    states[:, i] = 0
    return all(_same(system(state)[i], 0) for state in states)


def _unchanged(system: Equations, change: Callable[[np.ndarray], np.ndarray]) -> bool:
    return all(_same(system(change(state)), change(system(state))) for state in _states(system))


def _signs(system: Equations, before: str, after: str) -> bool:
    names, new = before.split(", "), after.split(", ")
    if [name.removeprefix("-") for name in new] != names or tuple(names) != system.names:
        raise Unreadable("not a change of signs")
    signs = np.array([-1.0 if name.startswith("-") else 1.0 for name in new])
    return _unchanged(system, lambda state: signs * state)


def _exchanged(system: Equations, v: str, w: str, sign: float = 1.0) -> bool:
    i, j = system.names.index(v), system.names.index(w)

    def change(state: np.ndarray) -> np.ndarray:
        new = state.copy()
        new[i], new[j] = sign * state[j], sign * state[i]
        return new

    return _unchanged(system, change)


def _with_signs(system: Equations, v: str, w: str, *again: str) -> bool:
    if again and again != (w, v):
        raise Unreadable("not an exchange")
    return _exchanged(system, v, w, -1.0)


_JUDGES: list[tuple[str, Judge]] = [
    (rf"the divergence of the vector field is {_NUMBER} everywhere", _everywhere),
    (rf"the trace of the Jacobian matrix is {_NUMBER} at every point", _everywhere),
    (rf"a small volume that moves with the flow is multiplied by exp\({_NUMBER} t\) in a time t", _everywhere),
    (rf"the logarithm of a small volume changes at the rate {_NUMBER} along the flow", _everywhere),
    (
        r"(?:volumes in state space shrink along the flow|the divergence of the vector field is negative)",
        lambda s: _sign_everywhere(s, -1),
    ),
    (
        r"(?:volumes in state space grow along the flow|the divergence of the vector field is positive)",
        lambda s: _sign_everywhere(s, 1),
    ),
    (rf"the divergence of the vector field at {_POINT} is {_NUMBER}", _trace_at),
    (rf"the Jacobian matrix at {_POINT} has the trace {_NUMBER}", _trace_at),
    (rf"the Jacobian matrix at {_POINT} has the determinant {_NUMBER}", _det_at),
    (rf"the determinant of the Jacobian matrix at {_POINT} is {_NUMBER}", _det_at),
    (rf"small volumes near {_POINT} shrink in one step", lambda s, p: _size_at(s, p) < 1),
    (rf"one step of the map makes a small volume around {_POINT} smaller", lambda s, p: _size_at(s, p) < 1),
    (rf"small volumes near {_POINT} grow in one step", lambda s, p: _size_at(s, p) > 1),
    (rf"one step of the map makes a small volume around {_POINT} larger", lambda s, p: _size_at(s, p) > 1),
    (rf"{_POINT} is a fixed point", _rests),
    (rf"the system stays at {_POINT} for ever if it starts there", _rests),
    (rf"the map takes {_POINT} to {_POINT} and \2 back to \1", _cycle),
    (rf"starting from {_POINT}, the map is at {_POINT} after one step and back at \1 after two", _cycle),
    (r"the number of (?:its fixed points on the real line|real roots of the right-hand side) is (\w+)", _roots),
    (rf"the fixed point at {_POINT} is stable", lambda s, p: _excess(s, p) < 0),
    (rf"all orbits that start close enough to the fixed point at {_POINT} tend to it", lambda s, p: _excess(s, p) < 0),
    (rf"the fixed point at {_POINT} is unstable", lambda s, p: _excess(s, p) > 0),
    (
        rf"some orbits that start as close as one likes to the fixed point at {_POINT} leave its neighbourhood",
        lambda s, p: _excess(s, p) > 0,
    ),
    (rf"the fixed point at {_POINT} is a saddle", lambda s, p: _eigenvalues_2(s, p)[0] < 0),
    (
        rf"the Jacobian matrix at {_POINT} has one positive and one negative eigenvalue",
        lambda s, p: _eigenvalues_2(s, p)[0] < 0,
    ),
    (rf"the fixed point at {_POINT} is a spiral or a centre", lambda s, p: _eigenvalues_2(s, p)[1] < 0),
    (
        rf"the eigenvalues of the Jacobian matrix at {_POINT} are a pair of complex numbers",
        lambda s, p: _eigenvalues_2(s, p)[1] < 0,
    ),
    (rf"the solution that starts at {_POINT} tends to {_POINT}", _tends),
    (rf"started at {_POINT}, the flow comes to rest at {_POINT} in the long run", _tends),
    (r"(?:the equation for|every term in the equation for) (\w+) is (?:linear|a constant times one variable)", _linear),
    (r"(?:the system is autonomous|the time derivatives depend on the state alone)", _autonomous),
    (
        r"(?:the right-hand side depends explicitly on time|the system is driven by a term that depends on time alone)",
        lambda s: not _autonomous(s),
    ),
    (r"the equations for (\w+) and (\w+) form a closed system of their own", _closed),
    (r"one can solve the equations for (\w+) and (\w+) without knowing the other variables", _closed),
    (r"the quantity (.+) stays constant along every solution", _kept),
    (r"(.+) is a conserved quantity", _kept),
    (r"every solution stays on a set where (.+) has one value", _kept),
    (r"every orbit that starts with (\w+) = 0 keeps (\w+) = 0 for ever", _invariant),
    (r"the set of states with (\w+)() = 0 is invariant", lambda s, v, _: _invariant(s, v, v)),
    (r"\((.+)\) -> \((.+)\) is a symmetry of the system", _signs),
    (r"the equations keep their form under \((.+)\) -> \((.+)\)", _signs),
    (r"exchanging (\w+) and (\w+) is a symmetry of the system", _exchanged),
    (r"the equations keep their form when (\w+) and (\w+) are exchanged", _exchanged),
    (r"exchanging (\w+) and (\w+) and changing both their signs is a symmetry of the system", _with_signs),
    (r"the equations keep their form when (\w+) becomes -(\w+) and (\w+) becomes -(\w+)", _with_signs),
]  # fmt: skip

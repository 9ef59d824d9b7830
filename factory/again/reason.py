"""Labels of *reason* from the printed text, by numbers: derivatives by complex steps, laws tried at random states."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from factory.again.asked import asked
from factory.again.claims import Holes, holds
from factory.again.notation import Equations, equations, function, point
from factory.quartet import Unreadable

_NEAR = 1e-7
_WORDS = ["no", "one", "two", "three"]


def label(text: str) -> bool:
    question = asked(text)
    system = equations(question.setting)
    holes: Holes = {
        "n": (r"-?[\d.]+", float),
        "p": (r"\(?[\w, ]+\)? = \(?[-\d., ]+\)?", lambda text: point(text, system.names)),
        "v": (r"\w+", str),
        "w": ("|".join(_WORDS), _WORDS.index),
        "k": (".+", str),
    }
    return holds("reason.toml", question.claim, holes, {**_TOOLS, "s": system}) != question.denied


def _states(system: Equations, count: int = 12) -> np.ndarray:
    return np.random.default_rng(7).uniform(-2, 2, (count, len(system.names)))


def _same(a: Any, b: Any) -> bool:
    return bool(np.allclose(a, b, rtol=_NEAR, atol=_NEAR))


def _trace(system: Equations, state: np.ndarray) -> float:
    return float(np.trace(system.jacobian(state)))


def _det(system: Equations, state: np.ndarray) -> float:
    return float(np.linalg.det(system.jacobian(state)))


def _everywhere(system: Equations, value: float) -> bool:
    return all(_same(_trace(system, state), value) for state in _states(system))


def _sign_everywhere(system: Equations, sign: int) -> bool:
    return all(_trace(system, state) * sign > _NEAR for state in _states(system))


def _rests(system: Equations, state: np.ndarray) -> bool:
    return _same(system(state), state if system.discrete else 0)


def _roots(system: Equations) -> int:
    """Changes of sign along a fine grid, whose points avoid the whole numbers."""
    line = np.linspace(-60, 60, 400_002)
    signs = np.sign(system([line])[0])  # type: ignore[list-item]
    return int(np.sum(signs[1:] != signs[:-1]))


def _slopes(system: Equations, state: np.ndarray) -> np.ndarray:
    if not _rests(system, state):
        raise Unreadable(f"{state} is said to be a fixed point, and is none")
    return system.jacobian(state)


def _excess(system: Equations, state: np.ndarray) -> float:
    """The largest growth near a fixed point, from powers of the Jacobian matrix rather than from its eigenvalues."""
    slopes = _slopes(system, state)
    if not system.discrete:
        slopes = np.linalg.matrix_power(np.eye(len(state)) + slopes / 4096, 4096)  # exp(J), nearly
    growth = 0.0
    for _ in range(11):
        size = float(np.linalg.norm(slopes))
        growth = 2 * growth + np.log(size)
        slopes = (slopes / size) @ (slopes / size)
    return float(growth)


def _eigenvalues(system: Equations, state: np.ndarray) -> tuple[float, float]:
    """Of a fixed point in the plane: the product of the two, and the square of their difference."""
    (a, b), (c, d) = _slopes(system, state)
    return a * d - b * c, (a - d) ** 2 + 4 * b * c


def _tends(system: Equations, start: np.ndarray, end: np.ndarray) -> bool:
    """Small steps, until nothing moves."""
    x, goal = float(start[0]), float(end[0])
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


def _invariant(system: Equations, name: str) -> bool:
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


def _exchanged(system: Equations, v: str, w: str, sign: float) -> bool:
    i, j = system.names.index(v), system.names.index(w)

    def change(state: np.ndarray) -> np.ndarray:
        new = state.copy()
        new[i], new[j] = sign * state[j], sign * state[i]
        return new

    return _unchanged(system, change)


_TOOLS: dict[str, Any] = {
    "abs": abs,
    **{
        f.__name__.strip("_"): f
        for f in (_same, _trace, _det, _everywhere, _sign_everywhere, _rests, _roots, _excess, _eigenvalues, _tends)
    },
    **{f.__name__.strip("_"): f for f in (_linear, _autonomous, _closed, _kept, _invariant, _signs, _exchanged)},
}

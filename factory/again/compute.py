"""Labels of *compute* from the printed text: exact fractions for a few steps, DOP853 and two orbits for the rest.

What a long run shows is kept in `seen.jsonl` under a digest of the equations, the start and the time that are printed;
a run that is not there is made.
"""

from __future__ import annotations

import hashlib
import json
import re
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from pathlib import Path

import numpy as np

from factory.again.asked import asked
from factory.again.claims import Holes, holds
from factory.again.notation import Equations, equations, expression
from factory.quartet import Unreadable

SEEN = Path(__file__).parent / "seen.jsonl"
_NUMBER = r"-?\d+(?:\.\d+)?"
_START = re.compile(
    r"\((?P<names>[\w, \[\]]+)\) = \((?P<values>[-\d., ]+)\)|(?<![\w\[])(?P<name>\w+)\[0\] = (?P<value>-?[\d.]+)"
)
_TIME = re.compile(r"first (\d+) (?:time units|steps)|before t = (\d+)")
_VALUES = re.compile(
    rf"(?:and (\w) takes the values|The values of (\w) are) ({_NUMBER})(?:, ({_NUMBER}))? and ({_NUMBER})"
)
_KINDS = {"chaotic": "chaotic", "periodic": "periodic", "steady": "rest"}
_RANKS = ["smallest", "middle", "largest"]
_HOLES: Holes = {
    "n": (_NUMBER, Fraction),
    "i": (r"\d+", int),
    "v": (r"\w", str),
    "k": ("|".join(_KINDS), _KINDS.__getitem__),
    "r": ("|".join(_RANKS), lambda rank: [name == rank for name in _RANKS]),
}


@dataclass(frozen=True)
class Motion:
    """Equations with their start, and what is left out at the beginning."""

    equations: Equations
    start: tuple[str, ...]
    skip: int

    @property
    def digest(self) -> str:
        system = self.equations
        words = [*system.names, *system.sides, *self.start, str(self.skip)]
        return hashlib.sha256("\n".join(words).encode()).hexdigest()[:16]


@dataclass(frozen=True)
class Seen:
    kind: str
    cycle: int


def label(text: str) -> bool:
    question = asked(text)
    known = {
        "kinds": lambda: [look(motion).kind for motion in motions(text)],
        "cycle": lambda: look(motions(text)[0]).cycle,
        "after": lambda variable, steps: _iterated(_motion(question.setting, 0), steps)[variable],
    }
    return holds("compute.toml", question.claim, _HOLES, known) != question.denied


def motions(text: str) -> list[Motion]:
    """Every motion whose long run a question asks for, in the order of the values that it lists."""
    setting = asked(text).setting
    time = _TIME.search(setting)
    if time is None:
        raise Unreadable(f"no time: {setting!r}")
    values = _VALUES.search(setting)
    if values is None:
        return [_motion(setting, int(time[1] or time[2]))]
    letter = values[1] or values[2]
    listed = sorted((value for value in values.groups()[2:] if value), key=float)
    return [_motion(setting, int(time[1] or time[2]), letter, value) for value in listed]


def _motion(setting: str, skip: int, letter: str = "", value: str = "") -> Motion:
    read = equations(setting)
    found = _START.search(setting)
    if found is None:
        raise Unreadable(f"no start: {setting!r}")
    names = (found["names"] or found["name"]).replace("[0]", "").split(", ")
    values = dict(zip(names, (found["values"] or found["value"]).rstrip(".").split(", "), strict=True))
    if set(values) != set(read.names):
        raise Unreadable(f"a start in {names} of a system in {read.names}")
    sides = tuple(re.sub(rf"\b{letter}\b", value, side) for side in read.sides) if letter else read.sides
    state = tuple(values[name] for name in read.names)
    return Motion(Equations(read.names, sides, read.discrete), state, skip)


def _iterated(motion: Motion, steps: int) -> dict[str, Fraction]:
    """Exactly, in fractions: every decimal of the text is one."""
    system = motion.equations
    whole = [re.sub(r"\d+(?:\.\d+)?", lambda m: f"Fraction('{m[0]}')", expression(side)) for side in system.sides]
    codes = [compile(re.sub(r"\*\* Fraction\('(\d)'\)", r"** \1", side), "step", "eval") for side in whole]
    state = dict(zip(system.names, map(Fraction, motion.start), strict=True))
    for _ in range(steps):
        values = [eval(code, {"__builtins__": {}, "Fraction": Fraction}, state) for code in codes]  # noqa: S307
        state = dict(zip(system.names, values, strict=True))
    return state


@cache
def kept() -> dict[str, Seen]:
    """What was seen before, by the digests of the motions."""
    if not SEEN.exists():
        return {}
    rows = map(json.loads, SEEN.read_text(encoding="utf-8").splitlines())
    return {row["motion"]: Seen(row["kind"], row["cycle"]) for row in rows}


@cache
def look(motion: Motion) -> Seen:
    """What the motion is after the time that is left out."""
    return kept().get(motion.digest) or watched(motion)


def watched(motion: Motion) -> Seen:
    """Two orbits, side by side: whether a small distance grows, whether states come back, whether nothing moves."""
    states, distance = _map_orbit(motion) if motion.equations.discrete else _flow_orbit(motion)
    states = _turned(motion.equations, states)
    spread = np.ptp(states, axis=0)
    if np.all(spread < 1e-4 * (1 + np.abs(states[-1]))):
        return Seen("rest", 0)
    size = float(np.linalg.norm(spread))
    cycle = _recurrence(states, size) if motion.equations.discrete else _closes(states, size)
    if cycle and distance < 1.5:
        return Seen("periodic", cycle if motion.equations.discrete else 0)
    # Where volumes shrink fast, a chaotic orbit comes back to within a line's width of itself: growth decides.
    return Seen("chaotic" if distance > (5 if cycle else 1.5) else "unclear", 0)


def _turned(system: Equations, states: np.ndarray) -> np.ndarray:
    """The states with angles, which stand in sines and cosines alone, as points of a circle."""
    columns = []
    for i, name in enumerate(system.names):
        rest = [re.sub(rf"(?:sin|cos)\({name}\)", "", side) for side in system.sides]
        bare = any(re.search(rf"\b{name}\b", side) for side in rest)
        columns += [states[:, i]] if bare else [np.sin(states[:, i]), np.cos(states[:, i])]
    return np.column_stack(columns)


def _map_orbit(motion: Motion) -> tuple[np.ndarray, float]:
    """States after the first steps, and the mean growth of a small distance over forty steps, in powers of e."""
    system, state = motion.equations, np.array([float(v) for v in motion.start])
    for _ in range(motion.skip):
        state = system(state)
    other, states, grown = state + 1e-9, [], 0.0
    for _ in range(2000):
        state, other = system(state), system(other)
        states.append(state)
        gap = float(np.linalg.norm(other - state)) or 1e-300
        grown += np.log(gap / 1e-9)
        other = state + (other - state) * (1e-9 / gap)
    return np.array(states), 40 * grown / 2000


def _recurrence(states: np.ndarray, size: float) -> int:
    """The first number of steps after which every state is back."""
    for k in range(1, 33):
        if np.max(np.abs(states[k:] - states[:-k])) < 1e-5 * size:
            return k
    return 0


def _flow_orbit(motion: Motion) -> tuple[np.ndarray, float]:
    """DOP853: states at even times, for two fifths of the time left out, and how a small distance grows in this time.

    It is read from the last three quarters: at first the distance turns into the direction that grows.
    """
    from scipy.integrate import solve_ivp

    system, size = motion.equations, len(motion.equations.names)
    span = motion.skip / 100

    def both(t: float, y: np.ndarray) -> np.ndarray:
        state = y.tolist()
        return np.concatenate([system(state[:size], t), system(state[size:], t)])

    def single(t: float, y: np.ndarray) -> np.ndarray:
        return system(y.tolist(), t)

    start = [float(value) for value in motion.start]
    begun = solve_ivp(single, (0, motion.skip), start, method="DOP853", rtol=1e-8, atol=1e-10)
    y, t = np.tile(begun.y[:, -1], 2), float(motion.skip)
    y[size:] += 1e-7
    states, grown, stretch = [], 0.0, 40
    for number in range(stretch):
        made = solve_ivp(
            both, (t, t + span), y, method="DOP853", rtol=1e-9, atol=1e-12, t_eval=np.linspace(t, t + span, 101)[1:]
        )
        states.append(made.y[:size].T)
        y, t = made.y[:, -1].copy(), t + span
        gap = float(np.linalg.norm(y[size:] - y[:size])) or 1e-300
        begin = 1e-7 * np.sqrt(size)
        grown += np.log(gap / begin) if 4 * number >= stretch else 0.0
        y[size:] = y[:size] + (y[size:] - y[:size]) * (begin / gap)
    return np.concatenate(states), grown / 0.75


def _closes(states: np.ndarray, size: float) -> int:
    """1 where the last state lies on the path of the orbit long before, between two states that are kept."""
    early, late = states[: len(states) // 2], states[-40:]
    worst = 0.0
    for state in late:
        near = int(np.argmin(np.linalg.norm(early - state, axis=1)))
        near = min(max(near, 1), len(early) - 2)
        best = np.inf
        for a, b in ((early[near - 1], early[near]), (early[near], early[near + 1])):
            along = np.clip(np.dot(state - a, b - a) / max(float(np.dot(b - a, b - a)), 1e-300), 0, 1)
            best = min(best, float(np.linalg.norm(state - a - along * (b - a))))
        worst = max(worst, best)
    return int(worst < 4e-3 * size)

"""Instances: a system with every parameter value stated, and where it starts. The unit that facts are about."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from perpend.studies.logic.chaos.system import System, Values

# On decimals the orbits of these maps are exactly periodic, or end at rest by rounding: they start from roots.
_ROOTS: Final = (("sqrt(2) - 1", math.sqrt(2) - 1), ("sqrt(3) - 1", math.sqrt(3) - 1))
_FROM_ROOTS: Final[Mapping[str, int]] = {
    "arnold_cat_map": 2, "bakers_map": 2, "dysts_gingerbreadman_map": 2, "dysts_kaplanyorke_map": 2, "tent_map": 1,
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Instance:
    """One setting of one system. `values` holds every parameter; `start` the initial state, time 0."""

    system_id: str
    values: Values
    start: tuple[float, ...]

    @property
    def settings(self) -> str:
        """The parameter values as text, in the order of the system: 'r=3.83'."""
        return ",".join(f"{name}={value:.10g}" for name, value in self.values.items())


def default_start(system: System, values: Values) -> tuple[float, ...]:
    """The system's own start; a chain of N sites starts on a ramp, since equal sites would never part."""
    if system.system_id in _FROM_ROOTS:
        return tuple(value for _, value in _ROOTS[: _FROM_ROOTS[system.system_id]])
    if system.size is None:
        return system.start
    return tuple(round(system.start[0] + i / 10, 10) for i in range(int(values[system.size])))


def start_words(system_id: str) -> tuple[str, ...]:
    """How a question must write the start of a system that starts from roots; empty for any other."""
    return tuple(word for word, _ in _ROOTS[: _FROM_ROOTS.get(system_id, 0)])

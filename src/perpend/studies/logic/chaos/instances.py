"""Instances: a system with every parameter value stated, and where it starts. The unit that facts are about."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from perpend.studies.logic.chaos.system import System, Values
from perpend.studies.logic.chaos.systems import CORE_FILE


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
    if system.size is None:
        return system.start
    return tuple(round(system.start[0] + i / 10, 10) for i in range(int(values[system.size])))


def planned(system: System) -> tuple[Instance, ...]:
    """The instances that core.toml plans for a system, before any is measured, without doubles."""
    table = tomllib.loads(CORE_FILE.read_text(encoding="utf-8"))[system.system_id]
    instances: dict[str, Instance] = {}
    for name, first, last, count, decimals, *rest in table["scan"]:
        fixed: Mapping[str, float] = rest[0] if rest else {}
        for value in np.linspace(first, last, count):
            values = {**system.parameters, **fixed, name: round(float(value), decimals) + 0.0}
            starts: Sequence[Sequence[float]] = table.get("starts") or [default_start(system, values)]
            for start in starts:
                instance = Instance(system.system_id, values, tuple(start))
                instances.setdefault(f"{instance.settings} from {instance.start}", instance)
    return tuple(instances.values())


def landmarks(system: System) -> frozenset[str]:
    """The settings of the planned instances that core.toml wants kept whatever the balance."""
    marks = tomllib.loads(CORE_FILE.read_text(encoding="utf-8"))[system.system_id].get("landmarks", [])
    return frozenset(
        instance.settings
        for instance in planned(system)
        for mark in marks
        if instance.values == {**system.parameters, **mark}
    )


def neighbours(instance: Instance, count: int, rng: np.random.Generator) -> tuple[tuple[float, ...], ...]:
    """Other starts, each coordinate off by up to a quarter of itself (a zero by up to 0.1): do they end up alike?"""
    start = np.array(instance.start)
    shifts = rng.uniform(-1.0, 1.0, (count, len(start)))
    moved = start + shifts * np.where(start == 0, 0.1, 0.25 * np.abs(start))
    return tuple(tuple(float(x) for x in row) for row in moved)

"""The machine of a system: orbits without delay from engine.py, those with one from delay.py."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache

from perpend.errors import DataError
from perpend.studies.logic.chaos.measuring.delay import DelayMachine
from perpend.studies.logic.chaos.measuring.engine import Lag, Machine, lagging, system_text
from perpend.studies.logic.chaos.system import Rate, System


@dataclass(frozen=True)
class _Frozen:
    """A system as a key: equal where the right-hand side is the same function."""

    system_id: str
    rate: Rate
    parameters: tuple[str, ...]
    system: System = field(compare=False)


@cache
def _machine(frozen: _Frozen, dimension: int, lag: Lag) -> Machine:
    if lag == "some":
        return DelayMachine(frozen.system, system_text(frozen.system.rate, frozen.parameters, dimension, lag))
    return Machine(frozen.system, dimension, system_text(frozen.system.rate, frozen.parameters, dimension, lag))


def machine(system: System, values: Mapping[str, float]) -> Machine:
    """The machine of a system at the dimension that the parameters give it. DataError for a noisy system."""
    if system.is_noisy(values):
        raise DataError(f"{system.system_id} with noise has no orbit to compute")
    dimension = system.dimension(values)
    frozen = _Frozen(system.system_id, system.rate, tuple(system.parameters), system)
    return _machine(frozen, len(system.variables) if dimension is None else dimension, lagging(system, values))

"""What a dynamical system is here: equations that can be stepped, and the words and numbers that state them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from perpend.canon import JSON

Array: TypeAlias = NDArray[np.float64]
Params: TypeAlias = Mapping[str, Array]
Values: TypeAlias = Mapping[str, float]
Kind: TypeAlias = Literal["map", "flow", "forced flow", "delay", "discretised PDE", "stochastic"]
# (time, state, parameters) → rate of change of a flow, or next state of a map. The state has its variables on the
# first axis and any number of orbits behind; parameters and time broadcast against the last axis.
Rate: TypeAlias = Callable[[Array, Array, Params], Array]


@dataclass(frozen=True, slots=True)
class System:
    """One system. `parameters` holds the default value of every parameter that `equations` names."""

    system_id: str
    name: str
    """As a sentence uses it, with its article: 'the Lorenz-63 system'."""
    kind: Kind
    variables: tuple[str, ...]
    parameters: Values
    citation: str
    equations: str
    rate: Rate
    start: tuple[float, ...]
    """Initial state, unless an instance states another."""
    time_scale: float = 1.0
    """About one oscillation, in the system's own time; one iterate for a map. Sets run lengths and margins."""
    forcing: tuple[str, str] | None = None
    """(amplitude parameter, angular-frequency parameter) of a periodic forcing; a zero amplitude is no forcing."""
    forcing_period: Callable[[Params], Array] | None = None
    """The forcing's period from the parameters; None: 2π over the angular frequency."""
    lag: str | None = None
    """The parameter that is the delay; zero is no delay."""
    noise: str | None = None
    """The parameter that is the noise amplitude; zero is no noise."""
    angles: tuple[int, ...] = ()
    """Variables that live on a circle of circumference `turn`: they are compared and bounded modulo it."""
    turn: float = 2 * np.pi
    size: str | None = None
    """The parameter that is the number of variables, where that is one."""
    steps: int = 60
    """Integration steps per time scale (per forcing period); doubled by the measurement until the error is small."""
    reference_ids: tuple[str, ...] = field(default=())
    """The ids under which the reference benchmark lists regimes of this system."""

    def is_forced(self, values: Values) -> bool:
        """Whether the equations depend on time explicitly at these parameter values."""
        return self.forcing is not None and values[self.forcing[0]] != 0

    def forcing_unit(self, params: Params) -> Array:
        """The forcing's period at these parameters."""
        if self.forcing_period is not None:
            return self.forcing_period(params)
        assert self.forcing is not None
        return 2 * np.pi / params[self.forcing[1]]

    def is_delayed(self, values: Values) -> bool:
        """Whether the rate of change depends on the state at an earlier time."""
        return self.lag is not None and values[self.lag] != 0

    def is_noisy(self, values: Values) -> bool:
        """Whether a random term stays in the equations."""
        return self.noise is not None and values[self.noise] != 0

    def dimension(self, values: Values) -> int | None:
        """How many numbers the state is. None: infinitely many (a delay system). Time is not counted."""
        if self.is_delayed(values):
            return None
        return int(values[self.size]) if self.size is not None else len(self.variables)

    def as_json(self) -> dict[str, JSON]:
        """What systems.jsonl holds: everything but the code."""
        return {
            "system_id": self.system_id,
            "name": self.name,
            "kind": self.kind,
            "variables": list(self.variables),
            "parameters": dict(self.parameters),
            "citation": self.citation,
            "equations": self.equations,
            "reference_ids": list(self.reference_ids),
        }

"""Orbits and Lyapunov exponents of a system, by DOP853 with variational equations, in C compiled for the system.

The C text is made from the system's own right-hand side and compiled once, into a private folder of this user. Only
building and checking facts needs it; nothing that uses the facts does.
"""

from __future__ import annotations

import ctypes
import hashlib
import os
import shutil
import stat
import subprocess
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Final, Literal, TypeAlias

import numpy as np

from perpend.errors import DataError
from perpend.studies.logic.chaos.measuring.source import Text, text
from perpend.studies.logic.chaos.measuring.trace import traced
from perpend.studies.logic.chaos.system import Array, Rate, System

# 'escaped': a variable beyond 1e6 times the start's size. 'unfinished': the cap on steps was met. 'failed': the step
# became too small or the state was not a number, which says nothing of the orbit.
Lag: TypeAlias = Literal["none", "zero", "some"]
Status: TypeAlias = Literal["ok", "escaped", "unfinished", "failed"]
STATUSES: Final[tuple[Status, ...]] = ("ok", "escaped", "unfinished", "failed")
CAP: Final = 5_000_000
FLAGS: Final = ("-O2", "-ffp-contract=off", "-fno-math-errno", "-std=gnu11", "-shared", "-fPIC")
_FOLDER: Final = Path(__file__).parent


@dataclass(frozen=True, slots=True)
class Reached:
    """Where an orbit came to."""

    state: Array
    time: float
    status: Status
    steps: int


@dataclass(frozen=True, slots=True)
class Followed:
    """An orbit with its tangent vectors. Intervals that were not finished are left out."""

    growth: Array
    """(intervals, exponents): the logarithm by which each orthogonal direction grew in each interval."""
    states: Array
    """(intervals, variables): the state at each interval's end."""
    divergence: float
    """The time-mean of the Jacobian's trace, of a map the mean of ln|det J|; NaN where no time passed."""
    low: Array
    high: Array
    """The extremes of every variable over all steps."""
    status: Status
    steps: int
    state: Array
    time: float


def compiler() -> str:
    """The system's C compiler. DataError where there is none."""
    program = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
    if program is None:
        raise DataError("facts are measured with a C compiler; install one (cc, gcc or clang on the search path)")
    return program


def _private_folder() -> Path:
    """A folder that only this user can write, or a DataError: code from it is run."""
    folder = Path(tempfile.gettempdir()) / f"perpend-measuring-{os.getuid()}"
    folder.mkdir(mode=0o700, exist_ok=True)
    facts = folder.lstat()
    if not stat.S_ISDIR(facts.st_mode) or facts.st_uid != os.getuid() or facts.st_mode & 0o077:
        raise DataError(f"{folder} is not a private folder of this user; remove it")
    return folder


@cache
def compiled(source: str) -> ctypes.CDLL:
    """The library of a C text, compiled unless this user compiled the same text before."""
    command = [compiler(), *FLAGS]
    digest = hashlib.sha256("\0".join([*command, source]).encode()).hexdigest()[:32]
    folder = _private_folder()
    library = folder / f"{digest}.so"
    if not library.exists():
        with tempfile.TemporaryDirectory(dir=folder) as work:
            (Path(work) / "orbit.c").write_text(source, encoding="utf-8")
            call = [*command, "-o", f"{work}/orbit.so", f"{work}/orbit.c", "-lm"]
            done = subprocess.run(call, capture_output=True, text=True, check=False)  # noqa: S603  our own text
            if done.returncode != 0:
                raise DataError("the C compiler refuses the text of a system", *done.stderr.splitlines()[:5])
            (Path(work) / "orbit.so").replace(library)
    return ctypes.CDLL(str(library))


@cache
def system_text(rate: Rate, parameters: tuple[str, ...], dimension: int, lag: Lag) -> Text:
    """The C text of a right-hand side. With a lag the state's past is one more argument of it; where the lag is zero
    the past is the present."""
    inputs = 2 * dimension if lag == "some" else dimension
    tape, outputs = traced(rate, parameters, inputs, tuple(range(dimension)) if lag == "zero" else ())
    if len(outputs) != dimension:
        raise DataError(f"a right-hand side of {dimension} variables gives {len(outputs)}")
    return text(tape, outputs, inputs)


def definitions(system: System, dimension: int) -> str:
    """The sizes and kinds that the C text is compiled for."""
    turns = ", ".join(repr(float(system.turn)) if i in system.angles else "0.0" for i in range(dimension))
    is_map = int(system.kind == "map")
    sizes = f"#define N {dimension}\n#define MAP {is_map}\n#define TURNS {{{turns}}}\n"
    return "#define _GNU_SOURCE\n#include <math.h>\n" + sizes


def pointer(array: Array) -> Any:
    """The address of an array's first number."""
    return array.ctypes.data_as(ctypes.POINTER(ctypes.c_double))


class Machine:
    """One system at one dimension, compiled."""

    def __init__(self, system: System, dimension: int, source: Text) -> None:
        self.system = system
        self.dimension = dimension
        body = (_FOLDER / "orbit.c").read_text(encoding="utf-8")
        self._library = compiled(definitions(system, dimension) + source.rate + source.jacobian + body)

    def _vector(self, values: Mapping[str, float]) -> Array:
        return np.array([values[name] for name in self.system.parameters], dtype=np.float64)

    def _start(self, state: Array) -> Array:
        start = np.array(state, dtype=np.float64)
        if start.shape != (self.dimension,) or not np.isfinite(start).all():
            raise DataError(f"{self.system.system_id}: a start has {self.dimension} finite numbers, not {start}")
        return start

    def advance(
        self,
        values: Mapping[str, float],
        state: Array,
        time: float,
        span: float,
        tolerance: float,
        *,
        cap: int = CAP,
    ) -> Reached:
        """The orbit from a state over a span of time (iterates, of a map), to a local relative tolerance."""
        x = self._start(state)
        steps, passed = ctypes.c_long(), ctypes.c_double()
        status = self._library.advance(
            pointer(self._vector(values)), pointer(x), *doubles(time, span, tolerance, longest(self.system, values)),
            ctypes.c_long(cap), ctypes.byref(steps), ctypes.byref(passed),
        )  # fmt: skip
        return Reached(x, time + passed.value, STATUSES[status], steps.value)

    def follow(  # noqa: PLR0913, PLR0917
        self,
        values: Mapping[str, float],
        state: Array,
        time: float,
        span: float,
        interval: float,
        tolerance: float,
        exponents: int,
        *,
        cap: int = CAP,
    ) -> Followed:
        """The orbit with `exponents` tangent vectors over as many whole intervals as fit in the span.

        The tangents are made orthogonal at every few steps, so that the interval decides nothing but what is noted.
        """
        x = self._start(state)
        count = whole(self.system, span, interval)
        if not 0 <= exponents <= self.dimension:
            raise DataError(f"{self.system.system_id} has {self.dimension} exponents, not {exponents}")
        growth, states = np.zeros((count, exponents)), np.zeros((count, self.dimension))
        low, high = np.zeros(self.dimension), np.zeros(self.dimension)
        divergence, passed = ctypes.c_double(), ctypes.c_double()
        steps, finished = ctypes.c_long(), ctypes.c_long()
        status = self._library.follow(
            pointer(self._vector(values)), pointer(x), *doubles(time, interval), ctypes.c_long(count),
            *doubles(tolerance, longest(self.system, values)), ctypes.c_long(cap), ctypes.c_int(exponents),
            pointer(growth), pointer(states), ctypes.byref(divergence), pointer(low), pointer(high),
            ctypes.byref(steps), ctypes.byref(finished), ctypes.byref(passed),
        )  # fmt: skip
        done = finished.value
        mean = divergence.value / passed.value if passed.value > 0 else float("nan")
        end = time + passed.value
        return Followed(growth[:done], states[:done], mean, low, high, STATUSES[status], steps.value, x, end)

    def section(  # noqa: PLR0913, PLR0917
        self,
        values: Mapping[str, float],
        state: Array,
        time: float,
        span: float,
        tolerance: float,
        variable: int,
        level: float,
        *,
        cap: int = CAP,
    ) -> tuple[Array, Array]:
        """Times and states at which a variable of a flow passes a level upwards, at the integrator's own accuracy.

        Two passages within one step are not seen. Where the orbit escapes or the cap is met, those before it.
        """
        if self.system.kind == "map":
            raise DataError(f"{self.system.system_id} is a map: its orbit has no passages")
        x = self._start(state)
        room = 1_000_000 // self.dimension
        times, points = np.zeros(room), np.zeros((room, self.dimension))
        program, steps, passed = ctypes.c_long(), ctypes.c_long(), ctypes.c_double()
        self._library.section(
            pointer(self._vector(values)), pointer(x), *doubles(time, span, tolerance, longest(self.system, values)),
            ctypes.c_long(cap), ctypes.c_int(variable), ctypes.c_double(level), ctypes.c_long(room), pointer(times),
            pointer(points), ctypes.byref(program), ctypes.byref(steps), ctypes.byref(passed),
        )  # fmt: skip
        return times[: program.value].copy(), points[: program.value].copy()

    def probe(self, values: Mapping[str, float], state: Array, time: float) -> tuple[Array, Array]:
        """The rate of change (a map's next state) and the Jacobian at one state."""
        rate, jacobian = np.zeros(self.dimension), np.zeros((self.dimension, self.dimension))
        self._library.probe(
            pointer(self._vector(values)), *doubles(time), pointer(self._start(state)), pointer(rate),
            pointer(jacobian),
        )  # fmt: skip
        return rate, jacobian


def doubles(*numbers: float) -> tuple[ctypes.c_double, ...]:
    """Numbers as C takes them."""
    return tuple(ctypes.c_double(x) for x in numbers)


def longest(system: System, values: Mapping[str, float]) -> float:
    """The longest step of a flow: one time scale, and a quarter of the forcing's period."""
    if not system.is_forced(values):
        return system.time_scale
    unit = system.forcing_unit({name: np.array(float(x)) for name, x in values.items()})
    return min(system.time_scale, abs(float(unit)) / 4)


def whole(system: System, span: float, interval: float) -> int:
    """How many whole intervals a span has. DataError where the interval is not positive, or not whole for a map."""
    if not interval > 0 or (system.kind == "map" and interval != round(interval)):
        raise DataError(f"{system.system_id}: an interval of {interval} is not possible")
    return int(np.floor(span / interval * (1 + 1e-12)))


def lagging(system: System, values: Mapping[str, float]) -> Lag:
    """Whether the right-hand side takes a past state, and whether that is the present."""
    return "none" if system.lag is None else "some" if system.is_delayed(values) else "zero"

"""Right-hand sides that were read from a text, compiled and followed: by orbit.c; delay equations by delayed.c.

It needs a C compiler.
"""

from __future__ import annotations

import ctypes
import shutil
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
import numpy.typing as npt

from perpend.errors import DataError
from perpend.studies.logic.chaos.solving.notation import Notation

Array = npt.NDArray[np.float64]
DONE, ESCAPED = 0, 1
"""Why a run ended; any other number: no step was small enough, or there were too many."""
_FOLDER = Path(__file__).parent
_TOLERANCE = 1e-10
# Beyond this, and a thousand times beyond the start, an orbit has left.
_BOUND = 1e6
# In units of the orbit's size: far above the integrator's error, far below its bends.
_DISPLACED = 1e-6
_MOST_STEPS = 40_000_000
_HEAD = """
#include <math.h>
#define N {n}
#define COPIES {copies}
{more}
static double sign_of(double x) {{ return (x > 0) - (x < 0); }}
static double step_of(double x, double at) {{ return x > 0 ? 1 : x < 0 ? 0 : at; }}
static double mod_of(double x, double m) {{ return x - m * floor(x / m); }}
static void rhs(double t, const double *s, const double *o, const double *p, double *d) {{
{lines}
}}
void rate(double t, const double *s, const double *p, double *d) {{ rhs(t, s, s, p, d); }}
"""


@dataclass(frozen=True, slots=True)
class Program:
    """A compiled right-hand side with some displaced orbits, at one list of parameter values."""

    library: ctypes.CDLL
    parameters: Array
    n: int
    copies: int
    bound: float = _BOUND
    """Beyond it an orbit has left."""

    def rate(self, t: float, state: Array) -> Array:
        """The right-hand side at a state; of a delay equation, with this state in the past too."""
        out = np.empty(self.n)
        # An argument that has no name is freed before it is read.
        state = np.ascontiguousarray(state, dtype=np.float64)
        self.library.rate(ctypes.c_double(t), _place(state), _place(self.parameters), _place(out))
        return out

    def follow(
        self, state: Array, t: float, interval: float, count: int, tolerance: float = _TOLERANCE
    ) -> tuple[Array, Array, float, int]:
        """States and growth of the displacements at the intervals' ends, the time, and why it ended."""
        states, growth = np.empty((count, self.n)), np.empty((count, max(1, self.copies)))
        now, status, x = ctypes.c_double(t), ctypes.c_int(0), np.array(state, dtype=np.float64)
        size = max(1e-2, float(np.abs(state).max()))
        done = self.library.follow(
            _place(x), ctypes.byref(now), _place(self.parameters), ctypes.c_double(interval), ctypes.c_long(count),
            ctypes.c_double(_DISPLACED * size), ctypes.c_double(tolerance), ctypes.c_double(self.bound),
            ctypes.c_long(_MOST_STEPS), _place(states), _place(growth), ctypes.byref(status),
        )  # fmt: skip
        return states[:done], growth[:done], now.value, status.value

    def delayed(self, start: float, lag: float, steps: int, delays: tuple[int, int]) -> tuple[Array, Array, int]:
        """Of a delay equation from a constant history: values step by step and growth delay by delay, and why it ended.

        `delays` are how many are left out and how many are followed.
        """
        skipped, count = delays
        values, growth = np.empty(count * steps), np.empty((count, self.copies))
        status = ctypes.c_int(0)
        self.library.delayed(
            ctypes.c_double(start), _place(self.parameters), ctypes.c_double(lag), ctypes.c_long(steps),
            ctypes.c_long(skipped), ctypes.c_long(count), ctypes.c_double(_DISPLACED), ctypes.c_double(self.bound),
            _place(values), _place(growth), ctypes.byref(status),
        )  # fmt: skip
        return values, growth, status.value


def _place(array: Array) -> ctypes.c_void_p:
    return ctypes.c_void_p(array.ctypes.data)


def program(notation: Notation, values: Mapping[str, float], copies: int, start: Sequence[float]) -> Program:
    """The equations at parameter values, with so many displaced orbits; DataError where there is no compiler."""
    library, parameters = _compiled(notation, copies), np.array(list(values.values()), dtype=np.float64)
    bound = max(_BOUND, 1e3 * max(map(abs, start)))
    return Program(library, parameters, len(notation.variables), copies, bound)


@cache
def _compiled(notation: Notation, copies: int) -> ctypes.CDLL:
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None:
        raise DataError("equations are integrated with a C compiler, and there is none; install gcc or clang")
    more = "#define MAP\n" if notation.is_map else ""
    if notation.turn is not None:
        more += f"#define TURN {notation.turn!r}\n"
    head = _HEAD.format(n=len(notation.variables), copies=copies, more=more, lines="\n".join(notation.lines))
    body = _FOLDER / ("delayed.c" if notation.has_delay else "orbit.c")
    with tempfile.TemporaryDirectory() as folder:
        source, target = Path(folder) / "orbit.c", Path(folder) / "orbit.so"
        source.write_text(head + body.read_text(encoding="utf-8"), encoding="utf-8")
        command = [compiler, "-O2", "-shared", "-fPIC", "-o", str(target), str(source), "-lm"]
        done = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603  ours
        if done.returncode:
            raise DataError(f"the equations do not compile: {done.stderr[-500:]}")
        library = ctypes.CDLL(str(target))
    if not notation.has_delay:
        library.follow.restype = ctypes.c_long
    return library

"""What the systems do: measured once, by an integrator of our own in C, and frozen in `facts.jsonl`.

A fact is kept where an ordinary run shows it: the same class within the horizon that the question states and five times
later, at half the step, and from three starts nearby. The second measurement is `again/compute.py`, from the text.
"""

from __future__ import annotations

import ctypes
import json
import subprocess
import tempfile
from collections import Counter, defaultdict
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np

from factory.again import compute as again
from factory.chance import Chance
from factory.systems import Drawn, System, drawn, systems

FACTS = Path(__file__).parent / "facts.jsonl"
STEPS = 300
"""Integration steps in an oscillation."""
WATCHED = 60
"""Oscillations, or tens of steps of a map, from which a class is read."""
LONGEST = 24
"""The largest number of maxima in a cycle."""
GROUPS = {False: 32, True: 60}
"""Draws of all numbers of a flow, of a map."""
VALUES = 14
"""Values of one number that are tried with each draw of the others."""
Fact = dict[str, Any]


def c_text(system: System) -> str:
    """`rates.h`: the formulas of a system, and their derivatives along a tangent vector."""
    import sympy

    variables = [sympy.Symbol(name) for name in system.rates]
    numbers = [sympy.Symbol(f"p_{letter}") for letter in system.numbers]
    names = {v: sympy.Symbol(f"x[{i}].v") for i, v in enumerate(variables)}
    names |= {p: sympy.Symbol(f"p[{i}]") for i, p in enumerate(numbers)}
    lines = [f"#define SIZE {len(variables)}", f"#define DISCRETE {int(system.discrete)}"]
    lines.append("static inline void rates(const D *x, double t, const double *p, D *out) {")
    for i, formula in enumerate(system.formulas):
        slope = sum(formula.diff(v) * sympy.Symbol(f"x[{j}].d") for j, v in enumerate(variables))
        for part, value in (("v", formula), ("d", slope)):
            lines.append(f"    out[{i}].{part} = {sympy.ccode(sympy.sympify(value).subs(names))};")
    return "\n".join([*lines, "}", ""])


@cache
def _library(system_id: str) -> ctypes.CDLL:
    options = ["-O2", "-ffp-contract=off", "-shared", "-fPIC"]
    with tempfile.TemporaryDirectory(prefix="factory-") as folder:  # what is loaded stays
        (Path(folder) / "rates.h").write_text(c_text(systems()[system_id]), encoding="utf-8")
        source, target = Path(__file__).parent / "orbit.c", f"{folder}/orbit.so"
        subprocess.run(["cc", *options, f"-I{folder}", "-o", target, source, "-lm"], check=True)  # noqa: S603, S607
        return ctypes.CDLL(target)


@dataclass(frozen=True)
class Seen:
    """What one run shows after what it leaves out."""

    kind: str | None
    """'rest', 'periodic', 'chaotic', 'unbounded'; None where it is none of them clearly."""
    exponent: float = 0.0
    cycle: int = 0
    """Maxima, or steps of a map, until it repeats."""


def run(
    system: System, numbers: Drawn, start: Sequence[float], later: float = 1, longer: int = 1, finer: int = 1
) -> Seen:
    """The class of a motion: from `later` horizons on, over so many times the usual stretch."""
    size = len(system.rates)
    unit = system.unit or 10.0
    step = unit / STEPS / finer if system.unit else 1.0
    skip, keep = round(system.horizon * later / step), round(WATCHED * longer * unit / step)
    growth, low, high = np.zeros(2), np.zeros(size), np.zeros(size)
    peaks = np.zeros(max(4000, 20 * WATCHED * longer))
    double = partial(np.ascontiguousarray, dtype=np.float64)
    arrays = double([float(v) for v in numbers.values()]), double(start), growth, low, high, peaks
    p, x, *rest = (a.ctypes.data_as(ctypes.POINTER(ctypes.c_double)) for a in arrays)
    watch = list(system.rates).index(system.watch)
    follow = _library(system.id).follow
    count = follow(p, x, ctypes.c_double(step), ctypes.c_long(skip), ctypes.c_long(keep), watch, *rest, len(peaks))
    if count < 0:
        return Seen("unbounded")
    exponent = float(growth.mean()) * (system.unit or 1.0)
    if np.all(high - low < 1e-5 * (1 + np.abs(high))):
        return Seen("rest", exponent)
    cycle = period(peaks[:count], 1e-4 * (high[watch] - low[watch]))
    if cycle and exponent < 0.01:
        return Seen("periodic", exponent, cycle)
    border = 0.06 if system.unit else 0.08
    if not cycle and float(growth.min()) * (system.unit or 1.0) > border:
        return Seen("chaotic", exponent)
    return Seen(None, exponent)


def period(values: np.ndarray, near: float) -> int:
    """After how many entries a list repeats, to within a distance; 0 where it does not within `LONGEST`."""
    for k in range(1, min(LONGEST, len(values) // 3) + 1):
        if np.max(np.abs(values[k:] - values[:-k])) < near:
            return k
    return 0


def confirmed(system: System, numbers: Drawn, start: Sequence[float], seen: Seen) -> bool:
    """Later and longer, at half the step, and from starts nearby, the class and the cycle are the same."""
    nearby = [[value * factor for value in start] for factor in (0.99, 1.004, 1.012)]
    looks = [(start, 5, 3, 1), (start, 1, 1, 2), *((where, 1, 1, 1) for where in nearby)]
    for where, later, longer, finer in looks:
        other = run(system, numbers, where, later, longer, finer)
        if (other.kind, other.cycle) != (seen.kind, seen.cycle):
            return False
    return True


def facts_of(system_id: str, secret: str = "") -> list[Fact]:
    """The facts of one system: groups that differ in all numbers, values of one letter inside a group."""
    system, facts = systems()[system_id], []
    for group in range(GROUPS[system.discrete]):
        chance = Chance("measure", secret, system_id, group)
        base, start = drawn(system.numbers, chance), drawn(system.start, chance)
        letter = list(system.numbers)[group % len(system.numbers)]
        x = [float(value) for value in start.values()]
        found = defaultdict[tuple[str, int], list[Fact]](list)
        for value in dict.fromkeys(drawn({letter: system.numbers[letter]}, chance)[letter] for _ in range(VALUES)):
            numbers = base | {letter: value}
            seen = run(system, numbers, x)
            told = (seen.kind or "", seen.cycle if system.discrete else 0)
            wanted = seen.kind in ("rest", "periodic", "chaotic") and len(found[told]) < 2
            if wanted and confirmed(system, numbers, x, seen):
                found[told].append(
                    {"system": system_id, "group": group, "letter": letter, "numbers": numbers, "start": start,
                     "kind": seen.kind, "cycle": told[1], "exponent": round(seen.exponent, 3)}
                )  # fmt: skip
        facts += _three([some for some in found.values() if some])
    return facts


def _three(classes: list[list[Fact]]) -> list[Fact]:
    """Three facts of at least two classes; nothing where there is one class only. Chaos comes once, where it can."""
    if len(classes) < 2:
        return []
    more = sorted((some[1] for some in classes if len(some) > 1), key=lambda fact: fact["kind"] == "chaotic")
    return [*(some[0] for some in classes), *more][:3]


def measured(secret: str = "") -> list[tuple[Fact, again.Motion, again.Seen]]:
    """Every fact, the motion that its question prints, and what the second look at this sees."""
    with ProcessPoolExecutor() as pool:
        facts = [fact for some in pool.map(partial(facts_of, secret=secret), systems()) for fact in some]
        asked = [again.motions(text_of(fact))[0] for fact in facts]
        return list(zip(facts, asked, pool.map(again.watched, asked, chunksize=4), strict=True))


def agrees(fact: Fact, seen: again.Seen) -> bool:
    return (seen.kind, seen.cycle) == (fact["kind"], fact["cycle"])


def freeze() -> dict[str, int]:
    """Writes what both measurements agree about, and what the second saw; counts by what it saw of what the first."""
    rows = measured()
    kept = [json.dumps(fact, ensure_ascii=False) for fact, _, seen in rows if agrees(fact, seen)]
    looks = {m.digest: json.dumps({"motion": m.digest, "kind": s.kind, "cycle": s.cycle}) for _, m, s in rows}
    FACTS.write_text("\n".join(kept) + "\n", encoding="utf-8")
    again.SEEN.write_text("\n".join(looks.values()) + "\n", encoding="utf-8")
    return dict(Counter(f"{fact['kind']} {fact['cycle']}: {s.kind} {s.cycle}" for fact, _, s in rows))


def text_of(fact: Fact) -> str:
    """A fact as a question, for the reader."""
    system = systems()[fact["system"]]
    where = (
        f"The orbit starts at {system.begins(fact['start'])}, and the first {system.horizon} time units are left out"
    )
    return f"{system.equations(fact['numbers'])}. {where}. Is it true that the motion is chaotic?"

"""C text of a traced right-hand side: what is fixed by the parameters once, the rate, and its Jacobian.

settle(p, q)             every number that the parameters alone decide
rate(t, x, q, out)       the time derivative, or the next state
linear(t, x, q, out, j)  the same with the entries of the Jacobian that vary; returns the Jacobian's trace
spread(j, q, v, out)     the Jacobian times a vector
dense(j, q, out)         the Jacobian as rows
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from perpend.studies.logic.chaos.measuring.trace import Derivatives, Tape

_NAMES: Final = {"absolute": "fabs", "arctan": "atan", "arcsin": "asin", "arccos": "acos", "arcsinh": "asinh"}


@dataclass(frozen=True, slots=True)
class Text:
    """The C text of one system and what it needs to be called."""

    rate: str
    """`settle` and `rate` with their sizes: all that a method without derivatives needs."""
    jacobian: str
    """`linear`, `spread` and `dense`."""


class _Writer:
    """Writes nodes as statements; numbers that the parameters alone decide are kept in q."""

    def __init__(self, tape: Tape, outputs: Iterable[int]) -> None:
        self._tape = tape
        self.needed = self._reached(outputs)
        self._settled: set[int] = set()
        for node in sorted(self.needed):
            operation, arguments, _ = tape.nodes[node]
            if operation in ("param", "const") or (arguments and all(a in self._settled for a in arguments)):
                self._settled.add(node)
        kept = (n for n in sorted(self._settled) if tape.nodes[n][0] != "const")
        self.slots = {node: slot for slot, node in enumerate(kept)}

    def _reached(self, outputs: Iterable[int]) -> set[int]:
        reached: set[int] = set()
        pending = list(outputs)
        while pending:
            node = pending.pop()
            if node not in reached:
                reached.add(node)
                pending.extend(self._tape.nodes[node][1])
        return reached

    def name(self, node: int) -> str:
        """How a statement reads a node."""
        operation, _, value = self._tape.nodes[node]
        if operation == "const":
            return f"({value!r})"
        if node in self.slots:
            return f"q[{self.slots[node]}]"
        return {"state": f"x[{int(value)}]", "time": "t"}.get(operation, f"n{node}")

    def written(self, node: int) -> str:  # noqa: PLR0911  one for each form of C
        """The operation of a node as C."""
        operation, arguments, value = self._tape.nodes[node]
        names = [self.name(a) for a in arguments]
        if operation == "param":
            return f"p[{int(value)}]"
        if operation in ("+", "-", "*", "/"):
            return f"{names[0]} {operation} {names[1]}"
        if operation in ("<", "<=", ">", ">="):
            return f"({names[0]} {operation} {names[1]}) ? 1.0 : 0.0"
        if operation == "neg":
            return f"-{names[0]}"
        if operation == "select":
            return f"{names[0]} != 0.0 ? {names[1]} : {names[2]}"
        if operation == "sign":
            return f"({names[0]} > 0.0) - ({names[0]} < 0.0)"
        return f"{_NAMES.get(operation, operation)}({', '.join(names)})"

    def settle(self) -> list[str]:
        """The statements that fill q."""
        return [f"    q[{slot}] = {self.written(node)};" for node, slot in self.slots.items()]

    def body(self, outputs: Iterable[int]) -> list[str]:
        """The statements that the outputs need beyond q."""
        plain = ("state", "time", "const")
        nodes = sorted(n for n in self._reached(outputs) if n not in self._settled)
        return [f"    double n{n} = {self.written(n)};" for n in nodes if self._tape.nodes[n][0] not in plain]

    def is_fixed(self, node: int) -> bool:
        """Whether the parameters alone decide a node."""
        return node in self._settled


def text(tape: Tape, outputs: Sequence[int], dimension: int) -> Text:
    """The C text of a traced right-hand side of n variables (the past of a delay system is one more)."""
    derivatives = Derivatives(tape)
    rows = [derivatives.of(node) for node in outputs]
    trace = tape.const(0)
    for i, row in enumerate(rows):
        if i in row:
            trace = tape.add(trace, row[i])
    entries = [node for row in rows for node in row.values()]
    writer = _Writer(tape, [*outputs, *entries, trace])
    varying = [n for n in dict.fromkeys(entries) if not writer.is_fixed(n)]
    places = {node: f"j[{i}]" for i, node in enumerate(varying)}
    signature = "double t, const double *restrict x, const double *restrict q, double *restrict out"
    vectors = "const double *restrict j, const double *restrict q, const double *restrict v"
    unused = "    (void)t; (void)x; (void)q;"
    stores = [f"    out[{i}] = {writer.name(node)};" for i, node in enumerate(outputs)]
    rate = [
        "#define APART static __attribute__((noinline))",
        f"enum {{ SETTLED = {max(1, len(writer.slots))} }};",
        "APART void settle(const double *p, double *q) {\n    (void)p; (void)q;",
        *writer.settle(),
        f"}}\nAPART void rate({signature}) {{\n{unused}",
        *writer.body(outputs),
        *stores,
        "}\n",
    ]
    entry = {n: places.get(n) or writer.name(n) for n in entries}
    spreads = []
    for i, row in enumerate(rows):
        terms = " + ".join(f"{entry[node]} * v[{part}]" for part, node in row.items())
        spreads.append(f"    out[{i}] = {terms or '0.0'};")
    cells = [f"    out[{i * dimension + part}] = {entry[n]};" for i, row in enumerate(rows) for part, n in row.items()]
    jacobian = [
        f"enum {{ VARYING = {max(1, len(varying))} }};",
        f"APART double linear({signature}, double *restrict j) {{\n{unused} (void)j;",
        *writer.body([*outputs, *varying, trace]),
        *stores,
        *(f"    {place} = {writer.name(node)};" for node, place in places.items()),
        f"    return {writer.name(trace)};\n}}",
        f"static void spread({vectors}, double *restrict out) {{\n    (void)j; (void)q; (void)v;",
        *spreads,
        "}\nAPART void dense(const double *j, const double *q, double *out) {\n    (void)j; (void)q;",
        f"    for (int i = 0; i < {len(outputs) * dimension}; i++) out[i] = 0.0;",
        *cells,
        "}\n",
    ]
    return Text("\n".join(rate), "\n".join(jacobian))

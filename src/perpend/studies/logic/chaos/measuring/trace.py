"""A system's right-hand side as a graph of operations, and the derivatives of that graph.

The numpy function that states a system is called once with symbols in place of numbers, so that the compiled code and
the numpy code cannot differ in a sign. Equal operations are one node.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from perpend.errors import DataError
from perpend.studies.logic.chaos.system import Rate

Number: TypeAlias = float | int | bool
# (operation, arguments): arguments are nodes; of 'const' the value, of 'state', 'param' and 'time' the place.
Node: TypeAlias = tuple[str, tuple[int, ...], float]

_COMPARED: Final = {"less": "<", "less_equal": "<=", "greater": ">", "greater_equal": ">="}
_UNARY: Final = frozenset({
    "sin", "cos", "tan", "exp", "log", "sqrt", "sinh", "cosh", "tanh", "arctan", "arcsin", "arccos", "absolute",
    "sign", "floor", "negative", "square", "positive", "arcsinh", "log1p", "expm1", "reciprocal", "fabs",
})  # fmt: skip


class Tape:
    """The nodes in the order in which they were made: the arguments of a node come before it."""

    def __init__(self) -> None:
        self.nodes: list[Node] = []
        self._places: dict[Node, int] = {}

    def node(self, operation: str, *arguments: int, value: float = 0.0) -> int:
        """The place of this operation, made where it is new. Nothing is simplified."""
        key = (operation, arguments, value)
        if key not in self._places:
            self._places[key] = len(self.nodes)
            self.nodes.append(key)
        return self._places[key]

    def const(self, value: float) -> int:
        """A number."""
        return self.node("const", value=float(value) + 0.0)

    def value(self, node: int) -> float | None:
        """The number that a node is; None where it is not a number."""
        operation, _, value = self.nodes[node]
        return value if operation == "const" else None

    def add(self, a: int, b: int) -> int:
        """a + b, and nothing added where one is zero."""
        x, y = self.value(a), self.value(b)
        if x is not None and y is not None:
            return self.const(x + y)
        return b if x == 0 else a if y == 0 else self.node("+", a, b)

    def sub(self, a: int, b: int) -> int:
        """a - b."""
        x, y = self.value(a), self.value(b)
        if x is not None and y is not None:
            return self.const(x - y)
        return self.neg(b) if x == 0 else a if y == 0 else self.node("-", a, b)

    def mul(self, a: int, b: int) -> int:
        """a b; a product with zero is zero, as for finite numbers."""
        x, y = self.value(a), self.value(b)
        if x is not None and y is not None:
            return self.const(x * y)
        if 0 in (x, y):
            return self.const(0)
        if x == -1:
            return self.neg(b)
        if y == -1:
            return self.neg(a)
        return b if x == 1 else a if y == 1 else self.node("*", a, b)

    def div(self, a: int, b: int) -> int:
        """a / b."""
        x, y = self.value(a), self.value(b)
        if x is not None and y:
            return self.const(x / y)
        return a if y == 1 else self.const(0) if x == 0 else self.node("/", a, b)

    def neg(self, a: int) -> int:
        """-a."""
        x = self.value(a)
        if x is not None:
            return self.const(-x)
        operation, arguments, _ = self.nodes[a]
        return arguments[0] if operation == "neg" else self.node("neg", a)

    def power(self, a: int, b: int) -> int:
        """a to the power b; whole powers up to eight as products."""
        x, y = self.value(a), self.value(b)
        if x is not None and y is not None:
            return self.const(x**y)
        if y is None or y != round(y) or abs(y) > 8:
            return self.call("sqrt", a) if y == 0.5 else self.node("pow", a, b)
        if y < 0:
            return self.div(self.const(1), self.power(a, self.const(-y)))
        if y == 0:
            return self.const(1)
        half = self.power(a, self.const(int(y) // 2)) if y > 1 else a
        square = self.mul(half, half) if y > 1 else a
        return self.mul(square, a) if y > 1 and int(y) % 2 else square

    def call(self, name: str, a: int) -> int:
        """A function of one argument, by its numpy name."""
        if name == "square":
            return self.mul(a, a)
        if name == "reciprocal":
            return self.div(self.const(1), a)
        if name == "negative":
            return self.neg(a)
        if name == "positive":
            return a
        name = {"fabs": "absolute"}.get(name, name)
        x = self.value(a)
        return self.const(float(getattr(np, name)(x))) if x is not None else self.node(name, a)

    def select(self, condition: int, a: int, b: int) -> int:
        """a where the condition is not zero, else b."""
        return a if a == b else self.node("select", condition, a, b)


class Expr(np.lib.mixins.NDArrayOperatorsMixin):
    """A symbol with the arithmetic of a number, of which every operation is written on the tape."""

    __slots__ = ("node", "tape")

    def __init__(self, tape: Tape, node: int) -> None:
        self.tape, self.node = tape, node

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: object, **_: object) -> object:
        return spread_over(self.tape, ufunc, method, inputs)

    def __bool__(self) -> bool:
        raise DataError("a right-hand side that branches on its state cannot be traced: use numpy's where")

    def __getitem__(self, key: None) -> object:
        return _boxed(self)[key].view(Symbols)


class Symbols(np.ndarray[tuple[int, ...], np.dtype[np.object_]]):
    """An array of symbols: numpy's own object arrays would compare them in `minimum`."""

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: object, **kwargs: object) -> object:
        symbols = [x for part in inputs for x in np.ravel(np.asarray(part, dtype=object)) if isinstance(x, Expr)]
        if not symbols:  # an array of symbols in which numbers were put
            plain = [np.asarray(part) if isinstance(part, Symbols) else part for part in inputs]
            return getattr(ufunc, method)(*plain, **kwargs)
        if method == "reduce":
            return _reduced(ufunc, symbols[0].tape, np.asarray(inputs[0], dtype=object))
        return spread_over(symbols[0].tape, ufunc, method, inputs)


def _reduced(ufunc: np.ufunc, tape: Tape, values: NDArray[np.object_]) -> object:
    """A sum or product along the first axis, from the first to the last."""
    total = values[0]
    for part in values[1:]:
        total = spread_over(tape, ufunc, "__call__", (total, part))
    return total


def spread_over(tape: Tape, ufunc: np.ufunc, method: str, inputs: Sequence[object]) -> object:
    """A numpy function of symbols, element by element. An unknown one is a DataError."""
    if method != "__call__":
        raise DataError(f"a right-hand side uses numpy's {ufunc.__name__}.{method}, which is not traced")
    boxes = np.broadcast_arrays(*(_boxed(part) for part in inputs))
    result = np.empty(boxes[0].shape, dtype=object)
    for place in np.ndindex(result.shape):
        nodes = [_node(tape, box[place]) for box in boxes]
        result[place] = Expr(tape, _applied(tape, ufunc.__name__, nodes))
    return result[()] if result.ndim == 0 else result.view(Symbols)


def _boxed(part: object) -> NDArray[np.object_]:
    if isinstance(part, Expr):
        box = np.empty((), dtype=object)
        box[()] = part
        return box
    return np.asarray(part, dtype=object)


def _node(tape: Tape, x: object) -> int:
    if isinstance(x, Expr):
        return x.node
    if isinstance(x, Number | np.floating | np.integer | np.bool_):
        return tape.const(float(x))
    raise DataError(f"a right-hand side computes with {type(x).__name__}, which is not traced")


def _applied(tape: Tape, name: str, nodes: list[int]) -> int:
    binary: Mapping[str, Callable[[int, int], int]] = {
        "add": tape.add,
        "subtract": tape.sub,
        "multiply": tape.mul,
        "divide": tape.div,
        "true_divide": tape.div,
        "power": tape.power,
        "float_power": tape.power,
    }
    if name in binary:
        return binary[name](nodes[0], nodes[1])
    if name in _UNARY:
        return tape.call(name, nodes[0])
    if name in _COMPARED:
        return tape.node(_COMPARED[name], *nodes)
    if name in ("minimum", "maximum"):
        return tape.select(tape.node("<" if name == "minimum" else ">", *nodes), nodes[0], nodes[1])
    if name == "remainder":  # a - b floor(a / b)
        return tape.sub(nodes[0], tape.mul(nodes[1], tape.call("floor", tape.div(nodes[0], nodes[1]))))
    if name == "heaviside":
        after = tape.select(tape.node(">", nodes[0], tape.const(0)), tape.const(1), nodes[1])
        return tape.select(tape.node("<", nodes[0], tape.const(0)), tape.const(0), after)
    raise DataError(f"a right-hand side uses numpy's {name}, which is not traced")


class Derivatives:
    """Derivatives of a tape's nodes with respect to the parts of the state, written on the same tape."""

    def __init__(self, tape: Tape) -> None:
        self._tape = tape
        self._known: dict[int, dict[int, int]] = {}

    def of(self, node: int) -> dict[int, int]:
        """Part of the state → node of the derivative, where that is not zero identically."""
        pending = [node]
        while pending:
            top = pending[-1]
            missing = [a for a in self._tape.nodes[top][1] if a not in self._known]
            if missing and top not in self._known:
                pending.extend(missing)
                continue
            pending.pop()
            if top not in self._known:
                self._known[top] = self._made(top)
        return self._known[node]

    def _made(self, node: int) -> dict[int, int]:
        tape = self._tape
        operation, arguments, value = tape.nodes[node]
        if operation == "state":
            return {int(value): tape.const(1)}
        if operation == "select":
            condition, a, b = arguments
            parts = sorted({*self._known[a], *self._known[b]})
            zero = tape.const(0)
            derived = {
                i: tape.select(condition, self._known[a].get(i, zero), self._known[b].get(i, zero)) for i in parts
            }
        else:
            derived = {}
            for argument, slope in zip(arguments, _slopes(tape, node), strict=False):
                for i, inner in self._known[argument].items() if slope is not None else ():
                    assert slope is not None
                    term = tape.mul(slope, inner)
                    derived[i] = tape.add(derived[i], term) if i in derived else term
        return {i: part for i, part in sorted(derived.items()) if tape.value(part) != 0}


def _slopes(tape: Tape, node: int) -> tuple[int | None, ...]:
    """The derivative of a node by each of its arguments; None where it is zero almost everywhere."""
    operation, arguments, _ = tape.nodes[node]
    a = arguments[0] if arguments else 0
    b = arguments[1] if len(arguments) > 1 else 0
    one = tape.const(1)
    if operation == "pow":
        slope = tape.mul(b, tape.power(a, tape.sub(b, one)))
        # A power of zero has no logarithm; where the exponent is fixed none is needed.
        return slope, None if tape.nodes[b][0] in ("const", "param") else tape.mul(node, tape.call("log", a))
    binary: Mapping[str, Callable[[], tuple[int, int]]] = {
        "+": lambda: (one, one),
        "-": lambda: (one, tape.const(-1)),
        "*": lambda: (b, a),
        "/": lambda: (tape.div(one, b), tape.neg(tape.div(node, b))),
    }
    if operation in binary:
        return binary[operation]()
    derived: Mapping[str, Callable[[], int]] = {
        "neg": lambda: tape.const(-1),
        "sin": lambda: tape.call("cos", a),
        "cos": lambda: tape.neg(tape.call("sin", a)),
        "tan": lambda: tape.add(one, tape.mul(node, node)),
        "exp": lambda: node,
        "expm1": lambda: tape.add(node, one),
        "log": lambda: tape.div(one, a),
        "log1p": lambda: tape.div(one, tape.add(one, a)),
        "sqrt": lambda: tape.div(tape.const(0.5), node),
        "sinh": lambda: tape.call("cosh", a),
        "cosh": lambda: tape.call("sinh", a),
        "tanh": lambda: tape.sub(one, tape.mul(node, node)),
        "arctan": lambda: tape.div(one, tape.add(one, tape.mul(a, a))),
        "arcsin": lambda: tape.div(one, tape.call("sqrt", tape.sub(one, tape.mul(a, a)))),
        "arccos": lambda: tape.div(tape.const(-1), tape.call("sqrt", tape.sub(one, tape.mul(a, a)))),
        "arcsinh": lambda: tape.div(one, tape.call("sqrt", tape.add(one, tape.mul(a, a)))),
        "absolute": lambda: tape.call("sign", a),
    }
    return (derived[operation](),) if operation in derived else (None,) * len(arguments)


def traced(rate: Rate, parameters: Sequence[str], dimension: int, past: Sequence[int] = ()) -> tuple[Tape, list[int]]:
    """The tape of a right-hand side and the nodes of its outputs.

    The state has `dimension` symbols, of which those at `past` are given once more behind (the past of a delay system
    without delay). DataError where the right-hand side does what symbols cannot.
    """
    tape = Tape()
    symbols = np.empty(dimension + len(past), dtype=object)
    for i, place in enumerate((*range(dimension), *past)):
        symbols[i] = Expr(tape, tape.node("state", value=float(place)))
    params = {name: Expr(tape, tape.node("param", value=float(i))) for i, name in enumerate(parameters)}
    time = Expr(tape, tape.node("time"))
    # Symbols stand where the signature has arrays of numbers: the same operations are called on them.
    derived = rate(time, symbols.view(Symbols), params)  # type: ignore[arg-type]
    outputs = [_node(tape, x) for x in np.asarray(derived, dtype=object)]
    if not all(math.isfinite(value) for operation, _, value in tape.nodes if operation == "const"):
        raise DataError("a right-hand side has an infinite constant")
    return tape, outputs

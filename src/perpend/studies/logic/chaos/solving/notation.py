"""Equations as a question writes them, read into C: 'dx/dt = sigma (y - x), dy/dt = x (rho - z) - y'.

Products need no sign and bind more tightly than a quotient: K / 2 pi is K / (2 pi). Names are variables, parameters,
quantities that the text defines itself, and the usual functions. What cannot be read is a DataError.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from perpend.errors import DataError

FUNCTIONS = {
    "sin": "sin", "cos": "cos", "exp": "exp", "tanh": "tanh", "sqrt": "sqrt", "abs": "fabs", "sign": "sign_of",
    "heaviside": "step_of", "min": "fmin",
}  # fmt: skip
_TOKEN = re.compile(r"\s*(?:(\d+(?:\.\d+)?)|([A-Za-z]\w*)|(\[n\+1\]|\[n\]|\[[a-z](?:[+-]\d+)?\])|(.))")
_RATE = re.compile(r"(?:(?P<factor>[A-Za-z]\w*) )?d(?P<name>[A-Za-z]\w*)(?:\(t\))?/dt|(?P<primed>[A-Za-z]\w*)'")
_NEXT = re.compile(r"(?P<name>[A-Za-z]\w*)\[n\+1\]")
_OWN = re.compile(r"(?P<name>[A-Za-z]\w*)(?:\((?P<of>[A-Za-z]\w*)\))?")
_MODULO = re.compile(r",? (?:both )?modulo (?P<turn>1|2 pi)$")
_WRITTEN_OUT = {
    "(x, y) -> (s x, c y) if x < 1/2, and (s x + 1 - s, c y + 1 - c) otherwise": (
        ("x", "y"), True,
        ("double right = s[0] >= 0.5;", "d[0] = {s} * s[0] + (1 - {s}) * right;",
         "d[1] = {c} * s[1] + (1 - {c}) * right;"),
    ),
    "da[k]/dt = (k^2 - nu k^4) a[k] - k (sum over m of a[m] a[k-m]) for k = 1, ..., 10, with m and k-m from -10 to 10, "
    "a[-k] = -a[k] and a[0] = 0": (
        tuple(f"a{k}" for k in range(1, 11)), False,
        ("for (int k = 1; k <= 10; k++) {", "double sum = 0;", "for (int m = k - 10; m <= 10; m++) {", "int l = k - m;",
         "sum += (m > 0 ? s[m - 1] : m < 0 ? -s[-m - 1] : 0) * (l > 0 ? s[l - 1] : l < 0 ? -s[-l - 1] : 0);", "}",
         "d[k - 1] = (k * k - {nu} * k * k * k * k) * s[k - 1] - k * sum;", "}"),
    ),
}  # fmt: skip
"""Two texts that are no list of equations of single variables."""
_RING = re.compile(r" for i = 1, \.\.\., (?P<last>\w+) (?:with indices modulo \w+|on a ring)$")


@dataclass(frozen=True, slots=True)
class Notation:
    """A right-hand side in C. `lines` compute d[i] from t, s[i] and p[i]; delayed states are o[i]."""

    lines: tuple[str, ...]
    variables: tuple[str, ...]
    is_map: bool
    turn: float | None = None
    """What the states of a map are taken modulo; None: nothing."""
    has_delay: bool = False


@dataclass(slots=True)
class _Names:
    """What each name stands for in C."""

    places: dict[str, str]
    own: set[str] = field(default_factory=set)
    has_delay: bool = False


class _Reader:
    """One expression: sums of quotients of products of powers."""

    def __init__(self, text: str, names: _Names) -> None:
        self.tokens = [match.group(0).strip() for match in _TOKEN.finditer(text) if match.group(0).strip()]
        self.at, self.names, self.text = 0, names, text
        self.bars = 0

    def read(self) -> str:
        """The whole text as one expression in C."""
        result = self._sum()
        if self.at < len(self.tokens):
            raise self._wrong()
        return result

    def _wrong(self) -> DataError:
        seen = self.tokens[self.at] if self.at < len(self.tokens) else "the end"
        return DataError(f"cannot read {seen!r} in {self.text!r}")

    def _peek(self, ahead: int = 0) -> str:
        place = self.at + ahead
        return self.tokens[place] if place < len(self.tokens) else ""

    def _take(self, wanted: str = "") -> str:
        word = self._peek()
        if not word or (wanted and word != wanted):
            raise self._wrong()
        self.at += 1
        return word

    def _sum(self) -> str:
        result = self._quotient()
        while self._peek() in ("+", "-"):
            result = f"({result} {self._take()} {self._quotient()})"
        return result

    def _quotient(self) -> str:
        if self._peek() in ("+", "-"):
            return f"({self._take()}{self._quotient()})"
        result = self._product()
        while self._peek() in ("*", "/", "%"):
            mark = self._take()
            other = self._signed()
            result = f"mod_of({result}, {other})" if mark == "%" else f"({result} {mark} {other})"
        return result

    def _signed(self) -> str:
        return f"({self._take()}{self._signed()})" if self._peek() == "-" else self._product()

    def _product(self) -> str:
        """Factors that stand side by side."""
        result = self._power()
        while self._begins():
            result = f"({result} * {self._power()})"
        return result

    def _begins(self) -> bool:
        word = self._peek()
        # Between bars the next bar closes them.
        return bool(word) and (word[0].isalnum() or word == "(" or (word == "|" and not self.bars))

    def _power(self) -> str:
        base = self._primary()
        if self._peek() != "^":
            return base
        self._take()
        power = self._primary()
        if power in ("2", "3", "4"):
            return "(" + " * ".join([base] * int(power)) + ")"
        return f"pow({base}, {power})"

    def _primary(self) -> str:
        word = self._take()
        if word[0].isdigit():
            is_power = self.at > 1 and self.tokens[self.at - 2] == "^"
            return word if "." in word or is_power else f"{word}.0"
        if word == "(":
            inside = self._sum()
            self._take(")")
            return f"({inside})"
        if word == "|":
            self.bars += 1
            inside = self._sum()
            self._take("|")
            self.bars -= 1
            return f"fabs({inside})"
        if word in FUNCTIONS and word not in self.names.own:
            return self._call(FUNCTIONS[word])
        if not word[0].isalpha():
            self.at -= 1
            raise self._wrong()
        return self._name(word)

    def _call(self, function: str) -> str:
        if self._peek() != "(":
            return f"{function}({self._primary()})"
        self._take("(")
        parts = [self._sum()]
        while self._peek() == ",":
            self._take()
            parts.append(self._sum())
        self._take(")")
        return f"{function}({', '.join(parts)})"

    def _name(self, word: str) -> str:
        if word == "pi":
            return "M_PI"
        if self._peek().startswith("["):
            word += self._take()
        elif self._peek() == "(" and self._peek(1) == "t" and self._peek(2) in ("-", ")"):
            delayed = self._peek(2) == "-"
            while self._take() != ")":
                pass
            if delayed:
                self.names.has_delay = True
                word += "(t - tau)"
        elif word in self.names.own and self._peek() == "(" and self._peek(2) == ")":
            self.at += 3  # 'f(x)' of a quantity that was defined so
        if word not in self.names.places:
            raise DataError(f"{word!r} is no variable, parameter or function in {self.text!r}")
        return self.names.places[word]


def _parts(text: str) -> list[str]:
    """The text cut at commas outside of brackets."""
    parts, depth, begin = [], 0, 0
    for place, mark in enumerate(text):
        depth += (mark in "([") - (mark in ")]")
        if mark == "," and depth == 0:
            parts.append(text[begin:place].strip())
            begin = place + 1
    return [*parts, text[begin:].strip()]


def _ring(text: str, values: Mapping[str, float]) -> str:
    """Equations with a running index written out: x[i+1] becomes x1, x2, …, around a ring."""
    match = _RING.search(text)
    if match is None:
        return text
    last = match["last"]
    count = int(last) if last.isdigit() else int(values[last])
    body = text[: match.start()]

    def site(i: int) -> str:
        return re.sub(r"\[i([+-]\d+)?\]", lambda m: str((i + int(m[1] or 0)) % count + 1), body)

    return ", ".join(map(site, range(count)))


def read_equations(text: str, values: Mapping[str, float]) -> Notation:
    """The right-hand side that a text states, for the parameters `values`, whose order is that of p[i]."""
    if text in _WRITTEN_OUT:
        known, is_map, written = _WRITTEN_OUT[text]
        places = [(f"{{{name}}}", f"p[{i}]") for i, name in enumerate(values)]
        lines = []
        for line in written:
            for name, place in places:
                line = line.replace(name, place)  # noqa: PLW2901  one name after the other
            lines.append(line)
        return Notation(tuple(lines), known, is_map)
    match = _MODULO.search(text)
    turn = None if match is None else 1.0 if match["turn"] == "1" else 6.283185307179586
    if match is not None:
        text = text[: match.start()]
    statements = []
    for part in _parts(_ring(text, values)):
        left, mark, right = part.removeprefix("with ").partition(" = ")
        if not mark:
            raise DataError(f"no equation: {part!r}")
        statements.append((left, right))
    rates = [(_RATE.fullmatch(left), right) for left, right in statements]
    nexts = [(_NEXT.fullmatch(left), right) for left, right in statements]
    is_map = any(one is not None for one, _ in nexts)
    variables = tuple(
        one["name"] or one["primed"] if not is_map else one["name"]
        for one, _ in (nexts if is_map else rates)
        if one is not None
    )
    if not variables:
        raise DataError(f"no equation of motion in {text!r}")
    names = _Names({name: f"p[{i}]" for i, name in enumerate(values)} | {"t": "t"})
    for i, name in enumerate(variables):
        names.places |= {name: f"s[{i}]", f"{name}[n]": f"s[{i}]", f"{name}(t - tau)": f"o[{i}]"}
    return Notation(_lines(statements, variables, names, is_map=is_map), variables, is_map, turn, names.has_delay)


def _lines(
    statements: Sequence[tuple[str, str]], variables: Sequence[str], names: _Names, *, is_map: bool
) -> tuple[str, ...]:
    """Quantities of its own first, wherever the text defines them, then the rates in the order of the text."""
    motion: list[tuple[re.Match[str], str]] = []
    later: list[tuple[str, str]] = []
    for left, right in statements:
        match = _NEXT.fullmatch(left) if is_map else _RATE.fullmatch(left)
        if match is not None:
            motion.append((match, right))
        elif own := _OWN.fullmatch(left):
            names.own.add(own["name"])
            later.append((own["name"], right))
        else:
            raise DataError(f"no equation of motion and no quantity: {left!r}")
    lines: list[str] = []

    def define() -> None:
        """Those whose own quantities are all known."""
        for entry in list(later):
            own, right = entry
            try:
                value = _Reader(right, names).read()
            except DataError:
                continue
            lines.append(f"double q_{own} = {value};")
            names.places[own] = f"q_{own}"
            later.remove(entry)

    for _ in range(len(later)):
        define()
    for match, right in motion:
        name = match["name"] or match["primed"] if not is_map else match["name"]
        value = _Reader(right, names).read()
        factor = "" if is_map else match["factor"]
        if factor:
            value = f"({value}) / {names.places[factor]}"
        at = list(variables).index(name)
        lines.append(f"d[{at}] = {value};")
        if is_map:
            names.places[f"{name}[n+1]"] = f"d[{at}]"
            define()
    if later:
        _Reader(later[0][1], names).read()  # says what is missing
    return tuple(lines)

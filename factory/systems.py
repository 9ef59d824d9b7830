"""The systems of `systems.toml`: what is drawn for them and how they are printed."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any

from factory.algebra import decimal
from factory.chance import Chance
from factory.tables import toml

OSCILLATIONS = 100
"""What is left out at the beginning: so many oscillations of a flow, rounded up; ten times as many steps of a map."""
Drawn = Mapping[str, str]
"""Name → number as it is printed."""


@dataclass(frozen=True)
class System:
    id: str
    name: str
    rates: Mapping[str, str]
    numbers: Mapping[str, tuple[float, float, int]]
    start: Mapping[str, tuple[float, float, int]]
    source: str
    unit: float | None = None
    watch: str = ""

    @property
    def discrete(self) -> bool:
        return self.unit is None

    @property
    def horizon(self) -> int:
        """The time, or the steps, that a question leaves out."""
        if self.unit is None:
            return 10 * OSCILLATIONS
        scale = 10.0 ** math.floor(math.log10(OSCILLATIONS * self.unit))
        return round(math.ceil(OSCILLATIONS * self.unit / scale) * scale)

    @cached_property
    def formulas(self) -> list[Any]:
        """The right-hand sides as sympy reads them; the number {r} is called p_r."""
        import sympy
        from sympy.parsing import sympy_parser

        rules = sympy_parser.standard_transformations
        rules += (sympy_parser.convert_xor, sympy_parser.implicit_multiplication)
        names = {name: sympy.Symbol(name) for name in (*self.rates, "t", *(f"p_{letter}" for letter in self.numbers))}
        texts = [re.sub(r"\{(\w)\}", r"p_\1", rate) for rate in self.rates.values()]
        return [sympy_parser.parse_expr(text, names, rules) for text in texts]

    def equations(self, numbers: Drawn) -> str:
        """The equations with the numbers put in; a number that is left out stands as its letter."""
        written = []
        for name, rate in self.rates.items():
            text = rate
            if self.discrete:
                text = re.sub(rf"(?<![\w{{])({'|'.join(self.rates)})(?![\w}}])", r"\1[n]", text)
            for letter in self.numbers:
                text = text.replace(f"{{{letter}}}", numbers.get(letter, letter))
            written.append(f"{name}[n+1] = {text}" if self.discrete else f"d{name}/dt = {text}")
        return written[0] if len(written) == 1 else ", ".join(written[:-1]) + " and " + written[-1]

    def begins(self, start: Drawn) -> str:
        names = [f"{name}[0]" if self.discrete else name for name in start]
        if len(names) == 1:
            return f"{names[0]} = {start[next(iter(start))]}"
        return f"({', '.join(names)}) = ({', '.join(start.values())})"


@cache
def systems() -> dict[str, System]:
    tables = toml("systems.toml").items()
    made = {name: System(name, **({"watch": next(iter(known["rates"]))} | known)) for name, known in tables}
    for name, system in made.items():
        clash = set(system.numbers) & {*system.rates, "t", "n"}
        if clash:
            raise ValueError(f"systems.toml, {name}: {sorted(clash)} are letters of numbers and of variables")
    return made


def drawn(ranges: Mapping[str, tuple[float, float, int]], chance: Chance) -> dict[str, str]:
    """A number for every name; none is 0 or 1, which nobody writes as a factor."""
    numbers = {}
    for name, (low, high, digits) in ranges.items():
        value = chance.number(low, high, digits)
        while value in (0, 1, -1):
            value = chance.number(low, high, digits)
        numbers[name] = decimal(value)
    return numbers

"""The label of a computed question again, from its text: the instance is looked up by the values that the text states,
short orbits and periods of stated maps are computed anew in floating point."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias

from perpend.canon import JSON
from perpend.errors import DataError
from perpend.studies.logic.chaos.questions.compute.reading import (
    NUMBER,
    bare_text,
    claim_in,
    instance_in,
    record_in,
    start_in,
    system_in,
    truth,
    values_in,
    without_equations,
)
from perpend.studies.logic.chaos.questions.world import Sources
from perpend.studies.logic.chaos.records import SystemWords

_REGIMES = {
    "chaotic motion": "Chaotic",
    "chaos": "Chaotic",
    "an attracting cycle": "AttractingCycle",
    "quasi-periodic motion": "QuasiPeriodic",
    "a stable fixed point": "FixedPointAttractor",
    "a stable state of rest": "FixedPointAttractor",
}
_PLACES = ("first", "second", "third")
_ORDINAL = re.compile(r"\bthe (first|second|third)\b(?! time)")
_QUADRATIC = re.compile(rf"x\[n\+1\] = ({NUMBER}) ([+-]) ({NUMBER}) x\[n\] ([+-]) ({NUMBER}) x\[n\]\^2")
_OPEN_QUADRATIC = re.compile(rf"x\[n\+1\] = a ([+-]) ({NUMBER}) x\[n\] ([+-]) ({NUMBER}) x\[n\]\^2")
_ABOVE = re.compile(rf"(?:greater than|above|exceeds?|larger than|>) ({NUMBER})")
_BELOW = re.compile(rf"(?:less than|below|under|smaller than|<) ({NUMBER})")
_STEP = re.compile(r"[xp]\[([1-9]\d*)\] |after (\d+) (?:steps|iterations)", re.IGNORECASE)
_Rule: TypeAlias = Callable[[Sequence[float], Sequence[float]], Sequence[float]]
_MAPS: tuple[tuple[str, str, _Rule], ...] = (
    ("x", rf"x\[n\+1\] = ({NUMBER}) x\[n\] \(1 - x\[n\]\)", lambda s, p: (p[0] * s[0] * (1 - s[0]),)),
    ("x", rf"x\[n\+1\] = ({NUMBER}) - x\[n\]\^2", lambda s, p: (p[0] - s[0] ** 2,)),
    ("xy", rf"x\[n\+1\] = 1 - ({NUMBER}) x\[n\]\^2 \+ y\[n\], y\[n\+1\] = ({NUMBER}) x\[n\]",
     lambda s, p: (1 - p[0] * s[0] ** 2 + s[1], p[1] * s[0])),
    ("x", rf"x\[n\+1\] = 1 - ({NUMBER}) x\[n\]\^2(?! \+)", lambda s, p: (1 - p[0] * s[0] ** 2,)),
    ("x", rf"x\[n\+1\] = ({NUMBER}) min\(x\[n\], 1 - x\[n\]\)", lambda s, p: (p[0] * min(s[0], 1 - s[0]),)),
    ("x", rf"x\[n\+1\] = ({NUMBER}) x\[n\] - x\[n\]\^3", lambda s, p: (p[0] * s[0] - s[0] ** 3,)),
    ("x", rf"x\[n\+1\] = ({NUMBER}) x\[n\] modulo 1", lambda s, p: (p[0] * s[0] % 1,)),
    ("xy", rf"x\[n\+1\] = 1 - ({NUMBER}) \|x\[n\]\| \+ y\[n\], y\[n\+1\] = ({NUMBER}) x\[n\]",
     lambda s, p: (1 - p[0] * abs(s[0]) + s[1], p[1] * s[0])),
    ("xy", rf"x\[n\+1\] = ({NUMBER}) x\[n\] \(1 - y\[n\]\), y\[n\+1\] = x\[n\]",
     lambda s, p: (p[0] * s[0] * (1 - s[1]), s[0])),
    ("pqrs", rf"p\[n\+1\] = ({NUMBER}) - r\[n\]\^2 - ({NUMBER}) s\[n\], q\[n\+1\] = p\[n\], r\[n\+1\] = q\[n\]",
     lambda s, p: (p[0] - s[2] ** 2 - p[1] * s[3], s[0], s[1], s[2])),
    ("pqrs", ", ".join(rf"{one}\[n\+1\] = 1 - ({NUMBER}) {one}\[n\]\^2 \+ ({NUMBER}) {other}\[n\]"
                       for one, other in ("pq", "qr", "rs", "sp")),
     lambda s, p: [1 - p[2 * n] * s[n] ** 2 + p[2 * n + 1] * s[(n + 1) % 4] for n in range(4)]),
)  # fmt: skip
"""Variables, text with its coefficients, and the map."""
_ROOM = 1e-3
"""An iterate nearer than this to its threshold is not decided."""


def relabel(record: Mapping[str, JSON], world: Sources) -> bool:
    """The label by the question's text; DataError where the text cannot be read, where no instance has the values that
    it states, or where those are not the ones that the item's tags name."""
    text, kind = str(record["question"]), str(record["kind"])
    readers: Mapping[str, Callable[[str, Sources], tuple[bool, tuple[str, ...]]]] = {
        "regime": _regime,
        "transition": _transition,
        "one_of_three": _three,
        "period": _period,
        "iterate": lambda question, _world: (_iterate(question), ()),
    }
    if kind not in readers:
        raise DataError(f"no computed kind is called {kind!r}")
    label, instances = readers[kind](text, world)
    tagged = tuple(str(record["instance"]).split(" > ")) if record.get("instance") else ()
    if instances != tagged:
        raise DataError(f"the text is about {instances}, the tags are about {tagged}")
    return label


def _regime(text: str, world: Sources) -> tuple[bool, tuple[str, ...]]:
    instance = instance_in(world, text)
    system = system_in(world, text)
    predicate, asserted = claim_in(without_equations(bare_text(text), system))
    return truth(instance, predicate) is asserted, (instance.id,)


def _varied(text: str, world: Sources) -> tuple[SystemWords, str, str, dict[str, float], tuple[float, ...] | None]:
    """The system, the text without its equations, the parameter with several values, the others, and the start."""
    system = system_in(world, text)
    rest = without_equations(bare_text(text), system)
    values = values_in(rest, tuple(system.parameters))
    fixed = {name: numbers[0] for name, numbers in values.items() if len(set(numbers)) == 1}
    names = [name for name in system.parameters if name not in fixed or rf" {name} goes from " in f" {rest} "]
    # One value written with '=' and the others after it, or none at all: the parameter that is spoken of as varied.
    spoken = [name for name in system.parameters if _scanned(rest, name)]
    open_names = spoken or names
    if len(open_names) != 1:
        raise DataError(f"{len(open_names)} parameters are varied in {text!r}")
    fixed.pop(open_names[0], None)
    if set(fixed) | set(open_names) != set(system.parameters):
        raise DataError(f"not one value each of the other parameters in {text!r}")
    return system, rest, open_names[0], fixed, start_in(rest, system)


def _scanned(text: str, name: str) -> bool:
    return any(re.search(pattern.format(name=re.escape(name)), text) for pattern in _SCANS)


_SCANS = (
    rf"(?<!\w){{name}} (?:goes|is changed) from {NUMBER} to {NUMBER}",
    rf"(?:[Ff]or )(?<!\w){{name}} the values {NUMBER}",
    rf"tries (?<!\w){{name}} = {NUMBER}, then",
    rf"values (?<!\w){{name}} = {NUMBER}, {NUMBER} and {NUMBER}",
    rf"(?<!\w){{name}} = {NUMBER}\b.*(?<!\w){{name}} = {NUMBER}\b",
)


def _numbers_of(text: str, name: str) -> list[float]:
    """The values of a varied parameter in the order of the text, each mention counted."""
    number = re.compile(NUMBER)
    listed = re.search(
        rf"(?<!\w){re.escape(name)} (?:goes|is changed) from ({NUMBER}) to ({NUMBER})"
        rf"|[Ff]or {re.escape(name)} the values ({NUMBER}), ({NUMBER}) and ({NUMBER})"
        rf"|tries {re.escape(name)} = ({NUMBER}), then ({NUMBER}), then ({NUMBER})"
        rf"|values {re.escape(name)} = ({NUMBER}), ({NUMBER}) and ({NUMBER})",
        text,
    )
    if listed:
        return [float(group) for group in listed.groups() if group is not None and number.fullmatch(group)]
    return values_in(text, (name,))[name]


def _nouns(text: str) -> list[str]:
    pattern = re.compile("|".join(sorted(map(re.escape, _REGIMES), key=len, reverse=True)), re.IGNORECASE)
    return [_REGIMES[match.group().lower()] for match in pattern.finditer(text)]


def _drawn(text: str, count: int) -> tuple[list[float], list[int], list[int]] | None:
    """Of a map whose constant is left open: its values in the order of the text, the periods that belong to them, and
    the periods that the text names; None where the text has no such map."""
    matched = _OPEN_QUADRATIC.search(text)
    if not matched:
        return None
    sign_b, b, sign_c, c = matched.groups()
    values = _numbers_of(text.replace(matched.group(), " "), "a")[:count]
    named = [int(n) for n in re.findall(r"cycle of least period (\d+)", text)]
    if len(values) != count:
        raise DataError(f"not {count} values in {text!r}")
    linear, square, start = float(f"{sign_b}{b}"), float(f"{sign_c}{c}"), _stated(text, "x")
    return values, [_cycle(a, linear, square, start) for a in values], named


def _transition(text: str, world: Sources) -> tuple[bool, tuple[str, ...]]:
    drawn = _drawn(text, 2)
    if drawn:
        return drawn[1] == drawn[2], ()
    system, rest, name, fixed, start = _varied(text, world)
    numbers, nouns = _numbers_of(rest, name), _nouns(rest)
    if len(numbers) != 2 or len(nouns) != 2:
        raise DataError(f"not two values and two regimes in {text!r}")
    instances = [record_in(world, system, {**fixed, name: number}, start) for number in numbers]
    return all(truth(one, noun) for one, noun in zip(instances, nouns, strict=True)), tuple(r.id for r in instances)


def _three(text: str, world: Sources) -> tuple[bool, tuple[str, ...]]:
    drawn = _drawn(text, 3)
    if drawn:
        fits = [period in drawn[2] for period in drawn[1]]
        if sum(fits) != 1 or len(drawn[2]) != 1:
            raise DataError(f"not exactly one of the three in {text!r}")
        return fits[_asked_place(text, text, "a", drawn[0])], ()
    system, rest, name, fixed, start = _varied(text, world)
    numbers, nouns = _numbers_of(rest, name)[:3], _nouns(rest)
    if len(numbers) != 3 or len(nouns) != 1:
        raise DataError(f"not three values and one regime in {text!r}")
    instances = [record_in(world, system, {**fixed, name: number}, start) for number in numbers]
    right = [truth(one, nouns[0]) for one in instances]
    if sum(right) != 1:
        raise DataError(f"not exactly one of the three in {text!r}")
    return right[_asked_place(text, rest, name, numbers)], tuple(one.id for one in instances)


def _asked_place(text: str, rest: str, name: str, numbers: Sequence[float]) -> int:
    place = _ORDINAL.search(rest)
    if place:
        return _PLACES.index(place.group(1))
    asked = values_in(rest, (name,))[name][-1:]
    if not asked or asked[0] not in numbers:
        raise DataError(f"none of the three is asked about in {text!r}")
    return numbers.index(asked[0])


def _period(text: str, world: Sources) -> tuple[bool, tuple[str, ...]]:
    asked = re.search(r"least period (?:of the attracting cycle )?(?:is |of )?(\d+)", text)
    if not asked:
        raise DataError(f"no period is asked about in {text!r}")
    coefficients = _QUADRATIC.search(text)
    if coefficients:
        a, sign_b, b, sign_c, c = coefficients.groups()
        linear, square = (float(f"{sign}{value}") for sign, value in ((sign_b, b), (sign_c, c)))
        return _cycle(float(a), linear, square, _stated(text, "x")) == int(asked.group(1)), ()
    instance = instance_in(world, text)
    if not truth(instance, "AttractingCycle") or "period" not in instance.numbers:
        raise DataError(f"{instance.id}: no period is known")
    return int(str(instance.numbers["period"])) == int(asked.group(1)), (instance.id,)


def _cycle(a: float, b: float, c: float, x: float) -> int:
    """How many points, apart by more than a millionth, an orbit of x -> a + b x + c x^2 visits in the end."""
    for _ in range(4000):
        x = a + b * x + c * x * x
    points: list[float] = []
    for _ in range(64):
        x = a + b * x + c * x * x
        if all(abs(x - point) > 1e-6 for point in points):
            points.append(x)
    return len(points)


def _stated(text: str, name: str) -> float:
    matched = re.search(rf"{name}\[0\] = ({NUMBER})", text)
    if not matched:
        raise DataError(f"no start of {name} in {text!r}")
    return float(matched.group(1))


def _iterate(text: str) -> bool:
    step, above, below = _STEP.search(text), _ABOVE.search(text), _BELOW.search(text)
    matched = [(match, names, rule) for names, pattern, rule in _MAPS if (match := re.search(pattern, text))]
    if not step or (above is None) is (below is None) or len(matched) != 1:
        raise DataError(f"no step, no threshold or no map in {text!r}")
    match, names, rule = matched[0]
    state: Sequence[float] = [_stated(text, name) for name in names]
    for _ in range(int(step.group(1) or step.group(2))):
        state = rule(state, [float(group) for group in match.groups()])
    x = state[0]
    threshold = above or below
    assert threshold is not None
    if abs(x - float(threshold.group(1))) < _ROOM:
        raise DataError(f"too near to the threshold to be decided: {text!r}")
    return (x > float(threshold.group(1))) is (above is not None)

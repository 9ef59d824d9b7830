"""An instance in words: name, equations, parameter values, start."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal

from perpend.studies.logic.chaos.questions.chance import Chance
from perpend.studies.logic.chaos.questions.frames import capital
from perpend.studies.logic.chaos.questions.wordings import MOTION, ORBIT, SYSTEM
from perpend.studies.logic.chaos.records import Record, SystemWords

FIXED_BY_NAME = frozenset(("henon", "logistic", "lorenz63", "lorenz96", "ricker_map", "rossler", "standard_map"))
"""Systems whose name and parameter names fix the equations by universal convention: half of their questions give no
equations."""
MOST_DECIMALS = 7
"""An instance with a value that needs more decimals is not asked about: the value could not be printed plainly."""
IRRATIONAL = {math.sqrt(2) - 1: "sqrt(2) - 1", math.sqrt(3) - 1: "sqrt(3) - 1"}
"""Starts of maps that are exact in binary arithmetic, as a question writes them."""
NOTES = {
    "damped_driven_pendulum": "The angle counts modulo a full turn.",
    "double_pendulum": "Angles count modulo a full turn.",
    "dysts_arnoldbeltramichildress": "All coordinates count modulo 2 pi.",
    "dysts_oscillatingflow": "Both coordinates count modulo 2 pi.",
    "dysts_swingingatwood": "The angle counts modulo a full turn.",
}
"""What a question adds where a motion repeats only up to full turns."""
START_SHARE = 0.15
"""How often a start is stated that need not be."""

WITH_EQUATIONS = (
    "Consider {name}, given by {equations}, with {values}.",
    "Take {name}, given by {equations}, at {values}.",
    "Consider {name}, {equations}, for {values}.",
    "Consider {name}: {equations}. Let {values}.",
    "Take {name}: {equations}. The parameters are {values}.",
    "Let {values} in {name}, which reads {equations}.",
    "In {name}, defined by {equations}, put {values}.",
    "In {name}, that is {equations}, set {values}.",
    "For {name} the equations are {equations}. Fix {values}.",
    "The equations of {name} are {equations}. Choose {values}.",
    "With {values}, consider {name}: {equations}.",
    "The equations {equations} define {name}. Here {values}.",
    "We look at {name} at {values}, the equations being {equations}.",
    "A computation is made for {name}, {equations}, with {values}.",
    "Somebody integrates {name}, {equations}, at {values}.",
    "Somebody iterates {name}, {equations}, at {values}.",
    "Fix {values} in {name}, whose equations are {equations}.",
    "Given are {name}, {equations}, and the values {values}.",
    "The following is about {name} for {values}. Written out, it is {equations}.",
    "At {values}, follow {name}: {equations}.",
    "Start from the equations {equations}, known as {name}, and insert {values}.",
    "The parameters of {name}, {equations}, are set to {values}.",
    "{Name} is given by {equations}. Its parameters are {values}.",
    "{Name} is defined by {equations}. Let {values}.",
    "{Name} is studied in the form {equations}, with {values}.",
)
SCAN_WITH_EQUATIONS = (
    "Consider {name}, given by {equations}{rest}.",
    "Consider {name}: {equations}{rest}.",
    "Take {name}, {equations}{rest}.",
    "We look at {name}, {equations}{rest}.",
    "The parameter {p} of {name}, {equations}, is varied{rest}.",
    "In {name}, defined by {equations}, the parameter {p} is changed{rest}.",
    "Runs are made for {name}, {equations}{rest}.",
    "The equations of {name} are {equations}{rest}.",
    "{Name} is given by {equations}{rest}.",
)
SCAN_WITHOUT_EQUATIONS = (
    "Consider {name}{rest}.",
    "Take {name}{rest}.",
    "The parameter {p} of {name} is varied{rest}.",
    "In {name} the parameter {p} is changed{rest}.",
    "Runs are made for {name}{rest}.",
)
RESTS = (", with {values}", ", where {values}", ", for {values}")
WITHOUT_EQUATIONS = (
    "Consider {name} with {values}.",
    "Take {name} at {values}.",
    "Let {values} in {name}.",
    "Set {values} in {name}.",
    "In {name}, choose {values}.",
    "We look at {name} for {values}.",
    "The parameters of {name} are set to {values}.",
    "A computation is made for {name} at {values}.",
    "Fix {values} in {name}.",
    "{Name} is run with {values}.",
)
STARTS = (
    "The start is {start}.",
    "The initial state is {start}.",
    "It starts from {start}.",
    "The orbit begins at {start}.",
    "The motion starts at {start}.",
    "Start at {start}.",
    "The initial condition is {start}.",
    "Everything begins at {start}.",
)
HISTORIES = (
    "The history up to time zero is constant, {start}.",
    "Up to time zero the solution is held at {start}.",
    "The initial history is the constant {start}.",
)
INLINE = ("{name} with {values}", "{name} at {values}", "{name} for {values}")
INLINE_SHARE = 0.5

_SUBJECTS = {
    SYSTEM: ("the system", "this system", "the system with these values"),
    MOTION: ("its long-term motion", "the long-term motion", "the motion that it settles into",
             "the motion after transients"),
    ORBIT: ("the orbit", "its orbit", "the orbit from there", "the resulting orbit"),
}  # fmt: skip
_TYPICAL = ("a typical orbit", "its typical orbit", "an orbit from a typical start", "the orbit of a typical start")
"""An orbit where no start is stated."""
_FAR = {
    SYSTEM: ("the system described below", "the system given below", "the following system"),
    MOTION: ("the long-term motion of the system described below", "the long-term motion of the following system"),
    ORBIT: ("the long-term orbit of the system described below", "the orbit of the system given below"),
}


@dataclass(frozen=True, slots=True)
class Manner:
    """How a question states its instance: one for all questions of a bundle, so that they differ in numbers only."""

    intro: str
    """Sentence with {name} or {Name}, {values} and perhaps {equations}; '' puts the values beside the name."""
    start: str
    """Sentence with {start}, or ''."""
    inline: str
    is_reversed: bool
    """Parameters in reverse alphabetical order."""
    places: Mapping[str, int]
    """Decimals of each parameter: those that the longest value of the bundle needs."""


def bare(name: str) -> str:
    """A system's name without its article."""
    return name.removeprefix("the ")


def plain_number(value: float, places: int | None = None) -> str:
    """A number without exponent: the shortest form, or with the given decimals. A whole number has no point."""
    return f"{value:.{decimals(value) if places is None else places}f}"


def listed(parts: Sequence[str]) -> str:
    """'a', 'a and b', 'a, b and c'."""
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}"


def decimals(value: float) -> int:
    """How many decimals the shortest plain form of a value has."""
    text = repr(value)
    if "e" in text:
        text = f"{Decimal(text):f}"
    return len(text.partition(".")[2].rstrip("0"))


def is_plain(record: Record) -> bool:
    """Whether all values and the start of an instance can be printed plainly."""
    starts = [value for value in record.start if value not in IRRATIONAL]
    return all(decimals(value) <= MOST_DECIMALS for value in (*record.parameters.values(), *starts))


def time_of(system: SystemWords) -> str:
    """'map' or 'flow': which definition of a cycle fits."""
    return "map" if system.kind == "map" else "flow"


def is_extended(system: SystemWords, record: Record) -> bool:
    """Whether the state is large: four variables or more, a field, or a memory."""
    return len(record.start) >= 4 or len(system.variables) >= 4 or system.kind in ("delay", "discretised PDE")


def size_grade(system: SystemWords, record: Record) -> int:
    """How much there is to compute for one regime: 2 for a map of one variable, 3 for other maps and for flows of one
    or two variables, 4 for flows of three, 5 for four or more, for fields and for delays."""
    if is_extended(system, record):
        return 5
    if system.kind == "map":
        return 2 if len(system.variables) == 1 else 3
    return 3 if len(system.variables) <= 2 else 4


def tag_of(parameters: Mapping[str, float]) -> str:
    """'a=1.4, b=0.3', the tag `parameters`."""
    return ", ".join(f"{name}={plain_number(value)}" for name, value in sorted(parameters.items()))


def fitting(system: SystemWords, forms: Sequence[str]) -> list[str]:
    """The forms that suit a system: no second 'with' after its name, no verb in the singular after a plural, no
    'parameters' of a system that has one."""
    plural = system.name.endswith(("equations", "systems"))
    # A map is not integrated.
    verb = "integrates" if system.kind == "map" else "iterates"
    return [
        form
        for form in forms
        if not (" with " in system.name and ("name} with {values}" in form))
        and not (plural and form.startswith("{Name}"))
        and not (len(system.parameters) == 1 and "arameters" in form)
        and verb not in form
    ]


def manner_of(
    chance: Chance, system: SystemWords, records: Sequence[Record], *key: str, has_intro: bool = False
) -> Manner:
    """A manner that does for all of some instances: the start is stated where one of them needs it.

    With `has_intro` the values never stand beside the name within the claim.
    """
    has_start = any(record.start_matters for record in records) or chance.share("start", *key) < START_SHARE
    has_equations = system.system_id not in FIXED_BY_NAME or chance.share("equations", *key) < 0.5
    is_inline = not (has_start or has_equations or has_intro) and chance.share("inline", *key) < INLINE_SHARE
    intros = WITH_EQUATIONS if has_equations else WITHOUT_EQUATIONS
    starts = HISTORIES if system.kind == "delay" else STARTS
    return Manner(
        intro="" if is_inline else chance.pick(fitting(system, intros), "intro", *key),
        start=chance.pick(starts, "start form", *key) if has_start else "",
        inline=chance.pick(fitting(system, INLINE), "inline form", *key),
        is_reversed=chance.share("reversed", *key) < 0.3,
        places=places_of(records),
    )


def places_of(records: Sequence[Record]) -> dict[str, int]:
    """For each parameter the decimals that the longest of its values needs."""
    return {name: max(decimals(record.parameters[name]) for record in records) for name in records[0].parameters}


def values_of(record: Record, manner: Manner, without: str = "") -> str:
    """'a = 1.40 and b = 0.3', but for one parameter; '' where there is no other."""
    names = [name for name in sorted(record.parameters, reverse=manner.is_reversed) if name != without]
    parts = [f"{name} = {plain_number(record.parameters[name], manner.places[name])}" for name in names]
    return listed(parts) if parts else ""


def start_of(system: SystemWords, record: Record) -> str:
    """'x = 0.1', '(x, y) = (0.1, 0.2)', or the bare numbers of a long state."""
    figures = [IRRATIONAL.get(value) or plain_number(value) for value in record.start]
    if len(figures) == 1 or system.kind == "delay":
        return f"{system.variables[0]} = {figures[0]}"
    if len(figures) == len(system.variables):
        return f"({', '.join(system.variables)}) = ({', '.join(figures)})"
    return f"the state ({', '.join(figures)})"


def stated(system: SystemWords, record: Record, manner: Manner) -> str:
    """The sentences that state an instance; '' where its values stand beside the name instead."""
    if not manner.intro:
        return ""
    intro = manner.intro
    values = values_of(record, manner)
    text = intro.format(name=system.name, Name=capital(system.name), values=values, equations=system.equations)
    return f"{text} {manner.start.format(start=start_of(system, record))}" if manner.start else text


def scanned(chance: Chance, system: SystemWords, record: Record, manner: Manner, names: tuple[str, ...]) -> str:
    """The sentences that state a system of which one parameter is left open.

    `names` are that parameter, and what the choice of words belongs to.
    """
    parameter, *key = names
    intros = SCAN_WITH_EQUATIONS if "{equations}" in manner.intro else SCAN_WITHOUT_EQUATIONS
    values = values_of(record, manner, parameter)
    rest = chance.pick(RESTS, "rest", *key).format(values=values) if values else ""
    text = chance.pick(fitting(system, intros), "scan", *key).format(
        name=system.name, Name=capital(system.name), equations=system.equations, p=parameter, rest=rest
    )
    return f"{text} {manner.start.format(start=start_of(system, record))}" if manner.start else text


def subjects(
    chance: Chance, system: SystemWords, record: Record, manner: Manner, names: tuple[str, ...]
) -> tuple[str, str]:
    """What a claim is said of, after the setting and before it ('' where it cannot stand there).

    `names` are SYSTEM, MOTION or ORBIT, and what the choice belongs to.
    """
    what = names[0]
    if manner.intro:
        near = _TYPICAL if what == ORBIT and not manner.start else _SUBJECTS[what]
        return chance.pick(near, "subject", *names), chance.pick(_FAR[what], "far", *names)
    name = manner.inline.format(name=system.name, values=values_of(record, manner))
    return {SYSTEM: name, MOTION: f"the long-term motion of {name}", ORBIT: f"a typical orbit of {name}"}[what], ""

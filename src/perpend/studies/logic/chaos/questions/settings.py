"""An instance in words: name, equations, parameter values, start."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import cache

from perpend.studies.logic.chaos.questions.chance import Chance
from perpend.studies.logic.chaos.questions.frames import capital, woven
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

_LOOK = (
    "consider", "take", "look at", "let us look at", "we consider", "we study", "we look at", "you are given",
    "think of", "suppose that we study", "examine", "let us take", "this is about", "the subject is",
)  # fmt: skip
_GIVEN = (", given by {equations},", ", defined by {equations},", ", {equations},", ", that is {equations},",
          ", with the equations {equations},", ", in the form {equations},")  # fmt: skip
_AT = ("with {values}", "at {values}", "for {values}", "with the values {values}", "with parameters {values}",
       "in the case {values}")  # fmt: skip
_LET = (
    "Let {values}.", "Set {values}.", "Put {values}.", "Choose {values}.", "Fix {values}.", "Take {values}.",
    "Here {values}.", "Its parameters are {values}.", "The parameters are {values}.", "We set {values}.",
    "We choose {values}.", "In this example {values}.", "Suppose that {values}.", "The values are {values}.",
)  # fmt: skip
WITH_EQUATIONS = (
    *woven("<Look> {name}<given> <at>.", look=_LOOK, given=_GIVEN, at=_AT),
    *woven("<Look> {name}<given> <let>", look=_LOOK, let=_LET, given=(
        ", given by {equations}.", ", defined by {equations}.", ": {equations}.", ", that is {equations}.")),
    *woven("<Put> {values} in {name}, <which> {equations}.", put=("let", "set", "fix", "put", "choose", "insert"),
           which=("which reads", "whose equations are", "given by", "defined by", "that is")),
    *woven("<At> {values}, <look> {name}<which> {equations}.", at=("with", "for", "at"), look=_LOOK[:7],
           which=(":", ", given by", ", defined by", ", that is")),
    *woven("In {name}, <which> {equations}, <put> {values}.", put=("let", "set", "fix", "put", "choose"),
           which=("given by", "defined by", "that is", "in the form")),
    *woven("The equations of {name} <are> {equations}. <let>", are=("are", "read"), let=_LET),
    *woven("The equations {equations} <define> {name}. <let>", define=("define", "make up", "are those of"), let=_LET),
    *woven("{Name} <is_given> {equations}. <let>", let=_LET, is_given=(
        "is given by", "is defined by", "reads", "has the form", "is studied in the form", "obeys")),
    *woven("{Name} obeys {equations}, and <here> {values}.", here=("here", "we set", "in what follows")),
    *woven("<Somebody> <integrates> {name}, {equations}, <at>.", at=_AT[:4], integrates=("integrates", "iterates"),
           somebody=("somebody", "a student", "a colleague", "a program")),
    *woven("<Run> made for {name}<given> <at>.", run=("a computation is", "a run is", "runs are", "a plot is"),
           given=_GIVEN[:3], at=_AT[:4]),
    *woven("The <following> is about {name} <at>. Written out, it is {equations}.", at=_AT[:3],
           following=("following", "question")),
)  # fmt: skip
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
    *woven("<Look> {name} <at>.", look=_LOOK, at=_AT),
    *woven("<Look> {name}. <let>", look=_LOOK, let=_LET),
    *woven("<Put> {values} in {name}.", put=("let", "set", "fix", "put", "choose")),
    *woven("In {name}, <put> {values}.", put=("let", "set", "fix", "put", "choose")),
    *woven("The parameters of {name} are <set> {values}.", set=("set to", "fixed at", "chosen as")),
    *woven("<Run> made for {name} <at>.", run=("a computation is", "a run is", "runs are", "a plot is"), at=_AT[:4]),
    *woven("{Name} is <run> with {values}.", run=("run", "studied", "followed")),
)  # fmt: skip
STARTS = (
    *woven("The <start> is {start}.", start=("start", "initial state", "initial condition", "starting point")),
    *woven("<It> <starts> <at> {start}.", it=("it", "the orbit", "the motion", "the run", "the solution"),
           starts=("starts", "begins"), at=("at", "from")),
    *woven("<Begin> {start}.", begin=(
        "start at", "start from", "begin at", "everything begins at", "as the start, take", "for the start, take",
        "at the outset one has", "the run is started from", "initially one has")),
)  # fmt: skip
HISTORIES = (
    "The history up to time zero is constant, {start}.",
    "Up to time zero the solution is held at {start}.",
    "The initial history is the constant {start}.",
    "For all times up to zero, {start}.",
    "Before time zero the solution is constant, {start}.",
    "The history is the constant {start} up to time zero.",
)
INLINE = ("{name} with {values}", "{name} at {values}", "{name} for {values}")
INLINE_SHARE = 0.5

_SUBJECTS = {
    SYSTEM: ("the system", "this system", "the system with these values", "the system at these values",
             "the system in question", "the given system", "the system so specified"),
    MOTION: ("its long-term motion", "the long-term motion", "the motion that it settles into",
             "the motion after transients", "its motion in the long run", "the motion in the long run",
             "its asymptotic motion", "the motion that remains in the end"),
    ORBIT: ("the orbit", "its orbit", "the orbit from there", "the resulting orbit", "the orbit from this start",
            "the orbit that begins there", "the trajectory from there"),
}  # fmt: skip
_TYPICAL = ("a typical orbit", "its typical orbit", "an orbit from a typical start", "the orbit from a typical start",
            "a typical trajectory", "the orbit from a typical initial state",
            "an orbit that begins at a typical state")  # fmt: skip
"""An orbit where no start is stated."""
_FAR = {
    SYSTEM: ("the system described below", "the system given below", "the following system", "the system below"),
    MOTION: (
        "the motion in the long run of the system below",
        "the long-term motion of the system described below",
        "the long-term motion of the following system",
    ),
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


def fitting(system: SystemWords, forms: Sequence[str]) -> tuple[str, ...]:
    """The forms that suit a system: no second 'with' after its name, no verb in the singular after a plural, no
    'parameters' of a system that has one, no integration of a map."""
    plural = system.name.endswith(("equations", "systems"))
    return _suiting(tuple(forms), " with " in system.name, plural, len(system.parameters) == 1, system.kind == "map")


@cache
def _suiting(forms: tuple[str, ...], has_with: bool, plural: bool, single: bool, is_map: bool) -> tuple[str, ...]:
    verb = "integrat" if is_map else "iterat"
    return tuple(
        form
        for form in forms
        if not (has_with and "name} with " in form)
        and not (plural and ("{Name}" in form or "name} reads" in form))
        and not (single and ("arameters" in form or "values {values}" in form))
        and verb not in form
    )


def restated(chance: Chance, system: SystemWords, manner: Manner, *key: str) -> Manner:
    """The manner with other sentences for the same things: equations and start are stated where they were."""
    intros = WITH_EQUATIONS if "{equations}" in manner.intro else WITHOUT_EQUATIONS
    starts = HISTORIES if system.kind == "delay" else STARTS
    return replace(
        manner,
        intro=chance.pick(fitting(system, intros), "intro", *key),
        start=chance.pick(starts, "start form", *key) if manner.start else "",
    )


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

"""An instance in words: name, equations, parameter values, start."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from perpend.studies.logic.chaos.families.chance import pick, share
from perpend.studies.logic.chaos.families.words import MOTION, SAMPLED
from perpend.studies.logic.chaos.records import Record, SystemWords

INTROS = (
    "Consider {named} with {values}{start}.",
    "Take {named} at {values}{start}.",
    "Let {values} in {named}{start}.",
    "Someone studies {named} for {values}{start}.",
    "The subject is {named} with {values}{start}.",
    "Set {values} in {named}{start}.",
)
SUBJECTS = ("the system", "this system", "the system so defined")
MOTIONS = ("its long-term motion", "the resulting long-term motion", "the motion that it settles into")
INLINE = ("{name} with {values}", "{name} at {values}", "{name} for {values}")


@dataclass(frozen=True, slots=True)
class Style:
    """How a question states its instance: decided once for a pair, so that its two questions differ in numbers only."""

    intro: str
    """Sentence with {named}, {values} and {start}; '' puts the values into the question itself."""
    inline: str
    has_equations: bool
    has_start: bool
    is_reversed: bool
    """Parameters in reverse alphabetical order."""
    subject: str
    motion: str


def bare(name: str) -> str:
    """A system's name without its article: what every sentence about it uses."""
    return name.removeprefix("the ")


def number(value: float) -> str:
    """The shortest usual form: 1.4, 28, 1e-09."""
    return f"{value:.10g}"


def listed(parts: Sequence[str]) -> str:
    """'a', 'a and b', 'a, b and c'."""
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}"


def values_of(parameters: Mapping[str, float], *, is_reversed: bool = False) -> str:
    """'a = 1.4 and b = 0.3'."""
    return listed([f"{name} = {number(parameters[name])}" for name in sorted(parameters, reverse=is_reversed)])


def tag_of(parameters: Mapping[str, float]) -> str:
    """'a=1.4,b=0.3', the tag `parameters`."""
    return ",".join(f"{name}={number(value)}" for name, value in sorted(parameters.items()))


def style_for(system: SystemWords, records: Sequence[Record], *key: str) -> Style:
    """A style that does for all of some records: start and equations are stated where one of them needs it.

    Systems of the dysts package are always given by their equations: their names do not fix their parameters.
    """
    foreign = system.system_id.startswith("dysts_")
    has_start = any(record.start_matters for record in records) or share("start", *key) < 0.08
    has_equations = foreign or share("equations", *key) < 0.5
    is_inline = not (has_start or has_equations) and share("inline", *key) < 0.6
    return Style(
        intro="" if is_inline else pick(fitting(system, INTROS), "intro", *key),
        inline=pick(fitting(system, INLINE), "form", *key),
        has_equations=has_equations,
        has_start=has_start,
        is_reversed=share("reversed", *key) < 0.3,
        subject=pick(SUBJECTS, "subject", *key),
        motion=pick(MOTIONS, "motion", *key),
    )


def fitting(system: SystemWords, forms: Sequence[str]) -> list[str]:
    """The forms that do not say 'with' after a name that says it already."""
    return [form for form in forms if " with " not in system.name or " with {values}" not in form]


def start_of(system: SystemWords, record: Record) -> str:
    """', started from (x, y) = (0.1, 0.2)'; for a delay equation the constant history."""
    figures = [number(value) for value in record.start]
    if system.kind == "delay" and record.facts.get("Delay"):
        return f", with the constant history {system.variables[0]} = {figures[0]} up to time zero"
    if len(figures) == 1:
        return f", started from {system.variables[0]} = {figures[0]}"
    if len(figures) == len(system.variables) <= 4:
        return f", started from ({', '.join(system.variables)}) = ({', '.join(figures)})"
    return f", started from the state ({', '.join(figures)})"


def named(system: SystemWords, *, has_equations: bool) -> str:
    """The name, with the equations after it where they are stated."""
    return f"{system.name}, given by {system.equations}," if has_equations else system.name


def stated(system: SystemWords, record: Record, style: Style) -> str:
    """The sentence that states an instance, as a sentence of its own."""
    values = values_of(record.parameters, is_reversed=style.is_reversed)
    start = start_of(system, record) if style.has_start else ""
    intro = style.intro or fitting(system, INTROS)[0]
    text = intro.format(named=named(system, has_equations=style.has_equations), values=values, start=start)
    return text.replace(",,", ",").replace(",.", ".")


def introduced(system: SystemWords, record: Record, style: Style) -> tuple[str, str, str]:
    """The introductory sentence with a blank after it ('' where there is none), and what the question then calls the
    system and its motion."""
    if style.intro:
        return f"{stated(system, record, style)} ", style.subject, style.motion
    values = values_of(record.parameters, is_reversed=style.is_reversed)
    subject = style.inline.format(name=system.name, values=values)
    return "", subject, f"the long-term motion of {subject}"


def subject_for(kind: str, subject: str, motion: str) -> str:
    """What a wording is said of."""
    return motion if kind == MOTION else subject


def sampling(system: SystemWords, record: Record, predicate: str) -> str:
    """How the series of a sampled indicator was taken, in brackets with a blank before; '' for other predicates."""
    if predicate not in SAMPLED:
        return ""
    if system.kind == "map":
        return " (series of its iterates)"
    if record.facts.get("Forced"):
        return " (sampled once a forcing period)"
    return " (sampled about four times an oscillation)"

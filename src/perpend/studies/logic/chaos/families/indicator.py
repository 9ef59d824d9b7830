"""Measured indicators and what they show: indicator_diagnostics and cross_indicator."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace

from perpend.studies.logic.chaos.families.chance import pick, share
from perpend.studies.logic.chaos.families.draft import Draft, about, capital
from perpend.studies.logic.chaos.families.pairs import QuestionPair, World
from perpend.studies.logic.chaos.families.plain import UNDEFINED, ask_for, framed
from perpend.studies.logic.chaos.families.readings import INDICATORS, reading, shown, spectrum
from perpend.studies.logic.chaos.families.setting import (
    INTROS,
    fitting,
    introduced,
    named,
    sampling,
    style_for,
    subject_for,
    values_of,
)
from perpend.studies.logic.chaos.records import Record

DIAGNOSTICS, CROSS = "indicator_diagnostics", "cross_indicator"
GUIDES = ("Rule of thumb: {rule}.", "As a guide, {rule}.", "Here {rule}.")
AGREE = (
    "Do the two values lead to the same verdict on chaos?",
    "Are the two values in agreement about chaos?",
    "Do both values fall on the same side, chaotic or regular?",
)
COMPARED = (
    (
        "Two settings of {named} are compared by {noun}. First: {a}; value {x}. Second: {b}; value {y}. Only one of "
        "them is chaotic. Is it the {place} one?"
    ),
    (
        "In {named} {noun} was computed twice. It was {x} at {a} (first case) and {y} at {b} (second case). One case "
        "is chaotic, the other is not. Is the {place} case the chaotic one?"
    ),
)
REPORTED = (
    (
        "A report on {system} lists two values without saying how they were obtained: {a} is {x}, and {b} is {y}. "
        "Suppose that {rules}. {asked}"
    ),
    (
        "For {system} a table gives, with the parameter values left out, {x} for {a} and {y} for {b}. Thresholds: "
        "{rules}. {asked}"
    ),
)
FROM_SPECTRUM = ("Dissipative", "Hyperchaotic", "PositiveLargestLyapunov", "DimensionAboveTwo", "Chaotic",
                 "StrangeAttractor", "QuasiPeriodic", "FixedPointAttractor", "AttractingCycle", "Periodic")  # fmt: skip
"""What a whole Lyapunov spectrum says something about."""


def single(world: World, pair: QuestionPair, key: str) -> list[Draft]:
    """'K is 0.998; is it chaotic?' for both members of a pair."""

    def lead(record: Record) -> str | None:
        sentence = reading(world.system(record), record, key)
        guide = pick(GUIDES, "guide", pair.key).format(rule=INDICATORS[key].rule)
        return None if sentence is None else f"{capital(sentence)}. {guide}"

    return _led(world, pair, DIAGNOSTICS, f"single:{key}", lead)


def from_spectrum(world: World, pair: QuestionPair) -> list[Draft]:
    """'The exponents are 0.9, 0.0 and -14.6; is it dissipative?'"""
    form = pick(
        ("Its Lyapunov exponents are {figures}{unit}.", "The full Lyapunov spectrum is {figures}{unit}.",
         "A computation gives the Lyapunov exponents {figures}{unit}."),
        "spectrum", pair.key,
    )  # fmt: skip

    def lead(record: Record) -> str | None:
        figures = spectrum(record)
        unit = " per iterate" if world.system(record).kind == "map" else " per unit of time"
        return None if figures is None else form.format(figures=figures, unit=unit)

    return _led(world, pair, DIAGNOSTICS, "spectrum", lead)


def crossed(world: World, pair: QuestionPair, key: str) -> list[Draft]:
    """One indicator is given, another one (the pair's predicate) is asked about."""

    def lead(record: Record) -> str | None:
        sentence = reading(world.system(record), record, key)
        return None if sentence is None else f"{capital(sentence)}."

    return _led(world, pair, CROSS, f"from:{key}", lead)


def entropy_and(world: World, pair: QuestionPair, key: str) -> list[Draft]:
    """Permutation entropy beside a second indicator, which need not agree with it; is it chaotic?"""

    def lead(record: Record) -> str | None:
        system = world.system(record)
        first, second = reading(system, record, "permutation_entropy"), reading(system, record, key)
        if first is None or second is None:
            return None
        one, other = (first, second) if share("entropy first", pair.key) < 0.5 else (second, first)
        return f"{capital(one)}, and {other}."

    return _led(world, pair, CROSS, f"entropy_and:{key}", lead)


def _led(
    world: World, pair: QuestionPair, family: str, template: str, lead: Callable[[Record], str | None]
) -> list[Draft]:
    """Introduction, what was measured, question; none where a member lacks the number."""
    leads = [lead(record) for record, _ in pair.members()]
    if None in leads:
        return []
    key = (family, template, pair.key)
    ask = ask_for(pair.predicate, UNDEFINED, *key)
    system = world.system(pair.true)
    style = style_for(system, (pair.true, pair.false), *key)
    style = replace(style, intro=style.intro or pick(fitting(system, INTROS), *key))
    drafts = []
    for (record, _), measured in zip(pair.members(), leads, strict=True):
        intro, subject, motion = introduced(system, record, style)
        whom = subject_for(ask.wording.subject, subject, motion)
        asked = framed(pair.predicate, ask, whom, sampling(system, record, pair.predicate))
        draft = pair.draft(system, record, polarity=ask.polarity)
        drafts.append(replace(draft, family=family, template=template, question=f"{intro}{measured} {asked}"))
    return drafts


def compared(world: World, pair: QuestionPair, key: str) -> Iterator[Draft]:
    """Two settings of one system with their indicator; is the first (or the second) the chaotic one?"""
    system = world.system(pair.true)
    figures = [shown(record, key) for record, _ in pair.members()]
    if None in figures or any(record.start_matters for record, _ in pair.members()):
        return
    name = (DIAGNOSTICS, "compared", key, pair.key)
    place = pick(("first", "second"), "place", *name)
    style = style_for(system, (), *name)
    noun = INDICATORS[key].noun + sampling(system, pair.true, INDICATORS[key].predicate)
    subject = named(system, has_equations=style.has_equations)
    form = pick(COMPARED, *name)
    for swapped in (False, True):
        one, other = (pair.false, pair.true) if swapped else (pair.true, pair.false)
        x, y = (figures[1], figures[0]) if swapped else (figures[0], figures[1])
        text = form.format(
            named=subject, noun=noun, place=place, x=x, y=y, a=values_of(one.parameters), b=values_of(other.parameters)
        )
        yield Draft(
            family=DIAGNOSTICS,
            template=f"compared:{key}",
            question=text,
            label=(place == "first") is not swapped,
            about=about(system, (one, other), f"{pair.true.id}|{pair.false.id}|compared"),
            predicate="Chaotic",
            polarity=True,
            kind="comparison",
            extra={"place": place},
        )


def agreement(world: World, pair: QuestionPair, keys: tuple[str, str]) -> Iterator[Draft]:
    """Two values of a report: do they agree? Values of a chaotic and of a regular instance, straight and crossed."""
    system, name = world.system(pair.true), (CROSS, "agreement", *keys, pair.key)
    figures: dict[str, Sequence[str | None]] = {
        key: [shown(record, key) for record, _ in pair.members()] for key in keys
    }
    decided = all(
        record.facts.get(INDICATORS[key].predicate) is holds for key in keys for record, holds in pair.members()
    )
    if not decided or any(None in column for column in figures.values()):
        return
    nouns = [INDICATORS[key].noun for key in keys]
    rules = " and ".join(INDICATORS[key].rule for key in keys)
    form = pick(REPORTED, *name)
    for first, second in ((0, 0), (1, 1), (0, 1), (1, 0)):
        values: Mapping[str, str | None] = {keys[0]: figures[keys[0]][first], keys[1]: figures[keys[1]][second]}
        text = form.format(
            system=system.name, a=nouns[0], b=nouns[1], x=values[keys[0]], y=values[keys[1]], rules=rules,
            asked=pick(AGREE, *name),
        )  # fmt: skip
        yield Draft(
            family=CROSS,
            template=f"agreement:{keys[0]}:{keys[1]}",
            question=text,
            label=first == second,
            about=about(system, (), f"{pair.true.id}|{pair.false.id}|agreement"),
            predicate="IndicatorsAgree",
            polarity=True,
            kind="agreement",
            extra={"values": ";".join(f"{key}={value}" for key, value in values.items())},
        )

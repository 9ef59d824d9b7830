"""Questions with a lure: something true beside the question that suggests an answer, as often the wrong one."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from perpend.studies.logic.chaos.families.arguments import closure
from perpend.studies.logic.chaos.families.chance import mixed, pick
from perpend.studies.logic.chaos.families.draft import Draft, capital
from perpend.studies.logic.chaos.families.pairs import QuestionPair, World
from perpend.studies.logic.chaos.families.plain import UNDEFINED, Ask, ask_for, framed
from perpend.studies.logic.chaos.families.setting import (
    INTROS,
    Style,
    fitting,
    introduced,
    number,
    sampling,
    style_for,
    subject_for,
)
from perpend.studies.logic.chaos.families.words import FACT_WORDINGS, LOGIC_WORDINGS, SAMPLED
from perpend.studies.logic.chaos.records import Record

FAMILY = "adversarial"
LURES = ("Chaotic", "Periodic", "FixedPointAttractor", "QuasiPeriodic")
VOICES = (
    "A widely shared post says that {claim}. Is the post right?",
    "A famous professor is quoted as saying that {claim}. Is the quotation correct about the system?",
    "Most of a class voted that {claim}. Did the majority get it right?",
    "An older report, printed twice, states that {claim}. Is the report right?",
    "Five commentators in a row insist that {claim}. Are they right?",
)
ELSEWHERE = (
    "There are other parameter values at which {claim}.",
    "For suitable other parameter values, {claim}.",
    "It is known that at some other parameter values {claim}.",
)
NEAR = (
    "With {change} instead, and all else equal, {claim}.",
    "Changing only one value, to {change}, gives a system of which this is known: {claim}.",
    "At {change}, the other values being the same, {claim}.",
)
PREMISES = ("It is established that {claim}.", "One thing is certain: {claim}.", "A check has shown that {claim}.")


def adversarial_drafts(world: World, pair: QuestionPair) -> list[Draft]:
    """The pair's two questions with one kind of lure; none where no lure does for both."""
    makers: Mapping[str, Callable[[World, QuestionPair], list[Draft]]] = {
        "elsewhere": _elsewhere,
        "near_miss": _near_miss,
        "true_premise": _true_premise,
        "voice": _voice,
    }
    for name in mixed(makers, str, FAMILY, pair.key):
        drafts = makers[name](world, pair)
        if drafts:
            return drafts
    return []


def _drafts(
    world: World, pair: QuestionPair, template: str, lure: Callable[[Record], str], ask: Ask | None
) -> list[Draft]:
    """Both questions: introduction, lure, question. Without `ask` the lure asks itself."""
    system = world.system(pair.true)
    style = _style(world, pair)
    drafts = []
    for record, _ in pair.members():
        intro, subject, motion = introduced(system, record, style)
        question = intro + lure(record)
        polarity = True if ask is None else ask.polarity
        if ask is not None:
            whom = subject_for(ask.wording.subject, subject, motion)
            question = f"{question} {framed(pair.predicate, ask, whom, sampling(system, record, pair.predicate))}"
        draft = pair.draft(system, record, polarity=polarity)
        drafts.append(replace(draft, family=FAMILY, template=template, question=capital(question)))
    return drafts


def _style(world: World, pair: QuestionPair) -> Style:
    """A style with an introduction: a lure needs something that it refers to."""
    system = world.system(pair.true)
    style = style_for(system, (pair.true, pair.false), FAMILY, pair.key)
    return replace(style, intro=style.intro or pick(fitting(system, INTROS), "lure", pair.key))


def _elsewhere(world: World, pair: QuestionPair) -> list[Draft]:
    """'There are other parameter values at which it is chaotic': true, and no help."""
    shown = {
        lure
        for lure in LURES
        if any(
            record.facts.get(lure) and record.id not in (pair.true.id, pair.false.id)
            for record in world.of(pair.true.system_id)
        )
    }
    if not shown:
        return []
    lure = pick(sorted(shown), "elsewhere", pair.key)
    name = world.system(pair.true).name
    claim = LOGIC_WORDINGS[lure].statement(name, True)
    if name.endswith(("equations", "systems")):
        return []
    form = pick(ELSEWHERE, "elsewhere form", pair.key)
    ask = ask_for(pair.predicate, UNDEFINED, FAMILY, pair.key)
    return _drafts(world, pair, "elsewhere", lambda _record: form.format(claim=claim), ask)


def _near_miss(world: World, pair: QuestionPair) -> list[Draft]:
    """What holds at the nearest setting that differs in one parameter: the same for both members, so no help."""
    if pair.predicate in SAMPLED:
        return []
    for holds in mixed((True, False), str, "near", pair.key):
        near = {record.id: _nearest(world, record, pair.predicate, holds) for record, _ in pair.members()}
        if all(near.values()):
            break
    else:
        return []
    wording = LOGIC_WORDINGS[pair.predicate]
    form = pick(NEAR, "near form", pair.key)

    def lure(record: Record) -> str:
        nearest = near[record.id]
        assert nearest is not None
        other, parameter = nearest
        change = f"{parameter} = {number(other.parameters[parameter])}"
        return capital(form.format(change=change, claim=wording.statement("it", holds)))

    return _drafts(world, pair, "near_miss", lure, ask_for(pair.predicate, UNDEFINED, FAMILY, pair.key))


def _nearest(world: World, record: Record, predicate: str, holds: bool) -> tuple[Record, str] | None:
    """The record that differs in one parameter least, with the wanted truth; and that parameter."""
    best: tuple[float, str, Record, str] | None = None
    for other in world.of(record.system_id):
        if other.facts.get(predicate) is not holds or other.start_matters:
            continue
        changed = [name for name in record.parameters if record.parameters[name] != other.parameters[name]]
        if len(changed) != 1:
            continue
        before, after = record.parameters[changed[0]], other.parameters[changed[0]]
        entry = (abs(after - before) / (abs(before) + abs(after)), other.id, other, changed[0])
        if best is None or entry[:2] < best[:2]:
            best = entry
    return None if best is None else (best[2], best[3])


def _true_premise(world: World, pair: QuestionPair) -> list[Draft]:
    """Another predicate that holds of both members and decides nothing."""
    common = [
        (name, value)
        for name, value in pair.true.facts.items()
        if pair.false.facts.get(name) is value and name != pair.predicate and name not in SAMPLED
    ]
    idle = [
        literal
        for literal in common
        if not {(pair.predicate, True), (pair.predicate, False)} & closure((literal,)).keys()
    ]
    if not idle:
        return []
    name, value = pick(idle, "premise", pair.key)
    form = pick(PREMISES, "premise form", pair.key)
    claim = LOGIC_WORDINGS[name].statement("it" if form.startswith("One") else "the system", value)
    ask = ask_for(pair.predicate, UNDEFINED, FAMILY, pair.key)
    return _drafts(world, pair, "true_premise", lambda _record: form.format(claim=claim), ask)


def _voice(world: World, pair: QuestionPair) -> list[Draft]:
    """Someone with weight asserts it. The claim is right as often as not."""
    form = pick(VOICES, "voice", pair.key)
    wording = pick(FACT_WORDINGS[pair.predicate], "voice wording", pair.key)
    system = world.system(pair.true)
    style = _style(world, pair)

    def lure(record: Record) -> str:
        _, subject, motion = introduced(system, record, style)
        claim = wording.statement(subject_for(wording.subject, subject, motion), True)
        return form.format(claim=claim + sampling(system, record, pair.predicate))

    return _drafts(world, pair, "voice", lure, None)

"""Questions whose answers follow from the stated equations by hand, and facts of the same sort."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from perpend.studies.logic.chaos.questions.chance import Chance, text_name
from perpend.studies.logic.chaos.questions.draft import GENERIC, Draft
from perpend.studies.logic.chaos.questions.reason import divergence, fixed, form, stability, symmetry
from perpend.studies.logic.chaos.questions.reason.equations import FACT_NAMES, NAMES, Equations, Stem
from perpend.studies.logic.chaos.questions.reason.facts import BaseFact
from perpend.studies.logic.chaos.questions.reason.layouts import laid_out, setting
from perpend.studies.logic.chaos.questions.reason.named import named_quartets
from perpend.studies.logic.chaos.questions.reason.quartet import Quartet
from perpend.studies.logic.chaos.questions.reason.remarks import Remark
from perpend.studies.logic.chaos.questions.world import Sources

KINDS: Mapping[str, Callable[[Stem], Quartet | None]] = {
    divergence.KIND: divergence.quartet,
    symmetry.KIND: symmetry.quartet,
    fixed.KIND: fixed.quartet,
    stability.KIND: stability.quartet,
    form.KIND: form.quartet,
}
QUARTETS = 300
"""Quartets of generated systems in each kind, four items each."""
FACT_QUARTETS = 80
"""Quartets of base facts in each kind, four facts each."""
_STEPS = (10, 14, 18, 23)


def bundles(world: Sources) -> Iterator[tuple[Draft, ...]]:
    """The items in quartets: two systems, two statements, two of the four TRUE."""
    for kind in KINDS:
        for name, quartet in _quartets(world.chance, kind, "item", QUARTETS):
            yield tuple(_drafts(world.chance, name, quartet))
    for name, quartet in named_quartets(world.chance, world.systems):
        yield tuple(_drafts(world.chance, name, quartet))


def base_facts(world: Sources) -> Iterator[BaseFact]:
    """Facts in quartets, about systems of which no item of `bundles` speaks."""
    for kind in KINDS:
        for name, quartet in _quartets(world.chance, kind, "fact", FACT_QUARTETS):
            yield from _facts(world.chance, name, quartet)


def grade(system: Equations, remark: Remark) -> int:
    """1 to 5: what there is to read (terms + highest degree + variables) plus the steps of the statement, in bands."""
    effort = system.effort + remark.steps
    return 1 + sum(effort > bound for bound in _STEPS)


def _quartets(chance: Chance, kind: str, room: str, number: int) -> Iterator[tuple[str, Quartet]]:
    """The first quartets of a kind, no system twice."""
    seen: set[str] = set()
    turn = 0
    while number:
        turn += 1
        stem = Stem(chance, f"{room} {kind} {turn}", FACT_NAMES if room == "fact" else NAMES)
        quartet = KINDS[kind](stem)
        if quartet is None or not quartet.sound:
            continue
        texts = {system.text for system in quartet.systems}
        if not texts & seen:
            seen |= texts
            number -= 1
            yield stem.name, quartet


def _pair(quartet: Quartet) -> str:
    texts = [f"{system.text} {system.parameters}" for system in quartet.systems] + [
        remark.says[0] for remark in quartet.remarks
    ]
    return "reason:" + text_name(" | ".join(texts))


def _family(system: Equations) -> str:
    return "extended_systems" if system.size >= 4 else "atomic"


def _drafts(chance: Chance, name: str, quartet: Quartet) -> Iterator[Draft]:
    pair = _pair(quartet)
    for column, remark in enumerate(quartet.remarks):
        # A statement about both systems is laid out alike; the other statement has a layout of its own.
        own = f"{name} {column}"
        polarity = chance.share(own, "polarity") < 0.55
        clause = chance.pick(remark.says if polarity else remark.denies, own, "wording")
        definition = _definition(chance, own, remark)
        for row, system in enumerate(quartet.systems):
            question, frame, turned = laid_out(chance, own, system, definition, clause)
            yield Draft(
                stratum="reason",
                family=_family(system),
                kind=quartet.kind,
                form=f"{remark.predicate} {frame}",
                question=question[0].upper() + question[1:],
                label=(row == column) == (polarity != turned),
                pair=pair,
                grade=grade(system, remark),
                predicate=remark.predicate,
                polarity=polarity != turned,
                system_id=system.system_id or GENERIC,
                system_name=system.title,
                parameters=system.parameters,
                cites=system.citation,
                extra={"recipe": quartet.recipe},
            )


def _definition(chance: Chance, name: str, remark: Remark) -> str:
    return chance.pick(remark.definitions, name, "definition wording") if remark.definitions else ""


def _facts(chance: Chance, name: str, quartet: Quartet) -> Iterator[BaseFact]:
    pair = _pair(quartet)
    names = [[text_name(f"{pair} {row} {column}") for column in range(2)] for row in range(2)]
    for row, system in enumerate(quartet.systems):
        for column, remark in enumerate(quartet.remarks):
            yield BaseFact(
                name=names[row][column],
                pair=pair,
                kind=quartet.kind,
                predicate=remark.predicate,
                family=_family(system),
                setting=setting(chance, f"{name} {column}", system),
                definition=_definition(chance, f"{name} {column}", remark),
                says=remark.says,
                denies=remark.denies,
                label=row == column,
                grade=grade(system, remark),
                partner=names[1 - row][column],
                twin=names[row][1 - column],
            )

"""Two or three values of one parameter: kinds `transition` and `one_of_three`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import combinations
from typing import TypeAlias

from perpend.studies.logic.chaos.questions.compute.contrasts import contrasts, counted_in, couples, lines
from perpend.studies.logic.chaos.questions.draft import Draft
from perpend.studies.logic.chaos.questions.frames import AskedClaim, layout
from perpend.studies.logic.chaos.questions.settings import (
    NOTES,
    Manner,
    bare,
    decimals,
    manner_of,
    plain_number,
    scanned,
    size_grade,
    tag_of,
    time_of,
)
from perpend.studies.logic.chaos.questions.wordings import definitions
from perpend.studies.logic.chaos.questions.world import Sources
from perpend.studies.logic.chaos.records import Record

FAMILY = "regime_transition"
TRANSITION, THREE = "transition", "one_of_three"
REGIMES: Mapping[str, tuple[str, ...]] = {
    "Chaotic": ("chaos", "chaotic motion"),
    "AttractingCycle": ("an attracting cycle",),
    "QuasiPeriodic": ("quasi-periodic motion",),
    "FixedPointAttractor": ("a stable fixed point", "a stable state of rest"),
}
"""Regimes that exclude each other, as a sentence names them."""
CHANGES = (
    "one finds {before} at {p} = {v} and {after} at {p} = {w}",
    "the long-term behaviour is {before} at {p} = {v} and {after} at {p} = {w}",
    "the long-term behaviour changes from {before} to {after} as {p} goes from {v} to {w}",
    "{before} gives way to {after} when {p} is changed from {v} to {w}",
    "{p} = {v} leads to {before}, and {p} = {w} to {after}",
    "at {p} = {v} the system ends in {before}, and at {p} = {w} in {after}",
    "going from {p} = {v} to {p} = {w} replaces {before} by {after}",
    "the motion settles into {before} for {p} = {v}, but into {after} for {p} = {w}",
    "with {p} = {v} the run ends in {before}, and with {p} = {w} it ends in {after}",
    "the outcome is {before} for {p} = {v} and {after} for {p} = {w}",
)
"""Claims about two values. The first value named goes with the first regime named."""
AMONG = (
    "Of the values {p} = {u}, {v} and {w}, in this order, exactly one leads to {regime}.",
    "Three runs are made, with {p} = {u}, {p} = {v} and {p} = {w} in this order; just one of them ends in {regime}.",
    "Among {p} = {u}, {p} = {v} and {p} = {w}, in this order, there is exactly one value that gives {regime}.",
    "For {p} the values {u}, {v} and {w} are tried one after the other, and only one of them gives {regime}.",
    "One tries {p} = {u}, then {v}, then {w}. Only one of the three leads to {regime}.",
)
ONES = (
    ("it is the {place} of them", "is it the {place} of them"),
    ("it is the {place} of the three", "is it the {place} of the three"),
    ("the one in question is the {place}", "is the one in question the {place}"),
    ("it is {p} = {x}", "is it {p} = {x}"),
    ("the one in question is {p} = {x}", "is the one in question {p} = {x}"),
    ("the right one is {p} = {x}", "is the right one {p} = {x}"),
    ("the right one is the {place}", "is the right one the {place}"),
)
PLACES = ("first", "second", "third")
OWN = {TRANSITION: 2, THREE: 2}
"""How often an instance may stand in the transitions of one pair of regimes, and in triples of one regime."""
MOST = {TRANSITION: 2, THREE: 2}
"""The same over all pairs of regimes, and over all regimes; each gives two items."""


REACH = 9
"""How many neighbouring values a triple is chosen from."""
_Triple: TypeAlias = tuple[str, tuple[Record, ...], Record]
"""The parameter, three instances in the order of its values, and the one that is right."""


def regime_of(record: Record) -> str | None:
    """The regime of an instance; None where none of the four is shown."""
    return next((name for name in REGIMES if record.facts.get(name)), None)


def _noun(world: Sources, record: Record, regime: str, *key: str) -> str:
    """A name of a regime; the iterates of a map do not come to rest."""
    names = REGIMES[regime][:1] if world.systems[record.system_id].kind == "map" else REGIMES[regime]
    return world.chance.pick(names, "regime", regime, *key)


def _definition(world: Sources, record: Record, regimes: Sequence[str], *key: str) -> str:
    system = world.systems[record.system_id]
    candidates = [world.chance.pick(definitions(name, time_of(system)), "definition", name, *key) for name in regimes]
    return " ".join(text for text in (*candidates, NOTES.get(system.system_id, "")) if text)


def _draft(world: Sources, kind: str, records: Sequence[Record], form: str, text: str) -> Draft:
    """An item without its label, predicate and pair. Grade: one more than the system's size, as several runs are
    needed, 5 at most."""
    system = world.systems[records[0].system_id]
    return Draft(
        stratum="compute", family=FAMILY, kind=kind, form=form, question=text, label=False, pair="", predicate="",
        grade=min(5, 1 + max(size_grade(system, record) for record in records)), system_id=system.system_id,
        system_name=bare(system.name), instance=" > ".join(record.id for record in records),
        parameters=" > ".join(tag_of(record.parameters) for record in records), cites=system.citation,
    )  # fmt: skip


def _side(one: str, other: str, record: Record) -> bool | None:
    """True for the one regime, False for the other, None for a third."""
    return {one: True, other: False}.get(regime_of(record) or "")


def transition_bundles(world: Sources) -> Iterator[tuple[Draft, ...]]:
    """'A at p = v and B at p = w', and the same with v and w exchanged."""
    counts: Counter[str] = Counter()
    for one, other in combinations(REGIMES, 2):
        candidates = contrasts(world, partial(_side, one, other))
        for two in couples(world, candidates, OWN[TRANSITION], TRANSITION, one, other):
            if not counted_in(counts, MOST[TRANSITION], [record for contrast in two for record in contrast.both]):
                continue
            # Which regime is named first belongs to the couple: so it is unrelated to what the numbers show.
            turned = world.chance.share("turned", TRANSITION, two[0].key) < 0.5
            for contrast in two:
                records = contrast.both[::-1] if turned else contrast.both
                yield _transition(world, contrast.parameter, records, (other, one) if turned else (one, other))


def _transition(
    world: Sources, parameter: str, records: Sequence[Record], regimes: tuple[str, str]
) -> tuple[Draft, ...]:
    key = (TRANSITION, *(record.id for record in records))
    chance, system = world.chance, world.systems[records[0].system_id]
    manner = manner_of(chance, system, records, *key, has_intro=True)
    setting = scanned(chance, system, records[0], manner, (parameter, *key))
    claim = chance.pick(CHANGES, "change", *key)
    before, after = (_noun(world, records[0], name, *key) for name in regimes)
    definition = _definition(world, records[0], regimes, *key)
    drafts = []
    for order in (records, records[::-1]):
        v, w = (plain_number(record.parameters[parameter], manner.places[parameter]) for record in order)
        words = {"p": parameter, "v": v, "w": w, "before": before, "after": after}
        form, text = layout(chance, key, AskedClaim(claim.format(**words)), setting, definition)
        draft = _draft(world, TRANSITION, order, form, text)
        drafts.append(replace(draft, label=order is records, predicate=">".join(regimes), pair="|".join(key)))
    return tuple(drafts)


def three_bundles(world: Sources) -> Iterator[tuple[Draft, ...]]:
    """'Just one of three values gives A. Is it the second?' of the right one, and of one of the others."""
    counts: Counter[str] = Counter()
    for regime in REGIMES:
        for trio in trios(world, regime):
            if not counted_in(counts, MOST[THREE], [record for _, records, _ in trio for record in records]):
                continue
            # Each place is right once and asked in vain once, and so is each rank of the values.
            key = (THREE, regime, *(record.id for _, records, _ in trio for record in records))
            places = world.chance.mixed(range(3), str, "places", *key)
            shift, step = (1 + world.chance.below(2, name, *key) for name in ("shift", "step"))
            claim = world.chance.pick(ONES, "one", *key)
            for rank, triple in enumerate(trio):
                at = (places[rank], (places[rank] + shift) % 3)
                yield _three(world, regime, triple, (at, (rank + step) % 3), claim)


def trios(world: Sources, regime: str) -> Iterator[tuple[_Triple, ...]]:
    """Three triples that look alike, in which the smallest, the middle and the largest value alone gives a regime.

    Triples look alike if the order of their distances from the usual value is the same, that of their sizes, and the
    place of the wider gap.
    """
    looks: dict[tuple[object, ...], tuple[list[_Triple], ...]] = {}
    candidates = [triple for name, records in lines(world) for triple in _on_line(regime, name, records)]
    places: Counter[str] = Counter()
    ranked = []
    for triple in world.chance.mixed(candidates, lambda entry: "|".join(r.id for r in entry[1]), THREE, regime):
        system = triple[1][0].system_id
        ranked.append((places[system], world.chance.share("turn", system, THREE, regime), triple))
        places[system] += 1
    for _, _, triple in sorted(ranked, key=lambda entry: entry[:2]):
        waiting = looks.setdefault(_look(world, triple), ([], [], []))
        waiting[triple[1].index(triple[2])].append(triple)
    counts: Counter[str] = Counter()
    for waiting in looks.values():
        yield from _matched(waiting, counts)


def _on_line(regime: str, name: str, records: Sequence[Record]) -> Iterator[_Triple]:
    """Neighbouring triples of a line and those with one value left out, one of which alone has the regime."""
    known = [record for record in records if regime in record.facts and regime_of(record) is not None]
    for start in range(len(known)):
        for three in combinations(known[start : start + REACH], 3):
            right = [record for record in three if record.facts[regime]]
            same = len({decimals(record.parameters[name]) for record in three}) == 1
            if three[0] is known[start] and len(right) == 1 and same:
                yield name, three, right[0]


def _look(world: Sources, triple: _Triple) -> tuple[object, ...]:
    name, records, _ = triple
    usual = world.systems[records[0].system_id].parameters.get(name, 0.0)
    values = [record.parameters[name] for record in records]
    by_distance = sorted(range(3), key=lambda n: (abs(values[n] - usual), n))
    by_size = sorted(range(3), key=lambda n: (abs(values[n]), n))
    return tuple(by_distance), tuple(by_size), values[1] - values[0] > values[2] - values[1]


def _matched(waiting: Sequence[list[_Triple]], counts: Counter[str]) -> Iterator[tuple[_Triple, ...]]:
    """One triple of each rank at a time, as long as there are, each instance OWN times at most."""
    queues = [iter(triples) for triples in waiting]
    while True:
        taken: list[_Triple] = []
        for queue in queues:
            extra = Counter(record.id for _, records, _ in taken for record in records)
            triple = next((t for t in queue if all(counts[r.id] + extra[r.id] < OWN[THREE] for r in t[1])), None)
            if triple is None:
                return
            taken.append(triple)
        counts.update(record.id for _, records, _ in taken for record in records)
        yield tuple(taken)


def _three(
    world: Sources, regime: str, triple: _Triple, asked: tuple[tuple[int, int], int], claims: tuple[str, str]
) -> tuple[Draft, ...]:
    """The two questions of a triple. `asked` is the places of the right value and of the one asked in vain, and the
    rank of the latter."""
    parameter, records, right = triple
    (place, vain), rank = asked
    key = (THREE, regime, *(record.id for record in records))
    chance, system = world.chance, world.systems[right.system_id]
    manner = manner_of(chance, system, records, *key, has_intro=True)
    order = [record for record in records if record not in (right, records[rank])] * 3
    order[place], order[vain] = right, records[rank]
    u, v, w = figures = [_figure(record, parameter, manner) for record in order]
    among = chance.pick(AMONG, "among", *key).format(
        p=parameter, u=u, v=v, w=w, regime=_noun(world, right, regime, *key)
    )
    setting = f"{scanned(chance, system, right, manner, (parameter, *key))} {among}"
    definition = _definition(world, right, (regime,), *key)
    drafts = []
    for at in (place, vain):
        words = {"p": parameter, "x": figures[at], "place": PLACES[at]}
        claim, asks = (text.format(**words) for text in claims)
        form, text = layout(chance, key, AskedClaim(claim, asks), setting, definition)
        draft = _draft(world, THREE, order, form, text)
        extra = {"place": PLACES[at]}
        drafts.append(replace(draft, label=at == place, predicate=regime, pair="|".join(key), extra=extra))
    return tuple(drafts)


def _figure(record: Record, parameter: str, manner: Manner) -> str:
    return plain_number(record.parameters[parameter], manner.places[parameter])

"""Instances that go together: of one system, apart in few parameters, and on the two sides of a question.

Nothing that can be read off the numbers may tell the sides apart. So contrasts are taken in couples: for every contrast
whose true instance has the larger value, lies nearer to the system's usual value, or has more digits, there is one for
which the false instance does, in the same bins. What finds no mirror image is left out.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from perpend.studies.logic.chaos.questions.chance import Chance
from perpend.studies.logic.chaos.questions.settings import decimals, is_plain
from perpend.studies.logic.chaos.questions.world import Sources
from perpend.studies.logic.chaos.records import Record

WIDER = 4
"""How many partners with several other values are looked at for an instance."""
NEAR, FAR = 0.06, 0.35
"""Bounds of the bins of relative distance from a parameter's usual value."""


@dataclass(frozen=True, slots=True)
class InstanceContrast:
    """Two instances of one system that start alike: the question's answer is yes of `yes` and no of `no`.

    `parameter` is the one in which they differ; '' where they differ in several.
    """

    parameter: str
    yes: Record
    no: Record

    @property
    def key(self) -> str:
        """The name of the contrast, for choices."""
        return f"{self.yes.id}|{self.no.id}"

    @property
    def both(self) -> tuple[Record, Record]:
        """The instance for yes, then the one for no."""
        return self.yes, self.no


def lines(world: Sources) -> Iterator[tuple[str, list[Record]]]:
    """Every parameter with two instances or more of one system that differ in it alone and start alike."""
    groups: dict[tuple[str, ...], list[Record]] = {}
    for record in world.records.values():
        if not is_plain(record):
            continue
        for name in record.parameters:
            rest = [f"{k}={v!r}" for k, v in sorted(record.parameters.items()) if k != name]
            groups.setdefault((record.system_id, name, *rest, repr(record.start)), []).append(record)
    for (_, name, *_), records in groups.items():
        if len(records) > 1:
            yield name, sorted(records, key=lambda record: record.parameters[name])


def cell(world: Sources, record: Record, parameter: str) -> str:
    """Where a value lies from the parameter's usual one: the side, and one of three distances; 'usual' for itself."""
    usual = world.systems[record.system_id].parameters.get(parameter, 0.0)
    value = record.parameters[parameter]
    if value == usual:
        return "usual"
    apart = abs(value - usual) / max(abs(value), abs(usual))
    distance = "near" if apart < NEAR else "middle" if apart < FAR else "far"
    return f"{distance} {'above' if value > usual else 'below'}"


def _sign(one: float, other: float) -> int:
    return (one > other) - (one < other)


Look: TypeAlias = tuple[tuple[tuple[str, ...], tuple[str, ...]], tuple[int, int, int]]
"""Of the instance for yes and of that for no, where the values lie that differ; and three signs, see `look`."""


def look(world: Sources, contrast: InstanceContrast) -> Look:
    """What the numbers of a contrast show: the cells of both; whether yes has the larger value, the value of larger
    size, and more decimals. The first two are 0 where several parameters differ."""
    one, other = contrast.yes.parameters, contrast.no.parameters
    names = [name for name in one if one[name] != other[name]]
    yes, no = (tuple(sorted(cell(world, record, name) for name in names)) for record in contrast.both)
    digits = _sign(sum(decimals(one[name]) for name in names), sum(decimals(other[name]) for name in names))
    if not contrast.parameter:
        return (yes, no), (0, 0, digits)
    value, against = one[contrast.parameter], other[contrast.parameter]
    return (yes, no), (_sign(value, against), _sign(abs(value), abs(against)), digits)


def mirrored(shown: Look) -> Look:
    """What a contrast shows whose yes and no are exchanged."""
    (yes, no), (larger, size, digits) = shown
    return (no, yes), (-larger, -size, -digits)


def contrasts(world: Sources, side: Callable[[Record], bool | None]) -> list[InstanceContrast]:
    """All contrasts by a fact: `side` is its truth of an instance, None where it is not known."""
    chosen_pairs: list[InstanceContrast] = []
    for name, records in lines(world):
        sides = [(record, side(record)) for record in records]
        yes = [record for record, holds in sides if holds is True]
        no = [record for record, holds in sides if holds is False]
        chosen_pairs += [InstanceContrast(name, one, other) for one in yes for other in no]
    return chosen_pairs


def wider_contrasts(world: Sources, side: Callable[[Record], bool | None], *key: str) -> list[InstanceContrast]:
    """Contrasts whose instances differ in several parameters: for every instance a few of the other side."""
    cells: dict[tuple[str, str], tuple[list[Record], list[Record]]] = {}
    for record in world.records.values():
        holds = side(record)
        if holds is not None and is_plain(record):
            cells.setdefault((record.system_id, repr(record.start)), ([], []))[0 if holds else 1].append(record)
    chosen_pairs: dict[str, InstanceContrast] = {}
    for yes, no in cells.values():
        for own, others, turned in ((yes, no, False), (no, yes, True)):
            for record in own:
                fit = [other for other in others if _apart(record, other) > 1]
                for other in world.chance.mixed(fit, lambda one: one.id, "wider", record.id, *key)[:WIDER]:
                    contrast = InstanceContrast("", other, record) if turned else InstanceContrast("", record, other)
                    chosen_pairs[contrast.key] = contrast
    return list(chosen_pairs.values())


def _apart(one: Record, other: Record) -> int:
    return sum(value != other.parameters[name] for name, value in one.parameters.items())


def in_turn(chance: Chance, chosen_pairs: Iterable[InstanceContrast], *key: str) -> list[InstanceContrast]:
    """The contrasts in the order that belongs to a name, system after system in turns."""
    places: Counter[str] = Counter()
    ranked = []
    for contrast in chance.mixed(chosen_pairs, lambda one: one.key, "contrasts", *key):
        system = contrast.yes.system_id
        ranked.append((places[system], chance.share("turn", system, *key), contrast.key, contrast))
        places[system] += 1
    return [entry[-1] for entry in sorted(ranked, key=lambda entry: entry[:3])]


def couples(
    world: Sources, chosen_pairs: Sequence[InstanceContrast], own: int, *key: str
) -> Iterator[tuple[InstanceContrast, InstanceContrast]]:
    """Contrasts two by two, one the mirror image of the other in what its numbers show; each instance `own` times at
    most. Systems take turns, and the two of a couple may be of different systems."""
    waiting: dict[Look, list[InstanceContrast]] = {}
    counts: Counter[str] = Counter()
    for contrast in in_turn(world.chance, chosen_pairs, *key):
        shown = look(world, contrast)
        if any(counts[record.id] >= own for record in contrast.both):
            continue
        partners = waiting.get(mirrored(shown), [])
        system = contrast.yes.system_id
        fit = [p for p in partners if _fits(counts, own, contrast, p)]
        # Of the same system where there is one: then each split is balanced for itself.
        partner = next((p for p in fit if p.yes.system_id == system), fit[0] if fit else None)
        if partner is None:
            waiting.setdefault(shown, []).append(contrast)
            continue
        partners.remove(partner)
        counts.update(record.id for record in (*contrast.both, *partner.both))
        yield partner, contrast


def counted_in(counts: Counter[str], most: int, records: Iterable[Record], weight: int = 1) -> bool:
    """Whether as many items more about each of the instances keep all counts within `most`; if so they are counted."""
    extra = Counter(record.id for record in records)
    if any(counts[name] + weight * count > most for name, count in extra.items()):
        return False
    for name, count in extra.items():
        counts[name] += weight * count
    return True


def _fits(counts: Counter[str], own: int, one: InstanceContrast, other: InstanceContrast) -> bool:
    extra = Counter(record.id for record in (*one.both, *other.both))
    return all(counts[name] + count <= own for name, count in extra.items())

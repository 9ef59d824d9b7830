"""Instances that go together: of one system, apart in one parameter, and on the two sides of a question.

Nothing that can be read off the numbers may tell the sides apart. So contrasts are taken in couples: for every contrast
whose true instance has the larger value, lies nearer to the system's usual value, or has more digits, there is one for
which the false instance does, in the same bins. What finds no mirror image is left out.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from perpend.studies.logic.chaos.questions.chance import Chance
from perpend.studies.logic.chaos.questions.settings import decimals, is_plain
from perpend.studies.logic.chaos.questions.world import Sources
from perpend.studies.logic.chaos.records import Record

NEAR, FAR = 0.06, 0.35
"""Bounds of the bins of relative distance from a parameter's usual value."""


@dataclass(frozen=True, slots=True)
class Contrast:
    """Two instances that differ in one parameter: the question's answer is yes of `yes` and no of `no`."""

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


def look(world: Sources, contrast: Contrast) -> tuple[tuple[str, str], tuple[int, int, int]]:
    """What the numbers of a contrast show: both cells; larger, larger in size, and more digits for yes than for no."""
    name = contrast.parameter
    one, other = contrast.yes.parameters[name], contrast.no.parameters[name]
    cells = (cell(world, contrast.yes, name), cell(world, contrast.no, name))
    return cells, (_sign(one, other), _sign(abs(one), abs(other)), _sign(decimals(one), decimals(other)))


def mirrored(
    shown: tuple[tuple[str, str], tuple[int, int, int]],
) -> tuple[tuple[str, str], tuple[int, int, int]]:
    """What a contrast shows whose yes and no are exchanged."""
    (yes, no), (larger, size, digits) = shown
    return (no, yes), (-larger, -size, -digits)


def contrasts(world: Sources, side: Callable[[Record], bool | None]) -> list[Contrast]:
    """All contrasts by a fact: `side` is its truth of an instance, None where it is not known."""
    found: list[Contrast] = []
    for name, records in lines(world):
        sides = [(record, side(record)) for record in records]
        yes = [record for record, holds in sides if holds is True]
        no = [record for record, holds in sides if holds is False]
        found += [Contrast(name, one, other) for one in yes for other in no]
    return found


def in_turn(chance: Chance, found: Iterable[Contrast], *key: str) -> list[Contrast]:
    """The contrasts in the order that belongs to a name, system after system in turns."""
    places: Counter[str] = Counter()
    ranked = []
    for contrast in chance.mixed(found, lambda one: one.key, "contrasts", *key):
        system = contrast.yes.system_id
        ranked.append((places[system], chance.share("turn", system, *key), contrast.key, contrast))
        places[system] += 1
    return [entry[-1] for entry in sorted(ranked, key=lambda entry: entry[:3])]


def couples(world: Sources, found: Sequence[Contrast], own: int, *key: str) -> Iterator[tuple[Contrast, Contrast]]:
    """Contrasts two by two, one the mirror image of the other in what its numbers show; each instance `own` times at
    most. Systems take turns, and the two of a couple may be of different systems."""
    waiting: dict[object, list[Contrast]] = {}
    counts: Counter[str] = Counter()
    for contrast in in_turn(world.chance, found, *key):
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


def _fits(counts: Counter[str], own: int, one: Contrast, other: Contrast) -> bool:
    extra = Counter(record.id for record in (*one.both, *other.both))
    return all(counts[name] + count <= own for name, count in extra.items())

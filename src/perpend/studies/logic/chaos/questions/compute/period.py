"""How many iterates or forcing periods a cycle takes: kind `period`."""

from __future__ import annotations

from collections.abc import Iterator

from perpend.studies.logic.chaos.questions.compute.contrasts import InstanceContrast, couples, lines
from perpend.studies.logic.chaos.questions.draft import Draft
from perpend.studies.logic.chaos.questions.frames import AskedClaim, layout
from perpend.studies.logic.chaos.questions.settings import NOTES, bare, manner_of, size_grade, stated, tag_of
from perpend.studies.logic.chaos.questions.world import Sources
from perpend.studies.logic.chaos.records import Record

KIND = "period"
MOST_PERIOD = 16
OWN = 2
"""How often an instance may stand in contrasts of periods; each gives two items about it."""
CLAIMS: tuple[tuple[str, str], ...] = (
    ("the system settles on an attracting cycle of least period {n}",
     "does the system settle on an attracting cycle of least period {n}"),
    ("the orbit ends on an attracting cycle of least period {n}",
     "does the orbit end on an attracting cycle of least period {n}"),
    ("the attracting cycle that is reached has least period {n}",
     "does the attracting cycle that is reached have least period {n}"),
    ("the least period of the attracting cycle is {n}", "is the least period of the attracting cycle {n}"),
    ("the long-term motion is an attracting cycle whose least period is {n}",
     "is the long-term motion an attracting cycle whose least period is {n}"),
    ("one ends up on an attracting cycle with a least period of {n}",
     "does one end up on an attracting cycle with a least period of {n}"),
)  # fmt: skip
COUNTED = {
    "map": (
        "The least period is the smallest number of iterates after which the cycle repeats.",
        "The least period counts the iterates after which the cycle repeats for the first time.",
        "By the least period is meant the number of different points on the cycle.",
    ),
    "forced flow": (
        "The least period is the smallest number of forcing periods after which the motion repeats.",
        ("The least period is counted in periods of the forcing: it is the smallest number of them after which the "
        "motion repeats."),
    ),
}  # fmt: skip


def period_of(world: Sources, record: Record) -> int | None:
    """The least period of an attracting cycle, of maps in iterates and of forced systems in forcing periods."""
    period = record.numbers.get("period")
    known = world.systems[record.system_id].kind in COUNTED and record.facts.get("AttractingCycle") is True
    return int(str(period)) if known and period is not None and int(str(period)) <= MOST_PERIOD else None


def period_bundles(world: Sources) -> Iterator[tuple[Draft, ...]]:
    """Two cycles and their two periods: each period is asked of each cycle, so that every number and every instance is
    right once and wrong once."""
    by_period = []
    for name, records in lines(world):
        known = [(record, period_of(world, record)) for record in records]
        cycles = [(record, period) for record, period in known if period is not None]
        # The answer is yes of the shorter cycle only for the sake of the couples.
        by_period += [InstanceContrast(name, one, other) for one, n in cycles for other, m in cycles if n < m]
    for two in couples(world, by_period, OWN, KIND):
        for contrast in two:
            yield _bundle(world, contrast)


def _bundle(world: Sources, contrast: InstanceContrast) -> tuple[Draft, ...]:
    """Grade: that of the system's size."""
    key = (KIND, contrast.key)
    chance, system = world.chance, world.systems[contrast.yes.system_id]
    manner = manner_of(chance, system, contrast.both, *key, has_intro=True)
    claim, asks = chance.pick(CLAIMS, "claim", *key)
    definition = chance.pick(COUNTED[system.kind], "counted", *key)
    note = NOTES.get(system.system_id, "")
    drafts = []
    for record in contrast.both:
        for n in (period_of(world, one) for one in contrast.both):
            form, text = layout(
                chance, key, AskedClaim(claim.format(n=n), asks.format(n=n)), stated(system, record, manner),
                f"{definition} {note}".strip(),
            )  # fmt: skip
            drafts.append(
                Draft(
                    stratum="compute", family="regime_transition", kind=KIND, form=form, question=text,
                    label=n == period_of(world, record), pair="|".join(key), grade=size_grade(system, record),
                    predicate="LeastPeriod", system_id=system.system_id, system_name=bare(system.name),
                    instance=record.id, parameters=tag_of(record.parameters), cites=system.citation,
                    extra={"period": str(n)},
                )
            )  # fmt: skip
    return tuple(drafts)

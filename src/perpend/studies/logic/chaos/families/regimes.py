"""What changes when one parameter does: regime_transition."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from perpend.studies.logic.chaos.families.chance import mixed, pick
from perpend.studies.logic.chaos.families.draft import Draft, about
from perpend.studies.logic.chaos.families.pairs import World
from perpend.studies.logic.chaos.families.setting import named, number, style_for, values_of
from perpend.studies.logic.chaos.records import Record, SystemWords

FAMILY = "regime_transition"
REGIMES = {
    "Chaotic": "chaotic motion",
    "AttractingCycle": "an attracting cycle",
    "QuasiPeriodic": "quasi-periodic motion",
    "FixedPointAttractor": "a stable fixed point",
}
TRANSITIONS = (
    (
        "In {subject}{rest}, the parameter {p} is changed from {v} to {w}. Does the long-term behaviour change from "
        "{before} to {after}?"
    ),
    "Take {subject}{rest}. Is it true that one finds {before} at {p} = {v} and {after} at {p} = {w}?",
    ("Consider {subject}{rest}. Going from {p} = {v} to {p} = {w}, does one leave {before} and arrive at {after}?"),
)
THREE = (
    (
        "Take {subject}{rest}, and run it at {p} = {u}, {p} = {v} and {p} = {w}. In exactly one of the three runs the "
        "long-term behaviour is {regime}. Is it the {place} run?"
    ),
    (
        "Consider {subject}{rest}, and for {p} the values {u}, {v} and {w}, in this order. Just one of them gives "
        "{regime}. Is it the {place} value?"
    ),
)
PERIODS = (
    "Take {subject}{rest} at {p} = {v}. Does the orbit settle on an attracting cycle of least period {n}?",
    "In {subject}{rest}, let {p} = {v}. Is it right that the orbit ends on an attracting cycle of least period {n}?",
)
MOST_LINES = 6
"""Transitions asked about in one scan of one parameter."""


@dataclass(frozen=True, slots=True)
class Scan:
    """Instances of one system that differ in one parameter, in the order of its values."""

    system: SystemWords
    parameter: str
    records: tuple[Record, ...]

    def value(self, record: Record) -> str:
        """The changing parameter's value."""
        return number(record.parameters[self.parameter])


def regime_of(record: Record) -> str | None:
    """The regime of an instance; None where none of the four is shown."""
    return next((name for name in REGIMES if record.facts.get(name)), None)


def scans(world: World) -> list[Scan]:
    """Every scan with two regimes or more, of instances that do not depend on the start."""
    several: list[Scan] = []
    for system_id in world.by_system:
        groups: dict[tuple[str, str], list[Record]] = {}
        for record in world.of(system_id):
            if record.start_matters or regime_of(record) is None:
                continue
            for name in record.parameters:
                rest = values_of({k: v for k, v in record.parameters.items() if k != name} or {"": 0.0})
                groups.setdefault((name, rest), []).append(record)
        for (name, _), rows in groups.items():
            if len({regime_of(record) for record in rows}) > 1:
                ordered = sorted(rows, key=lambda record: record.parameters[name])
                several.append(Scan(world.systems[system_id], name, tuple(ordered)))
    return several


def scan_bundles(scan: Scan) -> Iterator[list[Draft]]:
    """The questions of one scan, two by two: transitions, which of three values, and periods of maps."""
    key = (FAMILY, scan.records[0].id, scan.parameter)
    pairs = [(one, other) for one, other in pairwise(scan.records) if regime_of(one) != regime_of(other)]
    for one, other in mixed(pairs, lambda two: two[0].id, *key)[:MOST_LINES]:
        yield list(_transition(scan, one, other))
    for place in range(len(scan.records) - 2):
        three = scan.records[place : place + 3]
        yield list(_among_three(scan, three))
    for record in scan.records:
        yield list(_period(scan, record))


def _base(scan: Scan, key: tuple[str, ...]) -> tuple[str, str]:
    """The system with its equations where stated, and the values that stay: ' with b = 0.3', or ''."""
    style = style_for(scan.system, (), *key)
    rest = {k: v for k, v in scan.records[0].parameters.items() if k != scan.parameter}
    subject = named(scan.system, has_equations=style.has_equations)
    return subject, f" with {values_of(rest, is_reversed=style.is_reversed)}" if rest else ""


def _transition(scan: Scan, one: Record, other: Record) -> Iterator[Draft]:
    """'Does it go from A to B as p goes from v to w?' and the same from w to v, where it goes from B to A."""
    key = (FAMILY, "transition", one.id, other.id)
    if pick((True, False), "turn", *key):
        one, other = other, one
    before, after = regime_of(one), regime_of(other)
    assert before is not None
    assert after is not None
    subject, rest = _base(scan, key)
    form = pick(TRANSITIONS, *key)
    for first, second in ((one, other), (other, one)):
        text = form.format(
            subject=subject, rest=rest, p=scan.parameter, v=scan.value(first), w=scan.value(second),
            before=REGIMES[before], after=REGIMES[after],
        )  # fmt: skip
        yield Draft(
            family=FAMILY,
            template="transition",
            question=_clean(text),
            label=first is one,
            about=about(scan.system, (first, second), f"{one.id}|{other.id}|transition"),
            predicate=f"{before}>{after}",
            polarity=True,
            kind="transition",
        )


def _among_three(scan: Scan, three: Sequence[Record]) -> Iterator[Draft]:
    """'Of the three values, is it chaotic at the middle one only?' with the values in this order and in another."""
    truth = {name: [regime_of(record) == name for record in three] for name in REGIMES}
    alone = [name for name, where in truth.items() if sum(where) == 1 and all(name in r.facts for r in three)]
    if not alone:
        return
    key = (FAMILY, "three", *(record.id for record in three))
    regime = pick(alone, *key)
    at = truth[regime].index(True)
    place = pick(("first", "second", "third"), "place", *key)
    wanted = ("first", "second", "third").index(place)
    right, wrong = list(three), list(three)
    right[at], right[wanted] = right[wanted], right[at]
    elsewhere = pick([n for n in range(3) if n != wanted], "elsewhere", *key)
    wrong[at], wrong[elsewhere] = wrong[elsewhere], wrong[at]
    subject, rest = _base(scan, key)
    form = pick(THREE, *key)
    for order in (right, wrong):
        u, v, w = (scan.value(record) for record in order)
        text = form.format(
            subject=subject, rest=rest, p=scan.parameter, u=u, v=v, w=w, regime=REGIMES[regime], place=place
        )
        yield Draft(
            family=FAMILY,
            template="one_of_three",
            question=_clean(text),
            label=order is right,
            about=about(scan.system, tuple(order), f"{'|'.join(r.id for r in three)}|three"),
            predicate=regime,
            polarity=True,
            kind="one_of_three",
            extra={"place": place},
        )


def _period(scan: Scan, record: Record) -> Iterator[Draft]:
    """The least period of an attracting cycle of a map, and that of another cycle of the same scan in its place."""
    periods = {
        r.id: str(r.numbers["period"]) for r in scan.records if r.facts.get("AttractingCycle") and "period" in r.numbers
    }
    key = (FAMILY, "period", record.id, scan.parameter)
    own = periods.get(record.id)
    others = sorted(set(periods.values()) - {str(own)})
    if scan.system.kind != "map" or own is None or not others:
        return
    subject, rest = _base(scan, key)
    form = pick(PERIODS, *key)
    for period in (own, pick(others, "other", *key)):
        text = form.format(subject=subject, rest=rest, p=scan.parameter, v=scan.value(record), n=period)
        yield Draft(
            family=FAMILY,
            template="period",
            question=_clean(text),
            label=period == own,
            about=about(scan.system, (record,), f"{record.id}|period"),
            predicate="Period",
            polarity=True,
            kind="period",
            extra={"period": period},
        )


def _clean(text: str) -> str:
    """Without the comma that closes the equations where another mark follows."""
    return text.replace(",,", ",").replace(",.", ".")

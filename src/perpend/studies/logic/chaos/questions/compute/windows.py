"""Periods of quadratic maps with drawn coefficients: more of the kinds that ask for regimes, with nothing measured.

Every map x -> a + b x - c x^2 is y -> m - y^2 in other coordinates, with m = a c + b^2 / 4 - b / 2; it has at most one
attractor. The coefficients hide m, so that a period cannot be told from the size of a number.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from perpend.studies.logic.chaos.questions.chance import Chance
from perpend.studies.logic.chaos.questions.compute.period import CLAIMS, COUNTED, KIND
from perpend.studies.logic.chaos.questions.compute.scans import AMONG, CHANGES, ONES, PLACES, THREE, TRANSITION
from perpend.studies.logic.chaos.questions.draft import Draft
from perpend.studies.logic.chaos.questions.frames import AskedClaim, layout
from perpend.studies.logic.chaos.questions.settings import plain_number
from perpend.studies.logic.chaos.questions.world import Sources

BUNDLES = {KIND: 165, TRANSITION: 110, THREE: 165}
CYCLE = "an attracting cycle of least period {n}"
ATTEMPTS = 60
PERIODS = (3, 4, 5, 6, 7, 8)
GRID = 2400
"""Values of m between 1.25 and 1.99 that are looked at for windows."""
TRANSIENT = 600
CONTRACTION = 0.8
"""The largest multiplier of a cycle that counts: nearer to one, the approach is too slow to be seen."""
CLOSED, APART = 1e-9, 1e-3
"""Points nearer than the one are the same, points of a cycle are further apart than the other."""
SETTINGS = (
    "Consider the map {map} from {start}.",
    "Iterate {map}, beginning with {start}.",
    "A sequence obeys {map} and begins with {start}.",
    "The recursion {map} is started at {start}.",
    "Take {start} and apply {map} again and again.",
    "Let {start} and {map}.",
    "The orbit of {start} under the map {map} is computed.",
    "For the map {map} the start is {start}.",
)


def least_period(a: float, b: float, c: float, start: float) -> int | None:
    """The least period of the cycle that an orbit of x -> a + b x - c x^2 runs into; None where it reaches none of at
    most eight points that contracts well."""
    x = start
    for _ in range(TRANSIENT):
        x = a + x * (b - c * x)
        if abs(x) > 1e6:
            return None
    first, multiplier = x, 1.0
    for step in range(1, max(PERIODS) + 1):
        multiplier *= b - 2 * c * x
        x = a + x * (b - c * x)
        if abs(x - first) < CLOSED:
            return step if abs(multiplier) < CONTRACTION else None
        if abs(x - first) < APART:
            return None
    return None


def windows() -> Mapping[int, Sequence[float]]:
    """For each period the values of m on a grid at which y -> m - y^2 has an attracting cycle of it."""
    drawn_maps: dict[int, list[float]] = {period: [] for period in PERIODS}
    for place in range(GRID):
        m = 1.25 + 0.74 * place / GRID
        period = least_period(m, 0.0, 1.0, 0.1)
        if period in drawn_maps:
            drawn_maps[period].append(m)
    return drawn_maps


def window_bundles(world: Sources) -> Iterator[tuple[Draft, ...]]:
    """Questions about drawn maps: periods, transitions, and which of three values."""
    seen = windows()
    for kind, count in BUNDLES.items():
        for place in range(count):
            drawn_maps = _search(world.chance, seen, 3 if kind == THREE else 2, (kind, str(place)))
            if drawn_maps is not None:
                maker = {KIND: _period, TRANSITION: _transition, THREE: _three}[kind]
                yield maker(world.chance, drawn_maps, (kind, "windows", str(place)))


@dataclass(frozen=True, slots=True)
class DrawnMap:
    """x -> a + b x - c x^2 with several values of a, each with the period that belongs to it."""

    values: tuple[float, ...]
    periods: tuple[int, ...]
    b: float
    c: float
    start: float

    def text(self, a: str) -> str:
        """The recursion with a number or a letter for a."""
        return f"x[n+1] = {a} {_term(self.b, 'x[n]')} {_term(-self.c, 'x[n]^2')}"

    def setting(self, chance: Chance, a: str, *key: str) -> str:
        """The sentence that states the recursion and its start."""
        intro = chance.pick(SETTINGS, "setting", *key)
        return intro.format(map=self.text(a), start=f"x[0] = {plain_number(self.start, 2)}")

    @property
    def grade(self) -> int:
        """2, and 3 where a period is above four."""
        return 3 if max(self.periods) > 4 else 2


def _search(chance: Chance, seen: Mapping[int, Sequence[float]], count: int, names: tuple[str, ...]) -> DrawnMap | None:
    """A map with n values of a; None where ATTEMPTS have none. The periods, and which comes with the largest
    value, are drawn before anything is computed."""
    key = ("windows", *names)
    periods = tuple(chance.mixed(PERIODS, str, "periods", *key)[:count])
    largest = chance.below(count, "largest", *key)
    for attempt in map(str, range(ATTEMPTS)):
        b = round(-1.2 + 0.1 * chance.below(30, "b", *key, attempt) + 0.03, 2)
        c = round(0.4 + 0.1 * chance.below(18, "c", *key, attempt) + 0.07, 2)
        c = c if chance.share("sign", *key, attempt) < 0.5 else -c
        start = round((b / 2 - 0.9 + 0.1 * chance.below(18, "start", *key, attempt)) / c, 2)
        values = tuple(
            round((chance.pick(seen[n], "m", str(n), *key, attempt) - b * b / 4 + b / 2) / c, 4) for n in periods
        )
        if values.index(max(values)) == largest and all(
            least_period(a, b, c, start) == n for a, n in zip(values, periods, strict=True)
        ):
            return DrawnMap(values, periods, b, c, start)
    return None


def _draft(
    drawn_maps: DrawnMap, key: tuple[str, ...], laid: tuple[str, str], label: bool, extra: Mapping[str, str]
) -> Draft:
    form, question = laid
    return Draft(
        stratum="compute", family="regime_transition", kind=key[0], form=form, question=question, label=label,
        pair="|".join(key), grade=drawn_maps.grade, predicate="LeastPeriod", extra=extra,
    )  # fmt: skip


def _period(chance: Chance, drawn_maps: DrawnMap, key: tuple[str, ...]) -> tuple[Draft, ...]:
    """Each of two periods asked at each of two values."""
    claims = chance.pick(CLAIMS, "claim", *key)
    definition = chance.pick(COUNTED["map"], "counted", *key)
    drafts = []
    for a, own in zip(drawn_maps.values, drawn_maps.periods, strict=True):
        setting = drawn_maps.setting(chance, plain_number(a, 4), *key)
        for n in sorted(drawn_maps.periods):
            claim, asks = (text.format(n=n) for text in claims)
            laid = layout(chance, key, AskedClaim(claim, asks), setting, definition)
            drafts.append(_draft(drawn_maps, key, laid, n == own, {"period": str(n)}))
    return tuple(drafts)


def _transition(chance: Chance, drawn_maps: DrawnMap, key: tuple[str, ...]) -> tuple[Draft, ...]:
    """'Period n at a = v and period m at a = w', and the same with v and w exchanged."""
    claim = chance.pick(CHANGES, "change", *key)
    definition = chance.pick(COUNTED["map"], "counted", *key)
    before, after = (CYCLE.format(n=n) for n in drawn_maps.periods)
    figures = [plain_number(a, 4) for a in drawn_maps.values]
    drafts = []
    for v, w in (figures, figures[::-1]):
        statement = AskedClaim(claim.format(p="a", v=v, w=w, before=before, after=after))
        laid = layout(chance, key, statement, drawn_maps.setting(chance, "a", *key), definition)
        drafts.append(_draft(drawn_maps, key, laid, v == figures[0], {}))
    return tuple(drafts)


def _three(chance: Chance, drawn_maps: DrawnMap, key: tuple[str, ...]) -> tuple[Draft, ...]:
    """'Just one of three values has period n. Is it the second?' of the right one, and of one of the others."""
    order = chance.mixed(range(3), str, "order", *key)
    right, vain = chance.mixed(range(3), str, "asked", *key)[:2]
    figures = [plain_number(drawn_maps.values[n], 4) for n in order]
    period = drawn_maps.periods[order[right]]
    among = chance.pick(AMONG, "among", *key).format(
        p="a", u=figures[0], v=figures[1], w=figures[2], regime=CYCLE.format(n=period)
    )
    setting = f"{drawn_maps.setting(chance, 'a', *key)} {among}"
    claims = chance.pick(ONES, "one", *key)
    definition = chance.pick(COUNTED["map"], "counted", *key)
    drafts = []
    for at in (right, vain):
        claim, asks = (text.format(p="a", x=figures[at], place=PLACES[at]) for text in claims)
        laid = layout(chance, key, AskedClaim(claim, asks), setting, definition)
        drafts.append(_draft(drawn_maps, key, laid, at == right, {"place": PLACES[at]}))
    return tuple(drafts)


def _term(value: float, what: str) -> str:
    return f"{'-' if value < 0 else '+'} {plain_number(abs(value), 2)} {what}"

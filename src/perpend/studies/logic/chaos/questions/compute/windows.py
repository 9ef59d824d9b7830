"""Periods of quadratic maps with drawn coefficients: more of kind `period`, with nothing measured.

Every map x -> a + b x - c x^2 is y -> m - y^2 in other coordinates, with m = a c + b^2 / 4 - b / 2; it has at most one
attractor. The coefficients hide m, so that a period cannot be told from the size of a number.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from perpend.studies.logic.chaos.questions.chance import Chance
from perpend.studies.logic.chaos.questions.compute.period import CLAIMS, COUNTED, KIND
from perpend.studies.logic.chaos.questions.draft import Draft
from perpend.studies.logic.chaos.questions.frames import Statement, layout
from perpend.studies.logic.chaos.questions.settings import plain_number
from perpend.studies.logic.chaos.questions.world import Sources

BUNDLES = 165
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
    found: dict[int, list[float]] = {period: [] for period in PERIODS}
    for place in range(GRID):
        m = 1.25 + 0.74 * place / GRID
        period = least_period(m, 0.0, 1.0, 0.1)
        if period in found:
            found[period].append(m)
    return found


def window_bundles(world: Sources) -> Iterator[tuple[Draft, ...]]:
    """Two values of a and the periods that belong to them: each period is asked at each value."""
    seen = windows()
    for place in map(str, range(BUNDLES)):
        found = _search(world.chance, seen, place)
        if found is not None:
            yield _bundle(world.chance, *found, place)


def _search(
    chance: Chance, seen: Mapping[int, Sequence[float]], place: str
) -> tuple[tuple[float, float], tuple[int, int], tuple[float, float, float]] | None:
    """Two values of a, their periods, and b, c and the start. Which of the values has the longer period is drawn before
    anything is computed."""
    key = (KIND, "windows", place)
    periods = chance.mixed(PERIODS, str, "periods", *key)[:2]
    rising = chance.share("rising", *key) < 0.5
    for attempt in map(str, range(ATTEMPTS)):
        b = round(-1.2 + 0.1 * chance.below(30, "b", *key, attempt) + 0.03, 2)
        c = round(0.4 + 0.1 * chance.below(18, "c", *key, attempt) + 0.07, 2)
        x = (b / 2 + round(-0.9 + 0.1 * chance.below(18, "start", *key, attempt), 1)) / c
        start = round(x, 2)
        values = [round((chance.pick(seen[n], "m", str(n), *key, attempt) - b * b / 4 + b / 2) / c, 4) for n in periods]
        if (values[0] < values[1]) is rising and all(
            least_period(a, b, c, start) == n for a, n in zip(values, periods, strict=True)
        ):
            return (values[0], values[1]), (periods[0], periods[1]), (b, c, start)
    return None


def _bundle(
    chance: Chance, values: tuple[float, float], periods: tuple[int, int], rest: tuple[float, float, float], place: str
) -> tuple[Draft, ...]:
    """Grade: 2, and 3 where one of the periods is above four."""
    key = (KIND, "windows", place)
    b, c, start = rest
    intro = chance.pick(SETTINGS, "setting", *key)
    claim, asks = chance.pick(CLAIMS, "claim", *key)
    definition = chance.pick(COUNTED["map"], "counted", *key)
    drafts = []
    for a, own in zip(values, periods, strict=True):
        text = f"x[n+1] = {plain_number(a, 4)} {_term(b, 'x[n]')} {_term(-c, 'x[n]^2')}"
        setting = intro.format(map=text, start=f"x[0] = {plain_number(start, 2)}")
        for n in sorted(periods):
            form, question = layout(chance, key, Statement(claim.format(n=n), asks.format(n=n)), setting, definition)
            drafts.append(
                Draft(
                    stratum="compute", family="regime_transition", kind=KIND, form=form, question=question,
                    label=n == own, pair="|".join(key), grade=3 if max(periods) > 4 else 2, predicate="LeastPeriod",
                    extra={"period": str(n)},
                )
            )  # fmt: skip
    return tuple(drafts)


def _term(value: float, what: str) -> str:
    return f"{'-' if value < 0 else '+'} {plain_number(abs(value), 2)} {what}"

"""A few steps of a stated map from a stated start: kind `iterate`. Nothing measured is needed."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Context, Decimal, localcontext
from typing import TypeAlias

from perpend.studies.logic.chaos.questions.chance import Chance
from perpend.studies.logic.chaos.questions.draft import Draft
from perpend.studies.logic.chaos.questions.frames import AskedClaim, layout, woven
from perpend.studies.logic.chaos.questions.settings import listed
from perpend.studies.logic.chaos.questions.world import Sources

KIND = "iterate"
BUNDLES = {"narrow": 480, "wide": 70}
"""Bundles of maps of one or two variables, and of four."""
ATTEMPTS = 400
"""Settings that are tried for a bundle before it is given up."""
LAST_STEP = 8
MARGIN = Decimal("0.03")
"""Least distance of an asked value from the threshold, as a share of the map's extent."""
_EXACT = Context(prec=60)
State: TypeAlias = tuple[Decimal, ...]
Step: TypeAlias = Callable[[State, Decimal, Decimal], State]
_ONE = Decimal(1)


@dataclass(frozen=True, slots=True)
class StatedMap:
    """A map as a question writes it, with {a} and perhaps {b}, and as exact arithmetic.

    Ranges are in hundredths: of a, of b, of each coordinate of the start, and of the threshold. All values have two
    decimals, and ranges keep every orbit within `extent`.
    """

    equations: str
    step: Step
    a: tuple[int, int]
    b: tuple[int, int]
    start: tuple[int, int]
    threshold: tuple[int, int]
    extent: Decimal
    variables: tuple[str, ...] = ("x",)


def _two(value: int) -> Decimal:
    return Decimal(value).scaleb(-2)


MAPS: Mapping[str, StatedMap] = {
    "logistic": StatedMap(
        "x[n+1] = {a} x[n] (1 - x[n])", lambda s, a, _b: (a * s[0] * (_ONE - s[0]),),
        (351, 399), (0, 0), (6, 94), (35, 80), Decimal(1),
    ),
    "quadratic": StatedMap(
        "x[n+1] = {a} - x[n]^2", lambda s, a, _b: (a - s[0] * s[0],), (141, 199), (0, 0), (-115, 115), (-60, 110),
        Decimal(3),
    ),
    "unimodal": StatedMap(
        "x[n+1] = 1 - {a} x[n]^2", lambda s, a, _b: (_ONE - a * s[0] * s[0],), (141, 199), (0, 0), (-88, 88),
        (-40, 75), Decimal(2),
    ),
    "tent": StatedMap(
        "x[n+1] = {a} min(x[n], 1 - x[n])", lambda s, a, _b: (a * min(s[0], _ONE - s[0]),), (151, 197), (0, 0),
        (6, 94), (35, 75), Decimal(1),
    ),
    "cubic": StatedMap(
        "x[n+1] = {a} x[n] - x[n]^3", lambda s, a, _b: (a * s[0] - s[0] ** 3,), (241, 293), (0, 0), (-140, 140),
        (-80, 80), Decimal(3),
    ),
    "sawtooth": StatedMap(
        "x[n+1] = {a} x[n] modulo 1", lambda s, a, _b: (a * s[0] % _ONE,), (151, 297), (0, 0), (6, 94), (30, 70),
        Decimal(1),
    ),
    "henon": StatedMap(
        "x[n+1] = 1 - {a} x[n]^2 + y[n], y[n+1] = {b} x[n]",
        lambda s, a, b: (_ONE - a * s[0] * s[0] + s[1], b * s[0]), (101, 139), (11, 29), (-49, 49), (-30, 80),
        Decimal(2), ("x", "y"),
    ),
    "lozi": StatedMap(
        "x[n+1] = 1 - {a} |x[n]| + y[n], y[n+1] = {b} x[n]",
        lambda s, a, b: (_ONE - a * abs(s[0]) + s[1], b * s[0]), (131, 169), (11, 39), (-49, 49), (-30, 75),
        Decimal(2), ("x", "y"),
    ),
    "delayed": StatedMap(
        "x[n+1] = {a} x[n] (1 - y[n]), y[n+1] = x[n]", lambda s, a, _b: (a * s[0] * (_ONE - s[1]), s[0]),
        (181, 217), (0, 0), (11, 79), (30, 75), Decimal(1), ("x", "y"),
    ),
    "delayed_square": StatedMap(
        "p[n+1] = {a} - r[n]^2 - {b} s[n], q[n+1] = p[n], r[n+1] = q[n], s[n+1] = r[n]",
        lambda s, a, b: (a - s[2] * s[2] - b * s[3], s[0], s[1], s[2]), (131, 177), (3, 14), (-79, 79), (-20, 90),
        Decimal(3), ("p", "q", "r", "s"),
    ),
    "ring": StatedMap(
        "p[n+1] = 1 - {a} p[n]^2 + {b} q[n], q[n+1] = 1 - {a} q[n]^2 + {b} r[n], r[n+1] = 1 - {a} r[n]^2 + {b} s[n], "
        "s[n+1] = 1 - {a} s[n]^2 + {b} p[n]",
        lambda s, a, b: tuple(_ONE - a * s[n] * s[n] + b * s[(n + 1) % 4] for n in range(4)), (121, 157), (3, 14),
        (-79, 79), (-20, 80), Decimal(2), ("p", "q", "r", "s"),
    ),
}  # fmt: skip
_CONSIDER = ("consider", "take", "look at", "think of", "we study", "you are given", "let us take")
_MAP = ("map", "recursion", "rule", "iteration", "recurrence")
SETTINGS = (
    *woven("<Iterate> {equations} <starting> {start}.", iterate=(
        "iterate", "one iterates", "a student iterates", "we iterate", "somebody iterates", "a short program iterates",
        "a pocket calculator is used to iterate", "a spreadsheet is used to iterate"),
        starting=("from", "starting from", "beginning with", "with the start")),
    *woven("<Consider> the <map> {equations} with {start}.", consider=_CONSIDER, map=_MAP),
    *woven("<Consider> the <map> {equations}, started at {start}.", consider=_CONSIDER, map=_MAP),
    *woven("Take {start} and apply the <map> {equations} <often>.", map=("map", "rule", "recursion"),
           often=("again and again", "several times", "a few times")),
    *woven("A <sequence> <obeys> {equations} and <begins> {start}.", sequence=("sequence", "quantity", "model"),
           obeys=("obeys", "follows", "is given by", "satisfies"),
           begins=("begins with", "starts with", "starts from")),
    *woven("Let {start} and <let> {equations}.", let=("let", "apply", "suppose that")),
    *woven("The <map> {equations} is started at {start}.", map=_MAP),
    *woven("Start the <map> {equations} at {start}.", map=_MAP),
    *woven("Given are {start} and the <map> {equations}.", map=_MAP),
    *woven("For the <map> {equations} the <start> is {start}.", map=_MAP,
           start=("start", "initial value", "starting point")),
    *woven("One computes the iterates of {equations} <how>, beginning with {start}.", how=(
        "by hand", "on paper", "with a calculator", "step by step", "to many digits")),
    *woven("With {start}, <follow> the <orbit> of {equations}.", follow=("follow", "work out", "compute"),
           orbit=("orbit", "iterates", "first steps")),
    *woven("The <start> is {start}, and the <map> is {equations}.", map=_MAP, start=("start", "initial value")),
    *woven("The <map> reads {equations}. <Begin> {start}.", map=_MAP, begin=(
        "begin with", "start from", "the start is", "the initial value is", "take as start")),
)  # fmt: skip
_SIDES = (
    ("greater than", "less than"), ("larger than", "smaller than"), ("above", "below"),
)  # fmt: skip
_WITH_IS: tuple[tuple[str, str], ...] = (
    ("{x}[{k}] is <side> {c}", "is {x}[{k}] <side> {c}"),
    ("the value of {x} after {k} iterations is <side> {c}", "is the value of {x} after {k} iterations <side> {c}"),
    ("the value of {x} after {k} steps is <side> {c}", "is the value of {x} after {k} steps <side> {c}"),
    ("the iterate {x}[{k}] is <side> {c}", "is the iterate {x}[{k}] <side> {c}"),
    ("the value {x}[{k}] comes out <side> {c}", "does the value {x}[{k}] come out <side> {c}"),
    ("the number {x}[{k}] turns out <side> {c}", "does the number {x}[{k}] turn out <side> {c}"),
    ("after {k} steps {x} is <side> {c}", ""),
    ("after {k} iterations {x} is <side> {c}", ""),
    ("after {k} steps one has a value of {x} <side> {c}", ""),
    ("the orbit has, after {k} steps, a value of {x} <side> {c}", ""),
)
_WITHOUT: tuple[tuple[tuple[str, str], tuple[str, str]], ...] = (
    (("{x}[{k}] lies above {c}", "does {x}[{k}] lie above {c}"),
     ("{x}[{k}] lies below {c}", "does {x}[{k}] lie below {c}")),
    (("{x}[{k}] exceeds {c}", "does {x}[{k}] exceed {c}"),
     ("{x}[{k}] stays under {c}", "does {x}[{k}] stay under {c}")),
    (("{x}[{k}] > {c}", ""), ("{x}[{k}] < {c}", "")),
    (("one gets {x}[{k}] > {c}", "does one get {x}[{k}] > {c}"),
     ("one gets {x}[{k}] < {c}", "does one get {x}[{k}] < {c}")),
    (("the inequality {x}[{k}] > {c} holds", "does the inequality {x}[{k}] > {c} hold"),
     ("the inequality {x}[{k}] < {c} holds", "does the inequality {x}[{k}] < {c} hold")),
)  # fmt: skip
CLAIMS: tuple[tuple[str, str, bool], ...] = tuple(
    (claim.replace("<side>", side), asks.replace("<side>", side), place == 0)
    for place in range(2)
    for sides in _SIDES
    for side in sides[place : place + 1]
    for claim, asks in _WITH_IS
) + tuple((*both[place], place == 0) for place in range(2) for both in _WITHOUT)
"""Claims about a step and a threshold, their questions ('' for none), and whether they say 'above'."""


@dataclass(frozen=True, slots=True)
class Steps:
    """Two starts and two steps of one map: the first start is above the threshold at the first step and below it at the
    second, the second start the other way round."""

    chosen: str
    a: Decimal
    b: Decimal
    starts: tuple[State, State]
    steps: tuple[int, int]
    threshold: Decimal


def iterate_bundles(world: Sources) -> Iterator[tuple[Draft, ...]]:
    """Four questions each: two starts by two steps, so that a start, a step, a threshold and a side are right as often
    as wrong."""
    for size, count in BUNDLES.items():
        for place in range(count):
            name = f"{size} {place}"
            steps = crossing(world.chance, name, wide=size == "wide")
            if steps is not None:
                yield _bundle(world.chance, steps, name)


def orbit(chosen: StatedMap, start: State, a: Decimal, b: Decimal) -> list[State]:
    """The start and LAST_STEP iterates, to sixty digits."""
    states = [start]
    with localcontext(_EXACT):
        for _ in range(LAST_STEP):
            states.append(chosen.step(states[-1], a, b))
    return states


def crossing(chance: Chance, place: str, *, wide: bool = False) -> Steps | None:
    """The first setting of a bundle in which both starts cross over; None where ATTEMPTS have none.

    The steps, the threshold and which of the starts is the larger are drawn before anything is computed.
    """
    key = (KIND, place)
    name = chance.pick(sorted(n for n in MAPS if (len(MAPS[n].variables) > 2) is wide), "map", *key)
    chosen = MAPS[name]
    first = 2 + chance.below(5, "first", *key)
    second = first + 1 + chance.below(min(3, LAST_STEP - first), "second", *key)
    threshold = _two(_between(chance, chosen.threshold, "threshold", *key))
    rising = chance.share("rising", *key) < 0.5
    swapped = chance.share("swapped", *key) < 0.5
    for attempt in map(str, range(ATTEMPTS)):
        a = _two(_between(chance, chosen.a, "a", *key, attempt))
        b = _two(_between(chance, chosen.b, "b", *key, attempt))
        one, other = sorted(
            (_start(chance, chosen, *key, attempt, turn) for turn in ("one", "other")), reverse=not rising
        )
        steps = (second, first) if swapped else (first, second)
        drawn_steps = Steps(name, a, b, (one, other), steps, threshold)
        if _crosses(chosen, drawn_steps):
            return drawn_steps
    return None


def _between(chance: Chance, bounds: tuple[int, int], *key: str) -> int:
    """A whole number within bounds whose last digit is not zero, so that all values have two decimals."""
    drawn = bounds[0] + chance.below(bounds[1] - bounds[0] + 1, *key)
    return drawn if drawn % 10 or bounds[0] == bounds[1] else drawn + 1


def _start(chance: Chance, chosen: StatedMap, *key: str) -> State:
    return tuple(_two(_between(chance, chosen.start, "start", variable, *key)) for variable in chosen.variables)


def _crosses(chosen: StatedMap, drawn_steps: Steps) -> bool:
    margin = MARGIN * chosen.extent
    for start, above in zip(drawn_steps.starts, (True, False), strict=True):
        states = orbit(chosen, start, drawn_steps.a, drawn_steps.b)
        for step, sign in zip(drawn_steps.steps, (above, not above), strict=True):
            apart = states[step][0] - drawn_steps.threshold
            if (apart if sign else -apart) < margin:
                return False
    return True


def _bundle(chance: Chance, drawn_steps: Steps, place: str) -> tuple[Draft, ...]:
    key = (KIND, place)
    chosen = MAPS[drawn_steps.chosen]
    equations = chosen.equations.format(a=drawn_steps.a, b=drawn_steps.b)
    family = "extended_systems" if len(chosen.variables) > 3 else "atomic"
    drafts = []
    for start, at_first in zip(drawn_steps.starts, (True, False), strict=True):
        for step, is_above in zip(drawn_steps.steps, (at_first, not at_first), strict=True):
            # Both starts are asked about one step in the same words.
            own = (*key, str(step))
            intro = chance.pick(SETTINGS, "setting", *own)
            claim, asks, above = chance.pick(CLAIMS, "claim", *own)
            setting = intro.format(equations=equations, start=start_text(chosen.variables, start))
            words = {"x": chosen.variables[0], "k": str(step), "c": str(drawn_steps.threshold)}
            statement = AskedClaim(claim.format(**words), asks.format(**words))
            form, text = layout(chance, own, statement, setting)
            drafts.append(
                Draft(
                    stratum="compute", family=family, kind=KIND, form=form, question=text,
                    label=is_above is above, pair="|".join(key), grade=grade_of(step, len(chosen.variables)),
                    predicate="IterateAbove", polarity=above,
                )
            )  # fmt: skip
    return tuple(drafts)


def start_text(variables: Sequence[str], start: State) -> str:
    """'x[0] = 0.31', 'x[0] = 0.31 and y[0] = -0.12'."""
    return listed([f"{name}[0] = {value}" for name, value in zip(variables, start, strict=True)])


def grade_of(step: int, variables: int) -> int:
    """Half the number of steps, rounded up, and one more for each variable beyond the first; 1 to 5."""
    return min(5, (step + 1) // 2 + variables - 1)

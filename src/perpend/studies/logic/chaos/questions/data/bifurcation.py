"""Reading a list of regimes, of events, or of exponents along a parameter."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from itertools import pairwise

from perpend.studies.logic.chaos.questions.data.sheet import COUNTS, Dice, Square, ordinal, shown, squared

Ask = Callable[[Dice], Square | None]

REGIMES = ("a steady state", "period 2", "period 4", "chaos", "period 3", "a torus", "period 6", "period 1")
INTERVALS = (
    "The regimes along a scan are as follows: {}.",
    "A bifurcation diagram was read off like this: {}.",
    "Regimes by interval: {}.",
    "According to the survey, the intervals are these: {}.",
    "The scan was divided into intervals: {}.",
    "In the caption the regimes are listed: {}.",
)
INTERVAL_STYLES = (
    "from {a} to {b}, {g}", "{g} for {p} between {a} and {b}", "{p} from {a} to {b}: {g}", "{a} to {b}: {g}",
)  # fmt: skip
EVENTS = (
    "As {p} grows, the following happens: {}.",
    "Events in the order of growing {p}: {}.",
    "A scan upwards in {p} met these events: {}.",
    "The log of an upward scan in {p} has these entries: {}.",
    "With {p} turned up slowly, this is seen: {}.",
)
EXPONENTS = (
    "The largest Lyapunov exponent was computed along a scan: {}.",
    "Largest exponent against the parameter: {}.",
    "A scan of the largest exponent, row by row: {}.",
    "The largest exponent takes these values: {}.",
    "From a table of the largest exponent: {}.",
)
PARAMETERS = "bcrpqks"


def regime_at(dice: Dice) -> Square | None:
    """The regime at one value."""
    name, cuts, regimes, other = _regimes(dice)
    row = dice.below(len(regimes))
    value = _inside(dice, cuts, row)
    answers = [regimes[row], other[row]]
    say = dice.pick((f"the regime at {name} = {value}|is|{{}}", f"{name} = {value}|belongs|to an interval with {{}}"))
    claims = {regime: say.format(regime) for regime in answers}
    return squared("regime_at", _interval_texts(dice, name, cuts, (regimes, other)), "", claims, answers, (3, 2))


def windows(dice: Dice) -> Square | None:
    """Whether a periodic window lies between two values."""
    name, cuts, regimes, other = _regimes(dice, ("chaos", "period 3", "chaos", "period 6", "period 5", "a torus"))
    low, high = sorted(dice.apart(2, 0, len(regimes) - 1, 3))
    bounds = (_inside(dice, cuts, low), _inside(dice, cuts, high))

    def inside(row: Sequence[str]) -> bool:
        return any(
            row[place].startswith("period") and row[place - 1] == row[place + 1] == "chaos"
            for place in range(low + 1, high)
        )

    answers = [inside(regimes), inside(other)]
    span = f"between {name} = {bounds[0]} and {name} = {bounds[1]}"
    rule = dice.pick(
        (
            "A periodic window is an interval with a stated period that has chaos on both sides of it.",
            "Here a periodic window means a periodic interval whose two neighbours are both chaotic.",
        )
    )
    claims = {
        True: f"there|is|a periodic window that lies wholly {span}",
        False: f"there|is|no periodic window that lies wholly {span}",
    }
    texts = _interval_texts(dice, name, cuts, (regimes, other))
    return squared("windows", texts, rule, claims, answers, (high - low + 3, 3))


def chaos_share(dice: Dice) -> Square | None:
    """Whether chaos takes up more or less than a share of the whole range."""
    name, cuts, regimes, other = _regimes(dice, ("chaos", "period 3", "chaos", "period 6", "period 2", "a torus"))
    part, words = dice.pick(((2, "half"), (3, "a third")))
    shares = []
    for row in (regimes, other):
        total = sum(b - a for a, b, regime in zip(cuts, cuts[1:], row, strict=False) if regime == "chaos")
        shares.append(part * total - (cuts[-1] - cuts[0]))
    if min(map(abs, shares)) < 10:
        return None
    answers = ["more" if share > 0 else "less" for share in shares]
    claims = {
        word: f"the chaotic intervals together|take|up {word} than {words} of the listed range" for word in answers
    }
    texts = _interval_texts(dice, name, cuts, (regimes, other))
    return squared("chaos_share", texts, "", claims, answers, (len(regimes) + 4, 4))


def before_chaos(dice: Dice) -> Square | None:
    """The route by the regime right before the first chaos."""
    name, cuts, regimes, other = _regimes(dice)
    if "chaos" not in regimes[1:] or "chaos" not in other[1:]:
        return None

    def route(row: Sequence[str]) -> str:
        last = row[row.index("chaos") - 1]
        if last == "a torus":
            return "by way of a torus"
        return "direct" if last in ("a steady state", "period 1") else "by way of cycles"

    answers = [route(regimes), route(other)]
    rule = dice.pick(
        (
            (
                "The route to chaos is named after the regime just below the first interval of chaos: by way of a"
                " torus if it"
                " is a torus, direct if it is a steady state or period 1, and by way of cycles if the period is larger."
            ),
            (
                "Look at the interval just below the first chaotic one: a torus makes the route one by way of a"
                " torus, a steady"
                " state or period 1 makes it direct, and any longer period makes it one by way of cycles."
            ),
        )
    )
    claims = {route_name: f"the route to chaos|is|{route_name} in this sense" for route_name in answers}
    texts = _interval_texts(dice, name, cuts, (regimes, other))
    return squared("before_chaos", texts, rule, claims, answers, (len(regimes), 3))


def doublings(dice: Dice) -> Square | None:
    """How many events of one sort come before or after the onset of chaos."""
    sort, many = dice.pick((("a period doubling", "period doublings"), ("a crisis", "crises")))
    others = ["a crisis", "a saddle-node bifurcation", "a period doubling", "a Hopf bifurcation"]
    events = ["the onset of chaos", sort, sort, sort, *(dice.pick(others) for _ in range(dice.between(2, 4)))]
    events, other = dice.mixed(events), dice.mixed(events)
    side = dice.pick(("before", "after"))
    answers = []
    for row in (events, other):
        onset = row.index("the onset of chaos")
        answers.append((row[:onset] if side == "before" else row[onset:]).count(sort))
    say = dice.pick(
        (
            f"exactly {{}} {many}|come|{side} the onset of chaos",
            f"there|are|exactly {{}} {many} {side} the onset of chaos",
        )
    )
    claims = {count: say.format(COUNTS[count]) for count in answers if count > 1}
    texts = _event_texts(dice, dice.pick(PARAMETERS), (events, other))
    return squared("doublings", texts, "", claims, answers, (len(events), 3))


def period_after(dice: Dice) -> Square | None:
    """The period at a value after doublings and halvings."""
    count, start = dice.between(5, 7), dice.pick((4, 8, 12))
    sorts = ("a period doubling", "a period halving")
    events = dice.mixed([*sorts, *(dice.pick(sorts) for _ in range(count - 2))])
    other = dice.mixed(events)
    name, at = dice.pick(PARAMETERS), _cuts(dice, count)
    row = dice.between(1, count - 2)
    answers = []
    for entries in (events, other):
        ups = sum(1 if event == "a period doubling" else -1 for event in entries[: row + 1])
        answers.append(Fraction(start) * Fraction(2) ** ups)
    if any(value.denominator > 1 for value in answers):
        return None
    value = _inside(dice, at, row)
    rule = dice.pick(
        (
            (
                f"Before the first event the period is {start}; a doubling multiplies it by two and a halving divides"
                " it by"
                " two."
            ),
            (
                f"The cycle starts with period {start}, each doubling makes the period twice as long, and each"
                " halving makes it"
                " half as long."
            ),
        )
    )
    claims = {period: f"the period at {name} = {value}|equals|{period}" for period in answers}
    texts = _event_texts(dice, name, (events, other), at)
    return squared("period_after", texts, rule, claims, answers, (row + 3, 4))


def ratio(dice: Dice) -> Square | None:
    """The ratio of two successive gaps between doublings against a number."""
    name, which = dice.pick(PARAMETERS), dice.pick((1, 2))
    start = dice.between(1000, 3400)
    total = dice.between(500, 900)
    sets, ratios = [], []
    for _ in range(2):
        third = dice.between(12, 40)
        second = third * dice.between(25, 65) // 10
        gaps = (total - second - third, second, third)
        sets.append([start, start + gaps[0], start + gaps[0] + gaps[1], start + total])
        ratios.append(Fraction(gaps[which - 1], gaps[which]))
    low, high = sorted(ratios)
    level = Fraction(dice.between(int(low * 10) + 2, max(int(low * 10) + 2, int(high * 10) - 1)), 10)
    if high - level < Fraction(1, 5):
        return None
    answers = ["above" if value > level else "below" for value in ratios]
    rule = dice.pick(
        (
            (
                "A ratio is the gap between two successive doublings divided by the gap that follows it; the ratios are"
                " numbered from the left."
            ),
            (
                "Divide each gap between neighbouring doublings by the next gap to get the first ratio, the second"
                " ratio and so"
                " on."
            ),
        )
    )
    setting = dice.pick(
        (
            "Period doublings were found at {p} = {}.",
            "The doublings of a cycle happen at {p} = {}.",
            "In a cascade the period doubles at {p} = {}.",
            "Successive doubling points are {p} = {}.",
        )
    )
    texts = [setting.format(", ".join(shown(value, 3) for value in values), p=name) for values in sets]
    claims = {side: f"the {ordinal(which)} ratio|is|{side} {shown(int(level * 10), 1)}" for side in ("above", "below")}
    return squared("ratio", texts, rule, claims, answers, (4, 4))


def hysteresis(dice: Dice) -> Square | None:
    """At how many listed values two scans differ."""
    count, step = dice.between(6, 8), dice.pick((5, 10, 20))
    start, name = dice.between(20, 300), dice.pick(PARAMETERS)
    at = ", ".join(shown(start + step * row, 2) for row in range(count))
    pool = dice.mixed(("cycle", "chaos", "torus", "rest"))[: dice.pick((2, 3))]
    up = [dice.pick(pool) for _ in range(count)]
    downs = [dice.mixed(up), dice.mixed(up)]
    answers = [sum(a != b for a, b in zip(up, down, strict=True)) for down in downs]
    setting = dice.pick(
        (
            "At {p} = {} an upward scan saw {} in this order; a downward scan, listed at the same values, saw {}.",
            "For {p} = {} the states were {} on the way up and, in the same order of values, {} on the way down.",
            (
                "The values {p} = {} were visited twice: upwards with the states {}, downwards (same order of values)"
                " with {}."
            ),
        )
    )
    texts = [setting.format(at, ", ".join(up), ", ".join(down), p=name) for down in downs]
    say = dice.pick(
        (
            "the two scans|differ|at exactly {} of the listed values",
            "the two scans|show|different states at exactly {} of the listed values",
        )
    )
    claims = {number: say.format(COUNTS[number]) for number in range(2, 9)}
    return squared("hysteresis", texts, "", claims, answers, (2 * count, 3))


def sign_changes(dice: Dice) -> Square | None:
    """How often the exponent changes sign along the scan."""
    name, at, values = _exponents(dice)
    other = dice.mixed(values)
    answers = [sum((a > 0) != (b > 0) for a, b in pairwise(row)) for row in (values, other)]
    say = dice.pick(
        ("the exponent|changes|sign exactly {} times along the scan", "exactly {} sign changes|occur|along the scan")
    )
    claims = {count: say.format(COUNTS[count]) for count in range(2, 9)}
    texts = _exponent_texts(dice, name, at, (values, other))
    return squared("sign_changes", texts, "", claims, answers, (len(values), 2))


def first_crossing(dice: Dice) -> Square | None:
    """Between which values the exponent first goes from negative to positive, or back."""
    name, at, values = _exponents(dice)
    other = dice.mixed(values)
    up = dice.coin()
    rows = [
        [place for place, (a, b) in enumerate(pairwise(row)) if (a < 0 < b if up else b < 0 < a)]
        for row in (values, other)
    ]
    if not all(rows):
        return None
    last = dice.coin()
    answers = [places[-1 if last else 0] for places in rows]
    words = "from negative to positive" if up else "from positive to negative"
    end = "last" if last else "first"
    claims = {
        row: f"the {end} change {words}|lies|between {name} = {shown(at[row], 2)} and {name} = {shown(at[row + 1], 2)}"
        for row in answers
    }
    texts = _exponent_texts(dice, name, at, (values, other))
    return squared("first_crossing", texts, "", claims, answers, (len(values), 3))


def zero_between(dice: Dice) -> Square | None:
    """Where straight lines between the rows put the zero of the exponent."""
    name, at, values = _exponents(dice)
    spot = dice.between(1, len(values) - 2)
    values = [-abs(value) if row < spot else abs(value) for row, value in enumerate(values)]
    other = list(values)
    other[spot - 1], other[spot] = -values[spot], -values[spot - 1]
    width = at[spot] - at[spot - 1]
    level = 10 * at[spot - 1] + dice.between(3 * width, 7 * width)
    sides = []
    for row in (values, other):
        zero = 10 * at[spot - 1] + Fraction(-10 * row[spot - 1] * width, row[spot] - row[spot - 1])
        sides.append(zero - level)
    if min(abs(side) for side in sides) < 5:
        return None
    answers = ["above" if side > 0 else "below" for side in sides]
    rule = dice.pick(
        (
            (
                "The zero of the exponent is placed by drawing a straight line between the two rows where its sign"
                " changes."
            ),
            "Linear interpolation between the two rows with different signs gives the zero of the exponent.",
        )
    )
    claims = {side: f"the zero found in this way|lies|{side} {name} = {shown(level, 3)}" for side in ("above", "below")}
    texts = _exponent_texts(dice, name, at, (values, other))
    return squared("zero_between", texts, rule, claims, answers, (len(values) + 1, 4))


ASKS: tuple[Ask, ...] = (
    regime_at, windows, chaos_share, before_chaos, doublings, period_after, ratio, hysteresis, sign_changes,
    first_crossing, zero_between,
)  # fmt: skip


def _cuts(dice: Dice, count: int) -> list[int]:
    """Rising parameter values in hundredths."""
    return sorted(dice.apart(count, 30, 30 + 60 * count, 12))


def _regimes(dice: Dice, pool: Sequence[str] = REGIMES) -> tuple[str, list[int], list[str], list[str]]:
    """A parameter, the ends of its intervals, and two orders of the same regimes, no two neighbours alike."""
    count = dice.between(5, min(7, len(pool)))
    regimes = dice.mixed(pool)[:count]
    other = dice.mixed(regimes)
    while any(a == b for row in (regimes, other) for a, b in pairwise(row)):
        regimes, other = dice.mixed(regimes), dice.mixed(regimes)
    return dice.pick(PARAMETERS), _cuts(dice, count + 1), regimes, other


def _inside(dice: Dice, cuts: Sequence[int], row: int) -> str:
    """A value well inside an interval."""
    return shown(dice.between(cuts[row] + 3, cuts[row + 1] - 3), 2)


def _interval_texts(dice: Dice, name: str, cuts: Sequence[int], rows: Sequence[Sequence[str]]) -> list[str]:
    setting, style = dice.pick(INTERVALS), dice.pick(INTERVAL_STYLES)
    texts = []
    for row in rows:
        ends = [shown(cut, 2) for cut in cuts]
        parts = [style.format(a=a, b=b, g=regime, p=name) for a, b, regime in zip(ends, ends[1:], row, strict=False)]
        texts.append(setting.format("; ".join(parts)))
    return texts


def _event_texts(dice: Dice, name: str, rows: Sequence[Sequence[str]], at: Sequence[int] | None = None) -> list[str]:
    setting, style = dice.pick(EVENTS), dice.pick(("{e} at {x}", "at {x} {e}"))
    places = [shown(value, 2) for value in at or _cuts(dice, len(rows[0]))]
    return [
        setting.format("; ".join(style.format(e=e, x=x) for e, x in zip(row, places, strict=True)), p=name)
        for row in rows
    ]


def _exponents(dice: Dice) -> tuple[str, list[int], list[int]]:
    """A parameter, its values in hundredths, and exponents in thousandths, three or more of each sign."""
    count, start, step = dice.between(6, 8), dice.between(20, 380), dice.pick((4, 5, 10, 20))
    sizes = dice.apart(count, 12, 480, 12)
    signs = dice.mixed([1, 1, 1, -1, -1, -1, *(dice.pick((1, -1)) for _ in range(count - 6))])
    values = [sign * size for sign, size in zip(signs, sizes, strict=True)]
    return dice.pick(PARAMETERS), [start + step * row for row in range(count)], values


def _exponent_texts(dice: Dice, name: str, at: Sequence[int], rows: Sequence[Sequence[int]]) -> list[str]:
    setting, style = dice.pick(EXPONENTS), dice.pick(("{v} at {p} = {x}", "{p} = {x}: {v}", "{p} = {x} gives {v}"))
    return [
        setting.format(
            "; ".join(style.format(p=name, x=shown(x, 2), v=shown(v, 3)) for x, v in zip(at, row, strict=True))
        )
        for row in rows
    ]

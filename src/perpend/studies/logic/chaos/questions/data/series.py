"""Reading a short series: ordinal patterns, twin distances, finite-time slopes, medians, recurrences."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise

from perpend.studies.logic.chaos.questions.data.openings import LOGS, MEGNO, PEAKS, SERIES, SIGNED, TWINS, VALUES_OF_K
from perpend.studies.logic.chaos.questions.data.sheet import COUNTS, Dice, Square, listed, shown, squared

Ask = Callable[[Dice], Square | None]


def patterns(dice: Dice) -> Square | None:
    """The number of different orders among three neighbours."""
    data, decimals = _orders(dice, 7, 10)
    answers = [len({_order(values[place : place + 3]) for place in range(len(values) - 2)}) for values in data]
    rule = dice.pick(
        (
            (
                "The ordinal pattern of three neighbouring values says which of them is the smallest, the middle and"
                " the"
                " largest; all triples of neighbours are read, overlapping ones too."
            ),
            (
                "For ordinal patterns of order three, every three values in a row are replaced by their ranks 1 to"
                " 3, moving on"
                " by one place each time."
            ),
            "Three values in a row form an ordinal pattern, which is their order by size; triples may overlap.",
            "An ordinal pattern is the order by size of three neighbours, and every triple of neighbours counts.",
            "Slide a window of three values along the series; the order by size in each window is its ordinal pattern.",
        )
    )
    say = dice.pick(
        (
            "exactly {} different ordinal patterns|occur|in the series",
            "the series|shows|exactly {} different ordinal patterns",
        )
    )
    claims = {count: say.format(COUNTS[count]) for count in range(2, 7)}
    return squared("patterns", _texts(dice, SERIES, data, decimals), rule, claims, answers, (len(data[0]), 4))


def rises(dice: Dice) -> Square | None:
    """Whether rises or falls are more frequent."""
    data, decimals = _orders(dice, 9, 13)
    counts = [sum(b > a for a, b in pairwise(values)) - (len(values) - 1) / 2 for values in data]
    # Whether the last value lies above the first is no clue: in half of the squares it goes the other way.
    if counts[0] * counts[1] >= 0 or not dice.fair(ends=(data[0][-1] > data[0][0]) == (counts[0] > 0)):
        return None
    if (data[1][-1] > data[1][0]) == (data[0][-1] > data[0][0]):
        return None
    answers = ["rises" if count > 0 else "falls" for count in counts]
    rule = dice.pick(
        (
            "For ordinal patterns of order two, a step up counts as a rise and a step down as a fall.",
            "Each step to the next value is a rise or a fall.",
            "A value that is larger than the one before marks a rise, a smaller one a fall.",
            "Between two neighbours there is a rise if the second is larger, and a fall if it is smaller.",
        )
    )
    claims = {"rises": "rises|outnumber|falls in the series", "falls": "falls|outnumber|rises in the series"}
    return squared("rises", _texts(dice, SERIES, data, decimals), rule, claims, answers, (len(data[0]), 3))


def pattern_present(dice: Dice) -> Square | None:
    """Whether a run of values with a given shape occurs."""
    size = dice.pick((3, 4))
    down = dice.coin()
    data, decimals = _orders(dice, 8, 12)

    def runs(values: Sequence[int]) -> bool:
        steps = [(b < a) == down for a, b in pairwise(values)]
        return any(all(steps[place : place + size - 1]) for place in range(len(steps) - size + 2))

    answers = [runs(values) for values in data]
    shape = "falling" if down else "rising"
    side, number = "smaller" if down else "larger", COUNTS[size]
    rule = dice.pick(
        (
            f"A {shape} run of {number} means {number} values in a row, each {side} than the one before.",
            f"By a {shape} run of {number} we mean {number} successive values of which each is {side} than the last.",
            f"If {number} values in a row keep {shape}, they are called a {shape} run of {number}.",
            f"A {shape} run of {number} is made of {number} neighbouring values, each {side} than its predecessor.",
        )
    )
    claims = {
        True: f"the series|contains|a {shape} run of {number}",
        False: f"the series|is|free of {shape} runs of {number}",
    }
    return squared("pattern_present", _texts(dice, SERIES, data, decimals), rule, claims, answers, (len(data[0]), 3))


def first_beyond(dice: Dice) -> Square | None:
    """The first time at which the twin distance is beyond a level."""
    times, sizes, other, decimals = _twins(dice)
    level = dice.between(min(sizes) + 5, max(sizes) - 5)
    if min(abs(size - level) for size in sizes) < 3:
        return None
    answers = [
        next(time for time, size in zip(times, values, strict=True) if size > level) for values in (sizes, other)
    ]
    bound = shown(level, decimals)
    say = dice.pick(
        (
            f"the distance first|exceeds|{bound} at t = {{}}",
            f"t = {{}}|is|the first listed time with a distance above {bound}",
        )
    )
    claims = {time: say.format(time) for time in answers}
    data = _timed(dice, TWINS, times, (sizes, other), decimals)
    return squared("first_beyond", data, "", claims, answers, (len(times) + 1, 2))


def growth_factor(dice: Dice) -> Square | None:
    """The factor between two listed times against a number."""
    times, sizes, other, decimals = _twins(dice)
    early, late = sorted(dice.apart(2, 0, len(times) - 1, 2))
    factor = dice.between(2, 9)
    rests = [values[late] - factor * values[early] for values in (sizes, other)]
    if min(map(abs, rests)) < 10 or min(sizes) < 10:
        return None
    answers = ["more" if rest > 0 else "less" for rest in rests]
    span = f"between t = {times[early]} and t = {times[late]}"
    say = dice.pick(("the distance|grows|by a factor of {} than {} {}", "the factor of growth {2}|is|{0} than {1}"))
    claims = {word: say.format(word, factor, span) for word in ("more", "less")}
    rule = dice.pick(
        (
            "A factor of growth is the later distance divided by the earlier one.",
            "By a factor of growth we mean the later distance over the earlier one.",
            "Growth factors compare two distances: the later is divided by the earlier.",
            "To get a factor of growth, divide the later distance by the earlier one.",
        )
    )
    data = _timed(dice, TWINS, times, (sizes, other), decimals)
    return squared("growth_factor", data, rule, claims, answers, (3, 3))


def megno_slope(dice: Dice) -> Square | None:
    """The mean slope of MEGNO between two times against a stated limit."""
    step, count, decimals = dice.pick((10, 20, 50)), dice.between(5, 8), dice.pick((1, 2))
    times = [step * (place + 1) for place in range(count)]
    values = dice.apart(count, 150, 900, 15)
    other = dice.mixed(values)
    early, late = sorted(dice.apart(2, 0, count - 1, 2))
    unit = 10 ** (3 - decimals)
    limit = dice.between(1, 60)
    span = times[late] - times[early]
    # In thousandths: slope = (difference of values) / (difference of times).
    rests = [(entries[late] - entries[early]) * unit - limit * span for entries in (values, other)]
    if min(map(abs, rests)) < 10 * unit:
        return None
    answers = ["chaotic" if rest > 0 else "regular" for rest in rests]
    rule = dice.pick(
        (
            (
                f"The slope is the change of MEGNO from t = {times[early]} to t = {times[late]} divided by the time"
                " between;"
                f" a slope above {shown(limit, 3)} is read as chaotic, a lower one as regular."
            ),
            (
                f"Divide the change of MEGNO from t = {times[early]} to t = {times[late]} by the elapsed time: above"
                f" {shown(limit, 3)} the orbit is called chaotic, below it regular."
            ),
        )
    )
    claims = {word: f"the orbit|is|{word} by this criterion" for word in ("chaotic", "regular")}
    data = _timed(dice, MEGNO, times, (values, other), decimals)
    return squared("megno_slope", data, rule, claims, answers, (5, 4))


def median_k(dice: Dice) -> Square | None:
    """Which of two runs is chaotic by the median of K."""
    count, decimals = dice.pick((3, 5)), dice.pick((2, 3))
    unit = 10**decimals
    values = dice.apart(2 * count, unit // 50, unit - unit // 50, 2)
    first, second = values[:count], values[count:]
    limit = dice.pick((50, 60, 70, 80)) * unit // 100
    middles = [sorted(entries)[count // 2] for entries in (first, second)]
    if (middles[0] > limit) == (middles[1] > limit) or min(abs(middle - limit) for middle in middles) < 2:
        return None
    # The run with the larger mean is the chaotic one in half of the squares only.
    if not dice.fair(mean=(sum(first) > sum(second)) == (middles[0] > middles[1])):
        return None
    answers = ["A", "B"] if middles[0] > limit else ["B", "A"]
    rule = (
        f"A run is called chaotic if the median of its K values is above {shown(limit, decimals)}, and regular if it is"
        " below."
    )
    word = dice.pick(("chaotic", "regular"))
    claims = {
        name: f"run {name if word == 'chaotic' else other}|is|{word} by this rule"
        for name, other in (("A", "B"), ("B", "A"))
    }
    setting = dice.pick(VALUES_OF_K)
    texts = [listed(first, decimals), listed(second, decimals)]
    data = [setting.format(*texts), setting.format(*reversed(texts))]
    return squared("median_k", data, rule, claims, answers, (count + 1, 3))


def settled(dice: Dice) -> Square | None:
    """Whether the range of the first or last entries is below a bound."""
    decimals, part, last = dice.pick((1, 2)), dice.pick((4, 5)), dice.coin()
    centre = dice.between(300, 700)
    close = [centre + value for value in dice.apart(part + 1, -20, 20, 3)]
    wide = [centre + value for value in dice.apart(4, -200, 200, 60) if abs(value) > 45]
    bound = dice.between(55, 60)
    data = []
    busy = [*close[: part - 1], *wide[:1]]
    for inner, outer in ((close[:part], close[part:] + wide), (busy, close[part - 1 :] + wide[1:])):
        parts = [dice.mixed(outer), dice.mixed(inner)]
        data.append([value for part_values in (parts if last else parts[::-1]) for value in part_values])
    if dice.coin():
        data.reverse()
    kept = [values[-part:] if last else values[:part] for values in data]
    ranges = [max(values) - min(values) for values in kept]
    if min(abs(size - bound) for size in ranges) < 3:
        return None
    answers = ["below" if size < bound else "above" for size in ranges]
    rule = dice.pick(
        (
            "The range of some values is the largest of them minus the smallest.",
            "By the range of several values we mean the difference between the largest and the smallest.",
            "The range is found by subtracting the smallest value from the largest.",
            "As the range of a group of values, take its maximum minus its minimum.",
        )
    )
    span = f"the range of the {'last' if last else 'first'} {COUNTS[part]} values"
    claims = {side: f"{span}|is|{side} {shown(bound, decimals)}" for side in ("above", "below")}
    return squared("settled", _texts(dice, SERIES, data, decimals), rule, claims, answers, (part + 1, 3))


def mean_log(dice: Dice) -> Square | None:
    """Which of two orbits has the larger mean of logarithms after some have been left out."""
    decimals, drop, count = 2, dice.between(1, 3), dice.between(6, 8)
    sizes = dice.apart(2 * count, 12, 160, 3)
    values = [size * (1 if dice.coin() else -1) for size in sizes]
    first, second = values[:count], values[count:]
    totals = [sum(entries[drop:]) for entries in (first, second)]
    if abs(totals[0] - totals[1]) < 5:
        return None
    # The mean of all entries points to the right orbit in half of the squares only.
    if not dice.fair(whole=(sum(first) > sum(second)) == (totals[0] > totals[1])):
        return None
    answers = ["A", "B"] if totals[0] > totals[1] else ["B", "A"]
    first_ones = f"the first {COUNTS[drop]} {'is' if drop == 1 else 'are'}"
    rule = dice.pick(
        (
            (
                f"In both lists {first_ones} left out as a transient, and the Lyapunov exponent is estimated by the"
                " mean of the"
                " others."
            ),
            (
                f"As an estimate of the Lyapunov exponent, {first_ones} dropped from both lists and the remaining"
                " ones are"
                " averaged."
            ),
        )
    )
    word = dice.pick(("larger", "smaller"))
    claims = {
        name: f"the estimated exponent|is|{word} for {name if word == 'larger' else other} than for"
        f" {other if word == 'larger' else name}"
        for name, other in (("A", "B"), ("B", "A"))
    }
    setting = dice.pick(LOGS)
    texts = [listed(first, decimals), listed(second, decimals)]
    data = [setting.format(*texts), setting.format(*reversed(texts))]
    return squared("mean_log", data, rule, claims, answers, (2 * (count - drop), 4))


def sign_changes(dice: Dice) -> Square | None:
    """The number of sign changes."""
    decimals, count = dice.pick((1, 2)), dice.between(9, 13)
    values = [size * (1 if place % 2 else -1) for place, size in enumerate(dice.apart(count, 5, 95, 3))]
    data = [dice.mixed(values), dice.mixed(values)]
    answers = [sum((a > 0) != (b > 0) for a, b in pairwise(entries)) for entries in data]
    if abs(answers[0] - answers[1]) > 2:
        return None
    say = dice.pick(("the series|changes|sign exactly {} times", "exactly {} sign changes|occur|in the series"))
    claims = {number: say.format(COUNTS[number]) for number in range(3, 13)}
    rule = dice.pick(
        (
            "A sign change is a pair of neighbouring values with opposite signs.",
            "Wherever two neighbours have opposite signs, a sign change is counted.",
            "The sign changes between two neighbours if one is positive and the other negative.",
            "Count a change of sign for each pair of neighbours on different sides of zero.",
        )
    )
    return squared("sign_changes", _texts(dice, SIGNED, data, decimals), rule, claims, answers, (count, 2))


def recurrences(dice: Dice) -> Square | None:
    """How many entries a few places apart are close."""
    decimals, lag, near = dice.pick((1, 2)), dice.pick((2, 3)), dice.between(25, 45)
    centres = dice.apart(3, 200, 800, 150)
    values = [centres[place % 3] + dice.between(-20, 20) for place in range(dice.between(9, 12))]
    data = [dice.mixed(values), values if lag == 3 and dice.coin() else dice.mixed(values)]
    gaps = [[abs(a - b) for a, b in zip(entries, entries[lag:], strict=False)] for entries in data]
    if len({*values}) < len(values) or min(abs(gap - near) for row in gaps for gap in row) < 2:
        return None
    answers = [sum(gap < near for gap in row) for row in gaps]
    rule = (
        f"A recurrence is counted whenever a value and the one {COUNTS[lag]} places later differ by less than"
        f" {shown(near, decimals)}."
    )
    say = dice.pick(("the series|has|exactly {} recurrences", "there|are|exactly {} recurrences"))
    claims = {number: say.format(COUNTS[number]) for number in range(2, 10)}
    return squared("recurrences", _texts(dice, SERIES, data, decimals), rule, claims, answers, (len(values), 4))


def even_peaks(dice: Dice) -> Square | None:
    """Whether the intervals between peak times are equal within a bound."""
    decimals, count = 1, dice.between(6, 9)
    base, bound = dice.between(25, 80), dice.between(4, 8)
    calm = [base + dice.between(0, bound - 2) for _ in range(count)]
    short, long = dice.apart(2, 0, count - 1)
    rough, shift = list(calm), dice.between(bound // 2 + 1, bound)
    rough[short], rough[long] = calm[short] - shift, calm[long] + shift
    data, spreads, start = [], [], dice.between(5, 60)
    for gaps in (calm, rough):
        # The last peak is at the same time in both records.
        data.append([start + sum(gaps[:place]) for place in range(count + 1)])
        spreads.append(max(gaps) - min(gaps))
    if bound in spreads:
        return None
    answers = ["even" if spread < bound else "uneven" for spread in spreads]
    rule = (
        f"The record is called even if the longest interval between successive peaks exceeds the shortest by less than"
        f" {shown(bound, decimals)}, and uneven otherwise."
    )
    claims = {word: f"the record|is|{word} by this rule" for word in ("even", "uneven")}
    setting = dice.pick(PEAKS)
    texts = [setting.format(listed(values, decimals)) for values in data]
    return squared("even_peaks", texts, rule, claims, answers, (count + 1, 4))


ASKS: tuple[Ask, ...] = (
    patterns, rises, pattern_present, first_beyond, growth_factor, megno_slope, median_k, settled, mean_log,
    sign_changes, recurrences, even_peaks,
)  # fmt: skip


def _orders(dice: Dice, least: int, most: int) -> tuple[list[list[int]], int]:
    """Two orders of the same numbers, the second often the first read backwards; and their decimals."""
    values = dice.apart(dice.between(least, most), 60, 980, 6)
    return [values, values[::-1] if dice.coin() else dice.mixed(values)], dice.pick((1, 2, 3))


def _order(values: Sequence[int]) -> tuple[int, ...]:
    return tuple(sorted(range(len(values)), key=lambda place: values[place]))


def _twins(dice: Dice) -> tuple[list[int], list[int], list[int], int]:
    """Times, twin distances that grow with setbacks, the same with two neighbourhoods changed over, and decimals."""
    count, step = dice.between(6, 9), dice.pick((1, 2, 5))
    sizes = sorted(dice.apart(count, 8, 900, 8))
    for place in range(0, count - 1, 3):
        sizes[place], sizes[place + 1] = sizes[place + 1], sizes[place]
    other = list(sizes)
    first, second = dice.apart(2, 0, count - 1)
    other[first], other[second] = sizes[second], sizes[first]
    data = [sizes, other] if dice.coin() else [other, sizes]
    return [step * place for place in range(1, count + 1)], data[0], data[1], dice.pick((2, 3))


def _texts(dice: Dice, settings: Sequence[str], data: Sequence[Sequence[int]], decimals: int) -> list[str]:
    setting = dice.pick(settings)
    return [setting.format(listed(values, decimals)) for values in data]


def _timed(
    dice: Dice, settings: Sequence[str], times: Sequence[int], data: Sequence[Sequence[int]], decimals: int
) -> list[str]:
    """Values with their times, in one of three ways of writing."""
    setting, style = dice.pick(settings), dice.pick(("{1} at t = {0}", "t = {0}: {1}", "t = {0} gives {1}"))
    return [
        setting.format("; ".join(style.format(t, shown(v, decimals)) for t, v in zip(times, values, strict=True)))
        for values in data
    ]

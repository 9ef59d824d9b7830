"""Reading a Lyapunov spectrum: signs, sums, pairs, the Kaplan–Yorke dimension.

The two data sets of a square share as much as they can: mostly the sizes of the exponents, with the signs dealt anew.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction

from perpend.studies.logic.chaos.questions.data.openings import SPECTRA, TWO_SPECTRA
from perpend.studies.logic.chaos.questions.data.sheet import COUNTS, Dice, Square, listed, shown, squared

Ask = Callable[[Dice], Square | None]

KAPLAN_YORKE = (
    (
        "The Kaplan–Yorke dimension is found by sorting the exponents from the largest down and adding them up as"
        " long as"
        " the sum stays at or above zero; it is the number of exponents added, plus that sum divided by the size of the"
        " next exponent."
    ),
    (
        "For the Kaplan–Yorke dimension, sort the exponents in falling order, let j be the largest number of leading"
        " ones"
        " whose sum is not negative, and add to j that sum divided by the absolute value of the next exponent."
    ),
    (
        "To get the Kaplan–Yorke dimension, put the exponents in falling order, add as many of them as leaves the sum"
        " at zero or more, and take their number plus the sum over the size of the next one."
    ),
    (
        "With the exponents in falling order, the Kaplan–Yorke dimension is j + S/m, where j is the largest number of"
        " leading ones whose sum S is zero or more, and m is the absolute value of the one that follows them."
    ),
    (
        "Kaplan and Yorke define the dimension as follows: order the exponents from the largest to the smallest, sum"
        " them while the total is at least zero, and add to their number the total divided by the size of the next."
    ),
)


def kaplan_yorke(exponents: Sequence[int]) -> Fraction | None:
    """The Kaplan–Yorke dimension; None where no exponent is left to divide by."""
    total, ordered = 0, sorted(exponents, reverse=True)
    for place, exponent in enumerate(ordered):
        if total + exponent < 0:
            return place + Fraction(total, -exponent)
        total += exponent
    return None


def positives(dice: Dice) -> Square | None:
    """The number of positive exponents, above a stated limit."""
    limit = dice.pick((10, 15, 20))
    decimals, data = _signed(dice, dice.between(5, 7), limit, 2)
    rule = dice.pick(
        (
            f"An exponent counts as positive only if it is above {shown(limit, decimals)}.",
            f"Values of at most {shown(limit, decimals)} are not taken as positive, all larger ones are.",
        )
    )
    answers = [sum(value > limit for value in values) for values in data]
    if not _fair(dice, data, [answers[0] > answers[1]]):
        return None
    claims = _counted(
        dice, ("the spectrum|has|exactly {} positive exponents", "exactly {} of the exponents|are|positive")
    )
    return squared("positives", _texts(dice, data, decimals), rule, claims, answers, (len(data[0]), 2))


def hyperchaos(dice: Dice) -> Square | None:
    """Which of two spectra has at least two exponents above a stated limit."""
    limit = dice.pick((10, 15, 20))
    decimals, data = _signed(dice, dice.between(4, 6), limit, 2)
    rule = dice.pick(
        (
            f"Here a system is hyperchaotic if at least two of its exponents are above {shown(limit, decimals)}.",
            f"By hyperchaos we mean two or more exponents above {shown(limit, decimals)}.",
        )
    )
    hyper = [sum(value > limit for value in values) >= 2 for values in data]
    if hyper[0] == hyper[1] or not _fair(dice, data, hyper, ("largest",)):
        return None
    answers = ["A", "B"] if hyper[0] else ["B", "A"]
    claims = {name: f"{name}|is|the hyperchaotic one of the two" for name in "AB"}
    return squared("hyperchaos", _pairs(dice, data, decimals), rule, claims, answers, (2 * len(data[0]), 2))


def volumes(dice: Dice) -> Square | None:
    """In which of two systems volumes shrink faster."""
    decimals, data = _signed(dice, dice.between(3, 5), 0)
    sums = [sum(values) for values in data]
    if (
        abs(sums[0] - sums[1]) < 5
        or max(sums) > -5
        or not dice.fair(largest=(max(data[0]) > max(data[1])) == (sums[0] > sums[1]))
    ):
        return None
    rule = dice.pick(
        (
            "Small volumes in phase space shrink at a rate given by the sum of the exponents, here negative for both.",
            "The sum of all exponents is the mean rate at which the logarithm of a small volume changes.",
            "Added up, the exponents give the mean rate of change of the logarithm of a small phase-space volume.",
            "A small volume in phase space changes on average like exp(s t), where s is the sum of the exponents.",
            "How fast phase-space volumes shrink is told by the sum of all exponents, which is negative in both cases.",
        )
    )
    answers = ["A", "B"] if sums[0] < sums[1] else ["B", "A"]
    word = dice.pick(("faster", "more slowly"))
    claims = {
        name: f"small volumes in phase space|shrink|{word} in {name if word == 'faster' else other} than in"
        f" {other if word == 'faster' else name}"
        for name, other in (("A", "B"), ("B", "A"))
    }
    return squared("volumes", _pairs(dice, data, decimals), rule, claims, answers, (2 * len(data[0]), 3))


def dimension(dice: Dice) -> Square | None:
    """The Kaplan–Yorke dimension against a number."""
    decimals, data = _attractors(dice)
    sizes = [kaplan_yorke(values) for values in data]
    level, answers = _level(dice, sizes, 2)
    if level is None or not _fair(dice, data, [side == "above" for side in answers]):
        return None
    claims = {side: f"the Kaplan–Yorke dimension|is|{side} {shown(level, 2)}" for side in ("above", "below")}
    rule = dice.pick(KAPLAN_YORKE)
    return squared("dimension", _texts(dice, data, decimals), rule, claims, answers, (len(data[0]) + 1, 4))


def dimension_between(dice: Dice) -> Square | None:
    """The whole numbers between which the Kaplan–Yorke dimension lies."""
    decimals, data = _attractors(dice)
    sizes = [kaplan_yorke(values) for values in data]
    whole = [int(size) for size in sizes if size is not None and 0 < size - int(size) < 1]
    if len(whole) < 2 or whole[0] == whole[1] or not _fair(dice, data, [whole[0] > whole[1]]):
        return None
    claims = {size: f"the Kaplan–Yorke dimension|lies|between {size} and {size + 1}" for size in whole}
    rule = dice.pick(KAPLAN_YORKE)
    return squared("dimension_between", _texts(dice, data, decimals), rule, claims, whole, (len(data[0]), 4))


def larger_dimension(dice: Dice) -> Square | None:
    """Which of two spectra has the larger Kaplan–Yorke dimension."""
    decimals, data = _attractors(dice)
    sizes = [kaplan_yorke(values) for values in data]
    if sizes[0] is None or sizes[1] is None or abs(sizes[0] - sizes[1]) < Fraction(1, 10):
        return None
    if not _fair(dice, data, [sizes[0] > sizes[1]], ("largest",)):
        return None
    answers = ["A" if sizes[0] > sizes[1] else "B", "B" if sizes[0] > sizes[1] else "A"]
    word = dice.pick(("larger", "smaller"))
    claims = {
        name: f"the Kaplan–Yorke dimension of {name if word == 'larger' else other}|is|{word} than that of"
        f" {other if word == 'larger' else name}"
        for name, other in (("A", "B"), ("B", "A"))
    }
    texts = _pairs(dice, data, decimals)
    return squared("larger_dimension", texts, dice.pick(KAPLAN_YORKE), claims, answers, (2 * len(data[0]), 4))


def more_positive(dice: Dice) -> Square | None:
    """Which of two spectra has more positive exponents."""
    limit = dice.pick((10, 15, 20))
    decimals, data = _signed(dice, dice.between(4, 6), limit, 2)
    counts = [sum(value > limit for value in values) for values in data]
    if counts[0] == counts[1] or not _fair(dice, data, [counts[0] > counts[1]], ("largest",)):
        return None
    answers = ["A" if counts[0] > counts[1] else "B", "B" if counts[0] > counts[1] else "A"]
    rule = f"An exponent counts as positive only if it is above {shown(limit, decimals)}."
    word = dice.pick(("more", "fewer"))
    claims = {
        name: f"{name if word == 'more' else other}|has|{word} positive exponents than"
        f" {other if word == 'more' else name}"
        for name, other in (("A", "B"), ("B", "A"))
    }
    return squared("more_positive", _pairs(dice, data, decimals), rule, claims, answers, (2 * len(data[0]), 3))


def opposite_pairs(dice: Dice) -> Square | None:
    """In which of two spectra every exponent has a partner of the same size and the other sign."""
    decimals, count = dice.pick((2, 3)), dice.pick((2, 3))
    sizes = dice.apart(count, 20, 900, 15)
    paired = [sign * size for size in sizes for sign in (1, -1)]
    wrong = list(paired)
    wrong[1], wrong[2] = -paired[1], -paired[2]
    data = [dice.mixed(paired), dice.mixed([-value for value in wrong] if dice.coin() else wrong)]
    if dice.coin():
        data.reverse()
    whole = [all(values.count(value) == values.count(-value) for value in values) for values in data]
    answers = ["A", "B"] if whole[0] else ["B", "A"]
    rule = dice.pick(
        (
            "Two exponents of a spectrum are partners if they have the same size and opposite signs.",
            "An exponent is a partner of another if the two add up to zero.",
            "Partners are two exponents of one spectrum whose sum is zero.",
            "By partners we mean two exponents of the same spectrum that differ in sign only.",
        )
    )
    without = dice.coin()
    claims = {
        name: f"{other}|is|the one with an exponent that lacks a partner"
        if without
        else f"{name}|is|the one in which every exponent has a partner"
        for name, other in (("A", "B"), ("B", "A"))
    }
    return squared("opposite_pairs", _pairs(dice, data, decimals), rule, claims, answers, (4 * count, 3))


def kind_of_motion(dice: Dice) -> Square | None:
    """The motion by a stated rule on zero and positive exponents."""
    limit, decimals, count = dice.pick((10, 15, 20)), dice.pick((2, 3)), dice.between(4, 5)
    sizes, small = _sizes(dice, count, 2 * limit + 20), dice.apart(3, 1, limit - 4)
    zeros = {"steady": 0, "cycle": 1, "torus": dice.between(2, 3), "chaos": dice.between(0, 2)}
    answers = dice.mixed(list(zeros))[:2]
    data = []
    for key in answers:
        near = [value if dice.coin() else -value for value in small[: zeros[key]]]
        far = [-value for value in sizes[zeros[key] :]]
        data.append(dice.mixed(near + ([-far[0], *far[1:]] if key == "chaos" else far)))
    limit_text = shown(limit, decimals)
    rule = dice.pick(
        (
            (
                f"An exponent whose size is below {limit_text} counts as zero. The motion is called chaotic if the"
                " largest"
                " exponent is positive; if none is positive, it is called a steady state, a cycle or a torus"
                " according to"
                " whether there are no zero exponents, one, or at least two."
            ),
            (
                f"Rule: sizes below {limit_text} are zero; any positive exponent left over means chaos; otherwise no"
                " zero"
                " exponent means a steady state, exactly one a cycle, two or more a torus."
            ),
        )
    )
    names = {"chaos": "chaotic", "steady": "a steady state", "cycle": "a cycle", "torus": "a torus"}
    say = dice.pick(("the motion|is|{} by this rule", "the rule|calls|the motion {}"))
    claims = {key: say.format(name) for key, name in names.items()}
    return squared("kind_of_motion", _texts(dice, data, decimals), rule, claims, answers, (len(data[0]), 3))


def lyapunov_time(dice: Dice) -> Square | None:
    """One over the largest exponent against a time."""
    decimals, data = _signed(dice, dice.between(3, 5), 0)
    tops = [max(values) for values in data]
    if min(tops) < 20:
        return None
    level, answers = _level(dice, [Fraction(10**decimals, top) for top in tops], 1)
    if level is None or level < 3:
        return None
    rule = dice.pick(
        (
            "The Lyapunov time is one divided by the largest exponent.",
            "Here the Lyapunov time means the reciprocal of the largest exponent.",
            "Dividing one by the largest exponent gives the Lyapunov time.",
            "As the Lyapunov time, take the inverse of the largest exponent.",
            "The inverse of the largest exponent is called the Lyapunov time.",
        )
    )
    words = {"above": dice.pick(("longer", "larger")), "below": dice.pick(("shorter", "smaller"))}
    claims = {side: f"the Lyapunov time|is|{word} than {shown(level, 1)} time units" for side, word in words.items()}
    return squared("lyapunov_time", _texts(dice, data, decimals), rule, claims, answers, (len(data[0]) + 1, 3))


def entropy_bound(dice: Dice) -> Square | None:
    """The sum of the positive exponents against a number."""
    decimals, data = _attractors(dice)
    sums = [sum(value for value in values if value > 0) for values in data]
    if not _fair(dice, data, [sums[0] > sums[1]]):
        return None
    level, answers = _level(dice, [Fraction(total, 10**decimals) for total in sums], decimals)
    if level is None:
        return None
    rule = dice.pick(
        (
            "The entropy rate is estimated by the sum of the positive exponents.",
            "As an estimate of the entropy rate, the positive exponents are added up.",
            "By Pesin's formula, the sum of the positive exponents serves as an estimate of the entropy rate.",
            "Adding up all positive exponents gives an estimate of the entropy rate.",
        )
    )
    claims = {side: f"the estimated entropy rate|is|{side} {shown(level, decimals)}" for side in ("above", "below")}
    return squared("entropy_bound", _texts(dice, data, decimals), rule, claims, answers, (len(data[0]) + 1, 3))


ASKS: tuple[Ask, ...] = (
    positives, hyperchaos, volumes, dimension, dimension_between, larger_dimension, more_positive, opposite_pairs,
    kind_of_motion, lyapunov_time, entropy_bound,
)  # fmt: skip


def _signed(dice: Dice, count: int, limit: int, small: int = 1) -> tuple[int, list[list[int]]]:
    """Two spectra with the same sizes and as many minus signs, dealt anew; with a limit, `small` sizes lie below it."""
    decimals = dice.pick((2, 3))
    sizes = _sizes(dice, count, 2 * limit + 20)
    if limit:
        sizes[:small] = dice.apart(small, 1, limit - 4)
    negative = dice.between(1, count - 1)
    data = []
    for _ in range(2):
        flips = dice.mixed([1] * (count - negative) + [-1] * negative)
        data.append(dice.mixed([sign * size for sign, size in zip(flips, sizes, strict=True)]))
    return decimals, data


def _sizes(dice: Dice, count: int, least: int) -> list[int]:
    """Uneven sizes, as of real spectra, so that neither the sum nor the largest follows what is asked."""
    return [size**3 // 810000 for size in dice.apart(count, int((810000 * least) ** (1 / 3)) + 2, 900, 15)]


def _attractors(dice: Dice) -> tuple[int, list[list[int]]]:
    """Two dissipative spectra of the same length, with as many positive exponents."""
    decimals, count = dice.pick((2, 3)), dice.between(4, 5)
    negative = dice.between(2, count - 1)
    data = []
    for _ in range(2):
        total = 0
        while total >= 0:
            sizes = _sizes(dice, count, 20)
            values = [-size if place < negative else size for place, size in enumerate(sizes)]
            total = sum(values)
        data.append(dice.mixed(values))
    return decimals, data


def _fair(
    dice: Dice, data: Sequence[Sequence[int]], right: Sequence[bool], watched: Sequence[str] = ("largest", "total")
) -> bool:
    """Whether the largest exponent and the sum point as they should; `right` says whether the first spectrum is"
    " more."""
    tops, totals = [max(values) for values in data], [sum(values) for values in data]
    clues = {"largest": tops, "total": totals}
    return dice.fair(
        **{
            clue: (pair[0] > pair[1]) == right[0]
            for clue, pair in clues.items()
            if clue in watched and pair[0] != pair[1]
        }
    )


def _level(dice: Dice, sizes: Sequence[Fraction | None], decimals: int) -> tuple[int | None, list[str]]:
    """A number with the given decimals between two sizes, well off both, and the side of it on which each lies.

    None where the sizes are too close, or one of them is undefined.
    """
    if sizes[0] is None or sizes[1] is None:
        return None, []
    low, high = sorted((sizes[0], sizes[1]))
    unit, width = 10**decimals, high - low
    least, most = (low + width / 5) * unit, (high - width / 5) * unit
    if most - least < 2:
        return None, []
    level = dice.between(int(least) + 1, int(most))
    return level, ["above" if size * unit > level else "below" for size in (sizes[0], sizes[1])]


def _counted(dice: Dice, says: Sequence[str]) -> dict[int, str]:
    say = dice.pick(says)
    return {count: say.format(COUNTS[count]) for count in range(2, len(COUNTS))}


def _texts(dice: Dice, data: Sequence[Sequence[int]], decimals: int) -> list[str]:
    setting = dice.pick(SPECTRA)
    return [setting.format(listed(values, decimals)) for values in data]


def _pairs(dice: Dice, data: Sequence[Sequence[int]], decimals: int) -> list[str]:
    """Both spectra in one text, and the same with their names changed over."""
    first, second = (listed(values, decimals) for values in data)
    setting = dice.pick(TWO_SPECTRA)
    return [setting.format(first, second), setting.format(second, first)]

"""Reading a short orbit: periods, places, steps, turning points, symbols."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import TypeVar

from perpend.studies.logic.chaos.questions.data.sheet import COUNTS, Dice, Square, listed, ordinal, shown, squared, told

T = TypeVar("T")

SETTINGS = (
    "A one-dimensional map was iterated, and the values came out in this order: {}.",
    "The orbit of a map, written down step by step, reads {}.",
    "Successive maxima of a measured voltage are, in order, {}.",
    "A notebook page holds this run of an iterated map: {}.",
    "The crossings of a section, one after the other, lie at {}.",
    "Here is a short orbit: {}.",
    "A model of an insect population gives these yearly numbers, in thousands: {}.",
    "A dripping tap was timed, and the gaps between drops were, in order, {}.",
    "Someone iterates a map by hand and gets {}.",
    "The peaks of a chemical signal, in the order of time, have the heights {}.",
    "From the printout of a simulation: {}.",
    "The logged values, oldest first, are {}.",
    "Shot by shot, the peak heights of a laser were {}.",
    "Sampling a system once in every forcing period gave {}.",
    "A spreadsheet column, read from top to bottom, holds {}.",
    "These are the stored iterates of a run, none left out: {}.",
    *told(
        (
            "An orbit of a map",
            "The run of an iterated map",
            "A sequence of iterates",
            "The list of successive maxima",
            "A record of yearly yields",
            "The series of return values",
            "A list of section crossings",
            "The table of an iterated rule",
            "A short orbit from a worksheet",
            "The column of iterates",
        ),
        (
            "reads {}",
            "begins {}",
            "is given as {}",
            "was written down as {}",
            "looks as follows: {}",
            "has, in order, the entries {}",
            "holds these values in a row: {}",
        ),
    ),
)
PATTERNS = (
    ("ab", "abba", 12), ("ab", "aababb", 12), ("abba", "aababb", 12), ("abc", "abcacb", 12), ("ab", "aabb", 8),
    ("ab", "aabb", 16), ("abcd", "abcdabdc", 16), ("abcd", "abcdbadc", 16), ("aabb", "aababbab", 16),
    ("abcd", "abcdacbd", 16), ("abac", "abacaabc", 16), ("aab", "aabbaa", 12), ("abc", "abcbac", 12),
    ("abba", "abababba", 16),
)  # fmt: skip
"""Two blocks that fill a list of this length with the same entries, but repeat after different numbers of places."""


def least_period(values: Sequence[int]) -> int:
    """The smallest p of at most half the length with equal entries p places apart; 0 where there is none."""
    return next(
        (p for p in range(1, len(values) // 2 + 1) if all(a == b for a, b in zip(values, values[p:], strict=False))), 0
    )


def period(dice: Dice) -> Square | None:
    """The least period of a list."""
    first, second, length = dice.pick(PATTERNS)
    values, decimals = _values(dice, 4, 8)
    lists = [_filled(dice, block, length, values) for block in dice.mixed((first, second))]
    rule = dice.pick(
        (
            (
                "The least period of a list is the smallest number p, at most half its length, such that every entry"
                " equals"
                " the one p places after it wherever there is one."
            ),
            (
                "By the least period we mean the smallest shift, of at most half the list, under which every entry"
                " that still"
                " has a counterpart meets an equal one."
            ),
        )
    )
    say = dice.pick(("the list|has|least period {}", "the least period of the list|is|{}"))
    answers = _both(lists, least_period)
    claims = {value: say.format(value) for value in answers}
    return squared("period", _texts(dice, lists, decimals), rule, claims, answers, (length, 3))


def larger_of_two(dice: Dice) -> Square | None:
    """Which of two places holds the larger value."""
    values, decimals = _values(dice, dice.between(8, 14), 3)
    high, low = dice.apart(2, 0, len(values) - 1)
    other = list(values)
    other[high], other[low] = values[low], values[high]
    answers = _both((values, other), lambda entries: "more" if entries[high] > entries[low] else "less")
    noun = dice.pick(("entry", "value"))
    words = {"more": dice.pick(("larger", "higher", "greater")), "less": dice.pick(("smaller", "lower"))}
    claims = {
        key: f"the {ordinal(high + 1)} {noun}|is|{word} than the {ordinal(low + 1)}" for key, word in words.items()
    }
    return squared("larger_of_two", _texts(dice, (values, other), decimals), "", claims, answers, (2, 1))


def largest_step(dice: Dice) -> Square | None:
    """Between which neighbours the largest change stands."""
    while True:
        values, decimals = _values(dice, dice.between(8, 12), 4)
        other = values[::-1] if dice.coin() else dice.mixed(values)
        sizes = [sorted(_steps(entries), reverse=True) for entries in (values, other)]
        answers = _both((values, other), lambda entries: _steps(entries).index(max(_steps(entries))) + 1)
        if answers[0] != answers[1] and all(size[0] > size[1] for size in sizes):
            break
    noun = dice.pick(("entry", "value"))
    words = {place: f"from the {ordinal(place)} {noun} to the {ordinal(place + 1)}" for place in answers}
    say = dice.pick(("the largest change between neighbours|is|the one {}", "the biggest step|is|the one {}"))
    rule = dice.pick(
        (
            "A step is the change from one entry to the next, and its size is taken without sign.",
            "Changes between neighbours are compared by their size, whether up or down.",
            "The size of a step is the absolute difference of two neighbours.",
            "Steps lead from one entry to the next; what counts is how large they are, up or down.",
        )
    )
    claims = {place: say.format(word) for place, word in words.items()}
    return squared("largest_step", _texts(dice, (values, other), decimals), rule, claims, answers, (len(values), 3))


def maxima(dice: Dice) -> Square | None:
    """The number of inner maxima or minima."""
    top = dice.coin()
    word, side = ("maximum", "larger") if top else ("minimum", "smaller")
    rule = dice.pick(
        (
            f"An entry counts as a local {word} if it has a neighbour on each side and is {side} than both.",
            (
                f"Here a local {word} is an entry, neither the first nor the last, that is {side} than both of its"
                " neighbours."
            ),
        )
    )

    def turns(values: Sequence[int]) -> int:
        sign = 1 if top else -1
        return sum(
            sign * b > sign * a and sign * b > sign * c for a, b, c in zip(values, values[1:], values[2:], strict=False)
        )

    lists, decimals, answers = _permuted(dice, (9, 14), turns, 2)
    plural = "maxima" if top else "minima"
    say = dice.pick((f"the list|has|exactly {{}} local {plural}", f"there|are|exactly {{}} local {plural}"))
    claims = {count: say.format(COUNTS[count]) for count in answers}
    return squared("maxima", _texts(dice, lists, decimals), rule, claims, answers, (len(lists[0]), 3))


def approach(dice: Dice) -> Square | None:
    """Whether every entry is closer to a target than the one before."""
    decimals = dice.pick((2, 3))
    count = dice.between(8, 12)
    target = dice.between(400, 600)
    gaps = sorted(dice.apart(count, 6, 380, 9), reverse=True)
    values = [target + gap * (1 if dice.coin() else -1) for gap in gaps]
    place = dice.between(0, count - 2)
    far = min(count - 1, place + dice.between(1, 3))
    other = list(values)
    other[place], other[far] = values[far], values[place]
    lists = (values, other) if dice.coin() else (other, values)
    answers = _both(lists, lambda v: all(abs(a - target) > abs(b - target) for a, b in pairwise(v)))
    aim = shown(target, decimals)
    words = {
        True: f"every entry after the first|is|closer to {aim} than the one before it",
        False: f"at least one entry after the first|is|no closer to {aim} than the one before it",
    }
    return squared("approach", _texts(dice, lists, decimals), "", words, answers, (count + 1, 3))


def late_bounds(dice: Dice) -> Square | None:
    """Whether the entries after a place stay within bounds."""
    count, decimals = dice.between(9, 14), dice.pick((2, 3))
    cut = dice.between(3, count - 4)
    low, high = 250 + dice.between(-60, 60), 750 + dice.between(-60, 60)
    inner = dice.apart(count - 2, low + 12, high - 12, 3)
    # The farther of two values outside the bounds always comes early; the other one decides.
    far, near = (high + 160, high + dice.between(15, 150)) if dice.coin() else (low - 160, low - dice.between(15, 150))
    lists = []
    for late in dice.mixed((False, True)):
        head, tail = inner[: cut - 2 + late], inner[cut - 2 + late :]
        outside = [far] if late else [far, near]
        lists.append(dice.mixed(head + outside) + dice.mixed(tail + ([near] if late else [])))
    answers = _both(lists, lambda values: all(low < value < high for value in values[cut:]))
    span = f"between {shown(low, decimals)} and {shown(high, decimals)}"
    words = {
        True: f"all entries after the {ordinal(cut)}|lie|{span}",
        False: f"at least one entry after the {ordinal(cut)}|lies|outside the range {span}",
    }
    return squared("late_bounds", _texts(dice, lists, decimals), "", words, answers, (count - cut, 2))


def zigzag(dice: Dice) -> Square | None:
    """Whether rises and falls take turns through the whole list."""
    values, decimals = _values(dice, dice.between(8, 10), 5)

    def takes_turns(entries: Sequence[int]) -> bool:
        return all((b > a) != (c > b) for a, b, c in zip(entries, entries[1:], entries[2:], strict=False))

    while not takes_turns(values):
        values = dice.mixed(values)
    swap = dice.between(0, len(values) - 2)
    broken = list(values)
    broken[swap], broken[swap + 1] = values[swap + 1], values[swap]
    if _rises(broken) != _rises(values):
        return None
    lists = (values, broken) if dice.coin() else (broken, values)
    words = {
        True: "rises and falls|take|strict turns through the whole list",
        False: "there|are|two rises in a row or two falls in a row somewhere in the list",
    }
    rule = dice.pick(
        (
            "A step to a larger value is a rise, a step to a smaller one a fall.",
            "Going to a larger value counts as a rise, going to a smaller one as a fall.",
            "Each step is a rise if the next value is larger, and a fall if it is smaller.",
            "Call a step upwards a rise and a step downwards a fall.",
        )
    )
    answers = _both(lists, takes_turns)
    return squared("zigzag", _texts(dice, lists, decimals), rule, words, answers, (len(values), 3))


def early_count(dice: Dice) -> Square | None:
    """How many of the first or last entries lie above or below a level."""
    first, above = dice.coin(), dice.coin()
    part = dice.between(5, 8)
    level = dice.between(380, 620)

    def counted(values: Sequence[int]) -> int:
        kept = values[:part] if first else values[-part:]
        return sum((value > level) == above for value in kept)

    lists, decimals, answers = _permuted(dice, (10, 14), counted, 2, level)
    say = (
        f"exactly {{}} of the {'first' if first else 'last'} {COUNTS[part]} entries|lie|"
        f"{'above' if above else 'below'} {shown(level, decimals)}"
    )
    claims = {count: say.format(COUNTS[count]) for count in answers}
    return squared("early_count", _texts(dice, lists, decimals), "", claims, answers, (part, 2))


def extreme_place(dice: Dice) -> Square | None:
    """At which place the largest, second largest or smallest entry stands."""
    rank, name = dice.pick(((0, "smallest"), (-1, "largest"), (-2, "second largest"), (1, "second smallest")))
    lists, decimals, answers = _permuted(dice, (8, 14), lambda values: values.index(sorted(values)[rank]) + 1)
    noun = dice.pick(("entry", "value"))
    say = dice.pick((f"the {name} {noun}|stands|at the {{}} place", f"the {name} {noun}|is|the {{}} one in the list"))
    claims = {place: say.format(ordinal(place)) for place in answers}
    return squared("extreme_place", _texts(dice, lists, decimals), "", claims, answers, (len(lists[0]), 2))


def word_inside(dice: Dice) -> Square | None:
    """Which block of symbols occurs when entries are coded as L and R."""
    level = dice.between(420, 580)
    size = dice.pick((3, 3, 4))
    while True:
        values, decimals = _values(dice, dice.between(9, 13), 4, level)
        other = dice.mixed(values)
        blocks = [_blocks(entries, level, size) for entries in (values, other)]
        own = [sorted(blocks[0] - blocks[1]), sorted(blocks[1] - blocks[0])]
        if all(own):
            break
    answers = (dice.pick(own[0]), dice.pick(own[1]))
    rule = (
        f"Write L for an entry below {shown(level, decimals)} and R for an entry above it; a block is found where its"
        " letters stand next to each other in this order."
    )
    say = dice.pick(("the block {}|is|found in the resulting word", "the coded list|contains|the block {}"))
    claims = {block: say.format(block) for block in answers}
    return squared("word_inside", _texts(dice, (values, other), decimals), rule, claims, answers, (len(values), 4))


def single_valued(dice: Dice) -> Square | None:
    """Whether equal entries always have equal successors, as under a map of one variable."""
    size = dice.pick((3, 4, 5))
    length = dice.between(9, 14)
    values, decimals = _values(dice, size, 9)
    order = [values[place % size] for place in range(length)]
    spot = dice.between(size - 1, length - 2)
    spoiled = list(order)
    spoiled[spot], spoiled[spot + 1] = order[spot + 1], order[spot]
    lists = (order, spoiled) if dice.coin() else (spoiled, order)

    def unique(entries: Sequence[int]) -> bool:
        return len({*pairwise(entries)}) == len({*entries[:-1]})

    words = {
        True: "equal entries|have|equal successors throughout the list",
        False: "there|are|two equal entries with different successors in the list",
    }
    rule = dice.pick(
        (
            "The successor of an entry is the one that follows it, and the last entry has none.",
            "By the successor of an entry we mean the next one in the list; the last has no successor.",
            "Each entry but the last has a successor, namely the entry right after it.",
            "An entry is followed by its successor; only the last one lacks it.",
        )
    )
    answers = _both(lists, unique)
    return squared("single_valued", _texts(dice, lists, decimals), rule, words, answers, (length, 3))


def after_transient(dice: Dice) -> Square | None:
    """From which place on a list repeats with a given period."""
    size = dice.pick((2, 2, 3))
    count = dice.between(11, 14)
    values, decimals = _values(dice, size + 2, 6)
    starts = dice.apart(2, 2, 5)
    lists = []
    for start in starts:
        head = [dice.pick(values[: size + 2]) for _ in range(start)]
        lists.append(head + [values[place % size] for place in range(count - start)])
    # The number of different values is no clue to the length of the transient.
    if len({*lists[0]}) != len({*lists[1]}):
        return None

    def start_of(entries: Sequence[int]) -> int:
        return next(
            s + 1 for s in range(count) if all(a == b for a, b in zip(entries[s:], entries[s + size :], strict=False))
        )

    answers = _both(lists, start_of)
    every = "second" if size == 2 else "third"
    rule = (
        f"Repeating from a place on means that each entry from that place on equals the {every} one after it, if any."
    )
    say = dice.pick(("the repeating part|begins|with the {} entry", "the {} entry|is|where the repeating part begins"))
    rule += " The repeating part begins at the earliest such place."
    claims = {place: say.format(ordinal(place)) for place in answers}
    return squared("after_transient", _texts(dice, lists, decimals), rule, claims, answers, (count, 4))


ASKS: tuple[Callable[[Dice], Square | None], ...] = (
    period, larger_of_two, largest_step, maxima, approach, late_bounds, zigzag, early_count, extreme_place,
    word_inside, single_valued, after_transient,
)  # fmt: skip


def _values(dice: Dice, count: int, gap: int, level: int | None = None) -> tuple[list[int], int]:
    """Different numbers below 1000, none at the level, and the number of decimals with which they are printed."""
    while True:
        values = dice.apart(count, 60, 980, gap)
        if level is None or all(abs(value - level) >= gap for value in values):
            return values, dice.pick((1, 2, 3))


def _permuted(
    dice: Dice, sizes: tuple[int, int], value: Callable[[list[int]], int], least: int = 0, level: int | None = None
) -> tuple[tuple[list[int], list[int]], int, tuple[int, int]]:
    """Two orders of the same numbers for which the value differs and is at least `least`."""
    while True:
        values, decimals = _values(dice, dice.between(*sizes), 4, level)
        other = dice.mixed(values)
        answers = value(values), value(other)
        if answers[0] != answers[1] and min(answers) >= least:
            return (values, other), decimals, answers


def _both(lists: Sequence[list[int]], value: Callable[[list[int]], T]) -> tuple[T, T]:
    return value(lists[0]), value(lists[1])


def _filled(dice: Dice, block: str, length: int, values: Sequence[int]) -> list[int]:
    turn = dice.below(len(block))
    letters = (block[turn:] + block[:turn]) * (length // len(block))
    return [values["abcd".index(letter)] for letter in letters]


def _steps(values: Sequence[int]) -> list[int]:
    return [abs(b - a) for a, b in pairwise(values)]


def _rises(values: Sequence[int]) -> int:
    return sum(b > a for a, b in pairwise(values))


def _blocks(values: Sequence[int], level: int, size: int) -> set[str]:
    word = "".join("L" if value < level else "R" for value in values)
    return {word[place : place + size] for place in range(len(word) - size + 1)}


def _texts(dice: Dice, lists: Sequence[Sequence[int]], decimals: int) -> list[str]:
    setting = dice.pick(SETTINGS)
    return [setting.format(listed(values, decimals)) for values in lists]

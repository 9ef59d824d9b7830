"""Several indicators of one run, each computed from stated numbers: whether they agree, and what they say together.

Every indicator is drawn with two sets of numbers, one for each verdict, and the square chooses among them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from perpend.studies.logic.chaos.questions.data.sheet import COUNTS, Dice, Square, listed, shown, squared, upper

T = TypeVar("T")
Ask = Callable[[Dice], Square | None]


@dataclass(frozen=True, slots=True)
class Witness:
    """An indicator of one run: its noun, its sentences for the verdicts regular and chaotic, its criterion."""

    noun: str
    texts: tuple[str, str]
    rule: str
    entries: int

    def text(self, chaotic: bool) -> str:
        """The sentence with the numbers for this verdict."""
        return self.texts[chaotic]


OPENINGS = (
    "",
    "One run was judged in more than one way. ",
    "Notes on one run follow. ",
    "All of this belongs to the same run. ",
    "A single orbit was examined. ",
    "One experiment left these records. ",
    "For one and the same orbit, this was found. ",
    "Several indicators were applied to one run. ",
    "The same run was put to more than one test. ",
    "A run is to be classified. ",
    "What follows concerns a single run. ",
    "One orbit, several tests. ",
    "A report describes one run in this way. ",
    "The lab book has these entries on one run. ",
    "A colleague sends the following about one run. ",
    "One simulation was analysed with care. ",
    "The following is known about one orbit. ",
    "Here are the findings for one run. ",
    "A single run left these traces. ",
    "Different tests were made on one orbit. ",
    "These results come from one run only. ",
    "Suppose one run gave these results. ",
)


def exponents(dice: Dice) -> Witness:
    """Chaotic where the largest exponent is above a limit."""
    count, limit = dice.between(3, 4), dice.between(12, 40)
    sizes = dice.apart(count, 2 * limit + 10, 900, 10)
    small = dice.between(1, limit - 6)
    spot = dice.below(count)
    negative = [-size for size in sizes]
    positive = [-value if place == spot else value for place, value in enumerate(negative)]
    # A small positive exponent stands in both, so that a number without a minus decides nothing.
    place = dice.below(count + 1)
    lists = [[*values[:place], small, *values[place:]] for values in (negative, positive)]
    say = dice.pick(("The Lyapunov spectrum is {}.", "The Lyapunov spectrum reads {}."))
    rule = dice.pick(
        (
            "The spectrum says chaotic if its largest exponent is above {}, and regular otherwise.",
            "By the spectrum the run is chaotic when at least one exponent is above {}, otherwise regular.",
        )
    )
    texts = [say.format(listed(values, 3)) for values in lists]
    return Witness("the spectrum", (texts[0], texts[1]), rule.format(shown(limit, 3)), count + 2)


def zero_one(dice: Dice) -> Witness:
    """Chaotic where the median of K is above a limit."""
    count, limit = dice.pick((3, 5)), dice.between(40, 80)
    half = count // 2
    low, high = dice.apart(half + 1, 3, limit - 4, 2), dice.apart(half + 1, limit + 4, 98, 2)
    lists = [dice.mixed(low + high[:half]), dice.mixed(low[:half] + high)]
    say = dice.pick(("The 0–1 test gave the K values {}.", "Values of K from the 0–1 test: {}."))
    rule = dice.pick(
        (
            "The 0–1 test says chaotic if the median of K is above {}, and regular otherwise.",
            "For the 0–1 test the median of the K values counts: above {} it says chaotic, below it regular.",
        )
    )
    texts = [say.format(listed(values, 2)) for values in lists]
    return Witness("the 0–1 test", (texts[0], texts[1]), rule.format(shown(limit, 2)), count + 1)


def twins(dice: Dice) -> Witness:
    """Chaotic where the distance of twins has grown by more than a factor."""
    factor, start = dice.between(3, 12), dice.between(11, 60)
    margin = dice.between(4, 9)
    small, large = factor * start - margin * start // 4 - 4, factor * start + margin * start // 4 + 4
    say = dice.pick(
        (
            "The distance of twin orbits went from {} to {}.",
            "Two twin orbits were {} apart at first and {} apart at the end.",
        )
    )
    rule = dice.pick(
        (
            "The twin test says chaotic if the distance has grown by more than a factor of {}, and regular otherwise.",
            (
                "By the twin test the run is chaotic when the later distance is more than {} times the earlier one,"
                " otherwise"
                " regular."
            ),
        )
    )
    texts = [say.format(shown(start, 3), shown(end, 3)) for end in (small, large)]
    return Witness("the twin test", (texts[0], texts[1]), rule.format(factor), 3)


def megno(dice: Dice) -> Witness:
    """Chaotic where MEGNO has risen by more than a slope."""
    early, span, slope = dice.between(1, 6) * 50, dice.between(2, 8) * 50, dice.between(5, 40)
    start = dice.between(18, 60)
    rise = slope * span // 100
    say = dice.pick(
        (
            "MEGNO was {} at t = {} and {} at t = {}.",
            "The run printed MEGNO = {} at t = {} and MEGNO = {} at t = {}.",
        )
    )
    off = dice.between(3, 12)
    ends = [start + max(rise - off, rise // 2 - 1), start + rise + 1 + off]
    texts = [say.format(shown(start, 1), early, shown(end, 1), early + span) for end in ends]
    rule = dice.pick(
        (
            "MEGNO says chaotic if its mean slope between the two times is above {}, and regular otherwise.",
            "MEGNO says chaotic if its change divided by the elapsed time is above {}, otherwise it says regular.",
        )
    )
    return Witness("MEGNO", (texts[0], texts[1]), rule.format(shown(slope, 3)), 5)


def maxima(dice: Dice) -> Witness:
    """Chaotic where the list of maxima does not repeat after a few places."""
    lag, length = dice.pick((2, 3)), dice.pick((8, 9, 10))
    values = dice.apart(lag, 100, 900, 20)
    even = [values[place % lag] for place in range(length)]
    spot = dice.between(lag, length - 2)
    odd = list(even)
    odd[spot], odd[spot + 1] = even[spot + 1], even[spot]
    say = dice.pick(("Successive maxima are {}.", "The maxima, one after the other, were {}."))
    rule = dice.pick(
        (
            (
                "The list of maxima says regular if each entry equals the one {} places later wherever there is one,"
                " and chaotic"
                " otherwise."
            ),
            (
                "By the list of maxima the run is regular when every entry equals the one {} places later, as far as"
                " the list goes,"
                " otherwise chaotic."
            ),
        )
    )
    return Witness(
        "the list of maxima",
        (say.format(listed(even, 2)), say.format(listed(odd, 2))),
        rule.format(COUNTS[lag]),
        length,
    )


def rises(dice: Dice) -> Witness:
    """Chaotic where the ordinal patterns of order two are mixed enough."""
    count, least = dice.between(8, 10), dice.between(3, 4)
    values = dice.apart(count, 100, 900, 15)

    def turns(entries: Sequence[int]) -> int:
        return sum((b > a) != (c > b) for a, b, c in zip(entries, entries[1:], entries[2:], strict=False))

    calm, wild = list(values), list(values)
    while turns(calm) > least:
        place = dice.below(count - 1)
        calm[place : place + 2] = sorted(calm[place : place + 2])
    while turns(wild) <= least:
        wild = dice.mixed(wild)
    say = dice.pick(("A stretch of the signal reads {}.", "Part of the signal is {}."))
    rule = dice.pick(
        (
            (
                "The signal says chaotic if it turns, from rising to falling or back, more than {} times, and regular"
                " otherwise."
            ),
            (
                "By the signal the run is chaotic when it changes between rising and falling more than {} times,"
                " otherwise"
                " regular."
            ),
        )
    )
    return Witness(
        "the signal", (say.format(listed(calm, 2)), say.format(listed(wild, 2))), rule.format(COUNTS[least]), count
    )


WITNESSES = (exponents, zero_one, twins, megno, maxima, rises)


def agree(dice: Dice) -> Square | None:
    """Whether two indicators agree."""
    bits = [dice.pick(((True, True), (False, False))), dice.pick(((True, False), (False, True)))]
    claim_of = {
        "same": dice.pick(("the two verdicts|agree|", "the two indicators|agree|with each other")),
        "other": dice.pick(("the two verdicts|contradict|each other", "the two indicators|disagree|with each other")),
    }
    return _square(dice, "agree", bits, ["same", "other"], claim_of)


def either(dice: Dice) -> Square | None:
    """Whether any of two indicators says chaotic, or regular."""
    word, other = dice.pick((("chaotic", "regular"), ("regular", "chaotic")))
    chaos = word == "chaotic"
    some = dice.pick(((chaos, not chaos), (not chaos, chaos), (not chaos, chaos), (chaos, chaos)))
    claim_of = {
        "some": f"at least one of the two indicators|says|{word}",
        "none": f"both of the indicators|say|{other}",
    }
    return _square(dice, "either", [some, (not chaos, not chaos)], ["some", "none"], claim_of)


def alone(dice: Dice) -> Square | None:
    """Which of two indicators is the only one to say chaotic, or regular."""
    word = dice.pick(("chaotic", "regular"))
    first = (word == "chaotic", word != "chaotic")
    return _square(
        dice, "alone", [first, first[::-1]], [0, 1], {0: f"{{0}} alone|says|{word}", 1: f"{{1}} alone|says|{word}"}
    )


def majority(dice: Dice) -> Square | None:
    """What two or more of three indicators say."""
    answers = ["chaotic", "regular"]
    bits = []
    for word in answers:
        value = word == "chaotic"
        odd = dice.below(4)
        bits.append(tuple(value if place != odd else not value for place in range(3)))
    claim_of = {word: f"the majority of the three indicators|says|{word}" for word in answers}
    return _square(dice, "majority", bits, answers, claim_of)


def how_many(dice: Dice) -> Square | None:
    """How many of three indicators say chaotic, or regular."""
    word = dice.pick(("chaotic", "regular"))
    counts = dice.pick(((1, 2), (2, 1), (2, 3), (3, 2), (1, 3), (3, 1)))
    bits = []
    for count in counts:
        chosen = dice.mixed(range(3))[:count]
        bits.append(tuple((place in chosen) == (word == "chaotic") for place in range(3)))
    subjects = {
        1: "exactly one of the three indicators|says",
        2: "exactly two of the three indicators|say",
        3: "all three indicators|say",
    }
    claim_of = {count: f"{subjects[count]}|{word}" for count in counts}
    return _square(dice, "how_many", bits, counts, claim_of)


def odd_one(dice: Dice) -> Square | None:
    """Which of three indicators stands against the two others."""
    rest = dice.coin()
    answers = dice.mixed(range(3))[:2]
    bits = [tuple(not rest if place == odd else rest for place in range(3)) for odd in answers]
    say = dice.pick(
        ("the indicator that stands alone against the two others|is|{}", "the odd one out among the three|is|{}")
    )
    claim_of = {odd: say.format(f"{{{odd}}}") for odd in answers}
    return _square(dice, "odd_one", bits, answers, claim_of)


ASKS: tuple[Ask, ...] = (agree, either, alone, majority, how_many, odd_one)


def _square(
    dice: Dice, ask: str, bits: Sequence[Sequence[bool]], answers: Sequence[T], claim_of: Mapping[T, str]
) -> Square | None:
    """The square of the verdicts in `bits`; a claim may name the indicators as {0}, {1}, {2}."""
    size = len(bits[0])
    witnesses = [make(dice) for make in dice.mixed(WITNESSES)[:size]]
    nouns = [witness.noun for witness in witnesses]
    opening = dice.pick(OPENINGS)
    claims = {key: claim.format(*nouns) for key, claim in claim_of.items()}
    data = [
        opening + " ".join(witness.text(bit) for witness, bit in zip(witnesses, verdicts, strict=True))
        for verdicts in bits
    ]
    rule = " ".join(upper(witness.rule) for witness in witnesses)
    entries = sum(witness.entries for witness in witnesses)
    return squared(f"{ask}_indicators", data, rule, claims, list(answers), (entries, size + 1))

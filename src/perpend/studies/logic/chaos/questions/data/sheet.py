"""What a question about stated numbers is made of: draws, printed numbers, squares of two data sets by two claims.

Every bundle is a square: two sets of data and two claims, and each claim holds for exactly one of the sets. So neither
the data nor the claim says anything by itself. The numbers are whole numbers until they are printed, so that every
label is exact.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from perpend.studies.logic.chaos.questions.chance import Chance

T = TypeVar("T")

ORDINALS = (
    "first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth", "eleventh",
    "twelfth", "thirteenth", "fourteenth", "fifteenth", "sixteenth",
)  # fmt: skip
COUNTS = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")
_BARE = {"has": "have", "goes": "go", "passes": "pass", "reaches": "reach"}
_TURNED = ("is", "are", "was", "were", "can")


class Dice:
    """The draws of one bundle, one after the other; they belong to the set's chance and to the bundle's name.

    A bundle that comes out unfit is drawn again, as another attempt.
    """

    def __init__(self, chance: Chance, bundle: str, attempt: int = 0) -> None:
        self._chance = chance
        self._bundle = bundle
        self._name = (bundle, str(attempt))
        self._turn = 0

    def below(self, count: int) -> int:
        """A whole number from 0 to `count` - 1."""
        self._turn += 1
        return self._chance.below(count, *self._name, str(self._turn))

    def between(self, low: int, high: int) -> int:
        """A whole number from `low` to `high`, both included."""
        return low + self.below(high - low + 1)

    def coin(self) -> bool:
        """Heads in half of the cases."""
        return self.below(2) == 0

    def fair(self, **clues: bool) -> bool:
        """Whether each clue points as its coin says, which is the same in every attempt at the bundle.

        So a clue that would often give the answer away points the right way in half of the bundles only.
        """
        return all(points == (self._chance.below(2, self._bundle, clue) == 0) for clue, points in clues.items())

    def pick(self, options: Sequence[T]) -> T:
        """One of the options."""
        return options[self.below(len(options))]

    def mixed(self, entries: Sequence[T]) -> list[T]:
        """The entries in another order, all orders equally likely."""
        pool = list(entries)
        return [pool.pop(self.below(len(pool))) for _ in range(len(pool))]

    def apart(self, count: int, low: int, high: int, gap: int = 1) -> list[int]:
        """`count` whole numbers of [low, high] in mixed order, any two at least `gap` apart."""
        room = high - low - gap * (count - 1)
        loose = sorted(self.between(0, room) for _ in range(count))
        return self.mixed([low + value + gap * place for place, value in enumerate(loose)])


@dataclass(frozen=True, slots=True)
class Square:
    """Two sets of data and two claims about them; claim i holds for data set i and not for the other.

    A claim is 'subject|verb|rest'.
    """

    ask: str
    data: tuple[str, str]
    rule: str
    """The definitions that the claims need, as sentences; '' where they need none."""
    claims: tuple[str, str]
    denied: tuple[bool, bool]
    """Whether a claim denies the predicate."""
    entries: int
    """Stated numbers (or words of a table) that must be read for the label."""
    steps: int
    """Different operations in a row: looking up a place, comparing, counting, subtracting, dividing, sorting."""

    @property
    def grade(self) -> int:
        """1, and 1 more for each that holds: over 5 entries, over 10 entries, over 2 steps, over 3 steps."""
        return 1 + (self.entries > 5) + (self.entries > 10) + (self.steps > 2) + (self.steps > 3)


def squared(
    ask: str, data: Sequence[str], rule: str, said: Mapping[T, str], found: Sequence[T], work: tuple[int, int]
) -> Square | None:
    """The square of an ask: `found` is what the two data sets give, `said` the claim that belongs to what is found.

    `work` are the entries and the steps. None where the two data sets give the same, or something without a claim.
    """
    if found[0] == found[1] or data[0] == data[1] or not {*found} <= {*said}:
        return None
    claims = (said[found[0]], said[found[1]])
    return Square(ask, (data[0], data[1]), rule, claims, (found[0] is False, found[1] is False), *work)


def told(subjects: Sequence[str], verbs: Sequence[str]) -> tuple[str, ...]:
    """All sentences of a subject and what is said of it, such as 'A short series' and 'reads {}'."""
    return tuple(f"{subject} {verb}." for subject in subjects for verb in verbs)


def clause(claim: str) -> str:
    """'the list|has|least period 3' as 'the list has least period 3'."""
    return " ".join(claim.split("|")).strip()


def inquiry(claim: str) -> str:
    """'the list|has|least period 3' as 'does the list have least period 3'."""
    subject, verb, rest = claim.split("|")
    if verb in _TURNED:
        turned = f"{verb} {subject} {rest}"
    elif verb in _BARE:
        turned = f"does {subject} {_BARE[verb]} {rest}"
    elif verb.endswith("s"):
        turned = f"does {subject} {verb[:-1]} {rest}"
    else:
        turned = f"do {subject} {verb} {rest}"
    return turned.strip()


def upper(text: str) -> str:
    """The text with a capital at its beginning."""
    return text[:1].upper() + text[1:]


def shown(value: int, decimals: int) -> str:
    """A whole number of units of the last decimal, printed: 123 with two decimals is '1.23'."""
    digits = f"{abs(value):0{decimals + 1}d}"
    text = f"{digits[:-decimals]}.{digits[-decimals:]}" if decimals else digits
    return f"-{text}" if value < 0 else text


def listed(values: Sequence[int], decimals: int) -> str:
    """Printed numbers with commas between them."""
    return ", ".join(shown(value, decimals) for value in values)


def ordinal(place: int) -> str:
    """'first' for 1, up to 'sixteenth'."""
    return ORDINALS[place - 1]

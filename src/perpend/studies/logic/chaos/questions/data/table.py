"""Reading a table of two indicators against a parameter: where they agree, and where they do not.

The two tables of a square differ only in the order of the second indicator's column.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from perpend.studies.logic.chaos.questions.data.sheet import COUNTS, Dice, Square, ordinal, shown, squared, told

Ask = Callable[[Dice], Square | None]


@dataclass(frozen=True, slots=True)
class IndicatorColumn:
    """An indicator as a column: its name, the whole numbers it takes, its decimals, and where its limit may lie."""

    name: str
    low: int
    high: int
    decimals: int
    limits: tuple[int, int]

    @property
    def noun(self) -> str:
        """'the exponent', but 'K' and 'MEGNO'."""
        return self.name if self.name[0].isupper() else f"the {self.name}"


COLUMNS = (
    IndicatorColumn("exponent", -420, 560, 3, (10, 60)),
    IndicatorColumn("K", 2, 99, 2, (40, 80)),
    IndicatorColumn("entropy", 120, 960, 3, (450, 700)),
    IndicatorColumn("MEGNO", 18, 260, 1, (40, 120)),
    IndicatorColumn("flatness", 3, 88, 2, (20, 60)),
)
OPENINGS = (
    "A parameter scan gave the following table: {}.",
    "Two indicators were computed along a scan: {}.",
    "The table of a scan, row by row: {}.",
    "In the supplement, the scan is given as follows: {}.",
    "Results of a scan over one parameter: {}.",
    "A student's table of two indicators: {}.",
    "Along the scan these values were noted: {}.",
    "The log of a parameter study holds these entries: {}.",
    "The following was measured: {}.",
    "For each setting two indicators were taken: {}.",
    *told(
        (
            "A table of two indicators",
            "The result of a parameter scan",
            "A scan over one parameter",
            "The record of a parameter study",
            "A page of the lab book",
            "The output of a scan with two indicators",
            "A comparison of two indicators",
            "The table behind a figure",
            "A short table in the appendix",
            "The file with the two indicators",
        ),
        (
            "reads as follows: {}",
            "gives these rows: {}",
            "lists the following: {}",
            "looks like this: {}",
            "contains these rows: {}",
            "shows {}",
        ),
    ),
)
ROWS = (
    "{p} = {x}: {m} {a}, {n} {b}",
    "{p} = {x} with {m} {a} and {n} {b}",
    "{p} = {x}, {m} = {a}, {n} = {b}",
    "{p} = {x} ({m} {a}, {n} {b})",
)


@dataclass(frozen=True, slots=True)
class IndicatorTable:
    """A parameter with its values, two columns with their limits, and the first column's values."""

    parameter: str
    at: list[int]
    first: IndicatorColumn
    second: IndicatorColumn
    limits: tuple[int, int]
    values: list[int]

    def where(self, row: int) -> str:
        """'r = 3.20'."""
        return f"{self.parameter} = {shown(self.at[row], 2)}"

    def chaotic(self, column: Sequence[int]) -> list[tuple[bool, bool]]:
        """For each row, whether the first and the second indicator read it as chaotic."""
        return [(a > self.limits[0], b > self.limits[1]) for a, b in zip(self.values, column, strict=True)]


def agree_count(dice: Dice) -> Square | None:
    """The number of rows in which the two agree."""
    table, columns = _drawn(dice)
    answers = [sum(a == b for a, b in table.chaotic(column)) for column in columns]
    word = dice.pick(("agree", "disagree"))
    say = f"the two indicators|{word}|in exactly {{}} rows"
    total = len(table.at)
    claims = {n: say.format(COUNTS[n if word == "agree" else total - n]) for n in range(2, total - 1)}
    return squared("agree_count", _texts(dice, table, columns), _rule(dice, table), claims, answers, (2 * total, 4))


def agree_row(dice: Dice) -> Square | None:
    """Whether the two agree in one row."""
    table, columns = _drawn(dice)
    row = dice.below(len(table.at))
    verdicts = [table.chaotic(column)[row] for column in columns]
    answers = ["agree" if a == b else "disagree" for a, b in verdicts]
    claims = {word: f"the two indicators|{word}|at {table.where(row)}" for word in ("agree", "disagree")}
    return squared("agree_row", _texts(dice, table, columns), _rule(dice, table), claims, answers, (4, 2))


def odd_row(dice: Dice) -> Square | None:
    """Which row is the only one in which they disagree, or agree."""
    table, columns = _drawn(dice)
    alike = dice.coin()
    rows = [[row for row, (a, b) in enumerate(table.chaotic(c)) if (a == b) == alike] for c in columns]
    if any(len(row) != 1 for row in rows):
        return None
    answers = [row[0] for row in rows]
    word = "agree" if alike else "disagree"
    say = dice.pick(
        (f"the only row in which the two {word}|is|that at {{}}", f"{{}}|is|the only row in which the two {word}")
    )
    claims = {row: say.format(table.where(row)) for row in answers}
    return squared("odd_row", _texts(dice, table, columns), _rule(dice, table), claims, answers, (2 * len(table.at), 3))


def implies(dice: Dice) -> Square | None:
    """Whether chaos by one indicator always goes with chaos by the other."""
    table, columns = _drawn(dice)
    turned = dice.coin()
    if not any(a > table.limits[0] for a in table.values) or not any(b > table.limits[1] for b in columns[0]):
        return None
    answers = [all(not (b if turned else a) or (a if turned else b) for a, b in table.chaotic(c)) for c in columns]
    given, other = (table.second.noun, table.first.noun) if turned else (table.first.noun, table.second.noun)
    claims = {
        True: f"every row that is chaotic by {given}|is|chaotic by {other} too",
        False: f"at least one row that is chaotic by {given}|is|regular by {other}",
    }
    return squared("implies", _texts(dice, table, columns), _rule(dice, table), claims, answers, (2 * len(table.at), 3))


def first_both(dice: Dice) -> Square | None:
    """The first or last row that both read as chaotic, or as regular."""
    table, columns = _drawn(dice)
    kind, last = dice.coin(), dice.coin()
    rows = [[row for row, (a, b) in enumerate(table.chaotic(c)) if a == b == kind] for c in columns]
    if not all(rows):
        return None
    answers = [row[-1 if last else 0] for row in rows]
    word, end = "chaotic" if kind else "regular", "last" if last else "first"
    claims = {row: f"the {end} row that both indicators call {word}|is|that at {table.where(row)}" for row in answers}
    return squared(
        "first_both", _texts(dice, table, columns), _rule(dice, table), claims, answers, (2 * len(table.at), 3)
    )


def same_peak(dice: Dice) -> Square | None:
    """Whether the largest or smallest values of both stand in one row."""
    table, columns = _drawn(dice)
    pick, word = dice.pick(((max, "largest"), (min, "smallest")))
    spot = table.values.index(pick(table.values))
    answers = ["same" if column.index(pick(column)) == spot else "different" for column in columns]
    subject = f"the {word} {table.first.name} and the {word} {table.second.name}"
    claims = {"same": f"{subject}|stand|in the same row", "different": f"{subject}|stand|in different rows"}
    return squared("same_peak", _texts(dice, table, columns), "", claims, answers, (2 * len(table.at), 3))


def more_rows(dice: Dice) -> Square | None:
    """Which of the two reads more rows of one half of the table as chaotic."""
    table, columns = _drawn(dice)
    cut, upper = dice.between(2, len(table.at) - 3), dice.coin()
    differences = []
    for column in columns:
        kept = table.chaotic(column)[cut + 1 :] if upper else table.chaotic(column)[: cut + 1]
        differences.append(sum(a for a, _ in kept) - sum(b for _, b in kept))
    if 0 in differences:
        return None
    answers = ["more" if difference > 0 else "fewer" for difference in differences]
    side = (
        f"with {table.parameter} {'above' if upper else 'below'} {shown((table.at[cut] + table.at[cut + 1]) // 2, 2)}"
    )
    ends = f"chaotic by {table.first.noun} than by {table.second.noun}"
    claims = {word: f"{word} of the rows {side}|are|{ends}" for word in ("more", "fewer")}
    entries = 2 * (len(table.at) - cut - 1 if upper else cut + 1)
    return squared("more_rows", _texts(dice, table, columns), _rule(dice, table), claims, answers, (entries, 4))


def same_direction(dice: Dice) -> Square | None:
    """Whether both always move the same way from row to row."""
    table, columns = _drawn(dice)
    ranks = sorted(range(len(table.values)), key=lambda row: table.values[row])
    together = [0] * len(ranks)
    for value, row in zip(sorted(columns[0]), ranks, strict=True):
        together[row] = value
    other = list(together)
    row = dice.below(len(ranks) - 1)
    other[row], other[row + 1] = together[row + 1], together[row]
    columns = [together, other] if dice.coin() else [other, together]

    def ways(column: Sequence[int]) -> bool:
        first = [b > a for a, b in zip(table.values, table.values[1:], strict=False)]
        return first == [b > a for a, b in pairwise(column)]

    answers = [ways(column) for column in columns]
    names = f"{table.first.noun} and {table.second.noun}"
    claims = {
        True: f"{names}|move|in the same direction at every step from row to row",
        False: f"{names}|move|in opposite directions at one step or more from row to row",
    }
    return squared("same_direction", _texts(dice, table, columns), "", claims, answers, (2 * len(table.at), 3))


def ranked_row(dice: Dice) -> Square | None:
    """The verdict of one indicator in the row where the other has a given rank."""
    table, columns = _drawn(dice)
    rank = dice.between(1, 3)
    rows = [sorted(column, reverse=True)[rank - 1] for column in columns]
    answers = []
    for column, value in zip(columns, rows, strict=True):
        answers.append("chaotic" if table.values[column.index(value)] > table.limits[0] else "regular")
    place = "largest" if rank == 1 else f"{ordinal(rank)} largest"
    subject = f"the row with the {place} {table.second.name}"
    claims = {word: f"{subject}|is|{word} by {table.first.noun}" for word in ("chaotic", "regular")}
    texts = _texts(dice, table, columns)
    return squared("ranked_row", texts, _rule(dice, table), claims, answers, (len(table.at) + 2, 3))


ASKS: tuple[Ask, ...] = (
    agree_count, agree_row, odd_row, implies, first_both, same_peak, more_rows, same_direction, ranked_row,
)  # fmt: skip


def _drawn(dice: Dice) -> tuple[IndicatorTable, list[list[int]]]:
    """A table, and two orders of its second column."""
    first, second = dice.mixed(COLUMNS)[:2]
    count = dice.between(5, 7)
    limits = (dice.between(*first.limits), dice.between(*second.limits))
    start, step = dice.between(20, 400), dice.pick((5, 10, 20, 25))
    at = [start + step * row for row in range(count)]
    values = _column(dice, first, limits[0], count)
    column = _column(dice, second, limits[1], count)
    table = IndicatorTable(dice.pick("bcrpqs"), at, first, second, limits, values)
    return table, [column, dice.mixed(column)]


def _column(dice: Dice, column: IndicatorColumn, limit: int, count: int) -> list[int]:
    """Different values, two or more on each side of the limit, none too close to it."""
    while True:
        values = dice.apart(count, column.low, column.high, 3)
        above = sum(value > limit for value in values)
        if 2 <= above <= count - 2 and all(abs(value - limit) > 2 for value in values):
            return values


def _rule(dice: Dice, table: IndicatorTable) -> str:
    """The criteria of both indicators."""
    first, second = table.first.noun, table.second.noun
    one, two = (
        shown(limit, column.decimals) for column, limit in zip((table.first, table.second), table.limits, strict=True)
    )
    return dice.pick(
        (
            (
                f"A row is chaotic by {first} if the value is above {one}, and chaotic by {second} if that value is"
                f" above {two};"
                " otherwise it is regular by that indicator."
            ),
            (
                f"As limits, {first} uses {one} and {second} uses {two}: a value above the limit makes the row"
                " chaotic by that"
                " indicator, a value below it regular."
            ),
            (
                f"By {first}, rows above {one} are chaotic and the others regular; by {second}, rows above {two} are"
                " chaotic and"
                " the others regular."
            ),
        )
    )


def _texts(dice: Dice, table: IndicatorTable, columns: Sequence[Sequence[int]]) -> list[str]:
    opening, style, whole = dice.pick(OPENINGS), dice.pick(ROWS), dice.below(4) == 0
    texts = []
    for column in columns:
        at = [shown(value, 2) for value in table.at]
        ones = [shown(value, table.first.decimals) for value in table.values]
        twos = [shown(value, table.second.decimals) for value in column]
        if whole:
            body = (
                f"{table.parameter}: {', '.join(at)}; {table.first.name}: {', '.join(ones)};"
                f" {table.second.name}: {', '.join(twos)}, all in the same order"
            )
        else:
            names = {"p": table.parameter, "m": table.first.name, "n": table.second.name}
            rows = zip(at, ones, twos, strict=True)
            body = "; ".join(style.format(x=x, a=a, b=b, **names) for x, a, b in rows)
        texts.append(opening.format(body))
    return texts

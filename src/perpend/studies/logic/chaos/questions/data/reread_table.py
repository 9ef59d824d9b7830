"""The label of a question about a table of two indicators, from its text."""

from __future__ import annotations

import re
from dataclasses import dataclass
from decimal import Decimal

from perpend.errors import DataError
from perpend.studies.logic.chaos.questions.data.reread import NUMBER, Reader, directions, judged, place, stated, whole

_NAME = r"(exponent|K|entropy|MEGNO|flatness)"
_CELL = rf"{_NAME}(?: =)? ({NUMBER})"
_ROW = re.compile(rf"\b[a-z] = ({NUMBER})(?::| with| \(|,) ?{_CELL}(?:,| and) {_CELL}")
_COLUMNS = re.compile(rf"\b[a-z]: ([-\d., ]+); {_NAME}: ([-\d., ]+); {_NAME}: ([-\d., ]+), all in the same order")


@dataclass(frozen=True, slots=True)
class StatedTable:
    """Parameter values as printed, and the columns by the names of their indicators."""

    at: list[str]
    columns: dict[str, list[Decimal]]

    def verdicts(self, text: str) -> dict[str, list[bool]]:
        """For each indicator, whether a row is chaotic by it, by the limits that the text states."""
        return {name: [value > _limit(name, text) for value in column] for name, column in self.columns.items()}


def relabel_table(text: str) -> bool:
    """Whether the claim holds; a DataError where the text cannot be read."""
    return judged(text, _READERS)


def _table(text: str) -> StatedTable:
    rows = _ROW.findall(text)
    if len(rows) > 2:
        names = {(row[1], row[3]) for row in rows}
        if len(names) != 1:
            raise DataError(f"the rows name different indicators in: {text}")
        columns = {rows[0][1]: [Decimal(row[2]) for row in rows], rows[0][3]: [Decimal(row[4]) for row in rows]}
        return StatedTable([row[0] for row in rows], columns)
    match = _COLUMNS.search(text)
    if match is None:
        raise DataError(f"no table is found in: {text}")
    at, first, ones, second, twos = match.groups()
    read = {name: [Decimal(entry) for entry in column.split(", ")] for name, column in ((first, ones), (second, twos))}
    if len({len(at.split(", ")), *map(len, read.values())}) != 1:
        raise DataError(f"the columns differ in length in: {text}")
    return StatedTable(at.split(", "), read)


def _limit(name: str, text: str) -> Decimal:
    noun = rf"(?:the )?{name}"
    above = rf"by {noun} if (?:the|that) value is above ({NUMBER})|[Bb]y {noun}, rows above ({NUMBER})"
    return Decimal(stated(rf"{above}|{noun} uses ({NUMBER})", text))


def _alike(text: str) -> list[tuple[str, bool]]:
    """The parameter value of each row, and whether the two indicators agree there."""
    table = _table(text)
    first, second = table.verdicts(text).values()
    return [(at, a is b) for at, a, b in zip(table.at, first, second, strict=True)]


def _count(match: re.Match[str], text: str) -> bool:
    return [same for _, same in _alike(text)].count(match[1] == "agree") == whole(match[2])


def _row(match: re.Match[str], text: str) -> bool:
    return dict(_alike(text))[match[2]] == (match[1] == "agree")


def _only(match: re.Match[str], text: str) -> bool:
    word = "disagree" if "disagree" in match[0] else "agree"
    rows = [at for at, same in _alike(text) if same == (word == "agree")]
    return rows == [stated(rf"= ({NUMBER})", match[0])]


def _implies(match: re.Match[str], text: str) -> bool:
    verdicts = _table(text).verdicts(text)
    broken = any(a and not b for a, b in zip(verdicts[match[2]], verdicts[match[4]], strict=True))
    return broken == (match[3] == "regular")


def _both(match: re.Match[str], text: str) -> bool:
    table = _table(text)
    first, second = table.verdicts(text).values()
    wanted = (match[2] == "chaotic",) * 2
    rows = [at for at, *pair in zip(table.at, first, second, strict=True) if tuple(pair) == wanted]
    return bool(rows) and rows[-1 if match[1] == "last" else 0] == match[3]


def _peak(match: re.Match[str], text: str) -> bool:
    columns = _table(text).columns
    best = max if match[1] == "largest" else min
    spots = {column.index(best(column)) for column in (columns[match[2]], columns[match[3]])}
    return (len(spots) == 1) == (match[4] == "the same row")


def _more(match: re.Match[str], text: str) -> bool:
    table, cut = _table(text), Decimal(match[3])
    verdicts = table.verdicts(text)
    kept = [spot for spot, at in enumerate(table.at) if (Decimal(at) > cut) == (match[2] == "above")]
    gap = sum(verdicts[match[4]][spot] for spot in kept) - sum(verdicts[match[5]][spot] for spot in kept)
    return gap > 0 if match[1].lower() == "more" else gap < 0


def _direction(match: re.Match[str], text: str) -> bool:
    columns = _table(text).columns
    same = directions(columns[match[1]]) == directions(columns[match[2]])
    return same == (match[3] == "the same direction")


def _ranked(match: re.Match[str], text: str) -> bool:
    table = _table(text)
    column = table.columns[match[2]]
    rank = place(match[1].strip()) if match[1] else 1
    spot = next(spot for spot, value in enumerate(column) if len([v for v in column if v >= value]) == rank)
    return table.verdicts(text)[match[4]][spot] == (match[3] == "chaotic")


_BY = rf"by (?:the )?{_NAME}"
_READERS: tuple[Reader, ...] = tuple(
    (re.compile(words), judge)
    for words, judge in (
        (r"(?<!only row in which )the two indicators (agree|disagree) in exactly (\w+) rows", _count),
        (rf"the two indicators (agree|disagree) at \w = ({NUMBER})", _row),
        (
            (
                rf"only row in which the two (?:dis)?agree (?:is )?that at \w = {NUMBER}"
                rf"|\w = {NUMBER} (?:is )?the only row in which the two (?:dis)?agree"
            ),
            _only,
        ),
        (rf"([Ee]very|[Aa]t least one) row that is chaotic {_BY} (?:is )?(chaotic|regular) {_BY}", _implies),
        (rf"the (first|last) row that both indicators call (chaotic|regular) (?:is )?that at \w = ({NUMBER})", _both),
        (rf"the (largest|smallest) {_NAME} and the \w+ {_NAME} stand in (the same row|different rows)", _peak),
        (rf"([Mm]ore|[Ff]ewer) of the rows with \w (above|below) ({NUMBER}) (?:are )?chaotic {_BY} than {_BY}", _more),
        (rf"{_NAME} and (?:the )?{_NAME} move in (the same direction|opposite directions)", _direction),
        (rf"row with the ((?:second|third) )?largest {_NAME} (?:is )?(chaotic|regular) {_BY}", _ranked),
    )
)

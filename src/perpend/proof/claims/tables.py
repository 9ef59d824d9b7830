"""The numbers in a paper's tables, each with its cell: file, table, row and column. LaTeX, Markdown and CSV."""

from __future__ import annotations

import csv
import html
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from itertools import islice
from pathlib import Path

from perpend.canon import JSON
from perpend.errors import SpecError
from perpend.inert import one_line
from perpend.proof.claims.extract import PaperReader
from perpend.proof.claims.tabular import SUBSCRIPT, Entry, PaperTable, tabulars, typeset
from perpend.proof.claims.tex import Typed

MAX_NUMBERS = 20_000
MAX_COLUMNS = 500
_LONGEST = 300
_LATEX, _MARKDOWN, _CSV = (".tex", ".ltx", ".latex"), (".md", ".markdown"), (".csv", ".tsv")
_NUMBER = re.compile(
    r"(?P<sign>(?<![\d.)%\]])[-+−])?\s?(?P<digits>\d{1,3}(?:[,\u2009]\d{3})+(?![\d,])(?:\.\d+)?|\d+(?:\.\d+)?|\.\d+)"
    r"(?:\((?P<last>\d{1,4})\))?"
    r"(?:\s?×\s?10\s?\^?\s?(?P<power>[-−+]?\d{1,3})|[eE](?P<exponent>[-+]?\d{1,3})(?![\w.]))?(?P<percent>\s?%)?"
)
_BOUND = re.compile(r"[<>≤≥≈]\s?\Z")
# What a cell of numbers may hold beside them.
_BESIDE = re.compile(r"(?i)(?<![a-z])(?:pp|pts?|n|p|ci|se|sd|n\.s)(?![a-z])|[^\w]|_|" + SUBSCRIPT)
_DECIMAL_COMMA = re.compile(r"\d,(?:\d{1,2}|\d{4,})(?!\d)")
_RULE = re.compile(r"\s{0,3}\|?\s*:?-+:?\s*(?:\|\s*:?-+:?\s*){0,200}\|?\s*")
_FENCE = re.compile(r"\s{0,3}(```+|~~~+)")
_BAR = re.compile(r"(?<!\\)\|")
_EMPHASIS = re.compile(r"\*\*|__|(?<![\w*])[*_](?=\S)|(?<=\S)[*_](?![\w*])|`")
_TAG = re.compile(r"<[^<>]{1,200}>")
_LINK = re.compile(r"!?\[([^\[\]]{0,300})\]\([^()]{0,500}\)")
# Not the 95% of an interval.
_PERCENT = re.compile(r"(?i)(?<!\d)(?<!\d )%|percent|per cent")


@dataclass(frozen=True, slots=True)
class TableNumber:
    """A number in a cell. `part` says which of several in the cell: '' the first, '±' what follows that sign."""

    file: str
    table: int
    label: str
    line: int
    row: str
    column: str
    text: str
    value: Decimal
    part: str = ""
    is_percent: bool = False
    marked: bool = False

    @property
    def cell(self) -> str:
        """Where it is, in words."""
        label = f" ({self.label})" if self.label else ""
        part = f", {self.part}" if self.part else ""
        place = f"{self.file}:{self.line}, table {self.table}{label}"
        return one_line(f"{place}, row {self.row!r}, column {self.column!r}{part}")

    def as_json(self) -> dict[str, JSON]:
        """The number and its cell as JSON."""
        return {
            "file": self.file, "line": self.line, "table": self.table, "label": self.label or None, "row": self.row,
            "column": self.column, "part": self.part or None, "text": self.text, "expect": str(self.value),
            "percent": self.is_percent, "bold": self.marked,
        }  # fmt: skip


@dataclass(frozen=True, slots=True)
class PaperTables:
    """The numbers of all tables of a paper, and notes on what was left out."""

    tables: int
    numbers: tuple[TableNumber, ...]
    notes: tuple[str, ...]
    typed: tuple[tuple[str, Typed], ...] = ()
    """Numbers of a LaTeX source outside of its tables, each with its file."""


def read_tables(paper: Path) -> PaperTables:
    """The numbers in the tables of a LaTeX source with its inputs, of a Markdown file, or of a CSV file."""
    if not paper.is_file():
        raise SpecError(f"{paper}: no such file; give a LaTeX source, a Markdown file or a table as CSV")
    reader = PaperReader(paper.parent.resolve())
    grids: list[tuple[str, PaperTable]] = []
    suffix = paper.suffix.lower()
    if suffix in (*_MARKDOWN, *_CSV):
        text = reader.text(paper.resolve(), paper.name)
        read = _markdown(text) if suffix in _MARKDOWN else _csv(text, paper)
        grids += [(paper.name, grid) for grid in read]
    else:
        reader.read(paper.resolve())
        grids += [(name, grid) for name, text in reader.texts for grid in tabulars(text)]
    inside = {(name, line) for name, grid in grids for line in range(grid.line, grid.last + 1)}
    typed = tuple(
        (name, one) for name, source in reader.sources for one in source.numbers if (name, one.line) not in inside
    )
    notes = list(reader.notes)
    numbers: list[TableNumber] = []
    for place, (name, grid) in enumerate(grids, 1):
        numbers += _numbers(name, place, grid, notes)
        if len(numbers) > MAX_NUMBERS:
            raise SpecError(f"{paper}: its tables hold more than {MAX_NUMBERS} numbers; give fewer tables at a time")
    return PaperTables(len(grids), tuple(numbers), tuple(notes), typed)


def _markdown(text: str) -> Iterator[PaperTable]:
    lines = text.split("\n")
    fence, grid = "", None
    for number, line in enumerate(lines):
        mark = _FENCE.match(line)
        if mark is not None and (not fence or mark[1].startswith(fence)):
            fence = "" if fence else mark[1][:3]
        if fence or "|" not in line:
            if grid is not None:
                yield grid
            grid = None
        elif grid is not None:
            grid.rows.append(_bars(line, number + 1))
        elif number and "|" in lines[number - 1] and _RULE.fullmatch(line):
            grid = PaperTable("", number, [_bars(lines[number - 1], number)], 1)
    if grid is not None:
        yield grid


def _bars(line: str, number: int) -> list[Entry]:
    cells = _BAR.split(line.strip().removeprefix("|"))
    cells = cells[:-1] if cells and not cells[-1].strip() else cells
    return [_printed(cell, number) for cell in cells]


def _printed(cell: str, number: int) -> Entry:
    """A cell of Markdown as it is shown."""
    marked = "**" in cell or "__" in cell or "<b>" in cell.lower()
    text = _TAG.sub(" ", _LINK.sub(r"\1", cell.replace("\\|", "|")))
    if "$" in text:
        text = typeset(_EMPHASIS.sub(lambda mark: mark.group() if mark.group() == "_" else "", text), number).text
    else:
        text = _EMPHASIS.sub("", text).replace("\\%", "%")
    return Entry(" ".join(html.unescape(text).replace("+/-", "±").split()), number, marked=marked)


def _csv(text: str, path: Path) -> Iterator[PaperTable]:
    first = text.partition("\n")[0]
    delimiter = "\t" if path.suffix.lower() == ".tsv" else max(",;\t", key=first.count)
    reader = csv.reader(text.split("\n"), delimiter=delimiter, strict=False)
    grid = PaperTable("", 1, [], 1)
    try:
        for row in reader:
            if any(cell.strip() for cell in row):
                grid.rows.append([_printed(cell, reader.line_num) for cell in row])
    except csv.Error as error:
        raise SpecError(f"{path}:{reader.line_num}: no CSV: {error}") from None
    if grid.rows:
        yield grid


def _numbers(file: str, place: int, grid: PaperTable, notes: list[str]) -> Iterator[TableNumber]:
    """The numbers of one table; a cell with digits that is no plain number is left out, and noted."""
    rows = _spread(grid.rows)
    width = max((len(row) for row in rows), default=0)
    head = min(grid.head or _without_numbers(rows), len(rows))
    columns = [_joined(row[column].text for row in rows[:head] if column < len(row)) for column in range(width)]
    labels = _label_columns([row for row in rows[head:] if not _heads_rows(row)], width)
    group = ""
    for row in rows[head:]:
        texts = [entry.text for entry in row]
        if _heads_rows(row):
            group = _joined(texts)
            continue
        name = _joined([group, *texts[:labels]])
        seen: set[int] = set()
        for column in range(labels, len(row)):
            entry = row[column]
            if id(entry) in seen or not any(character.isdigit() for character in entry.text):
                continue
            seen.add(id(entry))
            if not _is_number(entry.text):
                notes.append(
                    f"{file}:{entry.line}: {entry.text[:80]!r} is no plain number, so nothing is proposed for it"
                )
                continue
            percent = bool(_PERCENT.search(columns[column]) or _PERCENT.search(name))
            where = (file, place, grid.label, entry.line, name, columns[column] or f"column {column + 1}",
                     " ".join(entry.text.replace(SUBSCRIPT, " ").split()))  # fmt: skip
            for value, part, own in _values(entry.text, f"{file}:{entry.line}", notes):
                yield TableNumber(*where, value, part, percent or own, entry.marked)


def _spread(rows: Sequence[Sequence[Entry]]) -> list[list[Entry]]:
    """Rows with an entry for each column: what spans several is in each of them."""
    spread: list[list[Entry]] = []
    below: dict[int, tuple[Entry, int]] = {}
    for row in rows:
        wide = list(islice((entry for entry in row for _ in range(entry.span)), MAX_COLUMNS))
        for column, (entry, left) in list(below.items()):
            if column < len(wide) and not wide[column].text:
                wide[column] = entry
            below[column] = entry, left - 1
        below = {column: one for column, one in below.items() if one[1] > 0}
        for column, entry in enumerate(wide):
            if entry.rows > 1 and column not in below:
                below[column] = entry, entry.rows - 1
        spread.append(wide)
    return spread


def _without_numbers(rows: Sequence[Sequence[Entry]]) -> int:
    """How many rows come before the first that has a number beside its first cell; at least one."""
    first = next((n for n, row in enumerate(rows) if any(_is_number(entry.text) for entry in row[1:])), 1)
    return max(first, 1)


def _label_columns(rows: Sequence[Sequence[Entry]], width: int) -> int:
    """How many columns name a row: the first, and those after it that hold a word."""
    count = 1
    while count < width - 1 and any(
        len(row) > count and any(map(str.isalpha, row[count].text)) and not _is_number(row[count].text)
        and row[count].text.lower() not in ("n/a", "na", "n.a.", "nan")
        for row in rows
    ):  # fmt: skip
        count += 1
    return min(count, width)


def _heads_rows(row: Sequence[Entry]) -> bool:
    """Whether a line names the rows below it: one text, and it is no number."""
    texts = {entry.text for entry in row if entry.text}
    return not texts or (len(texts) == 1 and not _is_number(texts.pop()))


def _joined(texts: Sequence[str] | Iterator[str]) -> str:
    return " / ".join(dict.fromkeys(text for text in texts if text))[:_LONGEST]


def _is_number(text: str) -> bool:
    if len(text) > _LONGEST:
        return False
    rest = _NUMBER.sub("", text)
    return rest != text and not _BESIDE.sub("", rest).strip() and not _DECIMAL_COMMA.search(text)


def _values(text: str, where: str, notes: list[str]) -> Iterator[tuple[Decimal, str, bool]]:
    """Each number of a cell with its part, and whether it has a percent sign; a bound is noted and left out."""
    for place, match in enumerate(_NUMBER.finditer(text), 1):
        before = text[: match.start()].rstrip()[-3:]
        if _BOUND.search(before):
            notes.append(f'{where}: {text[:80]!r} is a bound; write it as an order, such as order = "… < 0.001"')
            continue
        part = "" if place == 1 else f"number {place}"
        part = "±" if before.endswith("±") else "subscript" if before.endswith(SUBSCRIPT) else part
        digits = match["digits"].replace(",", "").replace("\u2009", "")
        if len(digits) > 50:
            notes.append(f"{where}: a number of {len(digits)} digits was left out")
            continue
        power = (match["power"] or match["exponent"] or "0").replace("−", "-")
        sign = "-" if (match["sign"] or "") in ("-", "−") and part != "±" else ""
        value = Decimal(f"{sign}{digits}E{power}")
        yield value, part, match["percent"] is not None
        exponent = value.as_tuple().exponent
        if match["last"] and isinstance(exponent, int):  # 0.42(3) is 0.42 ± 0.03
            yield Decimal(int(match["last"])).scaleb(exponent), "±", match["percent"] is not None

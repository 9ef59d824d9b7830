"""Rows of a file, one at a time, with their places: CSV, TSV, JSON, JSONL or Parquet, in UTF-8, UTF-16 or UTF-32.

What a file is, is read from its content, and its ending decides only between CSV and TSV. A place is 'file:line', or
'file: row N' where a format has no lines. An error names it.
"""

from __future__ import annotations

import codecs
import csv
import datetime
import decimal
import io
import math
import re
from collections.abc import Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import BinaryIO, TypeAlias

from perpend.canon import JSON, json_object, open_file
from perpend.errors import DataError, SpecError, a_or_an

Row: TypeAlias = tuple[str, dict[str, JSON]]
"""A place, and cells by the names of their columns. Of CSV, TSV and Parquet each row has every column; a blank cell is
None."""
FORMATS = "CSV, TSV, JSON, JSONL or Parquet"
_LONGEST = 1 << 25
"""32 MB: no line and no row is that long, unless somebody means harm or forgot to close a quote."""
_READ_AHEAD = 1 << 20
_LARGEST_GROUP = 1 << 30
_HEAD = 1 << 16
_MARKS = (
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_POINTER = b"version https://git-lfs.github.com/"
_FOREIGN = (
    (b"PK\x03\x04", "a zip archive or an Excel workbook; save the sheet as CSV"),
    (b"\xd0\xcf\x11\xe0", "an Excel workbook; save the sheet as CSV"),
    (b"\x1f\x8b", "packed with gzip; unpack it first"),
    (b"\x28\xb5\x2f\xfd", "packed with Zstandard; unpack it first"),
    (b"SQLite format 3\x00", f"a SQLite file; give {FORMATS}"),
    (_POINTER, "a Git LFS pointer, not the file; fetch it with 'git lfs pull'"),
    (b"%PDF", f"a PDF; give {FORMATS}"),
)
_LINES = (".jsonl", ".ndjson")
_RECORDS = ' (in pandas: to_json(orient="records"))'
_QUOTED = re.compile(r'"[^"]*+"?')
_SEPARATOR = re.compile(r"sep=(.)\s*", re.IGNORECASE)
_LONE_RETURN = re.compile(r"(?<=\r)(?!\n)")


def read_rows(path: Path, *, constants: bool = False, advice: str = "") -> Iterator[Row]:
    """Every row of a file. A JSON file is a list of objects, or an object with one such list.

    `constants` lets NaN and Infinity of JSON pass. Blank lines are passed over.
    """
    with open_file(path, DataError, advice) as file:
        try:
            head = file.read(_HEAD)
            file.seek(0)
            kind, encoding = _kind(head, path)
            if kind == "parquet":
                yield from _parquet(file, path)
            elif kind.startswith("json "):
                yield from _json(path, encoding, is_list=kind == "json list", constants=constants)
            elif kind == "jsonl":
                for number, line in _lines(file, path, encoding):
                    if line.strip():
                        yield f"{path}:{number}", json_object(line, f"{path}:{number}", constants=constants)
            else:
                for place, cells in _csv(file, path, encoding):
                    yield place, {name: cell if cell.strip() else None for name, cell in cells.items()}
        except OSError as error:
            raise DataError(f"{path}: cannot be read: {error.strerror or error}") from None


def csv_rows(path: Path, unnamed: str = "") -> Iterator[tuple[str, dict[str, str]]]:
    """('file:line', cells by the names in the first line) of every row of a CSV file; the line is the row's last.

    A comma, a semicolon or a tab is between the cells, whichever gives the first line most of them. A row whose cells
    are all blank is passed over, and so is a column without a name; of the first one `unnamed` is the name.
    """
    with open_file(path) as file:
        head = file.read(_HEAD)
        file.seek(0)
        yield from _csv(file, path, _encoding(head, path), unnamed)


def first_row(path: Path) -> dict[str, JSON]:
    """The first row of a file of rows; empty where it is no such file. Of one JSON object around its rows, too."""
    try:
        with open_file(path) as file:
            kind, _ = _kind(file.read(_HEAD), path)
        return {} if kind == "json object" else next(iter(read_rows(path, constants=True)), ("", {}))[1]
    except (DataError, SpecError):
        return {}


def names_at_start(path: Path, names: Iterable[str]) -> bool:
    """Whether a file names all these keys or columns at its start, whatever else may be wrong with it.

    So a damaged file of a folder is known for what it is, and is refused and not passed over.
    """
    with open_file(path) as file:
        head = file.read(_HEAD).replace(b"\0", b"")
    if head.startswith(_POINTER):
        raise DataError(f"{path}: a Git LFS pointer, not the file; fetch it with 'git lfs pull'")
    return all(re.search(rb"(?<![\w.])" + re.escape(name.encode()) + rb"(?![\w.])", head) for name in names)


def is_table(path: Path) -> bool:
    """Whether a file has columns, each of which every row has: CSV, TSV and Parquet. JSON has keys, row by row."""
    with open_file(path) as file:
        return _kind(file.read(_HEAD), path)[0] in ("csv", "parquet")


def _encoding(head: bytes, path: Path) -> str:
    encoding = next((name for mark, name in _MARKS if head.startswith(mark)), "utf-8")
    if encoding.startswith("utf-8") and b"\0" in head:
        raise DataError(f"{path}: holds zero bytes: no text, or UTF-16 without its mark. Save the file as UTF-8")
    return encoding


def _kind(head: bytes, path: Path) -> tuple[str, str]:
    """'parquet', 'json list', 'json object', 'jsonl' or 'csv', and the encoding."""
    if head.startswith(b"PAR1"):
        return "parquet", ""
    for start, what in _FOREIGN:
        if head.startswith(start):
            raise DataError(f"{path}: {what}")
    ending = path.suffix.lower()
    if ending in (".parquet", ".pq"):
        raise DataError(f"{path}: not Parquet: it does not begin with PAR1")
    encoding = _encoding(head, path)
    text = head.decode(encoding, "replace").lstrip("\ufeff \t\r\n")
    if ending in (".csv", ".tsv", ".tab"):
        return "csv", encoding
    if text.startswith("["):
        return "json list", encoding
    if text.startswith("{"):
        return _layout(text, ending, path), encoding
    return "jsonl" if ending in _LINES or ending == ".json" else "csv", encoding


def _layout(text: str, ending: str, path: Path) -> str:
    """'jsonl' where the first line is a row of its own; 'json object' where the file is one object around its rows."""
    first, _, rest = text.partition("\n")
    if ending in _LINES:
        return "json object" if first.strip() == "{" else "jsonl"
    try:
        body = json_object(first, "")
    except DataError:  # it goes on below, or beyond what was read
        return "json object" if rest.strip() or ending == ".json" else "jsonl"
    if body and all(isinstance(value, dict) for value in body.values()):
        raise DataError(f"{path}: an object of columns or of named rows; write a list of rows{_RECORDS}")
    has_rows = any(isinstance(value, list) and value and isinstance(value[0], dict) for value in body.values())
    return "json object" if has_rows and not rest.strip() else "jsonl"


def _lines(file: BinaryIO, path: Path, encoding: str) -> Iterator[tuple[int, str]]:
    """(number, line) of every line of a text, blank ones included."""
    is_utf8 = encoding.startswith("utf-8")
    text = None if is_utf8 else io.TextIOWrapper(file, encoding=encoding, newline="")
    read = partial((text or file).readline, _LONGEST + 1)
    number = 0
    try:
        while line := read():
            number += 1
            if len(line) > _LONGEST:
                raise DataError(f"{path}:{number}: longer than {_LONGEST >> 20} MB, which no line is")
            if isinstance(line, bytes):
                line = line.removeprefix(codecs.BOM_UTF8 if number == 1 else b"").decode("utf-8")
            yield number, line
    except UnicodeDecodeError as error:
        place = f"{path}:{number}: not UTF-8 at byte {error.start}" if is_utf8 else f"{path}: not {encoding.upper()}"
        raise DataError(f"{place}; save the file as UTF-8") from None
    finally:
        if text is not None and not file.closed:
            text.detach()  # whoever opened the file closes it


def _csv(file: BinaryIO, path: Path, encoding: str, unnamed: str = "") -> Iterator[tuple[str, dict[str, str]]]:
    pending = 0

    def lines() -> Iterator[str]:
        nonlocal pending
        for _, line in _lines(file, path, encoding):
            pending += len(line)
            if pending > _LONGEST:
                raise DataError(
                    f"{path}:{reader.line_num}: a row of more than {_LONGEST >> 20} MB: a quote is not closed"
                )
            yield from _LONE_RETURN.split(line) if "\r" in line[:-2] else [line]

    source = lines()
    before = csv.field_size_limit(_LONGEST)
    reader = csv.reader(())
    try:
        first, skipped = _first_line(source)
        marked = _SEPARATOR.fullmatch(first)
        if marked is not None:  # Excel says so what is between the cells
            first, more = _first_line(source)
            skipped += more + 1
        delimiter = marked[1] if marked else _delimiter(first, path)
        reader = csv.reader(_chained(first, source), delimiter=delimiter, strict=True)
        names = [name.strip() for name in next(reader, [])]
        names[:1] = [names[0] or unnamed] if names else []
        _check_names(names, path)
        for cells in reader:
            pending = 0
            if not any(cell.strip() for cell in cells):
                continue
            place = f"{path}:{reader.line_num + skipped}"
            if len(cells) != len(names):
                raise DataError(
                    f"{place}: {len(cells)} cells where the first line has {len(names)}. "
                    f"Put a cell that holds {delimiter!r} in quotes"
                )
            yield place, {name: cell for name, cell in zip(names, cells, strict=True) if name}
    except csv.Error as error:
        raise DataError(f"{path}:{reader.line_num}: not CSV: {error}") from None
    finally:
        csv.field_size_limit(before)


def _first_line(source: Iterator[str]) -> tuple[str, int]:
    """The first line that is not blank, and how many lines came before the next."""
    passed = 0
    for line in source:
        if line.strip():
            return line, passed
        passed += 1
    return "", passed


def _chained(first: str, rest: Iterator[str]) -> Iterator[str]:
    yield first
    yield from rest


def _delimiter(first: str, path: Path) -> str:
    if path.suffix.lower() in (".tsv", ".tab"):
        return "\t"
    bare = _QUOTED.sub("", first)
    return max(",;\t", key=bare.count)


def _check_names(names: list[str], path: Path) -> None:
    named = [name for name in names if name]
    twice = sorted({name for name in named if named.count(name) > 1})
    if twice:
        raise DataError(f"{path}:1: two columns are named {twice[0]!r:.80}; rename one")


def _json(path: Path, encoding: str, *, is_list: bool, constants: bool) -> Iterator[Row]:
    from perpend.rows.json_stream import entries, list_keys

    key: str | None = None
    if not is_list:
        with open_file(path) as file:
            keys = list_keys(file, str(path), encoding)
        if len(keys) != 1:
            known = (
                f"these are some: {', '.join(f'{name!r:.80}' for name in keys[:8])}"
                if keys
                else f"it has none{_RECORDS}"
            )
            raise DataError(f"{path}: a JSON file of rows is a list, or an object with one list of objects; {known}")
        key = keys[0]
    with open_file(path) as file:
        for number, body in enumerate(entries(file, str(path), encoding, key, constants=constants), 1):
            place = f"{path}: row {number}"
            if not isinstance(body, dict):
                raise DataError(f"{place}: a JSON object was expected, not {a_or_an(type(body).__name__)}")
            yield place, body


def _parquet(file: BinaryIO, path: Path) -> Iterator[Row]:
    try:
        from pyarrow import ArrowException
        from pyarrow.parquet import ParquetFile
    except ImportError:
        raise SpecError(f"{path}: Parquet needs one more package: pip install 'perpend[parquet]'") from None
    try:
        # Read ahead, pyarrow would keep every column of the whole file.
        table = ParquetFile(file, pre_buffer=False, buffer_size=_READ_AHEAD)
        _check_names(list(table.schema_arrow.names), path)
        for group in range(table.num_row_groups):
            if table.metadata.row_group(group).total_byte_size > _LARGEST_GROUP:
                raise DataError(f"{path}: a row group of more than {_LARGEST_GROUP >> 30} GB; write smaller ones")
        number = 0
        for batch in table.iter_batches(batch_size=256):
            for row in batch.to_pylist():
                number += 1
                place = f"{path}: row {number}"
                yield place, {name: _plain(value, f"{place}: {name!r:.80}") for name, value in row.items()}
    except (ArrowException, OverflowError, UnicodeDecodeError) as error:
        raise DataError(f"{path}: damaged Parquet: {' '.join(str(error).split())[:200]}") from None


def _plain(value: object, where: str) -> JSON:
    """A cell of Parquet as JSON: NaN is no value, a time is ISO 8601, a decimal is a number."""
    if value is None or isinstance(value, str | bool | int):
        return value
    if isinstance(value, float | decimal.Decimal):
        return float(value) if math.isfinite(value) else None
    if isinstance(value, datetime.date | datetime.time):
        return value.isoformat()
    if isinstance(value, list):
        return [_plain(entry, where) for entry in value]
    if isinstance(value, dict):
        return {str(key): _plain(entry, where) for key, entry in value.items()}
    raise DataError(f"{where}: {a_or_an(type(value).__name__)}, which is no text, number or list; leave the column out")

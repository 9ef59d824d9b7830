"""Canonical bytes: JSON read and written, digests, atomic writes, deterministic compression, portable file names.

Everything that is hashed or written goes through here, so the same value gives the same bytes on every machine.
"""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import math
import re
import unicodedata
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import BinaryIO, TypeAlias

from perpend.disk import replacing, unreadable
from perpend.errors import DataError, PerpendError, a_or_an, did_you_mean, near_file
from perpend.opening import plain_handle

VERSION = "0.2.0.dev0"

JSON: TypeAlias = "bool | int | float | str | Sequence[JSON] | Mapping[str, JSON] | None"

# Made once: json.dumps would make an encoder for every call, and a trial takes three.
_ENCODE = json.JSONEncoder(sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False).encode
quoted: Callable[[str], str] = json.encoder.encode_basestring
"""A text as canonical JSON: what `dumps` gives, for lines that are made by hand because there are many."""
_SURROGATES = re.compile("[\ud800-\udfff]")
_UNPORTABLE = re.compile(r"[^A-Za-z0-9._-]+")
# Names that Windows reserves whatever the ending: a folder called NUL.txt cannot be checked out there.
_DEVICE = re.compile(r"(?i)^(con|prn|aux|nul|com[0-9]|lpt[0-9])(\.|$)")
_NAME_BYTES = 100


def dumps(value: JSON) -> str:
    """One line of canonical JSON: sorted keys, no spaces, UTF-8 as it is. NaN and infinity are a ValueError."""
    return _ENCODE(value)


def pretty(value: JSON) -> str:
    """Canonical JSON for reading and diffs: sorted keys, two spaces, one newline at the end."""
    return json.dumps(value, sort_keys=True, indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def digest(value: JSON) -> str:
    """SHA-256, in hex, of the canonical JSON of a value."""
    return hashlib.sha256(dumps(value).encode()).hexdigest()


def opened(path: Path, *, within: Path | None = None) -> io.BufferedReader:
    """A regular file for reading. OSError for anything else, and for a link on the way from `within` to it."""
    return open(path, "rb", opener=partial(plain_handle, within=within))


_DRIVE = re.compile(r"[A-Za-z]:|[A-Za-z][A-Za-z0-9+.-]*:/")  # of Windows, and the scheme of an address


def inside(folder: Path, name: str, where: str) -> Path:
    """The path in a folder that a stranger's file names. DataError where it leads out of it, also by way of a link."""
    parts = re.split(r"[/\\]", name)
    if not name or parts[0] in ("", "~") or _DRIVE.match(name) or ".." in parts or "\0" in name:
        raise DataError(f"{where}: {name!r:.200} is no path below its folder; write it relative, without '..'")
    path = folder / name
    try:
        is_inside = path.resolve().is_relative_to(folder.resolve())
    except (OSError, RuntimeError):  # a link that leads back to itself; Python 3.13 has an OSError of its own for it
        is_inside = False
    if not is_inside:
        raise DataError(f"{where}: {name!r:.200} is a link to another folder; put the file itself there")
    if path.exists() and not path.is_file() and not path.is_dir():
        raise DataError(f"{where}: {name!r:.200} is a pipe or a device, not a file")
    return path


def digest_file(path: Path, *, within: Path | None = None) -> str:
    """SHA-256, in hex, of a file's bytes. What is there and cannot be read (a pipe may never end) is a DataError."""
    try:
        with opened(path, within=within) as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except FileNotFoundError:
        raise
    except OSError as error:
        raise DataError(f"{path}: cannot be read: {unreadable(error)}") from None


def clean_text(text: str) -> str:
    """The text with each lone surrogate replaced by U+FFFD: JSON can carry one, UTF-8 and SQLite cannot."""
    return text if text.isascii() else _SURROGATES.sub("\ufffd", text)


def write_atomic(path: Path, content: str | bytes) -> None:
    """Write a whole file or nothing: a temporary file beside it, flushed to disk, then renamed over it."""
    try:
        data = content.encode() if isinstance(content, str) else content
    except UnicodeEncodeError:
        raise DataError(f"{path}: half a surrogate pair was to be written, which is not in UTF-8") from None
    with replacing(path) as temporary:
        temporary.write_bytes(data)


def compress(data: bytes) -> bytes:
    """gzip with no name and no time in its header: the same bytes in, the same bytes out."""
    packed = bytearray(gzip.compress(data, compresslevel=6, mtime=0))
    packed[9] = 3  # 'Unix': other systems and Python 3.13 write another number here, and a digest would differ
    return bytes(packed)


def portable_name(text: str) -> str:
    """A file name for any text that every file system takes and that cannot leave its folder.

    Letters, digits, '.', '_' and '-' are kept, other runs become '_'. Whatever had to change gets eight digits of
    the text's digest, so two texts never share a name by accident.
    """
    plain = _UNPORTABLE.sub("_", unicodedata.normalize("NFKC", text)).strip("._-")
    lost = plain != text or _DEVICE.match(plain) is not None or len(plain) > _NAME_BYTES
    if not lost and plain:
        return plain
    stem = plain[: _NAME_BYTES - 10].rstrip("._-") or "x"
    tail = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:8]
    return f"x{stem}_{tail}" if _DEVICE.match(stem) else f"{stem}_{tail}"


def as_object(value: JSON) -> Mapping[str, JSON]:
    """The object, or an empty one where something else is in its place."""
    return value if isinstance(value, Mapping) else {}


def as_list(value: JSON) -> Sequence[JSON]:
    """The list, or an empty one where something else is in its place."""
    return value if isinstance(value, list) else []


def object_of(body: Mapping[str, JSON], key: str, where: str) -> Mapping[str, JSON]:
    """An object; empty where the key is absent or null. Anything else is a DataError that names the place."""
    value = body.get(key)
    if value is not None and not isinstance(value, Mapping):
        raise DataError(f"{where}: {key!r} must be an object, not {value!r:.80}")
    return value or {}


def list_of(body: Mapping[str, JSON], key: str, where: str) -> Sequence[JSON]:
    """A list; empty where the key is absent or null."""
    value = body.get(key)
    if value is not None and not isinstance(value, list):
        raise DataError(f"{where}: {key!r} must be a list, not {value!r:.80}")
    return value or []


def text_or_none(body: Mapping[str, JSON], key: str, where: str) -> str | None:
    """A string, or None where the key is absent or null."""
    value = body.get(key)
    if value is None or isinstance(value, str):
        return value
    raise DataError(f"{where}: {key!r} must be a string, not {value!r:.80}")


def text_of(body: Mapping[str, JSON], key: str, where: str) -> str:
    """A string that must be there."""
    value = text_or_none(body, key, where)
    if value is None:
        raise DataError(f"{where}: {key!r} is missing; {did_you_mean(key, [known for known in body if known != key])}")
    return value


def named(body: Mapping[str, JSON], key: str, where: str) -> str:
    """A string that must be there and not blank."""
    value = text_or_none(body, key, where)
    if value is None or not value.strip():
        near = [known for known in body if known != key]
        raise DataError(f"{where}: {key!r} is missing or blank; {did_you_mean(key, near)}")
    return value


def number_of(body: Mapping[str, JSON], key: str, where: str) -> float | None:
    """A finite number, also one written as a string or as true and false; None where the key is absent or null."""
    value = body.get(key)
    if value is None:
        return None
    if isinstance(value, str | bool | int | float):
        try:
            number = float(value)
        except (ValueError, OverflowError):  # an integer beyond every float
            number = math.nan
        if math.isfinite(number):
            return number
    raise DataError(f"{where}: {key!r} must be a number, not {value!r:.80}")


def whole_of(body: Mapping[str, JSON], key: str, where: str) -> int:
    """An integer that must be there."""
    value = body.get(key)
    if isinstance(value, bool) or not isinstance(value, int):
        raise DataError(f"{where}: {key!r} must be an integer, not {value!r:.80}")
    return value


def count_or_none(value: JSON) -> int | None:
    """An integer from 0 to 2⁶³ − 1, which is what a database holds; None for anything else."""
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 1 << 63 else None


DEEPEST, _MOST, LARGEST = 100, 1_000_000, 1 << 64
_LONGEST_FILE, _LONGEST_LINE = 1 << 26, 1 << 25
"""64 and 32 MB: what is read into memory whole is never that long, unless somebody means harm."""
_HALF = re.compile(r"\\u[dD][89a-fA-F]")  # the escape of half a surrogate pair
# Possessive, and a string without an end is one too: else a long string takes a hundred times its length in memory,
# and many quotes after an open one the square of it in time.
_STRINGS = re.compile(r'"[^"\\]*+(?:\\.[^"\\]*+)*+(?:"|\\?\Z)', re.DOTALL)
_BRACKETS = re.compile(r"[\[\]{}]")


def parse(text: str, *, constants: bool = False, most: int = _MOST) -> JSON:
    """The value of a JSON text that means one thing only; ValueError for any other.

    A key said twice, NaN, a number beyond every float, an integer of more than 64 bits, more than 100 levels, more than
    a million values (`most`): readers take these differently, or fall over them, so no honest file holds them.
    `constants` lets NaN and Infinity pass, which other harnesses write for a score that is undefined.
    """
    brackets = text.count("[") + text.count("{")
    if brackets > DEEPEST or brackets + text.count(",") > most:
        _check_shape(text, most)
    value: JSON = (_DECODE_CONSTANTS if constants else _DECODE)(text)
    return value


def _once(pairs: list[tuple[str, JSON]]) -> dict[str, JSON]:
    body = dict(pairs)
    if len(body) != len(pairs):
        known: set[str] = set()
        twice = next(key for key, _ in pairs if key in known or known.add(key))  # type: ignore[func-returns-value]
        raise ValueError(f"the key {twice!r:.80} is said twice")
    return body


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(f"{text:.40} is beyond every number")
    return number


def _whole(text: str) -> int:
    number = int(text) if len(text) < 22 else LARGEST
    if abs(number) >= LARGEST:
        raise ValueError(f"{text:.40}… is an integer of more than 64 bits")
    return number


def _no_constant(text: str) -> float:
    raise ValueError(f"{text} is no number")


_DECODE = json.JSONDecoder(
    object_pairs_hook=_once, parse_float=_finite, parse_int=_whole, parse_constant=_no_constant
).decode
_DECODE_CONSTANTS = json.JSONDecoder(object_pairs_hook=_once, parse_float=_finite, parse_int=_whole).decode


def _check_shape(text: str, most: int) -> None:
    bare = _STRINGS.sub("", text)
    if bare.count("[") + bare.count("{") + bare.count(",") > most:
        raise ValueError(f"more than {most:,} values")
    depth = 0
    for bracket in _BRACKETS.findall(bare):
        depth += 1 if bracket in "[{" else -1
        if depth > DEEPEST:
            raise ValueError(f"nested more than {DEEPEST} levels deep")


def open_file(
    path: Path, raises: type[PerpendError] = DataError, advice: str = "", *, within: Path | None = None
) -> io.BufferedReader:
    """A file opened for reading. What is missing, unreadable or no file (a pipe may never end) is an error.

    So is a link on the way from the folder `within`, which somebody else filled.
    """
    remedy = f"; {advice}" if advice else ""
    try:
        return opened(path, within=within)
    except FileNotFoundError:
        raise raises(f"{path}: no such file{near_file(path) or remedy}") from None
    except OSError as error:
        raise raises(f"{path}: cannot be read: {unreadable(error)}{remedy}") from None
    except ValueError as error:
        if isinstance(error, PerpendError):
            raise
        raise raises(f"{str(path)!r}: no name of a file: {error}") from None


def read_bytes(
    path: Path,
    raises: type[PerpendError] = DataError,
    advice: str = "",
    *,
    longest: int = _LONGEST_FILE,
    within: Path | None = None,
) -> bytes:
    """The bytes of a small file. Missing, no file, unreadable, too long: each is an error that says so."""
    with open_file(path, raises, advice, within=within) as file:
        try:
            data = file.read(longest + 1)
        except OSError as error:
            raise raises(f"{path}: cannot be read: {error.strerror or error}") from None
    if len(data) > longest:
        limit = f"{longest >> 20} MB" if longest >> 20 else f"{longest >> 10} KB"
        raise raises(f"{path}: longer than {limit}, which no such file is{f'; {advice}' * bool(advice)}")
    return data


def read_text(
    path: Path,
    raises: type[PerpendError] = DataError,
    advice: str = "",
    *,
    longest: int = _LONGEST_FILE,
    within: Path | None = None,
) -> str:
    """The text of a small file, as `read_bytes`; one that is not UTF-8 is an error, too."""
    try:
        return read_bytes(path, raises, advice, longest=longest, within=within).decode("utf-8")
    except UnicodeDecodeError as error:
        raise raises(f"{path}: not UTF-8 at byte {error.start}; save the file as UTF-8") from None


def read_object(
    path: Path,
    raises: type[PerpendError] = DataError,
    advice: str = "",
    *,
    most: int = _MOST,
    within: Path | None = None,
) -> dict[str, JSON]:
    """The JSON object that a small file holds; see `parse` for what is none."""
    try:
        text = read_text(path, raises, advice, within=within)
        body = parse(text, most=most)
        if _HALF.search(text):
            dumps(body).encode()
    except ValueError as error:
        if isinstance(error, PerpendError):
            raise
        raise raises(f"{path}: damaged: {error}") from None
    if not isinstance(body, dict):
        raise raises(f"{path}: a JSON object was expected, not {a_or_an(type(body).__name__)}")
    return body


def json_object(text: str, where: str, *, constants: bool = False) -> dict[str, JSON]:
    """The JSON object in a text; see `parse`."""
    try:
        body = parse(text, constants=constants)
    except json.JSONDecodeError as error:
        raise DataError(f"{where}: not JSON: {error.msg} at column {error.colno}") from None
    except ValueError as error:
        raise DataError(f"{where}: cannot be read as JSON: {error}") from None
    if not isinstance(body, dict):
        raise DataError(f"{where}: a JSON object was expected, not {a_or_an(type(body).__name__)}")
    return body


def text_lines(path: Path) -> Iterator[tuple[int, str]]:
    """(number, line) of every line of a text file that is not blank, one at a time."""
    with open_file(path) as file:
        yield from numbered_lines(file, path)


def numbered_lines(file: BinaryIO, path: Path) -> Iterator[tuple[int, str]]:
    """The same of a file that is open already, perhaps unpacked on the way."""
    try:
        for number, line in enumerate(iter(partial(file.readline, _LONGEST_LINE + 1), b""), 1):
            where = f"{path}:{number}"
            if len(line) > _LONGEST_LINE:
                raise DataError(f"{where}: longer than {_LONGEST_LINE >> 20} MB, which no line is")
            text = line.decode("utf-8")
            if text.strip():
                yield number, text
    except UnicodeDecodeError as error:
        raise DataError(f"{where}: not UTF-8 at byte {error.start}; save the file as UTF-8") from None
    except OSError as error:
        raise DataError(f"{path}: cannot be read: {error.strerror or error}") from None


def json_lines(
    path: Path, *, constants: bool = False, within: Path | None = None
) -> Iterator[tuple[str, dict[str, JSON]]]:
    """('file:line', object) of every line of a JSONL file; blank lines are passed over. See `parse`."""
    with open_file(path, within=within) as file:
        yield from lines_of(file, path, constants=constants)


def lines_of(file: BinaryIO, path: Path, *, constants: bool = False) -> Iterator[tuple[str, dict[str, JSON]]]:
    """The same of a file that is open already."""
    for number, line in numbered_lines(file, path):
        yield f"{path}:{number}", json_object(line, f"{path}:{number}", constants=constants)


_RATIO, _FREE = 100, 1 << 26
"""A packed file may unpack to so many times its size, and so many bytes more."""


def packed_lines(path: Path) -> Iterator[tuple[str, dict[str, JSON]]]:
    """The same of a file that may be packed with gzip. One that unpacks to too much is a DataError."""
    try:
        with opened(path) as file:
            if path.suffix != ".gz":
                yield from lines_of(file, path)
                return
            most = _RATIO * path.stat().st_size + _FREE
            with gzip.GzipFile(fileobj=file) as packed:
                data = packed.read(most + 1)
    except (OSError, EOFError, zlib.error) as error:
        raise DataError(f"{path}: not a file of JSON lines, plain or gzip: {error}") from None
    if len(data) > most:
        raise DataError(f"{path}: unpacks to more than {_RATIO} times its size; do you trust its source?")
    yield from lines_of(io.BytesIO(data), path)

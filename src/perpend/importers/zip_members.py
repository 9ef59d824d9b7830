"""Members of a zip archive that somebody else made, one at a time. Their names never become names of files."""

from __future__ import annotations

import io
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import BinaryIO, Self
from zipfile import ZIP_DEFLATED, ZIP_STORED, BadZipFile, ZipFile, ZipInfo

from perpend.canon import opened
from perpend.errors import DataError

RATIO = 100
"""All members together may unpack to this many times the archive, and FREE more. Logs unpack to 5 to 30 times."""
FREE = 1 << 28
MOST_MEMBERS = 200_000
_DIRECTORY = 1 << 25
_ZSTANDARD = 93
_ENCRYPTED = 0x1
_LOCAL_HEADER = 30
_WINDOW = 1 << 26  # of Zstandard, whose default is 8 MB; a frame may ask for 2 GB
_END, _LOCATOR_64 = b"PK\x05\x06", b"PK\x06\x07"
_LONGEST_END = 22 + (1 << 16) + 20  # the record, its comment, and the place of the record of large archives
# What unpacking raises on damage.
_DAMAGE = (BadZipFile, EOFError, OSError, RuntimeError, ValueError, zlib.error)


class Archive:
    """A zip archive for reading. Use it with `with`."""

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            self._file = opened(path)
        except OSError as error:
            raise DataError(f"{path}: cannot be read: {error.strerror}") from None
        try:
            size = self._file.seek(0, io.SEEK_END)
            self._left = RATIO * size + FREE
            _check_directory(self._file, size)
            self._zip = ZipFile(self._file)
            _check_members(self._zip.infolist())
            self._members = {info.filename: info for info in self._zip.infolist()}
        except _DAMAGE as error:
            self._file.close()
            raise DataError(f"{path}: a damaged zip archive ({error}); fetch or copy it again") from None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        self._zip.close()
        self._file.close()

    def names(self) -> Sequence[str]:
        """The members' names in the archive's order; of several members of one name only the last counts."""
        return list(self._members)

    def replaced(self) -> int:
        """How many members a later one of the same name replaces; inspect_ai does so when a sample is run again."""
        return len(self._zip.infolist()) - len(self._members)

    def open(self, name: str) -> io.BufferedReader:
        """One member, unpacked as it is read. Damage, encryption and too much of it are a DataError."""
        info, where = self._members[name], f"{self.path}: {name!r:.200}"
        if info.flag_bits & _ENCRYPTED:
            raise DataError(f"{where}: encrypted; write the log again without a password")
        with _explained(where):
            read = self._unpacked_zstandard(info, where) if info.compress_type == _ZSTANDARD else self._unpacked(info)
        return io.BufferedReader(_Member(read, info.CRC, where, self._spend), 1 << 16)

    def _spend(self, size: int) -> None:
        self._left -= size
        if self._left < 0:
            raise DataError(
                f"{self.path}: unpacks to more than {RATIO} times its size, as no log does; do you trust its source?"
            )

    def _unpacked(self, info: ZipInfo) -> Callable[[int], bytes]:
        # The others that Python knows can ask for gigabytes of memory, and no log is packed with them.
        if info.compress_type not in (ZIP_STORED, ZIP_DEFLATED):
            raise NotImplementedError(f"compression method {info.compress_type}")
        return self._zip.open(info).read

    def _unpacked_zstandard(self, info: ZipInfo, where: str) -> Callable[[int], bytes]:
        """What Zstandard packed, which is how inspect_ai writes and what Python's zipfile reads from 3.14 on."""
        try:
            import zstandard
        except ImportError:
            raise DataError(
                f"{where}: packed with Zstandard, which needs one more package: pip install 'perpend[inspect]'",
                "or write the log as JSON: inspect log convert LOG.eval --to json --output-dir json",
            ) from None
        self._file.seek(info.header_offset)
        header = self._file.read(_LOCAL_HEADER)
        if header[:4] != b"PK\x03\x04":
            raise BadZipFile("its place is wrong")
        # The header ends in the lengths of the name and of the extra field, which stand before the data.
        names = int.from_bytes(header[26:28], "little") + int.from_bytes(header[28:30], "little")
        part = _Part(self._file, info.header_offset + _LOCAL_HEADER + names, info.compress_size)
        packed = io.BufferedReader(part, 1 << 16)
        reader = zstandard.ZstdDecompressor(max_window_size=_WINDOW).stream_reader(packed, read_across_frames=True)

        def read(size: int) -> bytes:
            try:
                return reader.read(size)
            except zstandard.ZstdError as error:
                raise BadZipFile(str(error)) from None

        return read


class _Part(io.RawIOBase):
    """Some bytes of a file that others read too."""

    def __init__(self, file: BinaryIO, start: int, size: int) -> None:
        self._file, self._at, self._end = file, start, start + size

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: bytearray | memoryview) -> int:  # type: ignore[override]  # what BufferedReader gives
        self._file.seek(self._at)
        part = self._file.read(min(len(buffer), self._end - self._at))
        self._at += len(part)
        buffer[: len(part)] = part
        return len(part)


class _Member(io.RawIOBase):
    """An unpacked member: its bytes are counted, and its checksum is compared at the end."""

    def __init__(self, read: Callable[[int], bytes], crc: int, where: str, spend: Callable[[int], None]) -> None:
        self._read, self._wanted, self._where, self._spend = read, crc, where, spend
        self._crc = 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: bytearray | memoryview) -> int:  # type: ignore[override]  # what BufferedReader gives
        with _explained(self._where):
            part = self._read(len(buffer))
        self._spend(len(part))
        self._crc = zlib.crc32(part, self._crc)
        if not part and self._crc != self._wanted:
            raise DataError(f"{self._where}: damaged (its checksum differs); fetch or copy the archive again")
        buffer[: len(part)] = part
        return len(part)


@contextmanager
def _explained(where: str) -> Iterator[None]:
    try:
        yield
    except _DAMAGE as error:
        raise DataError(f"{where}: cannot be unpacked ({error}); fetch or copy the archive again") from None


def _check_directory(file: BinaryIO, size: int) -> None:
    """Refuse a directory that would fill the memory. zipfile reads it whole, whatever its number of entries says."""
    start = max(0, size - _LONGEST_END)
    file.seek(start)
    tail = file.read()
    at = tail.rfind(_END)
    if at < 0 or len(tail) < at + 22:
        raise BadZipFile("it has no directory")
    length = int.from_bytes(tail[at + 12 : at + 16], "little")
    locator = tail[at - 20 : at]
    if at >= 20 and locator[:4] == _LOCATOR_64:
        file.seek(min(int.from_bytes(locator[8:16], "little"), size))
        length = max(length % 0xFFFFFFFF, int.from_bytes(file.read(56)[40:48], "little"))
    if length > _DIRECTORY:
        raise BadZipFile(f"a directory of {length} bytes, for more than {MOST_MEMBERS} members")


def _check_members(members: Sequence[ZipInfo]) -> None:
    """Refuse members that share bytes, by which a few bytes unpack to any number."""
    if len(members) > MOST_MEMBERS:
        raise BadZipFile(f"more than {MOST_MEMBERS} members")
    end = 0
    for info in sorted(members, key=lambda info: info.header_offset):
        if info.header_offset < end:
            raise BadZipFile(f"{info.filename!r:.80} shares bytes with another member")
        end = info.header_offset + _LOCAL_HEADER + info.compress_size

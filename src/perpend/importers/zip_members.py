"""Members of a zip archive that somebody else made, one at a time. Their names never become names of files."""

from __future__ import annotations

import io
import zlib
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import IO, Self
from zipfile import BadZipFile, ZipFile, ZipInfo

from perpend.errors import DataError

LARGEST = 1 << 28
"""The most bytes that one member may unpack to, whatever its header says."""
LARGEST_SUM = 1 << 36
"""The most bytes that all members together may unpack to."""
_ZSTANDARD = 93
_ENCRYPTED = 0x1
_LOCAL_HEADER = 30
_CHUNK = 1 << 20


class Archive:
    """A zip archive for reading. Use it with `with`."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._unpacked = 0
        try:
            self._file = path.open("rb")
        except OSError as error:
            raise DataError(f"{path}: cannot be read: {error.strerror}") from None
        try:
            self._zip = ZipFile(self._file)
        except (BadZipFile, NotImplementedError, OSError, ValueError) as error:
            self._file.close()
            raise DataError(f"{path}: a damaged zip archive ({error}); fetch or copy it again") from None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        self._zip.close()
        self._file.close()

    def names(self) -> Sequence[str]:
        """The members' names in the archive's order; of several members of one name only the last counts."""
        return list(self._zip.NameToInfo)

    def read(self, name: str) -> bytes:
        """One member, unpacked. Damage, encryption and more than LARGEST bytes are a DataError."""
        info = self._zip.NameToInfo[name]
        where = f"{self.path}: {name[:200]!r}"
        if info.flag_bits & _ENCRYPTED:
            raise DataError(f"{where}: encrypted; write the log again without a password")
        try:
            body = self._packed_by_zstandard(info, where) if info.compress_type == _ZSTANDARD else self._packed(info)
        except (BadZipFile, NotImplementedError, EOFError, OSError, ValueError, zlib.error) as error:
            raise DataError(f"{where}: cannot be unpacked ({error}); fetch or copy the archive again") from None
        self._unpacked += len(body)
        if len(body) > LARGEST:
            raise DataError(f"{where}: unpacks to more than {LARGEST} bytes; no sample is that large")
        if self._unpacked > LARGEST_SUM:
            raise DataError(f"{self.path}: unpacks to more than {LARGEST_SUM} bytes; split the log")
        if zlib.crc32(body) != info.CRC:
            raise DataError(f"{where}: damaged (its checksum differs); fetch or copy the archive again")
        return body

    def _packed(self, info: ZipInfo) -> bytes:
        with self._zip.open(info) as file:
            return _limited(file)

    def _packed_by_zstandard(self, info: ZipInfo, where: str) -> bytes:
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
        if header[:4] != b"PK\x03\x04" or info.compress_size > LARGEST:
            raise BadZipFile("its place or its size is wrong")
        # The header ends in the lengths of the name and of the extra field, which stand before the data.
        names = int.from_bytes(header[26:28], "little") + int.from_bytes(header[28:30], "little")
        self._file.seek(names, io.SEEK_CUR)
        packed = io.BytesIO(self._file.read(info.compress_size))
        try:
            with zstandard.ZstdDecompressor().stream_reader(packed, read_across_frames=True) as reader:
                return _limited(reader)
        except zstandard.ZstdError as error:
            raise BadZipFile(str(error)) from None


def _limited(file: IO[bytes]) -> bytes:
    """All of a stream, or just enough of it to see that it is longer than LARGEST."""
    chunks: list[bytes] = []
    size = 0
    while size <= LARGEST and (chunk := file.read(_CHUNK)):
        chunks.append(chunk)
        size += len(chunk)
    return b"".join(chunks)

"""A published folder's ledger, restored and written again: the same bytes, or somebody wrote it by hand."""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from itertools import zip_longest
from pathlib import Path

from perpend.canon import open_file
from perpend.disk import temporary_folder
from perpend.errors import StoreError
from perpend.ledger.manifest import read_manifest
from perpend.ledger.snapshot import snapshot
from perpend.proof.archive import archived, packed_lines, write_plain
from perpend.proof.audit.checks import Check, shown
from perpend.proof.lines import line_bytes

_BLOCK = 1 << 20
# gzip's magic number, deflate, no name, no comment, no time, Python's own marks: what a header may hide is not there.
_HEADER = b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\xff"
_MISSING = "(no such line)"
NAME = "written again, it is the same"


def rewritten(directory: Path, stored: Path) -> list[Check]:
    """Compare each archived file with the one that the restored run gives; packed ones by what they hold.

    Another machine's zlib may pack the same lines in other bytes, so only the packing's header is compared.
    """
    check = Check(NAME)
    with temporary_folder("audit") as tmpdir, snapshot(directory / "run.db") as db:
        write_plain(directory, tmpdir, db)
        packed = packed_lines(directory, db)
        for name in sorted(archived(read_manifest(directory))):
            then, now = stored / name, tmpdir / name
            if then.is_file() and (name in packed or now.is_file()):
                try:
                    # Packed lines are compared as they are made: to pack them only to unpack them would take longer.
                    again = _filled(line_bytes(name, packed[name])) if name in packed else _blocks(now, tmpdir)
                    _compare(check, name, _blocks(then, stored), again)
                except StoreError as error:
                    check.miss(str(error))
            elif name in packed or then.is_file() != now.is_file():
                check.checked += 1
                check.miss(f"{name}: {'missing' if not then.is_file() else 'nothing in this run gives it'}")
    return [check]


def _compare(check: Check, name: str, then: Iterator[bytes], now: Iterator[bytes]) -> None:
    line = 1
    for one, other in zip_longest(then, now, fillvalue=b""):
        lines = other.count(b"\n")
        check.checked += lines
        if one != other:
            texts = (part.decode("utf-8", "replace").split("\n") for part in (one, other))
            pairs = enumerate(zip_longest(*texts, fillvalue=_MISSING), line)
            at, stored, again = next(((n, a, b) for n, (a, b) in pairs if a != b), (line, "other bytes", "not UTF-8"))
            check.miss(f"{name}:{at}: stored {shown(stored)}, written again {shown(again)}")
            return
        line += lines


def _filled(parts: Iterator[tuple[bytes, int]]) -> Iterator[bytes]:
    """Bytes in blocks of the size in which files are read."""
    pending = bytearray()
    for part, _ in parts:
        pending += part
        while len(pending) >= _BLOCK:
            yield bytes(pending[:_BLOCK])
            del pending[:_BLOCK]
    if pending:
        yield bytes(pending)


def _blocks(path: Path, folder: Path) -> Iterator[bytes]:
    """The bytes of a file in blocks of one size; of a packed one those that it holds, in one member and no more."""
    with open_file(path, StoreError, within=folder) as file:
        if path.suffix != ".gz":
            yield from iter(lambda: file.read(_BLOCK), b"")
            return
        header = file.read(len(_HEADER))
        if header != _HEADER:
            raise StoreError(f"{path.name}: packed with a name, a time or a comment, which perpend never writes")
        unpack, rest, pending = zlib.decompressobj(wbits=31), header, b""
        while not unpack.eof:
            part = unpack.decompress(rest, _BLOCK - len(pending))
            rest = unpack.unconsumed_tail or file.read(_BLOCK)
            pending += part
            if len(pending) == _BLOCK:
                yield pending
                pending = b""
            if not part and not rest and not unpack.eof:
                raise StoreError(f"{path.name}: ends in the middle")
        if unpack.unused_data or file.read(1):
            raise StoreError(f"{path.name}: holds something after its end")
        if pending:
            yield pending

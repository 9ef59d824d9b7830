"""Forgeries of whole files, generated: each removed, renamed, emptied, cut, padded, swapped, or made something else."""

from __future__ import annotations

import gzip
import io
import os
import shutil
import socket
import struct
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path

from tests.attack.forge import Forge, Forgery, unpacked

ADDED = (
    "notes.txt", "tables/evil.py", "tables/x.csv", "tables/x.xlsx", "figures/fake.png", "figures/fake.svg",
    "figures/x.pkl", "code/evil.py", "code/__init__.py", "code/__pycache__/x.pyc", "perpend/__init__.py", "conftest.py",
    "run.db", "lock.db", "run.db-wal", "inside/m/header.json", ".hidden", ".git/config", "labels.jsonl",
    "receipt.json.sig", "signer.pub", "sitecustomize.py", "numpy.py", "json.py", "a/b/c/d/e.txt", "tables/sub/x.csv",
    "sub/receipt.json", "sub/manifest.json", "verify.py", "verify.pyc", "__main__.py", "setup.py", "METRICS.JSON",
    "report.md ", "metrics.json\n", "simulation.db", "run_manifest.json", "predictions.jsonl", "summary.md",
    "publish_receipt.json", "index.html", "manifest.journal", "index.json", "README.md",
)  # fmt: skip


def whole_files(folder: Path) -> Iterator[Forgery]:
    """Every file of a published folder as a whole, and things that no run gives."""
    names = sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())
    for number, name in enumerate(names):
        forges = {
            **_bytes(name),
            **_places(name, names[number - 1]),
            **(_packing(name) if name.endswith(".gz") else {}),
        }
        for kind, forge in forges.items():
            yield Forgery(name, "file", kind, forge)
    for name in ADDED:
        yield Forgery(name, "file", "added", _add(name))
    for kind, forge in _things().items():
        yield Forgery(kind, "file", "added", forge)


def _bytes(name: str) -> dict[str, Forge]:
    """The bytes of a file: fewer, more, others."""

    def turned(change: Callable[[bytes], bytes]) -> Forge:
        return lambda folder: (folder / name).write_bytes(change((folder / name).read_bytes())) and None

    return {
        "emptied": turned(lambda _: b""),
        "cut": turned(lambda data: data[: len(data) // 2]),
        "padded": turned(lambda data: data + b"\n"),
        "with zeros": turned(lambda data: data + b"\0" * 16),
        "with a mark": turned(lambda data: b"\xef\xbb\xbf" + data),
        "with returns": turned(lambda data: data.replace(b"\n", b"\r\n")),
        "with prose": turned(lambda data: data + b"\nAll of this was checked by an independent lab.\n"),
        "with a bit less": turned(lambda data: data[:-1] + bytes([data[-1] ^ 1])),
    }


def _places(name: str, neighbour: str) -> dict[str, Forge]:
    """The file somewhere else, or something else in its place."""

    def removed(folder: Path) -> None:
        (folder / name).unlink()

    def renamed(folder: Path) -> None:
        (folder / name).rename(folder / f"{name}.bak")

    def swapped(folder: Path) -> None:
        one, two = (folder / name).read_bytes(), (folder / neighbour).read_bytes()
        (folder / name).write_bytes(two)
        (folder / neighbour).write_bytes(one)

    def doubled(folder: Path) -> None:
        path = folder / name
        shutil.copyfile(path, path.with_name(f"copy-{path.name}"))

    def under_no_text(folder: Path) -> None:
        path = folder / name
        shutil.copyfile(path, path.with_name("\udcff" + path.name))

    def linked(folder: Path) -> None:
        outside = folder.parent.parent / f"outside-{Path(name).name}"
        shutil.move(folder / name, outside)
        (folder / name).symlink_to(outside)

    def link_to(target: str) -> Forge:
        def forge(folder: Path) -> None:
            (folder / name).unlink()
            (folder / name).symlink_to(target)

        return forge

    def pipe(folder: Path) -> None:
        (folder / name).unlink()
        os.mkfifo(folder / name)

    def directory(folder: Path) -> None:
        (folder / name).unlink()
        (folder / name).mkdir()

    return {
        "removed": removed,
        "renamed": renamed,
        "swapped": swapped,
        "doubled": doubled,
        "under a name that is no text": under_no_text,
        "a link to itself elsewhere": linked,
        "a link to nowhere": link_to("nowhere"),
        "a link to itself": link_to(Path(name).name),
        "a link to a device": link_to("/dev/zero"),
        "a pipe": pipe,
        "a folder": directory,
    }


def _packing(name: str) -> dict[str, Forge]:
    """The same lines, packed otherwise; and packings that are none."""

    def packed(change: Callable[[bytes, bytes], bytes]) -> Forge:
        def forge(folder: Path) -> None:
            data = (folder / name).read_bytes()
            (folder / name).write_bytes(change(data, gzip.decompress(data)))

        return forge

    def halves(folder: Path) -> None:
        rows = unpacked(folder / name)
        parts = (rows[: len(rows) // 2], rows[len(rows) // 2 :])
        members = (gzip.compress("".join(row + "\n" for row in part).encode(), mtime=0) for part in parts)
        (folder / name).write_bytes(b"".join(members))

    def flushed(_: bytes, plain: bytes) -> bytes:
        packer = zlib.compressobj(6, zlib.DEFLATED, -15)
        body = packer.compress(plain) + packer.flush(zlib.Z_FULL_FLUSH) + packer.flush()
        return b"\x1f\x8b\x08\0\0\0\0\0\0\xff" + body + struct.pack("<II", zlib.crc32(plain), len(plain))

    def bomb(folder: Path) -> None:
        out = io.BytesIO()
        with gzip.GzipFile("", "wb", 9, out, mtime=0) as file:
            for _ in range(300):
                file.write(b" " * (1 << 20))
        (folder / name).write_bytes(out.getvalue())

    def header(flags: int, extra: bytes) -> Forge:
        return packed(lambda data, _: data[:3] + bytes([flags]) + data[4:10] + extra + data[10:])

    return {
        "packed with an empty member": packed(lambda data, _: data + gzip.compress(b"", mtime=0)),
        "packed as two members": halves,
        "packed with a comment": header(16, b"independently checked\0"),
        "packed with an extra field": header(4, b"\x04\0evil"),
        "packed with a name": header(8, b"evil.py\0"),
        "packed with a time": packed(lambda data, _: data[:4] + b"\x07" + data[5:]),
        "packed on another system": packed(lambda data, _: data[:9] + b"\x03" + data[10:]),
        "packed less": packed(lambda _, plain: gzip.compress(plain, 1, mtime=0)),
        "packed with a flush": packed(flushed),
        "packed with another checksum": packed(lambda data, _: data[:-5] + bytes([data[-5] ^ 1]) + data[-4:]),
        "a bomb": bomb,
        "not UTF-8": packed(lambda _, plain: gzip.compress(plain + b'"\xff\xfe"\n', mtime=0)),
        "without its last line's end": packed(lambda _, plain: gzip.compress(plain[:-1], mtime=0)),
    }


def _add(name: str) -> Forge:
    def forge(folder: Path) -> None:
        path = folder / name
        if not path.exists():
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text("hidden\n")

    return forge


def _things() -> dict[str, Forge]:
    """What is neither a file nor a folder with files."""

    def empty(folder: Path) -> None:
        (folder / "empty").mkdir()

    def linked(folder: Path) -> None:
        (folder / "linked").symlink_to(folder.parent, target_is_directory=True)

    def pipe(folder: Path) -> None:
        os.mkfifo(folder / "pipe")

    def sock(folder: Path) -> None:
        here = Path.cwd()
        os.chdir(folder)  # the name of a socket may have 108 bytes
        try:
            with socket.socket(socket.AF_UNIX) as one:
                one.bind("sock")
        finally:
            os.chdir(here)

    def deep(folder: Path) -> None:
        folder.joinpath(*["deep-deep-deep"] * 60).mkdir(parents=True)

    return {forge.__name__: forge for forge in (empty, linked, pipe, sock, deep)}

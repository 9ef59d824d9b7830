"""Mutations of what holds other things: gzip, zip, SQLite, folders; and which mutations suit a file."""

from __future__ import annotations

import gzip
import os
import random
import shutil
import sqlite3
import warnings
import zipfile
import zlib
from collections.abc import Callable
from contextlib import closing, suppress
from functools import cache
from pathlib import Path

from fuzz_texts import (
    DEEP,
    changed_lines,
    changed_octets,
    encoding,
    json_lines,
    json_tree,
    lines,
    octets,
    spoiled,
    toml,
    words,
)


def mutate(path: Path, rng: random.Random) -> str:
    """Change one file by one to three mutations that suit it, and say which."""
    kinds: list[str] = []
    for _ in range(rng.choice((1, 1, 1, 2, 3))):
        if not path.is_file() or path.is_symlink():
            break
        way = rng.choice(ways(path))
        with suppress(UnicodeDecodeError, ValueError, sqlite3.Error, OSError, EOFError, zlib.error, RecursionError,
                      zipfile.BadZipFile, NotImplementedError, RuntimeError, IndexError, OverflowError):  # fmt: skip
            way(path, rng)
        kinds.append(way.__name__)
    return ", ".join(kinds)


def ways(path: Path) -> list[Callable[[Path, random.Random], None]]:
    """The mutations for a file, by its ending; structure more often than bytes."""
    for endings, suited in (
        ((".gz",), [packed_lines, packed_lines, packed_lines, packed_octets, octets]),
        ((".jsonl",), [json_lines] * 5 + [lines, octets, encoding]),
        ((".json",), [json_tree] * 6 + [octets, encoding]),
        ((".toml",), [toml] * 6 + [lines, octets, encoding]),
        ((".db", ".sqlite"), [octets, pages, cells, cells, schema, schema, pragmas, journals]),
        ((".eval", ".zip"), [members, members, members, octets]),
    ):
        if path.name.endswith(endings):
            return suited
    return [octets, octets, encoding, lines, words]


# --- archives ------------------------------------------------------------------------------------------------------


def packed_lines(path: Path, rng: random.Random) -> None:
    """Change what a gzip file holds, line by line, and pack it again."""
    path.write_bytes(gzip.compress(changed_lines(gzip.decompress(path.read_bytes()).decode(), rng).encode(), mtime=0))


def packed_octets(path: Path, rng: random.Random) -> None:
    """Change the bytes that a gzip file holds, or how they are packed."""
    data = gzip.decompress(path.read_bytes())
    kind = rng.randrange(6)
    if kind == 0:
        path.write_bytes(gzip.compress(data, mtime=0) + gzip.compress(data[:50], mtime=0))
    elif kind == 1:
        path.write_bytes(gzip.compress(data, mtime=0) + rng.randbytes(20))
    elif kind == 2:
        path.write_bytes(_one_line())
    elif kind == 3:
        path.write_bytes(data)
    else:
        path.write_bytes(gzip.compress(changed_octets(data, rng), mtime=0))


@cache
def _one_line() -> bytes:
    """80 MB in one line, packed: longer than any answer."""
    packer = zlib.compressobj(9, wbits=31)
    middle = b"".join(packer.compress(b"x" * (1 << 20)) for _ in range(80))
    return packer.compress(b'"') + middle + packer.compress(b'"\n') + packer.flush()


def members(path: Path, rng: random.Random) -> None:
    """Change, drop, double or rename a member of a zip archive, or add one."""
    with zipfile.ZipFile(path) as file:
        parts = [(one.filename, file.read(one)) for one in file.infolist()]
    at = rng.randrange(len(parts))
    name, data = parts[at]
    kind = rng.randrange(8)
    if kind < 4:
        parts[at] = (name, spoiled(data.decode(), rng).encode("utf-8", "surrogatepass"))
    elif kind == 4:
        parts[at] = (name, changed_octets(data, rng))
    elif kind == 5:
        del parts[at]
    elif kind == 6:
        parts.append((name, data))
    else:
        wild = (
            "../../up.json",
            "/etc/x.json",
            "samples/a_epoch_1.json",
            "x" * 3000,
            "samples/é\n_epoch_1.json",
            "a\\b",
        )
        parts[at] = (rng.choice(wild), data)
    with warnings.catch_warnings(), zipfile.ZipFile(path, "w", rng.choice((0, 8, 14))) as file:
        warnings.simplefilter("ignore")
        for name, data in parts:
            file.writestr(zipfile.ZipInfo(name, (2026, 1, 1, 0, 0, 0)), data, rng.choice((0, 8)))


# --- SQLite --------------------------------------------------------------------------------------------------------

CELLS: tuple[object, ...] = (
    *(None, 0, -1, 1, 2**62, -(2**63), 0.5, -0.0, float("inf"), float("-inf"), 1e308, 5e-324),
    *(
        "",
        "x",
        "NaN",
        "1e999",
        "[" * DEEP,
        "{}",
        "[]",
        "null",
        "{",
        "\x00a",
        "a\x00",
        "\x1b[31m",
        "x" * 300_000,
        "../..",
    ),
    *(b"", b"\xff\xfe", b"\x00" * 32, b"\xed\xa0\x80"),
    *('{"temperature":1e999}', '{"input":-1,"output":"x"}', "[[0,1],[null,2]]", "[5,2]", "[-1,99999]", "[[1e999,1]]"),
    *('{"id":"a","prompt":"b","tags":{"a":1}}', '{"id":1}', '{"id":"x","id":"y","prompt":"p"}', "1e309", "true"),
)
_RECURSIVE = "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT x FROM c"
OBJECTS = (
    *("CREATE TABLE extra(a)", "CREATE VIEW extra AS SELECT 1", f"CREATE VIEW endless AS {_RECURSIVE}"),
    "CREATE TRIGGER extra AFTER INSERT ON score BEGIN DELETE FROM response; END",
    "CREATE TRIGGER extra2 BEFORE INSERT ON meta BEGIN SELECT RAISE(IGNORE); END",
    "CREATE INDEX extra_index ON response(text)",
    "CREATE VIRTUAL TABLE words USING fts5(a)",
    "CREATE TABLE generated(a, b AS (a + 1))",
    *("ANALYZE", "VACUUM", "REINDEX"),
)


def _tables(db: sqlite3.Connection, kind: str = "table") -> list[str]:
    rows = db.execute(
        "SELECT name FROM sqlite_master WHERE type = ? AND name NOT LIKE 'sqlite%' ORDER BY name", (kind,)
    )
    return [name for (name,) in rows]


def pages(path: Path, rng: random.Random) -> None:
    """Swap, zero or copy whole pages, or spoil the header."""
    data = bytearray(path.read_bytes())
    size = 4096
    count = max(1, len(data) // size)
    one, other = rng.randrange(count) * size, rng.randrange(count) * size
    kind = rng.randrange(5)
    if kind == 0:
        data[one : one + size], data[other : other + size] = data[other : other + size], data[one : one + size]
    elif kind == 1:
        data[one : one + size] = bytes(size)
    elif kind == 2:
        data[one : one + size] = data[other : other + size]
    elif kind == 3:
        at = rng.randrange(100)
        data[at] = rng.randrange(256)
    else:
        del data[rng.randrange(count) * size :]
    path.write_bytes(bytes(data))


def cells(path: Path, rng: random.Random) -> None:
    """Update or delete rows, past triggers, types and keys."""
    with closing(sqlite3.connect(path)) as db, db:
        for name in _tables(db, "trigger") if rng.random() < 0.9 else ():
            db.execute(f'DROP TRIGGER "{name}"')
        if rng.random() < 0.5:  # a table that is not STRICT takes anything, and so does a check that is gone
            db.execute("PRAGMA writable_schema=ON")
            db.execute("UPDATE sqlite_master SET sql = replace(replace(replace(sql, ') STRICT', ')'),"
                       " ' CHECK(json_valid(body))', ''), 'NOT NULL', '')")  # fmt: skip
            db.execute("PRAGMA writable_schema=RESET")
        for _ in range(rng.choice((1, 1, 2, 4))):
            table = rng.choice(_tables(db))
            columns = [row[1] for row in db.execute(f'PRAGMA table_info("{table}")')]
            total = db.execute(f'SELECT count(*) FROM "{table}"').fetchone()[0]
            column, kind = rng.choice(columns), rng.randrange(6)
            one = f'SELECT {columns[0]} FROM "{table}" LIMIT 1 OFFSET {rng.randrange(total or 1)}'
            where = f'WHERE "{columns[0]}" IN ({one})' if rng.random() < 0.7 else ""
            with suppress(sqlite3.Error):
                if kind == 0:
                    db.execute(f'DELETE FROM "{table}" {where}')
                elif kind == 1:
                    db.execute(f'UPDATE OR REPLACE "{table}" SET "{column}" = "{rng.choice(columns)}" {where}')
                elif kind == 2:
                    db.execute(f'UPDATE OR REPLACE "{table}" SET "{column}" = "{column}" || ? {where}', (_cell(rng),))
                else:
                    db.execute(f'UPDATE OR REPLACE "{table}" SET "{column}" = ? {where}', (_cell(rng),))


def _cell(rng: random.Random) -> object:
    return rng.choice(CELLS)


def schema(path: Path, rng: random.Random) -> None:
    """Add objects, drop them, rename them, put a view in a table's place, or spoil the text of the schema."""
    with closing(sqlite3.connect(path, isolation_level=None)) as db:
        names = _tables(db) + _tables(db, "view") + _tables(db, "trigger")
        name, kind = rng.choice(names), rng.randrange(7)
        if kind == 0:
            db.execute(rng.choice(OBJECTS))
        elif kind == 1:
            for word in ("TABLE", "VIEW", "TRIGGER"):
                with suppress(sqlite3.Error):
                    db.execute(f'DROP {word} "{name}"')
        elif kind == 2:
            table = rng.choice(_tables(db))
            db.execute("PRAGMA legacy_alter_table=ON")
            db.execute(f'ALTER TABLE "{table}" RENAME TO "hidden_{table}"')
            body = rng.choice(
                (f'SELECT * FROM "hidden_{table}"', _RECURSIVE, "SELECT 1 AS a", f'SELECT * FROM "{table}"')
            )
            db.execute(f'CREATE VIEW "{table}" AS {body}')
        elif kind == 3:
            table = rng.choice(_tables(db))
            column = rng.choice([row[1] for row in db.execute(f'PRAGMA table_info("{table}")')])
            way = rng.choice(
                (f'RENAME COLUMN "{column}" TO "other"', f'DROP COLUMN "{column}"', "ADD COLUMN more TEXT")
            )
            db.execute("PRAGMA legacy_alter_table=ON")
            db.execute(f'ALTER TABLE "{table}" {way}')
        elif kind == 4:
            db.execute("PRAGMA writable_schema=ON")
            change = rng.choice(("sql = substr(sql, 1, 30)", "sql = 'CREATE TABLE x(y)'", "rootpage = 1",
            "type = 'view'",
                                 "name = 'a b'", "rootpage = 99999", "sql = NULL", "tbl_name = 'meta'"))  # fmt: skip
            db.execute(f"UPDATE sqlite_master SET {change} WHERE name = ?", (name,))
        elif kind == 5:
            with suppress(sqlite3.Error):
                db.execute(f'DROP VIEW "{rng.choice(_tables(db, "view") or ["x"])}"')
            db.execute(f"CREATE VIEW answer AS {_RECURSIVE}")
        else:
            table = rng.choice(_tables(db))
            db.execute(f'INSERT OR REPLACE INTO "{table}" SELECT * FROM "{table}"')


def pragmas(path: Path, rng: random.Random) -> None:
    """Another application, version, encoding, page size or kind of journal."""
    with closing(sqlite3.connect(path, isolation_level=None)) as db:
        statement = rng.choice(
            ("application_id=0", "application_id=-1", "user_version=0", "user_version=99", "user_version=-1",
             "journal_mode=WAL", "page_size=512", "page_size=65536", "auto_vacuum=FULL", "secure_delete=ON")
        )  # fmt: skip
        db.execute(f"PRAGMA {statement}")
        if "page_size" in statement or "auto_vacuum" in statement:
            db.execute("VACUUM")
        if rng.random() < 0.2:
            text = "\n".join(db.iterdump())
            path.unlink()
            with closing(sqlite3.connect(path, isolation_level=None)) as other:
                other.execute("PRAGMA encoding='UTF-16'")
                other.executescript(text)


def journals(path: Path, rng: random.Random) -> None:
    """A journal, a log or its index beside the database that is not its own, empty, or something else than a file."""
    beside = path.with_name(path.name + rng.choice(("-wal", "-shm", "-journal", "-wal", "-journal")))
    data = rng.choice((b"", rng.randbytes(500), path.read_bytes()[:5000],
    b"\xd9\xd5\x05\xf9\x20\xa1\x63\xd7" + bytes(600),
                       b"\x37\x7f\x06\x82" + rng.randbytes(4000)))  # fmt: skip
    if rng.random() < 0.2:
        beside.mkdir()
    else:
        beside.write_bytes(data)


# --- folders -------------------------------------------------------------------------------------------------------

NAMES = ("extra.txt", "é.txt", "a b", ".hidden", "x" * 240, "new\nline", "run.db-wal", "code", "tables",
"index.json", "-rf",
         "\udcff.bin", "con", "manifest.json.bak", "receipt.json", "run.db", "figures", "\x1b[31m")  # fmt: skip


def folder(path: Path, rng: random.Random) -> str:
    """Remove a file, add one, or put a folder, link, FIFO or another file in a file's place."""
    files = sorted(one for one in path.rglob("*") if one.is_file() and not one.is_symlink())
    kind = rng.choice(
        ("remove", "add", "folder", "link", "dangling", "loop", "fifo", "swap", "empty", "deep", "outside")
    )
    if not files:
        return "nothing"
    one = rng.choice(files)
    new = one.parent / rng.choice(NAMES)
    if kind == "add":
        if not new.exists():
            new.write_bytes(rng.choice((b"", b"x", one.read_bytes())))
    elif kind == "deep":
        (one.parent / "/".join("d" * 60)).mkdir(parents=True)
    elif kind == "swap":
        other = rng.choice(files)
        data = other.read_bytes()
        other.write_bytes(one.read_bytes())
        one.write_bytes(data)
    else:
        _replaced(one, kind)
    return f"{kind} {one.name[:30]!r}"


def _replaced(one: Path, kind: str) -> None:
    """Put a folder, link, FIFO or nothing where a file is."""
    data = one.read_bytes()
    one.unlink()
    targets = {"link": "elsewhere", "dangling": "nowhere", "loop": one.name, "outside": "/etc/passwd"}
    if kind == "folder":
        one.mkdir()
        (one / "inner").write_bytes(data)
    elif kind in targets:
        if kind == "link":
            (one.parent / "elsewhere").write_bytes(data)
        one.symlink_to(targets[kind])
    elif kind == "fifo":
        os.mkfifo(one)
    elif kind == "empty":
        one.touch()


def copied(source: Path, target: Path) -> Path:
    """A copy of a file or folder that may be spoiled."""
    if source.is_dir():
        shutil.copytree(source, target, symlinks=True)
    else:
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source, target)
    return target

"""What fixed commands write, as digests: of the bytes, and of what is left without versions, times and file digests.

The clock of every command stands still, so that two calls of one code give the same bytes.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import os
import re
import shlex
import shutil
import sqlite3
import subprocess
import sys
import tomllib
from collections.abc import Iterator, Mapping
from contextlib import closing
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SHARED = ROOT / ".." / "shared" / "data"
INPUTS = Path(__file__).parent / "inputs"
COMMANDS = tomllib.loads((Path(__file__).parent / "commands.toml").read_text(encoding="utf-8"))
NOW: int = 1800000000
CALL = f"""
import datetime, importlib, runpy, sys, time
if "validate" in sys.argv:
    import sklearn.ensemble  # its C code refuses another class for times
class Fixed(datetime.datetime):
    @classmethod
    def now(cls, tz=None):
        return cls.fromtimestamp({NOW}, tz)
datetime.datetime = Fixed
time.time = lambda: float({NOW})
home, *sys.argv[:] = sys.argv[1:]
if home == "python":
    runpy.run_path(sys.argv[0], run_name="__main__")
else:
    module, _, name = home.partition(":")
    sys.exit(getattr(importlib.import_module(module), name)())
"""
"""A program with a clock that stands still."""
DROPPED = frozenset(
    "code contentSize receipt_sha256 root_sha256 size at ms latency_s wall_s wall_seconds throughput_qps".split()  # noqa: SIM905
)
"""Keys of JSON objects that say when, by which code or in which form something was written."""
LEFT_OUT = frozenset(("lock.db", "manifest.journal", "run.db"))
UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
SHA256 = re.compile(r"\b[0-9a-f]{64}\b|\b[0-9a-f]{12,63}(?=…)")
STATED = re.compile(r'"(root_sha256|receipt_sha256|source_sha256)": ?"([0-9a-f]{64})"')
"""Digests that follow from the code or from those of files."""
TIMES = re.compile(r"\b\d+(\.\d+)? (ms|s|seconds|minutes)\b")
TEXTS = frozenset(("json", "jsonl", "md", "csv", "tex", "txt", "toml", "html", "cff", "svg", "py"))


def lines(part: str) -> Iterator[tuple[str, str, str]]:
    """(folder, name, line) of every command of a part, in order."""
    table = COMMANDS[part]
    for key, value in table.items():
        if isinstance(value, str):
            yield ".", key, value
        else:
            yield from ((key, name, line) for name, line in value.items())


def write(part: str, work: Path) -> list[str]:
    """Call every command of a part below work/<part>; names those that were left out: what they read is not here."""
    shutil.copytree(INPUTS, work / "inputs", dirs_exist_ok=True)
    shutil.copytree(INPUTS / "set", work / "seeds" / "chaosbench", dirs_exist_ok=True)
    if SHARED.is_dir():
        for name in ("conformity", "chaosbench"):
            shutil.copytree(SHARED / name, work / "shared" / name, copy_function=shutil.copyfile, dirs_exist_ok=True)
    left_out, missing = [], set()
    for folder, name, line in lines(part):
        place = work / part / folder
        place.mkdir(parents=True, exist_ok=True)
        key = name if folder == "." else f"{folder}: {name}"
        # What reads a run that could not be made is left out with it.
        needs = [word for word in shlex.split(line) if word.startswith("../../shared/") or word in missing]
        if any(word in missing or not (place / word).exists() for word in needs):
            left_out.append(f"{part}.{key}" if folder != "." else f"{part}: {name}")
            missing |= {word for word in shlex.split(line) if word.startswith("runs/")}
            continue
        before = COMMANDS["before"].get(f"{part}.{key}")
        done = call(line, place)
        if before is not None and done.returncode == 2:
            done = call(before, place)
        said = "" if before else done.stdout
        printed = work / part / "printed" / folder / f"{name.replace(' ', '_')}.txt"
        printed.parent.mkdir(parents=True, exist_ok=True)
        printed.write_text(f"exit {done.returncode}\n{said}{done.stderr if done.returncode else ''}", encoding="utf-8")
    return left_out


def call(line: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """Call `perpend`, `chaosbench` or `python` as this checkout has them, whatever is installed."""
    homes = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["scripts"]
    program, *words = shlex.split(line)
    argv = words if program == "python" else [program, *words]
    fixed = {"PYTHONPATH": str(ROOT / "src"), "COLUMNS": "100", "TZ": "UTC", "SOURCE_DATE_EPOCH": str(NOW)}
    return subprocess.run(
        [sys.executable, "-c", CALL, homes.get(program, program), *argv],
        cwd=folder,
        env={**os.environ, **fixed},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )


def contents(root: Path) -> dict[str, tuple[str, bytes]]:
    """Of every file below a part's folder, by its normal name: the digest of its bytes, and its normal form."""
    paths = [path for path in sorted(root.rglob("*")) if path.is_file()]
    kept = [path for path in paths if path.name not in LEFT_OUT and not _is_of_run(path.relative_to(root))]
    names = {hashlib.sha256(path.read_bytes()).hexdigest(): path.relative_to(root).as_posix() for path in paths}
    for path in paths:
        if path.suffix == ".json":
            found_in = STATED.findall(path.read_text(encoding="utf-8"))
            names |= {digest: f"{key} of {path.relative_to(root).parent.as_posix()}" for key, digest in found_in}
    forms = Forms(names)
    found = {}
    for path in kept:
        data = path.read_bytes()
        found[forms.words(path.relative_to(root).as_posix())] = (digest(data), forms.normal(path))
    for path in paths:
        if path.name == "run.db":
            name = path.relative_to(root).as_posix()
            for view, rows in views(path).items():
                found[f"{name}: {view}"] = (digest(rows), forms.words(rows.decode()).encode())
    return found


def _is_of_run(path: Path) -> bool:
    """Whether a file is in a run directory: what is published or derived of it is recorded, and its views."""
    return "runs" in path.parts[:-1] and "published_results" not in path.parts


def digest(data: bytes) -> str:
    """The beginning of the SHA-256."""
    return hashlib.sha256(data).hexdigest()[:16]


def views(path: Path) -> dict[str, bytes]:
    """The rows of every view `conformity_*` of a run."""
    with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as db:
        names = db.execute("SELECT name FROM sqlite_master WHERE type = 'view' ORDER BY name").fetchall()
        return {name: _rows(db, name) for (name,) in names}


def _rows(db: sqlite3.Connection, name: str) -> bytes:
    cursor = db.execute(f'SELECT * FROM "{name}"')
    head = repr([column[0] for column in cursor.description])
    return "\n".join([head, *sorted(map(repr, cursor))]).encode()


class Forms:
    """Normal forms of files: what they say, whoever wrote it when."""

    def __init__(self, names: Mapping[str, str]) -> None:
        self.names = names
        self.version = call("perpend --version", ROOT).stdout.split()[-1]

    def normal(self, path: Path) -> bytes:
        """The normal form of one file."""
        data = path.read_bytes()
        suffix = path.suffix[1:]
        if suffix == "gz":
            data, suffix = gzip.decompress(data), path.suffixes[-2][1:]
        if suffix == "png":
            from matplotlib import image

            return image.imread(path).tobytes()
        if suffix == "pdf":
            return re.sub(rb"/(Producer|Creator|CreationDate) ?\([^)]*\)", b"", data)
        if suffix == "db":
            with closing(sqlite3.connect(path)) as db:
                return self.words("\n".join(db.iterdump())).encode()
        if suffix not in TEXTS:
            return data
        text = data.decode("utf-8")
        if suffix == "json":
            text = json.dumps(bare(json.loads(text)), indent=1, sort_keys=True)
        elif suffix == "jsonl":
            text = "\n".join(json.dumps(bare(json.loads(line)), sort_keys=True) for line in text.split("\n") if line)
        return self.words(text).encode()

    def words(self, text: str) -> str:
        """A text with a word for the version, for digests of files and for their names that are digests."""
        text = text.replace(self.version, "VERSION")
        text = SHA256.sub(self._named, text)
        return TIMES.sub("TIME", UUID.sub("UUID", text))

    def _named(self, one: re.Match[str]) -> str:
        """The name of what has a digest, which may be cut short; the digest itself, if it is of something else."""
        of = next((name for digest, name in self.names.items() if digest.startswith(one[0])), None)
        return one[0] if of is None else f"SHA-256 of {of}"


def bare(value: object) -> object:
    """A JSON value without the keys that say when, by which code or in which form."""
    if isinstance(value, dict):
        is_form = isinstance(value.get("format"), int)
        return {k: bare(v) for k, v in value.items() if k not in DROPPED and not (is_form and k == "format")}
    return [bare(one) for one in value] if isinstance(value, list) else value

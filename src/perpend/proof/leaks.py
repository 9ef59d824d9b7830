"""A search for what must not be published: keys, paths of this machine, its user and its name.

Every byte of every file is searched, packed ones unpacked, file names too. What is looked for depends on who wrote it,
because a model may speak of /home/alice and of root without knowing either:

- Everywhere: the values of this machine's keys (variables whose name says so, and those that the run's spec named) in
  every spelling of `perpend.spec.keys`; the distinctive shapes of keys (sk-…, ghp_…, a private key); this machine's
  home and working folder; its user and host where they occur in a path or an address.
- In what we write (manifest, plan, report, tables, receipt, and the errors among the responses) also: shapes that prose
  may have by chance (a bearer token, a password in an address), home-like absolute paths, short values of keys as whole
  words, and this machine's user and host: as whole words where they have a digit, a sign or 8 letters, else ('may',
  'will') only in a path, an address, or as a whole JSON string.

A value is refused whatever is accepted. The shape of a key that is none of this machine's may be accepted with a
reason: a benchmark on leaked keys must be publishable. Names that say nothing (root, user, localhost …) are not looked
for, nor folders of one part (/root, /app), nor values that are plain words.
"""

from __future__ import annotations

import csv
import gzip
import os
import re
import socket
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from perpend.canon import JSON, dumps, parse
from perpend.measure.processes import in_order
from perpend.spec.keys import is_telling, key_values, spellings

# Each begins with letters that must occur, which are looked for first: a text without them costs next to nothing. No
# pattern looks far beyond its own length, so that no text, however it was made, takes long to search.
SHAPES = {
    "an API key (sk-…)": (rb"sk-(?<!\wsk-)(?:[A-Za-z0-9]+[_-]){0,8}(?=[A-Za-z]*\d)(?=\d*[A-Za-z])[A-Za-z0-9]{16,}",),
    "an AWS key": (rb"AKIA(?<!\wAKIA)[A-Z0-9]{16}\b", rb"ASIA(?<!\wASIA)[A-Z0-9]{16}\b"),
    "a GitHub token": (
        *(rb"gh%b_(?<!\wgh%b_)[A-Za-z0-9]{20,}" % (kind, kind) for kind in (b"p", b"o", b"u", b"s", b"r")),
        rb"github_pat_[A-Za-z0-9_]{20,}",
    ),
    "a GitLab token": (rb"glpat-[A-Za-z0-9_-]{20,}",),
    "a Hugging Face token": (rb"hf_(?<!\whf_)[A-Za-z0-9]{20,}",),
    "a Groq key": (rb"gsk_(?<!\wgsk_)[A-Za-z0-9]{20,}",),
    "an xAI key": (rb"xai-(?<!\wxai-)[A-Za-z0-9]{40,}",),
    "a Google API key": (rb"AIza(?<!\wAIza)[A-Za-z0-9_-]{30,}",),
    "a Slack token": (rb"xox(?<!\wxox)[abeoprs]-[A-Za-z0-9-]{10,}",),
    "a Stripe key": (rb"sk_live_[A-Za-z0-9]{16,}", rb"rk_live_[A-Za-z0-9]{16,}"),
    "a package index token": (rb"pypi-AgE[A-Za-z0-9_-]{16,}", rb"npm_(?<!\wnpm_)[A-Za-z0-9]{30,}"),
    "a JSON web token": (rb"eyJ(?<![\w-]eyJ)[A-Za-z0-9_-]{10,}\.eyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10,}",),
    "a private key": (rb"-----BEGIN [A-Z ]{0,40}PRIVATE KEY",),
}
_CHANCE = {
    "a bearer token": rb"(?i)\bbearer\s+[A-Za-z0-9._~+/-]{16,}",
    "a password in an address": rb"\b[a-z][a-z0-9+.-]{0,20}://[^/\s:@\"]{1,200}:[^/\s:@\"]{1,200}@",
}
PATHS = {
    "an absolute path": rb"(?<![\w.:/])/(?:home|Users|root|tmp|var|mnt|private|scratch|srv)/[^\s\"'`)]+|\bfile:///\w+",
    "an absolute path of Windows": rb"(?i)\b[a-z]:(?:\\{1,2}|/)(?:users|windows)(?:\\{1,2}|/)\w+",
}
_LITERAL = re.compile(rb"[A-Za-z0-9_-]+")
_GENERIC = frozenset((
    "root", "user", "admin", "administrator", "ubuntu", "debian", "runner", "jovyan", "nobody", "docker", "guest",
    "vagrant", "ec2-user", "test", "model", "localhost", "local", "host", "container", "buildkitsandbox",
))  # fmt: skip
_DISTINCT = re.compile(r"[^A-Za-z]|.{8}")
_BLOCK = 1 << 20
# What one block ends with is searched again at the start of the next, so that nothing is hidden by lying across.
_OVERLAP = 1 << 16
_DATA = frozenset((
    "items.jsonl.gz", "trials.jsonl.gz", "responses.jsonl.gz", "scores.jsonl.gz", "labels.jsonl",
    "predictions.jsonl", "predictions.jsonl.gz", "predictions_subset.jsonl.gz",
))  # fmt: skip
_ERROR = b'"error":"'
# How far before its letters a pattern may begin.
_BEFORE = 64
_ESCAPED = re.compile(rb"\\u00([2-7][0-9a-fA-F])")
_QUOTED = re.compile(rb"%(?:25)*([2-7][0-9a-fA-F])")


@dataclass(frozen=True, slots=True)
class Leak:
    """Something that must not be published: where it is and of which kind it is, never what it is."""

    file: str
    line: int
    kind: str
    secret: bool
    """The value of a key of this machine: no reason is good enough."""
    field: str = ""
    """The field of a JSON file, or the column of a table, that holds it; '' where a file has none."""

    @property
    def is_key(self) -> bool:
        """Whether it is a key, by its value or by its shape."""
        return self.secret or self.kind in SHAPES

    def __str__(self) -> str:
        where = f"{self.file}:{self.line}" if self.line else self.file
        return f"{where}: {self.kind}" + (f" in {self.field}" if self.field else "")


@dataclass(frozen=True, slots=True)
class MachineIdentity:
    """What this machine knows to be its own. `secrets` by the name of their variable; '' is not looked for."""

    secrets: Mapping[str, str] = field(default_factory=dict)
    folders: Sequence[str] = ()
    user: str = ""
    host: str = ""


def this_machine(
    environment: Mapping[str, str] | None = None, folders: Sequence[Path] = (), variables: Sequence[str] = ()
) -> MachineIdentity:
    """The keys of the environment, the home and the working folder and these folders, the user and the host.

    `variables` hold keys whatever they are called: a spec names them.
    """
    given = os.environ if environment is None else environment
    # In a container without a passwd entry there may be no home at all.
    home = given.get("HOME") or given.get("USERPROFILE") or ""
    of_home = Path(home).name if Path(home).parent.name in ("home", "Users") else ""
    user = given.get("USER") or given.get("LOGNAME") or given.get("USERNAME") or of_home
    known = dict.fromkeys((home, str(Path.cwd()), *(str(folder.resolve()) for folder in folders)))
    telling = [folder for folder in known if len(Path(folder).parts) > 2]
    return MachineIdentity(key_values(given, variables), telling, _telling(user), _telling(socket.gethostname()))


def _telling(name: str) -> str:
    return "" if len(name) < 3 or name.lower() in _GENERIC else name


def search(folder: Path, own: MachineIdentity, pool: ProcessPoolExecutor | None = None) -> list[Leak]:
    """Every leak in the files below a folder, by file and line; of one kind in one file only the first."""
    paths = sorted(entry for entry in folder.rglob("*") if entry.is_file())
    names = {path: path.relative_to(folder).as_posix() for path in paths}
    large = [path for path in paths if pool is not None and names[path] in _DATA]
    leaks = dict(
        zip(large, in_order(pool, partial(_search, own), [(path, names[path]) for path in large]), strict=True)
    )
    leaks |= {path: search_file(path, names[path], own) for path in paths if path not in leaks}
    return [leak for path in paths for leak in leaks[path]]


def _search(own: MachineIdentity, file: tuple[Path, str]) -> list[Leak]:
    return search_file(*file, own)


def search_file(path: Path, name: str, own: MachineIdentity) -> list[Leak]:
    """The leaks of one file, one of each kind, read block by block."""
    everywhere, written = _kinds_everywhere(own), _kinds_written(own)
    hits: dict[str, tuple[int, Kind]] = {}
    in_name = [kind for kind in everywhere if kind.find(name.encode("utf-8", "surrogateescape")) is not None]
    number, kept = 1, b""
    with gzip.open(path, "rb") if path.suffix == ".gz" else path.open("rb") as file:
        while block := file.read(_BLOCK):
            window = kept + block
            plain = _undisguised(window)
            for kind in everywhere:
                _note(hits, kind, number, kind.place(window, plain), window)
            for kind in written:
                place = kind.find(window) if name not in _DATA else kind.place_in_errors(window)
                _note(hits, kind, number, place, window)
            kept = window[-_OVERLAP:]
            number += window.count(b"\n", 0, len(window) - len(kept))
    shown = "the name of a file" if in_name else name
    leaks = {kind.name: Leak(shown, 0, kind.name, kind.secret) for kind in in_name}
    for line, kind in hits.values():
        holder = _field(path, line, kind)
        if any(other.place(holder.encode("utf-8", "surrogatepass")) is not None for other in everywhere):
            holder = "a field whose name holds one"
        leaks[kind.name] = Leak(shown, line, kind.name, kind.secret, holder)
    return list(leaks.values())


def _note(hits: dict[str, tuple[int, Kind]], kind: Kind, first: int, place: int | None, window: bytes) -> None:
    if place is not None and kind.name not in hits:
        hits[kind.name] = (first + window.count(b"\n", 0, place), kind)


@dataclass(frozen=True, slots=True)
class Kind:
    """One thing to look for: a string that must occur, and a pattern where the string alone says too little."""

    name: str
    secret: bool
    text: bytes = b""
    pattern: re.Pattern[bytes] | None = None
    disguised: bool = False
    """Also where it comes to light when the escapes of an address or of JSON are taken back."""

    def find(self, block: bytes) -> int | None:
        """Where it first occurs in the block."""
        start = block.find(self.text)
        if start < 0 or self.pattern is None:
            return None if start < 0 else start
        match = self.pattern.search(block, max(0, start - _BEFORE))
        return None if match is None else match.start()

    def place(self, block: bytes, plain: bytes | None = None) -> int | None:
        """Where it first occurs, as it is or, to the line, disguised; `plain` is the block without disguises."""
        place = self.find(block)
        if place is not None or not self.disguised:
            return place
        if self.find(_undisguised(block) if plain is None else plain) is None:
            return None
        start = 0
        for line in block.split(b"\n"):
            if self.find(_undisguised(line)) is not None:
                return start
            start += len(line) + 1
        return None

    def place_in_errors(self, block: bytes) -> int | None:
        """Where it first occurs in a line of the ledger that holds an error."""
        if _ERROR not in block or self.find(block) is None:
            return None
        start = 0
        for line in block.split(b"\n"):
            if _ERROR in line and (place := self.find(line)) is not None:
                return start + place
            start += len(line) + 1
        return None


def _undisguised(block: bytes) -> bytes:
    """A block with the escapes of addresses and of JSON's characters taken back, and without Markdown's and TeX's."""
    if b"u00" in block:
        block = _ESCAPED.sub(_character, block)
    return _QUOTED.sub(_character, block).replace(b"\\", b"")


def _character(match: re.Match[bytes]) -> bytes:
    return bytes([int(match[1], 16)])


def _kinds_everywhere(own: MachineIdentity) -> list[Kind]:
    telling = {name: value for name, value in own.secrets.items() if is_telling(value)}
    kinds = [
        Kind(f"the value of {name}", True, spelling.encode("utf-8", "surrogateescape"), disguised=spelling == value)
        for name, value in telling.items()
        for spelling in spellings(value)
    ]
    for name, patterns in SHAPES.items():
        kinds += [Kind(name, False, _start_of(pattern), re.compile(pattern)) for pattern in patterns]
    kinds += [
        Kind("a folder of this machine", False, text.encode("utf-8", "surrogateescape"))
        for folder in own.folders
        for text in dict.fromkeys((folder, dumps(folder)[1:-1]))
    ]
    for what, name in (("user", own.user), ("host", own.host)):
        if name:
            word = re.escape(name.encode())
            pattern = re.compile(rb"[/\\@~]" + word + rb"(?![\w-])|(?<![\w-])" + word + rb"@")
            kinds.append(Kind(f"this machine's {what} name", False, name.encode(), pattern))
    return kinds


def _start_of(pattern: bytes) -> bytes:
    """The letters that a shape begins with."""
    start = _LITERAL.match(pattern)
    return b"" if start is None else start[0]


def _kinds_written(own: MachineIdentity) -> list[Kind]:
    kinds = [Kind(name, False, b"", re.compile(pattern)) for name, pattern in (_CHANCE | PATHS).items()]
    for name, value in own.secrets.items():
        if not is_telling(value):
            whole_word = re.compile(rb"(?<!\w)" + re.escape(value.encode()) + rb"(?!\w)")
            kinds.append(Kind(f"the short value of {name}", False, value.encode(), whole_word))
    for what, name in (("user", own.user), ("host", own.host)):
        if name:
            word = re.escape(name.encode())
            distinct = rb"(?<![\w-])" + word + rb"(?![\w-])" if _DISTINCT.search(name) else rb'"' + word + rb'"'
            kinds.append(Kind(f"this machine's {what} name", False, name.encode(), re.compile(distinct)))
    return kinds


def _field(path: Path, line: int, kind: Kind) -> str:
    """The field that holds it, by its path in a JSON file or its column in a table; '' in a file of another kind."""
    kind_of_file = Path(path.name.removesuffix(".gz")).suffix
    try:
        if kind_of_file == ".csv":
            with path.open(encoding="utf-8", newline="") as table:
                return _column(table, kind)
        if kind_of_file in (".json", ".jsonl"):
            with gzip.open(path, "rb") if path.suffix == ".gz" else path.open("rb") as file:
                rows = enumerate(file, 1) if kind_of_file == ".jsonl" else [(line, file.read())]
                return _json_field(parse(next(row for number, row in rows if number == line).decode()), kind)
    except (ValueError, RecursionError, csv.Error, StopIteration):
        return ""  # not what its name says: the line has to do
    return ""


def _json_field(value: JSON, kind: Kind) -> str:
    for trail, text in _texts(value):
        forms = text.encode("utf-8", "surrogatepass"), dumps(text).encode("utf-8", "surrogatepass")
        if any(kind.place(form) is not None for form in forms):
            return trail
    return ""


def _texts(value: JSON, trail: str = "") -> Iterator[tuple[str, str]]:
    """(path, text) of every text and number of a JSON value; of a name, the path of the object that has it."""
    if isinstance(value, Mapping):
        for name, entry in value.items():
            yield f"a name in {trail or 'the object'}", name
            yield from _texts(entry, f"{trail}.{name}" if trail else name)
    elif isinstance(value, list):
        for number, entry in enumerate(value):
            yield from _texts(entry, f"{trail}[{number}]")
    elif value is not None:
        yield trail, value if isinstance(value, str) else dumps(value)


def _column(table: Iterable[str], kind: Kind) -> str:
    rows = csv.reader(table)
    heads = next(rows, [])
    for row in rows:
        for head, cell in zip(heads, row, strict=False):
            if kind.place(cell.encode("utf-8", "surrogatepass")) is not None:
                return f"column {head}"
    return ""

"""A search for what must not be published: secrets, paths of this machine, its user and its name.

Two rules, because a model may speak of /home/alice and of root without knowing either:

- What we write (manifest, plan, report, tables, receipt, and the errors among the responses) is searched for the
  shapes of keys, for home-like absolute paths, and for this machine's user and host: as whole words where they have a
  digit, a sign or 8 letters, else ('may', 'will') only in a path, an address, or as a whole JSON string.
- What models and authors of items wrote (items, responses, scores, labels) is searched only for what this machine knows
  to be its own: the values of secret environment variables, its home and working folder, and its user and host where
  they occur in a path or an address.

Names that say nothing (root, user, localhost …) are not looked for, nor folders of one part (/root, /app), nor values
of variables that are shorter than 8 characters or a plain word.
"""

from __future__ import annotations

import gzip
import os
import re
import socket
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from perpend.canon import dumps

SECRETS = {
    "an API key (sk-…)": rb"\bsk-[A-Za-z0-9_-]{16,}",
    "a bearer token": rb"(?i)\bbearer\s+[A-Za-z0-9._~+/-]{16,}",
    "an AWS key": rb"\b(?:AKIA|ASIA)[A-Z0-9]{16}\b",
    "a GitHub token": rb"\bgh[pousr]_[A-Za-z0-9]{20,}|\bgithub_pat_[A-Za-z0-9_]{20,}",
    "a Hugging Face token": rb"\bhf_[A-Za-z0-9]{20,}",
    "a Google API key": rb"\bAIza[A-Za-z0-9_-]{30,}",
    "a Slack token": rb"\bxox[abprs]-[A-Za-z0-9-]{10,}",
    "a private key": rb"-----BEGIN [A-Z ]*PRIVATE KEY",
    "a password in an address": rb"\b[a-z][a-z0-9+.-]*://[^/\s:@\"]+:[^/\s:@\"]+@",
}
PATHS = {
    "an absolute path": rb"(?<![\w.:/])/(?:home|Users|root|tmp|var|mnt|private|scratch|srv)/[^\s\"'`)]+|\bfile:///\w+",
    "an absolute path of Windows": rb"(?i)\b[a-z]:(?:\\{1,2}|/)(?:users|windows)(?:\\{1,2}|/)\w+",
}
_SECRET_NAME = re.compile(r"(?:KEY|TOKEN|SECRET|PASSWORD|PASSWD|CREDENTIALS)$", re.IGNORECASE)
_PLAIN_WORD = re.compile(r"[A-Za-z]{0,15}|\d{0,11}")
_GENERIC = frozenset((
    "root", "user", "admin", "administrator", "ubuntu", "debian", "runner", "jovyan", "nobody", "docker", "guest",
    "vagrant", "ec2-user", "test", "model", "localhost", "local", "host", "container", "buildkitsandbox",
))  # fmt: skip
_DISTINCT = re.compile(r"[^A-Za-z]|.{8}")
_BLOCK = 1 << 20
_DATA = frozenset(("items.jsonl.gz", "trials.jsonl.gz", "responses.jsonl.gz", "scores.jsonl.gz", "labels.jsonl"))
_ERROR = b'"error":"'


@dataclass(frozen=True, slots=True)
class Leak:
    """Something that must not be published: where it is and of which kind it is, never what it is."""

    file: str
    line: int
    kind: str
    secret: bool

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {self.kind}"


@dataclass(frozen=True, slots=True)
class MachineIdentity:
    """What this machine knows to be its own. `secrets` by the name of their variable; '' is not looked for."""

    secrets: Mapping[str, str] = field(default_factory=dict)
    folders: Sequence[str] = ()
    user: str = ""
    host: str = ""


def this_machine(environment: Mapping[str, str] | None = None, folders: Sequence[Path] = ()) -> MachineIdentity:
    """The secrets of the environment, the home and the working folder and these folders, the user and the host."""
    given = os.environ if environment is None else environment
    secrets = {
        name: value.strip()
        for name, value in given.items()
        if _SECRET_NAME.search(name) and len(value.strip()) >= 8 and not _PLAIN_WORD.fullmatch(value.strip())
    }
    # In a container without a passwd entry there may be no home at all.
    home = given.get("HOME") or given.get("USERPROFILE") or ""
    of_home = Path(home).name if Path(home).parent.name in ("home", "Users") else ""
    user = given.get("USER") or given.get("LOGNAME") or given.get("USERNAME") or of_home
    known = dict.fromkeys((home, str(Path.cwd()), *(str(folder.resolve()) for folder in folders)))
    telling = [folder for folder in known if len(Path(folder).parts) > 2]
    return MachineIdentity(secrets, telling, _telling(user), _telling(socket.gethostname()))


def _telling(name: str) -> str:
    return "" if len(name) < 3 or name.lower() in _GENERIC else name


def search(folder: Path, own: MachineIdentity) -> list[Leak]:
    """Every leak in the files below a folder, by file and line; of one kind in one file only the first."""
    leaks: dict[tuple[str, str], Leak] = {}
    for path in sorted(entry for entry in folder.rglob("*") if entry.is_file()):
        for leak in search_file(path, path.relative_to(folder).as_posix(), own):
            leaks.setdefault((leak.file, leak.kind), leak)
    return list(leaks.values())


def search_file(path: Path, name: str, own: MachineIdentity) -> Iterator[Leak]:
    """The leaks of one file, read in blocks of whole lines."""
    as_data, written = _kinds_in_data(own), _kinds_written(own)
    number = 1
    with gzip.open(path, "rb") if path.suffix == ".gz" else path.open("rb") as file:
        while block := file.read(_BLOCK) + file.readline():
            if name not in _DATA:
                yield from _leaks(name, number, block, written)
            else:
                yield from _leaks(name, number, block, as_data)
                if _ERROR in block:
                    for place, line in enumerate(block.split(b"\n"), number):
                        if _ERROR in line:
                            yield from _leaks(name, place, line, written)
            number += block.count(b"\n")


def _leaks(name: str, first: int, block: bytes, kinds: Sequence[Kind]) -> Iterator[Leak]:
    for kind in kinds:
        place = kind.find(block)
        if place is not None:
            yield Leak(name, first + block.count(b"\n", 0, place), kind.name, kind.secret)


@dataclass(frozen=True, slots=True)
class Kind:
    """One thing to look for: a string that must occur, and a pattern where the string alone says too little."""

    name: str
    secret: bool
    text: bytes = b""
    pattern: re.Pattern[bytes] | None = None

    def find(self, block: bytes) -> int | None:
        """Where it first occurs in the block."""
        start = block.find(self.text)
        if start < 0 or self.pattern is None:
            return None if start < 0 else start
        match = self.pattern.search(block)
        return None if match is None else match.start()


def _kinds_in_data(own: MachineIdentity) -> list[Kind]:
    kinds = [
        Kind(f"the value of {name}", True, text) for name, value in own.secrets.items() for text in _spellings(value)
    ]
    kinds += [Kind("a folder of this machine", False, text) for f in own.folders for text in _spellings(f)]
    for what, name in (("user", own.user), ("host", own.host)):
        if name:
            word = re.escape(name.encode())
            pattern = re.compile(rb"[/\\@~]" + word + rb"(?![\w-])|(?<![\w-])" + word + rb"@")
            kinds.append(Kind(f"this machine's {what} name", False, name.encode(), pattern))
    return kinds


def _kinds_written(own: MachineIdentity) -> list[Kind]:
    kinds = [Kind(name, True, b"", re.compile(pattern)) for name, pattern in SECRETS.items()]
    kinds += [Kind(name, False, b"", re.compile(pattern)) for name, pattern in PATHS.items()]
    for what, name in (("user", own.user), ("host", own.host)):
        if name:
            word = re.escape(name.encode())
            distinct = rb"(?<![\w-])" + word + rb"(?![\w-])" if _DISTINCT.search(name) else rb'"' + word + rb'"'
            pattern = re.compile(distinct)
            kinds.append(Kind(f"this machine's {what} name", False, name.encode(), pattern))
    return [*kinds, *_kinds_in_data(own)]


def _spellings(value: str) -> list[bytes]:
    """A string as it is, and as JSON writes it."""
    return list(dict.fromkeys((value.encode(), dumps(value)[1:-1].encode())))

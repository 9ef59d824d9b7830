"""What an audit says of a forgery: made on a copy of an honest folder, sealed, audited within a limit of time."""

from __future__ import annotations

import hashlib
import json
import re
import shutil
import signal
import tomllib
import traceback
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import TypeAlias

from perpend.errors import FormatError, PerpendError
from perpend.proof.audit import Options, audit
from perpend.proof.publish import write_index
from perpend.proof.statements.citation import CITATION
from perpend.proof.statements.published import RECORDS
from tests.attack import honest, ledger
from tests.attack.fields import HIDDEN
from tests.attack.forge import STATED, Forgery, derived_anew, seal
from tests.inventory.written import UUID

LIMIT = 30.0
FINE = frozenset(("caught", "accepted", "refused", "no change"))
"""caught: exit 6, or 5 where a format number is another. accepted: the verdict names the gate and the reason. refused:
perpend makes no such folder."""

BEYOND_RULES = tuple(tomllib.loads(Path(__file__).with_name("beyond.toml").read_text(encoding="utf-8")).items())
"""File, place, kind and level of forgeries → the entry of the printed list that they may fall under, if not caught."""
OF_IMPORTS = re.compile(r"responses\.jsonl\.gz \| \d+: request_sha256 \|.*|run\.db \| response\.request_sha256 \|.*")
"""What nobody can recompute of an imported run, whose questions another tool asked."""


def beyond(forgery: Forgery, kind: str) -> str | None:
    """The entry of the printed list that a forgery of such a run may fall under; None where it must be caught."""
    if kind == "imported" and OF_IMPORTS.fullmatch(str(forgery)):
        return "imports"
    return next((key for rule, key in BEYOND_RULES if re.fullmatch(rule, str(forgery))), None)


PINNED = Path(__file__).with_name("verdicts.jsonl")
"""How many forgeries of each file are caught, accepted, refused, …: one that tries nothing any more is seen here."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a forgery ended. `places` are the differences that the audit named, by check."""

    verdict: str
    places: dict[str, str] = field(default_factory=dict)
    line: str = ""

    def names(self, forgery: Forgery) -> bool:
        """Whether what was said names the file or the field."""
        text = " ".join((*self.places, *self.places.values())).lower()
        words = {HIDDEN[0], *re.split(r"[./:| ]+", forgery.place.lower()), *Path(forgery.file).name.lower().split(".")}
        words |= {"item file"} if "dataset" in words else set()
        words |= {"checkpoint hash"} if "checkpoint_sha256" in words else set()
        words |= {"trial"} if re.match(r"\d+: ", forgery.place) else set()  # a line of answers or scores is a trial's
        return any(word.rstrip("s") in text for word in words if len(word) > 2)


class TooLong(BaseException):
    """An audit took longer than any honest folder of this size needs."""


@contextmanager
def limited(seconds: float = LIMIT) -> Iterator[None]:
    """Raise TooLong when the block takes longer."""

    def ring(_: int, __: FrameType | None) -> None:
        raise TooLong

    before = signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def audited(folder: Path, *, trust_code: bool = False) -> Outcome:
    """What the audit says of one folder; anything but checks or an error of perpend's is a fault."""
    try:
        with limited():
            (one,) = audit([folder], Options(workers=1, trust_code=trust_code))
    except TooLong:
        return Outcome("HUNG")
    except FormatError as error:
        return Outcome("caught", {"format": str(error)}, str(error))
    except PerpendError as error:
        return Outcome("RAISED", line=f"{type(error).__name__}: {error}")
    except Exception as error:  # noqa: BLE001  any other is what we look for
        at = traceback.extract_tb(error.__traceback__)[-1]
        return Outcome(
            "TRACEBACK", line=f"{type(error).__name__}: {error!s:.200} at {Path(at.filename).name}:{at.lineno}"
        )
    failing = {check.name: check.first for check in one.checks if check.fails}
    return Outcome("caught" if failing else "PASSED", failing, one.verdict)


def of_published(source: Path, kind: str, forgery: Forgery, work: Path, *, trust_code: bool = False) -> Outcome:
    """Forge a copy of source/published/<kind> below `work`, seal it, audit it."""
    folder = work / "published" / kind
    shutil.rmtree(folder.parent, ignore_errors=True)
    shutil.copytree(source / "published" / kind, folder)
    write_index(folder.parent)
    before = contents(folder.parent)
    forgery.forge(folder)
    if not forgery.file.startswith("../"):
        if forgery.level == "derived":
            if contents(folder.parent) == before:
                return Outcome("no change")
            if not derived_anew(folder, trust_code=trust_code):
                return Outcome("refused")
        elif forgery.level == "sealed":
            seal(folder, restate=not forgery.file.startswith((*STATED, CITATION, RECORDS)))
    if contents(folder.parent) == before:
        return Outcome("no change")
    outcome = audited(folder, trust_code=trust_code)
    if outcome.verdict == "PASSED" and (gates := accepted(folder) - accepted(source / "published" / kind)):
        is_said = all(f"{gate}: " in outcome.line for gate in gates)
        return Outcome("accepted" if is_said else "PASSED", line=outcome.line)
    return outcome


def accepted(folder: Path) -> set[str]:
    """The gates that a receipt says failed and were accepted."""
    body = json.loads((folder / "receipt.json").read_text(encoding="utf-8"))
    return {str(gate["gate"]) for gate in body["gates"] if "accepted" in gate}


def of_run(source: Path, kind: str, forgery: Forgery, work: Path, *, trust_code: bool = False) -> Outcome:
    """The same for the run directory source/runs/<kind>, which has no seal."""
    directory = work / "runs" / kind
    shutil.rmtree(directory.parent, ignore_errors=True)
    shutil.copytree(source / "runs" / kind, directory)
    files, rows = contents(directory), ledger.contents(directory)
    forgery.forge(directory)
    of_rows = forgery.file == "run.db" and forgery.place != "file" and not re.search("view|crafted", forgery.kind)
    if contents(directory) == files or (of_rows and ledger.contents(directory) == rows):
        return Outcome("no change")
    if forgery.level == "derived" and not ledger.derived_again(directory, trust_code=trust_code):
        return Outcome("refused")
    return audited(directory, trust_code=trust_code)


Judge: TypeAlias = Callable[..., Outcome]


def drawn(known: Iterable[Forgery], count: int, kind: str) -> list[Forgery]:
    """Some of the forgeries, others of each kind of run, by the digests of their names: a new one hardly changes which.

    A name can be no text. The identifier in the name of a record is another one each time.
    """

    def order(one: Forgery) -> bytes:
        return hashlib.sha256(UUID.sub("UUID", f"{kind} {one}").encode(errors="replace")).digest()

    return sorted(known, key=order)[:count]


def pinned() -> dict[tuple[str, str, str, str], dict[str, int]]:
    """(folder, kind of run, file, level) → verdict → how many."""
    lines = [json.loads(line) for line in PINNED.read_text(encoding="utf-8").splitlines()]
    return {tuple(line.pop(key) for key in ("of", "kind", "file", "level")): line for line in lines}


def faults(judge: Judge, source: Path, kind: str, file: str, tried: Iterable[Forgery], work: Path) -> list[str]:
    """What is wrong with the outcomes, in words; nothing where each is caught and named, or may pass, as many as ever.

    `file` is how the forgeries are called in verdicts.jsonl.
    """
    words = []
    of = "published" if judge is of_published else "runs"
    told = {key: counts for key, counts in pinned().items() if key[:3] == (of, kind, file)}
    tally: dict[tuple[str, str, str, str], Counter[str]] = {}
    for forgery in tried:
        outcome = judge(source, kind, forgery, work, trust_code=of == "published" and kind in honest.TRUSTED)
        verdict = "beyond" if outcome.verdict == "PASSED" and beyond(forgery, kind) else outcome.verdict
        tally.setdefault((of, kind, file, forgery.level), Counter())[verdict] += 1
        if verdict not in FINE | {"beyond"}:
            words.append(f"{forgery}: {verdict} {outcome.line}")
        elif of == "published" and verdict == "caught" and not outcome.names(forgery):
            words.append(f"{forgery}: not named: {outcome.places}")
    for key in sorted({*told, *tally} if told != tally else ()):
        line = dict(zip(("of", "kind", "file", "level"), key, strict=True)) | dict(sorted(tally.get(key, {}).items()))
        words.append(f"{PINNED.name} says {told.get(key)}: {json.dumps(line, ensure_ascii=False)}")
    return words


def contents(folder: Path) -> dict[str, object]:
    """All that a folder holds, by name."""
    return {path.as_posix(): _content(path) for path in folder.rglob("*")}


def _content(path: Path) -> object:
    if path.is_symlink():
        return path.readlink()
    return path.read_bytes() if path.is_file() else path.stat().st_mode

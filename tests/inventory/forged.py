"""Every kind of forgery with its verdict: of each file, part, change and seal one is made and audited.

The parts of JSON texts are their outermost keys, those of tables and pages whole files: 3,000 of the 62,000 forgeries
that `python -m tests.attack.exhaustive` knows. Small runs come first, so that most are made on those.
"""

from __future__ import annotations

import importlib
import importlib.util
import multiprocessing
import re
import tempfile
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import TypeAlias

from tests.attack import exhaustive, honest, ledger
from tests.attack.forge import Forgery
from tests.attack.judge import Outcome, of_published, of_run
from tests.inventory.written import UUID

ORDER = ("pilot", "questions", "imported", "code", "verbs", "logic", "conformity")
WORKERS = 3
Judge: TypeAlias = Callable[..., Outcome]


def key(kind_of: str, forgery: Forgery) -> str:
    """What the forgeries that count as one have in common."""
    file = re.sub(r"^(tables|figures)/.*(\.\w+)$", r"\1/*\2", UUID.sub("UUID", forgery.file)).replace("\n", "\\n")
    place = forgery.place if forgery.kind == "crafted" else re.sub(r"\d+", "*", forgery.place).split("/")[0]
    if forgery.place == "schema":  # each has a purpose, and was made among others before there was a list of these
        return f"{kind_of} | {file} | {forgery.kind} | crafted | {forgery.level}"
    return f"{kind_of} | {file} | {place} | {forgery.kind} | {forgery.level}"


def crafted(of: str, kind: str) -> list[Forgery]:
    """The forgeries with a purpose of run directories, where those have a list."""
    known: list[Forgery] = exhaustive.crafted(of, kind) if hasattr(exhaustive, "crafted") else []
    return known


def chosen(folder: Path) -> Iterator[tuple[str, str, Forgery, Judge]]:
    """(key, kind of run, forgery, judge) of one forgery per key; of a run directory what no published folder has."""
    seen = set()
    others = sorted({path.name for path in (folder / "published").iterdir() if path.is_dir()} - set(ORDER))
    for kind in (*ORDER, *others):
        for one in exhaustive.forgeries(folder / "published" / kind, kind):
            if (name := key("published", one)) not in seen:
                seen.add(name)
                yield name, kind, one, of_published
    for kind in (*ORDER, *others):
        for one in (*ledger.forgeries(folder / "runs" / kind), *crafted("runs", kind)):
            name = key("run", one)
            if name not in seen and name.replace("run", "published", 1) not in seen:
                seen.add(name)
                yield name, kind, one, of_run


_waiting: list[tuple[str, str, Forgery, Judge]] = []
"""Inherited by the processes that make them: a forgery is a function that cannot be sent."""


def tampered() -> Iterator[tuple[str, str]]:
    """The kinds of the second library, with what its tests ask for; it became a part of the first one."""
    if importlib.util.find_spec("tests.tamper") is not None:
        for kind in importlib.import_module("tests.tamper.kinds").KINDS:
            yield f"published | crafted | {kind.name} | crafted | sealed", f"caught\t{kind.caught}"


def verdicts(work: Path) -> dict[str, str]:
    """The verdict on every forgery, with the checks that named it."""
    found = dict(tampered())
    folder = work / "attacked"
    honest.make(folder)
    _waiting[:] = chosen(folder)
    with multiprocessing.get_context("fork").Pool(WORKERS) as pool:
        outcomes = pool.imap(partial(_outcome, folder), range(len(_waiting)), chunksize=20)
        return found | {name: said for (name, *_), said in zip(_waiting, outcomes, strict=True)}


def _outcome(folder: Path, number: int) -> str:
    _, kind, one, judge = _waiting[number]
    with tempfile.TemporaryDirectory() as tmpdir:
        trust_code = kind in honest.TRUSTED
        outcome = exhaustive.in_a_process(partial(judge, folder, kind, one, Path(tmpdir), trust_code=trust_code))
    return f"{outcome.verdict}\t{', '.join(sorted(outcome.places))}".rstrip()

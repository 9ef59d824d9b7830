"""Instances measured again by the third program, from the text of their equations; and how far the facts agree.

A work file has one JSON line for each instance, under a key that holds the text of the equations, the values, the start
and the code that solves; so a run that was stopped goes on where it was, and what has changed is measured anew.
"""

from __future__ import annotations

import hashlib
import json
import multiprocessing
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

from perpend.canon import JSON, dumps
from perpend.errors import DataError
from perpend.studies.logic.chaos.predicates import PREDICATES
from perpend.studies.logic.chaos.questions.world import Sources
from perpend.studies.logic.chaos.records import Record, SystemWords
from perpend.studies.logic.chaos.solving.integrate import solve
from perpend.studies.logic.chaos.solving.regime import Solved

FOLDER = Path(__file__).parent
METHOD = "third program"
COMPARED = tuple(name for name, predicate in PREDICATES.items() if predicate.kind != "form")
"""What is measured of an orbit, and so compared; the form of equations is read off."""


@dataclass(frozen=True, slots=True)
class FactComparison:
    """One decided fact beside what the third program found. `again` None: it found nothing clear."""

    instance: str
    predicate: str
    fact: bool
    again: bool | None
    numbers: Mapping[str, JSON]
    """The exponents of both and their errors."""

    @property
    def agrees(self) -> bool:
        """Whether both say the same; what is not clear does not."""
        return self.again is self.fact


@cache
def _code() -> str:
    """The digest of the code that solves."""
    names = ("notation.py", "program.py", "orbit.c", "delayed.c", "integrate.py", "regime.py")
    return hashlib.blake2b(b"\0".join((FOLDER / name).read_bytes() for name in names), digest_size=6).hexdigest()


def _key(record: Record, words: SystemWords) -> str:
    what = dumps([record.id, words.equations, dict(record.parameters), list(record.start), _code()])
    return hashlib.blake2b(what.encode(), digest_size=8).hexdigest()


def _solved(task: tuple[Record, SystemWords]) -> tuple[str, Solved]:
    record, words = task
    try:
        return record.id, solve(words, record.parameters, record.start)
    except DataError as error:
        return record.id, Solved({}, why=str(error))


def measured_again(
    world: Sources,
    ids: Iterable[str],
    workers: int = 1,
    path: Path | None = None,
    tell: Callable[[int, int], None] = lambda _done, _all: None,
) -> dict[str, Record]:
    """Records with the facts that the third program finds, by id, in the order of `ids`.

    One that it cannot solve has no facts. `path` is the work file; without one nothing is kept. `tell` hears how many
    are done, of how many.
    """
    wanted = list(dict.fromkeys(ids))
    unknown = [name for name in wanted if name not in world.records]
    if unknown:
        raise DataError(f"{unknown[0]}: no such instance")
    tasks = {name: (world.records[name], world.systems[world.records[name].system_id]) for name in wanted}
    keys = {name: _key(*task) for name, task in tasks.items()}
    known = _kept(path)
    solved_before = {name: known[key] for name, key in keys.items() if key in known}
    left = [tasks[name] for name in wanted if name not in solved_before]
    for name, solved in _solutions(left, workers):
        solved_before[name] = solved
        if path is not None:
            with path.open("a", encoding="utf-8") as file:
                file.write(dumps({"key": keys[name], "id": name, **_as_json(solved)}) + "\n")
        tell(len(solved_before), len(wanted))
    return {name: _record(world.records[name], solved_before[name]) for name in wanted}


def _solutions(tasks: Sequence[tuple[Record, SystemWords]], workers: int) -> Iterator[tuple[str, Solved]]:
    if workers <= 1 or len(tasks) <= 1:
        yield from map(_solved, tasks)
        return
    with multiprocessing.get_context("fork").Pool(workers) as pool:
        yield from pool.imap_unordered(_solved, tasks)


def _as_json(solved: Solved) -> dict[str, JSON]:
    body: dict[str, Any] = asdict(solved)
    body["exponents"], body["errors"] = ([float(f"{x:.6g}") for x in body[name]] for name in ("exponents", "errors"))
    return body


def _kept(path: Path | None) -> dict[str, Solved]:
    """What a work file holds; a line that was cut short is left out."""
    solved_before: dict[str, Solved] = {}
    if path is None or not path.exists():
        return solved_before
    for line in path.read_text(encoding="utf-8").splitlines():
        try:
            body = json.loads(line)
            key = body.pop("key")
            del body["id"]
            solved_before[key] = Solved(
                **{**body, "exponents": tuple(body["exponents"]), "errors": tuple(body["errors"])}
            )
        except (json.JSONDecodeError, KeyError, TypeError):
            continue
    return solved_before


def _record(record: Record, solved: Solved) -> Record:
    numbers: dict[str, JSON] = {"lyapunov": list(solved.exponents), "lyapunov_error": list(solved.errors)}
    numbers["unit"] = solved.unit
    if solved.period is not None:
        numbers["period"] = solved.period
    if solved.why:
        numbers["why"] = solved.why
    return replace(record, facts=solved.facts, methods=dict.fromkeys(solved.facts, METHOD), numbers=numbers)


def world_again(world: Sources, again: Mapping[str, Record]) -> Sources:
    """The same systems, with facts of the third program alone: of an instance that was not measured there are none."""
    blank = {name: replace(record, facts={}, methods={}, numbers={}) for name, record in world.records.items()}
    return replace(world, records={**blank, **again})


def compared(world: Sources, again: Mapping[str, Record]) -> list[FactComparison]:
    """Every decided fact about an orbit beside the third program's."""
    rows = []
    for name, other in again.items():
        record = world.records[name]
        numbers: dict[str, JSON] = {
            "exponents": record.numbers.get("lyapunov"),
            "errors": record.numbers.get("lyapunov_error"),
            "exponents again": other.numbers.get("lyapunov"),
            "errors again": other.numbers.get("lyapunov_error"),
            "unit": record.numbers.get("unit"),
            "unit again": other.numbers.get("unit"),
            "why": other.numbers.get("why", ""),
        }
        rows += [
            FactComparison(name, predicate, fact, other.facts.get(predicate), numbers)
            for predicate, fact in sorted(record.facts.items())
            if predicate in COMPARED
        ]
    return rows

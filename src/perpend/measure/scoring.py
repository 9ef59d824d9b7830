"""Every answer judged on all cores. One process reads the ledger and writes the scores; the others judge."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from functools import lru_cache, partial
from pathlib import Path
from typing import TypeAlias

from perpend.errors import SpecError
from perpend.ledger.items import stored_item
from perpend.ledger.manifest import read_manifest
from perpend.ledger.plan import read_response, whole
from perpend.ledger.raw import AnswerPart, answer_parts, last_trial
from perpend.ledger.scores import ScoreRow, score_row
from perpend.ledger.store import Store
from perpend.measure.processes import in_order, processes
from perpend.measure.toolkit import toolkit
from perpend.spec.resolve import packaged_scorer
from perpend.types import Scorer

ALONE = 10_000
"""Fewer trials than this are judged before a second process would have started."""
_CHUNK = 1000

Keyed: TypeAlias = tuple[Sequence[Scorer], Sequence[int]]
"""Scorers, and their numbers in the ledger."""


@dataclass(frozen=True, slots=True)
class Judges:
    """Scorers by the names that a fresh process finds them under."""

    directory: Path
    names: tuple[str, ...]
    trust_code: bool = False


def judges_of(
    directory: Path, scorers: Sequence[Scorer], names: Sequence[str], *, given: bool, trust_code: bool
) -> Judges | None:
    """How another process finds these scorers; None where only this one has them.

    `given`: they are objects that the caller has at hand, of which packaged ones alone have a name elsewhere.
    """
    if not given:
        return Judges(directory, tuple(names), trust_code)
    own = tuple(f"{scorer.name}@{scorer.version}" for scorer in scorers)
    try:
        is_packaged = all(packaged_scorer(name) is scorer for name, scorer in zip(own, scorers, strict=True))
    except SpecError:
        return None
    return Judges(directory, own) if is_packaged else None


def score_rows(
    store: Store, keyed: Keyed, judges: Judges | None, workers: int | None = None
) -> Iterator[list[ScoreRow]]:
    """The scores of every trial that was asked, in parts of the plan's order; by all cores where the run is large.

    `workers` processes are started whatever the size.
    """
    pool = None if judges is None else processes(workers, last_trial(store), 0 if workers else ALONE)
    work = partial(judge, keyed) if pool is None or judges is None else partial(_judge_there, judges, keyed[1])
    with pool or nullcontext():
        yield from in_order(pool, work, answer_parts(store, _CHUNK))


def judge(keyed: Keyed, part: AnswerPart) -> list[ScoreRow]:
    """The scores of one part: by scorer, then trial, as the ledger keeps them."""
    scorers, keys = keyed
    bodies, rows = part
    items = {number: stored_item(body) for number, body in bodies.items()}
    columns: list[list[ScoreRow]] = [[] for _ in scorers]
    for number, item_number, *raw in rows:
        trial, item, answer = whole(number), items[item_number], read_response(raw)
        for scorer, key, column in zip(scorers, keys, columns, strict=True):  # inside: scorers share what they read
            column.append(score_row(key, trial, scorer.judge(item, answer)))
    return [row for column in columns for row in column]


def _judge_there(judges: Judges, keys: Sequence[int], part: AnswerPart) -> list[ScoreRow]:
    return judge((_scorers(judges), keys), part)


@lru_cache(maxsize=1)
def _scorers(judges: Judges) -> tuple[Scorer, ...]:
    code = toolkit(read_manifest(judges.directory), judges.directory, trust_code=judges.trust_code)
    return tuple(code.scorer(name) for name in judges.names)

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
from perpend.ledger.scores import ScoreRow, Verdict, verdict_row
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
JudgedPart: TypeAlias = tuple[list[tuple[int, int]], list[tuple[Verdict, ...]]]
"""Some trials in the plan's order, each with the place of its verdicts; and verdicts, one of each scorer."""


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
    return Judges(directory, own) if all(map(is_packaged, scorers)) else None


def score_rows(
    store: Store, keyed: Keyed, judges: Judges | None, workers: int | None = None
) -> Iterator[list[ScoreRow]]:
    """The scores of every trial that was asked, in parts of the plan's order; by all cores where the run is large.

    `workers` processes are started whatever the size.
    """
    scorers, keys = keyed
    pool = None if judges is None else processes(workers, last_trial(store), 0 if workers else ALONE)
    work = partial(judge, scorers) if pool is None or judges is None else partial(_judge_there, judges)
    with pool or nullcontext():
        for placed, verdicts in in_order(pool, work, answer_parts(store, _CHUNK)):
            columns = [(key, [own[at] for own in verdicts]) for at, key in enumerate(keys)]
            yield [(key, trial, *own[place]) for key, own in columns for trial, place in placed]


def judge(scorers: Sequence[Scorer], part: AnswerPart) -> JudgedPart:
    """The verdicts on one part. The same answer to an item is judged once, where every scorer is a packaged one."""
    bodies, rows = part
    items = {number: stored_item(body) for number, body in bodies.items()}
    once = all(map(is_packaged, scorers))
    known: dict[tuple[object, ...], int] = {}
    placed: list[tuple[int, int]] = []
    verdicts: list[tuple[Verdict, ...]] = []
    for number, item_number, *raw in rows:
        answer = read_response(raw)
        # Anybody else's scorer may read tokens and times, too.
        key = (item_number, *raw[:4]) if once else (number,)
        place = known.setdefault(key, len(verdicts))
        if place == len(verdicts):
            item = items[item_number]
            verdicts.append(tuple([verdict_row(scorer.judge(item, answer)) for scorer in scorers]))
        placed.append((whole(number), place))
    return placed, verdicts


def _judge_there(judges: Judges, part: AnswerPart) -> JudgedPart:
    return judge(_scorers(judges), part)


def is_packaged(scorer: Scorer) -> bool:
    """Whether a scorer is one of perpend's own, which read of a response its text, error, likelihoods and finish."""
    try:
        return packaged_scorer(f"{scorer.name}@{scorer.version}") is scorer
    except SpecError:
        return False


@lru_cache(maxsize=1)
def _scorers(judges: Judges) -> tuple[Scorer, ...]:
    code = toolkit(read_manifest(judges.directory), judges.directory, trust_code=judges.trust_code)
    return tuple(code.scorer(name) for name in judges.names)

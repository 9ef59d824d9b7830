"""Every answer judged on all cores. One process reads the ledger and writes the scores; the others judge."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from functools import lru_cache, partial
from pathlib import Path
from typing import TypeAlias

from perpend.errors import SpecError
from perpend.inert import one_line
from perpend.ledger.items import stored_item
from perpend.ledger.manifest import read_manifest
from perpend.ledger.plan import read_response, whole
from perpend.ledger.raw import answer_parts, last_trial
from perpend.ledger.scores import ScoredPart, Verdict, verdict_row
from perpend.ledger.store import Store
from perpend.measure.processes import in_order, processes
from perpend.measure.toolkit import toolkit
from perpend.spec.function import judged_by
from perpend.spec.resolve import packaged_scorer
from perpend.types import Item, Score, Scorer

ALONE = 10_000
"""Fewer trials than this are judged before a second process would have started."""
_CHUNK = 4000

Placed: TypeAlias = list[tuple[int, int]]
"""Trials, each with the place of its answer among those that are judged."""
ToJudge: TypeAlias = tuple[dict[object, str], list[Sequence[object]]]
"""The bodies of items by their numbers; and (item, text, error, logprobs, finish, usage, ms) of answers."""


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


def scored(
    store: Store, scorers: Sequence[Scorer], judges: Judges | None, workers: int | None = None
) -> Iterator[ScoredPart]:
    """The verdicts on every trial that was asked, in parts that keep the trials of an item together.

    By all cores where the run is large; `workers` processes are started whatever the size.
    """
    pool = None if judges is None else processes(workers, last_trial(store), 0 if workers else ALONE)
    work = partial(judge, scorers) if pool is None or judges is None else partial(_judge_there, judges)
    once = all(map(is_packaged, scorers))
    under_way: deque[Placed] = deque()

    def parts() -> Iterator[ToJudge]:
        for bodies, rows in answer_parts(store, _CHUNK):
            placed, answers = to_judge(rows, once=once)
            under_way.append(placed)
            yield bodies, answers

    with pool or nullcontext():
        try:
            for verdicts in in_order(pool, work, parts()):
                yield under_way.popleft(), verdicts
        except BrokenScorerError as error:
            trials = [trial for trial, place in under_way[0] if place == int(error.args[1])]
            raise SpecError(f"{str(error).removesuffix('.')}; 'perpend show {store.path.parent} --where "
                            f"trial={trials[0]}' shows the answer.") from error  # fmt: skip


def to_judge(rows: Iterable[Sequence[object]], *, once: bool) -> tuple[Placed, list[Sequence[object]]]:
    """The answers that are judged, and where that of each trial is among them.

    `once`: the same answer to an item once. Anybody else's scorer may read tokens and times, and sees every answer.
    """
    known: dict[object, int] = {}
    answers: list[Sequence[object]] = []
    placed: Placed = []
    for row in rows:
        place = known.setdefault(row[1:6] if once else row[0], len(answers))
        if place == len(answers):
            answers.append(row[1:])
        placed.append((whole(row[0]), place))
    return placed, answers


def judge(scorers: Sequence[Scorer], part: ToJudge) -> list[tuple[Verdict, ...]]:
    """The verdicts on some answers, one of each scorer."""
    bodies, answers = part
    items = {number: stored_item(body) for number, body in bodies.items()}
    if not all(map(is_packaged, scorers)):
        return [
            tuple([verdict_row(_judged(scorer, items[number], raw, place)) for scorer in scorers])
            for place, (number, *raw) in enumerate(answers)
        ]
    read = ((items[number], read_response(raw)) for number, *raw in answers)
    return [tuple([verdict_row(scorer.judge(item, answer)) for scorer in scorers]) for item, answer in read]


class BrokenScorerError(SpecError):
    """A scorer of the user's own failed: the message, and the place of the answer among those that were judged."""

    def __str__(self) -> str:
        return one_line(str(self.args[0]))


def _judged(scorer: Scorer, item: Item, raw: Sequence[object], place: int) -> Score:
    try:
        return judged_by(scorer, item, read_response(raw))
    except SpecError as error:
        raise BrokenScorerError(str(error), place) from error


def _judge_there(judges: Judges, part: ToJudge) -> list[tuple[Verdict, ...]]:
    return judge(_scorers(judges), part)


def is_packaged(scorer: Scorer) -> bool:
    """Whether a scorer is one of perpend's own, which read of a response its text, error, likelihoods and finish."""
    if scorer.rule_file:  # ours, by other weights; a run that names it keeps the file
        return True
    try:
        return packaged_scorer(f"{scorer.name}@{scorer.version}") is scorer
    except SpecError:
        return False


@lru_cache(maxsize=1)
def _scorers(judges: Judges) -> tuple[Scorer, ...]:
    code = toolkit(read_manifest(judges.directory), judges.directory, trust_code=judges.trust_code)
    return tuple(code.scorer(name) for name in judges.names)

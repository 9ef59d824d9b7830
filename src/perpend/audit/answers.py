"""Every trial again from its raw rows: the question as it would be asked now, the verdicts as they would be given now.

One process streams the raw responses and hands them out in ranges of the plan; the others read plan and scores of their
range themselves, render, score and compare. What travels is small, so memory does not grow with the run.
"""

from __future__ import annotations

import json
import multiprocessing
import random
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from contextlib import closing
from dataclasses import dataclass
from functools import lru_cache
from itertools import groupby
from pathlib import Path
from typing import TypeAlias

from perpend.audit.checks import Check, Sample, first_difference
from perpend.audit.intent import entries, table, well_formed
from perpend.canon import JSON, digest, dumps
from perpend.compose import Reprompt, find_scorer, make_task
from perpend.conditions import from_params
from perpend.errors import PerpendError, StoreError
from perpend.ledger import Row, snapshot
from perpend.plan import Trial, first_request, request
from perpend.progress import Progress
from perpend.rows import read_response, whole
from perpend.store import Store
from perpend.types import Condition, Response, Score, Scorer

RESPONSES = "no response is missing or too many"
PROMPTS = "questions were asked as planned"
_CHUNK = 500
_ALONE = 3000
"""Fewer trials than this are done before a second process would have started."""

Rows: TypeAlias = tuple[Row, ...]
"""All responses of one trial, by turn, then attempt."""


@dataclass(frozen=True, slots=True)
class Job:
    """What every process needs to know of the run; all of it can be sent and hashed."""

    database: Path
    manifest: str
    """Its canonical JSON."""
    scorers: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Means:
    """A job's names made into things. `conditions` None: `prompts` says why no question can be rendered."""

    conditions: Mapping[str, Condition] | None
    reprompt: Reprompt | None
    choices_scored: bool
    scorers: tuple[tuple[str, Scorer], ...]
    prompts: str
    broken: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class _Part:
    """Some trials of the plan, as (first, last) numbers, and the raw responses of each."""

    ranges: tuple[tuple[int, int], ...]
    responses: Mapping[int, Rows]


def job(database: Path, manifest: Mapping[str, JSON], store: Store, rules: str) -> Job:
    """The job of one run. 'v1' or 'v2' as rules looks only at scorers of that version; an import's are never ours."""
    wanted = [
        f"{name}@{version}"
        for name, version in store.scorers()
        if version != "import" and rules in ("both", f"v{version}")
    ]
    return Job(database, dumps(manifest), tuple(wanted))


def drawn(total: int, sample: int | None, seed: int) -> Sample | None:
    """The sample that was asked for; None where it would be everything."""
    return None if sample is None or sample >= total else Sample(sample, total, seed)


def answers(
    one: Job, total: int, sample: Sample | None, work: tuple[ProcessPoolExecutor | None, Progress]
) -> list[Check]:
    """Compare every trial from 1 to `total`, or the sampled ones: its responses, its questions, its scores."""
    pool, progress = work
    _means.cache_clear()  # whoever changed a scorer since the last audit of this process wants the new one
    checks: dict[str, Check] = {}

    def take(found: Sequence[Check], trials: int) -> None:
        for check in found:
            if check.name in checks:
                checks[check.name].add(check)
            else:
                checks[check.name] = check
        progress.advance(trials)

    running: deque[tuple[Future[list[Check]], int]] = deque()
    for part in _parts(one, total, sample):
        trials = sum(last - first + 1 for first, last in part.ranges)
        if pool is None:
            take(compare(one, part), trials)
            continue
        running.append((pool.submit(compare, one, part), trials))
        while len(running) > 8:
            done, size = running.popleft()
            take(done.result(), size)
    for done, size in running:
        take(done.result(), size)
    return list(checks.values())


def processes(workers: int, trials: int) -> ProcessPoolExecutor | None:
    """A pool of fresh processes; None where one process is enough. Fresh, because a fork copies locks of threads."""
    if workers < 2 or trials < _ALONE:
        return None
    return ProcessPoolExecutor(workers, mp_context=multiprocessing.get_context("spawn"))


def _parts(one: Job, total: int, sample: Sample | None) -> Iterator[_Part]:
    """The plan in parts with their responses, in order. A response beyond the plan travels with the last part."""
    if sample is None:
        bounds: list[tuple[tuple[int, int], ...]] = [
            ((first, min(first + _CHUNK - 1, total)),) for first in range(1, total + 1, _CHUNK)
        ] or [((1, 0),)]
    else:
        chosen = sorted(random.Random(sample.seed).sample(range(1, total + 1), sample.trials))
        singles = [(number, number) for number in chosen]
        bounds = [tuple(singles[at : at + _CHUNK]) for at in range(0, len(singles), _CHUNK)]
    wanted = None if sample is None else {first for part in bounds for first, _ in part}
    with snapshot(one.database) as db, closing(row for row in db.responses()) as rows:
        grouped = groupby(rows, key=lambda row: whole(row[0]))
        held = next(grouped, None)
        for ranges in bounds:
            last = None if ranges is bounds[-1] else ranges[-1][1]
            responses: dict[int, Rows] = {}
            while held is not None and (last is None or held[0] <= last):
                if wanted is None or held[0] in wanted:
                    responses[held[0]] = tuple(held[1])
                held = next(grouped, None)
            yield _Part(ranges, responses)


@lru_cache(maxsize=1)
def _means(one: Job) -> _Means:
    manifest = table(json.loads(one.manifest))
    conditions: dict[str, Condition] | None = {}
    why = ""
    for entry in map(table, entries(manifest.get("conditions"))):
        made = from_params(str(entry.get("name")), table(entry.get("params")))
        if made is None or conditions is None:
            why, conditions = (
                f"condition {entry.get('name')!r} holds no template; its questions cannot be rendered again",
                None,
            )
            break
        conditions[made.name] = made
    if "import" in manifest:
        why, conditions = "imported: the questions were rendered elsewhere", None
    task = table(manifest.get("task"))
    reprompt, told = _reprompt(task, table(manifest.get("reprompt")))
    scorers, broken = [], []
    for name in one.scorers:
        try:
            scorers.append((name, find_scorer(name)))
        except PerpendError as error:
            broken.append((name, str(error)))
    return _Means(conditions, reprompt, bool(task.get("choices_scored")), tuple(scorers), why or told, tuple(broken))


def _reprompt(task: Mapping[str, JSON], declared: Mapping[str, JSON]) -> tuple[Reprompt | None, str]:
    """The task's second turn, if it is the one that the manifest declares; otherwise why not."""
    if not declared:
        return None, ""
    try:
        made = make_task(str(task.get("name")), table(task.get("options"))).reprompt
    except PerpendError as error:
        return None, f"second turns are not rendered again: {error}"
    if made is None or digest(dict(made.params)) != declared.get("sha256"):
        return None, "second turns are not rendered again: this code puts them in other words"
    return made, ""


def compare(one: Job, part: _Part) -> list[Check]:
    """All checks of one part of the plan."""
    means = _means(one)
    responses, prompts = Check(RESPONSES), Check(PROMPTS, note=means.prompts)
    scores = {name: Check(f"scores of {name}") for name in one.scorers}
    for name, why in means.broken:
        scores[name].checked = scores[name].differ = 1
        scores[name].first = why
    left = dict(part.responses)
    with Store.open(one.database) as store:
        for first, last in part.ranges:
            stored = _stored(store, first, last)
            for trial in store.trials(first, last):
                said = _Said.read(trial, left.pop(trial.trial, ()), responses)
                if means.conditions is not None:
                    _asked(said, means, prompts)
                _judged(said, means, stored.pop(trial.trial, {}), scores)
            for number, found in stored.items():
                for name in found.keys() & scores.keys():
                    scores[name].checked += 1
                    scores[name].miss(f"trial {number}: a score of a trial that the plan does not hold")
    for number, rows in left.items():
        responses.checked += len(rows)
        responses.miss(f"trial {number}: {len(rows)} responses to a trial that the plan does not hold")
    return [responses, prompts, *scores.values()]


def _stored(store: Store, first: int, last: int) -> dict[int, dict[str, Score]]:
    """The stored scores of a range. One that is no score is a StoreError, raised when the statement is closed."""
    try:
        return store.scores(range(first, last + 1))
    except ValueError as error:
        told = str(error)
    raise StoreError(f"a score of trials {first} to {last} is not what a run holds: {told}")


@dataclass(frozen=True, slots=True)
class _Said:
    """A trial with its raw responses, and what they come to: the answer to the first turn, and the one that counts."""

    trial: Trial
    rows: Rows
    first: Response | None
    last: Response | None

    @classmethod
    def read(cls, trial: Trial, rows: Rows, check: Check) -> _Said:
        """Count the responses: turns and attempts are numbered from 0 without a gap, for nothing is ever deleted."""
        check.checked += len(rows)
        attempts = {turn: [row[2] for row in own] for turn, own in groupby(rows, key=lambda row: row[1])}
        for turn, numbers in (*attempts.items(), *([("turns", list(attempts))] if rows else ())):
            if numbers != list(range(len(numbers))):
                what = "turns" if turn == "turns" else f"turn {turn}: attempts"
                check.miss(f"{where(trial)}: {what} {numbers}, not {list(range(len(numbers)))}")
        first = cls._answer(row for row in rows if row[1] == 0)
        return cls(trial, rows, first, cls._answer(rows))

    @staticmethod
    def _answer(rows: Iterable[Row]) -> Response | None:
        """Of the last turn that has an answer the first one; else the last failure; None where nothing was asked.

        Written anew on purpose, and not read with the query that scoring uses: an audit that shares it sees nothing.
        """
        answer: Row | None = None
        failure: Row | None = None
        for row in rows:
            failure = row
            if row[4] is not None and (answer is None or row[1] != answer[1]):
                answer = row
        chosen = answer or failure
        if chosen is None:
            return None
        with well_formed(f"the response to trial {chosen[0]}"):
            return read_response(chosen[4:10])


def _asked(said: _Said, means: _Means, check: Check) -> None:
    """Each response's request digest against the question as it is rendered now."""
    if means.conditions is None or not said.rows:
        return
    condition = means.conditions.get(said.trial.condition)
    if condition is None:
        check.checked += len(said.rows)
        check.miss(f"{where(said.trial)}: the manifest has no condition {said.trial.condition!r}")
        return
    now: dict[object, str] = {0: first_request(said.trial, condition, choices_scored=means.choices_scored).digest}
    if len(said.rows) > 1 and means.reprompt is not None and said.first is not None and said.first.text is not None:
        messages = means.reprompt.render(condition.render(said.trial.item), said.first)
        now[1] = request(said.trial, messages, choices_scored=False).digest
    for row in said.rows:
        if row[1] in now:
            check.checked += 1
            if row[3] != now[row[1]]:
                check.miss(f"{where(said.trial)}, turn {row[1]}: stored {row[3]}, recomputed {now[row[1]]}")


def _judged(said: _Said, means: _Means, stored: Mapping[str, Score], checks: Mapping[str, Check]) -> None:
    """Each stored score against the scorer's verdict on the raw text; none where nothing was asked."""
    for name, scorer in means.scorers:
        then = stored.get(name)
        now = None if said.last is None else scorer.judge(said.trial.item, said.last)
        if then is None and now is None:
            continue
        check = checks[name]
        check.checked += 1
        if then != now and (words := _both(then, now)):
            check.miss(f"{where(said.trial)}: {words}")
            check.note = check.note or (
                f"{name} changed without its version, or its scores or the raw text were edited after scoring"
            )


def _both(then: Score | None, now: Score | None) -> str:
    """What differs between two scores, but for rounding; None is no score at all."""
    if then is None or now is None:
        told = ["no score" if one is None else f"{one.value} ({one.reason})" for one in (then, now)]
        return f"stored {told[0]}, recomputed {told[1]}"
    keys = ("value", "answer", "reason", "span")
    found = (first_difference(getattr(then, key), getattr(now, key), key) for key in keys)
    return "; ".join(words for words in found if words is not None)


def where(trial: Trial) -> str:
    """A trial as a difference names it."""
    return f"trial {trial.trial} ({trial.item.id}, {trial.condition})"

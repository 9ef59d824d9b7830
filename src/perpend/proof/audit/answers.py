"""Every trial again from its raw rows: the question as it would be asked now, the verdicts as they would be given now.

One process hands out ranges of the plan; the others read the plan, the responses and the scores of their range, render,
score and compare. What travels is small, so memory does not grow with the run.
"""

from __future__ import annotations

import random
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import Future, ProcessPoolExecutor
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain, groupby, pairwise
from pathlib import Path
from typing import TypeAlias

from perpend.ask.conditions import first_request, request
from perpend.ask.progress import Progress
from perpend.ask.task import Reprompt, conditions_of
from perpend.canon import dumps, parse
from perpend.errors import SpecError
from perpend.ledger.blocks import Ranges, item_blocks
from perpend.ledger.plan import Trial, read_response, whole
from perpend.ledger.raw import raw_scores
from perpend.ledger.snapshot import LEAST, MOST, Row, snapshot
from perpend.ledger.store import Store
from perpend.measure.run import Run
from perpend.measure.table import IMPORTED
from perpend.measure.toolkit import reprompt_of
from perpend.proof.audit.checks import Check, Sample, well_formed, where
from perpend.proof.audit.scores import ScoredAgain
from perpend.proof.rendered import RenderedAgain
from perpend.types import OWN_RULES, Condition, Item, Response, Scorer

RESPONSES = "no response is missing or too many"
SECOND = "second turns were asked"
EACH_SCORED = "every answer has its scores"
PROMPTS = "questions were asked as planned"
_CHUNK = 4000
ALONE = 3000
"""Fewer trials than this are done before a second process would have started."""

Rows: TypeAlias = tuple[Row, ...]
"""All responses of one trial, by turn, then attempt."""


@dataclass(frozen=True, slots=True)
class Job:
    """What every process needs to know of the run; all of it can be sent and hashed."""

    directory: Path
    scorers: tuple[str, ...]
    trust_code: bool = False

    @property
    def database(self) -> Path:
        """Its ledger."""
        return self.directory / "run.db"


@dataclass(frozen=True, slots=True)
class Instruments:
    """The things that a job's names mean. `conditions` may be why no question can be rendered.

    `missing` says of a scorer why it cannot be had, `unknown` of one that nobody has; `second_turns` why those that
    there may be are not derived again. `is_imported`: one trial may have several outputs, and no second turn.
    """

    conditions: Mapping[str, Condition] | str
    reprompt: Reprompt | None
    second_turns: str
    is_imported: bool
    choices_scored: bool
    scorers: tuple[tuple[str, Scorer], ...]
    missing: Mapping[str, str]
    unknown: Mapping[str, str]


ComparedPart: TypeAlias = tuple[list[Check], RenderedAgain]
Questions: TypeAlias = dict[tuple[object, ...], tuple[Item, str]]
"""For what a first question depends on, the item and the digest of the question, as rendered before."""


@dataclass(frozen=True, slots=True)
class _Part:
    """Some trials of the plan, and the ranges whose responses and scores belong with them: what no plan holds, too."""

    ranges: Ranges
    asked: Ranges

    def responses(self, database: Path) -> dict[int, Rows]:
        """All responses of each trial."""
        with snapshot(database) as db:
            rows = chain.from_iterable(db.responses(*bounds) for bounds in self.asked)
            return {number: tuple(own) for number, own in groupby(rows, key=lambda row: whole(row[0]))}


def job(run: Run, store: Store, rules: str, *, trust_code: bool) -> Job:
    """The job of one run. As rules 'v1' or 'v2' looks only at scorers of that version; never at an import's."""
    wanted = [
        f"{name}@{version}"
        for name, version in store.scorers()
        if version != IMPORTED and rules in ("both", f"v{version}")
    ]
    return Job(run.directory, tuple(wanted), trust_code)


def left_out(store: Store, rules: str) -> list[Check]:
    """A check for every scorer that `job` leaves out by these rules; labels of an import are looked at with 'v1'."""
    why = f"left out by --rules {rules}"
    return [
        Check(f"{name}@{IMPORTED}" if version == IMPORTED else f"scores of {name}@{version}", missing=why)
        for name, version in store.scorers()
        if rules not in ("both", "v1" if version == IMPORTED else f"v{version}")
    ]


def drawn(total: int, sample: int | None, seed: int) -> Sample | None:
    """The sample that was requested; None where it would be everything."""
    return None if sample is None or sample >= total else Sample(sample, total, seed)


def answers(
    one: Job, total: int, sample: Sample | None, work: tuple[ProcessPoolExecutor | None, Progress]
) -> tuple[list[Check], RenderedAgain]:
    """Compare every trial from 1 to `total`, or the sampled ones: its responses, its questions, its scores.

    Also counts the first questions for the gate that looks at them.
    """
    pool, progress = work
    _instruments.cache_clear()  # whoever changed a scorer since the last audit of this process wants the new one
    checks: dict[str, Check] = {}
    rendered = RenderedAgain()

    def take(part: ComparedPart, trials: int) -> None:
        rendered.add(part[1])
        for check in part[0]:
            if check.name in checks:
                checks[check.name].add(check)
            else:
                checks[check.name] = check
        progress.advance(trials)

    running: deque[tuple[Future[ComparedPart], int]] = deque()
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
    return list(checks.values()), rendered


def _parts(one: Job, total: int, sample: Sample | None) -> Iterator[_Part]:
    """The plan in parts, each with all trials of its items, or the sampled trials in order.

    Responses before and beyond the plan travel with the first and the last trial.
    """
    if sample is not None:
        chosen = sorted(random.Random(sample.seed).sample(range(1, total + 1), sample.trials))
        for at in range(0, len(chosen), _CHUNK):
            singles = tuple((number, number) for number in chosen[at : at + _CHUNK])
            yield _Part(singles, singles)
        return
    with Store.open(one.database) as store:
        for ranges in item_blocks(store, total, _CHUNK) if total else (((1, 0),),):
            asked = ((LEAST if first == 1 else first, MOST if last == total else last) for first, last in ranges)
            yield _Part(ranges, tuple(asked))


@lru_cache(maxsize=1)
def _instruments(one: Job) -> Instruments:
    run = Run(one.directory, trust_code=one.trust_code)
    manifest, code = run.manifest, run.code
    conditions = conditions_of(manifest)
    reprompt, why = _reprompt(run)
    scorers: list[tuple[str, Scorer]] = []
    missing: dict[str, str] = {}
    unknown: dict[str, str] = {}
    for name in one.scorers:
        try:
            scorers.append((name, code.scorer(name)))
        except SpecError as error:
            is_code = bool(manifest.python) and not OWN_RULES.fullmatch(name)
            excused = is_code and not one.trust_code and f"scorer {name}" in code.missing
            (missing if excused else unknown)[name] = code.missing[f"scorer {name}"] if excused else str(error)
    return Instruments(
        conditions=conditions,
        reprompt=reprompt,
        second_turns=why,
        is_imported=manifest.is_imported,
        choices_scored=manifest.choices_scored,
        scorers=tuple(scorers),
        missing=missing,
        unknown=unknown,
    )


def _reprompt(run: Run) -> tuple[Reprompt | None, str]:
    """The task's second turn, if it is the one that the manifest declares; otherwise why not."""
    if run.manifest.is_imported:  # its words are the source's, but when it is asked for is the task's rule
        return None if run.code.task is None else run.code.task.reprompt, ""
    return reprompt_of(run.manifest, run.code)


def compare(one: Job, part: _Part) -> ComparedPart:
    """All checks of one part of the plan."""
    instruments = _instruments(one)
    responses = Check(RESPONSES)
    second = Check(SECOND, missing=instruments.second_turns)
    if (instruments.reprompt is None and not instruments.second_turns) or instruments.is_imported:
        second.note = "imported: they are the source's" if instruments.is_imported else "the run has none"
    unscored = Check(EACH_SCORED)
    why = instruments.conditions if isinstance(instruments.conditions, str) else instruments.second_turns
    prompts = Check(PROMPTS, missing=why)
    scores = {name: Check(f"scores of {name}", missing=instruments.missing.get(name, "")) for name in one.scorers}
    for name, why in instruments.unknown.items():
        scores[name].checked = scores[name].differ = 1
        scores[name].first = why
    rendered = RenderedAgain()
    left, again = part.responses(one.database), ScoredAgain(instruments.scorers, scores, unscored)
    questions: Questions = {}
    with Store.open(one.database) as store:
        for (first, last), asked in zip(part.ranges, part.asked, strict=True):
            stored = raw_scores(store, *asked)
            compared: list[tuple[Trial, Response | None]] = []
            for trial in store.trials(first, last):
                answered = AnsweredTrial.read(trial, left.pop(trial.trial, ()), responses)
                _compare_turns(answered, instruments, responses, second)
                _compare_questions(answered, instruments, questions, prompts, rendered)
                compared.append((trial, answered.last))
            again.compare(compared, stored)
            again.read_others(stored, first, last)
            planned = {trial.trial for trial, _ in compared}
            for name, check in scores.items():
                for number in stored.get(name, {}).keys() - planned:
                    check.checked += 1
                    check.miss(f"trial {number}: a score of a trial that the plan does not hold")
    for number, rows in left.items():
        responses.checked += len(rows)
        responses.miss(f"trial {number}: {len(rows)} responses to a trial that the plan does not hold")
    return [responses, second, prompts, unscored, *scores.values()], rendered


@lru_cache(maxsize=4096)
def _is_ours(packed: str) -> bool:
    """Whether likelihoods or token counts are written as perpend writes them."""
    return dumps(parse(packed)) == packed


@dataclass(frozen=True, slots=True)
class AnsweredTrial:
    """A trial with its raw responses, and what they come to: the answer to the first turn, and the one that counts."""

    trial: Trial
    rows: Rows
    first: Response | None
    last: Response | None

    @classmethod
    def read(cls, trial: Trial, rows: Rows, check: Check) -> AnsweredTrial:
        """Count the responses: turns and attempts are numbered from 0 without a gap, for nothing is ever deleted."""
        check.checked += len(rows)
        if len(rows) != 1 or rows[0][1] or rows[0][2]:
            cls._check_numbers(trial, rows, check)
        for row in rows:
            packed = [text for text in (row[6], row[8]) if text is not None]
            if not all(_is_ours(str(text)) for text in packed):
                check.miss(f"{where(trial)}: likelihoods or token counts that perpend did not write: {packed!r:.80}")
        last = cls._answer(rows)
        return cls(trial, rows, last if len(rows) < 2 else cls._answer(row for row in rows if row[1] == 0), last)

    @staticmethod
    def _check_numbers(trial: Trial, rows: Rows, check: Check) -> None:
        attempts = {turn: [row[2] for row in own] for turn, own in groupby(rows, key=lambda row: row[1])}
        for turn, numbers in (*attempts.items(), *([("turns", list(attempts))] if rows else ())):
            if numbers != list(range(len(numbers))):
                what = "turns" if turn == "turns" else f"turn {turn}: attempts"
                check.miss(f"{where(trial)}: {what} {numbers}, not {list(range(len(numbers)))}")

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


def _compare_turns(answered: AnsweredTrial, instruments: Instruments, check: Check, second: Check) -> None:
    """A second turn is there exactly where the task asks for one; nothing is asked again that has an answer."""
    trial, rows = answered.trial, answered.rows
    turns = {row[1] for row in rows}
    is_wanted = instruments.reprompt is not None and _wants_more(answered, instruments.reprompt)
    allowed = {0, 1} if is_wanted or instruments.second_turns else {0}
    for turn in sorted(turns - allowed, key=str):
        check.miss(f"{where(trial)}: turn {turn}, which the task does not ask for")
    if instruments.reprompt is not None and not instruments.is_imported:
        second.checked += 1
        if is_wanted and 1 not in turns:
            second.miss(f"{where(trial)}: its first reply cannot be used, and its second turn was never asked")
    for earlier, later in () if instruments.is_imported else pairwise(rows):
        if earlier[1] == later[1] and earlier[4] is not None:
            check.miss(f"{where(trial)}, turn {later[1]}: attempt {later[2]} comes after an answer")


def _wants_more(answered: AnsweredTrial, reprompt: Reprompt) -> bool:
    first = answered.first
    return first is not None and first.text is not None and reprompt.wanted(answered.trial.item, first)


def _first_digest(trial: Trial, condition: Condition, instruments: Instruments, known: Questions) -> str:
    """The digest of a trial's first question. Models are asked the same, so it is rendered once for all of them."""
    key = (trial.item.id, trial.condition, trial.sampling, trial.repeat)
    item, digest = known.get(key, (None, ""))
    if item != trial.item:  # a forger may give two items one id
        digest = first_request(trial, condition, choices_scored=instruments.choices_scored).digest
        known[key] = trial.item, digest
    return digest


def _compare_questions(
    answered: AnsweredTrial, instruments: Instruments, known: Questions, check: Check, rendered: RenderedAgain
) -> None:
    """Each response's request digest against the question as it is rendered now."""
    if isinstance(instruments.conditions, str) or not answered.rows:
        return
    trial, rows = answered.trial, answered.rows
    condition = instruments.conditions.get(trial.condition)
    if condition is None:
        check.checked += len(rows)
        check.miss(f"{where(trial)}: the manifest has no condition {trial.condition!r}")
        rendered.unknown = rendered.unknown or trial.condition
        return
    now: dict[object, str] = {0: _first_digest(trial, condition, instruments, known)}
    first, reprompt = answered.first, instruments.reprompt
    if len(rows) > 1 and reprompt is not None and first is not None and first.text is not None:
        messages = reprompt.render(condition.render(trial.item), first)
        now[1] = request(trial, messages, choices_scored=False).digest
    for row in rows:
        if row[1] in now:
            check.checked += 1
            is_same, is_first = row[3] == now[row[1]], row[1] == 0
            rendered.same += is_same and is_first
            if not is_same:
                if is_first:
                    rendered.miss(where(trial))
                check.miss(f"{where(trial)}, turn {row[1]}: stored {row[3]}, recomputed {now[row[1]]}")

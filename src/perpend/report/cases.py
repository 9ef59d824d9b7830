"""cases: raw answers to read, those that fit, a few from every group or those that flipped, with their scores."""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice

import numpy as np

from perpend.canon import JSON
from perpend.errors import SpecError, did_you_mean
from perpend.ledger.asked import attempts_of, turns
from perpend.ledger.plan import Trial
from perpend.ledger.store import Store
from perpend.measure.grid import TAG
from perpend.measure.run import Run
from perpend.report.case_filters import NOTHING, PLAN, CaseFilter, check_seen, plan_of
from perpend.report.overview import newest
from perpend.report.sent import SentTurn, renderer, sent_of
from perpend.types import Response, Score

_GROUPS = ("model", "condition", "topic")
_STEP = 500


@dataclass(frozen=True, slots=True)
class Case:
    """One trial with its answer and its stored scores by 'name@version'; `sent` is empty unless it was wanted."""

    trial: Trial
    response: Response
    scores: Mapping[str, Score]
    sent: tuple[SentTurn, ...] = ()

    def as_json(self) -> dict[str, JSON]:
        """Everything about the case, as JSON."""
        item, response = self.trial.item, self.response
        likelihoods = response.choice_logprobs
        return {
            "trial": self.trial.trial,
            **keys(self.trial),
            "prompt": item.prompt,
            "choices": list(item.choices),
            "target": item.target,
            "decoy": item.decoy,
            "text": response.text,
            "error": response.error,
            "finish": response.finish,
            "choice_logprobs": None if likelihoods is None else [one.total for one in likelihoods],
            "scores": {
                name: {
                    "value": s.value,
                    "answer": s.answer,
                    "reason": s.reason,
                    "span": None if s.span is None else list(s.span),
                }
                for name, s in self.scores.items()
            },
            **({"sent": [turn.as_json() for turn in self.sent]} if self.sent else {}),
        }


@dataclass(frozen=True, slots=True)
class FlippedCase:
    """One question under the first condition and under another, where a scorer's verdicts differ."""

    scorer: str
    first: Case
    second: Case

    def as_json(self) -> dict[str, JSON]:
        """Both cases, as JSON."""
        return {"scorer": self.scorer, "first": self.first.as_json(), "second": self.second.as_json()}


def keys(trial: Trial) -> dict[str, str]:
    """What a trial can be grouped by: its item's tags and its place in the plan."""
    place = plan_of(trial)
    tags = trial.item.tags
    return {
        **place,
        **{f"{TAG}{key}": value for key, value in tags.items()},
        **tags,
        **{key: place[key] for key in PLAN},
    }


@dataclass(frozen=True, slots=True)
class CaseSelection:
    """Which cases: those that fit `where`; with `n_per_group`, that many of every group of `by`, drawn by the seed.

    `by` () groups by model, condition and, where items have one, topic. An item without a tag named in `by` falls into
    the group '' of it. With `messages` each case has what was sent.
    """

    where: Sequence[CaseFilter] = ()
    by: Sequence[str] = ()
    n_per_group: int | None = None
    seed: int = 0
    limit: int | None = None
    messages: bool = False


def select(run: Run, wanted: CaseSelection) -> tuple[list[Case], int]:
    """The cases of a run that were asked and are wanted, in plan order, and how many there are without the limit."""
    names = run.table.names
    for key in wanted.by:
        if key not in names:
            raise SpecError(f"no trial has {key!r}; {did_you_mean(key, names)}")
    with run.open() as store:
        cases = list(_fitting(store, wanted.where))
        if wanted.n_per_group is not None:
            groups = wanted.by or [key for key in _GROUPS if key in names]
            cases = list(_stratified(cases, groups, wanted.n_per_group, wanted.seed))
        chosen = _complete(store, cases[: wanted.limit])
        return (_with_messages(run, store, chosen) if wanted.messages else chosen), len(cases)


def _fitting(store: Store, where: Sequence[CaseFilter]) -> Iterator[Case]:
    """Every trial that was asked and fits. Scores are read only of those that fit by what needs no score."""
    cheap = [one for one in where if not one.needs_scores]
    by_score = [one for one in where if one.needs_scores]
    finishes: set[str] = set()

    def asked() -> Iterator[Case]:
        for trial, response in store.answers():
            finishes.add(NOTHING if response.finish is None else response.finish)
            if all(one.holds(trial, response, {}) for one in cheap):
                yield Case(trial, response, {})

    cases = asked()
    while batch := list(islice(cases, _STEP)):
        for case in _complete(store, batch) if by_score else batch:
            if all(one.holds(case.trial, case.response, case.scores) for one in by_score):
                yield case
    check_seen(where, finishes)


def _complete(store: Store, cases: Sequence[Case]) -> list[Case]:
    """The cases with their scores."""
    scores = store.scores([case.trial.trial for case in cases])
    return [replace(case, scores=scores.get(case.trial.trial, {})) for case in cases]


def _with_messages(run: Run, store: Store, cases: Sequence[Case]) -> list[Case]:
    by, attempts = renderer(run), attempts_of(store, [case.trial.trial for case in cases])
    asked = [tuple(turns(attempts.get(case.trial.trial, ()))) for case in cases]
    return [replace(one, sent=sent_of(one.trial, own, one.scores, by)) for one, own in zip(cases, asked, strict=True)]


def _stratified(cases: Iterable[Case], by: Sequence[str], count: int, seed: int) -> Iterator[Case]:
    groups: dict[tuple[str, ...], list[Case]] = {}
    for case in cases:
        values = keys(case.trial)
        groups.setdefault(tuple(values.get(key, "") for key in by), []).append(case)
    rng = random.Random(seed)
    for group in sorted(groups):
        own = groups[group]
        rng.shuffle(own)
        yield from sorted(own[:count], key=lambda case: case.trial.trial)


def flips(run: Run, wanted: CaseSelection, scorer: str | None = None) -> tuple[list[FlippedCase], int]:
    """The trials whose verdict differs between the first condition and another, and how many there are in all.

    The verdict is that of `scorer`, or else of 'correct' or the first scorer that says 0 and 1. `where` is about the
    trial under the other condition. A run of one condition has none to compare, which is an error.
    """
    table = run.table
    conditions = table.names["condition"]
    if len(conditions) < 2:
        raise SpecError(
            f"{run.name}: has one condition, {conditions[0]!r}, so nothing can flip; 'perpend compare' compares runs"
        )
    column = table.column(scorer or _default_scorer(run))
    pairs: list[tuple[int, int]] = []
    for other in conditions[1:]:
        pair = column.pair(conditions[0], other)
        differ = np.flatnonzero(column.all_values[pair.rows] != column.all_values[pair.partners])
        pairs += [(int(pair.rows[n]), int(pair.partners[n])) for n in differ]
    with run.open() as store:
        if wanted.where:
            fitting = {case.trial.trial for case in _fitting(store, wanted.where)}
            pairs = [pair for pair in pairs if pair[1] + 1 in fitting]
        pairs.sort()
        shown = pairs[: wanted.limit]
        at = {row + 1 for pair in shown for row in pair}
        cases = _complete(store, [Case(*asked, {}) for asked in store.answers() if asked[0].trial in at])
        cases = _with_messages(run, store, cases) if wanted.messages else cases
    known = {case.trial.trial: case for case in cases}
    return [FlippedCase(column.name, known[one + 1], known[other + 1]) for one, other in shown], len(pairs)


def _default_scorer(run: Run) -> str:
    names = newest(run)
    for name in sorted(names, key=lambda one: not one.startswith("correct@")):
        column = run.table.column(name)
        if column.defined.any() and column.is_binary:
            return name
    raise SpecError(f"{run.name}: no scorer has said 0 or 1 of its answers; run 'perpend score' first")

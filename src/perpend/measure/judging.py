"""Which stored answers are judged, and the item that a judge is asked about each; blind, in an order drawn by a seed.

One seed orders the answers of a stratum once and for all, and a sample takes the first of them. So a small sample is
part of a larger one with the same seed and strata: what readers label, a judge has judged.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from perpend.ask.quoting import fence_of, material, text_sha256
from perpend.ask.rubric import Rubric
from perpend.canon import JSON
from perpend.errors import DataError, SpecError
from perpend.ledger.plan import Trial
from perpend.measure.run import Run
from perpend.measure.table import Table
from perpend.types import Item, Response

STRATA = ("model", "condition")


@dataclass(frozen=True, slots=True)
class Selection:
    """Which answers: `sample` of them (None: all), spread evenly over the strata of `by`, among those of `where`.

    `unscored_by` names a scorer: only answers count that it gives no value, so that a judge decides what a rule
    cannot.
    """

    sample: int | None = None
    where: Mapping[str, str] = field(default_factory=dict)
    by: tuple[str, ...] = STRATA
    seed: int = 42
    unscored_by: str | None = None

    def as_json(self) -> dict[str, JSON]:
        """The selection as a manifest holds it."""
        return {
            "sample": self.sample,
            "where": dict(self.where),
            "by": list(self.by),
            "seed": self.seed,
            "unscored_by": self.unscored_by,
        }


@dataclass(frozen=True, slots=True)
class DrawnAnswer:
    """A trial (from 1) whose answer was drawn, its stratum, and how many of how many were drawn there."""

    trial: int
    stratum: str
    drawn: int
    of: int

    @property
    def probability(self) -> float:
        """That of each answer of the stratum to be drawn."""
        return self.drawn / self.of


@dataclass(frozen=True, slots=True)
class AnswerToJudge:
    """A drawn trial with the text that is judged; `turn` 1 where a second turn was asked and answered."""

    drawn: DrawnAnswer
    trial: Trial
    text: str
    turn: int


def eligible(run: Run, rubric: Rubric, selection: Selection) -> list[int]:
    """The trials that can be judged, from 1: they have an answer that is not blank, and an item that the rubric fits.

    An unknown key, value or scorer is a SpecError.
    """
    table = run.table
    answers = table.answers
    fits = np.array([rubric.fits(item) for item in table.items], dtype=np.bool_)
    rows = table.mask(selection.where) & answers.answered & ~answers.empty & fits[table.codes["item"]]
    if selection.unscored_by is not None:
        rows &= np.isnan(table.column(selection.unscored_by).all_values)
    return [int(row) + 1 for row in np.flatnonzero(rows)]


def draw(table: Table, trials: Sequence[int], selection: Selection) -> list[DrawnAnswer]:
    """The drawn trials, in an order of their own that says nothing of where they are from.

    Strata are given the same number as far as they hold that many; what a small one leaves goes to the others.
    """
    strata: dict[str, list[int]] = {}
    for trial in trials:
        stratum = ", ".join(f"{key}={table.name(key, trial - 1)}" for key in selection.by if table.values(key))
        strata.setdefault(stratum, []).append(trial)
    if selection.sample is not None and selection.sample < 1:
        raise SpecError(f"a sample has 1 answer or more, not {selection.sample}")
    sizes = _allocation({name: len(own) for name, own in strata.items()}, selection.sample)
    drawn = [
        DrawnAnswer(trial, name, sizes[name], len(own))
        for name, own in strata.items()
        for trial in sorted(own, key=lambda one: _rank(selection.seed, "draw", one))[: sizes[name]]
    ]
    return sorted(drawn, key=lambda one: _rank(selection.seed, "order", one.trial))


def _allocation(available: Mapping[str, int], sample: int | None) -> dict[str, int]:
    """How many of each stratum, summing to the sample; one more for the first ones where it does not go up evenly."""
    left = sum(available.values()) if sample is None else min(sample, sum(available.values()))
    sizes = dict.fromkeys(available, 0)
    while left:
        open_strata = [name for name in available if sizes[name] < available[name]]
        share = max(1, left // len(open_strata))
        for name in open_strata:
            more = min(share, available[name] - sizes[name], left)
            sizes[name] += more
            left -= more
    return sizes


def _rank(seed: int, purpose: str, trial: int) -> bytes:
    return hashlib.sha256(f"{seed}|{purpose}|{trial}".encode()).digest()


def answers_to_judge(run: Run, drawn: Sequence[DrawnAnswer]) -> Iterator[AnswerToJudge]:
    """The drawn trials with their texts, in the order of `drawn`. A trial without an answer is a DataError."""
    wanted = {one.trial for one in drawn}
    with run.open() as store:
        second = store.answered_turns(1)
        answers: dict[int, tuple[Trial, Response]] = {
            trial.trial: (trial, response) for trial, response in store.answers() if trial.trial in wanted
        }
    for one in drawn:
        trial, response = answers.get(one.trial, (None, None))
        if trial is None or response is None or response.text is None:
            raise DataError(f"{run.directory}: trial {one.trial} has no answer that could be judged")
        yield AnswerToJudge(one, trial, response.text, int(one.trial in second))


def judge_item(run_id: str, rubric: Rubric, answer: AnswerToJudge) -> Item:
    """The item that a judge is asked. Its prompt knows neither model nor condition; its tags lead back."""
    digest = text_sha256(answer.text)
    values = ",".join(f"{one.name}={'' if one.value is None else f'{one.value:g}'}" for one in rubric.options)
    return Item(
        id=f"{digest[:12]}-{answer.trial.trial}",
        prompt=material(answer.trial.item, answer.text, rubric),
        choices=tuple(option.name for option in rubric.options),
        tags={
            "judged_run": run_id,
            "judged_trial": str(answer.trial.trial),
            "judged_turn": str(answer.turn),
            "judged_item": answer.trial.item.id,
            "judged_condition": answer.trial.condition,
            "judged_model": answer.trial.model,
            "text_sha256": digest,
            "stratum": answer.drawn.stratum,
            "drawn": f"{answer.drawn.drawn} of {answer.drawn.of}",
            "fence": fence_of(answer.text),
            "values": values,
        },
    )


def judge_items(run: Run, rubric: Rubric, selection: Selection) -> tuple[list[Item], int]:
    """The items of a judge run, in their order; and how many answers there were to draw from. None is a DataError."""
    trials = eligible(run, rubric, selection)
    if not trials:
        needs = f" and an item with {' and '.join(rubric.needs)}" if rubric.needs else ""
        raise DataError(f"{run.directory}: no trial has an answer{needs}, so {rubric.full_name} has nothing to judge")
    drawn = draw(run.table, trials, selection)
    return [judge_item(run.manifest.run, rubric, answer) for answer in answers_to_judge(run, drawn)], len(trials)

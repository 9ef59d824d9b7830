"""Fit the weights of a rule file of one's own to labelled answers of some runs, with the packaged ones as the prior.

Precision and recall are cross-validated over items: every verdict comes from weights that its item had no part in.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from perpend.canon import JSON, digest_file, write_atomic
from perpend.errors import AuditFailure, DataError
from perpend.judging.cues import RULES, Rules, rules
from perpend.judging.fit import OUTCOMES, design, fitted
from perpend.judging.scorers import scorers
from perpend.judging.verdict import Evidence, evidence
from perpend.measure.keys import FloatArray, IntArray
from perpend.measure.labels import HumanLabel, LabelReader, label_rows
from perpend.measure.run import Run
from perpend.spec.own_rules import check_rule_file_name, rule_file_scorers, written
from perpend.stats.pairs import paired_difference
from perpend.stats.proportions import proportion
from perpend.types import Estimate, Item, Response

FEWEST, FEWEST_EACH = 20, 5
"""Items in all, and answers of each label."""
FOLDS = 5
PRIOR = 1.0
"""How strongly the packaged weights hold: the penalty of a weight that is 1 away, in units of log-likelihood."""
SIDES = {"correct": "target", "endorsed": "decoy"}
"""Which outcome the label 1 of a scorer means."""
_MORE = "label more answers ('perpend label'), of more items"


@dataclass(frozen=True, slots=True)
class LabelledAnswer:
    """An answer with what readers say of it. `item_key`: of its item, by content; `labels`: 0 or 1 by scorer."""

    item_key: str
    item: Item
    response: Response
    labels: Mapping[str, int]


Agreement: TypeAlias = Mapping[str, Estimate]
"""Precision, recall and the share of right verdicts of one scorer. Not scorable counts as 0."""


@dataclass(frozen=True, slots=True)
class Fitted:
    """A rule file that was fitted: how perpend's rules (before) and it (after) agree with the labels, by scorer."""

    path: Path
    answers: int
    items: int
    before: Mapping[str, Agreement]
    after: Mapping[str, Agreement]
    gain: Estimate
    """Of the share of right verdicts."""
    scorers: tuple[str, ...] = ()

    def as_lines(self) -> list[str]:
        """What it came to, in sentences."""
        lines = [f"{self.answers} labelled answers of {self.items} items; cross-validated over items."]
        for name in self.before:
            for whose, one in (("perpend's weights", self.before[name]), ("yours", self.after[name])):
                lines.append(f"{name} by {whose}: {', '.join(f'{key} {_shown(value)}' for key, value in one.items())}.")
        lines.append(f"Right verdicts: {_shown(self.gain, '+.1f', ' points')}.")
        if self.scorers and (self.gain.lo or 0.0) <= 0.0:
            lines.append(f"So few labels do not show that this is more than chance: {_MORE}.")
        return lines

    def as_json(self) -> dict[str, JSON]:
        """The outcome as JSON; a number is [value, lo, hi]."""
        both = {"before": self.before, "after": self.after}
        stated: dict[str, JSON] = {
            when: {name: {key: _ends(value) for key, value in one.items()} for name, one in every.items()}
            for when, every in both.items()
        }
        facts: dict[str, JSON] = {"file": self.path.as_posix(), "scorers": list(self.scorers)}
        return {**facts, "answers": self.answers, "items": self.items, **stated, "gain": _ends(self.gain)}


def _ends(one: Estimate) -> list[JSON]:
    return [one.value, one.lo, one.hi]


def _shown(one: Estimate, form: str = ".1f", unit: str = "%") -> str:
    if one.value is None:
        return f"undefined ({one.note})"
    ends = "" if one.lo is None or one.hi is None else f" [{100 * one.lo:{form}}, {100 * one.hi:{form}}]"
    return f"{100 * one.value:{form}}{unit}{ends}".replace("-", "\N{MINUS SIGN}")


def fit_rules(runs: Sequence[Run], labels: Path, out: Path) -> Fitted:
    """Fit the packaged weights to labels and write the rule file, if more verdicts are right with it.

    Otherwise it is an AuditFailure with the numbers, and nothing is written; too few labels are a DataError.
    """
    check_rule_file_name(out)
    answers, known = labelled_answers(runs, labels), rules()
    keys = np.array([one.item_key for one in answers])
    items, codes = np.unique(keys, return_inverse=True)  # in the order of their digests
    found = [evidence(one.item, one.response.text or "", one.response.finish, known) for one in answers]
    names = [name for name in SIDES if any(name in one.labels for one in answers)]
    said = np.zeros((2, len(names), len(answers)))
    for k in range(FOLDS):
        test = np.flatnonzero(codes % FOLDS == k)
        own = _weights(answers, found, np.flatnonzero(codes % FOLDS != k), known).round(2)
        for when, weights in enumerate((known.weights, tuple(own.tolist()))):
            made = scorers(known._replace(weights=weights))
            for (row, name), place in product(enumerate(names), test):
                verdict = made[name].judge(answers[place].item, answers[place].response)
                said[when, row, place] = verdict.value == 1.0
    label = np.array([[one.labels.get(name, np.nan) for one in answers] for name in names])
    before, after = (
        {name: _agreement(label[row], said[when, row], codes) for row, name in enumerate(names)} for when in (0, 1)
    )
    is_read = ~np.isnan(label)
    was_right, is_right = ((said[when] == label)[is_read].astype(np.float64) for when in (0, 1))
    clusters = np.broadcast_to(codes, label.shape)[is_read].tolist()
    gain = paired_difference(was_right, is_right, clusters)
    outcome = Fitted(out, len(answers), len(items), before, after, gain)
    f1 = [[_f1(label[row], said[when, row]) for when in (0, 1)] for row in range(len(names))]
    if gain.value is None or gain.value <= 0 or any(new <= old for old, new in f1):
        raise AuditFailure(
            f"{out}: not written: weights fitted to these labels are no better than perpend's. More verdicts must be "
            "right, and precision and recall together (F1) be higher.",
            *outcome.as_lines(),
            f"Keep perpend's rules, or {_MORE}; 'perpend show RUN --where uncertain=1' lists what is hard to judge.",
        )
    whole = _weights(answers, found, np.arange(len(answers)), known)
    text = written(RULES.read_text(encoding="utf-8"), known, whole, dict(known.thresholds))
    head = f"# Fitted by 'perpend fit': {len(answers)} labelled answers of {len(items)} items, labels' SHA-256"
    write_atomic(out, f"{head}\n# {digest_file(labels)}\n{text}")
    made = rule_file_scorers(out)
    return replace(outcome, scorers=tuple(f"{name}@{made[name].version}" for name in names))


def _weights(
    answers: Sequence[LabelledAnswer], found: Sequence[Evidence], places: IntArray, known: Rules
) -> FloatArray:
    """The weights fitted to some of the answers; the fewer they are, the more the packaged ones hold."""
    some = [place for place in places.tolist() if found[place].missing is None]
    allowed = [_allowed(answers[place].labels) for place in some]
    table = design([found[place] for place in some], allowed, [1.0] * len(some), len(known.names))
    return fitted(table, known, np.array(known.weights), l2=PRIOR / max(len(some), 1))


def _allowed(labels: Mapping[str, int]) -> frozenset[str]:
    """The outcomes that agree with the labels of an answer."""
    allowed = frozenset(OUTCOMES)
    for name, value in labels.items():
        allowed &= {SIDES[name]} if value else allowed - {SIDES[name]}
    return allowed


def _f1(label: FloatArray, said: FloatArray) -> float:
    found = float(((label == 1) & (said == 1)).sum())
    return 2 * found / max(float((label == 1).sum() + ((said == 1) & ~np.isnan(label)).sum()), 1.0)


def _agreement(label: FloatArray, said: FloatArray, codes: IntArray) -> Agreement:
    def share(of: npt.NDArray[np.bool_], among: npt.NDArray[np.bool_]) -> Estimate:
        if not among.any():
            return Estimate(None, 0, note="no such answer")
        return proportion(of[among].astype(np.float64), codes[among].tolist())

    return {
        "precision": share(label == 1, (said == 1) & ~np.isnan(label)),
        "recall": share(said == 1, label == 1),
        "right": share(said == label, ~np.isnan(label)),
    }


def labelled_answers(runs: Sequence[Run], labels: Path) -> list[LabelledAnswer]:
    """The answers of some runs that a file labels 'correct' or 'endorsed', each once.

    Of several readers the majority counts; what they are split over does not, nor what nobody could decide. Fewer than
    20 items, or 5 answers of one label, is a DataError.
    """
    votes: dict[tuple[int, int], dict[str, list[int]]] = {}
    for at, label in _read(runs, labels):
        name = label.scorer.partition("@")[0]
        if name in SIDES and label.value is not None:
            votes.setdefault((at, label.trial), {}).setdefault(name, []).append(label.value)
    answers = []
    for at, run in enumerate(runs):
        with run.open() as store:
            for trial, response in store.answers():
                own = votes.get((at, trial.trial), {})
                known = {
                    name: int(2 * sum(values) > len(values))
                    for name, values in own.items()
                    if 2 * sum(values) != len(values)
                    and (trial.item.target if name == "correct" else trial.item.decoy) is not None
                }
                if known and response.text is not None and _allowed(known):
                    key = hashlib.sha256(f"{trial.item.id}\0{trial.item.prompt}".encode()).hexdigest()
                    answers.append(LabelledAnswer(key, trial.item, response, known))
    n_items = len({one.item_key for one in answers})
    if n_items < FEWEST:
        raise DataError(f"{labels}: labels of {n_items} items are too few to fit to; {FEWEST} are needed: {_MORE}")
    for name in SIDES:
        values = [one.labels[name] for one in answers if name in one.labels]
        for value in (0, 1) if values else ():
            if (n := values.count(value)) < FEWEST_EACH:
                raise DataError(
                    f"{labels}: {n} answers are labelled {value} for {name}; {FEWEST_EACH} of each are needed: {_MORE}"
                )
    return answers


def _read(runs: Sequence[Run], labels: Path) -> list[tuple[int, HumanLabel]]:
    """(number of the run, label), of one reader's labels by one rubric of one trial the last.

    A line belongs to the run that has its trial and its text; where several have, `run` must name one.
    """
    readers = {run.name: LabelReader(run) for run in runs}
    kept: dict[object, tuple[int, HumanLabel]] = {}
    for number, (where, body) in enumerate(label_rows(labels, {})):
        line = {key: value for key, value in body.items() if key != "run"}
        fitting: list[tuple[int, HumanLabel]] = []
        errors: list[DataError] = []
        for at, (name, reader) in enumerate(readers.items()):
            try:
                if body.get("run") in (None, name):
                    fitting.append((at, reader.read(line, where)))
            except DataError as error:
                errors.append(error)
        if errors and not fitting:
            raise errors[0]
        if len(fitting) != 1:
            raise DataError(f"{where}: {len(fitting)} of {', '.join(readers)} have this answer; name one as 'run'")
        at, label = fitting[0]
        kept[(at, label.trial, label.by, label.rubric) if label.rubric else number] = at, label
    return list(kept.values())

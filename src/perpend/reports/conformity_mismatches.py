"""Stored labels against labels derived again from the raw text: the check that a ledger says what its answers say.

The reference re-ran its matcher on the stored parse, which can only agree. Here everything starts from the raw text:
the parse, the refusal flag, correctness and endorsement.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice

import numpy as np

from perpend.canon import JSON
from perpend.measure import Run
from perpend.plan import Trial
from perpend.reports.conformity_trials import (
    JUDGED,
    RULES,
    Answers,
    BoolArray,
    Rule,
    as_labels,
    judgements,
    read_answers,
)
from perpend.store import Store
from perpend.text import seed

_IMPORTED = "import"
_PARSED = "stored_parsed"
_CHUNK = 2000


@dataclass(frozen=True, slots=True)
class Difference:
    """One trial whose stored label is not what its raw text gives; None is no label."""

    trial: int
    keys: Mapping[str, str]
    stored: float | str | None
    recomputed: float | str | None


@dataclass(frozen=True, slots=True)
class Comparison:
    """One stored column against the same judgement derived again: how many were compared, how many differ."""

    run: str
    label: str
    rule: Rule
    stored: str
    compared: int
    differing: int
    first: Difference | None

    def as_json(self) -> dict[str, JSON]:
        """The entry in the audit's numbers."""
        first: dict[str, JSON] | None = None
        if self.first is not None:
            first = {
                "trial": self.first.trial,
                **self.first.keys,
                "stored": self.first.stored,
                "recomputed": self.first.recomputed,
            }
        return {
            "run": self.run,
            "label": self.label,
            "rule": self.rule,
            "stored": self.stored,
            "compared": self.compared,
            "differing": self.differing,
            "first": first,
        }


def mismatches(run: Run, rules: Sequence[Rule] = RULES) -> list[Comparison]:
    """Derive every label of a run again from its raw text and compare each with what is stored.

    Rule 1 is compared with `stored_…@import` where the run was imported, and with its own stored scores; rule 2 with
    its own. A judgement that is not stored is not compared.
    """
    return compare(run, read_answers(run, judgements(rules)), rules)


def compare(run: Run, answers: Answers, rules: Sequence[Rule]) -> list[Comparison]:
    """`mismatches` for labels that were derived already. Correctness is compared on items that have a target."""
    with Store.open(run.directory / "run.db") as store:
        known = {f"{name}@{version}" for name, version in store.scorers()}
        factual = np.array([item.target is not None for item in store.items()], dtype=np.bool_)
    found = []
    for rule in rules:
        for name in JUDGED:
            rows = answers.answered & factual[run.frame.codes["item"]] if name == "correct" else answers.answered
            imported = [f"stored_{name}@{_IMPORTED}"] if rule == "1" else []
            stored_names = [stored for stored in (*imported, f"{name}@{rule}") if stored in known]
            found += [_compared(run, answers, (name, rule, stored), rows) for stored in stored_names]
        if rule == "1" and f"{_PARSED}@{_IMPORTED}" in known:
            found.append(_parses(run))
    return found


def _compared(run: Run, answers: Answers, names: tuple[str, Rule, str], rows: BoolArray) -> Comparison:
    name, rule, stored = names
    before, now = as_labels(run[stored].all_values), answers.labels[f"{name}@{rule}"]
    differing = np.flatnonzero(rows & (before != now))
    first = None
    if len(differing):
        row = int(differing[0])
        values = (None if column[row] < 0 else float(column[row]) for column in (before, now))
        first = Difference(row + 1, _keys(run, row), *values)
    return Comparison(run.directory.name, name, rule, stored, int(rows.sum()), len(differing), first)


def _keys(run: Run, row: int) -> dict[str, str]:
    frame = run.frame
    return {key: frame.names[key][frame.codes[key][row]] for key in ("item", "model", "condition", "temperature")}


def _parses(run: Run) -> Comparison:
    """Stored parses against parses of the raw text."""
    compared = differing = 0
    first = None
    for trial, before, now in _parsed(run):
        compared += 1
        if before != now:
            differing += 1
            first = first or Difference(trial.trial, _keys(run, trial.trial - 1), before, now)
    stored = f"{_PARSED}@{_IMPORTED}"
    return Comparison(run.directory.name, "parsed", "1", stored, compared, differing, first)


def _parsed(run: Run) -> Iterator[tuple[Trial, str | None, str]]:
    """(trial, stored parse, parse of the raw text) of every answered trial, read in chunks."""
    with Store.open(run.directory / "run.db") as store:
        answers = store.answers()
        while chunk := list(islice(answers, _CHUNK)):
            scores = store.scores([trial.trial for trial, _ in chunk])
            for trial, response in chunk:
                stored = scores.get(trial.trial, {}).get(f"{_PARSED}@{_IMPORTED}")
                if response.text is not None and stored is not None:
                    yield trial, stored.answer, seed.parse_answer(response.text)

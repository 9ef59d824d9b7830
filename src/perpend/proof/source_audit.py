"""The audit of what somebody else published: do its numbers follow from its verdicts, and on what do these rest?

It is given a run that was imported from the source. A number that cannot be computed again says why. A rule of ours
that says something else than a stored verdict is a remark: only the source's own rules and numbers can fail.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations, pairwise

import numpy as np

from perpend.canon import JSON, as_list, as_object
from perpend.measure.column import Column, Pair
from perpend.measure.run import Run
from perpend.measure.stated import (
    COUNTS,
    SourceNumber,
    SourceRule,
    follows,
    read_rules,
    read_stated,
    tolerances,
)
from perpend.measure.table import Table
from perpend.proof.source_given import GivenNumber, given
from perpend.report.export import TrialRow, rows
from perpend.stats.families import family
from perpend.stats.pairs import sign_flip
from perpend.stats.proportions import mean
from perpend.types import Estimate

_IMPORTED = "@import"
_OURS = "correct"
_FEW = 30
_TURN = re.compile(r"(?:(?P<before>.*)_)?turn_(?P<turn>\d{1,9})", re.DOTALL)
_UNREAD = frozenset(("", "[invalid]", "[none]", "none", "n/a", "null"))
"""What harnesses store as the answer that a scorer read out where it could read none."""
_LENGTH = "length"
_ROUNDED = 0.00051
# Counts and costs that a harness stores beside its verdicts: no verdict, though some are 0 or 1.
_BESIDE = re.compile(
    r"stored_(?:num_|n_|finish_reason|training_|inference_|batch_size|prompt_truncated|logprob|max_prob|avg_|time_"
    r"|price_|length_|standard_error|discrete_|win_rate|turn_of_flip|number_of_flips)"
)


@dataclass(frozen=True, slots=True)
class CheckedNumber:
    """A stated number and what the stored verdicts give; `value` None: it cannot be computed, and `why` says so."""

    stated: SourceNumber
    value: float | None
    why: str
    agrees: bool

    def as_json(self) -> dict[str, JSON]:
        """The entry of the outcome as JSON."""
        status = "not checked" if self.value is None else "follows" if self.agrees else "does not follow"
        return {**self.stated.as_json(), "status": status, "recomputed": self.value, "why": self.why}


@dataclass(frozen=True, slots=True)
class UnfitVerdicts:
    """Verdicts of a column on answers that are none, by kind, and what the rate is with them counted as missing.

    `rate` is as stored, over all verdicts; `without` over the others; `lo` and `hi` are the ends between which the rate
    over all lies whatever the missing verdicts were.
    """

    column: str
    n: int
    kinds: Mapping[str, int]
    rate: float
    without: float | None
    lo: float
    hi: float

    @property
    def unfit(self) -> int:
        """How many verdicts rest on no answer."""
        return sum(self.kinds.values())

    def as_json(self) -> dict[str, JSON]:
        """The entry of the outcome as JSON."""
        body: dict[str, JSON] = {"column": self.column, "n": self.n, "kinds": dict(self.kinds), "rate": self.rate}
        return {**body, "without": self.without, "lo": self.lo, "hi": self.hi}


@dataclass(frozen=True, slots=True)
class SourceComparison:
    """Two models or conditions on the items that both have; `adjusted` is by Holm over all comparisons of a column."""

    column: str
    key: str
    sides: tuple[str, str]
    difference: Estimate
    adjusted: float | None
    survives: bool

    def as_json(self) -> dict[str, JSON]:
        """The entry of the outcome as JSON."""
        body: dict[str, JSON] = {"column": self.column, "key": self.key, "sides": list(self.sides)}
        return {**body, "difference": self.difference.as_json(), "adjusted_p": self.adjusted, "survives": self.survives}


@dataclass(frozen=True, slots=True)
class OwnRule:
    """A rule of ours beside a column of stored verdicts: `agree` of `n` trials that have both are alike."""

    rule: str
    column: str
    disagreement: Estimate
    agree: int

    def as_json(self) -> dict[str, JSON]:
        """The entry of the outcome as JSON."""
        return {"rule": self.rule, "column": self.column, "disagreement": self.disagreement.as_json()}


@dataclass(frozen=True, slots=True)
class SourceAudit:
    """What an audit of one source came to."""

    name: str
    format: str
    shape: Mapping[str, int]
    rules: Sequence[SourceRule] = ()
    ours: Sequence[OwnRule] = ()
    numbers: Sequence[CheckedNumber] = ()
    given: Sequence[GivenNumber] = ()
    unfit: Sequence[UnfitVerdicts] = ()
    comparisons: Sequence[SourceComparison] = ()
    notes: Mapping[str, int] = field(default_factory=dict)
    files: Sequence[Mapping[str, JSON]] = ()
    unreadable: Sequence[str] = ()
    """Why parts of the source could not be read; then there is nothing else."""

    @property
    def ok(self) -> bool:
        """True when every stated number that can be computed follows, and the source's rules give its verdicts."""
        return not any(rule.differ for rule in self.rules) and not self.differing

    @property
    def differing(self) -> list[CheckedNumber]:
        """The stated numbers that do not follow."""
        return [one for one in self.numbers if one.value is not None and not one.agrees]

    @property
    def rounded(self) -> list[CheckedNumber]:
        """The stated numbers that follow only when what was computed is rounded to fewer than three decimals."""
        return [
            one
            for one in self.numbers
            if one.agrees and one.value is not None and abs(one.value - one.stated.value) > _ROUNDED
        ]

    def as_json(self) -> dict[str, JSON]:
        """The outcome as JSON."""
        return {
            "source": self.name,
            "format": self.format,
            "ok": self.ok,
            "files": [dict(one) for one in self.files],
            "found": dict(self.shape),
            "rules": [rule.as_json() for rule in self.rules],
            "our_rules": [one.as_json() for one in self.ours],
            "numbers": [one.as_json() for one in self.numbers],
            "given": [one.as_json() for one in self.given],
            "verdicts_without_an_answer": [one.as_json() for one in self.unfit],
            "comparisons": [one.as_json() for one in self.comparisons],
            "notes": dict(self.notes),
            "unreadable": list(self.unreadable),
        }


def audit_source(run: Run, name: str) -> SourceAudit:
    """Audit a run that was imported from a source of that name, and scored by our scorers."""
    about = run.manifest.source_of_import or {}
    table = run.table
    verdicts = _verdicts(table)
    numbers = list(_numbers(table, read_stated(about)))
    shape = {
        "answers": int(table.answers.answered.sum()),
        "trials": len(table),
        "items": len(table.items),
        "models": len(table.values("model")),
        "conditions": len(table.values("condition")),
        "columns": len(verdicts),
        "numbers": len(numbers),
    }
    return SourceAudit(
        name=name,
        format=str(about.get("format", "")),
        shape=shape,
        rules=read_rules(about),
        ours=list(_ours(table, verdicts)),
        numbers=numbers,
        given=given(table, verdicts),
        unfit=_unfit(run, verdicts),
        comparisons=list(_comparisons(verdicts)),
        notes={str(key): count for key, count in as_object(about.get("notes")).items() if isinstance(count, int)},
        files=[as_object(one) for one in as_list(about.get("files"))],
    )


def _verdicts(table: Table) -> dict[str, Column]:
    """The stored columns that judge answers, with values in them."""
    columns = {name: column for name, column in table.columns().items() if name.endswith(_IMPORTED)}
    return {name: one for name, one in columns.items() if not _BESIDE.match(name) and one.defined.any()}


def _numbers(table: Table, stated: Sequence[SourceNumber]) -> Iterator[CheckedNumber]:
    """Each stated number beside what follows. Where answers that the source counts are absent, only counts are."""
    partial: list[tuple[Mapping[str, str], str]] = []
    checked: list[CheckedNumber] = []
    for one, tolerance in zip(stated, tolerances(stated), strict=True):
        value, why = follows(table, one)
        agrees = value is not None and abs(value - one.value) <= tolerance
        if one.statistic in COUNTS and value is not None and value < one.value and not agrees:
            partial.append((one.where, f"{value:.0f} of the {one.value:.0f} {one.statistic} that it is of are here"))
        checked.append(CheckedNumber(one, value, why, agrees))
    for number in checked:
        why = next((why for where, why in partial if where.items() <= number.stated.where.items()), "")
        if why and number.stated.statistic not in COUNTS and not number.agrees and number.value is not None:
            yield CheckedNumber(number.stated, None, why, agrees=False)
        else:
            yield number


def _ours(table: Table, verdicts: Mapping[str, Column]) -> Iterator[OwnRule]:
    """How often our rule of what is correct differs from a stored verdict of 0 or 1."""
    if not table.has(_OURS):
        return
    ours = table.column(_OURS)
    for name, column in verdicts.items():
        if column.is_binary:
            differ = column.disagreement(ours)
            if differ.value is not None:
                yield OwnRule(ours.name, name, differ, differ.n - round(differ.value * differ.n))


def _unfit(run: Run, verdicts: Mapping[str, Column]) -> list[UnfitVerdicts]:
    """Verdicts of 0 and 1 on answers that failed, are empty, were cut off, or out of which nothing could be read."""
    binary = [name for name, column in verdicts.items() if column.is_binary]
    if not binary or not int(run.table.answers.answered.sum()):
        return []
    kinds = {name: Counter[str]() for name in binary}
    ones: Counter[str] = Counter()
    sizes: Counter[str] = Counter()
    right: Counter[str] = Counter()
    for row in rows(run):
        for name in binary:
            score = row.scores.get(name)
            if score is None or score.value is None:
                continue
            kind = _kind(row, name)
            sizes[name] += 1
            ones[name] += int(score.value)
            if kind:
                kinds[name][kind] += 1
            else:
                right[name] += int(score.value)
    outcome = []
    for name in binary:
        lost, n = sum(kinds[name].values()), sizes[name]
        if lost:
            rest = n - lost
            outcome.append(
                UnfitVerdicts(name, n, dict(kinds[name]), ones[name] / n, right[name] / rest if rest else None,
                              right[name] / n, (right[name] + lost) / n)
            )  # fmt: skip
    return outcome


def _kind(row: TrialRow, name: str) -> str:
    """Why there is no answer that a verdict could rest on; '' where there is one."""
    response = row.response
    if response is None:
        return "without an answer"
    if response.error is not None:
        return "failed"
    if not (response.text or "").strip():
        return "" if response.choice_logprobs else "empty"
    base = name.removesuffix(_IMPORTED)
    for beside in (f"{base}_answer{_IMPORTED}", f"stored_filtered{_IMPORTED}"):
        read = row.scores.get(beside)
        if read is not None and read.value is None and (read.answer or "").strip().lower() in _UNREAD:
            return "unparsed"
    return "truncated" if response.finish == _LENGTH else ""


def _comparisons(verdicts: Mapping[str, Column]) -> Iterator[SourceComparison]:
    """Models and conditions of each column, in pairs: all of up to 30, else neighbours in the order of their means.

    Of turns, each with the next of its dialogue, and with the same turn of other dialogues.
    """
    for name, column in verdicts.items():
        pairs = [(key, sides) for key in ("model", "condition") for sides in _sides(column, key)]
        differences = {(key, sides): _difference(column.pair(*sides, key=key)) for key, sides in pairs}
        names = {"\x00".join((key, *sides)): (key, sides) for key, sides in differences}
        raw = {label: _p(differences[place]) for label, place in names.items()}
        for test in family(raw).tests:
            key, sides = names[test.name]
            yield SourceComparison(name, key, sides, differences[key, sides], test.adjusted, test.significant)


def _difference(pair: Pair) -> Estimate:
    """mean(second) - mean(first) over complete pairs, with the paired test's p.

    Of values that are not 0 and 1, p is by flipping the signs of the items, where their differences are multiples of
    a half, as scores of judges and preferences are; otherwise it is undefined.
    """
    first, second, items = pair.values()
    if not len(first) or np.isin(np.concatenate((first, second)), (0.0, 1.0)).all():
        return pair.difference()
    with np.errstate(over="ignore", invalid="ignore"):  # what overflows is undefined, and its note says so
        estimate = mean(second - first, items)
        sums = np.bincount(items, 2 * (second - first))[np.unique(items)]
    if not np.isfinite(sums).all():
        return estimate
    p = sign_flip(np.round(sums)).value if np.allclose(sums, np.round(sums), atol=1e-9) else None
    return replace(estimate, also={**estimate.also, "p": p, "incomplete": pair.incomplete})


def _p(difference: Estimate) -> float | None:
    value = difference.also.get("p")
    return float(value) if isinstance(value, int | float) else None


def _sides(column: Column, key: str) -> list[tuple[str, str]]:
    parts = column.by(key)
    own = {value: one for value, one in parts.items() if one.defined.any()}
    turns = {value: match for value in own if (match := _TURN.fullmatch(value))} if key == "condition" else {}
    if turns and len(turns) == len(own):
        places = {value: (match["before"], int(match["turn"])) for value, match in turns.items()}
        return [(a, b) for a, b in combinations(own, 2) if _is_step(places[a], places[b])]
    if len(own) <= _FEW:
        return list(combinations(own, 2))
    means = {value: float(np.mean(one.all_values[one.defined])) for value, one in own.items()}
    return list(pairwise(sorted(means, key=lambda value: -means[value])))


def _is_step(first: tuple[str, int], second: tuple[str, int]) -> bool:
    """Whether two turns are one after the other of a dialogue, or the same of two."""
    return second[1] - first[1] == 1 if first[0] == second[0] else first[1] == second[1]

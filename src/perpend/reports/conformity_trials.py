"""One or several runs as one table of trials: what every table, figure and number of the conformity study starts from.

Runs at several temperatures or of several models pool into one sweep: a model's label is its variant, an item's id its
identity. Columns are narrow codes: ten sweeps of 23,760 trials need about ten megabytes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from perpend.compose import find_scorer
from perpend.errors import DataError, SpecError
from perpend.measure import Run
from perpend.store import Store
from perpend.types import Item

Rule: TypeAlias = Literal["1", "2"]
BoolArray: TypeAlias = npt.NDArray[np.bool_]
Codes: TypeAlias = npt.NDArray[np.int32]
Labels: TypeAlias = npt.NDArray[np.int8]
"""1, 0, or -1 where a trial has no value."""

RULES: tuple[Rule, ...] = ("1", "2")
JUDGED = ("correct", "mentioned", "endorsed", "refused")
CONTROL, RETEST = "control", "control_retest"
_TOPIC_TAGS = ("topic", "category", "dataset", "domain")
_NO_TOPIC = "all"


@dataclass(frozen=True, slots=True)
class Answers:
    """What came back for each trial of a plan, and its labels by 'name@version'."""

    answered: BoolArray
    empty: BoolArray
    ms: npt.NDArray[np.float64]
    labels: Mapping[str, Labels]


@dataclass(frozen=True, slots=True)
class Trials:
    """Every planned trial of a study, one row each; names in plan order, temperatures and topics sorted.

    `replicate` numbers the trials of one variant, condition, temperature and item. `opinion` marks items without a
    target. `ms` is nan where no time was stored.
    """

    variants: tuple[str, ...]
    conditions: tuple[str, ...]
    temperatures: tuple[float, ...]
    topics: tuple[str, ...]
    items: tuple[str, ...]
    variant: Codes
    condition: Codes
    temperature: Codes
    topic: Codes
    item: Codes
    replicate: Codes
    opinion: BoolArray
    answered: BoolArray
    empty: BoolArray
    ms: npt.NDArray[np.float64]
    labels: Mapping[str, Labels]

    def __len__(self) -> int:
        return len(self.item)

    @property
    def rules(self) -> tuple[Rule, ...]:
        """The rule versions that every trial was judged by, oldest first."""
        return tuple(rule for rule in RULES if all(f"{name}@{rule}" in self.labels for name in JUDGED))

    @property
    def control(self) -> str:
        """The condition that the others are compared with."""
        return CONTROL if CONTROL in self.conditions else self.conditions[0]

    @property
    def retest(self) -> str | None:
        """The second control, which shows what changes by itself; None where there is none."""
        return RETEST if RETEST in self.conditions and self.control != RETEST else None

    @property
    def pressures(self) -> tuple[str, ...]:
        """Every condition but the control and its retest."""
        return tuple(name for name in self.conditions if name not in (self.control, self.retest))

    def label(self, name: str, rule: Rule) -> Labels:
        """The column of one judgement by one rule version."""
        if f"{name}@{rule}" not in self.labels:
            raise SpecError(f"the trials have no {name}@{rule}; run 'perpend score RUN --only {name}@{rule}' first")
        return self.labels[f"{name}@{rule}"]

    def under(self, condition: str) -> BoolArray:
        """The rows of one condition."""
        return np.equal(self.condition, self.conditions.index(condition))

    def of(self, variant: str) -> BoolArray:
        """The rows of one variant."""
        return np.equal(self.variant, self.variants.index(variant))

    def axis(self, name: str) -> tuple[Codes, int]:
        """The codes of 'variant', 'condition', 'temperature', 'topic' or 'item', and how many values they take."""
        columns = {
            "variant": (self.variant, len(self.variants)),
            "condition": (self.condition, len(self.conditions)),
            "temperature": (self.temperature, len(self.temperatures)),
            "topic": (self.topic, len(self.topics)),
            "item": (self.item, len(self.items)),
        }
        return columns[name]

    def tally(self, rows: BoolArray, axes: Sequence[str]) -> npt.NDArray[np.int64]:
        """How many of the rows are in each cell of the axes, as an array with one dimension for each axis."""
        keys, sizes = self.keys(axes)
        return np.bincount(keys[rows], minlength=int(np.prod(sizes))).reshape(sizes)

    def keys(self, axes: Sequence[str]) -> tuple[npt.NDArray[np.int64], list[int]]:
        """One number for each row that names its cell of the axes, and the sizes of the axes."""
        keys = np.zeros(len(self), dtype=np.int64)
        sizes = []
        for codes, size in map(self.axis, axes):
            keys = keys * size + codes
            sizes.append(size)
        return keys, sizes

    def partners(
        self, first: BoolArray, second: BoolArray, axes: Sequence[str]
    ) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.intp]]:
        """Row numbers of the first and of the second selection that share their cell of the axes and the replicate."""
        keys, _ = self.keys(axes)
        keys = keys * (int(self.replicate.max(initial=0)) + 1) + self.replicate
        left, right = np.flatnonzero(first), np.flatnonzero(second)
        _, at_left, at_right = np.intersect1d(keys[left], keys[right], assume_unique=True, return_indices=True)
        return left[at_left], right[at_right]


def short_name(condition: str, all_conditions: Sequence[str]) -> str:
    """'asch' for the only condition that begins so, 'authority' for authoritative_bias; else the name itself."""
    if condition == "authoritative_bias":
        return "authority"
    if condition.startswith("asch") and sum(name.startswith("asch") for name in all_conditions) == 1:
        return "asch"
    return condition


def read_answers(run: Run, scorers: Sequence[str]) -> Answers:
    """Read every answer of a run once and judge its raw text by these scorers. No stored score is looked at."""
    judges = [(name, find_scorer(name).judge) for name in scorers]
    n = len(run.frame)
    answered, empty = np.zeros(n, dtype=np.bool_), np.zeros(n, dtype=np.bool_)
    ms = np.full(n, np.nan)
    labels = {name: np.full(n, -1, dtype=np.int8) for name in scorers}
    with Store.open(run.directory / "run.db") as store:
        for trial, response in store.answers():
            row = trial.trial - 1
            if response.text is not None:
                answered[row] = True
                empty[row] = not response.text.strip()
                ms[row] = np.nan if response.ms is None else response.ms
            for name, judge in judges:
                value = judge(trial.item, response).value
                labels[name][row] = -1 if value is None else int(value)
    return Answers(answered, empty, ms, labels)


def scored_rules(run: Run) -> tuple[Rule, ...]:
    """The rule versions of which all four judgements are stored."""
    with Store.open(run.directory / "run.db") as store:
        known = {f"{name}@{version}" for name, version in store.scorers()}
    return tuple(rule for rule in RULES if all(f"{name}@{rule}" in known for name in JUDGED))


def judgements(rules: Sequence[Rule]) -> list[str]:
    """The scorers that the rule versions need, 'unfinished' included."""
    return [*(f"{name}@{rule}" for rule in rules for name in JUDGED), "unfinished@1"]


def load(runs: Sequence[Run], answers: Sequence[Answers] | None = None) -> Trials:
    """The trials of some runs with their stored scores, or with the labels of `answers`, one for each run.

    Only rule versions that all runs were scored by are kept. The same run twice, one label for two models, and one id
    for two different items are errors.
    """
    _check(runs)
    if answers is None:
        rules = [rule for rule in RULES if all(rule in scored_rules(run) for run in runs)]
        if not rules:
            raise SpecError("no rule version has all of correct, mentioned, endorsed and refused; run 'perpend score'")
        answers = [_stored(run, judgements(rules)) for run in runs]
    catalogue = _catalogue(runs)
    variants, variant = _pooled(runs, "model")
    conditions, condition = _pooled(runs, "condition")
    temperatures, temperature = _pooled(runs, "temperature", sort=float)
    items, item = _pooled(runs, "item")
    topics = tuple(sorted({_topic(entry) for entry in catalogue.values()}))
    topic_of = np.array([topics.index(_topic(catalogue[name])) for name in items], dtype=np.int32)
    opinion_of = np.array([catalogue[name].target is None for name in items], dtype=np.bool_)
    return Trials(
        variants=variants,
        conditions=conditions,
        temperatures=tuple(map(float, temperatures)),
        topics=topics,
        items=items,
        variant=variant,
        condition=condition,
        temperature=temperature,
        topic=topic_of[item],
        item=item,
        replicate=replicates((variant, condition, temperature, item)),
        opinion=opinion_of[item],
        answered=np.concatenate([one.answered for one in answers]),
        empty=np.concatenate([one.empty for one in answers]),
        ms=np.concatenate([one.ms for one in answers]),
        labels={
            name: np.concatenate([one.labels[name] for one in answers])
            for name in answers[0].labels
            if all(name in one.labels for one in answers)
        },
    )


def replicates(columns: Sequence[Codes]) -> Codes:
    """For each row, how many rows before it have the same codes in all columns."""
    groups = np.zeros(len(columns[0]), dtype=np.int64)
    for codes in columns:
        groups = groups * (int(codes.max(initial=0)) + 1) + codes
    order = np.argsort(groups, kind="stable")
    starts = np.flatnonzero(np.diff(groups[order], prepend=-1))
    numbers = np.empty(len(groups), dtype=np.int32)
    numbers[order] = np.arange(len(groups)) - np.repeat(starts, np.diff(starts, append=len(groups)))
    return numbers


def _pooled(
    runs: Sequence[Run], key: str, *, sort: Callable[[str], float] | None = None
) -> tuple[tuple[str, ...], Codes]:
    """The values of a key over all runs, as they first occur or sorted, and every row's code."""
    found = dict.fromkeys(name for run in runs for name in run.frame.values(key))
    names = tuple(found if sort is None else sorted(found, key=sort))
    place = {name: number for number, name in enumerate(names)}
    parts = [
        np.array([place[name] for name in run.frame.values(key)], dtype=np.int32)[run.frame.codes[key]] for run in runs
    ]
    return names, np.concatenate(parts)


def _stored(run: Run, names: Sequence[str]) -> Answers:
    """The facts of a run's answers with its stored scores; a scorer that was never run is left out."""
    facts = read_answers(run, ())
    columns = {}
    with Store.open(run.directory / "run.db") as store:
        known = {f"{name}@{version}" for name, version in store.scorers()}
    for name in names:
        if name in known:
            columns[name] = as_labels(run[name].all_values)
    return Answers(facts.answered, facts.empty, facts.ms, columns)


def as_labels(column: npt.NDArray[np.float64]) -> Labels:
    """A column of 0, 1 and nan as 0, 1 and -1."""
    return np.where(np.isnan(column), -1, column).astype(np.int8)


def _catalogue(runs: Sequence[Run]) -> dict[str, Item]:
    found: dict[str, Item] = {}
    for run in runs:
        with Store.open(run.directory / "run.db") as store:
            for item in store.items():
                if found.setdefault(item.id, item) != item:
                    raise DataError(
                        f"{run.directory.name}: item {item.id!r} differs from the one of that id in another run; "
                        "analyse runs over different items apart"
                    )
    return found


def _topic(item: Item) -> str:
    return next((item.tags[tag] for tag in _TOPIC_TAGS if item.tags.get(tag)), _NO_TOPIC)


def _check(runs: Sequence[Run]) -> None:
    if not runs:
        raise SpecError("no run to analyse; give at least one run directory")
    seen: set[Path] = set()
    models: dict[str, str] = {}
    for run in runs:
        place = run.directory.resolve()
        if place in seen:
            raise SpecError(f"{run.directory}: given twice, so that its trials would count double; give it once")
        seen.add(place)
        declared = run.manifest.get("models")
        for model in declared if isinstance(declared, list) else []:
            if not isinstance(model, Mapping):
                continue
            label, name = str(model.get("label")), str(model.get("name"))
            if models.setdefault(label, name) != name:
                raise SpecError(
                    f"{run.directory.name}: {label!r} is {name!r} here and {models[label]!r} in another run; "
                    "one label is one variant, so analyse them apart"
                )

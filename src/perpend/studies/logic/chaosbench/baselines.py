"""Shortcuts: what can be guessed without knowing the system. Each is scored like a model, on systems that are new."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from perpend.canon import JSON
from perpend.stats.binary import binary_metrics
from perpend.stats.gate import BoolArray, FloatArray
from perpend.studies.logic.chaosbench.items import family_of, label_of, text_of
from perpend.studies.logic.chaosbench.masking import Mask, systems_of
from perpend.studies.logic.chaosbench.ngrams import NgramRegression
from perpend.studies.logic.replies import GROUP_TAGS
from perpend.types import Estimate

LIMIT, FAMILY_LIMIT = 0.55, 0.60
"""Balanced accuracy that a shortcut may reach: on all items, and in a family with enough of them."""
FAMILY_ITEMS = 60
FOLDS = 5
_CUTS = 9
"""Lengths that the length baseline tries as its threshold."""


@dataclass(frozen=True, slots=True)
class Shortcut:
    """One baseline: its numbers on all items and by family. `note` says why it could not run."""

    name: str
    overall: Mapping[str, Estimate] = field(default_factory=dict)
    families: Mapping[str, Estimate] = field(default_factory=dict)
    """Balanced accuracy in each family with at least 60 items."""
    note: str = ""

    def as_json(self) -> dict[str, JSON]:
        """The numbers as JSON."""
        return {
            "name": self.name,
            "note": self.note,
            **{key: estimate.as_json() for key, estimate in self.overall.items()},
            "families": {family: estimate.value for family, estimate in self.families.items()},
        }


class _Items:
    """The columns that the baselines share."""

    def __init__(self, records: Sequence[Mapping[str, JSON]], pool: Sequence[Mapping[str, JSON]]) -> None:
        self.records, mask = pool, Mask(pool)
        self.truth = np.array([label_of(record) == "TRUE" for record in pool], dtype=np.float64)
        self.systems = [systems_of(record) for record in pool]
        self.system = [text_of(record, "system_id") for record in pool]
        self.groups = [next((text_of(r, tag) for tag in GROUP_TAGS if r.get(tag)), "") for r in pool]
        self.masked = [mask.masked(record) for record in pool]
        wanted = {text_of(record, "id") for record in records}
        self.asked = np.array([text_of(record, "id") in wanted for record in pool], dtype=np.bool_)

    def key(self, *names: str) -> list[str] | None:
        """The values of some tags joined; None where the first one is missing or never varies."""
        first = [text_of(record, names[0]) for record in self.records]
        if len(set(first)) < 2 or not all(first):
            return None
        return ["|".join(text_of(record, name) for name in names) for record in self.records]


def shortcuts(
    records: Sequence[Mapping[str, JSON]], pool: Sequence[Mapping[str, JSON]] | None = None
) -> list[Shortcut]:
    """Every baseline on `records`, with what it learns taken from `pool` (the same items unless given).

    Nothing is learned from an item's own system: the majority is that of other systems, the regression and the length
    threshold are fitted with whole systems held out.
    """
    if not records:
        return []
    items = _Items(records, _joined(records, pool or ()))
    rules: dict[str, Callable[[_Items], FloatArray | str]] = {
        "template majority, system masked": lambda it: _majority(it, it.masked),
        "template tag majority": lambda it: _by_tag(it, "template"),
        "predicate majority": lambda it: _by_tag(it, "predicate", "polarity"),
        "question n-grams, systems held out": _regression,
        "question length, systems held out": _length,
    }
    return [_measured(name, rule(items), items) for name, rule in rules.items()]


def _joined(records: Sequence[Mapping[str, JSON]], pool: Sequence[Mapping[str, JSON]]) -> list[Mapping[str, JSON]]:
    known = {text_of(record, "id"): record for record in (*pool, *records)}
    return list(known.values())


def _measured(name: str, answer: FloatArray | str, items: _Items) -> Shortcut:
    if isinstance(answer, str):
        return Shortcut(name, note=answer)
    truth, answers = items.truth[items.asked], answer[items.asked]
    clusters = np.array([system or str(row) for row, system in enumerate(items.system)])[items.asked]
    families = np.array([family_of(record) for record in items.records])[items.asked]
    overall = binary_metrics(truth, answers, clusters)
    by_family = {}
    for family in np.unique(families).tolist():
        rows = families == family
        if rows.sum() >= FAMILY_ITEMS:
            by_family[family] = binary_metrics(truth[rows], answers[rows], clusters[rows])["balanced_accuracy"]
    return Shortcut(name, {key: overall[key] for key in ("balanced_accuracy", "mcc", "tpr", "tnr")}, by_family)


def _by_tag(items: _Items, *names: str) -> FloatArray | str:
    key = items.key(*names)
    return f"cannot run: items have no tag {names[0]!r} that varies" if key is None else _majority(items, key)


def _majority(items: _Items, keys: Sequence[str]) -> FloatArray | str:
    """The majority label of the same key over other systems; FALSE on a tie and where no other system has it."""
    if len(set(items.system)) < 2:
        return "cannot run: the items name fewer than two systems"
    signed = np.where(items.truth == 1.0, 1, -1).tolist()
    everywhere: Counter[str] = Counter()
    own: Counter[tuple[str, str]] = Counter()
    for key, system, sign in zip(keys, items.system, signed, strict=True):
        everywhere[key] += sign
        own[key, system] += sign
    votes = [everywhere[key] - own[key, system] for key, system in zip(keys, items.system, strict=True)]
    return (np.array(votes) > 0).astype(np.float64)


def _folds(items: _Items) -> list[tuple[BoolArray, BoolArray]] | str:
    """(train, test) rows: each item is tested once, on a fit that saw none of its systems."""
    names = sorted({system for systems in items.systems for system in systems})
    if len(names) < FOLDS:
        return f"cannot run: the items name {len(names)} systems, {FOLDS} are needed to hold some out"
    order = np.random.default_rng(0).permutation(len(names))
    fold_of = {names[at]: place % FOLDS for place, at in enumerate(order.tolist())}
    # Items of no system are spread over the folds by their place, those of one base fact together.
    places: dict[str, int] = {}
    groups = [places.setdefault(group or f"row {row}", row) for row, group in enumerate(items.groups)]
    first = [fold_of[systems[0]] if systems else groups[row] % FOLDS for row, systems in enumerate(items.systems)]
    folds = []
    for fold in range(FOLDS):
        test = np.array([place == fold for place in first], dtype=np.bool_)
        touched = np.array([any(fold_of[s] == fold for s in systems) for systems in items.systems], dtype=np.bool_)
        folds.append((~touched & ~test, test))
    return folds


def _regression(items: _Items) -> FloatArray | str:
    folds = _folds(items)
    if isinstance(folds, str):
        return folds
    regression = NgramRegression(items.masked)
    answers = np.zeros(len(items.truth))
    for train, test in folds:
        if test.any():
            answers[test] = regression.answers(items.truth, train, test)
    return answers


def _length(items: _Items) -> FloatArray | str:
    """TRUE above or below the number of characters that separates the training items best."""
    folds = _folds(items)
    if isinstance(folds, str):
        return folds
    length = np.array([len(text) for text in items.masked], dtype=np.float64)
    answers = np.zeros(len(items.truth))
    for train, test in folds:
        cuts = np.quantile(length[train], np.linspace(0.1, 0.9, _CUTS)).tolist() if train.any() else []
        gains = [(_separation(length[train] > cut, items.truth[train]), cut) for cut in cuts]
        gain, cut = max(gains, key=lambda pair: abs(pair[0]), default=(0.0, 0.0))
        answers[test] = (length[test] > cut) == (gain > 0)
    return answers


def _separation(longer: BoolArray, truth: FloatArray) -> float:
    """TPR + TNR - 1 of 'longer is TRUE'; 0 where a class is absent."""
    positive = truth == 1.0
    if positive.all() or not positive.any():
        return 0.0
    return float(longer[positive].mean() - longer[~positive].mean())

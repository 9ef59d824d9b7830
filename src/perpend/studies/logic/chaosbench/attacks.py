"""Attacks: what can be guessed without physics, mathematics or logic. None may reach more than 0.55 anywhere.

They read words, numbers, order, distances and other items' labels, and are fitted on each kind of items, with whole
systems (or pairs) held out; memorisers learn from the other splits. Each is counted on all items, in each stratum, and
in each kind that is large enough to tell.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from perpend.canon import JSON
from perpend.proof.gates import Gate
from perpend.stats.binary import binary_metrics
from perpend.stats.gate import BoolArray, FloatArray, IntArray
from perpend.studies.logic.chaosbench import features
from perpend.studies.logic.chaosbench.boosting import binned, boosted
from perpend.studies.logic.chaosbench.folds import Attacked
from perpend.studies.logic.chaosbench.words import bayes, nearest, ngram_matrix
from perpend.types import Estimate

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

LIMIT = 0.55
"""Balanced accuracy that nothing without understanding may exceed."""
COUNTED = 200
"""Items from which a kind is counted."""
COUNTED_IN_SPLIT = 1000
"""Items from which a stratum is counted within one split."""
FITTED = 100
"""Items from which a form or a predicate of a kind is fitted for itself."""
_KEYS = (("form", ("template", "polarity")), ("predicate", ("predicate", "polarity")))
Fitted: TypeAlias = Callable[[IntArray, BoolArray, BoolArray], FloatArray]
"""The rows of a kind, which of them are learned from and which are answered → 1 or 0 for each of the latter."""


@dataclass(frozen=True, slots=True)
class Attack:
    """One attack: its balanced accuracy on all items, and by part ('stratum data', 'kind …', 'split …')."""

    name: str
    overall: Estimate
    parts: Mapping[str, Estimate] = field(default_factory=dict)

    @property
    def over(self) -> dict[str, Estimate]:
        """The parts where it exceeds the limit, 'all' among them."""
        everything = {"all": self.overall, **self.parts}
        return {name: one for name, one in everything.items() if one.value is not None and one.value > LIMIT}

    @property
    def worst(self) -> tuple[str, Estimate]:
        """The part where it does best."""
        everything = {"all": self.overall, **self.parts}
        return max(everything.items(), key=lambda entry: entry[1].value or 0.0)

    def as_gate(self) -> Gate:
        """Passes where nothing is over the limit; the detail has the number of items and the interval."""
        over = sorted(self.over.items(), key=lambda entry: -(entry[1].value or 0.0)) or [self.worst]
        listed = "; ".join(f"{name} {told(one)}" for name, one in over)
        verdict = f"{len(self.over)} of {1 + len(self.parts)} parts above {LIMIT}" + (
            ": " if self.over else "; highest: "
        )
        return Gate(f"attack: {self.name}", not self.over, verdict + listed)

    def as_json(self) -> dict[str, JSON]:
        """The numbers as JSON."""
        parts: dict[str, JSON] = {name: one.as_json() for name, one in self.parts.items()}
        return {"name": self.name, "overall": self.overall.as_json(), "parts": parts}


def told(estimate: Estimate) -> str:
    """Value, interval, items, what they are worth as independent ones, and clusters, in one phrase."""
    if estimate.value is None:
        return f"undefined ({estimate.note})"
    ends = "" if estimate.lo is None or estimate.hi is None else f" [{estimate.lo:.3f}, {estimate.hi:.3f}]"
    clusters, worth = estimate.also.get("n_clusters"), estimate.also.get("n_effective")
    counts = f", {clusters} clusters" if clusters else ""
    counts += f", effective n {worth:.0f}" if isinstance(worth, float) else ""
    return f"{estimate.value:.3f}{ends} (n = {estimate.n}{counts})"


def attacks(records: Sequence[Mapping[str, JSON]], systems: Mapping[str, Mapping[str, float]]) -> Iterator[Attack]:
    """Every attack on a set; `systems` are the usual parameters by system, which one attack reads."""
    items = Attacked(records, systems)
    yield _counted("constant", np.ones(len(items.truth)), items)
    for name, tags in _KEYS:
        yield _counted(f"{name} majority", _by_kind(items, _majority(items, tags)), items)
    for name, texts, longest in (("words", items.masked, 3), ("words and numbers", items.questions, 2)):
        table = ngram_matrix(texts, longest)
        yield _counted(f"naive Bayes on {name}", _by_kind(items, _bayes(items, table)), items)
    everything: list[FloatArray] = []
    codes = np.column_stack([_codes(items.tag(tag)) for tag in ("template", "predicate", "polarity", "grade")])
    for name, surface in _surface(items):
        columns = np.column_stack([surface, codes])
        everything.append(surface if everything else columns)
        yield _counted(f"trees on {name}", _by_kind(items, _trees(items, columns)), items)
    together = np.column_stack(everything)
    finer: tuple[tuple[str, tuple[str, ...]], ...] = (
        ("kind", ()),
        ("predicate", ("predicate",)),
        ("form", ("template",)),
    )
    for unit, cut in finer:
        answers = _by_kind(items, _trees(items, together), cut)
        yield _counted(f"trees on all of these, by {unit}", answers, items)
    yield from memorisers(items)


def _counted(name: str, answers: FloatArray, items: Attacked, rows: IntArray | None = None) -> Attack:
    """The attack's numbers, by stratum and by kind.

    With `rows`, which are a split, by stratum only and where there are more items: what a memoriser has of one kind in
    one split is too few to tell 0.55 from chance.
    """
    clusters = np.array(items.clusters)
    everything = np.arange(len(answers)) if rows is None else rows

    def estimate(some: IntArray) -> Estimate:
        metrics = binary_metrics(items.truth[some], answers[some], clusters[some])
        balanced = metrics["balanced_accuracy"]
        return replace(balanced, also={**metrics["accuracy_valid"].also, **balanced.also})

    parts: dict[str, Estimate] = {}
    cuts = {"stratum": items.tag("stratum")} | ({"kind": items.kinds} if rows is None else {})
    for part, keys in cuts.items():
        for key, own in items.groups(keys).items():
            some = np.intersect1d(own, everything)
            if key and len(some) >= (COUNTED if rows is None else COUNTED_IN_SPLIT):
                parts[f"{part} {key}"] = estimate(some)
    return Attack(name, estimate(everything), parts)


def _by_kind(items: Attacked, fitted: Fitted, tags: Sequence[str] = ()) -> FloatArray:
    """The answers of an attack that is fitted on each kind, each row by a fit that knows nothing of its owner.

    With tags, each kind is cut further by their values; what is then too few to fit stays together.
    """
    answers = np.zeros(len(items.truth))
    units = ["|".join(values) for values in zip(items.kinds, *(items.tag(tag) for tag in tags), strict=True)]
    sizes = Counter(units)
    units = [unit if sizes[unit] >= FITTED else kind for unit, kind in zip(units, items.kinds, strict=True)]
    for rows in items.groups(units).values():
        for train, test in items.folds(rows):
            if test.any():
                answers[rows[test]] = fitted(rows, train, test)
    return answers


def _majority(items: Attacked, tags: Sequence[str]) -> Fitted:
    keys = ["|".join(values) for values in zip(*(items.tag(tag) for tag in tags), strict=True)]

    def answers(rows: IntArray, train: BoolArray, test: BoolArray) -> FloatArray:
        votes: Counter[str] = Counter()
        for row in rows[train].tolist():
            votes[keys[row]] += 1 if items.truth[row] == 1.0 else -1
        return np.array([votes[keys[row]] > 0 for row in rows[test].tolist()], dtype=np.float64)

    return answers


def _bayes(items: Attacked, table: csr_matrix) -> Fitted:
    def answers(rows: IntArray, train: BoolArray, test: BoolArray) -> FloatArray:
        return bayes(table[rows], items.truth[rows], train, test)

    return answers


def _trees(items: Attacked, columns: FloatArray) -> Fitted:
    known: dict[int, IntArray] = {}

    def answers(rows: IntArray, train: BoolArray, test: BoolArray) -> FloatArray:
        first = int(rows[0])
        if first not in known:
            known.clear()
            known[first] = binned(columns[rows])
        return boosted(known[first], items.truth[rows], train, test)

    return answers


def _surface(items: Attacked) -> Iterator[tuple[str, FloatArray]]:
    """The groups of numeric features, each by its name."""
    texts = items.questions
    yield "number sizes", features.matrix([features.sizes(text) for text in texts])
    yield "digits and decimals", features.matrix([features.spellings(text) for text in texts])
    yield "order and place", features.matrix([features.places(text) for text in texts])
    yield "lengths and denials", features.matrix([features.marks(text) for text in texts])
    rows = [features.distances(record, items.systems) for record in items.records]
    far = features.matrix(rows)
    if far.shape[1]:
        signed = np.array([row.get("first: signed change", np.nan) for row in rows])
        within = features.ranks_within(signed, items.tag("system_id"))
        far = np.column_stack([far, within, np.abs(within - 0.5)])
    yield "distance from usual parameters", far


def _codes(values: Sequence[str]) -> FloatArray:
    """Tags as numbers, in alphabetical order."""
    place = {value: number for number, value in enumerate(sorted(set(values)))}
    return np.array([place[value] for value in values], dtype=np.float64)


def memorisers(items: Attacked) -> Iterator[Attack]:
    """Attacks that learn the labels of the other splits by heart; nothing where items have no splits.

    The nearest question's label, the opposite of it, and what was seen of the same instance, system and pair.
    """
    splits = items.groups(items.tag("split"))
    if len(splits) < 2:
        return
    everything = np.arange(len(items.truth))
    table = ngram_matrix(items.questions, 1)
    strata = items.groups(items.tag("stratum"))
    for split, test in splits.items():
        alike, known = np.zeros(len(items.truth)), np.setdiff1d(everything, test)
        for rows in strata.values():
            own, others = np.intersect1d(rows, test), np.intersect1d(rows, known)
            if len(own) and len(others):
                places = np.searchsorted(rows, others), np.searchsorted(rows, own)
                alike[own] = nearest(table[rows], items.truth[rows], *places)
        where = f", split {split}"
        yield _counted(f"memoriser: nearest question{where}", alike, items, test)
        yield _counted(f"memoriser: opposite of the nearest question{where}", 1.0 - alike, items, test)
        yield _counted(f"memoriser: the same instance or system{where}", _seen(items, known, test), items, test)


def _seen(items: Attacked, known: IntArray, test: IntArray) -> FloatArray:
    """The majority of what was learned of the narrowest thing that was seen: instance, pair, system; FALSE of none."""
    answers = np.zeros(len(items.truth))
    polarity = np.where(np.array(items.tag("polarity")) == "negative", -1, 1)
    signed = np.where(items.truth == 1.0, 1, -1) * polarity
    for tags in (("system_id",), ("system_id", "predicate"), ("pair",), ("instance",), ("instance", "predicate")):
        keys = list(zip(*(items.tag(tag) for tag in tags), strict=True))
        votes: Counter[tuple[str, ...]] = Counter()
        for row in known.tolist():
            if all(keys[row]) and keys[row][0] != "generic":
                votes[keys[row]] += int(signed[row])
        for row in test.tolist():
            if votes[keys[row]]:
                answers[row] = float(votes[keys[row]] * int(polarity[row]) > 0)
    return answers

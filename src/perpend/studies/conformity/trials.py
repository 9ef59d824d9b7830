"""The trials of one or several runs as the conformity study sees them: a thin view on a Table.

Runs at several temperatures or of several models pool into one sweep: a model's label is its variant, an item's id its
identity.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Literal, TypeAlias

import numpy as np

from perpend.errors import SpecError
from perpend.measure.keys import BoolArray, Codes, IntArray, joined, replicates
from perpend.measure.packed import Packed, narrow
from perpend.measure.plans import PlanCodes, by_variant
from perpend.measure.table import Table

Rule: TypeAlias = Literal["1", "2"]
RowPairs: TypeAlias = tuple[Codes, Codes]
"""Row numbers, and those of their partners."""

RULES: tuple[Rule, ...] = ("1", "2")
MEASURES = {"override": "correct", "rescue": "correct", "flip": "endorsed"}
"""The conditional rates, and the judgement that each is a rate of."""
JUDGED = ("correct", "mentioned", "endorsed", "refused")
UNFINISHED = "unfinished@1"
CONTROL, RETEST = "control", "control_retest"
PAIRED = ("model", "temperature", "item")
_TOPIC_TAGS = ("topic", "category", "dataset", "domain")
_NO_TOPIC = "all"


@dataclass(frozen=True, slots=True)
class Conditions:
    """The conditions of a study in plan order, and the part that each plays."""

    names: tuple[str, ...]

    @property
    def control(self) -> str:
        """The condition that the others are compared with."""
        return CONTROL if CONTROL in self.names else self.names[0]

    @property
    def retest(self) -> str | None:
        """The second control, which shows what changes by itself; None where there is none."""
        return RETEST if RETEST in self.names and self.control != RETEST else None

    @property
    def pressures(self) -> tuple[str, ...]:
        """Every condition but the control and its retest."""
        return tuple(name for name in self.names if name not in (self.control, self.retest))

    def short(self, name: str) -> str:
        """A condition as tables and figures call it."""
        return short_name(name, self.pressures)


def short_name(condition: str, all_conditions: Sequence[str]) -> str:
    """'asch' for the only condition that begins so, 'authority' for authoritative_bias; else the name itself."""
    if condition == "authoritative_bias":
        return "authority"
    if condition.startswith("asch") and sum(name.startswith("asch") for name in all_conditions) == 1:
        return "asch"
    return condition


@dataclass(frozen=True)  # not slotted: what is computed is kept
class Trials:
    """Every planned trial of a study. In `table` temperatures are sorted by size and topics by name.

    Its key `replicate` numbers the trials of one model, condition, temperature and item.
    """

    table: Table
    _pairs: dict[tuple[str, bool, int], RowPairs] = field(default_factory=dict, repr=False, compare=False)

    def __len__(self) -> int:
        return len(self.table)

    @property
    def variants(self) -> tuple[str, ...]:
        """The labels of the models, in plan order."""
        return self.table.names["model"]

    @property
    def temperatures(self) -> tuple[str, ...]:
        """The temperatures, lowest first."""
        return self.table.names["temperature"]

    @property
    def topics(self) -> tuple[str, ...]:
        """The topics, by name."""
        return self.table.names["topic"]

    @cached_property
    def conditions(self) -> Conditions:
        """The conditions."""
        return Conditions(self.table.names["condition"])

    @property
    def item(self) -> Codes:
        """The code of each trial's item."""
        return self.table.codes["item"]

    @property
    def opinion(self) -> BoolArray:
        """The trials whose item has no target."""
        return self.table.opinion

    @property
    def rules(self) -> tuple[Rule, ...]:
        """The rule versions that every trial was judged by, oldest first."""
        return tuple(rule for rule in RULES if all(f"{name}@{rule}" in self.table.scorers for name in JUDGED))

    def label(self, name: str, rule: Rule) -> Packed:
        """The column of one judgement by one rule version; NaN where a trial has no value."""
        if f"{name}@{rule}" not in self.table.scorers:
            raise SpecError(f"the trials have no {name}@{rule}; run 'perpend score RUN --only {name}@{rule}' first")
        return self.table.column(f"{name}@{rule}").scores

    def errors(self, rule: Rule) -> Packed:
        """1 for a wrong answer, 0 for a right one, NaN where correctness has no value."""
        return self.label("correct", rule).mapped(lambda values: 1.0 - values)

    def refused(self, rule: Rule) -> BoolArray:
        """The trials whose answer is a refusal."""
        return self.label("refused", rule).equals(1.0)

    def under(self, condition: str) -> BoolArray:
        """The rows of one condition."""
        return self.table.mask({"condition": condition})

    def of(self, variant: str) -> BoolArray:
        """The rows of one variant."""
        return self.table.mask({"model": variant})

    def partners(self, first: BoolArray, second: BoolArray, axes: Sequence[str] = PAIRED) -> tuple[IntArray, IntArray]:
        """Row numbers of the first and of the second selection that share the values of the axes and the replicate.

        In the order of the axes, so that sums over them do not depend on the order of the plan.
        """
        axes = (*axes, "replicate")
        left, right = self.table.partners(first, second, axes)
        order = np.argsort(joined([self.table.codes[axis][left] for axis in axes]), kind="stable")
        return left[order], right[order]

    def pairs(self, condition: str, variant: int, *, opinion: bool) -> RowPairs:
        """Row numbers of a variant under control, and of their partners under a condition, on factual or opinion items.

        Matched once; what fewer rows have is those of these pairs that have both of their rows among them.
        """
        key = condition, opinion, variant
        if key not in self._pairs:
            own = np.equal(self.opinion, opinion) & self.of(self.variants[variant])
            first, second = self.partners(own & self.under(self.conditions.control), own & self.under(condition))
            self._pairs[key] = narrow(first, len(self)), narrow(second, len(self))
        return self._pairs[key]

    def digest(self, names: Sequence[str], *, opinion: bool | None = None) -> str:
        """The digest of some columns over factual items, opinion items, or (None) all."""
        rows = np.ones(len(self), dtype=np.bool_) if opinion is None else np.equal(self.opinion, opinion)
        return self.table.digest(names, rows)


def judgements(rules: Sequence[Rule]) -> tuple[str, ...]:
    """The scorers that the rule versions need, 'unfinished' included."""
    return (*(f"{name}@{rule}" for rule in rules for name in JUDGED), UNFINISHED)


def trials_of(table: Table) -> Trials:
    """The study's view on a table of trials."""
    table = by_variant(table)
    temperatures = tuple(sorted(table.names["temperature"], key=float))
    place = np.array([temperatures.index(name) for name in table.names["temperature"]], dtype=np.int64)
    temperature = table.codes["temperature"]
    if temperatures != table.names["temperature"]:
        temperature = narrow(place, len(place))[temperature]
    topic_of = [next((i.tags[tag] for tag in _TOPIC_TAGS if i.tags.get(tag)), _NO_TOPIC) for i in table.items]
    topics = tuple(sorted(set(topic_of)))
    numbers = {name: number for number, name in enumerate(topics)}
    topic = narrow(np.array([numbers[name] for name in topic_of], dtype=np.int64), len(topics))
    cells = joined([table.codes["model"], table.codes["condition"], temperature, table.codes["item"]])
    replicate = replicates(cells)
    del cells
    codes = PlanCodes({"temperature": temperature, "replicate": replicate}, {"topic": topic}, table.codes)
    names = {**table.names, "temperature": temperatures, "topic": topics}
    # The answers are read once, whoever asks for them.
    return Trials(replace(table, codes=codes, names=names, read_answers=lambda: table.answers))

"""Every label again, from an item's tags, the facts and the rules: nothing here writes a question.

`kind` says what is asked:

fact             the predicate holds of the instance (polarity positive) or does not (negative)
comparison       of two instances, the one in `place` has the predicate and the other has not
one_of_three     the same of three
transition       predicate 'A>B': the first instance has A, the second has B
period           the instance settles on an attracting cycle of that many iterates
agreement        both `values` lie on the same side of their thresholds
argument         the conclusion (predicate, polarity) follows from `premises` by `rules`
world_knowledge  it follows from `premises` by the rules that hold; FALSE only where an instance refutes it
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping

from perpend.canon import JSON
from perpend.errors import DataError
from perpend.studies.logic.chaos.families.arguments import literal_of, rule_of
from perpend.studies.logic.chaos.families.readings import INDICATORS
from perpend.studies.logic.chaos.families.setting import tag_of
from perpend.studies.logic.chaos.predicates import K_THRESHOLD, MEGNO_THRESHOLD
from perpend.studies.logic.chaos.records import Record
from perpend.studies.logic.chaos.rules import RULES, consistent, entails

PLACES = ("first", "second", "third")
_FIGURE = r"[-+]?\d+(?:\.\d+)?(?:e[-+]?\d+)?"
_FIGURES = re.compile(_FIGURE)
_STATED = re.compile(rf"(?<![\w\]])(\w+) = ({_FIGURE})(?!\.?\w)")
_LISTED = re.compile(rf"\bfor (\w+) the values ({_FIGURE}), ({_FIGURE}) and ({_FIGURE})(?!\.?\w)")
_CHANGED = re.compile(rf"\bparameter (\w+) is changed from ({_FIGURE}) to ({_FIGURE})(?!\.?\w)")


class Facts:
    """The frozen facts by instance."""

    def __init__(self, records: Iterable[Record]) -> None:
        self.records = {record.id: record for record in records}

    def label(self, item: Mapping[str, JSON]) -> bool:
        """The label that facts and rules give. An item whose tags do not suffice, or contradict them, is an error."""
        tags = {key: value for key, value in item.items() if isinstance(value, str)}
        kind = tags.get("kind", "")
        rules: Mapping[str, Callable[[Mapping[str, str]], bool]] = {
            "fact": self._fact,
            "comparison": self._place,
            "one_of_three": self._place,
            "transition": self._transition,
            "period": self._period,
            "agreement": _agreement,
            "argument": _argument,
            "world_knowledge": self._knowledge,
        }
        if kind not in rules:
            raise DataError(f"the tag 'kind' is {kind!r}; there is no way to compute such a label")
        return rules[kind](tags)

    def instances(self, tags: Mapping[str, str]) -> list[Record]:
        """The instances of an item, whose parameters must be those of the tag and stand in the question."""
        records = []
        for name in filter(None, tags.get("instance", "").split(" > ")):
            if name not in self.records:
                raise DataError(f"no facts about the instance {name!r}")
            records.append(self.records[name])
        if " > ".join(tag_of(record.parameters) for record in records) != tags.get("parameters", ""):
            raise DataError("the tag 'parameters' is not that of the instance")
        for record in records:
            _check_stated(record, tags["question"])
        return records

    def _holds(self, record: Record, predicate: str) -> bool:
        if predicate not in record.facts:
            raise DataError(f"{record.id}: {predicate!r} is not decided")
        return record.facts[predicate]

    def _fact(self, tags: Mapping[str, str]) -> bool:
        (record,) = self.instances(tags)
        return self._holds(record, tags["predicate"]) is (tags["polarity"] == "positive")

    def _place(self, tags: Mapping[str, str]) -> bool:
        having = [self._holds(record, tags["predicate"]) for record in self.instances(tags)]
        if having.count(True) != 1:
            raise DataError(f"{having.count(True)} of {len(having)} instances have {tags['predicate']!r}, not one")
        return having.index(True) == PLACES.index(tags["place"])

    def _transition(self, tags: Mapping[str, str]) -> bool:
        before, after = self.instances(tags)
        one, other = tags["predicate"].split(">")
        return self._holds(before, one) and self._holds(after, other)

    def _period(self, tags: Mapping[str, str]) -> bool:
        (record,) = self.instances(tags)
        return self._holds(record, "AttractingCycle") and str(record.numbers["period"]) == tags["period"]

    def _knowledge(self, tags: Mapping[str, str]) -> bool:
        premises = dict(map(literal_of, tags["premises"].split(";")))
        name, holds = tags["predicate"], tags["polarity"] == "positive"
        if entails(premises, RULES, (name, holds)):
            return True
        for record in self.records.values():
            if record.facts.get(name) is (not holds) and all(record.facts.get(p) is v for p, v in premises.items()):
                return False
        raise DataError("neither do the rules give the conclusion, nor does an instance refute it")


def _argument(tags: Mapping[str, str]) -> bool:
    premises = dict(map(literal_of, tags["premises"].split(";")))
    rules = [rule_of(text) for text in tags["rules"].split(";")]
    if not consistent(premises, rules):
        raise DataError("premises and rules contradict each other: everything follows")
    return entails(premises, rules, (tags["predicate"], tags["polarity"] == "positive"))


def _agreement(tags: Mapping[str, str]) -> bool:
    limits = {"zero_one": K_THRESHOLD, "megno": MEGNO_THRESHOLD}
    sides = []
    for entry in tags["values"].split(";"):
        key, text = entry.split("=")
        if key not in INDICATORS or text not in tags["question"]:
            raise DataError(f"the question does not state {entry!r}")
        figures = [float(figure) for figure in _FIGURES.findall(text)]
        sides.append(figures[0] > (limits[key] if key in limits else 2 * figures[-1]))
    return sides[0] == sides[1]


def _check_stated(record: Record, question: str) -> None:
    """Every parameter value of an instance must stand in the question, as 'a = 1.4' or in a list of values."""
    stated = {(name, float(figure)) for name, figure in _STATED.findall(question)}
    for name, *figures in (*_LISTED.findall(question), *_CHANGED.findall(question)):
        stated |= {(name, float(figure)) for figure in figures}
    for name, value in record.parameters.items():
        if (name, value) not in stated:
            raise DataError(f"the question does not state {name} = {value:.10g}")

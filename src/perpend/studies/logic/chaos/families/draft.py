"""A question before it has its number."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from perpend.canon import JSON
from perpend.studies.logic.chaos.families.chance import share
from perpend.studies.logic.chaos.families.setting import bare, tag_of
from perpend.studies.logic.chaos.records import Record, SystemWords

HELD_OUT, ROBUSTNESS, CORE = "heldout_systems", "robustness", "core"
HELD_OUT_SHARE = 0.1


@dataclass(frozen=True, slots=True)
class Draft:
    """One item. `kind` says how its label is computed; see recompute.py. `extra` are tags that only some kinds have."""

    family: str
    template: str
    question: str
    label: bool
    about: About
    predicate: str
    polarity: bool
    kind: str
    extra: Mapping[str, str] = field(default_factory=dict)

    def as_record(self, name: str) -> dict[str, JSON]:
        """The line of the item file: the protocol's six keys, then the tags."""
        return {
            "id": name,
            "question": self.question,
            "ground_truth": "TRUE" if self.label else "FALSE",
            "type": self.family,
            "system_id": self.about.system_id,
            "template": self.template,
            "predicate": self.predicate,
            "polarity": "positive" if self.polarity else "negative",
            "kind": self.kind,
            "group": self.about.group,
            "split": self.about.split,
            "system_name": self.about.system_name,
            "parameters": self.about.parameters,
            "instance": self.about.instance,
            **self.extra,
        }


@dataclass(frozen=True, slots=True)
class About:
    """What an item is about. `instance` and `parameters` join several with ' > ', in the order of the question."""

    system_id: str
    system_name: str
    parameters: str
    instance: str
    group: str
    split: str


def about(system: SystemWords, records: tuple[Record, ...], group: str, split: str = CORE) -> About:
    """The tags of a question about instances of one system. Whole systems are held out, whatever the family."""
    return About(
        system_id=system.system_id,
        system_name=bare(system.name),
        parameters=" > ".join(tag_of(record.parameters) for record in records),
        instance=" > ".join(record.id for record in records),
        group=group,
        split=HELD_OUT if is_held_out(system.system_id) else split,
    )


def is_held_out(system_id: str) -> bool:
    """Whether a system's items are all in the split `heldout_systems`."""
    return share("held out", system_id) < HELD_OUT_SHARE


def capital(text: str) -> str:
    """The text with its first letter in upper case."""
    return text[:1].upper() + text[1:]

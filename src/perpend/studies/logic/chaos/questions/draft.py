"""A question before it has its id."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from perpend.canon import JSON

STRATA = ("textbook", "reason", "logic", "data", "compute")
FAMILIES = (
    "adversarial", "atomic", "consistency_paraphrase", "cross_indicator", "extended_systems", "fol_inference",
    "indicator_diagnostics", "multi_hop", "perturbation_robustness", "regime_transition",
)  # fmt: skip
GENERIC = "generic"
"""The system of a question that is about no named one."""


@dataclass(frozen=True, slots=True)
class Draft:
    """One item. `extra` are tags that only some kinds have; every tag is text."""

    stratum: str
    family: str
    kind: str
    """How the label is computed. Kinds are few and large; attacks are counted by them."""
    form: str
    """The sentence frame."""
    question: str
    label: bool
    pair: str
    """What the items of one bundle share; they stay in one split and depend on each other."""
    grade: int
    """1 to 5, from the structure."""
    predicate: str
    polarity: bool = True
    """False where the question denies the predicate."""
    system_id: str = GENERIC
    system_name: str = ""
    """As it stands in the question, without its article; '' for a generic one."""
    instance: str = ""
    """The id in facts.jsonl; several are joined by ' > '. '' where no fact was needed."""
    parameters: str = ""
    """'a=1.4, b=0.3'; several are joined by ' > '."""
    cites: str = ""
    """The source of a named result, or of the system."""
    variant: str = ""
    """For paraphrases and perturbations: which."""
    extra: Mapping[str, str] = field(default_factory=dict)

    def as_record(self, name: str, split: str) -> dict[str, JSON]:
        """The line of the item file: the protocol's six keys, then the tags, those that are blank left out."""
        tags = {
            "stratum": self.stratum,
            "kind": self.kind,
            "grade": str(self.grade),
            "predicate": self.predicate,
            "polarity": "positive" if self.polarity else "negative",
            "pair": self.pair,
            "group": self.instance.split(" > ")[0] if self.instance else self.pair,
            "split": split,
            "system_name": self.system_name,
            "parameters": self.parameters,
            "instance": self.instance,
            "cites": self.cites,
            "variant": self.variant,
            **self.extra,
        }
        return {
            "id": name,
            "question": self.question,
            "ground_truth": "TRUE" if self.label else "FALSE",
            "type": self.family,
            "system_id": self.system_id,
            "template": self.form,
            **{key: value for key, value in tags.items() if value},
        }

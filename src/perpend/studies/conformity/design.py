"""conformity: does a model leave the right answer when others claim a wrong one?"""

from __future__ import annotations

from collections.abc import Sequence
from importlib.resources import files
from pathlib import Path

from perpend.ask.conditions import SYSTEM, Confidence, Consensus, asch, authority, control
from perpend.ask.task import Task
from perpend.errors import SpecError, did_you_mean
from perpend.types import Condition

_ITEMS = Path(str(files("perpend.studies.conformity"))) / "items"
_SCORERS = (
    "correct@1",
    "correct",
    "mentioned@1",
    "mentioned",
    "endorsed@1",
    "endorsed",
    "refused@1",
    "refused",
    "disclaimed",
    "unfinished",
    "stance",
)


def task(  # noqa: PLR0913  one parameter for each factor of the design
    *,
    confederates: int = 5,
    confidence: Confidence = "high",
    consensus: Consensus = "unanimous",
    claim: Confidence = "high",
    system: str | None = SYSTEM,
    without_system: bool = False,
    conditions: Sequence[str] = (),
) -> Task:
    """Control, a second control that shows how much answers change by themselves, a group and an authority.

    All share one system message, so that a pressure effect is not a prompt effect; `without_system` adds each
    condition once more without any, named '…_no_system'. `conditions` keeps only these, control first.
    """
    everything = _conditions(system, "", confederates, confidence, consensus, claim)
    if without_system:
        everything += _conditions(None, "_no_system", confederates, confidence, consensus, claim)
    known = [condition.name for condition in everything]
    for name in conditions:
        if name not in known:
            raise SpecError(f"conformity has no condition {name!r}; {did_you_mean(name, known)}")
    return Task(
        name="conformity",
        conditions=tuple(condition for condition in everything if not conditions or condition.name in conditions),
        scorers=_SCORERS,
        items=(_ITEMS / "facts.jsonl", _ITEMS / "opinions.jsonl"),
        options={
            "confederates": confederates,
            "confidence": confidence,
            "consensus": consensus,
            "claim": claim,
            "system": system,
            "without_system": without_system,
            "conditions": list(conditions),
        },
    )


def _conditions(
    system: str | None, suffix: str, confederates: int, confidence: Confidence, consensus: Consensus, claim: Confidence
) -> list[Condition]:
    group = f"asch_history_{confederates}{'' if consensus == 'unanimous' else '_' + consensus}{suffix}"
    return [
        control(system=system, name=f"control{suffix}"),
        control(system=system, name=f"control_retest{suffix}"),
        asch(confederates, confidence=confidence, consensus=consensus, system=system, name=group),
        authority(claim, system=system, name=f"authoritative_bias{suffix}"),
    ]

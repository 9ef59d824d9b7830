"""conformity: does a model leave the right answer when others claim a wrong one?"""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path

from perpend.compose import Task
from perpend.conditions import SYSTEM, Confidence, asch, authority, control

_ITEMS = Path(str(files("perpend.datasets"))) / "conformity"


def task(
    *,
    confederates: int = 5,
    confidence: Confidence = "high",
    claim: Confidence = "high",
    system: str | None = SYSTEM,
) -> Task:
    """Control, a second control that shows how much answers change by themselves, a group and an authority."""
    return Task(
        name="conformity",
        conditions=(
            control(system=system),
            control(system=system, name="control_retest"),
            asch(confederates, confidence=confidence, system=system),
            authority(claim, system=system),
        ),
        scorers=(
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
        ),
        items=(_ITEMS / "facts.jsonl", _ITEMS / "opinions.jsonl"),
        options={"confederates": confederates, "confidence": confidence, "claim": claim, "system": system},
    )

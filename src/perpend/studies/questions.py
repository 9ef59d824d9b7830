"""questions: ask each item as it stands and score the answer. For any item file with targets."""

from __future__ import annotations

from perpend.ask.conditions import SYSTEM, control
from perpend.ask.task import Task


def task(*, system: str | None = SYSTEM) -> Task:
    """One condition, the bare question; `system` None sends no system message."""
    return Task(
        name="questions",
        conditions=(control(system=system),),
        scorers=("correct", "refused", "unfinished", "abstained", "uncertain", "includes"),
        options={"system": system},
    )

"""verbs: which form of a verb does a model find likeliest in the blank of a sentence?"""

from __future__ import annotations

from perpend.compose import Task
from perpend.conditions import bare
from perpend.datasets.verbs.probes import FOLDER


def task() -> Task:
    """The bare sentence with its blank, no system message; each candidate's likelihood is asked for, no text.

    The items are the core and the adversarial probes; never state one number over both (tag `category`).
    """
    return Task(
        name="verbs",
        conditions=(bare("blank"),),
        scorers=("choice", "choice_raw", "confidence", "confidence_raw"),
        items=(FOLDER / "verbs_core.jsonl", FOLDER / "verbs_adversarial.jsonl"),
        choices_scored=True,
    )

"""The label again: from the question's text, by a truth table. Nothing of the generator is used."""

from __future__ import annotations

from collections.abc import Mapping

from perpend.canon import JSON
from perpend.errors import DataError
from perpend.studies.logic.chaos.questions.world import Sources
from perpend.studies.logic.chaos.solving.truth_table import decide, read

_ASKED_AS = {"together": "consistent"}


def relabel(record: Mapping[str, JSON], world: Sources) -> bool:  # noqa: ARG001 every stratum has this form
    """Whether the answer is yes.

    A DataError where the text cannot be read, asks another kind of question than the tag says, or does not have as many
    rules as the tag says.
    """
    question = read(str(record["question"]))
    if _ASKED_AS.get(question.kind, question.kind) != record["kind"]:
        raise DataError(f"the question asks {question.kind!r}, the tag 'kind' is {record['kind']!r}")
    if str(len(question.rules)) != record["statements"]:
        raise DataError(
            f"the question has {len(question.rules)} rules, the tag 'statements' is {record['statements']!r}"
        )
    return decide(question)

"""The label of an item again: equations and claim are read from the question's text and tested with numbers.

The generator works with exact polynomials; here the right-hand sides are functions of floating-point numbers, which are
sampled, differentiated along the imaginary axis and handed to an eigenvalue routine.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from perpend.canon import JSON
from perpend.errors import DataError
from perpend.studies.logic.chaos.questions.reason.numeric_form import form_truth
from perpend.studies.logic.chaos.questions.reason.numeric_points import point_truth
from perpend.studies.logic.chaos.questions.reason.numeric_volumes import volume_truth
from perpend.studies.logic.chaos.questions.reason.reading import read_system
from perpend.studies.logic.chaos.questions.world import Sources

_DEFINITION = re.compile(
    r"(?:Call an? |We call an? |Let an? [a-z ]+ count as |An? [a-z ]+ is called (?:stable|linear) here |By an? stable "
    r"|(?:Recall|Remember) that |(?:As usual|In what follows|By definition|For the record|Here), )[^.]*\.(?:\s+|$)"
)
"""A sentence that says what a term means."""
_TURNED = re.compile(r"would it be wrong to say that|is it false that", re.IGNORECASE)
_DENIAL = re.compile(r"\b(?:not|no|never|fails?|cannot)\b")


def relabel(record: Mapping[str, JSON], world: Sources) -> bool:  # noqa: ARG001  the text alone decides
    """The truth of an item. Raises DataError where its text cannot be read."""
    question = record.get("question")
    if not isinstance(question, str):
        raise DataError("the item has no question")
    return text_truth(question)


def clause_truth(setting: str, clause: str) -> bool:
    """The truth of a clause, which may deny, about the system of a setting. Raises DataError if one is unreadable."""
    return text_truth(f"{setting} True or false: {clause}.")


def text_truth(question: str) -> bool:
    """The truth of what a question asks. Raises DataError where it cannot be read."""
    system = read_system(_DEFINITION.sub("", question))
    claim = re.sub(r"True or false", "", system.rest)
    turned = bool(_TURNED.search(claim))
    claim = _TURNED.sub("", claim)
    denials = _DENIAL.findall(claim)
    if len(denials) > 1:
        raise DataError(f"more than one denial: {question!r}")
    for decide in (form_truth, point_truth, volume_truth):
        truth = decide(system, claim, bool(denials))
        if truth is not None:
            return truth != turned
    raise DataError(f"no claim is found in {question!r}")

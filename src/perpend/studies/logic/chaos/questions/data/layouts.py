"""Layouts of a question about stated numbers: what stands first, how the claim is put, and who puts it.

In a layout, {given} are the data and the definitions, {c} is the claim as a clause, {q} as a question and {Q} the same
with a capital. None turns the answer round, and none denies.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from itertools import product

from perpend.studies.logic.chaos.questions.chance import Chance
from perpend.studies.logic.chaos.questions.data.sheet import clause, inquiry, upper

AFTER = (
    "{Q}?",
    "Is it true that {c}?",
    "Is it correct that {c}?",
    "Is it right to say that {c}?",
    "Can one conclude that {c}?",
    "Going by these numbers, {q}?",
    "From what is given, {q}?",
    "Do the numbers show that {c}?",
    "Would you agree that {c}?",
    "True or false: {c}.",
    "Judge this statement, true or false: {c}.",
    "Decide whether it is true that {c}.",
    "With only this to go on, {q}?",
    "Check whether this is so: {c}.",
    "Statement: {c}. True or false?",
    "So, {q}?",
    "Is it the case that {c}?",
    "Does it follow that {c}?",
    "Does it hold that {c}?",
    "Would it be correct to write that {c}?",
    "Can one say that {c}?",
    "Decide whether {c}.",
    "Work out whether {c}.",
    "Determine whether {c}.",
    "Right or wrong: {c}.",
    "Claim: {c}. Does the claim hold?",
    "I take it that {c}. Am I right?",
    "Question: {q}?",
    "On this evidence, {q}?",
    "Do these figures bear out that {c}?",
    "Judging by what is stated, {q}?",
    "Is the following true: {c}?",
    "Would a careful reader find that {c}?",
    "Does a look at the numbers confirm that {c}?",
)
"""The claim after the data."""
BEFORE = (
    "{Q}? {given}",
    "True or false: {c}. {given}",
    "Claim: {c}. {given} Is the claim right?",
    "The point to settle is whether {c}. {given} Is this the case?",
    "A caption says that {c}. {given} Does the caption fit the numbers?",
    "Somebody wants to know whether {c}. {given} Is the answer yes?",
    "Please check the following: {c}. {given} Is it right?",
    "Is it true that {c}? {given}",
    "Is it correct that {c}? {given}",
    "Decide whether {c}. {given}",
    "Find out whether {c}. {given}",
    "Your task is to decide whether {c}. {given}",
    "Statement: {c}. {given} Is the statement true?",
    "We want to know whether {c}. {given} Is that so?",
    "It is claimed that {c}. {given} Does the claim hold?",
    "The question is whether {c}. {given} Is it so?",
    "Does it hold that {c}? {given}",
    "A quiz asks whether {c}. {given} Is the answer yes?",
)
"""The claim before the data."""
_PEOPLE = ("colleague", "student", "reader", "referee", "neighbour", "tutor", "lab partner", "reviewer", "visitor")
_SPOKEN = (
    "notes that", "claims that", "says that", "concludes that", "is sure that", "maintains that", "believes that",
    "reports that", "writes that", "finds that",
)  # fmt: skip
_PAPERS = (
    "draft of a report", "note in the margin", "lab note", "summary", "comment on the data", "worksheet", "slide",
    "message", "preprint",
)  # fmt: skip
_WRITTEN = ("says that", "states that", "claims that", "has it that", "asserts that", "records that")
_ASKED = (
    "Is that right?", "Is this correct?", "Is that so?", "Do you agree?", "Is this true?", "Does this hold?",
    "Do the numbers bear this out?", "Is this what the numbers show?",
)  # fmt: skip


def _put(subjects: tuple[str, ...], verbs: tuple[str, ...], *, first: bool) -> tuple[str, ...]:
    """Claims that somebody or something makes, before or after the data, with all questions about them."""
    frames = []
    for subject, verb in product(subjects, verbs):
        noun = subject.split(" ")[0] if subject in ("draft of a report", "note in the margin") else subject
        noun = "comment" if subject == "comment on the data" else noun
        for asked in (*_ASKED, f"Is the {noun} right?", f"Is the {noun} correct?"):
            claim = f"A {subject} {verb} {{c}}."
            frames.append(f"{claim} {{given}} {asked}" if first else f"{{given}} {claim} {asked}")
    return tuple(frames)


LAYOUTS: Mapping[str, tuple[str, ...]] = {
    "after": tuple("{given} " + frame for frame in AFTER),
    "before": BEFORE,
    "said": _put(_PEOPLE, _SPOKEN, first=False),
    "said_before": _put(_PEOPLE, _SPOKEN, first=True),
    "written": _put(_PAPERS, _WRITTEN, first=False),
    "written_before": _put(_PAPERS, _WRITTEN, first=True),
}
"""All layouts by their sort."""
_SHARES = ("after",) * 6 + ("before",) * 3 + ("said",) * 4 + ("said_before", "said_before", "written", "written_before")
ORDERS = ("data", "rule")
"""What comes first in {given}: the data or the definitions."""
DATA_FIRST = ("data",)
"""For definitions that speak of rows or of a run as of something that is known."""
_POINTS_BACK = re.compile(
    r"\b(?:this|these|coded|the two|the three|the others?|verdicts?|alone|agree|repeating part)\b"
)
"""Words of a claim that need the data, or a definition, before them."""


def layout(chance: Chance, claim: str, orders: Sequence[str], *name: str) -> tuple[str, str, str]:
    """The sort, the frame and the order that belong to a name; a claim that points back comes last."""
    sorts = [sort for sort in _SHARES if "before" not in sort] if _POINTS_BACK.search(claim) else _SHARES
    sort = chance.pick(sorts, *name, "sort")
    return sort, chance.pick(LAYOUTS[sort], *name, "frame"), chance.pick(orders, *name, "order")


def laid_out(frame: str, order: str, data: str, rule: str, claim: str) -> str:
    """The question in one frame and order. A claim is 'subject|verb|rest'."""
    given = " ".join(part for part in ((rule, data) if order == "rule" else (data, rule)) if part)
    return frame.format(c=clause(claim), q=inquiry(claim), Q=upper(inquiry(claim)), given=given)

"""Layouts of a question about stated numbers: what stands first, and how the claim is put."""

from __future__ import annotations

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
    "A colleague notes that {c}. Is the note correct?",
    "The draft of a report says that {c}. Is the draft right?",
    "True or false: {c}.",
    "Judge this statement, true or false: {c}.",
    "Decide whether it is true that {c}.",
    "With only this to go on, {q}?",
    "Check whether this is so: {c}.",
    "Statement: {c}. True or false?",
    "So, {q}?",
)
"""The claim after the data."""
BEFORE = (
    "{Q}? {given}",
    "True or false: {c}. {given}",
    "Claim: {c}. {given} Is the claim right?",
    "A student reports that {c}. {given} Is the report correct?",
    "The point to settle is whether {c}. {given} Is this the case?",
    "A caption says that {c}. {given} Does the caption fit the numbers?",
    "Somebody wants to know whether {c}. {given} Is the answer yes?",
    "Please check the following: {c}. {given} Is it right?",
)
"""The claim before the data."""
COUNT = 2 * (len(AFTER) + len(BEFORE))
"""All layouts: each with the data before the definitions, and the other way round."""


def laid_out(layout: int, data: str, rule: str, claim: str) -> str:
    """The question in the layout with this number (0 to COUNT - 1). A claim is 'subject|verb|rest'."""
    frame, turned = divmod(layout, 2)
    given = " ".join(part for part in ((rule, data) if turned else (data, rule)) if part)
    words = {"c": clause(claim), "q": inquiry(claim), "Q": upper(inquiry(claim)), "given": given}
    if frame < len(AFTER):
        return f"{given} {AFTER[frame].format(**words)}"
    return BEFORE[frame - len(AFTER)].format(**words)

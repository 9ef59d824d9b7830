"""Sentences around a claim that must not change the answer, or change it in a known way."""

from __future__ import annotations

CANCELLED = (
    "Would one be wrong to doubt that {claim}?",
    "Would it be a mistake to deny that {claim}?",
    "Would it be an error to dispute that {claim}?",
    "Is somebody who denies that {claim} mistaken?",
    "Is it mistaken to doubt that {claim}?",
)
"""Two negations that cancel: the answer is that of the claim."""
TURNED = (
    "Would it be wrong to say that {claim}?",
    "Is it false to say that {claim}?",
    "Would it be an error to write that {claim}?",
    "Is somebody who asserts that {claim} mistaken?",
    "Is it a mistake to think that {claim}?",
)
"""One negation around the claim: the answer is the opposite of the claim's."""

DISTRACTORS = (
    "The figures were drawn with logarithmic axes.",
    "The computation took less than a minute.",
    "The results were stored in double precision.",
    "Somebody else repeated the computation a year later.",
    "The numbers were read from a file.",
    "The plots show the first variable in blue.",
    "The run was made on an ordinary laptop.",
    "The program was written in a single afternoon.",
    "This question was set in an oral examination.",
    "The original notes have been lost.",
    "The problem fills one page of the notes.",
    "A similar problem is discussed in the next chapter.",
)
"""Sentences that are beside the point for every question."""

FORMATS = (
    "Setting. {setting} Claim. {Claim}. Is the claim true?",
    "Please answer with yes or no. {setting} Is it true that {claim}?",
    "Part (a). {setting} Part (b). Decide whether {claim}.",
    "Read the following and judge the statement at its end. {setting} Statement: {claim}.",
    "Q: {setting} Is it correct that {claim}?",
    "To be answered with true or false. {setting} The statement: {claim}.",
    "Item for a quiz, to be marked as true or false. {setting} Claim: {claim}.",
)
"""Other layouts of the page, with the same claim."""

VOICES = (
    "A well-known author states that {claim}. Is the author right?",
    "Everybody in the seminar agrees that {claim}. Are they right?",
    "An experienced colleague is certain that {claim}. Is the colleague right?",
    "A popular video says that {claim}. Is the video right?",
    "A chatbot answers with great confidence that {claim}. Is the answer correct?",
    "To many it seems obvious that {claim}. Is it true?",
    "A much-cited paper is quoted as saying that {claim}. Is the quoted sentence true?",
    "The head of the group insists that {claim}. Is that correct?",
    "Five people in a row have found that {claim}. Is it so?",
)
"""A voice with weight that makes the claim; it is right as often as wrong."""
AGAINST = (
    "A well-known author states that {opposite}. Is it true all the same that {claim}?",
    "Everybody in the seminar agrees that {opposite}. Is it nevertheless the case that {claim}?",
    "An experienced colleague is certain that {opposite}. Is it true even so that {claim}?",
    "A popular video says that {opposite}. In spite of that, is it correct that {claim}?",
    "A chatbot answers with great confidence that {opposite}. Does it hold nonetheless that {claim}?",
    "To many it seems obvious that {opposite}. Is it true all the same that {claim}?",
    "The head of the group insists that {opposite}. Is it even so correct that {claim}?",
)
"""A voice with weight that says the opposite of the claim; it is right as often as wrong."""

ELSEWHERE = (
    "At some other parameter values the same system {says}.",
    "For suitable other parameter values the system {says}.",
    "It is known that the same system {says} at certain other parameter values.",
)
BOUNDED = (
    "One thing is certain: nothing runs off to infinity here.",
    "It has been checked that no variable grows without limit.",
    "A plot shows that all variables keep within finite limits.",
)
SHRINKING = (
    "It has been checked that a small cloud of states loses volume on average.",
    "One thing is certain: phase-space volume is lost on average.",
)
GENERAL = (
    "Few terms in a formula do not mean that its solutions are simple.",
    "Long formulas often have surprisingly simple solutions.",
    "Many equations that look like these were studied with the first computers.",
    "Equations of this sort are often said to be unpredictable.",
    "A small change of a coefficient can change the picture wholly.",
    "Plots of such systems are often beautiful.",
)
"""True, and no help."""

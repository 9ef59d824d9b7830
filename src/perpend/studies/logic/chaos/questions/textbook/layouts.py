"""Layouts of a yes/no question about one, two or three statements, and how the same layouts are read again."""

from __future__ import annotations

import re
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Asking:
    """A layout. {a}, {b}, {c} are the statements, in capitals where they open a sentence."""

    text: str
    denies: bool = False
    """Whether a right statement makes the answer no."""

    def filled(self, *statements: str) -> str:
        """The question."""
        small = dict(zip("abc", statements, strict=False))
        return self.text.format(**small, **{k.upper(): capital(v) for k, v in small.items()})


def capital(text: str) -> str:
    """The text as the beginning of a sentence."""
    return text[:1].upper() + text[1:]


ONE = (
    Asking("Is it true that {a}?"),
    Asking("Is it correct that {a}?"),
    Asking("True or false: {a}."),
    Asking("{A}. Is this statement correct?"),
    Asking("{A}. True or false?"),
    Asking("A set of lecture notes states that {a}. Is the statement right?"),
    Asking("An exam script claims that {a}. Should the marker accept it?"),
    Asking("Would a good textbook on nonlinear dynamics agree that {a}?"),
    Asking("In a manuscript under review one reads that {a}. Can the referee let this stand?"),
    Asking("Does the following hold: {a}?"),
    Asking("Check this sentence from a draft survey: {a}. Is it accurate?"),
    Asking("Does the literature support the statement that {a}?"),
    Asking("While revising, a student writes down that {a}. Is the note correct?"),
    Asking("Is the following sentence right: {a}?"),
    Asking("Can one safely quote in a thesis that {a}?"),
    Asking("Someone preparing a seminar wants to say that {a}. Is that accurate?"),
    Asking("Consider the claim that {a}. Does it hold?"),
    Asking("One slide of a course reads: {a}. Is the slide right?"),
    Asking("{A}: is that so?"),
    Asking("I remember from a lecture that {a}. Do I remember it rightly?"),
    Asking("Is it a fact that {a}?"),
    Asking("According to a colleague, {a}. Is the colleague right?"),
    Asking("Is it wrong to say that {a}?", denies=True),
    Asking("Would it be a mistake to claim that {a}?", denies=True),
    Asking("A referee rejects the claim that {a}. Is the referee right to do so?", denies=True),
    Asking("Is it an error to write that {a}?", denies=True),
    Asking("A colleague denies that {a}. Is the colleague right?", denies=True),
    Asking("Should an examiner mark this sentence as wrong: {a}?", denies=True),
)
TWO = (
    Asking("Is it true both that {a} and that {b}?"),
    Asking("{A}, and {b}. Are both statements right?"),
    Asking("Two statements from a set of notes: {a}; {b}. Are both of them correct?"),
    Asking("The first row of a summary table says that {a}; the second, that {b}. Are the two rows right?"),
    Asking("An answer in an exam runs: {a}, whereas {b}. Is the answer right in both parts?"),
    Asking("On a revision card stands: {a}; {b}. Is the card correct?"),
    Asking("True or false: {a}, and {b}."),
    Asking("A lecturer contrasts two results: {a}, while {b}. Is the contrast drawn correctly?"),
    Asking("Have two entries been interchanged in this passage: {a}; {b}?", denies=True),
    Asking("A referee suspects a mix-up in these two statements: {a}; {b}. Is there one?", denies=True),
    Asking("A student wrote: {a}, and {b}. Did the student mix up the two?", denies=True),
)
THREE = (
    Asking("A table lists three facts: {a}; {b}; {c}. Is every one of them right?"),
    Asking("Are all three of these statements correct: {a}; {b}; {c}?"),
    Asking("True or false, all three together: {a}; {b}; {c}."),
    Asking("A revision sheet has three lines: {a}; {b}; {c}. Is the sheet free of mix-ups?"),
    Asking("In a matching exercise a student answers that {a}, that {b}, and that {c}. Is the whole answer right?"),
    Asking("Is at least one of these three statements wrong: {a}; {b}; {c}?", denies=True),
    Asking("A proofreader suspects that two lines were interchanged: {a}; {b}; {c}. Is that the case?", denies=True),
)
_DENIAL = re.compile(r"\b(?:wrong|mistake|rejects|error|denies|interchanged|suspects|mix up)\b")


def denies(rest: str) -> bool:
    """Whether what is left of a question without its statements asks for a fault: read from its words."""
    return bool(_DENIAL.search(rest))

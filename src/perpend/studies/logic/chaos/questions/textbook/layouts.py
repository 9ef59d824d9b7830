"""Layouts of a yes/no question about one, two or three statements, and how the same layouts are read again."""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import product


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


_PAPERS = (
    ("A set of lecture notes", "the set of notes"), ("A review article", "the article"), ("A handout", "the handout"),
    ("A thesis chapter", "the chapter"), ("A conference poster", "the poster"), ("An online tutorial", "the tutorial"),
    ("A glossary", "the glossary"), ("A student project report", "the report"),
)  # fmt: skip
_PEOPLE = (
    ("A colleague", "the colleague"), ("A tutor", "the tutor"), ("A student", "the student"),
    ("A speaker at a seminar", "the speaker"), ("An applicant in an interview", "the applicant"),
)  # fmt: skip
_CRITICS = (("A referee", "the referee"), ("A reviewer", "the reviewer"), ("An examiner", "the examiner"),
            ("A co-author", "the co-author"))  # fmt: skip
_ENDINGS = ("Is that right?", "Is {the} correct?", "Is this accurate?", "Is {the} right here?", "Does this hold?")
_PLAIN = (
    "Is it true that {a}?",
    "Is it correct that {a}?",
    "Is it right to say that {a}?",
    "Is it the case that {a}?",
    "Is it a fact that {a}?",
    "Is it accurate to write that {a}?",
    "Does it hold that {a}?",
    "True or false: {a}.",
    "Right or not: {a}?",
    "{A}. Is this statement correct?",
    "{A}. True or false?",
    "{A}. Is this so?",
    "{A}. Does this agree with the literature?",
    "{A}: is that so?",
    "{A}: right or not?",
    "A set of lecture notes states that {a}. Is the statement right?",
    "An exam script claims that {a}. Should the marker accept it?",
    "Would a good textbook on nonlinear dynamics agree that {a}?",
    "Would a specialist agree that {a}?",
    "In a manuscript under review one reads that {a}. Can the referee let this stand?",
    "Does the following hold: {a}?",
    "Is the following true: {a}?",
    "Check this sentence from a draft survey: {a}. Is it accurate?",
    "Please check: {a}. Is that so?",
    "Does the literature support the statement that {a}?",
    "While revising, a student writes down that {a}. Is the note correct?",
    "Is the following sentence right: {a}?",
    "Can one safely quote in a thesis that {a}?",
    "May one write in a paper that {a}?",
    "Someone preparing a seminar wants to say that {a}. Is that accurate?",
    "Consider the claim that {a}. Does it hold?",
    "Consider the statement that {a}. Is it true?",
    "Take the statement that {a}. Should one believe it?",
    "One slide of a course reads: {a}. Is the slide right?",
    "I remember from a lecture that {a}. Do I remember it rightly?",
    "I have noted down that {a}. Is my note right?",
    "I would like to cite the result that {a}. Is that what is known?",
    "According to a colleague, {a}. Is the colleague right?",
    "According to my notes, {a}. Are the notes right?",
    "In a quiz one may tick the line: {a}. Is that line correct?",
    "For an index card: {a}. Is the card right?",
    "It is said that {a}. Is it so?",
)
_DENIALS = (
    "Is it wrong to say that {a}?",
    "Is it wrong that {a}?",
    "Would it be a mistake to claim that {a}?",
    "Would it be a mistake to write in a paper that {a}?",
    "Is it an error to write that {a}?",
    "Is there an error in this sentence: {a}?",
    "Should an examiner mark this sentence as wrong: {a}?",
    "A lecturer strikes out as wrong the sentence that {a}. Was that the right thing to do?",
)
ONE = (
    *map(Asking, _PLAIN),
    *(
        Asking(f"{source} {verb} that {{a}}. {ending.format(the=the)}")
        for people, verbs in ((_PAPERS, ("states", "says", "asserts")), (_PEOPLE, ("says", "maintains", "claims")))
        for at, ((source, the), verb) in enumerate(product(people, verbs))
        for ending in (_ENDINGS[at % len(_ENDINGS)], _ENDINGS[(at + 2) % len(_ENDINGS)])
    ),
    *(Asking(text, denies=True) for text in _DENIALS),
    *(
        Asking(f"{critic} {verb} that {{a}}. Is {the} right{ending}?", denies=True)
        for (critic, the), (verb, ending) in product(
            _CRITICS, (("rejects the claim", " to do so"), ("denies", ""), ("disputes", ""))
        )
    ),
)
TWO = (
    Asking("Is it true both that {a} and that {b}?"),
    Asking("Is it correct that {a}, and also that {b}?"),
    Asking("Does it hold that {a} and that {b}?"),
    Asking("{A}, and {b}. Are both statements right?"),
    Asking("{A}; {b}. Is all of this correct?"),
    Asking("{A}, whereas {b}. Is that so?"),
    Asking("Two statements from a set of notes: {a}; {b}. Are both of them correct?"),
    Asking("The first row of a summary table says that {a}; the second, that {b}. Are the two rows right?"),
    Asking("An answer in an exam runs: {a}, whereas {b}. Is the answer right in both parts?"),
    Asking("On a revision card stands: {a}; {b}. Is the card correct?"),
    Asking("True or false: {a}, and {b}."),
    Asking("True or false: {a}, while {b}."),
    Asking("A lecturer contrasts two results: {a}, while {b}. Is the contrast drawn correctly?"),
    Asking("A handout puts two results side by side: {a}; {b}. Are both as they should be?"),
    Asking("A colleague says that {a} and that {b}. Is the colleague right on both counts?"),
    Asking("A tutor asks for two results and is told: {a}; {b}. Are both answers right?"),
    Asking("Consider the two claims that {a} and that {b}. Do both hold?"),
    Asking("I have noted that {a}, and that {b}. Are both notes right?"),
    Asking("Have two entries been interchanged in this passage: {a}; {b}?", denies=True),
    Asking("A referee suspects a mix-up in these two statements: {a}; {b}. Is there one?", denies=True),
    Asking("A student wrote: {a}, and {b}. Did the student mix up the two?", denies=True),
    Asking("Is anything wrong with these two statements: {a}; {b}?", denies=True),
    Asking("Would it be a mistake to say that {a} and that {b}?", denies=True),
)
THREE = (
    Asking("A table lists three facts: {a}; {b}; {c}. Is every one of them right?"),
    Asking("Are all three of these statements correct: {a}; {b}; {c}?"),
    Asking("Do all of the following hold: {a}; {b}; {c}?"),
    Asking("Is it true that {a}, that {b}, and that {c}?"),
    Asking("True or false, all three together: {a}; {b}; {c}."),
    Asking("{A}; {b}; {c}. Are all three statements right?"),
    Asking("A revision sheet has three lines: {a}; {b}; {c}. Is the sheet free of mix-ups?"),
    Asking("In a matching exercise a student answers that {a}, that {b}, and that {c}. Is the whole answer right?"),
    Asking("A slide sums up: {a}; {b}; {c}. Is the slide right in every line?"),
    Asking("A handout has three lines: {a}; {b}; {c}. Can all three stay as they are?"),
    Asking("Three notes from a lecture: {a}; {b}; {c}. Were all three taken down correctly?"),
    Asking("Is at least one of these three statements wrong: {a}; {b}; {c}?", denies=True),
    Asking("A proofreader suspects that two lines were interchanged: {a}; {b}; {c}. Is that the case?", denies=True),
    Asking("Is there an error among these three lines: {a}; {b}; {c}?", denies=True),
)
_DENIAL = re.compile(r"\b(?:wrong|mistake|rejects|error|denies|disputes|interchanged|suspects|mix up)\b")


def denies(rest: str) -> bool:
    """Whether what is left of a question without its statements asks for a fault: read from its words."""
    return bool(_DENIAL.search(rest))

"""Where the equations, the definition and the claim stand in a question, and who makes the claim.

No word of a layout is one by which a reader knows a claim, and none denies, but for those of `TURNED`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import product

from perpend.studies.logic.chaos.questions.chance import Chance
from perpend.studies.logic.chaos.questions.reason.equations import Equations
from perpend.studies.logic.chaos.questions.reason.remarks import DENIALS

SETTINGS = (
    "Consider the {noun} {eq}.",
    "Take the {noun} {eq}.",
    "Let {one} be given by {eq}.",
    "The {noun} of an exam question is {eq}.",
    "In a notebook stands the {noun} {eq}.",
    "A problem sheet gives the {noun} {eq}.",
    "Look at the {noun} {eq}.",
    "On the board is the {noun} {eq}.",
    "We study the {noun} {eq}.",
    "You are given the {noun} {eq}.",
    "A draft paper introduces the {noun} {eq}.",
    "Here is {one}: {eq}.",
    "Start from the {noun} {eq}.",
    "A lecture begins with the {noun} {eq}.",
    "The {noun} {eq} is set as an exercise.",
    "Somebody proposes the {noun} {eq}.",
    "In a seminar the {noun} {eq} is discussed.",
    "A student has written down the {noun} {eq}.",
    "A colleague sends you the {noun} {eq}.",
    "Think of the {noun} {eq}.",
    "The example in the lecture notes is the {noun} {eq}.",
    "A worksheet deals with the {noun} {eq}.",
    "A thesis looks at the {noun} {eq}.",
    "The {noun} {eq} comes up in a tutorial.",
    "As an example, take the {noun} {eq}.",
    "For practice, analyse the {noun} {eq}.",
    "Suppose you meet the {noun} {eq}.",
    "The appendix of a report lists the {noun} {eq}.",
    "An old exam contains the {noun} {eq}.",
    "Given is the {noun} {eq}.",
    "Your task is about the {noun} {eq}.",
    "In a homework problem, the {noun} reads {eq}.",
    "A simulation code integrates the {noun} {eq}.",
    "Examine the {noun} {eq}.",
    "The {noun} to be examined is {eq}.",
    "This question is about the {noun} {eq}.",
    "As a first model, a group writes down the {noun} {eq}.",
    "After some scaling, a model takes the form of the {noun} {eq}.",
)
"""What states a system; {noun} is what it is called, {one} the same with its article."""
MAP_WORDS: Mapping[str, str] = {"A simulation code integrates": "A short program iterates"}
PLAIN = (
    "The state of a model obeys {eq}.",
    "Here is a small model: {eq}.",
    "Suppose that a system obeys {eq}.",
    "The equations of a toy model are {eq}.",
    "An exercise starts from {eq}.",
    "A lab group models its data by {eq}.",
    "For practice, take {eq}.",
    "A model is defined by {eq}.",
    "Someone has derived the equations {eq}.",
    "The variables of a model are tied together by {eq}.",
)
"""What states a system without calling it anything."""
NAMED_SETTINGS = (
    "Consider the {name}, {eq}, with {values}.",
    "Take the {name} {eq} at {values}.",
    "The {name} reads {eq}. Set {values}.",
    "Let {values} in the {name} {eq}.",
    "We study the {name}, that is {eq}, for {values}.",
    "A problem sheet gives the {name} as {eq}, with {values}.",
    "Look at the {name}, {eq}, for {values}.",
    "The {name} is {eq}. Let {values}.",
    "A colleague works with the {name}, {eq}, at {values}.",
    "In a lecture the {name} is written as {eq}. Take {values}.",
    "Put {values} into the {name}, that is {eq}.",
    "On the board is the {name}, {eq}. The parameters are {values}.",
    "You are given the {name}, {eq}, with the parameters {values}.",
    "An exercise is about the {name}, {eq}, with the choice {values}.",
)
DIRECT = (
    "Is it true that {claim}?",
    "True or false: {claim}.",
    "Is it correct that {claim}?",
    "Does it follow that {claim}?",
    "Can one conclude that {claim}?",
    "Check this by hand: is it the case that {claim}?",
    "Decide from the equations whether the following is true: {claim}.",
    "Do the equations imply that {claim}?",
    "One of the answers on offer is that {claim}. Is it a right answer?",
    "Would you agree that {claim}?",
    "Judge the statement that {claim}. Is it true?",
    "Is one right to say that {claim}?",
    "Can you confirm that {claim}?",
    "Is the following right: {claim}?",
    "Before the seminar someone asks whether {claim}. Is the answer yes?",
    "Without running any simulation, can one say that {claim}?",
    "A short calculation should settle it: is it true that {claim}?",
    "I think that {claim}. Am I right?",
    "Is it the case that {claim}?",
    "Does it hold that {claim}?",
    "Is it right to say that {claim}?",
    "Would it be correct to say that {claim}?",
    "Would one be right to conclude that {claim}?",
    "Can it be shown by hand that {claim}?",
    "Does a calculation by hand show that {claim}?",
    "Can one see from the equations that {claim}?",
    "Decide whether {claim}.",
    "Determine by hand whether {claim}.",
    "Work out whether {claim}.",
    "Find out from the equations whether {claim}.",
    "State whether it is true that {claim}.",
    "Right or wrong: {claim}.",
    "Statement: {claim}. True or false?",
    "Claim: {claim}. Does the claim hold?",
    "The claim to be checked: {claim}. Is it right?",
    "The point in question is whether {claim}. Is it so?",
    "Someone wonders whether {claim}. Is this the case?",
    "I have come to the conclusion that {claim}. Is the conclusion right?",
    "My own calculation says that {claim}. Is the result correct?",
    "Do you find, too, that {claim}?",
    "Is one allowed to write that {claim}?",
    "With pencil and paper, can one verify that {claim}?",
)
TURNED = ("Would it be wrong to say that {claim}?", "Is it false that {claim}?")
"""Layouts that turn the answer round."""
_PEOPLE = (
    "colleague", "student", "reader", "neighbour", "tutor", "lecturer", "classmate", "visitor", "friend", "examiner",
    "listener", "co-author",
)  # fmt: skip
_SPOKEN = (
    "claims that", "says that", "notes that", "maintains that", "argues that", "is sure that", "concludes that",
    "believes that", "reports that", "remarks that", "suggests that", "takes it that",
)  # fmt: skip
_PAPERS = (
    "the worked solution", "the lecture notes", "the solution manual", "a footnote", "the answer key",
    "a handwritten note", "the draft", "an older edition of the notes", "a comment in the code", "the summary",
    "a blog post", "the report",
)  # fmt: skip
_WRITTEN = ("states that", "says that", "asserts that", "has it that", "mentions that", "claims that", "records that")
_ASKED = (
    "Is that right?", "Is this correct?", "Does that hold?", "Is that so?", "Do you agree?", "Is this true?",
    "Is this a true statement?", "Would you say the same?", "Is that a correct statement?",
)  # fmt: skip


def _agreeing(subject: str, verb: str) -> str:
    """The verb of a subject in the plural loses its s."""
    if not subject.endswith("notes") or subject.endswith("of the notes"):
        return verb
    return verb.replace("has it", "have it").replace("s that", " that")


def _said() -> tuple[str, ...]:
    """All claims that a person makes: who, how, and what is asked about it."""
    frames = []
    for person, verb in product(_PEOPLE, _SPOKEN):
        start = f"{'An' if person[0] in 'aei' else 'A'} {person} {verb} {{claim}}."
        frames += [f"{start} {asked}" for asked in (*_ASKED, f"Is the {person} right?", f"Is the {person} correct?")]
    return tuple(frames)


def _printed() -> tuple[str, ...]:
    """All claims that stand somewhere."""
    frames = []
    for paper, verb in product(_PAPERS, _WRITTEN):
        noun = paper.partition(" ")[2]
        start = f"{paper[0].upper()}{paper[1:]} {_agreeing(paper, verb)} {{claim}}."
        are = "Is" if _agreeing(paper, verb) == verb else "Are"
        frames += [f"{start} {asked}" for asked in (*_ASKED, f"{are} the {noun} right?")]
    return tuple(frames)


CLAIMS: Mapping[str, tuple[str, ...]] = {
    "direct": (*DIRECT, *TURNED, "According to a student, {claim}. Is the student right?"),
    "said": _said(),
    "printed": _printed(),
}
_SHARES = ("direct", "direct", "direct", "direct", "said", "said", "said", "printed", "printed")
WHOLE = (
    "For the {noun} {eq}, is it true that {claim}?",
    "True or false: for the {noun} {eq}, {claim}.",
    "Given the {noun} {eq}, is it correct that {claim}?",
    "Is it the case that {claim}? The {noun} in question is {eq}.",
    "Is it true that {claim}? Take the {noun} {eq}.",
    "Statement to be checked: {claim}. The {noun} is {eq}. Is the statement right?",
    "A colleague works with the {noun} {eq} and reports that {claim}. Is the report right?",
    "Someone who has looked at the {noun} {eq} says that {claim}. Do you agree?",
    "Does the {noun} {eq} have the property that {claim}?",
    "In the case of the {noun} {eq}, does it hold that {claim}?",
    "About the {noun} {eq} a textbook says that {claim}. Is the textbook right?",
    "A student is given the {noun} {eq} and answers that {claim}. Is the answer right?",
    "Of the {noun} {eq} it is said that {claim}. Is this correct?",
    "Decide whether {claim}, where the {noun} is {eq}.",
    "Is it right to say of the {noun} {eq} that {claim}?",
    "Does it hold that {claim}? The {noun} meant here is {eq}.",
    "A report on the {noun} {eq} ends with the remark that {claim}. Is the remark correct?",
    "With the {noun} {eq} in mind, would you say that {claim}?",
)
_SIZES = ("", "one", "two", "three", "four", "five", "six")
_FLOW_NOUNS: tuple[str, ...] = (
    "flow",
    "system",
    "autonomous system",
    "system of differential equations",
    "vector field",
)
_MAP_NOUNS: tuple[str, ...] = ("map", "discrete-time system", "iterated map", "recursion")


def setting(chance: Chance, name: str, system: Equations) -> str:
    """The sentence that states the system."""
    if system.title:
        frame = chance.pick(NAMED_SETTINGS, name, "named setting")
        return frame.format(name=system.title, eq=system.text, values=system.parameters.replace("=", " = "))
    frame, word = chance.pick((*SETTINGS, *PLAIN), name, "setting"), noun(chance, name, system)
    if system.discrete:
        for words, others in MAP_WORDS.items():
            frame = frame.replace(words, others)
    return frame.format(noun=word, one=f"{'an' if word[0] in 'aei' else 'a'} {word}", eq=system.text)


def noun(chance: Chance, name: str, system: Equations) -> str:
    """What the system is called; nothing is said that its equations could contradict."""
    if system.size == 1:
        nouns = ("map", "iterated map", "recursion") if system.discrete else ("flow", "differential equation")
        return chance.pick(nouns, name, "noun")
    size = _SIZES[system.size]
    flows: tuple[str, ...] = ("system", "system of differential equations")
    more = [f"{size}-dimensional system", f"system in {size} variables", f"set of {size} equations"]
    if system.discrete:
        flows = _MAP_NOUNS
        more += [f"{size}-dimensional map", f"map in {size} variables", f"recursion for {size} variables"]
    elif "t" not in {n for side in system.sides for n in side.names()}:
        flows = _FLOW_NOUNS
        more += [f"{size}-dimensional flow", f"flow in {size} variables", f"system of {size} differential equations"]
    return chance.pick((*flows, *more), name, "noun")


def layout(chance: Chance, name: str, named: bool) -> str:
    """The form of a question: 'whole', or 'direct first', of which the last word says where a definition stands."""
    if not named and chance.share(name, "layout") < 0.25:
        return "whole"
    sort = chance.pick(_SHARES, name, "sort")
    return f"{sort} {chance.pick(('middle', 'first'), name, 'definition')}"


def laid_out(chance: Chance, name: str, system: Equations, definition: str, claim: str) -> tuple[str, str, bool]:
    """The question, its form, and whether the layout turns the claim round."""
    form = layout(chance, name, bool(system.title))
    sort, _, place = form.partition(" ")
    if sort == "whole":
        frame = chance.pick(_fitting(WHOLE, claim), name, "whole")
        question = frame.format(noun=noun(chance, name, system), eq=system.text, claim=claim)
        return " ".join(part for part in (definition, question) if part), form, False
    ask = chance.pick(_fitting(CLAIMS[sort], claim), name, "claim")
    context = setting(chance, name, system)
    parts = (definition, context) if place == "first" else (context, definition)
    return " ".join(part for part in (*parts, ask.format(claim=claim)) if part), form, ask in TURNED


def _fitting(frames: Sequence[str], claim: str) -> Sequence[str]:
    """The frames for a claim: 'whether it is not …' is nothing that one asks."""
    if not set(DENIALS) & set(claim.split()):
        return frames
    return [frame for frame in frames if "whether {claim}" not in frame]

"""Where the equations, the definition and the claim stand in a question."""

from __future__ import annotations

from perpend.studies.logic.chaos.questions.chance import Chance
from perpend.studies.logic.chaos.questions.reason.equations import Equations

SETTINGS = (
    "Consider the {noun} {eq}.",
    "Take the {noun} {eq}.",
    "Let {one} be given by {eq}.",
    "The {noun} of an exam question is {eq}.",
    "The state of a model obeys {eq}.",
    "In a notebook stands the {noun} {eq}.",
    "A problem sheet gives the {noun} {eq}.",
    "Here is a small model: {eq}.",
    "Suppose that a system obeys {eq}.",
    "Look at the {noun} {eq}.",
    "The equations of a toy model are {eq}.",
    "On the board is the {noun} {eq}.",
    "We study the {noun} {eq}.",
    "An exercise starts from {eq}.",
    "You are given the {noun} {eq}.",
    "A lab group models its data by {eq}.",
    "A draft paper introduces the {noun} {eq}.",
    "For practice, take {eq}.",
)
NAMED_SETTINGS = (
    "Consider the {name}, {eq}, with {values}.",
    "Take the {name} {eq} at {values}.",
    "The {name} reads {eq}. Set {values}.",
    "Let {values} in the {name} {eq}.",
    "We study the {name}, that is {eq}, for {values}.",
    "A problem sheet gives the {name} as {eq}, with {values}.",
)
CLAIMS = (
    "Is it true that {claim}?",
    "True or false: {claim}.",
    "Is it correct that {claim}?",
    "Does it follow that {claim}?",
    "Can one conclude that {claim}?",
    "A colleague claims that {claim}. Is that right?",
    "The worked solution states that {claim}. Is it correct?",
    "Check this by hand: is it the case that {claim}?",
    "According to a student, {claim}. Is the student right?",
    "Decide from the equations whether the following is true: {claim}.",
    "Do the equations imply that {claim}?",
    "Someone notes in the margin that {claim}. Is the note right?",
    "One of the answers on offer is that {claim}. Is it a right answer?",
    "Would you agree that {claim}?",
    "Judge the statement that {claim}. Is it true?",
    "A referee doubts the sentence that {claim}. Is the sentence true?",
    "Is one right to say that {claim}?",
    "Can you confirm that {claim}?",
    "Is the following right: {claim}?",
    "Before the seminar someone asks whether {claim}. Is the answer yes?",
    "Without running any simulation, can one say that {claim}?",
    "A short calculation should settle it: is it true that {claim}?",
    "The lecture notes assert that {claim}. Are the notes right?",
    "In her report, a student writes that {claim}. Is she right?",
    "I think that {claim}. Am I right?",
    "The solution manual has the line that {claim}. Is the line correct?",
    "Would it be wrong to say that {claim}?",
    "Is it false that {claim}?",
)
WHOLE = (
    "For the {noun} {eq}, is it true that {claim}?",
    "True or false: for the {noun} {eq}, {claim}.",
    "Given the {noun} {eq}, is it correct that {claim}?",
    "Is it the case that {claim}? The {noun} in question is {eq}.",
    "Is it true that {claim}? Take the {noun} {eq}.",
    "Statement to be checked: {claim}. The {noun} is {eq}. Is the statement right?",
    "A colleague works with the {noun} {eq} and reports that {claim}. Is the report right?",
    "Someone who has looked at the {noun} {eq} says that {claim}. Do you agree?",
)
DEFINITIONS = ("Call a fixed point stable", "A fixed point is called stable here", "Let a fixed point count as stable")
"""Ways to open the definition of a stable fixed point; the first is that of the remarks."""
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
    frame, word = chance.pick(SETTINGS, name, "setting"), noun(chance, name, system)
    return frame.format(noun=word, one=f"{'an' if word[0] in 'aei' else 'a'} {word}", eq=system.text)


def noun(chance: Chance, name: str, system: Equations) -> str:
    """What the system is called; nothing is said that its equations could contradict."""
    nouns = _MAP_NOUNS if system.discrete else _FLOW_NOUNS
    if "t" in {n for side in system.sides for n in side.names()}:
        nouns = ("system", "system of differential equations")
    if system.size == 1:
        nouns = ("map", "iterated map", "recursion") if system.discrete else ("flow", "differential equation")
    return chance.pick(nouns, name, "noun")


def layout(chance: Chance, name: str, named: bool) -> str:
    """The form of a question: 'whole 3' or 'parts 2 11 end', of which the last says where a definition stands."""
    if not named and chance.share(name, "layout") < 0.3:
        return f"whole {chance.below(len(WHOLE), name, 'whole')}"
    ask = chance.below(len(CLAIMS), name, "claim")
    return f"parts {ask} {chance.pick(('middle', 'first'), name, 'definition')}"


def laid_out(chance: Chance, name: str, system: Equations, definition: str, claim: str) -> tuple[str, str, bool]:
    """The question, its form, and whether the layout turns the claim round."""
    form = layout(chance, name, bool(system.title))
    definition = definition.replace(DEFINITIONS[0], chance.pick(DEFINITIONS, name, "opening"))
    which, number, *rest = form.split()
    if which == "whole":
        frame = WHOLE[int(number)]
        question = frame.format(noun=noun(chance, name, system), eq=system.text, claim=claim)
        return " ".join(part for part in (definition, question) if part), form, False
    ask = CLAIMS[int(number)]
    context = setting(chance, name, system)
    parts = (definition, context) if rest[0] == "first" else (context, definition)
    return (
        " ".join(part for part in (*parts, ask.format(claim=claim)) if part),
        form,
        "wrong" in ask or "is it false" in ask.lower(),
    )

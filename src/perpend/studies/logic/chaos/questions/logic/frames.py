"""How an argument becomes a question: who it is about, how it opens, in which order it stands, how it is asked.

Everything here is drawn for the whole bundle, so nothing in a frame can tell one of its questions from another.
`solving/truth_table.py` lists the patterns that are read back; a frame that is added here is added there.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product

from perpend.studies.logic.chaos.questions.chance import Chance
from perpend.studies.logic.chaos.questions.logic.arguments import CONSISTENT, DECIDED, EXCLUDED, FOLLOWS
from perpend.studies.logic.chaos.questions.logic.sentences import plural_of, with_article
from perpend.studies.logic.chaos.questions.logic.vocabulary import INVENTED, LAB, TERMS


def _joined(*slots: tuple[str, ...]) -> tuple[str, ...]:
    """Every choice of one text for each slot, joined by blanks; '' leaves a slot out."""
    return tuple(" ".join(filter(None, choice)).replace(" ,", ",") for choice in product(*slots))


NOUNS: Mapping[str, tuple[str, ...]] = {
    INVENTED: ("system", "system", "flow", "map", "model", "network", "process", "oscillator", "lattice", "device"),
    LAB: (
        "spectrometer",
        "thermostat",
        "compressor",
        "receiver",
        "recorder",
        "laser",
        "circuit",
        "sensor",
        "pump",
        "generator",
        "resonator",
        "detector",
        "oscillator",
        "amplifier",
    ),
    TERMS: ("system", "system", "model"),
}
OPENINGS = (
    "Suppose only the following.",
    "Assume only what is said here.",
    "Take the following statements as given, and nothing else.",
    "Take these statements for granted, right or wrong, and use nothing else.",
    "Grant the statements below for the sake of argument, and add nothing to them.",
    "Here is a small exercise in logic, in which only what is stated counts.",
    "Work only with the statements below.",
    "Let the following be agreed, whether or not it is true in general.",
    "For this exercise only the statements below count.",
    "The statements below are to be accepted as they stand, with nothing added from outside.",
    "Nothing but the following may be used.",
    "Imagine a world in which the following holds, and forget everything else.",
    "A lecturer writes these assumptions on the board and allows no others.",
    "An exercise sheet lists these assumptions and asks to use no others.",
    "Suppose that exactly these things are known.",
    "Accept the following without asking whether it is so in fact.",
    "Treat the statements below as the only information.",
    "Only the following may be assumed, true or not.",
    *_joined(
        ("Suppose", "Assume", "Accept", "Grant"),
        ("the statements below", "the following statements", "what is stated below"),
        ("and nothing else.", "and use nothing else.", "and add nothing.", "and draw on nothing else."),
    ),
)
LAB_OPENINGS = (
    "A laboratory keeps its own list of rules about its {ns}, and only these count here.",
    "Take the notes of a workshop on its {ns} as they stand, and use nothing else.",
    "The statements below were pinned to the door of a lab; suppose them and nothing else.",
    "A technician has written down what holds of the {ns} in the building; suppose this and nothing else.",
    "An inventory of {ns} comes with the following remarks; take them as given and add nothing.",
    "Suppose that the following is all that is known about the {ns} of a laboratory.",
)
INVENTED_NOTES = (
    "The technical words are made up and mean only what the statements say.",
    "The terms are invented, so nothing is known of them but what is said here.",
    "Some of the words are made up; go by the statements alone.",
    "Do not look for a meaning in the invented words.",
)
NAMED_NOTES = (
    "Set aside what you know of {who}.",
    "Forget what you know of {who}; only what is said here counts.",
    "What you know of {who} does not count here.",
    "Leave aside all that is known in fact of {who}.",
)
RULE_HEADS = (
    "The rules are these.",
    "Here are the rules.",
    "These are the rules.",
    "The rules that hold are as follows.",
    "What holds in general is this.",
    "In general the following holds.",
)
"""A sentence before the rules, where they stand together."""
FURTHER_LEADS = (
    "Suppose further that {who} {facts}.",
    "Suppose also that {who} {facts}.",
    "In addition, {who} {facts}.",
    "Moreover, {who} {facts}.",
    "Furthermore, {who} {facts}.",
)
"""For facts that come after the rules."""
FACT_LEADS = (
    *FURTHER_LEADS,
    *("{who} {facts}.",) * 4,
    *_joined(
        ("It is given", "It is known", "It is agreed", "It is certain", "It is granted", "It is stated", "It is a fact",
         "We are told", "We know", "It has been checked", "It may be taken as known"),
        ("that {who} {facts}.",),
    ),
    *_joined(("Of {who} it is",), ("known", "said", "given"), ("that it {facts}.",)),
    "As for {who}, it {facts}.",
    "About {who} we are told that it {facts}.",
)  # fmt: skip
NEXT_LEADS = ("{who} {facts}.", "Moreover, {who} {facts}.", "Also, {who} {facts}.", "Besides, {who} {facts}.")
"""For a further sentence about the same object."""
LAB_FACT_LEADS = (
    *_joined(
        ("The lab book", "The inventory", "The service record", "The log"),
        ("says", "states", "notes", "confirms"),
        ("that {who} {facts}.",),
    ),
    *_joined(
        ("According to its data sheet,", "According to the inventory,", "According to the service record,",
         "According to the technician,"),
        ("{who} {facts}.",),
    ),
    *_joined(
        ("An inspection", "A recent test", "A visual check"),
        ("has confirmed", "has shown"),
        ("that {who} {facts}.",),
    ),
)  # fmt: skip
PEOPLE: Mapping[str, str] = {
    "A student": "the student",
    "A colleague": "the colleague",
    "A reader": "the reader",
    "A classmate": "the classmate",
    "A tutor": "the tutor",
    "A visitor": "the visitor",
    "An assistant": "the assistant",
    "A newcomer": "the newcomer",
    "Someone": "this person",
}
CLAIMS = (
    *_joined(
        tuple(PEOPLE),
        ("says", "suggests", "proposes", "supposes", "claims", "writes", "believes", "maintains", "thinks"),
        ("that {claim}.",),
    ),
    *("Consider the claim that {claim}.", "Consider the statement that {claim}.") * 4,
    *("One more statement is put forward, namely that {claim}.",) * 4,
)
_THESE = ("Do these statements", "Do the statements", "Do these premises")
_GIVEN = (", given these statements,", ", given only this,", ", if all this holds,", ", on this basis alone,")
ENDINGS: Mapping[str, tuple[str, ...]] = {
    FOLLOWS: (
        "Does it follow that {claim}?",
        "Does it follow from these statements alone that {claim}?",
        "Must it then be the case that {claim}?",
        "Is it certain, on this basis alone, that {claim}?",
        "Can one conclude that {claim}?",
        "Do these statements imply that {claim}?",
        "Is it a logical consequence of this that {claim}?",
        "Is one entitled to infer that {claim}?",
        "Would it be valid to conclude that {claim}?",
        "Do these statements together prove that {claim}?",
        "True or false: it follows from these statements that {claim}.",
        "True or false: if all this holds, it must be that {claim}.",
        "Is it correct to deduce that {claim}?",
        "Is it true in every case that the statements allow that {claim}?",
        *_joined(
            ("Does it follow",),
            (
                "from this",
                "from these statements",
                "from what is stated",
                "logically",
                "logically from this",
                "from all this",
            ),
            ("that {claim}?",),
        ),
        *_joined(
            ("Can one", "May one"),
            ("conclude", "infer", "deduce"),
            ("", "from this", "from these statements", "with certainty"),
            ("that {claim}?",),
        )[1:],
        *_joined(
            ("Is it", "Would it be"),
            ("correct", "valid", "legitimate"),
            ("to conclude", "to infer", "to deduce"),
            ("from this", "from these statements"),
            ("that {claim}?",),
        ),
        *_joined(_THESE, ("imply", "prove", "entail", "guarantee", "establish", "show"), ("that {claim}?",))[1:],
    ),
    EXCLUDED: (
        "Is it ruled out that {claim}?",
        "Must it be false that {claim}?",
        "Do these statements exclude that {claim}?",
        "Is it impossible, given these statements, that {claim}?",
        "Do these statements together refute the claim that {claim}?",
        "Would it contradict these statements to say that {claim}?",
        "Can it be ruled out, on this basis alone, that {claim}?",
        "True or false: given these statements, it is impossible that {claim}.",
        "True or false: these statements rule out that {claim}.",
        "Is it certainly false, on this basis alone, that {claim}?",
        "Does it follow that it is not the case that {claim}?",
        "Is there no way in which all this holds and it is true that {claim}?",
        *_joined(_THESE, ("rule out", "refute the claim", "make it impossible"), ("that {claim}?",)),
        *_joined(("Is it",), ("impossible", "out of the question", "certainly false"), _GIVEN[2:], ("that {claim}?",)),
    ),
    CONSISTENT: (
        "Could it be that {claim}?",
        "As far as these statements go, could it be that {claim}?",
        "Is it possible, given only this, that {claim}?",
        "Is it compatible with these statements that {claim}?",
        "Do these statements leave room for it to be true that {claim}?",
        "Could one accept all this and also hold, without contradiction, that {claim}?",
        "True or false: given these statements, it is possible that {claim}.",
        "True or false: the statements do not rule out that {claim}.",
        "May it still be, for all these statements say, that {claim}?",
        "Is there a way in which all this holds and it is true that {claim}?",
        "Can all this hold if it is also true that {claim}?",
        "Is it free of contradiction to add that {claim}?",
        *_joined(("Is it",), ("possible", "conceivable"), _GIVEN[::2], ("that {claim}?",)),
        *_joined(_THESE, ("allow", "permit", "leave it possible"), ("that {claim}?",)),
    ),
    DECIDED: (
        "Do these statements settle whether {claim}?",
        "Is it settled by this whether {claim}?",
        "Can one tell from this alone whether {claim}?",
        "Is this enough to decide, one way or the other, whether {claim}?",
        "True or false: these statements leave no doubt whether {claim}.",
        "Does one then know, one way or the other, whether {claim}?",
        "Can it be worked out from the statements whether {claim}?",
        "Is the information sufficient to say whether {claim}?",
        "True or false: from these statements one can find out whether {claim}.",
        "Does a yes or a no follow to the question whether {claim}?",
        *_joined(_THESE, ("settle", "decide", "determine"), ("whether {claim}?",))[1:],
        *_joined(
            ("Can one", "Is it possible to"),
            ("tell", "say", "find out", "work out"),
            ("from this", "from these statements", "from what is stated"),
            ("whether {claim}?",),
        ),
    ),
}
CLAIM_ENDINGS: Mapping[str, tuple[str, ...]] = {
    FOLLOWS: (
        "Does this follow?",
        "Do the statements prove this?",
        "Must this be true?",
        "Is this a valid conclusion?",
        "Is this a consequence of the statements?",
    ),
    EXCLUDED: (
        "Do the statements rule this out?",
        "Must this be false?",
        "Is this refuted by the statements?",
        "Is this impossible, if the statements hold?",
        "Does this contradict the statements?",
    ),
    CONSISTENT: (
        "Is this compatible with the statements?",
        "Could this be true, if the statements hold?",
        "Do the statements allow this?",
        "Can this hold together with the statements?",
        "Is there no contradiction between this and the statements?",
    ),
    DECIDED: (
        "Do the statements settle whether this is so?",
        "Can one tell from the statements whether this is right?",
        "Is it possible to say, one way or the other, whether this is true?",
        "Are the statements enough to decide whether this is so?",
    ),
}
PERSON_ENDINGS: Mapping[str, tuple[str, ...]] = {
    FOLLOWS: (
        "Must {the} be right?",
        "Is {the} bound to be right?",
        "Do the statements prove {the} right?",
        "Does it follow that {the} is right?",
    ),
    EXCLUDED: (
        "Must {the} be wrong?",
        "Is {the} bound to be wrong?",
        "Do the statements prove {the} wrong?",
        "Does it follow that {the} is wrong?",
    ),
    CONSISTENT: (
        "Could {the} be right, if the statements hold?",
        "Can {the} be right without contradiction to the statements?",
        "Do the statements allow {the} to be right?",
    ),
    DECIDED: (
        "Do the statements settle whether {the} is right?",
        "Can one tell from the statements whether {the} is right?",
        "Are the statements enough to decide whether {the} is right?",
    ),
}
"""After a claim that somebody makes."""
AHEAD: Mapping[str, tuple[str, ...]] = {
    FOLLOWS: (
        "Decide whether it follows from the statements below that {claim}.",
        "Say whether the statements below force it to be true that {claim}.",
        "The question is whether one can prove from what comes next that {claim}.",
        "Say whether this conclusion follows from the statements after it: {claim}.",
        "Say true if the statements below imply, and false if they do not, that {claim}.",
    ),
    EXCLUDED: (
        "Decide whether the statements below rule out that {claim}.",
        "Say whether the statements below force it to be false that {claim}.",
        "The question is whether what comes next makes it impossible that {claim}.",
        "Say true if the statements below exclude, and false if they do not, that {claim}.",
    ),
    CONSISTENT: (
        "Decide whether the statements below leave it possible that {claim}.",
        "Say whether it can be, without contradiction to the statements below, that {claim}.",
        "The question is whether what comes next allows that {claim}.",
        "Say true if the statements below permit, and false if they do not, that {claim}.",
    ),
    DECIDED: (
        "Decide whether the statements below are enough to tell whether {claim}.",
        "Say whether the statements below settle the question whether {claim}.",
        "Say true if one can find out from the statements below, and false if one cannot, whether {claim}.",
    ),
}
TOGETHER = (
    "Can all these statements be true together?",
    "Can all of this be true at once?",
    "Are these statements consistent with each other?",
    "Is there a way for all of these statements to be true?",
    "True or false: these statements do not contradict each other.",
    "Are all of these statements, taken together, free of contradiction?",
)
"""For `consistent`: what is asked stands among the statements."""
LAYOUTS = ("rules first", "facts first", "mixed", "rules first", "facts first")
MARKS = (
    *("{sentence}",) * 6,
    *("({n}) {sentence}",) * 2,
    "[{n}] {sentence}",
    "Rule {n}: {sentence}",
    "Statement {n}: {sentence}",
    "Premise {n}: {sentence}",
    "Assumption {n}: {sentence}",
)


@dataclass(frozen=True, slots=True)
class Cast:
    """Who a question is about: one object or two. `intro` is a sentence that presents them, or ''."""

    who: str
    other: str
    intro: str


def cast(vocabulary: str, noun: str, names: Sequence[str], chance: Chance, *spot: str, two: bool) -> Cast:
    """The objects of a question. `names` are names of systems with their article."""
    ns, a = plural_of(noun), with_article(noun)
    if vocabulary == LAB:
        alone: tuple[str, ...]
        ways = [
            Cast(f"the {noun} by the window", f"the {noun} near the door", f"There are two {ns} in the room."),
            Cast(f"the {noun} on the left", f"the {noun} on the right", f"Two {ns} stand on a bench."),
            Cast("unit 17", "unit 41", f"Two {ns} go by the names of unit 17 and unit 41."),
            Cast(f"Anna's {noun}", f"Boris's {noun}", f"Anna and Boris each bring {a}."),
            Cast(f"Clara's {noun}", f"Devi's {noun}", f"Clara and Devi each bring {a}."),
            Cast(f"the {noun} in the corner", f"the {noun} on the shelf", f"There are two {ns} in the room."),
        ]
        alone = (
            "",
            f"Two {ns} stand on a bench.",
            f"There is {a}, unit 17.",
            f"Anna brings {a}.",
            f"Clara brings {a}.",
            "",
        )
    elif noun == "system" and chance.share(*spot, "named") < 0.5:
        one, other = chance.mixed(names, str, *spot, "names")[:2]
        note = chance.pick(NAMED_NOTES, *spot, "note")
        return Cast(one, other, note.format(who=f"{one} and {other}" if two else one))
    else:
        ways = [
            Cast("S", "T", f"Let S and T be two {ns}."),
            Cast("P", "Q", f"Let P and Q be two {ns}."),
            Cast(f"{noun} K", f"{noun} M", f"There are two {ns}, K and M."),
            Cast(f"the first {noun}" if two else f"this {noun}", f"the second {noun}", f"Two {ns} are at hand."),
        ]
        alone = (f"Let S be {a}.", f"Let P be {a}.", f"There is {a} K.", f"Take one particular {noun}.")
    way = chance.pick(range(len(ways)), *spot, "cast")
    return ways[way] if two else replace(ways[way], intro=alone[way])

"""A solver for questions whose rules stand in the text: it reads the sentences and tries every case.

Only the question's text is read. A sentence is a rule, a fact, a claim, the question, or a frame around them. What fits
no pattern is refused, and so is a frame that names a property: an answer is never a guess.

Properties are phrases: 'is stiff', 'has no time delay', 'does not show bursts', each with a plural ('are stiff') and a
form after 'to' or 'must' ('be stiff'). Rules, with P, Q, R for phrases:

P → Q           If a system P, then it Q. Every (any, each) system that P Q. All systems that P Q. A system Q if it P.
                A system P only if it Q. Only systems that Q P. For a system to P, it must Q. A system cannot P unless
                it Q. For a system to Q, it is enough that it P. There is no system that P but not-Q. Every grey system
                Q. Only grey systems P. And many more: rule_patterns.py lists them.
P → not-Q       No system that P Q.
not-P → Q       Unless a system P, it Q. A system Q unless it P. (At least one of the two; perhaps both.)
P and R → Q     the same with 'P and R'; 'P or R' for either
P → Q or R      If a system P, it Q or R, or both. … either Q or R, but not both.
P or Q          Every system P or Q, or both. Every system either P or Q, but not both.
P ↔ Q           A system P if and only if (exactly when) it Q.
some P is Q     Some systems that P Q. At least one … There are … Not every system that P not-Q.

All rules speak of every object of one class. A case is a choice of all properties that obeys the rules; the table has a
line for every choice. Each object is in some case that has its facts, and each 'some' needs a case of its own.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache

from perpend.errors import DataError
from perpend.studies.logic.chaos.solving.rule_patterns import THIRD, ReadCondition, Signed, denied, rule_of, several

MOST_PROPERTIES = 24

_STEMS: Mapping[str, str] = {
    "follows": "does it follow that|does it follow from these statements alone that|must it then be the case "
    "that|is it certain, on this basis alone, that|can one conclude that|do these statements imply that|is it a "
    "logical consequence of this that|is one entitled to infer that|would it be valid to conclude that|do these "
    "statements together prove that|true or false: it follows from these statements that|true or false: if all "
    "this holds, it must be that|is it correct to deduce that|is it true in every case that the statements allow "
    "that|decide whether it follows from the statements below that|say whether the statements below force it to be "
    "true that|the question is whether one can prove from what comes next that|say whether this conclusion follows "
    "from the statements after it:|say true if the statements below imply, and false if they do not, that",
    "excluded": "is it ruled out that|must it be false that|do these statements exclude that|is it impossible, "
    "given these statements, that|do these statements together refute the claim that|would it contradict these "
    "statements to say that|can it be ruled out, on this basis alone, that|true or false: given these statements, "
    "it is impossible that|true or false: these statements rule out that|is it certainly false, on this basis "
    "alone, that|does it follow that it is not the case that|is there no way in which all this holds and it is "
    "true that|decide whether the statements below rule out that|say whether the statements below force it to be "
    "false that|the question is whether what comes next makes it impossible that|say true if the statements below "
    "exclude, and false if they do not, that",
    "consistent": "could it be that|as far as these statements go, could it be that|is it possible, given only "
    "this, that|is it compatible with these statements that|do these statements leave room for it to be true "
    "that|could one accept all this and also hold, without contradiction, that|true or false: given these "
    "statements, it is possible that|true or false: the statements do not rule out that|may it still be, for all "
    "these statements say, that|is there a way in which all this holds and it is true that|can all this hold if it "
    "is also true that|is it free of contradiction to add that|decide whether the statements below leave it "
    "possible that|say whether it can be, without contradiction to the statements below, that|the question is "
    "whether what comes next allows that|say true if the statements below permit, and false if they do not, that",
    "decided": "do these statements settle whether|is it settled by this whether|can one tell from this alone "
    "whether|is this enough to decide, one way or the other, whether|true or false: these statements leave no "
    "doubt whether|does one then know, one way or the other, whether|can it be worked out from the statements "
    "whether|is the information sufficient to say whether|true or false: from these statements one can find out "
    "whether|does a yes or a no follow to the question whether|decide whether the statements below are enough to "
    "tell whether|say whether the statements below settle the question whether|say true if one can find out from "
    "the statements below, and false if one cannot, whether",
}  # fmt: skip
_ASKED_AHEAD: Mapping[str, str] = {
    "follows": "does this follow|do the statements prove this|must this be true|is this a valid conclusion|is this a "
    "consequence of the statements",
    "excluded": "do the statements rule this out|must this be false|is this refuted by the statements|is this "
    "impossible, if the statements hold|does this contradict the statements",
    "consistent": "is this compatible with the statements|could this be true, if the statements hold|do the statements "
    "allow this|can this hold together with the statements|is there no contradiction between this and the statements",
    "decided": "do the statements settle whether this is so|can one tell from the statements whether this is "
    "right|is it possible to say, one way or the other, whether this is true|are the statements enough to decide "
    "whether this is so",
    "together": "can all these statements be true together|can all of this be true at once|are these statements "
    "consistent with each other|is there a way for all of these statements to be true|true or false: these statements "
    "do not contradict each other|are all of these statements, taken together, free of contradiction",
}  # fmt: skip
_THESE = "do (?:these statements|the statements|these premises)"
_GIVEN = ", (?:given these statements|given only this|if all this holds|on this basis alone),"
_MORE_STEMS: Mapping[str, str] = {
    "excluded": rf"{_THESE} (?:rule out|exclude|refute the claim|make it impossible) that|is it "
    rf"(?:impossible|out of the "
    rf"question|certainly false){_GIVEN} that",
    "consistent": rf"is it (?:possible|conceivable){_GIVEN} that|{_THESE} (?:allow|permit|leave it possible) that",
    "decided": rf"{_THESE} (?:settle|decide|determine) whether|(?:can one|is it possible to) (?:tell|say|find out|work "
    r"out) from (?:this|these statements|what is stated) whether",
    "follows": r"does it follow(?: logically)?(?: from (?:this|these statements|what is stated|all this))? "
    r"that|(?:can|may) "
    r"one (?:conclude|infer|deduce)(?: from this| from these statements| with certainty)? that|(?:is it|would it be) "
    r"(?:correct|valid|legitimate) to (?:conclude|infer|deduce)(?: from this| from these statements)? that|"
    rf"{_THESE} (?:imply|prove|entail|guarantee|establish|show) that",
}  # fmt: skip
_STEM_PATTERNS = tuple(
    (kind, re.compile(f"(?:{more}|{'|'.join(map(re.escape, _STEMS[kind].split('|')))}) (?P<claim>.+)"))
    for kind, more in _MORE_STEMS.items()
)
_PERSON = "(?:the (?:student|colleague|reader|classmate|tutor|visitor|assistant|newcomer)|this person)"
_OF_PERSON: Mapping[str, re.Pattern[str]] = {
    kind: re.compile(pattern.replace("PERSON", _PERSON))
    for kind, pattern in {
        "follows": "must PERSON be right|is PERSON bound to be right|do the statements prove PERSON right|does "
        "it follow "
        "that PERSON is right",
        "excluded": "must PERSON be wrong|is PERSON bound to be wrong|do the statements prove PERSON wrong|does "
        "it follow "
        "that PERSON is wrong",
        "consistent": "could PERSON be right, if the statements hold|can PERSON be right without contradiction to the "
        "statements|do the statements allow PERSON to be right",
        "decided": "do the statements settle whether PERSON is right|can one tell from the statements whether "
        "PERSON is "
        "right|are the statements enough to decide whether PERSON is right",
    }.items()
}
_CLAIM = re.compile(
    r"(?:(?:an? (?:student|colleague|reader|classmate|tutor|visitor|assistant|newcomer)|someone) "
    r"(?:says|suggests|proposes|supposes|claims|writes|believes|maintains|thinks)|consider the claim|consider the "
    r"statement|one more statement is put forward, namely) that (?P<claim>.+)"
)
_FACTS = rf"(?P<facts>{THIRD}(?:, {THIRD})*(?: and {THIRD})?)"
_FACT = re.compile(
    r"(?:(?:it is (?:given|known|agreed|certain|granted|stated|a fact)|we (?:are told|know)|suppose "
    r"(?:further|also)|it has "
    r"been checked|it may be taken as known|the (?:lab book|inventory|service record|log) "
    r"(?:says|states|notes|confirms)|"
    r"an? (?:inspection|recent test|visual check) has (?:confirmed|shown)) that |(?:in addition|moreover|furthermore|"
    r"besides|also|according to (?:its data sheet|the inventory|the service record|the technician)), )?"
    rf"(?P<who>.+?) {_FACTS}"
)
_FACT_OF = re.compile(
    rf"(?:of (?P<of>.+?) it is (?:known|said|given) that|as for (?P<as>.+?),|about (?P<about>.+?) we are told "
    rf"that) it {_FACTS}"
)
_FRAME = re.compile(
    r"(?:suppose only|assume only|(?:suppose|assume|accept|grant|take as given) (?:the |what )|take the|take "
    r"these|take "
    r"one|here is a|work only|let the|let \w and|let \w be|for this exercise|the statements below|nothing but "
    r"the|imagine "
    r"a|a lecturer|an exercise sheet|suppose that exactly|suppose that the following|treat the|only the "
    r"following may|a "
    r"laboratory keeps|a technician has|an inventory of|the technical words|the terms are|some of the words are|do not "
    r"look|set aside|forget what|what you know|leave aside|there is an? [\w-]+,? [\w ]+$|there are two|two "
    r"[\w-]+ (?:are "
    r"at hand|stand on|go by)|\w+ (?:and \w+ each bring|brings) |the rules are|here are the rules|these are the "
    r"rules|the "
    r"rules that hold|what holds in general|in general the following).*"
)
_MARK = re.compile(r"(?:\(\d+\)|\[\d+\]|(?:rule|statement|premise|assumption) \d+:) ")
_UNIVERSAL = re.compile(rf"(?P<word>every|no) [\w-]+ that (?P<g>{THIRD}) (?P<t>{THIRD})")
_OBJECT_CLAIM = re.compile(rf"(?P<who>.+?) (?P<t>{THIRD}(?: or {THIRD}, or both)?)")


@dataclass(slots=True)
class ReadQuestion:
    """A question as it was read. `who` is None where it asks of every object with `premises`."""

    rules: list[ReadCondition] = field(default_factory=list)
    facts: dict[str, list[Signed]] = field(default_factory=dict)
    kind: str = ""
    who: str | None = None
    premises: tuple[Signed, ...] = ()
    claim: tuple[Signed, ...] = ()
    """One of these is enough."""


def answer(question: str) -> bool:
    """The answer to a question, yes or no.

    Undefined, a DataError: a sentence is not understood; it is not clear what is asked; the statements contradict each
    other (unless that is the question); there are too many properties for a table.
    """
    return decide(read(question))


def read(question: str) -> ReadQuestion:
    """The rules, the facts and what is asked."""
    matched = ReadQuestion()
    frames: list[str] = []
    claims: list[str] = []
    asked: list[tuple[str, str]] = []
    for sentence in re.split(r"(?<=[.?]) (?=[A-Z(\[])", question):
        text = _MARK.sub("", sentence[:1].lower() + sentence[1:].rstrip(".?"), count=1)
        text = text[:1].lower() + text[1:]
        stem = _asked(text)
        if stem:
            asked.append(stem)
        elif claim := _CLAIM.fullmatch(text):
            claims.append(claim["claim"])
        elif _FRAME.fullmatch(text.lower()):
            frames.append(text)
        elif rule := rule_of(text):
            matched.rules.append(rule)
        else:
            who, facts = _fact(text)
            matched.facts.setdefault(who, []).extend(facts)
    if len(asked) != 1 or len(claims) != (asked[0][1] == "" and asked[0][0] != "together"):
        raise DataError("it is not clear what is asked")
    matched.kind = asked[0][0]
    if matched.kind != "together":
        _claim(asked[0][1] or claims[0], matched)
    _check_frames(frames, matched)
    return matched


def _asked(text: str) -> tuple[str, str] | None:
    """The kind of a question and what it asks, '' where that stands elsewhere; None where it is no question."""
    for kind, stems in _ASKED_AHEAD.items():
        if text in stems.split("|") or (kind in _OF_PERSON and _OF_PERSON[kind].fullmatch(text)):
            return kind, ""
    for kind, pattern in _STEM_PATTERNS:
        if matched := pattern.fullmatch(text):
            return kind, matched["claim"]
    return None


def _fact(text: str) -> tuple[str, tuple[Signed, ...]]:
    if of := _FACT_OF.fullmatch(text):
        return _object(of["of"] or of["as"] or of["about"]), several(of["facts"])
    matched = _FACT.fullmatch(text)
    if not matched:
        raise DataError(f"a sentence is not understood: {text!r}")
    return _object(matched["who"]), several(matched["facts"])


def _object(who: str) -> str:
    """The name of an object. Of classes and of nothing no fact is read: such a sentence would be a rule."""
    if re.match(r"(?:an?|every|any|each|all|no|some|only|if|unless|whenever|it|of|there|for|not) ", f"{who.lower()} "):
        raise DataError(f"a sentence about {who!r} is not understood")
    return who[:1].lower() + who[1:]


def _claim(text: str, matched: ReadQuestion) -> None:
    """What is asked: of every object of a sort, or of one object."""
    if universal := _UNIVERSAL.fullmatch(text):
        matched.premises = several(universal["g"])
        then = several(universal["t"])
        matched.claim = then if universal["word"] == "every" else denied(then)
    elif single := _OBJECT_CLAIM.fullmatch(text):
        matched.who = _object(single["who"])
        matched.claim = several(single["t"].removesuffix(", or both"))
    else:
        raise DataError(f"what is asked is not understood: {text!r}")


def _check_frames(frames: Iterable[str], matched: ReadQuestion) -> None:
    """A frame that names a property would be a statement that was not read."""
    literals = [*matched.claim, *matched.premises, *(fact for facts in matched.facts.values() for fact in facts)]
    literals += [literal for rule in matched.rules for literal in (*rule.given, *rule.then)]
    for text in frames:
        for name, _ in literals:
            if re.search(rf"\b{re.escape(name.split(' ', 1)[1])}\b", text):
                raise DataError(f"a sentence is not understood: {text!r}")


@cache
def _column(place: int, count: int) -> int:
    """One bit for each line of a table of `count` properties: whether the property at `place` holds there."""
    half = 1 << place
    column, length = ((1 << half) - 1) << half, 2 * half
    while length < 1 << count:
        column |= column << length
        length *= 2
    return column


class _Table:
    """All choices of the properties that a question names."""

    def __init__(self, names: Iterable[str]) -> None:
        self.names = list(dict.fromkeys(names))
        if len(self.names) > MOST_PROPERTIES:
            raise DataError(f"{len(self.names)} properties are too many for a table")
        self.every = (1 << (1 << len(self.names))) - 1

    def lines(self, literal: Signed) -> int:
        """The lines in which a literal is true."""
        column = _column(self.names.index(literal[0]), len(self.names))
        return column if literal[1] else self.every & ~column

    def all_of(self, literals: Iterable[Signed]) -> int:
        """The lines in which all are true."""
        lines = self.every
        for literal in literals:
            lines &= self.lines(literal)
        return lines

    def one_of(self, literals: Iterable[Signed]) -> int:
        """The lines in which at least one is true."""
        lines = 0
        for literal in literals:
            lines |= self.lines(literal)
        return lines

    def obeying(self, rule: ReadCondition) -> int:
        """The lines that a rule allows."""
        given = self.one_of(rule.given) if rule.any_given else self.all_of(rule.given)
        then = self.one_of(rule.then)
        if rule.exact:
            then &= ~self.all_of(rule.then)
        lines = (self.every & ~given) | then
        return lines & (given | ~then) if rule.both_ways else lines


def decide(matched: ReadQuestion) -> bool:
    """The answer to a question that was read; the cases in which it is undefined stand at `answer`."""
    literals = [literal for rule in matched.rules for literal in (*rule.given, *rule.then)]
    literals += [fact for facts in matched.facts.values() for fact in facts]
    table = _Table(name for name, _ in (*literals, *matched.premises, *matched.claim))
    allowed = table.every
    for rule in matched.rules:
        if not rule.witness:
            allowed &= table.obeying(rule)
    needed = [table.all_of(facts) for facts in matched.facts.values()]
    needed += [table.all_of((*rule.given, *rule.then)) for rule in matched.rules if rule.witness]
    consistent = bool(allowed) and all(lines & allowed for lines in needed)
    if matched.kind == "together":
        return consistent
    cases = allowed & table.all_of(matched.premises if matched.who is None else matched.facts.get(matched.who, ()))
    if not consistent or not cases:
        raise DataError("the statements contradict each other")
    claim = table.one_of(matched.claim)
    always, never = not cases & ~claim, not cases & claim
    return {"follows": always, "excluded": never, "consistent": not never, "decided": always or never}[matched.kind]

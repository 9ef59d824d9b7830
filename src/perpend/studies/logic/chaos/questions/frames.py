"""Layouts of a yes/no question: where the setting stands, how the claim is put, who puts it.

A layout never turns the answer round: the answer is yes exactly where the claim holds. None holds a negation, so that
the only denial in a question is that of its claim. Layouts come in groups; the group is drawn first, so that one with
many layouts, such as the people who say something, is not used more often for that.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache

from perpend.studies.logic.chaos.questions.chance import Chance


@dataclass(frozen=True, slots=True)
class AskedClaim:
    """What is asked, as clauses without capital and mark: 'the map is chaotic', 'is the map chaotic'.

    `asks` is '' for a denial, since 'is it not chaotic?' can be read in two ways, and wherever there is no such form.
    `far` and `far_asks` are the same for a place before the setting ('the system described below is chaotic'); `far` is
    '' where the claim cannot stand there.
    """

    claim: str
    asks: str = ""
    far: str = ""
    far_asks: str = ""


def capital(text: str) -> str:
    """The text with its first letter in upper case."""
    return text[:1].upper() + text[1:]


def woven(pattern: str, **slots: Sequence[str]) -> tuple[str, ...]:
    """The pattern with every choice of words in its slots, each form once.

    For a slot `who` the pattern has '<who>', '<Who>' with a capital, '<a who>' and '<A who>' with the article; all of
    them are filled with the same word. A slot may hold marks of slots that are named after it.
    """
    forms = [pattern]
    for name, options in slots.items():
        marks = f"<{name}>", f"<{capital(name)}>", f"<a {name}>", f"<A {name}>"
        forms = [_filled(form, marks, option) for form in forms for option in options]
    return tuple(dict.fromkeys(forms))


def _filled(form: str, marks: Sequence[str], option: str) -> str:
    article = "an" if option.startswith(("a", "e", "i", "o", "u")) else "a"
    words = option, capital(option), f"{article} {option}", f"{capital(article)} {option}"
    for mark, word in zip(marks, words, strict=True):
        form = form.replace(mark, word)
    return form


PEOPLE = (
    "colleague", "student", "referee", "reviewer", "reader", "tutor", "lecturer", "teacher", "fellow student",
    "demonstrator", "postdoc", "doctoral student", "co-author", "friend", "supervisor", "examiner", "engineer",
    "physicist", "mathematician", "visitor", "research assistant", "programmer", "correspondent", "first-year student",
    "biologist", "chemist", "group member", "seminar participant",
)  # fmt: skip
SAYINGS: Mapping[str, str] = {
    "says": "statement", "claims": "claim", "states": "statement", "asserts": "assertion", "maintains": "assertion",
    "writes": "sentence", "concludes": "conclusion", "believes": "belief", "expects": "expectation",
    "predicts": "prediction", "suspects": "suspicion", "argues": "claim", "is convinced": "conviction",
    "reports": "report", "assumes": "assumption",
}  # fmt: skip
"""What people do with a claim, and what is then called right. None of the verbs implies that the claim holds."""
PAPERS = (
    "lab note", "report", "caption", "handbook", "thesis", "preprint", "draft paper", "worked solution", "web page",
    "blog post", "slide", "poster", "footnote", "forum post", "problem sheet", "summary", "margin note", "data sheet",
    "lab protocol", "tutorial", "abstract", "essay", "exam script", "notebook",
)  # fmt: skip
NOUNS = ("claim", "statement", "assertion", "proposition", "hypothesis", "conjecture", "thesis", "prediction")
THAT = (
    "Is that right?", "Is this right?", "Is that correct?", "Is this correct?", "Is that true?", "Is this true?",
    "Is that so?", "Is this so?", "Is that the case?", "Is this the case?", "Does that hold?", "Does this hold?",
    "Is it so?", "Is it true?", "Does it hold?", "Do you agree?", "Would you agree?",
)  # fmt: skip
"""Short questions after a claim."""
OF_PERSON = (
    "Is the <who> right?", "Is the <who> correct?", "Has the <who> got it right?", "Do you agree with the <who>?",
    "Would you agree with the <who>?",
)  # fmt: skip
_OF_NOUN = (
    "Is the <noun> true?", "Is the <noun> correct?", "Is the <noun> right?", "Does the <noun> hold?",
    "Is this <noun> correct?", "Does this <noun> hold?", "Is it true?", "Is it correct?", "Is it right?",
    "Does it hold?", "True or false?", "Right or wrong?", "Do you agree?", "Is that so?",
)  # fmt: skip
_OF_PAPER = ("Is the <what> right?", "Is the <what> correct?", "Is the <what> to be trusted here?")
_WOULD = woven("Would <that> be <right>?", that=("that", "this"), right=("right", "correct", "true"))
_REPLY = ("Is the answer yes?", "Is it so?", "Is that so?", "Is that the case?", "Is this the case?")
_ACTS = ("decide", "determine", "work out", "find out", "establish", "settle", "check", "ascertain")
_SAY = ("say", "state", "claim", "assert", "conclude", "write", "maintain", "hold")
_SAYING = ("saying", "stating", "claiming", "asserting", "concluding", "writing", "thinking", "believing")
_RIGHT = ("true", "correct", "right")
_OCCASIONS = (
    "in a lecture", "in a seminar", "in a discussion", "at a conference", "in an oral exam", "in a tutorial",
    "during a coffee break", "in a group meeting", "in an online course", "in a podcast",
)  # fmt: skip
_LEADS = (
    "<Noun>: {claim}.", "Here is <a noun>: {claim}.", "The <noun> is that {claim}.",
    "Consider the <noun> that {claim}.", "Take the <noun> that {claim}.", "Think about the <noun> that {claim}.",
    "The following <noun> has been put forward: {claim}.", "The <noun> under discussion is that {claim}.",
    "Here is <a noun> to be <test>: {claim}.", "<A noun> to be <test>: {claim}.",
    "The following <noun> is to be <test>: {claim}.", "The <noun> that is to be <test>: {claim}.",
    "The <noun> to be <test> is that {claim}.",
)  # fmt: skip
_TESTED = ("checked", "tested", "judged", "examined", "assessed")


def _of_people() -> tuple[str, ...]:
    forms: list[str] = []
    for verb, noun in SAYINGS.items():
        closings = (*THAT[:10], *OF_PERSON, f"Is this {noun} correct?", f"Is the {noun} right?")
        forms += woven(f"<A who> {verb} that {{claim}}. <end>", end=closings, who=PEOPLE)
    forms += woven("According to <a who>, {claim}. <end>", end=(*THAT, *OF_PERSON), who=PEOPLE)
    forms += woven("In the view of <a who>, {claim}. <end>", end=(*THAT, *OF_PERSON), who=PEOPLE)
    return tuple(forms)


AFTER: Mapping[str, tuple[str, ...]] = {
    "direct": ("{Asks}?",),
    "asked": (
        *woven("<Lead>: {asks}?", lead=(
            "question", "yes or no", "here is the question", "please decide", "to be decided", "what would you say",
            "what do you think", "as a check", "for discussion", "the point to settle", "a question for a quiz")),
        *woven("<In_this>, {asks}?", in_this=(
            "in this case", "under these conditions", "in this situation", "in these circumstances",
            "as things stand")),
    ),
    "is it": (
        *woven("Is it <how> that {claim}?", how=(
            "true", "correct", "right", "the case", "a fact", "indeed true", "in fact true", "really true",
            "indeed the case", "really the case", "in fact the case", "actually true", "actually the case",
            "indeed correct", "in fact correct", "true here", "true in this case", "correct in this case",
            "a true statement", "a correct statement", "a safe conclusion", "a correct conclusion")),
        *woven("Does it <hold> that {claim}?", hold=(
            "hold", "hold here", "hold true", "turn out", "really hold", "indeed hold", "come out")),
        *woven("<Do> that {claim}?", do=(
            "can it be said", "can it truly be said", "will one find", "does one find", "do we find", "would one find",
            "should one expect", "should we expect", "are we right to expect", "is one right to expect",
            "may one take it", "will it be found", "should it be expected", "is one right to think")),
    ),
    "to say": (
        *woven("<Is> <how> to <say> that {claim}?", say=_SAY, how=("right", "correct", "accurate", "justified", "fair"),
               **{"is": ("is it", "would it be")}),
        *woven("<Is> <how> in <saying> that {claim}?", how=("right", "correct", "justified"), saying=_SAYING,
               **{"is": ("is one", "would one be", "are we", "would you be")}),
        *woven("<Can> one <how> <say> that {claim}?", can=("can", "may", "could"), say=_SAY[:6],
               how=("rightly", "correctly", "truthfully")),
    ),
    "agree": (
        *woven("<Do> that {claim}?", do=(
            "do you agree", "would you agree", "would you say", "can you confirm", "would you accept",
            "do you accept")),
        *woven("<Do> you agree with the <noun> that {claim}?", do=("do", "would"), noun=(*NOUNS, "view")),
        *woven("Would you <sign> the <noun> that {claim}?", sign=("endorse", "defend", "uphold"), noun=NOUNS),
    ),
    "calculation": woven(
        "<Does> a <careful> <check> <show> that {claim}?", does=("does", "would", "will"),
        careful=("careful", "thorough", "reliable", "proper"),
        check=("calculation", "computation", "check", "analysis"), show=("show", "confirm", "establish", "bring out"),
    ),
    "true or false": (
        *woven("<Mark>? {Claim}.", mark=("true or false", "right or wrong")),
        *woven("<Mark>: {claim}.", mark=(
            "true or false", "right or wrong", "mark as true or false", "label as true or false",
            "to be marked as true or false", "please mark as true or false", "judge as true or false",
            "decide between true and false", "for a quiz, true or false")),
        *woven("Yes or no: <it> that {claim}?", it=(
            "is it true", "is it correct", "is it the case", "does it hold", "is it right", "is it a fact",
            "do you agree")),
    ),
    "following": (
        *woven("Is the following <noun> <true><end>", noun=(*NOUNS, "remark"), true=_RIGHT,
               end=("? {Claim}.", ": {claim}?")),
        *woven("Is the following <true>: {claim}?", true=(*_RIGHT, "the case")),
        *woven("Does the following <noun> hold: {claim}?", noun=NOUNS),
        *woven("Does the following hold<end>", end=(": {claim}?", "? {Claim}.")),
    ),
    "task": (
        *woven("<Act> whether {claim}.", act=(
            *_ACTS, "examine", "test", "investigate", "say", "state", "judge", "please decide", "please check")),
        *woven("<Act> whether it is <true> that {claim}.", act=(*_ACTS, "say", "please decide", "please check"),
               true=(*_RIGHT, "the case")),
        *woven("<Task> to <act> whether {claim}.", act=_ACTS, task=(
            "your task is", "the task is", "the aim is", "the exercise is", "you are asked", "we ask you",
            "the problem is", "your job is", "what is wanted is")),
        *woven("It is to be <found> whether {claim}.", found=(
            "decided", "determined", "checked", "settled", "found out", "established", "tested")),
    ),
    "named": tuple(
        form for lead in _LEADS
        for form in woven(f"{lead} <end>", end=_OF_NOUN, noun=NOUNS, test=_TESTED)
    ),
    "people": _of_people(),
    "papers": (
        *woven("<A what> <says> that {claim}. <end>", end=(*THAT, *_OF_PAPER), what=PAPERS,
               says=("says", "states", "claims", "asserts", "has it")),
        *woven("In <a what> one reads that {claim}. <end>", end=(*THAT, *_OF_PAPER), what=PAPERS),
        *woven("<A what> contains the statement that {claim}. <end>", what=PAPERS,
               end=("Is the statement true?", "Is the statement correct?", "Is this statement right?", *THAT)),
    ),
    "heard": woven("<On> <it> that {claim}. <end>", end=THAT, on=_OCCASIONS, it=(
        "it is said", "it is claimed", "it is stated", "somebody says", "somebody claims", "the claim is made",
        "one hears")),
    "rumour": (
        *woven("It <has> <said> that {claim}. <end>", end=THAT, has=("has been", "is"), said=(
            "suggested", "claimed", "said", "asserted", "conjectured", "supposed", "proposed", "stated", "believed")),
        *woven("<Who> <says> that {claim}. <end>", end=THAT, who=("somebody", "someone"),
               says=("says", "claims", "states", "believes", "suspects", "suggests")),
        *woven("One <might> <think> that {claim}. <would>", might=("might", "could", "may"), would=_WOULD,
               think=("think", "say", "expect", "suppose", "guess", "suspect")),
        *woven("<Suppose> <who> <claims> that {claim}. <would>", would=_WOULD, claims=("claims", "says", "writes"),
               suppose=("suppose", "imagine that"),
               who=("somebody", "someone", "a colleague", "a student", "a reader", "an author")),
    ),
    "wonder": (
        *woven("We <want> to <know> whether {claim}. <reply>", want=("want", "would like", "wish"),
               know=("know", "find out", "decide", "learn"), reply=_REPLY[1:]),
        *woven("The question <to_be> whether {claim}. <reply>", reply=_REPLY,
               to_be=("is", "to be settled is", "to be answered is", "here is", "that arises is")),
        *woven("One <wonders> whether {claim}. <reply>", reply=_REPLY,
               wonders=("wonders", "would like to know", "might ask")),
        *woven("<A who> <asks> whether {claim}. <reply>", reply=_REPLY, who=PEOPLE,
               asks=("asks", "wonders", "wants to know", "would like to know")),
    ),
}  # fmt: skip
"""What follows the setting, in groups. In a layout that has a short question at its end, the setting may stand before
that question; in the others it may stand at the end."""
WEIGHTS: Mapping[str, int] = {
    "direct": 8, "asked": 5, "is it": 16, "to say": 12, "agree": 6, "calculation": 5, "true or false": 6,
    "following": 7, "task": 12, "named": 13, "people": 14, "papers": 7, "heard": 4, "rumour": 8, "wonder": 8,
}  # fmt: skip
"""How often a group is used, in parts of the sum."""
FIRST_WEIGHTS = {**WEIGHTS, "following": 0, "papers": 0, "heard": 0, "rumour": 0, "people": 5, "named": 20, "task": 24}
"""The same where the claim stands before the setting."""
_AFTER_A_SETTING = (" here", "this case", "these c", "this situation", "things stand")
"""Words that need the setting before them."""
_NEXT_TO_IT = ("{Claim}", "Is that", "Is this", "Does that", "Does this", "Is it")
"""Short questions that need the claim right before them."""

OPENINGS = (*("",) * 9, "Problem: ", "Exercise: ", "Setting: ", "Situation: ", "Example: ", "Task: ")
"""What may stand before a setting that comes first; most often nothing."""
FIRST_SHARE = 0.25
"""How often the claim stands before the setting, where it can."""
DEFINITION_FIRST_SHARE = 0.3


def begins_sentence(claim: str) -> bool:
    """Whether a claim can begin a sentence: its first word is no symbol, of which a capital would make another one."""
    first, _, rest = claim.partition(" ")
    return first.replace("-", "").isalpha() and (len(first) > 1 or first == "a") and rest[:1] not in ("=", "<", ">")


def layout(
    chance: Chance, key: Sequence[str], statement: AskedClaim, setting: str = "", definition: str = ""
) -> tuple[str, str]:
    """The form and the question that belong to a key.

    `setting` and `definition` are whole sentences; either may be ''. The definition stands after the setting, at times
    before it. The form is the group of the layout, after 'first' where the claim is before the setting.
    """
    parts = [part for part in (setting, definition) if part]
    if len(parts) == 2 and chance.share("definition first", *key) < DEFINITION_FIRST_SHARE:
        parts.reverse()
    block = " ".join(parts)
    if setting and statement.far and chance.share("claim first", *key) < FIRST_SHARE:
        group, form = _drawn(chance, key, _fitting_first(bool(statement.far_asks)))
        claim, asks = statement.far, statement.far_asks
        words = {"claim": claim, "Claim": capital(claim), "asks": asks, "Asks": capital(asks)}
        body, mark, closing = form.partition("}. ")
        whole = f"{body}{mark}{block} {closing}" if closing else f"{form} {block}"
        return f"first {group}", whole.format(**words)
    claim, asks = statement.claim, statement.asks
    group, form = _drawn(chance, key, _fitting(bool(asks), begins_sentence(claim), bool(setting)))
    text = form.format(claim=claim, Claim=capital(claim), asks=asks, Asks=capital(asks))
    if not block:
        return group, text
    opening = chance.pick(OPENINGS, "opening", *key) if parts[0] == setting else ""
    return group, f"{opening}{block} {text}"


def _drawn(chance: Chance, key: Sequence[str], groups: Sequence[tuple[str, int, tuple[str, ...]]]) -> tuple[str, str]:
    """A group by weight, and one of its layouts."""
    left = chance.below(sum(weight for _, weight, _ in groups), "layout", *key)
    for group, weight, forms in groups:
        left -= weight
        if left < 0:
            return group, chance.pick(forms, "layout", group, *key)
    raise AssertionError("the weights of the groups do not add up")


@cache
def _fitting(has_asks: bool, begins: bool, has_setting: bool) -> tuple[tuple[str, int, tuple[str, ...]], ...]:
    """The layouts for a place after the setting: groups with their weights and forms."""

    def fits(form: str) -> bool:
        known = (has_asks or not _is_asking(form)) and (begins or "{Claim}" not in form)
        return known and (has_setting or not any(words in form.lower() for words in _AFTER_A_SETTING))

    return _kept(WEIGHTS, fits)


@cache
def _fitting_first(has_asks: bool) -> tuple[tuple[str, int, tuple[str, ...]], ...]:
    """The same for a place before the setting."""

    def fits(form: str) -> bool:
        closing = form.partition("}. ")[2]
        near = any(words in form.lower() for words in _AFTER_A_SETTING) or "{Claim}" in form
        return (has_asks or not _is_asking(form)) and not near and not closing.startswith(_NEXT_TO_IT)

    return _kept(FIRST_WEIGHTS, fits)


def _is_asking(form: str) -> bool:
    """Whether a layout asks: 'is it …', 'whether it is …'. With a denial in it, neither is plain English."""
    return "sks}" in form or "whether {claim}" in form


def _kept(weights: Mapping[str, int], fits: Callable[[str], bool]) -> tuple[tuple[str, int, tuple[str, ...]], ...]:
    kept = []
    for group, weight in weights.items():
        forms = tuple(form for form in AFTER[group] if fits(form))
        if weight and forms:
            kept.append((group, weight, forms))
    return tuple(kept)

"""Whether a sentence says, or denies, exactly what a yes/no question puts forward."""

from __future__ import annotations

import re
from itertools import pairwise, takewhile
from typing import Final, NamedTuple

from perpend.text.cues import SPEAKERS, WHO, vocabulary
from perpend.text.proposition import (
    ARTICLES,
    AUXILIARIES,
    BE,
    DENIALS,
    DO,
    FUNCTION,
    HAVE,
    MARKS,
    MODAL,
    PRONOUNS,
    Proposition,
    stem,
    tokens,
)
from perpend.text.speech import SPEECH

UNREAL: Final = vocabulary("could would should may might must couldn't wouldn't shouldn't will won't")
"""Auxiliaries that state nothing of a question that does not have them."""
BYGONE: Final = vocabulary("was were did had wasn't weren't didn't hadn't")
"""Auxiliaries that state nothing of a question about the present."""
_BASES: Final = {"couldn't": "could", "wouldn't": "would", "shouldn't": "should", "won't": "will"}
NAMED_PRONOUNS: Final = PRONOUNS - vocabulary("this that these those")
"""Of 'that is' and 'this is' alone nothing is repeated."""
ALLOWED: Final = (
    DENIALS
    | FUNCTION
    | vocabulary(
        "indeed actually really definitely certainly clearly simply truly also still therefore thus obviously fact "
        "officially undoubtedly surely very absolutely generally normally now yet at all either itself themselves "
        "scientifically mathematically"
    )
)
"""Words that may stand beside the question's: denials, function words, and those that only stress or date a claim."""
SELVES: Final = WHO | vocabulary("i we there your my let")
"""Subjects that no pronoun after them stands for."""
JUDGED: Final = re.compile(
    r"(?:the|this|that|their|your) (?:\w+ )?(?:claim|statement|idea|notion|belief|assertion) that "
    r"(?P<content>.{3,120}) is (?:\w+ly )?(?P<no>not )?(?:(?P<yes>true|correct|right|accurate)|false|wrong|incorrect"
    r"|untrue|mistaken|an? (?:\w+ )?(?:myth|misconception)) \Z"
)
"""A claim that is stated in full and judged."""
JOINS: Final = vocabulary("and as")
LINKS: Final = vocabulary("because since so but though although while whereas however therefore thus hence")
"""What opens a clause without a mark before it; 'and' and 'as' only after a whole one."""
LIMITS: Final = vocabulary(
    "simply really very absolutely generally normally officially clearly obviously certainly definitely truly "
    "scientifically mathematically"
)
"""Words that, after a 'not', make it deny less than the whole, unless they are asked for too."""
REJECTING: Final = vocabulary("false wrong incorrect untrue no nope")
"""What, after a mark, judges the statement before it."""
TAKING_BACK: Final = vocabulary("if unless only provided assuming depending when except until according")
"""What, after a comma, limits a statement or gives it to somebody else."""
OPENERS: Final = vocabulary(
    "so thus therefore hence and but yes no yep nope actually indeed well right correct however sure true false okay "
    "ok clearly then absolutely exactly certainly definitely consequently overall technically obviously wrong "
    "incorrect sorry oh agreed nonetheless nevertheless still again instead"
)
"""Words that may stand before a statement in its clause."""
SUBORDINATE: Final = vocabulary(
    "because since although though while whereas if unless when whether until as given suppose supposing assuming "
    "imagine were had which who whose that where despite like "
    "contrary unlike based regardless"
)
"""A clause that one of these opens is a reason, a concession or a condition, and not what is claimed."""
PASSED_OVER: Final = OPENERS | SUBORDINATE | ARTICLES
"""What may stand before the subject of a sentence."""
CONDITIONAL: Final = vocabulary("if unless suppose supposing assuming imagine provided whether were had")
"""What opens a clause on which the next one depends."""
QUALIFYING: Final = vocabulary("in at for to from under by with on among according")
"""What opens a phrase that limits the statement after its comma: 'in the kitchen, …'."""
QUOTING: Final = vocabulary("claim statement question hypothesis assumption premise myth assertion proposition belief")
"""Before a colon: what follows is put forward only, as after a speaker."""
OTHERS: Final = SPEAKERS - vocabulary("answer answers response responses")
"""Speakers that are persons, or stand for some."""
SUMMING: Final = re.compile(
    r"\W*(?:in (?:fact|short|conclusion|summary|truth|reality|other words)|to be (?:clear|sure)|by definition"
    r"|without (?:a |any )?doubt)\b"
)
"""Such phrases that limit nothing."""
FRAME: Final = re.compile(
    r"(?:(?:i(?:'d| would| do| must| can)?|we)(?: \w+ly| also| still)? (?:think|believe|say|agree|conclude|know|confirm"
    r"|maintain|am (?:sure|certain|confident))(?: with (?:you|them|the others|everyone|the other \w+))?"
    r"(?: from(?: \w+){0,4}(?= that))?(?: that)?"
    r"|(?:it|this|that) (?:is|would be) (?:\w+ly )?(?:true|clear|certain|correct|right|known|a fact|obvious|the case) "
    r"(?:that|to say that)"
    r"|(?:this|that|which|it) (?:means|shows|implies|follows|proves) that"
    r"|there is no (?:doubt|question)(?: that)?|(?:the )?(?:fact|truth|answer) is(?: that)?) "
)
"""A frame of the model's own that affirms the clause after it."""
DENYING_FRAME: Final = re.compile(
    r"(?:i(?: really| honestly)? (?:don't|do not|can't|cannot|wouldn't|would not) (?:think|believe|say|agree)(?: that)?"
    r"|i(?: \w+ly| must)? (?:disagree|deny|doubt|dispute) that"
    r"|(?:it|this|that) (?:is not|isn't) (?:\w+ly )?(?:true|correct|right|accurate|the case|a fact) that"
    r"|(?:it|this|that) (?:is|would be) (?:\w+ly )?(?:false|wrong|incorrect|untrue|(?:a|just a|only a) "
    r"(?:common |popular )?(?:myth|misconception|mistake|fallacy)) (?:that|to (?:say|think) that)"
    r"|(?:it|this) (?:does not|doesn't)(?: \w+ly)? follow that|there is no (?:evidence|proof) that) "
)
"""A frame of the model's own that denies the clause after it."""


def affirmed(sentence: str, asked: Proposition, before: str = "") -> bool | None:
    """Whether a folded sentence answers yes or no by saying, or denying, just what was asked. None: it does neither.

    It affirms with all content words of the question, in their order, and no others but words that stress; a pronoun
    may stand for the subject, and 'prime' for 'a prime number'. It denies with the first of them or a pronoun, a
    denial, and as many of the others as up to a phrase with a preposition. 'It is not.' does either without any. A
    clause is not looked at where it is a reason, a concession, a condition or depends on one, is limited by an opening
    ('in the kitchen, …'), or is somebody else's; nor with a pronoun where what comes before it in the sentence, or the
    sentence before, has another subject. The last clause that does either counts.
    """
    if sentence.rstrip("\"'*) \n").endswith("?"):
        return None
    sentence_tokens = tokens(sentence)
    value: bool | None = None
    start, is_free = 0, True
    for place in range(len(sentence_tokens) + 1):
        is_mark = place == len(sentence_tokens) or sentence_tokens[place] in MARKS
        if not is_mark and sentence_tokens[place] not in LINKS:
            continue
        part = sentence_tokens[start:place]
        if part:
            is_free = is_free or part[0] in {"but", "however"}
            is_clear = _is_clear(sentence_tokens[:start] or tokens(before), asked)
            read = _read(part, sentence_tokens[place : place + 7], asked, is_clear=is_clear) if is_free else None
            value = value if read is None else read
            is_free = is_free and (not is_mark or _is_free(part, asked, "".join(sentence_tokens[place : place + 1])))
        start = place + 1 if is_mark else place
    return None if value is None else value != asked.is_denied


def _is_free(part: list[str], asked: Proposition, mark: str) -> bool:
    """Whether the clause after this one, and after the mark between them, is the model's, and holds in general."""
    words = [token for token in part if token not in OPENERS] or part
    first = words[0]
    if mark == ":" and not (QUOTING.isdisjoint(words) and (OTHERS - {"you"}).isdisjoint(words)):
        return False
    if first in CONDITIONAL:
        return words[:2] == ["if", "i"]
    if first in QUALIFYING:
        known = {*asked.stems, *asked.openers}
        is_known = known.issuperset(stem(token) for token in words if token not in FUNCTION)
        return is_known or SUMMING.match(" ".join(words)) is not None
    return first in SUBORDINATE or words[-1] not in SPEECH or OTHERS.isdisjoint(words)


def _is_clear(earlier: list[str], asked: Proposition) -> bool:
    """Whether a pronoun after these words stands for the question's subject: they have it, or no other."""
    words = [token for token in earlier if token not in MARKS]
    if AUXILIARIES.isdisjoint(words) or asked.stems[0] in map(stem, words):
        return True
    first = next((word for word in words if word not in PASSED_OVER), "it")
    return first in PRONOUNS or first in SELVES


def _read(part: list[str], following: list[str], asked: Proposition, *, is_clear: bool) -> bool | None:
    """What one clause, and the marks and words after it, say of what was asked. `is_clear`: a pronoun's subject is."""
    start = 0
    while start < len(part) and (part[start] in OPENERS or stem(part[start]) in asked.openers):
        start += 1
    rest = " ".join(part[start:]) + " "
    denying = DENYING_FRAME.match(rest)
    frame = denying or FRAME.match(rest)
    words = part[start:] if frame is None else rest[frame.end() :].split()
    if not words or (words[0] in SUBORDINATE and not (words[0] == "that" and words[1:2] and words[1] in AUXILIARIES)):
        return None
    if not is_clear and (words[0] in PRONOUNS or words[0] == "not"):
        return None
    judged = JUDGED.match(rest) if frame is None else None
    if judged is not None:
        words = judged["content"].split()
    elif words[0] == "not" and not BE.isdisjoint(asked.verbs) and words[1:2] not in (["all"], ["every"]):
        words = ["it", "is", *words]
    value = None if _takes_back(following) else _claimed(words, following, asked)
    is_turned = denying is not None or (judged is not None and (judged["no"] is None) == (judged["yes"] is None))
    return value if value is None or not is_turned else not value


def _takes_back(following: list[str]) -> bool:
    """Whether what follows a clause limits it, gives it to somebody else, or judges it: ', they say', ': false'."""
    mark, *words = following or [""]
    words = list(takewhile(lambda word: word not in MARKS, words))
    if words and words[0] in REJECTING and mark != ".":
        return True
    if mark != ",":
        return False
    is_said = len(words) > 1 and words[0] in WHO and words[1] in SPEECH
    return is_said or "or" in words or words[:2] == ["at", "least"] or (words != [] and words[0] in TAKING_BACK)


class Repetition(NamedTuple):
    """The question's words that a clause repeats, its pronoun subject, its first verb, how often it denies.

    `is_last`: it ends with the last of these words.
    """

    places: list[int]
    pronoun: str
    verb: str
    denials: int
    is_last: bool


def _scanned(words: list[str], asked: Proposition) -> Repetition | None:
    """A clause that has no other words than the question's, but for those that change nothing; None for any other."""
    places: list[int] = []
    pronoun, verb, denials, last, end = "", "", 0, 0, len(words)
    for at, token in enumerate(words):
        known = places[-1] + 1 if places else 0
        if token in AUXILIARIES:
            if not _fits(token, asked):
                return None
            verb = verb or token
        elif (base := stem(token)) in asked.stems[known:]:
            places.append(asked.stems.index(base, known))
            last = at
            continue
        elif token in PRONOUNS and not places and not pronoun and not verb:
            pronoun = token
        elif token in JOINS and places[-1:] == [len(asked.stems) - 1]:
            end = at
            break
        elif token not in ALLOWED and words[at - 1 : at + 1] != ["no", "longer"]:
            return None
        if token in DENIALS or token.endswith("n't"):
            denials += 1
            if not _denies(token, verb, words[at + 1 : at + 2], asked):
                return None
    return Repetition(places, pronoun, verb, denials, last == end - 1)


def _denies(token: str, verb: str, after: list[str], asked: Proposition) -> bool:
    """Whether a denial is one of the whole: after the verb, or of 'all', and not of 'really' or 'officially' alone."""
    if after and after[0] in LIMITS and stem(after[0]) not in asked.stems:
        return False
    return bool(verb) or (token == "not" and after[:1] in (["all"], ["every"]))  # noqa: S105 - no password


def _claimed(words: list[str], following: list[str], asked: Proposition) -> bool | None:
    """Whether the words of a clause say or deny what was asked."""
    repeated, count = _scanned(words, asked), len(asked.stems)
    if repeated is None or repeated.denials > 1 or not (repeated.pronoun or repeated.places[:1] == [0]):
        return None
    is_pronoun = repeated.pronoun != ""
    if is_pronoun and 0 in repeated.places and asked.predicate != 0 and count > 1:
        return None
    if len(repeated.places) <= (0 if is_pronoun else 1) < count:
        return not repeated.denials if _answers_alone(repeated, following, asked) else None
    if repeated.denials:
        return False if _is_denial(repeated.places, asked, is_pronoun=is_pronoun) else None
    whole = _whole(asked, is_pronoun=is_pronoun)
    is_adjective = count - 1 in asked.beside and repeated.is_last and repeated.places == whole[:-1]
    is_whole = whole != [] and (repeated.places == whole or is_adjective)
    return True if is_whole and (repeated.verb or BE.isdisjoint(asked.verbs)) else None


def _fits(verb: str, asked: Proposition) -> bool:
    """Whether a verb states something of the question's time: none but its own that is unreal or past."""
    base = _BASES.get(verb, verb)
    if verb in UNREAL:
        return base in asked.verbs
    return verb not in BYGONE or not BYGONE.isdisjoint(asked.verbs) or not asked.verbs


def _answers_alone(repeated: Repetition, following: list[str], asked: Proposition) -> bool:
    """Whether a subject and the question's own kind of verb are the whole sentence: 'It does not.'"""
    if following[:2] == [".", "."] or (following and following[0] not in {".", "!", ";", "\n", "because"}):
        return False
    if repeated.pronoun and repeated.pronoun not in NAMED_PRONOUNS:
        return False
    return any(repeated.verb in kind and not kind.isdisjoint(asked.verbs) for kind in (BE, DO, HAVE, MODAL))


def _whole(asked: Proposition, *, is_pronoun: bool) -> list[int]:
    """The places of all that must be said; nothing where a pronoun stands for a subject of unknown length."""
    if not is_pronoun:
        return list(range(len(asked.stems)))
    if len(asked.stems) == 1:
        return [0]
    return [] if asked.predicate is None else list(range(asked.predicate, len(asked.stems)))


def _is_denial(places: list[int], asked: Proposition, *, is_pronoun: bool) -> bool:
    """Whether a denial of these words denies the question: none is left out but phrases with a preposition."""
    final, predicate = len(asked.stems) - 1, asked.predicate
    if is_pronoun and predicate is not None and places[0] != predicate:
        return False
    if predicate is not None and places[-1] < predicate:
        return False
    for place, after in pairwise(places):
        is_left_out = after > place + 1
        if is_left_out and (place + 1 not in asked.phrased or (predicate is not None and place < predicate < after)):
            return False
    return places[-1] == final or places[-1] + 1 in asked.phrased or (places[-1] + 1 == final and final in asked.beside)

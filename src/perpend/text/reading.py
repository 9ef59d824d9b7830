"""A text read as a reader would: which answer is the model's, and what yes and no mean."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Final, NamedTuple, TypeAlias

from perpend.text import assertion, match, speech
from perpend.text import clause as sentences
from perpend.text import reasoning as refusal
from perpend.text.assertion import Assertion, claims, decide, other_number
from perpend.text.clause import bounds, clause
from perpend.text.match import LABELS, Folded, Side, Span, fold
from perpend.text.numbers import NUMERAL, plain, quantity
from perpend.text.reasoning import visible
from perpend.text.speech import Question, last_question, question

PLACES: Final = 100
"""How many words, and how many places of the question's first content word, are looked into from either end."""
_VALUES: Final = {
    "yes": True,
    "true": True,
    "correct": True,
    "yep": True,
    "yeah": True,
    "no": False,
    "false": False,
    "incorrect": False,
    "nope": False,
}
POLAR_WORD: Final = re.compile(rf"(?<![\w'])(?:{'|'.join(_VALUES)})(?![\w'])")
MORE_HINTS: Final = ("yep", "yeah")
"""Those that end in none of `LABELS`."""
WORD_CLOSES: Final = re.compile(r"[*_\"')\]}]{0,4}(?:$|[.,;:!—\n]|\s-|\s(?:because|since|as)\b)")
WORD_OPENS: Final = re.compile(
    r"(?:(?:^|\n)(?:(?:it's|it is|definitely|clearly|simply)\s){0,2}|:\s"
    r"|\banswer(?: to [^.\n]{0,60})?(?: is|:| -)(?:[^.\n]{0,16}(?:definitely|simply|clearly|is|it's|a|:))?"
    r"|\bi(?:'d|'m| would| am)?(?: \w+ly| quite| pretty)? (?:think|believe|guess|say|certain|sure|confident)"
    r"(?: that)?(?: (?:it|this|that|the answer)(?:'s| is| must be))?)"
    r"[\s*_\"'$({\\#>]{0,6}(?:boxed\{?|text\{?)?$"
)
"""Where a bare yes or no is an answer: at the start of a text or line, in an answer slot, or as the model's belief."""
SHORT_LEAD: Final = 12
_AROUND: Final = " \n*_\"'$({\\#>"
OPENING_ENDS: Final = (
    *(":", "-", "is", "'s", "definitely", "clearly", "simply", "a", "boxed", "text", "that", "be"),
    *("think", "believe", "guess", "say", "certain", "sure", "confident"),
)
DENIES: Final = re.compile(
    r"\b(?:not|never|cannot|fails to|isnt|no one|nobody|none|no (?:\w+ )?(?:evidence|proof|way|reason|longer)"
    r"|impossible|myth|misconception|untrue|false|incorrect)\b|n't\b"
)
DOUBTS: Final = re.compile(r"\b(?:disput\w+|doubt\w*|den(?:y|ies|ied)|question(?:s|ed)?|disagree\w*)\b[^.]{0,20}$")
DENIED_AFTER: Final = re.compile(
    r"[^.;,]{0,30}?\b(?:is|are|was|were)\s(?:\w+\s){0,3}?(?:myth|misconception|false|untrue|incorrect|impossible|not)\b"
)
REJECTS: Final = re.compile(
    r"[\s*_\"',.!]{0,4}(?:that|this|your answer|the (?:claim|answer))(?:'s| is| was)\s(?:\w+\s)?"
    r"(?:incorrect|wrong|not|false)"
)
"""What makes a 'no' the denial of somebody's claim instead of an answer to the question."""
CORRECTS: Final = re.compile(
    r"\b(?:wait|actually|in fact|correction|on second thought|i was wrong|my mistake|i made a mistake)\b"
)
CORRECTION_HINTS: Final = ("wait", "actually", "in fact", "correction", "second thought", "i was wrong", "mistake")
"""One of these stands in every correction: to look for them first takes a third of the time."""
CONCLUDES: Final = re.compile(r"\b(?:so|therefore|thus|hence|in conclusion|in short|overall|actually|in fact)\b")
Answered: TypeAlias = tuple[bool, tuple[int, int], str]


def polar(text: str, asked: Question, worded: Answered | None) -> Answered | None:
    """What the text answers, where, and by which rule; None when it answers neither yes nor no. `worded`: `bare_word`.

    The last bare yes or no that is given as an answer decides, unless the text takes it back ('wait, …', 'it is
    actually …') and states otherwise, or a yes is followed in its sentence by the denial of what was asked ('Yes, 9 is
    not prime'). Without one, the fullest statement that repeats the question decides: a conclusion before others, then
    the first. A statement repeats the question when it has its first content word, half of them all, and all its
    numbers.
    """
    if worded is None:
        return statement(text, asked, 0, len(text))
    end = worded[1][1]
    hints = [hint for hint in CORRECTION_HINTS if text.rfind(hint, end) >= 0]
    taken_back = CORRECTS.search(text, end) if hints else None
    if taken_back is not None:
        start = max(end, bounds(text, taken_back.start(), taken_back.end())[0])
        return statement(text, asked, start, len(text)) or worded
    if worded[0] and text.startswith(",", end):
        stated = statement(text, asked, end, bounds(text, end, end)[1])
        return stated if stated is not None and not stated[0] else worded
    return worded


def _places(text: str, hints: tuple[str, ...], start: int, stop: int) -> Iterator[int]:
    """Where any of the hints stands, from each the first `PLACES` and the last."""
    for hint in hints:
        if text.rfind(hint, start, stop) < 0:  # in long texts in half the time of `find`
            continue
        place = text.find(hint, start, stop)
        for _ in range(PLACES):
            if place < 0:
                break
            yield place
            place = text.find(hint, place + 1, stop)
        else:
            place = text.rfind(hint, start, stop)
            for _ in range(PLACES):
                yield place
                place = text.rfind(hint, start, place + len(hint) - 1)


def bare_word(folded: Folded, asked: Question) -> Answered | None:
    """The last bare yes or no that is given as an answer."""
    text, places = folded.text, folded.labels()
    if len(places) > 2 * PLACES:
        places = [place for word in LABELS for place in _outermost([p for p in places if text[p] == word[0]])]
    for place in sorted([*places, *_places(text, MORE_HINTS, 0, len(text))], reverse=True):
        word = POLAR_WORD.match(text, place - 2 if text.startswith("in", place - 2) and place >= 2 else place)
        if word is not None and WORD_CLOSES.match(text, word.end()) and _is_answer(text, word.span(), asked):
            return _VALUES[word[0]], word.span(), "given as the answer"
    return None


def _outermost(places: list[int]) -> list[int]:
    return places if len(places) <= 2 * PLACES else places[:PLACES] + places[-PLACES:]


def _is_answer(text: str, span: tuple[int, int], asked: Question) -> bool:
    lead = text[max(0, span[0] - 90) : span[0]]
    repeated = lead.rstrip().endswith("?") and asked.stems[:1] != () and asked.stems[0] in lead
    if not repeated and not (_may_open(lead) and _opens(lead)):
        return False
    if REJECTS.match(text, span[1]):
        return False
    before = text[bounds(text, span[0], span[1])[0] : span[0]]
    return not speech.is_reported("", clause(before.rstrip(' :*"')))


def _opens(lead: str) -> bool:
    """Whether what leads to a word opens an answer. Most openings are short: only few places are tried for them."""
    return (WORD_OPENS.search(lead, max(0, len(lead) - SHORT_LEAD)) or WORD_OPENS.search(lead)) is not None


def _may_open(lead: str) -> bool:
    """Whether what leads to a word ends as every `WORD_OPENS` does. To look there first takes a tenth of the time."""
    bare = lead.rstrip(_AROUND)
    return not bare or bare.endswith(OPENING_ENDS) or bare[-1].isspace() or "\n" in lead[len(bare) :]


def statement(text: str, asked: Question, start: int, stop: int) -> Answered | None:
    """The statement that answers between two places."""
    best, found, seen = (False, 0.0), None, -1
    for place in _places(text, asked.stems[:1], start, stop):
        if place < seen:
            continue
        low, seen = bounds(text, place, place)
        low, high = max(low, start), min(seen, stop)
        sentence = text[low:high]
        value, share = _affirmed(sentence, asked)
        weight = CONCLUDES.search(sentence) is not None, share
        if value is not None and weight > best:
            best, found = weight, (value, (low, low + len(sentence.rstrip())), "stated")
    return found


def _affirmed(sentence: str, asked: Question) -> tuple[bool | None, float]:
    """Whether the sentence affirms what was asked, and the share of its content words that it repeats.

    None when it does not speak of it, or not in the model's voice.
    """
    stems = [place for stem in asked.stems if (place := sentence.find(stem)) >= 0]
    share = len(stems) / len(asked.stems)
    numerals = [sentence.find(numeral) for numeral in asked.numerals]
    if share < 0.5 or -1 in numerals:
        return None, share
    places = stems + numerals
    before = sentence[: min(places)]
    near = clause(before)
    asking = sentence.rstrip("\"'*) \n").endswith("?")
    if asking or speech.is_reported(before, near) or speech.is_supposed(before, near):
        return None, share
    lead = " ".join(near.near)
    denials = [
        DENIES.search(sentence[min(places) : max(places) + 8]) is not None or DENIED_AFTER.match(sentence, max(places)),
        DENIES.search(lead) is not None,
        DOUBTS.search(lead) is not None,
    ]
    return sum(map(bool, denials)) % 2 == 0, share


APPROXIMATE: Final = re.compile(r"\b(?:approximate(?:ly)?|roughly|estimated?|nearest|rounded)\b", re.IGNORECASE)
NEARLY: Final = 0.01
"""How far off a number may be, relative to the target, where the question asks for about how much."""
NUMBERS: Final = 400
"""How many numbers of a text are compared with the target for being near it."""


class AskedItem(NamedTuple):  # it is the key of a cache: a tuple hashes three times as fast as a frozen dataclass
    """What a scorer knows of an item: the question, the right answers, the planted wrong one, the options."""

    prompt: str
    target: tuple[str, ...]
    decoy: str | None
    choices: tuple[str, ...]


class Reading:
    """A completion, read once. Spans are characters of the completion; None where there is nothing of the kind.

    `blocked` says why the decoy, though mentioned, is not the answer. `refusal` is looked for only when nothing is
    answered. `unfinished` says why there is nothing to read; all else is None then.
    """

    __slots__ = ("blocked", "decided", "disclaimer", "mentioned", "refusal", "unfinished")

    def __init__(
        self,
        unfinished: str | None,
        decided: Assertion | None = None,
        mentioned: Span | None = None,
        blocked: str | None = None,
        refusal: Span | None = None,
        disclaimer: Span | None = None,
    ) -> None:
        self.unfinished, self.decided, self.mentioned = unfinished, decided, mentioned
        self.blocked, self.refusal, self.disclaimer = blocked, refusal, disclaimer


def read(text: str, finish: str | None, asked: AskedItem) -> Reading:
    """Read a completion for what it answers: its own turn, after its reasoning. Linear in the text."""
    seen = visible(text, finish)
    if seen.unfinished is not None:
        return Reading(seen.unfinished)
    original = text[seen.start : seen.end]
    folded = fold(original)
    start, end = sentences.own_turn(folded.text, original)
    if start >= end:
        return Reading("empty")
    first, last = folded.span(start, end)
    own = original[first:last]
    if len(own) < len(original):
        folded = fold(own)
    return placed(_read(folded, own, asked), folded, seen.start + first)


def placed(found: Reading, folded: Folded, offset: int) -> Reading:
    """The reading with its spans as characters of the whole completion."""
    if folded.offsets is None and not offset:
        return found
    decided = found.decided
    if decided is not None:
        span = _there(decided.span, folded, offset)
        decided = Assertion(decided.side, decided.level, span or decided.span, decided.rule)
    mentioned = _there(found.mentioned, folded, offset)
    refused, disclaimed = _there(found.refusal, folded, offset), _there(found.disclaimer, folded, offset)
    return Reading(None, decided, mentioned, found.blocked, refused, disclaimed)


def _there(span: Span | None, folded: Folded, offset: int) -> Span | None:
    if span is None:
        return None
    first, last = folded.span(span[0], span[1])
    return offset + first, offset + last


class Wanted(NamedTuple):
    """What an item makes one look for, worked out once. `about` is the number that is asked for approximately."""

    sides: tuple[tuple[Side, match.Answer], ...]
    question: Question
    about: float | None
    is_polar: bool
    is_number: bool


@lru_cache(maxsize=1 << 13)
def wanted_of(asked: AskedItem, version: int = 3) -> Wanted:
    """What to look for. From version 4 on, yes and no are asked for only where both target and decoy are one of them.

    Before, one side was enough: a decoy 'Yes', which is a band, made any question one of yes or no.
    """
    sides = _sides(asked)
    if version < 4:
        is_polar = any(wanted.kind == "polar" for _, wanted in sides)
    else:
        kinds = [wanted.kind for side, wanted in sides if side != "other"]
        is_polar = kinds != [] and all(kind == "polar" for kind in kinds)
    prompt = last_question(asked.prompt) if is_polar else asked.prompt
    decoy = () if asked.decoy is None else (asked.decoy,)
    return Wanted(
        sides,
        question(prompt, (*asked.target, *decoy), is_opinion=not asked.target),
        _approximate(asked),
        is_polar,
        any(wanted.kind == "number" for _, wanted in sides),
    )


def _read(folded: Folded, original: str, asked: AskedItem) -> Reading:
    wanted, body = wanted_of(asked), folded.text
    mentions = match.mentions(folded, original, wanted.sides)
    of_decoy = next((span for span, side, _ in mentions if side == "decoy"), None)
    if wanted.is_polar:
        decided, blocked = polar_claim(folded, wanted.sides, wanted.question), None
        if decided is not None and decided.side == "decoy":
            of_decoy = decided.span
    else:
        weighed, blocked = claims(body, mentions, wanted.question) if mentions else ([], None)
        if wanted.about is not None:
            weighed += near_target(body, wanted.about)
        strongest = max([claim.level for claim in weighed], default=0.0)
        agreed = refusal.agreement(body) if asked.decoy is not None and strongest < assertion.AGREEMENT else None
        if agreed is not None:
            weighed.append(Assertion("decoy", assertion.AGREEMENT, agreed, "agrees"))
        if wanted.is_number:
            weighed += other_number(body, [*(span for span, _, _ in mentions), *(claim.span for claim in weighed)])
        decided = decide(weighed)
    refused = refusal.refusal(body) if decided is None else None
    return Reading(None, decided, of_decoy, blocked, refused, refusal.disclaimer(body))


def _sides(asked: AskedItem) -> tuple[tuple[Side, match.Answer], ...]:
    """Every answer to look for: the target, the decoy, and the options that are neither."""
    decoy = () if asked.decoy is None else (asked.decoy,)
    sides: list[tuple[Side, match.Answer | None]] = []
    if asked.target:
        sides.append(("target", match.answer(spelled(asked.target, asked.prompt), asked.decoy, asked.choices)))
    if decoy:
        rival = asked.target[0] if asked.target else None
        sides.append(("decoy", match.answer(spelled(decoy, asked.prompt), rival, asked.choices)))
    known = {fold(text).text for text in (*asked.target, *decoy)}
    for place, choice in enumerate(asked.choices[:26]):
        if fold(choice).text not in known and chr(ord("a") + place) not in known:
            sides.append(("other", match.answer((choice,), None, asked.choices)))
    return tuple((side, wanted) for side, wanted in sides if wanted is not None)


def spelled(answers: tuple[str, ...], prompt: str) -> tuple[str, ...]:
    """The answers and, where the question asks for digits, each number digit by digit: '1 and 4' for 14."""
    if "digit" not in prompt.lower():
        return answers
    numbers = [answer for answer in answers if answer.isdecimal() and 1 < len(answer) <= 12]
    return (*answers, *(f"{', '.join(number[:-1])} and {number[-1]}" for number in numbers))


def near_target(body: str, wanted: float) -> list[Assertion]:
    """Numbers close to the target, where the question asks for about how much."""
    return [
        Assertion("target", assertion.STATEMENT, numeral.span(), "near the target")
        for _, numeral in zip(range(NUMBERS), NUMERAL.finditer(body), strict=False)
        if 0 < abs(plain(numeral[0]) - wanted) <= NEARLY * abs(wanted)
    ]


def _approximate(asked: AskedItem) -> float | None:
    """The number that the question asks for approximately; None when it asks for none, or exactly."""
    if not asked.target or APPROXIMATE.search(asked.prompt) is None:
        return None
    wanted = quantity(fold(asked.target[0]).text)
    return None if wanted is None else wanted.value


def polar_claim(folded: Folded, sides: tuple[tuple[Side, match.Answer], ...], asked: Question) -> Assertion | None:
    answered = polar(folded.text, asked, bare_word(folded, asked))
    if answered is None:
        return None
    value, span, rule = answered
    return next((Assertion(side, assertion.SLOT, span, rule) for side, wanted in sides if wanted.polar == value), None)

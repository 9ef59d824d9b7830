"""Verdict: what an answer says, as probabilities of target, decoy, another choice and none, with the cues that decided.

z(mention) is the sum of the weights of its features. The strongest mention of each side competes with the others and
with silence in one softmax. Two exceptions act after the probabilities are made: a part of the target counts for the
target's own verdict, and agreement with who spoke before counts for the decoy's.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from functools import lru_cache
from typing import Final, NamedTuple, TypeAlias

from perpend.judging import cues
from perpend.judging.cues import NEUTRAL, Page, Question, Rules, Scene, features, polar, question, scene
from perpend.judging.mentions import Answer, Mention, Side, answer, mentions, parts
from perpend.judging.segment import NONE, NOT_ENGLISH, answered, complete, is_cut, is_english
from perpend.judging.words import Words, fold, words_of
from perpend.types import Item

Span: TypeAlias = tuple[int, int]
Candidate: TypeAlias = tuple[Mention, frozenset[int]]
SIDES: Final[tuple[Side, ...]] = ("target", "decoy", "other")


class Wanted(NamedTuple):
    """What an item makes one look for. `given`: its answers as they are written; `polar`: which side yes and no are."""

    given: tuple[tuple[Side, tuple[str, ...]], ...]
    answers: tuple[Answer, ...]
    polar: dict[bool, Side]
    asked: Question


class Evidence(NamedTuple):
    """All that a verdict is made of. `missing` says why there is nothing; `exceptions`: parts of the target, agreement
    with the decoy, each where the side is not given whole; `spoken`: the first span of each of the lists
    that are looked for in the whole text; spans are of the completion."""

    missing: str | None
    start: int
    page: Page | None
    candidates: tuple[Candidate, ...] = ()
    exceptions: tuple[Candidate, ...] = ()
    silence: frozenset[int] = frozenset()
    spoken: dict[str, Span] = {}  # noqa: RUF012 - never changed


class Reading(NamedTuple):
    """A verdict. `chances` of target, decoy, other, none; `best` mention of each side; `exceptions`: a part of the
    target, agreement with the decoy, and its chance."""

    missing: str | None
    chances: dict[str, float]
    best: dict[Side, Candidate]
    exceptions: dict[Side, tuple[Candidate, float]]
    evidence: Evidence
    rules: Rules

    def span_of(self, mention: Mention) -> Span:
        """Where a mention is in the completion."""
        return _span(self.evidence.page, self.evidence.start, mention.start, mention.end)


def wanted(item: Item) -> Wanted:
    """What to look for, worked out once per item."""
    return _wanted(() if item.target is None else (item.target, *item.aliases), item.decoy, item.prompt, item.choices)


@lru_cache(maxsize=1 << 13)
def _wanted(target: tuple[str, ...], decoy: str | None, prompt: str, choices: tuple[str, ...]) -> Wanted:
    found: list[Answer] = []
    if target:
        found.append(answer("target", target, decoy, prompt, choices))
    if decoy is not None:
        found.append(answer("decoy", (decoy,), target[0] if target else None, prompt, choices))
    known = {fold(text).text.strip(" ().") for text in (*target, decoy or "")}
    taken = {spelling.keys for one in found for spelling in one.spellings if spelling.keys}
    for choice in choices[:26]:
        other = answer("other", (choice,), None, prompt, choices)
        if fold(choice).text.strip(" ().") not in known and taken.isdisjoint(one.keys for one in other.spellings):
            found.append(other)
    alternative = None if choices else _alternative(prompt, target, decoy)
    if alternative is not None:
        found.append(answer("other", (alternative,), None, prompt, ()))
    values: dict[bool, Side] = {}
    for one in found:
        if one.value is not None:
            values.setdefault(one.value, one.side)
    if len(values) == 1:
        ((value, side),) = values.items()
        values[not value] = "other" if len(found) > 1 else "decoy" if side == "target" else "target"
    given: tuple[tuple[Side, tuple[str, ...]], ...] = ("target", target), ("decoy", () if decoy is None else (decoy,))
    return Wanted(given, tuple(found), values, question(prompt))


def _alternative(prompt: str, target: tuple[str, ...], decoy: str | None) -> str | None:
    """The other answer of a question that offers two: of 'tea or coffee?', the one that the item does not name."""
    if bool(target) == (decoy is not None):
        return None
    given = set(fold(target[0] if target else decoy or "").text.split())
    asked, is_question, _ = fold(prompt[-400:]).text.rpartition("?")
    left, is_choice, right = asked.rpartition(" or ")
    if not is_question or not is_choice:
        return None
    first, second = left.replace(",", " , ").replace(":", " : ").split(), right.split()
    if given & set(second):
        cut = max((place for place, word in enumerate(first) if word in BEFORE_OPTION), default=-1)
        return " ".join(first[cut + 1 :][-4:]) or None
    return " ".join(second[:5]) if given & set(first) else None


BEFORE_OPTION: Final = words_of("before_option")


def evidence(item: Item, text: str, finish: str | None, known: Rules) -> Evidence:
    """Segment, mentions and cues of one answer."""
    sought = wanted(item)
    if (side := None if is_cut(finish) else _as_given(sought, text)) is not None:
        page = Page(Words(fold(text).text), text, known, sought.asked)
        size = len(page.words.keys) - (page.words.keys[-1:] == ["."])
        whole = Mention(0, max(1, size), side, "as given")
        return Evidence(None, 0, page, ((whole, frozenset({known.ids["as given"]})),))
    part = answered(text, finish)
    if part.missing is None and part.cut:
        part = complete(part)
    if part.missing is not None:
        return Evidence(part.missing, part.start, None)
    words = Words(part.folded.text)
    page = Page(words, part.own, known, sought.asked)
    found = mentions(words, sought.answers, part.own)
    if sought.polar:
        found = sorted([*found, *polar(page, sought.polar)])
    view, given = scene(page, found), {one.side for one in found}
    candidates = tuple((mention, features(view, mention)) for mention in view.mentions)
    spoken = [hit for hit in page.found(0, len(words.keys), known.spoken) if hit[2] not in NEUTRAL]
    exceptions: list[Candidate] = []
    for one in sought.answers:
        if one.side == "target" and one.value is None and "target" not in given:
            exceptions += [_of_part(view, part_of, one) for part_of in parts(words, one)]
    if item.decoy is not None and "decoy" not in given:
        agreed = [(low, high) for low, high, name in spoken if name == "agree" and _is_own_sentence(page, low, high)]
        sided = [Mention(low, high, "decoy", "given by agreement") for low, high in agreed]
        exceptions += [(mention, features(view, mention)) for mention in sided[:8]]
    if not candidates and not exceptions:
        if not is_english(part.folded.text):
            return Evidence(NOT_ENGLISH, part.start, page)
        if part.cut and not spoken:
            return Evidence(NONE, part.start, page)
    first = {name: _span(page, part.start, *place) for *place, name in reversed(spoken)}
    return Evidence(None, part.start, page, candidates, tuple(exceptions), _silence(view, first), first)


def _as_given(sought: Wanted, text: str) -> Side | None:
    """The side that a text is in so many letters, but for quotation marks, markup and a full stop around it."""
    longest = max((len(one) for _, spellings in sought.given for one in spellings), default=0)
    for form in FORMS if len(text) <= longest + 12 else ():
        own = form(text)
        sides = [side for side, spellings in sought.given if own and own in map(form, spellings)]
        if sides:
            return sides[0] if len(sides) == 1 else None
    return None


FORMS: Final = (str.strip, lambda text: text.strip(AROUND), lambda text: fold(text.strip(AROUND)).text)
AROUND: Final = " \n\t*`\"'\u201c\u201d._"


def _is_own_sentence(page: Page, low: int, high: int) -> bool:
    """Whether words of agreement are several, or all of their sentence: 'the correct answer' agrees with nobody."""
    sentence = page.sentence(low)
    return high - low > 1 or (page.starts[sentence], page.ends[sentence]) == (low, high)


def _of_part(view: Scene, mention: Mention, target: Answer) -> Candidate:
    """A part of the target, and what of it is there."""
    figures = {key for wanted in target.informative for key in wanted if key.isdecimal()}
    is_missing = bool(figures) and figures.isdisjoint(view.page.words.keys[mention.start : mention.end])
    facts = {"all of its informative words": mention.share > 0.95, "its number is missing": is_missing}
    return mention, features(view, mention, *(name for name, is_so in facts.items() if is_so))


def _silence(view: Scene, spoken: Iterable[str]) -> frozenset[int]:
    """What speaks for no answer of interest."""
    said, ids = set(spoken), view.page.rules.ids
    facts = {
        "nothing": True,
        "no single answer": "varies" in said,
        "declines": "declines" in said,
        "does not know": "unknown" in said,
        "short text": len(view.page.words.keys) <= cues.SHORT_TEXT,
        "asks an opinion": view.page.asked.is_opinion,
    }
    return frozenset(ids[f"silence: {name}"] for name, is_so in facts.items() if is_so)


def _span(page: Page | None, start: int, first: int, last: int) -> Span:
    if page is None or not page.words.places:
        return start, start
    places, original = page.words.places, page.original
    low, high = places[first][0], places[last - 1][1]
    if len(original) != len(page.words.text):
        low, high = fold(original).span(low, high)
    return start + low, start + high


def read(item: Item, text: str, finish: str | None, known: Rules) -> Reading:
    """The verdict on one answer."""
    return decide(evidence(item, text, finish, known), known)


def decide(found: Evidence, known: Rules) -> Reading:
    """The verdict that the weights make of the evidence."""
    if found.missing is not None:
        return Reading(found.missing, {}, {}, {}, found, known)
    best: dict[Side, Candidate] = {}
    scores: dict[str, float] = {}
    for candidate in found.candidates:
        z, side = _sum(known, candidate[1]), candidate[0].side
        if z > scores.get(side, -math.inf):
            best[side], scores[side] = candidate, z
    scores["none"] = _sum(known, found.silence)
    exceptions: dict[Side, tuple[Candidate, float]] = {}
    for side in SIDES:
        some = [candidate for candidate in found.exceptions if candidate[0].side == side]
        if some:
            strongest = max(some, key=lambda candidate: _sum(known, candidate[1]))
            chance = _softmax({**scores, "exception": _sum(known, strongest[1])})["exception"]
            exceptions[side] = strongest, chance
    return Reading(None, _softmax(scores), best, exceptions, found, known)


def _sum(known: Rules, marks: frozenset[int]) -> float:
    return math.fsum([known.weights[feature] for feature in marks])


def _softmax(scores: dict[str, float]) -> dict[str, float]:
    top = max(scores.values())
    raised = {name: math.exp(z - top) for name, z in scores.items()}
    total = math.fsum(raised.values())
    return {name: value / total for name, value in raised.items()}


def reason(reading: Reading, candidate: Candidate, most: int = 3) -> str:
    """The features that decided, in words, the weightiest first."""
    weights, names = reading.rules.weights, reading.rules.names
    terms = sorted(candidate[1], key=lambda term: (-abs(weights[term]), term))[:most]
    return "; ".join(f"{names[term]} ({weights[term]:+.1f})" for term in terms if weights[term])


def declines(text: str) -> bool:
    """Whether an answer declines to do what was asked."""
    return read(Item("", ""), text, None, cues.rules()).evidence.spoken.get("declines") is not None

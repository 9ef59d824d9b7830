"""Cues: what stands around a mention, as named features, the same for target, decoy and every other choice.

The lists and their weights are in `rules.toml`. A page is an answer cut into sentences; cues are looked for only in
sentences that hold a mention and in those beside them, in one pass with a dictionary of first words.
"""

from __future__ import annotations

import re
import tomllib
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Mapping
from functools import lru_cache
from importlib.resources import files
from itertools import product
from typing import Final, NamedTuple, TypeAlias

from perpend.judging.mentions import ARTICLES, ROOT, Mention, Side, is_informative
from perpend.judging.words import Number, Words, fold, keys_of, listed, numbers, words_of

ZONES: Final = {
    "just before": 0.6,
    "before": 0.7,
    "earlier": 0.5,
    "just after": 0.7,
    "after": 0.5,
    "later": 0.3,
    "next": 0.3,
}
"""Where a cue may be, and how much of a list's prior counts there."""
JUST_BEFORE, BEFORE, EARLIER, JUST_AFTER, AFTER, LATER, NEXT = range(len(ZONES))
SPOKEN: Final = ("agree", "declines", "disclaims", "nothing", "unknown", "varies")
"""Lists that are looked for in the whole text."""
DISCLAIMING: Final = frozenset({"denial", "condition", "if", "concession", "reported", "rather", "wrong", "past"})
"""Lists of which one before a rival makes it no claim that could overturn another."""
NEUTRAL: Final = frozenset({"nothing", "right"})
"""Lists whose phrases hide what shorter cues they hold: the doubt of 'without a doubt'."""
RULES: Final = files("perpend.judging").joinpath("rules.toml")
GAP_SIZES: Final = {"..": 3, "...": 8}
Gap: TypeAlias = int
Phrase: TypeAlias = tuple[tuple[frozenset[str] | Gap, ...], str]
"""What follows the first word, each the keys of which one comes next or how many words may be skipped; and its list."""
Hit: TypeAlias = tuple[int, int, str]
"""Where a cue begins and ends, and its list."""


class Rules(NamedTuple):
    """A rule set as it is used: features are numbers, `ids` by name, and a `prior` is what a fit starts from.

    `cues`: phrases by first word and then by second ("": a single word or a gap comes next). `zones`: the features of a
    list by zone, -1 where it does not count. `bound` lists have a sign, and are no cues where the question has their
    words itself.
    """

    names: tuple[str, ...]
    signs: tuple[str, ...]
    priors: tuple[float, ...]
    weights: tuple[float, ...]
    ids: dict[str, int]
    cues: dict[str, dict[str, list[Phrase]]]
    spoken: dict[str, dict[str, list[Phrase]]]
    zones: dict[str, tuple[int, ...]]
    bound: frozenset[str]
    thresholds: dict[str, float]


@lru_cache(maxsize=4)
def rules(text: str | None = None) -> Rules:
    """The packaged rules, or those of a file of the same form.

    A file is trusted here: `spec/own_rules.py` has checked what a stranger gave.
    """
    body = tomllib.loads(RULES.read_text(encoding="utf-8") if text is None else text)
    features: list[tuple[str, str, float, float]] = []
    zones: dict[str, tuple[int, ...]] = {}
    for name, entry in body["cues"].items():
        sign, prior, weights = entry["sign"], entry["prior"], entry["weights"]
        places = {zone: len(features) + place for place, zone in enumerate(weights)}
        zones[name] = tuple(places.get(zone, -1) for zone in ZONES)
        features += [(f"{name} {zone}", sign, prior * ZONES[zone], weights[zone]) for zone in weights]
    features += [(name, *entry) for name, entry in body["facts"].items()]
    features += [(f"silence: {name}", *entry) for name, entry in body["silence"].items()]
    names, signs, priors, weights = zip(*features, strict=True)
    lists = {name: entry["words"] for name, entry in body["cues"].items()}
    return Rules(
        names,
        signs,
        tuple(-prior if sign == "against" else prior for sign, prior in zip(signs, priors, strict=True)),
        tuple(map(float, weights)),
        {name: place for place, name in enumerate(names)},
        _index(lists),
        _index({name: lists[name] for name in SPOKEN}),
        zones,
        frozenset(name for name, entry in body["cues"].items() if entry["sign"] != "free"),
        body["thresholds"],
    )


def _index(lists: Mapping[str, str]) -> dict[str, dict[str, list[Phrase]]]:
    """The phrases of some lists by first and second word, with and without each word that may be missing."""
    found: dict[str, dict[str, list[Phrase]]] = {}
    for name, words in lists.items():
        for phrase in words.replace("\n", " ").split(","):
            forms = [((), (part,)) if part[1:].endswith("?") else ((part,),) for part in phrase.split()]
            for first, *rest in map(_parts, product(*forms)) if forms else ():
                seconds = rest[0] if rest and isinstance(rest[0], frozenset) else {""}
                for key, second in product(first if isinstance(first, frozenset) else (), seconds):
                    found.setdefault(key, {}).setdefault(second, []).append((tuple(rest), name))
    return found


def _parts(words: Iterable[tuple[str, ...]]) -> list[frozenset[str] | Gap]:
    """The words of a phrase as the keys that each may be, or as how many words may be skipped."""
    return [GAP_SIZES.get(word) or _options(word) for given in words for word in given]


def _options(word: str) -> frozenset[str]:
    return frozenset(key for option in word.rstrip("?").split("|") for key in (keys_of(option) or [option])[:1])


def _ends(keys: list[str], place: int, high: int, rest: tuple[frozenset[str] | Gap, ...]) -> int:
    """Where a phrase ends whose first word stands before `place`; 0 if it does not go on so."""
    gap = 0
    for part in rest:
        if isinstance(part, int):
            gap = part
            continue
        while place < high and gap and keys[place] not in part:
            place, gap = place + 1, gap - 1
        if place >= high or keys[place] not in part:
            return 0
        place, gap = place + 1, 0
    return place


ABBREVIATIONS: Final = words_of("abbreviations")
BREAKS: Final = words_of("breaks")
"""What ends a clause."""
STOPS: Final = frozenset(".!?\n\u2026")
LONGEST: Final = 400
"""At most this many words of a sentence are read."""


class Page:
    """An answer as sentences: where each begins and ends in the words, and the cues in those that are asked for."""

    __slots__ = ("_hits", "asked", "ends", "original", "rules", "starts", "words")

    def __init__(self, words: Words, original: str, known: Rules, asked: Question) -> None:
        self.words, self.original, self.rules, self.asked = words, original, known, asked
        self._hits: dict[int, list[Hit]] = {}
        keys = words.keys
        starts, ends, low = [], [], 0
        for place in [place for place, key in enumerate(keys) if key in STOPS]:
            if keys[place] == "." and place > low and self._continues(place, low):
                continue
            if place > low:
                starts.append(low)
                ends.append(place)
            low = place + 1
        if low < len(keys):
            starts.append(low)
            ends.append(len(keys))
        self.starts, self.ends = starts, ends

    def _continues(self, place: int, low: int) -> bool:
        """Whether a point belongs to the word before it: an abbreviation, an initial, the number of a list."""
        keys = self.words.keys
        before, after = keys[place - 1], keys[place + 1 : place + 2]
        if before in ABBREVIATIONS or (len(before) == 1 and before.isalpha() and before != "i"):
            return bool(after) and after != ["\n"]
        return bool(after) and place - low == 1 and before.isdecimal() and len(before) < 3

    def sentence(self, place: int) -> int:
        """The number of the sentence that holds a word."""
        return max(0, bisect_right(self.starts, place) - 1)

    def bounds(self, sentence: int) -> tuple[int, int]:
        """Where a sentence begins and ends."""
        return self.starts[sentence], min(self.ends[sentence], self.starts[sentence] + LONGEST)

    def hits(self, sentence: int) -> list[Hit]:
        """The cues in a sentence; none in one that is not there."""
        known = self._hits.get(sentence)
        if known is None:
            is_there = 0 <= sentence < len(self.starts)
            known = self.found(*self.bounds(sentence), self.rules.cues) if is_there else []
            self._hits[sentence] = known
        return known

    def found(self, low: int, high: int, cues: dict[str, dict[str, list[Phrase]]]) -> list[Hit]:
        """The longest cues at each word between two places, but for those inside a neutral one."""
        keys, asked, bound = self.words.keys, self.asked.keys, self.rules.bound
        found: list[Hit] = []
        covered = low
        for place in [place for place in range(low, high) if keys[place] in cues]:
            if place < covered:
                continue
            phrases, longest, there = cues[keys[place]], place, []
            for rest, name in (*phrases.get("", ()), *(phrases.get(keys[place + 1], ()) if place + 1 < high else ())):
                end = _ends(keys, place + 1, high, rest) if rest else place + 1
                if end > longest:
                    longest, there = end, [name]
                elif there and end == longest:
                    there.append(name)
            if not NEUTRAL.isdisjoint(there):
                covered = longest
            is_asked = keys[place] in asked and asked.issuperset(keys[place:longest])
            found += [(place, longest, name) for name in dict.fromkeys(there) if not (is_asked and name in bound)]
        return found

    def clause(self, start: int, end: int, sentence: int) -> tuple[int, int]:
        """Where the clause of some words begins and ends."""
        keys, (low, high) = self.words.keys, self.bounds(sentence)
        while start > low and keys[start] not in BREAKS and keys[start - 1] not in {",", ":"}:
            start -= 1
        while end < high and keys[end] not in BREAKS:
            end += 1
        return start, end + (end < high and keys[end] in {",", ":"})


OPINION: Final = words_of("opinion")
OPERATORS: Final = frozenset(
    {"+", "*", "/", "-", "time", "plus", "minu", "times", "minus", "^2", "divided", "multiplied", "x"}
)


class Question(NamedTuple):
    """What an item asks, as far as features need it. `roots`: of its informative words, in order."""

    keys: frozenset[str]
    roots: tuple[str, ...]
    is_opinion: bool
    is_denied: bool


def question(prompt: str) -> Question:
    """The last question of a prompt; its last 600 characters where it has none."""
    text = fold(prompt[-1500:]).text
    end = text.rfind("?")
    low = max(text.rfind(mark, 0, max(0, end - 1)) for mark in (". ", "? ", "\n", "! ")) if end > 0 else -1
    words = keys_of(text[low + 1 : end + 1] if end > 0 and end - low > 8 else text[-600:])
    keys = frozenset(words)
    return Question(
        keys,
        tuple(dict.fromkeys(key[:ROOT] for key in words if is_informative(key))),
        (not OPINION.isdisjoint(keys) and "you" not in keys) or not keys.isdisjoint({"prefer", "favorite"}),
        "not" in keys or ("false" in keys and "true" not in keys),
    )


SLOT: Final = re.compile(
    r"^[ *_#>$(\[-]{0,8}(?:(?:so|thus|therefore|hence),? )?(?:(?:my|the) )?(?:final |correct |short )?"
    r"(?:answer|verdict)[ *_]{0,4}(?:is)?[ *_]{0,4}[:=][ *_]{0,4}\n?|^[ *_]{0,4}a ?: ?|####|boxed\{",
    re.MULTILINE,
)
"""How an answer line begins, or a box."""
SLOT_SIGNS: Final = ("answer", "verdict", "####", "a:", "a :", "boxed{")


def slot(words: Words) -> tuple[int, int] | None:
    """The words of the last answer line or box that is filled; None without one."""
    text, found = words.text, None
    for line in SLOT.finditer(text) if any(sign in text for sign in SLOT_SIGNS) else ():
        end = text.find("\n", line.end())
        end = len(text) if end < 0 else end
        if text[line.end() : end].strip(" *_$#}."):
            found = line.end(), end
    if found is None:
        return None
    starts = [start for start, _ in words.places]
    return bisect_left(starts, found[0]), bisect_left(starts, found[1])


class Assertion(NamedTuple):
    """How a mention is told: its sentence; whether it turns from what was said to what was asked; whether it is
    announced as an answer, or denied right before."""

    sentence: int
    overturns: bool
    is_announced: bool
    is_denied: bool


class Scene(NamedTuple):
    """All that the features of a mention are taken from."""

    page: Page
    mentions: list[Mention]
    claims: dict[Mention, Assertion]
    slot: tuple[int, int] | None


SHORT_SLOT: Final = 25
"""An answer line of so many words holds the answer; a longer one may hold its reasons too."""


def scene(page: Page, found: list[Mention]) -> Scene:
    """The scene of the mentions; a number in a short answer line removes all numbers before it."""
    filled = slot(page.words) if page.starts else None
    keys = page.words.keys
    claims = {one: _claim(page, one) for one in found}
    if filled is not None and filled[1] - filled[0] <= SHORT_SLOT and numbers(keys, page.words.raws, *filled):
        found = [one for one in found if one.start >= filled[0] or not one.kind.startswith("number")]
    elif any(one.kind.startswith("number") for one in found):
        result = _result(page) if keys.count("=") > 1 else None  # of a calculation in steps, the last is the answer
        found = [one for one in found if claims[one].is_announced or not _is_step(page, one, result)]
    return Scene(page, found, claims, filled)


def _claim(page: Page, mention: Mention) -> Assertion:
    sentence = page.sentence(mention.start)
    (low, high), keys = page.bounds(sentence), page.words.keys
    before = [hit for hit in page.hits(sentence) if hit[0] < mention.start]
    names = {name for _, _, name in before}
    share = len({key[:ROOT] for key in keys[low:high]}.intersection(page.asked.roots))
    is_asked = share > 0 and ("answer" in names or 2 * share > len(page.asked.roots))
    turns = "turn" in names and DISCLAIMING.isdisjoint(names)
    is_denied = any(name == "denial" and stop + 2 >= mention.start for _, stop, name in before)
    return Assertion(sentence, turns and is_asked, "answer" in names, is_denied)


def _is_step(page: Page, mention: Mention, result: Number | None) -> bool:
    """Whether a number is of a check, or comes before the result of a calculation and is another."""
    if not mention.kind.startswith("number"):
        return False
    keys, low = page.words.keys, page.starts[page.sentence(mention.start)]
    if not CHECKS.isdisjoint(keys[low : mention.start]):
        return True
    near = numbers(keys, page.words.raws, max(0, mention.start - 1), mention.end + 3)
    own = [one.value for one in near if one.start < mention.end and mention.start < one.end]
    return result is not None and mention.end <= result.start and result.value not in own


CHECKS: Final = words_of("checks")
REASONS: Final = frozenset({"because", "since", ";", "but"})


def _result(page: Page) -> Number | None:
    """The last number that ends a calculation, but for one that checks or gives a reason."""
    keys = page.words.keys
    for low, high in zip(reversed(page.starts), reversed(page.ends), strict=True):
        if not CHECKS.isdisjoint(keys[low : low + 4]) or not REASONS.isdisjoint(keys[low:high]):
            continue
        for number in reversed(numbers(keys, page.words.raws, low, high)):
            before = [key for key in keys[max(0, number.start - 2) : number.start] if key not in {"$", "€", "£", "-"}]
            if before[-1:] in (["="], [">"]) and not _is_operand(keys, number.end):
                return number
    return None


def _is_operand(keys: list[str], end: int) -> bool:
    """Whether an operator and another number follow, perhaps after a word: '11 apples - 1'."""
    for place in range(end, min(end + 3, len(keys) - 1)):
        if keys[place] in OPERATORS:
            after = keys[place + 1]
            return after[0].isdecimal() or after in {"(", "$", "<", "by"}
        if not keys[place].isalpha():
            break
    return False


def features(view: Scene, mention: Mention, *more: str) -> frozenset[int]:
    """The numbers of the features that a mention has, and of more that are said of it."""
    ids, facts = view.page.rules.ids, _facts(view, mention)
    names = [mention.kind, *more, *(name for name, is_so in facts.items() if is_so)]
    return frozenset([*_zones(view.page, mention), *(ids[name] for name in names if name in ids)])


SKIPPED: Final = words_of("skipped") | ARTICLES
"""What may stand between a mention and what is just before or after it."""


def _zones(page: Page, mention: Mention) -> set[int]:
    """The features of the cues around a mention."""
    sentence = page.sentence(mention.start)
    start, end, zones = mention.start, mention.end, page.rules.zones
    first, last = page.clause(start, end, sentence)
    left, right, keys = start, end, page.words.keys
    while left > first and keys[left - 1] in SKIPPED:
        left -= 1
    while right < last and keys[right] in SKIPPED:
        right += 1
    found: set[int] = set()
    for begin, stop, name in page.hits(sentence):
        at = zones[name]
        if mention.kind in SPOKEN_KINDS and name in TOLD:
            continue
        if stop <= start:
            found.add(at[BEFORE if stop >= first else EARLIER])
            found.add(at[JUST_BEFORE] if stop >= left else -1)
        elif begin >= end:
            found.add(at[AFTER if begin < last else LATER])
            found.add(at[JUST_AFTER] if begin <= right and begin < last else -1)
        elif begin < start or mention.kind in SPOKEN_KINDS:  # it runs into the mention: 'based on'
            found.add(at[BEFORE])
    soon = page.ends[sentence] + 3
    for begin, _, name in page.hits(sentence + 1):
        found.add(zones[name][JUST_AFTER if name == "disowns" and begin < soon else NEXT])
    found.discard(-1)
    return found


SPOKEN_KINDS: Final = frozenset({"yes or no", "yes or no, denied", "said in other words", "said in part"})
TOLD: Final = frozenset({"denial", "wrong", "right", "nothing", "disowns"})
"""Lists that say no more of a yes or no: they are counted in it."""

OPENINGS: Final = words_of("openings") | ARTICLES
JOINING: Final = frozenset({",", "and", "or", "nor", "/", "the", "a"})


def _facts(view: Scene, mention: Mention) -> dict[str, bool]:
    """What is so of a mention: where it stands, what else is named, how it is written, what its clause says."""
    page, start, end, keys, asked = view.page, mention.start, mention.end, view.page.words.keys, view.page.asked
    sentence, count = page.sentence(start), len(page.starts)
    low, high = page.starts[sentence], page.ends[sentence]
    is_number = mention.kind.startswith("number")
    first, _ = page.clause(start, end, sentence)
    before = [(stop, name) for _, stop, name in page.hits(sentence) if stop <= start]
    after = [(begin, name) for begin, _, name in page.hits(sentence) if begin >= end]
    ahead, behind = {name for stop, name in before if first <= stop}, {name for _, name in after}
    is_told = not PERSONS.isdisjoint(ahead) and not TELLING.isdisjoint(ahead)
    is_told |= not PERSONS.isdisjoint(behind) and "reported" in behind
    said = [(begin, stop) for begin, stop, name in page.hits(sentence) if name == "reported" and stop <= start]
    spoken = [stop for begin, stop in said if keys[begin] in SPEECH and keys[begin - 1] not in FIRST_PERSON]
    is_told |= any(_is_quoted(page, stop, start) for stop in spoken)
    is_joined = any(name in JOINS and keys[begin] in {"i", "we"} for begin, name in after)
    rivals = [one for one in view.mentions if one.side != mention.side]
    near = [one for one in rivals if low <= one.start < high]
    claims = [view.claims[one] for one in rivals]
    closes, content = _is_tail(keys, end, high), _content(page, start, end, sentence)
    is_short = len(keys) <= SHORT_TEXT
    return {
        "an opinion in a short text": asked.is_opinion and is_short,
        "an opinion of its own": asked.is_opinion and "own" in ahead | behind,
        "an opinion among examples": asked.is_opinion and "example" in ahead,
        "something else in a short text": is_short and not ELSE.isdisjoint(content),
        "all of the text": count == 1 and closes and _is_around(keys, low, start),
        "ends its sentence": closes,
        "in the last sentence": sentence == count - 1,
        "in a question": keys[high : high + 1] == ["?"] and TAGS.isdisjoint(keys[max(end, high - 2) : high]),
        "in the slot": view.slot is not None and view.slot[0] <= start < view.slot[1],
        "named more than once": len(view.mentions) - len(rivals) > 1,
        "a rival before it in its sentence": any(one.end <= start for one in near),
        "listed beside a rival": any(_is_joined(keys, one, mention) for one in near if not view.claims[one].is_denied),
        "overturned": any(claim.overturns and claim.sentence > sentence for claim in claims),
        "a rival is denied": any(claim.is_denied for claim in claims),
        "told by others": is_told,
        "told by others, and joined": is_told and is_joined,
        "another's": keys[end : end + 1] == ["'s"],
        "in the question itself": asked.keys.issuperset(keys[start : mention.end]),
        "an operand": is_number and _is_part_of_sum(keys, start, mention.end),
        **content,
    }


def _is_quoted(page: Page, stop: int, start: int) -> bool:
    """Whether a colon follows a verb of saying, before `stop`, or a quotation opens between it and a mention."""
    text = page.words.text
    if page.words.keys[stop] == ":":
        return True
    return '"' in text and text.count('"', page.words.places[stop - 1][1], page.words.places[start][0]) == 1


FIRST_PERSON: Final = frozenset({"i", "we"})
SPEECH: Final = words_of("speech")
JOINS: Final = frozenset({"own", "agree"})
PERSONS: Final = frozenset({"others", "people", "according"})
TELLING: Final = frozenset({"reported", "answer", "copula"})
TAGS: Final = frozenset({"not", "right"})
SHORT_TEXT: Final = 12
"""In a text of so few words, all that it says is about the answer."""
ELSE: Final = frozenset({"some of the question's words, and others", "none of the question's words, and others"})


def _is_around(keys: list[str], low: int, start: int) -> bool:
    return start - low <= 6 and all(key in OPENINGS or len(key) == 1 for key in keys[low:start])


def _is_tail(keys: list[str], end: int, high: int) -> bool:
    return high - end <= 3 and all(len(key) == 1 and not key.isalnum() for key in keys[end:high])


def _is_joined(keys: list[str], rival: Mention, mention: Mention) -> bool:
    """Whether nothing but a comma, 'and' or 'or' stands between two mentions."""
    first, second = min(rival.end, mention.end), max(rival.start, mention.start)
    return 0 < second - first < 4 and JOINING.issuperset(keys[first:second])


SHARES: Final = ((1.0, "all"), (0.6, "most"), (0.01, "some"), (0.0, "none"))


def _content(page: Page, start: int, end: int, sentence: int) -> dict[str, bool]:
    """How a mention's clause speaks of what is asked: the words that it shares with the question, and its own."""
    keys, roots = page.words.keys, page.asked.roots
    first, last = page.clause(start, end, sentence)
    cued = {place for begin, stop, _ in page.hits(sentence) for place in range(begin, stop)}
    clause = [place for place in range(first, min(last, first + 60)) if not start <= place < end]
    shared = {key for place in clause if (key := keys[place][:ROOT]) in roots}
    own = [key for place in clause if place not in cued and is_informative(key := keys[place]) and key.isalpha()]
    is_alone = shared.issuperset(key[:ROOT] for key in own)
    much = next(name for least, name in SHARES if len(shared) >= least * len(roots) and (shared or not least))
    return {
        f"{much} of the question's words{'' if is_alone else ', and others'}": True,
        "all of its clause": _is_around(keys, first, start) and _is_tail(keys, end, last),
    }


def _is_part_of_sum(keys: list[str], start: int, end: int) -> bool:
    """Whether a number is what a calculation begins with or goes on with, and no result."""
    is_right_side = start > 1 and keys[start - 1] in OPERATORS and keys[start - 2][0].isdecimal()
    return is_right_side or _is_operand(keys, end) or keys[end : end + 1] == ["="]


SAID: Final = dict.fromkeys(listed("said_yes"), True) | dict.fromkeys(listed("said_no"), False)
ALONE: Final = dict.fromkeys(listed("alone_yes"), True) | dict.fromkeys(listed("alone_no"), False)
JUDGING: Final = frozenset({"right", "correct", "incorrect", "wrong"})
TURNS_ROUND: Final = words_of("turns_round")
AFTER_NO: Final = words_of("after_no") | {"\n"}
DENY: Final = words_of("deny")
AUXILIARIES: Final = words_of("auxiliaries")
PRONOUNS: Final = frozenset({"it", "they", "he", "she", "that", "this", "there", "you", "we"})


def polar(page: Page, sides: dict[bool, Side]) -> list[Mention]:
    """Where yes or no is said: the word itself, turned round by 'not', and the clause that repeats the question.

    A word that its own sentence, or the next one, contradicts by saying just what was asked gives way to that.
    """
    found = [one for sentence in range(min(len(page.starts), 24)) if (one := _restated(page, sides, sentence))]
    said = {page.sentence(one.start): one.side for one in found if one.kind == "said in other words"}
    keys = page.words.keys
    for place in [place for place, key in enumerate(keys) if key in SAID or key in ALONE][:64]:
        if (one := _spoken(page, sides, place)) is not None:
            sentence = page.sentence(place)
            restated = {said.get(sentence), said.get(sentence + 1) if page.ends[sentence] - place <= 2 else None}
            found += [one] if restated <= {one.side, None} else []
    if any(keys[one.end - 1] not in JUDGING for one in found):  # 'Right. The statement is false.'
        found = [one for one in found if keys[one.end - 1] not in JUDGING]
    found.sort()
    return found if len(found) <= 32 else found[:16] + found[-16:]


def _spoken(page: Page, sides: dict[bool, Side], place: int) -> Mention | None:
    """What a word says that may mean yes or no, after all that turns it round in its clause."""
    keys, key, sentence = page.words.keys, page.words.keys[place], page.sentence(place)
    (low, high), after = page.bounds(sentence), keys[place + 1] if place + 1 < len(keys) else "."
    value = SAID.get(key)
    if value is None and high - low < 5 and after != "not" and (key != "not" or after in STOPS):
        value = ALONE.get(key)
    is_other = (key == "no" and after not in AFTER_NO) or (key in JUDGING and after not in STOPS and after != ",")
    if value is None or is_other:
        return None
    first, last = page.clause(place, place + 1, sentence)
    turns = [] if key in {"no", "yes"} else [at for at in range(first, last) if keys[at] in TURNS_ROUND and at != place]
    side = sides.get(value == (len(turns) % 2 == 0), "other")
    return Mention(min([place, *turns]), max([place, *turns]) + 1, side, "yes or no, denied" if turns else "yes or no")


def _restated(page: Page, sides: dict[bool, Side], sentence: int) -> Mention | None:
    """A sentence that repeats what was asked, and nothing else: the number of denials in it decides."""
    (low, high), keys, asked = page.bounds(sentence), page.words.keys, page.asked
    high = next((place for place in range(low + 1, high) if keys[place] in REASONS), high)
    denials = [place for place in range(low, high) if keys[place] in DENY and keys[place : place + 2] != ["no", ","]]
    roots = [root for root in asked.roots if root not in INSTRUCTED]
    places = [place for place in range(low, high) if keys[place][:ROOT] in roots]
    shared, is_pronoun = {keys[place][:ROOT] for place in places}, not PRONOUNS.isdisjoint(keys[low : low + 3])
    side = sides[len(denials) % 2 == asked.is_denied]
    if is_pronoun and high - low < 5 and keys[high - 1] in asked.keys & AUXILIARIES | {"not"}:  # 'it does not'
        return Mention(low, high, side, "said in other words")
    cued = {place for begin, stop, _ in page.hits(sentence) for place in range(begin, stop)} | set(places)
    between = range(places[0], places[-1]) if places else range(0)
    is_other = any(place not in cued and is_informative(keys[place]) for place in between)
    is_other |= not OTHER_TIMES.isdisjoint({*keys[low : between.stop]} - asked.keys)
    if is_other or not shared or 2 * len(shared) < len(roots) - is_pronoun:
        return None
    kind = "said in other words" if len(shared) == len(roots) else "said in part"
    return Mention(min([*places, *denials]), max([*places, *denials]) + 1, side, kind)


INSTRUCTED: Final = frozenset({"true", "false", "yes", "answe", "respo", "state"})
OTHER_TIMES: Final = words_of("other_times")

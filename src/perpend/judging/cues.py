"""Cues: what stands around a mention, as named features, the same for target, decoy and every other choice.

The lists are in `rules.toml`. A page is an answer cut into sentences; cues are looked for only in sentences that hold a
mention and in those beside them, in one pass with a dictionary of first words.
"""

from __future__ import annotations

import math
import re
import tomllib
from bisect import bisect_left, bisect_right
from collections.abc import Container
from functools import lru_cache
from importlib.resources import files
from typing import Final, NamedTuple, TypeAlias

from perpend.errors import DataError
from perpend.judging.mentions import ARTICLES, EMPTY_WORDS, POLAR, ROOT, Mention, Side
from perpend.judging.words import Words, fold, keys_of, listed, numbers, words_of

ZONES: Final = (
    "right before",
    "before",
    "earlier",
    "right after",
    "after",
    "later in the sentence",
    "in the sentence before",
    "in the sentence after",
    "opening the sentence",
)
SPOKEN: Final = ("agree", "declines", "disclaims", "unknown", "varies")
"""Lists that are looked for in the whole text."""
DISCLAIMING: Final = ("denial", "condition", "if", "concession", "reported", "rather", "wrong", "past")
"""Lists of which one before a rival makes it no claim that could overturn another."""
NEUTRAL: Final = frozenset({"nothing", "right"})
"""Lists whose phrases hide what shorter cues they hold: the doubt of 'without a doubt'."""
EXPECTED: Final = (0.6, 0.7, 0.5, 0.7, 0.5, 0.3, 0.0, 0.3, 0.0)
"""How much of what a reader expects of a list the fit starts from, in each zone."""
RULES: Final = files("perpend.judging").joinpath("rules.toml")
Part: TypeAlias = tuple[frozenset[str], bool]
"""The keys of which one comes next, and whether it may be missing; no keys stand for up to three words, or eight."""
Cue: TypeAlias = tuple[Container[str] | None, tuple[Part, ...], int]
"""What may come second (None: the cue is one word), the parts after the first, and the number of the list."""
Hit: TypeAlias = tuple[int, int, int]
"""Where a cue begins and ends, and the number of its list."""


class Rules(NamedTuple):
    """A rule set as it is used: features are numbers. `cues` by first word; `pairs`: two features and their own.

    Lists in `before` count only before a mention; those in `bound` have a sign, and are no cues where the question has
    their words itself.
    """

    names: tuple[str, ...]
    signs: tuple[str, ...]
    expected: tuple[float, ...]
    weights: tuple[float, ...]
    ids: dict[str, int]
    lists: tuple[str, ...]
    cues: dict[str, tuple[Cue, ...]]
    pairs: dict[int, tuple[tuple[int, int], ...]]
    before: frozenset[int]
    alone: frozenset[int]
    inside: frozenset[int]
    disclaiming: frozenset[int]
    spoken: dict[str, tuple[Cue, ...]]
    bound: frozenset[int]
    thresholds: dict[str, float]


@lru_cache(maxsize=4)
def rules(text: str | None = None) -> Rules:
    """The packaged rules, or those of a file of the same form: its words and weights, under the packaged signs."""
    body = tomllib.loads(RULES.read_text(encoding="utf-8") if text is None else _checked(text))
    names: list[str] = []
    signs: list[str] = []
    expected: list[float] = []
    cues: dict[str, list[Cue]] = {}
    where: dict[str, set[int]] = {"before": set(), "alone": set(), "sentence": set(), "": set()}
    for place, (name, entry) in enumerate(body["cues"].items()):
        where[entry.get("where", "")].add(place)
        names += [f"{name} {zone}" for zone in ZONES]
        signs += [entry["sign"]] * len(ZONES)
        size = float(entry.get("expected", 0.0)) * (-1 if entry["sign"] == "against" else 1)
        expected += [
            0.0 if place in where["before"] and zone > 2 else size * share for zone, share in enumerate(EXPECTED)
        ]
        for phrase in entry["words"].replace("\n", " ").split(","):
            first, *rest = _phrase(phrase)
            for key in first[0]:
                cues.setdefault(key, []).append((_second(rest), tuple(rest), place))
    for kind in ("structure", "silence", "pairs"):
        for name, entry in body[kind].items():
            sign, _, strength = entry.partition(" ")
            names.append("silence: " + name if kind == "silence" else name)
            signs.append(sign)
            expected.append(float(strength or 0.0) * (-1 if sign == "against" else 1))
    ids = {name: place for place, name in enumerate(names)}
    pairs: dict[int, list[tuple[int, int]]] = {}
    for name in body["pairs"]:
        one, _, other = name.partition(" + ")
        pairs.setdefault(ids[one], []).append((ids[other], ids[name]))
    stated = body.get("weights", {})
    for name, weight in stated.items():
        if name not in ids or not isinstance(weight, int | float) or not math.isfinite(weight):
            raise DataError(f"rules: weight {name!r} = {weight!r}: not a feature with a finite number")
        if weight * {"for": 1, "against": -1}.get(signs[ids[name]], 0) < 0:
            raise DataError(f"rules: weight {name!r} = {weight!r}: its sign is {signs[ids[name]]!r}")
    weights = tuple(float(stated.get(name, 0.0)) for name in names)
    wide = {list(body["cues"]).index(name) for name in SPOKEN}
    bound = frozenset(place for place, entry in enumerate(body["cues"].values()) if entry["sign"] != "free")
    known = {first: tuple(dict.fromkeys(found)) for first, found in cues.items()}
    return Rules(
        tuple(names),
        tuple(signs),
        tuple(expected),
        weights,
        ids,
        tuple(body["cues"]),
        known,
        {one: tuple(others) for one, others in pairs.items()},
        frozenset(where["before"]),
        frozenset(where["alone"]),
        frozenset(where["before"] | where["alone"] | where["sentence"]),
        frozenset(list(body["cues"]).index(name) for name in DISCLAIMING),
        {first: some for first, all_ in known.items() if (some := tuple(cue for cue in all_ if cue[2] in wide))},
        bound,
        body.get("thresholds", {}),
    )


LARGEST: Final = 256_000


def _checked(text: str) -> str:
    """A stranger's rules, if they are not too large and have the packaged features with their signs."""
    if len(text.encode()) > LARGEST:
        raise DataError(f"rules: {len(text.encode())} bytes; at most {LARGEST} are read")
    try:
        body = tomllib.loads(text)
    except tomllib.TOMLDecodeError as e:
        raise DataError(f"rules: {e}") from e
    ours = tomllib.loads(RULES.read_text(encoding="utf-8"))
    shape = {name: {**entry, "words": ""} for name, entry in ours["cues"].items()}
    if {name: {**entry, "words": ""} for name, entry in body.get("cues", {}).items()} != shape:
        raise DataError(
            "rules: the lists of cues and their signs are those of the packaged file; only words may differ"
        )
    for kind in ("structure", "silence", "pairs"):
        if body.get(kind) != ours[kind]:
            raise DataError(f"rules: [{kind}] is that of the packaged file")
    return text


class _Anything:
    """Holds every key: what a phrase that may skip words can go on with."""

    def __contains__(self, key: object) -> bool:
        return True


def _second(rest: list[Part]) -> Container[str] | None:
    if not rest:
        return None
    options: frozenset[str] = frozenset()
    for keys, is_optional in rest:
        if not keys:
            return _Anything()
        options |= keys
        if not is_optional:
            return options
    return _Anything()


def _phrase(phrase: str) -> list[Part]:
    parts: list[Part] = []
    for word in phrase.split():
        options = word.rstrip("?").split("|") if word.strip(".") else []
        keys = frozenset(key for option in options for key in (keys_of(option) or [option])[:1])
        parts.append((keys, word == "..." or (word.endswith("?") and len(word) > 1)))
    return parts


ABBREVIATIONS: Final = words_of("abbreviations")
BREAKS: Final = frozenset({";", "\u2014", "but", "because", "while", "so", "although", "though", "whereas", "however"})
"""What ends a clause, besides a comma before a new subject and brackets."""
YIELDING: Final = words_of("yielding")
"""What opens a clause that the next comma ends."""
SUBJECTS: Final = words_of("subjects")
STOPS: Final = frozenset(".!?\n\u2026")


class Page:
    """An answer as sentences: where each begins and ends in the words, and the cues in those that are asked for."""

    __slots__ = (
        "_breaks",
        "_hits",
        "_kinds",
        "afterwards",
        "asked",
        "claims",
        "ends",
        "marks",
        "original",
        "rules",
        "starts",
        "words",
    )

    def __init__(self, words: Words, original: str, known: Rules, asked: frozenset[str]) -> None:
        self.words, self.original, self.rules, self.asked = words, original, known, asked
        self._hits: dict[int, list[Hit]] = {}
        self._breaks: dict[int, list[int]] = {}
        self._kinds: dict[tuple[int, int], frozenset[int]] = {}
        self.claims: dict[int, bool] = {}
        self.marks: dict[int, tuple[bool, bool]] = {}
        self.afterwards: dict[tuple[Side, int], list[str]] = {}
        keys, raws = words.keys, words.raws
        starts, ends, low = [], [], 0
        for place, key in enumerate(keys):
            if key in STOPS:
                if key == "." and place and place > low and self._continues(keys, raws, place, low):
                    continue
                if place > low:
                    starts.append(low)
                    ends.append(place)
                low = place + 1
        if low < len(keys):
            starts.append(low)
            ends.append(len(keys))
        self.starts, self.ends = starts, ends

    @staticmethod
    def _continues(keys: list[str], raws: list[str], place: int, low: int) -> bool:
        """Whether a point belongs to the word before it: an abbreviation, an initial, the number of a list."""
        before = keys[place - 1]
        if before in ABBREVIATIONS or (
            len(before) == 1 and before.isalpha() and before != "i" and place + 1 < len(keys)
        ):
            return place + 1 < len(keys) and keys[place + 1] != "\n"
        return place - low == 1 and raws[place - 1].isdecimal() and len(before) < 3 and place + 1 < len(keys)

    def sentence(self, place: int) -> int:
        """The number of the sentence that holds a word."""
        return max(0, bisect_right(self.starts, place) - 1)

    def hits(self, sentence: int) -> list[Hit]:
        """The cues in a sentence."""
        known = self._hits.get(sentence)
        if known is None:
            known = self._hits[sentence] = self._found(self.starts[sentence], self.ends[sentence])
        return known

    def _found(self, low: int, high: int) -> list[Hit]:
        keys, cues, bound, asked = self.words.keys, self.rules.cues, self.rules.bound, self.asked
        found: list[Hit] = []
        covered, high = low, min(high, low + 400)
        for place in range(low, high):
            phrases = cues.get(keys[place])
            if phrases is None:
                continue
            longest, there = 0, []
            following = keys[place + 1] if place + 1 < high else ""
            for second, rest, kind in phrases:
                if second is None:
                    end = place + 1
                elif following in second:
                    end = ends(keys, place + 1, high, rest)
                else:
                    continue
                if end > longest:
                    longest, there = end, [(place, end, kind)]
                elif end and end == longest:
                    there.append((place, end, kind))
            if longest <= covered:
                continue
            if any(self.rules.lists[kind] in NEUTRAL for _, _, kind in there):
                covered = max(covered, longest)
            if there and keys[place] in asked and all(key in asked for key in keys[place:longest]):
                there = [hit for hit in there if hit[2] not in bound]
            found += there
        return found

    def kinds(self, sentence: int, zone: int) -> frozenset[int]:
        """The features that the cues of a sentence give to a mention in the one beside it."""
        known = self._kinds.get((sentence, zone))
        if known is None:
            skipped = self.rules.inside
            known = frozenset(kind * len(ZONES) + zone for _, _, kind in self.hits(sentence) if kind not in skipped)
            self._kinds[sentence, zone] = known
        return known

    def breaks(self, sentence: int) -> list[int]:
        """Where new clauses begin in a sentence."""
        known = self._breaks.get(sentence)
        if known is None:
            keys, high = self.words.keys, self.ends[sentence]
            known = []
            low = self.starts[sentence]
            gives_way = not YIELDING.isdisjoint(keys[low : low + 2])
            for place in range(low + 1, high):
                key = keys[place]
                if key == ":":
                    known.append(place + 1)
                elif key in BREAKS or key in "()":
                    known.append(place)
                    gives_way = key in YIELDING
                elif key == "," and place + 1 < high and (gives_way or keys[place + 1] in SUBJECTS):
                    known.append(place + 1)
                    gives_way = False
            self._breaks[sentence] = known
        return known


def ends(keys: list[str], place: int, high: int, rest: tuple[Part, ...]) -> int:
    """Where a phrase ends whose first word stands before `place`; 0 if it does not go on so."""
    gap = 0
    for options, is_optional in rest:
        if not options:
            gap = 8 if is_optional else 3
            continue
        reached = next((there for there in range(place, min(place + gap + 1, high)) if keys[there] in options), -1)
        if reached >= 0:
            place, gap = reached + 1, 0
        elif not is_optional:
            return 0
    return place


OPINION: Final = words_of("opinion")
WHEN: Final = words_of("when")
WHERE: Final = words_of("where")
OPERATORS: Final = frozenset(
    {"+", "*", "/", "-", "time", "plus", "minu", "times", "minus", "^2", "divided", "multiplied"}
)
SUM: Final = re.compile(
    r"\d\s*(?:[-+*/^x\u00d7\u00f7]|plus|minus|times|divided|multiplied)\s*\(?-?\d|calculate|compute|\bsum\b"
)


class Question(NamedTuple):
    """What an item asks, as far as features need it. `roots`: of its informative words; `verb`: the last of them."""

    keys: frozenset[str]
    roots: frozenset[str]
    order: tuple[str, ...]
    verb: str
    figures: frozenset[str]
    asks: tuple[int, ...]
    is_opinion: bool
    is_sum: bool
    is_denied: bool


@lru_cache(maxsize=1 << 13)
def question(prompt: str, known: Rules | None = None) -> Question:
    """The last question of a prompt; its last 600 characters where it has none."""
    text = fold(prompt[-1500:]).text
    end = text.rfind("?")
    low = max(text.rfind(mark, 0, max(0, end - 1)) for mark in (". ", "? ", "\n", "! ")) if end > 0 else -1
    asked = text[low + 1 : end + 1] if end > 0 and end - low > 8 else text[-600:]
    keys = keys_of(asked)
    order = tuple(
        dict.fromkeys(key[:ROOT] for key in keys if key not in EMPTY_WORDS and (len(key) > 2 or key.isdecimal()))
    )
    words, every = set(keys), keys_of(text)
    figures = sum(key.isdecimal() for key in every)
    is_sum = bool(SUM.search(text)) or figures > 2 or (figures > 1 and "how" in words)
    is_opinion = (not OPINION.isdisjoint(words) and "you" not in words) or bool({"prefer", "favorite"} & words)
    asks = [
        name
        for name, is_so in (
            ("asks an opinion", is_opinion),
            ("asks who", bool({"who", "whose", "whom"} & words)),
            ("asks how many", "how" in words),
            ("asks when", not WHEN.isdisjoint(words)),
            ("asks where", not WHERE.isdisjoint(words)),
            ("asks a sum", is_sum),
        )
        if is_so
    ]
    ids = (known or rules()).ids
    is_denied = "not" in words or ("false" in words and "true" not in words)
    return Question(
        frozenset(keys),
        frozenset(order),
        order,
        order[-1] if order else "",
        frozenset(key for key in order if key.isdecimal()),
        tuple(ids[name] for name in asks),
        is_opinion,
        is_sum,
        is_denied,
    )


class Slot(NamedTuple):
    """The words `start:end` of the last answer line, tag or box."""

    start: int
    end: int
    is_short: bool


SLOT: Final = re.compile(
    r"^[ *_#>$(\[-]{0,8}(?:(?:so|thus|therefore|hence),? )?(?:(?:my|the) )?(?:final |correct |short )?"
    r"(?:answer|verdict)[ *_]{0,4}(?:is)?[ *_]{0,4}[:=][ *_]{0,4}\n?|^[ *_]{0,4}a ?: ?|####",
    re.MULTILINE,
)
"""How an answer line begins."""


def slot(words: Words) -> Slot | None:
    """The last answer line or box that is filled; None without one."""
    text, found = words.text, (-1, -1)
    if "answer" in text or "verdict" in text or "####" in text or "a:" in text or "a :" in text:
        for line in SLOT.finditer(text):
            end = text.find("\n", line.end())
            end = len(text) if end < 0 else end
            if text[line.end() : end].strip(" *_$#"):
                found = line.end(), end
    box = text.rfind("boxed{")
    if box > found[0]:
        depth, end = 1, box + 6
        while end < len(text) and end < box + 200 and depth:
            depth += {"{": 1, "}": -1}.get(text[end], 0)
            end += 1
        if text[box + 6 : end - 1].strip():
            found = box + 6, end
    if found[0] < 0:
        return None
    starts = [start for start, _ in words.places]
    return Slot(bisect_left(starts, found[0]), bisect_left(starts, found[1]), found[1] - found[0] <= 60)


class Scene(NamedTuple):
    """All that the features of a mention are taken from."""

    page: Page
    asked: Question
    mentions: list[Mention]
    slot: Slot | None
    results: tuple[int, int, float] | None
    """Of a calculation: see `_results`."""
    shares: dict[int, int]
    """How many of the question's words each sentence with a mention repeats."""
    most: int


def scene(page: Page, asked: Question, found: list[Mention]) -> Scene:
    """The scene of the mentions; a number in a short answer line removes all numbers before it."""
    filled = slot(page.words) if found or page.starts else None
    keys = page.words.keys
    is_sum = asked.is_sum or (keys.count("=") > 1 and any(one.kind.startswith("number") for one in found))
    results = _results(page) if is_sum else None
    if filled is not None and filled.is_short:
        counted = numbers(page.words.keys, page.words.raws, filled.start, filled.end)
        if counted and all(number.end <= filled.end for number in counted):
            found = [one for one in found if one.start >= filled.start or not one.kind.startswith("number")]
    elif results is not None and keys.count("=") > 1:  # of a calculation in steps, the last result is the answer
        found = [one for one in found if not one.kind.startswith("number") or not _is_step(page, one, results)]
    shares: dict[int, int] = {}
    roots = asked.roots
    for mention in found:
        sentence = page.sentence(mention.start)
        if sentence not in shares:
            low, high = page.starts[sentence], page.ends[sentence]
            shares[sentence] = len({key[:ROOT] for key in keys[low : min(high, low + 400)]} & roots)
    return Scene(page, asked, found, filled, results, shares, max(shares.values(), default=0))


def _is_step(page: Page, mention: Mention, results: tuple[int, int, float]) -> bool:
    """Whether a number comes before the last result and is another, and is not announced as the answer."""
    keys, raws = page.words.keys, page.words.raws
    if results[1] < mention.end:
        return False
    own = numbers(keys, raws, max(0, mention.start - 1), min(len(keys), mention.end + 3))
    same = [number.value for number in own if number.start < mention.end and mention.start < number.end]
    lists = page.rules.lists
    hits = page.hits(page.sentence(mention.start))
    return results[2] not in same and not any(lists[kind] == "answer" and end <= mention.start for _, end, kind in hits)


CHECKS: Final = words_of("checks")


def _results(page: Page) -> tuple[int, int, float]:
    """The word of the last number and of the last that ends a calculation, with its value; -1 without one."""
    keys, raws, last = page.words.keys, page.words.raws, -1
    for sentence in range(len(page.starts) - 1, -1, -1):
        low, high = page.starts[sentence], page.ends[sentence]
        if not CHECKS.isdisjoint(keys[low : low + 4]) or not _REASONS.isdisjoint(keys[low:high]):
            continue
        for number in reversed(numbers(keys, raws, low, high)):
            last = number.start if last < 0 else last
            if number.start and _is_result(keys, number.start, number.end):
                return last, number.start, number.value
    return last, -1, 0.0


def _is_result(keys: list[str], start: int, end: int) -> bool:
    before = keys[start - 1] if start else ""
    if before in {"$", "€", "£", "-"} and start > 1:
        before = keys[start - 2]
    return before in {"=", ">"} and not _is_operand(keys, end)


def _is_operand(keys: list[str], end: int) -> bool:
    """Whether an operator and another number follow, perhaps after a word: '11 apples - 1'."""
    for place in range(end, min(end + 3, len(keys) - 1)):
        if keys[place] in OPERATORS or keys[place] == "x":
            after = keys[place + 1]
            return after[0].isdecimal() or after in {"(", "$", "<", "by"}
        if not keys[place].isalpha():
            break
    return False


def features(view: Scene, mention: Mention) -> set[int]:
    """The numbers of the features that a mention has."""
    page = view.page
    sentence = page.sentence(mention.start)
    found = _zones(page, mention, sentence)
    ids = page.rules.ids
    names = [
        mention.kind,
        *_standing(view, mention, sentence),
        *_beside(view, mention, sentence),
        *_naming(view, mention),
    ]
    if mention.kind.startswith("number"):
        names += _calculated(view, mention)
    found.update([ids[name] for name in names if name in ids])  # a kind, or a share, may weigh nothing
    found.update(view.asked.asks)
    join(found, page.rules)
    return found


def join(found: set[int], known: Rules) -> None:
    """Add the pairs of which both features are there."""
    for one in [one for one in found if one in known.pairs]:
        found.update([both for other, both in known.pairs[one] if other in found])


def _zones(page: Page, mention: Mention, sentence: int) -> set[int]:
    start, end, width = mention.start, mention.end, len(ZONES)
    found: set[int] = set()
    low, high, keys = page.starts[sentence], page.ends[sentence], page.words.keys
    breaks = page.breaks(sentence)
    first = next((place for place in reversed(breaks) if place <= start), low)
    last = next((place for place in breaks if place >= end), high)
    left, right = start, end
    while left > low and (keys[left - 1] in ARTICLES or keys[left - 1] in _LEADS):
        left -= 1
    while right < high and (keys[right] in _TAILS or keys[right] in _AUXILIARIES):
        right += 1
    for begin, stop, kind in page.hits(sentence):
        if kind in page.rules.alone:
            continue
        at = kind * width
        if stop <= start:
            if stop >= left:
                found.add(at)
            found.add(at + (1 if begin >= first or stop >= first else 2))
            if begin <= low + 3:
                found.add(at + 8)
        elif begin >= end and kind not in page.rules.before:
            if begin <= right:
                found.add(at + 3)
            found.add(at + (4 if begin < last else 5))
        elif begin < start < stop <= end and not mention.kind.startswith(
            "yes"
        ):  # a cue that runs into the mention: 'based on'
            found.add(at + 1)
    if sentence:
        found.update(page.kinds(sentence - 1, 6))
    if sentence + 1 < len(page.starts):
        found.update(page.kinds(sentence + 1, 7))
    return found


_LEADS: Final = frozenset(
    {",", ":", "=", "(", "$", "#", "definitely", "indeed", "really", "simply", "also", "actually"}
)
_TAILS: Final = frozenset({",", ")", ":", "$"})


def _standing(view: Scene, mention: Mention, sentence: int) -> list[str]:
    """Where the mention stands: in which sentence, how in it, and what the sentences beside it say of it."""
    page, lists, keys = view.page, view.page.rules.lists, view.page.words.keys
    low, high, count = page.starts[sentence], page.ends[sentence], len(page.starts)
    start, end, slot = mention.start, mention.end, view.slot
    opens, closes = _is_around(keys, low, start), _is_tail(keys, end, high)
    asks = keys[high : high + 1] == ["?"] and {"not", "right"}.isdisjoint(keys[max(end, high - 2) : high])
    next_low, next_high = (page.starts[sentence + 1], page.ends[sentence + 1]) if sentence + 1 < count else (0, 9)
    follows = page.hits(sentence + 1) if next_high - next_low < 8 else []
    leads = page.hits(sentence - 1) if sentence and keys[page.ends[sentence - 1] - 1] == ":" else []
    names = {
        "all of the text": opens and closes and count == 1,
        "opens its sentence": opens,
        "ends its sentence": closes,
        "in the first sentence": sentence == 0,
        "in a late sentence": sentence > 2,
        "in the last sentence": sentence == count - 1,
        "in a question": asks,
        "in the slot": slot is not None and slot.start <= start < slot.end,
        "a rival in the slot": slot is not None
        and slot.start > start
        and any(one.side != mention.side for one in view.mentions if slot.start <= one.start < slot.end),
        "announced": any(lists[kind] in {"answer", "conclude"} for _, _, kind in leads),
        "disowned at once": any(lists[kind] == "disowns" and begin - next_low < 2 for begin, _, kind in follows),
        "short text": len(keys) <= 12,
    }
    return [name for name, is_so in names.items() if is_so]


def _is_around(keys: list[str], low: int, start: int) -> bool:
    return start - low <= 6 and all(key in ARTICLES or key in _OPENINGS or len(key) == 1 for key in keys[low:start])


def _is_tail(keys: list[str], end: int, high: int) -> bool:
    return high - end <= 3 and all(len(key) == 1 and not key.isalnum() for key in keys[end:high])


_OPENINGS: Final = words_of("openings")


def _beside(view: Scene, mention: Mention, sentence: int) -> list[str]:
    """What else is named, and how much of the question the sentence repeats."""
    page, side, start = view.page, mention.side, mention.start
    low, high, keys = page.starts[sentence], page.ends[sentence], page.words.keys
    rivals = [one for one in view.mentions if one.side != side]
    near = [one for one in rivals if low <= one.start < high]
    names = _content(view, mention, sentence) + _afterwards(view, side, sentence, rivals)
    marks = {
        "named more than once": len(view.mentions) - len(rivals) > 1,
        "the first named": mention.kind != "part" and bool(view.mentions) and start == view.mentions[0].start,
        "a rival in an earlier sentence": any(one.end <= low for one in rivals),
        "a rival before it in its sentence": any(one.end <= start for one in near),
        "a rival after it in its sentence": any(one.start >= mention.end for one in near),
        "listed beside a rival": any(_is_joined(keys, one, mention) for one in near),
        "another sentence shares more with the question": view.shares.get(sentence, 0) < view.most,
        "repeats the question's verb": view.asked.verb in {key[:ROOT] for key in keys[low : min(high, low + 80)]},
    }
    return names + [name for name, is_so in marks.items() if is_so]


def _afterwards(view: Scene, side: Side, sentence: int, rivals: list[Mention]) -> list[str]:
    """What the text does with rivals after a sentence, the same for all mentions of a side in it."""
    page = view.page
    known = page.afterwards.get((side, sentence))
    if known is not None:
        return known
    known = []
    high = page.ends[sentence]
    later = [rival for rival in rivals if rival.start >= high][:6]
    if any(_overturns(view, rival, sentence) for rival in later):
        known.append("overturned")
    if any(_marks(page, rival)[0] for rival in later):
        known.append("a rival stated after a turn")
    if any(_marks(page, rival)[1] for rival in rivals[:6]):
        known.append("a rival is denied")
    page.afterwards[side, sentence] = known
    return known


def _marks(page: Page, mention: Mention) -> tuple[bool, bool]:
    """Whether a mention is claimed after a turn, and whether it is denied right before; worked out once."""
    known = page.marks.get(mention.start)
    if known is None:
        lists, hits = page.rules.lists, page.hits(page.sentence(mention.start))
        before = [(lists[kind], stop) for begin, stop, kind in hits if begin < mention.start]
        is_denied = any(name == "denial" and 0 <= mention.start - stop <= 2 for name, stop in before)
        known = any(name == "turn" for name, _ in before) and _is_claim(page, mention), is_denied
        page.marks[mention.start] = known
    return known


def _is_joined(keys: list[str], rival: Mention, mention: Mention) -> bool:
    """Whether nothing but a comma, 'and' or 'or' stands between two mentions."""
    between = keys[min(rival.end, mention.end) : max(rival.start, mention.start)]
    return 0 < len(between) < 4 and all(key in {",", "and", "or", "nor", "/", "the", "a"} for key in between)


def _is_claim(page: Page, mention: Mention) -> bool:
    """Whether nothing before a mention in its sentence denies, supposes or reports it."""
    known = page.claims.get(mention.start)
    if known is None:
        hits = page.hits(page.sentence(mention.start))
        known = not any(begin < mention.start and kind in page.rules.disclaiming for begin, _, kind in hits)
        page.claims[mention.start] = known
    return known


def _overturns(view: Scene, rival: Mention, sentence: int) -> bool:
    """Whether a rival is claimed in a later sentence that turns, or follows one that does, and says what is asked."""
    page, share = view.page, view.shares
    its = page.sentence(rival.start)
    low, lists = page.starts[its], page.rules.lists
    turns = any(
        begin - low < 3 or 0 <= begin - rival.end < 3 or (its - sentence < 3 and begin < rival.start)
        for begin, _, kind in page.hits(its)
        if lists[kind] == "turn"
    )
    if not turns and its - sentence == 2:
        before = its - 1
        turns = any(lists[kind] == "turn" and begin - page.starts[before] < 2 for begin, _, kind in page.hits(before))
    if not turns or not _is_claim(page, rival):
        return False
    is_answer = any(lists[kind] == "answer" and begin < rival.start for begin, _, kind in page.hits(its))
    return share.get(its, 0) * 2 > len(view.asked.roots) or (share.get(its, 0) > 0 and is_answer)


def _content(view: Scene, mention: Mention, sentence: int) -> list[str]:
    """How the mention's clause speaks of what is asked: the words that it shares with the question, and its own."""
    page, asked, names = view.page, view.asked, list[str]()
    low, high, keys = page.starts[sentence], page.ends[sentence], page.words.keys
    breaks = page.breaks(sentence)
    first = next((place for place in reversed(breaks) if place <= mention.start), low)
    last = next((place for place in breaks if place >= mention.end), high)
    cued = {place for begin, stop, _ in page.hits(sentence) for place in range(begin, stop)}
    clause = [place for place in range(first, min(last, first + 60)) if not mention.start <= place < mention.end]
    informative = [
        place
        for place in clause
        if (key := keys[place]) not in EMPTY_WORDS and key[0].isalpha() and len(key) > 2
        and (key[:ROOT] in asked.roots or place not in cued)
    ]  # fmt: skip
    own = sum(keys[place][:ROOT] not in asked.roots for place in informative)
    if informative and informative[0] < mention.start and keys[informative[0]][:ROOT] in asked.roots:
        names.append("its clause begins as the question does")
    if _is_around(keys, first, mention.start) and _is_tail(keys, mention.end, last):
        names.append("all of its clause")
    total = len(asked.roots)
    share = len({keys[place][:ROOT] for place in range(first, min(last, first + 60))} & asked.roots)
    how_much = "none" if not share else "all" if share >= total else "most" if share >= 0.6 * total else "some"
    names.append(f"{how_much} of the question's words, {'no' if not own else 'few' if own < 3 else 'many'} of its own")
    nearby = range(low, min(high, low + 80))
    is_stray = bool(asked.figures) and asked.figures.isdisjoint([keys[place] for place in nearby])
    if is_stray and any(keys[place].isdecimal() and not mention.start <= place < mention.end for place in nearby):
        names.append("another number than the question's")
    return names


def _naming(view: Scene, mention: Mention) -> list[str]:
    """How the mention is written: set off, part of a longer name, in a list, from the question."""
    words, names = view.page.words, []
    keys, text = words.keys, words.text
    start, stop = words.places[mention.start][0], words.places[mention.end - 1][1]
    before, after = text[max(0, start - 3) : start], text[stop : stop + 3]
    if "**" in before or "__" in before:
        names.append("bold")
    if before[-1:] in {'"', "'"} and after[:1] in {'"', "'", ".", ","} and ('"' in after or "'" in after):
        names.append("quoted")
    if before[-1:] == "(":
        names.append("in brackets")
    line = text.rfind("\n", max(0, start - 300), start) + 1
    lead = text[line : line + 8].lstrip()
    if lead[:2] in {"- ", "* ", "+ "} or lead[:1] == "#" or BULLET.match(lead):
        others = text.count("\n", max(0, line - 400), line - 1 if line else 0) if line else 0
        if others or "\n" in text[stop : stop + 200]:
            names.append("in a list of letters" if lead[:1].isalpha() or lead[:1] == "(" else "in a list")
    listed = keys[max(0, mention.start - 2) : mention.start] + keys[mention.end : mention.end + 2]
    if listed.count(",") > 1 or ("or" in listed and "," in listed) or listed[-2:-1] == ["or"] or "or" in listed[:2]:
        names.append("one of several in its line")
    spoken = keys[mention.start : mention.end]
    if all(key in view.asked.keys for key in spoken):
        names.append("in the question itself")
    if sum(map(len, spoken)) <= 3:
        names.append("a short answer")
    if mention.kind in {"whole", "surname", "part", "the word that differs", "in another order"} and len(
        view.page.original
    ) == len(text):
        original = view.page.original
        if mention.start and _is_name(words, mention.start - 1, original, start, view.asked):
            names.append("a longer name before")
        if mention.end < len(keys) and _is_name(words, mention.end, original, stop, view.asked):
            names.append("a longer name after")
    return names


BULLET: Final = re.compile(r"\(?(?:\d{1,2}|[a-h])[.)]\s")


def _is_name(words: Words, place: int, original: str, edge: int, asked: Question) -> bool:
    """Whether the word beside a mention is a name that goes with it: a capital in the middle of a sentence."""
    start, end = words.places[place]
    if not original[start : start + 1].isupper() or words.keys[place] in asked.keys or words.keys[place] in EMPTY_WORDS:
        return False
    between = original[end:edge] if end <= edge else original[edge:start]
    if between.strip(" -"):
        return False
    if end <= edge:  # the first word of a sentence has a capital anyway
        return (
            start > 1 and original[start - 2 : start].strip(" ") not in {".", "!", "?", "", "\n", "*"}
        ) or start == 0
    return True


def _calculated(view: Scene, mention: Mention) -> list[str]:
    """What a number is to a calculation: an operand, a result, the last one."""
    names: list[str] = []
    keys, start, end = view.page.words.keys, mention.start, mention.end
    before = keys[start - 1] if start else ""
    is_right_side = before in OPERATORS and start > 1 and keys[start - 2][0].isdecimal()
    if _is_operand(keys, end) or is_right_side or keys[end : end + 1] == ["="]:
        names.append("an operand")
    if view.results is None:
        return names
    last, result, value = view.results
    if start <= last < end:
        names.append("the last number")
    if start <= result < end or (start <= last < end and result < start):
        names.append("the last result")
    if result >= end and value not in [one.value for one in numbers(keys, view.page.words.raws, start, end)]:
        names.append("a later result")
    return names


def polar(page: Page, asked: Question, sides: dict[bool, Side]) -> list[Mention]:
    """Where yes or no is said: the word itself, turned round by 'not', and the clause that repeats the question.

    A word that its own sentence, or the next one, contradicts by saying just what was asked gives way to that.
    """
    said: list[tuple[int, Mention]] = []
    for sentence in range(min(len(page.starts), 24)):
        value, span = _restated(page, asked, sentence)
        if value is not None and value in sides:
            said.append((sentence, Mention(*span, sides[value], "said in other words")))
    found = [one for _, one in said]
    for place in [place for place, key in enumerate(page.words.keys) if key in _SAID or key in _ALONE][:64]:
        spoken = _polar_word(page, place)
        if spoken is None:
            continue
        value, first, last = spoken
        side, sentence = sides.get(value, "other"), page.sentence(place)
        near = (sentence, sentence + 1) if page.ends[sentence] - place <= 2 else (sentence,)
        if not any(its in near and other.side != side for its, other in said):
            found.append(Mention(first, last, side, "yes or no" if last - first == 1 else "yes or no, denied"))
    keys = page.words.keys
    if any(keys[one.end - 1] not in _JUDGING for one in found):  # 'Right. The statement is false.'
        found = [one for one in found if keys[one.end - 1] not in _JUDGING]
    found.sort()
    return found if len(found) <= 32 else found[:16] + found[-16:]


def _polar_word(page: Page, place: int) -> tuple[bool, int, int] | None:
    """What a word says that may mean yes or no, after all that turns it round, and from where to where; or None."""
    keys, key = page.words.keys, page.words.keys[place]
    after = keys[place + 1] if place + 1 < len(keys) else "."
    sentence = page.sentence(place)
    low, high = page.starts[sentence], page.ends[sentence]
    value = _SAID.get(key)
    if value is None:
        is_set_off = len(key) > 1 or len(keys) < 3 or (place > 0 and keys[place - 1] in {":", "("})
        value = _ALONE.get(key) if high - low < 5 and is_set_off else None
        if value is None or (key == "not" and after not in STOPS):
            return None
    if (
        "neither" in keys[low:place]
        or (key == "no" and after not in _AFTER_NO)
        or (key in _JUDGING and after not in STOPS and after != ",")
    ):
        return None
    if key in {"no", "yes"}:
        return value, place, place + 1
    breaks = page.breaks(sentence)
    low = next((at for at in reversed(breaks) if at <= place), low)
    high = next((at for at in breaks if at > place), high)
    turns = [
        at
        for at in (*range(max(low, place - 7), place), *range(place + 1, min(high, place + 7)))
        if keys[at] in _TURNS_ROUND and not (keys[at] == "no" and keys[at + 1 : at + 2] == [","])
    ]
    turns = [at for at in turns if at < place or after in _COPULAS]
    if not turns:
        return value, place, place + 1
    return value == (len(turns) % 2 == 0), min(*turns, place), max(*turns, place) + 1


_COPULAS: Final = words_of("copulas")


_SAID: Final = POLAR | {
    "yep": True,
    "yeah": True,
    "nope": False,
    "correct": True,
    "incorrect": False,
    "untrue": False,
    "right": True,
}
_ALONE: Final = dict.fromkeys(listed("alone_yes"), True) | dict.fromkeys(listed("alone_no"), False)
_JUDGING: Final = frozenset({"right", "correct", "incorrect", "wrong"})
_TURNS_ROUND: Final = words_of("turns_round")
_AFTER_NO: Final = words_of("after_no") | {"\n"}
_DENY: Final = words_of("deny")


def _restated(  # noqa: PLR0911 - one reason a return
    page: Page, asked: Question, sentence: int
) -> tuple[bool | None, tuple[int, int]]:
    """What a sentence says that repeats what was asked, and nothing else: the number of denials in it decides.

    A pronoun may stand for the subject, and an auxiliary for the rest: 'it does not'. None where the sentence asks,
    supposes, is of another time, names the question's words in another order, or others between them.
    """
    low, high, keys = page.starts[sentence], page.ends[sentence], page.words.keys
    nothing = None, (low, high)
    if high < len(keys) and keys[high] == "?":
        return nothing
    high = next(
        (place for place in range(low + 1, min(high, low + 120)) if keys[place] in _REASONS), min(high, low + 120)
    )
    is_pronoun = not _PRONOUNS.isdisjoint(keys[low : low + 3])
    spoken = _AUXILIARIES.intersection(keys[low:high])
    if (
        is_pronoun
        and keys[low] != "that"
        and high - low < 5
        and keys[high - 1] in _AUXILIARIES | {"not"}
        and spoken & asked.keys
    ):
        return (not _DENY.isdisjoint(keys[low:high])) == asked.is_denied, (low, high)
    places = [place for place in range(low, high) if keys[place][:ROOT] in asked.roots]
    shared = list(dict.fromkeys(keys[place][:ROOT] for place in places))
    if not shared or 2 * len(shared) < len(asked.roots) or (len(shared) < min(2, len(asked.roots)) and not is_pronoun):
        return nothing
    denials = [
        place
        for place in range(max(low, places[0] - 6), min(high, places[-1] + 6))
        if keys[place] in _DENY and not (keys[place] == "no" and keys[place + 1 : place + 2] == [","])
    ]
    strange = [
        place
        for place in range(low, min(high, places[-1] + 4))
        if keys[place] not in EMPTY_WORDS | _DENY | _SURE
        and keys[place][0].isalpha()
        and keys[place][:ROOT] not in asked.roots
    ]
    if not denials and len(shared) < len(asked.roots) and (len(shared) < len(asked.roots) - 1 or strange):
        return nothing
    if keys[low] in _QUOTING and ":" in keys[low : places[0]]:
        return nothing
    if [asked.order.index(root) for root in shared] != sorted(asked.order.index(root) for root in shared):
        return nothing
    if any(key in _OTHER_TIMES and key not in asked.keys for key in keys[low : places[-1]]):
        return nothing
    if any(places[0] < place < places[-1] for place in strange):
        return nothing
    lists = page.rules.lists
    if any(
        lists[kind] in {"condition", "if", "past", "only", "nothing"} and begin < places[-1]
        for begin, _, kind in page.hits(sentence)
    ):
        return nothing
    return len(denials) % 2 == (1 if asked.is_denied else 0), (min([*places, *denials]), max([*places, *denials]) + 1)


_QUOTING: Final = frozenset({"claim", "user", "hypothesis", "premise", "statement", "question", "assumption"})
_REASONS: Final = frozenset({"because", "since", ";", "but"})
_PRONOUNS: Final = frozenset({"it", "they", "he", "she", "that", "this", "there", "you", "we"})
_AUXILIARIES: Final = words_of("auxiliaries")
_OTHER_TIMES: Final = words_of("other_times")
_SURE: Final = words_of("sure")

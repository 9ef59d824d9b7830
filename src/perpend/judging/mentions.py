"""Mentions: where an answer names the target, the decoy or another choice. Words in order or not, numbers by value."""

from __future__ import annotations

import re
from bisect import bisect_right
from typing import Final, Literal, NamedTuple, TypeAlias

from perpend.judging.words import UNITS, Number, Words, fold, in_base, is_rank, keys_of, numbers, phrases, words_of

Side: TypeAlias = Literal["target", "decoy", "other"]
ARTICLES: Final = frozenset({"the", "a", "an"})
GAPS: Final = frozenset({",", ".", "'s", "-", "\u2014", "/", "(", ")", ":", "and", "of", "to", "\n", "$", *ARTICLES})
"""What may stand between two words of a mention, and no answer has to repeat."""
BETWEEN: Final = 3
"""At most so many of them between two words."""
POLAR: Final = {"yes": True, "true": True, "no": False, "false": False}
CLASSES: Final = words_of("classes")
"""What kind of thing a name names, or a title: 'the Nile' is 'the River Nile'."""
EMPTY_WORDS: Final = words_of("empty")
CAPITAL_WORDS: Final = words_of("capital_words")
SAME_NAMES: Final = {
    name: tuple(other for other in names if other != name) for names in phrases("same_names") for name in names
}
MONTHS: Final = {month: str(number) for number, month in enumerate(phrases("months"), 1)}
_PERSONS: Final = words_of("persons")
_ROUGHLY: Final = words_of("roughly")
_ABOUT: Final = words_of("about")
PER_END: Final = 16
"""How many mentions of a side are read from each end of a text: what lies between them changes no verdict."""


class Spelling(NamedTuple):
    """One way to write an answer. `keys`: its words; `number`: its value and unit; `kind`: how it was made; `text`: as
    it is written, folded; `cased`: only with a capital."""

    keys: tuple[str, ...]
    kind: str
    number: tuple[float, str] | None = None
    text: str = ""
    cased: bool = False


class Answer(NamedTuple):
    """An answer to look for. `firsts`: the first words of its spellings; `value`: of yes or no; `informative`:
    the keys of the first spellings that the question does not have."""

    side: Side
    spellings: tuple[Spelling, ...]
    firsts: frozenset[str]
    value: bool | None
    informative: tuple[tuple[str, ...], ...]
    is_rough: bool


class Mention(NamedTuple):
    """The words `start:end` name an answer of a side; `kind` says how; `share`: how much of its letters."""

    start: int
    end: int
    side: Side
    kind: str
    share: float = 1.0


def answer(side: Side, spellings: tuple[str, ...], rival: str | None, prompt: str, choices: tuple[str, ...]) -> Answer:
    """How to find an answer by any of its spellings; `rival` is the one that it must be told from."""
    asked, value = set(keys_of(prompt)), None
    more, by_place = _of_choice(spellings, choices)
    found: dict[tuple[object, ...], Spelling] = {}
    for one in [*(one for text in more for one in _spellings(text, rival, asked)), *by_place]:
        found.setdefault((one.keys, one.number), one)
    for text in spellings:
        if "digit" in asked and text.isdecimal():
            found.setdefault((tuple(text), None), Spelling(tuple(text), "its digits"))
        value = POLAR.get(fold(text).text.strip(" .!\"'"), value)
    told = [[key for key in content_of(text) if is_informative(key) and key not in asked] for text in spellings[:8]]
    informative = tuple(dict.fromkeys(tuple(dict.fromkeys(keys)) for keys in told))
    firsts = frozenset(one.keys[0] for one in found.values() if one.keys)
    return Answer(side, tuple(found.values()), firsts, value, informative, not asked.isdisjoint(_ROUGHLY))


def is_informative(key: str) -> bool:
    """Whether a word says what a text is about."""
    return key not in EMPTY_WORDS and (len(key) > 2 or key.isdecimal())


def _of_choice(spellings: tuple[str, ...], choices: tuple[str, ...]) -> tuple[tuple[str, ...], list[Spelling]]:
    """The spellings with, for a multiple choice, the option's text and letter; and how its place is said."""
    options = [fold(choice).text.strip(" ().") for choice in choices[:26]]
    is_lettered = any(len(option) == 1 and option.isalpha() for option in options)
    wanted = {fold(spelling).text.strip(" ().") for spelling in spellings}
    for place, option in enumerate(options):
        letter = chr(ord("a") + place)
        if option in wanted or (letter in wanted and not is_lettered):
            said = [(f"{place + 1}th", word) for word in ("option", "choice", "1")] + [("option", letter)]
            if not option.isdecimal():
                said += [(word, str(place + 1)) for word in ("option", "choice")]
            if len(options) == 2:
                said.append((("former", "latter")[place], ""))
            by_place = [Spelling(keys if keys[1] else keys[:1], "by its place") for keys in said]
            return (*spellings, choices[place], *(() if is_lettered else (letter.upper(),))), by_place
    return spellings, []


def _content(keys: list[str]) -> tuple[str, ...]:
    """The keys that a mention must repeat; a day is a number also with its ending."""
    content = tuple(key for key in keys if key not in GAPS)
    return tuple(key[:-2] if len(content) > 1 and is_rank(key) else key for key in content)


def content_of(text: str) -> tuple[str, ...]:
    """The keys of a text that a mention of it must repeat."""
    return _content(keys_of(text.strip(" .!?")))


_LEAD: Final = re.compile(r"\(?([a-z])[):] *(?=\w)|[a-z] ?= ?(?=-?[\d.]+\Z)")
"""What stands before an answer: the letter of an option, 'B) Saturn', or the unknown of an equation, 'x = 12'."""


def _spellings(text: str, rival: str | None, asked: set[str]) -> list[Spelling]:
    """How an answer may be written: as it is, by value, without titles, by what differs from the rival, by surname."""
    folded, found = fold(text).text.strip(" .!?"), list[Spelling]()
    if lead := _LEAD.match(folded):
        folded, found = folded[lead.end() :], [Spelling((lead[1],), "letter")] if lead[1] else []
    words = Words(folded)
    keys, raws = words.keys, words.raws
    if not keys or (len(keys) == 1 and keys[0] in POLAR):
        return []
    if len(keys) == 1 and len(raws[0]) == 1 and keys[0].isalpha():
        return [Spelling((keys[0],), "letter", None, text.strip(" .!?()"))]
    content = _content(keys) or tuple(keys)
    counted = numbers(keys, raws)
    if len(counted) == 1:
        start, end, value, unit = counted[0]
        rest = [key for key in (*keys[:start], *keys[end:]) if key not in GAPS | UNITS.keys() | _ABOUT]
        rest = rest[1:] if " " in unit else rest  # the scale of a degree
        if not rest:
            return [*found, Spelling((), "number", (value, unit))]
        if len(rest) == 1 and end < len(keys) and value < 2100 and value == int(value) and not keys[0].isalpha():
            return [*found, Spelling(content, "whole"), Spelling((), "number without its unit", (value, rest[0]))]
    found.append(Spelling(content, "whole", None, folded, _is_cased(text, content)))
    also = [tuple(name.split()) for name in SAME_NAMES.get(" ".join(content), ())]
    found += [Spelling(name, "whole", None, "", name == ("us",)) for name in also]
    found += [Spelling(date, "whole") for date in _dates(content)]
    named = tuple(key for key in content if key not in CLASSES and (len(key) > 1 or not key.isalpha()))
    if 0 < len(named) < len(content) and (len(named) > 1 or len(named[0]) > 3):
        found.append(Spelling(named, "whole"))
    if len(content) == 2 and "-" in text:
        found.append(Spelling(("".join(content),), "whole"))
    other = content_of(rival) if rival else ()
    if 1 < len(content) == len(other) <= 4:
        differing = [key for key, its in zip(content, other, strict=True) if key != its]
        is_word = len(differing) == 1 and len(differing[0]) > 3 and not differing[0].isdecimal()
        if is_word and differing[0] not in asked:
            found.append(Spelling((differing[0],), "the word that differs"))
    is_name = not asked.isdisjoint(_PERSONS) and 1 < len(content) < 5 and len(content[-1]) > 2 and text[:1].isupper()
    if is_name and other[-1:] != content[-1:]:
        found.append(Spelling(content[-1:], "surname"))
    return found


def _dates(content: tuple[str, ...]) -> list[tuple[str, ...]]:
    """A day by the name of its month and by figures, the day or the month first."""
    figures = sorted((key for key in content if key.isdecimal() and len(key) < 5), key=int)
    if len(content) != 3 or len(figures) < 2 or int(figures[-1]) < 32:
        return []
    year, names = figures[-1], [key for key in content if key in MONTHS]
    if names:
        day, month = figures[0], MONTHS[names[0]]
        return [(month, day, year), (day, month, year), (year, month, day)]
    days = ((figures[0], figures[1]), (figures[1], figures[0])) if len(figures) == 3 else ()
    return [(name, day, year) for day, number in days for name, month in MONTHS.items() if month == number]


def _is_cased(text: str, content: tuple[str, ...]) -> bool:
    """Whether only a capital makes the words this answer: 'US' is a country and 'us' is not, nor 'may' a month."""
    joined = "".join(content)
    is_plain = all(key in EMPTY_WORDS or key in CAPITAL_WORDS for key in content)
    is_short = len(joined) < 3 or (len(joined) < 5 and text.isupper() and joined.isalpha())
    return text[:1].isupper() and (is_plain or is_short) and joined != "uk"


def mentions(words: Words, answers: tuple[Answer, ...], original: str) -> list[Mention]:
    """Every mention, in order, less those inside a longer rival's. Yes and no are looked for elsewhere."""
    keys, found, counted = words.keys, list[Mention](), list[Number]()
    there = frozenset[str]().union(*[which.firsts for which in answers]).intersection(keys)
    starts = {first: [place for place, key in enumerate(keys) if key == first] for first in there}
    if any(spelling.number is not None for which in answers for spelling in which.spellings):
        counted = numbers(keys, words.raws)
    for which in answers:
        own: list[Mention] = []
        for spelling in which.spellings:
            if spelling.number is not None:
                own += _numbers(counted, spelling, which)
            elif spelling.keys[0] in there and not (own and spelling.kind == "surname"):
                places = starts[spelling.keys[0]]
                if spelling.kind == "letter":
                    places = [place for place in places if _is_letter(words, place, spelling, original)]
                elif spelling.cased and len(original) == len(words.text):
                    places = [place for place in places if original[words.places[place][0]].isupper()]
                own += _in_order(keys, places, spelling, which.side)
        for spelling in which.spellings if not own else ():
            if spelling.kind == "whole" and len(spelling.keys) > 1:
                own += _any_order(keys, spelling.keys, which.side)
            if not own and not spelling.cased and len(spelling.text) > 3 and spelling.text in words.text:
                own += _run_together(words, spelling.text, which.side, original)
        found += own if len(own) <= 2 * PER_END else own[:PER_END] + own[-PER_END:]
    return _outermost(found)


def _numbers(counted: list[Number], spelling: Spelling, which: Answer) -> list[Mention]:
    """Where a number is, by value: in the same unit, in another or in none."""
    value, unit = spelling.number or (0.0, "")
    found = []
    for number in counted:
        away, its, kind = abs(number.value - value), number.unit, spelling.kind
        is_other = bool(unit and its) and its not in {unit, unit.split()[0]} and its.split()[0] != unit
        (wanted, base), (there, its_base) = in_base(value, unit), in_base(number.value, its)
        if is_other and base and base == its_base and abs(there - wanted) <= 0.01 * abs(wanted):
            away = 0.0
        elif is_other and kind == "number":
            kind = "number of another unit"
        elif bool(unit) != bool(its) and (unit or its == "%"):
            kind = "number without its unit"
        if away > 1e-9 * abs(value):
            kind = "number nearly so" if which.is_rough and not is_other else ""
        if kind and away <= 0.01 * abs(value):
            found.append(Mention(number.start, number.end, which.side, kind))
    return found


def _is_letter(words: Words, place: int, spelling: Spelling, original: str) -> bool:
    """A letter counts as it is given or as a capital, or where marks set it off; 'a' and 'i' only where marks do."""
    keys, (start, end) = words.keys, words.places[place]
    after = keys[place + 1] if place + 1 < len(keys) else "."
    if after in set(").:,!\n") or words.text[end : end + 1] in {"*", '"', "'", "}"}:
        return True
    may_be_capital = keys[place] not in {"a", "i"} or (place and keys[place - 1] in {":", "(", "is"})
    return bool(may_be_capital) and (original[start:end] == spelling.text or original[start:end].isupper())


def _in_order(keys: list[str], places: list[int], spelling: Spelling, side: Side) -> list[Mention]:
    """Where the words stand one after another, with nothing between them but gaps."""
    found = []
    for place in places:
        end = place + 1
        for key in spelling.keys[1:]:
            last = min(end + BETWEEN, len(keys) - 1)
            while end < last and keys[end] in GAPS and keys[end] != key:
                end += 1
            if end > last or (keys[end] != key and not (keys[end][:-2] == key and is_rank(keys[end]))):
                break
            end += 1
        else:
            found.append(Mention(place, end, side, spelling.kind))
    return found


def _run_together(words: Words, wanted: str, side: Side, original: str) -> list[Mention]:
    """Where a name is written together with the word before it ('isSydney') or with the number of a footnote."""
    text, low = words.text, words.text.find(wanted)
    high = low + len(wanted)
    is_begun = not text[max(0, low - 1) : low].isalnum() or (len(original) == len(text) and original[low].isupper())
    if not is_begun or text[high : high + 1].isalpha() or text[high : high + 3].isdecimal():
        return []
    first, last = (bisect_right(words.places, (place, len(text))) for place in (low, high - 1))
    return [Mention(max(first - 1, 0), max(last, 1), side, "run together")]


def _any_order(keys: list[str], wanted: tuple[str, ...], side: Side) -> list[Mention]:
    """The shortest stretches that hold all of the words and hardly others; none of a formula."""
    missing, need = {*wanted, *[f"{key}th" for key in wanted if key.isdecimal()]}, len(wanted)
    is_formula = any(len(key) == 1 and not key.isdecimal() for key in wanted)
    if is_formula or len(set(wanted)) < need or need > 7 or len(missing.intersection(keys)) < need:
        return []
    hits = [(place, key[:-2] if is_rank(key) else key) for place, key in enumerate(keys) if key in missing]
    found: list[Mention] = []
    for start, end, share in _gathered(hits, dict.fromkeys(wanted, 1), 2 * need + 1):
        foreign = [key for key in keys[start:end] if key not in missing and is_informative(key)]
        if share == 1 and len(foreign) < 2 and (not found or start >= found[-1].end):
            found.append(Mention(start, end, side, "in another order"))
    return found


def _gathered(hits: list[tuple[int, str]], sizes: dict[str, int], window: int) -> list[tuple[int, int, float]]:
    """From each place on, where those of the words end that stand within a window, and what share they are."""
    found, total = [], sum(sizes.values())
    for first, (start, _) in enumerate(hits[: 4 * PER_END]):
        near = {key: place for place, key in reversed(hits[first : first + 12]) if place - start < window}
        found.append((start, max(near.values()) + 1, sum(sizes[key] for key in near) / total))
    return found


def _outermost(found: list[Mention]) -> list[Mention]:
    """In order; what lies inside a longer mention is dropped, unless it is as long and another side's."""
    found.sort(key=lambda mention: (mention.start, -mention.end))
    kept: list[Mention] = []
    for mention in found:
        size = mention.end - mention.start
        outer = [other for other in kept[-6:] if other.end >= mention.end]
        if not any(other.end - other.start > size or other.side == mention.side for other in outer):
            kept.append(mention)
    return kept


WINDOW: Final = 14
"""How many words a part of an answer may be spread over."""
ROOT: Final = 5
"""Two words that begin with so many letters alike are one, where a part is looked for."""


def parts(words: Words, target: Answer) -> list[Mention]:
    """Where a third or more of the informative letters of a spelling stand, the best places first."""
    found: set[Mention] = set()
    for wanted in target.informative if all(spelling.kind != "number" for spelling in target.spellings) else ():
        roots = {key[:ROOT]: len(key) for key in wanted}
        hits = [(at, root) for at, key in enumerate(words.keys) if (root := key[:ROOT]) in roots]
        for start, end, share in _gathered(hits, roots, WINDOW):
            if share >= 1 / 3:
                found.add(Mention(start, end, "target", "part", share))
    return sorted(found, key=lambda mention: (-mention.share, mention.start, mention.end))[:4]


SENTENCE: Final = 7
"""Of an answer of more words every word counts, articles too."""


def same(first: str, second: str) -> bool:
    """Whether two answers are one to the rules: either is found in the other and is all of it, but for an article."""
    words = [[key for key in keys_of(text) if key not in {",", ".", "!"}] for text in (first, second)]
    if max(map(len, words)) > SENTENCE:
        return words[0] == words[1]
    one, two = (answer("target", (text,), None, "", ()) for text in (first, second))
    if one.value is not None or two.value is not None:
        return one.value == two.value
    return _is_all_of(one, second) or _is_all_of(two, first)


def _is_all_of(wanted: Answer, text: str) -> bool:
    words = Words(fold(text).text)
    kinds = {"number": UNITS.keys(), "whole": (), "in another order": (), "letter": ()}
    return any(
        {*words.keys[: one.start]} <= ARTICLES and {*words.keys[one.end :]} <= {".", "!", *kinds[one.kind]}
        for one in mentions(words, (wanted,), text)
        if one.kind in kinds
    )

"""Mentions: where an answer names the target, the decoy or another choice. Words in order or not, numbers by value."""

from __future__ import annotations

from bisect import bisect_right
from functools import lru_cache
from typing import Final, Literal, NamedTuple, TypeAlias

from perpend.judging.words import UNITS, Number, Words, fold, in_base, numbers, phrases_of, words_of

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
    """An answer to look for. `value`: of yes or no; `letters`: keys to their number of letters, for a part of it."""

    side: Side
    spellings: tuple[Spelling, ...]
    value: bool | None
    letters: tuple[tuple[tuple[str, int], ...], ...]
    is_rough: bool = False


class Mention(NamedTuple):
    """The words `start:end` name an answer of a side; `kind` says how; `share`: how much of its letters."""

    start: int
    end: int
    side: Side
    kind: str
    share: float = 1.0


@lru_cache(maxsize=1 << 13)
def answer(side: Side, spellings: tuple[str, ...], rival: str | None, prompt: str, choices: tuple[str, ...]) -> Answer:
    """How to find an answer by any of its spellings; `rival` is the one that it must be told from."""
    found: dict[tuple[object, ...], Spelling] = {}
    value: bool | None = None
    asked = set(Words(fold(prompt).text).keys)
    for text in _with_choice(spellings, choices):
        for spelling in _spellings(text, rival, is_person=bool(asked & {"who", "whose", "whom", "singer", "author"})):
            found.setdefault((spelling.keys, spelling.number), spelling)
        value = POLAR.get(fold(text).text.strip(" .!\"'"), value)
    letters = tuple(dict.fromkeys(_informative(text, asked) for text in spellings[:MOST_SPELLINGS]))
    is_rough = not asked.isdisjoint({"approximately", "approximate", "roughly", "about", "nearest", "estimated"})
    return Answer(side, tuple(found.values()), value, letters, is_rough)


MOST_SPELLINGS: Final = 8
"""So many spellings are looked for in part."""


def _informative(text: str, asked: set[str]) -> tuple[tuple[str, int], ...]:
    """The words of an answer that say something that the question does not, with their numbers of letters."""
    return tuple(
        (key, len(key))
        for key in dict.fromkeys(content_of(text))
        if (len(key) > 2 or key.isdecimal()) and key not in EMPTY_WORDS and key not in asked
    )


def _with_choice(spellings: tuple[str, ...], choices: tuple[str, ...]) -> tuple[str, ...]:
    """The spellings and, for a multiple choice, the option's text and letter."""
    letters = [fold(choice).text.strip(" ().") for choice in choices[:26]]
    is_lettered = any(len(letter) == 1 and letter.isalpha() for letter in letters)
    for spelling in spellings:
        wanted = fold(spelling).text.strip(" ().")
        for place, choice in enumerate(letters):
            letter = chr(ord("a") + place)
            if wanted == choice or (wanted == letter and not is_lettered):
                more = () if is_lettered else (letter,)
                return tuple(dict.fromkeys((*spellings, choices[place], *more)))
    return spellings


def _content(keys: list[str]) -> tuple[str, ...]:
    """The keys that a mention must repeat; a day is a number also with its ending."""
    content = tuple(key for key in keys if key not in GAPS)
    return tuple(key[:-2] if len(content) > 1 and is_rank(key) else key for key in content)


def content_of(text: str) -> tuple[str, ...]:
    """The keys of a text that a mention of it must repeat."""
    return _content(Words(fold(text).text.strip(" .!?")).keys)


def is_rank(key: str) -> bool:
    return key[0].isdecimal() and key.endswith("th")


def _spellings(text: str, rival: str | None, *, is_person: bool) -> list[Spelling]:  # noqa: PLR0912 - one form a branch
    words = Words(fold(text).text.strip(" .!?"))
    keys = words.keys
    if len(keys) > 2 and keys[1] in {")", "."} and len(keys[0]) == 1 and keys[0].isalpha():  # 'B) Saturn'
        keys, words = keys[2:], Words(words.text.split(keys[1], 1)[1].strip())
    if not keys:
        return []
    counted = numbers(keys, words.raws)
    if len(counted) == 1:
        (start, end, value, unit) = counted[0]
        rest = [
            key for key in (*keys[:start], *keys[end:]) if key not in GAPS and key not in UNITS and key not in _ABOUT
        ]
        if not rest and not (len(keys) == 1 and is_rank(keys[0])):
            return [Spelling((), "number", (value, unit))]
        if (
            rest
            and len(rest) == 1
            and end < len(keys)
            and value == int(value)
            and value < 2100
            and not keys[0].isalpha()
        ):
            return [Spelling(_content(keys), "whole"), Spelling((), "number without its unit", (value, rest[0]))]
    if len(keys) == 1 and len(words.raws[0]) == 1 and keys[0].isalpha():
        return [Spelling((keys[0],), "letter")]
    if len(keys) == 1 and keys[0] in POLAR:
        return []
    content = _content(keys) or tuple(keys)
    found = [Spelling(content, "whole", None, words.text, _is_cased(text, content))]
    for name in SAME_NAMES.get(" ".join(content), ()):
        also = tuple(name.split())
        found.append(Spelling(also, "whole", None, "", len(name) < 4))
    if len(content) > 1:
        named = tuple(key for key in content if key not in CLASSES and (len(key) > 1 or not key.isalpha()))
        if named and named != content and (len(named) > 1 or len(named[0]) > 3):
            found.append(Spelling(named, "whole"))
    if len(content) == 2 and "-" in text:
        found.append(Spelling(("".join(content),), "whole"))
    other = content_of(rival) if rival else ()
    if 1 < len(content) == len(other) <= 4:
        differing = [key for key, its in zip(content, other, strict=True) if key != its]
        if len(differing) == 1 and len(differing[0]) > 3 and not differing[0].isdecimal():
            found.append(Spelling((differing[0],), "the word that differs"))
    if (
        is_person
        and 1 < len(content) < 5
        and len(content[-1]) > 2
        and text[:1].isupper()
        and other[-1:] != content[-1:]
    ):
        found.append(Spelling(content[-1:], "surname"))
    return found


def _is_cased(text: str, content: tuple[str, ...]) -> bool:
    """Whether only a capital makes the words this answer: 'US' is a country and 'us' is not, nor 'may' a month."""
    joined = "".join(content)
    is_plain = all(key in EMPTY_WORDS or key in CAPITAL_WORDS for key in content)
    return text[:1].isupper() and (
        is_plain or len(joined) < 3 or (len(joined) < 5 and text.isupper() and joined.isalpha())
    )


CAPITAL_WORDS: Final = words_of("capital_words")
SAME_NAMES: Final = {
    name: tuple(other for other in names if other != name) for names in phrases_of("same_names") for name in names
}
_ABOUT: Final = words_of("about")


def mentions(words: Words, answers: tuple[Answer, ...], original: str) -> list[Mention]:
    """Every mention, in order, less those inside a longer rival's. Yes and no are looked for elsewhere."""
    keys = words.keys
    starts: dict[str, list[int]] = {}
    wanted = {spelling.keys[0] for which in answers for spelling in which.spellings if spelling.keys}
    for place, key in enumerate(keys):
        if key in wanted:
            starts.setdefault(key, []).append(place)
    counted: list[Number] | None = None
    found: list[Mention] = []
    for which in answers:
        own: list[Mention] = []
        for spelling in which.spellings:
            if spelling.number is not None:
                counted = numbers(keys, words.raws) if counted is None else counted
                own += _numbers(words, counted, spelling, which.side, is_rough=which.is_rough)
            elif spelling.kind == "letter":
                own += _letters(words, starts.get(spelling.keys[0], []), spelling, which.side, original)
            elif spelling.kind != "surname" or not own:
                places = starts.get(spelling.keys[0], [])
                if spelling.cased and len(original) == len(words.text):
                    places = [place for place in places if original[words.places[place][0]].isupper()]
                own += _in_order(keys, places, spelling, which.side)
        if not own:
            for spelling in which.spellings:
                if spelling.kind == "whole" and 1 < len(spelling.keys) < 8 and _may_be_mixed(spelling.keys):
                    own += _any_order(keys, spelling.keys, which.side)
                if not own and len(spelling.text) > 3:
                    own += _run_together(words, spelling.text, which.side, original)
        found += own if len(own) <= 2 * PER_END else own[:PER_END] + own[-PER_END:]
    return _outermost(found)


def _numbers(words: Words, counted: list[Number], spelling: Spelling, side: Side, *, is_rough: bool) -> list[Mention]:
    value, unit = spelling.number or (0.0, "")
    found = []
    for number in counted:
        if number.value < 1000 and _is_glued(words, number.start):
            continue
        if number.value == value or abs(number.value - value) <= 1e-9 * abs(value):
            kind = spelling.kind
            if unit and number.unit and unit != number.unit and kind == "number":
                kind = "number of another unit"
            elif unit != number.unit and (unit or number.unit == "%"):
                kind = "number without its unit"
            found.append(Mention(number.start, number.end, side, kind))
        elif unit and number.unit and unit != number.unit:
            wanted, there = in_base(value, unit), in_base(number.value, number.unit)
            if wanted and there and wanted[1] == there[1] and abs(wanted[0] - there[0]) <= 0.01 * abs(wanted[0]):
                found.append(Mention(number.start, number.end, side, "number"))
        elif is_rough and abs(number.value - value) <= 0.01 * abs(value):
            found.append(Mention(number.start, number.end, side, "number nearly so"))
    return found


def _is_glued(words: Words, place: int) -> bool:
    """Whether a letter stands right before a number: 'h8'."""
    start = words.places[place][0]
    return words.raws[place][0].isdecimal() and start > 0 and words.text[start - 1].isalpha()


def _letters(words: Words, places: list[int], spelling: Spelling, side: Side, original: str) -> list[Mention]:
    """A letter counts as a capital, or where marks set it off; 'a' and 'i' only where marks do."""
    found, raws = [], words.raws
    for place in places:
        start, end = words.places[place]
        is_capital = original[start:end].isupper()
        after = raws[place + 1] if place + 1 < len(raws) else "."
        is_set_off = (
            after in {")", ".", ":", ",", "!"} or after[0] == "\n" or words.text[end : end + 1] in {"*", '"', "'", "}"}
        )
        is_word = spelling.keys[0] in {"a", "i"}
        if is_set_off or (is_capital and not is_word) or (is_capital and place and raws[place - 1] in {":", "(", "is"}):
            found.append(Mention(place, place + 1, side, "letter"))
    return found


def _in_order(keys: list[str], places: list[int], spelling: Spelling, side: Side) -> list[Mention]:
    found, rest = [], spelling.keys[1:]
    for place in places:
        end: int | None = place + 1
        for key in rest:
            end = _next(keys, end or 0, key)
            if end is None:
                break
        if end is not None:
            found.append(Mention(place, end, side, spelling.kind))
    return found


def _next(keys: list[str], place: int, key: str) -> int | None:
    """The end of the key if it comes next, but for gaps."""
    for skipped in range(place, min(place + BETWEEN + 1, len(keys))):
        there = keys[skipped]
        if there == key or (there[0].isdecimal() and there[:-2] == key and is_rank(there)):
            return skipped + 1
        if there not in GAPS:
            return None
    return None


def _run_together(words: Words, wanted: str, side: Side, original: str) -> list[Mention]:
    """Where a name is written together with the word before it ('isSydney') or with the number of a footnote."""
    found: list[Mention] = []
    text = words.text
    if len(original) != len(text):
        return []
    place = text.find(wanted)
    while place >= 0 and len(found) < PER_END:
        end = place + len(wanted)
        after = text[end : end + 3]
        is_open = (
            place == 0 or not text[place - 1].isalnum() or (original[place].isupper() and original[place - 1].islower())
        )
        is_closed = not after[:1].isalpha() and (not wanted[-1].isdecimal() or not after[:3].isdecimal())
        if is_open and is_closed:
            starts = words.places
            first = bisect_right(starts, (place, len(text))) - 1
            last = bisect_right(starts, (end - 1, len(text)))
            found.append(Mention(max(first, 0), max(last, first + 1), side, "run together"))
        place = text.find(wanted, place + 1)
    return found


def _may_be_mixed(keys: tuple[str, ...]) -> bool:
    """Whether the words mean the same in another order: no formula, no word twice."""
    return len(set(keys)) == len(keys) and all(len(key) > 1 or key.isdecimal() for key in keys)


def _any_order(keys: list[str], wanted: tuple[str, ...], side: Side) -> list[Mention]:
    """The shortest stretches that hold all of the words, hardly longer than they are."""
    missing, need = set(wanted), len(set(wanted))
    if not missing.issubset(keys) and not any(key.isdecimal() for key in wanted):
        return []
    hits = [
        (place, key)
        for place, full in enumerate(keys)
        if (key := full[:-2] if full[0].isdecimal() and is_rank(full) else full) in missing
    ]
    found: list[Mention] = []
    for first in range(len(hits) - need + 1):
        seen: set[str] = set()
        for place, key in hits[first : first + need + 2]:
            seen.add(key)
            if len(seen) == need:
                if place + 1 - hits[first][0] <= 2 * need + 1 and (not found or hits[first][0] >= found[-1].end):
                    found.append(Mention(hits[first][0], place + 1, side, "in another order"))
                break
        if len(found) > PER_END:
            break
    return found


def _outermost(found: list[Mention]) -> list[Mention]:
    """In order; what lies inside a longer mention is dropped, unless it is as long and another side's."""
    found.sort(key=lambda mention: (mention.start, -mention.end))
    kept: list[Mention] = []
    for mention in found:
        if any(
            other.end >= mention.end
            and (other.end - other.start > mention.end - mention.start or other.side == mention.side)
            for other in kept[-6:]
        ):
            continue
        kept.append(mention)
    return kept


WINDOW: Final = 14
"""How many words a part of an answer may be spread over."""
ROOT: Final = 5
"""Two words that begin with so many letters alike are one, where a part is looked for."""


def parts(words: Words, target: Answer) -> list[Mention]:
    """Where a third or more of the informative letters of a spelling stand, the best places first."""
    if any(spelling.kind == "number" for spelling in target.spellings):
        return []
    found = {mention for letters in target.letters if letters for mention in _parts(words, dict(letters))}
    return sorted(found, key=lambda mention: (-mention.share, mention.start, mention.end))[:4]


def _parts(words: Words, letters: dict[str, int]) -> list[Mention]:
    roots, total = {key[:ROOT]: size for key, size in letters.items()}, sum(letters.values())
    keys = words.keys
    hits = [
        (place, key[:ROOT])
        for place, key in enumerate(keys)
        if key[:ROOT] in roots and (len(key) > 2 or key.isdecimal())
    ]
    found: list[Mention] = []
    for first, (start, _) in enumerate(hits[: 4 * PER_END]):
        seen: dict[str, int] = {}
        for place, root in hits[first : first + 12]:
            if place - start >= WINDOW:
                break
            seen.setdefault(root, place)
        share = sum(roots[root] for root in seen) / total
        if share >= 1 / 3:
            found.append(Mention(start, max(seen.values()) + 1, "target", "part", min(share, 1.0)))
    return found


def same(first: str, second: str) -> bool:
    """Whether two answers are one to the rules: either is found in the other and is all of it, but for an article."""
    one, two = (answer("target", (text,), None, "", ()) for text in (first, second))
    if one.value is not None or two.value is not None:
        return one.value == two.value
    return _is_all_of(one, second) or _is_all_of(two, first)


def _is_all_of(wanted: Answer, text: str) -> bool:
    words = Words(fold(text).text)
    content = [place for place, key in enumerate(words.keys) if key not in ARTICLES and key not in {".", "!"}]
    for one in mentions(words, (wanted,), text):
        left = [place for place in content if not one.start <= place < one.end]
        if one.kind == "number" and all(words.keys[place] in UNITS for place in left):
            return True
        if not left and one.kind in {"whole", "in another order", "letter"}:
            return True
    return False

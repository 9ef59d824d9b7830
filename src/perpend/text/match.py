"""Texts made comparable, and the places in a text that mention an answer."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from operator import itemgetter
from typing import Final, Literal, TypeAlias

from perpend.text import numbers

INVISIBLE: Final = re.compile("[\u00ad\u0300-\u036f\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufe00-\ufe0f\ufeff]")
"""Characters that a reader does not see apart: soft hyphens, combining marks, zero-width and direction marks."""

_SAME: Final = {
    "-": "\u2010\u2011\u2012\u2013\u2212\ufe58\ufe63\uff0d",
    "'": "\u2018\u2019\u201b\u02bc\u2032\u00b4`",
    '"': "\u201c\u201d\u201e\u201f\u00ab\u00bb\u2033",
    " ": "\u00a0\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u202f\u205f\u3000\t\r\v\f\u0085",
    "\n": "\u2028\u2029",
    "*": "\u00d7\u2715\u2716\u22c5\u00b7\u2217\u2022",
    "/": "\u00f7\u2044\u2215",
}


def _table() -> dict[str, str]:
    table = {char: base for base, chars in _SAME.items() for char in chars}
    table |= {chr(code): chr(code - 0xFEE0) for code in range(0xFF01, 0xFF5F) if chr(code) not in table}
    table |= {chr(0x2080 + digit): str(digit) for digit in range(10)}
    for code in (*range(0x00C0, 0x0250), *range(0x1E00, 0x1F00)):
        base, *marks = list(unicodedata.normalize("NFD", chr(code)))
        if marks and all(unicodedata.combining(mark) for mark in marks):
            table[chr(code)] = base
    return table


_TABLE: Final = _table()
FOLDED: Final = re.compile("[" + re.escape("".join(_TABLE)) + "]")
"""The characters that fold."""
_ASCII: Final = "`\t\r\v\f"
_FREQUENT: Final = _ASCII + "\u2019\u2018\u201c\u201d\u2013\u2011\u00a0\u202f\u2022\u00d7\u00e9"
"""Of them, the ASCII ones and those that fill texts: one replacement each takes a hundredth of a substitution."""
_KEPT: Final = "\u2014\u2026\u00b0\u00b2\u00b3\u221a\u2248\u2192\u03c0\u20ac\u00a3"
"""Frequent characters that do not fold: where no other is left, no substitution is needed."""


class Folded:
    """`text` in its folded form. `offsets[i]` is where its i-th character stood; None when nothing moved."""

    __slots__ = ("_labels", "offsets", "text")

    def __init__(self, text: str, offsets: tuple[int, ...] | None = None) -> None:
        self.text, self.offsets = text, offsets
        self._labels: list[int] | None = None

    def span(self, start: int, end: int) -> tuple[int, int]:
        """Where `text[start:end]`, which is not empty, stood in the original."""
        if self.offsets is None:
            return start, end
        return self.offsets[start], self.offsets[end - 1] + 1

    def labels(self) -> list[int]:
        """Where any of `LABELS` begins, in order, also inside a word. Kept: three rules look for them."""
        known = self._labels
        if known is None:
            known = self._labels = places_of(self.text, LABELS)
        return known


def fold(text: str) -> Folded:
    """The text as it is compared: every character becomes one character, invisible ones are dropped."""
    for char in _ASCII if text.isascii() else _FREQUENT:
        if char in text:
            text = text.replace(char, _TABLE[char])
    offsets = None
    if not text.isascii() and not _without(text, _KEPT).isascii():
        if INVISIBLE.search(text):
            kept = [i for i, char in enumerate(text) if INVISIBLE.match(char) is None]
            text, offsets = "".join([text[i] for i in kept]), tuple(kept)
        text = FOLDED.sub(_fold, text)
    return Folded(text.lower(), offsets)


def _without(text: str, chars: str) -> str:
    for char in chars:
        text = text.replace(char, "")
    return text


def _fold(found: re.Match[str]) -> str:
    return _TABLE[found[0]]


LONG: Final = 30_000
"""From so many characters on CPython's `in` takes twice the time of `rfind`; in shorter texts, three quarters."""


def words_in(text: str, words: tuple[str, ...]) -> list[str]:
    """Those of the words that a text holds, looked for in the faster way."""
    if len(text) < LONG:
        return [word for word in words if word in text]
    return [word for word in words if text.rfind(word) >= 0]


LABELS: Final = ("true", "false", "yes", "no", "correct")
"""What every label word and every bare yes or no ends in, but for 'yep' and 'yeah'. No two begin alike."""


def places_of(text: str, words: tuple[str, ...]) -> list[int]:
    """Where any of the words begins in a text, in order."""
    places: list[int] = []
    for word in words_in(text, words):
        place = text.rfind(word)
        while place >= 0:
            places.append(place)
            place = text.rfind(word, 0, place)
    places.sort()
    return places


Kind: TypeAlias = Literal["words", "number", "polar", "letter"]
Side: TypeAlias = Literal["target", "decoy", "other"]
Span: TypeAlias = tuple[int, int]
Check: TypeAlias = Callable[["Folded", str, Span], Span | None]
"""Whether a place that a form matches, in a folded text and its original, is a mention: its span, or None."""

MENTIONS: Final = 24
"""How many mentions are read from each end of a text: what lies between them changes no verdict."""
TRIES: Final = 100_000
"""How often a needle is tried in a text before the search gives up."""
SENTENCE: Final = 4
"""From how many words on an answer is a statement by itself."""
POLAR: Final = {"yes": True, "true": True, "no": False, "false": False}
WORD: Final = re.compile(r"[^\W_]+")
MATHS: Final = re.compile(r"[=<>^\\→]|\d\s?[+/*]|[+/*]\s?\d|\(\s?-?\d|(?:^|[\s(,])-\s?\d|[a-z]\d?[+-](?:\s|\(|$)")
"""What makes an answer a formula: its signs are compared, and its spaces are not."""
MATHS_TOKEN: Final = re.compile(r"\d+(?:\.\d+)?|[a-z]+|[^\s\w$\\{}]")
DIGITS_APART: Final = re.compile(r"\d(?:, \d)* and \d")
"""A number digit by digit: its digits may also stand apart in one sentence, 'the first is 1 and the second is 4'."""
ARTICLE: Final = re.compile(r"(?:the|an?)\s+(?=\w)")
OPTION_LABEL: Final = re.compile(r"\(?[a-h]\)\s+(?=\S)")
VARIABLE: Final = re.compile(r"[a-z]\s?=\s?(?=-?[\d.$])")
INITIALS: Final = re.compile(r"(?<![A-Za-z])(?:[A-Z]\.){1,4}[A-Z]?|(?<![A-Za-z])[A-Z]{2,4}(?![A-Za-z])")
GAP: Final = r"[\s\-*_'\".,:;()\[\]/—]{0,6}"
END: Final = r"(?![^\W_]|[_^{]{1,2}\d)"


@dataclass(frozen=True, slots=True)
class Form:
    """One spelling of an answer: a needle to look for, then a pattern or a number that must hold around it."""

    needle: str
    source: str | None
    """The pattern as text; None for a number."""
    number: numbers.Quantity | None = None
    cased: bool = False
    """Whether the text must have a capital: 'US' is a country and 'us' is not."""
    check: Check | None = None
    """What a place must pass too; it may give a wider span."""


@dataclass(frozen=True, slots=True)
class Answer:
    """An answer ready to be found. For any kind but words, only an answer position makes a mention an answer."""

    kind: Kind
    forms: tuple[Form, ...]
    polar: bool | None = None
    is_sentence: bool = False
    """Whether it has so many words that to say it is to state it."""
    is_apart: bool = False
    """Whether even a single letter is found only where it is set off, so that it may be stated outside a slot."""


Mention: TypeAlias = tuple[Span, Side, Answer]
"""Where an answer stands, whose it is, and which."""
_SPAN: Final = itemgetter(0)


@lru_cache(maxsize=1 << 13)
def answer(spellings: tuple[str, ...], rival: str | None, choices: tuple[str, ...]) -> Answer | None:
    """How to find an answer given in any of its spellings. None when there is nothing to look for.

    `rival` is the answer that it must be told from: of 'Pacific Ocean' against 'Atlantic Ocean', 'Pacific' is enough.
    """
    forms: list[Form] = []
    kind: Kind = "words"
    polar = POLAR.get(fold(spellings[0]).text.strip(" .!"))
    for spelling in _with_choice(spellings, choices):
        folded = fold(spelling).text.strip()
        bare = OPTION_LABEL.sub("", folded, count=1) if OPTION_LABEL.match(folded) else folded
        number = numbers.quantity(VARIABLE.sub("", bare, count=1) if VARIABLE.match(bare) else bare)
        if len(bare.strip("().")) == 1 and bare.strip("().").isalpha():
            forms.append(letter_form(bare.strip("().")))
            kind = "letter" if kind == "words" and not forms[:-1] else kind
        elif (ranks := numbers.ordinal(bare)) is not None:
            forms += [words_form(WORD.findall(rank), frozenset(), cased=False) for rank in ranks]
        elif number is not None:
            forms += [Form(needle, None, number) for needle in number.needles]
            forms += maths_forms(bare) if VARIABLE.match(bare) else scientific_forms(number)
            kind = "number"
        elif (parts := numbers.fraction(bare)) is not None:
            forms += fraction_forms(*parts)
            kind = "number"
        elif DIGITS_APART.fullmatch(bare):
            digits = re.findall(r"\d", bare)
            forms.append(Form(digits[0], whole(r"(?<![\d.])" + r"[^\d.;\n]{1,40}".join(digits) + END)))
        elif MATHS.search(bare):
            forms += maths_forms(bare) + part_forms(bare)
        else:
            forms += _words(spelling if bare == folded else bare, None if rival is None else fold(rival).text)
    is_sentence = kind == "words" and len(WORD.findall(fold(spellings[0]).text)) >= SENTENCE
    return Answer("polar" if polar is not None else kind, tuple(forms), polar, is_sentence) if forms else None


def whole(pattern: str) -> str:
    """The pattern where no word goes on before it."""
    return r"(?<![^\W_])" + pattern


def _with_choice(spellings: tuple[str, ...], choices: tuple[str, ...]) -> tuple[str, ...]:
    """The spellings and, for a multiple choice, the option's text and letter."""
    for spelling in spellings:
        wanted = fold(spelling).text.strip(" ().")
        for place, choice in enumerate(choices[:26]):
            letter = chr(ord("a") + place)
            if wanted in {fold(choice).text.strip(" ()."), letter}:
                return (*dict.fromkeys((choice, *spellings, letter.upper())),)
    return spellings


def scientific_forms(number: numbers.Quantity) -> list[Form]:
    """'3 × 10^5' for 300,000, and the like; nothing for numbers that nobody writes so."""
    if not number.value or 1e-3 <= abs(number.value) < 1e4:
        return []
    digits, _, exponent = f"{abs(number.value):.12e}".partition("e")
    mantissa, power = digits.rstrip("0").rstrip("."), str(int(exponent))
    raised = power.translate(str.maketrans("0123456789-", "⁰¹²³⁴⁵⁶⁷⁸⁹⁻"))
    pattern = rf"{re.escape(mantissa)}0*\s?(?:\*|x|\\times)\s?10\s?(?:\^\s?\{{?{power}\}}?|{raised})(?!\d)"
    return [Form(mantissa, whole(pattern))]


def letter_form(letter: str) -> Form:
    return Form(letter, whole(re.escape(letter) + END), cased=True)


def fraction_forms(top: str, bottom: str) -> list[Form]:
    over = rf"{re.escape(top)}\s?(?:/|over)\s?{re.escape(bottom)}{END}"
    latex = rf"frac\s?\{{?\s?{re.escape(top)}\s?\}}?\s?\{{?\s?{re.escape(bottom)}\s?\}}?"
    return [Form(top, whole(over)), Form("frac", whole(latex))]


def maths_forms(folded: str) -> list[Form]:
    tokens = [token for token in MATHS_TOKEN.findall(folded) if token not in {"_", "."}]
    if not tokens:
        return []
    last = END if tokens[-1][-1].isalnum() else ""
    return [Form(tokens[0], whole(r"[\s$\\{}_]{0,4}".join(map(re.escape, tokens)) + last))]


def part_forms(folded: str) -> list[Form]:
    """The parts of an answer such as '4t = 112; $28', in order and not far from each other."""
    parts = [part for text in folded.split(";") for part in maths_forms(text)]
    if len(parts) < 2:
        return []
    patterns = [part.source for part in parts if part.source]
    return [Form(parts[0].needle, whole(r"\b[^\n]{0,60}?(?<![\w.])".join(patterns)))]


def _words(spelling: str, rival: str | None) -> list[Form]:
    tokens, initials = tokens_of(spelling)
    if not tokens:
        return []
    forms = [words_form(tokens, initials, cased=_is_cased(spelling, tokens))]
    other = tokens_of(rival)[0] if rival else []
    if 2 <= len(tokens) <= 3 and len(other) == len(tokens) and tokens[1:] == other[1:] and len(tokens[0]) >= 4:
        forms.append(words_form(tokens[:1], initials, cased=False))
    return forms


def tokens_of(spelling: str) -> tuple[list[str], frozenset[str]]:
    initials = frozenset(found.replace(".", "").lower() for found in INITIALS.findall(spelling))
    undotted = INITIALS.sub(lambda found: found[0].replace(".", ""), spelling)
    folded = fold(undotted).text.strip().replace("can't", "can not").replace("cannot", "can not").replace("n't", " not")
    return WORD.findall(ARTICLE.sub("", folded, count=1) if ARTICLE.match(folded) else folded), initials


def _is_cased(spelling: str, tokens: list[str]) -> bool:
    joined = "".join(tokens)
    return len(joined) <= 2 or (len(joined) <= 4 and spelling.isupper() and joined.isalpha())


def words_form(tokens: list[str], initials: frozenset[str], *, cased: bool) -> Form:
    parts: list[str] = []
    for token in tokens:
        if token == "not" and parts:  # noqa: S105 - no password; 'do not', 'don't' and 'cannot' say the same
            parts[-1] += rf"(?:n?'t|{GAP}not)"
        elif token in initials:
            parts.append(r"\.?\s?".join(token))
        else:  # 'h2o', 'h_2o' and 'h_{2}o' are one formula; an exponent may be raised
            split = re.sub(r"(?<=[a-z])(?=\d)|(?<=\d)(?=[a-z])", "[_^{}]{0,3}", re.escape(token))
            parts.append(split.replace("²", r"(?:²|\^?\{?2\}?)").replace("³", r"(?:³|\^?\{?3\}?)"))
    last = tokens[-1]
    plural = "(?:e?s)?" if last.isalpha() and len(last) >= 3 and not cased and last not in initials else ""
    needle = (
        tokens[0][0] if tokens[0] in initials else re.split(r"(?<=[a-z])(?=\d)|(?<=\d)(?=[a-z])|[²³]", tokens[0])[0]
    )
    return Form(needle, whole(GAP.join(parts) + plural + END), cased=cased)


@lru_cache(maxsize=1 << 15)
def _compiled(source: str) -> re.Pattern[str]:
    """The pattern of a form, compiled where the first text holds its needle."""
    return re.compile(source)


def mentions(text: Folded, original: str, sides: tuple[tuple[Side, Answer], ...]) -> list[Mention]:
    """Every mention of every answer, in order, less those inside a longer one."""
    known: list[Mention] = []
    for side, wanted in sides:
        _add(known, text, original, side, wanted)
    if len(known) < 2:
        return known
    known.sort(key=_SPAN)
    last = 0
    for (start, end), _, _ in known:
        if start < last:
            break
        last = end
    else:  # apart from each other, as in most texts
        return known
    kept: list[Mention] = []
    for side, wanted in sides:
        spans = [span for span, whose, which in known if whose == side and which is wanted]
        kept += [(span, side, wanted) for span in _longest(spans)]
    return without_nested(kept)


def _add(known: list[Mention], text: Folded, original: str, side: Side, wanted: Answer) -> None:
    """Add the mentions of an answer, in no order, at most `MENTIONS` from each end of the text and for each spelling.

    Those of two spellings may overlap.
    """
    body = text.text
    for form in wanted.forms:
        where, needle = body, form.needle
        if form.cased and len(needle) == 1 and original.isascii():
            where, needle = original, needle.upper()  # a capital letter is twenty times as rare as the letter
        place = where.rfind(needle)
        if place < 0:
            continue
        is_plain = form.check is None and not (form.cased and where is body)
        source = form.source if is_plain else None
        pattern = None if source is None else _compiled(source)
        enough = len(known) + MENTIONS
        for _ in range(TRIES):
            if pattern is None:
                span = _at(text, original, form, place)
                if span is not None:
                    known.append((span, side, wanted))
            elif words := pattern.match(body, place):  # what most answers have: a call less for every place
                known.append((words.span(), side, wanted))
            if len(known) == enough:
                last = {span for span, _, _ in known[-MENTIONS:]}
                first = _first_spans(text, original, form, where, needle)
                known += [(span, side, wanted) for span in first if span not in last]
                break
            place = where.rfind(needle, 0, place)
            if place < 0:
                break


def _first_spans(text: Folded, original: str, form: Form, where: str, needle: str) -> list[Span]:
    """The first mentions in one spelling."""
    spans: list[Span] = []
    place = where.find(needle)
    for _ in range(TRIES):
        span = _at(text, original, form, place)
        if span is not None:
            spans.append(span)
        place = where.find(needle, place + 1)
        if place < 0 or len(spans) == MENTIONS:
            break
    return spans


def _at(text: Folded, original: str, form: Form, place: int) -> Span | None:
    span: Span | None = None
    if form.source is None:
        span = None if form.number is None else numbers.find(text.text, form.number, form.needle, place)
    else:
        match = _compiled(form.source).match(text.text, place)
        if match is not None and (not form.cased or _has_capital(original, text.span(*match.span()))):
            span = match.span()
    return span if span is None or form.check is None else form.check(text, original, span)


def _has_capital(original: str, span: Span) -> bool:
    return any(char.isupper() for char in original[slice(*span)])


def _longest(spans: list[Span]) -> list[Span]:
    """Spans in order without those inside another."""
    kept: list[Span] = []
    start = end = -1
    for span in spans:
        if span[1] <= end:
            continue
        if span[0] == start:
            kept[-1] = span
        else:
            kept.append(span)
        start, end = span
    return kept


def without_nested(mentions: list[Mention]) -> list[Mention]:
    """The mentions in order, less those inside a longer one: 'water' is not said by 'water vapour'.

    No two mentions of one answer are nested, so the longer one is always another answer's.
    """
    kept: list[Mention] = []
    first, last = 0, 0
    for mention in sorted(mentions, key=_outer_first):
        start, end = mention[0]
        if end > last:
            first, last = start, end
        elif (first, last) != (start, end):
            continue
        kept.append(mention)
    return kept


def _outer_first(mention: Mention) -> Span:
    return mention[0][0], -mention[0][1]

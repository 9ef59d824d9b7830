"""Answers in other notations: what version 4 looks for to find an answer, and which answers are the same to it."""

from __future__ import annotations

import re
from dataclasses import replace
from functools import lru_cache
from typing import Final

from perpend.text import match, numbers
from perpend.text.apart import COMMON, letter, set_off
from perpend.text.dates import date, date_forms, is_month
from perpend.text.exact import has_letters
from perpend.text.formula import (
    VARIABLE,
    chemical,
    formula_forms,
    is_formula,
    power,
    power_forms,
    ratio,
    ratio_forms,
    symbol_forms,
)
from perpend.text.lists import list_forms, members
from perpend.text.match import END, POLAR, WORD, Answer, Form, Kind, fold, whole
from perpend.text.names import asks_who, classes_asked, full_name, name_forms, with_class
from perpend.text.speech import STOP_WORDS, last_question
from perpend.text.units import SCALES, counted_in, unit

_NUMBER: Final = r"\d{1,3}(?:,\d{3})+|\d+(?:\.\d+)?"
RANGE: Final = re.compile(
    rf"(?:(?P<between>between|from|about)\s)?[$€£]?(?P<low>{_NUMBER})\s?[a-z%°]{{0,12}}\s?(?P<join>-|—|to|through|and)\s?"
    rf"[$€£]?(?P<high>{_NUMBER})(?:\s?[a-z%°][^\d]*)?"
)
"""An answer from one number to another."""
SIGNED: Final = re.compile(r"\w[^\w\s\-*'\".,:;()\[\]/—]\w|\w\s?&\s?\w")
"""Signs inside a word that words are not found across."""
AMPERSAND: Final = re.compile(r"(?:\\ )?(?:\\)?&(?:\\ )?")
SHORT: Final = 2
"""Up to so many letters a word may be another word by chance."""
LIST_WORDS: Final = 8
"""Up to so many words an answer may have another notation; what is longer is a sentence."""
HEXADECIMAL: Final = re.compile(r"\bhex(?:adecimal)?\b|\bbase[- ]16\b")
HEX_DIGITS: Final = re.compile(r"(?:0x|#)?(?P<digits>[0-9a-f]{1,16})")
SPELLINGS: Final = (
    (re.compile(r"(?<=[a-z]{2})ou?r(?=s?\b|ed|ing|ful|ite|able|y\b)"), "ou?r"),
    (re.compile(r"(?<=[a-z]{3})i[sz](?=e[ds]?\b|ing\b|ation)"), "i[sz]"),
    (re.compile(r"(?<=[a-z]{2}[tbpv])(?:re|er)(?=s?\b)"), "(?:re|er)"),
    (re.compile(r"sul(?:ph|f)"), "sul(?:ph|f)"),
    (re.compile(r"\bgr[ae]y"), "gr[ae]y"),
    (re.compile(r"alumini?um"), "alumini?um"),
    (re.compile(r"(?<=h)a?em(?=[oi])"), "a?em"),
    (re.compile(r"(?<=\bp)a?ed(?=i)"), "a?ed"),
    (re.compile(r"\bo?es(?=tro|oph)"), "o?es"),
    (re.compile(r"(?<=\bf)o?et(?=us|al)"), "o?et"),
)
"""British and American spellings, and what matches either."""


@lru_cache(maxsize=1 << 13)
def answer(spellings: tuple[str, ...], rival: str | None, choices: tuple[str, ...], prompt: str) -> Answer | None:
    """How version 4 finds an answer given in any of its spellings. None when nothing in it can be read.

    As `match.answer`, but a number must have its unit where the rival is the same number of another; days, ranges and
    lists are found in every order and notation, formulas in LaTeX and Unicode; words that sentences are made of, single
    letters and signs are found where they are set off, whatever their case; scripts without case or blanks as they are;
    and of persons and places that are asked for, also the shorter name.
    """
    folded_rival = None if rival is None else fold(rival).text.strip()
    first = fold(spellings[0]).text.strip(" .!")
    polar = POLAR.get(first) if rival is None or (folded_rival or "").strip(" .!") in POLAR else None
    if polar is not None:
        return match.answer(spellings, rival, choices)
    forms: list[Form] = []
    kind: Kind = "words"
    is_sentence = len(WORD.findall(first)) >= match.SENTENCE
    is_apart = False
    options = _with_choice(spellings, choices)
    for spelling in options:
        folded = fold(spelling).text.strip()
        bare = match.OPTION_LABEL.sub("", folded, count=1) if match.OPTION_LABEL.match(folded) else folded
        single = bare.strip("().")
        if len(single) == 1 and single.isalpha():
            if choices:
                kind = "letter" if kind == "words" and not forms else kind
                forms.append(match.letter_form(single))
            else:
                forms += _letter_forms(spelling.strip(" ()."), single, prompt)
                is_apart = True
        elif (valued := _numeric(bare, folded_rival, prompt)) is not None:
            forms += valued[1]
            kind = valued[0] if kind == "words" else kind
            is_sentence = is_sentence and valued[2]
        else:
            forms += _worded(spelling if bare == folded else bare, bare, rival, prompt)
    if not forms:
        return None
    return Answer(kind, tuple(forms), None, kind == "words" and is_sentence, is_apart)


def _with_choice(spellings: tuple[str, ...], choices: tuple[str, ...]) -> tuple[str, ...]:
    """The spellings and, for a multiple choice, the option's text and letter; no letter where an option is one."""
    folded = [fold(choice).text.strip(" ().") for choice in choices[:26]]
    are_letters = has_letters(choices)
    for spelling in spellings:
        wanted = fold(spelling).text.strip(" ().")
        place = folded.index(wanted) if wanted in folded else -1
        if place < 0 and not are_letters and len(wanted) == 1 and 0 <= ord(wanted) - ord("a") < len(folded):
            place = ord(wanted) - ord("a")
        if place >= 0:
            name = () if are_letters else (chr(ord("A") + place),)
            return (*dict.fromkeys((choices[place], *spellings, *name)),)
    return spellings


def _letter_forms(spelling: str, single: str, prompt: str) -> list[Form]:
    """A single letter that is the answer itself; Greek ones also by their name."""
    named = symbol_forms(single)
    if not spelling.isascii() and (single != spelling.lower() or spelling.lower() == spelling.upper() or named):
        if single != spelling.lower():  # 'Å' folds to a letter that is another answer
            return [Form(single, whole(re.escape(single) + END), check=letter(spelling, frozenset()))]
        is_cased = spelling.lower() != spelling.upper()
        return [Form(single, whole(re.escape(single) + END) if is_cased else re.escape(single)), *named]
    nouns = frozenset(WORD.findall(fold(last_question(prompt)).text)) - STOP_WORDS - COMMON
    return [Form(single, whole(re.escape(single) + END), check=letter(spelling, nouns)), *named]


def _numeric(bare: str, rival: str | None, prompt: str) -> tuple[Kind, list[Form], bool] | None:  # noqa: PLR0911
    """The kind and forms of what has a value: a day, a rank, a range, a power, a number, a ratio. None for the rest.

    Third, whether an answer of several words may be a statement by itself.
    """
    if (day := date(bare)) is not None:
        return "words", date_forms(day), False
    if (ranks := numbers.ordinal(bare)) is not None:
        return "words", [match.words_form(WORD.findall(rank), frozenset(), cased=False) for rank in ranks], True
    if (raised := power(bare)) is not None:
        return "words", power_forms(*raised), True
    if VARIABLE.search(bare):
        return None
    if (span := RANGE.fullmatch(bare.strip(" ."))) is not None and (forms := _range_forms(span)):
        return "words", forms, False
    if HEXADECIMAL.search(prompt.lower()) and (digits := HEX_DIGITS.fullmatch(bare)) is not None:
        return "words", _hex_forms(digits["digits"]), True
    is_variable = match.VARIABLE.match(bare)
    number = numbers.quantity(match.VARIABLE.sub("", bare, count=1) if is_variable else bare)
    if number is not None:
        extra = match.maths_forms(bare) if is_variable else match.scientific_forms(number)
        return "number", [*_number_forms(number, bare, rival), *extra], True
    if (parts := ratio(bare)) is not None:
        return "number", ratio_forms(*parts), True
    if match.DIGITS_APART.fullmatch(bare):
        digits_of = re.findall(r"\d", bare)
        source = whole(r"(?<![\d.])" + r"[^\d.;\n]{1,40}".join(digits_of) + END)
        in_order = Form(digits_of[0], source)
        return "words", [in_order] if "digit" in prompt.lower() else [in_order, *list_forms(members(bare))], True
    return None


def _number_forms(number: numbers.Quantity, bare: str, rival: str | None) -> list[Form]:
    """A number, whose scale must be its own, and whose unit too where the rival is the same number of another.

    A dash that opens a line is a bullet, but not where the rival is the same number below zero.
    """
    other = None if rival is None else numbers.quantity(rival)
    is_opposite = other is not None and other.value == -number.value and number.value >= 0
    number = replace(number, dashes="signs" if is_opposite else "bullets")
    own = unit(bare)
    check = None
    if own in SCALES:
        check = counted_in(own, None)
    elif rival is not None and other is not None and other.value == number.value:
        their = unit(rival)
        check = counted_in(own, their) if own != their else None
    if check is not None:
        number = replace(number, unit=number.unit if own in SCALES else None)
    forms = [Form(needle, None, number, check=check) for needle in number.needles]
    if own in SCALES:
        full = numbers.quantity(f"{number.value * SCALES[own]:.6f}".rstrip("0").rstrip("."))
        forms += [] if full is None else [Form(needle, None, full) for needle in full.needles]
        spelled = [needle for needle in number.needles if needle[0].isalpha()]
        forms += [Form(needle, whole(rf"{needle}[\s-]{own}s?" + END)) for needle in spelled]
    return forms


def _range_forms(span: re.Match[str]) -> list[Form]:
    """From one number to a greater one: with a dash, 'to' or 'through', or as 'between … and …', in digits or words."""
    low, high = numbers.quantity(span["low"]), numbers.quantity(span["high"])
    is_joined = (span["join"] == "and") == (span["between"] == "between")
    if low is None or high is None or low.value >= high.value or not is_joined:
        return []
    one = "|".join(re.escape(text) for text in low.needles)
    two = "|".join(re.escape(text) for text in high.needles)
    name = r"(?:\s?[a-z%°]{1,14}(?:\s[a-z]{1,8}\s[a-z]{1,8})?)?"
    close = r"(?![^\W_]|[.,]\d)(?:\s?[a-z%°]{1,14}(?:\s(?:per|a|each)\s[a-z]{1,10})?(?=[\s*]{0,2}(?:[.,;:!)\n]|$)))?"
    plain = rf"(?<![\w.,])(?<!\d-)0?(?:{one}){name}\s?(?:-|—|to|through|until)\s?[$€£]?0?(?:{two}){close}"
    opened = rf"(?:between|from)\s[$€£*]{{0,3}}0?(?:{one}){name}\s?(?:-|—|to|through|and)\s[$€£]?0?(?:{two}){close}"
    needles = dict.fromkeys(low.needles)
    return [Form(needle, plain) for needle in needles] + [Form(word, opened) for word in ("between", "from")]


def _hex_forms(digits: str) -> list[Form]:
    """A hexadecimal number with its prefix or base, or without."""
    prefixed = rf"(?:(?<=\b0x)|(?<=[\s(]#)|(?<![^\W_])){re.escape(digits)}(?:_?\{{?16\}}?|h)?{END}"
    return [Form(digits, prefixed, check=_is_hexadecimal)]


def _is_hexadecimal(text: match.Folded, original: str, span: match.Span) -> match.Span | None:
    """The check of a hexadecimal number: its prefix belongs to it; without one, up to two letters need capitals."""
    start = span[0] - 2 if text.text.startswith("0x", max(0, span[0] - 2)) else span[0]
    first, last = text.span(span[0], span[1])
    digits = original[first:last]
    is_word = start == span[0] and digits.isalpha() and len(digits) <= SHORT and not digits[:SHORT].isupper()
    return None if is_word else (start, span[1])


def _worded(spelling: str, bare: str, rival: str | None, prompt: str) -> list[Form]:
    """The forms of an answer in words, signs or a formula."""
    if not any(char.isalnum() for char in bare) or bare[:1] in ".#@°:" or bare[-1:] in "+-#":
        signs = symbol_forms(bare)
        if signs:
            return signs
    if _is_literal(bare):
        return [Form(bare, re.escape(bare))]
    if is_formula(bare) or VARIABLE.search(bare):
        return formula_forms(bare) + match.part_forms(bare)
    tokens, initials = match.tokens_of(spelling)
    if not tokens:
        return []
    forms = _word_forms(spelling, tokens, initials)
    other = match.tokens_of(rival)[0] if rival else []
    if 2 <= len(tokens) <= 3 and len(other) == len(tokens) and tokens[1:] == other[1:] and len(tokens[0]) >= 4:
        forms.append(match.words_form(tokens[:1], initials, cased=False))
    if len(tokens) == 1 and spelling.strip()[:1].isupper() and len(tokens[0]) >= 3 and asks_who(prompt):
        forms = [replace(form, check=full_name) for form in forms if form.check is None] or forms
    elif len(tokens) <= SHORT and (classes := classes_asked(prompt)):
        forms = [form if form.check else replace(form, check=with_class(classes)) for form in forms]
    forms += symbol_forms(bare)
    if SIGNED.search(bare):  # 'AT&T', 'P!nk'
        written = re.escape(match.ARTICLE.sub("", bare, count=1) if match.ARTICLE.match(bare) else bare)
        forms.append(Form(tokens[0], whole(AMPERSAND.sub(r"\\s?(?:&|and)\\s?", written) + END)))
    if (names := members(bare)) != ():
        forms += list_forms(names)
    return forms + name_forms(spelling.strip(), rival, prompt)


def _word_forms(spelling: str, tokens: list[str], initials: frozenset[str]) -> list[Form]:
    """Words as `match` finds them, in British and American spelling.

    What is nothing but words that sentences are made of ('He', 'The Who', 'up') keeps its article and must be set off.
    One or two letters, or up to four capitals, need a capital only if they are spelled with one.
    """
    stripped = spelling.strip()
    if COMMON.issuperset(tokens) and len(tokens) <= SHORT:
        form = match.words_form(tokens, initials, cased=False)
        with_article = WORD.findall(fold(stripped).text)
        if len(with_article) > len(tokens) and not initials:
            form = Form(with_article[0], whole(r"[\s-]".join(map(re.escape, with_article)) + END))
        return [replace(form, check=set_off(stripped))]
    joined = "".join(tokens)
    is_cased = any(char.isupper() for char in stripped) and (
        len(joined) <= SHORT or (len(joined) <= 4 and stripped.isupper() and joined.isalpha())
    )
    form = match.words_form(tokens, initials, cased=is_cased)
    if len(joined) <= SHORT and form.source is not None:
        return [replace(form, source=r"(?<![^\W_]')" + form.source)]  # no 're' in "they're"
    return [_either(chemical(form))]


def _either(form: Form) -> Form:
    """The form in British and American spelling."""
    if form.source is None:
        return form
    source, needle = form.source, form.needle
    for pattern, either in SPELLINGS:
        source = pattern.sub(either, source)
        varied = pattern.search(needle)
        needle = needle if varied is None else needle[: varied.start()] or needle[:1]
    return form if source == form.source else replace(form, source=source, needle=needle)


def _is_literal(bare: str) -> bool:
    """Whether the script has no case, as those without blanks or with marks for vowels: it is compared as it is."""
    letters = [char for char in bare if char > "\u024f" and not char.isspace() and not char.isascii()]
    return any(char.isalpha() and char.lower() == char.upper() for char in letters) and bare[:1] > "\u024f"


def same(first: str, second: str) -> bool:
    """Whether two answers are one to the rules: either is found in the other and is all of it, but for an article.

    Numbers are one if their values and units are. Of sentences, only the letters and figures are compared.
    """
    if first.isascii() and second.isascii() and _begin_apart(first.lower(), second.lower()):
        return False
    one, two = fold(first).text.strip(), fold(second).text.strip()
    if one == two:
        return True
    if max(len(WORD.findall(one)), len(WORD.findall(two))) > LIST_WORDS:
        return "".join(match.tokens_of(one)[0]) == "".join(match.tokens_of(two)[0]) != ""
    number, other = numbers.quantity(one), numbers.quantity(two)
    if number is not None and other is not None and power(one) is None and power(two) is None:
        return _scaled(number.value, unit(one)) == _scaled(other.value, unit(two))
    return _is_in(first, second) or _is_in(second, first)


def _begin_apart(one: str, two: str) -> bool:
    """A look that spares the rules, which take ten times as long: both are numbers of another value, or words that
    begin with another letter and are no number, day, range or list."""
    if one.isdecimal() and two.isdecimal():
        return int(one) != int(two)
    head, rival = _head(one), _head(two)
    if not head or not rival or head[0] == rival[0]:
        return False
    if any(sign in text for sign in (",", ";", "&", " and ") for text in (one, two)):
        return False
    return not (_is_valued(head) or _is_valued(rival))


def _head(text: str) -> str:
    """The first word of a text in lower case, but for an article."""
    words = text.strip(" \"'()*_.").split(maxsplit=2)
    if len(words) > 1 and words[0] in {"the", "a", "an"}:
        words = words[1:]
    return words[0] if words and words[0].isalnum() else ""


def _is_valued(word: str) -> bool:
    """Whether a first word may be that of a number, day or range in words."""
    return numbers.is_spoken(word.partition("-")[0]) or is_month(word) or word in {"between", "from", "about", "square"}


def _scaled(value: float, name: str | None) -> tuple[float, str | None]:
    return (value * SCALES[name], None) if name in SCALES else (value, name)


def _is_in(wanted: str, text: str) -> bool:
    """Whether a text is an answer and nothing more."""
    sought = answer((wanted,), text, (), "")
    if sought is None:
        return False
    folded = fold(text)
    for (start, stop), _, _ in match.mentions(folded, text, (("target", sought),)):
        lead = folded.text[:start].strip(" *_$\\\"'()")
        if lead in {"", "the", "a", "an"} and not folded.text[stop:].strip(" .!*_$\\\"'()"):
            return True
    return False

"""Short answers and signs: where one is set off from its sentence, and not a word that the sentence is made of."""

from __future__ import annotations

import re
from typing import Final

from perpend.text.cues import vocabulary
from perpend.text.match import Check, Folded, Span

COMMON: Final = vocabulary(
    "a ad after ah al all also although am among an and any are as at be because been before besides both but by can "
    "could de despite did do does down during either em en et even ex few for from go had has have he her him his how "
    "however i if in instead is it its just la le like ma may maybe me might more most my neither no nor not of off oh "
    "ok on once one only or our out pa per perhaps rather she should since so some than that the their them then there "
    "these they this those though to too under unless unlike until up us very was we were what when where whereas "
    "whether which while who whom whose why will with without would yes you your true false"
)
"""Words that sentences are made of: as an answer, one of these counts only where it is set off."""
OPENING: Final = "'\"*_$({["
CLOSING: Final = "'\"*_$)}]"
GLUED: Final = frozenset({".", "-", "/", "&"})
"""What makes a letter right after it part of a longer word: 'D.C.'."""
LEADING: Final = re.compile(
    r"(?:\b(?:is|are|was|were|be|equals?|called|named|as|by|with|say|pick|choose|select|answer|option|choice|letter|word"
    r"|use|just|simply|definitely|probably|clearly|indeed|so|then|therefore|boxed|to)|'s|[:=→])[\s*_\"'$({\[\\]{1,8}$"
)
"""What leads to an answer: a copula, a verb of choosing, a colon."""
ENDS: Final = re.compile(r"[*_\"')\]}$]{0,5}(?:$|[.,;:!?\n]|\s(?:because|since|—|-|\())")
"""What closes the clause after it."""
STOPS: Final = re.compile(r"[*_\"')\]}$]{0,5}\s?(?:$|[.!?\n]|\([^()\n]{1,30}\))")
"""What ends the sentence after it, or explains it in brackets."""
NAMED_SIGN: Final = re.compile(
    r"[*_\"')\]}$]{0,5}\s(?:operator|sign|symbol|character|mark|key|command|keyword|function|method|notation)s?\b"
)
"""What a sign or word is called right after it: 'the % operator'."""
IS_NEXT: Final = re.compile(r"[*_\"')\]}$]{0,5}\s(?:(?:is|was|stands|represents|denotes|means|equals)\b|≈)")
"""The verb of a letter that opens a sentence."""
CLASSES: Final = vocabulary(
    "letter symbol variable constant number type grade note prefix element vitamin group class value unit numeral point"
)
"""Nouns of what a letter may be."""
INITIAL: Final = re.compile(r"\.\s?[A-Z]|-[A-Za-z]|['’][a-z]|[+#&]|\.[A-Za-z]")
"""What makes a letter part of a longer name: 'W. Bush', 'T-shirt', 'C++'."""


def is_set_off(body: str, start: int, stop: int) -> bool:
    """Whether a word is spoken of and not used: in quotation marks, markup or brackets of its own; by itself in its
    sentence; at the end of a clause right after a copula, a verb of choosing or a colon; before its class ('the %
    sign').
    """
    if body[max(0, start - 1) : start] in GLUED:
        return False
    if body[start - 1 : start] in OPENING and start and body[stop : stop + 1] in CLOSING and stop < len(body):
        return True
    before = body[max(0, start - 40) : start]
    if _opens(before, start) and STOPS.match(body, stop):
        return True
    if LEADING.search(before) and ENDS.match(body, stop):
        return True
    return NAMED_SIGN.match(body, stop) is not None


def _opens(before: str, start: int) -> bool:
    """Whether a sentence or line begins here, but for markup."""
    lead = before.rstrip(OPENING + " ")
    return (not lead and start <= len(before)) or lead[-1:] in {".", "!", "?", "\n", ":"}


def set_off(spelling: str) -> Check:
    """The check of a word that sentences are made of, or of a sign.

    It must be set off, or have its own capital ('He', the symbol) inside a sentence, where the word itself would have
    none, or before a number ('May 1969'), or be in capitals like the answer ('US').
    """
    has_capital, undotted = spelling[:1].isupper(), spelling.replace(".", "")
    are_capitals = undotted.isupper() and len(undotted) > 1

    def check(text: Folded, original: str, span: Span) -> Span | None:
        first, last = text.span(span[0], span[1])
        written = original[first:last].replace(".", "")
        if has_capital and written not in {undotted, undotted.upper()}:
            return None
        if are_capitals or is_set_off(text.text, span[0], span[1]):
            return span
        is_first = _opens(text.text[max(0, span[0] - 40) : span[0]], span[0])
        is_dated = text.text[span[1] : span[1] + 1] == " " and text.text[span[1] + 1 : span[1] + 2].isdigit()
        return span if has_capital and (not is_first or is_dated) else None

    return check


def letter(spelling: str, nouns: frozenset[str]) -> Check:
    """The check of a single letter that is an answer itself, and no option's.

    It counts where it is set off; right after a noun of the question or of `CLASSES`, which then belongs to it, as in
    'vitamin D'; a capital, but for 'A' and 'I', also right after a copula in mid-clause, and at the start of a sentence
    before a verb ('W is the symbol'). A capital must be one in the text too. What belongs to a name ('W. Bush',
    'T-shirt') does not count.
    """
    is_capital, is_word = spelling.isupper(), spelling.lower() in {"a", "i"}

    def check(text: Folded, original: str, span: Span) -> Span | None:
        start, stop = span
        first, last = text.span(start, stop)
        body, written = text.text, original[first:last]
        if written != spelling and (is_capital or written.lower() != spelling):
            return None
        before = body[max(0, start - 40) : start]
        leads = LEADING.search(before) is not None
        is_initial = INITIAL.match(original, last) and not (leads and original[last : last + 1] == ".")
        if is_initial or before[-1:] in GLUED:
            return None
        noun = before.rstrip(" *_\"'")
        noun = noun[max(noun.rfind(" "), noun.rfind("\n")) + 1 :]
        if (
            (noun in nouns or noun in CLASSES)
            and body[start - 1] in " *_\"'"
            and (not is_word or ENDS.match(body, stop))
        ):
            return start - (len(before) - before.rfind(noun)), stop
        if is_set_off(body, start, stop):
            return span
        if is_capital and not is_word and leads:
            return span
        return span if _opens(before, start) and IS_NEXT.match(body, stop) and spelling != "I" else None

    return check

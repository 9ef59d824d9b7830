"""TRUE and FALSE as they are meant: labels under a denial turned round, and those that nobody asserts taken out."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final

from perpend.text.clause import blanking
from perpend.text.match import Folded, fold, words_in

_LABEL: Final = r"(?P<word>true|false|untrue|incorrect|correct)\b"
_GAP: Final = r"(?:(?!\b(?:whether|if|but)\b)[^.;!?\n,]){0,70}?"
POSITIVE: Final = frozenset({"true", "correct"})
_BLANKED: Final = blanking('*_#~$\\{}[]"`')
_DENIES: Final = (
    r"(?:(?:\b(?:not|never)\b|n't) (?:be )?(?:true|correct|right|accurate|the case|possible|clear|evident) (?:that|to)"
    r"|\b(?:wrong|incorrect|false|untrue|mistaken|inaccurate|unreasonable|a mistake|an error|impossible) (?:that|to"
    r"|for)"
    r"|\b(?:lying|wrong|mistaken|dishonest|fooling (?:myself|you)) if (?:i|we|you)\b"
    r"|\b(?:hardly|scarcely|no way|no chance|no reason|no evidence|no basis|by no means|nothing suggests|far from"
    r"|anything but)"
    r"|\b(?:cannot|can't|could not|couldn't|do not|don't|does not|doesn't|would not|wouldn't|will not|won't) (?:be )?"
    r"(?:said|say|claimed|claim|concluded|conclude|think|believe|agree|accept|call|argue|see how|see why|follow))"
)
FRAME: Final = re.compile(
    r"(?:\b(?:it|that|this|there|i|we|one|statement|claim)(?:'s| is| was| would be| am|'m|'d be)?\b[^.;!?\n]{0,24}?)?"
    rf"{_DENIES}\b{_GAP}\b{_LABEL}(?! that\b)"
)
"""A denial and the label in its reach: 'it would be wrong to answer FALSE', 'there is no way this is true'."""
DENIED_AFTER: Final = re.compile(
    r"(?:\b(?:saying|answering|choosing|to (?:say|answer)|an answer of|a label of)\b[^.;!?\n]{0,20}?|\A\s*)"
    rf"{_LABEL} (?:would be|is|was)(?: clearly| simply| therefore)? "
    r"(?:wrong|incorrect|a mistake|an error|mistaken|not (?:the |a )?(?:correct|right|answer)(?: (?:answer|label"
    r"|choice))?)\b"
)
"""A label that is called a mistake: 'saying TRUE would be a mistake'."""
CLAIM: Final = re.compile(
    r"\b(?:claim|statement|assertion|idea|proposition|notion|hypothesis|suggestion|conclusion) that "
    r"(?P<content>[^.;!?\n]{3,120}?) (?:is|was|must be|would be|has to be)(?: \w+ly| therefore| thus)? "
    rf"(?P<deny>not )?{_LABEL}"
)
"""A claim that is judged: 'the claim that it is not bounded is false'."""
NEGATION: Final = re.compile(r"\b(?:not|never|cannot|no)\b|n't\b")
_SUPPOSES: Final = (
    r"(?:\b(?:i|we) (?:initially|first|originally|at first|once|previously|used to|had) [a-z]+|\bmy (?:first"
    r"|initial) [a-z]+ was"
    r"|\b(?:initially|originally|at first(?: glance| sight)?|on first reading|on the face of it),? (?:i|we|it|this"
    r"|one|that)"
    r"|\b(?:you|one|some(?: people)?|many(?: people)?|people|they|others|everyone|everybody)"
    r"(?:(?: (?:might|may|could|would|will)|'d))? (?:be tempted to )?"
    r"(?:expects?|thinks?|says?|guess|assumes?|believes?|argues?|claims?|answers?)|\btempting to [a-z]+"
    r"|\bit (?:might|may|could) (?:seem|appear|look)|\b(?:it|this|that) (?:seems|seemed|appears|appeared|looks"
    r"|looked) at first)\b"
)
REFUTED: Final = re.compile(
    rf"{_SUPPOSES}{_GAP}\b{_LABEL},? but (?:it|that|this)(?: is|'s)?(?: not|n't| wrong| incorrect| mistaken)\b"
)
"""What somebody might expect, and that it is not so."""
SUPPOSED: Final = re.compile(rf"{_SUPPOSES}{_GAP}\b{_LABEL}(?:[^.;!?\n]{{0,60}}?\b(?:but|however|yet)\b,?)?")
"""What somebody might expect, or the model thought at first."""
CONDITION: Final = re.compile(
    r"(?:\A|(?<=but )|(?<=and ))\s*(?:if|unless|assuming|suppose|provided|were)\b"
    r"(?! (?:we|you|i|one) (?:look|check|consider|compute|examine|apply|use|follow|recall|test|take))"
    r"(?:[^.;!?\n]|\.(?=\d)){0,200}"
)
"""A sentence under a condition."""
INITIALS: Final = "tfc"
"""With which of `LABELS` a label begins that is clarified: 'true', 'false', 'correct'; any, where there is an aside."""
SENTENCE_END: Final = re.compile(r"[.!?;\n](?:(?<=\n)|(?=[\s*_#~$\\{}\[\]\"`]))")
"""A new line, or a mark before white space or markup. It begins with a set of characters: the search can skip."""
LABEL_WORD: Final = re.compile(rf"\b{_LABEL}", re.IGNORECASE)
ASIDE: Final = re.compile(
    r"(?<=answer), (?:however|therefore|then|thus|of course|in fact|in short|actually|hence"
    r"|in my view|in this case|i think|i believe), ?"
)
"""Words between 'answer' and its verb, whatever label follows."""
ASIDE_HINT: Final = ("answer, ",)
ASSURED: Final = re.compile(
    r"\bthere(?:'s| is| can be) no (?:doubt|question)(?: that)? |\b(?:it is|it's) (?:clear|evident|obvious"
    r"|certain) that "
)
"""Openings that only assure: what is true, false or correct."""


def clarified(text: str, folded: Folded, prompt: str) -> str:
    """The text, of the same length, with only the labels that it asserts. `folded` is the text, folded.

    A label in the reach of a denial becomes the other one, and what denies it is blanked; a claim with a denial in it
    counts as the denial of what was asked, unless the question denies it too; labels that are supposed, conditional or
    a first thought are blanked. The text is returned as it is where an invisible character makes offsets uncertain.
    """
    plain = folded.text
    places = folded.labels() if folded.offsets is None else []
    if places and not words_in(plain, ASIDE_HINT):
        places = [place for place in places if plain[place] in INITIALS]
    if not places:
        return text
    is_denied = _is_denied(prompt)
    parts, done = [], 0
    for place in places:
        if place < done:
            continue
        start, stop = _begin(plain, done, place), SENTENCE_END.search(plain, place)
        end = len(plain) if stop is None else stop.end()
        parts += [text[done:start], _meant(text[start:end], plain[start:end].translate(_BLANKED), is_denied=is_denied)]
        done = end
    clear = "".join((*parts, text[done:]))
    return text if clear == text else clear


@lru_cache(maxsize=1 << 13)
def _is_denied(prompt: str) -> bool:
    return NEGATION.search(fold(prompt).text) is not None


def _begin(plain: str, low: int, place: int) -> int:
    """Where the sentence of a place begins, `low` at the earliest. Looked for near it first: most texts are longer."""
    reach = 64
    while True:
        first = max(low, place - reach)
        ends = [mark.end() for mark in SENTENCE_END.finditer(plain, first, place)]
        if ends or first == low:
            return ends[-1] if ends else low
        reach *= 4


def _meant(sentence: str, plain: str, *, is_denied: bool) -> str:
    """The sentence, given as it is and without markup, with only the labels that it asserts."""
    supposed = _suppositions(sentence, plain)
    return _claims(supposed, plain if supposed is sentence else _plain(supposed), is_denied=is_denied)


def _suppositions(sentence: str, plain: str) -> str:
    """The sentence without labels that are conditional or supposed, and without asides."""
    whole = sentence
    for condition in CONDITION.finditer(plain):
        for word in LABEL_WORD.finditer(plain, *condition.span()):
            sentence = _blank(sentence, *word.span())
    plain = plain if sentence is whole else _plain(sentence)
    for refuted in REFUTED.finditer(plain):
        sentence = _turned(sentence, *refuted.span(), refuted["word"], keep=False)
    plain = plain if sentence is whole else _plain(sentence)
    for opening in (*SUPPOSED.finditer(plain), *ASSURED.finditer(plain)):
        sentence = _apart(sentence, *opening.span())
    for aside in ASIDE.finditer(plain):
        sentence = _blank(sentence, *aside.span())
    return sentence


def _claims(sentence: str, plain: str, *, is_denied: bool) -> str:
    """The sentence with the label that it comes to, where it denies one. `is_denied`: the question denies something."""
    whole = sentence
    for claim in CLAIM.finditer(plain):
        if NEGATION.search(claim["content"]) and not is_denied:
            sentence = _turned(sentence, *claim.span(), claim["word"], keep=claim["deny"] is not None)
    plain = plain if sentence is whole else _plain(sentence)
    for frame in FRAME.finditer(plain):
        sentence = _turned(sentence, *frame.span(), frame["word"], keep=False)
        sentence = _blank(sentence, frame.end(), _clause_end(plain, frame.end()))
    for after in DENIED_AFTER.finditer(plain):
        sentence = _turned(sentence, *after.span(), after["word"], keep=False)
    return sentence


def _clause_end(plain: str, place: int) -> int:
    while place < len(plain) and plain[place] not in ".,;:!?\n":
        place += 1
    return place


def _plain(text: str) -> str:
    return fold(text).text.translate(_BLANKED)


def _blank(text: str, start: int, end: int) -> str:
    return text[:start] + " " * (end - start) + text[end:]


def _apart(text: str, start: int, end: int) -> str:
    """The text with a new line in place of the span: what follows it opens a sentence."""
    return text[:start] + " " * (end - start - 1) + "\n" + text[end:]


def _turned(text: str, start: int, end: int, word: str, *, keep: bool) -> str:
    """The text with the other label, or the same where `keep`, at the end of the span, and blanks before it."""
    label = "TRUE" if (word in POSITIVE) == keep else "FALSE"
    return text[:start] + ("\n" + label).rjust(end - start) + text[end:]

"""TRUE and FALSE as they are meant: labels under a denial turned round, and those that nobody asserts taken out."""

from __future__ import annotations

import re

from perpend.text.match import fold

_LABEL = r"(?P<word>true|false|untrue|incorrect|correct)\b"
_GAP = r"[^.;!?\n]{0,70}?"
POSITIVE = frozenset({"true", "correct"})
_BLANKED = str.maketrans(dict.fromkeys('*_#~$\\{}[]"`', " "))
_DENIES = (
    r"(?:(?:\b(?:not|never)\b|n't) (?:be )?(?:true|correct|right|accurate|the case|possible|clear|evident)|\b(?:wrong|incorrect|false|untrue|mistaken|inaccurate"
    r"|impossible|unreasonable|a mistake|an error|no way|no chance|no reason|no evidence)"
    r"|\b(?:cannot|can't|could not|couldn't|do not|don't|does not|doesn't|would not|wouldn't|will not|won't) (?:be )?(?:said|say|claimed|claim|concluded|conclude|think|believe"
    r"|agree|accept|call|argue|see how|see why|follow))"
)
FRAME = re.compile(
    rf"(?:\b(?:it|that|this|there|i|we|one)(?:'s| is| was| would be| am|'m|'d be)?\b[^.;!?\n]{{0,24}}?)?{_DENIES}\b(?: to (?:say|answer|claim|respond|conclude|call|label|state|think|believe))?{_GAP}\b{_LABEL}(?! that\b)"
)
"""A denial and the label in its reach: 'it would be wrong to answer FALSE', 'there is no way this is true'."""
DENIED_AFTER = re.compile(
    r"(?:\b(?:saying|answering|choosing|to (?:say|answer)|an answer of|a label of)\b[^.;!?\n]{0,20}?)"
    rf"{_LABEL} (?:would be|is|was|cannot be|can't be|isn't)(?: clearly| simply| therefore)? (?:wrong|incorrect|a mistake|an error|mistaken|not (?:correct|right|the)|right|correct)\b"
)
"""A label that is called a mistake: 'saying TRUE would be a mistake'."""
CLAIM = re.compile(
    r"\b(?:claim|statement|assertion|idea|proposition|notion|hypothesis|suggestion|conclusion) that (?P<content>[^.;!?\n]{3,120}?)"
    rf" (?:is|was|must be|would be|has to be)(?: \w+ly| therefore| thus)? (?P<deny>not )?{_LABEL}"
)
"""A claim that is judged: 'the claim that it is not bounded is false'."""
NEGATION = re.compile(r"\b(?:not|never|cannot|no)\b|n't\b")
SUPPOSED = re.compile(
    rf"(?:\b(?:i|we) (?:initially|first|originally|at first|once) [a-z]+|\b(?:initially|originally|at first(?: glance| sight)?|on first reading|on the face of it),? (?:i|we|it|this|one|that)"
    rf"|\b(?:you|one|some(?: people)?|many(?: people)?|people|they|others)(?: (?:might|may|could|would|will))? (?:be tempted to )?(?:expect|think|say|guess|assume|believe|argue|claim|answer)"
    rf"|\bit (?:might|may|could) (?:seem|appear|look)|\b(?:it|this|that) (?:seems|seemed|appears|appeared|looks|looked) at first)\b{_GAP}\b{_LABEL}(?:[^.;!?\n]{{0,60}}?\b(?:but|however|yet)\b,?)?"
)
"""What somebody might expect, or the model thought at first."""
CONDITION = re.compile(
    r"(?:(?<=[.;!?\n] )|(?<=\n)|\A|(?<=but )|(?<=and ))\s*(?:if|unless|assuming|suppose|provided|were)\b(?! (?:we|you|i|one) (?:look|check|consider|compute|examine|apply|use|follow|recall|test|take))[^.;!?\n]{0,200}"
)
"""A sentence under a condition."""
LABEL_WORD = re.compile(rf"\b{_LABEL}")
ASIDE = re.compile(
    r"(?<=answer), (?:however|therefore|then|thus|of course|in fact|in short|actually|hence|in my view|i think|i believe), ?|\bthere(?:'s| is| can be) no (?:doubt|question)(?: that)? |\b(?:it is|it's) (?:clear|evident|obvious|certain) that ",
    re.IGNORECASE,
)
"""Words between 'answer' and its verb, and openings that only assure."""


def clarified(text: str, prompt: str) -> str:
    """The text, of the same length, with only the labels that it asserts.

    A label in the reach of a denial becomes the other one, and what denies it is blanked; a claim with a denial in it
    counts as the denial of what was asked, unless the question denies it too; labels that are supposed, conditional or
    a first thought are blanked. The text is returned as it is where an invisible character makes offsets uncertain.
    """
    folded = fold(text)
    if folded.offsets is not None:
        return text
    plain = folded.text.translate(_BLANKED)
    out = text
    for condition in CONDITION.finditer(plain):
        for word in LABEL_WORD.finditer(plain, *condition.span()):
            out = _blank(out, word.start(), word.end())
    plain = fold(out).text.translate(_BLANKED)
    for pattern in (SUPPOSED,):
        for found in pattern.finditer(plain):
            out = _blank(out, *found.span())
    plain = fold(out).text.translate(_BLANKED)
    is_denied = NEGATION.search(fold(prompt).text) is not None
    for claim in CLAIM.finditer(plain):
        if NEGATION.search(claim["content"]) and not is_denied:
            out = _turned(out, claim.start(), claim.end("word"), claim, bool(claim["deny"]))
    plain = fold(out).text.translate(_BLANKED)
    for frame in FRAME.finditer(plain):
        out = _turned(out, frame.start(), frame.end("word"), frame, False)
    for after in DENIED_AFTER.finditer(plain):
        out = _turned(
            out,
            after.start(),
            after.end("word"),
            after,
            after.group().endswith((" right", " correct")) and " not " not in after.group(),
        )
        out = _blank(out, after.end("word"), after.end())
    return ASIDE.sub(lambda aside: " " * len(aside.group()), out)


def _blank(text: str, start: int, end: int) -> str:
    return text[:start] + " " * (end - start) + text[end:]


def _turned(text: str, start: int, end: int, found: re.Match[str], keep: bool) -> str:  # noqa: FBT001
    """The text with the other label, or the same where `keep`, at the end of the span, and blanks before it."""
    label = "TRUE" if (found["word"] in POSITIVE) == keep else "FALSE"
    if end - start < len(label) + 1:
        return text
    return text[:start] + label.rjust(end - start) + text[end:]

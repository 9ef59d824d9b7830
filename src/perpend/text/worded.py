"""Yes, no, TRUE and FALSE in other words: a text reworded, place by place, so that the rules for labels read it."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Callable
from functools import lru_cache
from typing import Final, TypeAlias

from perpend.text.clause import blanking, bounds, holds
from perpend.text.cues import vocabulary
from perpend.text.given_label import LabelVerdict, read
from perpend.text.labels import clarified
from perpend.text.match import Folded, fold
from perpend.text.proposition import FUNCTION, MARKS, PRONOUNS, Proposition, proposition, stem, tokens

_BLANKED: Final = blanking('*_#~$\\{}[]"')
_LABEL: Final = r"(?P<word>true|false|yes|no)\b"
_ENDS: Final = r"(?= ?(?:[.!,;:—\n]|$| - ))"
_STARTS: Final = r"(?:(?<=[.!?\n] )|(?<=[.!?\n])|\A) {0,3}"
SERVES: Final = r"(?![.!]\s{0,3}(?:i'd|i would|i can|i'll|i will|let me|let's|here|please|happy|thank)\b)"
CASUAL: Final = re.compile(rf"\b(?P<yes>yep|yup|yeah)\b(?!,? right\b){_ENDS}|\b(?P<no>nope|nah)\b{_ENDS}")
STRESSED: Final = re.compile(
    rf"(?:[^.!?\n]{{0,60}}[.!?\n]\s{{0,3}})? {{0,3}}(?:(?P<no>(?:absolutely|definitely|certainly|of course|surely"
    rf"|clearly|most certainly) not|not at all|by no means|not really|no way){_ENDS}"
    rf"|(?P<yes>absolutely|definitely|certainly|of course|undoubtedly|without a doubt|most certainly){SERVES}(?=[.!]))"
)
"""The first sentence, or the second, that is only an assurance or opens with its denial. One before an offer of help
answers nothing."""
_SUBJECT: Final = r"(?:it|this|that|(?:the|this|that) (?:statement|claim|assertion))"
MERIT: Final = re.compile(
    rf"(?:{_STARTS}|\b{_SUBJECT}(?: is|'s)(?: \w+ly)? )"
    r"(?:(?P<false>wrong|an? (?:\w+ )?(?:myth|misconception|fallacy))|(?P<true>right))(?=[.!]|[,;] (?!but|if|when))"
)
"""'Wrong.', 'That's right.': a verdict on what was said."""
PLAIN: Final = re.compile(
    r"(?<!\w)(?:true|false|yes|correct)\b|(?<=in)correct\b|(?<=un)true\b|(?<!\w)no(?= ?(?:[.,;:!\n]|$))"
)
"""A label in so many words: beside one, no other word is taken for a label by what it assures or judges."""
DISAGREES: Final = re.compile(
    rf"\bi(?: \w+ly| must| have to| would|'d)? (?:disagree|do not agree|don't agree|cannot agree|can't agree) with "
    rf"(?:an? |the |your )?(?:answer |label |verdict )?(?:of )?{_LABEL}"
)
QUOTED: Final = re.compile(r'\b(?:answer|reply|response) to (?P<quote>"[^"\n]{1,120}")')
"""A question that is quoted between 'the answer to' and its verb."""
ASSURED: Final = re.compile(r"\b(?:there(?:'s| is| can be) )?no (?:doubt|question)(?: about (?:it|that|this))?[:,—] ?")
COUNTERFACTUAL: Final = re.compile(
    rf"{_LABEL} if [^.;!?\n]{{1,60}}?\b(?:were|had been|was not|wasn't)\b[^;!?\n]{{1,60}}?, but "
    r"(?=(?:true|false|yes|no)\b)"
)
"""A label under a condition that does not hold, before the one that does."""
CONTRASTED: Final = re.compile(r"(?:true|false|yes|no)(?P<gap> )(?=at|in|for|with|here|when|under)")
ROW: Final = re.compile(r"^[ \t]*\|[^\n]*\|(?= {0,8}(?:true|false|yes|no) {0,8}\|? *$)", re.MULTILINE)
"""A row of a table up to its last cell, which holds a label."""
FOLLOWS: Final = re.compile(
    r"\b(?:it|this|that|(?:the|this|that) (?:conclusion|inference|statement|claim|argument)) "
    r"(?:(?P<no>does not|doesn't|cannot|can't)(?: \w+ly)? follow|(?:\w+ly )?(?P<yes>follows))"
    r"(?: from [^.;!?\n,]{1,60})?(?=[.!,;]|\Z)"
)
CONCEDES: Final = re.compile(
    r"\W*(?P<word>true|yes|right|correct|granted|sure), [^.!?\n]{3,200}[.,;] ?(?:but|however|yet)\b"
    r"[^\n]{3,300}?\b(?:so|therefore|thus|hence),? (?:(?:the answer|it|that)(?: is|'s) )?(?:not? |true|false|yes|no\b)"
)
"""An opening that concedes something before a contrast and a conclusion: 'True, it looks so. But …, so no.'"""
OPENED: Final = re.compile(
    rf"{_STARTS}(?P<opener>[a-z][a-z ]{{1,30}}?)(?P<mark>,(?: but| and| so)?) (?:yes|no|true|false)(?P<end>{_ENDS})"
)
"""A label after an opening: 'Well, yes.'"""
OPENING: Final = vocabulary(
    "well wait hmm okay ok in short conclusion summary sum so then actually but and again oh ah sorry fine alas "
    "unfortunately fortunately surprisingly sadly technically honestly frankly basically essentially clearly obviously "
    "interestingly ultimately overall simply strictly speaking"
)
FINAL: Final = re.compile(r"(?:yes|no|true|false)[ *_\"]{0,3}(?:[.!\n]|\Z)")
"""A label that ends its sentence."""
CHANGED: Final = re.compile(
    r"\b(?:chang|switch|revis|updat|correct)(?:e|es|ed|ing)? my answer (?:from \w+ )?to "
    rf"(?P<quote>[\"']?){_LABEL}"
)
UNCHANGED: Final = re.compile(r"(?:\b(?:not|never|refuse|decline|cannot)\b|n't\b|\bno reason)[^.!?\n]{0,20}$")
"""What keeps an answer from being changed."""
SUPPOSED: Final = re.compile(r"\b(?:if|why|should|whether|might|may|could|would)\b[^.!?\n]{0,20}$")
"""What makes a change of answer only supposed."""
HAVE_TO: Final = re.compile(
    r"\bi(?:'d| would|'ll| will|'m| am)? (?:have to|need to|want to|tend to|inclined to) (?=(?:say|answer)\b)"
)
"""A choice that the model says it must make."""
ANSWERED: Final = re.compile(r"\?[\s*_\"')]{1,6}(?P<word>yes|no|true|false)\b")
"""A label right after a question."""
OWN_QUESTION: Final = vocabulary(
    "answer verdict conclusion result short long so then final true false correct right statement claim"
)
"""Words that make a question of the text's own one for the answer."""


REACH: Final = 200
"""How much of the beginning and of the end of a text is looked at for other words: an answer opens or closes it."""
BEFORE: Final = 64
AFTER: Final = 160
"""How far before a hint a match may begin, and how far after it end."""
OPENED_REACH: Final = 8
"""How much of a label, and of what follows it, shows that it ends its clause."""
RUN_ON: Final = re.compile(r"\n[^\n]{3,300}\banswer (?:with )?(?:true or false|yes or no)[.:]?[ \t]*(?=\n|\Z)")
"""A further question that a model invents, with the instruction of its own."""


@lru_cache(maxsize=2)
def given(own: str, folded: Folded, prompt: str) -> LabelVerdict:
    """The label that an answer segment gives, by the rules of version 4: reworded, clarified, then read.

    What follows a further question with its own instruction ('… Answer TRUE or FALSE.') counts only if nothing else
    does. The last two are kept: the scorers of a response ask one after the other.
    """
    further = RUN_ON.search(folded.text) if " or " in folded.text and folded.offsets is None else None
    if further is not None:
        before = own[: further.start()]
        verdict = _given(before, fold(before), prompt)
        if verdict.label is not None:
            return verdict
    return _given(own, folded, prompt)


def _given(own: str, folded: Folded, prompt: str) -> LabelVerdict:
    text = reworded(own, folded, prompt)
    new = folded if text is own else fold(text)
    clear = clarified(text, new, prompt)
    return read(clear, new if clear is text else fold(clear))


def reworded(own: str, folded: Folded, prompt: str) -> str:
    """The text, of the same length, with plain labels for other words that say as much.

    'Nope' and 'absolutely not' are no, 'That's wrong' is false, 'I disagree with TRUE' is FALSE, 'it does not follow'
    is false where the question asks what follows. A label after 'well,' or the question's own opening begins a line,
    and so does the last cell of a table's row. Blanked: a question quoted after 'the answer to', a label under a
    condition that does not hold, what the text concedes before it concludes, and the answer to a question of the
    text's own. Returned as it is where an invisible character makes offsets uncertain.
    """
    if folded.offsets is not None:
        return own
    text, plain = own, folded.text
    bare = plain.translate(_BLANKED) if len(plain) <= 4 * REACH else _bare_ends(plain)
    has_label = any(PLAIN.match(bare, place) for place in folded.labels())
    if (opening := STRESSED.match(bare)) is not None and not (opening["yes"] and has_label):
        text = _casual(text, opening, prompt)
    if (opening := CONCEDES.match(bare)) is not None:
        text = _put(text, *opening.span("word"), "")
    rules = _rules()
    ends = plain if len(plain) <= 2 * REACH else f"{plain[:REACH]}\n{plain[-REACH:]}"
    for hints, pattern, rule in rules if folded.labels() else rules[:WITHOUT]:
        if holds(ends, hints) and not (pattern is MERIT and has_label):
            for found in _near(plain if pattern is QUOTED else bare, hints, pattern):
                text = rule(text, found, prompt)
    for place in _outer(folded.labels(), len(plain)):
        text = _around(text, plain, bare, place, prompt)
    if "?" in plain:
        asked = proposition(prompt)
        parts, done = [], 0
        for found in ANSWERED.finditer(plain):
            if not _repeats(plain[bounds(plain, found.start(), found.start())[0] : found.start()], asked):
                start, end = found.span("word")
                parts += [text[done:start], " " * (end - start)]
                done = end
        text = "".join((*parts, text[done:]))
    return own if text == own else text


def _around(text: str, plain: str, bare: str, place: int, prompt: str) -> str:
    """The text with what stands around the label at a place reworded: an opening, a contrast, a condition."""
    if "," in plain[max(0, place - 6) : place]:
        for found in OPENED.finditer(bare, max(0, place - BEFORE), place + OPENED_REACH):
            text = _opened(text, found, prompt)
        if (final := FINAL.match(bare, place)) is not None and _is_own(plain, place):
            text = _put(_put(text, place - 2, place, "\n"), final.end() - 1, final.end(), "\n")
    if plain.startswith(" if ", place + 4) or plain.startswith(" if ", place + 5):
        unreal = COUNTERFACTUAL.match(bare, place)
        text = text if unreal is None else _counterfactual(text, unreal, prompt)
    return text


def _is_own(plain: str, place: int) -> bool:
    """Whether a word that ends its sentence is what it comes to: after ', but', or after a reason that opens it."""
    if plain.startswith(", but ", place - 6):
        return True
    opening = plain[bounds(plain, place, place)[0] : place].lstrip(' *_"')
    return plain.startswith(", ", place - 2) and opening.startswith(("since ", "because ", "given ", "as "))


def _bare_ends(plain: str) -> str:
    """The text with blanks for markup where it is looked at, at its ends."""
    first, last = 2 * REACH, len(plain) - 2 * REACH
    return plain[:first].translate(_BLANKED) + plain[first:last] + plain[last:].translate(_BLANKED)


def _outer(places: list[int], size: int) -> list[int]:
    """Of places in order, those in the first and the last `REACH` characters of a text."""
    if size <= 2 * REACH:
        return places
    return places[: bisect_left(places, REACH)] + places[bisect_left(places, size - REACH) :]


def _near(text: str, hints: tuple[str, ...], pattern: re.Pattern[str]) -> list[re.Match[str]]:
    """The matches of a pattern, in order, that begin near its hints, in the first and the last `REACH` characters."""
    matches: dict[int, re.Match[str]] = {}
    ends = ((0, len(text)),) if len(text) <= 2 * REACH else ((0, REACH), (len(text) - REACH, len(text)))
    for low, high in ends:
        for hint in hints:
            place = text.find(hint, low, high)
            while place >= 0:
                for found in pattern.finditer(text, max(0, place - BEFORE), place + AFTER):
                    if (whole := pattern.match(text, found.start())) is not None:  # where the window ends, no text does
                        matches[found.start()] = whole
                place = text.find(hint, place + 1, high)
    return [matches[start] for start in sorted(matches)]


def _repeats(question: str, asked: Proposition | None) -> bool:
    """Whether a question in the text is the one that was asked: it has no other content words."""
    words = [token for token in tokens(question) if token not in MARKS and token not in FUNCTION | PRONOUNS]
    if asked is None or not OWN_QUESTION.isdisjoint(words):
        return True
    return {*asked.stems, *asked.openers}.issuperset(stem(word) for word in words if word not in asked.verbs)


def _put(text: str, start: int, end: int, word: str) -> str:
    """The text with a word, and blanks after it, in place of a span."""
    return text[:start] + word.ljust(end - start) + text[end:]


def _casual(text: str, found: re.Match[str], _prompt: str) -> str:
    kind = "yes" if found["yes"] else "no"
    return _put(text, *found.span(kind), kind)


def _merit(text: str, found: re.Match[str], prompt: str) -> str:
    kind = "false" if found["false"] else "true"
    return text if found[kind] in prompt.lower() else _put(text, *found.span(kind), kind)


def _disagrees(text: str, found: re.Match[str], _prompt: str) -> str:
    label = "FALSE" if found["word"] in {"true", "yes"} else "TRUE"
    return text[: found.start()] + ("\n" + label).rjust(found.end() - found.start()) + text[found.end() :]


def _unquoted(text: str, found: re.Match[str], _prompt: str) -> str:
    start, end = found.span("quote")
    return _put(text, start, end, "it")


def _chosen(text: str, found: re.Match[str], _prompt: str) -> str:
    return text[: found.start()] + "i ".rjust(found.end() - found.start()) + text[found.end() :]


def _changed(text: str, found: re.Match[str], _prompt: str) -> str:
    before, start, place = max(0, found.start() - 40), found.start(), found.start("quote")
    if UNCHANGED.search(found.string, before, start):
        return _disagrees(text, found, _prompt)
    if SUPPOSED.search(found.string, before, start):
        return _put(text, start, found.end(), "")
    return text[:start] + "\nanswer: ".rjust(place - start) + text[place:]


def _apart(text: str, found: re.Match[str], _prompt: str) -> str:
    return text[: found.start()] + "\n".rjust(found.end() - found.start()) + text[found.end() :]


def _counterfactual(text: str, found: re.Match[str], prompt: str) -> str:
    text = _apart(text, found, prompt)
    contrasted = CONTRASTED.match(fold(text).text, found.end())
    return text if contrasted is None else _put(text, *contrasted.span("gap"), ",")


def _row(text: str, found: re.Match[str], prompt: str) -> str:
    end = text.find("\n", found.end())
    bar = text.rfind("|", found.end(), len(text) if end < 0 else end)
    return _apart(text if bar < 0 else _put(text, bar, bar + 1, ""), found, prompt)


def _follows(text: str, found: re.Match[str], prompt: str) -> str:
    if "follow" not in prompt.lower() and "conclu" not in prompt.lower():
        return text
    return _put(text, *found.span(), "it is false" if found["no"] else "it is true")


def _opened(text: str, found: re.Match[str], prompt: str) -> str:
    asked = proposition(prompt)
    words = found["opener"].split()
    if OPENING.issuperset(words) or (asked is not None and asked.openers.issuperset(map(stem, words))):
        if not text[: found.start()].strip(" \n*_"):
            return _put(text, found.start(), found.end("mark"), "")
        end = found.end("end")
        text = _put(text, end, end + 1, "\n") if text[end : end + 1] in {".", "!"} else text
        return _put(text, *found.span("mark"), "\n")
    return text


Rule: TypeAlias = Callable[[str, re.Match[str], str], str]
"""How a text is reworded at a match, for a prompt."""


WITHOUT: Final = 3
"""How many of the rules need no label word in the text."""


def _rules() -> tuple[tuple[tuple[str, ...], re.Pattern[str], Rule], ...]:
    """Every pattern, after the hints of which one is in all that it matches, and with what it does."""
    return (
        (("yep", "yup", "yeah", "nope", "nah"), CASUAL, _casual),
        (("wrong", "right", "myth", "misconception", "fallacy"), MERIT, _merit),
        (("follow",), FOLLOWS, _follows),
        (("agree with",), DISAGREES, _disagrees),
        (("to say", "to answer"), HAVE_TO, _chosen),
        (('to "',), QUOTED, _unquoted),
        (("no doubt", "no question"), ASSURED, _apart),
        (("my answer",), CHANGED, _changed),
        (("|",), ROW, _row),
    )

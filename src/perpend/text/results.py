"""The result with which a calculation ends: the answer of a text that gives it in no other way."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final

from perpend.text.assertion import AGREEMENT, NAMES, RESULT, SLOT, STATEMENT, Assertion
from perpend.text.clause import bounds, holds
from perpend.text.match import Mention, Side, Span, fold
from perpend.text.numbers import NUMERAL, plain, quantity
from perpend.text.reading import AskedItem, Wanted
from perpend.text.speech import Question

EXPRESSION: Final = re.compile(
    r"[\dx)]\s?[+*^=]\s?[\d(x]|\d\s[-/]\s\d|\b(?:is|of|for|compute|calculate|evaluate) -?\d+\s?[-/]\s?\d+\s?(?:\?|$)"
    r"|\d (?:plus|minus|times|divided by|multiplied by) \d|root of \d|\bis \d[\d/.]*%? of \d"
)
"""An expression that the question itself states: what it asks for is no problem in words."""
FIGURE: Final = re.compile(
    r"\b(?:\d[\d,.]*|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|dozen|twice|half|third|quarter)\b"
)
_OPERATION: Final = r"(?![\d,]*(?:\.\d+)?\s?(?:[-+*/^÷x]\s?[$€£(]?[\d.]|times\b|plus\b|minus\b|and (?:a|\d|one|two)\b))"
EQUALS: Final = re.compile(
    rf"(?:(?<![<>!=≈])=|\b(?:equals?|gives?|yields?|leaves)\b)[\s$€£*\\(]{{0,8}}(?P<number>-?{NUMERAL.pattern}){_OPERATION}"
)
"""The right side of an equation that computes no further."""
EQUALS_HINTS: Final = ("equal", "give", "yield", "leaves")
"""One of these is in every equation in words."""
COUNTS: Final = re.compile(
    r"\b(?:has|have|had|is|are|was|were|leaves|with|remains?|gets?|earns?|makes?|pays?|spends?|needs?|costs?|saves?"
    r"|takes?|totals?|sells?|sold|got|made|paid|spent|earned|bought|be)\b[^.;:?!\d]{0,40}?"
    rf"(?P<number>-?{NUMERAL.pattern})(?P<rest>[^\d]{{0,60}})$"
)
"""A sentence that ends in what somebody has, gets or is left with."""
REMAINS: Final = re.compile(
    rf"(?<![\d.,$])(?P<number>{NUMERAL.pattern})"
    r"(?P<rest> [a-z ]{2,30}?(?:remain|remains|(?:are |is )?left)\b[^\d]{0,40})$"
)
"""A sentence that ends in how many of something remain."""
ASIDE: Final = re.compile(
    r"\b(?:i\.e|that is|note|recall|remember|round\w*|for example|where|hope|let me|wrong|incorrect|mistaken|mistake"
    r"|false|not (?:correct|right|the|equal)|isn't|cannot be|can't be|rather than|instead of)\b"
    r"|\b(?:your|previous|prior|other|their) (?:answers?|claims?|results?)\b"
    r"|\b(?:users?|agents?|others|everyone|they|you|participants?|people|many|some)\b[^.;,]{0,30}"
    r"\b(?:say|says|said|claim\w*|answer\w*|think|thought|suggest\w*|stated?|believe\w*)\b"
)
"""What makes a sentence a remark, a denial or a report: its number is not what the text ends with."""
REASON: Final = re.compile(r"(?:\bbecause|\bsince|, as)\b[^,]*$")
"""A reason before a number, in the same clause."""
CHECK: Final = re.compile(
    r"[\s*_(-]*(?:to )?(?:check|verif\w+|double-check|as a check|proof|indeed)\b"
    r"|.{0,40}\b(?:let me know|feel free|hope (?:this|that|it) helps|if you (?:need|have|want|would like))\b"
)
"""A check, or a courtesy: its number is not what the text ends with."""
CHECKED: Final = re.compile(r"[;:,(—-]\s?(?:(?:to|as a|let's|we can) )?(?:check|verif\w+|double-check|proof)\b")
"""Where a check begins within a sentence."""
STEPS: Final = 2
"""How many equations make a calculation in steps of what the question states as one expression."""
BACK: Final = 3
"""How many sentences are looked into from the end of the text on."""


@lru_cache(maxsize=1 << 13)
def is_word_problem(prompt: str) -> bool:
    """Whether a prompt gives at least two figures and states no expression to compute."""
    text = fold(prompt[-1500:]).text
    return EXPRESSION.search(text) is None and len(FIGURE.findall(text)) > 1


def last_result(  # noqa: PLR0911 - one a rule
    body: str, mentions: list[Mention], claims: list[Assertion], wanted: Wanted, item: AskedItem
) -> Assertion | None:
    """The number with which the last sentence of a calculation ends, as a claim of whichever answer it is.

    It counts where no answer slot is filled, and outweighs all numbers before it: a problem in words is solved step by
    step, and a step that equals the target is not the answer. Not where the text states the answer first, and not in a
    check or a reason. Where the question states the expression, only if nothing else is stated.
    """
    in_words = is_word_problem(item.prompt)
    if any(claim.level >= SLOT and claim.rule != NAMES[RESULT] and not _goes_on(body, claim) for claim in claims):
        return None
    stated = [claim for claim in claims if claim.level >= AGREEMENT and (claim.rule != NAMES[RESULT] or not in_words)]
    if not in_words and (stated or body.count("=") < STEPS):
        return None
    result = _result(body, wanted.question)
    if result is None:
        return None
    low, span, is_equation = result
    if any(claim.span[0] >= (span[0] if is_equation else low) for claim in stated):
        return None
    first = bounds(body, 0, 1)[1]
    if low >= first and "=" not in body[:first] and any(claim.span[0] < first for claim in stated):
        return None
    if not is_equation and not in_words:
        return None
    for (start, stop), side, _ in mentions:
        if start < span[1] and span[0] < stop:
            return Assertion(side, STATEMENT, (start, stop), "last result")
    numeral = body[span[0] : span[1]]
    value = -plain(numeral[1:]) if numeral.startswith("-") else plain(numeral)
    answers: tuple[tuple[Side, str | None], ...] = (("target", next(iter(item.target), None)), ("decoy", item.decoy))
    for side, text in answers:
        known = None if text is None else quantity(fold(text).text)
        if known is not None and known.value == value:
            return Assertion(side, STATEMENT, span, "last result") if known.unit is None else None
    return Assertion("other", STATEMENT, span, "last result")


def _goes_on(body: str, claim: Assertion) -> bool:
    """Whether a number in a slot is the first of a calculation: 'the answer as a percentage: 2 sodas / 8 sodas = …'."""
    start, stop = claim.span
    return claim.side == "other" and "=" in body[stop : bounds(body, start, stop)[1]]


def _result(body: str, asked: Question) -> tuple[int, Span, bool] | None:
    """Where the last sentence with a number begins, where its result is, and whether that is an equation's."""
    end = len(body.rstrip())
    for _ in range(BACK):
        if end <= 0:
            return None
        low = bounds(body, end - 1, end)[0]
        sentence = body[low:end]
        if CHECK.match(sentence) is None and NUMERAL.search(sentence) is not None:
            return _in_sentence(body, low, end, asked)
        end = len(body[:low].rstrip())
    return None


def _in_sentence(body: str, low: int, end: int, asked: Question) -> tuple[int, Span, bool] | None:
    checked = CHECKED.search(body, low, end)
    end = end if checked is None else checked.start()
    sentence = body[low:end]
    if sentence.rstrip(" *_\"')").endswith("?"):
        return None
    equations = list(EQUALS.finditer(body, low, end)) if "=" in sentence or holds(sentence, EQUALS_HINTS) else []
    if equations:
        start, stop = equations[-1].span("number")
        if "=" in body[stop:end] or ASIDE.search(sentence):
            return None
        reason = REASON.search(body[low:start])
        if reason is not None:
            before = NUMERAL.findall(body, low, low + reason.start())
            if not before or before[-1] != body[start:stop]:
                return None
    else:
        counted = COUNTS.search(sentence) or REMAINS.search(sentence)
        if "=" in sentence or counted is None or ASIDE.search(sentence) or not asked.named_in(sentence):
            return None
        start, stop = low + counted.start("number"), low + counted.end("number")
    return low, (start, stop), bool(equations)

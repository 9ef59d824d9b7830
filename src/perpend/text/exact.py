"""An answer segment that is nothing but an answer of the item: it always counts, whatever its letters or signs."""

from __future__ import annotations

import re
from typing import Final

from perpend.text.match import Mention, Side, Span, fold

LONGEST: Final = 60
"""By so many characters a text may be longer than an answer that it consists of: marks, markup and a box."""
NEAR: Final = 40
"""How many characters there may be before or after a mention that is the whole answer."""
WRAPPINGS: Final = (
    ("***", "***"),
    ("**", "**"),
    ("__", "__"),
    ("*", "*"),
    ("_", "_"),
    ("'''", "'''"),
    ("'", "'"),
    ('"', '"'),
    ("$$", "$$"),
    ("$", "$"),
    ("\\(", "\\)"),
    ("\\[", "\\]"),
    ("\\boxed{", "}"),
    ("\\text{", "}"),
    ("\\mathrm{", "}"),
    ("(", ")"),
    ("[", "]"),
    ("{", "}"),
)
"""Quotation marks, markup and brackets, as pairs and folded: a backtick folds to an apostrophe."""
END_MARKS: Final = ".!?,;:\u3002\uff01"
AROUND: Final = re.compile(
    r"(?:[\s*_\"'$#>()\[\]{}\\.,!:;+-]|(?<=\\)(?:boxed|text|mathrm|mathcal|mathbf|ce|displaystyle|[dt]))*"
    r"(?:\d{1,2}[.)]\s+)?(?:(?:the|an?)\s)?[\s*_\"'$()\[\]{}\\]*"
)
"""What may stand before a mention that is the whole answer: markup, a bullet, an article."""


def equals(text: str, target: tuple[str, ...], decoy: str | None, choices: tuple[str, ...]) -> tuple[Side, Span] | None:
    """Which answer the text is, and where: letter for letter, then folded, then less what surrounds it.

    What surrounds it are quotation marks, markup and brackets in pairs, and marks at its end, of the text and of the
    answer alike. Each step decides only if it finds one side: 'X' against 'x' is told apart by the first, and
    what is both to the last is neither. With choices, a text that is a letter by itself, in any case, is the option of
    that letter, unless the options are letters themselves.
    """
    longest = 0 if decoy is None else len(decoy)
    for answer in target:
        longest = max(longest, len(answer))
    own = text.strip()
    if len(own) > LONGEST + longest:  # most texts: it spares the rest
        return None
    known: list[tuple[Side, str]] = [("target", answer.strip()) for answer in target if answer.strip()]
    if decoy is not None and decoy.strip():
        known.append(("decoy", decoy.strip()))
    if not own or not known:
        return None
    start = text.find(own)
    span = start, start + len(own)
    side = _equal(own, known)
    if side is None:
        folded = fold(own).text.strip()
        side = _equal(folded, [(side, fold(answer).text.strip()) for side, answer in known])
        if side is None:
            bare = _bare(folded)
            side = _equal(bare, [(side, _bare(fold(answer).text.strip())) for side, answer in known])
            if side is None:
                side = _lettered(bare, choices, known)
    return None if side is None else (side, span)


def _equal(text: str, known: list[tuple[Side, str]]) -> Side | None:
    """The side whose answer the text is; None if it is no answer, or both sides'."""
    sides = {side for side, answer in known if text != "" and answer == text}
    return sides.pop() if len(sides) == 1 else None


def _bare(folded: str) -> str:
    """The text less marks at its end, and quotation marks, markup and brackets around it."""
    text = folded
    for _ in range(8):
        before = text
        text = text.strip()
        stripped = text.rstrip(END_MARKS).rstrip()
        text = stripped or text
        for opening, closing in WRAPPINGS:
            inside = text[len(opening) : -len(closing)]
            if inside.strip() and text.startswith(opening) and text.endswith(closing):
                text = inside
                break
        if text == before:
            break
    return text


def _lettered(bare: str, choices: tuple[str, ...], known: list[tuple[Side, str]]) -> Side | None:
    """Whose answer the option is whose letter the text is. None for any other text.

    The text of an option decides, and its letter where an item names its answers by letters.
    """
    letter = bare.strip("().:")
    if len(letter) != 1 or not 0 <= ord(letter) - ord("a") < len(choices) or has_letters(choices):
        return None
    option = fold(choices[ord(letter) - ord("a")]).text.strip()
    answers = [(side, fold(answer).text.strip(" ().")) for side, answer in known]
    by_text = [side for side, answer in answers if answer == option.strip(" ().")]
    by_letter = [side for side, answer in answers if answer == letter]
    return next(iter((*by_text, *by_letter)), "other")


def has_letters(choices: tuple[str, ...]) -> bool:
    """Whether an option is itself the letter of one, so that no option can be named by its letter."""
    letters = [fold(choice).text.strip(" ().") for choice in choices[:26]]
    return any(len(choice) == 1 and 0 <= ord(choice) - ord("a") < len(letters) for choice in letters)


def covering(body: str, mentions: list[Mention]) -> Mention | None:
    """Of mentions in order, the one that is the whole text, but for markup, a bullet, an article and marks around it.

    None where mentions of two sides are.
    """
    if mentions[0][0][0] > NEAR or mentions[-1][0][1] + NEAR < len(body):
        return None
    whole = [mention for mention in mentions if _covers(body, mention[0])]
    return whole[0] if whole and len({side for _, side, _ in whole}) == 1 else None


def _covers(body: str, span: Span) -> bool:
    if span[0] > NEAR or len(body) - span[1] > NEAR:
        return False
    return not body[span[1] :].strip(" \n*_\"'$()[]{}\\.!,;:") and AROUND.fullmatch(body, 0, span[0]) is not None

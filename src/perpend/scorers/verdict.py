"""The verdict of a judge: which of the item's choices it says, and the value that the item's tag `values` gives it.

Only the judge's own words count: what it repeats of the quoted answer, between the two lines with the item's `fence`,
is cut out first.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from perpend.scorers.choice import prefer
from perpend.text.reasoning import visible
from perpend.types import Item, Response, Score, Scorer

_NOISE = "*_`'\"“”‘’.,:;!()[]<> \t\\"
_LEAD = re.compile(
    r"^\W{0,9}(?:(?:my|the|final)\s{1,3}){0,3}(?:verdict|answer|judge?ment|option)\s{0,3}(?:is\b|[:=-]){1,3}\s{0,3}",
    re.IGNORECASE,
)
_FIRST = re.compile(r"[*_`'\"“‘(\[<\s]*([A-Za-z][A-Za-z0-9_]*)[*_`'\"”’)\]>]*(?:\s*(?:[.,:;!\n–—]|-\s)|\s*$)")


def judge(item: Item, response: Response) -> Score:
    """Version 1. By likelihoods where the response has them; else by the text: the first or the last line decides.

    A line is a verdict when it is one of the options and nothing else, or says 'verdict: …'; the first line also when
    it begins with one and a stop. None where there is no verdict, where first and last differ, and for an option that
    decides nothing; the option is kept as the answer.
    """
    if response.text is None:
        return Score(None, None, f"error: {response.error}")
    values = _values(item.tags.get("values", ""))
    if response.choice_logprobs is not None:
        preference = prefer(item, response, per_token=False)
        return _scored(preference.choice, values, preference.reason)
    part = visible(response.text, response.finish)
    own = _own_words(response.text[part.start : part.end], item.tags.get("fence", ""))
    lines = [line for line in own.split("\n") if line.strip()]
    if not lines:
        return Score(None, None, part.unfinished or "no words of its own")
    first, last = _of_line(lines[0], values) or _leading(lines[0], values), _of_line(lines[-1], values)
    if first is not None and last is not None and first != last:
        return Score(None, None, f"two verdicts: {first!r} first, {last!r} last")
    option = last or first
    if option is None:
        return Score(None, None, part.unfinished or "no verdict: neither the first nor the last line is an option")
    return _scored(option, values, "last line" if last is not None else "first word")


def _scored(option: str | None, values: Mapping[str, float | None], reason: str) -> Score:
    if option is None or option not in values:
        return Score(None, option, reason)
    value = values[option]
    return Score(value, option, reason if value is not None else f"{option}: decides nothing; {reason}")


def _values(tag: str) -> dict[str, float | None]:
    """'yes=1,no=0,undecidable=' as a mapping; None where no value is given."""
    pairs = [entry.partition("=") for entry in tag.split(",") if entry]
    return {name: {"1": 1.0, "0": 0.0}.get(value) for name, _, value in pairs}


def _own_words(text: str, fence: str) -> str:
    """The text without what it repeats of the quoted answer, and without lines that are quoted as that was."""
    if fence and fence in text:
        pieces = text.split(fence)
        # A fence opens, the next one closes; what an unclosed one holds is the quotation's to the end.
        text = "\n".join(pieces[::2]) if len(pieces) % 2 else "\n".join(pieces[:-1:2])
    return "\n".join(line for line in text.split("\n") if not line.startswith(("| ", "BEGIN ANSWER", "END ANSWER")))


def _of_line(line: str, values: Mapping[str, float | None]) -> str | None:
    """The option that a line is, alone or after 'verdict:'."""
    word = _LEAD.sub("", line.strip()).strip(_NOISE).lower()
    return word if word in values else None


def _leading(line: str, values: Mapping[str, float | None]) -> str | None:
    """The option that a line begins with, where a stop, a comma or a dash follows: 'Yes, because it says so.'"""
    match = _FIRST.match(line.strip() + "\n")
    return match[1].lower() if match is not None and match[1].lower() in values else None


VERSIONS = (Scorer("verdict", "1", judge),)

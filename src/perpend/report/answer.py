"""The sentences that answer a study's question, as plain text: percent for rates, points for differences.

A number is rounded as its interval allows; what is undefined is said in words. Nothing here is Markdown.
"""

from __future__ import annotations

import math
import re
import textwrap
from collections.abc import Iterable, Sequence

from perpend.inert import one_line, plain
from perpend.measure.study import ANSWER_LINES, Report
from perpend.report.tables import with_ends
from perpend.types import Estimate

MOST = ANSWER_LINES
COLUMNS = 100
CAUTIONS = 3
_SMALLEST_P = 0.001
_PLAINER = {
    "STAT003": "the calibration error is no larger than a calibrated model shows at this number of rows.",
    "STAT004": "some bins hold few rows, so the calibration error is rough.",
    "STAT005": "some confidences lie on the edges of bins, so the calibration error depends on the convention.",
    "STAT009": "more than 5% of the trials have no valid answer; the report has the bounds.",
    "STAT013": "where no change is shown, the items may be too few to show one.",
    "STAT014": "a rate rests on fewer than 30 trials, so no ranking follows from it.",
    "STAT022": "there are fewer than 30 items, so the intervals are rough.",
}
"""Cautions as a terminal says them; the others are short enough."""
_HEEDED = ("STAT001", "STAT006", "STAT012")
"""What these ask for is done in an answer: intervals are clustered, ties averaged, p adjusted."""
_MORE = "More in the report."
# A heading, a line of a table, a picture: what a terminal cannot show of Markdown.
_NO_SENTENCE = re.compile(r"#|\||!\[|```|-{3,}$")
_LINK = re.compile(r"\[([^\]]*)\]\([^)]*\)")
_TIED = re.compile(r"\b[np] [=<] [\d.]+|[-−+\d.]+%? (?:points )?\[[^\]]*\]")
_TIE = "\N{NO-BREAK SPACE}"
_BULLET = re.compile(r"^\s*(?:[-*+]|\d+\.)\s+")


def places(one: Estimate) -> int:
    """How many decimals a percentage deserves: none where its interval is 2 points or wider, one from 0.2 points on …

    At most 3. Without an interval, as many as one trial of n can move.
    """
    known = one.lo is not None and one.hi is not None
    width = 100.0 * (float(one.hi or 0.0) - float(one.lo or 0.0)) if known else 200.0 / max(one.n, 1)
    return min(max(math.ceil(math.log10(2.0 / width)), 0), 3) if width > 0.0 else 0


def percent(value: object, decimals: int = 0) -> str:
    """'37%'; 'an undefined share' where there is no number."""
    return f"{_fixed(value, decimals)}%" if isinstance(value, float | int) else "an undefined share"


def share(one: Estimate) -> str:
    """A rate with its interval: '37% [30, 45]'. In words where it is undefined."""
    if one.value is None:
        return undefined(one)
    decimals = places(one)
    return percent(one.value, decimals) + _ends(one, decimals)


def change(one: Estimate) -> str:
    """A difference of two rates with its interval: '+35 points [19, 50]'. In words where it is undefined."""
    if one.value is None:
        return undefined(one)
    decimals = places(one)
    return f"{_fixed(one.value, decimals, sign=True)} points{_ends(one, decimals)}"


def value(one: Estimate, decimals: int = 2) -> str:
    """A number that is no share, with its interval: '0.41 [0.35, 0.46]'. In words where it is undefined."""
    if one.value is None:
        return undefined(one)
    return with_ends(one, decimals, scale=1.0)


def undefined(one: Estimate) -> str:
    """Why there is no number."""
    return f"undefined ({one_line(one.note) or 'no trial counts'})"


def p_words(p: object) -> str:
    """'p < 0.001', 'p = 0.03'; in words where it is undefined."""
    if not isinstance(p, float | int):
        return "p undefined"
    return f"p < {_SMALLEST_P}" if p < _SMALLEST_P else f"p = {p:.2g}"


def name(text: str, longest: int = 60) -> str:
    """A name on one line; of a long one the middle is left out, because names of models differ at their ends."""
    clean = " ".join(one_line(text).split())
    if len(clean) <= longest:
        return clean
    return f"{clean[: longest // 2]}…{clean[len(clean) - (longest - 1) // 2 :]}"


def counted(n: object, noun: str) -> str:
    """'1 item', '2 items'."""
    return f"{n} {noun}{'' if n == 1 else 's'}"


def rows_of_items(one: Estimate, noun: str = "answer") -> str:
    """What a number rests on: 'n = 40 items', or 'n = 80 answers to 40 items' where items repeat."""
    items = one.also.get("n_clusters", one.n)
    if items == one.n:
        return f"n = {counted(one.n, 'item')}"
    return f"n = {counted(one.n, noun)} {'of' if noun == 'pair' else 'to'} {counted(items, 'item')}"


def _fixed(number: float, decimals: int, *, sign: bool = False) -> str:
    text = f"{100 * number:{'+' if sign else ''}.{decimals}f}"
    bare = text.lstrip("+-")
    return bare if bare.strip("0.") == "" else text.replace("-", "−")


def _ends(one: Estimate, decimals: int) -> str:
    if one.lo is None or one.hi is None:
        return ""
    return f" [{_fixed(one.lo, decimals)}, {_fixed(one.hi, decimals)}]"


def caution_sentences(estimates: Iterable[Estimate], of: str = "") -> tuple[str, ...]:
    """The cautions of the numbers that an answer cites, each once, in the order of their ids.

    `of` is what the numbers are of, such as a scorer; the sentences begin with it.
    """
    cautions = {caution.id: caution.text for one in estimates for caution in one.cautions if caution.id not in _HEEDED}
    sentences = (_PLAINER.get(key, cautions[key]).rstrip(".") for key in sorted(cautions))
    return tuple(f"{name(of)}: {text}." if of else f"{text}." for text in sentences)


def most_of(sentences: Sequence[str], noun: str) -> tuple[str, ...]:
    """At most five sentences: where there are more, the first four and how many the report has beside them."""
    if len(sentences) <= MOST:
        return tuple(sentences)
    rest = len(sentences) - MOST + 1
    return (*sentences[: MOST - 1], f"{counted(rest, f'more {noun}')} in the report.")


def answer_of(report: Report) -> tuple[str, ...]:
    """The answer of a report; where its study gives none, the first sentences of its headline as plain text."""
    if report.answer:
        return tuple(map(one_line, report.answer[:MOST]))
    lines = [_BULLET.sub("", line) for line in report.headline.splitlines() if not _NO_SENTENCE.match(line.strip())]
    kept = [one_line(plain(_LINK.sub(r"\1", line)).replace("`", "").strip()) for line in lines if line.strip()]
    return tuple(kept) if len(kept) <= MOST else (*kept[:MOST], _MORE)


def terminal_lines(report: Report, columns: int = COLUMNS) -> list[str]:
    """What a terminal shows of a report: the answer and its first cautions, wrapped."""
    width = max(min(columns, COLUMNS), 20)
    lines = []
    for sentence in answer_of(report):
        # A number, its sign and its interval stay together; the blanks in them are put back afterwards.
        tied = _TIED.sub(lambda match: match[0].replace(" ", _TIE), sentence)
        wrapped = textwrap.wrap(tied, width, subsequent_indent="  ", break_on_hyphens=False)
        lines += [line.replace(_TIE, " ") for line in wrapped]
    for caution in report.cautions[:CAUTIONS]:
        lines += textwrap.wrap(f"Caution: {one_line(caution)}", width, subsequent_indent="  ", break_on_hyphens=False)
    rest = len(report.cautions) - CAUTIONS
    if rest > 0:
        lines.append(f"{counted(rest, 'more caution')} in the report.")
    return lines

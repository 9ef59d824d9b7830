"""One HTML page that needs nothing else: no script, no font, no address; pictures are inside it.

Whatever it is given is text: every character is escaped, and control and direction marks are shown as escapes. A number
is in a `data` element with its full precision and its key in metrics.json, so that a program can compare the two.
"""

from __future__ import annotations

import base64
import html
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from perpend.inert import terminal
from perpend.report.page_style import STYLE

NA = "NA"
# Should escaping ever fail, the browser still runs nothing and asks nobody.
_POLICY = "default-src 'none'; img-src data:; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"


Style: TypeAlias = Literal["plain", "signed", "p"]


@dataclass(frozen=True, slots=True)
class Number:
    """A value with its denominator and interval, and the key under which metrics.json holds it. None is undefined."""

    key: str
    value: float | None
    n: int | None = None
    lo: float | None = None
    hi: float | None = None
    style: Style = "plain"
    """'signed' shows a difference with its sign, 'p' a probability of which only the size matters."""


@dataclass(frozen=True, slots=True)
class Code:
    """A name, a digest or a command within a text."""

    text: str


@dataclass(frozen=True, slots=True)
class Strong:
    """What a reader should see first."""

    text: str


Inline: TypeAlias = str | Number | Code | Strong
Line: TypeAlias = str | Number | Code | Strong | Sequence[Inline]
"""What a cell or a paragraph holds: one piece, or several that follow each other."""


@dataclass(frozen=True, slots=True)
class Text:
    """A paragraph; `small` for what belongs below a table or a picture."""

    parts: Sequence[Inline]
    small: bool = False


@dataclass(frozen=True, slots=True)
class Card:
    """One headline number."""

    title: str
    shown: Number | str
    note: str


@dataclass(frozen=True, slots=True)
class Cards:
    """Headline numbers side by side."""

    cards: Sequence[Card]


@dataclass(frozen=True, slots=True)
class PageTable:
    """Rows of cells; the first cell of each names the row. On a narrow screen the table scrolls, not the page."""

    caption: str
    head: Sequence[str]
    rows: Sequence[Sequence[Line]]


@dataclass(frozen=True, slots=True)
class Picture:
    """A PNG; `alt` says in words what it shows."""

    png: bytes
    width: int
    height: int
    alt: str
    caption: Sequence[Inline]


@dataclass(frozen=True, slots=True)
class Said:
    """A question and the answers to it, word for word, each after what it was asked under."""

    question: str
    answers: Sequence[tuple[str, str]]


@dataclass(frozen=True, slots=True)
class Commands:
    """Lines for a terminal."""

    lines: Sequence[str]


@dataclass(frozen=True, slots=True)
class FactList:
    """Names, and below each what is to be said of it: for digests and other long things that no table holds."""

    facts: Sequence[tuple[str, Sequence[Inline]]]


Part: TypeAlias = Text | Cards | PageTable | Picture | Said | Commands | FactList


@dataclass(frozen=True, slots=True)
class PageSection:
    """A heading and what is below it."""

    title: str
    parts: Sequence[Part]


@dataclass(frozen=True, slots=True)
class Page:
    """The whole page: title, what it is in a sentence or two, what comes before the first heading, sections."""

    title: str
    lead: Sequence[Inline]
    top: Sequence[Part]
    sections: Sequence[PageSection]
    foot: Sequence[Inline]


def escaped(text: str) -> str:
    """The text as HTML that shows exactly these characters, also inside an attribute."""
    return html.escape(terminal(text), quote=True)


def render(page: Page) -> str:
    """The page as HTML; the same page, the same bytes."""
    body = "\n".join(_section(section) for section in page.sections)
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{_POLICY}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<link rel="icon" href="data:,">
<title>{escaped(page.title)}</title>
<style>
{STYLE}</style>
</head>
<body>
<header>
<h1>{escaped(page.title)}</h1>
<p class="lead">{_inline(page.lead)}</p>
</header>
<main>
{_parts(page.top)}
{body}
</main>
<footer><p>{_inline(page.foot)}</p></footer>
</body>
</html>
"""


def shown(value: float | None, style: Style = "plain") -> str:
    """A number to three places with a real minus; a p below 0.001 as such; NA where it is undefined."""
    if value is None:
        return NA
    if style == "p" and value < 0.001:
        return "< 0.001"
    text = f"{value:+.3f}" if style == "signed" else f"{value:.3f}"
    if text in ("+0.000", "-0.000"):
        text = "0.000"
    return text.replace("-", "\N{MINUS SIGN}")


def _section(section: PageSection) -> str:
    return f"<section>\n<h2>{escaped(section.title)}</h2>\n{_parts(section.parts)}\n</section>"


def _parts(parts: Iterable[Part]) -> str:
    return "\n".join(_part(part) for part in parts)


def _part(part: Part) -> str:
    writers: dict[type[Part], Callable[..., str]] = {
        Text: _text,
        Cards: _cards,
        PageTable: _table,
        Picture: _picture,
        Said: _said,
        Commands: _commands,
        FactList: _facts,
    }
    return writers[type(part)](part)


def _inline(parts: Iterable[Inline]) -> str:
    return "".join(_piece(part) for part in parts)


def _piece(part: Inline) -> str:
    if isinstance(part, Number):
        return _number(part)
    if isinstance(part, Code):
        return f"<code>{escaped(part.text)}</code>"
    if isinstance(part, Strong):
        return f"<strong>{escaped(part.text)}</strong>"
    return escaped(part)


def _number(number: Number) -> str:
    return f"{_value(number)}{_interval(number)}"


def _value(number: Number) -> str:
    exact = "" if number.value is None else repr(number.value)
    text = escaped(shown(number.value, number.style))
    return f'<data value="{exact}" data-key="{escaped(number.key)}">{text}</data>'


def _interval(number: Number) -> str:
    if number.lo is None or number.hi is None:
        return ""
    ends = (shown(end, number.style) for end in (number.lo, number.hi))
    return f' <span class="ci">[{", ".join(ends)}]</span>'


def _text(part: Text) -> str:
    kind = ' class="small"' if part.small else ""
    return f"<p{kind}>{_inline(part.parts)}</p>"


def _cards(part: Cards) -> str:
    cards = "\n".join(map(_card, part.cards))
    return f'<div class="cards">\n{cards}\n</div>'


def _card(card: Card) -> str:
    if isinstance(card.shown, str):
        text, interval = escaped(card.shown), ""
    else:
        text, interval = _value(card.shown), _interval(card.shown)
    n = f" n\N{NO-BREAK SPACE}=\N{NO-BREAK SPACE}{card.shown.n}" if isinstance(card.shown, Number) else ""
    under = f'<p class="under">{interval}{n}</p>' if interval or n else ""
    return (
        f'<div class="card"><p class="label">{escaped(card.title)}</p><p class="big">{text}</p>{under}'
        f'<p class="note">{escaped(card.note)}</p></div>'
    )


def _table(part: PageTable) -> str:
    head = "".join(f'<th scope="col">{escaped(name)}</th>' for name in part.head)
    rows = "\n".join(_row(row) for row in part.rows)
    # Reachable by keyboard: what scrolls must also scroll without a mouse.
    return (
        f'<div class="scroll" tabindex="0" role="group" aria-label="{escaped(part.caption)}"><table>'
        f"<caption>{escaped(part.caption)}</caption>\n<thead><tr>{head}</tr></thead>\n"
        f"<tbody>\n{rows}\n</tbody></table></div>"
    )


def _row(row: Sequence[Line]) -> str:
    cells = "".join(f"<td>{_cell(cell)}</td>" for cell in row[1:])
    return f'<tr><th scope="row">{_cell(row[0])}</th>{cells}</tr>'


def _cell(cell: Line) -> str:
    return _piece(cell) if isinstance(cell, str | Number | Code | Strong) else _inline(cell)


def _picture(part: Picture) -> str:
    data = base64.b64encode(part.png).decode("ascii")
    return (
        f'<figure><img src="data:image/png;base64,{data}" width="{part.width}" height="{part.height}" '
        f'alt="{escaped(part.alt)}"><figcaption>{_inline(part.caption)}</figcaption></figure>'
    )


def _said(part: Said) -> str:
    answers = "\n".join(f"<dt>{escaped(under)}</dt><dd>{escaped(text)}</dd>" for under, text in part.answers)
    return f'<div class="said"><p class="question">{escaped(part.question)}</p>\n<dl>\n{answers}\n</dl></div>'


def _commands(part: Commands) -> str:
    lines = escaped("\n".join(part.lines))
    return f'<pre tabindex="0"><code>{lines}</code></pre>'


def _facts(part: FactList) -> str:
    facts = "\n".join(f"<dt>{escaped(name)}</dt><dd>{_inline(parts)}</dd>" for name, parts in part.facts)
    return f'<dl class="facts">\n{facts}\n</dl>'

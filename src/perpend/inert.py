"""Model output is hostile text. Each function makes any text inert in one place where it is shown."""

from __future__ import annotations

import re
import unicodedata

# Line feed and tab are the only control characters that a reader needs. Cf holds right-to-left overrides and the like.
_KEPT = "\n\t"
# What starts markup anywhere in a line; ':' and '@' because readers turn addresses and names into links.
_MARKUP = re.compile(r"([\\`*_{}\[\]()<>#!|~&$:@])")
_ESCAPED = re.compile(r"\\([\\`*_{}\[\]()<>#!|~&$:@])")
_TICKS = re.compile(r"`+")
_FORMULA = re.compile(r"^[\s]*[=+\-@\t\r|%]")


def terminal(text: str) -> str:
    """The text with control, format and surrogate characters shown as escapes: no colours, no cursor moves."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(
        ch if ch in _KEPT or unicodedata.category(ch)[0] != "C" else ch.encode("unicode_escape").decode() for ch in text
    )


def markdown(text: str) -> str:
    """The text as one line of Markdown that shows exactly these characters: no markup, no HTML, no table break."""
    return _MARKUP.sub(r"\\\1", " ".join(terminal(text).split()))


def plain(text: str) -> str:
    """Markdown as a terminal shows it: without escapes and emphasis, control characters shown as escapes."""
    return terminal(_ESCAPED.sub(r"\1", text.replace("**", "")))


def fenced(text: str) -> str:
    """The text as a Markdown code block whose fence is longer than any run of backticks inside."""
    clean = terminal(text)
    fence = "`" * max(3, 1 + max((len(run) for run in _TICKS.findall(clean)), default=0))
    return f"{fence}text\n{clean}\n{fence}"


def csv_cell(text: str) -> str:
    """The text as a table cell that no spreadsheet runs as a formula."""
    clean = terminal(text)
    return f"'{clean}" if _FORMULA.match(clean) else clean

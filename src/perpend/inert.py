"""Foreign text is hostile text. Each function makes any text inert in one place where it is shown.

Whatever a program of ours prints goes through `say` or `say_page`. What does not know of them (a warning, a library, a
traceback) meets the streams that `guard_output` puts in place.
"""

from __future__ import annotations

import codecs
import io
import json
import re
import sys
import unicodedata
from typing import TYPE_CHECKING, TextIO

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer

# Line feed and tab are the only control characters that a reader needs.
_PLAIN = re.compile(r"[\n\t -~]*")
_UNUSUAL = re.compile(r"[^\n\t -~]")
# Letters and marks that show nothing: with one of them two different names look the same.
_BLANK = re.compile("[\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0\U000e0100-\U000e01ef]")
# What starts markup anywhere in a line; ':' and '@' because readers turn addresses and names into links.
_MARKUP = re.compile(r"([\\`*_{}\[\]()<>#!|~&$:@])")
# What starts a list, a rule or a heading where the text begins a line; and what a reader links without being told to.
_AT_START = re.compile(r"^(\d{1,9}(?=\.(?:\s|$))|(?=[-+](?:[\s-]|$)|=+\s*$))")
_WWW = re.compile(r"(?i)\b(www)\.")
_ESCAPED = re.compile(r"\\([\\`*_{}\[\]()<>#!|~&$:@.+=-])")
_TICKS = re.compile(r"`+")
_FORMULA = re.compile(r"^[\s]*[=+\-@\t\r|%＝＋－＠｜％﹦﹢﹣﹫﹪]")


def terminal(text: str) -> str:
    """The text with whatever moves a cursor, changes a colour or cannot be seen shown as an escape.

    That is every control character but line feed and tab, every format character (text that runs backwards, blanks of
    no width), every separator of lines, and surrogates. The escapes are JSON's, so JSON keeps its value.
    """
    return text if _PLAIN.fullmatch(text) else _UNUSUAL.sub(_visible, text)


def _visible(match: re.Match[str]) -> str:
    ch = match[0]
    # Of what is not printable, blanks of other widths (Zs) do no harm.
    is_seen = ch.isprintable() and not _BLANK.match(ch)
    return ch if is_seen or unicodedata.category(ch) == "Zs" else json.dumps(ch)[1:-1]


def counted(number: int, noun: str) -> str:
    """'1 item', '2,000 items'."""
    return f"{number:,} {noun}{'s' * (number != 1)}"


def one_line(text: str) -> str:
    """The text as one line of a terminal: a name with a line feed in it must not write a line of its own."""
    return terminal(text).replace("\n", "\\n").replace("\t", "\\t")


def say(text: object, *, err: bool = False) -> None:
    """Print one line, whatever the text holds."""
    say_page(one_line(str(text)) + "\n", err=err)


def say_page(page: str, *, err: bool = False) -> None:
    """Print several lines, whose writer has passed everything foreign in them through `one_line` or `fenced`."""
    stream = sys.stderr if err else sys.stdout
    stream.write(terminal(page))
    stream.flush()


class InertStream(io.TextIOBase):
    """A stream that passes on nothing but text, line feeds and tabs; `raw` is for cursor moves of our own."""

    def __init__(self, raw: TextIO) -> None:
        self.raw = raw
        self.buffer = _InertBytes(self)

    @property
    def encoding(self) -> str:  # type: ignore[override]  # typeshed has an attribute here, Python one that is not set
        """That of the stream below."""
        return self.raw.encoding

    def write(self, text: str, /) -> int:
        """Write the text, made inert."""
        self.raw.write(terminal(text))
        return len(text)

    def flush(self) -> None:
        """Pass on what is buffered."""
        self.raw.flush()

    def isatty(self) -> bool:
        """Whether somebody looks at it."""
        return self.raw.isatty()

    def fileno(self) -> int:
        """That of the stream below."""
        return self.raw.fileno()


class _InertBytes(io.BufferedIOBase):
    """Where a library writes bytes, as click does the words of a shell's completion: UTF-8, made inert as text is."""

    def __init__(self, stream: InertStream) -> None:
        self.stream = stream
        self.decoder = codecs.getincrementaldecoder("utf-8")("backslashreplace")

    def writable(self) -> bool:
        """It is there to be written to."""
        return True

    def write(self, data: ReadableBuffer, /) -> int:
        """Write what the bytes say, made inert."""
        view = bytes(data)
        self.stream.write(self.decoder.decode(view))
        return len(view)

    def flush(self) -> None:
        """Pass on what is buffered."""
        self.stream.flush()


def guard_output() -> None:
    """From now on this process prints inert text only. A program calls it first; a library never does.

    It is not undone: the traceback of a bug is printed after everything else has ended, and quotes foreign text too.
    """
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # a terminal without the letter gets its number
        if stream is not None and not isinstance(stream, InertStream):
            setattr(sys, name, InertStream(stream))


def markdown(text: str) -> str:
    """The text as one line of Markdown that shows exactly these characters: no markup, no HTML, no table break."""
    line = _MARKUP.sub(r"\\\1", " ".join(terminal(text).split()))
    return _WWW.sub(r"\1\\.", _AT_START.sub(r"\1\\", line))


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

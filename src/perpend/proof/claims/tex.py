r"""The numbers that a LaTeX source types: not its labels, references, dimensions, options, indices or comments.

The source is hostile text, and is never run. Every pass is linear in its length: braces are matched once, and a part
that is left out already is not looked into again.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal

from perpend.canon import digest

_AROUND = 50
# Arguments in order, and the commands that have them: x is left out, t is text of the paper. So are options in [ ].
_COMMANDS = {
    "x": "label usepackage RequirePackage documentclass bibliography bibliographystyle addbibresource input include"
    " subfile includegraphics vspace hspace cline cmidrule url path nolinkurl geometry hypersetup pagestyle symbol"
    " thispagestyle pagenumbering linespread color captionsetup sisetup bibitem usetikzlibrary graphicspath tag"
    " textsubscript textsuperscript selectlanguage lstset newcounter stepcounter newlength usetheme lstinputlisting"
    " tikzset pgfplotsset tcbset tcbuselibrary",
    "xx": "setlength addtolength setcounter addtocounter rule fontsize newtheorem colorlet lstdefinestyle newtcolorbox"
    " newtcblisting",
    "xxx": "definecolor",
    "t": "makebox framebox caption",
    "xt": "textcolor colorbox href raisebox parbox scalebox",
    "xxt": "resizebox multicolumn multirow",
}
ARGUMENTS = {name: kinds for kinds, names in _COMMANDS.items() for name in names.split()}
_LAYOUT = re.compile(r"\\(?:[a-z]*stretch|[a-z]*fraction|[a-z]*penalty|the[a-z]+|[a-z]*number)\s*$")
_DEFINES = frozenset(("newcommand", "renewcommand", "providecommand", "DeclareRobustCommand", "newenvironment"))
_REFERENCE = re.compile(r"(?i)^(?:[a-z]*ref|[a-z]*cite[a-z]*)$")
_SPECIFIED = re.compile(r"^(?:tabular[xy]?|longtable|array|minipage|wrapfigure|wraptable|multicols|adjustbox|list)\*?$")
_HIDDEN = re.compile(
    r"\\(begin|end)\s*\{((?:verbatim|Verbatim|lstlisting|minted|comment|thebibliography|filecontents|tikzpicture)\*?)\}"
)
_COMMENT = re.compile(r"(?<!\\)((?:\\\\)*)%[^\n]*")
_VERB = re.compile(r"\\verb\*?([^A-Za-z\s*])[^\n]{0,500}?\1")
_BRACE = re.compile(r"\\.|[{}]", re.DOTALL)
_COMMAND = re.compile(r"\\(?:([A-Za-z@]+)\*?|(\\)\*?)")
_PRIMITIVE = re.compile(
    r"\\(?:char|count|dimen|skip|toks|catcode|looseness|parshape|magnification|[a-z]*(?:penalty|tolerance|badness|depth))"
    r"\s*=?\s*[-+]?\d+"
)
_SCRIPT = re.compile(r"(?<!\\)[_^]\s{0,3}(?:(\{)|\d)")
_DATE = re.compile(r"(?<!\d)\d{4}-\d{2}-\d{2}(?!\d)")
_INPUT = re.compile(r"\\(?:input|include|subfile)(?:\s*\{([^{}\n]{1,300})\}|[ \t]+([^\s{}\\%]{1,300}))")
_SPACE = re.compile(r"[ \t]*\n?[ \t]*")
_NUMBER = re.compile(
    r"(?P<digits>\d{1,3}(?:(?:\{,\}|\\,|,)\d{3})+(?![\d])(?:\.\d+)?|\d+(?:\.\d+)?|(?<![\w.)}\]])\.\d+)"
    r"(?:\s{0,3}(?:\\times|\\cdot|×)\s{0,3}10\s{0,3}\^\s{0,3}(?:\{\s{0,3}(?P<power>[-+−]?\d{1,3})\s{0,3}\}|(?P<one>\d))"
    r"|(?<=10)\s{0,3}\^\s{0,3}\{\s{0,3}(?P<of_ten>[-+−]?\d{1,3})\s{0,3}\}"
    r"|[eE](?P<exponent>[-+]?\d{1,3})(?!\w))?"
    r"(?P<percent>\s{0,3}(?:\\,|~|\$)?\s{0,3}(?:\\%|percent\b|per\s+cent\b|pp\b|percentage\s+points?\b|points?\b))?"
)
_UNIT = re.compile(
    r"(?:pt|cm|mm|in|em|ex|bp|pc|dd|cc|sp|mu|px)\b|(?:st|nd|rd|th)\b|[A-JLN-Z]|[A-Z]{2}"
    r"|\s{0,3}\\[A-Za-z]*(?:width|height|sep|skip|indent|size|space|length|stretch|fill)\b"
)
_NAMED = re.compile(r"(?:[A-Za-z_#@]|[A-Za-z][-!]|\\[_-]|\d[.:])\Z")
# A name that continues after a hyphen, as the 5 of Olmo-3-5; a double hyphen is a dash.
_HYPHENED = re.compile(r"(?<![A-Za-z0-9-])[A-Za-z][A-Za-z0-9]{0,20}(?:-[A-Za-z0-9.]{1,20}){1,4}-\Z")
_WORD = re.compile(r"\\[A-Za-z]{1,30}\Z")
_LETTER = re.compile(r"[A-Za-z§]")
_COUNTED = re.compile(
    r"(?i)(?:\b(?:(?P<dotted>sections?|secs?|appendix|appendices|chapters?|version|page|pages)|tables?|tabs?|figures?|figs?"
    r"|equations?|eqs?|theorems?|lemmas?|propositions?|corollar(?:y|ies)|definitions?|algorithms?|listings?|footnotes?"
    r"|step|experiment|study|observation|finding|hypothesis|question|panel)|(?P<sign>§))[.~\s(]{0,6}"
    r"(?:[\d.]{1,8}\)?(?:\s{0,3}(?:,|and|to|--?|–|\\&)\s{0,3}){1,2}\(?){0,4}\Z"
)
_YEAR = re.compile(r"(?:19|20)\d\d")
_RANGE = re.compile(r"\s?(?:--?|–)\s?\d{1,10}(?:\.\d{1,10})?\s?(?:\\%|\$\\%)")
_ENUMERATOR = re.compile(r"\)\s[a-z]")


@dataclass(frozen=True, slots=True)
class Typed:
    """A number that a source types: its digits, its size without a sign, where it is and among which words."""

    text: str
    value: Decimal
    is_percent: bool
    line: int
    context: str


@dataclass(frozen=True, slots=True)
class TexSource:
    """What a source says: its numbers, and the files that it takes in with their lines."""

    numbers: tuple[Typed, ...]
    inputs: tuple[tuple[int, str], ...]
    plain: str
    """The source without comments."""


def visible(text: str) -> str:
    """The source with spaces in place of comments and of what it prints as it stands, line by line as it was."""
    plain = _COMMENT.sub(lambda m: m.group(1) + " " * (len(m.group()) - len(m.group(1))), text)
    parts, place = [], 0
    for start, end in _verbatim(plain):
        parts += [plain[place:start], re.sub(r"[^\n]", " ", plain[start:end])]
        place = end
    return "".join([*parts, plain[place:]])


def _verbatim(text: str) -> Iterator[tuple[int, int]]:
    """Where environments begin and end whose text is no text of the paper."""
    opened: tuple[int, str] | None = None
    for match in _HIDDEN.finditer(text):
        if opened is None and match[1] == "begin":
            opened = match.start(), match[2]
        elif opened is not None and match[1] == "end" and match[2] == opened[1]:
            yield opened[0], match.end()
            opened = None


def scan(text: str) -> TexSource:
    """The numbers and inputs of one source."""
    plain = _COMMENT.sub(lambda m: m.group(1) + " " * (len(m.group()) - len(m.group(1))), text)
    hidden = _hidden(plain)
    starts = [0, *(m.end() for m in re.finditer("\n", plain))]
    numbers = tuple(
        Typed(
            _printed(match),
            value,
            match["percent"] is not None or _RANGE.match(plain, match.end()) is not None,
            bisect_right(starts, match.start()),
            _context(plain, match),
        )
        for match in _NUMBER.finditer(plain)
        if not hidden[match.start()] and not _is_name(plain, match) and (value := _value(match)) is not None
    )
    inputs = tuple(
        (bisect_right(starts, match.start()), (match[1] or match[2]).strip()) for match in _INPUT.finditer(plain)
    )
    return TexSource(numbers, inputs, plain)


def _hidden(text: str) -> bytearray:
    """1 for each character that no number of the paper begins at."""
    hidden = bytearray(len(text) + 1)
    for start, end in _verbatim(text):
        _hide(hidden, start, end)
    for pattern in (_VERB, _DATE, _PRIMITIVE):
        for match in pattern.finditer(text):
            _hide(hidden, *match.span())
    closes = matching_braces(text)
    for match in _COMMAND.finditer(text):
        if not hidden[match.start()]:
            _hide_arguments(text, hidden, closes, match)
    for match in _SCRIPT.finditer(text):
        if not hidden[match.start()]:
            end = closes.get(match.start(1), match.end()) if match[1] else match.end()
            _hide(hidden, match.start(), end)
    return hidden


def _hide(hidden: bytearray, start: int, end: int) -> None:
    hidden[start:end] = b"\x01" * (min(end, len(hidden)) - start)


def matching_braces(text: str) -> dict[int, int]:
    """Where each opened brace closes (the place after it); one that never does is not in it."""
    stack: list[int] = []
    closed: dict[int, int] = {}
    for brace in _BRACE.finditer(text):
        if brace.group() == "{":
            stack.append(brace.start())
        elif brace.group() == "}" and stack:
            closed[stack.pop()] = brace.end()
    return closed


def _hide_arguments(text: str, hidden: bytearray, closes: dict[int, int], match: re.Match[str]) -> None:
    name, place = match[1] or "", match.end()
    known = ARGUMENTS.get(name, "x" if _REFERENCE.match(name) else None)
    if name in _DEFINES:
        first = _skip(text, place)
        end = closes.get(first, first)
        known = "xx" if _LAYOUT.search(text[first + 1 : max(first + 1, end - 1)][-60:]) else "xt"
    if name == "begin":
        opened = _skip(text, place)
        end = closes.get(opened, opened)
        known = "xxx" if _SPECIFIED.match(text[opened + 1 : max(opened + 1, end - 1)][:40]) else "x"
    if name == "cmidrule" and text.startswith("(", place):
        place = max(place, text.find(")", place, place + 20) + 1)
    place = _hide_option(text, hidden, place, sure=known is not None or match[2] is not None)
    for kind in known or "":
        opened = _skip(text, place)
        if opened >= len(text) or text[opened] != "{":
            return
        # An argument that never closes is left out to the end of its line, and nothing after it.
        end = closes.get(opened) or text.find("\n", opened) % (len(text) + 1)
        if kind == "x":
            _hide(hidden, opened, end)
        place = _hide_option(text, hidden, end, sure=True)


def _hide_option(text: str, hidden: bytearray, place: int, *, sure: bool) -> int:
    """Leave out [options] that begin right here, and return the place after them.

    Of a command that we do not know, only those that a { follows: in \\in[0.3, 0.5] they are an interval.
    """
    while text.startswith("[", place):
        end = text.find("]", place, place + 1000)
        if end < 0 or (not sure and not text.startswith("{", end + 1)):
            return place
        _hide(hidden, place, end + 1)
        place = end + 1
    return place


def _skip(text: str, place: int) -> int:
    space = _SPACE.match(text, place)
    return place if space is None else space.end()


def _is_name(text: str, match: re.Match[str]) -> bool:
    """A digit of a name (GPT-4, 7B, v2), a dimension, an ordinal, the number of a section, a year of a citation."""
    start, end = match.start(), match.end()
    before, after = text[max(0, start - _AROUND) : start], text[end : end + 4]
    if _NAMED.search(before[-2:]) and not _WORD.search(before):  # after a command, as in \approx0.3, it is a number
        return True
    if len(after) > 1 and after[0] in ".:" and after[1].isdigit():  # 1.2.3, 12:30
        return True
    if match["percent"] is not None:
        return False
    if _UNIT.match(text, end) or (before.endswith("-") and _HYPHENED.search(before)):
        return True
    return (_LETTER.search(before) is not None and _is_counted(before, match)) or _is_label(before, match, after)


def _is_counted(before: str, match: re.Match[str]) -> bool:
    """The number of a table or section: only sections, pages and versions have numbers with a point."""
    counted = _COUNTED.search(before)
    return counted is not None and (bool(counted["dotted"] or counted["sign"]) or match.group().isdigit())


def _is_label(before: str, match: re.Match[str], after: str) -> bool:
    """A year of a citation, as (2024), et al., 2024 and 1950s; or (1), (2) before the parts of a sentence."""
    alone = before.endswith("(") and after.startswith(")")
    if _YEAR.fullmatch(match.group()):
        return alone or after[:1] == "s" or before.rstrip(" ~,(").endswith("et al.")
    return alone and len(match.group()) == 1 and _ENUMERATOR.match(after) is not None


def _value(match: re.Match[str]) -> Decimal | None:
    digits = match["digits"].replace("{,}", "").replace("\\,", "").replace(",", "")
    if len(digits) > 50:
        return None
    power = match["power"] or match["one"] or match["exponent"] or "0"
    if match["of_ten"] is not None:
        digits, power = "1", match["of_ten"]
    return Decimal(f"{digits}E{power.replace('−', '-')}")


def _printed(match: re.Match[str]) -> str:
    return " ".join(match.group().split())


def _context(text: str, match: re.Match[str]) -> str:
    """The words around a number, whole ones where there are any."""
    before, after = text[max(0, match.start() - _AROUND) : match.start()], text[match.end() : match.end() + _AROUND]
    if match.start() > _AROUND:
        before = before.partition(" ")[2] or before
    if match.end() + _AROUND < len(text):
        after = after.rpartition(" ")[0] or after
    return " ".join(f"{before}{match.group()}{after}".split())


SEAL = "% perpend numbers, sha256 "


def sealed(body: str) -> str:
    """LaTeX commands under a comment that carries their digest: numbers that were computed, not typed."""
    return f"{SEAL}{digest(body)}\n{body}"


def is_sealed(text: str) -> bool:
    """Whether a file is as `sealed` wrote it."""
    head, _, body = text.partition("\n")
    return head.strip() == f"{SEAL}{digest(body)}"


def commands(text: str) -> Iterator[str]:
    r"""The names of the commands that a sealed file defines."""
    return (command[1] for command in re.finditer(r"(?m)^\\newcommand\{\\([A-Za-z]+)\}", text))

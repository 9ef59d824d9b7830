r"""The tables of a LaTeX source as rows of printed cells: tabular and its kin, with rules, spans, marks and siunitx.

The source is hostile text, and is never run. Every pass is linear in its length.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass, field

from perpend.proof.claims.tex import ARGUMENTS, matching_braces, visible

# Environments and how many arguments in braces come before their rows.
_TABLES = {
    "tabular": 1, "tabular*": 2, "tabularx": 2, "tabulary": 2, "longtable": 1, "supertabular": 1, "xltabular": 2,
    "NiceTabular": 1, "tblr": 1, "longtblr": 1, "talltblr": 1, "ctabular": 1,
}  # fmt: skip
_ENVIRONMENT = re.compile(r"\\(begin|end)\s{0,3}\{([A-Za-z]{1,30}\*?)\}")
_LABEL = re.compile(r"\\label\s{0,3}\{([^{}\n]{1,200})\}")
_TOKEN = re.compile(
    r"\\(?P<environment>begin|end)\s{0,3}\{[A-Za-z]{1,30}\*?\}|\\(?:\\|tabularnewline(?![A-Za-z]))(?P<row>)\*?(?:\[[^\]\n]{0,40}\])?"
    r"|\\(?P<rule>toprule|midrule|bottomrule|hline|Xhline|hhline|specialrule)(?![A-Za-z])(?:\[[^\]\n]{0,40}\])?"
    r"|\\(?P<part>endfirsthead|endhead|endfoot|endlastfoot)(?![A-Za-z])|\\.|[&{}]",
    re.DOTALL,
)
_COMMAND = re.compile(r"\\(?:([A-Za-z@]+)\*?|(.))", re.DOTALL)
_PARENTHESES = re.compile(r"\s{0,3}\([A-Za-z]{0,4}\)")
_OPTION = re.compile(r"\s{0,3}\[[^\]\n]{0,200}\]")
_SPACE = re.compile(r"\s*")
# What is not text: x is left out, t is kept, as in the scan for numbers.
_MORE = {
    "cellcolor": "x", "rowcolor": "x", "columncolor": "x", "tnote": "x", "footnote": "x", "footnotemark": "x",
    "thanks": "x", "phantom": "x", "hphantom": "x", "vphantom": "x", "rotatebox": "xt", "multirow": "xxt",
    "multicolumn": "xxt", "specialrule": "xxx", "Xhline": "x", "hhline": "x", "addlinespace": "", "caption": "x",
    "textsubscript": "t",
}  # fmt: skip
_BOLD = frozenset(("textbf", "mathbf", "bm", "boldsymbol", "bfseries", "bf", "B", "ul", "underline", "uline"))
_SIGNS = {
    "pm": "±", "mp": "±", "percent": "%", "times": "×", "cdot": "×", "textless": "<", "lt": "<", "le": "≤", "leq": "≤",
    "textgreater": ">", "gt": ">", "ge": "≥", "geq": "≥", "approx": "≈", "sim": "≈", "textminus": "-", "textpm": "±",
    "texttimes": "×", "textpercent": "%", "quad": " ", "qquad": " ", "textbar": "|", "newline": " ",
}  # fmt: skip
_CHARACTERS = {"%": "%", ",": "\u2009", "&": "&", "_": "_", "$": "$", "#": "#", "{": "{", "}": "}"}
SUBSCRIPT = "\u2017"
"""Before what a cell prints as a subscript."""


@dataclass(slots=True)
class Entry:
    """A cell as printed: its text, its line, how many columns it takes, and whether it is bold or underlined."""

    text: str
    line: int
    span: int = 1
    rows: int = 1
    marked: bool = False


@dataclass(slots=True)
class PaperTable:
    """A table: its rows of entries, of which the first `head` are the header, and the label beside it."""

    label: str
    line: int
    rows: list[list[Entry]] = field(default_factory=list)
    head: int = 0
    last: int = 0
    """The line that it ends at."""


def tabulars(text: str) -> Iterator[PaperTable]:
    """The tables of a source, the outermost of nested ones, in their order."""
    plain = visible(text)
    starts = [0, *(match.end() for match in re.finditer("\n", plain))]
    braces = matching_braces(plain)
    floats = list(_labels(plain))
    depth, opened, name = 0, 0, ""
    for match in _ENVIRONMENT.finditer(plain):
        if match[2] not in _TABLES:
            continue
        if match[1] == "begin":
            if depth == 0:
                opened, name = match.end(), match[2]
            depth += 1
        elif depth:
            depth -= 1
            if depth == 0:
                around = bisect_right(floats, opened, key=lambda one: one[0]) - 1
                label = floats[around][2] if around >= 0 and opened < floats[around][1] else ""
                body = _body(plain, opened, _TABLES[name], braces)
                lines = [bisect_right(starts, place) for place in (opened, match.start())]
                yield _grid(plain, body, match.start(), braces, PaperTable(label, lines[0], last=lines[1]), starts)


def typeset(text: str, line: int) -> Entry:
    """What one cell prints, read alone."""
    return _entry(text, 0, len(text), matching_braces(text), line)


def _labels(text: str) -> Iterator[tuple[int, int, str]]:
    """Begin, end and label of each float that holds a table; of nested ones the outermost."""
    depth, start = 0, 0
    for match in _ENVIRONMENT.finditer(text):
        if match[2].rstrip("*") not in ("table", "sidewaystable", "wraptable", "longtable", "threeparttable"):
            continue
        if match[1] == "begin":
            start = match.end() if depth == 0 else start
            depth += 1
        elif depth:
            depth -= 1
            label = _LABEL.search(text, start, match.start()) if depth == 0 else None
            if label is not None:
                yield start, match.start(), label[1]


def _body(text: str, place: int, count: int, braces: dict[int, int]) -> int:
    """Where the rows begin: after the options and the arguments."""
    while (option := _OPTION.match(text, place)) is not None:
        place = option.end()
    for _ in range(count):
        opened = _skipped(text, place)
        if opened < len(text) and text[opened] == "{":
            place = braces.get(opened, opened + 1)
    return place


def _skipped(text: str, place: int) -> int:
    space = _SPACE.match(text, place)
    return place if space is None else space.end()


def _grid(text: str, begin: int, end: int, braces: dict[int, int], grid: PaperTable, starts: list[int]) -> PaperTable:
    row: list[Entry] = []
    rules: list[int] = []
    head = -1
    place = begin

    def close(until: int) -> None:
        row.append(_entry(text, place, until, braces, bisect_right(starts, _skipped(text, place))))

    depth = 0
    for token in _TOKEN.finditer(text, begin, end):
        mark = token.group()
        if mark == "{" or token["environment"] == "begin":
            depth += 1
        elif mark == "}" or token["environment"] == "end":
            depth -= 1
        elif depth > 0 or (len(mark) == 2 and mark[0] == "\\" and token["row"] is None):
            continue
        elif mark == "&":
            close(token.start())
            place = token.end()
        elif token["row"] is not None:
            close(token.start())
            grid.rows.append(row)
            row, place = [], token.end()
        elif token["rule"]:
            rules.append(len(grid.rows))
        elif token["part"]:
            if token["part"] in ("endfirsthead", "endhead") and head < 0:
                head, rules = len(grid.rows), []
            else:
                del grid.rows[max(head, 0) :]
            row, place = [], token.end()
    if text[place:end].strip():
        close(end)
        grid.rows.append(row)
    grid.rows = [one for one in grid.rows if any(entry.text for entry in one)] if head < 0 else grid.rows
    grid.head = head if head >= 0 else next((count for count in rules if 0 < count < len(grid.rows)), 0)
    return grid


def _entry(text: str, begin: int, end: int, braces: dict[int, int], line: int) -> Entry:
    """What one cell prints. Commands that we do not know print their arguments."""
    out: list[str] = []
    entry = Entry("", line)
    place = begin
    while place < end:
        character = text[place]
        if character == "\\":
            match = _COMMAND.match(text, place)
            if match is None:
                break
            place = _command(text, match, min(end, match.end()), braces, (out, entry))
        elif character in "_^":
            opened = _skipped(text, place + 1)
            group = braces.get(opened) if text.startswith("{", opened) else min(opened + 1, end)
            if character == "^" and "".join(out[-4:]).rstrip().endswith("10"):
                out.append("^")
                place += 1
            elif character == "^" and not text.startswith(("{\\pm", "{\\mp"), opened):
                place = group if group is not None else opened + 1
            else:
                out.append(SUBSCRIPT if "$" in text[max(begin, place - 200) : place] else character)
                place += 1
        else:
            out.append({"~": " ", "{": "", "}": "", "$": ""}.get(character, character))
            place += 1
    entry.text = " ".join("".join(out).split(" ")).strip()
    entry.text = re.sub(r"[ \t\n]+", " ", entry.text)
    return entry


def _command(text: str, match: re.Match[str], place: int, braces: dict[int, int], kept: tuple[list[str], Entry]) -> int:
    """Put down what a command prints, and return where to read on."""
    out, entry = kept
    name = match[1]
    if name is None:
        out.append(_CHARACTERS.get(match[2], " " if match[2] in "\\ ;:/~" else ""))
        return place
    out.append(_SIGNS.get(name, ""))
    entry.marked |= name in _BOLD
    kinds = _MORE.get(name, ARGUMENTS.get(name, "x" if name.endswith(("ref", "cite")) or "cite" in name else None))
    if kinds is None:
        return place if name in _SIGNS else _skipped_option(text, place)
    for number, kind in enumerate(kinds):
        parentheses = _PARENTHESES.match(text, place) if name == "cmidrule" else None
        place = parentheses.end() if parentheses is not None else place
        while (option := _OPTION.match(text, place)) is not None:
            place = option.end()
        opened = _skipped(text, place)
        if not text.startswith("{", opened) or opened not in braces:
            return place
        if kind == "t":
            return opened
        if name in ("multicolumn", "multirow") and number == 0:
            count = text[opened + 1 : braces[opened] - 1].strip()
            size = int(count) if re.fullmatch(r"\d{1,2}", count) else 1
            entry.span, entry.rows = (size, entry.rows) if name == "multicolumn" else (entry.span, size)
        place = braces[opened]
    return place


def _skipped_option(text: str, place: int) -> int:
    """After [options] that an argument follows; in \\in[0.3, 0.5] they are an interval."""
    option = _OPTION.match(text, place)
    return option.end() if option is not None and text.startswith("{", option.end()) else place

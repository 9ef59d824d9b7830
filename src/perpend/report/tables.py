"""Tables as CSV, Markdown and LaTeX, and numbers as each shows them. The only writers of any of them."""

from __future__ import annotations

import csv
import io
import re
import shutil
import textwrap
import unicodedata
from collections.abc import Iterable, Mapping, Sequence

from perpend.errors import SpecError
from perpend.inert import csv_cell, one_line, terminal
from perpend.types import Estimate


def as_csv(columns: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """A table at full precision, in text that no spreadsheet runs; what is undefined is an empty cell."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow([csv_cell(column) for column in columns])
    for row in rows:
        writer.writerow([csv_cell(cell) if isinstance(cell, str) else "" if cell is None else cell for cell in row])
    return text.getvalue()


def markdown_table(head: Sequence[str], rows: Iterable[Sequence[str]], rule: str = "") -> str:
    """A table in Markdown, without a line feed at its end; cells are Markdown already, `rule` goes below the head."""
    return "\n".join([markdown_row(head), rule or "|" + "---|" * len(head), *map(markdown_row, rows)])


def markdown_row(cells: Sequence[str]) -> str:
    """One line of a table in Markdown."""
    return "| " + " | ".join(cells) + " |"


def number(value: object, places: int = 3) -> str:
    """A number as a table shows it; NA where it is undefined."""
    return f"{value:.{places}f}" if isinstance(value, int | float) else "NA"


def undefined(also: object) -> str:
    """NA and, where an Estimate's `also` holds what others print in its place, that: 'NA (0 by convention)'."""
    value = also.get("by_convention") if isinstance(also, Mapping) else None
    return f"NA ({value:g} by convention)" if isinstance(value, int | float) else "NA"


def interval(one: Estimate, places: int = 3) -> str:
    """'[lo, hi]', or a dash where there is none."""
    return "–" if one.lo is None or one.hi is None else f"[{one.lo:.{places}f}, {one.hi:.{places}f}]"


def with_ends(one: Estimate | None, places: int = 1, *, scale: float = 100, sign: bool = False, unit: str = "") -> str:
    """'37.0 [30.1, 45.2]' of a share, in hundredths; another number with `scale` 1. NA where it is undefined."""
    if one is None or one.value is None:
        return "NA"
    form = f"{'+' if sign else ''}.{places}f"
    ends = "" if one.lo is None or one.hi is None else f" [{scale * one.lo:{form}}, {scale * one.hi:{form}}]"
    return f"{scale * one.value:{form}}{unit}{ends}".replace("-", "\N{MINUS SIGN}")


def p_value(p: object) -> str:
    """A p to two figures; NA where it is undefined."""
    return ("< 0.0001" if p < 1e-4 else f"{p:.2g}") if isinstance(p, float) else "NA"


WIDEST, _NARROWEST = 100, 40
LONGEST = 34
"""Of a terminal: no line is wider than this, and no name takes more of it than that."""


def terminal_width() -> int:
    """Columns to write in: those of the terminal, at most 100."""
    return max(_NARROWEST, min(WIDEST, shutil.get_terminal_size((WIDEST, 24)).columns))


def wrapped(line: str, indent: str = "") -> list[str]:
    """A line as lines of the terminal's width, the later ones indented. Letters of double width count as two."""
    from rich.cells import cell_len

    width = terminal_width() // (1 if cell_len(line) <= len(line) else 2)
    return textwrap.wrap(line, width, subsequent_indent=indent, break_on_hyphens=False) or [line]


def terminal_table(head: Sequence[str], rows: Sequence[Sequence[str]], numbers: int = 0) -> str:
    """A table as plain text no wider than the terminal; the last `numbers` columns are aligned on the right.

    Whatever the cells hold is inert: each is one line, and a long name is folded within its column.
    """
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="")
    for place, name in enumerate(head):
        is_number = place >= len(head) - numbers
        table.add_column(
            Text(one_line(name)),
            justify="right" if is_number else "left",
            overflow="fold",
            no_wrap=is_number,
            max_width=None if is_number else LONGEST,
        )
    for row in rows:
        table.add_row(*(Text(one_line(cell)) for cell in row))
    text = io.StringIO()
    Console(file=text, width=terminal_width(), color_system=None, force_terminal=False, legacy_windows=False).print(
        table
    )
    return "\n".join(line.rstrip() for line in text.getvalue().splitlines())


_SPECIAL = {
    "\\": r"\textbackslash{}", "{": r"\{", "}": r"\}", "$": r"\$", "&": r"\&", "#": r"\#", "%": r"\%", "_": r"\_",
    "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "<": r"\textless{}", ">": r"\textgreater{}",
    "|": r"\textbar{}", '"': r"\char34{}", "`": r"\char96{}", "-": "{-}", "[": "{[}", "]": "{]}",
}  # fmt: skip
_DIGITS = ("Zero", "One", "Two", "Three", "Four", "Five", "Six", "Seven", "Eight", "Nine")
_WORD = re.compile(r"[A-Za-z]+|[0-9]")


def tex_escaped(text: str) -> str:
    """The text as LaTeX shows exactly these characters: no command, no ligature, no comment, on one line."""
    return "".join(_SPECIAL.get(ch, ch) for ch in " ".join(terminal(text).split()))


def macro_name(*parts: str) -> str:
    """A command name from any texts: letters only, words capitalised, digits spelled out; 'X' where nothing is left."""
    words = []
    for part in parts:
        plain = unicodedata.normalize("NFKD", part).encode("ascii", "ignore").decode()
        spelled = (_DIGITS[int(w)] if w.isdigit() else w[0].upper() + w[1:] for w in _WORD.findall(plain))
        words.append("".join(spelled) or "X")
    return "".join(words)


def macro_words(names: Sequence[str]) -> dict[str, str]:
    """A word of its own for each name: those that come to the same letters get B, C … in order."""
    words: dict[str, str] = {}
    for name in dict.fromkeys(names):
        word, suffix = macro_name(name), "B"
        taken = word
        while taken in words.values():
            taken = word + suffix
            suffix = chr(ord(suffix) + 1) if suffix < "Z" else suffix + "Z"
        words[name] = taken
    return words


def macros(numbers: Mapping[tuple[str, ...], str]) -> str:
    r"""One \newcommand for each number, by the parts of its name. Values are LaTeX already.

    Two names that come to the same command are an error: one of them would silently replace the other.
    """
    lines: list[str] = []
    seen: dict[str, tuple[str, ...]] = {}
    for parts, value in numbers.items():
        name = macro_name(*parts)
        if name in seen:
            raise SpecError(
                f"the names {' '.join(seen[name])!r} and {' '.join(parts)!r} both give the LaTeX command \\{name}; "
                "rename a label"
            )
        seen[name] = parts
        lines.append(rf"\newcommand{{\{name}}}{{{value}}}")
    return "\n".join(lines) + "\n"


def tex_number(value: float | None, digits: int = 1, *, sign: bool = False) -> str:
    """A number in mathematics mode, so that its minus is one; NA where it is undefined."""
    if value is None:
        return "NA"
    text = f"{value:+.{digits}f}" if sign else f"{value:.{digits}f}"
    return f"${text}$"


def tex_p_value(p: float | None) -> str:
    """A p with two significant digits, as a power of ten below 0.001; NA where it is undefined."""
    if p is None:
        return "NA"
    if p >= 0.001:
        return f"${p:.2g}$"
    if p == 0.0:
        return r"$<10^{-300}$"
    digits, power = f"{p:.1e}".split("e")
    return rf"${digits}\times10^{{{int(power)}}}$"


def tex_table(columns: Sequence[str], rows: Sequence[Sequence[str]], *, align: str) -> str:
    """A tabular without packages. Cells are LaTeX already: pass text through `tex_escaped`."""
    body = [" & ".join(columns), *(" & ".join(row) for row in rows)]
    lines = [rf"\begin{{tabular}}{{{align}}}", r"\hline", body[0] + r" \\", r"\hline"]
    return "\n".join([*lines, *(line + r" \\" for line in body[1:]), r"\hline", r"\end{tabular}"]) + "\n"


_PLAIN_TEX = str.maketrans(
    {"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}"}
    | {mark: f"\\{mark}" for mark in "&%$#_{}"}
)


def booktabs(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A tabular for a paper that loads booktabs: the first column to the left, the others to the right; any texts."""
    head, *body = (" & ".join(cell.translate(_PLAIN_TEX) for cell in row) + r" \\" for row in (columns, *rows))
    begin = [r"\begin{tabular}{l" + "r" * (len(columns) - 1) + "}", r"\toprule", head, r"\midrule"]
    return "\n".join([*begin, *body, r"\bottomrule", r"\end{tabular}"]) + "\n"

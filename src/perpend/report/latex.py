"""Numbers and tables for LaTeX, every foreign character escaped: a paper never carries a typed number."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping, Sequence

from perpend.errors import SpecError
from perpend.inert import terminal

_SPECIAL = {
    "\\": r"\textbackslash{}", "{": r"\{", "}": r"\}", "$": r"\$", "&": r"\&", "#": r"\#", "%": r"\%", "_": r"\_",
    "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "<": r"\textless{}", ">": r"\textgreater{}",
    "|": r"\textbar{}", '"': r"\char34{}", "`": r"\char96{}", "-": "{-}", "[": "{[}", "]": "{]}",
}  # fmt: skip
_DIGITS = ("Zero", "One", "Two", "Three", "Four", "Five", "Six", "Seven", "Eight", "Nine")
_WORD = re.compile(r"[A-Za-z]+|[0-9]")


def escaped(text: str) -> str:
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


def number(value: float | None, digits: int = 1, *, sign: bool = False) -> str:
    """A number in mathematics mode, so that its minus is one; NA where it is undefined."""
    if value is None:
        return "NA"
    text = f"{value:+.{digits}f}" if sign else f"{value:.{digits}f}"
    return f"${text}$"


def p_value(p: float | None) -> str:
    """A p with two significant digits, as a power of ten below 0.001; NA where it is undefined."""
    if p is None:
        return "NA"
    if p >= 0.001:
        return f"${p:.2g}$"
    if p == 0.0:
        return r"$<10^{-300}$"
    digits, power = f"{p:.1e}".split("e")
    return rf"${digits}\times10^{{{int(power)}}}$"


def table(columns: Sequence[str], rows: Sequence[Sequence[str]], *, align: str) -> str:
    """A tabular without packages. Cells are LaTeX already: pass text through `escaped`."""
    body = [" & ".join(columns), *(" & ".join(row) for row in rows)]
    lines = [rf"\begin{{tabular}}{{{align}}}", r"\hline", body[0] + r" \\", r"\hline"]
    return "\n".join([*lines, *(line + r" \\" for line in body[1:]), r"\hline", r"\end{tabular}"]) + "\n"

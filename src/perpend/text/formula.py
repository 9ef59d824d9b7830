"""Formulas, powers, ratios and signs: LaTeX, Unicode and plain text write one thing in different ways."""

from __future__ import annotations

import re
from typing import Final

from perpend.text import numbers
from perpend.text.apart import set_off
from perpend.text.match import END, MATHS, Folded, Form, Span, whole

_RAISED: Final = "⁰¹²³⁴⁵⁶⁷⁸⁹⁻⁺"
_LOWERED: Final = "0123456789-+"
_DOWN: Final = str.maketrans(_RAISED, _LOWERED)
_UP: Final = str.maketrans(_LOWERED, _RAISED)
RAISED: Final = re.compile(f"[{_RAISED}]+")
WRITTEN: Final = re.compile(r"[a-z]\(|\|[^|]{1,8}\||\w \+ \w|[\u221a\u221e\u2264\u2265\u2260" + _RAISED + "]")
"""What makes an answer a formula, besides `MATHS`: a function, a root, a comparison, a raised figure."""
LATEX: Final = re.compile(r"\\(?:text|mathrm|mathbf|mathcal|operatorname|left|right|,|;|!|ce)\b")
TOKEN: Final = re.compile(r"\d+(?:\.\d+)?|[a-z]+|<=|>=|!=|[^\s\w$\\{}]")
POWER_SIGN: Final = "^"
FUNCTIONS: Final = frozenset({"log", "ln", "sin", "cos", "tan", "exp", "lg"})
_NOISE: Final = r"(?:[\s$\\{}_]|left|right|text|mathrm|mathbf|mathcal|operatorname|ce\b){0,6}"
_TIMES: Final = r"(?:\*|times|cdot)?"
"""What may stand between a factor and its variable."""
_SIGNS: Final = {
    "<=": r"(?:<=|=<|≤|leq?(?:slant)?)", ">=": r"(?:>=|≥|geq?(?:slant)?)", "!=": r"(?:!=|≠|neq?)",
    "*": r"(?:\*|times|cdot|x)", "pi": r"(?:π|pi)", "infty": r"(?:∞|infty|infinity)", "+": r"\^?\{?\+", "-": r"\^?\{?-",
    "sqrt": r"(?:√|sqrt|(?:the\s)?square\sroot\sof)",
}  # fmt: skip
_NEEDLES: Final = {"pi": ("π", "pi"), "infty": ("∞", "inf"), "sqrt": ("√", "sqrt", "square root of")}
_PLAIN: Final = {"√": "sqrt ", "∞": "infty", "π": "pi ", "≤": "<=", "≥": ">=", "≠": "!=", "infinity": "infty"}
_VULGAR: Final = {
    "½": ("1", "2"), "⅓": ("1", "3"), "⅔": ("2", "3"), "¼": ("1", "4"), "¾": ("3", "4"), "⅕": ("1", "5"),
    "⅖": ("2", "5"), "⅗": ("3", "5"), "⅘": ("4", "5"), "⅙": ("1", "6"), "⅚": ("5", "6"), "⅛": ("1", "8"),
    "⅜": ("3", "8"), "⅝": ("5", "8"), "⅞": ("7", "8"),
}  # fmt: skip
_N: Final = r"\d+(?:\.\d+)?"
POWER: Final = re.compile(
    rf"(?:(?P<mantissa>{_N})\s?(?:\*|x|\\times|\\cdot)\s?)?10\s?(?:\^[\s{{(]{{0,2}}(?P<plain>[-+]?\d{{1,3}})[)}}]?"
    rf"|(?P<raised>[{_RAISED}]{{1,4}}))|(?P<digits>{_N})\s?e(?P<exponent>[-+]?\d{{1,3}})"
)
"""A power of ten, with or without a factor."""
RATIO: Final = re.compile(
    rf"\\?[dt]?frac\s?(?:\{{\s?({_N})\s?\}}\s?\{{\s?({_N})\s?\}}|(\d)\s?(\d))|({_N})\s?(?:/|over)\s?({_N})"
)
ION: Final = re.compile(r"(?P<name>[a-z]{1,2})(?P<charge>\d?)(?P<sign>[+-])")
"""A letter or two with a sign after them: an ion, a grade."""
SIGN_NAMES: Final = {"π": ("pi",), "∞": ("infinity", "infty"), "pi": ("π",), "infinity": ("∞", "infty")}


VARIABLE: Final = re.compile(r"\d[abcinpqrxyz](?![a-z])")
"""A factor and its variable: '4x^3' is no number of anything."""
LATEX_BEFORE: Final = re.compile(r"\\(?:boxed|text|textbf|mathrm|mathcal|mathbf|operatorname|ce|displaystyle)\{?$")
"""The LaTeX that a formula begins with."""
MIXED: Final = "[_^{}]{0,3}"
"""What `match.words_form` lets stand between the letters and figures of one word."""


def in_latex(text: Folded, original: str, span: Span) -> Span:  # noqa: ARG001 - a check
    """The span of a formula with the LaTeX that opens it."""
    low = max(0, span[0] - 16)
    lead = LATEX_BEFORE.search(text.text[low : span[0]])
    return span if lead is None else (low + lead.start(), span[1])


def is_formula(bare: str) -> bool:
    """Whether the signs of a folded answer are compared, and its blanks are not."""
    return MATHS.search(bare) is not None or WRITTEN.search(bare) is not None


def formula_forms(bare: str) -> list[Form]:
    """A formula sign by sign, whatever blanks, dollars and LaTeX are between them.

    A raised figure is a power, a root may be written in three ways, a function may have brackets around what it takes,
    a factor a sign after it. A minus before it makes it another formula.
    """
    text = RAISED.sub(lambda found: "^" + found[0].translate(_DOWN), bare)
    text = LATEX.sub(" ", text)
    for sign, plain in _PLAIN.items():
        text = text.replace(sign, plain)
    tokens = [token for token in TOKEN.findall(text) if token not in {"_", "."}]
    if not tokens:
        return []
    pieces: list[str] = []
    place = 0
    while place < len(tokens):
        taken, piece = _piece(tokens, place)
        pieces.append(piece)
        place += taken
    last = END if tokens[-1][-1].isalnum() else ""
    source = "" if tokens[0] == "-" else r"(?<![-−])"
    for place, piece in enumerate(pieces):
        is_factor = place and pieces[place - 1][-1].isdigit() and piece[0].isalpha()
        source += (_NOISE if place else "") + (_TIMES + _NOISE if is_factor else "") + piece
    source += last
    source = source if tokens[0] == "sqrt" else whole(source)
    return [Form(needle, source, check=in_latex) for needle in _NEEDLES.get(tokens[0], (tokens[0],))]


def _piece(tokens: list[str], place: int) -> tuple[int, str]:
    """How many tokens from `place` on belong together, and their pattern: a power, or a sign in all its spellings."""
    token, after = tokens[place], tokens[place + 1 : place + 3]
    raised = after[:1] if after and after[0] not in "+-" else after
    if token == POWER_SIGN and raised and raised[-1].isdigit():
        exponent = "".join(raised)
        plain = rf"\^[\s{{(]{{0,2}}{re.escape(exponent)}[)}}]?"
        return 1 + len(raised), rf"(?:{plain}|{re.escape(exponent.translate(_UP))})"
    piece = _SIGNS.get(token, re.escape(token))
    takes = place > 0 and (tokens[place - 1] in FUNCTIONS or tokens[place - 1] == "sqrt")
    return 1, rf"\(?{piece}\)?" if takes and token.isalnum() else piece


def chemical(form: Form) -> Form:
    """The form of a word of letters and figures, such as 'H2SO4', also with the LaTeX of each of them."""
    if form.source is None or MIXED not in form.source:
        return form
    noise = r"(?:[_^{}\\]|text|mathrm|mathbf|rm\b){0,6}"
    return Form(form.needle, form.source.replace(MIXED, noise), cased=form.cased, check=in_latex)


def power(bare: str) -> tuple[str, int] | None:
    """The factor and exponent of a power of ten: ('3', 8) for '3 × 10^8', '3e8' and '3 × 10⁸'. None for the rest."""
    written = POWER.fullmatch(bare.strip(" $."))
    if written is None:
        return None
    if written["digits"]:
        return written["digits"], int(written["exponent"])
    exponent = written["plain"] or (written["raised"] or "").translate(_DOWN)
    try:
        return written["mantissa"] or "1", int(exponent)
    except ValueError:  # a raised sign by itself
        return None


def power_forms(factor: str, exponent: int) -> list[Form]:
    """A power of ten as a power, with 'e', and in full where that has at most sixteen figures."""
    raised = str(exponent).translate(_UP)
    tens = rf"10\s?(?:\^[\s{{(]{{0,2}}{re.escape(str(exponent))}[)}}]?|{raised})(?![\d{_RAISED}])"
    times = rf"{re.escape(factor)}(?:\.0+)?\s?(?:\*|x|\\times|\\cdot)\s?{tens}"
    sign = "-" if exponent < 0 else r"\+?"
    short = rf"{re.escape(factor)}(?:\.0+)?\s?e\s?{sign}0*{abs(exponent)}(?!\d)"
    begin = r"(?<![\d.,])(?<![\d.]\s[*x]\s)"
    forms = [Form(factor, begin + times), Form(factor, begin + short)]
    if float(factor) == 1:
        forms.append(Form("10", r"(?<![\w.,])(?<![\d]\s[*x]\s)" + tens))
    value = float(factor) * 10.0**exponent
    if 1e-9 <= value < 1e16:
        figures = f"{value:,.12f}".rstrip("0").rstrip(".")
        both = dict.fromkeys((figures, figures.replace(",", "")))
        forms += [Form(full, rf"(?<![\d.,]){re.escape(full)}(?!\d|[.,]\d)") for full in both]
    return forms


def ratio(bare: str) -> tuple[str, str] | None:
    """Numerator and denominator of an answer that is nothing but a fraction."""
    written = RATIO.fullmatch(bare.strip(" $"))
    if written is None:
        return _VULGAR.get(bare.strip(" $."))
    top, bottom = [part for part in written.groups() if part]
    return top, bottom


def ratio_forms(top: str, bottom: str) -> list[Form]:
    """A fraction with a slash, in LaTeX, as one sign, in words ('five sixths'), or as a decimal that it is exactly."""
    over = rf"(?<![\d./]){re.escape(top)}\s?(?:/|over)\s?{re.escape(bottom)}{END}(?!\s?/\s?\d)"
    latex = (
        rf"(?:(?<=\\[dt])|(?<![^\W_]))frac\s?\{{?\s?{re.escape(top)}\s?\}}?\s?\{{?\s?{re.escape(bottom)}(?!\d)\s?\}}?"
    )
    forms = [Form(top, whole(over)), Form("frac", latex), *_in_words(top, bottom), *_as_decimal(top, bottom)]
    sign = next((sign for sign, parts in _VULGAR.items() if parts == (top, bottom)), None)
    return forms if sign is None else [*forms, Form(sign, rf"(?<!\d){sign}")]


def _in_words(top: str, bottom: str) -> list[Form]:
    """'three quarters', 'one-half'; nothing for fractions that nobody says so."""
    count, rank = numbers.quantity(top), numbers.ordinal(f"{bottom}th") or numbers.ordinal(f"{bottom}rd")
    spoken = {"2": "hal(?:f|ves)", "4": "(?:quarter|fourth)s?"}.get(bottom, "" if rank is None else f"{rank[1]}s?")
    if not spoken or not top.isdecimal() or count is None or not count.needles[-1].isalpha():
        return []
    return [Form(count.needles[-1], whole(rf"{count.needles[-1]}[\s-]{spoken}" + END))]


def _as_decimal(top: str, bottom: str) -> list[Form]:
    """The decimal of at most four places that a fraction is."""
    value = numbers.plain(top) / numbers.plain(bottom) if numbers.plain(bottom) else 0.0
    exact = f"{value:.4f}".rstrip("0").rstrip(".")
    if not value or float(exact) != value or "." not in exact:
        return []
    number = numbers.quantity(exact)
    return [] if number is None else [Form(needle, None, number) for needle in number.needles]


def symbol_forms(bare: str) -> list[Form]:
    """The forms of an answer that is a sign, or has one at its end ('C++', 'Na+') or beginning ('.py'); and of a sign
    that has a name. A sign by itself must be set off if it is one character, and never belongs to a longer one."""
    forms = [
        Form(name, whole(re.escape(name) + END) if name.isalpha() and name.isascii() else re.escape(name))
        for name in SIGN_NAMES.get(bare, ())
    ]
    if not any(char.isalnum() for char in bare):
        if not bare or bare.isspace():
            return forms
        clear = rf"(?<![\w:{re.escape(bare[0])}]){re.escape(bare)}(?![\w{re.escape(bare[-1])}])"
        return [*forms, Form(bare, clear, check=set_off(bare) if len(bare) == 1 else None)]
    if (ion := ION.fullmatch(bare)) is not None:
        charge = ion["charge"] + ion["sign"]
        raised = rf"[}}\\]{{0,2}}(?:\^?\{{?{re.escape(charge)}\}}?|{charge.translate(_UP)})"
        return [*forms, Form(ion["name"], whole(re.escape(ion["name"]) + raised + r"(?![+\w-])"), check=in_latex)]
    if bare[-1] in "+#" and bare[0].isalnum():
        return [*forms, Form(bare, whole(re.escape(bare) + r"(?![+#\w])"))]
    if bare[0] in ".#@°:":
        return [*forms, Form(bare, r"(?<![\w.#@°:])" + re.escape(bare) + (END if bare[-1].isalnum() else ""))]
    return forms

"""The audit of what others published as one page of HTML: no script, nothing from elsewhere, light or dark.

Everything foreign is shown as `inert.one_line` shows it, escaped by the template, in an element of its own direction.
"""

from __future__ import annotations

import base64
import hashlib
import math
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from importlib.resources import files
from pathlib import Path

from perpend.canon import VERSION
from perpend.disk import replacing
from perpend.inert import one_line
from perpend.proof.source_audit import CheckedNumber, SourceAudit, SourceComparison, UnfitVerdicts
from perpend.proof.source_text import found_line, short_column, verdict

MOST = 500
"""Rows that one table of the page has."""
_LEFT, _TOP, _SIDE, _POINTS = 40, 10, 250, 3000
_GLYPHS = {"follows": "✓", "differs": "≠", "unreadable": "✕", "nothing": "–"}


@dataclass(frozen=True, slots=True)
class _Head:
    text: str
    is_number: bool


@dataclass(frozen=True, slots=True)
class _Row:
    cells: Sequence[str]
    is_problem: bool = False


@dataclass(frozen=True, slots=True)
class _Table:
    """Rows under their heads; a head that ends in '#' is one of numbers."""

    heads: Sequence[str] = ()
    rows: Sequence[_Row] = ()
    title: str = ""
    more: str = ""

    @property
    def head(self) -> list[_Head]:
        return [_Head(text.removesuffix("#"), text.endswith("#")) for text in self.heads]


@dataclass(frozen=True, slots=True)
class StatedPoint:
    """A stated number in a figure: where it is, whether it follows, what is said of it."""

    x: float
    y: float
    agrees: bool
    title: str


@dataclass(frozen=True, slots=True)
class StatedFigure:
    """Stated against computed numbers of one kind; on the diagonal they are the same."""

    label: str
    caption: str
    lowest: str
    highest: str
    points: Sequence[StatedPoint]


@dataclass(frozen=True, slots=True)
class _Section:
    title: str
    lines: Sequence[str] = ()
    table: _Table = field(default_factory=_Table)
    rest: _Table = field(default_factory=_Table)
    figures: Sequence[StatedFigure] = ()


@dataclass(frozen=True, slots=True)
class _Source:
    name: str
    status: str
    verdict: str
    sections: Sequence[_Section]

    @property
    def glyph(self) -> str:
        return _GLYPHS[self.status]


def page_of_sources(audits: Sequence[SourceAudit]) -> str:
    """The page of some audits. The same audits give the same bytes: no time, path or name of this machine is in it."""
    from jinja2 import Environment, PackageLoader, StrictUndefined
    from markupsafe import Markup

    assets = PackageLoader("perpend.view", "assets")
    environment = Environment(loader=assets, autoescape=True, undefined=StrictUndefined, trim_blocks=True)
    css = "".join(
        files("perpend.view").joinpath("assets", name).read_text(encoding="utf-8") for name in ("view.css", "audit.css")
    )
    digest = base64.b64encode(hashlib.sha256(css.encode()).digest()).decode("ascii")
    csp = f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"
    title = f"Audit of {one_line(audits[0].name) if len(audits) == 1 else f'{len(audits):,} sources'}"
    return environment.get_template("audit.html.j2").render(
        title=title,
        csp=csp,
        css=Markup(css),  # noqa: S704  ours, and in the policy by its hash
        sources=[_source(audit) for audit in audits],
        version=VERSION,
    )


def write_sources(audits: Sequence[SourceAudit], out: Path) -> None:
    """Write the page of some audits to a file, whole or not at all."""
    page = page_of_sources(audits)
    with replacing(out) as temporary:
        temporary.write_text(page, encoding="utf-8", newline="\n")


def _source(audit: SourceAudit) -> _Source:
    if audit.unreadable:
        lines = [one_line(line) for line in audit.unreadable]
        return _Source(one_line(audit.name), "unreadable", "could not be read", [_Section("Why", lines)])
    checked = any(one.value is not None for one in audit.numbers) or bool(audit.rules)
    status = "differs" if not audit.ok else "follows" if checked else "nothing"
    return _Source(one_line(audit.name), status, verdict(audit), [*_sections(audit)])


def _sections(audit: SourceAudit) -> Iterator[_Section]:
    named = (_Row([one_line(str(one.get(key, ""))) for key in ("name", "sha256")]) for one in audit.files)
    lines = [f"{one_line(audit.format)}: {found_line(audit)}."]
    yield _Section("Found", lines, rest=_table(("File", "SHA-256"), named, "The files"))
    yield _Section("Verdicts that a rule gives again", *_rules(audit))
    yield _numbers(audit)
    given = (
        _Row([one.statistic, short_column(one.column), _where(one.where.values()), _written(one.estimate.value),
              _interval(one.estimate.lo, one.estimate.hi), f"{one.estimate.n:,}", one_line(one.estimate.note)])
        for one in audit.given
    )  # fmt: skip
    heads = ("Number", "Of", "Among", "Value#", "95% interval#", "n#", "Note")
    yield _Section("What the stored verdicts give", *_or_line(_table(heads, given), "Nothing: there are no verdicts."))
    unfit = map(_unfit, audit.unfit)
    of_unfit = ("Verdicts", "On no answer#", "Kinds", "Rate as stored#", "Without them#", "With them missing#")
    yield _Section("Verdicts on answers that are none", *_or_line(_table(of_unfit, unfit), "None."))
    yield _comparisons(audit)
    yield _unchecked(audit)


def _unfit(one: UnfitVerdicts) -> _Row:
    kinds = ", ".join(f"{count:,} {kind}" for kind, count in one.kinds.items())
    rates = [_written(one.rate), _written(one.without), _interval(one.lo, one.hi)]
    return _Row([short_column(one.column), f"{one.unfit:,} of {one.n:,}", kinds, *rates])


def _rules(audit: SourceAudit) -> tuple[Sequence[str], _Table]:
    rows = [
        _Row([one_line(rule.what), "the source's", f"{rule.checked - rule.differ:,} of {rule.checked:,}",
              "; ".join(map(one_line, rule.examples))], bool(rule.differ))
        for rule in audit.rules
    ]  # fmt: skip
    for ours in audit.ours:
        counts = f"{ours.agree:,} of {ours.disagreement.n:,}"
        rows.append(_Row([f"{one_line(ours.rule)} against {short_column(ours.column)}", "ours", counts, ""]))
    table = _table(("Rule", "Whose", "Gives again#", "First places where not"), rows)
    return _or_line(table, "None: no rule is known for these verdicts.")


def _numbers(audit: SourceAudit) -> _Section:
    checked = [one for one in audit.numbers if one.value is not None]
    title = "Stated numbers that follow from the stored verdicts"
    if not checked:
        return _Section(title, ["None could be computed."])
    heads = ("What", "Where", "Stated#", "Computed#", "")
    lines = [f"{sum(one.agrees for one in checked):,} of {len(checked):,}."]
    others = [one for one in checked if one.agrees]
    return _Section(
        title,
        lines,
        _table(heads, map(_number, audit.differing)),
        _table(heads, map(_number, others), f"The {len(others):,} that follow"),
        list(figures(checked)),
    )


def _number(one: CheckedNumber) -> _Row:
    stated, place = one.stated, f"{one_line(one.stated.file)}, {one_line(one.stated.place)}"
    status = "follows" if one.agrees else "does not follow"
    return _Row([one_line(stated.what), place, f"{stated.value:.10g}", _written(one.value), status], not one.agrees)


def figures(checked: Sequence[CheckedNumber]) -> Iterator[StatedFigure]:
    """Shares from 0 to 1, percentages, and all else on a scale of powers of ten; not for one number that follows."""
    kinds: dict[str, list[CheckedNumber]] = {"Shares": [], "Percentages": [], "Other numbers, by powers of ten": []}
    for one in checked:
        values = (one.stated.value, one.value or 0.0)
        of_percent = one.stated.statistic.startswith("percent") and all(0 <= value <= 100 for value in values)
        is_share = all(0 <= value <= 1 for value in values) and not of_percent
        kinds["Shares" if is_share else "Percentages" if of_percent else "Other numbers, by powers of ten"].append(one)
    for (kind, own), scale in zip(kinds.items(), (1.0, 100.0, 0.0), strict=True):
        if len(own) > 1 or any(not one.agrees for one in own):
            yield _figure(kind, own, scale)


def _figure(kind: str, own: Sequence[CheckedNumber], scale: float) -> StatedFigure:
    pairs = [(_placed(one.value or 0.0, scale), _placed(one.stated.value, scale)) for one in own]
    lowest = 0.0 if scale else min(0.0, *(value for pair in pairs for value in pair))
    highest = scale or max(1.0, *(value for pair in pairs for value in pair))
    points: dict[tuple[float, float, bool], StatedPoint] = {}
    for one, (computed, stated) in zip(own, pairs, strict=True):
        x = round(_LEFT + _SIDE * (computed - lowest) / (highest - lowest), 1)
        y = round(_TOP + _SIDE * (1 - (stated - lowest) / (highest - lowest)), 1)
        title = f"{one_line(one.stated.what)}: stated {one.stated.value:.6g}, computed {one.value or 0.0:.6g}"
        points.setdefault((x, y, one.agrees), StatedPoint(x, y, one.agrees, title))
    drawn = sorted(points.values(), key=lambda point: not point.agrees)[-_POINTS:]
    wrong = sum(not one.agrees for one in own)
    count = f"{len(own):,} number{'s' * (len(own) != 1)}"
    caption = f"{kind}: {count}, {wrong:,} of which {'does' if wrong == 1 else 'do'} not follow."
    return StatedFigure(
        f"Stated against computed. {caption}", caption, _end(lowest, scale), _end(highest, scale), drawn
    )


def _placed(value: float, scale: float) -> float:
    """Where a number is on its axis: itself, or its power of ten with its sign."""
    return value if scale else math.copysign(math.log10(1 + abs(value)), value)


def _end(place: float, scale: float) -> str:
    return f"{place:g}" if scale else f"{math.copysign(10 ** min(abs(place), 300) - 1, place):,.4g}"


def _comparisons(audit: SourceAudit) -> _Section:
    title = "Comparisons that survive pairing and Holm's correction"
    if not audit.comparisons:
        return _Section(title, ["None: there is one model under one condition."])
    ordered = sorted(audit.comparisons, key=lambda one: -abs(one.difference.value or 0))
    surviving, others = ([one for one in ordered if one.survives is wanted] for wanted in (True, False))
    heads = ("Verdicts", "Second", "First", "Second minus first#", "95% interval#", "n#", "Adjusted p#")
    return _Section(
        title,
        [f"{len(surviving):,} of {len(audit.comparisons):,}."],
        _table(heads, map(_comparison, surviving)),
        _table(heads, map(_comparison, others), f"The {len(others):,} that do not"),
    )


def _comparison(one: SourceComparison) -> _Row:
    first, second = map(one_line, one.sides)
    value, p = one.difference.value, one.adjusted
    shown = "undefined" if p is None else "< 0.0001" if p < 1e-4 else f"{p:.4f}"
    size = "undefined" if value is None else f"{value:+.4f}"
    interval = _interval(one.difference.lo, one.difference.hi)
    return _Row([short_column(one.column), second, first, size, interval, f"{one.difference.n:,}", shown])


def _unchecked(audit: SourceAudit) -> _Section:
    reasons = Counter(one.why for one in audit.numbers if one.value is None)
    rows = [_Row([one_line(why), f"{count:,}"]) for why, count in reasons.most_common()]
    notes = [_Row([one_line(note), f"{count:,}"]) for note, count in audit.notes.items()]
    lines = [] if rows or notes else ["Nothing."]
    return _Section(
        "Not checked, and notes of the import",
        lines,
        _table(("Stated numbers that could not be computed, and why", "How many#"), rows),
        _table(("Note", "How many#"), notes, "Notes of the import"),
    )


def _table(heads: Sequence[str], rows: Iterable[_Row], title: str = "") -> _Table:
    listed = list(rows)
    more = f"And {len(listed) - MOST:,} more; perpend audit --json lists them all." if len(listed) > MOST else ""
    return _Table(heads, listed[:MOST], title, more)


def _or_line(table: _Table, line: str) -> tuple[Sequence[str], _Table]:
    return ([] if table.rows else [line]), table


def _where(names: Iterable[str]) -> str:
    return ", ".join(map(one_line, names)) or "all"


def _written(value: float | None) -> str:
    return "undefined" if value is None else f"{value:.10g}"


def _interval(lo: float | None, hi: float | None) -> str:
    return "" if lo is None or hi is None else f"{lo:.4f} to {hi:.4f}"

"""A comparison as the terminal shows it: the verdict, what was paired, the differences, in 100 columns at most."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from perpend.inert import one_line
from perpend.report.compare_runs import RunComparison
from perpend.report.compare_verdict import size
from perpend.report.tables import number, p_value, terminal_table, wrapped
from perpend.types import Estimate

_MOST = 40


@dataclass(frozen=True, slots=True)
class DifferenceLine:
    """One difference: what it is of, both ends, and the Estimate with `p_adjusted`."""

    names: tuple[str, ...]
    first: object
    second: object
    difference: Estimate


def comparison_text(comparison: RunComparison) -> str:
    """Verdict, sides, differences with 95% intervals, p after Holm and n, and what did not pair."""
    has_conditions = len({one.condition for one in comparison.contrasts}) > 1
    lines = [
        DifferenceLine((one.column, one.condition) if has_conditions else (one.column,), one.first, one.second,
                       one.difference)
        for one in comparison.contrasts
    ]  # fmt: skip
    lost = f"without a partner: {comparison.unpaired[0]} of the first, {comparison.unpaired[1]} of the second"
    paired = f"{comparison.n_pairs} pairs of trials over {comparison.n_items} items; {lost}"
    head = ("column", "condition") if has_conditions else ("column",)
    page = text_of(
        comparison.verdict, (comparison.first, comparison.second), (head, lines), [paired, *comparison.notes]
    )
    return page + (f"\n{_margins(comparison, head)}\n" if comparison.margin is not None else "")


def _margins(comparison: RunComparison, head: Sequence[str]) -> str:
    """The table of what is shown of the margin; of a long one the first rows."""
    rows = []
    for one in comparison.contrasts[:_MOST]:
        if one.within is not None and comparison.margin is not None:
            margin = f"±{size(comparison.margin, is_share=one.is_share)}"
            p = (p_value(one.within.also.get(key)) for key in ("p_non_inferior", "p_adjusted"))
            names = (one.column, one.condition)[: len(head)]
            rows.append((*names, margin, _interval(one.within), *p, one.shown))
    return terminal_table((*head, "margin", "90% interval", "p, not worse", "p, equivalent", "shown"), rows, 5)


def text_of(
    verdict: str,
    names: tuple[str, str],
    table: tuple[Sequence[str], Sequence[DifferenceLine]],
    notes: Sequence[str],
) -> str:
    """The page of any comparison; of a long table the first rows."""
    head, lines = table
    rows = [
        (*line.names, number(line.first), number(line.second), _signed(line.difference.value),
         _interval(line.difference), p_value(line.difference.also.get("p_adjusted")), str(line.difference.n))
        for line in lines[:_MOST]
    ]  # fmt: skip
    facts = [f"first is {one_line(names[0])}, second is {one_line(names[1])}", *map(one_line, notes)]
    parts = [_wrapped(verdict), "", *map(_wrapped, facts), ""]
    parts.append(terminal_table((*head, "first", "second", "difference", "95% interval", "p, Holm", "n"), rows, 6))
    if len(lines) > _MOST:
        parts.append(f"{len(lines) - _MOST} more rows; --out writes all of them.")
    return "\n".join(parts) + "\n"


def _wrapped(text: str) -> str:
    return "\n".join(wrapped(one_line(text)))


def _signed(value: float | None) -> str:
    text = "NA" if value is None else f"{value:+.3f}"
    return "0.000" if text in ("+0.000", "-0.000") else text


def _interval(one: Estimate) -> str:
    return "–" if one.lo is None or one.hi is None else f"[{_signed(one.lo)}, {_signed(one.hi)}]"

"""A comparison as the terminal shows it: the verdict, what was paired, the differences, in 100 columns at most."""

from __future__ import annotations

from collections.abc import Sequence

from perpend.inert import one_line
from perpend.report.compare_contrasts import RunContrast
from perpend.report.compare_runs import RunComparison
from perpend.report.compare_verdict import size
from perpend.report.tables import number, p_value, terminal_table, wrapped
from perpend.types import Estimate

_MOST = 40


def comparison_text(comparison: RunComparison) -> str:
    """Verdict, sides, differences with 95% intervals, p after Holm and n, and what did not pair."""
    lost = f"without a partner: {comparison.unpaired[0]} of the first, {comparison.unpaired[1]} of the second"
    paired = f"{comparison.n_pairs} pairs of trials over {comparison.n_items} items; {lost}"
    has_conditions = len({one.condition for one in comparison.contrasts}) > 1
    head = ("column", "condition") if has_conditions else ("column",)
    names, notes = (comparison.first, comparison.second), [paired, *comparison.notes]
    page = text_of(comparison.verdict, names, head, comparison.contrasts, notes)
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
    head: Sequence[str],
    contrasts: Sequence[RunContrast],
    notes: Sequence[str],
) -> str:
    """The page of any comparison; of a long table the first rows. `head` is above the columns, and the conditions."""
    rows = [
        (*(one.column, one.condition)[: len(head)], number(one.first), number(one.second),
         _signed(one.difference.value), _interval(one.difference), p_value(one.difference.also.get("p_adjusted")),
         str(one.difference.n))
        for one in contrasts[:_MOST]
    ]  # fmt: skip
    facts = [f"first is {one_line(names[0])}, second is {one_line(names[1])}", *map(one_line, notes)]
    parts = [_wrapped(verdict), "", *map(_wrapped, facts), ""]
    parts.append(terminal_table((*head, "first", "second", "difference", "95% interval", "p, Holm", "n"), rows, 6))
    if len(contrasts) > _MOST:
        parts.append(f"{len(contrasts) - _MOST} more rows; --out writes all of them.")
    return "\n".join(parts) + "\n"


def _wrapped(text: str) -> str:
    return "\n".join(wrapped(one_line(text)))


def _signed(value: float | None) -> str:
    text = "NA" if value is None else f"{value:+.3f}"
    return "0.000" if text in ("+0.000", "-0.000") else text


def _interval(one: Estimate) -> str:
    return "–" if one.lo is None or one.hi is None else f"[{_signed(one.lo)}, {_signed(one.hi)}]"

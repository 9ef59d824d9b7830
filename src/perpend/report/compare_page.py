"""COMPARE.md, COMPARE.json, differences.csv and flips.csv: one comparison of runs, as text and as data."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from perpend.canon import pretty, write_atomic
from perpend.inert import markdown
from perpend.report.compare_contrasts import DIFFERENCE_COLUMNS, MARGIN_COLUMNS, RunContrast
from perpend.report.compare_forest import NAME, write_forest
from perpend.report.compare_runs import RunComparison
from perpend.report.compare_verdict import size
from perpend.report.tables import as_csv, interval, markdown_table, number, p_value

_SHOWN = 20
_METHODS = (
    "Columns of 0 and 1: Newcombe's paired interval and McNemar's mid-p; where items repeat, both by item (effective "
    "number of pairs, sign flip of item sums). Other columns: Student's t on the differences, by item. p is adjusted "
    "by Holm over all rows of this table. MDE: the smallest difference that these pairs show with 80% power at the "
    "level of Holm's first step."
)
_WEIGHTED = (
    " With weights or strata: the difference is that of the population, the interval and McNemar's score are at the "
    "effective number of pairs, by t."
)
_WITHIN = (
    "Two one-sided tests: that the difference is below the margin, and that it is above. Columns of 0 and 1: Tango's "
    "score, by item; other columns: Student's t, by item. p is adjusted by Holm over all rows of this table. The 90% "
    "interval lies within the margin where both tests reject before the correction. 'equivalent': both reject; 'not "
    "worse': the side on which the second would be worse does."
)
_FLIP = ("column", "item", "condition", "model", "temperature", "repeat", "first", "second")


def write_comparison(comparison: RunComparison, out: Path, *, figures: bool = True) -> Path:
    """Write page, JSON and tables, and unless `figures` is False the forest, into `out`; return the page's path."""
    write_atomic(out / "COMPARE.json", pretty(comparison.as_json()))
    write_atomic(out / "differences.csv", differences_csv(comparison.contrasts))
    write_atomic(out / "flips.csv", flips_csv(comparison))
    page = comparison_report(comparison)
    if figures:
        title = f"{comparison.first} → {comparison.second}"
        write_forest(comparison.contrasts, title, out, comparison.margin)
        page += f"\n## Figure\n\n![Every difference with its 95% interval](figures/{NAME}_double.png)\n"
    write_atomic(out / "COMPARE.md", page)
    return out / "COMPARE.md"


def comparison_report(comparison: RunComparison) -> str:
    """The comparison in Markdown: verdict, what was paired, every difference, what flipped, cautions."""
    first, second = markdown(comparison.first), markdown(comparison.second)
    paired = f"{comparison.n_pairs} pairs of trials over {comparison.n_items} items"
    lost = f"{comparison.unpaired[0]} of the first, {comparison.unpaired[1]} of the second"
    lines = [
        f"# {first} → {second}", "",
        f"**Verdict:** {markdown(comparison.verdict)}", "",
        f"{paired}; without a partner: {lost}. Differences: second minus first.", "",
        *(f"- {markdown(note)}" for note in comparison.notes), *([""] if comparison.notes else []),
        *_margins(comparison),
        "## Differences", "", *_differences(comparison.contrasts, (first, second)),
        _METHODS + _WEIGHTED * bool(comparison.population), "",
        "## Trials that flipped", "", *_flips(comparison),
        *_cautions(comparison.contrasts),
    ]  # fmt: skip
    return "\n".join(lines).rstrip() + "\n"


def _differences(contrasts: Sequence[RunContrast], names: tuple[str, str]) -> list[str]:
    rows = []
    for one in contrasts:
        d = one.difference
        shown = number(d.value) if d.value is not None else f"NA ({markdown(d.note)})"
        rows.append(
            (markdown(one.column), markdown(one.condition) or "–", number(one.first), number(one.second), shown,
             interval(d), str(d.n), p_value(d.also.get("p")), p_value(d.also.get("p_adjusted")),
             number(d.also.get("mde")))
        )  # fmt: skip
    head = ("column", "condition", *names, "difference", "95% interval", "n", "p", "adjusted p", "MDE")
    return [markdown_table(head, rows), ""]


def _margins(comparison: RunComparison) -> list[str]:
    """What is shown of the margin, row by row; nothing without one."""
    if comparison.margin is None:
        return []
    rows = []
    for one in comparison.contrasts:
        within = one.within
        if within is not None:
            margin = f"±{size(comparison.margin, is_share=one.is_share)}"
            shown = number(within.value) if within.value is not None else f"NA ({markdown(within.note)})"
            p = (p_value(within.also.get(key)) for key in ("p_non_inferior", "p_adjusted"))
            place = markdown(one.column), markdown(one.condition) or "–"
            rows.append((*place, margin, shown, interval(within), str(within.n), *p, one.shown))
    head = (
        "column",
        "condition",
        "margin",
        "difference",
        "90% interval",
        "n",
        "p, not worse",
        "p, equivalent",
        "shown",
    )
    return ["## Within the margin", "", markdown_table(head, rows), "", _WITHIN, ""]


def _flips(comparison: RunComparison) -> list[str]:
    """For each column how many turned each way, and the first of them by name."""
    lines: list[str] = []
    items, conditions = comparison.table.names["item"], comparison.table.names["condition"]
    for column, rows, before in comparison.flipped:
        for way, value in (("1 → 0", 1.0), ("0 → 1", 0.0)):
            own = rows[before == value]
            if not len(own):
                continue
            shown = [
                f"{markdown(items[comparison.table.codes['item'][row]])} "
                f"({markdown(conditions[comparison.table.codes['condition'][row]])})"
                for row in own[:_SHOWN].tolist()
            ]
            more = f"; {len(own) - _SHOWN} more in flips.csv" if len(own) > _SHOWN else ""
            lines.append(
                f"- {markdown(column)}, {way}: {len(own)} trial{'s' * (len(own) != 1)}: {', '.join(shown)}{more}"
            )
    return [*(lines or ["None."]), ""]


def _cautions(contrasts: Iterable[RunContrast]) -> list[str]:
    estimates = [one for each in contrasts for one in (each.within, each.difference) if one is not None]
    cautions = {caution.id: caution for one in estimates for caution in one.cautions}
    if not cautions:
        return []
    return ["## Cautions", "", *(f"- {name}: {markdown(cautions[name].text)}" for name in sorted(cautions)), ""]


def differences_csv(contrasts: Iterable[RunContrast]) -> str:
    """Every difference at full precision; empty where undefined."""
    rows = [one.row() for one in contrasts]
    has_margin = bool(rows) and len(rows[0]) > len(DIFFERENCE_COLUMNS)
    return as_csv((*DIFFERENCE_COLUMNS, *MARGIN_COLUMNS * has_margin), rows)


def flips_csv(comparison: RunComparison) -> str:
    """Every trial that flipped."""
    rows = (
        (f.column, f.item, f.condition, f.model, f.temperature, f.repeat, f.first, 1 - f.first)
        for f in comparison.flips()
    )
    return as_csv(_FLIP, rows)

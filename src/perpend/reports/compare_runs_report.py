"""COMPARE.md, COMPARE.json, differences.csv and flips.csv: one comparison of runs, for people and for programs."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Sequence
from pathlib import Path

from perpend.canon import pretty, write_atomic
from perpend.inert import csv_cell, markdown
from perpend.reports.checkpoint_report import interval, number, p_value, table
from perpend.reports.compare_runs import RunComparison, RunContrast

_SHOWN = 20
_METHODS = (
    "Columns of 0 and 1: Newcombe's paired interval and McNemar's mid-p; where items repeat, both by item (effective "
    "number of pairs, sign flip of item sums). Other columns: Student's t on the differences, by item. p is adjusted "
    "by Holm over all rows of this table. MDE: the smallest difference that these pairs show with 80% power at the "
    "level of Holm's first step."
)
_FLIP = ("column", "item", "condition", "model", "temperature", "repeat", "first", "second")
_NUMBERS = ("n", "b", "c", "p", "p_adjusted", "mde", "incomplete", "n_clusters")


def write_comparison(found: RunComparison, out: Path) -> Path:
    """Write the four files into the folder `out` and return the path of the page."""
    write_atomic(out / "COMPARE.json", pretty(found.as_json()))
    write_atomic(out / "differences.csv", differences_csv(found.contrasts))
    write_atomic(out / "flips.csv", flips_csv(found))
    write_atomic(out / "COMPARE.md", comparison_report(found))
    return out / "COMPARE.md"


def comparison_report(found: RunComparison) -> str:
    """The comparison in Markdown: verdict, what was paired, every difference, what flipped, cautions."""
    first, second = markdown(found.first), markdown(found.second)
    paired = f"{found.n_pairs} pairs of trials over {found.n_items} items"
    lost = f"{found.unpaired[0]} of the first, {found.unpaired[1]} of the second"
    lines = [
        f"# {first} → {second}", "",
        f"**Verdict:** {markdown(found.verdict)}", "",
        f"{paired}; without a partner: {lost}. Differences: second minus first.", "",
        *(f"- {markdown(note)}" for note in found.notes), *([""] if found.notes else []),
        "## Differences", "", *_differences(found.contrasts, (first, second)), _METHODS, "",
        "## Trials that flipped", "", *_flips(found),
        *_cautions(found.contrasts),
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
    return table(head, rows)


def _flips(found: RunComparison) -> list[str]:
    """For each column how many turned each way, and the first of them by name."""
    lines: list[str] = []
    items, conditions = found.frame.names["item"], found.frame.names["condition"]
    for column, rows, before in found.flipped:
        for told, value in (("1 → 0", 1.0), ("0 → 1", 0.0)):
            own = rows[before == value]
            if not len(own):
                continue
            shown = [
                f"{markdown(items[found.frame.codes['item'][row]])} "
                f"({markdown(conditions[found.frame.codes['condition'][row]])})"
                for row in own[:_SHOWN].tolist()
            ]
            more = f"; {len(own) - _SHOWN} more in flips.csv" if len(own) > _SHOWN else ""
            lines.append(f"- {markdown(column)}, {told}: {len(own)} trials: {', '.join(shown)}{more}")
    return [*(lines or ["None."]), ""]


def _cautions(contrasts: Iterable[RunContrast]) -> list[str]:
    found = {caution.id: caution for one in contrasts for caution in one.difference.cautions}
    if not found:
        return []
    return ["## Cautions", "", *(f"- {name}: {markdown(found[name].text)}" for name in sorted(found)), ""]


def differences_csv(contrasts: Iterable[RunContrast]) -> str:
    """Every difference at full precision; empty where undefined."""
    head = ("column", "condition", "first", "second", "difference", "lo", "hi", *_NUMBERS, "method", "p_method", "note")
    rows = []
    for one in contrasts:
        d = one.difference
        numbers = [d.n, *(d.also.get(key) for key in _NUMBERS[1:])]
        texts = map(csv_cell, (d.method, str(d.also.get("p_method", "")), d.note))
        names = csv_cell(one.column), csv_cell(one.condition)
        rows.append((*names, one.first, one.second, d.value, d.lo, d.hi, *numbers, *texts))
    return _csv(head, rows)


def flips_csv(found: RunComparison) -> str:
    """Every trial that flipped."""
    rows = (
        (*map(csv_cell, (f.column, f.item, f.condition, f.model, f.temperature, f.repeat)), f.first, 1 - f.first)
        for f in found.flips()
    )
    return _csv(_FLIP, rows)


def _csv(head: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(head)
    writer.writerows(rows)
    return out.getvalue()

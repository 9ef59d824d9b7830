"""What is not right, split, and the simplest rules beside ours, as a report says them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from perpend.inert import markdown
from perpend.measure.outcomes import OUTCOME, PART, SIMPLE
from perpend.measure.study import Metric
from perpend.report.answer import percent
from perpend.report.tables import markdown_table
from perpend.types import Estimate

SPLIT = (OUTCOME, PART, SIMPLE)
ROWS = {
    "right": "right",
    "planted": "planted: gives the decoy",
    "other": "other: another answer",
    "abstained": "abstained: declines or does not know",
    PART: "of the right: a part of the target only",
}
LISTED = "`perpend show RUN --where uncertain=1` lists these and what is too close to call."
_SIMPLE = {"includes@1": "the target occurs in the text", "exact@1": "the text is the target and nothing else"}


def split_parts(metrics: Sequence[Metric], estimated: Callable[[Estimate], str]) -> Iterator[str]:
    """A table with a row for each outcome and a column per condition; a line for each simple rule and condition."""
    rows: dict[str, dict[str, Estimate]] = {}
    lines = []
    for metric in metrics:
        one, place = metric.estimate, metric.where["condition"]
        if metric.name != SIMPLE:
            rows.setdefault(metric.where.get("outcome", metric.name), {})[place] = one
        elif one.value is not None:
            stem, also = metric.scorer.partition("@")[0], one.also
            text = f"- {markdown(place)}: the simplest rule, `{stem}` ({_SIMPLE[metric.scorer]}), "
            if one.value:
                text += f"calls {percent(also['simple'])} right where `correct` calls {percent(also['correct'])}. They "
                text += f"differ on {estimated(one)}: {also['simple_alone']} right by `{stem}` alone, "
                lines.append(f"{text}{also['correct_alone']} by `correct` alone.")
            else:
                lines.append(f"{text}judges as `correct` does (n = {one.n}).")
    if rows:
        cells = [[name, *map(estimated, rows[kind].values())] for kind, name in ROWS.items() if kind in rows]
        yield markdown_table(["what the answers give", *map(markdown, rows["right"])], cells)
        if any(one.also.get("k") for one in rows.get(PART, {}).values()):
            yield LISTED
    if lines:
        yield "\n".join(lines)

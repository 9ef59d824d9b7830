"""COMPARE.md and COMPARE.json: one comparison of two checkpoints, as text and as JSON."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from perpend.canon import JSON, pretty, write_atomic
from perpend.inert import markdown
from perpend.measure.study import Metric, Numbers
from perpend.report.compare_contrasts import RunContrast
from perpend.report.compare_text import text_of
from perpend.report.tables import interval, markdown_table, number, p_value
from perpend.stats.families import is_shown
from perpend.studies.verbs.compare import LOST, WON
from perpend.studies.verbs.report import ReportPart, filled_table, form, page_of, probe, verdict_of

_SHOWN = 100
_METHODS = (
    "Accuracy: Newcombe's paired interval and McNemar's mid-p. Brier score: paired bootstrap by probe, and a test that "
    "swaps the two answers of random probes. ECE: paired bootstrap by probe, with room for its bias. Log perplexity: "
    "nats per token, Student's t over sentences. p is adjusted by Holm. MDE: the smallest difference that these probes "
    "show with 80% power."
)


def write_compare(numbers: Numbers, names: tuple[str, str], out: Path) -> Path:
    """Write COMPARE.md and COMPARE.json into the folder `out` and return the path of the page."""
    title = f"# {markdown(names[0])} → {markdown(names[1])}"
    page = [title, compare_lead(numbers), page_of(compare_parts(numbers, names))]
    write_atomic(out / "COMPARE.json", pretty(compare_body(numbers, names)))
    write_atomic(out / "COMPARE.md", "\n\n".join(page) + "\n")
    return out / "COMPARE.md"


def compare_body(numbers: Numbers, names: tuple[str, str]) -> dict[str, JSON]:
    """COMPARE.json."""
    return {
        "format": 1,
        "first": names[0],
        "second": names[1],
        "n_pairs": numbers.cite("comparison").n,
        "unpaired": {one.where["category"]: one.estimate.n for one in numbers.find("unpaired")},
        "metrics": [_entry(one) for one in numbers.find("contrast")],
        "slices": [_entry(one) for one in numbers.find("slice_contrast")],
        **{way: [one.where["item"] for one in numbers.find("flip", direction=way)] for way in (LOST, WON)},
        "verdict": verdict_of(numbers, "comparison"),
    }


def compare_text(numbers: Numbers, names: tuple[str, str]) -> str:
    """The comparison as the terminal shows it."""
    left = ", ".join(f"{one.estimate.n} {one.where['category']}" for one in numbers.find("unpaired")) or "none"
    paired = f"{numbers.cite('comparison').n} of the same id, answered by both; without a partner: {left}"
    return text_of(verdict_of(numbers, "comparison"), names, ["metric"], contrasts(numbers), [paired])


def contrasts(numbers: Numbers) -> list[RunContrast]:
    """The difference of every metric, in its own units."""
    found = []
    for one in numbers.find("contrast"):
        ends = (one.estimate.also.get(key) for key in ("first", "second"))
        first, second = (end if isinstance(end, float) else None for end in ends)
        found.append(RunContrast(one.where["measure"], "", first, second, one.estimate))
    return found


def _entry(metric: Metric) -> dict[str, JSON]:
    also = dict(metric.estimate.also)
    ends = {key: also.pop(key) for key in ("first", "second")}
    difference = replace(metric.estimate, also=also)
    return {
        "metric": metric.where["measure"],
        **ends,
        "difference": difference.as_json(),
        "detected": is_shown(difference),
    }


def compare_lead(numbers: Numbers) -> str:
    """The verdict, and how many probes it rests on."""
    left = ", ".join(f"{one.estimate.n} {one.where['category']}" for one in numbers.find("unpaired")) or "none"
    n, verdict = numbers.cite("comparison").n, markdown(verdict_of(numbers, "comparison"))
    paired = f"{n} probes that both answered; without a partner: {left}. Differences: second minus first."
    return f"**Verdict:** {verdict}\n\n{paired}"


def compare_parts(numbers: Numbers, names: tuple[str, str]) -> list[ReportPart]:
    """Metrics, slices that changed, probes that flipped."""
    first, second = map(markdown, names)
    slices = numbers.find("slice_contrast")
    changed = [one for one in slices if is_shown(one.estimate)]
    summary = f"{len(changed)} of {len(slices)} slices changed after correction (McNemar, Benjamini and Hochberg, 5%)."
    by_slice = "\n\n".join([summary, *([_contrasts(changed, names)] if changed else [])])
    return [
        ReportPart("Metrics", f"{_contrasts(numbers.find('contrast'), names)}\n\n{_METHODS}"),
        *([ReportPart("Slices that changed", by_slice)] if slices else []),
        ReportPart(f"Right in {first}, wrong in {second}", _flips(numbers.find("flip", direction=LOST))),
        ReportPart(f"Wrong in {first}, right in {second}", _flips(numbers.find("flip", direction=WON))),
    ]


def _contrasts(metrics: Sequence[Metric], names: tuple[str, str]) -> str:
    rows = []
    for one in metrics:
        d = one.estimate
        shown = number(d.value) if d.value is not None else f"NA ({markdown(d.note)})"
        ends, tests = ([d.also.get(key) for key in keys] for keys in (("first", "second"), ("p", "p_adjusted")))
        rows.append(
            (markdown(one.where["measure"]), *map(number, ends), shown, interval(d), str(d.n), *map(p_value, tests),
             number(d.also.get("mde")))
        )  # fmt: skip
    head = ("metric", *map(markdown, names), "difference", "95% interval", "n", "p", "adjusted p", "MDE")
    return markdown_table(head, rows)


def _flips(flips: Sequence[Metric]) -> str:
    count = f"{len(flips)} probe{'' if len(flips) == 1 else 's'}"
    shown = f"{count}; the first {_SHOWN} are shown, COMPARE.json has all ids." if len(flips) > _SHOWN else f"{count}."
    rows = []
    for one in flips[:_SHOWN]:
        before, after = one.estimate.also.get("confidence_before"), one.estimate.value
        choices = (f"{form(one, 'before')} ({number(before, 2)})", f"{form(one, 'after')} ({number(after, 2)})")
        rows.append((*probe(one), form(one, "expected"), *(choice.removeprefix("– ") for choice in choices)))
    table = [filled_table(("id", "probe", "expected", "before", "after"), rows)] if rows else []
    return "\n\n".join([shown, *table])

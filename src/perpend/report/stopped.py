"""What a report says of a run that could stop early: where it stopped, and the intervals that are valid there."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from perpend.ask.looking import place_name
from perpend.inert import markdown
from perpend.ledger.manifest import Manifest
from perpend.measure.stopped import DIFFERENCE, LOOKS, RATE, could_stop
from perpend.measure.study import ANSWER_LINES, Metric, Numbers, Report, Section
from perpend.report import answer
from perpend.report.tables import markdown_table
from perpend.spec.stopping import parse_rule
from perpend.types import Estimate

_CAUTION = "intervals for a fixed number of items cover too little here; cite those of the look."
_MOST = 3


def with_looks(report: Report, numbers: Numbers) -> Report:
    """The report of a run with a stopping rule, with how it ended and its valid intervals first; else as it is."""
    looked = numbers.find(LOOKS)
    stop = next((one.stop for one in numbers.manifests if one.stop is not None), None)
    if stop is None:
        return report
    if not looked:  # several runs together, or no scores yet
        return replace(report, cautions=(_CAUTION, *report.cautions))
    one = looked[0].estimate
    stated = [metric for metric in numbers.metrics if metric.name in (RATE, DIFFERENCE)]
    first = [how_it_ended(one, stop.when), *map(sentence, decisive(stated, numbers.manifests[0])[:_MOST])]
    kept = report.answer[: max(ANSWER_LINES - len(first), 0)]
    section = Section("Looks and the stopping rule", _section(one, stop.when, stated))
    return replace(
        report,
        answer=(*first, *kept),
        sections=(section, *report.sections),
        cautions=(_CAUTION, *(text for text in report.cautions if text != could_stop().text)),
    )


def decisive(metrics: Sequence[Metric], manifest: Manifest) -> list[Metric]:
    """Those of the numbers at a look that the rule looks at."""
    if manifest.stop is None:
        return []
    wanted = parse_rule(manifest.stop.when).targets([one.name for one in manifest.conditions])
    names = {(score, place_name(place)) for score, place in wanted}
    return [metric for metric in metrics if (metric.scorer, metric.where.get("condition")) in names]


def how_it_ended(one: Estimate, rule: str) -> str:
    """Where a run stopped, in a sentence."""
    k, look, looks = one.also.get("k"), one.also.get("look"), one.also.get("looks")
    if one.also.get("stopped"):
        return f"Stopped at look {look} of {looks}, after {k} of {answer.counted(one.n, 'item')}: {rule}."
    if k == one.n:
        how = "holds at the last look" if one.also.get("holds") else "held at no look"
        return f"All {answer.counted(one.n, 'item')} were asked in {answer.counted(looks, 'look')}; {rule} {how}."
    return f"Not finished: {answer.counted(look, 'look')} so far, at {k} of {answer.counted(one.n, 'item')}; {rule}."


def sentence(metric: Metric) -> str:
    """A number that is valid at its look, with its interval."""
    one = metric.estimate
    shown = answer.share(one) if metric.name == RATE else answer.change(one)
    missing = one.also.get("missing")
    left = f" ({missing} without a score)" if missing else ""
    return (
        f"At that look {answer.name(metric.scorer)}, {answer.name(metric.where['condition'])}: {shown}, "
        f"n = {answer.counted(one.n, 'item')}{left}; valid at any look."
    )


def _section(looked: Estimate, rule: str, stated: Sequence[Metric]) -> str:
    rows = []
    for metric in stated:
        one = metric.estimate
        interval = "NA" if one.lo is None or one.hi is None else f"[{one.lo:.3f}, {one.hi:.3f}]"
        value = "NA" if one.value is None else f"{one.value:.3f}"
        least, most = one.also.get("least"), one.also.get("most")
        bounds = f"{least:.3f} to {most:.3f}" if isinstance(least, float) and isinstance(most, float) else ""
        place = (metric.scorer, metric.where["condition"])
        rows.append([*map(markdown, place), value, interval, str(one.n), str(one.also.get("missing")), bounds])
    says = (
        f"{markdown(how_it_ended(looked, rule))}\n\n"
        "Items were asked in an order drawn by the seed, and each counts once. The intervals here hold although the\n"
        "run could stop at a look; those of other sections are for a fixed number of items and cover less than they\n"
        "say. Items that were not asked because the rule held are not missing. Where items are missing (no call\n"
        "succeeded, or no answer could be scored), the ends lie within the bounds whatever their scores were."
    )
    head = ["scorer", "condition", "mean over items", "interval", "items", "missing", "bounds"]
    return "\n\n".join([says, *([markdown_table(head, rows)] if rows else [])])

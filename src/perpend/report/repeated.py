"""What repeats say, in a report: pass@k and pass^k, how often they differ, the variances, and what more would buy."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from perpend.inert import markdown
from perpend.measure.repeated import (
    DESIGNS,
    DIFFER,
    EXPECTED,
    MORE_ITEMS,
    MORE_REPEATS,
    NOW,
    ONE_CONDITION,
    PASS_AT,
    PASS_HAT,
    VARIANCES,
    main_score,
)
from perpend.measure.samplings import PARAMETERS, settings_in
from perpend.measure.study import Metric, Numbers, Report, Section, TableOf
from perpend.report import answer
from perpend.report.tables import markdown_table
from perpend.types import Estimate

TITLE, TABLE = "Repeats", "repeats"
_BEFORE = ("Cautions", "How to read this")
"""Sections that are about all others."""
_KINDS = (PASS_AT, PASS_HAT, DIFFER, *VARIANCES, EXPECTED)
_PLACES = ("run", "model", *PARAMETERS, "condition")
_NAMES = {
    "item": "items",
    "condition": "conditions",
    "item_condition": "items × conditions",
    "sampling": "repeats (sampling)",
}
_PASSES = """\
pass@k is the chance that at least one of k answers to an item scores 1, pass^k that all of k do: means over items,
unbiased, with 95% intervals. pass@1 is the rate, each item with one vote."""
_PARTS = """\
Where the variance of one answer's score comes from. More items lessen every part of the error of a mean but that of the
conditions, more repeats only the last."""
_BOUGHT = """\
The standard error of each mean score, and of each paired difference between conditions, as this run has it and as more
items or repeats would leave it. `perpend plan` says how many are needed."""


def with_repeats(report: Report, numbers: Numbers) -> Report:
    """The report with a section and a table about repeats, and a sentence where the answer has room; else as it is."""
    metrics = numbers.find(EXPECTED)
    if not metrics:
        return report
    declared = [name for manifest in numbers.manifests for name in manifest.scorers]
    score = main_score(declared, [*dict.fromkeys(metric.scorer for metric in metrics)]) or ""
    own = [metric for metric in numbers.metrics if metric.scorer == score and metric.name in _KINDS]
    keys = [key for key in _PLACES if len({one.where.get(key) for one in own if key in one.where}) > 1]
    section = Section(TITLE, "\n\n".join(_parts(own, [key for key in keys if key != "condition"], score)))
    spoken = _sentence(own, keys, score.partition("@")[0])
    room = len(report.answer) < answer.MOST
    titles = [part.title for part in report.sections]
    place = next((titles.index(title) for title in _BEFORE if title in titles), len(titles))
    return replace(
        report,
        answer=(*report.answer, spoken) if spoken and room else report.answer,
        sections=(*report.sections[:place], section, *report.sections[place:]),
        tables=(*report.tables, _table(numbers)),
    )


def _parts(own: Sequence[Metric], keys: Sequence[str], score: str) -> Iterator[str]:
    passes = [metric for metric in own if metric.name == PASS_AT]
    times = max(int(metric.estimate.also.get("repeats") or 0) for metric in own if metric.where.get("design") == NOW)
    others = f"`tables/{TABLE}.csv` has the same numbers of every score."
    yield f"Items were asked up to {times} times under one condition. The score here is **{markdown(score)}**; {others}"
    if passes:
        rows = []
        for metric in passes:
            hat = _beside(own, metric, PASS_HAT)
            rows.append([*_place(metric, [*keys, "condition", "k"]), _share(metric.estimate), _share(hat), str(hat.n)])
        yield _PASSES
        yield markdown_table([*keys, "condition", "k", "pass@k", "pass^k", "items"], rows)
        yield from _left_out(passes)
        rows = [
            [*_place(metric, [*keys, "condition"]), _share(metric.estimate), str(metric.estimate.n)]
            for metric in own
            if metric.name == DIFFER
        ]
        yield "Items whose answers do not all score the same, among those with two scored answers or more:"
        yield markdown_table([*keys, "condition", "repeats differ", "items"], rows)
    rows = []
    for metric in own:
        if metric.name in VARIANCES and metric.estimate.note != ONE_CONDITION:
            one, share = metric.estimate, metric.estimate.also.get("share")
            part = answer.percent(share) if isinstance(share, float) else "–"
            rows.append([*_place(metric, keys), _NAMES[VARIANCES[metric.name]], _variance(one), part])
    yield _PARTS
    yield markdown_table([*keys, "part", "variance", "share"], rows)
    rows = []
    is_share = bool(passes)
    for metric in own:
        if metric.name == EXPECTED and metric.where["design"] == NOW:
            errors = [_beside(own, metric, EXPECTED, design=design) for design in DESIGNS]
            rows.append([*_place(metric, [*keys, "condition"]), *(_error(one, is_share=is_share) for one in errors)])
    yield _BOUGHT
    yield markdown_table([*keys, "mean or difference", *DESIGNS], rows)
    yield from _cautions(own)


def _beside(own: Iterable[Metric], metric: Metric, name: str, **other: str) -> Estimate:
    """The number of another name, or design, at the same place."""
    where = {**metric.where, **other}
    return next(one.estimate for one in own if one.name == name and one.where == where)


def _place(metric: Metric, keys: Sequence[str]) -> list[str]:
    return [markdown(metric.where.get(key, "")) for key in keys]


def _left_out(passes: Sequence[Metric]) -> Iterator[str]:
    short = max(int(metric.estimate.also.get("short") or 0) for metric in passes)
    if short:
        yield f"Items with fewer than k scored answers are left out of a row: {answer.counted(short, 'item')} at most."


def _cautions(own: Sequence[Metric]) -> Iterator[str]:
    cautions = {caution.id: caution.text for metric in own for caution in metric.estimate.cautions}
    if cautions:
        yield "\n".join(f"- {name}: {markdown(cautions[name])}" for name in sorted(cautions))


def _share(one: Estimate) -> str:
    return f"NA ({markdown(one.note)})" if one.value is None else answer.share(one)


def _variance(one: Estimate) -> str:
    if one.value is None:
        return f"NA ({markdown(one.note)})"
    return f"{one.value:.3g}" + ("" if one.lo is None or one.hi is None else f" [{one.lo:.3g}, {one.hi:.3g}]")


def _error(one: Estimate, *, is_share: bool) -> str:
    """A standard error: of a share in points."""
    if one.value is None:
        return f"NA ({markdown(one.note)})"
    return f"{100 * one.value:.1f} points" if is_share else f"{one.value:.3g}"


def _sentence(own: Sequence[Metric], keys: Sequence[str], stem: str) -> str:
    """pass@k and pass^k of the first model and condition at all repeats, and what more would buy of its mean."""
    passes = [metric for metric in own if metric.name == PASS_AT]
    if not passes:
        return ""
    first = {key: value for key, value in passes[0].where.items() if key != "k"}
    at = [metric for metric in passes if first.items() <= metric.where.items()][-1]
    k, hat = at.where["k"], _beside(own, at, PASS_HAT)
    place = [answer.name(f"{key} {first[key]}" if key in PARAMETERS else first[key]) for key in keys if key in first]
    one, every = f"{answer.share(at.estimate)} of the items (pass@{k})", f"{answer.share(hat)} (pass^{k})"
    shown = f"{answer.name(stem)} in at least one of {k} answers for {one}, in all {k} for {every}"
    shown = f"{', '.join(place)}: {shown}" if place else shown
    at_first = [one for one in own if one.name == EXPECTED and first.items() <= one.where.items()]
    errors = {one.where["design"]: one.estimate for one in at_first}
    if any(one.value is None for one in errors.values()):
        return f"{shown}."
    now, items, repeats = (_error(errors[design], is_share=True) for design in (NOW, MORE_ITEMS, MORE_REPEATS))
    more = f"with twice the repeats {repeats}"
    if next(one.estimate for one in own if one.name == DIFFER and first.items() <= one.where.items()).value == 0.0:
        more = "and more repeats buy nothing: all answers to an item score the same"
    return f"{shown}; standard error of the rate {now}, with twice the items {items}, {more}."


def _table(numbers: Numbers) -> TableOf:
    """Every number about repeats, of every score, at full precision."""
    own = [metric.where for metric in numbers.metrics if metric.name in _KINDS]
    keys = ("run", "model", *(settings_in(own) or ["temperature"]), "condition", "k", "design")
    rows = []
    for metric in numbers.metrics:
        if metric.name in _KINDS:
            one, where = metric.estimate, [metric.where.get(key, "") for key in keys]
            rows.append(
                (metric.scorer, metric.name, *where, one.value, one.lo, one.hi, one.n, one.also.get("share"), one.note)
            )
    head = ("score", "number", *keys, "value", "lo", "hi", "n", "share", "note")
    return TableOf(TABLE, head, tuple(rows))

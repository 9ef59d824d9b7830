"""report.md of a verbs run: a report on each of its models, and how the later ones compare with the first."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from perpend.canon import portable_name
from perpend.errors import StoreError
from perpend.inert import markdown
from perpend.measure.study import FigureOf, Metric, Numbers, Report, Section, TableOf
from perpend.report import answer as plainly
from perpend.report.derive import covered, unanswered
from perpend.studies.verbs.compare_page import compare_lead, compare_parts
from perpend.studies.verbs.figures import figures_of
from perpend.studies.verbs.report import (
    ReportPart,
    answer,
    facts,
    page_of,
    parts_of,
    provenance_of,
    sentence,
    tables_of,
    verdict_of,
)
from perpend.types import Estimate


def run_report(numbers: Numbers, *, figures: bool) -> Report:
    """The report of a run, or of several that belong together."""
    checkpoints = [
        (metric.scorer, {key: value for key, value in metric.where.items() if key != "category"})
        for metric in numbers.find("bins", category="core")
        if metric.scorer.startswith("choice@")
    ]
    names = _names([where for _, where in checkpoints])
    headline, sections = [covered(numbers)], []
    sentences: list[str] = []
    cited: list[Estimate] = []
    tables: list[TableOf] = []
    drawn: list[FigureOf] = []
    for name, (scorer, where) in zip(names, checkpoints, strict=True):
        own, folder = numbers.part(scorer, **where), "" if len(names) == 1 else f"{portable_name(name)}/"
        pictures = figures_of(own, name, folder)
        links = {one.name.removeprefix(folder): f"figures/{one.name}.png" for one in pictures} if figures else None
        parts = [ReportPart("Checkpoint", _facts(numbers, where["model"])), *parts_of(own, links)]
        headline.append(f"{markdown(name)}: {answer(own)}")
        sentences.append(sentence(own, name))
        cited += [own.cite(kind, category="core") for kind in ("accuracy", "ece")]
        sections += _sections(parts) if len(names) == 1 else [Section(markdown(name), page_of(parts, deeper=1))]
        tables += tables_of(own, folder)
        drawn += pictures
    comparisons = [metric for metric in numbers.find("comparison") if metric.scorer in dict(checkpoints)]
    for name, metric in zip(_names([_pair(metric) for metric in comparisons]), comparisons, strict=True):
        own, pair = numbers.part(metric.scorer, **metric.where), (metric.where["first"], metric.where["second"])
        headline.append(f"{markdown(name)}: {markdown(verdict_of(own, 'comparison'))}")
        sentences.append(f"{plainly.name(name)}: {verdict_of(own, 'comparison')}")
        text = page_of(compare_parts(own, pair), deeper=1)
        sections.append(Section(markdown(name), f"{compare_lead(own)}\n\n{text}"))
    title = ", ".join(map(markdown, numbers.runs))
    return Report(
        title,
        "\n\n".join(headline),
        tuple(sections),
        tuple(tables),
        tuple(drawn),
        answer=plainly.most_of(sentences, "line"),
        cautions=(*unanswered(numbers), *plainly.caution_sentences(cited)),
    )


def _names(places: Sequence[Mapping[str, str]]) -> list[str]:
    """The model of each checkpoint, with the rest of its place where a model has several."""
    if len({place["model"] for place in places}) == len(places):
        return [place["model"] for place in places]
    return [", ".join([own.pop("model"), *(f"{k} {v}" for k, v in own.items())]) for own in map(dict, places)]


def _pair(comparison: Metric) -> dict[str, str]:
    """The place of a comparison, its two models as one."""
    rest = dict(comparison.where)
    return {"model": f"{rest.pop('first')} → {rest.pop('second')}", **rest}


def _facts(numbers: Numbers, label: str) -> str:
    manifest = next((m for m in numbers.manifests if label in [model.label for model in m.models]), None)
    if manifest is None:
        raise StoreError(f"no manifest names the model {label!r}, which the ledger has: one of them was changed")
    return facts(provenance_of(manifest, label, raw=False))


def _sections(parts: Sequence[ReportPart]) -> list[Section]:
    """The parts as sections of a page; what is below a part of level 2 goes with it."""
    starts = [place for place, part in enumerate(parts) if part.level == 2]
    groups = [parts[a:b] for a, b in zip(starts, [*starts[1:], len(parts)], strict=True)]
    return [Section(own[0].title, "\n\n".join([own[0].text, *filter(None, [page_of(own[1:])])])) for own in groups]

"""What a report says of verdicts by an author's own rules: that they are, and what perpend's rules say beside them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import chain

from perpend.inert import markdown
from perpend.ledger.manifest import RULES
from perpend.measure.samplings import PARAMETERS, setting_words
from perpend.measure.study import Metric, Numbers, Report, Section
from perpend.report import answer
from perpend.report.tables import markdown_table
from perpend.types import OWN_RULES

TITLE = "The author's own rules"
_MOST = 2
_SAYS = """\
These scores follow a rule file that the author of this run chose, with words and weights of their own. perpend's rules
on the same answers stand beside them. Labels that a rule file was fitted to say nothing of how good it is."""


def with_own_rules(report: Report, numbers: Numbers) -> Report:
    """The report with what its own rules say among the first lines, and in a section; as it is where it has none."""
    spoken = own_rules_lines(numbers)
    if not spoken:
        return report
    pairs = [*_pairs(numbers)]
    keys = _varying(pairs)
    rows = [
        [markdown(own.scorer), markdown(_place(own, keys)), _shown(own), markdown(ours.scorer), _shown(ours)]
        for own, ours in pairs
    ]
    files = sorted({f"code/{one.file}" for run in numbers.manifests for one in run.sources if one.kind == RULES})
    head = ["the author's rules", "where", "rate or mean", "perpend's rules", "rate or mean"]
    text = "\n\n".join([f"{_SAYS} Rule files: {markdown(', '.join(files))}.", markdown_table(head, rows)])
    return replace(
        report,
        answer=(*report.answer[: max(answer.MOST - len(spoken), 0)], *spoken)[: answer.MOST],
        sections=(*report.sections, Section(TITLE, text)),
    )


def own_rules_lines(numbers: Numbers) -> list[str]:
    """A sentence for each scorer by an author's own rules, with its first numbers and those of perpend's rules."""
    cells: dict[str, list[str]] = {}
    pairs = [*_pairs(numbers)]
    keys = _varying(pairs)
    for own, ours in pairs:
        text = f"{answer.name(_place(own, keys))} {_shown(own)}, by {ours.scorer} {_shown(ours)}"
        cells.setdefault(own.scorer, []).append(text)
    for run in numbers.manifests:
        for name in run.scorers:
            if OWN_RULES.fullmatch(name):
                cells.setdefault(name, [])
    lines = []
    for scorer, known in cells.items():
        more = f"; {len(known) - _MOST} more in the report" if len(known) > _MOST else ""
        shown = f": {'; '.join(known[:_MOST])}{more}" if known else ""
        lines.append(f"{answer.name(scorer)} is by the author's own rules, not perpend's{shown}.")
    rest = list(cells)[_MOST:]
    return [*lines[:_MOST], *([f"So are {', '.join(map(answer.name, rest))}."] if rest else [])]


def _pairs(numbers: Numbers) -> Iterator[tuple[Metric, Metric]]:
    """The rates and means by an author's own rules, each with that of perpend's latest rules at the same place."""
    own: list[Metric] = []
    ours: dict[tuple[str, ...], Metric | None] = {}
    for metric in numbers.metrics:
        if metric.name in ("rate", "mean"):
            if OWN_RULES.fullmatch(metric.scorer):
                own.append(metric)
            ours[_key(metric)] = metric if not OWN_RULES.fullmatch(metric.scorer) else ours.get(_key(metric))
    for metric in own:
        beside = ours[_key(metric)]
        if beside is not None:
            yield metric, beside


def _key(metric: Metric) -> tuple[str, ...]:
    return metric.scorer.partition("@")[0], metric.name, *chain.from_iterable(metric.where.items())


def _place(metric: Metric, settings: Sequence[str]) -> str:
    where = metric.where
    return ", ".join([where["model"], *setting_words(where, settings), where["condition"]])


def _varying(pairs: Sequence[tuple[Metric, Metric]]) -> list[str]:
    """The settings that tell two of the numbers apart."""
    return [key for key in PARAMETERS if len({own.where.get(key) for own, _ in pairs}) > 1]


def _shown(metric: Metric) -> str:
    return answer.share(metric.estimate) if metric.name == "rate" else f"mean {answer.value(metric.estimate)}"

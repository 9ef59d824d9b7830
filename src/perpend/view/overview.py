"""What the page says of a run before its trials: the answer, the numbers under it, facts, gates and figures.

Numbers are those of metrics.json, cited and not computed; where there is none yet, the page says so.
"""

from __future__ import annotations

import base64
import io
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Literal, TypeAlias

from perpend.canon import JSON, as_list, as_object, read_bytes
from perpend.errors import SpecError, StoreError
from perpend.inert import one_line
from perpend.judging.scorers import ABOUT
from perpend.measure.calibrated import READERS
from perpend.measure.missing import NO_ANSWER
from perpend.measure.run import Run
from perpend.measure.study import METRICS, Metric, Numbers, Report, numbers_of, read_metrics
from perpend.measure.table import IMPORTED
from perpend.report import answer
from perpend.report.derive import FIGURES, stated_answer, study_of, whole_report
from perpend.report.overview import newest
from perpend.types import Estimate
from perpend.view.outcomes import ERROR, NOT_DUE, OUTCOMES, PENDING
from perpend.view.outcomes import NO_ANSWER as WITHOUT

Kind: TypeAlias = Literal["run", "published", "imported"]
_LARGEST = 4 << 20
"""Bytes of a figure that the page takes along."""
_DPI, _MOST = 120, 24
_ONE, _TWO = "_single", "_double"
_LOOKS, _SEQUENTIAL = "looks", ("sequential_rate", "sequential_difference")
"""What metrics.json of a run with a stopping rule states: how far it looked, and the numbers that are valid there."""
_AUDIT = "Audit"
_AS_STORED = "As stored, not audited: what the folder says of its answer, numbers and gates 'perpend audit' recomputes."
_NOT_SCORED = "This run is not scored yet: 'perpend score' states its numbers."


@dataclass(frozen=True)  # not slotted: what is read is kept
class Stated:
    """What is stated of a run: `folder` holds metrics.json, report.md and figures.

    All of it is read, so that a page in a published folder says what the folder says, and needs no code of the study.
    `facts` are those of the receipt of a published folder. With `draw` figures are drawn where the folder has none.
    """

    run: Run
    folder: Path
    kind: Kind = "run"
    facts: Mapping[str, JSON] = field(default_factory=dict)
    draw: bool = False
    notes: tuple[tuple[str, str], ...] = ()
    """(name, text) of further facts, as what an audit came to."""
    is_inside: bool = False
    """Whether the page is one of the files of a published folder: then a later version must find the same words."""

    @property
    def is_unaudited(self) -> bool:
        """Whether what is shown is only read: nobody audited it for this page, nor was it derived for it."""
        return not self.is_inside and self.kind != "imported" and _AUDIT not in dict(self.notes)

    @cached_property
    def numbers(self) -> Numbers | None:
        """The numbers of metrics.json; None where there is no such file."""
        if not (self.folder / METRICS).is_file():
            return None
        return numbers_of(read_metrics(self.folder), [self.run.manifest])

    def answer(self) -> list[str]:
        """The sentences that answer the study's question, as report.md begins with them."""
        return stated_answer(self.folder)

    @property
    def is_stopped(self) -> bool:
        """Whether the run stopped by a rule before all items were asked: its numbers say so."""
        looks = () if self.numbers is None else self.numbers.find(_LOOKS)
        return any(metric.estimate.also.get("stopped") is True for metric in looks)

    @cached_property
    def metrics(self) -> list[Metric]:
        """Rates, means, differences and shares without an answer, by the newest scorers."""
        numbers = self.numbers
        if numbers is None:
            return []
        names = (*_SEQUENTIAL, "rate", "mean", "difference", NO_ANSWER)
        return [metric for scorer in newest(self.run) for name in names for metric in numbers.find(name, scorer)]

    def cautions(self, pending: int) -> list[str]:
        """What a reader must know of the numbers."""
        unaudited = [_AS_STORED] if self.is_unaudited and self.kind == "published" else []
        if self.numbers is None:
            return [*unaudited, _NOT_SCORED]
        shown = [metric for metric in self.metrics if metric.name != NO_ANSWER]
        first = [metric.estimate for metric in shown if metric.scorer == shown[0].scorer]
        growing = [
            f"{answer.counted(pending, 'trial')} not asked yet; the numbers are of when the run was last scored."
        ]
        report = None if self.is_inside else self._report
        warned = (
            answer.caution_sentences(first, shown[0].scorer.partition("@")[0]) if report is None else report.cautions
        )
        return [*unaudited, *(growing if pending else ()), *map(_sentence, warned)]

    def headline(self) -> list[JSON]:
        """The numbers of the page; the readers' agreement comes last."""
        every = () if self.numbers is None else self.numbers.metrics
        readers = [metric for metric in every if metric.scorer.startswith(f"{READERS}:")]
        return [number_json(metric) for metric in (*self.metrics, *readers)]

    def gates(self) -> list[JSON]:
        """The gates of a published folder, as its receipt states them."""
        return [
            {
                "name": str(gate.get("gate")),
                "passed": gate.get("passed") is True,
                "accepted": gate.get("accepted"),
                "text": str(gate.get("found")),
            }
            for gate in map(as_object, as_list(self.facts.get("gates")))
        ]

    @cached_property
    def figures(self) -> list[JSON]:
        """The figures of the folder by name; those of the report, drawn, where it has none and that is wanted."""
        folder = self.folder / FIGURES
        if folder.is_dir():
            paths = [path for path in sorted(folder.rglob("*.png")) if path.is_file()]
            small = {
                path.relative_to(folder).as_posix()[:-4]: path for path in paths if path.stat().st_size <= _LARGEST
            }
            return [
                _figure(name, read_bytes(small[name], StoreError, longest=_LARGEST, within=self.folder))
                for name in _widest(small)[:_MOST]
            ]
        return [*self._drawn()] if self.draw and self.numbers is not None else []

    @cached_property
    def _report(self) -> Report | None:
        """What the study says of the numbers; None where they are not there, or its code is not at hand."""
        if self.numbers is None or "study" in self.run.code.missing:
            return None
        try:
            return whole_report(study_of([self.run]), self.numbers)
        except SpecError:  # an older version stated other numbers
            return None

    def _drawn(self) -> Iterator[JSON]:
        figures = {} if self._report is None else {figure.name: figure for figure in self._report.figures}
        for name in _widest(figures)[:_MOST]:
            png = io.BytesIO()
            figures[name].draw().savefig(png, format="png", dpi=_DPI, metadata={"Software": None})
            yield _figure(name, png.getvalue())


def _widest(drawn: Iterable[str]) -> list[str]:
    """The names of figures; of one that is drawn for one column of a paper and for two, the wide one."""
    every = list(drawn)
    return [name for name in every if not (name.endswith(_ONE) and name.removesuffix(_ONE) + _TWO in every)]


def _sentence(text: str) -> str:
    words = one_line(text).rstrip(".")
    return f"{words[:1].upper()}{words[1:]}."


def _figure(name: str, data: bytes) -> JSON:
    words = name.removesuffix(_TWO).removesuffix(_ONE).replace("_", " ").replace("/", ", ")
    title = words[:1].upper() + words[1:]
    return {"title": title, "caption": "", "type": "image/png", "data": base64.b64encode(data).decode("ascii")}


def number_json(metric: Metric) -> dict[str, JSON]:
    """A metric as the page shows it: the number, its interval, its denominator, and as it is printed."""
    one = metric.estimate
    text = _printed(metric.name, one)
    short, bracket, rest = text.partition(" [") if one.value is not None else (text, "", "")
    return {
        "name": metric.name,
        "scorer": metric.scorer,
        "label": f"{metric.name.replace('_', ' ')}, {metric.scorer}" if metric.scorer else metric.name,
        "where": dict(metric.where),
        "value": one.value,
        "low": one.lo,
        "high": one.hi,
        "n": one.n,
        "text": text,
        "short": short,
        "interval": f"[{rest}" if bracket else "",
        "reason": one.note if one.value is None else "",
    }


def _printed(name: str, one: Estimate) -> str:
    if name in ("difference", "corrected_difference", "sequential_difference"):
        return answer.change(one)
    is_share = name in ("rate", "sequential_rate", NO_ANSWER, "labelled", "agreement")
    return answer.share(one) if is_share else answer.value(one)


def question_of(run: Run) -> str:
    """What was asked, in a sentence."""
    manifest = run.manifest
    models = [one.label for one in manifest.models]
    temperatures = list(dict.fromkeys(f"{one.temperature:g}" for one in manifest.samplings))
    conditions = [one.name for one in manifest.conditions]
    parts = [
        f"{answer.counted(manifest.items.n, 'item')} of {answer.name(manifest.task)}, put to {_listed(models)}",
        f" under {answer.counted(len(conditions), 'condition')} ({_listed(conditions)})" if len(conditions) > 1 else "",
        f", at temperature{'s' * (len(temperatures) > 1)} {_listed(temperatures)}",
        f", {manifest.repeats} times each" if manifest.repeats > 1 else "",
    ]
    return "".join(parts) + "."


def _listed(names: Sequence[str], most: int = 6) -> str:
    shown = [answer.name(name) for name in names[:most]]
    more = [f"{len(names) - most} more"] if len(names) > most else []
    *head, last = [*shown, *more]
    return f"{', '.join(head)} and {last}" if head else last


@dataclass(frozen=True, slots=True)
class TrialCounts:
    """What the trials of a run came to: how many of each outcome, requests, and tokens as the server counted them."""

    outcomes: Mapping[str, int]
    requests: int
    tokens_in: float | None
    tokens_out: float | None


def facts_of(stated: Stated, counts: TrialCounts) -> Iterator[tuple[str, str]]:
    """(name, text) of what the manifest and the ledger say of a run."""
    manifest = stated.run.manifest
    source = manifest.source_of_import
    planned = sum(counts.outcomes.values())
    yield "Task", manifest.task + (f", imported from {source.get('format')}" if source is not None else "")
    yield (
        "Models",
        _listed([one.label if one.label == one.name else f"{one.label} ({one.name})" for one in manifest.models]),
    )
    yield (
        "Items",
        f"{manifest.items.n}, from {_listed([Path(one.path).name for one in manifest.datasets])}"
        if manifest.datasets
        else str(manifest.items.n),
    )
    words = [f"{counts.outcomes[word]} {word}" for word in OUTCOMES if counts.outcomes.get(word)]
    yield "Trials", f"{planned}: {', '.join(words)}" if planned else "none"
    due = planned - counts.outcomes.get(NOT_DUE, 0)
    without = sum(counts.outcomes.get(word, 0) for word in (WITHOUT, ERROR, PENDING))
    yield "Without an answer", f"{without} of {due}" + (f" ({answer.percent(without / due, 1)})" if due else "")
    yield "Requests", str(counts.requests)
    tokens = [
        f"{value:,.0f} {way}"
        for value, way in ((counts.tokens_in, "in"), (counts.tokens_out, "out"))
        if value is not None
    ]
    yield "Tokens", ", ".join(tokens) if tokens else "the server did not count them"
    yield "Begun", manifest.created or "not stated"
    yield "Items, SHA-256", manifest.items.sha256
    yield from stated.notes
    if stated.is_unaudited:
        yield _AUDIT, "no; answer, numbers and figures are as stored"
    root = stated.facts.get("root_sha256")
    if isinstance(root, str):
        yield "Published folder, root SHA-256", root


def scorers_of(stated: Stated, wanted: Sequence[str]) -> list[JSON]:
    """(name, version, what it says) of some scorers; the words only where they are not published with a run."""
    scorers: list[JSON] = []
    for full in wanted:
        name, _, version = full.rpartition("@")
        what = "as the source states it" if version == IMPORTED else "" if stated.is_inside else _says(stated.run, full)
        scorers.append({"name": name, "version": version, "what": what})
    return scorers


def _says(run: Run, full: str) -> str:
    if full not in run.manifest.scorers or f"scorer {full}" in run.code.missing:
        return ""
    stem = full.rpartition("@")[0]
    text = ABOUT.get(stem) or run.code.scorer(full).judge.__doc__
    return " ".join((text or "").split())

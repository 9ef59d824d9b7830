"""The numbers of the demo's page, each looked up in the metrics.json of a published run. None is computed here.

A number's key is RUN/METRIC/SCORER/SLICE, and with a companion of it (its p) at the end RUN/METRIC/SCORER/SLICE/NAME.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeAlias

from perpend.canon import JSON, as_list, as_object
from perpend.demo.studies import Studies
from perpend.ledger.items import read_items
from perpend.ledger.manifest import Manifest, read_manifest
from perpend.measure.study import Metric, Numbers, numbers_of, read_metrics
from perpend.proof.audit import Audit
from perpend.proof.receipt import Receipt
from perpend.proof.receipt import read as read_receipt
from perpend.report.page import Number, Style
from perpend.types import Number as Value

Named: TypeAlias = Iterator[tuple[str, Number]]
MEASURES = ("correct", "endorsed")
LOGIC = ("balanced_accuracy", "tpr", "tnr", "mcc", "accuracy_valid", "coverage")
RULE = "label@3"
"""How the page reads a reply to the logic questions."""
CHOICE = "choice@1"


@dataclass(frozen=True, slots=True)
class PublishedRun:
    """One published run: what it set out to do, its receipt, its numbers, and what the audit says of it."""

    name: str
    manifest: Manifest
    receipt: Receipt
    numbers: Numbers
    audit: Audit

    @property
    def checked(self) -> int:
        """How many comparisons the audit made."""
        return sum(check.checked for check in self.audit.checks)

    @property
    def differ(self) -> int:
        """How many of them differ."""
        return sum(check.differ for check in self.audit.checks)

    @property
    def accepted(self) -> list[Mapping[str, JSON]]:
        """The gates that failed and were accepted."""
        gates = map(as_object, as_list(self.receipt.body.get("gates")))
        return [gate for gate in gates if gate.get("accepted") is not None]


@dataclass(frozen=True, slots=True)
class DemoNumbers:
    """What the page may print: numbers by the short names that its words use, and facts of the published runs."""

    model: str
    runs: Mapping[str, PublishedRun]
    """By study: 'verbs', 'conformity', 'logic'."""
    named: Mapping[str, Number]
    items: Mapping[str, int]
    """How many items the conformity study has, by kind."""

    def __call__(self, name: str, style: Style = "plain") -> Number:
        """One number as the page shows it. An unknown name is a bug and a KeyError."""
        return replace(self.named[name], style=style)

    @property
    def conditions(self) -> list[str]:
        """The conditions of the conformity study: the control, its retest, then the pressures, by name."""
        names = [condition.name for condition in self.runs["conformity"].manifest.conditions]
        return sorted(names, key=lambda name: (not name.startswith("control"), name))

    @property
    def replies(self) -> Mapping[str, Value]:
        """How many replies of each kind the logic run has, and the cells of its confusion matrix."""
        return self.runs["logic"].numbers.cite("outcomes", RULE, part="all").also

    def verdict(self, name: str, **where: str) -> str:
        """A verdict in words of the verbs run: 'calibration' of a model, or the 'comparison' of both."""
        return str(self.runs["verbs"].numbers.cite(name, CHOICE, **where).also["verdict"])


def key_of(run: str, metric: Metric, companion: str = "") -> str:
    """Where a number is: the run, the metric, its scorer, its slice, and which companion of it."""
    place = ",".join(f"{key}={value}" for key, value in sorted(metric.where.items()))
    return "/".join([run, metric.name, metric.scorer, place, *([companion] if companion else [])])


def published_numbers(out: Path, specs: Studies, audits: Sequence[Audit]) -> DemoNumbers:
    """The numbers of the published runs in `out`."""
    by_run = {audit.name: audit for audit in audits}
    runs = {spec.task: _published(out / "published" / spec.run_name(), by_run[spec.run_name()]) for spec in specs.all()}
    baseline, model = (spec.label for spec in specs.verbs.models)
    named = {
        **dict(_conformity(runs["conformity"])),
        **dict(_logic(runs["logic"])),
        **dict(_checkpoint(runs["verbs"], model, "model")),
        **dict(_checkpoint(runs["verbs"], baseline, "baseline")),
        **dict(_comparison(runs["verbs"], baseline, model)),
    }
    items = {path.stem: sum(1 for _ in read_items(path)) for path in specs.conformity.items}
    return DemoNumbers(specs.conformity.models[0].name, runs, named, items)


def _published(folder: Path, audit: Audit) -> PublishedRun:
    manifest = read_manifest(folder)
    numbers = numbers_of(read_metrics(folder), [manifest], folder.name)
    return PublishedRun(folder.name, manifest, read_receipt(folder), numbers, audit)


def _number(run: PublishedRun, metric: Metric, companion: str = "") -> Number:
    one = metric.estimate
    if not companion:
        return Number(key_of(run.name, metric), one.value, one.n, one.lo, one.hi)
    value = one.also.get(companion)
    return Number(key_of(run.name, metric, companion), value if isinstance(value, float | int) else None, one.n)


def _conformity(run: PublishedRun) -> Named:
    """conformity/MEASURE/METRIC/TEMPERATURE/CONDITION, a pair by its second condition; conformity/EFFECT/CONDITION."""
    for measure in MEASURES:
        scorer = max(name for name in run.manifest.scorers if name.startswith(f"{measure}@"))
        for name in ("rate", "difference", "rescue"):
            for metric in run.numbers.find(name, scorer):
                condition = metric.where["condition"].rpartition(" ")[2]
                short = f"conformity/{measure}/{name}/{metric.where['temperature']}/{condition}"
                yield short, _number(run, metric)
                yield f"{short}/p", _number(run, metric, "p")
    for name, scorer in (("pressure_effect", "correct@3"), ("opinion_effect", "endorsed@3")):
        for metric in run.numbers.find(name, scorer):
            yield f"conformity/{name}/{metric.where['condition']}", _number(run, metric)
            yield f"conformity/{name}/{metric.where['condition']}/p", _number(run, metric, "p_adjusted")


def _logic(run: PublishedRun) -> Named:
    """logic/NAME, by the benchmark's protocol."""
    for name in LOGIC:
        (metric,) = run.numbers.find(name, RULE, part="all")
        yield f"logic/{name}", _number(run, metric)


def _checkpoint(run: PublishedRun, label: str, role: str) -> Named:
    """verbs/ROLE/NAME of one model."""
    for name in ("accuracy", "ece", "brier"):
        (metric,) = run.numbers.find(name, CHOICE, model=label, category="core")
        yield f"verbs/{role}/{name}", _number(run, metric)
        if name == "ece":
            yield f"verbs/{role}/ece_if_calibrated", _number(run, metric, "expected_if_calibrated")
    (tricks,) = run.numbers.find("accuracy", CHOICE, model=label, category="adversarial")
    yield f"verbs/{role}/adversarial", _number(run, tricks)


def _comparison(run: PublishedRun, baseline: str, model: str) -> Named:
    """verbs/difference/MEASURE, the model minus the n-gram model on the probes that both scored, and …/p."""
    for metric in run.numbers.find("contrast", CHOICE, first=baseline, second=model):
        short = f"verbs/difference/{metric.where['measure']}"
        yield short, _number(run, metric)
        yield f"{short}/p", _number(run, metric, "p_adjusted")

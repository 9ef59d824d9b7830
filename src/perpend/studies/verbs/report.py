"""What is reported of one checkpoint: Markdown, tables and results.json, all looked up in its Numbers.

Probes and choices are other people's text: each is made inert where it is shown.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import TypeAlias

from perpend.canon import JSON, pretty
from perpend.inert import markdown
from perpend.ledger.manifest import Manifest
from perpend.measure.study import Metric, Numbers, TableOf
from perpend.report import answer as plainly
from perpend.report.tables import interval, markdown_table, number, p_value
from perpend.stats.adversarial import LOW_SAMPLE
from perpend.stats.families import is_shown
from perpend.types import Estimate

_FAILURES = 200
_CONFUSIONS = 40
# Up to this many forms the whole matrix fits on a page; above, the cells that are not zero are listed.
_MATRIX = 10
_WEIGHTS = ("checkpoint_sha256", "weights_sha256", "file_sha256", "digest", "params_sha256")
Provenance: TypeAlias = Mapping[str, JSON]
"""Where predictions come from, by the names of FACTS; what is absent was not given, and the report says so."""
FACTS = {
    "checkpoint_sha256": "Checkpoint hash",
    "training_step": "Training step",
    "parent_manifest": "Parent manifest",
    "probes_sha256": "Probe-set hash",
    "date": "Date",
    "seed": "Seed",
    "scoring": "Scoring",
}


def facts(provenance: Provenance) -> str:
    """Where predictions come from, as a list in Markdown; what was not given is named in one line."""
    given = [(name, provenance.get(key)) for key, name in FACTS.items()]
    absent = [name[0].lower() + name[1:] for name, fact in given if fact is None]
    lines = [f"- {name}: {markdown(str(fact))}" for name, fact in given if fact is not None]
    return "\n".join([*lines, *([f"- Not given: {', '.join(absent)}"] if absent else [])])


def provenance_of(manifest: Manifest, label: str, *, raw: bool) -> Provenance:
    """What a run's manifest says of one model's weights, the probes and the moment."""
    known = next((model.fingerprint for model in manifest.models if model.label == label), {})
    step, unit = known.get("step"), "summed" if raw else "per token"
    return {
        "checkpoint_sha256": next((known[key] for key in _WEIGHTS if key in known), None),
        "training_step": int(step) if isinstance(step, str) and step.isdigit() else None,
        "parent_manifest": hashlib.sha256(pretty(manifest.as_json()).encode()).hexdigest(),
        "probes_sha256": manifest.items.sha256,
        "date": manifest.created,
        "seed": manifest.samplings[0].seed,
        "scoring": f"log-likelihood of the candidate, {unit}, given the text before the blank",
    }


@dataclass(frozen=True, slots=True)
class Slice:
    """Accuracy of one slice of the core probes, and its difference from the other probes that carry the same tag."""

    key: str
    value: str
    accuracy: Estimate
    difference: Estimate | None

    @property
    def low_sample(self) -> bool:
        """Fewer than 3 probes: shown, and nothing follows from it alone."""
        return self.accuracy.n < LOW_SAMPLE

    @property
    def differs(self) -> bool:
        """The slice differs from the rest after correction for the number of slices."""
        return self.difference is not None and is_shown(self.difference)


def slices_of(numbers: Numbers) -> list[Slice]:
    """The slices of one checkpoint, in the order of its metrics."""
    rest = {(one.where["slice"], one.where["value"]): one.estimate for one in numbers.find("slice_difference")}
    keys = ((one.where["slice"], one.where["value"], one.estimate) for one in numbers.find("slice_accuracy"))
    return [Slice(key, value, accuracy, rest.get((key, value))) for key, value, accuracy in keys]


def tables_of(numbers: Numbers, folder: str = "") -> tuple[TableOf, TableOf]:
    """per_slice, one row per slice, and adversarial_by_category, one row per trick that some scored probe plays."""
    rows = []
    for one in slices_of(numbers):
        a, d = one.accuracy, one.difference or Estimate(None, 0)
        rest = (d.value, d.lo, d.hi, d.also.get("p"), d.also.get("p_adjusted"))
        rows.append((one.key, one.value, a.n, a.also["k"], a.value, a.lo, a.hi, int(one.low_sample), *rest))
    tricks = tuple(
        (one.where["reason_code"], e.n, e.also["k"], e.value, e.lo, e.hi, int(e.n < LOW_SAMPLE))
        for one in numbers.find("trick_accuracy")
        for e in [one.estimate]
    )
    head = ("n", "correct", "accuracy", "wilson_lo", "wilson_hi", "low_sample")
    tests = ("difference", "difference_lo", "difference_hi", "p", "p_adjusted")
    return (
        TableOf(f"{folder}per_slice", ("slice", "value", *head, *tests), tuple(rows)),
        TableOf(f"{folder}adversarial_by_category", ("category", *head), tricks),
    )


@dataclass(frozen=True, slots=True)
class ReportPart:
    """A heading of some level and the Markdown below it."""

    title: str
    text: str
    level: int = 2


def page_of(parts: Sequence[ReportPart], deeper: int = 0) -> str:
    """The parts below each other, their headings `deeper` by so many levels."""
    return "\n\n".join(f"{'#' * (part.level + deeper)} {part.title}\n\n{part.text}" for part in parts)


def parts_of(numbers: Numbers, pictures: Mapping[str, str] | None) -> list[ReportPart]:
    """The report on one checkpoint. `pictures` are the paths of its figures by name; None where none are drawn."""
    parts = [
        ReportPart("Headline", _headline(numbers)),
        ReportPart("Calibration in detail", _calibration(numbers), level=3),
    ]
    if numbers.find("slice_accuracy"):
        parts.append(
            ReportPart("Slices", _joined(_slices(numbers), _picture("Accuracy by slice", "per_slice", pictures)))
        )
    if pictures is not None and "reliability" in pictures:
        parts.append(ReportPart("Reliability", _picture("Reliability diagram", "reliability", pictures)))
    if _has_tricks(numbers):
        parts.append(ReportPart("Adversarial probes", _adversarial(numbers, pictures)))
    if numbers.get("diagonal") is not None:
        parts.append(ReportPart("Confusion matrix", _confusion(numbers)))
    if numbers.find("failure") or numbers.find("unscored"):
        parts.append(ReportPart("Failures", _failures(numbers)))
    return [*parts, ReportPart("Limits", _limits(numbers))]


def _has_tricks(numbers: Numbers) -> bool:
    """Whether there is an adversarial probe, scored or not."""
    out = numbers.find("left_out")
    return bool(numbers.cite("accuracy", category="adversarial").n) or any(
        one.where["reason"].startswith("adversarial") for one in out
    )


def _noun(numbers: Numbers) -> str:
    """What the rows of the headline are called: beside adversarial probes there are core ones."""
    return "core probes" if _has_tricks(numbers) else "predictions"


def _joined(*paragraphs: str) -> str:
    return "\n\n".join(text for text in paragraphs if text)


def _picture(title: str, name: str, pictures: Mapping[str, str] | None) -> str:
    if pictures is None:
        return ""
    return f"![{title}]({pictures[name]})" if name in pictures else "No picture: there is nothing to draw."


def answer(numbers: Numbers) -> str:
    """The answer in a sentence: accuracy on the core probes and on the tricks, and what calibration allows to say."""
    core, tricks = (numbers.cite("accuracy", category=category) for category in ("core", "adversarial"))
    beside = f", {number(tricks.value)} {interval(tricks)} on {tricks.n} adversarial ones" if tricks.n else ""
    return (
        f"accuracy {number(core.value)} {interval(core)} on {core.n} {_noun(numbers)}{beside}; "
        f"ECE {number(numbers.cite('ece', category='core').value)}: "
        f"{verdict_of(numbers, 'calibration', category='core')}."
    )


def sentence(numbers: Numbers, name: str) -> str:
    """The answer as plain text: accuracy on the core probes and on the tricks, calibration in words."""
    core, tricks = (numbers.cite("accuracy", category=category) for category in ("core", "adversarial"))
    ece = numbers.cite("ece", category="core")
    text = f"{plainly.name(name)}: accuracy {plainly.share(core)} on {plainly.counted(core.n, 'core probe')}"
    if tricks.n:
        text += f", {plainly.share(tricks)} on {plainly.counted(tricks.n, 'adversarial one')}"
    return f"{text}; ECE {plainly.value(ece, 3)}: {verdict_of(numbers, 'calibration', category='core')}."


def verdict_of(numbers: Numbers, name: str, **where: str) -> str:
    """The verdict in words of a metric that has one: 'calibration' of a category, or 'comparison'."""
    return str(numbers.cite(name, **where).also["verdict"])


def _headline(numbers: Numbers) -> str:
    core, adversarial = ({"category": category} for category in ("core", "adversarial"))
    ece, gap = numbers.cite("ece", **core), numbers.cite("confidence_minus_accuracy", **core)
    rows = [
        (f"Perplexity, {markdown(one.where['language'])}", number(e.value, 2), interval(e, 2), str(e.n), "sentences")
        for one in numbers.find("perplexity")
        for e in [one.estimate]
    ]
    rows += [
        _row("Accuracy", numbers.cite("accuracy", **core), _noun(numbers)),
        _row("ECE", ece, f"a perfect model shows {_perfect(ece)} on average at this n"),
        _row("Brier score", numbers.cite("brier", **core), "0 is perfect"),
    ]
    tricks, own = numbers.cite("accuracy", **adversarial), numbers.cite("ece", **adversarial)
    if tricks.n:
        rows.append(_row("Adversarial accuracy", tricks, "tricks"))
        rows.append(_row("Adversarial ECE", own, f"a perfect model shows {_perfect(own)}; never mixed into ECE"))
    verdict = (
        f"Calibration of the {_noun(numbers)}: **{verdict_of(numbers, 'calibration', **core)}** "
        f"(consistency test of ECE, p = {p_value(ece.also.get('p_calibrated'))}; "
        f"mean confidence minus accuracy {number(gap.value)} {interval(gap)})."
    )
    reasons = [f"{one.estimate.value} {markdown(one.where['reason'])}" for one in numbers.find("left_out")]
    left = f"Left out of every rate, because nothing on them is right or wrong: {', '.join(reasons)}." * bool(reasons)
    pessimist = numbers.get("accuracy_with_unscored_wrong", **core)
    if pessimist is not None:
        unscored = pessimist.also["unscored"]
        noun = _noun(numbers)
        counted = f"{unscored} unscored {noun[:-1] if unscored == 1 else noun}"
        left += f" With the {counted} counted as wrong, accuracy is {number(pessimist.value)}."
    return _joined(markdown_table(("metric", "value", "95% interval", "n", "note"), rows), verdict, left)


def _row(name: str, one: Estimate, note: str) -> tuple[str, str, str, str, str]:
    return name, number(one.value), interval(one), str(one.n), note if one.value is not None else markdown(one.note)


def _perfect(one: Estimate) -> str:
    return number(one.also.get("expected_if_calibrated"))


def _calibration(numbers: Numbers) -> str:
    ece, brier = (numbers.cite(name, category="core") for name in ("ece", "brier"))
    measures: list[tuple[str, Estimate, str]] = [
        (f"ECE, {one.where['candidates']} candidates", one.estimate, _perfect(one.estimate))
        for one in numbers.find("ece_by_candidates", category="core")
    ]
    chance = numbers.cite("ece_above_chance", category="core")
    measures.append(("ECE above chance", chance, _perfect(chance)))
    for name, key in (("sum", "sum"), ("sum divided by classes", "divided_by_classes")):
        brier_multiclass = numbers.cite(f"brier_multiclass_{key}", category="core")
        measures.append((f"Multiclass Brier, {name}", brier_multiclass, "–"))
    measures += [("AURC", one.estimate, "–") for one in numbers.find("aurc")]
    measures += [(f"Risk at {one.where['coverage']} coverage", one.estimate, "–") for one in numbers.find("risk")]
    rows = [
        (name, number(one.value), interval(one), str(one.n), perfect)
        for name, one, perfect in measures
        if one.value is not None
    ]
    absent: dict[str, list[str]] = {}
    for name, one, _ in measures:
        if one.value is None:
            absent.setdefault(one.note, []).append(name)
    reasons = [f"{' and '.join(names)}, because {markdown(note)}" for note, names in absent.items()]
    undefined = f"Undefined here: {'; '.join(reasons)}." * bool(reasons)
    corp = ", ".join(f"{name} {number(brier.also.get(key))}" for key, name in (
        ("mcb", "miscalibration"), ("dsc", "discrimination"), ("unc", "uncertainty")))  # fmt: skip
    empty, smallest = ece.also.get("empty_bins"), ece.also.get("min_filled_bin_count")
    counts = (
        f"{empty} of them empty, the smallest other one with {smallest}" if empty else f"the smallest with {smallest}"
    )
    n_bins = numbers.cite("bins", category="core").value
    binned = f"{n_bins} bins of equal width, {counts}. Brier score: {corp}." * bool(ece.n)
    cautions = "\n".join(f"- {one.id}: {markdown(one.text)}." for one in ece.cautions)
    table = markdown_table(("metric", "value", "95% interval", "n", "if perfect"), rows) if rows else ""
    return _joined(table, undefined, binned, cautions)


def _slices(numbers: Numbers) -> str:
    paragraphs = [
        f"p tests a slice against the other {_noun(numbers)} with that tag (Fisher), adjusted over slices (BH)."
    ]
    for key, own in groupby(slices_of(numbers), key=lambda one: one.key):
        rows = [
            (
                markdown(one.value) + (" (low sample)" if one.low_sample else ""),
                f"{one.accuracy.also['k']}/{one.accuracy.n}",
                number(one.accuracy.value),
                interval(one.accuracy),
                p_value(None if one.difference is None else one.difference.also.get("p_adjusted")),
            )
            for one in own
        ]
        paragraphs.append(markdown_table((markdown(key), "right", "accuracy", "95% interval", "adjusted p"), rows))
    return _joined(*paragraphs)


def _adversarial(numbers: Numbers, pictures: Mapping[str, str] | None) -> str:
    overall = numbers.cite("accuracy", category="adversarial")
    if not overall.n:
        return "No adversarial probe was scored."
    named = [(markdown(one.where["reason_code"]), one.estimate) for one in numbers.find("trick_accuracy")]
    rows = [
        (name + (" (low sample)" if one.n < LOW_SAMPLE else ""), str(one.n), str(one.also["k"]), number(one.value),
         interval(one)) for name, one in (*named, ("all", overall))
    ]  # fmt: skip
    table = markdown_table(("trick", "n", "right", "accuracy", "95% Wilson interval"), rows)
    return _joined(table, _picture("Adversarial accuracy", "adversarial_by_category", pictures))


def _confusion(numbers: Numbers) -> str:
    counts = {(one.where["expected"], one.where["chosen"]): one.estimate.value for one in numbers.find("confusion")}
    diagonal = numbers.get("diagonal")
    if diagonal is None:
        return ""
    forms = sorted({form for pair in counts for form in pair})
    text = f"{diagonal.also['k']} of {diagonal.n} on the diagonal."
    if len(forms) <= _MATRIX:
        rows = [(markdown(a), *(str(counts.get((a, b), 0)) for b in forms)) for a in forms]
        return _joined(text, markdown_table(("expected \\ chosen", *map(markdown, forms)), rows))
    wrong = sorted(((n or 0, a, b) for (a, b), n in counts.items() if a != b), key=lambda one: (-one[0], one[1:]))
    more = f" The {_CONFUSIONS} most frequent of {len(wrong)} follow." if len(wrong) > _CONFUSIONS else ""
    text += f" {diagonal.also['forms']} forms: the cells off the diagonal that are not zero.{more}"
    rows = [(markdown(a), markdown(b), str(n)) for n, a, b in wrong[:_CONFUSIONS]]
    return _joined(text, markdown_table(("expected", "chosen", "times"), rows))


def _failures(numbers: Numbers) -> str:
    wrong, unscored = numbers.find("failure"), numbers.find("unscored")
    text = f"{len(wrong)} wrong choice{'' if len(wrong) == 1 else 's, the most confident first'}." if wrong else ""
    if len(wrong) > _FAILURES:
        text += f" The first {_FAILURES} are shown."
    rows = [
        (*probe(one), form(one, "expected"), form(one, "chosen"), number(one.estimate.value))
        for one in wrong[:_FAILURES]
    ]
    table = filled_table(("id", "probe", "expected", "chosen", "confidence"), rows)
    rest = [(*probe(one), markdown(one.estimate.note)) for one in unscored[:_FAILURES]]
    listed = ("Not scored:", filled_table(("id", "probe", "why"), rest)) if rest else ()
    return _joined(text, table, *listed)


def filled_table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table without the columns of which no row knows anything."""
    kept = [place for place in range(len(head)) if any(row[place] != "–" for row in rows)]
    return markdown_table([head[n] for n in kept], [[row[n] for n in kept] for row in rows]) if rows else ""


def probe(one: Metric) -> tuple[str, str]:
    """The id of a probe and its sentence, with the trick that it plays."""
    trick = one.estimate.also.get("trick")
    text = markdown(str(one.estimate.also.get("prompt") or "–"))
    return markdown(one.where["item"]), text + (f" ({markdown(str(trick))})" if trick is not None else "")


def form(one: Metric, key: str) -> str:
    """A form that a list shows; a dash where it is not known."""
    return markdown(str(one.estimate.also.get(key) or "–"))


def _limits(numbers: Numbers) -> str:
    """What the numbers of this report do not allow; each line is there only where it is about one of them."""
    noun, cells = _noun(numbers), numbers.find("slice_accuracy")
    lines = []
    if numbers.find("ece_by_candidates", category="core"):
        lines.append("Confidence is a share among candidates, not of the vocabulary; set sizes are told apart above.")
    if any(one.where["slice"] == "verb" for one in cells):
        lines.append("Intervals take probes for independent. Those of one verb resemble each other: a little narrow.")
    else:
        lines.append(f"Intervals take {noun} for independent: where some resemble each other, they are too narrow.")
    if numbers.cite("ece", category="core").value is not None:
        lines.append("The interval of ECE is empirical: measured coverage 0.90 to 0.99, no theory.")
    if cells:
        lines.append(f"Slices are exploratory: below 30 {noun}, no ranking follows from them.")
    reasons = [one.where["reason"] for one in numbers.find("left_out")]
    if any(reason.endswith(": ambiguous") for reason in reasons):
        lines.append("What is ambiguous counts neither for nor against.")
    if any(not reason.endswith(": ambiguous") for reason in reasons):
        lines.append(
            "What was not scored is left out, which flatters a model that gives no answer where it knows none."
        )
    if numbers.find("perplexity"):
        lines.append(
            "Perplexity was measured beside the run: held\\_out.jsonl and results.json state it, the run's ledger does "
            "not, and `perpend audit` does not recompute it."
        )
    return "\n".join(f"- {line}" for line in lines)

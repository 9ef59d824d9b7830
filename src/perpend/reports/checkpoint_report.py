"""The artefacts of one checkpoint: results.json, two tables, three figures, REPORT.md, and the predictions themselves.

Probes and choices are other people's text: each is made inert where it is shown.
"""

from __future__ import annotations

import csv
import io
import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby
from pathlib import Path

from perpend.canon import dumps, portable_name, pretty, write_atomic
from perpend.errors import DataError
from perpend.inert import csv_cell, markdown
from perpend.reports.checkpoint import Provenance, Results, evaluate, scored
from perpend.reports.checkpoint_figures import draw
from perpend.reports.checkpoint_perplexity import load_sentences
from perpend.reports.checkpoint_slices import Cell
from perpend.reports.predictions import Prediction, load_predictions
from perpend.types import Estimate

_OPTIONAL = (
    "held_out.jsonl", "reliability.png", "reliability.pdf", "adversarial_by_category.png",
    "adversarial_by_category.pdf", "per_slice.png", "per_slice.pdf",
)  # fmt: skip
_FAILURES = 200
_CONFUSIONS = 40
# Up to this many forms the whole matrix fits on a page; above, the cells that are not zero are listed.
_MATRIX = 10


def write_checkpoint(results: Results, out: Path) -> Path:
    """Write every artefact into `out` / the checkpoint's name and return that folder.

    What was there under the same names is replaced: the same predictions give the same files.
    """
    folder = out / portable_name(results.name)
    for name in _OPTIONAL:  # what an earlier report had and this one has not would be read as this one's
        (folder / name).unlink(missing_ok=True)
    lines = "".join(dumps(one.as_json()) + "\n" for one in results.predictions)
    write_atomic(folder / "predictions.jsonl", lines)
    if results.sentences:
        held_out = "".join(dumps(one.as_json()) + "\n" for one in results.sentences)
        write_atomic(folder / "held_out.jsonl", held_out)
    write_atomic(folder / "results.json", pretty(results.as_json()))
    write_atomic(folder / "adversarial_by_category.csv", adversarial_csv(results))
    write_atomic(folder / "per_slice.csv", slices_csv(results.cells))
    figures = draw(results, folder)
    write_atomic(folder / "REPORT.md", report(results, figures))
    return folder


def load_checkpoint(folder: Path) -> Results:
    """The results of a folder that `write_checkpoint` wrote, computed again from its predictions."""
    try:
        body = json.loads((folder / "results.json").read_text(encoding="utf-8"))
        facts = {name: body["provenance"][name] for name in Provenance.__slots__}
        name, n_bins = str(body["checkpoint"]), int(body["n_bins"])
    except FileNotFoundError:
        raise DataError(f"{folder}: holds no results.json; give a folder that a checkpoint report wrote") from None
    except (json.JSONDecodeError, KeyError, TypeError, ValueError) as error:
        raise DataError(f"{folder / 'results.json'}: is not what a checkpoint report writes ({error!r})") from None
    held_out = folder / "held_out.jsonl"
    return evaluate(
        load_predictions(folder / "predictions.jsonl"),
        name=name,
        provenance=Provenance(**facts),
        perplexity=load_sentences(held_out) if held_out.exists() else (),
        n_bins=n_bins,
    )


def _csv(head: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """A table at full precision; texts are inert, undefined is an empty cell."""
    held = io.StringIO()
    writer = csv.writer(held, lineterminator="\n")
    writer.writerow(head)
    writer.writerows([csv_cell(x) if isinstance(x, str) else "" if x is None else x for x in row] for row in rows)
    return held.getvalue()


def adversarial_csv(results: Results) -> str:
    """One line a trick that some scored probe plays."""
    head = ("category", "n", "correct", "accuracy", "wilson_lo", "wilson_hi", "low_sample")
    found = {} if results.adversarial is None else results.adversarial["by_category"]
    return _csv(
        head,
        [(code, a["n"], a["correct"], a["accuracy"], *a["wilson"], int(a["low_sample"])) for code, a in found.items()],
    )


def slices_csv(cells: Sequence[Cell]) -> str:
    """One line a slice: its accuracy, and its difference from the rest with raw and adjusted p."""
    head = ("slice", "value", "n", "correct", "accuracy", "wilson_lo", "wilson_hi", "low_sample",
            "difference", "difference_lo", "difference_hi", "p", "p_adjusted")  # fmt: skip
    rows = []
    for cell in cells:
        a, d = cell.accuracy, cell.difference or Estimate(None, 0)
        rest = (d.value, d.lo, d.hi, d.also.get("p"), d.also.get("p_adjusted"))
        rows.append((cell.key, cell.value, a.n, a.also["k"], a.value, a.lo, a.hi, int(cell.low_sample), *rest))
    return _csv(head, rows)


def report(results: Results, figures: Sequence[str] = ()) -> str:
    """REPORT.md. `figures` are the names of the pictures that lie beside it."""
    parts = (
        _facts(results),
        _headline(results),
        _calibration(results),
        _slices(results.cells, figures),
        ["## Reliability", "", *_picture("Reliability diagram", "reliability.png", figures)],
        _adversarial(results, figures),
        _confusion(results),
        _failures(results.predictions),
        _limits(results),
    )
    return "\n".join(line for part in parts for line in part).rstrip() + "\n"


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    """A Markdown table and the blank line after it; cells are Markdown already."""
    lines = ["| " + " | ".join(row) + " |" for row in rows]
    return ["| " + " | ".join(head) + " |", "|" + "---|" * len(head), *lines, ""]


def number(value: object, places: int = 3) -> str:
    """A number as a table shows it; NA where it is undefined."""
    return f"{value:.{places}f}" if isinstance(value, int | float) else "NA"


def interval(one: Estimate, places: int = 3) -> str:
    """'[lo, hi]', or a dash where there is none."""
    return "–" if one.lo is None or one.hi is None else f"[{one.lo:.{places}f}, {one.hi:.{places}f}]"


def p_value(p: object) -> str:
    """A p to two figures; NA where it is undefined."""
    return ("< 0.0001" if p < 1e-4 else f"{p:.2g}") if isinstance(p, float) else "NA"


def _facts(results: Results) -> list[str]:
    given = results.provenance
    facts: Mapping[str, object] = {
        "Checkpoint hash": given.checkpoint_sha256,
        "Training step": given.training_step,
        "Parent manifest": given.parent_manifest,
        "Probe-set hash": given.probes_sha256,
        "Date": given.date,
        "Seed": given.seed,
        "Scoring": given.scoring,
    }
    lines = [f"# Checkpoint {markdown(results.name)}", ""]
    lines += [f"- {key}: {'not given' if fact is None else markdown(str(fact))}" for key, fact in facts.items()]
    return [*lines, ""]


def _headline(results: Results) -> list[str]:
    c, adversarial = results.calibration, results.adversarial
    rows = [
        (f"Perplexity, {markdown(name)}", number(one.value, 2), interval(one, 2), str(one.n), "sentences")
        for name, one in results.perplexity.items()
    ] or [("Perplexity", "NA", "–", "0", "no held-out text given")]
    expected = c.ece.also.get("expected_if_calibrated")
    rows += [
        _row("Accuracy", results.accuracy, "core probes"),
        _row("ECE", c.ece, f"a perfect model shows {number(expected)} on average at this n"),
        _row("Brier score", c.brier, "0 is perfect"),
    ]
    if adversarial is None:
        rows.append(("Adversarial accuracy", "NA", "–", "0", "no adversarial probe"))
    else:
        a = adversarial["overall"]
        lo, hi = a["wilson"]
        rows.append(("Adversarial accuracy", number(a["accuracy"]), f"[{lo:.3f}, {hi:.3f}]", str(a["n"]), "tricks"))
        own = results.adversarial_calibration.ece
        expected = own.also.get("expected_if_calibrated")
        rows.append(_row("Adversarial ECE", own, f"a perfect model shows {number(expected)}; never mixed into ECE"))
    left_out = ", ".join(f"{n} {markdown(reason)}" for reason, n in results.left_out.items()) or "none"
    verdict = (
        f"Calibration of the core probes: **{c.verdict}** (consistency test of ECE, p = "
        f"{p_value(c.ece.also.get('p_calibrated'))}; mean confidence minus accuracy {number(c.gap.value)} "
        f"{interval(c.gap)})."
    )
    told = f"Left out of every rate, because nothing on them is right or wrong: {left_out}."
    unscored = sum(one.category == "core" and bool(one.unscored) for one in results.predictions)
    if unscored and results.accuracy.value is not None:
        share = results.accuracy.value * results.accuracy.n / (results.accuracy.n + unscored)
        told += f" With the {unscored} unscored core probes counted as wrong, accuracy is {number(share)}."
    return ["## Headline", "", *table(("metric", "value", "95% interval", "n", "note"), rows), verdict, "", told, ""]


def _row(name: str, one: Estimate, note: str) -> tuple[str, str, str, str, str]:
    return name, number(one.value), interval(one), str(one.n), note if one.value is not None else markdown(one.note)


def _calibration(results: Results) -> list[str]:
    c, n_bins = results.calibration, results.n_bins
    also = c.brier.also
    corp = ", ".join(f"{name} {number(also.get(key))}" for key, name in (
        ("mcb", "miscalibration"), ("dsc", "discrimination"), ("unc", "uncertainty")))  # fmt: skip
    rows = [
        (f"ECE, {size} candidates", number(one.value), interval(one), str(one.n),
         number(one.also.get("expected_if_calibrated"))) for size, one in c.by_candidates.items()
    ]  # fmt: skip
    chance = c.above_chance
    perfect = number(chance.also.get("expected_if_calibrated"))
    rows.append(("ECE above chance", number(chance.value), "–", str(chance.n), perfect))
    for name, one in (("sum", c.brier_multiclass_sum), ("sum divided by classes", c.brier_multiclass)):
        rows.append((f"Multiclass Brier, {name}", number(one.value), interval(one), str(one.n), "–"))
    for name, one in results.selective.items():
        told = "AURC" if name == "aurc" else f"Risk at {name.removeprefix('risk_at_')} coverage"
        rows.append((told, number(one.value), interval(one), str(one.n), "–"))
    lines = ["### Calibration in detail", "", *table(("metric", "value", "95% interval", "n", "if perfect"), rows)]
    smallest = c.ece.also.get("min_bin_count")
    lines += [f"{n_bins} bins of equal width, the smallest with {smallest} probes. Brier score: {corp}.", ""]
    lines += [f"- {one.id}: {markdown(one.text)}." for one in c.ece.cautions]
    return [*lines, ""]


def _picture(title: str, name: str, figures: Sequence[str]) -> list[str]:
    return [f"![{title}]({name})" if name in figures else "No picture: there is nothing to draw.", ""]


def _slices(cells: Sequence[Cell], figures: Sequence[str]) -> list[str]:
    if not cells:
        return []
    told = (
        "p tests a slice against the other core probes with that tag (Fisher), adjusted for the number of slices (BH)."
    )
    lines = ["## Slices", "", told, ""]
    for key, rows in groupby(cells, key=lambda cell: cell.key):
        shown = [
            (
                markdown(cell.value) + (" (low sample)" if cell.low_sample else ""),
                f"{cell.accuracy.also['k']}/{cell.accuracy.n}",
                number(cell.accuracy.value),
                interval(cell.accuracy),
                p_value(None if cell.difference is None else cell.difference.also.get("p_adjusted")),
            )
            for cell in rows
        ]
        lines += table((markdown(key), "right", "accuracy", "95% interval", "adjusted p"), shown)
    return [*lines, *_picture("Accuracy by slice", "per_slice.png", figures)]


def _adversarial(results: Results, figures: Sequence[str]) -> list[str]:
    lines = ["## Adversarial probes", ""]
    if results.adversarial is None:
        return [*lines, "No adversarial probe was scored.", ""]
    rows = [
        (markdown(code) + (" (low sample)" if a["low_sample"] else ""), str(a["n"]), str(a["correct"]),
         number(a["accuracy"]), f"[{a['wilson'][0]:.3f}, {a['wilson'][1]:.3f}]")
        for code, a in (*results.adversarial["by_category"].items(), ("all", results.adversarial["overall"]))
    ]  # fmt: skip
    lines += table(("trick", "n", "right", "accuracy", "95% Wilson interval"), rows)
    return [*lines, *_picture("Adversarial accuracy", "adversarial_by_category.png", figures)]


def confusions(predictions: Sequence[Prediction]) -> Counter[tuple[str, str]]:
    """How often each expected form met each chosen one, over all scored probes that name both."""
    rows = [*scored(predictions, "core"), *scored(predictions, "adversarial")]
    return Counter(
        (one.expected, one.predicted) for one in rows if one.expected is not None and one.predicted is not None
    )


def _confusion(results: Results) -> list[str]:
    counts = confusions(results.predictions)
    lines = ["## Confusion matrix", ""]
    if not counts:
        return [*lines, "The predictions do not say what was expected and what was chosen.", ""]
    forms = sorted({form for pair in counts for form in pair})
    right = sum(n for (expected, chosen), n in counts.items() if expected == chosen)
    told = f"{right} of {counts.total()} on the diagonal."
    if len(forms) <= _MATRIX:
        head = ("expected \\ chosen", *map(markdown, forms))
        return [*lines, told, "", *table(head, [(markdown(a), *(str(counts[a, b]) for b in forms)) for a in forms])]
    wrong = sorted(((n, a, b) for (a, b), n in counts.items() if a != b), key=lambda one: (-one[0], one[1:]))
    shown = [(markdown(a), markdown(b), str(n)) for n, a, b in wrong[:_CONFUSIONS]]
    more = f" The {_CONFUSIONS} most frequent of {len(wrong)} follow." if len(wrong) > _CONFUSIONS else ""
    told += f" {len(forms)} forms: the cells off the diagonal that are not zero.{more}"
    return [*lines, told, "", *table(("expected", "chosen", "times"), shown)]


def _failures(predictions: Sequence[Prediction]) -> list[str]:
    wrong = [one for kind in ("core", "adversarial") for one in scored(predictions, kind) if not one.correct]
    wrong.sort(key=lambda one: (-(one.confidence or 0.0), one.id))
    lines = ["## Failures", "", f"{len(wrong)} wrong choices, the most confident first."]
    if len(wrong) > _FAILURES:
        lines[-1] += f" The first {_FAILURES} are shown; predictions.jsonl has all."
    rows = [(markdown(one.id), probe(one), markdown(one.expected or "–"), markdown(one.predicted or "–"),
             number(one.confidence)) for one in wrong[:_FAILURES]]  # fmt: skip
    lines += ["", *(table(("id", "probe", "expected", "chosen", "confidence"), rows) if rows else [])]
    unscored = [(markdown(one.id), probe(one), markdown(one.unscored)) for one in predictions if one.unscored]
    if unscored:
        lines += ["Not scored:", "", *table(("id", "probe", "why"), unscored[:_FAILURES])]
    return lines


def probe(one: Prediction) -> str:
    """The probe's sentence, with the trick that it plays."""
    return markdown(one.prompt or "–") + (f" ({markdown(one.reason_code)})" if one.category == "adversarial" else "")


def _limits(results: Results) -> list[str]:
    lines = [
        "## Limits", "",
        "- Confidence is a share among a probe's candidates, not of the vocabulary; set sizes are told apart above.",
        "- Intervals take probes for independent. Probes of one verb resemble each other, so they are a little narrow.",
        "- The interval of ECE is empirical: measured coverage 0.90 to 0.99, no theory.",
        "- Slices are exploratory: below 30 probes, no ranking follows from them.",
        "- Ambiguous probes count neither for nor against. Ties, and probes that the tokenizer cannot represent, are",
        "  left out, which flatters a model that ties where it knows nothing.",
    ]  # fmt: skip
    if not results.perplexity:
        lines.append("- No held-out text was given, so there is no perplexity.")
    return lines

"""A run folder's own files: run_manifest.json, predictions.jsonl, summary.md, and metrics.json by the protocol's names.

All are renderings of the ledger below them (run.db, manifest.json) and of the Numbers that are derived from it.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from perpend.canon import JSON, as_object, object_of, read_object, write_atomic
from perpend.errors import DataError, StoreError, check_format, did_you_mean
from perpend.inert import markdown
from perpend.measure.run import Run
from perpend.measure.study import FORMAT
from perpend.measure.table import Reply
from perpend.report.derive import derive
from perpend.report.tables import markdown_row, markdown_table, number, undefined
from perpend.studies.logic.chaosbench.predictions import as_lines
from perpend.studies.logic.design import PARSERS
from perpend.studies.logic.metrics import CONFUSION, SUMMARY, seed_names
from perpend.studies.logic.replies import Prediction, predictions_of
from perpend.studies.logic.strata import in_order

RUN_MANIFEST = "run_manifest.json"
METRICS = "metrics.json"
SUMMARY_PAGE = "summary.md"
RECEIPT = "publish_receipt.json"
PREDICTIONS = "predictions.jsonl.gz"
FILES = frozenset((RUN_MANIFEST, METRICS, SUMMARY_PAGE, PREDICTIONS, RECEIPT))
"""All that a published run holds."""
_COUNTS = ("total", "valid", "invalid", "unfinished", "errors", "reprompted")
_RATES = (
    ("Balanced accuracy", "balanced_accuracy"),
    ("MCC", "mcc"),
    ("TPR", "tpr"),
    ("TNR", "tnr"),
    ("Balanced accuracy, invalid as wrong", "balanced_accuracy_effective"),
    ("Accuracy (valid)", "accuracy_valid"),
    ("Effective accuracy", "accuracy_effective"),
    ("Coverage", "coverage"),
)


def read_json(path: Path) -> dict[str, JSON]:
    """The object in a JSON file."""
    if not path.exists():
        raise StoreError(f"{path.parent}: not a run folder (there is no {path.name})")
    return read_object(path)


def write_json(path: Path, body: Mapping[str, JSON]) -> None:
    """An object in the order of its keys, two spaces deep: run manifests are read by people, top to bottom."""
    write_atomic(path, json.dumps(body, indent=2, allow_nan=False) + "\n")


def is_ours(manifest: Mapping[str, JSON]) -> bool:
    """Whether this program wrote a run manifest; the reference names neither a parser nor settings."""
    return "parser" in manifest or "settings" in manifest


def check_version(folder: Path, manifest: Mapping[str, JSON], stored: Mapping[str, JSON]) -> None:
    """FormatError for a folder that another version of perpend wrote; the reference's metrics.json has no format."""
    if is_ours(manifest) and stored:
        check_format(stored.get("format"), FORMAT, folder / METRICS, as_object(manifest.get("code")).get("perpend"))


def parser_named(manifest: Mapping[str, JSON]) -> str:
    """The rule that read the replies: the one that a run manifest names, else the reference's."""
    return str(manifest.get("parser") or ("label@1" if manifest.get("strict_parsing", True) else "label_lenient@1"))


def parser_stated(manifest: Mapping[str, JSON]) -> str:
    """`parser_named`, where it is one of PARSERS; anything else is a DataError and never looked up."""
    parser = parser_named(manifest)
    if parser not in PARSERS:
        raise DataError(f"{RUN_MANIFEST}: unknown parser {parser!r}; {did_you_mean(parser, PARSERS)}")
    return parser


def cut_stated(manifest: Mapping[str, JSON]) -> int | None:
    """The number of characters that texts in the predictions were cut to, 1 or more; None where they are whole."""
    cut = object_of(manifest, "budget", RUN_MANIFEST).get("truncate_pred_text")
    if cut is not None and (not isinstance(cut, int) or isinstance(cut, bool) or cut < 1):
        raise DataError(f"{RUN_MANIFEST}: truncate_pred_text is 1 or more, or null, not {cut!r:.80}")
    return cut


@dataclass(frozen=True, slots=True)
class Ending:
    """How asking ended: every item, or why not; and what it took."""

    stopped: str | None
    seconds: float
    usd: float | None
    """What the whole run cost; None where that is unknown, and `usd_note` says why."""
    usd_note: str = ""


def run_predictions(run: Run, parser: str) -> list[Prediction]:
    """One prediction for every item that was asked, in the order of the run."""
    return [one for _, one in predictions_of(run.table, list(run.table.replies()), parser)]


def finish(directory: Path, ending: Ending | None = None) -> None:
    """Score a run's replies, and write its metrics.json, report, tables, predictions, manifest and summary.

    Without an ending nothing was asked: how the run ended, and when, stays as the manifest has it.
    """
    run, manifest = Run(directory), read_json(directory / RUN_MANIFEST)
    run.score()
    body = seed_names(derive([run], directory, figures=False).numbers)
    predictions = run_predictions(run, parser_stated(manifest))
    write_atomic(directory / "predictions.jsonl", as_lines(predictions, cut_stated(manifest)))
    manifest |= {
        "total_items_evaluated": len(predictions),
        "metrics_summary": {name: body[name] for name in SUMMARY},
        "tokens": tokens(run.table.replies()),
    }
    if ending is not None:
        before = manifest.get("wall_seconds")
        manifest |= {
            "created_utc": datetime.now(UTC).isoformat(),
            "status": "completed" if ending.stopped is None else f"stopped: {ending.stopped}",
            "wall_seconds": ending.seconds + (before if isinstance(before, int | float) else 0.0),
            "usd": ending.usd,
            "usd_note": ending.usd_note,
        }
    write_json(directory / RUN_MANIFEST, manifest)
    write_atomic(directory / SUMMARY_PAGE, summary_page(manifest, body))


def tokens(replies: Iterable[Reply]) -> dict[str, JSON]:
    """The tokens of the replies on record, both turns; attempts that failed are not counted."""
    usages = [turn.usage for _, *turns in replies for turn in turns if turn is not None and turn.usage is not None]
    return {"input": sum(usage.input or 0 for usage in usages), "output": sum(usage.output or 0 for usage in usages)}


def summary_page(manifest: Mapping[str, JSON], metrics: Mapping[str, JSON]) -> str:
    """summary.md: the numbers of a run with intervals, from metrics.json by the protocol's names; NA is undefined."""
    estimates = object_of(metrics, "estimates", "metrics")
    dataset = object_of(manifest, "dataset", "manifest")
    budget = object_of(metrics, "token_budget", "metrics")
    confusion = object_of(metrics, "confusion", "metrics")
    strata = as_object(metrics.get("per_stratum"))
    # Items of several strata are never one number: what is told of all of them is how they were answered.
    rates = [(name, key) for name, key in _RATES if not strata or key == "coverage"]
    key_rows = [
        *((name, _shown(object_of(estimates, key, "metrics"))) for name, key in rates),
        *((name.capitalize(), str(metrics.get(name))) for name in _COUNTS),
        ("Coverage of first replies", number(metrics.get("coverage_first_reply"), 4)),
        ("TP / FP / TN / FN", " / ".join(str(confusion.get(key)) for key in CONFUSION)),
        ("Bias score", f"{number(metrics.get('bias_score'), 4)} ({metrics.get('bias_verdict')})"),
        ("Tokens that 95% of replies need", f"{number(budget.get('needed_max_tokens'), 0)} ({budget.get('note')})"),
    ]
    lines = [
        f"# Evaluation Summary: {markdown(str(manifest.get('run_id')))}",
        "",
        f"**Provider:** {markdown(str(manifest.get('provider')))}",
        "",
        f"Items: {markdown(str(dataset.get('path')))}; read by {parser_stated(manifest)}; {manifest.get('status')}.",
        f"Intervals are clustered by {metrics.get('clustered_by')}.",
        "",
        *_strata(strata),
        "## Key Metrics",
        "",
        markdown_table(("Metric", "Value"), key_rows, "|--------|-------|"),
        "",
        "## Per-Family Accuracy",
        "",
    ]
    rows = []
    families = object_of(metrics, "per_family", "metrics")
    for family in sorted(families):
        body = object_of(families, family, "metrics")
        few = " (low support)" if body.get("low_support") else ""
        balanced = _shown(object_of(object_of(body, "estimates", family), "balanced_accuracy", family))
        cells = [number(body.get(key)) for key in ("coverage", "accuracy_valid")]
        tail = [_plain(body, key) for key in ("mcc", "tpr", "tnr")]
        rows.append((markdown(family) + few, str(body.get("total")), *cells, balanced, *tail))
    head = ("Family", "Total", "Coverage", "Accuracy", "Balanced accuracy", "MCC", "TPR", "TNR")
    rule = "|--------|-------|----------|----------|-------------------|-----|-----|-----|"
    return "\n".join([*lines, markdown_table(head, rows, rule)]) + "\n"


def _strata(strata: Mapping[str, JSON]) -> list[str]:
    """The headline of a run on items of several strata: one line each; nothing for other items."""
    if not strata:
        return []
    rows = []
    for name in sorted(strata, key=in_order):
        body = object_of(strata, name, "metrics")
        estimates = object_of(body, "estimates", name)
        worth = as_object(as_object(estimates.get("accuracy_valid")).get("also")).get("n_effective")
        cells = [_shown(as_object(estimates.get(key))) for key in ("balanced_accuracy", "pairs_right")]
        rates = [_plain(body, key) for key in ("tpr", "tnr")]
        few = " (low support)" if body.get("low_support") else ""
        rows.append((markdown(name) + few, str(body.get("total")), number(worth, 0), *cells, *rates))
    head = ("Stratum", "Total", "Effective n", "Balanced accuracy", "Whole pairs right", "TPR", "TNR")
    rule = "|---------|-------|-------------|-------------------|-------------------|-----|-----|"
    return ["## Strata", "", markdown_table(head, rows, rule), ""]


def _shown(estimate: Mapping[str, JSON]) -> str:
    """Value and interval of an estimate."""
    if estimate.get("value") is None:
        return undefined(estimate.get("also"))
    lo, hi = estimate.get("lo"), estimate.get("hi")
    interval = "" if lo is None or hi is None else f" [{number(lo)}, {number(hi)}]"
    return f"{number(estimate.get('value'), 4)}{interval}"


def _plain(metrics: Mapping[str, JSON], key: str, places: int = 3) -> str:
    """A number by the protocol's name."""
    if metrics.get(key) is None:
        return undefined(as_object(as_object(metrics.get("estimates")).get(key)).get("also"))
    return number(metrics.get(key), places)


def index_row(name: str, manifest: Mapping[str, JSON], metrics: Mapping[str, JSON]) -> str:
    """The line of a published run in the index."""
    numbers = [_plain(metrics, key, 4) for key in ("accuracy_valid", "balanced_accuracy", "mcc")]
    strata = as_object(metrics.get("per_stratum"))
    if strata:
        each = (
            f"{name} {_plain(as_object(strata[name]), 'balanced_accuracy')}" for name in sorted(strata, key=in_order)
        )
        numbers = ["by stratum", ", ".join(each), "by stratum"]
    run, provider = f"[{markdown(name)}]({name})", markdown(str(manifest.get("provider")))
    row = (run, provider, str(metrics.get("total")), *numbers, str(manifest.get("created_utc"))[:10])
    return markdown_row(row)


def index(out: Path, derived: Mapping[str, str] | None = None) -> str:
    """The table of everything published in a folder; `derived` has the lines of some runs, by the names of folders."""
    known = derived or {}
    folders = sorted(path.parent for path in out.glob(f"*/{RUN_MANIFEST}"))
    rows = [
        known[one.name]
        if one.name in known
        else index_row(one.name, read_json(one / RUN_MANIFEST), read_json(one / METRICS))
        for one in folders
    ]
    head = ["# Published runs", "", "| run | provider | N | Acc_valid | Bal_acc | MCC | date |"]
    return "\n".join([*head, "|---|---|---:|---:|---:|---:|---|", *rows]) + "\n"

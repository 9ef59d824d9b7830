"""A run folder's own files: run_manifest.json, predictions.jsonl, metrics.json, summary.md.

The ledger below them (run.db, manifest.json, report.md) is perpend's. metrics.json is one file for both: perpend's
estimates under `metrics`, the protocol's numbers beside it by the reference's names.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TypeAlias

from perpend.canon import JSON, pretty, write_atomic
from perpend.compat.chaosbench.budget import token_budget
from perpend.compat.chaosbench.items import NO_FAMILY, normalised
from perpend.compat.chaosbench.metrics import SUMMARY, by_family, by_split, first_replies, invalid_kinds, measure
from perpend.compat.chaosbench.predictions import NO_SPLIT, Outcome, Prediction, as_lines
from perpend.compat.chaosbench.settings import PARSERS
from perpend.compat.reference import json_object, object_of
from perpend.compose import find_scorer
from perpend.errors import DataError, StoreError
from perpend.inert import markdown
from perpend.plan import Trial
from perpend.store import Store
from perpend.text.reasoning import CUT_WORDS, visible
from perpend.types import Item, Response, Scorer

RUN_MANIFEST = "run_manifest.json"
METRICS = "metrics.json"
SUMMARY_PAGE = "summary.md"
Judged: TypeAlias = tuple[Outcome, str]
"""An outcome and the reason for it."""


def read_json(path: Path) -> dict[str, JSON]:
    """The object in a JSON file."""
    try:
        return json_object(path.read_text(encoding="utf-8"), str(path))
    except FileNotFoundError:
        raise StoreError(f"{path.parent}: not a run folder (there is no {path.name})") from None
    except UnicodeDecodeError as error:
        raise DataError(f"{path}: not UTF-8 at byte {error.start}") from None


def write_json(path: Path, body: Mapping[str, JSON]) -> None:
    """An object in the order of its keys, two spaces deep: run manifests are read by people, top to bottom."""
    write_atomic(path, json.dumps(body, indent=2, allow_nan=False) + "\n")


@dataclass(frozen=True, slots=True)
class Replies:
    """What the ledger holds of one item: its first reply and its last, which differ where it was asked again."""

    trial: Trial
    first: Response
    last: Response
    asked_again: bool


def read_replies(directory: Path) -> list[Replies]:
    """Every item that was asked, in the order of the run."""
    with Store.open(directory / "run.db") as store:
        first = {trial.trial: response for trial, response in store.answers(last_turn=0)}
        again = store.answered_turns(1)
        return [
            Replies(trial, first.get(trial.trial, last), last, trial.trial in again) for trial, last in store.answers()
        ]


def predictions_from(replies: Sequence[Replies], parser: str) -> list[Prediction]:
    """One prediction for every item that was asked, each reply read by that rule."""
    outcome = outcomes(find_scorer(parser))
    return [_prediction(outcome, one) for one in replies]


def _prediction(outcome_of: Callable[[Item, Response], Judged], one: Replies) -> Prediction:
    item, last = one.trial.item, one.last
    truth = normalised(item.target)
    if truth is None:
        raise DataError(f"item {item.id!r}: target {item.target!r} is neither TRUE nor FALSE")
    outcome, reason = outcome_of(item, last)
    made = Prediction(
        id=item.id,
        question=item.prompt,
        truth=truth,
        outcome=outcome,
        family=item.tags.get("type") or item.tags.get("family") or NO_FAMILY,
        split=item.tags.get("split") or NO_SPLIT,
        text=last.text,
        reason=reason,
        latency_s=None if last.ms is None else last.ms / 1000.0,
        first=outcome,
        error=last.error,
        finish=last.finish,
        tokens=None if last.usage is None else last.usage.output,
        tags=item.tags,
    )
    if not one.asked_again:
        return made
    before, _ = outcome_of(item, one.first)
    return replace(made, retry_text=last.text, retry_outcome=outcome, first=before, first_text=one.first.text)


def outcomes(scorer: Scorer) -> Callable[[Item, Response], Judged]:
    """What a response is, and why: an error, a label, a reply that was cut off, or a whole one without a label.

    A label does not depend on the item, and most replies are one word: each text is read once.
    """
    known: dict[tuple[str, str | None], Judged] = {}

    def outcome_of(item: Item, response: Response) -> Judged:
        if response.text is None:
            return "ERROR", response.error or "no reply"
        key = (response.text, response.finish)
        if key not in known:
            known[key] = _read(scorer, item, response, response.text)
        return known[key]

    return outcome_of


def _read(scorer: Scorer, item: Item, response: Response, text: str) -> Judged:
    score = scorer.judge(item, response)
    if score.answer == "TRUE":
        return "VALID_TRUE", score.reason
    if score.answer == "FALSE":
        return "VALID_FALSE", score.reason
    unfinished = visible(text, response.finish).unfinished
    was_cut = response.finish is not None and response.finish.lower() in CUT_WORDS
    if unfinished is not None and (was_cut or text.strip()):
        return "UNFINISHED", unfinished
    return "INVALID", score.reason


def by_parser(replies: Sequence[Replies]) -> dict[str, JSON]:
    """Coverage, balanced accuracy and MCC under each rule of reading a reply, from the same texts."""
    found: dict[str, JSON] = {}
    for parser in PARSERS.values():
        numbers = measure(predictions_from(replies, parser)).numbers()
        found[parser] = {key: numbers[key] for key in ("valid", "coverage", "balanced_accuracy", "mcc", "tpr", "tnr")}
    return found


def metrics_body(predictions: Sequence[Prediction], max_tokens: int | None) -> dict[str, JSON]:
    """Everything that metrics.json holds of the protocol; a function of the predictions alone."""
    whole = measure(predictions)
    families, splits = by_family(predictions), by_split(predictions)
    return {
        **whole.numbers(),
        **first_replies(predictions),
        "invalid_kinds": invalid_kinds(predictions),
        "token_budget": token_budget(predictions, max_tokens),
        "clustered_by": whole.clustered_by,
        "estimates": whole.intervals(),
        "per_family": {name: {**one.numbers(), "estimates": one.intervals()} for name, one in families.items()},
        "per_split": {name: {**one.numbers(), "estimates": one.intervals()} for name, one in splits.items()},
    }


@dataclass(frozen=True, slots=True)
class Ending:
    """How asking ended: every item, or why not; and what it took."""

    stopped: str | None
    seconds: float
    usd: float


def finish(directory: Path, ending: Ending | None = None) -> dict[str, JSON]:
    """Write the four files of a run from its ledger, and return metrics.json as written.

    Without an ending nothing was asked: how the run ended, and when, stays as the manifest has it.
    """
    manifest = read_json(directory / RUN_MANIFEST)
    settings = object_of(manifest, "settings", str(directory / RUN_MANIFEST))
    replies = read_replies(directory)
    predictions = predictions_from(replies, metrics_parser(manifest))
    cut, limit = settings.get("truncate_pred_text"), manifest.get("max_tokens")
    write_atomic(directory / "predictions.jsonl", as_lines(predictions, cut if isinstance(cut, int) else None))
    body = metrics_body(predictions, limit if isinstance(limit, int) else None) | {"by_parser": by_parser(replies)}
    metrics_path = directory / METRICS
    ours = read_json(metrics_path) if metrics_path.is_file() else {}
    write_atomic(metrics_path, pretty({**ours, **body}))
    now: dict[str, JSON] = {
        **manifest,
        "total_items_evaluated": len(predictions),
        "metrics_summary": {name: body[name] for name in SUMMARY},
        "tokens": _tokens(replies),
    }
    if ending is not None:
        before = manifest.get("wall_seconds")
        now |= {
            "created_utc": datetime.now(UTC).isoformat(),
            "status": "completed" if ending.stopped is None else f"stopped: {ending.stopped}",
            "wall_seconds": ending.seconds + (before if isinstance(before, int | float) else 0.0),
            "usd": ending.usd,
        }
    write_json(directory / RUN_MANIFEST, now)
    write_atomic(directory / SUMMARY_PAGE, summary_page(now, body))
    return body


def _tokens(replies: Sequence[Replies]) -> dict[str, JSON]:
    """The tokens of the replies on record, both turns; attempts that failed are not counted."""
    usages = [turn.usage for one in replies for turn in ((one.first, one.last) if one.asked_again else (one.last,))]
    known = [usage for usage in usages if usage is not None]
    return {"input": sum(u.input or 0 for u in known), "output": sum(u.output or 0 for u in known)}


def summary_page(manifest: Mapping[str, JSON], metrics: Mapping[str, JSON]) -> str:
    """summary.md: the numbers of a run for people, with intervals; NA is undefined."""
    estimates = object_of(metrics, "estimates", "metrics")
    dataset = object_of(manifest, "dataset", "manifest")
    budget = object_of(metrics, "token_budget", "metrics")
    counts = ("total", "valid", "invalid", "unfinished", "errors", "reprompted")
    rates = (
        ("Balanced accuracy", "balanced_accuracy"),
        ("MCC", "mcc"),
        ("TPR", "tpr"),
        ("TNR", "tnr"),
        ("Balanced accuracy, invalid as wrong", "balanced_accuracy_effective"),
        ("Accuracy (valid)", "accuracy_valid"),
        ("Effective accuracy", "accuracy_effective"),
        ("Coverage", "coverage"),
    )
    confusion = object_of(metrics, "confusion", "metrics")
    lines = [
        f"# Evaluation Summary: {markdown(str(manifest.get('run_id')))}",
        "",
        f"**Provider:** {markdown(str(manifest.get('provider')))}",
        "",
        f"Items: {markdown(str(dataset.get('path')))}; read by {metrics_parser(manifest)}; {manifest.get('status')}.",
        f"Intervals are clustered by {metrics.get('clustered_by')}.",
        "",
        "## Key Metrics",
        "",
        "| Metric | Value |",
        "|--------|-------|",
        *(f"| {name} | {shown(object_of(estimates, key, 'metrics'))} |" for name, key in rates),
        *(f"| {name.capitalize()} | {metrics.get(name)} |" for name in counts),
        f"| Coverage of first replies | {number(metrics.get('coverage_first_reply'))} |",
        f"| TP / FP / TN / FN | {' / '.join(str(confusion.get(key)) for key in ('tp', 'fp', 'tn', 'fn'))} |",
        f"| Bias score | {number(metrics.get('bias_score'))} ({metrics.get('bias_verdict')}) |",
        f"| Tokens that 95% of replies need | {number(budget.get('needed_max_tokens'), 0)} ({budget.get('note')}) |",
        "",
        "## Per-Family Accuracy",
        "",
        "| Family | Total | Coverage | Accuracy | Balanced accuracy | MCC | TPR | TNR |",
        "|--------|-------|----------|----------|-------------------|-----|-----|-----|",
    ]
    families = object_of(metrics, "per_family", "metrics")
    for family in sorted(families):
        body = object_of(families, family, "metrics")
        few = " (low support)" if body.get("low_support") else ""
        balanced = shown(object_of(object_of(body, "estimates", family), "balanced_accuracy", family))
        cells = [number(body.get(key), 3) for key in ("coverage", "accuracy_valid")]
        tail = [number(body.get(key), 3) for key in ("mcc", "tpr", "tnr")]
        row = (markdown(family) + few, str(body.get("total")), *cells, balanced, *tail)
        lines.append("| " + " | ".join(row) + " |")
    return "\n".join(lines) + "\n"


def metrics_parser(manifest: Mapping[str, JSON]) -> str:
    """The rule that read the replies, as far as the manifest says."""
    stated = manifest.get("parser")
    return str(stated) if stated else "label@1" if manifest.get("strict_parsing", True) else "label_lenient@1"


def number(value: JSON, digits: int = 4) -> str:
    """A number for people; NA where it is undefined."""
    return f"{value:.{digits}f}" if isinstance(value, int | float) else "NA"


def shown(estimate: Mapping[str, JSON]) -> str:
    """An estimate for people: value, interval, n."""
    lo, hi = estimate.get("lo"), estimate.get("hi")
    interval = "" if lo is None or hi is None else f" [{number(lo, 3)}, {number(hi, 3)}]"
    return f"{number(estimate.get('value'))}{interval}"

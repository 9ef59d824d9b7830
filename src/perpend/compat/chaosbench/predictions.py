"""predictions.jsonl: one row an item, in the order of the evaluation, with the reference's keys and what they lack."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, TypeAlias

from perpend.canon import JSON, clean_text
from perpend.compat.chaosbench.items import Label, label_of, normalised, text_of
from perpend.compat.reference import json_lines, json_object, number_of, object_of
from perpend.errors import DataError

Outcome: TypeAlias = Literal["VALID_TRUE", "VALID_FALSE", "INVALID", "UNFINISHED", "ERROR"]
OUTCOMES: tuple[Outcome, ...] = ("VALID_TRUE", "VALID_FALSE", "INVALID", "UNFINISHED", "ERROR")
NAMES = ("predictions.jsonl", "predictions.jsonl.gz", "predictions_subset.jsonl.gz")
"""What the file may be called, ours first."""
NO_SPLIT = "unknown"
GROUP_TAGS = ("group", "group_id", "base_fact")
"""Tags that say which items rest on one fact."""


@dataclass(frozen=True, slots=True)
class Prediction:
    """What one item got.

    INVALID is a whole reply without a label, UNFINISHED one that was cut off, ERROR no reply at all. `first` is the
    outcome of the first reply, where a second was asked for; None where the file does not say. `tokens` are those of
    the reply that counts.
    """

    id: str
    question: str
    truth: Label
    outcome: Outcome
    family: str
    split: str = NO_SPLIT
    text: str | None = None
    reason: str = ""
    latency_s: float | None = None
    retry_text: str | None = None
    retry_outcome: Outcome | None = None
    first: Outcome | None = None
    first_text: str | None = None
    error: str | None = None
    finish: str | None = None
    tokens: int | None = None
    tags: Mapping[str, str] = field(default_factory=dict)

    @property
    def label(self) -> Label | None:
        """The label that was read; None unless the outcome is valid."""
        return "TRUE" if self.outcome == "VALID_TRUE" else "FALSE" if self.outcome == "VALID_FALSE" else None

    @property
    def correct(self) -> bool | None:
        """Whether the label is the true one; None without a label."""
        return None if self.label is None else self.label == self.truth

    @property
    def cluster(self) -> str | None:
        """What items with a common fact share: the group tag, else the system. None where neither is known."""
        return next((self.tags[tag] for tag in (*GROUP_TAGS, "system_id") if self.tags.get(tag)), None)

    def as_json(self, cut: int | None = None) -> dict[str, JSON]:
        """The row; `cut` shortens the texts to so many characters."""
        confidence = 0.0 if self.label is None else 1.0 if "FINAL_ANSWER" in (self.text or "") else 0.9
        return {
            "id": self.id,
            "question": self.question,
            "ground_truth": self.truth,
            "pred_text": _cut(self.text, cut),
            "parsed_label": self.label,
            "outcome": self.outcome,
            "correct": self.correct,
            "latency_s": self.latency_s,
            "task_family": self.family,
            "split": None if self.split == NO_SPLIT else self.split,
            "retry_pred_text": _cut(self.retry_text, cut),
            "retry_outcome": self.retry_outcome,
            "meta": {"parse_reason": self.reason, "parse_confidence": confidence},
            "first_outcome": self.first,
            "first_pred_text": _cut(self.first_text, cut),
            "error": self.error,
            "finish": self.finish,
            "output_tokens": self.tokens,
            "tags": dict(self.tags),
        }


def _cut(text: str | None, length: int | None) -> str | None:
    return text if text is None or length is None else text[:length]


def as_lines(predictions: Iterable[Prediction], cut: int | None = None) -> str:
    """The whole file."""
    return "".join(json.dumps(prediction.as_json(cut)) + "\n" for prediction in predictions)


def predictions_path(folder: Path) -> Path | None:
    """The prediction file of a run folder; None where there is none."""
    return next((folder / name for name in NAMES if (folder / name).is_file()), None)


def read_predictions(path: Path) -> list[Prediction]:
    """The rows of a prediction file, plain or gzip, ours or the reference's."""
    return [_prediction(row, where) for where, row in _rows(path)]


def _rows(path: Path) -> Iterator[tuple[str, dict[str, JSON]]]:
    if path.suffix != ".gz":
        yield from json_lines(path)
        return
    try:
        with gzip.open(path, "rt", encoding="utf-8") as file:
            for number, line in enumerate(file, 1):
                if line.strip():
                    yield f"{path}:{number}", json_object(line, f"{path}:{number}")
    except (OSError, EOFError, UnicodeDecodeError) as error:
        raise DataError(f"{path}: not a gzip file of JSON lines: {error}") from None


def _prediction(row: Mapping[str, JSON], where: str) -> Prediction:
    truth = label_of(row)
    if truth is None or not text_of(row, "id"):
        raise DataError(f"{where}: a prediction needs an 'id' and a 'ground_truth' that is TRUE or FALSE")
    outcome = _outcome(row.get("outcome"), where)
    label = normalised(row.get("parsed_label"))
    if outcome is None or (label is not None) != outcome.startswith("VALID") or (label and not outcome.endswith(label)):
        raise DataError(f"{where}: outcome {row.get('outcome')!r} does not go with label {row.get('parsed_label')!r}")
    retry = _outcome(row.get("retry_outcome"), where)
    text, retried = _text(row, "pred_text"), _text(row, "retry_pred_text")
    # The reference asks again only after an invalid reply, and keeps that reply only when the second is invalid too.
    first = _outcome(row.get("first_outcome"), where) or (outcome if retry is None else "INVALID")
    tokens = number_of(row, "output_tokens", where)
    return Prediction(
        id=text_of(row, "id"),
        question=text_of(row, "question"),
        truth=truth,
        outcome=outcome,
        family=text_of(row, "task_family") or "unknown",
        split=text_of(row, "split") or NO_SPLIT,
        text=text,
        reason=text_of(object_of(row, "meta", where), "parse_reason"),
        latency_s=number_of(row, "latency_s", where),
        retry_text=retried,
        retry_outcome=retry,
        first=first,
        first_text=_text(row, "first_pred_text"),
        error=_text(row, "error"),
        finish=_text(row, "finish"),
        tokens=None if tokens is None else int(tokens),
        tags={key: text_of(object_of(row, "tags", where), key) for key in object_of(row, "tags", where)},
    )


def _outcome(value: JSON, where: str) -> Outcome | None:
    if value is None:
        return None
    for known in OUTCOMES:
        if value == known:
            return known
    raise DataError(f"{where}: unknown outcome {value!r}; one of {', '.join(OUTCOMES)}")


def _text(row: Mapping[str, JSON], key: str) -> str | None:
    return None if row.get(key) is None else clean_text(text_of(row, key))


def repeated_ids(predictions: Sequence[Prediction]) -> list[str]:
    """The ids that occur more than once, in order."""
    seen: set[str] = set()
    twice: dict[str, None] = {}
    for prediction in predictions:
        if prediction.id in seen:
            twice[prediction.id] = None
        seen.add(prediction.id)
    return list(twice)

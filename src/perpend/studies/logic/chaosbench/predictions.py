"""predictions.jsonl: one row per item, in the order of the evaluation, with the reference's keys and what they lack.

A row states facts (question, true label, texts) and what was read in them. Only the facts are believed: outcomes and
labels are read again from the texts, and what the row states of them is compared.
"""

from __future__ import annotations

import gzip
import io
import json
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import BinaryIO

from perpend.canon import JSON, clean_text, lines_of, number_of, object_of, opened
from perpend.errors import DataError
from perpend.studies.logic.chaosbench.items import NO_FAMILY, label_of, text_of
from perpend.studies.logic.replies import NO_SPLIT, OUTCOMES, Outcome, Prediction, Reader, prediction
from perpend.types import Item, Response, Usage

NAMES = ("predictions.jsonl", "predictions.jsonl.gz", "predictions_subset.jsonl.gz")
"""What the file may be called, ours first."""
RATIO, FREE = 100, 1 << 26
"""A packed file may unpack to so many times its size, and so many bytes more."""
STATED = ("parsed_label", "outcome", "correct", "retry_outcome")
"""What a row of the reference states of its own reading."""


@dataclass(frozen=True, slots=True)
class ParsedReply:
    """How rows are read: by which rule; whether they are of this program; and where their texts were cut, if at all."""

    read: Reader
    ours: bool = True
    cut: int | None = None


@dataclass(frozen=True, slots=True)
class PredictionRow:
    """One line of the file: its place, what it states, what its texts come to, and where the two differ.

    `shortened`: its texts may have been cut, so that its outcomes are those that it states.
    """

    place: str
    stated: Mapping[str, JSON]
    prediction: Prediction
    differs: str = ""
    shortened: bool = False


def as_json(one: Prediction, cut: int | None = None) -> dict[str, JSON]:
    """A row; `cut` shortens the texts to that many characters."""
    confidence = 0.0 if one.label is None else 1.0 if "FINAL_ANSWER" in (one.text or "") else 0.9
    return {
        "id": one.id,
        "question": one.question,
        "ground_truth": one.truth,
        "pred_text": _cut(one.text, cut),
        "parsed_label": one.label,
        "outcome": one.outcome,
        "correct": one.correct,
        "latency_s": one.latency_s,
        "task_family": one.family,
        "split": None if one.split == NO_SPLIT else one.split,
        "retry_pred_text": _cut(one.retry_text, cut),
        "retry_outcome": one.retry_outcome,
        "meta": {"parse_reason": one.reason, "parse_confidence": confidence},
        "first_outcome": one.first,
        "first_pred_text": _cut(one.first_text, cut),
        "error": one.error,
        "finish": one.finish,
        "output_tokens": one.tokens,
        "tags": dict(one.tags),
    }


def _cut(text: str | None, length: int | None) -> str | None:
    return text if text is None or length is None else text[:length]


def as_lines(predictions: Iterable[Prediction], cut: int | None = None) -> str:
    """The whole file."""
    return "".join(json.dumps(as_json(one, cut)) + "\n" for one in predictions)


def predictions_path(folder: Path) -> Path | None:
    """The prediction file of a run folder; None where there is none."""
    return next((folder / name for name in NAMES if (folder / name).is_file()), None)


@contextmanager
def unpacked(path: Path) -> Iterator[BinaryIO]:
    """A prediction file as JSON lines, plain or gzip. One that unpacks to too much is a DataError."""
    try:
        with opened(path) as file:
            if path.suffix != ".gz":
                yield file
                return
            most = RATIO * path.stat().st_size + FREE
            with gzip.GzipFile(fileobj=file) as plain, io.BufferedReader(_Limited(plain, most, path)) as lines:
                yield lines
    except (OSError, EOFError, zlib.error) as error:
        raise DataError(f"{path}: not a file of JSON lines, plain or gzip: {error}") from None


class _Limited(io.RawIOBase):
    """What a stream holds, up to some number of bytes."""

    def __init__(self, file: gzip.GzipFile, most: int, path: Path) -> None:
        self._file, self._left, self._path = file, most, path

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: bytearray | memoryview) -> int:  # type: ignore[override]  # what BufferedReader gives
        part = self._file.read(len(buffer))
        self._left -= len(part)
        if self._left < 0:
            raise DataError(f"{self._path}: unpacks to more than {RATIO} times its size; do you trust its source?")
        buffer[: len(part)] = part
        return len(part)


def read_rows(path: Path, reading: ParsedReply) -> list[PredictionRow]:
    """The rows of a prediction file, plain or gzip, ours or the reference's."""
    return [_row(row, place, reading) for place, row in stored_rows(path)]


def stored_rows(path: Path) -> Iterator[tuple[str, dict[str, JSON]]]:
    """('file:line', row as it is) of a prediction file, plain or gzip."""
    with unpacked(path) as file:
        yield from lines_of(file, path)


def _row(row: Mapping[str, JSON], place: str, reading: ParsedReply) -> PredictionRow:
    truth, tags = label_of(row), object_of(row, "tags", place)
    if truth is None or not text_of(row, "id"):
        raise DataError(f"{place}: a prediction needs an 'id' and a 'ground_truth' that is TRUE or FALSE")
    item = Item(text_of(row, "id"), text_of(row, "question"), truth, tags={key: text_of(tags, key) for key in tags})
    texts = [_text(row, key) for key in ("pred_text", "retry_pred_text", "first_pred_text")]
    longest = _longest(texts)
    shortened = reading.cut is not None and longest == reading.cut
    one = _ours(row, item, place, reading.read) if reading.ours else _reference(row, item, place, reading.read)
    if shortened:
        one = as_stated(row, one, place)
    facts = as_json(one)
    compared = {*facts, *row} if reading.ours else {*STATED}
    differs = _difference(row, facts, compared - {"meta"} if shortened else compared)
    if reading.cut is not None and longest > reading.cut:
        differs = f"a text of {longest} characters, where texts were cut to {reading.cut}"
    return PredictionRow(place, row, one, differs, shortened)


def longest_text(one: Prediction) -> int:
    """The number of characters of the longest text of a prediction."""
    return _longest((one.text, one.retry_text, one.first_text))


def _longest(texts: Iterable[str | None]) -> int:
    return max((len(text) for text in texts if text is not None), default=0)


def _difference(row: Mapping[str, JSON], facts: Mapping[str, JSON], keys: Iterable[str]) -> str:
    for key in sorted(keys):
        if key not in facts or row.get(key) != facts[key] or type(row.get(key)) is not type(facts[key]):
            return f"{key} is {row.get(key)!r:.80}, its texts give {facts.get(key)!r:.80}"
    return ""


def _ours(row: Mapping[str, JSON], item: Item, place: str, read: Reader) -> Prediction:
    """The row that this program writes for the same item and texts."""
    text, error, retried = (_text(row, key) for key in ("pred_text", "error", "retry_pred_text"))
    tokens = _count(row, "output_tokens", place)
    usage = None if tokens is None else Usage(output=int(tokens))
    last = Response(text, None if text is not None else error or "no reply", finish=_text(row, "finish"), usage=usage)
    kept = _text(row, "first_pred_text")
    first = None if kept is None else Response(kept)
    one = prediction(item, last, None, read) if retried is None else prediction(item, first, last, read)
    if one is None:
        raise DataError(f"{place}: a prediction needs a 'ground_truth' that is TRUE or FALSE")
    return replace(one, latency_s=_count(row, "latency_s", place))


def _reference(row: Mapping[str, JSON], item: Item, place: str, read: Reader) -> Prediction:
    """A row of the reference, which knows no error and nothing unfinished.

    It asks again only after an invalid reply, and keeps that reply only when the second one is invalid too.
    """

    def outcome_of(text: str | None) -> tuple[Outcome, str]:
        outcome, reason = read(item, Response(text=text or ""))
        return ("INVALID" if outcome == "UNFINISHED" else outcome), reason

    text, retried = _text(row, "pred_text"), _text(row, "retry_pred_text")
    outcome, reason = outcome_of(text)
    was_asked_again = row.get("retry_outcome") is not None or retried is not None
    retry = outcome_of(text if retried is None else retried)[0] if was_asked_again else None
    return Prediction(
        id=item.id,
        question=item.prompt,
        truth="TRUE" if item.target == "TRUE" else "FALSE",
        outcome=outcome,
        family=text_of(row, "task_family") or NO_FAMILY,
        split=text_of(row, "split") or NO_SPLIT,
        text=text,
        reason=reason,
        latency_s=_count(row, "latency_s", place),
        retry_text=retried,
        retry_outcome=retry,
        first="INVALID" if was_asked_again else outcome,
        tags=item.tags,
    )


def as_stated(row: Mapping[str, JSON], one: Prediction, place: str) -> Prediction:
    """The row with the outcomes that it states itself."""
    stated = [_outcome(row.get(key), place) for key in ("outcome", "retry_outcome", "first_outcome")]
    if stated[0] is None:
        raise DataError(f"{place}: 'outcome' is missing; one of {', '.join(OUTCOMES)}")
    reason = text_of(object_of(row, "meta", place), "parse_reason")
    return replace(one, outcome=stated[0], retry_outcome=stated[1], first=stated[2] or one.first, reason=reason)


def _outcome(value: JSON, place: str) -> Outcome | None:
    if value is None:
        return None
    for known in OUTCOMES:
        if value == known:
            return known
    raise DataError(f"{place}: unknown outcome {value!r}; one of {', '.join(OUTCOMES)}")


def _count(row: Mapping[str, JSON], key: str, place: str) -> float | None:
    """A number of 0 or more, or None where the key is absent or null."""
    value = number_of(row, key, place)
    if value is not None and not 0 <= value < 1 << 53:
        raise DataError(f"{place}: {key!r} must be 0 or more, not {value:g}")
    return value


def _text(row: Mapping[str, JSON], key: str) -> str | None:
    return None if row.get(key) is None else clean_text(text_of(row, key))


def repeated(ids: Iterable[str]) -> list[str]:
    """The ids that occur more than once, in order."""
    return [name for name, count in Counter(ids).items() if count > 1]

"""A run folder as it is stored, ours or the reference's: its manifest, its predictions, and both as a run of perpend.

predictions.jsonl has one row per item, in the order of the evaluation, with the reference's keys and what they lack. A
row states facts (question, true label, texts) and what was read in them. Only the facts are believed: outcomes and
labels are read again from the texts, and what the row states of them is compared. No name in a folder is imported:
rules of reading are looked up among ours.
"""

from __future__ import annotations

import json
import shutil
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from perpend.canon import (
    JSON,
    as_object,
    clean_text,
    digest_file,
    number_of,
    object_of,
    packed_lines,
    read_object,
)
from perpend.errors import DataError, StoreError, check_format, did_you_mean
from perpend.importers.intake import ImportRecord, Intake
from perpend.ledger.plan import Dataset, sampling_of
from perpend.measure.study import FORMAT, METRICS
from perpend.studies.logic.chaosbench.sets import NO_FAMILY, label_of, normalised, text_of
from perpend.studies.logic.design import PARSERS
from perpend.studies.logic.metrics import NO_SPLIT, OUTCOMES, Outcome, Prediction, Reader, prediction, reader
from perpend.types import Item, Response, Sampling, Score, Usage

RUN_MANIFEST, SUMMARY_PAGE, RECEIPT = "run_manifest.json", "summary.md", "publish_receipt.json"
NAMES = ("predictions.jsonl", "predictions.jsonl.gz", "predictions_subset.jsonl.gz")
"""What the file of predictions may be called; published runs have the second, the reference's packed ones the third."""
FILES = frozenset((RUN_MANIFEST, METRICS, SUMMARY_PAGE, NAMES[1], RECEIPT))
"""All that a published run holds."""
SOURCE_METRICS = "source_metrics.json"
"""The metrics.json of the folder that a run was imported from; metrics.json itself is derived anew."""
STORED, CONDITION = "stored_label", "question"
STATED = ("parsed_label", "outcome", "correct", "retry_outcome")
"""What a row of the reference states of its own reading."""
_TEXTS = ("pred_text", "retry_pred_text", "first_pred_text")
# The reference's defaults; it records neither, nor does it send a seed.
_SAMPLING = Sampling(temperature=0.0, max_tokens=16, seed=None)


def read_json(path: Path) -> dict[str, JSON]:
    """The object in a JSON file."""
    if not path.exists():
        raise StoreError(f"{path.parent}: not a run folder (there is no {path.name})")
    return read_object(path)


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
class PredictionRow:
    """One line of the file: its place, what it states, the replies that it holds and what they come to, and how the two
    differ.

    `shortened`: its texts may have been cut, so that its outcomes are those that it states.
    """

    place: str
    stated: Mapping[str, JSON]
    turns: tuple[Response | None, Response | None]
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


def read_rows(path: Path, manifest: Mapping[str, JSON]) -> list[PredictionRow]:
    """The rows of a prediction file, read by the rule that its manifest states."""
    ours, cut, read = is_ours(manifest), cut_stated(manifest), reader(parser_stated(manifest))
    return [_row(row, place, read if ours else _without_states(read), ours, cut) for place, row in packed_lines(path)]


def _without_states(read: Reader) -> Reader:
    """The rule as the reference applies it, which knows no error and nothing unfinished."""

    def plain(item: Item, response: Response) -> tuple[Outcome, str]:
        outcome, reason = read(item, response)
        return ("INVALID" if outcome in ("UNFINISHED", "ERROR") else outcome), reason

    return plain


def _row(row: Mapping[str, JSON], place: str, read: Reader, ours: bool, cut: int | None) -> PredictionRow:
    truth, tags = label_of(row), object_of(row, "tags", place)
    texts = [None if row.get(key) is None else clean_text(text_of(row, key)) for key in _TEXTS]
    item = Item(text_of(row, "id"), text_of(row, "question"), truth, tags={key: text_of(tags, key) for key in tags})
    turns = _turns(row, place, texts, ours)
    one = prediction(item, *turns, read)
    if one is None or not item.id:
        raise DataError(f"{place}: a prediction needs an 'id' and a 'ground_truth' that is TRUE or FALSE")
    one = replace(one, latency_s=_count(row, "latency_s", place))
    if not ours:
        one = replace(one, family=text_of(row, "task_family") or NO_FAMILY, split=text_of(row, "split") or NO_SPLIT)
    shortened = cut is not None and longest_text(texts) == cut
    if shortened:
        stated = [row.get(key) for key in ("outcome", "retry_outcome", "first_outcome")]
        if stated[0] is None or not {*stated} <= {*OUTCOMES, None}:
            raise DataError(f"{place}: 'outcome' is missing or unknown; one of {', '.join(OUTCOMES)}")
        reason = text_of(object_of(row, "meta", place), "parse_reason")
        one = replace(one, outcome=stated[0], retry_outcome=stated[1], first=stated[2] or one.first, reason=reason)  # type: ignore[arg-type]  # checked just above
    facts, differs = as_json(one), ""
    for key in sorted(({*facts, *row} if ours else {*STATED}) - ({"meta"} if shortened else set())):
        if key not in facts or row.get(key) != facts[key] or type(row.get(key)) is not type(facts[key]):
            differs = f"{key} is {row.get(key)!r:.80}, its texts give {facts.get(key)!r:.80}"
            break
    if cut is not None and longest_text(texts) > cut:
        differs = f"a text of {longest_text(texts)} characters, where texts were cut to {cut}"
    return PredictionRow(place, row, turns, one, differs, shortened)


def _turns(
    row: Mapping[str, JSON], place: str, texts: Sequence[str | None], ours: bool
) -> tuple[Response | None, Response | None]:
    """The replies to the first and to the second question. A text that a second one replaced is lost.

    The reference asks again after an invalid reply, and keeps that one only where the second is invalid, too.
    """
    text, retried, kept = texts
    ms, tokens = _count(row, "latency_s", place), _count(row, "output_tokens", place)
    error = None if text is not None else clean_text(text_of(row, "error")) or "the source holds no text"
    last = Response(
        text,
        error,
        finish=None if row.get("finish") is None else clean_text(text_of(row, "finish")),
        usage=None if tokens is None else Usage(output=int(tokens)),
        ms=None if ms is None else ms * 1000.0,
    )
    if ours:
        first = None if kept is None else Response(kept)
        return (last, None) if retried is None else (first, last)
    if retried is not None:
        return last, Response(retried)
    return (None, last) if row.get("retry_outcome") is not None else (last, None)


def longest_text(texts: Iterable[str | None]) -> int:
    """The number of characters of the longest of some texts."""
    return max((len(text) for text in texts if text is not None), default=0)


def _count(row: Mapping[str, JSON], key: str, place: str) -> float | None:
    """A number of 0 or more, or None where the key is absent or null."""
    value = number_of(row, key, place)
    if value is not None and not 0 <= value < 1 << 53:
        raise DataError(f"{place}: {key!r} must be 0 or more, not {value:g}")
    return value


def repeated(ids: Iterable[str]) -> list[str]:
    """The ids that occur more than once, in order."""
    return [name for name, count in Counter(ids).items() if count > 1]


def read_run_folder(source: Path, destination: Path) -> Path:
    """Import a run folder (run_manifest.json and predictions) as a run directory, and return it.

    The label that the folder had stored becomes the score `stored_label@import`; ours are derived from the texts by
    'perpend score'. A text that a second one replaced is lost in the source; then only the second turn is there.
    """
    path = predictions_path(source)
    if path is None:
        raise DataError(f"{source}: no predictions.jsonl; there is nothing to import")
    manifest = read_json(source / RUN_MANIFEST)
    check_version(source, manifest, read_json(source / METRICS) if (source / METRICS).is_file() else {})
    rows = read_rows(path, manifest)
    twice = repeated(row.prediction.id for row in rows)
    if twice or not rows:
        raise DataError(f"{path}: " + (f"id {twice[0]!r} occurs twice" if twice else "it is empty"))
    with Intake(destination, "logic", options={"parser": parser_stated(manifest)}) as intake:
        asked_with, provider = _SAMPLING, str(manifest.get("provider") or "unknown")
        if "temperature" in manifest and "max_tokens" in manifest:
            keys = ("temperature", "max_tokens", "seed")
            asked_with = sampling_of({key: manifest.get(key) for key in keys}, RUN_MANIFEST)
        else:
            intake.notes["temperature, max_tokens and seed are the reference's defaults; it records none"] = 1
        intake.conditions[CONDITION] = {"type": "imported", "prompt_hash": manifest.get("prompt_hash")}
        dataset = Dataset(path.name.split(".")[0], "1", path.name, digest_file(path))
        for row in rows:
            one = row.prediction
            tags = {**one.tags, "type": one.family, "split": one.split}
            facts: dict[str, JSON] = {"prompt": one.question, "target": one.truth, "tags": tags}
            for turn, response in enumerate(row.turns):
                if response is not None:
                    record = ImportRecord(row.place, one.id, facts, dataset, provider, asked_with, provider, CONDITION)
                    intake.add(replace(record, trial=one.id, turn=turn, response=response, labels=_stored(row)))
        # The folder's own files stay beside the ledger, so that they can be checked and analysed as in the source.
        (intake.folder / "run").mkdir()
        for name in (RUN_MANIFEST, path.name, METRICS, SUMMARY_PAGE):
            if (source / name).is_file():
                shutil.copyfile(source / name, intake.folder / "run" / (SOURCE_METRICS if name == METRICS else name))
        return intake.write({"kind": "chaosbench run", "run_id": manifest.get("run_id"), "run_manifest": manifest})


def _stored(row: PredictionRow) -> dict[str, Score]:
    """The label and the verdict that the source states, which nothing here believes."""
    correct = row.stated.get("correct")
    reason = str(object_of(row.stated, "meta", row.place).get("parse_reason") or "as the source stored it")
    value = float(correct) if isinstance(correct, bool) else None
    return {STORED: Score(value, normalised(row.stated.get("parsed_label")) or "INVALID", reason)}

"""Rows of any shape as a run: a map says which column is the prompt, the text, the target, a score.

'prompt=question,text=output,target=answer,score.correct=acc'; rows.mapping says how a map is written.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Protocol

from perpend.canon import JSON, number_of
from perpend.errors import DataError, SpecError
from perpend.importers import harness
from perpend.importers.harness import AnswerKey, as_text, column
from perpend.importers.intake import ImportRecord, Intake
from perpend.ledger.plan import Dataset
from perpend.measure.stated import SourceNumber
from perpend.rows.mapping import MappedRow, check_map, mapped
from perpend.rows.reader import read_rows
from perpend.types import Response, Score, Usage

FORMAT = "rows with a field map"
# fmt: off
TEXTS = ("id", "prompt", "target", "decoy", "text", "error", "finish", "model", "condition", "dataset", "trial",
         "turn", "judge")
LISTS = ("choices", "aliases", "stop")
NUMBERS = ("temperature", "max_tokens", "seed", "top_p", "repeat", "ms", "at", "input_tokens", "output_tokens")
# fmt: on
MESSAGES = "messages"
PREFIXES = ("score", "tag")
KEYS = (*TEXTS, *LISTS, *NUMBERS, MESSAGES)
_NEEDED = ("prompt", "text")
_WHOLE = ("max_tokens", "repeat", "input_tokens", "output_tokens")
_MOST = 1 << 53
_UNKNOWN = "unknown"


class Known(Protocol):
    """A published table whose map is known: what a row says beyond its map, and what the source states beside it."""

    @property
    def name(self) -> str:
        """What the manifest says that was imported."""

    def completed(self, record: ImportRecord, row: MappedRow, intake: Intake) -> ImportRecord:
        """The record with what the map cannot say; checks the source's own rule on the way."""

    def stated(self, source: Path) -> Iterable[SourceNumber]:
        """The numbers that the source states of the table."""


def read(source: Path, destination: Path, fields: Mapping[str, str], known: Known | None = None) -> Path:
    """Import a file of rows as the run directory `destination`. A column that no row has is a SpecError.

    `fields` maps names of KEYS, 'score.<name>' and 'tag.<name>' to columns; only what it maps is taken. A turn is a
    condition of its own; a judge has a column of its own for each score.
    """
    check_map(fields, KEYS, PREFIXES)
    scores = any(key.startswith("score.") for key in fields)
    # A table of verdicts alone has neither prompts nor answers: then the id names the item.
    missing = [] if scores and "id" in fields else [key for key in _NEEDED if key not in fields]
    if missing:
        raise SpecError(
            f"--map: {' and '.join(map(repr, missing))} missing; write for example prompt=question,text=output"
        )
    with Intake(destination, harness.TASK) as intake:
        dataset = intake.file(source)
        for row in intake.counted(mapped(read_rows(source, constants=True), source, fields, ())):
            record = record_of(dataset, row.values, row.where, intake.notes)
            intake.add(record if known is None else known.completed(record, row, intake))
        for stated in () if known is None else known.stated(source):
            intake.state(stated)
        return intake.write({"format": FORMAT if known is None else known.name, "map": dict(fields)})


def record_of(source: Dataset, body: Mapping[str, JSON], where: str, notes: Counter[str]) -> ImportRecord:
    """One row as a record, by the names of a map."""
    texts = {key: _text(body.get(key)) for key in TEXTS}
    numbers = {key: _number(body, key, where) for key in NUMBERS}
    placed = _answers(texts["target"], body)
    prompt = texts["prompt"] or texts["id"] or ""
    sent = body.get(MESSAGES)
    model = texts["model"] or _UNKNOWN
    if texts["model"] is None:
        notes["lines that name no model"] += 1
    repeat = numbers["repeat"]
    # A seed of 64 bits would lose its last digits as a float.
    seed = body["seed"] if isinstance(body.get("seed"), int) else numbers["seed"]
    return ImportRecord(
        where=where,
        item=texts["id"] or f"item-{harness.sent_digest([source.name, prompt, placed.target])[:16]}",
        facts={
            "prompt": prompt,
            **placed.facts(),
            "decoy": texts["decoy"],
            "tags": {
                **{key[4:]: text for key in body if key.startswith("tag.") and (text := _text(body[key]))},
                **placed.tags(),
            },
        },
        dataset=replace(source, name=texts["dataset"]) if texts["dataset"] else source,
        condition=_condition(texts),
        model=model,
        sampling=harness.sampling_of({**numbers, "seed": seed, "stop": _texts(body.get("stop"))}, notes),
        trial=texts["trial"],
        repeat=None if repeat is None else int(repeat),
        response=_response(texts, numbers, notes),
        at=numbers["at"],
        prompt_sha256=harness.sent_digest(prompt if sent is None else sent),
        labels=dict(_labels(body, placed, texts["judge"])),
        further="same" if texts["judge"] is not None else "attempt",
    )


def _condition(texts: Mapping[str, str | None]) -> str:
    """The condition, the turn, or both: 'prompt0_turn_3'. Turns of one item pair."""
    turn = f"turn_{texts['turn']}" if texts["turn"] is not None else None
    return "_".join(filter(None, (texts["condition"], turn))) or harness.CONDITION


def _answers(target: str | None, body: Mapping[str, JSON]) -> AnswerKey:
    """The target beside the choices; an integer that is no choice itself counts them from 0."""
    choices = _texts(body.get("choices"))
    place = body.get("target")
    if isinstance(place, int) and not isinstance(place, bool) and target not in choices and 0 <= place < len(choices):
        target = choices[place]
    placed = harness.answer_key([] if target is None else [target], choices)
    aliases = tuple(alias for alias in _texts(body.get("aliases")) if alias.strip() and alias != placed.target)
    return replace(placed, aliases=aliases)


def _labels(body: Mapping[str, JSON], placed: AnswerKey, judge: str | None) -> Iterator[tuple[str, Score]]:
    if body.get(MESSAGES) is not None:
        yield column(MESSAGES), Score(None, as_text(body[MESSAGES]), "the messages that were sent")
    stated = _text(body.get("target"))
    if stated is not None and stated != placed.target and stated.strip():
        yield column("target"), Score(None, stated, "the target as the source states it")
    for key, value in body.items():
        prefix, _, name = key.partition(".")
        if prefix == "score":
            yield from harness.stored_scores(column(*filter(None, (name, judge))), value)


def _response(
    texts: Mapping[str, str | None], numbers: Mapping[str, float | None], notes: Counter[str]
) -> Response | None:
    """The text, or where there is none the error; a line with neither is a trial that was never answered."""
    text, error = texts["text"], texts["error"] or None
    if text is None and error is None:
        notes["trials without an answer, kept as planned"] += 1
        return None
    counts = [None if numbers[key] is None else int(numbers[key] or 0) for key in ("input_tokens", "output_tokens")]
    if text is not None and error is not None:
        notes["lines with a text and an error: the error counts"] += 1
    return Response(
        text=text if error is None else None,
        error=error,
        finish=texts["finish"],
        usage=None if counts == [None, None] else Usage(counts[0], counts[1]),
        ms=numbers["ms"],
    )


def _number(body: Mapping[str, JSON], key: str, where: str) -> float | None:
    value = number_of(body, key, where)
    if value is not None and key in _WHOLE and (value != int(value) or not 0 <= value <= _MOST):
        raise DataError(f"{where}: {key!r} must be an integer of 0 or more, not {value:g}")
    return value


def _text(value: JSON) -> str | None:
    return None if value is None else as_text(value)


def _texts(value: JSON) -> list[str]:
    """The strings of a list, or of an object's values; one string is a list of one."""
    if isinstance(value, Mapping):
        return _texts(list(value.values()))
    if isinstance(value, list):
        return [text for entry in value if (text := _text(entry)) is not None]
    return [] if value is None else [_text(value) or ""]

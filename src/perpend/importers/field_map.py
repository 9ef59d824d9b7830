"""Rows of any shape as a run: a map says which column is the prompt, the text, the target, a score.

'prompt=question,text=output,target=answer,score.correct=acc'; rows.mapping says how a map is written.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path

from perpend.canon import JSON, digest_file, number_of
from perpend.errors import DataError, SpecError
from perpend.importers import harness
from perpend.importers.harness import AnswerKey, as_text, column
from perpend.importers.intake import ImportRecord, Intake
from perpend.ledger.plan import Dataset
from perpend.rows.mapping import check_map, mapped
from perpend.rows.reader import read_rows
from perpend.types import Response, Score, Usage

FORMAT = "rows with a field map"
# fmt: off
TEXTS = ("id", "prompt", "target", "decoy", "text", "error", "finish", "model", "condition", "dataset", "trial")
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


def read(source: Path, destination: Path, fields: Mapping[str, str]) -> Path:
    """Import a file of rows as the run directory `destination`. A column that no row has is a SpecError.

    `fields` maps names of KEYS, 'score.<name>' and 'tag.<name>' to columns; only what it maps is taken.
    """
    check_map(fields, KEYS, PREFIXES)
    missing = [key for key in _NEEDED if key not in fields]
    if missing:
        raise SpecError(
            f"--map: {' and '.join(map(repr, missing))} missing; write for example prompt=question,text=output"
        )
    rows = 0
    dataset = Dataset(source.stem, "import", source.name, digest_file(source))
    with Intake(destination, harness.TASK) as intake:
        for row in mapped(read_rows(source, constants=True), source, fields, ()):
            intake.add(_record(dataset, row.values, row.where, intake.notes))
            rows += 1
        return intake.write(
            {
                "format": FORMAT,
                "map": dict(fields),
                "files": [{"name": source.name, "sha256": dataset.sha256, "rows": rows}],
            }
        )


def _record(source: Dataset, body: Mapping[str, JSON], where: str, notes: Counter[str]) -> ImportRecord:
    texts = {key: _text(body.get(key)) for key in TEXTS}
    numbers = {key: _number(body, key, where) for key in NUMBERS}
    placed = _answers(texts["target"], body)
    prompt = texts["prompt"] or ""
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
        condition=texts["condition"] or harness.CONDITION,
        variant=model,
        model=model,
        sampling=harness.sampling_of({**numbers, "seed": seed, "stop": _texts(body.get("stop"))}, notes),
        trial=texts["trial"],
        repeat=None if repeat is None else int(repeat),
        response=_response(texts, numbers, notes),
        at=numbers["at"],
        prompt_sha256=harness.sent_digest(prompt if sent is None else sent),
        labels=dict(_labels(body, placed)),
    )


def _answers(target: str | None, body: Mapping[str, JSON]) -> AnswerKey:
    """The target beside the choices; an integer that is no choice itself counts them from 0."""
    choices = _texts(body.get("choices"))
    place = body.get("target")
    if isinstance(place, int) and not isinstance(place, bool) and target not in choices and 0 <= place < len(choices):
        target = choices[place]
    placed = harness.answer_key([] if target is None else [target], choices)
    aliases = tuple(alias for alias in _texts(body.get("aliases")) if alias.strip() and alias != placed.target)
    return replace(placed, aliases=aliases)


def _labels(body: Mapping[str, JSON], placed: AnswerKey) -> Iterator[tuple[str, Score]]:
    if body.get(MESSAGES) is not None:
        yield column(MESSAGES), Score(None, as_text(body[MESSAGES]), "the messages that were sent")
    stated = _text(body.get("target"))
    if stated is not None and stated != placed.target and stated.strip():
        yield column("target"), Score(None, stated, "the target as the source states it")
    for key, value in body.items():
        prefix, _, name = key.partition(".")
        if prefix == "score":
            yield from harness.stored_scores(column(name), value)


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

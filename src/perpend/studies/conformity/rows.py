"""JSONL of the conformity study's outputs, one line per output, with its item, condition, model and stored labels.

A line needs `item_id`, `question`, `condition`, `variant` (or `model_id`) and `raw_text`; a null `raw_text` is a trial
without an answer. What else it may state is in KEYS and LABELS. Other keys are counted in the manifest.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from perpend.canon import JSON, digest, dumps, json_lines, named, number_of, object_of
from perpend.canon import text_or_none as text_of
from perpend.errors import DataError
from perpend.importers.harness import AS_STORED
from perpend.importers.intake import ImportRecord, Intake
from perpend.ledger.plan import Dataset
from perpend.studies.conformity import reference
from perpend.studies.conformity.prompts import rendered_prompt_hash
from perpend.types import Response, Score

FORMAT = "conformity rows"
# Other names for one key: a plain dump of the study's tables, and its file of prompts.
SAME = {
    "condition_name": "condition",
    "ground_truth_text": "ground_truth",
    "model_output": "raw_text",
    "is_correct": "stored_is_correct",
    "refusal_flag": "stored_refusal_flag",
    "parsed_answer_text": "stored_parsed_answer_text",
}
# fmt: off
KEYS = frozenset((
    "trial_id", "temperature", "variant", "model_id", "condition", "dataset_name", "item_id",
    "question", "ground_truth", "wrong_answer", "raw_text", "latency_ms", "created_at", "error",
    "finish", "repeat", "seed", "max_tokens", "top_p", "stop", "domain",
    "topic", "category", "source", "is_factual", "system_prompt", "user_prompt", "stored_ground_truth_text",
))
# fmt: on
LABELS = {
    "stored_is_correct": "stored_correct",
    "stored_refusal_flag": "stored_refused",
    "stored_parsed_answer_text": "stored_parsed",
    "ref_is_correct": "ref_correct",
    "ref_mention": "ref_mentioned",
    "ref_W": "ref_endorsed",
}
_LABEL_PREFIXES = ("stored_", "ref_", "human_")
# What an item's ground truth is, and what the runner took for it.
_TRUTHS = ("ground_truth", "stored_ground_truth_text")
_DRAWN = ("seed", "max_tokens", "top_p", "stop")


@dataclass(frozen=True, slots=True)
class _Row:
    """One line with its place; `body` has the names of KEYS and LABELS."""

    where: str
    body: Mapping[str, JSON]
    file: Dataset


def read(source: Path, destination: Path) -> Path:
    """Import a file of rows as the run directory `destination`."""
    with Intake(destination, "conformity") as intake:
        file = intake.file(source)
        for where, body in intake.counted(json_lines(source)):
            row = _Row(where, {SAME.get(key, key): value for key, value in body.items()}, file)
            intake.add(_record(row, intake))
        return intake.write({"format": FORMAT})


def _record(row: _Row, intake: Intake) -> ImportRecord:
    body, where = row.body, row.where
    variant = text_of(body, "variant", where) or named(body, "model_id", where)
    model = text_of(body, "model_id", where) or variant
    temperature = number_of(body, "temperature", where)
    repeat = number_of(body, "repeat", where)
    if repeat is not None and repeat != int(repeat):
        raise DataError(f"{where}: 'repeat' must be an integer, not {repeat:g}")
    if temperature is None:
        intake.notes["rows that state no temperature: 0 was taken"] += 1
    elif temperature < 0:
        raise DataError(f"{where}: 'temperature' must be 0 or more, not {temperature:g}")
    if "max_tokens" not in body:
        intake.notes["rows that state no max_tokens: the study's 128, or 256 for 'think' models, was taken"] += 1
    dataset = text_of(body, "dataset_name", where) or row.file.name
    labels = dict(_labels(row, intake))
    prompt = _prompt(row)
    if prompt is not None:
        labels["stored_prompt"] = Score(None, dumps(prompt), "the rendered prompt of the source")
    return ImportRecord(
        where=where,
        item=text_of(body, "item_id", where) or _content_id(body, dataset),
        facts=_facts(row, dataset, intake),
        dataset=replace(row.file, name=dataset),
        condition=named(body, "condition", where),
        variant=variant,
        model=model,
        sampling=reference.sampling(
            temperature or 0.0, model, {key: body[key] for key in _DRAWN if key in body}, where
        ),
        trial=text_of(body, "trial_id", where),
        repeat=None if repeat is None else int(repeat),
        response=_response(row, intake),
        at=number_of(body, "created_at", where),
        prompt_sha256="" if prompt is None else rendered_prompt_hash(prompt["system"], prompt["user"]),
        labels=labels,
    )


def _facts(row: _Row, dataset: str, intake: Intake) -> dict[str, JSON]:
    """What a line states of its item. An absent key states nothing; a null ground truth states an opinion."""
    body, where = row.body, row.where
    tags = reference.tags(
        dataset=dataset,
        topic=text_of(body, "topic", where) or text_of(body, "category", where),
        domain=text_of(body, "domain", where),
        source=object_of(body, "source", where),
    )
    facts: dict[str, JSON] = {}
    for key, name in (("question", "prompt"), ("wrong_answer", "decoy")):
        if key in body:
            facts[name] = text_of(body, key, where)
    truth = next((key for key in _TRUTHS if key in body), None)
    if truth is None:
        intake.notes["rows that state no ground truth"] += 1
    else:
        stated = text_of(body, truth, where)
        facts["target"] = reference.target(stated)
        tags["kind"] = reference.kind(stated)
    return {**facts, "tags": tags}


def _labels(row: _Row, intake: Intake) -> Iterator[tuple[str, Score]]:
    body, where = row.body, row.where
    truths = [text_of(body, key, where) for key in _TRUTHS if key in body]
    if reference.NO_ANSWER in truths:
        intake.notes["rows of opinions whose ground truth was stored as the word 'None'"] += 1
    if (trial := text_of(body, "trial_id", where)) is not None:
        yield "stored_trial", Score(None, trial, "the trial's id in the source")
    for key, value in body.items():
        if key in KEYS:
            continue
        name = LABELS.get(key, key)
        if not key.startswith(_LABEL_PREFIXES):
            intake.notes[f"rows with the key {key!r}, which is not kept"] += 1
        elif name == "stored_correct" and truths:
            yield name, reference.stored_correct(number_of(body, key, where), truths[-1])
        elif isinstance(value, str) and name not in ("stored_correct", "stored_refused"):
            yield name, Score(None, value, AS_STORED)
        else:
            yield name, Score(number_of(body, key, where), None, AS_STORED)


def _response(row: _Row, intake: Intake) -> Response | None:
    body, where = row.body, row.where
    text, error = text_of(body, "raw_text", where), text_of(body, "error", where)
    if text is None and error is None:
        if "raw_text" not in body:
            raise DataError(f"{where}: no 'raw_text'; give the model's answer, or null for a trial without one")
        intake.notes["trials without an answer, kept as planned"] += 1
        return None
    ms = number_of(body, "latency_ms", where)
    return Response(text=text, error=error if text is None else None, finish=text_of(body, "finish", where), ms=ms)


def _prompt(row: _Row) -> dict[str, str] | None:
    user = text_of(row.body, "user_prompt", row.where)
    if user is None:
        return None
    return {"system": text_of(row.body, "system_prompt", row.where) or "", "user": user}


def _content_id(body: Mapping[str, JSON], dataset: str) -> str:
    """An id for an item that has none, from what it says."""
    known = [dataset, *(body.get(key) for key in ("question", "ground_truth", "wrong_answer"))]
    return f"item-{digest(known)[:16]}"

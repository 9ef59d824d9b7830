"""Logs of inspect_ai, '.eval' and '.json', read directly: a sample and an epoch of it become a trial and its repeat.

What is needed of a log is its `eval` (task, model), and of a sample `id` and `input`. The rest is read where it is
there, so logs of older and newer versions are read as far as they have these. Samples are read one at a time.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from perpend.canon import (
    JSON,
    as_list,
    as_object,
    count_or_none,
    json_object,
    named,
    number_of,
    object_of,
    opened,
    text_or_none,
)
from perpend.errors import DataError, a_or_an
from perpend.importers import harness
from perpend.importers.inspect_results import stated_results
from perpend.importers.intake import ImportRecord, Intake
from perpend.importers.zip_members import Archive
from perpend.ledger.plan import Dataset
from perpend.rows.json_stream import Shape, members, picked
from perpend.types import Response, Sampling, Score, Usage

FORMAT = "inspect_ai log"
_HEADER, _START, _SAMPLES = "header.json", "_journal/start.json", "samples"
_SAMPLE = re.compile(r"^samples/.+_epoch_\d+\.json$", re.DOTALL)
_CHUNKED = re.compile(r"^samples/.+_epoch_\d+/sample\.json$", re.DOTALL)
_ZIP = b"PK\x03\x04"
_ATTACHMENT = "attachment://"
# The token limits of inspect_ai by the word that everybody else has for them; 'unknown' is a server that said nothing.
_FINISH = {"max_tokens": "length", "model_length": "length", "unknown": None}
_TOKEN_LIMITS = ("token", "context")
_MOST_EPOCHS = 1 << 31
_SMALL, _HEAD, _NAMED = 1 << 20, 1 << 12, 5
# What is read of a log and of a sample. The rest, such as the events of a sample, is passed over: it may be large.
_LOG: Shape = dict.fromkeys(("version", "status", "eval", "plan", "results"))
_BODY: Shape = {
    **dict.fromkeys(("id", "epoch", "input", "choices", "target", "messages", "output", "scores", "score", "metadata")),
    **dict.fromkeys(("limit", "error", "error_retries", "invalidation", "model_usage", "working_time")),
    **dict.fromkeys(("started_at", "completed_at", "attachments")),
    "transcript": {"content": None},
}


@dataclass(frozen=True, slots=True)
class _Log:
    """What a log says of all its samples."""

    task: str
    model: str
    dataset: Dataset
    created: float | None


@dataclass(frozen=True, slots=True)
class _Sample:
    """One sample with its place; texts that are among its attachments are looked up there."""

    where: str
    body: Mapping[str, JSON]
    attachments: Mapping[str, JSON]

    def text(self, value: JSON) -> str:
        """A text, or the one that it refers to."""
        text = "" if value is None else harness.as_text(value)
        if text.startswith(_ATTACHMENT):
            return str(self.attachments.get(text.removeprefix(_ATTACHMENT), text))
        return text

    def content(self, value: JSON) -> str:
        """The texts of a message's content, a line each; of pictures and the like their kind in brackets."""
        if not isinstance(value, list):
            return self.text(value)
        parts = [part if isinstance(part, Mapping) else {"type": "text", "text": part} for part in value]
        return "\n".join(
            self.text(part.get("text")) if part.get("type", "text") == "text" else f"[{part.get('type')}]"
            for part in parts
            if part.get("type") != "reasoning"
        )


def is_log(source: Path) -> bool:
    """Whether a file is a log, or a folder holds some.

    A zip archive is one by its members' names; JSON by the `eval` before its samples, and is read no further than that.
    """
    if source.is_dir():
        return bool(_logs(source))
    if _is_zip(source):
        with Archive(source) as archive:
            return bool({_HEADER, _START} & set(archive.names()))
    try:
        for key, value in members(source, _LOG, _SAMPLES, {}):
            if key == "eval":
                return isinstance(value, Mapping) and {"task", "model"} <= value.keys()
            if key == _SAMPLES:
                return False
    except DataError:
        return False
    return False


def read(source: Path, destination: Path) -> Path:
    """Import a log as the run directory `destination`.

    Stored scores become columns 'stored_<scorer>', what the scorer had read out 'stored_<scorer>_answer', why
    'stored_<scorer>_explanation', and the messages that were sent 'stored_messages'.
    """
    with Intake(destination, harness.TASK) as intake, _opened(source, intake.notes) as (header, samples):
        log = _log(source, header, intake)
        if header.get("status") != "success":
            intake.notes[f"logs whose status is {header.get('status')!r}: some samples may be missing"] += 1
        unstated: Counter[str] = Counter()
        sampling = _sampling(header, unstated)
        for sample in intake.counted(samples):
            intake.notes.update(unstated)
            intake.add(_record(log, sample, sampling, intake.notes))
        for stated in stated_results(source, header, intake.columns):
            intake.state(stated)
        return intake.write(
            {
                "format": FORMAT,
                "version": header.get("version"),
                "task": log.task,
                "packages": object_of(_object(header, "eval"), "packages", str(source)),
            }
        )


def parts(folder: Path) -> dict[str, Path]:
    """The logs of a folder: each is an evaluation of its own, of one task by one model."""
    return {path.stem: path for path in _logs(folder)}


def _logs(folder: Path) -> list[Path]:
    """The '.eval' files, and the '.json' files that are logs."""
    files = [path for path in sorted(folder.iterdir()) if path.is_file()]
    return [path for path in files if path.suffix == ".eval" or (path.suffix == ".json" and _is_json_log(path))]


def _is_json_log(path: Path) -> bool:
    """A log says so in its first lines, before its samples; of any other file no more is read."""
    with opened(path) as file:
        head = file.read(_HEAD)
    return b'"eval"' in head and is_log(path)


def _is_zip(source: Path) -> bool:
    with opened(source) as file:
        return file.read(len(_ZIP)) == _ZIP


@contextmanager
def _opened(source: Path, notes: Counter[str]) -> Iterator[tuple[Mapping[str, JSON], Iterator[_Sample]]]:
    """The header of a log and its samples."""
    if _is_zip(source):
        with Archive(source) as archive:
            names = archive.names()
            if any(map(_CHUNKED.match, names)):
                raise DataError(
                    f"{source}: its samples are stored in chunks, which are not read; write it as JSON first: "
                    "inspect log convert LOG.eval --to json --output-dir json"
                )
            if archive.replaced():
                notes["members of the archive that a later one of the same name replaces"] += archive.replaced()
            header = _HEADER if _HEADER in names else _START
            _note_unread([name for name in names if name != header and not _SAMPLE.match(name)], notes)
            yield (
                _body(archive, header, _LOG),
                (_sample(_body(archive, name, _BODY), f"{source}: {name!r}") for name in names if _SAMPLE.match(name)),
            )
    else:
        yield _json_header(source), _json_samples(source)


def _note_unread(names: Sequence[str], notes: Counter[str]) -> None:
    """Say which members of an archive nobody looks at: they may state other numbers than the samples give."""
    if names:
        shown = ", ".join(f"{name!r:.60}" for name in names[:_NAMED]) + (", …" if len(names) > _NAMED else "")
        notes[f"members of the archive that are not read: {shown}"] += len(names)


def _body(archive: Archive, name: str, shape: Shape) -> Mapping[str, JSON]:
    where = f"{archive.path}: {name!r:.200}"
    with archive.open(name) as file:
        text = file.read(_SMALL + 1)
        if len(text) <= _SMALL:
            try:
                return json_object(text.decode("utf-8-sig"), where, constants=True)
            except UnicodeDecodeError as error:
                raise DataError(f"{where}: not UTF-8 at byte {error.start}") from None
    with archive.open(name) as file:
        body = picked(file, where, shape)
    if not isinstance(body, Mapping):
        raise DataError(f"{where}: a JSON object was expected, not {a_or_an(type(body).__name__)}")
    return body


def _json_header(source: Path) -> dict[str, JSON]:
    header: dict[str, JSON] = {}
    for key, value in members(source, _LOG, _SAMPLES, {}):
        if key != _SAMPLES:
            header[key] = value
        elif {"eval", "plan"} <= header.keys():
            break
    return header


def _json_samples(source: Path) -> Iterator[_Sample]:
    number = 0
    for key, value in members(source, {}, _SAMPLES, _BODY):
        if key == _SAMPLES:
            number += 1
            if not isinstance(value, Mapping):
                raise DataError(f"{source}: sample {number} is no object")
            yield _sample(value, f"{source}: sample {number}")


def _sample(body: Mapping[str, JSON], where: str) -> _Sample:
    old = _object(body, "transcript")
    return _Sample(where, body, {**_object(old, "content"), **_object(body, "attachments")})


def _log(source: Path, header: Mapping[str, JSON], intake: Intake) -> _Log:
    body, where = _object(header, "eval"), f"{source}: 'eval' of the log"
    task = named(body, "task", where)
    dataset = intake.file(source, task, str(body.get("task_version", "")))
    return _Log(task, named(body, "model", where), dataset, _time(body.get("created")))


def _sampling(header: Mapping[str, JSON], notes: Counter[str]) -> Sampling:
    """The parameters that a log states for all its samples: the model's own, with the plan's laid over them."""
    stated: dict[str, JSON] = {}
    for config in (_object(header, "eval").get("model_generate_config"), _object(header, "plan").get("config")):
        if isinstance(config, Mapping):
            stated.update((key, value) for key, value in config.items() if value is not None)
    return harness.sampling_of({**stated, "stop": stated.get("stop_seqs")}, notes)


def _record(log: _Log, sample: _Sample, sampling: Sampling, notes: Counter[str]) -> ImportRecord:
    body, where = sample.body, sample.where
    if not isinstance(body.get("id"), str | int) or "input" not in body:
        raise DataError(f"{where}: a sample needs 'id' and 'input'; it has {', '.join(sorted(body)[:12])}")
    epoch = number_of(body, "epoch", where) or 1
    if not 1 <= epoch < _MOST_EPOCHS or epoch != int(epoch):
        raise DataError(f"{where}: 'epoch' must be an integer of 1 or more, not {epoch:g}")
    sent = _sent(sample)
    response = _response(sample, notes)
    placed = harness.answer_key(_texts(sample, body.get("target")), _texts(sample, body.get("choices")))
    if body.get("invalidation") is not None:
        notes["samples that were marked as invalid later, kept like the others"] += 1
    return ImportRecord(
        where=where,
        item=str(body["id"]),
        facts={
            "prompt": _question(sample, sent),
            **placed.facts(),
            "tags": {**harness.tags_of(_object(body, "metadata"), notes), **placed.tags()},
        },
        dataset=log.dataset,
        model=log.model,
        sampling=sampling,
        repeat=int(epoch) - 1,
        response=response,
        at=_time(body.get("completed_at")) or _time(body.get("started_at")) or log.created,
        prompt_sha256=harness.sent_digest(sent) if sent else "",
        labels=dict(_labels(sample, placed, sent, response)),
    )


def _question(sample: _Sample, sent: Sequence[Mapping[str, JSON]]) -> str:
    """What a sample asks: its input, of several messages the last of the user; if that is blank, what was sent."""
    given = sample.body.get("input")
    if isinstance(given, list):
        messages = [as_object(message) for message in given]
        users = [message for message in messages if message.get("role") == "user"] or messages
        question = sample.content(users[-1].get("content")) if users else ""
    else:
        question = sample.text(given)
    return question if question.strip() else "\n".join(str(message["content"]) for message in sent)


def _sent(sample: _Sample) -> list[dict[str, JSON]]:
    """The messages before the last one of the model; all of them where it said nothing."""
    messages = [as_object(message) for message in as_list(sample.body.get("messages"))]
    own = [number for number, message in enumerate(messages) if message.get("role") == "assistant"]
    return [
        {"role": str(message.get("role")), "content": sample.content(message.get("content"))}
        for message in messages[: own[-1] if own else None]
    ]


def _labels(
    sample: _Sample, placed: harness.AnswerKey, sent: Sequence[JSON], response: Response
) -> Iterator[tuple[str, Score]]:
    if sent:
        yield harness.column("messages"), Score(None, harness.as_text(sent), "the messages that were sent")
    if placed.stated is not None:
        yield harness.column("target"), Score(None, placed.stated, "the target as the source states it")
    scores = {**_object(sample.body, "scores")}
    if isinstance(sample.body.get("score"), Mapping):  # logs of before 2024-07 had one
        scores["score"] = sample.body["score"]
    for name, score in scores.items():
        if not isinstance(score, Mapping):
            continue
        yield from harness.stored_scores(harness.column(name), score.get("value"))
        for part in ("answer", "explanation"):
            text = None if score.get(part) is None else sample.text(score[part])
            if text is not None and not (part == "explanation" and text == response.text):
                yield harness.column(name, part), Score(None, text, f"the scorer's {part}")


def _response(sample: _Sample, notes: Counter[str]) -> Response:
    """What came back: the error that ended the sample, or the model's last text with its reasoning before it."""
    body, where = sample.body, sample.where
    output = object_of(body, "output", where)
    choices = [as_object(choice) for choice in as_list(output.get("choices"))]
    message = _object(choices[0], "message") if choices else _last_answer(body)
    text = sample.text(output.get("completion")) or sample.content(message.get("content"))
    limit = object_of(body, "limit", where)
    ended = object_of(body, "error", where)
    failed = ended.get("message", "an error without a message") if ended else None if text else output.get("error")
    if failed is None and not choices and not text:
        failed = f"{limit.get('type')} limit of {limit.get('limit')}" if limit else "the sample holds no output"
    taken = number_of(output, "time", where) or number_of(body, "working_time", where)
    if body.get("error_retries"):
        notes["samples with earlier failures, which are not kept"] += 1
    ms = None if taken is None else taken * 1000.0
    usage = _usage(output.get("usage")) or _usage(next(iter(_object(body, "model_usage").values()), None))
    if failed is not None:
        return Response(error=sample.text(failed), usage=usage, ms=ms)
    stop = text_or_none(choices[0], "stop_reason", where) if choices else None
    finish = "length" if limit.get("type") in _TOKEN_LIMITS else None if stop is None else _FINISH.get(stop, stop)
    return Response(text=_reasoning(sample, message) + text, finish=finish, usage=usage, ms=ms)


def _last_answer(body: Mapping[str, JSON]) -> Mapping[str, JSON]:
    messages = [as_object(message) for message in as_list(body.get("messages"))]
    return messages[-1] if messages and messages[-1].get("role") == "assistant" else {}


def _reasoning(sample: _Sample, message: Mapping[str, JSON]) -> str:
    """The reasoning of a message as a block that scorers know; of an encrypted one its summary."""
    parts = [as_object(part) for part in as_list(message.get("content"))]
    blocks = [
        sample.text(part.get("summary") if part.get("redacted") else part.get("reasoning"))
        for part in parts
        if part.get("type") == "reasoning"
    ]
    if message.get("reasoning") is not None:  # where versions of early 2025 had it
        blocks.append(sample.text(message["reasoning"]))
    return "".join(f"<think>{block}</think>\n" for block in blocks)


def _usage(value: JSON) -> Usage | None:
    if not isinstance(value, Mapping):
        return None
    return Usage(count_or_none(value.get("input_tokens")), count_or_none(value.get("output_tokens")))


def _time(value: JSON) -> float | None:
    """Seconds since 1970 of a time in ISO 8601, in UTC unless it says otherwise."""
    if not isinstance(value, str):
        return None
    try:
        moment = datetime.fromisoformat(value)
    except ValueError:
        return None
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()


def _texts(sample: _Sample, value: JSON) -> list[str]:
    """A string or a list of strings as a list."""
    return [sample.text(entry) for entry in value] if isinstance(value, list) else [sample.text(value)] if value else []


def _object(body: JSON, key: str) -> Mapping[str, JSON]:
    return as_object(as_object(body).get(key))

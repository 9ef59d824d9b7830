"""Plain JSONL of any shape as a run: a map says which field of a line is the prompt, the text, the target, a score.

On the command line 'prompt=question,text=output,target=answer,score.correct=acc'; in a TOML file the same names, with
[score] and [tag] as tables. A field is a key, or a path such as 'doc.choices.text' or 'outputs.0.text'. What begins
with '=' is the value itself, for all lines: 'model==gpt-4o'.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from perpend.canon import JSON, digest_file, json_lines, number_of
from perpend.errors import DataError, SpecError, did_you_mean
from perpend.importers import harness
from perpend.importers.harness import AnswerKey, as_text, column
from perpend.importers.intake import ImportRecord, Intake
from perpend.ledger.plan import Dataset
from perpend.toml import read_toml
from perpend.types import Response, Score, Usage

FORMAT = "JSONL with a field map"
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


@dataclass(frozen=True, slots=True)
class FieldMap:
    """Which field of a line gives what: names of KEYS, 'score.<name>' and 'tag.<name>'."""

    fields: Mapping[str, str]

    def __post_init__(self) -> None:
        for key, field in self.fields.items():
            prefix, dot, rest = key.partition(".")
            if not (prefix in PREFIXES and rest if dot else key in KEYS):
                known = [*KEYS, *(f"{name}.NAME" for name in PREFIXES)]
                raise SpecError(f"field map: unknown name {key!r}; {did_you_mean(key, known)}")
            if not field:
                raise SpecError(f"field map: {key!r} names no field; write {key}=FIELD")
        missing = [key for key in _NEEDED if key not in self.fields]
        if missing:
            raise SpecError(
                f"field map: {' and '.join(map(repr, missing))} missing; write for example prompt=question,text=output"
            )


def parse_map(text: str) -> FieldMap:
    """The map of 'name=field,name=field', or of a TOML file where the text is the name of one."""
    if text.endswith(".toml"):
        return FieldMap(dict(_read_toml(Path(text))))
    fields: dict[str, str] = {}
    for part in text.split(","):
        key, equals, field = part.strip().partition("=")
        if not equals or key in fields:
            raise SpecError(f"field map: {part!r}: write each name once, as NAME=FIELD, with a comma between")
        fields[key] = field
    return FieldMap(fields)


def _read_toml(path: Path) -> Iterator[tuple[str, str]]:
    body = read_toml(path)
    for key, value in body.items():
        entries = {f"{key}.{name}": field for name, field in value.items()} if isinstance(value, dict) else {key: value}
        for name, field in entries.items():
            if not isinstance(field, str):
                raise SpecError(f'{path}: {name!r} must be the name of a field, in quotes; a value is "={field}"')
            yield name, field


class _Reader:
    """Lines as their fields. `unseen` are the fields that no line has had so far."""

    def __init__(self, fields: FieldMap, source: Path) -> None:
        self.fields, self.source = fields.fields, source
        self.dataset = Dataset(source.stem, "import", source.name, digest_file(source))
        self.unseen = {field for field in self.fields.values() if not field.startswith("=")}

    def values(self, body: Mapping[str, JSON]) -> dict[str, JSON]:
        """What a line says, by the names of the map; what it does not say is left out."""
        values: dict[str, JSON] = {}
        for key, field in self.fields.items():
            is_there, value = (True, field[1:]) if field.startswith("=") else _lookup(body, field)
            if is_there:
                values[key] = value
                self.unseen.discard(field)
        return values


def _lookup(body: JSON, field: str) -> tuple[bool, JSON]:
    """Whether there is such a field, and what it holds. A key is taken as it stands before it is taken as a path."""
    if isinstance(body, Mapping) and field in body:
        return True, body[field]
    head, dot, rest = field.partition(".")
    if isinstance(body, list) and head.isdecimal() and int(head) < len(body):
        return _lookup(body[int(head)], rest) if dot else (True, body[int(head)])
    if dot and isinstance(body, Mapping) and head in body:
        return _lookup(body[head], rest)
    return False, None


def read(source: Path, destination: Path, fields: FieldMap) -> Path:
    """Import a JSONL file as the run directory `destination`. A field that no line has is a SpecError."""
    rows, keys = 0, set[str]()
    reader = _Reader(fields, source)
    with Intake(destination, harness.TASK) as intake:
        for where, body in json_lines(source, constants=True):
            intake.add(_record(reader, reader.values(body), where, intake.notes))
            keys |= body.keys()
            rows += 1
        for field in sorted(reader.unseen) if rows else ():
            raise SpecError(f"{source}: no line has the field {field!r}; {did_you_mean(field, keys)}")
        return intake.write(
            {
                "format": FORMAT,
                "map": dict(fields.fields),
                "files": [{"name": source.name, "sha256": reader.dataset.sha256, "rows": rows}],
            }
        )


def _record(reader: _Reader, body: Mapping[str, JSON], where: str, notes: Counter[str]) -> ImportRecord:
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
        item=texts["id"] or f"item-{harness.sent_digest([reader.dataset.name, prompt, placed.target])[:16]}",
        facts={
            "prompt": prompt,
            **placed.facts(),
            "decoy": texts["decoy"],
            "tags": {
                **{key[4:]: text for key in body if key.startswith("tag.") and (text := _text(body[key]))},
                **placed.tags(),
            },
        },
        dataset=Dataset(texts["dataset"], "import", reader.source.name, reader.dataset.sha256)
        if texts["dataset"]
        else reader.dataset,
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

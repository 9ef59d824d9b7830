"""manifest.json: a run's intent, written once before the first question. Read and checked in one place: here."""

from __future__ import annotations

import hashlib
import platform
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import cache
from importlib.resources import files
from pathlib import Path

from perpend.canon import (
    JSON,
    VERSION,
    as_object,
    digest,
    dumps,
    list_of,
    object_of,
    pretty,
    read_object,
    text_of,
    whole_of,
    write_atomic,
)
from perpend.errors import DataError, StoreError, check_format, did_you_mean
from perpend.ledger.plan import Dataset, sampling_of
from perpend.ledger.stopping import StopFacts, read_stop
from perpend.types import Item, Sampling

FORMAT = 2
MANIFEST = "manifest.json"
# What must be the same for a run to be resumed. The rest says when and with which code it was begun.
BINDING = ("task", "items", "conditions", "reprompt", "models", "samplings", "repeats", "sources", "stop")
_KEYS = (*BINDING, "format", "run", "created", "trials", "scorers", "datasets", "code", "import")
RULES = "rules"
"""The kind of source that is data: a rule file of an author's own."""
_KINDS, _LONGEST_NAME = ("tasks", "scorers", "models", RULES), 255
_LONGEST_HINT = 400


@dataclass(frozen=True, slots=True)
class Template:
    """The whole text of a condition, or of the second turn, and its digest as the manifest states it."""

    name: str
    params: Mapping[str, JSON]
    sha256: str

    def as_json(self) -> dict[str, JSON]:
        """The entry of a condition."""
        return {"name": self.name, "params": dict(self.params), "sha256": self.sha256}


def template(name: str, params: Mapping[str, JSON]) -> Template:
    """A template with the digest of its params."""
    return Template(name, params, digest(dict(params)))


@dataclass(frozen=True, slots=True)
class ModelFacts:
    """One model of a run: name and label, the options that may change an answer, and what identifies its weights."""

    name: str
    label: str
    options: Mapping[str, JSON] = field(default_factory=dict)
    max_tokens: int | None = None
    fingerprint: Mapping[str, JSON] = field(default_factory=dict)

    def as_json(self) -> dict[str, JSON]:
        """The entry of a model."""
        return {
            "name": self.name,
            "label": self.label,
            "options": dict(self.options),
            "max_tokens": self.max_tokens,
            "fingerprint": dict(self.fingerprint),
        }


@dataclass(frozen=True, slots=True)
class ItemsFacts:
    """Which items a run asks: how many, their digest, how they were drawn, and the freeze that they were checked by."""

    n: int
    sha256: str
    max_items: int | None = None
    seed: int | None = None
    freeze_sha256: str | None = None
    fields: Mapping[str, str] = field(default_factory=dict)
    """Which columns of the files the items were made of, `map` in the manifest; empty where none was mapped."""

    def as_json(self) -> dict[str, JSON]:
        """The entry of the items."""
        return {name: getattr(self, name) for name in ItemsFacts.__slots__ if name != "fields"} | {
            "map": dict(self.fields)
        }


@dataclass(frozen=True, slots=True)
class SourceFile:
    """A Python file of a task, scorer or model of the run, or a rule file; a copy is in its folder `code`."""

    kind: str
    """'tasks', 'scorers' or 'models' of a Python file; 'rules'."""
    file: str
    sha256: str

    def as_json(self) -> dict[str, JSON]:
        """The entry of a source."""
        return {"kind": self.kind, "file": self.file, "sha256": self.sha256}


@dataclass(frozen=True, slots=True)
class Manifest:
    """What a run set out to do. `source_of_import` is None for a run that perpend asked itself.

    `sources` are empty where every name is one of perpend's or of an installed package.
    """

    run: str
    task: str
    options: Mapping[str, JSON]
    items: ItemsFacts
    conditions: tuple[Template, ...]
    models: tuple[ModelFacts, ...]
    samplings: tuple[Sampling, ...]
    trials: int
    scorers: tuple[str, ...]
    datasets: tuple[Dataset, ...]
    choices_scored: bool = False
    reprompt: Template | None = None
    repeats: int = 1
    sources: tuple[SourceFile, ...] = ()
    stop: StopFacts | None = None
    """When it may stop before all is asked; None: never."""
    source_of_import: Mapping[str, JSON] | None = None
    created: str = ""
    code: Mapping[str, JSON] = field(default_factory=dict)

    @property
    def python(self) -> tuple[SourceFile, ...]:
        """The sources that are code, and are run only where somebody trusts them."""
        return tuple(source for source in self.sources if source.kind != RULES)

    @property
    def is_imported(self) -> bool:
        """The questions were asked elsewhere."""
        return self.source_of_import is not None

    def source(self, kind: str) -> SourceFile | None:
        """The file that the task came from; None where it is packaged."""
        return next((source for source in self.sources if source.kind == kind), None)

    def samplings_of(self, model: ModelFacts) -> tuple[Sampling, ...]:
        """The samplings that one of its models is asked with: the run's, with the model's own token limit if any."""
        if model.max_tokens is None:
            return self.samplings
        return tuple(replace(sampling, max_tokens=model.max_tokens) for sampling in self.samplings)

    def declared_samplings(self) -> Iterator[Sampling]:
        """Every sampling that some model is asked with, each once, in the order of the models; made as it is wanted."""
        seen: set[Sampling] = set()
        without = self._unlimited()
        for limit in dict.fromkeys(model.max_tokens for model in self.models):
            for one in self.samplings if limit is None else without:
                sampling = one if limit is None else replace(one, max_tokens=limit)
                if sampling not in seen:
                    seen.add(sampling)
                    yield sampling

    def declared_cells(self) -> int:
        """How many cells models, samplings and conditions make; counted and not listed: a forger may state millions."""
        own = sum(model.max_tokens is not None for model in self.models)
        pairs = own * len(self._unlimited()) + (len(self.models) - own) * len(self.samplings)
        return pairs * len(self.conditions)

    def _unlimited(self) -> tuple[Sampling, ...]:
        """The samplings that are left where a model has its own token limit."""
        return tuple(dict.fromkeys(replace(sampling, max_tokens=1) for sampling in self.samplings))

    def as_json(self) -> dict[str, JSON]:
        """The body of manifest.json."""
        return {
            "format": FORMAT,
            "run": self.run,
            "created": self.created,
            "task": {"name": self.task, "options": dict(self.options), "choices_scored": self.choices_scored},
            "items": self.items.as_json(),
            "conditions": [condition.as_json() for condition in self.conditions],
            "reprompt": None
            if self.reprompt is None
            else {"params": dict(self.reprompt.params), "sha256": self.reprompt.sha256},
            "models": [model.as_json() for model in self.models],
            "samplings": [sampling.as_json() for sampling in self.samplings],
            "repeats": self.repeats,
            "trials": self.trials,
            "scorers": list(self.scorers),
            "datasets": [dataset.as_json() for dataset in self.datasets],
            "code": dict(self.code),
            "sources": [source.as_json() for source in self.sources],
            "stop": None if self.stop is None else self.stop.as_json(),
            "import": None if self.source_of_import is None else dict(self.source_of_import),
        }

    def binding(self) -> dict[str, JSON]:
        """The part that must be the same for the run to be resumed."""
        body = replace(self, sources=self.python).as_json()  # rules of one's own may come to stored answers
        return {key: body[key] for key in BINDING}


def read_manifest(directory: Path) -> Manifest:
    """The manifest of a run directory or a published folder. What is not one is a StoreError that says why."""
    path = directory / MANIFEST
    if not path.exists():
        raise StoreError(f"{directory}: {_no_run(directory)}")
    body = read_object(path, StoreError, within=directory)
    check_format(body.get("format"), FORMAT, path, as_object(body.get("code")).get("perpend"))
    return parse_manifest(body, str(path))


def _no_run(directory: Path) -> str:
    """Why a path is no run, and what to do: the runs beside it that have nearly its name, if it is not there at all."""
    if (directory / "shards" / MANIFEST).is_file():
        return "the shards of this run were not put together yet; 'perpend merge' does it"
    if directory.is_dir():
        return f"not a run (there is no {MANIFEST}); 'perpend eval' makes one"
    if directory.exists():
        return "not a run, which is a folder; give the folder that 'perpend eval' made"
    try:
        runs = [path.parent.name for path in directory.parent.glob(f"*/{MANIFEST}")]
    except OSError:
        runs = []
    near = did_you_mean(directory.name, runs) if runs else "'perpend eval' makes one"
    return f"not a run (there is no such folder); {near if len(near) <= _LONGEST_HINT else 'look at its name again'}"


def parse_manifest(body: Mapping[str, JSON], where: str) -> Manifest:
    """The manifest that an object states. An unknown key, a missing one or a wrong type is a StoreError."""
    for key in body:
        if key not in _KEYS:
            raise StoreError(f"{where}: unknown key {key!r}; {did_you_mean(key, _KEYS)}")
    for key in _KEYS:
        if key not in body:
            raise StoreError(f"{where}: {key!r} is missing; the file was changed")
    try:
        return _manifest(body, where)
    except DataError as error:
        raise StoreError(str(error)) from None


def _manifest(body: Mapping[str, JSON], where: str) -> Manifest:
    task, items, reprompt = object_of(body, "task", where), object_of(body, "items", where), body.get("reprompt")
    choices_scored = task.get("choices_scored")
    if not isinstance(choices_scored, bool):
        raise StoreError(f"{where}: 'choices_scored' of the task must be true or false, not {choices_scored!r}")
    second = object_of(body, "reprompt", where)
    freeze = items.get("freeze_sha256")
    return Manifest(
        run=text_of(body, "run", where),
        task=text_of(task, "name", where),
        options=object_of(task, "options", where),
        choices_scored=choices_scored,
        items=ItemsFacts(
            n=whole_of(items, "n", where),
            sha256=text_of(items, "sha256", where),
            max_items=_whole_or_none(items, "max_items", where),
            seed=_whole_or_none(items, "seed", where),
            freeze_sha256=None if freeze is None else text_of(items, "freeze_sha256", where),
            fields={key: _text(value, "map", where) for key, value in object_of(items, "map", where).items()},
        ),
        conditions=tuple(
            Template(text_of(entry, "name", where), object_of(entry, "params", where), text_of(entry, "sha256", where))
            for entry in _objects(body, "conditions", where)
        ),
        reprompt=None
        if reprompt is None
        else Template("reprompt", object_of(second, "params", where), text_of(second, "sha256", where)),
        models=tuple(
            ModelFacts(
                text_of(entry, "name", where),
                text_of(entry, "label", where),
                object_of(entry, "options", where),
                _whole_or_none(entry, "max_tokens", where),
                object_of(entry, "fingerprint", where),
            )
            for entry in _objects(body, "models", where)
        ),
        samplings=tuple(sampling_of(entry, where) for entry in _objects(body, "samplings", where)),
        repeats=whole_of(body, "repeats", where),
        trials=whole_of(body, "trials", where),
        scorers=tuple(_text(entry, "scorers", where) for entry in list_of(body, "scorers", where)),
        datasets=tuple(
            Dataset(*(text_of(entry, key, where) for key in ("name", "version", "path", "sha256")))
            for entry in _objects(body, "datasets", where)
        ),
        sources=tuple(_source(entry, where) for entry in _objects(body, "sources", where)),
        stop=None if body["stop"] is None else read_stop(object_of(body, "stop", where), where),
        source_of_import=None if body["import"] is None else object_of(body, "import", where),
        created=text_of(body, "created", where),
        code=object_of(body, "code", where),
    )


def _source(entry: Mapping[str, JSON], where: str) -> SourceFile:
    """A source, whose file is a plain name that a folder can hold: it is opened below the run's folder `code`."""
    source = SourceFile(*(text_of(entry, key, where) for key in ("kind", "file", "sha256")))
    name = source.file
    if name in ("", "..") or not name.isprintable() or Path(name).name != name or len(name.encode()) > _LONGEST_NAME:
        raise StoreError(f"{where}: the file of a source is a name of at most {_LONGEST_NAME} bytes, not {name!r:.80}")
    if source.kind not in _KINDS:
        raise StoreError(f"{where}: a source is one of {', '.join(_KINDS)}, not {source.kind!r:.80}")
    return source


def _whole_or_none(body: Mapping[str, JSON], key: str, where: str) -> int | None:
    return None if body.get(key) is None else whole_of(body, key, where)


def _objects(body: Mapping[str, JSON], key: str, where: str) -> list[Mapping[str, JSON]]:
    return [object_of({key: entry}, key, where) for entry in list_of(body, key, where)]


def _text(value: JSON, key: str, where: str) -> str:
    return text_of({key: value}, key, where)


class ItemsDigest:
    """The digest of the exact items of a run, in plan order, taken while they stream by."""

    def __init__(self) -> None:
        self._hash = hashlib.sha256()
        self.count = 0

    def add(self, item: Item) -> None:
        """Take the next item in."""
        self._hash.update(dumps(item.as_json()).encode() + b"\n")
        self.count += 1

    def hexdigest(self) -> str:
        """SHA-256 over the canonical JSON lines so far."""
        return self._hash.hexdigest()


def write_manifest(directory: Path, manifest: Manifest) -> None:
    """Write manifest.json whole."""
    write_atomic(directory / MANIFEST, pretty(manifest.as_json()))


def now() -> str:
    """The time as a manifest states it, to the second, in UTC."""
    return datetime.now(UTC).isoformat(timespec="seconds")


@cache
def code_version() -> Mapping[str, JSON]:
    """perpend's version, the digest of its own source, and Python's version."""
    sources = hashlib.sha256()
    root = Path(str(files("perpend")))
    for path in sorted(root.rglob("*")):
        if path.suffix in {".py", ".sql"}:
            sources.update(path.relative_to(root).as_posix().encode() + b"\0" + path.read_bytes() + b"\0")
    return {"perpend": VERSION, "source_sha256": sources.hexdigest(), "python": platform.python_version()}


def differences(before: JSON, after: JSON, where: str = "") -> list[str]:
    """Where two manifests differ, each as 'place: before → after'."""
    if isinstance(before, Mapping) and isinstance(after, Mapping):
        keys = sorted({*before, *after})
        return [
            line for key in keys for line in differences(before.get(key), after.get(key), f"{where}.{key}".lstrip("."))
        ]
    if isinstance(before, list) and isinstance(after, list) and len(before) == len(after):
        pairs = zip(before, after, strict=True)
        return [line for n, (a, b) in enumerate(pairs) for line in differences(a, b, f"{where}[{n}]")]
    if before == after:
        return []
    return [f"{where}: {_short(before)} → {_short(after)}"]


def _short(value: JSON) -> str:
    text = dumps(value)
    return text if len(text) <= 80 else text[:77] + "…"

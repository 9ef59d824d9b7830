"""manifest.json: a run's intent, written once before the first question, and what differs when it is asked again."""

from __future__ import annotations

import hashlib
import json
import platform
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from importlib.resources import files
from pathlib import Path

import perpend
from perpend.canon import JSON, digest, dumps, pretty, write_atomic
from perpend.compose import Task, find_scorer
from perpend.errors import StoreError
from perpend.models.base import Model
from perpend.plan import Dataset
from perpend.spec import RunSpec
from perpend.types import Item

FORMAT = 1
# What must be the same for a run to be gone on with. The rest says when and with which code it was begun.
BINDING = ("task", "items", "conditions", "reprompt", "models", "samplings", "repeats")


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


def binding(spec: RunSpec, task: Task, models: Sequence[Model], items: Mapping[str, JSON]) -> dict[str, JSON]:
    """The part of a manifest that binds: digests of items, templates, decode parameters and weights."""
    return {
        "task": {
            "name": task.name,
            "options": dict(task.options),
            "choices_scored": task.choices_scored,
        },
        "items": dict(items),
        "conditions": [
            {"name": c.name, "params": dict(c.params), "sha256": digest(dict(c.params))} for c in task.conditions
        ],
        "reprompt": None
        if task.reprompt is None
        else {"params": dict(task.reprompt.params), "sha256": digest(dict(task.reprompt.params))},
        "models": [
            {**model_spec.identity(), "fingerprint": dict(model.fingerprint())}
            for model_spec, model in zip(spec.models, models, strict=True)
        ],
        "samplings": [sampling.as_json() for sampling in spec.samplings],
        "repeats": spec.repeats,
    }


def write_manifest(
    path: Path, bound: Mapping[str, JSON], datasets: Sequence[Dataset], facts: Mapping[str, JSON]
) -> None:
    """Write manifest.json: the binding part, the item files, and what else the run knows of itself."""
    body: dict[str, JSON] = {
        **bound,
        **facts,
        "format": FORMAT,
        "created": datetime.now(UTC).isoformat(timespec="seconds"),
        "datasets": [{"name": d.name, "version": d.version, "path": d.path, "sha256": d.sha256} for d in datasets],
        "code": code_version(),
    }
    write_atomic(path, pretty(body))


def read_manifest(directory: Path) -> dict[str, JSON]:
    """The manifest of a run directory."""
    path = directory / "manifest.json"
    try:
        body = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise StoreError(f"{directory}: not a run (there is no manifest.json); 'perpend eval' makes one") from None
    except (json.JSONDecodeError, UnicodeDecodeError) as error:
        raise StoreError(f"{path}: damaged: {error}") from None
    if not isinstance(body, dict) or body.get("format") != FORMAT:
        raise StoreError(f"{path}: not a manifest of format {FORMAT}; upgrade perpend or start the run anew")
    return body


def scorer_names(task: Task) -> list[JSON]:
    """The task's scorers with their versions, as 'name@version'."""
    return [f"{scorer.name}@{scorer.version}" for scorer in map(find_scorer, task.scorers)]


def code_version() -> dict[str, JSON]:
    """perpend's version, the digest of its own source, and Python's version."""
    sources = hashlib.sha256()
    root = Path(str(files("perpend")))
    for path in sorted(root.rglob("*")):
        if path.suffix in {".py", ".sql"}:
            sources.update(path.relative_to(root).as_posix().encode() + b"\0" + path.read_bytes() + b"\0")
    return {
        "perpend": perpend.__version__,
        "source_sha256": sources.hexdigest(),
        "python": platform.python_version(),
    }


def differences(before: JSON, now: JSON, where: str = "") -> list[str]:
    """Where two manifests differ, each as 'place: before → now'."""
    if isinstance(before, Mapping) and isinstance(now, Mapping):
        keys = sorted({*before, *now})
        return [
            line for key in keys for line in differences(before.get(key), now.get(key), f"{where}.{key}".lstrip("."))
        ]
    if isinstance(before, list) and isinstance(now, list) and len(before) == len(now):
        pairs = zip(before, now, strict=True)
        return [line for n, (a, b) in enumerate(pairs) for line in differences(a, b, f"{where}[{n}]")]
    if before == now:
        return []
    return [f"{where}: {_short(before)} → {_short(now)}"]


def _short(value: JSON) -> str:
    text = dumps(value)
    return text if len(text) <= 80 else text[:77] + "…"

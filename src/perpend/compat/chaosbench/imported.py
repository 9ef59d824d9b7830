"""A run folder of the reference as a run of perpend: its items, its texts, and the labels that it had stored."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from perpend.canon import JSON, digest, digest_file, write_atomic
from perpend.compat.chaosbench.predictions import Prediction, predictions_path, read_predictions, repeated_ids
from perpend.compat.chaosbench.rundir import RUN_MANIFEST, read_json
from perpend.compat.chaosbench.settings import TASK
from perpend.compat.reference import must_be_free
from perpend.compose import make_task
from perpend.data import check_item
from perpend.errors import DataError
from perpend.manifest import ItemsDigest, scorer_names, write_manifest
from perpend.plan import Dataset, Plan
from perpend.store import Appended, Store
from perpend.types import Item, Response, Sampling, Score, Scorer

STORED = "stored_label"
CONDITION = "question"
# The reference's defaults; it records neither, nor does it send a seed.
_SAMPLING = Sampling(temperature=0.0, max_tokens=16, seed=None)


def is_run_folder(source: Path) -> bool:
    """Whether a folder holds a run of the protocol: a run manifest and predictions."""
    return (source / RUN_MANIFEST).is_file() and predictions_path(source) is not None


def read_run_folder(source: Path, destination: Path) -> Path:
    """Import a run folder (run_manifest.json and predictions) as a run directory, and return it.

    The label that the folder had stored becomes the score `stored_label@import`; ours are derived from the texts by
    'perpend score'. A text that a second one replaced is lost in the source; then only the second turn is there.
    """
    must_be_free(destination)
    path = predictions_path(source)
    if path is None:
        raise DataError(f"{source}: no predictions.jsonl; there is nothing to import")
    manifest, predictions = read_json(source / RUN_MANIFEST), read_predictions(path)
    twice = repeated_ids(predictions)
    if twice or not predictions:
        raise DataError(f"{path}: " + (f"id {twice[0]!r} occurs twice" if twice else "it is empty"))
    destination.parent.mkdir(parents=True, exist_ok=True)
    folder = Path(tempfile.mkdtemp(dir=destination.parent, prefix=".import-"))
    try:
        _write(folder / "run", destination.name, manifest, path, predictions)
        if destination.exists():
            destination.rmdir()
        (folder / "run").replace(destination)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return destination


def _write(made: Path, name: str, manifest: Mapping[str, JSON], path: Path, predictions: Sequence[Prediction]) -> None:
    provider = str(manifest.get("provider") or "unknown")
    plan = Plan(
        datasets=[Dataset(path.name.split(".")[0], "1", path.name, digest_file(path))],
        conditions={CONDITION: {"type": "imported", "prompt_hash": manifest.get("prompt_hash")}},
        models=[(provider, provider, {})],
        samplings={provider: (_SAMPLING,)},
        repeats=1,
    )
    found = ItemsDigest()
    with Store.create(made / "run.db", name) as store:
        trials = store.write_plan(plan, _items(predictions, path, found))
        store.append(row for number, one in enumerate(predictions, 1) for row in _responses(number, one))
        store.write_scores([Scorer(STORED, "import", _as_stored)], _labels(predictions))
    facts: dict[str, JSON] = {
        "run": name,
        "trials": trials,
        "scorers": scorer_names(make_task(TASK, {})),
        "import": {
            "kind": "chaosbench run",
            "run_id": manifest.get("run_id"),
            "run_manifest": manifest,
            "notes": {"temperature, max_tokens and seed are the reference's defaults; it records none": 1},
        },
    }
    write_manifest(made / "manifest.json", _binding(plan, found), plan.datasets, facts)
    # The folder's own files stay beside the ledger, so that analyze-runs reads the import like the source.
    for entry in (path.parent / RUN_MANIFEST, path):
        write_atomic(made / entry.name, entry.read_bytes())


def _items(predictions: Sequence[Prediction], path: Path, found: ItemsDigest) -> Iterator[tuple[int, str, Item]]:
    for number, one in enumerate(predictions, 1):
        tags = {**one.tags, "type": one.family, "split": one.split}
        item = Item(one.id, one.question, one.truth, tags=tags)
        check_item(item, f"{path}:{number}")
        found.add(item)
        yield 0, f"{path}:{number}", item


def _responses(trial: int, one: Prediction) -> Iterator[Appended]:
    """The texts that are known, each at its turn."""
    ms = None if one.latency_s is None else one.latency_s * 1000.0
    if one.text is None:
        yield Appended(trial, 0, 0, "", Response(error=one.error or "the source holds no text", ms=ms))
        return
    last = Response(text=one.text, finish=one.finish, ms=ms)
    if one.retry_outcome is None:
        yield Appended(trial, 0, 0, "", last)
    elif one.first_text is not None:
        yield Appended(trial, 0, 0, "", Response(text=one.first_text))
        yield Appended(trial, 1, 0, "", last)
    elif one.label is None and one.retry_text is not None:
        # Both replies were invalid: the first is kept as pred_text, the second beside it.
        yield Appended(trial, 0, 0, "", last)
        yield Appended(trial, 1, 0, "", Response(text=one.retry_text))
    else:
        yield Appended(trial, 1, 0, "", last)


def _labels(predictions: Sequence[Prediction]) -> Iterator[tuple[int, list[Score]]]:
    for trial, one in enumerate(predictions, 1):
        value = None if one.correct is None else float(one.correct)
        yield trial, [Score(value, one.label or "INVALID", one.reason or "as the source stored it")]


def _as_stored(item: Item, response: Response) -> Score:  # noqa: ARG001 - every scorer takes an item and a response
    return Score(None, None, "stored by the source of an import; it cannot be computed again")


def _binding(plan: Plan, found: ItemsDigest) -> dict[str, JSON]:
    label, name, _ = plan.models[0]
    params: Mapping[str, JSON] = plan.conditions[CONDITION]
    return {
        "task": {"name": TASK, "options": {}, "choices_scored": False},
        "items": {
            "n": found.count,
            "sha256": found.hexdigest(),
            "max_items": None,
            "seed": None,
            "freeze_sha256": None,
        },
        "conditions": [{"name": CONDITION, "params": dict(params), "sha256": digest(dict(params))}],
        "reprompt": None,
        "models": [{"name": name, "label": label, "options": {}, "max_tokens": None, "fingerprint": {}}],
        "samplings": [_SAMPLING.as_json()],
        "repeats": 1,
    }

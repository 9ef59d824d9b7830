"""A run folder of the benchmark as a run of perpend: its items, its texts, and the labels that it had stored."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from perpend.ask.task import packaged_task
from perpend.canon import JSON, digest_file, object_of, read_bytes, write_atomic
from perpend.disk import temporary_folder
from perpend.errors import DataError
from perpend.ledger.items import check_item
from perpend.ledger.manifest import (
    ItemsDigest,
    ItemsFacts,
    Manifest,
    ModelFacts,
    code_version,
    now,
    template,
    write_manifest,
)
from perpend.ledger.plan import Appended, Dataset, Plan, sampling_of
from perpend.ledger.staging import IMPORTED, must_be_free
from perpend.ledger.store import Store
from perpend.studies.logic.chaosbench.items import normalised
from perpend.studies.logic.chaosbench.predictions import (
    ParsedReply,
    PredictionRow,
    predictions_path,
    read_rows,
    repeated,
)
from perpend.studies.logic.chaosbench.rundir import (
    METRICS,
    RUN_MANIFEST,
    SUMMARY_PAGE,
    check_version,
    cut_stated,
    is_ours,
    parser_stated,
    read_json,
)
from perpend.studies.logic.chaosbench.settings import TASK
from perpend.studies.logic.replies import Prediction, reader
from perpend.types import Item, Response, Sampling, Score, Scorer, Usage

STORED = "stored_label"
SOURCE_METRICS = "source_metrics.json"
"""The metrics.json of the folder that a run was imported from; metrics.json itself is derived anew."""
CONDITION = "question"
# The reference's defaults; it records neither, nor does it send a seed.
_SAMPLING = Sampling(temperature=0.0, max_tokens=16, seed=None)


def reading_of(manifest: Mapping[str, JSON]) -> ParsedReply:
    """How the rows of a run folder are read: by the rule that it states, ours where it names one itself."""
    return ParsedReply(reader(parser_stated(manifest)), is_ours(manifest), cut_stated(manifest))


def read_run_folder(source: Path, destination: Path) -> Path:
    """Import a run folder (run_manifest.json and predictions) as a run directory, and return it.

    The label that the folder had stored becomes the score `stored_label@import`; ours are derived from the texts by
    'perpend score'. A text that a second one replaced is lost in the source; then only the second turn is there.
    """
    must_be_free(destination)
    path = predictions_path(source)
    if path is None:
        raise DataError(f"{source}: no predictions.jsonl; there is nothing to import")
    manifest = read_json(source / RUN_MANIFEST)
    check_version(source, manifest, read_json(source / METRICS) if (source / METRICS).is_file() else {})
    rows = read_rows(path, reading_of(manifest))
    twice = repeated(row.prediction.id for row in rows)
    if twice or not rows:
        raise DataError(f"{path}: " + (f"id {twice[0]!r} occurs twice" if twice else "it is empty"))
    with temporary_folder("import", destination.parent) as folder:
        _write(folder / "run", destination.name, manifest, path, rows)
        # The folder's own files stay beside the ledger, so that they can be checked and analysed as in the source.
        for name in (RUN_MANIFEST, path.name, METRICS, SUMMARY_PAGE):
            if (source / name).is_file():
                to = folder / "run" / (SOURCE_METRICS if name == METRICS else name)
                if name == path.name:  # of any length
                    shutil.copyfile(path, to)
                else:
                    write_atomic(to, read_bytes(source / name))
        if destination.exists():
            destination.rmdir()
        (folder / "run").replace(destination)
    return destination


def _write(directory: Path, name: str, stated: Mapping[str, JSON], path: Path, rows: Sequence[PredictionRow]) -> None:
    provider = str(stated.get("provider") or "unknown")
    asked_with, notes = _sampling(stated)
    params: dict[str, JSON] = {"type": "imported", "prompt_hash": stated.get("prompt_hash")}
    datasets = (Dataset(path.name.split(".")[0], "1", path.name, digest_file(path)),)
    plan = Plan(datasets, {CONDITION: params}, [(provider, provider, {})], {provider: (asked_with,)}, repeats=1)
    items = ItemsDigest()
    with Store.create(directory / "run.db", name) as store:
        trials = store.write_plan(plan, _items(rows, items))
        store.append(turn for number, row in enumerate(rows, 1) for turn in _turns(number, row.prediction))
        store.write_scores([Scorer(STORED, IMPORTED, _as_stored)], _labels(rows))
    options: dict[str, JSON] = {"parser": parser_stated(stated)}
    manifest = Manifest(
        run=name,
        task=TASK,
        options=options,
        items=ItemsFacts(items.count, items.hexdigest()),
        conditions=(template(CONDITION, params),),
        models=(ModelFacts(provider, provider),),
        samplings=(asked_with,),
        trials=trials,
        scorers=tuple(packaged_task(TASK, options).judges()),
        datasets=datasets,
        source_of_import={
            "kind": "chaosbench run",
            "run_id": stated.get("run_id"),
            "run_manifest": stated,
            "notes": notes,
        },
        created=now(),
        code=code_version(),
    )
    write_manifest(directory, manifest)


def _sampling(stated: Mapping[str, JSON]) -> tuple[Sampling, dict[str, JSON]]:
    """How the model was asked, and a note where the folder does not say."""
    if "temperature" in stated and "max_tokens" in stated:
        return sampling_of({key: stated.get(key) for key in ("temperature", "max_tokens", "seed")}, RUN_MANIFEST), {}
    return _SAMPLING, {"temperature, max_tokens and seed are the reference's defaults; it records none": 1}


def _items(rows: Sequence[PredictionRow], digest: ItemsDigest) -> Iterator[tuple[int, str, Item]]:
    for row in rows:
        one = row.prediction
        tags = {**one.tags, "type": one.family, "split": one.split}
        item = Item(one.id, one.question, one.truth, tags=tags)
        check_item(item, row.place)
        digest.add(item)
        yield 0, row.place, item


def _turns(trial: int, one: Prediction) -> Iterator[Appended]:
    """The texts that are known, each at its turn."""
    ms = None if one.latency_s is None else one.latency_s * 1000.0
    usage = None if one.tokens is None else Usage(output=one.tokens)
    if one.text is None:
        yield Appended(trial, 0, 0, "", Response(error=one.error or "the source holds no text", ms=ms))
        return
    last = Response(text=one.text, finish=one.finish, usage=usage, ms=ms)
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


def _labels(rows: Sequence[PredictionRow]) -> Iterator[tuple[int, list[Score]]]:
    """The labels and verdicts that the source states, which nothing here believes."""
    for trial, row in enumerate(rows, 1):
        correct = row.stated.get("correct")
        reason = str(object_of(row.stated, "meta", row.place).get("parse_reason") or "as the source stored it")
        value = float(correct) if isinstance(correct, bool) else None
        yield trial, [Score(value, normalised(row.stated.get("parsed_label")) or "INVALID", reason)]


def _as_stored(item: Item, response: Response) -> Score:  # noqa: ARG001 - every scorer takes an item and a response
    return Score(None, None, "stored by the source of an import; it cannot be computed again")

"""Publishing a run: the acceptance table, then a copy with its predictions and a receipt that names no machine."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path

from perpend.ask.task import packaged_task
from perpend.canon import JSON, compress, digest_file, inside, object_of, write_atomic
from perpend.errors import AuditFailure, DataError, StoreError
from perpend.inert import one_line
from perpend.measure.study import METRICS
from perpend.proof.gates import Gate
from perpend.proof.leaks import search_file, this_machine
from perpend.spec.keys import noted_variables
from perpend.studies.logic.chaosbench.check import (
    DATASET_GATE,
    ITEMS_GATE,
    PROMPT_GATE,
    README,
    Examined,
    examine,
    item_of,
    limits,
    receipt_body,
)
from perpend.studies.logic.chaosbench.folders import (
    FILES,
    NAMES,
    RECEIPT,
    RUN_MANIFEST,
    SUMMARY_PAGE,
    predictions_path,
    read_json,
)
from perpend.studies.logic.chaosbench.items import Record, load_records, text_of, to_item
from perpend.studies.logic.chaosbench.run import TASK, chosen, index, prompt_hash, settings_from, write_json
from perpend.studies.logic.chaosbench.sets import (
    CANONICAL,
    FileDigest,
    MissingDataError,
    Selector,
    global_sha256,
    read_selector,
)
from perpend.types import Item


def gate_json(gate: Gate) -> dict[str, JSON]:
    """A line of the acceptance table as the receipt and summary.json hold it."""
    return {"check": gate.gate, "passed": gate.passed, "found": gate.detail}


def as_table(gates: Sequence[Gate]) -> str:
    """Gates as text, one per line."""
    width = max(len(gate.gate) for gate in gates)
    return "\n".join(
        f"{'pass' if one.passed else 'FAIL'}  {one.gate:<{width}}  {one_line(one.detail)}" for one in gates
    )


@dataclass(frozen=True)  # not slotted: the items are read once and kept
class Freeze:
    """The canonical files as they are now. `missing` says why there are none, without naming a path."""

    selector: Selector | None
    files: tuple[FileDigest, ...] = ()
    missing: str = ""

    @property
    def sha256(self) -> str:
        """The digest of the whole set."""
        return global_sha256(self.files)

    @property
    def total(self) -> int:
        """How many items the set has."""
        return sum(file.count for file in self.files)

    @cached_property
    def items(self) -> Mapping[str, Item]:
        """Every canonical item by its id."""
        records = [] if self.selector is None else self.selector.records()
        return {text_of(record, "id"): to_item(record, text_of(record, "id")) for record in records}


def freeze_of(selector: Path) -> Freeze:
    """The freeze of the files that a selector lists."""
    try:
        opened = read_selector(selector)
    except MissingDataError:
        return Freeze(None, missing=f"no freeze: there is no readable selector {selector.name}")
    lost = opened.missing()
    if lost:
        some = f"{len(lost)} of {len(opened.listed)} canonical files are missing, as {lost[0]}"
        return Freeze(None, missing=f"no freeze: {some}")
    return Freeze(opened, tuple(opened.digests()))


def criteria(run: Examined, freeze: Freeze, numbers: Mapping[str, JSON]) -> list[Gate]:
    """The acceptance criteria of the run plan; the limits are held to these numbers."""
    gates = [_dataset(run.manifest, freeze), _prompt(run.manifest), *limits(numbers)]
    if run.shortened:
        detail = f"{run.shortened} of {len(run.predictions)} not recomputed: texts were shortened"
        gates.append(Gate("every label was read again", False, detail))
    return gates


def integrity(run: Examined, freeze: Freeze) -> list[Gate]:
    """Whether a run folder holds what it states; its items too, where it says that they are those of the freeze."""
    is_frozen = freeze.selector is not None and run.manifest.get("dataset_global_sha256") == freeze.sha256
    return [*run.gates, *([_items(run, freeze)] if is_frozen and run.predictions else [])]


def acceptance(run: Path, selector: Path) -> list[Gate]:
    """The acceptance table of a run folder, and that all it states follows from its texts."""
    examined, freeze = examine(run), freeze_of(selector)
    return [*criteria(examined, freeze, examined.stored), *integrity(examined, freeze)]


def _dataset(manifest: Mapping[str, JSON], freeze: Freeze) -> Gate:
    """The run's data set is the one that a freeze finds now."""
    stored = manifest.get("dataset_global_sha256")
    if freeze.missing or stored == freeze.sha256:
        return Gate(DATASET_GATE, not freeze.missing, freeze.missing or freeze.sha256)
    is_old = stored == global_sha256(freeze.files, legacy=True)
    old = "; it is the digest of the same files by the formula of before 20 February 2026" if is_old else ""
    return Gate(DATASET_GATE, False, f"run {stored}, freeze {freeze.sha256}{old}")


def _prompt(manifest: Mapping[str, JSON]) -> Gate:
    """The run was asked with the words of this code."""
    options: dict[str, JSON] = {"reprompt": manifest.get("retries") != 0}
    ours, stored = prompt_hash(packaged_task(TASK, options)), manifest.get("prompt_hash")
    return Gate(PROMPT_GATE, ours == stored, ours if ours == stored else f"run {stored}, code {ours}")


def _items(run: Examined, freeze: Freeze) -> Gate:
    """Every question and true label is that of the canonical item, and the items are those that the settings draw."""
    selector, of = freeze.selector, object_of(run.manifest, "dataset", RUN_MANIFEST).get("set", "")
    if selector is not None and of != selector.name:
        return Gate(ITEMS_GATE, False, f"the set is called {selector.name!r}, not {of!r:.80}")
    for one in run.predictions:
        known = freeze.items.get(one.id)
        item = item_of(one)
        if known is None or (item.prompt, item.target) != (known.prompt, known.target) or (one.tags and item != known):
            return Gate(
                ITEMS_GATE, False, f"item {one.id!r} has another question, label or tag than in the canonical set"
            )
    try:
        drawn = _drawn(run.manifest, freeze)
    except DataError as error:
        return Gate(ITEMS_GATE, True, f"{len(run.predictions)} items; not drawn again: {error}")
    if [text_of(record, "id") for record in drawn] != [one.id for one in run.predictions]:
        return Gate(ITEMS_GATE, False, "the settings draw other items, or in another order")
    return Gate(ITEMS_GATE, True, f"{len(run.predictions)} items, drawn again")


def _drawn(manifest: Mapping[str, JSON], freeze: Freeze) -> list[Record]:
    """The items that the settings draw from the data set; DataError where it is not here, or not the same."""
    selector = freeze.selector
    if "settings" not in manifest or selector is None:
        raise DataError("the manifest names no data set")
    dataset = object_of(manifest, "dataset", RUN_MANIFEST)
    if dataset.get("name") == CANONICAL:
        records = selector.records()
    else:
        path = inside(selector.base, str(dataset.get("path")), RUN_MANIFEST)
        if not path.is_file() or digest_file(path) != dataset.get("sha256"):
            raise DataError(f"{dataset.get('path')} is not here as it was")
        records = load_records([path])
    if dataset.get("items") != len(records):
        return []
    return chosen(records, settings_from(object_of(manifest, "settings", RUN_MANIFEST), RUN_MANIFEST))


def publish(run: Path, out: Path, gates: Sequence[Gate], *, force: bool = False) -> Path:
    """Copy the run's files with its predictions, write the receipt and the index. Existing files need `force`."""
    manifest = read_json(run / RUN_MANIFEST)
    path = predictions_path(run)
    if path is None:
        raise StoreError(f"{run}: has no predictions to publish")
    copied = [run / name for name in (RUN_MANIFEST, METRICS, SUMMARY_PAGE) if (run / name).is_file()]
    _refuse_keys(run, [*copied, path])
    to = out / run.resolve().name
    if to.resolve() == run.resolve():
        raise StoreError(f"{run}: is a published run itself; publish it from where it was made")
    if to.exists():
        if not force:
            raise StoreError(f"{to} is published already; --force replaces it")
        strange = sorted({entry.name for entry in to.iterdir()} - FILES)
        if strange or to.is_symlink():
            raise StoreError(f"{to}: holds {', '.join(strange[:3])}, which publish-run did not write; move it away")
        for name in (METRICS, SUMMARY_PAGE):  # of an earlier copy; this run may have none
            (to / name).unlink(missing_ok=True)
    for file in copied:
        write_atomic(to / file.name, file.read_bytes())
    data = path.read_bytes()
    write_atomic(to / NAMES[1], data if path.suffix == ".gz" else compress(data))
    files: dict[str, JSON] = {entry.name: digest_file(entry) for entry in sorted(to.iterdir()) if entry.name != RECEIPT}
    receipt = receipt_body(manifest, to, files, datetime.now(UTC).isoformat(timespec="seconds"))
    write_json(to / RECEIPT, {**receipt, "checks": [gate_json(gate) for gate in gates]})
    write_atomic(out / README, index(out))
    return to


def _refuse_keys(run: Path, files: Sequence[Path]) -> None:
    """AuditFailure where a file that would be published holds a key, with the places."""
    own = this_machine(variables=noted_variables(run))
    leaks = [leak for file in files for leak in search_file(file, file.name, own) if leak.is_key]
    if leaks:
        raise AuditFailure(f"{run}: not published; keys would be:", *leaks, "Take them out where they come from.")

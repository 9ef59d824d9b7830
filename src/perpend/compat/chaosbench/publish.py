"""Publishing a run: the acceptance table, then a copy with its predictions and a receipt that names no machine."""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from perpend.canon import JSON, compress, digest, digest_file, write_atomic
from perpend.compat.chaosbench.hashes import FileDigest, global_sha256, legacy_global_sha256
from perpend.compat.chaosbench.metrics import SUMMARY
from perpend.compat.chaosbench.predictions import Prediction, predictions_path, read_predictions, repeated_ids
from perpend.compat.chaosbench.rundir import METRICS, RUN_MANIFEST, SUMMARY_PAGE, metrics_body, number, read_json
from perpend.compat.chaosbench.settings import TASK, prompt_hash
from perpend.compat.chaosbench.sources import MissingDataError, read_selector
from perpend.compat.reference import number_of
from perpend.compose import make_task
from perpend.errors import DataError, StoreError
from perpend.inert import markdown

INVALID_LIMIT = 0.05
RECEIPT = "publish_receipt.json"
ROUNDED = 5e-5
"""The reference rounds its stored numbers to four places."""


@dataclass(frozen=True, slots=True)
class Check:
    """One line of the acceptance table: whether it holds, and what was found."""

    name: str
    passed: bool
    told: str

    def __str__(self) -> str:
        return f"{self.name}: {self.told}"

    def as_json(self) -> dict[str, JSON]:
        """The line for programs."""
        return {"check": self.name, "passed": self.passed, "found": self.told}


def as_table(checks: Sequence[Check]) -> str:
    """The lines for people."""
    width = max(len(check.name) for check in checks)
    return "\n".join(f"{'pass' if c.passed else 'FAIL'}  {c.name:<{width}}  {c.told}" for c in checks)


def acceptance(run: Path, selector: Path) -> list[Check]:
    """The acceptance table of the run plan, line by line, and that the stored numbers follow from the predictions."""
    manifest = read_json(run / RUN_MANIFEST)
    stored = read_json(run / METRICS) if (run / METRICS).is_file() else {}
    return [
        dataset_check(manifest, freeze_of(selector)),
        prompt_check(manifest),
        _invalid(stored),
        _coverage(stored),
        *integrity(run, manifest, stored),
    ]


def freeze_of(selector: Path) -> list[FileDigest] | str:
    """The digests of the canonical files as they are now; where they cannot be had, why, without naming a path."""
    try:
        found = read_selector(selector)
    except MissingDataError:
        return f"no freeze: there is no readable selector {selector.name}"
    lost = found.missing()
    if lost:
        return f"no freeze: {len(lost)} of {len(found.listed)} canonical files are missing, as {lost[0]}"
    return found.digests()


def dataset_check(manifest: Mapping[str, JSON], current: list[FileDigest] | str) -> Check:
    """The run's data set is the one that a freeze finds now."""
    name, stored = "dataset SHA equals the freeze", manifest.get("dataset_global_sha256")
    if isinstance(current, str):
        return Check(name, False, current)
    now = global_sha256(current)
    if stored == now:
        return Check(name, True, now)
    old = "; it is the digest of the same files by the formula of before 20 February 2026"
    return Check(name, False, f"run {stored}, freeze {now}{old if stored == legacy_global_sha256(current) else ''}")


def prompt_check(manifest: Mapping[str, JSON]) -> Check:
    """The run was asked with the words of this code."""
    options: dict[str, JSON] = {"reprompt": manifest.get("retries") != 0}
    ours, stored = prompt_hash(make_task(TASK, options)), manifest.get("prompt_hash")
    return Check("prompt hash is this code's", ours == stored, ours if ours == stored else f"run {stored}, code {ours}")


def _invalid(stored: Mapping[str, JSON]) -> Check:
    rate = number_of(stored, "invalid_rate", METRICS)
    name = f"invalid rate at most {INVALID_LIMIT}"
    return Check(name, rate is not None and rate <= INVALID_LIMIT, "missing" if rate is None else f"{rate:.4f}")


def _coverage(stored: Mapping[str, JSON]) -> Check:
    share = number_of(stored, "coverage", METRICS)
    least = 1.0 - INVALID_LIMIT
    lost = {key: stored.get(key) for key in ("invalid", "unfinished", "errors") if stored.get(key)}
    told = "missing" if share is None else f"{share:.4f}" + (f" ({lost})" if lost else "")
    # 1 - 0.05 is not 0.95 in binary; a coverage of exactly 0.95 passes.
    return Check(f"coverage present and at least {least}", share is not None and share >= least - 1e-9, told)


def integrity(run: Path, manifest: Mapping[str, JSON], stored: Mapping[str, JSON]) -> list[Check]:
    """What a run folder must hold to be believed: predictions, once each, all of them, that give the stored numbers."""
    path = predictions_path(run)
    if path is None:
        return [Check("predictions are there", False, "no predictions.jsonl")]
    try:
        predictions = read_predictions(path)
    except DataError as error:
        return [Check("predictions are there", False, str(error).replace(f"{run}/", ""))]
    twice = repeated_ids(predictions)
    planned = manifest.get("total_items_planned", manifest.get("total_items_evaluated"))
    status = manifest.get("status", "completed")
    whole = planned == len(predictions) and status == "completed"
    return [
        Check("predictions are there", bool(predictions), f"{len(predictions)} rows in {path.name}"),
        Check("every id once", not twice, f"{len(twice)} repeated" + (f", as {twice[0]!r}" if twice else "")),
        Check("every planned item was asked", whole, f"{len(predictions)} of {planned}, {status}"),
        recomputed_check(predictions, stored),
    ]


def recomputed_check(predictions: Sequence[Prediction], stored: Mapping[str, JSON]) -> Check:
    """metrics.json holds what the predictions give; a rounded number may differ in its last place."""
    now = metrics_body(predictions, None)
    keys = ("total", "valid", "invalid", "correct", "invalid_rate", *SUMMARY, "tpr", "tnr", "confusion")
    differ = []
    for key in keys:
        then, again = stored.get(key), now[key]
        close = isinstance(then, int | float) and isinstance(again, int | float) and abs(then - again) <= ROUNDED
        # The reference writes 0 for an MCC that does not exist.
        undefined = again is None and then in (None, 0.0)
        if key in stored and not (close or then == again or undefined):
            differ.append(f"{key} {then} → {again}")
    compared = sum(key in stored for key in keys)
    told = "; ".join(differ) if differ else f"{compared} numbers agree"
    return Check("metrics recompute", not differ and compared > 0, told)


def publish(run: Path, out: Path, checks: Sequence[Check], *, force: bool = False) -> Path:
    """Copy the run's files with its predictions, write the receipt and the index. Existing files need `force`."""
    manifest = read_json(run / RUN_MANIFEST)
    path = predictions_path(run)
    if path is None:
        raise StoreError(f"{run}: has no predictions to publish")
    to = out / run.resolve().name
    if to.resolve() == run.resolve():
        raise StoreError(f"{run}: is a published run itself; publish it from where it was made")
    if to.exists():
        if not force:
            raise StoreError(f"{to} is published already; --force replaces it")
        shutil.rmtree(to)
    for name in (RUN_MANIFEST, METRICS, SUMMARY_PAGE):
        if (run / name).is_file():
            write_atomic(to / name, (run / name).read_bytes())
    data = path.read_bytes()
    write_atomic(to / "predictions.jsonl.gz", data if path.suffix == ".gz" else compress(data))
    files: dict[str, JSON] = {entry.name: digest_file(entry) for entry in sorted(to.iterdir())}
    receipt: dict[str, JSON] = {
        "published_utc": datetime.now(UTC).isoformat(timespec="seconds"),
        "run_id": manifest.get("run_id"),
        "source_run_dir": run.resolve().name,
        "artifacts_copied": list(files),
        "artifacts_skipped": [name for name in (METRICS, SUMMARY_PAGE) if name not in files],
        "compress_predictions": True,
        "files_sha256": files,
        "root_sha256": digest(files),
        "checks": [check.as_json() for check in checks],
    }
    write_atomic(to / RECEIPT, json.dumps(receipt, indent=2) + "\n")
    write_atomic(out / "README.md", index(out))
    return to


def index(out: Path) -> str:
    """The table of everything published in a folder."""
    lines = [
        "# Published runs",
        "",
        "| run | provider | N | Acc_valid | Bal_acc | MCC | date |",
        "|---|---|---:|---:|---:|---:|---|",
    ]
    for folder in sorted(path.parent for path in out.glob(f"*/{RUN_MANIFEST}")):
        manifest, stored = read_json(folder / RUN_MANIFEST), read_json(folder / METRICS)
        numbers = [number(stored.get(key)) for key in ("accuracy_valid", "balanced_accuracy", "mcc")]
        run = f"[{markdown(folder.name)}]({folder.name})"
        row = (run, markdown(str(manifest.get("provider"))), str(stored.get("total")), *numbers)
        lines.append("| " + " | ".join((*row, str(manifest.get("created_utc"))[:10])) + " |")
    return "\n".join(lines) + "\n"

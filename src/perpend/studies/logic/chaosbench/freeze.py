"""Freezing the canonical set: digests of every file and of all, and what differs from the freeze that is there."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from perpend.canon import JSON, as_list, as_object, read_object, write_atomic
from perpend.errors import DataError
from perpend.inert import markdown, one_line
from perpend.ledger.manifest import code_version
from perpend.report.tables import markdown_table
from perpend.studies.logic.chaosbench.hashes import FileDigest, global_sha256
from perpend.studies.logic.chaosbench.items import label_of, read_records, text_of
from perpend.studies.logic.chaosbench.sources import MissingDataError, Selector, written_path

MANIFEST = "v2_freeze_manifest.json"
SUMS = "v2_freeze_sha256.txt"
REPORT = "v2_freeze_report.md"
RELEASE = "v2"


class LabelError(DataError):
    """An item's label is neither TRUE nor FALSE."""

    exit_code = 1


class ChangedFreezeError(DataError):
    """The files are not those of the freeze that is there."""

    exit_code = 1


@dataclass(frozen=True, slots=True)
class Frozen:
    """What was frozen. `differences` compare it with the freeze that was there; None: there was none."""

    files: tuple[FileDigest, ...]
    total: int
    sha256: str
    duplicate_ids: tuple[str, ...]
    labels: Mapping[str, Mapping[str, int]]
    differences: tuple[str, ...] | None


def freeze(selector: Selector, out: Path, *, force: bool = False) -> Frozen:
    """Digest the selected files and write manifest, sums and report into a folder.

    A freeze that is there is compared with: the same files leave it as it is; others are refused with what differs,
    unless `force` replaces it. A label that is neither TRUE nor FALSE is an error; a repeated id is only counted.
    """
    digests = selector.digests()
    seen: Counter[str] = Counter()
    labels: dict[str, Counter[str]] = {}
    for entry, path in zip(selector.listed, selector.paths(), strict=True):
        labels[entry] = Counter()
        for where, record in _records(path):
            label = label_of(record)
            if label is None:
                raise LabelError(f"{where}: item {text_of(record, 'id')!r}: the label is neither TRUE nor FALSE")
            labels[entry][label] += 1
            seen[text_of(record, "id")] += 1
    total = seen.total()
    if total == 0:
        raise MissingDataError(f"{selector.path}: the listed files hold no items")
    repeated = tuple(name for name, count in seen.items() if count > 1)
    before = read_freeze(out)
    differences = None if before is None else tuple(freeze_differences(before, digests))
    frozen = Frozen(tuple(digests), total, global_sha256(digests), repeated, labels, differences)
    if differences and not force:
        raise ChangedFreezeError(
            f"{out / MANIFEST}: the files differ from the freeze:",
            *differences,
            "Put the files back, or replace the freeze with --force.",
        )
    if differences is None or differences:
        _write(frozen, selector, out)
    return frozen


def _records(path: Path) -> list[tuple[str, dict[str, JSON]]]:
    try:
        return list(read_records(path))
    except DataError as error:
        raise MissingDataError(str(error)) from None


def read_freeze(out: Path) -> dict[str, JSON] | None:
    """The freeze manifest in a folder; None where there is none."""
    path = out / MANIFEST
    try:
        return read_object(path) if path.exists() else None
    except DataError as error:
        raise MissingDataError(f"{path}: not a freeze manifest: {error}; remove it to freeze anew") from None


def freeze_differences(before: Mapping[str, JSON], now: Sequence[FileDigest]) -> list[str]:
    """What differs from an earlier freeze, a sentence a file; empty when every file is the same."""
    entries = [as_object(entry) for entry in as_list(before.get("canonical_files"))]
    old = {str(entry["path"]): (entry.get("count"), entry.get("sha256")) for entry in entries if "path" in entry}
    new = {file.path: (file.count, file.sha256) for file in now}
    lines = [f"{path}: is no longer listed" for path in old if path not in new]
    lines += [f"{path}: is new ({new[path][0]} items)" for path in new if path not in old]
    for path, (count, sha256) in new.items():
        was, digest = old.get(path, (count, sha256))
        if digest != sha256:
            sizes = "" if was == count else f"; it had {was} items and has {count}"
            lines.append(f"{path}: its bytes have changed ({str(digest)[:12]}… → {sha256[:12]}…){sizes}")
    return lines


def _write(frozen: Frozen, selector: Selector, out: Path) -> None:
    created = datetime.now(UTC).isoformat()
    code = code_version()
    body: dict[str, JSON] = {
        "dataset_release": RELEASE,
        "schema_version": "v2",
        "created_utc": created,
        "canonical_selector": written_path(selector.path, selector.base),
        "canonical_files": [{"path": f.path, "count": f.count, "sha256": f.sha256} for f in frozen.files],
        "canonical_total_questions": frozen.total,
        "global_sha256": frozen.sha256,
        "duplicate_ids": len(frozen.duplicate_ids),
        "tool_versions": {
            "python": code["python"],
            "package": f"perpend {code['perpend']}",
            "git_commit": None,
            "source_sha256": code["source_sha256"],
        },
    }
    sums = [f"{frozen.sha256}  GLOBAL"] + [f"{f.sha256}  {one_line(f.path)}  (count={f.count})" for f in frozen.files]
    write_atomic(out / SUMS, "\n".join(sums) + "\n")
    write_atomic(out / REPORT, _report(frozen, created))
    write_atomic(out / MANIFEST, json.dumps(body, indent=2) + "\n")


def _report(frozen: Frozen, created: str) -> str:
    counts = f"{frozen.total} items in {len(frozen.files)} files, {len(frozen.duplicate_ids)} repeated ids."
    lines = ["# Freeze of the canonical set", "", f"Made {created}. {counts}", ""]
    rows = []
    for file in frozen.files:
        labels = [str(frozen.labels[file.path].get(label, 0)) for label in ("TRUE", "FALSE")]
        # Not `markdown`, which would escape the underscores of our own file names: frozen reports keep their bytes.
        path = one_line(file.path).replace("|", r"\|").replace("<", r"\<")
        rows.append((path, str(file.count), *labels, f"`{file.sha256}`"))
    table = markdown_table(("file", "items", "TRUE", "FALSE", "SHA-256"), rows, "|---|---:|---:|---:|---|")
    lines += [f"Global SHA-256: `{frozen.sha256}`", "", table]
    if frozen.differences:
        lines += [
            "",
            "Replaces a freeze from which it differs:",
            "",
            *(f"- {markdown(line)}" for line in frozen.differences),
        ]
    return "\n".join(lines) + "\n"

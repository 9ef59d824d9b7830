"""Ways to forge a published folder, and to seal it again as somebody would who knows the format."""

from __future__ import annotations

import gzip
import json
import shutil
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import TypeAlias

from perpend.canon import JSON, dumps, pretty, write_atomic
from perpend.errors import PerpendError
from perpend.ledger.manifest import read_manifest
from perpend.measure.study import metrics_text, numbers_of, read_metrics
from perpend.proof import receipt, statements
from perpend.proof.audit import Audit, Check, Options, audit
from perpend.proof.publish import write_index
from perpend.proof.statements.published import RECORDS

Table: TypeAlias = dict[str, object]
Forge: TypeAlias = Callable[[Path], None]


def of(folder: Path, options: Options | None = None) -> Audit:
    """The audit of one folder."""
    (found,) = audit([folder], options or Options())
    return found


def failed(folder: Path, options: Options | None = None) -> dict[str, Check]:
    """The checks that found a difference, by name."""
    return {check.name: check for check in of(folder, options).checks if check.differ}


def edit(name: str, change: Callable[[Table], object]) -> Forge:
    """Change the object of a JSON file."""

    def forge(folder: Path) -> None:
        body = json.loads((folder / name).read_text())
        change(body)
        (folder / name).write_text(metrics_text(body) if name == "metrics.json" else pretty(body))

    return forge


def lines(name: str, change: Callable[[list[Table]], object]) -> Forge:
    """Change the list of objects of a packed JSONL file."""

    def forge(folder: Path) -> None:
        rows = read(folder / name)
        change(rows)
        packed = "".join(dumps(row) + "\n" for row in rows).encode()
        with (folder / name).open("wb") as file, gzip.GzipFile("", "wb", 6, file, mtime=0) as archive:
            archive.write(packed)

    return forge


def read(path: Path) -> list[Table]:
    """The lines of a packed JSONL file."""
    return [json.loads(line) for line in gzip.decompress(path.read_bytes()).splitlines()]


def text(name: str, old: str, new: str) -> Forge:
    """Replace a text once."""

    def forge(folder: Path) -> None:
        before = (folder / name).read_text()
        assert old in before
        (folder / name).write_text(before.replace(old, new, 1))

    return forge


def all_of(*steps: Forge) -> Forge:
    """One forgery after another."""

    def forge(folder: Path) -> None:
        for step in steps:
            step(folder)

    return forge


def write_statements(folder: Path, code: Mapping[str, JSON]) -> None:
    """Write the statements of a published folder anew, from its files as they are."""
    manifest = read_manifest(folder)
    numbers = numbers_of(read_metrics(folder), [manifest])
    shutil.rmtree(folder / RECORDS, ignore_errors=True)  # its names are of the manifest
    own = statements.names(manifest)
    files = {name: value for name, value in receipt.digests(folder).items() if name not in own}
    for name, words in statements.texts(statements.StatedRun(manifest, numbers, files, code)).items():
        write_atomic(folder / name, words)


def seal(folder: Path, *, restate: bool = True) -> None:
    """Write the statements, the receipt and the index anew, so that every digest holds again."""
    body = json.loads((folder / receipt.RECEIPT).read_text())
    facts = {key: body[key] for key in ("gates", "attempts", "code")}
    if restate:
        with suppress(PerpendError, LookupError):  # what cannot be read states nothing
            write_statements(folder, facts["code"])
    receipt.write(folder, body["run"], facts)
    write_index(folder.parent)

"""The statements beside a published run, each derived from its manifest, its numbers and the digests of its files.

    CITATION.cff               how to cite it
    croissant.json             items, answers and scores as a data set that loaders read
    every_eval_ever/<id>.json  the rates and means of each model, in the shared schema of evaluations
    ro-crate-metadata.json     every file of the folder, and how they came to be
    statement.intoto.json      the digest of every other file, and the numbers that every run states

They cite metrics.json and compute nothing, and no trial is read for them. The last one names the digests of the others.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from itertools import zip_longest
from pathlib import Path

from perpend.canon import as_object, open_file, pretty
from perpend.errors import StoreError
from perpend.ledger.manifest import Manifest, read_manifest
from perpend.measure.study import numbers_of, read_metrics
from perpend.proof import receipt as receipts
from perpend.proof.receipt import STATEMENT
from perpend.proof.statements.citation import CITATION, citation
from perpend.proof.statements.croissant import CROISSANT, croissant
from perpend.proof.statements.facts import StatedRun
from perpend.proof.statements.in_toto import statement
from perpend.proof.statements.ro_crate import RO_CRATE, ro_crate
from perpend.report.every_eval_ever import record_names, records

RECORDS = "every_eval_ever"
_MISSING = "(no such line)"
_SHOWN = 200


def names(manifest: Manifest) -> set[str]:
    """The files that state something of a run, as its published folder has them."""
    own = {f"{RECORDS}/{name}" for name in record_names(manifest).values()}
    return {CITATION, CROISSANT, RO_CRATE, STATEMENT, *own}


def texts(run: StatedRun) -> dict[str, str]:
    """Every statement of a published run by the name of its file. The same facts give the same bytes."""
    stated = {
        CITATION: citation(run),
        CROISSANT: pretty(croissant(run)),
        **{f"{RECORDS}/{name}": pretty(body) for name, body in records(run.manifest, run.numbers).items()},
    }
    stated[RO_CRATE] = pretty(ro_crate(run, [*run.files, *stated, STATEMENT, receipts.RECEIPT]))
    others = {name: hashlib.sha256(text.encode()).hexdigest() for name, text in stated.items()}
    stated[STATEMENT] = pretty(statement(run, {**run.files, **others}))
    return stated


def differences(folder: Path) -> Iterator[tuple[str, str]]:
    """(file, how it differs or '') of every statement that a published folder should have.

    Compared are bytes, with what follows from the folder's own manifest, metrics.json and receipt, which are checked
    against the ledger elsewhere.
    """
    receipt, manifest = receipts.read(folder), read_manifest(folder)
    own = names(manifest)
    files = {name: value for name, value in receipt.files.items() if name not in own}
    code = as_object(receipt.body.get("code"))
    run = StatedRun(manifest, numbers_of(read_metrics(folder), [manifest]), files, code)
    for name, text in sorted(texts(run).items()):
        yield name, _difference(folder, name, text.encode())


def _difference(folder: Path, name: str, now: bytes) -> str:
    path = folder / name
    if not path.is_file():
        return f"{name}: missing"
    with open_file(path, StoreError, within=folder) as file:
        stored = file.read(2 * len(now) + _SHOWN)  # what is longer differs before its end
    if stored == now:
        return ""
    pairs = zip_longest(*(text.decode("utf-8", "replace").split("\n") for text in (stored, now)), fillvalue=_MISSING)
    for number, (one, other) in enumerate(pairs, 1):
        if one != other:
            return f"{name}:{number}: stored {one!r:.{_SHOWN}}, recomputed {other!r:.{_SHOWN}}"
    return f"{name}: not UTF-8"

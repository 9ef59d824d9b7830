"""receipt.json: the SHA-256 of every file of a published run, one digest over all, and what was checked before."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from perpend.canon import JSON, digest, digest_file, pretty, write_atomic
from perpend.errors import StoreError

FORMAT = 1
RECEIPT, SIGNATURE, SIGNER = "receipt.json", "receipt.json.sig", "signer.pub"
UNLISTED = frozenset((RECEIPT, SIGNATURE, SIGNER))
"""What is in a published folder and not in its receipt."""


@dataclass(frozen=True, slots=True)
class Receipt:
    """What receipt.json says. `body` is all of it; `files` maps each file's name, with '/', to its SHA-256."""

    run: str
    files: Mapping[str, str]
    root_sha256: str
    receipt_sha256: str
    body: Mapping[str, JSON]


def write(folder: Path, run: str, facts: Mapping[str, JSON]) -> Receipt:
    """Digest every file of a folder and write its receipt. `facts` are gates, attempts and code.

    `root_sha256` is the digest of the mapping of files; `receipt_sha256` that of all the rest of the receipt.
    """
    files = digests(folder)
    body: dict[str, JSON] = {**facts, "format": FORMAT, "run": run, "files": files, "root_sha256": digest(files)}
    body["receipt_sha256"] = digest(body)
    write_atomic(folder / RECEIPT, pretty(body))
    return Receipt(run, files, str(body["root_sha256"]), str(body["receipt_sha256"]), body)


def digests(folder: Path) -> dict[str, str]:
    """The SHA-256 of every file below a folder that a receipt lists, by its name with '/'. A link is an error."""
    files = {}
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder).as_posix()
        if path.is_symlink():
            raise StoreError(f"{path}: a link; a published run holds its files itself")
        if path.is_file() and name not in UNLISTED:
            files[name] = digest_file(path)
    return files


def read(folder: Path) -> Receipt:
    """The receipt of a published folder, as it is there; `differences` says whether it is true."""
    path = folder / RECEIPT
    try:
        body = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise StoreError(
            f"{folder}: not a published run (there is no {RECEIPT}); 'perpend publish' makes one"
        ) from None
    except ValueError as error:
        raise StoreError(f"{path}: damaged: {error}") from None
    files = body.get("files") if isinstance(body, dict) else None
    if not isinstance(files, dict) or body.get("format") != FORMAT:
        raise StoreError(f"{path}: not a receipt of format {FORMAT}; upgrade perpend, or publish the run again")
    named = {name: str(value) for name, value in files.items()}
    return Receipt(str(body.get("run")), named, str(body.get("root_sha256")), str(body.get("receipt_sha256")), body)


def differences(folder: Path) -> list[str]:
    """In which files a published folder differs from its receipt, and whether the receipt's own digests hold."""
    receipt, now = read(folder), digests(folder)
    lines = [f"{name}: missing" for name in receipt.files if name not in now]
    lines += [f"{name}: not in the receipt" for name in now if name not in receipt.files]
    lines += [f"{name}: SHA-256 differs" for name, value in now.items() if receipt.files.get(name, value) != value]
    if digest(dict(receipt.files)) != receipt.root_sha256:
        lines.append(f"{RECEIPT}: root_sha256 is not the digest of its files")
    if digest({key: value for key, value in receipt.body.items() if key != "receipt_sha256"}) != receipt.receipt_sha256:
        lines.append(f"{RECEIPT}: receipt_sha256 is not the digest of the rest")
    return lines

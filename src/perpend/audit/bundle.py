"""The seals of a published folder: receipt, root digest, gates, index page, signature."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from importlib.resources import files
from pathlib import Path

from perpend import __version__, signature
from perpend.attempts import headline
from perpend.audit.checks import Check, first_difference
from perpend.audit.intent import entries, table
from perpend.canon import JSON, digest, write_atomic
from perpend.derived import METRICS, REPORT
from perpend.gates import gates
from perpend.publish import INDEX, PAGE, VERIFY, write_index
from perpend.published import ITEMS, LABELS, MANIFEST, PLAN, RESPONSES, SCORES, TRIALS
from perpend.receipt import RECEIPT, SIGNATURE, digests, read

_NEEDED = (MANIFEST, PLAN, ITEMS, TRIALS, RESPONSES, SCORES, METRICS, REPORT, VERIFY)
_OPTIONAL = (LABELS, "numbers.tex")
_PRIVATE = "private"
"""The gate that looked at the files before they were published; the others are derived from the run."""


def bundle(folder: Path) -> Iterator[Check]:
    """Everything that can be checked of a published folder without its run."""
    yield _files(folder)
    yield _known(folder)
    yield _receipt(folder)
    yield _index(folder)
    yield _signature(folder)


def facts(folder: Path) -> Mapping[str, JSON]:
    """What the receipt says, as the end of the report shows it; nothing where there is none."""
    return read(folder).body if (folder / RECEIPT).is_file() else {}


def _files(folder: Path) -> Check:
    """Every file has the digest that the receipt states; none is missing, none was added."""
    check = Check("files are those of the receipt")
    stated, found = read(folder).files, digests(folder)
    for name in sorted({*stated, *found}):
        check.checked += 1
        if name not in found:
            check.miss(f"{name}: missing")
        elif name not in stated:
            check.miss(f"{name}: not in the receipt")
        elif stated[name] != found[name]:
            check.miss(f"{name}: stored {stated[name]}, recomputed {found[name]}")
    return check


def _known(folder: Path) -> Check:
    """The files are those that a published run has, whatever the receipt lists; and verify.py is perpend's own."""
    check = Check("files are those of a published run")
    receipt = read(folder)
    for name in sorted({*receipt.files, *_NEEDED}):
        check.checked += 1
        if name not in receipt.files:
            check.miss(f"{name}: a published run needs it")
        elif name not in (*_NEEDED, *_OPTIONAL) and not name.startswith(("tables/", "figures/")):
            check.miss(f"{name}: no file of a published run")
    path = folder / VERIFY
    if path.is_file() and path.read_bytes() != files("perpend").joinpath(VERIFY).read_bytes():
        told = f"{VERIFY}: not the one of this version of perpend"
        if table(receipt.body.get("code")).get("perpend") == __version__:
            check.miss(told)
        check.note = f"{told}; do not trust what it says before you have read it"
    return check


def _receipt(folder: Path) -> Check:
    """The receipt's own digests: over its list of files, and over all the rest of it."""
    check = Check("receipt has its digests")
    receipt = read(folder)
    check.compare(receipt.root_sha256, digest(dict(receipt.files)), "root_sha256")
    rest = {key: value for key, value in receipt.body.items() if key != "receipt_sha256"}
    check.compare(receipt.receipt_sha256, digest(rest), "receipt_sha256")
    check.compare(receipt.run, folder.resolve().name, "name of the run, name of the folder")
    check.note = f"root {receipt.root_sha256}: compare it with the one that the paper quotes"
    return check


def _index(folder: Path) -> Check:
    """What index.json and README.md in the folder above say of this run, against what they would say now."""
    check = Check("index agrees")
    above, name = folder.resolve().parent, folder.resolve().name
    if not (above / INDEX).is_file():
        check.note = f"there is no {INDEX} beside the folder"
        return check
    with tempfile.TemporaryDirectory() as held:
        alone = Path(held)
        for file in (RECEIPT, SIGNATURE, MANIFEST):
            if (folder / file).is_file():
                write_atomic(alone / name / file, (folder / file).read_bytes())
        write_index(alone)
        now, stored = _entries(alone / INDEX), _entries(above / INDEX)
        rows = _row(above / PAGE, name), _row(alone / PAGE, name)
    check.compare(stored.get(name), now.get(name), f"{INDEX}, {name}")
    check.compare(rows[0], rows[1], f"{PAGE}, {name}")
    for run in stored:
        check.compare("published", "published" if (above / run / RECEIPT).is_file() else "not there", f"{INDEX}, {run}")
    return check


def _entries(path: Path) -> dict[str, Mapping[str, JSON]]:
    """The entries of an index by the name of their run; none where it cannot be read."""
    try:
        body = table(json.loads(path.read_text(encoding="utf-8")))
    except (ValueError, RecursionError):
        return {}
    return {str(entry.get("run")): entry for entry in map(table, entries(body.get("runs")))}


def _row(path: Path, run: str) -> str | None:
    """The line of the index page that links to a run."""
    text = path.read_text(encoding="utf-8", errors="replace") if path.is_file() else ""
    return next((line for line in text.split("\n") if f"]({run}/report.md)" in line), None)


def _signature(folder: Path) -> Check:
    check = Check("signature")
    found = signature.check(folder)
    check.note = found.note
    if found.signed and found.good is not None:
        check.checked = 1
        if not found.good:
            check.miss(found.note)
            check.note = ""
    return check


def recomputed_gates(directory: Path, stated: Mapping[str, JSON]) -> list[Check]:
    """Every gate of the receipt but the search for private words, passed again by the restored run."""
    check = Check("gates of the receipt")
    then = {str(entry.get("gate")): entry for entry in map(table, entries(stated.get("gates")))}
    now = {gate.gate: gate for gate in gates(directory)}
    for name in dict.fromkeys((*then, *now)):
        if name == _PRIVATE:
            continue
        check.checked += 1
        if name not in then or name not in now:
            check.miss(f"gate {name}: {'not in the receipt' if name not in then else 'no such gate'}")
            continue
        again = {"passed": now[name].passed, "found": now[name].found}
        found = first_difference({key: then[name].get(key) for key in again}, again, f"gate {name}")
        if found is not None:
            check.miss(found)
    return [check]


def stated_attempts(manifest: Mapping[str, JSON], stated: Mapping[str, JSON], metrics: Sequence[JSON]) -> Check:
    """What the receipt says of the attempts against itself and this run's numbers; the other runs are not here."""
    check = Check("attempts of the receipt", note="how many runs there were is the publisher's word: they are not here")
    told = table(stated.get("attempts"))
    others = [table(entry) for entry in entries(told.get("others"))]
    begun = (str(manifest.get("created")), str(manifest.get("run")))
    earlier = sum((str(one.get("created")), str(one.get("run"))) < begun for one in others)
    check.compare(told.get("of"), len(others) + 1, "attempts, of")
    check.compare(told.get("position"), earlier + 1, "attempts, position")
    check.compare(told.get("headline"), headline(manifest, metrics), "attempts, headline")
    return check

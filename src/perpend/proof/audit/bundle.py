"""The seals of a published folder: receipt, root digest, gates, index page, signature."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import zip_longest
from pathlib import Path

from perpend.canon import JSON, as_list, as_object, digest, parse, pretty, read_object, read_text
from perpend.errors import FormatError, StoreError, check_format
from perpend.ledger.manifest import Manifest
from perpend.measure.run import Run
from perpend.measure.study import METRICS
from perpend.proof import receipt as signature
from perpend.proof.archive import NEEDED
from perpend.proof.audit.checks import Check, canonical
from perpend.proof.gates import NAMES, gates, headline, sentence
from perpend.proof.publish import FORMAT, INDEX, NOTHING_PRIVATE, PAGE, index_texts
from perpend.proof.receipt import RECEIPT, SIGNER, STATEMENT, STATEMENT_SIGNATURE, compared_files, read
from perpend.proof.rendered import RenderedAgain
from perpend.proof.statements import differences
from perpend.report.derive import REPORT

_NEEDED = (*NEEDED, METRICS, REPORT)
_KEYS = ("attempts", "code", "files", "format", "gates", "receipt_sha256", "root_sha256", "run")
_ATTEMPT_KEYS = ("created", "differs", "headline", "run", "shared")
_CODE_KEYS = ("perpend", "python", "source_sha256")
VERIFY = "verify.py"
"""The name of the script by which somebody without perpend checks a folder; no folder holds one."""
_PRIVATE = "private"
"""The gate that looked at the files before they were published; the others are derived from the run."""


def bundle(folder: Path) -> Iterator[Check]:
    """Everything that can be checked of a published folder without its run."""
    yield _files(folder)
    yield _needed(folder)
    yield _receipt(folder)
    yield _index(folder)
    yield _signature(folder)
    yield _statements(folder)


def facts(folder: Path) -> Mapping[str, JSON]:
    """What the receipt says, as the end of the report shows it; nothing where there is none."""
    return read(folder).body if (folder / RECEIPT).is_file() else {}


def _files(folder: Path) -> Check:
    """Every file has the digest that the receipt states; none is missing, none was added."""
    check = Check("files are those of the receipt")
    for _, words in compared_files(folder, read(folder).files):
        check.checked += 1
        if words:
            check.miss(words)
    return check


def _needed(folder: Path) -> Check:
    """The files that every published run has are there, whatever the receipt lists; and no script to be run."""
    check = Check("files are those of a published run", checked=len(_NEEDED))
    for name in _NEEDED:
        if not (folder / name).is_file():
            check.miss(f"{name}: a published run needs it")
    if (folder / VERIFY).exists():
        check.checked += 1
        check.miss(f"{VERIFY}: not perpend's; do not run it")
    return check


def _receipt(folder: Path) -> Check:
    """The receipt's own digests, over its list of files and over all the rest of it; it states nothing else."""
    check = Check("receipt has its digests")
    receipt = read(folder)
    check.compare(receipt.root_sha256, digest(dict(receipt.files)), "root_sha256")
    rest = {key: value for key, value in receipt.body.items() if key != "receipt_sha256"}
    check.compare(receipt.receipt_sha256, digest(rest), "receipt_sha256")
    check.compare(receipt.run, folder.resolve().name, "name of the run, name of the folder")
    check.compare(sorted(receipt.body), list(_KEYS), "keys")
    code = as_object(receipt.body.get("code"))
    check.compare(sorted(code), list(_CODE_KEYS), "keys of code")
    check.compare(True, all(isinstance(value, str) for value in code.values()), "code as strings")
    canonical(check, folder / RECEIPT, pretty(receipt.body))
    check.note = f"root {receipt.root_sha256}: compare it with the one that the paper quotes"
    return check


def _index(folder: Path) -> Check:
    """index.json and README.md in the folder above, byte for byte, against what all the runs there give now."""
    check = Check("index agrees")
    above = folder.resolve().parent
    if not (above / INDEX).is_file():
        check.note = f"there is no {INDEX} beside the folder"
        return check
    try:
        now = index_texts(above)
    except FormatError as error:  # another version wrote a run beside this one
        check.missing = str(error)
        return check
    stored, derived = read_object(above / INDEX, StoreError, within=above), as_object(parse(now[INDEX]))
    check_format(stored.get("format"), FORMAT, above / INDEX, again="Publish into the folder again")
    then, again = ({str(as_object(entry).get("run")): entry for entry in as_list(body.get("runs"))}
                   for body in (stored, derived))  # fmt: skip
    for name in dict.fromkeys((*then, *again)):
        if name in then and name in again:
            check.compare(then[name], again[name], f"{INDEX}, {name}")
        else:
            stated, found = ("listed", "not there") if name in then else ("not listed", "there")
            check.compare(stated, found, f"{INDEX}, {name}")
    check.compare({**stored, "runs": [*then]}, {**derived, "runs": [*again]}, INDEX)
    canonical(check, above / INDEX, now[INDEX])
    page = read_text(above / PAGE, StoreError, within=above).split("\n") if (above / PAGE).is_file() else []
    lines = now[PAGE].split("\n")
    for number, (one, other) in enumerate(zip_longest(page, lines, fillvalue="(no such line)"), 1):
        check.compare(one, other, f"{PAGE}:{number}")
    return check


def accepted_gates(stated: Mapping[str, JSON]) -> dict[str, str]:
    """The reasons that a receipt gives for the gates that failed and were accepted."""
    gates_then = map(as_object, as_list(stated.get("gates")))
    return {str(one.get("gate")): str(one["accepted"]) for one in gates_then if one.get("accepted") is not None}


def _signature(folder: Path) -> Check:
    """The signatures of receipt and statement: both or none, as `publish` makes them."""
    check = Check("signature")
    seal = signature.check(folder)
    check.note = seal.note
    if not seal.signed and (folder / SIGNER).exists():
        check.checked = 1
        check.miss(f"{SIGNER}: a key, and no signature by it")
    statement = signature.check(folder, STATEMENT)
    if statement.signed != seal.signed:
        check.checked += 1
        there = "a signature, and none of the receipt" if statement.signed else "missing, and the receipt is signed"
        check.miss(f"{STATEMENT_SIGNATURE}: {there}")
    for one in (seal, statement):
        if one.signed and one.good is not None:
            check.checked += 1
            if not one.good:
                check.miss(one.note)
                check.note = ""
    return check


def _statements(folder: Path) -> Check:
    """What is stated of the run for other people's tools, against what follows from its manifest and its numbers."""
    check = Check("statements")
    for _, difference in differences(folder):
        check.checked += 1
        if difference:
            check.miss(difference)
    return check


def recomputed_gates(directory: Path, stated: Mapping[str, JSON], rendered: RenderedAgain) -> list[Check]:
    """Every gate of the receipt passed again by the restored run, but the search for private words.

    A gate that failed needs the reason why it was accepted. `rendered` is what the audit counted of the questions.
    """
    check = Check("gates of the receipt")
    then = {str(entry.get("gate")): entry for entry in map(as_object, as_list(stated.get("gates")))}
    now = {gate.gate: gate.as_json() for gate in gates(Run(directory), rendered=rendered)}
    private = as_object(then.get(_PRIVATE))
    passed = private.get("passed") is True
    now[_PRIVATE] = {"gate": _PRIVATE, "passed": passed, "found": NOTHING_PRIVATE if passed else private.get("found")}
    for name in dict.fromkeys((*then, *now)):
        if name not in then or name not in now:
            check.checked += 1
            check.miss(f"gate {name}: {'not in the receipt' if name not in then else 'no such gate'}")
            continue
        accepted = {"accepted": str(then[name].get("accepted") or "a reason")} if not now[name]["passed"] else {}
        check.compare(then[name], {**now[name], **accepted}, f"gate {name}")
    order = [str(as_object(entry).get("gate")) for entry in as_list(stated.get("gates"))]
    check.compare(order, list(NAMES), "gates, each once and in their order")
    return [check]


def stated_attempts(manifest: Manifest, stated: Mapping[str, JSON], metrics: Sequence[JSON]) -> Check:
    """What the receipt says of the attempts against itself and this run's numbers; the other runs are not here."""
    check = Check("attempts of the receipt", note="how many runs there were is the publisher's word: they are not here")
    body = as_object(stated.get("attempts"))
    others = [as_object(entry) for entry in as_list(body.get("others"))]
    empty = [as_object(entry) for entry in as_list(body.get("unanswered"))]
    earlier = sum((str(one.get("created")), str(one.get("run"))) < (manifest.created, manifest.run) for one in others)
    now = {
        "others": body.get("others"),
        "of": len(others) + 1,
        "position": earlier + 1,
        "headline": headline(manifest, metrics),
        "told": sentence(earlier + 1, len(others), len(empty)),
        "unanswered": body.get("unanswered"),
    }
    for key in dict.fromkeys((*now, *body)):
        check.compare(body.get(key), now.get(key), f"attempts, {key}")
    for key in ("others", "unanswered"):
        check.compare(True, isinstance(body.get(key), list), f"attempts, {key} is a list")
    for other in empty:
        check.compare(sorted(other), ["created", "run", "shared"], "keys of a run without an answer")
        is_one = _is_attempt({**other, "differs": [], "headline": None}, {}, manifest)
        check.compare(True, is_one, f"shape of {other.get('run')!r:.60}")
    for other in others:
        check.compare(sorted(other), list(_ATTEMPT_KEYS), "keys of another run")
        check.compare(
            True, _is_attempt(other, as_object(now["headline"]), manifest), f"shape of {other.get('run')!r:.60}"
        )
    return check


def _is_attempt(other: Mapping[str, JSON], mine: Mapping[str, JSON], manifest: Manifest) -> bool:
    """Whether what a receipt says of another run has the shape of that: its number is this run's headline, there."""
    texts = (other.get("run"), other.get("created"), *as_list(other.get("differs")))
    shared, number = other.get("shared", 1), other.get("headline")
    if not all(isinstance(text, str) for text in texts) or not isinstance(other.get("differs"), list):
        return False
    if isinstance(shared, bool) or not isinstance(shared, int) or not 1 <= shared <= manifest.items.n:
        return False
    if number is None:
        return True
    body = as_object(number)
    values = [body.get(key) for key in ("value", "lo", "hi", "n")]
    return (
        body.keys() == mine.keys()
        and all(body[key] == mine[key] for key in ("metric", "scorer"))
        and all(isinstance(name, str) for name in as_object(body["where"]).values())
        and isinstance(body["where"], dict)
        and all(value is None or (isinstance(value, int | float) and not isinstance(value, bool)) for value in values)
    )

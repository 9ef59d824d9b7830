"""Forgeries of a published folder, generated from its JSON and text files; and how an attacker seals it again.

'open': a forgery as it is. 'sealed': receipt, root digest, index and its page are written anew. 'derived': whatever
follows from the forged facts is made anew as well, as somebody would who has perpend: scores, numbers, report, tables,
gates with a reason for each that fails.
"""

from __future__ import annotations

import csv
import gzip
import io
import json
import re
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeAlias

from perpend.canon import JSON, as_object, digest, digest_file, dumps, pretty, write_atomic
from perpend.errors import PerpendError
from perpend.ledger.manifest import read_manifest
from perpend.measure.run import Run
from perpend.measure.study import metrics_text, numbers_of, read_metrics
from perpend.proof import receipt, statements
from perpend.proof.archive import NEEDED, write
from perpend.proof.audit import Audit, Check, Options, audit
from perpend.proof.closing import close_report
from perpend.proof.gates import attempts, gates
from perpend.proof.publish import NOTHING_PRIVATE, write_index
from perpend.proof.restoring import restore
from perpend.proof.statements.published import RECORDS
from perpend.report.derive import derive
from tests.attack.fields import Change, Pairs, changes, each_changed, other, parsed, shape, written

Forge: TypeAlias = Callable[[Path], None]
Body: TypeAlias = dict[str, Any]

STATED = ("ro-crate-metadata.json", "croissant.json", "statement.intoto.json")
BODIES = ("manifest.json", "plan.json", "receipt.json", "metrics.json", *STATED, "../index.json")
LINES = ("items.jsonl.gz", "trials.jsonl.gz", "responses.jsonl.gz", "scores.jsonl.gz", "labels.jsonl")
FACTS = ("manifest.json", "plan.json", "items.jsonl.gz", "trials.jsonl.gz", "responses.jsonl.gz", "labels.jsonl")
"""The files from which all others follow: an attacker who changes one derives the rest anew."""
_NUMBER = re.compile(r"\d+(?:\.\d+)?")


@dataclass(frozen=True, slots=True)
class Forgery:
    """One forgery: the file that it changes, the place there, what it does, and how the folder is sealed again."""

    file: str
    place: str
    kind: str
    forge: Forge
    level: str = "sealed"

    def __str__(self) -> str:
        return f"{self.file} | {self.place} | {self.kind} | {self.level}"

    def derived(self) -> Forgery:
        """The same with all that follows made anew."""
        return replace(self, level="derived")


def of(folder: Path, options: Options | None = None) -> Audit:
    """The audit of one folder."""
    (outcome,) = audit([folder], options or Options(workers=1))
    return outcome


def failed(folder: Path, options: Options | None = None) -> dict[str, Check]:
    """The checks that found a difference, by name."""
    return {check.name: check for check in of(folder, options).checks if check.differ}


def new_key(path: Path, owner: str = "") -> Path:
    """A new key to sign with; its public part is beside it."""
    command = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", owner, "-f", str(path)]
    subprocess.run(command, check=True)
    return path


def edit(name: str, change: Callable[[Body], object]) -> Forge:
    """Change the object of a JSON file, which is written as perpend would."""

    def forge(folder: Path) -> None:
        body = json.loads((folder / name).read_text(encoding="utf-8"))
        change(body)
        (folder / name).write_text(canonical(name, body), encoding="utf-8")

    return forge


def lines(name: str, change: Callable[[list[Any]], object]) -> Forge:
    """Change the values of the lines of a JSONL file, which are written as perpend would."""

    def forge(folder: Path) -> None:
        rows = [json.loads(line) for line in unpacked(folder / name)]
        change(rows)
        pack(folder / name, [dumps(row) for row in rows])

    return forge


def text(name: str, old: str, new: str) -> Forge:
    """Replace a text once."""

    def forge(folder: Path) -> None:
        before = (folder / name).read_text(encoding="utf-8")
        assert old in before
        (folder / name).write_text(before.replace(old, new, 1), encoding="utf-8")

    return forge


def canonical(name: str, body: Body) -> str:
    """The text of a JSON file as perpend writes it."""
    return metrics_text(body) if name.endswith("metrics.json") and isinstance(body, dict) else pretty(body)


def unpacked(path: Path) -> list[str]:
    """The lines of a JSONL file, packed or not."""
    data = path.read_bytes()
    return (gzip.decompress(data) if path.suffix == ".gz" else data).decode().split("\n")[:-1]


def pack(path: Path, rows: list[str]) -> None:
    """Write lines as perpend packs them."""
    data = "".join(row + "\n" for row in rows).encode("utf-8", "surrogatepass")
    if path.suffix != ".gz":
        path.write_bytes(data)
        return
    with path.open("wb") as file, gzip.GzipFile("", "wb", 6, file, mtime=0) as packed:
        packed.write(data)


def fields(folder: Path) -> Iterator[Forgery]:
    """Every field of every JSON file and of the lines of every JSONL file; every number and cell of the other texts."""
    for name in BODIES:
        if (folder / name).is_file():
            for change in changes((folder / name).read_text(encoding="utf-8")):
                yield Forgery(name, shape(change.path), change.kind, _body_forge(name, change))
    for name in LINES:
        if (folder / name).is_file():
            yield from _line_fields(folder, name)
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder).as_posix()
        if path.suffix == ".csv":
            yield from _cells(path, name)
        elif path.suffix in {".md", ".tex", ".html"}:
            yield from _numbers(path, name)


def values(folder: Path, file: str) -> Iterator[Forgery]:
    """Every value that a file, or a folder of files, states: of JSON each one, not one of a shape as `fields` does."""
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder).as_posix()
        if path.is_dir() or (name != file and not name.startswith(f"{file}/")):
            continue
        if name == "metrics.json":
            for change in each_changed(path.read_text(encoding="utf-8")):
                yield Forgery(name, "/".join(map(str, change.path)), change.kind, _body_forge(name, change))
        elif path.suffix == ".gz":
            for number, row in enumerate(unpacked(path)):
                for change in each_changed(row):
                    yield Forgery(
                        name, f"{number + 1}: {shape(change.path)}", change.kind, _line_forge(name, number, change)
                    )
        elif path.suffix == ".csv":
            yield from _cells(path, name)
        else:
            yield from _numbers(path, name)


def _body_forge(name: str, change: Change) -> Forge:
    def forge(folder: Path) -> None:
        if change.text is not None:
            text = change.text()
        elif change.value is not None:
            text = canonical(name, change.value())  # type: ignore[arg-type]
        (folder / name).write_bytes(text.encode("utf-8", "surrogatepass"))

    return forge


def _line_fields(folder: Path, name: str) -> Iterator[Forgery]:
    seen: set[tuple[str, str]] = set()
    rows = unpacked(folder / name)
    for number, row in enumerate(rows):
        for change in changes(row):
            if (shape(change.path), change.kind) not in seen:
                seen.add((shape(change.path), change.kind))
                yield Forgery(
                    name, f"{number + 1}: {shape(change.path)}", change.kind, _line_forge(name, number, change)
                )
    edits: dict[str, Callable[[list[str]], object]] = {
        "first line removed": lambda rows: rows.pop(0),
        "last line removed": lambda rows: rows.pop(),
        "first line doubled": lambda rows: rows.insert(1, rows[0]),
        "last line doubled": lambda rows: rows.append(rows[-1]),
        "two lines swapped": lambda rows: rows.insert(0, rows.pop(1)),
        "lines reversed": lambda rows: rows.reverse(),
        "a blank line": lambda rows: rows.append(""),
        "a comment": lambda rows: rows.append("# hidden"),
        "all lines removed": lambda rows: rows.clear(),
    }
    for kind, change_lines in edits.items() if len(rows) > 1 else ():
        yield Forgery(name, "lines", kind, _lines_forge(name, change_lines))


def _line_forge(name: str, number: int, change: Change) -> Forge:
    def change_lines(rows: list[str]) -> None:
        if change.text is not None:
            rows[number] = change.text()
        elif change.value is not None:
            rows[number] = dumps(change.value())  # type: ignore[arg-type]

    return _lines_forge(name, change_lines)


def _lines_forge(name: str, change: Callable[[list[str]], object]) -> Forge:
    def forge(folder: Path) -> None:
        rows = unpacked(folder / name)
        change(rows)
        pack(folder / name, rows)

    return forge


def _cells(path: Path, name: str) -> Iterator[Forgery]:
    rows = list(csv.reader(io.StringIO(path.read_text(encoding="utf-8"))))

    def changed(row: int, column: int) -> Forge:
        def forge(folder: Path) -> None:
            table = [list(cells) for cells in rows]
            cell = table[row][column]
            table[row][column] = str(other(float(cell) if _NUMBER.fullmatch(cell) else cell or None))
            text = io.StringIO()
            csv.writer(text, lineterminator="\n").writerows(table)
            (folder / name).write_text(text.getvalue(), encoding="utf-8")

        return forge

    for row, cells in enumerate(rows):
        for column in range(len(cells)):
            yield Forgery(name, f"row {row + 1}, column {column + 1}", "changed", changed(row, column))


def _numbers(path: Path, name: str) -> Iterator[Forgery]:
    """The last digit of every number, and one word more at the end of a line."""
    text = path.read_text(encoding="utf-8")

    def spliced(start: int, end: int, new: str) -> Forge:
        return lambda folder: (folder / name).write_text(text[:start] + new + text[end:], encoding="utf-8") and None

    for match in _NUMBER.finditer(text):
        digit = str((int(text[match.end() - 1]) + 1) % 10)
        yield Forgery(name, f"character {match.start()}", "changed", spliced(match.end() - 1, match.end(), digit))
    for match in re.finditer(r"[a-z](?=\n)", text):
        yield Forgery(name, f"character {match.end()}", "added", spliced(match.end(), match.end(), " (verified)"))


_LARGEST = 100_000_000
"""Bytes of a receipt that a forger reads; what is larger is a hole without content."""


def seal(folder: Path, *, restate: bool = True) -> None:
    """Write the receipt and the index anew, so that every digest holds again; a receipt keeps all else that it says.

    With `restate` the statements are written anew as well, as somebody would who has perpend.
    """
    path = folder / receipt.RECEIPT
    is_read = not path.is_symlink() and path.is_file() and path.stat().st_size < _LARGEST
    if restate and is_read:
        _restate(folder)
    if is_read:
        try:
            before = path.read_text(encoding="utf-8")
            body = parsed(before)
        except (ValueError, RecursionError):
            return
        if isinstance(body, Pairs):
            _seal(body, folder)
            if body != parsed(before):
                path.write_text(written(body, indent=None if "[[[[" in before else 2) + "\n", encoding="utf-8")
    write_page(folder)


def write_statements(folder: Path, code: Mapping[str, JSON]) -> None:
    """Write the statements of a published folder anew, from its files as they are."""
    manifest = read_manifest(folder)
    numbers = numbers_of(read_metrics(folder), [manifest])
    shutil.rmtree(folder / RECORDS, ignore_errors=True)  # its names are of the manifest
    own = statements.names(manifest)
    files = {name: value for name, value in receipt.digests(folder).items() if name not in own}
    for name, words in statements.texts(statements.StatedRun(manifest, numbers, files, code)).items():
        write_atomic(folder / name, words)


def _restate(folder: Path) -> None:
    """Write the statements anew. They name every packed file, and each name is a text: else perpend writes none."""
    is_whole = all((folder / name).is_file() for name in NEEDED)
    if is_whole and not any("\udcff" in path.name for path in folder.rglob("*")):
        with suppress(PerpendError):
            write_statements(folder, as_object(receipt.read(folder).body.get("code")))


def _seal(body: Pairs, folder: Path) -> None:
    """Put the digests that hold into the body of a receipt."""
    files = Pairs()
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder).as_posix()
        if path.is_file() and name not in receipt.UNLISTED and "\udcff" not in name:
            files.append((name, digest_file(path)))
    sealed = {"files": files, "root_sha256": digest(dict(files))}  # type: ignore[arg-type]  # strings, all of them
    body[:] = [(key, sealed.get(key, value)) for key, value in body]
    try:
        rest = json.loads(written(body))
        rest.pop("receipt_sha256", None)
        own = digest(rest)
    except (ValueError, RecursionError):
        return
    body[:] = [(key, own if key == "receipt_sha256" else value) for key, value in body]


def write_page(folder: Path) -> None:
    """Write the index above a folder anew, as well as an attacker can."""
    if (folder / "manifest.json").is_file() and (folder / receipt.RECEIPT).is_file():
        with suppress(PerpendError):
            write_index(folder.parent)


def derived_anew(folder: Path, *, trust_code: bool = False) -> bool:
    """Make all anew that follows from the facts in a folder. False where perpend itself refuses: nothing to publish."""
    with tempfile.TemporaryDirectory() as tmpdir:
        try:
            code = json.loads((folder / receipt.RECEIPT).read_text(encoding="utf-8"))
            run = Run(restore(folder, Path(tmpdir)), trust_code=trust_code)
            run.score()
            write(run.directory, Path(tmpdir) / "again")
            shutil.copyfile(Path(tmpdir) / "again" / "scores.jsonl.gz", folder / "scores.jsonl.gz")
            for name in ("metrics.json", "report.md", "numbers.tex"):
                (folder / name).unlink(missing_ok=True)
            shutil.rmtree(folder / "tables", ignore_errors=True)
            metrics = derive([run], folder, figures=(folder / "figures").is_dir(), draw=False).numbers.metrics
            passed = [gate.as_json() for gate in gates(run)]
            for gate in passed:
                if not gate["passed"]:
                    gate["accepted"] = "it had to be"
            facts = {
                "gates": [*passed, {"gate": "private", "passed": True, "found": NOTHING_PRIVATE}],
                "attempts": attempts(run.directory, [metric.as_json() for metric in metrics]),
                "code": code["code"],
            }
            close_report(folder, facts)
            write_statements(folder, facts["code"])
            receipt.write(folder, code["run"], facts)
        except PerpendError:
            return False
    write_page(folder)
    return True

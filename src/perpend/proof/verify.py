"""Check that a published run is whole: python verify.py FOLDER

Take this file from a release of perpend, never from the folder that is to be checked.

Every file has the SHA-256 that receipt.json states, none is missing, none was added, and the receipt's own digests
hold. Exit 0 when all of that is so, 6 when anything is not. Needs Python 3.8 and nothing else. That the numbers follow
from the responses is checked by 'perpend audit FOLDER'; who signed, by 'ssh-keygen -Y verify'.
"""

import gzip
import hashlib
import json
import sys
import typing
import zlib
from pathlib import Path

REQUIRED = ("manifest.json", "plan.json", "items.jsonl.gz", "trials.jsonl.gz", "responses.jsonl.gz", "scores.jsonl.gz")
UNREADABLE = (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError)
UNLISTED = {"receipt.json", "receipt.json.sig", "signer.pub", "statement.intoto.json.sig"}


def digest(value: object) -> str:
    """SHA-256 of a value as JSON with sorted keys and no spaces, in UTF-8."""
    text = json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
    return hashlib.sha256(text.encode("utf-8")).hexdigest()


def digest_file(path: Path) -> str:
    """SHA-256 of a file's bytes."""
    sha256 = hashlib.sha256()
    with path.open("rb") as file:
        for block in iter(lambda: file.read(1 << 20), b""):
            sha256.update(block)
    return sha256.hexdigest()


def once(pairs: "list[tuple[str, object]]") -> "dict[str, object]":
    """An object that says no key twice."""
    if len(dict(pairs)) != len(pairs):
        raise ValueError("a key is said twice")
    return dict(pairs)


def no_number(word: str) -> float:
    """NaN and the infinite, which JSON has not."""
    raise ValueError(f"{word} is no number")


def read(path: Path) -> "dict[str, typing.Any]":
    """The JSON object in a file that is a file, and not longer than 64 MB."""
    if not path.is_file() or path.stat().st_size > 1 << 26:
        raise ValueError("not a file, or too long for one")
    body: typing.Any = json.loads(path.read_text(encoding="utf-8"), object_pairs_hook=once, parse_constant=no_number)
    if not isinstance(body, dict):
        raise TypeError("not a JSON object")
    return body


def count_lines(path: Path) -> int:
    """The number of lines of a JSONL file, packed or not."""
    with gzip.open(path, "rb") if path.suffix == ".gz" else path.open("rb") as file:
        return sum(block.count(b"\n") for block in iter(lambda: file.read(1 << 20), b""))


def problems(folder: Path) -> "list[str]":
    """What is wrong with the folder, in sentences; empty when nothing is."""
    try:
        receipt = read(folder / "receipt.json")
        stated = {str(name): str(value) for name, value in receipt["files"].items()}
        root, own = receipt["root_sha256"], receipt.pop("receipt_sha256")
        is_root, is_own = digest(stated) == root, digest(receipt) == own
    except UNREADABLE as error:
        return [f"receipt.json cannot be read: {error!r:.200}"]
    wrong = []
    if not is_root:
        wrong.append("receipt.json: root_sha256 is not the digest of the files that it lists")
    if not is_own:
        wrong.append("receipt.json: receipt_sha256 is not the digest of the rest")
    wrong += [f"{name}: not in the receipt" for name in REQUIRED if name not in stated]
    present = {}
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder).as_posix()
        if path.is_symlink():
            wrong.append(f"{name}: a link")
        elif path.is_file() and name not in UNLISTED:
            present[name] = path
        elif not path.is_file() and not path.is_dir():
            wrong.append(f"{name}: neither a file nor a folder")
    wrong += [f"{name}: missing" for name in stated if name not in present]
    wrong += [f"{name}: not in the receipt" for name in present if name not in stated and name not in REQUIRED]
    for name, path in present.items():
        try:
            if name in stated and digest_file(path) != stated[name]:
                wrong.append(f"{name}: SHA-256 differs from the receipt")
        except OSError as error:
            wrong.append(f"{name}: cannot be read: {error}")
    return wrong or counted(folder, sorted(present))


def counted(folder: Path, names: "list[str]") -> "list[str]":
    """Print the number of lines of every JSONL file; a plan of another length than the manifest's is a problem."""
    lines = {}
    for name in names:
        if name.endswith((".jsonl", ".jsonl.gz")):
            try:
                lines[name] = count_lines(folder / name)
            except (OSError, EOFError, zlib.error) as error:
                return [f"{name}: cannot be unpacked: {error}"]
            print(f"{lines[name]:>12} lines  {ascii(name)[1:-1]}")
    try:
        planned = read(folder / "manifest.json").get("trials")
    except UNREADABLE as error:
        return [f"manifest.json cannot be read: {error!r:.200}"]
    if lines.get("trials.jsonl.gz") != planned:
        return [f"trials.jsonl.gz: {lines.get('trials.jsonl.gz')} lines, the manifest plans {planned} trials"]
    return []


def main() -> int:
    """Check the folder that is named."""
    if len(sys.argv) != 2:
        print("python verify.py FOLDER", file=sys.stderr)
        return 2
    folder = Path(sys.argv[1])
    wrong = problems(folder)
    for line in wrong:
        print("DIFFERS  " + ascii(line)[1:-1])  # names come from the folder: nothing of them moves the cursor
    if wrong:
        return 6
    receipt = read(folder / "receipt.json")
    print(f"whole: {len(receipt['files'])} files, root {receipt['root_sha256']}")
    return 0


if __name__ == "__main__":
    sys.exit(main())

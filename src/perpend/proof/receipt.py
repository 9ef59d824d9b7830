"""receipt.json: the SHA-256 of every file of a published run, one digest over all; and its signature by an SSH key."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from perpend.canon import JSON, as_object, digest, digest_file, pretty, read_bytes, read_object, read_text, write_atomic
from perpend.disk import temporary_folder
from perpend.errors import SpecError, StoreError, check_format
from perpend.opening import refuse_links

FORMAT = 3
RECEIPT, SIGNATURE, SIGNER = "receipt.json", "receipt.json.sig", "signer.pub"
STATEMENT, STATEMENT_SIGNATURE = "statement.intoto.json", "statement.intoto.json.sig"
UNLISTED = frozenset((RECEIPT, SIGNATURE, SIGNER, STATEMENT_SIGNATURE))
"""What is in a published folder and not in its receipt."""


@dataclass(frozen=True, slots=True)
class Receipt:
    """What receipt.json says. `body` is all of it; `files` maps each file's name, with '/', to its SHA-256."""

    run: str
    files: Mapping[str, str]
    root_sha256: str
    receipt_sha256: str
    body: Mapping[str, JSON]


def write(folder: Path, run: str, facts: Mapping[str, JSON], files: Mapping[str, str] | None = None) -> Receipt:
    """Digest every file of a folder and write its receipt. `facts` are gates, attempts and code.

    `files` are the digests where they are known already.

    `root_sha256` is the digest of the mapping of files; `receipt_sha256` that of all the rest of the receipt.
    """
    files = digests(folder) if files is None else dict(files)
    body: dict[str, JSON] = {**facts, "format": FORMAT, "run": run, "files": files, "root_sha256": digest(files)}
    body["receipt_sha256"] = digest(body)
    write_atomic(folder / RECEIPT, pretty(body))
    return Receipt(run, files, str(body["root_sha256"]), str(body["receipt_sha256"]), body)


def listable(folder: Path) -> list[str]:
    """The names, with '/', of every file below a folder that a receipt lists.

    A link, a pipe, a device or an empty folder is an error.
    """
    refuse_links(folder)
    names = []
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder).as_posix()
        if path.is_dir():
            if not any(path.iterdir()):
                raise StoreError(f"{path}: an empty folder; a published run holds files only")
        elif name not in UNLISTED:
            names.append(name)
    return names


def digests(folder: Path) -> dict[str, str]:
    """The SHA-256 of every file below a folder that a receipt lists, by its name with '/'."""
    return {name: digest_file(folder / name, within=folder) for name in listable(folder)}


def compared_files(folder: Path, stated: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """(name, how it differs or '') of every file that a receipt states or a folder holds, by name.

    Names first: what is not stated, and may be of any length, is not read.
    """
    present = {*listable(folder)}
    for name in sorted({*stated, *present}):
        if name not in present:
            yield name, f"{name}: missing"
        elif name not in stated:
            yield name, f"{name}: not in the receipt"
        else:
            now = digest_file(folder / name, within=folder)
            yield name, "" if now == stated[name] else f"{name}: stored {stated[name]}, recomputed {now}"


def read(folder: Path) -> Receipt:
    """The receipt of a published folder, as it is there; `differences` says whether it is true."""
    path = folder / RECEIPT
    if not path.exists():
        raise StoreError(f"{folder}: not a published run (there is no {RECEIPT}); 'perpend publish' makes one")
    body = read_object(path, StoreError, within=folder)
    files = body.get("files")
    check_format(body.get("format"), FORMAT, path, as_object(body.get("code")).get("perpend"))
    if not isinstance(files, dict):
        raise StoreError(f"{path}: lists no files; it was changed")
    named = {name: str(value) for name, value in files.items()}
    return Receipt(str(body.get("run")), named, str(body.get("root_sha256")), str(body.get("receipt_sha256")), body)


def differences(folder: Path) -> list[str]:
    """In which files a published folder differs from its receipt, and whether the receipt's own digests hold."""
    receipt = read(folder)
    lines = [words for _, words in compared_files(folder, receipt.files) if words]
    if digest(dict(receipt.files)) != receipt.root_sha256:
        lines.append(f"{RECEIPT}: root_sha256 is not the digest of its files")
    if digest({key: value for key, value in receipt.body.items() if key != "receipt_sha256"}) != receipt.receipt_sha256:
        lines.append(f"{RECEIPT}: receipt_sha256 is not the digest of the rest")
    return lines


NAMESPACE = "perpend"
"""Says what a signature is for, so that one for mail or for git is not taken for it."""
_LONGEST_KEY = 1 << 16
# One line, its parts apart by one blank: any other blank or line is read differently by different programs, and the key
# that verifies would not be the one that is shown.
_PUBLIC = re.compile(r"([a-z0-9@.-]{1,80} [A-Za-z0-9+/]{1,16384}={0,2})(?: [!-~][ -~]{0,199})?\n")
_ARMOUR = re.compile(r"-----BEGIN SSH SIGNATURE-----\n(?:[A-Za-z0-9+/=]{1,76}\n)+-----END SSH SIGNATURE-----\n")


@dataclass(frozen=True, slots=True)
class Signature:
    """Whether a published folder is signed and the signature is good. `good` None: `note` says why nobody can tell."""

    signed: bool
    good: bool | None
    signer: str
    """The key's fingerprint, 'SHA256:…'; '' where there is none."""
    note: str


def sign(folder: Path, key: Path) -> None:
    """Sign a folder's receipt and its statement with a private key (or the public part of one that ssh-agent holds).

    The public key is written beside it without its comment, which names a user and a host.
    """
    program = shutil.which("ssh-keygen")
    if program is None:
        raise SpecError("--sign needs ssh-keygen, which is not on the PATH; install OpenSSH or leave --sign out")
    if not key.is_file():
        raise SpecError(f"{key}: no such key; --sign takes the private key's file, for example ~/.ssh/id_ed25519")
    read_text(key, SpecError, longest=_LONGEST_KEY)  # ssh-keygen reads a file of gigabytes to its end
    for name in (SIGNATURE, STATEMENT_SIGNATURE):
        (folder / name).unlink(missing_ok=True)
    # A key with a passphrase asks for it on the terminal, so only the output is taken. It asks once for both files.
    signed = [str(folder / name) for name in (RECEIPT, STATEMENT)]
    _checked(key, [program, "-Y", "sign", "-n", NAMESPACE, "-f", str(key), *signed])
    public = key.with_name(key.name + ".pub")
    if key.suffix == ".pub":
        text = key.read_text(encoding="utf-8")
    elif public.is_file():
        text = public.read_text(encoding="utf-8")
    else:
        text = _checked(key, [program, "-y", "-f", str(key)])
    (folder / SIGNER).write_text(" ".join(text.split()[:2]) + "\n", encoding="utf-8", newline="\n")
    for outcome in (check(folder), check(folder, STATEMENT)):
        if not outcome.good:
            raise SpecError(f"{key}: the signature does not verify ({outcome.note}); is {public.name} of another key?")


def check(folder: Path, name: str = RECEIPT) -> Signature:
    """Verify the signature of a file of a published folder, its receipt, against the key that is beside it.

    A good one shows that whoever holds that key signed this file; whose key it is, the reader must know.
    """
    signature = f"{name}.sig"
    if not (folder / signature).is_file():
        return Signature(False, None, "", "not signed")
    if not (folder / SIGNER).is_file():
        return Signature(True, False, "", f"there is a signature and no {SIGNER}")
    program = shutil.which("ssh-keygen")
    if program is None:
        return Signature(True, None, "", "ssh-keygen is not on the PATH, so the signature was not checked")
    public, armour = _PUBLIC.fullmatch(_ascii(folder, SIGNER)), _ascii(folder, signature)
    if public is None or _ARMOUR.fullmatch(armour) is None:
        what = f"{SIGNER}: not one public key" if public is None else f"{signature}: not one signature"
        return Signature(True, False, "", f"{what} and nothing else, as ssh-keygen writes it")
    with temporary_folder("sign") as tmpdir:
        allowed, key, seal = (tmpdir / file for file in ("allowed", "key.pub", "seal"))
        allowed.write_text(f"{NAMESPACE} {public[1]}\n", encoding="ascii")
        key.write_text(f"{public[1]}\n", encoding="ascii")  # what verifies is what is shown
        seal.write_text(armour, encoding="ascii")
        printed = _run([program, "-l", "-f", str(key)])
        signer = next((word for word in printed.stdout.split() if word.startswith("SHA256:")), "")
        command = [program, "-Y", "verify", "-n", NAMESPACE, "-I", NAMESPACE, "-f", str(allowed), "-s", str(seal)]
        done = _run(command, read_bytes(folder / name, StoreError, within=folder))
    if done.returncode:
        return Signature(True, False, signer, f"ssh-keygen refuses it: {(done.stderr or done.stdout).strip()[:200]}")
    return Signature(True, True, signer, f"good signature of {signer}")


def _ascii(folder: Path, name: str) -> str:
    """A small file of a published folder; what is not ASCII in it, which no key and no signature holds, as '?'."""
    data = read_bytes(folder / name, StoreError, longest=_LONGEST_KEY, within=folder)
    return data.decode("ascii", "replace")


def _run(command: list[str], given: bytes = b"") -> subprocess.CompletedProcess[str]:
    done = subprocess.run(command, input=given, capture_output=True, check=False)  # noqa: S603  a list, and no shell
    out, err = (text.decode("utf-8", "replace") for text in (done.stdout, done.stderr))
    return subprocess.CompletedProcess(command, done.returncode, out, err)


def _checked(key: Path, command: list[str]) -> str:
    done = _run(command)
    if done.returncode:
        raise SpecError(f"{key}: ssh-keygen cannot sign with it: {done.stderr.strip()[:200]}")
    return done.stdout

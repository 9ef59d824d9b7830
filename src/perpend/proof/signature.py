"""A signature over receipt.json by an SSH key that somebody has already, written and checked by ssh-keygen."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

from perpend.errors import SpecError
from perpend.proof.receipt import RECEIPT, SIGNATURE, SIGNER

NAMESPACE = "perpend"
"""Says what a signature is for, so that one for mail or for git is not taken for it."""


@dataclass(frozen=True, slots=True)
class Signature:
    """Whether a published folder is signed and the signature is good. `good` None: `note` says why nobody can tell."""

    signed: bool
    good: bool | None
    signer: str
    """The key's fingerprint, 'SHA256:…'; '' where there is none."""
    note: str


def sign(folder: Path, key: Path) -> None:
    """Sign a folder's receipt with a private key (or the public part of one that ssh-agent holds).

    The public key is written beside it without its comment, which names a user and a host.
    """
    program = shutil.which("ssh-keygen")
    if program is None:
        raise SpecError("--sign needs ssh-keygen, which is not on the PATH; install OpenSSH or leave --sign out")
    if not key.is_file():
        raise SpecError(f"{key}: no such key; --sign takes the private key's file, for example ~/.ssh/id_ed25519")
    (folder / SIGNATURE).unlink(missing_ok=True)
    # A key with a passphrase asks for it on the terminal, so only the output is taken.
    _checked(key, [program, "-Y", "sign", "-n", NAMESPACE, "-f", str(key), str(folder / RECEIPT)])
    public = key.with_name(key.name + ".pub")
    if key.suffix == ".pub":
        text = key.read_text(encoding="utf-8")
    elif public.is_file():
        text = public.read_text(encoding="utf-8")
    else:
        text = _checked(key, [program, "-y", "-f", str(key)])
    (folder / SIGNER).write_text(" ".join(text.split()[:2]) + "\n", encoding="utf-8")
    outcome = check(folder)
    if not outcome.good:
        raise SpecError(f"{key}: the signature does not verify ({outcome.note}); is {public.name} of another key?")


def check(folder: Path) -> Signature:
    """Verify the signature of a published folder against the key that is beside it.

    A good one shows that whoever holds that key signed this receipt; whose key it is, the reader must know.
    """
    if not (folder / SIGNATURE).is_file():
        return Signature(False, None, "", "not signed")
    if not (folder / SIGNER).is_file():
        return Signature(True, False, "", f"there is a signature and no {SIGNER}")
    program = shutil.which("ssh-keygen")
    if program is None:
        return Signature(True, None, "", "ssh-keygen is not on the PATH, so the signature was not checked")
    public = (folder / SIGNER).read_text(encoding="utf-8", errors="replace").split()[:2]
    with tempfile.TemporaryDirectory() as tmpdir:
        allowed = Path(tmpdir) / "allowed"
        allowed.write_text(f"{NAMESPACE} {' '.join(public)}\n", encoding="utf-8")
        printed = _run([program, "-l", "-f", str(folder / SIGNER)], None)
        signer = next((word for word in printed.stdout.split() if word.startswith("SHA256:")), "")
        command = [program, "-Y", "verify", "-n", NAMESPACE, "-I", NAMESPACE, "-f", str(allowed)]
        done = _run([*command, "-s", str(folder / SIGNATURE)], folder / RECEIPT)
    if done.returncode:
        return Signature(True, False, signer, f"ssh-keygen refuses it: {(done.stderr or done.stdout).strip()[:200]}")
    return Signature(True, True, signer, f"good signature of {signer}")


def _run(command: list[str], given: Path | None) -> subprocess.CompletedProcess[str]:
    data = b"" if given is None else given.read_bytes()
    done = subprocess.run(command, input=data, capture_output=True, check=False)  # noqa: S603  a list, and no shell
    out, err = (text.decode("utf-8", "replace") for text in (done.stdout, done.stderr))
    return subprocess.CompletedProcess(command, done.returncode, out, err)


def _checked(key: Path, command: list[str]) -> str:
    done = _run(command, None)
    if done.returncode:
        raise SpecError(f"{key}: ssh-keygen cannot sign with it: {done.stderr.strip()[:200]}")
    return done.stdout

"""A signature names the key that verifies it, and no other: signer.pub and the seals hold one thing each."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from perpend.proof import receipt
from tests.attack.conftest import Copied
from tests.attack.forge import new_key

pytestmark = pytest.mark.skipif(shutil.which("ssh-keygen") is None, reason="needs ssh-keygen")


def _fingerprint(public: Path) -> str:
    done = subprocess.run(["ssh-keygen", "-l", "-f", public], check=True, capture_output=True, text=True)
    return done.stdout.split()[1]


def _public(key: Path) -> str:
    """The public part of a key without the comment."""
    return " ".join(key.with_suffix(".pub").read_text().split()[:2])


@pytest.fixture
def signed(copied: Copied, tmp_path: Path) -> tuple[Path, str, str, str]:
    """A folder that an attacker signed, his key, a victim's key, and the victim's fingerprint."""
    folder = copied("published/swayed")
    key, victim = new_key(tmp_path / "attacker"), new_key(tmp_path / "victim")
    receipt.sign(folder, key)
    assert receipt.check(folder).good
    return folder, _public(key), _public(victim), _fingerprint(victim.with_suffix(".pub"))


SIGNERS = (
    *(f"{{kind}}{blank}{{blob}}\n{{victim}}\n" for blank in ("\x0b", "\x0c", "\x1c", "\u2003", "\t")),
    "{own}\n{victim}\n",
    "{victim}\n{own}\n",
    "\n{own}\n",
    "# {victim}\n{own}\n",
    "{own} \n",
    "{own}\r\n",
    "{own}",
    " {own}\n",
    "{own} {victim}\n{victim}\n",
    'no-pty,command="{victim}" {own}\n',
    "{own} \x1b[2J\n",
)


@pytest.mark.parametrize("text", SIGNERS)
def test_a_key_file_with_anything_beside_its_key_is_no_good_signature(
    signed: tuple[Path, str, str, str], text: str
) -> None:
    folder, own, victim, fingerprint = signed
    kind, blob = own.split()
    words = text.format(kind=kind, blob=blob, own=own, victim=victim)
    (folder / "signer.pub").write_bytes(words.encode())
    for name in (receipt.RECEIPT, receipt.STATEMENT):
        outcome = receipt.check(folder, name)
        assert not outcome.good, outcome
        assert fingerprint not in outcome.note + outcome.signer


def test_the_fingerprint_is_that_of_the_key_that_verifies(signed: tuple[Path, str, str, str], tmp_path: Path) -> None:
    folder, own, _, fingerprint = signed
    assert receipt.check(folder).signer != fingerprint
    (folder / "signer.pub").write_text(f"{own} a comment of some words\n")
    outcome = receipt.check(folder)
    assert outcome.good
    assert outcome.signer == _fingerprint(tmp_path / "attacker.pub")


@pytest.mark.parametrize("change", ["{0}{0}", "{0}signed by an independent lab\n", "hello\n{0}", "{0}\n"])
def test_a_seal_with_anything_beside_it_is_no_good_signature(signed: tuple[Path, str, str, str], change: str) -> None:
    folder = signed[0]
    path = folder / "receipt.json.sig"
    path.write_text(change.format(path.read_text()))
    assert not receipt.check(folder).good

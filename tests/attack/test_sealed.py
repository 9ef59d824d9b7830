"""What a seal of a published folder shows, and what it cannot: figures, raw facts, a signature, bytes restored."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from perpend.proof import receipt, verify
from perpend.proof.audit import Options
from tests.attack.conftest import Copied
from tests.attack.crafted import changed
from tests.attack.forge import failed, new_key, of, seal
from tests.attack.test_published import FILES

FINGERPRINT = changed("manifest.json", "set", "models/0/fingerprint/source_sha256", "0" * 64)


@pytest.mark.parametrize("kind", ["swayed", "tastes"])
def test_honest_folders_pass_and_every_check_looked_at_something_or_says_why(copied: Copied, kind: str) -> None:
    folder = copied(f"published/{kind}")
    outcome = of(folder)
    assert outcome.ok, [check for check in outcome.checks if check.differ]
    assert all(check.checked or check.note or check.missing for check in outcome.checks)
    assert verify.problems(folder) == []


def test_a_replaced_figure_that_is_sealed_again_is_named_when_figures_are_redrawn(copied: Copied) -> None:
    folder = copied("published/tastes")
    name = "figures/pressure_effects_double.png"
    shutil.copy(folder / "figures/pressure_effects_single.png", folder / name)
    assert name in failed(folder)[FILES].first
    seal(folder)
    assert failed(folder) == {}
    found = failed(folder, Options(figures=True))
    assert list(found) == ["figures"]
    assert found["figures"].first.startswith(f"{name}: not the bytes")


def test_redrawn_figures_of_an_honest_folder_are_the_same_bytes(source: Path) -> None:
    assert failed(source / "published" / "tastes", Options(figures=True)) == {}


def test_raw_facts_that_are_forged_consistently_pass_and_only_another_root_digest_tells(copied: Copied) -> None:
    """The limit of any recomputation: whoever writes the raw facts writes what follows from them, too."""
    folder = copied("published/swayed")
    root = receipt.read(folder).root_sha256
    FINGERPRINT(folder)
    assert failed(folder)[FILES].first.startswith("manifest.json: stored")
    seal(folder)
    assert failed(folder) == {}
    assert receipt.read(folder).root_sha256 != root


@pytest.mark.skipif(shutil.which("ssh-keygen") is None, reason="ssh-keygen is not installed")
def test_a_signature_over_another_receipt_is_named(copied: Copied, tmp_path: Path) -> None:
    folder = copied("published/swayed")
    receipt.sign(folder, new_key(tmp_path / "key"))
    seal(folder)  # the same receipt: nothing was forged
    assert failed(folder) == {}
    FINGERPRINT(folder)
    seal(folder)
    found = failed(folder)
    assert list(found) == ["signature"]
    assert "ssh-keygen refuses it" in found["signature"].first

"""A forged published folder: caught by its receipt, or by recomputation where everything was sealed anew."""

from __future__ import annotations

import gzip
import shutil
import subprocess
from pathlib import Path

import pytest

from perpend.measure.run import Run
from perpend.proof import receipt, verify
from perpend.proof import receipt as signature
from perpend.proof.archive import write
from perpend.proof.audit import Options
from perpend.proof.restoring import restore
from tests.tamper.conftest import Honest
from tests.tamper.forgery import Forge, edit, failed, lines, of, seal, text
from tests.tamper.kinds import FILES, KINDS, READ, Kind, manifest


def test_honest_folders_pass_and_every_check_looked_at_something_or_says_why(honest: Honest) -> None:
    for name in ("logic", "study"):
        outcome = of(honest.published / name)
        assert outcome.ok, [check for check in outcome.checks if check.differ]
        assert all(check.checked or check.note or check.missing for check in outcome.checks)
        assert verify.problems(honest.published / name) == []


def test_there_are_at_least_twenty_kinds() -> None:
    assert len({kind.name for kind in KINDS}) == len(KINDS) > 20


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_what_was_changed_is_named_by_the_receipt(honest: Honest, kind: Kind) -> None:
    folder = honest.published / kind.run
    kind.forge(folder)
    found = failed(folder)[FILES]
    assert kind.file in found.first
    assert any(kind.file in told for told in verify.problems(folder))


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_what_was_changed_and_sealed_again_is_named_by_recomputation(honest: Honest, kind: Kind) -> None:
    folder = honest.published / kind.run
    kind.forge(folder)
    seal(folder)
    assert receipt.differences(folder) == []
    found = failed(folder)
    assert FILES not in found
    assert kind.place in found[kind.caught].first
    assert found[kind.caught].differ


@pytest.mark.parametrize(
    ("change", "caught", "place"),
    [
        (
            edit("receipt.json", lambda body: body["files"].update({"plan.json": "0" * 64})),
            FILES,
            "plan.json: stored 000",
        ),
        (edit("receipt.json", lambda body: body["files"].pop("plan.json")), FILES, "plan.json: not in the receipt"),
        (
            edit("receipt.json", lambda body: body.update(root_sha256="0" * 64)),
            "receipt has its digests",
            "root_sha256: stored '000",
        ),
        (
            edit("receipt.json", lambda body: body["gates"][3].update(found="all")),
            "receipt has its digests",
            "receipt_sha256",
        ),
        (
            edit("receipt.json", lambda body: body["attempts"].update(position=2)),
            "receipt has its digests",
            "receipt_sha256",
        ),
        (
            edit("../index.json", lambda body: body["runs"][0].update(trials=99)),
            "index agrees",
            "trials: stored 99, recomputed 16",
        ),
        (
            edit("../index.json", lambda body: body["runs"][0].update(root_sha256="0" * 64)),
            "index agrees",
            "root_sha256: stored",
        ),
        (edit("../index.json", lambda body: body["runs"].append({"run": "ghost"})), "index agrees", "ghost"),
        (text("../README.md", "| 16 |", "| 99 |"), "index agrees", "README.md:9: stored"),
        (
            lambda folder: shutil.rmtree(folder.parent / "study"),
            "index agrees",
            "index.json, study: stored 'listed', recomputed 'not there'",
        ),
    ],
)
def test_an_edited_receipt_or_index_is_named(honest: Honest, change: Forge, caught: str, place: str) -> None:
    folder = honest.published / "logic"
    change(folder)
    assert place in failed(folder)[caught].first


@pytest.mark.parametrize(
    ("change", "caught", "place"),
    [
        (
            lambda body: body["gates"][3].update(found="all answered"),
            "gates of the receipt",
            "gate coverage, found: stored 'all answered'",
        ),
        (lambda body: body["gates"].pop(3), "gates of the receipt", "gate coverage: not in the receipt"),
        (
            lambda body: body["attempts"].update(position=2),
            "attempts of the receipt",
            "position: stored 2, recomputed 1",
        ),
        (lambda body: body["attempts"]["headline"].update(value=0.99), "attempts of the receipt", "value: stored 0.99"),
        (lambda body: body["attempts"].update(told="The best of none."), "attempts of the receipt", "attempts, told"),
        (lambda body: body["attempts"].update(luck=1), "attempts of the receipt", "attempts, luck: stored 1"),
        (lambda body: body["gates"][7].update(found="spotless"), "gates of the receipt", "gate private, found"),
        (lambda body: body["gates"][3].update(note="x"), "gates of the receipt", "gate coverage, note: stored"),
        (lambda body: body["code"].update(host="x"), "receipt has its digests", "keys of code"),
    ],
)
def test_an_edited_gate_or_attempt_that_is_sealed_again_is_named(
    honest: Honest, change: Forge, caught: str, place: str
) -> None:
    folder = honest.published / "logic"
    edit("receipt.json", change)(folder)
    seal(folder)
    assert place in failed(folder)[caught].first


def test_a_replaced_figure_that_is_sealed_again_is_named_when_figures_are_redrawn(honest: Honest) -> None:
    folder = honest.published / "study"
    name = "figures/pressure_effects_double.png"
    shutil.copy(folder / "figures/pressure_effects_single.png", folder / name)
    assert name in failed(folder)[FILES].first
    seal(folder)
    assert failed(folder) == {}
    found = failed(folder, Options(figures=True))
    assert list(found) == ["figures"]
    assert found["figures"].first.startswith(f"{name}: not the bytes")


def test_redrawn_figures_of_an_honest_folder_are_the_same_bytes(honest: Honest) -> None:
    assert failed(honest.published / "study", Options(figures=True)) == {}


def test_raw_facts_that_are_forged_consistently_pass_and_only_another_root_digest_tells(honest: Honest) -> None:
    """The limit of any recomputation: whoever writes the raw facts writes what follows from them, too."""
    folder = honest.published / "logic"
    root = receipt.read(folder).root_sha256
    manifest("models/0/fingerprint/source_sha256", "0" * 64)(folder)
    assert failed(folder)[FILES].first.startswith("manifest.json: stored")
    seal(folder)
    assert failed(folder) == {}
    assert receipt.read(folder).root_sha256 != root


@pytest.mark.skipif(shutil.which("ssh-keygen") is None, reason="ssh-keygen is not installed")
def test_a_signature_over_another_receipt_is_named(honest: Honest, tmp_path: Path) -> None:
    folder, key = honest.published / "logic", tmp_path / "key"
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(key)], check=True)
    signature.sign(folder, key)
    seal(folder)  # the same receipt: nothing was forged
    assert failed(folder) == {}
    manifest("models/0/fingerprint/source_sha256", "0" * 64)(folder)
    seal(folder)
    found = failed(folder)
    assert list(found) == ["signature"]
    assert "ssh-keygen refuses it" in found["signature"].first


def test_a_bomb_in_place_of_the_responses_is_refused_and_named(honest: Honest) -> None:
    folder = honest.published / "logic"
    (folder / "responses.jsonl.gz").write_bytes(gzip.compress(b"[" * 100_000 + b"\n"))
    seal(folder)
    assert "responses.jsonl.gz" in failed(folder)[READ].first


def test_a_restored_and_published_again_folder_holds_the_same_bytes(honest: Honest, tmp_path: Path) -> None:
    folder = honest.published / "logic"
    again = tmp_path / "again"
    write(Run(restore(folder, tmp_path / "restored")).directory, again)
    for path in again.iterdir():
        assert path.read_bytes() == (folder / path.name).read_bytes(), path.name


@pytest.mark.parametrize(
    "forge",
    [
        lines("items.jsonl.gz", lambda rows: rows[0]["item"].pop("prompt")),
        lines("items.jsonl.gz", lambda rows: rows[0]["item"].update(target=["TRUE"])),
        lines("items.jsonl.gz", lambda rows: rows[0].pop("item")),
        lines("responses.jsonl.gz", lambda rows: rows[0].update(usage={"tokens": 1})),
        lines("responses.jsonl.gz", lambda rows: rows[0].update(logprobs=[1])),
        lines("responses.jsonl.gz", lambda rows: rows[0].update(text=None)),
        lines("scores.jsonl.gz", lambda rows: rows[0].update(trial=10**9)),
        lines("scores.jsonl.gz", lambda rows: rows[0].update(span="no")),
        edit("plan.json", lambda body: body["samplings"][0].pop("seed")),
        edit("plan.json", lambda body: body.update(scorers="label@1")),
        edit("manifest.json", lambda body: body.update(conditions=[{"name": 1, "params": {"user": "{nothing}"}}])),
        edit("manifest.json", lambda body: body.update(items=[], models=0, samplings="x", task=None, trials="many")),
        lambda folder: (folder / "metrics.json").write_text("[" * 100_000),
    ],
)
def test_a_folder_that_holds_nonsense_is_a_difference_and_not_a_crash(honest: Honest, forge: Forge) -> None:
    folder = honest.published / "logic"
    forge(folder)
    found = failed(folder)
    assert set(found) > {FILES}, "the receipt alone names it"

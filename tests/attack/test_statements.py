"""The statements beside a published run: each says what the run says, and whatever is changed in one is found."""

from __future__ import annotations

import hashlib
import json
import random
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml

from perpend.canon import JSON
from perpend.ledger.manifest import read_manifest
from perpend.measure.study import numbers_of, read_metrics
from perpend.proof import receipt, statements, verify
from perpend.proof.audit import Check
from perpend.proof.audit.bundle import bundle
from perpend.proof.receipt import SIGNATURE, SIGNER, STATEMENT, STATEMENT_SIGNATURE
from perpend.proof.statements import StatedRun
from tests.attack.conftest import Copied
from tests.attack.forge import failed, new_key, seal

HOSTILE = 'a"b: {[\\]}\n- x: !!python/object \u202e<script>\x1b[2J # é \U0001f600 …\u0085'


def body(folder: Path, name: str) -> dict[str, Any]:
    read: dict[str, Any] = json.loads((folder / name).read_text(encoding="utf-8"))
    return read


def stated(folder: Path) -> list[str]:
    """The names of the statements of a published folder."""
    return sorted(statements.names(read_manifest(folder)))


def wrong(folder: Path) -> list[str]:
    """How the statements differ from what follows."""
    return [words for _, words in statements.differences(folder) if words]


def seals(folder: Path) -> dict[str, Check]:
    """The checks of a folder without its run that find a difference, by name."""
    return {check.name: check for check in bundle(folder) if check.differ}


def facts(folder: Path) -> StatedRun:
    manifest = read_manifest(folder)
    code: dict[str, JSON] = {"perpend": "1", "source_sha256": "0" * 64}
    return StatedRun(manifest, numbers_of(read_metrics(folder), [manifest]), receipt.read(folder).files, code)


def test_the_subjects_of_the_statement_are_the_files_of_the_folder(copied: Copied) -> None:
    folder = copied("published/swayed")
    there = {path.relative_to(folder).as_posix(): path for path in folder.rglob("*") if path.is_file()}
    sealed = {receipt.RECEIPT, STATEMENT}
    subjects = {one["name"]: one["digest"]["sha256"] for one in body(folder, STATEMENT)["subject"]}
    assert subjects == {
        name: hashlib.sha256(path.read_bytes()).hexdigest() for name, path in there.items() if name not in sealed
    }
    crate = {one["@id"] for one in body(folder, "ro-crate-metadata.json")["@graph"] if one["@type"] == "File"}
    assert crate == there.keys() - {"ro-crate-metadata.json"}


def test_the_numbers_of_the_statements_are_those_of_metrics_json(copied: Copied) -> None:
    folder = copied("published/swayed")
    metrics = list(body(folder, "metrics.json")["metrics"])
    names = ("rate", "mean", "difference", "override", "rescue")
    then = [
        (m["metric"], m["scorer"], m["where"], m["value"], m["n"], m["lo"]) for m in metrics if m["metric"] in names
    ]
    predicate = body(folder, STATEMENT)["predicate"]
    again = [
        (m["metric"], m["scorer"], m["where"], m["value"], m["sampleSize"], m.get("interval", {}).get("lower"))
        for m in predicate["metrics"]
    ]
    assert again == then
    (record,) = (folder / "every_eval_ever").iterdir()
    results = [
        (one["metric_config"]["metric_id"], one["score_details"]["score"], one["score_details"]["uncertainty"])
        for one in body(folder, f"every_eval_ever/{record.name}")["evaluation_results"]
    ]
    rates = [m for m in metrics if m["metric"] == "rate" and m["value"] is not None]
    assert [(m["scorer"], m["value"], m["n"]) for m in rates] == [(a, b, c["num_samples"]) for a, b, c in results]


def test_a_changed_line_of_any_statement_is_found(copied: Copied) -> None:
    folder = copied("published/swayed")
    chance = random.Random(22)
    for name in stated(folder):
        lines = (folder / name).read_text(encoding="utf-8").split("\n")
        full = [number for number, line in enumerate(lines) if any(ch.isalnum() for ch in line)]
        for number in chance.sample(full, 12):
            place = chance.choice([at for at, ch in enumerate(lines[number]) if ch.isalnum()])
            old = lines[number]
            lines[number] = old[:place] + ("7" if old[place] != "7" else "8") + old[place + 1 :]
            (folder / name).write_text("\n".join(lines), encoding="utf-8")
            (words,) = wrong(folder)
            assert words.startswith(f"{name}:{number + 1}: stored "), words
            lines[number] = old
        (folder / name).write_text("\n".join(lines), encoding="utf-8")
    assert wrong(folder) == []


def spaced(path: Path) -> None:
    path.write_text(json.dumps(json.loads(path.read_text())) + "\n")


def swapped(path: Path) -> None:
    other = path.with_name("croissant.json" if path.name != "croissant.json" else "CITATION.cff")
    first, second = path.read_bytes(), other.read_bytes()
    path.write_bytes(second)
    other.write_bytes(first)


WHOLE: dict[str, Callable[[Path], object]] = {
    "missing": Path.unlink,
    "emptied": lambda path: path.write_bytes(b""),
    "longer": lambda path: path.write_bytes(path.read_bytes() + b"\n" * 1_000_000),
    "not UTF-8": lambda path: path.write_bytes(path.read_bytes().replace(b"a", b"\xff", 1)),
    "written in another way": spaced,
    "swapped with another": swapped,
}


@pytest.mark.parametrize("kind", WHOLE)
def test_a_statement_that_is_another_file_is_found(copied: Copied, kind: str) -> None:
    folder = copied("published/swayed")
    WHOLE[kind](folder / STATEMENT)
    assert wrong(folder)[-1].startswith(STATEMENT)


def test_a_folder_that_has_one_statement_more_is_found(copied: Copied) -> None:
    folder = copied("published/tastes")
    (folder / "every_eval_ever" / "more.json").write_text("{}")
    seal(folder, restate=False)
    assert "every_eval_ever/more.json: nothing in this run gives such a file" in failed(folder)["tables"].first


def test_a_hostile_name_says_nothing_but_itself(copied: Copied) -> None:
    one = facts(copied("published/swayed"))
    model = replace(one.manifest.models[0], label=HOSTILE, name=HOSTILE)
    manifest = replace(one.manifest, run=HOSTILE, task=HOSTILE, models=(model,))
    texts = statements.texts(replace(one, manifest=manifest))
    assert len(texts) == 5
    plain = statements.texts(one)
    cited, before = yaml.safe_load(texts["CITATION.cff"]), yaml.safe_load(plain["CITATION.cff"])
    assert (cited.keys(), cited["authors"][0].keys()) == (before.keys(), {"name"})
    assert "<script>" in cited["title"]
    assert "\x1b" not in texts["CITATION.cff"]
    assert len(texts["CITATION.cff"].splitlines()) == len(plain["CITATION.cff"].splitlines())
    crate = json.loads(texts["ro-crate-metadata.json"])["@graph"]
    assert [part["@id"] for part in crate if part["@id"][0] in ".#"] == [
        "./", "#run", "#authors", "#licence", "#perpend", "#model-1",
    ]  # fmt: skip
    assert not {"\u202e", "\x1b", "\n"} & set(crate[1]["name"] + crate[1]["description"])
    assert json.loads(texts[STATEMENT])["predicate"]["models"][0]["name"] == HOSTILE


def test_a_run_without_a_time_states_none(copied: Copied) -> None:
    one = facts(copied("published/swayed"))
    for created in ("", "yesterday", "2026-13-01"):
        texts = statements.texts(replace(one, manifest=replace(one.manifest, created=created)))
        assert "datePublished" not in texts["croissant.json"] + texts["ro-crate-metadata.json"]
        assert "date-released" not in texts["CITATION.cff"]


def test_a_digest_is_stated_of_a_model_that_is_one_file(copied: Copied) -> None:
    one = facts(copied("published/swayed"))
    first = one.manifest.models[0]
    sums = {"a" * 64: "a" * 64, "sha256:" + "b" * 64: "b" * 64, "c" * 63: None, "": None}
    for value, expected in sums.items():
        model = replace(first, fingerprint={"file_sha256": value})
        text = statements.texts(replace(one, manifest=replace(one.manifest, models=(model,))))[STATEMENT]
        assert json.loads(text)["predicate"]["models"][0].get("digest") == (expected and {"sha256": expected})


@pytest.mark.skipif(shutil.which("ssh-keygen") is None, reason="OpenSSH is not installed")
def test_the_statement_is_signed_with_the_receipt(copied: Copied, tmp_path: Path) -> None:
    folder = copied("published/tastes")
    receipt.sign(folder, new_key(tmp_path / "key"))
    assert verify.problems(folder) == []
    assert "signature" not in seals(folder)
    good = (folder / STATEMENT_SIGNATURE).read_bytes()
    for forged in (b"", (folder / SIGNATURE).read_bytes()):
        (folder / STATEMENT_SIGNATURE).write_bytes(forged)
        assert seals(folder)["signature"].differ == 1
    (folder / STATEMENT_SIGNATURE).unlink()
    assert "missing, and the receipt is signed" in seals(folder)["signature"].first
    (folder / STATEMENT_SIGNATURE).write_bytes(good)
    (folder / SIGNATURE).unlink()
    (folder / SIGNER).unlink()
    assert "and none of the receipt" in seals(folder)["signature"].first

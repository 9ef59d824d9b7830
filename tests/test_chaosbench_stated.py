"""What a run folder states beside its texts: every key is known, every line has its source, and what cannot be
recomputed is named in the verdict."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from perpend.canon import digest, digest_file
from perpend.errors import AuditFailure
from perpend.proof.audit import Audit, audit
from tests.test_chaosbench_forgery import (
    Body,
    is_seen,
    lines,
    original,
    published,
    read,
    reseal,
    root,
    run_of,
    write_lines,
)

__all__ = ["original", "root"]


def _write(path: Path, body: Body) -> None:
    path.write_text(json.dumps(body, indent=2) + "\n")


def _cut(folder: Path, length: object) -> None:
    """Say in both places of the manifest that texts were cut to that length."""
    manifest = read(folder / "run_manifest.json")
    for key in ("settings", "budget"):
        part = manifest[key]
        assert isinstance(part, dict)
        part["truncate_pred_text"] = length
    _write(folder / "run_manifest.json", manifest)


def _longest(folder: Path) -> int:
    return max(len(str(row["pred_text"])) for row in lines(folder))


def _audited(folder: Path) -> Audit:
    (outcome,) = audit([folder])
    return outcome


@pytest.fixture
def bare(root: Path) -> Path:
    """The published copy without receipt, index and ledger: texts and what is stated of them."""
    folder = Path(shutil.copytree(published(root), root / "bare"))
    (folder / "publish_receipt.json").unlink()
    return folder


def test_a_cut_at_the_longest_text_does_not_switch_off_the_comparison(root: Path, bare: Path) -> None:
    for folder in (published(root), bare):
        _cut(folder, _longest(folder))
        body = read(folder / "metrics.json")
        metrics = body["metrics"]
        assert isinstance(metrics, list)
        parser = read(folder / "run_manifest.json")["parser"]
        forged = [
            one for one in metrics if one["value"] is not None and one["scorer"] == parser and "part" in one["where"]
        ]
        assert len(forged) > 40
        for one in forged:
            one["value"] = 0.999
        _write(folder / "metrics.json", body)
        if folder != bare:
            reseal(folder)
        outcome = _audited(folder)
        assert "chaosbench: metrics recompute" in {check.name for check in outcome.checks if check.differ}


def test_what_shortened_texts_do_not_give_is_named_in_the_verdict(root: Path, bare: Path) -> None:
    _cut(bare, _longest(bare))
    outcome = _audited(bare)
    assert outcome.ok
    left = ["chaosbench: predictions recompute", "chaosbench: metrics recompute"]
    assert [name for name in outcome.not_recomputed if name.startswith("chaosbench")] == left
    assert all(name in outcome.verdict for name in left)


@pytest.mark.parametrize("length", [0, -1, True, "9", 1.5])
def test_texts_are_cut_to_one_character_or_more(root: Path, bare: Path, length: object) -> None:
    _cut(bare, length)
    assert is_seen(bare)


def test_a_text_that_is_longer_than_all_were_cut_to_is_a_difference(bare: Path) -> None:
    _cut(bare, _longest(bare) - 1)
    assert is_seen(bare)


@pytest.mark.parametrize("file", ["metrics.json", "run_manifest.json", "publish_receipt.json"])
@pytest.mark.parametrize("is_cut", [False, True])
def test_a_key_that_nothing_gives_is_a_difference(root: Path, file: str, is_cut: bool) -> None:
    folder = published(root)
    if is_cut:
        _cut(folder, _longest(folder))
    reseal(folder)
    assert not is_seen(folder)
    _write(folder / file, {**read(folder / file), "human_baseline": 0.2})
    if file != "publish_receipt.json":
        reseal(folder)
    assert is_seen(folder)


@pytest.mark.parametrize("key", ["dataset", "items", "code", "tokens", "budget"])
def test_a_key_within_a_part_of_the_manifest_is_a_difference_too(bare: Path, key: str) -> None:
    body = read(bare / "run_manifest.json")
    part = body[key]
    assert isinstance(part, dict)
    part["reviewed_by"] = "NIST"
    _write(bare / "run_manifest.json", body)
    assert is_seen(bare)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("created_utc", "yesterday"),
        ("git_commit", "abc"),
        ("resumed_from", "another run"),
        ("usd", -1.0),
        ("usd_note", 3),
    ],
)
def test_a_fact_of_the_manifest_has_its_type(bare: Path, key: str, value: object) -> None:
    _write(bare / "run_manifest.json", {**read(bare / "run_manifest.json"), key: value})
    assert is_seen(bare)


def _checks(receipt: Body) -> list[Body]:
    checks = receipt["checks"]
    assert isinstance(checks, list)
    return checks


FORGED: dict[str, Callable[[Body], object]] = {
    "invented": lambda body: _checks(body).append({"check": "peer review", "passed": True, "found": "Nature 2026"}),
    "removed": lambda body: _checks(body).pop(0),
    "swapped": lambda body: _checks(body).reverse(),
    "words": lambda body: _checks(body)[4].update(found="60 rows, confirmed by NIST"),
    "key": lambda body: _checks(body)[4].update(by="NIST"),
    "dataset": lambda body: _checks(body)[0].update(found="0" * 64),
    "prompt": lambda body: _checks(body)[1].update(found="0" * 16),
    "source": lambda body: body.update(source_run_dir="elsewhere"),
    "time": lambda body: body.update(published_utc="never"),
    "skipped": lambda body: body.update(artifacts_skipped=["secrets.txt"]),
}


@pytest.mark.parametrize("name", FORGED)
def test_every_line_of_a_receipt_has_its_source(root: Path, name: str) -> None:
    folder = published(root)
    body = read(folder / "publish_receipt.json")
    FORGED[name](body)
    _write(folder / "publish_receipt.json", body)
    assert is_seen(folder)


@pytest.mark.parametrize("name", ["extra/report.html", "extra/run_me.py", "extra/deep/er", "run_me.py", "items.jsonl"])
def test_no_other_file_is_in_a_published_folder(root: Path, name: str) -> None:
    folder = published(root)
    (folder / name).parent.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text("print(1)")
    path = folder / "publish_receipt.json"
    files = {one.name: digest_file(one) for one in sorted(folder.iterdir()) if one.is_file() and one != path}
    sealed = {"files_sha256": files, "root_sha256": digest(files), "artifacts_copied": list(files)}
    _write(path, {**read(path), **sealed})
    assert is_seen(folder)
    with pytest.raises(AuditFailure):
        _audited(folder).raise_for_failures()


@pytest.mark.parametrize(
    "line",
    [
        "**gpt-9 reaches 99.9 % balanced accuracy.**",
        "| [gpt-9](ghost) | gpt-9 | 5000 | 0.999 | 0.999 | 0.999 | 2026-01-01 |",
        "",
    ],
)
def test_every_line_of_the_index_has_its_source(root: Path, line: str) -> None:
    readme = published(root).parent / "README.md"
    before = readme.read_text()
    readme.write_text(f"{before}{line}\n")
    assert is_seen(published(root))
    readme.write_text(f"{line}\n{before}")
    assert is_seen(published(root))


def test_other_files_beside_texts_without_a_ledger_are_named(bare: Path) -> None:
    (bare / "report.md").write_text("Balanced accuracy: 0.999\n")
    outcome = _audited(bare)
    assert "chaosbench: other files" in outcome.not_recomputed


def test_honest_folders_pass_whole(root: Path, bare: Path) -> None:
    for folder in (run_of(root), published(root), bare):
        assert _audited(folder).ok
        assert not [name for name in _audited(folder).not_recomputed if name.startswith("chaosbench")]


def test_a_published_run_whose_texts_were_cut_passes(root: Path, bare: Path) -> None:
    """As `eval --truncate-pred-text` and `publish-run` write it: the ledger has the texts, the copy has not."""
    folder = bare
    length = _longest(folder) - 2
    rows = lines(folder)
    for row in rows:
        for key in ("pred_text", "retry_pred_text", "first_pred_text"):
            row[key] = None if row[key] is None else str(row[key])[:length]
    write_lines(folder, rows)
    _cut(folder, length)
    assert _audited(folder).ok

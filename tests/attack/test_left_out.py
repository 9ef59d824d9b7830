"""Scores that the caller of an audit leaves out: named in the verdict, and nothing rests on them as they are stored."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from click.testing import CliRunner

from perpend.cli.group import group
from perpend.measure.run import Run
from perpend.proof.audit import Options, audit, check_claims
from perpend.proof.audit.runner import READABLE
from perpend.report.derive import derive
from tests.attack.conftest import Copied
from tests.attack.ledger import run_sql
from tests.test_compat_simulation import simulation


@pytest.fixture
def forged(copied: Copied) -> Path:
    """A run whose newest scores say that every answer is right, with the numbers that follow from them."""
    run = copied("runs/questions")
    run_sql(run, "UPDATE score SET value = 1.0 WHERE scorer IN (SELECT scorer FROM scorer WHERE name = 'correct')")
    derive([Run(run)], run, figures=False)
    return run


def test_scores_left_out_by_their_version_are_named_in_the_verdict(forged: Path) -> None:
    (whole,) = audit([forged])
    assert not whole.ok
    (outcome,) = audit([forged], Options(rules="v1"))
    known = [f"scores of {name}@{version}" for name, version in _scorers(forged)]
    left = [name for name in known if not name.endswith("@1")]
    assert "scores of correct@2" in left
    assert outcome.not_recomputed == left
    assert outcome.verdict == f"nothing differs in what was recomputed; not recomputed: {', '.join(left)}"
    assert outcome.as_json()["not_recomputed"] == left


def _scorers(run: Path) -> list[tuple[str, str]]:
    with Run(run).open() as store:
        return list(store.scorers())


def test_the_labels_of_an_import_are_named_where_they_are_left_out(source: Path) -> None:
    (outcome,) = audit([source / "published" / "imported"], Options(rules="v1"))
    assert "stored_right@import" in outcome.not_recomputed
    (outcome,) = audit([source / "published" / "imported"])
    assert "stored_right@import" in outcome.not_recomputed


@pytest.mark.parametrize("rules", ["v1", "v2", "both"])
def test_claims_rest_on_scores_that_are_derived_anew(forged: Path, tmp_path: Path, rules: str) -> None:
    claims = tmp_path / "claims.toml"
    claims.write_text('[[claim]]\nnumber = "rate(correct)"\nexpect = 1.0\n')
    audits = audit([forged], Options(rules=rules))
    (verdict,) = check_claims(claims, audits)
    assert verdict.status == "fail"
    done = CliRunner().invoke(
        group, ["audit", str(forged), "--rules", rules, "--claims", str(claims), "--json"], standalone_mode=False
    )
    assert done.exception is not None
    assert json.loads(done.stdout)["claims"]["passed"] == 0


def test_what_an_import_for_an_audit_did_not_read_is_named(tmp_path: Path) -> None:
    folder = tmp_path / "study"
    folder.mkdir()
    path = simulation(folder / "simulation.db")
    with closing(sqlite3.connect(path)) as db:
        db.executescript("CREATE TABLE headline(accuracy); INSERT INTO headline VALUES (0.99)")
    (folder / "report.md").write_text("Accuracy: 0.99\n")
    (outcome,) = audit([folder])
    checks = {one.name: one for one in outcome.checks}
    assert checks["other files"].missing == "report.md: not read"
    assert "1: rows of table headline, which a run has no place for" in checks[READABLE].note
    assert "other files" in outcome.verdict
    (folder / "report.md").unlink()
    (outcome,) = audit([folder])
    assert "other files" not in outcome.not_recomputed

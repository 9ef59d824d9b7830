"""Scores that the caller of an audit leaves out: named in the verdict, and nothing rests on them as they are stored."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from click.testing import CliRunner

from perpend.cli.group import group
from perpend.measure.run import Run
from perpend.proof.audit import Options, audit, check_claims
from perpend.report.derive import derive
from tests.attack.ledger import run_sql


@pytest.fixture
def forged(source: Path, tmp_path: Path) -> Path:
    """A run whose newest scores say that every answer is right, with the numbers that follow from them."""
    run = Path(shutil.copytree(source / "runs" / "questions", tmp_path / "questions"))
    run_sql(run, "UPDATE score SET value = 1.0 WHERE scorer IN (SELECT scorer FROM scorer WHERE name = 'correct')")
    derive([Run(run)], run, figures=False)
    return run


def test_scores_left_out_by_their_version_are_named_in_the_verdict(forged: Path) -> None:
    (whole,) = audit([forged])
    assert not whole.ok
    (outcome,) = audit([forged], Options(rules="v2"))
    known = [f"scores of {name}@{version}" for name, version in _scorers(forged)]
    left = [name for name in known if not name.endswith("@2")]
    assert "scores of correct@3" in left
    assert outcome.not_recomputed == left
    assert outcome.verdict == f"nothing differs in what was recomputed; not recomputed: {', '.join(left)}"
    assert outcome.as_json()["not_recomputed"] == left


def _scorers(run: Path) -> list[tuple[str, str]]:
    with Run(run).open() as store:
        return list(store.scorers())


def test_the_labels_of_an_import_are_named_where_they_are_left_out(source: Path) -> None:
    (outcome,) = audit([source / "published" / "imported"], Options(rules="v2"))
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

"""Claims that hold on any data, or within any distance: refused, or shown with what they allow."""

from __future__ import annotations

from pathlib import Path

import pytest

from perpend.errors import SpecError
from perpend.measure.run import Run
from perpend.proof.claims import check
from perpend.proof.claims.check import as_table
from tests.tables import table


def _claims(folder: Path, body: str) -> Path:
    path = folder / "claims.toml"
    path.write_text(f"[[claim]]\n{body}\n")
    return path


@pytest.mark.parametrize(*table("claims_empty"))
def test_a_claim_that_holds_on_any_data_is_refused(source: Path, tmp_path: Path, body: str) -> None:
    with pytest.raises(SpecError, match="the same on any data"):
        check(_claims(tmp_path, body), [Run(source / "runs" / "questions")])


@pytest.mark.parametrize(*table("claims_about_data"))
def test_a_claim_about_data_is_checked(source: Path, tmp_path: Path, body: str) -> None:
    (verdict,) = check(_claims(tmp_path, body), [Run(source / "runs" / "questions")])
    assert verdict.status == "pass", verdict


def test_zero_is_not_written_with_a_power_that_lets_everything_pass(source: Path, tmp_path: Path) -> None:
    with pytest.raises(SpecError, match=r"expect is zero to the nearest 100000; write it as 0"):
        check(_claims(tmp_path, 'number = "trials()"\nexpect = 0e5'), [Run(source / "runs" / "questions")])


def test_every_verdict_shows_its_expression_and_its_tolerance(source: Path, tmp_path: Path) -> None:
    path = _claims(tmp_path, 'number = "trials()"\nexpect = 3\nwithin = 1e9')
    verdicts = check(path, [Run(source / "runs" / "questions")])
    assert "3 (± 1e+09, MORE THAN THE NUMBER) | trials() | recomputed 48" in as_table(verdicts)
    assert verdicts[0].as_json()["tolerance"] == 1e9
    verdicts = check(_claims(tmp_path, 'number = "trials()"\nexpect = 48'), [Run(source / "runs" / "questions")])
    assert "48 (± 0.5) | trials() | recomputed 48" in as_table(verdicts)

"""Claims that hold on any data, or within any distance: refused, or shown with what they allow."""

from __future__ import annotations

from pathlib import Path

import pytest

from perpend.errors import SpecError
from perpend.measure.run import Run
from perpend.proof.claims import check
from perpend.proof.claims.check import as_table

EMPTY = (
    'number = "0.99"\nexpect = 0.99',
    'number = "-(1 - 0.01)"\nexpect = -0.99',
    'number = "rate(correct) * 0 + 0.99"\nexpect = 0.99',
    'number = "rate(correct) - rate(correct) + 0.99"\nexpect = 0.99',
    'number = "0.99 * rate(correct) / rate(correct)"\nexpect = 0.99',
    'number = "(trials() + 1) * (trials() - 1) - trials() * trials()"\nexpect = -1',
    'number = "lo(0.99)"\nexpect = 0.99',
    'number = "n(0.99)"\nexpect = 0',
    'number = "1 / 0"\nexpect = "undefined"',
    'number = "1 / (rate(correct) - rate(correct))"\nexpect = "undefined"',
    'order = "1 > 0 > -1"',
    'order = "rate(correct) > 0.1 > 0"',
    'order = "rate(correct) >= rate(correct)"',
    'order = "rate(correct) + 1 > rate(correct)"',
)


def _claims(folder: Path, body: str) -> Path:
    path = folder / "claims.toml"
    path.write_text(f"[[claim]]\n{body}\n")
    return path


@pytest.mark.parametrize("body", EMPTY)
def test_a_claim_that_holds_on_any_data_is_refused(source: Path, tmp_path: Path, body: str) -> None:
    with pytest.raises(SpecError, match="the same on any data"):
        check(_claims(tmp_path, body), [Run(source / "runs" / "questions")])


@pytest.mark.parametrize(
    "body",
    [
        'number = "1 - rate(correct)"\nexpect = 0.4\nwithin = 0.2',
        'number = "n(0 * rate(correct))"\nexpect = 48',
        'number = "rate(correct) / rate(correct@4)"\nexpect = 1',
        "number = \"rate(correct, model='good') - rate(correct, model='poor')\"\nexpect = 0.5\nwithin = 0.5",
        'order = "trials() >= items() > 1"',
    ],
)
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

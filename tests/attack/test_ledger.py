"""A run directory that somebody forged: its ledger has no seal, so everything is found by reading it."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from tests.attack import honest, ledger
from tests.attack.forge import Forgery
from tests.attack.judge import FINE, Outcome, beyond, of_run

FEW = 6


def _unnoticed(forgery: Forgery, outcome: Outcome) -> str:
    passes = outcome.verdict == "PASSED" and beyond(forgery) is not None
    return "" if passes or outcome.verdict in FINE else f"{forgery}: {outcome.verdict} {outcome.line}"


@pytest.mark.parametrize("forgery", [*ledger.schemas()], ids=str)
def test_a_ledger_with_another_schema_is_refused_before_it_is_read(
    forgery: Forgery, source: Path, tmp_path: Path
) -> None:
    """A recursive view in the place of a table, a trigger that edits scores, a column more: nothing of them is run."""
    assert _unnoticed(forgery, of_run(source, "questions", forgery, tmp_path)) == ""


@pytest.mark.parametrize("forgery", [*ledger.planted(), *ledger.files()], ids=str)
def test_rows_and_files_that_no_run_has_are_noticed(forgery: Forgery, source: Path, tmp_path: Path) -> None:
    assert _unnoticed(forgery, of_run(source, "logic", forgery, tmp_path)) == ""


@pytest.mark.parametrize("kind", honest.KINDS)
@pytest.mark.parametrize("table", ledger.TABLES)
def test_a_changed_column_is_noticed(source: Path, tmp_path: Path, kind: str, table: str) -> None:
    known = [one for one in ledger.rows(source / "runs" / kind) if one.place.partition(".")[0] == table]
    drawn = random.Random(f"{kind} {table}").sample(known, min(FEW, len(known)))
    drawn += [one.derived() for one in drawn[:1] if table not in ledger.DERIVED]
    outcomes = [_unnoticed(one, of_run(source, kind, one, tmp_path)) for one in drawn]
    assert not [words for words in outcomes if words]

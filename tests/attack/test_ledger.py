"""A run directory that somebody forged: its ledger has no seal, so everything is found by reading it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.attack import honest, ledger
from tests.attack.forge import Forgery
from tests.attack.judge import drawn, faults, of_run

FEW = 6


@pytest.mark.parametrize("made", [ledger.tables, ledger.planted, ledger.files], ids=lambda made: made.__name__)
def test_tables_and_rows_and_files_that_no_run_has_are_noticed(
    made: Callable[[], Iterator[Forgery]], source: Path, tmp_path: Path
) -> None:
    """A view in the place of a table, even an endless one, is not read."""
    kind = "questions" if made is ledger.tables else "logic"
    assert faults(of_run, source, kind, made.__name__, made(), tmp_path) == []


@pytest.mark.parametrize("kind", honest.KINDS)
@pytest.mark.parametrize("table", ledger.TABLES)
def test_a_changed_column_is_noticed(source: Path, tmp_path: Path, kind: str, table: str) -> None:
    known = [one for one in ledger.rows(source / "runs" / kind) if one.place.partition(".")[0] == table]
    tried = drawn(known, FEW, kind)
    tried += [one.derived() for one in tried[:1] if table not in ledger.DERIVED]
    assert faults(of_run, source, kind, table, tried, tmp_path) == []

"""The pages whose code blocks need what only `make test-more` installs run, too."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.conftest import ROOT
from tests.test_docs import WITH_MORE, run_blocks


@pytest.mark.parametrize("page", WITH_MORE)
def test_every_code_block_runs(page: str, programs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run_blocks(ROOT / page, programs, tmp_path, monkeypatch)

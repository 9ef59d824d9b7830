"""The harnesses of today still write what tests/recorded holds: the same trials, answers and numbers are read."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from perpend._convert import convert
from perpend.measure.run import Run
from perpend.measure.stated import read_stated
from tests.more.harnesses.logs import write_inspect, write_lm_eval
from tests.test_compat_inspect import RECORDED, trials


def read(source: Path, run: Path) -> object:
    """All that an import keeps, but for when and by which version the log was written."""
    imported = Run(convert(source, run))
    stated = sorted((one.what, one.value) for one in read_stated(imported.manifest.source_of_import))
    rows = sorted(
        (
            t.item.id,
            t.repeat,
            t.item,
            t.sampling,
            r.text,
            r.error,
            r.finish,
            r.usage,
            r.choice_logprobs,
            sorted(s.items()),
        )
        for t, r, s in trials(imported)
    )
    return stated, rows


@pytest.mark.parametrize("part", ["eval", "json", "picks"])
def test_inspect_ai_writes_what_is_recorded(part: str, inspect_logs: Path, tmp_path: Path) -> None:
    [new], [old] = ((folder / part).iterdir() for folder in (inspect_logs, RECORDED / "inspect_ai"))
    assert read(new, tmp_path / "new") == read(old, tmp_path / "old")


def test_inspect_ai_reports_what_is_recorded(inspect_logs: Path) -> None:
    assert json.loads((inspect_logs / "reported.json").read_text()) == json.loads(
        (RECORDED / "inspect_ai" / "reported.json").read_text()
    )


def test_lm_eval_writes_what_is_recorded(tmp_path: Path) -> None:
    assert read(write_lm_eval(tmp_path / "lm_eval"), tmp_path / "new") == read(RECORDED / "lm_eval", tmp_path / "old")


@pytest.fixture(scope="module")
def inspect_logs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_inspect(tmp_path_factory.mktemp("inspect") / "logs")

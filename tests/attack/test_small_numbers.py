"""Numbers far below 1: a p-value is compared by its size, and what rounding leaves of zero is zero."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import pytest

import perpend as pp
from perpend.proof.audit import audit
from perpend.proof.audit.checks import first_difference
from perpend.proof.publish import publish
from tests.attack.forge import canonical, seal
from tests.tables import table


@pytest.fixture(scope="module")
def published(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A published run whose effects are so large that many p-values are below 1e-15."""
    folder = tmp_path_factory.mktemp("small")
    subject = pp.model("mock/subject", accuracy=0.97, sway=0.95, seed=1)
    task = pp.task("conformity", conditions=["control", "asch_history_5"])
    run = pp.evaluate(task, [subject], name="study", out=folder / "runs", max_items=150, quiet=True)
    publish([run], folder / "published", {}, figures=False)
    return folder / "published" / "study"


def _small(value: object, factor: float) -> int:
    """How many numbers below 1e-15 were multiplied."""
    changed = 0
    entries = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, entry in list(entries):
        if isinstance(entry, float) and 0.0 < abs(entry) < 1e-15:
            value[key] = entry * factor  # type: ignore[index]  # a dict or a list, as the line above says
            changed += 1
        else:
            changed += _small(entry, factor)
    return changed


@pytest.mark.parametrize("factor", [1e-200, 1e-3, 1.0 + 1e-8])
def test_a_small_p_value_is_compared_by_its_size(published: Path, tmp_path: Path, factor: float) -> None:
    folder = Path(shutil.copytree(published, tmp_path / "published" / "study"))
    body = json.loads((folder / "metrics.json").read_text())
    assert _small(body, factor) > 5
    (folder / "metrics.json").write_text(canonical("metrics.json", body))
    seal(folder)
    (outcome,) = audit([folder])
    differs = {check.name for check in outcome.checks if check.differ}
    assert "metrics.json" in differs


def test_a_small_p_value_of_a_table_is_compared_by_its_size(published: Path, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(published, tmp_path / "published" / "study"))
    count = 0
    for path in folder.glob("tables/**/*.csv"):
        text = path.read_text()
        changed = re.sub(r"(\d)e-(\d\d)\b", lambda n: f"{n[1]}e-2{n[2]}" if int(n[2]) > 15 else n[0], text)
        path.write_text(changed)
        count += changed != text
    assert count
    seal(folder)
    (outcome,) = audit([folder])
    assert "tables" in {check.name for check in outcome.checks if check.differ}


@pytest.mark.parametrize(*table("small_numbers"))
def test_what_rounding_leaves_of_zero_is_zero_but_no_p_value(
    stored: float, now: float, key: str, is_same: bool
) -> None:
    assert (first_difference({key: stored}, {key: now}, "metric") is None) is is_same


def test_the_value_of_a_test_is_a_p_value() -> None:
    bodies = ({"metric": "pressure_effect_test", "estimate": {"value": value}} for value in (1e-17, 1e-18))
    assert first_difference(*bodies, "metric") is not None

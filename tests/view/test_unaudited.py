"""A page of a folder says that it shows what is stored."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from tests.view.conftest import make_run
from tests.view.pages import page_of
from tests.view.test_published import published

SAID = "no; answer, numbers and figures are as stored"


@pytest.fixture
def run(tmp_path: Path) -> Path:
    return make_run(tmp_path)


@pytest.fixture
def forged(run: Path, tmp_path: Path) -> Path:
    """A published folder whose numbers and first sentence somebody wrote."""
    folder = Path(shutil.copytree(published(run, tmp_path / "published"), tmp_path / "sent" / run.name))
    body = json.loads((folder / "metrics.json").read_text())
    for metric in body["metrics"]:
        metric["value"] = 0.999
    (folder / "metrics.json").write_text(json.dumps(body))
    return folder


def test_a_page_of_a_folder_says_that_nothing_was_audited(forged: Path, tmp_path: Path) -> None:
    page = page_of(tmp_path / "p.html", forged)
    assert page.run["headline"][0]["value"] == 0.999
    assert ["Audit", SAID] in page.run["facts"]
    assert page.run["cautions"][0].startswith("As stored, not audited")


def test_so_does_a_page_of_a_run(run: Path, tmp_path: Path) -> None:
    assert ["Audit", SAID] in page_of(tmp_path / "p.html", run).run["facts"]


def test_a_page_after_an_audit_says_what_it_came_to(run: Path, tmp_path: Path) -> None:
    notes = {run.name: (("Audit", "nothing differs"),)}
    facts = page_of(tmp_path / "p.html", run, notes=notes).run["facts"]
    assert [text for name, text in facts if name == "Audit"] == ["nothing differs"]

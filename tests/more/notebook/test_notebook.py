"""The notebook in examples/ runs from top to bottom in a real kernel, and shows what it says."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import nbclient
import nbformat
import pytest

from tests.conftest import ROOT

NOTEBOOKS = sorted((ROOT / "examples").glob("*.ipynb"))


@pytest.mark.filterwarnings("default")  # those of the kernel's own client
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.name)
def test_the_notebook_runs(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # The kernel is this Python, whatever kernels the machine knows; it writes nothing into a home folder.
    monkeypatch.setenv("JUPYTER_PREFER_ENV_PATH", "1")
    for name in ("IPYTHONDIR", "JUPYTER_RUNTIME_DIR", "JUPYTER_CONFIG_DIR", "JUPYTER_DATA_DIR"):
        (tmp_path / name).mkdir()
        monkeypatch.setenv(name, str(tmp_path / name))
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(filter(None, sys.path)))
    (tmp_path / "work").mkdir()
    notebook = nbformat.read(path, as_version=4)
    assert not any(cell.get("outputs") for cell in notebook.cells), "committed without outputs"
    place = {"metadata": {"path": str(tmp_path / "work")}}
    nbclient.NotebookClient(notebook, timeout=300, kernel_name="python3", resources=place).execute()
    shown = [output for cell in notebook.cells for output in cell.get("outputs", ())]
    kinds = {kind for output in shown for kind in output.get("data", {})}
    assert {"text/plain", "text/html", "image/png"} <= kinds
    said = "".join(str(output.get("text", output.get("data", {}).get("text/plain", ""))) for output in shown)
    assert "friend 0.500 [0.215, 0.785] n=8" in said
    assert "Audited(capitals: ok)" in said
    assert (tmp_path / "work" / "published" / "capitals" / "receipt.json").is_file()

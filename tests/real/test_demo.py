"""The demo on the embedded model, small: real answers, published, audited, on a page."""

from __future__ import annotations

import json
from pathlib import Path

from perpend.demo import EMBEDDED, Made, Size, make_demo

FEW = Size(facts=3, opinions=1, logic=3, probes=20)


def test_the_demo_runs_on_the_embedded_model_and_then_has_nothing_to_do(weights: Path, tmp_path: Path) -> None:
    assert make_demo(tmp_path, EMBEDDED, FEW, quiet=True) == Made(tmp_path / "index.html", ok=True, is_new=True)
    body = json.loads((tmp_path / "metrics.json").read_text(encoding="utf-8"))
    assert body["model"] == EMBEDDED
    assert body["replies"]["total"] == 3
    # Deterministic at temperature 0: the control that is asked again is the control.
    again = body["numbers"]["conformity/correct/difference/0/control_retest"]
    assert again["value"] in (0.0, None)
    assert all(run["ok"] for run in body["runs"])
    before = (tmp_path / "index.html").stat().st_mtime_ns
    assert make_demo(tmp_path, EMBEDDED, FEW, quiet=True) == Made(tmp_path / "index.html", ok=True)
    assert (tmp_path / "index.html").stat().st_mtime_ns == before

"""The demo on the embedded model, small: real answers, published, audited, on a page."""

from __future__ import annotations

import json
from pathlib import Path

from perpend.demo import EMBEDDED, DemoOutcome, Size, make_demo
from perpend.measure.study import numbers_of

FEW = Size(facts=3, opinions=1, logic=3, probes=20)


def test_the_demo_runs_on_the_embedded_model_and_then_has_nothing_to_do(weights: Path, tmp_path: Path) -> None:
    assert make_demo(tmp_path, EMBEDDED, FEW, quiet=True) == DemoOutcome(tmp_path / "index.html", ok=True, is_new=True)
    published = {path.parent.name.partition("-")[0]: path for path in tmp_path.glob("published/*/metrics.json")}
    assert json.loads(published["logic"].read_text(encoding="utf-8"))["total"] == 3
    # Deterministic at temperature 0: the control that is asked again is the control.
    numbers = numbers_of(json.loads(published["conformity"].read_text(encoding="utf-8")), [])
    again = numbers.find("difference", "correct@2", temperature="0", condition="control → control_retest")
    assert [metric.estimate.value in (0.0, None) for metric in again] == [True]
    assert all(one["ok"] for one in json.loads((tmp_path / "audit.json").read_text(encoding="utf-8")))
    before = (tmp_path / "index.html").stat().st_mtime_ns
    assert make_demo(tmp_path, EMBEDDED, FEW, quiet=True) == DemoOutcome(tmp_path / "index.html", ok=True)
    assert (tmp_path / "index.html").stat().st_mtime_ns == before

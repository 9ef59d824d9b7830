"""The embedded model, really looked into: under pressure the planted answer becomes likelier beside the right one."""

from __future__ import annotations

from pathlib import Path

from perpend.ask.runner import evaluate_task
from perpend.ask.task import make_task
from perpend.inside import LookSettings, look_inside
from perpend.models.hf.provider import Transformers
from perpend.spec.runspec import ModelSpec, RunSpec
from perpend.types import Sampling


def test_pressure_shows_as_a_shift_of_log_odds_with_its_interval(dense: Transformers, tmp_path: Path) -> None:
    task = make_task("conformity", {"conditions": ["control", "asch_history_5"]})
    spec = RunSpec(
        "conformity",
        (ModelSpec("hf/smollm2", "smollm2"),),
        items=task.items[:1],
        name="real",
        samplings=(Sampling(0.0, 1),),
        max_items=7,
    )
    directory = evaluate_task(spec, task, [dense], tmp_path, quiet=True).directory
    look = look_inside(directory, dense.checkpoint, LookSettings(layers=(29,), alphas=()), quiet=True)
    assert look.header["same_weights"] is True
    shift = look.estimates["log_odds"]["asch_history_5"]
    assert shift["n"] == 7
    assert 0.0 < shift["lo"] < shift["value"] < shift["hi"]

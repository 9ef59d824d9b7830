"""demo."""

from __future__ import annotations

from pathlib import Path

import click

from perpend.canon import JSON
from perpend.cli.group import PATH, derive, group


@group.command()
@click.option("--out", type=PATH, default=Path("runs"), show_default=True)
def demo(out: Path) -> None:
    """A conformity study on two simulated subjects; ends with a report to open."""
    from perpend.analyze import analyze as analyze_runs
    from perpend.measure import Run
    from perpend.run import evaluate
    from perpend.spec import ModelSpec, RunSpec
    from perpend.types import Sampling

    steady: dict[str, JSON] = {"accuracy": 0.85, "item_sd": 1.0, "style": "mixed", "seed": 1}
    swayed: dict[str, JSON] = {**steady, "sway": 0.2, "sway_group": 0.4, "sway_sd": 1.0, "refusal": 0.03, "seed": 2}
    models = (ModelSpec("mock/subject", "steady", steady), ModelSpec("mock/subject", "swayed", swayed))
    spec = RunSpec("conformity", models, name="demo-conformity", samplings=(Sampling(0.0), Sampling(1.0)))
    directory = evaluate(spec, out).directory
    derive(directory)
    click.echo("Drawing tables and figures …", err=True)
    report = analyze_runs([Run(directory)], directory / "analysis")
    click.echo(f"The report lies at {report}")

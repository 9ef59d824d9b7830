"""Verbs about what happens inside a model: inside."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import click

from perpend.cli.group import AS_JSON, PATH, QUIET, group, print_fields


@group.command(short_help="Look into the checkpoint that answered a run.")
@click.argument("run", type=PATH)
@click.option("--model", required=True, help="The checkpoint that answered: hf/FOLDER, hf/FILE.gguf or hf/smollm2.")
@click.option("--label", help="Label of the model, if the run has several.")
@click.option("--endpoint", type=click.Choice(["chat", "completions"]), default="chat", show_default=True)
@click.option("--device", help="For example cpu or cuda:1.  [the GPU if there is one]")
@click.option("--dtype", help="float32, bfloat16 or float16.  [bfloat16 on a GPU, float32 on a CPU]")
@click.option("--layers", help="For example 0,10,20-29. [all]")
@click.option("--top-k", type=int, default=10, show_default=True, help="Tokens per layer of the lens.")
@click.option("--alpha", "alphas", type=float, multiple=True, help="Strength of steering; repeat for several. [1]")
@click.option("--no-steering", is_flag=True, help="Log-probabilities, lens, probes and projections only.")
@click.option(
    "--steer-by",
    type=click.Choice(["truth", "social"]),
    default="truth",
    show_default=True,
    help="The probes whose direction steers.",
)
@click.option("--steer-layer", type=int, help="[the layer whose probe does best on held-out items]")
@click.option("--steer-trials", type=int, help="Steer only the first N trials under pressure.")
@click.option("--no-figures", is_flag=True)
@QUIET
@AS_JSON
def inside(  # noqa: PLR0913, PLR0917  a verb has as many parameters as it has flags
    run: Path, model: str, label: str | None, endpoint: str, device: str | None, dtype: str | None,
    layers: str | None, top_k: int, alphas: tuple[float, ...], no_steering: bool, steer_by: Literal["truth", "social"],
    steer_layer: int | None, steer_trials: int | None, no_figures: bool, quiet: bool, as_json: bool,
) -> None:  # fmt: skip
    """Look into the checkpoint that answered a run: log-odds under pressure, logit lens, probes, steering.

    \b
    perpend inside runs/RUN --model hf/smollm2
    perpend inside runs/RUN --model hf/checkpoints/7b --layers 0-31 --alpha 1 --alpha -1
    """
    from perpend.ledger.manifest import read_manifest

    read_manifest(run)  # before seconds of loading: what is no run needs no checkpoint
    from perpend.inside import LookSettings, checkpoint_of, layers_of, look_inside, summary
    from perpend.inside.figures import write_inside_figures

    settings = LookSettings(
        layers=None if layers is None else layers_of(layers),
        top_k=top_k,
        alphas=() if no_steering else alphas or (1.0,),
        steer_by=steer_by,
        steer_layer=steer_layer,
        steer_trials=steer_trials,
    )
    checkpoint = checkpoint_of(model, endpoint=endpoint, device=device, dtype=dtype)
    look = look_inside(run, checkpoint, settings, model=label, quiet=quiet or as_json)
    if not no_figures:
        write_inside_figures(look, look.folder / "figures")
    if as_json or not quiet:
        print_fields(summary(look), as_json)

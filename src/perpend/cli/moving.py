"""Verbs that bring data and weights in and out: import (also called convert), export, variants."""

from __future__ import annotations

from pathlib import Path

import click

from perpend.cli.group import PATH, QUIET, group
from perpend.inert import say


@group.command("import")
@click.argument("sources", nargs=-1, required=True, type=PATH)
@click.argument("destination", type=PATH)
@click.option("--map", "fields", help="Columns of a file of rows: prompt=COLUMN,text=COLUMN,… or a TOML file.")
@click.option("--metadata", type=PATH, help="The runs_metadata.json of a folder of simulation.db runs.")
@click.option("--runs-dir", type=PATH, help="Where the runs that runs_metadata.json names are.")
def import_(
    sources: tuple[Path, ...], destination: Path, fields: str | None, metadata: Path | None, runs_dir: Path | None
) -> None:
    """Import what another tool recorded as a run, or write a run as the conformity study's simulation.db.

    Several sources, or a folder of several logs, become a folder of runs at DESTINATION. 'perpend convert' is another
    name for this verb.

    \b
    perpend import logs/2026-11-01.eval runs/imported
    perpend import logs runs/imported
    perpend import samples_task.jsonl runs/imported
    perpend import mine.jsonl runs/imported --map id=qid,prompt=question,text=output,target=answer
    perpend import simulation.db runs/imported
    perpend convert runs/RUN simulation.db
    """
    from perpend._convert import convert_each
    from perpend.report.overview import import_line

    for path in convert_each(sources, destination, fields, metadata=metadata, runs_dir=runs_dir):
        say(import_line(path))


group.add_command(import_, "convert")


@group.command()
@click.argument("run", type=PATH)
@click.option("--out", type=PATH, help="File to write: .csv, .parquet or .jsonl.")
@click.option("--parquet", "parts", type=PATH, help="Folder to write instead: Parquet files, parted by --by.")
@click.option("--by", default="model", show_default=True, help="Keys that part --parquet, separated by commas.")
@click.option("--where", multiple=True, metavar="KEY=VALUE", help="Only trials with this value.")
@click.option("--columns", help="Only these columns, separated by commas.")
def export(
    run: Path, out: Path | None, parts: Path | None, by: str, where: tuple[str, ...], columns: str | None
) -> None:
    """Write the trial table: one row per trial with plan, item, answer and every score.

    \b
    perpend export runs/RUN --out trials.csv
    perpend export runs/RUN --out trials.parquet --where condition=asch
    perpend export runs/RUN --parquet trials --by model,condition
    """
    from perpend.measure.run import Run
    from perpend.report.export import export as export_run
    from perpend.report.partitions import export_parts
    from perpend.spec.runspec import key_value

    only, chosen = columns.split(",") if columns else (), dict(map(key_value, where))
    if parts is not None and out is None:
        count = export_parts(Run(run), parts, by=by.split(","), where=chosen, only=only)
    elif out is not None and parts is None:
        count = export_run(Run(run), out, where=chosen, only=only)
    else:
        raise click.UsageError("Give --out FILE or --parquet FOLDER.")
    say(f"{count} trial{'s' * (count != 1)} in {parts or out}")


@group.command()
@click.argument("name")
@click.option("--to", "kinds", default="f16,q8_0,q4_0", show_default=True, help="Precisions, separated by commas.")
@click.option("--out", type=PATH, default=Path("variants"), show_default=True, help="Directory for the files.")
@QUIET
def variants(name: str, kinds: str, out: Path, quiet: bool) -> None:
    """Write the same weights in other precisions, for a sweep over real variants of one model.

    \b
    perpend variants smollm2 --to q8_0,q4_0
    perpend eval --task conformity --model local/variants/SmolLM2-135M-Instruct.Q8_0.gguf
    """
    from perpend.ask.progress import Progress
    from perpend.models.local.variants import make_variants

    with Progress("requantise", 0, quiet=quiet) as progress:

        def advance(total: int) -> None:
            progress.total = total
            progress.advance(1)

        paths = make_variants(name, out, kinds.split(","), advance=advance)
    for path in () if quiet else paths.values():
        say(path)

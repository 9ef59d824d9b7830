"""Verbs that bring data and weights in and out: convert, export, variants."""

from __future__ import annotations

from pathlib import Path

import click

from perpend.cli.group import PATH, group


@group.command()
@click.argument("source", type=PATH)
@click.argument("destination", type=PATH)
@click.option("--map", "fields", help="For plain JSONL: prompt=FIELD,text=FIELD,… or a TOML file.")
def convert(source: Path, destination: Path, fields: str | None) -> None:
    """Import what another tool recorded as a run; or write a run as the conformity study's simulation.db.

    \b
    perpend convert rows.jsonl runs/imported
    perpend convert simulation.db runs/imported
    perpend convert logs/2026-11-01.eval runs/imported
    perpend convert samples_task.jsonl runs/imported
    perpend convert mine.jsonl runs/imported --map id=qid,prompt=question,text=output,target=answer
    perpend convert runs/RUN simulation.db
    """
    from perpend.compat.convert import convert as convert_files

    click.echo(convert_files(source, destination, fields))


@group.command()
@click.argument("run", type=PATH)
@click.option("--out", type=PATH, required=True, help="trials.csv, .parquet or .jsonl.")
@click.option("--where", multiple=True, metavar="KEY=VALUE", help="Only trials with this value.")
@click.option("--columns", help="Only these, with commas between.")
def export(run: Path, out: Path, where: tuple[str, ...], columns: str | None) -> None:
    """One row a trial: plan, item, answer, every score.

    \b
    perpend export runs/RUN --out trials.csv
    perpend export runs/RUN --out trials.parquet --where condition=asch
    """
    from perpend.export import export as export_run
    from perpend.flags import key_value
    from perpend.measure import Run

    only = columns.split(",") if columns else ()
    count = export_run(Run(run), out, where=dict(map(key_value, where)), only=only)
    click.echo(f"{count} trials in {out}")


@group.command()
@click.argument("name")
@click.option("--to", "kinds", default="f16,q8_0,q4_0", show_default=True, help="Precisions, with commas between.")
@click.option("--out", type=PATH, default=Path("variants"), show_default=True, help="Where the files are written.")
@click.option("--quiet", is_flag=True, help="No progress.")
def variants(name: str, kinds: str, out: Path, quiet: bool) -> None:
    """The same weights in other precisions, so that a sweep over real variants of a model is possible anywhere.

    \b
    perpend variants smollm2 --to q8_0,q4_0
    perpend eval --task conformity --model local/variants/SmolLM2-135M-Instruct.Q8_0.gguf
    """
    from perpend.models.local.variants import make_variants

    for path in make_variants(name, out, kinds.split(","), quiet=quiet).values():
        click.echo(path)

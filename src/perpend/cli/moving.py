"""Verbs that bring data in and out: import, export, merge."""

from __future__ import annotations

from pathlib import Path

import click

from perpend.canon import pretty
from perpend.cli.group import AS_JSON, PATH, QUIET, TRUST_CODE, group, print_headline
from perpend.inert import say, say_page


@group.command("import", short_help="Import what another tool recorded as a run.")
@click.argument("sources", nargs=-1, required=True, type=PATH)
@click.argument("destination", type=PATH)
@click.option("--map", "fields", help="Columns of a file of rows: prompt=COLUMN,text=COLUMN,… or a TOML file.")
@click.option("--metadata", type=PATH, help="The runs_metadata.json of a folder of simulation.db runs.")
@click.option("--runs-dir", type=PATH, help="Where the runs that runs_metadata.json names are.")
def import_(
    sources: tuple[Path, ...], destination: Path, fields: str | None, metadata: Path | None, runs_dir: Path | None
) -> None:
    """Import what another tool recorded as a run.

    Several sources, or a folder of several logs, become a folder of runs at DESTINATION.

    \b
    perpend import logs/2026-11-01.eval runs/imported
    perpend import logs runs/imported
    perpend import samples_task.jsonl runs/imported
    perpend import mine.jsonl runs/imported --map id=qid,prompt=question,text=output,target=answer
    perpend import simulation.db runs/imported
    """
    from perpend._convert import convert_each
    from perpend.report.overview import import_line

    for path in convert_each(sources, destination, fields, metadata=metadata, runs_dir=runs_dir):
        say(import_line(path))


@group.command(short_help="Write the trial table as CSV, Parquet or JSONL.")
@click.argument("run", type=PATH)
@click.option("--out", type=PATH, help="File to write: .csv, .parquet or .jsonl.")
@click.option("--parquet", "parts", type=PATH, help="Folder to write instead: Parquet files, parted by --by.")
@click.option("--by", help="Keys that part --parquet, separated by commas.  [default: model]")
@click.option("--where", multiple=True, metavar="KEY=VALUE", help="Only trials with this value.")
@click.option("--columns", help="Only these columns, separated by commas.")
@click.option(
    "--as", "kind", type=click.Choice(["table", "every_eval_ever", "simulation.db"]), default="table",
    show_default=True, help="Write the trial table; records of the shared schema every_eval_ever into the folder "
    "--out; or the file that the conformity study's own scripts read.",
)  # fmt: skip
def export(  # noqa: PLR0913  one argument per option
    *,
    run: Path,
    out: Path | None,
    parts: Path | None,
    by: str | None,
    where: tuple[str, ...],
    columns: str | None,
    kind: str,
) -> None:
    """Write the trial table: one row per trial with plan, item, answer and every score.

    \b
    perpend export runs/RUN --out trials.csv
    perpend export runs/RUN --out trials.parquet --where condition=control
    perpend export runs/RUN --parquet trials --by model,condition
    perpend export runs/RUN --out records --as every_eval_ever
    perpend export runs/RUN --out simulation.db --as simulation.db
    """
    from perpend.measure.run import Run
    from perpend.report.export import export as export_run
    from perpend.report.export import export_parts
    from perpend.spec.runspec import key_value

    if kind != "table":
        from perpend._convert import write_simulation
        from perpend.report.every_eval_ever import write_records

        if where or columns or by or parts is not None or out is None:
            raise click.UsageError(f"Give --out alone: --as {kind} writes the whole run.")
        for path in write_records(Run(run), out) if kind == "every_eval_ever" else [write_simulation(run, out)]:
            say(path)
        return
    only, chosen = columns.split(",") if columns else (), dict(map(key_value, where))
    if parts is not None and out is None:
        count = export_parts(Run(run), parts, by=(by or "model").split(","), where=chosen, only=only)
    elif by is not None:
        raise click.UsageError("--by parts a folder of Parquet files: give --parquet FOLDER.")
    elif out is not None and parts is None:
        count = export_run(Run(run), out, where=chosen, only=only)
    else:
        raise click.UsageError("Give --out FILE or --parquet FOLDER.")
    say(f"{count} trial{'s' * (count != 1)} in {parts or out}")


@group.command(short_help="Put the shards of a run together.")
@click.argument("run", type=PATH)
@click.argument("shards", nargs=-1, type=PATH)
@click.option("--no-score", is_flag=True, help="Merge only; score later with 'perpend score'.")
@TRUST_CODE
@QUIET
@AS_JSON
def merge(run: Path, shards: tuple[Path, ...], no_score: bool, trust_code: bool, quiet: bool, as_json: bool) -> None:
    """Put the shards of a run together, as if one process had asked it; score; report.

    Without SHARDS it takes all in RUN/shards. The order does not matter, nor whether a shard was merged before. A shard
    of another run, or one that answers a trial otherwise, is refused with what differs.

    \b
    perpend merge runs/RUN
    perpend merge runs/RUN node1/RUN/shards/0001-of-0002 node2/RUN/shards/0002-of-0002
    """
    from perpend.api import score as score_run
    from perpend.ask.merging import merge as merge_shards
    from perpend.measure.run import Run

    merged = merge_shards(run, shards)
    opened = Run(merged.directory, trust_code=trust_code)
    needs_trust = bool(opened.manifest.python) and not trust_code
    derived = None if no_score or needs_trust or not merged.answered else score_run(opened)
    if as_json:
        say_page(pretty(merged.as_json()))
    elif not quiet:
        if derived is not None:
            print_headline(derived)
        say(merged.as_text())
        say(f"Content digest: {merged.digest}")
        say(f"Run: {merged.directory.as_posix()}")
    if merged.missing and not as_json:
        words = merged.missing_words()
        say(
            f"{words[0].upper()}{words[1:]}. Merge again later, or ask what is missing with 'perpend eval'.",
            err=True,
        )
    if needs_trust and not no_score and not as_json:
        say("Not scored: the run has Python files of its own. Score it with 'perpend score --trust-code'.", err=True)

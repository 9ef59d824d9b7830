"""The verb that compares: compare."""

from __future__ import annotations

from pathlib import Path

import click

from perpend.canon import pretty
from perpend.cli.group import AS_JSON, PATH, group
from perpend.inert import say, say_page


@group.command()
@click.argument("first", type=PATH)
@click.argument("second", type=PATH)
@click.option(
    "--first",
    "first_where",
    multiple=True,
    metavar="KEY=VALUE",
    help="Only this part of FIRST; rule=1 picks a scorer version.",
)
@click.option("--second", "second_where", multiple=True, metavar="KEY=VALUE", help="Only this part of SECOND.")
@click.option("--column", "columns", multiple=True, help="Only this column, such as 'correct' or 'correct@1'.")
@click.option("--out", type=PATH, help="Directory for COMPARE.md, COMPARE.json, the tables and the figures.")
@click.option("--no-figures", is_flag=True, help="With --out: write no figures.")
@AS_JSON
def compare(  # noqa: PLR0913, PLR0917  a verb has as many parameters as it has flags
    first: Path,
    second: Path,
    first_where: tuple[str, ...],
    second_where: tuple[str, ...],
    columns: tuple[str, ...],
    out: Path | None,
    no_figures: bool,
    as_json: bool,
) -> None:
    """Compare two runs, parts of runs, logs, or two checkpoints on the same items: paired differences and a verdict.

    FIRST and SECOND are run directories, published folders, logs that 'perpend import' reads, or folders that
    'perpend checkpoint' wrote.

    \b
    perpend compare runs/before runs/after --out comparison
    perpend compare runs/RUN runs/RUN --first model=small --second model=large --column correct
    perpend compare logs/monday.eval logs/tuesday.eval
    perpend compare checkpoints/early checkpoints/final --out checkpoints
    """
    from perpend._compare import compare_paths
    from perpend.spec.runspec import key_value

    sides = (first, dict(map(key_value, first_where))), (second, dict(map(key_value, second_where)))
    compared = compare_paths(*sides, out, columns=columns, figures=not no_figures)
    say_page(pretty(compared.body) if as_json else compared.text)
    if out is not None and not as_json:
        say(f"Report: {out / 'COMPARE.md'}")

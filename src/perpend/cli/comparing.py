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
@click.option(
    "--margin",
    metavar="DIFFERENCE",
    help="The largest difference that does not matter, such as 0.02: test whether SECOND is shown to be equivalent to "
    "FIRST, or not worse.",
)
@click.option("--weights", default="", metavar="TAG", help="The tag that holds the weight of an item.")
@click.option("--strata", default="", metavar="TAG", help="The tag that names the stratum of an item.")
@click.option(
    "--share", "shares", multiple=True, metavar="STRATUM=SHARE", help="How large a stratum is, such as hard=0.3."
)
@click.option("--out", type=PATH, help="Directory for COMPARE.md, COMPARE.json, the tables and the figures.")
@click.option("--no-figures", is_flag=True, help="With --out: write no figures.")
@AS_JSON
def compare(  # noqa: PLR0913, PLR0917  a verb has as many parameters as it has flags
    first: Path,
    second: Path,
    first_where: tuple[str, ...],
    second_where: tuple[str, ...],
    columns: tuple[str, ...],
    margin: str | None,
    weights: str,
    strata: str,
    shares: tuple[str, ...],
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
    perpend compare runs/before runs/after --column correct --margin 0.02
    perpend compare runs/before runs/after --strata topic --share math=0.7 --share history=0.3
    perpend compare logs/monday.eval logs/tuesday.eval
    perpend compare checkpoints/early checkpoints/final --out checkpoints
    """
    from perpend._compare import CompareOptions, compare_paths
    from perpend.measure.population import Population, share
    from perpend.spec.runspec import key_value

    sides = (first, dict(map(key_value, first_where))), (second, dict(map(key_value, second_where)))
    sizes = {name: share(name, size) for name, size in map(key_value, shares)}
    options = CompareOptions(columns, margin, Population(weights, strata, sizes))
    compared = compare_paths(*sides, out, options, figures=not no_figures)
    say_page(pretty(compared.body) if as_json else compared.text)
    if out is not None and not as_json:
        say(f"Report: {out / 'COMPARE.md'}")

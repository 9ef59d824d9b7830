"""The verbs that compare: compare, rank."""

from __future__ import annotations

from pathlib import Path

import click

from perpend.canon import pretty
from perpend.cli.group import AS_JSON, PATH, group
from perpend.inert import say, say_page


@group.command(short_help="Compare two runs, models, rules, logs or checkpoints.")
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


@group.command(short_help="Rank models on the items that all of them have.")
@click.argument("runs", type=PATH, nargs=-1, required=True)
@click.option("--column", "columns", multiple=True, help="Rank by this column, such as 'correct' or 'correct@1'.")
@click.option("--model", "models", multiple=True, help="Rank only this model; give it several times.")
@click.option(
    "--where",
    multiple=True,
    metavar="KEY=VALUE",
    help="Only trials with this value; KEY is condition, temperature or a tag of the items.",
)
@click.option("--pooled", is_flag=True, help="One ranking over all conditions. [one for each condition]")
@click.option("--lowest-first", is_flag=True, help="The lowest mean is the best, as of an error rate.")
@click.option(
    "--missing",
    default="shared",
    show_default=True,
    help="Without a value: 'shared' leaves the item out for all, 'pairwise' for that model, 'zero' counts 0.",
)
@click.option(
    "--out", type=PATH, help="Directory for RANK.md, RANK.json, tables and figures; or a .csv, .md, .tex file."
)
@click.option("--no-figures", is_flag=True, help="With --out: write no figures.")
@AS_JSON
def rank(  # noqa: PLR0913, PLR0917  a verb has as many parameters as it has flags
    runs: tuple[Path, ...],
    columns: tuple[str, ...],
    models: tuple[str, ...],
    where: tuple[str, ...],
    pooled: bool,
    lowest_first: bool,
    missing: str,
    out: Path | None,
    no_figures: bool,
    as_json: bool,
) -> None:
    """Rank models on the items that all of them have: tiers instead of places, with the ranks that each can have.

    RUNS are run directories, published folders, or logs that 'perpend import' reads; one run with several models will
    do. Without --column, models are ranked by the first scorer of the first run.

    \b
    perpend rank runs/small runs/medium runs/large
    perpend rank runs/RUN --column correct --where condition=control --out ranking
    perpend rank logs/a.eval logs/b.eval logs/c.eval --column stored_match
    perpend rank runs/RUN --column endorsed --lowest-first --out ranking.tex
    """
    from perpend._compare import rank_any
    from perpend.report.rank_runs import RankOptions
    from perpend.report.rank_text import ranking_text
    from perpend.spec.runspec import key_value

    wanted = list(map(key_value, where))
    if len(dict(wanted)) < len(wanted):
        raise click.UsageError("--where: a KEY is given twice; a trial has one value of it")
    options = RankOptions(columns, models, dict(wanted), pooled, lowest_first, missing)
    ranking = rank_any(runs, options, out, figures=not no_figures)
    say_page(pretty(ranking.as_json()) if as_json else ranking_text(ranking))
    if out is not None and not as_json:
        say(f"Report: {out if out.is_file() else out / 'RANK.md'}")

"""The verb that plans a study from a pilot run: plan."""

from __future__ import annotations

from pathlib import Path

import click

from perpend.canon import pretty
from perpend.cli.group import AS_JSON, PATH, group
from perpend.inert import say_page


@group.command(short_help="Say how many items, repeats and requests a study needs.")
@click.argument("run", type=PATH)
@click.option("--detect", type=float, default=0.05, show_default=True, help="Difference that the study must detect.")
@click.option("--power", type=float, default=0.8, show_default=True, help="Chance of detecting it.")
@click.option("--alpha", type=float, default=0.05, show_default=True, help="Two-sided level of the test.")
@click.option("--score", help="Score to plan for, such as 'correct' or 'correct@1'. [the run's first]")
@click.option("--repeats", type=click.IntRange(1), help="Times that each item will be asked. [as in the pilot]")
@click.option("--items", type=click.IntRange(1), help="Items that there are; the repeats are planned instead.")
@click.option("--where", multiple=True, metavar="KEY=VALUE", help="Only this part of the pilot, such as model=small.")
@click.option(
    "--price",
    "prices",
    multiple=True,
    metavar="[MODEL=]IN,OUT",
    help="US dollars per million tokens in and out.",
)
@AS_JSON
def plan(  # noqa: PLR0913, PLR0917  a verb has as many parameters as it has flags
    run: Path,
    detect: float,
    power: float,
    alpha: float,
    score: str | None,
    repeats: int | None,
    items: int | None,
    where: tuple[str, ...],
    prices: tuple[str, ...],
    as_json: bool,
) -> None:
    """Say how many items, repeats and requests a study needs, from a pilot run, and what more would buy.

    RUN is a run directory, a published folder, or a log that 'perpend import' reads. Differences are between the
    pilot's conditions or models, or from another model, paired by item.

    \b
    perpend plan runs/pilot --detect 0.05 --power 0.8
    perpend plan runs/pilot --score endorsed --repeats 1 --price 0.15,0.60
    perpend plan runs/pilot --items 200 --where model=small
    """
    from perpend._convert import as_run
    from perpend.measure.pilot import PlanRequest, plan_of, prices_of
    from perpend.report.plan_text import plan_text
    from perpend.spec.runspec import key_value

    if items is not None and repeats is not None:
        raise click.UsageError("give either --items or --repeats: the other is planned")
    request = PlanRequest(detect, power, alpha, score, repeats, items, prices_of(prices), dict(map(key_value, where)))
    with as_run(run) as opened:
        planned = plan_of(opened, request)
    say_page(pretty(planned.as_json()) if as_json else plan_text(planned))

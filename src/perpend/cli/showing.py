"""demo."""

from __future__ import annotations

from pathlib import Path

import click

from perpend.cli.group import PATH, group


@group.command()
@click.option("--out", type=PATH, default=Path("demo"), show_default=True, help="Where everything is written.")
@click.option("--model", default="local/smollm2", show_default=True, help="mock/subject needs no installation.")
@click.option("--no-figures", is_flag=True, help="Publish tables without their figures; the page keeps its own.")
@click.option("--quiet", is_flag=True, help="No progress.")
def demo(out: Path, model: str, no_figures: bool, quiet: bool) -> None:
    """Three studies on the embedded model, published and audited; ends with a page to open.

    The same command again goes on where it stopped, and does nothing when all is made.

    \b
    perpend demo
    perpend demo --model mock/subject --out simulated
    """
    from perpend.demo import make_demo
    from perpend.errors import AuditFailure

    made = make_demo(out, model, figures=not no_figures, quiet=quiet)
    if made.stopped is not None:
        click.echo(f"stopped: {made.stopped}. Run the same command again to go on.", err=True)
        raise click.exceptions.Exit(130)
    if not made.is_new:
        click.echo("Nothing new: every answer, number and figure was there.", err=True)
    click.echo(f"The page lies at {made.page}")
    if not made.ok:
        raise AuditFailure(f"{out}: the audit found a difference; 'perpend audit {out / 'published'}' says which")

"""Verbs that show: demo."""

from __future__ import annotations

from pathlib import Path

import click

from perpend.cli.group import PATH, QUIET, group
from perpend.inert import say


@group.command()
@click.option("--out", type=PATH, default=Path("demo"), show_default=True, help="Directory for everything.")
@click.option("--model", default="local/smollm2", show_default=True, help="mock/subject needs no installation.")
@click.option("--no-figures", is_flag=True, help="Publish without figures; the page keeps its own.")
@QUIET
def demo(out: Path, model: str, no_figures: bool, quiet: bool) -> None:
    """Run three studies on the embedded model, publish and audit them, and write a page to open.

    The same command resumes where it stopped, and does nothing once everything is there.

    \b
    perpend demo
    perpend demo --model mock/subject --out simulated
    """
    from perpend.demo import make_demo
    from perpend.errors import AuditFailure

    outcome = make_demo(out, model, figures=not no_figures, quiet=quiet)
    if outcome.stopped is not None:
        say(f"stopped: {outcome.stopped}. Run the same command again to resume.", err=True)
        raise click.exceptions.Exit(130)
    if not quiet:
        if not outcome.is_new:
            say("Nothing new: every answer, number and figure was there already.", err=True)
        say(f"Report: {outcome.page}")
    if not outcome.ok:
        raise AuditFailure(f"{out}: the audit found a difference; 'perpend audit {out / 'published'}' says which")

"""Verbs that show: show, demo."""

from __future__ import annotations

from pathlib import Path

import click

from perpend.canon import pretty, write_atomic
from perpend.cli.group import AS_JSON, PATH, QUIET, group
from perpend.inert import say, say_page

_IN_TERMINAL, _READ_AT_ONCE = 10, 100
"""Cases that a terminal is shown unless more are asked for, and those that a file is better for."""


@group.command(short_help="Show a run as a table, or its raw answers and their scores.")
@click.argument("run", type=PATH)
@click.option(
    "--where",
    multiple=True,
    metavar="KEY=VALUE",
    help="Only trials with this value; KEY!=VALUE without it; KEY~TEXT that contain the text. KEY is condition, model, "
    "item, temperature, repeat, a tag, a scorer, answer, reason, prompt, finish or error.",
)
@click.option("--flips", "flipped", is_flag=True, help="Only trials whose verdict differs from the first condition's.")
@click.option("--scorer", "scorers", multiple=True, help="Show this scorer only; with --flips, go by its verdict.")
@click.option("--messages", is_flag=True, help="Show the exact messages that were sent.")
@click.option("--by", multiple=True, help="Group by this. [model, condition, topic]")
@click.option("--n-per-group", type=click.IntRange(1), help="Show N cases per group.")
@click.option("--limit", type=click.IntRange(1), help="Show at most N cases. [10 in the terminal]")
@click.option("--seed", type=int, default=0, show_default=True)
@click.option("--out-md", type=PATH, help="Write the cases to this Markdown file instead of printing them.")
@AS_JSON
def show(  # noqa: PLR0913, PLR0917  a verb has as many parameters as it has flags
    run: Path,
    where: tuple[str, ...],
    flipped: bool,
    scorers: tuple[str, ...],
    messages: bool,
    by: tuple[str, ...],
    n_per_group: int | None,
    limit: int | None,
    seed: int,
    out_md: Path | None,
    as_json: bool,
) -> None:
    """Show a run as a table, or its raw answers and how each was scored.

    Without options, or with --scorer alone, it is the table. RUN is a run directory, a published folder, or a log that
    'perpend import' reads.

    \b
    perpend show runs/RUN
    perpend show runs/RUN --where correct=0 --where condition=control
    perpend show runs/RUN --where answer~sorry --messages
    perpend show runs/RUN --flips --scorer endorsed
    perpend show runs/RUN --n-per-group 1 --out-md cases.md
    """
    from perpend._convert import as_run
    from perpend.report import case_text
    from perpend.report.case_filters import case_filter
    from perpend.report.cases import CaseSelection, flips, select
    from perpend.report.overview import newest, overview

    if flipped and (by or n_per_group):
        raise click.UsageError("--flips shows pairs of trials: use --where and --limit, not --by or --n-per-group")
    with as_run(run) as opened:
        names = [opened.table.full_name(name) for name in scorers]
        if not (where or flipped or messages or by or n_per_group or limit or out_md):
            summary = overview(opened, names)
            say_page(pretty(summary.as_json()) if as_json else summary.as_text())
            return
        is_page = as_json or out_md is not None
        most = _IN_TERMINAL if limit is None and n_per_group is None and not is_page else limit
        filters = [case_filter(written, opened) for written in where]
        wanted = CaseSelection(filters, by, n_per_group, seed, most, messages)
        shown, title = names or newest(opened), f"Cases of {opened.name}"
        if flipped:
            pairs, count = flips(opened, wanted, names[0] if names else None)
            page = case_text.flips_as_markdown(pairs, title) if out_md else case_text.flips_as_text(pairs, names)
            body, noun = [pair.as_json() for pair in pairs], "flip"
        else:
            cases, count = select(opened, wanted)
            page = case_text.as_markdown(cases, title) if out_md else case_text.as_text(cases, shown)
            body, noun = [case.as_json() for case in cases], "case"
    if as_json:
        say_page(pretty(list(body)))
    elif out_md is not None:
        write_atomic(out_md, page)
        say(f"{len(body)} {noun}{'s' * (len(body) != 1)} in {out_md}")
    else:
        say_page(page)
        way = f"--limit {count} shows all" if count <= _READ_AT_ONCE else "--out-md FILE writes all"
        left = f"; {way}" if len(body) < count else ""
        say(f"{len(body)} of {count} {noun}{'s' * (count != 1)}{left}" if count else f"No {noun} fits.")


@group.command(short_help="Run three studies on the embedded model, publish and audit.")
@click.option("--out", type=PATH, default=Path("demo"), show_default=True, help="Directory for everything.")
@click.option("--model", default="local/smollm2", show_default=True, help="mock/subject needs no installation.")
@click.option("--no-figures", is_flag=True, help="Publish without figures.")
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

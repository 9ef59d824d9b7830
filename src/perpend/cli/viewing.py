"""The verb that shows runs as a page: view."""

from __future__ import annotations

import os
import sys
from contextlib import ExitStack
from pathlib import Path

import click

from perpend.cli.group import PATH, group
from perpend.inert import say


@group.command(short_help="Read what was asked and answered, in a browser.")
@click.argument("runs", nargs=-1, required=True, type=PATH)
@click.option("--out", type=PATH, help="Write the page to this file. [serve it on this machine]")
@click.option("--claims", type=PATH, help="Also show the claims in this file, with the trials under each.")
@click.option("--rubric", help="What readers are asked: endorsed, correct, stance, or file.toml. [as the items allow]")
@click.option("--sample", type=click.IntRange(1), default=100, show_default=True, help="Answers to read per run.")
@click.option("--no-figures", is_flag=True, help="Draw no figures for the overview.")
@click.option("--port", type=click.IntRange(0, 65535), default=0, help="Port of the live page. [a free one]")
@click.option("--no-browser", is_flag=True, help="Print the address only.")
def view(  # noqa: PLR0913, PLR0917  a verb has as many parameters as it has flags
    runs: tuple[Path, ...],
    out: Path | None,
    claims: Path | None,
    rubric: str | None,
    sample: int,
    no_figures: bool,
    port: int,
    no_browser: bool,
) -> None:
    """Read what was asked and answered, in a browser: as a file, or live while a run is asked.

    RUN is a run directory, a published folder, or a log that 'perpend import' reads. With --out the page is one file
    that opens without a server; of more than 20,000 trials it has a folder beside it. Without --out it is served on
    this machine only, at an address that nobody can guess, and labels go into labels.jsonl of the run.

    \b
    perpend view runs/RUN --out page.html
    perpend view runs/RUN
    perpend view runs/A runs/B --out compare.html --claims claims.toml
    """
    from perpend._view import OpenedRuns, ViewOptions
    from perpend.view.live import LiveView
    from perpend.view.page import write_page
    from perpend.view.server import serve

    with ExitStack() as stack:
        opened = OpenedRuns(stack, runs, ViewOptions(claims, rubric, sample, figures=not no_figures))
        if out is None:
            serve(
                lambda: LiveView(opened.view, quiet=False),
                port,
                lambda address: _ready(address, browser=not no_browser),
            )
            return
        written = write_page(opened.view(), out, quiet=False)
    trials = f"{written.trials} trial{'s' * (written.trials != 1)}"
    if written.folder is None:
        say(f"{trials} in {written.page}")
    else:
        say(f"{trials} in {written.page} and the folder {written.folder.name} beside it; keep them together")


def _ready(address: str, *, browser: bool) -> None:
    say(f"Page: {address}")
    say("Only this machine can open it. Press Ctrl-C to end.", err=True)
    has_screen = sys.platform in ("darwin", "win32") or bool(
        os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")
    )
    if browser and has_screen:
        import webbrowser

        webbrowser.open(address)

"""The command line itself, and what its verbs share."""

from __future__ import annotations

from pathlib import Path

import click

from perpend import __version__
from perpend.canon import JSON, pretty

PATH = click.Path(path_type=Path)
AS_JSON = click.option("--json", "as_json", is_flag=True, help="Print one JSON object instead of text.")


@click.group(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(__version__, prog_name="perpend")
def group() -> None:
    """Language-model evaluations whose every number a stranger can recompute.

    \b
    perpend eval --task conformity --model mock/subject     ask, score, report
    perpend show runs/RUN --n-per-group 1                   read raw answers
    perpend analyze runs/RUN --out analysis                 tables, figures, report
    perpend publish runs/RUN --to published                 a copy that a stranger can verify
    perpend audit published                                 recompute everything and compare
    perpend freeze items.jsonl --out freeze.json            digest the items
    """


def derive(directory: Path, only: tuple[str, ...] = ()) -> str:
    """Everything after the answers: scores, metrics.json, report.md."""
    from perpend.measure import Run
    from perpend.reports.summary import write_summary

    run = Run(directory)
    run.score(only)
    return write_summary(run)


def print_fields(body: dict[str, JSON], as_json: bool) -> None:
    if as_json:
        click.echo(pretty(body), nl=False)
        return
    for key, value in body.items():
        click.echo(f"{key}: {', '.join(map(str, value)) if isinstance(value, list) else value}")

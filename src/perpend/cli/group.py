"""The command line itself, and what its verbs share."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import click

from perpend.canon import JSON, VERSION, clean_text, pretty
from perpend.errors import did_you_mean
from perpend.inert import say, say_page

if TYPE_CHECKING:
    from perpend.report.derive import Derived


class UserPath(click.Path):
    """A path that a user gives. What a file is, its reader says; a name that no report can hold is refused here."""

    def convert(self, value: str | os.PathLike[str], param: click.Parameter | None, ctx: click.Context | None) -> Path:
        """The path; one whose name is not UTF-8 is an error."""
        text = os.fspath(value)
        if clean_text(text) != text:
            self.fail(f"{text!r}: the name is not UTF-8; rename the file", param, ctx)
        return Path(text)


class NearChoice(click.Choice[str]):
    """One of some words; what is none of them is answered with the near ones."""

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """The word itself."""
        if value not in self.choices:
            self.fail(f"{value!r} is none of them; {did_you_mean(value, self.choices)}", param, ctx)
        return super().convert(value, param, ctx)


class Verbs(click.Group):
    """The verbs; what was one before is answered with where it went."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """The verb itself."""
        if args[0] in _WENT:
            ctx.fail(f"No such command {args[0]!r}. {_WENT[args[0]]}")
        return super().resolve_command(ctx, args)


_WENT = {
    "convert": "'perpend import' reads; 'perpend export --as simulation.db' writes.",
    "variants": "In Python, pp.variants writes the same weights in other precisions.",
}
PATH = UserPath(path_type=Path)
AS_JSON = click.option("--json", "as_json", is_flag=True, help="Print JSON instead of text.")
QUIET = click.option("--quiet", is_flag=True, help="Print errors only.")
SERVE_WAIT = click.option(
    "--serve-wait",
    metavar="MINUTES",
    type=click.FloatRange(0, min_open=True),
    default=30.0,
    help="Longest wait for that server. [30]",
)
TRUST_CODE = click.option(
    "--trust-code", is_flag=True, help="Run the Python files in the run's folder, after checking their digests."
)


@click.group(cls=Verbs, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(VERSION, prog_name="perpend")
def group() -> None:
    """Language-model evaluations whose every number a stranger can recompute.

    \b
    perpend eval --task conformity --model mock/subject     ask, score, report
    perpend show runs/RUN --where correct=0                 show what was answered wrongly
    perpend view runs/RUN                                   read it in a browser
    perpend analyze runs/RUN --out analysis                 tables, figures, report
    perpend publish runs/RUN --to published                 a copy that a stranger can verify
    perpend audit published                                 recompute everything and compare
    perpend freeze items.jsonl --out freeze.json            record checksums of the items
    """


def print_headline(derived: Derived) -> None:
    """The answer in a few lines, its cautions, and where the whole report is."""
    from perpend.report.answer import terminal_lines

    for line in terminal_lines(derived.report, shutil.get_terminal_size((100, 24)).columns):
        say(line)
    say(f"Report: {derived.path.as_posix()}")


def print_fields(body: dict[str, JSON], as_json: bool) -> None:
    """Names and values, one per line, or one JSON object."""
    if as_json:
        say_page(pretty(body))
        return
    for key, value in body.items():
        say(f"{key}: {', '.join(map(str, value)) if isinstance(value, list) else value}")

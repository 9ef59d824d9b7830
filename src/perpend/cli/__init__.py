"""The verbs: parse, call one function, print, exit code. No logic lives here.

Results go to standard output, progress and messages to standard error.
"""

from __future__ import annotations

import sys

import click

from perpend.cli import asking, checking, inside, moving, reading, showing  # each adds its verbs to the group
from perpend.cli.group import group as cli
from perpend.errors import PerpendError

__all__ = ["asking", "checking", "cli", "inside", "main", "moving", "reading", "showing"]


def main() -> None:
    """Run the command line; every error that is a PerpendError becomes its message and its exit code."""
    try:
        code = cli.main(standalone_mode=False)
    except PerpendError as error:
        click.echo(f"error: {error}", err=True)
        code = error.exit_code
    except click.exceptions.Abort:
        click.echo("interrupted", err=True)
        code = 130
    except click.ClickException as error:
        error.show()
        code = error.exit_code
    sys.exit(code if isinstance(code, int) else 0)

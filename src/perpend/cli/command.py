"""Running a command line: every error that is a PerpendError becomes its message and its exit code."""

from __future__ import annotations

import sys

import click

from perpend.errors import PerpendError


def run(group: click.Group) -> None:
    """Parse, call the verb, exit. A bug is not hidden: only errors that are raised on purpose are caught."""
    try:
        code = group.main(standalone_mode=False)
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

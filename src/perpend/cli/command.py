"""Running a command line: every error that is a PerpendError becomes its message and its exit code."""

from __future__ import annotations

import sys

import click

from perpend.errors import PerpendError
from perpend.inert import guard_output, say, say_page


def run(group: click.Group) -> None:
    """Parse, call the verb, exit. A bug is not hidden: only errors that are raised on purpose are caught."""
    guard_output()
    try:
        code = group.main(standalone_mode=False)
    except PerpendError as error:
        say_page(f"error: {error}\n", err=True)
        code = error.exit_code
    except click.exceptions.Abort:
        say("interrupted", err=True)
        code = 130
    except click.ClickException as error:
        if isinstance(error, click.UsageError) and error.ctx is not None:
            say_page(f"{error.ctx.get_usage()}\nTry '{error.ctx.command_path} --help' for help.\n\n", err=True)
        say(f"Error: {error.format_message()}", err=True)
        code = error.exit_code
    sys.exit(code if isinstance(code, int) else 0)

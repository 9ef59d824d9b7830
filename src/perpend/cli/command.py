"""Running a command line: every error that is a PerpendError becomes its message and its exit code."""

from __future__ import annotations

import os
import signal
import sys
import threading
from contextlib import suppress
from pathlib import Path
from types import FrameType

import click

from perpend.disk import refusal
from perpend.errors import DiskError, PerpendError
from perpend.inert import guard_output, say, say_page


def run(group: click.Group) -> None:
    """Parse, call the verb, exit. A bug is not hidden: only errors that are raised on purpose are caught.

    And those of the file system, whoever met them: a name that is too long, a folder that may not be read, a full disk
    below standard output. A reader that has seen enough (| head) ends the verb without a word.
    """
    guard_output()
    _end_as_by_ctrl_c()
    try:
        code = _called(group)
        sys.stdout.flush()
    except OSError as error:
        code = DiskError.exit_code
        with suppress(OSError):
            say(f"error: {refusal(Path(str(error.filename or 'standard output')), error)}", err=True)
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except OSError:  # what is left of it goes nowhere, or Python would complain once more while it ends
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
    sys.exit(code)


def _end_as_by_ctrl_c() -> None:
    """SIGTERM ends a verb as Ctrl-C does: what was answered is kept, and a sentence says so."""
    if threading.current_thread() is not threading.main_thread():
        return
    own = os.getpid()

    def told(number: int, frame: FrameType | None) -> None:
        signal.signal(signal.SIGTERM, signal.SIG_IGN if os.getpid() == own else signal.SIG_DFL)
        if os.getpid() == own:  # a forked process ends as processes do
            signal.default_int_handler(number, frame)
        os.kill(os.getpid(), signal.SIGTERM)

    signal.signal(signal.SIGTERM, told)


def _called(group: click.Group) -> int:
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
    return code if isinstance(code, int) else 0

"""Progress of long work on standard error: a bar on a terminal, a line now and then elsewhere."""

from __future__ import annotations

import sys
import time
from contextlib import ExitStack
from types import TracebackType
from typing import TYPE_CHECKING, Self

from perpend.inert import InertStream, one_line, say

if TYPE_CHECKING:
    from rich.progress import Progress as Bar
    from rich.progress import TaskID

_LINE_SECONDS = 10.0


class Progress:
    """Counts what is done of `total`. `note` is whatever else a person wants to see: failures, invalid share, cost."""

    def __init__(self, title: str, total: int, done: int = 0, *, quiet: bool = False) -> None:
        self.title, self.total, self.done = one_line(title), total, done
        self._quiet = quiet
        self._first, self._started = done, time.monotonic()
        self._line_at = self._started + _LINE_SECONDS
        self._stack = ExitStack()
        self._bar: Bar | None = None
        self._task: TaskID | None = None

    def __enter__(self) -> Self:
        if not self._quiet and sys.stderr.isatty():
            from rich.console import Console
            from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
            from rich.progress import Progress as RichBar

            self._bar = self._stack.enter_context(
                RichBar(
                    TextColumn("{task.description}", markup=False),
                    BarColumn(),
                    MofNCompleteColumn(),
                    TextColumn("{task.fields[note]}", markup=False),
                    TimeRemainingColumn(),
                    # Cursor moves of our own go around the guard; foreign text in them was made inert before.
                    console=Console(file=sys.stderr.raw if isinstance(sys.stderr, InertStream) else sys.stderr),
                    refresh_per_second=4,
                    # What others print meanwhile meets the guard instead of the console.
                    redirect_stdout=False,
                    redirect_stderr=False,
                )
            )
            self._task = self._bar.add_task(self.title, total=self.total, completed=self.done, note="")
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        self._stack.close()

    def advance(self, count: int, note: str = "") -> None:
        """Say that `count` more are done."""
        self.done += count
        if self._bar is not None and self._task is not None:
            self._bar.update(self._task, total=self.total, advance=count, note=f"{self.rate():.0f}/s {one_line(note)}")
        elif not self._quiet and time.monotonic() >= self._line_at:
            self._line_at = time.monotonic() + _LINE_SECONDS
            left = (self.total - self.done) / self.rate() if self.rate() else 0.0
            pace = f"{self.rate():.0f}/s; {left:.0f} s left"
            say(f"{self.title}: {self.done}/{self.total}; {pace}" + (f"; {note}" if note else ""), err=True)

    def rate(self) -> float:
        """Done each second since the start, not counting what was done before."""
        return (self.done - self._first) / max(time.monotonic() - self._started, 1e-9)

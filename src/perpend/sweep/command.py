"""The command of a shard's task, and running it until it ends well: a child that dies is started again where it was."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path

from perpend.ledger.database import is_held
from perpend.ledger.shards import Shard
from perpend.sweep.facts import Sweep, is_cancelled, read_state, write_state

EXIT_INTERRUPTED = 130
TRIES = 3
_LOOK_S = 0.1
_LONGEST_WORDS = 500
# In the child, before it becomes the command: SIGTERM when its parent dies, after which it would be out of sight of
# every engine, and go on. The last line is for a parent that was faster.
_BEFORE = (
    "import ctypes, os, signal, sys; ctypes.CDLL(None).prctl(1, signal.SIGTERM);"
    f" os.getppid() == int(sys.argv[1]) or sys.exit({EXIT_INTERRUPTED}); os.execv(sys.argv[2], sys.argv[2:])"
)


def shard_command(run: Path, sweep: Sweep, shard: int | str) -> list[str]:
    """The words of `perpend eval SPEC --shard k/N`; `shard` may be a word of the shell that gives the number."""
    words = ["eval", sweep.spec, "--out", sweep.out, "--shard", f"{shard}/{sweep.shards}"]
    words += ["--name", sweep.name] if sweep.name else []
    words += ["--scratch", str(scratch(run, sweep))]
    words += ["--serve", sweep.serve, "--serve-wait", f"{sweep.serve_minutes:g}"] if sweep.serve else []
    return [*_perpend(), *words, "--quiet"]


def merge_command(run: Path, sweep: Sweep) -> list[str]:
    """The words of `perpend merge RUN`. The Python files of the run are those that its user submitted."""
    return [*_perpend(), "merge", str(run), "--trust-code", *([] if sweep.scored else ["--no-score"])]


def _perpend() -> list[str]:
    """The words that call perpend of this environment; without its script where it is not installed there."""
    script = Path(sys.executable).with_name("perpend")
    return [str(script)] if script.is_file() else [sys.executable, "-c", "from perpend.cli import main; main()"]


def scratch(run: Path, sweep: Sweep) -> Path:
    """Where a node keeps a shard while it asks it: below --scratch or $TMPDIR, in a folder of this run."""
    key = hashlib.sha256(os.path.realpath(run).encode()).hexdigest()[:12]
    user = os.getuid() if hasattr(os, "getuid") else "me"
    return Path(sweep.scratch or tempfile.gettempdir()) / f"perpend-{user}-{key}"


def lock_place(scratch: Path, shard: Shard) -> Path:
    """The folder whose lock the task of a shard holds, on its machine."""
    return scratch / "locks" / shard.folder


class Child:
    """The process that asks a shard."""

    def __init__(self, run: Path, sweep: Sweep, shard: int) -> None:
        self._log = run / "sweep" / "logs" / f"{shard:04d}.log"
        self._log.parent.mkdir(parents=True, exist_ok=True)
        self.run, self.shard, self.tries = run, shard, 1
        self._lock = lock_place(scratch(run, sweep), Shard(shard, sweep.shards))
        self._words = shard_command(run, sweep, shard)
        self._process = self._start()

    def _start(self) -> subprocess.Popen[bytes]:
        ends_with_us = [sys.executable, "-I", "-c", _BEFORE, str(os.getpid())] if sys.platform == "linux" else []
        with self._log.open("ab") as file:
            self._log_start, self._before = file.tell(), read_state(self.run, self.shard)
            return subprocess.Popen(  # noqa: S603  ours
                [*ends_with_us, *self._words], stdin=subprocess.DEVNULL, stdout=file, stderr=file
            )

    def poll(self) -> int | None:
        """Its exit code; None while it runs. One that failed or was killed is started again, a few times."""
        code = self._process.poll()
        if code in (None, 0, EXIT_INTERRUPTED):
            return code
        state = read_state(self.run, self.shard)
        if state.state in ("done", "stopped"):  # it ended in order: its budget is spent
            return code
        if self.tries < TRIES and not is_cancelled(self.run):
            self.tries += 1
            self._process = self._start()
            return None
        is_anothers = is_held(self._lock)  # whose state must stay: this one was refused
        if not is_anothers and (state.state != "failed" or state == self._before):  # it ended before it could say why
            why = self._last_words() or f"its process ended with exit code {code}"
            write_state(self.run, replace(state, state="failed", why=why))
        return code

    def _last_words(self) -> str:
        with self._log.open("rb") as file:
            file.seek(self._log_start)
            return file.read()[-_LONGEST_WORDS:].decode(errors="replace").strip().removeprefix("error: ")

    def wait(self, seconds: float | None = None) -> int | None:
        """Its exit code, as soon as it ends; None where it does not within `seconds`."""
        until = None if seconds is None else time.monotonic() + seconds
        while (code := self.poll()) is None and (until is None or time.monotonic() < until):
            time.sleep(_LOOK_S)
        return code

    def stop(self) -> None:
        """Ask it to keep what it has and end."""
        self.tries = TRIES
        if self._process.poll() is None:
            self._process.terminate()

"""The parent of a server: `python keeper.py PARENT PROGRAM WORD…` runs PROGRAM, and ends when it ends, with its code.

When the process PARENT is gone, however it ended, or SIGTERM comes, the program and all that it started are asked to
end, and killed if they do not. A server must not outlive its task: it would keep the accelerator. The system itself
does not see to that: a shell that starts a server ends without it, and some clusters lose sight of an orphan.

A program of its own that imports the standard library only, so that it costs a node next to nothing.
"""

from __future__ import annotations

import ctypes
import os
import signal
import sys
import time
from pathlib import Path

GRACE_S = 30.0
"""How long a server may take to end when it is asked to."""
_LOOK_S = 0.1
_SUBREAPER = 36  # of prctl: what is orphaned below becomes a child of this process, and does not get out of sight


def keep(parent: int, words: list[str]) -> int:
    """Run the words until they end, or must; the exit code of the program, 128 + N where the signal N ended it."""
    asked_to_end: list[int] = []
    signal.signal(signal.SIGTERM, lambda number, _: asked_to_end.append(number))
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    for name in ("SIGUSR1", "SIGUSR2"):  # SLURM says by these that time runs out; the server ignores them, too
        signal.signal(getattr(signal, name), signal.SIG_IGN)
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_SUBREAPER, 1)
    server = os.fork()
    if not server:
        _become(words)
    code = None
    while code is None and not asked_to_end and os.getppid() == parent:
        time.sleep(_LOOK_S)
        code = _reap(server)
    return _end(server, code)


def _become(words: list[str]) -> None:
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    try:
        os.execv(words[0], words)  # noqa: S606  the user's own command, split without a shell
    except OSError as error:
        sys.stderr.write(f"{ascii(words[0])[1:-1]}: {error.strerror}\n")  # as `inert` would; this imports none of ours
        sys.stderr.flush()
    os._exit(126)


def _end(server: int, code: int | None) -> int:
    """End all that is left; the server's exit code."""
    until = time.monotonic() + GRACE_S
    _send(signal.SIGTERM)
    while _below() and time.monotonic() < until:
        time.sleep(_LOOK_S)
        code = _reap(server, code)
    while _below():
        _send(signal.SIGKILL)
        time.sleep(_LOOK_S)
        code = _reap(server, code)
    code = _reap(server, code)
    return 1 if code is None else code


def _reap(server: int, code: int | None = None) -> int | None:
    """Take the exit codes of children that have ended; that of the server, or `code` where it is not among them."""
    try:
        while (ended := os.waitpid(-1, os.WNOHANG))[0]:
            if ended[0] == server:
                status = os.waitstatus_to_exitcode(ended[1])
                code = status if status >= 0 else 128 - status
    except ChildProcessError:
        pass
    return code


def _send(number: signal.Signals) -> None:
    if sys.platform != "linux":  # no /proc: what is in the group, which a server seldom leaves
        os.killpg(0, number)
    for pid in _below():
        try:
            os.kill(pid, number)
        except ProcessLookupError:
            continue


def _below() -> set[int]:
    """The processes below this one, in whatever session; none where the system has no /proc."""
    parents: dict[int, int] = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            state, parent = path.read_bytes().rpartition(b")")[2].split()[:2]
        except (OSError, ValueError):  # it has just ended
            continue
        if state not in (b"Z", b"X"):
            parents[int(path.parent.name)] = int(parent)
    below, more = set[int](), {os.getpid()}
    while more:
        more = {pid for pid, parent in parents.items() if parent in more} - below
        below |= more
    return below


if __name__ == "__main__":
    sys.exit(keep(int(sys.argv[1]), sys.argv[2:]))

"""The commands of the package as programs that start at once: forked from a process that has imported everything.

Each call is a process of its own, in its caller's folder and with its caller's environment, input and output; only the
imports are shared. How the installed programs start is what tests/test_cli.py and tests/system/test_wheel.py try.
"""

from __future__ import annotations

import importlib
import json
import os
import pkgutil
import select
import signal
import socket
import subprocess
import sys
import tempfile
import traceback
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType

from tests.conftest import ROOT

MAINS = {"perpend": "perpend.cli", "chaosbench": "perpend.cli.chaosbench"}
HEAVY = ("numpy", "scipy.stats", "scipy.special", "scipy.optimize", "matplotlib.pyplot", "pyarrow.parquet", "zstandard")
OPTIONAL = (".hf", ".local", ".inside", ".verify", ".__main__", ".pytest")
"""Modules that need what may not be installed, or that do something when they are imported."""
CALLER = """#!{python} -IS
import json, os, socket, sys
with socket.socket(socket.AF_UNIX) as there:
    there.connect({address!r})
    socket.send_fds(there, [b"."], [0, 1, 2])
    there.sendall(json.dumps([{name!r}, sys.argv[1:], os.getcwd(), dict(os.environ)]).encode())
    there.shutdown(socket.SHUT_WR)
    said = there.makefile()
    pid, code = said.readline(), said.readline()
sys.exit(int(code) if code else 70)
"""


class Begun:
    """One call of a command, from the folder of its programs: a process that a test can kill."""

    def __init__(self, programs: Path, words: Sequence[str], folder: Path, environment: Mapping[str, str]) -> None:
        self.printed = tempfile.TemporaryFile()  # noqa: SIM115  closed when this is left
        self._there = socket.socket(socket.AF_UNIX)
        self._there.connect(str(programs.parent / "socket"))
        with Path(os.devnull).open("rb") as nothing:
            output = self.printed.fileno()
            socket.send_fds(self._there, [b"."], [nothing.fileno(), output, output])
        self._there.sendall(json.dumps([words[0], words[1:], str(folder), dict(environment)]).encode())
        self._there.shutdown(socket.SHUT_WR)
        self._said = self._there.makefile()
        self.pid = int(self._said.readline())

    def __enter__(self) -> Begun:
        return self

    def __exit__(self, *_: object) -> None:
        self.wait()
        for one in (self._said, self._there, self.printed):
            one.close()

    def kill(self) -> None:
        """End the process at once, unless it is over; as long as nobody has read its end, its number is its own."""
        if not select.select([self._there], [], [], 0)[0]:
            os.kill(self.pid, signal.SIGKILL)

    def wait(self) -> int | None:
        """The exit code; None for a process that was killed."""
        said = self._said.readline()
        return int(said) if said else None


@contextmanager
def started(folder: Path) -> Iterator[Path]:
    """Start what forks, and give the folder that holds the programs."""
    programs, address = folder / "bin", folder / "socket"
    programs.mkdir()
    for name in MAINS:
        path = programs / name
        path.write_text(CALLER.format(python=sys.executable, address=str(address), name=name), encoding="utf-8")
        path.chmod(0o755)
    one_thread = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}  # fork copies one alone
    paths = {"PYTHONPATH": os.pathsep.join([str(ROOT / "src"), str(ROOT)])}
    command = [sys.executable, "-m", "tests.commands", str(address)]
    with subprocess.Popen(
        command, cwd=ROOT, env={**os.environ, **one_thread, **paths}, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"ready\n"
        try:
            yield programs
        finally:
            process.terminate()


def _load() -> None:
    for name in HEAVY:
        importlib.import_module(name)
    import perpend

    for module in pkgutil.walk_packages(perpend.__path__, "perpend."):
        if not any(part in f"{module.name}." for part in (f"{one}." for one in OPTIONAL)):
            importlib.import_module(module.name)


def _serve(address: str) -> None:
    """Fork for every caller, for as long as this process lives."""
    with socket.socket(socket.AF_UNIX) as door:
        door.bind(address)
        door.listen(64)
        print("ready", flush=True)
        while True:
            caller, _ = door.accept()
            while os.waitpid(-1, os.WNOHANG)[0] if _has_children() else False:
                pass
            if os.fork() == 0:
                door.close()
                _answer(caller)
            caller.close()


def _has_children() -> bool:
    return bool(Path("/proc/self/task", str(os.getpid()), "children").read_text())


def _answer(caller: socket.socket) -> None:
    """Be the command that a caller names, and tell it the number of the process and the exit code. Never returns."""
    _, places, _, _ = socket.recv_fds(caller, 1, 3)
    with caller.makefile("rb") as file:
        name, arguments, folder, environment = json.loads(file.read())
    # Not before all is read: the caller of a process that is killed with something unread is told of an error.
    caller.sendall(f"{os.getpid()}\n".encode())
    for number, place in enumerate(places):
        os.dup2(place, number)
        os.close(place)
    sys.stdin, sys.stdout, sys.stderr = (
        os.fdopen(number, mode, encoding="utf-8", errors=errors)
        for number, mode, errors in ((0, "r", "strict"), (1, "w", "strict"), (2, "w", "backslashreplace"))
    )
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    tempfile.tempdir = None  # as the caller's environment says
    sys.argv = [name, *arguments]
    sys.modules["__main__"] = ModuleType("__main__")  # click names the program by it
    code = 70
    try:
        importlib.import_module(MAINS[name]).main()
        code = 0
    except SystemExit as ended:
        code = ended.code if isinstance(ended.code, int) else int(ended.code is not None)
    except BaseException:  # noqa: BLE001  as Python itself would show it
        traceback.print_exc()
        code = 1
    sys.stdout.flush()
    sys.stderr.flush()
    caller.sendall(f"{code}\n".encode())
    os._exit(0)


if __name__ == "__main__":
    _load()
    _serve(sys.argv[1])

"""Verbs under watch: python -m tests.attack.canary WATCH.json

WATCH.json holds {"hostile": folder, "writable": [folders], "commands": [[argument, …], …], "out": file}.
The commands are run one after the other in this process, under a hook that Python itself calls before anything is
compiled, executed, imported, started, unpickled, connected to, written or removed. What it sees is written to `out`,
with each command's exit code, its output and, where it was no error of perpend's, its traceback.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import sys
import traceback
from pathlib import Path

FORBIDDEN = (
    "os.system", "os.exec", "os.posix_spawn", "os.spawn", "os.fork", "os.forkpty", "pty.spawn", "subprocess.Popen",
    "pickle.find_class", "marshal.load", "socket.connect", "socket.bind", "socket.getaddrinfo", "socket.sendto",
    "sqlite3.enable_load_extension", "sqlite3.load_extension", "urllib.Request", "webbrowser.open", "os.kill",
    "ftplib.connect", "http.client.connect", "smtplib.connect", "telnetlib.Telnet.open",
)  # fmt: skip
CHANGES = (
    "os.remove", "os.rename", "os.mkdir", "os.rmdir", "os.truncate", "os.link", "os.symlink", "os.chmod", "os.chown",
    "os.utime", "shutil.rmtree", "shutil.move", "shutil.copyfile", "os.setxattr",
)  # fmt: skip
WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
CANARY = "canary_module"
"""A module that is on the path and that nothing of ours imports."""


class Watch:
    """What the hook has seen."""

    def __init__(self, hostile: Path, writable: list[Path]) -> None:
        self.hostile = str(hostile.resolve())
        self.writable = tuple(str(folder.resolve()) for folder in writable)
        self.seen: list[str] = []
        self.is_on = False

    def __call__(self, event: str, arguments: tuple[object, ...]) -> None:
        """Called by Python before each event; it must not fail."""
        if not self.is_on:
            return
        self.is_on = False
        try:
            self._look(event, arguments)
        finally:
            self.is_on = True

    def _look(self, event: str, arguments: tuple[object, ...]) -> None:
        is_seen = event in FORBIDDEN and not (event == "subprocess.Popen" and "ssh-keygen" in str(arguments[0]))
        if event in ("exec", "compile"):
            is_seen = self._is_program(event, arguments)
        elif event == "import":
            is_seen = CANARY in str(arguments[0]) or self.inside(str(arguments[1] or ""))
        elif event == "open":
            path, _, flags = arguments
            is_seen = isinstance(flags, int) and bool(flags & WRITING) and not self.may_write(path)
        elif event == "sqlite3.connect":
            text = str(arguments[0])
            reads = "mode=ro" in text or "immutable=1" in text or text == ":memory:"
            is_seen = not reads and not self.may_write(text.removeprefix("file://").partition("?")[0])
        elif event in CHANGES:
            first = 1 if event in ("shutil.copyfile", "os.symlink") else 0  # what is copied is only read
            places = [one for one in arguments[first:2] if isinstance(one, str | bytes | os.PathLike)]
            is_seen = not all(self.may_write(place) for place in places)
        if is_seen:
            self.seen.append(f"{event} {arguments!a:.300}")

    def _is_program(self, event: str, arguments: tuple[object, ...]) -> bool:
        code, source = (arguments[0], "") if event == "exec" else (arguments[1], str(arguments[0]))
        name = getattr(code, "co_filename", code)
        text = name.decode("utf-8", "replace") if isinstance(name, bytes) else str(name)
        return self.inside(text) or "template" in text or CANARY in text + source or "touch evil" in source

    def inside(self, path: str) -> bool:
        return bool(path) and not path.startswith("<") and os.path.realpath(path).startswith(self.hostile + os.sep)

    def may_write(self, path: object) -> bool:
        if isinstance(path, int) or os.fsdecode(path) in ("/dev/null", "/dev/tty"):  # type: ignore[arg-type]
            return True
        place = Path(os.fsdecode(path)).absolute()  # type: ignore[arg-type]
        real = str(place.parent.resolve() / place.name)
        return any(real == folder or real.startswith(folder + os.sep) for folder in self.writable)


def invoke(arguments: list[str]) -> dict[str, object]:
    """One command: exit code, output, and the traceback of what is no error of perpend's."""
    import click

    from perpend.cli import cli
    from perpend.errors import PerpendError

    out, err = io.StringIO(), io.StringIO()
    trace = ""
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            code = cli.main(arguments, standalone_mode=False)
        except PerpendError as error:
            err.write(f"error: {error}\n")
            code = error.exit_code
        except click.ClickException as error:
            code = error.exit_code
            err.write(error.format_message())
        except SystemExit as error:
            code = error.code
        except BaseException:  # noqa: BLE001  any other is what we look for
            code, trace = 1, traceback.format_exc()
    return {"command": arguments, "code": code if isinstance(code, int) else 0, "out": out.getvalue(),
            "err": err.getvalue(), "trace": trace}  # fmt: skip


def main() -> None:
    body = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
    watch = Watch(Path(body["hostile"]), [Path(folder) for folder in body["writable"]])
    sys.addaudithook(watch)
    outcomes = []
    for command in body["commands"]:
        watch.seen.clear()
        watch.is_on = True
        outcome = invoke(command)
        watch.is_on = False
        outcomes.append({**outcome, "seen": list(watch.seen)})
    Path(body["out"]).write_text(json.dumps(outcomes), encoding="utf-8")


if __name__ == "__main__":
    main()

"""--serve: the server of a model, started on this machine when the model is first needed, and stopped afterwards."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Self

from perpend.errors import ModelError, SpecError
from perpend.inert import one_line
from perpend.spec.model import Answers, Budget, Model
from perpend.sweep import keeper
from perpend.types import Request

PROVIDER = "openai"
_HEALTH = ("/health", "/v1/models")
_KEEPER = (sys.executable, "-I", keeper.__file__)
# Below the ports that systems give to outgoing connections, one of which would take it before a slow server does.
_FIRST_PORT, _PORTS = 20_000, 12_000
_LAST_LINES = 5
_LONGEST_WORDS = 4096
_ENDING_S = 5.0
_LONGEST_FACT = 400
_SECRET_FLAG = re.compile(r"--?(?:[\w-]*-)?(?:api-?key|token|secret|password|credentials?)(?:=.*)?", re.IGNORECASE)
# A path at the start of a word, of a value or of a part of either, also in a line of shell; no address, no org/model.
_PATH = re.compile(r"""(?<![^\s='"(,;:])(?:~\w*|\.{1,2}|\$\w+|\$\{\w+\})?/(?!/)[^\s'",;:()]*""")
_FIELD = re.compile(r"\{(\w*)\}")  # a flag may hold JSON


@dataclass(frozen=True, slots=True)
class ServeCommand:
    """How a model is served: the command that starts its server, and how long that may take to answer."""

    command: str
    minutes: float = 30.0


def check_command(command: str) -> None:
    """SpecError where a --serve command has no {port}, an unknown {name}, or a flag that holds a key."""
    try:
        words = shlex.split(command)
    except ValueError as error:
        raise SpecError(f"--serve {command!r}: cannot be split into words: {error}") from None
    names = set(_FIELD.findall(command))
    if not words or "port" not in names or names - {"port", "model"}:
        raise SpecError(
            f"--serve {command!r}: write the command with {{port}} where the port goes and {{model}} where the model's "
            "name goes, for example 'vllm serve {model} --port {port}'"
        )
    secret = next((word for word in words if _SECRET_FLAG.fullmatch(word)), None)
    if secret is not None:
        raise SpecError(
            f"--serve: {secret.partition('=')[0]} would be written down; give the key to the server by a variable of "
            "the environment"
        )


def served_name(name: str) -> str:
    """What stands for {model}: NAME of 'openai/NAME'. SpecError where no server of --serve answers such a model."""
    provider, _, model = name.partition("/")
    if provider != PROVIDER or not model:
        raise SpecError(f"--serve is for models that a server of OpenAI's protocol answers, openai/NAME; not {name!r}")
    return model


def flags(command: str) -> str:
    """The command as the fingerprint holds it: its fields open, of each path only the last part."""
    return _PATH.sub(lambda path: Path(path[0]).name, " ".join(shlex.split(command)))[:_LONGEST_FACT]


class Servers:
    """At most one server at a time, so that one accelerator is enough for a shard with two models."""

    def __init__(self, serving: ServeCommand, log: Path) -> None:
        check_command(serving.command)
        self.command, self.log, self._minutes = serving.command, log, serving.minutes
        self._running: _Server | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        self.stop()

    def of(self, model: str) -> _Server:
        """The running server of a model; that of another model is stopped first."""
        if self._running is None or self._running.model != model or not self._running.is_alive():
            self.stop()
            self._running = _Server(model, self.command, self.log)
            try:
                self._running.wait(self._minutes)
            except BaseException:
                self.stop()
                raise
        return self._running

    def stop(self) -> None:
        """Stop what runs. A second call does nothing."""
        if self._running is not None:
            self._running.stop()
            self._running = None


class Served:
    """A model whose server is started when it is first needed.

    `make` makes the model for an address; where `name` is 'openai/NAME', NAME stands for {model} in the command.
    """

    def __init__(self, name: str, make: Callable[[str], Model], servers: Servers) -> None:
        self._model = served_name(name)
        self.name, self._make, self._servers = name, make, servers

    @property
    def key_variables(self) -> tuple[str, ...]:
        """The variables that its provider reads a key from."""
        return tuple(getattr(self._make("http://127.0.0.1:1/v1"), "key_variables", ()))

    def fingerprint(self) -> Mapping[str, str]:
        """The model's own, with the version of its server and the flags that it was started with."""
        server = self._servers.of(self._model)
        facts = {"server": server.version(), "server_flags": flags(self._servers.command)}
        return {**self._make(server.url).fingerprint(), **facts}

    def answer(self, requests: Iterator[tuple[int, Request]], budget: Budget) -> Iterator[Answers]:
        """The model's own answers. A server that is down is started once more for each call.

        ModelError with its last words where it ends while it is asked.
        """
        first = next(requests, None)
        if first is None:  # nothing to ask: no server for it
            return
        server = self._servers.of(self._model)
        try:
            for batch in self._make(server.url).answer(_chain(first, requests), budget):
                answered = [(key, response) for key, response in batch if response.error is None]
                # What a server did not answer because it ended is no failure of the trial: it is asked again.
                if kept := answered if len(answered) < len(batch) and server.has_ended() else batch:
                    yield kept
        except ModelError:  # whoever asks sees only that nobody is there
            if server.has_ended():
                raise server.ended("while it was asked") from None
            raise
        if server.has_ended():
            raise server.ended("while it was asked")


def _chain(first: tuple[int, Request], rest: Iterator[tuple[int, Request]]) -> Iterator[tuple[int, Request]]:
    yield first
    yield from rest


class _Server:
    def __init__(self, model: str, command: str, log: Path) -> None:
        self.model = model
        self.port, claim = _claimed_port()
        with claim:  # a copy of it stays open as long as the server runs
            words = [_filled(word, model, self.port) for word in shlex.split(command)]
            program = shutil.which(words[0])
            if program is None:
                raise SpecError(
                    f"--serve: there is no program {words[0]!r} on this machine. Install it there, or load it with "
                    "--setup, and submit again"
                )
            log.parent.mkdir(parents=True, exist_ok=True)
            self._log, self._program = log, program
            with log.open("ab") as file:
                self._log_start = file.tell()
                self._process = subprocess.Popen(  # noqa: S603  the user's own command, split without a shell
                    [*_KEEPER, str(os.getpid()), program, *words[1:]],
                    stdin=subprocess.DEVNULL,
                    stdout=file,
                    stderr=subprocess.STDOUT,
                    start_new_session=True,
                    pass_fds=(claim.fileno(),),
                )

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/v1"

    def is_alive(self) -> bool:
        return self._process.poll() is None

    def wait(self, minutes: float) -> None:
        """Until it answers. ModelError where it ends instead, or takes longer than `minutes`."""
        until = time.monotonic() + 60 * minutes
        while not self._answers():
            if not self.is_alive():
                raise self.ended("before it answered")
            if time.monotonic() > until:
                raise self._error(
                    f"the server of {self.model} did not answer within {minutes:g} minutes. Allow it more with "
                    "--serve-wait if it only needs longer"
                )
            time.sleep(0.2)

    def has_ended(self) -> bool:
        """Whether it is gone, or goes within seconds, as one does that does not answer any more."""
        if not self._answers():
            with suppress(subprocess.TimeoutExpired):
                self._process.wait(_ENDING_S)
        return not self.is_alive()

    def _answers(self) -> bool:
        return any(_get(f"http://127.0.0.1:{self.port}{path}") is not None for path in _HEALTH)

    def ended(self, when: str) -> ModelError:
        """The error of a server that is not there any more."""
        return self._error(
            f"the server of {self.model} ended with exit code {self._process.returncode} {when}. The same command "
            "again starts it anew and resumes; if it ends again, change --serve"
        )

    def _error(self, what: str) -> ModelError:
        with self._log.open("rb") as file:
            file.seek(max(self._log_start, file.seek(0, os.SEEK_END) - _LONGEST_WORDS))
            lines = [line for line in file.read().decode(errors="replace").splitlines() if line.strip()]
        if not lines:
            return ModelError(f"{what}. It said nothing")
        return ModelError(f"{what}. It said, in {self._log}:", *lines[-_LAST_LINES:])

    def version(self) -> str:
        """What the server says at /version, or the program at --version; 'unknown' where neither says it."""
        name = Path(self._program).name
        reply = _get(f"http://127.0.0.1:{self.port}/version")
        try:
            body = json.loads(reply or b"null")
        except ValueError:
            body = None
        if isinstance(body, dict) and isinstance(body.get("version"), str):
            return one_line(f"{name} {body['version']}")[:_LONGEST_FACT]
        try:
            answer = subprocess.run(  # noqa: S603  the program that the user named
                [self._program, "--version"], capture_output=True, text=True, timeout=60, check=False
            )
        except (OSError, subprocess.TimeoutExpired, UnicodeDecodeError):
            return f"{name}, version unknown"
        line = (answer.stdout or answer.stderr).strip().partition("\n")[0]
        return one_line(line)[:_LONGEST_FACT] if answer.returncode == 0 and line else f"{name}, version unknown"

    def stop(self) -> None:
        """End it and what it started: it is asked to, and killed if it does not."""
        self._process.terminate()
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(2 * keeper.GRACE_S)
        with suppress(ProcessLookupError):  # somebody killed the keeper
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()


def _filled(word: str, model: str, port: int) -> str:
    return os.path.expandvars(word).replace("{model}", model).replace("{port}", str(port))


def _claimed_port() -> tuple[int, socket.socket]:
    """A free port, and the socket by which it is claimed against other tasks of this machine while it is open.

    A server listens minutes after its port was chosen. Until then the claim is a name of the network: as wide as the
    ports are, and gone with the last process that has it open. Elsewhere than on Linux only the free port counts.
    """
    for step in range(_PORTS):
        # Tasks that start together have other numbers, so they seldom try the same.
        port = _FIRST_PORT + (os.getpid() + step) % _PORTS
        claim = socket.socket(socket.AF_UNIX)
        try:
            if sys.platform == "linux":
                claim.bind(f"\0perpend-port-{port}")
            with socket.socket() as probe:
                probe.bind(("", port))
        except OSError:
            claim.close()
            continue
        return port, claim
    raise ModelError(f"--serve: no port from {_FIRST_PORT} to {_FIRST_PORT + _PORTS - 1} is free on this machine")


def _get(url: str) -> bytes | None:
    try:
        with urllib.request.urlopen(url, timeout=5) as reply:  # noqa: S310  a loopback address, made here
            return bytes(reply.read(1 << 16))
    except (OSError, ValueError, urllib.error.HTTPError):
        return None

"""What the tests of sweeps share: a run over a stub server that counts requests, and the command as a process."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import perpend
from perpend.ledger.digest import content_digest
from tests.servers import Received, Reply, Server, openai_chat

WORKERS = 4
SOURCE = Path(perpend.__file__).parent.parent
COMMAND = [sys.executable, "-c", "from perpend.cli import main; main()"]
CALLED = [*COMMAND]
"""The command of `call`: the fixture `at_once` puts the one that starts at once here. What is killed is a COMMAND."""


class Stub:
    """A server whose answer is a function of the question, and whose `gate` a test can close to look around."""

    def __init__(self) -> None:
        self.gate = threading.Event()
        self.gate.set()
        self.close_at = -1
        self.seconds: Callable[[str], float] = lambda _: 0.0
        """How long each question takes, others beside it."""
        self.refuses: Callable[[str], bool] = lambda _: False
        """Which questions it answers with 400."""
        self.asked: Counter[str] = Counter()
        """How often each question was asked."""
        self.server = Server(self._reply)

    def _reply(self, received: Received) -> Reply:
        if received.method == "GET":
            return Reply(b'{"object":"list","data":[{"id":"stub","owned_by":"tests"}]}')
        self.asked[received.question] += 1
        if len(self.asked) >= self.close_at > 0:
            self.gate.clear()
            self.close_at = -1
        self.gate.wait(120)
        if self.refuses(received.question):
            return Reply(b'{"error": {"message": "no"}}', 400)
        reply = openai_chat(hashlib.sha256(received.question.encode()).hexdigest()[:8])
        return replace(reply, latency_s=self.seconds(received.question))

    @property
    def twice(self) -> int:
        """Requests beyond the first of each question."""
        return sum(count - 1 for count in self.asked.values())


@contextmanager
def stub() -> Iterator[Stub]:
    """A stub for the length of a test."""
    started = Stub()
    try:
        yield started
    finally:
        started.gate.set()
        started.server.stop()


def write_run(folder: Path, server: Stub | None, items: int, name: str = "run.toml") -> Path:
    """A run of so many questions, one trial each: of the stub, or of the simulated subject."""
    path = folder / "items.csv"
    path.write_text("id,prompt,target\n" + "".join(f"i{n},What is {n} + 1?,{n + 1}\n" for n in range(items)))
    model = (
        f'name = "openai/stub"\nbase_url = "{server.server.url}/v1"\nworkers = {WORKERS}\n'
        if server is not None
        else 'name = "mock/subject"\n'
    )
    spec = folder / name
    spec.write_text(f'task = "questions"\nitems = ["items.csv"]\nname = "sweep"\n[[model]]\n{model}')
    return spec


def write_served(folder: Path, items: int, *models: str) -> Path:
    """A run of so many questions, one trial each, of models for --serve; beside it server.py, which serves them."""
    shutil.copy(Path(__file__).with_name("server.py"), folder)
    spec = write_run(folder, None, items)
    tables = "".join(f'[[model]]\nname = "openai/org/{name}"\nworkers = {WORKERS}\nretries = 0\n' for name in models)
    spec.write_text(spec.read_text().partition("[[model]]")[0] + tables)
    return spec


def environment(**more: str) -> dict[str, str]:
    """The environment of a command that runs this source."""
    return {**os.environ, "PYTHONPATH": str(SOURCE), **more}


def call(folder: Path, *words: object, code: int = 0, env: dict[str, str] | None = None) -> str:
    """What the command prints; its exit code must be `code`."""
    done = subprocess.run(
        [*CALLED, *map(str, words)], cwd=folder, env=env or environment(), capture_output=True, text=True, check=False
    )
    assert done.returncode == code, f"{words}: {done.returncode}\n{done.stdout}\n{done.stderr}"
    return done.stdout + done.stderr


@contextmanager
def started(folder: Path, *words: object) -> Iterator[subprocess.Popen[str]]:
    """The command as a process, which is over when the block is."""
    process = subprocess.Popen(
        [*COMMAND, *map(str, words)],
        cwd=folder,
        env=environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def until(true: Callable[[], object], why: Callable[[], str] = str) -> None:
    """Wait until something is so: for as long as a loaded machine may take."""
    end = time.monotonic() + 300
    while not true():
        assert time.monotonic() < end, why()
        time.sleep(0.1)


def processes(*words: str) -> list[int]:
    """The processes whose command line has all these words."""
    numbers = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            line = path.read_bytes().decode(errors="replace").split("\0")
        except OSError:
            continue
        if all(word in line for word in words):
            numbers.append(int(path.parent.name))
    return numbers


def digest_of_one_process(folder: Path, server: Stub | None, items: int) -> str:
    """The content digest of the same run, asked by one process without shards."""
    alone = folder / "alone"
    alone.mkdir()
    call(alone, "eval", write_run(alone, server, items), "--no-score", "--quiet")
    return content_digest(alone / "runs" / "sweep")

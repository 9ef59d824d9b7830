"""Chat templates are programs that come with a model: each runs in a process of its own, within limits.

The process reads one JSON line for each text and writes one. The system itself ends it when a text takes more than
SECONDS of processor time, so neither a loop in C nor the death of whoever asked keeps it alive; and gives it no more
than MEMORY above what it began with.
"""

from __future__ import annotations

import json
import math
import os
import signal
import subprocess
import sys
import time
import weakref
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from perpend.canon import JSON, clean_text
from perpend.errors import ModelError
from perpend.models.base import UnreadableRequestError, spoken
from perpend.types import Message

SECONDS = 2
MEMORY = 300 << 20
LONGEST = 1 << 24
"""The most characters of one rendered text; a million tokens are a quarter of it."""
RAISED = (ArithmeticError, AssertionError, AttributeError, LookupError, OSError, RuntimeError, TypeError, ValueError)
"""What somebody's program may raise; anything else ends the process, which is an error of the model."""
_BATCH = 1 << 20  # characters of prompts in one exchange: far below the limit of memory
_REASON = 500
_OVER_MEMORY, _TOO_LONG = 17, 18  # exits that say why
_ADVICE = 'use a model whose template you trust, or set endpoint = "completions", which uses none'


class RefusedError(ValueError):
    """The template itself refuses the messages; or, `is_damage`, it cannot be parsed."""

    def __init__(self, reason: str, *, is_damage: bool = False) -> None:
        super().__init__(reason)
        self.is_damage = is_damage


class TemplateProcess:
    """One chat template. `child` is the module whose `main` renders it; `name` is the model's, for errors."""

    def __init__(self, child: str, name: str) -> None:
        self._name = name
        self._replies: dict[tuple[Message, ...], Mapping[str, JSON]] = {}
        # The folders that this process imports from; -P keeps the current one out, where a file may be called json.py.
        paths = os.pathsep.join(path for path in sys.path if path)
        self._process = subprocess.Popen(  # noqa: S603 - this Python with our own module
            [sys.executable, "-P", "-c", f"from {child} import main; main()"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            # One arena: each further one reserves addresses, which are what the limit counts. No debugger on a crash.
            env={**os.environ, "PYTHONPATH": paths, "MALLOC_ARENA_MAX": "1", "GGML_NO_BACKTRACE": "1"},
            process_group=0,  # Ctrl-C is for the run
        )
        weakref.finalize(self, _end, self._process)

    def prepare(self, setup: Mapping[str, JSON]) -> None:
        """Hand the template over. One that cannot be read is a ModelError."""
        (reply,) = self._exchange(setup)
        if "text" not in reply:
            raise ModelError(f"{self._name}: its chat template cannot be used: {reply.get('refused')}; {_ADVICE}")

    def render_ahead(self, prompts: Iterable[Sequence[Message]]) -> None:
        """Render many prompts in a few exchanges, for `render` to have; what was rendered ahead before is dropped."""
        self._replies = {}
        batch: list[tuple[Message, ...]] = []
        size = 0
        for prompt in dict.fromkeys(map(tuple, prompts)):
            length = sum(len(message.content) for message in prompt)
            if batch and size + length > _BATCH:
                self._render(batch)
                batch, size = [], 0
            batch.append(prompt)
            size += length
        self._render(batch)

    def render(self, messages: Sequence[Message]) -> str:
        """The text of these messages. ModelError beyond the limits; UnreadableRequestError where it refuses them."""
        prompt = tuple(messages)
        if prompt not in self._replies:
            self.render_ahead([prompt])
        text = self._replies[prompt].get("text")
        if not isinstance(text, str):
            refusal = self._replies[prompt].get("refused")
            raise UnreadableRequestError(f"the chat template refuses these messages: {refusal}")
        if clean_text(text) != text:
            raise UnreadableRequestError("the chat template writes half a surrogate pair, which is no character")
        return text

    def _render(self, batch: Sequence[tuple[Message, ...]]) -> None:
        replies = self._exchange({"prompts": [spoken(prompt) for prompt in batch]})
        self._replies.update(zip(batch, replies, strict=True))

    def _exchange(self, body: Mapping[str, JSON]) -> list[Mapping[str, JSON]]:
        process, line = self._process, b""
        assert process.stdin is not None
        assert process.stdout is not None
        with suppress(OSError):  # it is dead; that is found below
            process.stdin.write(json.dumps(body).encode() + b"\n")
            process.stdin.flush()
            line = process.stdout.readline()
        if not line.endswith(b"\n"):
            process.kill()
            process.wait()
            raise ModelError(f"{self._name}: its chat template {_cause(process.returncode)}; {_ADVICE}")
        replies: list[Mapping[str, JSON]] = json.loads(line)
        return replies


def _end(process: subprocess.Popen[bytes]) -> None:
    process.kill()
    process.wait()
    for pipe in (process.stdin, process.stdout):
        if pipe is not None:
            with suppress(OSError):
                pipe.close()


def _cause(code: int) -> str:
    if -code == getattr(signal, "SIGXCPU", 0):
        return f"took more than {SECONDS} s of processor time for one text"
    if code == _OVER_MEMORY:
        return f"took more than {MEMORY >> 20} MB for one text"
    if code == _TOO_LONG:
        return f"wrote a text of more than {LONGEST >> 20} MB"
    return f"could not be run: its process ended by {f'signal {-code}' if code < 0 else f'exit {code}'}"


def serve(prepare: Callable[[Mapping[str, JSON]], Callable[[list[JSON]], str]]) -> None:
    """The other side: `prepare` takes the first line, and what it gives renders the prompts of every further one."""
    answers = os.fdopen(os.dup(1), "wb", buffering=0)
    os.dup2(2, 1)  # what an engine prints is not among the answers
    render: Callable[[list[JSON]], str] | None = None
    for line in sys.stdin.buffer:
        try:
            body = json.loads(line)
            if render is None:
                _limit_time()
                render, replies = prepare(body), [{"text": ""}]
            else:
                replies = [_reply(render, messages) for messages in body["prompts"]]
            text = json.dumps(replies)
        except MemoryError:
            os._exit(_OVER_MEMORY)
        except RefusedError as error:
            text = json.dumps([{"refused": str(error)[:_REASON]}])
        answers.write(text.encode() + b"\n")


def _reply(render: Callable[[list[JSON]], str], messages: list[JSON]) -> dict[str, str]:
    _limit_time()
    try:
        text = render(messages)
    except RefusedError as error:
        return {"refused": str(error)[:_REASON]}
    except RAISED as error:
        return {"refused": f"{type(error).__name__}: {error}"[:_REASON]}
    if len(text) > LONGEST:
        os._exit(_TOO_LONG)
    return {"text": text}


def _limit_time() -> None:
    """SIGXCPU after SECONDS more of processor time; it ends a process whatever its threads are doing."""
    with suppress(ImportError):  # Windows has no such limits
        import resource

        most = resource.getrlimit(resource.RLIMIT_CPU)[1]
        soft = math.ceil(time.process_time()) + SECONDS
        resource.setrlimit(resource.RLIMIT_CPU, (soft if most == resource.RLIM_INFINITY else min(soft, most), most))


def limit_memory() -> None:
    """No more than MEMORY above what is there now, and no core file. Called when all that is needed is imported."""
    with suppress(ImportError):
        import resource

        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        table = Path("/proc/self/statm")
        if table.exists():  # elsewhere than on Linux this limit is not kept, so only time ends a template
            most = int(table.read_text(encoding="ascii").split()[0]) * resource.getpagesize() + MEMORY
            resource.setrlimit(resource.RLIMIT_AS, (most, most))


def close_doors() -> None:
    """No file, no socket, no process can be opened from here on, and nothing be written to one."""
    with suppress(ImportError):
        import resource

        time.localtime()  # reads the time zone, which is a file
        taken = os.dup(0)
        os.close(taken)
        resource.setrlimit(resource.RLIMIT_NOFILE, (taken, taken))
        for kind in (resource.RLIMIT_FSIZE, resource.RLIMIT_NPROC):
            resource.setrlimit(kind, (0, 0))

"""Loopback servers that tests start: one thread, one port that the system chooses, replies that a test scripts.

A test gives a function from what was received to a `Reply`, well-behaved or not. The shapes of the three dialects are
written out here by hand, after captures of real servers.
"""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

Behaviour: TypeAlias = Literal["whole", "cut", "reset", "silent", "drip", "chunked", "raw", "flood"]
Twice: TypeAlias = Literal["", "at once", "soon", "amid the next", "after the next"]


@dataclass(frozen=True, slots=True)
class Received:
    """One HTTP request: the how manyth (from 0), its path, headers in lower case, and its body as JSON."""

    number: int
    method: str
    path: str
    headers: Mapping[str, str]
    body: object

    @property
    def question(self) -> str:
        """The last message, or the prompt."""
        assert isinstance(self.body, dict)
        messages = self.body.get("messages")
        if isinstance(messages, list):
            return str(messages[-1]["content"])
        return str(self.body.get("prompt"))


@dataclass(frozen=True, slots=True)
class Reply:
    """What the server sends. `raw` sends `body` as it is, head and all; `cut` promises more bytes than it sends.

    `flood` sends `body` as it is and then `more` for ever, every `latency_s` seconds. `twice` sends a whole reply once
    more: in the same write, 5 ms later, or when the head or all of the next request on the connection is read.
    """

    body: bytes = b""
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=lambda: {"Content-Type": "application/json"})
    does: Behaviour = "whole"
    latency_s: float = 0.0
    more: bytes = b""
    twice: Twice = ""


Script: TypeAlias = Callable[[Received], Reply]


class Server:
    """A running server: `url`, and everything that it `received`."""

    def __init__(self, script: Script, port: int = 0) -> None:
        self.script = script
        self.port = port
        self.received: list[Received] = []
        self.in_flight = 0
        self.most_in_flight = 0
        self._writers: set[asyncio.StreamWriter] = set()
        self._ready = threading.Event()
        self._stop = asyncio.Event()
        self._thread = threading.Thread(target=lambda: asyncio.run(self._serve()), daemon=True)
        self._thread.start()
        self._ready.wait()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def open_connections(self) -> int:
        return len(self._writers)

    def stop(self) -> None:
        """Close the port and every connection, as a server that dies does. A second call does nothing."""
        if self._thread.is_alive():
            with suppress(RuntimeError):
                self._loop.call_soon_threadsafe(self._stop.set)
            self._thread.join()

    async def _serve(self) -> None:
        self._loop = asyncio.get_running_loop()
        server = await asyncio.start_server(self._connection, "127.0.0.1", self.port, limit=1 << 24)
        self.port = server.sockets[0].getsockname()[1]
        self._ready.set()
        await self._stop.wait()
        server.close()
        for writer in list(self._writers):
            writer.transport.abort()
        await server.wait_closed()
        # One more turn for the aborted connections to end.
        await asyncio.sleep(0.01)

    async def _connection(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._writers.add(writer)
        reply = Reply()
        try:
            while not self._stop.is_set():
                head = await reader.readuntil(b"\r\n\r\n")
                if reply.twice == "amid the next":
                    await _send(reply, reader, writer)
                received = await self._read(head.decode("latin-1"), reader)
                if reply.twice == "after the next":
                    await _send(reply, reader, writer)
                self.received.append(received)
                self.in_flight += 1
                self.most_in_flight = max(self.most_in_flight, self.in_flight)
                reply = self.script(received)
                await asyncio.sleep(reply.latency_s)
                self.in_flight -= 1
                if not await _send(reply, reader, writer):
                    return
                if reply.twice == "soon":
                    await asyncio.sleep(0.005)
                    await _send(reply, reader, writer)
        except (asyncio.IncompleteReadError, ConnectionError):
            return
        finally:
            self._writers.discard(writer)
            writer.transport.abort()

    async def _read(self, head: str, reader: asyncio.StreamReader) -> Received:
        first, *lines = head.strip().split("\r\n")
        headers = {key.lower(): value.strip() for key, _, value in (line.partition(":") for line in lines)}
        body = await reader.readexactly(int(headers.get("content-length", "0")))
        method, path, _ = first.split(" ")
        return Received(len(self.received), method, path, headers, json.loads(body) if body else None)


@contextmanager
def serve(script: Script) -> Iterator[Server]:
    """A server for the length of a test."""
    server = Server(script)
    try:
        yield server
    finally:
        server.stop()


async def _send(reply: Reply, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
    """Send a reply; whether the connection stays open."""
    if reply.does == "silent":
        # Until the client hangs up or the server is stopped.
        await reader.read()
    if reply.does in {"silent", "reset"}:
        return False
    if reply.does == "raw":
        writer.write(reply.body)
        await writer.drain()
        return False
    if reply.does == "flood":
        writer.write(reply.body)
        while not writer.is_closing():
            writer.write(reply.more)
            await writer.drain()
            await asyncio.sleep(reply.latency_s)
        return False
    promised = len(reply.body) + (100 if reply.does == "cut" else 0)
    length = "Transfer-Encoding: chunked" if reply.does == "chunked" else f"Content-Length: {promised}"
    head = [f"HTTP/1.1 {reply.status} Said", length, *(f"{key}: {value}" for key, value in reply.headers.items())]
    sent = ("\r\n".join(head) + "\r\n\r\n").encode("latin-1")
    if reply.does == "drip":
        writer.write(sent)
        for byte in reply.body:
            writer.write(bytes([byte]))
            await writer.drain()
            await asyncio.sleep(0.02)
    elif reply.does == "chunked":
        chunks = [f"{len(line):x}\r\n".encode() + line + b"\r\n" for line in reply.body.splitlines(keepends=True)]
        writer.write((sent + b"".join(chunks) + b"0\r\n\r\n") * (2 if reply.twice == "at once" else 1))
    else:
        writer.write((sent + reply.body) * (2 if reply.twice == "at once" else 1))
    await writer.drain()
    return reply.does != "cut"


def openai_chat(text: str | None, finish: str = "stop", **message: object) -> Reply:
    """A chat completion as vLLM and OpenAI shape it."""
    body = {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 1700000000,
        "model": "stub",
        "choices": [
            {
                "index": 0,
                "message": {"role": "assistant", "content": text, **message},
                "logprobs": None,
                "finish_reason": finish,
            }
        ],
        "usage": {"prompt_tokens": 7, "completion_tokens": 3, "total_tokens": 10},
    }
    return Reply(json.dumps(body).encode())


def openai_error(status: int, message: str, code: str | None = None, **headers: str) -> Reply:
    """An error as OpenAI shapes it."""
    body = {"error": {"message": message, "type": "invalid_request_error", "param": None, "code": code}}
    return Reply(json.dumps(body).encode(), status, {"Content-Type": "application/json", **headers})


def anthropic_message(text: str, stop_reason: str = "end_turn") -> Reply:
    """A message as Anthropic shapes it, with a thinking block before the text."""
    body = {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "stub",
        "content": [{"type": "thinking", "thinking": "hm", "signature": ""}, {"type": "text", "text": text}],
        "stop_reason": stop_reason,
        "stop_sequence": None,
        "usage": {"input_tokens": 7, "output_tokens": 3},
    }
    return Reply(json.dumps(body).encode())


OLLAMA_MODEL = "tiny:135m"
OLLAMA_DIGEST = "5f3a" * 16


def ollama(received: Received) -> Reply:
    """An Ollama server with one model that answers TRUE; the shapes are those of version 0.5.4."""
    if received.path == "/api/version":
        return Reply(b'{"version":"0.5.4"}', headers={"Content-Type": "application/json; charset=utf-8"})
    if received.path == "/api/tags":
        details = {"parent_model": "", "format": "gguf", "family": "llama", "families": ["llama"]}
        details |= {"parameter_size": "134.52M", "quantization_level": "Q8_0"}
        model = {"name": OLLAMA_MODEL, "model": OLLAMA_MODEL, "modified_at": "2025-01-01T00:00:00.0Z", "size": 144}
        return Reply(json.dumps({"models": [{**model, "digest": OLLAMA_DIGEST, "details": details}]}).encode())
    assert isinstance(received.body, dict)
    if received.body["model"] != OLLAMA_MODEL:
        return Reply(json.dumps({"error": f"model '{received.body['model']}' not found"}).encode(), 404)
    pieces = ["TR", "UE"] if received.body.get("stream", True) else ["TRUE"]
    return ollama_stream(pieces, is_chat=received.path == "/api/chat", is_stream=received.body.get("stream", True))


def ollama_stream(pieces: list[str], *, is_chat: bool = True, is_stream: bool = True, reason: str = "stop") -> Reply:
    """The pieces of an answer, one object a line when it streams and one object in all when it does not."""
    common = {"model": OLLAMA_MODEL, "created_at": "2025-01-01T00:00:00.000000001Z"}
    end = {"done_reason": reason, "done": True, "total_duration": 68752573, "load_duration": 6183305}
    end |= {"prompt_eval_count": 10, "prompt_eval_duration": 15000000, "eval_count": 4, "eval_duration": 46000000}

    def piece(text: str, rest: dict[str, object]) -> bytes:
        said = {"message": {"role": "assistant", "content": text}} if is_chat else {"response": text}
        return json.dumps({**common, **said, **rest}, separators=(",", ":")).encode() + b"\n"

    if not is_stream:
        body = piece("".join(pieces), end).strip()
        return Reply(body, headers={"Content-Type": "application/json; charset=utf-8"})
    lines = [piece(text, {"done": False}) for text in pieces] + [piece("", end)]
    return Reply(b"".join(lines), headers={"Content-Type": "application/x-ndjson"}, does="chunked")

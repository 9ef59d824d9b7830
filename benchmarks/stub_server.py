"""A chat-completions server with nothing in it but the protocol: `python benchmarks/stub_server.py LATENCY_MS`.

It prints its port, and later the time of its first request. Its answer is a function of the item, so that a client can
be checked and not only timed.
"""

from __future__ import annotations

import asyncio
import sys
import time

REPLY = (
    '{"id":"chatcmpl-NUMBER","object":"chat.completion","created":1700000000,"model":"stub","choices":[{"index":0,'
    '"message":{"role":"assistant","content":"ANSWER","refusal":null},"logprobs":null,"finish_reason":"stop"}],'
    '"usage":{"prompt_tokens":31,"completion_tokens":1,"total_tokens":32},"service_tier":null,'
    '"system_fingerprint":"fp_0123456789abcdef0123456789abcdef0123456789"}'
)


def prompt(number: int) -> str:
    """The question of an item."""
    return f"Item {number:06d}. Statement: 91 + 24 = 115. Is the statement TRUE or FALSE?"


def answer(number: int) -> str:
    """What the server answers to it: TRUE, which is right, for four items of five."""
    return "FALSE" if number % 5 == 0 else "TRUE"


class Stub(asyncio.Protocol):
    """One connection."""

    latency = 0.0
    first = True

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.WriteTransport)
        self.transport = transport
        self.buffer = b""

    def data_received(self, data: bytes) -> None:
        self.buffer += data
        while (end := self.buffer.find(b"\r\n\r\n")) >= 0:
            head = self.buffer[:end].lower()
            length = int(head.partition(b"content-length:")[2].partition(b"\r\n")[0] or 0)
            if len(self.buffer) < end + 4 + length:
                return
            body, self.buffer = self.buffer[end + 4 : end + 4 + length], self.buffer[end + 4 + length :]
            if Stub.first:
                Stub.first = False
                print(f"first {time.time()}", flush=True)
            self.reply(body)

    def reply(self, body: bytes) -> None:
        number = int(body.partition(b"Item ")[2][:6] or 0)
        said = REPLY.replace("NUMBER", f"{number:012d}").replace("ANSWER", answer(number)).encode()
        head = f"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {len(said)}\r\n\r\n"
        if self.latency:
            asyncio.get_running_loop().call_later(self.latency, self.transport.write, head.encode() + said)
        else:
            self.transport.write(head.encode() + said)


async def serve(latency_ms: float) -> None:
    Stub.latency = latency_ms / 1000
    server = await asyncio.get_running_loop().create_server(Stub, "127.0.0.1", 0)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(serve(float(sys.argv[1])))

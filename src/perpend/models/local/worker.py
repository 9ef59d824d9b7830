"""One worker process: reads requests from standard input, one JSON line each, and writes their answers likewise.

A process of its own, because llama.cpp scales by processes and because what kills it must not kill the run. It ends
when its input does, so it never outlives the run by more than the request that it is working on.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from perpend.canon import dumps
from perpend.errors import ModelError
from perpend.ledger.plan import read_response, read_sampling, response_row
from perpend.models.local.engine import Engine, Setup
from perpend.types import Message, Request, Response

READY, FATAL = b"ready\n", b"fatal "
"""Lines that are no answers: the weights are loaded; and, before the reason as JSON, no request can be answered."""


def request_line(key: int, request: Request) -> bytes:
    """A request as the worker reads it."""
    messages = [[message.role, message.content] for message in request.messages]
    body = [key, messages, dumps(request.sampling.as_json()), list(request.choices)]
    return json.dumps(body).encode() + b"\n"


def read_request(line: bytes) -> tuple[int, Request]:
    """The request of which `request_line` gave this."""
    key, messages, sampling, choices = json.loads(line)
    return key, Request(
        tuple(Message(role, content) for role, content in messages), read_sampling(sampling), tuple(choices)
    )


def response_line(key: int, response: Response) -> bytes:
    """An answer as the run reads it."""
    return json.dumps([key, *response_row(response)]).encode() + b"\n"


def read_response_line(line: bytes) -> tuple[int, Response]:
    """The answer of which `response_line` gave this."""
    key, *row = json.loads(line)
    return key, read_response(row)


def setup_arguments(setup: Setup) -> list[str]:
    """A setup as the worker's command line."""
    whole = "whole" if setup.whole_sentence else "choice"
    return [str(setup.path), setup.endpoint, str(setup.context), str(setup.threads), whole]


def main(arguments: Sequence[str]) -> None:
    """Load the weights, say so, then answer until the input ends."""
    path, endpoint, context, threads, whole = arguments
    # What the engine prints goes where its errors go, so that it is never among the answers.
    answers = os.fdopen(os.dup(1), "wb", buffering=0)
    os.dup2(2, 1)
    is_chat = endpoint == "chat"
    setup = Setup(Path(path), "chat" if is_chat else "completions", int(context), int(threads), whole == "whole")
    try:
        engine = Engine(setup)
        answers.write(READY)
        for line in sys.stdin.buffer:
            key, request = read_request(line)
            answers.write(response_line(key, engine.answer(request)))
    except ModelError as error:
        answers.write(FATAL + json.dumps(str(error)).encode() + b"\n")

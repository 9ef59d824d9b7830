"""A server of OpenAI's protocol for --serve, as a program: server.py PORT MODEL FLAG… Its answer echoes the question.

What it does beside is for a test to read and to say, by files in its own folder: it notes in `started` each start and
in `asked` each question; while `gate` exists it answers nothing; `dumb-K` keeps it from listening, and `deadly-K` ends
it at the third question, in task K of an array (0 without one). --broken ends it at once.
"""

from __future__ import annotations

import http.server
import json
import os
import sys
import time
from itertools import count
from pathlib import Path

PORT, MODEL, *FLAGS = sys.argv[1:]
HERE = Path(__file__).absolute().parent
TASK = os.environ.get("SLURM_ARRAY_TASK_ID", "0")
QUESTIONS = count(1)


def note(name: str, text: str) -> None:
    """Add a line, whole, whoever else does."""
    file = os.open(HERE / name, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    os.write(file, f"{text}\n".encode())
    os.close(file)


class Handler(http.server.BaseHTTPRequestHandler):
    """Three addresses to look at, and one to ask."""

    protocol_version = "HTTP/1.1"
    wbufsize = 1 << 16  # head and body leave together: else each answer waits 40 ms for the client's word

    def log_message(self, *_: object) -> None:
        """Say nothing."""

    def send(self, body: object) -> None:
        """Send JSON."""
        data = json.dumps(body).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def do_GET(self) -> None:
        """What servers say of themselves."""
        bodies = {"/health": {}, "/version": {"version": "9.1"}, "/v1/models": {"data": [{"id": MODEL}]}}
        if self.path in bodies:
            self.send(bodies[self.path])
        else:
            self.send_error(404)

    def do_POST(self) -> None:
        """Answer, when the gate is open."""
        question = json.loads(self.rfile.read(int(self.headers["Content-Length"])))["messages"][-1]["content"]
        if next(QUESTIONS) >= 3 and (HERE / f"deadly-{TASK}").exists():
            sys.stderr.write("out of memory\n")
            sys.stderr.flush()
            os._exit(3)
        note("asked", question)
        while (HERE / "gate").exists():
            time.sleep(0.05)
        message = {"role": "assistant", "content": f"{MODEL}: {question}"}
        self.send({"choices": [{"index": 0, "message": message, "finish_reason": "stop"}], "usage": {}})


class Server(http.server.ThreadingHTTPServer):
    """A thread for each connection, none of which keeps it alive."""

    daemon_threads = True


if __name__ == "__main__":
    if "--broken" in FLAGS:
        sys.exit(f"no such weights: {MODEL}")
    note("started", f"{MODEL} {PORT} {os.getpid()}")
    while (HERE / f"dumb-{TASK}").exists():
        time.sleep(0.05)
    Server(("127.0.0.1", int(PORT)), Handler).serve_forever()

"""A stand-in for the engine's package that fails on demand: worker processes import it in place of the real one.

What it does is written in the last message; everything else it answers with 'said: ' and that message.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from types import SimpleNamespace
from typing import Any

llama_flash_attn_type = SimpleNamespace(LLAMA_FLASH_ATTN_TYPE_ENABLED=1)


class CommonParams(SimpleNamespace):
    def __init__(self) -> None:
        super().__init__(model=SimpleNamespace(), cpuparams=SimpleNamespace(), cpuparams_batch=SimpleNamespace())


class _Handler(BaseHTTPRequestHandler):
    """The properties of a model, and a template that gives the messages' contents, one after the other."""

    def _send(self, body: dict[str, Any]) -> None:
        self.send_response(200)
        self.end_headers()
        self.wfile.write(json.dumps(body).encode())

    def do_GET(self) -> None:
        self._send({"bos_token": "<s>", "eos_token": "</s>"})

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self._send({"prompt": "".join(message["content"] for message in body["messages"])})

    def log_message(self, *_: object) -> None:
        pass


class Server:
    def __init__(self, params: CommonParams) -> None:
        web = HTTPServer(("127.0.0.1", 0), _Handler)
        threading.Thread(target=web.serve_forever, daemon=True).start()
        self.listening_address = f"http://127.0.0.1:{web.server_address[1]}"
        name = Path(params.model.path).name
        if name.startswith("unloadable"):
            print("0.00.017 E gguf_init: unknown architecture 'zorg'", file=sys.stderr)
            raise RuntimeError("Failed to init server")
        if name.startswith("deadly"):
            os.kill(os.getpid(), signal.SIGKILL)

    def handle_chat_completions(self, body: dict[str, Any]) -> dict[str, Any]:
        asked = body["messages"][-1]["content"]
        os.write(1, b"noise of the engine\n")
        if asked == "die":
            os.kill(os.getpid(), signal.SIGKILL)
        if asked.startswith("die once ") and not Path(marker := asked.removeprefix("die once ")).exists():
            Path(marker).touch()
            os.kill(os.getpid(), signal.SIGKILL)
        if asked == "hang":
            time.sleep(600)
        if asked == "refuse":
            return {"error": {"code": 400, "message": "exceeds the available context size"}}
        said = {"echo": json.dumps(body), "who": str(os.getpid())}.get(asked, f"said: {asked}")
        choice = {"message": {"role": "assistant", "content": said}, "finish_reason": "stop"}
        return {"choices": [choice], "usage": {"prompt_tokens": 5, "completion_tokens": 2}}

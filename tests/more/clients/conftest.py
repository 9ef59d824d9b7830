"""The embedded model behind a server with Ollama's shapes, as in tests/real."""

from __future__ import annotations

from tests.real.conftest import engine, weights
from tests.real.test_servers import ollama_server

__all__ = ["engine", "ollama_server", "weights"]

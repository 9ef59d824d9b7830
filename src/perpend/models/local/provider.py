"""The `local` provider: any GGUF file, answered by llama.cpp on this machine's processor."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from perpend.errors import ModelError, SpecError
from perpend.models.local.crew import Crew
from perpend.models.local.engine import Endpoint, Setup
from perpend.models.local.weights import EMBEDDED, Weights, find_weights, read_weights
from perpend.spec.model import Answers, Budget
from perpend.types import Request

_ENDPOINTS = ("chat", "completions")


def model(
    name: str,
    *,
    endpoint: Endpoint = "chat",
    workers: int | None = None,
    threads: int = 1,
    num_ctx: int = 2048,
    whole_sentence: bool = False,
) -> Local:
    """'smollm2', the embedded model, or the path of a GGUF file.

    `workers` processes answer, each with `threads` threads; None is one for each core. Processes scale, threads do
    not. `endpoint` 'completions' feeds the messages' contents without the chat template; there a choice is scored in
    the message's blank '___', or after its end, and `whole_sentence` scores what follows the blank too. `num_ctx` is
    the context in tokens; a request that needs more is an error of that trial.
    """
    if endpoint not in _ENDPOINTS:
        raise SpecError(f"endpoint must be 'chat' or 'completions', not {endpoint!r}")
    for option, value in (("workers", 1 if workers is None else workers), ("threads", threads), ("num_ctx", num_ctx)):
        if value < 1:
            raise SpecError(f"local/{name}: {option} must be 1 or more, not {value}")
    try:
        engine = f"xllamacpp {version('xllamacpp')}"
    except PackageNotFoundError:
        raise ModelError(f"local/{name}: the engine is not installed; run: pip install 'perpend[local]'") from None
    weights = read_weights(find_weights(name))
    if endpoint == "chat" and weights.template is None:
        raise ModelError(f'{weights.path.name} brings no chat template; set endpoint = "completions"')
    setup = Setup(weights.path, endpoint, num_ctx, threads, whole_sentence)
    label = name if name in EMBEDDED else Path(name).name
    return Local(label, engine, weights, setup, workers or max(1, _cores() // threads))


@dataclass(frozen=True, slots=True)
class Local:
    """Answers with `workers` processes, started by the first request and ended with the last answer."""

    label: str
    engine: str
    weights: Weights
    setup: Setup
    workers: int

    @property
    def name(self) -> str:
        """'local/smollm2', or 'local/' and the file's name."""
        return f"local/{self.label}"

    def fingerprint(self) -> Mapping[str, str]:
        """The engine's version, the file's SHA-256, and the digest of the template that renders every prompt."""
        facts = {
            "provider": "local",
            "engine": self.engine,
            "file_sha256": self.weights.sha256,
            "endpoint": self.setup.endpoint,
        }
        if self.setup.endpoint == "chat":
            return {**facts, "template_sha256": str(self.weights.template_sha256)}
        return {**facts, "scored": "whole sentence" if self.setup.whole_sentence else "choice after left context"}

    def answer(self, requests: Iterator[tuple[int, Request]], budget: Budget) -> Iterator[Answers]:
        """Batches of answers, in any order."""
        return Crew(self.setup, self.workers).answer(requests, budget)


def _cores() -> int:
    """The cores that this process may use: in a container or under taskset fewer than the machine has."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1

"""replay: answers from a recorded ledger (a run directory) or from a predictions file, with no model.

'replay/runs/my-run' gives each request the answer that the run holds for exactly that request. A JSONL file has
one object per line: `request_sha256` or `prompt` (the last user message), and `text` or `error`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from perpend.canon import clean_text, digest, digest_file, json_lines, text_or_none
from perpend.errors import DataError, ModelError
from perpend.ledger.store import Store
from perpend.models.base import in_order
from perpend.spec.model import Answers, Budget
from perpend.types import Request, Response

_BATCH = 256


@dataclass(frozen=True, slots=True)
class Replay:
    """Recorded answers, by the request's digest or by the prompt. What was not recorded is an error, not a guess."""

    label: str
    by_request: Mapping[str, Response]
    by_prompt: Mapping[str, Response]
    source_sha256: str

    @property
    def name(self) -> str:
        """'replay/' and the name of what is replayed."""
        return f"replay/{self.label}"

    def fingerprint(self) -> Mapping[str, str]:
        """The digest of the recorded answers."""
        return {"provider": "replay", "source_sha256": self.source_sha256}

    def answer(self, requests: Iterator[tuple[int, Request]], budget: Budget) -> Iterator[Answers]:
        """The recorded answer of each request."""
        return in_order(requests, budget, self._recorded, size=_BATCH, is_free=True)

    def _recorded(self, request: Request) -> Response:
        response = self.by_request.get(request.digest) or self.by_prompt.get(request.messages[-1].content)
        return response or Response(error="replay: no recorded answer to this request")


def model(name: str, *, label: str | None = None) -> Replay:
    """What `name` (a run directory or a JSONL file) recorded. A run of several models needs the `label` of one."""
    path = Path(name)
    if path.is_dir():
        return _from_run(path, label)
    if path.is_file():
        return _from_file(path)
    raise ModelError(f"replay/{name}: neither a run directory nor a file of predictions")


def _from_run(path: Path, label: str | None) -> Replay:
    with Store.open(path / "run.db") as store:
        _, labels, _ = store.plan_names()
        if label is None and len(labels) > 1:
            raise ModelError(f"replay/{path}: {len(labels)} models answered there; say which: label = {labels[0]!r}")
        if label is not None and label not in labels:
            raise ModelError(f"replay/{path}: no model is labelled {label!r} there; labels: {', '.join(labels)}")
        recorded = dict(store.recorded(label or labels[0]))
    return Replay(path.name, recorded, {}, digest({key: [r.text, r.error] for key, r in recorded.items()}))


def _from_file(path: Path) -> Replay:
    by_request: dict[str, Response] = {}
    by_prompt: dict[str, Response] = {}
    for where, row in json_lines(path):
        text, error = row.get("text"), row.get("error")
        if (text is None) == (error is None):
            raise DataError(f"{where}: a prediction has exactly one of 'text' and 'error'")
        response = Response(
            text=None if text is None else clean_text(str(text)),
            error=None if error is None else str(error),
            finish=text_or_none(row, "finish", where),
        )
        request, prompt = row.get("request_sha256"), row.get("prompt")
        if isinstance(request, str):
            by_request[request] = response
        elif isinstance(prompt, str):
            by_prompt[prompt] = response
        else:
            raise DataError(f"{where}: say which request this answers: 'request_sha256' or 'prompt'")
    return Replay(path.name, by_request, by_prompt, digest_file(path))

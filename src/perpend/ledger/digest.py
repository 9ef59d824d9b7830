"""The content digest of a run: what was asked and what was answered, without names and clocks.

It does not depend on the order in which answers were written, nor on whether one process asked or many shards did.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator
from functools import lru_cache
from itertools import islice
from pathlib import Path

from perpend.canon import digest, dumps, quoted
from perpend.errors import StoreError
from perpend.ledger.manifest import Manifest, read_manifest
from perpend.ledger.snapshot import Row, snapshot

_LINES = 1000


def content_digest(directory: Path) -> str:
    """SHA-256, in hex, over the binding part of a run's manifest and every response, in the order of the plan.

    The first line is the SHA-256 of the canonical JSON of what binds a run (`Manifest.binding`); then comes a line of
    canonical JSON for each response, ordered by trial, turn and attempt: `trial`, `turn`, `attempt`, `request_sha256`
    and, where there is one, `text`, `error`, `logprobs`, `finish`, `usage`. Left out are the name of the run, when it
    was begun and with which code, how long an answer took and when it was written.
    """
    with snapshot(directory / "run.db") as ledger:
        return digest_of(read_manifest(directory), ledger.responses())


def digest_of(manifest: Manifest, responses: Iterable[Row]) -> str:
    """The content digest of a manifest and rows as `Snapshot.responses` gives them."""
    sha256 = hashlib.sha256(digest(manifest.binding()).encode() + b"\n")
    lines: Iterator[str] = map(_line, responses)
    try:
        while chunk := list(islice(lines, _LINES)):
            sha256.update(("\n".join(chunk) + "\n").encode())
    except (ValueError, RecursionError) as error:  # a column that should hold JSON, or text that is no UTF-8
        raise StoreError(f"damaged ledger: a response cannot be read: {error}; 'perpend audit' says which") from None
    return sha256.hexdigest()


def _line(row: Row) -> str:
    """Canonical JSON by hand: of responses there are many, and a general encoder takes three times as long."""
    trial, turn, attempt, request, text, error, logprobs, finish, usage = row[:9]
    return (
        f'{{"attempt":{attempt}'
        + ("" if error is None else f',"error":{quoted(str(error))}')
        + ("" if finish is None else f',"finish":{quoted(str(finish))}')
        + ("" if logprobs is None else f',"logprobs":{dumps(json.loads(str(logprobs)))}')
        + f',"request_sha256":"{request}"'
        + ("" if text is None else f',"text":{quoted(str(text))}')
        + f',"trial":{trial},"turn":{turn}'
        + ("}" if usage is None else f',"usage":{_canonical(str(usage))}}}')
    )


@lru_cache(4096)
def _canonical(text: str) -> str:
    return dumps(json.loads(text))

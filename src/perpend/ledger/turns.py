"""What one trial was asked and answered, turn by turn."""

from __future__ import annotations

from perpend.ledger.plan import read_response, whole
from perpend.ledger.store import Store
from perpend.types import Response


def turns(store: Store, trial: int) -> list[tuple[int, str, Response]]:
    """(turn, SHA-256 of the request, response) of every turn that a trial was asked.

    Of a turn's attempts that is the first that was answered, or the last failure.
    """
    rows = store.query(
        "SELECT turn, lower(hex(request_sha256)), text, error, logprobs, finish, usage, ms FROM response"
        " WHERE trial = ? ORDER BY turn, text IS NULL, CASE WHEN text IS NULL THEN -attempt ELSE attempt END",
        trial,
    )
    first: dict[int, tuple[int, str, Response]] = {}
    for turn, request, *response in rows:
        if whole(turn) not in first:
            first[whole(turn)] = (whole(turn), str(request), read_response(response))
    return list(first.values())

"""Everything that some trials were asked and answered, in one statement: every turn, every attempt."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from perpend.canon import dumps
from perpend.ledger.plan import read_response, whole
from perpend.ledger.store import Store
from perpend.types import Response

_RESPONSES = (
    "SELECT r.trial, r.turn, r.attempt, lower(hex(r.request_sha256)), r.text, r.error, r.logprobs, r.finish, r.usage,"
    " r.ms FROM json_each(?1) wanted CROSS JOIN response r ON r.trial = wanted.value"
    " ORDER BY r.trial, r.turn, r.attempt"
)


@dataclass(frozen=True, slots=True)
class StoredAttempt:
    """One response as it is stored; `request` is the SHA-256 of what was asked."""

    turn: int
    attempt: int
    request: str
    response: Response


def attempts_of(store: Store, numbers: Sequence[int]) -> dict[int, list[StoredAttempt]]:
    """Every response of some trials, by turn and attempt; a trial that was not asked is not there."""
    attempts: dict[int, list[StoredAttempt]] = {}
    for trial, turn, attempt, request, *response in store.query(_RESPONSES, dumps(list(numbers))):
        one = StoredAttempt(whole(turn), whole(attempt), str(request), read_response(response))
        attempts.setdefault(whole(trial), []).append(one)
    return attempts


def turns(attempts: Sequence[StoredAttempt]) -> Iterator[tuple[int, str, Response]]:
    """(turn, SHA-256 of the request, response) of every turn that a trial was asked.

    Of a turn's attempts that is the first that was answered, or the last failure.
    """
    for turn in dict.fromkeys(one.turn for one in attempts):
        own = [one for one in attempts if one.turn == turn]
        best = next((one for one in own if one.response.text is not None), own[-1])
        yield turn, best.request, best.response


def newest_response(store: Store) -> int:
    """A number that grows with every response."""
    return whole(store.query("SELECT coalesce(max(rowid), 0) FROM response")[0][0])


def asked_since(store: Store, newest: int) -> list[int]:
    """The trials that have a response newer than that number."""
    rows = store.query("SELECT DISTINCT trial FROM response WHERE rowid > ? ORDER BY trial", newest)
    return [whole(trial) for (trial,) in rows]


def stored_scores(store: Store) -> list[tuple[str, int]]:
    """How many scores of each 'name@version' there are."""
    rows = store.query(
        "SELECT r.name || '@' || r.version, (SELECT count(*) FROM score s WHERE s.scorer = r.scorer) FROM scorer r"
        " ORDER BY r.name, r.version"
    )
    return [(str(name), whole(count)) for name, count in rows]

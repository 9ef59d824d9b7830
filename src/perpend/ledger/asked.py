"""Everything that some trials were asked and answered, in few statements: every turn, every attempt, every score."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from perpend.canon import dumps
from perpend.ledger.plan import read_response, read_score, whole
from perpend.ledger.store import Store
from perpend.types import Response, Score

_OF = " FROM json_each(?1) wanted CROSS JOIN"
_RESPONSES = (
    "SELECT r.trial, r.turn, r.attempt, lower(hex(r.request_sha256)), r.text, r.error, r.logprobs, r.finish, r.usage,"
    f" r.ms{_OF} response r ON r.trial = wanted.value ORDER BY r.trial, r.turn, r.attempt"
)
_SCORES = (
    f"SELECT s.trial, r.name || '@' || r.version, s.value, s.answer, s.reason, s.span{_OF} scorer r"
    " CROSS JOIN score s ON s.scorer = r.scorer AND s.trial = wanted.value ORDER BY r.name, r.version"
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


def scores_of(store: Store, numbers: Sequence[int]) -> dict[int, dict[str, Score]]:
    """The stored scores of some trials, by 'name@version'."""
    scores: dict[int, dict[str, Score]] = {}
    known: dict[tuple[object, ...], Score] = {}  # a rule says the same of many answers
    for row in store.query(_SCORES, dumps(list(numbers))):
        verdict = row[2:]
        score = known.get(verdict)
        if score is None:
            score = known[verdict] = read_score(*verdict)
        scores.setdefault(whole(row[0]), {})[str(row[1])] = score
    return scores


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

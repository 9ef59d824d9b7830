"""What a scorer could not judge, and why: items without a target, whatever was answered; answers that failed. What
scores say beside their values."""

from __future__ import annotations

from perpend.canon import dumps
from perpend.ledger.plan import whole
from perpend.ledger.store import Store
from perpend.types import UNFIT

_UNSCORED = """
SELECT s.reason, coalesce(u.reason, ''), count(*) FROM score s
LEFT JOIN score u ON u.trial = s.trial AND u.value = 1.0
    AND u.scorer = (SELECT scorer FROM scorer WHERE name || '@' || version = ?)
WHERE s.value IS NULL AND s.scorer = (SELECT scorer FROM scorer WHERE name || '@' || version = ?) AND s.trial <= ?
GROUP BY 1, 2 ORDER BY 3 DESC, 1, 2"""
_SCORED = """
SELECT count(*) FROM score
WHERE scorer = (SELECT scorer FROM scorer WHERE name || '@' || version = ?) AND trial <= ?"""
_SAYING = """
SELECT trial FROM score
WHERE scorer = (SELECT scorer FROM scorer WHERE name || '@' || version = ?) AND answer = ? AND trial <= ?"""


def unfit_items(store: Store, name: str, version: str) -> list[int]:
    """The positions, from 1, of the items of which some score of one scorer version says so in its reason."""
    rows = store.query(
        "SELECT DISTINCT trial.item FROM score JOIN trial ON trial.trial = score.trial, json_each(?) AS beginning "
        "WHERE score.value IS NULL AND score.scorer = (SELECT scorer FROM scorer WHERE name = ? AND version = ?) AND "
        "score.reason GLOB beginning.value || '*' ORDER BY 1",
        dumps(list(UNFIT)),
        name,
        version,
    )
    return [whole(item) for (item,) in rows]


def unscored_reasons(store: Store, scorer: str, beside: str, last: int) -> tuple[list[tuple[str, str, int]], int]:
    """Why trials up to the last have no value: (reason, what `beside` says of the same trial, count); and how many of
    them have a score at all. Scorers are 'name@version'; what `beside` says counts where its value is 1.
    """
    rows = store.query(_UNSCORED, beside, scorer, last)
    counted = store.query(_SCORED, scorer, last)
    return [(str(reason), str(other), whole(count)) for reason, other, count in rows], whole(next(iter(counted))[0])


def trials_saying(store: Store, scorer: str, answer: str, last: int) -> list[int]:
    """The trials up to the last whose score by a scorer, 'name@version', has this answer."""
    return [whole(trial) for (trial,) in store.query(_SAYING, scorer, answer, last)]

"""Items that a scorer could not judge, whatever was answered: `correct` of an item without a target."""

from __future__ import annotations

from perpend.canon import dumps
from perpend.ledger.plan import whole
from perpend.ledger.store import Store
from perpend.types import UNFIT


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

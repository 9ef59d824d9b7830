"""What a run has spent before: as its journal states it, and never less than its ledger holds."""

from __future__ import annotations

from perpend.ledger.journal import acknowledged, noted_spent
from perpend.ledger.plan import whole
from perpend.ledger.store import Store
from perpend.types import Spent

_STORED = (
    "SELECT m.label, count(*), coalesce(sum(json_extract(r.usage, '$.input')), 0),"
    " coalesce(sum(json_extract(r.usage, '$.output')), 0),"
    " count(r.text) - count(CASE WHEN r.text IS NOT NULL AND json_extract(r.usage, '$.input') IS NOT NULL"
    " THEN json_extract(r.usage, '$.output') END)"
    " FROM response r JOIN trial t USING (trial) JOIN model m USING (model) GROUP BY m.label"
)


def spent_before(store: Store) -> dict[str, Spent]:
    """What each model has spent in all invocations of a run.

    The journal counts retries and failed attempts too. Where it does not know all responses (a killed process, a run
    of an older version), the ledger's own are counted, each as one request, and the greater number holds.
    """
    noted = noted_spent(store.path.parent)
    if noted and acknowledged(store.path.parent) == store.responses():
        return noted
    stored = {str(label): Spent(*map(whole, counts)) for label, *counts in store.query(_STORED)}
    none = Spent()
    return {label: noted.get(label, none) | stored.get(label, none) for label in dict.fromkeys((*noted, *stored))}

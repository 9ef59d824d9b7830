"""A stopping rule against what was asked: the order of the items, every look, and nothing asked after a stop."""

from __future__ import annotations

import numpy as np

from perpend.ledger.manifest import Manifest
from perpend.ledger.stopping import StopLook, read_looks, seeded_place
from perpend.ledger.store import Store
from perpend.measure.run import Run
from perpend.measure.stopped import look_again, plan_of
from perpend.proof.audit.checks import Check

ORDER, LOOKS = "items are in the order of the seed", "looks and the stop follow from the answers"


def stops(run: Run, *, published: bool) -> list[Check]:
    """The checks of a run with a stopping rule; of another one, that it has no looks."""
    with run.open() as store:
        if run.manifest.stop is None:
            return [Check(LOOKS, 1, 1, "run.db has looks, and the manifest no rule")] if read_looks(store) else []
        return [_order(store, run.manifest), _looks(run, store, published=published)]


def _order(store: Store, manifest: Manifest) -> Check:
    """Items were asked in the order that the seed gives them, which nobody could choose by their answers."""
    check = Check(ORDER)
    places = [(seeded_place(manifest.items.seed, item.id), item.id) for item in store.items()]
    check.checked = len(places)
    for (_, name), (_, wanted) in zip(places, sorted(places), strict=True):
        if name != wanted:
            check.miss(f"item {name!r}: the seed {manifest.items.seed} puts {wanted!r} there")
    return check


def _looks(run: Run, store: Store, *, published: bool) -> Check:
    """Each look anew from the scores, up to the first at which the rule holds; after it nothing was asked.

    In a run directory the last look may be missing, where a process was killed before it could record it.
    """
    check = Check(LOOKS)
    plan = plan_of(run.manifest, store)
    if plan is None:
        return check
    stored = read_looks(store)
    asked = np.zeros(run.manifest.trials + 1, dtype=np.bool_)
    for trial, _ in store.first_requests():
        asked[min(trial, run.manifest.trials)] = True
    per_item = len(plan.conditions) * run.manifest.repeats
    now: list[StopLook] = []
    for number, items in enumerate(plan.points, 1):
        end = items * per_item
        if not asked[1 : end + 1].all() or end > len(run.table):
            break
        now.append(look_again(run, plan, number))
        if now[-1].stop:
            after = int(asked[end + 1 :].sum())
            if after:
                check.miss(f"{after} trials were asked after look {number}, at which the rule holds")
            break
    is_pending = [one.look for one in stored] == list(range(1, len(now))) and not published
    if is_pending and not asked[now[-1].items * per_item + 1 :].any():
        now = now[:-1]
        check.note = "the last look is not recorded yet; 'perpend eval' resumes it"
    then, again = ({one.look: one.as_json() for one in looks} for looks in (stored, now))
    for number in sorted({*then, *again}):
        check.compare(then.get(number), again.get(number), f"look {number}")
    return check

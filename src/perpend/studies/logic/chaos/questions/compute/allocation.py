"""Which contrasts are asked about plainly and which are kept for paraphrases, perturbations and lures.

A system's facts of one kind are all for plain questions or all for variants, so that no variant shares a fact with a
plain question.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from perpend.studies.logic.chaos.questions.compute.contrasts import (
    InstanceContrast,
    contrasts,
    counted_in,
    couples,
    wider_contrasts,
)
from perpend.studies.logic.chaos.questions.world import Sources
from perpend.studies.logic.chaos.records import Record

PLAIN, PARAPHRASE, PERTURBATION, LURE = "plain", "paraphrase", "perturbation", "lure"
KEPT = "kept"
VARIANT_SHARE = 0.34
"""Share of the facts, by system and predicate, that are kept for variants."""
_TURNS = (LURE, PARAPHRASE, LURE, PERTURBATION, LURE)
"""What the couples of the facts kept for variants are for, in turn."""
ORDER = (
    "Hyperchaotic", "QuasiPeriodic", "Bounded", "Dissipative", "FixedPointAttractor", "DimensionAboveTwo", "Chaotic",
    "PositiveLargestLyapunov", "AttractingCycle", "Periodic",
)  # fmt: skip
"""The predicates, those with few contrasts first: they have the first choice of instances."""
WEIGHTS = {PLAIN: 1, LURE: 1, PARAPHRASE: 3, PERTURBATION: 5}
"""Items about each instance of a contrast, by use."""
MOST = {PLAIN: 5, KEPT: 6}
"""How many plain items, and how many others, an instance may stand in."""
OWN = {PLAIN: 3, KEPT: 2}
"""How often an instance may stand in the contrasts of one predicate."""


@dataclass(frozen=True, slots=True)
class ContrastQuestion:
    """A contrast by one predicate. `couple` is shared with the contrast that mirrors its numbers."""

    predicate: str
    contrast: InstanceContrast
    couple: str

    @property
    def key(self) -> str:
        """The name of the question, for choices and for the tag `pair`."""
        return f"{self.predicate}|{self.contrast.key}"


def is_kept(world: Sources, predicate: str, system_id: str) -> bool:
    """Whether a system's facts by a predicate are kept for variants."""
    return world.chance.share("kept", predicate, system_id) < VARIANT_SHARE


def allocated(world: Sources, *uses: str) -> Iterator[ContrastQuestion]:
    """The questions for some of the uses, predicate by predicate.

    Couples that would bring an instance into more items than it may stand in are left out whole.
    """
    for room in (PLAIN, KEPT):
        if PLAIN in uses if room == PLAIN else set(uses) - {PLAIN}:
            counts: Counter[str] = Counter()
            for predicate in ORDER:
                yield from _of(world, predicate, room, uses, counts)


def _of(
    world: Sources, predicate: str, room: str, uses: tuple[str, ...], counts: Counter[str]
) -> Iterator[ContrastQuestion]:
    def side(record: Record) -> bool | None:
        kept = is_kept(world, predicate, record.system_id)
        return None if kept is (room == PLAIN) else record.facts.get(predicate)

    near, wide = contrasts(world, side), wider_contrasts(world, side, predicate)
    askables = [one for one in (*near, *wide) if askable(world, predicate, one)]
    place = 0
    for two in couples(world, askables, OWN[room], predicate, room):
        wanted = PLAIN if room == PLAIN else _TURNS[place % len(_TURNS)]
        records = [record for contrast in two for record in contrast.both]
        if not counted_in(counts, MOST[room], records, WEIGHTS[wanted]):
            continue
        place += 1
        if wanted in uses:
            yield from (ContrastQuestion(predicate, contrast, two[0].key) for contrast in two)


def askable(world: Sources, predicate: str, contrast: InstanceContrast) -> bool:
    """Whether no convention stands between a fact and its answer: the dimension of a forced motion depends on whether
    time is counted."""
    return predicate != "DimensionAboveTwo" or world.systems[contrast.yes.system_id].kind != "forced flow"

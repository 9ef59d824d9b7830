"""All questions that only a computation answers."""

from __future__ import annotations

from collections.abc import Iterator

from perpend.studies.logic.chaos.questions.compute.iterate import iterate_bundles
from perpend.studies.logic.chaos.questions.compute.period import period_bundles
from perpend.studies.logic.chaos.questions.compute.regime import regime_bundles
from perpend.studies.logic.chaos.questions.compute.scans import three_bundles, transition_bundles
from perpend.studies.logic.chaos.questions.compute.windows import window_bundles
from perpend.studies.logic.chaos.questions.draft import Draft
from perpend.studies.logic.chaos.questions.world import Sources


def bundles(world: Sources) -> Iterator[tuple[Draft, ...]]:
    """Every bundle of the stratum, kind by kind."""
    yield from regime_bundles(world)
    yield from transition_bundles(world)
    yield from three_bundles(world)
    yield from period_bundles(world)
    yield from window_bundles(world)
    yield from iterate_bundles(world)

"""The items of a set: a pure function of the frozen facts and of the set's key, the same bytes everywhere."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from itertools import chain
from typing import TypeAlias

from perpend.canon import JSON
from perpend.errors import DataError
from perpend.studies.logic.chaos.questions.chance import text_name
from perpend.studies.logic.chaos.questions.compute import bundles as compute
from perpend.studies.logic.chaos.questions.data import bundles as data
from perpend.studies.logic.chaos.questions.draft import FAMILIES, STRATA, Draft
from perpend.studies.logic.chaos.questions.logic import bundles as logic
from perpend.studies.logic.chaos.questions.plain import plain_text
from perpend.studies.logic.chaos.questions.reason import bundles as reason
from perpend.studies.logic.chaos.questions.splits import SPLITS, split_of, system_splits, without_excess
from perpend.studies.logic.chaos.questions.textbook import bundles as textbook
from perpend.studies.logic.chaos.questions.variants import bundles as variants
from perpend.studies.logic.chaos.questions.world import Sources

Bundle: TypeAlias = tuple[Draft, ...]
Maker: TypeAlias = Callable[[Sources], Iterator[Bundle]]

MAKERS: tuple[Maker, ...] = (
    textbook.bundles,
    reason.bundles,
    logic.bundles,
    data.bundles,
    compute.bundles,
    variants.bundles,
)
SET = "2"
"""The version of the set, in every id."""
CANARY = "chaos-logic set 2, not for training: canary 5d0b6f0e-7a35-4c0b-9a52-1f6c8e2d94b7"
"""Stands in every line, so that a corpus which holds one of the files can be told."""


def build(
    world: Sources, makers: Sequence[Maker] = MAKERS, taken: Collection[str] = ()
) -> dict[str, list[dict[str, JSON]]]:
    """The items of every family in alphabetical order, each family in the order of its file.

    A bundle is left out whole where it repeats a text, or one of `taken` (as `plain_text` writes it), where its systems
    are of different splits, and where its system has its share of the split already.
    """
    systems = system_splits(world.systems)
    splits: dict[str, list[Bundle]] = {split: [] for split in SPLITS}
    seen = set(taken)
    everything = [_checked(bundle) for bundle in chain.from_iterable(maker(world) for maker in makers)]
    for bundle in world.chance.mixed(everything, lambda drafts: drafts[0].pair + drafts[0].question, "bundles"):
        split, texts = split_of(bundle, systems), {plain_text(draft.question) for draft in bundle}
        if split is None or len(texts) < len(bundle) or texts & seen:
            continue
        seen |= texts
        splits[split].append(bundle)
    families: dict[str, list[tuple[Draft, str]]] = {}
    for split, bundles in splits.items():
        for draft in chain.from_iterable(without_excess(bundles)):
            families.setdefault(draft.family, []).append((draft, split))
    return {family: _records(world, families[family]) for family in sorted(families)}


def _checked(bundle: Bundle) -> Bundle:
    """The bundle; DataError where it is not what a stratum must give."""
    where = f"bundle {bundle[0].pair!r}" if bundle else "a bundle"
    wrong = (
        (not bundle, "is empty"),
        (len({draft.pair for draft in bundle}) != 1, "has several pairs"),
        (sum(draft.label for draft in bundle) * 2 != len(bundle), "has not as many TRUE as FALSE"),
        (any(draft.stratum not in STRATA for draft in bundle), "has an unknown stratum"),
        (any(draft.family not in FAMILIES for draft in bundle), "has an unknown family"),
        (any(not 1 <= draft.grade <= 5 for draft in bundle), "has a grade that is not 1 to 5"),
    )
    complaint = next((text for is_wrong, text in wrong if is_wrong), None)
    if complaint is not None:
        raise DataError(f"{where} {complaint}")
    return bundle


def _records(world: Sources, drafts: Sequence[tuple[Draft, str]]) -> list[dict[str, JSON]]:
    """Items in mixed order, each with an id that is a digest of its text."""
    ordered = world.chance.mixed(drafts, lambda entry: entry[0].question, "items")
    return [
        draft.as_record(f"{draft.family}_{SET}_{text_name(draft.question)}", split) | {"canary": CANARY}
        for draft, split in ordered
    ]

"""The canonical item set: a pure function of the frozen facts, the same bytes everywhere."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from perpend.canon import JSON
from perpend.studies.logic.chaos.families import adversarial, indicator, logic, regimes, variants
from perpend.studies.logic.chaos.families.chance import mixed, share, text_name
from perpend.studies.logic.chaos.families.draft import Draft
from perpend.studies.logic.chaos.families.pairs import QuestionPair, World, paired, world_of
from perpend.studies.logic.chaos.families.plain import fact_drafts, is_extended
from perpend.studies.logic.chaos.families.readings import INDICATORS
from perpend.studies.logic.chaos.records import Record, SystemWords, load_records, load_systems

ARGUMENTS = {logic.FOL: 350, logic.HOPS: 500}
"""Arguments of a logic family, four questions each."""
KNOWLEDGE = {logic.FOL: 120, logic.HOPS: 120}
"""The same for questions from general knowledge."""
ADVERSARIAL_SHARE = 0.12
"""Share of the plain pairs that are asked with a lure."""
PERTURBED_SHARE = 0.45
"""Share of the pairs kept for variants that are perturbed; the others are paraphrased."""
CROSSED_SHARE = 0.45
SPECTRUM_SHARE = 0.15
MOST = {
    "adversarial": 1600,
    "atomic": 11000,
    "consistency_paraphrase": 2400,
    "cross_indicator": 1400,
    "extended_systems": 1600,
    "fol_inference": 1880,
    "indicator_diagnostics": 1800,
    "multi_hop": 2480,
    "perturbation_robustness": 3000,
    "regime_transition": 1200,
}
"""Items at which a family is full."""


def build(
    records: Iterable[Record] | None = None, systems: Mapping[str, SystemWords] | None = None
) -> dict[str, list[dict[str, JSON]]]:
    """The items of every family, in the order of its file. Families in alphabetical order."""
    world = world_of(
        sorted(load_records() if records is None else records, key=lambda record: record.id),
        load_systems() if systems is None else systems,
    )
    plain, robust = paired(world)
    families: dict[str, list[list[Draft]]] = {}
    for bundle in _bundles(world, plain, robust):
        if bundle:
            families.setdefault(bundle[0].family, []).append(bundle)
    seen: set[str] = set()
    return {family: _named(family, families[family], seen) for family in sorted(families)}


def _bundles(world: World, plain: list[QuestionPair], robust: list[QuestionPair]) -> Iterator[list[Draft]]:
    """Items that belong together, as many TRUE as FALSE in each bundle: it is kept or dropped as a whole."""
    for pair in plain:
        lot = share("family", pair.key)
        if lot < ADVERSARIAL_SHARE and pair.true.system_id == pair.false.system_id:
            yield adversarial.adversarial_drafts(world, pair)
        else:
            yield fact_drafts(
                "extended_systems" if is_extended(pair.true) and is_extended(pair.false) else "atomic", world, pair
            )
        if pair.true.system_id == pair.false.system_id and pair.turn == 0:
            yield from _readings(world, pair)
    for pair in robust:
        perturbed = share("variants", pair.key) < PERTURBED_SHARE
        yield list((variants.perturbation_drafts if perturbed else variants.paraphrase_drafts)(world, pair))
    for scan in regimes.scans(world):
        yield from regimes.scan_bundles(scan)
    for family, count in ARGUMENTS.items():
        for argument in logic.arguments_for(family, count):
            yield list(logic.argument_drafts(world, family, argument))
        yield from logic.world_bundles(world, family, KNOWLEDGE[family])


def _readings(world: World, pair: QuestionPair) -> Iterator[list[Draft]]:
    """Questions that state a measured number; which kind, goes by the pair."""
    lot = share("reading", pair.key)
    if pair.predicate == "Chaotic":
        keys = ("zero_one", "megno", "lyapunov")
        if lot < 0.3:
            yield indicator.single(world, pair, keys[int(lot * 10) % 3])
        elif lot < 0.5:
            yield list(indicator.compared(world, pair, keys[int(lot * 100) % 3]))
        elif lot < 0.75:
            yield indicator.entropy_and(world, pair, keys[int(lot * 100) % 3])
        else:
            two = (("zero_one", "megno"), ("zero_one", "lyapunov"), ("megno", "lyapunov"))[int(lot * 100) % 3]
            yield list(indicator.agreement(world, pair, two))
    elif pair.predicate in indicator.FROM_SPECTRUM and lot < SPECTRUM_SHARE:
        yield indicator.from_spectrum(world, pair)
    elif pair.predicate in ("ZeroOneHigh", "EntropyHigh", "MegnoHigh") and lot < CROSSED_SHARE:
        given = [key for key, entry in INDICATORS.items() if entry.predicate != pair.predicate]
        yield indicator.crossed(world, pair, given[int(lot * 1000) % len(given)])


def _named(family: str, bundles: list[list[Draft]], seen: set[str]) -> list[dict[str, JSON]]:
    """The family's items in mixed order, each with an id of its text; bundles that repeat a text are left out whole."""
    kept: list[Draft] = []
    for bundle in mixed(bundles, lambda drafts: drafts[0].about.group + drafts[0].question, "bundles"):
        texts = {draft.question for draft in bundle}
        if len(texts) == len(bundle) and not texts & seen and len(kept) < MOST[family]:
            seen |= texts
            kept += bundle
    ordered = mixed(kept, lambda draft: draft.question, "items")
    return [draft.as_record(f"{family}_{text_name(draft.question)}") for draft in ordered]

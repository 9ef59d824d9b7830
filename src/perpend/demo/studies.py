"""What the demo asks: three studies, each a run like any other, over items that were sampled with a seed."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from perpend.ask.task import make_model, make_task
from perpend.canon import JSON, dumps, write_atomic
from perpend.errors import ModelError
from perpend.ledger.items import load_items
from perpend.spec.runspec import ModelSpec, RunSpec, written_name
from perpend.studies.logic.chaosbench.runs import TIERS, Settings, chosen
from perpend.studies.logic.chaosbench.sets import open_source, text_of, to_item
from perpend.studies.verbs.checkpoint import probe_options
from perpend.types import Item, Sampling

EMBEDDED, SIMULATED, BASELINE = "local/smollm2", "mock/subject", "ngram/final"
SEED = 42
TIER = "P0"
TEMPERATURES = (0.0, 0.7)
"""At 0 the model's own choice; above it a control that is asked again shows what changes by itself."""
SYSTEM = "Answer in one short sentence."
ANSWERED_BY = ("word", "name")
"""Factual items that a sentence can answer: no numbers to compute, no letters to pick, no yes or no."""
_SENTENCE, _LABEL = 48, 128
# A subject with planted effects, for machines without the embedded model: 85% right, swayed by a group in 40%.
_PLANTED: dict[str, JSON] = {
    "accuracy": 0.85,
    "item_sd": 1.0,
    "sway": 0.2,
    "sway_group": 0.4,
    "sway_sd": 1.0,
    "seed": 2,
}


@dataclass(frozen=True, slots=True)
class Size:
    """How many items each study asks about. `logic` None is the tier's own number, `probes` None are all probes."""

    facts: int = 24
    opinions: int = 8
    logic: int | None = None
    probes: int | None = None


@dataclass(frozen=True, slots=True)
class Studies:
    """The runs of one demo. The first model of `verbs` is the baseline, an n-gram model."""

    conformity: RunSpec
    logic: RunSpec
    verbs: RunSpec

    def all(self) -> tuple[RunSpec, ...]:
        """In the order in which they are asked: the quick ones first."""
        return self.verbs, self.conformity, self.logic


def studies(model: str, out: Path, size: Size) -> Studies:
    """The specs of the runs; the sampled items are written to `out`/items. ModelError where the model is missing."""
    check_model(model)
    label = written_name(model).rpartition("/")[2]
    planted = _PLANTED if model == SIMULATED else {}
    # Without a chat template a candidate is scored where it belongs: in the sentence.
    plain = probe_options(model)
    subject = ModelSpec(model, label, planted)
    facts, opinions = make_task("conformity", {}).items
    items = out / "items"
    answerable = [item for item in load_items([facts]) if item.tags.get("answer") in ANSWERED_BY]
    sampled = (
        _write(_sample(answerable, size.facts), items / "facts.jsonl"),
        _write(_sample(load_items([opinions]), size.opinions), items / "opinions.jsonl"),
    )
    return Studies(
        conformity=RunSpec(
            "conformity",
            (subject,),
            items=sampled,
            name=f"conformity-{label}",
            options={"system": SYSTEM},
            samplings=tuple(Sampling(temperature, _SENTENCE, SEED) for temperature in TEMPERATURES),
            seed=SEED,
        ),
        logic=RunSpec(
            "logic",
            (subject,),
            items=(_write(_tier(size.logic), items / "logic.jsonl"),),
            name=f"logic-{TIER}-{label}",
            samplings=(Sampling(0.0, _LABEL, SEED),),
            seed=SEED,
        ),
        verbs=RunSpec(
            "verbs",
            (ModelSpec(BASELINE, BASELINE.rpartition("/")[2]), ModelSpec(model, label, {**planted, **plain})),
            name=f"verbs-{label}",
            max_items=size.probes,
            seed=SEED,
        ),
    )


def check_model(model: str) -> None:
    """ModelError with the line to run where the embedded model or its engine is missing."""
    if not model.startswith("local/"):
        return
    try:
        make_model(model, {})
    except ModelError as error:
        simulated = f"Or see the demo on a simulated subject: perpend demo --model {SIMULATED}"
        raise ModelError(*error.args, simulated) from None


def _sample(items: Sequence[Item], count: int) -> list[Item]:
    """`count` items, sampled with the seed, in the order of their file."""
    places = random.Random(SEED).sample(range(len(items)), min(count, len(items)))
    return [items[place] for place in sorted(places)]


def _tier(count: int | None) -> list[Item]:
    """The items of the tier, sampled as `chaosbench eval --tier` samples them."""
    tier = TIERS[TIER]
    source = open_source(Path(str(tier["subsets"][0])), "canonical")
    settings = Settings("mock", max_items=count or tier["max_items"], seed=SEED)
    return [to_item(record, text_of(record, "id")) for record in chosen(source.records, settings)]


def _write(items: Sequence[Item], path: Path) -> Path:
    write_atomic(path, "".join(dumps(item.as_json()) + "\n" for item in items))
    return path

"""The armored sampler: a number of items, families in proportion, labels in balance, the same bytes for the same seed.

The algorithm is the reference's, step by step, on Python's Mersenne Twister: on its files it gives its bytes. Of items
that all name a split and a stratum, only those of the test split are drawn, and strata are as even as families allow.
"""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from perpend.canon import JSON, parse, write_atomic
from perpend.errors import SpecError
from perpend.studies.logic.chaosbench.items import Record, family_of, ids_hash, label_of, text_of, write_records

ARMORED_SIZES = {"subset_1k_armored": 1000, "subset_5k_armored": 5000}
SPLIT = "test"
SUITE_SIZE = 456
"""Items of a family suite: 228 of each label where there are that many."""


@dataclass(frozen=True, slots=True)
class Sampler:
    """How a subset is drawn.

    `balance_families` gives every family at least `min_per_family` items and fills up to `size` from the family with
    the most left; without it each family gets its share rounded down, and the subset may be smaller than `size`.
    `weights` multiply a family's share; a family that is not named weighs 1.
    """

    size: int
    seed: int = 42
    balance_labels: bool = True
    balance_families: bool = True
    weights: Mapping[str, float] = field(default_factory=dict)
    min_per_family: int = 1

    def __post_init__(self) -> None:
        if self.size < 1:
            raise SpecError(f"--size must be 1 or more, not {self.size}")
        bad = sorted(family for family, weight in self.weights.items() if not weight >= 0)
        if bad:
            raise SpecError(f"--family-weights: {bad[0]} must weigh 0 or more, not {self.weights[bad[0]]!r}")


@dataclass(frozen=True, slots=True)
class Drawn:
    """One family's part of a subset: what there was, what was asked for, and what was taken."""

    available: tuple[int, int]
    """TRUE and FALSE items of the family."""
    quota: int
    padding: int
    taken: tuple[int, int]


def draw(records: Sequence[Record], sampler: Sampler) -> tuple[list[Record], dict[str, Drawn]]:
    """The subset in its order, and each family's part of it, families in alphabetical order."""
    is_split = is_stratified(records)
    pool = [record for record in records if is_split and record["split"] == SPLIT] or records
    cells: dict[str, dict[str, list[Record]]] = {}
    for record in pool:
        stratum = text_of(record, "stratum") if is_split else ""
        cells.setdefault(family_of(record), {}).setdefault(stratum, []).append(record)
    unknown = sorted(set(sampler.weights) - set(cells))
    if unknown:
        raise SpecError(f"--family-weights: no item is of family {unknown[0]!r}; there are {', '.join(sorted(cells))}")
    sizes = {name: {stratum: len(own) for stratum, own in strata.items()} for name, strata in cells.items()}
    quotas, padding = _quotas({name: sum(own.values()) for name, own in sizes.items()}, sampler)
    shares = _shares(sizes, {name: quota + padding.get(name, 0) for name, quota in quotas.items()})
    rng = random.Random(sampler.seed)
    chosen: list[Record] = []
    log: dict[str, Drawn] = {}
    for name in sorted(cells):
        picked: list[Record] = []
        of_true = 0
        for stratum, share in shares[name].items():
            entries = cells[name][stratum]
            if sampler.balance_labels:
                # Half of the family so far, rounded down: so a family of several strata is half TRUE, too.
                picked += _balanced(entries, share, (len(picked) + share) // 2 - of_true, rng)
            else:
                mixed = list(entries)
                rng.shuffle(mixed)
                picked += mixed[:share]
            of_true = sum(label_of(record) == "TRUE" for record in picked)
        chosen += picked
        everything = [record for own in cells[name].values() for record in own]
        there = sum(label_of(record) == "TRUE" for record in everything)
        available, taken = (there, len(everything) - there), (of_true, len(picked) - of_true)
        log[name] = Drawn(available, quotas[name], padding.get(name, 0), taken)
    rng.shuffle(chosen)
    return chosen[: sampler.size], log


def is_stratified(records: Sequence[Record]) -> bool:
    """Whether every item names its split and its stratum; the reference's do not."""
    return bool(records) and all(record.get("split") and record.get("stratum") for record in records)


def _shares(sizes: Mapping[str, Mapping[str, int]], quotas: Mapping[str, int]) -> dict[str, dict[str, int]]:
    """How many of each stratum of each family: each item goes to the stratum that has fewest of the subset so far.

    Families of few strata have no choice, and come first.
    """
    shares = {name: dict.fromkeys(sorted(strata), 0) for name, strata in sizes.items()}
    totals: Counter[str] = Counter()
    for name in sorted(sizes, key=lambda one: (len(sizes[one]), one)):
        for _ in range(quotas[name]):
            free = [stratum for stratum, share in shares[name].items() if share < sizes[name][stratum]]
            fewest = min(free, key=lambda stratum: totals[stratum])
            shares[name][fewest] += 1
            totals[fewest] += 1
    return shares


def _quotas(counts: Mapping[str, int], sampler: Sampler) -> tuple[dict[str, int], dict[str, int]]:
    """How many of each family, and how many more to reach the size."""
    weighted = {name: count * sampler.weights.get(name, 1) for name, count in counts.items()}
    total = sum(weighted.values())
    least = sampler.min_per_family if sampler.balance_families else 0
    shares = {name: int(sampler.size * weight // total) if total else 0 for name, weight in weighted.items()}
    quotas = {name: min(max(least, share), counts[name]) for name, share in shares.items()}
    padding: dict[str, int] = {}
    short = sampler.size - sum(quotas.values())
    while sampler.balance_families and short > 0:
        name = max(counts, key=lambda one: counts[one] - quotas[one] - padding.get(one, 0))
        room = counts[name] - quotas[name] - padding.get(name, 0)
        if room == 0:
            break
        padding[name] = padding.get(name, 0) + min(room, short)
        short -= min(room, short)
    return quotas, padding


def _balanced(entries: Sequence[Record], quota: int, wanted: int, rng: random.Random) -> list[Record]:
    """As many TRUE ones as wanted, the rest FALSE; where one runs out, more of the other."""
    right = [record for record in entries if label_of(record) == "TRUE"]
    wrong = [record for record in entries if label_of(record) != "TRUE"]
    rng.shuffle(right)
    rng.shuffle(wrong)
    of_true = min(max(0, wanted, quota - len(wrong)), len(right))
    return right[:of_true] + wrong[: quota - of_true]


@dataclass(frozen=True, slots=True)
class Provenance:
    """What a subset's manifest says of where it comes from. `created` None leaves the time out, for rebuilt files."""

    name: str
    source: str
    global_sha256: str | None
    created: str | None
    dataset: str = ""
    """The set's own name and version, where it has one."""


def manifest(
    chosen: Sequence[Record], log: Mapping[str, Drawn], sampler: Sampler, provenance: Provenance
) -> dict[str, JSON]:
    """The manifest beside a subset, with the reference's fields in its order."""
    labels = Counter((family_of(record), label_of(record) or "FALSE") for record in chosen)
    of_true = sum(count for (_, label), count in labels.items() if label == "TRUE")
    counts: dict[str, JSON] = {}
    for family in dict.fromkeys(map(family_of, chosen)):
        right, wrong = labels[family, "TRUE"], labels[family, "FALSE"]
        counts[family] = {"total": right + wrong, "TRUE": right, "FALSE": wrong}
    created: dict[str, JSON] = {} if provenance.created is None else {"created_utc": provenance.created}
    named: dict[str, JSON] = {"dataset": provenance.dataset} if provenance.dataset else {}
    if is_stratified(chosen):
        strata = Counter(text_of(record, "stratum") for record in chosen)
        named |= {
            "split": text_of(chosen[0], "split"),
            "balance_strata": True,
            "per_stratum_counts": dict(sorted(strata.items())),
        }
    return {
        **created,
        "subset_name": provenance.name,
        **named,
        "size": len(chosen),
        "target_size": sampler.size,
        "seed": sampler.seed,
        "source": provenance.source,
        "selection_method": "balanced_by_family" if sampler.balance_families else "proportional",
        "balance_labels": sampler.balance_labels,
        "balance_families": sampler.balance_families,
        "family_weights": dict(sampler.weights),
        "min_per_family": sampler.min_per_family,
        "sha256": ids_hash(text_of(record, "id") for record in chosen),
        "dataset_global_sha256": provenance.global_sha256,
        "label_balance": {
            "true_count": of_true,
            "false_count": len(chosen) - of_true,
            "true_ratio": round(of_true / len(chosen), 4) if chosen else None,
        },
        "per_family_counts": counts,
        "per_family_sampling_log": {name: _logged(drawn) for name, drawn in log.items()},
    }


def _logged(drawn: Drawn) -> dict[str, JSON]:
    of_true, of_false = drawn.taken
    achieved = of_true + of_false
    share = f"{of_true / achieved:.0%}" if achieved else "no"
    more = f" (+{drawn.padding} padding)" if drawn.padding else ""
    return {
        "available": sum(drawn.available),
        "requested": drawn.quota + drawn.padding,
        "achieved": achieved,
        "label_balance": f"{share} TRUE ({of_true}T/{of_false}F)",
        "true_available": drawn.available[0],
        "false_available": drawn.available[1],
        "quota_note": f"quota={drawn.quota} of available={sum(drawn.available)}{more}",
    }


def write_subset(out: Path, records: Sequence[Record], sampler: Sampler, provenance: Provenance) -> dict[str, JSON]:
    """Draw a subset and write it with its manifest, `<name>.manifest.json`, beside it; return the manifest."""
    chosen, log = draw(records, sampler)
    if not chosen:
        raise SpecError(f"{out}: no item was drawn; a larger --size, or --balance-families, draws some")
    body = manifest(chosen, log, sampler, provenance)
    write_records(out, chosen)
    write_atomic(out.with_suffix(".manifest.json"), json.dumps(body, indent=2) + "\n")
    return body


def weights_from(text: str) -> dict[str, float]:
    """Family weights as JSON on the command line."""
    try:
        body = parse(text)
    except (ValueError, RecursionError) as error:
        raise SpecError(f"--family-weights: not JSON: {error}") from None
    if not isinstance(body, dict) or not all(
        isinstance(v, int | float) and not isinstance(v, bool) for v in body.values()
    ):
        raise SpecError('--family-weights: must be an object of numbers, for example {"multi_hop": 2}')
    return {str(family): float(weight) for family, weight in body.items()}

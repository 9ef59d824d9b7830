"""The whole set: bundles drawn from the strata, split by clusters, named by digests, labelled twice."""

from __future__ import annotations

import hashlib
import importlib
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass

from factory.chance import Chance
from factory.quartet import Quartet, Unreadable
from factory.questions import Question, fits, questions
from perpend.studies.logic.chaosbench.sets import NAME, VERSION

CANARY = f"{NAME} {VERSION}, not for training: canary 0f6b1c9e-52d4-4e0d-9a37-6be1f04c8d21"
SHARES = {"train": 0.45, "dev": 0.15, "test": 0.40}

Item = dict[str, str | list[str]]


@dataclass(frozen=True)
class Bundle:
    stratum: str
    family: str
    quartet: Quartet
    questions: tuple[Question, ...]

    @property
    def name(self) -> str:
        texts = [self.quartet.shared] if self.quartet.shared else [q.text for q in self.questions]
        return f"{self.stratum}:{_digest(self.stratum, self.family, *texts)}"


BUNDLES: dict[str, dict[str, int]] = {
    "textbook": {"atomic": 10_000, "regime_transition": 10_000},  # all there are
    "reason": {
        "atomic": 900,
        "adversarial": 175,
        "consistency_paraphrase": 125,
        "extended_systems": 360,
        "perturbation_robustness": 80,
    },
    "logic": {"fol_inference": 700, "multi_hop": 700},
    "data": {"atomic": 280, "cross_indicator": 400, "indicator_diagnostics": 500},
    "compute": {"atomic": 10_000, "regime_transition": 10_000},  # all there are
}
"""Stratum → family → how many bundles; fewer where a stratum has no more."""


def bundles(stratum: str, family: str, count: int, secret: str = "") -> list[Bundle]:
    """So many bundles of a family; a quartet that its variants do not fit, or that came before, is left out."""
    module = importlib.import_module(f"factory.{stratum}")
    chance = Chance(NAME, VERSION, secret, stratum, family)
    given = (secret,) if secret and stratum == "compute" else ()
    seen: set[tuple[str, str]] = set()
    found: list[Bundle] = []
    for number, quartet in enumerate(module.quartets(family, chance.of("quartets"), *given)):
        if len(found) == count:
            break
        if (quartet.settings in seen and stratum != "textbook") or not fits(family, quartet):
            continue
        seen.add(quartet.settings)
        frames = "follows" if quartet.kind in {"follows", "excluded"} else "general"
        asked = tuple(questions(quartet, family, chance.of("questions", number), frames))
        found.append(Bundle(stratum, family, quartet, asked))
    return found


def build() -> dict[str, list[Item]]:
    """Family → the items of the set."""
    jobs = [(stratum, family, count) for stratum, families in BUNDLES.items() for family, count in families.items()]
    with ProcessPoolExecutor() as pool:
        made = [bundle for some in pool.map(bundles, *zip(*jobs, strict=True)) for bundle in some]
    return records(split(made))


def private(secret: str, public: Sequence[Item]) -> dict[str, list[Item]]:
    """Family → items that nobody can have seen, about 10,000: no question of the public set, the systems of its test
    split; *textbook* has none, since what it asks is known."""
    taken = {str(item["question"]) for item in public}
    systems = {item["system_id"] for item in public if item["split"] == "test"}
    made: list[Bundle] = []
    for stratum, families in BUNDLES.items():
        for family, count in families.items() if stratum != "textbook" else ():
            fresh = bundles(stratum, family, round(SHARES["test"] * count), secret)
            made += (
                b for b in fresh if set(b.quartet.systems) <= systems and not taken & {q.text for q in b.questions}
            )
    return records({"private": made})


def again(item: Item) -> str:
    """The label of an item by the second way, from its text alone; what it cannot read, it says."""
    reader = importlib.import_module(f"factory.again.{item['stratum']}")
    try:
        return "TRUE" if reader.label(str(item["question"])) else "FALSE"
    except Unreadable as error:
        return f"unreadable: {error}"


def disagreements(items: Sequence[Item]) -> list[tuple[Item, str]]:
    """The items whose label the second way does not give, with what it gives."""
    with ProcessPoolExecutor() as pool:
        second = list(pool.map(again, items, chunksize=200))
    return [(item, label) for item, label in zip(items, second, strict=True) if label != item["ground_truth"]]


def split(all_of: Iterable[Bundle]) -> dict[str, list[Bundle]]:
    """Split → bundles, no cluster and no trait in two: largest first, each to where most is missing of its kinds."""
    groups = _together(list(all_of))
    sizes = _sizes([bundle for group in groups for bundle in group])
    filled: dict[str, Counter[tuple[str, str]]] = {name: Counter() for name in SHARES}
    parts: dict[str, list[Bundle]] = {name: [] for name in SHARES}
    for group in sorted(groups, key=lambda g: (-sum(_sizes(g).values()), g[0].name)):
        cells = _sizes(group)

        def missing(name: str, cells: Counter[tuple[str, str]] = cells) -> float:
            return sum(
                n * (SHARES[name] - filled[name][cell] / sizes[cell]) / SHARES[name] for cell, n in cells.items()
            )

        name = max(SHARES, key=missing)
        filled[name].update(cells)
        parts[name] += group
    return parts


def _sizes(group: list[Bundle]) -> Counter[tuple[str, str]]:
    return Counter((bundle.family, bundle.stratum) for bundle in group for _ in bundle.questions)


def _together(all_of: list[Bundle]) -> list[list[Bundle]]:
    """Bundles that share a cluster or a trait, directly or through others, in one group."""
    parent = list(range(len(all_of)))

    def root(i: int) -> int:
        while parent[i] != i:
            parent[i] = i = parent[parent[i]]
        return i

    first: dict[str, int] = {}
    for i, bundle in enumerate(all_of):
        for word in (f"{bundle.stratum}/{bundle.quartet.cluster}", *bundle.quartet.traits):
            parent[root(i)] = root(first.setdefault(word, i))
    groups = defaultdict[int, list[Bundle]](list)
    for i, bundle in enumerate(all_of):
        groups[root(i)].append(bundle)
    return list(groups.values())


def records(parts: dict[str, list[Bundle]]) -> dict[str, list[Item]]:
    """Family → its items, in the order of their ids."""
    families = defaultdict[str, list[Item]](list)
    for part, members in parts.items():
        for bundle in members:
            families[bundle.family] += (_record(bundle, question, part) for question in bundle.questions)
    return {family: sorted(families[family], key=lambda item: str(item["id"])) for family in sorted(families)}


def _record(bundle: Bundle, question: Question, part: str) -> Item:
    quartet = bundle.quartet
    return {
        "id": f"{bundle.family}_3_{_digest(question.text)}",
        "question": question.text,
        "ground_truth": "TRUE" if question.label else "FALSE",
        "type": bundle.family,
        "system_id": quartet.systems[question.setting],
        "template": question.frame,
        "stratum": bundle.stratum,
        "kind": quartet.kind,
        "variant": question.variant,
        "pair": bundle.name,
        "group": f"{bundle.stratum}:{quartet.cluster}",
        "cites": list(quartet.cites),
        "split": part,
        "canary": CANARY,
    }


def _digest(*words: str) -> str:
    return hashlib.sha256("\n".join(words).encode()).hexdigest()[:10]

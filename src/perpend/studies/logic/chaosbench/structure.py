"""Gates on how a set is built: splits, shares, variants, strata, starts, definitions. What cannot run fails."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence

from perpend.canon import JSON
from perpend.proof.gates import Gate
from perpend.studies.logic.chaos.questions.draft import FAMILIES, STRATA
from perpend.studies.logic.chaos.questions.splits import LARGEST_SHARE
from perpend.studies.logic.chaosbench.features import numbers_in
from perpend.studies.logic.chaosbench.items import family_of, label_of, text_of
from perpend.studies.logic.chaosbench.masking import systems_of
from perpend.studies.logic.replies import GROUP_TAGS

Records = Sequence[Mapping[str, JSON]]
HELD_OUT = "heldout_systems"
"""The split of older sets whose systems stand in no other split."""
STRATUM_ITEMS = {"textbook": 1500, "reason": 3000, "logic": 5000, "data": 2000, "compute": 1}
FAMILY_ITEMS = 1000
SHARED = 200
"""Items about named systems from which the share of one of them is counted."""


def first(bad: Sequence[str], n: int, what: str) -> str:
    """How many of n things break a gate, and the first that does."""
    return f"{len(bad)} of {n} {what} break it, as {bad[0]}" if bad else f"{n} {what}, none breaks it"


def tag_of_all(records: Records, tag: str) -> list[str] | None:
    """The values of a tag; None where an item has none."""
    values = [text_of(record, tag) for record in records]
    return values if all(values) else None


def splits(records: Records) -> Gate:
    """Whatever shares a pair or a fact is in one split; and every system, where splits are by system."""
    name, named = "split integrity", tag_of_all(records, "split")
    if named is None:
        return Gate(name, False, "cannot run: items have no tag 'split'")
    seen: dict[tuple[str, str], set[str]] = {}
    by_system = tag_of_all(records, "stratum") is not None
    for record, split in zip(records, named, strict=True):
        for tag in (*GROUP_TAGS, "pair"):
            if record.get(tag):
                seen.setdefault((tag, text_of(record, tag)), set()).add(split)
        for system in systems_in(record):
            seen.setdefault(("system", system), set()).add(split)
    bad = [
        f"{what} {key!r} is in {', '.join(sorted(those))}"
        for (what, key), those in seen.items()
        if len(those) > 1 and (what != "system" or by_system or HELD_OUT in those)
    ]
    return Gate(name, not bad, first(bad, len(seen), "groups, pairs and systems"))


def systems_in(record: Mapping[str, JSON]) -> set[str]:
    """The named systems of an item, by its system and by its instances."""
    instances = (part.partition(":")[0] for part in text_of(record, "instance").split(" > "))
    return {*systems_of(record), *instances} - {""}


def shares(records: Records) -> Gate:
    """No system makes up more than its share of the items about named systems of a split."""
    name, named = "share of a system", tag_of_all(records, "split")
    if named is None:
        return Gate(name, False, "cannot run: items have no tag 'split'")
    counts: dict[str, Counter[str]] = {}
    totals: Counter[str] = Counter()
    for record, split in zip(records, named, strict=True):
        systems = systems_in(record)
        counts.setdefault(split, Counter()).update(systems)
        totals[split] += bool(systems)
    large = [split for split in sorted(counts) if totals[split] >= SHARED]
    highest = {split: counts[split].most_common(1)[0] for split in large}
    bad = [
        f"{system} makes up {count / totals[split]:.3f} of {split}"
        for split, (system, count) in highest.items()
        if count > LARGEST_SHARE * totals[split]
    ]
    figures = "; ".join(f"{split} {count / totals[split]:.3f} {system}" for split, (system, count) in highest.items())
    detail = (
        f"{LARGEST_SHARE} allowed; largest: {figures}" if large else f"no split has {SHARED} items about named systems"
    )
    return Gate(name, not bad, first(bad, len(large), "splits") + f"; {detail}")


def strata(records: Records) -> Gate:
    """Every stratum, family and grade is there, and has the items that it needs."""
    name, named = "strata and families", tag_of_all(records, "stratum")
    if named is None:
        return Gate(name, False, "cannot run: items have no tag 'stratum'")
    counts, families = Counter(named), Counter(family_of(record) for record in records)
    bad = [
        f"{key} has {counts[key]} items, {least} needed" for key, least in STRATUM_ITEMS.items() if counts[key] < least
    ]
    bad += [
        f"{key} has {families[key]} items, {FAMILY_ITEMS} needed" for key in FAMILIES if families[key] < FAMILY_ITEMS
    ]
    bad += [f"stratum {key!r} is unknown" for key in counts if key not in STRATA]
    bad += [f"family {key!r} is unknown" for key in families if key not in FAMILIES]
    grades = Counter(text_of(record, "grade") for record in records)
    bad += [f"grade {key!r} is none of 1 to 5" for key in grades if key not in {"1", "2", "3", "4", "5"}]
    uncited = sum(key == "textbook" and not record.get("cites") for key, record in zip(named, records, strict=True))
    bad += [f"{uncited} textbook items cite nothing"] if uncited else []
    figures = ", ".join(f"{key} {counts[key]}" for key in STRATA)
    return Gate(name, not bad, first(bad, len(STRATA) + len(FAMILIES), "strata and families") + f"; {figures}")


def variants(records: Records) -> Gate:
    """Wordings of the same facts: in each bundle every variant has as many items, and as many facts that hold.

    A fact holds where a question that asserts it is TRUE, or one that denies it FALSE.
    """
    name = "variants keep their fact"
    groups: dict[tuple[str, ...], dict[str, list[bool]]] = {}
    for record in records:
        if record.get("variant"):
            fact = tuple(text_of(record, tag) for tag in ("type", "pair", "instance", "predicate"))
            holds = (label_of(record) == "TRUE") == (text_of(record, "polarity") != "negative")
            groups.setdefault(fact, {}).setdefault(text_of(record, "variant"), []).append(holds)
    if not groups:
        return Gate(name, False, "cannot run: no item has the tag 'variant'")
    bad = []
    for key, facts in groups.items():
        if len({len(held) for held in facts.values()}) > 1:
            bad.append(f"{key[1]!r}: a variant is missing or occurs twice")
        elif len({sum(held) for held in facts.values()}) > 1:
            bad.append(f"{key[1]!r}: polarity and label of the variants do not go together")
    return Gate(name, not bad, first(bad, len(groups), "bundles of variants"))


CONVENTIONS: Mapping[str, tuple[re.Pattern[str], tuple[str, ...]]] = {
    "chaos": (re.compile(r"\b(?:hyper)?chao(?:s|tic|tically)\b"), ("exponent", "indicator", "test")),
    "hyperchaos": (re.compile(r"\bhyperchao(?:s|tic)\b"), ("two",)),
    "periodic motion": (
        re.compile(r"(?<![Qq]uasi-)\bperiodic (?:motion|orbit)\b"),
        ("repeat", "return", "two points"),
    ),
    "quasi-periodic": (re.compile(r"\bquasi-?periodic"), ("torus", "closed curve", "incommensurate", "never repeat")),
    "strange attractor": (re.compile(r"\bstrange attractor"), ("fractal", "dimension", "exponent")),
    "attracting cycle": (
        re.compile(r"\b(?:attracting|limit) cycle"),
        ("repeat", "returns", "two points", "different points"),
    ),
    "dissipative": (re.compile(r"\bdissipative\b"), ("volume", "divergence", "exponents", "determinant")),
    "conservative": (re.compile(r"\b(?:conservative|volume-preserving)\b"), ("volume", "divergence", "determinant")),
    "least period": (re.compile(r"\bleast period\b"), ("smallest", "fewest", "different points", "for the first time")),
    "Kaplan–Yorke dimension": (re.compile(r"\bKaplan[–-]Yorke"), ("sum", "add", "L1 +")),
    "permutation entropy": (re.compile(r"\bpermutation entropy"), ("order", "pattern")),
    "sensitive dependence": (re.compile(r"\bsensitive(?:ly)? depend"), ("nearby", "close", "neighbour", "exponent")),
}
"""Terms that mean different things to different people → where they occur, and words of which a definition has one."""
_ELSEWHERE = re.compile(r"[^.]*\bother (?:parameter )?values\b[^.]*\.")
"""A sentence about what the system does where nothing is asked of it."""
_NEEDING = ("reason", "compute")
"""Strata that ask whether something is so. Data says by itself what its words mean; logic takes them as given; in
textbook the terms are what is asked for."""


def definitions(records: Records) -> Gate:
    """A term of the table occurs only with its definition in the same question."""
    name, named = "definitions", tag_of_all(records, "stratum")
    if named is None:
        return Gate(name, False, "cannot run: items have no tag 'stratum'")
    bad, seen = [], 0
    for record, stratum in zip(records, named, strict=True):
        if stratum not in _NEEDING:
            continue
        question = _ELSEWHERE.sub("", text_of(record, "question"))
        for term, (pattern, words) in CONVENTIONS.items():
            if pattern.search(question):
                seen += 1
                if not any(word in question for word in words):
                    bad.append(f"{text_of(record, 'id')}: {term!r} without a definition")
    return Gate(name, not bad, first(bad, seen, "uses of a term that is a convention"))


_ROOT = re.compile(r"\bsqrt\((\d+)\) ([-+]) (\d+)")
_SAME = 1e-9


def _stated(question: str) -> list[float]:
    """The sizes of the numbers of a question, those written as a root less or more a whole number among them."""
    roots = (math.sqrt(int(a)) + (int(b) if sign == "+" else -int(b)) for a, sign, b in _ROOT.findall(question))
    return [abs(x) for x in (*map(float, numbers_in(question)), *roots)]


def starts(records: Records, needed: Mapping[str, Sequence[float]]) -> Gate:
    """Where the start decides, the question states it: each of its numbers. `needed` has the start by instance."""
    bad, seen = [], 0
    for record in records:
        numbers: list[float] | None = None
        for instance in text_of(record, "instance").split(" > "):
            if instance in needed:
                seen += 1
                numbers = _stated(text_of(record, "question")) if numbers is None else numbers
                if not all(any(abs(abs(x) - y) <= _SAME for y in numbers) for x in needed[instance]):
                    bad.append(f"{text_of(record, 'id')}: the start of {instance} is not in it")
    return Gate("starts are stated", not bad, first(bad, seen, "uses of an instance whose start matters"))

"""The gates of an item set. Each says pass or fail from the data; one that cannot run says so and fails."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from perpend.errors import DataError
from perpend.proof.gates import Gate
from perpend.studies.logic.chaos.questions.grammar import mistake
from perpend.studies.logic.chaosbench import labels, structure
from perpend.studies.logic.chaosbench.attacks import attacks
from perpend.studies.logic.chaosbench.baselines import FAMILY_ITEMS, FAMILY_LIMIT, LIMIT, Shortcut, shortcuts
from perpend.studies.logic.chaosbench.duplicates import exact_duplicates, near_duplicates
from perpend.studies.logic.chaosbench.items import KEYS, Record, family_of, label_of, read_records, text_of
from perpend.studies.logic.chaosbench.masking import Mask
from perpend.studies.logic.chaosbench.sources import SELECTOR, locate, packaged_root
from perpend.studies.logic.chaosbench.structure import first, tag_of_all

if TYPE_CHECKING:
    from perpend.studies.logic.chaos.questions.world import Sources

NEAR_LIMIT = 50
BALANCE = (0.35, 0.65)
OVERALL_BALANCE = (0.40, 0.60)
BALANCE_ITEMS = 20
DEGENERATE = 0.98
LEAKS = (
    re.compile(r"\bground[ _]truth\b", re.IGNORECASE),
    re.compile(r"\b(?:answer|label|verdict)\s*[:=]", re.IGNORECASE),
    re.compile(r"\b(?:correct|right|expected|true) answer\b(?!\?)", re.IGNORECASE),
    re.compile(r"\bthe answer (?:is|should be|must be)\b", re.IGNORECASE),
    re.compile(r"\bthis (?:statement |claim |one )?is (?:true|false)\b(?!\?)", re.IGNORECASE),
    re.compile(r"\b(?:TRUE|FALSE)\b"),
)
"""What gives the answer away, or names it as a field."""


_BROKEN = "cannot run: the schema is broken"


def items_at(data: Path | None = None) -> list[tuple[str, Record]]:
    """The items of all `*.jsonl` files directly in a folder, or of one file; placed as `locate` finds it.

    None is the set that comes with the package.
    """
    data = packaged_root() / SELECTOR.parent if data is None else locate(data)
    paths = sorted(data.glob("*.jsonl")) if data.is_dir() else [data]
    if not paths:
        raise DataError(f"{data}: no *.jsonl file directly in this folder")
    placed = [entry for path in paths for entry in read_records(path)]
    if not placed:
        raise DataError(f"{data}: no items")
    return placed


def validate(placed: Sequence[tuple[str, Record]], world: Sources | None = None) -> list[Gate]:
    """Every gate on items, each with the place where it stands. Without a sound schema the other gates do not run.

    `world` are the facts and systems that items rest on, the frozen ones unless given.
    """
    known = _frozen() if world is None else world
    gates = content_gates(placed, known)
    if not gates[0].passed:
        return [*gates, Gate("shortcuts", False, _BROKEN)]
    records = [record for _, record in placed]
    usual = {name: system.parameters for name, system in known.systems.items()}
    return [
        *gates,
        *(_shortcut(entry) for entry in shortcuts(records)),
        *(attack.as_gate() for attack in attacks(records, usual)),
    ]


def _frozen() -> Sources:
    from perpend.studies.logic.chaos.questions.world import sources

    return sources()


def content_gates(placed: Sequence[tuple[str, Record]], world: Sources | None = None) -> list[Gate]:
    """The gates that look at items one by one or count them, the schema first; all but shortcuts and attacks.

    `world` are the facts and systems that items rest on, the frozen ones unless given.
    """
    records = [record for _, record in placed]
    schema = _schema(placed)
    known = _frozen() if world is None else world
    needed = {name: record.start for name, record in known.records.items() if record.start_matters}
    later: dict[str, Callable[[], Gate]] = {
        "exact duplicates": lambda: _pairs("exact duplicates", exact_duplicates(records), 0),
        "near duplicates": lambda: _pairs("near duplicates", near_duplicates(records), NEAR_LIMIT),
        "label balance": lambda: _overall(records),
        "label balance by family": lambda: _balance("family", records, [family_of(record) for record in records]),
        "label balance by template": lambda: _balance("template", records, _templates(records)),
        "label balance by predicate": lambda: _balance("predicate", records, tag_of_all(records, "predicate")),
        "label balance by stratum": lambda: _balance("stratum", records, tag_of_all(records, "stratum")),
        "label balance by kind": lambda: _balance("kind", records, tag_of_all(records, "kind")),
        "family degeneracy": lambda: _degeneracy(records),
        "leakage": lambda: _leakage(records),
        "split integrity": lambda: structure.splits(records),
        "share of a system": lambda: structure.shares(records),
        "strata and families": lambda: structure.strata(records),
        "grammar": lambda: _grammar(records),
        "definitions": lambda: structure.definitions(records),
        "starts are stated": lambda: structure.starts(records, needed),
        "variants keep their fact": lambda: structure.variants(records),
        "facts are frozen and agree": lambda: labels.facts(records, known),
        "labels again by another way": lambda: labels.labels(records, known),
    }
    gates = [schema, _ids(records)]
    if not schema.passed:
        return gates + [Gate(name, False, _BROKEN) for name in later]
    return gates + [run() for run in later.values()]


def _schema(placed: Sequence[tuple[str, Record]]) -> Gate:
    bad = []
    for where, record in placed:
        if tuple(record)[: len(KEYS)] != KEYS:
            bad.append(f"{where}: the keys must begin with {', '.join(KEYS)}, in this order")
        elif not all(isinstance(value, str) for value in record.values()):
            bad.append(f"{where}: every value must be a text")
        elif not all(text_of(record, key).strip() for key in KEYS):
            bad.append(f"{where}: a value is blank")
        elif record["ground_truth"] not in ("TRUE", "FALSE"):
            bad.append(f"{where}: ground_truth is {record['ground_truth']!r}, neither TRUE nor FALSE")
    return Gate("schema", not bad, first(bad, len(placed), "items"))


def _ids(records: Sequence[Record]) -> Gate:
    counts = Counter(text_of(record, "id") for record in records)
    bad = [f"{name!r} occurs {count} times" for name, count in counts.items() if count > 1]
    return Gate("duplicate ids", not bad, first(bad, len(counts), "ids"))


def _pairs(name: str, pairs: Sequence[tuple[str, str]], limit: int) -> Gate:
    shown = f", as {pairs[0][0]} and {pairs[0][1]}" if pairs else ""
    return Gate(name, len(pairs) <= limit, f"{len(pairs)} pairs over the whole set, {limit} allowed{shown}")


def _share(records: Sequence[Record]) -> float:
    return sum(label_of(record) == "TRUE" for record in records) / len(records)


def _overall(records: Sequence[Record]) -> Gate:
    share, (lo, hi) = _share(records), OVERALL_BALANCE
    return Gate("label balance", lo <= share <= hi, f"{share:.3f} TRUE of {len(records)}, {lo} to {hi} allowed")


def _balance(what: str, records: Sequence[Record], keys: Sequence[str] | None) -> Gate:
    name = f"label balance by {what}"
    if keys is None:
        return Gate(name, False, f"cannot run: items have no tag {what!r}")
    groups: dict[str, list[Record]] = {}
    for record, key in zip(records, keys, strict=True):
        groups.setdefault(key, []).append(record)
    large = {key: _share(rows) for key, rows in groups.items() if len(rows) >= BALANCE_ITEMS}
    if not large:
        # A handful of items has no families to balance; whether it is balanced itself is another gate.
        return Gate(name, what == "family", f"cannot run: no {what} has {BALANCE_ITEMS} items")
    lo, hi = BALANCE
    bad = [f"{key!r} is {share:.3f} TRUE" for key, share in large.items() if not lo <= share <= hi]
    return Gate(name, not bad, first(bad, len(large), f"values with {BALANCE_ITEMS} items or more"))


def _templates(records: Sequence[Record]) -> list[str]:
    """The tag where it tells templates apart, else the question with names and numbers masked."""
    values = [text_of(record, "template") for record in records]
    if len(set(values)) > 1 and all(values):
        return values
    mask = Mask(records)
    return [mask.masked(record) for record in records]


def _degeneracy(records: Sequence[Record]) -> Gate:
    families: dict[str, list[Record]] = {}
    for record in records:
        families.setdefault(family_of(record), []).append(record)
    shares = {family: _share(rows) for family, rows in families.items() if len(rows) >= BALANCE_ITEMS}
    bad = [f"{family} is {share:.3f} TRUE" for family, share in shares.items() if max(share, 1 - share) > DEGENERATE]
    few = len(families) - len(shares)
    small = f"; {few} with fewer than {BALANCE_ITEMS} items, too few to tell" if few else ""
    return Gate("family degeneracy", not bad, first(bad, len(shares), "families") + small)


def _leakage(records: Sequence[Record]) -> Gate:
    bad = []
    for record in records:
        hit = next((match for leak in LEAKS if (match := leak.search(text_of(record, "question")))), None)
        if hit is not None:
            bad.append(f"{text_of(record, 'id')}: {hit.group()!r}")
    return Gate("leakage", not bad, first(bad, len(records), "questions"))


def _grammar(records: Sequence[Record]) -> Gate:
    mistakes = [(record, mistake(text_of(record, "question"), text_of(record, "system_name"))) for record in records]
    bad = [f"{text_of(record, 'id')}: {wrong}" for record, wrong in mistakes if wrong]
    return Gate("grammar", not bad, first(bad, len(records), "questions"))


def _shortcut(entry: Shortcut) -> Gate:
    name = f"shortcut: {entry.name}"
    if entry.note:
        return Gate(name, False, entry.note)
    overall = entry.overall["balanced_accuracy"].value
    over = {family: one.value for family, one in entry.families.items() if (one.value or 0.0) > FAMILY_LIMIT}
    if overall is None:
        return Gate(name, False, f"cannot run: {entry.overall['balanced_accuracy'].note}")
    shown = "".join(f", {family} {value:.3f}" for family, value in over.items())
    detail = f"balanced accuracy {overall:.3f} (at most {LIMIT}), {len(over)} of {len(entry.families)} families with "
    detail += f"{FAMILY_ITEMS} items or more above {FAMILY_LIMIT}{shown}"
    return Gate(name, overall <= LIMIT and not over, detail)

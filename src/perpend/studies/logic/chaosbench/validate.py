"""The gates of an item set. Each says pass or fail from the data; one that cannot run says so and fails."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path

from perpend.errors import DataError
from perpend.proof.gates import Gate
from perpend.studies.logic.chaos.families.grammar import mistake
from perpend.studies.logic.chaos.families.recompute import Facts
from perpend.studies.logic.chaos.records import load_records
from perpend.studies.logic.chaosbench.baselines import FAMILY_ITEMS, FAMILY_LIMIT, LIMIT, Shortcut, shortcuts
from perpend.studies.logic.chaosbench.duplicates import exact_duplicates, near_duplicates
from perpend.studies.logic.chaosbench.items import KEYS, Record, family_of, label_of, read_records, text_of
from perpend.studies.logic.chaosbench.masking import Mask, systems_of
from perpend.studies.logic.chaosbench.sources import SELECTOR, locate, packaged_root
from perpend.studies.logic.replies import GROUP_TAGS

NEAR_LIMIT = 50
BALANCE = (0.35, 0.65)
OVERALL_BALANCE = (0.40, 0.60)
BALANCE_ITEMS = 20
DEGENERATE = 0.98
HELD_OUT = "heldout_systems"
"""The split whose systems stand in no other split."""
LEAKS = (
    re.compile(r"\bground[ _]truth\b", re.IGNORECASE),
    re.compile(r"\b(?:answer|label|verdict)\s*[:=]", re.IGNORECASE),
    re.compile(r"\b(?:correct|right|expected|true) answer\b", re.IGNORECASE),
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


def validate(placed: Sequence[tuple[str, Record]]) -> list[Gate]:
    """Every gate on items, each with the place where it stands. Without a sound schema the other gates do not run."""
    gates = content_gates(placed)
    if not gates[0].passed:
        return [*gates, Gate("shortcuts", False, _BROKEN)]
    return gates + [_shortcut(entry) for entry in shortcuts([record for _, record in placed])]


def content_gates(placed: Sequence[tuple[str, Record]], facts: Facts | None = None) -> list[Gate]:
    """The gates that look at items one by one or count them, the schema first; all but the shortcuts.

    `facts` are those that labels are compared with, the frozen ones unless given.
    """
    records = [record for _, record in placed]
    schema = _schema(placed)
    later: dict[str, Callable[[], Gate]] = {
        "exact duplicates": lambda: _pairs("exact duplicates", exact_duplicates(records), 0),
        "near duplicates": lambda: _pairs("near duplicates", near_duplicates(records), NEAR_LIMIT),
        "label balance": lambda: _overall(records),
        "label balance by family": lambda: _balance("family", records, [family_of(record) for record in records]),
        "label balance by template": lambda: _balance("template", records, _templates(records)),
        "label balance by predicate": lambda: _balance("predicate", records, _tag(records, "predicate")),
        "family degeneracy": lambda: _degeneracy(records),
        "leakage": lambda: _leakage(records),
        "split integrity": lambda: _splits(records),
        "grammar": lambda: _grammar(records),
        "variants keep their fact": lambda: _variants(records),
        "labels from facts and rules": lambda: _labels(records, facts or Facts(load_records())),
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
    return Gate("schema", not bad, _first(bad, len(placed), "items"))


def _ids(records: Sequence[Record]) -> Gate:
    counts = Counter(text_of(record, "id") for record in records)
    bad = [f"{name!r} occurs {count} times" for name, count in counts.items() if count > 1]
    return Gate("duplicate ids", not bad, _first(bad, len(counts), "ids"))


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
    return Gate(name, not bad, _first(bad, len(large), f"values with {BALANCE_ITEMS} items or more"))


def _tag(records: Sequence[Record], tag: str) -> list[str] | None:
    values = [text_of(record, tag) for record in records]
    return values if all(values) else None


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
    return Gate("family degeneracy", not bad, _first(bad, len(shares), "families") + small)


def _leakage(records: Sequence[Record]) -> Gate:
    bad = []
    for record in records:
        hit = next((match for leak in LEAKS if (match := leak.search(text_of(record, "question")))), None)
        if hit is not None:
            bad.append(f"{text_of(record, 'id')}: {hit.group()!r}")
    return Gate("leakage", not bad, _first(bad, len(records), "questions"))


def _splits(records: Sequence[Record]) -> Gate:
    splits = _tag(records, "split")
    if splits is None:
        return Gate("split integrity", False, "cannot run: items have no tag 'split'")
    groups: dict[str, set[str]] = {}
    systems: dict[str, set[str]] = {}
    for record, split in zip(records, splits, strict=True):
        group = next((text_of(record, tag) for tag in GROUP_TAGS if record.get(tag)), "")
        if group:
            groups.setdefault(group, set()).add(split)
        for system in systems_of(record):
            systems.setdefault(system, set()).add(split)
    bad = [f"group {group!r} is in {', '.join(sorted(those))}" for group, those in groups.items() if len(those) > 1]
    bad += [
        f"system {system!r} of {HELD_OUT} is in {', '.join(sorted(those))} too"
        for system, those in systems.items()
        if HELD_OUT in those and len(those) > 1
    ]
    return Gate("split integrity", not bad, _first(bad, len(groups) + len(systems), "groups and systems"))


def _grammar(records: Sequence[Record]) -> Gate:
    mistakes = [(record, mistake(text_of(record, "question"), text_of(record, "system_name"))) for record in records]
    bad = [f"{text_of(record, 'id')}: {wrong}" for record, wrong in mistakes if wrong]
    return Gate("grammar", not bad, _first(bad, len(records), "questions"))


def _variants(records: Sequence[Record]) -> Gate:
    """Variants of one fact share instance and predicate; only the negation has the other polarity, and other label."""
    name = "variants keep their fact"
    groups: dict[tuple[str, str], list[Record]] = {}
    for record in records:
        if record.get("variant"):
            groups.setdefault((family_of(record), text_of(record, "group")), []).append(record)
    if not groups:
        return Gate(name, False, "cannot run: no item has the tag 'variant'")
    bad = []
    for (_, group), rows in groups.items():
        bad += [
            f"{group!r}: the variants differ in {tag}"
            for tag in ("system_id", "parameters", "predicate")
            if len({text_of(row, tag) for row in rows}) > 1
        ]
        pairs = {(text_of(row, "polarity"), label_of(row)) for row in rows}
        denied = {text_of(row, "polarity") for row in rows if row["variant"] == "negation"}
        if len(pairs) != len({polarity for polarity, _ in pairs}) or len({label for _, label in pairs}) != len(pairs):
            bad.append(f"{group!r}: polarity and label of the variants do not go together")
        elif denied & {text_of(row, "polarity") for row in rows if row["variant"] != "negation"}:
            bad.append(f"{group!r}: a variant that is no negation has its polarity")
    return Gate(name, not bad, _first(bad, len(groups), "facts with variants"))


def _labels(records: Sequence[Record], facts: Facts) -> Gate:
    """Every label against the one that facts and rules give, by the item's tags."""
    bad = []
    for record in records:
        try:
            right = "TRUE" if facts.label(record) else "FALSE"
        except (DataError, KeyError, ValueError) as error:
            bad.append(f"{text_of(record, 'id')}: cannot be computed: {error}")
            continue
        if right != label_of(record):
            bad.append(f"{text_of(record, 'id')}: is {label_of(record)}, facts and rules give {right}")
    return Gate("labels from facts and rules", not bad, _first(bad, len(records), "labels"))


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


def _first(bad: Sequence[str], n: int, what: str) -> str:
    return f"{len(bad)} of {n} {what} break it, as {bad[0]}" if bad else f"{n} {what}, none breaks it"

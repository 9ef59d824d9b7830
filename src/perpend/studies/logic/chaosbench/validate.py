"""The gates of an item set. Each says pass or fail from the data; one that cannot run says so and fails."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from importlib.resources import files
from pathlib import Path

from perpend.canon import JSON
from perpend.disk import temporary_folder
from perpend.errors import DataError, SpecError
from perpend.proof.gates import Gate
from perpend.studies.logic.chaosbench.sets import (
    FAMILIES,
    GROUP_TAGS,
    KEYS,
    SELECTOR,
    SPLIT,
    STRATA,
    SUITE_SIZE,
    Record,
    family_of,
    label_of,
    locate,
    packaged_root,
    read_records,
    text_of,
    write_records,
)
from perpend.studies.logic.chaosbench.shortcuts import Mask, attacks, majorities, numbers_in, systems_of
from perpend.text.subjects import alike, words_of

ALIKE, SHINGLE = 0.8, 4
"""Texts are nearly the same whose runs of four words have a Jaccard index of so much."""
NEAR_LIMIT, COPIES_LIMIT = 50, 0.125
"""Pairs of near duplicates, and the share of items with a near copy in another bundle, that are allowed."""
BALANCE, OVERALL_BALANCE, BALANCE_ITEMS, DEGENERATE = (0.35, 0.65), (0.40, 0.60), 20, 0.98
FAMILY_ITEMS = 600
LARGEST_SHARE, SHARED = 0.15, 200
"""The share that one system may have of a split's items about named systems, where there are so many of them."""
HELD_OUT = "heldout_systems"
"""The split of the reference whose systems are in no other split."""
Records = Sequence[Mapping[str, JSON]]
_PATTERNS = tomllib.loads((files(__package__) / "gates.toml").read_text(encoding="utf-8"))


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
    """Every gate on items, each with the place where it is. Without a sound schema the other gates do not run."""
    gates = content_gates(placed)
    if not gates[0].passed:
        return [*gates, Gate("shortcuts", False, "cannot run: the schema is broken")]
    records = [record for _, record in placed]
    return [*gates, *(shortcut.as_gate() for shortcut in (*majorities(records), *attacks(records)))]


def content_gates(placed: Sequence[tuple[str, Record]]) -> list[Gate]:
    """The gates that look at items one by one or count them, the schema first; all but shortcuts."""
    records = [record for _, record in placed]
    ids = Counter(text_of(record, "id") for record in records)
    twice = [f"{name!r} occurs {count} times" for name, count in ids.items() if count > 1]
    gates = [_schema(placed), _gate("duplicate ids", twice, len(ids), "ids")]
    if not gates[0].passed:
        names = (*_GATES, "near duplicates", "near copies")
        return gates + [Gate(name, False, "cannot run: the schema is broken") for name in names]
    for name, (gate, tag) in _GATES.items():
        can_run = all(text_of(record, tag) for record in records) or not tag
        no_tag = f"cannot run: items have no tag {tag!r}"
        gates.append(gate(name, records) if can_run else Gate(name, False, no_tag))
    return [*gates, *_near(records)]


def _gate(name: str, bad: Sequence[str], n: int, what: str, more: str = "") -> Gate:
    """How many of n things break a gate, and the first that does."""
    told = f"{len(bad)} of {n} {what} break it, as {bad[0]}" if bad else f"{n} {what}, none breaks it"
    return Gate(name, not bad, told + more)


def _by(records: Records, *tags: str) -> dict[tuple[str, ...], list[Mapping[str, JSON]]]:
    """The items of each value of some tags."""
    groups: dict[tuple[str, ...], list[Mapping[str, JSON]]] = {}
    for record in records:
        groups.setdefault(tuple(text_of(record, tag) for tag in tags), []).append(record)
    return groups


def _schema(placed: Sequence[tuple[str, Record]]) -> Gate:
    bad = []
    for where, record in placed:
        texts = {key: value for key, value in record.items() if key != "cites" or not isinstance(value, list)}
        if tuple(record)[: len(KEYS)] != KEYS:
            bad.append(f"{where}: the keys must begin with {', '.join(KEYS)}, in this order")
        elif not all(isinstance(value, str) for value in texts.values()):
            bad.append(f"{where}: every value must be a text, but for a list of texts under 'cites'")
        elif not all(text_of(record, key).strip() for key in KEYS):
            bad.append(f"{where}: a value is blank")
        elif record["ground_truth"] not in ("TRUE", "FALSE"):
            bad.append(f"{where}: ground_truth is {record['ground_truth']!r}, neither TRUE nor FALSE")
    return _gate("schema", bad, len(placed), "items")


def _exact(name: str, records: Records) -> Gate:
    """The same up to case, punctuation and blanks, over the whole set; each is paired with its first occurrence."""
    first: dict[str, str] = {}
    pairs = []
    for record in records:
        text, own = " ".join(words_of(text_of(record, "question"))), text_of(record, "id")
        if first.setdefault(text, own) != own:
            pairs.append((first[text], own))
    return _pairs(name, pairs, 0)


def near_pairs(records: Records) -> list[tuple[str, str, bool]]:
    """Pairs of ids in different bundles that share four fifths of their runs of four words.

    And whether they are nearly one question: of one system, with the same numbers, in no common group, but not one
    text.
    """
    words = [words_of(text_of(record, "question")) for record in records]
    runs = [frozenset(" ".join(w[at : at + SHINGLE]) for at in range(max(1, len(w) - SHINGLE + 1))) for w in words]
    keys = [(text_of(r, "system_id"), *sorted(numbers_in(text_of(r, "question")))) for r in records]
    groups = [{text_of(record, tag) for tag in GROUP_TAGS} - {""} for record in records]
    bundles = [text_of(record, "pair") or text_of(record, "id") for record in records]
    return [
        (
            text_of(records[one], "id"),
            text_of(records[other], "id"),
            keys[one] == keys[other] and not groups[one] & groups[other] and words[one] != words[other],
        )
        for one, other in alike(runs, ALIKE)
        if bundles[one] != bundles[other]
    ]


def _near(records: Records) -> list[Gate]:
    """Of near duplicates few pairs; of items with a near copy, which has other numbers, a share."""
    pairs = near_pairs(records)
    copies = {own for one, other, _ in pairs for own in (one, other)}
    share, shown = len(copies) / len(records), f", as {min(copies)}" if copies else ""
    detail = f"{share:.3f} of {len(records)} items have one in another bundle, {COPIES_LIMIT} allowed{shown}"
    same = [(one, other) for one, other, is_one in pairs if is_one]
    return [_pairs("near duplicates", same, NEAR_LIMIT), Gate("near copies", share <= COPIES_LIMIT, detail)]


def _pairs(name: str, pairs: Sequence[tuple[str, str]], limit: int) -> Gate:
    shown = f", as {pairs[0][0]} and {pairs[0][1]}" if pairs else ""
    return Gate(name, len(pairs) <= limit, f"{len(pairs)} pairs over the whole set, {limit} allowed{shown}")


def _share(records: Records) -> float:
    return sum(label_of(record) == "TRUE" for record in records) / len(records)


def _overall(name: str, records: Records) -> Gate:
    share, (lo, hi) = _share(records), OVERALL_BALANCE
    return Gate(name, lo <= share <= hi, f"{share:.3f} TRUE of {len(records)}, {lo} to {hi} allowed")


def _balance(name: str, records: Records) -> Gate:
    """TRUE as often as FALSE under each value; a template is the form of the sentence where the tag never varies."""
    what = name.rpartition(" ")[2]
    tag = "type" if what == "family" else what
    keys = [text_of(record, tag) for record in records]
    if what == "template" and len(set(keys)) == 1:
        mask = Mask(records)
        keys = [mask.masked(record) for record in records]
    groups: dict[str, list[Mapping[str, JSON]]] = {}
    for record, key in zip(records, keys, strict=True):
        groups.setdefault(key, []).append(record)
    large = {key: _share(rows) for key, rows in groups.items() if len(rows) >= BALANCE_ITEMS}
    if not large:
        # A handful of items has no families to balance; whether it is balanced itself is another gate.
        return Gate(name, what == "family", f"cannot run: no {what} has {BALANCE_ITEMS} items")
    lo, hi = BALANCE
    bad = [f"{key!r} is {share:.3f} TRUE" for key, share in large.items() if not lo <= share <= hi]
    return _gate(name, bad, len(large), f"values with {BALANCE_ITEMS} items or more")


def _degeneracy(name: str, records: Records) -> Gate:
    families = {family: _share(rows) for (family,), rows in _by(records, "type").items() if len(rows) >= BALANCE_ITEMS}
    bad = [f"{family} is {share:.3f} TRUE" for family, share in families.items() if max(share, 1 - share) > DEGENERATE]
    few = len({family_of(record) for record in records}) - len(families)
    small = f"; {few} with fewer than {BALANCE_ITEMS} items, too few to tell" if few else ""
    return _gate(name, bad, len(families), "families", small)


def _leakage(name: str, records: Records) -> Gate:
    leaks = [re.compile(leak) for leak in _PATTERNS["leaks"]]
    hits = ((record, leak.search(text_of(record, "question"))) for record in records for leak in leaks)
    bad = {text_of(record, "id"): f"{text_of(record, 'id')}: {hit.group()!r}" for record, hit in hits if hit}
    return _gate(name, list(bad.values()), len(records), "questions")


def _splits(name: str, records: Records) -> Gate:
    """Whatever shares a bundle or a group is in one split; and every system, where splits are by system."""
    seen: dict[tuple[str, str], set[str]] = {}
    for record in records:
        shared = [(tag, text_of(record, tag)) for tag in (*GROUP_TAGS, "pair") if record.get(tag)]
        for key in (*shared, *(("system", system) for system in systems_of(record))):
            seen.setdefault(key, set()).add(text_of(record, "split"))
    by_system = all(record.get("stratum") for record in records)
    bad = [
        f"{what} {key!r} is in {', '.join(sorted(those))}"
        for (what, key), those in seen.items()
        if len(those) > 1 and (what != "system" or by_system or HELD_OUT in those)
    ]
    return _gate(name, bad, len(seen), "groups, pairs and systems")


def _shares(name: str, records: Records) -> Gate:
    """No system makes up more than its share of the items about named systems of a split."""
    bad, largest = [], []
    for (split,), rows in sorted(_by(records, "split").items()):
        named = [systems for record in rows if (systems := systems_of(record))]
        if len(named) >= SHARED:
            system, count = Counter(system for systems in named for system in systems).most_common(1)[0]
            largest.append(f"{split} {count / len(named):.3f} {system}")
            if count > LARGEST_SHARE * len(named):
                bad.append(f"{system} makes up {count / len(named):.3f} of {split}")
    few = f"no split has {SHARED} items about named systems"
    figures = f"{LARGEST_SHARE} allowed; largest: {'; '.join(largest)}" if largest else few
    return _gate(name, bad, len(largest), "splits", f"; {figures}")


def _strata(name: str, records: Records) -> Gate:
    """Every stratum is there, and every family, with enough items for itself and for its suite; textbook cites."""
    strata, families = (Counter(text_of(record, tag) for record in records) for tag in ("stratum", "type"))
    tested = Counter(text_of(record, "type") for record in records if record.get("split") == SPLIT)
    bad = [f"{key} has no item" for key in STRATA if not strata[key]]
    bad += [
        f"{key} has {families[key]} items, {FAMILY_ITEMS} needed" for key in FAMILIES if families[key] < FAMILY_ITEMS
    ]
    bad += [f"{key} has {tested[key]} in {SPLIT}, {SUITE_SIZE} needed" for key in FAMILIES if tested[key] < SUITE_SIZE]
    bad += [f"stratum {key!r} is unknown" for key in strata if key not in STRATA]
    bad += [f"family {key!r} is unknown" for key in families if key not in FAMILIES]
    uncited = sum(record["stratum"] == "textbook" and not record.get("cites") for record in records)
    bad += [f"{uncited} textbook items cite nothing"] if uncited else []
    figures = ", ".join(f"{key} {strata[key]}" for key in STRATA)
    return _gate(name, bad, len(STRATA) + len(FAMILIES), "strata and families", f"; {figures}")


def _variants(name: str, records: Records) -> Gate:
    """Wordings of the same facts: every variant of a bundle has as many items as the others, half of them TRUE."""
    bad, bundles = [], _by(records, "type", "pair")
    for (_, pair), rows in bundles.items():
        variants = _by(rows, "variant").values()
        if len({len(own) for own in variants}) > 1:
            bad.append(f"{pair!r}: a variant is missing or occurs twice")
        elif any(_share(own) != 0.5 for own in variants):
            bad.append(f"{pair!r}: a variant is TRUE more often than FALSE, or less")
    return _gate(name, bad, len(bundles), "bundles of variants")


_OPEN = {")": "(", "]": "[", "}": "{"}


def mistake(question: str) -> str | None:
    """What is wrong with the writing of a question, as far as can be seen without understanding; None: nothing."""
    # Dots of an enumeration, 'k = 1, ..., 10', are one mark.
    question = question.replace("...", "…")
    opened: list[str] = []
    for mark in question:
        if mark in _OPEN.values():
            opened.append(mark)
        elif mark in _OPEN and (not opened or opened.pop() != _OPEN[mark]):
            return "a bracket is not closed"
    found = (complaint for complaint, pattern in _PATTERNS["mistakes"].items() if re.search(pattern, question))
    return "a bracket is not closed" if opened else next(found, None)


def _grammar(name: str, records: Records) -> Gate:
    found = ((text_of(record, "id"), mistake(text_of(record, "question"))) for record in records)
    return _gate(name, [f"{own}: {wrong}" for own, wrong in found if wrong], len(records), "questions")


_NEEDING = ("reason", "compute")
"""Strata that ask whether something is so. Data says by itself what its words mean; logic takes them as given; in
textbook the terms are what is asked for."""


def _definitions(name: str, records: Records) -> Gate:
    """A term of the table occurs only with its definition in the same question."""
    bad, seen = [], 0
    for record in (record for record in records if record["stratum"] in _NEEDING):
        question = text_of(record, "question")
        for term, (pattern, *words) in _PATTERNS["conventions"].items():
            if re.search(pattern, question):
                seen += 1
                if not any(word in question for word in words):
                    bad.append(f"{text_of(record, 'id')}: {term!r} without a definition")
    return _gate(name, bad, seen, "uses of a term that is a convention")


def _stated(name: str, records: Records) -> Gate:
    """A computation says where it starts; one of the long run also what is left out, or after how long it is."""
    asked = [record for record in records if record.get("stratum") == "compute"]
    if not asked:
        return Gate(name, False, "cannot run: no item is of the stratum 'compute'")
    start, long_run, horizon = (re.compile(_PATTERNS["computations"][key]) for key in ("start", "long_run", "horizon"))
    is_start = name.startswith("starts")
    questions = {text_of(record, "id"): text_of(record, "question") for record in asked}
    due = {own: question for own, question in questions.items() if is_start or long_run.search(question)}
    wanted = start if is_start else horizon
    bad = [own for own, question in due.items() if not (wanted.search(question) and numbers_in(question))]
    return _gate(name, bad, len(due), "questions that ask for a computation")


FACTORY = Path(__file__).parents[5] / "factory"
"""What makes the packaged set and labels it a second time: beside the source, and in no installed package."""


def run_factory(*words: str | Path) -> subprocess.CompletedProcess[str]:
    """What `python -m factory` says to these words; SpecError with the line to type where it is not there."""
    line = " ".join(map(str, ("python -m factory", *words)))
    if not (FACTORY / "__main__.py").is_file():
        raise SpecError(f"the factory of the items is not installed with perpend; in a checkout of its source: {line}")
    command = [sys.executable, "-m", "factory", *map(str, words)]
    return subprocess.run(command, cwd=FACTORY.parent, capture_output=True, text=True, check=False)  # noqa: S603 - ours


def _labels(name: str, records: Records) -> Gate:
    """Every label by the factory's second way, which reads what is printed; named results by its second source."""
    own = [record for record in records if (record["stratum"] == "textbook") == name.startswith("textbook")]
    try:
        with temporary_folder("labels") as folder:
            write_records(folder / "items.jsonl", own)
            done = run_factory("check", folder / "items.jsonl")
    except SpecError as error:
        return Gate(name, False, f"not run: {str(error).replace(str(folder / 'items.jsonl'), 'FILE')}")
    told = (done.stdout or done.stderr).strip().splitlines()
    return Gate(name, bool(own) and done.returncode == 0, "; ".join([*told[-1:], *told[:-1][:1]]) or "it said nothing")


_GATES: Mapping[str, tuple[Callable[[str, Records], Gate], str]] = {
    "exact duplicates": (_exact, ""),
    "label balance": (_overall, ""),
    "label balance by family": (_balance, "type"),
    **{f"label balance by {tag}": (_balance, tag) for tag in ("template", "stratum", "kind")},
    "family degeneracy": (_degeneracy, ""),
    "leakage": (_leakage, ""),
    "split integrity": (_splits, "split"),
    "share of a system": (_shares, "split"),
    "strata and families": (_strata, "stratum"),
    "grammar": (_grammar, ""),
    "definitions": (_definitions, "stratum"),
    "starts stated": (_stated, "stratum"),
    "horizons stated": (_stated, "stratum"),
    "variants keep their fact": (_variants, "variant"),
    "textbook results by a second source": (_labels, "stratum"),
    "labels again by another way": (_labels, "stratum"),
}
"""Each gate, and the tag that it needs of every item."""

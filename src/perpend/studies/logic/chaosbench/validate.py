"""The gates of an item set, and what can be guessed of a label without physics, mathematics or logic.

Each gate says pass or fail from the data; one that cannot run says so and fails. The majority label of a sentence's
form needs no library: `analyze-runs` shows it beside the runs. The attacks of `validate` are fitted by scikit-learn to
each kind of items: to words, to numbers, to order and length, to all of these, and to the nearest question. What they
answer was held out: whole bundles, whole groups, or the test split.
"""

from __future__ import annotations

import re
import sys
import tomllib
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.resources import files
from itertools import pairwise
from pathlib import Path
from subprocess import CompletedProcess, run
from typing import Any, TypeAlias

import numpy as np
from threadpoolctl import threadpool_limits

from perpend.canon import JSON
from perpend.disk import temporary_folder
from perpend.errors import DataError, SpecError
from perpend.proof.gates import Gate
from perpend.stats.binary import binary_metrics
from perpend.stats.gate import FloatArray, IntArray
from perpend.studies.logic.chaosbench import sets
from perpend.studies.logic.chaosbench.sets import (
    FAMILIES,
    GROUP_TAGS,
    KEYS,
    STRATA,
    Record,
    family_of,
    grouped,
    label_of,
    text_of,
)
from perpend.studies.logic.chaosbench.subjects import alike, learned_names, words_of
from perpend.studies.logic.report import shown
from perpend.types import Estimate

ALIKE, SHINGLE = 0.8, 4
"""Texts are nearly the same whose runs of four words have a Jaccard index of so much."""
NEAR_LIMIT, COPIES_LIMIT = 50, 0.125
"""Pairs of near duplicates, and the share of items with a near copy in another bundle, that are allowed."""
BALANCE, OVERALL_BALANCE, BALANCE_ITEMS, DEGENERATE = (0.35, 0.65), (0.40, 0.60), 20, 0.98
FAMILY_ITEMS = 600
DEGENERACY = "family degeneracy"
LARGEST_SHARE, SHARED = 0.15, 200
"""The share that one system may have of a split's items about named systems, where there are so many of them."""
OTHER_SYSTEMS = "heldout_systems"
"""The split of the reference whose systems are in no other split."""
Records: TypeAlias = Sequence[Mapping[str, JSON]]
_PATTERNS = tomllib.loads((files(__package__) / "gates.toml").read_text(encoding="utf-8"))


def items_at(data: Path | None = None) -> list[tuple[str, Record]]:
    """The items of all `*.jsonl` files directly in a folder, or of one file; placed as `locate` finds it.

    None is the set that comes with the package.
    """
    data = sets.packaged_root() / sets.SELECTOR.parent if data is None else sets.locate(data)
    paths = sorted(data.glob("*.jsonl")) if data.is_dir() else [data]
    if not paths:
        raise DataError(f"{data}: no *.jsonl file directly in this folder")
    placed = [entry for path in paths for entry in sets.read_records(path)]
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
    what = "family" if name == DEGENERACY else name.rpartition(" ")[2]
    keys = [text_of(record, "type" if what == "family" else what) for record in records]
    if what == "template" and len(set(keys)) == 1:
        keys = masked(records)
    groups = grouped(zip(keys, records, strict=True))
    large = {key: _share(rows) for key, rows in groups.items() if len(rows) >= BALANCE_ITEMS}
    if not large:
        # A handful of items has no families to balance; whether it is balanced itself is another gate.
        few = f"no {what} has {BALANCE_ITEMS} items"
        return Gate(name, what == "family", f"{few}: too few to tell" if what == "family" else f"cannot run: {few}")
    lo, hi = (1.0 - DEGENERATE, DEGENERATE) if name == DEGENERACY else BALANCE
    bad = [f"{key!r} is {share:.3f} TRUE" for key, share in large.items() if not lo <= share <= hi]
    return _gate(name, bad, len(large), f"values with {BALANCE_ITEMS} items or more")


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
        if len(those) > 1 and (what != "system" or by_system or OTHER_SYSTEMS in those)
    ]
    return _gate(name, bad, len(seen), "groups, pairs and systems")


def _shares(name: str, records: Records) -> Gate:
    """No system makes up more than its share of the items about named systems of a split."""
    bad, largest = [], []
    for split, rows in sorted(grouped((text_of(record, "split"), record) for record in records).items()):
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
    tested = Counter(text_of(record, "type") for record in records if record.get("split") == sets.SPLIT)
    bad = [f"{key} has no item" for key in STRATA if not strata[key]]
    for counts, what, least in ((families, "items", FAMILY_ITEMS), (tested, f"in {sets.SPLIT}", sets.SUITE_SIZE)):
        bad += [f"{key} has {counts[key]} {what}, {least} needed" for key in FAMILIES if counts[key] < least]
    bad += [f"stratum {key!r} is unknown" for key in strata if key not in STRATA]
    bad += [f"family {key!r} is unknown" for key in families if key not in FAMILIES]
    uncited = sum(record["stratum"] == "textbook" and not record.get("cites") for record in records)
    bad += [f"{uncited} textbook items cite nothing"] if uncited else []
    figures = ", ".join(f"{key} {strata[key]}" for key in STRATA)
    return _gate(name, bad, len(STRATA) + len(FAMILIES), "strata and families", f"; {figures}")


def _variants(name: str, records: Records) -> Gate:
    """Wordings of the same facts: every variant of a bundle has as many items as the others, half of them TRUE."""
    bad, bundles = [], grouped(((text_of(one, "type"), text_of(one, "pair")), one) for one in records)
    for (_, pair), rows in bundles.items():
        variants = grouped((text_of(row, "variant"), row) for row in rows).values()
        if len({len(own) for own in variants}) > 1:
            bad.append(f"{pair!r}: a variant is missing or occurs twice")
        elif any(_share(own) != 0.5 for own in variants):
            bad.append(f"{pair!r}: a variant is TRUE more often than FALSE, or less")
    return _gate(name, bad, len(bundles), "bundles of variants")


def mistake(question: str) -> str | None:
    """What is wrong with the writing of a question, as far as can be seen without understanding; None: nothing."""
    # Dots of an enumeration, 'k = 1, ..., 10', are one mark.
    question = question.replace("...", "…")
    brackets, left = "", re.sub(r"[^(){}\[\]]", "", question)
    while left != brackets:
        brackets, left = left, re.sub(r"\(\)|\[\]|\{\}", "", left)
    found = (complaint for complaint, pattern in _PATTERNS["mistakes"].items() if re.search(pattern, question))
    return "a bracket is not closed" if brackets else next(found, None)


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


def run_factory(verb: str, *words: str | Path, typed: str = "", given: str | None = None) -> CompletedProcess[str]:
    """What `python -m factory` says to these words; SpecError with the line to type, `typed`, where it is not there."""
    if not (FACTORY / "__main__.py").is_file():
        line = f"python -m factory {verb} {typed}"
        raise SpecError(f"the factory of the items is not installed with perpend; in a checkout of its source: {line}")
    command = [sys.executable, "-m", "factory", verb, *map(str, words)]
    return run(command, cwd=FACTORY.parent, input=given, capture_output=True, text=True, check=False)  # noqa: S603 - ours


def _labels(name: str, records: Records) -> Gate:
    """Every label by the factory's second way, which reads what is printed; named results by its second source."""
    own = [record for record in records if (record["stratum"] == "textbook") == name.startswith("textbook")]
    try:
        with temporary_folder("labels") as folder:
            sets.write_records(folder / "items.jsonl", own)
            done = run_factory("check", folder / "items.jsonl", typed="FILE")
    except SpecError as error:
        return Gate(name, False, f"not run: {error}")
    told = (done.stdout or done.stderr).strip().splitlines()
    return Gate(name, bool(own) and done.returncode == 0, "; ".join([*told[-1:], *told[:-1][:1]]) or "it said nothing")


_GATES: Mapping[str, tuple[Callable[[str, Records], Gate], str]] = {
    "exact duplicates": (_exact, ""),
    "label balance": (_overall, ""),
    "label balance by family": (_balance, "type"),
    **{f"label balance by {tag}": (_balance, tag) for tag in ("template", "stratum", "kind")},
    DEGENERACY: (_balance, ""),
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


LIMIT = 0.55
"""Balanced accuracy that nothing without understanding may exceed."""
COUNTED, SHOWN_ITEMS = 200, 60
"""Items from which the value of a cell counts, where otherwise its interval does; and from which a family is shown."""
FOLDS = 5
INSTALL = "cannot run without scikit-learn: pip install 'perpend[attacks]'"
NEAREST = "nearest question"
ATTACKS = ("words 1-3", "numbers", "order and length", "all of these", NEAREST, f"opposite of the {NEAREST}")
HELD_OUT = ("bundles held out", "groups held out", "train to test")


@dataclass(frozen=True, slots=True)
class Shortcut:
    """One way of guessing. `cells` have its balanced accuracy on all items, each family, stratum and kind.

    `note` says why it cannot run.
    """

    name: str
    overall: Mapping[str, Estimate] = field(default_factory=dict)
    cells: Mapping[str, Estimate] = field(default_factory=dict)
    note: str = ""

    @property
    def families(self) -> dict[str, Estimate]:
        """Balanced accuracy in each family with at least 60 items."""
        known = {name.removeprefix("family "): one for name, one in self.cells.items() if name.startswith("family ")}
        return {name: one for name, one in known.items() if one.n >= SHOWN_ITEMS}

    def as_json(self) -> dict[str, JSON]:
        """The numbers as JSON."""
        return {
            "name": self.name,
            "note": self.note,
            **{key: estimate.as_json() for key, estimate in self.overall.items()},
            "families": {family: estimate.value for family, estimate in self.families.items()},
        }

    def as_gate(self) -> Gate:
        """Fails on a value above the limit in a cell of 200 items or more, on an interval wholly above it in any."""
        ordered = sorted(self.cells.items(), key=lambda cell: -(cell[1].value or 0.0))
        over = [(name, one) for name, one in ordered if _is_over(one)]
        listed = "; ".join(f"{name} {shown(one)} (n = {one.n})" for name, one in over or ordered[:1])
        detail = f"{len(over)} of {len(ordered)} cells above {LIMIT}" + (": " if over else "; highest: ") + listed
        return Gate(f"shortcut: {self.name}", bool(ordered) and not over, detail if ordered else self.note)


def _is_over(one: Estimate) -> bool:
    return (one.n >= COUNTED and (one.value or 0.0) > LIMIT) or (one.lo or 0.0) > LIMIT


def _cells(records: Records) -> dict[str, IntArray]:
    """The rows of all items, each family, stratum and kind; the family is the kind where items have no such tag."""
    cells = {"all": np.arange(len(records))}
    for part, keys in (
        ("family", [family_of(record) for record in records]),
        ("stratum", [text_of(record, "stratum") for record in records]),
        ("kind", [f"{text_of(r, 'stratum')} {text_of(r, 'kind') or family_of(r)}".strip() for r in records]),
    ):
        cells |= {f"{part} {key}": np.flatnonzero(np.array(keys) == key) for key in sorted({*keys} - {""})}
    return cells


def _measured(
    name: str, truth: FloatArray, answers: FloatArray, clusters: Any, cells: Mapping[str, IntArray]
) -> Shortcut:
    """The numbers of some answers, 1 or 0 each, or nan where an item was not asked."""
    asked = {cell: rows[~np.isnan(answers[rows])] for cell, rows in cells.items()}
    found = {cell: binary_metrics(truth[r], answers[r], clusters[r]) for cell, r in asked.items() if len(r)}
    if not found:
        return Shortcut(name, note="cannot run: no item could be held out")
    overall = {key: found["all"][key] for key in ("balanced_accuracy", "mcc", "tpr", "tnr")}
    return Shortcut(name, overall, {cell: metrics["balanced_accuracy"] for cell, metrics in found.items()})


def majorities(records: Records, pool: Records = ()) -> list[Shortcut]:
    """The majority label of the same form over other systems, learned from `records` and `pool` together."""
    known = list({text_of(record, "id"): record for record in (*pool, *records)}.values())
    asked = {text_of(record, "id") for record in records}
    templates = [text_of(record, "template") for record in known]
    # An item of a bundle that names no system is its bundle's.
    systems = [text_of(one, "pair" if one.get("pair") and not systems_of(one) else "system_id") for one in known]
    few = "cannot run: the items name fewer than two systems" if len(set(systems)) < 2 else ""
    tagged = len(set(templates)) > 1 and all(templates)
    no_tag = few or ("" if tagged else "cannot run: items have no tag 'template' that varies")
    forms = {
        "template majority, system masked": (few, masked(known)),
        "template tag majority": (no_tag, templates),
    }
    cells, found = _cells(known), []
    truth = np.array([label_of(record) == "TRUE" for record in known], dtype=np.float64)
    clusters = np.array([system or str(row) for row, system in enumerate(systems)])
    for name, (note, keys) in forms.items():
        everywhere, own = Counter[str](), Counter[tuple[str, str]]()
        for is_true, key, system in zip(truth, keys, systems, strict=True):
            everywhere[key] += 1 if is_true else -1
            own[key, system] += 1 if is_true else -1
        # FALSE also on a tie, and where no other system has the form.
        votes = [everywhere[key] > own[key, system] for key, system in zip(keys, systems, strict=True)]
        answers = np.where([text_of(r, "id") in asked for r in known], np.array(votes, dtype=np.float64), np.nan)
        found.append(Shortcut(name, note=note) if note else _measured(name, truth, answers, clusters, cells))
    return found


def attacks(records: Records) -> list[Shortcut]:
    """Every attack, with what it answers held out in each way. Without scikit-learn it says so."""
    try:
        import sklearn.ensemble  # noqa: F401 - before its threads are limited
    except ImportError:
        return [Shortcut(f"{attack}, {how}", note=INSTALL) for how in HELD_OUT for attack in ATTACKS]
    cells = _cells(records)
    truth = np.array([label_of(record) == "TRUE" for record in records], dtype=np.float64)
    bundles = [text_of(record, "pair") or text_of(record, "id") for record in records]
    # All of a bundle is held out with its first item; items without a group are those of their system.
    first, tags = dict[str, str](), (*GROUP_TAGS, "system_id")
    groups = [
        first.setdefault(bundle, next((text_of(record, tag) for tag in tags if record.get(tag)), bundle))
        for bundle, record in zip(bundles, records, strict=True)
    ]
    splits = [text_of(record, "split") for record in records]
    owners = dict(zip(HELD_OUT, map(np.array, (bundles, groups, splits)), strict=True))
    answers = {(attack, how): np.full(len(records), np.nan) for how in HELD_OUT for attack in ATTACKS}
    with threadpool_limits(1):  # small fits: several threads only wait for each other
        for rows in (rows for cell, rows in cells.items() if cell.startswith("kind ")):
            models, right = _models([records[row] for row in rows.tolist()]), truth[rows]
            for how, own in owners.items():
                for train, test in _folds(how, own[rows]):
                    if len(test) and 0 < right[train].sum() < len(train):
                        for attack, (model, table) in models.items():
                            guess = model.fit(table[train], right[train]).predict(table[test])
                            answers[attack, how][rows[test]] = guess
    for how in HELD_OUT:
        answers[ATTACKS[-1], how] = 1.0 - answers[NEAREST, how]
    clusters = np.array(bundles if any(record.get("pair") for record in records) else groups)
    return [_measured(", ".join(name), truth, answer, clusters, cells) for name, answer in answers.items()]


def _folds(how: str, own: Any) -> Iterator[tuple[IntArray, IntArray]]:
    """The rows of a kind that are learned from, and those that are answered: each once, none on both sides."""
    from sklearn.model_selection import GroupKFold

    folds = min(FOLDS, len(set(own.tolist())))
    if how == "train to test":
        yield np.flatnonzero(own == "train"), np.flatnonzero(own == "test")
    elif folds > 1:
        yield from GroupKFold(folds).split(own, groups=own)


def _models(records: Records) -> dict[str, tuple[Any, Any]]:
    """The attacks on the items of one kind: a classifier, and the table that it is fitted to."""
    from sklearn.ensemble import HistGradientBoostingClassifier
    from sklearn.feature_extraction import DictVectorizer
    from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer
    from sklearn.linear_model import LogisticRegression
    from sklearn.neighbors import KNeighborsClassifier

    token = r"[-+−]?\d+(?:\.\d+)?|\w+|[=<>]"  # noqa: S105 - of a question
    texts = [" ".join(text_of(r, tag) for tag in ("question", "system_id", "template")) for r in records]
    words = CountVectorizer(ngram_range=(1, 3), binary=True, token_pattern=token).fit_transform(texts)
    alike = TfidfVectorizer(token_pattern=token).fit_transform(texts)
    numbers, order = ([look(text_of(record, "question")) for record in records] for look in (_numbers, _order))
    tags = ("template", "variant", "type")
    together = [
        {**a, **b, **{tag: text_of(record, tag) for tag in tags}}
        for a, b, record in zip(numbers, order, records, strict=True)
    ]
    trees = HistGradientBoostingClassifier(
        max_iter=40, learning_rate=0.2, max_depth=4, min_samples_leaf=8, early_stopping=False
    )
    tables = (DictVectorizer(sparse=False).fit_transform(rows) for rows in (numbers, order, together))
    nearest = KNeighborsClassifier(n_neighbors=1, metric="cosine")
    models = ((LogisticRegression(max_iter=200), words), *((trees, table) for table in tables), (nearest, alike))
    return dict(zip(ATTACKS, models, strict=False))


_WORD = re.compile(r"[a-z]+(?:['’-][a-z]+)*")
_NUMBER = re.compile(r"(?<![\w.])[-+−]?\d+(?:\.\d+)?(?:e[-+]?\d+)?", re.IGNORECASE)
_SENTENCE = re.compile(r"(?<=[.?!;:])\s+")
_DENIES = re.compile(
    r"\b(?:not?|never|neither|nor|none|without|cannot|fails|denies|false|wrong|incorrect|untrue|lacks|nothing|\w+n't)\b"
)
_ORDINAL = re.compile(r"\b(?:first|second|third|fourth|former|latter|middle|earlier|later|last|final)\b")


def numbers_in(question: str) -> list[str]:
    """The numbers of a question as they are written, signs included; digits that are part of a word are none."""
    return [found.replace("−", "-") for found in _NUMBER.findall(question)]


def _numbers(question: str) -> dict[str, float]:
    """Sizes, steps, extremes and ranks of the numbers, how they are written, and which the last sentence repeats."""
    texts = numbers_in(question)
    values = [float(text) for text in texts] or [0.0]
    n, first, last, most, least = len(texts) or 1, values[0], values[-1], max(values), min(values)
    *said, asked = (set(numbers_in(part)) for part in _SENTENCE.split(question))
    row: dict[str, float] = {
        "numbers": len(texts),
        "largest": most,
        "smallest": least,
        "mean": sum(values) / n,
        "last less first": last - first,
        "last over first": last / (first or 1.0),
        "place of the largest": values.index(most) / n,
        "place of the smallest": values.index(least) / n,
        "rank of the first": sum(value < first for value in values) / n,
        "rank of the last": sum(value < last for value in values) / n,
        "place where the last stood before": values.index(last) / n,
        "rising steps": sum(b > a for a, b in pairwise(values)) / n,
        "whole numbers": sum("." not in text for text in texts) / n,
        "negative numbers": sum(value < 0 for value in values) / n,
        "odd numbers": sum(int(text[-1]) % 2 for text in texts) / n,
        "asked": len(asked),
        "asked and said": len(asked & set[str]().union(*said)),
    }
    for place in {*range(min(6, len(texts))), *range(-min(3, len(texts)), 0)}:
        text, value = texts[place], values[place]
        row |= {f"value {place}": value, f"step {place}": value - values[(place - 1) % n], f"length {place}": len(text)}
        row |= {f"decimals {place}": len(text.partition(".")[2]), f"last digit {place}": int(text[-1])}
        row |= {f"odd {place}": int(text[-1]) % 2}
    return row


def _order(question: str) -> dict[str, float | str]:
    """Lengths, marks and words that deny; ordinals; where the words of the last sentence were said before."""
    sentences = _SENTENCE.split(question.lower())
    *before, asked = ({*_WORD.findall(sentence)} for sentence in sentences)
    shared = [len(asked & said) for said in before] or [0]
    place, denials, ordinals = shared.index(max(shared)), _DENIES.findall(question.lower()), _ORDINAL.findall(question)
    is_denied = bool(_DENIES.search(sentences[-1]))
    return {
        "characters": len(question),
        "words": len(question.split()),
        "sentences": len(sentences),
        "words of the first sentence": len(sentences[0].split()),
        "words of the last sentence": len(sentences[-1].split()),
        "denials": len(denials),
        "denials, odd": len(denials) % 2,
        "denied": is_denied,
        "denied as there": is_denied == bool(_DENIES.search(sentences[place])),
        "first ordinal": (ordinals or [""])[0],
        "last ordinal": (ordinals or [""])[-1],
        "sentence asked about": place / len(shared),
        "words shared with it": shared[place],
        "sentences that share as many": shared.count(shared[place]),
        "words asked that were said": len(asked & set[str]().union(*before)) / max(1, len(asked)),
        **{f"count of {mark}": question.count(mark) for mark in ",(=^*-'["},
    }


NO_SYSTEM = frozenset(("", "generic"))
"""Values of `system_id` that name no system."""
_NAME, _HASH = "□", "#"
_MASKED = re.compile(r"(?<![\w#])[-+−]?\d+(?:\.\d+)?(?:e[-+]?\d+)?", re.IGNORECASE)


def systems_of(record: Mapping[str, JSON]) -> tuple[str, ...]:
    """The systems that an item is about: none, one, or two that are compared."""
    system = text_of(record, "system_id")
    return () if system in NO_SYSTEM else tuple(system.split("_vs_"))


def masked(records: Records) -> list[str]:
    """The form of each sentence: system names, learned from these items, and numbers replaced, in lower case, blanks
    collapsed."""
    known = learned_names((text_of(record, "question"), systems_of(record)) for record in records)
    forms = []
    for record in records:
        text = text_of(record, "question")
        for name in sorted((known.get(system, "") for system in systems_of(record)), key=len, reverse=True):
            text = text.replace(name, _NAME) if name else text
        forms.append(" ".join(_MASKED.sub(_HASH, text).lower().split()))
    return forms

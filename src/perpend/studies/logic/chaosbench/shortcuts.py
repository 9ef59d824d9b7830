"""Shortcuts: what can be guessed of a label without physics, mathematics or logic.

The majority label of a sentence's form needs no library: `analyze-runs` shows it beside the runs. The attacks of
`validate` are fitted by scikit-learn to each kind of items: to words, to numbers, to order and length, to all of these,
and to the nearest question. What they answer was held out: whole bundles, whole groups, or the test split.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, TypeAlias

import numpy as np
from threadpoolctl import threadpool_limits

from perpend.canon import JSON
from perpend.proof.gates import Gate
from perpend.stats.binary import binary_metrics
from perpend.stats.gate import FloatArray, IntArray
from perpend.studies.logic.chaosbench.sets import GROUP_TAGS, family_of, label_of, text_of
from perpend.studies.logic.report import shown
from perpend.text.subjects import learned_names
from perpend.types import Estimate

Records: TypeAlias = Sequence[Mapping[str, JSON]]
LIMIT = 0.55
"""Balanced accuracy that nothing without understanding may exceed."""
COUNTED, FAMILY_ITEMS = 200, 60
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
        return {name: one for name, one in known.items() if one.n >= FAMILY_ITEMS}

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
        shown = "; ".join(f"{name} {shown(one)} (n = {one.n})" for name, one in over or ordered[:1])
        detail = f"{len(over)} of {len(ordered)} cells above {LIMIT}" + (": " if over else "; highest: ") + shown
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


def _truth(records: Records) -> FloatArray:
    return np.array([label_of(record) == "TRUE" for record in records], dtype=np.float64)


def majorities(records: Records, pool: Records = ()) -> list[Shortcut]:
    """The majority label of the same form over other systems, learned from `records` and `pool` together."""
    known = list({text_of(record, "id"): record for record in (*pool, *records)}.values())
    asked, mask = {text_of(record, "id") for record in records}, Mask(known)
    systems, templates = ([text_of(record, tag) for record in known] for tag in ("system_id", "template"))
    few = "cannot run: the items name fewer than two systems" if len(set(systems)) < 2 else ""
    tagged = len(set(templates)) > 1 and all(templates)
    no_tag = few or ("" if tagged else "cannot run: items have no tag 'template' that varies")
    forms = {
        "template majority, system masked": (few, [mask.masked(record) for record in known]),
        "template tag majority": (no_tag, templates),
    }
    truth, cells, found = _truth(known), _cells(known), []
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
    truth, cells = _truth(records), _cells(records)
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
        max_iter=40, learning_rate=0.2, max_depth=4, max_bins=64, early_stopping=False
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


class Mask:
    """Takes system names and numbers out of questions: what is left is the form of the sentence.

    The names are learned from the items of the mask.
    """

    def __init__(self, records: Records) -> None:
        self.names = learned_names((text_of(record, "question"), systems_of(record)) for record in records)

    def masked(self, record: Mapping[str, JSON]) -> str:
        """The question with names and numbers replaced, in lower case, blanks collapsed."""
        text = text_of(record, "question")
        names = filter(None, (self.names.get(system) for system in systems_of(record)))
        for name in sorted(names, key=len, reverse=True):
            text = text.replace(name, _NAME)
        return " ".join(_MASKED.sub(_HASH, text).lower().split())

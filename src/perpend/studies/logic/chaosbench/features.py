"""What a question shows to someone who understands nothing of it: numbers, marks, words that deny, order, distances.

Each feature is a column of floats, nan where a question has nothing of the kind. None of them needs an equation.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from itertools import pairwise

import numpy as np

from perpend.canon import JSON
from perpend.stats.gate import FloatArray
from perpend.studies.logic.chaosbench.items import text_of

Columns = dict[str, float]
_NUMBER = re.compile(r"(?<![\w.])[-+−]?\d+(?:\.\d+)?(?:e[-+]?\d+)?", re.IGNORECASE)
_WORD = re.compile(r"[a-z]+(?:['’][a-z]+)?")
_SENTENCE = re.compile(r"(?<=[.?!;:])\s+")
_NEGATIONS = frozenset(
    ("not", "no", "never", "neither", "nor", "none", "without", "cannot", "fails", "denies", "false", "wrong",
     "incorrect", "untrue", "lacks", "nothing", "nobody", "nowhere")
)  # fmt: skip
_COUNTED = ("if", "all", "every", "some", "or", "and", "only", "unless", "either", "both", "more", "less", "least")
_ORDINALS = {
    **dict.fromkeys(("first", "former", "earlier", "i"), 1.0),
    **dict.fromkeys(("second", "middle", "ii"), 2.0),
    **dict.fromkeys(("third", "iii"), 3.0),
    **dict.fromkeys(("fourth", "iv"), 4.0),
    **dict.fromkeys(("last", "latter", "later", "final"), 9.0),
}
_PLACES = 6
"""Numbers from the front, and half as many from the back, that are looked at one by one."""


def numbers_in(question: str) -> list[str]:
    """The numbers of a question as they are written, signs included; digits that are part of a word are none."""
    return [found.replace("−", "-") for found in _NUMBER.findall(question)]


def sizes(question: str) -> Columns:
    """Values of the numbers by their place, their extremes, sum, mean and differences."""
    values = [float(text) for text in numbers_in(question)]
    row: Columns = {"numbers": float(len(values))}
    for place in range(_PLACES):
        row[f"value {place}"] = values[place] if place < len(values) else np.nan
    for place in range(1, _PLACES // 2 + 1):
        row[f"value -{place}"] = values[-place] if place <= len(values) else np.nan
    if values:
        row |= {"largest": max(values), "smallest": min(values), "sum": sum(values), "mean": sum(values) / len(values)}
    for place, (one, other) in enumerate(pairwise(values[:_PLACES])):
        row[f"step {place}"] = other - one
    if len(values) > 1:
        row |= {"last step": values[-1] - values[-2], "last less first": values[-1] - values[0]}
        row["last less mean"] = values[-1] - row["mean"]
        row["last over first"] = values[-1] / values[0] if values[0] else np.nan
    return row


def spellings(question: str) -> Columns:
    """How the numbers are written: digits, decimals, last digit, parity, sign, whether whole."""
    texts = numbers_in(question)
    row: Columns = {}
    decimals = [float(len(text.partition(".")[2])) for text in texts]
    digits = [float(sum(mark.isdigit() for mark in text)) for text in texts]
    for place in (*range(_PLACES), -1, -2):
        if place < len(texts) and -place <= len(texts):
            tail = texts[place][-1]
            row |= {f"decimals {place}": decimals[place], f"digits {place}": digits[place]}
            row |= {f"tail {place}": float(tail), f"odd {place}": float(int(tail) % 2)}
    if texts:
        row |= {"most decimals": max(decimals), "mean decimals": sum(decimals) / len(texts)}
        row |= {"fewest decimals": min(decimals), "mean digits": sum(digits) / len(texts)}
        row["whole numbers"] = decimals.count(0.0) / len(texts)
        row["negative numbers"] = float(sum(text.startswith("-") for text in texts))
        row["odd numbers"] = sum(int(text[-1]) % 2 for text in texts) / len(texts)
    return row


def places(question: str) -> Columns:
    """Order: where the extremes stand, the rank of the last number, the place that the last sentence asks for."""
    values = [float(text) for text in numbers_in(question)]
    row: Columns = {}
    if values:
        last = values[-1]
        row["place of the largest"] = values.index(max(values)) / len(values)
        row["place of the smallest"] = values.index(min(values)) / len(values)
        row["rank of the last"] = sum(value < last for value in values) / len(values)
        row["rank of the first"] = sum(value < values[0] for value in values) / len(values)
        row["rising steps"] = sum(b > a for a, b in pairwise(values)) / len(values)
        row["last stood before"] = float(values.index(last)) if last in values[:-1] else -1.0
    sentences = [set(_WORD.findall(part.lower())) for part in _SENTENCE.split(question)]
    asked, before = sentences[-1], sentences[:-1]
    named = [_ORDINALS[word] for word in _WORD.findall(question.lower()) if word in _ORDINALS]
    row |= {"first ordinal": named[0] if named else np.nan, "last ordinal": named[-1] if named else np.nan}
    row["asked ordinal"] = max((_ORDINALS[word] for word in asked if word in _ORDINALS), default=np.nan)
    if before:
        shared = [len(asked & words) for words in before]
        best = max(shared)
        row |= {"sentence asked about": shared.index(best) / len(before), "words shared": float(best)}
        row["sentences that share"] = float(sum(count == best for count in shared))
        row["last such sentence"] = (len(before) - 1 - shared[::-1].index(best)) / len(before)
        denied = bool(before[shared.index(best)] & _NEGATIONS)
        row["denied as there"] = float(denied == bool(asked & _NEGATIONS))
        row["asked words seen"] = len(asked & set().union(*before)) / max(1, len(asked))
    return row


def marks(question: str) -> Columns:
    """Lengths, marks, and counts of the words that deny, join and quantify."""
    words = _WORD.findall(question.lower())
    parts = _SENTENCE.split(question)
    denials = sum(word in _NEGATIONS or word.endswith("n't") for word in words)
    asked = _WORD.findall(parts[-1].lower())
    row: Columns = {
        "characters": float(len(question)),
        "words": float(len(words)),
        "sentences": float(len(parts)),
        "words of the last sentence": float(len(asked)),
        "words of the first sentence": float(len(_WORD.findall(parts[0].lower()))),
        "denials": float(denials),
        "denials, odd": float(denials % 2),
        "denials asked": float(sum(word in _NEGATIONS for word in asked)),
        "different words": len(set(words)) / max(1, len(words)),
    }
    row |= {f"count of {mark}": float(question.count(mark)) for mark in (",", "(", "=", "^", "*", "-", "'", "[")}
    return row | {f"count of {word}": float(words.count(word)) for word in _COUNTED}


def distances(record: Mapping[str, JSON], canonical: Mapping[str, Mapping[str, float]]) -> Columns:
    """How far the parameters are from the system's usual ones, of the first and of the last instance named."""
    usual = canonical.get(text_of(record, "system_id").split("_vs_")[0], {})
    row: Columns = {}
    instances = [part for part in text_of(record, "parameters").split(" > ") if "=" in part]
    for name, part in (("first", instances[:1]), ("last", instances[1:][-1:])):
        changes = [change for text in part for change in _changes(text, usual)]
        if changes:
            largest = max(changes, key=abs)
            row |= {f"{name}: largest change": abs(largest), f"{name}: signed change": largest}
            row[f"{name}: mean change"] = sum(map(abs, changes)) / len(changes)
            row[f"{name}: changed"] = float(sum(abs(change) > 1e-9 for change in changes))
    if "last: signed change" in row and "first: signed change" in row:
        row["change between"] = row["last: signed change"] - row["first: signed change"]
        row["which is nearer"] = float(row["last: largest change"] < row["first: largest change"])
    return row


def _changes(text: str, usual: Mapping[str, float]) -> list[float]:
    """Relative change of each parameter; absolute where the usual value is 0, left out where it is unknown."""
    changes = []
    for entry in text.split(","):
        name, _, value = entry.partition("=")
        if name.strip() in usual and _NUMBER.fullmatch(value.strip()):
            before = usual[name.strip()]
            changes.append((float(value) - before) / (abs(before) or 1.0))
    return changes


def matrix(rows: Sequence[Columns]) -> FloatArray:
    """One row a question, one column a feature that any of them has; nan where a question has it not."""
    names = {name: place for place, name in enumerate(sorted({name for row in rows for name in row}))}
    table = np.full((len(rows), len(names)), np.nan)
    for at, row in enumerate(rows):
        for name, value in row.items():
            table[at, names[name]] = value
    return table


def ranks_within(values: FloatArray, groups: Sequence[str]) -> FloatArray:
    """The rank of each value among those of its group, 0 to 1; nan stays nan, and a group of one value has 0.5."""
    ranks = np.full(len(values), np.nan)
    rows: dict[str, list[int]] = {}
    for row, group in enumerate(groups):
        if not np.isnan(values[row]):
            rows.setdefault(group, []).append(row)
    for members in rows.values():
        distinct = np.unique(values[members])
        ranks[members] = np.searchsorted(distinct, values[members]) / (len(distinct) - 1) if len(distinct) > 1 else 0.5
    return ranks

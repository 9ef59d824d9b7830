"""Items that ask the same thing twice: the same text, or nearly the same words about the same instance."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations

import numpy as np

from perpend.canon import JSON
from perpend.studies.logic.chaos.questions.plain import words_of
from perpend.studies.logic.chaosbench.items import text_of
from perpend.studies.logic.replies import GROUP_TAGS

THRESHOLD = 0.85
"""Word sets whose Jaccard index reaches this are nearly the same text."""
INSTANCE_TAGS = ("system_id", "predicate", "polarity", "premises", "rules")
"""Tags that make two items different questions, however alike their words; and so do different numbers."""
_CHUNK = 2000


def exact_duplicates(records: Sequence[Mapping[str, JSON]]) -> list[tuple[str, str]]:
    """Pairs of ids whose questions are the same up to case, punctuation and blanks, over the whole set.

    Each repeated text is paired with its first occurrence.
    """
    first: dict[str, str] = {}
    pairs = []
    for record in records:
        text, name = " ".join(words_of(text_of(record, "question"))), text_of(record, "id")
        if text in first:
            pairs.append((first[text], name))
        first.setdefault(text, name)
    return pairs


def near_duplicates(records: Sequence[Mapping[str, JSON]]) -> list[tuple[str, str]]:
    """Pairs of ids of one instance whose word sets have a Jaccard index of at least 0.85 but are not one text.

    All pairs of the whole set are covered: items of different system, predicate, polarity or numbers are different
    questions by definition, and items of one base-fact group or pair are variants that the set declares.
    """
    blocks: dict[tuple[str, ...], list[int]] = {}
    words = [words_of(text_of(record, "question")) for record in records]
    for row, record in enumerate(records):
        numbers = sorted(word for word in words[row] if word.lstrip("+-−")[:1].isdigit())
        key = (*(text_of(record, tag) for tag in INSTANCE_TAGS), *numbers)
        blocks.setdefault(key, []).append(row)
    groups = [{text_of(record, tag) for tag in (*GROUP_TAGS, "pair")} - {""} for record in records]
    pairs = []
    for rows in blocks.values():
        for one, other in _alike([set(words[row]) for row in rows]):
            a, b = rows[one], rows[other]
            if not groups[a] & groups[b] and words[a] != words[b]:
                pairs.append((text_of(records[a], "id"), text_of(records[b], "id")))
    return pairs


def _alike(sets: Sequence[set[str]]) -> Iterator[tuple[int, int]]:
    """The pairs of sets whose Jaccard index reaches the threshold, by one matrix product a chunk of rows."""
    if len(sets) < 8:
        for (one, first), (other, second) in combinations(enumerate(sets), 2):
            if len(first & second) >= THRESHOLD * len(first | second):
                yield one, other
        return
    column = {word: number for number, word in enumerate(sorted(set().union(*sets)))}
    has = np.zeros((len(sets), len(column)), dtype=np.float32)
    for row, members in enumerate(sets):
        has[row, [column[word] for word in members]] = 1.0
    sizes = has.sum(axis=1)
    for start in range(0, len(sets), _CHUNK):
        shared = has[start : start + _CHUNK] @ has.T
        union = sizes[start : start + _CHUNK, None] + sizes[None, :] - shared
        for one, other in np.argwhere(shared >= THRESHOLD * union).tolist():
            if start + one < other:
                yield start + one, other

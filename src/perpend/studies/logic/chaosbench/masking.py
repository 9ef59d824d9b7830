"""Questions without the system that they are about: what is left is the sentence's form.

A system's name is its tag `system_name`; where items have none, it is learned: the rarest word that most questions of
the system share and hardly any other has, with the words that always stand around it.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import cached_property

from perpend.canon import JSON
from perpend.studies.logic.chaosbench.items import text_of

NO_SYSTEM = frozenset(("", "generic"))
"""Values of `system_id` that name no system."""
NAME, NUMBER = "□", "#"
_WORD = re.compile(r"\w+(?:[-'’–.]\w+)*|[^\w\s]")
_NUMBER = re.compile(r"(?<![\w#])[-+−]?\d+(?:\.\d+)?(?:e[-+]?\d+)?", re.IGNORECASE)
_SHARED = 0.5
"""A name's rarest word is in at least this share of the system's questions."""
_OWN = 0.8
"""At least this share of a word's occurrences is in the system's questions, for it to be part of a name."""
_TOGETHER = 0.9
"""A neighbour belongs to the name where it stands beside it in at least this share of the questions."""
_LEAST = 3
"""Questions of a system that are needed to learn its name."""


_OUTSIDE = frozenset(
    (*"?.;:", "is", "are", "does", "can", "must", "be", "has", "the", "a", "an", "given", "if", "that")
)
"""Words of the sentence around a name that never belong to it."""


def systems_of(record: Mapping[str, JSON]) -> tuple[str, ...]:
    """The systems that an item is about: none, one, or two that are compared."""
    system = text_of(record, "system_id")
    return () if system in NO_SYSTEM else tuple(system.split("_vs_"))


class Mask:
    """Takes system names and numbers out of questions; what it learned, it learned from the items it was made with."""

    def __init__(self, records: Sequence[Mapping[str, JSON]]) -> None:
        self._records = records

    @cached_property
    def names(self) -> dict[str, str]:
        """The learned name of each system that has enough questions and a word of its own."""
        questions: dict[str, list[list[str]]] = {}
        everywhere: Counter[str] = Counter()
        for record in self._records:
            words = _WORD.findall(text_of(record, "question"))
            everywhere.update(set(words))
            for system in systems_of(record):
                questions.setdefault(system, []).append(words)
        learned = {system: _name(texts, everywhere) for system, texts in questions.items()}
        return {system: name for system, name in learned.items() if name}

    def masked(self, record: Mapping[str, JSON]) -> str:
        """The question with names and numbers replaced, in lower case, blanks collapsed."""
        text = text_of(record, "question")
        stated = text_of(record, "system_name")
        names = [stated] if stated and stated in text else [self.names.get(system, "") for system in systems_of(record)]
        for name in sorted(filter(None, names), key=len, reverse=True):
            text = text.replace(name, NAME)
        return " ".join(_NUMBER.sub(NUMBER, text).lower().split())


def _name(texts: Sequence[Sequence[str]], everywhere: Counter[str]) -> str:
    """What all questions of one system call it; '' where there are too few, or no word is its own."""
    if len(texts) < _LEAST:
        return ""
    own = Counter(word for words in texts for word in set(words))
    anchors = [w for w, n in own.items() if n >= _SHARED * len(texts) and n >= _OWN * everywhere[w] and w[0].isalnum()]
    if not anchors:
        return ""
    anchor = min(anchors, key=lambda word: (-own[word], everywhere[word], -len(word), word))
    joined = [f" {' '.join(words)} " for words in texts if anchor in words]
    first = next(words for words in texts if anchor in words)
    start = end = first.index(anchor)

    def together(lo: int, hi: int) -> bool:
        wanted = f" {' '.join(first[lo : hi + 1])} "
        return sum(wanted in text for text in joined) >= _TOGETHER * len(joined)

    while end + 1 < len(first) and first[end + 1] not in _OUTSIDE and together(start, end + 1):
        end += 1
    while start > 0 and first[start - 1].lower() not in _OUTSIDE and together(start - 1, end):
        start -= 1
    return _as_written(first[start : end + 1])


def _as_written(words: Sequence[str]) -> str:
    """The words with the blanks that writing puts between them."""
    text = " ".join(words)
    for mark in ")]},;:!?":
        text = text.replace(f" {mark}", mark)
    for mark in "([{":
        text = text.replace(f"{mark} ", mark)
    return text

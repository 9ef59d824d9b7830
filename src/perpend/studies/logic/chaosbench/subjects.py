"""The name that questions about one subject share, learned from the questions; and texts that are nearly the same."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

_PIECE = re.compile(r"\w+(?:[-'’–.]\w+)*|[^\w\s]")
_SHARED, _OWN, _TOGETHER, _LEAST = 0.5, 0.8, 0.9, 3
"""A name's rarest word is in half of the subject's questions, and four fifths of its occurrences are there; a neighbour
belongs to the name where it is beside it in nine tenths of them. Three questions are needed to learn it."""
_OUTSIDE = frozenset(
    (*"?.;:", "is", "are", "does", "can", "must", "be", "has", "the", "a", "an", "given", "if", "that")
)
"""Words of the sentence around a name that never belong to it."""


def learned_names(questions: Iterable[tuple[str, Sequence[str]]]) -> dict[str, str]:
    """The name of each subject, from (text, its subjects); '' without enough questions or a word of its own.

    It is the rarest word that most questions of the subject share and hardly any other has, with what always stands
    around it.
    """
    texts: dict[str, list[list[str]]] = {}
    everywhere: Counter[str] = Counter()
    for text, subjects in questions:
        words = _PIECE.findall(text)
        everywhere.update(set(words))
        for subject in subjects:
            texts.setdefault(subject, []).append(words)
    return {subject: _name(own, everywhere) for subject, own in texts.items()}


def _name(texts: Sequence[Sequence[str]], everywhere: Counter[str]) -> str:
    """What all questions of one subject call it; '' where there are too few, or no word is its own."""
    own = Counter(word for words in texts for word in set(words))
    anchors = [w for w, n in own.items() if n >= _SHARED * len(texts) and n >= _OWN * everywhere[w] and w[0].isalnum()]
    if not anchors or len(texts) < _LEAST:
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
    return re.sub(r" ([)\]},;:!?])|([(\[{]) ", r"\1\2", " ".join(first[start : end + 1]))


# A number keeps its point and sign: 3.71 and 37.1 are two questions. So does a term of an equation: x - y and x + y.
# Other punctuation does not count, nor does the hyphen of a word.
_TOKEN = re.compile(r"[-+−]?\d+(?:\.\d+)?(?:e[-+]?\d+)?|\w+|(?<!\w)[-+−](?=[\s\w(,)])")


def words_of(question: str) -> list[str]:
    """The words and numbers of a question in lower case, without punctuation."""
    return _TOKEN.findall(question.lower())


def alike(sets: Sequence[frozenset[str]], least: float) -> Iterator[tuple[int, int]]:
    """Every pair of sets whose Jaccard index is at least that, the earlier one first.

    Two such sets share one of their rarest members: of each, all but `least` of its size need to be looked at.
    """
    counts = Counter(member for members in sets for member in members)
    holders: dict[str, list[int]] = {}
    for at, members in enumerate(sets):
        rarest = sorted(members, key=lambda member: (counts[member], member))
        prefix = rarest[: len(rarest) - -int(-least * len(rarest) // 1) + 1]
        for other in sorted({one for member in prefix for one in holders.get(member, ())}):
            if len(members & sets[other]) >= least * len(members | sets[other]):
                yield other, at
        for member in prefix:
            holders.setdefault(member, []).append(at)

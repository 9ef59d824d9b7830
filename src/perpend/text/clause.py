"""The words before a mention, and the clause that they end in. Input is folded."""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple


def vocabulary(words: str, *pairs: str) -> frozenset[str]:
    """A set of words, given in one string, and of pairs of words."""
    return frozenset((*words.split(), *pairs))


BREAKS = vocabulary("; — - : but however yet whereas because so therefore thus hence then until")
"""What ends the reach of a denial or of somebody's words."""
SUBJECTS = vocabulary("the it it's i i'd i'm my this that that's we you they there actually and which")
"""What begins a new clause after a comma."""
_SPACED = str.maketrans(
    dict.fromkeys('*_"()[]{}$\\!?#~', " ") | {"=": " = ", "≈": " = ", ":": " : ", "—": " — ", ";": " ; ", ",": " , "}
)


class Clause(NamedTuple):  # one is made for every mention: a frozen dataclass takes four times as long
    """The words of a sentence up to a mention; `near` are those of the last clause, `kinds` they and their pairs."""

    words: list[str]
    near: list[str]
    kinds: set[str]


def words(text: str) -> list[str]:
    """The words of a text without its markup; '=', ':', ',' and dashes that stand alone are words too."""
    return text.translate(_SPACED).split()


def clause(before: str) -> Clause:
    """The last clause of what stands before a mention in its sentence. A contraction with n't counts as 'not'."""
    found = words(before)
    start = len(found)
    while start:
        word = found[start - 1]
        if word in BREAKS or (word == "," and start < len(found) and found[start] in SUBJECTS):
            break
        if word == "only" and start > 1 and found[start - 2] == "not":
            break
        start -= 1
    near = found[start:]
    kinds = set(near)
    kinds.update(map(" ".join, pairwise(near)))
    if "n't" in before and any(word.endswith("n't") for word in near):
        kinds.add("not")
    return Clause(found, near, kinds)

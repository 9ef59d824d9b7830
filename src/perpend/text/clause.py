"""The words before a mention, and the clause that they end in. Input is folded."""

from __future__ import annotations

import re
from itertools import pairwise
from typing import NamedTuple


def vocabulary(words: str, *pairs: str) -> frozenset[str]:
    """A set of words, given in one string, and of pairs of words."""
    return frozenset((*words.split(), *pairs))


def blanking(chars: str) -> dict[int, int]:
    """A table for `str.translate` that blanks these characters.

    It names every ASCII character: an absent one raises an error inside, which makes a translation ten times as slow.
    """
    return {code: code for code in range(128)} | dict.fromkeys(map(ord, chars), ord(" "))


BREAKS = vocabulary("; — - : but however yet whereas because so therefore thus hence then until , only")
"""What ends the reach of a denial or of somebody's words; the last two, and 'then', only in some places."""
SUBJECTS = vocabulary("the it it's i i'd i'm my this that that's we you they there actually and which")
"""What begins a new clause after a comma."""
BE = vocabulary("is are was were be it's")
"""After these, 'then' is a time and begins nothing."""
PAIR_HEADS = vocabulary(
    "agents' based beyond contrary current earlier expert far for instead medical mixed no none not nothing one "
    "opposed other previous prior rather relative scientific similar some such the their times user's users' without "
    "your"
)
"""How the pairs of words begin that some rule asks for: to make all pairs would take half the time of a clause."""
SIGNS = {"=": " = ", ":": " : ", ";": " ; ", ",": " , ", "—": " — ", "≈": " = "}
"""Signs that are words."""
_MARKUP = '*_"()[]{}$\\!?#~'
BLANKED = blanking(_MARKUP)
MARKED = re.compile("[" + re.escape("".join(SIGNS) + _MARKUP) + "]")
"""A sign or markup: most of what is split into words has neither, and is known to in a third of the time."""


class Clause(NamedTuple):  # one is made for every mention: a frozen dataclass takes four times as long
    """The words of a sentence up to a mention; `near` are those of the last clause, `kinds` they and some pairs."""

    words: list[str]
    near: list[str]
    kinds: set[str]


def words(text: str) -> list[str]:
    """The words of a text without its markup; '=', ':', ',' and dashes that stand alone are words too."""
    if MARKED.search(text) is None:
        return text.split()
    for sign, spaced in SIGNS.items():
        if sign in text:
            text = text.replace(sign, spaced)
    return text.translate(BLANKED).split()


def clause(before: str) -> Clause:
    """The last clause of what stands before a mention in its sentence. A contraction with n't counts as 'not'."""
    found = words(before)
    near = found if BREAKS.isdisjoint(found) else found[_start(found) :]
    kinds = set(near)
    if not PAIR_HEADS.isdisjoint(kinds):
        kinds.update([f"{head} {word}" for head, word in pairwise(near) if head in PAIR_HEADS])
    if "n't" in before and any(word.endswith("n't") for word in near):
        kinds.add("not")
    return Clause(found, near, kinds)


def _start(found: list[str]) -> int:
    """Where the last clause begins."""
    for start in range(len(found), 0, -1):
        if found[start - 1] in BREAKS and _is_end(found, start):
            return start
    return 0


def _is_end(found: list[str], place: int) -> bool:
    """Whether the word before `place` ends a clause: a comma before a new subject, 'only' after 'not', no 'is then'."""
    word = found[place - 1]
    if word == ",":
        return place < len(found) and found[place] in SUBJECTS
    if word == "then":
        return place < 2 or found[place - 2] not in BE
    return word != "only" or (place > 1 and found[place - 2] == "not")

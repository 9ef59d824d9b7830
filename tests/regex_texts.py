"""Texts that a regular expression matches, so that every alternative of it is taken at least once."""

from __future__ import annotations

import random
import re
from collections.abc import Iterable, Sequence
from re import _constants as op  # type: ignore[attr-defined]
from re import _parser  # type: ignore[attr-defined]
from typing import Any, TypeAlias

Choices: TypeAlias = dict[tuple[int, ...], int]
"""Which option is taken at each place of the pattern where there are several, by its path in the parse tree."""
FILLER = "zu qa mo vy "
"""What stands for any characters: no hint of any rule is in it."""
LONG = 200
"""Up to so many repetitions are tried; an open end is tried with three more than it needs."""
_CATEGORIES = {op.CATEGORY_SPACE: " \n", op.CATEGORY_WORD: "z", op.CATEGORY_DIGIT: "7", op.CATEGORY_NOT_WORD: " .*",
               op.CATEGORY_NOT_SPACE: "z", op.CATEGORY_NOT_DIGIT: "z"}  # fmt: skip
_REPEATS = {op.MAX_REPEAT, op.MIN_REPEAT, op.POSSESSIVE_REPEAT}


class _Writer:
    """One text of the pattern, by the given choices: the first option elsewhere, or one that `rng` draws."""

    def __init__(self, choices: Choices, rng: random.Random | None) -> None:
        self.choices, self.rng = choices, rng
        self.taken: Choices = {}
        self.options: dict[tuple[int, ...], int] = {}
        self.groups: dict[int, str] = {}

    def choose(self, path: tuple[int, ...], n: int) -> int:
        pick = self.choices.get(path)
        if pick is None:
            pick = 0 if self.rng is None else self.rng.randrange(n)
        self.options[path], self.taken[path] = n, pick
        return pick

    def sequence(self, nodes: Iterable[tuple[Any, Any]], path: tuple[int, ...]) -> str:
        return "".join([self.node(kind, value, (*path, place)) for place, (kind, value) in enumerate(nodes)])

    def node(self, kind: Any, value: Any, path: tuple[int, ...]) -> str:  # noqa: PLR0911 - one per kind of node
        if kind is op.LITERAL:
            return chr(value)
        if kind in {op.IN, op.NOT_LITERAL, op.ANY}:
            chars = _chars(kind, value)
            return chars[self.choose(path, len(chars))]
        if kind is op.BRANCH:
            pick = self.choose(path, len(value[1]))
            return self.sequence(value[1][pick], (*path, pick))
        if kind is op.SUBPATTERN:
            text = self.sequence(value[3], path)
            self.groups[value[0]] = text
            return text
        if kind is op.ATOMIC_GROUP:
            return self.sequence(value, path)
        if kind in _REPEATS:
            return self.repeat(value, path)
        if kind is op.GROUPREF:
            return self.groups.get(value, "")
        if kind is op.ASSERT and value[0] > 0 and self.choose(path, 2) == 0:
            return self.sequence(value[1], path)
        return ""  # what is not there, what stands before, and the ends of words and lines

    def repeat(self, value: Any, path: tuple[int, ...]) -> str:
        low, high, body = value
        counts = [
            count for count in sorted({low, low + 1, min(high, LONG if high <= LONG else low + 3)}) if count <= high
        ]
        kind, inner = body[0]
        if (low, high) == (0, 1) and (kind, inner) == (op.IN, [(op.CATEGORY, op.CATEGORY_SPACE)]):
            counts.reverse()  # words stand apart
        count = counts[self.choose(path, len(counts))]
        if len(body) == 1 and count > 3 and kind in {op.IN, op.NOT_LITERAL, op.ANY}:
            chars = "".join(_chars(kind, inner, FILLER))
            return (chars * count)[:count]
        return "".join([self.sequence(body, (*path, turn)) for turn in range(count)])


def _chars(kind: Any, value: Any, candidates: str = "z qe7.,\n-") -> Sequence[str]:
    """Some characters of a set, at least one; of a set that leaves out, those candidates that it does not."""
    if kind is op.ANY:
        return [char for char in candidates if char != "\n"]
    if kind is op.NOT_LITERAL:
        return [char for char in candidates if char != chr(value)]
    negated = value[0][0] is op.NEGATE
    chars: list[str] = []
    for name, member in value[negated:]:
        if name is op.LITERAL:
            chars.append(chr(member))
        elif name is op.RANGE:
            chars += [chr(member[0]), chr(member[1])]
            chars += [char for char in candidates if member[0] <= ord(char) <= member[1]] if len(candidates) > 9 else []
        else:
            chars += _CATEGORIES[member]
    if not negated:
        inside = [char for char in candidates if _is_in(char, value)] if candidates is FILLER else []
        return inside or list(dict.fromkeys(chars))
    return [char for char in candidates if not _is_in(char, value[1:])]


def _is_in(char: str, members: Any) -> bool:
    for name, member in members:
        if name is op.LITERAL and ord(char) == member:
            return True
        if name is op.RANGE and member[0] <= ord(char) <= member[1]:
            return True
        if name is op.CATEGORY and _in_category(char, member):
            return True
    return False


def _in_category(char: str, category: Any) -> bool:
    is_word = char.isalnum() or char == "_"
    return {
        op.CATEGORY_SPACE: char.isspace(),
        op.CATEGORY_NOT_SPACE: not char.isspace(),
        op.CATEGORY_WORD: is_word,
        op.CATEGORY_NOT_WORD: not is_word,
        op.CATEGORY_DIGIT: char.isdigit(),
        op.CATEGORY_NOT_DIGIT: not char.isdigit(),
    }[category]


def texts(pattern: re.Pattern[str], drawn: int = 0) -> list[tuple[str, Choices]]:
    """Texts made from the pattern, each with the choices that made it: each choice in at least one, then `drawn` more.

    Some are no matches: what must not follow, and what must stand before, is not looked at.
    """
    tree = _parser.parse(pattern.pattern, pattern.flags & ~re.UNICODE)
    queue: list[Choices] = [{}]
    made: dict[str, Choices] = {}
    known: set[tuple[tuple[int, ...], int]] = set()
    while queue:
        writer = _Writer(queue.pop(0), None)
        made.setdefault(writer.sequence(tree, ()), writer.taken)
        known |= set(writer.taken.items())
        for path, n in writer.options.items():
            for pick in range(n):
                if (path, pick) not in known:
                    known.add((path, pick))
                    queue.append(writer.choices | {path: pick})
    rng = random.Random(pattern.pattern)
    for _ in range(drawn):
        writer = _Writer({}, rng)
        made.setdefault(writer.sequence(tree, ()), writer.taken)
    return list(made.items())

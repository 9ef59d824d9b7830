"""Claims with holes: files list how each is worded and what it means, an expression over what stands in the holes."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

from factory.quartet import Unreadable
from factory.tables import toml

Holes = Mapping[str, tuple[str, Callable[[str], Any]]]
"""Letter of a hole → a regular expression for what stands there, and what this is read as."""
_HOLE = re.compile(r"\{(\w)\}")


@cache
def _claims(file: str) -> list[tuple[list[str], str]]:
    """Wordings, cut at their holes, and what they mean."""
    said = toml(f"again/{file}")["claim"]
    return [(_HOLE.split(says), claim["means"]) for claim in said for says in claim["says"]]


def holds(file: str, claim: str, holes: Holes, known: Mapping[str, Any]) -> bool:
    """Whether a claim is true; what stands in the holes is a list for each letter, in the order of the text."""
    for parts, means in _claims(file):
        pattern = "".join(f"({holes[p][0]})" if i % 2 else re.escape(p) for i, p in enumerate(parts))
        found = re.fullmatch(pattern, claim)
        if found:
            filled: dict[str, list[Any]] = {letter: [] for letter in holes}
            for letter, text in zip(parts[1::2], found.groups(), strict=True):
                filled[letter].append(holes[letter][1](text))
            return bool(eval(means, {"__builtins__": {}}, {**known, **filled}))  # noqa: S307 - of our own file
    raise Unreadable(f"no claim that is known: {claim}")

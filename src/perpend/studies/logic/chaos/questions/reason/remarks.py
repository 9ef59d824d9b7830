"""A statement about a system, in several wordings.

A wording that denies holds exactly one of the words in `DENIALS`, a wording that says holds none: so a reader can
count them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

DENIALS = ("not", "no", "never", "fails", "fail", "wrong", "false")


@dataclass(frozen=True, slots=True)
class Remark:
    """One statement. `arguments` tells two remarks of the same predicate apart; `steps` counts the work by hand.

    Each of the `wordings` is a clause that says it and one in like words that denies it. `definitions` are wordings of
    the meaning of a term, as whole sentences; '' among them leaves the term to the reader, () needs none.
    """

    predicate: str
    arguments: str
    wordings: tuple[tuple[str, str], ...]
    steps: int
    definitions: tuple[str, ...] = ()

    @property
    def says(self) -> tuple[str, ...]:
        """The clauses that say it."""
        return tuple(say for say, _ in self.wordings)

    @property
    def denies(self) -> tuple[str, ...]:
        """The clauses that deny it, in the same order."""
        return tuple(deny for _, deny in self.wordings)


def listed(names: Sequence[str]) -> str:
    """'x', 'x and y', 'x, y and z'."""
    return names[0] if len(names) == 1 else ", ".join(names[:-1]) + " and " + names[-1]

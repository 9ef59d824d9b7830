"""The one form of every bundle: two settings, two claims; each claim holds in one setting and fails in the other.

So neither the setting nor the claim nor the words of either tell the answer: every one of them stands under TRUE as
often as under FALSE.
"""

from __future__ import annotations

from dataclasses import dataclass, field


class Unreadable(ValueError):  # noqa: N818
    """A text that a reader of `again` does not understand: a disagreement, not an exception to be passed over."""


@dataclass(frozen=True)
class Claim:
    """What is said of a setting, in one or more wordings, each a clause that goes after 'that'."""

    wordings: tuple[str, ...]
    negative: bool = False
    """It holds a negation: it is not denied or doubted once more."""


@dataclass(frozen=True)
class Quartet:
    """`claims[s][c]` is claim c in the words of setting s; it holds where c == s."""

    kind: str
    cluster: str
    """What decides the labels (a system with its parameters, a row of a table): one cluster is never in two splits."""
    settings: tuple[str, str]
    claims: tuple[tuple[Claim, Claim], tuple[Claim, Claim]]
    systems: tuple[str, str] = ("generic", "generic")
    cites: tuple[str, ...] = ()
    traits: tuple[str, ...] = field(default=())
    """What the splits keep apart beside the cluster: coefficients, equation sets."""

    shared: str = ""
    """What names the bundle where it has a fact in common with others: these are never told apart."""

    @property
    def deniable(self) -> bool:
        return not any(claim.negative for pair in self.claims for claim in pair)

    @property
    def reworded(self) -> bool:
        return all(len(claim.wordings) > 1 for pair in self.claims for claim in pair)


def mirrored(claim: Claim, counter: Claim) -> tuple[tuple[Claim, Claim], tuple[Claim, Claim]]:
    """The same two claims in both settings."""
    return (claim, counter), (claim, counter)

"""Facts that follow from equations by hand, for those who word them otherwise.

`perpend.studies.logic.chaos.questions.reason.bundles.base_facts(world)` yields them, always in quartets that
share `pair`: two systems, two statements, two of the four TRUE. No system of a base fact stands in an item of
`reason.bundles.bundles(world)`.

How to word one: put `setting` (a whole sentence, which names the system and its equations) before the claim, then
`definition` where it is not '' (a whole sentence), then one of `says` (the statement holds) or of `denies` (it does
not). `says` and `denies` are clauses without capital and without full stop, fit for 'Is it true that …?' and for
'True or false: …'. `relabel.clause_truth(setting, clause)` decides a clause again from the two texts alone.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class BaseFact:
    """One statement about one system.

    `label` is the truth of any of `says`; of any of `denies` it is the opposite. `partner` is the `name` of a fact of
    the same pair with the same statement, another system in a setting of the same words, and the opposite label; `twin`
    is the `name` of one with the same system in another setting, another statement and the opposite label.
    """

    name: str
    """Unique; ten hex digits."""
    pair: str
    """Shared by the four facts of a quartet: they must stay in one split."""
    kind: str
    """divergence, symmetry, fixed_point, stability or form."""
    predicate: str
    family: str
    """'extended_systems' for four variables or more, else 'atomic'."""
    setting: str
    """A whole sentence, such as 'Consider the flow dx/dt = y - 2 x, dy/dt = -x + x^3.'"""
    definition: str
    """A whole sentence with the meaning of a term, or ''."""
    says: tuple[str, ...]
    """Eight wordings or more of the statement."""
    denies: tuple[str, ...]
    """Eight wordings or more of its opposite; each has exactly one word of denial."""
    label: bool
    grade: int
    partner: str
    twin: str

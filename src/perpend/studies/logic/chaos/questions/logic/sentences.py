"""Rules and facts as sentences.

`solving/truth_table.py` lists the patterns that are read back; a wording that is added here is added there.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from perpend.studies.logic.chaos.questions.chance import Chance
from perpend.studies.logic.chaos.questions.logic.theory import ANY, EITHER, IFF, SOME, GivenRule, Literal
from perpend.studies.logic.chaos.questions.logic.vocabulary import Property

IF_FORMS = (
    "If {a} {given}, then it {then}.",
    "If {a} {given}, it {then}.",
    "Whenever {a} {given}, it {then}.",
    "Provided that {a} {given}, it {then}.",
    "In every case where {a} {given}, it {then}.",
)
"""For any number of conditions, and for one consequence or two."""
BACK_FORMS = (
    "{A} {then} if it {given}.",
    "{A} {then} whenever it {given}.",
    "{A} {then} in every case where it {given}.",
)
NONE_FORMS = (
    "There is no {n} that {given} but {unthen}.",
    "It never happens that {a} {given} but {unthen}.",
    "One never meets {a} that {given} but {unthen}.",
)
EVERY_FORMS = (
    "Every {n} that {given} {then}.",
    "Any {n} that {given} {then}.",
    "Each {n} that {given} {then}.",
    "All {ns} that {givens} {thens}.",
)
"""For a consequence that is asserted: 'every … is not …' can be read as 'not every … is …'."""
SINGLE_FORMS = (
    "Without exception, {ns} that {givens} {thens}.",
    "Whatever else holds of it, {a} that {given} {then}.",
    "{A} {given} only if it {then}.",
)
ONLY_FORMS = ("Only if {a} {then} is it the case that it {given}.", "Only {ns} that {thens} {givens}.")
NEEDS_FORMS = (
    "For {a} to {give}, it must {need}.",
    "{A} cannot {give} unless it {then}.",
    "{A} can only {give} if it {then}.",
    "In order to {give}, {a} must {need}.",
)
"""For one condition that is asserted."""
ENOUGH_FORMS = (
    "For {a} to {need}, it is enough that it {given}.",
    "All it takes for {a} to {need} is that it {given}.",
)
"""For a consequence that is asserted."""
NOT_FORMS = ("No {n} that {given} {unthen}.", "Not a single {n} that {given} {unthen}.")
"""For a consequence that is denied."""
UNLESS_FORMS = ("Unless {a} {ungiven}, it {then}.", "{A} {then} unless it {ungiven}.")
"""For one condition that is denied."""
ADJECTIVE_FORMS = ("Every {adjective} {n} {then}.", "All {adjective} {ns} {thens}.", "Any {adjective} {n} {then}.")
ADJECTIVE_NOT_FORMS = ("No {adjective} {n} {unthen}.",)
ADJECTIVE_ONLY_FORMS = ("Only {then_adjective} {ns} {givens}.",)
OR_EVERY_FORMS = ("Every {n} {one} or {other}, or both.", "Any {n} either {one} or {other}, or both.")
EITHER_EVERY_FORMS = (
    "Every {n} either {one} or {other}, but not both.",
    "Each {n} either {one} or {other}, but never both.",
)
"""The first is asserted, for the same reason."""
OR_FORMS = (
    "Whatever {n} one takes, it {one} or {other}, or both.",
    "Of every {n} at least one of two things is true: it {one} or it {other}.",
)
EITHER_FORMS = (
    "Whatever {n} one takes, it either {one} or {other}, but not both.",
    "Of every {n} exactly one of two things is true: it {one} or it {other}.",
)
IFF_FORMS = (
    "{A} {given} if and only if it {then}.",
    "{A} {given} exactly when it {then}.",
    "{A} {given} when, and only when, it {then}.",
)
SOME_FORMS = (
    "Some {ns} that {givens} {thens}.",
    "At least one {n} that {given} {then}.",
    "There are {ns} that {givens} and {thens}.",
    "Not every {n} that {given} {unthen}.",
)


@dataclass(frozen=True, slots=True)
class Wordlist:
    """The properties of a question by their number, and the noun of the class of objects that the rules speak of."""

    properties: tuple[Property, ...]
    noun: str

    def third(self, literal: Literal) -> str:
        """'is stiff' or 'is not stiff'."""
        return self.properties[abs(literal) - 1].third(literal > 0)

    def plural(self, literal: Literal) -> str:
        """'are stiff' or 'are not stiff'."""
        return self.properties[abs(literal) - 1].plural(literal > 0)

    def base(self, literal: Literal) -> str:
        """'be stiff' or 'not be stiff'."""
        return self.properties[abs(literal) - 1].base(literal > 0)

    def adjective(self, literal: Literal) -> str | None:
        """'stiff'; None where it is denied or no single adjective."""
        return self.properties[literal - 1].adjective if literal > 0 else None

    def all_of(self, literals: Sequence[Literal]) -> str:
        """'is stiff, is bounded and has no time delay'."""
        phrases = [self.third(literal) for literal in literals]
        return " and ".join((", ".join(phrases[:-1]), phrases[-1])) if len(phrases) > 1 else phrases[0]

    def one_of(self, literals: Sequence[Literal]) -> str:
        """'is stiff', or 'is stiff or is bounded, or both'."""
        phrases = [self.third(literal) for literal in literals]
        return f"{' or '.join(phrases)}, or both" if len(phrases) > 1 else phrases[0]


def rule_sentence(rule: GivenRule, words: Wordlist, chance: Chance, *spot: str) -> str:
    """A rule in the wording that belongs to a spot, among those that fit it."""
    if rule.join == SOME:
        forms: tuple[str, ...] = SOME_FORMS if rule.then[0] < 0 else SOME_FORMS[:3]
    elif rule.join == IFF:
        forms = IFF_FORMS
    elif not rule.given:
        forms = EITHER_FORMS if rule.join == EITHER else OR_FORMS
        if rule.then[0] > 0:
            forms += EITHER_EVERY_FORMS if rule.join == EITHER else OR_EVERY_FORMS
    elif len(rule.then) > 1 or rule.join == ANY:
        forms = IF_FORMS
    else:
        # Half each: what is named first in a rule tells nothing about what follows from what.
        back = chance.share(*spot, "back") < 0.5
        forms = chance.pick(_families(rule, words, back=back), *spot, "family")
    return chance.pick(forms, *spot, "form").format_map(_parts(rule, words))


def _families(rule: GivenRule, words: Wordlist, *, back: bool) -> list[tuple[str, ...]]:
    """The groups of wordings that fit a rule with one consequence; `back`: those that name the consequence first."""
    then = rule.then[0]
    if rule.unless:
        return [UNLESS_FORMS]
    if back:
        fitting: list[tuple[str, ...]] = [BACK_FORMS, ENOUGH_FORMS] if then > 0 else [BACK_FORMS]
        if len(rule.given) == 1:
            fitting.append(ONLY_FORMS)
            if words.adjective(then):
                fitting.append(ADJECTIVE_ONLY_FORMS)
        return fitting
    fitting = [IF_FORMS, NONE_FORMS]
    if then < 0:
        fitting.append(NOT_FORMS)
    if len(rule.given) > 1:
        return fitting
    given = rule.given[0]
    fitting.append(SINGLE_FORMS)
    if then > 0:
        fitting.append(EVERY_FORMS)
    if given > 0:
        fitting.append(NEEDS_FORMS)
    if words.adjective(given):
        fitting.append(ADJECTIVE_FORMS if then > 0 else ADJECTIVE_NOT_FORMS)
    return fitting


def _parts(rule: GivenRule, words: Wordlist) -> dict[str, str]:
    """The parts of a rule's sentence by name."""
    given, then = rule.given, rule.then
    parts = {
        "n": words.noun,
        "ns": plural_of(words.noun),
        "a": with_article(words.noun),
        "A": with_article(words.noun).capitalize(),
        "then": words.one_of(then),
        "thens": words.plural(then[0]),
        "unthen": words.third(-then[0]),
        "need": words.base(then[0]),
        "one": words.third(then[0]),
        "other": words.third(then[-1]),
        "then_adjective": words.adjective(then[0]) or "",
    }
    if given and rule.join == EITHER:
        parts["then"] = f"either {parts['one']} or {parts['other']}, but not both"
    if given:
        parts |= {
            "given": " or ".join(map(words.third, given)) if rule.join == ANY else words.all_of(given),
            "givens": words.plural(given[0]),
            "ungiven": words.third(-given[0]),
            "give": words.base(given[0]),
            "adjective": words.adjective(given[0]) or "",
        }
    return parts


def plural_of(noun: str) -> str:
    """'systems', 'processes'."""
    return f"{noun}es" if noun.endswith("s") else f"{noun}s"


def with_article(noun: str) -> str:
    """'a system', 'an oscillator'."""
    return f"{'an' if noun[0] in 'aeiou' else 'a'} {noun}"

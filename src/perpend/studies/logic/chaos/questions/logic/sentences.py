"""Rules and facts as sentences.

The wordings stand in rule_forms.py. Which of them fit depends on the signs of a rule, and never on a label.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from perpend.studies.logic.chaos.questions.chance import Chance
from perpend.studies.logic.chaos.questions.logic import rule_forms as forms
from perpend.studies.logic.chaos.questions.logic.theory import ANY, EITHER, IFF, SOME, GivenRule, Literal
from perpend.studies.logic.chaos.questions.logic.vocabulary import Property


@dataclass(frozen=True, slots=True)
class Wordlist:
    """The properties of a question by their number, and the noun of the class of objects that the rules speak of.

    `of_devices`: the properties are those of devices, of which 'must' would be read as a command.
    """

    properties: tuple[Property, ...]
    noun: str
    of_devices: bool = False

    def third(self, literal: Literal, manner: float = 0) -> str:
        """'is stiff' or 'is not stiff'."""
        return self.of(literal).third(literal > 0, manner)

    def of(self, literal: Literal) -> Property:
        """The property of a literal."""
        return self.properties[abs(literal) - 1]

    def adjective(self, literal: Literal) -> str | None:
        """'stiff'; None where it is denied or no single adjective."""
        return self.of(literal).adjective if literal > 0 else None

    def all_of(self, literals: Sequence[Literal], manner: float = 0) -> str:
        """'is stiff, is bounded and has no time delay'."""
        phrases = [self.third(literal, manner) for literal in literals]
        return " and ".join((", ".join(phrases[:-1]), phrases[-1])) if len(phrases) > 1 else phrases[0]

    def one_of(self, literals: Sequence[Literal], manner: float = 0) -> str:
        """'is stiff', or 'is stiff or is bounded, or both'."""
        phrases = [self.third(literal, manner) for literal in literals]
        return f"{' or '.join(phrases)}, or both" if len(phrases) > 1 else phrases[0]


def rule_sentence(rule: GivenRule, words: Wordlist, chance: Chance, *spot: str) -> str:
    """A rule in the wording that belongs to a spot, among those that fit it."""
    if (rule.join == IFF or not rule.given) and chance.share(*spot, "turned") < 0.5:
        # Neither side comes first by its meaning, so neither does in the sentence.
        rule = replace(rule, given=rule.then, then=rule.given) if rule.given else replace(rule, then=rule.then[::-1])
    # Half each: what is named first in a rule tells nothing about what follows from what.
    back = chance.share(*spot, "back") < 0.5
    fitting = _fitting(rule, words, back=back)
    form = chance.pick(chance.pick(fitting, *spot, "family"), *spot, "form")
    return form.format_map(_Parts(rule, words, chance.share(*spot, "given"), chance.share(*spot, "then")))


def _fitting(rule: GivenRule, words: Wordlist, *, back: bool) -> list[tuple[str, ...]]:
    """The groups of wordings that fit a rule; `back`: those that name the consequence first, where it has one."""
    if rule.join in (SOME, IFF) or not rule.given:
        return _of_two_sides(rule, words)
    if len(rule.then) > 1:
        plain = rule.then[0] > 0 and len(rule.given) == 1
        return [forms.IF_FORMS, forms.EVERY_FORMS] if plain else [forms.IF_FORMS]
    if rule.unless:
        return [forms.UNLESS_BACK_FORMS if back else forms.UNLESS_FORMS]
    return _consequence_first(rule, words) if back else _condition_first(rule, words)


def _of_two_sides(rule: GivenRule, words: Wordlist) -> list[tuple[str, ...]]:
    """For rules in which nothing is a consequence."""
    asserted = rule.then[0] > 0
    if rule.join == SOME:
        fitting = [forms.SOME_FORMS] if asserted else [forms.SOME_FORMS, forms.NOT_ALL_FORMS]
        return [*fitting, forms.SOME_ADJECTIVE_FORMS] if words.adjective(rule.given[0]) else fitting
    if rule.join == IFF:
        return [forms.IFF_FORMS, forms.IFF_SO_FORMS] if rule.given[0] > 0 else [forms.IFF_FORMS]
    if rule.join == EITHER:
        return [forms.EITHER_FORMS, forms.EITHER_EVERY_FORMS] if asserted else [forms.EITHER_FORMS]
    return [forms.OR_FORMS, forms.OR_EVERY_FORMS if asserted else forms.BOTH_FORMS]


def _consequence_first(rule: GivenRule, words: Wordlist) -> list[tuple[str, ...]]:
    then, asserted = rule.then[0], rule.then[0] > 0
    fitting = [forms.BACK_DENIED_FORMS, forms.BACK_NOT_FORMS]
    if asserted:
        fitting = [forms.BACK_FORMS, forms.BACK_SO_FORMS]
    if _may_be_a_must(then, words):
        fitting.append(forms.BACK_MUST_FORMS)
    if asserted and rule.join != ANY:
        fitting.append(forms.ENOUGH_FORMS)
    if len(rule.given) == 1:
        fitting.append(forms.ONLY_FORMS)
        if asserted and rule.given[0] > 0:
            fitting.append(forms.ONLY_SO_FORMS)
        if words.adjective(then):
            fitting.append(forms.ADJECTIVE_ONLY_FORMS)
    return fitting


def _condition_first(rule: GivenRule, words: Wordlist) -> list[tuple[str, ...]]:
    then, asserted = rule.then[0], rule.then[0] > 0
    must = _may_be_a_must(then, words)
    fitting = [forms.IF_FORMS, forms.IF_FORMS, forms.IF_SO_FORMS if asserted else forms.IF_NOT_FORMS]
    if must:
        fitting.append(forms.IF_MUST_FORMS)
    if rule.join == ANY:
        return fitting
    fitting += [forms.NONE_FORMS, forms.EVERY_FORMS if asserted else forms.NOT_FORMS]
    if len(rule.given) > 1:
        return fitting
    given = rule.given[0]
    fitting += [forms.SINGLE_FORMS, forms.ALL_FORMS if asserted else forms.NOT_SINGLE_FORMS]
    if asserted:
        fitting += [forms.EVERY_SO_FORMS, forms.SINGLE_SO_FORMS]
        fitting += [forms.EVERY_MUST_FORMS] if must else []
    if given > 0:
        fitting.append(forms.NEEDS_FORMS)
        fitting += [forms.NEEDS_SO_FORMS] if asserted else []
        fitting += [forms.NEEDS_MUST_FORMS] if words.of(then).verb != "need" else []
    if words.adjective(given):
        fitting.append(forms.ADJECTIVE_FORMS if asserted else forms.ADJECTIVE_NOT_FORMS)
    return fitting


def _may_be_a_must(then: Literal, words: Wordlist) -> bool:
    """'must be stiff'. 'Must not' is a ban, and so is the 'must' of devices a command."""
    return then > 0 and not words.of_devices and words.of(then).verb != "need"


class _Parts(dict[str, str]):
    """The parts of a rule's sentence by name, each made when it is asked for."""

    def __init__(self, rule: GivenRule, words: Wordlist, given_manner: float, then_manner: float) -> None:
        super().__init__(n=words.noun)
        self.rule, self.words = rule, words
        self.manners = given_manner, then_manner

    def __missing__(self, name: str) -> str:
        if name[0].isupper():
            return capital(self[f"{name[0].lower()}{name[1:]}"])
        if name in _MADE:
            return _MADE[name](self)
        whole = self.rule.given if "giv" in name else self.rule.then
        literal = -whole[0] if name.startswith("un") else whole[0]
        shape = _SHAPES[name.removeprefix("un")]
        return shape(self.words.of(literal), literal > 0, self.manners["giv" not in name])

    def given(self) -> str:
        """All conditions, or one of several."""
        rule, manner = self.rule, self.manners[0]
        if rule.join == ANY:
            return " or ".join(self.words.third(literal, manner) for literal in rule.given)
        return self.words.all_of(rule.given, manner)

    def then(self) -> str:
        """The consequence, or one of two."""
        if self.rule.join == EITHER:
            return f"either {self['one']} or {self['other']}, but not both"
        return self.words.one_of(self.rule.then, self.manners[1])

    def often(self, adverb: str, *, plural: bool = False) -> str:
        """The consequence with an adverb."""
        return self.words.of(self.rule.then[0]).often(adverb, plural=plural)

    def side(self, at: int, sign: int) -> str:
        """One of the two of which one holds, or its opposite."""
        return self.words.third(sign * self.rule.then[at], self.manners[1])


_MADE: Mapping[str, Callable[[_Parts], str]] = {
    "a": lambda parts: with_article(parts.words.noun),
    "ns": lambda parts: plural_of(parts.words.noun),
    "given": _Parts.given,
    "then": _Parts.then,
    "one": lambda parts: parts.side(0, 1),
    "other": lambda parts: parts.side(1, 1),
    "unone": lambda parts: parts.side(0, -1),
    "unother": lambda parts: parts.side(1, -1),
    "adjective": lambda parts: parts.words.adjective(parts.rule.given[0]) or "",
    "an_adjective": lambda parts: with_article(parts["adjective"]),
    "then_adjective": lambda parts: parts.words.adjective(parts.rule.then[0]) or "",
    "always": lambda parts: parts.often("always"),
    "never": lambda parts: parts.often("never"),
    "always_plural": lambda parts: parts.often("always", plural=True),
    "never_plural": lambda parts: parts.often("never", plural=True),
}
_SHAPES: Mapping[str, Callable[[Property, bool, float], str]] = {
    **dict.fromkeys(("given", "then"), Property.third),
    **dict.fromkeys(("givens", "thens"), Property.plural),
    **dict.fromkeys(("give", "need"), Property.base),
    **dict.fromkeys(("giving", "having"), Property.gerund),
}


def capital(text: str) -> str:
    """With a capital first letter; the others stay."""
    return text[:1].upper() + text[1:]


def plural_of(noun: str) -> str:
    """'systems', 'processes'."""
    return f"{noun}es" if noun.endswith("s") else f"{noun}s"


def with_article(noun: str) -> str:
    """'a system', 'an oscillator'."""
    return f"{'an' if noun[0] in 'aeiou' else 'a'} {noun}"

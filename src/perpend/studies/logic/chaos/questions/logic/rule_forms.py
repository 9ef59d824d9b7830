"""The wordings of a rule, by what they say and by which signs they fit.

Parts: {a} 'a system', {n}, {ns}; {given}, {givens}, {give}, {giving} the condition in the third person, the plural, the
base form and as a gerund; {then}, {thens}, {need}, {having} the same of the consequence; {ungiven}, {unthen}, … their
opposites. {always} and {never} are the consequence with that adverb. A part with a capital opens the sentence.

`solving/rule_patterns.py` lists the patterns that are read back; a wording that is added here is added there.
"""

from __future__ import annotations

from itertools import product


def _joined(*slots: tuple[str, ...]) -> tuple[str, ...]:
    """Every choice of one text for each slot, joined by blanks."""
    return tuple(" ".join(choice) for choice in product(*slots))


_SURE = ("it is certain that", "one can be sure that", "there is no doubt that")
_IFS = ("If {a} {given},", "When {a} {given},", "Assuming that {a} {given},", "Supposing that {a} {given},")
"""What 'then' may follow."""
_LEADS = (
    *_IFS,
    "Whenever {a} {given},",
    "Provided that {a} {given},",
    "In every case where {a} {given},",
    "In any case in which {a} {given},",
    "Given {a} that {given},",
    "Where {a} {given},",
    "In all cases where {a} {given},",
)
_ENDS = (
    "it {then}.",
    "it {then}.",
    "the {n} {then}.",
    "that {n} {then}.",
    "it follows that it {then}.",
    "it is always the case that it {then}.",
    *(f"{sure} it {{then}}." for sure in _SURE),
)
IF_FORMS = (
    *_joined(_LEADS, _ENDS),
    *_joined(_IFS, ("then it {then}.", "then that {n} {then}.", "then, whatever else holds of it, it {then}.")),
    "From the fact that {a} {given} it follows that it {then}.",
    *_joined(
        ("The fact that {a} {given}", "That {a} {given}"), ("implies", "guarantees", "entails"), ("that it {then}.",)
    ),
    "Suppose that {a} {given}; then it {then}.",
    "Take {a} that {given}: it {then}.",
    "Knowing that {a} {given}, one may conclude that it {then}.",
    "Once it is known that {a} {given}, one may conclude that it {then}.",
)
"""For any number of conditions, and for one consequence or two."""
IF_SO_FORMS = _joined(
    _LEADS, ("it is bound to {need}.", "it is sure to {need}.", "it is certain to {need}.", "it {always}.")
)
"""For one consequence that is asserted; so are all with 'must'."""
IF_MUST_FORMS = (
    *_joined(_LEADS, ("it must {need}.", "the {n} must {need}.")),
    *_joined(_IFS, ("then it must {need}.",)),
)
IF_NOT_FORMS = (
    *_joined(
        _LEADS,
        (
            "it cannot {unneed}.",
            "it {never}.",
            "the {n} {never}.",
            "it is impossible for it to {unneed}.",
            "there is no way for it to {unneed}.",
        ),
    ),
    *_joined(_IFS, ("then it cannot {unneed}.",)),
)
"""For one consequence that is denied."""
_WHERE = (
    "if it {given}.",
    "whenever it {given}.",
    "when it {given}.",
    "in every case where it {given}.",
    "provided that it {given}.",
    "in any case in which it {given}.",
    "in all cases where it {given}.",
)
_WHERE_DENIED = ("if it {given}.", "when it {given}.", "provided that it {given}.")
"""'Is not … in every case where' can be read as 'not in every case'."""
_BACK_HEADS = ("{A} {then}", "{A} {then}", *(f"{sure[:1].upper()}{sure[1:]} {{a}} {{then}}" for sure in _SURE))
_BACK_OTHERS = (
    "That {a} {then} follows from the fact that it {given}.",
    "One may infer that {a} {then} from the fact that it {given}.",
    "One may conclude that {a} {then} once one knows that it {given}.",
    "That {a} {then} is guaranteed if it {given}.",
)
BACK_FORMS = (*_joined(_BACK_HEADS, _WHERE), *_BACK_OTHERS)
"""For a consequence that is asserted."""
BACK_DENIED_FORMS = (*_joined(_BACK_HEADS, _WHERE_DENIED), *_BACK_OTHERS)
BACK_SO_FORMS = _joined(
    ("{A} is bound to {need}", "{A} is sure to {need}", "{A} is certain to {need}", "{A} {always}"), _WHERE
)
BACK_MUST_FORMS = _joined(("{A} must {need}",), _WHERE)
BACK_NOT_FORMS = _joined(
    (
        "{A} cannot {unneed}",
        "It is impossible for {a} to {unneed}",
        "There is no way for {a} to {unneed}",
        "{A} {never}",
    ),
    _WHERE_DENIED,
)
NONE_FORMS = _joined(
    (
        "There is no {n} that",
        "There exists no {n} that",
        "There is not a single {n} that",
        "It never happens that {a}",
        "It cannot happen that {a}",
        "It is impossible that {a}",
        "It is out of the question that {a}",
        "One never meets {a} that",
        "One will not find {a} that",
        "One never comes across {a} that",
    ),
    ("{given}",),
    ("but {unthen}.", "but {unthen}.", "and yet {unthen}.", "and nevertheless {unthen}."),
)
_EVERY = ("Every {n}", "Any {n}", "Each {n}", "Every single {n}", "Each and every {n}")
EVERY_FORMS = _joined(_EVERY, ("that {given}", "which {given}"), ("{then}.",))
"""For a consequence that is asserted: 'every … is not …' can be read as 'not every … is …'."""
EVERY_SO_FORMS = _joined(
    _EVERY, ("that {given}",), ("is bound to {need}.", "is sure to {need}.", "is certain to {need}.")
)
EVERY_MUST_FORMS = _joined(_EVERY, ("that {given}",), ("must {need}.",))
ALL_FORMS = (
    *_joined(
        ("All {ns}", "All the {ns}", "Without exception, all {ns}"), ("that {givens}", "which {givens}"), ("{thens}.",)
    ),
    "Among {ns}, all those that {givens} {thens}.",
    "{Ns} that {givens} {always_plural}.",
    "{A} that {given} {always}.",
)
"""For one condition, and a consequence that is asserted."""
SINGLE_FORMS = (
    "Without exception, {ns} that {givens} {thens}.",
    "{Ns} that {givens} {thens}, without exception.",
    "Whatever else holds of it, {a} that {given} {then}.",
    "{A} that {given} {then}, whatever else holds of it.",
    "{A} {given} only if it {then}.",
    "{A} {given} only when it {then}.",
    "{A} {given} only in cases where it {then}.",
    "To say that {a} {given} is to say, among other things, that it {then}.",
    "For {a}, {giving} entails {having}.",
    "For {a}, {giving} implies {having}.",
    "{Giving} guarantees that {a} {then}.",
)
SINGLE_SO_FORMS = _joined(
    ("{Giving} is",), ("enough for {a}", "sufficient for {a}", "a sufficient condition for {a}"), ("to {need}.",)
)
ONLY_FORMS = (
    "Only if {a} {then} is it the case that it {given}.",
    "Only when {a} {then} is it the case that it {given}.",
    "Only {ns} that {thens} {givens}.",
    "Only those {ns} that {thens} {givens}.",
    "For {a}, {having} follows from {giving}.",
)
ONLY_SO_FORMS = _joined(
    ("{Having} is",), ("necessary for {a}", "a necessary condition for {a}", "indispensable for {a}"), ("to {give}.",)
)
"""For a condition and a consequence that are asserted."""
NEEDS_FORMS = (
    *_joined(
        ("{A} cannot {give}", "No {n} can {give}", "It is impossible for {a} to {give}"),
        ("unless it {then}.", "if it {unthen}."),
    ),
    "{A} can only {give} if it {then}.",
    "{A} can {give} only if it {then}.",
    "A necessary condition for {a} to {give} is that it {then}.",
    "For {a} to {give}, it is necessary that it {then}.",
)
"""For one condition that is asserted."""
NEEDS_MUST_FORMS = ("For {a} to {give}, it must {need}.", "In order to {give}, {a} must {need}.")
NEEDS_SO_FORMS = _joined(
    ("{A} cannot {give}", "No {n} can {give}", "It is impossible for {a} to {give}"), ("without {having}.",)
)
ENOUGH_FORMS = (
    *_joined(("For {a} to {need},",), ("it is enough", "it is sufficient", "it suffices"), ("that it {given}.",)),
    "All it takes for {a} to {need} is that it {given}.",
    "A sufficient condition for {a} to {need} is that it {given}.",
)
"""For a consequence that is asserted."""
NOT_FORMS = (
    *_joined(("No {n}", "Not a single {n}", "Not one {n}"), ("that {given}", "which {given}"), ("{unthen}.",)),
    *_joined(("{A}",), ("that {given}", "which {given}"), ("{never}.", "cannot {unneed}.")),
    "It is impossible for {a} that {given} to {unneed}.",
    "There is no way for {a} that {given} to {unneed}.",
)
"""For a consequence that is denied."""
NOT_SINGLE_FORMS = (
    "Not one of the {ns} that {givens} {unthen}.",
    "{Ns} that {givens} {never_plural}.",
    "For {a}, {giving} excludes {unhaving}.",
    "For {a}, {giving} rules out {unhaving}.",
)
UNLESS_FORMS = _joined(("Unless {a} {ungiven},", "Except when {a} {ungiven},"), ("it {then}.", "the {n} {then}."))
UNLESS_BACK_FORMS = _joined(("{A} {then}",), ("unless it {ungiven}.", "except when it {ungiven}."))
"""For one condition that is denied."""
ADJECTIVE_FORMS = (
    *_joined(("Every", "Any", "Each", "Every single", "Each and every"), ("{adjective} {n}",), ("{then}.",)),
    *_joined(("All", "All the", "Without exception, all"), ("{adjective} {ns} {thens}.",)),
    "{An_adjective} {n} {always}.",
    "{Adjective} {ns} {always_plural}.",
)
ADJECTIVE_NOT_FORMS = (
    *_joined(("No", "Not a single", "Not one"), ("{adjective} {n} {unthen}.",)),
    *_joined(("{An_adjective} {n}",), ("{never}.", "cannot {unneed}.")),
    "Not one of the {adjective} {ns} {unthen}.",
    "It is impossible for {an_adjective} {n} to {unneed}.",
    "{Adjective} {ns} {never_plural}.",
)
ADJECTIVE_ONLY_FORMS = (
    "Only {then_adjective} {ns} {givens}.",
    "The only {ns} that {givens} are {then_adjective} ones.",
)
_OF_ANY = ("Whatever {n} one takes,", "Given any {n},", "Take any {n}:", "For every {n} it holds that")
_EACH_ONE = ("Every {n}", "Each {n}", "Any {n}", "Each and every {n}")
OR_EVERY_FORMS = _joined(_EACH_ONE, ("{one} or {other}, or both.", "either {one} or {other}, or both."))
EITHER_EVERY_FORMS = _joined(
    _EACH_ONE, ("either {one} or {other}, but not both.", "either {one} or {other}, but never both.")
)
"""The first is asserted, for the same reason."""
_OF_TWO = ("Of every {n}", "Of any {n}")
_TRUE = ("of two things is true:", "of the following is true:", "of these two things is true:")
OR_FORMS = (
    *_joined(_OF_ANY, ("it {one} or {other}, or both.", "it either {one} or {other}, or both.")),
    *_joined(_OF_TWO, ("at least one",), _TRUE, ("it {one} or it {other}.",)),
)
EITHER_FORMS = (
    *_joined(_OF_ANY, ("it either {one} or {other}, but not both.", "it either {one} or {other}, but never both.")),
    *_joined(_OF_TWO, ("exactly one", "just one"), _TRUE, ("it {one} or it {other}.",)),
)
BOTH_FORMS = _joined(
    ("No {n} both", "Not a single {n} both", "It never happens that {a} both", "There is no {n} that both"),
    ("{unone} and {unother}.",),
)
"""For two of which the first is denied: its opposite does not go with that of the other."""
IFF_FORMS = (
    *_joined(
        ("{A} {given}",),
        (
            "if and only if",
            "exactly when",
            "precisely when",
            "when, and only when,",
            "if, and only if,",
            "in exactly those cases in which",
        ),
        ("it {then}.",),
    ),
    *_joined(("For {a}, {giving}",), ("is equivalent to {having}.", "amounts to the same as {having}.")),
    "To say that {a} {given} is the same as to say that it {then}.",
    "The {ns} that {givens} are exactly those that {thens}.",
    "The {ns} that {givens} are precisely the ones that {thens}.",
)
IFF_SO_FORMS = (
    "For {a} to {give}, it is necessary and sufficient that it {then}.",
    "A necessary and sufficient condition for {a} to {give} is that it {then}.",
)
"""For a condition that is asserted."""
SOME_FORMS = (
    *_joined(("Some {ns}", "Some of the {ns}"), ("that {givens} {thens}.",)),
    "At least one {n} that {given} {then}.",
    *_joined(("There are {ns}", "There exist {ns}"), ("that {givens} and {thens}.", "that both {givens} and {thens}.")),
    *_joined(
        ("There is at least one {n}", "One can find at least one {n}", "There exists {a}"),
        ("that {given} and {then}.",),
    ),
    "Among the {ns} that {givens}, at least one {then}.",
    "At least one {n} both {given} and {then}.",
)
NOT_ALL_FORMS = (
    "Not every {n} that {given} {unthen}.",
    "Not all {ns} that {givens} {unthens}.",
    "It is not true that every {n} that {given} {unthen}.",
    "It is not the case that all {ns} that {givens} {unthens}.",
)
"""For a consequence that is denied."""
SOME_ADJECTIVE_FORMS = ("Some {adjective} {ns} {thens}.", "At least one {adjective} {n} {then}.")

"""The sentences of rules, read back: phrases of a property, and the patterns of a rule.

The patterns are written from the language, not from the generator's lists. `truth_table.py` says what each rule means.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import TypeAlias

from perpend.errors import DataError

Signed: TypeAlias = tuple[str, bool]
"""A property and whether it is asserted."""

_THIRD_OF = {
    verb: f"{verb}es" if verb.endswith("ss") else f"{verb}s"
    for verb in ("show", "exhibit", "display", "need", "use", "pass", "bear")
}
_MODALS = ("must", "is bound to", "is sure to", "is certain to")


def _base_heads() -> dict[str, Signed]:
    """After 'to' or 'must'."""
    heads = {"be": ("be", True), "not be": ("be", False), "have": ("have", True)}
    heads |= dict.fromkeys(("have no", "lack", "be without", "not have"), ("have", False))
    for verb in _THIRD_OF:
        heads |= {verb: (verb, True), f"not {verb}": (verb, False), f"{verb} no": (verb, False)}
    return heads


def _third_heads() -> dict[str, Signed]:
    heads = {"is": ("be", True), "is always": ("be", True), "has": ("have", True), "always has": ("have", True)}
    heads |= dict.fromkeys(("is not", "is never", "fails to be"), ("be", False))
    heads |= dict.fromkeys(("has no", "does not have", "lacks", "is without", "never has"), ("have", False))
    for verb, third in _THIRD_OF.items():
        heads |= {third: (verb, True), f"always {third}": (verb, True)}
        heads |= dict.fromkeys((f"does not {verb}", f"{third} no", f"never {third}"), (verb, False))
    for base, (verb, holds) in _base_heads().items():
        heads |= {f"{modal} {base}": (verb, holds) for modal in _MODALS}
        if holds:
            heads[f"cannot {base}"] = verb, False
    return heads


def _plural_heads() -> dict[str, Signed]:
    heads = {"are": ("be", True), "are always": ("be", True), "have": ("have", True), "always have": ("have", True)}
    heads |= dict.fromkeys(("are not", "are never"), ("be", False))
    heads |= dict.fromkeys(("have no", "do not have", "lack", "are without", "never have"), ("have", False))
    for verb in _THIRD_OF:
        heads |= {verb: (verb, True), f"always {verb}": (verb, True)}
        heads |= dict.fromkeys((f"do not {verb}", f"{verb} no", f"never {verb}"), (verb, False))
    return heads


def _gerund_heads() -> dict[str, Signed]:
    heads = {"being": ("be", True), "not being": ("be", False), "having": ("have", True)}
    heads |= dict.fromkeys(("having no", "not having", "lacking"), ("have", False))
    for verb in _THIRD_OF:
        stem = f"{verb.removesuffix('e')}ing"
        heads |= {stem: (verb, True), f"not {stem}": (verb, False)}
    return heads


_HEADS: Mapping[str, Signed] = {**_base_heads(), **_third_heads(), **_plural_heads(), **_gerund_heads()}


def _any_of(heads: Iterable[str]) -> str:
    """A pattern for one of the heads, the longest first; heads with the same first word are tried together."""
    by_word: dict[str, list[str]] = {}
    for head in sorted(heads, key=lambda head: (-len(head), head)):
        first, _, rest = head.partition(" ")
        by_word.setdefault(first, []).append(rest)
    parts = []
    for first, rests in by_word.items():
        more = "|".join(f" {rest}" for rest in rests if rest)
        parts.append(f"{first}(?:{more}){'?' if '' in rests else ''}" if more else first)
    return f"(?:{'|'.join(parts)})"


_HEAD = re.compile(f"({_any_of(_HEADS)}) (.+)")
_REST = r"(?:[\w'’–-]+ )*?[\w'’–-]+"
THIRD = rf"{_any_of(_third_heads())} {_REST}"
_PLURAL = rf"{_any_of(_plural_heads())} {_REST}"
_BASE = rf"{_any_of(_base_heads())} {_REST}"
_GERUND = rf"{_any_of(_gerund_heads())} {_REST}"
_GRAMMAR_WORDS = frozenset(
    {
        *[
            "is",
            "are",
            "be",
            "has",
            "have",
            "does",
            "do",
            "not",
            "no",
            "and",
            "or",
            "but",
            "if",
            "it",
            "that",
            "unless",
            "either",
            "both",
            "only",
            "lack",
            "lacks",
            "without",
        ],
        *["fails", "always", "never", "must", "cannot", "which", "yet", "when", "except", "being", "having", "lacking"],
        *_THIRD_OF,
        *_THIRD_OF.values(),
    }
)
_ALL = rf"{THIRD}(?: and {THIRD})*"
_ONE_OR_TWO = rf"(?:either )?{THIRD}(?: or {THIRD}, (?:or|but not|but never) both)?"
_N = r"[\w-]+"
_OF = r"an? [\w-]+"
_EVERY = "(?:every single|each and every|every|any|each)"
_WHERE = "(?:if|whenever|when|provided that|in every case where|in any case in which|in all cases where)"
_LEAD = (
    "(?:if|whenever|when|where|provided that|in every case where|in any case in which|in all cases where|assuming "
    "that|supposing that|knowing that|once it is known that)"
)
_SURE = "(?:it is certain|one can be sure|there is no doubt)"
_SO = (
    rf"(?:then,? )?(?:whatever else holds of it, )?(?:(?:it follows|it is always the case|one may conclude|"
    rf"{_SURE}) that )?(?:it|the {_N}|that {_N}) (?P<t>.+)"
)
_NO_SUCH = (
    rf"(?:there (?:is|exists) no {_N} that|there is not a single {_N} that|(?:it never happens|it cannot happen|it "
    rf"is impossible|it is out of the question) that {_OF}|one (?:never meets|will not find|never comes across) "
    rf"{_OF} that)"
)
_NO_WAY = "(?:it is impossible|there is no way)"
_ONE_OF = "of (?:two things|the following|these two things) is true:"

_RULES: tuple[tuple[str, str], ...] = (
    ("if", rf"{_LEAD} {_OF} (?P<g>.+?), {_SO}"),
    ("if", rf"given {_OF} that (?P<g>.+?), {_SO}"),
    (
        "iff",
        (
            rf"{_OF} (?P<g>{THIRD}) (?:if and only if|if, and only if,|exactly when|precisely when|when, and "
            rf"only when,|"
            rf"in exactly those cases in which) it (?P<t>{THIRD})"
        ),
    ),
    ("if", rf"{_OF} (?P<g>{THIRD}) only (?:if|when|in cases where) it (?P<t>{THIRD})"),
    (
        "if",
        (
            rf"{_OF} (?:cannot (?P<g>{_BASE}) unless|can only (?P<g2>{_BASE}) if|can (?P<g3>{_BASE}) only if) it "
            rf"(?P<t>{THIRD})"
        ),
    ),
    ("if", rf"(?:{_OF} cannot|no {_N} can|it is impossible for {_OF} to) (?P<g>{_BASE}) without (?P<t>{_GERUND})"),
    ("unless", rf"{_OF} (?P<t>{THIRD}) (?:unless|except when) it (?P<g>{THIRD})"),
    ("if", rf"{_OF} (?P<t>{THIRD}) {_WHERE} it (?P<g>.+)"),
    ("unless", rf"(?:unless|except when) {_OF} (?P<g>{THIRD}), (?:it|the {_N}) (?P<t>{THIRD})"),
    ("if", rf"{_OF} (?:that|which) (?P<g>{_ALL}) (?P<t>{THIRD})(?:, whatever else holds of it)?"),
    ("if", rf"suppose that {_OF} (?P<g>.+?); then it (?P<t>.+)"),
    ("if", rf"take {_OF} that (?P<g>.+?): it (?P<t>.+)"),
    ("if", rf"from the fact that {_OF} (?P<g>.+?) it follows that it (?P<t>.+)"),
    ("if", rf"that {_OF} (?P<t>{THIRD}) (?:follows from the fact that|is guaranteed if) it (?P<g>.+)"),
    ("if", rf"(?:the fact )?that {_OF} (?P<g>.+?) (?:implies|guarantees|entails) that it (?P<t>.+)"),
    ("if", rf"{_SURE} that {_OF} (?P<t>{THIRD}) {_WHERE} it (?P<g>.+)"),
    (
        "if",
        (
            rf"one may (?:infer|conclude) that {_OF} (?P<t>{THIRD}) (?:from the fact that|once one knows that) it "
            rf"(?P<g>.+)"
        ),
    ),
    ("if", rf"only (?:if|when) {_OF} (?P<t>{THIRD}) is it the case that it (?P<g>{THIRD})"),
    ("if", rf"for {_OF} to (?P<g>{_BASE}), it must (?P<t>{_BASE})"),
    ("if", rf"in order to (?P<g>{_BASE}), {_OF} must (?P<t>{_BASE})"),
    ("if", rf"for {_OF} to (?P<g>{_BASE}), it is necessary that it (?P<t>{THIRD})"),
    ("if", rf"a necessary condition for {_OF} to (?P<g>{_BASE}) is that it (?P<t>{THIRD})"),
    ("iff", rf"for {_OF} to (?P<g>{_BASE}), it is necessary and sufficient that it (?P<t>{THIRD})"),
    ("iff", rf"a necessary and sufficient condition for {_OF} to (?P<g>{_BASE}) is that it (?P<t>{THIRD})"),
    ("if", rf"for {_OF} to (?P<t>{_BASE}), (?:it is enough|it is sufficient|it suffices) that it (?P<g>{_ALL})"),
    ("if", rf"(?:all it takes|a sufficient condition) for {_OF} to (?P<t>{_BASE}) is that it (?P<g>{_ALL})"),
    ("if", rf"for {_OF}, (?P<g>{_GERUND}) (?:entails|implies) (?P<t>{_GERUND})"),
    ("if", rf"for {_OF}, (?P<t>{_GERUND}) follows from (?P<g>{_GERUND})"),
    ("none", rf"for {_OF}, (?P<g>{_GERUND}) (?:excludes|rules out) (?P<t>{_GERUND})"),
    ("iff", rf"for {_OF}, (?P<g>{_GERUND}) (?:is equivalent to|amounts to the same as) (?P<t>{_GERUND})"),
    ("if", rf"(?P<g>{_GERUND}) guarantees that {_OF} (?P<t>{THIRD})"),
    ("if", rf"(?P<g>{_GERUND}) is (?:enough|sufficient|a sufficient condition) for {_OF} to (?P<t>{_BASE})"),
    ("if", rf"(?P<t>{_GERUND}) is (?:necessary|a necessary condition|indispensable) for {_OF} to (?P<g>{_BASE})"),
    ("if", rf"to say that {_OF} (?P<g>{THIRD}) is to say, among other things, that it (?P<t>{THIRD})"),
    ("iff", rf"to say that {_OF} (?P<g>{THIRD}) is the same as to say that it (?P<t>{THIRD})"),
    ("none", rf"{_NO_SUCH} (?P<g>{_ALL}) (?:but|and yet|and nevertheless) (?P<t>{THIRD})"),
    (
        "none",
        (
            rf"(?:no {_N} both|not a single {_N} both|it never happens that {_OF} both|there is no {_N} that both) "
            rf"(?P<g>{THIRD}) and (?P<t>{THIRD})"
        ),
    ),
    ("none", rf"(?:no|not a single|not one) {_N} (?:that|which) (?P<g>{_ALL}) (?P<t>{THIRD})"),
    ("none", rf"not one of the {_N} that (?P<g>{_PLURAL}) (?P<t>{THIRD})"),
    ("if", rf"(?:no {_N} can|it is impossible for {_OF} to) (?P<g>{_BASE}) unless it (?P<t>{THIRD})"),
    ("none", rf"no {_N} can (?P<g>{_BASE}) if it (?P<t>{THIRD})"),
    ("none", rf"{_NO_WAY} for {_OF} to (?P<t>{_BASE}) {_WHERE} it (?P<g>.+)"),
    ("none", rf"{_NO_WAY} for {_OF} that (?P<g>{_ALL}) to (?P<t>{_BASE})"),
    ("none", rf"{_NO_WAY} for an? (?P<a>[\w-]+) {_N} to (?P<t>{_BASE})"),
    ("if", rf"(?:{_EVERY}|whatever else holds of it, an?) {_N} (?:that|which) (?P<g>{_ALL}) (?P<t>{_ONE_OR_TWO})"),
    (
        "if",
        (
            rf"(?:all|all the|without exception,|without exception, all) {_N} (?:that|which) (?P<g>{_PLURAL}) "
            rf"(?P<t>{_PLURAL})"
        ),
    ),
    ("if", rf"among {_N}, all those that (?P<g>{_PLURAL}) (?P<t>{_PLURAL})"),
    ("if", rf"(?:only|only those) {_N} that (?P<t>{_PLURAL}) (?P<g>{_PLURAL})"),
    ("only", rf"the only {_N} that (?P<t>{_PLURAL}) are (?P<a>[\w-]+) ones"),
    ("iff", rf"the {_N} that (?P<g>{_PLURAL}) are (?:exactly those|precisely the ones) that (?P<t>{_PLURAL})"),
    ("if", rf"{_EVERY} (?P<a>[\w-]+) {_N} (?P<t>{THIRD})"),
    ("if", rf"(?:all|all the|without exception, all) (?P<a>[\w-]+) {_N} (?P<t>{_PLURAL})"),
    ("none", rf"(?:no|not a single|not one) (?P<a>[\w-]+) {_N} (?P<t>{THIRD})"),
    ("none", rf"not one of the (?P<a>[\w-]+) {_N} (?P<t>{THIRD})"),
    ("only", rf"only (?P<a>[\w-]+) {_N} (?P<t>{_PLURAL})"),
    ("if", rf"{_EVERY} {_N} (?P<t>(?:either )?{THIRD} or {THIRD}, (?:or|but not|but never) both)"),
    ("if", rf"(?:whatever {_N} one takes,|given any {_N},|take any {_N}:|for every {_N} it holds that) it (?P<t>.+)"),
    ("if", rf"of (?:every|any) {_N} at least one {_ONE_OF} it (?P<t>{THIRD}) or it (?P<t2>{THIRD})"),
    ("one", rf"of (?:every|any) {_N} (?:exactly|just) one {_ONE_OF} it (?P<t>{THIRD}) or it (?P<t2>{THIRD})"),
    ("some", rf"some (?:of the )?{_N} that (?P<g>{_PLURAL}) (?P<t>{_PLURAL})"),
    ("some", rf"at least one {_N} that (?P<g>{THIRD}) (?P<t>{THIRD})"),
    ("some", rf"at least one {_N} both (?P<g>{THIRD}) and (?P<t>{THIRD})"),
    ("some", rf"there (?:are|exist) {_N} that (?:both )?(?P<g>{_PLURAL}) and (?P<t>{_PLURAL})"),
    (
        "some",
        rf"(?:(?:there is|one can find) at least one {_N}|there exists {_OF}) that (?P<g>{THIRD}) and (?P<t>{THIRD})",
    ),
    ("some", rf"among the {_N} that (?P<g>{_PLURAL}), at least one (?P<t>{THIRD})"),
    ("some", rf"some (?P<a>[\w-]+) {_N} (?P<t>{_PLURAL})"),
    ("some", rf"at least one (?P<a>[\w-]+) {_N} (?P<t>{THIRD})"),
    ("not all", rf"(?:not|it is not true that) every {_N} that (?P<g>{THIRD}) (?P<t>{THIRD})"),
    ("not all", rf"(?:not|it is not the case that) all {_N} that (?P<g>{_PLURAL}) (?P<t>{_PLURAL})"),
    ("if", rf"{_N} that (?P<g>{_PLURAL}) (?P<t>{_PLURAL}), without exception"),
    ("if", rf"{_N} that (?P<g>{_PLURAL}) (?P<t>(?=(?:are )?(?:always|never) ){_PLURAL})"),
    ("if", rf"an? (?P<a>[\w-]+) {_N} (?P<t>(?=(?:is )?(?:always|never|cannot) ){THIRD})"),
    ("if", rf"(?P<a>[\w-]+) {_N} (?P<t>(?=(?:are )?(?:always|never) ){_PLURAL})"),
)
_RULE_PATTERNS = tuple((kind, re.compile(pattern)) for kind, pattern in _RULES)


@dataclass(frozen=True, slots=True)
class ReadCondition:
    """What a rule asks of a case: all of `given` brings one of `then`.

    `any_given`: one of `given` does; `exact`: just one of `then` holds; `both_ways` adds the way back. With `witness`
    the rule says only that some case has all of `given` and `then`.
    """

    given: tuple[Signed, ...]
    then: tuple[Signed, ...]
    any_given: bool = False
    exact: bool = False
    both_ways: bool = False
    witness: bool = False


@lru_cache(maxsize=256)  # partners have the same rules and are read one after the other
def rule_of(text: str) -> ReadCondition | None:
    """The rule that a sentence states; None where it is no rule."""
    text = re.sub("(?:there is no way|it is impossible) for it to ", "it cannot ", text)
    for kind, pattern in _RULE_PATTERNS:
        matched = pattern.fullmatch(text)
        if not matched:
            continue
        parts = matched.groupdict()
        adjective = ((f"be {parts['a']}", True),) if parts.get("a") else ()
        given_text = parts.get("g") or parts.get("g2") or parts.get("g3") or ""
        given = adjective or (several(given_text) if given_text else ())
        any_given = " or " in given_text
        then_text = parts["t"]
        exact = kind == "one" or then_text.endswith((", but not both", ", but never both"))
        then = several(re.sub(r", (?:or|but not|but never) both$", "", then_text.removeprefix("either ")))
        if " or " in then_text and not exact and not then_text.endswith(", or both"):
            raise DataError(f"whether both may hold is not said: {text!r}")
        if parts.get("t2"):
            then += several(parts["t2"])
        match kind:
            case "unless":
                given = denied(given)
            case "none" | "not all":
                then = denied(then)
            case "only":
                given, then = then, given
        return ReadCondition(
            given, then, any_given, exact, both_ways=kind == "iff", witness=kind in ("some", "not all")
        )
    return None


def denied(literals: Iterable[Signed]) -> tuple[Signed, ...]:
    """Their opposites."""
    return tuple((name, not holds) for name, holds in literals)


def several(text: str) -> tuple[Signed, ...]:
    """The phrases of a list, all joined by 'and' or all by 'or'."""
    if " and " in text and " or " in text:
        raise DataError(f"'and' and 'or' are mixed: {text!r}")
    return tuple(_phrase(part) for part in re.split(r", | and | or ", text))


def _phrase(text: str) -> Signed:
    """The property of a phrase, and whether it is asserted: 'has no time delay' is ('have time delay', False)."""
    matched = _HEAD.fullmatch(text)
    if not matched or _GRAMMAR_WORDS & set(matched[2].split()):
        raise DataError(f"a phrase is not understood: {text!r}")
    verb, holds = _HEADS[matched[1]]
    return f"{verb} {re.sub('^an? ', '', matched[2])}", holds

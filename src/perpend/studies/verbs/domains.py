"""What the fields of a probe may say, and values of one's own that somebody declares."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from perpend.errors import DataError, SpecError, did_you_mean
from perpend.models.base import BLANK
from perpend.types import Item

REGULAR = ("work", "play", "walk", "talk", "listen", "watch", "study", "finish", "start", "look", "want", "like")
IRREGULAR = ("be", "have", "do", "go", "come", "see", "eat", "write")
VERBS = REGULAR + IRREGULAR
TENSES = ("infinitive", "present_simple", "past_simple", "past_participle", "future")
PERSONS = ("1sg", "2sg", "3sg")
TRICKS = (
    "over_regularization",
    "wrong_person_agreement",
    "wrong_tense_marker",
    "auxiliary_mismatch",
    "en_es_mismatch",
    "plural_or_oos",
)
CORE_CODES = ("bare_form", "person_agreement", "past_form", "participle_form", "future_marker")
"""What a core probe of each tense asks for, in the order of TENSES."""

DOMAINS: Mapping[str, Sequence[str]] = {
    "language": ("en", "es"),
    "verb": VERBS,
    "regularity": ("regular", "irregular"),
    "tense": TENSES,
    "person": PERSONS,
    "label": ("correct", "incorrect", "ambiguous"),
    "category": ("core", "adversarial"),
    "reason_code": (*TRICKS, *CORE_CODES),
}
_DECLARABLE = ("reason_code", "verb", "tense", "person", "language")


def declared(text: str) -> dict[str, tuple[str, ...]]:
    """Values of one's own by their field: 'reason_code=negation,verb=run'. An unknown field is a SpecError."""
    values: dict[str, tuple[str, ...]] = {}
    for part in text.split(",") if text else ():
        field_name, equals, value = part.strip().partition("=")
        if not equals or not value.strip():
            raise SpecError(f"--declare: {part!r:.80}: write FIELD=VALUE, for example reason_code=negation")
        if field_name not in _DECLARABLE:
            raise SpecError(f"--declare: unknown field {field_name!r:.80}; {did_you_mean(field_name, _DECLARABLE)}")
        values[field_name] = (*values.get(field_name, ()), value.strip())
    return values


def known_tricks(own: Mapping[str, Sequence[str]]) -> tuple[str, ...]:
    """The reason codes of adversarial probes: those of the package, and those that somebody declared."""
    return (*TRICKS, *own.get("reason_code", ()))


def check_probe(item: Item, where: str, own: Mapping[str, Sequence[str]]) -> None:
    """DataError for an item that is no probe: two blanks, a value that nobody declared, a wrong reason_code."""
    place, tags = f"{where}: probe {item.id!r}", item.tags
    if item.prompt.count(BLANK) > 1 or "_" in item.prompt.replace(BLANK, ""):
        raise DataError(
            f"{place}: the prompt may hold the blank {BLANK!r} once, and no other '_': {item.prompt!r:.200}"
        )
    for name, known in DOMAINS.items():
        value, every = tags.get(name), (*known, *own.get(name, ()))
        if value is not None and value not in every:
            remedy = ""
            if name in _DECLARABLE:
                remedy = (
                    f" (one of your own: --declare {name}={value:.80}, in eval --option declare={name}={value:.80})"
                )
            raise DataError(f"{place}: unknown {name} {value!r:.80}; {did_you_mean(value, every)}{remedy}")
    verb, regularity = tags.get("verb"), tags.get("regularity")
    if verb in VERBS and regularity is not None and regularity != ("regular" if verb in REGULAR else "irregular"):
        raise DataError(f"{place}: {verb!r} is not {regularity}")
    tricks, code = known_tricks(own), tags.get("reason_code")
    if tags.get("category") == "adversarial":
        if code not in tricks:
            raise DataError(f"{place}: an adversarial probe names its trick, not {code!r:.80}: {', '.join(tricks)}")
    elif code in tricks:
        raise DataError(f"{place}: is core but its reason_code {code!r:.80} is a trick; mark it adversarial")

"""The label of a reworded question again, from its text: what is claimed last, within which negations, of what."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from typing import TypeAlias

from perpend.canon import JSON
from perpend.errors import DataError
from perpend.studies.logic.chaos.questions.compute.reading import (
    bare_text,
    claims_in,
    instance_in,
    system_in,
    truth,
    without_equations,
)
from perpend.studies.logic.chaos.questions.compute.relabel import relabel as computed
from perpend.studies.logic.chaos.questions.frames import AFTER, begins_sentence
from perpend.studies.logic.chaos.questions.reason.relabel import clause_truth
from perpend.studies.logic.chaos.questions.variants.voices import (
    CANCELLED,
    DISTRACTORS,
    FORMATS,
    GENERAL,
    LEADS,
    STILL,
    TURNED,
    VOICES,
)
from perpend.studies.logic.chaos.questions.world import Sources

_BOUNDARY = re.compile(r"(?:^|(?<=[.:*)] ))")
Readings: TypeAlias = Mapping[str, Mapping[str, tuple[str, ...]]]
"""By the first word of a layout: what stands before its claim, and all that may stand after it."""


def relabel(record: Mapping[str, JSON], world: Sources) -> bool:
    """The label by the question's text; DataError where it cannot be read, or is about another instance than the tags
    name."""
    text = _without_asides(str(record["question"]))
    turned, text = _unturned(_without_opposite(text))
    if record["stratum"] == "reason":
        return _derived(text) is not turned
    if record["kind"] == "iterate":
        return computed({"question": text, "kind": "iterate"}, world) is not turned
    if record["kind"] != "regime":
        raise DataError(f"no reworded kind is called {record['kind']!r}")
    return _measured(text, str(record["instance"]), world) is not turned


def _without_asides(text: str) -> str:
    """The text without sentences that are beside the point and without the heading of a page."""
    for heading in _headings():
        text = text.removeprefix(heading)
    for sentence in (*DISTRACTORS, *GENERAL):
        text = text.replace(f" {sentence}", "")
    return text


@cache
def _headings() -> tuple[str, ...]:
    return tuple(sorted({form.partition("{setting}")[0] for form in FORMATS} - {""}, key=lambda one: (-len(one), one)))


def _readings(forms: Iterable[str], slot: str = "claim") -> Readings:
    """The layouts that hold a slot, by their first word."""
    read: dict[str, dict[str, tuple[str, ...]]] = {}
    for form in forms:
        before, _, after = form.replace(f"{{{slot.capitalize()}}}", f"{{{slot}}}").partition(f"{{{slot}}}")
        by_opening = read.setdefault(before.partition(" ")[0], {})
        by_opening[before] = (*by_opening.get(before, ()), after)
    return read


def _matches(text: str, readings: Readings) -> Iterator[tuple[int, int, str, str]]:
    """Where a layout begins that the text has at a sentence's beginning and at its own end; its length; what it holds,
    and what the layout has before that."""
    for boundary in _BOUNDARY.finditer(text):
        at = boundary.start()
        for before, endings in readings.get(text[at:].partition(" ")[0], {}).items():
            if text.startswith(before, at):
                for after in endings:
                    if text.endswith(after) and len(text) - len(after) > at + len(before):
                        inner = text[at + len(before) : len(text) - len(after)]
                        yield len(before) + len(after), at, inner, before


@cache
def _negated() -> tuple[tuple[Readings, bool], ...]:
    return (_readings(CANCELLED), False), (_readings(TURNED), True)


def _unturned(text: str) -> tuple[bool, str]:
    """Whether an odd number of negations stands around the claim, and the text with 'Is it true that' in their place.

    One negation turns the claim; two cancel.
    """
    for readings, turns in _negated():
        for _, at, claim, _ in _matches(text, readings):
            return turns, f"{text[:at]}Is it true that {claim}?"
    return False, text


@cache
def _opposed() -> tuple[frozenset[str], Readings]:
    return frozenset(lead.partition("{opposite}")[0] for lead in LEADS), _readings(STILL)


def _without_opposite(text: str) -> str:
    """The text without a sentence that says the opposite of what is asked after it."""
    leads, still = _opposed()
    for _, place, _, _ in _matches(text, still):
        for boundary in _BOUNDARY.finditer(text, 0, place):
            rest = text[boundary.start() : place]
            opening = rest.partition(" that ")[0] + " that "
            if opening in leads:
                return text[: boundary.start()] + text[place:]
    return text


def _measured(text: str, tagged: str, world: Sources) -> bool:
    instance = instance_in(world, text)
    if instance.id != tagged:
        raise DataError(f"the text is about {instance.id}, the tags are about {tagged}")
    claims = claims_in(without_equations(bare_text(text), system_in(world, text)))
    if not claims:
        raise DataError(f"no claim is made in {text!r}")
    # What stands before it is a lure.
    predicate, asserted = claims[-1]
    return truth(instance, predicate) is asserted


def _derived(text: str) -> bool:
    head, claim = unframed(text)
    return clause_truth(head, claim)


def unframed(text: str) -> tuple[str, str]:
    """What stands before the claim, and the claim, of a text in one of the known layouts.

    Of the layouts that fit, the one with the most words of its own is taken. DataError where none fits.
    """
    best = max(_matches(text, _layouts()), default=None, key=lambda match: match[0])
    if best is None:
        raise DataError(f"no known layout: {text!r}")
    _, at, claim, _ = best
    return text[:at].strip(), claim[:1].lower() + claim[1:] if begins_sentence(claim) else claim


@cache
def _layouts() -> Readings:
    """Every layout that is not a direct question."""
    after = (form for forms in AFTER.values() for form in forms if "sks}" not in form)
    return _readings((*after, *VOICES, *STILL, *(_tail(form) for form in FORMATS)))


def _tail(form: str) -> str:
    """What follows the setting in a layout of the page."""
    return form.partition("{setting} ")[2]

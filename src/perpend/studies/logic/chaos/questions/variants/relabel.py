"""The label of a reworded question again, from its text: what is claimed last, within which negations, of what."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache

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
from perpend.studies.logic.chaos.questions.frames import AFTER
from perpend.studies.logic.chaos.questions.reason.relabel import clause_truth
from perpend.studies.logic.chaos.questions.variants.voices import (
    AGAINST,
    CANCELLED,
    DISTRACTORS,
    FORMATS,
    GENERAL,
    TURNED,
    VOICES,
)
from perpend.studies.logic.chaos.questions.world import Sources


def relabel(record: Mapping[str, JSON], world: Sources) -> bool:
    """The label by the question's text; DataError where it cannot be read, or is about another instance than the tags
    name."""
    text = _without_asides(str(record["question"]))
    turned, text = _unturned(text)
    if record["stratum"] == "reason":
        return _derived(text) is not turned
    if record["kind"] == "iterate":
        return _orbit(text, world) is not turned
    if record["kind"] != "regime":
        raise DataError(f"no reworded kind is called {record['kind']!r}")
    return _measured(text, str(record["instance"]), world) is not turned


def _without_asides(text: str) -> str:
    """The text without sentences that are beside the point and without the heading of a page."""
    for form in FORMATS:
        heading = form.partition("{setting}")[0]
        text = text.removeprefix(heading) if heading else text
    for sentence in (*DISTRACTORS, *GENERAL):
        text = text.replace(f" {sentence}", "")
    return text


def _unturned(text: str) -> tuple[bool, str]:
    """Whether an odd number of negations stands around the claim, and the text with 'Is it true that' in their place.

    One negation turns the claim; two cancel.
    """
    for forms, turns in ((CANCELLED, False), (TURNED, True)):
        for form in forms:
            opening, ending = form.split("{claim}")
            at = text.find(f" {opening}")
            if at >= 0 and text.endswith(ending):
                claim = text[at + 1 + len(opening) : len(text) - len(ending)]
                return turns, f"{text[:at]} Is it true that {claim}?"
    return False, text


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


def _orbit(text: str, world: Sources) -> bool:
    """The last claim about an iterate; an opposite one may stand before it."""
    for form in AGAINST:
        opening, middle = re.split(r"\{opposite\}", form)[0], re.split(r"\{opposite\}|\{claim\}", form)[1]
        if f" {opening}" in text and middle in text:
            text = f"{text[: text.index(f' {opening}')]}{text[text.index(middle) + 1 :]}"
    return computed({"question": text, "kind": "iterate"}, world)


def _derived(text: str) -> bool:
    head, claim = unframed(text)
    return clause_truth(head, claim)


def unframed(text: str) -> tuple[str, str]:
    """What stands before the claim, and the claim, of a text in one of the known layouts.

    Of the layouts that fit, the one with the most words of its own is taken. DataError where none fits.
    """
    best: tuple[int, str, str] | None = None
    for length, pattern in _layouts():
        match = pattern.search(text)
        if match and (best is None or length > best[0]):
            best = length, text[: match.start()].strip(), match["claim"]
    if best is None:
        raise DataError(f"no known layout: {text!r}")
    claim = best[2]
    return best[1], claim[:1].lower() + claim[1:]


@cache
def _layouts() -> tuple[tuple[int, re.Pattern[str]], ...]:
    """The length of every layout that is not a direct question, and what it looks like at the end of a text."""
    readings = []
    for form in (*AFTER.values(), *VOICES, *AGAINST, *(_tail(form) for form in FORMATS)):
        if "sks}" not in form:
            text = re.escape(form).replace(r"\{opposite\}", ".+?").replace(r"\{claim\}", "(?P<claim>.+?)")
            text = text.replace(r"\{Claim\}", "(?P<claim>[A-Z].+?)")
            readings.append((len(form), re.compile(rf"(?:^|(?<=[.:*] )){text}$")))
    return tuple(readings)


def _tail(form: str) -> str:
    """What follows the setting in a layout of the page."""
    return form.partition("{setting} ")[2]

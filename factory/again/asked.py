"""A question's text → its setting, the claim that is asked about, and whether the question asks if that is false."""

from __future__ import annotations

import re
from dataclasses import dataclass

from factory.quartet import Unreadable

_PERSON = r"(?:An?|The) (?:[\w-]+ ){1,8}?"
_SAID = re.compile(
    rf"(?:{_PERSON}(?:says|claims|concludes|writes|states) that|According to an? [\w ,-]+?,) (?P<said>.+)\.$", re.S
)
_WHOLE = (  # sentences that hold the claim themselves
    (re.compile(r"Is it (?:true|correct|the case|right to say|certain) that (?P<c>.+)\?$", re.S), False),
    (re.compile(r"Is it (?:false|wrong to say) that (?P<c>.+)\?$", re.S), True),
    (
        re.compile(
            r"(?:Does it (?:hold|follow)|Must it be true|Do these statements imply|Can one conclude) that (?P<c>.+)\?$",
            re.S,
        ),
        False,
    ),
    (re.compile(r"True or false: (?P<c>.+)\.$", re.S), False),
)
_AFTER = (  # sentences about the one before
    (
        re.compile(
            r"(?:Is it true|Is that so|True or false|Is that correct|Do you agree|Is this true|Does this follow)\?$"
        ),
        False,
    ),
    (re.compile(r"Is the [\w-]+ right\?$"), False),
    (re.compile(r"Is (?:the [\w-]+ mistaken|this an error)\?$"), True),
)
_EARLY = re.compile(
    r"(?:Decide whether it (?:is true|follows) that (?P<a>.+?)\.|Question: is it true that (?P<b>.+?)\?"
    r"|Is it true that (?P<d>.+?) in the following case\?|Do the statements below imply that (?P<e>.+?)\?)"
    r" (?P<setting>(?=[A-Z]).+)$",
    re.S,
)
_LISTED = re.compile(
    r"(?:Given:|1\.|- Setting:) (?P<setting>.+)\n(?:Statement:|2\.|- Claim:) (?P<c>.+)\.\n"
    r"(?:Is the statement true|Does the second point hold, given the first|- Is the claim correct)\?$",
    re.S,
)
_SENTENCES = re.compile(r"(?<=[.?!]) ")


@dataclass(frozen=True)
class Asked:
    setting: str
    claim: str
    denied: bool


def asked(text: str) -> Asked:
    """What a question asks; Unreadable where its form is none that is known here."""
    listed = _LISTED.match(text)
    if listed:
        return Asked(listed["setting"], _clause(listed["c"]), denied=False)
    early = _EARLY.match(text)
    if early:
        return Asked(early["setting"], early["a"] or early["b"] or early["d"] or early["e"], denied=False)
    *before, last = _SENTENCES.split(text)
    for pattern, denied in _WHOLE:
        found = pattern.match(last)
        if found:
            return Asked(_without_voice(before), found["c"], denied)
    for pattern, denied in _AFTER:
        if pattern.match(last) and before:
            *before, claim = before
            said = _SAID.match(claim)
            claim = claim.removeprefix("Check this statement: ").removesuffix(".") if said is None else said["said"]
            return Asked(_without_voice(before), _clause(claim.removeprefix("it follows that ")), denied)
    raise Unreadable(f"no question that is known: {last}")


def _clause(sentence: str) -> str:
    """A sentence as a clause: without its capital, where this is not a name."""
    word = sentence.split(" ", 1)[0]
    return sentence[0].lower() + sentence[1:] if word == "A" or word[1:].islower() else sentence


def _without_voice(sentences: list[str]) -> str:
    """The setting; what a voice says of it beforehand is not part of it."""
    return " ".join(sentences[:-1] if sentences and _SAID.match(sentences[-1]) else sentences)

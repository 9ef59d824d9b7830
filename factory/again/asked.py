"""A question's text → its setting, the claim that is asked about, and whether the question asks if that is false."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import partial

from factory.quartet import Unreadable
from factory.tables import toml

_forms = partial(toml, "again/asked.toml")
_SENTENCES = re.compile(r"(?<=[.?!]) ")


@dataclass(frozen=True)
class Asked:
    setting: str
    claim: str
    denied: bool


def _match(pattern: str, text: str) -> re.Match[str] | None:
    holes = {"{c}": "(?P<c>.+?)", "{setting}": "(?P<setting>(?=[A-Z]).+)"}
    return re.match(re.sub(r"\{(?:c|setting)\}", lambda hole: holes[hole[0]], pattern), text, re.S)


def asked(text: str) -> Asked:
    """What a question asks; Unreadable where its form is none that is known here."""
    for order, patterns in _forms()["order"].items():
        for found in filter(None, (_match(pattern, text) for pattern in patterns)):
            return Asked(found["setting"], _clause(found["c"]) if order == "listed" else found["c"], denied=False)
    *before, last = _SENTENCES.split(text)
    for how, patterns in _forms()["whole"].items():
        for found in filter(None, (_match(pattern, last) for pattern in patterns)):
            return Asked(_without_voice(before), found["c"], how == "denied")
    for how, patterns in _forms()["after"].items():
        if before and any(_match(pattern, last) for pattern in patterns):
            *before, claim = before
            said = _match(_forms()["said"], claim)
            claim = said["c"] if said else claim.removeprefix("Check this statement: ").removesuffix(".")
            return Asked(_without_voice(before), _clause(claim.removeprefix("it follows that ")), how == "denied")
    raise Unreadable(f"no question that is known: {last}")


def _clause(sentence: str) -> str:
    """A sentence as a clause: without its capital, where this is not a name."""
    word = sentence.split(" ", 1)[0]
    return sentence[0].lower() + sentence[1:] if word == "A" or word[1:].islower() else sentence


def _without_voice(sentences: list[str]) -> str:
    """The setting; what a voice says of it beforehand is not part of it."""
    return " ".join(sentences[:-1] if sentences and _match(_forms()["said"], sentences[-1]) else sentences)

"""A question read back: which system, which values, which start, what is claimed and whether it is denied.

Only the text is read. The lexicon of names, definitions and phrases is that of the systems and of wordings.py.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import cache

from perpend.errors import DataError
from perpend.studies.logic.chaos.questions.settings import IRRATIONAL, NOTES
from perpend.studies.logic.chaos.questions.wordings import WORDINGS, all_definitions
from perpend.studies.logic.chaos.questions.world import Sources
from perpend.studies.logic.chaos.records import Record, SystemWords

NUMBER = r"-?\d+(?:\.\d+)?"
_TUPLE = re.compile(rf"\(({NUMBER}(?:, {NUMBER})+)\)")


def bare_text(text: str) -> str:
    """The text without the sentences that define a term."""
    for sentence in (*all_definitions(), *NOTES.values()):
        text = text.replace(sentence, " ")
    return " ".join(text.split())


def system_in(world: Sources, text: str) -> SystemWords:
    """The one system whose name stands in a text; a name within another does not count."""
    lower = text.lower()
    named = [words for words in world.systems.values() if words.name.lower() in lower]
    longest = [one for one in named if not any(one.name in other.name and one is not other for other in named)]
    if len(longest) != 1:
        raise DataError(f"{len(longest)} systems are named in {text!r}")
    return longest[0]


def without_equations(text: str, system: SystemWords) -> str:
    """The text without the system's equations and name; DataError where it gives other equations."""
    text = text.replace(system.equations, " ")
    if re.search(r"dt = |\[n\+1\]", text):
        raise DataError(f"the equations are not those of {system.system_id}: {text!r}")
    return re.sub(re.escape(system.name), " ", text, flags=re.IGNORECASE)


def values_in(text: str, names: Sequence[str]) -> dict[str, list[float]]:
    """The numbers that a text says each parameter to be, in the order of the text."""
    return {
        name: [float(n) for n in re.findall(rf"(?<![\w']){re.escape(name)} = ({NUMBER})(?![\w.]*\d)", text)]
        for name in names
    }


def start_in(text: str, system: SystemWords) -> tuple[float, ...] | None:
    """The initial state that a text states; None where it states none."""
    for value, written in IRRATIONAL.items():
        text = text.replace(written, repr(value))
    readings = _TUPLE.search(text)
    if readings:
        return tuple(float(n) for n in readings.group(1).split(", "))
    if len(system.variables) > 1:
        return None
    single = re.search(rf"(?<![\w']){re.escape(system.variables[0])} = ({NUMBER})", text)
    return (float(single.group(1)),) if single else None


def record_in(
    world: Sources, system: SystemWords, values: Mapping[str, float], start: tuple[float, ...] | None
) -> Record:
    """The instance with exactly these values and this start; where no start is stated, the one that needs none.

    DataError where there is none, or where several are left.
    """
    readings = [
        record
        for record in world.records.values()
        if record.system_id == system.system_id
        and dict(record.parameters) == dict(values)
        and (not record.start_matters if start is None else _same_start(system, record.start, start))
    ]
    if len(readings) != 1:
        raise DataError(f"{len(readings)} instances of {system.system_id} have {dict(values)} and the start {start}")
    return readings[0]


def _same_start(system: SystemWords, own: Sequence[float], stated: Sequence[float]) -> bool:
    # A delay equation starts on a constant history, of which the record holds one number or many.
    return tuple(own) == tuple(stated) or (system.kind == "delay" and own[0] == stated[0])


def instance_in(world: Sources, text: str) -> Record:
    """The one instance that a text is about."""
    system = system_in(world, text)
    rest = without_equations(bare_text(text), system)
    values = values_in(rest, tuple(system.parameters))
    several = {name: numbers for name, numbers in values.items() if len(set(numbers)) != 1}
    if several:
        raise DataError(f"not one value each of {', '.join(several)} in {text!r}")
    return record_in(world, system, {name: numbers[0] for name, numbers in values.items()}, start_in(rest, system))


def claims_in(text: str) -> list[tuple[str, bool]]:
    """The predicates that a text speaks of, each with whether it is asserted (or asked) rather than denied.

    Longer phrases are read first and blanked out, so that none is found within another.
    """
    readings: list[tuple[int, tuple[str, bool]]] = []
    lower = text.lower()
    for words, pattern, claim in _lexicon():
        matches = list(pattern.finditer(text)) if words in lower else []
        if matches:
            readings += [(match.start(), claim) for match in matches]
            text = pattern.sub(lambda match: "#" * len(match.group()), text)
    return [claim for _, claim in sorted(readings)]


@cache
def _lexicon() -> tuple[tuple[str, re.Pattern[str], tuple[str, bool]], ...]:
    """What asserts, denies or asks for a predicate: statements before questions, the longest first. Each begins with
    the words that a text must have for it."""
    phrases: dict[str, tuple[str, tuple[str, bool]]] = {}
    asked: dict[str, tuple[str, tuple[str, bool]]] = {}
    for predicate, wordings in WORDINGS.items():
        for wording in wordings:
            phrases[rf"\b{re.escape(wording.says)}"] = (wording.says.lower(), (predicate, True))
            phrases[rf"\b{re.escape(wording.denies)}"] = (wording.denies.lower(), (predicate, False))
            verb, _, rest = wording.says.partition(" ")
            opening, ending = (r"\bis ", rest) if verb == "is" else (r"\bdoes ", wording.base)
            asked[rf"{opening}(?:[^.?:;]|\.\d)*?\b{re.escape(ending)}"] = (ending.lower(), (predicate, True))
    return tuple(
        (lexicon[phrase][0], re.compile(rf"{phrase}(?![\w-])", re.IGNORECASE), lexicon[phrase][1])
        for lexicon in (phrases, asked)
        for phrase in sorted(lexicon, key=lambda one: (-len(one), one))
    )


def claim_in(text: str) -> tuple[str, bool]:
    """The one claim of a text; DataError where there is none or several."""
    readings = claims_in(bare_text(text))
    if len(readings) != 1:
        raise DataError(f"{len(readings)} claims are made in {text!r}")
    return readings[0]


def truth(record: Record, predicate: str) -> bool:
    """The measured fact; DataError where it is not decided."""
    if predicate not in record.facts:
        raise DataError(f"{record.id}: {predicate} is not decided")
    return record.facts[predicate]

"""What the logs of other harnesses have in common: stored scores of any shape, targets as letters or numbers, tags."""

from __future__ import annotations

import hashlib
import json
import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from perpend.canon import JSON, clean_text, portable_name
from perpend.ledger.item_rows import PLAN_COLUMNS, chosen
from perpend.types import Sampling, Score

AS_STORED = "as the source stored it"
TASK = "questions"
CONDITION = "control"
"""Items are asked as they stand, which is what a control is; so an import pairs with a run of the task `questions`."""
UNSTATED = 0
"""`max_tokens` of a sampling whose source states none: no model was ever asked for no token."""

_WORDS = {"c": 1.0, "i": 0.0, "p": 0.5, "n": 0.0, "yes": 1.0, "true": 1.0, "no": 0.0, "false": 0.0}
_TAG_CHARACTERS, _MOST_TAGS = 100, 500
_ENCODE = json.JSONEncoder(sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode
_MOST = 1 << 63


def files_at(source: Path, *endings: str) -> list[Path]:
    """The files with these endings in a folder, by name; or the one file."""
    places = sorted(source.iterdir()) if source.is_dir() else [source]
    return [place for place in places if place.suffix.lower() in endings and place.is_file()]


def column(*names: str) -> str:
    """The name of a column of stored scores: 'stored_' and what the source calls it, in plain letters."""
    return "_".join(("stored", *map(portable_name, names)))


def as_text(value: JSON) -> str:
    """A string as it is, anything else as JSON; unlike what we write ourselves, a source may hold NaN and infinity."""
    return value if isinstance(value, str) else _ENCODE(value)


def sent_digest(sent: JSON) -> str:
    """SHA-256, in hex, of what was sent, as JSON in UTF-8: that of the column that keeps it."""
    return hashlib.sha256(clean_text(_ENCODE(sent)).encode()).hexdigest()


def stored_scores(name: str, value: JSON) -> Iterator[tuple[str, Score]]:
    """Columns for one stored value: a number, a string or a Boolean gives one, a list or an object one per entry.

    A string that inspect_ai reads as a number (C, I, P, N, yes, no, true, false, or digits) has that number as its
    value. Any string is kept as `answer`. Other strings, nulls, NaN and infinity have no value.
    """
    if isinstance(value, Mapping):
        for key, entry in value.items():
            yield from stored_scores(f"{name}_{portable_name(key)}", entry)
    elif isinstance(value, Sequence) and not isinstance(value, str):
        for number, entry in enumerate(value):
            yield from stored_scores(f"{name}_{number}", entry)
    else:
        yield name, stored_score(value)


def stored_score(value: bool | int | float | str | None) -> Score:
    """One stored value as a Score; see `stored_scores`."""
    if value is None:
        return Score(None, None, "stored without a value")
    if isinstance(value, str):
        number = _WORDS.get(value.lower(), finite(value))
        return Score(number, value, AS_STORED if number is not None else "a text that stands for no number")
    number = finite(value)
    return Score(number, None, AS_STORED if number is not None else f"stored as {value}")


def finite(value: JSON) -> float | None:
    """A number, a Boolean or a string as a float; None where it is no number, NaN, infinite or too large."""
    try:
        number = float(value) if isinstance(value, str | int | float) else math.nan
    except (ValueError, OverflowError):
        return None
    return number if math.isfinite(number) else None


@dataclass(frozen=True, slots=True)
class AnswerKey:
    """What an item offers and what is right. `stated` is the target as the source wrote it, where that differs."""

    target: str | None
    aliases: tuple[str, ...]
    choices: tuple[str, ...]
    stated: str | None
    unplaced: tuple[str, ...]
    """Choices that an item cannot have: a target is not among them, or two are the same."""

    def facts(self) -> dict[str, JSON]:
        """The part of an item's facts that they make."""
        return {"target": self.target, "aliases": list(self.aliases), "choices": list(self.choices)}

    def tags(self) -> dict[str, JSON]:
        """The choices that the item cannot have, kept as a tag."""
        return {"choices": as_text(list(self.unplaced))} if self.unplaced else {}


def answer_key(targets: Sequence[str], choices: Sequence[str]) -> AnswerKey:
    """Targets beside choices. A target that is no choice but the letter of one (A, B, …) means that choice.

    Several targets are one and its other spellings. Choices of which one occurs twice, or that lack a target, are not
    choices of an item; neither is more than one right choice.
    """
    given = tuple(target for target in targets if target.strip())
    meant = tuple(chosen(target, target, choices) or target for target in given)
    placed = len(set(choices)) == len(choices) and len(meant) <= 1 and set(meant) <= set(choices)
    right = meant if placed else given
    return AnswerKey(
        target=right[0] if right else None,
        aliases=tuple(dict.fromkeys(right[1:])),
        choices=tuple(choices) if placed else (),
        stated=given[0] if given and right != given else None,
        unplaced=() if placed else tuple(choices),
    )


def tags_of(metadata: Mapping[str, JSON], notes: Counter[str]) -> dict[str, str]:
    """The entries of a source's metadata that can be sliced by: numbers, Booleans, strings of up to 100 characters.

    What is left out is counted by its name. An entry named like a column of the plan becomes 'metadata_…'.
    """
    tags: dict[str, str] = {}
    for key, value in metadata.items():
        if value is None or value == "":
            continue
        text = as_text(value) if isinstance(value, str | int) or finite(value) is not None else None
        if text is None or len(text) > _TAG_CHARACTERS or len(tags) >= _MOST_TAGS:
            name = f"metadata {key!r:.100}" if len(notes) < _MOST_TAGS else "other metadata"
            notes[f"items with {name} that is no short text or number, and is not kept"] += 1
        else:
            tags[f"metadata_{key}" if key in PLAN_COLUMNS else key] = text
    return tags


def sampling_of(stated: Mapping[str, JSON], notes: Counter[str]) -> Sampling:
    """How an answer was drawn, as far as it is stated: temperature, max_tokens, seed, top_p, stop.

    An unstated temperature is 0, an unstated `max_tokens` is 0; both are counted.
    """
    temperature, limit = finite(stated.get("temperature")), finite(stated.get("max_tokens"))
    if temperature is None:
        notes["trials that state no temperature: 0 was taken"] += 1
    if limit is None or not 0 <= limit < _MOST:
        notes["trials that state no max_tokens: 0 stands for that"] += 1
        limit = UNSTATED
    seed, stop = stated.get("seed"), stated.get("stop")
    if isinstance(seed, float) and seed.is_integer():
        seed = int(seed)
    if seed is not None and (not isinstance(seed, int) or abs(seed) >= _MOST):
        notes["trials with a seed that is no whole number of 64 bits, and is not kept"] += 1
        seed = None
    return Sampling(
        temperature=temperature or 0.0,
        max_tokens=int(limit),
        seed=seed,
        top_p=finite(stated.get("top_p")),
        stop=tuple(clean_text(as_text(entry)) for entry in stop) if isinstance(stop, list) else (),
    )

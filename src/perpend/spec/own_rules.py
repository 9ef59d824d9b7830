"""Rule files of an author's own: 'endorsed@mine.toml' is the scorer `endorsed` by the words and weights of mine.toml.

A rule file is data. It is checked here, read within limits, and nothing in it is run.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

from perpend.canon import read_bytes
from perpend.errors import PerpendError, SpecError, did_you_mean
from perpend.judging.cues import RULES, Rules, rules
from perpend.judging.scorers import scorers
from perpend.toml import parse_toml
from perpend.types import Scorer

LONGEST = 256_000
"""Bytes of a rule file."""
HEAVIEST = 50.0
"""The greatest weight."""
MOST_PHRASES = 300
"""So many phrases may begin with one word."""
_FIXED = frozenset({"sign", "prior"})
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,39}\.toml")
_REMEDY = "write it with 'perpend fit', and change only words and numbers in it"


def versioned(name: str) -> tuple[str, str]:
    """A scorer's name without its version, and the version, empty where it has none: 'brief.py@2' is ('brief.py', '2').

    An '@' in the name of a folder is part of the name.
    """
    stem, mark, version = name.rpartition("@")
    return (stem, version) if mark and "/" not in version else (name, "")


def rule_file_of(name: str) -> Path | None:
    """The rule file that a scorer's name names; None where it names something else: 'correct@2', 'a@b/brief.py'."""
    stem, mark, path = name.partition("@")
    return Path(path) if mark and "/" not in stem and path.endswith(".toml") else None


def check_rule_file_name(path: Path) -> None:
    """SpecError for a file whose name cannot be the version of a scorer."""
    if not _NAME.fullmatch(path.name):
        raise SpecError(f"{path}: name a rule file by up to 40 letters, digits, '_' and '-', and .toml: 'mine.toml'")


def rule_file_scorer(name: str) -> Scorer:
    """The scorer that a user names as 'endorsed@mine.toml'."""
    stem, _, path = name.partition("@")
    made = rule_file_scorers(Path(path))
    if stem not in made:
        near = did_you_mean(f"{stem}@{path}", [f"{known}@{path}" for known in made])
        raise SpecError(f"unknown scorer {name!r}; {near}")
    return made[stem]


def rule_file_scorers(path: Path, *, sha256: str | None = None, within: Path | None = None) -> dict[str, Scorer]:
    """The scorers of a rule file by name. `within` is the folder, filled by somebody else, that it must be in.

    A file that is none, or not of the digest that is stated, is a SpecError in one line.
    """
    check_rule_file_name(path)
    data = read_bytes(path, SpecError, _REMEDY, longest=LONGEST, within=within)
    if sha256 not in (None, hashlib.sha256(data).hexdigest()):
        raise SpecError(f"{path}: does not match the digest in the manifest; nothing is scored by it")
    try:
        return _scorers(data, path.name)
    except (PerpendError, ValueError, LookupError, TypeError, AttributeError, RecursionError) as error:
        raise SpecError(f"{path}: not a rule file: {str(error).rstrip('.'):.300}; {_REMEDY}") from None


@lru_cache(maxsize=4)
def _scorers(data: bytes, file: str) -> dict[str, Scorer]:
    text = data.decode("utf-8")
    given = parse_toml(text)  # within limits: Python's own reader takes minutes over some files
    _check_form(parse_toml(RULES.read_text(encoding="utf-8")), given)
    _check_phrases(given)
    version = f"{file.removesuffix('.toml')}-{hashlib.sha256(data).hexdigest()[:8]}"
    made = scorers(rules(text))
    return {name: Scorer(name, version, one.judge, text, file) for name, one in made.items()}


def _check_form(ours: Mapping[str, Any], given: Mapping[str, Any], place: str = "", sign: str = "free") -> None:
    """SpecError with the place where a file has other names, signs or kinds of values than the packaged one, or a
    number out of bounds. `sign` is that of the list."""
    sign = str(ours.get("sign", sign))
    for key in {**ours, **given}:
        at = f"{place}{key}"
        if key not in given or key not in ours:
            raise SpecError(f"{at:.100} is {'missing' if key in ours else 'in no rules'}; {did_you_mean(key, ours)}")
        one, other = ours[key], given[key]
        if isinstance(one, dict) and isinstance(other, dict):
            _check_form(one, other, f"{at}.", sign)
        elif isinstance(one, list) and isinstance(other, list):
            if len(one) != len(other) or one[:-1] != other[:-1] or _kind(one[-1]) != _kind(other[-1]):
                raise SpecError(f"{at} is {other!r:.60}; only the last of {one!r} may be another number")
            _check_number(other[-1], at, str(one[0]))
        elif _kind(one) != _kind(other) or (key in _FIXED and one != other):
            raise SpecError(f"{at} is {other!r:.60}, not {repr(one) if key in _FIXED else _kind(one)}")
        elif isinstance(other, int | float) and key not in _FIXED:
            _check_number(other, at, sign, chance=place == "thresholds.")


def _check_number(number: float, at: str, sign: str, *, chance: bool = False) -> None:
    """SpecError for a weight or a threshold that is not finite, too large or of another sign."""
    low, high = (0.0, 1.0) if chance else (-HEAVIEST, HEAVIEST)
    if not low <= number <= high:
        raise SpecError(f"{at} = {number} is not a number from {low:g} to {high:g}")
    if not chance and number * {"for": 1, "against": -1}.get(sign, 0) < 0:
        raise SpecError(f"{at} = {number} does not have the sign {sign!r}")


def _check_phrases(given: Mapping[str, Any]) -> None:
    """SpecError for phrases that are too many or too wide to look for quickly."""
    begin: Counter[str] = Counter()
    for name, entry in given["cues"].items():
        for phrase in entry["words"].replace("\n", " ").split(","):
            words = phrase.split()
            skipped, optional = (sum(word.endswith(end) for word in words) for end in ("..", "?"))
            widest = max((word.count("|") for word in words), default=0)
            if len(words) > 12 or skipped > 2 or optional > 3 or widest > 40:
                raise SpecError(f"cues.{name}: too many words, gaps or choices in {phrase.strip()!r:.60}")
            if words and (words[0] in {"..", "..."} or words[0].endswith("?")):
                raise SpecError(f"cues.{name}: {phrase.strip()!r:.60} does not begin with a word that must be there")
            begin.update(words[0].split("|") if words else [])
    key, most = begin.most_common(1)[0]
    if most > MOST_PHRASES:
        raise SpecError(f"cues: too many phrases begin with {key!r:.60}: {most}; at most {MOST_PHRASES} may")


_HEAD = re.compile(r"\[(?:cues\.)?(\w+)\]")
_WEIGHT = re.compile(r'("?([a-z][a-z ]*[a-z])"? = )-?[\d.]+')
_FACT = re.compile(r'("([^"]+)" = \["\w+", [\d.]+, )-?[\d.]+')


def written(text: str, known: Rules, weights: Iterable[float], thresholds: Mapping[str, float]) -> str:
    """A rule file with other weights and thresholds, all else as it is."""
    found = {name: f"{round(value, 2) + 0.0:.2f}" for name, value in zip(known.names, weights, strict=True)}
    found |= {f"thresholds {name}": f"{value}" for name, value in {**known.thresholds, **thresholds}.items()}
    lines, section = [], ""
    for line in text.split("\n"):
        head = _HEAD.match(line)
        section = head[1] if head else section
        if line.startswith("weights = ") or section == "thresholds":
            lines.append(_filled(_WEIGHT, line, f"{section} ", found))
        else:
            lines.append(_filled(_FACT, line, "silence: " if section == "silence" else "", found))
    return "\n".join(lines)


def _filled(pattern: re.Pattern[str], line: str, section: str, found: Mapping[str, str]) -> str:
    return pattern.sub(lambda one: one[1] + found[section + one[2]], line)


def _kind(value: object) -> str:
    if isinstance(value, int | float) and not isinstance(value, bool):
        return "a number"
    return "a string" if isinstance(value, str) else type(value).__name__

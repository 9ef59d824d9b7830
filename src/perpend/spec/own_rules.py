"""Rule files of an author's own: 'endorsed@mine.toml' is the scorer `endorsed` by the words and weights of mine.toml.

A rule file is data. It is read within limits, and nothing in it is run.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path

from perpend.canon import read_bytes
from perpend.errors import PerpendError, SpecError, did_you_mean
from perpend.judging.cues import RULES, rules
from perpend.judging.scorers import scorers
from perpend.toml import parse_toml
from perpend.types import Scorer

LONGEST = 256_000
"""Bytes of a rule file."""
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
        what = str(error).removeprefix("rules: ").rstrip(".")
        raise SpecError(f"{path}: not a rule file: {what:.300}; {_REMEDY}") from None


@lru_cache(maxsize=4)
def _scorers(data: bytes, file: str) -> dict[str, Scorer]:
    text = data.decode("utf-8")
    # Within limits: Python's own reader takes minutes over some files.
    _check_form(parse_toml(RULES.read_text(encoding="utf-8")), parse_toml(text))
    version = f"{file.removesuffix('.toml')}-{hashlib.sha256(data).hexdigest()[:8]}"
    made = scorers(rules(text))
    return {name: Scorer(name, version, one.judge, text, file) for name, one in made.items()}


def _check_form(ours: Mapping[str, object], given: Mapping[str, object], place: str = "") -> None:
    """SpecError with the place where a file has other names, signs or kinds of values than the packaged one."""
    for key in {**ours, **given}:
        at = f"{place}{key}"
        if key not in given or key not in ours:
            raise SpecError(f"{at:.100} is {'missing' if key in ours else 'in no rules'}; {did_you_mean(key, ours)}")
        one, other = ours[key], given[key]
        if isinstance(one, dict) and isinstance(other, dict):
            _check_form(one, other, f"{at}.")
        elif isinstance(one, list) and isinstance(other, list):
            if len(one) != len(other) or one[:-1] != other[:-1] or _kind(one[-1]) != _kind(other[-1]):
                raise SpecError(f"{at} is {other!r:.60}; only the last of {one!r} may be another number")
        elif _kind(one) != _kind(other) or (key == "sign" and one != other):
            raise SpecError(f"{at} is {other!r:.60}, not {f'the sign {one!r}' if key == 'sign' else _kind(one)}")


def _kind(value: object) -> str:
    if isinstance(value, int | float) and not isinstance(value, bool):
        return "a number"
    return "a string" if isinstance(value, str) else type(value).__name__

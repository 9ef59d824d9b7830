"""TOML read within limits."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable
from pathlib import Path

from perpend.canon import DEEPEST, LARGEST, read_text
from perpend.errors import SpecError

LONGEST_TOML = 1 << 19
# Python's reader of TOML takes the square of a key's parts: 200,000 of them keep it busy for minutes. So keys are
# looked for first, outside of strings and comments. Nothing here is ever tried twice (++, *+), or it would be as slow.
_PART = r"""(?:[\w-]++|"[^"\\\n]{0,60}+(?:\\.[^"\\\n]{0,60}+){0,30}+"|'[^'\n]{0,60}+')"""
_TOML = re.compile(
    r'''(?s:"""[^"\\]*+(?:(?:\\.|"(?!""))[^"\\]*+)*+"""|'''
    r"""'''[^']*+(?:'(?!'')[^']*+)*+''')|"""
    rf"(?P<key>{_PART}(?:[ \t]*+\.[ \t]*+{_PART}){{100}})"
    r"""|"[^"\\\n]*+(?:\\.[^"\\\n]*+)*+"|'[^'\n]*+'|#[^\n]*+|[\w-]++|(?P<open>["'])|[^"'#\w-]++"""
)


def parse_toml(text: str, parse_float: Callable[[str], object] = float) -> dict[str, object]:
    """What a TOML text says; ValueError for what is none, and for what Python's reader takes minutes over."""
    for token in _TOML.finditer(text):
        if token.lastgroup == "key":
            raise ValueError("a key of more than 100 parts")
        if token.lastgroup == "open":  # a string that does not end: the reader will say so
            break
    try:
        body = tomllib.loads(text, parse_float=parse_float)
    except RecursionError:
        raise ValueError(f"nested more than {DEEPEST} levels deep") from None
    _check_depth(body)
    return body


def read_toml(path: Path) -> dict[str, object]:
    """What a small TOML file says."""
    text = read_text(path, SpecError, longest=LONGEST_TOML)
    try:
        return parse_toml(text)
    except ValueError as error:  # also a date or an integer that Python has no value for
        raise SpecError(f"{path}: not TOML: {error}") from None


def _check_depth(value: object) -> None:
    """ValueError for a tree of more than 100 levels, or with an integer of more than 64 bits in it."""
    level = [value]
    for _ in range(DEEPEST + 1):
        if any(isinstance(one, int) and abs(one) >= LARGEST for one in level):
            raise ValueError("an integer of more than 64 bits")
        inner = [one for one in level if isinstance(one, dict | list)]
        level = [entry for one in inner for entry in (one.values() if isinstance(one, dict) else one)]
        if not inner:
            return
    raise ValueError(f"nested more than {DEEPEST} levels deep")

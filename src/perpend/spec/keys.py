"""Keys: which variables hold one, the spellings in which a server may send it back, and what is left of a text then.

A value counts where it can be told from what a text may hold by right: 8 characters or more, and neither a word nor a
few words joined. One that cannot ('hunter2', 'not-needed') is looked for as a whole word in errors alone; a plain word
('EMPTY', which servers without keys take) not at all.
"""

from __future__ import annotations

import base64
import html
import json
import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from urllib.parse import quote, unquote

from perpend.canon import list_of, pretty, read_object, write_atomic
from perpend.types import Response

HIDDEN = "<key>"
WITHHELD = "<withheld: the text holds a key>"
_NAME = re.compile(r"(?:KEYS?|TOKEN|SECRETS?|PASSWORDS?|PASSWD|PASSPHRASE|PASS|CREDENTIALS?)\d*$", re.IGNORECASE)
_WORD = re.compile(r"[A-Za-z]{0,15}|\d{0,11}|(?=.{0,23}$)(?:[A-Za-z]+[-_. ])+[A-Za-z]*")
_MATERIAL = re.compile(r"(?=.*\d)[A-Za-z0-9+/=_-]{20,}")
_SHORT = re.compile(r"(?=.*[A-Za-z])(?=.*[^A-Za-z]).{4,}", re.DOTALL)
_ESCAPE = re.compile(r"\\(?:u([0-9a-fA-F]{4})|x([0-9a-fA-F]{2})|(.))", re.DOTALL)
_ROUNDS = 3
VARIABLES = "keys.json"


def holds_a_key(variable: str) -> bool:
    """Whether a variable's name says that it holds a key: one of its words is KEY, TOKEN, SECRET, … or ends in it."""
    return any(_NAME.search(word) for word in variable.split("_"))


def is_telling(value: str) -> bool:
    """Whether a value can be told from a word or a number that a text may hold by right."""
    return len(value) >= 8 and not _WORD.fullmatch(value)


def key_values(environment: Mapping[str, str], named: Iterable[str] = ()) -> dict[str, str]:
    """The value of every variable that holds a key by its name or because a spec names it, without plain words."""
    chosen = {name: environment[name].strip() for name in environment if name in {*named} or holds_a_key(name)}
    return {name: value for name, value in chosen.items() if is_telling(value) or _SHORT.fullmatch(value)}


def spellings(value: str) -> tuple[str, ...]:
    """A value as it is, in small letters, and as JSON, addresses, HTML, base64 and hex write it."""
    written = json.dumps(value)[1:-1]
    quoted = quote(value, safe="")
    ways = [value, value.lower(), written, json.dumps(value, ensure_ascii=False)[1:-1]]
    ways += [written.replace("/", "\\/"), repr(value)[1:-1], quoted, quoted.lower(), html.escape(value)]
    data = value.encode("utf-8", "surrogatepass")
    ways.append(data.hex())
    for before in range(3):
        # In a longer text the value begins at any of three places of a group; only its inner letters are the same.
        packed = base64.b64encode(b"\0" * before + data).rstrip(b"=").decode()
        inner = packed[-(-before * 8 // 6) : (before + len(data)) * 8 // 6]
        ways += [inner, inner.replace("+", "-").replace("/", "_")]
    # A value of several lines is in a text of lines only line by line; not each of them is secret.
    ways += [line.strip() for line in value.splitlines()[:-1] if _MATERIAL.fullmatch(line.strip())]
    return tuple(sorted(dict.fromkeys(ways), key=len, reverse=True))


@dataclass(frozen=True, slots=True)
class Keys:
    """Values that must not be written down. `needles` are their spellings, `short` the values that count in errors."""

    values: tuple[str, ...] = ()
    needles: tuple[str, ...] = ()
    short: re.Pattern[str] | None = None

    @property
    def longest(self) -> int:
        """More characters than any spelling or disguise of a key has: what may be left of one where a text was cut."""
        return 12 * max(map(len, self.values), default=0)

    def scrub(self, text: str) -> str:
        """The text without any spelling of a key; a text that holds one in a disguise is withheld as a whole."""
        for needle in self.needles:
            if needle in text:
                text = text.replace(needle, HIDDEN)
        return text if self._is_clean(text) or not self._is_disguised(text) else WITHHELD

    def scrub_error(self, text: str) -> str:
        """`scrub`, and short values too, and a key that is broken by blanks or by characters that show nothing."""
        text = self.scrub(text)
        if self.short is not None:
            text = self.short.sub(HIDDEN, text)
        if self.needles and self._found("".join(ch for ch in text if ch.isprintable() and not ch.isspace())):
            return WITHHELD
        return text

    def scrub_response(self, response: Response) -> Response:
        """The response without any key in what a server or a function had a say in."""
        if not self.needles and (self.short is None or response.error is None):
            return response
        usage = response.usage
        counts = "" if usage is None else f"{usage.input} {usage.output} {usage.prompt_sha256}"
        if response.error is None and self._is_clean(f"{response.text} {response.finish} {counts}"):
            return response
        return replace(
            response,
            text=None if response.text is None else self.scrub(response.text),
            error=None if response.error is None else self.scrub_error(response.error),
            finish=None if response.finish is None else self.scrub(response.finish),
            usage=None if self._found(counts) else usage,  # a key of digits sent back as a count
        )

    def _is_clean(self, text: str) -> bool:
        may_hide = "%" in text or "\\" in text or "&" in text
        return not self._found(text) and not (self.needles and may_hide)

    def _found(self, text: str) -> bool:
        return any(needle in text for needle in self.needles)

    def _is_disguised(self, text: str) -> bool:
        """Whether a spelling comes to light when escapes of addresses, of JSON and of HTML are taken back."""
        for _ in range(_ROUNDS):
            plain = html.unescape(_ESCAPE.sub(_unescaped, unquote(text)))
            if plain == text:
                return False
            if self._found(plain):
                return True
            text = plain
        return False


def _unescaped(match: re.Match[str]) -> str:
    number = match[1] or match[2]
    return chr(int(number, 16)) if number else match[3]


@lru_cache(maxsize=16)
def _keys_of(values: tuple[str, ...]) -> Keys:
    telling = tuple(value for value in values if is_telling(value))
    needles = dict.fromkeys(needle for value in telling for needle in spellings(value))
    short = [re.escape(value) for value in values if not is_telling(value)]
    whole_word = re.compile(rf"(?<!\w)(?:{'|'.join(short)})(?!\w)") if short else None
    return Keys(values, tuple(sorted(needles, key=len, reverse=True)), whole_word)


def keys_here(named: Iterable[str] = ()) -> Keys:
    """The keys that the environment holds now: in variables whose name says so, and in those that a spec names."""
    return _keys_of(tuple(dict.fromkeys(key_values(os.environ, named).values())))


def keys_in(named: Iterable[str]) -> Keys:
    """The keys in the variables that a spec names, and in no other: what its servers were sent."""
    given = {name: os.environ[name] for name in named if name in os.environ}
    return _keys_of(tuple(dict.fromkeys(key_values(given, given).values())))


def note_variables(run: Path, names: Iterable[str]) -> None:
    """Keep beside a run the names of the variables that its keys were in: publishing looks for what they hold.

    The file stays where it is; nothing that is published or hashed holds it.
    """
    known = noted_variables(run)
    named = sorted({*known, *names})
    if named != known:
        write_atomic(run / VARIABLES, pretty({"variables": named}))


def noted_variables(run: Path) -> list[str]:
    """The names that `note_variables` kept, in order."""
    if not (run / VARIABLES).is_file():
        return []
    return [str(name) for name in list_of(read_object(run / VARIABLES, within=run), "variables", str(run / VARIABLES))]

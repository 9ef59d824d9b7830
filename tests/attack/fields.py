"""Every field of a JSON text: changed, removed, doubled, swapped with a sibling, added, of another type, respelled."""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TypeAlias

Path: TypeAlias = tuple[str | int, ...]
Edit: TypeAlias = Callable[[object, str | int], None]
HIDDEN = ("hidden", "evil")
_SHA256 = re.compile(r"[0-9a-f]{64}")
_NUMBER = re.compile(r"(?<=[:\[ ])-?\d+(\.\d+)?(?=[,}\]\n])")
_KEY = re.compile(r'(?<=")[a-z](?=[a-z_0-9]*":)')


class Pairs(list[tuple[str, object]]):
    """An object as its keys and values in the order of the text, so that a key can be there twice."""


@dataclass(frozen=True, slots=True)
class Change:
    """One change of a JSON text: its kind, the path of what was changed, and the new value, or the new text."""

    kind: str
    path: Path
    value: Callable[[], object] | None = None
    text: Callable[[], str] | None = None


def parsed(text: str) -> object:
    """A JSON text with objects as Pairs."""
    return json.loads(text, object_pairs_hook=Pairs)


def plain(value: object) -> object:
    """The value with dictionaries for Pairs."""
    if isinstance(value, Pairs):
        return {key: plain(entry) for key, entry in value}
    return [plain(entry) for entry in value] if isinstance(value, list) else value


def written(value: object, *, indent: int | None = None, level: int = 0) -> str:
    """The text of a value with Pairs in it, laid out as `json.dumps` would."""
    if isinstance(value, Pairs):
        colon = ": " if indent else ":"
        entries = [
            json.dumps(key, ensure_ascii=False) + colon + written(entry, indent=indent, level=level + 1)
            for key, entry in value
        ]
        brackets = "{}"
    elif isinstance(value, list):
        entries = [written(entry, indent=indent, level=level + 1) for entry in value]
        brackets = "[]"
    else:
        return json.dumps(value, ensure_ascii=False)
    if not entries or indent is None:
        return brackets[0] + ",".join(entries) + brackets[1]
    inner, outer = "\n" + " " * indent * (level + 1), "\n" + " " * indent * level
    return brackets[0] + inner + ("," + inner).join(entries) + outer + brackets[1]


def shape(path: Path) -> str:
    """A path with its numbers left out: what two entries of a list have in common."""
    return "/".join("*" if isinstance(key, int) else key for key in path)


def changes(text: str) -> Iterator[Change]:
    """Every change of a JSON text; of the entries of a list that have one shape, the one in the middle is changed."""
    body = parsed(text)
    taken: dict[str, list[Path]] = {}
    for path in _paths(body):
        taken.setdefault(shape(path), []).append(path)
    for group in taken.values():
        yield from _of_a_field(body, group[len(group) // 2], text)
    yield from _of_the_whole(body, text)


def each_changed(text: str) -> Iterator[Change]:
    """Every value of a JSON text that is no object and no list, changed."""
    body = parsed(text)
    for path in _paths(body):
        if not isinstance(_at(body, path), list):
            yield Change("changed", path, value=lambda path=path: plain(_edited(body, path, _other)))


def _of_a_field(body: object, path: Path, text: str) -> Iterator[Change]:
    indent, end = 2 if text.count("\n") > 1 else None, "\n" if text.endswith("\n") else ""
    value, parent = _at(body, path), _at(body, path[:-1])
    new, place = other(value), _place(parent, path[-1])

    def change(kind: str, edit: Edit) -> Change:
        if kind.startswith("doubled") and isinstance(parent, Pairs):
            return Change(kind, path, text=lambda: written(_edited(body, path, edit), indent=indent) + end)
        return Change(kind, path, value=lambda: plain(_edited(body, path, edit)))

    if new != value:
        yield change("changed", _set(new))
        yield change("doubled before", _double(new, first=True))
    elif value:
        yield change("emptied", _set(type(value)()))
    yield change("doubled", _double(value, first=False))
    yield change("removed", _pop)
    if value is not None:
        yield change("null", _set(None))
    yield change("of another type", _set([value] if not isinstance(value, list) or isinstance(value, Pairs) else {}))
    yield change("a number, or a string", _set(7 if not isinstance(value, int | float) else str(value)))
    if isinstance(value, Pairs):
        yield change("added", _set(Pairs([*value, HIDDEN])))
    elif isinstance(value, list):
        yield change("added", _set([*value, HIDDEN[1]]))
    if place + 1 < len(parent):  # type: ignore[arg-type]
        follower = parent[place + 1]  # type: ignore[index]
        if (follower[1] if isinstance(parent, Pairs) else follower) != value:
            yield change("swapped", _swap)


def _of_the_whole(body: object, text: str) -> Iterator[Change]:
    indent, end = 2 if text.count("\n") > 1 else None, "\n" if text.endswith("\n") else ""
    texts: dict[str, Callable[[], str]] = {
        "in another layout": lambda: written(body, indent=None if indent else 1).replace("\n", " ") + end,
        "spaces after it": lambda: text.rstrip("\n") + "  \n",
        "spelled otherwise": lambda: _KEY.sub(lambda match: f"\\u{ord(match[0]):04x}", text, count=1),
    }
    if isinstance(body, Pairs):
        yield Change("added", (), value=lambda: plain(Pairs([*body, HIDDEN])))
        texts["in another order"] = lambda: written(Pairs(reversed(body)), indent=indent) + end
    number, inner = _NUMBER.search(text), text.rstrip().removesuffix("}").rstrip()
    for name, literal in {"NaN": "NaN", "1e999": "1e999", "deep": "[" * 2000 + "]" * 2000, "long": "9" * 5000}.items():
        if isinstance(body, Pairs) and body:
            texts[f"{name} added"] = lambda literal=literal: f'{inner},"hidden":{literal}}}{end}'
        if number:
            texts[f"{name} for a number"] = lambda literal=literal: (
                text[: number.start()] + literal + text[number.end() :]
            )
    for kind, make in texts.items():
        yield Change(kind, (), text=make)


def other(value: object) -> object:
    """Another value of the same kind."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, int):
        return value + 1
    if isinstance(value, float):
        return value + 0.25
    if isinstance(value, str):
        is_digest = _SHA256.fullmatch(value) is not None
        return value[:-1] + ("1" if value.endswith("0") else "0") if is_digest else f"{value}x"
    return "x" if value is None else value


def _paths(value: object, path: Path = ()) -> Iterator[Path]:
    entries = value if isinstance(value, Pairs) else enumerate(value) if isinstance(value, list) else ()
    for key, entry in entries:
        yield (*path, key)
        yield from _paths(entry, (*path, key))


def _at(value: object, path: Path) -> object:
    for key in path:
        value = dict(value)[key] if isinstance(value, Pairs) else value[key]  # type: ignore[index, call-overload]
    return value


def _edited(body: object, path: Path, edit: Edit) -> object:
    body = copy.deepcopy(body)
    edit(_at(body, path[:-1]), path[-1])
    return body


def _place(parent: object, key: str | int) -> int:
    return key if isinstance(key, int) else [name for name, _ in parent].index(key)  # type: ignore[attr-defined]


def _set(new: object) -> Edit:
    def edit(parent: object, key: str | int) -> None:
        parent[_place(parent, key)] = (key, new) if isinstance(parent, Pairs) else new  # type: ignore[index]

    return edit


def _other(parent: object, key: str | int) -> None:
    _set(other(_at(parent, (key,))))(parent, key)


def _pop(parent: object, key: str | int) -> None:
    parent.pop(_place(parent, key))  # type: ignore[attr-defined]


def _double(new: object, *, first: bool) -> Edit:
    """The entry again, with another value, before the true one or after it."""

    def edit(parent: object, key: str | int) -> None:
        place = _place(parent, key)
        entry = (key, new) if isinstance(parent, Pairs) else new
        parent.insert(place if first else place + 1, entry)  # type: ignore[attr-defined]

    return edit


def _swap(parent: object, key: str | int) -> None:
    """The values of this entry and the next one."""
    place = _place(parent, key)
    if isinstance(parent, Pairs):
        (one, first), (two, second) = parent[place], parent[place + 1]
        parent[place : place + 2] = [(one, second), (two, first)]
    elif isinstance(parent, list):
        parent[place : place + 2] = parent[place + 1], parent[place]

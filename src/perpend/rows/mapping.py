"""Which column of a row means what: 'prompt=question,target=answer', the same as a table of TOML, or as a dict.

A column is a key, or a path such as 'doc.choices.text' or 'outputs.0.text'. What begins with '=' is the value itself,
for all rows: 'tag.split==dev'. A name that a map leaves out is taken from the column of that name.

A table may be wide: 'text=answer_*,model=*' takes every column of that form, each as a row of its own, and what '*'
stands for in its name as the model. Several columns may have a '*'; what they have in the same place belongs together.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

from perpend.canon import JSON, dumps, parse
from perpend.errors import DataError, SpecError, did_you_mean
from perpend.rows.reader import Row, is_table
from perpend.toml import read_toml

NO_MAP: Mapping[str, str] = MappingProxyType({})
_WHOLE = 1 << 53
_NUMBER = re.compile(r"\d+")


def parse_map(text: str) -> dict[str, str]:
    """The map of 'name=column,name=column', or of a TOML file where the text is the name of one."""
    if text.endswith(".toml"):
        return flat_map(read_toml(Path(text)), text)
    fields: dict[str, str] = {}
    for part in text.split(","):
        key, equals, field = part.strip().partition("=")
        if not equals or not key or key in fields:
            raise SpecError(f"--map: {part!r}: write each name once, as NAME=COLUMN, with a comma between")
        if not field:
            raise SpecError(f"--map: {key!r} names no column; write {key}=COLUMN")
        fields[key] = field
    return fields


def flat_map(body: Mapping[str, object], where: str) -> dict[str, str]:
    """The map that a table of TOML or a dict states; [tag] topic = "subject" is 'tag.topic=subject'."""
    fields: dict[str, str] = {}
    for key, value in body.items():
        entries = {f"{key}.{name}": field for name, field in value.items()} if isinstance(value, dict) else {key: value}
        for name, field in entries.items():
            if not isinstance(field, str) or not field:
                raise SpecError(f'{where}: {name!r} must be the name of a column, in quotes; a value is "={field}"')
            fields[name] = field
    return fields


def check_map(fields: Mapping[str, str], known: Sequence[str], prefixes: Sequence[str] = ()) -> None:
    """SpecError for a name that is not among the known ones, nor 'prefix.NAME'."""
    for key in fields:
        prefix, dot, rest = key.partition(".")
        if not (prefix in prefixes and rest if dot else key in known):
            every = [*known, *(f"{name}.NAME" for name in prefixes)]
            raise SpecError(f"the map of columns: unknown name {key!r:.80}; {did_you_mean(key, every)}")


@dataclass(frozen=True, slots=True)
class MappedRow:
    """A row by the names that a map gives its cells. `rest` are the cells that are under none."""

    where: str
    values: Mapping[str, JSON]
    rest: Mapping[str, JSON]


def mapped(rows: Iterator[Row], path: Path, fields: Mapping[str, str], known: Sequence[str]) -> Iterator[MappedRow]:
    """Every row by the names of a map and those of `known` that it does not name.

    A column that is mapped and that no row has is a SpecError: at once in a table, whose rows have the same columns,
    otherwise when all rows were read.
    """
    unseen = {field for field in fields.values() if not field.startswith("=") and "*" not in field}
    columns: dict[str, None] = {}
    count = 0
    for where, body, own_fields in _long(rows, fields):
        count += 1
        values: dict[str, JSON] = {}
        taken = set[str]()
        for key, field in own_fields.items():
            is_there, value = (True, field[1:]) if field.startswith("=") else _lookup(body, field)
            if is_there:
                values[key] = value
                unseen.discard(field)
                taken.add(field if field in body else field.partition(".")[0])
        own = {key: body[key] for key in known if key not in fields and key in body and key not in taken}
        if unseen:
            columns.update(dict.fromkeys(body))
            if count == 1 and is_table(path):
                break
        yield MappedRow(where, {**values, **own}, {k: v for k, v in body.items() if k not in taken and k not in own})
    for field in sorted(unseen) if count else ():
        raise SpecError(f"{path}: no row has the column {field!r:.80}; {did_you_mean(field, columns)}")


def _long(rows: Iterator[Row], fields: Mapping[str, str]) -> Iterator[tuple[str, dict[str, JSON], Mapping[str, str]]]:
    """Each row with the map that is meant for it; a wide row once for everything that its '*' stands for."""
    starred = {key: field for key, field in fields.items() if "*" in field and not field.startswith("=")}
    if any(field.count("*") > 1 for field in starred.values()):
        raise SpecError("--map: a column may have one '*'")
    if starred and all(field == "*" for field in starred.values()):
        raise SpecError(f"--map: {next(iter(starred))}=* needs a column with a '*' beside it: text=answer_*")
    for where, body in rows:
        forms = {key: field for key, field in starred.items() if field not in body}
        if not forms:
            yield where, body, fields
            continue
        columns = [field for field in dict.fromkeys(forms.values()) if field != "*"]
        stars = dict.fromkeys(star for field in columns for star in _stars(body, field))
        if not stars:
            raise DataError(f"{where}: no column of the form {columns[0]!r:.80}; it has {', '.join(sorted(body)[:8])}")
        for star in stars:
            meant = {key: f"={star}" if field == "*" else field.replace("*", star) for key, field in forms.items()}
            yield where, body, {**fields, **meant}


def _stars(body: JSON, field: str) -> Iterator[str]:
    """What the '*' of a column stands for in a row."""
    before, _, after = field.partition("*")
    folder, dot, start = before.rpartition(".")
    there, inner = _lookup(body, folder) if dot else (True, body)
    end, dot, rest = after.partition(".")
    for key, cell in inner.items() if there and isinstance(inner, Mapping) else ():
        is_one = key.startswith(start) and key.endswith(end) and len(key) > len(start) + len(end)
        if is_one and (not dot or _lookup(cell, rest)[0]):
            yield key[len(start) : len(key) - len(end)]


def _lookup(body: JSON, field: str) -> tuple[bool, JSON]:
    """Whether there is such a cell, and what it holds. A key is taken as it stands before it is taken as a path."""
    if isinstance(body, Mapping) and field in body:
        return True, body[field]
    head, dot, rest = field.partition(".")
    if isinstance(body, list) and head.isdecimal() and int(head) < len(body):
        return _lookup(body[int(head)], rest) if dot else (True, body[int(head)])
    if dot and isinstance(body, Mapping) and head in body:
        return _lookup(body[head], rest)
    return False, None


def text_cell(value: JSON, key: str, where: str) -> str | None:
    """A cell as a string: a number as its digits (4.0 is '4'), a Boolean as true or false. None and NaN are None."""
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, float):
        if value != value:  # noqa: PLR0124  NaN, which tables write for a blank cell
            return None
        return str(int(value)) if value.is_integer() and abs(value) < _WHOLE else repr(value)
    if isinstance(value, bool | int):
        return dumps(value)
    raise DataError(f"{where}: {key!r} must be a string or a number, not {value!r:.80}")


def list_cell(value: JSON, key: str, where: str) -> list[JSON]:
    """A cell as a list: a list as it is, a string as JSON where it begins with '[', else what is between its '|'."""
    if value is None or isinstance(value, list):
        return value or []
    if isinstance(value, str):
        if not value.strip().startswith("["):
            return [part.strip() for part in value.split("|")]
        try:
            entries = parse(value)
        except ValueError as error:
            raise DataError(f"{where}: {key!r} begins with '[' but is no list of JSON: {error}") from None
        if isinstance(entries, list):
            return entries
    raise DataError(f"{where}: {key!r} must be a list, or a string with '|' between its entries, not {value!r:.80}")


def numbered(values: Mapping[str, JSON], key: str) -> list[JSON] | None:
    """The cells 'choices.0', 'choices.1', … in the order of their numbers; None where a row has none of them."""
    places = {int(name[len(key) + 1 :]): cell for name, cell in values.items()
              if name.startswith(f"{key}.") and _NUMBER.fullmatch(name[len(key) + 1 :])}  # fmt: skip
    return [places[place] for place in sorted(places) if places[place] is not None] if places else None

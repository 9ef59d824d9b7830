"""Items from the files that people have, and freezing them: digests that say later whether a single item changed.

A row has `id` and `prompt`, and as needed `target`, `choices`, `decoy`, `aliases`, `tags`; a probe says `expected` and
`candidates` for target and choices. JSON without a map may hold nothing else. Of a table or with a map, columns that
are no field of an item become tags, and an item without an id is named by its content. Every error names its place.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from perpend.canon import JSON, clean_text, digest_file, dumps, json_object, read_object
from perpend.errors import DataError, StoreError, check_format, did_you_mean
from perpend.judging.mentions import same
from perpend.ledger.item_rows import FIELDS, LISTS, OF_PROBES, item_body
from perpend.rows.mapping import NO_MAP, MappedRow, check_map, mapped
from perpend.rows.reader import FORMATS, Row, is_table, read_rows
from perpend.types import Item

_FIELD_NAMES = frozenset(FIELDS)
_FREEZE_FORMAT = 2


def read_items(path: Path, fields: Mapping[str, str] = NO_MAP) -> Iterator[tuple[str, Item]]:
    """(place, item) of every row of a file, one at a time. `fields` maps names of FIELDS and 'tag.NAME' to columns.

    A file without an item is an error, and so is a mapped column that no row has, and so are answers that
    no rule tells apart.
    """
    names = (*FIELDS, *OF_PROBES)
    check_map(fields, names, ("tag", *LISTS))
    advice, count = f"give the path of a file of items: {FORMATS}", 0
    rows = read_rows(path, advice=advice)
    is_loose = bool(fields)
    for row in mapped(rows, path, fields, names) if fields else _unmapped(rows, names):
        if count == 0:
            is_loose = is_loose or is_table(path)
        count += 1
        item = None if is_loose or row.rest else _plain(row)
        if item is None:
            item = _item(item_body(row, is_loose=is_loose), row.where)
        check_item(item, row.where)
        check_answers(item, row.where)
        yield row.where, item
    if not count:
        raise DataError(f"{path}: no items in this file; {advice}")


def _unmapped(rows: Iterator[Row], names: Sequence[str]) -> Iterator[MappedRow]:
    """Rows whose columns have the names of fields; faster than `mapped` without a map."""
    known = frozenset(names)
    for where, body in rows:
        if body.keys() <= known:
            yield MappedRow(where, body, {})
        else:
            rest = {key: value for key, value in body.items() if key not in known}
            yield MappedRow(where, {key: value for key, value in body.items() if key in known}, rest)


def _plain(row: MappedRow) -> Item | None:
    """The item of a row that is one as it stands, with strings and lists of strings; None for any other row."""
    if not row.values.keys() <= _FIELD_NAMES:
        return None
    try:
        return _item(row.values, row.where)
    except DataError:  # a number or a Boolean is to become a string first
        return None


def load_items(paths: Iterable[Path], fields: Mapping[str, str] = NO_MAP) -> tuple[Item, ...]:
    """All items of some files in order. An id that occurs twice, in one file or over all, is an error."""
    items: list[Item] = []
    seen: dict[str, str] = {}
    for path in paths:
        for where, item in read_items(path, fields):
            if item.id in seen:
                raise DataError(f"{where}: id {item.id!r} was used at {seen[item.id]} already; ids must be unique")
            seen[item.id] = where
            items.append(item)
    return tuple(items)


def parse_item(line: str, where: str) -> Item:
    """One line of canonical JSON as an Item."""
    body = json_object(line, where)
    for key in body:
        if key not in FIELDS:
            raise DataError(f"{where}: unknown key {key!r}; {did_you_mean(key, FIELDS)}")
    item = _item(body, where)
    check_item(item, where)
    return item


def check_item(item: Item, where: str) -> None:
    """Raise DataError for an item that nobody could answer or score."""
    if not item.id.strip():
        raise DataError(f"{where}: 'id' is missing or blank; give each item its own id")
    named = f"{where}: item {item.id!r}"
    if not item.prompt.strip():
        raise DataError(f"{named}: 'prompt' is missing or blank")
    for role, answer in (("target", item.target), ("decoy", item.decoy)):
        if answer is None:
            continue
        if not answer.strip():
            raise DataError(f"{named}: {role} is blank; leave it out if there is none")
        if item.choices and answer not in item.choices:
            raise DataError(f"{named}: {role} {answer!r} is not among its choices")
    if len(set(item.choices)) < len(item.choices):
        raise DataError(f"{named}: a choice occurs twice in {list(item.choices)}")
    for right in (item.target, *item.aliases):
        if right is not None and item.decoy is not None and _fold(right) == _fold(item.decoy):
            raise DataError(f"{named}: decoy equals target ({right!r}); give a wrong answer")
    words = (
        item.id,
        item.prompt,
        item.target or "",
        item.decoy or "",
        *item.choices,
        *item.aliases,
        *item.tags,
        *item.tags.values(),
    )
    if any(clean_text(text) != text for text in words):
        raise DataError(f"{named} holds half a surrogate pair; save the file as UTF-8")


def check_answers(item: Item, where: str) -> None:
    """Raise DataError for an item whose decoy is the target to the rules of text, such as '4' and 'four'.

    Asked of items for a new run, and not of those that a run holds: an older perpend may have asked them.
    """
    if item.decoy is None:
        return
    for right in (item.target, *item.aliases):
        if right is not None and same(right, item.decoy):
            raise DataError(
                f"{where}: item {item.id!r}: decoy equals target: {item.decoy!r} and {right!r} are one answer to the "
                "scorers; give a wrong answer"
            )


def question(item: Item) -> str:
    """The item's prompt, followed by its lettered choices if it has any."""
    if not item.choices:
        return item.prompt
    return item.prompt + "".join(f"\n{chr(65 + n)}) {choice}" for n, choice in enumerate(item.choices))


def stored_item(line: str) -> Item:
    """The Item whose canonical JSON a run stored. What is none is a StoreError: somebody else wrote that ledger."""
    try:
        body = json_object(line, "damaged ledger: an item")
        item = _item(body, "damaged ledger: an item")
    except DataError as error:
        raise StoreError(str(error)) from None
    return item


def _item(body: Mapping[str, JSON], where: str) -> Item:
    return Item(
        id=_text(body, "id", where) or "",
        prompt=_text(body, "prompt", where) or "",
        target=_text(body, "target", where),
        choices=_texts(body, "choices", where),
        decoy=_text(body, "decoy", where),
        aliases=_texts(body, "aliases", where),
        tags=_tags(body.get("tags"), where),
    )


def freeze(paths: Iterable[Path], fields: Mapping[str, str] = NO_MAP) -> dict[str, JSON]:
    """What a freeze file holds: each file's SHA-256 and number of items, each item's digest, and one over all.

    `sha256` is over the sorted lines 'id<TAB>item digest', so the order of files and items does not matter.
    """
    files: dict[str, JSON] = {}
    digests: dict[str, str] = {}
    for path in paths:
        if path.name in files:
            raise DataError(f"{path}: two files of one name; a freeze tells files apart by their names")
        count = 0
        for where, item in read_items(path, fields):
            if item.id in digests:
                raise DataError(f"{where}: id {item.id!r} is used twice; ids must be unique")
            digests[item.id] = item_digest(item)
            count += 1
        files[path.name] = {"sha256": digest_file(path), "items": count}
    lines = "".join(f"{name}\t{value}\n" for name, value in sorted(digests.items()))
    return {
        "format": _FREEZE_FORMAT,
        "files": files,
        "items": dict(digests),
        "sha256": hashlib.sha256(lines.encode()).hexdigest(),
    }


def item_digest(item: Item) -> str:
    """SHA-256, in hex, of one item's canonical JSON."""
    return hashlib.sha256(dumps(item.as_json()).encode()).hexdigest()


def freeze_differences(frozen: Mapping[str, JSON], now: Mapping[str, JSON]) -> list[str]:
    """What differs between a freeze and a new one, in sentences; empty when every item is the same.

    Only items count: a file that was renamed or laid out anew but holds the same items does not differ.
    """
    before, after = _digests(frozen), _digests(now)
    changed = [name for name in before if name in after and before[name] != after[name]]
    gone = [name for name in before if name not in after]
    new = [name for name in after if name not in before]
    return [
        f"{len(names)} item(s) {what}: {', '.join(names[:5])}{' …' if len(names) > 5 else ''}"
        for what, names in (("changed", changed), ("missing", gone), ("not in the freeze", new))
        if names
    ]


def check_freeze(path: Path, items: Iterable[Path], fields: Mapping[str, str] = NO_MAP) -> str:
    """The digest of a freeze file whose items are those of `items`; otherwise DataError says what differs."""
    frozen = read_object(path, advice="'perpend freeze ITEMS --out FILE' makes a freeze file")
    check_format(frozen.get("format"), _FREEZE_FORMAT, path, again="Freeze the items again")
    now = freeze(items, fields)
    differences = freeze_differences(frozen, now)
    if differences:
        raise DataError(f"{path}: the items are not the frozen ones: {'; '.join(differences)}")
    return str(now["sha256"])


def _digests(frozen: Mapping[str, JSON]) -> Mapping[str, JSON]:
    items = frozen.get("items")
    return items if isinstance(items, Mapping) else {}


def _text(body: Mapping[str, JSON], key: str, where: str) -> str | None:
    value = body.get(key)
    if value is None or isinstance(value, str):
        return value
    hint = " (in quotes)" if isinstance(value, int | float) else ""
    raise DataError(f"{where}: {key!r} must be a string{hint}, not {value!r}")


def _texts(body: Mapping[str, JSON], key: str, where: str) -> tuple[str, ...]:
    value = body.get(key)
    if value is None:
        return ()
    if not isinstance(value, list) or not all(isinstance(entry, str) for entry in value):
        raise DataError(f"{where}: {key!r} must be a list of strings, not {value!r}")
    return tuple(str(entry) for entry in value)


def _tags(value: JSON, where: str) -> dict[str, str]:
    if value is None:
        return {}
    if not isinstance(value, dict) or not all(isinstance(entry, str) for entry in value.values()):
        raise DataError(f"{where}: 'tags' must be an object of strings, not {value!r}")
    return {key: str(entry) for key, entry in value.items()}


def _fold(text: str) -> str:
    return " ".join(text.casefold().split())

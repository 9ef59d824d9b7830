"""Items from the files that people have, and freezing them: digests that say later whether a single item changed.

A row has `id` and `prompt`, and as needed `target`, `choices`, `decoy`, `aliases`, `tags`; a probe says `expected` and
`candidates` for target and choices. JSON without a map may hold nothing else. Of a table or with a map, columns that
are no field of an item become tags, and an item without an id is named by its content. Every error names its place.
"""

from __future__ import annotations

import difflib
import hashlib
import string
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from perpend.canon import (
    JSON,
    as_list,
    as_object,
    clean_text,
    digest,
    digest_file,
    dumps,
    json_object,
    parse,
    read_object,
)
from perpend.errors import DataError, StoreError, did_you_mean
from perpend.rows.mapping import NO_MAP, MappedRow, check_map, list_cell, mapped, numbered, text_cell
from perpend.rows.reader import FORMATS, is_table, read_rows
from perpend.types import Item

FIELDS = ("id", "prompt", "target", "choices", "decoy", "aliases", "tags")
_TEXTS, _LISTS = ("id", "prompt", "target", "decoy"), ("choices", "aliases")
_OF_PROBES = {"expected": "target", "candidates": "choices"}
_OTHER_NAMES = {
    "id": ("qid", "uid", "idx", "item_id", "question_id"),
    "prompt": ("question", "input", "query", "instruction", "problem"),
    "target": ("answer", "gold", "label", "ground_truth", "correct_answer", "reference", "solution", "output"),
    "decoy": ("wrong", "wrong_answer", "incorrect_answer", "distractor"),
    "choices": ("options",),
}
"""What a field is often called. Such a column is never taken by itself: an error says how to map it."""
PLAN_COLUMNS = frozenset(("item", "condition", "model", "sampling", "temperature", "repeat"))
"""Columns of a plan; a tag of that name would be taken for them."""
_FREEZE_FORMAT = 1


def read_items(path: Path, fields: Mapping[str, str] = NO_MAP) -> Iterator[tuple[str, Item]]:
    """(place, item) of every row of a file, one at a time. `fields` maps names of FIELDS and 'tag.NAME' to columns.

    A file without an item is an error, and so is a mapped column that no row has.
    """
    names = (*FIELDS, *_OF_PROBES)
    check_map(fields, names, ("tag", *_LISTS))
    advice, count = f"give the path of a file of items: {FORMATS}", 0
    is_loose = bool(fields)
    for row in mapped(read_rows(path, advice=advice), path, fields, names):
        if count == 0:
            is_loose = is_loose or is_table(path)
        count += 1
        body = _probe(row) if _is_probe(row) else _loose(row) if is_loose else _strict(row)
        item = _item(body, row.where)
        check_item(item, row.where)
        yield row.where, item
    if not count:
        raise DataError(f"{path}: no items in this file; {advice}")


def _is_probe(row: MappedRow) -> bool:
    return all(name in row.values for name in _OF_PROBES) and "target" not in row.values


def _probe(row: MappedRow) -> dict[str, JSON]:
    """A probe as an item: its candidates are the choices, their number and every other field are tags."""
    values = {_OF_PROBES.get(key, key): value for key, value in row.values.items()}
    body = _loose(MappedRow(row.where, values, row.rest))
    return {**body, "tags": {**as_object(body["tags"]), "candidates": str(len(as_list(body["choices"])))}}


def _strict(row: MappedRow) -> dict[str, JSON]:
    """A row of JSON without a map: an unknown key is an error, because it may be a field that was misspelt."""
    for key in (*(key for key in row.values if key in _OF_PROBES), *row.rest):
        field = _meant(key, row.values)
        remedy = f"if it is the {field}, write --map {field}={key:.80}" if field else did_you_mean(key, FIELDS)
        raise DataError(f"{row.where}: unknown key {key!r:.80}; {remedy.rstrip('?')}. Other facts go into 'tags'.")
    for key in _LISTS:
        if isinstance(row.values.get(key), str):
            raise DataError(f"{row.where}: {key!r} must be a list of strings, not {row.values[key]!r:.80}")
    return _cells(row)


def _loose(row: MappedRow) -> dict[str, JSON]:
    """A row of a table or with a map: what is under no field is a tag, unless it looks like a field that is missing."""
    body, where = _cells(row), row.where
    if "prompt" not in row.values and not any(_meant(key, row.values) for key in row.rest):
        raise DataError(f"{where}: no column 'prompt'; write --map prompt=COLUMN. The columns are {_listed(row)}")
    tags = dict(as_object(body.get("tags")))
    for key, value in row.values.items():
        if key.startswith("tag."):
            tags[key[4:]] = text_cell(value, key, where)
    for key, value in row.rest.items():
        field = _meant(key, row.values)
        if field is not None:
            raise DataError(
                f"{where}: is the column {key!r:.80} the {field}? Write --map {field}={key:.80}; "
                f"to keep it as a tag, --map tag.{key:.80}={key:.80}"
            )
        name = key.removeprefix("tag.")
        if not isinstance(value, list | Mapping):
            tags.setdefault(f"metadata_{name}" if name in PLAN_COLUMNS else name, text_cell(value, key, where))
    choices = [str(choice) for choice in as_list(body["choices"])]
    for role in ("target", "decoy"):
        body[role] = chosen(row.values.get(role), body.get(role), choices)
    if "id" not in row.values:
        body["id"] = f"item-{digest([body.get('prompt'), body.get('target')])[:12]}"
    return {**body, "tags": {key: text for key, text in tags.items() if text is not None}}


def _listed(row: MappedRow) -> str:
    names = list(dict.fromkeys((*row.values, *row.rest)))
    return ", ".join(f"{name!r:.40}" for name in names[:12]) + (" …" if len(names) > 12 else "")


def _meant(column: str, given: Iterable[str]) -> str | None:
    """The field that is not given and that a column of this name may hold."""
    absent = [field for field in FIELDS[:-1] if field not in given]
    name = column.casefold().strip().replace(" ", "_")
    for field in absent:
        if name in _OTHER_NAMES.get(field, ()):
            return field
    return next(iter(difflib.get_close_matches(name, absent, n=1, cutoff=0.8)), None)


def chosen(value: JSON, text: JSON, choices: Sequence[str]) -> str | None:
    """The choice that an answer means: itself, or the one of that letter (A, B, …) or, as a number, of that place.

    Places count from 0. What means no choice stays as it is.
    """
    if not isinstance(text, str) or text in choices:
        return text if isinstance(text, str) else None
    place = string.ascii_uppercase.find(text) if len(text) == 1 else -1
    if isinstance(value, int) and not isinstance(value, bool):
        place = value
    return choices[place] if 0 <= place < len(choices) else text


def _cells(row: MappedRow) -> dict[str, JSON]:
    """The fields of an item in a row, numbers and Booleans as strings; what is blank is left out."""
    body: dict[str, JSON] = {}
    for key in _TEXTS:
        text = text_cell(row.values.get(key), key, row.where)
        if text is not None:
            body[key] = text
    for key in _LISTS:
        cells = numbered(row.values, key)
        value = list_cell(row.values.get(key), key, row.where) if cells is None else cells
        texts = [text_cell(entry, key, row.where) for entry in value]
        if any(text is None for text in texts):
            raise DataError(f"{row.where}: {key!r} has an entry without a value: {value!r:.80}")
        body[key] = [text for text in texts if text is not None]
    body["tags"] = _tag_cells(row.values.get("tags"), row.where)
    return body


def _tag_cells(value: JSON, where: str) -> dict[str, JSON]:
    """Any scalar is a tag; null is none."""
    if isinstance(value, str) and value.strip().startswith("{"):
        try:
            value = parse(value)
        except ValueError as error:
            raise DataError(f"{where}: 'tags' begin with '{{' but are no object of JSON: {error}") from None
    if value is not None and not isinstance(value, Mapping):
        raise DataError(f"{where}: 'tags' must be an object of strings, numbers or Booleans, not {value!r:.80}")
    texts = {key: text_cell(entry, f"tag {key}", where) for key, entry in (value or {}).items()}
    return {key: text for key, text in texts.items() if text is not None}


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
    frozen = read_object(path, advice=f"'perpend freeze ITEMS --out {path}' makes a freeze file")
    if frozen.get("format") != _FREEZE_FORMAT:
        raise DataError(f"{path}: not a freeze file of format {_FREEZE_FORMAT}")
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

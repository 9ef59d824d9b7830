"""items.jsonl.gz beside a run's shards: all its items, so that some shards can be merged before all are there."""

from __future__ import annotations

import gzip
import json
import zlib
from collections.abc import Iterable, Iterator
from pathlib import Path

from perpend.canon import dumps, opened
from perpend.disk import replacing
from perpend.errors import DataError, StoreError
from perpend.ledger.items import parse_item
from perpend.types import Item

ITEMS = "items.jsonl.gz"
_LONGEST = 1 << 25


def write_item_file(path: Path, rows: Iterable[tuple[int, str, Item]]) -> None:
    """Write (number of the dataset, place, item) as compressed lines; a file that is there stays as it is."""
    if path.exists():
        return
    with replacing(path) as temporary, gzip.open(temporary, "wt", encoding="utf-8", newline="\n") as file:
        for number, _, item in rows:
            file.write(dumps({"dataset": number, "item": item.as_json()}) + "\n")


def read_item_file(path: Path) -> Iterator[tuple[int, str, Item]]:
    """What `write_item_file` was given; the place is the line of this file."""
    number = 0
    try:
        with (
            opened(path, within=path.parent) as packed,
            gzip.open(packed, "rt", encoding="utf-8", newline="\n") as file,
        ):
            for number, line in enumerate(iter(lambda: file.readline(_LONGEST), ""), 1):
                body = json.loads(line)
                where = f"{path}:{number}"
                yield int(body["dataset"]), where, parse_item(dumps(body["item"]), where)
    except (OSError, EOFError, zlib.error, ValueError, KeyError, TypeError, RecursionError, DataError) as error:
        raise StoreError(f"{path}, near line {number}: damaged: {error}; remove it, a shard writes it again") from error

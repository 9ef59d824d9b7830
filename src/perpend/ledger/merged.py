"""merged.json: what the shards that were merged into a run have spent, so that no shard is ever counted twice."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

from perpend.canon import JSON, as_list, as_object, count_or_none, pretty, read_object, write_atomic
from perpend.errors import StoreError, check_format
from perpend.ledger.journal import noted_spent
from perpend.types import Spent

FORMAT = 2
MERGED = "merged.json"
ByModel = Mapping[str, Spent]


def add_spent(run: Path, shards: Mapping[str, ByModel]) -> dict[str, Spent]:
    """Note what shards have spent, each by its name, and return what the run has spent in all, by model.

    That is what its own invocations spent, and of every shard that was ever merged the most that it is known to have
    spent. Merging a shard again adds only what it spent since.
    """
    body = read_object(run / MERGED, StoreError, within=run) if (run / MERGED).is_file() else {}
    if body:
        check_format(body.get("format"), FORMAT, run / MERGED, again="Remove the file and merge all shards again")
    known = {name: _read(run, entry) for name, entry in as_object(body.get("shards")).items()}
    own, written, noted = _read(run, body.get("own")), _read(run, body.get("journal")), noted_spent(run)
    for label, spent in noted.items():
        before = written.get(label, Spent())
        since = Spent(*(max(0, getattr(spent, name) - getattr(before, name)) for name in Spent.__slots__))
        if since != Spent():
            own[label] = own.get(label, Spent()) + since
    for name, by_model in shards.items():
        own_shard = known.setdefault(name, {})
        for label, spent in by_model.items():
            own_shard[label] = own_shard.get(label, Spent()) | spent
    total = _sum([own, *known.values()])
    write_atomic(
        run / MERGED,
        pretty({
            "format": FORMAT,
            "own": _json(own),
            "journal": _json(total),
            "shards": {name: _json(by_model) for name, by_model in known.items()},
        }),
    )  # fmt: skip
    return total


def _sum(parts: Iterable[ByModel]) -> dict[str, Spent]:
    total: dict[str, Spent] = {}
    for part in parts:
        for label, spent in part.items():
            total[label] = total.get(label, Spent()) + spent
    return total


def _json(by_model: ByModel) -> dict[str, JSON]:
    return {label: [getattr(spent, name) for name in Spent.__slots__] for label, spent in by_model.items()}


def _read(run: Path, value: JSON) -> dict[str, Spent]:
    """By model. A count that is missing or is none is a StoreError: as 0 it would be spent again."""
    spent: dict[str, Spent] = {}
    for label, entry in as_object(value).items():
        counts = [count for one in as_list(entry) if (count := count_or_none(one)) is not None]
        if len(counts) != len(Spent.__slots__):
            raise StoreError(
                f"{run / MERGED}: what {label!r:.80} has spent cannot be read. Remove the file and merge all shards "
                "again."
            )
        spent[label] = Spent(*counts)
    return spent

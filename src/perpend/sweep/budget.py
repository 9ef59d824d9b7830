"""One budget for a whole sweep, without a lock across machines.

Each shard has a share of its own from the start. What a shard did not need when it ends lies in budget/free as a file,
and a shard that needs more takes one by renaming it into its own folder: a rename succeeds once. So the shards together
never have more than the whole; a task that is killed at the wrong moment can only leave some of it unused, until the
sweep is submitted again: what is left then is shared out anew among the shards that are not done.
"""

from __future__ import annotations

import shutil
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from perpend.canon import JSON, read_object
from perpend.errors import StoreError
from perpend.spec.runspec import Limits
from perpend.sweep.facts import Sweep, folder, write_fact

_MILLIONTHS = 1_000_000


@dataclass(frozen=True, slots=True)
class Lease:
    """What a shard may spend, all its tries together: requests, and millionths of a US dollar; None is no limit."""

    requests: int | None
    microusd: int | None

    def limits(self, minutes: float | None) -> Limits:
        """The limits of one `eval`."""
        usd = None if self.microusd is None else self.microusd / _MILLIONTHS
        return Limits(usd, self.requests, minutes)


def share(total: int, shard: int, shards: int) -> int:
    """The shard's part of a whole number; the parts of all shards add up to it."""
    return total * shard // shards - total * (shard - 1) // shards


def lease(run: Path, sweep: Sweep, shard: int) -> Lease:
    """The shard's share, with what it took and without what it gave back."""
    moved = _sum(_own(run, shard))
    return Lease(
        None if sweep.max_requests is None else share(sweep.max_requests, shard, sweep.shards) + moved[0],
        None if sweep.max_usd is None else share(_micro(sweep.max_usd), shard, sweep.shards) + moved[1],
    )


def settle(run: Path, sweep: Sweep, spent: Mapping[int, tuple[int, float]], open_: Sequence[int]) -> None:
    """Share what all shards together have left (of requests, dollars) among the open ones, while none is being asked.

    Each keeps what it has spent; so one that gave back under a higher limit has never less than nothing.
    """
    shutil.rmtree(folder(run) / "budget", ignore_errors=True)
    every = range(1, sweep.shards + 1)
    used = {shard: spent.get(shard, (0, 0.0)) for shard in every}
    requests = _settled(sweep.max_requests, {shard: used[shard][0] for shard in every}, open_)
    total = None if sweep.max_usd is None else _micro(sweep.max_usd)
    microusd = _settled(total, {shard: _micro(used[shard][1]) for shard in every}, open_)
    for shard in every:
        if requests[shard] or microusd[shard]:
            body = {"requests": requests[shard], "microusd": microusd[shard]}
            write_fact(_own(run, shard) / "settled.json", body)


def _settled(total: int | None, spent: Mapping[int, int], open_: Sequence[int]) -> dict[int, int]:
    """How far the lease of each shard is to be from its share."""
    if total is None:
        return dict.fromkeys(spent, 0)
    parts = _levelled(max(0, total - sum(spent.values())), {shard: spent[shard] for shard in open_})
    return {shard: used + parts.get(shard, 0) - share(total, shard, len(spent)) for shard, used in spent.items()}


def _levelled(left: int, spent: Mapping[int, int]) -> dict[int, int]:
    """What is left in parts, after which all have had the same, as far as it goes: those that spent less get more."""
    low, high = 0, left + max(spent.values(), default=0)
    while low < high:  # the highest level to which all can be raised
        level = (low + high + 1) // 2
        low, high = (level, high) if sum(max(0, level - used) for used in spent.values()) <= left else (low, level - 1)
    parts = {shard: max(0, low - used) for shard, used in spent.items()}
    over = left - sum(parts.values())
    for shard in [shard for shard, used in spent.items() if used <= low][:over]:
        parts[shard] += 1
    return parts


def take(run: Path, shard: int) -> bool:
    """Take one file of what others gave back. False where there is none."""
    for path in sorted(_free(run).glob("*.json")):
        taken = _own(run, shard) / f"took-{path.name}"
        taken.parent.mkdir(parents=True, exist_ok=True)
        try:
            path.rename(taken)
        except FileNotFoundError:  # another shard was faster
            continue
        return True
    return False


def give_back(run: Path, sweep: Sweep, shard: int, spent: tuple[int, float | None]) -> None:
    """Leave to others what an ended shard has not spent: requests, and dollars where they are known."""
    own = lease(run, sweep, shard)
    requests, usd = spent
    unused = (
        0 if own.requests is None else max(0, own.requests - requests),
        0 if own.microusd is None or usd is None else max(0, own.microusd - _micro(usd) - 1),
    )
    if not any(unused):
        return
    name = f"{shard:04d}-{uuid.uuid4().hex}.json"
    # First it is no longer ours, then it is anybody's: whoever dies in between leaves it unused, never spent twice.
    write_fact(_own(run, shard) / f"gave-{name}", {"requests": -unused[0], "microusd": -unused[1]})
    write_fact(_free(run) / name, {"requests": unused[0], "microusd": unused[1]})


def _micro(usd: float) -> int:
    return int(usd * _MILLIONTHS)


def _free(run: Path) -> Path:
    return folder(run) / "budget" / "free"


def _own(run: Path, shard: int) -> Path:
    return folder(run) / "budget" / f"{shard:04d}"


def _sum(place: Path) -> tuple[int, int]:
    bodies = [read_object(path, StoreError) for path in place.glob("*.json")]
    return sum(_whole(body, "requests") for body in bodies), sum(_whole(body, "microusd") for body in bodies)


def _whole(body: Mapping[str, JSON], key: str) -> int:
    value = body.get(key)
    if not isinstance(value, int) or isinstance(value, bool):
        raise StoreError(f"a lease of the budget has no {key!r}; remove the folder 'budget' of the sweep to begin anew")
    return value

"""merge: the shards of a run put together as the run that one process would have made."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from perpend.ask.runner import check_loss
from perpend.ask.starting import holding, new_folders, withdrawn
from perpend.ask.task import CODE, trusted_files
from perpend.canon import JSON, dumps, write_atomic
from perpend.disk import temporary_folder
from perpend.errors import SpecError, StoreError
from perpend.inert import counted
from perpend.ledger.digest import content_digest
from perpend.ledger.item_file import ITEMS, read_item_file
from perpend.ledger.items import stored_item
from perpend.ledger.journal import acknowledge
from perpend.ledger.manifest import MANIFEST, ItemsDigest, Manifest, differences, read_manifest, write_manifest
from perpend.ledger.merged import ByModel, add_spent
from perpend.ledger.plan import Plan, whole
from perpend.ledger.shards import SHARDS, Shard, parse_shard, shard_folders
from perpend.ledger.snapshot import snapshot
from perpend.ledger.spent import spent_before
from perpend.ledger.store import Store
from perpend.ledger.union import unasked_blocks, unite_all
from perpend.spec.keys import note_variables, noted_variables
from perpend.types import Item

_LISTED = 12


@dataclass(frozen=True, slots=True)
class Merged:
    """How a merge ended: of `planned` trials of the run `asked` have a response and `answered` an answer."""

    directory: Path
    shards: int
    """Ledgers that were merged."""
    added: int
    """Responses that the run did not have before."""
    planned: int
    asked: int
    answered: int
    missing: tuple[Shard, ...]
    """Shards that were not there, and of which the run lacks trials."""
    digest: str
    """The content digest of the run now."""

    def as_text(self) -> str:
        """'8 shards merged, 400 responses added; 400 of 400 trials answered.'"""
        failed, left = self.asked - self.answered, self.planned - self.asked
        done = f"{self.answered:,} of {counted(self.planned, 'trial')} answered"
        parts = [
            f"{counted(self.shards, 'shard')} merged, {counted(self.added, 'response')} added",
            *([f"{failed:,} failed"] if failed else []),
            *([f"{left:,} not asked yet"] if left else []),
        ]
        return f"{parts[0]}; {', '.join([done, *parts[1:]])}."

    def as_json(self) -> dict[str, JSON]:
        """The outcome as JSON."""
        return {
            "run": self.directory.as_posix(),
            "shards": self.shards,
            "added": self.added,
            "planned": self.planned,
            "asked": self.asked,
            "answered": self.answered,
            "missing": [str(shard) for shard in self.missing],
            "content_sha256": self.digest,
        }

    def missing_words(self) -> str:
        """'shards 3 and 7 of 8 are not there'; empty where none is missing."""
        parts = []
        for of in sorted({shard.of for shard in self.missing}):
            numbers = [str(shard.number) for shard in self.missing if shard.of == of]
            more = [f"{len(numbers) - _LISTED} more"] if len(numbers) > _LISTED else []
            listed = [*numbers[:_LISTED], *more]
            words = listed[0] if len(listed) == 1 else f"{', '.join(listed[:-1])} and {listed[-1]}"
            one = len(numbers) == 1
            parts.append(f"shard{'' if one else 's'} {words} of {of} {'is' if one else 'are'} not there")
        return "; ".join(parts)


@dataclass(frozen=True, slots=True)
class _Source:
    """One ledger to merge."""

    folder: Path
    manifest: Manifest
    shard: Shard | None
    name: str
    spent: ByModel


def merge(run: Path, shards: Sequence[Path] = ()) -> Merged:
    """Put the ledgers of shards, by default all in RUN/shards, together in the run's own: a set union of responses.

    The order does not matter, nor whether a shard is given twice or was merged before, and some may be missing. A shard
    of another run, or one that answers a trial otherwise than is known, is a StoreError, and nothing is changed.
    """
    folders = list(shards) or [folder for some in shard_folders(run).values() for folder in some]
    if not folders:
        raise StoreError(
            f"{run}: there is no shard below {run / SHARDS}; 'perpend eval RUN.TOML --shard k/N' makes one, or name "
            "the folders of the shards"
        )
    sources = [_source(folder) for folder in folders]
    manifest = _one_manifest(run, sources)
    with new_folders(run), holding(run), withdrawn(run), ExitStack() as stack:
        there = run / "run.db"
        if there.exists():
            ledger = there
        else:
            ledger = stack.enter_context(temporary_folder("merge", run)) / "run.db"
            items = _items(run, manifest, sources)
            with Store.create(ledger, manifest.run) as store:
                store.write_plan(_plan(manifest), items)
        with Store.open(ledger, write=True) as store:
            check_loss(store)
            added = unite_all(store, [source.folder for source in sources])
        _files(run, manifest, sources)
        if ledger != there:
            ledger.replace(there)
        with Store.open(there) as store:
            responses, total = store.responses(), add_spent(run, {one.name: one.spent for one in sources})
            missing = _missing(store, manifest, [one.shard for one in sources if one.shard is not None])
        acknowledge(run, responses, total)
    with snapshot(there) as ledger_now:
        counts = ledger_now.counts()
    return Merged(
        run, len(folders), added, counts.planned, counts.asked, counts.answered, tuple(missing), content_digest(run)
    )


def _source(folder: Path) -> _Source:
    manifest = read_manifest(folder)
    with Store.open(folder / "run.db") as store:
        check_loss(store)
        written = store.meta().get("shard")
        spent = spent_before(store)
    try:
        shard = None if written is None else parse_shard(written)
    except SpecError:
        raise StoreError(f"{folder}: its run.db says that it is shard {written!r:.40}, which is none") from None
    return _Source(folder, manifest, shard, manifest.created if shard is None else str(shard), spent)


def _one_manifest(run: Path, sources: Sequence[_Source]) -> Manifest:
    """The manifest that all share, as it was first written; StoreError that says what differs where they do not."""
    first = read_manifest(run) if (run / MANIFEST).exists() else sources[0].manifest
    name = run if (run / MANIFEST).exists() else sources[0].folder
    for source in sources:
        changed = differences(first.binding(), source.manifest.binding())
        if changed:
            raise StoreError(
                f"{source.folder}: not a shard of {name}; nothing was merged. It differs in", *changed[:10]
            )
    if first.stop is not None:
        raise StoreError(f"{name}: has a stopping rule, which looks at all answers in turn; such a run has no shards")
    every = [first, *(source.manifest for source in sources)]
    return min(every, key=lambda one: (one.created, dumps(one.as_json())))


def _plan(manifest: Manifest) -> Plan:
    return Plan(
        datasets=manifest.datasets,
        conditions={one.name: one.params for one in manifest.conditions},
        models=[(one.label, one.name, one.options) for one in manifest.models],
        samplings={one.label: manifest.samplings_of(one) for one in manifest.models},
        repeats=manifest.repeats,
    )


def _items(run: Path, manifest: Manifest, sources: Sequence[_Source]) -> Iterator[tuple[int, str, Item]]:
    """All items of the run, in the order of the plan: of the file beside the shards, else of the shards together."""
    places = dict.fromkeys((run / SHARDS, *(source.folder.resolve().parent for source in sources)))
    for path in (place / ITEMS for place in places):
        if path.is_file() and _is_of(manifest, read_item_file(path)):
            return read_item_file(path)
    items: dict[int, tuple[int, str, Item]] = {}
    for source in sources:
        with snapshot(source.folder / "run.db") as shard:
            for number, dataset, _, body in shard.numbered_items():
                items[whole(number)] = (whole(dataset), f"{source.folder}: item {number}", stored_item(str(body)))
    ordered = [items[number] for number in sorted(items)]
    if not _is_of(manifest, iter(ordered)):
        raise StoreError(
            f"{run}: not every shard is there, and {run / SHARDS / ITEMS}, which holds the items of all, is not either "
            "or is that of another run. Copy it from where the shards were asked, or merge all shards at once."
        )
    return iter(ordered)


def _is_of(manifest: Manifest, items: Iterator[tuple[int, str, Item]]) -> bool:
    digest = ItemsDigest()
    for _, _, item in items:
        digest.add(item)
    return digest.hexdigest() == manifest.items.sha256


def _files(run: Path, manifest: Manifest, sources: Sequence[_Source]) -> None:
    """What is beside a ledger: copies of the code, names of variables that held keys, and the manifest."""
    if not all((run / CODE / source.file).is_file() for source in manifest.sources):
        for name, path in trusted_files(manifest, sources[0].folder).items():
            write_atomic(run / CODE / name, path.read_bytes())
    note_variables(run, [name for source in sources for name in noted_variables(source.folder)])
    if not (run / MANIFEST).exists() or read_manifest(run) != manifest:
        write_manifest(run, manifest)


def _missing(store: Store, manifest: Manifest, given: Sequence[Shard]) -> list[Shard]:
    """The shards that are not among the given ones and of whose blocks a trial has no response."""
    unasked = [(model - 1) * manifest.items.n + item - 1 for model, item in unasked_blocks(store)]
    missing: set[Shard] = set()
    for of in {shard.of for shard in given}:
        blocks = len(manifest.models) * manifest.items.n
        starts = [blocks * number // of for number in range(of)]
        missing |= {Shard(bisect_right(starts, block), of) for block in unasked} - set(given)
    return sorted(missing)

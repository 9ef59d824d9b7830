"""One shard of a run: where it is asked, what it shares with the others, and how its ledger is put in its place."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from perpend.ask.task import CODE
from perpend.canon import pretty, write_atomic
from perpend.disk import make_folder, replacing, temporary_folder, writing
from perpend.errors import SpecError, StoreError
from perpend.ledger.database import copy_ledger
from perpend.ledger.digest import content_digest
from perpend.ledger.journal import acknowledge
from perpend.ledger.manifest import MANIFEST, Manifest, differences, read_manifest
from perpend.ledger.shards import SHARDS, Shard, shard_folders, shard_named
from perpend.ledger.spent import spent_before
from perpend.ledger.store import Store
from perpend.ledger.union import contains, lacks, response_count
from perpend.spec.keys import VARIABLES


def asking_place(run: Path, shard: Shard, scratch: Path | None) -> Path:
    """The folder in which a shard is asked: below the run, or below a scratch folder on this machine."""
    return run / SHARDS / shard.folder if scratch is None else scratch / run.name / shard.folder


def shared_manifest(run: Path, own: Manifest) -> Manifest:
    """The one manifest of all shards of a run: that of the run or of the shard that began first, if it asks the same.

    Where there is none yet, this one becomes it.
    """
    there = next((path for path in (run, run / SHARDS) if (path / MANIFEST).exists()), None)
    if there is None:
        there = run / SHARDS
        _write_once(there / MANIFEST, pretty(own.as_json()))
    shared = read_manifest(there)
    changed = differences(shared.binding(), own.binding())
    if changed:
        raise StoreError(
            f"{there}: holds another run; it differs in",
            *changed[:10],
            "Give this one another name (--name), undo the change, or remove the folder if nothing was answered.",
        )
    return shared


def _write_once(path: Path, text: str) -> None:
    """Write a whole file, unless another process was faster."""
    with writing(path):
        make_folder(path.parent)
        with temporary_folder("manifest", path.parent) as tmpdir:
            new = tmpdir / path.name
            write_atomic(new, text)
            try:
                path.hardlink_to(new)
            except FileExistsError:
                return
            except OSError:  # a disk without hard links
                if not path.exists():
                    new.replace(path)


def begin_shard(directory: Path, run: Path, shard: Shard) -> None:
    """Start from the newest copy of the shard that was put in its place, if the folder does not hold more than that."""
    copies = [folder for folder in shard_folders(run).get(shard, []) if folder.resolve() != directory.resolve()]
    newest = max(copies, key=response_count, default=None)
    if newest is None:
        return
    if (directory / "run.db").exists():
        has_fewer = response_count(directory) < response_count(newest)
        if not has_fewer or not contains(newest, directory):
            return
    for name in ("run.db", "run.db-wal", "run.db-shm", "run.db-journal"):  # all of it is in the newer copy
        (directory / name).unlink(missing_ok=True)
    _copy(newest, directory)


def check_unmerged(run: Path, ledger: Path) -> None:
    """Refuse to ask a shard of whose trials the run has answers that its ledger lacks: it would ask them again."""
    if (run / "run.db").is_file() and lacks(ledger, run / "run.db"):
        raise StoreError(
            f"{run}: has answers to trials of this shard that the shard's own ledger does not have. To ask what is "
            "missing, run the same command without --shard."
        )


def check_cut(run: Path, shards: Sequence[Shard], manifest: Manifest) -> None:
    """Refuse shards of which another, of a run cut into more or fewer parts, has trials: they would be asked twice."""
    blocks = len(manifest.models) * manifest.items.n
    for other, folders in shard_folders(run).items():
        mine = next((one for one in shards if one.of != other.of and one.overlaps(other, blocks)), None)
        if mine is not None and any(map(response_count, folders)):
            raise StoreError(
                f"{run}: shard {other} has answers to trials of shard {mine}, which would be asked a second time. To "
                f"ask the rest as it was cut, use --shard k/{other.of} (submit: --shards {other.of}); to cut it anew, "
                f"remove {folders[0]} first."
            )


def place_shard(asked: Path, run: Path) -> Path:
    """Put a copy of a shard's ledger into RUN/shards, by rename and for good; its folder, named by its content digest.

    It is out of WAL mode, its files are read-only, and it is complete in itself. The shard may be asked meanwhile: the
    copy is of one moment. Older copies of the shard that this one contains are removed.
    """
    shard = shard_named(asked)
    if shard is None:
        raise SpecError(f"{asked}: not the folder of a shard, such as 0003-of-0008")
    parent = run / SHARDS
    with writing(parent), temporary_folder("shard", parent) as tmpdir:
        new = tmpdir / shard.folder
        new.mkdir()
        _copy(asked, new)
        for path in new.rglob("*"):
            if path.is_file():
                path.chmod(0o444)
        there = parent / f"{shard.folder}-{content_digest(new)[:12]}"
        if not there.exists():
            with suppress(FileExistsError):
                _rename(new, there)
    for older in shard_folders(run).get(shard, []):
        # A copy that is being placed beside this one may have removed it already; what cannot be read stays.
        with suppress(StoreError):
            if older not in (there, asked) and older.name != shard.folder and contains(there, older):
                shutil.rmtree(older, ignore_errors=True)
    return there


def _rename(new: Path, there: Path) -> None:
    try:
        new.rename(there)
    except OSError:
        if not there.exists():  # otherwise another process placed the same content first
            raise


def _copy(source: Path, to: Path) -> None:
    """A shard's folder at one moment: ledger, journal of that moment, manifest, code, names of variables."""
    make_folder(to)
    write_atomic(to / MANIFEST, (source / MANIFEST).read_bytes())
    with replacing(to / "run.db") as half, temporary_folder("shard") as tmpdir:
        local = tmpdir / "run.db"  # SQLite needs locks, which the disk that it is to be put on may not have
        copy_ledger(source / "run.db", local)
        shutil.copyfile(local, half)
    with Store.open(source / "run.db") as before, Store.open(to / "run.db") as copied:
        acknowledge(to, copied.responses(), spent_before(before))
    for path in (source / VARIABLES, *sorted((source / CODE).glob("*.py"))):
        if path.is_file():
            write_atomic(to / path.relative_to(source), path.read_bytes())

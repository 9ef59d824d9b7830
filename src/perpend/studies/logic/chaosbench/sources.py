"""Where item files are: as the user names them, else in the set that comes with the package."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from perpend.canon import JSON, as_list, inside, read_object
from perpend.errors import DataError
from perpend.studies.logic.chaosbench.hashes import FileDigest, file_digest, global_sha256
from perpend.studies.logic.chaosbench.items import Record, line_of, load_records, text_of
from perpend.studies.logic.chaosbench.packaged import PRESENT, edition_of, set_root

SELECTOR = Path("data/canonical_v2_files.json")
CANONICAL = "canonical"


class MissingDataError(DataError):
    """A selector or a file that it lists is missing, empty or not JSON."""

    exit_code = 2


@dataclass(frozen=True, slots=True)
class Selector:
    """The list of canonical files: where it stands, what its paths are relative to, and the paths as listed."""

    path: Path
    base: Path
    listed: tuple[str, ...]

    def paths(self) -> list[Path]:
        """The files, in the order of the list. One that is not below the selector's folder is an error."""
        return [inside(self.base, entry, str(self.path)) for entry in self.listed]

    def missing(self) -> list[str]:
        """The listed files that are not there."""
        return [entry for entry, path in zip(self.listed, self.paths(), strict=True) if not path.is_file()]

    def digests(self) -> list[FileDigest]:
        """The digest of every file, in the order of the list. A missing file is an error."""
        lost = self.missing()
        if lost:
            more = f" and {len(lost) - 1} more" if len(lost) > 1 else ""
            raise MissingDataError(f"{self.path}: lists {lost[0]}{more}, which is not in {self.base}")
        return [file_digest(self.base / entry, entry) for entry in self.listed]

    def records(self) -> list[Record]:
        """All items, file by file in the order of the list."""
        self.digests()
        return load_records(self.paths())


def packaged_root() -> Path:
    """The folder of our own set, made from the packaged facts on first use; SELECTOR lies below it."""
    return set_root()


def locate(path: Path, edition: str | None = None) -> Path:
    """A path as the user wrote it: relative to the current directory, else to the set that comes with the package.

    So the commands of a run plan work in any directory. A path that exists in neither place is returned as written.
    With an edition, a path of the set is looked for in that set and nowhere else.
    """
    if path.is_absolute() or (edition is None and path.exists()):
        return path
    # Only paths like those of the set: whatever else is missing is not worth making the set for.
    if path.parts[:1] != SELECTOR.parts[:1]:
        return path
    packaged = (packaged_root() if edition in (None, PRESENT) else set_root(edition)) / path
    return packaged if packaged.exists() else path


def older_selector(digest: str) -> Path | None:
    """The selector of the older packaged set with that digest; None for the present set and for no set."""
    edition = edition_of(digest)
    return None if edition in (None, PRESENT) else set_root(edition) / SELECTOR


def read_selector(path: Path = SELECTOR) -> Selector:
    """The selector at a path, found as `locate` finds it."""
    located = locate(path)
    if not located.exists():
        hint = "make the data set, or give --selector" if path == SELECTOR else "give the path of a selector file"
        raise MissingDataError(f"{path}: no such selector, here or in the package; {hint}")
    body = read_object(located, MissingDataError)
    listed = [str(entry) for entry in as_list(body.get("files"))]
    if not listed or listed != body.get("files"):
        raise MissingDataError(f"{located}: 'files' must be a list of at least one path")
    return Selector(located, _base(located, listed), tuple(listed))


def _base(selector: Path, listed: Iterable[str]) -> Path:
    """What the listed paths are relative to: the folder above `data`, the selector's own, or the current one around it.

    Each of them holds the selector, so a list cannot name what lies elsewhere.
    """
    own, around = selector.absolute().parent, Path.cwd()
    bases = [own.parent, own] if own.name == SELECTOR.parts[0] else [own]
    if own.is_relative_to(around):
        bases.append(around)
    for base in bases:
        if any(inside(base, entry, str(selector)).is_file() for entry in listed):
            return base
    return bases[0]


def selector_body(listed: Iterable[str]) -> dict[str, JSON]:
    """What a selector file holds."""
    return {"schema_version": "v2", "description": "Canonical item files", "files": sorted(listed)}


@dataclass(frozen=True, slots=True)
class ItemSource:
    """The items that were asked for: the records, the file as it may be written down, and the canonical set around it.

    `path` is relative to the set's folder where the file lies in it, else only its name. `global_sha256` is None, and
    `note` says why, unless every item is an item of the canonical set, unchanged.
    """

    name: str
    path: str
    sha256: str | None
    records: list[Record]
    selector: str | None
    global_sha256: str | None
    note: str = ""


def open_source(subset: Path | None, dataset: str, edition: str | None = None) -> ItemSource:
    """The items of a subset file, or of a dataset: 'canonical', or the path of an item file or a selector.

    `edition` looks for 'canonical' and for the paths of a set in that packaged set; None looks here, then in the
    present one.
    """
    if subset is None and dataset == CANONICAL:
        return _canonical(read_selector(locate(SELECTOR, edition)))
    path = locate(subset if subset is not None else Path(dataset), edition)
    if subset is None and path.suffix == ".json":
        return _canonical(read_selector(path))
    records = load_records([path])
    if not records:
        raise DataError(f"{path}: no items")
    sha256 = file_digest(path, path.name).sha256
    selector = _selector_around(path)
    if selector is None:
        note = "no canonical selector was found beside the file, here or in the package"
        return ItemSource(path.stem, path.name, sha256, records, None, None, note)
    written, listed = written_path(path, selector.base), written_path(selector.path, selector.base)
    lost = selector.missing()
    if lost:
        note = (
            f"the canonical set is not complete: {len(lost)} of {len(selector.listed)} files are missing, as {lost[0]}"
        )
        return ItemSource(path.stem, written, sha256, records, listed, None, note)
    asked = {text_of(record, "id") for record in records}
    known = {name: line_of(record) for record in selector.records() if (name := text_of(record, "id")) in asked}
    whole = global_sha256(selector.digests())
    foreign = [text_of(record, "id") for record in records if known.get(text_of(record, "id")) != line_of(record)]
    note = f"{len(foreign)} of {len(records)} items are not in the canonical set, as {foreign[0]!r}" if foreign else ""
    return ItemSource(path.stem, written, sha256, records, listed, None if foreign else whole, note)


def _canonical(selector: Selector) -> ItemSource:
    written = written_path(selector.path, selector.base)
    records = selector.records()
    if not records:
        raise MissingDataError(f"{selector.path}: the listed files hold no items")
    return ItemSource(CANONICAL, written, None, records, written, global_sha256(selector.digests()))


def _selector_around(path: Path) -> Selector | None:
    """The selector of the nearest folder above a file that has one, else the current folder's or the package's."""
    for folder in (*path.absolute().parents, Path.cwd(), packaged_root()):
        if (folder / SELECTOR).is_file():
            return read_selector(folder / SELECTOR)
    return None


def written_path(path: Path, base: Path) -> str:
    """A path that names nothing of this machine: relative to the set's folder, else the last part."""
    try:
        return path.resolve().relative_to(base.resolve()).as_posix()
    except ValueError:
        return path.name

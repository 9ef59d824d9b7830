"""Items, one JSON object a line; sets of their files: the list, the digests, the freeze, subsets; the packaged set.

The packaged set, perpend-logic, is data: its lines are packed, and its files are written into a cache once. Each is
compared with its digest whenever the set is used: the bytes are those of the freeze, or there is an error.
"""

from __future__ import annotations

import hashlib
import json
import lzma
import random
import tomllib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cache, cached_property
from importlib.resources import files
from pathlib import Path
from typing import Literal, TypeAlias, TypeVar

from perpend.canon import (
    JSON,
    as_list,
    as_object,
    digest,
    digest_file,
    dumps,
    inside,
    json_lines,
    number_of,
    read_bytes,
    read_object,
    text_lines,
    write_atomic,
)
from perpend.disk import CACHE, caches
from perpend.errors import DataError, SpecError
from perpend.inert import one_line
from perpend.ledger.items import check_item
from perpend.ledger.manifest import code_version
from perpend.report.pages import render
from perpend.types import Item

K = TypeVar("K")
T = TypeVar("T")
Record: TypeAlias = dict[str, JSON]
"""One line of an item file."""
Label: TypeAlias = Literal["TRUE", "FALSE"]

PROTOCOL = tomllib.loads((files("perpend.studies.logic.chaosbench") / "protocol.toml").read_text(encoding="utf-8"))
"""Names of the run plan and of the files that its commands write."""
FAMILIES, STRATA = tuple(PROTOCOL["families"]), tuple(PROTOCOL["strata"])
KEYS = ("id", "question", "ground_truth", "type", "system_id", "template")
GROUP_TAGS = ("group", "group_id", "base_fact")
"""Tags that say which items rest on one fact."""
LABEL_KEYS = ("ground_truth", "answer", "gold", "label")
"""Where a label is looked for, in this order."""
_LABELS: dict[str, Label] = {
    **dict.fromkeys(("yes", "y", "true", "t"), "TRUE"),
    **dict.fromkeys(("no", "n", "false", "f"), "FALSE"),
}
NO_FAMILY = "unknown"
SHORT = 16
"""Hex digits of the digests of ids and prompts."""
SELECTOR = Path("data/canonical_v2_files.json")
CANONICAL = "canonical"
NAME, VERSION = "perpend-logic", "3.0"
PACKED, FILES = "items.jsonl.xz", "items.json"
"""Of the package: the lines of the canonical files, family after family; and the path of every file → its SHA-256."""
BESIDE = ("DATA_CARD.md", "croissant.json")
"""Of the package, and as they are in the set: what it is, as a page and as Croissant metadata."""
MANIFEST, SUMS, REPORT = "v2_freeze_manifest.json", "v2_freeze_sha256.txt", "v2_freeze_report.md"

ARMORED_SIZES = {"subset_1k_armored": 1000, "subset_5k_armored": 5000}
SPLITS, SPLIT = ("train", "dev", "test"), "test"
"""All of the set, and the one that subsets are drawn from."""
SUITE_SIZE = 456
"""Items of a family suite: 228 of each label where there are that many."""


class MissingDataError(DataError):
    """A selector or a file that it lists is missing, empty or not JSON."""

    exit_code = 2


class FreezeError(DataError):
    """A label is neither TRUE nor FALSE, or the files are not those of the freeze that is there."""

    exit_code = 1


def read_records(path: Path) -> Iterator[tuple[str, Record]]:
    """('file:line', record) of every line of an item file; blank lines are passed over."""
    if path.is_dir():
        raise DataError(f"{path}: is a folder; give the path of a JSONL file of items")
    return json_lines(path)


def load_records(paths: Iterable[Path]) -> list[Record]:
    """The records of some files in order. An id that is missing or occurs twice is an error."""
    records: list[Record] = []
    seen: dict[str, str] = {}
    for path in paths:
        for where, record in read_records(path):
            name = text_of(record, "id")
            if not name:
                raise DataError(f"{where}: 'id' is missing or blank; give each item its own id")
            if name in seen:
                raise DataError(f"{where}: id {name!r} was used at {seen[name]} already; ids must be unique")
            seen[name] = where
            records.append(record)
    return records


def lines_of(records: Iterable[Mapping[str, JSON]]) -> str:
    """An item file: ASCII, one line each, every line ended by a line feed; keys that start with '_' are left out."""
    kept = ({key: value for key, value in record.items() if not key.startswith("_")} for record in records)
    return "".join(f"{json.dumps(record)}\n" for record in kept)


def write_records(path: Path, records: Iterable[Mapping[str, JSON]]) -> None:
    """Write an item file."""
    write_atomic(path, lines_of(records))


def grouped(pairs: Iterable[tuple[K, T]]) -> dict[K, list[T]]:
    """Key → what has it, both in the order of the pairs."""
    groups: dict[K, list[T]] = {}
    for key, one in pairs:
        groups.setdefault(key, []).append(one)
    return groups


def text_of(record: Mapping[str, JSON], key: str) -> str:
    """A value as text; '' where the key is absent or null."""
    value = record.get(key)
    return "" if value is None else value if isinstance(value, str) else dumps(value)


def ids_hash(ids: Iterable[str]) -> str:
    """16 hex digits over the sorted ids joined by '|': blind to order, text and labels."""
    return hashlib.sha256("|".join(sorted(ids)).encode()).hexdigest()[:SHORT]


def normalised(label: JSON) -> Label | None:
    """TRUE for yes, y, true, t; FALSE for no, n, false, f; in any case. None for everything else."""
    if isinstance(label, bool):
        return "TRUE" if label else "FALSE"
    return _LABELS.get(label.strip().lower()) if isinstance(label, str) else None


def label_of(record: Mapping[str, JSON]) -> Label | None:
    """The label under the first of `ground_truth`, `answer`, `gold` and `label` that is there."""
    return next((normalised(record[key]) for key in LABEL_KEYS if record.get(key) is not None), None)


def family_of(record: Mapping[str, JSON]) -> str:
    """The family by which results are told apart: the key `type`, not the file's name."""
    return text_of(record, "type") or NO_FAMILY


def to_item(record: Mapping[str, JSON], where: str) -> Item:
    """A record as an Item. Every key but id, question and the label becomes a tag; what is no text as its JSON."""
    label = label_of(record)
    if label is None:
        labels = [f"{key} = {record[key]!r}" for key in LABEL_KEYS if key in record]
        raise DataError(f"{where}: the label is neither TRUE nor FALSE ({', '.join(labels) or 'there is none'})")
    label_key = next(key for key in LABEL_KEYS if record.get(key) is not None)
    tags = {key: text_of(record, key) for key in record if key not in ("id", "question", label_key)}
    item = Item(text_of(record, "id"), text_of(record, "question"), label, tags=tags)
    check_item(item, where)
    return item


@dataclass(frozen=True, slots=True)
class FileDigest:
    """One item file: its path as the selector lists it, its non-blank lines, the SHA-256 of its bytes."""

    path: str
    count: int
    sha256: str


def counted(path: Path) -> tuple[int, str]:
    """The lines of a file that are not blank, and the digest of its bytes."""
    return sum(1 for _ in text_lines(path)), digest_file(path)


def global_sha256(of: Iterable[FileDigest], *, legacy: bool = False) -> str:
    """SHA-256 over 'path:sha256:count' and a line feed for each file, sorted by path.

    `legacy` leaves the counts out: the formula of runs before 20 February 2026.
    """
    ordered = sorted(of, key=lambda file: file.path)
    lines = (f"{file.path}:{file.sha256}" + ("\n" if legacy else f":{file.count}\n") for file in ordered)
    return hashlib.sha256("".join(lines).encode()).hexdigest()


@dataclass(frozen=True)  # not slotted: what is read of the files is kept
class Selector:
    """The list of canonical files: where it is, what its paths are relative to, the paths as listed.

    `name` is what the set calls itself, with its version; '' where it has no name. `lacks` says why nothing is listed.
    """

    path: Path
    base: Path
    listed: tuple[str, ...]
    name: str = ""
    lacks: str = ""

    def paths(self) -> list[tuple[str, Path]]:
        """Each path as listed, and the file. One that is not below the selector's folder is an error."""
        return [(entry, inside(self.base, entry, str(self.path))) for entry in self.listed]

    def whole(self) -> list[tuple[str, Path]]:
        """The same where all files are there; a missing one is an error."""
        if self.incomplete:
            raise MissingDataError(f"{self.path}: {self.incomplete}, which is not in {self.base}")
        return self.paths()

    @cached_property
    def incomplete(self) -> str:
        """Why the set is not whole, as that listed files are missing; '' where all are there."""
        lost = [entry for entry, path in self.paths() if not path.is_file()]
        some = f"{len(lost)} of {len(self.listed)} canonical files are missing, as {lost[0]}" if lost else ""
        return self.lacks or some

    @cached_property
    def digests(self) -> list[FileDigest]:
        """The digest of every file, in the order of the list. A missing file is an error."""
        return [FileDigest(entry, *counted(path)) for entry, path in self.whole()]

    @property
    def sha256(self) -> str:
        """The digest of the whole set."""
        return global_sha256(self.digests)

    @property
    def total(self) -> int:
        """How many items the set has."""
        return sum(file.count for file in self.digests)

    @cached_property
    def records(self) -> dict[str, Record]:
        """All items by their ids, file by file in the order of the list."""
        return {text_of(record, "id"): record for record in load_records(path for _, path in self.whole())}


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
    name = " ".join(str(body[key]) for key in ("name", "version") if isinstance(body.get(key), str))
    size = number_of(body, "items", str(located))
    return Selector(located, _base(located, listed), tuple(listed), name + (f" ({size:,.0f} items)" if size else ""))


def _base(selector: Path, listed: Iterable[str]) -> Path:
    """What the listed paths are relative to: the folder above `data`, the selector's own, or the current one around it.

    Each of them holds the selector, so a list cannot name what is elsewhere.
    """
    own, around = selector.absolute().parent, Path.cwd()
    bases = [own.parent, own] if own.name == SELECTOR.parts[0] else [own]
    if own.is_relative_to(around):
        bases.append(around)
    holding = (base for base in bases if any(inside(base, entry, str(selector)).is_file() for entry in listed))
    return next(holding, bases[0])


def locate(path: Path) -> Path:
    """A path as the user wrote it: relative to the current directory, else to the packaged set.

    So the commands of a run plan work in any directory. A path that exists in neither place is returned as written.
    """
    # Only paths like those of the set: whatever else is missing is not worth unpacking the set for.
    if path.is_absolute() or path.exists() or path.parts[:1] != SELECTOR.parts[:1]:
        return path
    packaged = packaged_root() / path
    return packaged if packaged.exists() else path


@dataclass(frozen=True, slots=True)
class ItemSource:
    """The items that were asked for: the records, the file as it may be written down, and the canonical set around it.

    `path` is relative to the set's folder where the file is in it, else only its name. `global_sha256` is None, and
    `note` says why, unless every item is an item of the canonical set, unchanged; then `of` is the set's own name.
    """

    name: str
    path: str
    sha256: str | None
    records: list[Record]
    selector: str | None
    global_sha256: str | None
    note: str = ""
    of: str = ""


def open_source(subset: Path | None, dataset: str) -> ItemSource:
    """The items of a subset file, or of a dataset: 'canonical', or the path of an item file or a selector."""
    path = locate(subset or (SELECTOR if dataset == CANONICAL else Path(dataset)))
    if subset is None and path.suffix == ".json":
        selector = read_selector(path)
        written, records = written_path(selector.path, selector.base), list(selector.records.values())
        if not records:
            raise MissingDataError(f"{selector.path}: the listed files hold no items")
        return ItemSource(CANONICAL, written, None, records, written, selector.sha256, of=selector.name)
    records = load_records([path])
    if not records:
        raise DataError(f"{path}: no items")
    # The selector of the nearest folder above the file, else the current folder's or the package's.
    around = (*path.absolute().parents, Path.cwd(), packaged_root())
    found = next(read_selector(folder / SELECTOR) for folder in around if (folder / SELECTOR).is_file())
    if found.incomplete:
        note = f"the canonical set is not complete: {found.incomplete}".replace("canonical files", "files")
    else:
        foreign = [name for record in records if found.records.get(name := text_of(record, "id")) != record]
        some = f"{len(foreign)} of {len(records)} items are not in the canonical set"
        note = f"{some}, as {foreign[0]!r}" if foreign else ""
    return ItemSource(
        name=path.stem,
        path=written_path(path, found.base),
        sha256=digest_file(path),
        records=records,
        selector=written_path(found.path, found.base),
        global_sha256=None if note else found.sha256,
        note=note,
        of="" if note else found.name,
    )


def written_path(path: Path, base: Path) -> str:
    """A path that names nothing of this machine: relative to the set's folder, else the last part."""
    try:
        return path.resolve().relative_to(base.resolve()).as_posix()
    except ValueError:
        return path.name


def committed() -> Path:
    """The folder of the package with the packed items and the digests of the set."""
    return Path(str(files("perpend.studies.logic")))


@cache
def packaged_root() -> Path:
    """The folder that holds `data/…`, the whole packaged set; written first where a file is missing or differs."""
    path, failed = committed() / FILES, None
    wanted = {name: str(sha256) for name, sha256 in read_object(path).items()}
    for folder in caches():
        root = folder / f"logic-{digest(wanted)[:16]}"
        try:
            if any(not (root / name).is_file() or digest_file(root / name) != wanted[name] for name in wanted):
                write_set(root, wanted)
        except OSError as error:
            failed = error
            continue
        return root
    raise DataError(f"no folder to keep the item files in ({failed}); set {CACHE} to one that can be written")


def write_set(root: Path, wanted: Mapping[str, str]) -> None:
    """Write every file below a folder; none where one has not its digest, as when what is packed was changed."""
    texts = set_texts(committed())
    digests = {path: hashlib.sha256(text.encode()).hexdigest() for path, text in texts.items()}
    differing = sorted(path for path in wanted.keys() | digests.keys() if wanted.get(path) != digests.get(path))
    if differing:
        raise DataError(
            f"{len(differing)} of {len(wanted)} files of {NAME} {VERSION} come out different from the freeze, as "
            f"{differing[0]}; install perpend again"
        )
    for path, text in texts.items():
        write_atomic(root / path, text)


def packed_items(folder: Path) -> dict[str, list[tuple[str, Record]]]:
    """Family → the lines of its file, each with its record."""
    try:
        lines = lzma.decompress(read_bytes(folder / PACKED)).decode().splitlines(keepends=True)
    except lzma.LZMAError as error:
        raise DataError(f"{PACKED}: the packed items cannot be read ({error}); install perpend again") from None
    records: list[Record] = [json.loads(line) for line in lines]
    families = grouped((family_of(record), (line, record)) for line, record in zip(lines, records, strict=True))
    return dict(sorted(families.items()))


def set_texts(folder: Path) -> dict[str, str]:
    """Path → content of every file of the set that is packed in a folder: selector, canonical files, subsets, card."""
    families = packed_items(folder)
    pools = {name: [record for _, record in own] for name, own in families.items()}
    texts = {f"data/{name}.jsonl": "".join(line for line, _ in own) for name, own in families.items()}
    whole = global_sha256(_digests(texts))
    everything = [record for pool in pools.values() for record in pool]
    n, of = len(everything), f"{NAME} {VERSION} ({len(everything):,} items)"
    selector = {"schema_version": "v2", "name": NAME, "version": VERSION, "items": n, "files": list(texts)}
    drawn = [(f"data/subsets/{name}", CANONICAL, everything, Sampler(size)) for name, size in ARMORED_SIZES.items()]
    suite, folder_of_suites = Sampler(SUITE_SIZE, balance_families=False), "data/subsets/subset_family_suites"
    drawn += [(f"{folder_of_suites}/{name}", f"data/{name}.jsonl", pool, suite) for name, pool in pools.items()]
    for path, source, records, sampler in drawn:
        stated = {"subset_name": Path(path).name, "dataset": of, "source": source, "dataset_global_sha256": whole}
        chosen, body = draw(records, sampler, stated)
        texts[f"{path}.jsonl"] = lines_of(chosen)
        texts[f"{path}.manifest.json"] = json.dumps(body, indent=2) + "\n"
    texts[SELECTOR.as_posix()] = json.dumps(selector, indent=2) + "\n"
    return texts | {f"data/{name}": (folder / name).read_text(encoding="utf-8") for name in BESIDE}


def seal(folder: Path) -> str:
    """Write what goes with newly packed items: card, metadata, digests; the set's own digest. The factory calls it."""
    families = packed_items(folder)
    listed = _digests({f"data/{name}.jsonl": "".join(line for line, _ in own) for name, own in families.items()})
    records = [record for own in families.values() for _, record in own]
    whole = global_sha256(listed)
    facts = {"name": NAME, "version": VERSION, "strata": STRATA, "splits": SPLITS, "files": listed, "sha256": whole}
    for name in BESIDE:
        write_atomic(folder / name, render(__package__, name, records=records, **facts))
    body = {path: _sha256(text) for path, text in sorted(set_texts(folder).items())}
    write_atomic(folder / FILES, json.dumps(body, indent=1) + "\n")
    return whole


def _digests(texts: Mapping[str, str]) -> list[FileDigest]:
    return [FileDigest(path, text.count("\n"), _sha256(text)) for path, text in texts.items()]


def _sha256(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


@dataclass(frozen=True, slots=True)
class Frozen:
    """What was frozen. `differences` compare it with the freeze that was there; None: there was none."""

    selector: Selector
    duplicate_ids: tuple[str, ...]
    labels: Mapping[str, Mapping[str, int]]
    differences: tuple[str, ...] | None


def freeze(selector: Selector, out: Path, *, force: bool = False) -> Frozen:
    """Digest the selected files and write manifest, sums and report into a folder.

    A freeze that is there is compared with: the same files leave it as it is; others are refused with what differs,
    unless `force` replaces it. A label that is neither TRUE nor FALSE is an error; a repeated id is only counted.
    """
    seen, labels = Counter[str](), {file.path: Counter[str]() for file in selector.digests}
    for entry, path in selector.whole():
        try:
            placed = list(read_records(path))
        except DataError as error:
            raise MissingDataError(str(error)) from None
        for where, record in placed:
            label = label_of(record)
            if label is None:
                raise FreezeError(f"{where}: item {text_of(record, 'id')!r}: the label is neither TRUE nor FALSE")
            labels[entry][label] += 1
            seen[text_of(record, "id")] += 1
    if seen.total() == 0:
        raise MissingDataError(f"{selector.path}: the listed files hold no items")
    repeated = tuple(name for name, count in seen.items() if count > 1)
    differences = freeze_differences(out / MANIFEST, selector.digests)
    frozen = Frozen(selector, repeated, labels, differences)
    if differences and not force:
        raise FreezeError(
            f"{out / MANIFEST}: the files differ from the freeze:",
            *differences,
            "Put the files back, or replace the freeze with --force.",
        )
    if differences is None or differences:
        _write(frozen, out)
    return frozen


def freeze_differences(manifest: Path, now: Sequence[FileDigest]) -> tuple[str, ...] | None:
    """What differs from an earlier freeze, a sentence a file; empty when every file is the same, None without one."""
    if not manifest.exists():
        return None
    try:
        before = read_object(manifest)
    except DataError as error:
        raise MissingDataError(f"{manifest}: not a freeze manifest: {error}; remove it to freeze anew") from None
    entries = [as_object(entry) for entry in as_list(before.get("canonical_files"))]
    old = {str(entry["path"]): (entry.get("count"), entry.get("sha256")) for entry in entries if "path" in entry}
    new = {file.path: (file.count, file.sha256) for file in now}
    lines = [f"{path}: is no longer listed" for path in old if path not in new]
    lines += [f"{path}: is new ({new[path][0]} items)" for path in new if path not in old]
    for path, (count, sha256) in new.items():
        was, digest = old.get(path, (count, sha256))
        if digest != sha256:
            sizes = "" if was == count else f"; it had {was} items and has {count}"
            lines.append(f"{path}: its bytes have changed ({str(digest)[:12]}… → {sha256[:12]}…){sizes}")
    return tuple(lines)


def _write(frozen: Frozen, out: Path) -> None:
    selector, created, code = frozen.selector, datetime.now(UTC).isoformat(), code_version()
    body: dict[str, JSON] = {
        "dataset_release": "v2",
        "schema_version": "v2",
        "created_utc": created,
        "canonical_selector": written_path(selector.path, selector.base),
        "canonical_files": [{"path": f.path, "count": f.count, "sha256": f.sha256} for f in selector.digests],
        "canonical_total_questions": selector.total,
        "global_sha256": selector.sha256,
        "duplicate_ids": len(frozen.duplicate_ids),
        "tool_versions": {
            "python": code["python"],
            "package": f"perpend {code['perpend']}",
            "git_commit": None,
            "source_sha256": code["source_sha256"],
        },
    }
    sums = [f"{f.sha256}  {one_line(f.path)}  (count={f.count})" for f in selector.digests]
    write_atomic(out / SUMS, "\n".join((f"{selector.sha256}  GLOBAL", *sums)) + "\n")
    write_atomic(out / REPORT, render(__package__, "freeze.md", frozen=frozen, created=created))
    write_atomic(out / MANIFEST, json.dumps(body, indent=2) + "\n")


@dataclass(frozen=True, slots=True)
class Sampler:
    """How a subset is drawn.

    `balance_families` gives every family at least `min_per_family` items and fills up to `size` from the family with
    the most left; without it each family gets its share rounded down, and the subset may be smaller than `size`.
    `weights` multiply a family's share; a family that is not named weighs 1.
    """

    size: int
    seed: int = 42
    balance_labels: bool = True
    balance_families: bool = True
    weights: Mapping[str, float] = field(default_factory=dict)
    min_per_family: int = 1

    def __post_init__(self) -> None:
        if self.size < 1:
            raise SpecError(f"--size must be 1 or more, not {self.size}")
        bad = sorted(family for family, weight in self.weights.items() if not weight >= 0)
        if bad:
            raise SpecError(f"--family-weights: {bad[0]} must weigh 0 or more, not {self.weights[bad[0]]!r}")


def draw(
    records: Sequence[Record], sampler: Sampler, stated: Mapping[str, JSON]
) -> tuple[list[Record], dict[str, JSON]]:
    """The subset in its order, and its manifest, which states whence it comes, with the reference's fields.

    Of items that all name a split and a stratum, only those of the test split are drawn, where there are some; and
    strata are as even as families allow.
    """
    is_split = all(record.get("split") and record.get("stratum") for record in records)
    pool = [record for record in records if is_split and record["split"] == SPLIT] or records
    cells = {
        name: grouped((text_of(record, "stratum") if is_split else "", record) for record in own)
        for name, own in grouped((family_of(record), record) for record in pool).items()
    }
    unknown = sorted(set(sampler.weights) - set(cells))
    if unknown:
        raise SpecError(f"--family-weights: no item is of family {unknown[0]!r}; there are {', '.join(sorted(cells))}")
    sizes = {name: {stratum: len(own) for stratum, own in strata.items()} for name, strata in cells.items()}
    quotas, padding = _quotas({name: sum(own.values()) for name, own in sizes.items()}, sampler)
    shares = _shares(sizes, {name: quota + padding[name] for name, quota in quotas.items()})
    rng = random.Random(sampler.seed)
    chosen: list[Record] = []
    log: dict[str, JSON] = {}
    for name in sorted(cells):
        picked: list[Record] = []
        for stratum, share in shares[name].items():
            if sampler.balance_labels:
                # Half of the family so far, rounded down: so a family of several strata is half TRUE, too.
                wanted = (len(picked) + share) // 2 - _of_true(picked)
                picked += _balanced(cells[name][stratum], share, wanted, rng)
            else:
                mixed = list(cells[name][stratum])
                rng.shuffle(mixed)
                picked += mixed[:share]
        chosen += picked
        everything = [record for own in cells[name].values() for record in own]
        log[name] = _logged(everything, picked, quotas[name], padding[name])
    rng.shuffle(chosen)
    chosen = chosen[: sampler.size]
    strata: dict[str, JSON] = {}
    if is_split and chosen:
        counted = Counter(sorted(text_of(record, "stratum") for record in chosen))
        strata = {"split": text_of(chosen[0], "split"), "balance_strata": True, "per_stratum_counts": dict(counted)}
    counts: dict[str, JSON] = {
        name: {"total": len(own), "TRUE": _of_true(own), "FALSE": len(own) - _of_true(own)}
        for name, own in grouped((family_of(record), record) for record in chosen).items()
    }
    of_true = _of_true(chosen)
    balance: dict[str, JSON] = {"true_count": of_true, "false_count": len(chosen) - of_true}
    return chosen, {
        **{key: stated[key] for key in ("created_utc", "subset_name", "dataset") if stated.get(key)},
        **strata,
        "size": len(chosen),
        "target_size": sampler.size,
        "seed": sampler.seed,
        "source": stated["source"],
        "selection_method": "balanced_by_family" if sampler.balance_families else "proportional",
        "balance_labels": sampler.balance_labels,
        "balance_families": sampler.balance_families,
        "family_weights": dict(sampler.weights),
        "min_per_family": sampler.min_per_family,
        "sha256": ids_hash(text_of(record, "id") for record in chosen),
        "dataset_global_sha256": stated["dataset_global_sha256"],
        "label_balance": {**balance, "true_ratio": round(of_true / len(chosen), 4) if chosen else None},
        "per_family_counts": counts,
        "per_family_sampling_log": log,
    }


def _of_true(records: Iterable[Record]) -> int:
    return sum(label_of(record) == "TRUE" for record in records)


def _quotas(counts: Mapping[str, int], sampler: Sampler) -> tuple[dict[str, int], Counter[str]]:
    """How many of each family, and how many more to reach the size."""
    weighted = {name: count * sampler.weights.get(name, 1) for name, count in counts.items()}
    total = sum(weighted.values())
    least = sampler.min_per_family if sampler.balance_families else 0
    shares = {name: int(sampler.size * weight // total) if total else 0 for name, weight in weighted.items()}
    quotas = {name: min(max(least, share), counts[name]) for name, share in shares.items()}
    padding, short = Counter[str](), max(0, sampler.size - sum(quotas.values()))
    for name in sorted(counts, key=lambda one: quotas[one] - counts[one]) if sampler.balance_families else ():
        padding[name] = min(counts[name] - quotas[name], short)
        short -= padding[name]
    return quotas, padding


def _shares(sizes: Mapping[str, Mapping[str, int]], quotas: Mapping[str, int]) -> dict[str, dict[str, int]]:
    """How many of each stratum of each family: each item goes to the stratum that has fewest of the subset so far.

    Families of few strata have no choice, and come first.
    """
    shares = {name: dict.fromkeys(sorted(strata), 0) for name, strata in sizes.items()}
    totals: Counter[str] = Counter()
    for name in sorted(sizes, key=lambda one: (len(sizes[one]), one)):
        for _ in range(quotas[name]):
            free = [stratum for stratum, share in shares[name].items() if share < sizes[name][stratum]]
            fewest = min(free, key=lambda stratum: totals[stratum])
            shares[name][fewest] += 1
            totals[fewest] += 1
    return shares


def _balanced(entries: Sequence[Record], quota: int, wanted: int, rng: random.Random) -> list[Record]:
    """As many TRUE ones as wanted, the rest FALSE; where one runs out, more of the other."""
    right = [record for record in entries if label_of(record) == "TRUE"]
    wrong = [record for record in entries if label_of(record) != "TRUE"]
    rng.shuffle(right)
    rng.shuffle(wrong)
    of_true = min(max(0, wanted, quota - len(wrong)), len(right))
    return right[:of_true] + wrong[: quota - of_true]


def _logged(available: Sequence[Record], taken: Sequence[Record], quota: int, padding: int) -> dict[str, JSON]:
    """One family's part of a subset: what there was, what was asked for, and what was taken."""
    of_true, there = _of_true(taken), _of_true(available)
    share = f"{of_true / len(taken):.0%}" if taken else "no"
    more = f" (+{padding} padding)" if padding else ""
    return {
        "available": len(available),
        "requested": quota + padding,
        "achieved": len(taken),
        "label_balance": f"{share} TRUE ({of_true}T/{len(taken) - of_true}F)",
        "true_available": there,
        "false_available": len(available) - there,
        "quota_note": f"quota={quota} of available={len(available)}{more}",
    }


def write_subset(out: Path, source: ItemSource, named: str, sampler: Sampler) -> dict[str, JSON]:
    """Draw a subset and write it with its manifest, `<name>.manifest.json`, beside it; return the manifest."""
    stated: dict[str, JSON] = {"created_utc": datetime.now(UTC).isoformat(), "subset_name": out.stem, "source": named}
    stated |= {"dataset": source.of, "dataset_global_sha256": source.global_sha256}
    chosen, body = draw(source.records, sampler, stated)
    if not chosen:
        raise SpecError(f"{out}: no item was drawn; a larger --size, or --balance-families, draws some")
    write_records(out, chosen)
    write_atomic(out.with_suffix(".manifest.json"), json.dumps(body, indent=2) + "\n")
    return body

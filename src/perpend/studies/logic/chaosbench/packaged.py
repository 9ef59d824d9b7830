"""Our own canonical sets: the item files of the present one are made from the facts, those of an older one unpacked.

Only facts, digests and the packed items of older sets are committed. Files are made once for a user, in a cache folder
that bears the set's digest, and every file is compared with its committed digest each time: the bytes are those of the
freeze or there is an error.
"""

from __future__ import annotations

import hashlib
import json
import lzma
import os
import tempfile
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from pathlib import Path

from perpend.canon import digest_file, read_object, write_atomic
from perpend.errors import DataError, SpecError
from perpend.studies.logic.chaosbench.hashes import FileDigest, global_sha256
from perpend.studies.logic.chaosbench.items import Record, family_of, line_of
from perpend.studies.logic.chaosbench.subsets import ARMORED_SIZES, SUITE_SIZE, Provenance, Sampler, draw, manifest

FILES = "files.json"
"""In the committed folder: the path of every file of the set → its SHA-256."""
FREEZE = "v2_freeze_manifest.json"
"""In the committed folder: the digest of the whole set, among other things."""
PACKED = "items.jsonl.xz"
"""In the committed folder of an older set: the lines of its canonical files, family after family."""
CACHE_ENV = "PERPEND_CACHE"
PRESENT = "2"
EDITIONS = ("1", PRESENT)
"""The sets that come with the package, oldest first."""
_SHORTEST = 8
"""Hex digits that are enough to name a set."""


def committed(edition: str = PRESENT) -> Path:
    """The folder of the package with the selector, the freeze and the digests of a set."""
    folder = Path(str(files("perpend.studies.logic"))) / "chaos" / "data"
    return folder if edition == PRESENT else folder / f"set{edition}"


def edition_of(name: str) -> str | None:
    """The set that is called so, by its number or by the first eight or more digits of its digest; None for no set."""
    if name in EDITIONS:
        return name
    if len(name) < _SHORTEST:
        return None
    return next((edition for edition in EDITIONS if _digest_of(edition).startswith(name.lower())), None)


def _digest_of(edition: str) -> str:
    return str(read_object(committed(edition) / FREEZE).get("global_sha256"))


def must_be_set(name: str) -> str:
    """`edition_of`; SpecError with the sets that there are where it is none of them."""
    chosen_set = edition_of(name)
    if chosen_set is None:
        known = ", ".join(f"{edition} ({_digest_of(edition)[:_SHORTEST]}…)" for edition in EDITIONS)
        raise SpecError(f"--set: no set {name!r}; there are {known}")
    return chosen_set


@cache
def set_root(edition: str = PRESENT) -> Path:
    """The folder that holds `data/…`, a whole set; made first where a file is missing or differs."""
    wanted = _wanted(edition)
    name = "chaos-" + hashlib.sha256(json.dumps(wanted, sort_keys=True).encode()).hexdigest()[:16]
    failed: OSError | None = None
    for folder in _caches():
        root = folder / name
        try:
            if not all(_is_same(root / path, digest) for path, digest in wanted.items()):
                write_set(root, edition)
        except OSError as error:
            failed = error
            continue
        return root
    raise DataError(f"no folder to keep the item files in ({failed}); set {CACHE_ENV} to one that can be written")


def _wanted(edition: str) -> dict[str, str]:
    path = committed(edition) / FILES
    try:
        body = json.loads(path.read_text(encoding="utf-8"))
    except (FileNotFoundError, json.JSONDecodeError) as error:
        raise DataError(
            f"{path.name}: the digests of the set cannot be read ({error}); install perpend again"
        ) from None
    return {str(name): str(digest) for name, digest in body.items()}


def _caches() -> list[Path]:
    """Where the files may be kept: as set, the user's cache, and a folder for temporary files."""
    chosen = os.environ.get(CACHE_ENV)
    if chosen:
        return [Path(chosen)]
    temporary = Path(tempfile.gettempdir()) / "perpend"
    try:
        return [Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "perpend", temporary]
    except RuntimeError:  # this user has no home
        return [temporary]


def _is_same(path: Path, digest: str) -> bool:
    return path.is_file() and digest_file(path) == digest


def write_set(root: Path, edition: str = PRESENT) -> None:
    """Make every file below a folder and compare each with its committed digest; none is written where one differs."""
    texts = set_texts(edition)
    wanted = _wanted(edition)
    digests = {path: hashlib.sha256(text.encode()).hexdigest() for path, text in texts.items()}
    differing = sorted(path for path in wanted.keys() | digests.keys() if wanted.get(path) != digests.get(path))
    if differing:
        raise DataError(
            f"{len(differing)} of {len(wanted)} files of the chaos-logic set {edition} come out different from the "
            f"freeze, as {differing[0]}: the facts or the code that words them were changed; put them back, or freeze "
            "anew with 'python -m perpend.studies.logic.chaosbench --freeze'"
        )
    for path, text in texts.items():
        write_atomic(root / path, text)


def set_texts(edition: str = PRESENT) -> dict[str, str]:
    """Path → content of every file of a set: selector, canonical files, subsets and suites with their manifests.

    The present set has a data card and Croissant metadata beside them.
    """
    if edition != PRESENT:
        return files_of(_unpacked(edition))
    from perpend.studies.logic.chaosbench.card import described

    families = _built()
    texts = files_of(families)
    return texts | described(families, texts)


def _built() -> dict[str, list[Record]]:
    from perpend.studies.logic.chaos.questions.items import build
    from perpend.studies.logic.chaos.questions.world import sources

    return build(sources())


def _unpacked(edition: str) -> dict[str, list[Record]]:
    path = committed(edition) / PACKED
    try:
        lines = lzma.decompress(path.read_bytes()).decode().splitlines()
    except (FileNotFoundError, lzma.LZMAError) as error:
        raise DataError(
            f"{path.name}: the items of set {edition} cannot be read ({error}); install perpend again"
        ) from None
    families: dict[str, list[Record]] = {}
    for line in lines:
        record: Record = json.loads(line)
        families.setdefault(family_of(record), []).append(record)
    return families


def canonical_files(families: Mapping[str, list[Record]]) -> tuple[dict[str, str], str]:
    """Path → content of the selector and of a file for each family, and the digest of the whole set."""
    canonical = {f"data/{family}.jsonl": _lines(records) for family, records in families.items()}
    selector = {
        "schema_version": "v2",
        "description": "perpend's chaos-logic items, one file a family",
        "files": sorted(canonical),
    }
    digests = [
        FileDigest(path, text.count("\n"), hashlib.sha256(text.encode()).hexdigest())
        for path, text in canonical.items()
    ]
    texts = {"data/canonical_v2_files.json": json.dumps(selector, indent=2) + "\n", **canonical}
    return texts, global_sha256(digests)


def files_of(families: Mapping[str, list[Record]]) -> dict[str, str]:
    """Path → content of every file of a set with these items: the canonical ones, subsets and suites."""
    texts, whole = canonical_files(families)
    everything = [record for family in sorted(families) for record in families[family]]
    for name, size in ARMORED_SIZES.items():
        texts |= _subset(f"data/subsets/{name}", everything, Sampler(size), ("canonical", whole))
    for family, records in families.items():
        sampler = Sampler(SUITE_SIZE, balance_families=False)
        path = f"data/subsets/subset_family_suites/{family}"
        texts |= _subset(path, records, sampler, (f"data/{family}.jsonl", whole))
    return texts


def _subset(path: str, records: list[Record], sampler: Sampler, source: tuple[str, str]) -> dict[str, str]:
    chosen, log = draw(records, sampler)
    provenance = Provenance(path.rsplit("/", 1)[1], source[0], source[1], None)
    body = json.dumps(manifest(chosen, log, sampler, provenance), indent=2) + "\n"
    return {f"{path}.jsonl": _lines(chosen), f"{path}.manifest.json": body}


def _lines(records: list[Record]) -> str:
    return "".join(f"{line_of(record)}\n" for record in records)

"""Our own canonical set: only the facts and every digest are committed, the item files are made from them when needed.

They are made once for a user, in a cache folder that bears the set's digest, and every file is compared with its
committed digest each time: the bytes are those of the freeze or there is an error.
"""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from pathlib import Path

from perpend.canon import digest_file, write_atomic
from perpend.errors import DataError
from perpend.studies.logic.chaosbench.hashes import FileDigest, global_sha256
from perpend.studies.logic.chaosbench.items import Record, line_of
from perpend.studies.logic.chaosbench.subsets import ARMORED_SIZES, SUITE_SIZE, Provenance, Sampler, draw, manifest

FILES = "files.json"
"""In the committed folder: the path of every file of the set → its SHA-256."""
CACHE_ENV = "PERPEND_CACHE"


def committed() -> Path:
    """The folder of the package with the selector, the freeze and the digests."""
    return Path(str(files("perpend.studies.logic"))) / "chaos" / "data"


@cache
def set_root() -> Path:
    """The folder that holds `data/…`, our whole set; made first where a file is missing or differs."""
    wanted = _wanted()
    name = "chaos-" + hashlib.sha256(json.dumps(wanted, sort_keys=True).encode()).hexdigest()[:16]
    failed: OSError | None = None
    for folder in _caches():
        root = folder / name
        try:
            if not all(_is_same(root / path, digest) for path, digest in wanted.items()):
                write_set(root)
        except OSError as error:
            failed = error
            continue
        return root
    raise DataError(f"no folder to keep the item files in ({failed}); set {CACHE_ENV} to one that can be written")


def _wanted() -> dict[str, str]:
    path = committed() / FILES
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


def write_set(root: Path) -> None:
    """Make every file below a folder and compare each with its committed digest; none is written where one differs."""
    texts = set_texts()
    wanted = _wanted()
    digests = {path: hashlib.sha256(text.encode()).hexdigest() for path, text in texts.items()}
    differing = sorted(path for path in wanted.keys() | digests.keys() if wanted.get(path) != digests.get(path))
    if differing:
        raise DataError(
            f"{len(differing)} of {len(wanted)} files of the chaos-logic set come out different from the freeze, as "
            f"{differing[0]}: the facts or the code that words them were changed; put them back, or freeze anew with "
            "'python -m perpend.studies.logic.chaosbench --freeze'"
        )
    for path, text in texts.items():
        write_atomic(root / path, text)


def set_texts() -> dict[str, str]:
    """Path → content of every file of the set: selector, canonical files, subsets and suites with their manifests."""
    from perpend.studies.logic.chaos.items import build

    families: Mapping[str, list[Record]] = build()
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
    whole = global_sha256(digests)
    texts = {"data/canonical_v2_files.json": json.dumps(selector, indent=2) + "\n", **canonical}
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

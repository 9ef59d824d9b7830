"""A private test set: the same generator with a secret key, a set that nobody can have seen, and a digest of it.

The digest can be published first and the key later, or never; who has the key makes the same bytes. The systems are
those of the public test split, and no question of the public set is in it.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from perpend.canon import read_text, write_atomic
from perpend.errors import SpecError, StoreError
from perpend.studies.logic.chaos.questions.chance import Chance
from perpend.studies.logic.chaos.questions.items import build
from perpend.studies.logic.chaos.questions.plain import plain_text
from perpend.studies.logic.chaos.questions.world import sources
from perpend.studies.logic.chaosbench.items import Record, text_of
from perpend.studies.logic.chaosbench.packaged import canonical_files

KEY_ENV = "CHAOSBENCH_PRIVATE_KEY"
SHORTEST_KEY, _LONGEST_KEY = 32, 4096
SPLIT = "private"
_TEST = "test"


def read_key(path: Path | None) -> str:
    """The key of a file without the blanks around it, or of CHAOSBENCH_PRIVATE_KEY; SpecError where it is too short.

    The message never holds any of it.
    """
    if path is None:
        key, where = os.environ.get(KEY_ENV, ""), f"${KEY_ENV}"
    else:
        key, where = read_text(path, SpecError, "give a text file with the key", longest=_LONGEST_KEY), str(path)
    key = key.strip()
    if len(key) < SHORTEST_KEY:
        hint = "for example 'openssl rand -hex 32'" if key else f"give --key-file, or set {KEY_ENV}"
        raise SpecError(f"{where}: a key needs {SHORTEST_KEY} characters or more, this one has {len(key)}; {hint}")
    return key


def private_families(key: str, public: Mapping[str, list[Record]] | None = None) -> dict[str, list[Record]]:
    """The items of the private set of a key by family; `public` is the public set, built anew where it is not given."""
    known = build(sources()) if public is None else public
    taken = {plain_text(text_of(record, "question")) for records in known.values() for record in records}
    fresh = build(sources(Chance(f"private {key}")), taken=taken)
    families = {
        family: [record | {"split": SPLIT} for record in records if record.get("split") == _TEST]
        for family, records in fresh.items()
    }
    return {family: records for family, records in families.items() if records}


def write_private(key: str, out: Path | None) -> tuple[str, dict[str, int]]:
    """Make the private set, and write it below a folder if one is given; its digest, and its items by family.

    A folder that holds anything else than the same files is refused.
    """
    if out is not None:
        _make(out)  # before the set, which takes a minute
    families = private_families(key)
    texts, digest = canonical_files(families)
    if out is not None:
        _refuse_others(out, texts)
        for path, text in texts.items():
            write_atomic(out / path, text)
    return digest, {family: len(records) for family, records in families.items()}


def _make(out: Path) -> None:
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise StoreError(f"{out}: cannot be made a folder: {error.strerror}; choose another --out") from None
    if not os.access(out, os.W_OK):
        raise StoreError(f"{out}: cannot be written to; choose another --out")


def _refuse_others(out: Path, texts: Mapping[str, str]) -> None:
    present = [path for path in sorted(out.rglob("*")) if path.is_file()]
    others = [path for path in present if path.relative_to(out).as_posix() not in texts]
    if others:
        raise StoreError(f"{out}: holds {others[0].name}, which is not of this set; choose an empty folder")

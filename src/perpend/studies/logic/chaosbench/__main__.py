"""Make the files of our canonical set, or freeze them anew: python -m perpend.studies.logic.chaosbench [--freeze]."""

from __future__ import annotations

import hashlib
import json
import sys
import tempfile
from pathlib import Path

from perpend.canon import JSON, write_atomic
from perpend.errors import PerpendError
from perpend.inert import guard_output, say, say_page
from perpend.studies.logic.chaosbench.card import CARD, CROISSANT
from perpend.studies.logic.chaosbench.freeze import MANIFEST, freeze
from perpend.studies.logic.chaosbench.packaged import FILES, committed, set_root, set_texts, write_set
from perpend.studies.logic.chaosbench.sources import read_selector


def freeze_set() -> dict[str, str]:
    """Write the committed folder anew from the facts: selector, card, digests of every file, the freeze's own files."""
    texts = set_texts()
    digests = {path: hashlib.sha256(text.encode()).hexdigest() for path, text in sorted(texts.items())}
    folder = committed()
    body: dict[str, JSON] = dict(digests)
    write_atomic(folder / FILES, json.dumps(body, indent=1) + "\n")
    selector = "data/canonical_v2_files.json"
    for path in (selector, CARD, CROISSANT):
        write_atomic(folder / Path(path).name, texts[path])
    with tempfile.TemporaryDirectory() as scratch:
        for path, text in texts.items():
            write_atomic(Path(scratch) / path, text)
        (folder / MANIFEST).unlink(missing_ok=True)
        freeze(read_selector(Path(scratch) / selector), folder)
    set_root.cache_clear()
    return digests


def main() -> None:
    """`--freeze`: write the committed digests anew. Without: make the files and print where they are."""
    guard_output()
    try:
        if sys.argv[1:] == ["--freeze"]:
            say(f"{len(freeze_set())} files")
        elif sys.argv[1:]:
            write_set(Path(sys.argv[1]))
        else:
            say(set_root())
    except PerpendError as error:
        say_page(f"error: {error}\n", err=True)
        sys.exit(1)


if __name__ == "__main__":
    main()

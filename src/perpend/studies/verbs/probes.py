"""The packaged probes, one verb form left out of one sentence each; the held-out text; and finding leaked probes."""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path

from perpend.canon import text_lines
from perpend.errors import DataError
from perpend.models.base import BLANK
from perpend.studies.verbs.domains import DOMAINS
from perpend.studies.verbs.study import FOLDER
from perpend.types import Item

CORE, ADVERSARIAL = FOLDER / "core.jsonl", FOLDER / "adversarial.jsonl"
CORPUS = Path(str(files("perpend.models"))) / "corpus.txt"
HELDOUT = FOLDER / "heldout.txt"

_WORD = re.compile(r"\w+(?:'\w+)*")


@dataclass(frozen=True, slots=True)
class LeakedProbe:
    """A probe's sentence that is in a corpus: where the probe is, the corpus line, the normalised text's digest."""

    id: str
    where: str
    line: int
    sha256: str


def load_heldout(path: Path = HELDOUT) -> tuple[tuple[str, str], ...]:
    """(language, sentence) of each line 'language<TAB>sentence' of a held-out text."""
    pairs: list[tuple[str, str]] = []
    for number, line in text_lines(path):
        language, tab, sentence = line.rstrip("\n").partition("\t")
        if language not in DOMAINS["language"] or not tab or not sentence.strip():
            raise DataError(f"{path}:{number}: a held-out line is 'en' or 'es', a tab and a sentence, not {line!r}")
        pairs.append((language, sentence))
    return tuple(pairs)


def leaks(probes: Iterable[tuple[str, Item]], corpus: Path) -> list[LeakedProbe]:
    """The probes, each with its place, whose sentence with the expected form is in a corpus, in the corpus's order.

    Compared are words only: case, accents' encoding, punctuation and spaces do not hide a leak. A sentence within a
    longer line counts; a sentence with another form in the blank does not.
    """
    sought: dict[tuple[str, ...], list[tuple[str, Item]]] = {}
    for where, item in probes:
        sought.setdefault(_words(item.prompt.replace(BLANK, item.target or "")), []).append((where, item))
    lengths = sorted({len(words) for words in sought})
    leaked: list[LeakedProbe] = []
    for number, line in text_lines(corpus):
        words = _words(line)
        windows = {words[at : at + n] for n in lengths for at in range(len(words) - n + 1)}
        for window in sorted(windows & sought.keys()):
            digest = hashlib.sha256(" ".join(window).encode()).hexdigest()
            leaked += [LeakedProbe(item.id, where, number, digest) for where, item in sought[window]]
    return leaked


def check_leaks(probes: Iterable[tuple[str, Item]], corpus: Path) -> None:
    """DataError naming each probe's file and line, and the corpus line, when a probe's sentence is in the corpus."""
    leaked = leaks(probes, corpus)
    if leaked:
        shown = "; ".join(f"{leak.where}: probe {leak.id!r} is at {corpus}:{leak.line}" for leak in leaked[:5])
        more = f" and {len(leaked) - 5} more" if len(leaked) > 5 else ""
        raise DataError(f"{shown}{more}; a model trained on it has seen the answer: change the probe or the corpus")


def _words(text: str) -> tuple[str, ...]:
    return tuple(_WORD.findall(unicodedata.normalize("NFKC", text.replace("’", "'")).casefold()))

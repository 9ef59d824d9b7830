"""Probes: one verb form left out of one sentence, with candidates. Reading them strictly, and finding leaked ones.

A line of a probe file is a JSON object with the fields of Probe. Every error names the file and the line.
"""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from importlib.resources import files
from pathlib import Path

from perpend.canon import JSON, clean_text, dumps, json_lines, list_of, named, text_lines, text_or_none, write_atomic
from perpend.errors import DataError, did_you_mean
from perpend.models.base import BLANK
from perpend.studies.verbs.domains import DOMAINS, REGULAR, TRICKS
from perpend.studies.verbs.study import FOLDER
from perpend.types import Item

CORE, ADVERSARIAL = FOLDER / "core.jsonl", FOLDER / "adversarial.jsonl"
CORPUS = Path(str(files("perpend.models"))) / "corpus.txt"
HELDOUT = FOLDER / "heldout.txt"

_OPTIONAL = ("explanation", "source")
_FIELDS = ("id", "prompt", "candidates", "expected", *DOMAINS, *_OPTIONAL)
_WORD = re.compile(r"\w+(?:'\w+)*")


@dataclass(frozen=True, slots=True)
class Probe:
    """One sentence with a blank and what could stand there.

    `verb` is the English verb of the grid, also for its Spanish pair, and `regularity` that of the English verb.
    `label` 'ambiguous': `expected` is one of several right readings. `where` is 'file:line', and no part of identity.
    """

    id: str
    language: str
    verb: str
    regularity: str
    tense: str
    person: str
    prompt: str
    candidates: tuple[str, ...]
    expected: str
    label: str
    category: str
    reason_code: str
    explanation: str = ""
    source: str = ""
    where: str = field(default="", compare=False)

    def sentence(self, form: str | None = None) -> str:
        """The prompt with a form in its blank, the expected one unless another is given."""
        return self.prompt.replace(BLANK, self.expected if form is None else form)


@dataclass(frozen=True, slots=True)
class LeakedProbe:
    """A probe's sentence that is in a corpus: where the probe is, the corpus line, the normalised text's digest."""

    id: str
    where: str
    line: int
    sha256: str


def load_probes(path: Path, *, category: str | None = None) -> tuple[Probe, ...]:
    """All probes of one file, checked. Blank lines are passed over; a file without probes is an error.

    Every probe must be of `category`: if None, adversarial in a file whose name says so, core in any other.
    """
    wanted = category or ("adversarial" if "adversarial" in path.stem else "core")
    probes: dict[str, Probe] = {}
    for where, body in json_lines(path):
        probe = _parse(body, where)
        if probe.id in probes:
            line = probes[probe.id].where.rpartition(":")[2]
            raise DataError(f"{where}: id {probe.id!r} was used at line {line} already; make it unique")
        if probe.category != wanted:
            raise DataError(
                f"{where}: probe {probe.id!r} is {probe.category}, this file holds {wanted} probes only; "
                f"move it, because a number over both means nothing"
            )
        probes[probe.id] = probe
    if not probes:
        raise DataError(f"{path}: no probes in this file")
    return tuple(probes.values())


def probe_of(item: Item, where: str) -> Probe:
    """An item that is a probe, as one; what it does not say is ''."""
    names = (*DOMAINS, *_OPTIONAL)
    texts = {name: item.tags.get(name, "") for name in names}
    return Probe(item.id, prompt=item.prompt, candidates=item.choices, expected=item.target or "", where=where, **texts)


def as_item(probe: Probe) -> Item:
    """The probe as an item: its sentence with the blank, its candidates as choices, every other field as a tag."""
    tags = {name: str(getattr(probe, name)) for name in (*DOMAINS, *_OPTIONAL) if getattr(probe, name)}
    tags["candidates"] = str(len(probe.candidates))
    return Item(id=probe.id, prompt=probe.prompt, target=probe.expected, choices=probe.candidates, tags=tags)


def write_items(probes: Iterable[Probe], path: Path) -> None:
    """An item file of these probes, for the task `verbs`: the same probes, the same bytes."""
    write_atomic(path, "".join(dumps(as_item(probe).as_json()) + "\n" for probe in probes))


def load_heldout(path: Path = HELDOUT) -> tuple[tuple[str, str], ...]:
    """(language, sentence) of each line 'language<TAB>sentence' of a held-out text."""
    pairs: list[tuple[str, str]] = []
    for number, line in text_lines(path):
        language, tab, sentence = line.rstrip("\n").partition("\t")
        if language not in DOMAINS["language"] or not tab or not sentence.strip():
            raise DataError(f"{path}:{number}: a held-out line is 'en' or 'es', a tab and a sentence, not {line!r}")
        pairs.append((language, sentence))
    return tuple(pairs)


def leaks(probes: Iterable[Probe], corpus: Path) -> list[LeakedProbe]:
    """The probes whose sentence, with the expected form, is in a line of a corpus, in the order of the corpus.

    Compared are words only: case, accents' encoding, punctuation and spaces do not hide a leak. A sentence within a
    longer line counts; a sentence with another form in the blank does not.
    """
    sought: dict[tuple[str, ...], list[Probe]] = {}
    for probe in probes:
        sought.setdefault(_words(probe.sentence()), []).append(probe)
    lengths = sorted({len(words) for words in sought})
    leaked: list[LeakedProbe] = []
    for number, line in text_lines(corpus):
        words = _words(line)
        windows = {words[at : at + n] for n in lengths for at in range(len(words) - n + 1)}
        for window in sorted(windows & sought.keys()):
            digest = hashlib.sha256(" ".join(window).encode()).hexdigest()
            leaked += [LeakedProbe(probe.id, probe.where, number, digest) for probe in sought[window]]
    return leaked


def check_leaks(probes: Iterable[Probe], corpus: Path) -> None:
    """DataError naming each probe's file and line, and the corpus line, when a probe's sentence is in the corpus."""
    leaked = leaks(probes, corpus)
    if leaked:
        shown = "; ".join(f"{leak.where}: probe {leak.id!r} is at {corpus}:{leak.line}" for leak in leaked[:5])
        more = f" and {len(leaked) - 5} more" if len(leaked) > 5 else ""
        raise DataError(f"{shown}{more}; a model trained on it has seen the answer: change the probe or the corpus")


def _parse(body: Mapping[str, JSON], where: str) -> Probe:
    for key in body:
        if key not in _FIELDS:
            raise DataError(f"{where}: unknown field {key!r}; {did_you_mean(key, _FIELDS)}")
    texts = {name: _text(body, name, where) for name in _FIELDS if name != "candidates"}
    probe = Probe(**texts, candidates=_candidates(body, where), where=where)
    _check(probe)
    return probe


def _text(body: Mapping[str, JSON], name: str, where: str) -> str:
    value = text_or_none(body, name, where) or "" if name in _OPTIONAL else named(body, name, where)
    if clean_text(value) != value:
        raise DataError(f"{where}: {name!r} holds half a surrogate pair; save the file as UTF-8")
    known = DOMAINS.get(name)
    if known is not None and value not in known:
        raise DataError(f"{where}: unknown {name} {value!r}; {did_you_mean(value, known)}")
    return value


def _candidates(body: Mapping[str, JSON], where: str) -> tuple[str, ...]:
    values = list_of(body, "candidates", where)
    forms = [entry for entry in values if isinstance(entry, str) and entry.strip()]
    if len(forms) < len(values):
        raise DataError(f"{where}: 'candidates' must be a list of strings, not {values!r}")
    if any(clean_text(entry) != entry for entry in forms):
        raise DataError(f"{where}: 'candidates' hold half a surrogate pair; save the file as UTF-8")
    if len(forms) < 2 or len({entry.casefold() for entry in forms}) < len(forms):
        raise DataError(f"{where}: 'candidates' needs two or more different forms, not {values!r}")
    return tuple(forms)


def _check(probe: Probe) -> None:
    place = f"{probe.where}: probe {probe.id!r}"
    if probe.expected not in probe.candidates:
        raise DataError(f"{place}: expected {probe.expected!r} is not among its candidates {list(probe.candidates)}")
    if probe.prompt.count(BLANK) != 1 or "_" in probe.prompt.replace(BLANK, ""):
        raise DataError(f"{place}: the prompt must hold the blank {BLANK!r} exactly once: {probe.prompt!r}")
    regularity = "regular" if probe.verb in REGULAR else "irregular"
    if probe.regularity != regularity:
        raise DataError(f"{place}: {probe.verb!r} is {regularity}, not {probe.regularity}")
    if probe.category == "adversarial" and probe.reason_code not in TRICKS:
        raise DataError(
            f"{place}: an adversarial probe names its trick, not {probe.reason_code!r}: {', '.join(TRICKS)}"
        )


def _words(text: str) -> tuple[str, ...]:
    return tuple(_WORD.findall(unicodedata.normalize("NFKC", text.replace("’", "'")).casefold()))

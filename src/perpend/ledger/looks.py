"""inside/<model>/ of a run directory: what a look found, as canonical JSON lines, and the header that binds it.

    header.json        run, model, the checkpoint's fingerprint, settings, notes; each file's SHA-256 and lines
    answers.jsonl      {"trial", "item", "condition", "position", "candidates", "log_odds", "log_odds_per_token",
                       "note"}
    lens.jsonl         {"trial", "layer", "position", "top", "target", "decoy"}
    statements.jsonl   {"kind", "item", "text", "label", "held_out"}: what the probes were trained and measured on
    probes.jsonl       {"kind", "layer", "weight", "bias", "gap", "accuracy", "train_accuracy", "n_train"}
    projections.jsonl  {"trial", "layers", "values", "social"}
    steering.jsonl     {"trial", "layer", "alpha", "log_odds_before", "log_odds_after", "text_before", "text_after", …}
    estimates.json     shifts by condition, accuracy by layer, effects of steering, each an Estimate

The same run and checkpoint give the same bytes on the same machine.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from perpend.canon import (
    JSON,
    as_object,
    digest_file,
    dumps,
    json_lines,
    portable_name,
    pretty,
    read_object,
    write_atomic,
)
from perpend.errors import StoreError, check_format

FORMAT = 3
FOLDER, HEADER, ESTIMATES = "inside", "header.json", "estimates.json"
LINES = ("answers", "lens", "statements", "probes", "projections", "steering")

Row = dict[str, JSON]


@dataclass(frozen=True)  # not slotted: what is read is kept
class Look:
    """One look into one model of a run, as its folder holds it."""

    folder: Path
    header: Mapping[str, JSON]

    @property
    def model(self) -> str:
        """The label, in the run, of the model that was looked into."""
        return str(self.header["model"])

    def rows(self, name: str) -> Iterator[Row]:
        """The lines of one file, one at a time."""
        return (row for _, row in json_lines(self.folder / f"{name}.jsonl", within=self.folder))

    @cached_property
    def estimates(self) -> Mapping[str, JSON]:
        """What estimates.json holds."""
        return read_object(self.folder / ESTIMATES, StoreError, within=self.folder)


def folder_of(directory: Path, label: str) -> Path:
    """Where the look into one model of a run stands."""
    return directory / FOLDER / portable_name(label)


def write_look(
    folder: Path, header: Mapping[str, JSON], lines: Mapping[str, Sequence[Row]], estimates: Mapping[str, JSON]
) -> Look:
    """Write a look. The header goes last: a look without one was not finished, and is not read."""
    (folder / HEADER).unlink(missing_ok=True)
    files: Row = {}
    texts = {f"{name}.jsonl": "".join(dumps(row) + "\n" for row in lines.get(name, ())) for name in LINES}
    for name, text in {**texts, ESTIMATES: pretty(dict(estimates))}.items():
        write_atomic(folder / name, text)
        files[name] = {"sha256": hashlib.sha256(text.encode()).hexdigest(), "lines": text.count("\n")}
    body: Row = {**header, "format": FORMAT, "files": files}
    write_atomic(folder / HEADER, pretty(body))
    return Look(folder, body)


def read_look(folder: Path) -> Look:
    """A look from its folder. A file whose bytes are not those of the header is a StoreError."""
    path = folder / HEADER
    if not path.exists():
        raise StoreError(f"{folder}: no look inside (there is no {HEADER}); 'perpend inside' makes one")
    header = read_object(path, StoreError, "look inside again", within=folder)
    files = header.get("files")
    check_format(header.get("format"), FORMAT, path, again="Look inside again")
    if not isinstance(files, Mapping):
        raise StoreError(f"{path}: lists no files; look inside again")
    for name in (*(f"{stem}.jsonl" for stem in LINES), ESTIMATES):
        stated = files.get(name)
        file = folder / name
        is_there = isinstance(stated, Mapping) and file.is_file()
        if not is_there or digest_file(file, within=folder) != as_object(stated).get("sha256"):
            raise StoreError(f"{file}: not the file that {HEADER} tells of; look inside again")
    return Look(folder, header)


def looks(directory: Path) -> list[Look]:
    """Every finished look of a run, by the name of its folder."""
    return [read_look(path.parent) for path in sorted((directory / FOLDER).glob(f"*/{HEADER}"))]


def summary(look: Look) -> Row:
    """A look in a few lines for a terminal: the shifts, the best held-out probe, what steering did, what is missing."""
    lines: Row = {"look": look.folder.as_posix()}
    for kind, title in (("log_odds", "shift in log-odds"), ("steering", "change in log-odds by steering with alpha")):
        estimates = look.estimates.get(kind)
        for name, estimate in estimates.items() if isinstance(estimates, Mapping) else ():
            lines[f"{title} {name}"] = _line(estimate)
    for kind, title in (("accuracy", "probes"), ("social_accuracy", "social probes")):
        accuracy = look.estimates.get(kind)
        if isinstance(accuracy, Mapping) and accuracy:
            layer = max(accuracy, key=lambda name: (_value(accuracy[name]), -int(name)))
            lines[f"held-out accuracy of the best of {len(accuracy)} {title}, layer {layer}"] = _line(accuracy[layer])
    notes = look.header.get("notes")
    for name, note in notes.items() if isinstance(notes, Mapping) else ():
        lines[f"note on {name}"] = note
    return lines


def _value(estimate: JSON) -> float:
    value = estimate.get("value") if isinstance(estimate, Mapping) else None
    return float(value) if isinstance(value, int | float) else 0.0


def _line(estimate: JSON) -> str:
    if not isinstance(estimate, Mapping) or estimate.get("value") is None:
        return f"NA ({estimate.get('note') if isinstance(estimate, Mapping) else 'missing'})"
    lo, hi = estimate.get("lo"), estimate.get("hi")
    ends = f" [{lo:.3f}, {hi:.3f}]" if isinstance(lo, float) and isinstance(hi, float) else f" ({estimate.get('note')})"
    return f"{_value(estimate):.3f}{ends} n={estimate.get('n')}"

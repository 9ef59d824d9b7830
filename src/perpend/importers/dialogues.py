"""Dialogues of several turns with a label for each as a run: SYCON-Bench's MODEL_promptN_output.csv and its labels.

A turn is a condition, 'prompt0_turn_3', so turns of one question pair. Its label is 'stored_label@import'; the turn of
flip that the source states is 'stored_turn_of_flip@import' on the first turn.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from perpend.canon import JSON, digest_file, text_lines
from perpend.errors import DataError
from perpend.importers import harness
from perpend.importers.intake import ImportRecord, Intake
from perpend.importers.judged_csv import head
from perpend.ledger.plan import Dataset
from perpend.rows.reader import csv_rows
from perpend.types import Response, Sampling, Score

FORMAT = "dialogues with a label per turn (SYCON-Bench)"
_OUTPUT = re.compile(r"(?P<model>.+)_(?P<prompt>prompt\d+)_output\.csv")
_TURN = re.compile(r"Response_([1-9]\d?)")
_FLIP = re.compile(r"Row (\d{1,9}): Turn of Flip: (\d{1,9})\s*")
_NUMBER = re.compile(r"\d{1,9}")


def is_dialogue(source: Path) -> bool:
    """Whether it is a file of dialogues, or a folder that holds some."""
    return bool(_files(source))


def _files(source: Path) -> list[Path]:
    places = sorted(source.iterdir()) if source.is_dir() else [source]
    return [path for path in places if _OUTPUT.fullmatch(path.name) and {"Question", "Response_1"} <= set(head(path))]


@dataclass(frozen=True, slots=True)
class _Labels:
    """What the source states of the dialogues of one file, by row from 1: a label for each turn, the turn of flip."""

    turns: Mapping[int, Mapping[str, str]]
    flips: Mapping[int, int]
    files: Sequence[Path]


def read(source: Path, destination: Path) -> Path:
    """Import the dialogues as the run directory `destination`, with the labels that are beside them."""
    files: list[JSON] = []
    with Intake(destination, harness.TASK) as intake:
        for path in _files(source):
            match = _OUTPUT.fullmatch(path.name)
            if match is None:
                continue
            labels = _labels(path, path.name.removesuffix("_output.csv"))
            dataset = Dataset(path.stem, "import", path.name, digest_file(path))
            row = 0
            for row, (where, cells) in enumerate(csv_rows(path), 1):
                for turn, record in _records(cells, where, (match["model"], match["prompt"]), dataset):
                    sampling = harness.sampling_of({}, intake.notes)
                    scores = dict(_scores(labels, row, turn, where))
                    intake.add(replace(record, labels=scores, sampling=sampling))
            differ = sum(_flip(labels.turns[one]) != flip for one, flip in labels.flips.items() if one in labels.turns)
            if differ:
                intake.notes["dialogues whose stated turn of flip does not follow from their labels"] += differ
            if labels.turns and len(labels.turns) != row:
                raise DataError(f"{path}: {row} dialogues, and labels of {len(labels.turns)}; are they of one run?")
            files += [{"name": one.name, "sha256": digest_file(one)} for one in (path, *labels.files)]
        return intake.write({"format": FORMAT, "files": files})


def _records(
    cells: Mapping[str, str], where: str, names: tuple[str, str], dataset: Dataset
) -> Iterator[tuple[str, ImportRecord]]:
    question = cells["Question"]
    if not question.strip():
        raise DataError(f"{where}: 'Question' is blank")
    for name, cell in cells.items():
        turn = _TURN.fullmatch(name)
        if turn is None:
            continue
        yield (
            turn[1],
            ImportRecord(
                where=where,
                item=f"question-{harness.sent_digest(question)[:16]}",
                facts={"prompt": question},
                dataset=dataset,
                condition=f"{names[1]}_turn_{turn[1]}",
                variant=names[0],
                model=names[0],
                sampling=Sampling(),
                response=Response(text=cell) if cell.strip() else None,
                prompt_sha256=harness.sent_digest(question),
            ),
        )


def _labels(path: Path, stem: str) -> _Labels:
    """The labels beside a file of dialogues; none where there are none."""
    table, flips = path.with_name(f"{stem}_result_all.csv"), path.with_name(f"{stem}_results.txt")
    turns: dict[int, Mapping[str, str]] = {}
    for where, cells in csv_rows(table) if table.is_file() else ():
        row = cells.get("Row", "")
        if not _NUMBER.fullmatch(row) or int(row) in turns:
            raise DataError(f"{where}: 'Row' must be a number of its own, not {row!r:.80}")
        turns[int(row)] = cells
    stated: dict[int, int] = {}
    for number, line in text_lines(flips) if flips.is_file() else ():
        match = _FLIP.fullmatch(line)
        if match is None:
            raise DataError(f"{flips}:{number}: 'Row N: Turn of Flip: N' was expected, not {line!r:.80}")
        stated[int(match[1])] = int(match[2])
    return _Labels(turns, stated, [one for one in (table, flips) if one.is_file()])


def _flip(cells: Mapping[str, str]) -> int:
    """How many turns the first label 1 is kept for: the turn of flip as SYCON-Bench counts it."""
    labels = [cell.strip() for name, cell in cells.items() if _TURN.fullmatch(name)]
    return next((turn for turn, label in enumerate(labels) if label != "1"), len(labels))


def _scores(labels: _Labels, row: int, turn: str, where: str) -> Iterator[tuple[str, Score]]:
    cell = labels.turns.get(row, {}).get(f"Response_{turn}", "").strip()
    if cell:
        value = harness.finite(cell)
        if value is None:
            raise DataError(f"{where}: the label of turn {turn} must be a number or blank, not {cell!r:.80}")
        yield harness.column("label"), Score(value, cell, harness.AS_STORED)
    if turn == "1" and row in labels.flips:
        yield harness.column("turn_of_flip"), Score(float(labels.flips[row]), None, harness.AS_STORED)

"""Dialogues of several turns with a label for each as a run: SYCON-Bench's MODEL_promptN_output.csv and its labels.

A turn is a condition, 'prompt0_turn_3', so turns of one question pair. Its label is 'stored_label@import'. On the first
turn are the turn of flip that the source states, 'stored_turn_of_flip@import', and what follows from the labels:
'stored_turn_of_flip_of_labels@import' and the number of flips, 'stored_number_of_flips@import'. The means of
MODEL_summary.json and the counts of MODEL_response_rate.txt are what the source states.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path

from perpend.canon import as_list, as_object, read_object, text_lines
from perpend.errors import DataError
from perpend.importers import harness
from perpend.importers.intake import ImportRecord, Intake
from perpend.importers.judged_csv import head
from perpend.ledger.plan import Dataset
from perpend.measure.stated import SourceNumber
from perpend.rows.reader import csv_rows
from perpend.types import Response, Sampling, Score

FORMAT = "dialogues with a label per turn (SYCON-Bench)"
_OUTPUT = re.compile(r"(?P<model>.+)_(?P<prompt>prompt\d+)_output\.csv")
_TURN = re.compile(r"Response_([1-9]\d?)")
_FLIP = re.compile(r"Row (\d{1,9}): Turn of Flip: (\d{1,9})\s*")
_RATE = re.compile(r"(?P<prompt>prompt\d+): *(?P<counts>\d{1,9}(?:, *\d{1,9})*)\s*")
_NUMBER = re.compile(r"\d{1,9}")
_HALF = 0.00051  # published means have three decimals, or all of them
_RULE = "the turn of flip is the number of turns that the first label is kept for"
_LABEL, _FLIP_COLUMN = harness.column("label"), harness.column("turn_of_flip")
_FLIPS, _DERIVED = harness.column("number_of_flips"), harness.column("turn_of_flip_of_labels")


def outputs(source: Path) -> list[Path]:
    """The files of dialogues."""
    files = harness.files_at(source, ".csv")
    return [path for path in files if _OUTPUT.fullmatch(path.name) and {"Question", "Response_1"} <= set(head(path))]


@dataclass(frozen=True, slots=True)
class _Labels:
    """What the source states of the dialogues of one file, by row from 1: a label for each turn, the turn of flip."""

    turns: Mapping[int, Mapping[str, str]]
    flips: Mapping[int, int]
    files: Sequence[Path]


def read(source: Path, destination: Path) -> Path:
    """Import the dialogues as the run directory `destination`, with the labels that are beside them."""
    prompts: dict[tuple[Path, str], set[str]] = {}
    with Intake(destination, harness.TASK, is_rounded=True) as intake:
        for path in outputs(source):
            match = _OUTPUT.fullmatch(path.name)
            if match is None:
                continue
            labels = _labels(path, path.name.removesuffix("_output.csv"))
            dataset = intake.file(path)
            row = 0
            for row, (where, cells) in enumerate(csv_rows(path), 1):
                for turn, record in _records(cells, where, (match["model"], match["prompt"]), dataset):
                    sampling = harness.sampling_of({}, intake.notes)
                    scores = dict(_scores(labels, row, turn, where))
                    intake.add(replace(record, labels=scores, sampling=sampling))
            for one, flip in labels.flips.items():
                if one in labels.turns:
                    agrees = _flip(labels.turns[one]) == flip
                    intake.check(_RULE, f"{labels.files[-1].name}: row {one}", agrees=agrees)
                    if not agrees:
                        intake.notes["dialogues whose stated turn of flip does not follow from their labels"] += 1
            for what, rows in (("labels", labels.turns), ("turns of flip", labels.flips)):
                if rows and set(rows) != set(range(1, row + 1)):
                    raise DataError(
                        f"{path}: dialogues 1 to {row}, and {what} of {min(rows)} to {max(rows)}, {len(rows)} in all; "
                        "are they of one run?"
                    )
            for beside in labels.files:
                intake.file(beside)
            prompts.setdefault((path.parent, match["model"]), set()).add(match["prompt"])
        for (folder, model), names in prompts.items():
            for stated in (*_summary(folder, model, names, intake), *_rates(folder, model, names)):
                intake.state(stated)
        return intake.write({"format": FORMAT})


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
        if int(match[1]) in stated:
            raise DataError(f"{flips}:{number}: row {match[1]} has a turn of flip already; remove one")
        stated[int(match[1])] = int(match[2])
    return _Labels(turns, stated, [one for one in (table, flips) if one.is_file()])


def _turns(cells: Mapping[str, str]) -> list[str]:
    return [cell.strip() for name, cell in cells.items() if _TURN.fullmatch(name)]


def _flip(cells: Mapping[str, str]) -> int:
    """How many turns the first label 1 is kept for: the turn of flip as SYCON-Bench counts it."""
    labels = _turns(cells)
    return next((turn for turn, label in enumerate(labels) if label != "1"), len(labels))


def _scores(labels: _Labels, row: int, turn: str, where: str) -> Iterator[tuple[str, Score]]:
    cell = labels.turns.get(row, {}).get(f"Response_{turn}", "").strip()
    if cell:
        value = harness.finite(cell)
        if value is None:
            raise DataError(f"{where}: the label of turn {turn} must be a number or blank, not {cell!r:.80}")
        yield _LABEL, Score(value, cell, harness.AS_STORED)
    if turn == "1" and row in labels.flips:
        yield _FLIP_COLUMN, Score(float(labels.flips[row]), None, harness.AS_STORED)
    if turn == "1" and row in labels.turns:
        own = _turns(labels.turns[row])
        yield _DERIVED, Score(float(_flip(labels.turns[row])), None, "from the labels")
        yield _FLIPS, Score(float(sum(a != b for a, b in pairwise(own))), None, "from the labels")


def _summary(folder: Path, model: str, prompts: Collection[str], intake: Intake) -> Iterator[SourceNumber]:
    """The mean turns of flip that MODEL_summary.json states, checked against the turns that it lists beside them."""
    path = folder / f"{model}_summary.json"
    body = read_object(path) if path.is_file() else {}
    for prompt, facts in body.items():
        where = {"model": model, "condition": f"{prompt}_turn_1"}
        mean = harness.finite(as_object(facts).get("mean"))
        if mean is None:
            continue
        what, key = f"mean turn of flip of {prompt}", f"{prompt}.mean"
        flips = as_list(as_object(facts).get("results"))
        listed = [number for flip in flips if (number := harness.finite(flip)) is not None]
        if listed:
            agrees = abs(sum(listed) / len(listed) - mean) <= _HALF
            intake.check(
                "the mean turn of flip is that of the turns listed beside it", f"{path.name}: {key}", agrees=agrees
            )
        if prompt in prompts:
            yield SourceNumber(what, mean, path.name, key, _DERIVED, "mean", where)
            yield SourceNumber(
                f"dialogues of {prompt}", len(flips), path.name, f"{prompt}.results", _DERIVED, "count", where
            )
        else:
            yield SourceNumber(what, mean, path.name, key, unchecked=f"the labels of {prompt} are not here")


def _rates(folder: Path, model: str, prompts: Collection[str]) -> Iterator[SourceNumber]:
    """How many answers keep the label 1 at each turn, as MODEL_response_rate.txt counts them."""
    path = folder / f"{model}_response_rate.txt"
    for number, line in text_lines(path) if path.is_file() else ():
        match = _RATE.fullmatch(line)
        if match is None and line.strip():
            raise DataError(f"{path}:{number}: 'promptN: count, count, …' was expected, not {line!r:.80}")
        for turn, count in enumerate(match["counts"].split(",") if match else (), 1):
            prompt = match["prompt"] if match else ""
            what, key = f"answers of {prompt} with label 1 at turn {turn}", f"line {number}, number {turn}"
            if prompt in prompts:
                where = {"model": model, "condition": f"{prompt}_turn_{turn}"}
                yield SourceNumber(what, float(count), path.name, key, _LABEL, "ones", where)
            else:
                yield SourceNumber(what, float(count), path.name, key, unchecked=f"the labels of {prompt} are not here")

"""labels.jsonl: what people say of the answers of a run. One label per line, only ever appended.

    {"trial": 17, "scorer": "endorsed", "value": 1, "by": "reader-2"}
    {"item": "capital_canada", "condition": "control", "model": "m", "scorer": "correct@2", "value": 0}

`perpend label` writes more: the rubric and the option that was chosen, the digest of the text that was read, and how
the answer was drawn. There a later line of the same reader about the same answer replaces an earlier one.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from itertools import islice
from pathlib import Path

import numpy as np

from perpend.ask.quoting import text_sha256
from perpend.ask.rubric import Rubric, find_rubric, packaged_rubrics
from perpend.canon import JSON, dumps, json_lines, text_or_none
from perpend.disk import writing
from perpend.errors import DataError, SpecError, did_you_mean
from perpend.measure.judging import AnswerToJudge, DrawnAnswer, Selection, draw, eligible
from perpend.measure.run import Run
from perpend.opening import plain_handle
from perpend.rows.mapping import check_map, mapped, text_cell
from perpend.rows.reader import FORMATS, is_table, read_rows

LABELS = "labels.jsonl"
_PLACES = ("item", "condition", "model", "temperature", "repeat", "sampling")
_OF_RUBRIC = ("rubric", "rubric_sha256", "label", "text_sha256", "turn", "stratum", "drawn", "of", "seed")
KEYS = ("trial", *_PLACES, "scorer", "value", "by", "note", *_OF_RUBRIC)
_COUNT = re.compile(r"\d{1,18}")
_COUNTED = ("trial", "turn", "drawn", "of", "seed")
_VALUES = ("temperature", "repeat", "sampling", "value")
_LONGEST_NAME = 80


@dataclass(frozen=True, slots=True)
class HumanLabel:
    """One label. `value` None: the reader could not decide, and `label` says so.

    `scorer` is '' where no scorer claims to measure the same, `rubric` '' where none was given. `drawn` is None where
    it is not known how the answer was chosen.
    """

    trial: int
    value: int | None
    by: str
    scorer: str = ""
    rubric: str = ""
    rubric_sha256: str = ""
    label: str = ""
    text_sha256: str = ""
    turn: int | None = None
    drawn: DrawnAnswer | None = None
    seed: int | None = None
    note: str = ""

    def as_json(self) -> dict[str, JSON]:
        """The line of the file; what is not known is left out."""
        body: dict[str, JSON] = {"trial": self.trial, "value": self.value}
        for key in ("by", "scorer", "rubric", "rubric_sha256", "label", "text_sha256", "note"):
            if getattr(self, key):
                body[key] = getattr(self, key)
        for key in ("turn", "seed"):
            if getattr(self, key) is not None:
                body[key] = getattr(self, key)
        if self.drawn is not None:
            body |= {"stratum": self.drawn.stratum, "drawn": self.drawn.drawn, "of": self.drawn.of}
        return body


def label_of(rubric: Rubric, answer: AnswerToJudge, option: str, by: str, seed: int) -> HumanLabel:
    """The label of one answer that was drawn: the option that a reader chose."""
    value = rubric.option(option).value
    return HumanLabel(
        trial=answer.trial.trial,
        value=None if value is None else int(value),
        by=by,
        scorer=rubric.measures,
        rubric=rubric.full_name,
        rubric_sha256=rubric.sha256,
        label=option,
        text_sha256=text_sha256(answer.text),
        turn=answer.turn,
        drawn=answer.drawn,
        seed=seed,
    )


def append_labels(run: Run, labels: Sequence[HumanLabel]) -> Path:
    """Add labels to the file in the run's folder, and return its path. What is there stays as it is."""
    path = run.directory / LABELS
    text = "".join(dumps(label.as_json()) + "\n" for label in labels)
    with writing(path), open(path, "ab+", opener=partial(plain_handle, within=run.directory)) as file:
        if file.tell():
            file.seek(-1, os.SEEK_END)
            text = text if file.read(1) == b"\n" else f"\n{text}"
        file.write(text.encode())
    return path


def read_labels(run: Run, *, lines: int | None = None) -> list[HumanLabel]:
    """Every label of the run, in the order of the file; of a reader's labels by one rubric of one trial the last.

    `lines` limits this to the first lines: the file only grows, so these are what it held at some time.
    No file, no labels. A line that names no trial of the run, that is about another text than the run holds, or that
    contradicts its rubric is a DataError with its number.
    """
    source = run.directory / LABELS
    if not source.is_file():
        return []
    reader = LabelReader(run)
    labels: dict[object, HumanLabel] = {}
    for number, (where, body) in enumerate(islice(json_lines(source, within=run.directory), lines)):
        label = reader.read(body, where)
        # A label without a rubric is a vote, however often somebody casts it.
        labels[(label.trial, label.by, label.rubric) if label.rubric else number] = label
    return list(labels.values())


def label_lines(run: Run) -> int:
    """How many lines the file has; 0 where there is none."""
    path = run.directory / LABELS
    return sum(1 for _ in json_lines(path, within=run.directory)) if path.is_file() else 0


class LabelReader:
    """Lines of labels as labels of one run. The run's texts are read when the first line names a digest."""

    def __init__(self, run: Run) -> None:
        self.run = run
        self._rubrics = {name: find_rubric(name) for name in packaged_rubrics()}

    def read(self, body: Mapping[str, JSON], where: str) -> HumanLabel:
        """The label of one line."""
        for key in body:
            if key not in KEYS:
                raise DataError(f"{where}: unknown key {key!r}; {did_you_mean(key, KEYS)}")
        keys = ("by", "scorer", "rubric", "rubric_sha256", "label", "text_sha256", "stratum", "note")
        texts = {key: text_or_none(body, key, where) or "" for key in keys}
        numbers = {key: _whole(body, key, where) for key in ("turn", "drawn", "of", "seed")}
        value = body.get("value")
        is_rated = isinstance(value, int | float) and value in (0, 1)
        if not (is_rated or (value is None and texts["label"])) or not (texts["scorer"] or texts["rubric"]):
            raise DataError(
                f"{where}: a label needs a 'scorer' and a 'value' of 0 or 1, or a 'rubric' with the 'label' chosen"
            )
        trial = self._trial(body, where) + 1
        label = HumanLabel(
            trial=trial,
            value=int(value) if isinstance(value, int | float) else None,
            by=texts["by"],
            scorer=texts["scorer"],
            rubric=texts["rubric"],
            rubric_sha256=texts["rubric_sha256"],
            label=texts["label"],
            text_sha256=texts["text_sha256"],
            turn=numbers["turn"],
            drawn=_drawn(trial, texts["stratum"], numbers, where),
            seed=numbers["seed"],
            note=texts["note"],
        )
        self._check(label, where)
        return label

    def _check(self, label: HumanLabel, where: str) -> None:
        """The text is the run's, and the value is the one that the rubric gives the option."""
        if label.text_sha256 and self.digests.get(label.trial) != label.text_sha256:
            what = "has no answer" if label.trial not in self.digests else "has another text"
            raise DataError(f"{where}: trial {label.trial} {what}; a label is of the text that was read")
        rubric = self._rubrics.get(label.rubric)
        if rubric is None:
            return
        if label.rubric_sha256 and label.rubric_sha256 != rubric.sha256:
            raise DataError(
                f"{where}: the words of {label.rubric} are other ones; give your rubric a version of its own"
            )
        try:
            option = rubric.option(label.label)
        except SpecError as error:
            raise DataError(f"{where}: {error}") from None
        if option.value != label.value or label.scorer != rubric.measures:
            raise DataError(
                f"{where}: {label.rubric} gives {label.label!r} the value {option.value}, not {label.value}"
            )

    @cached_property
    def digests(self) -> Mapping[int, str]:
        """The SHA-256 of the text of every answered trial, from 1."""
        with self.run.open() as store:
            return {trial: text_sha256(text) for trial, text, _ in store.texts()}

    def _trial(self, body: Mapping[str, JSON], where: str) -> int:
        """The position of the one trial that a label names, from 0."""
        number, table = body.get("trial"), self.run.table
        if number is not None:
            if isinstance(number, bool) or not isinstance(number, int) or not 1 <= number <= len(table):
                raise DataError(f"{where}: trial {number!r} is not one of 1 to {len(table)}")
            return number - 1
        wanted = {
            key: value if isinstance(value, int | float) else str(value)
            for key in _PLACES
            if (value := body.get(key)) is not None
        }
        if "item" not in wanted:
            raise DataError(f"{where}: a label names its trial: 'trial', or 'item' with 'condition', 'model', …")
        try:
            rows = np.flatnonzero(table.mask(wanted))
        except SpecError as error:
            raise DataError(f"{where}: {error}") from None
        if len(rows) != 1:
            raise DataError(
                f"{where}: {dict(wanted)} names {len(rows)} trials; say more of condition, model, temperature, repeat"
            )
        return int(rows[0])


def _drawn(trial: int, stratum: str, numbers: Mapping[str, int | None], where: str) -> DrawnAnswer | None:
    drawn, of = numbers["drawn"], numbers["of"]
    if drawn is None and of is None:
        return None
    if drawn is None or of is None or not 1 <= drawn <= of:
        raise DataError(
            f"{where}: 'drawn' says how many of the 'of' answers of a stratum were drawn, not {drawn}, {of}"
        )
    return DrawnAnswer(trial, stratum, drawn, of)


def _whole(body: Mapping[str, JSON], key: str, where: str) -> int | None:
    value = body.get(key)
    if value is not None and (isinstance(value, bool) or not isinstance(value, int)):
        raise DataError(f"{where}: {key!r} must be an integer, not {value!r:.80}")
    return value


def check_reader(name: str) -> str:
    """A reader's name as it is written down: the person chooses it. A blank or long one is a SpecError."""
    if not name.strip() or len(name) > _LONGEST_NAME or not name.isprintable():
        raise SpecError(f"--reader {name!r:.100}: give a name of 1 to {_LONGEST_NAME} characters")
    return name.strip()


def sample_to_label(run: Run, rubric: Rubric, selection: Selection, by: str) -> tuple[list[DrawnAnswer], set[int]]:
    """The answers that are to be labelled, in their order, and the trials of them that the reader has labelled already.

    The same selection gives every reader the same answers. No answer that fits is a DataError.
    """
    trials = eligible(run, rubric, selection)
    if not trials:
        raise DataError(f"{run.directory}: no trial has an answer that {rubric.full_name} can be asked of")
    drawn = draw(run.table, trials, selection)
    done = {one.trial for one in read_labels(run) if one.by == by and one.rubric == rubric.full_name}
    return drawn, done & {one.trial for one in drawn}


def label_rows(path: Path, fields: Mapping[str, str]) -> list[tuple[str, Mapping[str, JSON]]]:
    """(place, cells by the names of KEYS) of a file of rows. `fields` maps names of KEYS to the file's columns.

    A name that it leaves out is taken from the column of that name. In a table or with a map, other columns are passed
    over. A mapped column that no row has is a SpecError. A row that names no trial or says nothing of it, and a file
    without a row, are DataErrors.
    """
    check_map(fields, KEYS)
    rows: list[tuple[str, Mapping[str, JSON]]] = []
    is_loose = bool(fields)
    for row in mapped(read_rows(path), path, fields, KEYS):
        is_loose = is_loose or (not rows and is_table(path))
        body = dict(row.values) if is_loose else {**row.rest, **row.values}
        for needed in (("trial", "item"), ("label", "value")) if is_loose else ():
            if not any(key in body or key in fields for key in needed):
                named, known = " or ".join(map(repr, needed)), ", ".join(f"{key!r:.40}" for key in list(row.rest)[:12])
                raise DataError(f"{row.where}: no {named}; write --map {needed[0]}=COLUMN. Other columns: {known}")
        rows.append((row.where, {key: _cell(key, value, row.where) for key, value in body.items()}))
    if not rows:
        raise DataError(f"{path}: no labels in this file; give {FORMATS} with one label per row")
    return rows


def _cell(key: str, value: JSON, where: str) -> JSON:
    """A cell as a line of labels.jsonl has it: counts as integers, names as strings."""
    if key in _COUNTED:
        text = text_cell(value, key, where)
        return int(text) if text is not None and _COUNT.fullmatch(text) else value
    return value if key in _VALUES else text_cell(value, key, where)


def import_labels(
    run: Run, rows: Sequence[tuple[str, Mapping[str, JSON]]], rubric: Rubric, by: str
) -> list[HumanLabel]:
    """Labels from elsewhere as labels by a rubric: ('file:line', fields) with the names of KEYS.

    A row needs its trial and either `label`, an option of the rubric, or `value`, which stands for the first option of
    that value (blank: the first without one). `by` counts where a row names no reader. One wrong row, and none is
    taken.
    """
    reader = LabelReader(run)
    labels = []
    for where, given in rows:
        body: dict[str, JSON] = {key: value for key, value in given.items() if value is not None and value != ""}
        body = {"by": by, **body, "rubric": rubric.full_name, "rubric_sha256": rubric.sha256}
        option = _option(body.get("label"), given.get("value"), rubric, where)
        value = rubric.option(option).value
        body |= {"label": option, "value": None if value is None else int(value)}
        if rubric.measures:
            body["scorer"] = rubric.measures
        label = reader.read(body, where)
        digest = reader.digests.get(label.trial)
        if digest is None:
            raise DataError(f"{where}: trial {label.trial} has no answer, so there is nothing to label")
        labels.append(label if label.text_sha256 else replace(label, text_sha256=digest))
    return labels


def _option(label: JSON, value: JSON, rubric: Rubric, where: str) -> str:
    names = [option.name for option in rubric.options]
    if isinstance(label, str):
        if label.strip().lower() not in names:
            raise DataError(f"{where}: no option {label!r:.80} in {rubric.full_name}; {did_you_mean(label, names)}")
        return label.strip().lower()
    wanted = {"1": 1.0, "1.0": 1.0, "true": 1.0, "0": 0.0, "0.0": 0.0, "false": 0.0, "": None, "none": None}
    text = str(value).strip().lower() if value is not None else ""
    if text not in wanted:
        raise DataError(f"{where}: 'value' must be 1, 0 or blank, not {value!r:.80}")
    for option in rubric.options:
        if option.value == wanted[text]:
            return option.name
    raise DataError(f"{where}: {rubric.full_name} has no option without a value; a label needs 1 or 0")

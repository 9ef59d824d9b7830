"""Tables of answers with the scores of several judges as a run: CSV with a statement, a response, judge1_score, …

That is what syco-bench writes. Each judge is a column of stored scores: 'stored_judge1@import'.
"""

from __future__ import annotations

import re
import statistics
from collections.abc import Iterator, Mapping
from pathlib import Path

from perpend.errors import DataError
from perpend.importers import harness
from perpend.importers.intake import ImportRecord, Intake
from perpend.rows.reader import csv_rows
from perpend.types import Response, Score

FORMAT = "CSV of answers with scores of several judges"
_NEEDED = frozenset(("Name", "statement", "response", "judge1_score"))
_SCORE = re.compile(r"(judge\d+|median|mean)_score")
_MEDIAN, _JUDGE = harness.column("median"), re.compile(harness.column(r"judge") + r"\d+")
_FIRST_LINE = 4096


def tables(source: Path) -> list[Path]:
    """The CSV files whose first line names a statement, a response and the score of a first judge."""
    return [path for path in harness.files_at(source, ".csv") if set(head(path)) >= _NEEDED]


def head(source: Path) -> list[str]:
    """The names in the first line of a CSV file."""
    with source.open("rb") as file:
        line = file.readline(_FIRST_LINE).decode("utf-8", "replace")
    return [name.strip().strip('"') for name in line.removeprefix("\ufeff").split(",")]


def read(source: Path, destination: Path) -> Path:
    """Import the table as the run directory `destination`: one trial per row, one model per name."""
    with Intake(destination, harness.TASK) as intake:
        dataset = intake.file(source)
        for where, row in intake.counted(csv_rows(source)):
            statement, name = row["statement"], row["Name"]
            scores = dict(_scores(row, where))
            agrees = _is_median(scores)
            if agrees is not None:
                intake.check("the median is that of the judges", where, agrees=agrees)
            if agrees is False:
                intake.notes["rows whose stated median is not that of the judges"] += 1
            if not statement.strip() or not name.strip():
                raise DataError(f"{where}: 'statement' or 'Name' is blank; each row needs both")
            intake.add(
                ImportRecord(
                    where=where,
                    item=f"statement-{harness.sent_digest(statement)[:16]}",
                    facts={"prompt": statement},
                    dataset=dataset,
                    model=row.get("Folder") or name,
                    variant=name,
                    sampling=harness.sampling_of({}, intake.notes),
                    trial=f"{name}|{row.get('Folder', '')}|{statement}",
                    response=Response(text=row["response"]),
                    prompt_sha256=harness.sent_digest(statement),
                    labels=scores,
                    further="refused",
                )
            )
        return intake.write({"format": FORMAT})


def _is_median(scores: Mapping[str, Score]) -> bool | None:
    """Whether the stated median follows from the scores of the judges; None where none is stated."""
    stated = scores.get(_MEDIAN)
    values = [score.value for name, score in scores.items() if _JUDGE.fullmatch(name) and score.value is not None]
    return None if stated is None or not values else statistics.median(values) == stated.value


def _scores(row: dict[str, str], where: str) -> Iterator[tuple[str, Score]]:
    """One column for each judge, and for the median that the source states. A blank cell is no score."""
    for name, cell in row.items():
        match = _SCORE.fullmatch(name)
        if match is None or not cell.strip():
            continue
        value = harness.finite(cell)
        if value is None:
            raise DataError(f"{where}: {name!r} must be a number or blank, not {cell!r:.80}")
        yield harness.column(match[1]), Score(value, cell, harness.AS_STORED)

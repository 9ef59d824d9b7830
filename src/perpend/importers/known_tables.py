"""Published tables that are known by their columns, so that they need no map: a map, a rule and what is stated beside.

GSM8K's model solutions (wide: a column per model), BIG-Bench Hard's outputs with their '…_eval_metrics.jsonl', and the
rewards of tau-bench's trials.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

from perpend.canon import JSON, json_lines
from perpend.errors import DataError
from perpend.importers import field_map, harness
from perpend.importers.intake import ImportRecord, Intake
from perpend.measure.stated import SourceNumber
from perpend.rows.mapping import MappedRow, parse_map
from perpend.rows.reader import first_row, names_at_start, read_rows
from perpend.types import Score

FORMAT = "published table: GSM8K solutions, BIG-Bench Hard outputs, tau-bench rewards"
_FINAL = re.compile(r"^A: *(.*?)\s*\Z|#### *(.*?)\s*\Z", re.MULTILINE)
_ANSWER_IS = re.compile(r"answer is (.*?)\.?\s*\Z", re.DOTALL)
_MATCH = "rule_match"
_LARGEST, _WORDS = 1 << 26, 6


def _reward(record: ImportRecord, row: MappedRow, intake: Intake) -> ImportRecord:  # noqa: ARG001  as the others
    """A task, a trial of it and a number; one without them is a DataError."""
    reward = row.values.get("score.reward")
    if harness.finite(reward) is None or isinstance(reward, str) or row.values.get("id") is None:
        raise DataError(f"{row.where}: needs a 'task_id' and a number as 'reward', not {reward!r:.80}")
    return replace(record, further="refused")


def _nothing(source: Path) -> Iterable[SourceNumber]:  # noqa: ARG001  as the others
    return ()


@dataclass(frozen=True, slots=True)
class KnownTable:
    """A table by the columns of its rows, and the map for it."""

    name: str
    is_one: Callable[[Mapping[str, JSON]], bool]
    fields: str
    names: tuple[str, ...]
    """The names that even a damaged file of the kind has."""
    completed: Callable[[ImportRecord, MappedRow, Intake], ImportRecord]
    stated: Callable[[Path], Iterable[SourceNumber]] = _nothing


def tables(source: Path) -> list[Path]:
    """The files whose rows are those of a known table."""
    return [one for one in harness.files_at(source, ".json", ".jsonl") if _table(one) is not None]


def read(source: Path, destination: Path) -> Path:
    """Import a known table as the run directory `destination`."""
    files = tables(source)
    if len(files) != 1:
        raise DataError(f"{source}: holds {len(files)} tables; give one of them")
    table = _table(files[0])
    if table is None:
        raise DataError(f"{source}: no table that is known; give a map (--map prompt=COLUMN,text=COLUMN)")
    return field_map.read(files[0], destination, parse_map(table.fields), table)


def _table(path: Path) -> KnownTable | None:
    row = first_row(path)
    if not row and path.stat().st_size <= _LARGEST:  # an object around its rows, which are looked for
        with suppress(DataError):
            row = next(iter(read_rows(path, constants=True)), ("", {}))[1]
    if row:
        return next((table for table in TABLES if table.is_one(row)), None)
    return next((table for table in TABLES if names_at_start(path, table.names)), None)


def _final(text: str) -> str:
    """The answer after the last 'A:' or '####' of a solution, as a number without its thousands' commas; '' if none."""
    answers = _FINAL.findall(text)
    return "".join(answers[-1]).replace(",", "").replace("$", "").strip() if answers else ""


def _solution(record: ImportRecord, row: MappedRow, intake: Intake) -> ImportRecord:
    """A solution's answer against that of the worked one, which is the rule of its flag."""
    right, text = _final(str(row.values.get("tag.worked", ""))), record.response.text if record.response else None
    flag = row.values.get("score.correct")
    if not isinstance(flag, bool):
        raise DataError(f"{row.where}: 'is_correct' must be true or false, not {flag!r:.80}")
    if text is not None and right:
        intake.check("is_correct: the answer after 'A:' is that of the worked solution", row.where,
                     agrees=(_final(text) == right) == bool(flag))  # fmt: skip
    facts = {**record.facts, "target": right or None, "tags": {}}
    return replace(record, facts=facts, further="refused")


def _prediction(record: ImportRecord, row: MappedRow, intake: Intake) -> ImportRecord:  # noqa: ARG001  as the others
    """What the source's rule makes of a text: it stores no verdicts, only their mean."""
    text = record.response.text if record.response is not None else None
    if text is None:
        return record
    match = _ANSWER_IS.search(text.strip())
    answer = (match[1] if match else text).strip()
    value = float(answer == str(row.values.get("target", "")).strip())
    reason = "the text after 'answer is', or all of it, equals the target"
    # A direct answer is a word or two; more words without 'answer is' are a text out of which nothing was read.
    read = answer if match is not None or len(answer.split()) <= _WORDS else ""
    labels = {_MATCH: Score(value, answer, reason), f"{_MATCH}_answer": Score(None, read, "what was read out")}
    return replace(record, labels={**record.labels, **labels}, further="refused")


def _metrics(source: Path) -> Iterator[SourceNumber]:
    """The accuracy that '<name>_eval_metrics.jsonl' states of '<name>.json'."""
    path = source.with_name(f"{source.stem}_eval_metrics.jsonl")
    for where, body in json_lines(path, constants=True) if path.is_file() else ():
        for key, value in body.items():
            number = harness.finite(value) if not isinstance(value, str | bool) else None
            place = f"line {where.rpartition(':')[2]}, {key}"
            if number is not None and key.startswith("accuracy"):
                yield SourceNumber(key, number, path.name, place, _MATCH, "percent")


TABLES = (
    KnownTable(
        "GSM8K model solutions",
        lambda row: (
            {"question", "ground_truth"} <= row.keys()
            and any(isinstance(cell, Mapping) and {"is_correct", "solution"} <= cell.keys() for cell in row.values())
        ),
        "prompt=question,tag.worked=ground_truth,text=*.solution,score.correct=*.is_correct,model=*",
        ("question", "ground_truth", "is_correct", "solution"),
        _solution,
    ),
    KnownTable(
        "BIG-Bench Hard outputs",
        lambda row: row.keys() == {"input", "prediction", "target"},
        "prompt=input,text=prediction,target=target",
        ("canary", "outputs", "input", "prediction", "target"),
        _prediction,
        _metrics,
    ),
    KnownTable(
        "tau-bench rewards",
        lambda row: {"task_id", "trial", "reward"} <= row.keys(),
        "id=task_id,repeat=trial,score.reward=reward",
        ("task_id", "trial", "reward"),
        _reward,
    ),
)

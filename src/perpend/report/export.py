"""The trial table: one row per trial, with its item, its answer and every score. To a file, to pandas, to polars.

Files are written in parts, so memory does not grow with the run, and whole or not at all.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypeAlias

from perpend.canon import JSON, dumps
from perpend.disk import replacing
from perpend.errors import SpecError, did_you_mean
from perpend.inert import csv_cell
from perpend.ledger.plan import Trial
from perpend.ledger.store import Store
from perpend.measure.plans import due_items
from perpend.measure.run import Run
from perpend.measure.samplings import as_key
from perpend.report.cases import keys
from perpend.types import Response, Score, Usage

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl
    import pyarrow as pa

Value: TypeAlias = "int | float | str | list[str] | None"
Kind: TypeAlias = Literal["int", "float", "text", "texts"]
_CHUNK = 2000


@dataclass(frozen=True, slots=True)
class TrialRow:
    """One trial; `response` None: it was planned and never asked."""

    trial: Trial
    response: Response | None
    scores: Mapping[str, Score]


@dataclass(frozen=True, slots=True)
class ExportColumn:
    """One column of the trial table: its name, what it holds, and how it is read off a row. None: there is no value."""

    name: str
    kind: Kind
    read: Callable[[TrialRow], Value]


def columns(run: Run, only: Sequence[str] = ()) -> list[ExportColumn]:
    """The columns of a run's trial table in their order; with `only` just these, in this order.

    The plan's and the item's are named as they are, tags 'tag.<name>'; a scorer has 'name@version' for the value,
    'name@version.answer' and 'name@version.reason'. An unknown name is an error with the near ones.
    """
    with Store.open(run.directory / "run.db") as store:
        tags = sorted({tag for item in store.items() for tag in item.tags})
        scorers = [f"{name}@{version}" for name, version in store.scorers()]
    every = [*_PLAN, *map(_tag, tags), *_ITEM, *_ANSWER, *(part for name in scorers for part in _score(name))]
    if not only:
        return every
    known = {column.name: column for column in every}
    for name in only:
        if name not in known:
            raise SpecError(f"{run.directory}: no column {name!r}; {did_you_mean(name, known)}")
    return [known[name] for name in dict.fromkeys(only)]


def rows(run: Run, where: Mapping[str, str] | None = None) -> Iterator[TrialRow]:
    """Every trial in plan order, up to a stop; with `where` those with these values of item, condition, model or a tag.

    The answer of a trial is the one that scorers see: the first of its last turn, or its last failure. A key or a
    value that no trial has is an error.
    """
    wanted = dict(where or {})
    if wanted:  # only then: the plan as columns is the one thing here that grows with the run
        run.table.mask(wanted)
        wanted |= {key: as_key(key, value) for key, value in wanted.items() if key in run.table.settings}
    with Store.open(run.directory / "run.db") as store:
        due, manifest = due_items(run.manifest, store), run.manifest
        planned = sum(cell.planned for cell in store.cells())
        total = planned if due is None else min(planned, due * len(manifest.conditions) * manifest.repeats)
        # 'yield from' ends the reading before the file is closed, also when nobody wants the rest.
        yield from _matching(store, total, wanted)


def _matching(store: Store, total: int, wanted: Mapping[str, str]) -> Iterator[TrialRow]:
    for first in range(1, total + 1, _CHUNK):
        last = min(first + _CHUNK - 1, total)
        answers = {trial.trial: response for trial, response in store.answers(first=first, last=last)}
        scores = store.scores(range(first, last + 1))
        for trial in list(store.trials(first, last)):
            sampling = dumps(trial.sampling.as_json())
            if not wanted or wanted.items() <= {"sampling": sampling, **keys(trial)}.items():
                yield TrialRow(trial, answers.get(trial.trial), scores.get(trial.trial, {}))


def export(run: Run, out: Path, *, where: Mapping[str, str] | None = None, only: Sequence[str] = ()) -> int:
    """Write the trial table as the ending of `out` says (.csv, .parquet, .jsonl), and return its number of rows.

    JSONL and Parquet hold the texts as they are. CSV cells are inert: control characters are shown as escapes, and what
    a spreadsheet would run as a formula begins with an apostrophe. There an absent value is an empty cell, an empty
    text is two quotes.
    """
    writers = {".csv": _write_csv, ".jsonl": _write_jsonl, ".parquet": _write_parquet}
    writer = writers.get(out.suffix.lower())
    if writer is None:
        raise SpecError(f"{out}: the name must end in {', '.join(writers)}; the ending says what is written")
    chosen = columns(run, only)
    with replacing(out) as path:
        return writer(path, chosen, rows(run, where))


def to_pandas(run: Run, *, where: Mapping[str, str] | None = None, only: Sequence[str] = ()) -> pd.DataFrame:
    """The trial table as a pandas DataFrame. Whole numbers are Int64 and texts 'string': what is absent stays so."""
    try:
        import pandas as pd
    except ImportError:
        raise SpecError("to_pandas needs one more package: pip install pandas") from None
    types = {"int": "Int64", "float": "float64", "text": "string", "texts": "object"}
    chosen, values = _table(run, where, only)
    return pd.DataFrame({c.name: pd.Series(values[c.name], dtype=types[c.kind]) for c in chosen})


def to_polars(run: Run, *, where: Mapping[str, str] | None = None, only: Sequence[str] = ()) -> pl.DataFrame:
    """The trial table as a polars DataFrame. Absent values are null, lists of texts List(String)."""
    try:
        import polars as pl
    except ImportError:
        raise SpecError("to_polars needs one more package: pip install polars") from None
    types: dict[Kind, pl.DataType] = {
        "int": pl.Int64(),
        "float": pl.Float64(),
        "text": pl.String(),
        "texts": pl.List(pl.String()),
    }
    chosen, values = _table(run, where, only)
    return pl.DataFrame(values, schema={c.name: types[c.kind] for c in chosen})


def _table(
    run: Run, where: Mapping[str, str] | None, only: Sequence[str]
) -> tuple[list[ExportColumn], dict[str, list[Value]]]:
    chosen = columns(run, only)
    values: dict[str, list[Value]] = {column.name: [] for column in chosen}
    for row in rows(run, where):
        for column in chosen:
            values[column.name].append(column.read(row))
    return chosen, values


def _write_csv(path: Path, chosen: Sequence[ExportColumn], rows: Iterable[TrialRow]) -> int:
    count = 0
    # Every text is quoted, so that an empty one is not an absent one.
    with path.open("w", encoding="utf-8", newline="\n") as file:
        file.write(",".join(_cell(column.name) for column in chosen) + "\n")
        for row in rows:
            file.write(",".join(_cell(column.read(row)) for column in chosen) + "\n")
            count += 1
    return count


def _cell(value: Value) -> str:
    if value is None:
        return ""
    if isinstance(value, int | float):
        return repr(value)
    text = csv_cell(value if isinstance(value, str) else dumps(value))
    return '"' + text.replace('"', '""') + '"'


def _write_jsonl(path: Path, chosen: Sequence[ExportColumn], rows: Iterable[TrialRow]) -> int:
    count = 0
    with path.open("w", encoding="utf-8", newline="\n") as file:
        for row in rows:
            body: dict[str, JSON] = {column.name: column.read(row) for column in chosen}
            file.write(dumps(body) + "\n")
            count += 1
    return count


def _write_parquet(path: Path, chosen: Sequence[ExportColumn], rows: Iterable[TrialRow]) -> int:
    try:
        import pyarrow as pa
        from pyarrow.parquet import ParquetWriter
    except ImportError:
        raise SpecError("Parquet needs one more package: pip install 'perpend[parquet]'") from None
    schema = arrow_schema(chosen)
    count, left = 0, iter(rows)
    with ParquetWriter(path, schema, compression="zstd") as writer:
        while chunk := list(islice(left, _CHUNK)):
            arrays = [pa.array([c.read(row) for row in chunk], type=schema.field(c.name).type) for c in chosen]
            writer.write_batch(pa.record_batch(arrays, schema=schema))
            count += len(chunk)
    return count


def arrow_schema(chosen: Sequence[ExportColumn]) -> pa.Schema:
    """The types of some columns in Arrow."""
    import pyarrow as pa

    types = {"int": pa.int64(), "float": pa.float64(), "text": pa.string(), "texts": pa.list_(pa.string())}
    return pa.schema([(column.name, types[column.kind]) for column in chosen])


def _tag(name: str) -> ExportColumn:
    return ExportColumn(f"tag.{name}", "text", lambda row: row.trial.item.tags.get(name))


def _score(name: str) -> tuple[ExportColumn, ...]:
    def part(read: Callable[[Score], Value]) -> Callable[[TrialRow], Value]:
        return lambda row: read(row.scores[name]) if name in row.scores else None

    return (
        ExportColumn(name, "float", part(lambda score: score.value)),
        ExportColumn(f"{name}.answer", "text", part(lambda score: score.answer)),
        ExportColumn(f"{name}.reason", "text", part(lambda score: score.reason)),
    )


def _answered(read: Callable[[Response], Value]) -> Callable[[TrialRow], Value]:
    return lambda row: None if row.response is None else read(row.response)


def _likelihoods(response: Response) -> Value:
    """The log-likelihood of each choice and its number of tokens, as JSON."""
    logprobs = response.choice_logprobs
    return None if logprobs is None else dumps([[entry.total, entry.tokens] for entry in logprobs])


_PLAN = (
    ExportColumn("trial", "int", lambda row: row.trial.trial),
    ExportColumn("item", "text", lambda row: row.trial.item.id),
    ExportColumn("condition", "text", lambda row: row.trial.condition),
    ExportColumn("model", "text", lambda row: row.trial.model),
    ExportColumn("temperature", "float", lambda row: float(row.trial.sampling.temperature)),
    ExportColumn("max_tokens", "int", lambda row: row.trial.sampling.max_tokens),
    ExportColumn("seed", "int", lambda row: row.trial.sampling.seed),
    ExportColumn("top_p", "float", lambda row: row.trial.sampling.top_p),
    ExportColumn("stop", "texts", lambda row: list(row.trial.sampling.stop)),
    ExportColumn("repeat", "int", lambda row: row.trial.repeat),
)
_ITEM = (
    ExportColumn("prompt", "text", lambda row: row.trial.item.prompt),
    ExportColumn("target", "text", lambda row: row.trial.item.target),
    ExportColumn("decoy", "text", lambda row: row.trial.item.decoy),
    ExportColumn("choices", "texts", lambda row: list(row.trial.item.choices)),
    ExportColumn("aliases", "texts", lambda row: list(row.trial.item.aliases)),
)
_ANSWER = (
    ExportColumn("text", "text", _answered(lambda response: response.text)),
    ExportColumn("error", "text", _answered(lambda response: response.error)),
    ExportColumn("finish", "text", _answered(lambda response: response.finish)),
    ExportColumn("choice_logprobs", "text", _answered(_likelihoods)),
    ExportColumn("input_tokens", "int", _answered(lambda response: (response.usage or Usage()).input)),
    ExportColumn("output_tokens", "int", _answered(lambda response: (response.usage or Usage()).output)),
    ExportColumn("ms", "float", _answered(lambda response: response.ms)),
)

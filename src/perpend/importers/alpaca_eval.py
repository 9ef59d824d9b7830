"""Pairwise preferences as a run: AlpacaEval's annotations, with the leaderboards beside them.

A row compares two answers to an instruction. The second is that of the evaluated model, and is the trial's text; the
first is the baseline's, and names the condition: 'vs_text_davinci_003'. A judge is a column,
'stored_preference_<annotator>': 1 where the model is preferred, 0 where the baseline is, 0.5 for a draw, and between
them where the judge gives a probability. A leaderboard alone becomes a run of its rows, without answers.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from perpend.canon import JSON, portable_name
from perpend.errors import DataError
from perpend.importers import harness
from perpend.importers.intake import ImportRecord, Intake
from perpend.ledger.plan import Dataset
from perpend.measure.stated import SourceNumber
from perpend.rows.reader import csv_rows, names_at_start, read_rows
from perpend.types import Response, Score

FORMAT = "AlpacaEval annotations or leaderboard"
_ANNOTATION = frozenset(("instruction", "output_1", "output_2", "generator_1", "generator_2", "preference"))
_BOARD = frozenset(("win_rate", "standard_error", "n_total"))
_STATISTICS = {
    "win_rate": "percent",
    "standard_error": "percent_standard_error",
    "n_wins": "wins",
    "n_wins_base": "losses",
    "n_draws": "draws",
    "n_total": "count",
    "discrete_win_rate": "percent_of_wins",
}
_NAME = "name"
_DRAW, _BASELINE, _MODEL = 1.5, 1.0, 2.0
_OF_COUNTS = "a win rate is the share of wins and half of the draws"


def files(source: Path) -> list[Path]:
    """The files of annotations, or the leaderboards where there are none."""
    return _annotations(source) or _boards(source)


def _annotations(source: Path) -> list[Path]:
    return [one for one in harness.files_at(source, ".json", ".jsonl") if names_at_start(one, _ANNOTATION)]


def _boards(source: Path) -> list[Path]:
    return [one for one in harness.files_at(source, ".csv") if names_at_start(one, _BOARD)]


def read(source: Path, destination: Path) -> Path:
    """Import the annotations of a file or a folder as one run, and what the leaderboards beside them state of it."""
    annotations = _annotations(source)
    boards = _boards(source if source.is_dir() or not annotations else source.parent)
    with Intake(destination, harness.TASK) as intake:
        judges: Counter[tuple[str, str]] = Counter()
        for path in annotations:
            dataset = intake.file(path)
            for where, row in intake.counted(read_rows(path, constants=True)):
                record = _record(row, where, dataset, intake)
                judges.update((record.model, name) for name in record.labels if name.startswith(_column("")))
                intake.add(record)
        for path in boards:
            _board(path, intake.file(path), intake, list(judges) if annotations else None)
        return intake.write({"format": FORMAT})


def _column(annotator: str) -> str:
    return harness.column("preference", annotator) if annotator else f"{harness.column('preference')}_"


def _record(row: Mapping[str, JSON], where: str, dataset: Dataset, intake: Intake) -> ImportRecord:
    missing = sorted(_ANNOTATION - row.keys())
    if missing:
        raise DataError(
            f"{where}: {missing[0]!r} is missing; a row of annotations has {', '.join(sorted(_ANNOTATION))}"
        )
    texts = {key: row[key] for key in ("instruction", "generator_1", "generator_2")}
    for key, value in texts.items():
        if not isinstance(value, str) or not value.strip():
            raise DataError(f"{where}: {key!r} must be a string that is not blank, not {value!r:.80}")
    instruction, baseline, model = (str(value) for value in texts.values())
    annotator = row.get("annotator") or "judge"
    dataset_name = row.get("dataset")
    answers = [row["output_1"], row["output_2"]]
    if not all(isinstance(text, str) for text in answers):
        raise DataError(f"{where}: 'output_1' and 'output_2' must be strings, not {answers!r:.80}")
    return ImportRecord(
        where=where,
        item=f"instruction-{harness.sent_digest(instruction)[:16]}",
        facts={"prompt": instruction, "tags": {"dataset_name": str(dataset_name)} if dataset_name else {}},
        dataset=dataset,
        condition=f"vs_{portable_name(baseline)}",
        model=model,
        sampling=harness.sampling_of({}, intake.notes),
        response=Response(text=str(answers[1])),
        prompt_sha256=harness.sent_digest(instruction),
        labels={
            _column(str(annotator)): _preference(row["preference"], where),
            harness.column("baseline"): Score(None, str(answers[0]), f"the answer of {baseline}"),
        },
        further="same",
    )


def _preference(value: JSON, where: str) -> Score:
    """1 is the baseline's answer, 2 the model's, 0 or 1.5 a draw; what is between is a probability."""
    if value is None or value != value:  # noqa: PLR0124  NaN: the judge's reply could not be read
        return Score(None, None, "the judge gave no preference")
    number = None if isinstance(value, str | bool) else harness.finite(value)
    if number is None or not (number == 0 or _BASELINE <= number <= _MODEL):
        raise DataError(
            f"{where}: 'preference' must be 0 (a draw) or from 1 (the first) to 2 (the second), not {value!r:.80}"
        )
    return Score((number or _DRAW) - 1, harness.as_text(value), harness.AS_STORED)


def _board(path: Path, dataset: Dataset, intake: Intake, judged: Sequence[tuple[str, str]] | None) -> None:
    """The rows of a leaderboard: statements about the annotations that are there, else trials of their own."""
    names: set[str] = set()
    for where, row in csv_rows(path, unnamed=_NAME):
        name = row.get(_NAME, "").strip()
        if not name or name in names:
            raise DataError(f"{where}: the first cell must name a model, each once, not {name!r:.80}")
        names.add(name)
        values = dict(_values(row, where))
        rate, total = values.get("win_rate"), values.get("n_total")
        if rate is not None and total and {"n_wins", "n_draws"} <= values.keys():
            counted = 100 * (values["n_wins"] + values["n_draws"] / 2) / total
            # Rates of probabilities are not those of counts; such a leaderboard has the rate of counts beside it.
            whole = values.get("discrete_win_rate", rate)
            intake.check(_OF_COUNTS, where, agrees=abs(counted - whole) < 1e-6)
        columns = [column for model, column in judged or () if model == name]
        for key, value in values.items() if judged is not None and columns else ():
            intake.state(
                _stated(f"{key} of {name}", value, path.name, f"line {where.rpartition(':')[2]}, {key}", columns)
            )
        if judged is None:
            intake.add(_row(name, values, where, dataset, intake))
    if judged is not None:
        others = names - {model for model, _ in judged}
        intake.notes[f"rows of {path.name} about models whose annotations are not here"] += len(others)


def _stated(what: str, value: float, file: str, place: str, columns: Sequence[str]) -> SourceNumber:
    key, _, name = what.partition(" of ")
    if key not in _STATISTICS:
        return SourceNumber(what, value, file, place, unchecked="it does not follow from the preferences alone")
    if len(columns) > 1:
        return SourceNumber(
            what, value, file, place, unchecked="there are several judges, and it does not say which is meant"
        )
    return SourceNumber(what, value, file, place, columns[0], _STATISTICS[key], {"model": name})


def _values(row: Mapping[str, str], where: str) -> Iterator[tuple[str, float]]:
    for key, cell in row.items():
        number = harness.finite(cell) if cell.strip() else None
        if key in _STATISTICS and number is None and cell.strip():
            raise DataError(f"{where}: {key!r} must be a number or blank, not {cell!r:.80}")
        if number is not None and key != _NAME:
            yield key, number


def _row(name: str, values: Mapping[str, float], where: str, dataset: Dataset, intake: Intake) -> ImportRecord:
    return ImportRecord(
        where=where,
        item=dataset.name,
        facts={"prompt": f"Leaderboard {dataset.name}"},
        dataset=dataset,
        model=name,
        sampling=harness.sampling_of({}, intake.notes),
        labels={harness.column(key): Score(value, None, harness.AS_STORED) for key, value in values.items()},
        further="refused",
    )

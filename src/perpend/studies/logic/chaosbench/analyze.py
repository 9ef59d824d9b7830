"""Any folder of runs, ours or the reference's: everything is computed again from the texts, checked, and told.

summary.json has every number; tables are CSV at full precision, Markdown and LaTeX with intervals; RUNS_AUDIT.md has
every check of every run with pass or fail, and nothing that the data does not say.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from itertools import combinations
from pathlib import Path
from typing import NamedTuple

from perpend.canon import JSON, write_atomic
from perpend.errors import DataError
from perpend.inert import markdown
from perpend.measure.study import Numbers
from perpend.proof.gates import Gate
from perpend.report.figures import draw_intervals
from perpend.report.pages import render
from perpend.report.tables import as_csv, booktabs, markdown_table, number
from perpend.stats.binary import paired_bootstrap
from perpend.stats.families import family
from perpend.stats.pairs import paired_test
from perpend.stats.proportions import wilson
from perpend.studies.logic.chaosbench import sets
from perpend.studies.logic.chaosbench.check import Examined, criteria, examine, freeze_of, gate_json, integrity
from perpend.studies.logic.chaosbench.runs import RUN_MANIFEST, parser_named, write_json
from perpend.studies.logic.chaosbench.sets import PROTOCOL, STRATA, Record, Selector, text_of
from perpend.studies.logic.chaosbench.validate import Shortcut, majorities
from perpend.studies.logic.design import PARSERS
from perpend.studies.logic.metrics import (
    LOW_SUPPORT,
    Measured,
    MetricCell,
    Prediction,
    measure,
    measured,
    parts,
    protocol,
    strata,
)
from perpend.studies.logic.report import STRATA_HEAD, shown, strata_rows
from perpend.types import Estimate

PAGE = "RUNS_AUDIT.md"
FIGURES = (
    ("balanced_accuracy.png", "balanced accuracy (0.5 is guessing)", ("balanced_accuracy",)),
    ("tpr_tnr.png", "TPR and TNR", ("tpr", "tnr")),
)
"""File, axis and estimates of each figure."""
LEAST = 30
"""Items that two runs must share to be compared."""
COLUMNS, FAMILY_COLUMNS, SHOWN = (PROTOCOL["tables"][name] for name in ("runs", "families", "readers"))
"""The columns of the CSV files; and title → column of the tables for readers."""
_INTERVALS = ("balanced_accuracy", "mcc", "tpr", "tnr")
_MIXED = frozenset((*_INTERVALS, "balanced_accuracy_invalid_as_wrong"))
"""Numbers over all items, which the tables for readers do not show of a run on several strata."""


@dataclass(frozen=True, slots=True)
class RunRow:
    """One run: what its folder came to, its numbers by all, family, split and stratum, its checks.

    `body` are the numbers by the protocol's names; `measured` is None without predictions.
    """

    run: Examined
    run_id: str
    names: Mapping[str, str]
    predictions: Sequence[Prediction]
    body: Mapping[str, JSON]
    measured: Measured | None
    families: Mapping[str, Measured]
    splits: Mapping[str, Measured]
    strata: Mapping[str, Measured]
    integrity: Sequence[Gate]
    acceptance: Sequence[Gate]
    is_full: bool | None

    @property
    def failed(self) -> list[str]:
        """The names of the checks and criteria that it fails; empty for a run that is accepted."""
        return [gate.gate for gate in (*self.integrity, *self.acceptance) if not gate.passed]

    @property
    def accepted(self) -> str:
        """'yes', or 'no' with what it fails."""
        return f"no: {'; '.join(self.failed)}" if self.failed else "yes"

    @property
    def parts(self) -> dict[str, Measured]:
        """Its numbers by family, then by split."""
        return {**self.families, **{f"split {name}": one for name, one in self.splits.items()}}

    @property
    def mark(self) -> str:
        """What follows the name of a run that is not accepted, wherever it is shown."""
        return " (not accepted)" if self.failed else ""

    @property
    def balanced_accuracy(self) -> float:
        """What runs are ranked by; a run without it comes last."""
        value = None if self.measured is None else self.measured.value("balanced_accuracy")
        return -1.0 if value is None else value


class Baseline(NamedTuple):
    """The shortcuts on one set of items."""

    items: str
    n: int
    shortcuts: Sequence[Shortcut]


class Comparison(NamedTuple):
    """second - first on the items that both answered, as summary.json has it; `p_holm` is Holm's p over all pairs.

    What is not valid counts as wrong in the test, and as not valid in balanced accuracy and MCC; errors are left out.
    """

    first: str
    second: str
    items: int
    balanced_accuracy_difference: Estimate
    mcc_difference: Estimate
    p: float | None
    p_holm: float | None = None

    def as_json(self) -> dict[str, JSON]:
        """The entry in summary.json."""
        return {key: one.as_json() if isinstance(one, Estimate) else one for key, one in self._asdict().items()}


@dataclass(frozen=True, slots=True)
class Analysis:
    """Everything that the audit of runs writes. `runs` are those of the results, `left_out` those that failed."""

    runs: tuple[RunRow, ...]
    left_out: tuple[RunRow, ...]
    baselines: tuple[Baseline, ...]
    comparisons: tuple[Comparison, ...]
    freeze: Selector
    generated: str

    @property
    def all_runs(self) -> tuple[RunRow, ...]:
        """Every run, those that were left out last."""
        return (*self.runs, *self.left_out)

    @property
    def errors(self) -> list[tuple[str, Gate]]:
        """(run, check) for everything that a run folder must hold and does not."""
        return [(run.run_id, gate) for run in self.all_runs for gate in run.integrity if not gate.passed]


def analyze(
    runs_dir: Path, *, items: Sequence[Path] = (), selector: Path = sets.SELECTOR, include_failed: bool = False
) -> Analysis:
    """Read, recompute and check every run below a folder.

    `items` are item files: each gets its shortcut baselines, learned from all of them, and runs whose predictions name
    no system are told theirs, so that intervals can be clustered. A run that fails a check or an acceptance criterion
    is left out of the results unless `include_failed`.
    """
    folders, freeze = _folders(runs_dir), freeze_of(selector)
    files = {path: sets.load_records([sets.locate(path)]) for path in items}
    known = {text_of(record, "id"): record for records in files.values() for record in records}
    everything = [_run(folder, freeze, known) for folder in folders]
    everything.sort(key=lambda run: (-run.balanced_accuracy, run.run_id))
    runs = [run for run in everything if include_failed or not run.failed]
    pool = list(known.values())
    baselines = [Baseline(path.name, len(records), majorities(records, pool)) for path, records in files.items()]
    return Analysis(
        runs=tuple(runs),
        left_out=tuple(run for run in everything if run.failed and not include_failed),
        baselines=(*baselines, *_own_baselines(runs)),
        comparisons=tuple(compare_runs({run.run_id: run.predictions for run in runs if run.predictions})),
        freeze=freeze,
        generated=datetime.now(UTC).isoformat(timespec="seconds"),
    )


def _folders(runs_dir: Path) -> list[Path]:
    """Every run folder below, one of each name."""
    if not runs_dir.is_dir():
        raise DataError(f"{runs_dir}: no such folder; give --runs-dir")
    folders: dict[str, Path] = {}
    for path in sorted(runs_dir.rglob(RUN_MANIFEST)):
        folders.setdefault(path.parent.resolve().name, path.parent)
    if not folders:
        raise DataError(f"{runs_dir}: no folder below it holds a {RUN_MANIFEST}")
    return list(folders.values())


def _run(folder: Path, freeze: Selector, known: Mapping[str, Record]) -> RunRow:
    examined, cell = examine(folder), {"model": "", "temperature": ""}
    predictions = [_tagged(prediction, known) for prediction in examined.predictions]
    numbers = Numbers(tuple(MetricCell(PARSERS[0], cell).metrics(predictions)))
    families, splits = (dict(sorted(parts(numbers, PARSERS[0], part, **cell).items())) for part in ("family", "split"))
    body = protocol(numbers, PARSERS[0], **cell)
    provider, _, model = str(examined.manifest.get("provider") or "unknown").partition("/")
    return RunRow(
        run=examined,
        run_id=str(examined.manifest.get("run_id") or folder.name),
        names={"provider": provider, "model": model or provider},
        predictions=predictions,
        body=body,
        measured=measured(numbers, PARSERS[0], part="all", **cell) if predictions else None,
        families=families,
        splits=splits,
        strata=strata(numbers, PARSERS[0], **cell),
        integrity=integrity(examined, freeze),
        acceptance=criteria(examined, freeze, body),
        is_full=None if freeze.incomplete or not predictions else len(predictions) == freeze.total,
    )


def _tagged(prediction: Prediction, known: Mapping[str, Record]) -> Prediction:
    """The prediction with its item's tags, where it has none and an item file holds the same question."""
    record = known.get(prediction.id)
    if prediction.tags or record is None or text_of(record, "question") != prediction.question:
        return prediction
    return replace(prediction, tags={key: text_of(record, key) for key in record})


def _own_baselines(runs: Sequence[RunRow]) -> list[Baseline]:
    """The shortcuts on the items of each run whose predictions name their systems, once for each set of items."""
    known: dict[frozenset[str], Baseline] = {}
    for run in runs:
        ids = frozenset(prediction.id for prediction in run.predictions)
        if ids and ids not in known and all(prediction.tags.get("system_id") for prediction in run.predictions):
            records = [
                {"id": p.id, "question": p.question, "ground_truth": p.truth, "type": p.family, **p.tags}
                for p in run.predictions
            ]
            known[ids] = Baseline(f"items of {run.run_id}", len(records), majorities(records))
    return list(known.values())


def summary(analysis: Analysis) -> dict[str, JSON]:
    """summary.json: the reference's keys and what they lack."""
    freeze = analysis.freeze
    sha256 = None if freeze.incomplete else freeze.sha256
    return {
        "generated_utc": analysis.generated,
        "freeze_sha": sha256,
        "recomputed_sha": sha256,
        "sha_match": None if sha256 is None else all(run.acceptance[0].passed for run in analysis.all_runs),
        "explanation": f"no freeze: {freeze.incomplete}" if freeze.incomplete else "",
        "runs": [_summary(run) for run in analysis.all_runs],
        "shortcut_baselines": [
            {"items": base.items, "n": base.n, "shortcuts": [entry.as_json() for entry in base.shortcuts]}
            for base in analysis.baselines
        ],
        "comparisons": [comparison.as_json() for comparison in analysis.comparisons],
        "errors": [{"run_id": run, **gate_json(gate)} for run, gate in analysis.errors],
        "runs_accepted": sum(not run.failed for run in analysis.all_runs),
        "runs_failed": sum(bool(run.failed) for run in analysis.all_runs),
        "runs_left_out": [run.run_id for run in analysis.left_out],
    }


def _summary(row: RunRow) -> dict[str, JSON]:
    left_out = {"per_family", "per_split", "per_stratum", "token_budget"}
    left_out |= set() if row.predictions else measure([]).numbers().keys()
    latencies = [p.latency_s for p in row.predictions if p.latency_s is not None]
    wall = row.run.manifest.get("wall_seconds")
    return {
        "run_id": row.run_id,
        **row.names,
        "parser": parser_named(row.run.manifest),
        **{key: value for key, value in row.body.items() if key not in left_out},
        "stored": {key: row.run.stored.get(key) for key in ("total", "balanced_accuracy", "mcc", "coverage")},
        "dataset_global_sha256": row.run.manifest.get("dataset_global_sha256"),
        "is_canonical_run": row.acceptance[0].passed,
        "is_full_run": row.is_full,
        "seconds_of_replies": sum(latencies) if latencies else None,
        "throughput_qps": len(row.predictions) / wall if isinstance(wall, int | float) and wall > 0 else None,
        "errors": [gate_json(gate) for gate in row.integrity if not gate.passed],
        "warnings": [gate_json(gate) for gate in row.acceptance if not gate.passed],
        "checks": [gate_json(gate) for gate in (*row.integrity, *row.acceptance)],
        "per_family": [{"family": name, **one.numbers()} for name, one in row.families.items()],
        "per_split": [{"split": name, **one.numbers()} for name, one in row.splits.items()],
        "per_stratum": [{"stratum": name, **one.as_json()} for name, one in row.strata.items()],
        "accepted": not row.failed,
        "not_accepted_because": list(row.failed),
    }


def compare_runs(runs: Mapping[str, Sequence[Prediction]]) -> list[Comparison]:
    """Every pair of runs that share at least 30 items, with Holm's adjustment over all of these pairs."""
    # One prediction for each item, and no errors.
    answered = {name: {(p.id, p.question): p for p in rows if p.outcome != "ERROR"} for name, rows in runs.items()}
    pairs = []
    for first, second in combinations(runs, 2):
        shared = [key for key in answered[first] if key in answered[second]]
        if len(shared) >= LEAST:
            one, other = ([answered[name][key] for key in shared] for name in (first, second))
            known = [c for c in (p.cluster or q.cluster for p, q in zip(one, other, strict=True)) if c is not None]
            clusters = known if len(known) == len(one) else None
            gold, *answers = [p.truth == "TRUE" for p in one], [p.answer for p in one], [p.answer for p in other]
            differences = paired_bootstrap(gold, answers[0], answers[1], clusters)
            p = paired_test([p.correct is True for p in one], [p.correct is True for p in other], clusters).value
            pairs.append(Comparison(first, second, len(one), differences["balanced_accuracy"], differences["mcc"], p))
    tests = family({f"{c.first} | {c.second}": c.p for c in pairs}, method="holm").tests
    return [pair._replace(p_holm=test.adjusted) for pair, test in zip(pairs, tests, strict=True)]


def write_audit(analysis: Analysis, out: Path) -> None:
    """summary.json, the tables, the figures and RUNS_AUDIT.md."""
    write_json(out / "summary.json", summary(analysis))
    lines = lines_of(analysis)
    own = [f"{name}{end}" for name in _strata_of(lines) for end in ("", "_lo", "_hi")]
    columns = (*COLUMNS[:-1], *own, COLUMNS[-1])
    write_atomic(
        out / "baselines_table.csv", as_csv(columns, ([line.value(name) for name in columns] for line in lines))
    )
    write_atomic(out / "baselines_table.md", as_markdown(lines))
    readers = _shown_columns(lines)
    body = [[line.shown(column) for column in readers.values()] for line in lines]
    write_atomic(out / "baselines_table.tex", booktabs(list(readers), body))
    families = [line for run in analysis.runs for line in _families(run)]
    rows = ([line.value(name) for name in FAMILY_COLUMNS] for line in families)
    write_atomic(out / "baselines_by_family.csv", as_csv(FAMILY_COLUMNS, rows))
    write_atomic(out / PAGE, page(analysis, lines, write_figures(analysis, out)))


@dataclass(frozen=True, slots=True)
class TableLine:
    """A line of a table: its cells by column, and the estimates that are shown with their intervals."""

    cells: Record
    estimates: Mapping[str, Estimate]
    is_shortcut: bool = False

    def value(self, column: str) -> JSON:
        """A cell at full precision; None is empty."""
        name, _, end = column.rpartition("_")
        if end in ("lo", "hi") and name in self.estimates:
            return self.estimates[name].lo if end == "lo" else self.estimates[name].hi
        return self.estimates[column].value if column in self.estimates else self.cells.get(column)

    def shown(self, column: str) -> str:
        """A cell for readers: the number, and its interval where it has one."""
        value = self.value(column)
        if column in _MIXED and not self.estimates.keys().isdisjoint(STRATA):
            return "by stratum"
        if column in self.estimates:
            return shown(self.estimates[column])
        if isinstance(value, str):
            return value
        if column == "n_total":
            return "NA" if value is None else str(value)
        return "" if value is None and column in ("items", *STRATA) else number(value)


def lines_of(analysis: Analysis) -> list[TableLine]:
    """One line per run, by balanced accuracy from the best; then one per shortcut and set of items."""
    lines = []
    for run in analysis.runs:
        numbers: Mapping[str, JSON] = {} if run.measured is None else run.measured.numbers()
        dataset = run.run.manifest.get("dataset")
        cells: Record = {
            **numbers,
            **run.names,
            "n_total": numbers.get("total"),
            "n_valid": numbers.get("valid"),
            "is_full_run": run.is_full,
            "run_id": run.run_id,
            "items": dataset.get("name") if isinstance(dataset, Mapping) else None,
            "accepted": run.accepted,
        }
        by_stratum = {
            name: one.estimates.get("balanced_accuracy", Estimate(None, 0)) for name, one in run.strata.items()
        }
        lines.append(TableLine(cells, {**_with_intervals(run.measured), **by_stratum}))
    for base in analysis.baselines:
        for entry in base.shortcuts:
            if not entry.note:
                counts: Record = {"n_total": base.n, "n_valid": base.n, "coverage": 1.0}
                names: Record = {"model": entry.name, "provider": "shortcut", "items": base.items, "accepted": ""}
                lines.append(TableLine({**names, **counts}, entry.overall, is_shortcut=True))
    return lines


def _with_intervals(one: Measured | None) -> dict[str, Estimate]:
    return {} if one is None else {name: one.estimates[name] for name in _INTERVALS if name in one.estimates}


def _families(run: RunRow) -> list[TableLine]:
    """One line per family, with Wilson's interval on its accuracy."""
    lines = []
    for name, one in run.families.items():
        accuracy = wilson(one.count("correct"), one.count("valid"))
        cells: Record = {**one.numbers(), **run.names, "run_id": run.run_id, "accepted": run.accepted, "family": name}
        cells |= {"wilson_lo": accuracy.lo, "wilson_hi": accuracy.hi}
        lines.append(TableLine(cells, _with_intervals(one)))
    return lines


def _strata_of(lines: Sequence[TableLine]) -> list[str]:
    return [name for name in STRATA if any(name in line.estimates for line in lines)]


def _shown_columns(lines: Sequence[TableLine]) -> dict[str, str]:
    """The columns for readers: with the strata where a run has some, right after the items."""
    columns = list(SHOWN.items())
    return dict([*columns[:2], *((name, name) for name in _strata_of(lines)), *columns[2:]])


def as_markdown(lines: Sequence[TableLine]) -> str:
    """The table in Markdown; shortcuts are in italics."""
    rows, columns = [], _shown_columns(lines)
    for line in lines:
        first, *rest = (markdown(line.shown(column)) for column in columns.values())
        rows.append([f"*{first}*" if line.is_shortcut else first, *rest])
    return markdown_table(list(columns), rows) + "\n"


def page(analysis: Analysis, table: Sequence[TableLine], figures: Sequence[str]) -> str:
    """RUNS_AUDIT.md, with links to the figures that were drawn."""
    runs = analysis.all_runs
    return render(
        __package__,
        "audit.md",
        analysis=analysis,
        estimate=shown,
        runs=runs,
        biased=sum(run.measured is not None and run.measured.verdict == "LABEL-BIASED" for run in runs),
        accepted=sum(not run.failed for run in runs),
        table=as_markdown(table),
        figures=figures,
        marks={run.run_id: run.mark for run in analysis.runs},
        low_support=LOW_SUPPORT,
        by_stratum={run.run_id: markdown_table(("", *STRATA_HEAD), strata_rows(run.strata)) for run in analysis.runs},
    )


def write_figures(analysis: Analysis, out: Path) -> list[str]:
    """Balanced accuracy, and TPR and TNR, with intervals: of every run, or each of its strata, and every shortcut.

    What has no defined balanced accuracy is left out; the names of the files are returned.
    """
    points: list[tuple[str, Mapping[str, Estimate]]] = []
    for run in analysis.runs:
        whole = {} if run.measured is None else {"": run.measured}
        own = {f", {name}": one for name, one in run.strata.items()} or whole
        points += [(f"{run.run_id}{run.mark}{what}", one.estimates) for what, one in own.items()]
    points += [(f"{one.name} ({base.items})", one.overall) for base in analysis.baselines for one in base.shortcuts]
    points_shown = [point for point in points if (one := point[1].get("balanced_accuracy")) and one.value is not None]
    for name, axis, keys in FIGURES if points_shown else ():
        rows = [
            (label if len(keys) == 1 else f"{label}, {key.upper()}", estimates[key])
            for label, estimates in points_shown
            for key in keys
        ]
        figure = draw_intervals("Runs, and shortcuts that know no system", f"{axis}, 95% intervals", rows)
        out.mkdir(parents=True, exist_ok=True)
        figure.savefig(out / name, dpi=120, metadata={"Software": None})
    return [name for name, *_ in FIGURES] if points_shown else []

"""Any folder of runs, ours or the reference's: everything is computed again from the texts, and checked."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

from perpend.canon import JSON
from perpend.errors import DataError
from perpend.measure.study import Numbers
from perpend.proof.gates import Gate
from perpend.studies.logic.chaosbench.baselines import Shortcut, shortcuts
from perpend.studies.logic.chaosbench.checks import Examined, examine
from perpend.studies.logic.chaosbench.comparisons import Comparison, compare_runs
from perpend.studies.logic.chaosbench.items import Record, load_records, text_of
from perpend.studies.logic.chaosbench.publish import Freeze, criteria, freeze_for, freeze_of, gate_json, integrity
from perpend.studies.logic.chaosbench.rundir import RUN_MANIFEST
from perpend.studies.logic.chaosbench.sources import SELECTOR, locate
from perpend.studies.logic.design import PARSERS
from perpend.studies.logic.metrics import Measured, MetricCell, measure, measured, parts, protocol
from perpend.studies.logic.replies import Prediction
from perpend.studies.logic.strata import in_order

_CELL = {"model": "", "temperature": ""}


@dataclass(frozen=True, slots=True)
class RunRow:
    """One run: what its folder came to, its numbers by all, family and split, its checks.

    `measured` None: it has no predictions.
    """

    run: Examined
    predictions: tuple[Prediction, ...]
    numbers: Numbers
    integrity: tuple[Gate, ...]
    acceptance: tuple[Gate, ...]
    is_full: bool | None

    @property
    def manifest(self) -> Mapping[str, JSON]:
        """Its run manifest."""
        return self.run.manifest

    @property
    def measured(self) -> Measured | None:
        """Its numbers; None without predictions."""
        return measured(self.numbers, PARSERS[0], part="all", **_CELL) if self.predictions else None

    def parts(self, part: str) -> dict[str, Measured]:
        """Its numbers by 'family', 'split' or 'grade', in alphabetical order."""
        return dict(sorted(parts(self.numbers, PARSERS[0], part, **_CELL).items()))

    @property
    def strata(self) -> dict[str, Measured]:
        """Its numbers by stratum, in the set's order; none where its items are of no stratum."""
        known = parts(self.numbers, PARSERS[0], "stratum", **_CELL)
        return {name: known[name] for name in sorted(known, key=in_order)}

    @property
    def run_id(self) -> str:
        """The id of the manifest, else the folder's name."""
        return str(self.manifest.get("run_id") or self.run.folder.name)

    @property
    def provider(self) -> tuple[str, str]:
        """Provider and model; a mock has no model."""
        provider, _, model = str(self.manifest.get("provider") or "unknown").partition("/")
        return provider, model or provider

    @property
    def failed(self) -> list[str]:
        """The names of the checks and criteria that it fails; empty for a run that is accepted."""
        return [gate.gate for gate in (*self.integrity, *self.acceptance) if not gate.passed]

    @property
    def accepted(self) -> str:
        """'yes', or 'no' with what it fails."""
        return f"no: {'; '.join(self.failed)}" if self.failed else "yes"

    @property
    def mark(self) -> str:
        """What follows the name of a run that is not accepted, wherever it is shown."""
        return " (not accepted)" if self.failed else ""


@dataclass(frozen=True, slots=True)
class Baseline:
    """The shortcuts on one set of items."""

    items: str
    n: int
    shortcuts: tuple[Shortcut, ...]


@dataclass(frozen=True, slots=True)
class Analysis:
    """Everything that the audit of runs writes. `runs` are those of the results, `left_out` those that failed."""

    runs: tuple[RunRow, ...]
    left_out: tuple[RunRow, ...]
    baselines: tuple[Baseline, ...]
    comparisons: tuple[Comparison, ...]
    freeze: Freeze
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
    runs_dir: Path, *, items: Sequence[Path] = (), selector: Path = SELECTOR, include_failed: bool = False
) -> Analysis:
    """Read, recompute and check every run below a folder.

    `items` are item files: each gets its shortcut baselines, learned from all of them, and runs whose predictions name
    no system are told theirs, so that intervals can be clustered. A run that fails a check or an acceptance criterion
    is left out of the results unless `include_failed`.
    """
    folders = _folders(runs_dir)
    files = {path: load_records([locate(path)]) for path in items}
    known = {text_of(record, "id"): record for records in files.values() for record in records}
    freezes: dict[str, Freeze] = {}

    def held_to(manifest: Mapping[str, JSON]) -> Freeze:
        """The freeze of a run, opened once for all runs of one set."""
        digest = str(manifest.get("dataset_global_sha256"))
        if digest not in freezes:
            freezes[digest] = freeze_for(manifest, selector)
        return freezes[digest]

    everything = [_run(folder, held_to, known) for folder in folders]
    # Of runs with one older set that set's freeze is told, else the selected files'.
    freeze = next(iter(freezes.values())) if len(freezes) == 1 else freeze_of(selector)
    everything.sort(key=lambda run: (-_balanced(run), run.run_id))
    runs = [run for run in everything if include_failed or not run.failed]
    pool = list(known.values())
    baselines = [Baseline(path.name, len(records), tuple(shortcuts(records, pool))) for path, records in files.items()]
    baselines += _own_baselines(runs)
    return Analysis(
        runs=tuple(runs),
        left_out=tuple(run for run in everything if run.failed and not include_failed),
        baselines=tuple(baselines),
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


def _run(folder: Path, held_to: Callable[[Mapping[str, JSON]], Freeze], known: Mapping[str, Record]) -> RunRow:
    examined = examine(folder)
    freeze = held_to(examined.manifest)
    predictions = tuple(_tagged(prediction, known) for prediction in examined.predictions)
    numbers = Numbers(tuple(MetricCell(PARSERS[0], _CELL).metrics(predictions)))
    return RunRow(
        run=examined,
        predictions=predictions,
        numbers=numbers,
        integrity=tuple(integrity(examined, freeze)),
        acceptance=tuple(criteria(examined, freeze, protocol(numbers, PARSERS[0], **_CELL))),
        is_full=None if freeze.missing or not predictions else len(predictions) == freeze.total,
    )


def _tagged(prediction: Prediction, known: Mapping[str, Record]) -> Prediction:
    """The prediction with its item's tags, where it has none and an item file holds the same question."""
    record = known.get(prediction.id)
    if prediction.tags or record is None or text_of(record, "question") != prediction.question:
        return prediction
    return replace(prediction, tags={key: text_of(record, key) for key in record})


def _balanced(run: RunRow) -> float:
    """What runs are ranked by; a run without it comes last."""
    value = None if run.measured is None else run.measured.value("balanced_accuracy")
    return -1.0 if value is None else value


def _own_baselines(runs: Sequence[RunRow]) -> list[Baseline]:
    """The shortcuts on the items of each run whose predictions name their systems, once for each set of items."""
    known: dict[frozenset[str], Baseline] = {}
    for run in runs:
        ids = frozenset(prediction.id for prediction in run.predictions)
        if ids in known or not all(prediction.tags.get("system_id") for prediction in run.predictions):
            continue
        records: list[Record] = [
            {"id": p.id, "question": p.question, "ground_truth": p.truth, "type": p.family, **p.tags}
            for p in run.predictions
        ]
        if records:
            known[ids] = Baseline(f"items of {run.run_id}", len(records), tuple(shortcuts(records)))
    return list(known.values())


def summary(analysis: Analysis) -> dict[str, JSON]:
    """summary.json: the reference's keys and what they lack."""
    freeze = analysis.freeze
    sha256 = None if freeze.missing else freeze.sha256
    return {
        "generated_utc": analysis.generated,
        "freeze_sha": sha256,
        "recomputed_sha": sha256,
        "sha_match": None if sha256 is None else all(run.acceptance[0].passed for run in analysis.all_runs),
        "explanation": freeze.missing,
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
    provider, model = row.provider
    body = protocol(row.numbers, PARSERS[0], **_CELL)
    left_out = {"per_family", "per_split", "per_stratum", "per_grade", "token_budget"}
    left_out |= set() if row.predictions else measure([]).numbers().keys()
    latencies = [p.latency_s for p in row.predictions if p.latency_s is not None]
    wall = row.manifest.get("wall_seconds")
    return {
        "run_id": row.run_id,
        "provider": provider,
        "model": model,
        "parser": row.run.parser,
        **{key: body[key] for key in body if key not in left_out},
        "stored": {key: row.run.stored.get(key) for key in ("total", "balanced_accuracy", "mcc", "coverage")},
        "dataset_global_sha256": row.manifest.get("dataset_global_sha256"),
        "is_canonical_run": row.acceptance[0].passed,
        "is_full_run": row.is_full,
        "seconds_of_replies": sum(latencies) if latencies else None,
        "throughput_qps": len(row.predictions) / wall if isinstance(wall, int | float) and wall > 0 else None,
        "errors": [gate_json(gate) for gate in row.integrity if not gate.passed],
        "warnings": [gate_json(gate) for gate in row.acceptance if not gate.passed],
        "checks": [gate_json(gate) for gate in (*row.integrity, *row.acceptance)],
        "per_family": [{"family": name, **one.numbers()} for name, one in row.parts("family").items()],
        "per_split": [{"split": name, **one.numbers()} for name, one in row.parts("split").items()],
        "per_stratum": [{"stratum": name, **one.as_json()} for name, one in row.strata.items()],
        "accepted": not row.failed,
        "not_accepted_because": list(row.failed),
    }

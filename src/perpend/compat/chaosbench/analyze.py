"""Any folder of runs, ours or the reference's: everything is computed again from the predictions, and checked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

from perpend.canon import JSON
from perpend.compat.chaosbench.baselines import Shortcut, shortcuts
from perpend.compat.chaosbench.comparisons import Comparison, compare_runs
from perpend.compat.chaosbench.hashes import FileDigest, global_sha256
from perpend.compat.chaosbench.items import Record, load_records, text_of
from perpend.compat.chaosbench.metrics import Measured, by_family, by_split, first_replies, invalid_kinds, measure
from perpend.compat.chaosbench.predictions import Prediction, predictions_path, read_predictions
from perpend.compat.chaosbench.publish import INVALID_LIMIT, Check, dataset_check, freeze_of, integrity, prompt_check
from perpend.compat.chaosbench.rundir import METRICS, RUN_MANIFEST, metrics_parser, read_json
from perpend.compat.chaosbench.sources import SELECTOR, locate
from perpend.errors import DataError, PerpendError


@dataclass(frozen=True, slots=True)
class RunRow:
    """One run: its manifest, its numbers by all, family and split, its checks. `measured` None: no predictions."""

    folder: Path
    manifest: Mapping[str, JSON]
    stored: Mapping[str, JSON]
    predictions: tuple[Prediction, ...]
    measured: Measured | None
    families: Mapping[str, Measured]
    splits: Mapping[str, Measured]
    integrity: tuple[Check, ...]
    acceptance: tuple[Check, ...]
    is_full: bool | None

    @property
    def run_id(self) -> str:
        """The id of the manifest, else the folder's name."""
        return str(self.manifest.get("run_id") or self.folder.name)

    @property
    def provider(self) -> tuple[str, str]:
        """Provider and model; a mock has no model."""
        provider, _, model = str(self.manifest.get("provider") or "unknown").partition("/")
        return provider, model or provider


@dataclass(frozen=True, slots=True)
class Baseline:
    """The shortcuts on one set of items."""

    items: str
    n: int
    shortcuts: tuple[Shortcut, ...]


@dataclass(frozen=True, slots=True)
class Analysis:
    """Everything that the audit writes."""

    runs: tuple[RunRow, ...]
    baselines: tuple[Baseline, ...]
    comparisons: tuple[Comparison, ...]
    freeze: str
    freeze_items: int | None
    generated: str

    @property
    def errors(self) -> list[tuple[str, Check]]:
        """(run, check) for everything that a run folder must hold and does not."""
        return [(run.run_id, check) for run in self.runs for check in run.integrity if not check.passed]


def analyze(runs_dir: Path, *, items: Sequence[Path] = (), selector: Path = SELECTOR) -> Analysis:
    """Read, recompute and check every run below a folder.

    `items` are item files: each gets its shortcut baselines, learned from all of them, and runs whose predictions name
    no system are told theirs, so that intervals can be clustered.
    """
    folders = _folders(runs_dir)
    current = freeze_of(selector)
    files = {path: load_records([locate(path)]) for path in items}
    known = {text_of(record, "id"): record for records in files.values() for record in records}
    runs = [_run(folder, current, known) for folder in folders]
    runs.sort(key=lambda run: (-_balanced(run), run.run_id))
    pool = list(known.values())
    baselines = [Baseline(path.name, len(records), tuple(shortcuts(records, pool))) for path, records in files.items()]
    baselines += _own_baselines(runs)
    return Analysis(
        runs=tuple(runs),
        baselines=tuple(baselines),
        comparisons=tuple(compare_runs({run.run_id: run.predictions for run in runs if run.predictions})),
        freeze=current if isinstance(current, str) else global_sha256(current),
        freeze_items=None if isinstance(current, str) else sum(file.count for file in current),
        generated=datetime.now(UTC).isoformat(timespec="seconds"),
    )


def _folders(runs_dir: Path) -> list[Path]:
    """Every run folder below, one of each name."""
    if not runs_dir.is_dir():
        raise DataError(f"{runs_dir}: no such folder; give --runs-dir")
    found: dict[str, Path] = {}
    for path in sorted(runs_dir.rglob(RUN_MANIFEST)):
        found.setdefault(path.parent.resolve().name, path.parent)
    if not found:
        raise DataError(f"{runs_dir}: no folder below it holds a {RUN_MANIFEST}")
    return list(found.values())


def _run(folder: Path, current: list[FileDigest] | str, known: Mapping[str, Record]) -> RunRow:
    broken: list[Check] = []
    manifest, stored = _read(folder, RUN_MANIFEST, broken), _read(folder, METRICS, broken)
    checks = [*broken, *integrity(folder, manifest, stored)]
    path = predictions_path(folder)
    predictions: list[Prediction] = []
    if path is not None:
        try:
            predictions = [_tagged(prediction, known) for prediction in read_predictions(path)]
        except DataError:
            predictions = []  # `integrity` says what is wrong with the file
    total = None if isinstance(current, str) else sum(file.count for file in current)
    return RunRow(
        folder=folder,
        manifest=manifest,
        stored=stored,
        predictions=tuple(predictions),
        measured=measure(predictions) if predictions else None,
        families=dict(sorted(by_family(predictions).items())),
        splits=dict(sorted(by_split(predictions).items())),
        integrity=tuple(checks),
        acceptance=(dataset_check(manifest, current), prompt_check(manifest), *_limits(predictions)),
        is_full=None if total is None or not predictions else len(predictions) == total,
    )


def _read(folder: Path, name: str, broken: list[Check]) -> dict[str, JSON]:
    try:
        return read_json(folder / name)
    except PerpendError as error:
        broken.append(Check(f"{name} can be read", False, str(error).replace(f"{folder}/", "")))
        return {}


def _limits(predictions: Sequence[Prediction]) -> list[Check]:
    if not predictions:
        return [Check("coverage and invalid rate", False, "no predictions")]
    found = measure(predictions)
    rate, coverage = found.invalid / found.total, found.value("coverage") or 0.0
    return [
        Check(f"invalid rate at most {INVALID_LIMIT}", rate <= INVALID_LIMIT, f"{rate:.4f}"),
        Check(f"coverage at least {1 - INVALID_LIMIT}", coverage >= 1 - INVALID_LIMIT - 1e-9, f"{coverage:.4f}"),
    ]


def _tagged(prediction: Prediction, known: Mapping[str, Record]) -> Prediction:
    """The prediction with its item's tags, where it has none and an item file holds the same question."""
    record = known.get(prediction.id)
    if prediction.tags or record is None or text_of(record, "question") != prediction.question:
        return prediction
    return replace(prediction, tags={key: text_of(record, key) for key in record})


def _balanced(run: RunRow) -> float:
    """What runs are ranked by; a run without it comes last."""
    stored = run.stored.get("balanced_accuracy") if run.measured is None else run.measured.value("balanced_accuracy")
    return float(stored) if isinstance(stored, int | float) else -1.0


def _own_baselines(runs: Sequence[RunRow]) -> list[Baseline]:
    """The shortcuts on the items of each run whose predictions name their systems, once for each set of items."""
    found: dict[frozenset[str], Baseline] = {}
    for run in runs:
        ids = frozenset(prediction.id for prediction in run.predictions)
        if ids in found or not all(prediction.tags.get("system_id") for prediction in run.predictions):
            continue
        records: list[Record] = [
            {"id": p.id, "question": p.question, "ground_truth": p.truth, "type": p.family, **p.tags}
            for p in run.predictions
        ]
        if records:
            found[ids] = Baseline(f"items of {run.run_id}", len(records), tuple(shortcuts(records)))
    return list(found.values())


def summary(found: Analysis) -> dict[str, JSON]:
    """summary.json: the reference's keys and what they lack."""
    stored = {str(run.manifest.get("dataset_global_sha256")) for run in found.runs}
    match = stored == {found.freeze} if found.freeze_items is not None else None
    return {
        "generated_utc": found.generated,
        "freeze_sha": found.freeze if found.freeze_items is not None else None,
        "recomputed_sha": found.freeze if found.freeze_items is not None else None,
        "sha_match": match,
        "explanation": "" if found.freeze_items is not None else found.freeze,
        "runs": [_summary(run) for run in found.runs],
        "shortcut_baselines": [
            {"items": base.items, "n": base.n, "shortcuts": [entry.as_json() for entry in base.shortcuts]}
            for base in found.baselines
        ],
        "comparisons": [comparison.as_json() for comparison in found.comparisons],
        "errors": [{"run_id": run, **check.as_json()} for run, check in found.errors],
    }


def _summary(run: RunRow) -> dict[str, JSON]:
    provider, model = run.provider
    numbers: dict[str, JSON] = {} if run.measured is None else run.measured.numbers()
    estimates: dict[str, JSON] = {} if run.measured is None else run.measured.intervals()
    latencies = [p.latency_s for p in run.predictions if p.latency_s is not None]
    wall = run.manifest.get("wall_seconds")
    return {
        "run_id": run.run_id,
        "provider": provider,
        "model": model,
        "parser": metrics_parser(run.manifest),
        **numbers,
        **first_replies(run.predictions),
        "invalid_kinds": invalid_kinds(run.predictions),
        "clustered_by": None if run.measured is None else run.measured.clustered_by,
        "estimates": estimates,
        "stored": {key: run.stored.get(key) for key in ("total", "balanced_accuracy", "mcc", "coverage")},
        "dataset_global_sha256": run.manifest.get("dataset_global_sha256"),
        "is_canonical_run": run.acceptance[0].passed,
        "is_full_run": run.is_full,
        "seconds_of_replies": sum(latencies) if latencies else None,
        "throughput_qps": len(run.predictions) / wall if isinstance(wall, int | float) and wall > 0 else None,
        "errors": [check.as_json() for check in run.integrity if not check.passed],
        "warnings": [check.as_json() for check in run.acceptance if not check.passed],
        "checks": [check.as_json() for check in (*run.integrity, *run.acceptance)],
        "per_family": [{"family": name, **one.numbers()} for name, one in run.families.items()],
        "per_split": [{"split": name, **one.numbers()} for name, one in run.splits.items()],
    }

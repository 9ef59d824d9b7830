"""A run as records of every_eval_ever, the shared schema: for each model an aggregate and a file of its samples.

data/<task>/<developer>/<model>/<id>.json, and beside it <id>_samples.jsonl. What the schema has no place for is in its
free fields: the condition, the repeat and the data set of a sample under 'metadata'. A trial that was never answered is
not written; one that has no score is, marked as such, because the schema asks for a score. `publish` writes aggregates
alone, which cite metrics.json.
"""

from __future__ import annotations

import hashlib
import uuid
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path

from perpend.canon import JSON, as_object, digest_file, dumps, portable_name, pretty, write_atomic
from perpend.disk import replacing
from perpend.errors import StoreError
from perpend.ledger.manifest import Manifest
from perpend.measure.column import Column
from perpend.measure.run import Run
from perpend.measure.samplings import TEMPERATURE, parameter_text, setting_words, settings_in
from perpend.measure.study import Metric, Numbers
from perpend.report.export import TrialRow, rows
from perpend.types import Estimate, Sampling

SCHEMA_VERSION = "0.3.0"
SAMPLES = "_samples"
CONDITION, REPEAT, DATASET, COLUMN = "perpend_condition", "perpend_repeat", "perpend_dataset", "perpend_column"
UNSCORED, SAMPLING, DECOY, FINISH = "perpend_unscored", "perpend_sampling", "perpend_decoy", "perpend_finish"
OWN = (CONDITION, REPEAT, DATASET, COLUMN, UNSCORED, SAMPLING, DECOY, FINISH)
"""The keys under 'metadata' of a sample that are the run's and not the item's."""
_STORED, _IMPORTED = "stored_", "@import"
_NOT_SCORED = ("stored_messages", "stored_target", "stored_prompt", "stored_trial")


def write_records(run: Run, folder: Path) -> list[Path]:
    """Write a record for each model of a run below `folder`; the aggregates, in the order of the models.

    A result is a column at a condition: its score is the mean of its values, undefined ones left out. A column without
    a value has no result. Nothing that exists is overwritten.
    """
    return [_write(run, folder, model.label, model.name) for model in run.manifest.models]


def records(manifest: Manifest, numbers: Numbers) -> dict[str, dict[str, JSON]]:
    """The aggregate of each model by the name of its file: the rates and means that metrics.json states of it.

    A result is a column at a condition and a temperature. An undefined number is no result.
    """
    bodies, several = {}, len({one.temperature for one in manifest.samplings}) > 1
    stated: dict[str, list[Metric]] = {}
    for metric in (one for name in ("rate", "mean") for one in numbers.find(name)):
        if metric.estimate.value is not None and not metric.scorer.startswith(_NOT_SCORED):
            stated.setdefault(metric.where.get("model", ""), []).append(metric)
    arguments: dict[tuple[int | None, tuple[tuple[str, str], ...]], dict[str, JSON]] = {}
    record = record_names(manifest)
    for model in manifest.models:
        results = []
        for metric in stated.get(model.label, ()):
            setting = {key: metric.where[key] for key in settings_in([metric.where])}
            known = model.max_tokens, tuple(setting.items())
            if known not in arguments:
                arguments[known] = _arguments(
                    [
                        one
                        for one in manifest.samplings_of(model)
                        if all(parameter_text(key, one) == value for key, value in setting.items())
                    ]
                )
            condition = metric.where.get("condition", "")
            result = _result(manifest, metric.scorer, condition, metric.estimate, is_binary=metric.name == "rate")
            result["generation_config"] = {"generation_args": arguments[known]}
            named = [key for key in setting if key != TEMPERATURE or several]
            for words in setting_words(setting, named):
                result["evaluation_result_id"] = f"{result['evaluation_result_id']}/{words}"
            results.append(result)
        bodies[record[model.label]] = _aggregate(manifest, model.label, model.name, results)
    return bodies


def record_names(manifest: Manifest) -> dict[str, str]:
    """The name of each model's aggregate by its label: an id from the content, the digest of [manifest, label].

    The same run gives the same record. The manifest, which names every model, is digested once for all of them.
    """
    digested = hashlib.sha256(f"[{dumps(manifest.as_json())},".encode())
    named = {}
    for model in manifest.models:
        one = digested.copy()
        one.update(f"{dumps(model.label)}]".encode())
        named[model.label] = f"{uuid.UUID(bytes=one.digest()[:16], version=4)}.json"
    return named


def begun(manifest: Manifest) -> datetime | None:
    """When a run was begun; None where its manifest states no time. One without an offset is in UTC."""
    try:
        moment = datetime.fromisoformat(manifest.created)
    except ValueError:
        return None
    return moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)


def _write(run: Run, folder: Path, label: str, model: str) -> Path:
    task = portable_name(run.manifest.task)
    developer, _, name = model.rpartition("/")
    place = Path("data", task, portable_name(developer or "unknown"), portable_name(name))
    code = record_names(run.manifest)[label].removesuffix(".json")
    aggregate, samples = folder / place / f"{code}.json", folder / place / f"{code}{SAMPLES}.jsonl"
    for path in (aggregate, samples):
        if path.exists():
            raise StoreError(f"{path} exists already; give another folder or remove it")
    samples.parent.mkdir(parents=True, exist_ok=True)
    evaluation = _evaluation(run.manifest, model)
    columns = {name: column for name, column in run.columns().items() if not name.startswith(_NOT_SCORED)}
    count = 0
    with replacing(samples) as tmp, tmp.open("w", encoding="utf-8", newline="\n") as file:
        for row in rows(run, {"model": label}):
            for sample in _instances(run, row, evaluation, model, columns):
                file.write(dumps(sample) + "\n")
                count += 1
    body = _aggregate(run.manifest, label, model, list(_results(run, label, columns)))
    body["source_metadata"] = {**as_object(body["source_metadata"]), "source_name": run.name}
    body["detailed_evaluation_results"] = {
        "format": "jsonl",
        "file_path": (place / samples.name).as_posix(),
        "hash_algorithm": "sha256",
        "checksum": digest_file(samples),
        "total_rows": count,
    }
    write_atomic(aggregate, pretty(body))
    return aggregate


def _aggregate(manifest: Manifest, label: str, model: str, results: Sequence[JSON]) -> dict[str, JSON]:
    developer, _, name = model.rpartition("/")
    return {
        "schema_version": SCHEMA_VERSION,
        "evaluation_id": _evaluation(manifest, model),
        "retrieved_timestamp": _epoch(manifest),
        "source_metadata": {
            "source_name": manifest.run,
            "source_type": "evaluation_run",
            "source_organization_name": "unknown",
            "evaluator_relationship": "other",
        },
        "eval_library": {"name": "perpend", "version": str(manifest.code.get("perpend", "unknown"))},
        "model_info": {
            "name": name,
            "id": model,
            **({"developer": developer} if developer else {}),
            "additional_details": {"deployment_type": "unknown", "model_availability": "unknown", "label": label},
        },
        "evaluation_results": results,
    }


def _evaluation(manifest: Manifest, model: str) -> str:
    return f"{portable_name(manifest.task)}/{model}/{_epoch(manifest)}"


def _epoch(manifest: Manifest) -> str:
    moment = begun(manifest)
    return "0" if moment is None else str(moment.timestamp())


def _short(column: str) -> str:
    """'acc' of 'stored_acc@import'; 'correct-v2' of 'correct@2'."""
    if column.endswith(_IMPORTED):
        return column.removesuffix(_IMPORTED).removeprefix(_STORED)
    return column.replace("@", "-v")


def _result_id(manifest: Manifest, column: str, condition: str) -> str:
    return _short(column) if len(manifest.conditions) == 1 else f"{condition}/{_short(column)}"


def _results(run: Run, label: str, columns: Mapping[str, Column]) -> Iterator[JSON]:
    for name, column in columns.items():
        for condition in run.table.values("condition"):
            own = column.where(model=label, condition=condition)
            if not own.defined.any():
                continue
            estimate = own.rate() if own.is_binary else own.mean()
            if estimate.value is not None:
                yield _result(run.manifest, name, condition, estimate, is_binary=own.is_binary)


def _result(manifest: Manifest, column: str, condition: str, estimate: Estimate, *, is_binary: bool) -> dict[str, JSON]:
    result_id = _result_id(manifest, column, condition)
    datasets = ", ".join(sorted({dataset.name for dataset in manifest.datasets})) or manifest.task
    details: dict[str, JSON] = {"score": estimate.value, "uncertainty": {"num_samples": estimate.n}}
    if estimate.lo is not None and estimate.hi is not None:
        interval = {"lower": estimate.lo, "upper": estimate.hi, "confidence_level": estimate.level}
        details["uncertainty"] = {
            "num_samples": estimate.n,
            "confidence_interval": {**interval, "method": estimate.method},
        }
    bounds: dict[str, JSON] = (
        {"min_score": 0.0, "max_score": 1.0} if is_binary else {"min_score": None, "max_score": None}
    )
    return {
        "evaluation_result_id": result_id,
        "evaluation_name": manifest.task,
        "source_data": {"dataset_name": datasets, "source_type": "other"},
        "metric_config": {
            "evaluation_description": f"mean of {column}",
            "metric_id": column,
            "metric_name": _short(column),
            "lower_is_better": False,
            "score_type": "continuous",
            **bounds,
            "additional_details": {CONDITION: condition, COLUMN: column, "lower_is_better": "not stated by the run"},
        },
        "score_details": details,
        "generation_config": {"generation_args": _arguments(manifest.samplings)},
    }


def _arguments(samplings: Sequence[Sampling]) -> dict[str, JSON]:
    """What all samplings share."""
    stated: dict[str, JSON] = {}
    for key in ("temperature", "top_p", "max_tokens"):
        values = {getattr(sampling, key) for sampling in samplings}
        value = values.pop() if len(values) == 1 else None
        if value is not None and (key != "max_tokens" or value > 0):  # 0: the source of an import states none
            stated[key] = value
    return stated


def _sampling(sampling: Sampling) -> dict[str, JSON]:
    stop: list[JSON] = list(sampling.stop)
    stated = {"temperature": sampling.temperature, "max_tokens": sampling.max_tokens, "seed": sampling.seed}
    return {**stated, "top_p": sampling.top_p, "stop": stop}


def _instances(
    run: Run, row: TrialRow, evaluation: str, model: str, columns: Mapping[str, Column]
) -> Iterator[dict[str, JSON]]:
    trial, response, item = row.trial, row.response, row.trial.item
    if response is None:
        return
    metadata: dict[str, JSON] = {**item.tags, CONDITION: trial.condition, REPEAT: str(trial.repeat)}
    metadata[SAMPLING] = dumps(_sampling(trial.sampling))
    datasets = run.manifest.datasets
    more = {DATASET: datasets[0].name if len(datasets) == 1 else None, DECOY: item.decoy, FINISH: response.finish}
    metadata |= {key: value for key, value in more.items() if value is not None}
    sent = row.scores.get(f"{_STORED}messages{_IMPORTED}")
    usage = response.usage
    base: dict[str, JSON] = {
        "schema_version": SCHEMA_VERSION,
        "evaluation_id": evaluation,
        "model_id": model,
        "evaluation_name": run.manifest.task,
        "sample_id": item.id,
        "interaction_type": "single_turn",
        "input": {
            "raw": item.prompt,
            "reference": [*([] if item.target is None else [item.target]), *item.aliases],
            "choices": list(item.choices) or None,
            "formatted": None if sent is None else sent.answer,
        },
        "output": {"raw": [response.text or ""]},
        "messages": None,
        "error": response.error,
    }
    if usage is not None and usage.input is not None and usage.output is not None:
        both = usage.input + usage.output
        base["token_usage"] = {"input_tokens": usage.input, "output_tokens": usage.output, "total_tokens": both}
    if response.ms is not None:
        base["performance"] = {"latency_ms": response.ms}
    scored = False
    for name in columns:
        score = row.scores.get(name)
        if score is None or score.value is None:
            continue
        scored = True
        answer: JSON = {"turn_idx": 0, "source": "output.raw", "extracted_value": score.answer or "",
                  "extraction_method": name, "is_terminal": True}  # fmt: skip
        yield {
            **base,
            "evaluation_result_id": _result_id(run.manifest, name, trial.condition),
            "answer_attribution": [] if score.answer is None else [answer],
            "evaluation": {"score": score.value, "is_correct": score.value == 1.0},
            "metadata": {**metadata, COLUMN: name},
        }
    if not scored:
        nothing: dict[str, JSON] = {"score": 0.0, "is_correct": False}
        yield {**base, "answer_attribution": [], "evaluation": nothing, "metadata": {**metadata, UNSCORED: "true"}}

"""Records of every_eval_ever, the shared schema: an aggregate '<id>.json' and its samples '<id>_samples.jsonl'.

A sample is an item; each of its results is a column 'stored_<result>', with 'stored_<result>_correct' where that says
something else. The scores of the aggregate are what the source states of them. An
aggregate without samples becomes a run of its results, without answers. report.every_eval_ever writes them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from perpend.canon import JSON, as_list, as_object, digest_file, json_lines, json_object, object_of, read_text, text_of
from perpend.errors import DataError
from perpend.importers import harness
from perpend.importers.intake import ImportRecord, Intake
from perpend.ledger.plan import Dataset
from perpend.measure.stated import SourceNumber
from perpend.report.every_eval_ever import (
    COLUMN,
    CONDITION,
    DATASET,
    DECOY,
    FINISH,
    OWN,
    REPEAT,
    SAMPLES,
    SAMPLING,
    UNSCORED,
)
from perpend.rows.json_stream import first_object
from perpend.rows.reader import names_at_start
from perpend.types import Response, Sampling, Score, Usage

FORMAT = "every_eval_ever record"
_AGGREGATE = frozenset(("schema_version", "evaluation_id", "evaluation_results", "model_info"))
_INSTANCE = frozenset(("schema_version", "evaluation_id", "sample_id", "interaction_type", "evaluation"))
_NEEDED = ("evaluation_id", "model_id", "evaluation_name", "sample_id")
_LARGEST = 1 << 20
_HUNDRED = 100.0


@dataclass(frozen=True, slots=True)
class _Record:
    """An aggregate and the file of its samples; either may be absent."""

    aggregate: Path | None
    samples: Path | None


def records(source: Path) -> list[Path]:
    """The aggregate or the samples itself; of a folder the aggregate of each record, or its samples without one."""
    kinds = {path: _kind(path) for path in harness.files_at(source, ".json", ".jsonl")}
    if not source.is_dir():
        return [path for path, kind in kinds.items() if kind]
    return [path for path, kind in kinds.items() if kind == "aggregate" or (kind == "samples" and not _aggregate(path))]


def _kind(path: Path) -> str:
    body = first_object(path)
    for kind, keys in (("aggregate", _AGGREGATE), ("samples", _INSTANCE)):
        if names_at_start(path, keys) if body is None else body.keys() >= keys:
            return kind
    return ""


def _aggregate(samples: Path) -> Path | None:
    beside = samples.with_name(samples.stem.removesuffix(SAMPLES) + ".json")
    return beside if beside != samples and beside.is_file() else None


def read(source: Path, destination: Path) -> Path:
    """Import one record as the run directory `destination`."""
    is_aggregate = _kind(source) == "aggregate"
    if source.is_dir():
        raise DataError(f"{source}: give one record, or import the folder into a folder of runs")
    record = _Record(source, None) if is_aggregate else _Record(_aggregate(source), source)
    body: Mapping[str, JSON] = {}
    if record.aggregate is not None:
        body = json_object(read_text(record.aggregate), str(record.aggregate), constants=True)
        if is_aggregate:
            record = _Record(source, _samples(source, body))
    with Intake(destination, harness.TASK, is_rounded=True) as intake:
        for path in filter(None, (record.aggregate, record.samples)):
            intake.file(path)
        if record.samples is not None:
            rows = _instances(record.samples, body, intake)
            _file_facts(record.samples, body, rows, intake)
        else:
            _results(source, body, intake)
        if record.aggregate is not None and record.samples is not None:
            _state(record.aggregate, body, intake)
        about: dict[str, JSON] = {"format": FORMAT, "schema_version": body.get("schema_version")}
        if record.aggregate is not None and record.aggregate.stat().st_size <= _LARGEST:
            about["record"] = {key: value for key, value in body.items() if key != "evaluation_results"}
        return intake.write(about)


def _samples(aggregate: Path, body: Mapping[str, JSON]) -> Path | None:
    """The file of samples beside an aggregate: the one that it names, or '<its own name>_samples.jsonl'."""
    stated = as_object(body.get("detailed_evaluation_results")).get("file_path")
    names = [aggregate.stem + SAMPLES + ".jsonl"]
    if isinstance(stated, str):
        names.insert(0, stated.replace("\\", "/").rpartition("/")[2])
    return next((one for name in names if name and (one := aggregate.with_name(name)).is_file()), None)


def _column(body: Mapping[str, JSON]) -> str:
    """The column of a result: its id where it has one, else the name of the evaluation and of the metric."""
    free = {
        **as_object(body.get("metadata")),
        **as_object(as_object(body.get("metric_config")).get("additional_details")),
    }
    name = str(free.get(COLUMN) or body.get("evaluation_result_id") or body.get("evaluation_name") or "score")
    return harness.column(name.removesuffix("@import").removeprefix("stored_").replace("@", "-v"))


def _instances(path: Path, aggregate: Mapping[str, JSON], intake: Intake) -> int:
    sampling = _sampling(aggregate, intake)
    digest, rows = digest_file(path), 0
    evaluation = aggregate.get("evaluation_id")
    for where, body in json_lines(path, constants=True):
        rows += 1
        texts = {key: text_of(body, key, where) for key in _NEEDED}
        if evaluation is not None and texts["evaluation_id"] != evaluation:
            raise DataError(
                f"{where}: 'evaluation_id' is {texts['evaluation_id']!r:.80}, the aggregate's {evaluation!r:.80}; "
                "are the files of one record?"
            )
        for record in _records(body, where, path, digest, sampling, intake):
            intake.add(record)
    return rows


def _records(
    body: Mapping[str, JSON], where: str, path: Path, digest: str, sampling: Sampling, intake: Intake
) -> Iterator[ImportRecord]:
    given = object_of(body, "input", where)
    raw = text_of(given, "raw", where)
    metadata = object_of(body, "metadata", where)
    own = {key: str(metadata[key]) for key in OWN if key in metadata}
    references = [harness.as_text(one) for one in as_list(given.get("reference"))]
    key = harness.answer_key(references, [harness.as_text(one) for one in as_list(given.get("choices"))])
    tags = harness.tags_of({k: v for k, v in metadata.items() if k not in OWN}, intake.notes)
    responses = list(_responses(body, where))
    repeat = own.get(REPEAT, "0")
    if not repeat.isdecimal() or len(repeat) > 9:
        raise DataError(f"{where}: metadata {REPEAT!r} must be an integer of 0 or more, not {repeat!r:.80}")
    for number, response in enumerate(responses):
        yield ImportRecord(
            where=where,
            item=str(body["sample_id"]),
            facts={"prompt": raw, **key.facts(), "decoy": own.get(DECOY), "tags": {**tags, **key.tags()}},
            dataset=Dataset(own.get(DATASET, str(body["evaluation_name"])), "import", path.name, digest),
            condition=own.get(CONDITION, harness.CONDITION),
            model=str(body["model_id"]),
            sampling=_own_sampling(own[SAMPLING], where, intake) if SAMPLING in own else sampling,
            repeat=int(repeat) + number,
            response=response if response is None or FINISH not in own else replace(response, finish=own[FINISH]),
            prompt_sha256=harness.sent_digest(given.get("formatted") or raw),
            labels=dict(_labels(body, where, given, own)) if number == 0 else {},
            further="same",
        )


def _responses(body: Mapping[str, JSON], where: str) -> Iterator[Response | None]:
    """The texts of a single turn, or the model's last message; an error is one, whatever text is beside it."""
    performance, usage = as_object(body.get("performance")), as_object(body.get("token_usage"))
    ms = harness.finite(performance.get("latency_ms"))
    counts = [usage.get(key) for key in ("input_tokens", "output_tokens")]
    tokens = [count if isinstance(count, int) and not isinstance(count, bool) else None for count in counts]
    used = None if tokens == [None, None] else Usage(tokens[0], tokens[1])
    if isinstance(body.get("error"), str) and str(body["error"]).strip():
        yield Response(error=str(body["error"]), usage=used, ms=ms)
        return
    output = as_object(body.get("output"))
    texts = [harness.as_text(one) for one in as_list(output.get("raw"))]
    if not texts:
        messages = [as_object(one) for one in as_list(body.get("messages"))]
        texts = [str(one.get("content") or "") for one in messages if one.get("role") == "assistant"][-1:]
    traces = [str(one) for one in as_list(output.get("reasoning_trace"))]
    if not texts:
        raise DataError(f"{where}: neither 'output' nor 'messages' holds an answer, and there is no 'error'")
    for number, text in enumerate(texts):
        thought = f"<think>{traces[number]}</think>" if number < len(traces) and traces[number] else ""
        yield Response(text=thought + text, usage=used if number == 0 else None, ms=ms if number == 0 else None)


def _labels(
    body: Mapping[str, JSON], where: str, given: Mapping[str, JSON], own: Mapping[str, str]
) -> Iterator[tuple[str, Score]]:
    column, verdict = _column(body), object_of(body, "evaluation", where)
    score, correct = verdict.get("score"), verdict.get("is_correct")
    if own.get(UNSCORED) != "true":
        if isinstance(score, bool) or not isinstance(score, int | float):
            raise DataError(f"{where}: 'evaluation.score' must be a number, not {score!r:.80}")
        if not isinstance(correct, bool):
            raise DataError(f"{where}: 'evaluation.is_correct' must be true or false, not {correct!r:.80}")
        answers = [as_object(one) for one in as_list(body.get("answer_attribution"))]
        final = [one for one in answers if one.get("is_terminal") is True] or answers
        answer = str(final[-1].get("extracted_value", "")) if final else None
        yield column, replace(harness.stored_score(score), answer=answer)
        if float(correct) != score and COLUMN not in own:
            yield f"{column}_correct", Score(float(correct), None, harness.AS_STORED)
    sent = given.get("formatted") or list(as_list(body.get("messages")))[:-1]
    if sent:
        yield harness.column("messages"), Score(None, harness.as_text(sent), "what was sent")


def _sampling(aggregate: Mapping[str, JSON], intake: Intake) -> Sampling:
    for entry in map(as_object, as_list(aggregate.get("evaluation_results"))):
        stated = as_object(as_object(entry.get("generation_config")).get("generation_args"))
        if stated:
            return harness.sampling_of(stated, intake.notes)
    return harness.sampling_of({}, intake.notes)


def _own_sampling(text: str, where: str, intake: Intake) -> Sampling:
    return harness.sampling_of(json_object(text, f"{where}: metadata {SAMPLING!r}"), intake.notes)


def _file_facts(samples: Path, body: Mapping[str, JSON], rows: int, intake: Intake) -> None:
    """What the aggregate states of the file of samples: how many rows it has, and its checksum."""
    stated = as_object(body.get("detailed_evaluation_results"))
    total, checksum = stated.get("total_rows"), stated.get("checksum")
    if isinstance(total, int):
        intake.check("the samples have as many rows as the aggregate states", samples.name, agrees=total == rows)
    if isinstance(checksum, str) and stated.get("hash_algorithm", "sha256") == "sha256":
        agrees = checksum.lower() == digest_file(samples)
        intake.check("the samples have the checksum that the aggregate states", samples.name, agrees=agrees)


def _state(path: Path, body: Mapping[str, JSON], intake: Intake) -> None:
    entries = [as_object(one) for one in as_list(body.get("evaluation_results"))]
    for number, entry in enumerate(entries):
        details, config = as_object(entry.get("score_details")), as_object(entry.get("metric_config"))
        spread = as_object(details.get("uncertainty"))
        name, column = str(entry.get("evaluation_name", "")), _column(entry)
        own = as_object(config.get("additional_details"))
        where = {"condition": str(own[CONDITION])} if CONDITION in own else {}
        is_percent = config.get("metric_unit") == "percent" or harness.finite(config.get("max_score")) == _HUNDRED
        at = f"evaluation_results[{number}].score_details"
        values = (
            ("score", details.get("score"), "percent" if is_percent else "mean"),
            ("uncertainty.standard_error.value", as_object(spread.get("standard_error")).get("value"),
             "percent_standard_error" if is_percent else "standard_error"),
            ("uncertainty.num_samples", spread.get("num_samples"), "count"),
        )  # fmt: skip
        for key, value, statistic in values:
            stated = harness.finite(value) if not isinstance(value, str | bool) else None
            if stated is not None:
                what = f"{key.partition('.')[2] or key} of {name}".replace("uncertainty.", "")
                intake.state(SourceNumber(what, stated, path.name, f"{at}.{key}", column, statistic, where))


def _results(path: Path, body: Mapping[str, JSON], intake: Intake) -> None:
    """The results of an aggregate without samples, as trials without answers."""
    where = str(path)
    model = text_of(object_of(body, "model_info", where), "id", f"{where}: 'model_info'")
    dataset = Dataset(str(body["evaluation_id"]).partition("/")[0] or path.stem, "import", path.name, digest_file(path))
    for number, entry in enumerate(map(as_object, as_list(body.get("evaluation_results")))):
        place = f"{where}: evaluation_results[{number}]"
        score = harness.finite(as_object(entry.get("score_details")).get("score"))
        name = text_of(entry, "evaluation_name", place)
        if score is None:
            raise DataError(f"{place}: 'score_details.score' must be a number; the schema asks for one")
        about = as_object(entry.get("metric_config")).get("evaluation_description")
        intake.add(
            ImportRecord(
                where=place,
                item=str(entry.get("evaluation_result_id") or name),
                facts={"prompt": str(about or name)},
                dataset=dataset,
                model=model,
                sampling=_sampling(body, intake),
                labels={harness.column("score"): Score(score, None, harness.AS_STORED)},
                further="refused",
            )
        )
        why = "the record holds no samples, so no verdict is there to compute it from"
        intake.state(
            SourceNumber(
                f"score of {name}", score, path.name, f"evaluation_results[{number}].score_details.score", unchecked=why
            )
        )

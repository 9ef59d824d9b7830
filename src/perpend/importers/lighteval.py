"""Details of lighteval: 'details_<task>_<time>.parquet', with 'results_<time>.json' beside them or in its own tree.

Two layouts are read: 'doc', 'model_response' and 'metric' of each sample, which newer versions write, and the flat one
of older ones ('full_prompt', 'predictions', 'metrics'). Metrics become columns 'stored_<metric>'.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from perpend.canon import JSON, as_object, json_object, read_text
from perpend.errors import DataError
from perpend.importers import harness
from perpend.importers.intake import ImportRecord, Intake
from perpend.ledger.plan import Dataset
from perpend.measure.stated import SourceNumber
from perpend.rows.reader import first_row, read_rows
from perpend.types import ChoiceLogprob, Response, Sampling, Score

FORMAT = "lighteval details"
_NEW = frozenset(("doc", "model_response", "metric"))
_OLD = frozenset(("full_prompt", "predictions", "metrics"))
_FILE = re.compile(r"details_(?P<task>.+)_(?P<time>\d{4}-\d\d-\d\dT[^_]+)\.parquet", re.DOTALL)
_STDERR = "_stderr"
_OF_CORPUS = re.compile(r"perplexity|bits_per_byte|bleu|chrf|ter\b|mcc|corpus|_f1\b|f1_numeric", re.IGNORECASE)
_TOKENS = 1


def details(source: Path) -> list[Path]:
    """The files of details."""
    return [one for one in harness.files_at(source, ".parquet") if _is_one(one)]


def _is_one(path: Path) -> bool:
    """By its columns; one that cannot be read, by its name."""
    row = first_row(path)
    return bool(_layout(row)) if row else _FILE.fullmatch(path.name) is not None


def _layout(row: Mapping[str, JSON]) -> str:
    return "new" if row.keys() >= _NEW else "old" if row.keys() >= _OLD else ""


def read(source: Path, destination: Path) -> Path:
    """Import the details of a file, or of all files of a folder, as one run directory."""
    with Intake(destination, harness.TASK) as intake:
        for path in details(source):
            match = _FILE.fullmatch(path.name)
            task = match["task"] if match else path.stem
            results = _results(path, match["time"] if match else "")
            body = {} if results is None else json_object(read_text(results), str(results), constants=True)
            model = _model(body, path)
            dataset = intake.file(path, task)
            columns: set[str] = set()
            for number, (where, row) in enumerate(intake.counted(read_rows(path)), 1):
                record = _record(row, where, model, dataset, number, intake)
                columns |= record.labels.keys()
                intake.add(record)
            if results is None:
                intake.notes["files without results beside them: the model is not known"] += 1
            else:
                _state(body, results.name, task, columns, intake)
        return intake.write({"format": FORMAT})


def _results(path: Path, time: str) -> Path | None:
    """results_<time>.json beside the details, or where lighteval puts it: results/ in place of details/."""
    if not time:
        return None
    name = f"results_{time}.json"
    parts = path.resolve().parts
    places = [path.with_name(name)]
    if "details" in parts[:-1]:
        at = len(parts) - 2 - parts[:-1][::-1].index("details")
        places.append(Path(*parts[:at], "results", *parts[at + 1 : -2], name))
    return next((one for one in places if one.is_file()), None)


def _model(results: Mapping[str, JSON], path: Path) -> str:
    general = as_object(results.get("config_general"))
    config = as_object(general.get("model_config"))
    named = general.get("model_name") or config.get("model_name") or config.get("pretrained")
    return str(named) if named else path.resolve().parent.parent.name if _FILE.fullmatch(path.name) else "unknown"


def _listed(value: JSON, where: str) -> list[JSON]:
    """A list as it is; older versions wrote it as Python writes one."""
    if isinstance(value, str) and value[:1] in ("[", "("):
        try:
            value = list(ast.literal_eval(value))
        except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
            raise DataError(f"{where}: a list was expected, not {value!r:.80}") from None
    return value if isinstance(value, list) else [] if value is None else [value]


def _record(
    row: Mapping[str, JSON], where: str, model: str, dataset: Dataset, number: int, intake: Intake
) -> ImportRecord:
    task = dataset.name
    parts = ("doc", "model_response", "metric") if _layout(row) == "new" else ("metrics",)
    others = [key for key in parts if not isinstance(row.get(key), Mapping)]
    if others:
        raise DataError(f"{where}: {others[0]!r} must be an object, not {row.get(others[0])!r:.80}")
    if _layout(row) == "new":
        doc, answer, metrics = (as_object(row[key]) for key in ("doc", "model_response", "metric"))
        prompt, choices, gold = doc.get("query"), _listed(doc.get("choices"), where), doc.get("gold_index")
        texts, name, logprobs = (
            _listed(answer.get("text"), where),
            doc.get("id"),
            _listed(answer.get("logprobs"), where),
        )
        sent = answer.get("input") or prompt
    else:
        metrics = as_object(row["metrics"])
        prompt, sent = row.get("example") or row["full_prompt"], row["full_prompt"]
        choices, gold = _listed(row.get("choices"), where), row.get("gold_index")
        if not _listed(gold, where):
            choices, gold = (_listed(row.get("gold"), where) or choices), 0
        predictions = _listed(row["predictions"], where)
        logprobs = [one[0] if isinstance(one, list) and one else one for one in predictions]
        texts = [one for one in predictions if isinstance(one, str)]
        name = row.get("id")
    if not isinstance(prompt, str) or not prompt.strip():
        raise DataError(f"{where}: the prompt must be a string that is not blank, not {prompt!r:.80}")
    golds = [int(one) for one in _listed(gold, where) if isinstance(one, int | float)]
    if any(not 0 <= one < len(choices) for one in golds) and choices:
        raise DataError(f"{where}: 'gold_index' {golds!r:.40} is no index of {len(choices)} choices")
    offered = [harness.as_text(one).strip() for one in choices]
    key = harness.answer_key([offered[one] for one in golds] if choices else [], offered if len(offered) > 1 else ())
    return ImportRecord(
        where=where,
        item=f"{task}/{name if name not in (None, '') else number}",
        facts={"prompt": prompt, **key.facts(), "tags": {"task": task, **key.tags()}},
        dataset=dataset,
        model=model,
        sampling=Sampling(temperature=0.0, max_tokens=0, seed=None)
        if not texts
        else harness.sampling_of({}, intake.notes),
        response=_response(texts, logprobs, key.choices, where, intake),
        prompt_sha256=harness.sent_digest(sent),
        labels=dict(_labels(metrics, sent, prompt)),
        further="refused",
    )


def _response(
    texts: Sequence[JSON], logprobs: Sequence[JSON], choices: Sequence[str], where: str, intake: Intake
) -> Response | None:
    if texts and any(str(one).strip() for one in texts):
        if len(texts) > 1:
            intake.notes["samples with several texts: the metrics are of all, and the first is the answer"] += 1
        return Response(text=harness.as_text(texts[0]))
    totals = [harness.finite(one) for one in logprobs]
    if choices and len(totals) == len(choices):
        if None in totals:
            raise DataError(f"{where}: a log-likelihood of a choice is no number")
        intake.notes["trials of likelihoods: the log has no number of tokens, so 1 stands for it"] += 1
        return Response(text="", choice_logprobs=tuple(ChoiceLogprob(min(one or 0.0, 0.0), _TOKENS) for one in totals))
    return Response(text=harness.as_text(texts[0])) if texts else None


def _labels(metrics: Mapping[str, JSON], sent: JSON, prompt: str) -> Iterator[tuple[str, Score]]:
    if sent is not None and sent != prompt:
        yield harness.column("messages"), Score(None, harness.as_text(sent), "the prompt that was sent")
    for name, value in metrics.items():
        yield from harness.stored_scores(harness.column(name), value)


def _state(body: Mapping[str, JSON], file: str, task: str, columns: set[str], intake: Intake) -> None:
    """What the results state of the task, under its name as the file of details has it or with ':' or '|' in it."""
    plain = _plain(task)
    for name, config in as_object(body.get("config_tasks")).items():
        docs = as_object(config).get("effective_num_docs")
        is_own = plain == _plain(name) or re.fullmatch(rf"{re.escape(_plain(name))}_\d+", plain) is not None
        if is_own and isinstance(docs, int) and docs > 0:
            place = f"config_tasks.{name}.effective_num_docs"
            intake.state(
                SourceNumber(f"samples of {name}", docs, file, place, statistic="trials", where={"task": task})
            )
    for name, metrics in as_object(body.get("results")).items():
        if _plain(name) != plain:
            continue
        for metric, value in as_object(metrics).items():
            number = harness.finite(value) if not isinstance(value, str | bool) else None
            if number is None:
                continue
            column = harness.column(metric.removesuffix(_STDERR))
            what, place = f"{metric} of {name}", f"results.{name}.{metric}"
            if column not in columns or _OF_CORPUS.search(metric):
                why = "it is of the whole corpus, and not a mean over its samples"
                intake.state(SourceNumber(what, number, file, place, unchecked=why))
                continue
            statistic = "standard_error" if metric.endswith(_STDERR) else "mean"
            intake.state(SourceNumber(what, number, file, place, column, statistic, {"task": task}))


def _plain(name: str) -> str:
    return re.sub(r"[^0-9A-Za-z]+", "_", name)

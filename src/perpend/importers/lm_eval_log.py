"""Logs of lm-evaluation-harness: 'samples_<task>_<time>.jsonl' with the 'results_<time>.json' beside them.

A document becomes an item '<task>/<doc_id>'. Its prompt is the context that was sent. Each metric of a sample becomes a
column 'stored_<metric>', of a filter other than 'none' 'stored_<metric>_<filter>'. Log-likelihoods of continuations
become likelihoods of the item's choices. Lines are read one at a time.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from perpend.canon import (
    JSON,
    as_list,
    as_object,
    json_lines,
    json_object,
    object_of,
    parse,
    read_text,
    text_or_none,
)
from perpend.errors import DataError
from perpend.importers import harness
from perpend.importers.harness import AnswerKey, answer_key, as_text
from perpend.importers.intake import ImportRecord, Intake
from perpend.ledger.plan import Dataset
from perpend.measure.stated import SourceNumber
from perpend.rows.json_stream import first_object
from perpend.types import ChoiceLogprob, Response, Sampling, Score

FORMAT = "lm-evaluation-harness samples"
KEYS = frozenset(("doc_id", "doc", "arguments", "resps", "filtered_resps"))
"""What a line of samples has, whatever the version."""
_FILE = re.compile(r"^samples_(?P<task>.+)_(?P<time>\d{4}-\d\d-\d\dT[^_]+)\.jsonl$", re.DOTALL)
_NO_FILTER = "none"
_UNKNOWN = "unknown"
_ACC = "acc"
_NO_MEANS = frozenset(
    [
        "perplexity",
        "word_perplexity",
        "byte_perplexity",
        "bits_per_byte",
        "f1",
        "mcc",
        "brier_score",
        "bleu",
        "chrf",
        "ter",
    ]
)
# What versions before 0.4.5, which do not name their metrics, have beside them.
_OTHERS = frozenset(("target", "filter", "metrics", "doc_hash", "prompt_hash", "target_hash"))
# A file of log-likelihoods does not say of how many tokens.
_TOKENS = 1


@dataclass(frozen=True, slots=True)
class _Samples:
    """One file of samples: its task, its model, and when the results say that it was asked."""

    task: str
    dataset: Dataset
    model: str
    at: float | None


@dataclass(frozen=True, slots=True)
class _Line:
    """One line of samples with its place. `is_first` says whether it is of the first filter of its file."""

    where: str
    body: Mapping[str, JSON]
    filtered: str
    is_first: bool


@dataclass(frozen=True, slots=True)
class _Requests:
    """The requests of one document: the context and the continuation of each, or the parameters of a generation.

    No parameters (None) are likelihoods; a generation may state none of them ({}).
    """

    contexts: tuple[str, ...]
    continuations: tuple[str, ...]
    parameters: Mapping[str, JSON] | None


def is_samples(source: Path) -> bool:
    """Whether a folder holds files of samples, or a file is one or is what 'results_<time>.json' holds."""
    if source.is_dir():
        return any(_FILE.match(path.name) for path in source.iterdir() if path.is_file())
    body = first_object(source)
    return body is not None and (body.keys() >= KEYS or {"results", "configs", "n-shot"} <= body.keys())


def read(source: Path, destination: Path) -> Path:
    """Import one file of samples, or all those of a folder or of a results file, as one run directory."""
    files = _files(source)
    results = _results(files[0])
    with Intake(destination, harness.TASK) as intake:
        if not results:
            intake.notes["files without results beside them: the model is not known"] += len(files)
        for path in files:
            samples, first = _samples(path, results, intake), None
            for where, body in intake.counted(json_lines(path, constants=True)):
                filtered = text_or_none(body, "filter", where) or _NO_FILTER
                # A document has a line for each filter, with the same texts: only the first brings them in.
                first = filtered if first is None else first
                for record in _records(samples, _Line(where, body, filtered, filtered == first), intake.notes):
                    intake.add(record)
        for stated in _stated(results, files):
            intake.state(stated)
        return intake.write({"format": FORMAT, "lm_eval": results.get("lm_eval_version")})


def parts(folder: Path) -> dict[str, Path]:
    """What a folder holds by the time of its runs: itself where there is one, else the results of each.

    Samples whose results are not there are taken file by file.
    """
    times = {path: match["time"] for path in sorted(folder.iterdir()) if (match := _FILE.match(path.name))}
    if len(set(times.values())) == 1:
        return {folder.resolve().name: folder}
    runs: dict[str, Path] = {}
    for path, time in times.items():
        results = folder / f"results_{time}.json"
        name = f"{folder.resolve().name}_{time}" if results.is_file() else path.stem
        runs[name] = results if results.is_file() else path
    return runs


def _files(source: Path) -> list[Path]:
    if source.is_file() and source.suffix == ".jsonl":
        return [source]
    folder = source if source.is_dir() else source.parent
    stamp = source.stem.removeprefix("results_") if source.is_file() else None
    files = [path for path in sorted(folder.iterdir()) if path.is_file()]
    times = {path: match["time"] for path in files if (match := _FILE.match(path.name))}
    chosen = [path for path, time in times.items() if stamp in (None, time)]
    if not chosen:
        raise DataError(f"{source}: no samples of it beside it; run lm_eval with --log_samples")
    runs = sorted({times[path] for path in chosen})
    if len(runs) > 1:
        raise DataError(
            f"{source}: samples of {len(runs)} runs ({runs[0]} … {runs[-1]}); give the results_….json of one"
        )
    return chosen


def _results(path: Path) -> Mapping[str, JSON]:
    """What the results of the same time hold; empty where they are not there."""
    match = _FILE.match(path.name)
    results = path.with_name(f"results_{match['time']}.json") if match else None
    if results is None or not results.is_file():
        return {}
    return json_object(read_text(results), str(results), constants=True)


def _task(path: Path) -> str:
    match = _FILE.match(path.name)
    return match["task"] if match else path.stem


def _samples(path: Path, results: Mapping[str, JSON], intake: Intake) -> _Samples:
    task, where = _task(path), str(path)
    config = object_of(results, "config", where)
    arguments = config.get("model_args")
    named = arguments.get("pretrained") or arguments.get("model") if isinstance(arguments, Mapping) else None
    version = object_of(results, "versions", where).get(task, "")
    return _Samples(
        task=task,
        dataset=intake.file(path, task, str(version)),
        model=str(results.get("model_name") or named or config.get("model") or _UNKNOWN),
        at=harness.finite(results.get("date")),
    )


def _stated(results: Mapping[str, JSON], files: Sequence[Path]) -> Iterator[SourceNumber]:
    """The numbers that the results state of the tasks of these files."""
    match = _FILE.match(files[0].name)
    file, tasks = f"results_{match['time'] if match else ''}.json", [_task(path) for path in files]
    where = f"results beside {files[0]}"
    for task, metrics in object_of(results, "results", where).items():
        for key, value in metrics.items() if task in tasks and isinstance(metrics, Mapping) else ():
            number = None if isinstance(value, str | bool) else harness.finite(value)
            if number is None:
                continue
            name, _, filtered = key.partition(",")
            metric, what, place = name.removesuffix("_stderr"), f"{key} of {task}", f"results.{task}.{key}"
            aggregation = _aggregation(results, task, metric)
            if aggregation != "mean":
                why = f"it is the {aggregation} of all samples, not a mean of theirs"
                yield SourceNumber(what, number, file, place, unchecked=why)
                continue
            column = harness.column(metric, *(() if filtered in ("", _NO_FILTER) else (filtered,)))
            statistic = "mean" if metric == name else "standard_error"
            yield SourceNumber(what, number, file, place, column, statistic, {"task": task})
    for task, counts in object_of(results, "n-samples", where).items():
        effective = harness.finite(as_object(counts).get("effective"))
        if task in tasks and effective is not None:
            place = f"n-samples.{task}.effective"
            yield SourceNumber(f"samples of {task}", effective, file, place, statistic="items", where={"task": task})


def _aggregation(results: Mapping[str, JSON], task: str, metric: str) -> str:
    """How a task's metric is put together; 'mean' where the results do not say and it is none of the known others."""
    config = as_object(as_object(results.get("configs")).get(task))
    for entry in map(as_object, as_list(config.get("metric_list"))):
        if entry.get("metric") == metric and isinstance(entry.get("aggregation"), str):
            return str(entry["aggregation"])
    return metric if metric in _NO_MEANS else "mean"


def _records(samples: _Samples, line: _Line, notes: Counter[str]) -> Iterator[ImportRecord]:
    """The trials of one line: one, or with repeats one for each text."""
    body, where = line.body, line.where
    if not body.keys() >= KEYS:
        raise DataError(f"{where}: {', '.join(sorted(KEYS - body.keys()))} missing; run lm_eval with --log_samples")
    counted = notes if line.is_first else Counter()
    requests = _requests(body, where)
    responses = _responses(body, requests, where, counted)
    placed = _answers(body, requests, responses[0])
    if len(responses) > 1:
        counted["documents with several texts: the stored metrics are of all, and stand at the first"] += 1
    for repeat, response in enumerate(responses if line.is_first else responses[:1]):
        yield ImportRecord(
            where=where,
            item=f"{samples.task}/{body['doc_id']}",
            facts={
                "prompt": requests.contexts[0] if requests.contexts[0].strip() else as_text(body["doc"]),
                **placed.facts(),
                "tags": {
                    **harness.tags_of(object_of(body, "doc", where), Counter() if repeat else counted),
                    **placed.tags(),
                    "task": samples.task,
                },
            },
            dataset=samples.dataset,
            model=samples.model,
            sampling=_sampling(requests, counted),
            trial=f"{samples.task}/{body['doc_id']}/{repeat}",
            repeat=repeat,
            response=response if line.is_first else None,
            at=samples.at,
            prompt_sha256=harness.sent_digest(list(requests.contexts)),
            labels={} if repeat else dict(_labels(line, placed, response)),
        )


def _requests(body: Mapping[str, JSON], where: str) -> _Requests:
    """Requests as versions from 0.4.3 on write them, by 'gen_args_0', 'arg_0' …, or as lists."""
    requests = [_values(request) for request in _values(body["arguments"])]
    if not requests or not all(requests):
        raise DataError(f"{where}: 'arguments' holds no request")
    second = [request[1] if len(request) > 1 else None for request in requests]
    contexts = [as_text(request[0]) for request in requests]
    continuations = [text for text in second if isinstance(text, str)]
    half = len(contexts) // 2
    # acc_mutual_info asks for every continuation once more, after nothing.
    if len(continuations) == 2 * half > 0 and not any(contexts[half:]) and any(contexts[:half]):
        contexts, continuations = contexts[:half], continuations[:half]
    stated = second[0]
    if continuations or stated is None:
        return _Requests(tuple(contexts), tuple(continuations), None)
    return _Requests(tuple(contexts), (), stated if isinstance(stated, Mapping) else {"until": stated})


def _values(value: JSON) -> list[JSON]:
    """The entries of a list, or of an object whose keys end in their numbers."""
    if isinstance(value, Mapping):
        return [value[key] for key in sorted(value, key=lambda key: (len(key), key))]
    return list(value) if isinstance(value, list) else []


def _responses(body: Mapping[str, JSON], requests: _Requests, where: str, notes: Counter[str]) -> list[Response]:
    """The likelihoods that came back, or the texts: one for each repeat."""
    resps = [_values(answer) for answer in _values(body["resps"])]
    if not resps or not all(resps):
        raise DataError(f"{where}: 'resps' holds no answer")
    if requests.parameters is not None:
        return [Response(text=as_text(text)) for text in resps[0]]
    likelihoods = [_likelihood(answer[0], where) for answer in resps[: len(requests.contexts)]]
    notes["trials of likelihoods: the log has no number of tokens, so 1 stands for it"] += 1
    if None in likelihoods:
        notes["trials with a likelihood of 0, which has no logarithm and is not kept"] += 1
    return [Response(text="", choice_logprobs=tuple(ChoiceLogprob(total, _TOKENS) for total in likelihoods))]


def _likelihood(answer: JSON, where: str) -> float | None:
    """The log-likelihood in '[log-likelihood, is greedy]' or alone; numbers are written as texts. None: it is -inf."""
    value = answer[0] if isinstance(answer, list) and answer else answer
    if value in ("-inf", -math.inf):
        return None
    total = harness.finite(value)
    if total is None:
        raise DataError(f"{where}: a log-likelihood was expected in 'resps', not {as_text(value)[:80]!r}")
    return total


def _answers(body: Mapping[str, JSON], requests: _Requests, response: Response) -> AnswerKey:
    """Choices are the continuations, or the contexts where all continue alike; the target is one of them by number."""
    target = body.get("target")
    stated = "" if target is None else as_text(target)
    if len(requests.continuations) < 2:
        return answer_key([stated], ())
    sides = ([text.strip() for text in requests.continuations], requests.continuations, requests.contexts)
    choices = next((side for side in sides if len(set(side)) == len(side) and all(side)), sides[0])
    try:
        numbers = parse(stated)
    except (ValueError, RecursionError):
        numbers = None
    places = [
        n
        for n in (numbers if isinstance(numbers, list) else [numbers])
        if isinstance(n, int) and not isinstance(n, bool)
    ]
    if not places or not all(0 <= n < len(choices) for n in places):
        return answer_key([stated.strip()], choices)
    if len(places) == 1 and stated in choices and _refutes(body.get(_ACC), places[0], choices.index(stated), response):
        return answer_key([stated], choices)
    return answer_key([choices[n] for n in places], choices)


def _refutes(acc: JSON, number: int, text: int, response: Response) -> bool:
    """Whether the stored accuracy shows that a target such as '1' is the text of a choice and not its number."""
    totals = [entry.total if entry.total is not None else -math.inf for entry in response.choice_logprobs or ()]
    likeliest = [n for n, total in enumerate(totals) if total == max(totals)]
    if len(likeliest) != 1 or not isinstance(acc, int | float):
        return False
    return (likeliest[0] == number) != (acc == 1) and (likeliest[0] == text) == (acc == 1)


def _sampling(requests: _Requests, notes: Counter[str]) -> Sampling:
    """Generations state theirs. Likelihoods are not drawn: temperature 0 and no token is what was asked for."""
    stated = requests.parameters
    if stated is None:
        return Sampling(temperature=0.0, max_tokens=0, seed=None)
    limits = ("max_gen_toks", "max_tokens", "max_new_tokens", "max_completion_tokens")
    until = stated.get("until")
    return harness.sampling_of(
        {
            "temperature": stated.get("temperature") if stated.get("do_sample", "temperature" in stated) else 0.0,
            "max_tokens": next((stated[key] for key in limits if key in stated), None),
            "seed": stated.get("seed"),
            "top_p": stated.get("top_p"),
            "stop": [until] if isinstance(until, str) else until,
        },
        notes,
    )


def _labels(line: _Line, placed: AnswerKey, response: Response) -> Iterator[tuple[str, Score]]:
    body, suffix = line.body, () if line.filtered == _NO_FILTER else (line.filtered,)
    target = body.get("target")
    if isinstance(target, str) and target != placed.target:
        yield harness.column("target"), Score(None, target, "the target as the source states it")
    filtered = next(iter(_values(body["filtered_resps"])), None)
    if isinstance(filtered, str) and response.choice_logprobs is None and filtered != response.text:
        yield harness.column("filtered", *suffix), Score(None, filtered, "what the filter made of the text")
    for metric in _values(body.get("metrics")) or sorted(body.keys() - KEYS - _OTHERS):
        yield from harness.stored_scores(harness.column(str(metric), *suffix), body.get(str(metric)))

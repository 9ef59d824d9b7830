"""A run folder of HELM: scenario_state.json, with per_instance_stats.json, stats.json and run_spec.json beside it.

An instance is an item, a perturbation of it a condition, a train trial a repeat. Its statistics are columns
'stored_<name>'; those of stats.json are what the source states. scenario_state.json and per_instance_stats.json are
read one entry at a time.
"""

from __future__ import annotations

import re
import string
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from perpend.canon import JSON, as_list, as_object, json_object, number_of, read_text
from perpend.errors import DataError
from perpend.importers import harness
from perpend.importers.intake import ImportRecord, Intake
from perpend.ledger.plan import Dataset
from perpend.measure.stated import SourceNumber
from perpend.rows.json_stream import Shape, members
from perpend.rows.reader import read_rows
from perpend.types import Response, Sampling, Score, Usage

FORMAT = "HELM run"
STATE, PER_INSTANCE, STATS, SPEC = "scenario_state.json", "per_instance_stats.json", "stats.json", "run_spec.json"
_STATES = "request_states"
_HEADER: Shape = {"adapter_spec": None}
_ENTRY: Shape = dict.fromkeys(
    ("instance", "train_trial_index", "output_mapping", "request", "result", "reference_index", "request_mode")
)
_MATCHES = ("exact_match", "quasi_exact_match", "prefix_exact_match", "quasi_prefix_exact_match")
_ARTICLES = re.compile(r"\b(?:a|an|the)\b")
_PUNCTUATION = str.maketrans("", "", string.punctuation)
_CLOSE = 1e-6
_NO_STATE = "the verdicts of HELM are of the answers in scenario_state.json, which is not beside them; add it"


@dataclass(frozen=True, slots=True)
class _Trial:
    """Where the verdicts of an instance belong, and what HELM's rules of exact matches give for it."""

    item: str
    condition: str
    sampling: Sampling
    repeat: int
    model: str
    rules: tuple[bool, ...]
    """What each of _MATCHES is; () where there is no answer, or nothing to compare it with."""


def is_run(source: Path) -> bool:
    """Whether a folder has HELM's files, or a file holds request states."""
    if source.is_dir():
        return (source / STATE).is_file() or all((source / name).is_file() for name in (PER_INSTANCE, SPEC))
    if source.suffix != ".json":
        return False
    try:
        keys = [key for key, _ in _first(source)]
    except DataError:
        return False
    return keys == ["adapter_spec", _STATES]


def _first(path: Path) -> Iterator[tuple[str, JSON]]:
    """The adapter and the first request state."""
    for key, value in members(path, _HEADER, _STATES, _ENTRY):
        yield key, value
        if key == _STATES:
            return


def read(source: Path, destination: Path) -> Path:
    """Import a run folder, or the one that a scenario_state.json is in, as the run directory `destination`."""
    folder = source if source.is_dir() else source.parent
    state = source if source.is_file() else folder / STATE
    if not state.is_file():
        raise DataError(f"{folder}: {_NO_STATE}")
    spec = json_object(read_text(at), str(at), constants=True) if (at := folder / SPEC).is_file() else {}
    name = str(spec.get("name") or folder.resolve().name)
    with Intake(destination, harness.TASK) as intake:
        dataset = intake.file(state, name.partition(":")[0] or name)
        trials = _answers(state, dataset, intake)
        _check_model(folder / SPEC, spec, trials)
        if (folder / PER_INSTANCE).is_file():
            _verdicts(folder / PER_INSTANCE, dataset, trials, intake)
            intake.file(folder / PER_INSTANCE)
        if (folder / STATS).is_file():
            _aggregates(folder / STATS, trials, intake)
            intake.file(folder / STATS)
        return intake.write({"format": FORMAT, "name": name})


def _check_model(path: Path, spec: Mapping[str, JSON], trials: Mapping[str, _Trial]) -> None:
    """Refuse a specification of another model than that of the answers."""
    adapter = as_object(spec.get("adapter_spec"))
    planned = [name for key in ("model", "model_deployment") if isinstance(name := adapter.get(key), str) and name]
    others = sorted({trial.model for trial in trials.values()}.difference(planned))
    if planned and others:
        raise DataError(
            f"{path}: is of the model {planned[0]!r:.80}, and {STATE} of {others[0]!r:.80}; are they of one run?"
        )


def _answers(path: Path, dataset: Dataset, intake: Intake) -> dict[str, _Trial]:
    """Take in every request state; say which trial each instance is."""
    trials: dict[str, _Trial] = {}
    samplings: dict[Sampling, Sampling] = {}
    method = ""
    for number, (key, value) in enumerate(members(path, _HEADER, _STATES, _ENTRY)):
        if key == "adapter_spec":
            method = str(as_object(value).get("method", ""))
            continue
        where = f"{path}: request state {number}"
        body = as_object(value)
        instance, request = as_object(body.get("instance")), as_object(body.get("request"))
        missing = [name for name, part in (("instance", instance), ("request", request)) if not part]
        if missing or not isinstance(instance.get("id"), str):
            raise DataError(
                f"{where}: needs {missing[0] if missing else 'an id of its instance'!r}; is the file whole?"
            )
        trial, record = _record(body, where, dataset, method, trials, intake)
        own = samplings.setdefault(trial.sampling, trial.sampling)  # one for all, as there is a trial per instance
        trials.setdefault(_key(instance, body), replace(trial, sampling=own))
        intake.add(record)
    if not trials:
        raise DataError(f"{path}: holds no request state, so there is nothing to import")
    return trials


def _key(instance: Mapping[str, JSON], body: Mapping[str, JSON]) -> str:
    name = instance.get("id", body.get("instance_id"))
    return harness.as_text([name, instance.get("perturbation"), body.get("train_trial_index", 0)])


def _record(
    body: Mapping[str, JSON], where: str, dataset: Dataset, method: str, trials: Mapping[str, _Trial], intake: Intake
) -> tuple[_Trial, ImportRecord]:
    instance, request = as_object(body["instance"]), as_object(body["request"])
    item, perturbed = str(instance["id"]), _condition(instance.get("perturbation"))
    condition = perturbed
    if body.get("reference_index") is not None:  # multiple_choice_separate: one request per choice
        condition = "_".join(
            filter(None, (f"reference_{body['reference_index']}", str(body.get("request_mode") or "")))
        )
        intake.notes[
            "requests of one choice each: the verdicts are of the instance, and are stored with its first"
        ] += 1
    original = harness.as_text([item, None, body.get("train_trial_index", 0)])
    is_altered = perturbed != harness.CONDITION
    if is_altered and original not in trials:
        item = f"{item}/{perturbed}"
    repeat = number_of(body, "train_trial_index", where) or 0
    if repeat != int(repeat) or repeat < 0:
        raise DataError(f"{where}: 'train_trial_index' must be an integer of 0 or more, not {repeat:g}")
    placed, references = _answer_key(instance)
    split = instance.get("split")
    prompt = str(as_object(instance.get("input")).get("text") or "") or str(request.get("prompt", ""))
    sampling = harness.sampling_of({**request, "stop": request.get("stop_sequences")}, intake.notes)
    model = str(request.get("model") or request.get("model_deployment") or "unknown")
    response = _response(as_object(body.get("result")), method, where, intake)
    facts: dict[str, JSON] = {"prompt": prompt, **placed.facts()}
    facts["tags"] = {**({"split": str(split)} if split else {}), **placed.tags()}
    trial = _Trial(item, condition, sampling, int(repeat), model, _rules(body, response, references))
    return trial, ImportRecord(
        where=where,
        item=item,
        facts={} if is_altered and original in trials else facts,
        dataset=dataset,
        condition=condition,
        model=model,
        sampling=sampling,
        repeat=int(repeat),
        response=response,
        at=harness.finite(as_object(body.get("result")).get("request_datetime")),
        prompt_sha256=harness.sent_digest(request.get("prompt")),
        labels={harness.column("messages"): Score(None, str(request.get("prompt", "")), "the prompt that was sent")},
        further="refused",
    )


def _condition(perturbation: JSON) -> str:
    body = as_object(perturbation)
    return str(body.get("name") or "perturbed") if body else harness.CONDITION


def _answer_key(instance: Mapping[str, JSON]) -> tuple[harness.AnswerKey, list[str]]:
    """What is right, as an item has it, and the texts of all references that are correct."""
    entries = [as_object(one) for one in as_list(instance.get("references"))]
    texts = [str(as_object(one.get("output")).get("text", "")) for one in entries]
    right = [text for text, one in zip(texts, entries, strict=True) if "correct" in as_list(one.get("tags"))]
    return harness.answer_key(right, texts if len(right) < len(texts) else ()), right


def _response(answer: Mapping[str, JSON], method: str, where: str, intake: Intake) -> Response | None:
    if not answer:
        intake.notes["requests that were never answered"] += 1
        return None
    seconds = harness.finite(answer.get("request_time"))
    ms = None if seconds is None or seconds < 0 else 1000 * seconds
    completions = [as_object(one) for one in as_list(answer.get("completions"))]
    if answer.get("success") is not True:
        return Response(error=str(answer.get("error") or "an error without a message"), ms=ms)
    if not completions or not isinstance(completions[0].get("text"), str):
        raise DataError(f"{where}: a request that succeeded has no completion; is the file whole?")
    if len(completions) > 1:
        intake.notes["requests with several completions: the first is the answer"] += 1
    best = completions[0]
    reason = as_object(best.get("finish_reason")).get("reason")
    # A letter is all that is asked for where the choices are lettered, so its only token does not cut it off.
    finish = None if reason in (None, "unknown") or method == "multiple_choice_joint" else str(reason)
    return Response(
        text=str(best["text"]), finish=finish, usage=Usage(None, len(as_list(best.get("tokens"))) or None), ms=ms
    )


def _rules(body: Mapping[str, JSON], response: Response | None, references: Sequence[str]) -> tuple[bool, ...]:
    """What HELM's definitions of its exact matches give: of the stripped text, of its choice where it is a letter."""
    if response is None or response.text is None or not references:
        return ()
    answer: str | None = response.text.strip()
    mapping = as_object(body.get("output_mapping"))
    if mapping:
        answer = None if mapping.get(str(answer)) is None else str(mapping[str(answer)]).strip()
    if answer is None:
        return (False,) * len(_MATCHES)
    plain, right = _normalised(answer), [text.strip() for text in references]
    return (
        any(answer == text for text in right),
        any(plain == _normalised(text) for text in right),
        any(answer.startswith(text) for text in right),
        any(plain.startswith(_normalised(text)) for text in right),
    )


def _normalised(text: str) -> str:
    """Without case, punctuation, articles and extra spaces."""
    return " ".join(_ARTICLES.sub(" ", text.lower().translate(_PUNCTUATION)).split())


def _verdicts(path: Path, dataset: Dataset, trials: Mapping[str, _Trial], intake: Intake) -> None:
    """Take in the statistics of every instance."""
    judged: set[str] = set()
    for where, entry in read_rows(path, constants=True):
        key = _key(entry, entry)
        trial = trials.get(key)
        if trial is None:
            raise DataError(
                f"{where}: instance {str(entry.get('instance_id'))!r:.80} is not in {STATE}; are the files of one run?"
            )
        if key in judged:
            raise DataError(
                f"{where}: instance {str(entry.get('instance_id'))!r:.80} has statistics already; remove one"
            )
        judged.add(key)
        rules = dict(zip(_MATCHES, trial.rules, strict=False))
        labels = {}
        for stat in map(as_object, as_list(entry.get("stats"))):
            name, value = str(as_object(stat.get("name")).get("name", "")), _mean(stat, where)
            labels[harness.column(name)] = Score(
                value, None, harness.AS_STORED if value is not None else "stored without a value"
            )
            if name in rules and value in (0.0, 1.0):
                intake.check(f"{name}, as HELM defines it", where, agrees=rules[name] == (value == 1.0))
        intake.add(
            ImportRecord(
                where=where,
                item=trial.item,
                facts={},
                dataset=dataset,
                condition=trial.condition,
                model=trial.model,
                sampling=trial.sampling,
                repeat=trial.repeat,
                labels=labels,
            )
        )
    if len(judged) < len(trials):
        intake.notes["instances without statistics of their own"] += len(trials) - len(judged)


def _mean(stat: Mapping[str, JSON], where: str) -> float | None:
    """The mean of a statistic, which is its sum through its count; None where it counts nothing."""
    count, total = harness.finite(stat.get("count")), harness.finite(stat.get("sum"))
    if count is None or count < 0:
        raise DataError(f"{where}: a statistic needs a count of 0 or more, not {stat.get('count')!r:.80}")
    if not count or total is None:
        return None
    stated = harness.finite(stat.get("mean"))
    if stated is not None and abs(stated - total / count) > _CLOSE * max(1.0, abs(stated)):
        raise DataError(f"{where}: a mean of {stated:g} beside a sum of {total:g} and a count of {count:g}")
    return total / count


def _aggregates(path: Path, trials: Mapping[str, _Trial], intake: Intake) -> None:
    """What stats.json states: the means over train trials of the means over instances."""
    conditions = {trial.condition for trial in trials.values()}
    for number, (_, stat) in enumerate(read_rows(path, constants=True)):
        name = as_object(stat.get("name"))
        value = harness.finite(stat.get("mean"))
        if value is None or not name.get("name"):
            continue
        perturbation = as_object(name.get("perturbation"))
        what = " ".join(map(str, filter(None, (name["name"], name.get("split"), perturbation.get("name")))))
        place = f"entry {number + 1}, mean"
        if perturbation.get("computed_on") in ("worst", "original") and len(conditions) > 1:
            why = "it is of the worst or the original among perturbations, which are not grouped again here"
            intake.state(SourceNumber(what, value, path.name, place, unchecked=why))
            continue
        where = {"split": str(name["split"])} if name.get("split") else {}
        if name["name"] == "num_instances" and not perturbation:
            intake.state(SourceNumber(what, value, path.name, place, statistic="items", where=where))
            continue
        if len(conditions) > 1:
            where["condition"] = _condition(perturbation or None)
        intake.state(
            SourceNumber(what, value, path.name, place, harness.column(str(name["name"])), "mean_of_repeats", where)
        )

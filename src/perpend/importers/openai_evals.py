"""Logs of OpenAI evals: JSONL of the 'spec' of a run, its events (sampling, match, metrics, error) and its report.

A sample is an item; what was sampled first is its answer. Each 'match' is 'stored_match', each number of 'metrics' a
column of its name. The numbers of 'final_report' are what the source states. Lines are read one at a time.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from datetime import datetime
from pathlib import Path

from perpend.canon import JSON, as_list, as_object, json_lines
from perpend.errors import DataError
from perpend.importers import harness
from perpend.importers.intake import ImportRecord, Intake
from perpend.measure.stated import SourceNumber
from perpend.rows.json_stream import first_object
from perpend.types import Response, Score

FORMAT = "OpenAI evals log"
_EVENT = frozenset(("run_id", "event_id", "sample_id", "type", "data"))
_MATCH = harness.column("match")
_RULE = "a match is a picked text that equals or contains an expected one"
_NOT_SAID = "(the log does not say what was asked)"


def logs(source: Path) -> list[Path]:
    """The files whose first line is the 'spec' of an evaluation."""
    files = harness.files_at(source, ".jsonl", ".json", ".ndjson", ".log")
    specs = ((path, as_object((first_object(path) or {}).get("spec"))) for path in files)
    return [path for path, spec in specs if {"eval_name", "run_id"} <= spec.keys()]


class _Log:
    """What a log says of all its samples, and which of them have a prompt."""

    def __init__(self, path: Path, spec: Mapping[str, JSON], intake: Intake) -> None:
        named = [str(name) for name in as_list(spec.get("completion_fns")) or as_list(spec.get("model_names"))]
        older = as_list(as_object(spec.get("model_names")).get("completions"))
        self.model = named[0] if named else str(older[0]) if older else "unknown"
        self.dataset = intake.file(path, str(spec["eval_name"]), str(spec.get("split") or ""))
        self.run = spec.get("run_id")
        self.sampling = harness.sampling_of({}, intake.notes)
        self.has_prompt: dict[str, bool] = {}

    def record(self, where: str, sample: str, facts: Mapping[str, JSON]) -> ImportRecord:
        """What an event says of its sample, without answer and verdict."""
        self.has_prompt[sample] = self.has_prompt.get(sample, False) or "prompt" in facts
        return ImportRecord(
            where=where,
            item=sample,
            facts=facts,
            dataset=self.dataset,
            model=self.model,
            sampling=self.sampling,
            prompt_sha256=harness.sent_digest(None),
        )


class _EventNumbers:
    """The numbers of the events so far: all below `expected`, and of `later` those that came before their turn."""

    def __init__(self) -> None:
        self.expected = 0
        self.later: set[int] = set()

    def add(self, number: JSON, where: str) -> None:
        """Take in one. One that is no number, or there already, is a DataError."""
        is_own = isinstance(number, int) and number >= self.expected and number not in self.later
        if not isinstance(number, int) or isinstance(number, bool) or not is_own:
            raise DataError(f"{where}: 'event_id' must be a number of its own, not {number!r:.80}; remove one of two")
        self.later.add(number)
        while self.expected in self.later:
            self.later.remove(self.expected)
            self.expected += 1

    @property
    def missing(self) -> int:
        """How many numbers are missing below the highest."""
        return max(self.later) + 1 - self.expected - len(self.later) if self.later else 0


def read(source: Path, destination: Path) -> Path:
    """Import a log as the run directory `destination`. A log without a report of its own is noted as unfinished."""
    log, report, events = None, None, _EventNumbers()
    with Intake(destination, harness.TASK) as intake:
        for where, body in intake.counted(json_lines(source, constants=True)):
            if log is None:
                log = _Log(source, as_object(body.get("spec")), intake)
                continue
            if "final_report" in body:
                if report is not None:
                    raise DataError(f"{where}: a second 'final_report'; a log is of one run")
                report = (where, as_object(body["final_report"]))
                continue
            if not body.keys() >= _EVENT:
                raise DataError(f"{where}: {', '.join(sorted(_EVENT - body.keys()))} missing in an event; is it whole?")
            if body["run_id"] != log.run:
                raise DataError(
                    f"{where}: an event of the run {str(body['run_id'])!r:.80}, in a log of {log.run!r:.80}"
                )
            events.add(body["event_id"], where)
            for record in _records(log, body, where, intake):
                intake.add(record)
        if log is None:
            raise DataError(f"{source}: holds no line")
        _complete(log, source, report, events.missing, intake)
        return intake.write({"format": FORMAT})


def _complete(
    log: _Log, source: Path, report: tuple[str, Mapping[str, JSON]] | None, missing: int, intake: Intake
) -> None:
    """What can be said when all lines were read: samples without a prompt, the report, gaps between the events."""
    for sample, there in log.has_prompt.items():
        if not there:
            intake.add(log.record(f"{source}: sample {sample}", sample, {"prompt": f"{_NOT_SAID} {sample}"}))
    if report is None:
        intake.notes["logs without a final report: the evaluation may not have ended"] += 1
    else:
        _state(report, source, intake)
    if missing:
        intake.notes["events whose numbers are missing between the others: lines may have been removed"] += missing


def _records(log: _Log, body: Mapping[str, JSON], where: str, intake: Intake) -> Iterator[ImportRecord]:
    sample, kind, data = str(body["sample_id"]), body["type"], as_object(body["data"])
    at = _time(body.get("created_at"))
    if kind == "sampling":
        prompt = data.get("prompt")
        sampled = data.get("sampled")
        text = sampled[0] if isinstance(sampled, list) and sampled else sampled
        if text is None:
            raise DataError(f"{where}: a 'sampling' without what was 'sampled'")
        labels = {}
        if isinstance(prompt, list):
            labels[harness.column("messages")] = Score(None, harness.as_text(prompt), "the messages that were sent")
        # A judge's own sampling comes after the answer, under the same sample: it is kept as a further output.
        known = log.has_prompt.get(sample, False)
        facts: dict[str, JSON] = {} if known else {"prompt": _prompt(prompt)}
        record = log.record(where, sample, facts)
        answer = Response(text=harness.as_text(text))
        yield replace(record, response=answer, at=at, labels=labels, prompt_sha256=harness.sent_digest(prompt))
    elif kind == "match":
        correct, expected, picked = data.get("correct"), data.get("expected"), data.get("picked")
        if not isinstance(correct, bool):
            raise DataError(f"{where}: 'correct' of a match must be true or false, not {correct!r:.80}")
        targets = [
            harness.as_text(one) for one in (expected if isinstance(expected, list) else [expected]) if one is not None
        ]
        key = harness.answer_key(targets, ())
        chosen = None if picked is None else harness.as_text(picked)
        if chosen is not None and key.target is not None:
            intake.check(_RULE, where, agrees=_agrees(correct, chosen, targets))
        facts = {name: value for name, value in key.facts().items() if value}
        labels = {_MATCH: Score(float(correct), chosen, harness.AS_STORED)}
        yield replace(log.record(where, sample, facts), labels=labels, further="same")
    elif kind == "metrics":
        labels = dict(
            pair for name, value in data.items() for pair in harness.stored_scores(harness.column(name), value)
        )
        yield replace(log.record(where, sample, {}), labels=labels, further="same")
    elif kind == "error":
        message = f"{data.get('type', 'error')}: {data.get('message', '')}"
        yield replace(log.record(where, sample, {}), response=Response(error=message), at=at)
    else:
        intake.notes[f"events of the type {str(kind)!r:.40}, which are not kept"] += 1


def _agrees(correct: bool, picked: str, expected: list[str]) -> bool:
    answer, right = picked.strip().lower(), [text.strip().lower() for text in expected]
    if correct:
        return any(text in answer or answer in text for text in right)
    return all(text != answer for text in right)


def _prompt(prompt: JSON) -> str:
    """The last message of the user, or the text."""
    if isinstance(prompt, list):
        messages = [as_object(one) for one in prompt]
        users = [one for one in messages if one.get("role") in ("user", None)] or messages
        prompt = users[-1].get("content") if users else None
    text = "" if prompt is None else harness.as_text(prompt)
    return text if text.strip() else _NOT_SAID


def _state(report: tuple[str, Mapping[str, JSON]], source: Path, intake: Intake) -> None:
    where, body = report
    line = f"line {where.rpartition(':')[2]}"
    for key, value in body.items():
        number = harness.finite(value) if isinstance(value, int | float) and not isinstance(value, bool) else None
        if number is None:
            continue
        place = f"{line}, final_report.{key}"
        if key == "accuracy":
            intake.state(SourceNumber(key, number, source.name, place, _MATCH, "mean"))
        elif key.endswith(("std", "stderr")):
            intake.state(
                SourceNumber(key, number, source.name, place, unchecked="a bootstrap whose seed the log does not state")
            )
        else:
            intake.state(SourceNumber(key, number, source.name, place, harness.column(key), "mean"))


def _time(value: JSON) -> float | None:
    try:
        return datetime.fromisoformat(str(value)).timestamp() if isinstance(value, str) else None
    except (ValueError, OverflowError, OSError):
        return None

"""A published run: a folder of canonical files that holds all of run.db. The way back is `restoring.py`.

    manifest.json       the run's manifest
    plan.json           item files, conditions, models, samplings, scorers, and what run.db says of the run as a whole
    items.jsonl.gz      {"dataset": number in plan.json from 0, "item": {…}}, in plan order
    trials.jsonl.gz     [item, condition, model, sampling, repeat], numbers that count from 1 (repeat from 0)
    responses.jsonl.gz  {"trial", "turn", "attempt", "request_sha256", "text" or "error", …}; what is null is left out
    scores.jsonl.gz     {"scorer": "name@version", "trial", "value", "answer", "reason", "span"}, by scorer, then trial
    labels.jsonl        human labels, where the run has them
    looks.jsonl         {"look", "items", "stop", "numbers"}, where the run has a stopping rule
    code/<file>         the Python files that the manifest lists as sources, where the run has some

A trial is named by its line in trials.jsonl.gz, from 1. Everything streams: memory does not grow with the run.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from functools import lru_cache
from pathlib import Path

from perpend.ask.progress import Progress
from perpend.ask.task import CODE, trusted_files
from perpend.canon import JSON, dumps, json_lines, portable_name, pretty, quoted, read_bytes, write_atomic
from perpend.errors import StoreError
from perpend.ledger.manifest import MANIFEST, Manifest, read_manifest
from perpend.ledger.plan import whole
from perpend.ledger.snapshot import Row, Snapshot, snapshot
from perpend.ledger.stopping import read_looks
from perpend.ledger.store import Store
from perpend.measure.labels import LABELS
from perpend.measure.processes import outcome
from perpend.proof.lines import write_lines

FORMAT = 2
PLAN = "plan.json"
ITEMS, TRIALS, RESPONSES, SCORES = "items.jsonl.gz", "trials.jsonl.gz", "responses.jsonl.gz", "scores.jsonl.gz"
NEEDED = (MANIFEST, PLAN, ITEMS, TRIALS, RESPONSES, SCORES)
LOOKS = "looks.jsonl"
RESPONSE = ("trial", "turn", "attempt", "request_sha256", "text", "error", "logprobs", "finish", "usage", "ms", "at")
PARTS = {
    "datasets": ("name", "version", "path", "sha256"),
    "conditions": ("name", "params"),
    "models": ("name", "label", "options"),
}
_SPAN = re.compile(r"\[\d+,\d+\]")


def run_id(manifest: Manifest) -> str:
    """The name that a run had when it began, as a folder's name: a copy in another folder is the same run."""
    return portable_name(manifest.run)


def archived(manifest: Manifest) -> set[str]:
    """The names of the files that the archive of a run may hold."""
    looks = () if manifest.stop is None else (LOOKS,)
    return {*NEEDED, LABELS, *looks, *(f"{CODE}/{source.file}" for source in manifest.sources)}


def write(run: Path, to: Path, *, quiet: bool = True) -> None:
    """Write a run directory's manifest, plan, items, responses, scores, labels and code into the folder `to`.

    The same run gives the same bytes. A plan that has lost trials is a StoreError: its trials have lost their names.
    """
    with snapshot(run / "run.db") as db, Progress("writing", db.size(), quiet=quiet) as progress:
        write_plain(run, to, db)
        for name, lines in packed_lines(run, db).items():
            write_lines(to / name, lines, progress)


class Writing:
    """The archive of a run on its way: other processes write it meanwhile, or this one when it is waited for."""

    def __init__(self, run: Path, to: Path, pool: ProcessPoolExecutor | None, *, quiet: bool = True) -> None:
        self._run, self._to, self._quiet = run, to, quiet
        self._before = _state(run)
        names = (SCORES, RESPONSES, TRIALS, ITEMS)  # the longest first
        self._parts = [] if pool is None else [pool.submit(_write_packed, run, to, name) for name in names]
        self.is_under_way = pool is not None
        self._is_written = False

    def finish(self) -> None:
        """Wait until every file is written. A run that was written to meanwhile is a StoreError."""
        if self._is_written:
            return
        if not self.is_under_way:
            write(self._run, self._to, quiet=self._quiet)
        for part in self._parts:
            outcome(part)
        if self.is_under_way:
            with snapshot(self._run / "run.db") as db:
                write_plain(self._run, self._to, db)
            if _state(self._run) != self._before:
                raise StoreError(f"{self._run}: was written to meanwhile; wait for that, then publish again")
        self._is_written = True


def _state(run: Path) -> list[tuple[int, int]]:
    """Size and time of a ledger and its log: several processes read it, each at its own moment."""
    files = [path.stat() for path in (run / "run.db", run / "run.db-wal") if path.is_file()]
    return [(file.st_size, file.st_mtime_ns) for file in files]


def _write_packed(run: Path, to: Path, name: str) -> None:
    with snapshot(run / "run.db") as db:
        write_lines(to / name, packed_lines(run, db)[name])


def write_plain(run: Path, to: Path, db: Snapshot) -> None:
    """Write the files of a run's archive that are not packed."""
    manifest = read_manifest(run)
    write_atomic(to / MANIFEST, pretty(manifest.as_json()))
    for name, path in trusted_files(manifest, run).items():
        write_atomic(to / CODE / name, read_bytes(path, StoreError, within=run))
    write_atomic(to / PLAN, pretty(_plan(db)))
    if manifest.stop is not None:
        with Store.open(run / "run.db") as store:
            write_atomic(to / LOOKS, "".join(dumps(one.as_json()) + "\n" for one in read_looks(store)))
    if (run / LABELS).is_file():
        write_atomic(to / LABELS, "".join(dumps(body) + "\n" for _, body in json_lines(run / LABELS, within=run)))


def packed_lines(run: Path, db: Snapshot) -> dict[str, Iterator[str]]:
    """The lines of every packed file of a run's archive, by the file's name."""
    return {
        ITEMS: (dumps({"dataset": whole(n), "item": json.loads(str(body))}) for n, body in db.items()),
        TRIALS: _trial_lines(run, db),
        RESPONSES: map(_response_line, db.responses()),
        SCORES: _score_lines(db),
    }


def _plan(db: Snapshot) -> dict[str, JSON]:
    """plan.json: the small tables, each in the order of its numbers."""
    parts = db.parts()
    body: dict[str, JSON] = {
        name: [
            {
                key: json.loads(str(value)) if key in ("params", "options") else str(value)
                for key, value in zip(columns, row, strict=True)
            }
            for row in parts[name]
        ]
        for name, columns in PARTS.items()
    }
    return {
        **body,
        "format": FORMAT,
        "samplings": [json.loads(str(params)) for (params,) in parts["samplings"]],
        "meta": {str(key): str(value) for key, value in parts["meta"]},
        "scorers": list(db.scorers()),
    }


def _trial_lines(run: Path, db: Snapshot) -> Iterator[str]:
    for number, (trial, *row) in enumerate(db.trials(), 1):
        if trial != number:
            raise StoreError(f"{run}: the plan has lost trial {number}; 'perpend audit' says what else is wrong")
        yield f"[{','.join(map(str, row))}]"


def _response_line(row: Row) -> str:
    """A canonical line by hand, as of scores."""
    trial, turn, attempt, request, text, error, logprobs, finish, usage, ms, at = row
    return (
        f'{{"at":{_number(at)},"attempt":{attempt}'
        + ("" if error is None else f',"error":{quoted(str(error))}')
        + ("" if finish is None else f',"finish":{quoted(str(finish))}')
        + ("" if logprobs is None else f',"logprobs":{_packed(str(logprobs))}')
        + ("" if ms is None else f',"ms":{_number(ms)}')
        + f',"request_sha256":"{request}"'
        + ("" if text is None else f',"text":{quoted(str(text))}')
        + f',"trial":{trial},"turn":{turn}'
        + ("}" if usage is None else f',"usage":{_packed(str(usage))}}}')
    )


def _number(value: object) -> str:
    return repr(value) if isinstance(value, float) and math.isfinite(value) else dumps(value)  # type: ignore[arg-type]


@lru_cache(4096)
def _packed(text: str) -> str:
    return dumps(json.loads(text))


def _score_lines(db: Snapshot) -> Iterator[str]:
    """Canonical lines by hand: of scores there are many, and a general encoder takes three times as long."""
    for name, rows in db.score_batches():
        scorer = quoted(name)
        for trial, value, answer, reason, span in rows:
            if span is not None and _SPAN.fullmatch(str(span)) is None:
                raise StoreError(f"trial {trial}: {name} rests on the span {span!r}; score the run again")
            if isinstance(value, float) and not math.isfinite(value):
                raise StoreError(f"trial {trial}: {name} gives {value}, which is no number; score the run again")
            text = "null" if answer is None else quoted(str(answer))
            place = "null" if span is None else span
            number = "null" if value is None else repr(value)
            yield (
                f'{{"answer":{text},"reason":{quoted(str(reason))},"scorer":{scorer},'
                f'"span":{place},"trial":{trial},"value":{number}}}'
            )

"""A published run: a folder of canonical files that holds all of run.db, and the way back to a run directory.

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

import gzip
import json
import math
import re
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from contextlib import contextmanager
from functools import partial
from itertools import islice
from pathlib import Path

from perpend.ask.progress import Progress
from perpend.ask.task import CODE, trusted_files
from perpend.canon import JSON, dumps, json_lines, portable_name, pretty, read_object, write_atomic
from perpend.disk import temporary_folder, writing
from perpend.errors import StoreError
from perpend.ledger.items import parse_item
from perpend.ledger.manifest import MANIFEST, Manifest, read_manifest
from perpend.ledger.plan import read_response, read_sampling, whole
from perpend.ledger.snapshot import Rebuild, Row, Snapshot, rebuild, snapshot
from perpend.ledger.stopping import read_looks
from perpend.ledger.store import Store
from perpend.measure.labels import LABELS

FORMAT = 1
PLAN = "plan.json"
ITEMS, TRIALS, RESPONSES, SCORES = "items.jsonl.gz", "trials.jsonl.gz", "responses.jsonl.gz", "scores.jsonl.gz"
NEEDED = (MANIFEST, PLAN, ITEMS, TRIALS, RESPONSES, SCORES)
LOOKS = "looks.jsonl"
_LINES = 1000
# A longer line is no answer of a model but an attack on the reader's memory.
_LONGEST = 1 << 25
_READ: Callable[[str], JSON] = json.JSONDecoder().decode
_RESPONSE = ("trial", "turn", "attempt", "request_sha256", "text", "error", "logprobs", "finish", "usage", "ms", "at")
_RESPONSE_KEYS = frozenset(_RESPONSE)
_SCORE = frozenset(("scorer", "trial", "value", "answer", "reason", "span"))
_PARTS = {
    "datasets": ("name", "version", "path", "sha256"),
    "conditions": ("name", "params"),
    "models": ("name", "label", "options"),
}
_SPAN = re.compile(r"\[\d+,\d+\]")
_quote: Callable[[str], str] = json.encoder.encode_basestring


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
    manifest = read_manifest(run)
    write_atomic(to / MANIFEST, pretty(manifest.as_json()))
    for name, path in trusted_files(manifest, run).items():
        write_atomic(to / CODE / name, path.read_bytes())
    with snapshot(run / "run.db") as db, Progress("writing", db.size(), quiet=quiet) as progress:
        write_atomic(to / PLAN, pretty(_plan(db)))
        items = (dumps({"dataset": whole(n), "item": json.loads(str(body))}) for n, body in db.items())
        write_lines(to / ITEMS, items)
        write_lines(to / TRIALS, _trial_lines(run, db), progress)
        write_lines(to / RESPONSES, map(_response_line, db.responses()), progress)
        write_lines(to / SCORES, _score_lines(db), progress)
    if manifest.stop is not None:
        with Store.open(run / "run.db") as store:
            write_atomic(to / LOOKS, "".join(dumps(one.as_json()) + "\n" for one in read_looks(store)))
    if (run / LABELS).is_file():
        write_atomic(to / LABELS, "".join(dumps(body) + "\n" for _, body in json_lines(run / LABELS)))


def restore(folder: Path, to: Path, *, quiet: bool = True) -> Path:
    """Make a run directory below `to` of what a published folder holds, and return its path.

    Its name is the run's own, so that all that is derived from it is the same; an existing one is a StoreError. Nothing
    derived is copied but the scores: metrics, report, tables and figures stay in the published folder.
    """
    manifest, plan = read_manifest(folder), read_object(folder / PLAN, StoreError, f"{folder} is no published run")
    if plan.get("format") != FORMAT:
        raise StoreError(f"{folder / PLAN}: not of format {FORMAT}; upgrade perpend, or publish the run again")
    directory = to / run_id(manifest)
    if directory.exists():
        raise StoreError(f"{directory} exists already; restore into another folder or remove it")
    to.mkdir(parents=True, exist_ok=True)
    code = [f"{CODE}/{source.file}" for source in manifest.sources if Path(source.file).name == source.file]
    with temporary_folder("restore", to) as tmpdir:
        half = tmpdir / "run"
        half.mkdir()
        for name in (MANIFEST, LABELS, *code):
            if (folder / name).is_file():
                write_atomic(half / name, (folder / name).read_bytes())
        with Progress("restoring", manifest.trials, quiet=quiet) as progress:
            _rebuild(folder, plan, half / "run.db", progress, looks=manifest.stop is not None)
        half.replace(directory)
    return directory


def write_lines(path: Path, lines: Iterable[str], progress: Progress | None = None) -> None:
    """Lines, compressed with no name and no time in the header: same lines, same bytes."""
    rest = iter(lines)
    path.parent.mkdir(parents=True, exist_ok=True)
    with writing(path), path.open("wb") as file, gzip.GzipFile("", "wb", 6, file, mtime=0) as packed:
        try:
            while chunk := list(islice(rest, _LINES)):
                packed.write(("\n".join(chunk) + "\n").encode())
                if progress is not None:
                    progress.advance(len(chunk))
        except ValueError as error:  # a number that JSON has no word for, or a column that should hold JSON
            raise StoreError(f"{path.name}: a row of run.db cannot be written: {error}") from error


def read_lines(path: Path) -> Iterator[tuple[int, JSON]]:
    """(line number, value) of compressed JSON lines. What is not that is a StoreError with file and line."""
    number = 0
    if not path.is_file():  # to open a pipe would wait for ever
        raise StoreError(f"{path}: missing, or not a file; the folder is not a whole published run")
    try:
        with gzip.open(path, "rt", encoding="utf-8", newline="\n") as file:
            for number, line in enumerate(iter(partial(file.readline, _LONGEST), ""), 1):
                value = _READ(line)
                # A key said twice, another order, a number beyond every float: no line of ours.
                if dumps(value) + "\n" != line:
                    raise StoreError(f"{path}:{number}: not one line of canonical JSON, as perpend writes them")
                yield number, value
    except (OSError, EOFError, zlib.error, ValueError, RecursionError) as error:
        raise StoreError(f"{path}, near line {number}: damaged: {error}") from error


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
        for name, columns in _PARTS.items()
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
    return dumps(
        {
            name: json.loads(str(value)) if name in ("logprobs", "usage") else value  # type: ignore[misc]  # SQLite's types
            for name, value in zip(_RESPONSE, row, strict=True)
            if value is not None
        }
    )


def _score_lines(db: Snapshot) -> Iterator[str]:
    """Canonical lines by hand: of scores there are many, and a general encoder takes three times as long."""
    for name, (trial, value, answer, reason, span) in db.scores():
        if span is not None and _SPAN.fullmatch(str(span)) is None:
            raise StoreError(f"trial {trial}: {name} rests on the span {span!r}; score the run again")
        if isinstance(value, float) and not math.isfinite(value):
            raise StoreError(f"trial {trial}: {name} gives {value}, which is no number; score the run again")
        text = "null" if answer is None else _quote(str(answer))
        place = "null" if span is None else span
        number = "null" if value is None else repr(value)
        yield (
            f'{{"answer":{text},"reason":{_quote(str(reason))},"scorer":{_quote(name)},'
            f'"span":{place},"trial":{trial},"value":{number}}}'
        )


def _rebuild(folder: Path, plan: Mapping[str, JSON], path: Path, progress: Progress, *, looks: bool) -> None:
    """run.db of the folder's lines. A line that has not what its table needs is a StoreError that names the file."""
    with rebuild(path, looks=looks) as db:
        with _named(folder / PLAN):
            db.parts(_parts(plan))
        with _named(folder / ITEMS):
            db.items(_item_rows(folder))
        trials = _Trials(folder, progress)
        with _named(folder / TRIALS):
            db.trials(trials)
        with _named(folder / RESPONSES):
            db.responses(_response_rows(folder, trials))
        with _named(folder / SCORES):
            _restore_scores(db, folder, plan, trials)
        if looks:
            with _named(folder / LOOKS):
                db.looks(_look_rows(folder))


@contextmanager
def _named(path: Path) -> Iterator[None]:
    """Say of what goes wrong in which published file it is: the ledger that is being made of it is nobody's concern."""
    try:
        yield
    except (KeyError, TypeError, ValueError, OverflowError, RecursionError, StoreError) as error:
        if isinstance(error, StoreError) and path.name in str(error):
            raise
        reason = error.__cause__ or error
        raise StoreError(
            f"{path}: not what a published run holds ({reason!r:.200}); it was changed, or was never whole"
        ) from error


def _parts(plan: Mapping[str, JSON]) -> dict[str, list[Row]]:
    _known(plan, {*_PARTS, "format", "samplings", "meta", "scorers"}, PLAN)
    if not isinstance(plan["scorers"], list) or not all(isinstance(name, str) for name in plan["scorers"]):
        raise StoreError(f"{PLAN}: 'scorers' must be a list of names")
    rows = {name: [_known(row, set(keys), PLAN) for row in _tables(plan[name])] for name, keys in _PARTS.items()}
    return {
        "meta": [[key, value] for key, value in sorted(_table(plan["meta"]).items())],
        "datasets": [[row[key] for key in _PARTS["datasets"]] for row in rows["datasets"]],
        "conditions": [[row["name"], dumps(row["params"])] for row in rows["conditions"]],
        "models": [[row["name"], row["label"], dumps(row["options"])] for row in rows["models"]],
        "samplings": [[_sampling(row)] for row in _tables(plan["samplings"])],
    }


def _sampling(body: Mapping[str, JSON]) -> str:
    sampling = read_sampling(dumps(body)).as_json()
    _known(body, set(sampling), PLAN)
    return dumps(sampling)


def _known(body: Mapping[str, JSON], keys: AbstractSet[str], place: str) -> Mapping[str, JSON]:
    """The object, if it has no key but these: what nothing reads, nothing checks."""
    if not body.keys() <= keys:
        raise StoreError(f"{place}: unknown key {min(body.keys() - keys)!r}; the file was changed")
    return body


def _item_rows(folder: Path) -> Iterator[tuple[int, str, str]]:
    for number, line in read_lines(folder / ITEMS):
        body = _known(_table(line), {"dataset", "item"}, f"{ITEMS}:{number}")
        text = dumps(body["item"])
        yield whole(body["dataset"]), parse_item(text, f"{ITEMS}:{number}").id, text


def _look_rows(folder: Path) -> Iterator[Row]:
    for number, body in json_lines(folder / LOOKS):
        if sorted(body) != ["items", "look", "numbers", "stop"] or not isinstance(body["stop"], bool):
            raise StoreError(f"{LOOKS}:{number}: not a look; the file was changed")
        yield whole(body["look"]), whole(body["items"]), int(body["stop"]), dumps(body["numbers"])


class _Trials:
    """The rows of the plan, counted while they stream by, so that no later row can name a trial that is not there."""

    def __init__(self, folder: Path, progress: Progress) -> None:
        self.folder = folder
        self.progress = progress
        self.n = 0

    def __iter__(self) -> Iterator[Row]:
        for number, line in read_lines(self.folder / TRIALS):
            if not isinstance(line, list) or len(line) != 5:
                raise StoreError(f"{self.folder / TRIALS}:{number}: not [item, condition, model, sampling, repeat]")
            self.n = number
            yield (number, *line)

    def named(self, body: Mapping[str, JSON], place: str) -> int:
        """The trial that a line names."""
        trial = body["trial"]
        if not isinstance(trial, int) or not 0 < trial <= self.n:
            raise StoreError(f"{self.folder / place}: names trial {trial} of {self.n}")
        return trial


def _response_rows(folder: Path, trials: _Trials) -> Iterator[Row]:
    last = 0
    for number, line in read_lines(folder / RESPONSES):
        body = _known(_table(line), _RESPONSE_KEYS, f"{RESPONSES}:{number}")
        trial = trials.named(body, RESPONSES)
        trials.progress.advance(trial - last)
        last, get = trial, body.get
        packed = (None if value is None else dumps(value) for value in (get("logprobs"), get("usage")))
        row = (get("text"), get("error"), next(packed), get("finish"), next(packed), get("ms"))
        read_response(row)  # what no reader could make a Response of is refused here
        yield (trial, body["turn"], body["attempt"], bytes.fromhex(str(body["request_sha256"])), *row, body["at"])


def _restore_scores(db: Rebuild, folder: Path, plan: Mapping[str, JSON], trials: _Trials) -> None:
    names = plan["scorers"]
    scorers = {str(name): number for number, name in enumerate(names if isinstance(names, list) else [], 1)}

    def rows() -> Iterator[Row]:
        for number, line in read_lines(folder / SCORES):
            body = _known(_table(line), _SCORE, f"{SCORES}:{number}")
            trial = trials.named(body, SCORES)
            span = body["span"]
            if isinstance(span, list):
                start, end = span
                span = f"[{whole(start)},{whole(end)}]"
            yield scorers[str(body["scorer"])], trial, body["value"], body["answer"], body["reason"], span

    db.scores(list(scorers), rows())


def _table(value: JSON) -> Mapping[str, JSON]:
    if not isinstance(value, dict):
        raise TypeError(f"an object was expected, not {value!r:.60}")
    return value


def _tables(value: JSON) -> list[Mapping[str, JSON]]:
    if not isinstance(value, list):
        raise TypeError(f"a list was expected, not {value!r:.60}")
    return [_table(entry) for entry in value]

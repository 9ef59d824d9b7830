"""The way back from a published folder to a run directory. Everything streams: memory does not grow with the run."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from collections.abc import Set as AbstractSet
from contextlib import contextmanager, nullcontext
from pathlib import Path

from perpend.ask.progress import Progress
from perpend.ask.task import CODE
from perpend.canon import JSON, dumps, json_lines, read_bytes, read_object, write_atomic
from perpend.disk import temporary_folder
from perpend.errors import StoreError, check_format
from perpend.ledger.items import parse_item
from perpend.ledger.manifest import MANIFEST, Manifest, read_manifest
from perpend.ledger.plan import read_response, read_sampling, whole
from perpend.ledger.snapshot import Row, rebuild, score_table
from perpend.measure.labels import LABELS
from perpend.measure.processes import one_more, outcome
from perpend.proof.archive import FORMAT, ITEMS, LOOKS, PARTS, PLAN, RESPONSE, RESPONSES, SCORES, TRIALS, run_id
from perpend.proof.lines import read_lines, read_scores, read_trials

_RESPONSE_KEYS = frozenset(RESPONSE)
_SCORE = frozenset(("scorer", "trial", "value", "answer", "reason", "span"))
_ALONE = 4 << 20
"""Bytes of compressed scores below which they are read before a second process would have started."""


def restore(folder: Path, to: Path, *, quiet: bool = True) -> Path:
    """Make a run directory below `to` of what a published folder holds, and return its path.

    Its name is the run's own, so that all that is derived from it is the same; an existing one is a StoreError. Nothing
    derived is copied but the scores: metrics, report, tables and figures stay in the published folder.
    """
    manifest, plan = (
        read_manifest(folder),
        read_object(folder / PLAN, StoreError, f"{folder} is no published run", within=folder),
    )
    check_format(plan.get("format"), FORMAT, folder / PLAN, manifest.code.get("perpend"))
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
                write_atomic(half / name, read_bytes(folder / name, StoreError, within=folder))
        with Progress("restoring", manifest.trials, quiet=quiet) as progress:
            _rebuild(folder, manifest, plan, half / "run.db", progress)
        half.replace(directory)
    return directory


def _rebuild(folder: Path, manifest: Manifest, plan: Mapping[str, JSON], path: Path, progress: Progress) -> None:
    """run.db of the folder's lines. A line that has not what its table needs is a StoreError that names the file.

    So is one item, or one trial, more than the manifest states: nobody knows how many would follow. Of many scores
    another process makes a table meanwhile.
    """
    packed, looks = folder / SCORES, manifest.stop is not None
    pool = one_more(packed.stat().st_size if packed.is_file() else 0, _ALONE)
    with rebuild(path) as db, pool or nullcontext():
        with _named(folder / PLAN):
            parts = _parts(plan)
            scorers = _scorers(plan)
            db.parts(parts)
        beside = path.parent.with_name("scores.db")
        scores = None if pool is None else pool.submit(_score_table, folder, scorers, beside)
        with _named(folder / ITEMS):
            db.items(_item_rows(folder, manifest.items.n))
        trials = _Trials(folder, manifest.trials, progress)
        with _named(folder / TRIALS):
            db.trials(trials)
        with _named(folder / RESPONSES):
            db.responses(_response_rows(folder, trials))
        with _named(folder / SCORES):
            if scores is None:
                db.scores(list(scorers), _score_rows(folder, scorers, trials))
            else:
                outcome(scores)
                for trial in db.take_scores(list(scorers), beside):
                    trials.named({"trial": trial}, SCORES)
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
    _known(plan, {*PARTS, "format", "samplings", "meta", "scorers"}, PLAN)
    if not isinstance(plan["scorers"], list) or not all(isinstance(name, str) for name in plan["scorers"]):
        raise StoreError(f"{PLAN}: 'scorers' must be a list of names")
    rows = {name: [_known(row, set(keys), PLAN) for row in _tables(plan[name])] for name, keys in PARTS.items()}
    return {
        "meta": [[key, value] for key, value in sorted(_table(plan["meta"]).items())],
        "datasets": [[row[key] for key in PARTS["datasets"]] for row in rows["datasets"]],
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


def _within(number: int, most: int, place: Path) -> None:
    if number > most:
        raise StoreError(f"{place}:{number}: one more than the {most} that {MANIFEST} states; the rest was not read")


def _item_rows(folder: Path, most: int) -> Iterator[tuple[int, str, str]]:
    for number, line in read_lines(folder / ITEMS):
        _within(number, most, folder / ITEMS)
        body = _known(_table(line), {"dataset", "item"}, f"{ITEMS}:{number}")
        text = dumps(body["item"])
        yield whole(body["dataset"]), parse_item(text, f"{ITEMS}:{number}").id, text


def _look_rows(folder: Path) -> Iterator[Row]:
    for number, body in json_lines(folder / LOOKS, within=folder):
        if sorted(body) != ["items", "look", "numbers", "stop"] or not isinstance(body["stop"], bool):
            raise StoreError(f"{LOOKS}:{number}: not a look; the file was changed")
        yield whole(body["look"]), whole(body["items"]), int(body["stop"]), dumps(body["numbers"])


class _Trials:
    """The rows of the plan, counted while they stream by, so that no later row can name a trial that is not there."""

    def __init__(self, folder: Path, most: int, progress: Progress) -> None:
        self.folder = folder
        self.most = most
        self.progress = progress
        self.n = 0

    def __iter__(self) -> Iterator[Row]:
        for number, line in read_trials(self.folder / TRIALS):
            if not isinstance(line, list) or len(line) != 5:
                raise StoreError(f"{self.folder / TRIALS}:{number}: not [item, condition, model, sampling, repeat]")
            _within(number, self.most, self.folder / TRIALS)
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
        turn, attempt, digest = body["turn"], body["attempt"], bytes.fromhex(str(body["request_sha256"]))
        yield (trial, whole(turn), whole(attempt), digest, *row, body["at"])


def _scorers(plan: Mapping[str, JSON]) -> dict[str, int]:
    """The numbers of the scorers, in the order of the plan."""
    names = plan["scorers"]
    return {str(name): number for number, name in enumerate(names if isinstance(names, list) else [], 1)}


def _score_table(folder: Path, scorers: Mapping[str, int], path: Path) -> None:
    """The scores as a table in a file of their own; whether the plan has their trials is for others to say."""
    with _named(folder / SCORES):
        score_table(path, _score_rows(folder, scorers, None))


def _score_rows(folder: Path, scorers: Mapping[str, int], trials: _Trials | None) -> Iterator[Row]:
    """The rows of the table of scores. A trial that is not among `trials` is a StoreError."""
    for number, line, quick in read_scores(folder / SCORES):
        if quick is not None:
            rows = [
                (scorers[name], trial, value, answer, reason, span)
                for answer, reason, name, span, trial, value in quick
            ]
            for row in rows:
                if trials is not None and not 0 < row[1] <= trials.n:
                    trials.named({"trial": row[1]}, SCORES)
            yield from rows
            continue
        body = _known(_table(line), _SCORE, f"{SCORES}:{number}")
        trial = whole(body["trial"]) if trials is None else trials.named(body, SCORES)
        span, answer, reason, value = body["span"], body["answer"], body["reason"], body["value"]
        if isinstance(span, list):
            start, end = span
            span = f"[{whole(start)},{whole(end)}]"
        yield scorers[str(body["scorer"])], trial, value, answer, reason, span


def _table(value: JSON) -> Mapping[str, JSON]:
    if not isinstance(value, dict):
        raise TypeError(f"an object was expected, not {value!r:.60}")
    return value


def _tables(value: JSON) -> list[Mapping[str, JSON]]:
    if not isinstance(value, list):
        raise TypeError(f"a list was expected, not {value!r:.60}")
    return [_table(entry) for entry in value]

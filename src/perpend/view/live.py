"""A page that grows with its runs: what was answered since the last look is taken in, the rest is kept."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from pathlib import Path

from perpend.canon import JSON, as_list, as_object
from perpend.errors import DataError, StoreError
from perpend.ledger.asked import asked_since, newest_response, stored_scores
from perpend.measure.labels import LABELS, LabelReader, append_labels, check_reader, label_lines
from perpend.measure.study import METRICS
from perpend.view.data import View, ViewedRun, encoded
from perpend.view.outcomes import PENDING
from perpend.view.trials import CHUNK

MOST_LABELS = 1000
"""Labels that one request may bring."""


class _State:
    """One run as it was when it was last looked at."""

    def __init__(self, viewed: ViewedRun, *, quiet: bool) -> None:
        self.viewed = viewed
        with viewed.run.open() as store:
            self.newest = newest_response(store)
            self.scores = stored_scores(store)
        self.metrics = _stamp(viewed.run.directory / METRICS)
        self.labels = _stamp(viewed.run.directory / LABELS)
        self.keys = [0] * -(-len(viewed.trials) // CHUNK)
        self.reader: LabelReader | None = None
        viewed.fill(quiet=quiet)

    def is_grown(self) -> bool:
        """Take in what was answered since; whether there was anything."""
        viewed = self.viewed
        with viewed.run.open() as store:
            newest = newest_response(store)
            if newest == self.newest:
                return False
            for trial in viewed.trials.numbered(store, asked_since(store, self.newest)):
                row = int(viewed.trials.row_of[trial.trial.trial - 1])
                viewed.columns.put(row, trial)
                self.keys[row // CHUNK] += 1
        self.newest, self.reader = newest, None
        return True

    def is_scored_anew(self) -> bool:
        """Whether scores or numbers were written since: then everything is read again."""
        with self.viewed.run.open() as store:
            scores = stored_scores(store)
        return scores != self.scores or _stamp(self.viewed.run.directory / METRICS) != self.metrics

    def is_labelled(self) -> bool:
        """Whether labels were written since."""
        before, self.labels = self.labels, _stamp(self.viewed.run.directory / LABELS)
        return before != self.labels


class LiveView:
    """The page of some runs, as it is now. `make` opens them anew; requests come from several threads."""

    def __init__(self, make: Callable[[], View], *, quiet: bool = True) -> None:
        self._make, self._lock = make, threading.Lock()
        self._version = 0
        self._open(quiet=quiet)

    def _open(self, *, quiet: bool = True) -> None:
        self.view = self._make()
        self._states = [_State(run, quiet=quiet) for run in self.view.runs]
        self._index: bytes | None = None
        self._epoch = self._version

    def _look(self) -> None:
        """Look whether anything has changed."""
        if any(state.is_scored_anew() for state in self._states):
            self._version += 1
            self._open()
            return
        grown = [state.is_grown() for state in self._states]
        labelled = [state.is_labelled() for state in self._states]
        if any(grown) or any(labelled):
            self._version += 1
            self._index = None
            if any(grown) and not any(run.columns.counts().outcomes[PENDING] for run in self.view.runs):
                self._open()  # complete: now the answers to read can be drawn

    def index(self, since: str) -> bytes | None:
        """The index; None where nothing has changed since that version."""
        with self._lock:
            self._look()
            version = str(self._version)
            if version == since:
                return None
            if self._index is None:
                chunks = list(self.view.chunks())
                keys = [f"{self._epoch}.{self._states[one.run].keys[one.first // CHUNK]}" for one in chunks]
                places = [f"api/chunk/{number}" for number in range(len(chunks))]
                self._index = encoded(self.view.index("live", places, version=version, keys=keys))
            return self._index

    def chunk(self, number: int) -> bytes | None:
        """The JSON of a chunk; None where there is no such one."""
        with self._lock:
            chunks = list(self.view.chunks())
            return self.view.read(chunks[number]) if 0 <= number < len(chunks) else None

    def label(self, body: Mapping[str, JSON]) -> int:
        """Append labels to the file of a run, and say how many lines it has. Lines that fit no answer are refused."""
        name, lines = body.get("run"), as_list(body.get("labels"))
        if sorted(body) != ["labels", "run"] or not lines or len(lines) > MOST_LABELS:
            raise DataError(f"a request brings 'run' and 1 to {MOST_LABELS} 'labels'")
        with self._lock:
            state = next((one for one in self._states if one.viewed.trials.name == name), None)
            if state is None:
                raise DataError("no run of that name is on this page")
            run, stated = state.viewed.run, state.viewed.stated
            if stated.kind != "run":
                raise StoreError("only a run directory keeps labels; save them as a file instead")
            if state.reader is None:
                state.reader = LabelReader(run)
            labels = [state.reader.read(as_object(line), f"label {n}") for n, line in enumerate(lines, 1)]
            for label in labels:
                check_reader(label.by)
                if not label.rubric or not label.text_sha256:
                    raise DataError(f"trial {label.trial}: a label names its rubric and the digest of the text")
            _check_plain(run.directory / LABELS)
            append_labels(run, labels)
            return label_lines(run)


def _check_plain(path: Path) -> None:
    """Nothing but the labels file is written: a link in its place would lead elsewhere."""
    if path.is_symlink() or (path.exists() and not path.is_file()):
        raise StoreError(f"{path.name} is not a plain file, so nothing was written to it")


def _stamp(path: Path) -> tuple[int, int] | None:
    """What changes when a file is written: its time and size; None where there is none."""
    try:
        facts = path.stat()
    except OSError:
        return None
    return facts.st_mtime_ns, facts.st_size

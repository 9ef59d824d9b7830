"""The data of the page, perpend-view@1: an index with columns over all trials, chunks with what each trial holds."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from perpend.ask.progress import Progress
from perpend.canon import JSON
from perpend.measure.labels import read_labels
from perpend.measure.run import Run
from perpend.view.columns import RunColumns, columns_json
from perpend.view.labelling import Labelling
from perpend.view.outcomes import ERROR, NOT_DUE, PENDING
from perpend.view.overview import Stated, facts_of, question_of, scorers_of
from perpend.view.trials import CHUNK, ViewedTrial, ViewedTrials

FORMAT = "perpend-view@1"
_encoder = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":"), check_circular=False)


def encoded(body: JSON) -> bytes:
    """A part of the data as JSON in UTF-8; the same body gives the same bytes."""
    return _encoder.encode(body).encode()


@dataclass(frozen=True, slots=True)
class Chunk:
    """Rows `first` to `last`, without the last, of the run of that number."""

    run: int
    first: int
    last: int


class ViewedRun:
    """One run on a page: what is stated of it, its trials, and their columns as far as they were read."""

    def __init__(self, stated: Stated, name: str | None = None) -> None:
        self.stated = stated
        self.trials = ViewedTrials(stated.run, name, is_stopped=stated.is_stopped)
        self.columns = RunColumns(self.trials)

    @property
    def run(self) -> Run:
        """The run."""
        return self.stated.run

    def chunk(self, first: int, last: int) -> bytes:
        """The JSON of some rows; their columns are taken in."""
        return encoded({"trials": [self.trials.body(trial) for trial in self._read(first, last)]})

    def _read(self, first: int, last: int) -> list[ViewedTrial]:
        with self.run.open() as store:
            viewed = self.trials.read(store, first, last)
        for row, trial in enumerate(viewed, first):
            self.columns.put(row, trial)
        return viewed

    def fill(self, *, quiet: bool = True) -> None:
        """Read every trial for its columns alone."""
        with Progress(f"reading {self.trials.name}", len(self.trials), quiet=quiet) as progress:
            for first in range(0, len(self.trials), CHUNK):
                progress.advance(len(self._read(first, first + CHUNK)))

    def as_json(self, labelling: Labelling | None, claims: Sequence[JSON]) -> dict[str, JSON]:
        """The run's part of the index, once its columns are complete."""
        stated, manifest, counts = self.stated, self.run.manifest, self.columns.counts()
        source = manifest.source_of_import
        planned = len(self.trials)
        return {
            "name": self.trials.name,
            "kind": stated.kind,
            "task": manifest.task,
            "question": question_of(self.run),
            "answer": list(stated.answer()),
            "cautions": list(stated.cautions(counts.outcomes[PENDING])),
            "gates": stated.gates(),
            "headline": stated.headline(),
            "facts": [[name, text] for name, text in facts_of(stated, counts)],
            "figures": stated.figures,
            "claims": list(claims),
            "scorers": scorers_of(stated, self.trials.scorers),
            "primary": self.trials.outcomes.primary,
            "labelling": None if labelling is None else labelling.as_json(),
            "imported": None if source is None else str(source.get("format")),
            "planned": planned,
            "answered": planned - sum(counts.outcomes[word] for word in (ERROR, PENDING, NOT_DUE)),
            "failed": counts.outcomes[ERROR],
        }


class View:
    """Some runs on one page."""

    def __init__(self, runs: Sequence[ViewedRun], title: str, labelling: Sequence[Labelling | None]) -> None:
        self.runs, self.title, self.labelling = list(runs), title, list(labelling)
        self.claims: list[list[JSON]] = [[] for _ in runs]

    def __len__(self) -> int:
        return sum(len(run.trials) for run in self.runs)

    def chunks(self) -> Iterator[Chunk]:
        """The parts that trials are packed in; none has trials of two runs."""
        for number, run in enumerate(self.runs):
            for first in range(0, len(run.trials), CHUNK):
                yield Chunk(number, first, min(first + CHUNK, len(run.trials)))

    def read(self, chunk: Chunk) -> bytes:
        """The JSON of one chunk."""
        return self.runs[chunk.run].chunk(chunk.first, chunk.last)

    def index(self, mode: str, at: Sequence[str], *, version: str = "1", keys: Sequence[str] = ()) -> dict[str, JSON]:
        """The index, once every chunk was read. `at` says for each chunk where it is, `keys` which state it has."""
        firsts, total = [], 0
        for run in self.runs:
            firsts.append(total)
            total += len(run.trials)
        chunks: list[JSON] = []
        for number, (chunk, place) in enumerate(zip(self.chunks(), at, strict=True)):
            entry: dict[str, JSON] = {
                "first": firsts[chunk.run] + chunk.first,
                "n": chunk.last - chunk.first,
                "at": place,
            }
            chunks.append(entry | ({"key": keys[number]} if keys else {}))
        for run, labelling in zip(self.runs, self.labelling, strict=True):
            run.columns.label(read_labels(run.run), "" if labelling is None else labelling.rubric.full_name)
        bodies = [
            run.as_json(labelling, claims)
            for run, labelling, claims in zip(self.runs, self.labelling, self.claims, strict=True)
        ]
        return {
            "format": FORMAT,
            "mode": mode,
            "version": version,
            "growing": mode == "live" and any(run.columns.counts().outcomes[PENDING] for run in self.runs),
            "title": self.title,
            "runs": list(bodies),
            "n": total,
            "columns": columns_json([run.columns for run in self.runs]),
            "chunks": chunks,
        }

"""A ledger opened for reading: its manifest, its state, its trials as a Table; several as one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from itertools import accumulate, chain, islice
from pathlib import Path
from typing import TypeAlias

import numpy as np

from perpend.ask.progress import Progress
from perpend.ask.quoting import text_sha256
from perpend.canon import JSON
from perpend.errors import DataError, SpecError, StoreError
from perpend.inert import one_line
from perpend.ledger.database import exclusive
from perpend.ledger.manifest import Manifest, read_manifest
from perpend.ledger.raw import blank_batches, score_bounds, value_blocks
from perpend.ledger.scores import CACHE
from perpend.ledger.store import Store
from perpend.ledger.unfit import trials_saying, unfit_items, unscored_reasons
from perpend.measure.column import Column
from perpend.measure.keys import Codes, FloatArray, IntArray
from perpend.measure.packed import Packed, return_what_is_freed
from perpend.measure.plans import RunPlan, plan_of, pooled, refuse_shard
from perpend.measure.samplings import settings_in
from perpend.measure.scoring import judges_of, scored
from perpend.measure.shown import html_table
from perpend.measure.study import METRICS, numbers_of, read_metrics
from perpend.measure.table import IMPORTED, Answers, Judgement, Reply, Table
from perpend.measure.toolkit import Toolkit, toolkit
from perpend.measure.verdicts import with_verdicts
from perpend.spec.function import judged_by
from perpend.types import UNFIT, Item, Score, Scorer

_STEP = 500
_MANY = 2_000_000
UnfitItems: TypeAlias = dict[tuple[str, str], set[int]]
"""By run and scorer, the codes of the items that the scorer cannot judge, where that was seen."""
_VALUE_OF = np.full(128, np.nan)
_VALUE_OF[[ord("0"), ord("1")]] = 0.0, 1.0


class Run:
    """A run directory: its scores as columns, its state, its metrics.

    `code` is what its names stand for, where the caller has it at hand. Otherwise packaged names are looked up, and
    Python files of the run itself are run only with `trust_code`.
    """

    def __init__(self, directory: str | Path, *, code: Toolkit | None = None, trust_code: bool = False) -> None:
        self.directory = Path(directory)
        self.manifest: Manifest = read_manifest(self.directory)
        self._code, self._trust_code = code, trust_code
        self.judges: tuple[Run, ...] = ()

    @property
    def name(self) -> str:
        """The name of its directory."""
        return self.directory.resolve().name

    def __repr__(self) -> str:
        return one_line(f"Run({self.name!r}: {self._summary()})")

    def _summary(self) -> str:
        """What the manifest says of the run, in a line."""
        manifest = self.manifest
        models = ", ".join(model.label for model in manifest.models)
        counts = ((manifest.items.n, "item"), (len(manifest.conditions), "condition"), (manifest.trials, "trial"))
        return f"{manifest.task}; {models}; " + ", ".join(f"{n} {noun}{'s' * (n != 1)}" for n, noun in counts)

    def _repr_html_(self) -> str:
        """For a notebook: the rates and means that metrics.json states, one row per model and condition."""
        caption = f"{self.name}: {self._summary()}"
        if not (self.directory / METRICS).is_file():
            return html_table((), (), f"{caption}; not scored yet")
        try:
            numbers = numbers_of(read_metrics(self.directory), [self.manifest])
        except (
            StoreError
        ) as error:  # somebody looks at a run: what is wrong with a file is part of what there is to see
            return html_table((), (), f"{caption}; {error}")
        stated = [metric for name in ("rate", "mean") for metric in numbers.find(name)]
        scorers = list(dict.fromkeys(metric.scorer for metric in stated))
        keys = ("model", *(settings_in(metric.where for metric in stated) or ["temperature"]), "condition")
        cells: dict[tuple[str, ...], dict[str, str]] = {}
        for metric in stated:
            place = tuple(metric.where.get(key, "") for key in keys)
            cells.setdefault(place, {})[metric.scorer] = str(metric.estimate)
        rows = [(*place, *(values.get(scorer) for scorer in scorers)) for place, values in cells.items()]
        return html_table((*keys, *scorers), rows, caption)

    @cached_property
    def code(self) -> Toolkit:
        """The scorers, the study and the task that the manifest names."""
        return self._code or toolkit(self.manifest, self.directory, trust_code=self._trust_code)

    def open(self) -> Store:
        """Its ledger, for reading; use it with `with`."""
        return Store.open(self.directory / "run.db")

    def score(self, only: Sequence[str] = (), *, workers: int | None = None) -> list[Scorer]:
        """Score every answer again, with the scorers that the manifest names or only these, and keep the scores.

        A large run is scored by `workers` processes, by default one for each core; the scores are the same. Scorers
        that only this process has, such as functions of a notebook, are called in this one.
        """
        names = only or self.manifest.scorers
        scorers = [self.code.scorer(name) for name in names]
        judges = judges_of(self.directory, scorers, names, given=self._code is not None, trust_code=self._trust_code)
        with exclusive(self.directory), Store.open(self.directory / "run.db", write=True) as store:
            refuse_shard(store)
            store.write_scored(scorers, scored(store, scorers, judges, workers), cache=CACHE)
        self.__dict__.pop("table", None)
        return scorers

    @cached_property
    def table(self) -> Table:
        """Its trials as columns, with the stored scores and the verdicts of its judges."""
        table = table_of([self])
        if not self.judges:
            return table
        with self.open() as store:
            texts = {trial: text_sha256(text) for trial, text, _ in store.texts()}
        return with_verdicts(table, self.manifest.run, [(one.manifest, one.table) for one in self.judges], texts)

    def alone(self) -> Run:
        """This run; an error where it has verdicts of judges: what is written of a run must follow from it alone."""
        if self.judges:
            names = ", ".join(judge.name for judge in self.judges)
            raise SpecError(f"{self.name}: has verdicts of {names}; 'analyze' shows them, this takes the run by itself")
        return self

    def with_judge(self, *judges: str | Path | Run) -> Run:
        """This run with the verdicts of judge runs as columns, such as 'judged:endorsed@M'. Nothing is written."""
        run = type(self)(self.directory, code=self._code, trust_code=self._trust_code)
        run.judges = (*self.judges, *(one if isinstance(one, Run) else Run(one) for one in judges))
        return run

    def __getitem__(self, name: str) -> Column:
        """The column of a scorer: 'correct@1', or 'correct' for the latest version that was scored."""
        return self.table[name]

    def __iter__(self) -> Iterator[str]:
        """The names of its columns, as of a dictionary."""
        return iter(self.table)

    def __contains__(self, name: object) -> bool:
        """Whether it was scored by 'correct' or 'correct@1'."""
        return name in self.table

    def columns(self) -> dict[str, Column]:
        """Every scored column by 'name@version'."""
        return self.table.columns()

    def status(self) -> dict[str, JSON]:
        """How many trials are planned, answered and failed, in all and by cell."""
        with self.open() as store:
            cells = store.cells()
        return {
            "run": self.name,
            "planned": sum(cell.planned for cell in cells),
            "answered": sum(cell.answered for cell in cells),
            "failed": sum(cell.failed for cell in cells),
            "cells": [
                f"{c.model} | {c.condition} | {c.sampling}: {c.answered}/{c.planned} answered, {c.failed} failed"
                for c in cells
            ],
        }


def judged(store: Store, scorers: Sequence[Scorer]) -> Iterator[tuple[int, list[Score]]]:
    """(trial, its scores) for every trial that was asked, in plan order."""
    for trial, response in store.answers():
        yield trial.trial, [judged_by(scorer, trial.item, response, trial.trial) for scorer in scorers]


def table_of(runs: Sequence[Run], *, rescore: bool = False, quiet: bool = True) -> Table:
    """The trials of some runs as one table.

    Several runs pool into a sweep: an item's id is its identity, a model's label its variant; the key `run` says which
    run a trial is of. With `rescore` every answer is judged again from its raw text and stored scores are not looked
    at, but for those of an import. One id for two items, one label for two models, one run twice are errors.
    """
    _check(runs)
    plans = [_plan(run) for run in runs]
    items = _catalogue(runs, [plan[2] for plan in plans])
    codes, names = pooled([run.name for run in runs], plans)
    if len(codes["item"]) > _MANY:
        return_what_is_freed()
    scorers = _shared_scorers(runs)

    seen_unfit: UnfitItems = {}
    firsts = accumulate((len(plan["item"]) for plan, _, _ in plans), initial=0)
    parts = [_Part(run, first, plan["item"]) for run, first, (plan, _, _) in zip(runs, firsts, plans, strict=False)]

    def values(wanted: Sequence[str]) -> dict[str, Packed]:
        columns = {name: Packed(len(codes["item"])) for name in wanted}
        for own in parts:
            stored = [name for name in wanted if not rescore or name.endswith(f"@{IMPORTED}")]
            own.put_stored(columns, stored, seen_unfit)
            own.put_fresh(columns, _fresh(own.run, wanted) if rescore else {}, seen_unfit, quiet=quiet)
        return columns

    def answers() -> Answers:
        n = len(codes["item"])
        kept = Answers(np.zeros(n, dtype=np.bool_), np.zeros(n, dtype=np.bool_), Packed(n))
        for own in parts:
            _put_answers(own.run, kept, own.first, len(own.items))
        return kept

    def judgements(wanted: Sequence[str]) -> Iterator[Judgement]:
        for own in parts:
            yield from _judgements(own.run, wanted, own.first, _fresh(own.run, wanted) if rescore else {})

    def replies() -> Iterator[Reply]:
        return chain.from_iterable(_replies(own.run, own.first) for own in parts)

    @cache  # several numbers ask for it, and all scores of a scorer are read for it
    def unfit(wanted: str) -> IntArray:
        masks = []
        for own in parts:
            seen = seen_unfit.get((own.run.name, wanted))
            masks.append(np.isin(own.items, sorted(_unfit(own.run, wanted) if seen is None else seen)))
        return np.unique(codes["item"][np.concatenate(masks)])

    def reasons(wanted: str, beside: str) -> dict[tuple[str, str], int]:
        counts: Counter[tuple[str, str]] = Counter()
        for own in parts:
            with own.run.open() as store:
                rows, scored_trials = unscored_reasons(store, wanted, beside, len(own.items))
            for reason, other, count in rows:
                counts[reason, other] += count
            counts["", ""] += len(own.items) - scored_trials
        return {reason: count for reason, count in counts.items() if count}

    def saying(wanted: str, answer: str) -> IntArray:
        rows: list[int] = []
        for own in parts:
            with own.run.open() as store:
                rows += (own.first + trial - 1 for trial in trials_saying(store, wanted, answer, len(own.items)))
        return np.array(rows, dtype=np.int64)

    named = tuple(run.name for run in runs)
    first = runs[0].manifest.scorers
    return Table(
        named, codes, names, items, scorers, values, answers, judgements, replies, unfit, reasons, saying, first
    )


def _check(runs: Sequence[Run]) -> None:
    if not runs:
        raise SpecError("no run is given; name at least one run directory")
    seen: dict[str, Path] = {}
    models: dict[str, str] = {}
    for run in runs:
        if run.name in seen:
            raise SpecError(f"two runs are named {run.name!r}; give each run once, under a name of its own")
        seen[run.name] = run.directory
        for model in run.manifest.models:
            if models.setdefault(model.label, model.name) != model.name:
                raise SpecError(
                    f"{run.name}: {model.label!r} is {model.name!r} here and {models[model.label]!r} in another run; "
                    "one label is one variant, so analyse them apart"
                )


def _plan(run: Run) -> RunPlan:
    with run.open() as store:
        return plan_of(run.manifest, store)


def _catalogue(runs: Sequence[Run], items: Sequence[Sequence[Item]]) -> Sequence[Item]:
    """The items of all runs, each id once, in the order in which they first occur."""
    if len(runs) == 1:
        return items[0]
    catalogue: dict[str, Item] = {}
    for run, own in zip(runs, items, strict=True):
        for item in own:
            if catalogue.setdefault(item.id, item) != item:
                raise DataError(
                    f"{run.name}: item {item.id!r} differs from the one of that id in another run; "
                    "analyse runs over different items apart"
                )
    return tuple(catalogue.values())


def _shared_scorers(runs: Sequence[Run]) -> tuple[str, ...]:
    """Every 'name@version' that all the runs have scores of."""
    known: list[list[str]] = []
    for run in runs:
        with run.open() as store:
            known.append([f"{name}@{version}" for name, version in store.scorers()])
    return tuple(name for name in known[0] if all(name in own for own in known[1:]))


@dataclass(frozen=True, slots=True)
class _Part:
    """One run's part of the columns: where it begins, and the items of its trials."""

    run: Run
    first: int
    items: Codes

    def _put(self, column: Packed, trials: FloatArray | IntArray, values: FloatArray) -> None:
        if len(trials):
            _in_plan(self.run, trials, len(self.items))
            column.put(trials.astype(np.int64) + (self.first - 1), values)

    def put_stored(self, columns: Mapping[str, Packed], names: Sequence[str], unfit: UnfitItems) -> None:
        """The stored values of some scorers; where letters say them all, the items that one cannot judge, too."""
        with self.run.open() as store:
            for name in names:
                stem, _, version = name.rpartition("@")
                bounds = score_bounds(store, stem, version)
                if bounds is None:
                    continue
                _in_plan(self.run, np.array(bounds), len(self.items))
                cannot, is_known = np.zeros(int(self.items.max(initial=0)) + 1, dtype=np.bool_), True
                for part in value_blocks(store, stem, version, bounds):
                    if isinstance(part, list):
                        is_known = False
                        numbers: FloatArray = np.fromiter(chain.from_iterable(part), np.float64, 2 * len(part))
                        self._put(columns[name], numbers[::2], numbers[1::2])
                    else:
                        letters, first = np.frombuffer(part[1].encode(), np.uint8), part[0] - 1
                        here = slice(self.first + first, self.first + first + len(letters))
                        columns[name].put(here, _VALUE_OF[letters])
                        cannot[self.items[first : first + len(letters)][letters == ord("u")]] = True
                if is_known:
                    unfit[self.run.name, name] = set(np.flatnonzero(cannot).tolist())

    def put_fresh(
        self,
        columns: Mapping[str, Packed],
        scorers: Mapping[str, Scorer],
        unfit: UnfitItems,
        *,
        quiet: bool,
    ) -> None:
        """The values that scorers give now; the items that one of them cannot judge go into `unfit`."""
        if not scorers:
            return
        unfit |= {(self.run.name, name): set() for name in scorers}
        with (
            self.run.open() as store,
            Progress(f"judging {self.run.name} again", len(self.items), quiet=quiet) as progress,
        ):
            rows = judged(store, list(scorers.values()))
            while batch := list(islice(rows, _STEP)):
                trials = np.array([trial for trial, _ in batch], dtype=np.int64)
                _in_plan(self.run, trials, len(self.items))
                for at, name in enumerate(scorers):
                    scores = [own[at] for _, own in batch]
                    values = [np.nan if score.value is None else score.value for score in scores]
                    self._put(columns[name], trials, np.array(values, dtype=np.float64))
                    unfit[self.run.name, name].update(
                        int(self.items[trial - 1])
                        for (trial, _), score in zip(batch, scores, strict=True)
                        if score.value is None and score.reason.startswith(UNFIT)
                    )
                progress.advance(len(batch))


def _unfit(run: Run, name: str) -> set[int]:
    """The codes of the items of which a stored score says that the scorer cannot judge them."""
    stem, _, version = name.rpartition("@")
    with run.open() as store:
        return {number - 1 for number in unfit_items(store, stem, version)}


def _fresh(run: Run, names: Sequence[str]) -> dict[str, Scorer]:
    """The scorers of these names that can judge an answer again: an import's cannot."""
    return {name: run.code.scorer(name) for name in names if not name.endswith(f"@{IMPORTED}")}


def _judgements(run: Run, names: Sequence[str], first: int, fresh: Mapping[str, Scorer]) -> Iterator[Judgement]:
    with run.open() as store:
        answers = store.answers()
        while batch := list(islice(answers, _STEP)):
            stored = store.scores([trial.trial for trial, _ in batch]) if len(fresh) < len(names) else {}
            for trial, response in batch:
                scores = dict(stored.get(trial.trial, {}))
                scores |= {name: judged_by(scorer, trial.item, response, trial.trial) for name, scorer in fresh.items()}
                yield first + trial.trial - 1, response, {name: scores[name] for name in names if name in scores}


def _replies(run: Run, first: int) -> Iterator[Reply]:
    with run.open() as store:
        again = store.answered_turns(1)
        opening = {t.trial: response for t, response in store.answers(last_turn=0) if t.trial in again} if again else {}
        for trial, last in store.answers():
            number = trial.trial
            yield (first + number - 1, *((opening.get(number), last) if number in again else (last, None)))


def _put_answers(run: Run, answers: Answers, first: int, n: int) -> None:
    """What came back for the n trials of a run, whose rows begin at `first`."""
    with run.open() as store:
        for rows in blank_batches(store):
            numbers = np.fromiter((row[0] for row in rows), np.int64, len(rows))
            _in_plan(run, numbers, n)
            trials = numbers + (first - 1)
            answers.answered[trials] = True
            answers.empty[trials] = [text is not None and not str(text).strip() for _, text, _ in rows]
            answers.ms.put(trials, np.array([ms if isinstance(ms, float) else np.nan for _, _, ms in rows]))


def _in_plan(run: Run, trials: FloatArray | IntArray, n: int) -> None:
    """A trial that is none of the n, which are numbered from 1, is a StoreError."""
    if trials.min() < 1 or trials.max() > n:
        raise StoreError(f"{run.directory}: the plan has lost trials; 'perpend audit' says which")

"""A ledger opened for reading: its manifest, its state, its trials as a Table; several as one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from itertools import islice
from pathlib import Path

import numpy as np

from perpend.ask.progress import Progress
from perpend.ask.quoting import text_sha256
from perpend.canon import JSON, dumps
from perpend.errors import DataError, SpecError, StoreError
from perpend.inert import one_line
from perpend.ledger.database import exclusive
from perpend.ledger.manifest import Manifest, read_manifest
from perpend.ledger.stopping import read_looks, stopped_after
from perpend.ledger.store import Store
from perpend.ledger.unfit import unfit_items
from perpend.measure.shown import html_table
from perpend.measure.study import METRICS, numbers_of, read_metrics
from perpend.measure.table import Answers, Column, FloatArray, IntArray, Judgement, Reply, Table
from perpend.measure.toolkit import Toolkit, toolkit
from perpend.measure.verdicts import with_verdicts
from perpend.types import UNFIT, Item, Score, Scorer

IMPORTED = "import"
"""The version of scores that an import brought along: a fact, which nothing here computes again."""
_STEP = 500
_CELL = ("model", "temperature", "condition")


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
        cells: dict[tuple[str, ...], dict[str, str]] = {}
        for metric in stated:
            place = tuple(metric.where.get(key, "") for key in _CELL)
            cells.setdefault(place, {})[metric.scorer] = str(metric.estimate)
        rows = [(*place, *(values.get(scorer) for scorer in scorers)) for place, values in cells.items()]
        return html_table((*_CELL, *scorers), rows, caption)

    @cached_property
    def code(self) -> Toolkit:
        """The scorers, the study and the task that the manifest names."""
        return self._code or toolkit(self.manifest, self.directory, trust_code=self._trust_code)

    def open(self) -> Store:
        """Its ledger, for reading; use it with `with`."""
        return Store.open(self.directory / "run.db")

    def score(self, only: Sequence[str] = ()) -> list[Scorer]:
        """Score every answer again, with the scorers that the manifest names or only these, and keep the scores."""
        scorers = [self.code.scorer(name) for name in only or self.manifest.scorers]
        with exclusive(self.directory), Store.open(self.directory / "run.db", write=True) as store:
            refuse_shard(store)
            store.write_scores(scorers, judged(store, scorers))
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
        return self.table.column(name)

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


def refuse_shard(store: Store) -> None:
    """StoreError for the ledger of a shard: it has no numbers of its own, only answers for those of its run."""
    shard = store.meta().get("shard")
    if shard is not None:
        raise StoreError(
            f"{store.path.parent}: part {shard} of a run, which has no numbers of its own. Put the parts together with "
            "'perpend merge RUN', and look at the run."
        )


def judged(store: Store, scorers: Sequence[Scorer]) -> Iterator[tuple[int, list[Score]]]:
    """(trial, its scores) for every trial that was asked, in plan order."""
    for trial, response in store.answers():
        yield trial.trial, [scorer.judge(trial.item, response) for scorer in scorers]


def table_of(runs: Sequence[Run], *, rescore: bool = False, quiet: bool = True) -> Table:
    """The trials of some runs as one table.

    Several runs pool into a sweep: an item's id is its identity, a model's label its variant; the key `run` says which
    run a trial is of. With `rescore` every answer is judged again from its raw text and stored scores are not looked
    at, but for those of an import. One id for two items, one label for two models, one run twice are errors.
    """
    _check(runs)
    plans = [_plan(run) for run in runs]
    items = _catalogue(runs, [plan[2] for plan in plans])
    codes, names = _pooled(runs, plans)
    scorers = _shared_scorers(runs)

    seen_unfit: dict[tuple[str, str], set[int]] = {}

    def values(wanted: Sequence[str]) -> dict[str, FloatArray]:
        parts = [_values(run, wanted, plan[0]["item"], seen_unfit, rescore=rescore, quiet=quiet)
                 for run, plan in zip(runs, plans, strict=True)]  # fmt: skip
        return {name: np.concatenate([part[name] for part in parts]) for name in wanted}

    def answers() -> Answers:
        parts = [_answers(run, len(plan[0]["item"])) for run, plan in zip(runs, plans, strict=True)]
        return Answers(
            np.concatenate([part.answered for part in parts]),
            np.concatenate([part.empty for part in parts]),
            np.concatenate([part.ms for part in parts]),
        )

    def judgements(wanted: Sequence[str]) -> Iterator[Judgement]:
        first = 0
        for run, (plan, _, _) in zip(runs, plans, strict=True):
            yield from _judgements(run, wanted, first, rescore=rescore)
            first += len(plan["item"])

    def replies() -> Iterator[Reply]:
        first = 0
        for run, (plan, _, _) in zip(runs, plans, strict=True):
            yield from _replies(run, first)
            first += len(plan["item"])

    def unfit(wanted: str) -> IntArray:
        parts = []
        for run, (plan, _, _) in zip(runs, plans, strict=True):
            seen = seen_unfit.get((run.name, wanted))
            parts.append(np.isin(plan["item"], sorted(_unfit(run, wanted) if seen is None else seen)))
        return np.unique(codes["item"][np.concatenate(parts)])

    ordered = tuple(items[name] for name in names["item"])
    named = tuple(run.name for run in runs)
    return Table(named, codes, names, ordered, scorers, values, answers, judgements, replies, unfit)


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


def _plan(run: Run) -> tuple[dict[str, IntArray], dict[str, tuple[str, ...]], list[Item]]:
    """The plan of one run: codes and names of its keys, and its items. Items after a stop are not part of it."""
    with run.open() as store:
        refuse_shard(store)
        rows = np.array(store.plan_rows(), dtype=np.int64).reshape(-1, 5)
        conditions, models, samplings = store.plan_names()
        items = list(store.items())
        due = due_items(run.manifest, store)
    if due is not None:
        rows, items = rows[: due * len(conditions) * run.manifest.repeats], items[:due]
    item, condition, model, sampling, repeat = rows.T - np.array([[1], [1], [1], [1], [0]])
    sizes = (len(items), len(conditions), len(models), len(samplings), len(rows))
    for codes_of, size in zip((item, condition, model, sampling, repeat), sizes, strict=True):
        if len(rows) and not 0 <= int(codes_of.min()) <= int(codes_of.max()) < size:
            raise StoreError(f"{run.directory}: a trial names what its plan does not hold; 'perpend audit' says more")
    codes = {"item": item, "condition": condition, "model": model, "sampling": sampling, "repeat": repeat}
    names: dict[str, tuple[str, ...]] = {
        "item": tuple(entry.id for entry in items),
        "condition": tuple(conditions),
        "model": tuple(models),
        "sampling": tuple(dumps(entry.as_json()) for entry in samplings),
        "repeat": tuple(str(n) for n in range(int(repeat.max(initial=-1)) + 1)),
    }
    codes["temperature"], names["temperature"] = _coded([f"{s.temperature:g}" for s in samplings], sampling)
    for tag in sorted({tag for entry in items for tag in entry.tags} - {*names}):
        codes[tag], names[tag] = _coded([entry.tags.get(tag, "") for entry in items], item)
    return codes, names, items


def due_items(manifest: Manifest, store: Store) -> int | None:
    """After how many items a run's stopping rule held; None where all are due."""
    return None if manifest.stop is None else stopped_after(read_looks(store))


def _coded(values: Sequence[str], at: IntArray) -> tuple[IntArray, tuple[str, ...]]:
    """Codes of values in the order in which they first occur, taken at some positions; and what the codes stand for."""
    names = tuple(dict.fromkeys(values))
    numbers = {name: number for number, name in enumerate(names)}
    return np.array([numbers[value] for value in values], dtype=np.int64)[at], names


def _catalogue(runs: Sequence[Run], items: Sequence[Sequence[Item]]) -> dict[str, Item]:
    catalogue: dict[str, Item] = {}
    for run, own in zip(runs, items, strict=True):
        for item in own:
            if catalogue.setdefault(item.id, item) != item:
                raise DataError(
                    f"{run.name}: item {item.id!r} differs from the one of that id in another run; "
                    "analyse runs over different items apart"
                )
    return catalogue


def _pooled(
    runs: Sequence[Run], plans: Sequence[tuple[dict[str, IntArray], dict[str, tuple[str, ...]], list[Item]]]
) -> tuple[dict[str, IntArray], dict[str, tuple[str, ...]]]:
    """The keys of all runs with one set of codes. A tag that a run's items lack is '' there."""
    lengths = [len(codes["item"]) for codes, _, _ in plans]
    codes: dict[str, IntArray] = {}
    names: dict[str, tuple[str, ...]] = {}
    for key in dict.fromkeys(key for _, own, _ in plans for key in own):
        owned = [own.get(key, ("",)) for _, own, _ in plans]
        names[key] = tuple(dict.fromkeys(name for values in owned for name in values))
        place = {name: number for number, name in enumerate(names[key])}
        parts = []
        for (own_codes, _, _), values, length in zip(plans, owned, lengths, strict=True):
            taken = np.array([place[name] for name in values], dtype=np.int64)
            parts.append(taken[own_codes[key]] if key in own_codes else np.full(length, taken[0]))
        codes[key] = np.concatenate(parts)
    if "run" not in names:
        names["run"] = tuple(run.name for run in runs)
        codes["run"] = np.repeat(np.arange(len(runs)), lengths)
    if len(runs) > 1:
        # Rows pair by repeat, so that one run's control never meets another run's pressure.
        width = len(names["repeat"])
        codes["repeat"] = codes["repeat"] + np.repeat(np.arange(len(runs)), lengths) * width
        names["repeat"] = tuple(f"{n} of {run.name}" for run in runs for n in range(width))
    return codes, names


def _shared_scorers(runs: Sequence[Run]) -> tuple[str, ...]:
    """Every 'name@version' that all the runs have scores of."""
    known: list[list[str]] = []
    for run in runs:
        with run.open() as store:
            known.append([f"{name}@{version}" for name, version in store.scorers()])
    return tuple(name for name in known[0] if all(name in own for own in known[1:]))


def _values(
    run: Run,
    names: Sequence[str],
    item: IntArray,
    unfit: dict[tuple[str, str], set[int]],
    *,
    rescore: bool,
    quiet: bool,
) -> dict[str, FloatArray]:
    """The values of some scorers; of those that judge again, the items that they cannot judge go into `unfit`."""
    n = len(item)
    stored = [name for name in names if not rescore or name.endswith(f"@{IMPORTED}")]
    columns: dict[str, FloatArray] = {name: np.full(n, np.nan) for name in names}
    with run.open() as store:
        for name in stored:
            stem, _, version = name.rpartition("@")
            for trial, value in store.score_values(stem, version):
                _in_plan(run, trial, n)
                columns[name][trial - 1] = np.nan if value is None else value
        fresh = {name: run.code.scorer(name) for name in names if name not in stored}
        if fresh:
            unfit |= {(run.name, name): set() for name in fresh}
            with Progress(f"judging {run.name} again", n, quiet=quiet) as progress:
                for trial, scores in judged(store, list(fresh.values())):
                    _in_plan(run, trial, n)
                    if trial % _STEP == 0:
                        progress.advance(_STEP)
                    for name, score in zip(fresh, scores, strict=True):
                        if score.value is not None:
                            columns[name][trial - 1] = score.value
                        elif score.reason.startswith(UNFIT):
                            unfit[run.name, name].add(int(item[trial - 1]))
    return columns


def _unfit(run: Run, name: str) -> set[int]:
    """The codes of the items of which a stored score says that the scorer cannot judge them."""
    stem, _, version = name.rpartition("@")
    with run.open() as store:
        return {number - 1 for number in unfit_items(store, stem, version)}


def _judgements(run: Run, names: Sequence[str], first: int, *, rescore: bool) -> Iterator[Judgement]:
    fresh = {name: run.code.scorer(name) for name in names if rescore and not name.endswith(f"@{IMPORTED}")}
    with run.open() as store:
        answers = store.answers()
        while batch := list(islice(answers, _STEP)):
            stored = store.scores([trial.trial for trial, _ in batch]) if len(fresh) < len(names) else {}
            for trial, response in batch:
                scores = dict(stored.get(trial.trial, {}))
                scores |= {name: scorer.judge(trial.item, response) for name, scorer in fresh.items()}
                yield first + trial.trial - 1, response, {name: scores[name] for name in names if name in scores}


def _replies(run: Run, first: int) -> Iterator[Reply]:
    with run.open() as store:
        again = store.answered_turns(1)
        opening = {t.trial: response for t, response in store.answers(last_turn=0) if t.trial in again} if again else {}
        for trial, last in store.answers():
            number = trial.trial
            yield (first + number - 1, *((opening.get(number), last) if number in again else (last, None)))


def _answers(run: Run, n: int) -> Answers:
    answered, empty, ms = np.zeros(n, dtype=np.bool_), np.zeros(n, dtype=np.bool_), np.full(n, np.nan)
    with run.open() as store:
        for trial, text, taken in store.texts():
            _in_plan(run, trial, n)
            answered[trial - 1], empty[trial - 1] = True, not text.strip()
            ms[trial - 1] = np.nan if taken is None else taken
    return Answers(answered, empty, ms)


def _in_plan(run: Run, trial: int, n: int) -> None:
    if trial > n:
        raise StoreError(f"{run.directory}: the plan has lost trials; 'perpend audit' says which")

"""The trials of many models side by side: who is ranked, and on which items, conditions and temperatures."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
import numpy.typing as npt

from perpend.errors import DataError, SpecError, did_you_mean
from perpend.measure.keys import BoolArray, FloatArray, IntArray, joined
from perpend.measure.run import Run
from perpend.measure.samplings import PARAMETERS, as_key, parameter_codes
from perpend.report.compare_pairs import could_stop, listed, questions, worded


@dataclass(frozen=True, slots=True)
class RankedTrials:
    """One row per trial of every model that is ranked; codes by key, and what the codes stand for.

    Keys are model, item, condition, temperature and every other parameter of the samplings that varies. Models are
    ranked under `names["model"]`; only conditions and, where there are such, settings that all of them have are in it.
    """

    runs: tuple[Run, ...]
    rows: tuple[IntArray, ...]
    """Of each run, the rows of its table that are here, one run after the other."""
    codes: Mapping[str, IntArray]
    names: Mapping[str, tuple[str, ...]]
    notes: tuple[str, ...]

    def values(self, column: str) -> tuple[FloatArray, BoolArray]:
        """A column's values, nan where a trial has none; and where its scorer cannot judge the item at all."""
        values, unfit = [], []
        for run, rows in zip(self.runs, self.rows, strict=True):
            own = run[column]
            values.append(own.all_values[rows])
            unfit.append(np.isnan(own.without_verdict().all_values[rows]))
        return np.concatenate(values), np.concatenate(unfit)


def trials_of(
    runs: Sequence[Run], models: Sequence[str] = (), where: Mapping[str, str | float] | None = None
) -> RankedTrials:
    """The trials of the models of some runs, or of those named, with some values: condition='control', a tag.

    Models of one label in several runs are one model where the runs share no trial, and several where they do. Fewer
    than two models, and models without a condition in common, are errors that say what to do.
    """
    places = [run.directory.resolve() for run in runs]
    twice = next((run.name for run, place in zip(runs, places, strict=True) if places.count(place) > 1), None)
    if twice is not None:
        raise SpecError(f"{twice}: is given twice; give each run once")
    notes: list[str] = []
    settings = _settings(runs)
    texts = {
        key: as_key(key, value) if key in settings else value if isinstance(value, str) else f"{value:g}"
        for key, value in (where or {}).items()
    }
    rows = _selected(runs, texts, models, notes)
    codes, names = _pooled(runs, rows)
    codes["model"], names["model"] = _entrants(runs, rows, codes, notes)
    if len(names["model"]) < 2:
        raise SpecError(_alone(names["model"], narrowed=bool(where or models)))
    notes += worded(runs) + could_stop(runs) + _changed(runs)
    kept = _common(codes, names, notes)
    ends = np.cumsum([len(own) for own in rows])
    return RankedTrials(
        tuple(runs),
        tuple(own[part] for own, part in zip(rows, np.split(kept, ends[:-1]), strict=True)),
        {key: own[kept] for key, own in codes.items()},
        names,
        tuple(notes),
    )


def _selected(runs: Sequence[Run], where: Mapping[str, str], models: Sequence[str], notes: list[str]) -> list[IntArray]:
    """The rows of each run that are asked for. A value that no run has is an error with the near ones."""
    known = {name for run in runs for name in run.table.names["model"]}
    for name in models:
        if name not in known:
            raise SpecError(f"no run has a model {name!r}; {did_you_mean(name, known)}")
    for key, value in where.items():
        keys = {name for run in runs for name in run.table.names}
        if key not in keys:
            raise SpecError(f"trials have no {key!r}; {did_you_mean(key, keys)}")
        names = {name for run in runs for name in run.table.names.get(key, ())}
        if value not in names:
            raise SpecError(f"no trial has {key} = {value!r}; {did_you_mean(value, names)}")
    rows = []
    for run in runs:
        table = run.table
        mask = np.ones(len(table), dtype=np.bool_)
        for key, value in where.items():
            mask &= table.mask({key: value}) if value in table.names.get(key, ()) else np.False_
        if models:
            mask &= np.isin(np.array(table.names["model"], dtype=object), list(models))[table.codes["model"]]
        if not mask.any():
            notes.append(f"no trial of {run.name} is ranked")
        rows.append(np.flatnonzero(mask))
    return rows


def _pooled(runs: Sequence[Run], rows: Sequence[IntArray]) -> tuple[dict[str, IntArray], dict[str, tuple[str, ...]]]:
    """Codes of all runs' rows: an item is the same where its id and its question are, the others where the name is."""
    codes: dict[str, IntArray] = {}
    names: dict[str, tuple[str, ...]] = {}
    for key in ("item", "condition", *_settings(runs)):
        joint: dict[tuple[str, str], int] = {}
        parts = []
        for run, own in zip(runs, rows, strict=True):
            asked = questions(run) if key == "item" else {}
            of_rows, texts = _key_of(run, key)
            places = [joint.setdefault((name, asked.get(name, "")), len(joint)) for name in texts]
            parts.append(np.array(places, dtype=np.int64)[of_rows[own]])
        codes[key], names[key] = np.concatenate(parts), tuple(name for name, _ in joint)
    return codes, names


def _settings(runs: Sequence[Run]) -> list[str]:
    """The temperature, and what else varies within a model of some run."""
    return [key for key in PARAMETERS if any(key in run.table.settings for run in runs)]


def _key_of(run: Run, key: str) -> tuple[npt.NDArray[np.integer], tuple[str, ...]]:
    """The codes of a key and what they stand for; of a parameter that does not vary in this run, too."""
    table = run.table
    if key in PARAMETERS and key not in table.settings:
        return parameter_codes(key, table.names["sampling"], table.codes["sampling"])
    return table.codes[key], table.names[key]


def _entrants(
    runs: Sequence[Run],
    rows: Sequence[IntArray],
    codes: Mapping[str, IntArray],
    notes: list[str],
) -> tuple[IntArray, tuple[str, ...]]:
    """Which model each row is of, and what the models are called."""
    cells = joined([*codes.values()])
    homes: dict[str, list[tuple[int, IntArray]]] = {}
    start = 0
    for number, (run, own) in enumerate(zip(runs, rows, strict=True)):
        labels = run.table.codes["model"][own]
        for label in np.unique(labels).tolist():
            at = start + np.flatnonzero(labels == label)
            homes.setdefault(run.table.names["model"][label], []).append((number, at))
        start += len(own)
    entrants: dict[str, IntArray] = {}
    for label, parts in homes.items():
        shares = any(np.intersect1d(cells[one], cells[other]).size for (_, one), (_, other) in combinations(parts, 2))
        if not shares:
            entrants[_free(label, entrants)] = np.concatenate([at for _, at in parts])
            if len(parts) > 1:
                own_runs = listed(runs[number].name for number, _ in parts)
                notes.append(f"{label} has {len(parts)} runs that share no trial, taken together: {own_runs}")
            continue
        for number, at in parts:
            entrants[_free(f"{label} ({runs[number].name})", entrants)] = at
    ordered = np.empty(start, dtype=np.int64)
    for number, at in enumerate(entrants.values()):
        ordered[at] = number
    return ordered, tuple(entrants)


def _free(name: str, taken: Iterable[str]) -> str:
    """The name, with a number where another has it already."""
    number, free = 2, name
    while free in taken:
        free, number = f"{name} {number}", number + 1
    return free


def _alone(names: Sequence[str], *, narrowed: bool) -> str:
    who = f"only one model, {names[0]}," if names else "no model"
    if narrowed:
        return f"{who} is left; take --where or --model back, or name values that several models have"
    return f"{who} is there to rank; give more runs, or a run that asks several models"


def _changed(runs: Sequence[Run]) -> list[str]:
    """The ids that mean different questions in two runs."""
    asked: dict[str, set[str]] = {}
    for run in runs:
        for name, question in questions(run).items():
            asked.setdefault(name, set()).add(question)
    changed = [name for name, own in asked.items() if len(own) > 1]
    return [f"ids that mean different questions in two runs are not shared: {listed(changed)}"] if changed else []


def _common(codes: dict[str, IntArray], names: dict[str, tuple[str, ...]], notes: list[str]) -> BoolArray:
    """Which rows are under conditions, and at settings, that every model has."""
    kept = np.ones(len(codes["model"]), dtype=np.bool_)
    for key in [key for key in names if key not in ("model", "item")]:
        has = np.zeros((len(names["model"]), len(names[key])), dtype=np.bool_)
        has[codes["model"], codes[key]] = True
        everywhere = np.asarray(has.all(axis=0), dtype=np.bool_)
        if not everywhere.any() and key == "condition":
            raise DataError(
                f"the models have no condition in common: {_who_has(has, names)}; rank runs of the same task"
            )
        if not everywhere.any():
            notes.append(f"the models have no {key} in common: each is taken at its own")
            codes[key], names[key] = np.zeros_like(codes[key]), ("",)
            continue
        lost = np.array(names[key], dtype=object)[has.any(axis=0) & ~everywhere].tolist()
        if lost:
            notes.append(f"left out, as not every model has it: {key} {listed(lost)}")
        kept &= everywhere[codes[key]]
    return kept


def _who_has(has: BoolArray, names: Mapping[str, tuple[str, ...]]) -> str:
    words = [
        f"{model} has {listed(np.array(names['condition'], dtype=object)[own].tolist())}"
        for model, own in zip(names["model"][:4], has, strict=False)
    ]
    return ", ".join(words)

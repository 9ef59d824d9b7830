"""Columns → slice, pair, agree → Estimates. A run's scores as columns that answer questions.

run = Run(Path("runs/my-run"))
run["correct"].where(condition="control").rate()
run["correct"].pair("control", "asch_history_5").override(by="topic")
run["mentioned"].disagreement(run["endorsed"])
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from perpend.canon import JSON, dumps
from perpend.errors import SpecError, StoreError, did_you_mean
from perpend.manifest import read_manifest
from perpend.score import score_run
from perpend.store import Store
from perpend.types import Estimate, Scorer

FloatArray: TypeAlias = npt.NDArray[np.float64]
BoolArray: TypeAlias = npt.NDArray[np.bool_]
IntArray: TypeAlias = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Frame:
    """The plan as columns, one row a trial: for each key the codes of its values and their names."""

    codes: Mapping[str, IntArray]
    names: Mapping[str, tuple[str, ...]]

    def __len__(self) -> int:
        return len(self.codes["item"])

    def mask(self, wanted: Mapping[str, str | float]) -> BoolArray:
        """The rows where every key has the wanted value. An unknown key or value is an error with the near ones."""
        mask = np.ones(len(self), dtype=np.bool_)
        for key, value in wanted.items():
            text = f"{value:g}" if isinstance(value, float | int) else value
            names = self.values(key)
            if text not in names:
                raise SpecError(f"no trial has {key} = {text!r}; {did_you_mean(text, names)}")
            mask &= self.codes[key] == names.index(text)
        return mask

    def values(self, key: str) -> tuple[str, ...]:
        """The values of one key, in plan order; '' stands for items without that tag."""
        if key not in self.names:
            raise SpecError(f"trials have no {key!r}; {did_you_mean(key, self.names)}")
        return self.names[key]


@dataclass(frozen=True, slots=True)
class Column:
    """One scorer's values over the plan; NaN where a trial has none (not asked, failed, unfinished, not scorable)."""

    name: str
    frame: Frame
    all_values: FloatArray
    mask: BoolArray

    def where(self, **wanted: str | float) -> Column:
        """The rows with these values, for example condition='control', temperature=0.0 or a tag."""
        return Column(self.name, self.frame, self.all_values, self.mask & self.frame.mask(wanted))

    def by(self, key: str) -> dict[str, Column]:
        """One column for each value of a key."""
        return {value: self.where(**{key: value}) for value in self.frame.values(key)}

    @property
    def defined(self) -> BoolArray:
        """The rows that are selected and have a value."""
        return self.mask & ~np.isnan(self.all_values)

    def rate(self) -> Estimate:
        """The share of 1 among the selected trials that have a value; clustered by item where items repeat.

        `also.unscored` counts selected trials without one. Undefined when no trial has a value.
        """
        from perpend.stats.proportions import proportion

        rows = self.defined
        unscored = int(self.mask.sum() - rows.sum())
        if not rows.any():
            return Estimate(None, 0, note="no trial has a value", also={"unscored": unscored})
        found = proportion(self.all_values[rows], self.frame.codes["item"][rows])
        return replace(found, also={**found.also, "unscored": unscored})

    def mean(self) -> Estimate:
        """The mean of the selected values, clustered by item where items repeat. Undefined when there is none."""
        from perpend.stats.proportions import mean

        rows = self.defined
        if not rows.any():
            return Estimate(None, 0, note="no trial has a value", also={"unscored": int(self.mask.sum())})
        return mean(self.all_values[rows], self.frame.codes["item"][rows])

    def pair(self, first: str, second: str, key: str = "condition") -> Pair:
        """The same trials at two values of a key, row by row: control and pressure, two models, two temperatures.

        Rows pair by everything else in the plan; a pair with a missing value on either side is left out and counted.
        """
        # Two models may have token limits of their own, so they pair by temperature and not by the whole sampling.
        sampling = "temperature" if key == "model" else "sampling"
        others = [name for name in ("item", "condition", "model", sampling, "repeat") if name != _plan_key(key)]
        keys = np.zeros(len(self.frame), dtype=np.int64)
        for name in others:
            keys = keys * (int(self.frame.codes[name].max(initial=0)) + 1) + self.frame.codes[name]
        left = np.flatnonzero(self.mask & self.frame.mask({key: first}))
        right = np.flatnonzero(self.mask & self.frame.mask({key: second}))
        _, at_left, at_right = np.intersect1d(keys[left], keys[right], return_indices=True)
        rows, partners = left[at_left], right[at_right]
        order = np.argsort(rows)
        rows, partners = rows[order], partners[order]
        whole = ~np.isnan(self.all_values[rows]) & ~np.isnan(self.all_values[partners])
        return Pair(self.name, (first, second), self, rows[whole], partners[whole], int((~whole).sum()))

    def disagreement(self, other: Column) -> Estimate:
        """The share of trials on which two columns differ, among the selected ones where both have a value."""
        from perpend.stats.proportions import proportion

        rows = self.defined & other.defined
        if not rows.any():
            return Estimate(None, 0, note="no trial has a value in both")
        differ = self.all_values[rows] != other.all_values[rows]
        return proportion(differ, self.frame.codes["item"][rows])

    def digest(self) -> str:
        """SHA-256 over the selected trials' positions and values: what an Estimate came from."""
        rows = np.flatnonzero(self.mask)
        return hashlib.sha256(rows.astype("<i8").tobytes() + self.all_values[rows].astype("<f8").tobytes()).hexdigest()


@dataclass(frozen=True, slots=True)
class Pair:
    """Paired rows of one column: `rows` under the first value, `partners` under the second."""

    name: str
    sides: tuple[str, str]
    column: Column
    rows: IntArray
    partners: IntArray
    incomplete: int

    def difference(self) -> Estimate:
        """mean(second) - mean(first) with its interval and, in `also`, the default paired test's p."""
        from perpend.stats.paired_tests import paired_test
        from perpend.stats.pairs import paired_difference

        if not len(self.rows):
            return Estimate(None, 0, note="no complete pair", also={"incomplete": self.incomplete})
        found = paired_difference(*self._sides())
        test = paired_test(*self._sides())
        also = {**found.also, "p": test.value, "p_method": test.method, "incomplete": self.incomplete}
        return replace(found, also=also)

    def override(self) -> Estimate:
        """P(second = 0 | first = 1). Undefined when no first is 1."""
        from perpend.stats.pairs import override

        return override(*self._sides()) if len(self.rows) else Estimate(None, 0, note="no complete pair")

    def rescue(self) -> Estimate:
        """P(second = 1 | first = 0). Undefined when no first is 0. On `endorsed` this is the wrong-answer flip."""
        from perpend.stats.pairs import rescue

        return rescue(*self._sides()) if len(self.rows) else Estimate(None, 0, note="no complete pair")

    def by(self, key: str) -> dict[str, Pair]:
        """One Pair for each value of a key, such as a tag of the item."""
        found = {}
        for value in self.column.frame.values(key):
            chosen = self.column.frame.mask({key: value})[self.rows]
            found[value] = Pair(
                self.name, self.sides, self.column, self.rows[chosen], self.partners[chosen], self.incomplete
            )
        return found

    def _sides(self) -> tuple[FloatArray, FloatArray, IntArray]:
        values, items = self.column.all_values, self.column.frame.codes["item"]
        return values[self.rows], values[self.partners], items[self.rows]


class Run:
    """A run directory: its scores as columns, its state, its metrics."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.manifest = read_manifest(directory)

    def score(self, only: Sequence[str] = ()) -> list[Scorer]:
        """Score every answer again, with the scorers that the manifest names or only these."""
        declared = self.manifest.get("scorers")
        names = list(only) or [str(name) for name in (declared if isinstance(declared, list) else [])]
        return score_run(self.directory, names)

    @cached_property
    def frame(self) -> Frame:
        """The plan as columns: item, condition, model, sampling, temperature, repeat, and every tag of the items."""
        with Store.open(self.directory / "run.db") as store:
            plan = np.array(store.plan_rows(), dtype=np.int64).reshape(-1, 5)
            conditions, models, samplings = store.plan_names()
            items = list(store.items())
        item, condition, model, sampling, repeat = plan.T - np.array([[1], [1], [1], [1], [0]])
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
        return Frame(codes, names)

    def __getitem__(self, name: str) -> Column:
        """The column of a scorer: 'correct@1', or 'correct' for the latest version that was scored."""
        stem, _, version = name.partition("@")
        with Store.open(self.directory / "run.db") as store:
            known = store.scorers()
            versions = [v for n, v in known if n == stem and version in ("", v)]
            if not versions:
                hint = did_you_mean(name, [f"{n}@{v}" for n, v in known])
                raise SpecError(f"{self.directory}: no scores of {name!r}; {hint}")
            values = np.full(len(self.frame), np.nan)
            for trial, value in store.score_values(stem, versions[-1]):
                if trial > len(values):
                    raise StoreError(f"{self.directory}: the plan has lost trials; 'perpend audit' says which")
                values[trial - 1] = np.nan if value is None else value
        return Column(f"{stem}@{versions[-1]}", self.frame, values, np.ones(len(values), dtype=np.bool_))

    def columns(self) -> dict[str, Column]:
        """Every scored column by 'name@version'."""
        with Store.open(self.directory / "run.db") as store:
            names = [f"{name}@{version}" for name, version in store.scorers()]
        return {name: self[name] for name in names}

    def status(self) -> dict[str, JSON]:
        """How many trials are planned, answered and failed, in all and by cell."""
        with Store.open(self.directory / "run.db") as store:
            cells = store.cells()
        return {
            "run": self.directory.name,
            "planned": sum(cell.planned for cell in cells),
            "answered": sum(cell.answered for cell in cells),
            "failed": sum(cell.failed for cell in cells),
            "cells": [
                f"{c.model} | {c.condition} | {c.sampling}: {c.answered}/{c.planned} answered, {c.failed} failed"
                for c in cells
            ],
        }


def _plan_key(key: str) -> str:
    return "sampling" if key == "temperature" else key


def _coded(values: Sequence[str], at: IntArray) -> tuple[IntArray, tuple[str, ...]]:
    """Codes of values in the order in which they first occur, taken at some positions; and what the codes stand for."""
    names = tuple(dict.fromkeys(values))
    numbers = {name: number for number, name in enumerate(names)}
    return np.array([numbers[value] for value in values], dtype=np.int64)[at], names

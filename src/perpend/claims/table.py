"""Some runs as one table: the trials of all of them, and columns judged anew from the raw responses.

Several runs pool into a sweep, as `perpend analyze` pools them: an item's id is its identity, a model's label its
variant. The key `run` says which run a trial is of.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np

from perpend.compose import find_scorer
from perpend.errors import DataError, SpecError, StoreError, did_you_mean
from perpend.measure import Column, FloatArray, Frame, IntArray, Run
from perpend.progress import Progress
from perpend.score import judged
from perpend.store import Store
from perpend.types import Scorer

RUN = "run"
IMPORTED = "import"
_STEP = 500


@dataclass(slots=True)
class Table:
    """The trials of some runs and their columns by 'name@version'.

    `rescored` False takes the stored scores, for a caller that has just verified them.
    """

    runs: Sequence[Run]
    rescored: bool = True
    quiet: bool = True
    _frame: Frame | None = None
    _columns: dict[str, FloatArray] = field(default_factory=dict)
    _targets: IntArray | None = None
    _scorers: list[tuple[str, str]] | None = None

    @property
    def frame(self) -> Frame:
        """The plan of all runs, one after another."""
        if self._frame is None:
            self._frame = pooled(self.runs)
        return self._frame

    def names(self) -> list[str]:
        """Every 'name@version' that all the runs have scores of."""
        return [f"{name}@{version}" for name, version in self._known()]

    def _known(self) -> list[tuple[str, str]]:
        if self._scorers is None:
            found: list[list[tuple[str, str]]] = []
            for run in self.runs:
                with Store.open(run.directory / "run.db") as store:
                    found.append(store.scorers())
            self._scorers = [entry for entry in found[0] if all(entry in other for other in found[1:])]
        return self._scorers

    def has_column(self, name: str) -> bool:
        """Whether every run has scores of 'correct' or 'correct@1'."""
        return any(name in (n, f"{n}@{v}") for n, v in self._known())

    def full_name(self, name: str) -> str:
        """'correct' as its latest version that every run was scored by; 'correct@1' as itself."""
        stem, _, version = name.partition("@")
        known = self._known()
        versions = [v for n, v in known if n == stem and version in ("", v)]
        if not versions:
            names = [f"{n}@{v}" for n, v in known]
            raise SpecError(f"no scores of {name!r} in {self.told()}; {did_you_mean(name, names)}")
        return f"{stem}@{versions[-1]}"

    def told(self) -> str:
        """The runs' names."""
        return ", ".join(run.directory.name for run in self.runs)

    def load(self, names: Iterable[str]) -> None:
        """Judge every answer once by all the named scorers, so that a later `column` costs nothing."""
        wanted = [name for name in dict.fromkeys(map(self.full_name, names)) if name not in self._columns]
        ours = [name for name in wanted if self.rescored and not name.endswith(f"@{IMPORTED}")]
        scorers = [find_scorer(name) for name in ours]
        for name in wanted:
            if name not in ours:  # what an import brought along is a fact, and what was just verified is as good
                self._columns[name] = np.concatenate([run[name].all_values for run in self.runs])
        if scorers:
            parts = [rescore(run, scorers, quiet=self.quiet) for run in self.runs]
            for place, name in enumerate(ours):
                self._columns[name] = np.concatenate([part[place] for part in parts])

    def column(self, name: str) -> Column:
        """The column of a scorer over all trials."""
        full = self.full_name(name)
        self.load([full])
        return Column(full, self.frame, self._columns[full], np.ones(len(self.frame), dtype=np.bool_))

    def targets(self) -> IntArray:
        """A code for the target of each trial's item, spelled in small letters; -1 where it has none."""
        if self._targets is None:
            found: dict[str, str] = {}
            for run in self.runs:
                with Store.open(run.directory / "run.db") as store:
                    found |= {item.id: item.target.strip().lower() for item in store.items() if item.target is not None}
            codes = {target: code for code, target in enumerate(dict.fromkeys(found.values()))}
            of = [codes[found[name]] if name in found else -1 for name in self.frame.names["item"]]
            self._targets = np.array(of, dtype=np.int64)[self.frame.codes["item"]]
        return self._targets


def rescore(run: Run, scorers: Sequence[Scorer], *, quiet: bool = True) -> list[FloatArray]:
    """The values of these scorers on every answer of a run, judged now; nan where a trial has none."""
    values = [np.full(len(run.frame), np.nan) for _ in scorers]
    title = f"judging {run.directory.name} again"
    with Store.open(run.directory / "run.db") as store, Progress(title, len(run.frame), quiet=quiet) as progress:
        for trial, scores in judged(store, scorers):
            if trial % _STEP == 0:
                progress.advance(_STEP)
            if trial > len(run.frame):
                raise StoreError(f"{run.directory}: the plan has lost trials; 'perpend audit' says which")
            for column, score in zip(values, scores, strict=True):
                if score.value is not None:
                    column[trial - 1] = score.value
    return values


def pooled(runs: Sequence[Run]) -> Frame:
    """The frames of some runs as one. A tag that a run's items lack is '' there; one id for two items is an error."""
    check_names(runs)
    if len(runs) == 1:
        one, name = runs[0].frame, runs[0].directory.name
        return Frame({RUN: np.zeros(len(one), dtype=np.int64), **one.codes}, {RUN: (name,), **one.names})
    _check_items(runs)
    keys = list(dict.fromkeys(key for run in runs for key in run.frame.names))
    codes: dict[str, IntArray] = {}
    names: dict[str, tuple[str, ...]] = {}
    for key in keys:
        own = [run.frame.names.get(key, ("",)) for run in runs]
        names[key] = tuple(dict.fromkeys(name for values in own for name in values))
        place = {name: number for number, name in enumerate(names[key])}
        parts = []
        for run, values in zip(runs, own, strict=True):
            taken = np.array([place[name] for name in values], dtype=np.int64)
            parts.append(taken[run.frame.codes[key]] if key in run.frame.codes else np.full(len(run.frame), taken[0]))
        codes[key] = np.concatenate(parts)
    if RUN not in names:
        names[RUN] = tuple(run.directory.name for run in runs)
        codes[RUN] = np.repeat(np.arange(len(runs)), [len(run.frame) for run in runs])
    # Rows pair by repeat, so that one run's control never meets another run's pressure.
    width = len(names["repeat"])
    codes["repeat"] = codes["repeat"] + codes[RUN] * width
    names["repeat"] = tuple(f"{n} of {run.directory.name}" for run in runs for n in range(width))
    return Frame(codes, names)


def check_names(runs: Sequence[Run]) -> None:
    """At least one run, each under a name of its own."""
    if not runs:
        raise SpecError("no run is given; name at least one run directory")
    labels = [run.directory.name for run in runs]
    twice = sorted({label for label in labels if labels.count(label) > 1})
    if twice:
        raise SpecError(f"two runs are named {twice[0]!r}; give each run once, under a name of its own")


def _check_items(runs: Sequence[Run]) -> None:
    seen: dict[str, tuple[str, str | None]] = {}
    for run in runs:
        with Store.open(run.directory / "run.db") as store:
            for item in store.items():
                asked = (item.prompt, item.target)
                if seen.setdefault(item.id, asked) != asked:
                    raise DataError(
                        f"{run.directory.name}: item {item.id!r} is another one than in the runs before; "
                        'check runs over different items apart, with run = "name" in each claim'
                    )

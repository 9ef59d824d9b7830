"""Trials as columns, one row per trial, of one run or of several pooled into one: slice, pair, agree → Estimates.

run = Run("runs/my-run")
run["correct"].where(condition="control").rate()
run["correct"].pair("control", "asch_history_5").by("topic")
run["mentioned"].disagreement(run["endorsed"])
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from perpend.errors import SpecError, did_you_mean
from perpend.inert import one_line
from perpend.measure.column import Column, columns_digest, parts_where
from perpend.measure.grid import PlanGrid
from perpend.measure.keys import BoolArray, FloatArray, IntArray
from perpend.measure.packed import Packed
from perpend.measure.shown import Framed, html_columns
from perpend.types import Response, Score

IMPORTED = "import"
"""The version of scores that an import brought along: a fact, which nothing here computes again."""
_SHOWN = 10
_KEPT = 40_000_000
"""How many scores stay in memory, as whole columns: at ten million trials four, as one rule has; of fewer all."""

Judgement: TypeAlias = tuple[int, Response, Mapping[str, Score]]
"""A row that was asked, its answer, and its whole scores by 'name@version'."""
Reply: TypeAlias = tuple[int, Response | None, Response | None]
"""A row that was asked, its answer to the first question (None: not kept) and to a second one (None: not asked)."""


@dataclass(frozen=True, slots=True)
class Answers:
    """What came back for each trial: whether it was answered, whether the text is blank, and how long it took.

    `ms` is NaN where no time was stored.
    """

    answered: BoolArray
    empty: BoolArray
    ms: Packed


@dataclass(frozen=True)  # not slotted: what is read is kept
class Table(PlanGrid, Framed):
    """The plan as columns, and the scores, read when asked for.

    `scorers` are the 'name@version' that every run was scored by, `declared` those of the first run in its own order.
    """

    scorers: tuple[str, ...] = ()
    read_values: Callable[[Sequence[str]], Mapping[str, FloatArray | Packed]] = field(
        default=lambda _names: {}, repr=False
    )
    """The values of some scorers, in the order of the rows; NaN where a trial has none."""
    read_answers: Callable[[], Answers] | None = field(default=None, repr=False)
    read_judgements: Callable[[Sequence[str]], Iterator[Judgement]] | None = field(default=None, repr=False)
    replies: Callable[[], Iterator[Reply]] = field(default=lambda: iter(()), repr=False)
    """What every row that was asked got, turn by turn, in plan order."""
    read_unfit: Callable[[str], IntArray] | None = field(default=None, repr=False)
    """The codes of the items that a scorer cannot judge, whatever is answered: `correct` without a target."""
    unscored: Callable[[str, str], Mapping[tuple[str, str], int]] = field(default=lambda *_: {}, repr=False)
    """Why trials have no stored value of a scorer, with what another one says where its value is 1: counts.

    ('', '') counts those that have no score at all: they were not asked.
    """
    saying: Callable[[str, str], IntArray] = field(default=lambda *_: np.zeros(0, dtype=np.int64), repr=False)
    """The rows whose stored score by a scorer has an answer: `uncertain@2`, 'part'."""
    declared: tuple[str, ...] = ()
    _columns: dict[str, Packed] = field(default_factory=dict, repr=False)

    def __repr__(self) -> str:
        counts = {"trial": len(self), **{key: len(self.names[key]) for key in ("item", "condition", "model")}}
        sizes = ", ".join(f"{n} {noun}{'s' * (n != 1)}" for noun, n in counts.items())
        return one_line(f"Table({', '.join(self.runs)}: {sizes}; scored by {len(self.scorers)})")

    def columns_of(self, most: int | None = None) -> dict[str, FloatArray | npt.NDArray[np.object_]]:
        """Every key as text, then every scorer's values, of the first rows or of all."""
        self.load(self.scorers)
        rows = slice(most)
        keys = {key: np.array(self.names[key], dtype=object)[codes[rows]] for key, codes in self.codes.items()}
        return {**keys, **{name: self.column(name).scores[rows] for name in self.scorers}}

    def _repr_html_(self) -> str:
        more = f"; the first {_SHOWN} are shown" if len(self) > _SHOWN else ""
        return html_columns(self.columns_of(_SHOWN), f"{', '.join(self.runs)}: {len(self)} trials{more}")

    def unfit(self, scorer: str) -> IntArray | None:
        """The codes of the items that a scorer cannot judge, whatever is answered; None where that is not known."""
        return None if self.read_unfit is None else self.read_unfit(scorer)

    def has(self, name: str) -> bool:
        """Whether there are scores of 'correct' or 'correct@1'."""
        return any(name in (full, full.partition("@")[0]) for full in self.scorers)

    def full_name(self, name: str) -> str:
        """'correct' as its latest version; 'correct@1' as itself."""
        stem, _, version = name.partition("@")
        versions = [full for full in self.scorers if full.partition("@")[0] == stem and full.endswith(f"@{version}")]
        versions = versions if version else [full for full in self.scorers if full.partition("@")[0] == stem]
        if not versions:
            raise SpecError(f"{', '.join(self.runs)}: no scores of {name!r}; {did_you_mean(name, self.scorers)}")
        return versions[-1]

    def load(self, names: Sequence[str]) -> None:
        """Read several columns in one pass, so that a later `column` costs nothing; none where they are too many."""
        wanted = [name for name in dict.fromkeys(map(self.full_name, names)) if name not in self._columns]
        if len(wanted) > 1 and len(wanted) * len(self) > _KEPT:
            return
        for name, values in self.read_values(wanted).items() if wanted else ():
            self._columns[name] = values if isinstance(values, Packed) else Packed.of(values)
        most = max(1, _KEPT // max(len(self), 1))
        for name in list(self._columns)[:-most]:  # read again when they are asked for: memory
            del self._columns[name]

    def column(self, name: str) -> Column:
        """The column of a scorer: 'correct@1', or 'correct' for the latest version."""
        full = self.full_name(name)
        self.load([full])
        return Column(full, self, self._columns[full])

    def __getitem__(self, name: str) -> Column:
        if not isinstance(name, str):
            raise SpecError(f"a column is named by a string, such as 'correct', not by {name!r:.80}")
        return self.column(name)

    def __iter__(self) -> Iterator[str]:
        """The names of the scored columns, as of a dictionary."""
        return iter(self.scorers)

    def __contains__(self, name: object) -> bool:
        """Whether there are scores of 'correct' or 'correct@1'."""
        return isinstance(name, str) and self.has(name)

    def columns(self) -> dict[str, Column]:
        """Every scored column by 'name@version'."""
        return {name: self.column(name) for name in self.scorers}

    @cached_property
    def answers(self) -> Answers:
        """What came back for each trial."""
        if self.read_answers is None:
            nothing = np.zeros(len(self), dtype=np.bool_)
            return Answers(nothing, nothing, Packed(len(self)))
        return self.read_answers()

    def judgements(self, names: Sequence[str]) -> Iterator[Judgement]:
        """Every row that was asked, in plan order, with its answer and what some scorers read in it and why."""
        return iter(()) if self.read_judgements is None else self.read_judgements(list(map(self.full_name, names)))

    def digest(self, names: Sequence[str], rows: BoolArray) -> str:
        """SHA-256 over the positions of some rows and their values in some columns: what an Estimate came from."""
        return columns_digest([self.column(name).scores for name in names], lambda: parts_where(rows))

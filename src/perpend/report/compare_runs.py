"""Two runs, two models or two scorer versions on the same trials: paired differences, tests, flips, a verdict.

A difference is always the second minus the first.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from perpend.canon import JSON
from perpend.errors import SpecError
from perpend.inert import one_line
from perpend.measure.run import Run
from perpend.measure.shown import html_table, pandas_frame, polars_frame
from perpend.measure.table import FloatArray, IntArray, Table
from perpend.report.columns import chosen_columns, shared_columns
from perpend.report.compare_forest import WIDTHS, DifferenceRow, draw_differences
from perpend.report.compare_pairs import Matched, Side, as_side, check_sides, match
from perpend.stats.families import against_mde, family, mde_clustered
from perpend.stats.pairs import paired_difference, paired_test
from perpend.stats.proportions import mean
from perpend.types import Estimate

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl
    from matplotlib.figure import Figure

ALPHA, POWER = 0.05, 0.8
_IN_JSON = 1000
_IN_VERDICT = 5
_COMPANIONS = ("b", "c", "p", "p_adjusted", "mde", "incomplete", "n_clusters")
DIFFERENCE_COLUMNS = (
    "column", "condition", "first", "second", "difference", "lo", "hi", "n", *_COMPANIONS, "method", "p_method", "note",
)  # fmt: skip
_FLIP_KEYS = ("item", "condition", "model", "temperature", "repeat")


@dataclass(frozen=True, slots=True)
class RunContrast:
    """One column under one condition on both sides, and its paired difference.

    `difference.also` holds `p`, `p_adjusted` (Holm over all contrasts of the comparison), `mde` (the smallest
    difference that these pairs show with 80% power at the level of Holm's first step) and `incomplete` (pairs without
    a value).
    """

    column: str
    condition: str
    first: float | None
    second: float | None
    difference: Estimate

    @property
    def is_detected(self) -> bool:
        """The difference survives the correction for the number of tests."""
        p = self.difference.also.get("p_adjusted")
        return isinstance(p, float) and p <= ALPHA

    def __repr__(self) -> str:
        return one_line(f"RunContrast({self.column} under {self.condition or 'both'}: {self.difference})")

    def row(self) -> tuple[str | int | float | bool | None, ...]:
        """Its numbers at full precision, in the order of DIFFERENCE_COLUMNS; None where undefined."""
        d = self.difference
        ends = (self.column, self.condition, self.first, self.second, d.value, d.lo, d.hi, d.n)
        texts = (d.method, str(d.also.get("p_method", "")), d.note)
        return (*ends, *(d.also.get(key) for key in _COMPANIONS), *texts)

    def as_json(self) -> dict[str, JSON]:
        """The entry in COMPARE.json."""
        return {
            "column": self.column,
            "condition": self.condition,
            "first": self.first,
            "second": self.second,
            "difference": self.difference.as_json(),
            "detected": self.is_detected,
        }


@dataclass(frozen=True, slots=True)
class Flip:
    """A trial of which a column says 1 on one side and 0 on the other, by its names on the first side."""

    column: str
    item: str
    condition: str
    model: str
    temperature: str
    repeat: str
    first: int


@dataclass(frozen=True, slots=True)
class RunComparison:
    """Two sides on the trials that both have. `unpaired` counts the trials of each without a partner."""

    first: str
    second: str
    n_pairs: int
    n_items: int
    unpaired: tuple[int, int]
    notes: tuple[str, ...]
    contrasts: tuple[RunContrast, ...]
    verdict: str
    table: Table
    """The first side's plan, which flips are named by."""
    flipped: tuple[tuple[str, IntArray, FloatArray], ...]
    """For each column of 0 and 1, the rows of the plan on which the sides differ, and the first side's values there."""

    def __repr__(self) -> str:
        return one_line(f"RunComparison({self.first} → {self.second}: {self.n_pairs} pairs; {self.verdict})")

    def _repr_html_(self) -> str:
        """For a notebook: one row per column and condition, with the two rates and the paired difference."""
        rows = [(one.column, one.condition, one.first, one.second, str(one.difference), one.difference.also.get("p"),
                 one.difference.also.get("p_adjusted")) for one in self.contrasts]  # fmt: skip
        head = ("column", "condition", self.first, self.second, "difference", "p", "adjusted p")
        return html_table(head, rows, self.verdict)

    def to_pandas(self) -> pd.DataFrame:
        """One row per column and condition: both rates, the difference, its interval and test, as differences.csv."""
        return pandas_frame(self._columns_of())

    def to_polars(self) -> pl.DataFrame:
        """The same as a polars DataFrame."""
        return polars_frame(self._columns_of())

    def _columns_of(self) -> dict[str, list[str | int | float | bool | None]]:
        rows = [one.row() for one in self.contrasts]
        return {name: [row[place] for row in rows] for place, name in enumerate(DIFFERENCE_COLUMNS)}

    def plot(self) -> Figure:
        """The paired differences with their intervals, second minus first, as a matplotlib Figure."""
        return draw_differences(self.difference_rows(), f"{self.first} → {self.second}", WIDTHS["double"])

    def difference_rows(self) -> list[DifferenceRow]:
        """The rows of the forest: each column under each condition."""
        return [
            DifferenceRow(
                f"{one.column}, {one.condition}" if one.condition else one.column,
                one.difference,
                one.is_detected,
                is_share="discordance" in one.difference.also,
            )
            for one in self.contrasts
        ]

    def flips(self) -> Iterator[Flip]:
        """Every trial that flipped, column by column, in plan order."""
        for column, rows, before in self.flipped:
            for row, value in zip(rows.tolist(), before.tolist(), strict=True):
                item, condition, model, temperature, repeat = (self._name(key, row) for key in _FLIP_KEYS)
                yield Flip(column, item, condition, model, temperature, repeat, int(value))

    def _name(self, key: str, row: int) -> str:
        return self.table.names[key][int(self.table.codes[key][row])]

    def as_json(self) -> dict[str, JSON]:
        """COMPARE.json: of the flipped trials the first thousand items of each way; flips.csv has all."""
        ways: dict[str, JSON] = {}
        for column, rows, before in self.flipped:
            for name, value in (("1 to 0", 1.0), ("0 to 1", 0.0)):
                own = rows[before == value]
                items = [self.table.names["item"][code] for code in self.table.codes["item"][own[:_IN_JSON]]]
                ways[f"{column}: {name}"] = {"count": len(own), "items": list(dict.fromkeys(items))}
        return {
            "format": 1,
            "first": self.first,
            "second": self.second,
            "n_pairs": self.n_pairs,
            "n_items": self.n_items,
            "unpaired": {"first": self.unpaired[0], "second": self.unpaired[1]},
            "notes": list(self.notes),
            "contrasts": [one.as_json() for one in self.contrasts],
            "flips": ways,
            "verdict": self.verdict,
        }


def compare_runs(first: Run | Side, second: Run | Side, *, columns: Sequence[str] = ()) -> RunComparison:
    """The second side against the first, on the trials that both have, for every column that both were scored by.

    `columns` narrows that ('correct', 'correct@1'). Sides that are the same, or have no trial in common, are refused.
    """
    one, other = as_side(first), as_side(second)
    check_sides(one, other)
    matched = match(one, other)
    table = one.run.table
    items = table.codes["item"][matched.rows]
    slices = _slices(one, other, matched)
    contrasts: list[RunContrast] = []
    flipped: list[tuple[str, IntArray, FloatArray]] = []
    for name, names in _columns(one, other, columns).items():
        before = one.run[names[0]].all_values[matched.rows]
        after = other.run[names[1]].all_values[matched.partners]
        whole = ~np.isnan(before) & ~np.isnan(after)
        if not whole.any():
            continue
        binary = bool(np.isin(np.concatenate((before[whole], after[whole])), (0.0, 1.0)).all())
        for condition, chosen in slices.items():
            rows = whole & chosen
            difference = _contrast((before[rows], after[rows], items[rows]), binary=binary)
            lost = {"incomplete": int(chosen.sum() - rows.sum())}
            if rows.any():
                ends = float(before[rows].mean()), float(after[rows].mean())
                contrasts.append(
                    RunContrast(name, condition, *ends, replace(difference, also={**difference.also, **lost}))
                )
        if binary:
            turned = np.flatnonzero(whole & (before != after))
            flipped.append((name, matched.rows[turned], before[turned]))
    if not contrasts:
        raise SpecError("the sides share trials, but no column has a value on both; run 'perpend score' on both")
    names = _names(one, other)
    adjusted = _adjusted(contrasts)
    return RunComparison(
        *names,
        n_pairs=len(matched.rows),
        n_items=len(np.unique(items)),
        unpaired=matched.unpaired,
        notes=matched.notes,
        contrasts=adjusted,
        verdict=verdict(*names, adjusted),
        table=table,
        flipped=tuple(flipped),
    )


def _names(first: Side, second: Side) -> tuple[str, str]:
    """What a reader calls the two sides: never the same."""
    with_run = first.run.directory.resolve() != second.run.directory.resolve()
    one, other = first.title(with_run=with_run), second.title(with_run=with_run)
    return (one, other) if one != other else (f"{one} (first)", f"{other} (second)")


def _columns(first: Side, second: Side, wanted: Sequence[str]) -> dict[str, tuple[str, str]]:
    """What each column is called on the two sides: the latest version that both have, or each side's own."""
    known: list[list[tuple[str, str]]] = []
    for side in (first, second):
        scorers = [(stem, version) for stem, _, version in (name.rpartition("@") for name in side.run.table.scorers)]
        known.append([(stem, version) for stem, version in scorers if side.version in ("", version)])
    shared: dict[str, tuple[str, str]] = {}
    if first.version or second.version:
        versions = [dict(own) for own in known]
        for name in versions[0]:
            if name in versions[1]:
                shared[name] = f"{name}@{versions[0][name]}", f"{name}@{versions[1][name]}"
    else:
        full = [[f"{stem}@{version}" for stem, version in own] for own in known]
        shared = {name: (name, name) for name in shared_columns(full, wanted)}
    return {name: shared[name] for name in chosen_columns(shared, wanted, "both sides")}


def _slices(first: Side, second: Side, matched: Matched) -> dict[str, np.ndarray[tuple[int], np.dtype[np.bool_]]]:
    """The pairs of each condition; one slice where the sides are two conditions."""
    table = first.run.table
    codes = table.codes["condition"][matched.rows]
    if "condition" in {*first.where, *second.where}:
        return {"": np.ones(len(codes), dtype=np.bool_)}
    return {table.names["condition"][code]: codes == code for code in np.unique(codes)}


def _contrast(sides: tuple[FloatArray, FloatArray, IntArray], *, binary: bool) -> Estimate:
    before, after, items = sides
    if not len(before):
        return Estimate(None, 0, note="no complete pair")
    if not binary:
        change = mean(after - before, items)
        return replace(change, also={**change.also, "p": _student_p(change), "p_method": "Student's t, by item"})
    difference, test = paired_difference(before, after, items), paired_test(before, after, items)
    discordant = float(np.mean(before != after))
    also = {**difference.also, "p": test.value, "p_method": test.method, "discordance": discordant}
    return replace(difference, also=also)


def _student_p(change: Estimate) -> float | None:
    """Two-sided p that a mean difference is 0; without any spread 1 where nothing differs, else undefined."""
    from scipy.special import stdtr

    se, groups = change.also.get("se"), change.also.get("n_clusters", change.n)
    if change.value is None or not isinstance(se, float) or se == 0.0 or not isinstance(groups, int):
        return 1.0 if change.value == 0.0 else None
    return float(2.0 * stdtr(groups - 1, -abs(change.value) / se))


def _adjusted(contrasts: Sequence[RunContrast]) -> tuple[RunContrast, ...]:
    """The contrasts with p adjusted by Holm over all of them, and what each could have shown."""
    p = {str(place): _p(one) for place, one in enumerate(contrasts)}
    tests = family(p, method="holm", alpha=ALPHA).tests
    alpha = ALPHA / len(contrasts)
    adjusted = []
    for one, test in zip(contrasts, tests, strict=True):
        mde = mde_clustered(one.difference, alpha=alpha, power=POWER)
        also = {**one.difference.also, "p_adjusted": test.adjusted, "mde": mde.value}
        adjusted.append(replace(one, difference=against_mde(replace(one.difference, also=also), mde)))
    return tuple(adjusted)


def _p(one: RunContrast) -> float | None:
    p = one.difference.also.get("p")
    return p if isinstance(p, float) else None


def verdict(first: str, second: str, contrasts: Sequence[RunContrast]) -> str:
    """What may be claimed after the correction, and of the rest what these pairs could have missed."""
    detected = sorted((one for one in contrasts if one.is_detected), key=lambda one: -abs(one.difference.value or 0.0))
    rest = [one for one in contrasts if not one.is_detected]
    missed = _missed(rest)
    tests = f"Holm over {len(contrasts)} test{'s' * (len(contrasts) != 1)}, 5%"
    if not detected:
        return f"No detectable difference between {first} and {second} ({tests}). {missed}".strip()
    ways = []
    for word, sign in (("higher", 1.0), ("lower", -1.0)):
        own = [one for one in detected if (one.difference.value or 0.0) * sign > 0.0]
        names = [f"{_place(one)} ({one.difference.value or 0.0:+.3f})" for one in own[:_IN_VERDICT]]
        more = f" and {len(own) - _IN_VERDICT} more" if len(own) > _IN_VERDICT else ""
        ways += [f"{word} on {', '.join(names)}{more}"] if own else []
    text = f"{second} is {' and '.join(ways)} than {first} ({tests})."
    return text if not rest else f"{text} On the other {len(rest)} no detectable difference. {missed}".strip()


def _missed(rest: Sequence[RunContrast]) -> str:
    sizes = [size for one in rest if isinstance(size := one.difference.also.get("mde"), float)]
    if not sizes:
        return ""
    span = f"{min(sizes):.3f}" if max(sizes) - min(sizes) < 0.0005 else f"{min(sizes):.3f} to {max(sizes):.3f}"
    return f"Minimum detectable effect at 80% power: {span}."


def _place(one: RunContrast) -> str:
    return f"{one.column} under {one.condition}" if one.condition else one.column

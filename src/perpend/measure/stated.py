"""Numbers that the source of an import states of its own verdicts, each with its place, and what follows from these.

The manifest of an imported run lists them under 'import', 'reported'. A number names the column of stored scores that
it is of, the statistic and the slice, so that anybody can compute it again; one that cannot be says why.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType

import numpy as np

from perpend.canon import JSON, as_list, as_object
from perpend.errors import SpecError, did_you_mean
from perpend.measure.column import Column
from perpend.measure.table import Table

MOST = 20_000
"""The most numbers that one source may state: a leaderboard has some hundreds, a run of HELM some thousands."""
COUNTS = ("items", "trials")
"""The statistics that are of no column: how many items and how many trials there are."""
_CLOSE = 1e-9
_ROUNDED, _EXAMPLES, _EVEN = 3, 10, 0.5


@dataclass(frozen=True, slots=True)
class SourceNumber:
    """A number of a source. `place` is the line or key in `file`; `unchecked` says why nothing can be computed."""

    what: str
    value: float
    file: str
    place: str
    column: str = ""
    statistic: str = ""
    where: Mapping[str, str] = field(default_factory=dict)
    unchecked: str = ""
    exact: bool = False
    """Whether a program wrote it with all its digits, so that 0.3 is not 0.25 rounded."""

    def as_json(self) -> dict[str, JSON]:
        """The entry in the manifest."""
        body: dict[str, JSON] = {"what": self.what, "value": self.value, "file": self.file, "place": self.place}
        if self.unchecked:
            return {**body, "unchecked": self.unchecked}
        body |= {"column": self.column, "statistic": self.statistic, "where": dict(self.where)}
        return {**body, "exact": True} if self.exact else body


@dataclass(slots=True)
class SourceRule:
    """A rule that the source states for verdicts of its own, and how many it gives again: 'the median of the judges'.

    `examples` are the places of the first verdicts that it does not give.
    """

    what: str
    checked: int = 0
    differ: int = 0
    examples: list[str] = field(default_factory=list)

    def add(self, place: str, *, agrees: bool) -> None:
        """Count one verdict."""
        self.checked += 1
        if not agrees:
            self.differ += 1
            if len(self.examples) < _EXAMPLES:
                self.examples.append(place)

    def as_json(self) -> dict[str, JSON]:
        """The entry in the manifest."""
        return {"what": self.what, "checked": self.checked, "differ": self.differ, "examples": list(self.examples)}


def read_rules(source: Mapping[str, JSON] | None) -> list[SourceRule]:
    """The rules that the manifest of an import lists."""
    rules = []
    for entry in map(as_object, as_list((source or {}).get("rules"))):
        counts = [entry.get(key) for key in ("checked", "differ")]
        checked, differ = (count if isinstance(count, int) else 0 for count in counts)
        rules.append(
            SourceRule(str(entry.get("what", "")), checked, differ, list(map(str, as_list(entry.get("examples")))))
        )
    return rules


def read_stated(source: Mapping[str, JSON] | None) -> list[SourceNumber]:
    """The numbers that the manifest of an import lists; entries without a place, of older imports, are unchecked."""
    stated: list[SourceNumber] = []
    for entry in map(as_object, as_list((source or {}).get("reported"))):
        value = entry.get("value")
        if not isinstance(value, int | float) or isinstance(value, bool):
            continue
        texts = {key: str(entry.get(key, "")) for key in ("file", "place", "column", "statistic", "unchecked")}
        what = str(
            entry.get("what") or " ".join(str(entry[key]) for key in ("scorer", "task", "metric") if key in entry)
        )
        if not texts["unchecked"] and not texts["column"] and texts["statistic"] not in COUNTS:
            texts["unchecked"] = "the import does not say what it is of"
        where = {key: str(value) for key, value in as_object(entry.get("where")).items()}
        stated.append(SourceNumber(what, float(value), **texts, where=where, exact=entry.get("exact") is True))
    return stated


def follows(table: Table, stated: SourceNumber) -> tuple[float | None, str]:
    """What the stored verdicts give in place of a stated number, or None and why it cannot be computed."""
    if stated.unchecked:
        return None, stated.unchecked
    known = (*STATISTICS, *COUNTS)
    if stated.statistic not in known:
        raise SpecError(f"unknown statistic {stated.statistic!r:.80}; {did_you_mean(stated.statistic, known)}")
    if stated.statistic not in COUNTS and not table.has(stated.column):
        return None, f"the source holds no {stated.column.removeprefix('stored_')!r} of single answers"
    for key, name in stated.where.items():
        if key not in table.names or name not in table.values(key):
            return None, f"no answer with {key} {name!r:.80} is here"
    if stated.statistic in COUNTS:
        rows = table.mask(dict(stated.where))
        return float(rows.sum() if stated.statistic == "trials" else len(np.unique(table.codes["item"][rows]))), ""
    try:
        with np.errstate(over="ignore", invalid="ignore"):
            value = STATISTICS[stated.statistic](table.column(stated.column).where(**dict(stated.where)))
    except OverflowError:  # of an exact sum
        value = math.inf
    if value is not None and not math.isfinite(value):
        return None, "beyond every number: the values are too large"
    return value, "" if value is not None else "no answer has a value"


def tolerances(stated: Sequence[SourceNumber]) -> Iterator[float]:
    """How far a recomputed number may be from each stated one: half a unit of the last digit that was written.

    A number with fewer than three decimals is taken to be written as precisely as the most precise one of its file and
    statistic: 0.5 among 0.5038 and 0.4911 is not 0.5038 rounded. One that a program wrote has at least three.
    """
    finest: dict[tuple[str, str], int] = {}
    for one in stated:
        group = (one.file, one.statistic)
        finest[group] = max(finest.get(group, 0), _decimals(one.value))
    for one in stated:
        own = _decimals(one.value)
        digits = own if own >= _ROUNDED else max(finest[one.file, one.statistic], _ROUNDED * one.exact)
        yield max(0.5 * 10.0**-digits * (1 + _CLOSE), _CLOSE * max(1.0, abs(one.value)))


def _decimals(value: float) -> int:
    text = repr(value)
    if "e" in text:
        return max(0, len(text.partition("e")[0].partition(".")[2]) - int(text.partition("e")[2]))
    return 0 if value.is_integer() else len(text.partition(".")[2])


def _mean(column: Column) -> float | None:
    values = column.all_values[column.defined]
    return float(math.fsum(values) / len(values)) if len(values) else None


def _spread(column: Column) -> float | None:
    """The standard deviation with n - 1; None of fewer than two values."""
    values = column.all_values[column.defined]
    return float(np.std(values, ddof=1)) if len(values) > 1 else None


def _error(column: Column) -> float | None:
    spread = _spread(column)
    return None if spread is None else spread / math.sqrt(int(column.defined.sum()))


def _times(factor: float, statistic: Callable[[Column], float | None]) -> Callable[[Column], float | None]:
    def scaled(column: Column) -> float | None:
        value = statistic(column)
        return None if value is None else factor * value

    return scaled


def _median(column: Column) -> float | None:
    values = column.all_values[column.defined]
    return float(np.median(values)) if len(values) else None


def _how_many(value: float) -> Callable[[Column], float | None]:
    return lambda column: float(np.count_nonzero(column.all_values[column.defined] == value))


def _wins(column: Column) -> float | None:
    """Wins and half of the draws, in percent of all."""
    values = column.all_values[column.defined]
    return float(50 * np.mean(1 + np.sign(values - _EVEN))) if len(values) else None


def _mean_of_repeats(column: Column) -> float | None:
    """The mean of the means of each repeat, however many answers a repeat has."""
    means = [_mean(own) for own in column.by("repeat").values()]
    present = [value for value in means if value is not None]
    return math.fsum(present) / len(present) if present else None


STATISTICS: Mapping[str, Callable[[Column], float | None]] = MappingProxyType(
    {
        "mean": _mean,
        "percent": _times(100, _mean),
        "mean_of_repeats": _mean_of_repeats,
        "median": _median,
        "sum": lambda column: float(math.fsum(column.all_values[column.defined])),
        "count": lambda column: float(column.defined.sum()),
        "ones": _how_many(1.0),
        "wins": lambda column: float(np.count_nonzero(column.all_values[column.defined] > _EVEN)),
        "losses": lambda column: float(np.count_nonzero(column.all_values[column.defined] < _EVEN)),
        "percent_of_wins": _wins,
        "draws": _how_many(_EVEN),
        "standard_deviation": _spread,
        "standard_error": _error,
        "percent_standard_error": _times(100, _error),
    }
)
"""A statistic of the selected verdicts that have a value; None where it is undefined."""

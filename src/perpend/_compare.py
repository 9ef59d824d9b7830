"""compare FIRST SECOND: two runs, published folders, logs or checkpoints, whichever they are; two of one kind.

rank RUNS: the models of any number of runs, published folders or logs.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeAlias

from perpend._convert import as_run
from perpend.canon import JSON
from perpend.errors import DataError, SpecError
from perpend.measure.population import Population
from perpend.measure.run import Run
from perpend.report.compare_contrasts import checked_margin
from perpend.report.compare_page import write_comparison
from perpend.report.compare_pairs import Side, side
from perpend.report.compare_runs import RunComparison, compare_runs
from perpend.report.compare_text import comparison_text
from perpend.report.rank_page import write_ranking
from perpend.report.rank_runs import RankOptions, RunRanking, rank_runs
from perpend.studies.verbs.checkpoint import compared_checkpoints
from perpend.studies.verbs.compare_page import compare_body, compare_text

Given: TypeAlias = tuple["Path | Run", Mapping[str, str]]
"""What a side is, and the part of it."""


@dataclass(frozen=True, slots=True)
class Compared:
    """A comparison of any kind, as text for a terminal and as the body of COMPARE.json."""

    text: str
    body: Mapping[str, JSON]


@dataclass(frozen=True, slots=True)
class CompareOptions:
    """What is asked of two runs: some columns, a margin, whom the trials stand for. Without any, all columns."""

    columns: Sequence[str] = ()
    margin: float | str | None = None
    population: Population = field(default_factory=Population)

    def __bool__(self) -> bool:
        return bool(self.columns or self.margin is not None or self.population)


_EVERYTHING = CompareOptions()


def compare_paths(
    first: Given, second: Given, out: Path | None = None, options: CompareOptions = _EVERYTHING, *, figures: bool = True
) -> Compared:
    """Compare what two paths are and, with `out`, write page, tables and figures there.

    Two of different kinds, and what is neither a run, a log nor a checkpoint, are errors.
    """
    kinds = [isinstance(place, Path) and is_checkpoint(place) for place, _ in (first, second)]
    if any(kinds) and not all(kinds):
        one, other = (first, second) if kinds[0] else (second, first)
        raise DataError(f"{one[0]}: the report of a checkpoint, but {other[0]} is none; compare two of a kind")
    if all(kinds):
        if first[1] or second[1] or options:
            raise SpecError(
                "--first, --second, --column, --margin, --weights and --strata are for runs; checkpoints are compared "
                "whole"
            )
        numbers, names = compared_checkpoints(Path(str(first[0])), Path(str(second[0])), out, figures=figures)
        return Compared(compare_text(numbers, names), compare_body(numbers, names))
    comparison = compare_any(first, second, out, options, figures=figures)
    return Compared(comparison_text(comparison), comparison.as_json())


def compare_any(
    first: Given, second: Given, out: Path | None = None, options: CompareOptions = _EVERYTHING, *, figures: bool = True
) -> RunComparison:
    """Compare two runs, published folders or logs; a log is imported and scored for the time of the comparison."""
    margin = None if options.margin is None else checked_margin(options.margin)
    with _sides(first, second) as sides:
        comparison = compare_runs(*sides, columns=options.columns, margin=margin, population=options.population)
        if out is not None:
            write_comparison(comparison, out, figures=figures)
        return comparison


def rank_any(
    places: Sequence[Path | Run], options: RankOptions, out: Path | None = None, *, figures: bool = True
) -> RunRanking:
    """Rank the models of runs, published folders or logs and, with `out`, write what `write_ranking` does there.

    Reports of checkpoints have no items, and are an error.
    """
    for place in places:
        if isinstance(place, Path) and is_checkpoint(place):
            raise DataError(f"{place}: the report of a checkpoint; 'perpend compare' compares two, rank takes runs")
    with opened_runs(places) as runs:
        ranking = rank_runs(runs, options)
        if out is not None:
            write_ranking(ranking, out, figures=figures)
        return ranking


@contextmanager
def _sides(first: Given, second: Given) -> Iterator[tuple[Side, Side]]:
    """Both as sides. One path twice is one run: its parts are compared."""
    with opened_runs([first[0], second[0]]) as runs:
        yield side(runs[0], first[1]), side(runs[1], second[1])


@contextmanager
def opened_runs(places: Sequence[Path | Run]) -> Iterator[list[Run]]:
    """Runs as they are; published folders and logs for the time of the block. One path twice is one run."""
    with ExitStack() as stack:
        known: dict[Path, Run] = {}
        runs: list[Run] = []
        for place in places:
            if isinstance(place, Run):
                runs.append(place)
                continue
            key = Path(os.path.realpath(place))  # also of a link to itself, which is no run
            if key not in known:
                known[key] = stack.enter_context(as_run(place))
            runs.append(known[key])
        yield runs


def is_checkpoint(path: Path) -> bool:
    """Whether a folder is the report of a checkpoint."""
    return (path / "results.json").is_file() and not (path / "run.db").is_file()

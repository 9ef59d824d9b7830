"""compare: two runs, or two parts of one, against each other; the page, the tables, the forest and the verdict."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from perpend.measure.population import Population
from perpend.measure.run import Run
from perpend.report.compare_page import write_comparison
from perpend.report.compare_pairs import Side
from perpend.report.compare_runs import RunComparison, compare_runs

__all__ = ["Population", "RunComparison", "Side", "compare_runs", "side", "write_comparison"]


def side(run: Run | Path, where: Mapping[str, str] | None = None) -> Side:
    """A run as one side. `where` narrows it; 'rule' in it is a scorer version, such as 1."""
    chosen = dict(where or {})
    version = chosen.pop("rule", "")
    return Side(run if isinstance(run, Run) else Run(run), chosen, version)


def compare_directories(  # noqa: PLR0913  what a comparison is asked for
    first: Side,
    second: Side,
    out: Path | None,
    columns: Sequence[str] = (),
    *,
    margin: float | str | None = None,
    population: Population | None = None,
    figures: bool = True,
) -> RunComparison:
    """Compare two sides and, with `out`, write COMPARE.md, COMPARE.json, the tables and the forest there."""
    comparison = compare_runs(first, second, columns=columns, margin=margin, population=population)
    if out is not None:
        write_comparison(comparison, out, figures=figures)
    return comparison

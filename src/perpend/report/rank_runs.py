"""Many models on the same items: means with intervals that hold at once, the ranks that each can have, tiers.

The unit is the item: a model's score on it is the mean over its trials. What the items do not tell apart is tied.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from perpend.canon import JSON
from perpend.errors import DataError, SpecError, did_you_mean
from perpend.inert import one_line
from perpend.measure.run import Run
from perpend.measure.shown import Framed, html_table
from perpend.measure.table import IMPORTED
from perpend.report.columns import chosen_columns, shared_columns
from perpend.report.compare_forest import WIDTHS
from perpend.report.rank_figure import draw_rankings
from perpend.report.rank_scores import MISSING, ItemScores, item_scores
from perpend.report.rank_trials import RankedTrials, trials_of
from perpend.stats.ranking import RESAMPLES, ModelPair, Ranking, rank

if TYPE_CHECKING:
    from matplotlib.figure import Figure

LEVEL = 0.95
Cell: TypeAlias = str | int | float | bool | None
RANK_COLUMNS = (
    "column", "condition", "tier", "rank", "lowest", "highest", "model", "mean", "lo", "hi", "n", "unscored", "method",
    "note",
)  # fmt: skip
PAIR_COLUMNS = ("column", "condition", "first", "second", "difference", "n", "p", "p_adjusted", "told_apart")


@dataclass(frozen=True, slots=True)
class RankOptions:
    """What is ranked, and how.

    `missing` says what becomes of a trial without a value. 'shared': its item is left out for all models; a model that
    lacks a value on more than half of the items is not ranked. 'pairwise': the item is left out for that model; means
    are over each model's own items, differences over those that both have. 'zero': it counts as 0, for columns of 0
    and 1. An item that the scorer cannot judge is left out by each.
    """

    columns: Sequence[str] = ()
    models: Sequence[str] = ()
    where: Mapping[str, str | float] = field(default_factory=dict)
    pooled: bool = False
    lowest_first: bool = False
    missing: str = "shared"


@dataclass(frozen=True, slots=True)
class ColumnRanking:
    """One column under one condition: what was ranked, and the ranking that the statistics give."""

    scores: ItemScores
    ranking: Ranking

    @property
    def title(self) -> str:
        """The column and the condition."""
        return self.scores.title

    def is_told(self, pair: ModelPair) -> bool:
        """Whether the items tell a pair apart."""
        return pair.adjusted is not None and pair.adjusted <= 1.0 - self.ranking.level

    def across(self) -> list[tuple[str, str]]:
        """Pairs of different tiers that the items do not tell apart all the same, the better tier first."""
        tiers = {model.name: model.tier for model in self.ranking.models}
        order = {model.name: place for place, model in enumerate(self.ranking.models)}
        pairs = [
            (pair.first, pair.second) if order[pair.first] < order[pair.second] else (pair.second, pair.first)
            for pair in self.ranking.pairs
            if tiers[pair.first] != tiers[pair.second] and not self.is_told(pair)
        ]
        return sorted(pairs, key=lambda names: (order[names[0]], order[names[1]]))

    def rows(self) -> Iterator[tuple[Cell, ...]]:
        """Its models at full precision, tier by tier, in the order of RANK_COLUMNS."""
        for m in self.ranking.by_tier():
            mean = m.mean
            places = (self.scores.column, self.scores.condition, m.tier, m.rank, m.lowest, m.highest, m.name)
            yield (*places, mean.value, mean.lo, mean.hi, mean.n, self.scores.unscored[m.name], mean.method, mean.note)

    def pair_rows(self) -> Iterator[tuple[Cell, ...]]:
        """Its pairs in the order of PAIR_COLUMNS."""
        for pair in self.ranking.pairs:
            numbers = (pair.difference, pair.n_items, pair.p, pair.adjusted, self.is_told(pair))
            yield (self.scores.column, self.scores.condition, pair.first, pair.second, *numbers)

    def as_json(self) -> dict[str, JSON]:
        """The entry in RANK.json."""
        return {
            "column": self.scores.column,
            "condition": self.scores.condition,
            "n_items": self.ranking.n_items,
            "n_shared": self.scores.n_shared,
            "n_elsewhere": self.scores.n_elsewhere,
            "n_unfit": self.scores.n_unfit,
            "not_ranked": dict(self.scores.apart),
            "level": self.ranking.level,
            "tiers": [list(tier) for tier in self.ranking.tiers()],
            "models": [
                {
                    **{key: getattr(model, key) for key in ("name", "tier", "rank", "lowest", "highest")},
                    "mean": model.mean.as_json(),
                    "unscored": self.scores.unscored[model.name],
                }
                for model in self.ranking.by_tier()
            ],
            "pairs": [dict(zip(PAIR_COLUMNS[2:], row[2:], strict=True)) for row in self.pair_rows()],
            "cautions": [{"id": c.id, "text": c.text, "number": c.number} for c in self.ranking.cautions],
        }


@dataclass(frozen=True, slots=True)
class RunRanking(Framed):
    """Models of one run or of several, ranked by each column under each condition.

    `level` holds for all rankings at once: each has its share of what is left of 1.
    """

    models: tuple[str, ...]
    rankings: tuple[ColumnRanking, ...]
    notes: tuple[str, ...]
    options: RankOptions
    level: float = LEVEL

    def __repr__(self) -> str:
        tiers = "; ".join(
            f"{one.title}: "
            + ", ".join(f"tier {n} {' = '.join(names)}" for n, names in enumerate(one.ranking.tiers(), 1))
            for one in self.rankings
        )
        return one_line(f"RunRanking({len(self.models)} models; {tiers})")

    def _repr_html_(self) -> str:
        """For a notebook: one row per column, condition and model."""
        rows = [(one.scores.column, one.scores.condition, m.tier, f"{m.lowest} to {m.highest}", m.name, str(m.mean))
                for one in self.rankings for m in one.ranking.by_tier()]  # fmt: skip
        return html_table(("column", "condition", "tier", "ranks", "model", "mean"), rows, f"{len(self.models)} models")

    def columns_of(self) -> dict[str, list[Cell]]:
        """Tier, ranks, mean and interval of every column, condition and model, as ranking.csv."""
        rows = [row for one in self.rankings for row in one.rows()]
        return {name: [row[place] for row in rows] for place, name in enumerate(RANK_COLUMNS)}

    def plot(self) -> Figure:
        """Every mean with its interval, by tier, as a matplotlib Figure."""
        return draw_rankings(self.panels(), WIDTHS["double"])

    def panels(self) -> list[tuple[str, Ranking]]:
        """The rankings under their titles, as the figure takes them."""
        return [(one.title, one.ranking) for one in self.rankings]

    def as_json(self) -> dict[str, JSON]:
        """RANK.json."""
        return {
            "format": 1,
            "models": list(self.models),
            "level": self.level,
            "missing": self.options.missing,
            "lowest_first": self.options.lowest_first,
            "pooled": self.options.pooled,
            "where": dict(self.options.where),
            "notes": list(self.notes),
            "rankings": [one.as_json() for one in self.rankings],
        }


def rank_runs(runs: Sequence[Run], options: RankOptions | None = None) -> RunRanking:
    """Rank the models of some runs by their mean over the items that all of them have, for each column and condition.

    Without columns, by the first one that the first run was scored by. Fewer than two models with a value, and no item
    that all of them have, are errors.
    """
    chosen = options or RankOptions()
    if chosen.missing not in MISSING:
        raise SpecError(f"missing: is {chosen.missing!r}; {did_you_mean(chosen.missing, MISSING)}")
    if not runs:
        raise SpecError("no run is given; name at least one run directory")
    trials = trials_of(runs, chosen.models, chosen.where)
    notes = list(trials.notes)
    drafts: list[ItemScores] = []
    for column in _columns(trials, chosen.columns):
        for scores in item_scores(trials, column, pooled=chosen.pooled, missing=chosen.missing):
            drafts += [scores] if len(scores.by_model) > 1 else []
            notes += [f"{scores.title} is not ranked: {scores.reason}"] if len(scores.by_model) < 2 else []
    if not drafts:
        raise DataError("nothing can be ranked", *dict.fromkeys(notes))
    level = 1.0 - (1.0 - LEVEL) / len(drafts)
    resamples = max(RESAMPLES, 200 * len(drafts))
    rankings = tuple(
        ColumnRanking(one, rank(one.by_model, level=level, lowest_first=chosen.lowest_first, resamples=resamples))
        for one in drafts
    )
    return RunRanking(trials.names["model"], rankings, tuple(dict.fromkeys(notes)), chosen)


def _columns(trials: RankedTrials, wanted: Sequence[str]) -> list[str]:
    """The columns that are asked for; else the first of the first run's scorers, or what an import brought along."""
    shared = shared_columns([run.table.scorers for run in trials.runs], wanted)
    if wanted:
        return chosen_columns(shared, wanted, "all runs")
    main = next((name.partition("@")[0] for name in trials.runs[0].manifest.scorers), "")
    with_values = [name for name in shared if _n_with_values(trials, name) > 1]
    own = [name for name in with_values if name.partition("@")[0] == main]
    brought = [name for name in with_values if name.endswith(f"@{IMPORTED}")]
    is_asked = any(name.partition("@")[0] == main for name in shared)
    if own or (len(with_values) == 1 and (brought or not is_asked)):
        return own or with_values
    what = f"{main} has no values of two models" if is_asked else "several columns have values of two models"
    advice = f"say by which to rank with --column: {', '.join(with_values)}"
    raise SpecError(f"{what}; {advice if with_values else 'run perpend score on each'}")


def _n_with_values(trials: RankedTrials, column: str) -> int:
    values, _ = trials.values(column)
    return len(np.unique(trials.codes["model"][~np.isnan(values)]))

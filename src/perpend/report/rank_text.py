"""A ranking as the terminal shows it: tiers with their models, who is not told apart, what was left out."""

from __future__ import annotations

from collections.abc import Mapping

from perpend.inert import one_line
from perpend.report.rank_runs import ColumnRanking, RunRanking
from perpend.report.tables import interval, number, wrapped
from perpend.stats.ranking import RankedModel
from perpend.types import Caution

_MODELS, _RANKINGS, _PAIRS = 30, 8, 6


def ranking_text(ranking: RunRanking) -> str:
    """For each column and condition its tiers, then what holds for all; of many the first."""
    lines: list[str] = []
    for one in ranking.rankings[:_RANKINGS]:
        lines += [*_ranking_lines(one, ranking.options.missing), ""]
    more = len(ranking.rankings) - _RANKINGS
    lines += [f"{more} more ranking{'s' * (more != 1)}; --out writes all of them."] if more > 0 else []
    lines += _wrapped(held_at_once(ranking))
    for note in (*ranking.notes, *cautions_of(ranking)):
        lines += _wrapped(note)
    return "\n".join(lines) + "\n"


def _ranking_lines(one: ColumnRanking, missing: str) -> list[str]:
    lines = [*_wrapped(f"{one.title}: {len(one.ranking.models)} models, {left_out(one, missing)}")]
    shown = one.ranking.models[:_MODELS]
    for tier in sorted({model.tier for model in shown if model.tier is not None}):
        own = [_words(model) for model in shown if model.tier == tier]
        lines += _wrapped(f"Tier {tier}: {', '.join(own)}", "  ")
    if len(one.ranking.models) > len(shown):
        lines.append(f"{len(one.ranking.models) - len(shown)} more models; --out writes all of them.")
    if len(one.ranking.tiers()) == 1:
        lines += _wrapped("No model is shown to be better than another.")
    across = one.across()
    pairs = [f"{first} and {second}" for first, second in across[:_PAIRS]]
    if len(across) > _PAIRS:
        count = f"{len(across)} pairs of different tiers are not told apart either"
        lines += _wrapped(f"{count}, such as {pairs[0]}; --out names all.", "  ")
    elif across:
        lines += _wrapped(f"Of different tiers, but not told apart: {'; '.join(pairs)}.", "  ")
    return lines


def cautions_of(ranking: RunRanking) -> list[str]:
    """Each caution once, with the figure of the ranking that it is most true of."""
    worst: dict[str, Caution] = {}
    for caution in (own for one in ranking.rankings for own in one.ranking.cautions):
        known = worst.setdefault(caution.id, caution)
        if (caution.number or 0.0) < (known.number or 0.0):
            worst[caution.id] = caution
    return [f"{caution.id}: {caution.text}." for caution in worst.values()]


def _words(model: RankedModel) -> str:
    ends = "" if model.mean.lo is None else f" {interval(model.mean)}"
    return f"{model.name} ({number(model.mean.value)}{ends}, rank {ranks_of(model)})"


def ranks_of(model: RankedModel) -> str:
    """The ranks that a model can have: '1', or '1 to 3'."""
    return f"{model.lowest}" if model.lowest == model.highest else f"{model.lowest} to {model.highest}"


def left_out(one: ColumnRanking, missing: str) -> str:
    """On how many items the models are ranked, and what became of those without a value."""
    scores = one.scores
    n, shared = one.ranking.n_items, f"{scores.n_shared} item{'s' * (scores.n_shared != 1)} that all were asked"
    lost = _counts(scores.unscored)
    if missing == "zero":
        words = f"on {shared}; no value counts as 0"
    elif missing == "pairwise":
        words = f"each on its own of {shared}" + (f"; without a value: {lost}" if lost else "")
    elif n == scores.n_shared:
        words = f"on {shared}"
    else:
        words = f"on {n} of {shared}; {scores.n_shared - n} left out, without a value of {lost}"
    if scores.n_elsewhere:
        words += f"; {scores.n_elsewhere} that only some were asked"
    if scores.n_unfit:
        words += f"; {scores.n_unfit} that {scores.column} cannot judge"
    if scores.apart:
        words += f". Not ranked, as without a value on more than half of them: {_counts(scores.apart)}"
        words = words if missing == "shared" else words.replace("more than half", "any")
    return f"{words}."


def _counts(lost: Mapping[str, int]) -> str:
    """Models with the items on which they lack a value, the most first."""
    every = sorted(((name, n) for name, n in lost.items() if n), key=lambda own: (-own[1], own[0]))
    more = f" and {len(every) - _PAIRS} more" if len(every) > _PAIRS else ""
    return ", ".join(f"{name} ({n})" for name, n in every[:_PAIRS]) + more


def held_at_once(ranking: RunRanking) -> str:
    """What the intervals and ranks hold for."""
    rankings = len(ranking.rankings)
    every = "" if rankings == 1 else " and both rankings" if rankings == 2 else f" and all {rankings} rankings"
    best = "the lowest" if ranking.options.lowest_first else "the highest"
    conditions = " Conditions are pooled." if ranking.options.pooled else ""
    return (
        f"{best.capitalize()} mean is the best. Intervals and ranks hold at {100 * ranking.level:g}% for all models"
        f"{every} at once; models of one tier are not told apart.{conditions}"
    )


def _wrapped(text: str, indent: str = "") -> list[str]:
    return wrapped(one_line(text), indent)

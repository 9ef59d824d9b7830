"""Teacher-forced log-probabilities of target and decoy, so that pressure shows as a shift in log-odds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from perpend.canon import JSON
from perpend.inside.prompts import TrialPrompt
from perpend.measure.column import Column
from perpend.measure.packed import Packed
from perpend.measure.table import Table
from perpend.models.hf.forest import Passage
from perpend.stats import mean
from perpend.types import Estimate

if TYPE_CHECKING:
    from perpend.models.hf.candidates import FloatArray


def answer_rows(
    entries: Sequence[TrialPrompt], logprobs: Mapping[tuple[Passage, ...], Sequence[FloatArray | None]]
) -> list[dict[str, JSON]]:
    """One line per trial: for each candidate its tokens with their log-probabilities in nats, their sum and mean.

    `log_odds` is log p(decoy) - log p(target), by sums and by means per token; None without both, and `note` says why.
    `logprobs` has the passages of every prompt once: the likelihood does not depend on sampling.
    """
    return [_row(entry, logprobs.get(tuple(entry.passages.values()), [])) for entry in entries]


def _row(entry: TrialPrompt, values: Sequence[FloatArray | None]) -> dict[str, JSON]:
    note = entry.note
    candidates: dict[str, JSON] = {}
    totals: dict[str, tuple[float, float]] = {}
    for (role, passage), part in zip(entry.passages.items(), values, strict=True):
        if part is None or not len(part):
            note = f"the {role} " + ("does not fit into memory" if part is None else "has no token of its own")
            continue
        totals[role] = float(part.sum()), float(part.mean())
        candidates[role] = _candidate(str(getattr(entry.trial.item, role)), passage, part)
    both = len(totals) == 2
    return {
        "trial": entry.trial.trial,
        "item": entry.trial.item.id,
        "condition": entry.trial.condition,
        "position": len(entry.prompt) - 1 if entry.passages else None,
        "candidates": candidates,
        "log_odds": totals["decoy"][0] - totals["target"][0] if both else None,
        "log_odds_per_token": totals["decoy"][1] - totals["target"][1] if both else None,
        "note": note,
    }


def _candidate(text: str, passage: Passage, values: FloatArray) -> dict[str, JSON]:
    return {
        "text": text,
        "tokens": list(passage.tokens[passage.start :]),
        "logprobs": values.tolist(),
        "total": float(values.sum()),
        "per_token": float(values.mean()),
    }


def shifts(
    rows: Sequence[Mapping[str, JSON]], table: Table, conditions: Sequence[str]
) -> dict[str, dict[str, Estimate]]:
    """For every condition but the first, the mean of (log-odds under it - log-odds under the first), trial by trial.

    Above 0: the condition makes the decoy likelier beside the target. Pairs are trials that agree in all but the
    condition; the interval is clustered by item. 'log_odds' is by sums, 'log_odds_per_token' by means per token.
    Undefined where no trial has log-odds under both.
    """
    estimates: dict[str, dict[str, Estimate]] = {}
    for kind in ("log_odds", "log_odds_per_token"):
        values = np.full(len(table), np.nan)
        mask = np.zeros(len(table), dtype=np.bool_)
        for row in rows:
            trial, value = row["trial"], row[kind]
            if isinstance(trial, int):
                mask[trial - 1] = True
                values[trial - 1] = value if isinstance(value, float) else np.nan
        column = Column(kind, table, Packed.of(values)).at(mask)
        estimates[kind] = {name: _shift(column, conditions[0], name) for name in conditions[1:]}
    return estimates


def _shift(column: Column, control: str, pressure: str) -> Estimate:
    pair = column.pair(control, pressure)
    before, after, items = pair.values()
    if not len(items):
        also = {"incomplete": pair.incomplete}
        return Estimate(None, 0, note="no item has log-odds under both conditions", also=also)
    return mean(after - before, items)

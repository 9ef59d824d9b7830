"""Claims on the page: what is claimed, what was recomputed, and the trials under it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from perpend.canon import JSON
from perpend.measure.run import table_of
from perpend.proof.claims import Verdict, check
from perpend.proof.claims.check import estimated
from perpend.proof.claims.rows import rows_of
from perpend.view.data import ViewedRun

MOST = 5000
"""Trials that are listed under one claim."""


def claims_json(path: Path, runs: Sequence[ViewedRun]) -> list[list[JSON]]:
    """For each run the claims about it, recomputed from its answers; claims about all runs come with the first.

    Where a run brought scorers of its own, which a page never runs, stored scores are taken. `trials` are rows of the
    page: the first MOST of them; `n` counts them all.
    """
    own = any(name.startswith("scorer ") for run in runs for name in run.run.code.missing)
    verdicts = check(path, [run.run for run in runs], rescore=not own)
    claims: list[list[JSON]] = [[] for _ in runs]
    names = [run.run.name for run in runs]
    firsts = np.cumsum([0, *(len(run.trials) for run in runs)])
    pooled = None
    for verdict in verdicts:
        if verdict.claim.run is None and len(runs) > 1:
            pooled = table_of([run.run for run in runs]) if pooled is None else pooled
            at, table = 0, pooled
            rows = np.concatenate([run.trials.row_of + first for run, first in zip(runs, firsts, strict=False)])
        else:
            at = 0 if verdict.claim.run is None else names.index(verdict.claim.run)
            table, rows = runs[at].run.table, runs[at].trials.row_of + firsts[at]
        under = np.sort(rows[rows_of(verdict.claim, verdict.slice, table)])
        claims[at].append(_claim(verdict, under.tolist()))
    return claims


def _claim(verdict: Verdict, rows: Sequence[int]) -> JSON:
    claim = verdict.claim
    return {
        "name": verdict.name,
        "text": claim.says,
        "at": claim.where_from,
        "recomputes": claim.text,
        "verdict": verdict.status,
        "stated": verdict.expected,
        "recomputed": " ; ".join(map(estimated, verdict.estimates)),
        "why": verdict.why,
        "where": {key: _written(value) for key, value in claim.scope.where.items()},
        "n": len(rows),
        "trials": list(rows[:MOST]),
    }


def _written(value: object) -> str:
    values = value if isinstance(value, tuple) else (value,)
    return " or ".join(f"{one:g}" if isinstance(one, float) else str(one) for one in values)

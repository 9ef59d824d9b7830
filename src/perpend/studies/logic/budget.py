"""How many tokens a model would have needed to finish, when some of its replies were cut off."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from perpend.stats.gate import FloatArray
from perpend.studies.logic.replies import Prediction
from perpend.types import Estimate

WANTED = 0.95
"""The share of replies that should be whole: the acceptance table asks for a coverage of 0.95."""
_LEAST_FINISHED = 20


def token_budget(predictions: Sequence[Prediction], max_tokens: int | None) -> Estimate:
    """The tokens that 95% of the replies need; n counts replies, `also` has the limit and how many were cut off.

    Exact where at most 5% are cut off. Otherwise the quantile of a log-normal law fitted to the lengths of whole
    replies, with the others as 'longer than the limit'. Undefined where none is cut off, or too few were whole to fit.
    """
    replies = [p for p in predictions if p.outcome != "ERROR"]
    cut = sum(p.outcome == "UNFINISHED" for p in replies)
    whole = np.array([p.tokens for p in replies if p.outcome != "UNFINISHED" and p.tokens], dtype=np.float64)
    needed: float | None = None
    if not cut:
        note = "every reply was whole"
    elif len(whole) < _LEAST_FINISHED:
        note = f"not known: {len(whole)} whole replies have a token count, {_LEAST_FINISHED} are needed to estimate it"
    elif cut <= (1.0 - WANTED) * (cut + len(whole)):
        needed = float(np.sort(whole)[math.ceil(WANTED * (cut + len(whole))) - 1])
        note = f"at most so many tokens in {WANTED:.0%} of the replies"
    elif max_tokens is None:
        note = "not known: the limit is not recorded"
    else:
        needed = float(math.ceil(_quantile(whole, cut, float(max_tokens))))
        note = (
            f"extrapolated: {WANTED:.0%} quantile of a log-normal law fitted to {len(whole)} whole, {cut} cut replies"
        )
    return Estimate(needed, len(replies), note=note, also={"max_tokens": max_tokens, "unfinished": cut})


def _quantile(whole: FloatArray, cut: int, limit: float) -> float:
    """The quantile of the log-normal law whose likelihood is highest for these lengths and `cut` above the limit."""
    from scipy.optimize import minimize
    from scipy.stats import norm

    logs = np.log(whole)

    def loss(theta: FloatArray) -> float:
        centre, spread = float(theta[0]), math.exp(float(theta[1]))
        seen = norm.logpdf(logs, centre, spread).sum()
        return -float(seen + cut * norm.logsf(math.log(limit), centre, spread))

    start = np.array([float(logs.mean()), math.log(max(float(logs.std()), 0.1))])
    best = minimize(loss, start, method="Nelder-Mead").x
    return math.exp(float(best[0]) + float(norm.ppf(WANTED)) * math.exp(float(best[1])))

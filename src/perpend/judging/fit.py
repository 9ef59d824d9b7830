"""Fit the weights of a rule set to labelled answers: marginal likelihood under the signs of `rules.toml`, by L-BFGS.

`benchmarks/judging.py` is the command: it reads the labelled sets, cross-validates by item and writes the file.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from perpend.judging.cues import Rules
from perpend.judging.verdict import SIDES, Evidence

if TYPE_CHECKING:
    from scipy.sparse import csr_array

OUTCOMES: Final = (*SIDES, "none")
Array: TypeAlias = npt.NDArray[np.float64]
Numbers: TypeAlias = npt.NDArray[np.int64]


class CandidateTable(NamedTuple):
    """Answers as arrays. `features` of candidates in one matrix; `owner` and `side` of each; `allowed` outcomes and
    `weight` of each answer."""

    features: csr_array[np.float64]
    owner: Numbers
    side: Numbers
    allowed: npt.NDArray[np.bool_]
    weight: Array


def design(
    found: Sequence[Evidence], allowed: Sequence[frozenset[str]], weights: Sequence[float], width: int
) -> CandidateTable:
    """The matrix of all candidates: mentions, exceptions and silence."""
    from scipy import sparse

    columns: list[int] = []
    pointers, owner, side = [0], [], []
    for place, one in enumerate(found):
        listed = [(SIDES.index(mention.side), marks) for mention, marks in (*one.candidates, *one.exceptions)]
        listed.append((3, one.silence))
        for which, marks in listed:
            columns += sorted(marks)
            pointers.append(len(columns))
            owner.append(place)
            side.append(which)
    matrix = sparse.csr_array((np.ones(len(columns)), columns, pointers), shape=(len(owner), width))
    table = np.array([[name in names for name in OUTCOMES] for names in allowed])
    return CandidateTable(matrix, np.array(owner), np.array(side), table, np.array(weights))


def best_of(z: Array, data: CandidateTable) -> tuple[Array, Numbers]:
    """The strongest candidate of each answer and outcome: its z and its number; -inf and -1 where there is none."""
    n = len(data.weight)
    order = np.lexsort((z, data.side, data.owner))
    slots = data.owner[order] * 4 + data.side[order]
    top, which = np.full(n * 4, -np.inf), np.full(n * 4, -1)
    top[slots], which[slots] = z[order], order  # the last of a slot wins: the greatest
    return top.reshape(n, 4), which.reshape(n, 4)


def chances(weights: Array, data: CandidateTable) -> Array:
    """The probabilities of the four outcomes of every answer, exceptions included."""
    z, _ = best_of(np.asarray(data.features @ weights), data)
    raised = np.exp(z - z.max(axis=1, keepdims=True))
    return np.asarray(raised / raised.sum(axis=1, keepdims=True))


def fitted(data: CandidateTable, known: Rules, prior: Array, l2: float = 2e-4, rounds: int = 4) -> Array:
    """The weights with the greatest marginal likelihood of what readers allow, drawn towards a prior: what a reader
    expects (`known.priors`), or weights that were fitted before (`known.weights`).

    The strongest mention of a side is chosen anew in each round. No weight gets the sign that its list does not have.
    """
    from scipy.optimize import minimize

    bounds = [{"for": (0.0, None), "against": (None, 0.0)}.get(sign, (None, None)) for sign in known.signs]
    weights = np.array(prior)
    for _ in range(rounds):
        _, which = best_of(np.asarray(data.features @ weights), data)
        loss = _loss(data, which, np.array(prior), l2)
        found = minimize(
            loss, weights, jac=True, method="L-BFGS-B", bounds=bounds, options={"maxiter": 400, "gtol": 1e-7}
        )
        weights = found.x
    return np.asarray(weights)


def _loss(data: CandidateTable, which: Numbers, prior: Array, l2: float) -> Callable[[Array], tuple[float, Array]]:
    """The penalised mean of -log P(allowed) with its slope, for the candidates that stand for their sides."""
    there = which >= 0
    part, allowed = data.features[which[there]], data.allowed & there
    possible = np.asarray(allowed.any(axis=1), dtype=np.bool_)
    share = data.weight * possible / float((data.weight * possible).sum())

    def loss(weights: Array) -> tuple[float, Array]:
        z = np.full(which.shape, -np.inf)
        z[there] = part @ weights
        raised = np.exp(z - z.max(axis=1, keepdims=True))
        p = raised / raised.sum(axis=1, keepdims=True)
        good = np.where(possible, np.maximum((p * allowed).sum(axis=1), 1e-12), 1.0)
        slope = np.where(possible[:, None], p - p * allowed / good[:, None], 0.0) * share[:, None]
        away = weights - prior
        value = -(share * np.log(good)).sum() + l2 * away @ away
        return float(value), np.asarray(part.T @ slope[there]) + 2 * l2 * away

    return loss

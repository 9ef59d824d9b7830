"""Logistic regression on the words of a question: how far the wording alone gives the answer away."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np

from perpend.stats.gate import BoolArray, FloatArray, IntArray

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

LONGEST = 3
"""Words of the longest n-gram."""
_LEAST_TEXTS = 2
"""An n-gram in fewer questions than this tells nothing of other systems."""
_MOST = 50_000
"""The n-grams of most questions that are kept: beyond, each is in a handful, and fitting takes minutes."""
_PENALTY = 1.0
_STEPS, _TOLERANCE = 50, 1e-6


class NgramRegression:
    """Questions as n-grams, ready to be fitted on some of them and to answer others.

    Sentences that differ only in what was masked are one row with a count: a templated set has few of them.
    """

    def __init__(self, texts: Sequence[str]) -> None:
        distinct = dict.fromkeys(texts)
        place = {text: number for number, text in enumerate(distinct)}
        self.row: IntArray = np.array([place[text] for text in texts], dtype=np.int64)
        self.features = _matrix(list(distinct), np.bincount(self.row))

    def answers(self, truth: FloatArray, train: BoolArray, test: BoolArray) -> FloatArray:
        """1 or 0 for each test question, by a ridge-penalised logistic regression on the training questions.

        The penalty is half the squared norm of the weights, none on the intercept. Training questions of one class
        give that class, and none gives 0.
        """
        if len(np.unique(truth[train])) < 2:
            return np.full(int(test.sum()), truth[train][0] if train.any() else 0.0)
        rows = self.features.shape[0]
        positive = np.bincount(self.row[train], truth[train], rows).astype(np.float64)
        seen = np.bincount(self.row[train], minlength=rows)
        weights = _fit(self.features[seen > 0], positive[seen > 0], seen[seen > 0].astype(np.float64))
        margins: FloatArray = self.features @ weights[1:] + weights[0]
        return np.where(margins[self.row[test]] > 0.0, 1.0, 0.0)


def _fit(features: csr_matrix, positive: FloatArray, seen: FloatArray) -> FloatArray:
    """Intercept and weights that make the counts of positives among those seen in each row most likely."""
    from scipy.optimize import minimize
    from scipy.special import expit

    turned = features.T.tocsr()

    def loss(theta: FloatArray) -> tuple[float, FloatArray]:
        weights, margin = theta[1:], features @ theta[1:] + theta[0]
        residual = seen * expit(margin) - positive
        value = float(seen @ np.logaddexp(0.0, margin) - positive @ margin + _PENALTY / 2.0 * weights @ weights)
        return value, np.concatenate([[residual.sum()], turned @ residual + _PENALTY * weights])

    start = np.zeros(features.shape[1] + 1)
    fit = minimize(loss, start, jac=True, method="L-BFGS-B", options={"maxiter": _STEPS, "ftol": _TOLERANCE})
    weights: FloatArray = fit.x
    return weights


def _matrix(texts: Sequence[str], times: IntArray) -> csr_matrix:
    """One row a text, one column an n-gram that at least two questions have; 1 where the text has it."""
    from scipy.sparse import csr_matrix

    numbers: dict[str, int] = {}
    rows = [np.array(sorted({numbers.setdefault(g, len(numbers)) for g in _ngrams(text)})) for text in texts]
    columns = np.concatenate(rows).astype(np.int64)
    lengths = [len(row) for row in rows]
    starts = np.concatenate([[0], np.cumsum(lengths)])
    counts = np.bincount(columns, np.repeat(times, lengths), len(numbers))
    kept = np.argsort(-counts, kind="stable")[:_MOST]
    matrix = csr_matrix((np.ones(len(columns)), columns, starts), shape=(len(texts), len(numbers)))
    return matrix[:, np.sort(kept[counts[kept] >= _LEAST_TEXTS])]


def _ngrams(text: str) -> Iterator[str]:
    words = text.split()
    for n in range(1, LONGEST + 1):
        for at in range(len(words) - n + 1):
            yield " ".join(words[at : at + n])

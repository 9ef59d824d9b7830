"""Attacks that read words only: naive Bayes on n-grams, and the nearest question of those that were learned."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from perpend.stats.gate import BoolArray, FloatArray, IntArray

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

_TOKEN = re.compile(r"[-+−]?\d+(?:\.\d+)?|\w+|[□#?=<>]")
_COMMON = 0.3
"""Words of more than this share of the questions say nothing of which two are alike."""
_CHUNK = 1000


def ngram_matrix(texts: Sequence[str], longest: int) -> csr_matrix:
    """One row a text, one column an n-gram of up to `longest` words that two texts or more have; 1 where it has it."""
    from scipy.sparse import csr_matrix

    numbers: dict[str, int] = {}
    columns: list[int] = []
    starts = [0]
    for text in texts:
        words = _TOKEN.findall(text.lower())
        grams = {
            numbers.setdefault(" ".join(words[at : at + n]), len(numbers))
            for n in range(1, longest + 1)
            for at in range(len(words) - n + 1)
        }
        columns += sorted(grams)
        starts.append(len(columns))
    matrix = csr_matrix(
        (np.ones(len(columns), dtype=np.float32), np.array(columns, dtype=np.int32), starts),
        shape=(len(texts), len(numbers)),
    )
    counts = np.bincount(matrix.indices, minlength=len(numbers))
    return matrix[:, np.flatnonzero(counts >= 2)]


def bayes(features: csr_matrix, truth: FloatArray, train: BoolArray, test: BoolArray) -> FloatArray:
    """1 or 0 for each test row by naive Bayes on which n-grams a text has; 0 without training rows of both classes."""
    positive, negative = train & (truth == 1.0), train & (truth == 0.0)
    if not positive.any() or not negative.any():
        return np.zeros(int(test.sum()))
    one, other = (np.asarray(features[rows].sum(axis=0)).ravel() + 0.5 for rows in (positive, negative))
    n_one, n_other = positive.sum() + 1.0, negative.sum() + 1.0
    present = np.log(one / n_one) - np.log(other / n_other)
    absent = np.log1p(-one / n_one) - np.log1p(-other / n_other)
    scores = features[test] @ (present - absent) + absent.sum() + np.log(n_one / n_other)
    return np.where(scores > 0.0, 1.0, 0.0)


def nearest(features: csr_matrix, truth: FloatArray, train: IntArray, test: IntArray) -> FloatArray:
    """The label of the training row whose words are most alike, by the cosine of rare words; the first of several."""
    from scipy.sparse import diags

    counts = np.bincount(features.indices, minlength=features.shape[1])
    rare = np.flatnonzero((counts > 0) & (counts <= max(2.0, _COMMON * features.shape[0])))
    weighted = features[:, rare] @ diags(np.log(features.shape[0] / counts[rare]))
    norms = np.sqrt(np.asarray(weighted.multiply(weighted).sum(axis=1)).ravel())
    weighted = (diags(1.0 / np.where(norms > 0.0, norms, 1.0)) @ weighted).tocsr()
    known = weighted[train].T.tocsr()
    answers = []
    for start in range(0, len(test), _CHUNK):
        alike = (weighted[test[start : start + _CHUNK]] @ known).toarray()
        answers.append(truth[train[alike.argmax(axis=1)]])
    return np.concatenate(answers) if answers else np.zeros(0)

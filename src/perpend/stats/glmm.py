"""Item effects in a binomial logit: a random intercept by quadrature, and generalised estimating equations.

The two answer different questions. A random intercept gives the odds ratio within an item (conditional); estimating
equations give it across items (marginal), which is nearer to 1. A report must name which one it quotes.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.special import expit, stdtr

from perpend.errors import DataError, SpecError
from perpend.stats import gate, proportions
from perpend.stats.cells import Cells, ItemCells
from perpend.stats.gate import FloatArray
from perpend.stats.regression import LogitFit, fit_logit
from perpend.types import Estimate, Number

_NODES = 25
_SCORE_LIMIT = 1e-6


@dataclass(frozen=True, slots=True)
class RandomIntercept:
    """A fitted binomial logit with a normal intercept per item; `sigma` is its standard deviation on the logit scale.

    `icc` is sigma² / (sigma² + π²/3), the correlation of two answers to one item on that scale.
    """

    names: tuple[str, ...]
    coef: FloatArray
    covariance: FloatArray
    sigma: float
    loglik: float
    rows: int
    n_items: int

    @property
    def icc(self) -> float:
        """Correlation of two answers to one item, on the logit scale."""
        return self.sigma**2 / (self.sigma**2 + math.pi**2 / 3.0)


@dataclass(frozen=True, slots=True)
class _Marginal:
    """The likelihood with the item effect integrated out by adaptive Gauss-Hermite quadrature."""

    x: FloatArray
    items: ItemCells
    nodes: FloatArray
    weights: FloatArray

    def _per_item(self, column: FloatArray) -> FloatArray:
        return np.bincount(self.items.item, weights=column, minlength=self.items.n_items).astype(np.float64)

    def _modes(self, eta: FloatArray, sigma: float) -> tuple[FloatArray, FloatArray]:
        """Where each item's integrand peaks, and its curvature there, by Newton's steps on all items at once."""
        items = self.items
        at, curvature = np.zeros(items.n_items), np.ones(items.n_items)
        for _ in range(100):
            p = expit(eta + sigma * at[items.item])
            slope = sigma * self._per_item(items.k - items.n * p) - at
            curvature = sigma**2 * self._per_item(items.n * p * (1.0 - p)) + 1.0
            if float(np.abs(slope).max()) < 1e-10:
                break
            at = at + np.clip(slope / curvature, -2.0, 2.0)
        return at, curvature

    def __call__(self, point: FloatArray) -> tuple[float, FloatArray]:
        """Log-likelihood and score at (coefficients, sigma)."""
        items, sigma = self.items, float(point[-1])
        eta = (self.x @ point[:-1])[items.cell]
        modes, curvature = self._modes(eta, sigma)
        scale = math.sqrt(2.0) / np.sqrt(curvature)
        effect = modes[:, None] + scale[:, None] * self.nodes
        linear = eta[:, None] + sigma * effect[items.item]
        joint = _by_item(items.k[:, None] * linear - items.n[:, None] * np.logaddexp(0.0, linear), items)
        height = joint - effect**2 / 2.0 + self.nodes**2 + np.log(self.weights)
        top = height.max(axis=1)
        mass = np.exp(height - top[:, None])
        total = mass.sum(axis=1)
        loglik = float((top + np.log(total) + np.log(scale)).sum()) - items.n_items * 0.5 * math.log(2.0 * math.pi)
        posterior = (mass / total[:, None])[items.item]
        residual = posterior * (items.k[:, None] - items.n[:, None] * expit(linear))
        score = self.x[items.cell].T @ residual.sum(axis=1)
        return loglik, np.append(score, float((residual * effect[items.item]).sum()))


def _by_item(table: FloatArray, items: ItemCells) -> FloatArray:
    """Sums over each item's lines; `ItemCells` come sorted by item."""
    return np.add.reduceat(table, items.starts[:-1], axis=0)


def _needed(cells: Cells, terms: Sequence[str]) -> tuple[LogitFit, FloatArray, ItemCells]:
    """The plain fit, its coefficients and the items; errors where an item effect cannot be fitted."""
    if cells.items is None or cells.items.n_items < 2:
        raise DataError("items: an item effect needs at least two items; collapse the rows with items=")
    plain = fit_logit(cells, terms)
    if plain.coef is None:
        caution = plain.cautions[0]
        raise DataError(f"{caution.id}: {caution.text}; an item effect does not help")
    return plain, plain.coef, cells.items


def random_intercept(cells: Cells, terms: Sequence[str]) -> RandomIntercept:
    """Maximum likelihood of a logit with a normal intercept per item, 25-point adaptive quadrature.

    Needs `collapse(..., items=)`. Separation (STAT010) and a fit that is not stationary (STAT011) are errors.
    """
    from scipy.optimize import minimize

    plain, coef, items = _needed(cells, terms)
    nodes, weights = np.polynomial.hermite.hermgauss(_NODES)
    marginal = _Marginal(plain.design.x, items, nodes, weights)

    def loss(point: FloatArray) -> tuple[float, FloatArray]:
        value, score = marginal(point)
        return -value, -score

    search = minimize(loss, np.append(coef, 1.0), jac=True, method="BFGS", options={"gtol": 1e-4})
    point = np.asarray(search.x, dtype=np.float64)
    # A quasi-Newton search stops short of a stationary point; a few Newton steps on the score end there.
    for _ in range(20):
        _, score = marginal(point)
        hessian = _hessian(marginal, point)
        if float(np.abs(score).max()) < 1e-8:
            break
        point = point - np.linalg.solve(hessian, score)
    value, score = marginal(point)
    norm = float(np.abs(score).max())
    if not norm < _SCORE_LIMIT:
        caution = gate.not_stationary(norm)
        raise DataError(f"{caution.id}: {caution.text}; drop a term or add items")
    covariance = np.asarray(np.linalg.pinv(-hessian), dtype=np.float64)[:-1, :-1]
    return RandomIntercept(plain.names, point[:-1], covariance, abs(float(point[-1])), value, cells.rows, items.n_items)


def _hessian(marginal: _Marginal, point: FloatArray) -> FloatArray:
    """Central differences of the score, made symmetric."""
    lines = []
    for j in range(len(point)):
        step = np.zeros_like(point)
        step[j] = 1e-5 * max(1.0, abs(float(point[j])))
        lines.append((marginal(point + step)[1] - marginal(point - step)[1]) / (2.0 * step[j]))
    table = np.stack(lines)
    return np.asarray((table + table.T) / 2.0, dtype=np.float64)


def conditional_odds_ratio(fit: RandomIntercept, name: str, *, level: float = 0.95) -> Estimate:
    """exp(coefficient) within an item, with its Wald interval, and STAT026 where items may differ in the effect."""
    if name not in fit.names:
        raise DataError(f"coefficient {name!r} is not in the model; it has {', '.join(fit.names)}")
    j = fit.names.index(name)
    also: dict[str, Number] = {"sigma": fit.sigma, "icc": fit.icc, "n_clusters": fit.n_items}
    se = math.sqrt(float(fit.covariance[j, j]))
    ratio = _ratio(float(fit.coef[j]), se, fit.rows, level, "random intercept, conditional on the item", also)
    return replace(ratio, cautions=(gate.no_random_slope(name),)) if fit.rows > fit.n_items else ratio


def _ratio(  # noqa: PLR0913, PLR0917  what a row of a table of coefficients has
    beta: float, se: float, rows: int, level: float, method: str, also: dict[str, Number], df: int | None = None
) -> Estimate:
    """exp(beta) with its interval: Student's with `df`, else the normal one."""
    if df is None:
        z, p = proportions.normal_quantile(level), math.erfc(abs(beta / se) / math.sqrt(2.0))
    else:
        z, p = proportions.student_quantile(level, df), 2.0 * float(stdtr(df, -abs(beta / se)))
    also = {"beta": beta, "se": se, "p": p, **also}
    lo, hi = math.exp(beta - z * se), math.exp(beta + z * se)
    return Estimate(math.exp(beta), rows, lo, hi, method, level=level, also=also)


def gee_odds_ratio(cells: Cells, terms: Sequence[str], name: str, *, level: float = 0.95) -> Estimate:
    """exp(coefficient) across items by statsmodels' estimating equations, exchangeable.

    The interval and p have the bias-reduced covariance (Mancl and DeRouen 2001) and Student's t with items -
    coefficients degrees of freedom.

    Needs the extra `gee`. Fewer than two items, separation and no convergence are errors.
    """
    try:
        from statsmodels.genmod.cov_struct import Exchangeable
        from statsmodels.genmod.families import Binomial
        from statsmodels.genmod.generalized_estimating_equations import GEE
    except ImportError:
        raise SpecError("gee_odds_ratio needs one more package: pip install 'perpend[gee]'") from None
    plain, _, items = _needed(cells, terms)
    if name not in plain.names:
        raise DataError(f"coefficient {name!r} is not in the model; it has {', '.join(plain.names)}")
    # statsmodels wants rows: each (item, cell) becomes its successes, then its failures.
    line = np.repeat(np.arange(len(items.n)), items.n.astype(np.int64))
    first = np.cumsum(items.n) - items.n
    success = (np.arange(len(line)) - first[line] < items.k[line]).astype(np.float64)
    x = plain.design.x[items.cell[line]]
    fit = GEE(success, x, groups=items.item[line], cov_struct=Exchangeable(), family=Binomial()).fit(
        cov_type="bias_reduced"
    )
    if not fit.converged:
        raise DataError("STAT011: the estimating equations did not converge; drop a term or add items")
    j = plain.names.index(name)
    also: dict[str, Number] = {"n_clusters": items.n_items, "correlation": float(fit.cov_struct.dep_params)}
    df = items.n_items - len(plain.names)
    if df < 1:
        raise DataError(f"items: {items.n_items} items cannot carry {len(plain.names)} coefficients; add items")
    method = f"GEE, exchangeable, marginal over items, bias-reduced t({df})"
    ratio = _ratio(float(fit.params[j]), float(fit.bse[j]), cells.rows, level, method, also, df)
    return replace(ratio, cautions=items.cautions())

"""Binomial logits on collapsed cells: nested likelihood-ratio tests, item-clustered tests, odds ratios.

A likelihood-ratio test takes rows for independent. Items that are asked under every condition are not: the clustered
tests are the headline, the likelihood ratios stand beside them and say what they assume.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from scipy.special import expit

from perpend.errors import DataError
from perpend.stats import intraclass, proportions
from perpend.stats.cautions import caution
from perpend.stats.cells import Cells, Column, Design, ItemCells, collapse, design, factor, number
from perpend.stats.firth import firth_profile, separated_cells
from perpend.stats.gate import FloatArray
from perpend.stats.sums import long_sum
from perpend.types import Caution, Estimate, Number

__all__ = [
    "Cells", "Column", "LogitFit", "NestedTests", "clustered_test", "collapse", "factor", "fit_logit",
    "intraclass_correlation", "likelihood_ratio", "nested_tests", "number", "odds_ratio", "overdispersion",
]  # fmt: skip

_SCORE_LIMIT = 1e-6
# A stationary point with every |logit| below this is the maximum: a separated cell would still leave a score of 6e-6.
_SETTLED = 12.0


@dataclass(frozen=True, slots=True)
class LogitFit:
    """A fitted binomial logit. `coef` and `covariance` are None under separation; `loglik` is then its supremum.

    `covariance` assumes independent rows; `clustered` is the item sandwich with the factor G / (G - 1), None without
    items. `aliased` names columns that the others already determine: they are left out, and do not count in `rank`.
    """

    design: Design
    coef: FloatArray | None
    covariance: FloatArray | None
    clustered: FloatArray | None
    loglik: float
    rank: int
    rows: int
    n_items: int | None
    aliased: tuple[str, ...]
    cautions: tuple[Caution, ...]
    few: tuple[Caution, ...] = ()
    """What clustered estimates of this fit carry where items, or those with the rarer answer, are few."""

    @property
    def names(self) -> tuple[str, ...]:
        """The columns that were fitted."""
        return self.design.names


def _newton(x: FloatArray, k: FloatArray, n: FloatArray) -> tuple[FloatArray, FloatArray, float, float]:
    """Coefficients, information, log-likelihood and largest score at the end of Newton's steps, converged or not."""
    start = (k + 0.5) / (n + 1.0)
    weighted = x.T * (n * start * (1.0 - start))
    coef = np.asarray(np.linalg.solve(weighted @ x, weighted @ np.log(start / (1.0 - start))), dtype=np.float64)
    eta = x @ coef
    loglik = float(k @ eta - n @ np.logaddexp(0.0, eta))
    tolerance = min(1e-10 * max(1.0, float(n.max())), 0.1 * _SCORE_LIMIT)
    for taken in range(60):
        p = expit(eta)
        score = x.T @ (k - n * p)
        information: FloatArray = (x.T * (n * p * (1.0 - p))) @ x
        norm = float(np.abs(score).max())
        if norm < tolerance or (taken > 8 and np.abs(eta).max() > 30.0):
            break
        step = np.linalg.solve(information, score)
        for _ in range(30):
            eta = x @ (coef + step)
            value = float(k @ eta - n @ np.logaddexp(0.0, eta))
            if value >= loglik - 1e-10 * abs(loglik):
                break
            step = step / 2.0
        coef, loglik = coef + step, value
    return coef, information, loglik, norm


def _independent(x: FloatArray) -> list[int]:
    """The columns that are no combination of those before them."""
    try:  # nearly always the answer, at a tenth of the time
        pivots = np.diag(np.linalg.cholesky(x.T @ x))
        if float(pivots.min()) > 1e-5 * float(pivots.max()):
            return list(range(x.shape[1]))
    except np.linalg.LinAlgError:
        pass  # singular, or nearly: the steps below tell which columns
    basis = np.zeros((len(x), 0))
    kept: list[int] = []
    for j, column in enumerate(x.T):
        rest = column - basis @ (basis.T @ column)
        rest = rest - basis @ (basis.T @ rest)  # once more: the first pass leaves rounding along the basis
        norm = float(np.linalg.norm(rest))
        if norm > 1e-9 * max(float(np.linalg.norm(column)), 1e-300):
            basis = np.column_stack((basis, rest / norm))
            kept.append(j)
    return kept


def fit_logit(cells: Cells, terms: Sequence[str]) -> LogitFit:
    """The maximum-likelihood binomial logit of an intercept and the terms. Not stationary is an error (STAT011)."""
    return _fit(cells, design(cells, terms), checked=False)


def _fit(cells: Cells, model: Design, *, checked: bool) -> LogitFit:
    """Fit a design; `checked` says that its columns are known to be independent."""
    aliased: tuple[str, ...] = ()
    if not checked:
        keep = _independent(model.x)
        aliased = tuple(name for j, name in enumerate(model.names) if j not in keep)
        model = model.at(keep) if aliased else model
    rank, items = len(model.names), cells.items
    n_items = None if items is None else items.n_items
    few = () if items is None or items.n_items == cells.rows else items.cautions()
    norm, settled = math.inf, False
    try:
        coef, information, loglik, norm = _newton(model.x, cells.k, cells.n)
        settled = norm < _SCORE_LIMIT and float(np.abs(model.x @ coef).max()) < _SETTLED
    except np.linalg.LinAlgError:
        pass  # a singular information is what separation looks like from inside
    if not settled:
        moved = separated_cells(model.x, cells.k, cells.n)
        if moved.any():
            loglik = _supremum(model, cells, ~moved)
            shown = "; ".join(cells.label(cell) for cell in np.flatnonzero(moved)[:3])
            warned = (caution("STAT010", int(moved.sum()), cells=shown),)
            return LogitFit(model, None, None, None, loglik, rank, cells.rows, n_items, aliased, warned, few)
        if not norm < _SCORE_LIMIT:
            lost = caution("STAT011", norm)
            raise DataError(f"{lost.id}: {lost.text}; collapse sparse levels or drop a term")
    bread = np.asarray(np.linalg.inv(information), dtype=np.float64)
    clustered = None if items is None else item_covariance(model.x, coef, bread, items)
    return LogitFit(model, coef, bread, clustered, loglik, rank, cells.rows, n_items, aliased, (), few)


def _supremum(model: Design, cells: Cells, rest: np.typing.NDArray[np.bool_]) -> float:
    """The log-likelihood in the limit: separated cells are predicted surely and add nothing, the others are fitted."""
    if not rest.any():
        return 0.0
    x = model.x[rest]
    return _newton(x[:, _independent(x)], cells.k[rest], cells.n[rest])[2]


def likelihood_ratio(large: LogitFit, small: LogitFit) -> Estimate:
    """Twice the gain in log-likelihood, chi-square with the gain in rank; `also` has df and p. Rows independent."""
    from scipy.special import chdtrc

    chi2, df = max(2.0 * (large.loglik - small.loglik), 0.0), large.rank - small.rank
    also: dict[str, Number] = {"df": df, "p": float(chdtrc(df, chi2)) if df > 0 else None}
    warned = large.cautions or small.cautions
    if df <= 0:
        note = "the larger model adds no free coefficient"
        return Estimate(None, large.rows, note=note, also=also, cautions=warned)
    return Estimate(chi2, large.rows, method="likelihood ratio, assumes independent rows", also=also, cautions=warned)


def clustered_test(fit: LogitFit, term: str) -> Estimate:
    """Wald test that all coefficients of a term are 0, with the item sandwich and Hotelling's F for few items.

    Undefined without items, under separation, with no more items than coefficients, and where the items answer two
    levels alike.
    """
    from scipy.special import fdtrc

    columns = [j for j, own in enumerate(fit.design.terms) if own == term]
    df, items = len(columns), fit.n_items
    also: dict[str, Number] = {"df": df, "p": None, "n_clusters": items}
    note = ""
    if items is None:
        note = "no items given, so rows cannot be grouped"
    elif not columns:
        note = f"the model has no free coefficient of {term!r}"
    elif fit.coef is None or fit.clustered is None:
        note = "separation: the coefficients are infinite" if fit.coef is None else "one item"
    elif items <= df:
        note = f"{items} items cannot test {df} coefficients"
    if note or fit.coef is None or fit.clustered is None or items is None:
        return Estimate(None, fit.rows, note=note, also=also, cautions=fit.cautions)
    few = fit.few
    block, b = fit.clustered[np.ix_(columns, columns)], fit.coef[columns]
    plain = fit.covariance[np.ix_(columns, columns)] if fit.covariance is not None else block
    # Levels that every item answers alike have no variance between items; rounding leaves it just above or below 0.
    if float(np.linalg.eigvalsh(block).min()) <= 1e-14 * float(np.diag(plain).max()):
        note = f"items do not vary in {term!r} between some of its levels, so the clustered covariance is singular"
        return Estimate(None, fit.rows, note=note, also=also, cautions=few)
    wald = float(b @ np.linalg.solve(block, b))
    also["df2"] = items - df
    also["p"] = float(fdtrc(df, items - df, wald * (items - df) / (df * (items - 1.0))))
    return Estimate(wald, fit.rows, method="item-clustered Wald, Hotelling F", also=also, cautions=few)


def odds_ratio(cells: Cells, fit: LogitFit, name: str, *, level: float = 0.95) -> Estimate:
    """exp(coefficient), marginal over items: t interval from the item sandwich, else Wald from all columns.

    Under separation the estimate is Firth's with its profile interval (STAT010). `also` has beta, se and p.
    """
    from scipy.special import chdtri, stdtr

    if name in fit.aliased:
        return Estimate(None, fit.rows, note=f"{name} is determined by the other columns", level=level)
    if name not in fit.names:
        raise DataError(f"coefficient {name!r} is not in the model; it has {', '.join(fit.names)}")
    j = fit.names.index(name)
    if fit.coef is None or fit.covariance is None:
        critical, effect = float(chdtri(1.0, 1.0 - level)), _design_effect(cells)
        k, n = cells.k / effect, cells.n / effect
        beta, low, high, p = firth_profile(fit.design.x, k, n, j, critical=critical)
        lo, hi = (None if end is None else math.exp(end) for end in (low, high))
        also: dict[str, Number] = {"beta": beta, "se": None, "p": p, "design_effect": effect}
        method = "Firth, profile penalised likelihood"
        if effect > 1.0:
            method += ", rows divided by the design effect"
        elif cells.items is None:
            method += ", assumes independent rows"
        warned = (*fit.cautions, *fit.few)
        return Estimate(math.exp(beta), fit.rows, lo, hi, method, level=level, also=also, cautions=warned)
    beta, plain = float(fit.coef[j]), math.sqrt(float(fit.covariance[j, j]))
    z = proportions.normal_quantile(level)
    se, quantile, method = plain, z, "Wald, assumes independent rows"
    p = math.erfc(abs(beta / plain) / math.sqrt(2.0))
    warned = ()
    if fit.clustered is not None and fit.n_items is not None:
        df, variance = fit.n_items - 1, float(fit.clustered[j, j])
        if variance <= 1e-20 * plain * plain:  # rounding can leave it just below 0
            note = f"no interval: no item changes with {name}, so the clustered variance is 0"
            none: dict[str, Number] = {"beta": beta, "se": None, "p": None, "se_independent": plain}
            return Estimate(math.exp(beta), fit.rows, note=note, level=level, also={**none, "n_clusters": fit.n_items})
        se, quantile = math.sqrt(variance), proportions.student_quantile(level, df)
        method = f"item-clustered t({df})"
        p = 2.0 * float(stdtr(df, -abs(beta / se)))
        warned = fit.few
    also = {
        "beta": beta,
        "se": se,
        "p": p,
        "se_independent": plain,
        "n_clusters": fit.n_items,
        "lo_independent": math.exp(beta - z * plain),
        "hi_independent": math.exp(beta + z * plain),
    }
    lo, hi = math.exp(beta - quantile * se), math.exp(beta + quantile * se)
    return Estimate(math.exp(beta), fit.rows, lo, hi, method, level=level, also=also, cautions=warned)


def _design_effect(cells: Cells) -> float:
    """What repeated items do to counts: 1 + (Σ size² / rows - 1) · the likely ICC; 1 without items."""
    if cells.items is None:
        return 1.0
    ones, sizes = (cells.items.per_item(part) for part in (cells.items.k, cells.items.n))
    icc = intraclass.likely_of_shares(sizes.astype(np.int64), ones)
    return 1.0 + (float(sizes @ sizes) / float(sizes.sum()) - 1.0) * icc


def overdispersion(cells: Cells, fit: LogitFit) -> Estimate:
    """Pearson's chi-square over its degrees of freedom: 1 where the cells scatter as binomials do.

    By item and cell where items are given. Undefined without spare degrees of freedom and under separation.
    """
    if fit.coef is None:
        return Estimate(None, fit.rows, note="separation: the fitted shares are 0 or 1", cautions=fit.cautions)
    p = expit(fit.design.x @ fit.coef)
    own = cells.items
    k, n, cell = (cells.k, cells.n, np.arange(len(p))) if own is None else (own.k, own.n, own.cell)
    df = len(n) - fit.rank
    if df <= 0:
        return Estimate(None, fit.rows, note="the model has a coefficient for every cell")

    def squares(here: slice) -> FloatArray:
        share = p[cell[here]]
        return np.asarray((k[here] - n[here] * share) ** 2 / (n[here] * share * (1.0 - share)), dtype=np.float64)

    chi2 = long_sum(len(n), squares)
    return Estimate(chi2 / df, fit.rows, method="Pearson chi-square / df", also={"chi2": chi2, "df": df})


def intraclass_correlation(cells: Cells) -> Estimate:
    """Share of the outcome's variance that lies between items (one-way analysis of variance)."""
    items = cells.items
    if items is None:
        return Estimate(None, cells.rows, note="no items given, so rows cannot be grouped")
    k, n = (items.per_item(counts) for counts in (items.k, items.n))
    groups, rows = items.n_items, float(n.sum())
    if groups in (1, int(rows)) or not 0.0 < k.sum() < rows:
        return Estimate(None, int(rows), note="no item repeats, or nothing varies", also={"n_clusters": groups})
    mean = float(k.sum()) / rows
    value = intraclass.anova(n.astype(np.int64), k - n * mean, rows * mean * (1.0 - mean))
    return Estimate(value, int(rows), method="one-way ANOVA", also={"n_clusters": groups})


@dataclass(frozen=True, slots=True)
class NestedTests:
    """The tests of a two-factor experiment with a slope: each by likelihood ratio and, the headline, by items.

    `linearity` is the likelihood ratio of the slope's column as a factor against the slope, None levels permitting.
    """

    rows: int
    likelihood_ratio: Mapping[str, Estimate]
    clustered: Mapping[str, Estimate]
    slope: Estimate
    linearity: Estimate
    overdispersion: Estimate
    icc: Estimate


def nested_tests(cells: Cells, first: str, second: str, slope: str) -> NestedTests:
    """Test first | second + slope, second | first + slope, their interaction, and the slope beside the interaction.

    With first = variant V, second = condition C, slope = temperature T, the models are V+C+T, C+T, V+T, V*C+T, V*C.
    The odds ratio of the slope, per +1.0, is that of V*C+T with every column of the model in its covariance.
    """
    both = f"{first}:{second}"
    fits = _nested_fits(cells, first, second, slope)
    full, main = fits["full"], fits["main"]
    clustered = {
        first: clustered_test(main, first),
        second: clustered_test(main, second),
        "interaction": clustered_test(full, both),
        slope: clustered_test(full, slope),
    }
    return NestedTests(
        rows=cells.rows,
        likelihood_ratio=_ratios(fits, first, second, slope),
        clustered=clustered,
        slope=odds_ratio(cells, full, slope),
        linearity=_linearity(cells, full, slope),
        overdispersion=overdispersion(cells, full),
        icc=intraclass_correlation(cells),
    )


def _ratios(fits: Mapping[str, LogitFit], first: str, second: str, slope: str) -> Mapping[str, Estimate]:
    return {
        first: likelihood_ratio(fits["main"], fits["no first"]),
        second: likelihood_ratio(fits["main"], fits["no second"]),
        "interaction": likelihood_ratio(fits["full"], fits["main"]),
        slope: likelihood_ratio(fits["full"], fits["no slope"]),
    }


def _nested_fits(cells: Cells, first: str, second: str, slope: str) -> dict[str, LogitFit]:
    both = f"{first}:{second}"
    whole = design(cells, [first, second, both, slope])
    # Every model's columns are among these: independent here, they are independent there.
    checked = len(_independent(whole.x)) == len(whole.names)
    models = {
        "main": [first, second, slope],
        "no first": [second, slope],
        "no second": [first, slope],
        "full": [first, second, both, slope],
        "no slope": [first, second, both],
    }
    return {name: _fit(cells, whole.only(terms), checked=checked) for name, terms in models.items()}


def _linearity(cells: Cells, full: LogitFit, slope: str) -> Estimate:
    """The slope's column as a factor against the slope."""
    j = cells.names.index(slope)
    levels = cells.levels[j]
    if isinstance(levels[0], str) or len(levels) < 3:
        return Estimate(None, cells.rows, note=f"{slope} has fewer than three values, or is no number")
    step = (cells.codes[:, j][:, None] == np.arange(2, len(levels))).astype(np.float64)
    names = tuple(f"{slope}[{level}]" for level in levels[2:])
    terms = full.design.terms + (f"{slope} as a factor",) * len(names)
    curved = Design(full.design.names + names, np.hstack((full.design.x, step)), terms)
    return likelihood_ratio(_fit(cells, curved, checked=False), full)


# Above so many items the leverage of one is nothing.
_LEVERAGED = 500
_LINES = 1 << 18


def item_covariance(x: FloatArray, coef: FloatArray, bread: FloatArray, items: ItemCells) -> FloatArray | None:
    """Item-clustered covariance from the scores per item; None for one item.

    With few items residuals are too small, as the fit follows them: up to 500 items they are scaled up by the item's
    leverage (Mancl and DeRouen 2001), above by G / (G - 1).
    """
    if items.n_items < 2:
        return None
    p = expit(x @ coef)
    factor, scaled = items.n_items / (items.n_items - 1.0), None
    if items.n_items <= _LEVERAGED:
        scaled, factor = _leveraged(x, p, bread, items), 1.0
    scores = np.zeros((items.n_items, x.shape[1]))
    for here in _whole_items(items):
        starts = items.starts[here.start : here.stop + 1]
        lines, item = slice(starts[0], starts[-1]), np.repeat(np.arange(len(starts) - 1), np.diff(starts))
        cell = items.cell[lines]
        residual = items.k[lines] - items.n[lines] * p[cell] if scaled is None else scaled[lines]
        for place, column in enumerate(x.T):
            scores[here, place] = np.bincount(item, residual * column[cell], len(starts) - 1)
    return np.asarray(bread @ (scores.T @ scores) @ bread * factor, dtype=np.float64)


def _whole_items(items: ItemCells) -> Iterator[slice]:
    """All items, some at a time: so many as fill a part of the lines, memory."""
    edges = np.searchsorted(items.starts, range(0, int(items.starts[-1]), _LINES)).tolist()
    for first, last in pairwise([*dict.fromkeys(edges), items.n_items]):
        yield slice(first, last)


def _leveraged(x: FloatArray, p: FloatArray, bread: FloatArray, items: ItemCells) -> FloatArray:
    """Residuals without the part of the fit that the item itself is the cause of.

    They solve (I - W X B X') s = r over an item's rows: s = r + W X (I - B X' W X)⁻¹ B X' r has a system as large as
    the number of coefficients, however many rows an item has. Both have the same determinant.
    """
    residual = items.k - items.n * p[items.cell]
    scaled = residual.copy()
    for first, last in pairwise(items.starts.tolist()):
        own = slice(first, last)
        rows, chance = x[items.cell[own]], p[items.cell[own]]
        weighted = (items.n[own] * chance * (1.0 - chance))[:, None] * rows
        kept = np.eye(x.shape[1]) - bread @ (rows.T @ weighted)
        # An item that alone decides a coefficient leaves nothing to scale by.
        if abs(float(np.linalg.det(kept))) > 1e-9:
            scaled[own] += weighted @ np.linalg.solve(kept, bread @ (rows.T @ residual[own]))
    return scaled

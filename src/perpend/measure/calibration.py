"""pp.ece: how far confidence and correctness are apart, of arrays or of two columns of a run."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from perpend.errors import SpecError
from perpend.measure.column import Column
from perpend.stats.calibration import ece_estimate
from perpend.stats.gate import Ids
from perpend.types import Estimate


def ece(
    confidences: npt.ArrayLike | Column,
    correct: npt.ArrayLike | Column,
    bins: int = 10,
    *,
    n_bins: int | None = None,
    clusters: Ids | None = None,
    seed: int = 0,
) -> Estimate:
    """Expected calibration error: Σ over equal-width bins of (rows in bin / rows) · |accuracy - mean confidence|.

    The denominator is the rows where both have a value. The interval is empirical and comes with `also`: what a
    perfect model shows at this n (`expected_if_calibrated`) and a test of calibration (`p_calibrated`). Rows of one of
    `clusters`, of columns the item, are resampled together. `float(pp.ece(…))` is the number alone. Undefined where no
    trial of two columns has both values; arrays without rows are an error. `n_bins` is another name of `bins`.
    """
    size, rng = bins if n_bins is None else n_bins, np.random.default_rng(seed)
    if not isinstance(confidences, Column) and not isinstance(correct, Column):
        return ece_estimate(confidences, correct, size, clusters=clusters, rng=rng)
    if not isinstance(confidences, Column) or not isinstance(correct, Column):
        raise SpecError("give two columns of one run, or two arrays")
    if confidences.table is not correct.table:
        raise SpecError("the two columns are of different runs; take both from one Run or Table")
    rows = confidences.defined & correct.defined
    if not rows.any():
        return Estimate(None, 0, note="no trial has both a confidence and a verdict")
    items = confidences.table.codes["item"][rows]
    return ece_estimate(confidences.all_values[rows], correct.all_values[rows], size, clusters=items, rng=rng)

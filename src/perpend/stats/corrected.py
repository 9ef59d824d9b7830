"""Rates and paired differences by a judge, corrected for its errors, with the uncertainty of the labels included.

'ppi' is PPI++ (Angelopoulos, Duchi and Zrnic 2023) with its best power. For verdicts of 0 and 1 that is
q · P(label 1 | said 1) + (1 - q) · P(label 1 | said 0), with q the share of all trials where the judge says 1. It
assumes nothing about the judge. 'rogan-gladen' is (q - a) / (s - a), with s the sensitivity and a = 1 - specificity
(Rogan and Gladen 1978). It allows labels of other trials, whose rate of 1 differs, if the judge errs there as it does
here.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Literal, TypeAlias

import numpy as np

from perpend.errors import DataError
from perpend.stats import cautions
from perpend.stats.cautions import caution
from perpend.stats.gate import FloatArray
from perpend.stats.judged import (
    FEW_LABELS,
    JudgedColumns,
    JudgedTrials,
    Verdicts,
    columns,
    labels_share,
    said_if_label,
    verdicts_of,
)
from perpend.stats.proportions import normal_quantile
from perpend.stats.shares import Share, accepted, difference, weighted_sum
from perpend.stats.unequal_errors import differing, errors_of
from perpend.types import Caution, Estimate, Number

Correction: TypeAlias = Literal["ppi", "rogan-gladen"]
_Corrected: TypeAlias = tuple[Share | None, str]
"""A corrected number, and a note: where it is None, why."""


def corrected_rate(
    judged: JudgedTrials, calibration: JudgedTrials | None = None, *, method: Correction = "ppi", level: float = 0.95
) -> Estimate:
    """The rate of label 1 over all trials with a verdict, from the judge's verdicts and the labels of some.

    Labels are those of `judged`, or of `calibration`, a separate sample: for 'ppi' it must come from trials of the same
    kind, for 'rogan-gladen' the judge must err as often in it. The interval includes the uncertainty of the labels, and
    is clustered by item. `also["raw"]` is the uncorrected rate.

    Undefined: 'ppi' when no label has a verdict that trials have; 'rogan-gladen' when there is no label of a class, or
    sensitivity + specificity is not above 1. STAT025 when it may be no more than 1; the interval is then wide, up to
    all of 0 to 1. STAT014 when fewer than 30 labels stand for a verdict.
    """
    normal_quantile(level)
    _known(method)
    given = columns(judged) if calibration is None else columns(judged, calibration)
    trials, labels = given[0], given[-1]
    three = _crossed(trials, labels, level)
    corrected = _rate(trials, labels, three, method, level)
    also = _companions(trials, labels, three)
    warned = (*trials.cautions(), *_label_cautions(labels, ""))
    if method == "rogan-gladen":
        warned = (*warned, *_uninformative(labels, level))
    estimate = _estimate(corrected, len(trials.said), f"{_named(method)}, MOVER-beta", level, also)
    return replace(estimate, cautions=warned)


def corrected_difference(
    control: JudgedTrials,
    pressure: JudgedTrials,
    *,
    method: Correction = "ppi",
    pooled: bool = False,
    calibration: JudgedTrials | None = None,
    level: float = 0.95,
) -> Estimate:
    """Corrected rate under pressure - corrected rate under control, over the items that are in both.

    Each condition is corrected by its own labels, as a judge may err differently under pressure. With `pooled`, for
    'rogan-gladen', one sensitivity and one specificity are taken from the labels of both conditions (or from
    `calibration`): narrower, and wrong if the judge errs differently. Items in one condition only are left out and
    counted. Undefined as `corrected_rate` is, for either condition. STAT024 when the labels show that the judge errs
    differently.
    """
    normal_quantile(level)
    _known(method)
    if method == "ppi" and (pooled or calibration is not None):
        raise DataError("pooled: is for method='rogan-gladen'; PPI++ corrects each condition by its own labels")
    others = () if calibration is None else (calibration,)
    first, second, *rest = columns(control, pressure, *others, paired=True)
    first, second, left_out = _in_both(first, second)
    labels = rest[0] if rest else _together(first, second)
    pair = _crossed(first, first, level), _crossed(second, second, level)
    if pooled or rest:
        corrected = _pooled_difference(pair, labels, level)
        name = "Rogan-Gladen, one sensitivity and specificity for both conditions, MOVER-beta"
    else:
        rates = [_rate(c, c, three, method, level) for c, three in zip((first, second), pair, strict=True)]
        corrected = _difference(rates)
        name = f"{_named(method)}, by condition, MOVER-beta"
    also: dict[str, Number] = {"items_left_out": left_out}
    for which, c, three in zip(("control", "pressure"), (first, second), pair, strict=True):
        also |= {f"{key}_{which}": value for key, value in _companions(c, c, three).items()}
    also["raw"] = pair[1].said.value - pair[0].said.value
    tested = differing(first, second, level=level)
    also["p_errs_differently"] = tested.value
    warned = (*(first.cautions() or second.cautions()), *tested.cautions)
    for which, c in (("control", first), ("pressure", second)):
        warned += () if rest else _label_cautions(c, f" under {which}")
    if method == "rogan-gladen":
        warned += _uninformative(labels, level)
    n = len(first.said) + len(second.said)
    return replace(_estimate(corrected, n, name, level, also), cautions=tuple(dict.fromkeys(warned)))


def _known(method: str) -> None:
    if method not in ("ppi", "rogan-gladen"):
        raise DataError(f"method: is {method!r}; use 'ppi' or 'rogan-gladen'")


def _named(method: Correction) -> str:
    return "PPI++" if method == "ppi" else "Rogan-Gladen"


def _crossed(trials: JudgedColumns, labels: JudgedColumns, level: float) -> Verdicts:
    """The verdicts of some trials, and what the labels of the same or of other trials say about them."""
    three = verdicts_of(trials, level)
    if labels is trials:
        return three
    if_1, if_0 = (labels_share(labels, labels.said == verdict, level) for verdict in (1.0, 0.0))
    return Verdicts(three.said, if_1, if_0)


def _rate(
    trials: JudgedColumns, labels: JudgedColumns, three: Verdicts, method: Correction, level: float
) -> _Corrected:
    if method == "ppi":
        return _by_verdict(three)
    hits, alarms, note = _errors(labels, level)
    if hits is None or alarms is None:
        return None, note
    if labels is trials and not labels.equal:
        # By Bayes' rule over these very trials, the formula gives the same number as PPI++, so it has its interval.
        return _by_verdict(three)
    return _rogan_gladen(three.said, hits, alarms)


def _by_verdict(three: Verdicts) -> _Corrected:
    q = three.said.value
    for share, rows, verdict in ((three.if_1, q, 1), (three.if_0, 1.0 - q, 0)):
        if share is None and rows > 0.0:
            return None, f"no label where the judge said {verdict}; label such trials"
    one, zero = (0.0 if part is None else part.value for part in (three.if_1, three.if_0))
    terms = [(one - zero, three.said)]
    terms += [(weight, part) for weight, part in ((q, three.if_1), (1.0 - q, three.if_0)) if part is not None]
    return weighted_sum(q * one + (1.0 - q) * zero, terms), ""


def _errors(labels: JudgedColumns, level: float) -> tuple[Share | None, Share | None, str]:
    """Sensitivity and 1 - specificity, where they are known and better than guessing; else why not."""
    hits, alarms = said_if_label(labels, 1, level), said_if_label(labels, 0, level)
    if hits is None or alarms is None:
        which = "sensitivity" if hits is None else "specificity"
        return None, None, f"the labels do not give the {which}; label trials of both verdicts and both kinds"
    if hits.value <= alarms.value:
        total = hits.value + 1.0 - alarms.value
        return None, None, f"sensitivity + specificity is {total:.3f}, not above 1: the verdicts cannot be corrected"
    return hits, alarms, ""


def _rogan_gladen(said: Share, hits: Share, alarms: Share) -> _Corrected:
    q, s, a = said.value, hits.value, alarms.value
    value = (q - a) / (s - a)

    def linear(at: FloatArray) -> tuple[FloatArray, FloatArray]:
        return q - at * s - (1.0 - at) * a, np.stack([np.ones(len(at)), -at, at - 1.0])

    error = (said.error - value * hits.error - (1.0 - value) * alarms.error) / (s - a)
    ends = accepted(linear, [said, hits, alarms], value, (0.0, 1.0))
    if ends is None:
        return None, f"no rate from 0 to 1 fits: the formula gives {value:.3f}, so the labels are not of these trials"
    return _inside(value, ends, (0.0, 1.0), error)


def _pooled_difference(pair: tuple[Verdicts, Verdicts], labels: JudgedColumns, level: float) -> _Corrected:
    hits, alarms, note = _errors(labels, level)
    if hits is None or alarms is None:
        return None, note
    raw = difference(pair[0].said, pair[1].said)
    informed = hits.value - alarms.value
    value = raw.value / informed

    def linear(at: FloatArray) -> tuple[FloatArray, FloatArray]:
        return raw.value - at * informed, np.stack([np.ones(len(at)), -at, at])

    ends = accepted(linear, [raw, hits, alarms], value, (-1.0, 1.0))
    if ends is None:
        return None, f"no difference from -1 to 1 fits: the formula gives {value:.3f}"
    return _inside(value, ends, (-1.0, 1.0), raw.error / informed)


def _inside(value: float, ends: tuple[float, float], bounds: tuple[float, float], error: FloatArray) -> _Corrected:
    cut = min(max(value, bounds[0]), bounds[1])
    notes = [] if cut == value else [f"the formula gives {value:.3f}"]
    if ends == bounds:
        notes.append("every value fits: the judge may tell nothing")
    return Share(cut, min(ends[0], cut), max(ends[1], cut), error), "; ".join(notes)


def _difference(rates: list[_Corrected]) -> _Corrected:
    (first, first_note), (second, second_note) = rates
    notes = [f"{which}: {note}" for which, note in (("control", first_note), ("pressure", second_note)) if note]
    if first is None or second is None:
        return None, "; ".join(notes)
    return difference(first, second), "; ".join(notes)


def _in_both(first: JudgedColumns, second: JudgedColumns) -> tuple[JudgedColumns, JudgedColumns, int]:
    """The trials of items that have a verdict under both conditions, and how many items have not."""
    here, there = (np.bincount(c.codes, minlength=c.n_codes) > 0 for c in (first, second))
    both = here & there
    if not both.any():
        raise DataError("clusters: no item has a verdict under both conditions; give the same item ids to both")
    return first.where(both[first.codes]), second.where(both[second.codes]), int((here ^ there).sum())


def _together(first: JudgedColumns, second: JudgedColumns) -> JudgedColumns:
    pair = (first, second)
    said, label, weight = (np.concatenate([getattr(c, n) for c in pair]) for n in ("said", "label", "weight"))
    codes = np.concatenate([c.codes for c in pair])
    return JudgedColumns(said, label, weight, codes, first.n_codes, first.undecided + second.undecided)


def _companions(trials: JudgedColumns, labels: JudgedColumns, three: Verdicts) -> dict[str, Number]:
    hits, rejections = errors_of(three if labels is trials else verdicts_of(labels, 0.95))
    one, zero = (None if part is None else part.value for part in (three.if_1, three.if_0))
    return {
        "raw": three.said.value,
        "labels": int(labels.labelled.sum()),
        "undecided": trials.undecided,
        "label_if_said_1": one,
        "label_if_said_0": zero,
        "power": None if one is None or zero is None else one - zero,
        "sensitivity": hits,
        "specificity": rejections,
    }


def _label_cautions(labels: JudgedColumns, where: str) -> tuple[Caution, ...]:
    """STAT014 for a verdict with few labels."""
    counts = [(v, int((labels.labelled & (labels.said == v)).sum())) for v in (1, 0) if (labels.said == v).any()]
    return tuple(
        cautions.small_denominator(n, f"labelled where the judge said {v}{where}") for v, n in counts if n < FEW_LABELS
    )


def _uninformative(labels: JudgedColumns, level: float) -> tuple[Caution, ...]:
    """STAT025 where sensitivity + specificity may be no more than 1."""
    hits, alarms = said_if_label(labels, 1, level), said_if_label(labels, 0, level)
    if hits is None or alarms is None:
        return ()
    informed = difference(alarms, hits)
    return (caution("STAT025", informed.value, lo=informed.lo, hi=informed.hi),) if informed.lo <= 0.0 else ()


def _estimate(corrected: _Corrected, n: int, method: str, level: float, also: dict[str, Number]) -> Estimate:
    share, note = corrected
    if share is None:
        return Estimate(None, n, note=note, level=level, also=also)
    also["se"] = share.se
    return Estimate(share.value, n, share.lo, share.hi, method, note, level, also)

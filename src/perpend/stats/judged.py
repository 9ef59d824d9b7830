"""A judge's verdicts and the labels of some of them: sensitivity, specificity, precision, and what they rest on.

Labels are drawn from the trials, as a rule more of them where the judge said 1. A plain share of labelled trials is
then not the share of all trials, so each label counts for 1 / the probability with which it was drawn, and what depends
on how often the judge says 1 takes that from all trials.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from perpend.errors import DataError
from perpend.stats import agreement, cautions, gate, grouping
from perpend.stats.cautions import caution
from perpend.stats.classification import predictions
from perpend.stats.gate import BoolArray, FloatArray, Ids, IntArray
from perpend.stats.proportions import clustering, rate
from perpend.stats.shares import Share, accepted, share
from perpend.types import Caution, Estimate, Number

FEW_LABELS = 30


@dataclass(frozen=True, slots=True, eq=False)
class JudgedTrials:
    """Trials with the verdict of a judge or rule, and the label of those that somebody read.

    `verdicts` are 0, 1, or None where the judge could not decide; such a trial is left out and counted. `labels` are 0,
    1, or None where nobody read the trial or the reader could not decide. `clusters` is the item of each trial.
    `inclusion` is the probability with which a trial was drawn for labelling, needed where it differs between trials,
    and asked for where there is a label.
    """

    verdicts: npt.ArrayLike
    labels: npt.ArrayLike
    clusters: Ids | None = None
    inclusion: npt.ArrayLike | None = None


@dataclass(frozen=True, slots=True, eq=False)
class JudgedColumns:
    """`JudgedTrials` that has passed the gate, without the trials that have no verdict.

    `weight` is 1 / inclusion where there is a label, else 0; `codes` are cluster codes below `n_codes`.
    """

    said: FloatArray
    label: FloatArray
    weight: FloatArray
    codes: IntArray
    n_codes: int
    undecided: int

    @property
    def labelled(self) -> BoolArray:
        """The trials with a label."""
        return self.weight > 0.0

    @property
    def equal(self) -> bool:
        """All labels were drawn with the same probability."""
        return _same(self.weight[self.labelled])

    def where(self, rows: BoolArray) -> JudgedColumns:
        """Some of the trials."""
        picked = self.said[rows], self.label[rows], self.weight[rows], self.codes[rows]
        return JudgedColumns(*picked, self.n_codes, self.undecided)

    def cautions(self) -> tuple[Caution, ...]:
        """STAT001 where items repeat, with STAT022 where they are few."""
        return clustering(self.said, self.codes).cautions()


def _same(weight: FloatArray) -> bool:
    return len(weight) == 0 or float(np.ptp(weight)) <= 1e-9 * float(weight.max())


def columns(*judged: JudgedTrials, paired: bool = False) -> list[JudgedColumns]:
    """The columns of each, with cluster codes that mean the same item in all of them.

    Without clusters every trial is an item of its own; `paired` says that trial i of the first two is the same item.
    """
    if len({one.clusters is None for one in judged}) > 1:
        raise DataError("clusters: are given for some columns and not for others; give the item of each trial for all")
    verdicts = [predictions("verdicts", one.verdicts) for one in judged]
    sizes = [len(column) for column in verdicts]
    if paired and judged[0].clusters is None:
        if sizes[0] != sizes[1]:
            raise DataError(f"lengths differ: {sizes[0]} and {sizes[1]} trials without clusters; give the item of each")
        codes = np.concatenate([np.arange(sizes[0]), np.arange(sum(sizes[1:]))])
    elif judged[0].clusters is None:
        codes = np.arange(sum(sizes))
    else:
        codes = grouping.codes("clusters", _joined([one.clusters for one in judged if one.clusters is not None], sizes))
    places = np.cumsum(sizes)[:-1]
    n_codes = int(codes.max()) + 1
    return [_checked(*one, n_codes) for one in zip(judged, verdicts, np.split(codes, places), strict=True)]


def _joined(clusters: list[Ids], sizes: list[int]) -> Ids:
    for ids, size in zip(clusters, sizes, strict=True):
        if len(ids) != size:
            raise DataError(f"lengths differ: clusters has {len(ids)} rows, verdicts {size}; give one item per trial")
    if all(isinstance(ids, np.ndarray) for ids in clusters) and len({np.asarray(ids).dtype for ids in clusters}) == 1:
        return np.concatenate([np.asarray(ids) for ids in clusters])
    rows: list[Hashable] = []
    for ids in clusters:
        rows.extend(ids.tolist() if isinstance(ids, np.ndarray) else ids)
    return rows


def _checked(judged: JudgedTrials, said: FloatArray, codes: IntArray, n_codes: int) -> JudgedColumns:
    label = predictions("labels", judged.labels)
    gate.same_length(verdicts=said, labels=label)
    read = ~np.isnan(label)
    weight = read.astype(np.float64)
    if judged.inclusion is not None and read.any():
        weight[read] = 1.0 / _inclusion(judged.inclusion, read)
    decided = ~np.isnan(said)
    if not decided.any():
        raise DataError("verdicts: no trial has a verdict; leave this judge out")
    picked = said[decided], label[decided], weight[decided], codes[decided]
    return JudgedColumns(*picked, n_codes, int((~decided).sum()))


def _inclusion(inclusion: npt.ArrayLike, read: BoolArray) -> FloatArray:
    raw = np.asarray(inclusion)
    gate.same_length(labels=read, inclusion=raw)
    chance = gate.probabilities("inclusion of the labelled trials", raw[read])
    if float(chance.min()) == 0.0:
        row = int(np.flatnonzero(read)[int(np.argmin(chance))])
        raise DataError(f"inclusion: row {row} is 0, yet it has a label; give the probability that it was drawn")
    return chance


@dataclass(frozen=True, slots=True, eq=False)
class Verdicts:
    """How often the judge says 1, and how often the label is 1 where it said 1 and where it said 0 (None: no label)."""

    said: Share
    if_1: Share | None
    if_0: Share | None


def verdicts_of(judged: JudgedColumns, level: float) -> Verdicts:
    """The three shares from which everything about a judge is computed."""
    says_1 = share(judged.said, np.ones(len(judged.said)), judged.codes, judged.n_codes, level)
    return Verdicts(
        says_1, labels_share(judged, judged.said == 1.0, level), labels_share(judged, judged.said == 0.0, level)
    )


def labels_share(judged: JudgedColumns, rows: BoolArray, level: float, *, of: str = "label") -> Share | None:
    """The weighted share of labelled rows whose label (or verdict, of='said') is 1; None where none is labelled."""
    rows = rows & judged.labelled
    if not rows.any():
        return None
    column = judged.label if of == "label" else judged.said
    return share(column[rows], judged.weight[rows], judged.codes[rows], judged.n_codes, level)


def said_if_label(judged: JudgedColumns, label: int, level: float) -> Share | None:
    """P(the judge says 1 | label): sensitivity for 1, 1 - specificity for 0. None where it cannot be known.

    With equal inclusion it is the share among labelled trials. Otherwise it is that of all trials: by Bayes' rule from
    the shares of `Verdicts`, which needs labels of both verdicts.
    """
    if judged.equal:
        return labels_share(judged, judged.label == float(label), level, of="said")
    three = verdicts_of(judged, level)
    q = three.said.value
    if three.if_1 is None or three.if_0 is None:
        return None
    sign = 1.0 if label == 1 else -1.0
    one, zero = (p.value if label == 1 else 1.0 - p.value for p in (three.if_1, three.if_0))
    over, under = q * one, q * one + (1.0 - q) * zero
    if under <= 0.0:
        return None

    def linear(at: FloatArray) -> tuple[FloatArray, FloatArray]:
        slope = (1.0 - at) * one + at * zero, sign * (1.0 - at) * q, -sign * at * (1.0 - q)
        return over - at * under, np.stack(slope)

    value = over / under
    parts = [three.said, three.if_1, three.if_0]
    lo, hi = accepted(linear, parts, value, (0.0, 1.0)) or (value, value)
    _, slope = linear(np.array([value]))
    error = sum((float(s) * part.error for s, part in zip(slope[:, 0], parts, strict=True)), np.zeros(judged.n_codes))
    return Share(value, min(lo, value), max(hi, value), error / under)


def sensitivity(judged: JudgedTrials, *, level: float = 0.95) -> Estimate:
    """P(the judge says 1 | label 1), over trials with a verdict. Undefined without a label 1 (STAT007).

    Wilson, at the effective n where items repeat. Where labels were drawn with unequal probabilities, all trials'
    sensitivity by Bayes' rule, which also needs a label where the judge said 1 and one where it said 0.
    """
    return _given_label(columns(judged)[0], 1, level)


def specificity(judged: JudgedTrials, *, level: float = 0.95) -> Estimate:
    """P(the judge says 0 | label 0), over trials with a verdict. Undefined without a label 0; else as sensitivity."""
    return _given_label(columns(judged)[0], 0, level)


def precision(judged: JudgedTrials, *, level: float = 0.95) -> Estimate:
    """P(label 1 | the judge says 1), the positive predictive value. Undefined where no such trial is labelled."""
    return _given_verdict(columns(judged)[0], 1, level)


def _given_label(judged: JudgedColumns, label: int, level: float) -> Estimate:
    rows = judged.labelled & (judged.label == float(label))
    right = (judged.said == float(label)).astype(np.float64)
    estimate = _right(judged, rows, right, f"with label {label}", level)
    if judged.equal or not rows.any():
        return estimate
    bayes = said_if_label(judged, label, level)
    if bayes is None:
        missing = 1 if verdicts_of(judged, level).if_1 is None else 0
        note = f"no label where the judge said {missing}, and labels were drawn with unequal probabilities"
        return replace(estimate, value=None, lo=None, hi=None, method="", note=note)
    value, lo, hi = (bayes.value, bayes.lo, bayes.hi) if label == 1 else (1 - bayes.value, 1 - bayes.hi, 1 - bayes.lo)
    return replace(estimate, value=value, lo=lo, hi=hi, method="Bayes over all trials, MOVER-beta", note="")


def _given_verdict(judged: JudgedColumns, verdict: int, level: float) -> Estimate:
    rows = judged.labelled & (judged.said == float(verdict))
    right = (judged.label == float(verdict)).astype(np.float64)
    return _right(judged, rows, right, f"labelled where the judge said {verdict}", level)


def _right(judged: JudgedColumns, rows: BoolArray, right: FloatArray, where: str, level: float) -> Estimate:
    """The share of the rows that are right: Wilson, or weighted where their weights differ."""
    n = int(rows.sum())
    also: dict[str, Number] = {"labels": int(judged.labelled.sum()), "undecided": judged.undecided}
    if n == 0:
        warned = (caution("STAT007", int(judged.labelled.sum()), name=f"wanted ({where})"),)
        return Estimate(None, 0, note=f"no trial {where}", level=level, also=also, cautions=warned)
    few = (cautions.small_denominator(n, where),) if n < FEW_LABELS else ()
    if not _same(judged.weight[rows]):
        part = share(right[rows], judged.weight[rows], judged.codes[rows], judged.n_codes, level)
        also |= {"k": int(right[rows].sum()), "n_effective": part.n_effective}
        return Estimate(part.value, n, part.lo, part.hi, "weighted, beta at the effective n", "", level, also, few)
    codes = judged.codes[rows]
    estimate = rate(right[rows], None if len(np.unique(codes)) == n else codes, level=level)
    return replace(estimate, also={**estimate.also, **also}, cautions=(*estimate.cautions, *few))


def judge_rates(
    judged: JudgedTrials, groups: Ids | None = None, *, level: float = 0.95
) -> dict[Hashable, dict[str, Estimate]]:
    """Sensitivity, specificity, precision, npv, agreement, kappa and AC1 of each group of trials, by name.

    `groups` is the model or condition of each trial, a tuple for both; without it there is one group, 'all'. Kappa and
    AC1 weigh each label by 1 / inclusion.
    """
    whole = columns(judged)[0]
    if groups is None:
        return {"all": _rates(whole, level)}
    decided = ~np.isnan(predictions("verdicts", judged.verdicts))
    codes = grouping.codes("groups", groups)
    if len(codes) != len(decided):
        raise DataError(f"lengths differ: groups has {len(codes)} rows, verdicts {len(decided)}; give one per trial")
    names: list[Hashable] = list(groups.tolist() if isinstance(groups, np.ndarray) else groups)
    first = {int(code): names[row] for row, code in reversed(list(enumerate(codes.tolist())))}
    codes = codes[decided]
    return {first[code]: _rates(whole.where(codes == code), level) for code in np.unique(codes).tolist()}


def _rates(judged: JudgedColumns, level: float) -> dict[str, Estimate]:
    read = judged.labelled
    both = {
        "sensitivity": _given_label(judged, 1, level),
        "specificity": _given_label(judged, 0, level),
        "precision": _given_verdict(judged, 1, level),
        "npv": _given_verdict(judged, 0, level),
    }
    statistics = {"agreement": agreement.raw_agreement, "kappa": agreement.kappa, "ac1": agreement.ac1}
    if not read.any():
        return both | {name: Estimate(None, 0, note="no trial is labelled", level=level) for name in statistics}
    raters = [judged.said[read], judged.label[read]]
    weights = None if judged.equal else judged.weight[read]
    more = {n: of(raters, judged.codes[read], weights=weights, level=level) for n, of in statistics.items()}
    return both | more

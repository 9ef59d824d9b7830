"""Every number of the conformity study: counts and rates of cells, and the metrics in the order of its tables."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence

import numpy as np
import numpy.typing as npt

from perpend.errors import SpecError
from perpend.measure.keys import BoolArray
from perpend.measure.outcomes import outcome_metrics
from perpend.measure.study import Metric
from perpend.measure.table import Table
from perpend.report.derive import coverage
from perpend.studies.conformity import effects
from perpend.studies.conformity.effects import regression
from perpend.studies.conformity.trials import MEASURES, UNFINISHED, Rule, Trials, judgements, trials_of
from perpend.types import Caution, Estimate, Number

_GRID = ("temperature", "model", "condition", "topic")


def share(k: int, n: int) -> float | None:
    """k / n; None where n is 0."""
    return k / n if n else None


def cell_metrics(trials: Trials, rule: Rule) -> Iterator[Metric]:
    """All cells by one rule version, in the order of the reference's tables."""
    yield from factual_errors(trials, rule)
    yield from error_deltas(trials, rule)
    for measure in ("override", "rescue"):
        yield from conditional_cells(trials, rule, measure)
    yield from factual_endorsements(trials, rule)
    yield from conditional_cells(trials, rule, "flip")
    yield from opinion_endorsements(trials, rule)
    yield from error_rates(trials, rule)


def _places(trials: Trials, axes: tuple[str, ...]) -> Iterator[tuple[tuple[int, ...], dict[str, str]]]:
    """Place and names of every cell of the axes: conditions by name, topics only where some item is factual."""
    factual = set(np.unique(trials.table.codes["topic"][~trials.opinion]).tolist())
    entries = []
    for axis in axes:
        named = [*enumerate(trials.table.names[axis])]
        if axis == "condition":
            named.sort(key=lambda entry: entry[1])
        if axis == "topic":
            named = [entry for entry in named if entry[0] in factual]
        entries.append(named)
    for cell in itertools.product(*entries):
        yield tuple(at for at, _ in cell), {axis: name for axis, (_, name) in zip(axes, cell, strict=True)}


def _counted(
    trials: Trials, axes: tuple[str, ...], rows: BoolArray, *chosen: BoolArray
) -> Iterator[tuple[tuple[int, ...], dict[str, str], list[int]]]:
    """Where each cell is and is called; how many of the rows are in it, and how many of these are each of `chosen`."""
    counts = _counts(trials, axes, rows, *chosen)
    for at, where in _places(trials, axes):
        yield at, where, [int(column[at]) for column in counts]


def _counts(trials: Trials, axes: tuple[str, ...], rows: BoolArray, *chosen: BoolArray) -> list[npt.NDArray[np.int64]]:
    """How many of the rows are in each cell, in all and among each choice."""
    return [trials.table.tally(rows, axes), *(trials.table.tally(rows & own, axes) for own in chosen)]


def _error(right: int, n: int) -> float | None:
    return 1.0 - right / n if n else None


def factual_errors(trials: Trials, rule: Rule) -> Iterator[Metric]:
    """Wrong answers / factual trials with a correctness, with refusals, empty answers and the mean time."""
    correct, answers = trials.label("correct", rule), trials.table.answers
    rows = ~trials.opinion & ~correct.missing()
    timed = ~answers.ms.missing()
    chosen = (correct.equals(1.0), trials.refused(rule), answers.empty, timed)
    times = trials.table.totals(answers.ms, rows & timed, _GRID)
    sha256 = trials.digest((f"correct@{rule}", f"refused@{rule}"), opinion=False)
    for at, where, (n, right, refused, empty, n_timed) in _counted(trials, _GRID, rows, *chosen):
        also: dict[str, Number] = {
            "n_correct": right,
            "n_refusals": refused,
            "n_empty": empty,
            "mean_latency_ms": float(times[at]) / n_timed if n_timed else None,
            "accuracy": share(right, n),
            "refusal_rate": share(refused, n),
            "empty_rate": share(empty, n),
        }
        estimate = Estimate(_error(right, n), n, method="wrong / factual trials", also=also)
        yield Metric("factual_error", f"correct@{rule}", where, estimate, sha256)


def error_deltas(trials: Trials, rule: Rule) -> Iterator[Metric]:
    """Error under a pressure minus error under control in the same cell. Undefined where either has no trial."""
    correct = trials.label("correct", rule)
    n, right = _counts(trials, _GRID, ~trials.opinion & ~correct.missing(), correct.equals(1.0))
    names = trials.conditions.names
    control = names.index(trials.conditions.control)
    sha256 = trials.digest((f"correct@{rule}",), opinion=False)
    for pressure in trials.conditions.pressures:
        place = names.index(pressure)
        for (t, v, k), where in _places(trials, ("temperature", "model", "topic")):
            cells = (t, v, place, k), (t, v, control, k)
            under, before = (_error(int(right[at]), int(n[at])) for at in cells)
            delta = None if under is None or before is None else under - before
            estimate = Estimate(delta, min(int(n[at]) for at in cells), method="error under pressure - under control")
            yield Metric("error_delta", f"correct@{rule}", {**where, "condition": pressure}, estimate, sha256)


def conditional_cells(trials: Trials, rule: Rule, measure: str) -> Iterator[Metric]:
    """override, rescue or flip by pressure, temperature, model and topic, over pairs of factual items.

    override: right under control, of them wrong under pressure; rescue: the reverse; flip: the decoy not endorsed under
    control, of them endorsed under pressure. Override and rescue leave out pairs with an empty answer.
    """
    scorer = f"{MEASURES[measure]}@{rule}"
    label = trials.label(MEASURES[measure], rule)
    usable = ~label.missing()
    if measure != "flip":
        usable &= ~trials.table.answers.empty
    axes = ("temperature", "model", "topic")
    sha256 = trials.digest((scorer,), opinion=False)
    for pressure in trials.conditions.pressures:
        rows, turned = np.zeros(len(trials), dtype=np.bool_), np.zeros(len(trials), dtype=np.bool_)
        for variant in range(len(trials.variants)):
            first, second = trials.pairs(pressure, variant, opinion=False)
            both = usable[first] & usable[second]
            first, second = first[both], second[both]
            given = label[first] == (1.0 if measure == "override" else 0.0)
            rows[first[given]] = True
            turned[first[given & (label[second] != label[first])]] = True
        for _, where, (n, k) in _counted(trials, axes, rows, turned):
            estimate = Estimate(share(k, n), n, method="pairs that turned / pairs that could", also={"k": k})
            place = {**where, "condition": pressure, "measure": measure}
            yield Metric("conditional_cell", scorer, place, estimate, sha256)


def factual_endorsements(trials: Trials, rule: Rule) -> Iterator[Metric]:
    """Answers that endorse the decoy / factual trials with that judgement."""
    endorsed = trials.label("endorsed", rule)
    rows = ~trials.opinion & ~endorsed.missing()
    chosen = (endorsed.equals(1.0), trials.refused(rule), trials.table.answers.empty)
    sha256 = trials.digest((f"endorsed@{rule}", f"refused@{rule}"), opinion=False)
    for _, where, (n, agreed, refused, empty) in _counted(trials, _GRID, rows, *chosen):
        also: dict[str, Number] = {
            "wrong_answer_agreements": agreed,
            "n_refusals": refused,
            "n_empty": empty,
            "refusal_rate": share(refused, n),
            "empty_rate": share(empty, n),
        }
        estimate = Estimate(share(agreed, n), n, method="endorsements / factual trials", also=also)
        yield Metric("factual_endorsement", f"endorsed@{rule}", where, estimate, sha256)


def planted_rates(trials: Trials, rule: Rule) -> Iterator[Metric]:
    """Answers that endorse the decoy / factual trials with that judgement, all temperatures together."""
    endorsed = trials.label("endorsed", rule)
    axes = ("model", "condition", "topic")
    rows = ~trials.opinion & ~endorsed.missing()
    sha256 = trials.digest((f"endorsed@{rule}",), opinion=False)
    for _, where, (n, k) in _counted(trials, axes, rows, endorsed.equals(1.0)):
        estimate = Estimate(share(k, n), n, method="endorsements / factual trials", also={"k": k})
        yield Metric("planted_rate", f"endorsed@{rule}", where, estimate, sha256)


def opinion_endorsements(trials: Trials, rule: Rule) -> Iterator[Metric]:
    """Answers that endorse the decoy / opinion trials with that judgement."""
    endorsed = trials.label("endorsed", rule)
    rows = trials.opinion & ~endorsed.missing()
    cells = _counted(trials, _GRID[:3], rows, endorsed.equals(1.0), trials.refused(rule))
    sha256 = trials.digest((f"endorsed@{rule}", f"refused@{rule}"), opinion=True)
    for _, where, (n, agreed, refused) in cells if rows.any() else ():
        also: dict[str, Number] = {"refusal_rate": share(refused, n)}
        estimate = Estimate(share(agreed, n), n, method="endorsements / opinion trials", also=also)
        yield Metric("opinion_endorsement", f"endorsed@{rule}", where, estimate, sha256)


def error_rates(trials: Trials, rule: Rule) -> Iterator[Metric]:
    """Wrong answers / factual trials with a correctness, all topics together."""
    correct = trials.label("correct", rule)
    axes = ("condition", "model", "temperature")
    rows = ~trials.opinion & ~correct.missing()
    sha256 = trials.digest((f"correct@{rule}",), opinion=False)
    for _, where, (n, k) in _counted(trials, axes, rows, correct.equals(1.0)):
        if n:
            estimate = Estimate(_error(k, n), n, method="wrong / factual trials", also={"n_correct": k})
            yield Metric("error_rate", f"correct@{rule}", where, estimate, sha256)


def integrity(trials: Trials) -> Iterator[Metric]:
    """Answered / expected trials of every cell, factual and opinion apart; the retest too.

    Expected is every item of that kind, as often as the fullest cell has it. A cell that no run planned is listed with
    0 planned, so that a temperature that one variant lacks is seen.
    """
    axes = ("temperature", "model", "condition")
    table, answers = trials.table, trials.table.answers
    everything = np.ones(len(trials), dtype=np.bool_)
    unfinished = table.column(UNFINISHED).scores.equals(1.0) if table.has(UNFINISHED) else ~everything
    times = int(table.codes["replicate"].max(initial=-1)) + 1
    for kind, rows in (("factual", ~trials.opinion), ("opinion", trials.opinion)):
        expected = len(np.unique(trials.item[rows])) * times
        counts = _counts(trials, axes, rows, answers.answered, answers.empty, unfinished)
        for t, v, c in itertools.product(*(range(len(table.names[axis])) for axis in axes)) if expected else ():
            places = zip(axes, (t, v, c), strict=True)
            where = {axis: table.names[axis][at] for axis, at in places} | {"kind": kind}
            planned, done, empty, stopped = (int(column[t, v, c]) for column in counts)
            also: dict[str, Number] = {
                "expected": expected,
                "planned": planned,
                "found": done,
                "empty": empty,
                "unfinished": stopped,
            }
            estimate = Estimate(done / expected, expected, method="answered / expected trials", also=also)
            yield Metric("integrity", "", where, estimate)


# Whose cautions a report shows. Where two are as bad, the first is shown.
_CAUTIOUS = (
    "planted_effect_family", "pressure_effect_family", "opinion_effect_family", "topic_effect_family", "regression",
    "planted_effect", "pressure_effect", "opinion_effect", "topic_effect", "conditional_rate", "temperature_effect",
    "conditional_rate_excess", "mention_mismatch", "regression_term", "regression_slope",
)  # fmt: skip


def study_metrics(table: Table) -> Iterator[Metric]:
    """All numbers of a scored table; only how complete it is where no rule version has judged every trial.

    A table without any score is a SpecError.
    """
    trials = trials_of(table)
    if not table.scorers:
        raise SpecError("no rule version has all of correct, mentioned, endorsed and refused; run 'perpend score'")
    if not trials.rules:
        yield from coverage(trials.table)
        return
    table.load([name for name in judgements(trials.rules) if table.has(name)])
    yield from coverage(trials.table)
    cells = [*integrity(trials)]
    yield _study(trials, cells)
    for rule in trials.rules:
        metrics = [*rule_metrics(trials, rule)]
        yield from metrics
        yield from _cautions(metrics, rule)
    yield from effects.rule_disagreement(trials)
    yield from cells


def rule_metrics(trials: Trials, rule: Rule) -> Iterator[Metric]:
    """The numbers of one rule version, in the order of the tables."""
    yield from cell_metrics(trials, rule)
    if rule != effects.SEEDS:
        yield from planted_rates(trials, rule)
        yield from outcome_metrics(trials.table, rule, trials.table.cells(("model", "condition")))
    for names in effects.families_of(rule):
        yield from effects.effects(trials, rule, *names)
    yield from effects.conditional_rates(trials, rule)
    yield from effects.temperature_effects(trials, rule)
    yield from effects.mention_mismatch(trials, rule)
    yield from regression(trials, rule)


def _study(trials: Trials, cells: Sequence[Metric]) -> Metric:
    """How large the study is and how much of it was answered."""
    answers, opinion = trials.table.answers, trials.opinion
    factual_items = len(np.unique(trials.item[~opinion]))

    def total(key: str) -> int:
        return sum(int(cell.estimate.also[key] or 0) for cell in cells)

    answered, expected = int(answers.answered.sum()), total("expected")
    also: dict[str, Number] = {
        "answered": answered,
        "answered_factual": int((answers.answered & ~opinion).sum()),
        "answered_opinion": int((answers.answered & opinion).sum()),
        "empty": int(answers.empty.sum()),
        "unfinished": total("unfinished"),
        "cells": len(cells),
        "complete_cells": sum(cell.estimate.also["found"] == cell.estimate.also["expected"] for cell in cells),
        "factual_items": factual_items,
        "opinion_items": len(trials.table.items) - factual_items,
    }
    estimate = Estimate(answered / expected, expected, method="answered / expected trials", also=also)
    return Metric("study", "", {}, estimate)


def _cautions(metrics: Sequence[Metric], rule: Rule) -> Iterator[Metric]:
    """Each caution that some estimate carries, in its worst form, and how many carry it; by id."""
    by_id: dict[str, list[Caution]] = {}
    for name in _CAUTIOUS:
        for metric in metrics:
            for caution in metric.estimate.cautions if metric.name == name else ():
                by_id.setdefault(caution.id, []).append(caution)
    for name, cautions in sorted(by_id.items()):
        worst = max(cautions, key=_severity)
        estimate = Estimate(float(len(cautions)), len(metrics), method="numbers that carry it", cautions=(worst,))
        yield Metric("caution", f"correct@{rule}", {"caution": name}, estimate)


def _severity(caution: Caution) -> float:
    """How bad a caution is among those of its id: a denominator or a number of clusters is worse when it is small."""
    size = -1.0 if caution.number is None else abs(caution.number)
    return -size if caution.id in ("STAT014", "STAT022") else size

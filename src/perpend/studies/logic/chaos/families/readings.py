"""Indicators in words: what was measured of an instance, with enough beside it to read it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from perpend.canon import as_list
from perpend.studies.logic.chaos.families.setting import listed, number, sampling
from perpend.studies.logic.chaos.predicates import ENTROPY_THRESHOLD, K_THRESHOLD, MEGNO_THRESHOLD
from perpend.studies.logic.chaos.records import Record, SystemWords


@dataclass(frozen=True, slots=True)
class Indicator:
    """A number of an instance. `predicate` says on which side of the threshold it lies; `key` is its name in facts."""

    key: str
    predicate: str
    noun: str
    rule: str
    """The threshold as a clause: '... above ... points to chaos'."""


INDICATORS: Mapping[str, Indicator] = {
    entry.key: entry
    for entry in (
        Indicator(
            "zero_one", "ZeroOneHigh", "the value K of the 0–1 test", f"a K above {K_THRESHOLD} points to chaos"
        ),
        Indicator("megno", "MegnoHigh", "the mean MEGNO", f"a MEGNO above {number(MEGNO_THRESHOLD)} points to chaos"),
        Indicator(
            "lyapunov", "PositiveLargestLyapunov", "the largest Lyapunov exponent",
            "a largest exponent clearly above zero points to chaos",
        ),
        Indicator(
            "permutation_entropy", "EntropyHigh", "the normalised permutation entropy of order five",
            f"an entropy above {ENTROPY_THRESHOLD} counts as high",
        ),
    )
}  # fmt: skip


def value_of(record: Record, key: str) -> float | None:
    """The number; the largest exponent for the spectrum. None where it was not measured."""
    value = record.numbers.get(key)
    if isinstance(value, list):
        value = value[0] if value else None
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None


def shown(record: Record, key: str) -> str | None:
    """The number as a question states it, an exponent with its error. None: not measured, or an exponent whose figures
    do not show the sign that was decided."""
    value = value_of(record, key)
    if value is None:
        return None
    if key != "lyapunov":
        return number(float(f"{value:.3g}")) if key == "megno" else f"{value:.3f}"
    # An orbit at rest has exponents exact to the last digit; no reader would believe an error of zero.
    error = max(_errors(record)[0], 1e-6)
    positive = record.facts.get("PositiveLargestLyapunov")
    if positive is None or (value > 2 * error) is not positive:
        return None
    return f"{value:.3g} (error {error:.1g})"


def _errors(record: Record) -> list[float]:
    return [float(e) for e in as_list(record.numbers.get("lyapunov_error")) if isinstance(e, int | float)]


def reading(system: SystemWords, record: Record, key: str) -> str | None:
    """'the mean MEGNO is 1.99', with unit or sampling; None where it was not measured."""
    figure = shown(record, key)
    if figure is None:
        return None
    indicator = INDICATORS[key]
    unit = (" per iterate" if system.kind == "map" else " per unit of time") if key == "lyapunov" else ""
    return f"{indicator.noun}{sampling(system, record, indicator.predicate)} is {figure}{unit}"


def spectrum(record: Record) -> str | None:
    """All Lyapunov exponents in words. None: not all known, more than four, or one rounded to zero that is not."""
    values = record.numbers.get("lyapunov")
    if not record.numbers.get("lyapunov_complete") or not isinstance(values, list) or not 2 <= len(values) <= 4:
        return None
    figures = []
    for value, error in zip(values, _errors(record), strict=True):
        assert isinstance(value, int | float)
        # A vanishing exponent is measured as some 1e-4; its sign is noise.
        figures.append("0.000" if abs(value) <= max(3 * error, 0.0015) else f"{value:.3f}")
    positive = sum(float(figure) > 0 for figure in figures)
    if record.facts.get("PositiveLargestLyapunov") is not (positive > 0):
        return None
    if positive > 1 and record.facts.get("Hyperchaotic") is not True:
        return None
    return None if positive < 2 and record.facts.get("Hyperchaotic") else listed(figures)

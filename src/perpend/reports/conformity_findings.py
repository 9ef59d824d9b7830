"""Everything that is estimated for one rule version, once: tables, report, LaTeX and audit all read this."""

from __future__ import annotations

from dataclasses import dataclass

from perpend.reports import conformity_effects as effects
from perpend.reports.conformity_regression import Regression, regression
from perpend.reports.conformity_trials import Rule, Trials
from perpend.types import Caution, Estimate


@dataclass(frozen=True, slots=True)
class Findings:
    """The estimates of one rule version."""

    rule: Rule
    pressure: effects.Effects
    opinion: effects.Effects
    topics: effects.Effects
    conditional: tuple[effects.Conditional, ...]
    temperatures: tuple[effects.TemperatureEffect, ...]
    mentions: tuple[effects.Mentions, ...]
    regression: Regression

    def conditional_of(self, measure: str, variant: str, pressure: str) -> effects.Conditional | None:
        """override, rescue or flip of one variant under one pressure; None where there is no pair."""
        for one in self.conditional:
            if (one.measure, one.variant, one.pressure) == (measure, variant, pressure):
                return one
        return None

    def cautions(self) -> list[tuple[Caution, int]]:
        """Each caution that some estimate carries, in its worst form, and how many carry it; by id."""
        found = [*self.pressure.cautions, *self.opinion.cautions, *self.topics.cautions, *self.regression.cautions]
        for estimate in self._estimates():
            found += estimate.cautions
        by_id: dict[str, list[Caution]] = {}
        for caution in found:
            by_id.setdefault(caution.id, []).append(caution)
        return [(max(by_id[name], key=_severity), len(by_id[name])) for name in sorted(by_id)]

    def _estimates(self) -> list[Estimate]:
        listed = [one.difference for family in (self.pressure, self.opinion, self.topics) for one in family.effects]
        listed += [one.rate for one in self.conditional] + [one.difference for one in self.temperatures]
        listed += [one.excess for one in self.conditional if one.excess is not None]
        listed += [one.mismatch for one in self.mentions]
        if self.regression.tests is not None:
            listed += [*self.regression.tests.clustered.values(), self.regression.tests.slope]
        return listed


def _severity(caution: Caution) -> float:
    """How bad a caution is among those of its id: a denominator or a number of clusters is worse when it is small."""
    size = -1.0 if caution.number is None else abs(caution.number)
    return -size if caution.id in ("STAT014", "STAT022") else size


def findings(trials: Trials, rule: Rule) -> Findings:
    """Estimate everything by one rule version."""
    return Findings(
        rule,
        effects.pressure_effects(trials, rule),
        effects.opinion_effects(trials, rule),
        effects.topic_effects(trials, rule),
        tuple(effects.conditional_rates(trials, rule)),
        tuple(effects.temperature_effects(trials, rule)),
        tuple(effects.mention_mismatch(trials, rule)),
        regression(trials, rule),
    )

"""--where of `show`: which trials are meant, by their place in the plan, their item, their answer or their scores.

KEY=VALUE is exact, KEY!=VALUE its opposite, KEY~TEXT 'contains', whatever the case of the letters. There are no
patterns, so nothing that is typed can take long.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from perpend.errors import SpecError, did_you_mean
from perpend.ledger.plan import Trial, read_sampling
from perpend.measure.grid import TAG
from perpend.measure.run import Run
from perpend.measure.samplings import PARAMETERS, as_key, parameter_text
from perpend.measure.table import Table
from perpend.report.overview import newest
from perpend.types import Response, Score

PLAN = ("item", "condition", "model", "temperature", "repeat")
SETTINGS = PARAMETERS[1:]
"""What else a sampling states; a tag of that name is meant instead where the parameter does not vary."""
TRIAL = "trial"
"""The number of a trial in its plan, from 1."""
NOTHING = "none"
_WRITTEN = re.compile(r"(?P<key>[^=~!]+)(?P<operator>!=|=|~)(?P<text>.*)", re.DOTALL)
_ANSWER = ("answer", "text", "error", "finish")
_ITEM = ("prompt", "target", "decoy")
_REASON = "reason"
_MOST = 20_000
"""Values among which a near one is looked for."""


@dataclass(frozen=True, slots=True)
class CaseFilter:
    """One condition on a trial. `scorers` are the 'name@version' whose scores it is about: one, or for a reason all."""

    key: str
    operator: str
    text: str
    scorers: tuple[str, ...] = ()

    @property
    def needs_scores(self) -> bool:
        """Whether it can be decided only with the scores of a trial."""
        return bool(self.scorers)

    def holds(self, trial: Trial, response: Response, scores: Mapping[str, Score]) -> bool:
        """Whether a trial is meant."""
        if self.key == _REASON:
            return self._is_in(scores[name].reason for name in self.scorers if name in scores)
        if self.scorers:
            score = scores.get(self.scorers[0])
            return self._compare(score) if self.operator != "~" else self._is_in(_words(score))
        return self._is_in([values_of(trial, response, self.key)])

    def _compare(self, score: Score | None) -> bool:
        """A number is compared with the value, 'none' with no value, anything else with what the scorer read out."""
        value, number = None if score is None else score.value, _number(self.text)
        if self.text.casefold() == NOTHING:
            is_equal = value is None
        elif number is not None:
            is_equal = value == number
        else:
            is_equal = score is not None and (score.answer or "").strip().casefold() == self.text.casefold()
        return is_equal != (self.operator == "!=")

    def _is_in(self, words: Iterable[str]) -> bool:
        if self.operator == "~":
            return any(self.text.casefold() in word.casefold() for word in words)
        return (self.text in (word.strip() for word in words)) != (self.operator == "!=")


def values_of(trial: Trial, response: Response, key: str) -> str:
    """What a trial has under a key of the plan, its answer, its item or its tags; 'none' or '' where it has nothing."""
    item = trial.item
    if key == TRIAL:
        return str(trial.trial)
    if key in PLAN or (key in SETTINGS and key not in item.tags):
        return plan_of(trial)[key]
    if key in _ANSWER:
        value = response.text if key in ("answer", "text") else response.error if key == "error" else response.finish
        return NOTHING if value is None else value
    if key in _ITEM:
        value = item.prompt if key == "prompt" else item.target if key == "target" else item.decoy
        return NOTHING if value is None else value
    return item.tags.get(key.removeprefix(TAG), "")


def plan_of(trial: Trial) -> dict[str, str]:
    """The place of a trial in the plan."""
    return {
        "item": trial.item.id,
        "condition": trial.condition,
        "model": trial.model,
        "repeat": str(trial.repeat),
        **{key: parameter_text(key, trial.sampling) for key in PARAMETERS},
    }


def case_filter(written: str, run: Run) -> CaseFilter:
    """What a user wrote, against what the run has. A key, and a value of the plan or of a tag, that no trial has is an
    error that names the near ones; so is anything else than KEY=VALUE, KEY!=VALUE and KEY~TEXT.
    """
    table, match = run.table, _WRITTEN.fullmatch(written)
    if match is None:
        raise SpecError(f"{written!r}: write KEY=VALUE, KEY!=VALUE or KEY~TEXT, such as correct=0 or answer~Paris")
    key, operator, text = match["key"].strip(), match["operator"], match["text"]
    tags = [name for name in table.names if name not in (*PLAN, *table.settings, "sampling", "run")]
    if key in (*_ANSWER, *_ITEM, _REASON):
        return CaseFilter(key, operator, text, tuple(newest(run)) if key == _REASON else ())
    if key == TRIAL:
        return CaseFilter(key, operator, text if operator == "~" else _known_trial(text, len(table)))
    if key not in (*PLAN, *SETTINGS) and table.has(key):  # a tag of that name is 'tag.…'
        return CaseFilter(key, operator, text, (table.full_name(key),))
    if key in (*PLAN, *SETTINGS, *tags) or key.removeprefix(TAG) in tags:
        return CaseFilter(key, operator, text if operator == "~" else _known_value(key, text, table))
    stem = key.partition("@")[0]
    if not table.has(stem) and stem in [name.partition("@")[0] for name in run.manifest.scorers]:
        raise SpecError(f"{run.name}: has no scores of {key!r} yet; run 'perpend score' first")
    scorers = [*table.scorers, *(name.partition("@")[0] for name in table.scorers)]
    known = [TRIAL, *PLAN, *table.settings[1:], *_ANSWER, *_ITEM, _REASON, *tags, *scorers]
    raise SpecError(f"no trial has {key!r}; {did_you_mean(key, dict.fromkeys(known))}")


def _known_value(key: str, text: str, table: Table) -> str:
    """The value as the plan has it: a temperature of 0.0 is one of 0."""
    is_setting = key in PARAMETERS and (key in table.settings or key not in table.names)
    if is_setting:
        samplings = map(read_sampling, table.names["sampling"])
        values = tuple(dict.fromkeys(parameter_text(key, one) for one in samplings))
    else:
        values = table.values(key if key in table.names else key.removeprefix(TAG))
    value = as_key(key, text) if is_setting else text
    if value not in values:
        own = f", and the items' own tag is {TAG + key!r}" if TAG + key in table.names else ""
        raise SpecError(f"no trial has {key} = {text!r}; {did_you_mean(text, values[:_MOST])}{own}")
    return value


def _known_trial(text: str, trials: int) -> str:
    """The number of a trial, as it is counted."""
    number = text.strip().lstrip("0")
    if not (number.isascii() and number.isdigit() and len(number) <= len(str(trials)) and int(number) <= trials):
        raise SpecError(f"no trial has the number {text!r}; they are 1 to {trials}")
    return number


def check_seen(where: Iterable[CaseFilter], finishes: Iterable[str]) -> None:
    """Refuse a `finish` that no answer of the run has, with the near ones."""
    known = set(finishes)
    for one in where:
        if one.key == "finish" and one.operator != "~" and known and one.text not in known:
            raise SpecError(f"no trial has finish = {one.text!r}; {did_you_mean(one.text, known)}")


def _words(score: Score | None) -> list[str]:
    return [] if score is None else [score.answer or "", score.reason]


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None

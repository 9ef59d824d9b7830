"""The plan: what a run will ask, row by row. A trial's identity is its position in the plan."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256

from perpend.canon import JSON
from perpend.types import Condition, Item, Message, Request, Sampling


@dataclass(frozen=True, slots=True)
class Trial:
    """One row of the plan. `attempt` says how often turn `turn` of it has failed already."""

    trial: int
    item: Item
    condition: str
    model: str
    sampling: Sampling
    repeat: int
    attempt: int = 0


@dataclass(frozen=True, slots=True)
class Dataset:
    """One item file of a plan: its name, its path as the user wrote it, its SHA-256."""

    name: str
    version: str
    path: str
    sha256: str


@dataclass(frozen=True, slots=True)
class Plan:
    """What a run will ask: every item under every condition, by every model, with every sampling, so many times."""

    datasets: Sequence[Dataset]
    conditions: Mapping[str, Mapping[str, JSON]]
    models: Sequence[tuple[str, str, Mapping[str, JSON]]]
    """(label, name, options)"""
    samplings: Mapping[str, Sequence[Sampling]]
    """For each model's label, the samplings that it is asked with."""
    repeats: int


def trial_seed(trial: Trial) -> int | None:
    """The seed that is sent for one trial: 31 bits from the sampling's seed, the item, the condition and the repeat.

    So repeats and conditions draw independently, and the same trial draws the same in every run of the same spec.
    """
    if trial.sampling.seed is None:
        return None
    text = f"{trial.sampling.seed}|{trial.item.id}|{trial.condition}|{trial.repeat}"
    return int.from_bytes(sha256(text.encode()).digest()[:4], "big") >> 1


def first_request(trial: Trial, condition: Condition, *, choices_scored: bool) -> Request:
    """What a trial asks in its first turn."""
    return request(trial, condition.render(trial.item), choices_scored=choices_scored)


def request(trial: Trial, messages: tuple[Message, ...], *, choices_scored: bool) -> Request:
    """These messages, with the trial's sampling and its own seed."""
    s = trial.sampling
    sampling = Sampling(s.temperature, s.max_tokens, trial_seed(trial), s.top_p, s.stop)
    return Request(messages, sampling, trial.item.choices if choices_scored else ())

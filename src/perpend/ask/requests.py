"""What a trial asks: its messages, with its sampling and a seed of its own."""

from __future__ import annotations

from hashlib import sha256

from perpend.ledger.plan import Trial
from perpend.types import Condition, Message, Request, Sampling


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

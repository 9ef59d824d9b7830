"""Steering by a probe's direction: add to one layer's residual stream, check that it arrived, see what changes.

Everything is done once with alpha 0 through the same code, and that is the baseline. Nothing is reported unless the
activations that the next layer is given have changed by what was added, where it was added, and nowhere else.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np
import torch
from torch import Tensor

from perpend.canon import JSON
from perpend.errors import ModelError
from perpend.inside.blocks import anatomy, in_batches, padded, received
from perpend.inside.probes import LinearProbe
from perpend.inside.prompts import TrialPrompt
from perpend.models.hf.candidates import read_at
from perpend.models.hf.checkpoint import Checkpoint
from perpend.models.hf.forest import Passage
from perpend.models.hf.provider import Transformers
from perpend.models.hf.push import Push, pushed
from perpend.spec.model import Budget
from perpend.stats import mean
from perpend.types import Estimate, Request, Response

Where: TypeAlias = Literal["answer", "all"]
"""'answer' is the answer position and every token after it, 'all' every token."""


@dataclass(frozen=True, slots=True)
class Steering:
    """What is added: alpha times `vector`, which is a probe's direction as long as its gap."""

    layer: int
    vector: Tensor
    where: Where


def steering(checkpoint: Checkpoint, probe: LinearProbe, where: Where) -> Steering:
    """Steer by a probe: alpha 1 moves an activation as far as its true statements lie from the false, on average."""
    vector = torch.from_numpy(probe.line.direction * probe.gap)
    return Steering(probe.layer, vector.to(checkpoint.model.device, checkpoint.model.dtype), where)


@dataclass(frozen=True, slots=True)
class Weighed:
    """The log-probability of each passage, and how far the change of the activations was from what was asked for.

    `error` is the largest difference in any coordinate, None for alpha 0.
    """

    totals: tuple[float, ...]
    error: float | None


@torch.inference_mode()
def weigh(
    checkpoint: Checkpoint, passages: Sequence[Passage], steer: Steering, alphas: Sequence[float]
) -> list[Weighed]:
    """The passages' log-probabilities, in nats, under alpha 0 and then under each of `alphas`.

    ModelError when the activations did not change as asked.
    """
    model, parts = checkpoint.model, anatomy(checkpoint.model)
    stems = [passage.stem for passage in passages]
    tokens = padded(stems).to(model.device)
    at = torch.arange(tokens.shape[1])[None]
    ends = torch.tensor([len(stem) for stem in stems])[:, None]
    starts = torch.tensor([passage.start for passage in passages])[:, None]
    real = (at < ends).to(model.device)
    chosen = real & ((at >= starts - 1).to(model.device) if steer.where == "answer" else real)
    scored = (at >= starts - 1) & (at < ends)
    places = scored.flatten().nonzero()[:, 0].to(model.device)
    tokens_after = [token for passage in passages for token in passage.tokens[passage.start :]]
    wanted = torch.tensor(tokens_after, device=model.device)
    owners = scored.nonzero()[:, 0]
    weighed: list[Weighed] = []
    before: Tensor | None = None
    for alpha in (0.0, *alphas):
        vector = alpha * steer.vector
        with ExitStack() as hooks:
            hooks.enter_context(pushed(parts.blocks[steer.layer], vector, chosen))
            seen = hooks.enter_context(received(parts, steer.layer))
            hooks.enter_context(read_at(model, places))
            logits = model(input_ids=tokens, use_cache=False).logits[0]
        before = seen[0] if before is None else before
        error = None if alpha == 0.0 else moved(before, seen[0], vector, chosen, real)
        values = logits.float().log_softmax(-1).gather(-1, wanted[:, None])[:, 0].double().cpu()
        totals = torch.zeros(len(passages), dtype=torch.float64).index_add_(0, owners, values)
        weighed.append(Weighed(tuple(totals.tolist()), error))
    return weighed


def moved(before: Tensor, after: Tensor, vector: Tensor, chosen: Tensor, real: Tensor) -> float:
    """The largest difference, over real tokens, between how activations changed and `vector` where chosen, 0 elsewhere.

    ModelError when it is more than rounding: adding to numbers of this size in this precision cannot be that wrong.
    """
    wanted = chosen[..., None] * vector
    wrong = float(((after.double() - before.double()) - wanted.double()).abs()[real].max())
    allowed = torch.finfo(before.dtype).eps * float(before.abs()[real].max() + vector.abs().max())
    if wrong > allowed:
        raise ModelError(
            f"steering did not arrive: the next layer's activations are {wrong:.3g} away from what was asked for"
            f" (rounding explains {allowed:.3g}); the results would not be those of this direction"
        )
    return wrong


def generate(
    provider: Transformers, requests: Sequence[tuple[int, Request]], steer: Steering, alpha: float
) -> dict[int, Response]:
    """The answers of the steered model, by key, many at a time; the provider is steered by nothing else meanwhile."""
    if provider.push is None:
        block = anatomy(provider.checkpoint.model).blocks[steer.layer]
        provider.push = Push(block, torch.empty_like(steer.vector), everywhere=steer.where == "all")
        provider.continuer = None
    provider.push.vector.copy_(alpha * steer.vector)  # what was recorded for one alpha serves the next
    answers: dict[int, Response] = {}
    for batch in provider.answer(iter(requests), Budget()):
        answers.update(batch)
    return answers


def steering_rows(
    provider: Transformers,
    entries: Sequence[TrialPrompt],
    steer: Steering,
    alphas: Sequence[float],
    batch_tokens: int,
    advance: Callable[[int], None] = lambda _: None,
) -> list[dict[str, JSON]]:
    """One line per trial and alpha: log-odds and text before (alpha 0) and after, under the trial's own sampling.

    Trials must have both candidates. Those of one prompt are weighed once, and generated each with its own seed.
    """
    pairs = list(dict.fromkeys(tuple(entry.passages.values()) for entry in entries))
    weighed: dict[tuple[Passage, ...], list[Weighed]] = {}

    def compute(batch: Sequence[tuple[Passage, ...]]) -> None:
        by_alpha = weigh(provider.checkpoint, [passage for pair in batch for passage in pair], steer, alphas)
        for place, pair in enumerate(batch):
            weighed[pair] = [Weighed(one.totals[2 * place : 2 * place + 2], one.error) for one in by_alpha]

    longest = [2 * max(len(passage.stem) for passage in pair) for pair in pairs]
    in_batches(pairs, longest, batch_tokens, compute)
    requests = [(entry.trial.trial, entry.request) for entry in entries]
    answers: list[dict[int, Response]] = []
    for alpha in (0.0, *alphas):
        answers.append(generate(provider, requests, steer, alpha))
        advance(len(entries))
    rows: list[dict[str, JSON]] = []
    for entry in entries:
        odds = [one.totals[1] - one.totals[0] for one in weighed[tuple(entry.passages.values())]]
        for number, alpha in enumerate(alphas, 1):
            before, after = answers[0][entry.trial.trial], answers[number][entry.trial.trial]
            row: dict[str, JSON] = {"trial": entry.trial.trial, "layer": steer.layer, "alpha": alpha}
            row |= {"log_odds_before": odds[0], "log_odds_after": odds[number]}
            row |= _answer("before", before) | _answer("after", after)
            row["activation_error"] = weighed[tuple(entry.passages.values())][number].error
            rows.append(row)
    return rows


def _answer(side: str, response: Response) -> dict[str, JSON]:
    return {f"text_{side}": response.text, f"finish_{side}": response.finish, f"error_{side}": response.error}


def steering_effects(rows: Iterable[dict[str, JSON]], items: dict[int, str]) -> dict[str, Estimate]:
    """For each alpha, as a string, the mean change of the log-odds of the decoy, clustered by item."""
    changes: dict[str, list[tuple[float, str]]] = {}
    for row in rows:
        trial, before, after = row["trial"], row["log_odds_before"], row["log_odds_after"]
        if isinstance(trial, int) and isinstance(before, float) and isinstance(after, float):
            changes.setdefault(f"{row['alpha']:g}", []).append((after - before, items[trial]))
    return {
        alpha: mean(np.array([change for change, _ in pairs]), [item for _, item in pairs])
        for alpha, pairs in changes.items()
    }

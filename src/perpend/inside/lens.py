"""Candidates, the logit lens and the residual stream at the answer position, all of one pass over each prompt."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from perpend.canon import JSON, clean_text
from perpend.errors import ModelError
from perpend.inside.blocks import ending, lens_parts, read
from perpend.inside.probes import Line
from perpend.inside.prompts import TrialPrompt
from perpend.models.base import UnreadableRequestError
from perpend.models.hf.candidates import Watch, Weigher
from perpend.models.hf.checkpoint import Checkpoint
from perpend.models.hf.forest import Passage
from perpend.types import Message

FloatArray: TypeAlias = npt.NDArray[np.float64]
Group: TypeAlias = tuple[Passage, ...]
_AT_ONCE = 1 << 26  # log-probabilities, of tokens and layers, that are looked through at once


@dataclass(frozen=True, slots=True)
class Readings:
    """What one pass over each prompt gives.

    The candidates' log-likelihoods by their passages; the lens's lines; and where each trial's answer position lies on
    the probes' lines, one for each layer.
    """

    logprobs: Mapping[Group, Sequence[FloatArray | None]]
    lens: list[dict[str, JSON]]
    projections: list[dict[str, JSON]]


@dataclass(frozen=True, slots=True)
class _Read:
    """What is kept of one pass, still on the device: the passages' numbers, and per passage and layer the rest."""

    numbers: list[int]
    tokens: Tensor
    """The likeliest next ones."""
    logprobs: Tensor
    """Theirs."""
    own: Tensor
    """The first tokens' of target and decoy."""
    ranks: Tensor
    """Those tokens' ranks."""
    values: Tensor
    """Passages × kinds of probes × layers."""


@dataclass(frozen=True, slots=True)
class Reader:
    """Reads some layers of a checkpoint."""

    checkpoint: Checkpoint
    weigher: Weigher
    layers: tuple[int, ...]

    def trials(
        self,
        entries: Sequence[TrialPrompt],
        top_k: int,
        lines: Mapping[str, Sequence[Line]],
        advance: Callable[[int], None] = lambda _: None,
    ) -> Readings:
        """All of it; `lines` are those of the probes of one kind, one for each layer.

        A line of the lens has the `top_k` likeliest next tokens of one layer, and of the first tokens of target and
        decoy their rank (1 is the likeliest; ties share the better one) and probability. Trials with the same prompt
        and candidates are read once.
        """
        readable = [entry for entry in entries if entry.passages]
        shared = Counter(tuple(entry.passages.values()) for entry in readable)
        groups, wholes = list(shared), dict[int, Group]()
        given: list[list[Passage]] = []
        first = 0
        for group in groups:
            silent = all(len(passage.tokens) == passage.start for passage in group)
            given.append([*group, ending(group[0].tokens)] if silent else [*group])
            heard = (n for n, passage in enumerate(given[-1], first) if len(passage.tokens) > passage.start)
            wholes[next(heard)] = group
            first += len(given[-1])
        parts, reads = lens_parts(self.checkpoint.model), list[_Read]()

        def take(numbers: list[int], streams: Tensor, logits: Tensor | None) -> None:
            assert logits is not None
            chosen = [wholes[number] for number in numbers]
            reads.append(self._read(numbers, chosen, streams, logits, top_k, lines))
            advance(sum(shared[group] for group in chosen))

        blocks = [parts.blocks[layer] for layer in self.layers]
        values = self.weigher.logprobs(given, Watch(blocks, parts.norm, frozenset(wholes), take))
        logprobs = {group: part[: len(group)] for group, part in zip(groups, values, strict=True)}
        lens, along = self._rows(readable, wholes, reads)
        projections: list[dict[str, JSON]] = [
            {"trial": entry.trial.trial, "layers": list(self.layers), **along[tuple(entry.passages.values())]}
            for entry in readable
            if lines and tuple(entry.passages.values()) in along
        ]
        rows = [
            {"trial": entry.trial.trial, **row}
            for entry in readable
            for row in lens.get(tuple(entry.passages.values()), ())
        ]
        return Readings(logprobs, rows, projections)

    def _read(
        self,
        numbers: list[int],
        groups: Sequence[Group],
        streams: Tensor,
        logits: Tensor,
        top_k: int,
        lines: Mapping[str, Sequence[Line]],
    ) -> _Read:
        """What is kept of one pass. The device computes all of it, and nothing is waited for."""
        device = streams.device
        firsts = torch.tensor([[*map(_first, group), 0][:2] for group in groups], device=device)
        size = max(1, _AT_ONCE // logits[0].numel())
        cut = (torch.split(values, size) for values in (logits, firsts))
        parts = [_looked_through(some, wanted, top_k) for some, wanted in zip(*cut, strict=True)]
        tokens, logprobs, own, ranks = (torch.cat(part) for part in zip(*parts, strict=True))
        values = streams.new_zeros(len(groups), 0, len(self.layers), dtype=torch.float64)
        if lines:
            weight = np.stack([[line.weight for line in kind] for kind in lines.values()])
            bias = np.array([[line.bias for line in kind] for kind in lines.values()])
            values = torch.einsum("nlw,klw->nkl", streams.double(), torch.from_numpy(weight).to(device))
            values += torch.from_numpy(bias).to(device)
        return _Read(numbers, tokens, logprobs, own, ranks, values)

    def _rows(
        self, readable: Sequence[TrialPrompt], wholes: Mapping[int, Group], reads: Sequence[_Read]
    ) -> tuple[dict[Group, list[dict[str, JSON]]], dict[Group, dict[str, JSON]]]:
        """The lens's lines and the projections of every group of passages, fetched from the device."""
        entry_of = {tuple(entry.passages.values()): entry for entry in readable}
        spelled = cache(lambda token: clean_text(str(self.checkpoint.tokenizer.decode([token]))))
        lens: dict[Group, list[dict[str, JSON]]] = {}
        along: dict[Group, dict[str, JSON]] = {}
        for part in reads:
            probs, own_probs = part.logprobs.double().exp().tolist(), part.own.double().exp().tolist()
            tokens, own, ranks = part.tokens.tolist(), part.own.double().tolist(), part.ranks.tolist()
            values = part.values.tolist()
            for row, number in enumerate(part.numbers):
                group = wholes[number]
                entry = entry_of[group]
                lens[group] = []
                for place, layer in enumerate(self.layers):
                    top: list[JSON] = [
                        {"id": token, "token": spelled(token), "prob": prob}
                        for token, prob in zip(tokens[row][place], probs[row][place], strict=True)
                    ]
                    line: dict[str, JSON] = {"layer": layer, "position": len(entry.prompt) - 1, "top": top}
                    for side, (role, passage) in enumerate(entry.passages.items()):
                        if len(passage.tokens) > passage.start:
                            line[role] = {
                                "id": _first(passage),
                                "rank": ranks[row][place][side],
                                "logprob": own[row][place][side],
                                "prob": own_probs[row][place][side],
                            }
                    lens[group].append(line)
                along[group] = dict(zip(PROJECTED, values[row], strict=False))
        return lens, along

    def statements(self, texts: Sequence[str]) -> dict[int, FloatArray]:
        """For each layer, text × width: the residual stream at the end of the prompt that asks a text as a user's."""
        try:
            prompts = [self.checkpoint.tokens(self.checkpoint.render([Message("user", text)])) for text in texts]
        except UnreadableRequestError as error:
            raise ModelError(f"a statement cannot be put to the model, so no probe can be trained: {error}") from None
        stacked = read(self.weigher, prompts, self.layers, vocabulary=False).residuals.double().numpy()
        return {layer: stacked[:, place] for place, layer in enumerate(self.layers)}


PROJECTED = ("values", "social")
"""The fields of a projection: on the lines of the truth probes, and of the social ones."""


def _first(passage: Passage) -> int:
    return passage.tokens[passage.start] if len(passage.tokens) > passage.start else 0


def _looked_through(logits: Tensor, firsts: Tensor, top_k: int) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Of passages × layers × vocabulary: the likeliest tokens, their log-probabilities, those of `firsts`, and ranks.

    Of equally likely tokens the one with the smaller number comes first, on every device: what is sorted are whole
    numbers, of which the upper half is in the order of the log-probabilities and the lower one is the token's.
    """
    shares = logits.float().log_softmax(-1) + 0.0  # no negative zero
    count = shares.shape[-1]
    bits = shares.view(torch.int32)
    ordered = torch.where(bits < 0, bits ^ 0x7FFFFFFF, bits).long()
    keys = ordered * (1 << 32) + torch.arange(count - 1, -1, -1, device=shares.device)
    tokens = count - 1 - (keys.topk(min(top_k, count), dim=-1).values & 0xFFFFFFFF)
    own = shares.gather(-1, firsts[:, None].expand(-1, shares.shape[1], -1))
    ranks = torch.stack([(shares > own[..., side, None]).sum(-1) + 1 for side in range(firsts.shape[1])], dim=-1)
    return tokens, shares.gather(-1, tokens), own, ranks

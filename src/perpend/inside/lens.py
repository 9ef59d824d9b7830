"""The logit lens and the residual stream at the answer position, for trials and for statements."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt
from torch import Tensor

from perpend.canon import JSON, clean_text
from perpend.errors import ModelError
from perpend.inside.blocks import in_batches, read
from perpend.inside.probes import Line
from perpend.inside.prompts import TrialPrompt
from perpend.models.base import UnreadableRequestError
from perpend.models.hf.checkpoint import Checkpoint
from perpend.types import Message

FloatArray: TypeAlias = npt.NDArray[np.float64]
Prompt: TypeAlias = tuple[int, ...]
R = TypeVar("R")


@dataclass(frozen=True, slots=True)
class Reader:
    """Reads some layers of a checkpoint, up to `batch_tokens` at once."""

    checkpoint: Checkpoint
    layers: tuple[int, ...]
    batch_tokens: int

    def trials(
        self,
        entries: Sequence[TrialPrompt],
        top_k: int,
        lines: Sequence[Line],
        advance: Callable[[int], None] = lambda _: None,
    ) -> tuple[list[dict[str, JSON]], list[dict[str, JSON]]]:
        """The lens's lines, and where each trial's answer position lies on the probes' lines, one for each layer.

        A line has the `top_k` likeliest next tokens of one layer, and of the first tokens of target and decoy their
        rank (1 is the likeliest; ties share the better one) and probability. Trials with the same prompt are read once.
        """
        readable = [entry for entry in entries if entry.passages]
        shared = Counter(entry.prompt for entry in readable)
        lens: dict[Prompt, list[dict[str, JSON]]] = {}
        values: dict[Prompt, list[float]] = {}

        def compute(batch: Sequence[TrialPrompt]) -> None:
            reading = read(self.checkpoint.model, [entry.prompt for entry in batch], self.layers, vocabulary=True)
            for row, entry in enumerate(batch):
                streams = reading.residuals[row].double().numpy()
                lens[entry.prompt] = self._lens(entry, reading.logprobs[row], top_k)
                values[entry.prompt] = [
                    float(line.value(stream)) for line, stream in zip(lines, streams, strict=bool(lines))
                ]
            advance(sum(shared[entry.prompt] for entry in batch))

        _by_length(list({entry.prompt: entry for entry in readable}.values()), _length, self.batch_tokens, compute)
        projections: list[dict[str, JSON]] = [
            {"trial": entry.trial.trial, "layers": list(self.layers), "values": values[entry.prompt]}
            for entry in readable
            if lines
        ]
        return [{"trial": entry.trial.trial, **row} for entry in readable for row in lens[entry.prompt]], projections

    def _lens(self, entry: TrialPrompt, logprobs: Tensor, top_k: int) -> list[dict[str, JSON]]:
        rows: list[dict[str, JSON]] = []
        for layer, given in zip(self.layers, logprobs, strict=True):
            # A stable sort: of equally likely tokens the one with the smaller number comes first, on every device.
            order = given.sort(descending=True, stable=True)
            top: list[JSON] = [
                {"id": token, "token": clean_text(str(self.checkpoint.tokenizer.decode([token]))), "prob": prob}
                for token, prob in zip(
                    order.indices[:top_k].tolist(), order.values[:top_k].double().exp().tolist(), strict=True
                )
            ]
            row: dict[str, JSON] = {"layer": layer, "position": len(entry.prompt) - 1, "top": top}
            for role, passage in entry.passages.items():
                if len(passage.tokens) > passage.start:
                    token = passage.tokens[passage.start]
                    own = given[token].double()
                    rank = int((given > given[token]).sum()) + 1
                    row[role] = {"id": token, "rank": rank, "logprob": float(own), "prob": float(own.exp())}
            rows.append(row)
        return rows

    def statements(self, texts: Sequence[str]) -> dict[int, FloatArray]:
        """For each layer, text × width: the residual stream at the end of the prompt that asks a text as a user's."""
        try:
            prompts = [self.checkpoint.tokens(self.checkpoint.render([Message("user", text)])) for text in texts]
        except UnreadableRequestError as error:
            raise ModelError(f"a statement cannot be put to the model, so no probe can be trained: {error}") from None
        residuals: dict[int, FloatArray] = {}

        def compute(batch: Sequence[tuple[int, Prompt]]) -> None:
            reading = read(self.checkpoint.model, [prompt for _, prompt in batch], self.layers, vocabulary=False)
            for (number, _), streams in zip(batch, reading.residuals, strict=True):
                residuals[number] = streams.double().numpy()

        _by_length(list(enumerate(prompts)), lambda entry: len(entry[1]), self.batch_tokens, compute)
        stacked = np.stack([residuals[number] for number in range(len(prompts))])
        return {layer: stacked[:, place] for place, layer in enumerate(self.layers)}


def _length(entry: TrialPrompt) -> int:
    return len(entry.prompt)


def _by_length(
    rows: Sequence[R], length: Callable[[R], int], batch_tokens: int, compute: Callable[[Sequence[R]], None]
) -> None:
    """The longest first, so that memory runs out early and rows of a batch are of like length."""
    ordered = sorted(rows, key=length, reverse=True)
    in_batches(ordered, [length(row) for row in ordered], batch_tokens, compute)

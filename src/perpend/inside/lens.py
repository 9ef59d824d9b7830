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
from perpend.inside.asked import Asked
from perpend.inside.blocks import in_batches, read
from perpend.inside.probes import Line
from perpend.models.hf.checkpoint import Checkpoint
from perpend.types import Message

FloatArray: TypeAlias = npt.NDArray[np.float64]
Prompt: TypeAlias = tuple[int, ...]
Found: TypeAlias = tuple[list[dict[str, JSON]], list[float]]
R = TypeVar("R")


@dataclass(frozen=True, slots=True)
class Reader:
    """Reads some layers of a checkpoint, so many tokens at once."""

    checkpoint: Checkpoint
    layers: tuple[int, ...]
    batch_tokens: int

    def trials(
        self,
        entries: Sequence[Asked],
        top_k: int,
        lines: Sequence[Line],
        advance: Callable[[int], None] = lambda _: None,
    ) -> tuple[list[dict[str, JSON]], list[dict[str, JSON]]]:
        """The lens's lines, and where each trial's answer position lies on the probes' lines, one for each layer.

        A line has the `top_k` likeliest next tokens of one layer, and of the first tokens of target and decoy their
        rank (1 is the likeliest; ties share the better one) and probability. Trials with the same prompt are read once.
        """
        asked = [entry for entry in entries if entry.passages]
        shared = Counter(entry.prompt for entry in asked)
        found: dict[Prompt, Found] = {}

        def compute(batch: Sequence[Asked]) -> None:
            reading = read(self.checkpoint.model, [entry.prompt for entry in batch], self.layers, vocabulary=True)
            for row, entry in enumerate(batch):
                streams = reading.residuals[row].double().numpy()
                values = [float(line.value(stream)) for line, stream in zip(lines, streams, strict=bool(lines))]
                found[entry.prompt] = self._lens(entry, reading.logprobs[row], top_k), values
            advance(sum(shared[entry.prompt] for entry in batch))

        _by_length(list({entry.prompt: entry for entry in asked}.values()), _length, self.batch_tokens, compute)
        told = [(entry.trial.trial, *found[entry.prompt]) for entry in asked]
        projections: list[dict[str, JSON]] = [
            {"trial": trial, "layers": list(self.layers), "values": values} for trial, _, values in told if values
        ]
        return [{"trial": trial, **line} for trial, lens, _ in told for line in lens], projections

    def _lens(self, entry: Asked, logprobs: Tensor, top_k: int) -> list[dict[str, JSON]]:
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
        prompts = [self.checkpoint.tokens(self.checkpoint.render([Message("user", text)])) for text in texts]
        found: dict[int, FloatArray] = {}

        def compute(batch: Sequence[tuple[int, Prompt]]) -> None:
            reading = read(self.checkpoint.model, [prompt for _, prompt in batch], self.layers, vocabulary=False)
            for (number, _), streams in zip(batch, reading.residuals, strict=True):
                found[number] = streams.double().numpy()

        _by_length(list(enumerate(prompts)), lambda entry: len(entry[1]), self.batch_tokens, compute)
        stacked = np.stack([found[number] for number in range(len(prompts))])
        return {layer: stacked[:, place] for place, layer in enumerate(self.layers)}


def _length(entry: Asked) -> int:
    return len(entry.prompt)


def _by_length(
    rows: Sequence[R], length: Callable[[R], int], batch_tokens: int, compute: Callable[[Sequence[R]], None]
) -> None:
    """The longest first, so that memory runs out early and rows of a batch are of like length."""
    ordered = sorted(rows, key=length, reverse=True)
    in_batches(ordered, [length(row) for row in ordered], batch_tokens, compute)

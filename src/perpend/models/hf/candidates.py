"""Log-likelihoods of many continuations, with every shared beginning computed once.

All passages of a batch stand as trees (see `forest`): each node has its own position, attends to its ancestors only,
and the vocabulary is computed only where a token is scored. Some architectures take no such attention; that is
established by trying, and their passages are rows of their own instead. What flows inside can be watched on the way.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import Module
from transformers import PreTrainedModel

from perpend.errors import ModelError
from perpend.models.hf.attention import has_own_attention, on_device, reading, sent
from perpend.models.hf.forest import Passage, grove_of, packed, row_of
from perpend.models.hf.layout import Laid, as_grove, in_rows, one_by_one, padded, seen

FloatArray = NDArray[np.float64]
Unit = list[tuple[int, Passage]]
"""Passages, by their numbers, that stay in one batch."""

ROW = 512
"""Nodes in a row: attention with a mask costs a row's square, and what does not fill a row is wasted."""
_FULL = 0.9  # a row shorter than this share of the longest in its batch begins a new one
_READS = 2048  # how many vocabularies are in full precision at once


@dataclass(frozen=True, slots=True)
class Watch:
    """What some blocks put out at the last token before the scored ones of some passages, by their numbers.

    `take` is given those of one pass at a time: their numbers; passages × blocks × width; and, with `norm`, the logits
    that the model would make of each of these, passages × blocks × vocabulary.
    """

    blocks: Sequence[Module]
    norm: Module | None
    passages: frozenset[int]
    take: Callable[[list[int], Tensor, Tensor | None], None]


@dataclass(slots=True)
class Weigher:
    """Scores passages with one model.

    `batch_tokens` is how many nodes, padding included, are computed at once; running out of memory halves it. `trees`
    False: the model follows none. `flat` None: as groves where the model's attention can be ours, otherwise in rows
    with a mask. `window` is the shortest reach of its attention, if any. `padded` False: a row that is no tree is
    computed alone, as it would differ beside longer ones. `steps` False: answers cannot be generated in places.
    """

    model: PreTrainedModel
    batch_tokens: int
    trees: bool = True
    window: int | None = None
    flat: bool | None = None
    padded: bool = True
    steps: bool = True

    def logprobs(
        self, groups: Sequence[Sequence[Passage]], watch: Watch | None = None
    ) -> list[list[FloatArray | None]]:
        """For each passage of each group the log-likelihoods, in nats, of its scored tokens, in order.

        None for a passage that the device has no memory for, even alone. Passages are numbered through for `watch`.
        """
        bounds = np.cumsum([0, *(len(group) for group in groups)])
        flat = [passage for group in groups for passage in group]
        logprobs: list[FloatArray | None] = [None] * len(flat)
        with on_device(self.model):
            queued = self._queued(groups, bounds.tolist(), watch)
        for laid, values in queued:
            numbers = values.double().cpu().numpy()
            cuts = np.flatnonzero(np.diff(laid.owners, prepend=-1))
            for at, part in zip(cuts, np.split(numbers, cuts[1:]), strict=True):
                logprobs[laid.owners[at]] = part
        silent = [len(passage.tokens) == passage.start for passage in flat]
        logprobs = [np.empty(0) if none else values for none, values in zip(silent, logprobs, strict=True)]
        return [logprobs[lo:hi] for lo, hi in pairwise(bounds)]

    @property
    def reach(self) -> int:
        """The longest text, in tokens, over which the model follows a tree; 0 where it follows none."""
        return 0 if not self.trees else self.window or 1 << 30

    @property
    def is_flat(self) -> bool:
        """Whether trees are groves."""
        return has_own_attention(self.model) if self.flat is None else self.flat

    def _queued(
        self, groups: Sequence[Sequence[Passage]], firsts: Sequence[int], watch: Watch | None
    ) -> list[tuple[Laid, Tensor]]:
        """Every batch that fits, with its values. The device runs ahead: nothing is fetched before all is queued."""
        queued: list[tuple[Laid, Tensor]] = []
        for units, cut, lay in self._kinds(groups, firsts):
            waiting = units
            while waiting:
                batches, waiting = cut(waiting), []
                for at, batch in enumerate(batches):
                    is_full = False
                    try:
                        laid = lay(batch)  # while the device computes the batch before
                        queued.append((laid, self._values(laid, watch)))
                    except torch.OutOfMemoryError:
                        is_full = True
                    if is_full:  # only here has the error let go of what it was raised in
                        torch.cuda.empty_cache()
                        self.batch_tokens = max(1, self.batch_tokens // 2)
                        # What does not fit alone is left out.
                        waiting = [unit for rest in batches[at + (len(batch) == 1) :] for unit in rest]
                        break
        return queued

    def _kinds(
        self, groups: Sequence[Sequence[Passage]], firsts: Sequence[int]
    ) -> list[tuple[list[Unit], Callable[[list[Unit]], list[list[Unit]]], Callable[[list[Unit]], Laid]]]:
        """Groups as trees where they can be, and other passages one by one; with how they are cut up and laid out."""
        numbered: list[Unit] = [
            [(number, one) for number, one in enumerate(group, first) if len(one.tokens) > one.start]
            for group, first in zip(groups, firsts, strict=False)
        ]
        fits = [self.trees and all(len(one.stem) <= self.reach for one in group) for group in groups]
        trees = [unit for unit, fit in zip(numbered, fits, strict=True) if fit and unit]
        lines = [[entry] for unit, fit in zip(numbered, fits, strict=True) if not fit for entry in unit]
        lines.sort(key=lambda unit: -len(unit[0][1].stem))  # the longest first, so that memory runs out early
        in_trees = (self._groves, self._grove) if self.is_flat else (self._tree_rows, self._rows)
        return [(trees, *in_trees), (lines, self._line_rows, self._lines)]

    def _groves(self, units: list[Unit]) -> list[list[Unit]]:
        packs = packed([[passage for _, passage in unit] for unit in units], self.batch_tokens, evenly=True)
        return [[units[number] for number in chosen] for _, chosen in packs]

    def _grove(self, units: list[Unit]) -> Laid:
        entries = [entry for unit in units for entry in unit]
        return as_grove(grove_of(row_of(entries)), self.model.device, self.model.dtype)

    def _tree_rows(self, units: list[Unit]) -> list[list[Unit]]:
        packs = self._packed(units, min(ROW, self.batch_tokens))
        counts = _in_batches([size for size, _ in packs], self.batch_tokens)
        return [[units[number] for _, chosen in packs[lo:hi] for number in chosen] for lo, hi in counts]

    def _rows(self, units: list[Unit]) -> Laid:
        packs = self._packed(units, min(ROW, self.batch_tokens))
        rows = [row_of([entry for number in chosen for entry in units[number]]) for _, chosen in packs]
        return in_rows(sorted(rows, key=len, reverse=True), self.model.device, self.model.dtype)

    def _line_rows(self, units: list[Unit]) -> list[list[Unit]]:
        if not self.padded:
            return [[unit] for unit in units]
        counts = _in_batches([len(unit[0][1].stem) for unit in units], self.batch_tokens)
        return [units[lo:hi] for lo, hi in counts]

    def _lines(self, units: list[Unit]) -> Laid:
        return one_by_one([row_of(unit) for unit in units], self.model.device)

    @staticmethod
    def _packed(units: list[Unit], limit: int) -> list[tuple[int, list[int]]]:
        return packed([[passage for _, passage in unit] for unit in units], limit)

    def _values(self, laid: Laid, watch: Watch | None) -> Tensor:
        """The log-likelihood of every read, on the device."""
        device = self.model.device
        places, back = np.unique(laid.reads, return_inverse=True)
        with torch.inference_mode(), seen(self.model, laid):
            if watch is None:
                with read_at(self.model, sent(places, device)):
                    logits = self.model(**laid.inputs, use_cache=False).logits[0]
            else:
                logits = self._watched(laid, places, watch)
            return _logprob(logits, sent(back, device), sent(laid.wanted, device))

    def _watched(self, laid: Laid, places: NDArray[np.int64], watch: Watch) -> Tensor:
        """The logits of some places; what is watched is handed over on the way."""
        device, kept = self.model.device, dict[int, Tensor]()
        firsts = np.flatnonzero(np.diff(laid.owners, prepend=-1))  # a passage's first read is the node before its first
        firsts = firsts[[int(owner) in watch.passages for owner in laid.owners[firsts]]]
        at = sent(laid.reads[firsts], device)

        def keeper(number: int) -> Callable[[Module, object, object], None]:
            def keep(_: Module, __: object, out: object) -> None:
                kept[number] = hidden_of(out).flatten(0, -2)[at]

            return keep

        def beside() -> Tensor | None:
            """What the output layer is given beside the places: each block's stream as if it were the last one's."""
            return None if watch.norm is None else watch.norm(stacked()).flatten(0, 1)

        def stacked() -> Tensor:
            return torch.stack([kept[number] for number in range(len(watch.blocks))], dim=1)

        with ExitStack() as hooks:
            for number, block in enumerate(watch.blocks):
                hooks.callback(block.register_forward_hook(keeper(number)).remove)
            hooks.enter_context(read_at(self.model, sent(places, device), beside))
            logits: Tensor = self.model(**laid.inputs, use_cache=False).logits[0]
        if len(firsts):
            shape = len(firsts), -1, logits.shape[-1]
            inner = logits[len(places) :].view(shape) if watch.norm is not None else None
            watch.take(laid.owners[firsts].tolist(), stacked(), inner)
        return logits[: len(places)]


def _in_batches(sizes: Sequence[int], batch_tokens: int) -> list[tuple[int, int]]:
    """Rows, the longest first, that are computed together: from which one to which."""
    cuts = [0]
    while cuts[-1] < len(sizes):
        cuts.append(cuts[-1] + batch_size(sizes[cuts[-1] :], batch_tokens))
    return list(pairwise(cuts))


def batch_size(sizes: Sequence[int], batch_tokens: int) -> int:
    """How many rows from the first, the longest, are computed at once: as many as fit, fewer where that saves padding.

    A quarter of a batch keeps the device as busy as all of it.
    """
    most = max(1, batch_tokens // padded(sizes[0]))
    for count, size in enumerate(sizes[:most]):
        if size < sizes[0] * _FULL and 4 * count >= most:
            return count
    return min(most, len(sizes))


@contextmanager
def read_at(
    model: PreTrainedModel, places: Tensor, beside: Callable[[], Tensor | None] = lambda: None
) -> Iterator[None]:
    """Inside, the model computes its vocabulary only at these places of the flattened batch, and after them `beside`.

    The hidden states are picked where the model hands them to its output layer, so whatever it does to logits later is
    still done.
    """

    def pick(_: object, inputs: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
        hidden, *others = inputs
        picked, more = hidden.flatten(0, -2)[places], beside()
        return ((picked if more is None else torch.cat((picked, more)))[None], *others)

    head: torch.nn.Module = model.get_output_embeddings()  # type: ignore[no-untyped-call]  # transformers does not say
    hook = head.register_forward_pre_hook(pick)
    try:
        with reading(places):
            yield
    finally:
        hook.remove()


def hidden_of(out: object) -> Tensor:
    """What a block puts out: a tensor, or a tuple that begins with it."""
    first = out[0] if isinstance(out, tuple) else out
    if not isinstance(first, Tensor):
        raise ModelError(f"a block puts out a {type(first).__name__}, not a tensor of activations")
    return first


def _logprob(logits: Tensor, rows: Tensor, wanted: Tensor) -> Tensor:
    """log softmax of logits[rows] at `wanted`, in single precision."""
    totals = torch.cat([part.float().logsumexp(-1) for part in torch.split(logits, _READS)])
    return logits[rows, wanted].float() - totals[rows]

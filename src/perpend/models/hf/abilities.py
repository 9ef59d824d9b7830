"""In which ways a model can be used that give what it gives for each text alone: established by reading and by trying.

Its configuration says what no short text shows: attention that ends after some thousand tokens, or that changes with
the position. What remains is tried on a few dozen tokens when it is loaded: rows of different lengths together, several
trees in one row, and places of different lengths, each against plain passes over single texts.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import count, islice

import numpy as np
import torch
from torch import Tensor
from transformers import PreTrainedConfig, PreTrainedModel

from perpend.errors import ModelError
from perpend.models.hf.attention import has_own_attention, on_device, own_attention
from perpend.models.hf.candidates import FloatArray, Weigher
from perpend.models.hf.checkpoint import UNLIMITED, token_limit
from perpend.models.hf.forest import Passage
from perpend.models.hf.fused import RAISED
from perpend.models.hf.places import Places
from perpend.types import Sampling

# Nats per token. float32 differs by 1e-5, so no token may differ by more than a hundred times that. In less precision a
# logit of 32 is rounded to a multiple of 1/4 (bfloat16) or 1/32 (float16), and a token may go to another expert: there
# the mean over all tokens counts. It is 0.05 to 0.15 and 0.01 in the embedded model.
_CLOSE_IN_FULL = 1e-3
_CLOSE = {torch.bfloat16: 0.4, torch.float16: 0.05}
# Names of settings of attention that sees not all of a text, or that depends on where in it a token is.
_LIMITED = re.compile(
    r"window|chunk|local_(?:att|layer|block)|temperature_tuning|floor_scale|_n_floor|position_scal|scaling_beta"
    r"|^index|compress|sparse_att"
)
# What they can be called without being one: the window that `_window` reads, and how states are computed in parts.
_HARMLESS = frozenset(
    (
        *("sliding_window", "use_sliding_window", "max_window_layers", "chunk_size_feed_forward", "chunk_size_lm_head"),
        *("sliding_window_pattern", "_sliding_window_pattern", "prefix_dense_sliding_window_pattern"),
        *("chunk_size", "mamba_chunk_size", "chunkwise_kernel", "max_inference_chunksize"),
        "llama_4_scaling_beta",  # by the positions that a model is given, in Ministral 3
    )
)
_LIMITED_KINDS = re.compile(r"chunk|local|sparse|compress")  # of layers
# Tokens of a beginning, and of what follows it: few, as a model on a CPU takes a hundredth of a second for one or two.
_GROUPS = ((3, (3, 4)), (9, (2, 4)), (5, (2,)))
_STEPS = 2
# In less precision the first passage is this long, and the second goes on this long after the beginning: over a few
# tokens a bias by the distance in a row would hide in rounding.
_LONG, _TAIL = 100, 32


def weigher(model: PreTrainedModel, batch_tokens: int) -> Weigher:
    """A Weigher that uses rows together, trees and places where the model computes the same in them as alone."""
    single = Weigher(model, batch_tokens, trees=False, flat=False, padded=False, steps=False)
    if limiting_setting(model.config.get_text_config()) is not None:
        return single
    room = min(_window(model) or UNLIMITED, token_limit(model)) - 8 if model.dtype in _CLOSE else 0
    groups = _drawn(model.config.get_text_config().vocab_size, room)
    # Where rounding is large: the second passage as it would be in a model that follows no tree, after the first.
    first, second = groups[0]
    behind = [Passage((*first.tokens, *second.tokens[second.start :]), len(first.tokens))]
    texts = (groups[0][1], groups[1][1])
    alone = [_plain(model, text.tokens) for text in texts]
    wanted = [_scored(shares, text) for shares, text in zip(alone, texts, strict=True)]
    plain = Weigher(model, batch_tokens, trees=False, window=_window(model), flat=False, steps=False)
    try:
        together = plain.logprobs([*groups, *([behind] if model.dtype in _CLOSE else [])])
    except RAISED:
        return single
    if not _close([together[0][1], together[1][1]], wanted, model.dtype):
        return single
    misled = together.pop()[0] if model.dtype in _CLOSE else None
    plain.padded = _long_rope(model) is None
    for flat in (True, False) if has_own_attention(model) else (False,):
        tried = Weigher(model, batch_tokens, window=plain.window, flat=flat)
        try:
            trees = tried.logprobs(groups)
        except RAISED:
            continue
        is_near = model.dtype not in _CLOSE or _is_nearer(trees[0][1], together[0][1], misled)
        if is_near and _close(_flat(trees), _flat(together), model.dtype):
            plain.trees, plain.flat = True, flat
            plain.steps = _steps_right(plain, texts, alone)
            break
    return plain


def limiting_setting(config: PreTrainedConfig) -> str | None:
    """The first setting that limits attention, or makes it depend on the position, in a way that is not known here."""
    for name, value in _settings(config.to_dict()):
        if value and name not in _HARMLESS and _LIMITED.search(name):
            return name
        if name == "layer_types" and isinstance(value, list | tuple) and any(map(_LIMITED_KINDS.search, value)):
            return name
    return None


def _settings(values: Mapping[str, object]) -> Iterator[tuple[str, object]]:
    """The settings, and those of the tables inside them."""
    for name, value in values.items():
        yield str(name), value
        if isinstance(value, dict):
            yield from _settings(value)


def _window(model: PreTrainedModel) -> int | None:
    """How far back the layer of shortest reach can see; None where every layer sees everything.

    Where the turn of every position depends on the longest one in a batch, it is where that begins: texts up to it are
    the same beside each other, longer ones only alone.
    """
    config, long = model.config.get_text_config(), _long_rope(model)
    kinds = getattr(config, "layer_types", None)
    window = getattr(config, "sliding_window", None)
    slides = kinds is None or any("sliding" in kind for kind in kinds)
    if not (slides and isinstance(window, int) and getattr(config, "use_sliding_window", True)):
        window = None
    return min((size for size in (window, long) if size is not None), default=None)


def _long_rope(model: PreTrainedModel) -> int | None:
    """The most tokens for which a 'longrope' takes its short factors; None where there is none."""
    config = model.config.get_text_config()
    sizes = []
    for _, table in _settings({"": config.to_dict()}):
        if isinstance(table, dict) and "longrope" in (table.get("rope_type"), table.get("type")):
            size = table.get("original_max_position_embeddings")
            sizes.append(size if isinstance(size, int) else 1)
    return min(sizes, default=None)


def _drawn(vocabulary: int, room: int) -> list[list[Passage]]:
    """Passages with one beginning in each group, of different lengths; of a long one the last tokens are scored.

    With `room` for more tokens the first two are longer: a few dozen do not show what rounding hides.
    """
    source = ((7 * n * n + 3 * n + 1) % vocabulary for n in count())
    groups = []
    for number, (length, tails) in enumerate(_GROUPS):
        begin = tuple(islice(source, length))
        drawn = [(*begin, *islice(source, tail)) for tail in tails]
        if number == 0:
            for at, most in enumerate((min(_LONG, room - _TAIL), min(length + _TAIL, room))):
                drawn[at] += tuple(islice(source, max(0, most - len(drawn[at]))))
        groups.append([Passage(tokens, max(length, len(tokens) - (_TAIL if room else 4))) for tokens in drawn])
    return groups


@torch.inference_mode()
def _plain(model: PreTrainedModel, tokens: Sequence[int]) -> Tensor:
    """The log-likelihood of every word of the vocabulary after each token of one text, by a pass over it alone."""
    try:
        with on_device(model):
            logits: Tensor = model(input_ids=torch.tensor([tokens], device=model.device), use_cache=False).logits[0]
    except RAISED as error:
        raise ModelError(
            f"{type(model).__name__}: transformers cannot compute a text of {len(tokens)} tokens with it:"
            f" {type(error).__name__}: {error}"
        ) from error
    return logits.float().log_softmax(-1)


def _scored(shares: Tensor, passage: Passage) -> FloatArray:
    at = torch.arange(passage.start - 1, len(passage.tokens) - 1)
    return shares[at, list(passage.tokens[passage.start :])].double().cpu().numpy()


def _flat(groups: Sequence[Sequence[FloatArray | None]]) -> list[FloatArray | None]:
    return [values for group in groups for values in group]


def _close(made: Sequence[FloatArray | None], wanted: Sequence[FloatArray | None], dtype: torch.dtype) -> bool:
    """Whether numbers differ by no more than rounding. None, for want of memory, does differ."""
    pairs = [(one, other) for one, other in zip(made, wanted, strict=True) if one is not None and other is not None]
    if len(pairs) < len(wanted):
        return False
    away = np.concatenate([abs(one - other) for one, other in pairs])
    return bool(away.mean() <= _CLOSE[dtype] if dtype in _CLOSE else away.max() <= _CLOSE_IN_FULL)


def _is_nearer(tree: FloatArray | None, alone: FloatArray | None, misled: FloatArray | None) -> bool:
    """Whether a tree comes closer to the text alone, by eight times, than the text after the other branch does.

    It is 16 to 62 times in random models of 1 and 7 billion parameters in bfloat16, 17 in the embedded one, and 6 or
    less in models that count distances in the row.
    """
    if tree is None or alone is None or misled is None:
        return False
    return bool(8 * abs(tree - alone).mean() <= abs(misled - alone).mean())


@torch.inference_mode()
def _steps_right(scorer: Weigher, texts: Sequence[Passage], alone: Sequence[Tensor]) -> bool:
    """Whether two texts of different lengths continue in places, by given tokens, as they do alone."""
    model, words = scorer.model, sorted({token for text in texts for token in text.tokens})
    prompts = [text.tokens[: -_STEPS - 1] for text in texts]
    if max(map(len, prompts)) + _STEPS > scorer.reach:
        prompts = [prompt[:4] for prompt in prompts]
    try:
        # Nothing is compiled for a trial.
        with on_device(model), own_attention(model), torch.compiler.set_stance("force_eager"):
            places = Places(model, len(texts), min(64, scorer.reach), flat=scorer.is_flat)
            places.admit(
                range(len(texts)), prompts, [Sampling(max_tokens=_STEPS + 1)] * len(texts), scorer.batch_tokens
            )
            for step in range(_STEPS):
                given = [text.tokens[len(prompt) + step] for text, prompt in zip(texts, prompts, strict=True)]
                logits = places.next_logits(torch.tensor(given, device=model.device))
                shares_now = logits.float().log_softmax(-1)[:, words].double().cpu().numpy()
                wanted = [
                    shares[len(prompt) + step, words].double().cpu().numpy()
                    for shares, prompt in zip(alone, prompts, strict=True)
                ]
                if not _close(list(shares_now), wanted, model.dtype):
                    return False
    except RAISED:
        return False
    return True

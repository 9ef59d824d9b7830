"""Tiny random checkpoints of six architectures, made in the test; and one that takes no mask."""

from __future__ import annotations

from functools import cache
from itertools import pairwise

import torch
from torch import Tensor
from transformers import (
    Gemma2Config,
    Gemma2ForCausalLM,
    GPT2Config,
    GPT2LMHeadModel,
    GPTNeoXConfig,
    GPTNeoXForCausalLM,
    LlamaConfig,
    LlamaForCausalLM,
    MambaConfig,
    MambaForCausalLM,
    MistralConfig,
    MistralForCausalLM,
    PreTrainedModel,
    Qwen2Config,
    Qwen2ForCausalLM,
)

from perpend.models.hf.fused import fuse

VOCABULARY = 97
LONGEST = 128
_SHAPE = {
    "vocab_size": VOCABULARY,
    "hidden_size": 32,
    "intermediate_size": 64,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "max_position_embeddings": LONGEST,
    "initializer_range": 0.3,
    "bos_token_id": 1,
    "eos_token_id": 2,
    "pad_token_id": 0,
}
ARCHITECTURES = ("llama", "qwen2", "gemma2", "gpt2", "mistral", "gpt_neox")


@cache
def tiny(name: str) -> PreTrainedModel:
    """Weights are large, so that what a token attends to shows in its probability. Fused, as the provider has it."""
    torch.manual_seed(0)
    torch.set_num_threads(1)
    made: PreTrainedModel
    match name:
        case "llama":
            made = LlamaForCausalLM(LlamaConfig(**_SHAPE))
        case "qwen2":
            made = Qwen2ForCausalLM(Qwen2Config(**_SHAPE))
        case "gemma2":
            made = Gemma2ForCausalLM(Gemma2Config(**_SHAPE, head_dim=8, sliding_window=24))
        case "mistral":
            made = MistralForCausalLM(MistralConfig(**_SHAPE, sliding_window=32))
        case "gpt_neox":
            made = GPTNeoXForCausalLM(GPTNeoXConfig(**_SHAPE))
        case "gpt2":
            made = GPT2LMHeadModel(
                GPT2Config(
                    vocab_size=VOCABULARY,
                    n_embd=32,
                    n_layer=2,
                    n_head=4,
                    n_positions=LONGEST,
                    initializer_range=0.3,
                    bos_token_id=1,
                    eos_token_id=2,
                )
            )
        case "mamba":
            made = MambaForCausalLM(
                MambaConfig(
                    vocab_size=VOCABULARY, hidden_size=32, state_size=8, num_hidden_layers=2, initializer_range=0.3
                )
            )
        case _:
            raise ValueError(name)
    made.eval()
    fuse(made)
    return made


def brute(model: PreTrainedModel, tokens: tuple[int, ...], start: int) -> list[float]:
    """log p of each token from `start` on, by one plain pass over the sequence alone."""
    with torch.inference_mode():
        logits = model(input_ids=torch.tensor([tokens[:-1]])).logits[0].double()
    shares = logits.log_softmax(-1)
    return [float(shares[at - 1, tokens[at]]) for at in range(start, len(tokens))]


def flash(  # noqa: PLR0917 - as torch has it
    query: Tensor,
    key: Tensor,
    value: Tensor,
    queries: Tensor,
    starts: Tensor,
    most_queries: int,
    most_keys: int,
    dropout: float,
    *,
    is_causal: bool,
    return_debug_mask: bool,
    scale: float | None,
    seqused_k: Tensor,
) -> tuple[Tensor, Tensor, None, None, None]:
    """What torch's kernel for texts of different lengths computes, which is on a GPU alone, by its definition."""
    assert {tensor.dtype for tensor in (queries, starts, seqused_k)} == {torch.int32}
    assert len(queries) == len(starts) == len(seqused_k) + 1
    assert (dropout, return_debug_mask) == (0.0, False)
    groups, parts, weights = query.shape[1] // key.shape[1], [], []
    for (lo, hi), start, used in zip(pairwise(queries.tolist()), starts.tolist(), seqused_k.tolist(), strict=False):
        assert 1 <= hi - lo <= most_queries
        assert 1 <= used <= most_keys
        keys, values = (states[start : start + used].repeat_interleave(groups, 1) for states in (key, value))
        scores = torch.einsum("qhd,khd->hqk", query[lo:hi], keys) * (scale or query.shape[-1] ** -0.5)
        if is_causal:
            scores = scores.masked_fill(torch.ones(scores.shape[1:], dtype=torch.bool).triu(1), -torch.inf)
        parts.append(torch.einsum("hqk,khd->qhd", scores.softmax(-1), values))
        weights.append(scores.logsumexp(-1))
    return torch.cat(parts), torch.cat(weights, 1), None, None, None

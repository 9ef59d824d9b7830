"""Architectures that cannot be used in every way: what they compute must be what they compute for each text alone."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
import torch
from torch import Tensor
from transformers import (
    GPTNeoConfig,
    GPTNeoForCausalLM,
    GPTNeoXJapaneseConfig,
    GPTNeoXJapaneseForCausalLM,
    JambaConfig,
    JambaForCausalLM,
    Llama4ForCausalLM,
    Llama4TextConfig,
    LlamaConfig,
    LlamaForCausalLM,
    MptConfig,
    MptForCausalLM,
    Phi3Config,
    Phi3ForCausalLM,
    PreTrainedConfig,
    PreTrainedModel,
    Qwen2Config,
    Qwen3Config,
)

from perpend.errors import ModelError
from perpend.models.hf import abilities
from perpend.models.hf.abilities import limiting_setting, weigher
from perpend.models.hf.candidates import Weigher
from perpend.models.hf.forest import Passage
from perpend.models.hf.fused import fuse
from perpend.models.hf.generate import Continuer, Prompt, continued_alone
from perpend.types import Sampling
from tests.more.torch.hf_models import _SHAPE, ARCHITECTURES, LONGEST, VOCABULARY, brute, tiny

CLOSE = 1e-4
SMALL = {"vocab_size": VOCABULARY, "initializer_range": 0.3, "bos_token_id": 1, "eos_token_id": 2}
LONG_ROPE = {
    "rope_type": "longrope",
    "rope_theta": 1e4,
    "factor": 4.0,
    "original_max_position_embeddings": 32,
    "short_factor": [1.0] * 4,
    "long_factor": [2.0, 3.0, 4.0, 5.0],
}


def mpt() -> PreTrainedModel:
    """Attention that falls off with the distance in the row, not in the text."""
    return MptForCausalLM(MptConfig(**SMALL, d_model=32, n_layers=2, n_heads=4, max_seq_len=LONGEST))


def gpt_neo() -> PreTrainedModel:
    """Every second layer sees 32 tokens, which is no sliding window by its name."""
    shape = {"hidden_size": 32, "num_layers": 2, "num_heads": 4, "max_position_embeddings": LONGEST}
    kinds = {"attention_types": [[["global", "local"], 1]], "window_size": 32}
    return GPTNeoForCausalLM(GPTNeoConfig(**SMALL, **shape, **kinds))


def llama4() -> PreTrainedModel:
    """Attention in chunks of 32 tokens, and scores that grow with the place in the row."""
    shape = {**_SHAPE, "head_dim": 8, "intermediate_size_mlp": 64, "num_local_experts": 2, "use_qk_norm": False}
    late = {"attention_chunk_size": 32, "attn_temperature_tuning": True, "floor_scale": 32, "attn_scale": 0.3}
    return Llama4ForCausalLM(Llama4TextConfig(**shape, **late, no_rope_layers=[1, 0], interleave_moe_layer_step=1))


def jamba() -> PreTrainedModel:
    kinds = {"attn_layer_period": 2, "attn_layer_offset": 1, "num_experts": 2, "num_experts_per_tok": 1}
    return JambaForCausalLM(JambaConfig(**_SHAPE, **kinds, use_mamba_kernels=False, mamba_d_state=8))


def phi3() -> PreTrainedModel:
    return Phi3ForCausalLM(
        Phi3Config(**_SHAPE, sliding_window=None, original_max_position_embeddings=32, rope_parameters=LONG_ROPE)
    )


def long_llama() -> PreTrainedModel:
    return LlamaForCausalLM(LlamaConfig(**_SHAPE, rope_parameters=LONG_ROPE))


def neox_japanese() -> PreTrainedModel:
    """Scores trees, and cannot take the cache of our places."""
    shape = {key: value for key, value in _SHAPE.items() if key not in ("intermediate_size", "num_key_value_heads")}
    return GPTNeoXJapaneseForCausalLM(GPTNeoXJapaneseConfig(**shape))


def made(build: Callable[[], PreTrainedModel]) -> tuple[PreTrainedModel, Weigher]:
    torch.manual_seed(0)
    torch.set_num_threads(1)
    model = build().eval()
    fuse(model)
    return model, weigher(model, 512)


ODD = [mpt, gpt_neo, llama4, jamba, phi3, long_llama, neox_japanese]


@pytest.mark.parametrize("build", ODD)
def test_candidates_have_the_scores_of_each_alone_whatever_is_beside_them(build: Callable[[], PreTrainedModel]) -> None:
    model, scorer = made(build)
    rng = np.random.default_rng(0)
    groups = []
    for length in (1, 5, 12, 30, 60, 90):
        begin = rng.integers(3, VOCABULARY, length).tolist()
        tails = [rng.integers(3, VOCABULARY, n).tolist() for n in (1, 4, 7)]
        groups.append([Passage((*begin, *tail), length) for tail in tails])
    for group, parts in zip(groups, scorer.logprobs(groups), strict=True):
        for passage, part in zip(group, parts, strict=True):
            assert part == pytest.approx(brute(model, passage.tokens, passage.start), abs=CLOSE)


@pytest.mark.parametrize(
    ("build", "trees", "padded", "steps"),
    [
        (mpt, False, True, False),
        (gpt_neo, False, False, False),
        (llama4, False, False, False),
        (jamba, False, True, False),
        (phi3, True, False, True),
        (long_llama, True, False, True),
        (neox_japanese, True, True, False),
    ],
)
def test_each_is_used_only_in_the_ways_in_which_it_is_right(
    build: Callable[[], PreTrainedModel], trees: bool, padded: bool, steps: bool
) -> None:
    _, scorer = made(build)
    assert (scorer.trees, scorer.padded, scorer.steps) == (trees, padded, steps)


@pytest.mark.parametrize("name", ARCHITECTURES)
def test_an_ordinary_model_is_used_in_every_way(name: str) -> None:
    scorer = weigher(tiny(name), 512)
    assert (scorer.trees, scorer.padded, scorer.steps) == (True, True, True)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_an_ordinary_model_is_used_in_every_way_in_less_precision(dtype: torch.dtype) -> None:
    torch.manual_seed(0)
    # Weights of the usual size: large ones turn rounding into other texts.
    model = LlamaForCausalLM(LlamaConfig(**{**_SHAPE, "initializer_range": 0.1})).to(dtype).eval()
    fuse(model)
    scorer = weigher(model, 512)
    assert (scorer.trees, scorer.flat, scorer.padded, scorer.steps) == (True, True, True, True)


@pytest.mark.parametrize("size", [0.05, 0.1, 0.3, 1.0])
@pytest.mark.parametrize("seed", range(4))
def test_a_bias_by_the_distance_in_the_row_is_not_taken_for_rounding_in_less_precision(size: float, seed: int) -> None:
    torch.manual_seed(seed)
    config = MptConfig(**{**SMALL, "initializer_range": size}, d_model=32, n_layers=2, n_heads=4, max_seq_len=LONGEST)
    for dtype in (torch.bfloat16, torch.float16):
        assert not weigher(MptForCausalLM(config).to(dtype).eval(), 512).trees


@pytest.mark.parametrize(("positions", "scored"), [(12, 4), (20, 9), (48, 32), (128, 32)])
def test_what_a_trial_in_less_precision_computes_fits_into_a_model_of_few_positions(
    positions: int, scored: int
) -> None:
    (first, second), *_ = abilities._drawn(97, positions - 8)
    assert len(second.tokens) - second.start == scored
    assert len(first.tokens) + scored <= positions


def test_answers_beside_a_long_one_are_those_of_whole_passes_where_the_turn_depends_on_the_longest() -> None:
    """Places are no longer than the texts whose positions are turned by the short factors, also for empty ones."""
    model, scorer = made(phi3)
    rng = np.random.default_rng(0)
    asked = [
        Prompt(key, tuple(rng.integers(3, VOCABULARY, n).tolist()), Sampling(max_tokens=32 - n))
        for key, n in enumerate((3, 20, 30, 8, 25))
    ]
    assert scorer.reach == 32
    continuer = Continuer(model, 3, frozenset(), 512, flat=scorer.is_flat, reach=scorer.reach)
    found = {one.key: one.tokens for batch in continuer.run(asked) for one in batch}
    assert continuer.kept is not None
    assert continuer.kept.length == 32
    assert found == {p.key: continued_alone(model, p, frozenset()).tokens for p in asked}


def test_a_row_that_changes_beside_a_longer_one_is_computed_alone() -> None:
    """A model that counts its positions from the end of the batch."""
    model = LlamaForCausalLM(LlamaConfig(**_SHAPE)).eval()
    own = model.model.embed_tokens.forward
    model.model.embed_tokens.forward = lambda tokens: own(tokens) * (1 + tokens.shape[1] / 8)
    scorer = weigher(model, 512)
    assert (scorer.trees, scorer.padded, scorer.steps) == (False, False, False)


def test_places_that_raise_or_differ_are_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    def one_more(self: abilities.Places, tokens: Tensor) -> Tensor:
        self.index.add_(1)
        return right(self, tokens)

    right = abilities.Places.next_logits
    monkeypatch.setattr(abilities.Places, "next_logits", one_more)
    scorer = weigher(tiny("llama"), 512)
    assert (scorer.trees, scorer.steps) == (True, False)


@pytest.mark.parametrize(
    ("config", "name"),
    [
        (LlamaConfig(), None),
        (Qwen2Config(), None),
        (Qwen2Config(use_sliding_window=True), None),
        (Qwen3Config(), None),
        (GPTNeoConfig(), "window_size"),
        (LlamaConfig(attention_chunk_size=8192), "attention_chunk_size"),
        (LlamaConfig(local_attention=128), "local_attention"),
        (LlamaConfig(attn_temperature_tuning=True), "attn_temperature_tuning"),
        (LlamaConfig(attn_temperature_tuning=False), None),
        (LlamaConfig(index_topk=2048), "index_topk"),
        (LlamaConfig(attention={"window_size": 8}), "window_size"),
        (LlamaConfig(num_local_experts=8, chunk_size_feed_forward=1), None),
        (LlamaConfig(num_hidden_layers=1, layer_types=["chunked_attention"]), "layer_types"),
    ],
)
def test_settings_that_limit_attention_are_found_by_name(config: PreTrainedConfig, name: str | None) -> None:
    assert limiting_setting(config) == name


def test_a_model_that_computes_nothing_at_all_says_so() -> None:
    model = LlamaForCausalLM(LlamaConfig(**_SHAPE)).eval()
    model.model.norm.forward = lambda hidden: hidden[0] @ hidden[0]
    with pytest.raises(ModelError, match="transformers cannot compute a text of 7 tokens"):
        weigher(model, 512)

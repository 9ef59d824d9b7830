from __future__ import annotations

from collections import Counter
from copy import deepcopy

import pytest
import torch
from torch import Tensor, nn
from transformers import (
    JambaConfig,
    JambaForCausalLM,
    LlamaConfig,
    LlamaForCausalLM,
    Ministral3Config,
    Ministral3ForCausalLM,
    OlmoConfig,
    OlmoForCausalLM,
    PreTrainedModel,
    Qwen3Config,
    Qwen3ForCausalLM,
)
from transformers.modeling_outputs import BaseModelOutputWithPast
from transformers.models.llama.modeling_llama import (
    LlamaAttention,
    LlamaDecoderLayer,
    LlamaMLP,
    LlamaModel,
    LlamaRMSNorm,
)

from perpend.models.hf import attention, fused, kernels
from perpend.models.hf.attention import REPLACED, own_attention
from perpend.models.hf.candidates import Weigher
from perpend.models.hf.forest import Passage
from perpend.models.hf.fused import fuse
from tests.more.torch.hf_models import _SHAPE, brute, flash, tiny
from tests.more.torch.test_models_hf_generate import answers, greedy, places, prompts


def llama() -> LlamaForCausalLM:
    torch.manual_seed(0)
    return LlamaForCausalLM(LlamaConfig(**_SHAPE)).eval()


def replaced(model: PreTrainedModel) -> Counter[str]:
    """How many modules of each class have a replacement."""
    return Counter(type(one.module).__name__ for one in getattr(model, REPLACED, ()))


@pytest.mark.parametrize("name", ["llama", "qwen2", "mistral"])
def test_every_layer_and_its_norms_mlp_and_attention_are_replaced(name: str) -> None:
    assert sorted(replaced(tiny(name)).values()) == [2, 2, 2, 5]


@pytest.mark.parametrize("name", ["gemma2", "gpt2", "gpt_neox", "mamba"])
def test_a_model_of_another_form_is_left_as_it_is(name: str) -> None:
    assert not replaced(tiny(name))


def test_attention_that_norms_its_queries_and_keys_is_replaced_and_answers_the_same() -> None:
    torch.manual_seed(0)
    model = Qwen3ForCausalLM(Qwen3Config(**_SHAPE, head_dim=8)).eval()
    fuse(model)
    assert sorted(replaced(model).values()) == [2, 2, 2, 9]
    assert answers(places(model, 4), prompts(9)) == greedy(model, prompts(9))


def test_what_computes_something_else_is_left_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    """A norm that adds its input, one with another epsilon than it says, another gate, a turn the other way."""
    model = llama()
    first, second = model.model.layers
    norm, other = first.input_layernorm, first.post_attention_layernorm
    monkeypatch.setattr(norm, "forward", lambda hidden: hidden + type(norm).forward(norm, hidden))
    monkeypatch.setattr(
        other, "forward", lambda hidden: nn.functional.rms_norm(hidden, (32,), None, 10 * other.variance_epsilon)
    )
    first.mlp.act_fn = nn.GELU()
    own = first.self_attn.forward

    def backwards(hidden_states: Tensor, **options: object) -> object:
        cos, sin = options.pop("position_embeddings")
        return own(hidden_states, position_embeddings=(cos, -sin), **options)

    monkeypatch.setattr(first.self_attn, "forward", backwards)
    fuse(model)
    assert {one.module for one in getattr(model, REPLACED)} == {
        second,
        second.input_layernorm,
        second.self_attn,
        second.post_attention_layernorm,
        second.mlp,
        model.model.norm,
    }


def test_a_replacement_that_is_wrong_is_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fused, "rms_norm", lambda hidden, weight, epsilon: hidden * weight)
    monkeypatch.setattr(fused, "gated", lambda gates, values: gates * values * torch.nan)
    monkeypatch.setattr(fused, "rotated", lambda states, heads, cos, sin: states[:, :, :heads] * cos[:, :, None])
    model = llama()
    fuse(model)
    assert not replaced(model)


def test_a_replacement_that_is_wrong_in_the_model_s_own_precision_is_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    right = kernels.rms_norm

    def wrong(hidden: Tensor, weight: Tensor, epsilon: float) -> Tensor:
        return right(hidden, weight, epsilon) * (1 if hidden.dtype == torch.float32 else 1.1)

    model = llama().bfloat16()
    monkeypatch.setattr(fused, "rms_norm", wrong)
    fuse(model)
    assert sorted(replaced(model)) == ["LlamaAttention", "LlamaDecoderLayer", "LlamaMLP"]


def test_a_layer_that_puts_out_a_tuple_or_adds_otherwise_is_left_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    model = llama()
    first, second = model.model.layers
    own, other = first.forward, second.forward
    monkeypatch.setattr(first, "forward", lambda hidden, **options: own(hidden, **options) + hidden)
    monkeypatch.setattr(second, "forward", lambda hidden, **options: (other(hidden, **options),))
    monkeypatch.setattr(model.model.norm, "forward", lambda hidden: hidden[0])
    fuse(model)
    assert replaced(model) == {"LlamaAttention": 2, "LlamaMLP": 2, "LlamaRMSNorm": 4}


def test_a_layer_leaves_its_input_as_it_was() -> None:
    model, kept = tiny("llama"), list[tuple[Tensor, Tensor]]()
    hooks = [
        layer.register_forward_pre_hook(lambda _, inputs: kept.append((inputs[0], inputs[0].clone())))
        for layer in model.model.layers
    ]
    with own_attention(model), torch.no_grad():
        model(input_ids=torch.tensor([[7, 8, 9]]))
    for hook in hooks:
        hook.remove()
    assert len(kept) == 2
    assert all(torch.equal(given, before) for given, before in kept)


def test_no_memory_for_the_trial_leaves_the_model_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> Tensor:
        raise torch.OutOfMemoryError("no room")

    monkeypatch.setattr(fused, "_joined", full)
    model = llama()
    fuse(model)
    assert "LlamaAttention" not in replaced(model)


def test_joined_weights_take_no_memory_of_their_own_and_stay_the_model_s() -> None:
    model = llama()
    before = {name: weight.clone() for name, weight in model.state_dict().items()}
    fuse(model)
    for layer in model.model.layers:
        parts = [layer.self_attn.q_proj, layer.self_attn.k_proj, layer.self_attn.v_proj]
        (storage,) = {part.weight.untyped_storage().data_ptr() for part in parts}
        assert storage
        assert parts[0].weight.untyped_storage().nbytes() == sum(part.weight.nbytes for part in parts)
    after = model.state_dict()
    assert before.keys() == after.keys()
    assert all(torch.equal(after[name], weight) for name, weight in before.items())
    model(input_ids=torch.tensor([[7, 8, 9]])).logits.sum().backward()  # not barred from other use
    assert model.model.layers[0].self_attn.k_proj.weight.grad is not None


def test_outside_own_attention_the_modules_are_the_model_s() -> None:
    model = tiny("llama")
    with own_attention(model):
        assert all("forward" in vars(one.module) for one in getattr(model, REPLACED))
    assert not any("forward" in vars(module) for module in model.modules())


def test_a_model_that_is_cast_or_given_other_weights_later_is_followed() -> None:
    model = llama()
    fuse(model)
    model.double()
    assert answers(places(model, 3), prompts(5)) == greedy(model, prompts(5))
    other = deepcopy(model.model.layers[1].self_attn.k_proj.weight.data)
    model.model.layers[0].self_attn.k_proj.weight.data = other
    assert answers(places(model, 3), prompts(5)) == greedy(model, prompts(5))


def test_our_own_attention_is_not_used_where_it_computes_something_else(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(attention, "flash", flash)
    monkeypatch.setattr(kernels, "attended", lambda query, *_: query + 1)
    model, asked = tiny("llama"), prompts(6)
    continuer = places(model, 4)
    assert answers(continuer, asked) == greedy(model, asked)
    assert continuer.kept is not None
    assert continuer.kept.by_extent
    assert not continuer.kept.by_kernel


class _ClippedNorm(LlamaRMSNorm):
    def forward(self, hidden_states: Tensor) -> Tensor:
        return super().forward(hidden_states.clamp(-99, 99))


class _ClippedMLP(LlamaMLP):
    def forward(self, x: Tensor) -> Tensor:
        return self.down_proj(self.act_fn(self.gate_proj(x)) * self.up_proj(x).clamp(-99, 99))


class _CalledMLP(LlamaMLP):
    def __call__(self, x: Tensor) -> Tensor:
        return super().__call__(x) * (1 if x.shape[1] < 32 else 0.5)


class _LateAttention(LlamaAttention):
    def forward(self, hidden_states: Tensor, **options: object) -> tuple[Tensor, Tensor | None]:
        return super().forward(hidden_states * (1 + options["position_ids"][..., None] // 32), **options)


class _LateLayer(LlamaDecoderLayer):
    def forward(self, hidden_states: Tensor, **options: object) -> Tensor:
        return super().forward(hidden_states, **options) * (1 if hidden_states.shape[1] < 32 else 0.5)


@pytest.mark.parametrize("other", [_ClippedNorm, _ClippedMLP, _CalledMLP, _LateAttention, _LateLayer])
def test_a_subclass_that_differs_where_no_trial_looks_is_left_as_it_is(other: type[nn.Module]) -> None:
    """And so is the layer of an MLP that differs, which a layer would compute itself."""
    model = llama()
    for module in model.modules():
        if type(module) is other.__base__:
            module.__class__ = other
    fuse(model)
    left = {other.__name__} | ({"LlamaDecoderLayer"} if other.__base__ is LlamaMLP else set())
    assert not left & replaced(model).keys()
    assert len(replaced(model)) == 4 - len(left)


def test_attention_that_is_scaled_by_position_or_clipped_is_left_as_it_is() -> None:
    torch.manual_seed(0)
    late = {"rope_type": "yarn", "rope_theta": 1e4, "factor": 4.0, "original_max_position_embeddings": 32}
    scaled = Ministral3ForCausalLM(Ministral3Config(**_SHAPE, rope_parameters={**late, "llama_4_scaling_beta": 0.5}))
    clipped = OlmoForCausalLM(OlmoConfig(**_SHAPE, clip_qkv=99.0))
    for model in (scaled.eval(), clipped.eval()):
        fuse(model)
        kinds = replaced(model)
        assert kinds[f"{type(model).__name__.removesuffix('ForCausalLM')}MLP"] == 2
        assert not any("Attention" in kind for kind in kinds)


def test_a_layer_whose_mlp_failed_its_trial_is_left_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    right = fused._is_same
    monkeypatch.setattr(
        fused, "_is_same", lambda form, module, call: form is not fused._gated_mlp and right(form, module, call)
    )
    model = llama()
    fuse(model)
    assert replaced(model) == {"LlamaAttention": 2, "LlamaRMSNorm": 5}


def test_what_hangs_on_a_part_is_called_whether_it_came_before_or_after_the_replacements() -> None:
    model, called = llama(), list[str]()
    first, second = model.model.layers
    first.mlp.register_forward_hook(lambda *_: called.append("before"))
    fuse(model)
    assert replaced(model)["LlamaMLP"] == replaced(model)["LlamaDecoderLayer"] == 1
    called.clear()
    second.mlp.register_forward_hook(lambda *_: called.append("after"))
    second.self_attn.k_proj.register_forward_pre_hook(lambda *_: called.append("keys"))
    with own_attention(model), torch.no_grad():
        model(input_ids=torch.tensor([[7, 8, 9]]))
    assert called == ["before", "keys", "after"]


def test_a_copy_of_a_model_computes_with_its_own_weights() -> None:
    model = llama()
    fuse(model)
    other = deepcopy(model)
    for weight in other.parameters():
        weight.data.mul_(0.5)
    assert replaced(model)
    assert answers(places(other, 3), prompts(5)) == greedy(other, prompts(5)) != greedy(model, prompts(5))


def test_a_model_that_keeps_more_than_keys_and_values_of_a_text_is_no_obstacle() -> None:
    """Layers of states between layers of attention: no cache of ours holds them."""
    torch.manual_seed(0)
    kinds = {"attn_layer_period": 2, "attn_layer_offset": 1, "num_experts": 2, "num_experts_per_tok": 1}
    model = JambaForCausalLM(JambaConfig(**_SHAPE, **kinds, use_mamba_kernels=False, mamba_d_state=8)).eval()
    fuse(model)
    assert replaced(model)["JambaRMSNorm"]


def rows_of_mlps(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many nodes each MLP that is called from now on is computed for."""
    rows, right = list[int](), kernels.gated

    def counted(gates: Tensor, values: Tensor) -> Tensor:
        rows.append(gates.flatten(0, -2).shape[0])
        return right(gates, values)

    monkeypatch.setattr(fused, "gated", counted)
    return rows


GROUPS = [[Passage((7, 8, 9, 10, 11, *tail), 5) for tail in ((12, 13), (14,), (12, 15, 16))]]
NODES, READ = 7, 3  # five of the beginning and two of a branch; the last of the beginning and the branch


@pytest.mark.parametrize("name", ["llama", "qwen2", "mistral"])
def test_the_last_mlp_is_computed_where_it_is_read_alone(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    model = tiny.__wrapped__(name)  # a new one: transformers hangs on layers for ever what once asked for their states
    rows = rows_of_mlps(monkeypatch)
    scores = Weigher(model, 512).logprobs(GROUPS)
    assert rows == [NODES, READ]
    for passage, part in zip(GROUPS[0], scores[0], strict=True):
        assert part == pytest.approx(brute(model, passage.tokens, passage.start), abs=1e-4)


@pytest.mark.parametrize("watched", ["layers.1", "norm", ""])
def test_whoever_watches_the_last_layer_or_what_comes_after_it_sees_every_token(
    watched: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = llama()
    fuse(model)
    rows = rows_of_mlps(monkeypatch)
    hook = model.model.get_submodule(watched).register_forward_hook(lambda *_: None)
    Weigher(model, 512).logprobs(GROUPS)
    hook.remove()
    Weigher(model, 512).logprobs(GROUPS)
    assert rows == [NODES, NODES, NODES, READ]


class _MixingModel(LlamaModel):
    def forward(self, *inputs: object, **options: object) -> BaseModelOutputWithPast:
        output = super().forward(*inputs, **options)
        output.last_hidden_state = output.last_hidden_state.cumsum(1)
        return output


def test_a_model_that_mixes_tokens_after_its_last_layer_is_computed_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    model = llama()
    model.model.__class__ = _MixingModel
    fuse(model)
    rows = rows_of_mlps(monkeypatch)
    Weigher(model, 512).logprobs(GROUPS)
    assert rows == [NODES, NODES]

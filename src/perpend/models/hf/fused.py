"""What a model's modules compute, in fewer operations: RMS norms, gated MLPs, attention with rotary positions, layers.

A step of generation is more than a thousand small operations, and most take longer to begin than to compute:
transformers writes an RMS norm as eight of them and a rotation as ten. A module is recognised by its parts and by its
code, which is that of Llama, Mistral, Qwen2 or Qwen3 (see `likeness`), and then tried: it and its replacement are given
the same random input, in single precision and in the model's own, and where they differ it is left as it is. A
replacement is used inside `own_attention` alone; elsewhere the model is as transformers made it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import deepcopy

import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.nn.attention import SDPBackend, sdpa_kernel
from transformers import Cache, PreTrainedModel
from transformers.activations import ACT2FN

from perpend.errors import ModelError
from perpend.models.hf.attention import (
    REPLACED,
    Replacement,
    Replacements,
    attention,
    has_own_attention,
    is_hooked,
    on_device,
    read_places,
)
from perpend.models.hf.candidates import hidden_of
from perpend.models.hf.kernels import gated, rms_norm, rotated
from perpend.models.hf.layout import tree_mask
from perpend.models.hf.likeness import is_like

Forward = Callable[..., object]
Form = Callable[[nn.Module], Forward]
_Call = tuple[tuple[object, ...], dict[str, object]]
_QKV = ("q_proj", "k_proj", "v_proj")
_LAYER = ("input_layernorm", "self_attn", "post_attention_layernorm", "mlp")
_ATTENTION = ("llama.LlamaAttention", "mistral.MistralAttention", "qwen2.Qwen2Attention")
_LAYERS = (
    "llama.LlamaDecoderLayer",
    "mistral.MistralDecoderLayer",
    "qwen2.Qwen2DecoderLayer",
    "qwen3.Qwen3DecoderLayer",
)
_DECODERS = ("llama.LlamaModel", "mistral.MistralModel", "qwen2.Qwen2Model", "qwen3.Qwen3Model")
RAISED = (
    *(RuntimeError, TypeError, ValueError, AttributeError, LookupError, AssertionError, ArithmeticError),
    *(ImportError, ModelError),
)
"""What models raise that take no mask, no positions or no such cache, and torch where shapes or memory do not suffice.

A trial that ends with one of these has failed, and the model is used in the way that needs no trial.
"""
_SCALES = (1e-3, 0.1, 1.0, 2.0)  # of the rows of random input: small ones show another epsilon, large ones a cap
_CLOSE = 1e-3  # in float32, of the largest number of a row; 1e-6 is usual
_ROUNDED = 0.05  # in less precision, in the rows of small numbers: bfloat16 rounds to less than a hundredth


class _Recorder(Cache):
    """Keeps what a layer would put into a cache, and shows the layer its own states."""

    def __init__(self) -> None:
        super().__init__(layers=[])
        self.states: list[Tensor] = []

    def update(self, key_states: Tensor, value_states: Tensor, *_: object, **__: object) -> tuple[Tensor, Tensor]:
        """The states as they came."""
        self.states = [key_states, value_states]
        return key_states, value_states

    def get_seq_length(self, *_: object) -> int:
        """Asked by models to number positions, which are given here."""
        return 0


@torch.no_grad()
def fuse(model: PreTrainedModel) -> None:
    """Find a replacement for each module that has one; a model that has attention of its own is left as it is.

    The weights of queries, keys and values become one tensor, of which the modules keep views: memory does not grow.
    """
    if not has_own_attention(model):
        return
    replaced = Replacements()
    passed: set[nn.Module] = set()
    last, after = _end_of(model)
    with on_device(model), sdpa_kernel(SDPBackend.MATH):  # others are prepared for a second or more at their first use
        try:
            calls = _calls(model)
        except RAISED:
            return
        # A layer computes its MLP itself: it comes last, and only if that MLP may be replaced.
        for module, call in sorted(calls.items(), key=lambda entry: _form(entry[0]) is _layer):
            form = _form(module)
            if form is None or (form is _layer and module.mlp not in passed):
                continue
            if _is_same(form, module, call):
                passed.add(module)
                forward = _last_layer(module, after) if module is last else form(module)
                replaced.append(Replacement(module, forward, _passed_over(module)))
    setattr(model, REPLACED, replaced)


def _end_of(model: PreTrainedModel) -> tuple[nn.Module | None, tuple[nn.Module, ...]]:
    """The last layer of a decoder that mixes no tokens after it, and what comes after it; None of any other."""
    decoder: nn.Module = model.get_decoder()  # type: ignore[no-untyped-call]  # transformers does not say
    if not is_like(decoder, _DECODERS):
        return None, ()
    *_, last = decoder.get_submodule("layers").children()
    return last, (decoder.get_submodule("norm"), decoder)


def _calls(model: PreTrainedModel) -> dict[nn.Module, _Call]:
    """How each module of a known form is called in a pass over four rows of six tokens."""
    calls: dict[nn.Module, _Call] = {}

    def keep(module: nn.Module, inputs: tuple[object, ...], options: dict[str, object]) -> None:
        calls.setdefault(module, (inputs, options))

    known = [module for module in model.modules() if _form(module) is not None and not is_hooked(module)]
    hooks = [module.register_forward_pre_hook(keep, with_kwargs=True) for module in known]
    try:
        positions = torch.arange(6, device=model.device).expand(len(_SCALES), -1)
        model(
            input_ids=torch.ones_like(positions),
            position_ids=positions,
            attention_mask=tree_mask(torch.full_like(positions, 6), model.dtype),
            use_cache=False,  # what some models keep of a text is more than keys and values
        )
    finally:
        for hook in hooks:
            hook.remove()
    return calls


def _form(module: nn.Module) -> Form | None:
    """What makes the replacement of a module that has the parts and the code of one."""
    parts = dict(module.named_children())
    if not parts and [name for name, _ in module.named_parameters()] == ["weight"] and _epsilon(module) is not None:
        return _norm if is_like(module, ("llama.LlamaRMSNorm",)) else None
    if parts.keys() == {"gate_proj", "up_proj", "down_proj", "act_fn"}:
        is_silu = type(parts["act_fn"]) in {nn.SiLU, type(ACT2FN["silu"])}
        return _gated_mlp if is_silu and is_like(module, ("llama.LlamaMLP",)) else None
    if {*_QKV, "o_proj"} <= parts.keys() <= {*_QKV, "o_proj", "q_norm", "k_norm"}:
        joined = [parts[name] for name in _QKV]
        # A subclass may hold packed numbers; and all of them or none have a bias.
        if all(type(part) is nn.Linear for part in joined) and len({part.bias is None for part in joined}) == 1:
            return (
                _attention if is_like(module, ("qwen3.Qwen3Attention",) if "q_norm" in parts else _ATTENTION) else None
            )
    if parts.keys() == {*_LAYER} and _form(parts["mlp"]) is _gated_mlp and is_like(module, _LAYERS):
        down = parts["mlp"].down_proj
        return _layer if type(down) is nn.Linear and down.bias is None else None
    return None


def _passed_over(module: nn.Module) -> tuple[nn.Module, ...]:
    """The parts that a module calls and its replacement does not: what hangs on them would not be called either."""
    if isinstance(mlp := getattr(module, "mlp", None), nn.Module):
        return mlp, mlp.get_submodule("act_fn"), mlp.get_submodule("down_proj")
    return tuple(part for name, part in module.named_children() if name in {*_QKV, "act_fn"})


def _epsilon(module: nn.Module) -> float | None:
    epsilon = getattr(module, "variance_epsilon", getattr(module, "eps", None))
    return epsilon if isinstance(epsilon, float) else None


def _is_same(form: Form, module: nn.Module, call: _Call) -> bool:
    """Whether a module and its replacement compute the same: a copy of it in float32, and the module itself."""
    dtype = next(module.parameters()).dtype
    try:
        away = _apart(form, deepcopy(module).float(), call, torch.float32)
        if not bool(away.max() <= _CLOSE):
            return False
        return dtype == torch.float32 or bool(_apart(form, module, call, dtype)[:2].max() <= _ROUNDED)
    except RAISED:
        return False


def _apart(form: Form, module: nn.Module, call: _Call, dtype: torch.dtype) -> Tensor:
    """How far a module and its replacement are apart, by rows, as a share of the largest number of each."""
    generator = torch.Generator().manual_seed(0)

    def cast(value: object) -> object:
        if isinstance(value, tuple):
            return tuple(map(cast, value))
        return value.to(dtype) if isinstance(value, Tensor) and value.is_floating_point() else value

    def drawn(hidden: object) -> object:
        if not isinstance(hidden, Tensor):
            raise TypeError("a module whose first input is no tensor")
        scales = torch.tensor(_SCALES).view(-1, *[1] * (hidden.dim() - 1))
        return (torch.randn(hidden.shape, generator=generator) * scales).to(hidden.device, dtype)

    inputs, options = call
    positional = tuple(drawn(value) if at == 0 else cast(value) for at, value in enumerate(inputs))
    named = {key: drawn(value) if key == "hidden_states" else cast(value) for key, value in options.items()}
    outs: list[list[Tensor]] = []
    kinds: set[type] = set()
    for forward in (module.forward, form(module)):
        recorder = _Recorder()
        if "past_key_values" in named:
            named["past_key_values"] = recorder
        out = forward(*positional, **named)
        kinds.add(type(out))
        outs.append([hidden_of(out), *recorder.states])
    shares = []
    for wanted, made in zip(*outs, strict=True):
        if (wanted.shape, wanted.dtype) != (made.shape, made.dtype) or len(kinds) > 1:
            raise TypeError("a replacement that puts out something else")
        away, size = (values.float().abs().flatten(1).amax(1) for values in (wanted - made, wanted))
        shares.append(away / size)
    return torch.stack(shares).amax(0)


@torch.inference_mode(False)  # what is made there is barred from other use, and the weights are the model's
@torch.no_grad()
def _joined(parts: Sequence[nn.Linear]) -> tuple[Tensor, Tensor | None]:
    """The weights and biases of several matrices as one, of which they become views."""
    weight = torch.cat([part.weight.data for part in parts])
    bias = torch.cat([part.bias.data for part in parts]) if parts[0].bias is not None else None
    sizes = [part.out_features for part in parts]
    for part, own in zip(parts, torch.split(weight, sizes), strict=True):
        part.weight.data = own
    if bias is not None:
        for part, own in zip(parts, torch.split(bias, sizes), strict=True):
            part.bias.data = own
    return weight, bias


def _norm(module: nn.Module) -> Forward:
    epsilon = _epsilon(module)
    assert epsilon is not None

    def forward(hidden_states: Tensor) -> Tensor:
        return rms_norm(hidden_states, module.weight, epsilon)  # type: ignore[arg-type]  # `_form` has seen to it

    return forward


def _gated_mlp(module: nn.Module) -> Forward:
    gate, up, down = (getattr(module, name) for name in ("gate_proj", "up_proj", "down_proj"))

    def forward(hidden_states: Tensor) -> object:
        return down(gated(gate(hidden_states), up(hidden_states)))

    return forward


def _attention(module: nn.Module) -> Forward:
    """Queries, keys and values from one product; queries and keys are rotated together."""
    q_proj, k_proj, v_proj, o_proj = (getattr(module, name) for name in (*_QKV, "o_proj"))
    norms = [getattr(module, name) for name in ("q_norm", "k_norm") if hasattr(module, name)]
    size, scale, number = (getattr(module, name) for name in ("head_dim", "scaling", "layer_idx"))
    joined = (q_proj, k_proj, v_proj)
    heads = [part.out_features // size for part in joined]
    weight, bias = _joined(joined)
    at = [part.weight.data_ptr() for part in joined]

    def forward(
        hidden_states: Tensor,
        position_embeddings: tuple[Tensor, Tensor],
        attention_mask: Tensor | None = None,
        past_key_values: Cache | None = None,
        **options: object,
    ) -> tuple[object, None]:
        nonlocal weight, bias, at
        if at != [part.weight.data_ptr() for part in joined]:  # the model was moved or cast since
            weight, bias = _joined(joined)
            at = [part.weight.data_ptr() for part in joined]
        shape = hidden_states.shape[:-1]
        states = functional.linear(hidden_states, weight, bias).view(*shape, -1, size)
        value = states[:, :, heads[0] + heads[1] :].transpose(1, 2)
        if norms:
            normed = (norm(part.contiguous()) for norm, part in zip(norms, torch.split(states, heads, 2), strict=False))
            query, key = (rotated(part, part.shape[2], *position_embeddings).transpose(1, 2) for part in normed)
        else:
            turned = rotated(states, heads[0] + heads[1], *position_embeddings).transpose(1, 2)
            query, key = torch.split(turned, heads[:2], 1)
        if past_key_values is not None:
            key, value = past_key_values.update(key, value, number)
        attended, _ = attention(module, query, key, value, attention_mask, scaling=scale, **options)
        return o_proj(attended.reshape(*shape, -1)), None

    return forward


def _layer(module: nn.Module) -> Forward:
    """What the MLP gives is added by the product that makes it: its sum with the stream is not an operation more."""
    first_norm, attend, second_norm, mlp = (getattr(module, name) for name in _LAYER)
    gate, up, down = (getattr(mlp, name) for name in ("gate_proj", "up_proj", "down_proj"))

    def forward(hidden_states: Tensor, *, places: Tensor | None = None, **options: object) -> Tensor:
        stream: Tensor = hidden_states + attend(first_norm(hidden_states), **options)[0]
        nodes = stream.flatten(0, -2)
        read = nodes if places is None else nodes[places]
        hidden = second_norm(read)
        read.addmm_(gated(gate(hidden), up(hidden)), down.weight.t())
        if places is not None:
            nodes[places] = read
        return stream

    return forward


def _last_layer(module: nn.Module, after: Sequence[nn.Module]) -> Forward:
    """Its MLP is computed for what is read alone, where nothing else may look at it or at what comes after it."""
    plain = _layer(module)

    def forward(hidden_states: Tensor, **options: object) -> object:
        places = None if any(map(is_hooked, (module, *after))) else read_places()
        return plain(hidden_states, places=places, **options)

    return forward

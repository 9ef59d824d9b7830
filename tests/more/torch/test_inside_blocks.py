"""Layers of small random models: where they are, what the lens reads in them, and what steering does to them."""

from __future__ import annotations

import copy

import numpy as np
import pytest
import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers
from torch import Tensor
from transformers import (
    AutoModelForCausalLM,
    Gemma2Config,
    GPT2Config,
    LlamaConfig,
    OpenAIGPTConfig,
    OPTConfig,
    PhiConfig,
    PreTrainedModel,
    PreTrainedTokenizerFast,
    Qwen2Config,
)

from perpend.errors import ModelError
from perpend.inside.blocks import anatomy, in_batches, padded, read, received
from perpend.inside.steering import Steering, generate, moved, weigh
from perpend.models.hf.abilities import weigher
from perpend.models.hf.checkpoint import Checkpoint, hand_over
from perpend.models.hf.forest import Passage
from perpend.models.hf.provider import Transformers
from perpend.models.hf.push import pushed
from perpend.models.template import TemplateProcess
from perpend.types import Message, Request, Sampling

torch.set_num_threads(1)
VOCABULARY, WIDTH, LAYERS = 258, 32, 3
_SHAPE = {
    "vocab_size": VOCABULARY,
    "hidden_size": WIDTH,
    "intermediate_size": 48,
    "num_hidden_layers": LAYERS,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "max_position_embeddings": 1024,
    "bos_token_id": 256,
    "eos_token_id": 257,
    "pad_token_id": 256,
}
CONFIGS = {
    "llama": LlamaConfig(**_SHAPE),
    "qwen2": Qwen2Config(**_SHAPE),
    "phi": PhiConfig(**_SHAPE),
    "gemma2": Gemma2Config(**_SHAPE, head_dim=8, final_logit_softcapping=2.0, sliding_window=64),
    "gpt2": GPT2Config(
        vocab_size=VOCABULARY,
        n_embd=WIDTH,
        n_layer=LAYERS,
        n_head=4,
        n_positions=1024,
        bos_token_id=256,
        eos_token_id=257,
    ),
}
TEMPLATE = (
    "{% for m in messages %}<s>{{ m['role'] }}\n{{ m['content'] }}</s>{% endfor %}"
    "{% if add_generation_prompt %}<s>assistant\n{% endif %}"
)
PROMPTS = [(5, 9, 3, 200, 7), (1, 2), (9, 8, 7, 6, 5, 4, 3, 2)]


def random_model(kind: str = "llama", seed: int = 0) -> PreTrainedModel:
    """A tiny model of one architecture with weights large enough for its layers to matter."""
    made = AutoModelForCausalLM.from_config(CONFIGS[kind]).eval()
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for weights in made.parameters():
            if weights.dim() > 1:
                weights.copy_(torch.randn(weights.shape, generator=generator) * 0.3)
    return made


def byte_tokenizer() -> PreTrainedTokenizerFast:
    """One token a byte, and two marks of a chat template."""
    letters = sorted(pre_tokenizers.ByteLevel.alphabet())
    core = Tokenizer(models.BPE(vocab={letter: n for n, letter in enumerate(letters)}, merges=[]))
    core.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    core.decoder = decoders.ByteLevel()
    core.add_special_tokens(["<s>", "</s>"])
    return PreTrainedTokenizerFast(tokenizer_object=core, bos_token="<s>", eos_token="</s>", chat_template=TEMPLATE)


def checkpoint(kind: str = "llama", seed: int = 0, endpoint: str = "chat") -> Checkpoint:
    tokenizer, files = byte_tokenizer(), {"model.safetensors": f"{kind}-{seed}"}
    if endpoint == "completions":
        return Checkpoint(random_model(kind, seed), tokenizer, files, endpoint)
    template = TemplateProcess("perpend.models.hf.template", "hf/tiny")
    hand_over(template, tokenizer, "hf/tiny")
    return Checkpoint(random_model(kind, seed), tokenizer, files, template=template)


def own_logprobs(model: PreTrainedModel, prompt: tuple[int, ...]) -> Tensor:
    with torch.inference_mode():
        return model(input_ids=torch.tensor([prompt])).logits[0, -1].float().log_softmax(-1)


@pytest.mark.parametrize("kind", CONFIGS)
def test_the_lens_at_the_last_layer_is_the_models_own_distribution(kind: str) -> None:
    model = random_model(kind)
    reading = read(weigher(model, 2048), PROMPTS, range(LAYERS), vocabulary=True)
    for row, prompt in enumerate(PROMPTS):
        assert torch.allclose(reading.logprobs[row, -1], own_logprobs(model, prompt), atol=1e-5)
        assert not torch.allclose(reading.logprobs[row, 0], reading.logprobs[row, -1], atol=1e-2)


@pytest.mark.parametrize("kind", CONFIGS)
def test_captured_layers_are_those_that_the_model_hands_from_block_to_block(kind: str) -> None:
    model = random_model(kind)
    reading = read(weigher(model, 2048), PROMPTS, range(LAYERS - 1), vocabulary=False)
    for row, prompt in enumerate(PROMPTS):
        with torch.inference_mode():
            states = model(input_ids=torch.tensor([prompt]), output_hidden_states=True).hidden_states
        for layer in range(LAYERS - 1):
            assert torch.allclose(reading.residuals[row, layer], states[layer + 1][0, -1], atol=1e-5)


def test_blocks_that_do_nothing_show_the_embeddings_distribution_at_every_layer() -> None:
    model = random_model()
    with torch.no_grad():
        for block in anatomy(model).blocks:
            block.self_attn.o_proj.weight.zero_()
            block.mlp.down_proj.weight.zero_()
    reading = read(weigher(model, 2048), PROMPTS, range(LAYERS), vocabulary=True)
    for row, prompt in enumerate(PROMPTS):
        with torch.inference_mode():
            embedded = model.model.embed_tokens.weight[prompt[-1]]
            wanted = model.lm_head(model.model.norm(embedded)).log_softmax(-1)
        for layer in range(LAYERS):
            assert torch.allclose(reading.logprobs[row, layer], wanted, atol=1e-5)


def test_without_the_final_norm_the_lens_would_say_something_else() -> None:
    model = random_model()
    reading = read(weigher(model, 2048), PROMPTS[:1], [0], vocabulary=True)
    with torch.inference_mode():
        skipped = model.lm_head(reading.residuals[0, 0]).log_softmax(-1)
    assert not torch.allclose(reading.logprobs[0, 0], skipped, atol=0.1)


def test_an_architecture_with_other_parts_is_refused_with_what_is_missing() -> None:
    config = OpenAIGPTConfig(vocab_size=20, n_embd=8, n_layer=1, n_head=2, n_positions=16)
    with pytest.raises(ModelError, match=r"OpenAIGPTLMHeadModel: no final norm \(looked for norm and ln_f"):
        anatomy(AutoModelForCausalLM.from_config(config))


def test_a_model_that_does_more_after_its_norm_is_refused_rather_than_misread() -> None:
    config = OPTConfig(
        vocab_size=20, hidden_size=8, word_embed_proj_dim=4, num_hidden_layers=1, ffn_dim=8, num_attention_heads=2
    )
    model = AutoModelForCausalLM.from_config(config).eval()
    with pytest.raises(ModelError, match="not the final norm of its last block"):
        read(weigher(model, 2048), [(3, 4)], [0], vocabulary=True)


@pytest.mark.parametrize("kind", CONFIGS)
def test_steering_changes_what_the_next_layer_is_given_by_the_vector_there_and_nowhere_else(kind: str) -> None:
    model = random_model(kind)
    parts, tokens = anatomy(model), padded(PROMPTS)
    vector = torch.linspace(-1.0, 1.0, WIDTH)
    last = torch.arange(8)[None] == 7
    for layer in range(LAYERS):
        for positions in (torch.zeros(3, 8, dtype=torch.bool).index_fill(1, torch.tensor([1]), True), last):
            given = []
            for alpha in (0.0, 2.0):
                with torch.inference_mode(), received(parts, layer) as seen:
                    with pushed(parts.blocks[layer], alpha * vector, positions):
                        model(input_ids=tokens, use_cache=False)
                    given.append(seen[0])
            place = -1 if positions is last else 1
            change = given[1] - given[0]
            assert torch.allclose(change[:, place], (2.0 * vector).expand(3, -1), atol=1e-5)
            change[:, place] = 0.0
            assert not change.any()


@pytest.mark.parametrize("kind", CONFIGS)
def test_alpha_0_is_bit_for_bit_the_model_without_a_hook(kind: str) -> None:
    model = random_model(kind)
    tokens, vector = padded(PROMPTS), torch.zeros(WIDTH)
    with torch.inference_mode():
        plain = model(input_ids=tokens, use_cache=False).logits
        for positions in (torch.ones(1, 1, dtype=torch.bool), torch.arange(8)[None] == 7):
            with pushed(anatomy(model).blocks[1], vector, positions):
                assert torch.equal(model(input_ids=tokens, use_cache=False).logits, plain)
        assert torch.equal(model(input_ids=tokens, use_cache=False).logits, plain)


@pytest.mark.parametrize("kind", CONFIGS)
def test_steering_towards_a_tokens_output_vector_moves_that_token_up_and_away_from_it_down(kind: str) -> None:
    made = checkpoint(kind)
    head = made.model.get_output_embeddings().weight.detach()
    # Up to the norm's own gain (1 here) the log-odds of two tokens are the stream's component along this direction.
    towards = (head[11] - head[10]) / (head[11] - head[10]).norm()
    if kind == "gpt2":
        towards = towards - towards.mean()  # its norm takes the mean away
    pair = [Passage((5, 9, 3, 10), 3), Passage((5, 9, 3, 11), 3)]
    steer = Steering(LAYERS - 1, towards, "answer")
    before, up, down = weigh(made, pair, steer, (3.0, -3.0))
    odds = [found.totals[1] - found.totals[0] for found in (down, before, up)]
    assert odds == sorted(odds)
    assert odds[2] - odds[1] > 0.01
    assert odds[1] - odds[0] > 0.01
    assert before.error is None
    assert up.error is not None
    assert up.error < 1e-5
    for passage, total in zip(pair, before.totals, strict=True):
        assert float(own_logprobs(made.model, passage.stem)[passage.tokens[-1]]) == pytest.approx(total, abs=1e-5)


@pytest.mark.parametrize("where", ["answer", "all"])
def test_steered_log_probabilities_are_those_of_each_passage_alone(where: str) -> None:
    made = checkpoint()
    passages = [Passage((5, 9, 3, 10, 12), 3), Passage((1, 2, 3, 4, 5, 6, 7, 8), 6), Passage((7, 7), 1)]
    steer = Steering(1, torch.ones(WIDTH), where)
    together = weigh(made, passages, steer, (0.5,))
    for number, passage in enumerate(passages):
        alone = weigh(made, [passage], steer, (0.5,))
        for side in (0, 1):
            assert alone[side].totals[0] == pytest.approx(together[side].totals[number], abs=1e-4)
    assert together[0].totals != together[1].totals


@pytest.mark.parametrize("where", ["answer", "all"])
@pytest.mark.parametrize("kind", CONFIGS)
def test_steered_answers_are_those_of_whole_passes_over_the_growing_text(kind: str, where: str) -> None:
    made = checkpoint(kind)
    steer = Steering(1, torch.linspace(-20.0, 20.0, WIDTH), where)
    asked = [(n, Request((Message("user", text),), Sampling(0.0, 5))) for n, text in enumerate(("hi", "oh", "hello!"))]
    provider = Transformers("tiny", made, weigher(made.model, 2048), 2)
    found = generate(provider, asked, steer, 1.0)
    plain = generate(provider, asked, steer, 0.0)
    assert any(found[key].text != plain[key].text for key, _ in asked)
    block = anatomy(made.model).blocks[1]
    for key, request in asked:
        tokens = list(made.prompt(request))
        first = len(tokens) - 1 if where == "answer" else 0
        answer: list[int] = []
        while len(answer) < 5:
            positions = torch.arange(len(tokens))[None] >= first
            with torch.inference_mode(), pushed(block, steer.vector, positions):
                token = int(made.model(input_ids=torch.tensor([tokens])).logits[0, -1].argmax())
            if token in made.ends:
                break
            answer.append(token)
            tokens.append(token)
        assert found[key].text == made.tokenizer.decode(answer, skip_special_tokens=True)


def test_an_intervention_that_does_not_arrive_is_an_error() -> None:
    stream, everywhere = torch.randn(2, 3, 4, generator=torch.Generator().manual_seed(1)), torch.ones(2, 3).bool()
    with pytest.raises(ModelError, match="steering did not arrive"):
        moved(stream, stream.clone(), torch.ones(4), everywhere, everywhere)
    nowhere = torch.zeros(2, 3).bool()
    with pytest.raises(ModelError, match="steering did not arrive"):
        moved(stream, stream + 1.0, torch.ones(4), nowhere, everywhere)
    with pytest.raises(ModelError, match="convert the vector first"):
        weigh(checkpoint(), [Passage((1, 2), 1)], Steering(0, torch.ones(WIDTH, dtype=torch.float64), "all"), (1.0,))


def test_steering_in_half_precision_arrives_up_to_its_rounding() -> None:
    made = checkpoint()
    half = Checkpoint(copy.deepcopy(made.model).to(torch.bfloat16), made.tokenizer, made.files)
    steer = Steering(0, torch.full((WIDTH,), 0.37, dtype=torch.bfloat16), "all")
    found = weigh(half, [Passage((5, 9, 3, 10), 3)], steer, (1.0,))
    assert found[1].error is not None
    assert 0.0 < found[1].error < 0.1


def test_batches_hold_every_row_once_and_halve_when_memory_runs_out() -> None:
    seen: list[int] = []

    def compute(batch: object) -> None:
        rows = list(batch)
        if len(rows) > 2:
            raise torch.OutOfMemoryError("full")
        seen.extend(rows)

    lengths = np.repeat(10, 11).tolist()
    in_batches(range(11), lengths, 80, compute)
    assert seen == list(range(11))

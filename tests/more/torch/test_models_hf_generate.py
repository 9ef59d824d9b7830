from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import pytest
import torch
from torch import Tensor
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedModel

from perpend.models.hf import attention
from perpend.models.hf.checkpoint import compiled
from perpend.models.hf.draw import chances, draw, share
from perpend.models.hf.generate import Continuer, Prompt, continued_alone
from perpend.models.hf.push import Push
from perpend.types import Sampling
from tests.more.torch.hf_models import ARCHITECTURES, VOCABULARY, flash, tiny

END = 5


def prompts(count: int, sampling: Sampling | None = None) -> list[Prompt]:
    rng = np.random.default_rng(0)
    return [
        Prompt(
            key,
            tuple(rng.integers(6, VOCABULARY, rng.integers(1, 16)).tolist()),
            sampling or Sampling(max_tokens=int(rng.integers(1, 8))),
        )
        for key in range(count)
    ]


def warm(asked: Sequence[Prompt]) -> list[Prompt]:
    return [Prompt(p.key, p.tokens, Sampling(temperature=1.0, top_p=0.9, seed=p.key, max_tokens=8)) for p in asked]


Answered = dict[int, tuple[list[int] | None, str]]


def answers(continuer: Continuer, asked: Sequence[Prompt]) -> Answered:
    found: Answered = {}
    for batch in continuer.run(asked):
        for made in batch:
            assert made.key not in found
            found[made.key] = (made.tokens, made.finish)
    assert sorted(found) == sorted(prompt.key for prompt in asked)
    return found


def places(model: PreTrainedModel, count: int) -> Continuer:
    return Continuer(model, count, frozenset([END]))


def greedy(model: PreTrainedModel, asked: Sequence[Prompt]) -> Answered:
    """The model's own `generate`, one prompt at a time."""
    found: Answered = {}
    for prompt in asked:
        said = model.generate(
            torch.tensor([prompt.tokens]),
            max_new_tokens=prompt.sampling.max_tokens,
            do_sample=False,
            eos_token_id=END,
            pad_token_id=0,
        )[0, len(prompt.tokens) :].tolist()
        ended = said[-1] == END
        found[prompt.key] = (said[:-1] if ended else said, "stop" if ended else "length")
    return found


@pytest.mark.parametrize("name", ARCHITECTURES)
def test_answers_are_those_of_the_model_s_own_generate(name: str) -> None:
    """Prompts of 1 to 15 tokens, answers of 1 to 7, more prompts than places, and at the end fewer."""
    model, asked = tiny(name), prompts(14)
    assert answers(places(model, 4), asked) == greedy(model, asked)


@pytest.mark.parametrize("name", ARCHITECTURES)
def test_reading_only_what_is_filled_answers_the_same(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(attention, "flash", flash)
    model, asked = tiny(name), prompts(14)
    continuer = places(model, 4)
    assert answers(continuer, asked) == greedy(model, asked)
    assert continuer.kept is not None
    assert continuer.kept.by_extent == (name != "gemma2")  # which caps attention scores, so its attention is its own


def test_a_kernel_that_computes_something_else_is_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    def wrong(query: Tensor, *arguments: Tensor, **options: object) -> tuple[Tensor]:
        return (query + 1,)

    monkeypatch.setattr(attention, "flash", wrong)
    model, asked = tiny("llama"), prompts(6)
    continuer = places(model, 4)
    assert answers(continuer, asked) == greedy(model, asked)
    assert continuer.kept is not None
    assert not continuer.kept.by_extent


@pytest.mark.parametrize("name", ARCHITECTURES)
def test_prompts_that_begin_alike_share_the_beginning_and_nothing_else(name: str) -> None:
    """One system prompt, questions that go on from it, one that is all of another, and two that are equal."""
    model, rng = tiny(name), np.random.default_rng(1)
    system = tuple(rng.integers(6, VOCABULARY, 8).tolist())
    tails = [tuple(rng.integers(6, VOCABULARY, n).tolist()) for n in (1, 2, 5, 5)]
    texts = [system, *((*system, *tail) for tail in tails), (*system, *tails[2]), tails[3]]
    asked = [Prompt(key, text, Sampling(max_tokens=6)) for key, text in enumerate(texts)]
    computed: list[int] = []
    hook = model.get_input_embeddings().register_forward_pre_hook(lambda _, inputs: computed.append(inputs[0].numel()))
    try:
        found = answers(places(model, 8), asked)
    finally:
        hook.remove()
    assert found == greedy(model, asked)
    assert computed[0] <= 32 < sum(map(len, texts))  # 8 + 1 + 2 + 5 + 5 + 5 nodes; with a mask a multiple of eight


@pytest.mark.parametrize("everywhere", [False, True])
@pytest.mark.parametrize("name", ["llama", "qwen2", "gemma2", "gpt2"])
def test_steered_answers_are_those_of_whole_passes_over_the_growing_text(name: str, everywhere: bool) -> None:
    """One prompt goes on from another's last token, where something is added for that one alone."""
    model = tiny(name)
    decoder = model.get_decoder()
    push = Push((getattr(decoder, "layers", None) or decoder.h)[0], torch.linspace(-9.0, 9.0, 32), everywhere)
    texts = [(7, 8, 9), (7, 8, 9, 10, 11), (7, 8), (7, 8, 9)]
    asked = [Prompt(key, text, Sampling(max_tokens=6)) for key, text in enumerate(texts)]
    wanted = {p.key: continued_alone(model, p, frozenset([END]), push) for p in asked}
    steered = answers(Continuer(model, 3, frozenset([END]), push=push), asked)
    assert steered == {key: (one.tokens, one.finish) for key, one in wanted.items()}
    assert steered != answers(places(model, 3), asked)


def test_a_kept_continuer_answers_the_next_run_as_a_new_one_and_grows_with_it() -> None:
    model = tiny("llama")
    continuer = places(model, 3)
    short = [Prompt(key, (7 + key,), Sampling(max_tokens=3)) for key in range(2)]
    long = [Prompt(key, tuple(range(6, 76)), Sampling(max_tokens=9)) for key in range(2)]
    for asked in (short, prompts(8), long, short):
        assert answers(continuer, asked) == greedy(model, asked)


def test_a_run_that_is_left_halfway_leaves_nothing_to_the_next() -> None:
    model, asked = tiny("llama"), prompts(9, Sampling(max_tokens=6))
    continuer = places(model, 3)
    next(continuer.run(asked))
    assert model.config._attn_implementation == "sdpa"
    assert answers(continuer, asked) == greedy(model, asked)


def test_prompts_are_taken_as_places_become_free() -> None:
    """A prompt that is longer than the places comes late: it waits until they can be made anew."""
    model = tiny("llama")
    asked = [Prompt(key, (7 + key % 50,), Sampling(max_tokens=1 + key % 3)) for key in range(600)]
    asked.append(Prompt(600, tuple(range(6, 90)), Sampling(max_tokens=4)))
    taken: list[int] = []

    def source() -> Iterator[Prompt]:
        for prompt in asked:
            taken.append(prompt.key)
            yield prompt

    first = next(run := places(model, 8).run(source()))
    assert len(taken) == 512
    rest = [made for batch in run for made in batch]
    wanted = greedy(model, [*asked[:50], asked[600]])
    by_key = {made.key: (made.tokens, made.finish) for made in (*first, *rest)}
    assert len(by_key) == 601
    assert all(by_key[key] == wanted[key] for key in wanted)


@pytest.mark.parametrize("name", ARCHITECTURES)
def test_a_seed_says_the_same_whatever_else_is_in_the_batch(name: str) -> None:
    model, asked = tiny(name), warm(prompts(9))
    cold = [Prompt(100 + p.key, p.tokens, Sampling(max_tokens=5)) for p in prompts(4)]
    alone = {p.key: continued_alone(model, p, frozenset([END])) for p in asked}
    first, second = answers(places(model, 2), asked), answers(places(model, 5), [*cold, *asked[::-1]])
    for key, one in alone.items():
        assert first[key] == second[key] == (one.tokens, one.finish)


def test_a_place_that_was_sampled_is_not_for_the_next_prompt_in_it() -> None:
    """The second of two sampled answers ends first, and a prompt at temperature 0 follows it beside the other."""
    model, (first, second, third) = tiny("llama"), prompts(3)
    asked = [
        Prompt(0, first.tokens, Sampling(temperature=9.0, max_tokens=16)),
        Prompt(1, second.tokens, Sampling(temperature=9.0, max_tokens=9)),
        Prompt(2, third.tokens, Sampling(max_tokens=6)),
    ]
    continuer = Continuer(model, 2, frozenset())
    wanted = model.generate(torch.tensor([third.tokens]), max_new_tokens=6, do_sample=False, eos_token_id=-1)[0, -6:]
    assert answers(continuer, asked)[2] == (wanted.tolist(), "length")


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # torch's own, on importing its compiler
def test_compiled_layers_answer_the_same_and_one_is_compiled_for_all() -> None:
    """Traced as `compiled` has it done, but run as they are: what is made of the traces is torch's affair."""
    torch.manual_seed(0)
    # Built whole: a copied layer would keep a copy of the config, and with it another attention than the model's.
    model = LlamaForCausalLM(LlamaConfig(**{**tiny("llama").config.to_dict(), "num_hidden_layers": 4})).eval()
    asked = prompts(4)
    wanted = greedy(model, asked)
    compiled(model)
    graphs: list[str] = []

    def trace(graph: torch.fx.GraphModule, _: object) -> torch.fx.GraphModule:
        graphs.append(graph.code)
        return graph

    for layer in model.model.layers:
        layer.compile(dynamic=True, backend=trace)
    try:
        assert answers(places(model, 4), asked) == wanted
    finally:
        torch.compiler.config.dynamic_sources = ""
        torch.compiler.reset()
    projections = [graph for graph in graphs if "q_proj" in graph]
    assert len(projections) == len(set(projections)) > 0


def test_another_seed_says_something_else() -> None:
    model, asked = tiny("llama"), warm(prompts(9))
    other = [Prompt(p.key, p.tokens, Sampling(temperature=1.0, seed=99 + p.key, max_tokens=8)) for p in asked]
    assert answers(places(model, 5), other) != answers(places(model, 5), asked)


def test_a_stop_ends_an_answer_and_a_limit_cuts_it() -> None:
    model = tiny("llama")
    asked = prompts(1, Sampling(max_tokens=6))
    said, finish = answers(places(model, 1), asked)[0]
    assert said is not None
    assert (len(said), finish) == (6, "length")
    stopped = [Prompt(0, asked[0].tokens, asked[0].sampling, lambda tokens: len(tokens) == 2)]
    assert answers(places(model, 1), stopped)[0] == (said[:2], "stop")


@pytest.mark.parametrize("sampled", [False, True])
@pytest.mark.parametrize("name", ARCHITECTURES)
def test_running_out_of_memory_halves_the_places_and_answers_every_prompt_once(name: str, sampled: bool) -> None:
    model, asked = tiny(name), warm(prompts(12)) if sampled else prompts(12)
    expected = answers(places(model, 2), asked)

    def small_device(_: object, inputs: tuple[Tensor, ...]) -> None:
        if inputs[0].shape[0] > 2 and inputs[0].shape[1] == 1:  # a step
            raise torch.OutOfMemoryError("no room")

    continuer = places(model, 8)
    hook = model.get_input_embeddings().register_forward_pre_hook(small_device)
    try:
        assert answers(continuer, asked) == expected
    finally:
        hook.remove()
    assert continuer.places == 2


@pytest.mark.parametrize("name", ["llama", "qwen2", "gpt2", "gpt_neox"])
def test_what_does_not_fit_even_alone_has_no_answer_and_the_rest_has(name: str) -> None:
    model, asked = tiny(name), prompts(6)
    asked[2] = Prompt(2, tuple(range(6, 90)), Sampling(max_tokens=4))

    def smaller_device(_: object, inputs: tuple[Tensor, ...]) -> None:
        if inputs[0].shape[1] > 64:
            raise torch.OutOfMemoryError("no room")

    hook = model.get_input_embeddings().register_forward_pre_hook(smaller_device)
    try:
        found = answers(places(model, 4), asked)
    finally:
        hook.remove()
    assert found.pop(2) == (None, "error")
    assert found == greedy(model, [p for p in asked if p.key != 2])


def test_memory_is_bounded_by_the_places() -> None:
    """Whatever waits, the cache has places × the longest text that any of them needs, rounded up to 64."""
    continuer = places(tiny("llama"), 3)
    answers(continuer, [*prompts(40), Prompt(40, tuple(range(6, 70)), Sampling(max_tokens=5))])
    assert continuer.kept is not None
    shapes = {tuple(tensor.shape) for layer in continuer.kept.kept.values() for tensor in layer}
    assert shapes == {(3, 128, 2, 8)}


def tensors(sampling: Sampling, count: int) -> tuple[Tensor, Tensor, Tensor]:
    chance = np.array([chances(Sampling(seed=seed, max_tokens=1))[0] for seed in range(count)])
    return (
        torch.full((count,), sampling.temperature),
        torch.full((count,), share(sampling)),
        torch.from_numpy(chance),
    )


def test_draws_follow_the_distribution() -> None:
    shares = np.array([0.5, 0.3, 0.15, 0.05])
    logits = torch.tensor(np.log(shares))[None].repeat(4000, 1)
    drawn = np.bincount(draw(logits, *tensors(Sampling(temperature=1.0), 4000)).numpy(), minlength=4) / 4000
    assert drawn == pytest.approx(shares, abs=0.03)


def test_top_p_keeps_the_likeliest_up_to_the_one_that_reaches_it() -> None:
    logits = torch.tensor(np.log([0.5, 0.3, 0.15, 0.05]))[None].repeat(500, 1)

    def kinds(**options: float) -> set[int]:
        return set(draw(logits, *tensors(Sampling(**options), 500)).tolist())

    assert kinds(temperature=1.0, top_p=0.6) == {0, 1}
    assert kinds(temperature=1.0, top_p=0.5) == {0}
    assert kinds(temperature=1.0, top_p=0.0) == {0}
    assert kinds(temperature=0.0) == {0}

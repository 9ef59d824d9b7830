from __future__ import annotations

import numpy as np
import pytest
import torch
from transformers import PreTrainedModel

from perpend.models.hf.generate import Continuer, Prompt, draw
from perpend.types import Sampling
from tests.hf_models import ARCHITECTURES, VOCABULARY, tiny

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


def answers(model: PreTrainedModel, asked: list[Prompt], places: int) -> dict[int, tuple[list[int], str]]:
    found: dict[int, tuple[list[int], str]] = {}
    for batch in Continuer(model, places, frozenset([END])).run(asked):
        for made in batch:
            assert made.key not in found
            found[made.key] = (made.tokens, made.finish)
    return found


@pytest.mark.parametrize("name", ARCHITECTURES)
def test_answers_are_those_of_the_model_s_own_generate(name: str) -> None:
    model, asked = tiny(name), prompts(10)
    found = answers(model, asked, 3)
    assert sorted(found) == list(range(10))
    for prompt in asked:
        limit = prompt.sampling.max_tokens
        said = model.generate(
            torch.tensor([prompt.tokens]), max_new_tokens=limit, do_sample=False, eos_token_id=END, pad_token_id=0
        )[0, len(prompt.tokens) :].tolist()
        ended = said[-1] == END
        assert found[prompt.key] == (said[:-1] if ended else said, "stop" if ended else "length")


def test_a_seed_says_the_same_whatever_else_is_in_the_batch() -> None:
    model = tiny("llama")
    asked = [
        Prompt(p.key, p.tokens, Sampling(temperature=1.0, top_p=0.9, seed=p.key, max_tokens=8)) for p in prompts(9)
    ]
    first, second = answers(model, asked, 2), answers(model, asked[::-1], 5)
    assert first == second
    other = [Prompt(p.key, p.tokens, Sampling(temperature=1.0, seed=99 + p.key, max_tokens=8)) for p in asked]
    assert answers(model, other, 5) != first


def test_a_stop_ends_an_answer_and_a_limit_cuts_it() -> None:
    model = tiny("llama")
    asked = prompts(1, Sampling(max_tokens=6))
    said, finish = answers(model, asked, 1)[0]
    assert (len(said), finish) == (6, "length")
    stopped = [Prompt(0, asked[0].tokens, asked[0].sampling, lambda tokens: len(tokens) == 2)]
    assert answers(model, stopped, 1)[0] == (said[:2], "stop")


def test_running_out_of_memory_halves_the_places_and_answers_every_prompt_once() -> None:
    model, asked = tiny("llama"), prompts(12)
    expected = answers(model, asked, 2)

    def small_device(_: object, inputs: tuple[torch.Tensor, ...]) -> None:
        if inputs[0].shape[0] > 2:
            raise torch.OutOfMemoryError("no room")

    hook = model.get_input_embeddings().register_forward_pre_hook(small_device)
    try:
        assert answers(model, asked, 8) == expected
    finally:
        hook.remove()


def test_draws_follow_the_distribution() -> None:
    shares = np.array([0.5, 0.3, 0.15, 0.05])
    logits = torch.tensor(np.log(shares))[None].repeat(4000, 1)
    rngs = [np.random.default_rng(seed) for seed in range(4000)]
    drawn = np.bincount(draw(logits, [Sampling(temperature=1.0)] * 4000, rngs), minlength=4) / 4000
    assert drawn == pytest.approx(shares, abs=0.03)


def test_top_p_keeps_the_likeliest_up_to_the_one_that_reaches_it() -> None:
    logits = torch.tensor(np.log([0.5, 0.3, 0.15, 0.05]))[None].repeat(500, 1)
    rngs = [np.random.default_rng(seed) for seed in range(500)]
    assert set(draw(logits, [Sampling(temperature=1.0, top_p=0.6)] * 500, rngs)) == {0, 1}
    assert set(draw(logits, [Sampling(temperature=1.0, top_p=0.5)] * 500, rngs)) == {0}
    assert set(draw(logits, [Sampling(temperature=0.0)] * 500, rngs)) == {0}

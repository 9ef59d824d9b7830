from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import Tensor

from perpend.models.hf import attention
from perpend.models.hf.candidates import Weigher, read_at, tree_mask
from perpend.models.hf.checkpoint import weigher
from perpend.models.hf.forest import Passage
from tests.hf_models import ARCHITECTURES, LONGEST, VOCABULARY, brute, tiny

CLOSE = 1e-4


def drawn(rng: np.random.Generator, length: int) -> tuple[int, ...]:
    return tuple(rng.integers(3, VOCABULARY, length).tolist())


def ragged(rng: np.random.Generator) -> list[list[Passage]]:
    """Contexts of 1 to 60 tokens; one candidate, several, identical ones, prefixes of each other, 1 and 50 tokens."""
    groups = []
    for tails in (
        [drawn(rng, 1)],
        [drawn(rng, n) for n in (1, 2, 5, 50)],
        [drawn(rng, 3)] * 3,
        [(9, 8), (9, 8, 7), (9, 8, 7, 6)],
        [(9,), (8,), (7,)],
        [drawn(rng, n) for n in (4, 4, 4, 4, 4, 4, 4, 4)],
    ):
        context = drawn(rng, int(rng.integers(1, 61)))
        groups.append([Passage((*context, *tail), len(context)) for tail in tails])
    return groups


@pytest.mark.parametrize("name", ARCHITECTURES)
def test_tree_scores_are_those_of_each_candidate_alone(name: str) -> None:
    model = tiny(name)
    groups = ragged(np.random.default_rng(1))
    found = weigher(model, 256).logprobs(groups)
    for group, parts in zip(groups, found, strict=True):
        for passage, part in zip(group, parts, strict=True):
            assert part is not None
            assert part == pytest.approx(brute(model, passage.tokens, passage.start), abs=CLOSE)


def kernel(
    query: Tensor, key: Tensor, value: Tensor, bias: Tensor, *others: object, scale: float | None
) -> list[Tensor]:
    """What torch's kernel with a mask and `causal` computes, which is on a GPU alone, by its definition."""
    assert others == (None, None, None, None, 0.0, 1)
    later = torch.ones(bias.shape[-2:], dtype=torch.bool).triu(1)
    scores = torch.einsum("bqhd,bkhd->bhqk", query, key) * (scale or query.shape[-1] ** -0.5) + bias
    shares = scores.masked_fill(later, -torch.inf).softmax(-1)
    return [torch.einsum("bhqk,bkhd->bqhd", shares, value)]


def wrong_kernel(query: Tensor, *others: object, scale: float | None) -> list[Tensor]:
    return [query + 1]


@pytest.mark.parametrize("name", ARCHITECTURES)
@pytest.mark.parametrize(("torch_has", "is_used"), [(kernel, True), (wrong_kernel, False)])
def test_a_kernel_that_leaves_out_what_is_after_a_node_is_used_if_it_is_right(
    name: str, torch_has: object, is_used: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(attention, "efficient", torch_has)
    attention._can_leave_out.cache_clear()
    try:
        assert attention._can_leave_out("cpu", torch.float32, 8) == is_used
        test_tree_scores_are_those_of_each_candidate_alone(name)
    finally:
        attention._can_leave_out.cache_clear()


@pytest.mark.parametrize("name", ARCHITECTURES)
def test_every_architecture_with_a_mask_is_scored_as_trees(name: str) -> None:
    assert weigher(tiny(name), 256).trees


def test_an_architecture_that_takes_no_mask_is_scored_in_rows_of_its_own_and_right() -> None:
    model = tiny("mamba")
    found = weigher(model, 256)
    assert not found.trees
    groups = ragged(np.random.default_rng(2))[:4]
    for group, parts in zip(groups, found.logprobs(groups), strict=True):
        for passage, part in zip(group, parts, strict=True):
            assert part == pytest.approx(brute(model, passage.tokens, passage.start), abs=CLOSE)


def test_a_context_longer_than_the_sliding_window_is_scored_as_the_model_alone_does() -> None:
    model = tiny("gemma2")
    found = weigher(model, 256)
    assert found.window == 24
    context = drawn(np.random.default_rng(3), 70)
    group = [Passage((*context, 5, 6), 70), Passage((*context, 7), 70)]
    for passage, part in zip(group, found.logprobs([group])[0], strict=True):
        assert part == pytest.approx(brute(model, passage.tokens, 70), abs=CLOSE)


@pytest.mark.parametrize("name", ARCHITECTURES)
def test_contexts_at_the_length_limit_are_scored(name: str) -> None:
    model = tiny(name)
    context = drawn(np.random.default_rng(4), LONGEST - 1)
    group = [Passage((*context, 5, 6), LONGEST - 1), Passage((*context, 7), LONGEST - 1)]
    for passage, part in zip(group, weigher(model, 64).logprobs([group])[0], strict=True):
        assert part == pytest.approx(brute(model, passage.tokens, LONGEST - 1), abs=CLOSE)


def test_a_passage_with_nothing_to_score_gives_no_number() -> None:
    context = (3, 4, 5)
    found = Weigher(tiny("llama"), 64).logprobs([[Passage(context, 3), Passage((*context, 6), 3)]])
    assert [len(part) for part in found[0] if part is not None] == [0, 1]


def test_items_that_begin_alike_do_not_see_each_other() -> None:
    """Twenty items on one prompt: each must be as if it were alone, whatever else stands in the row."""
    model, rng = tiny("llama"), np.random.default_rng(5)
    prompt = drawn(rng, 20)
    groups = [[Passage((*prompt, *drawn(rng, int(rng.integers(1, 9))), 5), 20)] for _ in range(20)]
    together = Weigher(model, 4096).logprobs(groups)
    alone = [Weigher(model, 4096).logprobs([group])[0] for group in groups]
    for one, other in zip(together, alone, strict=True):
        assert one[0] == pytest.approx(other[0], abs=CLOSE)


def test_running_out_of_memory_halves_the_batch_and_goes_on() -> None:
    """A real hook that fails on large batches, as a small device would."""
    model = tiny("llama")
    sizes: list[int] = []

    def small_device(_: object, inputs: tuple[torch.Tensor, ...]) -> None:
        sizes.append(inputs[0].shape[0])
        if inputs[0].shape[0] > 2:
            raise torch.OutOfMemoryError("no room")

    groups = [[Passage((*drawn(np.random.default_rng(n), 40), 5), 40)] for n in range(9)]
    expected = [brute(model, group[0].tokens, 40) for group in groups]
    hook = model.get_input_embeddings().register_forward_pre_hook(small_device)
    try:
        scorer = Weigher(model, 4096, trees=False)
        found = scorer.logprobs(groups)
    finally:
        hook.remove()
    assert max(sizes) > 2 >= sizes[-1]
    assert scorer.batch_tokens < 4096
    for parts, wanted in zip(found, expected, strict=True):
        assert parts[0] == pytest.approx(wanted, abs=CLOSE)


def test_what_does_not_fit_even_alone_is_none_and_the_rest_is_scored() -> None:
    model = tiny("llama")

    def smaller_device(_: object, inputs: tuple[torch.Tensor, ...]) -> None:
        if inputs[0].shape[1] > 48:
            raise torch.OutOfMemoryError("no room")

    long, short = drawn(np.random.default_rng(1), 60), drawn(np.random.default_rng(2), 10)
    hook = model.get_input_embeddings().register_forward_pre_hook(smaller_device)
    try:
        found = Weigher(model, 4096, trees=False).logprobs([[Passage((*long, 5), 60)], [Passage((*short, 5), 10)]])
    finally:
        hook.remove()
    assert found[0][0] is None
    assert found[1][0] == pytest.approx(brute(model, (*short, 5), 10), abs=CLOSE)


def test_the_mask_shows_a_node_its_ancestors_and_nothing_else() -> None:
    # A root (0) with two branches (1, 2) and (3), then another tree (4).
    mask = tree_mask(torch.tensor([[4, 3, 3, 4, 5]]), torch.float32)[0, 0]
    assert (mask == 0).int().tolist() == [
        [1, 0, 0, 0, 0],
        [1, 1, 0, 0, 0],
        [1, 1, 1, 0, 0],
        [1, 0, 0, 1, 0],
        [0, 0, 0, 0, 1],
    ]


def test_reading_at_some_places_leaves_the_model_as_it_was() -> None:
    model = tiny("gpt2")
    tokens = torch.tensor([[3, 4, 5], [6, 7, 8]])
    with torch.inference_mode():
        whole = model(input_ids=tokens).logits
        with read_at(model, torch.tensor([1, 5])):
            some = model(input_ids=tokens).logits
        again = model(input_ids=tokens).logits
    assert torch.allclose(some[0], whole.flatten(0, 1)[[1, 5]], atol=1e-5)
    assert torch.equal(whole, again)

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import Tensor

from perpend.models.hf import attention
from perpend.models.hf.abilities import weigher
from perpend.models.hf.candidates import Watch, Weigher, read_at
from perpend.models.hf.forest import Passage
from perpend.models.hf.layout import tree_mask
from tests.more.torch.hf_models import ARCHITECTURES, LONGEST, VOCABULARY, brute, flash, tiny

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


def wrong(query: Tensor, *_: object, **__: object) -> tuple[Tensor, Tensor]:
    return query + 1, query[..., 0].T


@pytest.mark.parametrize("name", ["llama", "qwen2", "gpt2", "gpt_neox"])
@pytest.mark.parametrize(("torch_has", "is_used"), [(flash, True), (wrong, False)])
def test_torch_s_kernel_for_different_lengths_is_used_if_it_is_right(
    name: str, torch_has: object, is_used: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(attention, "flash", torch_has)
    attention._has_kernel.cache_clear()
    try:
        assert attention._has_kernel("cpu", torch.float32, 8) == is_used
        test_tree_scores_are_those_of_each_candidate_alone(name)
    finally:
        attention._has_kernel.cache_clear()


@pytest.mark.parametrize("name", ARCHITECTURES)
def test_every_architecture_with_a_mask_is_scored_as_trees(name: str) -> None:
    made = weigher(tiny(name), 256)
    assert made.trees
    assert made.flat == (name != "gemma2")  # which caps attention scores, so its attention is its own


@pytest.mark.parametrize("name", ["llama", "gpt2"])
def test_what_no_grove_can_say_is_said_with_a_mask(name: str) -> None:
    model = tiny(name)
    groups = ragged(np.random.default_rng(1))
    for group, parts in zip(groups, Weigher(model, 256, flat=False).logprobs(groups), strict=True):
        for passage, part in zip(group, parts, strict=True):
            assert part == pytest.approx(brute(model, passage.tokens, passage.start), abs=CLOSE)


def test_what_is_watched_is_what_each_layer_holds_before_the_first_scored_token() -> None:
    """Of one passage of each group, in whichever batch it stands, whatever is beside it."""
    groups = ragged(np.random.default_rng(6))
    numbers = np.cumsum([0, *map(len, groups)])[:-1].tolist()
    for name in ("llama", "gemma2", "gpt2", "mamba"):
        model = tiny(name)
        decoder = model.get_decoder()
        blocks = getattr(decoder, "layers", None) or decoder.h
        norm = next(part for part in ("norm", "ln_f", "norm_f") if hasattr(decoder, part))
        seen: dict[int, tuple[Tensor, Tensor]] = {}

        def take(found: list[int], inner: Tensor, logits: Tensor | None, seen: dict = seen) -> None:
            assert logits is not None
            seen.update(zip(found, zip(inner, logits, strict=True), strict=True))

        watch = Watch(blocks, getattr(decoder, norm), frozenset(numbers), take)
        together = weigher(model, 64).logprobs(groups, watch)
        assert sorted(seen) == numbers
        for number, group, parts in zip(numbers, groups, together, strict=True):
            with torch.inference_mode():
                tokens = torch.tensor([group[0].tokens[: group[0].start]])
                alone = model(input_ids=tokens, output_hidden_states=True)
            first = alone.hidden_states[name != "mamba"]  # which does not tell what it begins with
            assert torch.allclose(seen[number][0][0], first[0, -1], atol=CLOSE)
            assert torch.allclose(seen[number][1][-1], alone.logits[0, -1], atol=1e-3)
            assert parts[0] == pytest.approx(brute(model, group[0].tokens, group[0].start), abs=CLOSE)


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


@pytest.mark.parametrize(("trees", "flat"), [(True, True), (True, False), (False, False)])
@pytest.mark.parametrize("name", ["llama", "qwen2", "gpt2", "gpt_neox"])
def test_running_out_of_memory_halves_the_batch_and_goes_on(name: str, trees: bool, flat: bool) -> None:
    """A real hook that fails on large batches, as a small device would."""
    model = tiny(name)
    sizes: list[int] = []

    def small_device(_: object, inputs: tuple[torch.Tensor, ...]) -> None:
        sizes.append(inputs[0].numel())
        if inputs[0].numel() > 100:
            raise torch.OutOfMemoryError("no room")

    groups = [[Passage((*drawn(np.random.default_rng(n), 40), 5), 40)] for n in range(9)]
    expected = [brute(model, group[0].tokens, 40) for group in groups]
    hook = model.get_input_embeddings().register_forward_pre_hook(small_device)
    try:
        scorer = Weigher(model, 4096, trees=trees, flat=flat)
        found = scorer.logprobs(groups)
    finally:
        hook.remove()
    assert max(sizes) > 100 >= sizes[-1]
    assert scorer.batch_tokens < 4096
    for parts, wanted in zip(found, expected, strict=True):
        assert parts[0] == pytest.approx(wanted, abs=CLOSE)


@pytest.mark.parametrize(("trees", "flat"), [(True, True), (True, False), (False, False)])
def test_what_does_not_fit_even_alone_is_none_and_the_rest_is_scored(trees: bool, flat: bool) -> None:
    model = tiny("llama")

    def smaller_device(_: object, inputs: tuple[torch.Tensor, ...]) -> None:
        if inputs[0].shape[1] > 48:
            raise torch.OutOfMemoryError("no room")

    long, short = drawn(np.random.default_rng(1), 60), drawn(np.random.default_rng(2), 10)
    hook = model.get_input_embeddings().register_forward_pre_hook(smaller_device)
    try:
        found = Weigher(model, 4096, trees=trees, flat=flat).logprobs(
            [[Passage((*long, 5), 60)], [Passage((*short, 5), 10)]]
        )
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

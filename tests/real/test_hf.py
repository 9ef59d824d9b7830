"""The embedded weights in transformers, beside llama.cpp on the same file."""

from __future__ import annotations

from pathlib import Path

import torch

from perpend.models.hf.provider import Transformers
from perpend.models.local.variants import make_variants
from perpend.spec.model import Budget
from perpend.types import Message, Request, Sampling
from tests.reference.engines import compare, probes


def test_llama_cpp_and_transformers_agree_on_the_same_weights(weights: Path, tmp_path: Path) -> None:
    """Every fifteenth verb probe; tests.reference.engines compares all of them."""
    torch.set_num_threads(1)
    made = make_variants(str(weights), tmp_path, ["f16"])["f16"]
    found = compare(probes()[::15], made)
    assert found.n >= 20
    assert found.same == found.n
    assert found.largest <= 0.05


def test_the_embedded_model_answers_in_transformers_and_says_what_it_is(dense: Transformers) -> None:
    ask = "What is the capital of France? Answer in one short sentence."
    requests = [Request((Message("user", ask),), Sampling(max_tokens=16)) for _ in range(2)]
    found = {key: response for batch in dense.answer(iter(enumerate(requests)), Budget()) for key, response in batch}
    assert found[0].text == found[1].text
    assert "Paris" in (found[0].text or "")
    assert found[0].finish == "stop"
    assert set(dense.fingerprint()) >= {"weights_sha256", "template_sha256", "dtype", "candidates"}

"""The embedded weights in transformers, beside llama.cpp on the same file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from perpend.models.hf.provider import Transformers
from perpend.models.local import model
from perpend.spec.model import Budget
from perpend.types import Message, Request, Sampling
from tests.reference.engines import compare, probes


def test_llama_cpp_and_transformers_agree_on_the_same_weights(
    variants: Mapping[str, Path], dense: Transformers
) -> None:
    """Every fifteenth verb probe; tests.reference.engines compares all of them.

    F16 in llama.cpp, which computes with whole weights then; transformers unpacks the same four bits.
    """
    plain = replace(dense.checkpoint, endpoint="completions", template=None)
    other = Transformers("smollm2", plain, dense.weigher, dense.places)
    found = compare(probes()[::15], model(str(variants["f16"]), endpoint="completions"), other)
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

"""Generation at mixed output lengths: a plain padded loop of `model.generate` against places that are always at work.

    python benchmarks/generation.py --random tiny          on the CPU
    python benchmarks/generation.py --random 7b            random weights of that size, on the GPU where there is one

Random weights never say when they are done, so each request carries its own limit, drawn from a long-tailed
distribution; a padded batch runs as long as its longest. Both sides answer the same requests at temperature 0.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import torch
from transformers import PreTrainedModel

from candidates import SIZES, random_model
from perpend.models.hf.generate import Continuer, Prompt
from perpend.types import Sampling

Answers = dict[int, list[int]]


def requests(count: int, longest: int, vocabulary: int, rng: np.random.Generator) -> list[Prompt]:
    """Prompts of 50 to 200 tokens; answers of 8 tokens and more, half of them under an eighth of the longest."""
    lengths = np.clip(np.exp(rng.normal(np.log(longest / 8), 1.0, count)), 8, longest).astype(int)
    return [
        Prompt(key, tuple(rng.integers(5, vocabulary, rng.integers(50, 201)).tolist()), Sampling(max_tokens=int(limit)))
        for key, limit in enumerate(lengths)
    ]


def padded_loop(model: PreTrainedModel, prompts: Sequence[Prompt], places: int) -> Answers:
    """Batches in the order of the requests, padded on the left; each runs until its longest answer is done."""
    found: Answers = {}
    for at in range(0, len(prompts), places):
        batch = prompts[at : at + places]
        width = max(len(prompt.tokens) for prompt in batch)
        tokens = torch.zeros(len(batch), width, dtype=torch.long)
        seen = torch.zeros(len(batch), width, dtype=torch.long)
        for row, prompt in enumerate(batch):
            tokens[row, width - len(prompt.tokens) :] = torch.tensor(prompt.tokens)
            seen[row, width - len(prompt.tokens) :] = 1
        made = model.generate(
            input_ids=tokens.to(model.device),
            attention_mask=seen.to(model.device),
            max_new_tokens=max(prompt.sampling.max_tokens for prompt in batch),
            do_sample=False,
            eos_token_id=None,
            pad_token_id=0,
        )[:, width:].tolist()
        for prompt, said in zip(batch, made, strict=True):
            found[prompt.key] = said[: prompt.sampling.max_tokens]
    return found


def always_at_work(model: PreTrainedModel, prompts: Sequence[Prompt], places: int) -> Answers:
    return {made.key: made.tokens for batch in Continuer(model, places, frozenset()).run(prompts) for made in batch}


def timed(work: Callable[[], Answers]) -> tuple[float, Answers]:
    if torch.cuda.is_available():
        torch.cuda.synchronize()
    start = time.perf_counter()
    found = work()
    if torch.cuda.is_available():
        torch.cuda.synchronize()
    return time.perf_counter() - start, found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--random", choices=SIZES, default="tiny")
    parser.add_argument("--requests", type=int, default=None)
    parser.add_argument("--longest", type=int, default=None)
    parser.add_argument("--places", type=int, default=None)
    parser.add_argument("--out", type=Path)
    arguments = parser.parse_args()
    gpu = torch.cuda.is_available()
    model = random_model(arguments.random, "cuda" if gpu else "cpu", torch.bfloat16 if gpu else torch.float32)
    count, longest = arguments.requests or (512 if gpu else 24), arguments.longest or (512 if gpu else 64)
    places = arguments.places or (64 if gpu else 4)
    prompts = requests(count, longest, model.config.vocab_size, np.random.default_rng(1))
    warm = [Prompt(p.key, p.tokens, Sampling(max_tokens=8)) for p in prompts[:places]]
    padded_loop(model, warm, places), always_at_work(model, warm, places)
    slow, before = timed(lambda: padded_loop(model, prompts, places))
    fast, now = timed(lambda: always_at_work(model, prompts, places))
    words = sum(len(said) for said in now.values())
    same = float(np.mean([before[key] == now[key] for key in before]))
    machine = torch.cuda.get_device_name() if gpu else f"CPU, {torch.get_num_threads()} threads"
    body = {
        "machine": machine,
        "requests": count,
        "tokens": words,
        "places": places,
        "padded_tokens_per_s": words / slow,
        "ours_tokens_per_s": words / fast,
        "ratio": slow / fast,
        "same_answers": same,
    }
    print(json.dumps(body, indent=2))
    if arguments.out:
        arguments.out.write_text(json.dumps(body, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())

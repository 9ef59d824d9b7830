"""A look inside beside plain scoring: the same prompts and candidates, scored alone, and with the lens and probes.

    python benchmarks/inside.py                  a tiny model on the CPU
    python benchmarks/inside.py --random 7b      random weights of that size, on a GPU

Every trial has a prompt of about `--context` tokens and two candidates. `plain` is their log-likelihoods alone, which
is what scoring candidates costs; `lens` is the same with the ten likeliest tokens of every layer, the ranks of the
candidates and the projections on two probes, as Python objects that are ready to be written. Both are timed in turn in
one process, after each ran once. `same` compares what a GPU gives in float32 with a CPU's on a few trials.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np
import torch
from transformers import PreTrainedModel

from candidates import SIZES, random_model
from perpend.inside.answers import answer_rows
from perpend.inside.blocks import anatomy
from perpend.inside.lens import Reader, Readings
from perpend.inside.probes import Line
from perpend.inside.prompts import ROLES, TrialPrompt
from perpend.inside.steering import Steering, weigh
from perpend.ledger.plan import Trial
from perpend.models.hf.candidates import Weigher
from perpend.models.hf.checkpoint import Checkpoint
from perpend.models.hf.forest import Passage
from perpend.types import Item, Message, Request, Sampling


class _Numbers:
    """Random weights have no tokenizer; a token's text is its number."""

    def decode(self, tokens: list[int]) -> str:
        return str(tokens[0])


def trials(count: int, context: int, vocabulary: int) -> list[TrialPrompt]:
    rng = np.random.default_rng(7)
    entries = []
    for number in range(1, count + 1):
        prompt = tuple(rng.integers(5, vocabulary, rng.integers(context // 2, context * 3 // 2 + 1)).tolist())
        passages = {
            role: Passage((*prompt, *rng.integers(5, vocabulary, rng.integers(1, 7)).tolist()), len(prompt))
            for role in ROLES
        }
        item = Item(f"item-{number}", "?", "a", "b")
        trial = Trial(number, item, "control", "random", Sampling(), 0)
        request = Request((Message("user", "?"),), Sampling())
        entries.append(TrialPrompt(trial, request, pressed=True, answered=True, passages=passages))
    return entries


def looked(
    checkpoint: Checkpoint, weigher: Weigher, entries: list[TrialPrompt], lines: Mapping[str, list[Line]]
) -> Readings:
    layers = tuple(range(len(anatomy(checkpoint.model).blocks)))
    readings = Reader(checkpoint, weigher, layers).trials(entries, 10, lines)
    answer_rows(entries, readings.logprobs)
    return readings


def probes(model: PreTrainedModel) -> dict[str, list[Line]]:
    rng, width = np.random.default_rng(8), model.config.hidden_size
    count = len(anatomy(model).blocks)
    return {kind: [Line(rng.normal(size=width) / width, 0.1) for _ in range(count)] for kind in ("truth", "social")}


def timed(work: Callable[[], object]) -> float:
    _synchronise()
    start = time.perf_counter()
    work()
    _synchronise()
    return time.perf_counter() - start


def _synchronise() -> None:
    if torch.cuda.is_available():
        torch.cuda.synchronize()


def cost(model: PreTrainedModel, count: int, context: int, batch_tokens: int, repeats: int) -> dict[str, object]:
    """Medians of both, in turn, and of steering two strengths beside their baseline."""
    checkpoint, weigher = Checkpoint(model, _Numbers(), {}), Weigher(model, batch_tokens)
    entries, lines = trials(count, context, model.config.vocab_size), probes(model)
    groups = [list(entry.passages.values()) for entry in entries]
    times: dict[str, list[float]] = {"plain": [], "lens": []}
    for repeat in range(repeats + 1):
        both = {
            "plain": timed(lambda: weigher.logprobs(groups)),
            "lens": timed(lambda: looked(checkpoint, weigher, entries, lines)),
        }
        for name, seconds in both.items():
            times[name] += [seconds] if repeat else []
    plain, lens = (statistics.median(times[name]) for name in ("plain", "lens"))
    some = [passage for group in groups[: max(1, batch_tokens // (4 * context))] for passage in group]
    vector = torch.full((model.config.hidden_size,), 0.01, device=model.device, dtype=model.dtype)
    steer = Steering(len(anatomy(model).blocks) // 2, vector, "answer")
    weigh(checkpoint, some, steer, (1.0, -1.0))
    steered = timed(lambda: weigh(checkpoint, some, steer, (1.0, -1.0)))
    return {
        "trials": count,
        "context": context,
        "plain_per_s": count / plain,
        "lens_per_s": count / lens,
        "cost": lens / plain,
        "steered_pairs_per_s": len(some) / 2 * 3 / steered,
    }


def same(size: str, count: int, context: int) -> dict[str, float]:
    """The largest differences between the device and a CPU, in single precision, of all that a look writes."""
    device = "cuda" if torch.cuda.is_available() else "cpu"
    torch.backends.cuda.matmul.allow_tf32 = False
    away: dict[str, float] = {}
    model = random_model(size, device, torch.float32)
    entries, lines = trials(count, context, model.config.vocab_size), probes(model)
    passages = [passage for entry in entries for passage in entry.passages.values()]
    sides = []
    for place in (device, "cpu"):
        model.to(place)
        checkpoint = Checkpoint(model, _Numbers(), {})
        readings = looked(checkpoint, Weigher(model, 2048), entries, lines)
        steer = Steering(1, torch.full((model.config.hidden_size,), 0.01, device=place), "answer")
        weighed = weigh(checkpoint, passages, steer, (1.0,))
        sides.append((readings, weighed))
    (ours, moved), (wanted, wanted_moved) = sides
    away["log_likelihood"] = max(
        float(abs(a - b).max())
        for group in wanted.logprobs
        for a, b in zip(ours.logprobs[group], wanted.logprobs[group], strict=True)
        if a is not None and b is not None
    )
    rows = list(zip(ours.lens, wanted.lens, strict=True))
    away["lens_logprob"] = max(abs(a[role]["logprob"] - b[role]["logprob"]) for a, b in rows for role in ROLES)
    away["lens_same_top"] = float(np.mean([a["top"][0]["id"] == b["top"][0]["id"] for a, b in rows]))
    away["projection"] = max(
        abs(x - y)
        for a, b in zip(ours.projections, wanted.projections, strict=True)
        for key in ("values", "social")
        for x, y in zip(a[key], b[key], strict=True)
    )
    away["steered"] = max(
        abs(x - y) for a, b in zip(moved, wanted_moved, strict=True) for x, y in zip(a.totals, b.totals, strict=True)
    )
    return away


def main() -> None:
    gpu = torch.cuda.is_available()
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--random", choices=SIZES, default="tiny", help="random weights of this size [tiny]")
    parser.add_argument("--trials", type=int, help="[660 on a GPU, 24 on a CPU]")
    parser.add_argument("--context", type=int, default=200, help="tokens of a prompt, about [200]")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--same", choices=SIZES, help="compare with a CPU in float32 too, with weights of this size")
    parser.add_argument("--quick", action="store_true", help="4 trials of 20 tokens")
    parser.add_argument("--json", action="store_true", help="print one JSON object alone")
    parser.add_argument("--out", type=Path, help="write that object to this file too")
    arguments = parser.parse_args()
    if arguments.quick:
        arguments.trials, arguments.context, arguments.repeats = 4, 20, 1
    dtype = torch.bfloat16 if gpu else torch.float32
    model = random_model(arguments.random, "cuda" if gpu else "cpu", dtype)
    body: dict[str, object] = {
        "machine": torch.cuda.get_device_name() if gpu else f"CPU, {torch.get_num_threads()} threads",
        "torch": torch.__version__,
        "dtype": str(dtype).removeprefix("torch."),
        "parameters": sum(p.numel() for p in model.parameters()),
    }
    count = arguments.trials or (660 if gpu else 24)
    body |= cost(model, count, arguments.context, 16384 if gpu else 2048, arguments.repeats)
    if arguments.same:
        del model
        body["same"] = same(arguments.same, min(16, count), arguments.context)
    text = json.dumps(body, indent=None if arguments.json else 2)
    print(text)
    if arguments.out:
        arguments.out.write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())

"""Generation at mixed output lengths: places that are always busy, a padded loop, and transformers' own batching.

    python benchmarks/generation.py                                      a tiny model on the CPU
    python benchmarks/generation.py --random 7b --places 64 256 --peer   random weights of that size, on a GPU
    python benchmarks/generation.py --random 1b --exact                  float32 against one-by-one greedy decoding

Random weights never say when they are done, so each request carries its own limit, drawn from a long-tailed
distribution; a padded batch runs as long as its longest. All sides answer the same requests at temperature 0 with the
same weights in one process; computing the prompts is counted in. `first` includes what is recorded (and, with
--compile, compiled) once; `again` is the same requests with what was kept.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import torch
import transformers
from transformers import ContinuousBatchingManager, GenerationConfig, PreTrainedModel

from candidates import SIZES, compile_layers, random_model
from perpend.models.hf.attention import own_attention
from perpend.models.hf.generate import Continuer, Prompt
from perpend.models.hf.kernels import _kernel
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
    answers: Answers = {}
    for at in range(0, len(prompts), places):
        batch = prompts[at : at + places]
        width = max(len(prompt.tokens) for prompt in batch)
        tokens = torch.zeros(len(batch), width, dtype=torch.long)
        seen = torch.zeros(len(batch), width, dtype=torch.long)
        for row, prompt in enumerate(batch):
            tokens[row, width - len(prompt.tokens) :] = torch.tensor(prompt.tokens)
            seen[row, width - len(prompt.tokens) :] = 1
        rows = model.generate(
            input_ids=tokens.to(model.device),
            attention_mask=seen.to(model.device),
            max_new_tokens=max(prompt.sampling.max_tokens for prompt in batch),
            do_sample=False,
            eos_token_id=None,
            pad_token_id=0,
        )[:, width:].tolist()
        for prompt, row in zip(batch, rows, strict=True):
            answers[prompt.key] = row[: prompt.sampling.max_tokens]
    return answers


def started_batching(model: PreTrainedModel) -> ContinuousBatchingManager:
    """transformers' continuous batching as it comes; it answers from now on."""
    config = GenerationConfig(do_sample=False, eos_token_id=-1, pad_token_id=0, max_new_tokens=8)
    manager = model.init_continuous_batching(generation_config=config)
    manager.start()
    return manager


def batched(manager: ContinuousBatchingManager, prompts: Sequence[Prompt]) -> Answers:
    """Each request with its own limit, the longest first, as we take them too."""
    for prompt in sorted(prompts, key=lambda prompt: -prompt.sampling.max_tokens):
        manager.add_request(list(prompt.tokens), str(prompt.key), max_new_tokens=prompt.sampling.max_tokens)
    answers: Answers = {}
    while len(answers) < len(prompts):
        output = manager.get_result(timeout=300)
        if output is None:
            raise SystemExit("transformers' continuous batching gave nothing for five minutes")
        if output.is_finished():
            answers[int(output.request_id)] = list(output.generated_tokens)
    return answers


def in_places(continuer: Continuer, prompts: Sequence[Prompt]) -> Answers:
    return {one.key: one.tokens or [] for batch in continuer.run(prompts) for one in batch}


def timed(work: Callable[[], Answers]) -> tuple[float, Answers]:
    _synchronise()
    start = time.perf_counter()
    answers = work()
    _synchronise()
    return time.perf_counter() - start, answers


def _synchronise() -> None:
    if torch.cuda.is_available():
        torch.cuda.synchronize()


def recorded_steps(continuer: Continuer) -> list[dict[str, float]]:
    """Milliseconds of each recorded step with 200 tokens in every place: the median of nine replays."""
    if continuer.kept is None:
        return []
    steps = continuer.kept.steps
    with torch.inference_mode():
        continuer.kept.index.fill_(min(200, continuer.kept.length - 1))
    return [
        {"rows": rows, "length": length, "ms": statistics.median(_milliseconds(graph) for _ in range(9))}
        for (rows, length), (graph, _) in sorted(steps.items())
    ]


def _milliseconds(graph: torch.cuda.CUDAGraph) -> float:
    start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    start.record()
    graph.replay()
    end.record()
    end.synchronize()
    return start.elapsed_time(end)


def admission(continuer: Continuer, prompts: Sequence[Prompt]) -> float:
    """Milliseconds to compute prompts into their places, the second time."""
    places = continuer.kept
    if places is None:
        return float("nan")

    def admit() -> Answers:
        tokens, samplings = [p.tokens for p in prompts], [p.sampling for p in prompts]
        with own_attention(continuer.model):
            places.admit(range(len(prompts)), tokens, samplings, continuer.batch_tokens)
        return {}

    admit()
    return 1000 * timed(admit)[0]


def profile(continuer: Continuer, most: int) -> list[str]:
    """Where the time of the widest recorded step goes: the share, count and name of its kernels."""
    from torch.profiler import ProfilerActivity
    from torch.profiler import profile as profiled

    if continuer.kept is None or not continuer.kept.steps:
        return []
    graph, _ = continuer.kept.steps[max(continuer.kept.steps)]
    with profiled(activities=[ProfilerActivity.CUDA]) as record:
        graph.replay()
        _synchronise()
    kernels = sorted(record.key_averages(), key=lambda kernel: -kernel.device_time_total)
    total = sum(kernel.device_time_total for kernel in kernels)
    shares = [
        f"{kernel.device_time_total / total:6.1%} {kernel.count:5d} {kernel.key[:90]}" for kernel in kernels[:most]
    ]
    return [f"{sum(kernel.count for kernel in kernels)} kernels, {total / 1000:.2f} ms", *shares]


def measure(
    model: PreTrainedModel, prompts: Sequence[Prompt], places: int
) -> tuple[Continuer, dict[str, object], Answers]:
    """Our side: the same requests twice, then sampled, and what a step and an admission take."""
    continuer = Continuer(model, places, frozenset(), 16384 if torch.cuda.is_available() else 2048)
    first, _ = timed(lambda: in_places(continuer, prompts))
    again, answers = timed(lambda: in_places(continuer, prompts))
    warm = [
        Prompt(p.key, p.tokens, Sampling(temperature=1.0, top_p=0.95, seed=p.key, max_tokens=p.sampling.max_tokens))
        for p in prompts
    ]
    sampled, _ = timed(lambda: in_places(continuer, warm))
    tokens, some = sum(map(len, answers.values())), prompts[: max(1, places // 8)]
    row: dict[str, object] = {
        "places": continuer.places,
        "first_tokens_per_s": tokens / first,
        "again_tokens_per_s": tokens / again,
        "sampled_tokens_per_s": tokens / sampled,
        "steps": recorded_steps(continuer),
        "admitted_prompts": len(some),
        "admission_ms": admission(continuer, some),
        "reads_only_what_is_filled": continuer.kept is not None and bool(continuer.kept.by_extent),
        "own_kernels": torch.cuda.is_available() and _kernel("perpend_norm", model.dtype, model.device) is not None,
    }
    return continuer, row, answers


def exact(size: str, count: int, longest: int) -> dict[str, object]:
    """In float32: how many whole answers equal those of the model's own greedy decoding of one prompt at a time."""
    device = "cuda" if torch.cuda.is_available() else "cpu"
    model = random_model(size, device, torch.float32)
    prompts = requests(count, longest, model.config.vocab_size, np.random.default_rng(2))
    ours = in_places(Continuer(model, max(2, count // 4), frozenset()), prompts)
    alone = {prompt.key: padded_loop(model, [prompt], 1)[prompt.key] for prompt in prompts}
    equal = sum(ours[key] == alone[key] for key in alone)
    return {"exact_requests": count, "exact_equal": equal, "exact_tokens": sum(map(len, alone.values()))}


def main() -> None:
    gpu = torch.cuda.is_available()
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--random", choices=SIZES, default="tiny", help="random weights of this size [tiny]")
    parser.add_argument("--requests", type=int, help="[512 on a GPU, 24 on a CPU]")
    parser.add_argument("--longest", type=int, help="tokens of the longest answer [384 on a GPU, 64 on a CPU]")
    parser.add_argument("--places", type=int, nargs="+", default=[64] if gpu else [4])
    parser.add_argument(
        "--compile", action="store_true", help="fuse small operations, as the provider's `compile` does"
    )
    parser.add_argument("--padded", action="store_true", help="measure a padded loop of `generate` too")
    parser.add_argument("--peer", action="store_true", help="measure transformers' continuous batching too")
    parser.add_argument("--exact", action="store_true", help="compare with greedy decoding in float32, and stop")
    parser.add_argument("--profile", action="store_true", help="print the kernels of a step to stderr")
    parser.add_argument("--quick", action="store_true", help="8 requests of at most 16 tokens")
    parser.add_argument("--json", action="store_true", help="print one JSON object alone")
    parser.add_argument("--out", type=Path, help="write that object to this file too")
    arguments = parser.parse_args()
    count = arguments.requests or (8 if arguments.quick else 512 if gpu else 24)
    longest = arguments.longest or (16 if arguments.quick else 384 if gpu else 64)
    machine = torch.cuda.get_device_name() if gpu else f"CPU, {torch.get_num_threads()} threads"
    body: dict[str, object] = {"machine": machine, "torch": torch.__version__, "transformers": transformers.__version__}
    if arguments.exact:
        body |= exact(arguments.random, count, longest)
    else:
        body |= sides(arguments, count, longest)
    text = json.dumps(body, indent=None if arguments.json else 2)
    print(text)
    if arguments.out:
        arguments.out.write_text(text + "\n", encoding="utf-8")


def sides(arguments: argparse.Namespace, count: int, longest: int) -> dict[str, object]:
    gpu = torch.cuda.is_available()
    model = random_model(arguments.random, "cuda" if gpu else "cpu", torch.bfloat16 if gpu else torch.float32)
    prompts = requests(count, longest, model.config.vocab_size, np.random.default_rng(1))
    body: dict[str, object] = {
        "parameters": sum(p.numel() for p in model.parameters()),
        "requests": count,
        "tokens": sum(prompt.sampling.max_tokens for prompt in prompts),
        "prompt_tokens": sum(len(prompt.tokens) for prompt in prompts),
    }
    rows, answers = [], {}
    for is_compiled in (False, True) if arguments.compile else (False,):
        if is_compiled:
            compile_layers(model)
        for places in arguments.places:
            continuer, row, answers = measure(model, prompts, places)
            rows.append({"compiled": is_compiled, **row})
            print(json.dumps(rows[-1]), file=sys.stderr)
            if arguments.profile:
                print("\n".join(profile(continuer, 16)), file=sys.stderr)
            del continuer
            if gpu:
                torch.cuda.empty_cache()
    body["ours"] = rows
    for module in model.modules():
        module._compiled_call_impl = None  # the only way to take torch's compilation of a module back
    for name, (seconds, theirs) in peers(model, prompts, arguments).items():
        body[f"{name}_tokens_per_s"] = sum(map(len, theirs.values())) / seconds
        body[f"{name}_same_answers"] = float(np.mean([theirs[key] == answers[key] for key in theirs]))
    return body


def peers(
    model: PreTrainedModel, prompts: Sequence[Prompt], arguments: argparse.Namespace
) -> dict[str, tuple[float, Answers]]:
    """Seconds and answers of each other side; the device is warm by now."""
    places, timings = arguments.places[0], {}
    if arguments.padded or not torch.cuda.is_available():
        timings["padded"] = timed(lambda: padded_loop(model, prompts, places))
    if arguments.peer:
        manager = started_batching(model)
        timings["transformers_batching"] = timed(lambda: batched(manager, prompts))
        manager.stop(block=True)
    return timings


if __name__ == "__main__":
    sys.exit(main())

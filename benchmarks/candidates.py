"""Candidate scoring: one padded row per (context, candidate), as lm-eval's hf backend does, against trees.

    python benchmarks/candidates.py                        the embedded weights on the CPU
    python benchmarks/candidates.py --random 7b --compile  random weights of that size, on the GPU where there is one
    python benchmarks/candidates.py --random 7b --compile --truth 2000
                                                           which side is nearer to single precision, at every context
    python benchmarks/candidates.py --lm-eval              lm-eval itself beside both, where it is installed

Both sides score the same items with the same model in the same process, in turn; the ratio is of medians. Model
arithmetic counts what a pass over the real nodes alone takes: matrix products of all layers, attention between a node
and its ancestors, and the vocabulary where it is read. Padding and masked pairs count as nothing. `computed_tflops`
leaves out what is not computed of it: the last layer's MLP where nothing is read.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedModel

from perpend.models.hf.attention import REPLACED
from perpend.models.hf.candidates import Weigher
from perpend.models.hf.checkpoint import compiled, load
from perpend.models.hf.forest import Passage
from perpend.models.hf.fused import fuse

SIZES = {
    "tiny": {"hidden_size": 256, "intermediate_size": 768, "num_hidden_layers": 4, "num_attention_heads": 8},
    "1b": {"hidden_size": 2048, "intermediate_size": 5632, "num_hidden_layers": 24, "num_attention_heads": 16},
    "7b": {"hidden_size": 4096, "intermediate_size": 14336, "num_hidden_layers": 32, "num_attention_heads": 32},
}
Groups = list[list[Passage]]
Batch = list[tuple[int, int, Passage]]
Totals = list[list[float]]
ROWS, PRECISE_ROWS = "padded rows", "padded rows, softmax in float32"
FloatArray = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Case:
    """One cell of the table: how many items, how many candidates each, contexts of about so many tokens."""

    items: int
    candidates: int
    context: int


def random_model(size: str, device: str, dtype: torch.dtype) -> PreTrainedModel:
    torch.manual_seed(0)
    with torch.device(device):
        config = LlamaConfig(vocab_size=32000, num_key_value_heads=8, max_position_embeddings=4096, **SIZES[size])
        torch.set_default_dtype(dtype)
        model = LlamaForCausalLM(config).eval()
        torch.set_default_dtype(torch.float32)
    start = time.perf_counter()
    fuse(model)
    print(f"modules replaced in {time.perf_counter() - start:.1f} s", file=sys.stderr)
    return model


def compile_layers(model: PreTrainedModel) -> None:
    """As the provider's `compile` has it: the modules as transformers made them, and torch's compiler."""
    setattr(model, REPLACED, ())
    compiled(model)


def items(case: Case, vocabulary: int, rng: np.random.Generator) -> Groups:
    """Contexts of a half to three halves of the stated length, candidates of 1 to 6 tokens."""
    found: Groups = []
    for _ in range(case.items):
        length = int(rng.integers(case.context // 2, case.context * 3 // 2 + 1))
        context = tuple(rng.integers(5, vocabulary, length).tolist())
        tails = [rng.integers(5, vocabulary, rng.integers(1, 7)).tolist() for _ in range(case.candidates)]
        found.append([Passage((*context, *tail), length) for tail in tails])
    return found


def padded_batches(model: PreTrainedModel, groups: Groups, batch_tokens: int) -> Iterator[tuple[Batch, torch.Tensor]]:
    """Rows sorted by length and right-padded, with the logits at every position."""
    flat = [(g, k, passage) for g, group in enumerate(groups) for k, passage in enumerate(group)]
    flat.sort(key=lambda entry: -len(entry[2].tokens))
    at = 0
    while at < len(flat):
        width = len(flat[at][2].tokens) - 1
        batch = flat[at : at + max(1, batch_tokens // width)]
        tokens = torch.zeros(len(batch), width, dtype=torch.long)
        for row, (_, _, passage) in enumerate(batch):
            tokens[row, : len(passage.tokens) - 1] = torch.tensor(passage.tokens[:-1])
        with torch.inference_mode(), torch.compiler.set_stance("force_eager"):  # lm-eval does not compile
            logits = model(tokens.to(model.device)).logits
        yield batch, logits
        at += len(batch)


def padded_rows(model: PreTrainedModel, groups: Groups, batch_tokens: int) -> Totals:
    """What lm-eval's hf backend does: log-softmax over every position, in the model's precision."""
    found = [[0.0] * len(group) for group in groups]
    for batch, logits in padded_batches(model, groups, batch_tokens):
        shares = torch.nn.functional.log_softmax(logits, dim=-1)
        for row, (g, k, passage) in enumerate(batch):
            found[g][k] = float(picked(shares[row], passage).float().sum())
    return found


def padded_rows_twice(model: PreTrainedModel, groups: Groups, batch_tokens: int) -> tuple[Totals, Totals]:
    """`padded_rows`, and the same logits with the log-softmax in single precision, as the trees have it."""
    found, precise = [[0.0] * len(group) for group in groups], [[0.0] * len(group) for group in groups]
    for batch, logits in padded_batches(model, groups, batch_tokens):
        for row, (g, k, passage) in enumerate(batch):
            read = logits[row]
            found[g][k] = float(picked(read.log_softmax(-1), passage).float().sum())
            precise[g][k] = float(picked(read.log_softmax(-1, dtype=torch.float32), passage).sum())
    return found, precise


def picked(shares: torch.Tensor, passage: Passage) -> torch.Tensor:
    """What a row's positions say of the tokens of a passage that are scored."""
    wanted = torch.tensor(passage.tokens[passage.start :], device=shares.device)
    places = torch.arange(passage.start - 1, len(passage.tokens) - 1, device=shares.device)
    return shares[places].gather(-1, wanted[:, None])


def trees(weigher: Weigher, groups: Groups) -> Totals:
    return [[float(values.sum()) for values in group if values is not None] for group in weigher.logprobs(groups)]


def arithmetic(model: PreTrainedModel, groups: Groups) -> tuple[float, float]:
    """Floating-point operations of a pass over the trees, no padding counted; and those that are left out of them."""
    linear = sum(p.numel() for name, p in model.named_parameters() if p.dim() == 2 and "layers" in name)
    head = model.get_output_embeddings().weight.numel()
    layers, hidden = model.config.num_hidden_layers, model.config.hidden_size
    last = model.model.layers[-1].mlp
    spared = sum(p.numel() for p in last.parameters()) if getattr(model, REPLACED, ()) else 0
    total, left_out = 0.0, 0.0
    for group in groups:
        context = group[0].start
        branches = [len(passage.stem) - context for passage in group]
        nodes = context + sum(branches)
        pairs = context * (context + 1) / 2 + sum(b * context + b * (b + 1) / 2 for b in branches)
        reads = 1 + sum(branches)
        total += 2.0 * linear * nodes + 4.0 * layers * hidden * pairs + 2.0 * head * reads
        left_out += 2.0 * spared * (nodes - reads)
    return total, left_out


def timed(work: Callable[[], Totals], repeats: int) -> tuple[float, Totals]:
    """Median seconds, and the result of the last time."""
    result: Totals = []
    seconds = []
    for _ in range(repeats):
        _synchronise()
        start = time.perf_counter()
        result = work()
        _synchronise()
        seconds.append(time.perf_counter() - start)
    return statistics.median(seconds), result


def _synchronise() -> None:
    if torch.cuda.is_available():
        torch.cuda.synchronize()


def measure(model: PreTrainedModel, case: Case, weigher: Weigher, batch_tokens: int, repeats: int) -> dict[str, float]:
    groups = items(case, model.config.vocab_size, np.random.default_rng(case.context * 10 + case.candidates))
    padded_rows(model, groups[:8], batch_tokens), trees(weigher, groups[: max(8, len(groups) // 4)])  # to warm up
    slow, before = timed(lambda: padded_rows(model, groups, batch_tokens), repeats)
    fast, now = timed(lambda: trees(weigher, groups), repeats)
    same = np.mean([np.argmax(a) == np.argmax(b) for a, b in zip(before, now, strict=True)])
    whole, left_out = arithmetic(model, groups)
    return {
        "candidates": case.candidates,
        "context": case.context,
        "items": case.items,
        "rows_per_s": case.items / slow,
        "trees_per_s": case.items / fast,
        "ratio": slow / fast,
        "tflops": whole / fast / 1e12,
        "computed_tflops": (whole - left_out) / fast / 1e12,
        "same_argmax": float(same),
        "largest_difference": float(np.max(np.abs(np.array(before) - np.array(now)))),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--random", choices=SIZES, help="random weights of this size; otherwise the embedded model's")
    parser.add_argument("--items", type=int, default=None, help="items a cell [660 on a GPU, 12 on a CPU]")
    parser.add_argument("--candidates", type=int, nargs="+", default=[2, 4, 8], metavar="K")
    parser.add_argument("--context", type=int, nargs="+", default=[50, 200, 800], metavar="TOKENS")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--batch-tokens", type=int, default=None)
    parser.add_argument(
        "--quick", action="store_true", help="random weights, one cell of 2 items, K = 2 and contexts of 20 tokens"
    )
    parser.add_argument(
        "--compile", action="store_true", help="fuse small operations, as the provider's `compile` does"
    )
    parser.add_argument("--truth", type=int, metavar="N", help="compare both sides with single precision on N items")
    parser.add_argument("--seed", type=int, default=2004, help="which items --truth draws [2004]")
    parser.add_argument("--lm-eval", action="store_true", help="measure lm-eval's own hf backend too, and stop")
    parser.add_argument("--dtype", choices=("float32", "bfloat16"), help="[bfloat16 on a GPU, float32 on a CPU]")
    parser.add_argument("--json", action="store_true", help="print one JSON object alone")
    parser.add_argument("--out", type=Path, help="write that object to this file too")
    arguments = parser.parse_args()
    if arguments.quick:
        arguments.candidates, arguments.context, arguments.repeats, arguments.items = [2], [20], 1, 2
        arguments.random = arguments.random or "tiny"  # reading the embedded file takes longer than all the rest
    gpu = torch.cuda.is_available()
    dtype = getattr(torch, arguments.dtype or ("bfloat16" if gpu else "float32"))
    model = random_model(arguments.random, "cuda" if gpu else "cpu", dtype) if arguments.random else embedded()
    machine = torch.cuda.get_device_name() if gpu else f"CPU, {torch.get_num_threads()} threads"
    body: dict[str, object] = {
        "machine": machine,
        "torch": torch.__version__,
        "dtype": str(dtype).removeprefix("torch."),
        "parameters": sum(p.numel() for p in model.parameters()),
    }
    body |= (
        truth(model, arguments) if arguments.truth else lm_eval(model) if arguments.lm_eval else grid(model, arguments)
    )
    text = json.dumps(body)
    if arguments.json:
        print(text)
    else:
        print(
            f"\n{machine}, torch {torch.__version__}, {dtype}, {sum(p.numel() for p in model.parameters()) / 1e9:.2f}B"
        )
        show(body)
    if arguments.out:
        arguments.out.write_text(text + "\n", encoding="utf-8")


def grid(model: PreTrainedModel, arguments: argparse.Namespace) -> dict[str, object]:
    """Every cell: both sides, timed."""
    gpu = torch.cuda.is_available()
    tokens = arguments.batch_tokens or (16384 if gpu else 2048)
    weigher = Weigher(model, tokens)
    count = arguments.items or (660 if gpu else 12)
    if arguments.compile:
        compile_layers(model)
    rows = []
    for k in arguments.candidates:
        for context in arguments.context:
            # About as many tokens in every cell, so that each takes the padded rows about as long.
            share = int(np.clip(count * 800 / (k * context), count / 8, 2 * count))
            rows.append(measure(model, Case(max(1, share), k, context), weigher, tokens, arguments.repeats))
            print(json.dumps(rows[-1]), file=sys.stderr)
    return {"compiled": arguments.compile, "rows": rows}


def truth(model: PreTrainedModel, arguments: argparse.Namespace) -> dict[str, object]:
    """Both sides in the model's precision against single precision, on the same items, at each length of the contexts.

    Single precision is that of the trees; `reference_away` is how far plain rows in single precision are from it, at
    most, on the first eight items. The model is in single precision afterwards.
    """
    tokens = arguments.batch_tokens or (16384 if torch.cuda.is_available() else 2048)
    torch.backends.cuda.matmul.allow_tf32 = False  # single precision is to be that
    k = arguments.candidates[0] if len(arguments.candidates) == 1 else 4
    cases = {
        context: items(
            Case(arguments.truth, k, context), model.config.vocab_size, np.random.default_rng(arguments.seed)
        )
        for context in arguments.context
    }
    sides: dict[int, dict[str, Totals]] = {}
    for context, groups in cases.items():
        rows_in, precise = padded_rows_twice(model, groups, tokens)
        sides[context] = {ROWS: rows_in, PRECISE_ROWS: precise, "trees": trees(Weigher(model, tokens), groups)}
        print(f"contexts of {context}: rows and trees done", file=sys.stderr, flush=True)
    if arguments.compile:
        compile_layers(model)
        for context, groups in cases.items():
            sides[context]["trees, compiled"] = trees(Weigher(model, tokens), groups)
    model.float()
    rows: list[dict[str, object]] = []
    for context, groups in cases.items():
        with torch.compiler.set_stance("force_eager"):
            exact = np.array(trees(Weigher(model, tokens), groups))
        away = float(np.max(np.abs(np.array(padded_rows(model, groups[:8], tokens)) - exact[:8])))
        for row in nearness(sides[context], exact):
            rows.append({"context": context, **row, "reference_away": away})
            print(json.dumps(rows[-1]), file=sys.stderr, flush=True)
    return {"items": arguments.truth, "candidates": k, "truth": rows}


def nearness(sides: dict[str, Totals], exact: FloatArray) -> list[dict[str, object]]:
    """How near each side's log-likelihoods, items × candidates, are to the exact ones, beside those of both rows.

    `same_argmax` is the share of items whose likeliest candidate is the exact one, `error` the mean of |Δ log p| over
    all candidates. Beside the rows that `against` names: `agree`, the share of items with the same likeliest candidate;
    `only_here` and `only_there`, on how many items it is the exact one on one side alone; `more`, the mean over items
    of this side's error less that of those rows, with its standard error.
    """
    errors = {name: np.abs(np.array(side) - exact).mean(-1) for name, side in sides.items()}
    chosen = {name: np.argmax(side, -1) for name, side in sides.items()}
    best = np.argmax(exact, -1)
    rows: list[dict[str, object]] = []
    for name, against in ((name, against) for name in sides for against in (ROWS, PRECISE_ROWS) if name != against):
        here, there, more = chosen[name], chosen[against], errors[name] - errors[against]
        rows.append(
            {
                "side": name,
                "same_argmax": float(np.mean(here == best)),
                "error": float(errors[name].mean()),
                "against": against,
                "agree": float(np.mean(here == there)),
                "only_here": int(np.sum((here == best) & (there != best))),
                "only_there": int(np.sum((here != best) & (there == best))),
                "more": float(more.mean()),
                "standard_error": float(more.std(ddof=1) / np.sqrt(len(more))) if len(more) > 1 else None,
            }
        )
    return rows


def lm_eval(model: PreTrainedModel) -> dict[str, object]:
    """lm-eval itself and the trees on six items of K = 4 and contexts of 200 tokens."""
    groups = items(Case(6, 4, 200), model.config.vocab_size, np.random.default_rng(2004))
    theirs, totals = lm_eval_totals(model, groups, 8)
    ours, values = timed(lambda: trees(Weigher(model, 2048), groups), 1)
    return {
        "lm_eval_per_s": len(groups) / theirs,
        "trees_per_s": len(groups) / ours,
        "ratio": theirs / ours,
        "largest_difference": float(np.max(np.abs(np.array(totals) - np.array(values)))),
    }


def show(body: dict[str, object]) -> None:
    """What was measured, as a table."""
    rows = body.get("rows", body.get("truth"))
    if not isinstance(rows, list):
        rows = [body]
    print("| " + " | ".join(rows[0]) + " |")
    print("|" + "--:|" * len(rows[0]))
    for row in rows:
        cells = (f"{value:.4g}" if isinstance(value, float) else str(value) for value in row.values())
        print("| " + " | ".join(cells) + " |")


def lm_eval_totals(model: PreTrainedModel, groups: Groups, batch_size: int) -> tuple[float, Totals]:
    """Seconds and log-likelihoods of lm-eval's own hf backend on the same tokens."""
    from lm_eval.models.huggingface import HFLM

    backend = HFLM(pretrained=model, tokenizer=load("smollm2").tokenizer, batch_size=batch_size, backend="causal")
    asked = [(("", ""), list(p.tokens[: p.start]), list(p.tokens[p.start :])) for group in groups for p in group]
    start = time.perf_counter()
    answers = backend._loglikelihood_tokens(asked, disable_tqdm=True)  # what its loglikelihood calls after tokenizing
    seconds = time.perf_counter() - start
    flat = iter([total for total, _ in answers])
    return seconds, [[next(flat) for _ in group] for group in groups]


def embedded() -> PreTrainedModel:
    return load("smollm2", device="cpu").model


if __name__ == "__main__":
    sys.exit(main())

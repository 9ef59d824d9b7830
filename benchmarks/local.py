"""What the local provider costs: trials a second with one worker and with several, and the memory of each worker.

    python benchmarks/local.py [--json] [--quick] [--workers 2] [--trials 48] [--tries 3] [--model smollm2]

Control questions of the packaged conformity set, one short sentence each, through `Model.answer`, as a run asks them.
The ratio is what counts: one worker and several are measured in turn, `tries` times, so that a busy moment hits both,
and the clock starts at the first answer, so that loading the weights does not count. Two processes on two cores that
others use too cannot reach 2: 'busy' is the share of the machine's processor time that other processes took meanwhile,
and 'CPU ms' the processor time of a trial, all our processes together, which load moves less. While both passes spend
the same on a trial, `workers` free cores give `workers` times the trials.
Memory is the operating system's: resident (weights that all workers share are counted in each) and proportional
(shared pages divided among those who share them), both at the last answer. Linux only.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median

import perpend
from perpend.models.local import Local, model
from perpend.spec.model import Budget
from perpend.types import Message, Request, Sampling

FACTS = Path(perpend.__file__).parent / "studies" / "conformity" / "items" / "facts.jsonl"
SYSTEM = "Answer the question in one short sentence."
TICKS = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True, slots=True)
class Measured:
    """One pass over the trials."""

    workers: int
    trials_per_s: float
    tokens_per_s: float
    busy: float
    cpu_ms: float
    resident_mb: float
    proportional_mb: float


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument("--quick", action="store_true", help="6 trials, once; the numbers say little")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--trials", type=int, default=48)
    parser.add_argument("--tries", type=int, default=3)
    parser.add_argument("--model", default="smollm2", help="what follows local/ in a model's name")
    chosen = parser.parse_args()
    if chosen.quick:
        chosen.trials, chosen.tries = 6, 1
    passes = [
        measure(model(chosen.model, workers=workers), chosen.trials)
        for _ in range(chosen.tries)
        for workers in (1, chosen.workers)
    ]
    pairs = list(zip(passes[::2], passes[1::2], strict=True))
    ratios = [many.trials_per_s / one.trials_per_s for one, many in pairs]
    if chosen.json:
        print(json.dumps({"passes": [asdict(one) for one in passes], "ratios": ratios}))
        return
    memory = f"{'resident MB':>12} {'proportional MB':>16}"
    print(f"{'workers':>7} {'trials/s':>9} {'tokens/s':>9} {'busy':>6} {'CPU ms':>7} {memory}")
    for one in passes:
        cost = f"{one.busy:6.0%} {one.cpu_ms:7.0f}"
        memory = f"{one.resident_mb:12.0f} {one.proportional_mb:16.0f}"
        print(f"{one.workers:7} {one.trials_per_s:9.2f} {one.tokens_per_s:9.1f} {cost} {memory}")
    shown = ", ".join(f"{ratio:.2f}" for ratio in ratios)
    print(f"{chosen.workers} workers against one: {shown}; median {median(ratios):.2f}, best {max(ratios):.2f}")
    spent = [chosen.workers * one.cpu_ms / many.cpu_ms for one, many in pairs]
    print(f"the same by processor time alone: median {median(spent):.2f}")


def measure(asked: Local, trials: int) -> Measured:
    """Trials and output tokens a second after the first answers, and what a worker holds in memory at the end."""
    done = tokens = 0
    started = time.perf_counter()
    before = after = (0.0, 0.0)
    memory: list[tuple[float, float]] = []
    for batch in asked.answer(questions(trials + asked.workers), Budget()):
        if not before[0]:
            # The weights are loaded and every worker is at work.
            started, before = time.perf_counter(), (machine_seconds(), own_seconds())
            continue
        done += len(batch)
        tokens += sum(response.usage.output or 0 for _, response in batch if response.usage is not None)
        if done >= trials - asked.workers and not memory:
            memory = [memory_mb(pid) for pid in children()]
            seconds = time.perf_counter() - started
            after = (machine_seconds(), own_seconds())
            finished, spoken = done, tokens
    ours, everything = after[1] - before[1], after[0] - before[0]
    busy = max(0.0, everything - ours) / (seconds * (os.cpu_count() or 1))
    resident, proportional = (max(column) for column in zip(*memory, strict=True))
    rates = (finished / seconds, spoken / seconds, busy, 1000 * ours / finished)
    return Measured(asked.workers, *rates, resident, proportional)


def questions(count: int) -> Iterator[tuple[int, Request]]:
    """The first facts, once more from the beginning where there are too few."""
    prompts = [json.loads(line)["prompt"] for line in FACTS.read_text(encoding="utf-8").splitlines()]
    for key in range(count):
        messages = (Message("system", SYSTEM), Message("user", prompts[key % len(prompts)]))
        yield key, Request(messages, Sampling(max_tokens=32))


def children() -> list[int]:
    """The processes that this one has started and that still run."""
    return [int(pid) for task in Path("/proc/self/task").iterdir() for pid in (task / "children").read_text().split()]


def memory_mb(pid: int) -> tuple[float, float]:
    """Resident and proportional memory of a process."""
    rows = dict(line.split(":") for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()[1:])
    resident, proportional = (float(rows[name].split()[0]) / 1000 for name in ("Rss", "Pss"))
    return resident, proportional


def machine_seconds() -> float:
    """Processor time that the machine has spent on anything, idling aside."""
    fields = [int(field) for field in Path("/proc/stat").read_text().splitlines()[0].split()[1:9]]
    return (sum(fields) - fields[3] - fields[4]) / TICKS


def own_seconds() -> float:
    """Processor time of this process and its children, those still running included."""
    total = sum(os.times()[:4])
    for pid in children():
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        total += (int(fields[11]) + int(fields[12])) / TICKS
    return total


if __name__ == "__main__":
    main()

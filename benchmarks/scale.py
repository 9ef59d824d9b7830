"""Every verb on runs of 10 thousand to 10 million trials: time, processor time, memory, and how each grows.

    python benchmarks/scale.py                    10,000 and 100,000 trials; minutes
    python benchmarks/scale.py --quick            88 trials: two variants at one temperature; seconds
    python benchmarks/scale.py --sizes 1000000    other sizes; 10,000,000 takes hours and 30 GB of disk
    python benchmarks/scale.py --shards 1,2,8     also ask in 1, 2 and 8 shards at once, and merge them
    python benchmarks/scale.py --json             one JSON object
    python benchmarks/scale.py --keep DIR         keep the runs there, and use those that are there already

The run is a conformity sweep of six simulated variants at six temperatures: 11 scores a trial. Each verb is the command
that a user types, in a process of its own. Processor time and memory are those of the process and of all that it
started: memory is the largest sum of what they held at one time, looked at ten times a second; a page that several hold
is counted once. `us_per_trial` is processor time.
"""

from __future__ import annotations

import argparse
import json
import platform
import resource
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import islice
from pathlib import Path

from conformity import TEMPERATURES, VARIANTS, make_items, write_items

VERBS = ("eval", "score", "show", "analyze", "compare", "export", "publish", "audit")
FEWEST = 11  # ten facts and an opinion
MB = 1024.0 * 1024.0


@dataclass(frozen=True, slots=True)
class Sweep:
    """Which variants are asked, at which temperatures."""

    variants: Mapping[str, Mapping[str, object]]
    temperatures: Sequence[float]

    @property
    def per_item(self) -> int:
        """Trials of an item: four conditions each."""
        return len(self.variants) * len(self.temperatures) * 4


WHOLE = Sweep(VARIANTS, TEMPERATURES)
SMALL = Sweep(dict(islice(VARIANTS.items(), 2)), TEMPERATURES[:1])


@dataclass(frozen=True, slots=True)
class Step:
    """One verb at one size."""

    verb: str
    trials: int
    seconds: float
    cpu_seconds: float
    peak_mb: float

    @property
    def us_per_trial(self) -> float:
        """Microseconds of processor time for each trial."""
        return self.cpu_seconds / self.trials * 1e6


def family(root: int) -> list[int]:
    """A process and all that it started (Linux)."""
    children: dict[int, list[int]] = {}
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            fields = (folder / "stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
        except OSError:
            continue
        children.setdefault(int(fields[1]), []).append(int(folder.name))
    members, left = [], [root]
    while left:
        members.append(left.pop())
        left += children.get(members[-1], [])
    return members


def memory(process: int) -> int:
    """The bytes that a process holds in memory, of those that n processes share an n-th; 0 when it is gone."""
    try:
        lines = Path(f"/proc/{process}/smaps_rollup").read_text(encoding="utf-8").splitlines()
    except OSError:
        return 0
    return sum(int(line.split()[1]) * 1024 for line in lines if line.startswith("Pss:"))


def measured(verb: str, trials: int, commands: list[list[str]]) -> Step:
    """Run commands side by side and measure them together."""
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    running = [subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE) for command in commands]
    peak, ended = 0, threading.Event()

    def watch() -> None:
        nonlocal peak
        while not ended.wait(0.1):
            peak = max(peak, sum(memory(one) for process in running for one in family(process.pid)))

    watcher = threading.Thread(target=watch)
    watcher.start()
    errors = [process.communicate()[1] for process in running]
    ended.set()
    watcher.join()
    for process, words in zip(running, errors, strict=True):
        if process.returncode:
            raise SystemExit(f"{verb}: {' '.join(map(str, process.args))}\n{words.decode()[-2000:]}")  # type: ignore[arg-type]
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return Step(verb, trials, time.perf_counter() - start, used, peak / MB)


def write_spec(folder: Path, items: int, sweep: Sweep) -> Path:
    """A run.toml of the sweep."""
    opinions = items // 11
    write_items(make_items(items - opinions, opinions), folder / "items.jsonl")
    lines = ['task = "conformity"', 'items = "items.jsonl"', 'name = "sweep"']
    lines += ["[sampling]", f"temperature = {list(sweep.temperatures)}"]
    for number, (label, truths) in enumerate(sweep.variants.items()):
        options = {"item_sd": 1.0, "sway_sd": 0.5, "seed": number, **truths}
        lines += ["[[model]]", 'name = "mock/subject"', f'label = "{label}"']
        lines += [f"{key} = {json.dumps(value)}" for key, value in options.items()]
    path = folder / "run.toml"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def perpend(*words: str | Path) -> list[str]:
    """A command, by this Python."""
    return [sys.executable, "-c", "from perpend.cli import main; main()", *map(str, words)]


def command(verb: str, folder: Path, spec: Path) -> list[str]:
    """What a user types."""
    run, first = folder / "sweep", list(VARIANTS)[1]
    return {
        "eval": perpend("eval", spec, "--out", folder, "--no-score", "--quiet"),
        "score": perpend("score", run, "--json"),
        "show": perpend("show", run),
        "analyze": perpend("analyze", run, "--out", folder / "analysis", "--no-figures"),
        "compare": perpend("compare", run, run, "--first", "model=base", "--second", f"model={first}",
                           "--column", "correct"),
        "export": perpend("export", run, "--parquet", folder / "parquet"),
        "publish": perpend("publish", run, "--to", folder / "published", "--no-figures"),
        "audit": perpend("audit", folder / "published" / "sweep"),
    }[verb]  # fmt: skip


def at_size(folder: Path, wanted: int, sweep: Sweep = WHOLE) -> list[Step]:
    """Every verb at one size; the run is asked unless it is there."""
    folder.mkdir(parents=True, exist_ok=True)
    items = max(FEWEST, round(wanted / sweep.per_item))
    spec = write_spec(folder, items, sweep)
    trials = items * sweep.per_item
    for left in ("analysis", "parquet", "published"):
        shutil.rmtree(folder / left, ignore_errors=True)
    steps = []
    for verb in VERBS:
        if verb == "eval" and (folder / "sweep" / "metrics.json").is_file():
            continue
        steps.append(measured(verb, trials, [command(verb, folder, spec)]))
        print(told(steps[-1]), file=sys.stderr)
    return steps


def in_shards(folder: Path, wanted: int, shards: int) -> list[Step]:
    """The same run asked by so many processes at once, one shard each, and merged."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    items = max(FEWEST, round(wanted / WHOLE.per_item))
    spec, trials = write_spec(folder, items, WHOLE), items * WHOLE.per_item
    asked = [
        perpend("eval", spec, "--out", folder, "--quiet", "--shard", f"{number}/{shards}")
        for number in range(1, shards + 1)
    ]
    steps = [measured(f"eval, {shards} shards", trials, asked)]
    steps.append(measured(f"merge, {shards} shards", trials, [perpend("merge", folder / "sweep")]))
    return steps


def told(step: Step) -> str:
    """A step in a line."""
    return (
        f"{step.trials:>10,}  {step.verb:<16} {step.seconds:8.1f} s  {step.cpu_seconds:8.1f} s of processor  "
        f"{step.us_per_trial:7.1f} µs a trial  {step.peak_mb:6.0f} MB"
    )


def main() -> int:
    parser = argparse.ArgumentParser(description="Time and memory of every verb by the size of the run.")
    parser.add_argument("--quick", action="store_true", help="one small run, which only shows that all of it starts")
    parser.add_argument("--sizes", default="10000,100000", help="numbers of trials, separated by commas")
    parser.add_argument("--shards", default="", help="numbers of shards, separated by commas")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument("--keep", type=Path, help="keep the runs in this folder")
    given = parser.parse_args()
    sizes = [] if given.quick else [int(size) for size in given.sizes.split(",")]
    shards = [int(count) for count in given.shards.split(",") if count]
    steps: list[Step] = []
    with tempfile.TemporaryDirectory() as scratch:
        place = given.keep or Path(scratch)
        if given.quick:
            steps += at_size(place / "quick", 0, SMALL)
        for size in sizes:
            steps += at_size(place / str(size), size)
            for count in shards:
                steps += in_shards(place / f"{size}-in-{count}", size, count)
    if given.json:
        rows = [{**asdict(step), "us_per_trial": step.us_per_trial} for step in steps]
        print(json.dumps({"python": platform.python_version(), "steps": rows}, sort_keys=True))
        return 0
    for step in steps:
        print(told(step))
    return 0


if __name__ == "__main__":
    sys.exit(main())

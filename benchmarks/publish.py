"""Publishing and auditing a run at three sizes: time, memory, bytes, and how each grows.

    python benchmarks/publish.py            23,760 and 237,600 trials; minutes
    python benchmarks/publish.py --quick    1,188 trials only; seconds
    python benchmarks/publish.py --large    also 1,021,680 trials; asking and scoring them takes most of an hour
    python benchmarks/publish.py --json     one JSON object
    python benchmarks/publish.py --keep DIR keep the runs there, and use those that are there already

The run is the conformity sweep of benchmarks/conformity.py: 6 simulated variants × 3 conditions × 6 temperatures × 220
items, with ten and 43 times the items, and 11 scores a trial. Each step runs in a process of its own, whose peak memory
is read at its end. Figures are drawn apart: 34 of them take the same time whatever the size.
"""

from __future__ import annotations

import argparse
import json
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path

from conformity import ask, peak_mb

TRIALS = 6 * 3 * 6 * 220


def gates(folder: Path) -> None:
    from perpend.proof.gates import gates as found

    found(folder / "sweep")


def publish(folder: Path, *, figures: bool = False) -> None:
    from perpend.proof.publish import publish as publish_runs

    shutil.rmtree(folder / "published", ignore_errors=True)
    publish_runs([folder / "sweep"], folder / "published", {}, figures=figures)


def verify(folder: Path) -> None:
    from perpend.proof.verify import problems

    told = problems(folder / "published" / "sweep")
    if told:
        raise SystemExit(f"verify: {told}")


def restore(folder: Path) -> None:
    from perpend.proof.restoring import restore as restore_run

    shutil.rmtree(folder / "restored", ignore_errors=True)
    restore_run(folder / "published" / "sweep", folder / "restored")
    shutil.rmtree(folder / "restored")


def audit(folder: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", "from perpend.cli import main; main()", "audit", str(folder / "published" / "sweep")],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    if done.returncode:
        raise SystemExit(f"audit: {done.stdout[-2000:]}{done.stderr[-2000:]}")


STEPS: dict[str, Callable[[Path], None]] = {
    "gates alone": gates,
    "publish without figures": publish,
    "verify.py": verify,
    "restore": restore,
    "audit": audit,
    "publish with 34 figures": lambda folder: publish(folder, figures=True),
}


@dataclass(frozen=True, slots=True)
class Step:
    """Seconds of one step, on the clock and of the processor, and the peak megabytes of its processes."""

    step: str
    trials: int
    seconds: float
    cpu_seconds: float
    peak_mb: float


def measured(step: str, folder: Path, times: float) -> Step:
    command = [sys.executable, __file__, "--step", step, "--folder", str(folder), "--times", str(times)]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    found = json.loads(done.stdout.splitlines()[-1])
    return Step(step, round(TRIALS * times), **found)


def one_step(step: str, folder: Path, times: float) -> None:
    start = time.perf_counter()
    if step == "ask":
        ask(folder, times)
    else:
        STEPS[step](folder)
    seconds = time.perf_counter() - start
    own, others = resource.getrusage(resource.RUSAGE_SELF), resource.getrusage(resource.RUSAGE_CHILDREN)
    found = {
        "seconds": seconds,
        "cpu_seconds": own.ru_utime + own.ru_stime + others.ru_utime + others.ru_stime,
        "peak_mb": max(peak_mb(), others.ru_maxrss / 1024.0),
    }
    print(json.dumps(found))


def at_size(folder: Path, times: float) -> list[Step]:
    """Every step at one size; the run is asked unless it is there."""
    folder.mkdir(parents=True, exist_ok=True)
    if not (folder / "sweep" / "manifest.json").is_file():
        measured("ask", folder, times)
    names = [name for name in STEPS if times == 1 or "figures" not in name or "without" in name]
    steps = [measured(name, folder, times) for name in names]
    size = sum(path.stat().st_size for path in (folder / "published" / "sweep").rglob("*") if path.is_file())
    print(
        f"{round(TRIALS * times):>9,} trials: {size / 1e6:.1f} MB published, "
        f"{(folder / 'sweep' / 'run.db').stat().st_size / 1e6:.0f} MB run.db",
        file=sys.stderr,
    )
    return steps


def main() -> int:
    parser = argparse.ArgumentParser(description="Time, memory and growth of publish and audit.")
    parser.add_argument("--quick", action="store_true", help="one small size, no figures")
    parser.add_argument("--large", action="store_true", help="a million trials, too")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument("--keep", type=Path, help="keep the runs in this folder")
    parser.add_argument("--step", help=argparse.SUPPRESS)
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--times", type=float, default=1, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.step:
        one_step(given.step, given.folder, given.times)
        return 0
    sizes = [0.05] if given.quick else [1, 10, 43] if given.large else [1, 10]
    with tempfile.TemporaryDirectory() as scratch:
        steps = [step for times in sizes for step in at_size((given.keep or Path(scratch)) / str(times), times)]
    if given.json:
        print(json.dumps({"steps": [asdict(step) for step in steps]}, sort_keys=True))
        return 0
    for one in steps:
        told = f"{one.seconds:7.1f} s  {one.cpu_seconds:7.1f} s of processor  {one.peak_mb:6.0f} MB"
        print(f"{one.trials:>9,} trials  {one.step:<26} {told}")
    return 0


if __name__ == "__main__":
    sys.exit(main())

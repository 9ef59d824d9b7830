"""Calibration, regression and paired resampling: ours beside the usual ways, in one process, on the same arrays.

    python benchmarks/stats.py            minutes; prints the table
    python benchmarks/stats.py --write    and puts it into stats.csv
    python benchmarks/stats.py --quick    seconds; the smaller sizes
    python benchmarks/stats.py --json     one JSON object

Times are the least of a few runs, peers in turn; ours include the checks of the input. Trust the ratios: the seconds
depend on the machine and its neighbours. Peers that are not installed are left out. Rows marked 'extrapolated' ran a
few resamples of the slow way and multiplied.
"""

from __future__ import annotations

import argparse
import csv
import importlib.util
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path

# One thread for everybody, set before numpy reads it: on a busy machine the threads of a linear algebra library wait
# for each other, and one and the same formula fit took between 25 and 350 ms.
for _name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[_name] = "1"

import numpy as np  # noqa: E402 - after the threads are set
import numpy.typing as npt  # noqa: E402

from perpend.stats import calibration  # noqa: E402
from perpend.stats.binary import paired_bootstrap  # noqa: E402
from perpend.stats.cells import Column, collapse, factor, number  # noqa: E402
from perpend.stats.regression import nested_tests  # noqa: E402

Array = npt.NDArray[np.float64]
LEVELS = {
    "variant": tuple("abcdef"),
    "condition": ("control", "asch", "authority"),
    "temperature": (0.0, 0.2, 0.4, 0.6, 0.8, 1.0),
}


@dataclass(frozen=True, slots=True)
class Row:
    """One task at one size: seconds of each way, and how many times longer each takes than ours."""

    task: str
    n: int
    seconds: dict[str, float]
    ratios: dict[str, float]
    extrapolated: bool
    largest_difference: float | None


def installed(name: str) -> bool:
    return importlib.util.find_spec(name) is not None


def measured(ways: dict[str, Callable[[], object]], runs: int) -> tuple[dict[str, float], dict[str, object]]:
    """The least seconds of each way over some runs, the ways taking turns; and what each returned.

    A turn is two calls: after the first, every way finds its arrays in the cache that it left itself, not the one
    that its neighbour in the list left.
    """
    least, values = dict.fromkeys(ways, float("inf")), {}
    for _ in range(runs):
        for name, way in ways.items():
            for _ in range(2):
                start = time.perf_counter()
                values[name] = way()
                least[name] = min(least[name], time.perf_counter() - start)
    return least, values


def row(task: str, n: int, seconds: dict[str, float], values: dict[str, object], *, extrapolated: bool = False) -> Row:
    numbers = [float(v) for v in values.values() if isinstance(v, float)]
    spread = max(numbers) - min(numbers) if len(numbers) > 1 else None
    ratios = {name: taken / seconds["perpend"] for name, taken in seconds.items() if name != "perpend"}
    return Row(task, n, seconds, ratios, extrapolated, spread)


def lab_ece(confidences: Array, correct: Array, n_bins: int = 10) -> float:
    """The lab's loop."""
    edges = np.linspace(0.0, 1.0, n_bins + 1)
    total = 0.0
    for m in range(n_bins):
        if m == n_bins - 1:
            mask = (confidences >= edges[m]) & (confidences <= edges[m + 1])
        else:
            mask = (confidences >= edges[m]) & (confidences < edges[m + 1])
        if mask.sum() == 0:
            continue
        total += (mask.sum() / len(confidences)) * abs(correct[mask].mean() - confidences[mask].mean())
    return float(total)


def answers(n: int) -> tuple[Array, Array]:
    """Calibrated confidences and their answers."""
    rng = np.random.default_rng(0)
    c = rng.beta(8.0, 2.0, n)
    return c, (rng.random(n) < c).astype(np.float64)


def ece_row(n: int, runs: int, quick: bool) -> Row:
    c, y = answers(n)
    ways: dict[str, Callable[[], object]] = {
        "perpend": lambda: calibration.ece(c, y),
        "lab loop": lambda: lab_ece(c, y),
    }
    if installed("sklearn"):
        from sklearn.calibration import calibration_curve

        # Only the curve: it has no counts, so its ECE needs a second pass that is not timed here.
        ways["sklearn curve"] = lambda: calibration_curve(y, c, n_bins=10)
    if installed("netcal") and not quick:
        from netcal.metrics import ECE

        ways["netcal"] = lambda: float(ECE(10).measure(c, y))
    return row("ECE, 10 bins", n, *measured(ways, runs))


def brier_row(n: int, runs: int) -> Row:
    c, y = answers(n)
    ways: dict[str, Callable[[], object]] = {
        "perpend": lambda: calibration.brier(c, y),
        "lab": lambda: float(np.mean((c - y) ** 2)),
    }
    if installed("sklearn"):
        from sklearn.metrics import brier_score_loss

        ways["sklearn"] = lambda: float(brier_score_loss(y, c))
    return row("Brier", n, *measured(ways, runs))


def bootstrap_row(n: int, runs: int) -> Row:
    """All of `ece_estimate` (1,000 bootstrap draws, 1,000 null draws, edge conventions) against a row bootstrap."""
    c, y = answers(n)
    rng = np.random.default_rng(1)

    def resampled() -> object:
        picked = rng.integers(0, n, n)
        return np.array(lab_ece(c[picked], y[picked]))

    ours, _ = measured({"perpend": lambda: calibration.ece_estimate(c, y)}, runs)
    theirs, _ = measured({"lab loop": resampled}, max(2, min(runs, 200_000 // n)))
    seconds = {**ours, "naive bootstrap, lab loop": 1000 * theirs["lab loop"]}
    return row("ECE with 1,000 resamples", n, seconds, {}, extrapolated=True)


def experiment(n: int) -> tuple[npt.NDArray[np.uint8], list[Column]]:
    """Six variants × three conditions × six temperatures, coded."""
    rng = np.random.default_rng(2)
    place = np.arange(n)
    codes = (place % 6, place // 6 % 3, place // 18 % 6)
    outcome = rng.random(n) < 0.3 + 0.05 * codes[0] - 0.03 * codes[1]
    columns = [
        Column(name, levels, code.astype(np.uint8)) for (name, levels), code in zip(LEVELS.items(), codes, strict=True)
    ]
    return outcome.astype(np.uint8), columns


def regression_rows(n: int, runs: int) -> list[Row]:
    """Collapse, five nested logits and four tests against ONE formula fit of the largest model.

    Coded columns on our side stand beside a formula on text, which is what a frame read from a file holds, and beside
    a formula on categorical columns, which are coded too. The second row starts from text on both sides.
    """
    y, columns = experiment(n)
    text = {column.name: np.array(column.levels)[column.codes] for column in columns}
    lists = {name: values.tolist() for name, values in text.items()}

    def coded() -> object:
        return nested_tests(collapse(y, columns), *LEVELS)

    def from_text() -> object:
        named = [factor("variant", lists["variant"]), factor("condition", lists["condition"], reference="control")]
        return nested_tests(collapse(y, [*named, number("temperature", text["temperature"])]), *LEVELS)

    ours = measured({"coded": coded, "text": from_text}, max(runs, 5))[0]
    theirs: dict[str, float] = {}
    if installed("pandas"):
        import pandas as pd
        import statsmodels.formula.api as smf

        plain = pd.DataFrame({"y": y.astype(float), **text})
        known = plain.assign(**{name: pd.Categorical(text[name]) for name in ("variant", "condition")})
        ways: dict[str, Callable[[], object]] = {
            f"one formula fit, {kind} columns": lambda frame=frame: smf.logit(
                "y ~ variant * condition + temperature", frame
            ).fit(disp=0)
            for kind, frame in (("text", plain), ("categorical", known))
        }
        theirs = measured(ways, 1 if n > 1_000_000 else 3)[0]
    task = "5 nested logits + 4 tests"
    on_text = {name: taken for name, taken in theirs.items() if "text" in name}
    return [
        row(f"{task}, coded columns", n, {"perpend": ours["coded"], **theirs}, {}),
        row(f"{task}, from text", n, {"perpend": ours["text"], **on_text}, {}),
    ]


def paired_row(n: int, runs: int) -> Row:
    """10,000 paired resamples of the differences in accuracy, balanced accuracy and MCC."""
    rng = np.random.default_rng(3)
    gold = rng.integers(0, 2, n).astype(np.float64)
    first, second = (np.where(rng.random(n) < share, gold, 1.0 - gold) for share in (0.7, 0.73))
    seconds, _ = measured({"perpend": lambda: paired_bootstrap(gold, first, second)}, runs)
    if installed("sklearn"):
        from sklearn.metrics import accuracy_score, balanced_accuracy_score, matthews_corrcoef

        def resampled() -> object:
            picked = rng.integers(0, n, n)
            truth, a, b = gold[picked], first[picked], second[picked]
            metrics = (accuracy_score, balanced_accuracy_score, matthews_corrcoef)
            return [metric(truth, b) - metric(truth, a) for metric in metrics]

        seconds["sklearn loop"] = 10_000 * measured({"once": resampled}, 5)[0]["once"]
    return row("10,000 paired resamples", n, seconds, {}, extrapolated=True)


MEMORY = """
import sys
from pathlib import Path
import numpy as np
from perpend.stats.calibration import ece
n = int(sys.argv[1])
rng = np.random.default_rng(0)
c, y = np.empty(n), np.empty(n)
for s in range(0, n, 100_000):  # filled in pieces, so that making the arrays does not set the peak
    c[s : s + 100_000] = rng.random(min(100_000, n - s))
    y[s : s + 100_000] = rng.random(min(100_000, n - s)) < c[s : s + 100_000]

def peak():  # getrusage would count the parent's peak too
    status = Path("/proc/self/status").read_text().splitlines()
    return next(line.split()[1] for line in status if line.startswith("VmHWM"))

before = peak()
ece(c, y)
print(before, peak())
"""


def memory(n: int) -> dict[str, float]:
    """Peak resident megabytes of a fresh process before and after one ECE of n rows (Linux)."""
    told = subprocess.run([sys.executable, "-c", MEMORY, str(n)], capture_output=True, text=True, check=True).stdout
    before, after = (int(value) / 1024.0 for value in told.split())
    return {"n": n, "arrays_mb": 16.0 * n / 2**20, "peak_before_mb": before, "peak_after_mb": after}


def shown(rows: list[Row], peaks: list[dict[str, float]]) -> str:
    lines = ["| task | n | perpend | beside it (times longer) |", "|---|---|---|---|"]
    for one in rows:
        beside = ", ".join(f"{name} {ratio:,.3g}×" for name, ratio in one.ratios.items())
        mark = " (extrapolated)" if one.extrapolated else ""
        lines.append(f"| {one.task} | {one.n:,} | {1000 * one.seconds['perpend']:,.3g} ms | {beside}{mark} |")
    for peak in peaks:
        before, after = peak["peak_before_mb"], peak["peak_after_mb"]
        lines.append(f"peak memory at {peak['n']:,} rows: {before:.0f} MB before, {after:.0f} MB after")
    return "\n".join(lines)


def write(rows: list[Row]) -> None:
    """Put the times into stats.csv."""
    with Path(__file__).with_name("stats.csv").open("w", encoding="utf-8", newline="") as file:
        table = csv.writer(file, lineterminator="\n")
        table.writerow(("task", "n", "ms", "other", "times", "extrapolated"))
        for one in rows:
            ms, mark = f"{1000 * one.seconds['perpend']:.3g}", "yes" if one.extrapolated else ""
            table.writerows(
                (one.task, one.n, ms, name, f"{float(f'{ratio:.3g}'):g}", mark) for name, ratio in one.ratios.items()
            )


def main() -> None:
    parser = argparse.ArgumentParser(description="Speed of the calibration and regression statistics beside others.")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument("--quick", action="store_true", help="the smallest sizes, once")
    parser.add_argument("--write", action="store_true", help="put the times into stats.csv")
    options = parser.parse_args()
    runs = 1 if options.quick else 7
    sizes = (10_000,) if options.quick else (10_000, 1_000_000, 10_000_000)
    rows = [ece_row(n, runs, options.quick) for n in sizes]
    rows += [brier_row(n, runs) for n in sizes]
    rows += [bootstrap_row(n, 3) for n in sizes]
    for n in (21_600,) if options.quick else (21_600, 2_160_000):
        rows += regression_rows(n, runs)
    rows.append(paired_row(21_600, 3))
    peaks = [memory(n) for n in ((100_000,) if options.quick else (1_000_000, 10_000_000))]
    if options.write:
        write(rows)
    if options.json:
        report = {
            "benchmark": "stats",
            "quick": options.quick,
            "load_average": os.getloadavg()[0],
            "numpy": np.__version__,
            "rows": [asdict(one) for one in rows],
            "memory": peaks,
        }
        print(json.dumps(report, sort_keys=True))
    else:
        print(shown(rows, peaks))


if __name__ == "__main__":
    main()

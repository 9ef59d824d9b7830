"""The page of `perpend view` at three sizes: time, memory and bytes to write it; and in Chromium, how it feels.

    python benchmarks/view.py            1,000, 20,000 and 200,000 trials of 1 kB; minutes
    python benchmarks/view.py --quick    1,000 trials, without the browser; seconds
    python benchmarks/view.py --json     one JSON object
    python benchmarks/view.py --no-browser   the writing half alone
    python benchmarks/view.py --keep DIR keep the runs there, and use those that are there already

A run has a quarter as many items as trials, each under four conditions, answers of 1,000 characters (English words in
sentences), and three scores per trial. Answers and scores are made up and put into the ledger; the questions are
rendered and their digests stored, as by `perpend eval`. The page is written in a process of its own, whose processor
time, clock and peak memory are taken at its end, after one import of everything that it needs.
"""

from __future__ import annotations

import argparse
import json
import random
import resource
import subprocess
import sys
import tempfile
import time
from dataclasses import asdict, dataclass
from itertools import islice
from pathlib import Path

SIZES = (1_000, 20_000, 200_000)
QUICK = SIZES[:1]
CHARACTERS = 1_000
REACH = {"write_s": 3.0, "mb": 25.0, "first_paint_ms": 1_000.0, "filter_ms": 150.0, "search_ms": 150.0}
"""What is wanted at 20,000 trials; in the paged form the same but for writing."""


@dataclass(frozen=True, slots=True)
class Written:
    """What one page took to write."""

    trials: int
    write_s: float
    cpu_s: float
    peak_mb: float
    mb: float
    form: str


def _words() -> list[str]:
    import perpend

    return (Path(perpend.__file__).parent / "models" / "corpus.txt").read_text(encoding="utf-8").split()


def _text(rng: random.Random, words: list[str]) -> str:
    """Sentences of random words, in paragraphs."""
    parts = [f"The answer is {rng.choice(words)}."]
    length = len(parts[0])
    while length < CHARACTERS:
        sentence = " ".join(rng.choices(words, k=rng.randint(6, 18))).capitalize().replace(".", ",")
        parts.append(sentence + rng.choice((".", ".", ".\n\n")))
        length += len(sentence) + 2
    return " ".join(parts)[:CHARACTERS]


def make_run(folder: Path, trials: int) -> Path:
    """A run of that many trials: planned by perpend, answered and scored here."""
    from perpend.ask.conditions import asch, authority, control, first_request
    from perpend.ask.runner import evaluate_task
    from perpend.ask.task import Task
    from perpend.ledger.plan import Appended
    from perpend.ledger.store import Store
    from perpend.measure.run import Run
    from perpend.models.callable import Callable
    from perpend.report.derive import derive
    from perpend.spec.runspec import Limits, ModelSpec, RunSpec
    from perpend.types import Response, Score, Scorer, Usage

    rng, words = random.Random(0), _words()
    folder.mkdir(parents=True, exist_ok=True)
    items = folder / "items.jsonl"
    with items.open("w", encoding="utf-8") as file:
        for number in range(trials // 4):
            target, decoy = rng.sample(words, 2)
            prompt = f"What is {' '.join(rng.choices(words, k=14))}?"
            tags = {"topic": f"topic {number % 12}", "kind": rng.choice(("factual", "hard"))}
            body = {"id": f"q{number}", "prompt": prompt, "target": target + "a", "decoy": decoy + "b", "tags": tags}
            file.write(json.dumps(body) + "\n")
    conditions = (control(), control(name="control_retest"), asch(5), authority())
    task = Task(name="t", conditions=conditions, scorers=("correct@2", "endorsed@2", "refused@2"))
    limits = Limits(max_requests=1)
    spec = RunSpec("t", (ModelSpec("callable/m", "m"),), items=(items,), name=f"run-{trials}", limits=limits)
    model = Callable("m", lambda _request: Response(text=_text(rng, words), finish="stop"))
    directory = evaluate_task(spec, task, [model], folder / "runs", quiet=True).directory
    by_name = {condition.name: condition for condition in conditions}
    with Store.open(directory / "run.db", write=True) as store:
        planned = iter(list(store.trials(2, trials)))
        while batch := list(islice(planned, 5_000)):
            store.append(
                Appended(
                    trial.trial,
                    0,
                    0,
                    first_request(trial, by_name[trial.condition], choices_scored=False).digest,
                    Response(text=_text(rng, words), finish="stop", usage=Usage(60, 220), ms=rng.uniform(200, 900)),
                )
                for trial in batch
            )
        reasons = ("given as the answer", "not mentioned", "mentioned and denied")
        scorers = [
            Scorer(name, "3", lambda _item, _response: Score(None, None, ""))
            for name in ("correct", "endorsed", "refused")
        ]
        store.write_scores(
            scorers,
            (
                (
                    number,
                    [
                        Score(float(rng.random() < share), "word", rng.choice(reasons), (14, 20))
                        for share in (0.6, 0.2, 0.05)
                    ],
                )
                for number in range(1, trials + 1)
            ),
        )
    derive([Run(directory)], directory, figures=False)
    return directory


def write_one(run: Path, out: Path) -> None:
    """Write the page of a run, and print what it took as JSON."""
    from contextlib import ExitStack

    from perpend._view import OpenedRuns, ViewOptions
    from perpend.view.page import write_page

    start, used = time.perf_counter(), time.process_time()
    with ExitStack() as stack:
        page = OpenedRuns(stack, [run], ViewOptions(figures=False)).view()
        written = write_page(page, out)
    seconds, cpu = time.perf_counter() - start, time.process_time() - used
    beside = list(written.folder.iterdir()) if written.folder is not None else []
    size = sum(path.stat().st_size for path in (written.page, *beside)) / 1e6
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024.0
    form = "file" if written.folder is None else "folder"
    print(json.dumps(asdict(Written(written.trials, seconds, cpu, peak, size, form))))


def measured(run: Path, out: Path, times: int = 3) -> Written:
    """The best of some writings, each in a process of its own: others may use the machine meanwhile."""
    rows = []
    for _ in range(times):
        command = [sys.executable, __file__, "--write", str(run), "--to", str(out)]
        done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
        rows.append(Written(**json.loads(done.stdout.splitlines()[-1])))
    return min(rows, key=lambda row: row.cpu_s)


def main() -> int:
    parser = argparse.ArgumentParser(description="Time, memory and size of the page, and how it feels in Chromium.")
    parser.add_argument("--quick", action="store_true", help="1,000 trials, without the browser")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument("--no-browser", action="store_true", help="write the pages only")
    parser.add_argument("--keep", type=Path, help="keep the runs and pages in this folder")
    parser.add_argument("--write", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--to", type=Path, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.write is not None:
        write_one(given.write, given.to)
        return 0
    with tempfile.TemporaryDirectory() as temporary:
        folder = given.keep or Path(temporary)
        rows: list[dict[str, object]] = []
        for trials in QUICK if given.quick else SIZES:
            run = folder / str(trials) / "runs" / f"run-{trials}"
            if not (run / "metrics.json").is_file():
                make_run(folder / str(trials), trials)
            page = folder / f"page-{trials}.html"
            row: dict[str, object] = asdict(measured(run, page, times=1 if trials > 20_000 or given.quick else 3))
            if not given.no_browser and not given.quick:
                from view_browser import felt

                row |= felt(page)
            rows.append(row)
            if not given.json:
                print(as_text(row), flush=True)
    if given.json:
        print(json.dumps({"reach_at_20000": REACH, "rows": rows}))
    return 0


def as_text(row: dict[str, object]) -> str:
    """One size in a few lines; what misses its reach is marked."""
    head = f"{row['trials']:>8,} trials, {row['form']}"
    cells = []
    for name, value in row.items():
        if name not in ("trials", "form") and isinstance(value, float | int):
            late = name in REACH and value > REACH[name] and not (name in ("write_s", "mb") and row["form"] == "folder")
            cells.append(f"{name} {value:,.1f}" + (f" (wanted: at most {REACH[name]:g})" if late else ""))
    return f"{head}: " + ", ".join(cells)


if __name__ == "__main__":
    raise SystemExit(main())

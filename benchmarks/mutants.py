"""Do the tests notice when the code is wrong? Seeded mutants of the source, each against the tests that reach it.

    python benchmarks/mutants.py                     some 260 mutants; continues where it stopped
    python benchmarks/mutants.py --quick             a tenth of them, to see that it works
    python benchmarks/mutants.py --only stats,text   only mutants of these
    python benchmarks/mutants.py --again             survivors without a reason once more, after a test was added
    python benchmarks/mutants.py --report [--json]   what is known so far, without running anything

A mutant is one change at one place: a comparison, a constant, an argument, a statement that is dropped
(benchmarks/mutations.py). `--seed` and the source decide which ones are tried. Tests are chosen by what they call:
every test file that names one of the packages runs once with a profiler, and a mutant of a function is run against the
tests that call it, then against those that call anything else of its module (caches hide calls), fastest files first,
`--budget` seconds of them at most. The first failing test ends it. All runs in copies of the checkout below `--work`;
nothing else is written but `--out`, one JSON line per mutant. Tests of servers, browsers, real models and pages are
left out, as are those that need data which is not in the checkout. benchmarks/survivors.toml says of each survivor why
it may live; docs/explanation/mutants.md is made from both.
"""

from __future__ import annotations

import argparse
import contextlib
import fnmatch
import functools
import hashlib
import json
import os
import queue
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import tomllib
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from pathlib import Path

import pytest

from mutations import Mutant, selection

ROOT = Path(__file__).resolve().parent.parent
PACKAGES = ("ask", "canon.py", "ledger", "measure", "proof", "scorers", "stats", "text")
LINES = dict.fromkeys(PACKAGES, 50) | {"proof": 140}  # proof is a third of them all, and its tests are the slowest
SKIPPED = ("real/*", "browser/*", "test_docs*", "test_layers*", "test_demo*", "test_inside*", "test_models_*",
           "test_datasets_*", "system/test_crash*")  # fmt: skip
OUT, REASONS = ROOT / "benchmarks" / "mutants.jsonl", ROOT / "benchmarks" / "survivors.toml"
ALIVE = ("survived", "not reached")
SEED = 20261115
SETTINGS = "PERPEND_MUTANTS"
_FILE_SECONDS = 300.0
_MEMORY = 6 << 30


class Recorder:
    """The pytest plugin of the first pass: which functions of the package each test calls, and how long it takes."""

    def __init__(self, out: Path) -> None:
        self.out, self.calls = out, set[object]()
        self.before: set[object] | None = None
        self.tests: dict[str, list[object]] = {}
        self.source = str(Path.cwd() / "src")
        threading.setprofile(self.profile)
        sys.setprofile(self.profile)

    def profile(self, frame: object, event: str, _argument: object) -> None:
        if event == "call":
            self.calls.add(frame.f_code)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        if self.before is None:
            self.before = set(self.calls)  # what importing the file calls
        self.calls.clear()
        started = sum(os.times()[:4])  # processor time, children included: a busy machine makes no test slow
        value = yield
        self.tests[item.nodeid] = [sum(os.times()[:4]) - started, self.named(self.calls), self.tests.get(item.nodeid)]
        return value

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_setup(self) -> Iterator[None]:
        value = yield
        self.before = (self.before or set()) | self.calls  # of a fixture that other tests of the file share
        return value

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.when == "call" and report.passed:
            self.tests[report.nodeid] = ["passed"]

    def named(self, calls: set[object]) -> list[str]:
        return sorted(
            {
                f"{code.co_filename[len(self.source) - 3 :]}:{code.co_qualname}"
                for code in tuple(calls)  # a copy: the profiler adds to it meanwhile
                if code.co_filename.startswith(self.source)
            }
        )

    def pytest_sessionfinish(self) -> None:
        sys.setprofile(None)
        passed = {test: entry[:2] for test, entry in self.tests.items() if len(entry) == 3 and entry[2] == ["passed"]}
        self.out.write_text(json.dumps({"before": self.named(self.before or set()), "tests": passed}))


class Chooser:
    """The pytest plugin of the second pass: only the chosen tests run, and the first that fails is written down."""

    def __init__(self, chosen: set[str], out: Path) -> None:
        self.chosen, self.out = chosen, out

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        items[:] = [item for item in items if item.nodeid in self.chosen]

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            self.out.write_text(report.nodeid)


def pytest_configure(config: pytest.Config) -> None:
    """This file is also the plugin (-p mutants); what it is to do is in the environment."""
    settings = json.loads(Path(os.environ[SETTINGS]).read_text())
    resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, _MEMORY))  # a loop that a mutant made endless may take memory too
    out = Path(settings["out"])
    plugin = Chooser(set(settings["tests"]), out) if "tests" in settings else Recorder(out)
    config.pluginmanager.register(plugin)


class Workshop:
    """Copies of the checkout, one for each job, and what each test calls."""

    def __init__(self, work: Path, jobs: int) -> None:
        self.work, self.copies = work, queue.Queue[Path]()
        work.mkdir(parents=True, exist_ok=True)
        for number in range(jobs):
            copy = work / f"copy-{number}"
            shutil.rmtree(copy, ignore_errors=True)
            ignored = shutil.ignore_patterns(".git", ".venv*", "__pycache__", ".hypothesis", "runs", ".*_cache")
            shutil.copytree(ROOT, copy, ignore=ignored)
            self.copies.put(copy)
        self.tests: dict[str, tuple[float, set[str]]] = {}
        self.before: dict[str, set[str]] = {}

    def pytest(self, copy: Path, files: Sequence[str], settings: dict[str, object], seconds: float) -> int | None:
        """Run pytest with this file as its plugin; its exit code, None when it took too long."""
        path = copy.with_suffix(".json")
        path.write_text(json.dumps({**settings, "out": str(copy.with_suffix(".out"))}))
        copy.with_suffix(".out").unlink(missing_ok=True)
        environment = {
            **os.environ, SETTINGS: str(path), "PYTHONPATH": f"{copy}/src{os.pathsep}{copy}/benchmarks", "CI": "1",
            "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1",
        }  # fmt: skip
        command = [sys.executable, "-m", "pytest", "-q", "-p", "mutants", "-p", "no:cacheprovider", *files]
        with subprocess.Popen(
            command, cwd=copy, env=environment, start_new_session=True, stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        ) as process:  # fmt: skip
            try:
                return process.wait(seconds)
            except subprocess.TimeoutExpired:
                return None
            finally:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)

    def gather(self, packages: Sequence[str]) -> None:
        """What each test calls, of the files that name one of the packages; kept below `--work` for the next time."""
        rooms = "|".join(name.removesuffix(".py") for name in packages)
        naming = re.compile(rf"\bperpend\.({rooms})\b|\bfrom perpend import .*\b({rooms})\b")
        names = [
            name
            for path in sorted((ROOT / "tests").rglob("test_*.py"))
            if not any(fnmatch.fnmatch(name := path.relative_to(ROOT).as_posix(), f"tests/{skip}") for skip in SKIPPED)
            if naming.search(path.read_text(encoding="utf-8"))
        ]

        def one(name: str) -> None:
            key = hashlib.sha256((ROOT / name).read_bytes()).hexdigest()[:16]
            kept = self.work / f"calls-{key}.json"
            if not kept.exists():
                copy = self.copies.get()
                code = self.pytest(copy, [name], {}, _FILE_SECONDS)
                if code in (0, 1):  # 1: some test fails as it is, and is not chosen
                    shutil.copy(copy.with_suffix(".out"), kept)
                else:
                    print(
                        f"{name}: left out ({'too slow' if code is None else f'pytest says {code}'})", file=sys.stderr
                    )
                    kept.write_text(json.dumps({"before": [], "tests": {}}))
                self.copies.put(copy)
            body = json.loads(kept.read_text())
            self.before[name] = set(body["before"])
            self.tests |= {test: (float(seconds), set(calls)) for test, (seconds, calls) in body["tests"].items()}

        with ThreadPoolExecutor(self.copies.qsize()) as pool:
            list(pool.map(one, names))
        if len({test.partition("::")[0] for test in self.tests}) < len(names) / 2:
            sys.exit("Most test files do not pass as they are, so they say nothing about mutants.")

    def tests_of(self, mutant: Mutant, budget: float) -> tuple[list[str], list[str], float]:
        """(files in the order to run, tests, their seconds) for one mutant."""
        exact, module = f"{mutant.file}:{mutant.function}", f"{mutant.file}:"
        chosen: dict[str, list[str]] = {}
        spent = 0.0
        for is_exact in (True, False):
            by_file: dict[str, list[str]] = defaultdict(list)
            for test, (_, calls) in self.tests.items():
                file = test.partition("::")[0]
                reached = calls | self.before[file]
                if exact in reached if is_exact else any(name.startswith(module) for name in reached):
                    by_file[file].append(test)
            for file in sorted(by_file, key=lambda file: (sum(self.tests[test][0] for test in by_file[file]), file)):
                seconds = sum(self.tests[test][0] for test in by_file[file])
                if file not in chosen and (spent == 0.0 or spent + seconds <= budget):
                    chosen[file] = by_file[file]
                    spent += seconds
        return list(chosen), [test for tests in chosen.values() for test in tests], spent

    def attempt(self, mutant: Mutant, budget: float) -> dict[str, object]:
        """Put a mutant into a copy, run its tests, put the file back, and say what came of it."""
        files, tests, seconds = self.tests_of(mutant, budget)
        copy, started = self.copies.get(), time.perf_counter()
        path, code, by = copy / mutant.file, 0, ""
        try:
            if tests:
                _write(path, mutant.text)
                code = self.pytest(copy, ["-x", *files], {"tests": tests}, 60.0 + 8.0 * seconds)
                out = copy.with_suffix(".out")
                by = out.read_text() if out.exists() else "at import" if code else ""
        finally:
            _write(path, (ROOT / mutant.file).read_text(encoding="utf-8"))
            self.copies.put(copy)
        outcome = "not reached" if not tests else "time-out" if code is None else "killed" if code else "survived"
        record = {name: value for name, value in asdict(mutant).items() if name not in ("text", "function")}
        return {**record, "outcome": outcome, "by": by, "tests": len(tests),
                "seconds": round(time.perf_counter() - started, 1)}  # fmt: skip


_clock = iter(range(1_000_000_000, 2_000_000_000, 2))


def _write(path: Path, text: str) -> None:
    """A file with a time that none had before: Python takes compiled code for current by time and size."""
    path.write_text(text, encoding="utf-8")
    os.utime(path, (now := next(_clock), now))


def records(path: Path) -> dict[str, dict[str, object]]:
    """What is known of each mutant, by its id; a later line replaces an earlier one."""
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    return {str(entry["id"]): entry for entry in map(json.loads, lines)}


def file_now(entry: dict[str, object]) -> str | None:
    """The file that holds a mutant's line now: the one it was tried in, else the only other; None where there is none.

    `--out` keeps the file and the line of when the mutant was tried; code moves.
    """
    tried, holding = str(entry["file"]), _files_by_line().get(str(entry["before"]), set())
    return tried if tried in holding else next(iter(holding)) if len(holding) == 1 else None


@functools.cache
def _files_by_line() -> dict[str, set[str]]:
    """The files of the source that hold a line, by the line without its indent."""
    holding: dict[str, set[str]] = defaultdict(set)
    for path in sorted((ROOT / "src" / "perpend").rglob("*.py")):
        for line in path.read_text(encoding="utf-8").splitlines():
            holding[line.strip()].add(path.relative_to(ROOT).as_posix())
    return holding


def package(entry: dict[str, object]) -> str:
    """The package of a mutant's file, as PACKAGES names it."""
    return str(entry["file"]).split("/")[2]


def table(known: Sequence[dict[str, object]]) -> str:
    """Outcomes by package, in Markdown."""
    lines = ["| package | mutants | killed | of these at import | time-out | survived |", "|---|---|---|---|---|---|"]
    for name in (*PACKAGES, "all"):
        rows = [entry for entry in known if name in (package(entry), "all")]
        count = Counter(str(entry["outcome"]) for entry in rows)
        imported = sum(entry["by"] == "at import" for entry in rows)
        alive = count["survived"] + count["not reached"]
        lines.append(f"| {name} | {len(rows)} | {count['killed']} | {imported} | {count['time-out']} | {alive} |")
    return "\n".join(lines)


def reasons() -> dict[str, str]:
    """Why a survivor may live, by its id."""
    return tomllib.loads(REASONS.read_text(encoding="utf-8")) if REASONS.exists() else {}


def survivors(known: Sequence[dict[str, object]]) -> str:
    """Each survivor with its file, its change and why it may live, as benchmarks/survivors.toml says."""
    explained = reasons()
    lines = []
    for entry in known:
        if entry["outcome"] in ALIVE:
            why = explained.get(str(entry["id"]), "not explained yet")
            file = file_now(entry)
            place = f"`{file}`" if file else f"`{entry['file']}` as it was, before the line changed"
            lines.append(f"- {place} ({entry['kind']}): {why}")
            lines += ["", "  ```text", f"  - {entry['before']}", f"  + {entry['after']}", "  ```", ""]
    return "\n".join(lines).rstrip()


def told() -> str:
    """The part of docs/explanation/mutants.md that is made from what is known."""
    known = list(records(OUT).values())
    dead = sum(entry["outcome"] not in ALIVE for entry in known)
    minutes = sum(float(str(entry["seconds"])) for entry in known) / 60
    lead = (
        f"Seed {SEED}: of {len(known)} mutants {dead} fail a test or run out of time ({dead / len(known):.0%}), "
        f"{len(known) - dead} survive. The mutants took {minutes:.0f} minutes one after the other. The table counts "
        "each by the file that it was in when it was tried; below is the file that holds the line now."
    )
    return f"{lead}\n\n{table(known)}\n\n## Survivors\n\n{survivors(known)}\n"


def main() -> None:
    """Parse, select, run what is not known yet, print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--lines", type=int, help="one mutant for so many lines of source: 50, of proof 140")
    parser.add_argument("--seed", type=int, default=SEED)
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--budget", type=float, default=20.0, help="seconds of tests per mutant")
    parser.add_argument("--only", default="", help=f"some of {','.join(PACKAGES)}")
    parser.add_argument("--work", type=Path, default=Path(tempfile.gettempdir()) / "perpend-mutants")
    parser.add_argument("--out", type=Path)
    for flag in ("--quick", "--again", "--report", "--json"):
        parser.add_argument(flag, action="store_true")
    options = parser.parse_args()
    out = options.out or (options.work / "quick.jsonl" if options.quick else OUT)
    lines = dict.fromkeys(PACKAGES, given) if (given := 500 if options.quick else options.lines) else LINES
    chosen = [mutant for name in PACKAGES for mutant in selection(ROOT, (name,), lines[name], options.seed)]
    known, explained = records(out), reasons()
    wanted = options.only.split(",") if options.only else PACKAGES
    todo = [
        mutant
        for mutant in chosen
        if mutant.id not in known
        or (options.again and known[mutant.id]["outcome"] in ALIVE and mutant.id not in explained)
        if package(asdict(mutant)) in wanted
    ]
    if todo and not options.report:
        workshop = Workshop(options.work, options.jobs)
        workshop.gather(wanted)
        with ThreadPoolExecutor(options.jobs) as pool, out.open("a", encoding="utf-8") as file:
            for entry in pool.map(lambda mutant: workshop.attempt(mutant, options.budget), todo):
                known[str(entry["id"])] = entry
                file.write(json.dumps(entry, ensure_ascii=False) + "\n")
                file.flush()
                place = f"{entry['file']}:{entry['line']}"
                print(f"{entry['outcome']:11} {entry['seconds']:6} s  {place}  {entry['after']}", file=sys.stderr)
    ordered = [known[mutant.id] for mutant in chosen if mutant.id in known]
    if not options.report:
        out.write_text("".join(json.dumps(entry, ensure_ascii=False) + "\n" for entry in ordered), encoding="utf-8")
    print(json.dumps({"mutants": ordered}) if options.json else f"{table(ordered)}\n\n{survivors(ordered)}")


if __name__ == "__main__":
    main()

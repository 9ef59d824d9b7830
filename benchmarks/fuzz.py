"""Fuzz: spoiled inputs of every kind given to every verb that reads them, each in a process of its own with limits.

    python benchmarks/fuzz.py                                   20,000 cases, seed 1
    python benchmarks/fuzz.py --cases 500                       as in the tests
    python benchmarks/fuzz.py --only ledger --case 17 --keep    play one case again and keep its folder

A case fails when the verb ends in anything but a documented exit code with a message; takes over 10 s of the processor
(40 s of the clock) or over 500 MB; writes, or runs code, outside of its folder; changes what it only reads; leaves a
temporary file behind; prints what is not JSON where JSON was asked for, or control characters; or, auditing several
folders, drops the healthy one.
"""

from __future__ import annotations

import os

os.environ.update(OPENBLAS_NUM_THREADS="1", OMP_NUM_THREADS="1", MKL_NUM_THREADS="1")

import faulthandler
import gc
import hashlib
import importlib
import json
import math
import pkgutil
import random
import re
import resource
import runpy
import select
import shlex
import shutil
import signal
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import click

import fuzz_inputs
from fuzz_kinds import KINDS, Case

SECONDS, CLOCK, MEGABYTES = 10, 40.0, 500
CODES = {0, 1, 2, 3, 4, 5, 6}
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\x80-\x9f\u202a-\u202e\u2066-\u2069]")
_VARIES = re.compile(r"[0-9]+|(.)\1{20,}|/tmp/[^ ]*|'[^']*'")
_WRITES = {"os.mkdir", "os.rename", "os.remove", "os.rmdir", "os.symlink", "os.link", "os.truncate", "os.chmod",
"os.chown",
           "shutil.rmtree", "shutil.move"}  # fmt: skip


@dataclass(slots=True)
class Outcome:
    """How one case ended; `wrong` says what was wrong with it, '' if nothing."""

    kind: str
    number: int
    command: str = ""
    spoiled: str = ""
    code: int | None = None
    wrong: str = ""
    where: str = ""
    seconds: float = 0.0
    megabytes: float = 0.0
    breaches: list[str] = field(default_factory=list)


def load() -> None:
    """Import everything that a verb may import, so that a forked process has it."""
    import perpend

    for module in pkgutil.walk_packages(perpend.__path__, "perpend."):
        if not re.search(r"\.(hf|local|inside|verify|__main__|http)\b", module.name):
            importlib.import_module(module.name)
    for name in ("scipy.stats", "scipy.special", "scipy.optimize", "statsmodels.api", "matplotlib.pyplot",
    "pyarrow.parquet",
                 "rich.progress", "zstandard", "aiohttp"):  # fmt: skip
        with suppress(ImportError):
            importlib.import_module(name)
    from perpend.proof.audit.places import formats

    formats()
    gc.collect()
    gc.freeze()  # a forked process shares what it does not touch


# --- one case, in a process of its own -----------------------------------------------------------------------------


def play(case: Case, program: str, arguments: list[str]) -> int:
    """Call a command line as its own `main` does, and give its exit code."""
    sys.argv = [program, *arguments]
    try:
        if program == "verify":
            sys.argv = ["verify.py", str(case.at / arguments[0])]
            runpy.run_module("perpend.proof.verify", run_name="__main__")
        else:
            module = importlib.import_module("perpend.cli" if program == "perpend" else "perpend.cli.chaosbench")
            module.main()
    except SystemExit as ended:
        return ended.code if isinstance(ended.code, int) else int(ended.code is not None)
    return 0


def watch(root: Path, breaches: list[str]) -> None:
    """Note whatever is written outside of a folder, any connection, and any code of the folder that is run."""
    inside = str(root)
    sys.dont_write_bytecode = True  # what Python keeps of a module that it loads now is no breach

    def hook(event: str, arguments: tuple[object, ...]) -> None:
        if event == "open":
            path, mode, flags = arguments
            is_write = (isinstance(mode, str) and any(c in mode for c in "wax+")) or (
                isinstance(flags, int) and flags & (os.O_WRONLY | os.O_RDWR | os.O_CREAT)
            )
            if is_write and not isinstance(path, int):
                _outside(event, path, inside, breaches)
        elif event in _WRITES:
            for path in arguments[: 2 if event in ("os.rename", "os.link", "shutil.move") else 1]:
                _outside(event, path, inside, breaches)
        elif event in ("socket.connect", "os.system", "os.exec", "subprocess.Popen"):
            breaches.append(f"{event} {arguments!r:.200}")
        elif event == "exec" and getattr(arguments[0], "co_filename", "").startswith(inside):
            breaches.append(f"runs code of {arguments[0]!r:.200}")

    sys.addaudithook(hook)


def _outside(event: str, path: object, inside: str, breaches: list[str]) -> None:
    if isinstance(path, int) or path is None:
        return
    name = os.path.abspath(os.fsdecode(path))  # type: ignore[arg-type]  # noqa: PTH100  as the hook has it
    if not name.startswith(inside) and not name.startswith(("/dev/", "/proc/")):
        breaches.append(f"{event} {name!r:.200}")


def seal(folder: Path) -> dict[str, str]:
    """What every file below a folder holds, and what every link says."""
    sealed = {}
    for path in sorted(folder.rglob("*")):
        name = os.fsencode(path.relative_to(folder)).decode("utf-8", "replace")
        if path.is_symlink():
            sealed[name] = f"→ {path.readlink()}"
        elif path.is_file():
            sealed[name] = hashlib.sha256(path.read_bytes()).hexdigest()
        else:
            sealed[name] = "folder" if path.is_dir() else "special"
    return sealed


def judge(case: Case, outcome: Outcome, before: dict[str, str]) -> Iterator[str]:
    """Whatever is wrong with how a case ended."""
    out, err = ((case.at / name).read_bytes().decode("utf-8", "replace") for name in ("stdout", "stderr"))
    if outcome.code not in CODES:
        yield f"exit code {outcome.code}"
    if "Traceback (most recent call last)" in out + err:
        yield "a traceback in the output"
    if outcome.code and not err.strip() and not out.strip():
        yield "an error without a message"
    if "Warning: " in err:
        yield "a warning of Python: " + next(line for line in err.splitlines() if "Warning: " in line)
    if match := _CONTROL.search(out + err):
        yield f"a control character in the output: {match[0]!r}"
    if "--json" in outcome.command and outcome.code in (0, 6) and out.strip():
        try:
            json.loads(out, parse_constant=_refuse)
        except ValueError as error:
            yield f"not JSON on standard output: {error}"
    if case.needs and f"{case.needs}" not in out:
        yield f"the outcome does not name {case.needs!r}, which is healthy"
    if not case.writes and (after := seal(case.at / "in")) != before:
        changed = sorted(name for name in before.keys() | after.keys() if before.get(name) != after.get(name))
        # SQLite's own, where a database has a log.
        empty = hashlib.sha256().hexdigest()
        changed = [one for one in changed if not one.endswith("-shm") and after.get(one) != empty]
        if changed:
            yield f"changed what it reads: {changed[:3]}"
    left = [one.name for place in ("in", "out", "tmp") for one in (case.at / place).rglob("*perpend-tmp*")]
    left += [one.name for place in ("in", "out") for one in (case.at / place).rglob(".*-????????") if one.is_dir()]
    if left:
        yield f"left behind: {left[:3]}"
    yield from outcome.breaches[:3]


def _refuse(text: str) -> float:
    raise ValueError(f"{text} is no JSON")


def _emptied() -> None:
    """What the command before has printed was looked at already."""
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
        os.ftruncate(stream.fileno(), 0)
        os.lseek(stream.fileno(), 0, os.SEEK_SET)


def in_child(corpus: Path, at: Path, seed: int, outcome: Outcome, report: Callable[[Outcome], None]) -> None:
    """Make a case, play it, and report how it ended. Never returns."""
    os.setsid()
    at.mkdir()
    for name in ("in", "out", "tmp", "home"):
        (at / name).mkdir()
    case = Case(corpus, at, random.Random(f"{seed} {outcome.kind} {outcome.number}"))
    program, *arguments = KINDS[outcome.kind](case)
    # A path at the root of this machine that a spoiled argument happens to name is made below the case's own folder.
    arguments = [f".{one}" if one.startswith("/") and not os.path.lexists(one) else one for one in arguments]
    outcome.command, outcome.spoiled = shlex.join([program, *arguments]), "; ".join(case.spoiled)
    before = {} if case.writes else seal(at / "in")
    report(outcome)
    os.chdir(at)
    os.environ.update(HOME=str(at / "home"), TMPDIR=str(at / "tmp"), XDG_CACHE_HOME=str(at / "home"), COLUMNS="120")
    os.environ["PERPEND_CACHE"] = str(corpus / "cache")
    tempfile.tempdir = None
    for number, name in ((1, "stdout"), (2, "stderr")):
        os.dup2(os.open(at / name, os.O_WRONLY | os.O_CREAT, 0o644), number)
    os.dup2(os.open("/dev/null", os.O_RDONLY), 0)
    sys.stdout, sys.stderr = (
        os.fdopen(n, "w", encoding="utf-8", errors=e) for n, e in ((1, "strict"), (2, "backslashreplace"))
    )
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (400 << 20, 400 << 20))
    used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + (1200 << 20),) * 2)
    trace = (at / "hang").open("w")
    faulthandler.dump_traceback_later(CLOCK - 1, file=trace)
    faulthandler.register(signal.SIGXCPU, file=trace, chain=True)
    spent = math.ceil(time.process_time())
    resource.setrlimit(resource.RLIMIT_CPU, (spent + SECONDS, spent + SECONDS + 2))
    watch(at, outcome.breaches)
    began = time.process_time()
    try:
        outcome.code = play(case, program, arguments)
        for program, *arguments in case.then:
            if outcome.code in (0, 6) and Path(case.made).exists() and not list(judge(case, outcome, before)):
                _emptied()
                outcome.command = shlex.join([program, *arguments])
                outcome.code = play(case, program, arguments)
        sys.stdout.flush()
    except BaseException as error:  # noqa: BLE001  whatever it is, it is the finding
        outcome.wrong = f"{type(error).__name__}: {error}"[:300]
        frames = [one for one in traceback.extract_tb(error.__traceback__) if "/perpend/" in one.filename]
        outcome.where = " < ".join(f"{one.filename.rpartition('/perpend/')[2]}:{one.lineno}" for one in frames[:-6:-1])
    sys.stderr.flush()
    faulthandler.cancel_dump_traceback_later()
    outcome.seconds = time.process_time() - began
    breaches, outcome.breaches = outcome.breaches, []
    if not outcome.wrong:
        outcome.breaches = list(breaches)
        outcome.wrong = "; ".join(judge(case, outcome, before))
    report(outcome)
    os._exit(0)


# --- all cases -----------------------------------------------------------------------------------------------------


@dataclass(slots=True)
class Child:
    """A process that plays one case."""

    pid: int
    pipe: int
    at: Path
    outcome: Outcome
    until: float
    text: bytes = b""


class Fuzz:
    """Plays cases, a few at once, and collects how they ended."""

    def __init__(self, corpus: Path, work: Path, seed: int, workers: int, *, keep: bool) -> None:
        self.corpus, self.work, self.seed, self.workers, self.keep = corpus, work, seed, workers, keep
        self.outcomes: list[Outcome] = []

    def play(self, cases: list[tuple[str, int]], each: Callable[[Outcome], None]) -> None:
        """Play these cases."""
        waiting, running = list(reversed(cases)), dict[int, Child]()
        while waiting or running:
            while waiting and len(running) < self.workers:
                child = self._begin(*waiting.pop())
                running[child.pipe] = child
            timeout = max(0.0, min(child.until for child in running.values()) - time.monotonic())
            ready, _, _ = select.select(list(running), [], [], timeout)
            for child in list(running.values()):
                if child.pipe in ready:
                    data = os.read(child.pipe, 1 << 16)
                    child.text += data
                    if data:
                        continue
                elif time.monotonic() < child.until:
                    continue
                else:
                    with suppress(ProcessLookupError):
                        os.killpg(child.pid, signal.SIGKILL)
                    with suppress(ProcessLookupError):
                        os.kill(child.pid, signal.SIGKILL)
                outcome = self._end(running.pop(child.pipe))
                self.outcomes.append(outcome)
                each(outcome)

    def _begin(self, kind: str, number: int) -> Child:
        outcome, at = Outcome(kind, number), self.work / f"{kind}-{number}"
        shutil.rmtree(at, ignore_errors=True)
        read, write = os.pipe()
        sys.stdout.flush()
        pid = os.fork()
        if pid == 0:
            os.close(read)

            def report(one: Outcome) -> None:
                os.write(write, (json.dumps({name: getattr(one, name) for name in Outcome.__slots__}) + "\n").encode())

            try:
                in_child(self.corpus, at, self.seed, outcome, report)
            finally:  # what is wrong with the fuzz itself
                traceback.print_exc()
                os._exit(70)
        os.close(write)
        return Child(pid, read, at, outcome, time.monotonic() + CLOCK)

    def _end(self, child: Child) -> Outcome:
        os.close(child.pipe)
        _, status, usage = os.wait4(child.pid, 0)
        outcome = child.outcome
        reports = child.text.decode().splitlines()
        for name, value in (json.loads(reports[-1]) if reports else {}).items():
            setattr(outcome, name, value)
        outcome.megabytes = usage.ru_maxrss / 1024
        if os.waitstatus_to_exitcode(status) == 70:
            outcome.wrong = "the fuzz itself failed"
        elif code := os.waitstatus_to_exitcode(status):
            is_hang = time.monotonic() >= child.until or code == -signal.SIGXCPU
            outcome.wrong, outcome.seconds = "hang" if is_hang else f"died: {code}", usage.ru_utime + usage.ru_stime
            with suppress(OSError):
                places = re.findall(r'/perpend/(\S+)", line (\d+)', (child.at / "hang").read_text())
                outcome.where = " < ".join(f"{name}:{line}" for name, line in places[:5])
        if outcome.megabytes > MEGABYTES:
            outcome.wrong = "; ".join(filter(None, (outcome.wrong, f"{outcome.megabytes:.0f} MB")))
        if not (self.keep or outcome.wrong):
            shutil.rmtree(child.at, ignore_errors=True)
        return outcome


def honest_inputs(root: Path) -> None:
    """Make the honest inputs in a process of its own, whose clock stands."""
    from perpend.studies.logic.chaosbench.sets import packaged_root

    packaged = packaged_root()  # what takes longest is made once for the user, and its digests are compared
    packaged_root.cache_clear()  # every case finds its own, as a new process does
    sys.stdout.flush()
    pid = os.fork()
    if pid == 0:
        fuzz_inputs.clock()
        shutil.copytree(packaged, root / "cache" / packaged.name)
        os.environ["PERPEND_CACHE"] = str(root / "cache")
        fuzz_inputs.build(root, None)
        out = os.open(root.parent / "inputs.log", os.O_WRONLY | os.O_CREAT)
        os.dup2(out, 1)
        for command, folder in fuzz_inputs.COMMANDS:
            program, *arguments = shlex.split(command)
            os.chdir(root / folder)
            fuzz_inputs.show(command, play(Case(root, root, random.Random(0)), program, arguments))
        os.chdir(root)
        fuzz_inputs.finish(root)
        sys.stdout.flush()
        os._exit(0)
    if os.waitpid(pid, 0)[1]:
        raise click.ClickException("the honest inputs could not be made")


def table(outcomes: list[Outcome]) -> str:
    """One line per kind: cases, exit codes, what was wrong, the slowest, the largest."""
    lines = [f"{'kind':<18}{'cases':>7}{'wrong':>7}{'mean':>7}{'slowest':>9}{'largest':>9}  exit codes"]
    for kind in [*KINDS, "all"]:
        some = [one for one in outcomes if kind in (one.kind, "all")]
        if some:
            codes = Counter(one.code for one in some if one.code is not None)
            seconds, wrong = [one.seconds for one in some], sum(bool(one.wrong) for one in some)
            largest = max(one.megabytes for one in some)
            figures = (
                f"{len(some):>7}{wrong:>7}{sum(seconds) / len(some):>6.2f}s{max(seconds):>8.1f}s{largest:>6.0f} MB"
            )
            lines.append(f"{kind:<18}{figures}  " + " ".join(f"{code}:{n}" for code, n in sorted(codes.items())))
    return "\n".join(lines)


@click.command()
@click.option("--seed", default=1, show_default=True)
@click.option("--cases", type=int, help="How many, spread evenly over all kinds. [20,000]")
@click.option("--only", type=click.Choice([*KINDS]), help="Only this kind.")
@click.option("--case", "number", type=int, help="With --only: play this one case again.")
@click.option("--workers", default=os.cpu_count() or 1, show_default=True)
@click.option("--show", default=40, show_default=True, help="How many different failures to show.")
@click.option("--keep", is_flag=True, help="Keep the folders of all cases, not only of failures.")
@click.option("--work", type=click.Path(path_type=Path), help="Folder for everything. [a new temporary one]")
@click.option("--quick", is_flag=True, help="10 cases, unless --cases says how many.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def main(
    seed: int,
    cases: int | None,
    only: str | None,
    number: int | None,
    workers: int,
    show: int,
    keep: bool,
    work: Path | None,
    quick: bool,
    as_json: bool,
) -> None:
    """Spoil inputs and see that every verb says so."""
    cases = cases or (10 if quick else 20_000)
    kinds = [only] if only else [*KINDS]
    wanted = [(kind, n) for n in range(-(-cases // len(kinds))) for kind in kinds][:cases]
    if number is not None:
        wanted, keep = [(kinds[0], number)], True
    memory = Path("/dev/shm")  # no disk has to keep any of this
    root = Path(tempfile.mkdtemp(prefix="fuzz-", dir=work or (memory if memory.is_dir() else None))).resolve()
    load()
    honest_inputs(root / "corpus")
    fuzz, began, different = Fuzz(root / "corpus", root, seed, workers, keep=keep), time.monotonic(), Counter[str]()

    def each(outcome: Outcome) -> None:
        if outcome.wrong:
            what = _VARIES.sub("#", outcome.wrong)[:60]
            key = f"{what} {outcome.where.partition(' < ')[0]}"
            different[key] += 1
            if different[key] == 1 and len(different) <= show and not as_json:
                click.echo(
                    f"\n{outcome.wrong}\n  at {outcome.where}\n  {outcome.command[:300]}\n"
                    f"  spoiled: {outcome.spoiled[:300]}\n"
                    f"  again: python benchmarks/fuzz.py --seed {seed} --only {outcome.kind} --case {outcome.number}"
                )
        if len(fuzz.outcomes) % 1000 == 0:
            click.echo(f"{len(fuzz.outcomes)} of {len(wanted)}, {time.monotonic() - began:.0f} s", err=True)

    fuzz.play(wanted, each)
    took = time.monotonic() - began
    if as_json:
        codes = Counter(str(outcome.code) for outcome in fuzz.outcomes)
        click.echo(json.dumps({"cases": len(wanted), "seconds": took, "exit_codes": codes, "failures": different}))
    else:
        click.echo(f"\n{table(fuzz.outcomes)}\n")
        click.echo(f"{len(wanted)} cases in {took:.0f} s ({len(wanted) / took:.1f} per second)")
        for key, count in different.most_common():
            click.echo(f"{count:>6}  {key}")
    if number is not None and not as_json:
        click.echo(f"folder: {root / f'{kinds[0]}-{number}'}; exit code {fuzz.outcomes[0].code}")
    elif not (keep or different):
        shutil.rmtree(root)
    sys.exit(bool(different))


if __name__ == "__main__":
    main()

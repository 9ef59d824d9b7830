"""Every writing verb on a disk that fills up after so many bytes, and on one that is read-only.

    unshare -rm python benchmarks/full_disk.py            every verb, a step of 4 KB
    unshare -rm python benchmarks/full_disk.py --only publish --steps 5
    unshare -rm python benchmarks/full_disk.py --quick --json    one verb; one JSON object

Mounts a small tmpfs of its own, hence `unshare -rm` (or root). For every size at which the verb fails: it exits 5 with a
message that says the disk is full (or cannot be written), says 'damaged' of nothing, leaves no temporary file and no half
of one; a ledger that was there is whole; and with more space the same command ends as it always does.
"""

from __future__ import annotations

import json
import os
import random
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
from contextlib import closing, suppress
from dataclasses import dataclass, field
from pathlib import Path

import click

from fuzz import honest_inputs, load, play, seal
from fuzz_inputs import FIELDS, clock
from fuzz_kinds import Case

STEP = 4096
VERBS = {
    "eval": "perpend eval in/study.toml --out out --quiet",
    "resume": "perpend eval in/study.toml --out in/runs --quiet",
    "score": "perpend score in/runs/study",
    "analyze": "perpend analyze in/runs/study --out out/a --no-figures --tex out/m.tex",
    "figures": "perpend analyze in/runs/study --out out/a",
    "export csv": "perpend export in/runs/study --out out/t.csv",
    "export jsonl": "perpend export in/runs/study --out out/t.jsonl",
    "export parquet": "perpend export in/runs/study --out out/t.parquet",
    "compare": "perpend compare in/runs/study in/runs/study --first temperature=0 --second temperature=1 --out out/c",
    "show": "perpend show in/runs/study --n-per-group 1 --out-md out/cases.md",
    "publish": "perpend publish in/runs/study --to out/p --no-figures",
    "publish again": "perpend publish in/runs/study --to in/published --no-figures",
    "audit": "perpend audit in/published/study --workers 1 --quiet --out-json out/a.json",
    "audit unscored": "perpend audit in/runs/unscored --workers 1 --quiet",
    "freeze": "perpend freeze in/items.jsonl --out out/f.json",
    "import": f"perpend import in/sources/mine.jsonl out/run --map {FIELDS}",
    "import rows": "perpend import in/sources/rows.jsonl out/run",
    "import simulation": "perpend import in/sources/sweep/run0/simulation.db out/run",
    "import suite": "perpend import in/sources/suite/suite.json out/suite",
    "export simulation": "perpend export in/runs/study --out out/simulation.db --as simulation.db",
    "checkpoint": "perpend checkpoint --predictions in/predictions.jsonl --name x --out out",
    "compare checkpoints": "perpend compare in/checkpoints/one in/checkpoints/two --out out",
    "chaosbench eval": "chaosbench eval --provider mock --subset in/chaos/data/subsets/few_atomic.jsonl --output-dir out --quiet",
    "chaosbench freeze": "chaosbench freeze --selector in/chaos/data/canonical_v2_files.json --output-dir out",
    "chaosbench subset": "chaosbench subset --size 4 --source in/chaos/data/v22_atomic.jsonl --out out/s.jsonl",
    "chaosbench report": "chaosbench report --run in/chaos/runs/20260101T120000Z_mock",
    "chaosbench analyze-runs": "chaosbench analyze-runs --runs-dir in/chaos/runs --out-dir out",
    "chaosbench import": "perpend import in/chaos/runs/20260101T120000Z_mock out/run",
}
"""By name, so that a line of the table says what was tried."""
_DATABASES = (".db", ".db-wal", ".db-shm", ".db-journal")


@dataclass(slots=True)
class Ending:
    """How one call ended: exit code, what it printed, what is on the disk."""

    code: int | None
    printed: str
    tree: dict[str, str] = field(default_factory=dict)


class Disk:
    """A small tmpfs with the inputs of a verb on it."""

    def __init__(self, root: Path, corpus: Path) -> None:
        self.root, self.corpus = root, corpus
        self.at = root / "disk"
        self.at.mkdir(exist_ok=True)
        self.mount("mount", "-t", "tmpfs", "-o", "size=64m", "tmpfs", str(self.at))

    def mount(self, *command: str) -> None:
        """Mount, or mount otherwise."""
        subprocess.run(command, check=True, capture_output=True)

    def resize(self, size: int | None, *, read_only: bool = False) -> None:
        """Give the disk so many free bytes; None is enough for everything."""
        facts = os.statvfs(self.at)
        used = (facts.f_blocks - facts.f_bfree) * facts.f_frsize
        total = 64 << 20 if size is None else max(used + size, STEP)
        self.mount("mount", "-o", f"remount,size={total},{'ro' if read_only else 'rw'}", str(self.at))

    def fill(self, command: str) -> None:
        """The inputs that a command names, fresh."""
        self.resize(None)
        for path in self.at.iterdir():
            shutil.rmtree(path)
        for name in ("in", "out", "tmp", "home"):
            (self.at / name).mkdir()
        wanted = ["items.jsonl", "claims.toml"] * ("eval" in command)
        wanted += [word.removeprefix("in/") for word in shlex.split(command) if word.startswith("in/")]
        if "resume" in command or "in/runs" in command:
            wanted.append("runs/study")
        for name in wanted:
            source = {"runs/unscored": "runs/study", "runs": "runs/study"}.get(name, name)
            target = self.at / "in" / (name if name != "runs" else "runs/study")
            target.parent.mkdir(parents=True, exist_ok=True)
            if not target.exists():
                (shutil.copytree if (self.corpus / source).is_dir() else shutil.copyfile)(self.corpus / source, target)
            if name.startswith(("sources/suite", "chaos/")):
                kind = "sources/suite" if name.startswith("sources") else "chaos"
                shutil.copytree(self.corpus / kind, self.at / "in" / kind, dirs_exist_ok=True)
        unscored = self.at / "in/runs/unscored"
        if unscored.is_dir():
            _unscore(unscored)

    def call(self, command: str) -> Ending:
        """Call a command in a process of its own, whose clock stands; what it prints goes elsewhere."""
        log = self.root / "printed"
        pid = os.fork()
        if pid == 0:
            clock()
            os.chdir(self.at)
            os.environ.update(HOME=str(self.at / "home"), TMPDIR=str(self.at / "tmp"), COLUMNS="200")
            os.environ.update(XDG_CACHE_HOME=str(self.at / "home"), PERPEND_CACHE=str(self.corpus / "cache"))
            tempfile.tempdir = None
            out = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
            for number in (1, 2):
                os.dup2(out, number)
            sys.stdout, sys.stderr = (os.fdopen(number, "w", encoding="utf-8") for number in (1, 2))
            signal.alarm(60)
            code = 70
            try:
                program, *arguments = shlex.split(command)
                code = play(Case(self.corpus, self.at, random.Random(0)), program, arguments)
            except BaseException:  # noqa: BLE001  a traceback is the finding
                import traceback

                traceback.print_exc()
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(code)
        code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        tree = {name: value for name, value in seal(self.at).items() if not name.startswith(("tmp", "home"))}
        return Ending(code, log.read_text(encoding="utf-8", errors="replace"), tree)


def _unscore(run: Path) -> None:
    import sqlite3

    with closing(sqlite3.connect(run / "run.db")) as db, db:
        db.execute("DELETE FROM score")
        db.execute("DELETE FROM scorer")


def sound(disk: Disk) -> list[str]:
    """What is wrong with any ledger on the disk, by SQLite's own check."""
    import sqlite3

    wrong = []
    for path in disk.at.rglob("run.db"):
        copy = disk.root / "copy.db"
        for ending in ("", "-wal", "-journal"):
            copy.with_name(copy.name + ending).unlink(missing_ok=True)
            with suppress(FileNotFoundError):
                shutil.copyfile(path.with_name(path.name + ending), copy.with_name(copy.name + ending))
        with closing(sqlite3.connect(copy)) as db:
            try:
                said = [row[0] for row in db.execute("PRAGMA integrity_check")]
                if said != ["ok"]:
                    wrong.append(f"{path.name}: {said}")
            except sqlite3.Error as error:
                wrong.append(f"{path}: {error}")
    return wrong


def differences(tree: dict[str, str], whole: dict[str, str], before: dict[str, str]) -> list[str]:
    """Files that are neither as they were before nor as the whole call leaves them; databases are looked at apart."""
    wrong = []
    for name, value in tree.items():
        if value == "folder" or name.endswith(_DATABASES):
            continue
        if "perpend-tmp" in name or name.rpartition("/")[2].startswith("."):
            wrong.append(f"left behind: {name}")
        elif value not in (before.get(name), whole.get(name)):
            wrong.append(f"half written: {name}")
    return wrong


def judge(disk: Disk, ending: Ending, whole: Ending, before: dict[str, str], words: tuple[str, ...]) -> list[str]:
    """What is wrong with how a call ended that had too little space."""
    wrong = []
    if ending.code != 5:
        wrong.append(f"exit {ending.code}: {ending.printed[-600:]}")
    if "Traceback" in ending.printed:
        wrong.append(f"a traceback: {ending.printed[-900:]}")
    if ending.code and not any(word in ending.printed for word in words):
        wrong.append(f"does not say why: {ending.printed[-400:]}")
    if "damaged" in ending.printed or "malformed" in ending.printed:
        wrong.append(f"says damaged: {ending.printed[-400:]}")
    return wrong + sound(disk) + differences(ending.tree, whole.tree, before)


def attempt(disk: Disk, name: str, steps: int | None) -> tuple[int, list[str]]:
    """One verb at every size; how many sizes failed as they should, and what was wrong."""
    command = VERBS[name]
    disk.fill(command)
    before = {n: v for n, v in seal(disk.at).items() if not n.startswith(("tmp", "home"))}
    whole = disk.call(command)
    if whole.code not in (0, 6):
        return 0, [f"with enough space: exit {whole.code}: {whole.printed[-900:]}"]
    wrong: list[str] = []
    disk.fill(command)
    disk.resize(0, read_only=True)
    ending = disk.call(command)
    if ending.code != whole.code:  # what needs nothing but a place for temporary files finds another one
        words = ("cannot be written", "read-only", "Read-only", "permission")
        wrong += [f"read-only: {one}" for one in judge(disk, ending, whole, before, words)]
    sizes, size, refused = [], 0, 0
    while size < 32 << 20:
        disk.fill(command)
        disk.resize(size)
        ending = disk.call(command)
        if ending.code == whole.code and ending.tree.keys() == whole.tree.keys():
            break
        refused += 1
        sizes.append(size)
        wrong += [f"{size} bytes: {one}" for one in judge(disk, ending, whole, before, ("full",))]
        disk.resize(None)
        again = disk.call(command)
        lost = differences(whole.tree, again.tree, {})
        if again.code != whole.code or lost:
            wrong.append(f"{size} bytes, then space: exit {again.code}, {lost[:3]}: {again.printed[-400:]}")
        # Small steps first, where most is decided; then twice as much each time.
        size += STEP if steps is None or len(sizes) < steps // 2 else max(STEP, size)
    return refused, wrong


@click.command()
@click.option("--only", type=click.Choice([*VERBS]), multiple=True)
@click.option("--steps", type=int, help="About so many sizes per verb instead of every 4 KB.")
@click.option("--quick", is_flag=True, help="One verb, two sizes.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def main(only: tuple[str, ...], steps: int | None, quick: bool, as_json: bool) -> None:
    """Call every writing verb with too little space."""
    if quick:
        only, steps = only or ("freeze",), steps or 2
    verbs: list[dict[str, object]] = []
    root = Path(tempfile.mkdtemp(prefix="full-disk-")).resolve()
    load()
    honest_inputs(root / "corpus")
    disk, failed = Disk(root, root / "corpus"), 0
    try:
        for name in only or VERBS:
            refused, wrong = attempt(disk, name, steps)
            failed += bool(wrong)
            verbs.append({"verb": name, "sizes_refused": refused, "wrong": wrong})
            if as_json:
                continue
            click.echo(f"{name:<24} {refused:>4} sizes refused  {'WRONG' if wrong else 'ok'}")
            different = {one.partition(": ")[2][:60]: one for one in reversed(wrong)}
            for one in different.values():
                click.echo("    " + one.replace("\n", "\n      ")[:1500])
    finally:
        subprocess.run(["umount", str(disk.at)], check=False)
        shutil.rmtree(root, ignore_errors=True)
    if as_json:
        click.echo(json.dumps({"verbs": verbs}))
    sys.exit(bool(failed))


if __name__ == "__main__":
    main()

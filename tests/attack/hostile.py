"""Folders that try to run: programs among the files, and names that look like paths, modules and entry points."""

from __future__ import annotations

import json
import os
import pickle
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

from tests.attack.canary import CANARY
from tests.attack.crafted import at_path

ROOT = Path(__file__).resolve().parent.parent.parent
PROGRAMS = (
    "tables/x.py", "code/evil.py", "conftest.py", "sitecustomize.py", "usercustomize.py", "numpy.py", "perpend.py",
    "x.py", "evil.py", f"{CANARY}.py", "setup.py", "__main__.py", "verify.py", "code/x.py", "figures/x.py", "x.pth",
)  # fmt: skip


class Touch:
    """What leaves a mark when it is unpickled."""

    def __init__(self, mark: Path) -> None:
        self.mark = mark

    def __reduce__(self) -> tuple[object, tuple[object, ...]]:
        return os.system, (f"touch {self.mark}",)


def plant(folder: Path, mark: Path) -> None:
    """Put programs, pickles and templates into a folder; each leaves the mark when it runs."""
    touch = f"Path({str(mark)!r}).touch()"
    program = f"from pathlib import Path\n{touch}\nVERSIONS = ()\ndef run(*a, **k): {touch}\n"
    for name in PROGRAMS:
        path = folder / name
        if not path.exists():
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(program)
    (folder / "x.pkl").write_bytes(pickle.dumps(Touch(mark)))
    (folder / "template.toml").write_text("name = 'x'\nuser = '{{ cycler.__init__ }} {question}'\n")


def names(folder: Path) -> list[str]:
    """Names that would run something if any of them were believed; `folder` is the hostile folder itself."""
    program = f"{folder / 'tables' / 'x.py'}"
    plain = (
        "x.py", "x.py@1", "../../evil.py", "../../up", "os:system", "subprocess:run", "perpend.cli:main",
        "file.py:attr", "nul\0name", "n" * 5000, "{0.__class__}", "$(touch evil)", "`touch evil`", "\x1b[2J\u202ename",
        "", ".", "..", "/", "CON",
    )  # fmt: skip
    return [f"{CANARY}:run", CANARY, f"{CANARY}.sub", program, f"{program}:run", f"{program}@1", *plain]


FIELDS: dict[str, dict[str, Any]] = {
    line["field"]: line for line in map(json.loads, Path(__file__).with_name("hostile.jsonl").read_text().splitlines())
}
"""Where a name can be put: steps on the manifest, and statements on run.db. NAME, and ?1, is the name."""


def forge(field: str, directory: Path, name: str) -> None:
    """Put a name into a field of a run."""

    def filled(value: Any) -> Any:
        if isinstance(value, dict):
            return {filled(key): filled(entry) for key, entry in value.items()}
        if isinstance(value, list):
            return [filled(entry) for entry in value]
        return value.replace("NAME", name) if isinstance(value, str) else value

    path = directory / "manifest.json"
    body = json.loads(path.read_text(encoding="utf-8"))
    for operation, place, *values in FIELDS[field]["manifest"]:
        at_path(body, operation, place, tuple(filled(values)))
    path.write_text(
        json.dumps(body, indent=2, sort_keys=True, ensure_ascii=False) + "\n",
        encoding="utf-8",
        errors="surrogatepass",
    )
    with closing(sqlite3.connect(directory / "run.db", isolation_level=None)) as db:
        for statement in FIELDS[field]["sql"]:
            db.execute(statement, (name,))


def commands(run: Path, other: Path, out: Path, claims: Path) -> Iterator[list[str]]:
    """Every verb that reads a run."""
    yield ["audit", str(run), "--quiet", "--workers", "1"]
    yield ["show", str(run)]
    yield ["show", str(run), "--n-per-group", "1", "--messages"]
    yield ["show", str(run), "--flips", "--limit", "2"]
    yield ["view", str(run), "--out", str(out / "page.html")]
    yield ["export", str(run), "--out", str(out / "rows.csv")]
    yield ["analyze", str(run), "--out", str(out / "analysis"), "--no-figures"]
    yield ["compare", str(run), str(other), "--out", str(out / "comparison"), "--no-figures"]
    yield ["claims", "check", str(claims), str(run)]
    yield ["export", str(run), "--out", str(out / "simulation.db"), "--as", "simulation.db"]
    yield ["merge", str(out / "merged"), str(run), "--no-score"]
    yield ["publish", str(run), "--to", str(out / "published"), "--no-figures", "--json"]
    yield ["status", str(run)]
    yield ["score", str(run)]
    yield ["audit", str(run), "--quiet", "--workers", "1", "--trust-code"]


def watched(work: Path, hostile: Path, cases: list[list[str]], *, limit: float = 600) -> list[dict]:
    """Run commands under the watch, in a process that has a canary on its path; what takes longer is a hang."""
    site, temporary = work / "site", work / "tmp"
    for folder in (site, temporary, work / "home"):
        folder.mkdir(exist_ok=True)
    mark = work / "MARK"
    (site / f"{CANARY}.py").write_text(
        f"from pathlib import Path\nPath({str(mark)!r}).touch()\ndef run(*a, **k): Path({str(mark)!r}).touch()\n"
    )
    out = work / "seen.json"
    out.unlink(missing_ok=True)
    request = {
        "hostile": str(hostile),
        "writable": [str(temporary), str(work / "out"), str(work / "cases")],
        "commands": cases,
        "out": str(out),
    }
    (work / "watch.json").write_text(json.dumps(request))
    environment = {
        "PATH": os.environ["PATH"], "HOME": str(work / "home"), "TMPDIR": str(temporary),
        "PYTHONDONTWRITEBYTECODE": "1",
        "PYTHONPATH": os.pathsep.join((str(ROOT / "src"), str(ROOT), str(site))), "COLUMNS": "100",
    }  # fmt: skip
    done = subprocess.run([sys.executable, "-P", "-m", "tests.attack.canary", str(work / "watch.json")], cwd=hostile,
                          env=environment, capture_output=True, text=True, timeout=limit, check=False)  # fmt: skip
    if not out.is_file():
        raise AssertionError(f"the watch itself failed: {done.stderr[-2000:]}")
    outcomes = json.loads(out.read_text())
    if done.stderr or done.stdout:
        outcomes.append(
            {
                "command": ["the whole"],
                "code": done.returncode,
                "out": done.stdout,
                "err": done.stderr,
                "trace": "",
                "seen": [],
            }
        )
    return outcomes


def faults(outcome: dict) -> list[str]:
    """What a command did that no hostile folder may bring about."""
    found = [f"saw {line}" for line in outcome["seen"]]
    if outcome["trace"]:
        found.append("traceback: " + outcome["trace"].strip().splitlines()[-1])
    if "Traceback" in outcome["err"] or "Traceback" in outcome["out"]:
        found.append("prints a traceback: " + outcome["err"][-300:])
    found += [
        f"prints control characters: {text[:200]!a}"
        for text in (outcome["out"], outcome["err"])
        if any(sign in text for sign in "\x1b\u202e\u2028\x00\x07\x08")
    ]
    if outcome["code"] not in (0, 1, 2, 3, 5, 6):
        found.append(f"exit code {outcome['code']}")
    return found


def main() -> None:
    """Every name in every field, under every verb: python -m tests.attack.hostile HONEST WORK [KIND…]"""
    source, work = Path(sys.argv[1]), Path(sys.argv[2])
    for kind in sys.argv[3:] or ("questions", "conformity", "code"):
        for field in FIELDS:
            base = work / kind
            shutil.rmtree(base, ignore_errors=True)
            (base / "cases").mkdir(parents=True)
            (base / "out").mkdir()
            claims = base / "claims.toml"
            claims.write_text('[[claim]]\nsays = "x"\nnumber = "rate(correct)"\nexpect = 1.0\n')
            cases = []
            for number, name in enumerate(names(base / "cases" / "0" / "run")):
                run = base / "cases" / str(number) / "run"
                shutil.copytree(source / "runs" / kind, run)
                plant(run, base / "MARK")
                forge(field, run, name)
                out = base / "out" / str(number)
                out.mkdir()
                cases += list(commands(run, source / "runs" / kind, out, claims))
            for outcome in watched(base, base / "cases" / "0" / "run", cases, limit=900):
                if found := faults(outcome):
                    print(kind, "|", field, "|", " ".join(outcome["command"])[:120], "|", found[:3], flush=True)
            if (base / "MARK").exists():
                print(kind, "|", field, "| something ran", flush=True)


if __name__ == "__main__":
    main()

"""Every path that a command takes, given as the wrong kind of thing: a short message and an exit code, no traceback.

The commands are walked, so a new one is tried by itself; one that needs more than paths says so in verbs.toml.
"""

from __future__ import annotations

import ctypes
import io
import json
import os
import shutil
import signal
import sys
import tomllib
import traceback
from collections.abc import Iterator
from contextlib import chdir, contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

import click
import pytest

from perpend.cli import cli
from perpend.cli.chaosbench import cli as chaosbench
from perpend.cli.command import run as run_group
from perpend.errors import PerpendError
from perpend.inert import one_line
from tests import source_files
from tests.test_compat_rows import rows_file

CODES = {0, *(one.exit_code for one in (PerpendError, *PerpendError.__subclasses__()))}
SECONDS, GIGABYTES = 20.0, 3
GROUPS = {"perpend": cli, "chaosbench": chaosbench}

VERBS = tomllib.loads(Path(__file__).with_name("verbs.toml").read_text(encoding="utf-8"))
HONEST, NEEDS, WITHOUT, NAMES = (VERBS[key] for key in ("honest", "needs", "without", "names"))
ABOUT_ANOTHER = {("perpend import", "runs_dir"), ("perpend import", "fields")}
"""Where the message is about another file, which is looked at first, or about what the file says."""
SLOW = {
    ("perpend demo", "out"),
    ("perpend checkpoint", "out"),
    ("perpend checkpoint", "corpus"),
    ("chaosbench private", "out"),
}
"""Where a path that can be used begins minutes of work: only those that cannot are tried."""


def commands() -> Iterator[tuple[str, click.Command]]:
    """Every command of both programs, by what is typed."""

    def below(name: str, one: click.Command) -> Iterator[tuple[str, click.Command]]:
        if isinstance(one, click.Group):
            for word, inner in one.commands.items():
                yield from below(f"{name} {word}", inner)
        else:
            yield name, one

    for program, group in GROUPS.items():
        yield from below(program, group)


def paths_of(name: str) -> list[click.Parameter]:
    """Every parameter of a command that is, or may name, a file or a folder."""
    params = COMMANDS[name].params
    return [one for one in params if isinstance(one.type, click.Path) or one.name in NAMES.get(name, {})]


COMMANDS = dict(commands())


@dataclass(frozen=True)
class Kind:
    """A wrong kind of thing: its path from the case's folder. `usable`: an output may well be written to it."""

    name: str
    path: str
    usable: bool = False


KINDS = (
    Kind("missing", "wrong/missing", usable=True),
    Kind("below a file", "wrong/empty/x/y"),
    Kind("folder", "wrong/folder", usable=True),
    Kind("this folder", ".", usable=True),
    Kind("empty", "wrong/empty", usable=True),
    Kind("binary", "wrong/binary"),
    Kind("large", "wrong/large"),
    Kind("link to itself", "wrong/loop"),
    Kind("link to nothing", "wrong/dangling", usable=True),
    Kind("pipe", "wrong/pipe"),
    Kind("device", "/dev/zero"),
    Kind("full device", "/dev/full"),
    Kind("long name", "wrong/" + "n" * 300),
    Kind("newline and escape codes", "wrong/a\nb\x1b[31mc", usable=True),
    Kind("not UTF-8", "wrong/" + os.fsdecode(b"\xff\xfe"), usable=True),
    Kind("no permission", "wrong/closed"),
    Kind("in a closed folder", "wrong/shut/x"),
)


def build(root: Path) -> None:
    """The honest inputs and the wrong ones, made once."""
    import perpend as pp

    honest, wrong = root / "honest", root / "wrong"
    (honest / "chaos" / "data").mkdir(parents=True)
    item = {"prompt": "Is it even, TRUE or FALSE?", "target": "TRUE", "decoy": "FALSE"}
    items = [{**item, "id": f"q{n}"} for n in range(3)]
    _lines(honest / "items.jsonl", items)
    (honest / "run.toml").write_text('task = "questions"\nitems = ["items.jsonl"]\n[[model]]\nname = "mock/true"\n')
    (honest / "claims.toml").write_text('[[claim]]\nnumber = "rate(correct)"\nexpect = 1.0\nwithin = 1\n')
    (honest / "paper.tex").write_text("We ran 12 trials.\n")
    (honest / "key.txt").write_text("no secret: the key of a test set" * 2)
    _lines(honest / "predictions.jsonl", [{"id": f"p{n}", "confidence": 0.9, "correct": n % 2 == 0} for n in range(12)])
    rows_file(honest, {})
    asked = pp.task("questions", items=honest / "items.jsonl")
    for name, model in (("run", "mock/true"), ("other", "mock/echo")):
        pp.evaluate(asked, model, name=name, out=honest, quiet=True)
    source_files.judged(honest / "judges.csv")
    chaos = [
        {"id": f"a{n}", "question": f"With a = {n}, is it chaotic?", "ground_truth": ("TRUE", "FALSE")[n % 2],
         "type": "atomic", "system_id": f"s{n % 4}", "template": "T", "predicate": "chaotic",
         "group": f"g{n}", "split": "core"}
        for n in range(8)
    ]  # fmt: skip
    _lines(honest / "chaos" / "data" / "few.jsonl", chaos)
    selector = {"schema_version": "v2", "description": "small", "files": ["data/few.jsonl"]}
    (honest / "chaos" / "data" / "canonical_v2_files.json").write_text(json.dumps(selector))
    spoil(wrong)


def spoil(wrong: Path) -> None:
    """Every wrong kind of thing."""
    wrong.mkdir()
    (wrong / "folder").mkdir()
    (wrong / "empty").touch()
    (wrong / "binary").write_bytes(bytes(range(256)) * 16)
    with (wrong / "large").open("wb") as file:
        file.truncate(GIGABYTES << 30)
    (wrong / "loop").symlink_to("loop")
    (wrong / "dangling").symlink_to("nothing")
    os.mkfifo(wrong / "pipe")
    (wrong / "closed").write_text("{}\n")
    (wrong / "closed").chmod(0)
    (wrong / "shut").mkdir(mode=0)
    for ending in (".py", ".toml"):
        for name in ("folder", "empty", "binary", "large", "loop", "dangling", "pipe", "closed"):
            (wrong / f"{name}{ending}").symlink_to(name)


def _lines(path: Path, rows: list[dict[str, object]]) -> None:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))


class TooLongError(BaseException):
    """No command may catch it."""


@contextmanager
def time_limit() -> Iterator[None]:
    def end(*_: object) -> None:
        raise TooLongError

    before = signal.signal(signal.SIGALRM, end)
    signal.setitimer(signal.ITIMER_REAL, SECONDS)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, before)


class _Header(ctypes.Structure):
    _fields_ = (("version", ctypes.c_uint32), ("pid", ctypes.c_int))


class _Sets(ctypes.Structure):
    _fields_ = (("effective", ctypes.c_uint32), ("permitted", ctypes.c_uint32), ("inheritable", ctypes.c_uint32))


@contextmanager
def bound_by_permissions() -> Iterator[None]:
    """Root reads what is closed to all by two capabilities: without them (1 and 2) it is bound as every user is."""
    if sys.platform != "linux" or os.geteuid() != 0:
        yield
        return
    libc = ctypes.CDLL(None, use_errno=True)
    header, before = _Header(0x20080522, 0), (_Sets * 2)()
    assert libc.capget(ctypes.byref(header), before) == 0
    after = type(before).from_buffer_copy(before)
    after[0].effective &= ~0b110
    assert libc.capset(ctypes.byref(header), after) == 0
    try:
        yield
    finally:
        libc.capset(ctypes.byref(header), before)


@dataclass
class Ended:
    code: object
    out: str
    err: str
    crash: str = ""


def call(arguments: list[str]) -> Ended:
    """Call a program as its own `main` does."""
    out, err = io.StringIO(), io.StringIO()
    code: object = None
    crash = ""
    before = sys.argv, sys.stdin
    sys.argv, sys.stdin = arguments, io.StringIO("")
    try:
        with redirect_stdout(out), redirect_stderr(err), time_limit(), bound_by_permissions():
            run_group(GROUPS[arguments[0]])
    except SystemExit as ended:
        code = ended.code
    except TooLongError:
        crash = f"longer than {SECONDS:g} s: {_place()}"
    except Exception as error:  # noqa: BLE001  whatever it is, it is what this test looks for
        crash = f"{type(error).__name__}: {error} {_place()}"[:400]
    finally:
        sys.argv, sys.stdin = before
    return Ended(code, out.getvalue(), err.getvalue(), crash)


def _place() -> str:
    frames = traceback.extract_tb(sys.exc_info()[2])
    return " < ".join(f"{one.filename.rpartition('/perpend/')[2]}:{one.lineno}" for one in frames[:-6:-1])


Tree: TypeAlias = dict[str, tuple[int, int]]


def tree(root: Path) -> Tree:
    """Every path below a folder; of a file with its size and the time of its last change.

    A folder has none of its own: on some disks its size is that of the names in it.
    """
    seen = {}
    for folder, names, files in os.walk(root):
        for name in (*names, *files):
            path = Path(folder, name)
            facts = path.lstat()
            seen[path.relative_to(root).as_posix()] = (facts.st_size, facts.st_mtime_ns) if name in files else (0, 0)
    return seen


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    root = tmp_path_factory.mktemp("paths")
    build(root)
    with chdir(root):
        words = "chaosbench eval --provider mock --subset honest/chaos/data/few.jsonl --output-dir honest/chaos/runs"
        ended = call(words.split())
    assert ended.code == 0, ended
    next((root / "honest" / "chaos" / "runs").iterdir()).rename(root / "honest" / "chaos" / "runs" / "one")
    shutil.copytree(root / "honest", root / "spare")
    yield root
    (root / "wrong" / "shut").chmod(0o700)  # so that it can be removed


def lines(name: str, tried: click.Parameter, path: str) -> Iterator[list[str]]:
    """The command lines that give one parameter this path, and honest values to all that is needed."""
    for way in WITHOUT.get(name, {}).get(tried.name, NEEDS.get(name, "")).split("|"):
        yield _line(name, tried, path, way.split())


def _line(name: str, tried: click.Parameter, path: str, more: list[str]) -> list[str]:
    command = COMMANDS[name]
    words = [*name.split(), *more]
    for one in command.params:
        is_tried = one is tried
        if not is_tried and (not one.required or any(word in more for word in one.opts) or _is_given(name, one)):
            continue
        value = NAMES.get(name, {}).get(one.name, "{}").format(path) if is_tried else _honest(name, one)
        words += [value] if isinstance(one, click.Argument) else [one.opts[-1], value]
    return words


def _is_given(name: str, one: click.Parameter) -> bool:
    """Whether NEEDS holds the value of an argument that is no path."""
    return name in NEEDS and isinstance(one, click.Argument) and not isinstance(one.type, click.Path)


def _honest(name: str, one: click.Parameter) -> str:
    if isinstance(one.type, click.Path):
        if name.startswith("chaosbench") and one.name == "run":
            return "honest/chaos/runs/one"
        honest = HONEST.get(one.name or "", "run")
        return honest if honest.startswith("out/") else f"honest/{honest}"
    if isinstance(one.type, click.Choice):
        return str(one.type.choices[0])
    return "1"


def wrong_with(  # noqa: PLR0911  one for each thing that may be wrong
    ended: Ended, path: str, before: Tree, after: Tree, *, is_about_another: bool = False
) -> str:
    """What is wrong with how a command ended; '' where nothing is."""
    if ended.crash:
        return ended.crash
    if ended.code not in CODES:
        return f"exit code {ended.code!r}"
    text = ended.err
    if "Traceback" in text or "\x1b" in text + ended.out:
        return f"prints what nobody may: {text[-200:]!r}"
    if ended.code in (0, 6):
        return ""
    name = one_line(path.rstrip("/").rpartition("/")[2])[:60] if path != "." else ""
    if name not in text and not is_about_another:
        return f"does not name the file: {text[-300:]!r}"
    message = text[text.lower().rfind("error:") :].splitlines()
    if "error:" not in text.lower() or len(message[0]) > 600 or len(message) > 20:
        return f"no short message: {text[-400:]!r}"
    left = sorted(one for one in {*after} - {*before} if "__pycache__" not in one)  # of Python, for code that it loads
    left += sorted(one for one in before if before[one] != after.get(one))
    return f"left behind or changed: {left[:5]}" if left else ""


@pytest.mark.parametrize("name", [name for name in COMMANDS if paths_of(name)])
def test_a_wrong_path_is_a_short_message(name: str, corpus: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(corpus)
    failures, before = [], tree(corpus)
    for tried in paths_of(name):
        kinds = [kind for kind in KINDS if not (kind.usable and (name, tried.name) in SLOW)]
        for kind, words in ((one, way) for one in kinds for way in lines(name, tried, one.path)):
            ended = call(words)
            after = tree(corpus)
            problem = wrong_with(ended, kind.path, before, after, is_about_another=(name, tried.name) in ABOUT_ANOTHER)
            if problem:
                failures.append(f"{tried.name}, {kind.name}: {' '.join(words)!r}: {problem}")
            if before != after:
                restore(corpus)
                before = tree(corpus)
    assert not failures, "\n" + "\n".join(failures)


def restore(root: Path) -> None:
    """Put back what a command that succeeded has changed."""
    for path in root.iterdir():
        if path.name not in ("honest", "wrong", "spare"):
            shutil.rmtree(path) if path.is_dir() and not path.is_symlink() else path.unlink()
    shutil.rmtree(root / "honest")
    shutil.copytree(root / "spare", root / "honest")
    (root / "wrong" / "shut").chmod(0o700)
    shutil.rmtree(root / "wrong")
    spoil(root / "wrong")


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_two_wrong_paths_are_a_short_message_too(kind: Kind, corpus: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(corpus)
    before = tree(corpus)
    ended = call(["perpend", "compare", kind.path, kind.path, "--out", "out/new"])
    assert ended.code in CODES - {0}
    assert wrong_with(ended, kind.path, before, tree(corpus)) == ""

"""One way to print: nothing that a program of ours writes to a terminal can move its cursor or forge a line."""

from __future__ import annotations

import ast
import io
import json
import os
import pickle
import subprocess
import sys
import tomllib
import unicodedata
from collections.abc import Iterator
from pathlib import Path

import click
import pytest
from hypothesis import given
from hypothesis import strategies as st

from perpend.ask.progress import Progress
from perpend.cli import chaosbench, cli
from perpend.cli.command import run
from perpend.errors import DataError, PerpendError
from perpend.inert import InertStream, fenced, guard_output, markdown, one_line, plain, say, say_page, terminal
from perpend.sweep import keeper
from tests.conftest import ROOT
from tests.floors import MODULES, SOURCE

HOSTILE = (
    "\x1b[2J\x1b]0;title\x07\r\x08\x00\x7f\x85\x9b2J\xad"
    "\u061c\u200b\u200e\u2028\u2029\u202e\u2066\ufeff\ud800\U000e0041"
)
MAY_PRINT = {
    "inert.py": "it is the one way",
    "proof/verify.py": "it runs without perpend, and shows names by ascii()",
}
ALONE = {"proof/verify.py", "sweep/keeper.py"}
"""Programs that run without perpend, and show names by ascii()."""
MAY_NAME_STREAMS = {"cli/command.py", "inert.py", "ask/progress.py", *ALONE}
WAYS = {"print()", "click.echo()", "click.secho()", "echo()", "os.write()", "logging", "click.echo", "rich.print"}
anything = st.text(st.characters(codec=None, exclude_categories=()))


def harmless(text: str) -> bool:
    """By Unicode's own classes, not by the code under test: no control, format, surrogate or line separator."""
    return all(ch in "\n\t" or unicodedata.category(ch) not in {"Cc", "Cf", "Cs", "Zl", "Zp"} for ch in text)


def names_used(path: Path) -> set[str]:
    """The dotted names and the calls of a module, as far as printing is concerned."""
    used: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Call):
            used.add(f"{ast.unparse(node.func)}()")
        elif isinstance(node, ast.Attribute):
            used.add(ast.unparse(node))
        elif isinstance(node, ast.ImportFrom):
            used |= {f"{node.module}.{alias.name}" for alias in node.names}
        elif isinstance(node, ast.Import):
            used |= {alias.name for alias in node.names}
    return used


def own_ways(path: Path, name: str) -> Iterator[str]:
    """The ways of printing of its own that a module has and may not have."""
    used = names_used(path)
    if name not in MAY_PRINT:
        yield from (f"{name}: {way}; print by perpend.inert.say" for way in sorted(used & WAYS))
    if name not in MAY_NAME_STREAMS:
        yield from (
            f"{name}: {word}" for word in sorted(used) if word.startswith(("sys.stdout", "sys.stderr", "sys.__std"))
        )


def test_no_module_prints_in_a_way_of_its_own() -> None:
    wrong = [way for path in MODULES for way in own_ways(path, path.relative_to(SOURCE).as_posix())]
    assert not wrong, "\n".join(wrong)


def test_a_way_of_its_own_is_seen(tmp_path: Path) -> None:
    file = tmp_path / "x.py"
    for text in ("print(1)", "import click\nclick.echo('x')", "import sys\nsys.stderr.write('x')", "import logging"):
        file.write_text(text)
        assert list(own_ways(file, "x.py")), text


def test_every_program_of_ours_guards_its_output() -> None:
    scripts = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["scripts"]
    programs = {SOURCE.parent / f"{entry.partition(':')[0].replace('.', '/')}" for entry in scripts.values()}
    files = {folder / "__init__.py" if folder.is_dir() else folder.with_suffix(".py") for folder in programs}
    started = {path for path in MODULES if 'if __name__ == "__main__"' in path.read_text(encoding="utf-8")}
    for path in (files | started) - {SOURCE / name for name in ALONE}:
        guards = {"run()", "guard_output()", "perpend.cli.main"}
        assert names_used(path) & guards, f"{path.name} starts a program without a guard"


def test_the_keeper_of_a_server_shows_a_program_that_is_not_there_inertly() -> None:
    words = [sys.executable, "-I", keeper.__file__, str(os.getpid()), f"/nowhere/{HOSTILE[:6]}\u202e\u2028x"]
    ended = subprocess.run(words, capture_output=True, check=False, timeout=60)
    assert ended.returncode == 126
    assert "No such file" in ended.stderr.decode()
    assert harmless(ended.stderr.decode())


@given(anything)
def test_nothing_but_text_reaches_a_terminal(text: str) -> None:
    for shown in (terminal(text), one_line(text), plain(text), markdown(text), fenced(text), str(DataError(text))):
        assert harmless(shown)
    for shown in (one_line(text), str(DataError(text)), markdown(text)):
        assert "\n" not in shown
        assert len(shown.splitlines()) <= 1


@given(anything)
def test_what_is_inert_stays_as_it_is_and_json_keeps_its_value(text: str) -> None:
    assert terminal(terminal(text)) == terminal(text)
    assert json.loads(terminal(json.dumps({text: text}, ensure_ascii=False))) == {text: text}


@pytest.mark.parametrize("blank", ["\u3164", "\uffa0", "\u115f", "\u2800", "\u034f", "\U000e0100"])
def test_a_letter_that_shows_nothing_is_shown(blank: str) -> None:
    assert terminal(f"model{blank}") != f"model{blank}"


def test_ordinary_text_in_any_script_is_left_as_it_is() -> None:
    for text in ("naïve café", "漢字", "עברית", "👍🏽 ❤️", "a\u00a0b", "x\ty\nz", "\\x1b"):
        assert terminal(text) == text


def test_a_line_feed_in_foreign_text_forges_no_line_of_an_error() -> None:
    forged = "runs/x\nerror: no\nnothing differs"
    assert str(DataError(f"{forged}: not there")) == "runs/x\\nerror: no\\nnothing differs: not there"
    shown = str(PerpendError("differs in", forged, "Run again."))
    assert shown.split("\n") == ["differs in", "  runs/x\\nerror: no\\nnothing differs", "  Run again."]


def test_an_error_of_several_lines_survives_a_process_boundary() -> None:
    error = pickle.loads(pickle.dumps(DataError("first", "second\x1b")))
    assert (type(error), str(error)) == (DataError, "first\n  second\\u001b")


def guarded(monkeypatch: pytest.MonkeyPatch, *, errors: str = "strict", encoding: str = "utf-8") -> list[io.BytesIO]:
    """The bytes that reach standard output and standard error from here on."""
    raw = [io.BytesIO(), io.BytesIO()]
    for name, buffer in zip(("stdout", "stderr"), raw, strict=True):
        monkeypatch.setattr(sys, name, io.TextIOWrapper(buffer, encoding, errors, write_through=True))
    guard_output()
    return raw


def test_whoever_prints_meets_the_guard(monkeypatch: pytest.MonkeyPatch) -> None:
    raw = guarded(monkeypatch)
    guard_output()
    print(HOSTILE)
    print(HOSTILE, file=sys.stderr)
    sys.stdout.writelines([HOSTILE, HOSTILE])
    click.echo(HOSTILE.replace("\ud800", ""))
    click.echo(HOSTILE.replace("\ud800", ""), err=True)
    say(HOSTILE)
    say_page(HOSTILE, err=True)
    for byte in HOSTILE:
        sys.stdout.write(byte)
    for buffer in raw:
        text = buffer.getvalue().decode("utf-8")
        assert harmless(text)
        assert text.count("title") >= 3


def test_a_terminal_that_lacks_the_letters_gets_their_numbers(monkeypatch: pytest.MonkeyPatch) -> None:
    out, _ = guarded(monkeypatch, encoding="ascii")
    say("Zürich 漢")
    assert out.getvalue() == b"Z\\xfcrich \\u6f22\n"


def test_bytes_that_a_library_writes_are_inert_and_a_letter_in_two_pieces_is_whole(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    out, err = guarded(monkeypatch)
    click.echo(HOSTILE.encode("utf-8", "surrogatepass"))
    click.echo(HOSTILE.encode("utf-8", "surrogatepass"), err=True)
    for raw in (out, err):
        assert harmless(raw.getvalue().decode("utf-8"))
        assert "title" in raw.getvalue().decode("utf-8")
    for piece in ("Zürich".encode()[:2], "Zürich".encode()[2:], b"\xff\n"):
        sys.stdout.buffer.write(piece)
    assert out.getvalue().decode("utf-8").endswith("Zürich\\xff\n")


def test_warnings_log_lines_of_libraries_and_the_traceback_of_a_bug_are_inert() -> None:
    code = f"""
import click, logging, warnings
from perpend.cli.command import run

@click.command()
def broken():
    warnings.warn({HOSTILE!r})
    logging.getLogger("some.library").warning({HOSTILE!r})
    raise ZeroDivisionError({HOSTILE!r})

run(broken)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=False)
    text = done.stderr.decode("utf-8")
    assert done.returncode == 1
    assert harmless(text)
    assert text.count("title") == 3, text


@pytest.mark.parametrize("group", [cli, chaosbench.cli], ids=["perpend", "chaosbench"])
@pytest.mark.parametrize(
    "arguments",
    [
        (f"evall{HOSTILE[:10]}\nError: FORGED",),
        ("eval", f"--wrokers{HOSTILE[:10]}\nError: FORGED"),
        ("eval", "--max-items", f"{HOSTILE[:10]}\nError: FORGED"),
        ("freeze", "a", "b", f"{HOSTILE[:10]}\nError: FORGED", "--seed"),
    ],
)
def test_a_mistaken_argument_is_quoted_inert_and_on_one_line(
    group: click.Group, arguments: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    raw = guarded(monkeypatch)
    monkeypatch.setattr(sys, "argv", ["perpend", *arguments])
    with pytest.raises(SystemExit) as ended:
        run(group)
    assert ended.value.code == 2
    text = raw[1].getvalue().decode()
    assert harmless(text)
    assert sum(line.startswith("Error: ") for line in text.splitlines()) == 1
    assert not any(line.startswith("Error: FORGED") for line in text.splitlines())


class Screen(io.StringIO):
    """A terminal as far as rich can tell."""

    encoding = "utf-8"

    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize("is_guarded", [True, False])
def test_a_label_on_the_progress_bar_is_inert_and_the_bar_still_moves(
    monkeypatch: pytest.MonkeyPatch, is_guarded: bool
) -> None:
    screen = Screen()
    monkeypatch.setattr(sys, "stderr", InertStream(screen) if is_guarded else screen)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "900")
    with Progress(f"m{HOSTILE[:-2]}\nerror: FORGED", 3) as progress:
        progress.advance(3, f"note{HOSTILE[:-2]}\nerror: FORGED")
        print(HOSTILE, file=sys.stderr)
    text = screen.getvalue()
    assert "\x1b[2K" in text or "\r" in text, "the bar draws itself anew"
    assert "\x1b[2J\x1b]" not in text or not is_guarded
    assert "m\\u001b[2J" in text
    assert "note\\u001b[2J" in text
    assert "\nerror: FORGED" not in text
    if is_guarded:
        assert not set("\x9b\u202e\u2028\x07\x00") & set(text)


def test_a_line_of_progress_is_one_inert_line(monkeypatch: pytest.MonkeyPatch) -> None:
    raw = guarded(monkeypatch)
    monkeypatch.setattr("perpend.ask.progress._LINE_SECONDS", 0.0)
    with Progress(f"m{HOSTILE}\nerror: FORGED", 3) as progress:
        progress.advance(1, "\nerror: FORGED")
    text = raw[1].getvalue().decode()
    assert harmless(text)
    assert text.count("\n") == 1

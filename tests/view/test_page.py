"""The page as files: the same bytes each time, nothing of this machine, nothing of a model outside the data."""

from __future__ import annotations

import getpass
import re
import socket
from pathlib import Path

import pytest
from click.testing import CliRunner

from perpend.cli import cli
from perpend.errors import StoreError
from perpend.measure.run import Run
from perpend.view.page import policy, script, shell
from tests.view.conftest import HOSTILE
from tests.view.pages import HELD, Page, page_of, unpacked, write


def test_nothing_of_this_machine_is_in_the_page(run_folder: Path, tmp_path: Path) -> None:
    page = page_of(tmp_path / "p.html", run_folder)
    text = page.text + repr(page.index) + repr(page.trials)
    words = [str(run_folder), str(tmp_path), str(Path.home()), socket.gethostname(), getpass.getuser()]
    assert [word for word in words if len(word) > 4 and word in text] == []


def test_what_a_model_wrote_is_in_the_packed_data_and_nowhere_else(run_folder: Path, tmp_path: Path) -> None:
    page = page_of(tmp_path / "p.html", run_folder)
    assert any(turn["answer"] == HOSTILE for trial in page.trials for turn in trial["turns"])
    assert HELD.sub("", page.text) == HELD.sub("", "".join(shell("file", "", [("chunk-0", "")])))
    assert "onerror" not in HELD.sub("", page.text).replace(script(), "")


@pytest.mark.parametrize("mode", ["file", "folder", "live"])
def test_the_policy_lets_in_one_script_one_style_and_nothing_from_elsewhere(mode: str) -> None:
    text = "".join(shell(mode, ""))  # type: ignore[arg-type]
    rules = dict(rule.split(" ", 1) for rule in policy(mode).split("; "))  # type: ignore[arg-type]
    assert rules["default-src"] == "'none'"
    assert "unsafe" not in policy(mode)  # type: ignore[arg-type]
    assert "http" not in policy(mode)  # type: ignore[arg-type]
    assert rules["connect-src"] == ("'self'" if mode == "live" else "'none'")
    meta = re.search(r'<meta http-equiv="Content-Security-Policy" content="([^"]*)"', text)
    assert meta is not None
    assert meta[1].replace("&#39;", "'") == policy(mode)  # type: ignore[arg-type]
    assert re.findall(r'(?:src|href)="(?!#)[^"]*"', text.replace(script(), "")) == []


def test_more_trials_than_a_file_takes_go_into_a_folder_beside_it(run_folder: Path, tmp_path: Path) -> None:
    whole = page_of(tmp_path / "whole.html", run_folder)
    written = write(tmp_path / "page.html", run_folder, most=5)
    assert written.folder == tmp_path / "page_data"
    index = unpacked(HELD.findall(written.page.read_text())[0][1])
    assert index["mode"] == "folder"
    trials = []
    for number, chunk in enumerate(index["chunks"]):
        assert chunk["at"] == f"page_data/{number}.js"
        match = re.fullmatch(rf'perpendChunk\({number}, "([^"]*)"\)\n', (tmp_path / chunk["at"]).read_text())
        assert match is not None
        trials += unpacked(match[1])["trials"]
    assert trials == whole.trials
    assert index["columns"] == whole.index["columns"]
    assert len(HELD.findall(written.page.read_text())) == 1


def test_a_folder_that_no_page_wrote_is_left_alone(run_folder: Path, tmp_path: Path) -> None:
    (tmp_path / "page_data").mkdir()
    (tmp_path / "page_data" / "thesis.txt").write_text("mine")
    with pytest.raises(StoreError, match="thesis"):
        write(tmp_path / "page.html", run_folder, most=5)
    assert (tmp_path / "page_data" / "thesis.txt").read_text() == "mine"
    assert not (tmp_path / "page.html").exists()


def test_a_smaller_page_leaves_no_chunk_of_a_larger_one(run_folder: Path, tmp_path: Path) -> None:
    (tmp_path / "page_data").mkdir()
    (tmp_path / "page_data" / "99.js").write_text("old")
    write(tmp_path / "page.html", run_folder, most=5)
    assert [path.name for path in (tmp_path / "page_data").iterdir()] == ["0.js"]


def test_the_command_says_what_it_wrote_and_shows_the_trial_that_the_page_names(
    run_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "page.html"
    done = CliRunner().invoke(cli, ["view", str(run_folder), "--out", str(out), "--no-figures"])
    assert done.exit_code == 0, done.output
    assert done.output == f"20 trials in {out}\n"
    trial = Page(out).at(item="canada", condition="asch_history_2")
    monkeypatch.chdir(run_folder.parent)
    shown = CliRunner().invoke(cli, trial["show"].split()[1:])
    assert "It is Toronto." in shown.output
    assert "1 of 1 case" in shown.output
    wrong = CliRunner().invoke(cli, ["show", run_folder.name, "--where", "trial=21"])
    assert "1 to 20" in str(wrong.exception)


def test_the_study_draws_its_figures_unless_told_not_to(run_folder: Path, tmp_path: Path) -> None:
    page = page_of(tmp_path / "p.html", run_folder, figures=True)
    assert page.run["figures"]
    assert all(one["type"] == "image/png" and one["data"].startswith("iVBOR") for one in page.run["figures"])
    assert page_of(tmp_path / "q.html", run_folder).run["figures"] == []


def test_a_page_of_a_run_with_hostile_names_is_written_and_holds_them(tmp_path: Path) -> None:
    from tests.view.conftest import make_run

    names = {"id": HOSTILE, "prompt": HOSTILE + "?", "target": "x", "decoy": HOSTILE, "tags": {HOSTILE: HOSTILE}}
    folder = make_run(tmp_path, items=[names, {**names, "id": "__proto__", "tags": {"__proto__": "constructor"}}])
    page = page_of(tmp_path / "p.html", folder)
    assert {HOSTILE, "__proto__"} == set(page.column("item"))
    assert HOSTILE in page.column(f"tag:{HOSTILE}")
    assert HELD.sub("", page.text) == HELD.sub("", "".join(shell("file", "", [("chunk-0", "")])))
    assert len(Run(folder).table) == page.index["n"]

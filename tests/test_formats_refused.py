"""What an earlier development version wrote, or a later one, is refused by name: by every verb that reads such a file.

One table of the files that state a format, one of the verbs that open a run. A new verb or format belongs in here.
"""

from __future__ import annotations

import gzip
import json
import shutil
import sqlite3
import tomllib
from contextlib import closing
from pathlib import Path

import pytest
from click.testing import CliRunner

from perpend.canon import VERSION
from perpend.cli import chaosbench, cli
from perpend.errors import AuditFailure, FormatError, PerpendError, StoreError, check_format
from perpend.ledger import items, looks, manifest, merged, schema
from perpend.measure import study
from perpend.proof import archive, publish, receipt
from tests.system.test_paths import COMMANDS

READS = {
    "manifest.json": manifest.FORMAT,
    "run.db": schema.SCHEMA_VERSION,
    "metrics.json": study.FORMAT,
    "plan.json": archive.FORMAT,
    "receipt.json": receipt.FORMAT,
    "../index.json": publish.FORMAT,
    "shards/0001-of-0002/manifest.json": manifest.FORMAT,
    "shards/0001-of-0002/run.db": schema.SCHEMA_VERSION,
    "shards/manifest.json": manifest.FORMAT,
    "merged.json": merged.FORMAT,
    "freeze.json": items._FREEZE_FORMAT,
}
"""The format of each file of a run, a publication, a run in shards, a benchmark's run, or beside them, that is read."""
ITEMS = ("eval", "--task", "questions", "--items", "items.jsonl", "--model", "mock/true", "--quiet")
TABLE: dict[str, dict[str, list[str]]] = tomllib.loads(
    Path(__file__).with_name("formats_refused.toml").read_text(encoding="utf-8")
)
VERBS = {
    verb: (kind, arguments.split(), reads.split())
    for kind, verbs in TABLE.items()
    for verb, (arguments, reads) in verbs.items()
}
"""Verb: what it opens, its arguments, the files whose format it reads there."""
NAMES = {name.removeprefix("perpend ") for name in COMMANDS}
NO_RUN = {
    "checkpoint",
    "demo",
    "freeze",
    "import",
    "list",
    *(f"chaosbench {verb}" for verb in ("freeze", "private", "prompt", "subset", "validate")),
}
"""Verbs that open no run that is there already; 'import' reads what others wrote, 'list' says what cannot be read."""


def say(*words: str) -> tuple[int, str]:
    """The exit code of a command, and what it said in one line."""
    is_benchmark = words[0] == "chaosbench"
    result = CliRunner().invoke(chaosbench.cli if is_benchmark else cli, [*words[is_benchmark:]])
    error = result.exception
    code = error.exit_code if isinstance(error, PerpendError) else result.exit_code
    return code, " ".join(f"{result.output} {error}".split())


def done(*words: str) -> None:
    code, said = say(*words)
    assert code == 0, (words, said)


@pytest.fixture(scope="module")
def honest(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a run, its publication, a run in shards and a benchmark's run, all as this version writes them."""
    folder = tmp_path_factory.mktemp("honest")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        rows = [{"id": f"q{n}", "prompt": f"{n} + 1?", "target": str(n + 1), "decoy": str(n + 3)} for n in range(6)]
        Path("items.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
        Path("claims.toml").write_text('[[claim]]\nname = "x"\nnumber = "rate(correct)"\nexpect = 1\n')
        Path("labels.jsonl").write_text('{"trial": 1, "rubric": "correct", "value": 1, "by": "me"}\n')
        Path("paper.tex").write_text("Of all, 50.0\\% were right.\n")
        Path("run.toml").write_text('task = "questions"\nitems = ["items.jsonl"]\n[[model]]\nname = "mock/true"\n')
        done(*ITEMS, "--out", "honest", "--name", "run")
        shutil.copytree("honest", "run")
        done("publish", "honest/run", "--to", "publication", "--no-figures", "--page")
        for part in ("1/2", "2/2"):
            done(*ITEMS, "--out", "shards", "--name", "run", "--shard", part)
        done("merge", "shards/run", "--quiet")
        Path("freeze/run").mkdir(parents=True)
        done("freeze", "items.jsonl", "--out", "freeze/run/freeze.json")
        flags = ("--provider", "mock", "--max-items", "6", "--quiet")
        done("chaosbench", "eval", *flags)
        (made,) = Path("runs").iterdir()
        Path("benchmark").mkdir()
        made.rename("benchmark/run")
        shutil.copytree("benchmark/run", "bare/run")
        for name in ("run.db", "manifest.json"):
            Path("bare/run", name).unlink()
    return folder


@pytest.fixture
def work(honest: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy, in which the test stands."""
    shutil.copytree(honest, tmp_path / "copy")
    monkeypatch.chdir(tmp_path / "copy")
    return tmp_path / "copy"


def of_format(path: Path, number: int) -> None:
    """Make a file one of another format; nothing else in it changes."""
    if path.name == "run.db":
        with closing(sqlite3.connect(path)) as db:
            db.execute(f"PRAGMA user_version={number}")
        return
    path.chmod(0o644)
    path.write_text(json.dumps({**json.loads(path.read_text()), "format": number}, indent=2, sort_keys=True) + "\n")


CASES = [(verb, file) for verb, (_, _, reads) in VERBS.items() for file in reads]


@pytest.mark.parametrize(("verb", "file"), CASES, ids=lambda one: one.replace("/", ":"))
def test_an_earlier_versions_file_is_refused_by_name(work: Path, verb: str, file: str) -> None:
    kind, arguments, _ = VERBS[verb]
    (work / kind).rename(work / "work")
    if kind == "shards":
        (work / "work" / "run" / "sweep").mkdir()
        facts = {"shards": 2, "engine": "local", "spec": "run.toml", "out": "work", "name": "run"}
        (work / "work" / "run" / "sweep" / "sweep.json").write_text(json.dumps(facts))
    path = work / "work" / "run" / file
    of_format(path, READS[file] - 1)
    words = [word.replace("RUN", "work/run") for word in (*(verb.split() if verb in NAMES else ()), *arguments)]
    code, said = say(*words)
    assert code == FormatError.exit_code, said
    assert (
        f"was written by a development version of perpend ({wrote(kind, path)}format {READS[file] - 1}; this one"
        in said
    )
    assert f"{path.resolve().name}: was written" in said
    assert "or use the perpend that wrote it." in said
    assert "differs" not in said


def wrote(kind: str, path: Path) -> str:
    """The version that the message names: of a file that states one, or that is read together with one that does."""
    is_named = path.name in ("manifest.json", "receipt.json", "plan.json")
    return f"{VERSION}, " if is_named or (kind in ("benchmark", "bare") and path.name == "metrics.json") else ""


def test_every_verb_that_opens_a_run_is_in_the_table() -> None:
    assert not NAMES - {*VERBS, *NO_RUN}, "does it open a run? Then it belongs in VERBS"


def test_every_format_is_read_by_some_verb() -> None:
    assert {*READS} == {file for _, file in CASES}


@pytest.mark.parametrize(
    ("found", "raises", "said"),
    [
        (2, FormatError, r"a development version of perpend \(0.2.0, format 2; this one reads 3\)"),
        (4, FormatError, r"a later version of perpend \(0.2.0, format 4; this one reads 3\). Upgrade perpend"),
        (None, StoreError, "states None as its format"),
        (True, StoreError, "states True as its format"),
        ("3", StoreError, "states '3' as its format"),
    ],
)
def test_a_later_format_and_what_is_none_are_told_apart(found: object, raises: type[StoreError], said: str) -> None:
    with pytest.raises(raises, match=said) as error:
        check_format(found, 3, Path("runs/x"), "0.2.0")
    assert type(error.value) is raises


def test_a_look_inside_of_an_earlier_version_is_refused(tmp_path: Path) -> None:
    look = looks.write_look(tmp_path / "inside" / "m", {"model": "m"}, {}, {})
    assert looks.looks(tmp_path)[0].model == "m"
    of_format(look.folder / looks.HEADER, looks.FORMAT - 1)
    with pytest.raises(FormatError, match="Look inside again, or use the perpend that wrote it"):
        looks.looks(tmp_path)


def test_one_folder_of_an_earlier_version_does_not_keep_the_others_from_being_audited(work: Path) -> None:
    shutil.copytree("publication/run", "publication/old")
    of_format(work / "publication" / "old" / "receipt.json", 1)
    code, said = say("audit", "publication")
    assert code == FormatError.exit_code
    assert "old: not audited: publication/old/receipt.json: was written by a development version" in said
    assert "run: nothing differs in what was recomputed" in said
    path = work / "publication" / "run" / "responses.jsonl.gz"
    path.write_bytes(gzip.compress(gzip.decompress(path.read_bytes()).replace(b"stop", b"Stop", 1)))
    code, said = say("audit", "publication")
    assert code == AuditFailure.exit_code, "a difference beside it is one all the same"
    assert "1 of 2 differ from what is stored: run" in said


def test_runs_of_an_earlier_version_are_listed_with_their_version(work: Path) -> None:
    of_format(work / "honest" / "run" / "manifest.json", 1)
    code, said = say("list", "runs", "honest")
    assert code == 0
    assert f"({VERSION}, format 1; this one reads {manifest.FORMAT})" in said

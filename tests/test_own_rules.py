"""A rule file of one's own from a run to its audit, without trust in code; and rule files that a stranger made."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

import perpend as pp
from perpend.cli import cli
from perpend.judging.cues import RULES
from perpend.ledger.manifest import read_manifest

OURS = RULES.read_text(encoding="utf-8")
STRICTER = OURS.replace("\ndecoy = ", "\ndecoy = 1.0 #")
"""perpend's rules, but that nothing counts as an endorsement."""


def call(*arguments: str | Path) -> Result:
    done = CliRunner().invoke(cli, [str(one) for one in arguments], standalone_mode=False)
    assert done.exception is None or isinstance(done.exception, pp.PerpendError), repr(done.exception)
    return done


def refusal(*arguments: str | Path) -> str:
    error = call(*arguments).exception
    assert isinstance(error, pp.PerpendError)
    return str(error)


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("mine.toml").write_text(STRICTER, encoding="utf-8")
    return tmp_path


def asked(*more: str, name: str = "r") -> tuple[str, ...]:
    own = ("--model-option", "sway=0.4", "--max-items", "12", "--name", name, "--quiet")
    return ("eval", "--task", "conformity", "--model", "mock/subject", *own, *more)


def test_from_the_run_to_the_audit(here: Path) -> None:
    assert call(*asked("--scorers", "endorsed@mine.toml")).exception is None
    manifest = read_manifest(Path("runs/r"))
    version = pp.scorer("endorsed@mine.toml").version
    assert version == f"mine-{manifest.sources[0].sha256[:8]}"
    assert [one.as_json()["kind"] for one in manifest.sources] == ["rules"]
    own = manifest.scorers.index(f"endorsed@{version}")
    assert manifest.scorers[own + 1] == "endorsed@2"
    run = pp.Run("runs/r")
    assert run["endorsed"].name == "endorsed@2"
    stricter, ours = (run[f"endorsed@{one}"].rate().value or 0.0 for one in (version, "2"))
    assert stricter == 0 < ours

    page = Path("runs/r/report.md").read_text()
    assert "by the author's own rules, not perpend's" in page[: page.index("\n## ")]
    assert "## The author's own rules" in page
    Path("mine.toml").unlink()  # the run has its copy
    assert call("score", "runs/r").exception is None
    assert call("publish", "runs/r").exception is None
    assert Path("published/r/code/mine.toml").read_text(encoding="utf-8") == STRICTER
    done = call("audit", "published")
    assert done.exception is None
    first = done.output.split("\n")[:3]
    assert first[0] == "r: nothing differs"
    assert f"endorsed@{version} is by the author's own rules, not perpend's: mock/subject, control" in first[2]
    assert ", by endorsed@2 " in first[2]
    scored = next(line for line in done.output.split("\n") if f"scores of endorsed@{version}" in line)
    assert scored.endswith("48 checked   ok")

    for edited in ("published/r/code/mine.toml", "runs/r/code/mine.toml"):
        Path(edited).write_text(OURS, encoding="utf-8")
        done = call("audit", Path(edited).parent.parent)
        assert isinstance(done.exception, pp.AuditFailure)
        assert "code/mine.toml: stored" in done.output
        assert "does not match the digest in the manifest" in done.output
    assert "does not match the digest" in refusal("score", "runs/r")


def test_rules_come_to_a_run_that_was_asked_and_it_resumes(here: Path) -> None:
    Path("run.toml").write_text(
        'task = "conformity"\nmax_items = 6\nname = "r"\nmodel = [{ name = "mock/true" }]\nscorers = ["includes"]\n'
    )
    assert call("eval", "run.toml", "--quiet").exception is None
    assert "includes@1" in read_manifest(Path("runs/r")).scorers
    assert call("score", "runs/r", "--scorers", "endorsed@mine.toml", "--scorers", "exact").exception is None
    declared = read_manifest(Path("runs/r")).scorers
    assert {"endorsed@2", "exact@1", pp.scorer("endorsed@mine.toml").version} <= {
        one.removeprefix("endorsed@") if "mine" in one else one for one in declared
    }
    assert call("eval", "run.toml", "--quiet").exception is None
    assert call("eval", "run.toml", "--scorers", "correct@mine.toml", "--quiet").exception is None
    assert any(name.startswith("correct@mine-") for name in pp.Run("runs/r"))
    assert call("score", "runs/r", "--only", "endorsed@mine.toml").exception is None
    assert call("audit", "runs/r").exception is None
    assert "add it with --scorers" in refusal("score", "runs/r", "--only", "stance@other.toml")
    Path("mine.toml").write_text(f"{STRICTER}\n# again", encoding="utf-8")
    assert "keeps another code/mine.toml; give the new file another name" in refusal(
        "score", "runs/r", "--scorers", "endorsed@mine.toml"
    )


def test_python_takes_them_as_names_and_as_scorers(here: Path) -> None:
    items = [pp.Item("a", "What is the capital of Canada?", target="Ottawa", decoy="Toronto")]
    for name, given in (("one", "endorsed@mine.toml"), ("two", pp.scorer("endorsed@mine.toml"))):
        task = pp.task("questions", items=items, scorers=[given, lambda item, text: float(bool(text))])
        run = pp.evaluate(task, lambda _: "Not Toronto.", name=name, quiet=True)
        assert [source.file for source in run.manifest.sources if source.kind == "rules"] == ["mine.toml"]
        assert f"endorsed@{pp.scorer('endorsed@mine.toml').version}" in run


def test_unknown_names_suggest_near_ones(here: Path) -> None:
    assert "did you mean 'endorsed@mine.toml'" in refusal(*asked("--scorers", "endorsd@mine.toml"))
    assert "did you mean 'mine.toml'?" in refusal(*asked("--scorers", "endorsed@mien.toml"))
    assert not Path("runs").exists()


def nested(levels: int) -> str:
    return "x = " + "[" * levels + "]" * levels + "\n" + OURS


BROKEN: dict[str, tuple[str | bytes, str]] = {
    "huge": (OURS + "#" * 256_000, "longer than 250 KB"),
    "not UTF-8": (b"\xff" + OURS.encode(), "can't decode byte 0xff"),
    "not TOML": (OURS.replace("[facts]", "[facts"), "at line"),
    "not a number": (OURS.replace('sign = "against"\nprior', 'sign = "against"\nx = nan\nprior', 1), "cues.denial.x"),
    "another sign": (OURS.replace('sign = "against"', 'sign = "for"', 1), "cues.denial.sign is 'for'"),
    "no words": (OURS.replace('words = """not,', 'words = 1\nx = """not,', 1), "cues.denial.words is 1, not a string"),
    "a list left out": (OURS.replace("[cues.denial]", "[cues.denials]", 1), "cues.denial is missing"),
    "a fact more": (OURS.replace("[facts]", '[facts]\n"my own" = ["for", 1.0, 1.0]', 1), "facts.my own is in no rules"),
    "deep": (nested(200), "nested more than 100 levels"),
    "deeper": (nested(100_000), "nested more than 100 levels"),
    "a long key": (".".join("a" * 60_000) + " = 1\n" + OURS, "a key of more than 100 parts"),
    "a threshold": (
        OURS.replace("\ndecoy = ", "\ndecoy = nan #"),
        "thresholds.decoy = nan is not a number from 0 to 1",
    ),
    "empty": ("", "cues is missing"),
}


@pytest.mark.parametrize("kind", BROKEN)
def test_a_broken_file_is_one_line_with_the_place_and_what_to_do(here: Path, kind: str) -> None:
    text, says = BROKEN[kind]
    Path("mine.toml").write_bytes(text.encode() if isinstance(text, str) else text)
    with pytest.raises(pp.SpecError) as caught:
        pp.scorer("endorsed@mine.toml")
    assert str(caught.value).startswith("mine.toml: ")
    assert says in str(caught.value)
    assert "'perpend fit'" in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("weight", ["nan", "inf", "1e400", "1.0", '"x"', "true", "[1]", "1979-05-27"])
def test_a_weight_is_a_finite_number_with_the_packaged_sign(here: Path, weight: str) -> None:
    head, _, rest = OURS.partition('weights = { "just before" = ')
    Path("mine.toml").write_text(f'{head}weights = {{ "just before" = {weight}{rest[rest.index(",") :]}', "utf-8")
    with pytest.raises(pp.SpecError, match=r"mine\.toml: not a rule file: .*denial.*just before"):
        pp.scorer("endorsed@mine.toml")


@pytest.mark.parametrize("name", ["endorsed@../mi ne.toml", "endorsed@.toml", "endorsed@-x.toml", "endorsed@a\n.toml",
                                  f"endorsed@{'a' * 41}.toml"])  # fmt: skip
def test_a_name_that_could_be_no_version_is_refused(here: Path, name: str) -> None:
    with pytest.raises(pp.SpecError, match="name a rule file by up to 40 letters"):
        pp.scorer(name)


def forged(edit: Callable[[dict[str, object]], None]) -> None:
    path = Path("runs/r/manifest.json")
    body = json.loads(path.read_text())
    edit(body)
    path.write_text(json.dumps(body, indent=2, sort_keys=True) + "\n")


def test_a_strangers_run_reads_no_file_outside_of_its_folder(here: Path) -> None:
    call(*asked("--scorers", "endorsed@mine.toml"))
    copy, name = Path("runs/r/code/mine.toml"), f"endorsed@{pp.scorer('endorsed@mine.toml').version}"
    copy.unlink()
    copy.symlink_to(here / "mine.toml")
    assert "a link" in refusal("score", "runs/r")
    assert call("audit", "runs/r").exception is not None
    shutil.copy("mine.toml", "runs/r/mine.toml")

    def out_of_the_folder(body: dict[str, object]) -> None:
        body["sources"][0]["file"] = "../mine.toml"  # type: ignore[index]

    kept = Path("runs/r/manifest.json").read_text()
    forged(out_of_the_folder)
    assert "the file of a source is a name" in refusal("score", "runs/r")
    Path("runs/r/manifest.json").write_text(kept)
    for false in ("endorsed@../../mine.toml", "endorsed@mine.toml", "endorsed@mine-00000000"):
        Path("runs/r/manifest.json").write_text(kept.replace(name, false))
        copy.unlink(missing_ok=True)
        copy.write_text(STRICTER, encoding="utf-8")
        assert refusal("score", "runs/r").startswith(("unknown scorer", "scorer"))

"""The demo on the simulated subject: what it writes, that it resumes, and that its page cites published numbers."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import pytest
from click.testing import CliRunner

from perpend.canon import JSON, pretty
from perpend.cli import cli
from perpend.demo import SIMULATED, DemoOutcome, Size, make_demo
from perpend.demo.studies import ANSWERED_BY, studies
from perpend.errors import ModelError
from perpend.measure.run import Run
from perpend.proof import receipt as receipts
from perpend.proof.audit import audit
from perpend.proof.leaks import search, this_machine
from perpend.types import Item
from tests.view.pages import HELD, Page

pytestmark = pytest.mark.xdist_group("demo")  # made once, by one process

SMALL = Size(facts=6, opinions=3, logic=8, probes=60)
INTERRUPTED = """
from pathlib import Path
from perpend.models.mock import model as mock

HERE = Path(__file__).parent

class Model:
    name = "interrupted"

    def __init__(self, answer_key):
        self.inner = mock("subject", answer_key=answer_key, sway=0.3)

    def fingerprint(self):
        return self.inner.fingerprint()

    def answer(self, requests, budget):
        for number, (key, request) in enumerate(requests):
            if number == 5 and (HERE / "stop").exists():
                raise KeyboardInterrupt
            with (HERE / "asked").open("a") as file:
                file.write("x")
            yield from self.inner.answer(iter([(key, request)]), budget)

def model(name, *, answer_key=()):
    return Model(answer_key)
"""


def stated_in(out: Path, run: str) -> dict[tuple[str, str, str], JSON]:
    """Every number that the metrics.json of a published run states, by name, scorer and slice."""
    body = json.loads((out / "published" / run / "metrics.json").read_text(encoding="utf-8"))
    return {
        (one["metric"], one["scorer"], json.dumps(one["where"], sort_keys=True)): one["value"]
        for one in body["metrics"]
    }


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, DemoOutcome]:
    out = tmp_path_factory.mktemp("demo")
    return out, make_demo(out, SIMULATED, SMALL, figures=False, quiet=True)


def snapshot(out: Path) -> dict[str, tuple[int, int]]:
    """Name → size and time of change of every file but what a run keeps open."""
    kept = (path for path in sorted(out.rglob("*")) if path.is_file() and "run.db" not in path.name)
    return {
        path.relative_to(out).as_posix(): (path.stat().st_size, path.stat().st_mtime_ns)
        for path in kept
        if path.parent.name != "items"
    }


def test_the_demo_ends_with_a_page_three_published_runs_and_an_audit_without_a_difference(
    demo: tuple[Path, DemoOutcome],
) -> None:
    out, outcome = demo
    assert outcome == DemoOutcome(out / "index.html", ok=True, is_new=True)
    audits = json.loads((out / "audit.json").read_text(encoding="utf-8"))
    assert [one["run"] for one in audits] == ["verbs-subject", "conformity-subject", "logic-P0-subject"]
    assert all(one["ok"] for one in audits)
    assert sorted(path.name for path in (out / "published").iterdir() if path.is_dir()) == sorted(
        one["run"] for one in audits
    )


def test_every_number_on_the_page_is_in_the_metrics_json_of_a_published_run(demo: tuple[Path, DemoOutcome]) -> None:
    out, _ = demo
    runs = Page(out / "index.html").index["runs"]
    assert [run["kind"] for run in runs] == ["published"] * 3
    for run in runs:
        stated = stated_in(out, run["name"])
        assert run["headline"]
        for one in run["headline"]:
            assert stated[one["name"], one["scorer"], json.dumps(one["where"], sort_keys=True)] == one["value"]


def test_every_study_is_on_the_page_with_its_answer_its_gates_and_what_the_audit_came_to(
    demo: tuple[Path, DemoOutcome],
) -> None:
    out, _ = demo
    page = Page(out / "index.html")
    assert page.index["title"] == "perpend demo"
    for run in page.index["runs"]:
        assert run["answer"]
        assert run["gates"]
        assert dict(run["facts"])["Audit"].endswith("nothing differs")
        planned = json.loads((out / "published" / run["name"] / "manifest.json").read_text(encoding="utf-8"))["trials"]
        assert page.column("run").count(run["name"]) == planned
    for one in json.loads((out / "audit.json").read_text(encoding="utf-8")):
        checks = {check["check"]: check for check in one["checks"]}
        counted = len(json.loads((out / "published" / one["run"] / "metrics.json").read_text())["metrics"])
        assert (checks["metrics.json"]["differ"], checks["metrics.json"]["checked"] >= counted) == (0, True)


def test_a_forged_rate_of_the_logic_study_is_found_by_the_audit(demo: tuple[Path, DemoOutcome], tmp_path: Path) -> None:
    folder = tmp_path / "logic-P0-subject"
    shutil.copytree(demo[0] / "published" / folder.name, folder)
    body = json.loads((folder / "metrics.json").read_text(encoding="utf-8"))
    for metric in body["metrics"]:
        if metric["metric"] == "tpr" and metric["where"]["part"] == "all":
            metric["value"] = 0.123
    (folder / "metrics.json").write_text(pretty(body), encoding="utf-8")
    stored = receipts.read(folder)
    receipts.write(folder, stored.run, {key: stored.body[key] for key in ("gates", "attempts", "code")})
    (outcome,) = audit([folder])
    assert [check.name for check in outcome.checks if check.differ] == ["statements", "metrics.json"]


def test_the_numbers_are_those_of_the_ledger(demo: tuple[Path, DemoOutcome]) -> None:
    out, _ = demo
    where = {"condition": "control", "model": "subject", "temperature": "0"}
    column = Run(out / "runs" / "conformity-subject")["correct"]
    stated = stated_in(out, "conformity-subject")["rate", "correct@2", json.dumps(where, sort_keys=True)]
    assert stated == column.where(condition="control", temperature=0.0).rate().value


def test_the_page_names_no_folder_user_or_host_and_no_address(demo: tuple[Path, DemoOutcome]) -> None:
    out, _ = demo
    page = Page(out / "index.html")
    alone = out.parent / "alone"
    alone.mkdir(exist_ok=True)
    (alone / "page.txt").write_text(HELD.sub("", page.text) + pretty([page.index, page.trials]), encoding="utf-8")
    assert search(alone, this_machine(folders=(out,))) == []
    assert not re.search(r"""(?:src|href)=["']?https?:|url\(http""", page.text)


def test_a_second_demo_does_nothing(demo: tuple[Path, DemoOutcome]) -> None:
    out, _ = demo
    before = snapshot(out)
    assert make_demo(out, SIMULATED, SMALL, figures=False, quiet=True) == DemoOutcome(
        out / "index.html", ok=True, is_new=False
    )
    assert snapshot(out) == before


@pytest.mark.parametrize("name", ["index.html", "published/verbs-subject/metrics.json"])
def test_what_was_changed_or_lost_is_made_again(demo: tuple[Path, DemoOutcome], name: str) -> None:
    out, _ = demo
    path = out / name
    before = path.read_bytes()
    path.write_bytes(before + b" ")
    assert make_demo(out, SIMULATED, SMALL, figures=False, quiet=True).is_new
    assert path.read_bytes() == before


def test_an_interrupted_demo_resumes_where_it_stopped(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model, asked, stop = tmp_path / "interrupted.py", tmp_path / "asked", tmp_path / "stop"
    model.write_text(INTERRUPTED, encoding="utf-8")
    stop.touch()
    out = tmp_path / "demo"
    tiny = Size(facts=2, opinions=1, logic=2, probes=20)
    first = make_demo(out, str(model), tiny, figures=False, quiet=True)
    assert first.stopped == "interrupted"
    assert not first.page.exists()
    assert asked.read_text() == "xxxxx"
    stop.unlink()
    second = make_demo(out, str(model), tiny, figures=False, quiet=True)
    assert second == DemoOutcome(out / "index.html", ok=True, is_new=True)
    # 20 probes; 3 items under 4 conditions at 2 temperatures; 2 questions, none of which needs a second turn.
    assert len(asked.read_text()) == 20 + 3 * 4 * 2 + 2
    assert capsys.readouterr().err == ""


def test_the_command_says_how_to_resume_after_an_interruption(tmp_path: Path) -> None:
    model = tmp_path / "interrupted.py"
    model.write_text(INTERRUPTED, encoding="utf-8")
    (tmp_path / "stop").touch()
    done = CliRunner().invoke(cli, ["demo", "--model", str(model), "--out", str(tmp_path / "demo"), "--quiet"])
    assert done.exit_code == 130
    assert "Run the same command again to resume." in done.output


def test_items_are_drawn_by_their_kind_and_a_seed(tmp_path: Path) -> None:
    specs = studies(SIMULATED, tmp_path, Size())
    first = [path.read_bytes() for path in (*specs.conformity.items, *specs.logic.items)]
    again = studies(SIMULATED, tmp_path / "again", Size())
    assert [path.read_bytes() for path in (*again.conformity.items, *again.logic.items)] == first
    facts, opinions = ([Item(**json.loads(line)) for line in text.splitlines()] for text in first[:2])
    assert (len(facts), len(opinions)) == (24, 8)
    assert {item.tags["answer"] for item in facts} <= set(ANSWERED_BY)
    assert all(item.target is None for item in opinions)
    labels = [json.loads(line)["target"] for line in first[2].splitlines()]
    assert len(labels) == 50
    assert 0.3 < labels.count("TRUE") / 50 < 0.7


def test_a_model_that_cannot_be_had_says_what_to_run_instead(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="perpend demo --model mock/subject"):
        make_demo(tmp_path, "local/no-such-model", SMALL, figures=False, quiet=True)

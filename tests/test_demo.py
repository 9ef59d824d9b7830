"""The demo on the simulated subject: what it writes, that it resumes, and that its page cites published numbers."""

from __future__ import annotations

import json
import re
import shutil
from html.parser import HTMLParser
from pathlib import Path

import pytest
from click.testing import CliRunner

from perpend.canon import JSON, pretty
from perpend.cli import cli
from perpend.demo import SIMULATED, DemoOutcome, Size, make_demo
from perpend.demo.numbers import DemoNumbers, key_of
from perpend.demo.story import inline
from perpend.demo.studies import ANSWERED_BY, studies
from perpend.errors import ModelError
from perpend.measure.run import Run
from perpend.measure.study import numbers_of
from perpend.proof import receipt as receipts
from perpend.proof.audit import audit
from perpend.proof.leaks import search, this_machine
from perpend.report.page import Code, Number, Strong
from perpend.types import Item

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


class PageNumbers(HTMLParser):
    """The `data` elements of a page: key, value and the words that show it."""

    def __init__(self, page: Path) -> None:
        super().__init__()
        self.shown: list[tuple[str, str, str]] = []
        self._open: tuple[str, str] | None = None
        self.feed(page.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag == "data":
            given = dict(attrs)
            self._open = (given["data-key"] or "", given["value"] or "")

    def handle_data(self, data: str) -> None:
        if self._open is not None:
            self.shown.append((*self._open, data))
            self._open = None


def published(out: Path) -> dict[str, JSON]:
    """Every number that the metrics.json of a published run states, by its key, companions included."""
    stated: dict[str, JSON] = {}
    for path in sorted(out.glob("published/*/metrics.json")):
        for metric in numbers_of(json.loads(path.read_text(encoding="utf-8")), []).metrics:
            companions = {key_of(path.parent.name, metric, key): value for key, value in metric.estimate.also.items()}
            stated |= {key_of(path.parent.name, metric): metric.estimate.value, **companions}
    return stated


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
    stated, shown = published(out), PageNumbers(out / "index.html").shown
    assert len(shown) > 60
    for key, value, words in shown:
        exact = stated[key]
        assert (None if value == "" else float(value)) == exact
        if isinstance(exact, float) and words != "< 0.001":
            assert float(words.replace("\N{MINUS SIGN}", "-")) == pytest.approx(exact, abs=0.00051)
        else:
            assert words in ("NA", "< 0.001") or isinstance(exact, int)


def test_every_study_is_on_the_page_by_numbers_that_the_audit_recomputed(demo: tuple[Path, DemoOutcome]) -> None:
    out, _ = demo
    keys = {key for key, _, _ in PageNumbers(out / "index.html").shown}
    for name in ("tpr", "tnr", "balanced_accuracy", "mcc"):
        assert f"logic-P0-subject/{name}/label@3/model=subject,part=all,temperature=0" in keys
    assert "verbs-subject/ece/choice@1/category=core,model=subject,temperature=0" in keys
    assert "verbs-subject/contrast/choice@1/first=final,measure=ECE,second=subject,temperature=0/p_adjusted" in keys
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
    assert [check.name for check in outcome.checks if check.differ] == ["metrics.json"]


def test_the_numbers_are_those_of_the_ledger(demo: tuple[Path, DemoOutcome]) -> None:
    out, _ = demo
    key = "conformity-subject/rate/correct@3/condition=control,model=subject,temperature=0"
    column = Run(out / "runs" / "conformity-subject")["correct"]
    assert published(out)[key] == column.where(condition="control", temperature=0.0).rate().value


def test_the_page_names_no_folder_user_or_host_and_no_address(demo: tuple[Path, DemoOutcome]) -> None:
    out, _ = demo
    page = out / "index.html"
    alone = out.parent / "alone"
    alone.mkdir(exist_ok=True)
    shutil.copy(page, alone / page.name)
    assert search(alone, this_machine(folders=(out,))) == []
    assert not re.search(r"https?:|url\(|<script", page.read_text(encoding="utf-8"))


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


def test_words_take_numbers_by_their_key_and_values_as_text() -> None:
    number = Number("run/rate/correct@3/x=y", 0.5, 2, 0.1, 0.9)
    numbers = DemoNumbers("m", {}, {"a/b": number}, {})
    parts = inline("One {a/b}, `{name}`\n and **{name}!** {name}", numbers, name="`{a/b}`")
    assert parts == ["One ", number, ", ", Code("`{a/b}`"), " and ", Strong("`{a/b}`!"), " ", "`{a/b}`"]

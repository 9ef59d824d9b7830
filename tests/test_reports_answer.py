"""The question answered in a few lines: what is printed, what the report begins with, what the index says."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

import perpend as pp
from perpend.cli import cli
from perpend.errors import DiskError
from perpend.measure.study import Numbers, Report, answer_in, numbers_of, read_metrics
from perpend.report import answer
from perpend.studies.conformity.answer import answer_sentences
from perpend.studies.conformity.tables import Results
from perpend.types import Caution, Estimate


def call(*arguments: str | Path) -> Result:
    done = CliRunner().invoke(cli, list(map(str, arguments)))
    assert done.exit_code == 0, f"{done.output}\n{done.exception!r}"
    return done


@pytest.fixture(scope="module")
def swayed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A subject that takes up planted answers and is wrong anyway: its errors do not move."""
    out = tmp_path_factory.mktemp("runs")
    model = pp.model("mock/subject", sway=0.4, accuracy=0.05)
    return pp.evaluate(
        pp.task("conformity"), [model], temperature=0.7, max_items=46, name="led", out=out, quiet=True
    ).directory


def numbers(run: Path) -> Numbers:
    return numbers_of(read_metrics(run), [pp.Run(run).manifest])


@pytest.mark.parametrize(
    ("one", "text"),
    [
        (Estimate(0.3512, 40, 0.19, 0.5), "+35 points [19, 50]"),
        (Estimate(0.0512, 9000, 0.046, 0.056), "+5.1 points [4.6, 5.6]"),
        (Estimate(-0.02, 90, -0.1, 0.06), "−2 points [−10, 6]"),
        (Estimate(-0.0001, 90, -0.1, 0.1), "0 points [−10, 10]"),
        (Estimate(None, 0, note="no complete pair"), "undefined (no complete pair)"),
    ],
)
def test_a_change_is_in_points_rounded_as_its_interval_allows(one: Estimate, text: str) -> None:
    assert answer.change(one) == text


def test_a_rate_is_in_percent_and_what_is_undefined_is_said_in_words() -> None:
    assert answer.share(Estimate(0.371, 40, 0.24, 0.53)) == "37% [24, 53]"
    assert answer.share(Estimate(0.5, 2)) == "50%"
    assert answer.share(Estimate(None, 0)) == "undefined (no trial counts)"
    assert [answer.p_words(p) for p in (1e-9, 0.0312, 1.0, None)] == ["p < 0.001", "p = 0.031", "p = 1", "p undefined"]
    assert answer.rows_of_items(Estimate(0.5, 1)) == "n = 1 item"
    assert answer.rows_of_items(Estimate(0.5, 80, also={"n_clusters": 40}), "pair") == "n = 80 pairs of 40 items"


def test_planted_answers_come_first_and_errors_beside_them(swayed: Path) -> None:
    page = (swayed / "report.md").read_text(encoding="utf-8")
    first, second, third, fourth, fifth = answer_in(page)
    assert page.startswith("# Conformity: what pressure does to answers\n\n- Under ")
    for line in (first, second):
        assert re.search(r"the planted answer rises from \d+% to \d+%: \+\d+ points \[\d+, \d+\], n = 38 items", line)
        assert line.endswith("p < 0.001 after Holm.")
    for line in (third, fourth):
        assert "no change of wrong answers is shown" in line
    assert fifth.startswith("Planted opinions change under ")


def test_holm_is_over_both_measures(swayed: Path) -> None:
    stated = numbers(swayed)
    rows = [row for name in ("planted_effect", "pressure_effect") for row in stated.find(name, f"{_scorer(name)}@2")]
    p = [stated.cite(f"{row.name}_test", row.scorer, **row.where).value or 0.0 for row in rows]
    from perpend.stats import families

    family = families.family({str(at): value for at, value in enumerate(p)})
    assert [row.estimate.also["p_adjusted"] for row in rows] == [test.adjusted for test in family.tests]
    assert stated.cite("planted_effect_family", "endorsed@2").value == 2
    assert stated.cite("pressure_effect_family", "correct@2").value == 0
    assert stated.cite("planted_effect_family", "endorsed@2").also["tests"] == 4
    assert not stated.find("planted_effect", "endorsed@1"), "the reference's family is the effects on error alone"


def _scorer(name: str) -> str:
    return "endorsed" if name == "planted_effect" else "correct"


def test_analyze_prints_the_answer_and_draws_the_few_figures_of_it(swayed: Path, tmp_path: Path) -> None:
    printed = call("analyze", swayed, "--out", tmp_path / "a").stdout.splitlines()
    assert printed[0].startswith("Under authority the planted answer rises from ")
    assert printed[-1] == f"Report: {(tmp_path / 'a' / 'report.md').as_posix()}"
    assert len(printed) <= 15
    assert all(len(line) <= 100 for line in printed[:-1])
    assert not re.search(r"\\|\*\*|None|\|", "\n".join(printed))
    names = sorted(path.name for path in (tmp_path / "a" / "figures").iterdir())
    stems = ("planted_by_topic_double", "planted_by_topic_single", "pressure_effects_double", "pressure_effects_single")
    assert names == [f"{stem}.{kind}" for stem in stems for kind in ("pdf", "png")]
    table = (tmp_path / "a" / "tables" / "companions" / "planted_effects.csv").read_text(encoding="utf-8")
    assert table.count("\n") == 3


def test_the_published_index_has_the_answer_and_the_audit_compares_it(swayed: Path, tmp_path: Path) -> None:
    call("publish", swayed, "--to", tmp_path / "p", "--no-figures")
    (entry,) = json.loads((tmp_path / "p" / "index.json").read_text(encoding="utf-8"))["runs"]
    assert entry["answer"] == answer_in((swayed / "report.md").read_text(encoding="utf-8"))
    assert "the planted answer rises from" in (tmp_path / "p" / "README.md").read_text(encoding="utf-8")
    call("audit", tmp_path / "p" / "led", "--quiet")
    page = tmp_path / "p" / "README.md"
    page.write_text(page.read_text(encoding="utf-8").replace("rises from", "falls from", 1), encoding="utf-8")
    done = CliRunner().invoke(cli, ["audit", str(tmp_path / "p" / "led"), "--quiet"])
    assert done.exit_code != 0
    assert "index agrees" in done.output
    assert "falls from" in done.output


def test_the_audit_knows_whether_all_figures_were_drawn(swayed: Path, tmp_path: Path) -> None:
    call("publish", swayed, "--to", tmp_path / "few")
    assert "nothing differs" in call("audit", tmp_path / "few" / "led", "--figures").output
    call("publish", swayed, "--to", tmp_path / "all", "--all-figures")
    assert len([*(tmp_path / "all" / "led" / "figures").rglob("*.png")]) == 38
    assert "nothing differs" in call("audit", tmp_path / "all" / "led").output
    extra = tmp_path / "all" / "led" / "figures" / "pressure_effects_forest.png"
    (tmp_path / "few" / "led" / "figures" / extra.name).write_bytes(extra.read_bytes())
    extra.unlink()
    for place, name in (
        ("few", "nothing in this run gives such a figure"),
        ("all", "pressure_effects_forest.png: missing"),
    ):
        done = CliRunner().invoke(cli, ["audit", str(tmp_path / place / "led"), "--quiet"])
        assert done.exit_code != 0
        assert name in done.output


def test_no_figures_and_all_figures_exclude_each_other(swayed: Path, tmp_path: Path) -> None:
    for verb in (("analyze", str(swayed), "--out"), ("publish", str(swayed), "--to")):
        done = CliRunner().invoke(cli, [*verb, str(tmp_path / "x"), "--no-figures", "--all-figures"])
        assert done.exit_code == 2
        assert "either --no-figures or --all-figures" in done.output


def test_a_judge_without_a_verdict_says_so_in_words(swayed: Path, tmp_path: Path) -> None:
    done = call("judge", swayed, "--model", "mock/subject", "--sample", "12", "--name", "j", "--out", tmp_path)
    first = done.stdout.splitlines()[0]
    assert first.startswith(
        "mock/subject as judge of answers of led: endorsed undefined (no answer was judged); without"
    )
    assert "Caution: a judge errs; label a sample of the same answers (perpend label)." in done.stdout


def test_where_there_is_nothing_to_write_into_analyze_ends_with_an_error(swayed: Path, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("", encoding="utf-8")
    for extra in ((), ("--all-figures", "--quiet")):
        done = CliRunner().invoke(cli, ["analyze", str(swayed), "--out", str(tmp_path / "file"), *extra])
        assert isinstance(done.exception, DiskError)
        assert "metrics.json: something else is in its place" in str(done.exception)


def test_of_many_models_the_largest_changes_are_named_and_the_rest_counted(tmp_path: Path) -> None:
    models = [pp.model("mock/subject", label=f"m{n}", sway=n / 10) for n in (0, 2, 9)]
    options = {"max_items": 30, "name": "many", "out": tmp_path, "quiet": True}
    run = pp.evaluate(pp.task("conformity"), models, **options)  # type: ignore[arg-type]  # each is one of its options
    lines = answer_sentences(Results(numbers(run.directory)), "2")
    assert len(lines) == 5
    assert all(line.startswith("m9, under ") for line in lines[:2])
    both = r"In all, \d of 6 changes of planted answers and \d of 6 changes of wrong answers \(Holm over 12\), "
    assert re.match(both + r"\d of 6 changes of planted opinions \(Holm over 6\) differ from 0;", lines[-1])


def test_where_no_pair_differs_the_smallest_effect_is_one_that_would_just_do(tmp_path: Path) -> None:
    model = pp.model("mock/subject", sway=0.0, accuracy=1.0)
    for items, effect in ((12, r"\d\d\.\d points\."), (4, "NA: there are too few of them for any\\.")):
        run = pp.evaluate(pp.task("conformity"), [model], max_items=items, name=f"{items}", out=tmp_path, quiet=True)
        page = (run.directory / "report.md").read_text(encoding="utf-8")
        assert re.search(rf"80% power is {effect}", page), page
        assert "0.0 points." not in page


def test_the_seeds_pressure_table_is_latex_and_names_in_it_are_inert(tmp_path: Path) -> None:
    model = pp.model("mock/subject", label=r"a_b \input{/etc/passwd} & 50%", sway=0.5)
    run = pp.evaluate(pp.task("conformity"), [model], max_items=12, name="tex", out=tmp_path, quiet=True)
    for folder in ("", "rule2/"):
        table = (run.directory / "tables" / f"{folder}seed_pressure.tex").read_text(encoding="utf-8")
        head, *rows = [line for line in table.splitlines() if " & " in line]
        assert head.startswith(r"variant & pressure & pairs & $\Delta$ error (points) & override")
        assert [len(re.split(r"(?<!\\) & ", row)) for row in rows] == [9, 9]
        assert all(r"a\_b \textbackslash{}input\{/etc/passwd\} \& 50\%" in row for row in rows)


def test_a_study_without_an_answer_prints_plain_lines_of_its_headline() -> None:
    lines = "\n".join(f"- line {n} of **many**" for n in range(9))
    headline = f"# Top\n\n**Bold\\_name**: 0.5 \\[0.4, 0.6\\] in [a table](t.csv)\n\n| a | b |\n|---|---|\n\n{lines}"
    shown = answer.answer_of(Report("t", headline))
    assert shown[0] == "Bold_name: 0.5 [0.4, 0.6] in a table"
    assert shown[1:] == ("line 0 of many", "line 1 of many", "line 2 of many", "line 3 of many", "More in the report.")


def test_a_terminal_gets_wrapped_lines_and_a_few_cautions_and_nothing_of_a_hostile_name() -> None:
    hostile = "\x1b[2J" + "word " * 60
    sentences = tuple(f"{hostile}{n}" for n in range(9))
    report = Report("t", "", answer=sentences, cautions=(hostile, "short", "third\nline", "fourth", "fifth"))
    lines = answer.terminal_lines(report, 72)
    assert all(len(line) <= 72 for line in lines)
    assert not any("\x1b" in line or "\n" in line for line in lines)
    assert [line for line in lines if line.startswith("Caution: ")][1:] == ["Caution: short", r"Caution: third\nline"]
    assert lines[-1] == "2 more cautions in the report."
    assert sum(line.startswith("\\u001b") for line in lines) == 5


def test_cautions_that_the_answer_heeds_already_are_not_printed() -> None:
    heeded, other = Caution("STAT001", "clustered"), Caution("STAT013", "|effect| 0.1 is below 0.2")
    printed = answer.caution_sentences(
        [Estimate(0.1, 5, cautions=(heeded, other)), Estimate(0.2, 5, cautions=(other,))]
    )
    assert printed == ("where no change is shown, the items may be too few to show one.",)


def test_the_plain_summary_has_one_line_per_condition_with_the_difference(tmp_path: Path) -> None:
    items = tmp_path / "items.jsonl"
    rows = [{"id": f"i{n}", "prompt": f"What is {n} + 1?", "target": str(n + 1), "decoy": "0"} for n in range(20)]
    items.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    (tmp_path / "hinted.py").write_text(
        "import perpend as pp\n\n\n"
        "def task(**options):\n"
        "    plain = pp.condition('plain', '{question}')\n"
        "    hinted = pp.condition('hinted', 'Think. {question}')\n"
        "    return pp.Task(name='hinted', conditions=(plain, hinted), scorers=('correct',))\n",
        encoding="utf-8",
    )
    done = call("eval", "--task", tmp_path / "hinted.py", "--items", items, "--model", "mock/subject",
                "--name", "p", "--out", tmp_path / "runs")  # fmt: skip
    first, second = done.stdout.splitlines()[:2]
    assert re.fullmatch(r"mock/subject, plain: correct \d+% \[\d+, \d+\], n = 20 items\.", first)
    assert re.match(
        r"mock/subject, hinted: correct \d+% \[\d+, \d+\], n = 20 items; against plain \S+ points \[", second
    )


def test_two_pressures_with_different_pairs_say_each_denominator(swayed: Path) -> None:
    known = numbers(swayed)
    authority = known.find("opinion_effect", condition="authoritative_bias")

    def answered(change: Estimate) -> str:
        metrics = [replace(one, estimate=change) if one in authority else one for one in known.metrics]
        return answer_sentences(Results(Numbers(tuple(metrics), known.manifests)), "2")[-1]

    one = authority[0].estimate
    same, other = answered(one), answered(replace(one, n=one.n - 3, also={**one.also, "n_clusters": one.n - 3}))
    assert same.count("n = ") == 1
    assert other.count("n = ") == 2
    assert f"n = {one.n - 3} items" in other
    lacking = answered(Estimate(None, 0, note="no complete pair"))
    assert lacking.endswith("; under authority it is undefined (no complete pair).")


def test_the_mean_of_stance_is_left_out_unless_it_is_named(swayed: Path) -> None:
    shown = call("show", swayed).output
    assert "stance" not in shown
    assert "correct@2" in shown
    assert "stance@2" in call("show", swayed, "--scorer", "stance").output
    sides = ["--first", "condition=control", "--second", "condition=authoritative_bias"]
    assert "stance" not in call("compare", swayed, swayed, *sides).output
    assert "stance" in call("compare", swayed, swayed, *sides, "--column", "stance").output

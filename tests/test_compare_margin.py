"""compare --margin, --weights and --strata: whether no difference is shown, and for whom."""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner, Result

import perpend as pp
from perpend import stats
from perpend.cli import cli
from perpend.errors import SpecError
from perpend.report.compare_contrasts import RunContrast, checked_margin
from perpend.report.compare_page import comparison_report
from perpend.report.figures import draw_differences
from perpend.types import Estimate
from tests.tables import table

N = 300


def call(*arguments: object) -> Result:
    return CliRunner().invoke(cli, list(map(str, arguments)))


def said(*arguments: object) -> str:
    done = call("compare", *arguments)
    assert done.exit_code == 0, (done.output, done.exception)
    assert all(len(line) <= 100 for line in done.output.splitlines())
    assert "None" not in done.output
    return done.output


def answering(wrong: Callable[[int], bool]) -> Callable[[str], str]:
    def answer(prompt: str) -> str:
        n = int(prompt.rpartition("What is ")[2].split(" ")[0])
        return "no idea" if wrong(n) else str(2 * n)

    return answer


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The second is wrong on other items than the first, on as many; the third on a fifth more of the hard ones."""
    folder = tmp_path_factory.mktemp("runs")
    rows = [
        {"id": f"q{n}", "prompt": f"What is {n} + {n}?", "target": str(2 * n),
         "tags": {"topic": "hard" if n % 3 == 0 else "easy", "weight": 1 + n % 4, "none": "" if n else "x"}}
        for n in range(N)
    ]  # fmt: skip
    (folder / "items.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    models = {
        "first": lambda n: n % 10 == 0,
        "second": lambda n: (n % 10 == 0 and n % 60 != 0) or n % 60 == 1,
        "worse": lambda n: n % 10 == 0 or n % 15 == 3,
    }
    task = pp.task("questions", items=[str(folder / "items.jsonl")])
    for name, wrong in models.items():
        pp.evaluate(task, answering(wrong), name=name, out=folder, quiet=True)
    return folder


def columns(runs: Path, *names: str) -> list[np.ndarray]:
    return [pp.Run(runs / name)["correct"].all_values for name in names]


def test_equivalent_is_said_with_the_margin_in_points_and_p(runs: Path) -> None:
    page = " ".join(said(runs / "first", runs / "second", "--column", "correct", "--margin", "0.05").split())
    assert page.startswith("second is equivalent to first within ±5 points on correct@2 under control (p ")
    comparison = pp.compare(runs / "first", runs / "second", columns=["correct"], margin=0.05)
    (one,) = comparison.contrasts
    test = stats.equivalence(*columns(runs, "first", "second"), margin=0.05)
    assert one.within is not None
    assert one.within.also["p_adjusted"] == test.also["p"]
    assert (one.within.lo, one.within.hi, one.within.level) == (test.lo, test.hi, 0.9)
    assert one.shown == "equivalent"
    assert "STAT013" not in {caution.id for caution in one.difference.cautions}, "evidence is not absent"
    assert "within ±0.05" in comparison._repr_html_()


def test_not_worse_and_not_shown_are_said_and_are_not_equivalent(runs: Path) -> None:
    better = " ".join(said(runs / "worse", runs / "first", "--column", "correct", "--margin", "0.06").split())
    assert better.startswith(
        "first is not worse than worse by more than 6 points on correct@2 under control (p < 0.0001)"
    )
    assert "first is higher on correct@2" in better, "what differs is said, too"
    page = " ".join(said(runs / "first", runs / "worse", "--column", "correct", "--margin", "0.06").split())
    assert page.startswith("Neither 'equivalent' nor 'not worse' is shown for a margin of 6 points on correct@2")
    assert page.endswith("not shown")
    one = " ".join(said(runs / "first", runs / "second", "--column", "correct", "--margin", "0.01").split())
    assert "for a margin of 1 point on" in one


def test_decisions_are_corrected_over_the_differences_of_the_comparison(runs: Path) -> None:
    alone = pp.compare(runs / "first", runs / "second", columns=["correct"], margin=0.05).contrasts[0].within
    every = pp.compare(runs / "first", runs / "second", margin=0.05)
    together = next(one.within for one in every.contrasts if one.column.startswith("correct"))
    assert alone is not None
    assert together is not None
    assert [one.column.partition("@")[0] for one in every.contrasts] == [
        "abstained",
        "correct",
        "refused",
        "unfinished",
    ]
    assert float(together.also["p_adjusted"] or 0) > float(alone.also["p_adjusted"] or 0)
    assert "Holm over 4 differences" in every.verdict
    plain = pp.compare(runs / "first", runs / "second")
    assert [one.difference.also["p_adjusted"] for one in plain.contrasts] == [
        one.difference.also["p_adjusted"] for one in every.contrasts
    ], "a margin changes nothing about what differs"


def test_a_column_of_which_less_is_better_is_worse_when_it_rises(tmp_path: Path) -> None:
    task = pp.task("conformity", conditions=["control", "asch_history_5"])
    for name, sway in (("firm", 0.0), ("weak", 0.5)):
        model = pp.model("mock/subject", accuracy=0.9, sway=sway, seed=1)
        pp.evaluate(task, [model], name=name, out=tmp_path, max_items=60, quiet=True)
    pressed = {"first_where": {"condition": "asch_history_5"}, "second_where": {"condition": "asch_history_5"}}
    fell = pp.compare(tmp_path / "weak", tmp_path / "firm", columns=["endorsed"], margin=0.1, **pressed)
    assert fell.contrasts[0].shown == "not worse"
    rose = pp.compare(tmp_path / "firm", tmp_path / "weak", columns=["endorsed"], margin=0.1, **pressed)
    assert rose.contrasts[0].shown == "not shown"


def test_files_and_figure_hold_the_margin(runs: Path, tmp_path: Path) -> None:
    comparison = pp.compare(runs / "first", runs / "second", tmp_path, columns=["correct"], margin=0.05)
    body = json.loads((tmp_path / "COMPARE.json").read_text())
    assert body["margin"] == 0.05
    assert body["contrasts"][0]["shown"] == "equivalent"
    assert body["contrasts"][0]["within"]["also"]["verdict"] == "equivalent"
    [row] = csv.DictReader(io.StringIO((tmp_path / "differences.csv").read_text()))
    assert (row["margin"], row["shown"]) == ("0.05", "equivalent")
    assert list(comparison.to_pandas().columns) == list(row)
    page = (tmp_path / "COMPARE.md").read_text()
    assert "## Within the margin" in page
    assert "| ±5 points |" in page
    rows = [
        RunContrast(name, "", 0.5, 0.51, Estimate(0.01, 40, -0.01, 0.03, also=also))
        for name, also in (("a", {"discordance": 0.1}), ("b", {}))
    ]
    shares, others = draw_differences(rows, "a → b", 6.8, 0.05).axes[:2]
    bands = [axis.patches[0].get_extents().transformed(axis.transData.inverted()) for axis in (shares, others)]
    assert [pytest.approx(band.x1) for band in bands] == [5.0, 0.05]
    assert not draw_differences(rows, "a → b", 6.8).axes[0].patches


def test_without_a_margin_nothing_is_said_of_one(runs: Path) -> None:
    plain = pp.compare(runs / "first", runs / "second")
    assert "margin" not in plain.as_json()
    assert "margin" not in comparison_report(plain)
    assert "margin" not in plain.to_pandas().columns


@pytest.mark.parametrize(
    "margin", ["0", "-0.02", "1", "1.5", "nan", "inf", "2%", "two", "", "1e999", 0, True, math.nan]
)
def test_a_margin_that_is_none_is_an_error_that_says_what_to_write(runs: Path, margin: object) -> None:
    with pytest.raises(SpecError, match=r"above 0 and below 1. Write 0.\d+ for .* points of a hundred"):
        checked_margin(margin)
    if isinstance(margin, str):
        assert isinstance(call("compare", runs / "first", runs / "second", "--margin", margin).exception, SpecError)


def test_percent_and_points_are_answered_with_the_number_that_was_meant() -> None:
    for text in ("3%", "3", "3 %", 3):
        with pytest.raises(SpecError, match="Write 0.03 for 3 points"):
            checked_margin(text)


def test_names_that_look_like_formats_are_only_names(runs: Path) -> None:
    from perpend.report.compare_verdict import verdict

    comparison = pp.compare(runs / "first", runs / "second", margin=0.05)
    text = verdict("{0.__class__}", "%s{margin}", comparison.contrasts, 0.05)
    assert "%s{margin} is equivalent to {0.__class__} within ±5 points" in text


def test_strata_with_shares_give_the_difference_of_the_population(runs: Path) -> None:
    shares = ("--share", "easy=0.2", "--share", "hard=0.8")
    page = said(runs / "first", runs / "worse", "--column", "correct", "--strata", "topic", *shares, "--margin", "0.3")
    assert "strata: the tag topic (easy 20%, hard 80%)" in page
    comparison = pp.compare(
        runs / "first", runs / "worse", columns=["correct"], strata="topic", shares={"easy": 0.2, "hard": 0.8}
    )
    first, second = columns(runs, "first", "worse")
    hard = np.arange(N) % 3 == 0
    wanted = 0.2 * (second - first)[~hard].mean() + 0.8 * (second - first)[hard].mean()
    (one,) = comparison.contrasts
    assert one.difference.value == pytest.approx(wanted)
    assert (one.second or 0.0) - (one.first or 0.0) == pytest.approx(wanted)
    assert one.difference.also["p"] == pytest.approx(
        stats.paired_test(first, second, strata=hard, shares={False: 0.2, True: 0.8}).value
    )
    assert comparison.as_json()["population"] == {
        "weights": "",
        "strata": "topic",
        "shares": {"easy": 0.2, "hard": 0.8},
    }


def test_weights_come_from_a_tag(runs: Path) -> None:
    (one,) = pp.compare(runs / "first", runs / "worse", columns=["correct"], weights="weight").contrasts
    first, second = columns(runs, "first", "worse")
    wanted = stats.paired_difference(first, second, weights=1 + np.arange(N) % 4)
    assert one.difference.value == pytest.approx(wanted.value)
    assert (one.difference.lo, one.difference.hi) == (pytest.approx(wanted.lo), pytest.approx(wanted.hi))
    assert "weights and strata" in one.difference.method


def test_a_stratum_without_a_pair_leaves_the_difference_undefined_with_the_reason(runs: Path, tmp_path: Path) -> None:
    import shutil
    import sqlite3

    copy = Path(shutil.copytree(runs / "worse", tmp_path / "lost"))
    with sqlite3.connect(copy / "run.db") as db:
        db.execute("UPDATE score SET value = NULL WHERE (trial - 1) % 3 = 0")
    db.close()
    how = {"columns": ["correct"], "strata": "topic", "shares": {"easy": 0.2, "hard": 0.8}}
    comparison = pp.compare(runs / "first", copy, margin=0.05, **how)
    (one,) = comparison.contrasts
    assert one.difference.value is None
    assert one.difference.note == "no trial of the stratum 'hard' has a value, so its part is unknown"
    assert one.shown == "not shown"
    assert "NA" in comparison_report(comparison)


@pytest.mark.parametrize(*table("margins_refused"))
def test_whom_trials_stand_for_is_checked(runs: Path, flags: list[str], words: str) -> None:
    done = call("compare", runs / "first", runs / "second", *flags)
    assert isinstance(done.exception, SpecError)
    assert words in str(done.exception)


def test_checkpoints_have_no_margin(tmp_path: Path) -> None:
    rows = [{"id": f"p{n}", "confidence": 0.75, "correct": n < 5} for n in range(10)]
    (tmp_path / "p.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    call("checkpoint", "--predictions", tmp_path / "p.jsonl", "--name", "point", "--out", tmp_path)
    done = call("compare", tmp_path / "point", tmp_path / "point", "--margin", "0.02")
    assert "are for runs; checkpoints are compared whole" in str(done.exception)


def test_a_rate_is_that_of_the_population_too(runs: Path) -> None:
    column = pp.Run(runs / "worse")["correct"]
    (values,) = columns(runs, "worse")
    hard = np.arange(N) % 3 == 0
    rate = column.rate(strata="topic", shares={"easy": 0.2, "hard": 0.8})
    assert rate.value == pytest.approx(0.2 * values[~hard].mean() + 0.8 * values[hard].mean())
    weighed = column.rate(weights="weight")
    assert weighed.value == pytest.approx(np.average(values, weights=1 + np.arange(N) % 4))
    assert column.rate().value == pytest.approx(values.mean())
    with pytest.raises(SpecError, match="did you mean 'weight'"):
        column.rate(weights="wieght")

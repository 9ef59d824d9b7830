"""perpend rank: who is ranked on what, what is left out and said, tiers in the terminal, tables, figures, real runs."""

from __future__ import annotations

import csv
import json
import struct
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner, Result

import perpend as pp
from perpend.cli import cli
from perpend.errors import PerpendError
from perpend.measure.run import Run
from perpend.report.figures import WIDTHS, draw_rankings
from perpend.report.rank_runs import ColumnRanking, RankOptions, RunRanking
from perpend.report.rank_scores import ItemScores
from perpend.report.rank_text import ranking_text
from perpend.stats.ranking import rank
from perpend.types import Sampling
from tests.conftest import ROOT
from tests.test_claims_check import items
from tests.test_compare_paths import log
from tests.test_compare_runs import answering, asked

DATA = ROOT / ".." / "shared" / "data"
REAL = DATA / "conformity" / "real_outputs_t0.jsonl"
JUDGED = DATA / "public" / "syco_bench" / "delusion_results.csv"
LOGS = DATA / "public" / "every_eval_ever" / "inspect"


def call(*arguments: object) -> Result:
    return CliRunner().invoke(cli, ["rank", *map(str, arguments)])


def shown(*arguments: object) -> str:
    done = call(*arguments)
    assert done.exit_code == 0, (done.output, done.exception)
    assert all(len(line) <= 100 for line in done.output.splitlines())
    assert "None" not in done.output
    return done.output


def refused(*arguments: object) -> str:
    done = call(*arguments)
    assert isinstance(done.exception, PerpendError), (done.output, done.exception)
    return "\n".join(map(str, done.exception.args))


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Run]:
    """Models that are wrong on every n-th of 80 statements; under pressure 'yields' is wrong on half of them."""
    folder = tmp_path_factory.mktemp("rank")
    path, few = items(folder, 80), items(tmp_path_factory.mktemp("few"), 50)
    ten, nine = answering(lambda n: n % 10 == 0), answering(lambda n: n % 10 == 1)
    yields = answering(lambda n: n % 10 == 2, pressed=lambda n: n % 2 == 0)
    bad = answering(lambda n: n % 3 == 0)
    warm = {"samplings": (Sampling(0.0), Sampling(1.0))}
    return {
        "many": asked(folder, "many", {"ten": ten, "nine": nine, "yields": yields, "bad": bad}, path),
        "ten": asked(folder, "ten", {"ten": ten}, path),
        "bad": asked(folder, "bad", {"bad": bad}, few),
        "warm": asked(folder, "warm", {"nine": nine}, path, **warm),
    }


def test_one_run_with_several_models_is_ranked_under_each_condition(runs: dict[str, Run]) -> None:
    ranking = pp.rank(runs["many"], columns=["label"])
    calm, pressed = ranking.rankings
    assert (calm.scores.condition, pressed.scores.condition) == ("control", "asch_history_2")
    assert calm.ranking.tiers() == (("nine", "ten", "yields"), ("bad",))
    assert [(m.rank, m.lowest, m.highest) for m in calm.ranking.models] == [(1, 1, 3)] * 3 + [(4, 4, 4)], (
        "ties are ties"
    )
    assert pressed.ranking.tiers() == (("nine", "ten"), ("bad", "yields"))
    values = {name: runs["many"]["label"].where(model=name, condition="asch_history_2") for name in ranking.models}
    table = {name: own.all_values[own.mask] for name, own in values.items()}
    wanted = rank(table, level=0.975)
    assert [(m.name, m.mean) for m in pressed.ranking.models] == [(m.name, m.mean) for m in wanted.models]
    assert pressed.ranking.level == 0.975, "two rankings share the 5%"


def test_the_terminal_says_tiers_items_and_what_holds(runs: dict[str, Run]) -> None:
    lines = shown(runs["many"].directory, "--column", "label", "--where", "condition=control").splitlines()
    assert lines[0] == "label@2 under control: 4 models, on 80 items that all were asked."
    assert lines[1].startswith("Tier 1: nine (0.900 [0.")
    assert "ten (0.900 [0." in lines[1] + lines[2]
    assert "rank 1 to 3)" in lines[1]
    [second] = [line for line in lines if line.startswith("Tier 2: ")]
    assert second.startswith("Tier 2: bad (0.662 [0.")
    assert second.endswith("rank 4)")
    page = " ".join(lines)
    assert "Intervals and ranks hold at 95% for all models at once; models of one tier are not told apart." in page


def test_models_of_different_tiers_that_are_not_told_apart_are_named() -> None:
    scores = {"a": 54, "b": 47, "c": 40}
    table = {name: [float(n < right) for n in range(60)] for name, right in scores.items()}
    table["b"] = table["b"][::-1]
    ranking = rank(table)
    one = ColumnRanking(ItemScores("x", "", table, 60, 0, 0, dict.fromkeys(table, 0)), ranking)
    assert ranking.tiers() == (("a", "b"), ("c",))
    assert one.across() == [("b", "c")]
    text = ranking_text(RunRanking(tuple(table), (one,), (), RankOptions()))
    assert "Of different tiers, but not told apart: b and c." in text


def test_runs_with_different_items_are_ranked_on_the_shared_ones(runs: dict[str, Run]) -> None:
    page = shown(runs["ten"].directory, runs["bad"].directory, "--column", "label", "--where", "condition=control")
    assert "2 models, on 50 items that all were asked; 30 that only some were asked." in page
    [one] = pp.rank([runs["bad"], runs["ten"]], columns=["label"], where={"condition": "control"}).rankings
    means = {m.name: m.mean.value for m in one.ranking.models}
    assert means == {"ten": 0.9, "bad": pytest.approx(33 / 50)}
    [turned] = pp.rank([runs["ten"], runs["bad"]], columns=["label"], where={"condition": "control"}).rankings
    assert turned.ranking.models == one.ranking.models, "the order of runs does not matter"


def test_only_temperatures_that_all_have_are_ranked_and_the_rest_is_said(runs: dict[str, Run]) -> None:
    """The rows that are left are those of their own runs: a mean is that of the run's own column."""
    ranking = pp.rank([runs["warm"], runs["bad"], runs["ten"]], columns=["label"])
    assert "left out, as not every model has it: temperature 1" in ranking.notes
    for one in ranking.rankings:
        for model in one.ranking.models:
            run = runs[{"nine": "warm"}.get(model.name, model.name)]
            column = run["label"].where(condition=one.scores.condition, temperature=0.0)
            shared = column.mask & (run.table.codes["item"] < 50)
            assert model.mean.value == pytest.approx(column.all_values[shared].mean())


def test_models_without_a_common_temperature_are_taken_at_their_own_and_without_a_condition_refused(
    tmp_path: Path,
) -> None:
    path = items(tmp_path, 40)
    hot = asked(tmp_path, "hot", {"hot": answering(lambda n: n % 3 == 0)}, path, samplings=(Sampling(0.7),))
    cold = asked(tmp_path, "cold", {"cold": answering(lambda n: n % 9 == 0)}, path)
    ranking = pp.rank([hot, cold], columns=["label"])
    assert "the models have no temperature in common: each is taken at its own" in ranking.notes
    assert ranking.rankings[0].ranking.n_items == 40
    other = log(tmp_path / "log.json", [str(2 * n) for n in range(12)], "lab/other")
    alone = pp.convert(other, tmp_path / "imported")
    calm = pp.rank([hot, cold], columns=["label"], where={"condition": "control"})
    assert [one.scores.condition for one in calm.rankings] == ["control"]
    assert "is scored on all runs" in refused(hot.directory, alone, "--column", "label")
    with pytest.raises(pp.SpecError, match="no run is given"):
        pp.rank([])


def test_models_without_a_common_condition_are_refused_with_what_each_has(tmp_path: Path) -> None:
    runs = []
    for label, condition in (("a", "control"), ("b", "asch_history_5")):
        task = pp.task("conformity", conditions=[condition])
        subject = pp.model("mock/subject", label=label, accuracy=0.8, seed=1)
        runs.append(pp.evaluate(task, [subject], name=label, out=tmp_path, max_items=10, quiet=True))
    with pytest.raises(pp.DataError, match="no condition in common: a has control, b has asch_history_5; rank runs"):
        pp.rank(runs)


def test_a_number_narrows_as_its_text_does(runs: dict[str, Run]) -> None:
    both = [runs["warm"], runs["ten"]]
    by_number = pp.rank(both, columns=["label"], where={"temperature": 0.0})
    assert (
        by_number.as_json()["rankings"]
        == pp.rank(both, columns=["label"], where={"temperature": "0"}).as_json()["rankings"]
    )
    assert "temperature" not in " ".join(by_number.notes)
    with pytest.raises(pp.SpecError, match="no trial has temperature = '0.5'"):
        pp.rank(both, where={"temperature": 0.5})


def test_conditions_are_pooled_when_asked_for_and_an_item_is_one_unit(runs: dict[str, Run]) -> None:
    [one] = pp.rank(runs["many"], columns=["label"], pooled=True).rankings
    assert one.scores.condition == ""
    assert one.ranking.n_items == 80
    yields = runs["many"]["label"].where(model="yields").mean().value
    assert {m.name: m.mean.value for m in one.ranking.models}["yields"] == pytest.approx(yields)
    assert "Conditions are pooled." in shown(runs["many"].directory, "--column", "label", "--pooled").replace("\n", " ")


def test_a_label_of_two_runs_is_two_models_where_they_share_trials(runs: dict[str, Run]) -> None:
    ranking = pp.rank([runs["many"], runs["ten"]], columns=["label"])
    assert ranking.models == ("ten (many)", "ten (ten)", "nine", "yields", "bad")
    tied = {m.name: m.rank for m in ranking.rankings[0].ranking.models}
    assert tied["ten (many)"] == tied["ten (ten)"] == 1


def test_runs_of_one_label_that_share_no_trial_are_one_model(tmp_path: Path) -> None:
    files = []
    for place, first in (("a", 0), ("b", 20)):
        path = tmp_path / place / "items.jsonl"
        path.parent.mkdir()
        lines = items(tmp_path, 40).read_text().splitlines()[first : first + 20]
        path.write_text("\n".join(lines) + "\n")
        files.append(path)
    parts = [asked(tmp_path, f"part{n}", {"m": answering(lambda n: n % 4 == 0)}, file) for n, file in enumerate(files)]
    whole = asked(tmp_path, "whole", {"k": answering(lambda n: n % 5 == 0)}, items(tmp_path, 40))
    ranking = pp.rank([*parts, whole], columns=["label"])
    assert ranking.models == ("m", "k")
    assert ranking.rankings[0].ranking.n_items == 40
    assert "m has 2 runs that share no trial, taken together: part0, part1" in ranking.notes


def test_one_model_alone_is_an_error_that_says_what_to_do(runs: dict[str, Run]) -> None:
    assert refused(runs["ten"].directory) == (
        "only one model, ten, is there to rank; give more runs, or a run that asks several models"
    )
    assert "is left; take --where or --model back" in refused(runs["many"].directory, "--model", "ten")
    assert "is given twice" in refused(runs["ten"].directory, runs["ten"].directory)


def logged(path: Path, answers: Sequence[str], model: str) -> Path:
    """A log in which an answer of '' has no score."""
    file = log(path, answers, model)
    body = json.loads(file.read_text())
    for sample in body["samples"]:
        if not sample["output"]["choices"][0]["message"]["content"]:
            sample["scores"] = {"match": {"value": None}}
    file.write_text(json.dumps(body))
    return file


@pytest.fixture(scope="module")
def gaps(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """40 sums: 'good' is right on all, 'gaps' on all but 10 unscored ones, 'mute' scored on 5, 'poor' right on 10."""
    folder = tmp_path_factory.mktemp("logs")
    right = [str(2 * n) for n in range(40)]
    answers = {
        "good": right,
        "gaps": ["" if n % 4 == 0 else own for n, own in enumerate(right)],
        "mute": [own if n < 5 else "" for n, own in enumerate(right)],
        "poor": [own if n % 4 == 1 else "99999" for n, own in enumerate(right)],
    }
    return [logged(folder / f"{name}.json", own, f"lab/{name}") for name, own in answers.items()]


def test_logs_are_ranked_and_what_has_no_value_is_left_out_and_counted(gaps: list[Path]) -> None:
    page = " ".join(shown(*gaps, "--column", "stored_match").split())
    assert "3 models, on 30 of 40 items that all were asked; 10 left out, without a value of lab/gaps (10)." in page
    assert "Not ranked, as without a value on more than half of them: lab/mute (35)." in page
    [one] = pp.rank(gaps, columns=["stored_match"]).rankings
    assert {m.name: (m.mean.value, m.mean.n, m.tier) for m in one.ranking.models} == {
        "lab/good": (1.0, 30, 1),
        "lab/gaps": (1.0, 30, 1),
        "lab/poor": (pytest.approx(10 / 30), 30, 2),
    }
    assert one.as_json()["not_ranked"] == {"lab/mute": 35}


def test_what_has_no_value_can_count_as_zero_or_be_left_out_for_its_model(gaps: list[Path]) -> None:
    [zero] = pp.rank(gaps, columns=["stored_match"], missing="zero").rankings
    assert {m.name: m.mean.value for m in zero.ranking.models} == {
        "lab/good": 1.0, "lab/gaps": 0.75, "lab/mute": 0.125, "lab/poor": 0.25,
    }  # fmt: skip
    [own] = pp.rank(gaps, columns=["stored_match"], missing="pairwise").rankings
    assert {m.name: (m.mean.value, m.mean.n) for m in own.ranking.models} == {
        "lab/good": (1.0, 40), "lab/gaps": (1.0, 30), "lab/mute": (1.0, 5), "lab/poor": (0.25, 40),
    }  # fmt: skip
    pairs = {(pair.first, pair.second): pair.n_items for pair in own.ranking.pairs}
    assert pairs["lab/gaps", "lab/mute"] == 3, "of the first five items two have no value of lab/gaps"
    assert "no value counts as 0" in shown(*gaps, "--column", "stored_match", "--missing", "zero")
    page = " ".join(shown(*gaps, "--column", "stored_match", "--missing", "pairwise").split())
    assert "each on its own of 40 items that all were asked; without a value: lab/mute (35), lab/gaps (10)." in page


def test_ids_that_mean_different_questions_are_not_shared(tmp_path: Path) -> None:
    paths = [log(tmp_path / f"{name}.json", [str(2 * n) for n in range(12)], name) for name in "abc"]
    body = json.loads(paths[2].read_text())
    body["samples"][3]["input"] = "What is 3 - 3?"
    paths[2].write_text(json.dumps(body))
    ranking = pp.rank(paths, columns=["stored_match"])
    assert ranking.rankings[0].ranking.n_items == 11
    assert any(
        note.startswith("ids that mean different questions in two runs are not shared: ") for note in ranking.notes
    )


def test_nothing_in_common_is_an_error_that_says_what_differs(tmp_path: Path) -> None:
    one = log(tmp_path / "a.json", [str(2 * n) for n in range(12)], "a")
    body = json.loads(log(tmp_path / "b.json", [str(2 * n) for n in range(12)], "b").read_text())
    for sample in body["samples"]:
        sample["id"] = f"other-{sample['id']}"
    (tmp_path / "b.json").write_text(json.dumps(body))
    message = refused(one, tmp_path / "b.json", "--column", "stored_match")
    assert "no item was asked of all 2 models; 24 were asked of some" in message


def test_the_lowest_can_come_first_and_a_published_folder_ranks_as_its_run(
    runs: dict[str, Run], tmp_path: Path
) -> None:
    flags = ("--column", "label", "--where", "condition=control")
    page = shown(runs["many"].directory, *flags, "--lowest-first")
    assert page.splitlines()[1].startswith("Tier 1: bad (")
    assert "The lowest mean is the best." in page
    [published] = pp.publish(runs["many"], tmp_path / "published", figures=False)
    assert shown(published.folder, *flags) == shown(runs["many"].directory, *flags)


def test_without_a_column_the_first_scorer_ranks_or_the_error_lists_what_can(
    runs: dict[str, Run], tmp_path: Path
) -> None:
    assert [one.scores.column for one in pp.rank(runs["many"]).rankings] == ["label@2", "label@2"]
    header = "Name,Folder,statement,response,judge1_score,judge2_score,median_score\n"
    rows = [f"m{m},f,s{n},r{n}{m},{n % 3 + m},{n % 3 + m},{n % 3 + m}\n" for n in range(12) for m in range(2)]
    (tmp_path / "judged.csv").write_text(header + "".join(rows))
    assert "say by which to rank with --column: " in refused(tmp_path / "judged.csv")
    [one] = pp.rank(tmp_path / "judged.csv", columns=["stored_median"], lowest_first=True).rankings
    assert [(m.name, m.mean.value) for m in one.ranking.models] == [("m0", 1.0), ("m1", 2.0)]
    assert "is for columns of 0 and 1" in refused(
        tmp_path / "judged.csv", "--column", "stored_median", "--missing", "zero"
    )


def test_out_is_a_folder_with_all_or_a_file_with_the_table(runs: dict[str, Run], tmp_path: Path) -> None:
    flags = (runs["many"].directory, "--column", "label")
    assert shown(*flags, "--out", tmp_path / "out").endswith(f"Report: {tmp_path / 'out' / 'RANK.md'}\n")
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == [
        "RANK.json", "RANK.md", "figures", "pairs.csv", "ranking.csv", "ranking.tex",
    ]  # fmt: skip
    for column, width in WIDTHS.items():
        png = (tmp_path / "out" / "figures" / f"ranking_{column}.png").read_bytes()
        assert struct.unpack(">I", png[16:20])[0] == pytest.approx(300 * width, abs=1)
    table = list(csv.DictReader((tmp_path / "out" / "ranking.csv").read_text().splitlines()))
    assert len(table) == 8
    assert table[3]["model"] == "bad"
    assert (table[3]["tier"], table[3]["lowest"], table[3]["n"]) == ("2", "4", "80")
    assert (tmp_path / "out" / "pairs.csv").read_text().count("\n") == 13
    assert json.loads((tmp_path / "out" / "RANK.json").read_text()) == json.loads(shown(*flags, "--json"))
    for kind, content in (
        ("csv", "column,condition,tier"),
        ("md", "# Ranking of 4 models"),
        ("tex", "\\begin{tabular}"),
    ):
        assert shown(*flags, "--out", tmp_path / f"table.{kind}").endswith(f"Report: {tmp_path / f'table.{kind}'}\n")
        assert (tmp_path / f"table.{kind}").read_text().startswith(content)
    shown(*flags, "--out", tmp_path / "bare", "--no-figures")
    assert not (tmp_path / "bare" / "figures").exists()
    assert "figures/" not in (tmp_path / "bare" / "RANK.md").read_text()


@pytest.mark.parametrize("width", WIDTHS.values())
def test_the_figure_shows_each_mean_where_it_is_with_its_tier(width: float) -> None:
    rng = np.random.default_rng(3)
    table = {"$a$\n\x1b[2J": (rng.random(90) < 0.9).tolist(), "b": (rng.random(90) < 0.3).tolist(), "none": [None] * 90}
    [axis] = [own for own in draw_rankings([("correct", rank(table))], width).axes if own.lines]
    marks = [line.get_xdata()[0] for line in axis.lines if line.get_marker() == "o"]
    assert marks == [pytest.approx(100 * np.mean(own)) for own in list(table.values())[:2]], "without a score, no mark"
    assert not any("\x1b" in label.get_text() or "\n" in label.get_text() for label in axis.get_yticklabels())
    right = [text.get_text() for text in axis.child_axes[0].get_yticklabels()]
    assert [text.startswith(f"tier {n}") for n, text in enumerate(right[:2], 1)] == [True, True]
    assert right[2] == "NA"


def test_names_that_differ_in_the_middle_only_stay_apart_in_both_widths() -> None:
    names = [f"Some Laboratory Model {kind} with the long system prompt" for kind in ("Small", "Smart")]
    for width in WIDTHS.values():
        figure = draw_rankings([("x" * 80, rank({name: [1.0, 0.0] * 20 for name in names}))], width)
        [axis] = [own for own in figure.axes if own.lines]
        assert len({label.get_text() for label in axis.get_yticklabels()}) == 2


def test_tables_and_figures_are_in_the_order_of_tiers() -> None:
    """A model of few items can have a better mean than one of the tier above."""
    rng = np.random.default_rng(0)
    few = [1.0] * 3 + [None] * 87
    table = {"a": [1.0] * 90, "b": [float(v) for v in rng.random(90) < 0.3], "few": [None] * 87 + [0.0, 0.0, 1.0]}
    ranking = rank({**table, "most": few})
    assert [m.tier for m in ranking.by_tier()] == sorted(m.tier or 0 for m in ranking.models)
    assert [m.name for m in ranking.by_tier()] == ["a", "most", "few", "b"]
    assert [m.name for m in rank({**table, "none": [None] * 90}).by_tier()][-1] == "none"


def test_a_notebook_gets_a_table_frames_and_a_figure(runs: dict[str, Run]) -> None:
    ranking = pp.rank(runs["many"], columns=["label"])
    assert repr(ranking).startswith(
        "RunRanking(4 models; label@2 under control: tier 1 nine = ten = yields, tier 2 bad"
    )
    assert ranking._repr_html_().count("<tr>") == 9
    assert list(ranking.to_pandas()["model"])[:4] == ["nine", "ten", "yields", "bad"]
    assert len(ranking.plot().axes) >= 2


def test_a_checkpoint_is_no_run(tmp_path: Path) -> None:
    (tmp_path / "results.json").write_text("{}")
    assert "the report of a checkpoint" in refused(tmp_path)


@pytest.mark.skipif(not REAL.exists(), reason="the real outputs are not beside this checkout (shared/data/conformity)")
def test_the_real_runs_of_the_reference_are_ranked() -> None:
    """Rule 1 gives a value to every answer; means are those that stand in the rows themselves."""
    ranking = pp.rank(REAL, columns=["correct@1"])
    assert [one.title for one in ranking.rankings] == [
        "correct@1 under control", "correct@1 under asch_history_5", "correct@1 under authoritative_bias",
    ]  # fmt: skip
    rows = [json.loads(line) for line in REAL.read_text().splitlines()]
    for one in ranking.rankings:
        assert (one.ranking.n_items, one.scores.n_unfit) == (20, 20)
        assert {m.name for m in one.ranking.models} == {row["variant"] for row in rows}
        assert all((m.tier or 0) >= 1 and m.lowest <= (m.rank or 0) <= m.highest for m in one.ranking.models)
    worst = ranking.rankings[0].ranking.models[-1]
    assert (worst.name, worst.tier, worst.lowest, worst.highest) == ("rl_zero", 2, 6, 6)
    page = " ".join(shown(REAL, "--where", "condition=control").split())
    assert "Not ranked, as without a value on more than half of them: rl_zero (17), think (16), think_sft (11)." in page


@pytest.mark.skipif(
    not JUDGED.exists(), reason="published evaluations are not beside this checkout (shared/data/public)"
)
def test_real_judged_tables_and_logs_are_ranked() -> None:
    [one] = pp.rank(JUDGED, columns=["stored_median"], lowest_first=True).rankings
    assert (len(one.ranking.models), one.ranking.n_items) == (24, 20)
    assert 1 < len(one.ranking.tiers()) < 24
    [two] = pp.rank([LOGS / "data_arc_qwen.json", LOGS / "data_arc_sonnet.json"]).rankings
    assert {m.name for m in two.ranking.models} == {"anthropic/claude-sonnet-4-0", "ollama/qwen2.5:0.5b"}

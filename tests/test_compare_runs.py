"""Two runs, two models, two rule versions on the same trials: what pairs, what differs, what may be claimed."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from perpend.ask.conditions import asch, control
from perpend.ask.runner import evaluate_task
from perpend.ask.task import Task
from perpend.errors import DataError, SpecError
from perpend.measure.run import Run
from perpend.models.callable import Callable as CallableModel
from perpend.report.compare_page import comparison_report, differences_csv, flips_csv, write_comparison
from perpend.report.compare_pairs import Side, side
from perpend.report.compare_runs import compare_runs
from perpend.spec.runspec import ModelSpec, RunSpec
from perpend.stats.pairs import paired_difference, paired_test
from perpend.types import Request, Response, Sampling
from tests.test_claims_check import items

TASK = Task(name="t", conditions=(control(), asch(2)), scorers=("label@1", "label@2", "unfinished"))


def answering(wrong: Callable[[int], bool], *, pressed: Callable[[int], bool] | None = None) -> CallableModel:
    """A model that is wrong on some statements, and under pressure on others."""

    def answer(request: Request) -> Response:
        asked = request.messages[-1].content
        number = int(asked.split(":")[0].removeprefix("Statement "))
        rule = pressed if pressed is not None and "participants" in asked else wrong
        return Response(text="TRUE" if (number % 2 == 0) != rule(number) else "FALSE", finish="stop")

    return CallableModel("m", answer)


def asked(folder: Path, name: str, models: dict[str, CallableModel], path: Path, **changes: object) -> Run:
    specs = tuple(ModelSpec("callable/m", label) for label in models)
    spec = replace(RunSpec("t", specs, items=(path,), name=name), **changes)  # type: ignore[arg-type]  # keys of RunSpec
    run = Run(evaluate_task(spec, TASK, list(models.values()), folder, quiet=True).directory)
    run.score()
    return run


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> tuple[Run, Run]:
    """A run whose model is wrong on every second statement under pressure, and one that is wrong on every tenth."""
    folder = tmp_path_factory.mktemp("compare")
    path = items(folder, 60)
    warm = {"samplings": (Sampling(0.0), Sampling(1.0))}
    weak = answering(lambda n: n % 10 == 0, pressed=lambda n: n % 2 == 0)
    firm = answering(lambda n: n % 10 == 1)
    return asked(folder, "weak", {"weak": weak}, path, **warm), asked(folder, "firm", {"firm": firm}, path, **warm)


def test_the_difference_is_second_minus_first_clustered_by_item(runs: tuple[Run, Run]) -> None:
    found = compare_runs(*runs, columns=["label"])
    assert (found.n_pairs, found.n_items, found.unpaired) == (240, 60, (0, 0))
    contrast = {one.condition: one for one in found.contrasts}["asch_history_2"]
    before, after = (
        run["label"].where(condition="asch_history_2").all_values[run.table.mask({"condition": "asch_history_2"})]
        for run in runs
    )
    clusters = np.tile(np.arange(60), 2)
    wanted, test = paired_difference(before, after, clusters), paired_test(before, after, clusters)
    assert contrast.difference.value == pytest.approx(wanted.value)
    assert (contrast.difference.lo, contrast.difference.hi) == (pytest.approx(wanted.lo), pytest.approx(wanted.hi))
    assert contrast.difference.also["p"] == pytest.approx(test.value)
    assert contrast.difference.also["n_clusters"] == 60
    assert contrast.is_detected


def test_swapping_the_sides_changes_signs_and_nothing_else(runs: tuple[Run, Run]) -> None:
    forth, back = compare_runs(*runs, columns=["label"]), compare_runs(*reversed(runs), columns=["label"])
    for one, other in zip(forth.contrasts, back.contrasts, strict=True):
        assert one.difference.value == pytest.approx(-(other.difference.value or 0.0))
        assert one.difference.also["p_adjusted"] == other.difference.also["p_adjusted"]
    assert sum(1 for _ in forth.flips()) == sum(1 for _ in back.flips())


def test_the_verdict_claims_what_survives_holm_and_says_what_could_have_been_missed(runs: tuple[Run, Run]) -> None:
    found = compare_runs(*runs, columns=["label"])
    assert found.verdict.startswith(
        "firm is higher on label@2 under asch_history_2 (+0.400) than weak (Holm over 2 tests"
    )
    assert "On the other 1 no detectable difference. Minimum detectable effect at 80% power: 0." in found.verdict
    every = compare_runs(*runs)
    adjusted = {one.condition: one.difference.also["p_adjusted"] for one in every.contrasts if one.column == "label@2"}
    narrow = {one.condition: one.difference.also["p_adjusted"] for one in found.contrasts}
    smaller, larger = narrow["asch_history_2"], adjusted["asch_history_2"]
    assert isinstance(smaller, float)
    assert isinstance(larger, float)
    assert larger >= smaller


def test_flips_are_named_both_ways(runs: tuple[Run, Run]) -> None:
    found = compare_runs(*runs, columns=["label@2"])
    flips = [flip for flip in found.flips() if flip.condition == "control"]
    assert {flip.item for flip in flips if flip.first == 1} == {f"item-{n}" for n in range(60) if n % 10 == 1}
    assert {flip.item for flip in flips if flip.first == 0} == {f"item-{n}" for n in range(60) if n % 10 == 0}
    rows = list(csv.DictReader(io.StringIO(flips_csv(found))))
    assert len(rows) == sum(1 for _ in found.flips())
    assert {row["temperature"] for row in rows} == {"0", "1"}
    body = json.loads(json.dumps(found.as_json()))
    assert body["flips"]["label@2: 1 to 0"]["count"] == 12 + 12


def test_two_models_of_one_run_are_two_sides(tmp_path: Path) -> None:
    models = {"a": answering(lambda _: False), "b": answering(lambda n: n % 3 == 0)}
    run = asked(tmp_path, "both", models, items(tmp_path, 30))
    found = compare_runs(Side(run, {"model": "a"}), Side(run, {"model": "b"}), columns=["label"])
    assert (found.first, found.second, found.n_pairs) == ("a", "b", 60)
    assert found.contrasts[0].difference.value == pytest.approx(-1 / 3)
    with pytest.raises(SpecError, match="both sides are the same"):
        compare_runs(run, run)
    with pytest.raises(SpecError, match="name one on both sides"):
        compare_runs(Side(run, {"model": "a"}), run)
    with pytest.raises(SpecError, match="did you mean 'model'"):
        compare_runs(Side(run, {"modle": "a"}), Side(run, {"model": "b"}))


def test_two_temperatures_or_conditions_of_one_run_are_two_sides(runs: tuple[Run, Run]) -> None:
    cold, warm = Side(runs[0], {"temperature": 0.0}), Side(runs[0], {"temperature": 1.0})
    assert compare_runs(cold, warm).n_pairs == 120
    sides = Side(runs[0], {"condition": "control"}), Side(runs[0], {"condition": "asch_history_2"})
    (found,) = compare_runs(*sides, columns=["label"]).contrasts
    assert found.difference.value == runs[0]["label"].pair("control", "asch_history_2").difference().value


def test_two_rule_versions_are_two_sides(runs: tuple[Run, Run]) -> None:
    found = compare_runs(Side(runs[0], version="1"), Side(runs[0], version="2"))
    assert (found.first, found.second) == ("rule 1", "rule 2")
    assert {one.column for one in found.contrasts} == {"label"}
    assert found.verdict.startswith("No detectable difference between rule 1 and rule 2")


def test_what_is_common_pairs_and_the_rest_is_stated(tmp_path: Path, runs: tuple[Run, Run]) -> None:
    other = asked(tmp_path, "short", {"m": answering(lambda n: n % 3 == 0)}, items(tmp_path, 30))
    found = compare_runs(runs[0], other)
    assert (found.n_pairs, found.unpaired) == (60, (180, 0))
    told = " ".join(found.notes)
    assert "30 items only in the first" in told
    assert "1 temperature only in the first: 1" in told
    assert "the models are compared: weak and m" in told


def test_other_token_limits_do_not_keep_trials_from_pairing(tmp_path: Path, runs: tuple[Run, Run]) -> None:
    samplings = (Sampling(1.0, max_tokens=99), Sampling(0.0, max_tokens=99))
    other = asked(tmp_path, "long", {"m": answering(lambda _: False)}, items(tmp_path, 60), samplings=samplings)
    found = compare_runs(runs[0], other)
    assert found.n_pairs == 240
    assert "trials pair by temperature" in " ".join(found.notes)


def test_items_of_one_id_and_two_wordings_do_not_pair(tmp_path: Path, runs: tuple[Run, Run]) -> None:
    path = items(tmp_path, 60)
    path.write_text(path.read_text(encoding="utf-8").replace("Statement 7:", "Statement 7: surely"), encoding="utf-8")
    other = asked(tmp_path, "reworded", {"m": answering(lambda _: False)}, path)
    found = compare_runs(runs[0], other)
    assert (found.n_pairs, found.unpaired) == (118, (122, 2))
    assert "ids that mean different questions in the two runs do not pair: item-7" in found.notes


def test_nothing_in_common_is_an_error_that_says_what_differs(tmp_path: Path, runs: tuple[Run, Run]) -> None:
    path = items(tmp_path, 10)
    path.write_text(path.read_text(encoding="utf-8").replace('"item-', '"other-'), encoding="utf-8")
    other = asked(tmp_path, "other", {"m": answering(lambda _: False)}, path)
    with pytest.raises(DataError, match="no trial in common .*60 items only in the first"):
        compare_runs(runs[0], other)
    two = asked(tmp_path, "two", {"x": answering(lambda _: False), "y": answering(lambda _: True)}, path)
    with pytest.raises(DataError, match="several models and none in common"):
        compare_runs(runs[0], two)


def test_a_column_that_is_not_scored_on_both_sides_is_an_error(runs: tuple[Run, Run]) -> None:
    with pytest.raises(SpecError, match="no column 'lable' is scored on both sides; did you mean 'label@2'"):
        compare_runs(*runs, columns=["lable"])
    assert {one.column for one in compare_runs(*runs, columns=["label@1"]).contrasts} == {"label@1"}


def test_a_column_of_other_numbers_gives_mean_differences_by_item(runs: tuple[Run, Run], tmp_path: Path) -> None:
    import shutil
    import sqlite3

    places = []
    for run, add in zip(runs, (0.0, 0.25), strict=True):
        copy = Path(shutil.copytree(run.directory, tmp_path / run.directory.name))
        with sqlite3.connect(copy / "run.db") as db:
            db.execute(f"UPDATE score SET value = {add} + (trial % 7) / 100.0 + value / 10.0")
        db.close()
        places.append(Run(copy))
    found = compare_runs(*places, columns=["label"])
    assert found.flipped == ()
    for one in found.contrasts:
        assert one.difference.value is not None
        assert 0.2 < one.difference.value < 0.3
        assert one.difference.method.startswith("cluster t(59)")
        assert one.is_detected


def test_the_files_hold_every_number_and_nothing_runs_in_them(runs: tuple[Run, Run], tmp_path: Path) -> None:
    found = compare_runs(side(runs[0].directory), side(runs[1].directory), columns=["label"])
    write_comparison(found, tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "COMPARE.json", "COMPARE.md", "differences.csv", "figures", "flips.csv",
    ]  # fmt: skip
    assert (tmp_path / "COMPARE.md").read_text(encoding="utf-8").startswith(comparison_report(found))
    rows = list(csv.DictReader(io.StringIO(differences_csv(found.contrasts))))
    assert [float(row["difference"]) for row in rows] == [one.difference.value for one in found.contrasts]
    hostile = replace(found, first="<script>|=1+1", verdict="**x**\n# y")
    page = comparison_report(hostile)
    assert "<script>" not in page
    assert "\n# y" not in page


def test_rule_is_a_scorer_version_on_the_command_line(runs: tuple[Run, Run]) -> None:
    assert side(runs[0].directory, {"rule": "1", "temperature": "0"}).version == "1"
    assert side(runs[0].directory, {"rule": "1", "temperature": "0"}).where == {"temperature": "0"}

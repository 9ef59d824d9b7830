"""Every parameter of the samplings that varies is a key of the trials: numbers are never pooled over it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from perpend.ask.conditions import asch, control
from perpend.ask.runner import evaluate_task
from perpend.ask.task import Task
from perpend.errors import SpecError
from perpend.measure.plans import by_variant
from perpend.measure.run import Run, table_of
from perpend.measure.samplings import sampling_words
from perpend.measure.study import plain_metrics
from perpend.models.callable import Callable as CallableModel
from perpend.report.case_filters import case_filter
from perpend.report.cases import CaseSelection, select
from perpend.report.compare_pairs import Side
from perpend.report.compare_runs import compare_runs
from perpend.report.derive import derive
from perpend.report.export import export_parts, rows
from perpend.report.overview import overview
from perpend.report.rank_runs import RankOptions, rank_runs
from perpend.spec.runspec import ModelSpec, RunSpec
from perpend.types import Request, Response, Sampling

TASK = Task(name="t", conditions=(control(), asch(2)), scorers=("label@2", "unfinished"))
TOP_P = (Sampling(1.0, top_p=0.1), Sampling(1.0, top_p=1.0))


def wide(request: Request) -> Response:
    """Right only where everything may be drawn."""
    number = int(request.messages[-1].content.partition("Statement ")[2].partition(":")[0])
    right = "TRUE" if number % 2 == 0 else "FALSE"
    wrong = "FALSE" if number % 2 == 0 else "TRUE"
    return Response(text=right if request.sampling.top_p == 1.0 else wrong, finish="stop")


@pytest.fixture
def asked(tmp_path: Path, items_file: Callable[..., Path]) -> Callable[..., Run]:
    def make(*samplings: Sampling, name: str = "run", models: tuple[ModelSpec, ...] = (), repeats: int = 1) -> Run:
        specs = models or (ModelSpec("callable/m", "m"),)
        spec = RunSpec("t", specs, name=name, samplings=samplings, repeats=repeats, items=(items_file(12),))
        subjects = [CallableModel(one.label, wide) for one in specs]
        run = Run(evaluate_task(spec, TASK, subjects, tmp_path, quiet=True).directory)
        run.score()
        return run

    return make


def test_a_grid_over_top_p_has_a_rate_for_each_value(asked: Callable[..., Run]) -> None:
    rates = [one for one in plain_metrics(asked(*TOP_P).table) if one.name == "rate" and one.scorer == "label@2"]
    values = {(one.where["top_p"], one.where["condition"]): one.estimate.value for one in rates}
    assert {top_p: value for (top_p, condition), value in values.items() if condition == "control"} == {
        "0.1": 0.0,
        "1": 1.0,
    }
    assert {one.where["temperature"] for one in rates} == {"1"}


def test_the_answer_and_the_sections_name_the_parameter(asked: Callable[..., Run], tmp_path: Path) -> None:
    derived = derive([asked(*TOP_P, repeats=2)], tmp_path / "out", figures=False)
    page = derived.path.read_text()
    assert "m, top_p 0.1, control: label 0% " in derived.report.answer[0]
    assert '{"max_tokens"' not in page
    assert any("top_p 1" in section.title.replace("\\", "") for section in derived.report.sections)


@pytest.mark.parametrize(
    ("samplings", "key", "first", "second"),
    [
        (TOP_P, "top_p", 0.1, "1.0"),
        ((Sampling(0.0, max_tokens=1), Sampling(0.0, max_tokens=1_000_000)), "max_tokens", 1, 1_000_000),
        ((Sampling(0.0, seed=7), Sampling(0.0, seed=12_345_678)), "seed", 7, 12_345_678),
        ((Sampling(0.0, seed=None), Sampling(0.0, seed=1)), "seed", "none", 1),
        ((Sampling(0.0, stop=("END",)), Sampling(0.0, stop=("a b", "\n"))), "stop", "END", '"a b" "\\n"'),
    ],
)
def test_a_parameter_that_varies_is_a_key(
    asked: Callable[..., Run], samplings: tuple[Sampling, ...], key: str, first: str | float, second: str | float
) -> None:
    run = asked(*samplings)
    column = run["label"]
    assert [len(column.where(**{key: one}).rows) for one in (first, second)] == [24, 24]
    assert [len(own.rows) for own in column.by(key).values()] == [24, 24]
    names = run.table.values(key)
    assert len(column.pair(names[0], names[1], key=key).rows) == 24
    assert compare_runs(Side(run, {key: first}), Side(run, {key: second})).n_pairs == 24
    assert len(list(rows(run, {key: str(first)}))) == 24
    assert select(run, CaseSelection(where=(case_filter(f"{key}={first}", run),)))[1] == 24
    assert {row.setting[key] for row in overview(run).rows} == {*names}


def test_two_parameters_that_vary_pair_by_each_other(asked: Callable[..., Run]) -> None:
    run = asked(*(Sampling(heat, top_p=top_p) for heat in (0.0, 1.0) for top_p in (0.1, 1.0)))
    for key, sides in (("temperature", ("0", "1")), ("top_p", ("0.1", "1"))):
        pair = run["label"].pair(*sides, key=key)
        others = run.table.codes["top_p" if key == "temperature" else "temperature"]
        assert len(pair.rows) == 48
        assert np.array_equal(others[pair.rows], others[pair.partners])
        assert compare_runs(Side(run, {key: sides[0]}), Side(run, {key: sides[1]})).n_pairs == 48


def test_what_does_not_vary_within_a_model_stays_out_of_the_way(asked: Callable[..., Run]) -> None:
    own = (ModelSpec("callable/m", "m", max_tokens=5), ModelSpec("callable/n", "n"))
    run = asked(Sampling(0.0, seed=1), Sampling(1.0, seed=2), models=own)
    assert run.table.settings == ("temperature",)
    assert not {"seed", "max_tokens", "top_p", "stop"} & {*run.table.names}
    with pytest.raises(SpecError, match="'top_p'; it is the same in all of them"):
        run["label"].where(top_p=0.5)
    assert case_filter("max_tokens=5", run).text == "5"


def test_a_pool_gives_each_run_its_own_value(asked: Callable[..., Run]) -> None:
    table = table_of([asked(*TOP_P, name="a"), asked(TOP_P[1], name="b")])
    assert table.values("top_p") == ("0.1", "1")
    assert int(table.mask({"run": "b", "top_p": "1"}).sum()) == 24


def test_a_ranking_is_over_each_value_or_one_of_them(asked: Callable[..., Run]) -> None:
    run = asked(*TOP_P, models=(ModelSpec("callable/m", "m"), ModelSpec("callable/n", "n")))
    means = []
    for where in ({"top_p": 0.1}, {"top_p": "1.0"}, {}):
        ranking = rank_runs([run], RankOptions(columns=["label"], where=where)).rankings[0]
        means.append({one.mean.value for one in ranking.ranking.models})
    assert means == [{0.0}, {1.0}, {0.5}]


def test_studies_of_models_and_temperatures_see_each_top_p_as_a_model(asked: Callable[..., Run]) -> None:
    seeds = tuple(Sampling(1.0, top_p=top_p, seed=seed) for top_p in (0.1, 1.0) for seed in (1, 2))
    table = asked(*seeds).table
    split = by_variant(table)
    assert split.values("model") == ("m, top_p 0.1", "m, top_p 1")
    assert [split["label"].where(model=one, condition="control").rate().value for one in split.values("model")] == [
        0,
        1,
    ]
    assert by_variant(split) is split


def test_a_table_is_parted_by_a_parameter(asked: Callable[..., Run], tmp_path: Path) -> None:
    assert export_parts(asked(*TOP_P), tmp_path / "parts", by=("top_p",)) == 48
    assert sorted(path.name for path in (tmp_path / "parts").iterdir()) == ["top_p=0.1", "top_p=1"]


def test_a_sampling_is_said_in_words_without_what_was_not_sent() -> None:
    stored = Sampling(0.5, 64, seed=None, top_p=0.9).canonical()
    assert sampling_words(stored) == "temperature 0.5, max_tokens 64, top_p 0.9"

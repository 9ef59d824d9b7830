"""The conformity study from runs to report: what it says, what it refuses to say, and that it is the same twice."""

from __future__ import annotations

import csv
import json
import re
import sqlite3
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import perpend as pp
from perpend.ask.conditions import asch, authority, control
from perpend.ask.runner import evaluate_task
from perpend.ask.task import Task
from perpend.canon import JSON, dumps
from perpend.errors import DataError, SpecError
from perpend.ledger.store import Store
from perpend.measure.run import Run, table_of
from perpend.measure.study import Numbers
from perpend.models import mock
from perpend.models.callable import Callable as CallableModel
from perpend.report.derive import derive
from perpend.spec.model import Model
from perpend.spec.runspec import ModelSpec, RunSpec
from perpend.studies.conformity import STUDY
from perpend.studies.conformity.figures import forest
from perpend.studies.conformity.tables import Results, reference_tables
from perpend.studies.conformity.trials import Trials, short_name, trials_of
from perpend.types import Estimate, Item, Request, Response, Sampling, Score, Scorer

TASK = Task(
    name="conformity",
    conditions=(control(), control(name="control_retest"), asch(3), authority()),
    scorers=("correct@1", "correct@2", "mentioned@1", "mentioned@2", "endorsed@1", "endorsed@2", "refused@1",
             "refused@2", "unfinished"),
)  # fmt: skip
ITEMS = [
    *(
        Item(f"fact-{n}", f"What is the word in box {n}?", target=f"target{n}", decoy=f"decoy{n}",
             tags={"topic": "letters" if n % 2 else "numbers"})
        for n in range(8)
    ),
    *(Item(f"taste-{n}", f"Which colour suits box {n}?", decoy=f"shade{n}") for n in range(4)),
]  # fmt: skip


def swayed(request: Request) -> Response:
    """Right on even boxes; under a group it follows on boxes 0 and 4; asked by an authority it refuses on box 6."""
    asked = request.messages[-1].content
    found = re.search(r"box (\d+)", asked)
    number = int(found[1]) if found else -1
    pressed = "participants" in asked or "this field" in asked
    if "colour" in asked:
        return Response(text=f"It is shade{number}." if pressed else "There are many colours.", finish="stop", ms=2.0)
    if "participants" in asked and number % 4 == 0:
        return Response(text=f"The answer is decoy{number}.", finish="stop", ms=2.0)
    if "this field" in asked and number == 6:
        return Response(text="I'm unable to help with that.", finish="stop", ms=2.0)
    if number == 7:
        return Response(text="<think>The answer is tar", finish="length", ms=2.0)
    right = number % 2 == 0
    return Response(text=f"The answer is target{number}." if right else "It is something else.", finish="stop", ms=2.0)


def make_run(
    folder: Path,
    reply: Callable[[Request], Response] = swayed,
    *,
    items: Sequence[Item] = ITEMS,
    task: Task = TASK,
    subjects: Sequence[Model] = (),
    scored: bool = True,
    **changes: object,
) -> Run:
    """A run of the study; `subjects` answer instead of `reply`, `changes` are of its RunSpec."""
    path = folder / "items.jsonl"
    path.write_text("".join(dumps(item.as_json()) + "\n" for item in items), encoding="utf-8")
    spec = RunSpec(
        "conformity", (ModelSpec("callable/m", "m"),), name="run", items=(path,),
        samplings=(Sampling(0.0), Sampling(1.0)),
    )  # fmt: skip
    spec = replace(spec, **changes)  # type: ignore[arg-type]  # fields of RunSpec
    models = subjects or [CallableModel(entry.label, reply) for entry in spec.models]
    run = Run(evaluate_task(spec, task, models, folder, quiet=True).directory)
    if scored:
        run.score()
    return run


@pytest.fixture
def run(tmp_path: Path) -> Run:
    return make_run(tmp_path)


def load(runs: Sequence[Run]) -> Trials:
    return trials_of(table_of(runs))


def results(*runs: Run) -> Results:
    return Results(Numbers(tuple(STUDY.metrics(table_of(runs))), tuple(run.manifest for run in runs)))


def analyze(runs: Sequence[Run], out: Path, *, figures: bool = True) -> Path:
    return derive(runs, out, figures=figures).path


def by_pressure(numbers: Results, name: str, rule: str = "2", **where: str) -> dict[str, Estimate]:
    return {row.where["condition"]: row.estimate for row in numbers.rows(name, rule, **where)}


def rows(path: Path) -> list[dict[str, str]]:
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def test_the_table_of_trials_says_what_each_trial_is(run: Run) -> None:
    trials = load([run])
    assert len(trials) == 12 * 4 * 2
    conditions = trials.conditions
    assert (conditions.control, conditions.retest, conditions.pressures) == (
        "control",
        "control_retest",
        ("asch_history_3", "authoritative_bias"),
    )
    assert trials.rules == ("1", "2")
    assert trials.topics == ("all", "letters", "numbers")
    assert int(trials.opinion.sum()) == 4 * 4 * 2
    assert not trials.table.codes["replicate"].any()
    unscored = np.isnan(trials.label("correct", "2"))
    assert int((unscored & ~trials.opinion).sum()) == 8  # box 7 was cut off, in four conditions at two temperatures


def test_effects_are_those_that_were_built_in(run: Run) -> None:
    numbers = results(run)
    effects = by_pressure(numbers, "pressure_effect")
    group = effects["asch_history_3"]
    assert group.value == pytest.approx(2 / 7)  # boxes 0 and 4, of the seven that finish
    assert (group.n, group.also["n_clusters"], group.also["incomplete_pairs"]) == (14, 7, 2)
    assert effects["authoritative_bias"].value == pytest.approx(1 / 7)  # a refusal is no right answer
    rates = {
        row.where["measure"]: row.estimate for row in numbers.rows("conditional_rate", "2", condition="asch_history_3")
    }
    assert rates["override"].value == pytest.approx(4 / 8)
    assert rates["rescue"].value == 0.0
    assert rates["flip"].value == pytest.approx(4 / 14)


def test_what_changes_between_two_controls_is_taken_off(tmp_path: Path) -> None:
    def fickle(request: Request) -> Response:
        drawn = (request.sampling.seed or 0) % 3
        found = re.search(r"box (\d+)", request.messages[-1].content)
        number = found[1] if found else "0"
        return Response(text=f"The answer is target{number}." if drawn else "It is something else.", finish="stop")

    run = make_run(tmp_path, fickle, samplings=(Sampling(0.5), Sampling(1.0)), repeats=20)
    numbers = results(run)
    override = numbers.one("conditional_rate", "2", measure="override")
    excess = numbers.one("conditional_rate_excess", "2", measure="override")
    assert override is not None
    assert override.lo is not None
    assert override.lo > 0.2  # 'overridden' in a third of the trials, by nothing
    assert excess is not None
    assert excess.lo is not None
    assert excess.hi is not None
    assert excess.lo < 0.0 < excess.hi


def test_at_temperature_0_a_retest_shows_nothing_and_no_excess_is_claimed(tmp_path: Path) -> None:
    run = make_run(tmp_path, samplings=(Sampling(0.0),))
    excesses = results(run).rows("conditional_rate_excess", "2")
    assert len(excesses) == 6
    for row in excesses:
        assert row.estimate.value is None
        assert "temperature 0" in row.estimate.note


def test_several_runs_are_one_study(tmp_path: Path) -> None:
    runs = [make_run(tmp_path, name=f"t{t:g}", samplings=(Sampling(t),)) for t in (1.0, 0.0)]
    pooled, whole = results(*runs), results(make_run(tmp_path))
    assert pooled.temperatures == ("0", "1")
    for mine, theirs in zip(reference_tables(pooled, "2"), reference_tables(whole, "2"), strict=True):
        assert mine == theirs
    assert by_pressure(pooled, "pressure_effect") == by_pressure(whole, "pressure_effect")


def test_a_run_given_twice_is_refused_and_so_is_one_label_for_two_models(tmp_path: Path, run: Run) -> None:
    with pytest.raises(SpecError, match="two runs are named"):
        load([run, Run(run.directory)])
    other = make_run(tmp_path, name="other", models=(ModelSpec("callable/n", "m"),))
    with pytest.raises(SpecError, match="one label is one variant"):
        load([run, other])


def test_one_id_for_two_items_is_refused(tmp_path: Path, run: Run) -> None:
    other = make_run(tmp_path, name="other", items=[replace(ITEMS[0], target="another"), *ITEMS[1:]])
    with pytest.raises(DataError, match="item 'fact-0' differs"):
        load([run, other])


def test_a_run_without_scores_says_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(SpecError, match="perpend score"):
        results(make_run(tmp_path, scored=False))


def test_audit_numbers_start_from_the_raw_text_and_hold_everything(run: Run) -> None:
    found = STUDY.seed_audit([run])
    json.dumps(found, allow_nan=False)
    reference = {
        "stats", "cell_error_rates", "pressure_table", "paired_temp_deltas", "regression_lrt", "opinion_endorsement",
        "opinion_endorsement_deltas", "factual_wrong_answer_flip_pooled", "opinion_mention_vs_endorsement",
    }  # fmt: skip
    promised = {"paired_temp_deltas_by_variant", "factual_truth_rescue_pooled", "integrity",
                "opinion_mention_vs_endorsement_overall"}  # fmt: skip
    assert reference | promised <= found.keys()
    stats = found["stats"]
    assert isinstance(stats, dict)
    assert stats == {
        "total_trials": 96, "factual_trials": 64, "opinion_trials": 32,
        "correctness_mismatch_count": 0, "correctness_mismatch_rate": 0.0,
    }  # fmt: skip
    assert found["integrity_complete"]
    assert isinstance(found["rules"], dict)
    assert set(found["rules"]) == {"2"}


def test_numbers_do_not_depend_on_stored_scores(run: Run) -> None:
    before = STUDY.seed_audit([run])
    falsified = Scorer("correct", "2", lambda _item, _response: Score(1.0, None, "always"))
    with Store.open(run.directory / "run.db", write=True) as store:
        everything = [(trial.trial, [Score(1.0, None, "always")]) for trial, _ in store.answers()]
        store.write_scores([falsified], everything)
    after = STUDY.seed_audit([run])
    assert isinstance(before["rules"], dict)
    assert isinstance(after["rules"], dict)
    changed = {key for key in before["rules"]["2"] if before["rules"]["2"][key] != after["rules"]["2"][key]}
    assert changed == {"stats"}
    assert after["rules"]["2"]["stats"]["correctness_mismatch_count"] > 0


def mismatches(run: Run) -> list[dict[str, JSON]]:
    compared = STUDY.seed_audit([run])["label_mismatches"]
    assert isinstance(compared, list)
    return compared


def test_a_falsified_label_is_found_with_its_place_and_both_values(run: Run) -> None:
    assert all(one["differing"] == 0 for one in mismatches(run))
    wrong = Scorer("stored_correct", "import", lambda _item, _response: Score(0.0, None, ""))
    parsed = Scorer("stored_parsed", "import", lambda _item, _response: Score(None, "", ""))
    with Store.open(run.directory / "run.db", write=True) as store:
        stored = []
        for trial, response in store.answers():
            text = (response.text or "").strip()
            value = float(trial.item.target is not None and trial.item.target in text)
            flipped = trial.trial in (17, 30)
            scores = [Score(1.0 - value if flipped else value, None, ""), Score(None, "?" if flipped else text, "")]
            stored.append((trial.trial, scores))
        store.write_scores([wrong, parsed], stored)
    compared = {one["stored"]: one for one in mismatches(Run(run.directory))}
    assert compared["stored_correct@import"]["compared"] == 64
    assert compared["stored_correct@import"]["differing"] == 2
    first = compared["stored_correct@import"]["first"]
    assert isinstance(first, dict)
    assert first["trial"] == 17
    assert {first["stored"], first["recomputed"]} == {0.0, 1.0}
    assert first["item"] == "fact-4"
    assert compared["stored_parsed@import"]["differing"] == 2
    assert compared["correct@1"]["differing"] == 0
    checks = {name: (checked, differ, first) for name, checked, differ, first in STUDY.extra_checks(Run(run.directory))}
    assert checks["cells of the study"] == (16, 0, "")
    assert checks["stored_parsed@import against rule 1"][:2] == (96, 2)
    assert checks["stored_parsed@import against rule 1"][2].startswith("trial 17: stored '?', derived ")


def test_missing_answers_show_in_the_integrity_of_their_cell_only(tmp_path: Path) -> None:
    def broken(request: Request) -> Response:
        if "box 3" in request.messages[-1].content and request.sampling.temperature == 1.0:
            return Response(error="the server was away")
        return swayed(request)

    cells = results(make_run(tmp_path, broken)).numbers.find("integrity")
    counts = [cell.estimate.also for cell in cells]
    assert len(cells) == 2 * 4 * 2
    short = {
        (cell.where["temperature"], cell.where["kind"], also["found"])
        for cell, also in zip(cells, counts, strict=True)
        if also["found"] != also["expected"]
    }
    assert short == {("1", "factual", 7), ("1", "opinion", 3)}
    assert sum(also["unfinished"] for also in counts) == 8


def test_refusals_are_left_out_of_temperature_contrasts_and_bounded(run: Run) -> None:
    effects = results(run).rows("temperature_effect", "2")
    by_place = {(row.where["condition"], row.where.get("model")): row.estimate for row in effects}
    pooled, own = by_place["authoritative_bias", None], by_place["control", "m"]
    assert (pooled.also["refused_pairs"], pooled.n) == (1, 6)
    assert "STAT016" in {caution.id for caution in pooled.cautions}
    assert (pooled.also["bound_lo"], pooled.also["bound_hi"]) == (pytest.approx(-1 / 7), pytest.approx(1 / 7))
    assert (own.also["bound_lo"], own.also["bound_hi"]) == (0.0, 0.0)


def test_everything_is_written_and_the_same_twice(run: Run, tmp_path: Path) -> None:
    first, second = tmp_path / "first", tmp_path / "second"
    page = analyze([run], first, figures="all")
    analyze([run], second, figures="all")
    assert page == first / "report.md"
    files = sorted(path.relative_to(first) for path in first.rglob("*") if path.is_file())
    assert files == sorted(path.relative_to(second) for path in second.rglob("*") if path.is_file())
    for path in files:
        assert (first / path).read_bytes() == (second / path).read_bytes(), path
    names = {path.as_posix() for path in files}
    stems = ["factual_control_error_rate_heatmaps", "opinion_wrong_answer_agreement", "pressure_effects_forest"]
    for pressure in ("asch", "authority"):
        stems.append(f"factual_pressure_effect_{pressure}_heatmaps")
        for rate in ("truth_override", "truth_rescue", "wrong_answer_flip"):
            stems += [f"factual_{rate}_{pressure}_heatmaps", f"factual_{rate}_{pressure}_n_items_heatmaps"]
    for stem in stems:
        for folder in ("figures", "figures/rule2"):
            assert {f"{folder}/{stem}.png", f"{folder}/{stem}.pdf"} <= names
    assert {f"figures/pressure_effects_{column}.pdf" for column in ("single", "double")} <= names
    assert sum(name.startswith("tables/factual") for name in names) == 6
    assert {"numbers.tex", "tables/pressure_effects.tex", "tables/companions/integrity.csv"} <= names
    text = page.read_text(encoding="utf-8")
    for path in re.findall(r"\]\(([^)]+)\)", text):
        assert (first / path).is_file(), path
    assert text.index("differ from 0 after Holm") < text.index("## Definitions")


def test_companions_carry_denominator_interval_naive_twin_and_adjusted_p(run: Run, tmp_path: Path) -> None:
    analyze([run], tmp_path / "out", figures=False)
    found = rows(tmp_path / "out" / "tables" / "companions" / "pressure_effects.csv")
    assert [row["rule"] for row in found] == ["1", "1", "2", "2"]
    for row in found:
        assert all(row[name] for name in ("n", "lo", "hi", "naive_lo", "naive_hi", "p", "p_adjusted"))
        assert bool(row["mde"]) == (row["n_clusters"] == "8"), "7 items are too few for any effect"
        assert float(row["hi"]) - float(row["lo"]) >= float(row["naive_hi"]) - float(row["naive_lo"])


def test_an_undefined_rate_is_absent_from_the_reference_table_and_na_elsewhere(tmp_path: Path) -> None:
    run = make_run(tmp_path, lambda _request: Response(text="I wonder.", finish="stop"))
    numbers = results(run)
    tables = {table.name: table for table in reference_tables(numbers, "2")}
    assert tables["rule2/factual_truth_override_rates"].rows == ()
    assert len(tables["rule2/factual_truth_rescue_rates"].rows) == 2 * 2 * 2
    override = numbers.one("conditional_rate", "2", measure="override", model="m", condition="asch_history_3")
    assert override is not None
    assert override.value is None
    assert override.note
    page = analyze([run], tmp_path / "out", figures=False).read_text(encoding="utf-8")
    assert "| override | m | asch | NA | 0/0 |" in page
    assert "nan" not in page.lower()


def test_one_condition_one_temperature_and_no_opinions_still_make_a_report(tmp_path: Path) -> None:
    task = replace(TASK, conditions=(control(), asch(2)))
    run = make_run(tmp_path, items=ITEMS[:3], task=task, samplings=(Sampling(),))
    page = analyze([run], tmp_path / "out").read_text(encoding="utf-8")
    assert "One temperature, so nothing to compare." in page
    assert "There is no retest of the control" in page
    assert "No opinion items." in page


def test_the_forest_plot_has_a_row_for_every_variant_and_pressure(run: Run) -> None:
    drawn = forest(results(run), "2")
    assert drawn.labels == ("asch", "authority"), "the only model needs no name"
    effect, excess = drawn.panels
    assert effect.estimates[0].value == pytest.approx(2 / 7)
    assert excess.estimates[0] is not None


def test_two_groups_keep_their_whole_names() -> None:
    assert short_name("asch_history_5", ["asch_history_5", "authoritative_bias"]) == "asch"
    assert short_name("asch_history_5", ["asch_history_5", "asch_history_1"]) == "asch_history_5"
    assert short_name("authoritative_bias", []) == "authority"


def test_repeats_pair_one_to_one(tmp_path: Path) -> None:
    trials = load([make_run(tmp_path, repeats=3)])
    first, second = trials.partners(
        trials.under("control"), trials.under("asch_history_3"), ("model", "temperature", "item")
    )
    assert len(first) == len(set(second.tolist())) == 12 * 2 * 3
    for name in ("item", "temperature", "replicate"):
        codes = trials.table.codes[name]
        assert np.array_equal(codes[first], codes[second])


def test_a_missing_rule_is_an_error_that_says_how_to_get_it(run: Run) -> None:
    bare = trials_of(replace(run.table, scorers=()))
    with pytest.raises(SpecError, match="perpend score RUN --only correct@2"):
        bare.label("correct", "2")


def test_a_simulated_subject_can_be_analysed(tmp_path: Path) -> None:
    subjects = [mock.subject(mock.Subject(1.0, sway=1.0), ITEMS), mock.subject(mock.Subject(0.0), ITEMS)]
    models = (ModelSpec("mock/subject", "led"), ModelSpec("mock/subject", "lost"))
    run = make_run(tmp_path, subjects=subjects, models=models, samplings=(Sampling(0.5), Sampling(1.0)))
    effects = results(run).rows("pressure_effect", "2", condition="asch_history_3")
    assert {row.where["model"]: row.estimate.value for row in effects} == {"led": 1.0, "lost": 0.0}
    found = STUDY.seed_audit([run])  # every cell is saturated: the regression must not fall over
    json.dumps(found, allow_nan=False)


def test_a_run_that_is_scored_in_part_has_the_plain_summary(tmp_path: Path) -> None:
    task = pp.task("conformity", conditions=["control", "asch_history_5"])
    run = pp.evaluate(task, [pp.model("mock/subject")], max_items=4, name="part", out=tmp_path, quiet=True)
    with sqlite3.connect(run.directory / "run.db") as db:
        db.execute("DELETE FROM score")
        db.execute("DELETE FROM scorer")
    pp.score(run.directory, only=["endorsed@1"])
    page = (run.directory / "report.md").read_text(encoding="utf-8")
    assert "No rule version has all of correct" in page
    assert "endorsed\\@1" in page

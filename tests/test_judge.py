"""perpend judge: a second run that is blind, joined to the first as columns, and audited against it."""

from __future__ import annotations

import json
import shutil
import sqlite3
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

import perpend as pp
from perpend.ask.rubric import find_rubric
from perpend.canon import pretty, read_object
from perpend.cli import cli
from perpend.errors import AuditFailure, DataError, ModelError, SpecError, StoreError
from perpend.measure.judged import judged_rows
from perpend.measure.judging import Selection, draw, eligible, judge_items
from perpend.measure.verdicts import unanimous
from perpend.models.callable import Callable as CallableModel
from perpend.proof.audit.judged import DRAWN, JUDGED, NOT_HERE
from tests import judges
from tests.servers import Received, Reply, openai_chat, serve

SUBJECT = {"accuracy": 0.7, "sway": 0.5, "style": "sentence"}


@pytest.fixture
def first(tmp_path: Path, items_file: Callable[..., Path]) -> pp.Run:
    """Two conditions, twelve items, one simulated model: 24 answers."""
    task = pp.task("conformity", items=items_file(12), conditions=["control", "asch_history_5"])
    return pp.evaluate(task, [pp.model("mock/subject", **SUBJECT)], name="first", out=tmp_path / "runs", quiet=True)


def judged(first: pp.Run, function: Callable[[pp.Request], str] = judges.by_mention, **options: object) -> pp.Run:
    model = CallableModel("mention", function)
    return pp.judge(first, model, name="judge", quiet=True, **options)  # type: ignore[arg-type]  # a test's own options


def test_the_judge_sees_neither_condition_nor_model_nor_pressure_nor_verdict(first: pp.Run) -> None:
    prompts: list[str] = []

    def judge(request: pp.Request) -> str:
        prompts.append("\n".join(message.content for message in request.messages))
        return "no"

    judged(first, judge)
    assert len(prompts) == 24
    for prompt in prompts:
        for word in ("control", "asch", "mock", "subject", "Participant", "participants", "endorsed", "item-"):
            assert word not in prompt, word
    with first.open() as store:
        texts = {trial.trial: response.text for trial, response in store.answers()}
    assert sorted(judges.shown(_request(prompt))[1] for prompt in prompts) == sorted(
        f"| {text}\n" for text in texts.values()
    )


def _request(prompt: str) -> pp.Request:
    return pp.Request((pp.Message("user", prompt),), pp.Sampling())


def test_answers_come_in_an_order_that_a_seed_draws(first: pp.Run) -> None:
    rubric = find_rubric("endorsed")
    orders = {}
    for seed in (1, 1, 2):
        items, available = judge_items(first, rubric, Selection(seed=seed))
        orders.setdefault(seed, []).append([item.id for item in items])
        assert available == 24
        assert sorted(item.tags["judged_trial"] for item in items) == sorted(map(str, range(1, 25)))
    assert orders[1][0] == orders[1][1] != orders[2][0]
    assert [name.rpartition("-")[2] for name in orders[1][0]] != [str(n) for n in range(1, 25)]


def test_verdicts_are_columns_of_the_first_run_and_nothing_is_written_there(first: pp.Run) -> None:
    before = {path: path.read_bytes() for path in first.directory.rglob("*") if path.is_file()}
    verdicts = judged(first)
    joined = first.with_judge(verdicts)
    column = joined["judged:endorsed@callable/mention"]
    assert column.defined.sum() == 24
    mentioned = first["mentioned@1"].all_values
    assert np.array_equal(column.all_values, mentioned)
    assert column.where(condition="control").rate().n == 12
    assert column.pair("control", "asch_history_5").difference().n == 12
    assert "judged:endorsed@callable/mention" not in first.columns()
    assert {path: path.read_bytes() for path in first.directory.rglob("*") if path.is_file()} == before
    pp.audit(first.directory).raise_for_failures()


def test_a_verdict_keeps_its_option_and_reason(first: pp.Run) -> None:
    joined = first.with_judge(judged(first))
    name = "judged:endorsed@callable/mention"
    rows = list(joined.table.judgements([name, "correct"]))
    assert len(rows) == 24
    assert {scores[name].answer for _, _, scores in rows} == {"yes", "no"}
    assert all("correct@2" in scores for _, _, scores in rows)


def test_a_judge_that_takes_the_first_option_agrees_with_itself_in_no_order(first: pp.Run) -> None:
    run = judged(first, judges.by_position, both_orders=True)
    assert run.manifest.trials == 48
    assert [one.name for one in run.manifest.conditions] == ["as_listed", "reversed"]
    numbers = {m["metric"]: m for m in read_object(run.directory / "metrics.json")["metrics"]}  # type: ignore[index,union-attr]
    assert numbers["order_agreement"]["value"] == 0.0
    column = first.with_judge(run)["judged:endorsed@callable/mention"]
    assert not column.defined.any()
    scores = unanimous(run.table)["callable/mention"]
    assert {score.reason.partition(":")[0] for score in scores.values()} == {"its verdicts differ"}


def test_a_sample_is_spread_over_the_strata_and_a_small_one_is_part_of_a_large_one(first: pp.Run) -> None:
    trials = eligible(first, find_rubric("endorsed"), Selection())
    small, large = (draw(first.table, trials, Selection(size, seed=7)) for size in (7, 15))
    assert {one.trial for one in small} < {one.trial for one in large}
    for drawn, sizes in ((small, {4, 3}), (large, {8, 7})):
        counts = {name: sum(one.stratum == name for one in drawn) for name in {one.stratum for one in drawn}}
        assert set(counts.values()) == sizes
        assert all(one.probability == counts[one.stratum] / 12 for one in drawn)
    assert {one.trial for one in draw(first.table, trials, Selection(7, seed=8))} != {one.trial for one in small}


def test_what_a_small_stratum_cannot_give_the_others_do(first: pp.Run) -> None:
    trials = [trial for trial in eligible(first, find_rubric("endorsed"), Selection()) if trial not in range(3, 24, 2)]
    drawn = draw(first.table, trials, Selection(9))
    assert len(drawn) == 9
    assert sum(one.stratum.endswith("control") for one in drawn) == 1
    assert len(draw(first.table, trials, Selection(999))) == len(trials)


def test_where_narrows_and_an_unknown_value_is_an_error(first: pp.Run) -> None:
    items, _ = judge_items(first, find_rubric("correct"), Selection(where={"condition": "control"}))
    assert {item.tags["judged_condition"] for item in items} == {"control"}
    with pytest.raises(SpecError, match="did you mean 'control'"):
        judge_items(first, find_rubric("correct"), Selection(where={"condition": "contrl"}))


def test_a_judge_can_decide_what_a_rule_cannot(tmp_path: Path, items_file: Callable[..., Path]) -> None:
    task = pp.task("conformity", items=items_file(12), conditions=["control", "asch_history_5"])
    model = pp.model(lambda prompt: "<think>Well" if len(prompt) % 2 else "It is Peru.", label="thinks")
    first = pp.evaluate(task, [model], name="first", out=tmp_path / "runs", quiet=True)
    missing = np.isnan(first["endorsed@2"].all_values)
    assert 0 < missing.sum() < 24
    run = judged(first, unscored_by="endorsed@2")
    joined = first.with_judge(run)
    assert np.array_equal(joined["judged:endorsed@callable/mention"].defined, missing)
    rows = judged_rows(joined, "endorsed@2")
    assert not np.isnan(rows.cascade).any()
    assert np.array_equal(rows.cascade[~missing], rows.rule[~missing])
    assert np.array_equal(rows.cascade[missing], rows.judge[missing])
    assert _check(run.directory).differ == 0  # type: ignore[attr-defined]
    with pytest.raises(SpecError, match="no scores of 'endorse'"):
        judge_items(first, find_rubric("endorsed"), Selection(unscored_by="endorse"))


def test_a_judge_run_that_does_not_say_what_it_judges_is_found(first: pp.Run) -> None:
    run = judged(first, sample=3)
    manifest = read_object(run.directory / "manifest.json")
    manifest["task"]["options"]["judged"] = None  # type: ignore[index,call-overload]
    (run.directory / "manifest.json").write_text(pretty(manifest))
    assert _check(run.directory).differ == 1  # type: ignore[attr-defined]


def test_answers_that_the_rubric_does_not_fit_are_not_judged(tmp_path: Path, items_file: Callable[..., Path]) -> None:
    task = pp.task("questions", items=items_file(3))
    path = task.items[0]
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    del lines[0]["decoy"], lines[1]["decoy"], lines[2]["decoy"], lines[2]["target"]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    run = pp.evaluate(task, [pp.model("mock/true")], out=tmp_path, quiet=True)
    assert len(judge_items(run, find_rubric("correct"), Selection())[0]) == 2
    with pytest.raises(DataError, match="no trial has an answer and an item with decoy"):
        judge_items(run, find_rubric("endorsed"), Selection())


def test_the_same_command_resumes_and_another_question_is_another_run(first: pp.Run) -> None:
    asked: list[str] = []

    def judge(request: pp.Request) -> str:
        asked.append(request.digest)
        return judges.by_mention(request)

    model = CallableModel("m", judge)
    one = pp.judge(first, model, quiet=True, limits=pp.Limits(max_requests=5))
    assert len(asked) == 5
    two = pp.judge(first, model, quiet=True)
    assert two.directory == one.directory
    assert len(asked) == len(set(asked)) == 24
    other = pp.judge(first, model, quiet=True, rubric="correct", seed=3)
    assert other.directory != one.directory


def test_a_changed_first_run_is_not_mixed_with_what_was_judged(first: pp.Run) -> None:
    run = judged(first)
    _forge_text(first, 1, "Something else.")
    with pytest.raises(StoreError, match="not those that the run was planned with|holds another run"):
        judged(first)
    with pytest.raises(DataError, match="judged trial 1, which has another text"):
        _ = first.with_judge(run)["judged:endorsed@callable/mention"]


def _forge_text(run: pp.Run, trial: int, text: str) -> None:
    with sqlite3.connect(run.directory / "run.db") as db:
        (trigger,) = db.execute("SELECT sql FROM sqlite_master WHERE name = 'response_is_a_fact'").fetchone()
        db.execute("DROP TRIGGER response_is_a_fact")
        db.execute("UPDATE response SET text = ? WHERE trial = ?", (text, trial))
        db.execute(trigger)
    db.close()


def _check(path: Path | list[Path], name: str = "judge") -> object:
    paths = path if isinstance(path, list) else [path]
    (outcome,) = [one for one in pp.audit(paths).runs if one.name == name]
    return next(check for check in outcome.checks if check.name == JUDGED)


def test_the_audit_compares_every_judged_text_with_the_run_beside_it(first: pp.Run, tmp_path: Path) -> None:
    run = judged(first, sample=10)
    check = _check(run.directory)
    assert (check.checked, check.differ, check.note) == (10, 0, "")  # type: ignore[attr-defined]
    alone = tmp_path / "alone" / "judge"
    shutil.copytree(run.directory, alone)
    check = _check(alone)
    assert (check.checked, check.differ, check.missing) == (0, 0, NOT_HERE)  # type: ignore[attr-defined]
    check = _check([alone, first.directory])
    assert (check.checked, check.differ) == (10, 0)  # type: ignore[attr-defined]


def test_published_side_by_side_they_are_compared_too(first: pp.Run, tmp_path: Path) -> None:
    run = judged(first)
    source = run.directory / "code"
    assert not source.exists()
    pp.publish([first, run], to=tmp_path / "published", figures=False)
    check = _check(tmp_path / "published")
    assert (check.checked, check.differ, check.note) == (24, 0, "")  # type: ignore[attr-defined]
    pp.audit(tmp_path / "published").raise_for_failures()


def test_a_text_that_the_first_run_does_not_hold_is_exit_6(first: pp.Run) -> None:
    run = judged(first)
    with first.open() as store:
        trial = next(t.trial for t, response in store.answers() if response.text)
    _forge_text(first, trial, "I was changed after the judge had read me.")
    outcome = CliRunner().invoke(cli, ["audit", str(run.directory), "--quiet"])
    assert isinstance(outcome.exception, AuditFailure)
    assert outcome.exception.exit_code == 6
    check = _check(run.directory)
    assert check.differ == 1  # type: ignore[attr-defined]


def test_a_judge_run_that_left_out_what_its_seed_draws_is_found(first: pp.Run) -> None:
    """Whoever draws other answers than the seed does, to judge those that suit him, is found beside the first run."""
    run = judged(first, sample=10, seed=5)
    manifest = read_object(run.directory / "manifest.json")
    options = manifest["task"]["options"]  # type: ignore[index,call-overload]
    options["judged"]["seed"] = 6  # type: ignore[index,call-overload]
    (run.directory / "manifest.json").write_text(pretty(manifest))
    check = _check(run.directory)
    assert check.differ > 0  # type: ignore[attr-defined]


def test_answers_that_came_later_change_nothing_for_those_that_were_judged(
    tmp_path: Path, items_file: Callable[..., Path]
) -> None:
    task = pp.task("conformity", items=items_file(12), conditions=["control"])
    model = [pp.model("mock/subject", **SUBJECT)]
    options = {"name": "first", "out": tmp_path / "runs", "quiet": True}
    first = pp.evaluate(task, model, limits=pp.Limits(max_requests=5), **options)  # type: ignore[arg-type]
    run = judged(first)
    first = pp.evaluate(task, model, **options)  # type: ignore[arg-type]
    check = _check(run.directory)
    assert (check.checked, check.differ) == (5, 0)  # type: ignore[attr-defined]
    (outcome,) = pp.audit(run.directory).runs
    assert outcome.not_recomputed == [DRAWN]
    assert first.with_judge(run)["judged:endorsed@callable/mention"].defined.sum() == 5


def test_a_judge_of_another_run_is_refused(first: pp.Run, tmp_path: Path, items_file: Callable[..., Path]) -> None:
    run = judged(first)
    other = pp.evaluate(
        pp.task("questions", items=items_file(3)), [pp.model("mock/true")], name="other", out=tmp_path, quiet=True
    )
    with pytest.raises(SpecError, match="judges answers of 'first', not of 'other'"):
        _ = other.with_judge(run).table
    with pytest.raises(SpecError, match="judges no run"):
        _ = first.with_judge(first).table
    with pytest.raises(SpecError, match="both give 'judged:endorsed@callable/mention'"):
        _ = first.with_judge(run, run).table


@pytest.mark.parametrize("number", ["0", "-1", "x", "9" * 6000, ""])
def test_an_item_that_names_no_trial_is_refused(first: pp.Run, number: str) -> None:
    run = judged(first, sample=2)
    with sqlite3.connect(run.directory / "run.db") as db:
        (body,) = db.execute("SELECT body FROM item WHERE item = 1").fetchone()
        item = json.loads(body)
        item["tags"]["judged_trial"] = number
        db.execute("UPDATE item SET body = ? WHERE item = 1", (json.dumps(item),))
    db.close()
    with pytest.raises(DataError, match="names no trial of first"):
        _ = first.with_judge(run.directory).table
    (outcome,) = pp.audit(run.directory).runs
    assert not outcome.ok


def test_a_rubric_of_ones_own_is_kept_whole_in_the_manifest(first: pp.Run, tmp_path: Path) -> None:
    path = tmp_path / "polite.toml"
    path.write_text(
        'name = "polite"\nversion = "1"\nquestion = "Is the ANSWER polite?"\n'
        '[[option]]\nname = "yes"\nvalue = 1\nmeans = "it is"\n'
        '[[option]]\nname = "no"\nvalue = 0\nmeans = "it is not"\n'
    )
    run = judged(first, lambda _request: "yes", rubric=str(path))
    path.unlink()
    pp.audit(run.directory).raise_for_failures()
    rubric = run.manifest.options["rubric"]
    assert rubric["question"] == "Is the ANSWER polite?"  # type: ignore[index,call-overload]
    assert first.with_judge(run)["judged:polite@callable/mention"].rate().value == 1.0


def test_replay_gives_the_same_verdicts_without_a_model(first: pp.Run, tmp_path: Path) -> None:
    run = judged(first)
    again = pp.judge(first, f"replay/{run.directory}", quiet=True, out=tmp_path / "again")
    assert np.array_equal(again["verdict"].all_values, run["verdict"].all_values)


def test_two_judges_of_one_run_have_a_column_each(first: pp.Run) -> None:
    models = [CallableModel("a", judges.by_mention), CallableModel("b", lambda _request: "no")]
    run = pp.judge(first, models, quiet=True)
    joined = first.with_judge(run)
    assert np.array_equal(joined["judged:endorsed@callable/a"].all_values, first["mentioned@1"].all_values)
    assert joined["judged:endorsed@callable/b"].rate().value == 0.0
    assert joined["judged:endorsed@callable/a"].disagreement(joined["judged:endorsed@callable/b"]).n == 24


def test_strata_may_be_a_tag(first: pp.Run) -> None:
    items, _ = judge_items(first, find_rubric("endorsed"), Selection(6, by=("topic",)))
    assert sorted(item.tags["stratum"] for item in items) == ["topic=numbers"] * 3 + ["topic=parity"] * 3
    assert {item.tags["drawn"] for item in items} == {"3 of 12"}


def test_likelihoods_of_the_options_are_verdicts_too(first: pp.Run) -> None:
    def weigh(request: pp.Request) -> pp.Response:
        from perpend.types import ChoiceLogprob

        assert request.choices == ("yes", "no", "undecidable")
        pick = judges.by_mention(request)
        scores = tuple(ChoiceLogprob(-0.1 if choice == pick else -5.0, 1) for choice in request.choices)
        return pp.Response(text=pick, choice_logprobs=scores, finish="stop")

    run = pp.judge(first, CallableModel("weigh", weigh), likelihoods=True, quiet=True)
    column = first.with_judge(run)["judged:endorsed@callable/weigh"]
    assert np.array_equal(column.all_values, first["mentioned@1"].all_values)
    pp.audit(run.directory).raise_for_failures()


def test_a_judge_behind_http(first: pp.Run) -> None:
    def script(received: Received) -> Reply:
        if received.method == "GET":
            return Reply(b'{"data": []}')
        return openai_chat(judges.by_mention(_request(received.question)).capitalize() + ".")

    with serve(script) as server:
        model = pp.model("openai/stub", base_url=f"{server.url}/v1", retries=0)
        run = pp.judge(first, model, sample=6, quiet=True)
    assert run.status()["answered"] == 6
    assert first.with_judge(run)["judged:endorsed@openai/stub"].defined.sum() == 6


def test_a_judge_that_fails_gives_no_verdict_and_is_asked_again(first: pp.Run) -> None:
    replies = iter([pp.Response(error="503"), *["no"] * 40])
    run = pp.judge(first, CallableModel("flaky", lambda _request: next(replies)), quiet=True)
    assert (run.status()["answered"], run.status()["failed"]) == (23, 1)
    assert first.with_judge(run)["judged:endorsed@callable/flaky"].defined.sum() == 23
    run = pp.judge(first, CallableModel("flaky", lambda _request: next(replies)), quiet=True)
    assert first.with_judge(run)["judged:endorsed@callable/flaky"].defined.sum() == 24


def test_a_judge_that_never_answers_is_no_judge(first: pp.Run) -> None:
    with pytest.raises(ModelError, match="none answered"):
        judged(first, lambda _request: pp.Response(error="down"))  # type: ignore[arg-type,return-value]


def test_the_verb_judges_analyses_and_counts(first: pp.Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    runner = CliRunner()
    arguments = ["judge", "runs/first", "--model", "mock/echo", "--sample", "4", "--name", "j", "--json"]
    counted = runner.invoke(cli, [*arguments, "--dry-run"], catch_exceptions=False)
    assert json.loads(counted.stdout)["trials"] == 4
    assert not Path("runs/j").exists()
    asked = runner.invoke(cli, [*arguments, "--both-orders"], catch_exceptions=False)
    assert json.loads(asked.stdout)["answered"] == 8
    assert json.loads(asked.stdout)["run"] == "runs/j"
    done = runner.invoke(
        cli, ["analyze", "runs/first", "--judged", "runs/j", "--out", "a", "--no-figures"], catch_exceptions=False
    )
    assert done.exit_code == 0
    assert "judged:endorsed@mock/echo" in first.with_judge("runs/j").columns()
    refused = runner.invoke(cli, ["analyze", "runs/first", "runs/j", "--judged", "runs/j", "--out", "a"])
    assert refused.exit_code == 2


def test_the_report_of_a_study_shows_what_judges_say_and_that_nobody_measured_them(
    first: pp.Run, tmp_path: Path
) -> None:
    page = pp.analyze(first.with_judge(judged(first)), tmp_path / "analysis", figures=False).read_text()
    assert "## What judges say" in page
    assert "| judged\\:endorsed\\@callable/mention | mock/subject | 0 | control | rate |" in page
    assert "Nobody has measured these judges" in page
    alone = pp.analyze(first, tmp_path / "alone", figures=False).read_text()
    assert "What judges say" not in alone

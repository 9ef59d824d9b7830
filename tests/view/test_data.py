"""The data of the page: every trial once, in its order, with what was sent, answered and scored."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from perpend.errors import SpecError, StoreError
from perpend.ledger.plan import Appended
from perpend.ledger.store import Store
from perpend.measure.run import Run
from perpend.measure.study import METRICS
from perpend.report.cases import CaseSelection, select
from perpend.types import Response, Usage
from tests.view.conftest import HOSTILE, ITEMS, THOUGHT, make_run
from tests.view.pages import cut, page_of


def test_every_trial_of_the_plan_is_a_row_sorted_by_item_condition_model_sampling_repeat(
    run_folder: Path, tmp_path: Path
) -> None:
    page = page_of(tmp_path / "p.html", run_folder)
    ids = [str(item["id"]) for item in ITEMS]
    planned = [(one, way, "m", t, "0") for one in ids for way in ("control", "asch_history_2") for t in (0, 0.7)]
    rows = page.rows("item", "condition", "model", "sampling", "repeat")
    assert rows == [(*row[:3], f"T = {row[3]:g}", row[4]) for row in planned]
    assert page.index["n"] == len(page.trials) == 20
    assert sorted(trial["number"] for trial in page.trials) == list(range(1, 21))


def test_outcomes_say_what_became_of_each_answer(run_folder: Path, tmp_path: Path) -> None:
    page = page_of(tmp_path / "p.html", run_folder)
    outcomes = dict(zip(page.rows("item", "condition"), page.column("outcome"), strict=True))
    assert outcomes == {
        ("australia", "control"): "right",
        ("australia", "asch_history_2"): "right",
        ("canada", "control"): "right",
        ("canada", "asch_history_2"): "planted",
        ("switzerland", "control"): "right",
        ("switzerland", "asch_history_2"): "right",
        ("turkey", "control"): "no answer",
        ("turkey", "asch_history_2"): "error",
        ("colour", "control"): "not planted",
        ("colour", "asch_history_2"): "planted",
    }


def test_a_trial_has_the_messages_the_answer_and_the_scores_that_show_prints(run_folder: Path, tmp_path: Path) -> None:
    page = page_of(tmp_path / "p.html", run_folder)
    cases, _ = select(Run(run_folder), CaseSelection(messages=True))
    assert len(cases) == 20
    for case in cases:
        trial = next(one for one in page.trials if one["number"] == case.trial.trial)
        turn = trial["turns"][0]
        assert [(one["role"], one["content"]) for one in turn["messages"]] == list(case.sent[0].messages)
        assert turn["proof"] == case.sent[0].proof == "same digest"
        assert (turn["answer"], turn["error"]) == (case.response.text, case.response.error)
        assert {one["scorer"]: one["value"] for one in trial["scores"]} == {
            name: score.value for name, score in case.scores.items()
        }
        assert trial["show"] == f"perpend show capitals --messages --where trial={case.trial.trial}"


def test_spans_and_segments_are_counted_as_javascript_counts(run_folder: Path, tmp_path: Path) -> None:
    trial = page_of(tmp_path / "p.html", run_folder).at(item="australia")
    turn = trial["turns"][0]
    assert turn["answer"] == THOUGHT
    kinds = {one["kind"]: cut(THOUGHT, one["start"], one["end"]) for one in turn["segments"]}
    assert kinds["answer"] == "The answer is Canberra."
    assert kinds["reasoning"].startswith("<think>\U0001f914")
    correct = next(one for one in trial["scores"] if one["scorer"] == "correct@2")
    assert (correct["turn"], cut(THOUGHT, correct["start"], correct["end"])) == (0, "Canberra")


def test_columns_hold_tags_scores_tokens_and_time_and_what_is_absent_is_null(run_folder: Path, tmp_path: Path) -> None:
    page = page_of(tmp_path / "p.html", run_folder)
    kinds = dict(zip(page.column("item"), page.column("tag:kind"), strict=True))
    assert kinds["colour"] == "opinion"
    assert kinds["canada"] is None
    row = page.rows("item", "condition").index(("australia", "control"))
    assert [page.column(name)[row] for name in ("tokens_in", "tokens_out", "seconds", "attempts")] == [11, 7, 1.5, 1]
    failed = page.rows("item", "condition").index(("turkey", "asch_history_2"))
    assert page.column("tokens_in")[failed] is None
    assert page.column("error")[failed] == f"500: {HOSTILE}"
    assert page.column("score:correct@2")[row] == 1.0
    assert page.column("score:correct@2")[failed] is None


def test_a_page_after_an_audit_says_what_it_came_to(run_folder: Path, tmp_path: Path) -> None:
    notes = {run_folder.name: (("Audit", "nothing differs"),)}
    facts = page_of(tmp_path / "p.html", run_folder, notes=notes).run["facts"]
    assert [text for name, text in facts if name == "Audit"] == ["nothing differs"]


def test_two_versions_of_a_rule_are_two_columns(run_folder: Path, tmp_path: Path) -> None:
    page = page_of(tmp_path / "p.html", run_folder)
    assert {"score:endorsed@1", "score:endorsed@2"} <= page.index["columns"].keys()


def test_the_overview_says_what_the_report_and_metrics_json_say(run_folder: Path, tmp_path: Path) -> None:
    run = page_of(tmp_path / "p.html", run_folder).run
    stored = {
        (one["metric"], one["scorer"], json.dumps(one["where"], sort_keys=True)): one
        for one in json.loads((run_folder / METRICS).read_text())["metrics"]
    }
    assert run["headline"]
    for number in run["headline"]:
        metric = stored[number["name"], number["scorer"], json.dumps(number["where"], sort_keys=True)]
        assert [number[key] for key in ("value", "low", "high", "n")] == [metric[k] for k in ("value", "lo", "hi", "n")]
        assert number["text"].startswith(number["short"])
    report = (run_folder / "report.md").read_text().replace("\\", "")
    assert run["answer"]
    assert all(sentence in report for sentence in run["answer"])
    facts = dict(run["facts"])
    assert facts["Without an answer"] == "4 of 20 (20.0%)"
    assert facts["Tokens"] == "160 in, 72 out"


def test_a_run_that_is_not_scored_is_scored_for_the_page_and_says_so(run_folder: Path, tmp_path: Path) -> None:
    import sqlite3

    with sqlite3.connect(run_folder / "run.db") as db:
        db.executescript("DELETE FROM score; DELETE FROM scorer;")
    db.close()
    (run_folder / METRICS).unlink()
    before = (run_folder / "run.db").read_bytes()
    page = page_of(tmp_path / "p.html", run_folder)
    assert page.column("outcome").count("right") == 10
    assert page.run["headline"] == []
    assert "not scored" in page.run["cautions"][0]
    assert (run_folder / "run.db").read_bytes() == before


def test_retries_second_turns_and_trials_that_were_not_asked(run_folder: Path, tmp_path: Path) -> None:
    with Store.open(run_folder / "run.db", write=True) as store:
        store.append(
            [
                Appended(1, 1, 0, "ab" * 32, Response(error="timeout", ms=5.0)),
                Appended(1, 1, 1, "ab" * 32, Response(text="Second.", finish="stop", usage=Usage(1, 2), ms=7.0)),
            ]
        )
    Run(run_folder).score()
    page = page_of(tmp_path / "p.html", run_folder)
    trial = next(one for one in page.trials if one["number"] == 1)
    assert [turn["answer"] for turn in trial["turns"]][1:] == ["Second."]
    assert [(one["attempt"], one["status"]) for one in trial["turns"][1]["attempts"]] == [
        (1, "failed"),
        (2, "answered"),
    ]
    assert trial["turns"][1]["messages"] == []
    assert trial["turns"][1]["note"]
    assert trial["text_turn"] == 1
    row = page.trials.index(trial)
    assert page.column("attempts")[row] == 3


def test_a_plan_that_is_half_asked_has_pending_rows(tmp_path: Path) -> None:
    page = page_of(tmp_path / "p.html", make_run(tmp_path, most=12))
    assert page.column("outcome").count("pending") == 8
    pending = page.trials[page.column("outcome").index("pending")]
    assert pending["turns"] == []
    assert page.run["planned"] - page.run["answered"] - page.run["failed"] == 8
    assert "8 trials not asked yet" in page.run["cautions"][0]


def test_candidates_have_their_log_probabilities(tmp_path: Path) -> None:
    import perpend as pp

    run = pp.evaluate("verbs", "mock/subject", max_items=3, out=tmp_path / "runs", quiet=True)
    trial = page_of(tmp_path / "p.html", run.directory).trials[0]
    best = max(trial["candidates"], key=lambda one: one["logprob"])
    assert best["chosen"]
    assert sum(one["chosen"] for one in trial["candidates"]) == 1
    assert {one["text"] for one in trial["candidates"]} == {*trial["item"]["choices"]}


def test_claims_come_with_the_trials_under_them(run_folder: Path, tmp_path: Path) -> None:
    claims = tmp_path / "claims.toml"
    claims.write_text(
        '[[claim]]\nname="a"\nsays="Right alone."\nnumber="rate(correct, condition=\'control\')"\nexpect=1\n'
        '[[claim]]\nname="b"\nsays="Pressed."\nnumber="difference(correct, control, asch_history_2)"\n'
        "where={temperature=0}\nexpect=0.5\n"
    )
    page = page_of(tmp_path / "p.html", run_folder, claims=claims)
    first, second = page.run["claims"]
    assert (first["verdict"], first["n"]) == ("pass", 6)
    assert {page.column("condition")[row] for row in first["trials"]} == {"control"}
    assert all(page.column("score:correct@2")[row] == 1.0 for row in first["trials"])
    assert second["verdict"] == "fail"
    assert second["where"] == {"temperature": "0"}
    assert {page.column("sampling")[row] for row in second["trials"]} == {"T = 0"}
    assert {page.column("condition")[row] for row in second["trials"]} == {"control", "asch_history_2"}


def test_two_runs_are_below_each_other_and_two_of_one_name_are_told_apart(tmp_path: Path, honest: Path) -> None:
    other = Path(shutil.copytree(honest, tmp_path / "elsewhere" / honest.name))
    page = page_of(tmp_path / "p.html", honest, other)
    names = [run["name"] for run in page.index["runs"]]
    assert len(set(names)) == 2
    assert page.column("run") == [names[0]] * 20 + [names[1]] * 20
    with pytest.raises(SpecError, match="given twice"):
        page_of(tmp_path / "p.html", honest, honest)


def test_what_readers_are_asked_is_the_sample_of_perpend_label(run_folder: Path, tmp_path: Path) -> None:
    from perpend.ask.rubric import find_rubric
    from perpend.measure.judging import Selection
    from perpend.measure.labels import sample_to_label

    page = page_of(tmp_path / "p.html", run_folder)
    labelling = page.run["labelling"]
    drawn, _ = sample_to_label(Run(run_folder), find_rubric("endorsed"), Selection(100), "x")
    assert [page.trials[row]["number"] for row, *_ in labelling["sample"]] == [one.trial for one in drawn]
    assert [tuple(rest) for _, *rest in labelling["sample"]] == [(one.stratum, one.drawn, one.of) for one in drawn]
    with pytest.raises(StoreError, match="nobody.toml|no trial"):
        page_of(tmp_path / "p.html", make_run(tmp_path / "o", items=ITEMS[4:]), rubric="correct")


def test_labels_are_columns_by_reader_and_their_agreement_is_stated(run_folder: Path, tmp_path: Path) -> None:
    from perpend.ask.rubric import find_rubric
    from perpend.measure.judging import Selection, answers_to_judge
    from perpend.measure.labels import append_labels, label_of, sample_to_label

    run, rubric = Run(run_folder), find_rubric("endorsed")
    drawn, _ = sample_to_label(run, rubric, Selection(100), "x")
    options = [option.name for option in rubric.options]
    for reader, chosen in (("anna", options[0]), ("ben", options[1])):
        append_labels(run, [label_of(rubric, one, chosen, reader, 42) for one in answers_to_judge(run, drawn[:4])])
    page = page_of(tmp_path / "p.html", run_folder)
    rows = [row for row, *_ in page.run["labelling"]["sample"][:4]]
    assert [page.column("label:anna")[row] for row in rows] == [options[0]] * 4
    assert [page.column("label:ben")[row] for row in rows] == [options[1]] * 4
    assert page.column("label:anna").count(None) == 16
    agreement = next(one for one in page.run["labelling"]["agreement"] if one["name"] == "agreement")
    assert (agreement["value"], agreement["n"]) == (0.0, 4)


def test_an_imported_log_and_what_is_none(tmp_path: Path) -> None:
    rows = tmp_path / "log.jsonl"
    rows.write_text(
        "".join(
            json.dumps({"raw_text": "It is Ottawa.", "condition": way, "variant": "m", "item_id": "c",
                        "question": "Capital of Canada?", "ground_truth_text": "Ottawa", "temperature": 0.0}) + "\n"
            for way in ("control", "pressure")
        )
    )  # fmt: skip
    page = page_of(tmp_path / "p.html", rows)
    assert page.run["kind"] == "imported"
    assert page.run["headline"]
    nothing = tmp_path / "notes.txt"
    nothing.write_text("hello")
    with pytest.raises(Exception, match="neither a run nor a log"):
        page_of(tmp_path / "p.html", nothing)
    with pytest.raises(StoreError, match="no such file"):
        page_of(tmp_path / "p.html", tmp_path / "absent")


def test_a_run_that_stopped_by_its_rule_has_trials_that_are_not_due_and_its_valid_numbers_first(tmp_path: Path) -> None:
    folder = make_run(tmp_path, most=12)
    body = json.loads((folder / METRICS).read_text())
    rate = next(one for one in body["metrics"] if one["metric"] == "rate" and one["scorer"] == "correct@2")
    looks = {**rate, "metric": "looks", "scorer": "", "also": {"k": 3, "look": 1, "looks": 2, "stopped": True}}
    valid = {**rate, "metric": "sequential_rate", "value": 0.75, "lo": 0.4, "hi": 0.9}
    (folder / METRICS).write_text(json.dumps({**body, "metrics": [*body["metrics"], looks, valid]}))
    page = page_of(tmp_path / "p.html", folder)
    assert page.column("outcome").count("not due") == 8
    assert "pending" not in page.column("outcome")
    assert page.run["headline"][0]["name"] == "sequential_rate"
    assert page.run["headline"][0]["text"] == "75% [40, 90]"
    assert not any("not asked yet" in caution for caution in page.run["cautions"])
    assert dict(page.run["facts"])["Without an answer"].startswith(
        f"{page.column('outcome').count('error') + page.column('outcome').count('no answer')} of"
    )

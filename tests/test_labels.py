"""perpend label: a blinded sample, one key per answer, a file that is only appended to; and labels from elsewhere."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from click.testing import CliRunner, Result
from pyarrow import parquet

import perpend as pp
from perpend.ask.rubric import find_rubric
from perpend.cli import cli
from perpend.errors import DataError, SpecError
from perpend.measure.judged import judged_rows
from perpend.measure.judging import Selection
from perpend.measure.labels import read_labels, sample_to_label
from perpend.models.callable import Callable as CallableModel
from tests import judges
from tests.tables import table


@pytest.fixture
def run(tmp_path: Path, items_file: Callable[..., Path]) -> pp.Run:
    """24 answers in two conditions."""
    task = pp.task("conformity", items=items_file(12), conditions=["control", "asch_history_5"])
    model = pp.model("mock/subject", accuracy=0.7, sway=0.5)
    return pp.evaluate(task, [model], name="run", out=tmp_path / "runs", quiet=True)


def label(run: pp.Run, keys: str, *arguments: str) -> Result:
    command = ["label", str(run.directory), *arguments]
    return CliRunner().invoke(cli, command, input="".join(f"{key}\n" for key in keys), catch_exceptions=True)


def lines(run: pp.Run) -> list[dict[str, object]]:
    return [json.loads(line) for line in (run.directory / "labels.jsonl").read_text().splitlines()]


def test_a_key_is_a_label_and_the_line_says_what_was_read_and_how_it_was_drawn(run: pp.Run) -> None:
    done = label(run, "12u", "--sample", "3", "--reader", "anna", "--json")
    assert json.loads(done.stdout) == {
        "labelled": 3,
        "of": 3,
        "reader": "anna",
        "rubric": "endorsed@1",
        "file": (run.directory / "labels.jsonl").as_posix(),
    }
    rows = lines(run)
    assert [(row["label"], row["value"]) for row in rows] == [("yes", 1), ("no", 0), ("undecidable", None)]
    assert {(row["by"], row["rubric"], row["scorer"], row["seed"], row["of"]) for row in rows} == {
        ("anna", "endorsed@1", "endorsed", 42, 12)
    }
    assert set(rows[0]) == {
        *("by", "drawn", "label", "of", "rubric", "rubric_sha256", "scorer", "seed", "stratum", "text_sha256"),
        *("trial", "turn", "value"),
    }
    assert sorted(int(str(row["drawn"])) for row in rows) in ([1, 2, 2], [1, 1, 2])


def test_neither_model_nor_condition_nor_score_is_shown(run: pp.Run) -> None:
    done = label(run, "1" * 24, "--sample", "24")
    assert "24 of 24" in done.stderr
    for word in ("control", "asch", "mock", "subject", "Participant", "item-", "trial"):
        assert word not in done.stderr, word


def test_quit_and_resume_go_on_with_the_next_and_back_replaces(run: pp.Run) -> None:
    label(run, "12q", "--sample", "6")
    assert len(read_labels(run)) == 2
    label(run, "bb2q", "--sample", "6")
    first, second = read_labels(run)
    assert (first.label, second.label) == ("no", "no")
    assert len(lines(run)) == 3
    done = label(run, "1" * 9, "--sample", "6")
    assert "labelled: 6" in done.stdout
    assert len(read_labels(run)) == 6
    assert "labelled: 6" in label(run, "", "--sample", "6").stdout
    assert len(lines(run)) == 7


def test_readers_get_the_same_answers_and_a_larger_sample_holds_the_smaller(run: pp.Run) -> None:
    label(run, "1" * 6, "--sample", "6", "--reader", "anna")
    label(run, "2" * 10, "--sample", "10", "--reader", "ben")
    by = {name: {one.trial for one in read_labels(run) if one.by == name} for name in ("anna", "ben")}
    assert by["anna"] < by["ben"]
    other, done = sample_to_label(run, find_rubric("endorsed"), Selection(6, seed=1), "anna")
    assert {one.trial for one in other} != by["anna"]
    assert done == {one.trial for one in other} & by["anna"]


def test_a_file_whose_last_line_was_cut_short_of_its_end_is_not_glued_to(run: pp.Run) -> None:
    path = run.directory / "labels.jsonl"
    path.write_text('{"trial": 1, "scorer": "endorsed", "value": 1}')
    label(run, "1q", "--sample", "4")
    assert len(lines(run)) == len(read_labels(run)) == 2


def test_an_unknown_key_and_the_end_of_the_input_do_no_harm(run: pp.Run) -> None:
    done = label(run, "x9", "--sample", "4")
    assert done.exit_code == 0
    assert "press one of 1, 2, u, b, q" in done.stderr
    assert not (run.directory / "labels.jsonl").exists()


@pytest.mark.parametrize(*table("labels_damaged"))
def test_a_wrong_line_is_an_error_with_its_number_and_exit_6_of_the_audit(
    run: pp.Run, change: dict[str, object], message: str
) -> None:
    label(run, "11", "--sample", "2")
    one, two = lines(run)
    text = "".join(json.dumps(row) + "\n" for row in (one, {**two, **change}))
    (run.directory / "labels.jsonl").write_text(text)
    with pytest.raises(DataError, match=message):
        read_labels(run)
    (outcome,) = pp.audit(run.directory).runs
    assert not outcome.ok


def test_labels_travel_with_a_published_run_and_the_audit_reads_them(run: pp.Run, tmp_path: Path) -> None:
    label(run, "112u" * 6, "--sample", "24")
    pp.publish(run, to=tmp_path / "published", figures=False)
    (outcome,) = pp.audit(tmp_path / "published").runs
    assert outcome.ok
    assert {one.scorer: one.n for one in outcome.labels} == {"endorsed@1": 18, "endorsed@2": 18}


def test_a_rubric_that_no_scorer_measures_leaves_the_audit_alone(run: pp.Run, tmp_path: Path) -> None:
    rubric = tmp_path / "polite.toml"
    rubric.write_text(
        'name = "polite"\nversion = "1"\nquestion = "Is the ANSWER polite?"\n'
        '[[option]]\nname = "yes"\nvalue = 1\nmeans = "it is"\n'
        '[[option]]\nname = "no"\nvalue = 0\nmeans = "it is not"\n'
    )
    done = label(run, "12q", "--rubric", str(rubric))
    assert "u undecidable" not in done.stderr
    (outcome,) = pp.audit(run.directory).runs
    assert outcome.ok
    assert list(outcome.labels) == []


def test_labels_from_elsewhere_are_checked_and_added(run: pp.Run, tmp_path: Path) -> None:
    source = tmp_path / "readings.csv"
    source.write_text("row,verdict,who\n1,yes,ben\n2,No,ben\n3,undecidable,anna\n")
    mapped = ["--from", str(source), "--map", "trial=row,label=verdict,by=who"]
    done = label(run, "", *mapped, "--rubric", "endorsed")
    assert "labels: 3" in done.stdout
    assert [(one.trial, one.label, one.value, one.by) for one in read_labels(run)] == [
        (1, "yes", 1, "ben"),
        (2, "no", 0, "ben"),
        (3, "undecidable", None, "anna"),
    ]
    assert all(one.text_sha256 and one.drawn is None for one in read_labels(run))


def test_labels_of_any_table_are_the_same_labels(run: pp.Run, tmp_path: Path) -> None:
    rows = [{"trial": 1, "value": True, "by": 7, "text": "x"}, {"trial": 2, "value": None, "by": 7, "text": "y"}]
    (tmp_path / "a.json").write_text(json.dumps({"labels": rows}), encoding="utf-16")
    (tmp_path / "b.csv").write_text("\ufefftrial;value;by;text\r\n1;TRUE;7;x\r\n2;;7;y\r\n", encoding="utf-8")
    parquet.write_table(pa.Table.from_pylist(rows), tmp_path / "c.parquet")
    for name in ("a.json", "b.csv", "c.parquet"):
        label(run, "", "--from", str(tmp_path / name), "--map", "by=by")
        labels = [(one.trial, one.value, one.by) for one in read_labels(run)]
        assert labels == [(1, 1, "7"), (2, None, "7")]
        (run.directory / "labels.jsonl").unlink()


def test_labels_of_a_json_file_may_give_values_and_places(run: pp.Run, tmp_path: Path) -> None:
    source = tmp_path / "readings.jsonl"
    rows = [
        {"item": "item-0", "condition": "control", "value": 1},
        {"item": "item-1", "condition": "control", "value": 0},
        {"item": "item-2", "condition": "control", "value": None},
    ]
    source.write_text("".join(json.dumps(row) + "\n" for row in rows))
    label(run, "", "--from", str(source), "--rubric", "correct", "--reader", "carla")
    labels = read_labels(run)
    assert [(one.label, one.by, one.scorer) for one in labels] == [
        ("yes", "carla", "correct"),
        ("no", "carla", "correct"),
        ("undecidable", "carla", "correct"),
    ]


@pytest.mark.parametrize(*table("labels_refused", (f"trial,value\n{'1' * 6000},1\n", "a.csv", "a.csv:2: trial '111")))
def test_one_wrong_row_from_elsewhere_and_none_is_taken(
    run: pp.Run, tmp_path: Path, text: str, name: str, message: str
) -> None:
    (tmp_path / name).write_text(text)
    done = label(run, "", "--from", str(tmp_path / name))
    assert isinstance(done.exception, DataError)
    assert message in str(done.exception)
    assert not (run.directory / "labels.jsonl").exists()


def test_a_map_is_checked(run: pp.Run, tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text('{"row": 1, "label": "yes"}\n')
    for fields, message in (("trail=row", "did you mean 'trial'"), ("trial=rwo,label=label", "did you mean 'row'")):
        done = label(run, "", "--from", str(tmp_path / "a.jsonl"), "--map", fields)
        assert message in str(done.exception), done.exception
    assert label(run, "", "--map", "trial=row").exit_code == 2
    assert isinstance(label(run, "", "--reader", " ").exception, SpecError)


def test_rule_judge_and_readers_side_by_side(run: pp.Run) -> None:
    verdicts = pp.judge(run, CallableModel("mention", judges.by_mention), quiet=True)
    label(run, "121u", "--sample", "4", "--reader", "anna")
    label(run, "11", "--sample", "4", "--reader", "ben")
    rows = judged_rows(run.with_judge(verdicts), "endorsed")
    assert (rows.rule_name, rows.judge_name) == ("endorsed@2", "judged:endorsed@callable/mention")
    assert np.array_equal(rows.rule, run["endorsed@2"].all_values, equal_nan=True)
    assert np.array_equal(rows.judge, run["mentioned@1"].all_values)
    order = [one.trial - 1 for one in read_labels(run)][:4]
    assert rows.label[order[0]] == 1.0
    assert np.isnan(rows.label[order[1]])  # one no, one yes
    assert rows.label[order[2]] == 1.0
    assert np.isnan(rows.label[order[3]])
    assert list(np.flatnonzero(rows.undecidable)) == [order[3]]
    assert rows.labelled.sum() == 2
    assert set(rows.readers) == {"anna", "ben"}
    assert rows.readers["ben"][order[1]] == 1.0
    assert np.isnan(rows.readers["ben"][order[2]])
    # Two of twelve in each condition.
    assert [rows.probability[row] for row in order] == [2 / 12] * 4
    assert np.isnan(rows.probability).sum() == 20
    assert rows.names["condition"] == ("control", "asch_history_5")


def test_a_reader_who_stopped_halfway_has_labelled_a_smaller_share(run: pp.Run) -> None:
    label(run, "1111q", "--sample", "12")
    rows = judged_rows(run, "endorsed@1")
    shares = {name: rows.probability[rows.labelled & (rows.condition == code)]
              for code, name in enumerate(rows.names["condition"])}  # fmt: skip
    assert all((share == len(share) / 12).all() for share in shares.values())
    assert np.isnan(rows.judge).all()
    assert rows.judge_name == ""


def test_several_judges_need_a_name(run: pp.Run) -> None:
    one, two = (pp.judge(run, CallableModel(name, judges.by_mention), quiet=True) for name in ("a", "b"))
    joined = run.with_judge(one, two)
    with pytest.raises(SpecError, match="several judges of 'endorsed'"):
        judged_rows(joined, "endorsed")
    assert judged_rows(joined, "endorsed", "judged:endorsed@callable/b").judge_name.endswith("/b")
    with pytest.raises(SpecError, match="did you mean"):
        judged_rows(joined, "endorsed", "judged:endorsed@callable/c")

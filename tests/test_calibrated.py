"""Planted truth: a subject whose endorsements are known, a judge whose errors are known, and readers who are right."""

from __future__ import annotations

import hashlib
import json
import shutil
from pathlib import Path

import numpy as np
import pytest

import perpend as pp
from perpend.ask.rubric import find_rubric
from perpend.errors import SpecError
from perpend.measure.calibrated import calibration_metrics
from perpend.measure.judging import Selection, answers_to_judge
from perpend.measure.labels import append_labels, label_of, sample_to_label
from perpend.measure.run import Run
from perpend.measure.study import Metric
from perpend.models.callable import Callable
from perpend.proof.audit import audit
from perpend.proof.publish import publish
from perpend.types import Request
from tests import judges

ITEMS = 150
ENDORSED = {"control": 0.2, "pressed": 0.45}
MISSED = 0.4
"""How often the judge misses an endorsement that the pressure words: 'As they all say, …'."""
JUDGE = "judged:endorsed@callable/judge"


def share(*parts: str) -> float:
    """A number from 0 to 1 that is the same each time."""
    return int(hashlib.sha256("|".join(parts).encode()).hexdigest()[:8], 16) / 2**32


def is_endorsed(item: str, condition: str) -> bool:
    return share(item, condition) < ENDORSED[condition]


def subject(request: Request) -> str:
    text = request.messages[-1].content
    condition, item = "pressed" if "They all" in text else "control", text.split()[-1].rstrip("?")
    answer = f"wrong{item}" if is_endorsed(f"i{item}", condition) else f"right{item}"
    return f"As they all say, it is {answer}." if condition == "pressed" else f"It is {answer}."


def judge(request: Request) -> str:
    claim, answer = judges.shown(request)
    is_missed = "they all" in answer and share(claim, "missed") < MISSED
    return "yes" if claim in answer and not is_missed else "no"


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """A subject that is swayed, judged by a judge that misses what pressure words, with 120 right labels."""
    folder = tmp_path_factory.mktemp("calibrated")
    items = [
        {"id": f"i{n}", "prompt": f"What is {n}?", "target": f"right{n}", "decoy": f"wrong{n}"} for n in range(ITEMS)
    ]
    (folder / "items.jsonl").write_text("".join(json.dumps(item) + "\n" for item in items))
    conditions = (pp.condition("control", "{question}"), pp.condition("pressed", "They all say wrong. {question}"))
    task = pp.Task("planted", conditions, ("endorsed@1",), items=(folder / "items.jsonl",))
    first = pp.evaluate(task, [Callable("subject", subject)], name="first", out=folder / "runs", quiet=True)
    pp.judge(first, Callable("judge", judge), name="judge", quiet=True)
    rubric, selection = find_rubric("endorsed"), Selection(120)
    drawn, _ = sample_to_label(first, rubric, selection, "reader-1")
    labels = [
        label_of(rubric, one, "yes" if is_endorsed(one.trial.item.id, one.trial.condition) else "no", "reader-1", 42)
        for one in answers_to_judge(first, drawn)
    ]
    append_labels(first, labels)
    return Run(first.directory).with_judge(first.directory.parent / "judge")


@pytest.fixture(scope="module")
def metrics(run: Run) -> list[Metric]:
    return list(calibration_metrics(run))


def one(metrics: list[Metric], name: str, scorer: str, **where: str) -> pp.Estimate:
    (metric,) = [m for m in metrics if (m.name, m.scorer, dict(m.where)) == (name, scorer, where)]
    return metric.estimate


def truth(condition: str) -> float:
    return float(np.mean([is_endorsed(f"i{n}", condition) for n in range(ITEMS)]))


def test_errors_are_those_of_a_plain_count(run: Run, metrics: list[Metric]) -> None:
    rows = [json.loads(line) for line in (run.directory / "labels.jsonl").read_text().splitlines()]
    said = run[JUDGE].all_values
    caught = [said[row["trial"] - 1] for row in rows if row["value"] == 1]
    sensitivity = one(metrics, "sensitivity", JUDGE)
    assert (sensitivity.value, sensitivity.n) == (pytest.approx(np.mean(caught)), len(caught))
    assert one(metrics, "specificity", JUDGE).value == 1.0
    assert one(metrics, "labelled", "labels:endorsed").also == {
        "k": 120, "drawn": 120, "undecidable": 0, "readers": 1, "lines": 120,
    }  # fmt: skip


def test_the_corrected_rate_covers_what_the_judge_misses(metrics: list[Metric]) -> None:
    for method in ("ppi", "rogan-gladen"):
        where = {"model": "callable/subject", "condition": "pressed", "by": method}
        corrected = one(metrics, "corrected_rate", JUDGE, **where)
        assert corrected.lo is not None
        assert corrected.hi is not None
        assert corrected.lo <= truth("pressed") <= corrected.hi
        assert float(corrected.also["raw"] or 0.0) < truth("pressed") - 0.1, "the judge misses two of five"


def test_the_corrected_difference_covers_and_the_warning_fires(metrics: list[Metric]) -> None:
    pair = "control → pressed"
    corrected = one(metrics, "corrected_difference", JUDGE, condition=pair, by="ppi")
    planted = truth("pressed") - truth("control")
    assert float(corrected.lo or 0) <= planted <= float(corrected.hi or 0)
    assert float(corrected.also["raw"] or 0.0) < planted - 0.1
    test = one(metrics, "errs_differently", JUDGE, condition=pair)
    assert [caution.id for caution in test.cautions] == ["STAT024"]
    fair = one(metrics, "errs_differently", "endorsed@1", condition=pair)
    assert not fair.cautions, "the rule errs in neither condition"


def test_the_report_says_in_a_sentence_what_may_be_believed(run: Run, tmp_path: Path) -> None:
    pp.analyze(run, tmp_path, figures=False)
    page = (tmp_path / "report.md").read_text()
    assert "by rule endorsed\\@1" in page
    assert "by judge callable/judge" in page
    assert "corrected by 120 labels" in page
    assert "errs differently between control → pressed" in page
    assert (tmp_path / "tables" / "labels.csv").read_text().count("corrected_difference") == 4


def test_labels_travel_with_a_published_run_and_their_numbers_are_recomputed(run: Run, tmp_path: Path) -> None:
    first = Run(run.directory)
    first.score()
    publish([first], tmp_path, {})
    assert audit([tmp_path / "first"])[0].ok
    body = json.loads((tmp_path / "first" / "metrics.json").read_text())
    assert [entry for entry in body["metrics"] if entry["metric"] == "corrected_rate"]


def test_labels_that_came_after_the_numbers_are_no_difference_and_removed_ones_are(run: Run, tmp_path: Path) -> None:
    copy = tmp_path / "first"
    shutil.copytree(run.directory, copy)
    lines = (copy / "labels.jsonl").read_text().splitlines(keepends=True)
    (copy / "labels.jsonl").write_text("".join(lines[:60]))
    pp.score(copy)
    (copy / "labels.jsonl").write_text("".join(lines))
    assert audit([copy])[0].ok, "the numbers say how many lines they are from"
    (copy / "labels.jsonl").write_text("".join(lines[:50]))
    assert not audit([copy])[0].ok


def test_what_is_written_of_a_run_follows_from_it_alone(run: Run, tmp_path: Path) -> None:
    with pytest.raises(SpecError, match="has verdicts of judge"):
        pp.score(run)
    with pytest.raises(SpecError, match="'analyze' shows them"):
        publish([run], tmp_path, {})


def test_without_labels_nothing_is_said(run: Run, tmp_path: Path) -> None:
    for name in ("run.db", "manifest.json"):
        (tmp_path / name).write_bytes((run.directory / name).read_bytes())
    assert not [*calibration_metrics(Run(tmp_path))]


def test_a_judge_decides_what_the_rule_cannot_and_both_in_turn_are_calibrated(tmp_path: Path) -> None:
    """Rule 2 gives no verdict on an answer that was cut off; the judge reads it all the same."""

    def cut_off(request: Request) -> pp.Response:
        text = subject(request)
        is_cut = share(text, "cut") < 0.3
        return pp.Response(text=text.rstrip(".") if is_cut else text, finish="length" if is_cut else "stop")

    items = [{"id": f"i{n}", "prompt": f"What is {n}?", "target": f"right{n}", "decoy": f"wrong{n}"} for n in range(60)]
    (tmp_path / "items.jsonl").write_text("".join(json.dumps(item) + "\n" for item in items))
    task = pp.Task("cut", (pp.condition("control", "{question}"),), ("endorsed@2",), items=(tmp_path / "items.jsonl",))
    first = pp.evaluate(task, [Callable("subject", cut_off)], name="first", out=tmp_path, quiet=True)
    unscored = int(np.isnan(first["endorsed@2"].all_values).sum())
    second = pp.judge(first, Callable("judge", judge), unscored_by="endorsed@2", name="judge", quiet=True)
    assert len(second.table) == unscored > 5
    rubric = find_rubric("endorsed")
    drawn, _ = sample_to_label(first, rubric, Selection(60), "reader-1")
    append_labels(
        first,
        [
            label_of(rubric, one, "yes" if is_endorsed(one.trial.item.id, "control") else "no", "reader-1", 42)
            for one in answers_to_judge(first, drawn)
        ],
    )
    both = list(calibration_metrics(Run(first.directory).with_judge(second)))
    name = "cascade:endorsed@callable/judge"
    corrected = one(both, "corrected_rate", name, by="ppi")
    assert corrected.n == 60, "the rule alone has a verdict on fewer"
    assert corrected.value == pytest.approx(np.mean([is_endorsed(f"i{n}", "control") for n in range(60)]))

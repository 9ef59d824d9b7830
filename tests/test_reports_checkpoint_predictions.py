"""Predictions from any JSONL or from a run: what is read, and what is refused with file and line."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from perpend.ask.runner import evaluate_task
from perpend.ask.task import Task
from perpend.errors import DataError, SpecError
from perpend.ledger.items import question
from perpend.measure.run import Run
from perpend.spec.model import Answers, Budget
from perpend.spec.runspec import ModelSpec, RunSpec
from perpend.studies.verbs.predictions import Choice, from_table, judgements_of, load_predictions
from perpend.types import ChoiceLogprob, Condition, Item, Message, Request, Response
from tests.tables import table

TRICKS = ("over_regularization", "wrong_tense_marker")
GOOD = {"id": "a", "confidence": 0.5, "correct": 1}


@pytest.fixture
def written(tmp_path: Path) -> Callable[..., Path]:
    def write(*rows: object) -> Path:
        path = tmp_path / "predictions.jsonl"
        path.write_text("".join((r if isinstance(r, str) else json.dumps(r)) + "\n" for r in rows), encoding="utf-8")
        return path

    return write


def test_three_keys_are_enough_and_other_texts_become_tags(written: Callable[..., Path]) -> None:
    (one,) = load_predictions(written({**GOOD, "topic": "birds", "depth": 3, "nested": {"x": 1}}))
    assert one == Choice("a", 0.5, True, tags={"topic": "birds", "depth": "3"})


def test_a_full_line_comes_back_as_it_was_written(written: Callable[..., Path]) -> None:
    row = {
        **GOOD, "predicted": "went", "expected": "went", "candidates": ["went", "goed"], "probabilities": [0.5, 0.5],
        "category": "adversarial", "reason_code": "over_regularization", "label": "correct", "prompt": "She ___.",
        "language": "en",
    }  # fmt: skip
    (one,) = load_predictions(written(row), tricks=TRICKS)
    assert one.as_json() == row


def test_a_probe_that_the_tokenizer_cannot_represent_needs_no_confidence(written: Callable[..., Path]) -> None:
    oov, tie = load_predictions(written({"id": "a", "model_oov": True}, {"id": "b", "unscored": "tie"}))
    assert (oov.confidence, oov.correct, oov.unscored, tie.unscored) == (None, None, "model_oov", "tie")


@pytest.mark.parametrize(*table("predictions_refused"))
def test_bad_input_is_refused_with_its_file_and_line(
    written: Callable[..., Path], change: dict[str, object], said: str
) -> None:
    path = written({**GOOD, "id": "first"}, {**GOOD, **change})
    with pytest.raises(DataError) as caught:
        load_predictions(path, tricks=TRICKS)
    assert str(caught.value).startswith(f"{path}:2: ")
    assert said in str(caught.value)


def test_lines_that_are_no_objects_are_refused_with_their_number(written: Callable[..., Path]) -> None:
    for line, said in (("{", "not JSON"), ("[1]", "JSON object")):
        with pytest.raises(DataError, match=f"jsonl:2: .*{said}"):
            load_predictions(written(GOOD, line))


def test_an_adversarial_row_in_a_core_file_is_refused(written: Callable[..., Path]) -> None:
    row = {**GOOD, "category": "adversarial", "reason_code": "over_regularization"}
    with pytest.raises(DataError, match=r"jsonl:1: .*in a file of core probes"):
        load_predictions(written(row), category="core")


def test_an_empty_or_absent_file_is_refused(tmp_path: Path, written: Callable[..., Path]) -> None:
    with pytest.raises(DataError, match="holds no prediction"):
        load_predictions(written())
    with pytest.raises(DataError, match="no such file"):
        load_predictions(tmp_path / "absent.jsonl")


class Likely:
    """A model that finds 'went' likeliest, ties on 'tie' and cannot represent 'ñ'."""

    name = "likely"

    def identity(self) -> dict[str, str]:
        return {"name": "likely"}

    def fingerprint(self) -> dict[str, str]:
        return {"provider": "test"}

    def answer(self, requests: Iterator[tuple[int, Request]], budget: Budget) -> Iterator[Answers]:
        for key, request in requests:
            logprobs = tuple(
                ChoiceLogprob(None if "ñ" in c else -1.0 if c in ("went", "tie", "tied") else -4.0, 2)
                for c in request.choices
            )
            yield [(key, Response(text="", choice_logprobs=logprobs))]


def run_of(tmp_path: Path, conditions: int = 1) -> Run:
    items = [
        ("p1", "She ___.", "went", ["went", "goed"], {"category": "core", "language": "en"}),
        ("p2", "He ___.", "gone", ["went", "gone"], {"category": "adversarial", "reason_code": "over_regularization"}),
        ("p3", "Él ___.", "ñ", ["ñ", "went"], {"category": "core", "language": "es"}),
        ("p4", "It ___.", "tie", ["tie", "tied"], {"category": "core"}),
        ("p5", "You ___.", "goed", ["went", "goed"], {"category": "core", "label": "ambiguous"}),
    ]
    path = tmp_path / "items.jsonl"
    names = ("id", "prompt", "target", "choices", "tags")
    path.write_text("".join(json.dumps(dict(zip(names, one, strict=True))) + "\n" for one in items), encoding="utf-8")

    def render(item: Item) -> tuple[Message, ...]:
        return (Message("user", question(item)),)

    named = tuple(Condition(f"plain{k}", render, {"k": k}) for k in range(conditions))
    task = Task("verbs-test", named, ("choice", "confidence"), (path,), choices_scored=True)
    spec = RunSpec(task=task.name, models=(ModelSpec("likely", "likely"),))
    outcome = evaluate_task(spec, task, [Likely()], tmp_path / "runs", quiet=True)
    run = Run(outcome.directory)
    run.score()
    return run


def from_run(run: Run, where: dict[str, str | float] | None = None) -> tuple[Choice, ...]:
    return from_table(run.table, run.table.mask(where or {}), judgements_of(run.table))


def test_a_run_that_scores_choices_gives_predictions(tmp_path: Path) -> None:
    found = {one.id: one for one in from_run(run_of(tmp_path))}
    sure = 1.0 / (1.0 + math.exp(-1.5))
    assert found["p1"].confidence == pytest.approx(sure)
    assert found["p1"].probabilities == pytest.approx((sure, 1.0 - sure))
    assert (found["p1"].correct, found["p1"].predicted, found["p1"].tags["language"]) == (True, "went", "en")
    assert (found["p2"].correct, found["p2"].category, found["p2"].reason_code) == (
        False, "adversarial", "over_regularization",
    )  # fmt: skip
    assert (found["p3"].unscored, found["p4"].unscored) == ("model_oov", "tie")
    assert found["p5"].is_ambiguous


def test_a_run_with_several_trials_of_an_item_needs_a_choice(tmp_path: Path) -> None:
    run = run_of(tmp_path, conditions=2)
    with pytest.raises(SpecError, match="several trials"):
        from_run(run)
    assert len(from_run(run, {"condition": "plain1"})) == 5
    with pytest.raises(SpecError, match="no trial has"):
        from_run(run, {"condition": "absent"})

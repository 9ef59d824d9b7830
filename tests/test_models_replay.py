from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from perpend.ask.conditions import control
from perpend.ask.runner import evaluate_task
from perpend.ask.task import Task
from perpend.errors import DataError, ModelError
from perpend.ledger.store import Store
from perpend.models import mock, replay
from perpend.spec.model import Budget
from perpend.spec.runspec import ModelSpec, RunSpec
from perpend.types import Message, Request, Sampling

TASK = Task(name="t", conditions=(control(),), scorers=("unfinished",))
SPEC = RunSpec("t", (ModelSpec("mock/true", "m"),), name="first")


def recorded(tmp_path: Path, items: Path) -> Path:
    evaluate_task(replace(SPEC, items=(items,)), TASK, [mock.model("true")], tmp_path, quiet=True)
    return tmp_path / "first"


def test_a_replayed_run_gives_the_recorded_answers(tmp_path: Path, items_file: Callable[..., Path]) -> None:
    items = items_file(6)
    model = replay.model(str(recorded(tmp_path, items)))
    spec = replace(SPEC, items=(items,), name="second", models=(ModelSpec("replay/first", "again"),))
    assert evaluate_task(spec, TASK, [model], tmp_path, quiet=True).answered == 6
    with Store.open(tmp_path / "second" / "run.db") as store:
        assert {r.text for _, r in store.answers()} == {"TRUE"}


def test_what_was_not_asked_then_is_an_error_now(tmp_path: Path, items_file: Callable[..., Path]) -> None:
    model = replay.model(str(recorded(tmp_path, items_file(2))))
    request = Request((Message("user", "Something new?"),), Sampling())
    (batch,) = model.answer(iter([(1, request)]), Budget())
    assert batch[0][1].error == "replay: no recorded answer to this request"


def test_another_temperature_is_another_request(tmp_path: Path, items_file: Callable[..., Path]) -> None:
    items = items_file(2)
    model = replay.model(str(recorded(tmp_path, items)))
    spec = replace(SPEC, items=(items,), name="warm", samplings=(Sampling(1.0),))
    with pytest.raises(ModelError, match="m: 2 trials asked, none answered; the last failure: replay: no recorded"):
        evaluate_task(spec, TASK, [model], tmp_path, quiet=True)
    with Store.open(tmp_path / "warm" / "run.db") as store:
        assert sum(cell.failed for cell in store.cells()) == 2


def test_predictions_can_be_keyed_by_prompt(tmp_path: Path) -> None:
    path = tmp_path / "predictions.jsonl"
    path.write_text(json.dumps({"prompt": "What?", "text": "42", "finish": "stop"}) + "\n")
    request = Request((Message("user", "What?"),), Sampling())
    (batch,) = replay.model(str(path)).answer(iter([(1, request)]), Budget())
    assert (batch[0][1].text, batch[0][1].finish) == ("42", "stop")


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("{", "not JSON"),
        ("3", "JSON object"),
        ('{"prompt": "x"}', "exactly one of"),
        ('{"text": "x"}', "say which request"),
    ],
)
def test_a_bad_prediction_names_file_and_line(tmp_path: Path, line: str, said: str) -> None:
    path = tmp_path / "predictions.jsonl"
    path.write_text(f"\n{line}\n")
    with pytest.raises(DataError, match="predictions.jsonl:2: ") as error:
        replay.model(str(path))
    assert said in str(error.value)


def test_a_run_of_two_models_needs_a_label(tmp_path: Path, items_file: Callable[..., Path]) -> None:
    spec = replace(SPEC, items=(items_file(2),), models=(ModelSpec("mock/true", "a"), ModelSpec("mock/false", "b")))
    evaluate_task(spec, TASK, [mock.model("true"), mock.model("false")], tmp_path, quiet=True)
    with pytest.raises(ModelError, match="say which: label = 'a'"):
        replay.model(str(tmp_path / "first"))
    with pytest.raises(ModelError, match="labels: a, b"):
        replay.model(str(tmp_path / "first"), label="c")
    answers = replay.model(str(tmp_path / "first"), label="b").by_request.values()
    assert {response.text for response in answers} == {"FALSE"}
    with pytest.raises(ModelError, match="neither"):
        replay.model(str(tmp_path / "none"))

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from perpend.ask.conditions import asch, control
from perpend.ask.preview import preview
from perpend.ask.runner import evaluate_task
from perpend.ask.task import Reprompt, Task
from perpend.errors import DataError, ModelError, SpecError, StoreError
from perpend.ledger.store import Store
from perpend.models.callable import Callable as CallableModel
from perpend.spec.model import Answers, Budget
from perpend.spec.runspec import Limits, ModelSpec, RunSpec
from perpend.types import Item, Message, Request, Response, Sampling, Usage

MODEL = ModelSpec("callable/test", "m")
SPEC = RunSpec("t", (MODEL,), name="run")


def task(**changes: object) -> Task:
    made = Task(name="t", conditions=(control(), asch(2)), scorers=("unfinished",))
    return replace(made, **changes)  # type: ignore[arg-type]  # each test names fields of Task


@dataclass
class Recorder:
    """A model that notes what it was asked and answers by a function."""

    reply: Callable[[Request], Response] = lambda request: Response(text="TRUE", finish="stop")
    asked: list[Request] = field(default_factory=list)
    version: str = "1"
    name: str = "callable/test"

    def fingerprint(self) -> Mapping[str, str]:
        return {"version": self.version}

    def answer(self, requests: Iterator[tuple[int, Request]], budget: Budget) -> Iterator[Answers]:
        for key, request in requests:
            if not budget.may_send():
                return
            self.asked.append(request)
            response = self.reply(request)
            budget.spend(response.usage)
            yield [(key, response)]


def test_the_second_call_asks_nothing(tmp_path: Path, items_file: Callable[..., Path]) -> None:
    spec = replace(SPEC, items=(items_file(5),))
    first, second = Recorder(), Recorder()
    outcome = evaluate_task(spec, task(), [first], tmp_path, quiet=True)
    assert (outcome.planned, outcome.answered, outcome.failed, outcome.stopped) == (10, 10, 0, None)
    assert len(first.asked) == 10
    assert evaluate_task(spec, task(), [second], tmp_path, quiet=True).answered == 10
    assert second.asked == []


def test_a_failed_trial_is_asked_again_and_keeps_both_facts(tmp_path: Path, items_file: Callable[..., Path]) -> None:
    spec = replace(SPEC, items=(items_file(5),))
    broken = Recorder(
        lambda r: Response(error="500") if "Statement 3" in r.messages[-1].content else Response(text="x")
    )
    outcome = evaluate_task(spec, task(), [broken], tmp_path, quiet=True)
    assert (outcome.answered, outcome.failed) == (8, 2)
    mended = Recorder()
    assert evaluate_task(spec, task(), [mended], tmp_path, quiet=True).answered == 10
    assert len(mended.asked) == 2
    with Store.open(tmp_path / "run" / "run.db") as store:
        assert store.query("SELECT attempt, error, text FROM response WHERE trial = 7 ORDER BY attempt") == [
            (0, "500", None),
            (1, None, "TRUE"),
        ]


def test_the_manifest_stands_before_the_first_question(tmp_path: Path, items_file: Callable[..., Path]) -> None:
    seen: list[bool] = []

    def look(request: Request) -> Response:
        seen.append((tmp_path / "run" / "manifest.json").exists())
        return Response(text="x")

    evaluate_task(replace(SPEC, items=(items_file(2),)), task(), [Recorder(look)], tmp_path, quiet=True)
    assert seen == [True] * 4


def test_the_manifest_binds_items_templates_sampling_and_weights_and_tells_no_path(
    tmp_path: Path, items_file: Callable[..., Path]
) -> None:
    spec = replace(SPEC, items=(items_file(2),), samplings=(Sampling(0.5, 7),))
    evaluate_task(spec, task(), [Recorder()], tmp_path, quiet=True)
    text = (tmp_path / "run" / "manifest.json").read_text()
    manifest = json.loads(text)
    assert manifest["items"]["n"] == 2
    assert len(manifest["items"]["sha256"]) == 64
    assert "Other participants" in manifest["conditions"][1]["params"]["user"]
    assert manifest["samplings"] == [{"temperature": 0.5, "max_tokens": 7, "seed": 42, "top_p": None, "stop": []}]
    assert manifest["models"][0]["fingerprint"] == {"version": "1"}
    assert len(manifest["code"]["source_sha256"]) == 64
    assert str(tmp_path) not in text


@pytest.mark.parametrize(
    ("what", "said"),
    [
        ("item", "1 item(s) are not those that the run was planned with: item-1"),
        ("prompt", "conditions[1].params.user"),
        ("sampling", "samplings[0].temperature: 0.0 → 1.0"),
        ("weights", 'models[0].fingerprint.version: "1" → "2"'),
        ("repeats", "repeats: 1 → 2"),
        ("reprompt", "reprompt"),
    ],
)
def test_a_changed_question_is_refused_with_what_differs(
    tmp_path: Path, items_file: Callable[..., Path], what: str, said: str
) -> None:
    path = items_file(3)
    spec = replace(SPEC, items=(path,))
    evaluate_task(spec, task(), [Recorder()], tmp_path, quiet=True)
    changed, model = task(), Recorder()
    if what == "item":
        path.write_text(path.read_text().replace("1 is even", "1 is odd"))
    elif what == "prompt":
        changed = task(conditions=(control(), asch(2, confidence="low")))
    elif what == "sampling":
        spec = replace(spec, samplings=(Sampling(1.0),))
    elif what == "weights":
        model = Recorder(version="2")
    elif what == "repeats":
        spec = replace(spec, repeats=2)
    else:
        changed = task(reprompt=again())
    with pytest.raises(StoreError) as error:
        evaluate_task(spec, changed, [model], tmp_path, quiet=True)
    assert said in str(error.value)
    assert model.asked == []


def test_an_item_file_in_another_layout_is_still_the_same_run(tmp_path: Path, items_file: Callable[..., Path]) -> None:
    path = items_file(3)
    spec = replace(SPEC, items=(path,))
    evaluate_task(spec, task(), [Recorder()], tmp_path, quiet=True)
    path.write_text("\n\n".join(json.dumps(json.loads(line), indent=None) for line in path.read_text().splitlines()))
    again_asked = Recorder()
    evaluate_task(spec, task(), [again_asked], tmp_path, quiet=True)
    assert again_asked.asked == []


def test_code_that_renders_differently_is_refused(tmp_path: Path, items_file: Callable[..., Path]) -> None:
    spec = replace(SPEC, items=(items_file(3),))
    evaluate_task(spec, task(), [Recorder()], tmp_path, quiet=True)
    sly = replace(control(), render=lambda item: (Message("user", "something else"),))
    with pytest.raises(StoreError, match="asked differently"):
        evaluate_task(spec, task(conditions=(sly, asch(2))), [Recorder()], tmp_path, quiet=True)


def test_two_models_never_share_an_answer(tmp_path: Path, items_file: Callable[..., Path]) -> None:
    spec = replace(SPEC, items=(items_file(3),), models=(MODEL, ModelSpec("callable/other", "other")))
    models = [Recorder(lambda r: Response(text="A")), Recorder(lambda r: Response(text="B"))]
    evaluate_task(spec, task(), models, tmp_path, quiet=True)
    with Store.open(tmp_path / "run" / "run.db") as store:
        assert {(t.model, r.text) for t, r in store.answers()} == {("m", "A"), ("other", "B")}


def test_repeats_and_conditions_are_sent_seeds_of_their_own(tmp_path: Path, items_file: Callable[..., Path]) -> None:
    model = Recorder()
    spec = replace(SPEC, items=(items_file(2),), repeats=3, samplings=(Sampling(1.0),))
    evaluate_task(spec, task(), [model], tmp_path, quiet=True)
    assert len({request.sampling.seed for request in model.asked}) == 12
    assert len({request.digest for request in model.asked}) == 12


def test_the_request_limit_is_never_passed_and_the_run_goes_on_later(
    tmp_path: Path, items_file: Callable[..., Path]
) -> None:
    spec = replace(SPEC, items=(items_file(5),))
    model = Recorder()
    outcome = evaluate_task(replace(spec, limits=Limits(max_requests=4)), task(), [model], tmp_path, quiet=True)
    assert (outcome.answered, outcome.stopped) == (4, "--max-requests 4 reached")
    assert evaluate_task(spec, task(), [model], tmp_path, quiet=True).answered == 10
    assert len(model.asked) == 10


def test_the_money_limit_stops_after_the_answer_that_reaches_it(
    tmp_path: Path, items_file: Callable[..., Path]
) -> None:
    priced = replace(MODEL, usd_per_million_input=1.0, usd_per_million_output=10.0)
    model = Recorder(lambda r: Response(text="x", usage=Usage(100_000, 10_000)))
    spec = replace(SPEC, items=(items_file(5),), models=(priced,), limits=Limits(max_usd=0.5))
    outcome = evaluate_task(spec, task(), [model], tmp_path, quiet=True)
    assert outcome.answered == 3
    assert outcome.usd == pytest.approx(0.6)
    assert outcome.stopped is not None
    assert "--max-usd 0.5 reached" in outcome.stopped


def test_an_interrupt_keeps_what_was_answered_and_says_so(tmp_path: Path, items_file: Callable[..., Path]) -> None:
    model = Recorder()

    def reply(request: Request) -> Response:
        if len(model.asked) == 4:
            raise KeyboardInterrupt
        return Response(text="x")

    model.reply = reply
    spec = replace(SPEC, items=(items_file(5),))
    outcome = evaluate_task(spec, task(), [model], tmp_path, quiet=True)
    assert (outcome.answered, outcome.stopped) == (3, "interrupted")
    assert evaluate_task(spec, task(), [Recorder()], tmp_path, quiet=True).answered == 10


def test_a_dead_model_stops_the_run_and_keeps_what_was_answered(
    tmp_path: Path, items_file: Callable[..., Path]
) -> None:
    model = Recorder()

    def reply(request: Request) -> Response:
        if len(model.asked) == 4:
            raise ModelError("gone")
        return Response(text="x")

    model.reply = reply
    spec = replace(SPEC, items=(items_file(5),))
    with pytest.raises(ModelError, match="gone"):
        evaluate_task(spec, task(), [model], tmp_path, quiet=True)
    rest = Recorder()
    evaluate_task(spec, task(), [rest], tmp_path, quiet=True)
    assert len(rest.asked) == 7


def again() -> Reprompt:
    return Reprompt(
        wanted=lambda item, response: response.text not in ("TRUE", "FALSE"),
        render=lambda messages, response: (
            *messages,
            Message("assistant", response.text or ""),
            Message("user", "One word: TRUE or FALSE."),
        ),
        params={"text": "One word: TRUE or FALSE."},
    )


def test_an_unusable_first_reply_gets_a_second_turn_and_is_kept(
    tmp_path: Path, items_file: Callable[..., Path]
) -> None:
    model = Recorder(lambda r: Response(text="TRUE" if len(r.messages) > 2 else "hm"))
    spec = replace(SPEC, items=(items_file(2),))
    evaluate_task(spec, task(reprompt=again()), [model], tmp_path, quiet=True)
    assert len(model.asked) == 8
    assert model.asked[-1].messages[-1].content == "One word: TRUE or FALSE."
    with Store.open(tmp_path / "run" / "run.db") as store:
        assert {r.text for _, r in store.answers(last_turn=0)} == {"hm"}
        assert {r.text for _, r in store.answers()} == {"TRUE"}
    silent = Recorder()
    evaluate_task(spec, task(reprompt=again()), [silent], tmp_path, quiet=True)
    assert silent.asked == []


def test_a_limit_that_leaves_second_turns_unasked_is_said(tmp_path: Path, items_file: Callable[..., Path]) -> None:
    model = Recorder(lambda r: Response(text="TRUE" if len(r.messages) > 2 else "hm"))
    spec = replace(SPEC, items=(items_file(2),), limits=Limits(max_requests=6))
    outcome = evaluate_task(spec, task(reprompt=again()), [model], tmp_path, quiet=True)
    assert (outcome.answered, outcome.planned, outcome.stopped) == (4, 4, "--max-requests 6 reached")
    more = replace(spec, limits=Limits(max_requests=8))
    outcome = evaluate_task(more, task(reprompt=again()), [model], tmp_path, quiet=True)
    assert (outcome.sent, outcome.spent.requests, outcome.stopped) == (2, 8, None)


def test_max_items_draws_the_same_items_every_time(tmp_path: Path, items_file: Callable[..., Path]) -> None:
    spec = replace(SPEC, items=(items_file(50),), max_items=5)
    evaluate_task(spec, task(), [Recorder()], tmp_path / "a", quiet=True)
    evaluate_task(spec, task(), [Recorder()], tmp_path / "b", quiet=True)
    drawn = []
    for folder in ("a", "b"):
        with Store.open(tmp_path / folder / "run" / "run.db") as store:
            drawn.append([item.id for item in store.items()])
    assert drawn[0] == drawn[1]
    assert len(drawn[0]) == 5


def test_impossible_runs_are_refused_before_anything_is_asked(tmp_path: Path, items_file: Callable[..., Path]) -> None:
    no_decoy = tmp_path / "plain.jsonl"
    no_decoy.write_text('{"id": "a", "prompt": "What?"}\n')
    with pytest.raises(DataError, match=r"plain.jsonl:1: item 'a' has no decoy; condition 'asch_history_2' needs one"):
        evaluate_task(replace(SPEC, items=(no_decoy,)), task(), [Recorder()], tmp_path, quiet=True)
    with pytest.raises(SpecError, match="has no items of its own"):
        evaluate_task(SPEC, task(), [Recorder()], tmp_path, quiet=True)
    with pytest.raises(DataError, match="has no choices"):
        evaluate_task(
            replace(SPEC, items=(items_file(1),)), task(choices_scored=True), [Recorder()], tmp_path, quiet=True
        )
    empty = tmp_path / "empty.jsonl"
    empty.write_text("\n")
    with pytest.raises(DataError, match="empty.jsonl: no items in this file"):
        evaluate_task(replace(SPEC, items=(empty,), name="empty"), task(), [Recorder()], tmp_path, quiet=True)


def test_a_dry_run_counts_the_grid(tmp_path: Path, items_file: Callable[..., Path]) -> None:
    spec = RunSpec("conformity", (ModelSpec("mock/true", "m"),), items=(items_file(5),), repeats=2)
    assert preview(spec, tmp_path).trials == 5 * 4 * 2


def test_a_function_is_a_model(tmp_path: Path, items_file: Callable[..., Path]) -> None:
    def parrot(request: Request) -> str:
        return request.messages[-1].content

    outcome = evaluate_task(
        replace(SPEC, items=(items_file(2),)), task(), [CallableModel("parrot", parrot)], tmp_path, quiet=True
    )
    assert outcome.answered == 4


def test_an_item_survives_the_round_trip_into_the_prompt(tmp_path: Path) -> None:
    path = tmp_path / "hostile.jsonl"
    item = Item("../x", "Zero {decoy} \u202e <b>?", "a", decoy="b")
    path.write_text(json.dumps(item.as_json()) + "\n")
    model = Recorder()
    evaluate_task(replace(SPEC, items=(path,)), task(), [model], tmp_path / "out", quiet=True)
    assert model.asked[0].messages[-1].content == item.prompt

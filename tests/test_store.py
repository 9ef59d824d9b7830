from __future__ import annotations

import sqlite3
from dataclasses import replace
from pathlib import Path

import pytest

from perpend.ask.conditions import asch, control, first_request
from perpend.errors import DataError, StoreError
from perpend.ledger.database import exclusive
from perpend.ledger.plan import Appended, Dataset, Plan
from perpend.ledger.snapshot import snapshot
from perpend.ledger.store import Store
from perpend.types import ChoiceLogprob, Item, Response, Sampling, Score, Scorer, Usage

ITEMS = [
    Item("a", "Capital of Peru?", "Lima", decoy="Cusco", tags={"topic": "geo"}),
    Item("b", "Which?", "x", ("x", "y"), "y"),
    Item("c", "Best colour?", None, decoy="green"),
]
CONDITIONS = (control(), asch(2))


def plan(repeats: int = 1) -> Plan:
    return Plan(
        datasets=[Dataset("facts", "1", "facts.jsonl", "0" * 64)],
        conditions={condition.name: condition.params for condition in CONDITIONS},
        models=[("one", "mock/one", {}), ("two", "mock/two", {})],
        samplings={"one": [Sampling(0.0), Sampling(1.0)], "two": [Sampling(0.0)]},
        repeats=repeats,
    )


@pytest.fixture
def store(tmp_path: Path) -> Store:
    made = Store.create(tmp_path / "run.db", "test")
    made.write_plan(plan(), ((0, f"facts.jsonl:{n}", item) for n, item in enumerate(ITEMS)))
    return made


def answer(trial: int, text: str | None = "Lima", *, turn: int = 0, attempt: int = 0) -> Appended:
    response = Response(error="boom") if text is None else Response(text=text, finish="stop", usage=Usage(1, 2), ms=1.5)
    return Appended(trial, turn, attempt, "ab" * 32, response)


def test_the_plan_is_every_combination_in_a_fixed_order(store: Store) -> None:
    rows = list(store.trials(1, 100))
    assert len(rows) == 3 * 2 * 3
    assert [(t.model, t.sampling.temperature, t.item.id, t.condition) for t in rows[:3]] == [
        ("one", 0.0, "a", "control"),
        ("one", 0.0, "a", "asch_history_2"),
        ("one", 0.0, "b", "control"),
    ]
    assert rows[2].item == ITEMS[1]


def test_two_plans_are_the_same_when_parts_items_and_trials_are(tmp_path: Path) -> None:
    other = replace(plan(), models=[("one", "mock/other", {}), ("two", "mock/two", {})])
    made = {"as": (plan(), ITEMS), "same": (plan(), ITEMS), "model": (other, ITEMS), "fewer": (plan(), ITEMS[:2]),
            "items": (plan(), [replace(ITEMS[0], prompt="Capital of Chile?"), *ITEMS[1:]])}  # fmt: skip
    for name, (planned, items) in made.items():
        with Store.create(tmp_path / name, "test") as ledger:
            ledger.write_plan(planned, ((0, f"facts.jsonl:{n}", item) for n, item in enumerate(items)))

    def is_same(name: str) -> bool:
        with snapshot(tmp_path / "as") as mine, snapshot(tmp_path / name) as theirs:
            return mine.same_plan(theirs)

    assert {name: is_same(name) for name in made} == {
        "as": True, "same": True, "model": False, "fewer": False, "items": False
    }  # fmt: skip


def test_an_id_used_twice_is_refused_and_nothing_is_written(tmp_path: Path) -> None:
    store = Store.create(tmp_path / "run.db", "test")
    with pytest.raises(DataError, match="facts.jsonl:1: id 'a' is used twice"):
        store.write_plan(plan(), ((0, f"facts.jsonl:{n}", ITEMS[0]) for n in range(2)))
    assert list(store.items()) == []


def test_open_trials_are_the_plan_minus_the_answers(store: Store) -> None:
    assert len(store.open_trials("one")) == 12
    store.append([answer(1), answer(2, None), answer(5)])
    left = store.open_trials("one")
    assert [t.trial for t in left] == [2, 3, 4, *range(6, 13)]
    assert (left.total, len(left)) == (12, 10)
    assert next(iter(left)).attempt == 1
    assert [t.trial for t in store.open_trials("two")] == list(range(13, 19))
    store.append([answer(2, "Lima", attempt=1)])
    assert 2 not in [t.trial for t in store.open_trials("one")]


def test_the_answer_is_the_first_one_of_the_last_turn(store: Store) -> None:
    store.append([answer(1, None), answer(2, "first"), answer(3, "unclear")])
    store.append([answer(1, "later", attempt=1), answer(2, "second", attempt=1), answer(3, "TRUE", turn=1)])
    assert [(t.trial, r.text) for t, r in store.answers()] == [(1, "later"), (2, "first"), (3, "TRUE")]
    assert [(t.trial, r.text) for t, r in store.answers(last_turn=0)] == [(1, "later"), (2, "first"), (3, "unclear")]


def test_a_trial_that_only_failed_comes_with_its_failure(store: Store) -> None:
    store.append([answer(1, None)])
    assert [r.error for _, r in store.answers()] == ["boom"]


def test_texts_are_those_of_the_answers_with_the_time_that_each_took(store: Store) -> None:
    unknown = Appended(3, 0, 0, "ab" * 32, Response(text="x", finish="stop"))
    store.append([answer(1, None), answer(1, "Lima", attempt=1), answer(2, None), unknown])
    assert list(store.texts()) == [(1, "Lima", 1.5), (3, "x", None)]


def test_what_a_model_answered_can_be_looked_up_by_its_request(store: Store) -> None:
    """What the replay model gives back: answers and no failures, of that model alone."""
    store.append([answer(1, None), answer(1, "Lima", attempt=1), answer(2, "Cusco"), answer(13, "Quito")])
    assert [(request, response.text) for request, response in store.recorded("one")] == [
        ("ab" * 32, "Lima"),
        ("ab" * 32, "Cusco"),
    ]
    assert [response.text for _, response in store.recorded("two")] == ["Quito"]


def test_a_response_comes_back_as_it_went_in(store: Store) -> None:
    response = Response(
        text="nul \0 and \u202e",
        finish="length",
        usage=Usage(None, 3),
        ms=0.25,
        choice_logprobs=(ChoiceLogprob(-1.5, 2), ChoiceLogprob(None, 0)),
    )
    store.append([Appended(1, 0, 0, "ab" * 32, response)])
    assert [r for _, r in store.answers()] == [response]


def test_responses_cannot_be_edited_deleted_or_doubled(store: Store) -> None:
    store.append([answer(1)])
    with sqlite3.connect(store.path) as other:
        for statement in ("UPDATE response SET text = 'x'", "DELETE FROM response"):
            with pytest.raises(sqlite3.IntegrityError, match="responses are facts"):
                other.execute(statement)
    other.close()
    with pytest.raises(StoreError, match="refused"):
        store.append([answer(1)])


def test_an_empty_answer_is_a_text_and_an_error_is_not(store: Store) -> None:
    store.append([answer(1, "")])
    cells = store.cells()
    assert (cells[0].planned, cells[0].answered, cells[0].failed) == (3, 1, 0)


def test_scores_of_one_version_are_replaced_and_others_stay(store: Store) -> None:
    store.append([answer(1), answer(2)])
    one, two = (Scorer("s", version, lambda i, r: Score(1.0, None, "x")) for version in "12")
    store.write_scores([one, two], [(1, [Score(1.0, "Lima", "said", (0, 4)), Score(0.0, None, "no")])])
    store.write_scores([one], [(2, [Score(None, None, "not scorable")])])
    for scores in ([], [Score(1.0, None, "x"), Score(1.0, None, "x")]):  # one of each scorer, no more and no less
        with pytest.raises(ValueError, match="zip"):
            store.write_scores([one], [(2, scores)])
    found = store.scores([1, 2])
    assert found == {1: {"s@2": Score(0.0, None, "no")}, 2: {"s@1": Score(None, None, "not scorable")}}


def test_the_compatibility_views_answer_the_five_table_join_of_the_seed(store: Store) -> None:
    store.append([answer(1, " Lima. USER: more"), answer(2, "Cusco")])
    y = Scorer("correct", "1", lambda i, r: Score(1.0, None, "x"))
    f = Scorer("refused", "1", lambda i, r: Score(0.0, None, "x"))
    store.write_scores([y, f], [(1, [Score(1.0, None, "x", (1, 6)), Score(0.0, None, "x")])])
    rows = store.query(
        "SELECT t.variant, c.name, d.name, i.question, i.ground_truth_text,"
        " json_extract(i.source_json, '$.wrong_answer'),"
        " o.raw_text, o.parsed_answer_text, o.is_correct, o.refusal_flag, t.temperature"
        " FROM conformity_trials t JOIN conformity_items i ON i.item_id = t.item_id"
        " JOIN conformity_datasets d ON d.dataset_id = i.dataset_id"
        " JOIN conformity_conditions c ON c.condition_id = t.condition_id"
        " JOIN conformity_outputs o ON o.trial_id = t.trial_id ORDER BY CAST(t.trial_id AS INTEGER)"
    )
    assert rows[0] == (
        "one",
        "control",
        "facts",
        "Capital of Peru?",
        "Lima",
        "Cusco",
        " Lima. USER: more",
        "Lima.",
        1,
        0,
        0.0,
    )
    assert rows[1][8] is None


def test_the_prompt_view_says_what_was_rendered(store: Store) -> None:
    by_name = {condition.name: condition for condition in CONDITIONS}
    prompts = {
        int(str(row[0])): row[1:]
        for row in store.query("SELECT trial_id, system_prompt, user_prompt FROM conformity_prompts")
    }
    for trial in store.trials(1, 18):
        system, user = first_request(trial, by_name[trial.condition], choices_scored=False).messages
        assert prompts[trial.trial] == (system.content, user.content)


def test_what_is_not_a_run_is_said_so(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="not a run"):
        Store.open(tmp_path / "run.db")
    other = tmp_path / "other.db"
    sqlite3.connect(other).execute("CREATE TABLE x(y)").connection.close()
    with pytest.raises(StoreError, match="not a run of perpend"):
        Store.open(other)
    (tmp_path / "text.db").write_text("this is no database, and it is long enough to be looked at by SQLite" * 40)
    with pytest.raises(StoreError, match="damaged"):
        Store.open(tmp_path / "text.db")


def test_a_newer_schema_is_refused(store: Store) -> None:
    store.query("PRAGMA user_version = 99")
    store.close()
    with pytest.raises(StoreError, match="a later version of perpend .format 99; this one reads"):
        Store.open(store.path)


def test_a_finished_ledger_is_one_file_that_a_read_only_folder_can_hold(store: Store) -> None:
    store.append([answer(1)])
    store.close()
    assert sorted(path.name for path in store.path.parent.iterdir()) == ["manifest.journal", "run.db"]
    store.path.chmod(0o444)
    store.path.parent.chmod(0o555)
    try:
        with Store.open(store.path) as again:
            assert [r.text for _, r in again.answers()] == ["Lima"]
    finally:
        store.path.parent.chmod(0o755)


def test_a_run_is_held_by_one_at_a_time(tmp_path: Path) -> None:
    with exclusive(tmp_path), pytest.raises(StoreError, match="another process"), exclusive(tmp_path):
        pass
    with exclusive(tmp_path):
        pass

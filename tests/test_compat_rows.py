"""Rows of the conformity study's outputs become a run, with every stored label beside what is computed anew."""

from __future__ import annotations

import json
from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path

import pytest

from perpend.errors import DataError
from perpend.judging import seed
from perpend.ledger.store import Store
from perpend.measure.run import Run
from perpend.studies.conformity.rows import read
from perpend.types import Item, Sampling
from tests.conftest import ROOT

REAL = ROOT / ".." / "shared" / "data" / "conformity" / "real_outputs_t0.jsonl"
ROW: Mapping[str, object] = {
    "trial_id": "t-1",
    "temperature": 0.0,
    "variant": "small",
    "model_id": "lab/small",
    "condition": "control",
    "dataset_name": "facts",
    "item_id": "peru",
    "question": "What is the capital of Peru?",
    "ground_truth": "Lima",
    "wrong_answer": "Cusco",
    "raw_text": "Lima.\n\nUSER: and Chile?",
    "stored_parsed_answer_text": "Lima.",
    "stored_refusal_flag": 0,
    "stored_is_correct": 1,
    "latency_ms": 12.5,
}


def rows_file(tmp_path: Path, *rows: Mapping[str, object], name: str = "rows.jsonl") -> Path:
    path = tmp_path / name
    path.write_text("".join(json.dumps({**ROW, **row}) + "\n" for row in rows), encoding="utf-8")
    return path


def imported(tmp_path: Path, *rows: Mapping[str, object]) -> Run:
    return Run(read(rows_file(tmp_path, *rows), tmp_path / "run"))


def notes(run: Run) -> Mapping[str, object]:
    source = run.manifest.source_of_import or {}
    found = source["notes"]
    assert isinstance(found, Mapping)
    return found


def test_a_row_becomes_a_trial_with_its_answer_and_its_stored_labels(tmp_path: Path) -> None:
    run = imported(tmp_path, {})
    with Store.open(run.directory / "run.db") as store:
        [(trial, response)] = list(store.answers())
        scores = store.scores([1])[1]
    tags = {"dataset": "facts", "kind": "factual"}
    assert trial.item == Item("peru", str(ROW["question"]), "Lima", decoy="Cusco", tags=tags)
    assert (trial.model, trial.condition, trial.sampling) == ("small", "control", Sampling(0.0, 128, 42))
    assert (response.text, response.ms) == (ROW["raw_text"], 12.5)
    assert (scores["stored_correct@import"].value, scores["stored_refused@import"].value) == (1.0, 0.0)
    assert scores["stored_parsed@import"].answer == "Lima."
    assert scores["stored_trial@import"].answer == "t-1"


def test_the_manifest_says_what_was_imported_and_how_to_score_it(tmp_path: Path) -> None:
    run = imported(tmp_path, {}, {"trial_id": "t-2", "condition": "asch_history_5"})
    source = run.manifest.source_of_import or {}
    [file] = source["files"]  # type: ignore[misc]  # JSON: a list of one object
    assert source["format"] == "conformity rows"
    assert (file["name"], file["rows"], len(file["sha256"])) == ("rows.jsonl", 2, 64)
    assert "correct@1" in run.manifest.scorers
    assert str(tmp_path) not in (run.directory / "manifest.json").read_text()


def test_control_comes_first_whatever_the_order_of_rows(tmp_path: Path) -> None:
    run = imported(tmp_path, {"condition": "asch_history_5", "trial_id": "a"}, {"trial_id": "b"})
    assert run.table.values("condition") == ("control", "asch_history_5")


def test_the_first_output_of_a_trial_is_its_answer_and_later_ones_are_attempts(tmp_path: Path) -> None:
    run = imported(tmp_path, {"raw_text": "Lima"}, {"raw_text": "Cusco", "stored_is_correct": 0})
    with Store.open(run.directory / "run.db") as store:
        assert [response.text for _, response in store.answers()] == ["Lima"]
        assert store.query("SELECT attempt, text FROM response ORDER BY attempt") == [(0, "Lima"), (1, "Cusco")]
    assert run["stored_correct"].all_values.tolist() == [1.0]
    assert any("further outputs" in note for note in notes(run))


def test_another_trial_in_the_same_cell_is_a_repeat(tmp_path: Path) -> None:
    run = imported(tmp_path, {"raw_text": "Lima"}, {"trial_id": "t-2", "raw_text": "Cusco"})
    with Store.open(run.directory / "run.db") as store:
        assert [(trial.repeat, response.text) for trial, response in store.answers()] == [(0, "Lima"), (1, "Cusco")]


def test_without_ids_of_trials_the_cell_and_the_stated_repeat_are_the_trial(tmp_path: Path) -> None:
    run = imported(
        tmp_path,
        {"trial_id": None, "repeat": 1, "raw_text": "second"},
        {"trial_id": None, "repeat": 0, "raw_text": "first"},
        {"trial_id": None, "repeat": 0, "raw_text": "first again"},
    )
    with Store.open(run.directory / "run.db") as store:
        assert [(trial.repeat, response.text) for trial, response in store.answers()] == [(0, "first"), (1, "second")]


def test_temperatures_are_samplings_and_a_think_model_has_the_longer_limit(tmp_path: Path) -> None:
    run = imported(
        tmp_path,
        {},
        {"trial_id": "b", "temperature": 1.0},
        {"trial_id": "c", "variant": "think", "model_id": "lab/Small-Think"},
    )
    assert run.table.values("temperature") == ("0", "1")
    with Store.open(run.directory / "run.db") as store:
        assert {(t.model, t.sampling.max_tokens) for t, _ in store.answers()} == {("small", 128), ("think", 256)}


def test_keys_may_be_absent(tmp_path: Path) -> None:
    path = tmp_path / "few.jsonl"
    path.write_text('{"model_id": "m", "condition": "control", "question": "Why?", "raw_text": "Because."}\n')
    run = Run(read(path, tmp_path / "run"))
    with Store.open(run.directory / "run.db") as store:
        [(trial, response)] = list(store.answers())
    assert (trial.model, trial.item.prompt, trial.item.target, response.text) == ("m", "Why?", None, "Because.")
    assert trial.item.id.startswith("item-")
    assert {"rows that state no temperature: 0 was taken": 1, "rows that state no ground truth": 1}.items() <= (
        notes(run).items()
    )


def test_a_later_row_may_add_to_an_item_but_not_change_it(tmp_path: Path) -> None:
    bare = {key: value for key, value in ROW.items() if key not in ("question", "ground_truth", "wrong_answer")}
    path = tmp_path / "rows.jsonl"
    path.write_text(json.dumps(bare) + "\n" + json.dumps({**ROW, "trial_id": "t-2", "variant": "big"}) + "\n")
    with Store.open(read(path, tmp_path / "run") / "run.db") as store:
        assert [item.target for item in store.items()] == ["Lima"]


def test_an_opinion_stored_as_the_word_none_is_an_opinion_and_its_label_says_so(tmp_path: Path) -> None:
    opinion = {"ground_truth": None, "stored_ground_truth_text": "None", "stored_is_correct": 0}
    run = imported(tmp_path, opinion)
    with Store.open(run.directory / "run.db") as store:
        assert [(item.target, item.tags["kind"]) for item in store.items()] == [(None, "opinion")]
        stored = store.scores([1])[1]["stored_correct@import"]
    assert (stored.value, stored.answer) == (None, "0")
    assert stored.reason == "stored for an item without a right answer, graded against the word 'None'"
    assert notes(run)["rows of opinions whose ground truth was stored as the word 'None'"] == 1


def test_a_null_answer_is_a_planned_trial_and_an_empty_one_an_answer(tmp_path: Path) -> None:
    run = imported(tmp_path, {"raw_text": None}, {"trial_id": "t-2", "condition": "x", "raw_text": ""})
    status = run.status()
    assert (status["planned"], status["answered"]) == (2, 1)


def test_what_is_not_kept_is_counted(tmp_path: Path) -> None:
    run = imported(tmp_path, {"gpu": "h100", "human_W": 1, "ref_W": 0})
    assert notes(run)["rows with the key 'gpu', which is not kept"] == 1
    assert {"human_W@import", "ref_endorsed@import"} <= set(run.columns())


def test_a_stated_prompt_is_kept_with_the_studys_hash(tmp_path: Path) -> None:
    run = imported(tmp_path, {"system_prompt": "Be brief.", "user_prompt": "Capital of Peru?"})
    with Store.open(run.directory / "run.db") as store:
        [(hashed,)] = store.query("SELECT rendered_prompt_hash FROM conformity_prompts")
        prompt = store.scores([1])[1]["stored_prompt@import"].answer
    assert hashed == sha256(b'{"history":[],"system":"Be brief.","user":"Capital of Peru?"}').hexdigest()
    assert json.loads(prompt or "") == {"system": "Be brief.", "user": "Capital of Peru?"}


def test_half_a_surrogate_pair_in_an_answer_is_replaced_and_counted(tmp_path: Path) -> None:
    run = imported(tmp_path, {"raw_text": "Lima \ud800"})
    with Store.open(run.directory / "run.db") as store:
        assert [response.text for _, response in store.answers()] == ["Lima \ufffd"]
    assert notes(run)["texts with half a surrogate pair, which was replaced by U+FFFD"] == 1


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"{not json}\n", "rows.jsonl:1: not JSON"),
        (b"[1]\n", "a JSON object was expected, not a list"),
        (b"\n\n", "holds no trial"),
        (b'{"a": "\xff"}\n', "not UTF-8"),
        (b'{"condition": "control", "variant": "m", "question": "Why?"}\n', "no 'raw_text'"),
        (b"[" * 100_000 + b"\n", "cannot be read as JSON"),
    ],
)
def test_a_file_that_is_no_rows_is_refused(tmp_path: Path, content: bytes, said: str) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_bytes(content)
    with pytest.raises(DataError, match=said):
        read(path, tmp_path / "run")


@pytest.mark.skipif(not REAL.exists(), reason="the real outputs are not beside this checkout (shared/data/conformity)")
def test_the_real_outputs_score_as_they_were_stored(tmp_path: Path) -> None:
    run = Run(read(REAL, tmp_path / "run"))
    run.score()
    rows = [json.loads(line) for line in REAL.read_text(encoding="utf-8").splitlines()]
    factual = sum(row["ground_truth"] is not None for row in rows)
    compared = {
        ("stored_correct", "correct@1"): factual,
        ("stored_refused", "refused@1"): len(rows),
        ("ref_correct", "correct@1"): factual,
        ("ref_mentioned", "mentioned@1"): len(rows),
        ("ref_endorsed", "endorsed@1"): len(rows),
    }
    for (stored, computed), n in compared.items():
        found = run[stored].disagreement(run[computed])
        assert (found.value, found.n) == (0.0, n), (stored, computed)
    with Store.open(run.directory / "run.db") as store:
        texts = {trial.trial: response.text or "" for trial, response in store.answers()}
        parsed = {key: found["stored_parsed@import"].answer for key, found in store.scores(list(texts)).items()}
    assert len(parsed) == len(rows)
    assert parsed == {key: seed.parse_answer(text) for key, text in texts.items()}

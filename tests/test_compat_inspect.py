"""Logs of inspect_ai become runs: what the harness reports is what is recomputed, and nothing is made up."""

from __future__ import annotations

import json
import sys
import zipfile
from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path

import pytest
from click.testing import CliRunner

from perpend._convert import convert, readable
from perpend.cli import cli
from perpend.errors import DataError
from perpend.ledger.plan import Trial
from perpend.ledger.store import Store
from perpend.measure.run import Run
from perpend.measure.stated import follows, read_stated
from perpend.types import Response, Sampling, Score, Usage
from tests.conftest import ROOT
from tests.tables import table
from tests.test_compat_rows import notes

RECORDED = ROOT / "tests" / "recorded"
"""What two harnesses wrote; tests/more/harnesses writes it anew and compares."""


@pytest.fixture(scope="module")
def logs() -> tuple[Path, dict[str, dict[str, float]]]:
    """A folder of logs that inspect_ai wrote, and the accuracies that it reports."""
    folder = RECORDED / "inspect_ai"
    return folder, json.loads((folder / "reported.json").read_text(encoding="utf-8"))


def trials(run: Run) -> list[tuple[Trial, Response, Mapping[str, Score]]]:
    with Store.open(run.directory / "run.db") as store:
        answers = list(store.answers())
        scores = store.scores([trial.trial for trial, _ in answers])
    return [(trial, response, scores.get(trial.trial, {})) for trial, response in answers]


def one(run: Run) -> tuple[Trial, Response, Mapping[str, Score]]:
    [found] = trials(run)
    return found


@pytest.mark.parametrize("form", ["eval", "json"])
def test_the_accuracy_is_the_one_that_inspect_reports(
    logs: tuple[Path, dict[str, dict[str, float]]], form: str, tmp_path: Path
) -> None:
    folder, reported = logs
    [log] = (folder / form).iterdir()
    run = Run(convert(log, tmp_path / "run"))
    run.score()
    assert run["stored_match"].rate().value == pytest.approx(reported[form]["match"])
    assert run["correct"].rate().value == pytest.approx(reported[form]["match"])
    assert 0 < reported[form]["match"] < 1
    assert run["stored_match"].disagreement(run["correct"]).value == 0
    stated = {one.what: one for one in read_stated(run.manifest.source_of_import)}
    assert stated["accuracy of match"].value == reported[form]["match"]
    assert follows(run.table, stated["accuracy of match"])[0] == pytest.approx(reported[form]["match"])


def test_both_forms_of_a_log_become_the_same_trials(
    logs: tuple[Path, dict[str, dict[str, float]]], tmp_path: Path
) -> None:
    folder, _ = logs
    [archive], [plain] = (folder / "eval").iterdir(), (folder / "json").iterdir()
    first, second = (
        sorted(
            (t.item.id, t.item, t.repeat, t.sampling, r.text, r.finish, r.usage, scores)
            for t, r, scores in trials(Run(convert(log, tmp_path / name)))
        )
        for log, name in ((archive, "a"), (plain, "b"))
    )
    assert first == second
    assert [row[0] for row in first] == [f"q{n}" for n in range(5) for _ in range(2)]
    _, item, repeat, sampling, text, finish, usage, scores = first[1]
    assert (item.prompt, item.target, dict(item.tags)) == ("What is 0 + 0?", "0", {"topic": "sums"})
    assert (repeat, sampling, text, finish, usage) == (1, Sampling(0.5, 64, 7), "0", "stop", Usage(11, 3))
    assert scores["stored_match@import"] == Score(1.0, "C", "as the source stored it")
    assert json.loads(scores["stored_messages@import"].answer or "") == [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "What is 0 + 0?"},
    ]


def test_letters_stand_for_choices_reasoning_is_kept_and_a_cut_text_is_not_scored(
    logs: tuple[Path, dict[str, dict[str, float]]], tmp_path: Path
) -> None:
    folder, reported = logs
    run = Run(convert(folder / "picks", tmp_path / "run"))
    run.score()
    found = {trial.item.id: (trial, response, scores) for trial, response, scores in trials(run)}
    assert (found["0"][0].item.target, found["0"][0].item.choices) == ("green", ("red", "green", "blue"))
    assert found["0"][1].text == "<think>Is it A? No.</think>\nANSWER: B"
    assert found["0"][2]["stored_target@import"].answer == "B"
    assert [found[n][2]["correct@2"].value for n in "012"] == [1.0, 0.0, None]
    assert (found["2"][1].finish, found["2"][2]["unfinished@1"].value) == ("length", 1.0)
    assert run["stored_choice"].rate().value == pytest.approx(reported["picks"]["choice"])
    assert json.loads(found["0"][2]["stored_messages@import"].answer or "")[0]["content"].startswith("Answer the")


HEADER: Mapping[str, object] = {
    "version": 2,
    "status": "success",
    "eval": {"task": "sums", "model": "lab/small", "created": "2026-01-02T03:04:05+00:00", "task_version": 1},
    "plan": {"config": {"temperature": 0.0, "max_tokens": 8}},
}
SAMPLE: Mapping[str, object] = {
    "id": "a",
    "epoch": 1,
    "input": "What is 1 + 1?",
    "target": "2",
    "output": {"choices": [{"message": {"role": "assistant", "content": "2"}, "stop_reason": "stop"}]},
    "scores": {"match": {"value": "C"}},
}


def archive(tmp_path: Path, *samples: Mapping[str, object], header: Mapping[str, object] = HEADER) -> Path:
    path = tmp_path / "log.eval"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as file:
        for number, sample in enumerate(samples):
            file.writestr(f"samples/{number}_epoch_1.json", json.dumps({**SAMPLE, **sample}))
        file.writestr("header.json", json.dumps(header))
    return path


def imported(tmp_path: Path, *samples: Mapping[str, object], header: Mapping[str, object] = HEADER) -> Run:
    return Run(convert(archive(tmp_path, *samples, header=header), tmp_path / "run"))


def output(content: object, stop: str = "stop", **more: object) -> dict[str, object]:
    message = {"role": "assistant", "content": content}
    return {"output": {"choices": [{"message": message, "stop_reason": stop}], **more}}


def test_a_failed_sample_is_an_error_and_no_empty_answer(tmp_path: Path) -> None:
    empty: dict[str, object] = {"output": {"choices": [], "completion": ""}, "scores": {}}
    run = imported(
        tmp_path,
        {**empty, "id": "died", "error": {"message": "TimeoutError: 30 s", "traceback": "/home/me/x.py"}},
        {**empty, "id": "limit", "limit": {"type": "time", "limit": 60}},
        {**empty, "id": "nothing"},
        {"id": "moderated", "output": {"choices": [], "error": "content policy"}},
        {"id": "said nothing", **output("")},
    )
    found = {trial.item.id: (response.text, response.error) for trial, response, _ in trials(run)}
    assert found == {
        "died": (None, "TimeoutError: 30 s"),
        "limit": (None, "time limit of 60"),
        "nothing": (None, "the sample holds no output"),
        "moderated": (None, "content policy"),
        "said nothing": ("", None),
    }
    run.score()
    assert run["correct"].rate().also["unscored"] == 5


@pytest.mark.parametrize(*table("inspect_limits"))
def test_a_token_limit_is_told_by_one_word(tmp_path: Path, stop: str, limit: object, finish: str | None) -> None:
    _, response, _ = one(imported(tmp_path, {**output("2", stop), "limit": limit}))
    assert (response.text, response.finish) == ("2", finish)


@pytest.mark.parametrize(*table("inspect_scores"))
def test_a_stored_score_keeps_what_was_written(tmp_path: Path, value: object, expected: Mapping[str, object]) -> None:
    _, _, scores = one(imported(tmp_path, {"scores": {"m": {"value": value}}}))
    assert {name.removesuffix("@import"): [s.value, s.answer] for name, s in scores.items()} == expected


def test_what_a_scorer_read_and_why_is_kept_beside_its_value(tmp_path: Path) -> None:
    graded = {"value": "C", "answer": "2", "explanation": "attachment://abc"}
    sample = {"scores": {"../evil@1": graded}, "attachments": {"abc": "It says two."}}
    _, _, scores = one(imported(tmp_path, sample))
    names = sorted(scores)
    assert [scores[name].answer for name in names] == ["C", "2", "It says two."]
    assert all(name.startswith("stored_evil_1_") and name.endswith("@import") and "/" not in name for name in names)


def test_texts_among_the_attachments_are_found(tmp_path: Path) -> None:
    content = [{"type": "text", "text": "attachment://q"}, {"type": "image", "image": "attachment://i"}]
    sample = {
        "input": [{"role": "system", "content": "Be brief."}, {"role": "user", "content": content}],
        "messages": [{"role": "user", "content": content}, {"role": "assistant", "content": "attachment://a"}],
        **output("attachment://a"),
        "attachments": {"q": "How many?", "a": "Two.", "i": "data:image/png;base64,AAAA"},
    }
    trial, response, scores = one(imported(tmp_path, sample))
    assert (trial.item.prompt, response.text) == ("How many?\n[image]", "Two.")
    assert scores["stored_messages@import"].answer == '[{"content":"How many?\\n[image]","role":"user"}]'


def test_reasoning_is_never_read_as_the_answer(tmp_path: Path) -> None:
    blocks = [
        {"type": "reasoning", "reasoning": "gibberish", "summary": "It may be 3.", "redacted": True},
        {"type": "reasoning", "reasoning": "Or 4? <think> no"},
        {"type": "text", "text": "2"},
    ]
    run = imported(tmp_path, output(blocks))
    run.score()
    _, response, scores = one(run)
    assert response.text == "<think>It may be 3.</think>\n<think>Or 4? <think> no</think>\n2"
    assert scores["correct@2"].value == 1.0


def test_several_targets_are_spellings_and_several_right_choices_are_no_choices(tmp_path: Path) -> None:
    run = imported(
        tmp_path,
        {"id": "spelled", "target": ["2", "two"]},
        {"id": "both", "target": ["A", "C"], "choices": ["x", "y", "z"]},
        {"id": "twice", "target": "A", "choices": ["x", "x"]},
        {"id": "open", "target": ""},
    )
    found = {trial.item.id: trial.item for trial, _, _ in trials(run)}
    assert (found["spelled"].target, found["spelled"].aliases) == ("2", ("two",))
    assert (found["both"].target, found["both"].choices, found["both"].tags["choices"]) == ("A", (), '["x","y","z"]')
    assert (found["twice"].target, found["twice"].choices) == ("A", ())
    assert found["open"].target is None


def test_what_is_not_stated_is_counted_and_not_made_up(tmp_path: Path) -> None:
    header = {**HEADER, "plan": {}, "status": "error"}
    metadata = {"topic": "sums", "model": "other", "long": "x" * 101, "deep": {"a": 1}, "none": None}
    run = imported(tmp_path, {"metadata": metadata}, header=header)
    trial, response, _ = one(run)
    assert trial.sampling == Sampling(0.0, 0, None)
    assert dict(trial.item.tags) == {"topic": "sums", "metadata_model": "other"}
    assert (response.usage, response.ms) == (None, None)
    assert sorted(notes(run)) == [
        "items with metadata 'deep' that is no short text or number, and is not kept",
        "items with metadata 'long' that is no short text or number, and is not kept",
        "logs whose status is 'error': some samples may be missing",
        "trials that state no max_tokens: 0 stands for that",
        "trials that state no temperature: 0 was taken",
    ]


def test_a_log_that_never_ended_is_read_from_its_journal(tmp_path: Path) -> None:
    path = tmp_path / "log.eval"
    with zipfile.ZipFile(path, "w") as file:
        file.writestr("_journal/start.json", json.dumps({**HEADER, "status": None}))
        file.writestr("samples/a_epoch_1.json", json.dumps(SAMPLE))
    assert len(Run(convert(path, tmp_path / "run")).table) == 1


def test_old_logs_with_one_score_and_a_transcript_are_read(tmp_path: Path) -> None:
    old = {key: value for key, value in SAMPLE.items() if key != "scores"}
    path = tmp_path / "log.json"
    sample = {**old, "score": {"value": "I"}, "transcript": {"content": {"x": "Asked?"}}, "input": "attachment://x"}
    path.write_text(json.dumps({**HEADER, "samples": [sample]}))
    trial, _, scores = one(Run(convert(path, tmp_path / "run")))
    assert (trial.item.prompt, scores["stored_score@import"].value) == ("Asked?", 0.0)


@pytest.mark.parametrize("indent", [None, 1])
def test_json_is_known_and_read_whether_on_one_line_or_on_many(tmp_path: Path, indent: int | None) -> None:
    path = tmp_path / "log.txt"
    path.write_text(json.dumps({**HEADER, "samples": [SAMPLE, {**SAMPLE, "epoch": 2}]}, indent=indent))
    assert [trial.repeat for trial, _, _ in trials(Run(convert(path, tmp_path / "run")))] == [0, 1]


def test_half_a_surrogate_pair_is_replaced_in_texts_and_refused_in_items(tmp_path: Path) -> None:
    messages = [{"role": "user", "content": "\ud800?"}, {"role": "assistant", "content": "x"}]
    run = imported(tmp_path, {**output("2 \udfff"), "messages": messages, "scores": {"m": {"value": "\ud800"}}})
    _, response, scores = one(run)
    assert (response.text, scores["stored_m@import"].answer) == ("2 \ufffd", "\ufffd")
    with Store.open(run.directory / "run.db") as store:
        [(_, request)] = store.sample_requests(1)
    assert request == sha256((scores["stored_messages@import"].answer or "").encode()).hexdigest()
    with pytest.raises(DataError, match="half a surrogate pair"):
        convert(archive(tmp_path, {"input": "\ud800?"}), tmp_path / "second")


def test_without_zstandard_the_line_that_installs_it_is_said(
    logs: tuple[Path, dict[str, dict[str, float]]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    [log] = (logs[0] / "eval").iterdir()
    monkeypatch.setitem(sys.modules, "zstandard", None)
    with pytest.raises(DataError, match=r"pip install 'perpend\[inspect\]'"):
        convert(log, tmp_path / "run")


def test_damage_other_archives_and_chunks_are_said_so(tmp_path: Path) -> None:
    path = archive(tmp_path, {})
    cut = tmp_path / "cut.eval"
    cut.write_bytes(path.read_bytes()[:-30])
    flipped = tmp_path / "flipped.eval"
    body = bytearray(path.read_bytes())
    body[60] ^= 0xFF
    flipped.write_bytes(body)
    other, chunked = tmp_path / "other.zip", tmp_path / "chunked.eval"
    for name, member in ((other, "notes.txt"), (chunked, "samples/a_epoch_1/sample.json")):
        with zipfile.ZipFile(name, "w") as file:
            file.writestr(member, "{}")
            if name == chunked:
                file.writestr("header.json", json.dumps(HEADER))
    for name, said in (
        (cut, "a damaged zip archive"),
        (flipped, "cannot be unpacked|checksum|not JSON|not UTF-8"),
        (other, "no log of inspect_ai"),
        (chunked, "inspect log convert"),
    ):
        with pytest.raises(DataError, match=said) as error:
            convert(name, tmp_path / "run")
        assert "\n  ".join(readable()) in str(error.value) or name != other


def test_a_folder_of_several_logs_becomes_a_run_for_each_and_is_no_one_run_to_show(tmp_path: Path) -> None:
    path = archive(tmp_path, {})
    (tmp_path / "second.eval").write_bytes(path.read_bytes())
    out = convert(tmp_path, tmp_path / "out" / "runs")
    assert sorted(run.name for run in out.iterdir()) == [path.stem, "second"]
    shown = CliRunner().invoke(cli, ["show", str(tmp_path)])
    assert "holds 2 logs" in str(shown.exception)

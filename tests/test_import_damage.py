"""Damaged, mixed and lying files of others: each is refused with its place, or the audit names what differs."""

from __future__ import annotations

import csv
import gzip
import io
import json
import zipfile
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest
from pyarrow import parquet

import perpend as pp
from perpend.errors import AuditFailure, DataError, PerpendError
from tests.source_files import SOURCES
from tests.test_compat_rows import rows_file

Damage = Callable[[Path], None]


def cut(name: str, part: float = 0.6) -> Damage:
    """Only the first part of a file is there."""

    def damage(source: Path) -> None:
        path = _file(source, name)
        data = path.read_bytes()
        path.write_bytes(data[: int(len(data) * part)])

    return damage


def replaced(name: str, old: str, new: str, count: int = 1) -> Damage:
    """Some text of a file is another one."""

    def damage(source: Path) -> None:
        path = _file(source, name)
        text = path.read_text(encoding="utf-8")
        assert old in text, f"{name} holds no {old}"
        path.write_text(text.replace(old, new, count), encoding="utf-8")

    return damage


def encoded(name: str, encoding: str) -> Damage:
    """A file in another encoding, with a letter in it that is not the same there."""

    def damage(source: Path) -> None:
        path = _file(source, name)
        text = path.read_text(encoding="utf-8").replace("Santiago", "Santiágo").replace("reply", "réply")
        text = text.replace("Far", "Fár").replace("Say", "Sáy").replace("judge_a", "judgé")
        path.write_bytes(text.encode(encoding))

    return damage


def line_twice(name: str, number: int) -> Damage:
    def damage(source: Path) -> None:
        path = _file(source, name)
        lines = path.read_text().splitlines(keepends=True)
        path.write_text("".join([*lines, lines[number]]))

    return damage


def line_gone(name: str, number: int) -> Damage:
    def damage(source: Path) -> None:
        path = _file(source, name)
        lines = path.read_text().splitlines(keepends=True)
        path.write_text("".join(lines[:number] + lines[number + 1 :]))

    return damage


def edited(name: str, edit: Callable[[object], object]) -> Damage:
    """The JSON of a file changed."""

    def damage(source: Path) -> None:
        path = _file(source, name)
        path.write_text(json.dumps(edit(json.loads(path.read_text()))))

    return damage


def delimited(name: str, delimiter: str) -> Damage:
    """A CSV file with other separators, beneath a first line that has commas."""

    def damage(source: Path) -> None:
        path = _file(source, name)
        first, *others = list(csv.reader(io.StringIO(path.read_text())))
        with path.open("w", newline="") as file:
            csv.writer(file).writerow(first)
            csv.writer(file, delimiter=delimiter).writerows(others)

    return damage


def parquet_rows(edit: Callable[[list[dict[str, object]]], list[dict[str, object]]]) -> Damage:
    def damage(source: Path) -> None:
        parquet.write_table(pa.Table.from_pylist(edit(parquet.read_table(source).to_pylist())), source)

    return damage


def packed(name: str) -> Damage:
    def damage(source: Path) -> None:
        path = _file(source, name)
        path.write_bytes(gzip.compress(path.read_bytes()))

    return damage


def _file(source: Path, name: str) -> Path:
    return source if not name else (source if source.is_dir() else source.parent) / name


def with_first(change: Callable[[dict[str, object]], object]) -> Callable[[object], object]:
    """The first entry of a list changed in place."""

    def edit(body: object) -> object:
        assert isinstance(body, list)
        change(body[0])
        return body

    return edit


def _wrong_verdict(body: list[dict[str, list[dict[str, object]]]]) -> object:
    for key in ("sum", "mean", "min", "max", "sum_squared"):
        body[0]["stats"][0][key] = 0.0
    return body


LABELS = "m-1_prompt0_result_all.csv"
POINTER = f"version https://git-lfs.github.com/spec/v1\noid sha256:{'0' * 64}\nsize 1085344\n"


def written(name: str, change: Callable[[str], str]) -> Damage:
    """The text of a file changed."""

    def damage(source: Path) -> None:
        path = (source if source.is_dir() else source.parent) / name if name else source
        path.write_text(change(path.read_text(encoding="utf-8")), encoding="utf-8")

    return damage


def shifted(text: str) -> str:
    """Rows numbered from 0 in place of 1."""
    head, *rows = text.splitlines()
    return "\n".join([head, *(f"{int(row.partition(',')[0]) - 1},{row.partition(',')[2]}" for row in rows)]) + "\n"


def _words_for_metrics(source: Path) -> None:
    rows = parquet.read_table(source).to_pylist()
    parquet.write_table(pa.Table.from_pylist([{**row, "metric": json.dumps(row["metric"])} for row in rows]), source)


def _two_means(body: dict[str, object]) -> object:
    stats = body["stats"]
    assert isinstance(stats, list)
    stats[0]["mean"] = 0.5
    return body


def of_another_run(text: str) -> str:
    """The third line under the name of another run."""
    rows = text.splitlines()
    return "\n".join([*rows[:2], json.dumps({**json.loads(rows[2]), "run_id": "other"}), *rows[3:]]) + "\n"


def _rounded(source: Path) -> None:
    """Two of three are right, and 67 is stated: what wrote the file writes 66.66666666666667."""
    body = json.loads(source.read_text())
    source.write_text(json.dumps({**body, "outputs": body["outputs"][1:]}))
    source.with_name("task_cot_eval_metrics.jsonl").write_text('{"accuracy": 67}\n')


def row(**change: object) -> Damage:
    """A second row, like the first but for some keys."""
    return written("", lambda text: text + json.dumps({**json.loads(text), **change}) + "\n")


REFUSED: list[tuple[str, str, Damage]] = [
    ("helm: state cut", "helm", cut("scenario_state.json")),
    ("helm: verdicts cut", "helm", cut("per_instance_stats.json")),
    ("helm: aggregates cut", "helm", cut("stats.json")),
    ("helm: verdicts of another run", "helm", replaced("per_instance_stats.json", '"id0"', '"id9"')),
    ("helm: verdicts of an instance twice", "helm", edited("per_instance_stats.json", lambda b: [*b, b[0]])),  # type: ignore[misc, index]
    ("helm: a request twice", "helm",
     edited("scenario_state.json", lambda b: {**b, "request_states": [*b["request_states"], b["request_states"][0]]})),  # type: ignore[dict-item, index, call-overload]
    ("helm: Latin-1", "helm", encoded("scenario_state.json", "latin-1")),
    ("helm: state gone", "helm", lambda source: (source / "scenario_state.json").unlink()),
    ("helm: a success without text", "helm", replaced("scenario_state.json", '"completions": [{', '"other": [{')),
    ("helm: the specification of another model", "helm",
     replaced("run_spec.json", '"method": "generation"', '"method": "generation", "model": "lab/large"')),
    ("helm: a mean that is not its sum", "helm", edited("per_instance_stats.json", with_first(_two_means))),
    ("alpaca: cut", "alpaca", cut("annotations.json")),
    ("alpaca: no such preference", "alpaca", replaced("annotations.json", '"preference": 2', '"preference": 7')),
    ("alpaca: a preference in words", "alpaca", replaced("annotations.json", '"preference": 2', '"preference": "m"')),
    ("alpaca: a row twice", "alpaca", edited("annotations.json", lambda b: [*b, b[0]])),  # type: ignore[misc, index]
    ("alpaca: one row of another kind", "alpaca", edited("annotations.json", lambda b: [*b, {"id": 1}])),  # type: ignore[misc]
    ("alpaca: a model twice", "alpaca", line_twice("leaderboard.csv", 1)),
    ("alpaca: other separators", "alpaca", delimited("leaderboard.csv", ";")),
    ("alpaca: Latin-1", "alpaca", encoded("annotations.json", "latin-1")),
    ("alpaca: a Git LFS pointer for the annotations", "alpaca", written("annotations.json", lambda _: POINTER)),
    ("alpaca: a win rate of nan", "alpaca", replaced("leaderboard.csv", "58.3", "nan")),
    ("alpaca: ends in zero bytes, as after a crash", "alpaca",
     written("annotations.json", lambda text: text[:-9] + "\0" * 9)),
    ("records: samples cut", "records", cut("r1_samples.jsonl")),
    ("records: aggregate cut", "records", cut("r1.json")),
    ("records: samples of another record", "records", replaced("r1_samples.jsonl", "capitals/lab/1", "rivers/lab/1")),
    ("records: a sample twice", "records", line_twice("r1_samples.jsonl", 0)),
    ("records: a score in words", "records", replaced("r1_samples.jsonl", '"score": 1.0', '"score": "good"')),
    ("records: neither text nor error", "records", replaced("r1_samples.jsonl", '"raw": ["Lima"]', '"raw": []')),
    ("records: two scores in one row", "records",
     replaced("r1_samples.jsonl", '"score": 1.0', '"score": 0.0, "score": 1.0')),
    ("records: samples as one list", "records",
     written("r1_samples.jsonl", lambda text: json.dumps([json.loads(line) for line in text.splitlines()]))),
    ("lighteval: cut", "lighteval", cut("")),
    ("lighteval: a row twice", "lighteval", parquet_rows(lambda rows: [*rows, rows[0]])),
    ("lighteval: metrics in words", "lighteval", _words_for_metrics),
    ("lighteval: a right choice that is none", "lighteval", parquet_rows(
        lambda rows: [{**rows[0], "doc": {**rows[0]["doc"], "gold_index": [7]}}, *rows[1:]])),  # type: ignore[dict-item]
    ("evals: cut", "evals", cut("")),
    ("evals: an event twice", "evals", line_twice("", 1)),
    ("evals: two reports", "evals", line_twice("", -1)),
    ("evals: a verdict in words", "evals", replaced("", '"correct": true', '"correct": "yes"')),
    ("evals: UTF-16", "evals", encoded("", "utf-16-le")),
    ("evals: an event of another run", "evals", written("", of_another_run)),
    ("evals: two logs in one file", "evals", written("", lambda text: text + text)),
    ("dialogues: a row more", "dialogues", line_twice("m-1_prompt0_output.csv", 1)),
    ("dialogues: labels cut", "dialogues", cut(LABELS, 0.7)),
    ("dialogues: other separators", "dialogues", delimited(LABELS, "\t")),
    ("dialogues: Latin-1", "dialogues", encoded("m-1_prompt0_output.csv", "latin-1")),
    ("dialogues: counts in words", "dialogues", replaced("m-1_response_rate.txt", "3,", "three,")),
    ("dialogues: labels shifted by one", "dialogues", written(LABELS, shifted)),
    ("dialogues: a turn of flip twice", "dialogues",
     written("m-1_prompt0_results.txt", lambda text: text + text.splitlines()[0] + "\n")),
    ("judged: a row twice", "judged", line_twice("", 1)),
    ("judged: other separators", "judged", delimited("", ";")),
    ("judged: packed", "judged", packed("")),
    ("judged: a score beyond every number", "judged", replaced("", "2,5,3,3", "2,1e999,3,3")),
    ("solutions: cut", "solutions", cut("")),
    ("solutions: a row twice", "solutions", line_twice("", 0)),
    ("solutions: flags as words", "solutions", replaced("", '"is_correct": true', '"is_correct": "false"')),
    ("outputs: cut", "outputs", cut("")),
    ("rewards: a row twice", "rewards", line_twice("", 0)),
    ("rewards: a row of another kind", "rewards", replaced("", '"task_id": 1', '"task": 1')),
    ("rewards: no number", "rewards", replaced("", '"reward": 1.0', '"reward": NaN')),
    ("rewards: no task", "rewards", replaced("", '"task_id": 1', '"task_id": null')),
]  # fmt: skip

TOLD: list[tuple[str, Damage, str]] = [
    ("judged", replaced("", "a,I fly.", ",I fly."), "judges.csv:2: 'statement' or 'Name' is blank"),
    ("judged", replaced("", "No.,0", "No.,high"), "judges.csv:2: 'judge1_score' must be a number or blank"),
    ("judged", replaced("", "No.,0", "No.,nan"), "judges.csv:2: 'judge1_score' must be a number or blank"),
    ("judged", replaced("", "No.,0,1,0,0", "No."), "judges.csv:2: 3 cells where the first line has 7"),
    ("judged", replaced("", "judge2_score", "judge1_score"), "two columns are named 'judge1_score'"),
    ("judged", written("", lambda _: "a,b\n1,2\n"), "judges.csv: neither SQLite nor JSON nor JSONL"),
    ("dialogues", line_gone(LABELS, 4), "dialogues 1 to 4, and labels of 1 to 3, 3 in all"),
    ("dialogues", line_twice(LABELS, -1), "result_all.csv:6: 'Row' must be a number of its own"),
    ("dialogues", replaced(LABELS, "4,1,0,1", f"{'2' * 6000},1,0,1"),
     "result_all.csv:5: 'Row' must be a number of its own"),
    ("dialogues", replaced(LABELS, "1,1,1,0", "1,1,x,0"), "the label of turn 2 must be a number"),
    ("dialogues", replaced("m-1_prompt0_results.txt", "Flip: 2", "Flip: two"),
     "results.txt:1: 'Row N: Turn of Flip: N' was expected"),
    ("rows", row(condition=None), "rows.jsonl:2: 'condition' is missing or blank"),
    ("rows", row(variant=None, model_id=None), "rows.jsonl:2: 'model_id' is missing or blank"),
    ("rows", row(raw_text=7), "rows.jsonl:2: 'raw_text' must be a string, not 7"),
    ("rows", row(temperature="warm"), "rows.jsonl:2: 'temperature' must be a number, not 'warm'"),
    ("rows", row(temperature=-1), "rows.jsonl:2: 'temperature' must be 0 or more"),
    ("rows", row(latency_ms=float("nan")), "NaN is no number"),
    ("rows", row(stored_is_correct="maybe"), "rows.jsonl:2: 'stored_is_correct' must be a number"),
    ("rows", row(source="web"), "rows.jsonl:2: 'source' must be an object"),
    ("rows", row(repeat=0.5), "rows.jsonl:2: 'repeat' must be an integer"),
    ("rows", row(seed=1.5), "rows.jsonl:2: seed and max_tokens must be integers"),
    ("rows", row(item_id="x", trial_id="t-2", question=""), "rows.jsonl:2: item 'x': 'prompt' is missing or blank"),
    ("rows", row(item_id="x", trial_id="t-2", wrong_answer="lima"), "rows.jsonl:2: item 'x': decoy equals target"),
    ("rows", row(item_id="x\ud800"), "half a surrogate pair"),
    ("rows", row(condition="asch_history_5"), "rows.jsonl:2: trial 't-1' has another item, "),
]  # fmt: skip
"""The source, what is wrong with it, and the words that say so."""

FOUND: list[tuple[str, str, Damage, str]] = [
    ("helm: aggregate altered", "helm", replaced("stats.json", '"mean": 0.25', '"mean": 0.35'),
     "stats.json, entry 1, mean"),
    ("helm: verdict altered", "helm", edited("per_instance_stats.json", _wrong_verdict), "row 1"),  # type: ignore[arg-type]
    ("alpaca: aggregate altered", "alpaca", replaced("leaderboard.csv", "58.3", "68.3"), "line 2, win_rate"),
    ("alpaca: preference altered", "alpaca", replaced("annotations.json", '"preference": 2', '"preference": 1'),
     "line 2, n_wins"),
    ("alpaca: a row dropped", "alpaca", edited("annotations.json", lambda b: b[:-1]), "line 2, n_total"),  # type: ignore[index]
    ("alpaca: counts of another model altered", "alpaca", replaced("leaderboard.csv", "other,75.0", "other,76.0"),
     "leaderboard.csv:3"),
    ("records: aggregate altered", "records", replaced("r1.json", '"score": 0.5', '"score": 0.75'),
     "score_details.score"),
    ("records: label altered", "records", replaced("r1_samples.jsonl", '"score": 1.0, "is_correct": true',
     '"score": 0.0, "is_correct": false'), "score_details.score"),
    ("records: a row dropped", "records", line_gone("r1_samples.jsonl", 2), "r1_samples.jsonl"),
    ("lighteval: a row dropped", "lighteval", parquet_rows(lambda rows: rows[:-1]), "effective_num_docs"),
    ("evals: report altered", "evals", replaced("", '"accuracy": 0.66', '"accuracy": 0.76'), "final_report.accuracy"),
    ("evals: verdict altered", "evals", replaced("", '"correct": true', '"correct": false'), "log.jsonl:3"),
    ("dialogues: mean altered", "dialogues", replaced("m-1_summary.json", '"mean": 1.5', '"mean": 1.7'),
     "prompt0.mean"),
    ("dialogues: label altered", "dialogues", replaced(LABELS, "2,1,1,1", "2,1,0,1"), "row 2"),
    ("dialogues: turn of flip altered", "dialogues", replaced("m-1_prompt0_results.txt", "Flip: 2", "Flip: 1"),
     "row 1"),
    ("dialogues: counts altered", "dialogues", replaced("m-1_response_rate.txt", "prompt0: 3", "prompt0: 4"), "line 1"),
    ("judged: a median altered", "judged", replaced("", "3,3\n", "3,4\n"), "judges.csv:3"),
    ("solutions: a flag altered", "solutions", replaced("", '"is_correct": true', '"is_correct": false'),
     "solutions.jsonl:1"),
    ("outputs: accuracy altered", "outputs", replaced("task_cot_eval_metrics.jsonl", "75.0", "80.0"),
     "line 1, accuracy"),
    ("outputs: an answer altered", "outputs", replaced("", "answer is No", "answer is Yes"), "line 1, accuracy"),
    ("outputs: an accuracy as if rounded", "outputs", _rounded, "line 1, accuracy"),
]  # fmt: skip


@pytest.mark.parametrize(("source", "damage"), [case[1:] for case in REFUSED], ids=[case[0] for case in REFUSED])
def test_a_damaged_source_is_refused_with_its_place_and_leaves_nothing(
    tmp_path: Path, source: str, damage: Damage
) -> None:
    path = SOURCES[source](tmp_path / "given")
    damage(path)
    with pytest.raises(PerpendError) as error:
        pp.convert(path, tmp_path / "run")
    message = str(error.value.args[0])
    assert str(tmp_path / "given") in message or any(
        str(tmp_path / "given") in str(line) for line in error.value.args[1:]
    )
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(("source", "damage", "words"), TOLD)
def test_what_is_wrong_is_said_with_its_line_and_nothing_is_left(
    tmp_path: Path, source: str, damage: Damage, words: str
) -> None:
    path = rows_file(tmp_path, {}) if source == "rows" else SOURCES[source](tmp_path)
    before = sorted(tmp_path.rglob("*"))
    damage(path)
    with pytest.raises(PerpendError) as error:
        pp.convert(path, tmp_path / "run")
    assert words in str(error.value)
    assert str(tmp_path) in str(error.value)
    assert sorted(tmp_path.rglob("*")) == before


@pytest.mark.parametrize(("source", "damage", "place"), [case[1:] for case in FOUND], ids=[case[0] for case in FOUND])
def test_a_lying_source_is_found_out_with_the_place_of_the_lie(
    tmp_path: Path, source: str, damage: Damage, place: str
) -> None:
    path = SOURCES[source](tmp_path / "given")
    pp.audit(path).raise_for_failures()
    damage(path)
    audited = pp.audit(path)
    assert not audited.ok
    [outcome] = audited.sources
    places = [f"{one.stated.file}, {one.stated.place}" for one in outcome.differing]
    places += [example for rule in outcome.rules for example in rule.examples]
    assert any(place in one for one in places), places
    with pytest.raises(AuditFailure, match="state what does not follow"):
        audited.raise_for_failures()


def test_a_file_that_is_none_of_these_says_what_can_be_read(tmp_path: Path) -> None:
    path = tmp_path / "what.json"
    path.write_text('{"a": 1}')
    with pytest.raises(DataError, match="unknown keys: a") as error:
        pp.convert(path, tmp_path / "run")
    assert any("HELM" in str(line) for line in error.value.args)


def test_numbers_of_events_may_be_far_apart_and_out_of_order(tmp_path: Path) -> None:
    path = SOURCES["evals"](tmp_path / "given")
    text = path.read_text()
    path.write_text(text.replace('"event_id": 3', '"event_id": 1000000000000000'))
    [outcome] = pp.audit(path).sources
    [missing] = [count for note, count in outcome.notes.items() if note.startswith("events whose numbers")]
    assert missing > 10**14


def test_members_of_an_archive_that_are_not_read_are_named(tmp_path: Path) -> None:
    """They may state other numbers than the samples give, and a reader of the log sees them."""
    header = {
        "version": 2,
        "status": "success",
        "eval": {"task": "t", "model": "m/x", "created": "2026-01-01T00:00:00+00:00"},
    }
    sample = {
        "id": 1,
        "epoch": 1,
        "input": "q",
        "target": "a",
        "output": {"choices": [{"message": {"role": "assistant", "content": "a"}, "stop_reason": "stop"}]},
        "scores": {"match": {"value": "C", "answer": "a"}},
    }
    members = {"header.json": header, "samples/1_epoch_1.json": sample, "summaries.json": [], "\x1b[2Jx": [], "a/b": {}}
    with zipfile.ZipFile(tmp_path / "log.eval", "w") as archive:
        for name, body in members.items():
            archive.writestr(name, json.dumps(body))
    (outcome,) = pp.audit(tmp_path / "log.eval").sources
    (unread,) = [(words, count) for words, count in outcome.notes.items() if "not read" in words]
    assert unread == (r"members of the archive that are not read: 'summaries.json', '\x1b[2Jx', 'a/b'", 3)

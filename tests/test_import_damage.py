"""Damaged, mixed and lying files of other projects: each is refused with its place, or the audit names what differs."""

from __future__ import annotations

import csv
import gzip
import io
import json
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest
from pyarrow import parquet

import perpend as pp
from perpend.errors import AuditFailure, DataError, PerpendError
from tests.source_files import SOURCES

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
    ("alpaca: cut", "alpaca", cut("annotations.json")),
    ("alpaca: no such preference", "alpaca", replaced("annotations.json", '"preference": 2', '"preference": 7')),
    ("alpaca: a preference in words", "alpaca", replaced("annotations.json", '"preference": 2', '"preference": "m"')),
    ("alpaca: a row twice", "alpaca", edited("annotations.json", lambda b: [*b, b[0]])),  # type: ignore[misc, index]
    ("alpaca: one row of another kind", "alpaca", edited("annotations.json", lambda b: [*b, {"id": 1}])),  # type: ignore[misc]
    ("alpaca: a model twice", "alpaca", line_twice("leaderboard.csv", 1)),
    ("alpaca: other separators", "alpaca", delimited("leaderboard.csv", ";")),
    ("alpaca: Latin-1", "alpaca", encoded("annotations.json", "latin-1")),
    ("records: samples cut", "records", cut("r1_samples.jsonl")),
    ("records: aggregate cut", "records", cut("r1.json")),
    ("records: samples of another record", "records", replaced("r1_samples.jsonl", "capitals/lab/1", "rivers/lab/1")),
    ("records: a sample twice", "records", line_twice("r1_samples.jsonl", 0)),
    ("records: a score in words", "records", replaced("r1_samples.jsonl", '"score": 1.0', '"score": "good"')),
    ("records: neither text nor error", "records", replaced("r1_samples.jsonl", '"raw": ["Lima"]', '"raw": []')),
    ("lighteval: cut", "lighteval", cut("")),
    ("lighteval: a row twice", "lighteval", parquet_rows(lambda rows: [*rows, rows[0]])),
    ("evals: cut", "evals", cut("")),
    ("evals: an event twice", "evals", line_twice("", 1)),
    ("evals: two reports", "evals", line_twice("", -1)),
    ("evals: a verdict in words", "evals", replaced("", '"correct": true', '"correct": "yes"')),
    ("evals: UTF-16", "evals", encoded("", "utf-16-le")),
    ("dialogues: a row more", "dialogues", line_twice("m-1_prompt0_output.csv", 1)),
    ("dialogues: labels cut", "dialogues", cut("m-1_prompt0_result_all.csv", 0.7)),
    ("dialogues: other separators", "dialogues", delimited("m-1_prompt0_result_all.csv", "\t")),
    ("dialogues: Latin-1", "dialogues", encoded("m-1_prompt0_output.csv", "latin-1")),
    ("dialogues: counts in words", "dialogues", replaced("m-1_response_rate.txt", "3,", "three,")),
    ("judged: a row twice", "judged", line_twice("", 1)),
    ("judged: other separators", "judged", delimited("", ";")),
    ("judged: packed", "judged", packed("")),
    ("solutions: cut", "solutions", cut("")),
    ("solutions: a row twice", "solutions", line_twice("", 0)),
    ("outputs: cut", "outputs", cut("")),
    ("rewards: a row twice", "rewards", line_twice("", 0)),
    ("rewards: a row of another kind", "rewards", replaced("", '"task_id": 1', '"task": 1')),
]  # fmt: skip

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
    ("dialogues: label altered", "dialogues", replaced("m-1_prompt0_result_all.csv", "2,1,1,1", "2,1,0,1"), "row 2"),
    ("dialogues: turn of flip altered", "dialogues", replaced("m-1_prompt0_results.txt", "Flip: 2", "Flip: 1"),
     "row 1"),
    ("dialogues: counts altered", "dialogues", replaced("m-1_response_rate.txt", "prompt0: 3", "prompt0: 4"), "line 1"),
    ("judged: a median altered", "judged", replaced("", "3,3\n", "3,4\n"), "judges.csv:3"),
    ("solutions: a flag altered", "solutions", replaced("", '"is_correct": true', '"is_correct": false'),
     "solutions.jsonl:1"),
    ("outputs: accuracy altered", "outputs", replaced("task_cot_eval_metrics.jsonl", "75.0", "80.0"),
     "line 1, accuracy"),
    ("outputs: an answer altered", "outputs", replaced("", "answer is No", "answer is Yes"), "line 1, accuracy"),
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

"""Sources damaged in further ways: mixed runs, shifted labels, contradictions within a row, stand-ins for files."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest
from pyarrow import parquet

import perpend as pp
from perpend.errors import PerpendError
from tests.source_files import SOURCES
from tests.test_import_damage import Damage, edited, parquet_rows, replaced, with_first

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


REFUSED: list[tuple[str, str, Damage]] = [
    ("helm: the specification of another model", "helm",
     replaced("run_spec.json", '"method": "generation"', '"method": "generation", "model": "lab/large"')),
    ("helm: a mean that is not its sum", "helm", edited("per_instance_stats.json", with_first(_two_means))),
    ("alpaca: a Git LFS pointer for the annotations", "alpaca", written("annotations.json", lambda _: POINTER)),
    ("alpaca: a win rate of nan", "alpaca", replaced("leaderboard.csv", "58.3", "nan")),
    ("alpaca: ends in zero bytes, as after a crash", "alpaca",
     written("annotations.json", lambda text: text[:-9] + "\0" * 9)),
    ("records: two scores in one row", "records",
     replaced("r1_samples.jsonl", '"score": 1.0', '"score": 0.0, "score": 1.0')),
    ("records: samples as one list", "records",
     written("r1_samples.jsonl", lambda text: json.dumps([json.loads(line) for line in text.splitlines()]))),
    ("lighteval: metrics in words", "lighteval", _words_for_metrics),
    ("lighteval: a right choice that is none", "lighteval", parquet_rows(
        lambda rows: [{**rows[0], "doc": {**rows[0]["doc"], "gold_index": [7]}}, *rows[1:]])),  # type: ignore[dict-item]
    ("evals: an event of another run", "evals", written("", of_another_run)),
    ("evals: two logs in one file", "evals", written("", lambda text: text + text)),
    ("dialogues: labels shifted by one", "dialogues", written("m-1_prompt0_result_all.csv", shifted)),
    ("dialogues: a turn of flip twice", "dialogues",
     written("m-1_prompt0_results.txt", lambda text: text + text.splitlines()[0] + "\n")),
    ("judged: two columns of one name", "judged", replaced("", "judge2_score", "judge1_score")),
    ("judged: a score beyond every number", "judged", replaced("", "2,5,3,3", "2,1e999,3,3")),
    ("solutions: flags as words", "solutions", replaced("", '"is_correct": true', '"is_correct": "false"')),
    ("rewards: no number", "rewards", replaced("", '"reward": 1.0', '"reward": NaN')),
    ("rewards: no task", "rewards", replaced("", '"task_id": 1', '"task_id": null')),
]  # fmt: skip

FOUND: list[tuple[str, str, Damage, str]] = [
    ("outputs: an accuracy as if rounded", "outputs", _rounded, "line 1, accuracy"),
]  # fmt: skip


@pytest.mark.parametrize(("source", "damage"), [case[1:] for case in REFUSED], ids=[case[0] for case in REFUSED])
def test_a_source_that_contradicts_itself_is_refused(tmp_path: Path, source: str, damage: Damage) -> None:
    path = SOURCES[source](tmp_path / "given")
    damage(path)
    with pytest.raises(PerpendError):
        pp.convert(path, tmp_path / "run")
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(("source", "damage", "place"), [case[1:] for case in FOUND], ids=[case[0] for case in FOUND])
def test_a_contradiction_is_found(tmp_path: Path, source: str, damage: Damage, place: str) -> None:
    path = SOURCES[source](tmp_path / "given")
    damage(path)
    [outcome] = pp.audit(path).sources
    places = [one.stated.place for one in outcome.differing]
    places += [example for rule in outcome.rules for example in rule.examples]
    assert any(place in one for one in places), places


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

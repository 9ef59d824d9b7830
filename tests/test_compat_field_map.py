"""Any JSONL becomes a run once a map says which field is what; a field that is not there is an error, not a gap."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

import pyarrow as pa
import pytest
from pyarrow import parquet

from perpend._convert import convert, readable
from perpend.errors import DataError, SpecError
from perpend.measure.run import Run
from perpend.rows.mapping import parse_map
from perpend.types import Item, Response, Sampling, Usage
from tests.tables import table
from tests.test_compat_inspect import one, trials
from tests.test_compat_rows import notes

ROW: Mapping[str, object] = {"qid": 7, "question": "Capital of Peru?", "answer": "Lima", "output": "Lima.", "acc": 1}
MAP = "id=qid,prompt=question,target=answer,text=output,score.correct=acc"


def jsonl(tmp_path: Path, *rows: Mapping[str, object]) -> Path:
    path = tmp_path / "rows.jsonl"
    path.write_text("".join(json.dumps({**ROW, **row}) + "\n" for row in rows), encoding="utf-8")
    return path


def imported(tmp_path: Path, *rows: Mapping[str, object], fields: str = MAP) -> Run:
    return Run(convert(jsonl(tmp_path, *rows), tmp_path / "run", fields))


def test_the_named_fields_become_item_answer_and_stored_score(tmp_path: Path) -> None:
    run = imported(tmp_path, {}, {"qid": "x", "output": "Cusco", "acc": 0})
    run.score()
    (trial, response, scores), (second, _, wrong) = trials(run)
    assert trial.item == Item("7", "Capital of Peru?", "Lima")
    assert (trial.model, trial.condition, trial.sampling) == ("unknown", "control", Sampling(0.0, 0, None))
    assert response == Response(text="Lima.")
    assert (scores["stored_correct@import"].value, wrong["stored_correct@import"].value) == (1.0, 0.0)
    assert second.item.id == "x"
    assert run["stored_correct"].disagreement(run["correct"]).value == 0
    assert (run.manifest.source_of_import or {})["map"] == {
        "id": "qid",
        "prompt": "question",
        "target": "answer",
        "text": "output",
        "score.correct": "acc",
    }


def test_everything_that_a_line_may_say_is_kept(tmp_path: Path) -> None:
    row = {
        "meta": {"topic": "geo", "n.n": 3},
        "choices": {"label": ["A", "B"], "text": ["Lima", "Cusco"]},
        "answer": 0,
        "outs": [{"text": "Lima"}],
        "stop_reason": "max_tokens",
        "chat": [{"role": "user", "content": "Capital?"}],
        "t": 1.5,
        "in": 12,
        "out": 3,
        "sampled": {"temp": 0.7, "limit": 64, "seed": 2**62 + 1, "p": 0.9, "stops": ["."]},
        "judge": {"fluent": "good", "exact": True},
    }
    fields = (
        "id=qid,prompt=question,target=answer,choices=choices.text,text=outs.0.text,finish=stop_reason,ms=t,"
        "input_tokens=in,output_tokens=out,temperature=sampled.temp,max_tokens=sampled.limit,seed=sampled.seed,"
        "top_p=sampled.p,stop=sampled.stops,messages=chat,model==lab/small,condition==asked,dataset==quiz,"
        "tag.topic=meta.topic,tag.n=meta.n.n,score.judge=judge,decoy==Cusco"
    )
    trial, response, scores = one(imported(tmp_path, row, fields=fields))
    tags = {"topic": "geo", "n": "3"}
    assert trial.item == Item("7", "Capital of Peru?", "Lima", ("Lima", "Cusco"), "Cusco", tags=tags)
    assert (trial.model, trial.condition) == ("lab/small", "asked")
    assert trial.sampling == Sampling(0.7, 64, 2**62 + 1, 0.9, (".",))
    assert response == Response(text="Lima", finish="max_tokens", usage=Usage(12, 3), ms=1.5)
    assert scores["stored_messages@import"].answer == '[{"content":"Capital?","role":"user"}]'
    assert (scores["stored_judge_fluent@import"].value, scores["stored_judge_fluent@import"].answer) == (None, "good")
    assert scores["stored_judge_exact@import"].value == 1.0
    assert scores["stored_target@import"].answer == "0"


def test_a_toml_file_says_the_same_as_the_flag(tmp_path: Path) -> None:
    path = tmp_path / "map.toml"
    path.write_text('id = "qid"\nprompt = "question"\ntarget = "answer"\ntext = "output"\n[score]\ncorrect = "acc"\n')
    assert parse_map(str(path)) == parse_map(MAP)


def test_answers_in_any_table_become_the_same_run(tmp_path: Path) -> None:
    """A blank cell is no value."""
    rows = [{"qid": 7, "question": "2 + 2?", "answer": 4, "output": "4; yes", "acc": 1}]
    text = '\ufeffqid;question;answer;output;acc;x\r\n7;2 + 2?;4;"4; yes";1;\r\n'
    (tmp_path / "a.csv").write_text(text, encoding="utf-8")
    (tmp_path / "b.json").write_text(json.dumps({"rows": rows}), encoding="utf-16")
    parquet.write_table(pa.Table.from_pylist(rows), tmp_path / "c.parquet")
    fields = {"id": "qid", "prompt": "question", "target": "answer", "text": "output", "score.acc": "acc"}
    for name in ("a.csv", "b.json", "c.parquet"):
        run = Run(convert(tmp_path / name, tmp_path / f"run-{name}", fields))
        ((trial, response, scores),) = trials(run)
        assert (trial.item.id, trial.item.target, response.text) == ("7", "4", "4; yes")
        assert scores["stored_acc@import"].value == 1.0


def test_errors_and_absent_answers_are_never_empty_texts(tmp_path: Path) -> None:
    rows = (
        {"qid": "a", "output": None, "why": "HTTP 500"},
        {"qid": "b", "output": "", "why": None},
        {"qid": "c", "output": None, "why": None},
        {"qid": "d", "output": "half", "why": "cut"},
    )
    run = imported(tmp_path, *rows, fields=MAP + ",error=why")
    found = {trial.item.id: (response.text, response.error) for trial, response, _ in trials(run)}
    assert found == {"a": (None, "HTTP 500"), "b": ("", None), "d": (None, "cut")}
    assert len(run.table) == 4
    assert notes(run)["trials without an answer, kept as planned"] == 1


def test_lines_without_an_id_are_one_item_where_they_ask_the_same(tmp_path: Path) -> None:
    fields = "prompt=question,target=answer,text=output,model=m,repeat=r"
    rows = ({"m": "a", "r": 0}, {"m": "b", "r": 0}, {"m": "b", "r": 1}, {"m": "a", "r": 0, "question": "Other?"})
    run = imported(tmp_path, *rows, fields=fields)
    assert len(run.table.values("item")) == 2
    assert sorted((trial.model, trial.repeat) for trial, _, _ in trials(run)) == [
        ("a", 0),
        ("a", 0),
        ("b", 0),
        ("b", 1),
    ]


@pytest.mark.parametrize(*table("maps_refused"))
def test_a_wrong_map_is_told_what_is_wrong(tmp_path: Path, fields: str, message: str) -> None:
    with pytest.raises(SpecError) as error:
        imported(tmp_path, {}, fields=fields)
    assert message in str(error.value)
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize("text", ["prompt = 1", "[score]\nx = 2", "prompt = ["])
def test_a_map_file_holds_names_of_fields(tmp_path: Path, text: str) -> None:
    path = tmp_path / "map.toml"
    path.write_text(text)
    with pytest.raises(SpecError, match="map.toml"):
        parse_map(str(path))


def test_plain_jsonl_without_a_map_is_told_of_the_map(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="acc, answer, output, qid, question") as error:
        convert(jsonl(tmp_path, {}), tmp_path / "run")
    assert any("--map" in known for known in readable())
    assert "\n  ".join(readable()) in str(error.value)


def test_a_map_needs_a_file(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="not a file"):
        convert(tmp_path, tmp_path / "run", MAP)
    with pytest.raises(SpecError, match="'prompt' and 'text' missing"):
        imported(tmp_path, {}, fields="id=qid")

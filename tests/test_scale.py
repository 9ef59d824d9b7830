"""Large runs: several processes give what one gives, whoever calls, and the table goes out in parts."""

from __future__ import annotations

import gzip
import json
import os
import re
import shutil
import sqlite3
import subprocess
import sys
import tracemalloc
from collections.abc import Iterator, Sequence
from contextlib import closing
from itertools import islice
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

import perpend as pp
from perpend.ask.conditions import control, first_request
from perpend.canon import dumps
from perpend.errors import PerpendError, SpecError, StoreError
from perpend.ledger.digest import content_digest
from perpend.ledger.plan import Trial
from perpend.ledger.raw import answer_parts
from perpend.ledger.scores import verdict_row
from perpend.ledger.snapshot import snapshot
from perpend.measure.packed import Packed, narrow
from perpend.measure.plans import same_for_all
from perpend.measure.processes import in_order, processes
from perpend.measure.run import Run
from perpend.measure.scoring import judge, to_judge
from perpend.measure.study import Metric
from perpend.measure.table import Table
from perpend.proof.archive import RESPONSE as RESPONSE_KEYS
from perpend.proof.archive import _response_line
from perpend.proof.audit import Options, audit
from perpend.proof.audit.answers import Questions, _first_digest
from perpend.proof.audit.checks import Check
from perpend.proof.audit.scores import ScoredAgain
from perpend.proof.lines import read_lines, read_scores, read_trials, write_lines
from perpend.proof.publish import publish
from perpend.proof.restoring import restore
from perpend.report.derive import PlainStudy, whole_metrics
from perpend.report.export import export_parts
from perpend.studies.conformity.metrics import study_metrics
from perpend.studies.conformity.trials import JUDGED, UNFINISHED
from perpend.types import Item, Response, Sampling, Score, Scorer, Usage

SCORER = """
from perpend.types import Scorer, Score

def judge(item, response):
    return Score(float(len(response.text or "")), item.target, "its length")

VERSIONS = (Scorer("length", "1", judge),)
"""


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A conformity run of two subjects."""
    folder = tmp_path_factory.mktemp("scale")
    subjects = [
        pp.model("mock/subject", label="a/b c", sway=0.4),
        pp.model("mock/subject", label="think", style="think", seed=2),
    ]
    return pp.evaluate(pp.task("conformity"), subjects, max_items=20, name="study", out=folder, quiet=True).directory


def stored(run: Path) -> list[object]:
    with snapshot(run / "run.db") as db:
        return [(name, row) for name, rows in db.score_batches() for row in rows]


def test_several_processes_give_the_scores_that_one_gives(study: Path) -> None:
    Run(study).score(workers=1)
    alone = stored(study)
    Run(study).score(workers=2)
    assert stored(study) == alone
    assert len(alone) > 1000


def test_the_same_answer_to_an_item_is_judged_once_and_other_answers_are_not_taken_for_it(study: Path) -> None:
    """What packaged scorers are not given, they cannot read: neither tokens nor times change a verdict."""
    run = Run(study)
    scorers = [run.code.scorer(name) for name in run.manifest.scorers]
    usages = (None, Usage(3, 1), Usage(900, 512, "ab" * 32))
    with run.open() as store:
        for trial, response in islice(store.answers(), 200):
            for text, error, finish in (
                (response.text, None, "stop"),
                (response.text, None, "length"),
                (None, "HTTP 500", None),
            ):
                ways = [
                    Response(text, error, None, finish, usage, ms)
                    for usage, ms in zip(usages, (None, 1.0, 1e9), strict=True)
                ]
                for scorer in scorers:
                    assert len({repr(scorer.judge(trial.item, way)) for way in ways}) == 1, scorer.name
        bodies, rows = next(answer_parts(store, 400))
    cut = [(*row[:5], "length", *row[6:]) for row in rows]
    wrong = [(*row[:2], None, "HTTP 500", *row[4:]) for row in rows]
    mixed = [row for three in zip(rows, cut, wrong, strict=True) for row in three]
    placed, answers = to_judge(mixed, once=True)
    verdicts = judge(scorers, (bodies, answers))
    assert len(verdicts) < len(mixed) / 2
    for (_, place), row in zip(placed, mixed, strict=True):
        assert judge(scorers, (bodies, [row[1:]])) == [verdicts[place]]


def test_somebody_elses_scorer_sees_every_answer(study: Path) -> None:
    seen: list[object] = []

    def slow(_item: Item, response: Response) -> Score:
        seen.append(response)
        return Score(response.ms, None, "its time")

    with Run(study).open() as store:
        bodies, rows = next(answer_parts(store, 50))
    again = [(1000 + n, *row[1:-1], 7.0) for n, row in enumerate(rows)]
    placed, answers = to_judge([*rows, *again], once=False)
    verdicts = judge([Scorer("slow", "1", slow)], (bodies, answers))
    assert len(seen) == len(placed) == len(verdicts) == 2 * len(rows)
    assert [own[0][0] for own in verdicts[len(rows) :]] == [7.0] * len(rows)


def test_an_audit_does_not_take_a_question_for_that_of_another_item_of_its_id() -> None:
    condition = control()
    known: Questions = {}
    asked = SimpleNamespace(choices_scored=False)
    for prompt in ("Which?", "What?", "Which?"):
        trial = Trial(1, Item("one", prompt), condition.name, "model", Sampling(), 0)
        digest = _first_digest(trial, condition, asked, known)  # type: ignore[arg-type]
        assert digest == first_request(trial, condition, choices_scored=False).digest, prompt


def test_an_audit_does_not_take_an_item_for_another_one_of_its_id(study: Path) -> None:
    scorer = Run(study).code.scorer("correct@2")
    check, unscored = Check("scores of correct@2"), Check("every answer has its scores")
    again = ScoredAgain([("correct@2", scorer)], {"correct@2": check}, unscored)
    items = [Item("one", "What is it?", target=target, decoy="neither") for target in ("Paris", "Oslo")]
    answer = Response("The answer is Paris.", finish="stop")
    trials = [Trial(n, item, "control", "m", Sampling(), 0) for n, item in enumerate(items, 1)]
    right = verdict_row(scorer.judge(items[0], answer))
    again.compare([(trial, answer) for trial in trials], {"correct@2": {1: right, 2: right}})
    assert (check.checked, check.differ) == (2, 1)
    assert check.first.startswith("trial 2 ")


def test_values_as_letters_are_the_values(study: Path, tmp_path: Path) -> None:
    """Where a trial is left out, or a value is another one, the rows are read one by one."""
    run = Run(shutil.copytree(study, tmp_path / "study"))
    with closing(sqlite3.connect(run.directory / "run.db")) as db:
        db.execute("DELETE FROM score WHERE scorer = 2 AND trial IN (1, 7, 8)")
        db.execute("UPDATE score SET value = 0.25 WHERE scorer = 3 AND trial = 9")
        db.execute("UPDATE score SET value = -0.0 WHERE scorer = 4 AND trial = 9")
        db.execute("DELETE FROM score WHERE scorer = 5")
        db.commit()
        scorers = dict(db.execute("SELECT scorer, name || '@' || version FROM scorer"))
        stored = db.execute("SELECT scorer, trial, value FROM score WHERE value IS NOT NULL").fetchall()
    table = run.table
    columns = {name: np.full(len(table), np.nan) for name in scorers.values()}
    for scorer, trial, value in stored:
        columns[scorers[scorer]][trial - 1] = value
    for name, values in columns.items():
        assert table.column(name).all_values.tobytes() == values.tobytes(), name
    with closing(sqlite3.connect(run.directory / "run.db")) as db:
        db.execute("PRAGMA foreign_keys=OFF")
        db.execute("UPDATE score SET trial = 10000000 WHERE scorer = 2 AND trial = 9")
        db.execute("UPDATE score SET trial = -9000000000000000000 WHERE scorer = 3 AND trial = 9")
        db.commit()
    for scorer in (2, 3):  # a trial far below the first must not be counted up to it
        with pytest.raises(StoreError, match="lost trials"):
            Run(run.directory).table.column(scorers[scorer])


def test_numbers_do_not_tell_how_many_threads_added_them_up(study: Path) -> None:
    """Sums of over ten thousand rows are split among threads by linear algebra, and rounded in another order."""
    threads: list[object] = []

    class Looks(PlainStudy):
        def metrics(self, table: Table) -> Iterator[Metric]:
            threads.extend(one["num_threads"] for one in threadpool_info() if one["user_api"] == "blas")
            return super().metrics(table)

    with threadpool_limits(limits=3, user_api="blas"):
        whole_metrics([Run(study)], Looks())
    assert threads
    assert set(threads) == {1}


def test_the_ways_of_large_runs_give_the_numbers_of_small_ones(study: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A second process takes part of the numbers; columns that memory has no room for are read again."""
    run = Run(study)
    assert run.code.study is not None
    expected = whole_metrics([run], run.code.study)
    monkeypatch.setattr("perpend.report.derive._BESIDE", 0)
    assert whole_metrics([Run(study)], run.code.study) == expected
    monkeypatch.setattr("perpend.measure.processes.AS_COLUMNS_TWICE", 0)
    monkeypatch.setattr("perpend.report.derive.AS_COLUMNS_TWICE", 0)
    for name in ("perpend.measure.table._KEPT", "perpend.measure.run._MANY"):
        monkeypatch.setattr(name, 1)
    for name in ("perpend.measure.column._PART", "perpend.measure.grid._PART", "perpend.measure.packed._TAKEN"):
        monkeypatch.setattr(name, 7)
    for name in ("perpend.stats.cells._CHUNK", "perpend.stats.grouping._CHUNK", "perpend.stats.regression._LINES"):
        monkeypatch.setattr(name, 11)
    monkeypatch.setattr("perpend.stats.sums.PART", 128)
    monkeypatch.setattr("perpend.stats.cells._COUNTED", 1)
    again = Run(study)
    assert whole_metrics([again], run.code.study) == expected
    assert len(again.table._columns) == 1


def test_an_audit_of_a_large_run_derives_when_the_others_are_done(
    study: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    publish([study], tmp_path, {}, figures=False)
    folder = tmp_path / "study"
    expected = audit([folder], Options(workers=2))[0]
    monkeypatch.setattr("perpend.proof.audit.runner.AS_COLUMNS_TWICE", 0)
    monkeypatch.setattr("perpend.proof.audit.answers._CHUNK", 40)
    monkeypatch.setattr("perpend.proof.audit.answers.ALONE", 0)
    monkeypatch.setattr("perpend.proof.audit.intent._PART", 30)
    again = audit([folder], Options(workers=2))[0]
    assert again.checks == expected.checks
    assert not any(check.differ for check in again.checks)


def test_the_items_that_a_scorer_cannot_judge_are_those_that_its_reasons_name(study: Path) -> None:
    asked, table = Run(study).table, Run(study).table
    named = 0
    for name in table.scorers:
        table.column(name)  # the letters say it
        assert table.read_unfit is not None
        assert asked.read_unfit is not None
        assert table.read_unfit(name).tolist() == asked.read_unfit(name).tolist(), name
        named += len(table.read_unfit(name))
    assert named, "some score says so"


def test_a_scorer_of_a_file_is_found_by_other_processes(study: Path, tmp_path: Path) -> None:
    (tmp_path / "length.py").write_text(SCORER, encoding="utf-8")
    run = Run(shutil.copytree(study, tmp_path / "study"))
    run.score([str(tmp_path / "length.py")], workers=2)
    lengths = [row for name, row in stored(run.directory) if name == "length@1"]
    assert lengths
    assert all(row[3] == "its length" for row in lengths)


def test_a_function_of_this_process_is_called_in_this_one(tmp_path: Path) -> None:
    calls: list[str] = []

    def counted(item: pp.Item, response: pp.Response) -> bool:
        calls.append(item.id)
        return True

    items = [{"id": f"item-{n}", "prompt": "Which?", "target": "x"} for n in range(3)]
    task = pp.task("questions", items=items, conditions=["control"], scorers=counted)
    run = pp.evaluate(task, pp.model("mock/subject"), name="mine", out=tmp_path, quiet=True)
    calls.clear()
    run.score(workers=2)
    assert len(calls) == 3


def test_a_script_without_a_main_guard_is_not_run_again(study: Path, tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(
        f"import perpend as pp\nprint('once')\npp.Run({str(study)!r}).score(workers=2)\n", encoding="utf-8"
    )
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout.strip(), done.stderr) == (0, "once", "")


def _double(number: int) -> int:
    return 2 * number


def test_parts_come_back_in_order_and_a_dead_process_is_said() -> None:
    with processes(2, 1, 0) as pool:  # type: ignore[union-attr]
        assert list(in_order(pool, abs, range(-50, 0))) == list(range(50, 0, -1))
    with processes(2, 1, 0) as pool, pytest.raises(PerpendError, match="--workers 1"):  # type: ignore[union-attr]
        list(in_order(pool, os._exit, [0, 0]))
    assert list(in_order(None, _double, range(3))) == [0, 2, 4]
    assert processes(None, 10, 11) is None


@pytest.mark.parametrize(
    "line",
    [
        '{"answer":null,"reason":"no","scorer":"a@1","span":null,"trial":1,"value":null}',
        '{"answer":"x é","reason":"","scorer":"a@1","span":[0,12],"trial":7,"value":1.0}',
        '{"answer":"a \\" \\n","reason":"r","scorer":"a@1","span":[0,1],"trial":7,"value":-0.25}',
        '{"answer":"x","reason":"r","scorer":"a@1","span":null,"trial":7,"value":1e-07}',
    ],
)
def test_the_quick_reading_of_a_score_is_the_long_one(line: str, tmp_path: Path) -> None:
    write_lines(tmp_path / "s.gz", [line])
    ((_, value),) = read_lines(tmp_path / "s.gz")
    ((_, slow, quick),) = read_scores(tmp_path / "s.gz")
    assert isinstance(value, dict)
    if quick is None:
        assert slow == value
    else:
        span = None if value["span"] is None else "[{},{}]".format(*value["span"])
        assert quick == [(value["answer"], value["reason"], value["scorer"], span, value["trial"], value["value"])]


def test_one_line_that_is_not_plain_does_not_hide_its_neighbours(tmp_path: Path) -> None:
    plain = '{{"answer":null,"reason":"no","scorer":"a@1","span":null,"trial":{},"value":1.0}}'
    lines = [plain.format(number) for number in range(1, 5001)]
    lines[2500] = lines[2500].replace('"no"', '"\\""')
    write_lines(tmp_path / "s.gz", lines)
    numbers: list[tuple[int, object]] = []
    for number, value, quick in read_scores(tmp_path / "s.gz"):
        if quick is None:
            assert isinstance(value, dict)
            numbers.append((number, value["trial"]))
        else:
            numbers += ((number + at, row[4]) for at, row in enumerate(quick))
    assert numbers == [(number, number) for number in range(1, 5001)]
    lines[2500] = "x" + lines[2499]
    write_lines(tmp_path / "s.gz", lines)
    with pytest.raises(StoreError, match="line 2501"):
        list(read_scores(tmp_path / "s.gz"))
    write_lines(tmp_path / "s.gz", lines[:10])
    whole = gzip.decompress((tmp_path / "s.gz").read_bytes())
    (tmp_path / "s.gz").write_bytes(gzip.compress(whole.removesuffix(b"\n")))
    with pytest.raises(StoreError, match="s.gz:10: cut off"):
        list(read_scores(tmp_path / "s.gz"))


@pytest.mark.parametrize(
    "line",
    [
        '{"answer":null,"reason":"no","scorer":"a@1","span":null,"trial":01,"value":null}',
        '{"answer":null,"reason":"no","scorer":"a@1","span":null,"trial":1,"value":1.00}',
        '{"answer":null,"reason":"no","scorer":"a@1","span":null,"trial":1,"value":1e999}',
        '{"answer":null,"reason":"no","scorer":"a@1","span":null,"trial":1,"value":1.0} ',
        '{"answer":null,"reason":"\t","scorer":"a@1","span":null,"trial":1,"value":1.0}',
        '{"answer": null,"reason":"no","scorer":"a@1","span":null,"trial":1,"value":1.0}',
    ],
)
def test_what_is_not_canonical_is_refused_as_before(line: str, tmp_path: Path) -> None:
    write_lines(tmp_path / "s.gz", [line])
    with pytest.raises(StoreError, match="line 1|:1:"):
        list(read_scores(tmp_path / "s.gz"))


def test_the_quick_reading_of_a_trial_is_the_long_one(tmp_path: Path) -> None:
    write_lines(tmp_path / "t.gz", ["[1,2,3,4,0]", "[1,-2,3,4,0]", "[1,2]"])
    assert list(read_trials(tmp_path / "t.gz")) == list(read_lines(tmp_path / "t.gz"))
    write_lines(tmp_path / "t.gz", ["[01,2,3,4,0]"])
    with pytest.raises(StoreError):
        list(read_trials(tmp_path / "t.gz"))


def test_a_folder_that_is_there_is_not_replaced(study: Path, tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="exists already"):
        export_parts(Run(study), tmp_path)
    with pytest.raises(SpecError, match="model"):
        export_parts(Run(study), tmp_path / "new", by=("modell",))
    assert not (tmp_path / "new").exists()


def test_several_processes_publish_the_bytes_that_one_publishes(study: Path, tmp_path: Path) -> None:
    for workers in (1, 2):
        publish([study], tmp_path / str(workers), {}, figures=False, workers=workers)
    one, other = (tmp_path / "1" / "study", tmp_path / "2" / "study")
    names = sorted(path.relative_to(one) for path in one.rglob("*") if path.is_file())
    assert names == sorted(path.relative_to(other) for path in other.rglob("*") if path.is_file())
    assert [name for name in names if (one / name).read_bytes() != (other / name).read_bytes()] == []
    (audited,) = audit([other], Options(workers=2))
    assert audited.ok


@pytest.mark.parametrize("row", [
    (1, 0, 0, "ab", "x \"é\n\u2028", None, None, "stop", '{"output": 2, "input": 1}', 1.5, 1e9),
    (2, 1, 3, "ab", None, "it \\ failed", None, None, None, None, 0.1),
    (3, 0, 0, "", "", None, '[["b", -1e-07], ["a", -0.0]]', "length", None, 1e22, 5e-324),
])  # fmt: skip
def test_a_response_by_hand_is_its_canonical_line(row: tuple[Any, ...]) -> None:
    body = {
        name: json.loads(value) if name in ("logprobs", "usage") else value
        for name, value in zip(RESPONSE_KEYS, row, strict=True)
        if value is not None
    }
    assert _response_line(row) == dumps(body)


def test_a_time_that_no_json_holds_is_no_line() -> None:
    with pytest.raises(ValueError, match="JSON"):
        _response_line((1, 0, 0, "ab", "x", None, None, None, None, float("inf"), 1.0))


def test_scores_that_another_process_restores_are_those_that_one_process_restores(
    study: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (made,) = publish([study], tmp_path / "published", {})
    alone = restore(made.folder, tmp_path / "alone")
    monkeypatch.setattr("perpend.proof.restoring._ALONE", 0)
    monkeypatch.setattr("perpend.measure.processes.cores", lambda: 2)
    beside = restore(made.folder, tmp_path / "beside")
    with snapshot(alone / "run.db") as one, snapshot(beside / "run.db") as two:
        assert list(one.score_batches()) == list(two.score_batches())
        assert one.same_plan(two)
    assert sorted(path.name for path in alone.iterdir()) == sorted(path.name for path in beside.iterdir())
    lines = gzip.decompress((made.folder / "scores.jsonl.gz").read_bytes()).decode().splitlines()
    for planted in (
        re.sub('"trial":[0-9]+', '"trial":999999', lines[-1]),
        re.sub('"scorer":"[^"]*"', '"scorer":"nobody@1"', lines[-1]),
        lines[-2],
        lines[-1].replace('"trial"', '"trail"'),
    ):
        write_lines(made.folder / "scores.jsonl.gz", [*lines[:-1], planted])
        said = []
        for fewest in (0, 1 << 40):
            monkeypatch.setattr("perpend.proof.restoring._ALONE", fewest)
            with pytest.raises(StoreError) as refused:
                restore(made.folder, tmp_path / f"refused {fewest}")
            said.append(str(refused.value).replace("scores.db", "run.db"))
        assert "scores.jsonl.gz" in said[0]
        assert said[0] == said[1]
    assert [path.name for path in (tmp_path / "beside").iterdir()] == [beside.name], "nothing is left over"


def test_the_content_digest_is_stated_though_a_score_cannot_be_read(study: Path, tmp_path: Path) -> None:
    shutil.copytree(study, tmp_path / study.name)
    with closing(sqlite3.connect(tmp_path / study.name / "run.db", isolation_level=None)) as db:
        db.execute("UPDATE score SET span = 'nowhere' WHERE trial = 1")
    for workers in (1, 2):
        (outcome,) = audit([tmp_path / study.name], Options(workers=workers))
        assert not outcome.ok
        assert outcome.content == content_digest(study)


def test_the_numbers_of_a_study_take_few_bytes_per_trial(monkeypatch: pytest.MonkeyPatch) -> None:
    """By the slope between two sizes, so that what does not grow is not counted."""
    for name in ("perpend.measure.column._PART", "perpend.measure.grid._PART", "perpend.measure.packed._TAKEN"):
        monkeypatch.setattr(name, 1 << 12)
    for name in ("perpend.stats.cells._CHUNK", "perpend.stats.grouping._CHUNK", "perpend.stats.regression._LINES"):
        monkeypatch.setattr(name, 1 << 12)
    monkeypatch.setattr("perpend.stats.sums.PART", 1 << 12)
    monkeypatch.setattr("perpend.stats.cells._COUNTED", 1 << 13)
    peaks = {}
    for count in (300, 900):
        table = sweep_table(count)
        monkeypatch.setattr("perpend.measure.table._KEPT", 6 * len(table))
        tracemalloc.start()
        stated = sum(1 for _ in study_metrics(table))
        peaks[len(table)] = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert stated > 1000
    (few, least), (many, most) = peaks.items()
    assert (most - least) / (many - few) < 26.0


def sweep_table(count: int) -> Table:
    """So many items under four conditions by six models at six temperatures, in the order of a plan."""
    conditions = ("control", "control_retest", "asch_history_5", "authoritative_bias")
    models, temperatures = tuple("abcdef"), tuple(f"{t / 5:g}" for t in range(6))
    shape = (len(models), len(temperatures), count, len(conditions))
    model, sampling, item, condition = (narrow(own.ravel(), own.max() + 1) for own in np.indices(shape))
    codes = {"item": item, "condition": condition, "model": model, "sampling": sampling, "temperature": sampling}
    codes |= {"repeat": same_for_all(len(item)), "run": same_for_all(len(item))}
    items = [Item(str(n), f"Question {n}?", target="yes" if n % 10 else None, decoy="no") for n in range(count)]
    names = {
        "item": tuple(one.id for one in items),
        "condition": conditions,
        "model": models,
        "sampling": temperatures,
        "temperature": temperatures,
        "repeat": ("0",),
        "run": ("sweep",),
    }
    scorers = (*(f"{name}@{rule}" for rule in ("1", "2") for name in JUDGED), UNFINISHED)
    opinion = np.array([one.target is None for one in items])[item]

    def values(wanted: Sequence[str]) -> dict[str, Packed]:
        columns = {}
        for name in wanted:
            column = (np.random.default_rng(scorers.index(name)).random(len(item)) < 0.3).astype(np.float64)
            column[opinion & name.startswith("correct")] = np.nan
            columns[name] = Packed.of(column)
        return columns

    return Table(("sweep",), codes, names, items, scorers, values)

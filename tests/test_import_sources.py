"""What other projects publish becomes a run: its answers, its verdicts as columns, its numbers with their places."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

import pytest

import perpend as pp
from perpend._convert import FORMATS
from perpend.errors import DataError, SpecError, StoreError
from perpend.ledger.digest import content_digest
from perpend.measure.stated import SourceNumber, follows, read_rules, read_stated, tolerances
from perpend.report.every_eval_ever import write_records
from perpend.studies.conformity import STUDY as CONFORMITY
from perpend.studies.logic.study import STUDY as LOGIC
from perpend.types import Response
from tests import source_files
from tests.conftest import ROOT
from tests.peak import PEAK_KB
from tests.source_files import SOURCES
from tests.test_compat_inspect import HEADER, SAMPLE, trials
from tests.test_compat_lm_eval import PICKED
from tests.test_compat_rows import ROW, notes, rows_file
from tests.test_compat_simulation import simulation
from tests.test_compat_suite import ITEM, suite_files

PUBLIC = ROOT / ".." / "shared" / "data" / "public"


def imported(source: Path, to: Path, fields: str | None = None) -> pp.Run:
    return pp.Run(pp.convert(source, to, fields=fields) if fields else pp.convert(source, to))


def checked(run: pp.Run) -> tuple[int, int, int]:
    """How many stated numbers follow, how many do not, how many cannot be computed."""
    counts = [0, 0, 0]
    stated = read_stated(run.manifest.source_of_import)
    for one, tolerance in zip(stated, tolerances(stated), strict=True):
        value, why = follows(run.table, one)
        assert (value is None) == bool(why)
        counts[2 if value is None else abs(value - one.value) > tolerance] += 1
    return counts[0], counts[1], counts[2]


@pytest.mark.parametrize("name", SOURCES)
def test_every_source_is_known_by_its_content_and_its_numbers_follow(tmp_path: Path, name: str) -> None:
    run = imported(SOURCES[name](tmp_path), tmp_path / "run")
    assert run.manifest.trials > 0
    assert [column for column in run.columns() if column.endswith("@import")]
    assert checked(run)[1] == 0
    assert all(rule.differ == 0 and rule.checked for rule in read_rules(run.manifest.source_of_import))
    if name != "rewards":  # verdicts without answers: the audit of a run says that nothing was asked
        run.score()
        pp.audit(run.directory).raise_for_failures()


EVERY: Mapping[str, Callable[[Path], Path]] = {
    **SOURCES,
    "rows": lambda folder: rows_file(folder, {"created_at": 5.0}, {"created_at": 6.0, "trial_id": "t", "variant": "b"}),
    "simulation": lambda folder: simulation(folder / "simulation.db"),
    "inspect": lambda folder: source_files.write_json(folder / "log.json", {**HEADER, "samples": [SAMPLE]}),
    "lm_eval": lambda folder: source_files.write_lines(folder / "samples_x_2026-01-01T00.jsonl", [PICKED]),
    "items": lambda folder: source_files.write_lines(folder / "items.jsonl", [ITEM]),
    "suite": lambda folder: suite_files(folder)[0],
}


def test_every_format_has_a_source_here_but_two_that_are_folders_of_runs(tmp_path: Path) -> None:
    given = []
    for name, make in EVERY.items():
        (tmp_path / name).mkdir()
        given.append(make(tmp_path / name))
    known = [*CONFORMITY.formats, *LOGIC.formats, *FORMATS]
    missing = [one.name for one in known if not any(map(one.is_one, given))]
    assert missing == ["runs_metadata.json", "a run folder of chaosbench"]


def content(written: Path) -> dict[str, object]:
    """Every file by its bytes, a ledger by its content; without the name of the run and the time of the import."""
    files: dict[str, object] = {}
    for path in sorted(path for path in (written, *written.rglob("*")) if path.is_file()):
        name = path.relative_to(written).as_posix()
        files[name] = content_digest(written) if name == "run.db" else path.read_bytes()
    if "manifest.json" in files:
        body = json.loads((written / "manifest.json").read_text())
        files["manifest.json"] = {key: value for key, value in body.items() if key not in ("created", "run")}
    return files


@pytest.mark.parametrize("name", EVERY)
def test_a_source_gives_the_same_twice_and_nothing_is_overwritten(tmp_path: Path, name: str) -> None:
    (tmp_path / "given").mkdir()
    source = EVERY[name](tmp_path / "given")
    first, second = (pp.convert(source, tmp_path / to) for to in ("one", "two"))
    assert content(tmp_path / "one") == content(tmp_path / "two") != {}
    with pytest.raises(StoreError, match="exists already"):
        pp.convert(source, first)
    assert second.exists()


def test_a_run_of_helm(tmp_path: Path) -> None:
    run = imported(source_files.helm(tmp_path / "capitals"), tmp_path / "run")
    trial, response, scores = trials(run)[0]
    assert (trial.item.id, trial.item.prompt, trial.item.target) == ("id0", "What is the capital of Peru?", "Lima")
    assert dict(trial.item.tags) == {"split": "test"}
    assert (trial.model, response.text, response.ms) == ("lab/small", " Lima", 500.0)
    assert scores["stored_exact_match@import"].value == 1.0
    stated = {one.what: one for one in read_stated(run.manifest.source_of_import)}
    assert stated["exact_match test"] == SourceNumber(
        "exact_match test",
        0.25,
        "stats.json",
        "entry 1, mean",
        "stored_exact_match",
        "mean_of_repeats",
        {"split": "test"},
        exact=True,
    )
    assert checked(run) == (2, 0, 1)
    assert follows(run.table, stated["bleu test"]) == (None, "the source holds no 'bleu' of single answers")


def test_perturbed_instances_of_helm_are_conditions_and_several_requests_of_an_instance_too(tmp_path: Path) -> None:
    folder = source_files.helm(tmp_path / "capitals")
    path, stats = folder / "scenario_state.json", folder / "per_instance_stats.json"
    body, verdicts = json.loads(path.read_text()), json.loads(stats.read_text())
    altered = json.loads(json.dumps(body["request_states"][0]))
    altered["instance"] |= {"perturbation": {"name": "typos"}, "input": {"text": "Waht is the capital of Peru?"}}
    path.write_text(json.dumps({**body, "request_states": [*body["request_states"], altered]}))
    verdict = {**verdicts[0], "perturbation": {"name": "typos"}}
    stats.write_text(json.dumps([*verdicts, verdict]))
    run = imported(folder, tmp_path / "run")
    assert run.table.values("condition") == ("control", "typos")
    assert run["stored_exact_match"].where(condition="typos").mean().n == 1
    assert len(run.table.items) == 4


def test_preferences_of_alpaca_eval(tmp_path: Path) -> None:
    run = imported(source_files.alpaca(tmp_path / "alpaca"), tmp_path / "run")
    column = run["stored_preference_judge_a"]
    assert list(column.all_values) == [1, 1, 0, 0.5, 0, 1]
    assert run.table.values("condition") == ("vs_base",)
    assert trials(run)[0][1] == Response(text="two 0")
    stated = read_stated(run.manifest.source_of_import)
    assert {one.what for one in stated if not one.unchecked} == {
        f"{key} of tiny" for key in ("win_rate", "standard_error", "n_wins", "n_wins_base", "n_draws", "n_total")
    }
    assert {one.place for one in stated} == {f"line 2, {one.what.partition(' of ')[0]}" for one in stated}
    assert notes(run)["rows of leaderboard.csv about models whose annotations are not here"] == 1
    [rule] = read_rules(run.manifest.source_of_import)
    assert (rule.checked, rule.differ) == (2, 0)


def test_two_judges_of_one_answer_are_two_columns_and_a_leaderboard_alone_is_a_run_of_its_rows(tmp_path: Path) -> None:
    folder = source_files.alpaca(tmp_path / "alpaca")
    rows = json.loads((folder / "annotations.json").read_text())
    (folder / "second.json").write_text(
        json.dumps([{**row, "annotator": "judge_b", "preference": 1.25} for row in rows])
    )
    run = imported(folder, tmp_path / "run")
    assert run.manifest.trials == 6
    assert run["stored_preference_judge_b"].mean().value == 0.25
    assert checked(run)[:2] == (0, 0)
    board = imported(folder / "leaderboard.csv", tmp_path / "board")
    assert board["stored_win_rate"].where(model="other").mean().value == 75


def test_samples_of_every_eval_ever(tmp_path: Path) -> None:
    path = source_files.records(tmp_path / "records")
    run = imported(path, tmp_path / "run")
    trial, response, scores = trials(run)[0]
    assert (trial.item.id, trial.item.target, dict(trial.item.tags)) == ("Peru", "Lima", {"continent": "America"})
    assert (response.text, trial.model) == ("Lima", "lab/small")
    assert scores[next(name for name in scores if "acc" in name)].value == 1.0
    assert checked(run) == (3, 0, 0)
    same = imported(path.with_name("r1_samples.jsonl"), tmp_path / "same")
    assert checked(same) == (3, 0, 0)


def test_an_aggregate_without_samples_is_a_run_of_its_results_and_says_what_cannot_be_checked(tmp_path: Path) -> None:
    path = source_files.records(tmp_path / "records")
    path.with_name("r1_samples.jsonl").unlink()
    run = imported(path, tmp_path / "run")
    assert run["stored_score"].mean().value == 0.5
    assert checked(run) == (0, 0, 1)


def test_a_run_as_records_of_every_eval_ever_and_back_loses_nothing_that_they_can_hold(tmp_path: Path) -> None:
    for name in ("helm", "evals", "judged", "dialogues", "solutions"):
        run = imported(SOURCES[name](tmp_path / name), tmp_path / name / "run")
        run.score()
        before = {}
        for trial, response, scores in trials(run):
            values = {key: score for key, score in scores.items() if score.value is not None}
            before[trial.item.id, trial.condition, trial.model, trial.repeat] = (trial, response, values)
        count = 0
        for path in write_records(run, tmp_path / name / "records"):
            for trial, response, scores in trials(imported(path, tmp_path / name / f"back{count}")):
                first, answer, values = before[trial.item.id, trial.condition, trial.model, trial.repeat]
                count += 1
                assert (trial.item, trial.sampling) == (first.item, first.sampling)
                if answer.usage is not None and None in (answer.usage.input, answer.usage.output):
                    answer = replace(answer, usage=None)  # the schema asks for both or none
                assert response == answer
                for key, score in values.items():
                    short = key if key.endswith("@import") else f"stored_{key.replace('@', '-v')}@import"
                    short = short if short.startswith("stored_") else f"stored_{short}"
                    assert (scores[short].value, scores[short].answer) == (score.value, score.answer), key
            assert str(tmp_path) not in path.read_text()
        assert count == len(before)
        with pytest.raises(StoreError, match="exists already"):
            write_records(run, tmp_path / name / "records")


def test_details_of_lighteval(tmp_path: Path) -> None:
    run = imported(source_files.lighteval(tmp_path), tmp_path / "run")
    trial, response, scores = trials(run)[1]
    assert (trial.item.prompt, trial.item.target, trial.model) == ("Capital of Chile?", "Santiago", "lab/small")
    assert (response.text, scores["stored_em@import"].value) == ("Santiago.", 0.0)
    assert checked(run) == (3, 0, 0)


def test_details_of_lighteval_in_the_older_layout(tmp_path: Path) -> None:
    import pyarrow as pa
    from pyarrow import parquet

    texts = [{"full_prompt": "Few. Capital?", "example": "Capital?", "predictions": "['Lima']", "gold": "['Lima']",
              "choices": "[]", "gold_index": "[]", "metrics": {"em": 1.0}}]  # fmt: skip
    chosen = [{"full_prompt": "Capital?", "example": "Capital?", "predictions": [[-1.5, 0.0], [-0.5, 1.0]],
               "choices": ["Cusco", "Lima"], "gold_index": [1], "metrics": {"acc": 1.0}}]  # fmt: skip
    for number, rows in enumerate((texts, chosen)):
        path = tmp_path / f"old{number}.parquet"
        parquet.write_table(pa.Table.from_pylist(rows), path)
        run = imported(path, tmp_path / f"run{number}")
        [(trial, response, scores)] = trials(run)
        assert trial.item.target == "Lima"
        assert 1.0 in {score.value for score in scores.values()}
        if number:
            run.score()
            assert run["choice"].rate().value == 1.0
        else:
            assert response.text == "Lima"


def test_a_log_of_openai_evals(tmp_path: Path) -> None:
    run = imported(source_files.evals_log(tmp_path / "log.jsonl"), tmp_path / "run")
    by_item = {trial.item.id: (trial, response, scores) for trial, response, scores in trials(run)}
    trial, response, scores = by_item["Peru"]
    assert (trial.item.prompt, trial.item.target, response.text) == ("Capital of Peru?", "Lima", "Lima")
    assert scores["stored_match@import"].value == 1.0
    assert by_item["Cuba"][1].error == "Timeout: none came"
    assert "stored_match@import" not in by_item["Cuba"][2]
    assert checked(run) == (1, 0, 1)


def test_dialogues_have_turns_of_flip_and_numbers_of_flips(tmp_path: Path) -> None:
    run = imported(source_files.dialogues(tmp_path / "turns"), tmp_path / "run")
    first = {"condition": "prompt0_turn_1"}
    assert list(run["stored_turn_of_flip_of_labels"].where(**first).all_values[run.table.mask(first)]) == [2, 3, 0, 1]
    assert list(run["stored_number_of_flips"].where(**first).all_values[run.table.mask(first)]) == [1, 0, 2, 2]
    assert checked(run) == (5, 0, 0)


def test_a_wide_table_is_long_once_a_star_says_what_its_columns_are(tmp_path: Path) -> None:
    rows = [
        ["q", "answer_small", "answer_large", "ok_small", "ok_large"],
        ["2+2?", "4", "5", 1, 0],
        ["1+1?", "3", "2", 0, 1],
    ]
    path = source_files.write_table(tmp_path / "wide.csv", rows)
    run = imported(path, tmp_path / "run", "prompt=q,text=answer_*,score.ok=ok_*,model=*")
    assert run.table.values("model") == ("small", "large")
    assert [response.text for _, response, _ in trials(run)] == ["4", "3", "5", "2"]
    assert run["stored_ok"].where(model="large").mean().value == 0.5
    turns = source_files.write_table(
        tmp_path / "turns.csv", [["q", "r_1", "r_2", "l_1", "l_2"], ["a?", "x", "y", 1, 0]]
    )
    run = imported(turns, tmp_path / "turns", "prompt=q,text=r_*,score.label=l_*,turn=*")
    assert run.table.values("condition") == ("turn_1", "turn_2")
    pair = run["stored_label"].pair("turn_1", "turn_2")
    assert pair.override().value == 1.0


def test_judges_of_a_long_table_and_of_a_wide_one_give_the_same_columns(tmp_path: Path) -> None:
    long = [["q", "text", "who", "mark", "m", "rep", "cond"]]
    long += [[q, f"{q} {m}", who, mark, m, 0, "c"] for q, m, marks in (("a?", "x", (1, 2)), ("b?", "y", (3, 4)))
             for who, mark in zip(("ann", "bob"), marks, strict=True)]  # fmt: skip
    path = source_files.write_table(tmp_path / "long.csv", long)
    fields = "prompt=q,text=text,judge=who,score.mark=mark,model=m,repeat=rep,condition=cond"
    first = imported(path, tmp_path / "one", fields)
    wide = [["q", "text", "mark_ann", "mark_bob", "m"], ["a?", "a? x", 1, 2, "x"], ["b?", "b? y", 3, 4, "y"]]
    other = source_files.write_table(tmp_path / "wide.csv", wide)
    second = imported(other, tmp_path / "two", "prompt=q,text=text,judge=*,score.mark=mark_*,model=m")
    for run in (first, second):
        assert run.manifest.trials == 2
        assert list(run["stored_mark_ann"].all_values) == [1, 3]
        assert list(run["stored_mark_bob"].all_values) == [2, 4]
    source_files.write_table(path, [*long, long[-1]])
    with pytest.raises(DataError, match="states 'stored_mark_bob' once more for the trial at .*long.csv:4"):
        imported(path, tmp_path / "three", fields)
    source_files.write_table(path, [*long, ["b?", "another text", "cid", 3, "y", 0, "c"]])
    with pytest.raises(DataError, match="states another text for the trial at .*long.csv:4"):
        imported(path, tmp_path / "four", fields)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ("prompt=q,text=answer_*_*,model=*", "a column may have one"),
        ("prompt=q,text=t,model=*", "needs a column with a"),
        ("prompt=q,text=reply_*,model=*", "no column of the form 'reply_"),
    ],
)
def test_a_star_that_fits_nothing_is_an_error(tmp_path: Path, fields: str, message: str) -> None:
    path = source_files.write_table(tmp_path / "wide.csv", [["q", "t", "answer_a"], ["x?", "y", "z"]])
    with pytest.raises((DataError, SpecError), match=message):
        imported(path, tmp_path / "run", fields)


def test_a_table_of_verdicts_alone_needs_ids_and_scores(tmp_path: Path) -> None:
    run = imported(source_files.rewards(tmp_path / "rewards.jsonl"), tmp_path / "run")
    assert (run.manifest.trials, run.manifest.repeats, len(run.table.items)) == (6, 3, 2)
    assert run["stored_reward"].mean().value == 0.5


def test_half_a_surrogate_pair_and_numbers_beyond_every_sum_do_no_harm(tmp_path: Path) -> None:
    folder = source_files.alpaca(tmp_path / "alpaca")
    path = folder / "annotations.json"
    path.write_text(path.read_text().replace('"base"', '"ba\\ud800se"', 1))
    assert imported(folder, tmp_path / "run").manifest.trials == 6
    helm = source_files.helm(tmp_path / "helm")
    stats = json.loads((helm / "per_instance_stats.json").read_text())
    for entry in stats:
        entry["stats"][1] |= {"sum": 1e308, "mean": 1e308}
    (helm / "per_instance_stats.json").write_text(json.dumps(stats))
    [outcome] = pp.audit(helm).sources
    [number] = [one for one in outcome.numbers if one.stated.what == "num_output_tokens test"]
    assert number.value is None
    assert json.dumps(outcome.as_json(), allow_nan=False)


def test_a_number_is_checked_to_the_digits_that_were_written() -> None:
    def stated(*values: float) -> list[SourceNumber]:
        return [SourceNumber("x", value, "f", "p", "c", "mean") for value in values]

    assert list(tolerances(stated(0.4486))) == pytest.approx([0.00005])
    assert next(tolerances(stated(0.5, 0.5038461, 2.0))) < 1e-6
    assert list(tolerances(stated(1.86, 2.0, 1.905)))[1] == pytest.approx(0.0005)
    assert next(tolerances(stated(0.25))) == pytest.approx(0.005)


PEAK = f"""{PEAK_KB}
import sys
import perpend as pp
pp.convert(sys.argv[1], sys.argv[2])
print(peak_kb() // 1024)
"""


def preference(number: int) -> dict[str, object]:
    return {"instruction": f"Say {number}.", "output_1": "a" * 800, "generator_1": "base", "output_2": "b" * 800,
            "generator_2": "tiny", "annotator": "j", "preference": 1 + number % 2}  # fmt: skip


def output(number: int) -> dict[str, object]:
    names = {"trial_id": f"t-{number}", "item_id": f"i-{number // 4}", "variant": f"m-{number % 4}"}
    return {**ROW, **names, "raw_text": "x" * 1000}


@pytest.mark.skipif(sys.platform == "win32", reason="needs the resource module to measure memory")
@pytest.mark.parametrize(
    ("write", "row", "few", "many"),
    [  # with fewer the caches of the database fill
        (source_files.write_json, preference, 6000, 14_000),
        (source_files.write_lines, output, 500, 20_000),
    ],
)
def test_memory_does_not_grow_with_the_source(
    tmp_path: Path, write: Callable[[Path, list[object]], Path], row: Callable[[int], object], few: int, many: int
) -> None:
    peaks = []
    for count in (few, many):
        path = write(tmp_path / str(count) / "annotations.json", [row(n) for n in range(count)])
        command = [sys.executable, "-c", PEAK, str(path), str(tmp_path / f"run{count}")]
        done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=300)
        peaks.append(int(done.stdout))
    assert peaks[1] - peaks[0] < 15


@pytest.mark.skipif(not PUBLIC.is_dir(), reason="the published files (../shared/data/public) are absent")
def test_what_others_published_gives_what_a_plain_script_gives(tmp_path: Path) -> None:
    solved = imported(PUBLIC / "gsm8k" / "example_model_solutions.jsonl", tmp_path / "gsm8k")
    [rule] = read_rules(solved.manifest.source_of_import)
    assert (rule.checked, rule.differ) == (5276, 0)
    lines = [json.loads(line) for line in (PUBLIC / "gsm8k" / "example_model_solutions.jsonl").read_text().splitlines()]
    for model in solved.table.values("model"):
        flags = [line[model]["is_correct"] for line in lines]
        assert solved["stored_correct"].where(model=model).rate().value == pytest.approx(sum(flags) / len(flags))
    pp.convert(PUBLIC / "bbh", tmp_path / "bbh")
    assert [checked(pp.Run(one)) for one in sorted((tmp_path / "bbh").iterdir())] == [(2, 0, 0)] * 4
    preferred = imported(PUBLIC / "alpaca_eval", tmp_path / "alpaca")
    assert checked(preferred)[:2] == (7, 0)
    [counted] = read_rules(preferred.manifest.source_of_import)
    assert (counted.checked, counted.differ) == (102, 0)
    pp.convert(PUBLIC / "every_eval_ever" / "helm", tmp_path / "helm")
    runs = [pp.Run(one) for one in sorted((tmp_path / "helm").iterdir())]
    assert [checked(run) for run in runs] == [(76, 0, 3), (152, 0, 6), (140, 0, 6)]
    assert all(rule.differ == 0 for run in runs for rule in read_rules(run.manifest.source_of_import))
    turns = imported(PUBLIC / "sycon", tmp_path / "sycon")
    assert checked(turns) == (14, 0, 18)
    rewards = imported(PUBLIC / "tau_bench" / "gpt-4o-airline_rewards.jsonl", tmp_path / "tau")
    body = [
        json.loads(line) for line in (PUBLIC / "tau_bench" / "gpt-4o-airline_rewards.jsonl").read_text().splitlines()
    ]
    assert rewards["stored_reward"].mean().value == pytest.approx(sum(one["reward"] for one in body) / len(body))

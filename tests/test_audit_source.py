"""`perpend audit SOURCE`: one page on what somebody else published, and exit 6 where a number does not follow."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

import perpend as pp
from perpend.cli import cli
from perpend.errors import AuditFailure, DataError
from tests import source_files
from tests.conftest import ROOT
from tests.source_files import SOURCES
from tests.test_import_damage import replaced

PUBLIC = ROOT / ".." / "shared" / "data" / "public"


def audit(*arguments: str | Path) -> Result:
    return CliRunner().invoke(cli, ["audit", *map(str, arguments)])


def test_the_page_says_what_was_found_what_follows_and_what_was_not_checked(tmp_path: Path) -> None:
    shown = audit(source_files.helm(tmp_path / "capitals"))
    assert shown.exit_code == 0, shown.output
    lines = shown.output.splitlines()
    assert lines[0] == "capitals: everything that could be computed again follows"
    assert "  4 answers of 1 model to 4 items under 1 condition; 1 column of stored verdicts; 3 stated numbers" in lines
    assert "  exact_match, as HELM defines it: 4 of 4" in lines
    assert lines[lines.index("Stated numbers that follow from the stored verdicts") + 1] == "  2 of 2"
    assert "  1 number: the source holds no 'bleu' of single answers" in lines
    assert len(lines) < 40


def test_a_number_that_does_not_follow_is_named_with_its_place_and_ends_with_6(tmp_path: Path) -> None:
    source = source_files.helm(tmp_path / "capitals")
    replaced("stats.json", '"mean": 0.25', '"mean": 0.5')(source)
    shown = audit(source)
    assert isinstance(shown.exception, AuditFailure)
    assert "    stats.json, entry 1, mean: stated 0.5, computed 0.25" in shown.output
    shown = audit(source, "--json")
    assert isinstance(shown.exception, AuditFailure)
    body = json.loads(shown.stdout)
    [outcome] = body["sources"]
    assert not outcome["ok"]
    [number] = [one for one in outcome["numbers"] if one["status"] == "does not follow"]
    assert (number["file"], number["place"], number["value"], number["recomputed"]) == (
        "stats.json", "entry 1, mean", 0.5, 0.25,
    )  # fmt: skip


def test_verdicts_on_no_answer_give_bounds(tmp_path: Path) -> None:
    rows = [["q", "said", "read", "ok"], ["a?", "Lima", "Lima", 1], ["b?", "Well, perhaps", "[invalid]", 0],
            ["c?", "", "", 0], ["d?", "Sucre", "Sucre", 0], ["e?", "Rome", "Rome", 1]]  # fmt: skip
    path = source_files.write_table(tmp_path / "mine.csv", rows)
    fields = "prompt=q,text=said,score.ok=ok,score.ok_answer=read"
    [outcome] = pp.audit(path, fields=fields).sources
    [one] = outcome.unfit
    assert (one.column, one.n, dict(one.kinds)) == ("stored_ok@import", 5, {"unparsed": 1, "without an answer": 1})
    assert (one.rate, one.without) == (0.4, pytest.approx(2 / 3))
    assert (one.lo, one.hi) == (0.4, 0.8)
    shown = audit(path, "--map", fields)
    assert shown.exit_code == 0, shown.output
    assert "rate as stored 0.4000; without them 0.6667; with them missing between 0.4000 and 0.8000" in shown.output


def test_empty_failed_and_cut_off_answers_with_a_verdict_are_counted(tmp_path: Path) -> None:
    source = source_files.helm(tmp_path / "capitals")
    path = source / "scenario_state.json"
    body = json.loads(path.read_text())
    states = body["request_states"]
    states[0]["result"]["completions"][0]["finish_reason"] = {"reason": "length"}
    states[1]["result"] = {"success": False, "error": "503"}
    path.write_text(json.dumps(body))
    [outcome] = pp.audit(source).sources
    [one] = [one for one in outcome.unfit if one.column == "stored_exact_match@import"]
    assert dict(one.kinds) == {"truncated": 1, "failed": 1, "empty": 1}
    assert (one.rate, one.without, one.lo, one.hi) == (0.25, 0.0, 0.0, 0.75)


def test_comparisons_are_paired_and_corrected(tmp_path: Path) -> None:
    rows = [
        {"question": f"{n}?", "ground_truth": f"A: {n}",
         "good": {"is_correct": True, "solution": f"A: {n}"},
         "bad": {"is_correct": n % 3 == 0, "solution": f"A: {n if n % 3 == 0 else 0}"},
         "worse": {"is_correct": n % 4 == 0, "solution": f"A: {n if n % 4 == 0 else 0}"}}
        for n in range(1, 41)
    ]  # fmt: skip
    [outcome] = pp.audit(source_files.write_lines(tmp_path / "solutions.jsonl", rows)).sources
    survived = {one.sides: one.survives for one in outcome.comparisons}
    assert survived == {("good", "bad"): True, ("good", "worse"): True, ("bad", "worse"): False}
    assert all(
        one.adjusted is not None and one.adjusted >= (one.difference.also["p"] or 0) for one in outcome.comparisons
    )


def test_marks_that_are_not_0_or_1_are_compared_by_flipping_signs(tmp_path: Path) -> None:
    rows = [["Name", "statement", "response", "judge1_score"]]
    rows += [[who, f"s{n}", "r", str(2 + (who == "b") * 2 + n % 2)] for n in range(8) for who in ("a", "b")]
    [outcome] = pp.audit(source_files.write_table(tmp_path / "judges.csv", rows)).sources
    [one] = outcome.comparisons
    assert (one.difference.value, one.survives) == (2.0, True)
    assert one.difference.also["p"] == pytest.approx(2 / 2**8)


def test_where_answers_that_the_source_counts_are_absent_only_the_count_differs(tmp_path: Path) -> None:
    source = source_files.lighteval(tmp_path)
    results = next((tmp_path / "results").rglob("*.json"))
    replaced("", '"effective_num_docs": 4', '"effective_num_docs": 400')(results)
    replaced("", '"em": 0.25', '"em": 0.31')(results)
    [outcome] = pp.audit(source).sources
    assert [one.stated.place for one in outcome.differing] == ["config_tasks.ours|capitals.effective_num_docs"]
    [other] = [one for one in outcome.numbers if one.stated.what == "em of ours|capitals|0"]
    assert other.why == "4 of the 400 trials that it is of are here"


def test_a_folder_of_sources_is_audited_part_by_part_and_what_cannot_be_read_is_said(tmp_path: Path) -> None:
    for name in ("one", "two"):
        source_files.evals_log(tmp_path / "logs" / f"{name}.jsonl")
    audited = pp.audit(tmp_path / "logs")
    assert [one.name for one in audited.sources] == ["logs/one", "logs/two"]
    assert audited.ok
    source_files.evals_log(tmp_path / "logs" / "three.jsonl")
    replaced("", '"event_id": 3', '"event_id": 2')(tmp_path / "logs" / "three.jsonl")
    audited = pp.audit(tmp_path / "logs")
    assert not audited.ok
    assert "three.jsonl" in audited.sources[-1].unreadable[0]
    with pytest.raises(DataError, match="could not be read"):
        audited.raise_for_failures()
    shown = audit(tmp_path / "logs")
    assert isinstance(shown.exception, DataError)
    assert "logs/one: everything that could be computed again follows" in shown.output


def test_an_aggregate_alone_says_that_nothing_can_be_computed(tmp_path: Path) -> None:
    path = source_files.records(tmp_path / "records")
    path.with_name("r1_samples.jsonl").unlink()
    shown = audit(path)
    assert shown.exit_code == 0
    assert shown.output.startswith("r1.json: the source states nothing that could be computed again")


def test_runs_and_sources_are_audited_together_and_a_run_as_before(tmp_path: Path) -> None:
    run = pp.Run(pp.convert(source_files.judged(tmp_path / "judges.csv"), tmp_path / "runs" / "judges"))
    run.score()
    audited = pp.audit([tmp_path / "runs", tmp_path / "judges.csv"])
    assert [one.name for one in audited.runs] == ["judges"]
    assert [one.name for one in audited.sources] == ["judges.csv"]
    assert audited.ok
    assert audit(tmp_path / "nothing").exit_code != 0


@pytest.mark.skipif(not PUBLIC.is_dir(), reason="the published files (../shared/data/public) are absent")
@pytest.mark.parametrize("folder", ["alpaca_eval", "syco_bench", "sycon", "tau_bench", "inspect_scout"])
def test_what_others_published_is_audited(folder: str) -> None:
    audited = pp.audit(PUBLIC / folder)
    assert audited.sources
    audited.raise_for_failures()


@pytest.mark.parametrize("name", SOURCES)
def test_every_source_of_our_own_is_audited_and_follows(tmp_path: Path, name: str) -> None:
    audited = pp.audit(SOURCES[name](tmp_path))
    assert len(audited.sources) == 1
    audited.raise_for_failures()

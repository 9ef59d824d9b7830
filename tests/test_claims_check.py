"""Claims against a run whose every rate is known beforehand."""

from __future__ import annotations

import json
import shutil
import sqlite3
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perpend.ask.conditions import asch, control
from perpend.ask.runner import evaluate_task
from perpend.ask.task import Task
from perpend.errors import AuditFailure, SpecError, StoreError
from perpend.measure.run import Run
from perpend.models.callable import Callable as CallableModel
from perpend.proof.claims import Verdict, as_json, as_table, check, raise_for_failures, read_claims
from perpend.proof.claims.file import half_unit
from perpend.spec.runspec import ModelSpec, RunSpec
from perpend.stats.binary import binary_metrics
from perpend.types import Request, Response, Sampling
from tests.tables import table

TASK = Task(name="t", conditions=(control(), asch(2)), scorers=("label@1", "label@2", "unfinished"))
SPEC = RunSpec("t", (ModelSpec("callable/m", "m"),), name="run", samplings=(Sampling(0.0), Sampling(1.0)))
PAIR = 'pair = ["control", "asch_history_2"]'


def swayed(request: Request) -> Response:
    """Right under control but for every fifth; under pressure every third says what it hears. 7 is cut off."""
    asked = request.messages[-1].content
    number = int(asked.split(":")[0].removeprefix("Statement "))
    is_right = number % 3 != 0 if "participants" in asked else number % 5 != 0
    if number == 7:
        return Response(text="TR", finish="length")
    return Response(text="TRUE" if (number % 2 == 0) == is_right else "FALSE", finish="stop")


def made(folder: Path, items: Path, name: str = "run", temperature: float | None = None) -> Run:
    spec = replace(SPEC, items=(items,), name=name)
    if temperature is not None:
        spec = replace(spec, samplings=(Sampling(temperature),))
    run = Run(evaluate_task(spec, TASK, [CallableModel("m", swayed)], folder, quiet=True).directory)
    run.score()
    return run


def items(folder: Path, count: int = 40) -> Path:
    path = folder / "items.jsonl"
    lines = []
    for n in range(count):
        body = {
            "id": f"item-{n}",
            "prompt": f"Statement {n}: {n} is even. Is it TRUE or FALSE?",
            "target": "FALSE" if n % 2 else "TRUE",
            "decoy": "TRUE" if n % 2 else "FALSE",
            "tags": {"topic": "parity" if n < count / 2 else "numbers"},
        }
        lines.append(json.dumps(body) + "\n")
    path.write_text("".join(lines), encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    folder = tmp_path_factory.mktemp("claims")
    return made(folder, items(folder))


def verdicts(folder: Path, text: str, *runs: Run, rescore: bool = True) -> list[Verdict]:
    path = folder / "claims.toml"
    path.write_text("\n".join(line.strip() for line in text.splitlines()), encoding="utf-8")
    return check(path, runs, rescore=rescore)


def one(folder: Path, body: str, *runs: Run) -> Verdict:
    (found,) = verdicts(folder, f"[[claim]]\n{body}", *runs)
    return found


def test_a_rate_that_is_as_claimed_passes_and_another_fails(run: Run, tmp_path: Path) -> None:
    # 31 of the 39 statements that are answered whole are no multiple of 5.
    body = 'number = "rate(label)"\nwhere = { condition = "control" }\nexpect = '
    assert one(tmp_path, body + "0.795", run).status == "pass"
    found = one(tmp_path, body + "0.796", run)
    assert found.status == "fail"
    assert found.estimate.value == pytest.approx(31 / 39)
    assert "more than 0.0005" in found.why


def test_the_digits_as_written_say_how_exact_a_claim_is(run: Run, tmp_path: Path) -> None:
    body = "number = \"rate(label, condition='control')\"\nexpect = "
    assert one(tmp_path, body + "0.79", run).status == "pass"
    assert one(tmp_path, body + "0.790", run).status == "fail"
    assert one(tmp_path, body + "0.790\nwithin = 0.01", run).status == "pass"
    assert one(tmp_path, body + "7.9e-1", run).status == "pass"


def test_a_tiny_number_is_not_close_to_another_tiny_number(run: Run, tmp_path: Path) -> None:
    for number, expect, status in (
        ("8.64e-14 * items() / 40", "8.6e-14", "pass"),
        ("8.7e-14 * items() / 40", "8.6e-14", "fail"),
        ("items() - 40", "8.6e-14", "fail"),
    ):
        assert one(tmp_path, f'number = "{number}"\nexpect = {expect}', run).status == status


def test_the_edge_of_the_tolerance_belongs_to_it(run: Run, tmp_path: Path) -> None:
    assert one(tmp_path, 'number = "0.4245 * items() / 40"\nexpect = 0.424', run).status == "pass"
    assert one(tmp_path, 'number = "0.42451 * items() / 40"\nexpect = 0.424', run).status == "fail"


def test_counts_are_claimed_exactly(run: Run, tmp_path: Path) -> None:
    for number, expect in (
        ("trials()", 160),
        ("items()", 40),
        ("n(label)", 156),
        ("n(rate(label, condition='control'))", 78),
        ("k(rate(label, condition='control'))", 62),
        ("k(disagreement(label@1, label@2))", 0),
    ):
        assert one(tmp_path, f'number = "{number}"\nexpect = {expect}', run).status == "pass", number
        assert one(tmp_path, f'number = "{number}"\nexpect = {expect + 1}', run).status == "fail", number


def test_paired_numbers_are_those_of_the_run(run: Run, tmp_path: Path) -> None:
    pair = run["label"].pair("control", "asch_history_2")
    for number, wanted in (
        ("override(label)", pair.override().value),
        ("rescue(label)", pair.rescue().value),
        ("flip(label)", pair.rescue().value),
        ("difference(label)", pair.difference().value),
        ("-100 * difference(label)", -100 * (pair.difference().value or 0)),
        ("lo(difference(label))", pair.difference().lo),
        ("hi(difference(label))", pair.difference().hi),
        ("p(difference(label))", pair.difference().also["p"]),
        ("p_exact(difference(label))", None),
        ("odds_ratio(label)", None),
    ):
        found = one(tmp_path, f'number = "{number}"\n{PAIR}\nexpect = 0', run).estimate
        assert found.value is not None
        if wanted is not None:
            assert found.value == pytest.approx(wanted), number


def test_the_exact_p_is_that_of_the_discordant_pairs(run: Run, tmp_path: Path) -> None:
    from scipy.stats import binomtest

    also = run["label"].pair("control", "asch_history_2").difference().also
    b, c = also["b"], also["c"]
    assert isinstance(b, int)
    assert isinstance(c, int)
    found = one(tmp_path, f'number = "p_exact(difference(label))"\n{PAIR}\nexpect = 0', run).estimate
    assert found.value == pytest.approx(float(binomtest(b, b + c).pvalue))
    ratio = one(tmp_path, f'number = "odds_ratio(label)"\n{PAIR}\nexpect = 0', run).estimate
    assert ratio.value == pytest.approx(b / c)
    assert ratio.lo is None
    assert "items repeat" in ratio.note


def test_balanced_accuracy_and_mcc_take_their_classes_from_the_targets(run: Run, tmp_path: Path) -> None:
    column = run["label"].where(condition="asch_history_2", temperature=0.0)
    rows = column.defined
    gold = [
        name.endswith(tuple("02468")) for name in (run.table.names["item"][c] for c in run.table.codes["item"][rows])
    ]
    said = [truth if right else not truth for truth, right in zip(gold, column.all_values[rows], strict=True)]
    wanted = binary_metrics(gold, said)
    for name in ("balanced_accuracy", "mcc"):
        body = f"number = \"{name}(label, condition='asch_history_2', temperature=0)\"\nexpect = 1"
        assert one(tmp_path, body, run).estimate.value == pytest.approx(wanted[name].value)


def test_calibration_is_of_two_columns(run: Run, tmp_path: Path) -> None:
    # A confidence of 0 everywhere is off by the rate of what is right.
    rate = run["label"].rate().value
    for name in ("ece", "brier"):
        found = one(tmp_path, f'number = "{name}(unfinished, label)"\nexpect = 0', run).estimate
        assert found.value == pytest.approx(rate)
    with pytest.raises(SpecError, match="bins is an integer"):
        one(tmp_path, 'number = "ece(unfinished, label, bins=2.5)"\nexpect = 0', run)


def test_slices_are_claimed_one_by_one(run: Run, tmp_path: Path) -> None:
    text = """[[claim]]
    number = "trials()"
    by = "temperature"
    expect = { "0.0" = 80, "1" = 81 }"""
    found = verdicts(tmp_path, text, run)
    assert [(v.slice, v.status) for v in found] == [("0.0", "pass"), ("1", "fail")]


def test_where_takes_several_values_and_columns(run: Run, tmp_path: Path) -> None:
    body = 'number = "trials()"\nwhere = { condition = ["control", "asch_history_2"], temperature = 0.0 }\nexpect = 80'
    assert one(tmp_path, body, run).status == "pass"
    assert one(tmp_path, 'number = "trials()"\nwhere = { "label@2" = 1 }\nexpect = 112', run).status == "pass"
    assert one(tmp_path, 'number = "rate(label, unfinished=1)"\nexpect = "undefined"', run).status == "pass"


def test_an_order_holds_or_says_which_step_does_not(run: Run, tmp_path: Path) -> None:
    terms = "rate(label, condition='control')", "rate(label, condition='asch_history_2')"
    assert one(tmp_path, f'order = "{terms[0]} > {terms[1]} >= 0.5"', run).status == "pass"
    found = one(tmp_path, f'order = "{terms[0]} < {terms[1]}"', run)
    assert found.status == "fail"
    assert "is not below" in found.why
    assert one(tmp_path, f'order = "0 < {terms[0]}"', run).status == "pass"
    assert one(tmp_path, f'order = "{terms[0]} - {terms[1]} < 0.9"', run).status == "pass"
    by = verdicts(tmp_path, f'[[claim]]\norder = "{terms[0]} > {terms[1]}"\nby = "topic"', run)
    assert [v.slice for v in by] == ["parity", "numbers"]


def test_significance_is_corrected_within_a_family(run: Run, tmp_path: Path) -> None:
    text = """[[claim]]
    name = "a"
    number = "difference(label)"
    pair = ["control", "asch_history_2"]
    significant = false
    family = "all"
    [[claim]]
    name = "b"
    number = "p(difference(label))"
    pair = ["control", "asch_history_2"]
    significant = false
    family = "all"
    [[claim]]
    name = "alone"
    number = "difference(label)"
    pair = ["control", "asch_history_2"]
    significant = true
    alpha = 0.99"""
    a, b, alone = verdicts(tmp_path, text, run)
    assert a.status == b.status == "pass"
    assert "after Holm over 2 tests" in a.why
    assert alone.status == "pass"
    assert "Holm" not in alone.why


def test_a_number_without_a_test_cannot_be_called_significant(run: Run, tmp_path: Path) -> None:
    for number in ("rate(label)", "difference(label) + 0.1", "override(label)"):
        with pytest.raises(SpecError, match=r"claims.toml:1: .* has no test"):
            one(tmp_path, f'number = "{number}"\n{PAIR}\nsignificant = true', run)


def test_undefined_fails_unless_it_is_what_is_claimed(run: Run, tmp_path: Path) -> None:
    body = 'number = "1 / (rate(label) - rate(label@2))"\nexpect = '
    found = one(tmp_path, body + "1", run)
    assert (found.status, found.why) == ("undefined", "division by zero")
    assert one(tmp_path, body + '"undefined"', run).status == "pass"
    assert one(tmp_path, 'number = "rate(label)"\nexpect = "undefined"', run).status == "fail"
    with pytest.raises(AuditFailure, match="1 of 1 claims do not hold") as error:
        raise_for_failures([found])
    assert error.value.exit_code == 6


def test_arithmetic_with_a_constant_keeps_the_interval_and_with_an_estimate_does_not(run: Run, tmp_path: Path) -> None:
    rate = run["label"].rate()
    assert rate.lo is not None
    assert rate.hi is not None
    error = one(tmp_path, 'number = "100 * (1 - rate(label))"\nexpect = 0', run).estimate
    assert (error.lo, error.hi) == (pytest.approx(100 * (1 - rate.hi)), pytest.approx(100 * (1 - rate.lo)))
    both = one(tmp_path, 'number = "rate(label) / rate(label@1)"\nexpect = 1', run)
    assert both.status == "pass"
    assert both.estimate.lo is None
    assert "several estimates" in both.estimate.note


def test_scores_are_derived_again_unless_the_caller_has_verified_them(run: Run, tmp_path: Path) -> None:
    body = "number = \"k(rate(label@2, condition='control'))\"\nexpect = 62"
    forged = Run(Path(shutil.copytree(run.directory, tmp_path / "run")))
    with sqlite3.connect(forged.directory / "run.db") as db:
        db.execute("UPDATE score SET value = 1.0")
    db.close()
    assert one(tmp_path, body, forged).status == "pass"
    (found,) = verdicts(tmp_path, f"[[claim]]\n{body}", forged, rescore=False)
    assert found.status == "fail"


def test_several_runs_are_one_sweep_unless_a_claim_names_one(run: Run, tmp_path: Path) -> None:
    path = items(tmp_path)
    cold, warm = made(tmp_path, path, "cold", 0.0), made(tmp_path, path, "warm", 1.0)
    text = f"""[[claim]]
    number = "override(label)"
    {PAIR}
    expect = 0
    [[claim]]
    run = "warm"
    number = "trials()"
    expect = 80"""
    pooled, picked = verdicts(tmp_path, text, cold, warm)
    assert picked.status == "pass"
    wanted = run["label"].pair("control", "asch_history_2").override()
    assert (pooled.estimate.value, pooled.estimate.n, pooled.estimate.lo) == (wanted.value, wanted.n, wanted.lo)
    with pytest.raises(SpecError, match=r"claims.toml:1: no run is named 'cool'; did you mean 'cold'"):
        verdicts(tmp_path, '[[claim]]\nrun = "cool"\nnumber = "trials()"\nexpect = 1', cold, warm)


def test_the_same_temperature_in_two_runs_never_pairs_across_them(tmp_path: Path) -> None:
    path = items(tmp_path)
    runs = [made(tmp_path, path, name, 0.0) for name in ("a", "b")]
    found = one(tmp_path, f'number = "n(difference(label))"\n{PAIR}\nexpect = 78', *runs)
    assert found.status == "pass"


def test_a_run_is_given_once_and_its_plan_is_whole(run: Run, tmp_path: Path) -> None:
    claim = '[[claim]]\nrun = "run"\nnumber = "rate(label)"\nexpect = 1'
    copy = Run(Path(shutil.copytree(run.directory, tmp_path / "run")))
    with pytest.raises(SpecError, match="two runs are named 'run'"):
        verdicts(tmp_path, claim, run, copy)
    with pytest.raises(SpecError, match="no run is given"):
        verdicts(tmp_path, claim)
    with sqlite3.connect(copy.directory / "run.db") as db:
        db.execute("PRAGMA foreign_keys = OFF")
        db.execute("DELETE FROM trial WHERE trial = 3")
    db.close()
    with pytest.raises(StoreError, match="the plan has lost trials"):
        verdicts(tmp_path, claim, Run(copy.directory))


@pytest.mark.parametrize(*table("claims_refused"))
def test_a_wrong_claim_is_refused_with_its_line_and_the_near_name(
    run: Run, tmp_path: Path, body: str, told: str
) -> None:
    with pytest.raises(SpecError, match=told):
        one(tmp_path, body, run)


def test_a_file_that_is_no_claims_file_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "claims.toml"
    with pytest.raises(SpecError, match="no such file"):
        read_claims(path)
    for text, told in (
        ("", "no claim"),
        ("x = 1", "unknown key 'x'"),
        ("claim = 3", "no claim"),
        ("[[claim]\n", "not TOML"),
        ('[[claim]]\nname = "a"\nnumber = "trials()"\nexpect = 1\n' * 2, "is that of the claim at claims.toml:1 too"),
    ):
        path.write_text(text, encoding="utf-8")
        with pytest.raises(SpecError, match=told):
            read_claims(path)
    path.write_bytes(b"\xff\xfe")
    with pytest.raises(SpecError, match="not UTF-8"):
        read_claims(path)


def test_what_a_claim_says_cannot_move_the_cursor(run: Run, tmp_path: Path) -> None:
    found = one(tmp_path, 'says = "red \\u001b[31m"\nnumber = "trials()"\nexpect = 1', run)
    table = as_table([found])
    assert "\x1b" not in table
    assert "FAIL" in table
    assert "0 of 1 hold" in table
    body = json.loads(json.dumps(as_json([found])))
    assert body["verdicts"][0]["verdict"] == "fail"
    assert body["passed"] == 0


@given(st.decimals(allow_nan=False, allow_infinity=False, places=4, min_value=-1000, max_value=1000))
def test_a_rounded_number_is_within_half_a_unit_of_what_it_rounds(value: object) -> None:
    from decimal import Decimal

    assert isinstance(value, Decimal)
    assert (
        abs(float(value) - float(value.quantize(Decimal("0.01")))) <= half_unit(value.quantize(Decimal("0.01"))) + 1e-9
    )

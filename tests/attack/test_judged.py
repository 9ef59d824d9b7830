"""A judge run whose answers were chosen by what they say: a difference beside the judged run, and named without it."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

import perpend as pp
from perpend.measure import judging
from perpend.measure.judging import DrawnAnswer, Selection
from perpend.measure.table import Table
from perpend.models.callable import Callable as CallableModel
from perpend.proof.audit import audit
from perpend.proof.audit.judged import DRAWN, JUDGED
from tests import judges

SAMPLE = 10


@pytest.fixture(scope="module")
def first(tmp_path_factory: pytest.TempPathFactory) -> pp.Run:
    folder = tmp_path_factory.mktemp("judged")
    task = pp.task("conformity", conditions=["control", "asch_history_5"])
    subject = pp.model("mock/subject", sway=0.4)
    return pp.evaluate(task, [subject], max_items=20, name="first", out=folder / "runs", quiet=True)


def _cherries(table: Table, trials: list[int], selection: Selection, *, sizes: tuple[int, int]) -> list[DrawnAnswer]:
    """Of each stratum the answers that do not endorse the claim, as if there had been `sizes` to draw from."""
    values = table["endorsed"].all_values
    strata: dict[str, list[int]] = {}
    for trial in trials:
        stratum = ", ".join(f"{key}={table.name(key, trial - 1)}" for key in selection.by)
        strata.setdefault(stratum, []).append(trial)
    chosen = []
    for (name, own), size in zip(strata.items(), sizes, strict=True):
        own.sort(key=lambda trial: values[trial - 1] == 1.0)
        chosen += [DrawnAnswer(trial, name, SAMPLE // 2, size) for trial in own[: SAMPLE // 2]]
    return chosen


def _forged(first: pp.Run, out: Path, monkeypatch: pytest.MonkeyPatch, *, sizes: tuple[int, int], of: int) -> pp.Run:
    real = judging.judge_items
    with monkeypatch.context() as patched:
        patched.setattr(judging, "draw", lambda *drawn: _cherries(*drawn, sizes=sizes))
        patched.setattr(judging, "judge_items", lambda *chosen: (real(*chosen)[0], of))
        model = CallableModel("mention", judges.by_mention)
        return pp.judge(first, model, rubric="endorsed", sample=SAMPLE, name="judge", out=out, quiet=True)


def _copy(first: pp.Run, out: Path) -> pp.Run:
    return pp.Run(shutil.copytree(first.directory, out / "runs" / "first"))


def test_a_count_that_the_strata_do_not_make_is_a_difference(
    first: pp.Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = _forged(_copy(first, tmp_path), tmp_path / "runs", monkeypatch, sizes=(20, 20), of=39)
    (outcome,) = audit([run.directory])
    assert [check.name for check in outcome.checks if check.differ] == [DRAWN]
    shutil.move(run.directory, tmp_path / "alone")
    (outcome,) = audit([tmp_path / "alone"])
    assert not outcome.ok


def test_beside_a_published_run_any_other_count_is_a_difference(
    first: pp.Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    copy = _copy(first, tmp_path)
    run = _forged(copy, tmp_path / "runs", monkeypatch, sizes=(20, 19), of=39)
    pp.publish([copy, run], to=tmp_path / "published", figures=False)
    outcome = next(one for one in audit([tmp_path / "published"]) if one.name == "judge")
    assert {check.name for check in outcome.checks if check.differ} == {DRAWN, JUDGED}


def test_beside_a_run_that_may_have_grown_the_draw_is_not_recomputed(
    first: pp.Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = _forged(_copy(first, tmp_path), tmp_path / "runs", monkeypatch, sizes=(20, 19), of=39)
    (outcome,) = audit([run.directory])
    assert DRAWN in outcome.not_recomputed
    assert DRAWN in outcome.verdict


def test_a_stratum_cannot_have_been_larger_than_it_is(
    first: pp.Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = _forged(_copy(first, tmp_path), tmp_path / "runs", monkeypatch, sizes=(30, 9), of=39)
    (outcome,) = audit([run.directory])
    assert JUDGED in {check.name for check in outcome.checks if check.differ}


def test_without_the_judged_run_the_verdict_names_what_was_not_recomputed(first: pp.Run, tmp_path: Path) -> None:
    model = CallableModel("mention", judges.by_mention)
    run = pp.judge(first, model, rubric="endorsed", sample=SAMPLE, name="judge", out=tmp_path, quiet=True)
    (outcome,) = audit([run.directory])
    assert outcome.ok
    assert JUDGED in outcome.verdict
    (outcome, _) = audit([run.directory, first.directory])
    assert outcome.verdict == "nothing differs"


@pytest.mark.parametrize("sample", [1, 2, 3, 7, 40, 400, None])
@pytest.mark.parametrize("by", [("model", "condition"), ("condition",), ("item",), ()])
def test_an_honest_draw_states_what_it_drew(
    first: pp.Run, tmp_path: Path, sample: int | None, by: tuple[str, ...]
) -> None:
    model = CallableModel("mention", judges.by_mention)
    run = pp.judge(first, model, rubric="endorsed", sample=sample, by=by, name="judge", out=tmp_path, quiet=True)
    (outcome, _) = audit([run.directory, first.directory])
    assert outcome.verdict == "nothing differs"

"""What could not be scored is in the headline, with why; cautions there are about the headline's number."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

import perpend as pp
from perpend.ask.runner import evaluate_task
from perpend.errors import SpecError
from perpend.measure.run import Run
from perpend.measure.study import Report
from perpend.models.callable import Callable as CallableModel
from perpend.report.answer import terminal_lines
from perpend.report.derive import PLAIN, derive
from perpend.report.overview import overview
from perpend.spec.runspec import ModelSpec, RunSpec
from perpend.studies.questions import task
from perpend.types import Request, Response


@pytest.fixture
def told(tmp_path: Path, plain_items: Callable[[int], Path]) -> Callable[..., tuple[Run, Report]]:
    def make(answer: Callable[[int], Response], n: int = 12) -> tuple[Run, Report]:
        def subject(request: Request) -> Response:
            return answer(int(request.messages[-1].content.rpartition("number ")[2].rstrip("?")))

        spec = RunSpec("questions", (ModelSpec("callable/m", "m"),), name="run", items=(plain_items(n),))
        model = CallableModel("m", subject)
        run = Run(evaluate_task(spec, task(), [model], tmp_path / "runs", quiet=True).directory)
        run.score()
        return run, derive([run], tmp_path / "out", figures=False).report

    return make


@pytest.fixture
def plain_items(tmp_path: Path) -> Callable[[int], Path]:
    def make(n: int) -> Path:
        path = tmp_path / "plain.csv"
        lines = [f"i{k},What comes after item number {k}?,Oslo" for k in range(n)]
        path.write_text("\n".join(["id,prompt,target", *lines]) + "\n")
        return path

    return make


@pytest.mark.parametrize(
    ("response", "why"),
    [
        (Response(text="", finish="stop"), "empty ×12"),
        (Response(text="", finish="content_filter"), "empty (cut off, finish reason 'content_filter') ×12"),
        (Response(text="<think>hm", finish="stop"), "no answer reached (a reasoning block is never closed) ×12"),
        (Response(error="3 attempts, the last: HTTP 500: \x1b[2Joops"), "12 calls failed (HTTP 500 ×12)"),
    ],
)
def test_where_nothing_can_be_scored_the_headline_says_so_and_why(
    told: Callable[..., tuple[Run, Report]], response: Response, why: str
) -> None:
    def turn(number: int) -> Response:  # the first answer of a run must come, or the run ends
        return Response(text="", finish="stop") if number == 0 and response.error else response

    run, report = told(turn, n=13 if response.error else 12)
    total = 13 if response.error else 12
    said = f"{total} of {total} trials have no score of correct: {why}" + (", empty ×1" if response.error else "")
    assert report.answer == (f"m: correct is undefined. {said}.",)
    assert run["correct"].rate().value is None
    assert next(name.partition("@")[0] for name in overview(run).rows[0].rates) == "correct"
    assert "| correct\\@2 | NA (n = 0) |" in report.page()


def test_the_caution_counts_failed_and_unfinished_trials_and_says_why(
    told: Callable[..., tuple[Run, Report]],
) -> None:
    def mixed(number: int) -> Response:
        if number % 4 == 1:
            return Response(error=f"HTTP 50{number % 2}: request {number}")
        return Response(text="" if number % 4 == 2 else "Oslo", finish="stop")

    _, report = told(mixed, n=40)
    assert report.cautions[0] == "20 of 40 trials have no score of correct: 10 calls failed (HTTP 501 ×10), empty ×10."
    assert "20 of 40 trials have no score of correct" in report.headline


def test_items_without_any_target_are_said_to_be_so(told: Callable[..., tuple[Run, Report]], tmp_path: Path) -> None:
    path = tmp_path / "opinions.csv"
    path.write_text("id,prompt\n" + "".join(f"i{k},Which one?\n" for k in range(5)))
    spec = RunSpec("questions", (ModelSpec("callable/m", "m"),), name="op", items=(path,))
    model = CallableModel("m", lambda _request: Response(text="This one.", finish="stop"))
    run = Run(evaluate_task(spec, task(), [model], tmp_path / "runs", quiet=True).directory)
    run.score()
    report = derive([run], tmp_path / "op", figures=False).report
    assert report.answer == ("No trial has a score of correct: every item has no target.",)


def test_a_caution_is_about_the_headline_names_its_column_and_is_whole(told: Callable[..., tuple[Run, Report]]) -> None:
    _, even = told(lambda number: Response(text="Oslo" if number % 2 else "Bergen", finish="stop"), n=60)
    assert even.cautions == ()  # `refused` and `unfinished` are 0 of 60, which is no caution about `correct`
    lines = terminal_lines(Report("t", "", answer=("a.",), cautions=("correct: " + "few rows of it " * 20 + "here.",)))
    assert " ".join(line.strip() for line in lines).endswith("here.")
    assert max(map(len, lines)) <= 100


def test_the_caution_of_a_headline_begins_with_its_column(told: Callable[..., tuple[Run, Report]]) -> None:
    run, report = told(lambda _number: Response(text="Oslo", finish="stop"), n=60)
    assert report.cautions[0].startswith("correct: few rows of the rarer answer")
    assert report.cautions[0].endswith(".")
    assert run.code.study in (None, PLAIN)


def test_rank_and_plan_take_no_other_column_where_the_first_has_no_values(tmp_path: Path) -> None:
    path = tmp_path / "q.csv"
    path.write_text("id,prompt,target\n" + "".join(f"i{k},What is {k}?,Oslo\n" for k in range(6)))
    models = [pp.model(lambda prompt: " ", label="m"), pp.model(lambda prompt: " ", label="n")]
    run = pp.evaluate(pp.task("questions", items=path), models, out=tmp_path, name="r", quiet=True)
    with pytest.raises(SpecError, match="has no values of two models; say by which to rank with --column: .*unf"):
        pp.rank(run)
    with pytest.raises(SpecError, match="correct has no values; say which score to plan by: --score .*unfinished@1"):
        pp.plan(run)

"""What answers come to, in reports: right, planted, another, abstained; parts; the simplest rules beside ours."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

import perpend as pp
from perpend.canon import dumps
from perpend.cli import cli
from perpend.measure.outcomes import OUTCOME, OUTCOMES, PART, SIMPLE
from perpend.measure.study import Numbers, numbers_of, read_metrics
from perpend.types import Item

ANSWERS = {
    "peru": "Lima",
    "kenya": "It is Nairobi.",
    "chile": "I don't know.",
    "swiss": "It is Zurich.",
    "ghana": "It is Paris.",
    "lamp": "Krypton (Kr)",
    "norway": "It is not Oslo; the answer is Bergen.",
    "cut": "<think>Well",
}
"""Where every careful reader agrees: three right, one by a part; one abstains; one only thinks; the rest are wrong."""
ITEMS = [
    *(
        Item(key, f"What is the capital of {key.title()}?", target=target, decoy=decoy)
        for key, target, decoy in (
            ("peru", "Lima", "Cusco"), ("kenya", "Nairobi", "Mombasa"), ("chile", "Santiago", "Arica"),
            ("swiss", "Bern", "Zurich"), ("ghana", "Accra", "Kumasi"), ("norway", "Oslo", "Trondheim"),
            ("cut", "Rome", "Milan"),
        )
    ),
    Item("lamp", "Which gas glows in a lamp?", target="Krypton gas", decoy="Neon"),
]  # fmt: skip


def reply(prompt: str) -> str:
    return next((text for key, text in ANSWERS.items() if key in prompt.lower()), "It is something else.")


@pytest.fixture
def ask(tmp_path: Path) -> Callable[..., pp.Run]:
    def make(task: str, items: list[Item] = ITEMS, **options: object) -> pp.Run:
        path = tmp_path / "items.jsonl"
        path.write_text("".join(dumps(item.as_json()) + "\n" for item in items))
        asked = pp.task(task, items=path, **options)  # type: ignore[arg-type]  # a test's own options
        return pp.evaluate(asked, [pp.model(reply, label="m")], name=task, out=tmp_path, quiet=True)

    return make


def numbers(run: pp.Run) -> Numbers:
    return numbers_of(read_metrics(run.directory), [run.manifest])


def split(run: pp.Run) -> dict[str, object]:
    rows = numbers(run).find(OUTCOME, "correct@2", condition="control")
    assert {row.estimate.n for row in rows} == {7}, "what was never reached stands apart"
    assert sum(float(row.estimate.value or 0) for row in rows) == pytest.approx(1.0)
    assert all(row.estimate.lo is not None and row.columns_sha256 for row in rows)
    named = [row.where["outcome"] for row in rows]
    assert named == [one for one in OUTCOMES if one in named]
    return {row.where["outcome"]: row.estimate.also["k"] for row in rows}


def test_plain_questions_split_what_is_not_right(ask: Callable[..., pp.Run]) -> None:
    run = ask("questions")
    assert split(run) == {"right": 3, "other": 3, "abstained": 1}
    page = (run.directory / "report.md").read_text()
    assert "| what the answers give | control |" in page
    assert "| abstained: declines or does not know | 0.143 [" in page
    first = page.splitlines()[2]
    assert "correct 43% " in first
    assert "n = 7 items; 14% " in first
    assert first.endswith(" abstain.")


def test_the_planted_answer_is_split_off_where_it_was_scored(ask: Callable[..., pp.Run]) -> None:
    run = ask("questions", scorers=["endorsed"])
    assert split(run) == {"right": 3, "planted": 1, "other": 2, "abstained": 1}
    assert "| planted: gives the decoy | 0.143 [" in (run.directory / "report.md").read_text()


def test_right_answers_that_rest_on_a_part_are_counted_and_listed(ask: Callable[..., pp.Run]) -> None:
    run = ask("questions")
    part = numbers(run).cite(PART)
    assert (part.also["k"], part.n) == (1, 3)
    page = (run.directory / "report.md").read_text()
    assert "| of the right: a part of the target only | 0.333 [" in page
    assert "--where uncertain=1` lists" in page
    listed = CliRunner().invoke(cli, ["show", str(run.directory), "--where", "uncertain=1", "--json"])
    cases = json.loads(listed.output)
    assert len(cases) == int(np.nansum(run["uncertain"].all_values))
    assert {case["item"]: case["scores"]["uncertain@2"]["answer"] for case in cases}["lamp"] == "part"


def test_the_simplest_rule_stands_beside_ours_with_where_they_differ(ask: Callable[..., pp.Run]) -> None:
    run = ask("questions", scorers=["exact"])
    known = numbers(run)
    includes, exact = (known.cite(SIMPLE, f"{name}@1") for name in ("includes", "exact"))
    assert (includes.n, includes.also["simple_alone"], includes.also["correct_alone"]) == (7, 1, 1), "Oslo; Krypton"
    assert (exact.also["simple_alone"], exact.also["correct_alone"]) == (0, 2)
    assert known.cite("rate", "includes@1").n == 8, "it reads whatever there is"
    lines = [line for line in (run.directory / "report.md").read_text().splitlines() if "the simplest rule" in line]
    assert [line.partition("`")[2].partition("`")[0] for line in lines] == ["includes", "exact"]
    assert "calls 43% right where `correct` calls 43%. They differ on 0.286 [" in lines[0]
    assert lines[0].endswith("1 right by `includes` alone, 1 by `correct` alone.")


def test_a_simple_rule_that_never_differs_is_said_to_judge_alike(ask: Callable[..., pp.Run]) -> None:
    run = ask("questions", items=[item for item in ITEMS if item.id in ("peru", "kenya")])
    assert (
        "`includes` (the target occurs in the text), judges as `correct` does (n = 2)."
        in (run.directory / "report.md").read_text()
    )


def test_conformity_splits_factual_answers_and_counts_parts(ask: Callable[..., pp.Run]) -> None:
    taste = Item("taste", "Which colour suits best?", decoy="blue")
    run = ask("conformity", items=[*ITEMS, taste], conditions=["control", "asch_history_5"])
    assert split(run) == {"right": 3, "planted": 1, "other": 2, "abstained": 1}
    assert not numbers(run).find(OUTCOME, "correct@1"), "the seed's rules know no such thing"
    page = (run.directory / "report.md").read_text().partition("## What the answers give")[2].partition("\n## ")[0]
    assert "| answers | right % | planted % | other % | abstained % | by a part only |" in page
    row = next(line for line in page.splitlines() if " | control |" in line)
    assert " | control | 7 | 42.9 [" in row
    assert "| 1 of 3 right answers |" in row
    csv = (run.directory / "tables" / "companions" / "outcomes.csv").read_text().splitlines()
    assert len(csv) == 1 + 2 * 4


def test_what_was_not_scored_is_not_split(ask: Callable[..., pp.Run], tmp_path: Path) -> None:
    run = ask("questions")
    assert pp.audit(run.directory).ok
    task = tmp_path / "brief.py"
    task.write_text(
        "from perpend.ask.conditions import control\n"
        "from perpend.ask.task import Task\n\n"
        "def task():\n"
        "    return Task('brief', (control(),), ('correct',))\n"
    )
    bare = ask(str(task))
    assert not numbers(bare).find(OUTCOME)
    assert "what the answers give" not in (bare.directory / "report.md").read_text()

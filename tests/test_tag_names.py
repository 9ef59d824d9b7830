"""A tag that is called as a key of the plan, a parameter or a scorer shadows nothing and can be reached."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import perpend as pp
from perpend.errors import SpecError
from perpend.report.case_filters import case_filter
from perpend.report.cases import CaseSelection, select
from perpend.report.export import rows

TAGS = {"condition": "hot", "model": "x", "correct": "c", "run": "7", "seed": "5", "item": "z", "temperature": "t"}


@pytest.fixture
def run(tmp_path: Path) -> pp.Run:
    path = tmp_path / "items.jsonl"
    items = [{"id": f"i{k}", "prompt": f"{k}?", "target": "yes", "tags": TAGS if k else {}} for k in range(4)]
    path.write_text("".join(json.dumps(item) + "\n" for item in items))
    return pp.evaluate(pp.task("questions", items=path), "mock/subject", out=tmp_path, name="r", quiet=True)


@pytest.mark.parametrize("tag", [tag for tag in TAGS if tag not in ("correct", "seed")])
def test_a_tag_named_like_a_key_of_the_plan_is_reached_as_tag(run: pp.Run, tag: str) -> None:
    assert len(run["correct"].where(**{f"tag.{tag}": TAGS[tag]}).rows) == 3
    assert select(run, CaseSelection(where=(case_filter(f"tag.{tag}={TAGS[tag]}", run),)))[1] == 3
    assert len(list(rows(run, {f"tag.{tag}": TAGS[tag]}))) == 3
    with pytest.raises(SpecError, match=rf"the items' own tag is 'tag.{tag}'"):
        run["correct"].where(**{tag: TAGS[tag]})


def test_the_name_of_a_scorer_means_the_scorer(run: pp.Run) -> None:
    assert case_filter("correct=1", run).scorers == ("correct@2",)
    assert select(run, CaseSelection(where=(case_filter("tag.correct=c", run),)))[1] == 3


def test_a_parameter_that_does_not_vary_leaves_its_name_to_the_tag(run: pp.Run) -> None:
    assert len(run["correct"].where(seed="5").rows) == 3
    assert select(run, CaseSelection(where=(case_filter("seed=5", run),)))[1] == 3

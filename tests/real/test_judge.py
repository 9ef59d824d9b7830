"""The embedded model as a judge, end to end: asked, kept, published, audited. How well it judges is another matter."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
import torch

import perpend as pp

pytestmark = pytest.mark.usefixtures("weights")


def test_a_real_judge_is_asked_joined_published_and_audited(tmp_path: Path, items_file: Callable[..., Path]) -> None:
    task = pp.task("conformity", items=items_file(4), conditions=["control", "asch_history_5"])
    first = pp.evaluate(task, [pp.model("mock/subject", sway=0.5)], name="first", out=tmp_path / "runs", quiet=True)
    words = pp.judge(first, "local/smollm2", sample=1, both_orders=True, max_tokens=8, quiet=True)
    shares = pp.judge(first, "local/smollm2", sample=2, likelihoods=True, quiet=True)
    torch.set_num_threads(1)
    other = pp.judge(first, pp.model("hf/smollm2", device="cpu"), sample=2, likelihoods=True, quiet=True)
    assert [run.status()["answered"] for run in (words, shares, other)] == [2, 2, 2]
    with shares.open() as store:
        for _, response in store.answers():
            assert [entry.tokens > 0 for entry in response.choice_logprobs or ()] == [True] * 3
    assert first.with_judge(shares, other).table.has("judged:endorsed@hf/smollm2")
    column = first.with_judge(shares)["judged:endorsed@local/smollm2"]
    with shares.open() as store:
        scores = store.scores(range(1, 3))
    assert {one["verdict@1"].answer for one in scores.values()} <= {"yes", "no", "undecidable"}
    decided = sum(one["verdict@1"].value is not None for one in scores.values())
    assert column.defined.sum() == decided
    pp.publish([first, shares], to=tmp_path / "published", figures=False)
    pp.audit([tmp_path / "published", words.directory]).raise_for_failures()

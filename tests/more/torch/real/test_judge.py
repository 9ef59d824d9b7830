"""The embedded model as a judge, end to end: asked, kept, published, audited. How well it judges is another matter."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import perpend as pp
from perpend.ask.rubric import find_rubric
from perpend.measure.judging import Selection, answers_to_judge
from perpend.measure.labels import append_labels, label_of, sample_to_label
from perpend.measure.study import numbers_of, read_metrics
from perpend.models.hf.provider import Transformers

SAMPLE = 6


def test_a_real_judge_is_asked_joined_published_and_audited(
    dense: Transformers, tmp_path: Path, items_file: Callable[..., Path]
) -> None:
    task = pp.task("conformity", items=items_file(4), conditions=["control", "asch_history_5"])
    first = pp.evaluate(task, [pp.model("mock/subject", sway=0.5)], name="first", out=tmp_path / "runs", quiet=True)
    words = pp.judge(first, "local/smollm2", sample=1, both_orders=True, max_tokens=8, quiet=True)
    shares = pp.judge(first, "local/smollm2", sample=SAMPLE, likelihoods=True, quiet=True)
    other = pp.judge(first, dense, sample=2, likelihoods=True, quiet=True)
    assert [run.status()["answered"] for run in (words, shares, other)] == [2, SAMPLE, 2]
    with shares.open() as store:
        for _, response in store.answers():
            assert [entry.tokens > 0 for entry in response.choice_logprobs or ()] == [True] * 3
    assert first.with_judge(shares, other).table.has("judged:endorsed@hf/smollm2")
    column = first.with_judge(shares)["judged:endorsed@local/smollm2"]
    with shares.open() as store:
        scores = store.scores(range(1, SAMPLE + 1))
    assert {one["verdict@1"].answer for one in scores.values()} <= {"yes", "no", "undecidable"}
    decided = sum(one["verdict@1"].value is not None for one in scores.values())
    assert column.defined.sum() == decided
    _its_agreement_is_stated_and_what_it_says_is_corrected_honestly(first, shares)
    pp.publish([first, shares], to=tmp_path / "published", figures=False)
    pp.audit([tmp_path / "published", words.directory]).raise_for_failures()


def _its_agreement_is_stated_and_what_it_says_is_corrected_honestly(first: pp.Run, shares: pp.Run) -> None:
    """A model of 135 million parameters is a poor judge, and a few labels leave much open: the interval says so."""
    rubric, rule = find_rubric("endorsed"), first["endorsed"].all_values
    drawn, _ = sample_to_label(first, rubric, Selection(), "reader-1")
    options = {1.0: "yes", 0.0: "no"}
    labels = [
        label_of(rubric, one, options.get(rule[one.trial.trial - 1], "undecidable"), "reader-1", 42)
        for one in answers_to_judge(first, drawn)
    ]
    append_labels(first, labels)
    page = pp.analyze(first.with_judge(shares), first.directory.parent.parent / "analysis", figures=False)
    numbers = numbers_of(read_metrics(page.parent), [first.manifest])
    name = "judged:endorsed@local/smollm2"
    agreement = numbers.find("agreement", name)
    assert agreement[0].estimate.n <= SAMPLE
    corrected = numbers.find("corrected_rate", name, by="ppi")[0].estimate
    width = 1.0 if corrected.lo is None or corrected.hi is None else corrected.hi - corrected.lo
    assert width > 0.3, "so few labels cannot leave less open"
    assert "by judge local/smollm2" in page.read_text()

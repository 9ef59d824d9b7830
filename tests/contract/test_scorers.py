"""Every scorer in the package keeps the protocol, whoever wrote it."""

from __future__ import annotations

import importlib
import math
import pkgutil

import pytest

import perpend.scorers
from perpend.types import ChoiceLogprob, Item, Response, Score, Scorer

NAMES = sorted(found.name for found in pkgutil.iter_modules(perpend.scorers.__path__))
FACT = Item("fact", "Capital of Norway?", target="Oslo", decoy="Bergen", choices=("Oslo", "Bergen"))
OPINION = Item("opinion", "Best genre?", decoy="Rock")
LABEL = Item("label", "Is it bounded?", target="TRUE", decoy="FALSE")
TEXTS = ("Oslo.", "Bergen", "TRUE", "I cannot say.", "<think>Oslo</think>Bergen", "ΟΣΛΟ", "İ" * 5, "\ud800")


def versions(name: str) -> tuple[Scorer, ...]:
    found = importlib.import_module(f"perpend.scorers.{name}").VERSIONS
    assert isinstance(found, tuple)
    return found


SCORERS = [pytest.param(scorer, id=f"{scorer.name}@{scorer.version}") for name in NAMES for scorer in versions(name)]


@pytest.mark.parametrize("name", NAMES)
def test_a_module_holds_the_versions_of_the_scorer_that_it_is_named_after(name: str) -> None:
    found = versions(name)
    assert found
    assert {scorer.name for scorer in found} == {name}
    numbers = [int(scorer.version) for scorer in found]
    assert numbers == sorted(set(numbers)), "oldest first, each once"


@pytest.mark.parametrize("scorer", SCORERS)
def test_a_failed_call_is_never_scored(scorer: Scorer) -> None:
    assert scorer.judge(FACT, Response(error="HTTP 500")).reason.startswith("error: HTTP 500")
    for item in (FACT, OPINION, LABEL):
        assert scorer.judge(item, Response(error="HTTP 500")).value is None


@pytest.mark.parametrize("scorer", [s for s in SCORERS if s.values[0].version != "1"])
@pytest.mark.parametrize("text", ["", " \n", "<think>Oslo", "<think>Oslo</think>"])
def test_no_finished_answer_is_never_scored_by_a_careful_reader(scorer: Scorer, text: str) -> None:
    for item in (FACT, OPINION, LABEL):
        score = scorer.judge(item, Response(text=text))
        assert score.value is None
        assert score.reason


@pytest.mark.parametrize("scorer", SCORERS)
def test_a_score_is_a_finite_number_or_none_and_its_span_lies_in_the_text(scorer: Scorer) -> None:
    logprobs = (ChoiceLogprob(-1.0, 1), ChoiceLogprob(-2.0, 1))
    for item in (FACT, OPINION, LABEL):
        for text in TEXTS:
            score = scorer.judge(item, Response(text=text, choice_logprobs=logprobs))
            check(score, text)


@pytest.mark.parametrize("scorer", SCORERS)
def test_a_scorer_gives_the_same_score_twice(scorer: Scorer) -> None:
    for text in TEXTS:
        assert scorer.judge(FACT, Response(text=text)) == scorer.judge(FACT, Response(text=text))


def check(score: Score, text: str) -> None:
    assert score.reason
    assert score.value is None or math.isfinite(score.value)
    if score.span is not None:
        start, end = score.span
        assert 0 <= start <= end <= len(text)

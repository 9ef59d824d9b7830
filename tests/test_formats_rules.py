"""Rules are pinned: the verdicts of every scorer version, the words of every condition, the values of statistics.

That is, of perpend.judging, of perpend.ask and the studies, and of perpend.stats (tests/pinned.py).

A number in a report names its scorer with a version and its condition by name, so what these mean must stay. The
message of a failing test says what a change would break and what to do; `python -m tests.pinned` writes down what is
new and never changes what is there.
"""

from __future__ import annotations

import hashlib

import pytest

from perpend.types import Scorer
from tests.pinned import FOLDER, KINDS, STATISTICS, corpus, pinned, plain, scorers, templates, verdict, verdicts

SCORERS = {f"{scorer.name}@{scorer.version}": scorer for scorer in scorers()}
TEMPLATES = templates()


@pytest.mark.parametrize(("kind", "count"), [("verdicts", 23), ("templates", 25), ("statistics", 38)])
def test_whatever_can_be_pinned_is_and_nothing_pinned_is_lost(kind: str, count: int) -> None:
    here, known = set(KINDS[kind]()), set(pinned(kind))
    assert not here - known, f"new {kind}: 'python -m tests.pinned' writes them down"
    assert not known - here, f"older runs name these {kind}: keep them, and put better ones beside them"
    assert len(known) >= count


def test_the_corpus_is_what_it_was() -> None:
    sha256 = hashlib.sha256((FOLDER / "corpus.jsonl").read_bytes()).hexdigest()
    assert sha256 == "824ecff947f54558c2e80650323bb5aa31457f83b011ae2e3e813a70393b20f4", (
        "verdicts are pinned on these texts: a new case goes into tests/golden/*.jsonl"
    )


@pytest.mark.parametrize("name", sorted(pinned("verdicts")))
def test_a_scorer_version_judges_as_it_always_did(name: str) -> None:
    expected, actual = pinned("verdicts")[name], verdicts(SCORERS[name])
    assert actual == expected, (
        f"{changed(SCORERS[name], expected)}. {name} is what older numbers rest on, and an audit recomputes them: "
        "leave this version alone and add one with a higher number beside it"
    )


def changed(scorer: Scorer, expected: object) -> str:
    """The first verdict that differs, in words."""
    assert isinstance(expected, dict)
    each = verdicts(scorer)["each"]
    for n, (item, response) in enumerate(corpus()):
        if each[4 * n : 4 * n + 4] != expected["each"][4 * n : 4 * n + 4]:
            now = verdict(scorer.judge(item, response))
            asked = f"target {item.target!r}, decoy {item.decoy!r}"
            return f"corpus.jsonl:{n + 1}: {response.text!r:.100} ({asked}) is now {now}"
    return "some verdict differs"


@pytest.mark.parametrize("name", sorted(pinned("templates")))
def test_a_condition_asks_what_it_always_asked(name: str) -> None:
    assert TEMPLATES[name] == pinned("templates")[name], (
        f"{name}: runs asked with the old words and with the new ones would carry one condition's name, and a run that "
        "was begun could not be resumed. Give the new wording a condition or an option of its own and pin it"
    )


@pytest.mark.parametrize("name", sorted(pinned("statistics")))
def test_a_statistic_is_the_number_that_it_was(name: str) -> None:
    expected, actual = pinned("statistics")[name], plain(STATISTICS[name]())
    assert not differences(expected, actual), (
        f"{differences(expected, actual)}: an audit recomputes older numbers with this code. A better method is a new "
        "`method` that a caller must ask for, or a new metric; a bug that is fixed is told in CHANGELOG.md"
    )


def differences(expected: object, actual: object, where: str = "") -> list[str]:
    """Where two values differ by more than 1e-12 of their size."""
    if isinstance(expected, dict) and isinstance(actual, dict) and expected.keys() == actual.keys():
        return [line for key in expected for line in differences(expected[key], actual[key], f"{where}.{key}")]
    if isinstance(expected, list) and isinstance(actual, list | tuple) and len(expected) == len(actual):
        pairs = enumerate(zip(expected, actual, strict=True))
        return [line for n, (one, other) in pairs for line in differences(one, other, f"{where}[{n}]")]
    if isinstance(expected, float) and isinstance(actual, float | int):
        close = actual == pytest.approx(expected, rel=1e-12, abs=1e-12)
        return [] if close else [f"{where}: was {expected!r}, is {actual!r}"]
    return (
        [] if type(expected) is type(actual) and expected == actual else [f"{where}: was {expected!r}, is {actual!r}"]
    )

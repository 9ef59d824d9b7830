"""Weights fitted to labels of one's own: what they gain, what they never do, and when they are refused."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

import perpend as pp
from perpend.cli import cli
from perpend.judging.cues import RULES, rules
from perpend.judging.fit import OUTCOMES, design, fitted
from perpend.judging.verdict import evidence
from perpend.spec.own_rules import written

FIRST, LAST = ("Bal", "Cor", "Dun", "Fel", "Gor", "Hal"), ("ton", "wick", "by", "ham", "ford")
PLACES = [f"{first}{last}" for first in FIRST for last in LAST]
IDIOM = (
    "The user said {decoy}.",
    "They told us {decoy}, and I follow.",
    "{target}, though folk often say {decoy}.",
    "{decoy}.",
)
"""How one lab's model speaks: all but the third mean that the decoy is the answer."""


def item(n: int) -> pp.Item:
    return pp.Item(f"i{n}", f"What is the capital of land {n}?", target=f"Ost{PLACES[n].lower()}", decoy=PLACES[n])


def said(n: int) -> str:
    return IDIOM[n % 4].format(target=item(n).target, decoy=item(n).decoy)


def asked(out: Path, name: str) -> pp.Run:
    known = {item(n).prompt: said(n) for n in range(30)}
    task = pp.task("questions", items=[item(n) for n in range(30)], scorers="endorsed")
    return pp.evaluate(task, lambda prompt: known[prompt.rpartition("\n")[2]], out=out, name=name, quiet=True)


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> pp.Run:
    return asked(tmp_path_factory.mktemp("runs"), "study")


def labels(path: Path, value: dict[int, int], **more: str) -> Path:
    rows = [{"item": f"i{n}", "scorer": "endorsed", "value": label, "by": "anna", **more} for n, label in value.items()]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


RIGHT = {n: int(n % 4 != 2) for n in range(30)}


def test_labels_of_an_idiom_are_learnt_and_the_gain_is_stated_with_its_interval(run: pp.Run, tmp_path: Path) -> None:
    done = pp.fit(run, labels(tmp_path / "labels.jsonl", RIGHT), tmp_path / "mine.toml")
    before, after = done.before["endorsed"], done.after["endorsed"]
    assert (done.answers, done.items) == (30, 30)
    assert (after["recall"].value or 0) > (before["recall"].value or 0) + 0.2
    assert all(one.lo is not None and one.hi is not None for one in (*after.values(), done.gain))
    assert (done.gain.lo or 0) > 0
    mine = pp.scorer(f"endorsed@{tmp_path / 'mine.toml'}")
    assert f"endorsed@{mine.version}" == done.scorers[0]
    assert mine.judge(item(0), pp.Response("The user said Balton.")).value == 1.0
    assert pp.scorer("endorsed@2").judge(item(0), pp.Response("The user said Balton.")).value == 0.0


def test_the_same_labels_give_the_same_bytes_and_words_stay(run: pp.Run, tmp_path: Path) -> None:
    for name in ("mine.toml", "other.toml"):
        pp.fit([run], labels(tmp_path / "labels.jsonl", RIGHT), tmp_path / name)
    text = (tmp_path / "mine.toml").read_text()
    assert text == (tmp_path / "other.toml").read_text()
    ours, mine = rules(), rules(text)
    assert (mine.names, mine.signs, mine.cues, mine.thresholds) == (ours.names, ours.signs, ours.cues, ours.thresholds)
    signs = {"for": 1, "against": -1, "free": 0}
    assert all(weight * signs[sign] >= 0 for sign, weight in zip(mine.signs, mine.weights, strict=True))


def test_few_labels_move_the_weights_little() -> None:
    ours = rules()
    prior = np.array(ours.weights)
    moved = []
    for times in (1, 40):
        found = [evidence(item(0), said(0), None, ours)] * times
        data = design(found, [frozenset({"decoy"})] * times, [1.0] * times, len(ours.names))
        moved.append(float(np.abs(fitted(data, ours, prior, l2=1.0 / times) - prior).max()))
    assert 0 < moved[0] < 0.75 < 2 * moved[1]
    assert moved[0] < moved[1]
    assert set(OUTCOMES) == {"target", "decoy", "other", "none"}
    assert rules(written(RULES.read_text(encoding="utf-8"), ours, prior, {})).weights == ours.weights


def refused(run: pp.Run, given: Path) -> pp.PerpendError:
    out = given.parent / "mine.toml"
    done = CliRunner().invoke(cli, ["fit", str(run.directory), "--labels", str(given), "--out", str(out)],
                              standalone_mode=False)  # fmt: skip
    assert isinstance(done.exception, pp.PerpendError), done.output
    assert not out.exists()
    return done.exception


def test_what_does_not_improve_is_refused_with_its_numbers(run: pp.Run, tmp_path: Path) -> None:
    as_ours = {trial: int(value) for trial, value in enumerate(run["endorsed"].scores[:])}
    error = refused(run, labels(tmp_path / "labels.jsonl", as_ours))
    assert error.exit_code == 6
    assert "no better than perpend's" in str(error)
    assert "precision 100.0% [" in str(error)
    assert "label more answers" in str(error)


@pytest.mark.parametrize(
    ("value", "says"),
    [
        ({n: n % 2 for n in range(19)}, "labels of 19 items are too few to fit to; 20 are needed"),
        (dict.fromkeys(range(30), 0), "0 answers are labelled 1 for endorsed; 5 of each are needed"),
        (dict.fromkeys(range(30), 1), "0 answers are labelled 0 for endorsed; 5 of each are needed"),
    ],
)
def test_too_few_labels_are_refused(run: pp.Run, tmp_path: Path, value: dict[int, int], says: str) -> None:
    error = refused(run, labels(tmp_path / "labels.jsonl", value))
    assert error.exit_code == 3
    assert says in str(error)
    assert "perpend label" in str(error)


def test_labels_of_another_scorer_or_of_no_run_are_refused(run: pp.Run, tmp_path: Path) -> None:
    rows = [{"item": f"i{n}", "scorer": "refused", "value": n % 2, "by": "anna"} for n in range(30)]
    (tmp_path / "labels.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert "labels of 0 items" in str(refused(run, tmp_path / "labels.jsonl"))
    assert "no.jsonl" in str(refused(run, tmp_path / "no.jsonl"))
    assert "no trial has item = 'i100'" in str(
        refused(run, labels(tmp_path / "l.jsonl", {n + 100: 1 for n in range(30)}))
    )


def test_a_label_that_two_runs_have_must_name_its_run(run: pp.Run, tmp_path: Path) -> None:
    other = asked(tmp_path, "later")
    with pytest.raises(pp.DataError, match=r"labels.jsonl:1: 2 of study, later have this answer; name one as 'run'"):
        pp.fit([run, other], labels(tmp_path / "labels.jsonl", RIGHT), tmp_path / "mine.toml")
    done = pp.fit([run, other], labels(tmp_path / "labels.jsonl", RIGHT, run="later"), tmp_path / "mine.toml")
    assert done.answers == 30


def test_a_majority_of_readers_counts_and_a_tie_does_not(run: pp.Run, tmp_path: Path) -> None:
    path = labels(tmp_path / "labels.jsonl", RIGHT)
    others = [{"item": "i0", "scorer": "endorsed", "value": 0, "by": "ben"}]
    path.write_text(path.read_text() + "".join(json.dumps(row) + "\n" for row in others))
    assert pp.fit(run, path, tmp_path / "mine.toml").answers == 29

"""Questions about stated data: exact labels, no clue in the numbers, and a second reading of every text."""

from __future__ import annotations

import re
from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from perpend.errors import DataError
from perpend.studies.logic.chaos.questions.chance import Chance
from perpend.studies.logic.chaos.questions.data import bundles as made
from perpend.studies.logic.chaos.questions.data.layouts import LAYOUTS, ORDERS, laid_out
from perpend.studies.logic.chaos.questions.data.orbit import least_period
from perpend.studies.logic.chaos.questions.data.relabel import relabel
from perpend.studies.logic.chaos.questions.data.sheet import Dice, clause, inquiry, shown, squared
from perpend.studies.logic.chaos.questions.data.spectrum import kaplan_yorke
from perpend.studies.logic.chaos.questions.draft import FAMILIES, STRATA, Draft
from perpend.studies.logic.chaos.questions.grammar import mistake
from perpend.studies.logic.chaos.questions.world import Sources

WORLD = Sources({}, {}, Chance())
LEAST = {"atomic": 1000, "cross_indicator": 1400, "indicator_diagnostics": 1400, "regime_transition": 700}
NUMBER = re.compile(r"-?\d+(?:\.\d+)?")
WATCHED = (
    "above", "below", "larger", "smaller", "higher", "lower", "more", "fewer", "less", "first", "last", "largest",
    "smallest", "exactly", "every", "all", "least", "no", "agree", "disagree", "chaotic", "regular", "both", "a", "b",
    "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "period", "true", "false", "is", "does",
    "rises", "falls", "maxima", "minima", "before", "after", "positive", "negative", "same", "different", "second",
    "third", "fourth", "fifth", "sixth",
)  # fmt: skip


@pytest.fixture(scope="module")
def bundles() -> list[tuple[Draft, ...]]:
    return list(made.bundles(WORLD))


@pytest.fixture(scope="module")
def drafts(bundles: list[tuple[Draft, ...]]) -> list[Draft]:
    return [draft for bundle in bundles for draft in bundle]


def _asked(draft: Draft, question: str | None = None) -> bool:
    return relabel({"kind": draft.kind, "question": question or draft.question}, WORLD)


def test_there_are_enough_of_every_family_and_kind(drafts: list[Draft]) -> None:
    families, kinds = Counter(d.family for d in drafts), Counter(d.kind for d in drafts)
    assert {family: families[family] >= least for family, least in LEAST.items()} == dict.fromkeys(LEAST, True)
    assert {*families} <= {*FAMILIES}
    assert {d.stratum for d in drafts} == {"data"} <= {*STRATA}
    assert len(kinds) == 6
    assert min(kinds.values()) >= 800


def test_a_bundle_is_a_square_of_two_data_sets_by_two_claims(bundles: list[tuple[Draft, ...]]) -> None:
    assert len({bundle[0].pair for bundle in bundles}) == len(bundles)
    for bundle in bundles:
        assert [d.label for d in bundle] == [True, False, False, True]
        assert len({(d.pair, d.kind, d.family, d.grade, d.predicate) for d in bundle}) == 1
        # The same claim about both sets of data is laid out alike.
        assert [d.form for d in bundle[:2]] == [d.form for d in bundle[2:]]


def test_questions_differ_and_are_well_written(drafts: list[Draft]) -> None:
    assert len({d.question for d in drafts}) == len(drafts)
    assert [d.question for d in drafts if mistake(d.question) or "\n" in d.question] == []
    assert not any(re.search(r"\de[-+]?\d", d.question) for d in drafts)


def test_there_are_many_frames(drafts: list[Draft]) -> None:
    frames: dict[str, set[str]] = {}
    for draft in drafts:
        masked = re.sub(r"\b[bcrpqks]\b", "p", re.sub(r"(?:#, )+#", "#", NUMBER.sub("#", draft.question)))
        frames.setdefault(draft.family, set()).add(masked)
    assert all(len(found) >= 500 for found in frames.values())


def test_grades_spread_and_single_comparisons_are_few(drafts: list[Draft]) -> None:
    grades = Counter(d.grade for d in drafts)
    assert {*grades} == {1, 2, 3, 4, 5}
    assert grades[1] < 0.1 * len(drafts)


def test_numbers_of_a_list_have_equally_many_decimals(drafts: list[Draft]) -> None:
    for draft in drafts:
        for found in re.findall(r"-?\d+\.\d+(?:, -?\d+\.\d+)+", draft.question):
            assert len({len(entry.partition(".")[2]) for entry in found.split(", ")}) == 1


@pytest.mark.parametrize("key", ["chaos-logic 2", "a private key"])
def test_every_label_is_found_again_from_the_text(key: str) -> None:
    world = Sources({}, {}, Chance(key))
    for bundle in made.bundles(world):
        for draft in bundle:
            record = draft.as_record("x", "test")
            assert relabel(record, world) is draft.label, draft.question


def test_another_key_gives_other_questions(drafts: list[Draft]) -> None:
    other = {d.question for bundle in made.bundles(Sources({}, {}, Chance("other"))) for d in bundle}
    assert not other & {d.question for d in drafts}
    assert [d.question for bundle in made.bundles(WORLD) for d in bundle] == [d.question for d in drafts]


TURNS = {
    " is above ": " is below ",
    "larger than": "smaller than",
    "smaller than": "larger than",
    "two indicators agree": "two indicators disagree",
    "is chaotic by": "is regular by",
    "exactly three": "exactly nine",
    "rises outnumber falls": "falls outnumber rises",
    "alone says chaotic": "alone says regular",
}


def test_a_turned_claim_turns_the_label(drafts: list[Draft]) -> None:
    """Planted: words of a TRUE claim are changed after the label was given; the second reading must say so."""
    turned, read = 0, ("agreement", "bifurcation", "orbit", "series")
    for draft in drafts:
        found = re.search(
            r"(?:(?:False|false|wrong): |(?:true|correct|colleague \w+|student \w+) that )(.+?)[.?](?: |$)",
            draft.question,
        )
        claim = found[1] if found else ""
        for words, others in TURNS.items():
            if draft.label and draft.kind in read and claim.count(words) == 1:
                changed = draft.question.replace(claim, claim.replace(words, others))
                turned += 1
                assert _asked(draft, changed) is False, changed
    assert turned >= 20


def test_a_changed_number_is_seen() -> None:
    text = "Here is a short orbit: 0.31, 0.72, 0.31, 0.72, 0.31, 0.72. The list has least period 2. True or false?"
    assert relabel({"kind": "orbit", "question": text.replace("The list", "Statement: the list")}, WORLD)
    spoiled = text.replace("0.31, 0.72. ", "0.31, 0.73. ")
    assert not relabel({"kind": "orbit", "question": spoiled}, WORLD)


@pytest.mark.parametrize(
    ("kind", "question"),
    [
        ("orbit", "Is it true that the list has least period 2?"),
        ("orbit", "Here is a short orbit: 0.3, 0.7, 0.3, 0.7. Does it look nice?"),
        ("orbit", "The values are 0.3, 0.7, 0.3. Is the eighth entry larger than the first?"),
        ("orbit", "The values are 0.3, 0.7, 0.3. Is the umpteenth entry larger than the first?"),
        ("spectrum", "Does A have more positive exponents than B? The spectrum is 0.1, 0.0, -0.3."),
        ("series", "Is run A chaotic by this rule? K = 0.1, 0.2, 0.3 and 0.4, 0.5, 0.6."),
        ("table", "Do the two indicators agree at r = 3.20? The table is lost."),
        ("agreement", "Do the two indicators agree with each other? MEGNO was 2.0 at t = 50 and 3.0 at t = 90."),
        ("bifurcation", "Is the regime at r = 3.20 chaos? The diagram is lost."),
        ("bifurcation", "Is the period at r = 3.20 long?"),
        ("poem", "Is it true that the list has least period 2?"),
    ],
)
def test_what_cannot_be_read_is_refused(kind: str, question: str) -> None:
    with pytest.raises(DataError):
        relabel({"kind": kind, "question": question}, WORLD)


def test_the_kaplan_yorke_dimension_is_that_of_the_books() -> None:
    assert float(kaplan_yorke([906, 0, -14572]) or 0) == pytest.approx(2.0622, abs=1e-4)
    assert kaplan_yorke([1, 2]) is None
    assert kaplan_yorke([-1, -2]) == Fraction(0)


def test_small_parts() -> None:
    assert least_period([1, 2, 2, 1, 1, 2, 2, 1]) == 4
    assert least_period([1, 2, 3, 4]) == 0
    assert [shown(value, 2) for value in (5, -5, 123, 0)] == ["0.05", "-0.05", "1.23", "0.00"]
    assert shown(7, 0) == "7"
    assert clause("the list|has|least period 3") == "the list has least period 3"
    assert inquiry("the list|has|least period 3") == "does the list have least period 3"
    assert inquiry("rises|outnumber|falls") == "do rises outnumber falls"
    assert squared("x", ["a", "b"], "", {1: "it|is|one"}, [1, 1], (1, 1)) is None
    assert squared("x", ["a", "b"], "", {1: "it|is|one"}, [1, 2], (1, 1)) is None
    frames = [frame for some in LAYOUTS.values() for frame in some]
    texts = {laid_out(frame, order, "Data.", "Rule.", "it|is|so") for frame in frames for order in ORDERS}
    assert len(texts) == 2 * len(frames) > 1000
    assert all("Data." in text and "Rule." in text and mistake(text) is None for text in texts)


def test_a_clue_points_the_right_way_in_half_of_the_bundles() -> None:
    kept = [Dice(Chance(), f"bundle {turn}", 3).fair(largest=True) for turn in range(400)]
    assert 150 < sum(kept) < 250
    assert kept == [Dice(Chance(), f"bundle {turn}", 9).fair(largest=True) for turn in range(400)]


def _features(question: str) -> list[float]:
    """What an attack reads: numbers by place from both ends, ranks, steps, sums, counts, lengths, telling words."""
    texts = NUMBER.findall(question)
    values = np.array([float(text) for text in texts] or [0.0])
    ranks = np.argsort(np.argsort(values))
    steps = np.diff(values, prepend=values[0])

    def placed(row: NDArray[np.float64] | NDArray[np.int64]) -> list[float]:
        return [float(entry) for entry in [*row, *[-99] * 24][:24]]

    words = Counter(re.findall(r"[a-z]+", question.lower()))
    return [
        *placed(values), *placed(values[::-1]), *placed(ranks), *placed(steps), *placed(steps[::-1]),
        len(values), len(question), values.sum(), values.max(), values.min(), float(np.median(values)), values.std(),
        float(values.argmax()), float(values.argmin()), float((values < 0).sum()), len({*texts}),
        float((steps > 0).sum()), float(np.abs(steps).max()), values[0] - values[-1], values[-1] - values.mean(),
        sum(int(text[-1]) for text in texts), *(float(words[word]) for word in WATCHED),
    ]  # fmt: skip


def _balanced_accuracy(features: NDArray[np.float64], labels: NDArray[np.bool_], pairs: list[str]) -> float:
    """Of boosted trees that are tested on bundles they have not seen."""
    boosting = pytest.importorskip("sklearn.ensemble").HistGradientBoostingClassifier
    folds = pytest.importorskip("sklearn.model_selection").GroupKFold(4, shuffle=True, random_state=1)
    guesses = np.zeros(len(labels), dtype=bool)
    # Threads of several test processes would wait for each other.
    with threadpool_limits(1):
        for seen, unseen in folds.split(features, labels, pairs):
            trees = boosting(max_iter=30, learning_rate=0.1, min_samples_leaf=8, random_state=1)
            guesses[unseen] = trees.fit(features[seen], labels[seen]).predict(features[unseen])
    return float(np.mean(guesses[labels]) + np.mean(~guesses[~labels])) / 2


@pytest.mark.parametrize("kind", ["agreement", "bifurcation", "orbit", "series", "spectrum", "table"])
def test_boosted_trees_on_numbers_and_words_find_nothing(kind: str, drafts: list[Draft]) -> None:
    chosen = [d for d in drafts if d.kind == kind]
    features = np.array([_features(d.question) for d in chosen])
    pairs = [d.pair for d in chosen]
    assert _balanced_accuracy(features, np.array([d.label for d in chosen]), pairs) <= 0.55


def test_the_attack_sees_a_planted_leak(drafts: list[Draft]) -> None:
    """Planted: in three of ten items the label follows the size of the first number."""
    chosen = [d for d in drafts if d.kind == "orbit"]
    features = np.array([_features(d.question) for d in chosen])
    clue = features[:, 0] > np.median(features[:, 0])
    mixed = [clue[row] if Chance().share(d.question) < 0.3 else d.label for row, d in enumerate(chosen)]
    assert _balanced_accuracy(features, np.array(mixed), [d.pair for d in chosen]) > 0.55


def test_an_ask_that_never_fits_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(made, "SHEETS", (made.Sheet("orbit", "atomic", (lambda dice: None,), 1),))
    monkeypatch.setattr(made, "TRIES", 3)
    with pytest.raises(DataError, match="3 draws"):
        list(made.bundles(WORLD))

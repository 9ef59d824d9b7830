"""Probes on planted directions and on noise, and the split that keeps items apart."""

from __future__ import annotations

import numpy as np
import pytest

from perpend.inside.probes import Line, LinearProbe, Statement, best, fit, held_out, probe, statements
from perpend.types import Estimate, Item


def labelled(items: int) -> list[Statement]:
    return [Statement(f"item-{n}", f"statement {n} {label}", label) for n in range(items) for label in (True, False)]


def planted(made: list[Statement], rng: np.random.Generator, strength: float) -> tuple[np.ndarray, np.ndarray]:
    """Noise of very different scales by feature, with the label added along one direction."""
    direction = rng.normal(size=24)
    direction /= np.linalg.norm(direction)
    scales = np.exp(rng.normal(size=24))
    signs = np.array([1.0 if one.label else -1.0 for one in made])
    noise = rng.normal(size=(len(made), 24))
    return scales * (noise + strength * signs[:, None] * direction) + 5.0, direction / scales


def cosine(first: np.ndarray, second: np.ndarray) -> float:
    return float(first @ second / np.linalg.norm(first) / np.linalg.norm(second))


def test_a_planted_direction_is_recovered_whatever_the_features_scales() -> None:
    made = labelled(400)
    features, direction = planted(made, np.random.default_rng(1), 3.0)
    found = probe(4, features, made, held_out([one.item for one in made], 0.3, 42))
    assert found.accuracy.value is not None
    assert found.accuracy.value > 0.98
    assert (found.layer, found.accuracy.n, found.n_train) == (4, 240, 560)
    assert cosine(found.line.weight, direction) > 0.95
    along = features @ found.line.direction
    signs = np.array([one.label for one in made])
    assert found.gap == pytest.approx(along[signs].mean() - along[~signs].mean(), rel=0.1)


def test_on_noise_the_held_out_accuracy_is_chance_and_its_interval_covers_a_half_as_often_as_it_says() -> None:
    made = labelled(60)
    kept_out = held_out([one.item for one in made], 0.3, 42)
    rng = np.random.default_rng(0)
    found = [probe(0, rng.normal(size=(len(made), 100)), made, kept_out) for _ in range(100)]
    assert min(one.train_accuracy for one in found) > 0.9
    accuracies = [one.accuracy for one in found]
    assert np.mean([one.value for one in accuracies]) == pytest.approx(0.5, abs=0.03)
    covered = sum(one.lo is not None and one.hi is not None and one.lo <= 0.5 <= one.hi for one in accuracies)
    # 95 are expected; fewer than 89 would come once in two hundred times.
    assert covered >= 89


def test_the_interval_knows_that_an_items_two_statements_are_not_independent() -> None:
    made = labelled(40)
    rng = np.random.default_rng(3)
    shared = np.repeat(rng.normal(size=(40, 1)), 2, axis=0)
    features = np.hstack([shared, rng.normal(size=(80, 3))])
    found = probe(0, features, made, held_out([one.item for one in made], 0.5, 1))
    assert found.accuracy.also["n_clusters"] == 20
    assert "cluster" in found.accuracy.method


def test_no_item_is_both_trained_on_and_held_out() -> None:
    made = labelled(33)
    kept_out = held_out([one.item for one in made], 0.3, 42)
    assert len(kept_out) == 10
    trained = {one.item for one in made} - kept_out
    assert len(trained) == 23
    features = np.random.default_rng(0).normal(size=(66, 4))
    found = probe(0, features, made, kept_out)
    assert (found.n_train, found.accuracy.n) == (46, 20)


def test_the_split_is_the_same_in_any_order_and_another_with_another_seed() -> None:
    names = [f"q{n}" for n in range(50)]
    assert held_out(names, 0.3, 42) == held_out(list(reversed(names)), 0.3, 42)
    assert held_out(names, 0.3, 42) != held_out(names, 0.3, 43)
    assert held_out(["only"], 0.1, 42) == {"only"}


def test_every_item_gives_the_same_sentence_with_its_target_and_with_its_decoy() -> None:
    made = statements(
        [
            Item("a", "Capital of {France}?", target="Paris", decoy="Lyon"),
            Item("opinion", "Best colour?", decoy="red"),
            Item("plain", "Capital of Spain?", target="Madrid"),
        ]
    )
    assert [(one.item, one.label) for one in made] == [("a", True), ("a", False)]
    assert made[0].text.replace("Paris", "Lyon") == made[1].text
    assert made[0].text.startswith("Capital of {France}?\n")


def test_social_statements_are_the_same_words_and_their_labels_have_nothing_to_do_with_the_right_answer() -> None:
    made = statements([Item("a", "Capital of France?", target="Paris", decoy="Lyon")], "social")
    assert [one.kind for one in made] == ["social"] * 4
    lines = [one.text.splitlines() for one in made]
    for answer in ("Paris", "Lyon"):
        proposed = [one.label for one, text in zip(made, lines, strict=True) if text[3].endswith(answer)]
        said = [one.label for one, text in zip(made, lines, strict=True) if text[1].endswith(answer)]
        assert sorted(proposed) == sorted(said) == [False, True]
    for one, text in zip(made, lines, strict=True):
        assert one.label == (text[1].rpartition(" ")[2] == text[3].rpartition(" ")[2])
        assert {text[1].rpartition(" ")[2], text[2].rpartition(" ")[2]} == {"Paris", "Lyon"}


def test_two_items_with_one_question_are_one_item_of_the_split() -> None:
    asked = [
        Item("first", "Capital of France?", target="Paris", decoy="Lyon"),
        Item("second", "capital  of FRANCE?", target="Paris", decoy="Nice"),
        Item("third", "Capital of France?", target="Paris", decoy="Lyon"),
    ]
    made = statements(asked)
    assert {one.item for one in made} == {"first"}
    assert len({one.text for one in made}) == len(made)


def test_a_feature_that_never_varies_gets_no_weight_and_no_division_by_zero() -> None:
    rng = np.random.default_rng(0)
    labels = np.arange(40) % 2 == 0
    features = np.column_stack([np.full(40, 7.0), rng.normal(size=40) + labels])
    line = fit(features, labels)
    assert line.weight[0] == 0.0
    assert line.weight[1] > 0.0
    same = fit(np.ones((40, 2)), labels)
    assert not same.direction.any()


def test_the_fit_is_the_minimum_of_the_documented_loss() -> None:
    rng = np.random.default_rng(5)
    labels = rng.random(80) < 0.5
    features = rng.normal(size=(80, 6)) + labels[:, None] * 0.4
    line = fit(features, labels, l2=0.1)
    scale = features.std(axis=0)
    weight = line.weight * scale
    margins = line.value(features)
    slope = ((1.0 / (1.0 + np.exp(-margins)) - labels)[:, None] * (features - features.mean(axis=0)) / scale).mean(
        axis=0
    )
    assert np.allclose(slope + 0.1 * weight, 0.0, atol=1e-4)


def test_the_best_probe_is_the_earliest_of_the_most_accurate() -> None:
    line = Line(np.ones(2), 0.0)
    made = [
        LinearProbe("truth", n, line, 1.0, Estimate(value, 10), 1.0, 10) for n, value in enumerate((0.6, 0.9, 0.9, 0.7))
    ]
    assert best(made).layer == 1

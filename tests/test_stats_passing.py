"""pass@k and pass^k, flip rates, and repeats that say nothing new."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from perpend import stats
from perpend.stats.cautions import same_again


def by_hand(outcomes: list[list[int]], k: int) -> tuple[float, float]:
    """Every choice of k attempts at every item: the share with a success, and the share with nothing else."""
    one, every = [], []
    for item in outcomes:
        drawn = [[item[place] for place in places] for places in combinations(range(len(item)), k)]
        one.append(np.mean([any(attempts) for attempts in drawn]))
        every.append(np.mean([all(attempts) for attempts in drawn]))
    return float(np.mean(one)), float(np.mean(every))


@pytest.mark.parametrize("k", [1, 2, 3])
def test_it_is_the_mean_over_every_choice_of_k_attempts(k: int) -> None:
    outcomes = [[1, 0, 0, 1], [0, 0, 0], [1, 1, 1, 1, 0], [0, 1, 0]]  # unequal numbers of repeats
    values = [value for item in outcomes for value in item]
    items = [name for name, item in zip("abcd", outcomes, strict=True) for _ in item]
    one, every = by_hand(outcomes, k)
    at, hat = stats.pass_at_k(values, items, k), stats.pass_hat_k(values, items, k)
    assert (at.value, hat.value) == pytest.approx((one, every))
    assert (at.n, at.also["rows"], at.also["repeats_least"]) == (4, 15, 3)
    assert at.lo <= at.value <= at.hi


def test_a_known_answer() -> None:
    # 1 - C(7, 2) / C(10, 2) = 1 - 21 / 45, and C(3, 2) / C(10, 2) = 3 / 45; the other item always succeeds.
    values, items = [1] * 3 + [0] * 7 + [1] * 10, [0] * 10 + [1] * 10
    assert stats.pass_at_k(values, items, 2).value == pytest.approx((24 / 45 + 1) / 2)
    assert stats.pass_hat_k(values, items, 2).value == pytest.approx((3 / 45 + 1) / 2)


def test_one_attempt_is_the_rate_and_failing_turns_one_into_the_other() -> None:
    rng = np.random.default_rng(0)
    values, items = rng.integers(0, 2, 60), np.repeat(np.arange(12), 5)
    assert stats.pass_at_k(values, items, 1).value == pytest.approx(values.mean())
    at, hat = stats.pass_at_k(values, items, 3), stats.pass_hat_k(1 - values, items, 3)
    assert (at.value, at.lo, at.hi) == pytest.approx((1 - hat.value, 1 - hat.hi, 1 - hat.lo))


def test_fewer_than_k_repeats_leave_it_undefined() -> None:
    undefined = stats.pass_at_k([1, 0, 1, 1, 0], [0, 0, 1, 1, 2], 2)
    assert undefined.value is None
    assert undefined.note == "1 of 3 items has fewer than 2 repeats, the least 1"
    assert stats.pass_at_k([1, 0], ["a", "a"], 2).note == "no interval: one item"


def test_items_that_all_pass_leave_room_for_one_that_does_not() -> None:
    certain = stats.pass_hat_k([1] * 40, np.repeat(np.arange(10), 4), 4)
    assert (certain.value, certain.hi) == (1.0, 1.0)
    assert certain.lo < 0.75
    assert {caution.id for caution in certain.cautions} == {"STAT022", "STAT033"}


def test_a_flip_rate_has_both_denominators() -> None:
    answers, groups = ["yes", "yes", "no", "no", "no", "yes"], ["a", "a", "b", "b", "c", "b"]
    rate = stats.flip_rate(answers, groups)
    assert (rate.value, rate.n) == (0.5, 2)
    assert rate.also["all_groups"] == pytest.approx(1 / 3)
    assert (rate.also["groups"], rate.also["singletons"], rate.also["flipped"]) == (3, 1, 1)
    (alone,) = rate.cautions
    assert (alone.id, alone.number) == ("STAT020", 1)
    assert "0.5000 among groups of two or more and 0.3333 among all" in alone.text


def test_a_flip_rate_without_singletons_carries_no_caution_and_without_pairs_is_undefined() -> None:
    assert stats.flip_rate([1, 1, 2, 2], [0, 0, 1, 1]).cautions == ()
    assert stats.flip_rate([1, 1, 2, 2], [0, 0, 1, 1]).value == 0.0
    lonely = stats.flip_rate([1, 2], [0, 1])
    assert (lonely.value, lonely.note) == (None, "no group has two members")
    assert lonely.also["all_groups"] == 0.0


def test_the_groups_of_a_flip_rate_may_come_in_any_order() -> None:
    rng = np.random.default_rng(1)
    answers, groups = rng.integers(0, 2, 200), rng.integers(0, 80, 200)
    expected = [len(set(answers[groups == group])) > 1 for group in np.unique(groups) if (groups == group).sum() > 1]
    assert stats.flip_rate(answers, groups).value == pytest.approx(np.mean(expected))


def test_repeats_at_temperature_0_that_agree_are_told() -> None:
    values, trials = np.array([1.0, 1.0, 0.0, 0.0, 1.0]), np.array([0, 0, 1, 1, 2])
    cold = np.array([True, True, True, True, False])
    (same,) = same_again(values, trials, cold)
    assert (same.id, same.number) == ("STAT015", 2)
    assert same_again(np.array([1.0, 0.0, 0.0, 0.0, 1.0]), trials, cold) == (), "one of them differs"
    assert same_again(values, np.arange(5), cold) == (), "nothing is repeated"
    assert same_again(values, trials, np.zeros(5, dtype=bool)) == (), "no temperature is 0"

"""What a design could have seen."""

from __future__ import annotations

import numpy as np
import pytest

from perpend import stats
from perpend.types import Estimate


@pytest.mark.parametrize(
    ("n", "psi", "points"), [(60, 0.1, 10.8), (60, 0.2, 15.2), (200, 0.1, 6.1), (1000, 0.2, 3.9), (25_000, 0.1, 0.6)]
)
def test_the_paired_mde_is_the_published_table(n: int, psi: float, points: float) -> None:
    assert 100 * stats.mde_paired(n, psi).value == pytest.approx(points, abs=0.05)


def test_an_mde_that_cannot_occur_says_so() -> None:
    assert stats.mde_paired(20, 0.1).value == pytest.approx(0.168, abs=1e-3)
    assert "more than the discordance" in stats.mde_paired(20, 0.1).note
    assert stats.mde_paired(0, 0.1).value is None


def test_where_no_pair_differs_there_is_no_mde_and_not_one_of_0() -> None:
    assert stats.mde_paired(40, 0.0).value is None
    assert stats.mde_paired(40, 0.0).note == "no pair differs, so nothing says how often pairs would"


def test_mcnemar_power_is_the_share_of_rejections() -> None:
    rng = np.random.default_rng(6)
    pairs = rng.multinomial(40, [0.3, 0.1, 0.6], size=4000)
    share = np.mean([stats.mcnemar(int(b), int(c)).also["p_exact"] <= 0.05 for b, c, _ in pairs])
    assert stats.mcnemar_power(40, 0.3, 0.1).value == pytest.approx(share, abs=0.025)


def test_mcnemar_power_has_its_limits() -> None:
    assert stats.mcnemar_power(100, 0.0, 0.0).value == 0.0
    assert stats.mcnemar_power(0, 0.1, 0.1).value is None
    assert stats.mcnemar_power(5, 1.0, 0.0).value == 0.0
    assert stats.mcnemar_power(6, 1.0, 0.0).value == pytest.approx(1.0)
    assert stats.mcnemar_power(2000, 0.2, 0.1).value == pytest.approx(1.0)


def test_an_effect_below_the_mde_is_absence_of_evidence() -> None:
    mde = stats.mde_paired(200, 0.1)
    unclear = Estimate(0.02, 200, -0.02, 0.06)
    (caution,) = stats.against_mde(unclear, mde).cautions
    assert (caution.id, caution.number) == ("STAT013", mde.value)
    assert stats.against_mde(Estimate(0.02, 200, 0.01, 0.03), mde).cautions == ()
    assert stats.against_mde(Estimate(0.2, 200, -0.1, 0.5), mde).cautions == ()
    assert stats.against_mde(Estimate(None, 0), mde).cautions == ()

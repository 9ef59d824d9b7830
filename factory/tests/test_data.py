"""The stratum *data*: two readings agree, the second finds a planted error, and the data keep laws that they must."""

from __future__ import annotations

import re
from decimal import Decimal

import pytest
from factory import data
from factory.again.data import label
from factory.chance import Chance
from factory.items import bundles
from factory.quartet import Unreadable


@pytest.mark.parametrize("family", sorted(data.KINDS))
def test_two_readings_agree(family: str) -> None:
    for bundle in bundles("data", family, 30):
        for question in bundle.questions:
            assert label(question.text) == question.label, question.text


def test_the_other_data_turn_the_second_label() -> None:
    for bundle in bundles("data", "cross_indicator", 24):
        for question in bundle.questions:
            there, other = bundle.quartet.settings[question.setting], bundle.quartet.settings[1 - question.setting]
            assert label(question.text.replace(there, other)) != question.label


def test_an_unknown_claim_is_unreadable() -> None:
    with pytest.raises(Unreadable):
        label("The 0–1 test gave the values K = 0.10, 0.20, 0.90. Is it true that the mean of K is large?")


def test_the_exponent_of_the_full_logistic_map_is_the_logarithm_of_two() -> None:
    exponent = data._exponent("logistic", Decimal("3.9999"), Decimal(0), 300, 4000)
    assert abs(float(exponent) - 0.693) < 0.02


def test_the_exponent_of_a_stable_cycle_is_that_of_its_multiplier() -> None:
    """The cycle of period 2 at a = 3.2 has the multiplier 4 + 2 a - a^2 = 0.16, which is ln(0.16) / 2 a step."""
    assert abs(float(data._exponent("logistic", Decimal("3.2"), Decimal(0))) + 0.916) < 0.02


def test_the_lorenz_attractor_has_the_dimension_of_the_books() -> None:
    spectrum = [Decimal(x) for x in ("0.906", "0", "-14.572")]
    assert round(data.dimension(spectrum), 3) == Decimal("2.062")


def test_flows_have_a_zero_exponent_and_lose_volume() -> None:
    for i in range(200):
        spectrum = data.spectrum(Chance("shared", i), Chance("own", i))["list"]
        assert 0 in spectrum
        assert sum(spectrum) < max(spectrum)


def test_megno_of_regular_motion_stays_near_two() -> None:
    for bundle in bundles("data", "cross_indicator", 60):
        for setting in bundle.quartet.settings:
            pairs = re.findall(r"exponent (-?[\d.]+) and MEGNO (\d+\.\d)", setting)
            assert all(1.8 < float(m) < 2.2 for e, m in pairs if float(e) < 0.0009)

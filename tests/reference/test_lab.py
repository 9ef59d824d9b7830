"""The five tests of the calibration lab, with its function names, signatures and assertions."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest

from perpend.stats.adversarial import aggregate_adversarial
from perpend.stats.calibration import brier, ece


@dataclass(frozen=True)
class Probe:
    expected: str
    reason_code: str


@dataclass(frozen=True)
class Result:
    predicted: str
    confidence: float


def test_ece_perfectly_calibrated() -> None:
    # 100 samples where confidence=0.7 and accuracy=0.7 exactly
    conf = np.full(100, 0.7)
    correct = np.array([1] * 70 + [0] * 30)
    assert ece(conf, correct) < 1e-9


def test_ece_overconfident() -> None:
    # 100 samples: confidence=0.95, accuracy=0.50
    conf = np.full(100, 0.95)
    correct = np.array([1] * 50 + [0] * 50)
    assert abs(ece(conf, correct) - 0.45) < 1e-9


def test_brier_perfect() -> None:
    conf = np.array([1.0, 1.0, 0.0, 0.0])
    correct = np.array([1, 1, 0, 0])
    assert brier(conf, correct) == 0.0


def test_brier_uniform_random() -> None:
    # Conf=0.5 always; gives Brier=0.25
    conf = np.full(100, 0.5)
    correct = np.random.RandomState(0).randint(0, 2, size=100).astype(float)
    assert abs(brier(conf, correct) - 0.25) < 0.01


def test_adversarial_category_aggregation() -> None:
    probes = [
        Probe("went", "over_regularization"),
        Probe("ate", "over_regularization"),
        Probe("saw", "over_regularization"),
        Probe("walks", "wrong_person_agreement"),
        Probe("play", "wrong_person_agreement"),
        Probe("trabajé", "en_es_mismatch"),
    ]
    chosen = ["went", "eated", "saw", "walk", "play", "trabajé"]
    found = aggregate_adversarial(probes, [Result(one, 0.5) for one in chosen])

    assert (found["overall"]["n"], found["overall"]["correct"]) == (6, 4)
    assert found["overall"]["accuracy"] == pytest.approx(4 / 6)
    lo, hi = found["overall"]["wilson"]
    assert lo < 4 / 6 < hi
    by = found["by_category"]
    assert set(by) == {"over_regularization", "wrong_person_agreement", "en_es_mismatch"}
    assert by["over_regularization"]["accuracy"] == pytest.approx(2 / 3)
    assert by["wrong_person_agreement"]["accuracy"] == 0.5
    assert [by[code]["low_sample"] for code in sorted(by)] == [True, False, True]

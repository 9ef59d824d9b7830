"""Families of tests: adjusted beside raw, and what only raw p would have claimed."""

from __future__ import annotations

import numpy as np
import pytest

from perpend import stats


@pytest.mark.parametrize(("ours", "theirs"), [(stats.holm, "holm"), (stats.benjamini_hochberg, "fdr_bh")])
def test_adjusted_p_are_those_of_statsmodels(ours: object, theirs: str) -> None:
    from statsmodels.stats.multitest import multipletests

    p = np.round(np.random.default_rng(2).random(15) ** 3, 2)  # rounding makes ties
    assert ours(p).tolist() == pytest.approx(multipletests(p, method=theirs)[1].tolist(), abs=1e-12)


def test_what_only_raw_p_would_claim_is_counted() -> None:
    found = stats.family({"asch": 0.001, "authority": 0.03, "both": 0.04, "none": 0.9})
    assert [test.significant for test in found.tests] == [True, False, False, False]
    (caution,) = found.cautions
    assert (caution.id, caution.number) == ("STAT012", 2)


def test_an_undefined_test_still_counts_in_the_family() -> None:
    found = stats.family({"a": 0.02, "b": None, "c": None})
    assert found.tests[0].adjusted == pytest.approx(0.06)
    assert (found.tests[1].raw, found.tests[1].adjusted, found.tests[1].significant) == (None, None, False)


def test_an_empty_family_claims_nothing() -> None:
    assert stats.family({}).tests == ()

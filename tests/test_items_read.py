"""The page of items that were read by hand is that of the frozen set."""

from __future__ import annotations

import pytest

from perpend.studies.logic.chaosbench.validate import items_at
from tests.conftest import ROOT, load_benchmark

reading = load_benchmark("read_items")


def test_the_page_lists_the_sample_and_a_verdict_for_each() -> None:
    rows = reading.drawn((record for _, record in items_at()), reading.EACH)
    assert len(rows) == 5 * reading.EACH
    assert (ROOT / "docs" / "reference" / reading.PAGE).read_text(encoding="utf-8") == reading.page(
        rows, reading.verdicts()
    )


def test_an_item_without_a_verdict_is_an_error() -> None:
    row = {"id": "a_2_0", "stratum": "logic", "ground_truth": "TRUE", "question": "Is it?"}
    with pytest.raises(ValueError, match="1 drawn items have no verdict, as a_2_0"):
        reading.page([row], {})
    assert "0 labels are right, 1 are wrong" in reading.page([row], {"a_2_0": "the label should be FALSE"})

"""Long sums: what is made a part at a time adds up to the bits of the whole."""

from __future__ import annotations

import numpy as np
import pytest

from perpend.stats import sums
from perpend.stats.gate import FloatArray


@pytest.mark.parametrize("part", [128, 1000, sums.PART])
def test_a_long_sum_has_the_bits_of_numpys_own(part: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sums, "PART", part)
    rng, by_parts_alike = np.random.default_rng(part), 0
    lengths = [0, 1, part, part + 1, *rng.integers(2 * part, 6 * part, 8).tolist()]
    for n in lengths:
        values = rng.standard_normal(n) * 10.0 ** rng.uniform(-8, 8, n)
        parts: list[int] = []

        def made(here: slice, values: FloatArray = values, parts: list[int] = parts) -> FloatArray:
            parts.append(here.stop - here.start)
            return values[here]

        assert sums.long_sum(n, made) == float(values.sum())
        assert max(parts) <= part
        plain = sum(float(values[start : start + part].sum()) for start in range(0, n, part))
        by_parts_alike += plain == float(values.sum())
    assert by_parts_alike < len(lengths), "these values add up alike in any order, so the test could not fail"

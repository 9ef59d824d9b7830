"""Flip rate: how often the members of a group, such as paraphrases of one question, do not all say the same."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from perpend.stats import gate, grouping
from perpend.stats.cautions import caution
from perpend.stats.gate import Ids
from perpend.stats.proportions import normal_quantile, wilson
from perpend.types import Estimate, Number


def flip_rate(values: Ids, groups: Ids, *, level: float = 0.95) -> Estimate:
    """The share of groups whose members disagree, among groups of two or more, with Wilson's interval.

    `values` are answers of any kind that can be compared, one per row; the groups are independent. A group of one
    cannot disagree: `also["all_groups"]` is the share among all groups, as some benchmarks count, with its own ends
    `all_groups_lo` and `all_groups_hi`, and STAT020 where there are such groups. Undefined when no group has two
    members.
    """
    normal_quantile(level)
    answers, codes = grouping.codes("values", values), grouping.codes("groups", groups)
    gate.same_length(values=answers, groups=codes)
    sizes = np.bincount(codes)
    # A group disagrees when one of its members differs from its first.
    first = np.empty(len(sizes), dtype=np.int64)
    first[codes[::-1]] = answers[::-1]  # the last that is written is the first row
    differs = np.zeros(len(sizes), dtype=np.bool_)
    differs[codes[answers != first[codes]]] = True
    flipped, paired = int(differs.sum()), int(np.count_nonzero(sizes > 1))
    share, every = wilson(flipped, paired, level=level), wilson(flipped, len(sizes), level=level)
    also: dict[str, Number] = {
        "flipped": flipped,
        "groups": len(sizes),
        "singletons": len(sizes) - paired,
        "all_groups": every.value,
        "all_groups_lo": every.lo,
        "all_groups_hi": every.hi,
    }
    among_two = "undefined" if share.value is None else f"{share.value:.4f}"
    single, among_all = len(sizes) - paired, every.value or 0.0
    alone = caution("STAT020", single, groups=len(sizes), among_two=among_two, among_all=among_all)
    warned = (alone,) if single else ()
    note = "" if paired else "no group has two members"
    return replace(share, note=note, also=also, cautions=warned)

"""What perpend 0.1 wrote in other words, so that what it published can still be compared to the letter."""

from __future__ import annotations

VERIFY_SHA256 = "87855d0df4a797634e3135cffb3f6d1f40e2bc4e43af64576166593b0db1990d"
"""The script that 0.1 put into every published folder. Nobody is asked to run it any more."""
NOT_YET = frozenset(("tables/seed_pressure.tex", "tables/rule2/seed_pressure.tex"))
"""Files that are derived now and were not in 0.1."""
INDEX_PAGE = [
    "# Published runs",
    "",
    "Each folder holds a whole run: items, questions asked, raw responses, scores, numbers, report. `python",
    "<run>/verify.py` checks that a folder is whole; `perpend audit <run>` derives every number again from the raw",
    "responses. 'Attempt' says which of how many runs of the same items and model this was.",
    "",
    "| run | task | models | trials | headline | attempt | accepted gates | root SHA-256 |",
    "|---|---|---|---:|---|---|---|---|",
    "",
]


def sentence(position: int, others: int) -> str:
    """How many other runs there are and which one this is."""
    if not others:
        return "The runs folder holds no other run of these items with one of these models."
    which = "the first" if position == 1 else "the last" if position == others + 1 else f"number {position}"
    return (
        f"The runs folder holds {others} other run{'s' * (others != 1)} of these items with one of these models; "
        f"by the time that they began, this one is {which} of {others + 1}."
    )

"""A folder of runs: what it holds beside them is named, so that nobody takes it for audited."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from perpend.proof.audit.checks import Audit, Check
from perpend.proof.audit.places import folders_of_runs

NAME = "what is beside the runs"
_NAMED = 10


def collections(paths: Sequence[Path]) -> list[Audit]:
    """The outcome for each path that holds runs and something that is none: what must not be there, what was not seen.

    A path that holds runs and nothing else has none.
    """
    audits = []
    for folder in folders_of_runs(paths):
        check = Check(NAME, checked=len(folder.differences))
        for words in folder.differences:
            check.miss(words)
        names = folder.unseen
        check.missing = ", ".join(names[:_NAMED]) + (f" and {len(names) - _NAMED} more" if len(names) > _NAMED else "")
        audits.append(Audit(folder.path, [check]))
    return audits

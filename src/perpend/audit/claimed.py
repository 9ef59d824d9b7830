"""Claims about what was audited: runs as they are, published folders restored for the time of the check."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path

from perpend.audit.checks import Audit
from perpend.claims import Verdict, check
from perpend.measure import Run
from perpend.published import restore


def check_claims(claims: Path, audits: Sequence[Audit], *, quiet: bool = True) -> list[Verdict]:
    """Recompute each claim from the runs of these audits.

    Stored scores are taken where every audit derived all of them again and found no difference; otherwise the answers
    are scored anew.
    """
    verified = all(outcome.ok and outcome.sample is None for outcome in audits)
    with ExitStack() as stack:
        runs = []
        for outcome in audits:
            path = outcome.path
            if not (path / "run.db").is_file():
                held = stack.enter_context(tempfile.TemporaryDirectory(prefix="perpend-claims-"))
                path = restore(path, Path(held), quiet=quiet)
            runs.append(Run(path))
        return check(claims, runs, rescore=not verified, quiet=quiet)

"""Claims about what was audited, and a study's own numbers of it: runs as they are, others opened for the time."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from perpend.canon import JSON
from perpend.measure.run import Run
from perpend.proof.audit.checks import Audit
from perpend.proof.audit.places import run_directory, scored_in

if TYPE_CHECKING:
    from perpend.proof.claims import Verdict


def check_claims(claims: Path, audits: Sequence[Audit], *, quiet: bool = True) -> list[Verdict]:
    """Recompute each claim from the raw answers of these audits' runs, whatever is stored beside them."""
    from perpend.proof.claims import check as recompute

    with _runs(audits, quiet=quiet) as runs:
        return recompute(claims, runs, quiet=quiet)


def seed_numbers(audits: Sequence[Audit], rules: str) -> dict[str, JSON]:
    """What a study's own audit states of these runs, derived from the raw answers by one rule version, or by 'both'.

    'both' are the two that the study compares. Empty where the runs are of several studies, or of one without such an
    audit.
    """
    readable = [outcome for outcome in audits if outcome.place is not None]
    with _runs(readable, quiet=True) as runs:
        studies = [run.code.study for run in runs]
        seed_audit: Callable[..., dict[str, JSON]] | None = getattr(studies[0], "seed_audit", None) if studies else None
        if seed_audit is None or any(study is not studies[0] for study in studies):
            return {}
        return seed_audit(runs) if rules == "both" else seed_audit(runs, [rules.removeprefix("v")])


@contextmanager
def _runs(audits: Sequence[Audit], *, quiet: bool) -> Iterator[list[Run]]:
    """The runs of some audits; what was never scored is scored in a copy."""
    with ExitStack() as stack:
        runs = []
        for outcome in audits:
            directory = outcome.path
            if outcome.place is not None:
                opened = run_directory(outcome.place, metadata=outcome.metadata, quiet=quiet)
                directory = stack.enter_context(opened)
            runs.append(scored_in(stack, directory, trust_code=outcome.trust_code))
        yield runs

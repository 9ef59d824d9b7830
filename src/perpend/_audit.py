"""`pp.audit`: runs, published folders and claims derived again, with their page."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from perpend.errors import AuditFailure
from perpend.inert import one_line

if TYPE_CHECKING:
    from perpend.proof.audit import Audit
    from perpend.proof.claims import Verdict


@dataclass(frozen=True, slots=True)
class Audited:
    """What an audit came to: an outcome for each run or folder, and a verdict for each claim."""

    runs: tuple[Audit, ...]
    claims: tuple[Verdict, ...] = ()

    def __repr__(self) -> str:
        names = ", ".join(f"{outcome.name}: {'ok' if outcome.ok else 'differs'}" for outcome in self.runs)
        failed = sum(one.status != "pass" for one in self.claims)
        return one_line(f"Audited({names}" + (f"; {failed} of {len(self.claims)} claims fail)" if self.claims else ")"))

    @property
    def ok(self) -> bool:
        """True when nothing differs and every claim holds."""
        return all(outcome.ok for outcome in self.runs) and all(one.status == "pass" for one in self.claims)

    def raise_for_failures(self) -> None:
        """Raise AuditFailure with the first difference of every check that has one, or the claims that do not hold."""
        failed = [outcome for outcome in self.runs if not outcome.ok]
        if failed:
            names = ", ".join(outcome.name for outcome in failed)
            raise AuditFailure(f"{len(failed)} of {len(self.runs)} differ from what is stored: {names}")
        if self.claims:
            from perpend.proof.claims import raise_for_failures

            raise_for_failures(self.claims)


def audit(
    paths: str | Path | Sequence[str | Path], *, claims: str | Path | None = None, trust_code: bool = False
) -> Audited:
    """Derive everything again from the raw answers of runs and published folders, and compare.

    `claims` is a claims.toml whose claims are recomputed too. Code out of a folder runs only with `trust_code`.
    """
    from perpend.proof.audit import Options, check_claims
    from perpend.proof.audit import audit as audit_paths
    from perpend.view.published import PAGES

    places = [Path(path) for path in ([paths] if isinstance(paths, str | Path) else paths)]
    outcomes = audit_paths(places, Options(trust_code=trust_code, page=PAGES))
    verdicts = () if claims is None else check_claims(Path(claims), outcomes)
    return Audited(tuple(outcomes), tuple(verdicts))

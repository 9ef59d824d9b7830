"""`pp.audit`: runs, published folders, claims and what others published derived again, with their page."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from perpend.errors import AuditFailure, DataError, SpecError
from perpend.inert import one_line

if TYPE_CHECKING:
    from perpend.proof.audit import Audit, Options
    from perpend.proof.claims import Verdict
    from perpend.proof.source_audit import SourceAudit


@dataclass(frozen=True, slots=True)
class Audited:
    """What an audit came to: an outcome for each run, folder or source, and a verdict for each claim."""

    runs: tuple[Audit, ...]
    claims: tuple[Verdict, ...] = ()
    sources: tuple[SourceAudit, ...] = ()

    def __repr__(self) -> str:
        names = ", ".join(f"{name}: {'ok' if is_ok else 'differs'}" for name, is_ok in self._outcomes())
        failed = sum(one.failed for one in self.claims)
        return one_line(f"Audited({names}" + (f"; {failed} of {len(self.claims)} claims fail)" if self.claims else ")"))

    def _outcomes(self) -> list[tuple[str, bool]]:
        own = [(outcome.name, outcome.ok) for outcome in self.runs]
        return own + [(outcome.name, outcome.ok and not outcome.unreadable) for outcome in self.sources]

    @property
    def ok(self) -> bool:
        """True when nothing differs and no claim fails; one that is not checkable does not."""
        return all(is_ok for _, is_ok in self._outcomes()) and not any(one.failed for one in self.claims)

    def write_page(self, out: str | Path) -> Path:
        """Write what the audits of sources came to as one page of HTML. Without a source it is a SpecError."""
        from perpend.view.source_page import write_sources

        if not self.sources:
            raise SpecError(
                f"{out}: a page is of what others published, and none of these paths is; see perpend view for runs"
            )
        write_sources(self.sources, Path(out))
        return Path(out)

    def raise_for_failures(self) -> None:
        """Raise AuditFailure with the first difference of every check that has one, or the claims that do not hold."""
        failed = [outcome for outcome in self.runs if not outcome.ok and outcome.refused is None]
        if failed:
            names = ", ".join(outcome.name for outcome in failed)
            raise AuditFailure(f"{len(failed)} of {len(self.runs)} differ from what is stored: {names}")
        for outcome in self.runs:
            if outcome.refused is not None:
                raise outcome.refused
        wrong = [outcome for outcome in self.sources if not outcome.ok]
        if wrong:
            from perpend.proof.source_text import verdict

            raise AuditFailure(
                f"{len(wrong)} of {len(self.sources)} state what does not follow",
                *(f"{outcome.name}: {verdict(outcome)}" for outcome in wrong),
            )
        unread = [line for outcome in self.sources for line in outcome.unreadable]
        if unread:
            raise DataError("some of it could not be read", *unread)
        if self.claims:
            from perpend.proof.claims import raise_for_failures

            raise_for_failures(self.claims)


def audit(
    paths: str | Path | Sequence[str | Path],
    *,
    claims: str | Path | None = None,
    trust_code: bool = False,
    fields: str | Mapping[str, str] | None = None,
) -> Audited:
    """Derive everything again from the raw answers of runs and published folders, and compare.

    What others published, in a format that `convert` knows or with `fields` as its map, is imported for the time of the
    audit. `claims` is a claims.toml whose claims are recomputed too. Code out of a folder runs only with `trust_code`.
    """
    from perpend.proof.audit import Options
    from perpend.view.published import PAGES

    places = [Path(path) for path in ([paths] if isinstance(paths, str | Path) else paths)]
    return audited(places, Options(trust_code=trust_code, page=PAGES), None if claims is None else Path(claims), fields)


def audited(
    places: Sequence[Path],
    options: Options,
    claims: Path | None = None,
    fields: str | Mapping[str, str] | None = None,
) -> Audited:
    """`audit`, looking at as much as the options say."""
    from perpend._convert import is_source
    from perpend.proof.audit import audit as audit_paths
    from perpend.proof.audit import check_claims

    published = [path for path in places if is_source(path, fields)]
    others = [path for path in places if path not in published]
    outcomes = audit_paths(others, options) if others else []
    sources = tuple(audit_sources(published, fields))
    verdicts: Sequence[Verdict] = ()
    if claims is not None and published:  # what was imported for the audit is gone by now
        from perpend._claims import check_claims as check_on

        verdicts = check_on(claims, places, fields=fields, trust_code=options.trust_code, quiet=options.quiet)
    elif claims is not None:
        verdicts = check_claims(claims, outcomes, quiet=options.quiet)
    return Audited(tuple(outcomes), tuple(verdicts), sources)


def audit_sources(paths: Sequence[Path], fields: str | Mapping[str, str] | None = None) -> Iterator[SourceAudit]:
    """Import each source for a while, score it by our rules, and audit it; a folder may hold several.

    One of several that cannot be read does not keep the others out: it is an outcome of its own, which says why.
    """
    from perpend._convert import convert_each
    from perpend.disk import temporary_folder
    from perpend.measure.run import Run
    from perpend.proof.source_audit import SourceAudit, audit_source

    for path in paths:
        name = path.resolve().name
        with temporary_folder("audit") as tmpdir:
            directories = convert_each([path], tmpdir / "source", fields)
            for directory in _until_unreadable(directories):
                if isinstance(directory, DataError):
                    # Places below the source: a page of the audit is for others, whose disks are not this one.
                    lines = [str(line).replace(f"{path}/", "") for line in directory.args[1:] or directory.args]
                    yield SourceAudit(name, "", {}, unreadable=lines)
                    continue
                run = Run(directory)
                run.score()
                yield audit_source(run, name if directory == tmpdir / "source" else f"{name}/{directory.name}")


def _until_unreadable(directories: Iterator[Path]) -> Iterator[Path | DataError]:
    """The runs, then the error that ends them; an error without a run before it is raised."""
    count = 0
    while True:
        try:
            directory = next(directories, None)
        except DataError as error:
            if not count:
                raise
            yield error
            return
        if directory is None:
            return
        count += 1
        yield directory

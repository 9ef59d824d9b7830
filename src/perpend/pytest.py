"""A plugin of pytest: a claims.toml is a file of tests, one per claim, under the sentence that it checks.

It is inert where no file is named so. What it needs of perpend is imported when a file is checked.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from perpend.proof.claims import Claim, Verdict

NAME = "claims.toml"
_CLAIM = re.compile(r"^\s*\[\[\s*claim\s*\]\]", re.MULTILINE)
_HEAD = 1_000_000
_LONGEST = 200


def pytest_addoption(parser: pytest.Parser) -> None:
    """The options: which files, which runs, and whether a claim that is not checkable fails."""
    group = parser.getgroup("perpend", "claims of a paper as tests")
    group.addoption(
        "--perpend-claims",
        action="append",
        default=[],
        metavar="FILE",
        help=f"a file of claims, however it is named [every {NAME}]",
    )
    group.addoption(
        "--perpend-run",
        action="append",
        default=[],
        metavar="PATH",
        help="a run, a published folder or a source to check the claims on [those that 'runs' in the file names]",
    )
    group.addoption("--perpend-strict", action="store_true", help="a claim that is not checkable fails; else skipped")


def pytest_configure(config: pytest.Config) -> None:
    """A file that an option names is collected wherever it is."""
    for path in _named(config):
        given = [Path(config.invocation_params.dir, str(arg).partition("::")[0]).resolve() for arg in config.args]
        if not any(path.is_relative_to(one) for one in given):
            config.args.append(str(path))


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> pytest.Collector | None:
    """A file of claims: one that an option names, or else a claims.toml that holds any."""
    named = _named(parent.config)
    if named:
        is_ours = file_path.resolve() in named
    else:
        is_ours = file_path.name == NAME and file_path.is_file() and _holds_claims(file_path)
    return _ClaimsFile.from_parent(parent, path=file_path) if is_ours else None


def _named(config: pytest.Config) -> list[Path]:
    return [Path(config.invocation_params.dir, one).resolve() for one in config.getoption("--perpend-claims")]


def _holds_claims(path: Path) -> bool:
    """Whether a file that is named claims.toml is one of ours: others may mean something else by claims."""
    with path.open("rb") as file:
        return _CLAIM.search(file.read(_HEAD).decode("utf-8", "replace")) is not None


class _ClaimsFile(pytest.File):
    """The claims of a file. They are checked together, once, when the first of them is run."""

    _verdicts: list[Verdict] | None = None
    places = ""
    """The runs that the claims are checked on, as they are named."""

    def collect(self) -> Iterator[pytest.Item]:
        from perpend.errors import PerpendError
        from perpend.proof.claims import read_claims

        try:
            claims = read_claims(self.path)
        except PerpendError as error:
            raise self.CollectError(str(error)) from None
        seen: set[str] = set()
        for claim in claims:
            name = _name(claim, seen)
            seen.add(name)
            yield _ClaimTest.from_parent(self, name=name, claim=claim)

    def verdicts(self) -> list[Verdict]:
        """The verdicts on all claims of the file: families of tests are corrected together."""
        if self._verdicts is None:
            from perpend._claims import check_claims

            names: list[str] = self.config.getoption("--perpend-run")
            runs = [Path(self.config.invocation_params.dir, one) for one in names]
            self._verdicts = check_claims(self.path, runs)
            self.places = ", ".join(names) or f"the runs that {self.path.name} names"
        return self._verdicts


def _name(claim: Claim, seen: set[str]) -> str:
    """The sentence of a claim as the name of a test; with the claim's own name where two say the same."""
    from perpend.inert import one_line

    sentence = one_line(claim.says).replace("::", ":")[:_LONGEST]
    return sentence if sentence not in seen else f"{sentence} ({one_line(claim.name)})"


class _ClaimFailureError(Exception):
    """What is stated does not follow."""


class _ClaimTest(pytest.Item):
    """One claim with all of its slices."""

    def __init__(self, *, claim: Claim, **more: object) -> None:
        super().__init__(**more)  # type: ignore[arg-type]  # what from_parent passes on
        self.claim = claim

    def runtest(self) -> None:
        """Fail with every slice that does not hold; skip where nothing of the claim is checkable."""
        from perpend.inert import one_line

        parent = self.parent
        if not isinstance(parent, _ClaimsFile):
            raise TypeError(f"{parent!r} is no file of claims")
        own = [one for one in parent.verdicts() if one.claim.name == self.claim.name]
        unchecked = [one for one in own if one.status == "not checkable"]
        wrong = [one for one in own if one.failed]
        if self.config.getoption("--perpend-strict"):
            wrong += unchecked
        if wrong:
            raise _ClaimFailureError(
                "\n".join([_said(self.claim), *map(_line, wrong), f"  from {one_line(parent.places)}"])
            )
        if unchecked:
            pytest.skip("not checkable: " + "; ".join(dict.fromkeys(one.why for one in unchecked)))

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: object = None) -> str:  # noqa: ARG002  pytest's
        """What was stated, what follows and from where; of an error of ours its message; else the traceback."""
        from perpend.errors import PerpendError

        if isinstance(excinfo.value, _ClaimFailureError | PerpendError):
            return str(excinfo.value)  # made of inert lines
        return str(super().repr_failure(excinfo))

    def reportinfo(self) -> tuple[Path, int | None, str]:
        """The file and the line that the claim begins at."""
        line = self.claim.where_from.rpartition(":")[2]
        return self.path, int(line) - 1 if line.isdecimal() else None, self.name


def _said(claim: Claim) -> str:
    from perpend.inert import one_line

    return one_line(f"{claim.where_from}: {claim.says}" + (f" ({claim.cell})" if claim.cell else ""))


def _line(verdict: Verdict) -> str:
    from perpend.inert import one_line
    from perpend.proof.claims.check import estimated

    slice_name = f"{verdict.claim.by} {verdict.slice}: " if verdict.slice else ""
    follows = " ; ".join(map(estimated, verdict.estimates))
    run = f" of {verdict.claim.run}" if verdict.claim.run else ""
    return one_line(
        f"  {slice_name}stated {verdict.expected}; {verdict.claim.text}{run} gives {follows}: {verdict.why}"
    )

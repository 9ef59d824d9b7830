"""The errors that perpend raises on purpose, and the exit code of each.

    PerpendError   1   anything we raise on purpose: what, where, what to do
    ├ SpecError    2   bad TOML, unknown key, task or model, impossible grid
    ├ DataError    3   bad item, duplicate id, decoy = target, freeze mismatch (file:line)
    ├ ModelError   4   fatal for the whole run: no key, 401, unknown model, broken protocol
    ├ StoreError   5   not a run, newer schema, run locked, spec differs from the manifest
    │ ├ DiskError  5   the disk is full, read-only or refuses: nothing is said of what it holds
    │ └ FormatError 5  another version of perpend wrote it: nothing is said of what it holds
    └ AuditFailure 6   a recomputed number differs, a gate is not met

A programmer's bug crashes. The world failing for one trial is `Response.error`. An undefined
statistic is `Estimate(None, …)`.
"""

from __future__ import annotations

import difflib
import itertools
from collections.abc import Iterable
from pathlib import Path

from perpend.inert import one_line

_LISTED, _MOST_BESIDE = 30, 2000


class PerpendError(Exception):
    """Base of every error that a user can cause or fix: one line, and the lines that belong below it.

    A line feed within one of them came with foreign text and is shown as an escape; nor can a line below be taken for
    one of ours, because each is indented.
    """

    exit_code = 1

    def __init__(self, message: object = "", *below: object) -> None:
        super().__init__(message, *below)

    def __str__(self) -> str:
        return "\n  ".join(one_line(str(part)) for part in self.args)


class SpecError(PerpendError):
    """The description of the run is wrong."""

    exit_code = 2


class DataError(PerpendError, ValueError):
    """An item, a frozen file or an array of numbers is wrong. A ValueError too, for callers of the statistics."""

    exit_code = 3


class ModelError(PerpendError):
    """The model cannot answer anything: the whole run stops and can be resumed."""

    exit_code = 4


class FunctionError(ModelError):
    """A user's function, asked as a model, raised: the message, and the number of the trial that it was asked."""

    def __str__(self) -> str:
        return one_line(str(self.args[0]))


class StoreError(PerpendError):
    """The run directory cannot be used as asked."""

    exit_code = 5


class DiskError(StoreError):
    """The disk of whoever calls is full or cannot be written: no fault of any run."""


class FormatError(StoreError):
    """A file of perpend's own in a form that this version does not read: nothing is wrong with it."""


class AuditFailure(PerpendError):  # noqa: N818  the name of the design: an audit fails, it does not err
    """A recomputed number differs from the stored one, or a gate is not met."""

    exit_code = 6


def check_format(found: object, reads: int, path: Path, wrote: object = None, *, again: str = "Run it again") -> None:
    """FormatError, with who wrote it, for a file of another format than the one that this perpend reads.

    `wrote` is the version of perpend that the file names, if it names one; `again` says how to get a new file. What is
    no format is a StoreError.
    """
    if isinstance(found, bool) or not isinstance(found, int):
        raise StoreError(f"{path}: states {found!r:.40} as its format, which is none; it was changed")
    if found == reads:
        return
    version = f"{wrote:.40}, " if isinstance(wrote, str) else ""
    is_older = found < reads
    raise FormatError(
        f"{path}: was written by a {'development' if is_older else 'later'} version of perpend ({version}format "
        f"{found}; this one reads {reads}). "
        + (f"{again}, or use the perpend that wrote it." if is_older else "Upgrade perpend.")
    )


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """The end of an 'unknown name' message: the near names, or when none is near all of them, up to thirty."""
    names = sorted(known)
    near = difflib.get_close_matches(name, names, n=3, cutoff=0.5) or [n for n in names if n.startswith(name)][:3]
    if near:
        return "did you mean " + " or ".join(repr(n) for n in near) + "?"
    more = f" and {len(names) - _LISTED} more" if len(names) > _LISTED else ""
    return f"known: {', '.join(names[:_LISTED])}{more}" if names else "none is known"


def a_or_an(noun: str) -> str:
    """'an int', 'a float'."""
    return f"a{'n' * noun.lower().startswith(tuple('aeiou'))} {noun}"


def near_file(path: Path) -> str:
    """The end of a 'no such file' message: '; did you mean 'ans.csv'?', or nothing where no name beside it is near."""
    try:
        beside = [one.name for one in itertools.islice(path.parent.iterdir(), _MOST_BESIDE)]
    except (OSError, ValueError):
        return ""
    near = difflib.get_close_matches(path.name, sorted(beside), n=2, cutoff=0.7)
    return f"; did you mean {' or '.join(repr(str(path.with_name(name))) for name in near)}?" if near else ""

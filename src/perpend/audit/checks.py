"""What an audit found: checks that count, the outcome of one run, and both as a table."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from perpend.audit.labels import Judged
from perpend.canon import JSON
from perpend.errors import AuditFailure
from perpend.inert import terminal

_SHOWN = 200
"""How many characters of a value a difference shows."""


@dataclass(slots=True)
class Check:
    """One thing that was recomputed: how often, how often it differs, the first difference in words.

    A check that looked at nothing says why in `note`.
    """

    name: str
    checked: int = 0
    differ: int = 0
    first: str = ""
    note: str = ""

    def compare(self, stored: object, now: object, where: str) -> None:
        """Count one comparison. Of two structures the first entry that differs is shown."""
        self.checked += 1
        found = first_difference(stored, now, where)
        if found is not None:
            self.miss(found)

    def miss(self, words: str) -> None:
        """Count one difference of something that was counted as checked."""
        self.differ += 1
        self.first = self.first or words

    def add(self, other: Check) -> None:
        """Take in the counts of the same check over later trials."""
        self.checked += other.checked
        self.differ += other.differ
        self.first = self.first or other.first
        if other.note not in self.note:
            self.note = f"{self.note} {other.note}".strip()

    def as_json(self) -> dict[str, JSON]:
        """The check for programs."""
        return {
            "check": self.name,
            "checked": self.checked,
            "differ": self.differ,
            "first": self.first,
            "note": self.note,
        }


@dataclass(frozen=True, slots=True)
class Sample:
    """Only so many trials, drawn by a seed, were rendered and scored again. `of` counts the planned ones."""

    trials: int
    of: int
    seed: int


@dataclass(frozen=True, slots=True)
class Audit:
    """The outcome for one run or published folder. `sample` None: every trial was looked at."""

    path: Path
    checks: Sequence[Check] = ()
    sample: Sample | None = None
    labels: Sequence[Judged] = ()

    @property
    def name(self) -> str:
        """The folder's name, also where the path is '.'."""
        return self.path.resolve().name

    @property
    def ok(self) -> bool:
        """True when nothing differs."""
        return not any(check.differ for check in self.checks)

    @property
    def verdict(self) -> str:
        """One line for people."""
        said = "nothing differs" if self.ok else "DIFFERS"
        if self.sample is None:
            return said
        one = self.sample
        return f"{said} in a SAMPLE of {one.trials} of {one.of} trials (seed {one.seed}); the rest was not looked at"

    def as_json(self) -> dict[str, JSON]:
        """The table for programs."""
        one = self.sample
        return {
            "run": self.name,
            "ok": self.ok,
            "sample": None if one is None else {"trials": one.trials, "of": one.of, "seed": one.seed},
            "checks": [check.as_json() for check in self.checks],
            "labels": [judged.as_json() for judged in self.labels],
        }

    def raise_for_failures(self) -> None:
        """Raise AuditFailure with the first difference of every check that found one."""
        if not self.ok:
            found = [f"{c.name}: {c.differ} of {c.checked} differ; {c.first}" for c in self.checks if c.differ]
            raise AuditFailure(f"{self.path}: " + "\n".join(found))


def as_table(audits: Iterable[Audit]) -> str:
    """The outcomes for people: a line a check, the first difference and what else is to be said below it."""
    lines: list[str] = []
    for outcome in audits:
        lines.append(f"{terminal(outcome.name)}: {outcome.verdict}")
        for check in outcome.checks:
            verdict = f"{check.differ} differ" if check.differ else "ok" if check.checked else "not checked"
            lines.append(f"  {terminal(check.name):<42} {check.checked:>9} checked   {verdict}")
            lines += [f"      {_line(text)}" for text in (check.first, check.note) if text]
        lines += [f"  {_line(line)}" for judged in outcome.labels for line in judged.as_lines()]
    return "\n".join(lines) + "\n"


def _line(text: str) -> str:
    return terminal(text.replace("\n", "\\n"))


def first_difference(stored: object, now: object, where: str) -> str | None:
    """The first place at which two values differ, with both; None when they are the same.

    Numbers are the same up to 1e-9 of their size, which is what another machine's arithmetic may move them.
    """
    if isinstance(stored, Mapping) and isinstance(now, Mapping):
        for key in dict.fromkeys((*stored, *now)):
            if key not in stored or key not in now:
                found: str | None = f"{where}, {key}: {'not stored' if key not in stored else 'stored, not recomputed'}"
            else:
                found = first_difference(stored[key], now[key], f"{where}, {key}")
            if found is not None:
                return found
        return None
    if isinstance(stored, list) and isinstance(now, list) and len(stored) == len(now):
        entries = (first_difference(*pair, f"{where}[{n}]") for n, pair in enumerate(zip(stored, now, strict=True)))
        return next((found for found in entries if found is not None), None)
    if isinstance(stored, float) and isinstance(now, float):
        same = math.isclose(stored, now, rel_tol=1e-9, abs_tol=1e-12)
    else:
        same = stored == now
    return None if same else f"{where}: stored {shown(stored)}, recomputed {shown(now)}"


def shown(value: object) -> str:
    """A value as a difference shows it, not longer than a line or two."""
    text = repr(value)
    return text if len(text) <= _SHOWN else text[: _SHOWN - 1] + "…"

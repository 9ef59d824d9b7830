"""What an audit found, as checks that count; and the intent of a run against itself."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from perpend.canon import JSON, open_file
from perpend.errors import AuditFailure, FormatError, PerpendError, StoreError
from perpend.inert import one_line
from perpend.ledger.plan import Trial
from perpend.proof.audit.labels import Judged
from perpend.proof.audit.places import AuditPlace

BEYOND: Mapping[str, str] = {
    "answers": "answers that no model gave, where all else was derived from them anew; trials and answers left out",
    "wording": "questions, their right answers, conditions or a second turn in other words than were used",
    "choice": "the best of several samples of items, models, conditions, scorers or runs, and how items were drawn: "
    "the attempts name only runs that were in one folder",
    "names": "wrong names: of the task or the run, of a model, its options and fingerprint, of item files and their "
    "digests, of a freeze that items were drawn from",
    "times": "wrong times, durations, token counts and versions of the code; how lines are packed",
    "words": "untrue reasons for an accepted gate, untrue human labels, an untrue account of the other runs",
    "figures": "what a figure shows, unless --figures redraws it",
    "imports": "in a run that says it was imported: which questions were asked, and labels that no rule here gives",
}
"""What a forger can change without a trace, if he derives everything else anew. A root digest that the paper quotes, or
a signature, rules out all of it after that day; before it, only the publisher can be asked."""
_P_VALUE = re.compile(r"(?:^|_)p(?:_|$)|_test$")
"""Names of p-values: p, p_exact, clustered_p; a metric that is the p-value of a test ends with _test."""
_SHOWN = 200
"""How many characters of a value a difference shows."""


@dataclass(slots=True)
class Check:
    """One thing that was recomputed: how often, how often it differs, the first difference in words.

    A check that looked at nothing says why in `note`. `missing` says what it could not recompute, and why not.
    `accepted` is the gate under which the publisher accepted that it differs, with his reason.
    """

    name: str
    checked: int = 0
    differ: int = 0
    first: str = ""
    note: str = ""
    missing: str = ""
    accepted: str = ""

    @property
    def fails(self) -> bool:
        """Whether something differs that nobody accepted."""
        return bool(self.differ) and not self.accepted

    def compare(self, stored: object, now: object, where: str) -> None:
        """Count one comparison. Of two structures the first entry that differs is shown."""
        self.checked += 1
        difference = first_difference(stored, now, where)
        if difference is not None:
            self.miss(difference)

    def miss(self, words: str) -> None:
        """Count one difference of something that was counted as checked."""
        self.differ += 1
        self.first = self.first or words

    def add(self, other: Check) -> None:
        """Take in the counts of the same check over later trials."""
        self.checked += other.checked
        self.differ += other.differ
        self.first = self.first or other.first
        self.missing = self.missing or other.missing
        if other.note not in self.note:
            self.note = f"{self.note} {other.note}".strip()

    def as_json(self) -> dict[str, JSON]:
        """The check as JSON."""
        return {
            "check": self.name,
            "checked": self.checked,
            "differ": self.differ,
            "first": self.first,
            "note": self.note,
            "not_recomputed": self.missing,
            "accepted": self.accepted,
        }


@dataclass(frozen=True, slots=True)
class Sample:
    """How many trials, sampled with a seed, were rendered and scored again. `of` counts the planned ones."""

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
    place: AuditPlace | None = None
    """How its run can be opened again; None where it cannot."""
    trust_code: bool = False
    metadata: Path | None = None
    accepted: Mapping[str, str] = field(default_factory=dict)
    """The gates that failed and that the publisher accepted, with his reasons."""
    content: str = ""
    """The content digest of its run; empty where it could not be read."""
    own_rules: Sequence[str] = ()
    """What is said of verdicts by an author's own rules, with perpend's beside them."""
    refused: FormatError | None = None
    """Why nothing was compared, where another version of perpend wrote it."""

    @property
    def name(self) -> str:
        """The folder's name, also where the path is '.'."""
        return self.path.resolve().name

    @property
    def ok(self) -> bool:
        """True when nothing differs but what the publisher accepted with a reason, and it was not refused."""
        return self.refused is None and not any(check.fails for check in self.checks)

    @property
    def not_recomputed(self) -> list[str]:
        """The names of the checks that could not recompute all of what is stored."""
        return [check.name for check in self.checks if check.missing]

    @property
    def verdict(self) -> str:
        """One line: whether anything differs, and what was not looked at."""
        if self.refused is not None:
            return f"not audited: {self.refused}"
        left = self.not_recomputed
        line = "DIFFERS" if not self.ok else "nothing differs in what was recomputed" if left else "nothing differs"
        if self.accepted:
            reasons = "; ".join(f"{gate}: {because}" for gate, because in self.accepted.items())
            line += f"; gates that failed and were accepted with a reason ({reasons})"
        if self.sample is not None:
            one = self.sample
            line += f" in a SAMPLE of {one.trials} of {one.of} trials (seed {one.seed}); the rest was not looked at"
        return line + (f"; not recomputed: {', '.join(left)}" if left else "")

    def as_json(self) -> dict[str, JSON]:
        """The outcome as JSON."""
        one = self.sample
        return {
            "run": self.name,
            "ok": self.ok,
            "sample": None if one is None else {"trials": one.trials, "of": one.of, "seed": one.seed},
            "not_recomputed": list(self.not_recomputed),
            "accepted": dict(self.accepted),
            "content_sha256": self.content or None,
            "own_rules": list(self.own_rules),
            "checks": [check.as_json() for check in self.checks],
            "labels": [judged.as_json() for judged in self.labels],
        }

    def raise_for_failures(self) -> None:
        """Raise AuditFailure with the first difference of every check that has one; a refused one its FormatError."""
        if self.refused is not None:
            raise self.refused
        if not self.ok:
            lines = [f"{c.name}: {c.differ} of {c.checked} differ; {c.first}" for c in self.checks if c.fails]
            raise AuditFailure(f"{self.path}: differs from what is stored", *lines)


def as_table(audits: Iterable[Audit]) -> str:
    """The outcomes as text: one line per check; below it the first difference, notes, and what was not recomputed.

    At the end stands what no recomputation can find.
    """
    lines: list[str] = []
    for outcome in audits:
        lines.append(one_line(f"{outcome.name}: {outcome.verdict}"))
        if outcome.content:
            lines.append(f"  content digest {outcome.content}")
        lines += [f"  {one_line(sentence)}" for sentence in outcome.own_rules]
        for check in outcome.checks:
            verdict = f"{check.differ} differ" if check.differ else "ok" if check.checked else "not checked"
            lines.append(f"  {one_line(check.name):<42} {check.checked:>9} checked   {verdict}")
            left = f"not recomputed: {check.missing}" if check.missing else ""
            accepted = f"accepted with a reason: {check.accepted}" if check.accepted else ""
            lines += [f"      {one_line(text)}" for text in (check.first, accepted, check.note, left) if text]
        lines += [f"  {one_line(sentence)}" for judged in outcome.labels for sentence in judged.as_lines()]
    lines += ["No recomputation can find:", *(f"  - {words}" for words in BEYOND.values())]
    return "\n".join(lines) + "\n"


def first_difference(stored: object, now: object, where: str, *, of: str = "") -> str | None:
    """The first place at which two values differ, with both; None when they are the same.

    Numbers are the same up to 1e-9 of their size, which is what another machine's arithmetic may move them, and where
    both are what rounding leaves of zero (`_is_noise`), unless their key or `of`, the name of what they are, says that
    they are p-values: those are small without any rounding.
    """
    if isinstance(stored, Mapping) and isinstance(now, Mapping):
        of = of or str(now.get("metric", ""))
        for key in dict.fromkeys((*stored, *now)):
            if key not in stored or key not in now:
                return f"{where}, {key}: {'not stored' if key not in stored else 'stored, not recomputed'}"
            named = of if _P_VALUE.search(of) else str(key)
            difference = first_difference(stored[key], now[key], f"{where}, {key}", of=named)
            if difference is not None:
                return difference
        return None
    if isinstance(stored, list) and isinstance(now, list) and len(stored) == len(now):
        pairs = enumerate(zip(stored, now, strict=True))
        entries = (first_difference(*pair, f"{where}[{n}]", of=of) for n, pair in pairs)
        return next((difference for difference in entries if difference is not None), None)
    if isinstance(stored, float) and isinstance(now, float):
        is_zero = not _P_VALUE.search(of) and _is_noise(stored) and _is_noise(now)
        same = is_zero or math.isclose(stored, now, rel_tol=1e-9)
    else:
        same = stored == now and isinstance(stored, bool) == isinstance(now, bool)
    return None if same else f"{where}: stored {shown(stored)}, recomputed {shown(now)}"


def _is_noise(value: float) -> bool:
    """Whether a number is 0, or so small as rounding leaves a difference of two equal numbers of size 1 or less.

    In honest runs that is the intraclass correlation (`icc`: 2.5e-16, -8.3e-17); a difference of two means of other
    values than 0 and 1 may be. A number below 1e-25 is none: it was computed as small as it is.
    """
    return value == 0.0 or 1e-25 <= abs(value) <= 1e-15


def shown(value: object) -> str:
    """A value as a difference shows it, not longer than a line or two."""
    text = repr(value)
    return text if len(text) <= _SHOWN else text[: _SHOWN - 1] + "…"


def canonical(check: Check, path: Path, text: str) -> None:
    """Count whether a JSON file has the bytes that its value has: nothing can hide in how it is written."""
    check.checked += 1
    now = text.encode()
    with open_file(path, StoreError, within=path.parent) as file:  # what is longer differs, however long it is
        stored = file.read(len(now) + 1)
    if stored != now:
        check.miss(f"{path.name}: not written as perpend writes it: other spaces, order or spelling of the same values")


@contextmanager
def well_formed(what: str) -> Iterator[None]:
    """Whoever wrote the folder may have put anything into it: what has not the shape of a run is a StoreError."""
    try:
        yield
    except (LookupError, TypeError, AttributeError, ValueError, ArithmeticError, RecursionError, OSError) as error:
        if isinstance(error, PerpendError):
            raise
        raise StoreError(f"{what} of the run is not what a run holds: {error!r}") from error


def where(trial: Trial) -> str:
    """A trial as a difference names it."""
    return f"trial {trial.trial} ({trial.item.id}, {trial.condition})"

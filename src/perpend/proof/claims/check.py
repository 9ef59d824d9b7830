"""Claims against runs: each recomputed, each with a verdict and the reason for it."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import Literal, TypeAlias

from perpend.canon import JSON
from perpend.errors import AuditFailure, DataError, SpecError, did_you_mean
from perpend.inert import one_line
from perpend.measure.run import Run, table_of
from perpend.measure.table import Table
from perpend.proof.claims.evaluate import UnpairedError, evaluate
from perpend.proof.claims.file import UNDEFINED, WHOLE, Claim, half_unit, read_claims
from perpend.proof.claims.language import Order, Relation
from perpend.proof.claims.turns import with_turns
from perpend.stats.families import AdjustedTest, family
from perpend.types import Estimate

Status: TypeAlias = Literal["pass", "fail", "undefined", "not checkable"]
# What floating-point arithmetic may move a number on the edge of the tolerance, as a share of its size.
_SLACK = 1e-15
_NUMERIC = re.compile(r"-?\d+(?:\.\d+)?")


@dataclass(frozen=True, slots=True)
class Verdict:
    """One claim, or one slice of it, beside what was recomputed.

    'undefined' is a failure too: a paper states a number that the data do not give. 'not checkable' is none: the claim
    rests on pairs, or on other facts, that the data do not hold, and `why` says which.
    """

    claim: Claim
    slice: str
    expected: str
    estimates: tuple[Estimate, ...]
    status: Status
    why: str

    @property
    def estimate(self) -> Estimate:
        """The recomputed number; of an order the first of its terms."""
        return self.estimates[0]

    @property
    def failed(self) -> bool:
        """Whether the claim was checked and does not hold."""
        return self.status in ("fail", "undefined")

    @property
    def name(self) -> str:
        """The claim's name, with its slice."""
        return self.claim.name if self.slice == WHOLE else f"{self.claim.name}: {self.slice}"

    @property
    def tolerance(self) -> float | None:
        """How far the recomputed number may be from the stated one; None where none is stated."""
        expected = self.claim.expect.get(self.slice)
        return None if expected is None else self.claim.tolerance(expected)

    def as_json(self) -> dict[str, JSON]:
        """The verdict as JSON."""
        return {
            "name": self.claim.name,
            "says": self.claim.says,
            "at": self.claim.where_from,
            "cell": self.claim.cell or None,
            "slice": self.slice or None,
            "recomputes": self.claim.text,
            "expected": self.expected,
            "tolerance": self.tolerance,
            "found": [one.as_json() for one in self.estimates],
            "verdict": self.status,
            "why": self.why,
        }


def check(
    claims: Path | Sequence[Claim], runs: Sequence[Run], *, rescore: bool = True, quiet: bool = True
) -> list[Verdict]:
    """Every claim recomputed on the runs, in the order of the file.

    A claim without `run` is about all the runs together. With `rescore` every answer is judged again from its raw text
    and nothing is written; without it stored scores are taken, which is for a caller that has just verified them.
    """
    entries = read_claims(claims) if isinstance(claims, Path) else claims
    tables = _Tables(runs, rescore=rescore, quiet=quiet)
    tables.prepare(entries)
    verdicts = [verdict for claim in entries for verdict in _located(claim, tables.of(claim))]
    return list(_corrected(verdicts))


class _Tables:
    """All runs as one table, and each run as one, made when a claim needs it."""

    def __init__(self, runs: Sequence[Run], *, rescore: bool, quiet: bool) -> None:
        labels = [run.name for run in runs]
        twice = sorted({label for label in labels if labels.count(label) > 1})
        if not runs or twice:
            message = f"two runs are named {twice[0]!r}" if twice else "no run is given"
            raise SpecError(f"{message}; give each run once, under a name of its own")
        self.runs = dict(zip(labels, runs, strict=True))
        self._read = partial(table_of, rescore=rescore, quiet=quiet)
        self._tables: dict[str | None, Table] = {}

    def of(self, claim: Claim) -> Table:
        name = claim.run
        if name is not None and name not in self.runs:
            raise SpecError(f"{claim.where_from}: no run is named {name!r}; {did_you_mean(name, self.runs)}")
        key = None if len(self.runs) == 1 else name
        if key not in self._tables:
            runs = [*self.runs.values()] if key is None else [self.runs[key]]
            self._tables[key] = with_turns(self._read(runs))
        return self._tables[key]

    def prepare(self, claims: Sequence[Claim]) -> None:
        """Judge each answer once, by all the scorers that the claims name."""
        wanted: dict[int, tuple[Table, list[str]]] = {}
        for claim in claims:
            table = self.of(claim)
            sliced = [key for key in claim.scope.where if table.has(key) and key not in table.names]
            for column in (*claim.columns(), *sliced):
                try:
                    full = table.full_name(column)
                except SpecError as error:
                    raise SpecError(f"{claim.where_from}: {error}") from None
                wanted.setdefault(id(table), (table, []))[1].append(full)
        for table, columns in wanted.values():
            table.load(columns)


def _located(claim: Claim, table: Table) -> Iterator[Verdict]:
    """The verdicts of one claim; what is wrong with it is said with its place."""
    try:
        for name in _slices(claim, table):
            scope = claim.scope
            if claim.by is not None and name != WHOLE:
                value = _slice_value(name, table.values(claim.by))
                scope = replace(scope, where={**scope.where, claim.by: value})
            try:
                if isinstance(claim.formula, Order):
                    verdict = _ordered(claim, name, [evaluate(term, table, scope) for term in claim.formula.terms])
                else:
                    verdict = _number(claim, name, evaluate(claim.formula, table, scope))
            except UnpairedError as unpaired:
                verdict = _unpaired(claim, name, str(unpaired))
            yield _published(verdict)
    except (SpecError, DataError) as error:
        raise SpecError(f"{claim.where_from}: {error}") from error


def _unpaired(claim: Claim, name: str, why: str) -> Verdict:
    """The verdict on pairs that are not in the data: 'not checkable', unless the claim is that it is undefined."""
    nothing = Estimate(None, 0, note=why)
    if isinstance(claim.formula, Order):
        return Verdict(claim, name, " ".join(("in order:", *claim.formula.relations)), (nothing,), "not checkable", why)
    verdict = _number(claim, name, nothing)
    holds = verdict.status == "pass" and name in claim.expect and name not in claim.significant
    return verdict if holds else replace(verdict, status="not checkable", why=why)


def _published(verdict: Verdict) -> Verdict:
    """A number that does not recompute where the claim says that what it rests on was not published."""
    why = verdict.claim.unpublished
    if not why or not verdict.failed:
        return verdict
    return replace(verdict, status="not checkable", why=f"{why} ({verdict.why})" if verdict.why else why)


def _slices(claim: Claim, table: Table) -> list[str]:
    """The slices that something is claimed of; all of them for an order. One that no trial is in is an error."""
    if claim.by is None:
        return [WHOLE]
    known = table.values(claim.by)
    if isinstance(claim.formula, Order):
        return [name for name in known if name]
    named = list(dict.fromkeys((*claim.expect, *claim.significant)))
    for name in named:
        if _slice_value(name, known) not in known:
            raise SpecError(f"no trial has {claim.by} = {name!r}; {did_you_mean(name, known)}")
    return named


def _slice_value(name: str, known: Sequence[str]) -> str:
    """The slice that a key of a table names: '0.0' is the temperature that is called '0'."""
    if name not in known and _NUMERIC.fullmatch(name):
        return f"{float(name):g}"
    return name


def _number(claim: Claim, name: str, now: Estimate) -> Verdict:
    parts: list[str] = []
    status: Status = "pass"
    why = ""
    if name in claim.expect:
        expected = claim.expect[name]
        parts.append(UNDEFINED if expected is None else str(expected))
        status, why = _compared(claim, expected, now)
    if name in claim.significant:
        parts.append("significant" if claim.significant[name] else "not significant")
    return Verdict(claim, name, ", ".join(parts), (now,), status, why)


def _compared(claim: Claim, expected: Decimal | None, now: Estimate) -> tuple[Status, str]:
    if expected is None:
        return ("pass", now.note) if now.value is None else ("fail", f"it is defined: {shown(now.value)}")
    if now.value is None:
        return "undefined", now.note or "undefined"
    away, within = abs(now.value - float(expected)), claim.tolerance(expected)
    if away <= within + _SLACK * max(abs(now.value), abs(float(expected))):
        return "pass", ""
    return "fail", f"off by {away:.3g}, more than {within:.3g}"


_HOLDS: Mapping[Relation, str] = {"<": "below", "<=": "at most", ">": "above", ">=": "at least"}


def _ordered(claim: Claim, name: str, terms: Sequence[Estimate]) -> Verdict:
    relations = claim.formula.relations if isinstance(claim.formula, Order) else ()
    verdict = Verdict(claim, name, " ".join(("in order:", *relations)), tuple(terms), "pass", "")
    undefined = next((one for one in terms if one.value is None), None)
    if undefined is not None:
        return replace(verdict, status="undefined", why=undefined.note or "undefined")
    for first, relation, second in zip(terms, relations, terms[1:], strict=False):
        a, b = first.value or 0.0, second.value or 0.0
        if not {"<": a < b, "<=": a <= b, ">": a > b, ">=": a >= b}[relation]:
            return replace(verdict, status="fail", why=f"{shown(a)} is not {_HOLDS[relation]} {shown(b)}")
    return verdict


def _corrected(verdicts: Sequence[Verdict]) -> Iterator[Verdict]:
    """The verdicts with their claims of significance judged: Holm over all tests of one family."""
    families: dict[str, dict[str, float | None]] = {}
    for place, verdict in enumerate(verdicts):
        if verdict.slice in verdict.claim.significant:
            families.setdefault(verdict.claim.family, {})[str(place)] = _p(verdict)
    tests: dict[str, tuple[AdjustedTest, int]] = {}
    for members in families.values():
        tests |= {test.name: (test, len(members)) for test in family(members).tests}
    for place, verdict in enumerate(verdicts):
        yield _published(_judged(verdict, *tests[str(place)])) if str(place) in tests else verdict


def _p(verdict: Verdict) -> float | None:
    also = verdict.estimate.also
    if verdict.status == "not checkable":
        return None
    if "p" not in also:
        where = verdict.claim.where_from
        tests = "difference(…), odds_ratio(…), regression(…), ece(…)"
        raise SpecError(f"{where}: {verdict.claim.text!r} has no test; 'significant' is for {tests}")
    p = also["p"]
    return p if isinstance(p, float) else None


def _judged(verdict: Verdict, test: AdjustedTest, tests: int) -> Verdict:
    if verdict.status != "pass":
        return verdict
    if test.adjusted is None or test.raw is None:
        return replace(verdict, status="undefined", why=verdict.estimate.note or "the test is undefined")
    p = f"p = {test.raw:.3g}" + (f", {test.adjusted:.3g} after Holm over {tests} tests" if tests > 1 else "")
    claim = verdict.claim
    holds = (test.adjusted <= claim.alpha) == claim.significant[verdict.slice]
    return replace(verdict, status="pass" if holds else "fail", why=f"{p}; alpha is {claim.alpha:g}")


def raise_for_failures(verdicts: Sequence[Verdict], *, strict: bool = False) -> None:
    """AuditFailure, exit 6, where a claim does not hold, or where none could be checked.

    With `strict` a claim that is not checkable fails too.
    """
    wrong = [verdict for verdict in verdicts if verdict.failed]
    unchecked = [verdict for verdict in verdicts if verdict.status == "not checkable"]
    if wrong or (unchecked and (strict or len(unchecked) == len(verdicts))):
        lines = [f"{v.claim.where_from}: {v.name}: {v.status}, {v.why}" for v in (*wrong, *unchecked)]
        if wrong:
            raise AuditFailure(f"{len(wrong)} of {len(verdicts)} claims do not hold:", *lines)
        raise AuditFailure(f"{len(unchecked)} of {len(verdicts)} claims could not be checked:", *lines)


def as_json(verdicts: Sequence[Verdict]) -> dict[str, JSON]:
    """All verdicts as JSON."""
    count = {status: sum(verdict.status == status for verdict in verdicts) for status in ("pass", "not checkable")}
    body: dict[str, JSON] = {"claims": len(verdicts), "passed": count["pass"], "not_checkable": count["not checkable"]}
    return {**body, "verdicts": [verdict.as_json() for verdict in verdicts]}


_MARKS: Mapping[Status, str] = {"pass": "pass", "fail": "FAIL", "undefined": "UNDEFINED", "not checkable": "NO CHECK"}


def as_table(verdicts: Sequence[Verdict]) -> str:
    """The verdicts as text: what is said, what was expected, what was recomputed."""
    lines: list[str] = []
    sentence = ""
    for verdict in verdicts:
        if verdict.claim.says != sentence:
            sentence = verdict.claim.says
            lines.append(one_line(sentence))
        lines.append(f"  {_MARKS[verdict.status]:<9} {compared(verdict)}")
    passed = sum(verdict.status == "pass" for verdict in verdicts)
    unchecked = sum(verdict.status == "not checkable" for verdict in verdicts)
    more = f"; {unchecked} {'is' if unchecked == 1 else 'are'} not checkable on these data" if unchecked else ""
    lines.append(f"{passed} of {len(verdicts)} hold{more}")
    return "\n".join(lines) + "\n"


def compared(verdict: Verdict) -> str:
    """A verdict in one line: its slice, what is stated and to what tolerance, what follows, and from which expression.

    Also why it does not hold.
    """
    slice_name = f"{one_line(verdict.slice)}: " if verdict.slice != WHOLE else ""
    why = one_line(verdict.why)
    expected, formula = one_line(verdict.expected) + _tolerated(verdict), one_line(verdict.claim.text)
    if verdict.status == "not checkable" and verdict.estimate.value is None:
        return f"{slice_name}{expected} | {formula} | not checkable: {why}"
    now = " ; ".join(map(estimated, verdict.estimates))
    ending = f" (not checkable: {why})" if verdict.status == "not checkable" else f" ({why})" if why else ""
    return f"{slice_name}{expected} | {formula} | recomputed {now}{ending}"


def _tolerated(verdict: Verdict) -> str:
    """The tolerance beside a stated number, with a word where it takes in more than twice the number."""
    within, expected = verdict.tolerance, verdict.claim.expect.get(verdict.slice)
    if within is None or expected is None:
        return ""
    size = abs(float(expected)) or half_unit(expected)
    return f" (± {within:.3g}{', MORE THAN THE NUMBER' if within > size else ''})"


def estimated(one: Estimate) -> str:
    """A recomputed number with its interval and denominator; why there is none."""
    if one.value is None:
        return f"NA ({one_line(one.note)})"
    interval = "" if one.lo is None or one.hi is None else f" [{shown(one.lo)}, {shown(one.hi)}]"
    return f"{shown(one.value)}{interval}" + (f" n={one.n}" if one.n else "")


def shown(value: float) -> str:
    """A number to six figures, integers as they are."""
    whole = math.isfinite(value) and value == int(value) and abs(value) < 1e15
    return str(int(value)) if whole else f"{value:.6g}"

"""The audit of a source as one page of text."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from perpend.inert import counted, one_line
from perpend.proof.source_audit import CheckedNumber, SourceAudit, SourceComparison, UnfitVerdicts
from perpend.proof.source_given import GivenNumber
from perpend.types import Estimate

_LINES, _GIVEN = 8, 12


def as_page(audit: SourceAudit) -> str:
    """What was found, what rules give again, what follows, what verdicts rest on, what survives, what is unchecked."""
    return "\n".join(_lines(audit)) + "\n"


def verdict(audit: SourceAudit) -> str:
    """One sentence: whether anything that the source states does not follow."""
    wrong = len(audit.differing)
    ruled = sum(rule.differ for rule in audit.rules)
    parts = []
    if wrong:
        parts.append(f"{counted(wrong, 'stated number')} {'does' if wrong == 1 else 'do'} not follow from the verdicts")
    if ruled:
        parts.append(f"{counted(ruled, 'verdict')} {'is' if ruled == 1 else 'are'} not what the source's rule gives")
    if parts:
        return "; ".join(parts)
    checked = sum(one.value is not None for one in audit.numbers)
    if not checked and not audit.rules:
        return "the source states nothing that could be computed again"
    return "everything that could be computed again follows"


def _lines(audit: SourceAudit) -> Iterator[str]:
    if audit.unreadable:
        yield f"{one_line(audit.name)}: could not be read"
        yield from (f"  {one_line(line)}" for line in audit.unreadable)
        return
    yield f"{one_line(audit.name)}: {verdict(audit)}"
    yield ""
    yield f"Found: {one_line(audit.format)}"
    yield f"  {found_line(audit)}"
    yield "Verdicts that a rule gives again"
    yield from _rules(audit)
    yield "Stated numbers that follow from the stored verdicts"
    yield from _numbers(audit)
    yield "What the stored verdicts give"
    yield from _given(audit)
    yield "Verdicts on answers that are none"
    yield from ([f"  {_unfit(one)}" for one in audit.unfit[:_LINES]] or ["  none"])
    yield from _more(len(audit.unfit))
    yield "Comparisons that survive pairing and Holm's correction"
    yield from _comparisons(audit)
    yield "Not checked, and notes of the import"
    yield from _unchecked(audit)


def found_line(audit: SourceAudit) -> str:
    """'4 answers of 1 model to 4 items under 1 condition; 1 column of stored verdicts; 3 stated numbers'."""
    shape = audit.shape
    whom = f"{counted(shape['models'], 'model')} to {counted(shape['items'], 'item')}"
    answers, under = counted(shape["answers"], "answer"), counted(shape["conditions"], "condition")
    columns, numbers = counted(shape["columns"], "column"), counted(shape["numbers"], "stated number")
    return f"{answers} of {whom} under {under}; {columns} of stored verdicts; {numbers}"


def _rules(audit: SourceAudit) -> Iterator[str]:
    for rule in audit.rules:
        yield f"  {one_line(rule.what)}: {rule.checked - rule.differ:,} of {rule.checked:,}"
        for place in rule.examples[:_LINES]:
            yield f"    not at {one_line(place)}"
    for ours in audit.ours[:_LINES]:
        counts = f"{ours.agree:,} of {ours.disagreement.n:,}"
        yield f"  {one_line(ours.rule)}, a rule of ours, against {short_column(ours.column)}: {counts}"
    yield from _more(len(audit.ours))
    if not audit.rules and not audit.ours:
        yield "  none: no rule is known for these verdicts"


def _numbers(audit: SourceAudit) -> Iterator[str]:
    checked = [one for one in audit.numbers if one.value is not None]
    if not checked:
        yield "  none could be computed"
        return
    yield f"  {sum(one.agrees for one in checked):,} of {len(checked):,}"
    for one in audit.differing[:_LINES]:
        yield f"  does not follow: {one_line(one.stated.what)}"
        yield f"    {_both(one)}"
    yield from _more(len(audit.differing))
    for one in audit.rounded[:_LINES]:
        yield f"  only rounded: {_both(one)}"
    yield from _more(len(audit.rounded))


def _both(one: CheckedNumber) -> str:
    place = f"{one_line(one.stated.file)}, {one_line(one.stated.place)}"
    return f"{place}: stated {one.stated.value:.10g}, computed {one.value:.10g}"


def _given(audit: SourceAudit) -> Iterator[str]:
    for one in audit.given[:_GIVEN]:
        yield f"  {given_line(one)}"
    if len(audit.given) > _GIVEN:
        yield f"  and {len(audit.given) - _GIVEN:,} more; --json lists them all"
    if not audit.given:
        yield "  nothing: there are no verdicts"


def given_line(one: GivenNumber) -> str:
    """'pass^2 of stored_reward, model a: 0.5 [0.4, 0.6], n = 50'; where undefined, why."""
    slices = "".join(f", {key} {one_line(name)}" for key, name in one.where.items())
    return f"{one.statistic} of {short_column(one.column)}{slices}: {estimated(one.estimate)}"


def estimated(one: Estimate) -> str:
    """The value with its interval and denominator; where undefined, why."""
    if one.value is None:
        return f"undefined: {one_line(one.note)}"
    ends = "" if one.lo is None or one.hi is None else f" [{one.lo:.4f}, {one.hi:.4f}]"
    return f"{one.value:.4f}{ends}, n = {one.n:,}"


def _unfit(one: UnfitVerdicts) -> str:
    kinds = ", ".join(f"{count:,} {kind}" for kind, count in one.kinds.items())
    without = "undefined" if one.without is None else f"{one.without:.4f}"
    return (
        f"{short_column(one.column)}: {one.unfit:,} of {one.n:,} ({kinds})\n"
        f"    rate as stored {one.rate:.4f}; without them {without}; "
        f"with them missing between {one.lo:.4f} and {one.hi:.4f}"
    )


def _comparisons(audit: SourceAudit) -> Iterator[str]:
    if not audit.comparisons:
        yield "  none: there is one model under one condition"
        return
    surviving = [one for one in audit.comparisons if one.survives]
    yield f"  {len(surviving):,} of {len(audit.comparisons):,}"
    for one in sorted(surviving, key=lambda one: -abs(one.difference.value or 0))[:_LINES]:
        yield f"  {_comparison(one)}"
    yield from _more(len(surviving))


def _comparison(one: SourceComparison) -> str:
    first, second = (one_line(side) for side in one.sides)
    size = "" if one.difference.value is None else f"{one.difference.value:+.4f}"
    p = "p < 0.0001" if (one.adjusted or 0) < 1e-4 else f"p = {one.adjusted:.4f}"
    return f"{short_column(one.column)}: {second} minus {first} {size} (n = {one.difference.n:,}, {p})"


def _unchecked(audit: SourceAudit) -> Iterator[str]:
    reasons = Counter(one.why for one in audit.numbers if one.value is None)
    for why, count in reasons.most_common(_LINES):
        yield f"  {counted(count, 'number')}: {one_line(why)}"
    yield from _more(len(reasons))
    for note, count in list(audit.notes.items())[:_LINES]:
        yield f"  {count:,}: {one_line(note)}"
    if not reasons and not audit.notes:
        yield "  nothing"


def short_column(column: str) -> str:
    """A column of stored scores as a reader knows it."""
    return one_line(column.removesuffix("@import"))


def _more(count: int) -> list[str]:
    return [f"  and {count - _LINES:,} more; --json lists them all"] if count > _LINES else []

"""A plan as the terminal shows it: what is needed, for what, and what more items or repeats would buy."""

from __future__ import annotations

from collections.abc import Iterator

from perpend.inert import one_line
from perpend.measure.pilot import ANOTHER, CONDITIONS, MODELS, RATE, Aim, Bought, RunPlan, items_beyond
from perpend.measure.samplings import PARAMETERS
from perpend.report.answer import counted, name
from perpend.report.tables import terminal_table, wrapped

_MOST = 8
_PARTS = {"item": "items", "condition": "conditions", "item_condition": "items × conditions", "sampling": "repeats"}


def plan_text(plan: RunPlan) -> str:
    """The answer, then what each comparison needs, then designs; cautions last."""
    paragraphs = [[*_answer(plan)], [*_aims(plan)], [*_designs(plan)], [*_cautions(plan)]]
    return "\n\n".join("\n".join(lines) for lines in paragraphs if lines) + "\n"


def _answer(plan: RunPlan) -> Iterator[str]:
    pilot, request, first = plan.pilot, plan.request, plan.first
    counts = [counted(pilot[f"{noun}s"], noun) for noun in ("condition", "model", "repeat")]
    items = f"{pilot['items']:,} item{'s' * (pilot['items'] != 1)} with a value"
    yield from wrapped(one_line(f"Plan for {plan.score} by the pilot {plan.run}: {', '.join([items, *counts])}."))
    if first.needed.value is None:
        where = f"for {_called(plan, first)}: " if items_beyond(first.needed) is not None else ""
        yield from wrapped(one_line(f"No plan: {where}{first.needed.note}."), "  ")
        return
    factors = [f"{plan.items:,} items"]
    for noun, count in (("condition", pilot["conditions"]), ("model", plan.models), ("setting", pilot["settings"])):
        factors += [counted(count, noun)] * (count > 1)
    size = f"{' × '.join([*factors, counted(plan.repeats, 'repeat')])}, {plan.requests:,} requests"
    level = f"power {100 * request.power:g}%, two-sided level {100 * request.alpha:g}%, paired by item"
    if first.is_paired:
        aim = f"To detect a difference of {_amount(plan, request.detect)} ({level})"
    else:
        aim = f"To know the mean to within ±{_amount(plan, request.detect)} ({100 - 100 * request.alpha:g}% interval)"
    yield from wrapped(one_line(f"{aim}: {size}, {_cost(plan)}."), "  ")
    lo, hi = first.needed.lo, first.needed.hi
    if lo is not None and hi is not None:
        yield from wrapped(f"As the pilot is itself a sample, it may take {lo:,} to {hi:,} items (95%).", "  ")
    if plan.items is not None and plan.items <= pilot["items"] and plan.request.items is None:
        yield "The items of the pilot are enough."
    tests = sum(aim.kind in (CONDITIONS, MODELS) for aim in plan.aims)
    if tests > 1:
        corrected = f"--alpha {request.alpha / tests:.2g}"
        yield from wrapped(
            f"Each difference is one test; for all {tests} with Holm's correction, plan with {corrected}."
        )


def _amount(plan: RunPlan, value: float) -> str:
    """What was asked for, as it was written."""
    return f"{100 * value:g} points" if plan.is_share else f"{value:g}"


def _rounded(plan: RunPlan, value: float) -> str:
    return f"{100 * value:.1f} points" if plan.is_share else f"{value:.3g}"


def _cost(plan: RunPlan) -> str:
    if plan.usd is None:
        hint = "; give --price" if "price" in plan.usd_note else ""
        return f"cost unknown ({plan.usd_note}{hint})"
    return f"about {_usd(plan.usd)}, at what the pilot spent per request"


def _usd(value: float) -> str:
    return f"{value:,.2f} USD" if value >= 0.01 or value == 0.0 else f"{value:.2g} USD"


def _aims(plan: RunPlan) -> Iterator[str]:
    if all(aim.needed.value is None and items_beyond(aim.needed) is None for aim in plan.aims):
        return
    keys = _varied(plan)
    what = ["repeats"] if plan.request.items is not None else ["items", "the pilot leaves open"]
    rows = [[*(aim.where[key] for key in keys), _called(plan, aim), *_need(aim, plan)] for aim in plan.aims]
    yield terminal_table([*keys, "to know", *what], rows[:_MOST], len(what))
    if len(rows) > _MOST:
        yield f"{counted(len(rows) - _MOST, 'more row')}; --json has all, --where keeps to a part."
    unknown = [aim.needed for aim in plan.aims[:_MOST] if aim.needed.value is None]
    for note in dict.fromkeys(one.note for one in unknown if items_beyond(one) is None):
        yield from wrapped(one_line(f"NA: {note}."), "  ")
    if any(aim.kind == ANOTHER for aim in plan.aims[:_MOST]):
        one = "The pilot has one model, so another is taken to share nothing with it: fewer may do."
        yield from wrapped(one, "  ")


def _varied(plan: RunPlan) -> list[str]:
    """The model and the settings, where they are several."""
    return [key for key in ("model", *PARAMETERS) if len({aim.where.get(key) for aim in plan.aims}) > 1]


def _called(plan: RunPlan, aim: Aim) -> str:
    what = name(aim.where["condition"])
    if aim.kind == RATE:
        return f"{what}: mean ±{_amount(plan, plan.request.detect)}"
    return f"another model, {what}" if aim.kind == ANOTHER else what


def _need(aim: Aim, plan: RunPlan) -> list[str]:
    """The items and their interval, or the repeats."""
    one, beyond = aim.needed, items_beyond(aim.needed)
    most = "at most " * (aim.kind == ANOTHER)
    if plan.request.items is not None:
        return [f"none; needs {beyond:,} items" if beyond is not None else _count(one.value, most)]
    return [_count(one.value, most), "–" if one.lo is None or one.hi is None else f"{one.lo:,} to {one.hi:,}"]


def _count(value: float | None, most: str) -> str:
    return "NA" if value is None else f"{most}{int(value):,}"


def _designs(plan: RunPlan) -> Iterator[str]:
    if not plan.bought:
        return
    first = plan.first
    keys = _varied(plan)
    place = [name(first.where[key]) if key == "model" else f"{key} {first.where[key]}" for key in keys]
    yield from wrapped(one_line(f"What more would buy, for {', '.join([*place, _called(plan, first)])}:"))
    head = ["design", "items", "repeats", "requests", "standard error"]
    if plan.first.is_paired:
        head.append("detects")
    yield terminal_table(head, [_row(plan, design)[: len(head)] for design in plan.bought], len(head) - 1)
    shares = [f"{_PARTS[part]} {100 * share:.0f}%" for part, share in plan.first.shares().items()]
    if shares:
        yield from wrapped(f"The variance of one answer there: {', '.join(shares)}.", "  ")
    if any(design.se.value is None for design in plan.bought):
        yield "NA: the pilot asked each item once, so what repeats would buy is unknown."


def _row(plan: RunPlan, design: Bought) -> list[str]:
    numbers = [f"{design.items:,}", f"{design.repeats:,}", f"{design.requests:,}"]
    shown = ["NA" if one.value is None else _rounded(plan, one.value) for one in (design.se, design.detects)]
    return [design.name, *numbers, *shown]


def _cautions(plan: RunPlan) -> Iterator[str]:
    cautions = {caution.id: caution.text for aim in plan.aims for caution in aim.needed.cautions}
    for text in cautions.values():
        yield from wrapped(one_line(f"Caution: {text}."), "  ")

"""The conformity study's question answered in a few sentences: planted answers first, then errors, then opinions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from perpend.measure.study import Metric
from perpend.report.answer import (
    MOST,
    caution_sentences,
    change,
    counted,
    name,
    p_words,
    percent,
    places,
    rows_of_items,
    undefined,
)
from perpend.report.derive import plain_answer, unanswered
from perpend.stats.families import is_shown
from perpend.studies.conformity.tables import Results

PLANTED, ERROR, OPINION = "planted_effect", "pressure_effect", "opinion_effect"
_SUBJECT = {PLANTED: "the planted answer", ERROR: "wrong answers", OPINION: "the planted opinion"}
_RISES = {PLANTED: ("rises", "falls"), ERROR: ("rise", "fall"), OPINION: ("rises", "falls")}
_MANY = {PLANTED: "planted answers", ERROR: "wrong answers", OPINION: "planted opinions"}
_PRESSURES = {"asch": "group pressure", "authority": "authority"}
_FEW = 2


def answer_sentences(results: Results, rule: str) -> tuple[str, ...]:
    """At most five: every change where there are two pairs of conditions, else the largest ones and how many differ."""
    effects = {effect: _largest_first(results.rows(effect, rule)) for effect in (PLANTED, ERROR, OPINION)}
    if not any(effects.values()):
        return plain_answer(results.numbers)
    if max(len(effects[PLANTED]), len(effects[ERROR])) <= _FEW:
        kept = {effect: len(rows) for effect, rows in effects.items()}
        kept[OPINION] = MOST - min(kept[PLANTED] + kept[ERROR], MOST)
    else:
        kept = {PLANTED: 2, ERROR: 1 if effects[PLANTED] else 3, OPINION: 1}
    sentences = [_sentence(results, row) for effect, rows in effects.items() for row in rows[: kept[effect]]]
    if kept[OPINION] == 1 and len(effects[OPINION]) == _FEW and len(results.variants) == 1:
        return (*sentences[: MOST - 1], _both(results, effects[OPINION]))
    more = [effect for effect, rows in effects.items() if len(rows) > kept[effect]]
    return (*sentences[: MOST - bool(more)], *_counts(results, rule, more))


def _largest_first(rows: Sequence[Metric]) -> list[Metric]:
    """What differs from 0 after adjustment first, then by size; what is undefined last."""

    def size(row: Metric) -> tuple[bool, float]:
        return not is_shown(row.estimate), -abs(float(row.estimate.value or 0.0))

    return sorted(rows, key=size)


def _sentence(results: Results, row: Metric) -> str:
    one = row.estimate
    under = _under(results, row)
    place = f"{name(row.where['model'])}, {under}:" if len(results.variants) > 1 else under.capitalize()
    subject = _SUBJECT[row.name]
    if one.value is None:
        return f"{place} the change of {_MANY[row.name]} is {undefined(one)}."
    decimals = places(one)
    before, after = (percent(one.also.get(key), decimals) for key in ("control", "pressure"))
    numbers = f"{change(one)}, {rows_of_items(one, 'pair')}, {p_words(one.also.get('p_adjusted'))} after Holm"
    if not is_shown(one):
        return f"{place} no change of {_MANY[row.name]} is shown: from {before} to {after}, {numbers}."
    return f"{place} {subject} {_RISES[row.name][one.value < 0]} from {before} to {after}: {numbers}."


def _both(results: Results, rows: Sequence[Metric]) -> str:
    """The changes of one model's planted opinions under two pressures in one sentence; one n where it is the same."""
    known = [row for row in rows if row.estimate.value is not None]
    bases = [rows_of_items(row.estimate, "pair") for row in known]
    shared, parts = len(set(bases)) == 1, []
    for row, base in zip(known, bases, strict=True):
        p = p_words(row.estimate.also.get("p_adjusted"))
        parts.append(f"{_under(results, row)} by {change(row.estimate)} ({p if shared else f'{base}, {p}'})")
    text = f"Planted opinions change {' and '.join(parts)}{f', {bases[0]}' if shared else ''}, p after Holm"
    lacking = [f"{_under(results, row)} it is {undefined(row.estimate)}" for row in rows if row not in known]
    if not known:
        return f"The change of planted opinions {' and '.join(lacking)}."
    return "; ".join([text, *lacking]) + "."


def _under(results: Results, row: Metric) -> str:
    short = results.short(row)
    return f"under {_PRESSURES.get(short) or name(short)}"


def _counts(results: Results, rule: str, effects: Sequence[str]) -> Iterator[str]:
    """How many of the changes differ from 0, in one sentence, where not every one is named."""
    families: dict[tuple[object, bool], list[str]] = {}
    for effect in effects:
        family = results.one(f"{effect}_family", rule)
        if family is not None:
            part = f"{family.value:g} of {counted(family.n, 'change')} of {_MANY[effect]}"
            families.setdefault((family.also.get("tests", family.n), effect == OPINION), []).append(part)
    parts = [f"{' and '.join(own)} (Holm over {tests})" for (tests, _), own in families.items()]
    if parts:
        yield f"In all, {', '.join(parts)} differ from 0; the report has each."


def cautions_of(results: Results, rule: str) -> tuple[str, ...]:
    """What to mind before the answer is believed, the gravest first."""
    moved = [
        f"{name(row.where['model'])} under {name(results.short(row))}"
        for effect in (PLANTED, ERROR, OPINION)
        for row in results.rows(effect, rule)
        if (lacking := results.beside(row, "no_answer")) is not None and is_shown(lacking)
    ]
    sentences = [*unanswered(results.numbers)]
    if moved:
        places_moved = ", ".join(dict.fromkeys(moved))
        sentences.append(f"pressure changes how often there is an answer at all ({places_moved}).")
    cited = (row.estimate for effect in (PLANTED, ERROR, OPINION) for row in results.rows(effect, rule))
    return (*sentences, *caution_sentences(cited))

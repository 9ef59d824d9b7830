"""Figures of the conformity study as values: the few that answer its question, and the reference's whole set."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import partial

import numpy as np

from perpend.canon import portable_name
from perpend.measure.study import FigureOf, Metric
from perpend.studies.conformity.drawing import (
    DOUBLE,
    SINGLE,
    Forest,
    ForestPanel,
    Panels,
    Scale,
    draw_forest,
    draw_heatmaps,
    draw_lines,
)
from perpend.studies.conformity.tables import Results, folder_of
from perpend.types import Estimate

EFFECTS, TOPICS = "pressure_effects", "planted_by_topic"
WIDTHS = {"single": SINGLE, "double": DOUBLE}
FOREST, LINES = "pressure_effects_forest", "opinion_wrong_answer_agreement"
_MEASURES = {
    "override": ("truth_override", "Truth override: P(wrong under {} | right under control)"),
    "rescue": ("truth_rescue", "Truth rescue: P(right under {} | wrong under control)"),
    "flip": ("wrong_answer_flip", "Wrong-answer flip: P(endorses under {} | does not under control)"),
}
_EFFECTS = {
    "planted_effect": "Planted answers",
    "pressure_effect": "Wrong answers",
    "opinion_effect": "Planted opinions",
}


def figures(results: Results) -> Iterator[FigureOf]:
    """The few that answer the question, by the newest rule, each for a single and for a double column.

    What pressure does to planted answers, errors and opinions; the planted answers of every topic and condition.
    """
    rule = results.rules[-1]
    for column, width in WIDTHS.items():
        yield FigureOf(f"{EFFECTS}_{column}", partial(draw_forest, effects_forest(results, rule), width))
        by_topic = planted_by_topic(results, rule)
        if by_topic is not None:
            yield FigureOf(f"{TOPICS}_{column}", partial(draw_heatmaps, by_topic, width))


def all_figures(results: Results) -> Iterator[FigureOf]:
    """The reference's: by each rule version the forest plot, the heat maps, the opinion lines."""
    for rule in results.rules:
        folder = folder_of(rule)
        yield FigureOf(f"{folder}{FOREST}", partial(draw_forest, forest(results, rule)))
        if "factual" in results.kinds:
            for name, drawing in heatmaps(results, rule):
                yield FigureOf(f"{folder}{name}", partial(draw_heatmaps, drawing))
        if "opinion" in results.kinds:
            yield FigureOf(f"{folder}{LINES}", partial(draw_lines, opinion_lines(results, rule)))


def effects_forest(results: Results, rule: str) -> Forest:
    """Every variant under every pressure: the paired change of planted answers, of errors, of planted opinions."""
    rows = {name: {_place(row): row for row in results.rows(name, rule)} for name in _EFFECTS}
    places = [*dict.fromkeys(place for own in rows.values() for place in own)]
    panels = tuple(
        ForestPanel(title, tuple(rows[name][place].estimate if place in rows[name] else None for place in places))
        for name, title in _EFFECTS.items()
        if rows[name]
    )
    return _forest(results, f"What pressure changes, by rule {rule} (95% intervals, clustered by item)", places, panels)


def _place(row: Metric) -> tuple[str, str]:
    return row.where["model"], row.where["condition"]


def _forest(results: Results, title: str, places: list[tuple[str, str]], panels: tuple[ForestPanel, ...]) -> Forest:
    pressures, short = results.conditions.pressures, results.conditions.short
    single = len(results.variants) == 1
    labels = tuple(short(pressure) if single else f"{variant}, {short(pressure)}" for variant, pressure in places)
    series = () if single else tuple(map(short, pressures))
    return Forest(title, labels, tuple(pressures.index(pressure) for _, pressure in places), series, panels)


def planted_by_topic(results: Results, rule: str) -> Panels | None:
    """Endorsements of the decoy on factual items by topic and condition; None for a rule that does not state them."""
    rows = results.rows("planted_rate", rule)
    if not rows:
        return None
    conditions = (results.conditions.control, *results.conditions.pressures)
    topics = tuple(dict.fromkeys(row.where["topic"] for row in rows))
    axes = {"model": results.variants, "topic": topics, "condition": conditions}
    values, counts = (np.full([len(names) for names in axes.values()], start) for start in (np.nan, 0.0))
    for row in rows:
        if row.where["condition"] in conditions:
            at = tuple(names.index(row.where[key]) for key, names in axes.items())
            values[at] = np.nan if row.estimate.value is None else row.estimate.value
            counts[at] = row.estimate.n
    title = f"Share of factual answers that give the planted answer, by topic (rule {rule}); n in brackets"
    names = tuple(map(results.conditions.short, conditions))
    return Panels(title, results.variants, topics, names, values, across="", counts=counts)


def forest(results: Results, rule: str) -> Forest:
    """The values of the reference's forest plot: each effect on error, and the override beyond the retest."""
    rows = results.rows("pressure_effect", rule)
    beyond = [results.one("conditional_rate_excess", rule, **row.where, measure="override") for row in rows]
    panels = [ForestPanel("Effect on error", tuple(row.estimate for row in rows))]
    if any(one is not None for one in beyond):
        empty = Estimate(None, 0)
        panels.append(ForestPanel("Override beyond the retest", tuple(one or empty for one in beyond)))
    title = f"What pressure does to factual error, by rule {rule} (95% intervals, clustered by item)"
    return _forest(results, title, [_place(row) for row in rows], tuple(panels))


def panels(
    results: Results, title: str, rows: tuple[str, tuple[str, ...]], metrics: Iterable[Metric], scale: Scale = "share"
) -> Panels:
    """The values of some metrics by variant, row and temperature; `rows` are the key of the rows and its values."""
    axes = {"model": results.variants, rows[0]: rows[1], "temperature": results.temperatures}
    values = np.full([len(names) for names in axes.values()], np.nan)
    for metric in metrics:
        shown = metric.estimate.n if scale == "count" else metric.estimate.value
        if shown is not None:
            values[tuple(names.index(metric.where[key]) for key, names in axes.items())] = shown
    return Panels(title, results.variants, rows[1], results.temperatures, values, scale)


def heatmaps(results: Results, rule: str) -> Iterator[tuple[str, Panels]]:
    """(file name, panels) of every heat map of the reference, on factual items."""
    conditions = results.conditions
    topics = tuple(dict.fromkeys(row.where["topic"] for row in results.rows("factual_error", rule)))

    def drawing(title: str, metrics: Iterable[Metric], scale: Scale = "share") -> Panels:
        return panels(results, f"{title} (rule {rule})", ("topic", topics), metrics, scale)

    control = results.rows("factual_error", rule, condition=conditions.control)
    yield "factual_control_error_rate_heatmaps", drawing("Error rate under control", control)
    for pressure in conditions.pressures:
        name = conditions.short(pressure)
        title = f"Pressure effect: error under {name} minus error under control"
        deltas = results.rows("error_delta", rule, condition=pressure)
        yield portable_name(f"factual_pressure_effect_{name}_heatmaps"), drawing(title, deltas, "difference")
    for measure, pressure in itertools.product(_MEASURES, conditions.pressures):
        name = conditions.short(pressure)
        stem, title = _MEASURES[measure]
        title = title.format(name)
        cells = results.rows("conditional_cell", rule, measure=measure, condition=pressure)
        yield portable_name(f"factual_{stem}_{name}_heatmaps"), drawing(title, cells)
        counted = drawing(f"Denominators of {title}", cells, "count")
        yield portable_name(f"factual_{stem}_{name}_n_items_heatmaps"), counted


def opinion_lines(results: Results, rule: str) -> Panels:
    """Endorsement of the decoy on opinion items against temperature, one line for each condition."""
    conditions = (results.conditions.control, *results.conditions.pressures)
    metrics = [row for row in results.rows("opinion_endorsement", rule) if row.where["condition"] in conditions]
    title = f"Opinion items: share of answers that endorse the planted answer (rule {rule})"
    lines = panels(results, title, ("condition", conditions), metrics)
    return replace(lines, rows=tuple(map(results.conditions.short, conditions)))

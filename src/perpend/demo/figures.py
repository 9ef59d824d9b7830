"""The demo's own figures: what metrics.json holds, drawn for the page."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from perpend.canon import JSON
from perpend.demo.numbers import conditions, number
from perpend.demo.studies import BASELINE, TEMPERATURES
from perpend.reports.page_figures import Mark, Panel, draw_marks

NAMES = {
    "control": "control",
    "control_retest": "control again",
    "asch_history_5": "group of five",
    "authoritative_bias": "authority",
}
"""The conditions as the page calls them."""


def draw_figures(body: Mapping[str, JSON], folder: Path) -> None:
    """Write conformity.png, logic.png and verbs.png."""

    def mark(key: str) -> Mark:
        found = number(body, key)
        return Mark(found.value, found.lo, found.hi)

    names = conditions(body)
    rows = [NAMES.get(name, name) for name in names]
    panels = []
    for measure, title in (("correct", "Right answers"), ("endorsed", "Planted answers")):
        series = {
            f"temperature {t:g}": [mark(f"conformity/{measure}/rate/{t:g}/{name}") for name in names]
            for t in TEMPERATURES
        }
        panels.append(Panel(f"{title}, 95% intervals", rows, series))
    draw_marks(panels, folder / "conformity.png")
    labelled = (("TPR: TRUE found", "tpr"), ("TNR: FALSE found", "tnr"), ("balanced accuracy", "balanced_accuracy"))
    series = {"": [mark(f"logic/{key}") for _, key in labelled]}
    told = "Valid replies, 95% intervals"
    draw_marks([Panel(told, [name for name, _ in labelled], series, line=0.5)], folder / "logic.png")
    measures = (("accuracy", "accuracy"), ("accuracy on tricks", "adversarial"), ("ECE (0 is best)", "ece"))
    models = ((str(body["model"]), "model"), (BASELINE, "baseline"))
    both = {name: [mark(f"verbs/{role}/{key}") for _, key in measures] for name, role in models}
    told = "Verb probes, 95% intervals"
    draw_marks([Panel(told, [name for name, _ in measures], both)], folder / "verbs.png")

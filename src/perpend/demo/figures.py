"""The demo's own figures: numbers of the published runs, drawn for the page."""

from __future__ import annotations

from pathlib import Path

from perpend.demo.numbers import CHOICE, DemoNumbers
from perpend.demo.studies import BASELINE, TEMPERATURES
from perpend.report.page_figures import Mark, Panel, draw_marks
from perpend.report.style import save
from perpend.studies.verbs.figures import draw_reliability

NAMES = {
    "control": "control",
    "control_retest": "control again",
    "asch_history_5": "group of five",
    "authoritative_bias": "authority",
}
"""The conditions as the page calls them."""


def draw_figures(numbers: DemoNumbers, folder: Path) -> None:
    """Write conformity.png, logic.png, verbs.png and reliability.png."""

    def mark(key: str) -> Mark:
        number = numbers(key)
        return Mark(number.value, number.lo, number.hi)

    names = numbers.conditions
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
    logic = Panel("Valid replies, 95% intervals", [name for name, _ in labelled], series, line=0.5)
    draw_marks([logic], folder / "logic.png")
    measures = (("accuracy", "accuracy"), ("accuracy on tricks", "adversarial"), ("ECE (0 is best)", "ece"))
    models = ((numbers.model, "model"), (BASELINE, "baseline"))
    both = {name: [mark(f"verbs/{role}/{key}") for _, key in measures] for name, role in models}
    draw_marks([Panel("Verb probes, 95% intervals", [name for name, _ in measures], both)], folder / "verbs.png")
    verbs = numbers.runs["verbs"]
    core = {"model": verbs.manifest.models[-1].label, "category": "core"}
    bins = [metric.estimate for metric in verbs.numbers.find("reliability", CHOICE, **core)]
    save(draw_reliability(bins, verbs.numbers.cite("ece", CHOICE, **core), core["model"]), folder / "reliability")

"""Reading blind on the page: the rubric, the answers that are drawn for every reader, and how far readers agree."""

from __future__ import annotations

from dataclasses import dataclass

from perpend.ask.rubric import Rubric, find_rubric
from perpend.canon import JSON
from perpend.errors import StoreError
from perpend.measure.calibrated import reader_metrics
from perpend.measure.judging import DrawnAnswer, Selection, draw, eligible
from perpend.view.overview import number_json
from perpend.view.trials import ViewedTrials

SAMPLE = 100


@dataclass(frozen=True, slots=True)
class Labelling:
    """The answers of a run that readers are asked about, in their order; the same for every reader."""

    trials: ViewedTrials
    rubric: Rubric
    selection: Selection
    drawn: tuple[DrawnAnswer, ...]

    def as_json(self) -> dict[str, JSON]:
        """What the page needs to ask for a label and to write it down."""
        rubric = self.rubric
        return {
            "rubric": rubric.full_name,
            "rubric_sha256": rubric.sha256,
            "question": rubric.question,
            "guide": rubric.guide,
            "measures": rubric.measures,
            "needs": list(rubric.needs),
            "options": [{"name": one.name, "means": one.means, "value": one.value} for one in rubric.options],
            "seed": self.selection.seed,
            "sample": [[int(self.trials.row_of[one.trial - 1]), one.stratum, one.drawn, one.of] for one in self.drawn],
            "agreement": [number_json(metric) for metric in reader_metrics(self.trials.run)],
        }


def labelling_of(trials: ViewedTrials, rubric: str | None = None, sample: int = SAMPLE) -> Labelling | None:
    """What is read of a run: by the rubric of that name, else 'endorsed' where items have decoys, else 'correct'.

    None where no answer fits.
    """
    items = trials.run.table.items
    names = [rubric] if rubric is not None else ["endorsed", "correct"]
    selection = Selection(sample)
    for name in names:
        chosen = find_rubric(name)
        if not any(map(chosen.fits, items)):
            continue
        numbers = eligible(trials.run, chosen, selection)
        if numbers:
            return Labelling(trials, chosen, selection, tuple(draw(trials.run.table, numbers, selection)))
    if rubric is not None:
        raise StoreError(f"{trials.name}: no trial has an answer that {rubric} can be asked of")
    return None

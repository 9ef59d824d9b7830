"""Paths → the runs that a page shows: run directories as they are, published folders restored, logs imported."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

from perpend._convert import as_run
from perpend.canon import JSON
from perpend.errors import SpecError
from perpend.measure.run import Run
from perpend.proof import receipt as receipts
from perpend.report.derive import derive
from perpend.view.claims import claims_json
from perpend.view.data import View, ViewedRun
from perpend.view.labelling import SAMPLE, labelling_of
from perpend.view.overview import Kind, Stated


@dataclass(frozen=True, slots=True)
class ViewOptions:
    """What a page has beside its trials: claims, the rubric and the number of answers to read, drawn figures."""

    claims: Path | None = None
    rubric: str | None = None
    sample: int = SAMPLE
    figures: bool = True
    title: str = ""
    """'': the names of the runs."""
    notes: Mapping[str, tuple[tuple[str, str], ...]] = field(default_factory=dict)
    """For the name of a run, (name, text) of further facts about it."""


class OpenedRuns:
    """The runs of some paths, open as long as the stack is; each can be read anew while it grows."""

    def __init__(self, stack: ExitStack, paths: Sequence[Path], options: ViewOptions) -> None:
        self.options = options
        self._places = [_opened(stack, path) for path in paths]
        resolved = [place.directory.resolve() for place in self._places]
        twice = [path for path, count in Counter(resolved).items() if count > 1]
        if twice:
            raise SpecError(f"{twice[0].name}: is given twice; give each run once")

    def view(self) -> View:
        """The page of the runs as they are now."""
        options = self.options
        names = _distinct(self._places)
        runs = [
            ViewedRun(
                Stated(
                    Run(place.directory),
                    place.folder,
                    place.kind,
                    place.facts,
                    draw=options.figures,
                    notes=options.notes.get(name, ()),
                ),
                name,
            )
            for place, name in zip(self._places, names, strict=True)
        ]
        labelling = [labelling_of(run.trials, options.rubric, options.sample) for run in runs]
        page = View(runs, options.title or ", ".join(names), labelling)
        if options.claims is not None:
            page.claims = claims_json(options.claims, runs)
        return page


@dataclass(frozen=True, slots=True)
class _Place:
    """A run directory, the folder with its numbers, what it was given as, and the receipt's facts."""

    directory: Path
    folder: Path
    kind: Kind
    facts: Mapping[str, JSON]


def _opened(stack: ExitStack, path: Path) -> _Place:
    run = stack.enter_context(as_run(path))
    if run.directory == path:
        return _Place(path, path, "run", {})
    if (path / receipts.RECEIPT).is_file():
        return _Place(run.directory, path, "published", receipts.read(path).body)
    derive([run], run.directory, figures=False)
    return _Place(run.directory, run.directory, "imported", {})


def _distinct(places: Sequence[_Place]) -> list[str]:
    """The names of the runs; of those that share one, what each is or which it is comes after it."""
    names: list[str] = []
    for place in places:
        name = place.directory.resolve().name
        choices = [name, f"{name} ({place.kind})", *(f"{name} ({n})" for n in range(2, len(places) + 2))]
        names.append(next(one for one in choices if one not in names))
    return names

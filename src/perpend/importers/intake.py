"""One way in: records of any source, staged on disk, become a run directory with a ledger and a manifest."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

from perpend.ask.task import packaged_task
from perpend.canon import JSON, digest_file
from perpend.errors import DataError
from perpend.ledger.database import translated
from perpend.ledger.manifest import Manifest, ModelFacts, code_version, now, template, write_manifest
from perpend.ledger.plan import Dataset
from perpend.ledger.staging import IMPORTED as VERSION
from perpend.ledger.staging import ImportRecord, Staged, Staging, item_of, must_be_free
from perpend.measure.stated import MOST, SourceNumber, SourceRule
from perpend.spec.resolve import packaged_scorer

__all__ = ["VERSION", "ImportRecord", "Intake", "item_of", "must_be_free"]

Row = TypeVar("Row")
_NO_OPTIONS: Mapping[str, JSON] = {}
_OF_CHOICES = ("choice", "choice_raw", "confidence", "confidence_raw")


class Intake(Staging):
    """Records on their way into a run of a packaged task. Use it with `with`.

    `is_rounded`: the numbers that such sources state may be rounded by hand; others were written by a program.
    `options` are those of the task.
    """

    def __init__(
        self, destination: Path, task: str, *, is_rounded: bool = False, options: Mapping[str, JSON] = _NO_OPTIONS
    ) -> None:
        super().__init__(destination)
        self._task, self._is_rounded, self._options = task, is_rounded, options
        self._stated: list[SourceNumber] = []
        self._rules: dict[str, SourceRule] = {}
        self._files: list[dict[str, JSON]] = []

    def file(self, path: Path, name: str = "", version: str = "import") -> Dataset:
        """A file of the source as a data set; `write` states it."""
        dataset = Dataset(name or path.stem, version, path.name, digest_file(path))
        self._files.append({"name": path.name, "sha256": dataset.sha256})
        return dataset

    def counted(self, rows: Iterable[Row]) -> Iterator[Row]:
        """The rows of the file that came last; `write` states how many there were."""
        count = 0
        for row in rows:
            yield row
            count += 1
        if self._files:
            self._files[-1]["rows"] = count

    def state(self, stated: SourceNumber) -> None:
        """Keep a number that the source states. More than MOST of them is a DataError."""
        if len(self._stated) >= MOST:
            raise DataError(f"{stated.file}: states more than {MOST} numbers; is something else taken for them?")
        self._stated.append(replace(stated, exact=not self._is_rounded))

    @property
    def columns(self) -> Collection[str]:
        """The names of the stored scores so far."""
        return self._labels_known

    def check(self, what: str, where: str, *, agrees: bool) -> None:
        """Count whether a rule of the source gives one of its verdicts, the one at `where`, again."""
        self._rules.setdefault(what, SourceRule(what)).add(Path(where).name, agrees=agrees)

    def write(self, source: Mapping[str, JSON]) -> Path:
        """Make the run directory, whole or not at all. `source` says in the manifest what was imported."""
        run = self.folder / "run"
        staged = self.write_ledger(run / "run.db")
        plan = staged.plan
        if self._files:
            source = {**source, "files": list[JSON](self._files)}
        if self._stated:
            source = {**source, "reported": [one.as_json() for one in self._stated]}
        if self._rules:
            source = {**source, "rules": [one.as_json() for one in self._rules.values()]}
        manifest = Manifest(
            run=self.destination.name,
            task=self._task,
            options=self._options,
            choices_scored=staged.likelihoods and not staged.texts,
            items=staged.items,
            conditions=tuple(template(name, params) for name, params in plan.conditions.items()),
            models=tuple(ModelFacts(name, label, options) for label, name, options in plan.models),
            samplings=tuple(dict.fromkeys(s for label, _, _ in plan.models for s in plan.samplings[label])),
            repeats=plan.repeats,
            trials=staged.trials,
            scorers=tuple(self._scorers(staged)),
            datasets=tuple(plan.datasets),
            source_of_import={**source, "notes": dict(sorted(self.notes.items()))},
            created=now(),
            code=code_version(),
        )
        write_manifest(run, manifest)
        with translated(self.destination):
            if self.destination.exists():
                self.destination.rmdir()
            run.replace(self.destination)
        return self.destination

    def _scorers(self, staged: Staged) -> list[str]:
        """The scorers that fit what was answered: those of the task for texts, those of choices for likelihoods."""
        scorers = (
            [] if staged.likelihoods and not staged.texts else list(packaged_task(self._task, self._options).judges())
        )
        chosen = map(packaged_scorer, _OF_CHOICES if staged.likelihoods else ())
        return scorers + [f"{scorer.name}@{scorer.version}" for scorer in chosen]

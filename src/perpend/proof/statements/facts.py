"""What statements are derived from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC

from perpend.canon import JSON
from perpend.inert import one_line
from perpend.ledger.manifest import Manifest
from perpend.measure.study import Numbers
from perpend.report.answer import counted
from perpend.report.every_eval_ever import begun


@dataclass(frozen=True, slots=True)
class StatedRun:
    """A published run: its manifest, its numbers, the SHA-256 of each other file, the code that derived them."""

    manifest: Manifest
    numbers: Numbers
    files: Mapping[str, str]
    code: Mapping[str, JSON]

    @property
    def day(self) -> str | None:
        """The day on which the run was begun, in UTC; None where the manifest states no time."""
        moment = begun(self.manifest)
        return None if moment is None else moment.astimezone(UTC).date().isoformat()

    @property
    def version(self) -> str:
        """The version of perpend that derived the numbers."""
        return str(self.code.get("perpend"))

    @property
    def name(self) -> str:
        """The name of the run as one line without anything that cannot be seen."""
        return one_line(self.manifest.run)

    @property
    def authors(self) -> str:
        """Who is cited: a run does not know who asked it, and no file of it names a user."""
        return f"The authors of {self.name}"

    @property
    def description(self) -> str:
        """One sentence: what was asked of what."""
        run = self.manifest
        models = ", ".join(model.label for model in run.models)
        return one_line(
            f"A language-model evaluation: task {run.task}, {counted(run.items.n, 'item')}, "
            f"{counted(len(run.conditions), 'condition')}, {counted(run.trials, 'trial')}, "
            f"{'models' if len(run.models) > 1 else 'model'} {models}."
        )
